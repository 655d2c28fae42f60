package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// view is a function with what is known about its variables.
type view struct {
	unit *unit
	path string
	file *syntax.File
	fn   *syntax.Function
	opt  Options

	written map[*syntax.Variable]int  // how often something writes to it, beside its initial value
	taken   map[*syntax.Variable]bool // its address is taken
	parent  map[*syntax.Node]*syntax.Node
	loops   []*loop // all that are understood, in the order of the text
	loopOf  map[*syntax.Node]*loop
	// refused says why a loop is not understood.
	refused map[*syntax.Node]string
	// distinct are pointer parameters that no caller passes overlapping: pairs.
	distinct map[[2]*syntax.Variable]string
	floor    map[*syntax.Variable]int64 // parameters for which all callers pass numbers, the least of them
	labels   bool                       // it has goto
	steps    int                        // of the form that is made
	texts    map[string]*syntax.Node    // opaque atoms, by key
	vars     map[string]*syntax.Variable
	places   map[*syntax.Variable]*place // what pointers of the function lead to
	owned    map[*syntax.Variable]bool   // see own
	guarded  map[*syntax.Node][]*loop    // see guards
}

func newView(u *unit, path string, f *syntax.File, fn *syntax.Function, opt Options) *view {
	v := &view{unit: u, path: path, file: f, fn: fn, opt: opt, written: map[*syntax.Variable]int{}, taken: map[*syntax.Variable]bool{},
		parent: map[*syntax.Node]*syntax.Node{}, loopOf: map[*syntax.Node]*loop{}, refused: map[*syntax.Node]string{},
		distinct: map[[2]*syntax.Variable]string{}, texts: map[string]*syntax.Node{}, vars: map[string]*syntax.Variable{}, places: map[*syntax.Variable]*place{}, owned: map[*syntax.Variable]bool{}, guarded: map[*syntax.Node][]*loop{}, floor: map[*syntax.Variable]int64{}}
	syntax.Walk(fn.Body, func(n *syntax.Node) bool {
		for _, k := range n.Kids {
			if k != nil {
				v.parent[k] = n
			}
		}
		switch n.Kind {
		case syntax.Jump:
			v.labels = v.labels || n.Op == "goto" || n.Op == "label"
		case syntax.Bad:
			v.labels = true
		case syntax.Assign:
			v.write(n.Kids[0])
		case syntax.Postfix:
			v.write(n.Kids[0])
		case syntax.Unary:
			switch n.Op {
			case "++", "--":
				v.write(n.Kids[0])
			case "&":
				if b := n.Kids[0].Bare(); b != nil && b.Kind == syntax.Name && b.Var != nil {
					if v.lent(n) {
						v.written[b.Var]++ // it may be
					} else {
						v.taken[b.Var] = true
					}
				}
			}
		}
		return true
	})
	syntax.Walk(fn.Body, func(n *syntax.Node) bool {
		if n.Kind == syntax.For {
			l, why := v.canonical(n)
			if l == nil {
				v.refused[n] = why
			} else {
				v.loops = append(v.loops, l)
				v.loopOf[n] = l
			}
		}
		return true
	})
	return v
}

func (v *view) write(target *syntax.Node) {
	for b := target.Bare(); b != nil; b = b.Kid(0).Bare() {
		switch b.Kind {
		case syntax.Name:
			if b.Var != nil {
				v.written[b.Var]++
			}
			return
		case syntax.Member:
			if b.Op[0] != '-' { // else it is what the pointer leads to
				continue
			}
		}
		return
	}
}

func (v *view) text(n *syntax.Node) string { return v.file.Of(n) }

// key is a variable's atom.
func (v *view) key(x *syntax.Variable) string {
	k := fmt.Sprintf("%s@%d", x.Name, x.Start)
	v.vars[k] = x
	return k
}

// loop is a for loop that counts up from lo to below hi.
type loop struct {
	node *syntax.Node
	v    *syntax.Variable
	key  string
	// lo and hi are nil where they are no polynomials of what stays the same.
	lo, hi    poly
	loN, hiN  *syntax.Node
	inclusive bool // hi is hiN + 1
	step      int64
	body      *syntax.Node
	declared  bool // v is declared in the loop's head
	outer     *loop
}

var integers = map[string]bool{"int": true, "unsigned int": true, "long": true, "unsigned long": true, "long long": true, "unsigned long long": true,
	"short": true, "unsigned short": true, "char": true, "unsigned char": true, "signed char": true, "size_t": true, "ssize_t": true, "ptrdiff_t": true,
	"int8_t": true, "int16_t": true, "int32_t": true, "int64_t": true, "uint8_t": true, "uint16_t": true, "uint32_t": true, "uint64_t": true, "intptr_t": true, "uintptr_t": true}

