package counters

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
)

// Regressor predicts the target from chosen counters in a comparison. It is
// the same for all ways to choose.
type Regressor string

// The regressors. Both see standardised predictors (by logarithm where
// Select takes it).
const (
	Ridge      Regressor = "ridge regression"     // baseline.FitRidge with a penalty of 1: linear in what Select sees
	Neighbours Regressor = "5 nearest neighbours" // the mean of the 5 nearest rows: takes any shape
)

// Ways to choose, as a Comparison names them.
const (
	Ensemble     = "ensemble"         // Select
	Pursuit      = "single pursuit"   // one orthogonal matching pursuit on all rows
	LassoLargest = "LASSO, largest"   // the largest coefficients at the cross-validated penalty
	LassoFirst   = "LASSO, first"     // the first on the path
	Correlated   = "most correlated"  // the largest |correlation| with the target
	Informative  = "most informative" // the largest mutual information with the target
	Random       = "random (mean)"    // the mean over random choices
	Everything   = "all counters"     // what is possible with all of them
)

// CompareOptions say how to compare. The zero value is good.
type CompareOptions struct {
	Options             // of Select; LASSO and the others get the same columns
	Folds     int       // of the cross-validation, 5 by default
	Repeats   int       // of it, each with other folds, 4 by default
	Draws     int       // of random counters in each repeat, 50 by default
	Regressor Regressor // Ridge by default
}

// Compared is how well the counters of one way to choose predict rows that
// neither the choice nor the regressor has seen.
type Compared struct {
	Way  string
	R2   float64 // of the target as Select takes it (log time): 1 - squared errors / squared deviations, mean over repeats
	R2SD float64 // standard deviation over repeats; for Random over draws
	// Low and High are the 95 % bootstrap interval of R2 over units of rows
	// (Efron 1979, percentiles), errors being the mean over repeats. It says how
	// far the figure depends on which rows were measured; it does not fit again.
	Low, High float64
	// Ahead is the ensemble's R2 less this one, with the interval of the paired
	// difference (the same samples for both); NaN for the ensemble itself.
	Ahead, AheadLow, AheadHigh float64

	MAPE              float64 // mean of |p-t|/t of the target itself, NaN where it is not positive
	MAPELow, MAPEHigh float64 // its interval, as that of R2
	Better            float64 // share of the repeats (for Random: of the draws) in which the ensemble's R2 is larger; NaN for itself
	// Often are the counters by the share of folds in which they were chosen,
	// the most frequent first; empty for Random and Everything.
	Often []Frequency
}

// Frequency is how often a counter was chosen.
type Frequency struct {
	Name  string
	Share float64
}

// Comparison is a table of ways to choose, in a fixed order.
type Comparison struct {
	Target    string
	K         int
	Rows      int
	Folds     int
	Repeats   int
	Draws     int
	Seed      uint64
	Regressor Regressor
	Ways      []Compared
}

// Way returns the figures of one way to choose.
func (c *Comparison) Way(name string) (Compared, bool) {
	for _, w := range c.Ways {
		if w.Way == name {
			return w, true
		}
	}
	return Compared{}, false
}

// Compare chooses K counters in each way on the training rows of each fold,
// fits the regressor to them there and scores it on the rows left out: the
// choice is part of what is validated, so no way sees the rows it is scored
// on. Units of rows (Table.Groups) stay whole.
func Compare(ctx context.Context, t Table, o CompareOptions) (*Comparison, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	o.Folds, o.Repeats, o.Draws = cmp.Or(o.Folds, 5), cmp.Or(o.Repeats, 4), cmp.Or(o.Draws, 50)
	o.Regressor = cmp.Or(o.Regressor, Ridge)
	if o.Regressor != Ridge && o.Regressor != Neighbours {
		return nil, fmt.Errorf("comparing choices of counters: there is no regressor %q; there are %q and %q", o.Regressor, Ridge, Neighbours)
	}
	if err := t.check(); err != nil {
		return nil, err
	}
	progress, total := o.Progress, o.Repeats*o.Folds
	o.Progress = nil
	var rows []int
	for i, v := range t.Y {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			rows = append(rows, i)
		}
	}
	t = t.Rows(rows)
	keys := t.Groups
	axis := split.Axis("")
	if keys == nil {
		keys, axis = make([]string, len(rows)), split.ByRow
	}
	c := &Comparison{Target: t.Target, K: o.K, Rows: len(rows), Folds: o.Folds, Repeats: o.Repeats, Draws: o.Draws, Seed: o.Seed, Regressor: o.Regressor}
	tally := newTally()
	for repeat := range o.Repeats {
		folds, err := split.Folds(keys, o.Folds, split.Options{Axis: axis, Seed: o.Seed + uint64(repeat)}) //nolint:gosec // not negative
		if err != nil {
			return nil, fmt.Errorf("comparing choices of counters: %w", err)
		}
		for i, f := range folds {
			if err := o.fold(ctx, t, f, tally, repeat); err != nil {
				return nil, fmt.Errorf("comparing choices of counters, repeat %d, fold %d: %w", repeat+1, i+1, err)
			}
			if progress != nil {
				progress(repeat*o.Folds+i+1, total)
			}
		}
	}
	c.Ways = tally.ways(o.Folds * o.Repeats)
	tally.intervals(c.Ways, keys, o.Seed)
	return c, nil
}

// farthest is the standard deviations at which predictors of unseen rows are
// held.
const farthest = 10

