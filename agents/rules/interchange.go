package rules

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// interchange swaps two loops, one directly in the other, where the inner one then
// walks memory in smaller steps.
func interchange(f *finder) {
	for _, outer := range f.loops {
		inner := f.loopOf[only(outer.body)]
		if inner == nil {
			f.distribute(outer)
			continue
		}
		if chain := f.nest(outer); len(chain) > 2 || f.perfect(outer) {
			if !f.perfect(outer) && f.innermost(chain[len(chain)-1]) {
				f.permute(chain)
			}
			continue
		}
		r := f.region(outer.node)
		now, then := f.cost(r.e.accesses, inner), f.cost(r.e.accesses, outer)
		if f.innermost(inner) && then > now-0.3 {
			f.refuse(outer.node, "the inner loop over %s walks memory in steps as small as one over %s would", inner.v.Name, outer.v.Name)
			continue
		} else if !f.innermost(inner) {
			continue
		}
		if why := f.rectangular(r, outer, inner); why != "" {
			f.refuse(outer.node, "%s", why)
			continue
		}
		if why := r.swap(outer, inner, true); why != "" {
			f.refuse(outer.node, "%s", why)
			continue
		}
		a, b := f.headChange(outer, inner), f.headChange(inner, outer)
		f.takes(reordered, r.reorders(outer))
		f.offer(outer.node, min(1, (now-then)), fmt.Sprintf("%s moves inside %s, so that neighbouring iterations touch neighbouring elements", outer.v.Name, inner.v.Name), a, b)
	}
}

// headChange puts the head of one loop in the place of another's.
func (f *finder) headChange(at, from *loop) change {
	s, e := f.head(at.node)
	fs, fe := f.head(from.node)
	return change{s, e, f.file.Text[fs:fe]}
}

// rectangular says why the bounds of two nested loops depend on each other; "" if
// they do not.
func (f *finder) rectangular(r *region, outer, inner *loop) string {
	if f.macro(outer.node) {
		return "it stands in a macro"
	}
	for _, n := range []*syntax.Node{inner.loN, inner.hiN} {
		if uses(n, outer.v) {
			return fmt.Sprintf("where %s begins or ends depends on %s", inner.v.Name, outer.v.Name)
		}
	}
	for _, l := range []*loop{outer, inner} {
		if !r.steady(l.lo) || !r.steady(l.hi) {
			return fmt.Sprintf("the bounds of %s are not known to stay the same", l.v.Name)
		}
	}
	if why := f.effects(inner.node).why(); why != "" {
		return why
	}
	if outer.v == inner.v {
		return "both loops count the same variable"
	}
	if !outer.declared && !f.private(outer.v, outer) && !f.dead(outer.v, outer.node) || !inner.declared && !f.dead(inner.v, outer.node) {
		return "a counter is used behind its loop"
	}
	return ""
}

// dead reports whether nothing uses a counter outside of a node but in loops of
// its own.
func (f *finder) dead(x *syntax.Variable, n *syntax.Node) bool {
	return !f.labels && !x.Global && f.renewedBut(x, f.fn.Body, n)
}

