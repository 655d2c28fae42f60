package hot_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/observe"
)

// some is launches of nine kernels whose totals differ.
func some(rng *rand.Rand) []observe.Observation {
	var obs []observe.Observation
	for id := range int64(200) {
		k := rng.IntN(9)
		obs = append(obs, launch(string(rune('a'+k)), id+1, float64(1+k*k)*math.Exp(0.3*rng.NormFloat64())))
	}
	return obs
}

// The set of hot kernels and their shares depend neither on the order of
// launches, nor on the unit of time, nor on a launch being counted as two
// halves, nor on what kernels are called.
func TestWhatDoesNotChangeTheHotSet(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		obs := some(rng)
		want := of(t, obs, hot.Options{})
		same := func(what string, changed []observe.Observation, name func(string) string) {
			t.Helper()
			got := of(t, changed, hot.Options{})
			var names []string
			for _, n := range want.Names() {
				names = append(names, name(n))
			}
			if !reflect.DeepEqual(got.Names(), names) {
				t.Errorf("seed %d, %s: %v, want %v", seed, what, got.Names(), names)
				return
			}
			for i := range got.Kernels {
				if math.Abs(got.Kernels[i].Share-want.Kernels[i].Share) > 1e-12 {
					t.Errorf("seed %d, %s: share %g of %s, want %g", seed, what, got.Kernels[i].Share, got.Kernels[i].Name, want.Kernels[i].Share)
				}
			}
		}
		self := func(n string) string { return n }
		shuffled := append([]observe.Observation(nil), obs...)
		rng.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		same("another order", shuffled, self)
		scaled, halves, renamed := append([]observe.Observation(nil), obs...), []observe.Observation(nil), append([]observe.Observation(nil), obs...)
		for i := range obs {
			scaled[i].Value.V *= 1024
			renamed[i].Kernel = "kernel_" + obs[i].Kernel
			half, other := obs[i], obs[i]
			half.Value.V *= 0.25
			other.Value.V *= 0.75
			other.Launch += 1000
			halves = append(halves, half, other)
		}
		same("another unit", scaled, self)
		same("launches in two", halves, self)
		same("other names", renamed, func(n string) string { return "kernel_" + n })
	}
}
