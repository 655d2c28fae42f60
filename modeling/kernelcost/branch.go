package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// head is a state's weights without its variables.
func (s *state) head() *state {
	return &state{w: append([]float64(nil), s.w...), sum: s.sum, level: s.level, loops: s.loops, moved: s.moved, given: s.given, skewed: s.skewed}
}

// branch evaluates a condition and splits the state: t is where it holds, f
// where not; nil where that cannot be. One of them may be s itself.
func (r *run) branch(s *state, cond csource.Expr) (t, f *state, held truths) {
	if r.over {
		return s, nil, nil
	}
	switch e := cond.(type) {
	case *csource.Binary:
		if e.Op != "&&" && e.Op != "||" {
			break
		}
		before := s.head()
		t1, f1, h1 := r.branch(s, e.X)
		on, off := t1, f1
		if e.Op == "||" {
			on, off = f1, t1
		}
		if on == nil { // decided by the first half
			return t1, f1, h1
		}
		t2, f2, h2 := r.branch(on, e.Y)
		if e.Op == "&&" {
			t, f = t2, r.either(before, off, f2)
		} else {
			t, f = r.either(before, off, t2), f2
		}
		return t, f, both(h1, h2, e.Op == "&&", off == nil, t2, f2, r.lanes)
	case *csource.Unary:
		if e.Op == "!" {
			t, f, held = r.branch(s, e.X)
			for l, h := range held {
				if h >= 0 {
					held[l] = 1 - h
				}
			}
			return f, t, held
		}
	}
	v := r.eval(s, cond)
	return r.split(s, cond, v)
}

// either joins two ways to the same side of a condition.
func (r *run) either(before, a, b *state) *state {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return r.join(before, a, b, nil)
}

// both are the truths of x && y, or of x || y.
func both(x, y truths, and, sole bool, t2, f2 *state, lanes int) truths {
	if y == nil { // the second half is decided
		if sole {
			return nil
		}
		y = make(truths, lanes)
		if t2 != nil {
			for l := range y {
				y[l] = 1
			}
		}
	}
	if x == nil {
		return y
	}
	out := make(truths, lanes)
	short := int8(1)
	if and {
		short = 0
	}
	for l := range out {
		switch {
		case x[l] == short || y[l] == short:
			out[l] = short
		case x[l] == 1-short:
			out[l] = y[l]
		default:
			out[l] = -1
		}
	}
	return out
}

// split divides the state by the truth of v, the value of cond.
func (r *run) split(s *state, cond csource.Expr, v *value) (t, f *state, held truths) {
	at := cond.At()
	if v.has {
		r.count(s, at, BranchAll, 1)
		if v.number != 0 {
			return s, nil, nil
		}
		return nil, s, nil
	}
	if (v.isInt() || v.t.Class == csource.Unknown) && v.obj == nil {
		if v.k == uniform && v.form == nil || !v.in.empty() && (v.in.lo > 0 || v.in.hi < 0 || v.in == point(0)) {
			r.count(s, at, BranchAll, 1)
			if v.k == uniform && v.u != 0 || v.k != uniform && (v.in.lo > 0 || v.in.hi < 0) {
				return s, nil, nil
			}
			return nil, s, nil
		}
	}
	held = make(truths, r.lanes)
	sum, hit := 0.0, 0.0
	differ := false
	for l := range held {
		n, ok := v.lane(l)
		switch {
		case !ok:
			held[l] = -1
		case n != 0:
			held[l] = 1
			hit += s.w[l]
		}
		sum += s.w[l]
		if l > 0 && l < r.warp && held[l] != held[0] {
			differ = true
		}
	}
	p, lv := r.assume.Taken, assumed
	kind := BranchByData
	if v.k != unknown {
		kind = BranchAll
		if v.form != nil && r.byItem(v.form) || v.form == nil && differ {
			kind = BranchByID
		}
		p, lv = 0, sampled
		if sum > 0 {
			p = hit / sum
		}
		if r.complete() && v.k == varying && !s.moved && s.loops == 0 {
			lv = exact
		} else if v.form != nil {
			if q, all, ok := r.shareGiven(s, v.form); ok {
				p = q
				if all && r.independent(s, v.form) {
					lv = exact
				}
			}
		}
	}
	if v.k == unknown {
		if q, ok := r.guard(s, cond); ok {
			p, kind = q, BranchByID
		} else if q, ok := r.odds(s, cond); ok {
			p, lv = q, sampled
		}
	}
	if lv == sampled && v.k != unknown && (p == 0 || p == 1) {
		r.unseen++
		r.note("line %d: all sampled work-items go the same way; others may not", at.Line)
	}
	r.count(s, at, kind, 1)
	t, f = s, s.clone()
	t.part(p, sum, hit, held, 1)
	f.part(1-p, sum, sum-hit, held, 0)
	t.level, f.level = max(t.level, lv), max(f.level, lv)
	if v.k != unknown && v.form != nil && !r.narrows(v.form) {
		if v.form.op != "==" || !r.narrows(&form{op: "<", a: v.form.a, b: v.form.b}) {
			t.given = also(t.given, v.form)
		}
		f.given = also(f.given, combine("==", v.form, &form{}))
	}
	was := s.in
	r.suppose(t, cond, true)
	r.suppose(f, cond, false)
	if v.k != unknown && v.form != nil && r.narrows(v.form) && p > 0 && p < 1 {
		// Where the condition's text did not lead to a range, it is kept as it is.
		if t.in == was {
			t.given = also(t.given, v.form)
		}
		if f.in == was {
			f.given = also(f.given, combine("==", v.form, &form{}))
		}
	}
	return t, f, held
}

