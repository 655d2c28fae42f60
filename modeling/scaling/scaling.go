// Package scaling finds how the time of a kernel grows with the size of its
// input or the number of processes, as a formula, in the manner of Extra-P:
// the performance model normal form f(p) = sum over k of c_k p^i_k log2(p)^j_k
// with small sets of exponents (Calotoiu et al., SC13), for several parameters
// sums and products of the best terms of each (Calotoiu et al., Cluster 2016).
//
// In flow points (values of the parameters, repeated measurements) from
// slices, dataframes or a store. Out flow Models, which predict with an
// interval, a ranking of kernels by growth, and tables of speedup and
// efficiency. Too few points or too much noise are refused: a formula that is
// made of them looks as good as any other.
//
// Hypotheses are fitted by least squares of relative errors and selected by
// leave-one-out cross-validation with SMAPE as the loss; of several numbers of
// terms the fewest that repeats (a test of lack of fit) or the standard error
// of the loss allow. SC13 selects by cross-validation too, with
// adjusted R2, which is reported here and not used: it weighs the largest run
// alone, while noise of a run time is a share of it.
package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/modeling/observe"
)

// Point is what was measured at one place.
type Point struct {
	At       []float64 // values of the parameters, 1 or more
	Values   []float64 // repeats, above 0
	Evidence []observe.Row
}

// Options of Fit. The zero value is ready to use.
type Options struct {
	Name       string   // of the kernel
	Parameters []string // names; none are "p", or "p1", "p2" ...
	Unit       string   // of values
	Exponents  Exponents
	Terms      int // most terms of one parameter besides the constant, 1 or 2; 0 is 2
	// Fastest takes the fastest repeat of each point and none else, where other
	// work on the machine only adds time. Intervals then come from what the model
	// misses, and MaxNoise does not apply.
	Fastest  bool
	MaxNoise float64 // relative standard deviation of repeats that is refused, 0 is 0.25
	Level    float64 // of intervals, 0 is 0.95
	Draws    int     // bootstrap samples, 0 is 200
	Seed     uint64
}

// FewestPoints is how many values of each parameter a model needs.
const FewestPoints = 5

// worstFit is the leave-one-out SMAPE above which nothing describes the points.
const worstFit = 0.3

// RefusedError says why there is no model.
type RefusedError struct {
	Name, Reason string
}

func (e *RefusedError) Error() string {
	if e.Name == "" {
		return "no scaling model: " + e.Reason
	}
	return "no scaling model of " + e.Name + ": " + e.Reason
}

// Model is a formula for a kernel.
type Model struct {
	Name         string
	Parameters   []string
	Unit         string
	Terms        []Term // the constant first
	Coefficients []float64
	Low, High    []float64 // of coefficients, as the terms stand (bootstrap)
	SMAPE        float64   // leave-one-out, 0 to 2
	AdjustedR2   float64   // of relative values; 0 for a constant
	Noise        float64   // relative standard deviation of repeats; NaN without repeats
	Agreement    float64   // share of bootstrap samples with the same leading terms
	Level        float64
	Points       []Point // sorted, repeats of the same place together
	draws        []draw
	noise        []float64 // relative deviations of single measurements
}

// draw is a model of a bootstrap sample.
type draw struct {
	terms []Term
	c     []float64
	noise float64
}

// Fit finds the model of points. Their order does not matter.
func Fit(points []Point, opt Options) (*Model, error) {
	refuse := func(format string, args ...any) (*Model, error) {
		return nil, &RefusedError{opt.Name, fmt.Sprintf(format, args...)}
	}
	points, err := merge(points, &opt)
	if err != nil {
		return refuse("%v", err)
	}
	m := &Model{Name: opt.Name, Parameters: opt.Parameters, Unit: opt.Unit, Level: opt.Level, Points: points}
	at, y := make([][]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		at[i], y[i] = p.At, median(p.Values)
	}
	for p, name := range opt.Parameters {
		if n := len(distinct(points, p)); n < FewestPoints {
			return refuse("%s has %d values: a model needs %d or more", name, n, FewestPoints)
		}
		if len(opt.Parameters) > 1 && len(lines(at, p, FewestPoints)) == 0 {
			return refuse("%s never has %d values while the other parameters stand still", name, FewestPoints)
		}
	}
	var known spread
	m.noise, m.Noise, known = noise(points)
	if m.Noise > opt.MaxNoise {
		return refuse("repeats differ by %.0f %% (relative standard deviation): at most %.0f %% is taken. Measure on a quiet machine, or longer, or take the fastest repeats (Options.Fastest)", 100*m.Noise, 100*opt.MaxNoise)
	}
	d := newDesign(at, y)
	var hs []hypothesis
	if len(opt.Parameters) == 1 {
		hs = d.single(opt.Exponents.terms(0), opt.Terms)
	} else {
		var cs [][]Term
		for p := range opt.Parameters {
			cs = append(cs, candidates(at, y, p, FewestPoints, opt.Exponents.terms(p)))
		}
		hs = d.combined(cs)
	}
	best, ok := d.pick(slices.Clone(hs), known)
	if !ok {
		return refuse("no hypothesis fits")
	}
	if best.loss > worstFit {
		return refuse("the best hypothesis misses left-out points by %.0f %% (SMAPE): something besides %v matters, or the exponents do not suit (Shrinking, for times that fall)", 100*best.loss, opt.Parameters)
	}
	m.Terms, m.Coefficients, m.SMAPE = best.terms, best.c, best.loss
	m.AdjustedR2 = d.adjustedR2(best)
	m.bootstrap(d, hs, best, known, opt)
	return m, nil
}

