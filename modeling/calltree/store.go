package calltree

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/rooflab/rooflab/datasets"
)

// How values of ranks (or, where there are none, of threads) become one.
const (
	// Sum adds them up, and is what a region has as a whole where the tool wrote
	// that.
	Sum = "sum"
	// Mean is the sum divided by the number of ranks of the run: a rank without
	// a value at a node did not go there. Nodes add up as with Sum.
	Mean = "mean"
	// Max is the largest value of any rank, for each node and for exclusive and
	// inclusive values apart. Nodes do not add up, and sums of exclusive values
	// (Flatten, Filter, Hide, Invert) are of no rank: a note says so.
	Max = "max"
)

// Options say what to read of a run. The zero value is ready to use.
type Options struct {
	// Metrics are counters of the run, the first the one that operations work
	// on. None: the time that the profile names.
	Metrics []string
	// Kinds are the kinds of regions that are kept; what is below others moves
	// up. None: all, except that trees of kernels (on a device) that stand beside
	// those of the host are left out, which Notes then say: both pass at the same time.
	Kinds []string
	// Over is Sum, Mean or Max; "" is Sum.
	Over string
	// Rank picks one rank (or thread, where the run has no ranks).
	Rank datasets.Null[int64]
}

// FromStore reads the call tree of a run. It is an error where the run has no
// such metric. A profile that holds a call graph and no tree (callgrind, gprof)
// becomes an estimate of the tree, see FromGraph.
func FromStore(ctx context.Context, s *datasets.Store, run int64, opt Options) (*Tree, error) {
	t, err := fromStore(ctx, s, run, opt)
	if err != nil {
		return nil, fmt.Errorf("reading the call tree of run %d: %w", run, err)
	}
	return t, nil
}

func fromStore(ctx context.Context, s *datasets.Store, run int64, opt Options) (*Tree, error) {
	opt.Over = cmp.Or(opt.Over, Sum)
	if !slices.Contains([]string{Sum, Mean, Max}, opt.Over) {
		return nil, fmt.Errorf("values of ranks become one by %q, %q or %q, not %q", Sum, Mean, Max, opt.Over)
	}
	if len(opt.Metrics) == 0 {
		opt.Metrics = []string{""}
	}
	format := ""
	if err := s.Each(ctx, func(v []any) { format, _ = v[0].(string) }, `SELECT format FROM run WHERE id = ?`, run); err != nil {
		return nil, err
	}
	if format == "callgrind" || format == "gprof" {
		return graphOfStore(ctx, s, run, format, opt)
	}
	t := &Tree{Runs: []int64{run}, Over: "sum over ranks, threads and visits"}
	var nodes []*Node
	for i, name := range opt.Metrics {
		read, err := s.CallTree(ctx, run, name)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			t.Roots, nodes = build(read, run, len(opt.Metrics))
		}
		unit := ""
		for j, n := range read.Nodes {
			unit = cmp.Or(unit, n.Unit)
			nodes[j].Values[i] = Value{n.Exclusive, n.Inclusive}
		}
		t.Metrics = append(t.Metrics, Metric{read.Metric, unit})
		if opt.Over != Sum || opt.Rank.Valid {
			if t.Over, err = overRanks(ctx, s, run, read, nodes, i, opt); err != nil {
				return nil, err
			}
		}
	}
	if err := places(ctx, s, run, nodes); err != nil {
		return nil, err
	}
	if opt.Over == Max && !opt.Rank.Valid {
		t.Notes = append(t.Notes, "values are the largest of any rank or thread, node by node: their sums are those of none")
	}
	timed := false
	if err := s.Each(ctx, func([]any) { timed = true }, `SELECT 1 FROM launch WHERE run_id = ? AND start_ns IS NOT NULL LIMIT 1`, run); err != nil {
		return nil, err
	}
	return t.kinds(opt, timed), nil
}

// build makes nodes of a tree's rows, and returns them in the rows' order, too.
func build(read datasets.CallTree, run int64, metrics int) (roots, all []*Node) {
	all = make([]*Node, len(read.Nodes))
	values := make([]Value, metrics*len(all))
	var way []*Node
	for i, r := range read.Nodes {
		n := &Node{Name: cmp.Or(r.Short, r.Raw), Raw: r.Raw, Kind: r.Kind, Module: r.Module, Launches: int(r.Launches),
			Regions: []Region{{run, r.Region}}, Values: values[i*metrics : (i+1)*metrics : (i+1)*metrics]}
		way = way[:r.Depth]
		if r.Depth == 0 {
			roots = append(roots, n)
		} else {
			n.parent = way[r.Depth-1]
			n.parent.Children = append(n.parent.Children, n)
			if n.Module == "" && (n.Kind == datasets.KindLoop || n.Kind == datasets.KindRange) {
				n.Module = n.parent.Module // loops and lines are part of the function around them
			}
		}
		way = append(way, n)
		all[i] = n
	}
	return roots, all
}

