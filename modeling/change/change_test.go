package change_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/observe"
)

// repeats makes runs of kernels k0, k1 ... whose times are 1 s, 2 s ... times
// factor, with log-normal noise.
func repeats(rng *rand.Rand, first int64, runs int, noise float64, factors ...float64) []observe.Observation {
	var out []observe.Observation
	for r := range int64(runs) {
		for k, f := range factors {
			v := float64(k+1) * f * math.Exp(noise*rng.NormFloat64())
			out = append(out, observe.Observation{Row: observe.Row{Run: first + r, Region: int64(k + 1), Launch: r*100 + int64(k) + 1, Metric: "time"},
				Kernel: fmt.Sprintf("k%d", k), Kind: datasets.KindKernel, Value: datasets.Some(v), Unit: "s", Launches: 1})
		}
	}
	return out
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func compare(t *testing.T, before, after []observe.Observation, opt change.Options) change.Report {
	t.Helper()
	r, err := change.Of(before, after, opt)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var quick = change.Options{Draws: 300}

func TestPlantedSlowdownsAreFound(t *testing.T) {
	// Two of ten kernels change by 15 % and -10 % under 3 % noise, 8 repeats.
	factors := ones(10)
	factors[2], factors[7] = 1.15, 0.9
	found, covered, others := 0, 0, 0
	const seeds = 200
	for seed := range uint64(seeds) {
		rng := rand.New(rand.NewPCG(seed, 2))
		r := compare(t, repeats(rng, 1, 8, 0.03, ones(10)...), repeats(rng, 101, 8, 0.03, factors...), quick)
		up, _ := r.Kernel("k2")
		down, _ := r.Kernel("k7")
		if up.Verdict == change.Slower && down.Verdict == change.Faster {
			found++
		}
		if up.Low <= 1.15 && 1.15 <= up.High {
			covered++
		}
		for _, k := range r.Kernels {
			if k.Name != "k2" && k.Name != "k7" && (k.Verdict == change.Slower || k.Verdict == change.Faster) {
				others++
			}
		}
	}
	t.Logf("both found in %d of %d, interval holds the ratio in %d, %d false discoveries", found, seeds, covered, others)
	if found < seeds*95/100 {
		t.Errorf("both changes were found in %d of %d, want 95 %%", found, seeds)
	}
	if covered < seeds*88/100 {
		t.Errorf("the 95 %% interval of 8 repeats holds the ratio in %d of %d", covered, seeds)
	}
	// The rate is at most 0.05 of discoveries: 2 true ones a seed.
	if share := float64(others) / float64(others+2*found); share > 0.05 {
		t.Errorf("%.3f of the discoveries are false", share)
	}
}

func TestNoChangeIsRarelyCalledOne(t *testing.T) {
	// With nothing to find, any discovery is false: at most 5 % of reports have
	// one (3 standard deviations above for 400 of them: 8.3 %).
	for _, n := range []int{5, 6, 10, 25} {
		false_, seeds := 0, 400
		for seed := range uint64(seeds) {
			rng := rand.New(rand.NewPCG(seed, uint64(n)))
			r := compare(t, repeats(rng, 1, n, 0.1, ones(10)...), repeats(rng, 101, n, 0.1, ones(10)...), change.Options{Draws: 100, MinEffect: 1e-9})
			if len(r.With(change.Slower))+len(r.With(change.Faster)) > 0 {
				false_++
			}
		}
		t.Logf("%d repeats: %d of %d", n, false_, seeds)
		if float64(false_) > 0.083*float64(seeds) {
			t.Errorf("%d repeats: a change was found in %d of %d comparisons of equals", n, false_, seeds)
		}
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	before, after := repeats(rng, 1, 7, 0.05, ones(6)...), repeats(rng, 101, 7, 0.05, 1, 1.2, 1, 1, 0.8, 1)
	want := compare(t, before, after, quick)
	for range 20 {
		for _, s := range [][]observe.Observation{before, after} {
			rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
		}
		if got := compare(t, before, after, quick); got.String() != want.String() || fmt.Sprintf("%+v", got.Kernels) != fmt.Sprintf("%+v", want.Kernels) {
			t.Fatalf("another order gives another report:\n%s\n%s", got, want)
		}
	}
}

func TestSwappingSidesTurnsVerdicts(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	before, after := repeats(rng, 1, 8, 0.02, 1, 1, 1), repeats(rng, 101, 8, 0.02, 1, 1.3, 0.7)
	a, b := compare(t, before, after, quick), compare(t, after, before, quick)
	if a.Difference != -b.Difference || len(a.With(change.Slower)) != 1 || len(b.With(change.Slower)) != 1 {
		t.Fatalf("there and back:\n%s\n%s", a, b)
	}
	for _, k := range a.Kernels {
		other, _ := b.Kernel(k.Name)
		if math.Abs(k.Ratio*other.Ratio-1) > 1e-12 || k.P != other.P {
			t.Errorf("%s: ratios %g and %g, p %g and %g", k.Name, k.Ratio, other.Ratio, k.P, other.P)
		}
	}
}

func TestSplittingAKernelLeavesTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	before, after := repeats(rng, 1, 6, 0.02, 1, 1, 1), repeats(rng, 101, 6, 0.02, 1, 1.4, 1)
	whole := compare(t, before, after, quick)
	var split []observe.Observation
	for _, o := range after {
		if o.Kernel != "k1" {
			split = append(split, o)
			continue
		}
		v := o.Value.V
		o.Kernel, o.Value.V = "k1_first", 0.25*v
		split = append(split, o)
		o.Kernel, o.Value.V = "k1_second", 0.75*v
		split = append(split, o)
	}
	r := compare(t, before, split, quick)
	if math.Abs(r.Difference-whole.Difference) > 1e-12 || math.Abs(r.After-whole.After) > 1e-12 {
		t.Errorf("totals %g and %g, %g and %g", r.Difference, whole.Difference, r.After, whole.After)
	}
	if len(r.With(change.New)) != 2 || len(r.With(change.Vanished)) != 1 {
		t.Errorf("new and vanished:\n%s", r)
	}
	sum, explained := 0.0, 0.0
	for _, k := range r.Kernels {
		sum += k.Difference
		explained += k.Explains
	}
	if math.Abs(sum-r.Difference) > 1e-12 || math.Abs(explained-1) > 1e-9 {
		t.Errorf("differences add up to %g of %g, shares to %g", sum, r.Difference, explained)
	}
}

func TestTooFewRepeatsAreSaid(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	// 3 against 3: the smallest p value is 2/20 = 0.1, whatever the change.
	r := compare(t, repeats(rng, 1, 3, 0.01, 1, 1), repeats(rng, 101, 3, 0.01, 5, 1), quick)
	if k, _ := r.Kernel("k0"); k.Verdict != change.TooFew || k.Ratio < 4.5 {
		t.Errorf("5 times slower, 3 repeats: %+v", k.Test)
	}
	if !strings.Contains(r.String(), "to find one change among 2 kernels takes 5 repeats or more") {
		t.Errorf("the report does not say how many repeats it takes:\n%s", r)
	}
	// 4 against 4 (0.029) is enough for one kernel and not for one of ten
	// (0.05 / 10), unless others change as well.
	factors := ones(10)
	factors[0] = 5
	r = compare(t, repeats(rng, 1, 4, 0.05, ones(10)...), repeats(rng, 101, 4, 0.05, factors...), quick)
	if k, _ := r.Kernel("k0"); k.Verdict != change.TooFew {
		t.Errorf("4 repeats and ten kernels: %+v", k.Test)
	}
	for i := range factors {
		factors[i] = 5
	}
	r = compare(t, repeats(rng, 1, 4, 0.05, ones(10)...), repeats(rng, 101, 4, 0.05, factors...), quick)
	if len(r.With(change.Slower)) != 10 {
		t.Errorf("all of ten kernels change, 4 repeats:\n%s", r)
	}
}

func TestSteadyKernelsAreSaidToBeUnchanged(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	r := compare(t, repeats(rng, 1, 10, 0.002, 1, 1), repeats(rng, 101, 10, 0.002, 1, 1), quick)
	if len(r.With(change.Same)) != 2 {
		t.Errorf("0.2 %% noise, 10 repeats:\n%s", r)
	}
	r = compare(t, repeats(rng, 1, 10, 0.3, 1, 1), repeats(rng, 101, 10, 0.3, 1, 1), quick)
	if len(r.With(change.Unclear)) != 2 {
		t.Errorf("30 %% noise, 10 repeats:\n%s", r)
	}
}

func TestUnknownTimesAreNoZeros(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	before, after := repeats(rng, 1, 6, 0.01, 1, 1), repeats(rng, 101, 6, 0.01, 1, 1)
	for i := range after {
		if after[i].Kernel == "k1" {
			after[i].Value.Valid = false
		}
	}
	r := compare(t, before, after, quick)
	if k, _ := r.Kernel("k1"); k.Verdict != change.NoValue || k.After.Unknown != 6 || !math.IsNaN(k.Ratio) {
		t.Errorf("%+v", k)
	}
	if _, err := change.Of(before, nil, quick); err == nil {
		t.Error("a side without measurements is taken")
	}
	before[0].Unit = "cycle"
	if _, err := change.Of(before, after, quick); err == nil || !strings.Contains(err.Error(), "others are in") {
		t.Errorf("mixed units: %v", err)
	}
}