func (d *design) adjustedR2(h hypothesis) float64 {
	_, constant, _, ok := d.fit([]Term{nil})
	n, k := float64(len(d.y)), float64(len(h.terms))
	if !ok || k == 1 || n <= k {
		return 0
	}
	return 1 - dot(h.residuals, h.residuals)/(n-k)/(dot(constant, constant)/(n-1))
}

// merge checks points, puts repeats of one place together and sorts them.
func merge(points []Point, opt *Options) ([]Point, error) {
	if len(points) == 0 {
		return nil, fmt.Errorf("there are no points")
	}
	if len(opt.Exponents.Powers) == 0 {
		opt.Exponents = Growing()
	}
	if err := opt.Exponents.check(); err != nil {
		return nil, err
	}
	opt.Terms, opt.MaxNoise, opt.Level, opt.Draws = cmp.Or(opt.Terms, 2), cmp.Or(opt.MaxNoise, 0.25), cmp.Or(opt.Level, 0.95), cmp.Or(opt.Draws, 200)
	if opt.Terms < 1 || opt.Terms > 2 || opt.Draws < 20 || opt.Draws > 100_000 || !(opt.Level > 0 && opt.Level < 1) {
		return nil, fmt.Errorf("%d terms, %d bootstrap samples, level %g: give 1 or 2, 20 to 100000, and a level between 0 and 1", opt.Terms, opt.Draws, opt.Level)
	}
	k := len(points[0].At)
	if len(opt.Parameters) == 0 {
		for i := range k {
			opt.Parameters = append(opt.Parameters, fmt.Sprintf("p%d", i+1))
		}
		if k == 1 {
			opt.Parameters = []string{"p"}
		}
	}
	if k < 1 || k > 3 || len(opt.Parameters) != k {
		return nil, fmt.Errorf("points have %d parameters and %d have names: models have 1 to 3", k, len(opt.Parameters))
	}
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b Point) int { return slices.Compare(a.At, b.At) })
	var out []Point
	for _, p := range sorted {
		if len(p.At) != k {
			return nil, fmt.Errorf("a point has %d parameters, others have %d", len(p.At), k)
		}
		for i, v := range p.At {
			if !(v >= 1) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("%s is %g: parameters are 1 or more (logarithms of less are negative); use a smaller unit", opt.Parameters[i], v)
			}
		}
		for _, v := range p.Values {
			if !(v > 0) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("a value at %v is %g: values are above 0", p.At, v)
			}
		}
		if len(p.Values) == 0 {
			continue
		}
		if n := len(out); n > 0 && slices.Equal(out[n-1].At, p.At) {
			out[n-1].Values = append(slices.Clone(out[n-1].Values), p.Values...)
			out[n-1].Evidence = append(slices.Clone(out[n-1].Evidence), p.Evidence...)
			continue
		}
		out = append(out, p)
	}
	for i := range out {
		out[i].Values = slices.Sorted(slices.Values(out[i].Values))
		if opt.Fastest {
			out[i].Values = out[i].Values[:1]
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no point has a value")
	}
	return out, nil
}

func distinct(points []Point, parameter int) []float64 {
	var vs []float64
	for _, p := range points {
		vs = append(vs, p.At[parameter])
	}
	slices.Sort(vs)
	return slices.Compact(vs)
}

// median of sorted values.
func median(s []float64) float64 {
	if n := len(s); n%2 == 0 {
		return s[n/2-1]/2 + s[n/2]/2
	}
	return s[len(s)/2]
}

// noise is how single measurements deviate from the median of their point, in
// shares of it, over all points, the standard deviation of that, and what it
// makes of the medians.
func noise(points []Point) (deviations []float64, std float64, of spread) {
	square, freedom := 0.0, 0
	for _, p := range points {
		r := len(p.Values)
		if r < 2 {
			continue
		}
		mid := median(p.Values)
		freedom += r - 1
		for _, v := range p.Values {
			e := v/mid - 1
			square += e * e
			deviations = append(deviations, e*math.Sqrt(float64(r)/float64(r-1)))
		}
	}
	if freedom == 0 {
		return nil, math.NaN(), of
	}
	std = math.Sqrt(square / float64(freedom))
	of.freedom = freedom
	for _, p := range points {
		// Of normal noise, a median of three or more has 1.2533 times the standard
		// error of the mean.
		r := float64(len(p.Values))
		e := std / math.Sqrt(r)
		if r > 2 {
			e *= math.Sqrt(math.Pi / 2)
		}
		of.std = append(of.std, e)
	}
	return deviations, std, of
}

// At is the value of the formula.
func (m *Model) At(p ...float64) float64 { return value(m.Terms, m.Coefficients, p) }

func value(terms []Term, c, p []float64) (sum float64) {
	for i, t := range terms {
		sum += c[i] * t.at(p)
	}
	return sum
}

// Leading are the terms that decide how the model grows: those that no other
// term outgrows in all parameters. A model without growth has none.
func (m *Model) Leading() []Term { return leading(m.Terms) }

func leading(terms []Term) []Term {
	var out []Term
	for _, t := range terms[1:] {
		if !slices.ContainsFunc(terms, func(o Term) bool { return dominated(t, o, max(parameters(terms), 1)) }) {
			out = append(out, t)
		}
	}
	return out
}

// Constant reports that the model does not depend on its parameters.
func (m *Model) Constant() bool { return len(m.Terms) == 1 }
