package validate_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/validate"
)

// What is measured is checked in each run, on an input that both sides get.
func TestMeasuredRunsAreHeldToTheOriginalsResults(t *testing.T) {
	box, err := sandbox.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[string]string{"SAME": "", "SHORT": "measuring the candidate, run 2: out.bin differs (bit for bit): it has 2000 values instead of 4000"} {
		generator := validate.Program{Argv: []string{"./generate", "{seed}", "{n}"}, Put: []sandbox.Copy{{From: compile(t, "generate", "0"), To: "generate"}},
			Limits: sandbox.Limits{Disk: 16 << 20}}
		p, err := validate.Prepare(t.Context(), box, validate.Check{Original: program(t, "ORIGINAL"), Candidate: program(t, variant),
			Generator: &generator, Outputs: []validate.Output{outBin}}, validate.Input{"n": "4000"}, 0, t.TempDir())
		if err != nil || p.Seed == 0 {
			t.Fatalf("%v, seed %d", err, p.Seed)
		}
		runner := func(c sandbox.Command) measure.Runner {
			return measure.Program{Box: box, Command: c, Check: p.Check}.Run
		}
		r, err := measure.Compare(t.Context(), runner(p.Original), runner(p.Candidate), measure.Options{Min: 2, Max: 6, Budget: time.Nanosecond})
		var failed *measure.FailedError
		switch {
		case want == "" && (err != nil || len(r.Candidate.Samples) != 2):
			t.Errorf("%s: %v, %v", variant, err, r)
		case want != "" && (!errors.As(err, &failed) || !strings.HasPrefix(err.Error(), want)):
			t.Errorf("%s: %v, want %s", variant, err, want)
		}
	}
}
