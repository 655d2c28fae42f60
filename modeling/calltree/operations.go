package calltree

import (
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets"
)

// derived is an empty tree with the facts of t.
func (t *Tree) derived() *Tree {
	o := *t
	o.Roots, o.Notes = nil, slices.Clone(t.Notes)
	return &o
}

// copied is a node without place and children, its values in a slice of its own.
func (n *Node) copied() *Node {
	c := *n
	c.Values, c.Children, c.parent = slices.Clone(n.Values), nil, nil
	return &c
}

func (t *Tree) attach(parent, n *Node) {
	n.parent = parent
	if parent == nil {
		t.Roots = append(t.Roots, n)
	} else {
		parent.Children = append(parent.Children, n)
	}
}

// settle computes inclusive values anew from exclusive ones.
func (t *Tree) settle() {
	all := slices.Collect(t.All())
	for _, n := range slices.Backward(all) {
		for i := range n.Values {
			below, has := n.below(i)
			v := &n.Values[i]
			v.Inclusive = datasets.Some(v.Exclusive.V + below)
			v.Inclusive.Valid = v.Exclusive.Valid || has
		}
	}
}

// Filter keeps the nodes for which keep holds. Those below a node that goes
// come below the nearest one above it that stays, or become roots: the squash
// of Hatchet. The exclusive values of nodes that go are lost, inclusive ones
// are what the remaining nodes have; a note says how much that is. Hide is the
// same with the total kept.
func (t *Tree) Filter(keep func(*Node) bool) *Tree {
	out, gone := t.squash(keep, false)
	if gone > 0 {
		before, after := t.Total(), out.Total()
		out.Notes = append(out.Notes, fmt.Sprintf("filtered: %s left out, with %s of %s", count(gone, "node"),
			out.quantity(datasets.Null[float64]{V: before.V - after.V, Valid: before.Valid}), t.quantity(before)))
	}
	return out
}

// Hide takes nodes out and gives their exclusive values to the nearest node
// above that stays, so that the total stays what it is. Hidden roots' own
// values go to a node of KindRest.
func (t *Tree) Hide(hide func(*Node) bool) *Tree {
	out, gone := t.squash(func(n *Node) bool { return !hide(n) }, true)
	if gone > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s hidden: the values are those of the nodes above", count(gone, "node")))
	}
	return out
}

func (t *Tree) squash(keep func(*Node) bool, fold bool) (*Tree, int) {
	out := t.derived()
	gone := 0
	var orphans *Node
	type item struct{ n, above *Node }
	of := func(ns []*Node, above *Node) (out []item) {
		return items(ns, above, func(n, a *Node) item { return item{n, a} })
	}
	for stack := of(t.Roots, nil); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		above := at.above
		if keep(at.n) {
			above = at.n.copied()
			out.attach(at.above, above)
		} else {
			gone++
			if fold {
				to := above
				if to == nil {
					if orphans == nil {
						orphans = &Node{Kind: KindRest, Values: make([]Value, len(t.Metrics))}
					}
					to = orphans
				}
				to.takes(at.n)
			}
		}
		stack = append(stack, of(at.n.Children, above)...)
	}
	if orphans != nil && slices.ContainsFunc(orphans.Values, func(v Value) bool { return v.Exclusive.Valid }) {
		orphans.Name = "(hidden roots)"
		out.attach(nil, orphans)
	}
	out.settle()
	return out, gone
}

// takes adds another node's exclusive values and what it stands for.
func (n *Node) takes(o *Node) {
	for i, v := range o.Values {
		add(&n.Values[i].Exclusive, v.Exclusive)
	}
	n.Regions = append(slices.Clip(n.Regions), o.Regions...)
}

// Prune takes out nodes, with all below them, whose inclusive value is below a
// share of the total (0 to 1), or not known. What they have stays in the tree, as one
// node of KindRest below the same parent; the total is the same.
func (t *Tree) Prune(share float64) *Tree {
	total := t.Total()
	limit := share * math.Abs(total.V)
	return t.keepOnly(func(n *Node) bool {
		v := t.Inclusive(n)
		return v.Valid && math.Abs(v.V) >= limit
	})
}

