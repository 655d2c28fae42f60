package rules

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// scalarReplacement keeps an element that an inner loop updates in a variable
// meanwhile. The same operations are done in the same order and precision.
func scalarReplacement(f *finder) {
	for _, l := range f.loops {
		if !f.innermost(l) {
			continue
		}
		r := f.region(l.node)
		done := map[string]bool{}
		for _, w := range r.e.accesses {
			if !w.write || done[f.text(w.node)] {
				continue
			}
			done[f.text(w.node)] = true
			if f.stride(w, l) != 0 || !f.fixed(r, w.index, l) || r.e.declared[w.v] || r.e.declared[w.via] {
				continue // it is another element in each iteration
			}
			if why := r.e.why(); why != "" {
				f.refuse(l.node, "%s", why)
				continue
			}
			same, why := f.together(r, w)
			if why != "" {
				f.refuse(l.node, "%s", why)
				continue
			}
			t := w.v.Type.Base
			name := f.fresh(w.v.Name + "_here")
			always := false
			for _, a := range same {
				always = always || a.write && f.unconditional(a.node, l)
			}
			switch {
			case f.macro(l.node):
				f.refuse(l.node, "it comes out of a macro")
				continue
			case !always:
				f.refuse(l.node, "%s is written on a condition only: storing it behind the loop would be new", f.text(w.node))
				continue
			}
			var cs []change
			bad := false
			for _, a := range same {
				bad = bad || f.macro(a.node)
				cs = append(cs, change{a.node.Start, a.node.End, name})
			}
			if bad {
				f.refuse(l.node, "%s comes out of a macro", f.text(w.node))
				continue
			}
			in := f.indent(l.node.Start)
			load, store := fmt.Sprintf("%s %s = %s;", t, name, f.text(w.node)), fmt.Sprintf("%s = %s;", f.text(w.node), name)
			if !f.runs(r, l) && !f.assignedBefore(l, w) {
				// Without an iteration the element must not be touched.
				load = fmt.Sprintf("%s %s = %s ? %s : 0;", t, name, f.begins(l), f.text(w.node))
				store = fmt.Sprintf("if (%s)\n%s    %s", f.begins(l), in, store)
				if !integers[t] && !floating(t) {
					f.refuse(l.node, "the loop may have no iteration, and then %s must not be touched", f.text(w.node))
					continue
				}
			}
			f.offer(l.node, 1, fmt.Sprintf("%s stays in a register while the loop over %s updates it", oneLine(f.text(w.node)), l.v.Name),
				change{l.node.Start, l.node.End, f.statements(l.node, load+"\n"+in+f.replaced(l.node, cs)+"\n"+in+store)})
		}
	}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// statements are several that take the place of one: in braces where it does not
// stand in a block.
func (f *finder) statements(n *syntax.Node, text string) string {
	if f.alone(n) {
		return text
	}
	return "{\n" + f.indent(n.Start) + text + "\n" + f.indent(n.Start) + "}"
}

// begins is the condition under which a loop has an iteration.
func (f *finder) begins(l *loop) string {
	return fmt.Sprintf("(%s)(%s) %s (%s)", l.v.Type.Base, f.text(l.loN), f.relation(l), f.text(l.hiN))
}

// fixed reports whether indices keep their value through a loop: they use nothing
// that it writes, and no memory.
func (f *finder) fixed(r *region, index []*syntax.Node, l *loop) bool {
	ok := true
	for _, i := range index {
		syntax.Walk(i, func(n *syntax.Node) bool {
			switch n.Kind {
			case syntax.Name:
				if n.Var == nil {
					ok = ok && (capitals(n.Op) || ids[n.Op])
				} else {
					ok = ok && n.Var != l.v && len(r.e.writes[n.Var]) == 0 && !n.Var.Type.Indirect() && !f.taken[n.Var] && (!n.Var.Global || n.Var.Type.Const || n.Var.Enum)
				}
			case syntax.Number, syntax.Binary, syntax.Unary, syntax.Paren, syntax.Macro, syntax.Cast:
				ok = ok && n.Op != "++" && n.Op != "--"
			case syntax.Call:
				ok = ok && n.Kids[0].Kind == syntax.Name && ids[n.Kids[0].Op]
			default:
				ok = false
			}
			return ok
		})
	}
	return ok
}

// together are the accesses of a loop to the same element as w; why is a reason for
// which others may touch it, too.
func (f *finder) together(r *region, w access) (same []access, why string) {
	for _, a := range r.e.accesses {
		switch {
		case a.v != w.v:
			if (a.write || w.write) && f.apart(a.v, w.v) == "" {
				return nil, fmt.Sprintf("%s and %s may overlap: neither is restrict, and callers that are seen do not say otherwise", a.v.Name, w.v.Name)
			}
		case a.via == w.via && oneLine(f.text(a.node)) == oneLine(f.text(w.node)):
			same = append(same, a)
		default:
			if !a.write && !w.write {
				continue
			}
			if _, none := r.between(w, a); !none {
				return nil, fmt.Sprintf("%s and %s may be the same element", f.text(w.node), f.text(a.node))
			}
		}
	}
	return same, ""
}

// unconditional reports whether a node of a loop's body is reached in each
// iteration.
func (f *finder) unconditional(n *syntax.Node, l *loop) bool {
	for c, p := n, f.parent[n]; p != nil && c != l.body; c, p = p, f.parent[p] {
		switch p.Kind {
		case syntax.If, syntax.Conditional, syntax.For, syntax.While, syntax.Do:
			if p == l.node {
				return c == l.body
			}
			if p.Kids[0] != c || p.Kind == syntax.Do {
				return false
			}
		case syntax.Binary:
			if (p.Op == "&&" || p.Op == "||") && p.Kids[1] == c {
				return false
			}
		}
	}
	return true
}

// runs reports whether a loop has an iteration whenever it is reached: for certain,
// by the loops around it.
func (f *finder) runs(r *region, l *loop) bool {
	if l.outer == nil {
		n, ok := l.hi.add(l.lo, -1).value()
		return ok && n >= 1
	}
	if !f.region(l.outer.node).steady(l.hi) || !f.region(l.outer.node).steady(l.lo) {
		return false
	}
	return l.hi.add(l.lo, -1).atLeast(1, r.leasts([]*loop{l.outer}))
}

// assignedBefore reports whether the statement before a loop writes the element, so
// that it is there.
func (f *finder) assignedBefore(l *loop, w access) bool {
	p := f.parent[l.node]
	if p == nil || p.Kind != syntax.Block {
		return false
	}
	for i, k := range p.Kids {
		if k == l.node && i > 0 && p.Kids[i-1].Kind == syntax.Evaluate {
			a := p.Kids[i-1].Kids[0].Bare()
			return a.Kind == syntax.Assign && oneLine(f.text(a.Kids[0])) == oneLine(f.text(w.node))
		}
	}
	return false
}
