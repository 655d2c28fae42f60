package calltree

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Key names the group of a node.
type Key func(*Node) string

// Keys of Flatten.
var (
	ByName   Key = func(n *Node) string { return n.Name }
	ByModule Key = func(n *Node) string { return known(n.Module) }
	ByFile   Key = func(n *Node) string { return known(n.File) }
	ByKind   Key = func(n *Node) string { return n.Kind }
)

// known is a file or module, "" for the words of tools (callgrind, HPCToolkit)
// for one that they do not know.
func known(name string) string {
	switch name {
	case "???", "<unknown file>", "<unknown load module>":
		return ""
	}
	return name
}

// unnamed is the group of nodes for which a Key is "".
const unnamed = "(unknown)"

// together is the group of nodes of KindRest.
const together = "(put together)"

// Row is a group of nodes.
type Row struct {
	Name      string
	Exclusive datasets.Null[float64]
	// Inclusive counts a node only if no node above it is of the same group:
	// recursion is not counted twice.
	Inclusive datasets.Null[float64]
	Unknown   int     // nodes without an exclusive value, which Exclusive lacks
	Nodes     []*Node // in the tree's order
}

// Flat is a tree as a list.
type Flat struct {
	Rows  []Row // the largest exclusive value first
	Total datasets.Null[float64]

	tree *Tree
}

// Flatten puts nodes of the same key together. The sum of the exclusive values
// is that of the tree.
func (t *Tree) Flatten(by Key) Flat {
	f := Flat{Total: t.Total(), tree: t}
	at := map[string]int{}
	var exclusive, inclusive [][]float64
	above := map[string]int{} // groups on the way to a node, with how often
	type item struct {
		n    *Node
		name string
		up   bool
	}
	of := func(ns []*Node) []item {
		return items(ns, nil, func(n, _ *Node) item { return item{n: n} })
	}
	for stack := of(t.Roots); len(stack) > 0; {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if it.up {
			above[it.name]--
			continue
		}
		name := cmp.Or(by(it.n), unnamed)
		if it.n.Kind == KindRest {
			name = together
		}
		i, ok := at[name]
		if !ok {
			i = len(f.Rows)
			at[name] = i
			f.Rows = append(f.Rows, Row{Name: name})
			exclusive, inclusive = append(exclusive, nil), append(inclusive, nil)
		}
		r := &f.Rows[i]
		r.Nodes = append(r.Nodes, it.n)
		if v := t.Exclusive(it.n); v.Valid {
			exclusive[i] = append(exclusive[i], v.V)
		} else {
			r.Unknown++
		}
		if v := t.Inclusive(it.n); v.Valid && above[name] == 0 {
			inclusive[i] = append(inclusive[i], v.V)
		}
		above[name]++
		stack = append(stack, item{name: name, up: true})
		stack = append(stack, of(it.n.Children)...)
	}
	for i := range f.Rows {
		if exclusive[i] != nil {
			f.Rows[i].Exclusive = datasets.Some(sum(exclusive[i]))
		}
		if inclusive[i] != nil {
			f.Rows[i].Inclusive = datasets.Some(sum(inclusive[i]))
		}
	}
	slices.SortFunc(f.Rows, func(a, b Row) int {
		return cmp.Or(later(b.Exclusive, a.Exclusive), later(b.Inclusive, a.Inclusive), cmp.Compare(a.Name, b.Name))
	})
	return f
}

// later compares values; one that is not known comes before all.
func later(a, b datasets.Null[float64]) int {
	if a.Valid != b.Valid {
		if a.Valid {
			return 1
		}
		return -1
	}
	return cmp.Compare(a.V, b.V)
}

// Row is the group of that name.
func (f Flat) Row(name string) (Row, bool) {
	for _, r := range f.Rows {
		if r.Name == name {
			return r, true
		}
	}
	return Row{}, false
}

const flatShown = 30

// Table is the list as a table, thirty rows of it.
func (f Flat) Table() tabular.Table {
	t := tabular.Table{Title: fmt.Sprintf("%s by %s: %s in all", f.tree.Metric().Name, count(len(f.Rows), "group"), f.tree.quantity(f.Total)),
		Columns: tabular.Columns("<name", "exclusive", "share", "inclusive", "share", "nodes", "<evidence")}
	share := f.tree.shares()
	for i, r := range f.Rows {
		if i == flatShown {
			t.Note("%s not shown", count(len(f.Rows)-i, "more group"))
			break
		}
		evidence := ""
		if row, ok := f.tree.Row(r.Nodes[0]); ok {
			evidence = row.String()
			if n := len(r.Nodes); n > 1 {
				evidence += fmt.Sprintf(" and %d more", n-1)
			}
		}
		t.Add(clean(r.Name, 80), f.tree.quantity(r.Exclusive), tabular.Percent(share(r.Exclusive)), f.tree.quantity(r.Inclusive), tabular.Percent(share(r.Inclusive)),
			fmt.Sprint(len(r.Nodes)), evidence)
	}
	for _, n := range f.tree.Notes {
		t.Note("%s", n)
	}
	return t
}

// String is the list as text.
func (f Flat) String() string { return f.Table().String() }

// Display shows the list as a table.
func (f Flat) Display() display.Bundle { return f.Table().Display() }
