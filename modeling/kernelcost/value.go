package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// knowledge is what is known of an integer for the sampled work-items.
type knowledge uint8

const (
	unknown knowledge = iota
	uniform           // the same for all work-items of the launch
	varying           // by work-item
)

// value is the value of an expression. Values are never changed once made.
type value struct {
	t      *csource.Type
	k      knowledge
	u      int64   // of all work-items
	v      []int64 // by lane
	in     interval
	form   *form
	loaded bool // depends on what memory holds

	number  float64 // of floating type, where hasNumber
	has     bool
	obj     *object // what a pointer points into; its offset in bytes is u, v, in and form
	depth   float64 // operations on the longest chain that leads here
	chain   float64 // loads on it
	product bool    // is a product that an addition could take in
	fill    *Fill   // what it is one of, where it was loaded as it is
}

var (
	tInt    = &csource.Type{Class: csource.Integer, Bytes: 4, Width: 1, Name: "int"}
	tUint   = &csource.Type{Class: csource.Integer, Bytes: 4, Width: 1, Unsigned: true, Name: "uint"}
	tLong   = &csource.Type{Class: csource.Integer, Bytes: 8, Width: 1, Name: "long"}
	tSize   = &csource.Type{Class: csource.Integer, Bytes: 8, Width: 1, Unsigned: true, Name: "size_t"}
	tFloat  = &csource.Type{Class: csource.Floating, Bytes: 4, Width: 1, Name: "float"}
	tDouble = &csource.Type{Class: csource.Floating, Bytes: 8, Width: 1, Name: "double"}
)

func constant(n int64, t *csource.Type) *value {
	return &value{t: t, k: uniform, u: n, in: point(n)}
}

func decimal(x float64, t *csource.Type) *value {
	return &value{t: t, number: x, has: true, in: all}
}

// anything is a value of which nothing is known but its type.
func anything(t *csource.Type, loaded bool) *value {
	v := &value{t: t, in: all, loaded: loaded}
	if t.Class == csource.Integer {
		v.in = rangeOf(t)
		if t.Unsigned {
			v.in.lo = 0
		}
	}
	return v
}

func (v *value) isFloat() bool { return v.t.Class == csource.Floating || v.t.Class == csource.Unknown }
func (v *value) isInt() bool   { return v.t.Class == csource.Integer }

// lane is the value in a lane, ok where it is known.
func (v *value) lane(l int) (int64, bool) {
	switch v.k {
	case uniform:
		return v.u, true
	case varying:
		return v.v[l], true
	}
	return 0, false
}

// symbolic is the value's form, nil where it has none.
func (v *value) symbolic() *form {
	if v.form != nil {
		return v.form
	}
	if v.k == uniform {
		return &form{c: v.u}
	}
	return nil
}

func width(t *csource.Type) int { return max(t.Width, 1) }

// usual is the type of a op b by C's conversions.
func usual(a, b *csource.Type) *csource.Type {
	w := max(width(a), width(b))
	var t *csource.Type
	switch {
	case a.Class == csource.Unknown && b.Class == csource.Unknown:
		t = a
	case a.Class == csource.Unknown || b.Class == csource.Unknown:
		// A type that nothing declares is taken for what it meets, floats first.
		t = a
		if a.Class == csource.Unknown && (b.Class == csource.Floating) {
			t = b
		} else if b.Class == csource.Unknown && a.Class != csource.Floating {
			t = b
		}
	case a.Class == csource.Floating || b.Class == csource.Floating:
		switch {
		case a.Class != csource.Floating:
			t = b
		case b.Class != csource.Floating:
			t = a
		case b.Bytes > a.Bytes && width(a) <= width(b):
			t = b
		case a.Bytes >= b.Bytes || width(a) > width(b):
			t = a
		default:
			t = b
		}
	case w > 1:
		t = a
		if width(b) > width(a) {
			t = b
		}
	default:
		n := max(a.Bytes, b.Bytes, 4)
		unsigned := a.Unsigned && a.Bytes == n || b.Unsigned && b.Bytes == n
		switch {
		case n == 4 && unsigned:
			return tUint
		case n == 4:
			return tInt
		case unsigned:
			return tSize
		}
		return tLong
	}
	if width(t) != w {
		c := *t
		c.Width = w
		t = &c
	}
	return t
}

// scalar is a vector's element type.
func scalar(t *csource.Type) *csource.Type {
	if width(t) == 1 {
		return t
	}
	return lanesOf(t, 1)
}

func lanesOf(t *csource.Type, w int) *csource.Type {
	if width(t) == w {
		return t
	}
	c := *t
	c.Width = w
	return &c
}

