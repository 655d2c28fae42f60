package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

func (r *run) unary(s *state, e *csource.Unary) *value {
	switch e.Op {
	case "*":
		p, t := r.place(s, e)
		return r.read(s, p, t, e.ID, e.Pos)
	case "&":
		p, t := r.place(s, e.X)
		if p == nil {
			v := r.eval(s, e.X)
			if v.obj != nil {
				return v
			}
			o := newObject("&", csource.Private, v.t)
			return &value{t: &csource.Type{Class: csource.Pointer, Elem: v.t, Bytes: 8, Width: 1}, in: all, obj: o}
		}
		c := *p
		c.t = &csource.Type{Class: csource.Pointer, Elem: t, Bytes: 8, Width: 1}
		return &c
	case "++", "--", "p++", "p--":
		old, v := r.update(s, e.Pos, e.X, e.Op[len(e.Op)-1:], func() *value { return constant(1, tInt) })
		if e.Op[0] == 'p' {
			return old
		}
		return v
	}
	v := r.eval(s, e.X)
	switch e.Op {
	case "-":
		if v.isFloat() {
			if !written(e.X) {
				r.countFloat(s, e.Pos, Simple, v.t)
			}
			out := anything(v.t, v.loaded)
			out.depth, out.chain = v.depth, v.chain
			if v.has {
				out.has, out.number = true, -v.number
			}
			return out
		}
		if !written(e.X) {
			r.count(s, e.Pos, IntAdd, width(v.t))
		}
		return r.integers("-", constant(0, tInt), v, usual(v.t, tInt))
	case "~":
		r.count(s, e.Pos, IntAdd, width(v.t))
		return r.integers("-", constant(-1, tInt), v, usual(v.t, tInt))
	case "!":
		r.count(s, e.Pos, IntAdd, 1)
		if !v.isInt() {
			return &value{t: tInt, in: interval{0, 1}, loaded: v.loaded, depth: v.depth}
		}
		return r.integers("==", v, constant(0, tInt), tInt)
	}
	return v
}

func (r *run) binary(s *state, e *csource.Binary) *value {
	switch e.Op {
	case ",":
		r.eval(s, e.X)
		return r.eval(s, e.Y)
	case "&&", "||":
		before := s.head()
		t, f, held := r.branch(s, e)
		switch {
		case f == nil || f.dead && (t != nil && !t.dead):
			*s = *t
			return constant(1, tInt)
		case t == nil || t.dead:
			*s = *f
			return constant(0, tInt)
		}
		if j := r.join(before, t, f, held); j != nil {
			*s = *j
		}
		out := r.merge(constant(1, tInt), constant(0, tInt), held)
		out.loaded = out.k == unknown
		return out
	}
	if written(e.X) && written(e.Y) { // folded by any compiler
		r.quiet++
		defer func() { r.quiet-- }()
	}
	a := r.eval(s, e.X)
	b := r.eval(s, e.Y)
	return r.operate(s, e.Pos, e.Op, a, b)
}

// written tells whether an expression is made of literals.
func written(e csource.Expr) bool {
	switch e := e.(type) {
	case *csource.IntLit, *csource.FloatLit, *csource.SizeOf:
		return true
	case *csource.Unary:
		return (e.Op == "-" || e.Op == "+" || e.Op == "~") && written(e.X)
	case *csource.Cast:
		return written(e.X)
	case *csource.Binary:
		return written(e.X) && written(e.Y)
	case *csource.Call:
		if _, _, ok := mathName(e.Name); !ok {
			return false
		}
		for _, a := range e.Args {
			if !written(a) {
				return false
			}
		}
		return true
	}
	return false
}

// operate counts and computes a op b.
func (r *run) operate(s *state, at csource.Pos, op string, a, b *value) *value {
	pa, pb := a.t.Class == csource.Pointer || a.t.Class == csource.Array, b.t.Class == csource.Pointer || b.t.Class == csource.Array
	if pa && !pb && (op == "+" || op == "-") {
		r.count(s, at, IntAdd, 1)
		return r.offset(a, b, pointee(a.t), op)
	}
	if pb && !pa && op == "+" {
		r.count(s, at, IntAdd, 1)
		return r.offset(b, a, pointee(b.t), op)
	}
	if pa || pb {
		r.count(s, at, IntAdd, 1)
		if op == "-" || op == "+" {
			return anything(tLong, a.loaded || b.loaded)
		}
		return &value{t: tInt, in: interval{0, 1}, loaded: true}
	}
	t := usual(a.t, b.t)
	compares := op == "<" || op == ">" || op == "<=" || op == ">=" || op == "==" || op == "!="
	if t.Class == csource.Floating || t.Class == csource.Unknown || t.Class == csource.Struct {
		return r.floats(s, at, op, a, b, t, compares)
	}
	k := IntAdd
	switch op {
	case "*":
		k = IntMul
	case "/", "%":
		k = IntDiv
		if b.k == uniform && b.u > 0 && b.u&(b.u-1) == 0 && b.form == nil {
			k = IntAdd // a shift or a mask
		}
	}
	r.count(s, at, k, width(t))
	if compares {
		v := r.integers(op, r.common(a, t), r.common(b, t), tInt)
		v.depth++
		if f := a.symbolic(); f != nil && v.k == varying && v.form == nil && t.Unsigned && (op == "<" || op == "<=") && b.in.lo >= 0 {
			// Unsigned x < n: 0 <= x and x < n.
			v.form = also(combine(">=", f, &form{}), combine(op, f, b.symbolic()))
			if b.symbolic() == nil {
				v.form = nil
			}
		}
		if width(t) > 1 {
			v = &value{t: lanesOf(tInt, width(t)), in: all, loaded: true, depth: v.depth}
		}
		return v
	}
	if width(t) > 1 {
		out := anything(t, a.loaded || b.loaded)
		out.depth, out.chain = max(a.depth, b.depth)+1, max(a.chain, b.chain)
		return out
	}
	if op == "/" || op == "%" || op == ">>" {
		a, b = r.common(a, t), r.common(b, t)
	}
	v := r.integers(op, a, b, t)
	v.depth++
	return v
}

