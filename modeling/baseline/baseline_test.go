package baseline_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline"
)

func TestRidgeOfOneFeatureByHand(t *testing.T) {
	// x centred: -1, 0, 1; y centred: -2, 0, 2. w = 4 / (2 + lambda) = 1 for
	// lambda 2; intercept = mean y - w mean x = 5 - 2 = 3.
	r, err := baseline.FitRidge([][]float64{{1}, {2}, {3}}, []float64{3, 5, 7}, 2)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(r.Weights[0]-1) > 1e-12 || math.Abs(r.Intercept-3) > 1e-12 || math.Abs(r.Predict([]float64{10})-13) > 1e-12 {
		t.Errorf("%+v", r)
	}
}

// The gradient of the ridge objective is zero at the solution.
func TestRidgeSolvesTheNormalEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, d, lambda = 40, 7, 0.3
	x, y := make([][]float64, n), make([]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
		for j := range x[i] {
			x[i][j] = rng.NormFloat64() + float64(j)
		}
		y[i] = rng.NormFloat64() + x[i][0] - 2*x[i][3]
	}
	r, err := baseline.FitRidge(x, y, lambda)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for j := range d {
		g := lambda * r.Weights[j]
		for i := range x {
			g -= (y[i] - r.Predict(x[i])) * x[i][j]
		}
		if math.Abs(g) > 1e-9 {
			t.Errorf("gradient of weight %d is %g", j, g)
		}
	}
	for i := range x {
		sum += y[i] - r.Predict(x[i])
	}
	if math.Abs(sum) > 1e-9 {
		t.Errorf("gradient of the intercept is %g", sum)
	}
}

func TestRidgeRefusesWhatItCannotFit(t *testing.T) {
	for _, c := range []struct {
		x      [][]float64
		y      []float64
		lambda float64
	}{
		{nil, nil, 1}, {[][]float64{{1}}, []float64{1, 2}, 1}, {[][]float64{{1}, {1, 2}}, []float64{1, 2}, 1},
		{[][]float64{{1}}, []float64{1}, 0}, {[][]float64{{math.NaN()}, {1}}, []float64{1, 2}, 1},
	} {
		if _, err := baseline.FitRidge(c.x, c.y, c.lambda); err == nil {
			t.Errorf("no error for %v, %v, %g", c.x, c.y, c.lambda)
		}
	}
}

func TestMedian(t *testing.T) {
	c, err := baseline.FitMedian([]float64{5, 1, 9, 3})
	if err != nil || c.Predict(nil) != 4 {
		t.Errorf("%v, %v", c, err)
	}
	if _, err := baseline.FitMedian(nil); err == nil {
		t.Error("the median of nothing is no error")
	}
}
