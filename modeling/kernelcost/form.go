package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// Symbols of forms: local ids, group ids, and positions in the loops around.
const (
	loopSymbol = 6
	symbols    = 10
)

// form is an integer as a function of symbols: c + sum of k[i] times symbol i
// where op is empty, else op applied to a and b.
type form struct {
	op   string
	c    int64
	k    [symbols]int64
	a, b *form
	size int
}

// deepestForm limits how many operations a form keeps.
const deepestForm = 24

func (f *form) affine() bool   { return f.op == "" }
func (f *form) constant() bool { return f.op == "" && f.k == [symbols]int64{} }

// combine is a op b, nil where that is kept no longer.
func combine(op string, a, b *form) *form {
	if a == nil || b == nil {
		return nil
	}
	if a.affine() && b.affine() {
		switch {
		case op == "+" || op == "-":
			r := *a
			s := int64(1)
			if op == "-" {
				s = -1
			}
			r.c += s * b.c
			for i := range r.k {
				r.k[i] += s * b.k[i]
			}
			return &r
		case op == "*" && (a.constant() || b.constant()):
			if a.constant() {
				a, b = b, a
			}
			r := *a
			r.c *= b.c
			for i := range r.k {
				r.k[i] *= b.c
			}
			return &r
		case op == "<<" && b.constant() && b.c >= 0 && b.c < 40:
			return combine("*", a, &form{c: 1 << b.c})
		}
	}
	if n := a.size + b.size + 1; n <= deepestForm {
		return &form{op: op, a: a, b: b, size: n}
	}
	return nil
}

// eval is the value for values of the symbols.
func (f *form) eval(at *[symbols]int64) (int64, bool) {
	if f.op == "" {
		v := f.c
		for i, k := range f.k {
			if k != 0 {
				v += k * at[i]
			}
		}
		return v, true
	}
	a, ok := f.a.eval(at)
	if !ok {
		return 0, false
	}
	b, ok := f.b.eval(at)
	if !ok {
		return 0, false
	}
	switch f.op {
	case "min":
		return min(a, b), true
	case "max":
		return max(a, b), true
	}
	return csource.Fold(f.op, a, b)
}

// walk calls visit for each affine part.
func (f *form) walk(visit func(*form)) {
	if f.op == "" {
		visit(f)
		return
	}
	f.a.walk(visit)
	f.b.walk(visit)
}

// axis is a quantity that a form depends on: a global, local or group id of a
// dimension, or a loop's position.
type axis int8

// Axes: global ids 0 to 2, local 3 to 5, group 6 to 8, loops from 9 on.
const (
	globalAxis = 0
	localAxis  = 3
	groupAxis  = 6
	loopAxis   = 9
	axes       = loopAxis + symbols - loopSymbol
)

// axesOf are the axes that a form depends on, not ok where in one dimension
// local and group ids do not go together.
func (g *geometry) axesOf(f *form) (list [symbols]axis, n int, ok bool) {
	var seen [axes]bool
	ok = true
	f.walk(func(p *form) {
		for d := range 3 {
			l, w := p.k[d], p.k[3+d]
			switch {
			case l == 0 && w == 0:
			case w == l*g.local[d]:
				seen[globalAxis+d] = true
			case w == 0:
				seen[localAxis+d] = true
			case l == 0:
				seen[groupAxis+d] = true
			default:
				ok = false
			}
		}
		for i := loopSymbol; i < symbols; i++ {
			if p.k[i] != 0 {
				seen[loopAxis+i-loopSymbol] = true
			}
		}
	})
	for d := range 3 {
		if (seen[d] && (seen[3+d] || seen[6+d])) || seen[3+d] && seen[6+d] {
			ok = false
		}
	}
	for i, s := range seen {
		if s && n < symbols {
			list[n] = axis(i)
			n++
		}
	}
	return list, n, ok
}

// put sets an axis to a value.
func (g *geometry) put(at *[symbols]int64, x axis, v int64) {
	switch {
	case x < localAxis:
		at[x] = v % g.local[x]
		at[3+x] = v / g.local[x]
	case x < groupAxis:
		at[x-localAxis] = v
	case x < loopAxis:
		at[x-groupAxis+3] = v
	default:
		at[x-loopAxis+loopSymbol] = v
	}
}

