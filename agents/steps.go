package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
	"github.com/rooflab/rooflab/modeling/change"
)

// Number is a float64 that may be unknown: NaN, which is null in JSON.
type Number float64

// MarshalJSON writes null for what is no finite number.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); !math.IsNaN(v) && !math.IsInf(v, 0) {
		return json.Marshal(v)
	}
	return []byte("null"), nil
}

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(data, (*float64)(n))
}

// Validation says whether a candidate computes what the original does.
type Validation struct {
	OK      bool              `json:"ok"`
	Inputs  int               `json:"inputs"` // of Sizes, that were compared, all fresh
	Seeds   []uint64          `json:"seeds"`
	Sizes   []string          `json:"sizes,omitempty"` // that the target lists
	Drawn   *DrawnSizes       `json:"drawn,omitempty"` // beside them, one input of each; nil where there are none
	Reasons []validate.Reason `json:"reasons,omitempty"`
	At      string            `json:"at_size,omitempty"` // the size of the input on which it was turned down
	// Outputs says how each output of the first input compares.
	Outputs []string `json:"outputs,omitempty"`
	// Unstable is how two runs of the original on one input differ.
	Unstable string `json:"unstable,omitempty"`
	// Fixed says that inputs of different seeds are the same.
	Fixed string `json:"fixed_inputs,omitempty"`
}

// Validate compares a candidate with the original, or with the target's
// reference where there is one, on fresh inputs of all its sizes, and on one input
// of each size of Drawn.
func (w *Workbench) Validate(ctx context.Context, original, candidate *Program) (Validation, error) {
	sizes := append(append([]string{}, w.Target.Inputs.Sizes...), w.Target.Inputs.Other...)
	c := w.check(original, candidate, sizes)
	for _, size := range w.Drawn.Sizes {
		c.Once = append(c.Once, validate.Input{string(target.Size): size})
	}
	first := ""
	if len(sizes) > 0 {
		first = sizes[0]
	}
	if err := w.warmed(ctx, &c, original, candidate, first); err != nil {
		return Validation{}, err
	}
	if r := w.Target.Reference; r != nil {
		c.Original = w.program(original, r.Command, r.Files, r.Timeout)
	}
	v, err := validate.Run(ctx, w.box, c)
	if err != nil {
		return Validation{}, fmt.Errorf("comparing outputs of %s: %w", w.Target.Name, w.Drawn.failed(err))
	}
	out := Validation{OK: v.OK(), Seeds: v.Seeds(), Sizes: sizes, Reasons: w.Drawn.reasons(v, len(sizes)), Unstable: v.Unstable, Fixed: v.Fixed}
	for _, one := range v.Cases {
		if !slices.Contains(w.Drawn.Sizes, one.Input[string(target.Size)]) {
			out.Inputs++
		}
	}
	if len(w.Drawn.Sizes) > 0 {
		drawn := w.Drawn
		out.Drawn = &drawn
	}
	if n := len(v.Cases); n > 0 {
		if !out.OK {
			out.At = v.Cases[n-1].Input[string(target.Size)]
		}
		for _, p := range v.Cases[0].Comparisons {
			out.Outputs = append(out.Outputs, p.String())
		}
	}
	return out, nil
}

// Measurement says whether a candidate is faster than another program on
// inputs of one size.
type Measurement struct {
	Size      string         `json:"size,omitempty"`
	InputSeed uint64         `json:"input_seed"`
	Verdict   change.Verdict `json:"verdict"` // of the candidate, by the significance test
	// Speedup is the ratio of median times, before over after, with its interval.
	Speedup   Number    `json:"speedup"`
	Low       Number    `json:"low"`
	High      Number    `json:"high"`
	P         Number    `json:"p"`
	Threshold Number    `json:"p_threshold"`
	Level     float64   `json:"level"`
	MinEffect float64   `json:"min_effect"`
	Looks     int       `json:"looks"`
	Stopped   string    `json:"stopped"`
	Before    []float64 `json:"before_seconds"` // of each repeat, in their order
	After     []float64 `json:"after_seconds"`
	BeforeMed Number    `json:"before_median_seconds"`
	AfterMed  Number    `json:"after_median_seconds"`
	// Joules are the energies of the same repeats, where the machine has sensors;
	// nil where not, and then EnergyNote says why.
	JoulesBefore []float64         `json:"before_joules,omitempty"`
	JoulesAfter  []float64         `json:"after_joules,omitempty"`
	Energy       *Energy           `json:"energy,omitempty"` // how they compare; nil where they are not known
	EnergyNote   string            `json:"energy_note,omitempty"`
	Findings     []measure.Finding `json:"findings,omitempty"`
	// Failed is a repeat that failed or put out something else: there is no
	// verdict then.
	Failed   string `json:"failed,omitempty"`
	FailedAs Reason `json:"failed_as,omitempty"` // "" with Failed is WrongResult
}

