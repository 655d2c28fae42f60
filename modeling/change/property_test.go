package change_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/observe"
)

// Ratios and verdicts depend neither on the unit of time, nor on a launch
// being counted as two, where repeats are runs.
func TestUnitsAndHalvesDoNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 3))
	before, after := repeats(rng, 1, 7, 0.05, ones(5)...), repeats(rng, 101, 7, 0.05, 1, 1.3, 1, 0.7, 1)
	want := compare(t, before, after, quick)
	each := func(obs []observe.Observation, f func(o observe.Observation) []observe.Observation) []observe.Observation {
		var out []observe.Observation
		for _, o := range obs {
			out = append(out, f(o)...)
		}
		return out
	}
	for what, f := range map[string]func(o observe.Observation) []observe.Observation{
		"milliseconds": func(o observe.Observation) []observe.Observation {
			o.Value.V *= 1000
			return []observe.Observation{o}
		},
		"halves": func(o observe.Observation) []observe.Observation {
			half, other := o, o
			half.Value.V, other.Value.V = 0.25*o.Value.V, 0.75*o.Value.V
			other.Launch += 1_000_000
			return []observe.Observation{half, other}
		},
	} {
		got := compare(t, each(before, f), each(after, f), quick)
		for i, k := range want.Kernels {
			g := got.Kernels[i]
			if g.Name != k.Name || g.Verdict != k.Verdict || math.Abs(g.Ratio-k.Ratio) > 1e-9 || math.Abs(g.Low-k.Low) > 1e-9 || g.P != k.P || math.Abs(g.Explains-k.Explains) > 1e-9 {
				t.Errorf("%s: %s %+v, want %s %+v", what, g.Name, g.Test, k.Name, k.Test)
			}
		}
	}
}

// Runs that differ by 5 % among each other, each with 30 launches that differ
// by 1 %, and nothing changed: launches as repeats call the difference of two
// lucky runs a change most of the time, runs as repeats do not.
func TestRunsAreTheRepeatsThatCount(t *testing.T) {
	side := func(rng *rand.Rand, first int64, runs int) []observe.Observation {
		var out []observe.Observation
		for r := range int64(runs) {
			of := math.Exp(0.05 * rng.NormFloat64())
			for l := range int64(30) {
				out = append(out, observe.Observation{Row: observe.Row{Run: first + r, Region: 1, Launch: 100*(first+r) + l, Metric: "time"}, Kernel: "k", Kind: datasets.KindKernel,
					Sequence: datasets.Some(l), Value: datasets.Some(of * math.Exp(0.01*rng.NormFloat64())), Unit: "s", Launches: 1})
			}
		}
		return out
	}
	const seeds = 100
	wrong := map[string]int{}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 21))
		b, a := side(rng, 1, 6), side(rng, 101, 6)
		for _, by := range []string{"", change.ByLaunch} {
			r := compare(t, b, a, change.Options{Draws: 100, Repeats: by, MinEffect: 0.01})
			if v := r.Kernels[0].Verdict; v == change.Slower || v == change.Faster {
				wrong[r.Repeats]++
			}
		}
	}
	t.Logf("changes found where there is none, of %d: %v", seeds, wrong)
	// 5 % by the rule, and 3 standard deviations for 100 of them.
	if wrong[change.ByRun] > 11 || wrong[change.ByLaunch] < 30 {
		t.Errorf("changes found where there is none, of %d: %v", seeds, wrong)
	}
}

// What a machine does to repeats, planted: the first ones slow (warm-up), all
// of them slower with time (heat), a step to a lower clock half way
// (throttling), single repeats that something else disturbed.
func TestPlantedTroubleIsFound(t *testing.T) {
	const n, seeds = 30, 200
	found := map[string]int{}
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 31))
		noise := func(f func(i int) float64) change.Noise {
			vs := make([]float64, n)
			for i := range vs {
				vs[i] = f(i) * math.Exp(0.01*rng.NormFloat64())
			}
			return change.NoiseOf(vs)
		}
		warm := noise(func(i int) float64 {
			if i < 2 {
				return 1.4
			}
			return 1
		})
		if slices.Equal(warm.Outliers, []int{0, 1}) && strings.HasPrefix(warm.Trouble(), "the first 2 of 30 repeats are outliers") {
			found["warm-up"]++
		}
		if heat := noise(func(i int) float64 { return 1 + 0.002*float64(i) }); heat.Drift && heat.Tau > 0 {
			found["heat"]++
		}
		step := noise(func(i int) float64 {
			if i >= n/2 {
				return 1.15
			}
			return 1
		})
		if step.Drift && step.Bimodal && math.Abs(step.Modes[1]/step.Modes[0]-1.15) < 0.02 {
			found["throttling"]++
		}
		disturbed := noise(func(i int) float64 {
			if i == 7 || i == 19 {
				return 1.3
			}
			return 1
		})
		if slices.Equal(disturbed.Outliers, []int{7, 19}) && !disturbed.Bimodal && !disturbed.Drift {
			found["disturbed"]++
		}
		if noise(func(int) float64 { return 1 }).Trouble() == "" {
			found["nothing"]++
		}
	}
	t.Logf("found of %d: %v", seeds, found)
	for _, what := range []string{"warm-up", "heat", "throttling", "disturbed", "nothing"} {
		if found[what] < seeds*90/100 {
			t.Errorf("%s: found in %d of %d", what, found[what], seeds)
		}
	}
}
