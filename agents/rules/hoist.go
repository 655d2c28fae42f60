package rules

import (
	"fmt"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// hoisting computes before an inner loop what is the same in all of its iterations:
// loads that the compiler cannot move because a store might change them, divisions,
// calls of pure functions.
func hoisting(f *finder) {
	for _, l := range f.loops {
		if !f.innermost(l) {
			continue
		}
		r := f.region(l.node)
		var found []*syntax.Node
		var look func(n *syntax.Node)
		look = func(n *syntax.Node) {
			if n == nil {
				return
			}
			switch n.Kind {
			case syntax.Binary, syntax.Index, syntax.Call, syntax.Conditional:
				if f.worth(n) && f.same(r, n, l) == "" {
					found = append(found, n)
					return
				}
			case syntax.Macro, syntax.Bad, syntax.SizeOf:
				return
			case syntax.Assign:
				// The left side is no value.
				if x, index := peel(n.Kids[0].Bare()); x != nil {
					for _, i := range index {
						look(i)
					}
				}
				look(n.Kids[1])
				return
			case syntax.Postfix:
				return
			case syntax.Unary:
				if n.Op == "++" || n.Op == "--" || n.Op == "&" {
					return
				}
			}
			for _, k := range n.Kids {
				look(k)
			}
		}
		look(l.body)
		if len(found) == 0 {
			f.whyNot(r, l)
			continue
		}
		if why := r.e.why(); why != "" {
			f.refuse(l.node, "%s", why)
			continue
		}
		if f.macro(l.node) {
			f.refuse(l.node, "it comes out of a macro")
			continue
		}
		f.moveOut(r, l, found)
	}
}

func (f *finder) moveOut(r *region, l *loop, found []*syntax.Node) {
	runs := f.runs(r, l)
	names := map[string]string{}
	var decls []string
	var cs []change
	in := f.indent(l.node.Start)
	for _, n := range found {
		text := oneLine(f.text(n))
		if names[text] == "" {
			t := f.typeOf(n)
			if t == "" {
				f.refuse(n, "the type of %s is not known", text)
				continue
			}
			value := text
			if f.faults(n) {
				// Where it is not reached, it must not be computed.
				switch {
				case !f.unconditional(n, l):
					f.refuse(n, "%s is computed on a condition, and might fault where that does not hold", text)
					continue
				case !runs && !integers[t] && !floating(t):
					f.refuse(n, "the loop may have no iteration, and then %s must not be computed", text)
					continue
				case !runs:
					value = fmt.Sprintf("%s ? %s : 0", f.begins(l), text)
				}
			}
			names[text] = f.fresh(fmt.Sprintf("same%d", len(names)))
			decls = append(decls, fmt.Sprintf("const %s %s = %s;\n%s", t, names[text], value, in))
		}
		cs = append(cs, change{n.Start, n.End, names[text]})
	}
	if len(decls) == 0 {
		return
	}
	body := f.replaced(l.node, cs)
	text := ""
	for _, d := range decls {
		text += d
	}
	text += body
	f.offer(l.node, 1, fmt.Sprintf("%s is the same in all iterations over %s", oneLine(f.text(found[0])), l.v.Name), change{l.node.Start, l.node.End, f.statements(l.node, text)})
}

// worth reports whether an expression costs more than a register does: it loads,
// divides or calls.
func (f *finder) worth(n *syntax.Node) bool {
	found := false
	syntax.Walk(n, func(k *syntax.Node) bool {
		switch k.Kind {
		case syntax.Index:
			found = true
		case syntax.Call:
			found = found || !(k.Kids[0].Kind == syntax.Name && ids[k.Kids[0].Op])
		case syntax.Binary:
			found = found || k.Op == "/" || k.Op == "%"
		}
		return !found
	})
	return found
}

// faults reports whether computing an expression may end the program: loads may,
// and divisions of integers.
func (f *finder) faults(n *syntax.Node) bool {
	found := false
	syntax.Walk(n, func(k *syntax.Node) bool {
		switch k.Kind {
		case syntax.Index:
			found = true
		case syntax.Binary:
			if k.Op == "/" || k.Op == "%" {
				found = found || !floating(f.typeOf(k))
			}
		}
		return !found
	})
	return found
}

// same says why an expression may have another value in a later iteration; "" if
// it has not.
func (f *finder) same(r *region, n *syntax.Node, l *loop) string {
	why := ""
	set := func(format string, args ...any) bool {
		if why == "" {
			why = fmt.Sprintf(format, args...)
		}
		return false
	}
	syntax.Walk(n, func(k *syntax.Node) bool {
		if why != "" {
			return false
		}
		switch k.Kind {
		case syntax.Name:
			x := k.Var
			switch {
			case x == nil:
				if !capitals(k.Op) && !f.harmless(k) {
					return set("%s is not known", k.Op)
				}
			case x == l.v || len(r.e.writes[x]) > 0 || r.e.declared[x]:
				return set("%s changes", x.Name)
			case f.taken[x] || x.Type.Volatile:
				return set("%s may change", x.Name)
			case x.Global && !x.Enum && !x.Type.Const && !x.Type.Indirect():
				return set("%s is global", x.Name)
			}
		case syntax.Index:
			x, index := peel(k)
			if x == nil || !x.Type.Indirect() || len(index) != x.Type.Pointers+len(x.Type.Dims) || x.Type.Pointers > 1 || x.Type.Volatile || f.written[x] > 0 && !f.own(x) {
				return set("%s is not understood", f.text(k))
			}
			var a access
			for _, c := range r.e.accesses {
				if c.node == k {
					a = c
				}
			}
			if a.node == nil {
				return set("%s is not understood", f.text(k))
			}
			for _, w := range r.e.accesses {
				if !w.write {
					continue
				}
				if w.v != a.v {
					if f.apart(w.v, a.v) == "" {
						return set("a store to %s may change %s: neither is restrict, and callers that are seen do not say otherwise", w.v.Name, oneLine(f.text(k)))
					}
				} else if _, none := r.between(w, a); !none {
					return set("%s may be written by %s", oneLine(f.text(k)), oneLine(f.text(w.node)))
				}
			}
		case syntax.Number, syntax.Binary, syntax.Paren, syntax.Cast, syntax.Conditional:
		case syntax.Unary:
			if k.Op == "++" || k.Op == "--" || k.Op == "&" || k.Op == "*" {
				return set("%s has effects", f.text(k))
			}
		case syntax.Call:
			if name := k.Kids[0]; !f.harmless(name) {
				return set("%s may have effects", f.text(name))
			}
		case syntax.Macro:
			return true
		default:
			return set("%s is not understood", f.text(k))
		}
		return true
	})
	return why
}

// whyNot says of a loop's loads that only an overlap keeps in it why they stay.
func (f *finder) whyNot(r *region, l *loop) {
	for _, a := range r.e.accesses {
		if a.write || f.stride(a, l) != 0 {
			continue
		}
		fixed := f.fixed(r, a.index, l)
		if why := f.same(r, a.node, l); why != "" && fixed {
			f.refuse(a.node, "%s", why)
		}
	}
}
