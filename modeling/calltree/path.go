package calltree

import (
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

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
	share := p.tree.shares()
	for i, n := range p.Nodes {
		of := math.NaN()
		if i > 0 {
			of = p.tree.Inclusive(n).V / p.tree.Inclusive(p.Nodes[i-1]).V
		}
		row, _ := p.tree.Row(n)
		t.Add(strings.Repeat("  ", min(i, 20))+n.label(80), p.tree.quantity(p.tree.Inclusive(n)), tabular.Percent(share(p.tree.Inclusive(n))), tabular.Percent(of),
			p.tree.quantity(p.tree.Exclusive(n)), n.where(), row.String())
	}
	t.Note("each child has at least %s of its parent's inclusive value", tabular.Percent(p.Threshold))
	return t
}

// String is the path as text.
func (p Path) String() string { return p.Table().String() }

// Display shows the path as a table.
func (p Path) Display() display.Bundle { return p.Table().Display() }
