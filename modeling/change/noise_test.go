package change_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/change"
)

func TestMannWhitney(t *testing.T) {
	for _, c := range []struct {
		a, b []float64
		p    float64 // by hand: 2 * ways at least as far / all ways
	}{
		{[]float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		{[]float64{1, 2, 4}, []float64{3, 5, 6}, 4.0 / 20}, // rank sums 6 and 7, 14 and 15
		{[]float64{1}, []float64{2, 3, 4}, 2.0 / 4},
		{[]float64{1, 1, 1}, []float64{1, 1, 1}, 1},
		{[]float64{1, 1}, []float64{2, 2}, 2.0 / 6},
		{nil, []float64{1}, 1},
	} {
		if p, exact := change.MannWhitney(c.a, c.b); math.Abs(p-c.p) > 1e-12 || !exact {
			t.Errorf("%v %v: p = %g (exact %v), want %g", c.a, c.b, p, exact, c.p)
		}
	}
	// Just below and above the limit of the exact test the two forms agree.
	rng := rand.New(rand.NewPCG(1, 1))
	for range 20 {
		a, b := make([]float64, 20), make([]float64, 20)
		for i := range a {
			a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()+0.5
		}
		exact, _ := change.MannWhitney(a, b)
		// One value that is in the middle of neither side changes little.
		normal, is := change.MannWhitney(slices.Concat(a, []float64{0.25}), b)
		if is || math.Abs(exact-normal) > 0.12 {
			t.Errorf("exact %g, normal %g (exact %v)", exact, normal, is)
		}
	}
}

func TestBenjaminiHochberg(t *testing.T) {
	// By hand: p * 5 / rank, then the least from above.
	got := change.BenjaminiHochberg([]float64{0.04, 0.01, 0.03, 0.005, 0.8})
	want := []float64{0.05, 0.025, 0.05, 0.025, 0.8}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("q = %v, want %v", got, want)
		}
	}
}

func TestNoise(t *testing.T) {
	shapes := map[string]func(*rand.Rand) float64{
		"normal":      func(r *rand.Rand) float64 { return 1 + 0.05*r.NormFloat64() },
		"log-normal":  func(r *rand.Rand) float64 { return math.Exp(0.2 * r.NormFloat64()) },
		"uniform":     func(r *rand.Rand) float64 { return 1 + 0.1*r.Float64() },
		"exponential": func(r *rand.Rand) float64 { return 1 + 0.1*r.ExpFloat64() },
	}
	const seeds = 1000
	for name, draw := range shapes {
		for _, n := range []int{8, 10, 20, 50} {
			modes, drifts := 0, 0
			for seed := range uint64(seeds) {
				rng := rand.New(rand.NewPCG(seed, uint64(n)))
				vs := make([]float64, n)
				for i := range vs {
					vs[i] = draw(rng)
				}
				noise := change.NoiseOf(vs)
				if noise.Bimodal {
					modes++
				}
				if noise.Drift {
					drifts++
				}
			}
			t.Logf("%s, %d repeats: two modes in %d, drift in %d of %d", name, n, modes, drifts, seeds)
			if modes > seeds*5/100 {
				t.Errorf("%s, %d repeats: two modes in %d of %d", name, n, modes, seeds)
			}
			if drifts > seeds*2/100 { // 1 % by the rule, and 3 standard deviations
				t.Errorf("%s, %d repeats: a drift in %d of %d", name, n, drifts, seeds)
			}
		}
	}
	two, drift, outlier := 0, 0, 0
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 9))
		a, b, c := make([]float64, 16), make([]float64, 16), make([]float64, 16)
		for i := range a {
			a[i] = 1 + 0.2*float64(i%2) + 0.02*rng.NormFloat64() // 10 standard deviations apart
			b[i] = 1 + 0.01*float64(i) + 0.02*rng.NormFloat64()
			c[i] = 1 + 0.02*rng.NormFloat64()
		}
		c[5] = 1.5
		if n := change.NoiseOf(a); n.Bimodal && math.Abs(n.Modes[0]-1) < 0.03 && math.Abs(n.Modes[1]-1.2) < 0.03 {
			two++
		}
		if n := change.NoiseOf(b); n.Drift && n.Tau > 0 && strings.Contains(n.Trouble(), "later repeats are slower") {
			drift++
		}
		if slices.Contains(change.NoiseOf(c).Outliers, 5) {
			outlier++
		}
	}
	t.Logf("found: two modes %d, drift %d, outlier %d of %d", two, drift, outlier, seeds)
	if two < seeds*99/100 || drift < seeds*95/100 || outlier < seeds*99/100 {
		t.Errorf("found: two modes %d, drift %d, outlier %d of %d", two, drift, outlier, seeds)
	}
	if n := change.NoiseOf([]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}); n.Trouble() != "" || n.Drift || n.Bimodal {
		t.Errorf("nine equal values: %+v", n)
	}
	if n := change.NoiseOf([]float64{2}); n.Median != 2 || n.MAD != 0 || n.Trouble() != "" {
		t.Errorf("one value: %+v", n)
	}
}

// 1, 2, 3, 4, 10: median 3, deviations from it 2, 1, 0, 1, 7 with median 1; mean
// 4, squares of differences 9 + 4 + 1 + 0 + 36 = 50, over 4 is 12.5, its root over
// the mean 0.8839.
func TestNoiseIsALineOfText(t *testing.T) {
	if got, want := change.NoiseOf([]float64{1, 2, 3, 4, 10}).String(), "5 repeats: median 3, median absolute deviation 1, coefficient of variation 88.4 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := change.NoiseOf([]float64{7}).String(), "1 repeats: median 7"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