// distribute turns the loop of a dot product around: for j { s = 0; for k s += ...;
// c[j] = s } becomes two loops, one that clears c and one over k outside of one
// over j, so that c and the second factor are walked along rows. The sums are
// added in the same order.
func (f *finder) distribute(outer *loop) {
	var body []*syntax.Node
	for _, s := range statements(outer.body) {
		if s.Kind == syntax.For && f.loopOf[s] == nil {
			return
		}
		body = append(body, s)
	}
	m := -1
	for i, s := range body {
		if s.Kind == syntax.For {
			if m >= 0 {
				return
			}
			m = i
		}
	}
	if m != 1 || len(body) > 3 {
		return
	}
	inner := f.loopOf[body[1]]
	add := only(inner.body)
	if add == nil || add.Kind != syntax.Evaluate {
		return
	}
	sum := add.Kids[0].Bare()
	if sum.Kind != syntax.Assign || sum.Op == "=" || f.macro(sum) {
		return
	}
	var target, init *syntax.Node // c[j], and what it begins with
	target = sum.Kids[0].Bare()
	if target.Kind == syntax.Name {
		x := target.Var
		if x == nil || len(body) != 3 {
			return
		}
		switch d := body[0]; {
		case d.Kind == syntax.Declare && len(d.Kids) == 1 && d.Kids[0].Var == x:
			init = d.Kids[0].Kids[0]
		case d.Kind == syntax.Evaluate && d.Kids[0].Kind == syntax.Assign && d.Kids[0].Op == "=" && d.Kids[0].Kids[0].Kind == syntax.Name && d.Kids[0].Kids[0].Var == x:
			init = d.Kids[0].Kids[1]
			if !f.private(x, outer) {
				f.refuse(outer.node, "%s is used behind the loop", x.Name)
				return
			}
		}
		store := body[2]
		if init == nil || store.Kind != syntax.Evaluate {
			return
		}
		a := store.Kids[0].Bare()
		if a.Kind != syntax.Assign || a.Op != "=" || a.Kids[1].Bare().Kind != syntax.Name || a.Kids[1].Bare().Var != x {
			return
		}
		target = a.Kids[0].Bare()
		if tv, _ := peel(target); tv == nil || tv.Type.Base != x.Type.Base || x.Type.Indirect() {
			f.refuse(outer.node, "%s and what it is stored to are of different types", x.Name)
			return
		}
		if uses(sum.Kids[1], x) || uses(target, x) {
			f.refuse(outer.node, "%s is used while it is added up", x.Name)
			return
		}
	} else if target.Kind == syntax.Index {
		if len(body) != 2 || body[0].Kind != syntax.Evaluate {
			return
		}
		a := body[0].Kids[0].Bare()
		if a.Kind != syntax.Assign || a.Op != "=" || f.text(a.Kids[0]) != f.text(target) {
			return
		}
		init = a.Kids[1]
	} else {
		return
	}
	if uses(target, inner.v) || uses(init, inner.v) {
		return
	}
	r := f.region(outer.node)
	var inside []access
	for _, a := range r.e.accesses {
		if a.node.Start >= inner.node.Start && a.node.End <= inner.node.End && a.node != target {
			inside = append(inside, a)
		}
	}
	tv, _ := peel(target)
	out := access{v: tv}
	for _, a := range r.e.accesses {
		if a.node.Start == target.Start && a.node.End == target.End {
			out = a
		}
	}
	now, then := f.cost(inside, inner), f.cost(append(inside, out), outer)
	if then > now-0.3 {
		f.refuse(outer.node, "the inner loop over %s walks memory in steps as small as one over %s would", inner.v.Name, outer.v.Name)
		return
	}
	if why := f.rectangular(r, outer, inner); why != "" {
		f.refuse(outer.node, "%s", why)
		return
	}
	if why := r.e.why(); why != "" {
		f.refuse(outer.node, "%s", why)
		return
	}
	// Where the sum is kept must be another place in each iteration, and nothing
	// else may read or write it.
	if d, none := r.between(out, out); !none {
		if by, ok := d[outer]; !ok || by != 0 {
			f.refuse(outer.node, "%s may be the same place for two values of %s", f.text(target), outer.v.Name)
			return
		}
	}
	for _, a := range r.e.accesses {
		switch {
		case a.v == tv && (a.node == target || f.text(a.node) == f.text(target)):
		case a.v == tv || f.apart(a.v, tv) == "":
			f.refuse(outer.node, "%s and %s may overlap: neither is restrict, and callers that are seen do not say otherwise", a.v.Name, tv.Name)
			return
		case a.write:
			f.refuse(outer.node, "%s is written, too", a.v.Name)
			return
		}
	}
	for _, x := range sortedVars(r.e.writes) {
		if x != outer.v && x != inner.v && (target.Kind == syntax.Name || sum.Kids[0].Bare().Kind != syntax.Name || x != sum.Kids[0].Bare().Var) {
			f.refuse(outer.node, "%s is written, too", x.Name)
			return
		}
	}
	if f.macro(target) || strings.Contains(f.file.Text[outer.node.Start:outer.node.End], "//") || strings.Contains(f.file.Text[outer.node.Start:outer.node.End], "/*") {
		f.refuse(outer.node, "comments or macros stand in it, which cannot be moved")
		return
	}
	in := f.indent(outer.node.Start)
	step := "    "
	if strings.HasPrefix(in, "\t") {
		step = "\t"
	}
	os, oe := f.head(outer.node)
	is, ie := f.head(inner.node)
	oh, ih := f.file.Text[os:oe], f.file.Text[is:ie]
	lines := []string{
		oh,
		step + f.text(target) + " = " + f.text(init) + ";",
		ih,
		step + oh,
		step + step + f.text(target) + " " + sum.Op + " " + f.text(sum.Kids[1]) + ";",
	}
	open, end := "", ""
	if !f.alone(outer.node) {
		open, end = "{\n"+in+step, "\n"+in+"}"
		in += step
	}
	f.offer(outer.node, min(1, now-then), fmt.Sprintf("the loop over %s moves inside that over %s, with the sums kept in %s: each inner iteration then touches neighbouring elements", outer.v.Name, inner.v.Name, tv.Name),
		change{outer.node.Start, outer.node.End, open + strings.Join(lines, "\n"+in) + end})
}
