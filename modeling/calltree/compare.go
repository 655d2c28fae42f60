package calltree

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Change is a value before and after.
type Change struct {
	Before, After datasets.Null[float64]
	// Absolute is after - before. A node that one tree does not have adds nothing
	// there; where a tree has the node and not its value, the change is not known.
	Absolute datasets.Null[float64]
	// Relative is after/before - 1, not known where before is absent or 0.
	Relative datasets.Null[float64]
}

// Comparison is the union of two trees, node by node.
type Comparison struct {
	// Tree has the nodes of both, with two metrics, the one after (main) and the
	// one before. Nodes are the same when their names and kinds are, from the root
	// on; siblings of the same name and kind are put together.
	Tree          *Tree
	Before, After datasets.Null[float64] // totals
	Unit          string
}

// sides of a comparison that have a node.
const (
	hasAfter = 1 << iota
	hasBefore
)

// Compare makes one tree of two, each with the metric that it works on. The
// units must be the same.
func Compare(before, after *Tree) (*Comparison, error) {
	if before == nil || after == nil {
		return nil, errors.New("comparing call trees: one is nil")
	}
	mb, ma := before.Metric(), after.Metric()
	if mb.Unit != ma.Unit {
		return nil, fmt.Errorf("comparing call trees: %s is in %q before and %s in %q after: they cannot be subtracted", mb.Name, mb.Unit, ma.Name, ma.Unit)
	}
	t := &Tree{Metrics: []Metric{{ma.Name + " after", ma.Unit}, {mb.Name + " before", mb.Unit}}, Over: after.Over}
	if before.Over != after.Over {
		t.Notes = append(t.Notes, fmt.Sprintf("before is %q, after is %q: their values do not mean the same", before.Over, after.Over))
	}
	for _, n := range before.Notes {
		t.Notes = append(t.Notes, "before: "+n)
	}
	for _, n := range after.Notes {
		t.Notes = append(t.Notes, "after: "+n)
	}
	for _, r := range slices.Concat(before.Runs, after.Runs) {
		if !slices.Contains(t.Runs, r) {
			t.Runs = append(t.Runs, r)
		}
	}
	type group struct {
		node *Node
		from [2][]*Node // after, before
	}
	stack := []group{{from: [2][]*Node{after.Roots, before.Roots}}}
	for len(stack) > 0 {
		g := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		at := map[sameKey]int{}
		var below []group
		for _, side := range []int{1, 0} { // what was there before comes first
			of := []*Tree{after, before}[side]
			for _, n := range g.from[side] {
				i, ok := at[n.key()]
				if !ok {
					i = len(below)
					at[n.key()] = i
					c := n.copied()
					c.Launches, c.Regions, c.Values = 0, nil, make([]Value, 2)
					below = append(below, group{node: c})
				}
				b := &below[i]
				b.from[side] = append(b.from[side], n.Children...)
				b.node.from(side, n, of.main)
			}
		}
		for _, b := range below {
			t.attach(g.node, b.node)
			stack = append(stack, b)
		}
	}
	return &Comparison{Tree: t, Before: before.Total(), After: after.Total(), Unit: ma.Unit}, nil
}

// from adds the values of a node of one side.
func (n *Node) from(side int, o *Node, metric int) {
	n.sides |= 1 << side
	if side == 0 {
		n.Launches += o.Launches
	}
	n.Regions = append(n.Regions, o.Regions...)
	add(&n.Values[side].Exclusive, o.Values[metric].Exclusive)
	add(&n.Values[side].Inclusive, o.Values[metric].Inclusive)
}

// Exclusive is the change of a node's own value.
func (c *Comparison) Exclusive(n *Node) Change {
	return changeOf(n, n.Values[1].Exclusive, n.Values[0].Exclusive)
}

// Inclusive is the change of the value of a node with all below it.
func (c *Comparison) Inclusive(n *Node) Change {
	return changeOf(n, n.Values[1].Inclusive, n.Values[0].Inclusive)
}

// Total is the change of all.
func (c *Comparison) Total() Change {
	return changeOf(&Node{sides: hasBefore | hasAfter}, c.Before, c.After)
}

