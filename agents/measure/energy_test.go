package measure_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/change"
)

// powercap writes one package's counter below a root, and returns its file.
func powercap(t *testing.T, root string) string {
	t.Helper()
	dir := filepath.Join(root, "sys/class/powercap/intel-rapl:0")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"name": "package-0", "energy_uj": "0", "max_energy_range_uj": "262143328850"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "energy_uj")
}

// TestJoulesOfARun has the counter go on by 2.5 J while a program runs.
func TestJoulesOfARun(t *testing.T) {
	box, err := sandbox.Open(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	counter := powercap(t, root)
	s := measure.FindSensors(t.Context(), host.At(root), false)
	if s.String() != "RAPL (package-0)" || s.Note != "" {
		t.Fatalf("sensors %s, note %q", s, s.Note)
	}
	p := measure.Program{Box: box, Command: sandbox.Command{Argv: []string{"true"}}, Sensors: s,
		Check: func(sandbox.Outcome, string) error { return nil }}
	v, err := p.Run(t.Context())
	if err != nil || v.Energy != 0 {
		t.Fatalf("%g J of a counter that stands still, %v", v.Energy, err)
	}
	// The meter is read before and after the run; this one moves the counter in between.
	s.Meters = append([]measure.Meter{}, moved{s.Meters[0], counter, "2500000"})
	p.Sensors = s
	if v, err = p.Run(t.Context()); err != nil || math.Abs(v.Energy-2.5) > 1e-9 {
		t.Errorf("%g J, want 2.5, %v", v.Energy, err)
	}
	s.Meters = []measure.Meter{broken{}}
	p.Sensors = s
	if _, err = p.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "by a broken one") {
		t.Errorf("%v", err)
	}
}

// moved writes a counter when its reading has begun.
type moved struct {
	measure.Meter
	path, text string
}

func (m moved) Begin(ctx context.Context) (func() (float64, error), error) {
	end, err := m.Meter.Begin(ctx)
	return end, errors.Join(err, os.WriteFile(m.path, []byte(m.text), 0o666))
}

type broken struct{}

func (broken) Name() string { return "a broken one" }
func (broken) Begin(context.Context) (func() (float64, error), error) {
	return nil, errors.New("no answer")
}

func TestNoSensorsIsSaid(t *testing.T) {
	s := measure.FindSensors(t.Context(), host.At(t.TempDir()), false)
	if len(s.Meters) != 0 || !strings.Contains(s.Note, "no energy counters") {
		t.Errorf("%v, note %q", s, s.Note)
	}
	r := compare(t, steady(2, 0), steady(1, 0), measure.Options{NoEnergy: s.Note})
	if r.Energy.Known || r.Energy.Why != s.Note || !math.IsNaN(r.Energy.Ratio) || r.Verdict != change.Faster {
		t.Errorf("%+v", r.Energy)
	}
	_, err := measure.Compare(t.Context(), steady(2, 0), steady(1, 0), measure.Options{By: measure.ByEnergy, NoEnergy: s.Note})
	if err == nil || !strings.Contains(err.Error(), s.Note) {
		t.Errorf("by an energy that is not known: %v", err)
	}
}

// steady gives times and energies with a little spread: 0 J is not known.
func steady(seconds, joules float64) measure.Runner {
	n := 0
	return func(context.Context) (measure.Sample, error) {
		n++
		f := 1 + 0.001*float64(n%7)
		return measure.Sample{Seconds: seconds * f, Energy: joules * f, CPU: math.NaN(), Claimed: math.NaN()}, nil
	}
}

// TestTimeAndEnergyAreTwoVerdicts: as fast, and 3 J in place of 12 J, is a ratio of
// 4; faster at the price of more energy is the other way round.
func TestTimeAndEnergyAreTwoVerdicts(t *testing.T) {
	r := compare(t, steady(1, 12), steady(1, 3), measure.Options{By: measure.ByEnergy})
	if r.Verdict != change.Same || !r.Energy.Known || r.Energy.Verdict != change.Faster || math.Abs(r.Energy.Ratio-4) > 0.05 || !(r.Energy.Low < 4.01 && r.Energy.High > 3.99) {
		t.Errorf("%v; energy %+v", r, r.Energy)
	}
	if r.Looks != 1 || len(r.Energy.Original) != 6 || len(r.Energy.Changed) != 6 {
		t.Errorf("%d looks, %d and %d energies", r.Looks, len(r.Energy.Original), len(r.Energy.Changed))
	}
	r = compare(t, steady(2, 3), steady(1, 12), measure.Options{})
	if r.Verdict != change.Faster || r.Energy.Verdict != change.Slower || math.Abs(r.Energy.Ratio-0.25) > 0.005 {
		t.Errorf("%v; energy %+v", r, r.Energy)
	}
	var joules []string
	for _, rec := range r.Records(datasets.Machine{ID: 1}, measure.Names{Program: "p"}) {
		if c, ok := rec.(*datasets.Counter); ok && c.Metric == "energy" {
			joules = append(joules, fmt.Sprint(c.Status, c.Unit, c.Run, c.Value.V > 2))
		}
	}
	if len(joules) != 12 || slices.Contains(joules, "missing J 1 false") || joules[0] != fmt.Sprint(datasets.StatusOK, "J", 1, true) {
		t.Errorf("records %v", joules)
	}
}
