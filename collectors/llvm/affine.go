package llvm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// How a value changes with a symbol, from the best known to the least.
const (
	known     = iota // by n per step
	invariant        // by the same amount per step, which is no constant
	nonlinear        // in another way
	indirect         // through memory: as a loaded value says
)

// coefficient says how a value changes with one symbol.
type coefficient struct {
	kind int
	n    int64
}

// affine is a value as a sum over symbols. Symbols are the counters of loops,
// "loop 3", and the ids of an OpenCL, CUDA or HIP work-item, "global 0",
// "local 0", "group 0". What is not a symbol does not change.
type affine struct {
	constant bool // it is the number n, and has no symbols
	n        int64
	by       map[string]coefficient
}

// scale multiplies by what does not change with any symbol.
func (a affine) scale(n int64, number bool) affine {
	r := affine{constant: a.constant && number, n: a.n * n, by: map[string]coefficient{}}
	for s, c := range a.by {
		switch {
		case number && c.kind == known && n != 0:
			c.n *= n
		case number && n == 0:
			continue
		case !number && c.kind == known:
			c = coefficient{kind: invariant}
		}
		r.by[s] = c
	}
	return r
}

func (a affine) plus(b affine) affine {
	r := affine{constant: a.constant && b.constant, n: a.n + b.n, by: map[string]coefficient{}}
	for s, c := range a.by {
		r.by[s] = c
	}
	for s, c := range b.by {
		was, ok := r.by[s]
		switch {
		case !ok:
			r.by[s] = c
		case was.kind == known && c.kind == known:
			if r.by[s] = (coefficient{known, was.n + c.n}); was.n+c.n == 0 {
				delete(r.by, s)
			}
		default:
			r.by[s] = coefficient{kind: max(was.kind, c.kind)}
		}
	}
	return r
}

// blur is a value that depends on others in a way that is not followed.
func blur(kind int, vs ...affine) affine {
	r := affine{by: map[string]coefficient{}}
	for _, v := range vs {
		for s, c := range v.by {
			r.by[s] = coefficient{kind: max(kind, c.kind, r.by[s].kind)}
		}
	}
	return r
}

// analysis follows the values of one function.
type analysis struct {
	f      *Function
	loops  []Loop
	header map[int]int // block -> loop
	memo   map[string]affine
	busy   map[string]bool
	depth  int

	kept    []string // the keys of memo, in the order in which they came
	inCycle bool     // a loop's header is under way
}

func (f *Function) analyse(loops []Loop) *analysis {
	a := &analysis{f: f, loops: loops, header: map[int]int{}, memo: map[string]affine{}, busy: map[string]bool{}}
	for i, l := range loops {
		a.header[l.Header] = i
	}
	return a
}

func loopSymbol(i int) string { return fmt.Sprintf("loop %d", i) }

// value follows an operand.
func (a *analysis) value(v string) affine {
	if n, err := strconv.ParseInt(v, 10, 64); err == nil {
		return affine{constant: true, n: n}
	}
	in, ok := a.f.defs[v]
	if !ok { // a parameter, a global, a constant
		return affine{}
	}
	if r, ok := a.memo[v]; ok {
		return r
	}
	if a.busy[v] || a.depth > 2000 {
		// Round a cycle that is no counter: it changes with the loops that it
		// is in, in some way.
		r := affine{by: map[string]coefficient{}}
		for i, l := range a.loops {
			for _, b := range l.Blocks {
				if b == in.Block {
					r.by[loopSymbol(i)] = coefficient{kind: nonlinear}
				}
			}
		}
		return r
	}
	a.busy[v] = true
	a.depth++
	_, cycle := a.header[in.Block]
	cycle = cycle && in.Op == "phi" && !a.inCycle
	before := len(a.kept)
	a.inCycle = a.inCycle || cycle
	r := a.instruction(in)
	a.depth--
	delete(a.busy, v)
	if cycle {
		// What was found on the way round took this value for unknown: with it
		// known, more may be.
		for _, k := range a.kept[before:] {
			delete(a.memo, k)
		}
		a.kept, a.inCycle = a.kept[:before], false
	}
	a.memo[v] = r
	a.kept = append(a.kept, v)
	return r
}

