package scaling

import "math"

// maxColumns is the most coefficients of a hypothesis.
const maxColumns = 4

// design holds the values of terms at all points, divided by the measured
// value there, so that least squares of the rows against 1 minimise relative
// errors: times of small and of large runs count alike, and measured noise is
// a share of the time.
type design struct {
	y       []float64
	points  [][]float64
	columns map[string][]float64
	terms   map[string][]float64 // not divided: designs of the same points share them
}

func newDesign(points [][]float64, y []float64) *design {
	return &design{y: y, points: points, columns: map[string][]float64{}, terms: map[string][]float64{}}
}

// with is the design of the same points with other values.
func (d *design) with(y []float64) *design {
	return &design{y: y, points: d.points, columns: map[string][]float64{}, terms: d.terms}
}

// column is a term over y at each point. It is kept, since hypotheses share
// terms.
func (d *design) column(t Term) []float64 {
	key := t.key()
	if c, ok := d.columns[key]; ok {
		return c
	}
	v, ok := d.terms[key]
	if !ok {
		v = make([]float64, len(d.points))
		for i, p := range d.points {
			v[i] = t.at(p)
		}
		d.terms[key] = v
	}
	c := make([]float64, len(v))
	for i := range v {
		c[i] = v[i] / d.y[i]
	}
	d.columns[key] = c
	return c
}

func (t Term) key() string {
	b := make([]byte, 0, 4*len(t))
	for _, f := range t {
		b = append(b, byte(f.Parameter), byte(f.Num), byte(f.Den), byte(f.Log))
	}
	return string(b)
}

// fit solves min |A c - 1| by modified Gram and Schmidt on columns of unit
// length and returns coefficients, relative residuals (predicted / measured -
// 1) and leverages. ok is false where columns are not independent.
func (d *design) fit(terms []Term) (c, residuals, leverage []float64, ok bool) {
	n, k := len(d.y), len(terms)
	if k > maxColumns || n < k {
		return nil, nil, nil, false
	}
	var q [maxColumns][]float64
	var r [maxColumns][maxColumns]float64
	var length, rhs [maxColumns]float64
	for j, t := range terms {
		a := d.column(t)
		length[j] = norm(a)
		if !(length[j] > 0) || math.IsInf(length[j], 0) {
			return nil, nil, nil, false
		}
		v := make([]float64, n)
		for i := range a {
			v[i] = a[i] / length[j]
		}
		for range 2 { // the second makes up for lost digits
			for m := range j {
				p := dot(q[m], v)
				r[m][j] += p
				for i := range v {
					v[i] -= p * q[m][i]
				}
			}
		}
		r[j][j] = norm(v)
		if r[j][j] < 1e-9 {
			return nil, nil, nil, false
		}
		for i := range v {
			v[i] /= r[j][j]
		}
		q[j] = v
	}
	residuals, leverage, c = make([]float64, n), make([]float64, n), make([]float64, k)
	for i := range residuals {
		residuals[i] = 1
	}
	for j := range k {
		rhs[j] = dot(q[j], residuals)
		for i := range residuals {
			residuals[i] -= rhs[j] * q[j][i]
			leverage[i] += q[j][i] * q[j][i]
		}
	}
	for j := k - 1; j >= 0; j-- {
		v := rhs[j]
		for m := j + 1; m < k; m++ {
			v -= r[j][m] * c[m] * length[m]
		}
		c[j] = v / r[j][j] / length[j]
	}
	for i := range residuals {
		residuals[i] = -residuals[i]
	}
	return c, residuals, leverage, true
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

func norm(a []float64) float64 { return math.Sqrt(dot(a, a)) }
