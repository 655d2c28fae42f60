package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// eval is the value of an expression in a state; what it executes is counted.
func (r *run) eval(s *state, e csource.Expr) *value {
	if !r.step() || e == nil {
		return anything(tInt, false)
	}
	r.now = s
	if leave := r.enter(e); leave != nil {
		defer leave()
	}
	switch e := e.(type) {
	case *csource.Ident:
		if e.Slot < 0 {
			return r.global(e.Name)
		}
		return r.variable(s, e.Slot)
	case *csource.IntLit:
		t := tInt
		switch {
		case e.Long && e.Unsigned || e.Value < 0 && e.Unsigned:
			t = tSize
		case e.Unsigned:
			t = tUint
		case e.Long || e.Value > 1<<31-1 || e.Value < -1<<31:
			t = tLong
		}
		return constant(e.Value, t)
	case *csource.FloatLit:
		if e.Single {
			return decimal(e.Value, tFloat)
		}
		return decimal(e.Value, tDouble)
	case *csource.StringLit:
		return anything(tInt, false)
	case *csource.Unary:
		return r.unary(s, e)
	case *csource.Binary:
		return r.binary(s, e)
	case *csource.Assign:
		return r.assign(s, e)
	case *csource.Conditional:
		before := s.head()
		t, f, held := r.branch(s, e.Cond)
		var a, b *value
		if t != nil {
			a = r.eval(t, e.Then)
		}
		if f != nil {
			b = r.eval(f, e.Else)
		}
		if j := r.join(before, t, f, held); j != nil {
			*s = *j
		}
		r.now = s
		switch {
		case a == nil && b == nil:
			return anything(tInt, false)
		case a == nil || t.dead && f != nil && !f.dead:
			return b
		case b == nil || f.dead && !t.dead:
			return a
		}
		if a.isFloat() != b.isFloat() {
			ty := usual(a.t, b.t)
			a, b = r.convert(a, ty), r.convert(b, ty)
		}
		return r.merge(a, b, held)
	case *csource.Call:
		if len(e.Args) > 0 && written(e) {
			r.quiet++
			defer func() { r.quiet-- }()
		}
		return r.call(s, e)
	case *csource.Index:
		p, t := r.place(s, e)
		return r.read(s, p, t, e.ID, e.Pos)
	case *csource.Member:
		return r.member(s, e)
	case *csource.Cast:
		v := r.eval(s, e.X)
		r.countConvert(s, e.Pos, v, e.Type)
		return r.convert(v, e.Type)
	case *csource.Vector:
		out := anything(e.Type, false)
		for _, a := range e.Args {
			v := r.eval(s, a)
			r.countConvert(s, e.Pos, v, e.Type)
			out.depth, out.chain, out.loaded = max(out.depth, v.depth), max(out.chain, v.chain), out.loaded || v.loaded
		}
		return out
	case *csource.List:
		out := anything(tInt, false)
		for _, a := range e.Items {
			v := r.eval(s, a)
			out.depth, out.chain = max(out.depth, v.depth), max(out.chain, v.chain)
		}
		return out
	case *csource.SizeOf:
		if e.Type != nil {
			return constant(r.sizeOf(e.Type), tSize)
		}
		r.quiet++
		v := r.eval(s, e.X)
		r.quiet--
		return constant(r.sizeOf(v.t), tSize)
	}
	r.count(s, e.At(), Unread, 1)
	return anything(tInt, false)
}

// variable is the value of a variable; its range follows what is known of ids.
func (r *run) variable(s *state, slot int) *value {
	v := r.get(s, slot)
	if v.form != nil && v.form.affine() {
		if m := v.in.meet(r.span(v.form)); !m.empty() && m != v.in {
			c := *v
			c.in = m
			v = &c
		}
	}
	if v.product { // held in a variable it is a product no more
		c := *v
		c.product = false
		v = &c
	}
	return v
}

