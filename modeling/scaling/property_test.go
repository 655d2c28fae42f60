package scaling_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rooflab/rooflab/modeling/scaling"
)

// The model depends neither on the order of sizes or repeats, nor on a size's
// repeats being given as two points.
func TestWhatDoesNotChangeTheModel(t *testing.T) {
	opt := scaling.Options{Parameters: []string{"n"}, Unit: "s", Draws: 60}
	for name, f := range planted {
		rng := rand.New(rand.NewPCG(3, 4))
		points := measure(rng, sizes, 6, 0.05, f)
		want, err := scaling.Fit(points, opt)
		if err != nil {
			t.Fatal(err)
		}
		at, err := want.Predict(10000)
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, changed []scaling.Point) {
			t.Helper()
			m, err := scaling.Fit(changed, opt)
			if err != nil {
				t.Fatal(err)
			}
			p, err := m.Predict(10000)
			if err != nil {
				t.Fatal(err)
			}
			if m.Growth() != want.Growth() || math.Abs(p.Value/at.Value-1) > 1e-9 {
				t.Errorf("%s, %s: %s and %g at 10000, want %s and %g", name, what, m.Growth(), p.Value, want.Growth(), at.Value)
			}
		}
		var shuffled, halves []scaling.Point
		for _, i := range rng.Perm(len(points)) {
			p := scaling.Point{At: points[i].At}
			for _, j := range rng.Perm(len(points[i].Values)) {
				p.Values = append(p.Values, points[i].Values[j])
			}
			shuffled = append(shuffled, p)
		}
		for _, p := range points {
			halves = append(halves, scaling.Point{At: p.At, Values: p.Values[:2]}, scaling.Point{At: p.At, Values: p.Values[2:]})
		}
		same("another order", shuffled)
		same("repeats in two points", halves)
	}
}
