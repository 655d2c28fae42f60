package scaling

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// hypothesis is a set of terms, the constant first, with its fit.
type hypothesis struct {
	terms     []Term
	c         []float64
	residuals []float64 // predicted / measured - 1
	losses    []float64 // of each point left out: its part of SMAPE
	loss      float64   // their mean: leave-one-out SMAPE
}

// smape is one point's part of the symmetric mean absolute percentage error, 0
// to 2, of a prediction that is measured times (1 + relative error).
func smape(relative float64) float64 {
	return 2 * math.Abs(relative) / (1 + math.Abs(1+relative))
}

// try fits a hypothesis and leaves each point out once. It is refused when it
// predicts nothing above 0 at a measured point, when the term that grows
// fastest (or the one that shrinks most slowly) falls below 0, or when a point
// alone determines a coefficient.
func (d *design) try(terms []Term) (hypothesis, bool) {
	h := hypothesis{terms: terms}
	c, residuals, leverage, ok := d.fit(terms)
	if !ok {
		return h, false
	}
	h.c, h.residuals = c, residuals
	for i, r := range residuals {
		if r <= -1 || leverage[i] > 1-1e-9 {
			return h, false
		}
		// Left out, a point's error grows by 1 / (1 - leverage): exact for linear
		// least squares (Allen's PRESS, 1974).
		loss := smape(r / (1 - leverage[i]))
		h.losses = append(h.losses, loss)
		h.loss += loss / float64(len(residuals))
	}
	for i, t := range terms[1:] {
		leading := !slices.ContainsFunc(terms[1:], func(o Term) bool { return dominated(t, o, parameters(terms)) })
		if leading && c[i+1] <= 0 {
			return h, false
		}
	}
	return h, true
}

func parameters(terms []Term) int {
	n := 0
	for _, t := range terms {
		for _, f := range t {
			n = max(n, f.Parameter+1)
		}
	}
	return n
}

// contribution is the largest share of the fitted value that a term has at any
// point.
func (d *design) contribution(h hypothesis, j int) float64 {
	most := 0.0
	for i, a := range d.column(h.terms[j]) {
		most = max(most, math.Abs(h.c[j]*a)/(1+h.residuals[i]))
	}
	return most
}

// leastShare: a term that is nowhere this share of the model explains nothing
// (Extra-P drops terms by the same measure).
const leastShare = 0.01

// spread is what is known of the noise of the points' medians from repeats.
type spread struct {
	std     []float64 // relative standard error of each point's median
	freedom int       // degrees of freedom of the estimate; 0 without repeats
}

// explains reports that what a hypothesis misses is no more than the noise of
// repeats: the F test of lack of fit at 5 %.
func (s spread) explains(h hypothesis) bool {
	free := len(h.residuals) - len(h.terms)
	if s.freedom == 0 || free < 1 {
		return false
	}
	sum := 0.0
	for i, r := range h.residuals {
		if s.std[i] == 0 {
			return false
		}
		// The residual as a share of the prediction, which the noise is of.
		e := r / (1 + r) / s.std[i]
		sum += e * e
	}
	return sum/float64(free) <= distuv.F{D1: float64(free), D2: float64(s.freedom)}.Quantile(0.95)
}

// pick chooses among hypotheses. Least leave-one-out SMAPE alone takes more
// terms than there are, since among many hypotheses some fit the noise. So the
// simplest is taken that repeats do not contradict (see explains), or else the
// simplest whose error is within two standard errors of the least (Breiman et
// al. 1984 take one: among hundreds of hypotheses that is too few); among
// equally simple ones that with the least error. The standard error is that of
// the paired differences of the points' losses: both hypotheses see the same
// noise.
func (d *design) pick(hs []hypothesis, noise spread) (hypothesis, bool) {
	hs = slices.DeleteFunc(hs, func(h hypothesis) bool {
		for j := 1; j < len(h.terms); j++ {
			if d.contribution(h, j) < leastShare {
				return true
			}
		}
		return false
	})
	if len(hs) == 0 {
		return hypothesis{}, false
	}
	slices.SortStableFunc(hs, func(a, b hypothesis) int { return cmp.Compare(a.loss, b.loss) })
	best := hs[0]
	for size := 1; size < len(best.terms); size++ {
		i := slices.IndexFunc(hs, func(h hypothesis) bool { return len(h.terms) == size })
		if i >= 0 && (noise.explains(hs[i]) || near(hs[i], best)) {
			return hs[i], true
		}
	}
	return best, true
}

