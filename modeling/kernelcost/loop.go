package kernelcost

import (
	"math"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// trips is how often a loop runs.
type trips struct {
	known   bool
	same    bool // for all work-items
	n       int64
	lanes   []float64
	most    int64 // upper bound over all work-items, inf where there is none
	factor  float64
	level   level
	slot    int // of the variable that ends the loop, -1 where none does
	op      string
	general bool // holds for the launch, not for one iteration of a loop around
}

// Loops that are followed iteration by iteration: with at most so many
// iterations, and so many within one another.
const (
	followed   = 16
	followedIn = 64
)

func (r *run) loop(s *state, l *csource.Loop) {
	f := r.p.facts[l.ID]
	if f == nil {
		return
	}
	r.exec(s, l.Init)
	if s.dead {
		return
	}
	t := r.tripsOf(s, l, f)
	r.iterate(s, l, f, t)
	// What a loop executes besides its iterations: the condition that ends it.
	if !l.Do {
		r.test(s, f, l, t)
	}
	geometric := t.op != "+" && t.op != "-"
	if t.known && t.same && t.general && t.n > 0 && r.unrolled*t.n <= followedIn &&
		(t.n <= 4 || t.n <= followed && (f.control || r.carries(s, f)) || geometric && t.n <= 2*followed) {
		r.unrolled *= t.n
		r.unroll(s, l, f, float64(t.n))
		r.unrolled /= t.n
	} else {
		r.sampleLoop(s, l, f, t)
	}
	r.now = s
}

// carries tells whether integers other than those that advance evenly change.
func (r *run) carries(s *state, f *loopFacts) bool {
	for _, slot := range f.assigned {
		if c, ok := f.changes[slot]; (!ok || !c.every || c.op != "+" && c.op != "-") && r.get(s, slot).isInt() {
			return true
		}
	}
	return false
}

// test counts one evaluation of the loop's condition.
func (r *run) test(s *state, f *loopFacts, l *csource.Loop, t trips) {
	for _, c := range f.conjuncts {
		r.eval(s, c)
	}
	if l.Cond == nil {
		return
	}
	k := BranchAll
	switch {
	case !t.known || t.level == assumed:
		k = BranchByData
	case !t.same:
		for i := 1; i < r.warp; i++ {
			if t.lanes[i] != t.lanes[0] {
				k = BranchByID
			}
		}
	}
	r.count(s, l.Pos, k, 1)
}

// unroll follows each iteration.
func (r *run) unroll(s *state, l *csource.Loop, f *loopFacts, n float64) {
	frame := &loopFrame{facts: f, trips: n}
	r.loops = append(r.loops, frame)
	first := true
	before := s.head()
	for range 2*followed + 2 {
		if s.dead || r.over {
			break
		}
		if l.Cond != nil && !(first && l.Do) {
			if !first {
				for _, c := range f.conjuncts {
					if v := r.silent(s, c); v.k == uniform && v.u == 0 {
						break
					}
				}
			}
			mark := r.quiet
			if first {
				r.quiet++ // counted already
			}
			t, g, _ := r.branch(s, l.Cond)
			r.quiet = mark
			if g != nil && t != nil {
				frame.left = append(frame.left, g)
			} else if t == nil {
				r.replace(s, g)
				frame.left = append(frame.left, s.clone())
				s.kill()
				break
			}
			r.replace(s, t)
		}
		first = false
		r.exec(s, l.Body)
		r.resume(s, frame)
		if s.dead {
			break
		}
		if l.Step != nil {
			r.eval(s, l.Step)
		}
	}
	r.loops = r.loops[:len(r.loops)-1]
	for _, x := range frame.left {
		r.replace(s, r.join(before, s, x, nil))
	}
}

// resume joins what continued.
func (r *run) resume(s *state, frame *loopFrame) {
	for _, x := range frame.next {
		r.replace(s, r.join(&state{w: s.w, sum: -1, loops: x.loops, level: x.level, moved: x.moved}, s, x, nil))
	}
	frame.next = nil
}

// position is one sampled iteration: where among all, and how many it stands for.
type position struct{ at, weight float64 }

// positions samples n iterations; at is from 0 to 1.
func positions(n int64, fine bool) []position {
	switch {
	case n <= 1:
		return []position{{0, 1}}
	case n <= 4:
		var ps []position
		for i := range n {
			ps = append(ps, position{float64(i) / float64(n-1), 1 / float64(n)})
		}
		return ps
	case !fine:
		return []position{{0, 0.5}, {1, 0.5}}
	}
	// Simpson's rule, the middle split so that odd and even numbers do.
	lo, hi := math.Floor(float64(n-1)/2)/float64(n-1), math.Ceil(float64(n-1)/2)/float64(n-1)
	return []position{{0, 1. / 6}, {lo, 1. / 3}, {hi, 1. / 3}, {1, 1. / 6}}
}

// sampleLoop follows some iterations that stand for all.
func (r *run) sampleLoop(s *state, l *csource.Loop, f *loopFacts, t trips) {
	before := s.head()
	start := append([]*value(nil), s.vars...)
	axesBefore := s.in
	level0, returned := s.level, r.returned
	n := t.n
	if !t.same {
		n = int64(5)
	}
	fine := f.inner && s.loops == 0 && r.steps < mostSteps/8
	ps := positions(n, fine)
	if r.steps > mostSteps/2 {
		ps = []position{{0, 1}}
	}
	symbol := -1
	if loopSymbol+s.loops < symbols && t.known && t.same && t.most < inf {
		symbol = loopSymbol + s.loops
	}
	wide := r.widen(s, f, t)
	frame := &loopFrame{facts: f}
	if s.sum > 0 {
		for k, w := range s.w {
			frame.trips += w * t.lanes[k] * t.factor / s.sum
		}
	}
	r.loops = append(r.loops, frame)
	growth := map[int][2]float64{}
	tick := -1.0
	ticked := r.ticks
	touched := len(r.order)
	uneven := false
	var last *state
	for _, p := range ps {
		b := s.clone()
		b.loops++
		b.level = max(b.level, t.level)
		if t.same && !t.general { // by another iteration of a loop around it differs
			b.level = max(b.level, sampled)
		}
		b.skewed = b.skewed || !t.general && !r.complete()
		for k := range b.w {
			b.w[k] *= t.lanes[k] * p.weight * t.factor
		}
		b.total()
		if symbol >= 0 {
			b.in.axis[loopAxis+symbol-loopSymbol] = interval{0, max(t.most-1, 0)}
			if t.most != t.n {
				b.level = max(b.level, sampled)
			}
		}
		r.now = b
		for _, slot := range f.assigned {
			r.set(b, slot, r.inIteration(b, slot, start, wide[slot], f, t, p.at, symbol))
		}
		mark := r.mark(b, f)
		for _, c := range f.conjuncts {
			r.suppose(b, c, true)
		}
		if b.dead {
			continue
		}
		from := r.ticks
		r.exec(b, l.Body)
		r.resume(b, frame)
		if !b.dead {
			if l.Step != nil {
				r.eval(b, l.Step)
			}
			r.test(b, f, l, t)
		}
		for _, slot := range f.assigned {
			v := r.get(b, slot)
			growth[slot] = [2]float64{v.depth - mark, v.chain - mark}
		}
		if each := (r.ticks - from) / p.weight; tick < 0 {
			tick = each
		} else if !near(each, tick) {
			uneven = true
		}
		if !b.dead {
			last = b
		}
	}
	r.loops = r.loops[:len(r.loops)-1]
	if uneven && t.same && t.n > int64(len(ps)) && r.ticks > ticked {
		r.demote(touched)
	}
	s.in, s.level = axesBefore, level0
	r.now = s
	r.after(s, f, t, start, wide, last, growth)
	copy(s.w, before.w)
	s.sum = before.sum
	if lost := min(r.returned-returned, s.sum); lost > 0 && s.sum > 0 {
		// Which work-items returned is not followed further, only how many.
		s.scale(1 - lost/s.sum)
		s.level = assumed
	}
}

// demote says of what a loop counted that it is a mean over sampled iterations.
// Sites carry it; lines keep the level that their places have.
func (r *run) demote(from int) {
	for _, key := range r.order[min(from, len(r.order)):] {
		st := r.sites[key/3][key%3]
		st.count[sampled] += st.count[exact]
		st.count[exact] = 0
	}
}

// mark marks the chains that come from the iteration before, and returns by how
// much.
func (r *run) mark(s *state, f *loopFacts) float64 {
	by := carried * math.Pow(100, float64(min(s.loops-1, 3)))
	for _, slot := range f.assigned {
		c := *r.get(s, slot)
		if ch, ok := f.changes[slot]; ok && ch.every && (ch.op == "+" || ch.op == "-") && (c.isInt() || c.obj != nil) && f.stays(ch.by) {
			continue // advances by itself, ahead of what depends on it
		}
		c.depth, c.chain = by, by
		r.set(s, slot, &c)
	}
	return by
}

// widen is the range of each changed variable over all iterations.
func (r *run) widen(s *state, f *loopFacts, t trips) map[int]interval {
	out := make(map[int]interval, len(f.assigned))
	for _, slot := range f.assigned {
		v := r.get(s, slot)
		if !v.isInt() && v.t.Class != csource.Pointer {
			continue
		}
		w := all
		if v.isInt() {
			w = rangeOf(v.t)
		}
		c, ok := f.changes[slot]
		if ok {
			by := r.silent(s, c.by)
			if !f.stays(c.by) {
				by = anything(tInt, true)
			}
			in := w
			switch c.op {
			case "+", "-":
				d := by.in
				if by.isFloat() {
					d = all
				}
				if c.op == "-" {
					d = d.neg()
				}
				if v.t.Class == csource.Pointer {
					d = d.mul(point(r.sizeOf(pointee(v.t))))
				}
				in = v.in.add(interval{0, t.most}.mul(d))
			case ">>", "/":
				if v.in.lo >= 0 && by.in.lo >= 0 {
					in = interval{0, v.in.hi}
				}
			case "<<", "*":
				if v.in.lo >= 0 && by.in.lo >= 0 && (c.op == "<<" || by.in.lo >= 1) {
					in = interval{v.in.lo, w.hi}
				}
			case "&":
				if v.in.lo >= 0 {
					in = interval{0, v.in.hi}
				}
			}
			w = w.meet(in)
			if w.empty() {
				w = v.in
			}
		}
		out[slot] = w
	}
	return out
}

// inIteration is a changed variable at the start of a sampled iteration.
func (r *run) inIteration(s *state, slot int, start []*value, wide interval, f *loopFacts, t trips, at float64, symbol int) *value {
	v := anything(tInt, false)
	if i := r.slot(slot); i < len(start) && start[i] != nil {
		v = start[i]
	}
	if !v.isInt() && v.t.Class != csource.Pointer {
		out := *v
		if at > 0 || t.most > 1 {
			out.has, out.k = false, unknown
		}
		return &out
	}
	out := &value{t: v.t, in: wide, obj: v.obj, depth: v.depth, chain: v.chain, loaded: v.loaded}
	c, ok := f.changes[slot]
	if !ok || !c.every || !f.stays(c.by) || !t.known || v.k == unknown {
		if at == 0 && v.k != unknown {
			out.k, out.u, out.v = v.k, v.u, v.v
			if v.k == uniform {
				out.k, out.v = varying, r.alloc()
				for l := range out.v {
					out.v[l] = v.u
				}
			}
		}
		if f.times[slot] > 0 && !ok {
			out.loaded = true
		}
		return out
	}
	by := r.silent(s, c.by)
	scale := int64(1)
	if v.t.Class == csource.Pointer {
		scale = r.sizeOf(pointee(v.t))
	}
	if by.k == unknown || by.obj != nil {
		return out
	}
	additive := c.op == "+" || c.op == "-"
	if c.op == "-" {
		scale = -scale
	}
	if t.same && additive && by.k == uniform {
		k := int64(math.Round(at * float64(max(t.n-1, 0))))
		step := by.u * scale
		if v.k == uniform {
			out.k, out.u = uniform, v.u+k*step
		} else {
			out.k, out.v = varying, r.alloc()
			for l := range out.v {
				out.v[l] = v.v[l] + k*step
			}
		}
		if base := v.symbolic(); base != nil && symbol >= 0 && by.form == nil {
			move := form{}
			move.k[symbol] = step
			out.form = combine("+", base, &move)
			if m := out.in.meet(r.span(out.form)); !m.empty() && out.form.affine() {
				out.in = m
			}
		} else if v.k == uniform && t.n > 1 {
			// Without a form it must not be taken for the same each time.
			out.k, out.v = varying, r.alloc()
			for l := range out.v {
				out.v[l] = out.u
			}
		}
		return out
	}
	out.k, out.v = varying, r.alloc()
	for l := range out.v {
		x, _ := v.lane(l)
		b, _ := by.lane(l)
		k := int64(math.Round(at * math.Max(t.lanes[l]-1, 0)))
		if additive {
			out.v[l] = x + k*b*scale
			continue
		}
		for range min(k, 64) {
			if y, ok := csource.Fold(c.op, x, b); ok {
				x = wrap(y, v.t)
			}
		}
		out.v[l] = x
	}
	return out
}

// after sets the changed variables to what they are behind the loop.
func (r *run) after(s *state, f *loopFacts, t trips, start []*value, wide map[int]interval, last *state, growth map[int][2]float64) {
	times := float64(t.n)
	if !t.same {
		times = 0
		for l, n := range t.lanes {
			times += n * s.w[l]
		}
		if s.sum > 0 {
			times /= s.sum
		}
	}
	for _, slot := range f.assigned {
		v := r.get(s, slot)
		out := anything(v.t, v.loaded)
		out.obj = v.obj
		if last != nil {
			end := r.get(last, slot)
			out.loaded = out.loaded || end.loaded
			out.depth, out.chain = lengthened(v.depth, end.depth, growth[slot][0], times), lengthened(v.chain, end.chain, growth[slot][1], times)
			if w, ok := wide[slot]; ok {
				out.in = v.in.join(end.in).meet(rangeOrAll(v.t))
				if c, counted := f.changes[slot]; counted && (c.op == "+" || c.op == "-") {
					if m := out.in.meet(w); !m.empty() {
						out.in = m
					}
				}
			}
		}
		c, ok := f.changes[slot]
		if ok && c.every && (c.op == "+" || c.op == "-") && t.known && t.level < assumed && v.k != unknown && f.stays(c.by) && v.isInt() && !f.open {
			by := r.silent(s, c.by)
			sign := int64(1)
			if c.op == "-" {
				sign = -1
			}
			if by.k != unknown {
				out.k, out.v = varying, r.alloc()
				for l := range out.v {
					x, _ := v.lane(l)
					b, _ := by.lane(l)
					out.v[l] = wrap(x+sign*b*int64(t.lanes[l]), v.t)
				}
				if t.same && v.k == uniform && by.k == uniform && t.general && v.form == nil {
					out.k, out.u = uniform, out.v[0]
					out.in = point(out.u)
				}
			}
		}
		r.set(s, slot, out)
	}
}

// lengthened is a chain behind a loop: it grows in each iteration where the
// variable depends on itself, else it is what the last one made it.
func lengthened(before, end, growth, times float64) float64 {
	if growth < 0 {
		return end
	}
	return before + growth*max(times, 1)
}
