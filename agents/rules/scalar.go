package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// scalarReplacement keeps the elements that an inner loop updates in variables
// meanwhile. The same operations are done in the same order and precision.
func scalarReplacement(f *finder) {
	for _, l := range f.loops {
		if !f.innermost(l) {
			continue
		}
		r := f.region(l.node)
		done := map[string]bool{}
		var loads, stores, names []string
		var cs []change
		in := f.indent(l.node.Start)
		for _, w := range r.e.accesses {
			if !w.write || w.atomic != "" || done[f.text(w.node)] {
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
			t, before := w.v.Type.Base, f.assignedBefore(l, w)
			always, macro := before, f.macro(l.node)
			for _, a := range same {
				always = always || a.write && f.unconditional(a.node, l)
				macro = macro || f.macro(a.node)
			}
			guarded := !f.runs(r, l) && !before
			switch {
			case macro:
				f.refuse(l.node, "it comes out of a macro")
				continue
			case !always:
				f.refuse(l.node, "%s is written on a condition only: storing it behind the loop would be new", f.text(w.node))
				continue
			case guarded && !integers[t] && !floating(t):
				f.refuse(l.node, "the loop may have no iteration, and then %s must not be touched", f.text(w.node))
				continue
			}
			name := f.fresh(w.v.Name + "_here")
			for slices.Contains(names, name) {
				name += "_"
			}
			for _, a := range same {
				cs = append(cs, change{a.node.Start, a.node.End, name})
			}
			load, store := fmt.Sprintf("%s %s = %s;", t, name, f.text(w.node)), fmt.Sprintf("%s = %s;", f.text(w.node), name)
			if guarded { // without an iteration the element must not be touched
				load = fmt.Sprintf("%s %s = %s ? %s : 0;", t, name, f.begins(l), f.text(w.node))
				store = fmt.Sprintf("if (%s)\n%s    %s", f.begins(l), in, store)
			}
			names, loads, stores = append(names, name), append(loads, load), append(stores, store)
		}
		if len(names) == 0 {
			continue
		}
		what := "what " + strings.Join(names, ", ") + " stand for stays in registers"
		if len(names) == 1 {
			what = names[0] + " stays in a register"
		}
		sep := "\n" + in
		f.offer(l.node, 1, fmt.Sprintf("%s while the loop over %s updates it", what, l.v.Name),
			change{l.node.Start, l.node.End, f.statements(l.node, strings.Join(loads, sep)+sep+f.replaced(l.node, cs)+sep+strings.Join(stores, sep))})
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
		case a.atomic != "":
			return nil, fmt.Sprintf("%s is changed by an atomic function", a.v.Name)
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

// assignedBefore reports whether a statement before a loop, in its block, writes
// the element, and nothing between them changes which element that is or hands it
// to others.
func (f *finder) assignedBefore(l *loop, w access) bool {
	p := f.parent[l.node]
	if p == nil || p.Kind != syntax.Block || f.labels {
		return false
	}
	for i := slices.Index(p.Kids, l.node) - 1; i >= 0; i-- {
		k := p.Kids[i]
		if k == nil || k.Kind != syntax.Evaluate && k.Kind != syntax.Declare {
			return false
		}
		if k.Kind == syntax.Evaluate {
			if a := k.Kids[0].Bare(); a.Kind == syntax.Assign && a.Kids[0].Bare().Kind == syntax.Index && oneLine(f.text(a.Kids[0])) == oneLine(f.text(w.node)) {
				return true
			}
		}
		e := f.effects(k)
		if len(e.calls) > 0 {
			return false
		}
		for _, n := range append([]*syntax.Node{w.node}, w.index...) {
			bad := false
			syntax.Walk(n, func(m *syntax.Node) bool {
				bad = bad || m.Kind == syntax.Name && m.Var != nil && (len(e.writes[m.Var]) > 0 || e.declared[m.Var])
				return !bad
			})
			if bad {
				return false
			}
		}
	}
	return false
}
