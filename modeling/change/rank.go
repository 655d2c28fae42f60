package change

import (
	"math"
	"math/big"
	"slices"
)

// exactLimit is up to how many values together a rank test is exact: it counts
// all ways to deal them to two sides. Above, the normal approximation is good
// to two digits.
const exactLimit = 40

// MannWhitney is the two-sided p value of the rank test of Mann and Whitney
// (1947) that a and b are of one distribution. Up to 40 values together it is
// exact, with ties too (the permutation distribution of midranks); above it is
// the normal approximation with correction for ties and continuity. Without
// values on a side it is 1.
func MannWhitney(a, b []float64) (p float64, exact bool) {
	n, m := len(a), len(b)
	if n == 0 || m == 0 {
		return 1, true
	}
	ranks, ties := midranks(append(slices.Clone(a), b...))
	sum := 0
	for _, r := range ranks[:n] {
		sum += r
	}
	if n+m <= exactLimit {
		return permutations(ranks, n, sum), true
	}
	nn, mm, all := float64(n), float64(m), float64(n+m)
	variance := nn * mm / 12 * (all + 1 - ties/(all*(all-1)))
	if variance <= 0 {
		return 1, false
	}
	// Ranks are doubled: their mean sum is n (N + 1).
	d := math.Abs(float64(sum)-nn*(all+1))/2 - 0.5
	return math.Erfc(max(0, d) / math.Sqrt(2*variance)), false
}

// midranks returns twice the rank of each value (twice: means of two ranks are
// whole then) and the sum of t^3 - t over groups of t equal values.
func midranks(vs []float64) (ranks []int, ties float64) {
	order := make([]int, len(vs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		switch {
		case vs[i] < vs[j]:
			return -1
		case vs[i] > vs[j]:
			return 1
		}
		return 0
	})
	ranks = make([]int, len(vs))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && vs[order[j]] == vs[order[i]] {
			ranks[order[j]] = 0
			j++
		}
		for k := i; k < j; k++ {
			ranks[order[k]] = i + 1 + j
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	return ranks, ties
}

// permutations is the share of all choices of n ranks whose sum is at least as
// far from its mean as sum is.
func permutations(ranks []int, n, sum int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s]: choices of k ranks with the sum s. Float64 holds C(40, 20)
	// exactly.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for i, r := range ranks {
		for k := min(n, i+1); k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	mean := n * (len(ranks) + 1)
	far := sum - mean
	if far < 0 {
		far = -far
	}
	var extreme, all float64
	for s, w := range ways[n] {
		all += w
		if s-mean >= far || mean-s >= far {
			extreme += w
		}
	}
	return extreme / all
}

// smallestP is the smallest p value that a rank test of n against m values can
// have: all of one side above all of the other.
func smallestP(n, m int) float64 {
	if n == 0 || m == 0 {
		return 1
	}
	ways, _ := new(big.Float).SetInt(new(big.Int).Binomial(int64(n+m), int64(n))).Float64()
	return min(1, 2/ways)
}

// RepeatsNeeded is how many repeats on each side a rank test needs at least to
// find one change among so many kernels at the false discovery rate alpha.
func RepeatsNeeded(kernels int, alpha float64) int {
	n := 2
	for smallestP(n, n) > alpha/float64(max(1, kernels)) && n < 100 {
		n++
	}
	return n
}

// BenjaminiHochberg corrects p values for their number: out flow q values in
// the same order. Calling all with q <= alpha a discovery keeps the expected
// share of false ones among them at or below alpha (Benjamini and Hochberg
// 1995).
func BenjaminiHochberg(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		if p[i] < p[j] {
			return -1
		} else if p[i] > p[j] {
			return 1
		}
		return 0
	})
	q := make([]float64, len(p))
	least := 1.0
	for k := len(order) - 1; k >= 0; k-- {
		least = min(least, p[order[k]]*float64(len(p))/float64(k+1))
		q[order[k]] = least
	}
	return q
}

// kendall is the rank correlation of values with their place in the sequence
// (Kendall's tau-a) and the two-sided p value that there is none (Mann 1945):
// exact up to 12 different values, else the normal approximation, corrected
// for ties and continuity.
func kendall(vs []float64) (tau, p float64) {
	n := len(vs)
	if n < 2 {
		return 0, 1
	}
	s := 0
	for i := range vs {
		for j := i + 1; j < n; j++ {
			if vs[j] > vs[i] {
				s++
			} else if vs[j] < vs[i] {
				s--
			}
		}
	}
	_, ties := midranks(vs)
	pairs := n * (n - 1) / 2
	tau = float64(s) / float64(pairs)
	if s < 0 {
		s = -s
	}
	if n <= 12 && ties == 0 {
		return tau, inversions(n, s)
	}
	counts := map[float64]float64{}
	for _, v := range vs {
		counts[v]++
	}
	nn := float64(n)
	variance := nn * (nn - 1) * (2*nn + 5)
	for _, t := range counts {
		variance -= t * (t - 1) * (2*t + 5)
	}
	variance /= 18
	if variance <= 0 {
		return tau, 1
	}
	return tau, math.Erfc(max(0, float64(s)-1) / math.Sqrt(2*variance))
}

// inversions is the share of all orders of n values whose |pairs in order -
// pairs out of order| is at least s.
func inversions(n, s int) float64 {
	ways := []float64{1} // by the number of inversions
	for k := 2; k <= n; k++ {
		next := make([]float64, len(ways)+k-1)
		for i, w := range ways {
			for j := range k {
				next[i+j] += w
			}
		}
		ways = next
	}
	pairs := n * (n - 1) / 2
	var extreme, all float64
	for inv, w := range ways {
		all += w
		if d := pairs - 2*inv; d >= s || -d >= s {
			extreme += w
		}
	}
	return extreme / all
}