func (a *analysis) instruction(in *Instr) affine {
	args := func() []affine {
		vs := make([]affine, len(in.args))
		for i, v := range in.args {
			vs[i] = a.value(v)
		}
		return vs
	}
	switch in.Op {
	case "phi":
		return a.phi(in)
	case "add":
		v := args()
		return v[0].plus(v[1])
	case "sub":
		v := args()
		return v[0].plus(v[1].scale(-1, true))
	case "or":
		// LLVM writes an addition that cannot carry as or.
		disjoint := strings.HasPrefix(in.Text[strings.Index(in.Text, "= ")+2:], "or disjoint ") // since LLVM 18
		if v := args(); disjoint || v[1].constant && v[1].n >= 0 && multiples(v[0], v[1].n) {
			return v[0].plus(v[1])
		} else {
			return blur(nonlinear, v...)
		}
	case "mul":
		v := args()
		return times(v[0], v[1])
	case "shl":
		if v := args(); v[1].constant && v[1].n >= 0 && v[1].n < 62 {
			return v[0].scale(1<<v[1].n, true)
		} else {
			return blur(nonlinear, v...)
		}
	case "sext", "zext", "trunc", "bitcast", "addrspacecast", "ptrtoint", "inttoptr", "freeze":
		return a.value(in.args[0])
	case "getelementptr":
		return a.address(in)
	case "load":
		v := a.value(in.args[0])
		r := blur(indirect, v)
		if slot, ok := a.f.defs[in.args[0]]; ok && slot.Op == "alloca" { // unoptimised code: a variable
			for i, l := range a.loops {
				if a.writtenIn(l, in.args[0]) {
					r = r.plus(affine{by: map[string]coefficient{loopSymbol(i): {kind: nonlinear}}})
				}
			}
		}
		return r
	case "call", "invoke":
		if s, ok := workItem(in); ok {
			return affine{by: map[string]coefficient{s: {known, 1}}}
		}
		return blur(nonlinear, args()...)
	case "alloca":
		return affine{}
	}
	return blur(nonlinear, args()...)
}

func times(x, y affine) affine {
	switch {
	case y.constant:
		return x.scale(y.n, true)
	case x.constant:
		return y.scale(x.n, true)
	case len(y.by) == 0:
		return x.scale(0, false)
	case len(x.by) == 0:
		return y.scale(0, false)
	}
	return blur(nonlinear, x, y)
}

// multiples says that a value changes in steps of a power of two above n.
func multiples(a affine, n int64) bool {
	step := int64(1)
	for step <= n {
		step *= 2
	}
	for _, c := range a.by {
		if c.kind != known || c.n%step != 0 {
			return false
		}
	}
	return len(a.by) > 0 && (!a.constant || a.n%step == 0)
}

// phi finds the counter of a loop: start outside, plus the same step each time
// round.
func (a *analysis) phi(in *Instr) affine {
	i, isHeader := a.header[in.Block]
	if !isHeader {
		vs := make([]affine, 0, len(in.args))
		for _, v := range in.args {
			vs = append(vs, a.value(v))
		}
		return blur(nonlinear, vs...)
	}
	s := loopSymbol(i)
	var start, step affine
	starts, found, counter := 0, false, true
	var back []string
	for k, v := range in.args {
		if k >= len(in.labels) {
			break
		}
		from := a.f.blocks[in.labels[k]]
		if !has(a.loops[i].Blocks, from) {
			start = a.value(v)
			starts++
			continue
		}
		back = append(back, v)
		d, ok := a.step(v, in.Result, 0)
		if !ok || found && (d.n != step.n || !d.constant) || d.by[s].kind != known || d.by[s].n != 0 {
			counter = false
			continue
		}
		step, found = d, true
	}
	if counter && found && starts == 1 {
		c := coefficient{known, step.n}
		if !step.constant {
			c = coefficient{kind: invariant}
			for _, b := range step.by {
				c.kind = max(c.kind, b.kind)
			}
		} else if step.n == 0 {
			return start
		}
		return start.plus(affine{by: map[string]coefficient{s: c}})
	}
	// What goes round: a pointer that is chased changes as memory says.
	kind := nonlinear
	for _, v := range back {
		kind = max(kind, a.value(v).by[s].kind)
	}
	r := blur(nonlinear, start)
	r.by[s] = coefficient{kind: kind}
	return r
}

