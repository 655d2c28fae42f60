// Package boost fits gradient-boosted regression trees (Friedman 2001) to the
// logarithm of a target: the strongest simple predictor on tables.
//
// In flow predict.Examples, out flows a predict.Model:
//
//	p, err := predict.Conformal{Learner: boost.Learner{}}.Fit(ctx, examples, 1)
//
// Trees grow leaf by leaf, best gain first, on histograms of at most 255
// quantile bins per feature (Ke et al. 2017, LightGBM). An unknown value is
// never taken for a number: each split learns to which side the rows without
// the value go, and may be made on just whether the value is known. The number
// of trees is found on groups that are held out.
//
// The same examples and seed give the same trees, whatever the order of rows
// and features.
package boost

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/predict"
)

// Learner fits boosted trees. The zero value is a sensible choice.
type Learner struct {
	Trees int // at most, 1000 by default
	// Rate is the part of each tree that is added, 0.1 by default.
	Rate   float64
	Leaves int // per tree at most, 31 by default
	Depth  int // of a leaf at most, 0 for no limit
	// MinRows is how many rows a leaf has at least, 20 by default, but never
	// more than a twentieth of all. With weights it is their sum, their mean
	// being 1.
	MinRows float64
	L2      float64 // added to the sum of weights of each leaf, shrinks its value
	Bins    int     // per feature, 2 to 255, the default
	// Groups and Features are the parts of each that a tree sees, drawn anew for
	// each tree; 0 is all.
	Groups, Features float64
	// Held is the part of the rows, in whole groups, on which the number of
	// trees is found, 0.1 by default; negative grows all Trees. Training stops
	// after Patience trees without a better loss there, 30 by default.
	Held     float64
	Patience int
	// Refit, with Held, fits all rows again once the number of trees is known.
	Refit bool
	// Quantiles fits two further ensembles, for these quantiles of the target
	// (Koenker and Bassett's pinball loss), which make the interval wider where
	// the target spreads more (predict.Spread). Low < High, as 0.1 and 0.9.
	Quantiles [2]float64
	// Loss is what the trees make small, Squared by default.
	Loss Loss
	// Monotone constrains features by name: +1 where the prediction must not
	// fall when the feature grows, -1 where it must not rise. Of rows without the
	// value it says nothing.
	Monotone map[string]int
	Progress func(tree int, held float64) // after each tree; held is NaN without
}

func (l Learner) withDefaults(rows int) (Learner, error) {
	number := func(f *float64, v float64) {
		if *f == 0 {
			*f = v
		}
	}
	count := func(f *int, v int) {
		if *f == 0 {
			*f = v
		}
	}
	count(&l.Trees, 1000)
	count(&l.Leaves, 31)
	count(&l.Bins, 255)
	count(&l.Patience, 30)
	number(&l.Rate, 0.1)
	number(&l.Held, 0.1)
	number(&l.Groups, 1)
	number(&l.Features, 1)
	if l.MinRows == 0 {
		l.MinRows = math.Max(1, math.Min(20, float64(rows)/20))
	}
	part := func(v float64) bool { return v > 0 && v <= 1 }
	switch {
	case l.Trees < 1 || l.Leaves < 2 || l.Depth < 0 || l.Patience < 1:
		return l, fmt.Errorf("%d trees of %d leaves, depth %d, patience %d: want 1 tree, 2 leaves, no negative depth and patience of 1 at least", l.Trees, l.Leaves, l.Depth, l.Patience)
	case l.Bins < 2 || l.Bins > maxBins:
		return l, fmt.Errorf("%d bins: want 2 to %d", l.Bins, maxBins)
	case !(l.Rate > 0) || l.Rate > 1 || !(l.L2 >= 0) || !(l.MinRows > 0):
		return l, fmt.Errorf("learning rate %g, L2 %g, rows per leaf %g: want a rate above 0 and up to 1, no negative L2, and positive rows", l.Rate, l.L2, l.MinRows)
	case !part(l.Groups) || !part(l.Features) || l.Held >= 1:
		return l, fmt.Errorf("parts of groups %g, of features %g, held out %g: want parts above 0 and up to 1", l.Groups, l.Features, l.Held)
	}
	if l.Loss == "" {
		l.Loss = Squared
	}
	if !slices.Contains([]Loss{Squared, Absolute, Relative, Logistic}, l.Loss) {
		return l, fmt.Errorf("the loss is %q, want %q, %q, %q or %q", l.Loss, Squared, Absolute, Relative, Logistic)
	}
	if l.Loss == Logistic && l.Quantiles != [2]float64{} {
		return l, fmt.Errorf("quantiles %v with the %s loss: odds have none", l.Quantiles, l.Loss)
	}
	if q := l.Quantiles; q != [2]float64{} && !(0 < q[0] && q[0] < q[1] && q[1] < 1) {
		return l, fmt.Errorf("quantiles %v: want two ascending numbers between 0 and 1", q)
	}
	return l, nil
}

