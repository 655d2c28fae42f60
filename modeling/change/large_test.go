package change_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/observe"
)

// A trace has thousands of launches of a kernel: the interval is drawn another
// way then, and must hold the ratio as often.
func TestManyLaunches(t *testing.T) {
	side := func(rng *rand.Rand, run int64, factor float64) (out []observe.Observation) {
		for i := range int64(3000) {
			out = append(out, observe.Observation{Row: observe.Row{Run: run, Region: 1, Launch: i + 1}, Kernel: "k", Kind: datasets.KindKernel,
				Sequence: datasets.Some(i), Value: datasets.Some(factor * math.Exp(0.2*rng.NormFloat64())), Unit: "s", Launches: 1})
		}
		return out
	}
	covered, found := 0, 0
	const seeds = 60
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 8))
		r := compare(t, side(rng, 1, 1), side(rng, 2, 1.05), change.Options{Draws: 500})
		k := r.Kernels[0]
		if k.Low <= 1.05 && 1.05 <= k.High {
			covered++
		}
		if k.Verdict == change.Slower && !k.Exact {
			found++
		}
		// The standard error of the ratio of medians is 1.05 * 0.2 * 1.2533 *
		// sqrt(2/3000) = 0.0068: the interval is about 0.027 wide.
		if w := k.High - k.Low; w < 0.018 || w > 0.037 {
			t.Fatalf("interval from %g to %g", k.Low, k.High)
		}
	}
	if covered < seeds*87/100 || found < seeds*95/100 {
		t.Errorf("the interval holds the ratio in %d, found in %d of %d", covered, found, seeds)
	}
}
