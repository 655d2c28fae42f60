package calltree

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/tabular"
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
	n := 0
	for _, root := range ns {
		if root.Kind == KindRest { // it was put together before
			n += restCount(root)
			continue
		}
		below := Tree{Roots: []*Node{root}}
		n += below.Len()
	}
	r.Name = fmt.Sprintf("(%d more)", n)
	return r
}

func restCount(n *Node) int {
	k := 1
	_, _ = fmt.Sscanf(n.Name, "(%d more)", &k)
	return k
}

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
}

func add(to *datasets.Null[float64], v datasets.Null[float64]) {
	if v.Valid {
		*to = datasets.Some(to.V + v.V)
	}
}

// An inverted tree can have as many nodes as all paths are long together.
const (
	maxInverted = 200_000   // nodes
	maxChains   = 5_000_000 // steps from a node to its caller
)

// Invert turns the tree upside down: roots are functions (nodes of one name
// and kind), below each are its callers, below those theirs. The inclusive value of a root is
// the exclusive one of the function wherever it is called; that of a caller is
// the part of it that was spent on behalf of this caller. Exclusive is what
// came from callers that have none above them, so that the totals of exclusive
// values are those of the tree itself.
//
// A node's regions are those whose exclusive value it has, sixteen of them.
//
// The tree is grown from its most expensive nodes on; after 200000 nodes, or 5
// million steps from a node to its caller, the rest has no callers, which a note says.
func (t *Tree) Invert() *Tree {
	out := t.derived()
	type chain struct{ leaf, at *Node } // the callers of leaf are followed up to at
	groups := func(cs []chain) [][]chain {
		at := map[sameKey]int{}
		var gs [][]chain
		for _, c := range cs {
			k := c.at.key()
			i, ok := at[k]
			if !ok {
				i = len(gs)
				at[k] = i
				gs = append(gs, nil)
			}
			gs[i] = append(gs[i], c)
		}
		return gs
	}
	type open struct {
		n      *Node
		chains []chain
	}
	grow := func(parent *Node, cs []chain) (opened []open) {
		for _, g := range groups(cs) {
			first := g[0].at
			n := &Node{Name: first.Name, Raw: first.Raw, Kind: first.Kind, Module: first.Module, File: first.File, Line: first.Line, Values: make([]Value, len(t.Metrics))}
			for _, c := range g {
				if room := maxRows - len(n.Regions); room > 0 {
					n.Regions = append(n.Regions, c.leaf.Regions[:min(room, len(c.leaf.Regions))]...)
				}
				for i, v := range c.leaf.Values {
					add(&n.Values[i].Inclusive, v.Exclusive)
				}
			}
			opened = append(opened, open{n, g})
		}
		// The largest first: the order of callers has no meaning.
		slices.SortStableFunc(opened, func(a, b open) int {
			return cmp.Or(cmp.Compare(t.Inclusive(b.n).V, t.Inclusive(a.n).V), cmp.Compare(a.n.Name, b.n.Name))
		})
		for _, o := range opened {
			out.attach(parent, o.n)
		}
		return opened
	}
	var leaves []chain
	for n := range t.All() {
		if slices.ContainsFunc(n.Values, func(v Value) bool { return v.Exclusive.Valid && v.Exclusive.V != 0 }) {
			leaves = append(leaves, chain{n, n})
		}
	}
	nodes, steps, cut := 0, 0, 0
	var all []*Node
	for level := grow(nil, leaves); len(level) > 0; {
		nodes += len(level)
		slices.SortStableFunc(level, func(a, b open) int { return cmp.Compare(t.Inclusive(b.n).V, t.Inclusive(a.n).V) })
		var next []open
		for _, o := range level {
			all = append(all, o.n)
			var up []chain
			for _, c := range o.chains {
				if c.at.parent != nil {
					up = append(up, chain{c.leaf, c.at.parent})
				}
			}
			switch {
			case len(up) == 0:
			case nodes+len(next) >= maxInverted, steps+len(up) > maxChains:
				cut++
			default:
				steps += len(up)
				next = append(next, grow(o.n, up)...)
			}
		}
		level = next
	}
	for _, n := range slices.Backward(all) {
		for i := range n.Values {
			v := &n.Values[i]
			below, _ := n.below(i)
			v.Exclusive = datasets.Null[float64]{V: v.Inclusive.V - below, Valid: v.Inclusive.Valid}
		}
	}
	if cut > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("callers of %s are left out, those of the least expensive: Prune first, or Subtree", count(cut, "node")))
	}
	out.Over = strings.TrimSuffix(out.Over+"; callers below callees", "; ")
	return out
}

