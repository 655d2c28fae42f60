package kernelcost

import (
	"math"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// tripsOf finds how often a loop runs, by the exits that the text shows.
func (r *run) tripsOf(s *state, l *csource.Loop, f *loopFacts) trips {
	t := trips{most: inf, factor: 1, slot: -1, op: "+", lanes: make([]float64, r.lanes), same: true, general: true}
	var d *form // of the exit that counts, where there is one
	step := int64(0)
	known := 0
	for _, e := range f.exits {
		v, bound, by, op := r.exitValues(s, f, e)
		c := f.changes[e.slot]
		if c.op == "-" && by.isInt() {
			by = r.integers("-", constant(0, tLong), r.convert(by, tLong), tLong)
		}
		additive := c.op == "+" || c.op == "-"
		t.most = min(t.most, mostTrips(v, bound, by, op, additive, l.Do))
		if !v.isInt() || !bound.isInt() || !by.isInt() || v.k == unknown || bound.k == unknown || by.k == unknown {
			if t.slot < 0 {
				t.slot = e.slot
			}
			continue
		}
		same := v.k == uniform && bound.k == uniform && by.k == uniform
		n := make([]float64, r.lanes)
		ok := true
		for i := range n {
			if same && i > 0 {
				n[i] = n[0]
				continue
			}
			a, _ := v.lane(i)
			b, _ := bound.lane(i)
			k, _ := by.lane(i)
			var x int64
			x, ok = countTrips(a, b, k, op, c.op, additive, v.t)
			if !ok {
				break
			}
			if l.Do {
				x = max(x, 1)
			}
			n[i] = float64(x)
		}
		if !ok {
			continue
		}
		known++
		t.op = c.op
		if !additive {
			t.op = "<<"
		}
		if known == 1 {
			copy(t.lanes, n)
			t.slot, t.same = e.slot, same
			t.general = same && v.form == nil && bound.form == nil && by.form == nil
			if !same && additive && by.k == uniform && by.form == nil && !l.Do {
				d, step = distance(v, bound, by, op)
			}
			continue
		}
		d = nil
		for i := range n {
			t.lanes[i] = min(t.lanes[i], n[i])
		}
		t.same = t.same && same
		t.general = t.general && same && v.form == nil && bound.form == nil && by.form == nil
	}
	t.known = known > 0
	if !t.known {
		r.guess(s, l, f, &t)
		return t
	}
	if t.same {
		t.n = int64(t.lanes[0])
	} else {
		t.general = false
		r.calibrate(s, &t, d, step)
	}
	if f.open {
		t.level = assumed
		t.general = false
		for i, n := range t.lanes {
			if n > 1 {
				t.lanes[i] = 1 + (n-1)*r.assume.Leave
			}
		}
	}
	if t.same && t.general {
		t.most = min(t.most, t.n)
	}
	return t
}

// exitValues are the values that an exit compares: the variable, the bound and
// the step.
func (r *run) exitValues(s *state, f *loopFacts, e exit) (v, bound, by *value, op string) {
	v, bound = r.get(s, e.slot), r.silent(s, e.bound)
	by = r.silent(s, f.changes[e.slot].by)
	if e.shift != nil {
		sh := r.silent(s, e.shift)
		if v.isInt() && sh.isInt() {
			o := "+"
			if e.minus {
				o = "-"
			}
			v = r.integers(o, r.convert(v, tLong), r.convert(sh, tLong), tLong)
		}
	}
	return v, bound, by, e.op
}

// distance is the form whose quotient by step, rounded up, is the number of trips.
func distance(v, bound, by *value, op string) (*form, int64) {
	a, b := v.symbolic(), bound.symbolic()
	if a == nil || b == nil {
		return nil, 0
	}
	step := by.u
	if step < 0 {
		a, b, step = b, a, -step
	}
	d := combine("-", b, a)
	if (op == "<=" || op == ">=") && d != nil {
		d = combine("+", d, &form{c: 1})
	}
	if op == "==" {
		return nil, 0
	}
	return d, step
}

// countTrips is how often a loop runs that starts with v and goes on while v op b.
func countTrips(v, b, by int64, op, change string, additive bool, t *csource.Type) (int64, bool) {
	if !additive {
		n := int64(0)
		for csourceTrue(op, v, b) {
			w, ok := csource.Fold(change, v, by)
			if !ok || n > 128 {
				return 0, false
			}
			w = wrap(w, t)
			if w == v {
				return 0, false
			}
			v = w
			n++
		}
		return n, true
	}
	if !csourceTrue(op, v, b) {
		return 0, true
	}
	switch op {
	case "<=":
		b++
	case ">=":
		b--
	case "==":
		return 1, by != 0
	case "!=":
		if by == 0 || (b-v)%by != 0 || (b-v)/by < 0 {
			return 0, false
		}
		return (b - v) / by, true
	}
	up := op == "<" || op == "<="
	switch {
	case up && by > 0:
		return ceilDiv(b-v, by), true
	case !up && by < 0:
		return ceilDiv(v-b, -by), true
	}
	return 0, false
}

func csourceTrue(op string, a, b int64) bool {
	v, _ := csource.Fold(op, a, b)
	return v != 0
}

// mostTrips is an upper bound over all work-items, inf where there is none.
func mostTrips(v, bound, by *value, op string, additive, do bool) int64 {
	if !v.isInt() || !bound.isInt() || !by.isInt() {
		return inf
	}
	if !additive {
		return 64
	}
	n := inf
	switch {
	case (op == "<" || op == "<=") && by.in.lo > 0 && bound.in.hi < inf && v.in.lo > -inf:
		n = max(0, ceilDiv(addSat(bound.in.hi, -v.in.lo)+map[string]int64{"<=": 1}[op], by.in.lo))
	case (op == ">" || op == ">=") && by.in.hi < 0 && bound.in.lo > -inf && v.in.hi < inf:
		n = max(0, ceilDiv(addSat(v.in.hi, -bound.in.lo)+map[string]int64{">=": 1}[op], -by.in.hi))
	case op == "!=" && by.in.lo > 0 && v.in.hi <= bound.in.lo && bound.in.hi < inf && v.in.lo > -inf:
		n = addSat(bound.in.hi, -v.in.lo)
	case op == "!=" && by.in.hi < 0 && v.in.lo >= bound.in.hi && v.in.hi < inf && bound.in.lo > -inf:
		n = addSat(v.in.hi, -bound.in.lo)
	}
	if do {
		n = max(n, 1)
	}
	return n
}

// calibrate makes the sampled trips average to the mean over all work-items.
func (r *run) calibrate(s *state, t *trips, d *form, step int64) {
	if r.complete() {
		return
	}
	t.level = sampled
	sum, w := 0.0, 0.0
	for l, n := range t.lanes {
		sum += n * s.w[l]
		w += s.w[l]
	}
	if d == nil || step <= 0 || w == 0 {
		return
	}
	mean, sure, ok := r.g.mean(d, step, &s.in)
	if !ok {
		return
	}
	if sure && s.given == nil && r.independent(s, d) {
		t.level = exact
	}
	if sum > 0 {
		t.factor = mean * w / sum
		return
	}
	for l := range t.lanes {
		t.lanes[l] = mean
	}
}

// guess assumes trips where the text tells none: of a loop that walks through a
// buffer of known size, the part of the buffer that falls to each execution;
// else a constant.
func (r *run) guess(s *state, l *csource.Loop, f *loopFacts, t *trips) {
	t.level, t.general = assumed, false
	n := r.assume.Trips
	basis := "16 iterations"
	if n != Usual.Trips {
		basis = "the given number of iterations"
	}
	if t.slot >= 0 {
		if name := f.walkedBy[t.slot]; name != "" && s.sum > 0 {
			for _, o := range r.objects {
				if o.name == name && o.param && o.bytes > 0 && o.elem != nil {
					n = float64(o.bytes) / float64(o.elem.Size()) / s.sum
					basis = "the size of " + name + " by the number of executions"
				}
			}
		}
	}
	if float64(t.most) < n {
		n = float64(t.most)
	}
	for i := range t.lanes {
		t.lanes[i] = n
	}
	t.n = max(int64(math.Round(n)), 1)
	r.note("line %d: the loop's end depends on data; assumed by %s", l.Line, basis)
}
