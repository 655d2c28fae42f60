package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
)

// HalfWidth is the distance that a new score (an absolute residual) does not
// exceed with probability level or more.
//
// Without groups it is split conformal prediction (Vovk, Gammerman and Shafer
// 2005): the ceil((n+1) level)-th smallest of n scores, if they and the new one
// are exchangeable. With a group for each score, rows of one group may be as
// alike as they want: it is then the level quantile of the mean of the groups'
// distributions with 1/(groups+1) of the mass at infinity, which covers a row
// of a new group if groups are exchangeable (Lee, Barber and Willett 2023,
// "Distribution-free inference with hierarchical data", HCP). It is +Inf where
// there are too few groups: 9 are needed for 0.9, 19 for 0.95.
func HalfWidth(scores []float64, groups []string, level float64) float64 {
	rows := make([]int, len(scores))
	size := map[string]int{}
	for i := range rows {
		rows[i] = i
		if groups != nil {
			size[groups[i]]++
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(scores[a], scores[b]) })
	if groups == nil {
		if k := int(math.Ceil(float64(len(scores)+1) * level)); k <= len(scores) {
			return scores[rows[max(k-1, 0)]]
		}
		return math.Inf(1)
	}
	const rounding = 1e-12 // of sums of thirds and the like
	mass := 0.0
	for _, r := range rows {
		mass += 1 / float64(size[groups[r]])
		if mass >= level*float64(len(size)+1)-rounding*float64(len(size)+1) {
			return scores[r]
		}
	}
	return math.Inf(1)
}

// Conformal is a Fitter: it fits a Model and makes intervals from groups that
// the model did not see.
type Conformal struct {
	Learner Learner
	// Fraction of the rows, in whole groups, that are held out for intervals,
	// 0.2 by default. The model never sees them (split conformal). Negative
	// holds out none: intervals are then unbounded.
	Fraction float64
	// Folds, if not 0, holds out each of so many folds of the groups once, and
	// then fits the model on all rows: it loses no rows and takes Folds+1 fits.
	// The intervals come from models with fewer rows, so that they tend to be a
	// little wide; that they cover is no theorem here, but is what is seen.
	Folds int
}

// Fitted is the Predictor that Conformal fits.
type Fitted struct {
	Model    Model
	scores   []float64 // |log y - log p|, in units of the spread where there is one
	groups   []string
	interval string
	data     string // hash of all examples, those held out included
	warnings []string
}

// Fit fits the model. The result is a *Fitted.
func (c Conformal) Fit(ctx context.Context, e *Examples, seed uint64) (Predictor, error) {
	if err := e.Check(true); err != nil {
		return nil, err
	}
	if c.Folds != 0 {
		return c.crossFit(ctx, e, seed)
	}
	if c.Fraction < 0 {
		model, err := c.Learner.Fit(ctx, e, seed)
		if err != nil {
			return nil, err
		}
		f := &Fitted{Model: model, data: e.Hash(), interval: "unbounded: no groups were held out for them"}
		return f, nil
	}
	fraction := c.Fraction
	if fraction == 0 {
		fraction = 0.2
	}
	s, err := split.Groups(e.Groups, split.Options{Test: fraction, Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("holding out groups for intervals: %w", err)
	}
	model, err := c.Learner.Fit(ctx, e.Rows(s.Train), seed)
	if err != nil {
		return nil, err
	}
	f := &Fitted{Model: model, data: e.Hash()}
	if err := f.score(ctx, model, e.Rows(s.Test)); err != nil {
		return nil, err
	}
	f.interval = fmt.Sprintf("split conformal by group on %d rows of %d groups that the model did not see", len(f.scores), f.calibration())
	f.warn()
	return f, nil
}

func (c Conformal) crossFit(ctx context.Context, e *Examples, seed uint64) (Predictor, error) {
	folds, err := split.Folds(e.Groups, c.Folds, split.Options{Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("holding out groups for intervals: %w", err)
	}
	f := &Fitted{data: e.Hash()}
	for _, s := range folds {
		model, err := c.Learner.Fit(ctx, e.Rows(s.Train), seed)
		if err == nil {
			err = f.score(ctx, model, e.Rows(s.Test))
		}
		if err != nil {
			return nil, err
		}
	}
	if f.Model, err = c.Learner.Fit(ctx, e, seed); err != nil {
		return nil, err
	}
	f.interval = fmt.Sprintf("cross conformal by group: residuals of %d rows of %d groups by models of %d folds that did not see them; the model itself saw all", len(f.scores), f.calibration(), c.Folds)
	f.warn()
	return f, nil
}

func (f *Fitted) calibration() int {
	g := slices.Clone(f.groups)
	slices.Sort(g)
	return len(slices.Compact(g))
}

func (f *Fitted) warn() {
	if n := f.calibration(); n < 9 {
		f.warnings = append(f.warnings, fmt.Sprintf("%d groups were held out for intervals: at levels above %.2f they are unbounded", n, float64(n)/float64(n+1)))
	}
}

// score adds the scores of rows that model did not see, in canonical order.
func (f *Fitted) score(ctx context.Context, model Model, e *Examples) error {
	e = e.Canonical()
	logs, err := model.Log(ctx, e)
	if err != nil {
		return err
	}
	below, above, err := spread(ctx, model, e)
	if err != nil {
		return err
	}
	for i, y := range e.LogY() {
		d := y - logs[i]
		if d < 0 {
			d = -d / below[i]
		} else {
			d /= above[i]
		}
		f.scores, f.groups = append(f.scores, d), append(f.groups, e.Groups[i])
	}
	return nil
}

func spread(ctx context.Context, m Model, e *Examples) (below, above []float64, err error) {
	if s, ok := m.(Spread); ok {
		return s.Spread(ctx, e)
	}
	one := make([]float64, e.Len())
	for i := range one {
		one[i] = 1
	}
	return one, one, nil
}

// Predict implements Predictor.
func (f *Fitted) Predict(ctx context.Context, e *Examples, level float64) ([]Prediction, error) {
	if !(level > 0) || level >= 1 {
		return nil, fmt.Errorf("predicting: the level of the intervals is %g, want a number between 0 and 1", level)
	}
	if err := e.Check(false); err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	logs, err := f.Model.Log(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	below, above, err := spread(ctx, f.Model, e)
	if err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	half := math.Inf(1)
	if len(f.scores) > 0 {
		half = HalfWidth(f.scores, f.groups, level)
	}
	out := make([]Prediction, len(logs))
	for i, t := range logs {
		out[i] = Prediction{math.Exp(t), math.Exp(t - half*below[i]), math.Exp(t + half*above[i])}
	}
	return out, nil
}

// Describe implements Predictor.
func (f *Fitted) Describe() Description {
	d := f.Model.Describe()
	d.Interval, d.Data = f.interval, f.data
	d.Warnings = append(slices.Clone(d.Warnings), f.warnings...)
	return d
}

// String is the description as text.
func (f *Fitted) String() string { return f.Describe().String() }