// sameKey tells which nodes of one parent, or of two trees, are the same.
type sameKey struct{ name, kind string }

func (n *Node) key() sameKey { return sameKey{n.Name, n.Kind} }

// Path is a chain of nodes, each the parent of the next.
type Path struct {
	Nodes     []*Node
	Threshold float64

	tree *Tree
}

// DefaultHotPath is the threshold of HotPath that Hatchet and HPCToolkit have.
const DefaultHotPath = 0.5

// HotPath starts at the root with the largest inclusive value and goes to the
// largest child as long as that has at least the threshold's part (0 to 1) of
// its parent's inclusive value; 0 is DefaultHotPath. It ends where the time spreads.
func (t *Tree) HotPath(threshold float64) Path {
	if !(threshold > 0) {
		threshold = DefaultHotPath
	}
	p := Path{Threshold: threshold, tree: t}
	for n := t.largest(t.Roots); n != nil; {
		p.Nodes = append(p.Nodes, n)
		c := t.largest(n.Children)
		if c == nil || t.Inclusive(c).V < threshold*t.Inclusive(n).V {
			break
		}
		n = c
	}
	return p
}

// largest is the node with the largest inclusive value above 0, the first by
// name of several.
func (t *Tree) largest(ns []*Node) (best *Node) {
	for _, n := range ns {
		v := t.Inclusive(n)
		if !v.Valid || v.V <= 0 || n.Kind == KindRest {
			continue
		}
		if best == nil || v.V > t.Inclusive(best).V || v.V == t.Inclusive(best).V && n.Name < best.Name {
			best = n
		}
	}
	return best
}

// Last is where the path ends, nil for an empty one.
func (p Path) Last() *Node {
	if len(p.Nodes) == 0 {
		return nil
	}
	return p.Nodes[len(p.Nodes)-1]
}

// Names are those of the path's nodes.
func (p Path) Names() []string {
	out := make([]string, len(p.Nodes))
	for i, n := range p.Nodes {
		out[i] = n.Name
	}
	return out
}

// Table is the path as a table.
func (p Path) Table() tabular.Table {
	t := tabular.Table{Columns: tabular.Columns("<node", "inclusive", "share", "of parent", "exclusive", "<where", "<evidence")}
	if len(p.Nodes) == 0 {
		t.Title = "no node has a value above 0: there is no hot path"
		return t
	}
	last := p.Last()
	t.Title = fmt.Sprintf("hot path of %s: %s holds %s of %s", p.tree.Metric().Name, last.label(80),
		tabular.Percent(p.tree.Share(p.tree.Inclusive(last))), p.tree.quantity(p.tree.Total()))
	for i, n := range p.Nodes {
		of := math.NaN()
		if i > 0 {
			of = p.tree.Inclusive(n).V / p.tree.Inclusive(p.Nodes[i-1]).V
		}
		row, _ := p.tree.Row(n)
		t.Add(strings.Repeat("  ", min(i, 20))+n.label(80), p.tree.quantity(p.tree.Inclusive(n)), tabular.Percent(p.tree.Share(p.tree.Inclusive(n))), tabular.Percent(of),
			p.tree.quantity(p.tree.Exclusive(n)), n.where(), row.String())
	}
	t.Note("each child has at least %s of its parent's inclusive value", tabular.Percent(p.Threshold))
	return t
}

// label is the name to show, printable: a path in it is cut to its end.
func (n *Node) label(limit int) string {
	name := n.Name
	if short := base(n.File); short != n.File {
		name = strings.ReplaceAll(name, n.File, short)
	}
	return clean(name, limit)
}

// where is a node's place in the source, "" where it is not known.
func (n *Node) where() string {
	switch {
	case n.File == "" || strings.HasPrefix(n.File, "<"): // "<unknown file>"
		return ""
	case n.Line > 0:
		return fmt.Sprintf("%s:%d", clean(n.File, 200), n.Line)
	}
	return clean(n.File, 200)
}