// places adds files and lines: attributes of regions, or, of those without,
// the first line of code that the region has.
func places(ctx context.Context, s *datasets.Store, run int64, nodes []*Node) error {
	of := make(map[int64]*Node, len(nodes))
	for _, n := range nodes {
		of[n.Regions[0].ID] = n
	}
	err := s.Each(ctx, func(v []any) {
		id, _ := v[0].(int64)
		text, _ := v[2].(string)
		switch n := of[id]; {
		case n == nil:
		case v[1] == "file":
			n.File = text
		default:
			n.Line, _ = strconv.ParseInt(text, 10, 64)
		}
	}, `SELECT region_id, name, value FROM attribute WHERE run_id = ? AND region_id IS NOT NULL AND launch_id IS NULL AND name IN ('file', 'line')`, run)
	if err != nil {
		return err
	}
	return s.Each(ctx, func(v []any) {
		id, _ := v[0].(int64)
		if n := of[id]; n != nil && n.File == "" {
			n.File, _ = v[1].(string)
			n.Line, _ = v[2].(int64)
		}
	}, `SELECT region_id, file, min(line) FROM code WHERE run_id = ? AND file IS NOT NULL AND coalesce(inline_depth, 0) = 0 GROUP BY 1, 2 ORDER BY 1, 2`, run)
}

// kinds keeps the kinds that were asked for, or leaves kernels beside the
// host's tree out. timed says that launches have times, and may overlap.
func (t *Tree) kinds(opt Options, timed bool) *Tree {
	if len(opt.Kinds) > 0 {
		t = t.Filter(func(n *Node) bool { return slices.Contains(opt.Kinds, n.Kind) })
		t.Notes = nil // what was left out is what was asked for
		t.remark()
		return t
	}
	host, device := split(t.Roots, func(n *Node) bool { return n.Kind != datasets.KindKernel })
	if len(device) > 0 && slices.ContainsFunc(host, func(n *Node) bool { return t.Inclusive(n).Valid }) {
		side := *t
		side.Roots = device
		t.Notes = append(t.Notes, fmt.Sprintf("%s with %s beside the host's tree are not part of it: Kinds %q shows them",
			count(side.Len(), "kernel"), side.quantity(side.Total()), datasets.KindKernel))
		t.Roots = host
	}
	var found []string
	for _, r := range t.Roots {
		if !slices.Contains(found, r.Kind) && t.Inclusive(r).Valid {
			found = append(found, r.Kind)
		}
	}
	if len(found) > 1 && timed {
		slices.Sort(found)
		t.Notes = append(t.Notes, fmt.Sprintf("the roots are of the kinds %q: where they pass at the same time, the total counts that time more than once", found))
	}
	t.remark()
	return t
}

func split(ns []*Node, first func(*Node) bool) (a, b []*Node) {
	for _, n := range ns {
		if first(n) {
			a = append(a, n)
		} else {
			b = append(b, n)
		}
	}
	return a, b
}

// derive gives each node of a tree its values from those that the metric has
// at it, by index; NaN where there is none.
func derive(read datasets.CallTree, own []float64) []Value {
	out := make([]Value, len(own))
	below, has := make([]float64, len(own)), make([]bool, len(own))
	parent := make([]int, len(own))
	var way []int
	for i, n := range read.Nodes {
		way = append(way[:n.Depth], i)
		parent[i] = -1
		if n.Depth > 0 {
			parent[i] = way[n.Depth-1]
		}
	}
	for i := len(own) - 1; i >= 0; i-- {
		v := &out[i]
		switch {
		case !math.IsNaN(own[i]) && read.Inclusive:
			*v = Value{datasets.Some(own[i] - below[i]), datasets.Some(own[i])}
		case !math.IsNaN(own[i]):
			*v = Value{datasets.Some(own[i]), datasets.Some(own[i] + below[i])}
		case has[i]:
			v.Inclusive = datasets.Some(below[i])
		}
		if p := parent[i]; p >= 0 && v.Inclusive.Valid {
			below[p], has[p] = below[p]+v.Inclusive.V, true
		}
	}
	return out
}
