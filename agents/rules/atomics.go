package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// atomics are functions that change a place in memory in one step, with what they
// do: their argument is an address, or an address and a value.
var atomics = map[string]string{
	"atomic_add": "+", "atomic_sub": "-", "atomic_inc": "++", "atomic_dec": "--", "atomic_min": "min", "atomic_max": "max", "atomic_and": "&", "atomic_or": "|", "atomic_xor": "^",
	"atom_add": "+", "atom_sub": "-", "atom_inc": "++", "atom_dec": "--", "atom_min": "min", "atom_max": "max", "atom_and": "&", "atom_or": "|", "atom_xor": "^",
	"atomicAdd": "+", "atomicSub": "-", "atomicMin": "min", "atomicMax": "max", "atomicAnd": "&", "atomicOr": "|", "atomicXor": "^",
}

// family is which atomics may change places: sums with sums, and each other with
// its like.
func family(op string) string {
	if op == "++" || op == "-" || op == "--" {
		return "+"
	}
	return op
}

// atomic takes in an atomic function as an access; false where its place is not
// known.
func (c *collector) atomic(n *syntax.Node) bool {
	f := n.Kids[0].Bare()
	op := atomics[f.Op]
	if op == "" || len(n.Kids) < 2 || len(n.Kids) > 3 || f.Var != nil {
		return false
	}
	at := n.Kids[1].Bare()
	if at != nil && at.Kind == syntax.Cast { // to volatile, as OpenCL once asked for
		at = at.Kids[0].Bare()
	}
	p := c.v.address(at, at)
	if p == nil {
		return false
	}
	a := c.somewhere(p.base, at, true, true)
	a.dims, a.atomic, a.index = append(slices.Clone(p.rows), p.offset), op, indices(at)
	if x := pointed(at); x != p.base {
		a.via = x
	}
	for _, i := range a.index {
		c.node(i)
	}
	for _, k := range n.Kids[2:] {
		c.node(k)
	}
	c.e.accesses = append(c.e.accesses, a)
	return true
}

// indices are the whole numbers in a pointer expression that is understood (see
// address), pointed the variable that it begins with.
func indices(n *syntax.Node) []*syntax.Node {
	n = n.Bare()
	switch {
	case n.Kind == syntax.Binary:
		var out []*syntax.Node
		for _, k := range n.Kids {
			if pointed(k) != nil {
				out = append(out, indices(k)...)
			} else {
				out = append(out, k)
			}
		}
		return out
	case n.Kind == syntax.Unary && n.Op == "&":
		_, index := peel(n.Kids[0].Bare())
		return index
	}
	return nil
}

func pointed(n *syntax.Node) *syntax.Variable {
	n = n.Bare()
	switch {
	case n == nil:
	case n.Kind == syntax.Name && n.Var != nil && n.Var.Type.Indirect():
		return n.Var
	case n.Kind == syntax.Binary && (n.Op == "+" || n.Op == "-"):
		if x := pointed(n.Kids[0]); x != nil {
			return x
		}
		return pointed(n.Kids[1])
	case n.Kind == syntax.Unary && n.Op == "&":
		x, _ := peel(n.Kids[0].Bare())
		return x
	}
	return nil
}

// identity is a value with which an atomic changes nothing, "" where none is known.
func identity(op, base string) string {
	switch op {
	case "+", "-", "++", "--", "|", "^":
		return "0"
	case "&":
		return "~(" + base + ")0"
	}
	top := map[string]string{"int": "2147483647", "unsigned int": "4294967295u", "long": "9223372036854775807L", "unsigned long": "18446744073709551615UL"}[base]
	switch {
	case top == "":
		return ""
	case op == "min":
		return top
	case unsigned(base):
		return "0"
	}
	return "(-" + top + " - 1)"
}

