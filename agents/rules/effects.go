package rules

import (
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// access is a use of memory: an element of an array, or what a pointer points to.
type access struct {
	v           *syntax.Variable
	dims        []poly // by dimension; nil for one that is not linear
	index       []*syntax.Node
	node        *syntax.Node
	read, write bool
	loops       []*loop // of the region that it stands in, the outermost first
	conditional bool    // it may not be executed in each iteration
	// via is the pointer that the text names, where it leads into v (see place).
	via *syntax.Variable
	// atomic is what an atomic function does there (see atomics), "" for all else.
	atomic string
}

// effects are what a region of a function does.
type effects struct {
	accesses []access
	reads    map[*syntax.Variable][]*syntax.Node // of variables that are no memory
	writes   map[*syntax.Variable][]*syntax.Node
	declared map[*syntax.Variable]bool
	calls    []string // functions that may have effects
	jumps    []string // that leave the region or an iteration
	trouble  []string // what is not understood
}

// why is the first reason for which nothing is known about the region; "" where
// all is.
func (e *effects) why() string {
	switch {
	case len(e.trouble) > 0:
		return e.trouble[0]
	case len(e.calls) > 0:
		return "it calls " + e.calls[0] + ", which may have effects"
	case len(e.jumps) > 0:
		return "it may leave early (" + e.jumps[0] + ")"
	}
	return ""
}

// pure are functions without effects, but for errno.
var pure = set("sqrt cbrt fabs exp exp2 exp10 log log2 log10 log1p expm1 sin cos tan asin acos atan atan2 sinh cosh tanh pow hypot floor ceil trunc round rint fmin fmax fma fmod copysign erf erfc " +
	"sqrtf cbrtf fabsf expf exp2f logf log2f log10f sinf cosf tanf asinf acosf atanf atan2f sinhf coshf tanhf powf hypotf floorf ceilf truncf roundf rintf fminf fmaxf fmaf fmodf copysignf erff " +
	"abs labs min max clamp mix mad rsqrt native_sqrt native_rsqrt native_exp native_log native_sin native_cos native_recip native_divide half_sqrt mul24 mad24 select dot length " +
	"convert_int convert_float convert_double convert_uint isnan isinf __fdividef rsqrtf __expf __logf popcount")

// harmless reports whether a name is that of a function without effects, or of one
// that tells work-items apart.
func (v *view) harmless(f *syntax.Node) bool {
	if f.Kind != syntax.Name || f.Var != nil {
		return false
	}
	return pure[f.Op] || !f.Std && (ids[f.Op] || v.unit.pure(f.Op))
}

type collector struct {
	v     *view
	e     *effects
	loops []*loop
	inIf  int
	depth int // of loops: below the first, break and continue stay in the region
}

// effects collects what a node does.
func (v *view) effects(n *syntax.Node) *effects {
	c := &collector{v: v, e: &effects{reads: map[*syntax.Variable][]*syntax.Node{}, writes: map[*syntax.Variable][]*syntax.Node{}, declared: map[*syntax.Variable]bool{}}}
	c.node(n)
	return c.e
}

func (c *collector) trouble(n *syntax.Node, format string, args ...any) {
	c.e.trouble = append(c.e.trouble, fmt.Sprintf("line %d: ", c.v.file.Line(n.Start))+fmt.Sprintf(format, args...))
}

func (c *collector) kids(n *syntax.Node) {
	for _, k := range n.Kids {
		c.node(k)
	}
}

func (c *collector) node(n *syntax.Node) {
	if n == nil {
		return
	}
	v := c.v
	switch n.Kind {
	case syntax.Bad:
		c.trouble(n, "it is not understood")
	case syntax.Declared:
		c.e.declared[n.Var] = true
		if n.Var.Type.Static || n.Var.Type.Volatile || n.Var.Type.Base == "" {
			c.trouble(n, "%s is static, volatile or of no type that is known", n.Op)
		}
		if n.Kids[0] != nil {
			c.e.writes[n.Var] = append(c.e.writes[n.Var], n)
		}
		if v.place(n.Var) != nil {
			c.pointer(n.Kids[0])
			return
		}
		if l := n.Kids[0].Bare(); len(n.Var.Type.Dims) > 0 && n.Var.Type.Pointers == 0 && l != nil && l.Kind == syntax.List {
			c.kids(l)
			c.e.accesses = append(c.e.accesses, c.somewhere(n.Var, n, false, true))
			return
		}
		if n.Var.Type.Indirect() && (len(n.Var.Type.Dims) == 0 || n.Kids[0] != nil) {
			c.trouble(n, "%s points to what is not known", n.Op)
			return
		}
		c.kids(n)
	case syntax.For:
		l := v.loopOf[n]
		c.node(n.Kids[0])
		if l != nil {
			c.loops = append(c.loops, l)
		} // else its counter is a variable like others, which changes
		c.depth++
		c.node(n.Kids[1])
		c.inIf++ // it may have no iteration
		c.node(n.Kids[3])
		c.node(n.Kids[2])
		c.inIf--
		c.depth--
		if l != nil {
			c.loops = c.loops[:len(c.loops)-1]
		}
	case syntax.While, syntax.Do:
		c.depth++
		c.inIf++
		c.kids(n)
		c.inIf--
		c.depth--
	case syntax.If, syntax.Conditional:
		c.node(n.Kids[0])
		c.inIf++
		around := c.loops
		c.loops = slices.Concat(around, v.guards(n))
		c.node(n.Kids[1])
		c.loops = around
		c.node(n.Kids[2])
		c.inIf--
	case syntax.Return:
		c.e.jumps = append(c.e.jumps, "return")
		c.kids(n)
	case syntax.Jump:
		if c.depth < 2 || n.Op != "break" && n.Op != "continue" {
			c.e.jumps = append(c.e.jumps, n.Op)
		}
	case syntax.Directive:
		c.trouble(n, "a directive, %s", firstLine(n.Op))
	case syntax.Name:
		c.name(n, true, false)
	case syntax.Index:
		c.access(n, true, false)
	case syntax.Member:
		if n.Op[0] == '-' {
			c.through(n, true, false)
			return
		}
		if b := n.Kids[0].Bare(); b.Kind == syntax.Name && b.Var == nil && ids[b.Op] {
			return
		}
		c.node(n.Kids[0])
	case syntax.Unary:
		switch n.Op {
		case "++", "--":
			c.target(n.Kids[0], true)
		case "&":
			c.trouble(n, "the address of %s is taken", v.text(n.Kids[0]))
		case "*":
			c.access(n, true, false)
		default:
			c.kids(n)
		}
	case syntax.Postfix:
		c.target(n.Kids[0], true)
	case syntax.Assign:
		c.node(n.Kids[1])
		c.target(n.Kids[0], n.Op != "=")
	case syntax.Call:
		f := n.Kids[0].Bare()
		if !v.harmless(f) {
			if c.atomic(n) || c.known(n) {
				return
			}
			c.e.calls = append(c.e.calls, v.text(n.Kids[0]))
		}
		for _, a := range n.Kids[1:] {
			c.node(a)
		}
	case syntax.Binary:
		c.node(n.Kids[0])
		if n.Op == "&&" || n.Op == "||" {
			c.inIf++
			defer func() { c.inIf-- }()
		}
		c.node(n.Kids[1])
	default:
		c.kids(n)
	}
}

func firstLine(s string) string {
	for i, r := range s {
		if r == '\n' || i > 40 {
			return s[:i] + "..."
		}
	}
	return s
}

// target is the left side of an assignment, which is read as well with read.
func (c *collector) target(n *syntax.Node, read bool) {
	n = n.Bare()
	if n == nil {
		return
	}
	switch n.Kind {
	case syntax.Name:
		c.name(n, read, true)
	case syntax.Index:
		c.access(n, read, true)
	case syntax.Member:
		if n.Op[0] == '-' {
			c.through(n, read, true)
			return
		}
		c.target(n.Kids[0], true) // the other members stay
	case syntax.Unary:
		if n.Op == "*" {
			c.access(n, read, true)
			return
		}
		fallthrough
	default:
		c.trouble(n, "%s is assigned to", c.v.text(n))
	}
}

func (c *collector) name(n *syntax.Node, read, write bool) {
	x := n.Var
	switch {
	case x == nil:
		if !capitals(n.Op) && n.Op != "true" && n.Op != "false" || write {
			c.trouble(n, "%s is declared nowhere that is seen", n.Op)
		}
		return
	case x.Enum:
		return
	case x.Type.Indirect():
		c.trouble(n, "%s is used as a pointer", n.Op)
		return
	case x.Type.Volatile || x.Type.Static || x.Type.Base == "":
		c.trouble(n, "%s is volatile, static or of no type that is known", n.Op)
	case c.v.taken[x]:
		c.trouble(n, "the address of %s is taken elsewhere", n.Op)
	}
	if read {
		c.e.reads[x] = append(c.e.reads[x], n)
	}
	if write {
		c.e.writes[x] = append(c.e.writes[x], n)
	}
}

// peel is the variable and the indices of a[i][j] or *a; nil where it is another
// thing.
func peel(n *syntax.Node) (*syntax.Variable, []*syntax.Node) {
	var index []*syntax.Node
	for n != nil && n.Kind == syntax.Index {
		index = append([]*syntax.Node{n.Kids[1]}, index...)
		n = n.Kids[0].Bare()
	}
	if n != nil && n.Kind == syntax.Unary && n.Op == "*" && len(index) == 0 {
		n = n.Kids[0].Bare()
		index = []*syntax.Node{nil}
	}
	if n == nil || n.Kind != syntax.Name || n.Var == nil {
		return nil, nil
	}
	return n.Var, index
}

func (c *collector) access(n *syntax.Node, read, write bool) {
	x, index := peel(n)
	if x == nil || !x.Type.Indirect() {
		c.trouble(n, "what %s means is not known", c.v.text(n))
		return
	}
	for _, i := range index {
		c.node(i)
	}
	switch t := x.Type; {
	case len(index) != t.Pointers+len(t.Dims):
		c.trouble(n, "%s is a part of %s, used as a pointer", c.v.text(n), x.Name)
		return
	case t.Pointers > 1 || t.Pointers > 0 && len(t.Dims) > 0:
		c.trouble(n, "rows of %s may overlap", x.Name)
		return
	case t.Volatile || t.Base == "":
		c.trouble(n, "%s is volatile or of no type that is known", x.Name)
		return
	case c.v.written[x] > 0 && !c.v.own(x) || c.v.taken[x]:
		c.trouble(n, "the pointer %s changes", x.Name)
		return
	}
	a := access{v: x, index: index, node: n, read: read, write: write, loops: append([]*loop(nil), c.loops...), conditional: c.inIf > 0}
	for _, i := range index {
		if i == nil {
			a.dims = append(a.dims, constant(0))
		} else {
			a.dims = append(a.dims, c.v.form(i, n))
		}
	}
	if p := c.v.place(x); p != nil {
		a.v, a.via = p.base, x
		a.dims = append(slices.Clone(p.rows), p.offset.add(a.dims[0], 1))
	}
	c.e.accesses = append(c.e.accesses, a)
}
