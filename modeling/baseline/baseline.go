// Package baseline holds the simple predictors that every model must beat: a
// constant and ridge regression. In flow a table of features and a target, out
// flows a fitted predictor of the target. For run times the target is log time.
package baseline

import (
	"errors"
	"fmt"
	"math"

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
	Intercept float64
	Weights   []float64 // one per feature
}

// FitRidge minimises sum (y - b - w.x)^2 + lambda |w|^2 (Hoerl and Kennard
// 1970), the intercept b not being penalised. x has a row per example, all of
// equal length and on comparable scales (standardised); lambda is positive.
func FitRidge(x [][]float64, y []float64, lambda float64) (Ridge, error) {
	n := len(x)
	if n == 0 || n != len(y) {
		return Ridge{}, fmt.Errorf("fitting ridge regression: %d rows of features and %d targets", n, len(y))
	}
	if !(lambda > 0) {
		return Ridge{}, fmt.Errorf("fitting ridge regression: lambda is %g, want a positive number", lambda)
	}
	d := len(x[0])
	mean := make([]float64, d)
	ymean := 0.0
	for i, row := range x {
		if len(row) != d {
			return Ridge{}, fmt.Errorf("fitting ridge regression: row %d has %d features, row 0 has %d", i, len(row), d)
		}
		for j, v := range row {
			mean[j] += v / float64(n)
		}
		ymean += y[i] / float64(n)
	}
	// Normal equations of the centred problem: (X'X + lambda I) w = X'y.
	a := make([][]float64, d)
	w := make([]float64, d)
	for j := range a {
		a[j] = make([]float64, d)
	}
	for i, row := range x {
		for j := range d {
			xj := row[j] - mean[j]
			w[j] += xj * (y[i] - ymean)
			for k := 0; k <= j; k++ {
				a[j][k] += xj * (row[k] - mean[k])
			}
		}
	}
	for j := range d {
		a[j][j] += lambda
	}
	if err := cholesky(a, w); err != nil {
		return Ridge{}, fmt.Errorf("fitting ridge regression of %d features on %d rows: %w", d, n, err)
	}
	r := Ridge{Intercept: ymean, Weights: w}
	for j := range d {
		r.Intercept -= w[j] * mean[j]
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