// integers is a op b of integers in type t, lanes, range and form together.
func (r *run) integers(op string, a, b *value, t *csource.Type) *value {
	out := &value{t: t, loaded: a.loaded || b.loaded, depth: max(a.depth, b.depth), chain: max(a.chain, b.chain)}
	var in interval
	switch op {
	case "min":
		in = interval{min(a.in.lo, b.in.lo), min(a.in.hi, b.in.hi)}
	case "max":
		in = interval{max(a.in.lo, b.in.lo), max(a.in.hi, b.in.hi)}
	default:
		in = fold(op, a.in, b.in)
	}
	wide := rangeOf(t)
	fits := in.lo >= wide.lo && in.hi <= wide.hi
	kept := false
	if t.Unsigned && t.Bytes == 4 && (op == "+" || op == "-" || op == "*") && in.lo >= -1<<31 && in.hi < 1<<32 {
		fits, kept = true, true // below 0 for a while: gid - 1; wrapped where it is compared
	}
	if !fits {
		in = wide
	}
	out.in = in
	f := func(x, y int64) (int64, bool) {
		switch op {
		case "min":
			return min(x, y), true
		case "max":
			return max(x, y), true
		}
		n, ok := csource.Fold(op, x, y)
		if kept {
			return n, ok
		}
		return wrap(n, t), ok
	}
	switch {
	case a.k == unknown || b.k == unknown:
		return out
	case a.k == uniform && b.k == uniform:
		n, ok := f(a.u, b.u)
		if ok {
			out.k, out.u = uniform, n
			if n >= in.lo && n <= in.hi {
				out.in = point(n)
			}
			// A loop's position is the same for all, but not the same each time.
			if a.form != nil || b.form != nil {
				out.in = in
				out.form = combine(op, a.symbolic(), b.symbolic())
				if out.form != nil {
					r.tighten(out)
				}
			}
		}
		return out
	}
	v := r.alloc()
	for l := range v {
		x, _ := a.lane(l)
		y, _ := b.lane(l)
		n, ok := f(x, y)
		if !ok {
			n = 0
		}
		v[l] = n
	}
	out.k, out.v = varying, v
	if fits {
		out.form = combine(op, a.symbolic(), b.symbolic())
		r.tighten(out)
	}
	return out
}

// alloc is a slice of a number per lane, out of a chunk.
func (r *run) alloc() []int64 {
	n := r.lanes
	if len(r.chunk) < n {
		r.chunk = make([]int64, 64*n)
	}
	v := r.chunk[:n:n]
	r.chunk = r.chunk[n:]
	return v
}

// tighten narrows a value's range by its form and the ranges of the axes.
func (r *run) tighten(v *value) {
	if v.form == nil || !v.form.affine() {
		return
	}
	m := v.in.meet(r.span(v.form))
	if !m.empty() {
		v.in = m
	}
}

// span is the range of an affine form.
func (r *run) span(f *form) interval {
	in := point(f.c)
	rg := &r.now.in
	for d := range 3 {
		l, w := f.k[d], f.k[3+d]
		switch {
		case l == 0 && w == 0:
		case w == l*r.g.local[d]:
			in = in.add(rg.axis[globalAxis+d].mul(point(l)))
		default:
			in = in.add(rg.axis[localAxis+d].mul(point(l))).add(rg.axis[groupAxis+d].mul(point(w)))
		}
	}
	for i := loopSymbol; i < symbols; i++ {
		if f.k[i] != 0 {
			in = in.add(rg.axis[loopAxis+i-loopSymbol].mul(point(f.k[i])))
		}
	}
	return in
}

// convert is a value in another type, as an assignment does it.
func (r *run) convert(v *value, t *csource.Type) *value {
	if t.Class == csource.Floating && v.t.Class == csource.Floating && v.t.Bytes == t.Bytes && width(v.t) == width(t) {
		return v
	}
	if t.Class == csource.Integer && v.t.Class == csource.Integer {
		if v.t.Bytes == t.Bytes && v.t.Unsigned == t.Unsigned && width(v.t) == width(t) {
			return v
		}
		out := *v
		out.t = t
		out.product = false
		wide := rangeOf(t)
		if v.in.lo >= wide.lo && v.in.hi <= wide.hi {
			return &out
		}
		if t.Unsigned && t.Bytes == 4 && v.in.lo >= -1<<31 && v.in.hi < 1<<32 {
			return &out // see integers
		}
		out.form = nil
		out.in = wide
		switch v.k {
		case uniform:
			out.u = wrap(v.u, t)
			out.in = point(out.u)
			if v.form != nil {
				out.in = wide
			}
		case varying:
			out.v = r.alloc()
			for l := range out.v {
				out.v[l] = wrap(v.v[l], t)
			}
		}
		return &out
	}
	if t.Class == csource.Integer && v.has && width(t) == 1 {
		n := int64(v.number)
		if float64(n) == float64(int64(v.number)) && v.number > -1e15 && v.number < 1e15 {
			c := constant(wrap(n, t), t)
			c.depth = v.depth
			return c
		}
	}
	out := &value{t: t, in: all, loaded: v.loaded, depth: v.depth, chain: v.chain}
	switch {
	case t.Class == csource.Integer:
		out.in = rangeOf(t)
		if v.obj != nil || v.t.Class == csource.Pointer {
			break
		}
	case t.Class == csource.Pointer || t.Class == csource.Array:
		c := *v
		c.t = t
		return &c
	case v.has:
		out.number, out.has = v.number, true
	case v.k == uniform && v.isInt() && v.form == nil && t.Class != csource.Struct:
		out.number, out.has = float64(v.u), true
	}
	if t.Class == csource.Unknown && v.t.Class != csource.Unknown {
		// auto, or a name that nothing declares: what it is given.
		if v.isInt() && t.Name == "auto" || v.t.Class == csource.Pointer || v.t.Class == csource.Floating || v.t.Class == csource.Struct {
			return v
		}
		if v.isInt() {
			c := *v
			return &c
		}
	}
	return out
}

func rangeOrAll(t *csource.Type) interval {
	if t.Class == csource.Integer {
		return rangeOf(t)
	}
	return all
}
