package baseline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/score"
)

const (
	kindMedian     = "median"
	kindRidge      = "ridge regression"
	kindNeighbours = "nearest neighbours"
	kindCorrection = "corrected"
)

func init() {
	predict.Register(kindMedian, decode[medianModel])
	predict.Register(kindRidge, decode[ridgeModel])
	predict.Register(kindNeighbours, decode[neighboursModel])
	predict.Register(kindCorrection, decodeCorrection)
}

// decode reads a model and lets it check itself.
func decode[M any, P interface {
	*M
	predict.Model
	check() error
}](raw json.RawMessage) (predict.Model, error) {
	m := P(new(M))
	// The method-less copy of a model's fields is what was written.
	if err := json.Unmarshal(raw, m); err != nil {
		return nil, err
	}
	return m, m.check()
}

// MedianLearner fits the (unweighted) median of the training targets, whatever
// the features are.
type MedianLearner struct{}

type medianModel struct {
	About predict.Description `json:"about"`
	Value float64             `json:"log_value"`
}

// Fit implements predict.Learner.
func (MedianLearner) Fit(_ context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	if err := e.Check(true); err != nil {
		return nil, fmt.Errorf("fitting the median: %w", err)
	}
	m := &medianModel{About: predict.About(kindMedian, e, seed), Value: score.Median(e.LogY())}
	m.About.Detail = "the median of the training rows"
	return m, nil
}

func (m *medianModel) Log(_ context.Context, e *predict.Examples) ([]float64, error) {
	return slices.Repeat([]float64{m.Value}, e.Len()), nil
}

func (m *medianModel) Describe() predict.Description { return m.About }

func (m *medianModel) MarshalJSON() ([]byte, error) {
	type plain medianModel
	return json.Marshal((*plain)(m))
}

func (m *medianModel) check() error { return nil }

// RidgeLearner fits ridge regression of the logarithm of the target on scaled
// features (predict.Scale: logarithms of amounts that span decades).
type RidgeLearner struct {
	// Lambdas are the penalties to choose from by grouped cross-validation, for
	// the least squared error; nil is 1e-3 to 1e4 in factors of ten.
	Lambdas []float64
	Folds   int // 5 by default, fewer where there are fewer groups
}

type ridgeModel struct {
	About predict.Description `json:"about"`
	Scale predict.Scale       `json:"scale"`
	Ridge Ridge               `json:"ridge"`
}

// Fit implements predict.Learner.
func (l RidgeLearner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	if err := e.Check(true); err != nil {
		return nil, fmt.Errorf("fitting ridge regression: %w", err)
	}
	lambdas := l.Lambdas
	if lambdas == nil {
		lambdas = []float64{1e-3, 1e-2, 0.1, 1, 10, 100, 1e3, 1e4}
	}
	c := e.Canonical()
	m := &ridgeModel{About: predict.About(kindRidge, e, seed)}
	x, y, err := m.About.Inputs(&m.Scale, c)
	if err != nil {
		return nil, fmt.Errorf("fitting ridge regression: %w", err)
	}
	best, how := 0, "given"
	if len(lambdas) > 1 {
		var losses []float64
		losses, how, err = crossValidate(ctx, c, l.Folds, seed, len(lambdas), func(train, test []int) ([]float64, error) {
			return ridgeLosses(x, y, c.Weights, train, test, lambdas)
		})
		if err != nil {
			return nil, fmt.Errorf("fitting ridge regression: choosing lambda: %w", err)
		}
		best = smallest(losses)
	}
	if m.Ridge, err = fitRidge(x, y, c.Weights, lambdas[best]); err != nil {
		return nil, err
	}
	m.About.Detail = fmt.Sprintf("lambda %g, %s", lambdas[best], how)
	if len(lambdas) > 1 && (best == 0 || best == len(lambdas)-1) {
		m.About.Warnings = append(m.About.Warnings, fmt.Sprintf("lambda %g is at the end of what it was chosen from", lambdas[best]))
	}
	return m, nil
}

func ridgeLosses(x [][]float64, y, w []float64, train, test []int, lambdas []float64) ([]float64, error) {
	var tw []float64
	if w != nil {
		tw = at(w, train)
	}
	g, err := gramOf(at(x, train), at(y, train), tw)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(lambdas))
	for i, lambda := range lambdas {
		r, err := g.solve(lambda)
		if err != nil {
			return nil, err
		}
		for _, t := range test {
			d := y[t] - r.Predict(x[t])
			if w != nil {
				d *= math.Sqrt(w[t])
			}
			out[i] += d * d
		}
	}
	return out, nil
}

func (m *ridgeModel) Log(_ context.Context, e *predict.Examples) ([]float64, error) {
	x, err := m.Scale.Table(e)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(x))
	for r, row := range x {
		out[r] = m.Ridge.Predict(row)
	}
	return out, nil
}

func (m *ridgeModel) Describe() predict.Description { return m.About }

func (m *ridgeModel) MarshalJSON() ([]byte, error) {
	type plain ridgeModel
	return json.Marshal((*plain)(m))
}

func (m *ridgeModel) check() error {
	if len(m.Ridge.Weights) != m.Scale.Width() || len(m.Ridge.Weights) == 0 {
		return fmt.Errorf("it has %d weights for %d inputs", len(m.Ridge.Weights), m.Scale.Width())
	}
	return m.Scale.Check()
}

// crossValidate sums the losses of n candidates over the folds of a grouped
// cross-validation; how names it.
func crossValidate(ctx context.Context, e *predict.Examples, folds int, seed uint64, n int, losses func(train, test []int) ([]float64, error)) (sum []float64, how string, err error) {
	if folds == 0 {
		folds = 5
	}
	groups := slices.Clone(e.Groups)
	slices.Sort(groups)
	folds = min(folds, len(slices.Compact(groups)))
	ss, err := split.Folds(e.Groups, folds, split.Options{Seed: seed})
	if err != nil {
		return nil, "", err
	}
	sum = make([]float64, n)
	for _, s := range ss {
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		ls, err := losses(s.Train, s.Test)
		if err != nil {
			return nil, "", err
		}
		for i, l := range ls {
			sum[i] += l
		}
	}
	return sum, fmt.Sprintf("of %d by %d-fold cross-validation over groups", n, folds), nil
}

func smallest(xs []float64) int {
	best := 0
	for i, x := range xs {
		if x < xs[best] {
			best = i
		}
	}
	return best
}

func at[T any](from []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = from[r]
	}
	return out
}
