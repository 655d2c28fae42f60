package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// suppose narrows what is known in s by a condition that holds, or does not.
func (r *run) suppose(s *state, cond csource.Expr, holds bool) {
	if r.over {
		return
	}
	e, ok := cond.(*csource.Binary)
	if !ok {
		if u, ok := cond.(*csource.Unary); ok && u.Op == "!" {
			r.suppose(s, u.X, !holds)
		} else if !holds {
			r.narrow(s, cond, point(0), 0)
		}
		return
	}
	op := e.Op
	switch op {
	case "&&", "||":
		if (op == "&&") == holds {
			r.suppose(s, e.X, holds)
			r.suppose(s, e.Y, holds)
		}
		return
	case "<", ">", "<=", ">=", "==", "!=":
	default:
		return
	}
	if !holds {
		op = map[string]string{"<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "=="}[op]
	}
	a, b := r.silent(s, e.X), r.silent(s, e.Y)
	if !a.isInt() || !b.isInt() {
		return
	}
	if usual(a.t, b.t).Unsigned && (a.in.lo < 0 || b.in.lo < 0) {
		// Unsigned x < n says 0 <= x too.
		strict := int64(0)
		if op == "<" || op == ">" {
			strict = 1
		}
		switch {
		case (op == "<" || op == "<=") && b.in.lo >= 0:
			r.narrow(s, e.X, interval{0, b.in.hi - strict}, 0)
		case (op == ">" || op == ">=") && a.in.lo >= 0:
			r.narrow(s, e.Y, interval{0, a.in.hi - strict}, 0)
		}
		if usual(a.t, b.t).Bytes < 8 {
			return
		}
	}
	switch op {
	case "<":
		r.narrow(s, e.X, interval{-inf, b.in.hi - 1}, 0)
		r.narrow(s, e.Y, interval{a.in.lo + 1, inf}, 0)
	case "<=":
		r.narrow(s, e.X, interval{-inf, b.in.hi}, 0)
		r.narrow(s, e.Y, interval{a.in.lo, inf}, 0)
	case ">":
		r.narrow(s, e.X, interval{b.in.lo + 1, inf}, 0)
		r.narrow(s, e.Y, interval{-inf, a.in.hi - 1}, 0)
	case ">=":
		r.narrow(s, e.X, interval{b.in.lo, inf}, 0)
		r.narrow(s, e.Y, interval{-inf, a.in.hi}, 0)
	case "==":
		r.narrow(s, e.X, b.in, 0)
		r.narrow(s, e.Y, a.in, 0)
	case "!=":
		if b.in.single() {
			r.exclude(s, e.X, a.in, b.in.lo)
		} else if a.in.single() {
			r.exclude(s, e.Y, b.in, a.in.lo)
		}
	}
}

func (r *run) exclude(s *state, e csource.Expr, in interval, n int64) {
	if in.lo == n {
		in.lo++
	} else if in.hi == n {
		in.hi--
	}
	r.narrow(s, e, in, 0)
}

// silent is the value of an expression without counting or storing.
func (r *run) silent(s *state, e csource.Expr) *value {
	r.quiet++
	defer func() { r.quiet-- }()
	switch e.(type) {
	case *csource.Ident, *csource.IntLit, *csource.Binary, *csource.Unary, *csource.Cast, *csource.Call, *csource.Member, *csource.Index:
		return r.eval(s, e)
	}
	return anything(tInt, true)
}

// narrow limits the values of e to a range, and by it those of its operands.
func (r *run) narrow(s *state, e csource.Expr, to interval, depth int) {
	if depth > 12 || to == all {
		return
	}
	v := r.silent(s, e)
	if !v.isInt() {
		return
	}
	m := v.in.meet(to)
	if m.empty() {
		s.dead = true
		return
	}
	if m == v.in {
		return
	}
	if v.form != nil && v.form.affine() {
		r.narrowAxis(s, v.form, m)
	}
	switch e := e.(type) {
	case *csource.Ident:
		if e.Slot >= 0 && r.quiet == 0 {
			if old := r.get(s, e.Slot); old.isInt() {
				c := *old
				c.in = m
				i := r.slot(e.Slot)
				if i < len(s.vars) {
					s.vars[i] = &c
				}
			}
		}
	case *csource.Cast:
		if e.Type.Class == csource.Integer {
			x := r.silent(s, e.X)
			w := rangeOf(e.Type)
			if x.isInt() && x.in.lo >= w.lo && x.in.hi <= w.hi {
				r.narrow(s, e.X, m, depth+1)
			}
		}
	case *csource.Unary:
		if e.Op == "-" {
			r.narrow(s, e.X, m.neg(), depth+1)
		}
	case *csource.Binary:
		a, b := r.silent(s, e.X), r.silent(s, e.Y)
		if !a.isInt() || !b.isInt() {
			return
		}
		switch e.Op {
		case "+":
			r.narrow(s, e.X, m.sub(b.in), depth+1)
			r.narrow(s, e.Y, m.sub(a.in), depth+1)
		case "-":
			if v.t.Unsigned { // may have wrapped
				return
			}
			r.narrow(s, e.X, m.add(b.in), depth+1)
			r.narrow(s, e.Y, a.in.sub(m), depth+1)
		case "*":
			if b.in.single() && b.in.lo > 0 {
				r.narrow(s, e.X, interval{ceilDiv(m.lo, b.in.lo), floorDiv(m.hi, b.in.lo)}, depth+1)
			} else if a.in.single() && a.in.lo > 0 {
				r.narrow(s, e.Y, interval{ceilDiv(m.lo, a.in.lo), floorDiv(m.hi, a.in.lo)}, depth+1)
			}
		case "/":
			if c := b.in.lo; b.in.single() && c > 0 && a.in.lo >= 0 && m.lo >= 0 {
				r.narrow(s, e.X, interval{mulSat(m.lo, c), addSat(mulSat(m.hi, c), c-1)}, depth+1)
			}
		}
	}
}

// narrowAxis limits the axis that a form depends on, if it is one alone.
func (r *run) narrowAxis(s *state, f *form, m interval) {
	list, n, ok := r.g.axesOf(f)
	if !ok || n != 1 {
		return
	}
	k := f.coefficient(list[0])
	at := [symbols]int64{}
	r.g.put(&at, list[0], 0)
	c, _ := f.eval(&at)
	lo, hi := addSat(m.lo, -c), addSat(m.hi, -c)
	if k < 0 {
		lo, hi, k = -hi, -lo, -k
	}
	x := &s.in.axis[list[0]]
	if n := x.meet(interval{ceilDiv(lo, k), floorDiv(hi, k)}); !n.empty() {
		*x = n
	} else {
		s.dead = true
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b != 0 && (a < 0) != (b < 0) {
		q--
	}
	return q
}

func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
