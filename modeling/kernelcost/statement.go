package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// loopFrame is a loop or switch that is being followed.
type loopFrame struct {
	next   []*state   // at continue, or at break of a switch
	left   []*state   // at break of a loop
	choice bool       // a switch
	facts  *loopFacts // nil of a switch
	trips  float64    // mean number of iterations
}

// exec follows a statement.
func (r *run) exec(s *state, st csource.Stmt) {
	if st == nil || s.dead || !r.step() {
		return
	}
	r.now = s
	switch st.(type) {
	case *csource.If, *csource.Loop:
		if r.share > 0 && r.p.idle[st] {
			share := r.share
			r.share = 0
			defer func() { r.share = share }()
		}
	}
	switch st := st.(type) {
	case *csource.Block:
		for _, x := range st.List {
			r.exec(s, x)
			if s.dead {
				return
			}
		}
	case *csource.Declare:
		for _, v := range st.Vars {
			r.declare(s, v)
		}
	case *csource.Evaluate:
		r.eval(s, st.X)
	case *csource.If:
		before := s.head()
		t, f, held := r.branch(s, st.Cond)
		if f == nil && t != nil {
			r.exec(t, st.Then)
			r.replace(s, t)
			return
		}
		if t == nil && f != nil {
			r.exec(f, st.Else)
			r.replace(s, f)
			return
		}
		if t != nil {
			r.exec(t, st.Then)
		}
		if f != nil {
			r.exec(f, st.Else)
		}
		r.replace(s, r.join(before, t, f, held))
	case *csource.Loop:
		r.loop(s, st)
	case *csource.Switch:
		r.choose(s, st)
	case *csource.Return:
		r.leave(s, st)
	case *csource.Break:
		if n := len(r.loops); n > 0 {
			l := r.loops[n-1]
			if l.choice {
				l.next = append(l.next, s.clone())
			} else {
				l.left = append(l.left, s.clone())
			}
		}
		s.kill()
	case *csource.Continue:
		for i := len(r.loops) - 1; i >= 0; i-- {
			if !r.loops[i].choice {
				r.loops[i].next = append(r.loops[i].next, s.clone())
				break
			}
		}
		s.kill()
	case *csource.Bad:
		r.count(s, st.Pos, Unread, 1)
	}
}

// replace makes s what another state is.
func (r *run) replace(s, by *state) {
	if by == nil {
		s.kill()
		return
	}
	if s != by {
		*s = *by
	}
	r.now = s
}

func (r *run) declare(s *state, v *csource.Variable) {
	t := v.Type
	r.unnamed(t)
	switch {
	case t.Class == csource.Array:
		p := r.array(v, t, t.Space)
		r.set(s, v.Slot, p)
		if l, ok := v.Init.(*csource.List); ok {
			for _, x := range l.Items {
				r.eval(s, x)
			}
			if t.Space == csource.Private {
				r.count(s, v.Pos, PrivateStore, len(l.Items))
				r.count(s, v.Pos, PrivateBytes, len(l.Items)*p.obj.elem.Size())
			}
		}
		return
	case t.Space == csource.Local && t.Class != csource.Pointer:
		p := r.array(v, t, csource.Local)
		r.set(s, v.Slot, p)
		return
	}
	if v.Init == nil {
		r.set(s, v.Slot, anything(t, false))
		return
	}
	if t.Ref {
		if p, pt := r.place(s, v.Init); p != nil {
			c := *p
			c.t = pt
			r.set(s, v.Slot, &c)
			return
		}
	}
	x := r.eval(s, v.Init)
	if t.Class == csource.Pointer && (x.t.Class == csource.Pointer || x.t.Class == csource.Array) {
		c := *x
		c.t = t
		r.set(s, v.Slot, &c)
		return
	}
	r.countConvert(s, v.Pos, x, t)
	r.set(s, v.Slot, r.convert(x, t))
}

func (r *run) leave(s *state, st *csource.Return) {
	r.returned += s.sum
	var v *value
	if st.X != nil {
		v = r.eval(s, st.X)
	}
	f := r.frame()
	if len(r.calls) > 1 {
		if f.fn.Result != nil && v != nil {
			r.countConvert(s, st.Pos, v, f.fn.Result)
			v = r.convert(v, f.fn.Result)
		}
		f.out = append(f.out, returned{s.head(), s.in, v})
	}
	s.kill()
}

// returned is a state at a return with what is returned.
type returned struct {
	s  *state
	in ranges
	v  *value
}

