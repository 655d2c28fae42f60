package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/nvml"
	"github.com/rooflab/rooflab/collectors/rapl"
	"github.com/rooflab/rooflab/modeling/change"
)

// Meter reads the energy that a part of the machine takes, all programs on it
// together.
type Meter interface {
	Name() string // "RAPL (package-0, package-0/dram)"
	// Begin begins a reading; what it returns ends it and gives the joules since.
	Begin(ctx context.Context) (end func() (joules float64, err error), err error)
}

// Sensors are the meters that measurements take joules from, and where there
// are none, why: with how to get them, in Note.
type Sensors struct {
	Meters []Meter
	Note   string
}

// FindSensors looks for the counters of processors and memory (RAPL) and, for
// programs that may use a GPU, those of NVIDIA's GPUs (NVML).
func FindSensors(ctx context.Context, s host.System, gpu bool) Sensors {
	var out Sensors
	var notes []string
	if m, err := rapl.Open(s); err == nil {
		out.Meters = append(out.Meters, processors{m})
	} else {
		notes = append(notes, err.Error())
	}
	if gpu {
		if m, err := nvml.OpenMeter(ctx); err == nil {
			out.Meters = append(out.Meters, graphics{m})
		} else {
			notes = append(notes, err.Error())
		}
	}
	if len(notes) > 0 {
		out.Note = "energy: " + strings.Join(notes, "; ")
	}
	return out
}

// String names what is read.
func (s Sensors) String() string {
	var names []string
	for _, m := range s.Meters {
		names = append(names, m.Name())
	}
	return strings.Join(names, ", ")
}

// begin begins a reading of all meters. The joules are NaN where there are none.
func (s Sensors) begin(ctx context.Context) (end func() (float64, error), err error) {
	var ends []func() (float64, error)
	for _, m := range s.Meters {
		e, err := m.Begin(ctx)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("reading the energy by %s: %w", m.Name(), err), finish(ends))
		}
		ends = append(ends, e)
	}
	return func() (float64, error) {
		if len(ends) == 0 {
			return math.NaN(), nil
		}
		sum := 0.0
		var errs []error
		for i, e := range ends {
			j, err := e()
			if err != nil {
				errs = append(errs, fmt.Errorf("reading the energy by %s: %w", s.Meters[i].Name(), err))
			}
			sum += j
		}
		return sum, errors.Join(errs...)
	}, nil
}

func finish(ends []func() (float64, error)) error {
	var errs []error
	for _, e := range ends {
		_, err := e()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// processors are the counters of RAPL.
type processors struct{ meter *rapl.Meter }

func (p processors) Name() string { return "RAPL (" + strings.Join(p.meter.Domains(), ", ") + ")" }

func (p processors) Begin(context.Context) (func() (float64, error), error) {
	first, err := p.meter.Joules()
	if err != nil {
		return nil, err
	}
	return func() (float64, error) {
		last, err := p.meter.Joules()
		return last - first, err
	}, nil
}

// graphics are the counters of NVIDIA's GPUs.
type graphics struct{ meter *nvml.Meter }

func (g graphics) Name() string { return "NVML (" + strings.Join(g.meter.GPUs(), ", ") + ")" }

func (g graphics) Begin(ctx context.Context) (func() (float64, error), error) {
	return g.meter.Begin(ctx)
}

// Energy is how the energy of the two sides compares, of whole runs with the
// machine's share of rest in it.
type Energy struct {
	// Known says that each repeat has its joules. Else Why says why not, and all
	// numbers are NaN.
	Known bool
	Why   string
	// Verdict is of the candidate: change.Faster is for less energy, change.Slower
	// for more.
	Verdict change.Verdict
	// Ratio is the original's median energy over the candidate's, with its interval.
	Ratio, Low, High  float64
	P                 float64
	Before, After     float64 // medians in J
	Original, Changed []float64
}

// unknown is an Energy without figures.
func unknown(why string) Energy {
	nan := math.NaN()
	return Energy{Why: why, Verdict: change.TooFew, Ratio: nan, Low: nan, High: nan, P: 1, Before: nan, After: nan}
}

// joules are the energies of a series, and whether all of them are known. What
// takes no energy at all was too short for its sensor.
func joules(s Series) ([]float64, bool) {
	out := make([]float64, len(s.Samples))
	for i, v := range s.Samples {
		if !(v.Energy > 0) || math.IsInf(v.Energy, 0) {
			return nil, false
		}
		out[i] = v.Energy
	}
	return out, len(out) > 0
}

// energy compares the energies that there are.
func (r *Result) energy(note string) (Energy, error) {
	a, ok := joules(r.Original)
	b, ok2 := joules(r.Candidate)
	if !ok || !ok2 {
		if note == "" {
			note = "energy: no sensor was read, or the runs were too short for it"
		}
		return unknown(note), nil
	}
	kernel, err := r.compared(func(s Sample) float64 { return s.Energy })
	if err != nil {
		return Energy{}, err
	}
	return Energy{Known: true, Verdict: kernel.Verdict, Ratio: 1 / kernel.Ratio, Low: 1 / kernel.High, High: 1 / kernel.Low, P: kernel.P,
		Before: kernel.Before.Median, After: kernel.After.Median, Original: a, Changed: b}, nil
}