// guard is the share that passes a comparison of an id with an argument that has
// no value: all, for launches are made as large as their data.
func (r *run) guard(s *state, cond csource.Expr) (p float64, ok bool) {
	e, isBinary := cond.(*csource.Binary)
	if !isBinary || !isOrder(e.Op) {
		return 0, false
	}
	a, b := r.silent(s, e.X), r.silent(s, e.Y)
	less := e.Op == "<" || e.Op == "<="
	if a.k == unknown {
		a, b, less = b, a, !less
	}
	if a.k != varying || a.form == nil || b.k != unknown || b.loaded || !b.isInt() {
		return 0, false
	}
	r.note("line %d: %s", e.Line, "a bound of ids is not known; all work-items are taken to be within it")
	if less {
		return 1, true
	}
	return 0, true
}

// independent tells whether shares of a form's axes are those of the executions
// here: no iterations that differ by work-item are around, and nothing is asked
// of other ids in the same dimension.
func (r *run) independent(s *state, f *form) bool {
	if s.skewed {
		return false
	}
	list, n, ok := r.g.axesOf(f)
	if !ok {
		return false
	}
	full := r.g.ranges()
	for _, x := range list[:n] {
		if x >= loopAxis {
			continue
		}
		for y := x % 3; y < loopAxis; y += 3 {
			if y != x && s.in.axis[y] != full.axis[y] {
				return false
			}
		}
	}
	return true
}

// also is the conjunction of two conditions; the first alone where it gets long.
func also(a, b *form) *form {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	if c := combine("&&", a, b); c != nil {
		return c
	}
	return a
}

// narrows tells whether a condition is the same as a range of an axis.
func (r *run) narrows(f *form) bool {
	if !isOrder(f.op) || !f.a.affine() || !f.b.affine() || !f.a.constant() && !f.b.constant() {
		return false
	}
	_, n, ok := r.g.axesOf(f)
	return ok && n == 1
}

// shareGiven is the share for which a condition holds among those for which what
// was asked before holds.
func (r *run) shareGiven(s *state, f *form) (p float64, sure, ok bool) {
	if s.given != nil {
		if all := combine("&&", s.given, f); all != nil {
			before, sure1, ok1 := r.g.share(s.given, &s.in)
			after, sure2, ok2 := r.g.share(all, &s.in)
			if ok1 && ok2 && before > 0 {
				return min(after/before, 1), sure1 && sure2, true
			}
		}
		p, _, ok = r.g.share(f, &s.in)
		return p, false, ok
	}
	return r.g.share(f, &s.in)
}

// complete tells whether the sample is all work-items.
func (r *run) complete() bool { return int64(r.lanes) == r.g.items }

// byItem tells whether a form differs within a work-group.
func (r *run) byItem(f *form) bool {
	by := false
	f.walk(func(p *form) { by = by || p.k[0] != 0 || p.k[1] != 0 || p.k[2] != 0 })
	return by
}

// part keeps of a state the lanes whose truth is side, so that they stand for
// the share p of all. Without such a lane all others stand for it.
func (s *state) part(p, sum, hit float64, held truths, side int8) {
	if held[0] == -1 || hit <= 0 {
		s.moved = s.moved || held[0] != -1
		s.scale(p)
		return
	}
	by := 1.0
	if sum > 0 {
		by = p * sum / hit
	}
	for l := range s.w {
		if held[l] == side {
			s.w[l] *= by
		} else {
			s.w[l] = 0
		}
	}
	s.total()
}
