// Package measure says whether a candidate is faster than the original, by how
// much, and how sure that is. In flow two ways to run a program once, out flows
// a Result: a verdict, the speedup with its interval, how steady the repeats
// were, and each repeat, which Records turns into rows of a store.
//
// Original and candidate take turns (A B B A, then B A A B), so that a machine
// that gets slower or faster meanwhile does it to both. After 6, 12 and 24
// repeats of each (Options) modeling/change looks at them: the ratio of medians
// with a bootstrap interval, and the rank test of Mann and Whitney. It stops when
// there is a difference, or none that counts. Looking several times finds a
// difference by chance more often, so each look has its share of the error that
// is allowed (Bonferroni): the verdict and the interval hold at Alpha and Level
// whenever it stops.
//
// # Verdict and interval
//
// They are one statement. The interval leaves out 1 only where the rank test and
// the bootstrap both show a difference: where one of them does not, the interval
// reaches to 1. Then
//
//	Faster, Slower   the interval leaves out 1, and the ratio of medians is at least MinEffect away from it
//	Same             the whole interval is within MinEffect of 1
//	TooFew           with so many repeats the rank test could not have shown anything
//	Unclear          all else: the interval reaches to 1, or leaves it out by less than what counts
//
// Two modes of a machine, fast and slow, are why one test is not enough: a few
// repeats in the other mode move ranks little and the median from mode to mode, and
// where the medians lie in one mode by chance, the bootstrap does not see the other.
//
// # Energy and clocks
//
// Where the machine has sensors of energy, each repeat has its joules and Energy
// compares them as the times are compared; where it has none, Energy says so.
//
// Times are those that were taken outside of the program (sandbox.Outcome.Wall).
// What a program says of its own time is compared with them and else not used.
package measure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/observe"
)

// Side is whose repeat it is.
type Side string

const (
	Original  Side = "original"
	Candidate Side = "candidate"
)

// Sample is one repeat.
type Sample struct {
	Place   int       // 0, 1, 2 ... in the order in which both sides ran
	Start   time.Time // filled in by Compare where it is zero
	Seconds float64   // from the start of the program to the end of its last process
	// CPU is the CPU time of all of its processes in seconds, Claimed the time in
	// seconds that the program says it took; NaN where it is not known.
	CPU, Claimed float64
	// Delayed is how long it could have run while others had the CPUs, in seconds;
	// 0 where that is not known.
	Delayed float64
	// Energy is what the machine took meanwhile in joules, of Program's Sensors; NaN
	// or 0 where it is not known.
	Energy float64
}

// Runner runs a program once.
type Runner func(ctx context.Context) (Sample, error)

// Options say how long to measure. The zero value is ready to use.
type Options struct {
	Warmups   int           // runs of each side that do not count, 0 is 1, below 0 none
	Min, Max  int           // repeats of each side at the first look and at the last, 0 is 6 and 24; even
	Budget    time.Duration // no new turn begins after it; 0 is none
	Alpha     float64       // chance of a difference where there is none, 0 is 0.05
	MinEffect float64       // smallest change of the ratio of medians that counts, 0 is 0.03
	Level     float64       // of the interval, 0 is 0.95
	Seed      uint64        // of the bootstrap
	// By is what decides when to stop: Time, or ByEnergy, which takes sensors.
	By By
	// NoEnergy is why there are no sensors, for Result.Energy.
	NoEnergy string
	// Progress, where there is one, hears of each repeat that counts.
	Progress func(Side, Sample)
}

// By is what is compared.
type By string

const (
	Time     By = "" // of the clock
	ByEnergy By = "energy"
)

// Why measuring stopped.
const (
	StopShown   = "a difference was shown"
	StopSame    = "no difference that counts was left possible"
	StopRepeats = "all repeats were made"
	StopBudget  = "the time for measuring was used up"
)

// Series are the repeats of one side.
type Series struct {
	Samples []Sample
	Median  float64 // s
	Noise   change.Noise
}

// Seconds are the times in their order.
func (s Series) Seconds() []float64 {
	out := make([]float64, len(s.Samples))
	for i, v := range s.Samples {
		out[i] = v.Seconds
	}
	return out
}