// coefficient is that of an affine form along an axis.
func (f *form) coefficient(x axis) int64 {
	switch {
	case x < localAxis:
		return f.k[x]
	case x < groupAxis:
		return f.k[x-localAxis]
	case x < loopAxis:
		return f.k[x-groupAxis+3]
	}
	return f.k[x-loopAxis+loopSymbol]
}

// period is the least number after which a form repeats along its only axis,
// 0 where that is not known.
func (f *form) period(x axis) int64 {
	if f.op == "" {
		if f.coefficient(x) == 0 {
			return 1
		}
		return 0
	}
	if f.a.affine() && f.b.constant() && f.a.coefficient(x) != 0 {
		k := max(f.a.coefficient(x), -f.a.coefficient(x))
		switch {
		case f.op == "%" && f.b.c > 0:
			return f.b.c / gcd(f.b.c, k)
		case f.op == "&" && f.b.c >= 0 && f.b.c < inf/4:
			m := ones(f.b.c) + 1
			return m / gcd(m, k)
		}
		return 0
	}
	p, q := f.a.period(x), f.b.period(x)
	if p == 0 || q == 0 {
		return 0
	}
	if l := p / gcd(p, q); l < 1<<30/q {
		return l * q
	}
	return 0
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, 1)
}

// mostTried is how many values a count tries at most.
const mostTried = 4096

// share is the part of the values within ranges for which a form is not 0;
// exact tells that none was left out. Not ok where it cannot be told.
func (g *geometry) share(f *form, in *ranges) (p float64, exact, ok bool) {
	list, n, ok := g.axesOf(f)
	if !ok || n > 2 {
		return 0, false, false
	}
	var at [symbols]int64
	if n == 0 {
		v, ok := f.eval(&at)
		if !ok {
			return 0, false, false
		}
		if v != 0 {
			return 1, true, true
		}
		return 0, true, true
	}
	if n == 1 {
		return g.along(f, list[0], in.axis[list[0]], &at)
	}
	// Two axes: one is tried, along the other the share is computed.
	x, y := list[0], list[1]
	if in.axis[x].hi-in.axis[x].lo > in.axis[y].hi-in.axis[y].lo {
		x, y = y, x
	}
	r := in.axis[x]
	count := r.hi - r.lo + 1
	if count <= 0 {
		return 0, false, false
	}
	tries := min(count, 64)
	exact = tries == count
	sum := 0.0
	for i := range tries {
		v := r.lo + i
		if !exact {
			v = r.lo + int64((float64(i)+0.5)/float64(tries)*float64(count))
		}
		g.put(&at, x, v)
		q, e, ok := g.along(f, y, in.axis[y], &at)
		if !ok {
			return 0, false, false
		}
		exact = exact && e
		sum += q
	}
	return sum / float64(tries), exact, true
}

// along is the share along one axis, the others being fixed.
func (g *geometry) along(f *form, x axis, r interval, at *[symbols]int64) (p float64, exact, ok bool) {
	count := r.hi - r.lo + 1
	if r.empty() || count <= 0 || count > inf/4 {
		return 0, false, false
	}
	true1 := func(v int64) (bool, bool) {
		g.put(at, x, v)
		n, ok := f.eval(at)
		return n != 0, ok
	}
	span := func(from, n int64) (hits int64, ok bool) {
		for v := from; v < from+n; v++ {
			yes, ok := true1(v)
			if !ok {
				return 0, false
			}
			if yes {
				hits++
			}
		}
		return hits, true
	}
	if f.op != "" && f.a.affine() && f.b.affine() && isOrder(f.op) {
		// Monotone: the border is found by halving.
		first, ok1 := true1(r.lo)
		last, ok2 := true1(r.hi)
		if !ok1 || !ok2 {
			return 0, false, false
		}
		if first == last {
			if first {
				return 1, true, true
			}
			return 0, true, true
		}
		lo, hi := r.lo, r.hi // lo as first, hi as last
		for hi-lo > 1 {
			m := lo + (hi-lo)/2
			if yes, _ := true1(m); yes == first {
				lo = m
			} else {
				hi = m
			}
		}
		n := hi - r.lo
		if !first {
			n = r.hi - hi + 1
		}
		return float64(n) / float64(count), true, true
	}
	if count <= mostTried {
		hits, ok := span(r.lo, count)
		return float64(hits) / float64(count), true, ok
	}
	if q := f.period(x); q > 0 && q <= mostTried {
		each, ok := span(r.lo, q)
		if !ok {
			return 0, false, false
		}
		rest, ok := span(r.lo, count%q)
		return (float64(each)*float64(count/q) + float64(rest)) / float64(count), true, ok
	}
	if f.op == "==" || f.op == "!=" {
		if f.a.affine() && f.b.affine() {
			d := combine("-", f.a, f.b)
			k := d.coefficient(x)
			g.put(at, x, 0)
			c, _ := d.eval(at)
			hit := 0.0
			if k != 0 && c%k == 0 && -c/k >= r.lo && -c/k <= r.hi {
				hit = 1
			}
			if f.op == "!=" {
				hit = float64(count) - hit
			}
			return hit / float64(count), true, true
		}
	}
	hits := 0
	const tries = 256
	for i := range tries {
		yes, ok := true1(r.lo + int64((float64(i)+0.5)/tries*float64(count)))
		if !ok {
			return 0, false, false
		}
		if yes {
			hits++
		}
	}
	return float64(hits) / tries, false, true
}

