package calltree

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/observe"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// FindingKind says what a Finding is about.
type FindingKind string

// Kinds of findings.
const (
	HotPathEnds  FindingKind = "hot-path"      // where the hot path ends
	TopExclusive FindingKind = "top-exclusive" // a function with much time of its own
	Imbalanced   FindingKind = "imbalance"     // a node that takes longer on some ranks
	Changed      FindingKind = "change"        // a node that takes longer or shorter than before
)

// Finding is one statement about a call tree, with the rows that say so. It
// is plain data, to be cited and stored.
type Finding struct {
	ID    string // "calltree.hot-path", "calltree.top-exclusive.2": the same for the same tree
	Kind  FindingKind
	Text  string
	Node  string
	Path  []string // names from the root, where the finding is about one node
	Value float64  // of the metric; a difference for Changed
	Share float64  // of the tree's total, NaN where there is none
	Unit  string
	Rows  []observe.Row // at most sixteen
	Count int           // how many rows there are in all
}

const maxRows = 16

func (t *Tree) rows(f *Finding, nodes ...*Node) {
	for _, n := range nodes {
		for _, r := range n.Regions {
			f.Count++
			if len(f.Rows) < maxRows {
				f.Rows = append(f.Rows, observe.Row{Run: r.Run, Region: r.ID, Metric: t.Metric().Name})
			}
		}
	}
}

// DefaultTop is how many functions Findings names.
const DefaultTop = 5

// Findings are where the hot path (of DefaultHotPath) ends, and the functions
// with the largest exclusive values, at most top of them (0: DefaultTop).
func (t *Tree) Findings(top int) []Finding {
	if top <= 0 {
		top = DefaultTop
	}
	var out []Finding
	m := t.Metric()
	if p := t.HotPath(DefaultHotPath); p.Last() != nil {
		n := p.Last()
		in := t.Inclusive(n)
		f := Finding{ID: "calltree." + string(HotPathEnds), Kind: HotPathEnds, Node: n.Name, Path: n.Path(), Value: in.V, Share: t.Share(in), Unit: m.Unit}
		f.Text = fmt.Sprintf("The hot path of %s, %s, holds %s, %s of all", m.Name, clean(strings.Join(shortPath(p.Names()), " > "), 300), t.quantity(in), tabular.Percent(f.Share))
		if ex := t.Exclusive(n); ex.Valid && in.V > 0 {
			f.Text += fmt.Sprintf("; %s of that is in %s itself", tabular.Percent(ex.V/in.V), clean(n.Name, 80))
		}
		f.Text += "."
		t.rows(&f, p.Nodes...)
		slices.Reverse(f.Rows) // the end of the path comes first
		out = append(out, f)
	}
	found := 0
	for _, r := range t.Flatten(ByName).Rows {
		if found == top || !r.Exclusive.Valid || r.Exclusive.V <= 0 {
			break
		}
		if r.Name == together {
			continue
		}
		found++
		f := Finding{ID: fmt.Sprintf("calltree.%s.%d", TopExclusive, found), Kind: TopExclusive, Node: r.Name, Value: r.Exclusive.V, Share: t.Share(r.Exclusive), Unit: m.Unit}
		if len(r.Nodes) == 1 {
			f.Path = r.Nodes[0].Path()
		}
		f.Text = fmt.Sprintf("%s itself takes %s of %s, %s of all, at %s of the call tree; with what it calls %s (%s).", clean(r.Name, 80), t.quantity(r.Exclusive), m.Name,
			tabular.Percent(f.Share), count(len(r.Nodes), "place"), t.quantity(r.Inclusive), tabular.Percent(t.Share(r.Inclusive)))
		ns := slices.Clone(r.Nodes)
		slices.SortStableFunc(ns, func(a, b *Node) int { return later(t.Exclusive(b), t.Exclusive(a)) })
		t.rows(&f, ns...)
		out = append(out, f)
	}
	return out
}

// shortPath leaves out the middle of a long path.
func shortPath(names []string) []string {
	if len(names) <= 8 {
		return names
	}
	return slices.Concat(names[:3], []string{"..."}, names[len(names)-4:])
}

// Findings are the nodes at which ranks differ most: those whose slowest rank
// takes at least a part (of the time of the slowest rank in all, 0 to 1) longer
// than the mean.
func (r *Ranks) Findings(part float64) []Finding {
	var out []Finding
	slowest := slices.Max(r.Total)
	t := r.tree
	for _, n := range r.Nodes {
		if !n.Exclusive.Valid || n.gain() <= 0 || n.gain() < part*slowest || len(out) == DefaultTop {
			break
		}
		e := n.Exclusive.V
		f := Finding{ID: fmt.Sprintf("calltree.%s.%d", Imbalanced, len(out)+1), Kind: Imbalanced, Node: n.Node.Name, Path: n.Node.Path(), Value: n.gain(), Share: n.gain() / slowest, Unit: t.Metric().Unit}
		f.Text = fmt.Sprintf("%s takes %s on %s %d and %s on average over %s (max/mean %s).", clean(n.Node.Name, 80), t.quantity(datasets.Some(e.Max)), r.Unit, e.MaxRank,
			t.quantity(datasets.Some(e.Mean)), count(e.Ranks, r.Unit), ratio(e.Imbalance))
		t.rows(&f, n.Node)
		out = append(out, f)
	}
	return out
}
