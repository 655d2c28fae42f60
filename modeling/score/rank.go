package score

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
)

// Ranks gives each x its place in the order from smallest to largest, the
// first being 1; equal values share the mean of their places.
func Ranks(xs []float64) []float64 {
	order := ascending(xs)
	ranks := make([]float64, len(xs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && xs[order[j]] == xs[order[i]] {
			j++
		}
		for _, o := range order[i:j] {
			ranks[o] = float64(i+1+j) / 2
		}
		i = j
	}
	return ranks
}

func ascending(xs []float64) []int {
	order := make([]int, len(xs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { // faster than a stable sort, and as stable
		if c := cmp.Compare(xs[i], xs[j]); c != 0 {
			return c
		}
		return i - j
	})
	return order
}

// Spearman is the rank correlation of x and y (Spearman 1904): Pearson's
// correlation of their Ranks, so that ties count as in scipy's spearmanr. NaN
// when all values of one are equal, or fewer than two are given.
func Spearman(x, y []float64) float64 {
	if len(x) != len(y) || len(x) < 2 {
		return math.NaN()
	}
	a, b := Ranks(x), Ranks(y)
	mean := float64(len(x)+1) / 2
	var ab, aa, bb float64
	for i := range a {
		p, q := a[i]-mean, b[i]-mean
		ab, aa, bb = ab+p*q, aa+p*p, bb+q*q
	}
	if aa == 0 || bb == 0 {
		return math.NaN()
	}
	return ab / math.Sqrt(aa*bb)
}

// Kendall is the rank correlation tau-b (Kendall 1945), which corrects for
// ties: (concordant - discordant pairs) / sqrt((n0-tx)(n0-ty)), with n0 all
// pairs and tx, ty those tied in x and y. It takes n log n steps (Knight
// 1966). NaN when all values of one are equal, or fewer than two are given.
func Kendall(x, y []float64) float64 {
	n := len(x)
	if n != len(y) || n < 2 {
		return math.NaN()
	}
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.Slice(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return x[a] < x[b] || (x[a] == x[b] && y[a] < y[b])
	})
	ys := make([]float64, n)
	for i, o := range order {
		ys[i] = y[o]
	}
	pairs := func(n int) float64 { return float64(n) * float64(n-1) / 2 }
	runs := func(same func(i, j int) bool) float64 { // pairs within runs of the same
		sum := 0.0
		for i := 0; i < n; {
			j := i + 1
			for j < n && same(i, j) {
				j++
			}
			sum += pairs(j - i)
			i = j
		}
		return sum
	}
	tiedX := runs(func(i, j int) bool { return x[order[i]] == x[order[j]] })
	tiedBoth := runs(func(i, j int) bool { return x[order[i]] == x[order[j]] && ys[i] == ys[j] })
	swaps := mergeSort(ys, make([]float64, n)) // pairs ordered by x, and not by y
	tiedY := runs(func(i, j int) bool { return ys[i] == ys[j] })
	all := pairs(n)
	if tiedX == all || tiedY == all {
		return math.NaN()
	}
	return (all - tiedX - tiedY + tiedBoth - 2*swaps) / math.Sqrt(all-tiedX) / math.Sqrt(all-tiedY)
}

// mergeSort sorts xs and counts the pairs that stood the wrong way round.
func mergeSort(xs, scratch []float64) float64 {
	n := len(xs)
	if n < 2 {
		return 0
	}
	swaps := mergeSort(xs[:n/2], scratch[:n/2]) + mergeSort(xs[n/2:], scratch[n/2:])
	copy(scratch, xs)
	a, b := scratch[:n/2], scratch[n/2:n]
	for k := range xs {
		if len(b) == 0 || (len(a) > 0 && a[0] <= b[0]) {
			xs[k], a = a[0], a[1:]
		} else {
			xs[k], b = b[0], b[1:]
			swaps += float64(len(a))
		}
	}
	return swaps
}

// TopK is the regret of choosing by prediction among alternatives of which the
// lowest measured is the best: how much slower, as a fraction, the best of the
// k with the lowest predictions is than the best of all. Equal predictions
// count against the predictor, the slowest first: who cannot tell has the
// worst regret, not that of a lucky order.
func TopK(measured, predicted []float64, k int) (float64, error) {
	if len(measured) != len(predicted) || len(measured) == 0 || k < 1 {
		return 0, fmt.Errorf("regret of the top %d of %d predictions for %d measurements", k, len(predicted), len(measured))
	}
	order := make([]int, len(measured))
	for i := range order {
		if !(measured[i] > 0) || math.IsInf(measured[i], 0) || math.IsNaN(predicted[i]) {
			return 0, fmt.Errorf("regret: alternative %d was measured as %g and predicted as %g: want a positive and any number", i, measured[i], predicted[i])
		}
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, b := order[i], order[j]
		return predicted[a] < predicted[b] || (predicted[a] == predicted[b] && measured[a] > measured[b])
	})
	chosen := math.Inf(1)
	for _, i := range order[:min(k, len(order))] {
		chosen = math.Min(chosen, measured[i])
	}
	return chosen/slices.Min(measured) - 1, nil
}