// Fit implements predict.Learner; the Model is a *Model.
func (l Learner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	m, err := l.fit(ctx, e, seed)
	if err != nil {
		return nil, fmt.Errorf("fitting boosted trees: %w", err)
	}
	return m, nil
}

func (l Learner) fit(ctx context.Context, e *predict.Examples, seed uint64) (*Model, error) {
	if err := e.Check(true); err != nil {
		return nil, err
	}
	l, err := l.withDefaults(e.Len())
	if err != nil {
		return nil, err
	}
	c := e.Canonical()
	m := &Model{About: predict.About(Kind, e, seed)}
	c, m.About.Dropped = informative(c)
	if len(c.Features) == 0 {
		return nil, errors.New("no feature tells anything: each is unknown or the same in all rows")
	}
	m.About.Features = c.Features
	monotone := make([]int8, len(c.Features))
	for name, sign := range l.Monotone {
		j := slices.Index(c.Features, name)
		if sign < -1 || sign > 1 {
			return nil, fmt.Errorf("the constraint of feature %q is %d: want -1, 0 or 1", name, sign)
		}
		if j < 0 {
			return nil, fmt.Errorf("the constraint of feature %q is on none that is learnt from: there are %q", name, c.Features)
		}
		monotone[j] = int8(sign)
	}
	train, held := c, (*predict.Examples)(nil)
	stopping := fmt.Sprintf("%d trees, as given", l.Trees)
	if l.Held > 0 {
		s, err := split.Groups(c.Groups, split.Options{Test: l.Held, Seed: seed})
		if err != nil {
			return nil, fmt.Errorf("holding out groups to find the number of trees: %w; Held < 0 grows them all", err)
		}
		train, held = c.Rows(s.Train), c.Rows(s.Test)
	}
	grow := func(train, held *predict.Examples, trees int, quantile float64) (ensemble, error) {
		g := newGrower(l, train, monotone, quantile, rand.New(rand.NewPCG(seed, 0x626f6f7374)))
		return g.boost(ctx, held, trees)
	}
	middle := 0.0 // the mean
	if l.Loss == Absolute {
		middle = 0.5
	}
	if m.Mean, err = grow(train, held, l.Trees, middle); err != nil {
		return nil, err
	}
	if held != nil {
		stopping = fmt.Sprintf("%d trees, best of up to %d on %d held-out rows", len(m.Mean.Trees), l.Trees, held.Len())
		if l.Refit {
			stopping += ", fitted again on all rows"
			if m.Mean, err = grow(c, nil, len(m.Mean.Trees), middle); err != nil {
				return nil, err
			}
		}
	}
	if l.Quantiles != [2]float64{} {
		for i, q := range l.Quantiles {
			en, err := grow(train, held, l.Trees, q)
			if err != nil {
				return nil, err
			}
			m.Quantiles[i] = &en
		}
	}
	m.About.Detail = fmt.Sprintf("%s, of %d leaves at most, learning rate %g, %g rows per leaf at least, L2 %g", stopping, l.Leaves, l.Rate, l.MinRows, l.L2)
	if l.Loss != Squared {
		m.About.Detail += fmt.Sprintf("; %s loss", l.Loss)
	}
	if l.Depth > 0 {
		m.About.Detail += fmt.Sprintf(", depth %d", l.Depth)
	}
	if l.Groups < 1 || l.Features < 1 {
		m.About.Detail += fmt.Sprintf("; a tree sees %g of the groups and %g of the features", l.Groups, l.Features)
	}
	if len(l.Monotone) > 0 {
		m.About.Detail += fmt.Sprintf("; %d features constrained to be monotone", len(l.Monotone))
	}
	if l.Quantiles != [2]float64{} {
		m.About.Detail += fmt.Sprintf("; spread from trees of the quantiles %g and %g", l.Quantiles[0], l.Quantiles[1])
	}
	if held != nil && len(m.Mean.Trees) == l.Trees {
		m.About.Warnings = append(m.About.Warnings, fmt.Sprintf("the loss on held-out groups still fell after %d trees", l.Trees))
	}
	return m, nil
}

// informative leaves out features that are the same in all rows.
func informative(e *predict.Examples) (*predict.Examples, []predict.Dropped) {
	var keep []string
	var dropped []predict.Dropped
	for j, name := range e.Features {
		first := e.X[0][j]
		differ := slices.ContainsFunc(e.X, func(row []float64) bool {
			return row[j] != first && !(math.IsNaN(row[j]) && math.IsNaN(first))
		})
		switch {
		case differ:
			keep = append(keep, name)
		case math.IsNaN(first):
			dropped = append(dropped, predict.Dropped{Column: name, Reason: "no value in the training rows"})
		default:
			dropped = append(dropped, predict.Dropped{Column: name, Reason: "the same value in all training rows"})
		}
	}
	out, err := e.With(keep...)
	if err != nil {
		panic(err) // they are its own names
	}
	return out, dropped
}
