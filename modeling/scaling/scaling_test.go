package scaling_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/scaling"
)

// measure makes repeats of f at sizes with log-normal noise.
func measure(rng *rand.Rand, sizes []float64, repeats int, noise float64, f func(n float64) float64) []scaling.Point {
	var out []scaling.Point
	for _, n := range sizes {
		p := scaling.Point{At: []float64{n}}
		for range repeats {
			p.Values = append(p.Values, f(n)*math.Exp(noise*rng.NormFloat64()))
		}
		out = append(out, p)
	}
	return out
}

var sizes = []float64{64, 128, 256, 512, 1024, 2048, 4096, 8192}

var planted = map[string]func(n float64) float64{
	"1":             func(float64) float64 { return 0.02 },
	"n":             func(n float64) float64 { return 1e-3 + 2e-6*n },
	"n * log2(n)":   func(n float64) float64 { return 1e-4 + 2e-6*n*math.Log2(n) },
	"n^(1/2)":       func(n float64) float64 { return 1e-4 + 3e-4*math.Sqrt(n) },
	"n^(3/2)":       func(n float64) float64 { return 1e-3 + 2e-7*n*math.Sqrt(n) },
	"n^2":           func(n float64) float64 { return 1e-3 + 2e-9*n*n },
	"n^2 * log2(n)": func(n float64) float64 { return 1e-3 + 2e-9*n*n*math.Log2(n) },
	"n^3":           func(n float64) float64 { return 1e-3 + 2e-9*n*n*n },
	"log2(n)":       func(n float64) float64 { return 1e-4 + 1e-3*math.Log2(n) },
}

func TestPlantedFormulasAreFound(t *testing.T) {
	const seeds = 60
	for want, f := range planted {
		found, covered := 0, 0
		other := map[string]int{}
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 1))
			m, err := scaling.Fit(measure(rng, sizes, 5, 0.05, f), scaling.Options{Parameters: []string{"n"}, Unit: "s", Draws: 60})
			if err != nil {
				t.Fatal(err)
			}
			if m.Growth() == want {
				found++
			} else {
				other[m.Growth()]++
			}
			p, err := m.Predict(32768) // four times the largest
			if err != nil {
				t.Fatal(err)
			}
			if p.Low <= f(32768) && f(32768) <= p.High {
				covered++
			}
		}
		t.Logf("%s: found in %d of %d, interval of 4 times the largest holds it in %d; else %v", want, found, seeds, covered, other)
		if found < seeds*80/100 {
			t.Errorf("%s: found in %d of %d: %v", want, found, seeds, other)
		}
		if covered < seeds*80/100 {
			t.Errorf("%s: the interval holds the value in %d of %d", want, covered, seeds)
		}
	}
}

func TestTwoParameters(t *testing.T) {
	ps, ns := []float64{2, 4, 8, 16, 32}, []float64{100, 200, 400, 800, 1600}
	for want, f := range map[string]func(p, n float64) float64{
		"p * n":       func(p, n float64) float64 { return 0.01 + 1e-5*p*n },
		"p + n^2":     func(p, n float64) float64 { return 0.1 + 0.05*p + 1e-6*n*n },
		"log2(p) * n": func(p, n float64) float64 { return 0.01 + 1e-4*n + 1e-4*math.Log2(p)*n },
		"n":           func(_, n float64) float64 { return 0.01 + 1e-4*n },
		"1":           func(_, _ float64) float64 { return 3 },
	} {
		const seeds = 20
		found := 0
		other := map[string]int{}
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, 2))
			var points []scaling.Point
			for _, p := range ps {
				for _, n := range ns {
					pt := scaling.Point{At: []float64{p, n}}
					for range 5 {
						pt.Values = append(pt.Values, f(p, n)*math.Exp(0.05*rng.NormFloat64()))
					}
					points = append(points, pt)
				}
			}
			m, err := scaling.Fit(points, scaling.Options{Parameters: []string{"p", "n"}, Unit: "s", Draws: 20})
			if err != nil {
				t.Fatal(err)
			}
			if m.Growth() == want {
				found++
			} else {
				other[m.Growth()]++
			}
		}
		t.Logf("%s: found in %d of %d; else %v", want, found, seeds, other)
		if found < seeds*80/100 {
			t.Errorf("%s: found in %d of %d: %v", want, found, seeds, other)
		}
	}
}

