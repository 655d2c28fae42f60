package calltree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/datasets"
)

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
				n.more += c.at.more
				if room := maxRows - len(n.Regions); room > 0 {
					n.Regions = append(n.Regions, c.leaf.Regions[:min(room, len(c.leaf.Regions))]...)
				}
				for i, v := range c.leaf.Values {
					add(&n.Values[i].Inclusive, v.Exclusive)
				}
			}
			opened = append(opened, open{n, g})
		}
		for _, o := range opened {
			if o.n.more > 0 {
				o.n.nameRest()
			}
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
	out.Over += "; callers below callees"
	return out
}