// keepOnly keeps nodes for which keep holds and all above hold, and puts their
// other siblings together.
func (t *Tree) keepOnly(keep func(*Node) bool) *Tree {
	out := t.derived()
	type item struct {
		from []*Node
		to   *Node
	}
	for stack := []item{{t.Roots, nil}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		kept, rest := split(at.from, keep)
		for _, n := range kept {
			c := n.copied()
			out.attach(at.to, c)
			if len(n.Children) > 0 {
				stack = append(stack, item{n.Children, c})
			}
		}
		if len(rest) > 0 {
			out.attach(at.to, t.rest(rest))
		}
	}
	return out
}

// rest is a node for several with all below them.
func (t *Tree) rest(ns []*Node) *Node {
	r := &Node{Kind: KindRest, Values: make([]Value, len(t.Metrics))}
	for i := range r.Values {
		var vs []float64
		for _, n := range ns {
			if v := n.Values[i].Inclusive; v.Valid {
				vs = append(vs, v.V)
			}
		}
		if vs != nil {
			v := datasets.Some(sum(vs))
			r.Values[i] = Value{v, v}
		}
	}
	below := Tree{Roots: ns}
	for n := range below.All() {
		r.more += max(1, n.more) // some were put together before
	}
	r.nameRest()
	return r
}

func (n *Node) nameRest() { n.Name = fmt.Sprintf("(%d more)", n.more) }

// Subtree keeps the uppermost nodes for which match holds as roots, each with
// all below it.
func (t *Tree) Subtree(match func(*Node) bool) *Tree {
	out := t.derived()
	type item struct{ from, to *Node }
	of := func(ns []*Node, to *Node) []item {
		return items(ns, to, func(n, to *Node) item { return item{n, to} })
	}
	for stack := of(t.Roots, nil); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		to := at.to
		if to != nil || match(at.from) {
			to = at.from.copied()
			out.attach(at.to, to)
		}
		stack = append(stack, of(at.from.Children, to)...)
	}
	return out
}

// Merge puts siblings of the same name and kind together, with what is below
// them. Their known values are added up.
func (t *Tree) Merge() *Tree {
	out := t.derived()
	type group struct {
		node *Node
		from []*Node // whose children come below it
	}
	for stack := []group{{nil, []*Node{{Children: t.Roots}}}}; len(stack) > 0; {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := map[sameKey]int{}
		var below []group
		for _, from := range g.from {
			for _, n := range from.Children {
				i, ok := at[n.key()]
				if !ok {
					i = len(below)
					at[n.key()] = i
					below = append(below, group{node: n.copied(), from: []*Node{n}})
					continue
				}
				below[i].node.joins(n)
				below[i].from = append(below[i].from, n)
			}
		}
		for _, b := range below {
			out.attach(g.node, b.node)
			stack = append(stack, b)
		}
	}
	return out
}

// joins adds all values of another node, its launches and what it stands for.
func (n *Node) joins(o *Node) {
	for i, v := range o.Values {
		add(&n.Values[i].Exclusive, v.Exclusive)
		add(&n.Values[i].Inclusive, v.Inclusive)
	}
	n.Launches += o.Launches
	n.Regions = append(slices.Clip(n.Regions), o.Regions...)
	if n.more > 0 {
		n.more += o.more
		n.nameRest()
	}
}

func add(to *datasets.Null[float64], v datasets.Null[float64]) {
	if v.Valid {
		*to = datasets.Some(to.V + v.V)
	}
}

// sameKey tells which nodes of one parent, or of two trees, are the same.
type sameKey struct{ name, kind string }

func (n *Node) key() sameKey {
	if n.Kind == KindRest {
		return sameKey{"", KindRest}
	}
	return sameKey{n.Name, n.Kind}
}
