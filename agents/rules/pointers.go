package rules

import "github.com/rooflab/rooflab/agents/rules/syntax"

// place is where in memory a pointer leads to: so many elements behind the place
// of a variable, in the row that the leading indices name.
type place struct {
	base   *syntax.Variable
	rows   []poly // indices of all dimensions but the last
	offset poly   // in the last; nil where it is not known
}

// place is what a pointer of the function leads to, that gets its value where it
// is declared and keeps it: row in
//
//	const double *row = a + i * n;
//
// is a at i*n. It is nil where the pointer is nothing of the kind.
func (v *view) place(x *syntax.Variable) *place {
	if x == nil || x.Param || x.Global || x.Type.Static || x.Type.Volatile || x.Type.Pointers != 1 || len(x.Type.Dims) > 0 ||
		v.written[x] > 0 || v.taken[x] || x.Decl == nil || x.Decl.Kid(0) == nil {
		return nil
	}
	if p, ok := v.places[x]; ok {
		return p
	}
	v.places[x] = nil // one that is made of itself is none
	p := v.address(x.Decl.Kid(0), x.Decl)
	if p != nil && (p.base.Type.Base != x.Type.Base || p.base.Type.Space != x.Type.Space) {
		p = nil
	}
	v.places[x] = p
	return p
}

// address is what a pointer expression leads to, at a node of the function.
func (v *view) address(n, at *syntax.Node) *place {
	n = n.Bare()
	if n == nil {
		return nil
	}
	known := func(p poly) poly {
		if p == nil || !v.steady(p, at) {
			return nil
		}
		return p
	}
	switch n.Kind {
	case syntax.Name:
		x := n.Var
		if x == nil || x.Type.Volatile || x.Type.Base == "" || x.Type.Pointers+len(x.Type.Dims) != 1 {
			return nil
		}
		if p := v.place(x); p != nil {
			return p
		}
		if v.written[x] > 0 && !v.own(x) || v.taken[x] {
			return nil
		}
		return &place{base: x, offset: constant(0)}
	case syntax.Binary:
		if n.Op != "+" && n.Op != "-" {
			return nil
		}
		to, by, times := n.Kids[0], n.Kids[1], int64(1)
		if n.Op == "-" {
			times = -1
		} else if b := by.Bare(); b.Kind == syntax.Name && b.Var != nil && b.Var.Type.Indirect() {
			to, by = by, to
		}
		p := v.address(to, at)
		if p == nil {
			return nil
		}
		return &place{p.base, p.rows, p.offset.add(known(v.form(by, at)), times)}
	case syntax.Unary:
		if n.Op != "&" || n.Kids[0].Bare().Kind != syntax.Index {
			return nil
		}
		x, index := peel(n.Kids[0].Bare())
		if x == nil || x.Type.Volatile || x.Type.Base == "" || v.taken[x] || v.written[x] > 0 && !v.own(x) ||
			x.Type.Pointers > 1 || len(index) != x.Type.Pointers+len(x.Type.Dims) || x.Type.Pointers > 0 && len(x.Type.Dims) > 0 {
			return nil
		}
		var rows []poly
		for _, i := range index[:len(index)-1] {
			p := known(v.form(i, at))
			if p == nil {
				return nil
			}
			rows = append(rows, p)
		}
		last := known(v.form(index[len(index)-1], at))
		if p := v.place(x); p != nil {
			return &place{p.base, p.rows, p.offset.add(last, 1)}
		}
		return &place{x, rows, last}
	}
	return nil
}

// own reports whether a pointer is written once only, with memory that nothing
// else leads to, so that it stands for that memory.
func (v *view) own(x *syntax.Variable) bool {
	if x == nil || x.Param || x.Type.Static || x.Type.Pointers != 1 || len(x.Type.Dims) > 0 {
		return false
	}
	is, ok := v.owned[x]
	if !ok {
		is = v.unit.objectOf(v.fn, x) == x
		v.owned[x] = is
	}
	return is
}

// root is the variable that stands for the memory of x: x itself, unless it is a
// pointer into another's.
func (v *view) root(x *syntax.Variable) *syntax.Variable {
	if p := v.place(x); p != nil {
		return p.base
	}
	return x
}
