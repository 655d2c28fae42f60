package change

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
)

// Counter is a counter of a kernel that changed, before and after. Its values
// are those of launches, or means over a run's launches where repeats are runs.
type Counter struct {
	Kernel, Metric string
	Unit           string
	Before, After  Side // Total is 0: most counters do not add up
	Test                // Slower is more and Faster is less of it: see Direction
}

// Direction is the verdict in words that fit a counter.
func (c Counter) Direction() string {
	switch c.Verdict {
	case Slower:
		return "more"
	case Faster:
		return "less"
	}
	return string(c.Verdict)
}

// mostKernels bounds of how many kernels counters are looked at.
const mostKernels = 20

// Between compares runs of a store: one before and one after, or the repeats
// of each. Of kernels that changed, or that may have and had too few repeats,
// it also compares all other counters that both sides have.
func Between(ctx context.Context, s *datasets.Store, before, after []int64, opt Options) (Report, error) {
	for _, run := range before {
		if slices.Contains(after, run) {
			return Report{}, fmt.Errorf("comparing runs: run %d is on both sides", run)
		}
	}
	of := observe.Options{Metric: opt.Metric, Kinds: opt.Kinds}
	b, err := observe.Runs(ctx, s, unique(before), of)
	if err != nil {
		return Report{}, err
	}
	a, err := observe.Runs(ctx, s, unique(after), of)
	if err != nil {
		return Report{}, err
	}
	r, err := Of(b, a, opt)
	if err != nil {
		return r, err
	}
	return r, r.along(ctx, s, b, a)
}

func unique(runs []int64) []int64 {
	return slices.Compact(slices.Sorted(slices.Values(runs)))
}

// along compares the counters of kernels that changed.
func (r *Report) along(ctx context.Context, s *datasets.Store, before, after []observe.Observation) error {
	var names []string
	for _, k := range r.Kernels {
		large := math.Abs(k.Ratio-1) >= r.Options.MinEffect
		if k.Verdict == Slower || k.Verdict == Faster || k.Verdict == TooFew && large {
			names = append(names, k.Name)
		}
	}
	if len(names) > mostKernels {
		r.without = len(names) - mostKernels
		names = names[:mostKernels]
	}
	if len(names) == 0 {
		return nil
	}
	kind, used := map[string]bool{}, map[string]bool{}
	for _, o := range slices.Concat(before, after) {
		kind[o.Kind], used[o.Metric] = true, true
	}
	type key struct{ kernel, metric string }
	counters := map[key]*Counter{}
	for i, side := range [][]int64{r.RunsBefore, r.RunsAfter} {
		last := map[key][2]int64{} // run and how many of its launches are in the last value
		add := func(v []any) {
			k := key{text(v[3]), text(v[5])}
			value, ok := v[6].(float64)
			if !ok || !kind[text(v[4])] || used[k.metric] || math.IsNaN(value) || math.IsInf(value, 0) {
				return
			}
			c := counters[k]
			if c == nil {
				c = &Counter{Kernel: k.kernel, Metric: k.metric, Unit: text(v[7]), Before: Side{Median: math.NaN()}, After: Side{Median: math.NaN()}}
				counters[k] = c
			}
			of := &c.Before
			if i == 1 {
				of = &c.After
			}
			run, region, launch := number(v[0]), number(v[1]), number(v[2])
			of.Evidence = append(of.Evidence, observe.Row{Run: run, Region: region, Launch: launch, Metric: k.metric})
			if l := last[k]; r.Repeats == ByRun && l[0] == run {
				n := float64(l[1])
				mean := &of.values[len(of.values)-1]
				*mean += (value - *mean) / (n + 1)
				last[k] = [2]int64{run, l[1] + 1}
			} else {
				of.values = append(of.values, value)
				last[k] = [2]int64{run, 1}
			}
		}
		args := make([]any, 0, len(side)+len(names))
		for _, run := range side {
			args = append(args, run)
		}
		for _, n := range names {
			args = append(args, n)
		}
		rows, err := s.Rows(ctx, `SELECT c.run_id, c.region_id, c.launch_id, g.short, g.kind, c.metric, c.value, c.unit
			FROM counter c JOIN region g ON g.id = c.region_id LEFT JOIN launch l ON l.id = c.launch_id
			WHERE c.value IS NOT NULL AND c.instance IS NULL AND c.run_id IN (?`+strings.Repeat(", ?", len(side)-1)+`)
			AND g.short IN (?`+strings.Repeat(", ?", len(names)-1)+`) ORDER BY c.run_id, l.sequence NULLS LAST, c.region_id, c.launch_id, c.metric`, args...)
		if err != nil {
			return fmt.Errorf("comparing counters: %w", err)
		}
		for rows.Next() {
			add(rows.Values())
		}
		err = rows.Err()
		rows.Close()
		if err != nil {
			return fmt.Errorf("comparing counters: %w", err)
		}
	}
	for _, c := range counters {
		if len(c.Before.values) == 0 || len(c.After.values) == 0 {
			continue
		}
		for _, of := range []*Side{&c.Before, &c.After} {
			of.N, of.Median, of.Noise = len(of.values), median(of.values), NoiseOf(of.values)
		}
		c.Test = r.Options.compare(c.Kernel+"\x00"+c.Metric, c.Before, c.After)
		r.Counters = append(r.Counters, *c)
	}
	slices.SortFunc(r.Counters, func(a, b Counter) int {
		return cmp.Or(cmp.Compare(effect(b.Ratio), effect(a.Ratio)), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Metric, b.Metric))
	})
	tests := make([]*Test, len(r.Counters))
	for i := range tests {
		tests[i] = &r.Counters[i].Test
	}
	r.CountersTested = r.Options.judge(tests, func(i int) (int, int) { return r.Counters[i].Before.N, r.Counters[i].After.N })
	// What stayed as it was is no news.
	r.Counters = slices.DeleteFunc(r.Counters, func(c Counter) bool {
		small := !(effect(c.Ratio) >= math.Log(1+r.Options.MinEffect))
		return small || c.Verdict == Unclear || c.Verdict == Same
	})
	return nil
}

// effect orders ratios by how far they are from 1, either way.
func effect(ratio float64) float64 {
	if e := math.Abs(math.Log(ratio)); !math.IsNaN(e) {
		return e
	}
	return -1
}

func text(v any) string {
	s, _ := v.(string)
	return s
}

func number(v any) int64 {
	n, _ := v.(int64)
	return n
}