// choose follows a switch. Cases by data are taken alike often.
func (r *run) choose(s *state, st *csource.Switch) {
	v := r.eval(s, st.X)
	kind := BranchByData
	if v.k == uniform {
		kind = BranchAll
	} else if v.k == varying {
		kind = BranchByID
	}
	r.count(s, st.Pos, kind, 1)
	frame := &loopFrame{choice: true}
	r.loops = append(r.loops, frame)
	defer func() { r.loops = r.loops[:len(r.loops)-1] }()
	run := func(s *state, from int) {
		for i := from; i < len(st.Cases); i++ {
			for _, x := range st.Cases[i].Body {
				r.exec(s, x)
			}
			if s.dead {
				break
			}
		}
		for _, n := range frame.next {
			r.replace(s, r.join(&state{sum: -1, w: s.w, loops: n.loops, level: n.level}, s, n, nil))
		}
		frame.next = nil
	}
	if v.k == uniform && v.form == nil {
		other := -1
		for i, c := range st.Cases {
			if len(c.Values) == 0 {
				other = i
			}
			for _, e := range c.Values {
				if x := r.silent(s, e); x.k == uniform && x.u == v.u {
					run(s, i)
					return
				}
			}
		}
		if other >= 0 {
			run(s, other)
		}
		return
	}
	before := s.head()
	var out *state
	none := true
	n := len(st.Cases)
	for i := range st.Cases {
		if len(st.Cases[i].Values) == 0 {
			none = false
		}
	}
	if none {
		n++ // no case fits
	}
	for i := range n {
		c := s.clone()
		c.scale(1 / float64(n))
		c.level = assumed
		if i < len(st.Cases) {
			run(c, i)
		}
		out = r.join(before, out, c, nil)
	}
	if out != nil && near(out.sum, before.sum) {
		out.w, out.sum, out.level = before.w, before.sum, before.level
	}
	r.replace(s, out)
}

// follow calls a function of the source.
func (r *run) follow(s *state, f *csource.Function, args []*value) *value {
	if len(r.calls) > 24 {
		r.note("calls nest deeper than 24: %s is not followed", f.Name)
		return anything(f.Result, true)
	}
	for _, c := range r.calls {
		if c.fn == f {
			r.note("%s calls itself: recursion is not followed", f.Name)
			return anything(f.Result, true)
		}
	}
	before := s.head()
	base := len(s.vars)
	outer, returned := r.loops, r.returned
	r.loops = nil
	fr := &frame{fn: f, base: base}
	quiet := r.quiet
	r.quiet = 0
	r.calls = append(r.calls, fr)
	s.vars = append(s.vars, make([]*value, f.Slots)...)
	for i, p := range f.Params {
		v := anything(p.Type, true)
		if i < len(args) && args[i] != nil {
			v = args[i]
			if p.Type.Class != csource.Pointer && !(p.Type.Ref && v.obj != nil) {
				v = r.convert(v, p.Type)
			} else {
				c := *v
				if p.Type.Class == csource.Pointer {
					c.t = p.Type
				}
				v = &c
			}
		}
		r.set(s, p.Slot, v)
	}
	r.quiet = quiet
	r.exec(s, f.Body)
	r.calls = r.calls[:len(r.calls)-1]
	r.loops, r.returned = outer, returned
	// All come back, with the ranges of where they returned.
	alive := !s.dead
	for _, o := range fr.out {
		if !alive {
			s.in = o.in
			alive = true
			continue
		}
		for i := range s.in.axis {
			s.in.axis[i] = s.in.axis[i].join(o.in.axis[i])
		}
	}
	s.dead = false
	s.w, s.sum, s.level, s.moved = before.w, before.sum, before.level, before.moved
	s.vars = s.vars[:min(base, len(s.vars))]
	r.now = s
	return r.results(fr)
}

// results merges what a call returned, by lane.
func (r *run) results(fr *frame) *value {
	var out *value
	for _, o := range fr.out {
		if o.v == nil {
			continue
		}
		if out == nil {
			out = o.v
			continue
		}
		t := make(truths, r.lanes)
		for l := range t {
			t[l] = -1
			switch {
			case o.s.w[l] > 0 && o.s.level < assumed:
				t[l] = 0
			case o.s.w[l] == 0:
				t[l] = 1
			}
		}
		out = r.merge(out, o.v, t)
	}
	if out == nil {
		t := fr.fn.Result
		if t == nil {
			t = tInt
		}
		return anything(t, true)
	}
	return out
}
