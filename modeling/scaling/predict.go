package scaling

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
)

// shortlist is how many hypotheses are tried again in each bootstrap sample:
// the best ones. With them the interval of a prediction contains that another
// hypothesis might have been picked.
const shortlist = 30

// bootstrap draws models of samples that could have been measured: the fitted
// values with deviations drawn from those of all repeats (without repeats,
// from the residuals). Where the model misses the points by more than the
// repeats' noise explains, deviations are enlarged by that factor.
func (m *Model) bootstrap(d *design, hs []hypothesis, best hypothesis, known spread, opt Options) {
	hs = slices.Clone(hs)
	sort.SliceStable(hs, func(i, j int) bool { return hs[i].loss < hs[j].loss })
	var tried [][]Term
	for _, h := range hs[:min(len(hs), shortlist)] {
		tried = append(tried, h.terms)
	}
	tried = append(tried, best.terms)
	rng := rand.New(rand.NewPCG(opt.Seed, 0x5ca1ab1e))
	n, k := len(d.y), len(best.terms)
	free := math.Sqrt(float64(n) / float64(max(1, n-k)))
	residuals := make([]float64, n)
	for i, r := range best.residuals {
		residuals[i] = -r / (1 + r) * free // measured / predicted - 1
	}
	deviations := m.noise
	if deviations == nil {
		deviations = residuals
	}
	repeat := func(i int) float64 {
		r := 1
		if m.noise != nil {
			r = len(m.Points[i].Values)
		}
		vs := make([]float64, r)
		for j := range vs {
			vs[j] = deviations[rng.IntN(len(deviations))]
		}
		slices.Sort(vs)
		return median(vs)
	}
	enlarge := 1.0
	if m.noise != nil {
		var expected float64
		const samples = 20
		for range samples {
			for i := range n {
				e := repeat(i)
				expected += e * e / samples
			}
		}
		if expected > 0 {
			enlarge = max(1, norm(residuals)/math.Sqrt(expected))
		} else if norm(residuals) > 0 {
			deviations = residuals // repeats that are all the same, counts
		}
	}
	same := 0
	coefficients := make([][]float64, k)
	y := make([]float64, n)
	lead := leading(best.terms)
	for range opt.Draws {
		for i := range y {
			y[i] = d.y[i] * (1 + best.residuals[i]) * (1 + max(-0.95, enlarge*repeat(i)))
		}
		s := d.with(slices.Clone(y))
		var again []hypothesis
		for _, ts := range tried {
			if h, ok := s.try(ts); ok {
				again = append(again, h)
			}
		}
		if h, ok := s.pick(again, known); ok {
			m.draws = append(m.draws, draw{h.terms, h.c, deviations[rng.IntN(len(deviations))]})
			if sameTerms(leading(h.terms), lead) {
				same++
			}
		}
		if c, _, _, ok := s.fit(best.terms); ok {
			for j := range c {
				coefficients[j] = append(coefficients[j], c[j])
			}
		}
	}
	m.Agreement = float64(same) / float64(opt.Draws)
	for _, cs := range coefficients {
		low, high := interval(cs, opt.Level)
		m.Low, m.High = append(m.Low, low), append(m.High, high)
	}
}

func sameTerms(a, b []Term) bool {
	return slices.EqualFunc(a, b, func(s, t Term) bool { return s.key() == t.key() })
}

// interval is the middle part of values.
func interval(vs []float64, level float64) (low, high float64) {
	if len(vs) == 0 {
		return math.NaN(), math.NaN()
	}
	s := slices.Sorted(slices.Values(vs))
	return stat.Quantile((1-level)/2, stat.LinInterp, s, nil), stat.Quantile((1+level)/2, stat.LinInterp, s, nil)
}

// Prediction is what a model says of one place.
type Prediction struct {
	At        []float64
	Value     float64
	Low, High float64 // confidence interval of the kernel's median time
	// MeasuredLow and MeasuredHigh hold a single measurement.
	MeasuredLow, MeasuredHigh float64
	// Beyond is how many times further than the points this is, the most over
	// parameters, up or down; 1 is inside. Far outside, the interval knows only
	// the hypotheses: not caches, networks or phases that begin there.
	Beyond float64
	Unit   string
}

// Predict evaluates the model with its interval.
func (m *Model) Predict(at ...float64) (Prediction, error) {
	p := Prediction{At: at, Unit: m.Unit, Beyond: 1}
	if len(at) != len(m.Parameters) {
		return p, fmt.Errorf("predicting %s: %d values for the parameters %v", m.Name, len(at), m.Parameters)
	}
	for i, v := range at {
		if !(v >= 1) || math.IsInf(v, 0) {
			return p, fmt.Errorf("predicting %s: %s is %g, and must be 1 or more", m.Name, m.Parameters[i], v)
		}
		vs := distinct(m.Points, i)
		p.Beyond = max(p.Beyond, v/vs[len(vs)-1], vs[0]/v)
	}
	p.Value = m.At(at...)
	var mean, single []float64
	for _, d := range m.draws {
		v := value(d.terms, d.c, at)
		mean, single = append(mean, v), append(single, v*(1+d.noise))
	}
	p.Low, p.High = interval(mean, m.Level)
	p.MeasuredLow, p.MeasuredHigh = interval(single, m.Level)
	return p, nil
}