// Energy says how much energy a candidate takes beside another program, the rest
// of the machine included.
type Energy struct {
	Sensors string         `json:"sensors"` // that were read
	Verdict change.Verdict `json:"verdict"` // change.Faster is for less energy, change.Slower for more
	// Ratio is that of median energies, before over after, with its interval.
	Ratio     Number `json:"ratio"`
	Low       Number `json:"low"`
	High      Number `json:"high"`
	P         Number `json:"p"`
	BeforeMed Number `json:"before_median_joules"`
	AfterMed  Number `json:"after_median_joules"`
}

// String says the result in a line.
func (m Measurement) String() string {
	if m.Failed != "" {
		return m.Failed
	}
	at := ""
	if m.Size != "" {
		at = "size " + m.Size + ": "
	}
	s := fmt.Sprintf("%s%s: %.3g times as fast (%.3g to %.3g), %d and %d repeats, p = %.2g", at, m.Verdict, float64(m.Speedup), float64(m.Low), float64(m.High),
		len(m.Before), len(m.After), float64(m.P))
	if e := m.Energy; e != nil {
		s += fmt.Sprintf("; %.3g J in place of %.3g J (%s)", float64(e.AfterMed), float64(e.BeforeMed), e.Sensors)
	}
	for _, f := range m.Findings {
		s += "; " + f.String()
	}
	return s
}

// MeasureOptions bound a measurement; what is 0 is as the target, or else
// package measure has it.
type MeasureOptions struct {
	Min, Max int                                `json:",omitempty"`
	Seed     uint64                             `json:",omitempty"` // of the bootstrap
	Progress func(measure.Side, measure.Sample) `json:"-"`
}

// Measure compares the times of two programs on a fresh input of a size ("" is
// that of a target without sizes). Each run's outputs are compared, too.
func (w *Workbench) Measure(ctx context.Context, before, after *Program, size string, opt MeasureOptions) (Measurement, error) {
	fail := func(err error) (Measurement, error) {
		return Measurement{}, fmt.Errorf("measuring %s: %w", w.Target.Name, err)
	}
	dir, err := os.MkdirTemp("", "rooflab-optimize-")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(dir)
	p, err := w.prepared(ctx, before, after, size, size, dir)
	if err != nil {
		return fail(err)
	}
	t := w.Target.Measure
	o := measure.Options{Min: opt.Min, Max: t.Repeats, Alpha: t.Alpha, MinEffect: t.MinEffect, Seed: opt.Seed, Progress: opt.Progress, NoEnergy: w.Sensors.Note}
	if t.Metric == target.Energy {
		o.By = measure.ByEnergy
	}
	if opt.Max > 0 {
		o.Max = opt.Max
	}
	if o.Max > 0 && o.Min == 0 {
		o.Min = min(6, o.Max)
	}
	a := measure.Program{Box: w.box, Command: p.Original, Check: p.Check, Sensors: w.Sensors}
	b := measure.Program{Box: w.box, Command: p.Candidate, Check: p.Check, Sensors: w.Sensors}
	r, err := measure.Compare(ctx, a.Run, b.Run, o)
	m := Measurement{Size: size, InputSeed: p.Seed, Verdict: r.Verdict, Speedup: Number(r.Speedup), Low: Number(r.Low), High: Number(r.High),
		P: Number(r.P), Threshold: Number(r.Threshold), Level: r.Options.Level, MinEffect: r.Options.MinEffect, Looks: r.Looks, Stopped: r.Stopped,
		Before: r.Original.Seconds(), After: r.Candidate.Seconds(), BeforeMed: Number(r.Original.Median), AfterMed: Number(r.Candidate.Median), Findings: r.Findings, EnergyNote: r.Energy.Why}
	if e := r.Energy; e.Known {
		m.JoulesBefore, m.JoulesAfter = e.Original, e.Changed
		m.Energy = &Energy{Sensors: w.Sensors.String(), Verdict: e.Verdict, Ratio: Number(e.Ratio), Low: Number(e.Low), High: Number(e.High), P: Number(e.P),
			BeforeMed: Number(e.Before), AfterMed: Number(e.After)}
	}
	var failed *measure.FailedError
	if errors.As(err, &failed) && failed.Side == measure.Candidate {
		m.Failed, m.Verdict, m.FailedAs = err.Error(), change.TooFew, failedAs(err)
		return m, nil
	}
	if err != nil {
		return fail(err)
	}
	return m, nil
}