// Result is what was measured.
type Result struct {
	Verdict change.Verdict // of the candidate: change.Faster, Slower, Same, Unclear or TooFew
	// Speedup is the original's median time over the candidate's; Low and High are
	// its interval at Options.Level, however often it was looked at.
	Speedup, Low, High  float64
	P                   float64 // of the rank test at the last look; a difference is shown at Threshold or below
	Threshold           float64
	Exact               bool // the test is no approximation
	Looks               int
	Stopped             string
	Original, Candidate Series
	Energy              Energy // of the same repeats
	Findings            []Finding
	Options             Options // as they were in force
}

// String says the result in a line.
func (r Result) String() string {
	s := fmt.Sprintf("%s: %.3g times as fast (%.3g to %.3g), %d and %d repeats, p = %.2g", r.Verdict, r.Speedup, r.Low, r.High,
		len(r.Original.Samples), len(r.Candidate.Samples), r.P)
	for _, f := range r.Findings {
		s += "; " + f.String()
	}
	return s
}

func (o Options) filled() (Options, error) {
	o.Warmups = max(0, cmp.Or(o.Warmups, 1))
	o.Min, o.Max = cmp.Or(o.Min, 6), cmp.Or(o.Max, 24)
	o.Alpha, o.MinEffect, o.Level = cmp.Or(o.Alpha, 0.05), cmp.Or(o.MinEffect, 0.03), cmp.Or(o.Level, 0.95)
	switch {
	case o.Min < 2 || o.Max < o.Min || o.Min%2 != 0 || o.Max%2 != 0:
		return o, fmt.Errorf("measuring: %d to %d repeats of each side: both are even, and 2 at least", o.Min, o.Max)
	case !(o.Alpha > 0 && o.Alpha < 1) || !(o.Level > 0 && o.Level < 1) || !(o.MinEffect > 0):
		return o, fmt.Errorf("measuring: alpha %g and level %g lie between 0 and 1, and the smallest effect %g above 0", o.Alpha, o.Level, o.MinEffect)
	case o.Budget < 0:
		return o, fmt.Errorf("measuring: a time of %v", o.Budget)
	}
	if need := change.RepeatsNeeded(1, o.Alpha/float64(len(o.looks()))); o.Max < need {
		return o, fmt.Errorf("measuring: with %d repeats of each side no difference can be shown at alpha %g: it takes %d", o.Max, o.Alpha, need)
	}
	return o, nil
}

// looks are the numbers of repeats at which the result is looked at.
func (o Options) looks() []int {
	var at []int
	for n := o.Min; n < o.Max; n *= 2 {
		at = append(at, n)
	}
	return append(at, o.Max)
}

// FailedError says that a repeat failed: there is no result without it.
type FailedError struct {
	Side  Side
	Place int // in the order of all runs, warm-ups included
	Err   error
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("measuring the %s, run %d: %v", e.Side, e.Place+1, e.Err)
}

func (e *FailedError) Unwrap() error { return e.Err }

// turns are the order of a block of two repeats of each side.
var turns = [2][4]Side{{Original, Candidate, Candidate, Original}, {Candidate, Original, Original, Candidate}}