// read is what memory holds at p, or p itself where that is an array.
func (r *run) read(s *state, p *value, t *csource.Type, id int, at csource.Pos) *value {
	if t.Class == csource.Array {
		c := *p
		c.t = t
		return &c
	}
	r.access(s, id, at, p, t, load)
	out := anything(t, true)
	out.depth, out.chain = p.depth+1, p.chain+1
	if p.obj != nil && p.obj.param && width(t) == 1 {
		if f, ok := r.launch.Fill[p.obj.name]; ok {
			out.fill = &f
		}
	}
	return out
}

// write stores into memory.
func (r *run) write(s *state, p *value, t *csource.Type, id int, at csource.Pos, v *value) {
	if t.Class == csource.Array {
		return
	}
	r.access(s, id, at, p, t, store)
	r.deepen(v.depth+1, v.chain)
}

// pointee is what a pointer or array type leads to.
func pointee(t *csource.Type) *csource.Type {
	if t.Elem != nil && (t.Class == csource.Pointer || t.Class == csource.Array) {
		return t.Elem
	}
	return tInt
}

// offset is p advanced by i elements of t.
func (r *run) offset(p, i *value, t *csource.Type, sign string) *value {
	by := constant(r.sizeOf(t), tLong)
	out := r.integers(sign, &value{t: tLong, k: p.k, u: p.u, v: p.v, in: p.in, form: p.form, loaded: p.loaded, depth: p.depth, chain: p.chain},
		r.integers("*", r.convert(i, tLong), by, tLong), tLong)
	out.obj = p.obj
	out.t = p.t
	return out
}

// place is where an lvalue lies in memory, and its type; nil where it is a variable.
func (r *run) place(s *state, e csource.Expr) (*value, *csource.Type) {
	switch e := e.(type) {
	case *csource.Index:
		p := r.eval(s, e.X)
		i := r.eval(s, e.I)
		if p.isInt() && (i.t.Class == csource.Pointer || i.t.Class == csource.Array) {
			p, i = i, p
		}
		if p.t.Class != csource.Pointer && p.t.Class != csource.Array {
			return &value{t: p.t, in: all, loaded: p.loaded}, scalarOr(p.t)
		}
		t := pointee(p.t)
		out := r.offset(p, i, t, "+")
		return out, t
	case *csource.Unary:
		if e.Op == "*" {
			p := r.eval(s, e.X)
			if p.t.Class != csource.Pointer && p.t.Class != csource.Array {
				return &value{t: p.t, in: all}, scalarOr(p.t)
			}
			return p, pointee(p.t)
		}
	case *csource.Member:
		var p *value
		var t *csource.Type
		if e.Arrow {
			p = r.eval(s, e.X)
			if p.t.Class != csource.Pointer && p.t.Class != csource.Array {
				return nil, nil
			}
			t = pointee(p.t)
		} else if p, t = r.place(s, e.X); p == nil {
			return nil, nil
		}
		return r.part(p, t, e.Name)
	case *csource.Ident:
		if e.Slot >= 0 {
			if v := r.get(s, e.Slot); v.obj != nil && v.t.Class != csource.Pointer && v.t.Class != csource.Array {
				return v, v.t // a scalar in local memory, or a reference
			}
			return nil, nil
		}
		if g := r.p.Unit.Globals[e.Name]; g != nil {
			if g.Type.Class == csource.Array {
				return r.array(g, g.Type, csource.Constants), g.Type
			}
		}
	case *csource.Cast:
		return r.place(s, e.X)
	}
	return nil, nil
}

func scalarOr(t *csource.Type) *csource.Type {
	if t.Class == csource.Void || t.Class == csource.Array || t.Class == csource.Pointer {
		return tFloat
	}
	return scalar(t)
}

// part is where a field of a struct or some lanes of a vector lie.
func (r *run) part(p *value, t *csource.Type, name string) (*value, *csource.Type) {
	if t.Class == csource.Struct {
		for _, f := range t.Fields {
			if f.Name == name {
				return r.offset(p, constant(int64(f.Offset), tLong), byteType, "+"), f.Type
			}
		}
		return p, tFloat
	}
	first, n := lanesNamed(name, width(t))
	el := scalar(t)
	return r.offset(p, constant(int64(first), tLong), el, "+"), lanesOf(el, n)
}

