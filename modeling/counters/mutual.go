package counters

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/mathext"
)

const (
	neighbours = 3
	mutualRows = 1000 // the estimate takes time that grows with their square
	jitter     = 1e-8 // standard deviations; it parts ties, as the authors advise
)

// mutual fills the mutual information of each column with the target.
func (p *prepared) mutual(ctx context.Context, seed uint64, cs []Counter) error {
	at := sample(p.rows)
	if len(at) > mutualRows {
		at = pickInts(at, sampleOf(len(at), mutualRows))
	}
	rng := rand.New(rand.NewPCG(seed, 0x6d7574))
	noise := make([]float64, len(at))
	for i := range noise {
		noise[i] = jitter * rng.NormFloat64()
	}
	y := pick(p.y, at)
	for i, n := range noise {
		y[i] += n
	}
	rng.Shuffle(len(noise), func(i, j int) { noise[i], noise[j] = noise[j], noise[i] })
	for j := range cs {
		if err := ctx.Err(); err != nil {
			return err
		}
		x := pick(p.columns[j].z, at)
		for i, n := range noise {
			x[i] += n
		}
		cs[j].Mutual = MutualInformation(x, y, neighbours)
	}
	return nil
}

func sampleOf(n, m int) []int {
	at := make([]int, m)
	for i := range at {
		at[i] = i * n / m
	}
	return at
}

// MutualInformation estimates that of two continuous quantities, in nat, from
// the distances of each pair to its k nearest (the first estimator of Kraskov,
// Stögbauer and Grassberger 2004, Phys. Rev. E 69, 066138):
//
//	digamma(k) + digamma(n) - mean(digamma(nx+1) + digamma(ny+1))
//
// where nx and ny count the values nearer in x, or in y, than the k-th nearest
// pair is in the larger of both distances. Negative estimates are 0. x and y
// are of equal length n > k and comparable scale; equal values should be parted
// by a little noise. Time grows with n squared.
func MutualInformation(x, y []float64, k int) float64 {
	n := len(x)
	if n <= k || len(y) != n || k < 1 {
		return math.NaN()
	}
	sx, sy := slices.Clone(x), slices.Clone(y)
	sort.Float64s(sx)
	sort.Float64s(sy)
	nearer := func(sorted []float64, v, d float64) int { // itself not counted
		lo := sort.Search(n, func(i int) bool { return v-sorted[i] < d })
		hi := sort.Search(n, func(i int) bool { return sorted[i]-v >= d })
		return max(hi-lo-1, 0)
	}
	sum := 0.0
	best := make([]float64, k)
	for i := range x {
		for j := range best {
			best[j] = math.Inf(1)
		}
		for j := range x {
			d := math.Max(math.Abs(x[i]-x[j]), math.Abs(y[i]-y[j]))
			if j == i || d >= best[k-1] {
				continue
			}
			at := k - 1
			for ; at > 0 && best[at-1] > d; at-- {
				best[at] = best[at-1]
			}
			best[at] = d
		}
		d := best[k-1]
		sum += mathext.Digamma(float64(nearer(sx, x[i], d)+1)) + mathext.Digamma(float64(nearer(sy, y[i], d)+1))
	}
	return math.Max(0, mathext.Digamma(float64(k))+mathext.Digamma(float64(n))-sum/float64(n))
}
