package change

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Thresholds of what Noise says.
const (
	// OutlierRanges: an outlier is so many interquartile ranges outside the
	// quartiles: Tukey's "far out" (1977). The usual 1.5 finds one in most
	// samples of ordinary run times, which have a long tail.
	OutlierRanges = 3.0
	// BimodalD, BimodalFew and BimodalShare: n values are bimodal when the split
	// in two with the least variance inside the parts leaves each at least 3
	// values and a fifth of all, and Ashman's D = sqrt(2) |m1 - m2| /
	// sqrt(s1^2 + s2^2) is at least BimodalD + BimodalFew / n: 5 for many, 7 for
	// ten. (Ashman, Bird and Zepf 1994 ask for 2 of a fitted mixture; the best
	// split of a single normal peak has 2.7, of a flat one 3.5, and both have more
	// by chance where values are few.)
	BimodalD     = 4.5
	BimodalFew   = 25.0
	BimodalShare = 0.2
	// DriftP: there is a drift when values and their place in the sequence are
	// correlated (Kendall's tau) with a p value of at most this.
	DriftP = 0.01
)

// Fewest repeats from which Noise speaks of these.
const (
	fewestForOutliers = 5
	fewestForModes    = 8
	fewestForDrift    = 6
)

// Noise says how steady repeats are.
type Noise struct {
	N        int
	Median   float64
	MAD      float64 // median absolute deviation, not scaled
	Variance float64 // coefficient of variation: standard deviation over mean; NaN below two values
	Outliers []int   // places in the sequence, by Tukey's rule (OutlierRanges)
	// Modes are the means of the two groups, the lower first, where values are
	// bimodal (BimodalD); D is Ashman's D of the best split.
	Bimodal bool
	Modes   [2]float64
	D       float64
	// Tau is Kendall's rank correlation with the sequence: above 0 when later
	// repeats are slower. NaN below 6 repeats.
	Drift  bool
	Tau    float64
	DriftP float64
}

// NoiseOf looks at repeats in the order in which they were measured.
func NoiseOf(vs []float64) Noise {
	n := Noise{N: len(vs), Median: median(vs), MAD: mad(vs), Variance: math.NaN(), D: math.NaN(), Tau: math.NaN(), DriftP: math.NaN()}
	if len(vs) >= 2 {
		mean, std := stat.MeanStdDev(vs, nil)
		n.Variance = std / mean
	}
	sorted := slices.Sorted(slices.Values(vs))
	if len(vs) >= fewestForOutliers {
		q1, q3 := stat.Quantile(0.25, stat.LinInterp, sorted, nil), stat.Quantile(0.75, stat.LinInterp, sorted, nil)
		for i, v := range vs {
			if far := OutlierRanges * (q3 - q1); v < q1-far || v > q3+far {
				n.Outliers = append(n.Outliers, i)
			}
		}
	}
	if len(vs) >= fewestForModes {
		n.modes(sorted)
	}
	if len(vs) >= fewestForDrift {
		// Kendall's tau looks at all pairs: some hundred values, evenly spaced, are enough.
		step := (len(vs) + 499) / 500
		var some []float64
		for i := 0; i < len(vs); i += step {
			some = append(some, vs[i])
		}
		n.Tau, n.DriftP = kendall(some)
		n.Drift = n.DriftP <= DriftP
	}
	return n
}

// modes splits sorted values in two where the variance inside is least.
func (n *Noise) modes(sorted []float64) {
	total := len(sorted)
	least := max(3, int(math.Ceil(BimodalShare*float64(total))))
	// Shifted by the median, squares keep their digits.
	shift := sorted[total/2]
	sums, squares := make([]float64, total+1), make([]float64, total+1)
	for i, v := range sorted {
		d := v - shift
		sums[i+1], squares[i+1] = sums[i]+d, squares[i]+d*d
	}
	within := func(from, to int) (mean, ss float64) {
		k := float64(to - from)
		s := sums[to] - sums[from]
		return s / k, max(0, squares[to]-squares[from]-s*s/k)
	}
	best := math.Inf(1)
	for k := 1; k < total; k++ {
		m1, s1 := within(0, k)
		m2, s2 := within(k, total)
		if s1+s2 >= best {
			continue
		}
		best = s1 + s2
		v1, v2 := s1/float64(max(1, k-1)), s2/float64(max(1, total-k-1))
		n.D = math.Sqrt2 * (m2 - m1) / math.Sqrt(v1+v2)
		n.Modes = [2]float64{m1 + shift, m2 + shift}
		n.Bimodal = n.D >= BimodalD+BimodalFew/float64(total) && k >= least && total-k >= least
	}
	if sorted[0] == sorted[total-1] {
		n.D, n.Bimodal = math.NaN(), false
	}
	if !n.Bimodal {
		n.Modes = [2]float64{}
	}
}

// String is the noise as a line of text.
func (n Noise) String() string {
	out := fmt.Sprintf("%d repeats: median %.4g, median absolute deviation %.2g, coefficient of variation %.1f %%", n.N, n.Median, n.MAD, 100*n.Variance)
	if n.N < 2 {
		out = fmt.Sprintf("%d repeats: median %.4g", n.N, n.Median)
	}
	if t := n.Trouble(); t != "" {
		out += "; " + t
	}
	return out
}

// Trouble says in words what is not steady, "" where nothing is.
func (n Noise) Trouble() string {
	var parts []string
	switch k := len(n.Outliers); {
	case k > 0 && n.Outliers[k-1] == k-1: // in order: they are the first
		parts = append(parts, fmt.Sprintf("the first %d of %d repeats are outliers (a warm-up?)", k, n.N))
	case k > 0:
		parts = append(parts, fmt.Sprintf("%d of %d repeats are outliers", k, n.N))
	}
	if n.Bimodal {
		parts = append(parts, fmt.Sprintf("two modes, the higher %.2f times the lower", n.Modes[1]/n.Modes[0]))
	}
	if n.Drift {
		way := "slower"
		if n.Tau < 0 {
			way = "faster"
		}
		parts = append(parts, fmt.Sprintf("later repeats are %s (tau %.2f, p %.2g)", way, n.Tau, n.DriftP))
	}
	return strings.Join(parts, "; ")
}