// near reports that the losses of h are within two standard errors of those
// of the best.
func near(h, best hypothesis) bool {
	mean, square := 0.0, 0.0
	n := float64(len(h.losses))
	for i := range h.losses {
		mean += (h.losses[i] - best.losses[i]) / n
	}
	for i := range h.losses {
		e := h.losses[i] - best.losses[i] - mean
		square += e * e / (n - 1)
	}
	// Errors at the level of rounding are none. Of losses that differ tenfold
	// the larger is no chance, however they scatter.
	return h.loss < 1e-9 || mean <= 2*math.Sqrt(square/n) && h.loss < 10*max(best.loss, 1e-6)
}

// single tries all hypotheses of one parameter with up to so many terms.
func (d *design) single(terms []Term, most int) []hypothesis {
	var hs []hypothesis
	add := func(ts ...Term) {
		if h, ok := d.try(append([]Term{nil}, ts...)); ok {
			hs = append(hs, h)
		}
	}
	add()
	for i, a := range terms {
		add(a)
		for _, b := range terms[i+1:] {
			// Two terms and a constant need a point to spare.
			if most >= 2 && len(d.y) >= 5 {
				add(a, b)
			}
		}
	}
	return hs
}

// combined tries what several parameters' terms make together: for each choice
// of one candidate per parameter, sums of up to three of all products (Calotoiu
// et al., Cluster 2016: additive and multiplicative combinations).
func (d *design) combined(candidates [][]Term) []hypothesis {
	var hs []hypothesis
	seen := map[string]bool{}
	add := func(ts []Term) {
		key := ""
		for _, t := range ts {
			key += t.key() + "|"
		}
		if seen[key] {
			return
		}
		seen[key] = true
		if h, ok := d.try(append([]Term{nil}, ts...)); ok {
			hs = append(hs, h)
		}
	}
	add(nil)
	chosen := make([]Term, len(candidates))
	var choose func(p int)
	choose = func(p int) {
		if p < len(candidates) {
			for _, t := range candidates[p] {
				chosen[p] = t
				choose(p + 1)
			}
			return
		}
		var products []Term
		for set := 1; set < 1<<len(chosen); set++ {
			var t Term
			for q, c := range chosen {
				if set&(1<<q) != 0 {
					t = append(t, c...)
				}
			}
			products = append(products, t)
		}
		for i := range products {
			add(products[i : i+1])
			for j := i + 1; j < len(products); j++ {
				add([]Term{products[i], products[j]})
				for k := j + 1; k < len(products); k++ {
					add([]Term{products[i], products[j], products[k]})
				}
			}
		}
	}
	choose(0)
	return hs
}

// candidatesPerParameter is how many of the best terms of each parameter are
// combined. The published method takes one; with noise the right one is not
// always first.
const candidatesPerParameter = 3

// candidates ranks the terms of a parameter by leave-one-out SMAPE over the
// lines of points on which the other parameters stand still.
func candidates(points [][]float64, y []float64, parameter, fewest int, terms []Term) []Term {
	type scored struct {
		term Term
		loss float64
	}
	var scores []scored
	ls := lines(points, parameter, fewest)
	var designs []*design
	for _, l := range ls {
		ps, ys := make([][]float64, len(l)), make([]float64, len(l))
		for i, at := range l {
			ps[i], ys[i] = points[at], y[at]
		}
		designs = append(designs, newDesign(ps, ys))
	}
	for _, t := range terms {
		sum := 0.0
		for _, d := range designs {
			h, ok := d.try([]Term{nil, t})
			if !ok {
				// Along this line the term is no better than nothing: a constant.
				if h, ok = d.try([]Term{nil}); !ok {
					sum += 2
					continue
				}
			}
			sum += h.loss
		}
		scores = append(scores, scored{t, sum})
	}
	slices.SortStableFunc(scores, func(a, b scored) int { return cmp.Compare(a.loss, b.loss) })
	var out []Term
	for _, s := range scores[:min(len(scores), candidatesPerParameter)] {
		out = append(out, s.term)
	}
	return out
}

// lines are groups of points that differ in one parameter only, of the fewest
// points or more.
func lines(points [][]float64, parameter, fewest int) [][]int {
	groups := map[string][]int{}
	var order []string
	for i, p := range points {
		key := make([]byte, 0, 8*len(p))
		for q, v := range p {
			if q == parameter {
				continue
			}
			bits := math.Float64bits(v)
			for range 8 {
				key = append(key, byte(bits))
				bits >>= 8
			}
		}
		if groups[string(key)] == nil {
			order = append(order, string(key))
		}
		groups[string(key)] = append(groups[string(key)], i)
	}
	var out [][]int
	for _, k := range order {
		if len(groups[k]) >= fewest {
			out = append(out, groups[k])
		}
	}
	return out
}
