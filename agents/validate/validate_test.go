package validate_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/validate"
)

var programs string // what is compiled for the tests

func TestMain(m *testing.M) {
	sandbox.ServeIfAsked()
	dir, err := os.MkdirTemp("", "validate-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// reference is the path that the variant COPY reads.
func reference() string { return filepath.Join(programs, "reference.bin") }

// compile compiles a program of testdata, once.
func compile(t *testing.T, source, variant string) string {
	t.Helper()
	program := filepath.Join(programs, source+variant)
	if _, err := os.Stat(program); err == nil {
		return program
	}
	out, err := exec.Command("gcc", "-w", "-O1", "-ffp-contract=off", "-DVARIANT="+variant, fmt.Sprintf("-DREFERENCE=%q", reference()),
		"-o", program, "testdata/"+source+".c").CombinedOutput()
	if err != nil {
		t.Fatalf("gcc is needed (Debian: apt-get install gcc) to compile testdata/%s.c: %v\n%s", source, err, out)
	}
	return program
}

func program(t *testing.T, variant string) validate.Program {
	return validate.Program{
		Argv:   []string{"./kernel"},
		Put:    []sandbox.Copy{{From: compile(t, "kernel", variant), To: "kernel"}},
		Limits: sandbox.Limits{Wall: time.Minute, Disk: 16 << 20, Output: 10000},
	}
}

var outBin = validate.Output{Path: "out.bin", Format: validate.Float32}

// printed is the sum, without the line that says how long it took.
func printed(t validate.Tolerance) validate.Output {
	return validate.Output{Path: validate.Stdout, Format: validate.Text, Tolerance: t, Ignore: []string{"^took "}}
}

func check(t *testing.T, original, candidate string, change func(*validate.Check)) (validate.Verdict, error) {
	t.Helper()
	box, err := sandbox.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	generator := validate.Program{Argv: []string{"./generate", "{seed}", "{n}"}, Put: []sandbox.Copy{{From: compile(t, "generate", "0"), To: "generate"}},
		Limits: sandbox.Limits{Disk: 16 << 20}}
	c := validate.Check{
		Original: program(t, original), Candidate: program(t, candidate), Generator: &generator,
		Inputs: []validate.Input{{"n": "1000"}}, Runs: 2,
		Outputs: []validate.Output{outBin, printed(validate.Tolerance{})},
		Secrets: []string{programs},
	}
	if change != nil {
		change(&c)
	}
	return validate.Run(t.Context(), box, c)
}

// The second generator is given the same seed each time.
func TestInputsThatAreNotFreshAreTold(t *testing.T) {
	if v, err := check(t, "ORIGINAL", "SAME", nil); err != nil || !v.OK() || v.Fixed != "" {
		t.Errorf("fresh inputs: %v, %v, %q", err, v, v.Fixed)
	}
	v, err := check(t, "ORIGINAL", "SAME", func(c *validate.Check) { c.Generator.Argv = []string{"./generate", "7", "{n}"} })
	if err != nil || !v.OK() || !strings.Contains(v.Fixed, fmt.Sprintf("the seeds %d and %d", v.Cases[0].Seed, v.Cases[1].Seed)) {
		t.Errorf("one input for all seeds: %v, %v, %q", err, v, v.Fixed)
	}
}

func TestACandidateThatComputesTheSameIsRight(t *testing.T) {
	v, err := check(t, "ORIGINAL", "SAME", func(c *validate.Check) { c.Inputs = []validate.Input{{"n": "10"}, {"n": "100000"}} })
	if err != nil || !v.OK() || v.Unstable != "" || len(v.Cases) != 4 {
		t.Fatalf("%v, %v, unstable %q, %d cases", err, v, v.Unstable, len(v.Cases))
	}
	if got := []int64{v.Cases[0].Comparisons[0].Want, v.Cases[1].Comparisons[0].Want}; !slices.Equal(got, []int64{10, 100000}) {
		t.Errorf("%d values were compared", got)
	}
	seeds := v.Seeds()
	slices.Sort(seeds)
	if n := len(slices.Compact(seeds)); n != 4 {
		t.Errorf("%d different seeds of 4", n)
	}
}

// What is right at the sizes that count may be wrong beside them, which one input
// of another size shows.
func TestAKindOfInputThatIsCheckedOnceFindsWhatOthersDoNot(t *testing.T) {
	sized := func(c *validate.Check) { c.Inputs = []validate.Input{{"n": "1000"}, {"n": "64"}} }
	if v, err := check(t, "ORIGINAL", "MULTIPLES", sized); err != nil || !v.OK() || len(v.Cases) != 4 {
		t.Fatalf("at multiples of 8: %v, %v, %d cases", err, v, len(v.Cases))
	}
	once := func(c *validate.Check) { sized(c); c.Once = []validate.Input{{"n": "1003"}} }
	v, err := check(t, "ORIGINAL", "MULTIPLES", once)
	if err != nil || v.OK() || len(v.Cases) != 3 || v.Cases[2].Input["n"] != "1003" || !strings.Contains(v.String(), "3 of 1003 values, the first at index 1000") {
		t.Errorf("at 1003: %v, %v, %d cases", err, v, len(v.Cases))
	}
	if v, err := check(t, "ORIGINAL", "SAME", once); err != nil || !v.OK() || len(v.Cases) != 5 {
		t.Errorf("what is right: %v, %v, %d cases", err, v, len(v.Cases))
	}
}

// Each is turned down for its reason and for no other.
func TestBadCandidatesAreTurnedDownForWhatTheyDo(t *testing.T) {
	if err := os.WriteFile(reference(), make([]byte, 4000), 0o644); err != nil {
		t.Fatal(err)
	}
	for variant, want := range map[string]struct {
		kind validate.Kind
		text string
	}{
		"REORDERED":  {validate.Differs, "what is printed differs (bit for bit): 1 of 1 values, the first at index 0 (line 1): \"sum = "},
		"WRONG":      {validate.Differs, "out.bin differs (bit for bit): 1 of 1000 values, the first at index 7: "},
		"NOTANUMBER": {validate.Differs, "index 7: NaN (0x"},
		"SHORT":      {validate.Differs, "it has 500 values instead of 1000, the first at index 500: the end instead of 1."},
		"LONGER":     {validate.Differs, "it has 1003 values instead of 1000, the first at index 1000: 0 instead of the end"},
		"CONSTANT":   {validate.Differs, "1000 of 1000 values"},
		"EARLY":      {validate.MissingFile, "out.bin is missing"},
		"COPY":       {validate.ReadSecret, "tried to read " + reference()},
		"LOOK":       {validate.ReadSecret, "looked for the output /work/out.bin, which was not made yet"},
		"RESUMES":    {validate.ReadSecret, "looked for the output /out.bin"},
		"HOLES":      {validate.ExtraFile, "it left 3 files that the original does not: hole0, hole1, hole2"},
		"EXTRA":      {validate.ExtraFile, "it left 1 files that the original does not: cache.bin"},
		"OUTSIDE":    {validate.WroteOutside, "tried to write to /usr/lib/planted.so"},
		"NETWORK":    {validate.Network, "tried to open a network socket (IPv4)"},
		"CRASH":      {validate.Failed, "aborted"},
		"LEAVE":      {validate.LeftRunning, "1 processes still ran"},
		"PRINT":      {validate.Exceeded, "output limit"},
	} {
		v, err := check(t, "ORIGINAL", variant, func(c *validate.Check) {
			if variant != "REORDERED" && variant != "EARLY" {
				c.Outputs = []validate.Output{outBin}
			}
		})
		if err != nil {
			t.Errorf("%s: %v", variant, err)
			continue
		}
		rs := v.Reasons()
		if v.OK() || len(rs) == 0 || rs[0].Kind != want.kind || !strings.Contains(rs[0].Text, want.text) {
			t.Errorf("%s: %v, want %s: %s", variant, v, want.kind, want.text)
		}
		if len(v.Cases) != 1 || variant != "EARLY" && len(rs) != 1 {
			t.Errorf("%s: %d cases, %v", variant, len(v.Cases), rs)
		}
	}
}

// A candidate may look for what its original looks for.
func TestLookingIsTheOriginalsToAllow(t *testing.T) {
	if v, err := check(t, "RESUMES", "RESUMES", nil); err != nil || !v.OK() {
		t.Errorf("%v, %v", err, v)
	}
	if v, err := check(t, "RESUMES", "LOOK", nil); err != nil || v.OK() || v.Reasons()[0].Kind != validate.ReadSecret {
		t.Errorf("another place: %v, %v", err, v)
	}
}

func TestAHangingCandidateIsTurnedDown(t *testing.T) {
	v, err := check(t, "ORIGINAL", "HANG", func(c *validate.Check) { c.Candidate.Limits.Wall = 300 * time.Millisecond })
	if rs := v.Reasons(); err != nil || len(rs) != 1 || rs[0].Kind != validate.Exceeded || rs[0].Text != "timeout: it still ran after 300ms" {
		t.Errorf("%v, %v", err, v)
	}
}

func TestAToleranceAllowsAnotherOrderOfAdding(t *testing.T) {
	v, err := check(t, "ORIGINAL", "REORDERED", func(c *validate.Check) {
		c.Outputs = []validate.Output{outBin, printed(validate.Tolerance{Rule: validate.Relative, Rel: 1e-4})}
	})
	if err != nil || !v.OK() {
		t.Fatalf("%v, %v", err, v)
	}
	// 1000 values that are added in float32: there is an error, of at most 1000
	// times the unit roundoff 2^-24.
	if p := v.Cases[0].Comparisons[1]; p.MaxRel > 1000*0x1p-24 || p.Want != 1 {
		t.Errorf("%+v", p)
	}
}

func TestSeedsRepeatACheck(t *testing.T) {
	first, err := check(t, "ORIGINAL", "WRONG", nil)
	if err != nil {
		t.Fatal(err)
	}
	again, err := check(t, "ORIGINAL", "WRONG", func(c *validate.Check) { c.Seeds, c.Runs = first.Seeds(), 1 })
	if err != nil || again.String() != first.String() {
		t.Errorf("%v\n%v\n%v", err, first, again)
	}
}

func TestAnOriginalThatDoesNotRepeatItselfIsTold(t *testing.T) {
	v, err := check(t, "RANDOM", "RANDOM", func(c *validate.Check) { c.Outputs = []validate.Output{outBin} })
	if err != nil || v.OK() || !strings.HasPrefix(v.Unstable, "two runs of the original on one input: out.bin differs") {
		t.Errorf("%v, %v, %q", err, v, v.Unstable)
	}
}

func TestAnOriginalThatFailsIsNotTheCandidatesFault(t *testing.T) {
	for _, c := range []struct {
		original string
		change   func(*validate.Check)
		want     string
	}{
		{"CRASH", nil, "the original, with the seed"},
		{"ORIGINAL", func(c *validate.Check) { c.Generator.Argv = []string{"false"} }, "the generator of inputs, with the seed"},
		{"ORIGINAL", func(c *validate.Check) { c.Outputs[0].Path = "other.bin" }, "it left no file other.bin"},
	} {
		_, err := check(t, c.original, "SAME", c.change)
		var own *validate.OriginalError
		if !errors.As(err, &own) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestChecksThatMakeNoSenseAreErrors(t *testing.T) {
	for want, change := range map[string]func(*validate.Check){
		"no output is named": func(c *validate.Check) { c.Outputs = nil },
		"for which there is no": func(c *validate.Check) {
			c.Outputs = []validate.Output{{Path: "x", Tolerance: validate.Tolerance{Rule: validate.ULP}}}
		},
		"has the format":         func(c *validate.Check) { c.Outputs[0].Format = "bfloat" },
		"there is no tolerance":  func(c *validate.Check) { c.Outputs[0].Rule = "near" },
		"not below 0":            func(c *validate.Check) { c.Outputs[0].Rule, c.Outputs[0].Abs = validate.Absolute, -1 },
		"neither":                func(c *validate.Check) { c.Outputs[0].Path = "../x" },
		"lines that are ignored": func(c *validate.Check) { c.Outputs[1].Ignore = []string{"("} },
		"1 seeds are given":      func(c *validate.Check) { c.Seeds = []uint64{1} },
	} {
		if _, err := check(t, "ORIGINAL", "SAME", change); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
