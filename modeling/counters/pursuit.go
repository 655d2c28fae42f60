package counters

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// pursuit is an orthogonal matching pursuit of y by columns, over rows that
// have weights (how often each was drawn). It keeps an orthonormal basis of
// the chosen columns and, for the others, the length of what the basis leaves
// of them, so that a step costs two products per column.
type pursuit struct {
	columns [][]float64 // standardised
	weights []float64
	wsum    float64
	left    []float64   // per column: squared length of what the basis leaves of it
	full    []float64   // per column: squared length at first
	along   [][]float64 // per column: products with the basis
	basis   [][]float64
	r       []float64 // residual
	wr      []float64 // weights times residual
	total   float64   // sum of squares of y
	rss     float64
	chosen  []int
	triang  [][]float64 // of each chosen column: its products with the basis
	onto    []float64   // products of y with the basis
}

// negligible is the part of a column's variance below which it lies in the
// span of those chosen.
const negligible = 1e-6

// explained is the part of the target's variance below which what is left is
// rounding.
const explained = 1e-9

func newPursuit(columns [][]float64, y, weights []float64) *pursuit {
	p := &pursuit{columns: columns, weights: weights, wsum: floats.Sum(weights), left: make([]float64, len(columns)), along: make([][]float64, len(columns))}
	p.r = p.centred(y)
	p.wr = make([]float64, len(y))
	p.weigh()
	p.total = p.rss
	buf := make([]float64, len(y))
	for j, x := range columns {
		floats.MulTo(buf, x, weights)
		mean := floats.Sum(buf) / p.wsum
		p.left[j] = math.Max(0, floats.Dot(buf, x)-mean*mean*p.wsum)
	}
	p.full = slices.Clone(p.left)
	return p
}

// centred is v less its weighted mean.
func (p *pursuit) centred(v []float64) []float64 {
	c := slices.Clone(v)
	floats.AddConst(-floats.Dot(v, p.weights)/p.wsum, c)
	return c
}

func (p *pursuit) weigh() {
	floats.MulTo(p.wr, p.r, p.weights)
	p.rss = floats.Dot(p.wr, p.r)
}

// gain is by how much column j would lessen the sum of squares, 0 if it lies
// in the span of the chosen ones.
func (p *pursuit) gain(j int) float64 {
	if p.left[j] <= negligible*math.Max(p.full[j], 1e-300) || slices.Contains(p.chosen, j) {
		return 0
	}
	dot := floats.Dot(p.columns[j], p.wr) // the residual is centred and orthogonal to the basis
	return dot * dot / p.left[j]
}

// take chooses column j and returns by how much the sum of squares fell.
func (p *pursuit) take(j int) float64 {
	q := p.centred(p.columns[j])
	tri := make([]float64, 0, len(p.basis)+1)
	wq := make([]float64, len(q))
	products := make([]float64, len(p.basis))
	for range 2 { // twice is enough for orthogonality (Kahan and Parlett)
		for i, b := range p.basis {
			floats.MulTo(wq, q, p.weights)
			d := floats.Dot(wq, b)
			products[i] += d
			floats.AddScaled(q, -d, b)
		}
	}
	floats.MulTo(wq, q, p.weights)
	norm := math.Sqrt(floats.Dot(wq, q))
	floats.Scale(1/norm, q)
	floats.Scale(1/norm, wq)
	p.triang = append(p.triang, append(append(tri, products...), norm))
	d := floats.Dot(wq, p.r)
	p.onto = append(p.onto, d)
	floats.AddScaled(p.r, -d, q)
	before := p.rss
	p.weigh()
	p.basis, p.chosen = append(p.basis, q), append(p.chosen, j)
	for k, x := range p.columns {
		if p.full[k] > 0 {
			a := floats.Dot(wq, x)
			p.left[k] = math.Max(0, p.left[k]-a*a)
		}
	}
	return before - p.rss
}

// coefficients are those of the chosen columns in the least-squares fit.
func (p *pursuit) coefficients() []float64 {
	k := len(p.chosen)
	if k == 0 {
		return nil
	}
	r := mat.NewTriDense(k, mat.Upper, nil)
	for j, col := range p.triang {
		for i, v := range col {
			r.SetTri(i, j, v)
		}
	}
	var c mat.VecDense
	if err := c.SolveVec(r, mat.NewVecDense(k, slices.Clone(p.onto))); err != nil {
		return make([]float64, k) // ill-conditioned: no sign to speak of
	}
	return c.RawVector().Data
}

// trace is what one member of the ensemble found.
type trace struct {
	offered []int
	chosen  []int
	drops   []float64 // fall of the residual variance at each step, as a part of the variance of y
	coefs   []float64
}

// candidate is a column with its gain.
type candidate struct {
	j    int
	gain float64
}

// member runs one pursuit on a bootstrap sample of the units and a random part
// of the columns.
func (p *prepared) member(o *Options, number uint64) trace {
	rng := rand.New(rand.NewPCG(o.Seed, number))
	weights := make([]float64, p.rows)
	for range p.units {
		for _, r := range p.units[rng.IntN(len(p.units))] {
			weights[r]++
		}
	}
	n := len(p.columns)
	offered := rng.Perm(n)[:min(n, max(int(math.Ceil(o.Columns*float64(n))), o.K))]
	slices.Sort(offered)
	columns := make([][]float64, len(offered))
	for i, j := range offered {
		columns[i] = p.columns[j].z
	}
	m := newPursuit(columns, p.y, weights)
	t := trace{offered: offered}
	distinct := 0.0
	for _, u := range p.units {
		if weights[u[0]] > 0 {
			distinct++
		}
	}
	if m.total <= 0 {
		return t
	}
	for len(m.chosen) < o.Steps {
		best := m.best(o.Best)
		if m.rss <= explained*m.total || len(best) == 0 || !significant(best[0].gain, m.rss, distinct, len(offered)) {
			break
		}
		j := draw(best, rng)
		t.drops = append(t.drops, m.take(j)/m.total)
	}
	for _, j := range m.chosen {
		t.chosen = append(t.chosen, offered[j])
	}
	t.coefs = m.coefficients()
	return t
}

// best are the candidates with the largest gains, in falling order. Gains that
// are equal but for rounding keep the columns' order.
func (p *pursuit) best(count int) []candidate {
	all := make([]candidate, 0, len(p.columns))
	for j := range p.columns {
		if g := p.gain(j); g > 0 {
			all = append(all, candidate{j, g})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		if math.Abs(a.gain-b.gain) <= 1e-9*math.Max(a.gain, b.gain) {
			return a.j - b.j
		}
		if a.gain > b.gain {
			return -1
		}
		return 1
	})
	return all[:min(len(all), max(count, 1))]
}

// draw picks a candidate with a probability in proportion to its gain.
func draw(cs []candidate, rng *rand.Rand) int {
	sum := 0.0
	for _, c := range cs {
		sum += c.gain
	}
	at := rng.Float64() * sum
	for _, c := range cs {
		if at -= c.gain; at < 0 {
			return c.j
		}
	}
	return cs[0].j
}

// significant says whether a gain is more than the best of p columns of noise
// would give: n log(rss / (rss - gain)) > 2 log p, and more than rounding.
func significant(gain, rss, n float64, p int) bool {
	if rss <= 0 || gain <= 1e-12*rss {
		return false
	}
	if gain >= rss {
		return true
	}
	return -n*math.Log1p(-gain/rss) > math.Max(2*math.Log(float64(p)), 2)
}