func unsigned(base string) bool {
	return strings.HasPrefix(base, "unsigned") || strings.HasPrefix(base, "uint") || base == "size_t" || base == "uintptr_t"
}

// canonical reads a for loop; nil and why where it is none that counts up by a
// constant and whose bounds stay the same.
func (v *view) canonical(n *syntax.Node) (*loop, string) {
	l := &loop{node: n, body: n.Kids[3]}
	init := n.Kids[0]
	switch {
	case init == nil:
		return nil, "it has no initial value"
	case init.Kind == syntax.Declare && len(init.Kids) == 1:
		l.v, l.loN, l.declared = init.Kids[0].Var, init.Kids[0].Kids[0], true
	case init.Kind == syntax.Evaluate:
		if a := init.Kids[0].Bare(); a.Kind == syntax.Assign && a.Op == "=" && a.Kids[0].Kind == syntax.Name {
			l.v, l.loN = a.Kids[0].Var, a.Kids[1]
		}
	}
	if l.v == nil || l.loN == nil || l.v.Global || !integers[l.v.Type.Base] || l.v.Type.Indirect() {
		return nil, "it does not count one integer variable of its own"
	}
	l.key = v.key(l.v)
	c := n.Kids[1].Bare()
	if c == nil || c.Kind != syntax.Binary || c.Op != "<" && c.Op != "<=" || c.Kids[0].Bare().Kind != syntax.Name || c.Kids[0].Bare().Var != l.v {
		return nil, "its end is not written as " + l.v.Name + " < END"
	}
	l.hiN, l.inclusive = c.Kids[1], c.Op == "<="
	s := n.Kids[2].Bare()
	if s != nil && len(s.Kids) > 0 && s.Kids[0].Bare().Kind == syntax.Name && s.Kids[0].Bare().Var == l.v {
		switch {
		case (s.Kind == syntax.Postfix || s.Kind == syntax.Unary) && s.Op == "++":
			l.step = 1
		case s.Kind == syntax.Assign && s.Op == "+=":
			l.step, _ = v.form(s.Kids[1], nil).value()
		case s.Kind == syntax.Assign && s.Op == "=":
			if d, ok := v.form(s.Kids[1], nil).add(atom(l.key), -1).value(); ok {
				l.step = d
			}
		}
	}
	if l.step <= 0 {
		return nil, "it does not count up by a constant"
	}
	changed := ""
	writes := map[*syntax.Variable]bool{}
	syntax.Walk(l.body, func(k *syntax.Node) bool {
		if x := writtenBy(k); x != nil {
			writes[x] = true
		}
		return true
	})
	if writes[l.v] || v.taken[l.v] {
		changed = l.v.Name
	}
	for _, b := range []*syntax.Node{l.loN, l.hiN} {
		syntax.Walk(b, func(k *syntax.Node) bool {
			if writtenBy(k) != nil || k.Kind == syntax.Name && k.Var != nil && (writes[k.Var] || k.Var == l.v || v.taken[k.Var]) {
				changed = v.text(b)
			}
			return true
		})
	}
	if changed != "" {
		return nil, changed + " changes while it runs"
	}
	for p := v.parent[n]; p != nil; p = v.parent[p] {
		if o := v.loopOf[p]; o != nil {
			l.outer = o
			break
		}
	}
	l.lo, l.hi = v.form(l.loN, n), v.form(l.hiN, n)
	if l.inclusive {
		l.hi = l.hi.add(constant(1), 1)
	}
	return l, ""
}

// writtenBy is the variable that an assignment, or ++ and --, writes to itself, or
// whose address is taken.
func writtenBy(k *syntax.Node) *syntax.Variable {
	if k.Kind == syntax.Assign || k.Kind == syntax.Postfix || k.Kind == syntax.Unary && (k.Op == "++" || k.Op == "--" || k.Op == "&") {
		b := k.Kids[0].Bare()
		for b != nil && b.Kind == syntax.Member {
			b = b.Kid(0).Bare()
		}
		if b != nil && b.Kind == syntax.Name {
			return b.Var
		}
	}
	return nil
}

// form is an integer expression as a polynomial, at a node of the function: a
// variable that has one value only, given where it is declared, is written as
// that. Nil where it cannot be said.
func (v *view) form(n, at *syntax.Node) poly {
	v.steps = 0
	return v.formAt(n, at, 0)
}

// maxSteps is how many expressions one form may go through: variables that are
// given twice the one before would double their number each time.
const maxSteps = 2000