// privateAtomics gathers in a variable what a loop does to one place by atomic
// functions, and does it to the place once, behind the loop.
func privateAtomics(f *finder) {
	done := map[*syntax.Node]bool{}
	for _, l := range f.loops { // outer ones come first
		if f.macro(l.node) {
			continue
		}
		r := f.region(l.node)
		var decls, stores, names []string
		var cs []change
		mine := map[string]string{}
		in := f.indent(l.node.Start)
		for _, a := range r.e.accesses {
			call := f.parent[a.node]
			for call != nil && call.Kind != syntax.Call {
				call = f.parent[call]
			}
			if a.atomic == "" || call == nil || done[call] {
				continue
			}
			base := a.v.Type.Base
			if why := f.gathers(r, l, a, call); why != "" {
				if f.innermost(l) {
					f.refuse(call, "%s", why)
				}
				continue
			}
			done[call] = true
			place := oneLine(f.text(call.Kids[1]))
			key := place + " " + family(a.atomic)
			name := mine[key]
			if name == "" {
				name = f.fresh(a.v.Name + "_here")
				for slices.Contains(names, name) {
					name += "_"
				}
				names = append(names, name)
				mine[key] = name
				id := identity(a.atomic, base)
				function := call.Kids[0].Op
				for _, s := range [][2]string{{"_inc", "_add"}, {"_dec", "_add"}, {"_sub", "_add"}, {"Sub", "Add"}} {
					if at, ok := strings.CutSuffix(function, s[0]); ok {
						function = at + s[1]
					}
				}
				decls = append(decls, fmt.Sprintf("%s %s = %s;", base, name, id))
				stores = append(stores, fmt.Sprintf("if (%s != %s)\n%s    %s(%s, %s);", name, id, in, function, place, name))
			}
			var text string
			switch op := a.atomic; {
			case op == "++" || op == "--":
				text = name + op
			case op == "min" || op == "max":
				sign := map[string]string{"min": "<", "max": ">"}[op]
				value := f.fresh("value_here")
				text = fmt.Sprintf("{ const %s %s = %s; %s = %s %s %s ? %s : %s; }", base, value, f.text(call.Kids[2]), name, value, sign, name, value, name)
			default:
				text = fmt.Sprintf("%s %s= %s", name, op, f.text(call.Kids[2]))
			}
			end := call.End
			if strings.HasPrefix(text, "{") {
				end = f.parent[call].End // with its semicolon
			}
			cs = append(cs, change{call.Start, end, text})
		}
		if len(names) == 0 {
			continue
		}
		sep := "\n" + in
		f.offer(l.node, 1, fmt.Sprintf("%s gather what the loop over %s does, for one atomic operation each behind it", strings.Join(names, ", "), l.v.Name),
			change{l.node.Start, l.node.End, f.statements(l.node, strings.Join(decls, sep)+sep+f.replaced(l.node, cs)+sep+strings.Join(stores, sep))})
	}
}

// gathers says why what an atomic function does in a loop cannot be gathered; ""
// where it can.
func (f *finder) gathers(r *region, l *loop, a access, call *syntax.Node) string {
	s := f.parent[call]
	switch {
	case s == nil || s.Kind != syntax.Evaluate:
		return "its old value is used"
	case f.macro(call):
		return "it comes out of a macro"
	case len(call.Kids) == 3 == (a.atomic == "++" || a.atomic == "--"):
		return "it has other arguments than it should"
	case floating(a.v.Type.Base):
		return "a floating-point sum would be added in another order, and by several work-items"
	case !integers[a.v.Type.Base] || identity(a.atomic, a.v.Type.Base) == "":
		return "it is not known to change an integer"
	case r.e.why() != "":
		return r.e.why()
	case f.stride(a, l) != 0 || !f.fixed(r, a.index, l) || r.e.declared[a.v] || r.e.declared[a.via]:
		return "the place changes from one iteration to the next"
	}
	for _, b := range r.e.accesses {
		switch {
		case b.v != a.v && f.apart(b.v, a.v) == "":
			return fmt.Sprintf("%s and %s may overlap: neither is restrict, and callers that are seen do not say otherwise", b.v.Name, a.v.Name)
		case b.v == a.v && family(b.atomic) != family(a.atomic):
			return a.v.Name + " is used otherwise, too"
		}
	}
	return ""
}