// Compare measures. An error is a *FailedError, the end of ctx, or options that
// make no sense.
func Compare(ctx context.Context, original, candidate Runner, opt Options) (Result, error) {
	opt, err := opt.filled()
	r := Result{Options: opt, Verdict: change.TooFew, Speedup: math.NaN(), Low: math.NaN(), High: math.NaN(), P: 1, Energy: unknown(opt.NoEnergy)}
	if err != nil {
		return r, err
	}
	began := time.Now()
	place := 0
	once := func(s Side) (Sample, error) {
		runner := map[Side]Runner{Original: original, Candidate: candidate}[s]
		start := time.Now()
		v, err := runner(ctx)
		switch {
		case ctx.Err() != nil:
			return v, ctx.Err()
		case err == nil && (!(v.Seconds > 0) || math.IsInf(v.Seconds, 0)):
			err = fmt.Errorf("it took %g s: no time was taken", v.Seconds)
		case err == nil && opt.By == ByEnergy && !(v.Energy > 0):
			err = fmt.Errorf("its energy is not known, by which it is to be compared (%s)", cmp.Or(opt.NoEnergy, "the run was too short for the sensor"))
		}
		if err != nil {
			return v, &FailedError{Side: s, Place: place, Err: err}
		}
		if v.Start.IsZero() {
			v.Start = start
		}
		place++
		return v, nil
	}
	for range opt.Warmups {
		for _, s := range []Side{Original, Candidate} {
			if _, err := once(s); err != nil {
				return r, err
			}
		}
	}
	looks := opt.looks()
	for block := 0; ; block++ {
		for _, s := range turns[block%2] {
			v, err := once(s)
			if err != nil {
				return r, err
			}
			v.Place = place - 1 - 2*opt.Warmups
			series := &r.Original
			if s == Candidate {
				series = &r.Candidate
			}
			series.Samples = append(series.Samples, v)
			if opt.Progress != nil {
				opt.Progress(s, v)
			}
		}
		n := len(r.Original.Samples)
		spent := opt.Budget > 0 && time.Since(began) >= opt.Budget
		if !spent && !slices.Contains(looks, n) {
			continue
		}
		if err := r.look(len(looks)); err != nil {
			return r, err
		}
		verdict := r.Verdict
		if opt.By == ByEnergy {
			verdict = r.Energy.Verdict
		}
		switch {
		case verdict == change.Faster || verdict == change.Slower:
			r.Stopped = StopShown
		case verdict == change.Same:
			r.Stopped = StopSame
		case n >= opt.Max:
			r.Stopped = StopRepeats
		case spent:
			r.Stopped = StopBudget
		default:
			continue
		}
		r.Findings = findings(r)
		return r, nil
	}
}

// look compares what there is, with a share of the error that is allowed.
func (r *Result) look(shares int) error {
	r.Looks++
	r.Threshold = r.Options.Alpha / float64(shares)
	kernel, err := r.compared(func(s Sample) float64 { return s.Seconds })
	if err != nil {
		return err
	}
	r.Verdict, r.P, r.Exact = kernel.Verdict, kernel.P, kernel.Exact
	r.Speedup, r.Low, r.High = 1/kernel.Ratio, 1/kernel.High, 1/kernel.Low
	r.Original.Median, r.Original.Noise = kernel.Before.Median, kernel.Before.Noise
	r.Candidate.Median, r.Candidate.Noise = kernel.After.Median, kernel.After.Noise
	r.Energy, err = r.energy(r.Options.NoEnergy)
	return err
}

// compared compares one quantity of the two sides, of which less is better, at the
// threshold of this look.
func (r *Result) compared(of func(Sample) float64) (change.Kernel, error) {
	report, err := change.Of(observations(1, r.Original, of), observations(2, r.Candidate, of), change.Options{
		Alpha: r.Threshold, MinEffect: r.Options.MinEffect, Level: 1 - (1-r.Options.Level)*r.Threshold/r.Options.Alpha, Seed: r.Options.Seed, Repeats: change.ByLaunch,
	})
	if err != nil {
		return change.Kernel{}, err
	}
	kernel, ok := report.Kernel(program)
	if !ok {
		return kernel, errors.New("measuring: the comparison has lost the program")
	}
	agree(&kernel.Test, r.Threshold)
	return kernel, nil
}

// agree makes one statement of a verdict and its interval.
func agree(t *change.Test, threshold float64) {
	if t.P <= threshold && (t.Low > 1 || t.High < 1) {
		return // of a ratio that counts it is Faster or Slower
	}
	t.Low, t.High = min(t.Low, 1), max(t.High, 1) // NaN stays
	if t.Verdict == change.Faster || t.Verdict == change.Slower {
		t.Verdict = change.Unclear
	}
}

// program is the one name that both sides have.
const program = "program"

func observations(run int64, s Series, of func(Sample) float64) []observe.Observation {
	var out []observe.Observation
	for i, v := range s.Samples {
		out = append(out, observe.Observation{
			Row:    observe.Row{Run: run, Region: run, Launch: int64(i + 1), Metric: observe.Duration},
			Kernel: program, Kind: datasets.KindRange, Sequence: datasets.Some(int64(v.Place)), Value: datasets.Some(of(v)), Unit: "s", Launches: 1,
		})
	}
	return out
}
