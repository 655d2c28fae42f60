// Package change says what got slower between two runs, or two groups of
// repeats, and how sure that is.
//
// In flow observations of time before and after (Between reads them from a
// store), out flows a Report: for each kernel the ratio of medians with a
// bootstrap interval, a rank test (Mann and Whitney) corrected for the number
// of kernels (Benjamini and Hochberg), and a verdict; how much of the total
// difference each kernel explains; and how steady the repeats were. Too few
// repeats are said to be too few: no verdict is made of them.
package change

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/modeling/observe"
)

// Verdict is what the measurements say of one kernel.
type Verdict string

// Verdicts.
const (
	// Slower and Faster: q is at most Alpha, and the ratio of medians is at least
	// MinEffect away from 1.
	Slower Verdict = "slower"
	Faster Verdict = "faster"
	// Same: the whole interval of the ratio is within MinEffect of 1.
	Same Verdict = "no change"
	// Unclear: neither a change nor its absence is shown.
	Unclear Verdict = "not shown"
	// TooFew: with so many repeats the test could not have found a change,
	// however large.
	TooFew   Verdict = "too few repeats to tell"
	New      Verdict = "new"
	Vanished Verdict = "vanished"
	NoValue  Verdict = "no value" // a side has the kernel and no time of it
)

// What the repeats are.
const (
	ByRun    = "run"    // the total time of a kernel in each run
	ByLaunch = "launch" // the time of each launch
)

// Options say when a change counts. The zero value is ready to use.
type Options struct {
	Alpha     float64 // false discovery rate, 0 is 0.05
	MinEffect float64 // smallest change of the ratio that counts, 0 is 0.03
	Level     float64 // of intervals, 0 is 0.95
	Draws     int     // bootstrap samples, 0 is 2000
	Seed      uint64
	// Repeats is ByRun or ByLaunch; "" is ByRun where both sides have several
	// runs. Launches of one run do not show what differs from run to run (where
	// memory lies, which core, how warm): their intervals are too narrow for it.
	Repeats string
	Metric  string   // as observe.Options has it
	Kinds   []string // as observe.Options has it
}

func (o Options) filled() (Options, error) {
	o.Alpha, o.MinEffect, o.Level = cmp.Or(o.Alpha, 0.05), cmp.Or(o.MinEffect, 0.03), cmp.Or(o.Level, 0.95)
	o.Draws = cmp.Or(o.Draws, 2000)
	switch {
	case !(o.Alpha > 0 && o.Alpha < 1), !(o.Level > 0 && o.Level < 1):
		return o, fmt.Errorf("alpha %g and level %g must be between 0 and 1", o.Alpha, o.Level)
	case !(o.MinEffect > 0) || math.IsInf(o.MinEffect, 0):
		return o, fmt.Errorf("the smallest effect %g must be above 0: 0.03 is 3 %%", o.MinEffect)
	case o.Draws < 100 || o.Draws > 1_000_000:
		return o, fmt.Errorf("%d bootstrap samples: give 100 to 1000000", o.Draws)
	case o.Repeats != "" && o.Repeats != ByRun && o.Repeats != ByLaunch:
		return o, fmt.Errorf("repeats are %q or %q, not %q", ByRun, ByLaunch, o.Repeats)
	}
	return o, nil
}

// Side is a kernel on one side of the comparison.
type Side struct {
	N        int     // repeats with a value
	Unknown  int     // launches without one
	Median   float64 // over repeats; NaN where N is 0
	Total    float64 // time per run, the mean over the side's runs: totals add up, medians do not
	Launches float64 // per run
	Noise    Noise
	Evidence []observe.Row
	values   []float64 // in order of measurement
}

// Test compares two samples.
type Test struct {
	Ratio     float64 // median after / median before; NaN where one is missing
	Low, High float64 // bootstrap interval of it; NaN below two repeats on a side
	P         float64 // of the rank test; 1 where there is none
	Q         float64 // p corrected for the number of tests
	Exact     bool
	Verdict   Verdict
}

// Kernel is one kernel before and after.
type Kernel struct {
	Name          string
	Before, After Side
	Test
	Difference float64 // of Total
	Explains   float64 // Difference over that of all kernels, NaN where that is 0
}

// Report is what changed.
type Report struct {
	Kernels               []Kernel // largest difference first
	Before, After         float64  // time per run of all kernels
	Difference            float64
	Unit                  string
	RunsBefore, RunsAfter []int64
	Repeats               string // ByRun or ByLaunch
	Tested                int    // kernels with enough repeats for the test
	Options               Options
	Counters              []Counter // counters that changed along, of kernels that changed: see Between
	CountersTested        int
	without               int // kernels whose counters were not looked at
}