// fold chooses and scores on one split.
func (o *CompareOptions) fold(ctx context.Context, t Table, f split.Split, tally *tally, repeat int) error {
	train := t.Rows(f.Train)
	p, err := prepare(&train, &o.Options)
	if err != nil {
		return err
	}
	traces, err := p.ensemble(ctx, &o.Options)
	if err != nil {
		return err
	}
	cs := p.summarise(traces)
	lasso, err := p.lasso(ctx, o.Seed)
	if err != nil {
		return err
	}
	if err := p.mutual(ctx, o.Seed, cs); err != nil {
		return err
	}
	index := map[string]int{}
	for i, n := range t.Names {
		index[n] = i
	}
	score := func(way string, draw int, chosen []int) error {
		z := make([]float64, len(f.Test))
		predict, err := o.fit(p, chosen)
		if err != nil {
			return err
		}
		x := make([]float64, len(chosen))
		for i, r := range f.Test {
			for k, j := range chosen {
				z := p.columns[j].scale.of(t.Columns[index[p.columns[j].name]][r])
				x[k] = math.Max(-farthest, math.Min(farthest, z)) // a zero where training had none is log 0
			}
			z[i] = predict(x)
		}
		tally.add(way, repeat, draw, p.yscale, z, pick(t.Y, f.Test), f.Test)
		return nil
	}
	all := make([]int, len(cs))
	for j := range all {
		all[j] = j
	}
	largest := func(of func(j int) float64) []int {
		s := slices.Clone(all)
		slices.SortStableFunc(s, func(a, b int) int { return cmp.Compare(of(b), of(a)) })
		return s[:min(o.K, len(s))]
	}
	ensemble, _, _ := p.final(cs, o.K)
	alone, _, _ := p.final(slices.Repeat([]Counter{{Stability: 1}}, len(cs)), o.K)
	for _, w := range []struct {
		way    string
		chosen []int
	}{
		{Ensemble, ensemble},
		{Pursuit, alone},
		{LassoLargest, lasso.ranking[:min(o.K, len(lasso.ranking))]},
		{LassoFirst, lasso.entered[:min(o.K, len(lasso.entered))]},
		{Correlated, largest(func(j int) float64 { return math.Abs(cs[j].Correlation) })},
		{Informative, largest(func(j int) float64 { return cs[j].Mutual })},
		{Everything, all},
	} {
		if err := score(w.way, 0, w.chosen); err != nil {
			return err
		}
		if w.way != Everything {
			for _, j := range w.chosen {
				tally.chose(w.way, p.columns[j].name)
			}
		}
	}
	rng := rand.New(rand.NewPCG(o.Seed, 0x72616e64^uint64(repeat)<<32^uint64(f.Test[0]))) //nolint:gosec // not negative
	for draw := range o.Draws {
		if err := score(Random, draw, rng.Perm(len(cs))[:min(o.K, len(cs))]); err != nil {
			return err
		}
	}
	return nil
}

// fit returns a predictor of the standardised target.
func (o *CompareOptions) fit(p *prepared, chosen []int) (func(x []float64) float64, error) {
	x := make([][]float64, p.rows)
	for r := range x {
		x[r] = make([]float64, len(chosen))
		for k, j := range chosen {
			x[r][k] = p.columns[j].z[r]
		}
	}
	if o.Regressor == Neighbours {
		return func(q []float64) float64 { return nearest(x, p.y, q, 5) }, nil
	}
	m, err := baseline.FitRidge(x, p.y, 1)
	return m.Predict, err
}

// nearest is the mean y of the k rows of x that are nearest to q.
func nearest(x [][]float64, y, q []float64, k int) float64 {
	order := make([]int, len(x))
	d := make([]float64, len(x))
	for i, row := range x {
		order[i] = i
		for j, v := range row {
			d[i] += (v - q[j]) * (v - q[j])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
	k = min(k, len(x))
	sum := 0.0
	for _, i := range order[:k] {
		sum += y[i]
	}
	return sum / float64(k)
}

// Frame is the comparison as a dataframe, a row per way to choose: way, r2,
// r2_low, r2_high, r2_sd, ahead, ahead_low, ahead_high, mape, ensemble_better
// (shares of one) and counters, the most frequent.
func (c *Comparison) Frame() dataframe.DataFrame {
	var ways, names []string
	for _, w := range c.Ways {
		ways, names = append(ways, w.Way), append(names, w.often(c.K))
	}
	figure := func(name string, of func(w Compared) float64) series.Series {
		var vs []float64
		for _, w := range c.Ways {
			vs = append(vs, of(w))
		}
		return series.New(vs, series.Float, name)
	}
	return dataframe.New(series.New(ways, series.String, "way"),
		figure("r2", func(w Compared) float64 { return w.R2 }),
		figure("r2_low", func(w Compared) float64 { return w.Low }),
		figure("r2_high", func(w Compared) float64 { return w.High }),
		figure("r2_sd", func(w Compared) float64 { return w.R2SD }),
		figure("ahead", func(w Compared) float64 { return w.Ahead }),
		figure("ahead_low", func(w Compared) float64 { return w.AheadLow }),
		figure("ahead_high", func(w Compared) float64 { return w.AheadHigh }),
		figure("mape", func(w Compared) float64 { return w.MAPE }),
		figure("ensemble_better", func(w Compared) float64 { return w.Better }),
		series.New(names, series.String, "counters"))
}
