package change

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// median of values; they are not changed.
func median(vs []float64) float64 {
	if len(vs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(vs))
	if n := len(s); n%2 == 0 {
		return s[n/2-1]/2 + s[n/2]/2
	}
	return s[len(s)/2]
}

// mad is the median absolute deviation from the median, not scaled.
func mad(vs []float64) float64 {
	m := median(vs)
	d := make([]float64, len(vs))
	for i, v := range vs {
		d[i] = math.Abs(v - m)
	}
	return median(d)
}

// random makes a source that depends on the seed and a name alone, so that
// neither the order of kernels nor that of their launches matters.
func random(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// resampler draws medians of samples with replacement out of values.
type resampler struct {
	sorted []float64
	counts []int
	rng    *rand.Rand
	order  distuv.Beta // of a large sample's median among uniform draws
}

func newResampler(vs []float64, rng *rand.Rand) *resampler {
	r := &resampler{sorted: slices.Sorted(slices.Values(vs)), rng: rng}
	r.counts = make([]int, len(vs))
	k := float64(len(vs)+1) / 2
	r.order = distuv.Beta{Alpha: k, Beta: k, Src: rng}
	return r
}

// many is from how many values a median is drawn as an order statistic.
const many = 100

func (r *resampler) median() float64 {
	n := len(r.sorted)
	if n > many {
		return r.sorted[min(n-1, int(r.order.Rand()*float64(n)))]
	}
	clear(r.counts)
	for range n {
		r.counts[r.rng.IntN(n)]++
	}
	at := func(rank int) float64 {
		for i, c := range r.counts {
			if rank -= c; rank < 0 {
				return r.sorted[i]
			}
		}
		return r.sorted[n-1]
	}
	if n%2 == 1 {
		return at(n / 2)
	}
	return at(n/2-1)/2 + at(n/2)/2
}

// ratioInterval is the percentile bootstrap interval (Efron 1979) of
// median(after) / median(before). It needs two values on each side.
func ratioInterval(before, after []float64, level float64, draws int, rng *rand.Rand) (low, high float64) {
	if len(before) < 2 || len(after) < 2 {
		return math.NaN(), math.NaN()
	}
	b, a := newResampler(before, rng), newResampler(after, rng)
	ratios := make([]float64, 0, draws)
	for range draws {
		if r := a.median() / b.median(); !math.IsNaN(r) {
			ratios = append(ratios, r)
		}
	}
	if len(ratios) < draws {
		return math.NaN(), math.NaN()
	}
	slices.Sort(ratios)
	return stat.Quantile((1-level)/2, stat.LinInterp, ratios, nil), stat.Quantile((1+level)/2, stat.LinInterp, ratios, nil)
}
