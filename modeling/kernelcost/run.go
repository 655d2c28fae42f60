package kernelcost

import (
	"fmt"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// mostSteps is how many nodes of the tree one analysis visits at most.
const mostSteps = 400_000

// run is the analysis of one launch.
type run struct {
	p      *Program
	g      *geometry
	assume Assumptions
	launch *Launch
	lanes  int
	warp   int
	ids    [][symbols]int64
	chunk  []int64
	now    *state

	tally  []*lineTally
	places map[spot]float64
	called map[string]float64
	turns  [3]float64 // iterations, see iterate
	out    int        // loops around what is evaluated that it is moved out of
	share  float64    // of its executions that remain then
	moved  Counts     // what need not be executed
	// Of what is executed: functions and operations on numbers in vectors.
	vectorCalls, vectorFlop float64
	sites                   [][3]*site
	order                   []int
	ticks                   float64
	quiet                   int
	unseen                  int
	steps                   int
	over                    bool

	objects  []*object
	arrays   map[*csource.Variable]*object
	lost     [4]*object
	locals   int64
	private  int64
	returned float64 // weights that a return ended, of all calls
	depth    float64
	chain    float64
	calls    []*frame
	loops    []*loopFrame
	notes    []string
	noted    map[string]bool
	unrolled int64
}

// frame is a call that is being followed.
type frame struct {
	fn   *csource.Function
	base int
	out  []returned
}

func (r *run) note(format string, args ...any) {
	s := fmt.Sprintf(format, args...)
	if !r.noted[s] && len(r.notes) < 40 {
		r.noted[s] = true
		r.notes = append(r.notes, s)
	}
}

// step counts work and tells whether to go on.
func (r *run) step() bool {
	r.steps++
	if r.steps > mostSteps {
		r.over = true
	}
	return !r.over
}

func (r *run) frame() *frame { return r.calls[len(r.calls)-1] }

// slot is the number of a variable of the function that is followed.
func (r *run) slot(n int) int { return r.frame().base + n }

func (r *run) get(s *state, n int) *value {
	i := r.slot(n)
	if n < 0 || i >= len(s.vars) || s.vars[i] == nil {
		return anything(tInt, false)
	}
	return s.vars[i]
}

func (r *run) set(s *state, n int, v *value) {
	if r.quiet > 0 || n < 0 {
		return
	}
	i := r.slot(n)
	for len(s.vars) <= i {
		s.vars = append(s.vars, nil)
	}
	s.vars[i] = v
	r.deepen(v.depth, v.chain)
}

// carried marks chains that come from an earlier iteration: by so much, times
// 100 for each loop further in.
const carried = 1e9

// deepen notes how long chains get. Those that are marked count behind their loop.
func (r *run) deepen(depth, chain float64) {
	if depth < carried {
		r.depth = max(r.depth, depth)
	}
	if chain < carried {
		r.chain = max(r.chain, chain)
	}
}

// begin is the state at the kernel's start.
func (r *run) begin(fn *csource.Function, w []float64) *state {
	s := &state{w: w, in: r.g.ranges(), vars: make([]*value, fn.Slots, fn.Slots+16)}
	s.total()
	r.now = s
	r.calls = append(r.calls, &frame{fn: fn})
	for _, p := range fn.Params {
		r.set(s, p.Slot, r.argument(p))
	}
	return s
}

// unnamed tells of a type that nothing declares.
func (r *run) unnamed(t *csource.Type) {
	for t.Elem != nil {
		t = t.Elem
	}
	if t.Class == csource.Unknown && t.Name != "auto" {
		r.note("type %s is not declared in the source: it is taken for float (the options say otherwise)", t.Name)
	}
}

// argument is the value of a parameter of the kernel.
func (r *run) argument(p *csource.Variable) *value {
	t := p.Type
	r.unnamed(t)
	x, given := r.launch.Scalars[p.Name]
	switch {
	case t.Class == csource.Pointer:
		o := newObject(p.Name, t.Space, t.Elem)
		o.param = true
		o.bytes = r.launch.Bytes[p.Name]
		if t.Space == csource.Local && o.bytes > 0 {
			r.locals += o.bytes
		}
		r.objects = append(r.objects, o)
		return &value{t: t, k: uniform, in: point(0), obj: o}
	case t.Class == csource.Floating && given:
		return decimal(x, t)
	case t.Class == csource.Integer && given:
		return constant(wrap(int64(x), t), t)
	case t.Class == csource.Unknown && given && x != float64(int64(x)):
		return decimal(x, t)
	case t.Class == csource.Unknown && given:
		c := constant(int64(x), t)
		return c
	}
	if t.Class == csource.Integer {
		r.note("argument %s has no value: what depends on it is assumed", p.Name)
	}
	return anything(t, false)
}

// global is the value of a name that is no variable of the function.
func (r *run) global(name string) *value {
	if v, ok := r.p.Unit.Enums[name]; ok {
		return constant(v, tInt)
	}
	g := r.p.Unit.Globals[name]
	if g == nil {
		if name == "warpSize" {
			return constant(32, tInt)
		}
		if x, ok := r.launch.Scalars[name]; ok {
			if x == float64(int64(x)) {
				return constant(int64(x), tInt)
			}
			return decimal(x, tFloat)
		}
		r.note("%s is not declared in the source: its value is unknown (give it with -D or among the scalars)", name)
		return anything(tInt, false)
	}
	if g.Type.Class == csource.Array {
		return r.array(g, g.Type, csource.Constants)
	}
	switch x := g.Init.(type) {
	case *csource.FloatLit:
		return decimal(x.Value, g.Type)
	default:
		if v, ok := csource.Constant(g.Init); g.Init != nil && ok {
			if g.Type.Class == csource.Floating {
				return decimal(float64(v), g.Type)
			}
			return constant(v, g.Type)
		}
	}
	if x, ok := r.launch.Scalars[name]; ok && x == float64(int64(x)) && g.Type.Class == csource.Integer {
		return constant(int64(x), g.Type)
	}
	return anything(g.Type, false)
}

// array is a pointer to the start of an array variable.
func (r *run) array(v *csource.Variable, t *csource.Type, space csource.Space) *value {
	o := r.arrays[v]
	if o == nil {
		elem := t
		for elem.Class == csource.Array {
			elem = elem.Elem
		}
		o = newObject(v.Name, space, elem)
		o.bytes = r.sizeOf(t)
		r.arrays[v] = o
		if space == csource.Local {
			if t.Class == csource.Array && t.Len == nil { // extern __shared__
				o.bytes = r.launch.Bytes[v.Name]
			}
			r.locals += o.bytes
			r.objects = append(r.objects, o)
		}
		if space == csource.Private {
			r.private += o.bytes
		}
	}
	return &value{t: t, k: uniform, in: point(0), obj: o}
}

// sizeOf is a type's size, with lengths of arrays that the launch tells.
func (r *run) sizeOf(t *csource.Type) int64 {
	if t.Class != csource.Array {
		return int64(t.Size())
	}
	n := int64(1)
	if t.Len != nil {
		r.quiet++
		v := r.eval(r.now, t.Len)
		r.quiet--
		if v.k == uniform && v.u > 0 && v.u < 1<<32 {
			n = v.u
		}
	}
	return limit(mulSat(n, r.sizeOf(t.Elem)))
}