func changeOf(n *Node, before, after datasets.Null[float64]) Change {
	ch := Change{Before: before, After: after}
	known := func(v datasets.Null[float64], side uint8) bool { return v.Valid || n.sides&side == 0 }
	if (before.Valid || after.Valid) && known(before, hasBefore) && known(after, hasAfter) {
		ch.Absolute = datasets.Some(after.V - before.V)
	}
	if ch.Absolute.Valid && before.Valid && before.V != 0 {
		ch.Relative = datasets.Some(after.V/before.V - 1)
	}
	return ch
}

// Only says which side alone has the node: "before", "after", or "" for both.
func (c *Comparison) Only(n *Node) string {
	switch n.sides {
	case hasBefore:
		return "before"
	case hasAfter:
		return "after"
	}
	return ""
}

// Top are the nodes whose exclusive values changed most, at most n of them.
func (c *Comparison) Top(n int) []*Node {
	all := c.Tree.Find(func(n *Node) bool {
		ch := c.Exclusive(n)
		return ch.Absolute.Valid && ch.Absolute.V != 0
	})
	slices.SortStableFunc(all, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(math.Abs(c.Exclusive(b).Absolute.V), math.Abs(c.Exclusive(a).Absolute.V)), slices.Compare(a.Path(), b.Path()))
	})
	return all[:min(n, len(all))]
}

// Findings are the nodes whose exclusive values changed most.
func (c *Comparison) Findings(top int) []Finding {
	if top <= 0 {
		top = DefaultTop
	}
	var out []Finding
	for i, n := range c.Top(top) {
		ch := c.Exclusive(n)
		f := Finding{ID: fmt.Sprintf("calltree.%s.%d", Changed, i+1), Kind: Changed, Node: n.Name, Path: n.Path(), Value: ch.Absolute.V, Share: math.NaN(), Unit: c.Unit}
		if c.Before.Valid && c.Before.V != 0 {
			f.Share = ch.Absolute.V / c.Before.V
		}
		f.Text = fmt.Sprintf("%s itself went from %s to %s (%s), which is %s of the total before.", clean(n.Name, 80), c.side(n, ch.Before, "before"), c.side(n, ch.After, "after"),
			signed(ch.Relative), signed(datasets.Null[float64]{V: f.Share, Valid: !math.IsNaN(f.Share)}))
		c.Tree.rows(&f, n)
		out = append(out, f)
	}
	return out
}

func (c *Comparison) side(n *Node, v datasets.Null[float64], side string) string {
	if o := c.Only(n); o != "" && o != side {
		return "not there"
	}
	return c.Tree.quantity(v)
}

// signed is a fraction as percent with its sign, a large one as a factor.
func signed(v datasets.Null[float64]) string {
	switch {
	case !v.Valid:
		return "n/a"
	case v.V >= 10:
		return fmt.Sprintf("%.4g times", v.V+1)
	}
	return fmt.Sprintf("%+.1f %%", 100*v.V)
}

// Table is the comparison as a table: the twenty nodes whose own values
// changed most.
func (c *Comparison) Table() tabular.Table {
	total := c.Total()
	t := tabular.Table{Title: fmt.Sprintf("%s to %s: %s in all", c.Tree.quantity(c.Before), c.Tree.quantity(c.After), signed(total.Relative)),
		Columns: tabular.Columns("<node", "before", "after", "change", "relative", "inclusive change", "<path")}
	shown := c.Top(20)
	for _, n := range shown {
		ex, in := c.Exclusive(n), c.Inclusive(n)
		t.Add(n.label(60), c.side(n, ex.Before, "before"), c.side(n, ex.After, "after"), c.plus(ex.Absolute), signed(ex.Relative), c.plus(in.Absolute),
			clean(joinPath(shortPath(n.Path())), 120))
	}
	t.Note("before, after, change and relative are of exclusive values")
	if left := c.Tree.Len() - len(shown); left > 0 {
		t.Note("%s not shown, which changed less or whose change is not known", count(left, "more node"))
	}
	for _, n := range c.Tree.Notes {
		t.Note("%s", n)
	}
	return t
}

func (c *Comparison) plus(v datasets.Null[float64]) string {
	if v.Valid && v.V > 0 {
		return "+" + c.Tree.quantity(v)
	}
	return c.Tree.quantity(v)
}

// String is the comparison as text.
func (c *Comparison) String() string { return c.Table().String() }

// Display shows the comparison as a table.
func (c *Comparison) Display() display.Bundle { return c.Table().Display() }