// common is an operand as a comparison or division in type t sees it: what is
// below 0 is large where t is unsigned.
func (r *run) common(v *value, t *csource.Type) *value {
	if !t.Unsigned || t.Bytes >= 8 || v.in.lo >= 0 {
		return v
	}
	c := *v
	c.t, c.form, c.in = t, nil, rangeOf(t)
	switch v.k {
	case uniform:
		c.u = wrap(v.u, t)
		if v.form == nil {
			c.in = point(c.u)
		}
	case varying:
		c.v = r.alloc()
		for l := range c.v {
			c.v[l] = wrap(v.v[l], t)
		}
	}
	return &c
}

func (r *run) floats(s *state, at csource.Pos, op string, a, b *value, t *csource.Type, compares bool) *value {
	r.countConvert(s, at, a, t)
	r.countConvert(s, at, b, t)
	out := &value{t: t, in: all, loaded: a.loaded || b.loaded, depth: max(a.depth, b.depth) + 1, chain: max(a.chain, b.chain)}
	a, b = r.convert(a, t), r.convert(b, t)
	k := Simple
	switch op {
	case "+", "-":
		k = Add
		if a.product || b.product {
			r.countFloat(s, at, Fusable, t)
		}
	case "*":
		k = Mul
		out.product = true
	case "/":
		k = Div
	}
	if a.has && b.has {
		switch op {
		case "+":
			out.number, out.has = a.number+b.number, true
		case "-":
			out.number, out.has = a.number-b.number, true
		case "*":
			out.number, out.has = a.number*b.number, true
		case "/":
			out.number, out.has = a.number/b.number, b.number != 0
		}
	}
	r.countFloat(s, at, k, t)
	if !compares {
		return out
	}
	v := &value{t: lanesOf(tInt, width(t)), in: interval{0, 1}, loaded: out.loaded, depth: out.depth, chain: out.chain}
	if a.has && b.has && width(t) == 1 {
		yes := map[string]bool{"<": a.number < b.number, ">": a.number > b.number, "<=": a.number <= b.number, ">=": a.number >= b.number,
			"==": a.number == b.number, "!=": a.number != b.number}[op]
		n := int64(0)
		if yes {
			n = 1
		}
		v.k, v.u, v.in = uniform, n, point(n)
	} else if width(t) == 1 {
		v.loaded = true
	}
	return v
}

// countConvert counts a conversion between integers and floats, or of precision.
func (r *run) countConvert(s *state, at csource.Pos, v *value, t *csource.Type) {
	from, to := v.t, t
	if from.Class == csource.Unknown || to.Class == csource.Unknown || v.has || v.k == uniform && v.form == nil {
		return
	}
	floating := from.Class == csource.Floating || to.Class == csource.Floating
	scalars := (from.Class == csource.Floating || from.Class == csource.Integer) && (to.Class == csource.Floating || to.Class == csource.Integer)
	if floating && scalars && (from.Class != to.Class || from.Bytes != to.Bytes) {
		r.count(s, at, Convert, width(t))
	}
}

func (r *run) assign(s *state, e *csource.Assign) *value {
	if e.Op == "" {
		v := r.eval(s, e.R)
		r.store(s, e.L, v)
		return v
	}
	_, v := r.update(s, e.Pos, e.L, e.Op, func() *value { return r.eval(s, e.R) })
	return v
}

// update is l = l op by, where l is looked for once.
func (r *run) update(s *state, at csource.Pos, l csource.Expr, op string, by func() *value) (old, v *value) {
	var id int
	switch x := l.(type) {
	case *csource.Index:
		id = x.ID
	case *csource.Unary:
		id = x.ID
	default:
		old = r.eval(s, l)
		v = r.operate(s, at, op, old, by())
		r.store(s, l, v)
		return old, v
	}
	p, t := r.place(s, l)
	if p == nil {
		return anything(tInt, true), r.operate(s, at, op, anything(tInt, true), by())
	}
	old = r.read(s, p, t, id, at)
	v = r.operate(s, at, op, old, by())
	r.write(s, p, t, id, at, v)
	return old, v
}