// Of compares observations. Their order does not matter.
func Of(before, after []observe.Observation, opt Options) (Report, error) {
	opt, err := opt.filled()
	if err != nil {
		return Report{}, fmt.Errorf("comparing runs: %w", err)
	}
	r := Report{Options: opt, RunsBefore: runs(before), RunsAfter: runs(after), Repeats: opt.Repeats}
	if len(before) == 0 || len(after) == 0 {
		return r, errors.New("comparing runs: a side has no measurements")
	}
	if r.Repeats == "" {
		r.Repeats = ByLaunch
		if len(r.RunsBefore) > 1 && len(r.RunsAfter) > 1 {
			r.Repeats = ByRun
		}
	}
	kernels := map[string]*Kernel{}
	for i, obs := range [][]observe.Observation{before, after} {
		sides, err := r.sides(obs, len([][]int64{r.RunsBefore, r.RunsAfter}[i]))
		if err != nil {
			return r, fmt.Errorf("comparing runs: %w", err)
		}
		for name, s := range sides {
			k := kernels[name]
			if k == nil {
				k = &Kernel{Name: name, Before: Side{Median: math.NaN()}, After: Side{Median: math.NaN()}}
				kernels[name] = k
			}
			if i == 0 {
				k.Before = s
			} else {
				k.After = s
			}
		}
	}
	var tests []*Test
	for _, name := range sortedKeys(kernels) {
		k := kernels[name]
		k.Test = opt.compare(name, k.Before, k.After)
		k.Difference = k.After.Total - k.Before.Total
		r.Kernels = append(r.Kernels, *k)
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		r.Before, r.After = r.Before+k.Before.Total, r.After+k.After.Total
		tests = append(tests, &k.Test)
	}
	r.Difference = r.After - r.Before
	r.Tested = opt.judge(tests, func(i int) (int, int) { return r.Kernels[i].Before.N, r.Kernels[i].After.N })
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.Explains = math.NaN()
		if r.Difference != 0 {
			k.Explains = k.Difference / r.Difference
		}
	}
	slices.SortStableFunc(r.Kernels, func(a, b Kernel) int { return cmp.Compare(math.Abs(b.Difference), math.Abs(a.Difference)) })
	return r, nil
}

func sortedKeys[V any](m map[string]V) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func runs(obs []observe.Observation) []int64 {
	seen := map[int64]bool{}
	var out []int64
	for _, o := range obs {
		if !seen[o.Run] {
			seen[o.Run] = true
			out = append(out, o.Run)
		}
	}
	slices.Sort(out)
	return out
}

// sides groups the observations of one side by kernel.
func (r *Report) sides(obs []observe.Observation, runs int) (map[string]Side, error) {
	obs = slices.Clone(obs)
	slices.SortFunc(obs, func(a, b observe.Observation) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Sequence.Or(math.MaxInt64), b.Sequence.Or(math.MaxInt64)),
			cmp.Compare(a.Region, b.Region), cmp.Compare(a.Launch, b.Launch))
	})
	sides := map[string]Side{}
	last := map[string]int64{} // the run of a kernel's last value
	for _, o := range obs {
		s := sides[o.Kernel]
		s.Launches += float64(o.Launches)
		v := o.Value.V
		switch {
		case !o.Value.Valid:
			s.Unknown++
		case math.IsNaN(v) || math.IsInf(v, 0):
			return nil, fmt.Errorf("%s (%s) has the value %g", o.Kernel, o.Row, v)
		case r.Unit != "" && o.Unit != r.Unit:
			return nil, fmt.Errorf("%s (%s) is in %q and others are in %q", o.Kernel, o.Row, o.Unit, r.Unit)
		default:
			r.Unit = o.Unit
			s.Total += v / float64(runs)
			s.Evidence = append(s.Evidence, o.Row)
			if run, ok := last[o.Kernel]; r.Repeats == ByRun && ok && run == o.Run {
				s.values[len(s.values)-1] += v
			} else {
				s.values = append(s.values, v)
			}
			last[o.Kernel] = o.Run
		}
		sides[o.Kernel] = s
	}
	for name, s := range sides {
		s.Launches /= float64(runs)
		s.N, s.Median, s.Noise = len(s.values), median(s.values), NoiseOf(s.values)
		sides[name] = s
	}
	return sides, nil
}

// compare tests one kernel or counter, all but the verdict that depends on the
// others.
func (o Options) compare(name string, before, after Side) Test {
	t := Test{Ratio: math.NaN(), Low: math.NaN(), High: math.NaN(), P: 1, Q: 1}
	switch b, a := before.N+before.Unknown > 0, after.N+after.Unknown > 0; {
	case !b:
		t.Verdict = New
	case !a:
		t.Verdict = Vanished
	case before.N == 0 || after.N == 0:
		t.Verdict = NoValue
	default:
		t.Ratio = after.Median / before.Median
		if before.Median == after.Median {
			t.Ratio = 1 // zeros too
		} else if before.Median < 0 || after.Median < 0 {
			t.Ratio = math.NaN() // how many times something negative says nothing
		}
		t.Low, t.High = ratioInterval(before.values, after.values, o.Level, o.Draws, random(o.Seed, name))
		t.P, t.Exact = MannWhitney(before.values, after.values)
	}
	return t
}

// judge corrects the p values for their number, gives the verdicts that are
// open and returns how many tests there were. A test that cannot reach Alpha,
// given how many repeats it has, is no test.
func (o Options) judge(tests []*Test, repeats func(i int) (before, after int)) int {
	var p []float64
	var at []int
	for i, t := range tests {
		if t.Verdict != "" {
			continue
		}
		if smallestP(repeats(i)) > o.Alpha {
			t.Verdict = TooFew
			continue
		}
		p, at = append(p, t.P), append(at, i)
	}
	found := 0
	for j, q := range BenjaminiHochberg(p) {
		tests[at[j]].Q = q
		if q <= o.Alpha {
			found++
		}
	}
	for _, i := range at {
		t := tests[i]
		switch {
		case t.Q <= o.Alpha && t.Ratio >= 1+o.MinEffect:
			t.Verdict = Slower
		case t.Q <= o.Alpha && t.Ratio <= 1-o.MinEffect:
			t.Verdict = Faster
		case t.Low >= 1-o.MinEffect && t.High <= 1+o.MinEffect:
			t.Verdict = Same
		case t.Q > o.Alpha && smallestP(repeats(i)) > o.Alpha*float64(found+1)/float64(len(at)):
			t.Verdict = TooFew
		default:
			t.Verdict = Unclear
		}
	}
	return len(at)
}
