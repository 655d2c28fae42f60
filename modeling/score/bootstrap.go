package score

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Resampling says how Bootstrap draws.
type Resampling struct {
	Resamples int     // default 1000
	Level     float64 // of the interval, default 0.95
	Seed      uint64
}

// Interval is a figure with its confidence interval; the ends are NaN where
// there is none.
type Interval struct {
	Value, Low, High float64
}

// Bootstrap is the percentile interval (Efron 1979) of a statistic of rows.
// Rows of one group, as the launches of one kernel, are no independent
// evidence, so that whole groups are drawn with replacement: group says which
// group a row is of. statistic gets the rows of a resample, as indices with
// repetitions, and answers NaN when it has no value there; such resamples are
// left out. The ends are NaN when there are fewer than two groups, or when
// half of the resamples have no value.
//
// Equal seeds and rows give equal intervals.
func Bootstrap(group []string, statistic func(rows []int) float64, opt Resampling) (Interval, error) {
	if opt.Resamples == 0 {
		opt.Resamples = 1000
	}
	if opt.Level == 0 {
		opt.Level = 0.95
	}
	if len(group) == 0 || opt.Resamples < 0 || !(opt.Level > 0 && opt.Level < 1) {
		return Interval{}, fmt.Errorf("bootstrapping %d rows with %d resamples at the level %g", len(group), opt.Resamples, opt.Level)
	}
	members := map[string]int{}
	var rows [][]int // by group, in the order in which groups appear
	for i, g := range group {
		at, ok := members[g]
		if !ok {
			at = len(rows)
			members[g] = at
			rows = append(rows, nil)
		}
		rows[at] = append(rows[at], i)
	}
	out := Interval{statistic(slices.Concat(rows...)), math.NaN(), math.NaN()}
	if len(rows) < 2 {
		return out, nil
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0x626f6f74))
	var values []float64
	var drawn []int
	for range opt.Resamples {
		drawn = drawn[:0]
		for range rows {
			drawn = append(drawn, rows[rng.IntN(len(rows))]...)
		}
		if v := statistic(drawn); !math.IsNaN(v) {
			values = append(values, v)
		}
	}
	if 2*len(values) < opt.Resamples || len(values) == 0 {
		return out, nil
	}
	slices.Sort(values)
	out.Low, out.High = Quantile(values, (1-opt.Level)/2), Quantile(values, (1+opt.Level)/2)
	return out, nil
}

// Quantile interpolates linearly between the values next to it, as numpy does
// by default (type 7 of Hyndman and Fan 1996). sorted must be; NaN for none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	i := min(max(int(math.Floor(at)), 0), len(sorted)-1)
	j := min(i+1, len(sorted)-1)
	if sorted[i] == sorted[j] { // infinities, too
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[j]-sorted[i])
}
