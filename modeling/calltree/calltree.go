// Package calltree works with call trees: where in the nesting of functions,
// loops and ranges the time (or any metric that adds up) goes, by which path,
// and what changed between two runs.
//
// In flows a run of a store (FromStore), or nodes of your own (New); out flows
// a Tree. Its operations are those that analysts know from Hatchet and
// Thicket, and each returns something new:
//
//	Filter, Hide, Prune, Subtree   a smaller tree
//	Merge                          siblings of the same name as one node
//	Invert                         callers below callees ("bottom up")
//	Flatten                        a table by name, module, file or kind
//	HotPath, Findings              the expensive chain of calls, as evidence
//	Compare                        two trees as one, with the change of each node
//	OfRanks                        the spread over ranks or threads
//	Flame                          a flame graph or an icicle
//
// The exclusive value of a node is its own, the inclusive one has those of all
// nodes below with it. A value that is not known is not 0: it is absent, and
// sums leave it out. Exclusive values below 0 (times of parallel children,
// rounding) stay as they are, and the tree's Notes say so.
package calltree

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Metric is what the values of a tree are.
type Metric struct {
	Name string
	Unit string // SI, "" where the tool does not tell
}

// Value is a node's value of one metric.
type Value struct {
	Exclusive datasets.Null[float64]
	Inclusive datasets.Null[float64]
}

// Region is a row of the table region.
type Region struct{ Run, ID int64 }

// Node is a place in a call tree.
type Node struct {
	Name     string // short
	Raw      string // as the tool wrote it
	Kind     string // datasets.KindFunction ..., or KindRest
	Module   string
	File     string
	Line     int64    // 0: not known
	Launches int      // 0 where the tool does not count them
	Regions  []Region // what the node stands for: several after Compare or Invert
	Values   []Value  // one for each metric of the tree
	Children []*Node

	parent *Node
	sides  uint8 // of a Comparison
	at     int   // place in the list of a call graph, from 1
	more   int   // how many nodes one of KindRest stands for
}

// KindRest is the kind of a node that stands for nodes too small to be kept.
const KindRest = "rest"

// Parent is the node above, nil for a root.
func (n *Node) Parent() *Node { return n.parent }

// Path are the names from the root to the node.
func (n *Node) Path() []string {
	var p []string
	for ; n != nil; n = n.parent {
		p = append(p, n.Name)
	}
	slices.Reverse(p)
	return p
}

// Tree is a forest of nodes with metrics. Its nodes are not to be changed:
// trees share them.
type Tree struct {
	Metrics []Metric
	Roots   []*Node
	Runs    []int64
	Over    string   // how values of ranks, threads and visits became one
	Notes   []string // what a reader must know to read the values right

	main int // the metric that operations work on
}

// New makes a tree of nodes that have a value for each metric. Where only one
// of the exclusive and the inclusive value is there, the other follows from it
// and the children; where neither is, the inclusive one is what the children
// have. A node has one place in one tree.
func New(metrics []Metric, roots ...*Node) (*Tree, error) {
	if len(metrics) == 0 {
		return nil, errors.New("a call tree needs a metric: give its name and unit")
	}
	t := &Tree{Metrics: metrics, Roots: roots, Over: "as given"}
	seen := map[*Node]bool{}
	// A stack of our own: trees may be deeper than wide.
	type item struct{ n, parent *Node }
	var order []item
	for stack := items(roots, nil, func(n, p *Node) item { return item{n, p} }); len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		switch {
		case at.n == nil:
			return nil, errors.New("a call tree has a nil node")
		case seen[at.n]:
			return nil, fmt.Errorf("the node %q is in the tree twice: a node has one place, copy it", at.n.Name)
		case len(at.n.Values) != len(metrics):
			return nil, fmt.Errorf("the node %q has %d values for %d metrics", at.n.Name, len(at.n.Values), len(metrics))
		}
		seen[at.n] = true
		for i, v := range at.n.Values {
			for _, x := range []float64{v.Exclusive.Or(0), v.Inclusive.Or(0)} {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					return nil, fmt.Errorf("the node %q has %s = %g: leave out what is not known", at.n.Name, metrics[i].Name, x)
				}
			}
		}
		at.n.parent = at.parent
		order = append(order, at)
		stack = append(stack, items(at.n.Children, at.n, func(n, p *Node) item { return item{n, p} })...)
	}
	for _, at := range slices.Backward(order) {
		at.n.complete()
	}
	t.remark()
	return t, nil
}

func items[T any](ns []*Node, parent *Node, of func(n, p *Node) T) []T {
	out := make([]T, 0, len(ns))
	for _, n := range slices.Backward(ns) {
		out = append(out, of(n, parent))
	}
	return out
}

// complete derives the values that a node lacks from its children's.
func (n *Node) complete() {
	for i := range n.Values {
		v := &n.Values[i]
		below, has := n.below(i)
		switch {
		case v.Exclusive.Valid && v.Inclusive.Valid:
		case v.Exclusive.Valid:
			v.Inclusive = datasets.Some(v.Exclusive.V + below)
		case v.Inclusive.Valid:
			v.Exclusive = datasets.Some(v.Inclusive.V - below)
		case has:
			v.Inclusive = datasets.Some(below)
		}
	}
}