func has(sorted []int, n int) bool {
	for _, b := range sorted {
		if b == n {
			return true
		}
	}
	return false
}

// step finds how much v is above the phi.
func (a *analysis) step(v, phi string, depth int) (affine, bool) {
	if v == phi {
		return affine{constant: true}, true
	}
	in, ok := a.f.defs[v]
	if !ok || depth > 50 {
		return affine{}, false
	}
	switch in.Op {
	case "add":
		for k := range 2 {
			if d, ok := a.step(in.args[k], phi, depth+1); ok {
				return d.plus(a.value(in.args[1-k])), true
			}
		}
	case "sub":
		if d, ok := a.step(in.args[0], phi, depth+1); ok {
			return d.plus(a.value(in.args[1]).scale(-1, true)), true
		}
	case "getelementptr":
		if d, ok := a.step(in.args[0], phi, depth+1); ok {
			return d.plus(a.offset(in)), true
		}
	case "trunc", "sext", "zext", "bitcast", "freeze":
		return a.step(in.args[0], phi, depth+1)
	}
	return affine{}, false
}

func (a *analysis) address(in *Instr) affine {
	return a.value(in.args[0]).plus(a.offset(in))
}

// offset is what a getelementptr adds to its pointer, in bytes.
func (a *analysis) offset(in *Instr) affine {
	m := a.f.module
	t := in.typ
	sum := affine{constant: true}
	for k, v := range in.args[1:] {
		index := a.value(v)
		if k > 0 {
			for t != nil && t.kind == 'S' && t.named != "" {
				t = m.structs[t.named]
			}
			if t == nil {
				return blur(nonlinear, sum, index)
			}
			switch t.kind {
			case 'S':
				if !index.constant || index.n < 0 || index.n >= int64(len(t.fields)) {
					return blur(nonlinear, sum, index)
				}
				at, _, _ := m.offsets(t, int(index.n), 0)
				sum = sum.plus(affine{constant: true, n: int64(at)})
				t = t.fields[index.n]
				continue
			case 'A', 'V':
				t = t.elem
			default:
				return blur(nonlinear, sum, index)
			}
		}
		sum = sum.plus(index.scale(int64(m.size(t)), true))
	}
	return sum
}

// writtenIn says whether a variable on the stack is stored to in a loop.
func (a *analysis) writtenIn(l Loop, slot string) bool {
	for _, b := range l.Blocks {
		for _, in := range a.f.Blocks[b].Instrs {
			if in.Op == "store" && len(in.args) == 2 && in.args[1] == slot {
				return true
			}
		}
	}
	return false
}

var sregs = regexp.MustCompile(`^@llvm\.(?:nvvm\.read\.ptx\.sreg\.(tid|ctaid)|amdgcn\.(workitem|workgroup)\.id)\.([xyz])`)

// workItem recognises the calls that ask for a work-item's ids.
func workItem(in *Instr) (string, bool) {
	if m := sregs.FindStringSubmatch(in.callee); m != nil {
		which := "local "
		if m[1] == "ctaid" || m[2] == "workgroup" {
			which = "group "
		}
		return which + strconv.Itoa(strings.Index("xyz", m[3])), true
	}
	for name, which := range map[string]string{"get_global_id": "global ", "get_local_id": "local ", "get_group_id": "group "} {
		if strings.Contains(in.callee, name) && len(in.args) == 1 {
			if d, err := strconv.Atoi(in.args[0]); err == nil {
				return which + strconv.Itoa(d), true
			}
			return which + "?", true
		}
	}
	return "", false
}