var byteType = &csource.Type{Class: csource.Integer, Bytes: 1, Width: 1}

// lanesNamed are the first lane and the number of lanes of .x, .s03, .lo.
func lanesNamed(name string, w int) (first, n int) {
	switch name {
	case "lo":
		return 0, max(w/2, 1)
	case "hi":
		return w / 2, max(w/2, 1)
	case "even", "odd":
		return 0, max(w/2, 1)
	}
	of := func(c byte) int {
		switch {
		case c >= 'w' && c <= 'z':
			return int((c - 'w' + 3) % 4)
		case c >= '0' && c <= '9':
			return int(c - '0')
		case c >= 'a' && c <= 'f':
			return int(c-'a') + 10
		case c >= 'A' && c <= 'F':
			return int(c-'A') + 10
		}
		return 0
	}
	if len(name) > 1 && (name[0] == 's' || name[0] == 'S') {
		name = name[1:]
		first = of(name[0])
	} else if len(name) > 0 && name[0] >= 'w' && name[0] <= 'z' {
		first = of(name[0])
	}
	return first, min(max(len(name), 1), 16)
}

func (r *run) member(s *state, e *csource.Member) *value {
	if v := r.builtinID(e); v != nil {
		return v
	}
	if p, t := r.place(s, e); p != nil {
		return r.read(s, p, t, e.ID, e.Pos)
	}
	v := r.eval(s, e.X)
	var out *value
	switch {
	case v.t.Class == csource.Struct:
		out = anything(tFloat, v.loaded)
		for _, f := range v.t.Fields {
			if f.Name == e.Name {
				out = anything(f.Type, v.loaded)
			}
		}
	case width(v.t) > 1:
		_, n := lanesNamed(e.Name, width(v.t))
		out = anything(lanesOf(scalar(v.t), n), v.loaded)
	default:
		out = anything(scalarOr(v.t), v.loaded)
	}
	out.depth, out.chain = v.depth, v.chain
	return out
}

// store assigns to an lvalue.
func (r *run) store(s *state, e csource.Expr, v *value) {
	r.now = s
	switch x := e.(type) {
	case *csource.Ident:
		if x.Slot >= 0 {
			old := r.get(s, x.Slot)
			if old.obj != nil && old.t.Class != csource.Pointer && old.t.Class != csource.Array {
				r.write(s, old, old.t, -1, x.Pos, v)
				return
			}
			if old.t.Class != csource.Pointer && old.t.Class != csource.Array {
				r.countConvert(s, x.Pos, v, old.t)
			}
			v = r.convert(v, old.t)
			if v.t.Class == csource.Pointer && old.t.Class == csource.Pointer && v.t != old.t {
				c := *v
				c.t = old.t
				v = &c
			}
			r.set(s, x.Slot, v)
		}
		return
	case *csource.Binary:
		return
	}
	// Part of a vector or struct that is a variable.
	if m, ok := e.(*csource.Member); ok && !m.Arrow {
		root := m.X
		for {
			if n, ok := root.(*csource.Member); ok && !n.Arrow {
				root = n.X
				continue
			}
			break
		}
		if id, ok := root.(*csource.Ident); ok && id.Slot >= 0 {
			old := r.get(s, id.Slot)
			if old.obj == nil {
				c := *old
				c.depth, c.chain = max(c.depth, v.depth), max(c.chain, v.chain)
				c.has, c.k, c.loaded = false, unknown, c.loaded || v.loaded
				r.set(s, id.Slot, &c)
				return
			}
		}
	}
	p, t := r.place(s, e)
	if p == nil {
		return
	}
	id := -1
	switch x := e.(type) {
	case *csource.Index:
		id = x.ID
	case *csource.Unary:
		id = x.ID
	case *csource.Member:
		id = x.ID
	}
	r.write(s, p, t, id, e.At(), v)
}
