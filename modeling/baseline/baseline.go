// Package baseline holds the simple predictors that every model must beat: a
// constant, ridge regression and nearest neighbours; boosted trees and the
// analytical roofline are in the packages below. In flow predict.Examples, out
// flows a predict.Model of the logarithm of the target:
//
//	p, err := predict.Conformal{Learner: baseline.RidgeLearner{}}.Fit(ctx, examples, 1)
//
// Ridge and Constant are also there bare, for a target as it is.
package baseline

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/modeling/score"
)

// Constant predicts the same value for everything.
type Constant struct{ Value float64 }

// FitMedian is the constant with the least absolute error on y.
func FitMedian(y []float64) (Constant, error) {
	if len(y) == 0 {
		return Constant{}, errors.New("fitting the median of no values")
	}
	return Constant{score.Median(y)}, nil
}

// Predict returns the constant; x may be nil.
func (c Constant) Predict(x []float64) float64 { return c.Value }

// Ridge is a linear predictor, Intercept + Weights . x.
type Ridge struct {
	Intercept float64   `json:"intercept"`
	Weights   []float64 `json:"weights"` // one per feature
}

// FitRidge minimises sum (y - b - w.x)^2 + lambda |w|^2 (Hoerl and Kennard
// 1970), the intercept b not being penalised. x has a row per example, all of
// equal length and on comparable scales (standardised); lambda is positive.
func FitRidge(x [][]float64, y []float64, lambda float64) (Ridge, error) {
	return fitRidge(x, y, nil, lambda)
}

// fitRidge weighs the squares by w; nil is 1 for all.
func fitRidge(x [][]float64, y, w []float64, lambda float64) (Ridge, error) {
	g, err := gramOf(x, y, w)
	if err != nil {
		return Ridge{}, err
	}
	return g.solve(lambda)
}

// gram is what the normal equations of the centred problem are made of.
type gram struct {
	rows  int
	mean  []float64
	ymean float64
	a     [][]float64 // X'WX, lower triangle
	b     []float64   // X'Wy
}

func gramOf(x [][]float64, y, weights []float64) (gram, error) {
	n := len(x)
	if n == 0 || n != len(y) {
		return gram{}, fmt.Errorf("fitting ridge regression: %d rows of features and %d targets", n, len(y))
	}
	total := float64(n)
	weight := func(int) float64 { return 1 }
	if weights != nil {
		weight = func(i int) float64 { return weights[i] }
		total = 0
		for _, w := range weights {
			total += w
		}
	}
	d := len(x[0])
	g := gram{rows: n, mean: make([]float64, d), a: make([][]float64, d), b: make([]float64, d)}
	for i, row := range x {
		if len(row) != d {
			return gram{}, fmt.Errorf("fitting ridge regression: row %d has %d features, row 0 has %d", i, len(row), d)
		}
		for j, v := range row {
			g.mean[j] += weight(i) * v / total
		}
		g.ymean += weight(i) * y[i] / total
	}
	for j := range g.a {
		g.a[j] = make([]float64, j+1)
	}
	c := make([]float64, d)
	for i, row := range x {
		for j := range d {
			c[j] = row[j] - g.mean[j]
		}
		w, r := weight(i), y[i]-g.ymean
		for j := range d {
			wc := w * c[j]
			g.b[j] += wc * r
			aj := g.a[j]
			for k := range aj {
				aj[k] += wc * c[k]
			}
		}
	}
	return g, nil
}

// solve solves (X'WX + lambda I) w = X'Wy.
func (g gram) solve(lambda float64) (Ridge, error) {
	if !(lambda > 0) {
		return Ridge{}, fmt.Errorf("fitting ridge regression: lambda is %g, want a positive number", lambda)
	}
	a, w := make([][]float64, len(g.a)), slices.Clone(g.b)
	for j := range a {
		a[j] = make([]float64, len(g.a))
		copy(a[j], g.a[j])
		a[j][j] += lambda
	}
	if err := cholesky(a, w); err != nil {
		return Ridge{}, fmt.Errorf("fitting ridge regression of %d features on %d rows: %w", len(w), g.rows, err)
	}
	r := Ridge{Intercept: g.ymean, Weights: w}
	for j := range w {
		r.Intercept -= w[j] * g.mean[j]
	}
	return r, nil
}

// Predict is the value for one row of features.
func (r Ridge) Predict(x []float64) float64 {
	y := r.Intercept
	for j, w := range r.Weights {
		y += w * x[j]
	}
	return y
}

// cholesky solves a x = b for a symmetric positive definite a given by its
// lower triangle. a is overwritten by its factor, b by the solution.
func cholesky(a [][]float64, b []float64) error {
	n := len(b)
	for j := range n {
		for k := range j {
			a[j][j] -= a[j][k] * a[j][k]
		}
		if !(a[j][j] > 0) || math.IsInf(a[j][j], 0) {
			return fmt.Errorf("the features' covariance has no Cholesky factor (feature %d): are all values finite?", j)
		}
		a[j][j] = math.Sqrt(a[j][j])
		for i := j + 1; i < n; i++ {
			for k := range j {
				a[i][j] -= a[i][k] * a[j][k]
			}
			a[i][j] /= a[j][j]
		}
	}
	for i := range n {
		for k := range i {
			b[i] -= a[i][k] * b[k]
		}
		b[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			b[i] -= a[k][i] * b[k]
		}
		b[i] /= a[i][i]
	}
	return nil
}