func isOrder(op string) bool { return op == "<" || op == ">" || op == "<=" || op == ">=" }

// meanTrips is the mean over an axis of max(0, ceil(d / step)) for an affine d,
// step > 0, by Euclid's algorithm on floors (Knuth, Concrete Mathematics 3.5).
func (g *geometry) meanTrips(d *form, step int64, in *ranges) (float64, bool) {
	list, n, ok := g.axesOf(d)
	if !ok || n != 1 || !d.affine() {
		return 0, false
	}
	x := list[0]
	r := in.axis[x]
	count := r.hi - r.lo + 1
	if r.empty() || count > 1<<40 {
		return 0, false
	}
	k := d.coefficient(x)
	at := [symbols]int64{}
	g.put(&at, x, r.lo)
	c, _ := d.eval(&at)
	if k < 0 { // run the axis backwards
		c += k * (count - 1)
		k = -k
	}
	if c > 1<<40 || c < -1<<40 || k > 1<<30 || step > 1<<40 {
		return 0, false
	}
	// max(0, .): skip those with d <= 0.
	from := int64(0)
	if c <= 0 {
		from = -c/k + 1
	}
	if from >= count {
		return 0, true
	}
	c += k * from
	m := count - from
	sum := floorSum(m, step, k, c+step-1)
	return sum / float64(count), true
}

// floorSum is the sum over i in [0, n) of floor((a i + b) / m).
func floorSum(n, m, a, b int64) float64 {
	sum := 0.0
	for range 200 {
		if a >= m {
			sum += float64(n) * float64(n-1) / 2 * float64(a/m)
			a %= m
		}
		if b >= m {
			sum += float64(n) * float64(b/m)
			b %= m
		}
		if n <= 0 || a > 0 && n > (inf-b)/a {
			return sum + float64(n)*(float64(n-1)*float64(a)/2+float64(b)-float64(m-1)/2)/float64(m)
		}
		last := a*n + b
		if last < m {
			return sum
		}
		n, b = last/m, last%m
		m, a = a, m
	}
	return sum
}

// mean is the mean over the ranges of max(0, ceil(d / step)); sure tells that it
// is exact.
func (g *geometry) mean(d *form, step int64, in *ranges) (m float64, sure, ok bool) {
	if m, ok := g.meanTrips(d, step, in); ok {
		return m, true, true
	}
	list, n, ok := g.axesOf(d)
	if !ok || n != 1 {
		return 0, false, false
	}
	r := in.axis[list[0]]
	count := r.hi - r.lo + 1
	if r.empty() || count <= 0 {
		return 0, false, false
	}
	tries := min(count, mostTried/4)
	var at [symbols]int64
	sum := 0.0
	for i := range tries {
		v := r.lo + i
		if tries < count {
			v = r.lo + int64((float64(i)+0.5)/float64(tries)*float64(count))
		}
		g.put(&at, list[0], v)
		n, ok := d.eval(&at)
		if !ok {
			return 0, false, false
		}
		if n > 0 {
			sum += float64(ceilDiv(n, step))
		}
	}
	return sum / float64(tries), tries == count, true
}
