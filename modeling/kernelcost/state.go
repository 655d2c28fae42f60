package kernelcost

import "math"

// ranges are what the axes can be where the analysis stands.
type ranges struct{ axis [axes]interval }

// level is how sure a count is.
type level uint8

const (
	exact   level = iota
	sampled       // mean over sampled work-items or iterations
	assumed       // rests on an assumption about data
)

// state is what is known at a place of the kernel: variables, and how many
// work-items (weights of lanes) get there.
type state struct {
	vars   []*value
	w      []float64
	sum    float64
	dead   bool // no work-item can get here
	in     ranges
	level  level
	loops  int   // loops around
	given  *form // conditions on ids and loop positions that hold here and are no ranges
	skewed bool  // iterations differ by work-item: shares of ids are no shares of executions
	moved  bool  // lanes stand for others: their values are no witnesses
}

func (s *state) clone() *state {
	c := *s
	c.vars = append(make([]*value, 0, len(s.vars)+8), s.vars...)
	c.w = append([]float64(nil), s.w...)
	return &c
}

// scale multiplies weights.
func (s *state) scale(by float64) {
	for l := range s.w {
		s.w[l] *= by
	}
	s.sum *= by
}

func (s *state) total() {
	s.sum = 0
	for _, w := range s.w {
		s.sum += w
	}
}

// kill ends a path.
func (s *state) kill() {
	s.dead = true
	for l := range s.w {
		s.w[l] = 0
	}
	s.sum = 0
}

// truths are lanes for which a condition holds (1), does not (0), or is open (-1).
type truths []int8

// join makes one state of the two after a branch. before is the state that
// branched.
func (r *run) join(before, a, b *state, t truths) *state {
	switch {
	case a == nil || a.dead && a.sum == 0:
		if b == nil {
			return a
		}
		return b
	case b == nil || b.dead && b.sum == 0:
		return a
	}
	out := &state{loops: before.loops, level: before.level, moved: before.moved, given: before.given, skewed: before.skewed}
	out.w = make([]float64, len(a.w))
	for l := range out.w {
		out.w[l] = a.w[l] + b.w[l]
	}
	out.total()
	if near(out.sum, before.sum) {
		copy(out.w, before.w)
		out.sum = before.sum
	} else {
		out.level = max(a.level, b.level)
		out.skewed = true // those that are left are no range of ids
	}
	for i := range out.in.axis {
		out.in.axis[i] = a.in.axis[i].join(b.in.axis[i])
	}
	n := min(len(a.vars), len(b.vars))
	out.vars = make([]*value, n, n+8)
	for i := range n {
		out.vars[i] = r.merge(a.vars[i], b.vars[i], t)
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }

// merge is a where t holds and b elsewhere.
func (r *run) merge(a, b *value, t truths) *value {
	if a == b {
		return a
	}
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	out := &value{t: a.t, in: a.in.join(b.in), loaded: a.loaded || b.loaded, depth: max(a.depth, b.depth), chain: max(a.chain, b.chain)}
	if a.obj == b.obj {
		out.obj = a.obj
	} else if a.obj != nil && b.obj != nil {
		return out
	} else {
		out.obj = a.obj
		if out.obj == nil {
			out.obj = b.obj
		}
	}
	switch {
	case a.has && b.has && a.number == b.number:
		out.has, out.number = true, a.number
	case a.k == unknown || b.k == unknown:
	case a.k == uniform && b.k == uniform && a.u == b.u:
		out.k, out.u = uniform, a.u
		if a.form != nil && b.form != nil && *a.form == *b.form {
			out.form = a.form
		} else if a.form != nil || b.form != nil {
			out.k, out.v = varying, r.alloc()
			for l := range out.v {
				out.v[l] = a.u
			}
		}
	default:
		v := r.alloc()
		for l := range v {
			x, _ := a.lane(l)
			y, _ := b.lane(l)
			open := int8(-1)
			if t != nil {
				open = t[l]
			}
			switch {
			case open == 1 || x == y:
				v[l] = x
			case open == 0:
				v[l] = y
			default:
				return out
			}
		}
		out.k, out.v = varying, v
		if a.form != nil && b.form != nil && *a.form == *b.form {
			out.form = a.form
		}
	}
	return out
}