func TestExactDataGivesTheFormula(t *testing.T) {
	m, err := scaling.Fit(measure(rand.New(rand.NewPCG(1, 1)), sizes, 1, 0, func(n float64) float64 { return 3.1e-3 + 2e-6*n*math.Log2(n) }),
		scaling.Options{Parameters: []string{"n"}, Unit: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if got := m.Formula(); got != "0.0031 + 2e-06 * n * log2(n) seconds" {
		t.Errorf("formula %q", got)
	}
	p, err := m.Predict(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if want := 3.1e-3 + 2e-6*20*(1<<20); math.Abs(p.Value-want) > 1e-6*want || p.High-p.Low > 1e-3*want || p.Beyond != 128 {
		t.Errorf("predicted %+v, want %g", p, want)
	}
	if text := m.String(); !strings.Contains(text, "grows as n * log2(n); 100 % of bootstrap samples agree") {
		t.Error(text)
	}
}

func TestUnitsDoNotMatter(t *testing.T) {
	for growth, f := range planted {
		points := measure(rand.New(rand.NewPCG(3, 3)), sizes, 3, 0.03, f)
		var first *scaling.Model
		for _, scale := range []float64{1, 1e9, 1e-6} { // s, ns, Ms
			var ps []scaling.Point
			for _, p := range points {
				q := scaling.Point{At: p.At}
				for _, v := range p.Values {
					q.Values = append(q.Values, v*scale)
				}
				ps = append(ps, q)
			}
			m, err := scaling.Fit(ps, scaling.Options{Draws: 20})
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = m
			}
			if a, b := first.At(1e5)*scale, m.At(1e5); m.Growth() != first.Growth() || math.Abs(a/b-1) > 1e-6 {
				t.Errorf("%s in units of %g: %s, else %s", growth, scale, m.Formula(), first.Formula())
			}
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	linear := planted["n"]
	jump := func(n float64) float64 { return float64(1 + int(n)%7*int(n)%13*40) }
	for want, points := range map[string][]scaling.Point{
		"n has 4 values: a model needs 5 or more": measure(rng, sizes[:4], 5, 0.01, linear),
		"repeats differ by":                       measure(rng, sizes, 5, 0.6, linear),
		"there are no points":                     nil,
		"parameters are 1 or more":                measure(rng, []float64{0.5, 1, 2, 4, 8}, 1, 0, linear),
		"values are above 0":                      measure(rng, sizes, 1, 0, func(n float64) float64 { return n - 64 }),
		"something besides [n] matters":           measure(rng, []float64{3, 5, 11, 17, 29, 60, 100, 310}, 1, 0, jump),
	} {
		m, err := scaling.Fit(points, scaling.Options{Name: "k", Parameters: []string{"n"}})
		var refused *scaling.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "no scaling model of k: ") {
			t.Errorf("want %q, got %v %v", want, err, m)
		}
	}
	var cross []scaling.Point
	for i := range 5 {
		cross = append(cross, scaling.Point{At: []float64{float64(i + 1), float64(i + 1)}, Values: []float64{1}})
	}
	if _, err := scaling.Fit(cross, scaling.Options{}); err == nil || !strings.Contains(err.Error(), "while the other parameters stand still") {
		t.Errorf("parameters that change together: %v", err)
	}
}

func TestFastestRepeatsOfANoisyMachine(t *testing.T) {
	// Other work makes half of the repeats up to three times as slow.
	busy := func(rng *rand.Rand) []scaling.Point {
		ps := measure(rng, sizes, 8, 0.01, planted["n * log2(n)"])
		for _, p := range ps {
			for i := range p.Values {
				if rng.IntN(2) == 0 {
					p.Values[i] *= 1 + 2*rng.Float64()
				}
			}
		}
		return ps
	}
	found := 0
	for seed := range uint64(40) {
		points := busy(rand.New(rand.NewPCG(seed, 7)))
		if m, err := scaling.Fit(points, scaling.Options{}); err == nil {
			t.Fatalf("noise of %g is taken", m.Noise)
		}
		m, err := scaling.Fit(points, scaling.Options{Fastest: true, Parameters: []string{"n"}})
		if err != nil {
			t.Fatal(err)
		}
		if m.Growth() == "n * log2(n)" {
			found++
		}
	}
	if found < 32 {
		t.Errorf("found in %d of 40", found)
	}
}

func TestRankingByGrowth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	var models []*scaling.Model
	for name, f := range map[string]func(float64) float64{
		"setup": func(float64) float64 { return 1 },
		"sort":  func(n float64) float64 { return 1e-5 * n * math.Log2(n) },
		"pairs": func(n float64) float64 { return 1e-9 * n * n },
	} {
		m, err := scaling.Fit(measure(rng, sizes, 5, 0.02, f), scaling.Options{Name: name, Parameters: []string{"n"}, Unit: "s"})
		if err != nil {
			t.Fatal(err)
		}
		models = append(models, m)
	}
	r, err := scaling.Rank(models, 1e7)
	if err != nil {
		t.Fatal(err)
	}
	// At 8192 setup takes 1 s, sort 1.06 s, pairs 0.07 s; at 1e7 pairs take
	// 1e5 s and sort 2325 s.
	var order []string
	for _, k := range r.Kernels {
		order = append(order, k.Model.Name)
	}
	if fmt.Sprint(order) != "[pairs sort setup]" || r.Kernels[0].Measured > 0.05 || r.Kernels[0].Share < 0.95 {
		t.Errorf("%s", r)
	}
}
