package devmap

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// sides has a Learner learn on which side of 1 the target is, and not by how
// much: it sees e where it is above and 1/e where not. Least squares on such a
// target are Fisher's linear discriminant for a linear learner, and Gini's
// criterion for a tree.
type sides struct{ of predict.Learner }

func (s sides) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	c := *e
	c.Y = make([]float64, e.Len())
	for r, y := range e.Y {
		c.Y[r] = 1 / math.E
		if y > 1 {
			c.Y[r] = math.E
		}
	}
	return s.of.Fit(ctx, &c, seed)
}

// committee averages the logarithms of a Learner's models of several seeds.
type committee struct {
	of      predict.Learner
	members int
}

type committeeModel []predict.Model

func (c committee) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	var m committeeModel
	for i := range c.members {
		one, err := c.of.Fit(ctx, e, seed+uint64(i)<<32)
		if err != nil {
			return nil, err
		}
		m = append(m, one)
	}
	return m, nil
}

func (m committeeModel) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	out := make([]float64, e.Len())
	for _, one := range m {
		v, err := one.Log(ctx, e)
		if err != nil {
			return nil, err
		}
		for r := range out {
			out[r] += v[r] / float64(len(m))
		}
	}
	return out, nil
}

func (m committeeModel) Describe() predict.Description {
	d := m[0].Describe()
	d.Detail = fmt.Sprintf("mean of %d seeds: %s", len(m), d.Detail)
	return d
}

// chosen fits that of several Learners which decides best by cross-validation
// over the groups of the training rows, the first of equals.
type chosen struct {
	of    []predict.Learner
	folds int
	final func(predict.Learner) predict.Learner // what to fit on all rows with the chosen one
}

type chosenModel struct {
	predict.Model
	how string
}

func (c chosen) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	if len(c.of) == 0 {
		return nil, errors.New("choosing a learner: there is none")
	}
	e = e.Canonical()
	folds, err := split.Folds(e.Groups, c.folds, split.Options{Seed: seed})
	if err != nil {
		return nil, fmt.Errorf("choosing a learner: %w", err)
	}
	best, right := 0, -1
	for i, l := range c.of {
		n := 0
		for _, s := range folds {
			m, err := l.Fit(ctx, e.Rows(s.Train), seed)
			if err != nil {
				return nil, err
			}
			logs, err := m.Log(ctx, e.Rows(s.Test))
			if err != nil {
				return nil, err
			}
			for k, r := range s.Test {
				if (logs[k] > 0) == (e.Y[r] > 1) {
					n++
				}
			}
		}
		if n > right {
			best, right = i, n
		}
	}
	m, err := c.final(c.of[best]).Fit(ctx, e, seed)
	if err != nil {
		return nil, err
	}
	return chosenModel{m, fmt.Sprintf("number %d of %d settings, by %d-fold cross-validation over the training groups", best+1, len(c.of), c.folds)}, nil
}

func (m chosenModel) Describe() predict.Description {
	d := m.Model.Describe()
	d.Detail = m.how + "; " + d.Detail
	return d
}

// trees are boosted ones that decide. A tree sees four fifths of the groups and
// a third of the features, since there are about as many features as rows.
func trees(leaves, n int) boost.Learner {
	return boost.Learner{Loss: boost.Logistic, Trees: n, Leaves: leaves, Rate: 0.1, MinRows: 2, L2: 1, Groups: 0.8, Features: 0.3, Held: -1}
}