// below is the sum of the children's inclusive values.
func (n *Node) below(metric int) (sum float64, has bool) {
	for _, c := range n.Children {
		if v := c.Values[metric].Inclusive; v.Valid {
			sum, has = sum+v.V, true
		}
	}
	return sum, has
}

// All goes through the nodes, each before those below it.
func (t *Tree) All() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		stack := slices.Clone(t.Roots)
		slices.Reverse(stack)
		for len(stack) > 0 {
			n := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if !yield(n) {
				return
			}
			for _, c := range slices.Backward(n.Children) {
				stack = append(stack, c)
			}
		}
	}
}

// Len is the number of nodes.
func (t *Tree) Len() (n int) {
	for range t.All() {
		n++
	}
	return n
}

// Metric is the metric that the tree's operations work on, the first one
// unless By chose another.
func (t *Tree) Metric() Metric { return t.Metrics[t.main] }

// By is the same tree with operations on another of its metrics.
func (t *Tree) By(metric string) (*Tree, error) {
	var names []string
	for i, m := range t.Metrics {
		if m.Name == metric {
			o := *t
			o.main = i
			o.Notes = slices.Clone(t.Notes)
			return &o, nil
		}
		names = append(names, m.Name)
	}
	return nil, fmt.Errorf("the call tree has no metric %q: it has %s", metric, strings.Join(names, ", "))
}

// Exclusive is the node's own value of the tree's metric.
func (t *Tree) Exclusive(n *Node) datasets.Null[float64] { return n.Values[t.main].Exclusive }

// Inclusive is the value of the node and all below it.
func (t *Tree) Inclusive(n *Node) datasets.Null[float64] { return n.Values[t.main].Inclusive }

// Total is the sum of the roots' inclusive values; absent where none has one.
func (t *Tree) Total() datasets.Null[float64] {
	var vs []float64
	for _, r := range t.Roots {
		if v := t.Inclusive(r); v.Valid {
			vs = append(vs, v.V)
		}
	}
	if vs == nil {
		return datasets.Null[float64]{}
	}
	return datasets.Some(sum(vs))
}

// sum adds up in an order that does not depend on that of the input.
func sum(vs []float64) (s float64) {
	slices.Sort(vs)
	for _, v := range vs {
		s += v
	}
	return s
}

// Share is a value as a part of the total, NaN where there is none.
func (t *Tree) Share(v datasets.Null[float64]) float64 { return t.shares()(v) }

// shares is Share for many values: forests can have many roots to add up.
func (t *Tree) shares() func(datasets.Null[float64]) float64 {
	total := t.Total()
	return func(v datasets.Null[float64]) float64 {
		if !v.Valid || !total.Valid || total.V == 0 {
			return math.NaN()
		}
		return v.V / total.V
	}
}

// Row is the row of the store that a node's value is from, of the first run
// and region that it stands for.
func (t *Tree) Row(n *Node) (observe.Row, bool) {
	if len(n.Regions) == 0 {
		return observe.Row{}, false
	}
	return observe.Row{Run: n.Regions[0].Run, Region: n.Regions[0].ID, Metric: t.Metric().Name}, true
}

// Find are the nodes for which match holds, in the tree's order.
func (t *Tree) Find(match func(*Node) bool) (out []*Node) {
	for n := range t.All() {
		if match(n) {
			out = append(out, n)
		}
	}
	return out
}

// Named matches nodes by their short name.
func Named(name string) func(*Node) bool { return func(n *Node) bool { return n.Name == name } }

func (t *Tree) quantity(v datasets.Null[float64]) string {
	if !v.Valid {
		return "n/a"
	}
	return tabular.Quantity(v.V, t.Metric().Unit)
}

// negligible is the part of the total below which a negative exclusive value
// is what subtraction of decimal numbers leaves.
const negligible = 1e-9

// remark notes what is odd about the values.
func (t *Tree) remark() {
	for i, m := range t.Metrics {
		o := *t
		o.main = i
		total := o.Total()
		if !total.Valid {
			t.Notes = append(t.Notes, fmt.Sprintf("no node has a value of %s", m.Name))
			continue
		}
		var negative []float64
		var lowest *Node
		unknown, n := 0, 0
		for node := range t.All() {
			n++
			v := o.Exclusive(node)
			if !v.Valid && !o.Inclusive(node).Valid {
				unknown++ // a node where a sampler found only what it calls has an inclusive value
			}
			if v.Valid && v.V < 0 && -v.V > negligible*math.Abs(total.V) {
				negative = append(negative, v.V)
				if lowest == nil || v.V < o.Exclusive(lowest).V {
					lowest = node
				}
			}
		}
		if lowest != nil {
			t.Notes = append(t.Notes, fmt.Sprintf("%s below 0 in %s, %s in all, the lowest %s in %s: what they call takes longer than they do, as children that run in parallel or rounding make it",
				m.Name, count(len(negative), "node"), tabular.Quantity(sum(negative), m.Unit), o.quantity(o.Exclusive(lowest)), clean(lowest.Name, 80)))
		}
		if unknown > 0 {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is not known of %d of %d nodes, nor of what is below them: they add nothing to sums", m.Name, unknown, n))
		}
	}
}

func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