func (v *view) formAt(n, at *syntax.Node, depth int) poly {
	n = n.Bare()
	if v.steps++; n == nil || depth > 30 || v.steps > maxSteps {
		return nil
	}
	switch n.Kind {
	case syntax.Number:
		c, err := strconv.ParseInt(strings.TrimRight(n.Op, "uUlL"), 0, 64)
		if err != nil || c > maxCoef {
			return nil
		}
		return constant(c)
	case syntax.Name:
		x := n.Var
		if x == nil {
			if !capitals(n.Op) {
				return nil
			}
			return atom(n.Op)
		}
		if x.Enum {
			return atom(n.Op)
		}
		if x.Type.Indirect() || !integers[x.Type.Base] || x.Type.Volatile {
			return nil
		}
		if !x.Param && !x.Global && v.written[x] == 0 && !v.taken[x] && x.Decl != nil && x.Decl.Kids[0] != nil && !x.Type.Static {
			if p := v.formAt(x.Decl.Kids[0], at, depth+1); p != nil && v.steady(p, x.Decl) {
				return p
			}
		}
		return atom(v.key(x))
	case syntax.Binary:
		a, b := v.formAt(n.Kids[0], at, depth+1), v.formAt(n.Kids[1], at, depth+1)
		switch n.Op {
		case "+":
			return a.add(b, 1)
		case "-":
			return a.add(b, -1)
		case "*":
			return a.mul(b)
		case "/", "%", ">>", "<<", "&":
			if a != nil && b != nil {
				return v.opaque(n)
			}
		}
	case syntax.Unary:
		if a := v.formAt(n.Kids[0], at, depth+1); n.Op == "-" {
			return constant(0).add(a, -1)
		} else if n.Op == "+" {
			return a
		}
	case syntax.Cast:
		if b := n.Type.Base; n.Type.Pointers == 0 && integers[b] && !strings.Contains(b, "char") && !strings.Contains(b, "short") && !strings.Contains(b, "8_t") && !strings.Contains(b, "16_t") {
			return v.formAt(n.Kids[0], at, depth+1)
		}
	case syntax.Call:
		if f := n.Kids[0]; f.Kind == syntax.Name && ids[f.Op] && f.Var == nil {
			return v.opaque(n)
		}
	case syntax.Member: // threadIdx.x
		if b := n.Kids[0]; b.Kind == syntax.Name && b.Var == nil && ids[b.Op] {
			return v.opaque(n)
		}
	}
	return nil
}

// steady reports whether a value does not change once a declaration gave it: its
// variables are never written, or count loops that the declaration stands in.
func (v *view) steady(p poly, decl *syntax.Node) bool {
	for k := range p {
		if k == "" {
			continue
		}
		for _, a := range strings.Split(k, "*") {
			vars := []*syntax.Variable{v.vars[a]}
			if n := v.texts[a]; n != nil {
				vars = nil
				syntax.Walk(n, func(k *syntax.Node) bool {
					if k.Kind == syntax.Name && k.Var != nil {
						vars = append(vars, k.Var)
					}
					return true
				})
			}
			for _, x := range vars {
				if x == nil || v.written[x] == 0 && !v.taken[x] && !x.Global {
					continue
				}
				inside := false
				for n := v.parent[decl]; n != nil; n = v.parent[n] {
					if l := v.loopOf[n]; l != nil && l.v == x {
						inside = true
						break
					}
				}
				if !inside {
					return false
				}
			}
		}
	}
	return true
}

// opaque is an expression without effects as an atom of its own.
func (v *view) opaque(n *syntax.Node) poly {
	var b strings.Builder
	ok := true
	syntax.Walk(n, func(k *syntax.Node) bool {
		switch k.Kind {
		case syntax.Name:
			if k.Var != nil {
				b.WriteString(v.key(k.Var) + " ")
			} else {
				b.WriteString(k.Op + " ")
			}
		case syntax.Number:
			b.WriteString(k.Op + " ")
		case syntax.Binary, syntax.Unary, syntax.Member, syntax.Call, syntax.Cast:
			fmt.Fprintf(&b, "%d%s%d ", k.Kind, strings.ReplaceAll(k.Op, "*", "×"), len(k.Kids))
		case syntax.Paren, syntax.Macro:
		default:
			ok = false
		}
		return ok
	})
	if !ok {
		return nil
	}
	key := "{" + strings.TrimSpace(b.String()) + "}"
	v.texts[key] = n
	return atom(key)
}

func capitals(name string) bool { return name != "" && name == strings.ToUpper(name) }

// ids are the functions and variables that tell work-items apart.
var ids = set("get_global_id get_local_id get_group_id get_global_size get_local_size get_num_groups get_work_dim threadIdx blockIdx blockDim gridDim")

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(list) {
		out[w] = true
	}
	return out
}
