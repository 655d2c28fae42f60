package rules

import (
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// scalars says why variables that are written in a loop keep its iterations in
// their order; "" where they do not.
func (r *region) scalars(l *loop, ints bool) string {
	for _, x := range sortedVars(r.e.writes) {
		switch {
		case x == l.v || r.e.declared[x] || r.v.private(x, l):
		case ints && r.reduction(x, l.body) != "" && (integers[x.Type.Base] || r.v.opt.Reassociate):
		case r.reduction(x, l.body) != "":
			return fmt.Sprintf("%s adds up floating-point numbers, and their order would change the last bits: allow it with a tolerance", x.Name)
		default:
			return fmt.Sprintf("%s is handed from one iteration to the next", x.Name)
		}
	}
	return ""
}

// reorders reports whether the loop adds up floating-point numbers, whose order is
// another one where its iterations are.
func (r *region) reorders(l *loop) bool {
	for x := range r.e.writes {
		if x != l.v && !r.e.declared[x] && !r.v.private(x, l) && !integers[x.Type.Base] && r.reduction(x, l.body) != "" {
			return true
		}
	}
	return false
}

func sortedVars[T any](m map[*syntax.Variable]T) []*syntax.Variable {
	var out []*syntax.Variable
	for x := range m {
		out = append(out, x)
	}
	slices.SortFunc(out, func(a, b *syntax.Variable) int { return a.Start - b.Start })
	return out
}

// reduction is the operator by which a body changes a variable that it does not
// use otherwise, "" where it is no such variable: +, *, min and the like are not
// told from their comparisons.
func (r *region) reduction(x *syntax.Variable, body *syntax.Node) string {
	op, other := "", false
	syntax.Walk(body, func(n *syntax.Node) bool {
		switch {
		case n.Kind == syntax.Assign && n.Kids[0].Bare().Kind == syntax.Name && n.Kids[0].Bare().Var == x:
			o := map[string]string{"+=": "+", "-=": "+", "*=": "*", "|=": "|", "&=": "&", "^=": "^"}[n.Op]
			if o == "" || op != "" && o != op {
				other = true
			}
			op = o
			syntax.Walk(n.Kids[1], func(k *syntax.Node) bool {
				other = other || k.Kind == syntax.Name && k.Var == x
				return true
			})
			return false
		case (n.Kind == syntax.Postfix || n.Kind == syntax.Unary && (n.Op == "++" || n.Op == "--")) && n.Kids[0].Bare().Var == x:
			up := r.v.parent[n]
			if op != "" && op != "+" || up == nil || up.Kind != syntax.Evaluate && up.Kind != syntax.For {
				other = true
			}
			op = "+"
			return false
		case n.Kind == syntax.Name && n.Var == x:
			other = true
		}
		return true
	})
	if other {
		return ""
	}
	return op
}

// private reports whether a variable of the function has a value of its own in
// each iteration of a loop, which nothing uses behind the loop.
func (v *view) private(x *syntax.Variable, l *loop) bool {
	if x.Global || x.Param || v.taken[x] || x.Type.Static || x.Type.Indirect() || v.labels {
		return false
	}
	if !v.renewed(x, l.body) {
		return false
	}
	// Outside of the loop, too, each use begins with a new value.
	return v.renewedBut(x, v.fn.Body, l.node)
}

func (v *view) renewed(x *syntax.Variable, n *syntax.Node) bool { return v.renewedBut(x, n, nil) }

// renewedBut reports whether each use of a variable in n, but for a node, follows
// an assignment in the same block or loop head.
func (v *view) renewedBut(x *syntax.Variable, n, but *syntax.Node) bool {
	if n == nil || n == but || !uses(n, x) {
		return true
	}
	switch n.Kind {
	case syntax.For:
		if l := v.loopOf[n]; l != nil && l.v == x && !uses(l.loN, x) {
			return true
		}
	case syntax.Block:
		for _, k := range n.Kids {
			if k != nil && k.Kind == syntax.Evaluate {
				if a := k.Kids[0].Bare(); a.Kind == syntax.Assign && a.Op == "=" && a.Kids[0].Bare().Kind == syntax.Name && a.Kids[0].Bare().Var == x && !uses(a.Kids[1], x) {
					return true
				}
			}
			if !v.renewedBut(x, k, but) {
				return false
			}
		}
		return true
	case syntax.Name:
		return false
	case syntax.Declared:
		return n.Var == x && n.Kids[0] == nil || !uses(n.Kids[0], x)
	}
	for _, k := range n.Kids {
		if !v.renewedBut(x, k, but) {
			return false
		}
	}
	return true
}

func uses(n *syntax.Node, x *syntax.Variable) bool {
	found := false
	syntax.Walk(n, func(k *syntax.Node) bool {
		found = found || k.Kind == syntax.Name && k.Var == x
		return !found
	})
	return found
}
