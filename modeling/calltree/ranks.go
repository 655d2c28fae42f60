package calltree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// perRank reads a metric's values by rank, or by thread where the run has no
// ranks: unit says which. values[r][i] is that of rank ids[r] at node i, NaN
// where it has none.
func perRank(ctx context.Context, s *datasets.Store, run int64, read datasets.CallTree) (unit string, ids []int64, values [][]float64, err error) {
	at := make(map[int64]int, len(read.Nodes))
	for i, n := range read.Nodes {
		at[n.Region] = i
	}
	for _, unit = range []string{"rank", "thread"} {
		of := map[int64]int{}
		err = s.Each(ctx, func(v []any) {
			region, _ := v[0].(int64)
			id, _ := v[1].(int64)
			x, _ := v[2].(float64)
			i, ok := at[region]
			if !ok {
				return
			}
			r, ok := of[id]
			if !ok {
				r = len(ids)
				of[id] = r
				ids = append(ids, id)
				own := make([]float64, len(read.Nodes))
				for j := range own {
					own[j] = math.NaN()
				}
				values = append(values, own)
			}
			values[r][i] = x
		}, `SELECT c.region_id, l.`+unit+`, sum(c.value) FROM counter c JOIN launch l ON l.id = c.launch_id
			WHERE c.run_id = ? AND c.metric = ? AND c.value IS NOT NULL AND l.`+unit+` IS NOT NULL GROUP BY ALL ORDER BY 2, 1`, run, read.Metric)
		if err != nil || len(ids) > 0 {
			return unit, ids, values, err
		}
	}
	return "", nil, nil, fmt.Errorf("the run has no values of %s by rank or thread", read.Metric)
}

// overRanks puts values of ranks in the place of those of the whole run.
func overRanks(ctx context.Context, s *datasets.Store, run int64, read datasets.CallTree, nodes []*Node, metric int, opt Options) (string, error) {
	unit, ids, values, err := perRank(ctx, s, run, read)
	if err != nil {
		return "", err
	}
	if opt.Rank.Valid {
		r := slices.Index(ids, opt.Rank.V)
		if r < 0 {
			return "", fmt.Errorf("there is no %s %d with values of %s: there are %v", unit, opt.Rank.V, read.Metric, ids)
		}
		for i, v := range derive(read, values[r]) {
			nodes[i].Values[metric] = v
		}
		return fmt.Sprintf("%s %d, sum over visits", unit, opt.Rank.V), nil
	}
	for i := range nodes {
		nodes[i].Values[metric] = Value{}
	}
	for _, own := range values {
		for i, v := range derive(read, own) {
			to := &nodes[i].Values[metric]
			join(&to.Exclusive, v.Exclusive, opt.Over, len(ids))
			join(&to.Inclusive, v.Inclusive, opt.Over, len(ids))
		}
	}
	if opt.Over == Max {
		return fmt.Sprintf("largest of %s, for each node apart", count(len(ids), unit)), nil
	}
	return fmt.Sprintf("mean over %s", count(len(ids), unit)), nil
}

func join(to *datasets.Null[float64], v datasets.Null[float64], over string, n int) {
	switch {
	case !v.Valid:
	case over == Max:
		*to = datasets.Some(max(v.V, to.Or(math.Inf(-1))))
	default:
		*to = datasets.Some(to.V + v.V/float64(n))
	}
}

// Spread is how a node's value differs over ranks.
type Spread struct {
	Min, Mean, Max float64 // over the ranks that have a value
	MaxRank        int64
	Ranks          int // how many have a value
	// Imbalance is max/mean, 1 for an even load (Hatchet's load_imbalance);
	// NaN where the mean is not above 0.
	Imbalance float64
}

// RankNode is a node with its spread over ranks.
type RankNode struct {
	Node                 *Node
	Inclusive, Exclusive datasets.Null[Spread]
}

// Ranks is the spread of a run over its ranks or threads.
type Ranks struct {
	Unit  string // "rank" or "thread"
	IDs   []int64
	Total []float64 // of each rank
	// Nodes are in the order of what would be gained if all ranks took the mean:
	// max - mean of the exclusive value, the largest first.
	Nodes []RankNode

	tree *Tree
}

// OfRanks reads how the first metric of a run spreads over ranks, or over
// threads where it has no ranks. Options.Over and Rank are not looked at.
func OfRanks(ctx context.Context, s *datasets.Store, run int64, opt Options) (*Ranks, error) {
	fail := func(err error) (*Ranks, error) {
		return nil, fmt.Errorf("reading the ranks of run %d: %w", run, err)
	}
	name := ""
	if len(opt.Metrics) > 0 {
		name = opt.Metrics[0]
	}
	read, err := s.CallTree(ctx, run, name)
	if err != nil {
		return fail(err)
	}
	unit, ids, values, err := perRank(ctx, s, run, read)
	if err != nil {
		return fail(err)
	}
	t := &Tree{Runs: []int64{run}, Metrics: []Metric{{Name: read.Metric}}, Over: "sum over ranks, threads and visits"}
	var nodes []*Node
	t.Roots, nodes = build(read, run, 1)
	for i, n := range read.Nodes {
		nodes[i].Values[0] = Value{n.Exclusive, n.Inclusive}
		t.Metrics[0].Unit = cmp.Or(t.Metrics[0].Unit, n.Unit)
	}
	if err := places(ctx, s, run, nodes); err != nil {
		return fail(err)
	}
	r := &Ranks{Unit: unit, IDs: ids, Total: make([]float64, len(ids)), tree: t}
	in, ex := make([][]datasets.Null[float64], len(nodes)), make([][]datasets.Null[float64], len(nodes))
	for k, own := range values {
		for i, v := range derive(read, own) {
			in[i], ex[i] = append(in[i], v.Inclusive), append(ex[i], v.Exclusive)
			if nodes[i].parent == nil {
				r.Total[k] += v.Inclusive.Or(0)
			}
		}
	}
	for i, n := range nodes {
		if len(opt.Kinds) > 0 && !slices.Contains(opt.Kinds, n.Kind) {
			continue
		}
		r.Nodes = append(r.Nodes, RankNode{n, spread(in[i], ids), spread(ex[i], ids)})
	}
	if len(r.Nodes) == 0 {
		return fail(errors.New("no region is of these kinds"))
	}
	slices.SortStableFunc(r.Nodes, func(a, b RankNode) int { return cmp.Compare(b.gain(), a.gain()) })
	return r, nil
}

func (n RankNode) gain() float64 {
	if !n.Exclusive.Valid {
		return math.Inf(-1)
	}
	return n.Exclusive.V.Max - n.Exclusive.V.Mean
}

func spread(vs []datasets.Null[float64], ids []int64) (out datasets.Null[Spread]) {
	s := Spread{Min: math.Inf(1), Max: math.Inf(-1), Imbalance: math.NaN()}
	total := 0.0
	for i, v := range vs {
		if !v.Valid {
			continue
		}
		s.Ranks++
		total += v.V
		s.Min = min(s.Min, v.V)
		if v.V > s.Max {
			s.Max, s.MaxRank = v.V, ids[i]
		}
	}
	if s.Ranks == 0 {
		return out
	}
	s.Mean = total / float64(s.Ranks)
	if s.Mean > 0 {
		s.Imbalance = s.Max / s.Mean
	}
	return datasets.Some(s)
}

// Tree is the tree that the nodes are of, with values of all ranks together.
func (r *Ranks) Tree() *Tree { return r.tree }

// Table is the spread as a table: the twenty nodes at which most would be
// gained.
func (r *Ranks) Table() tabular.Table {
	unit := r.tree.Metric().Unit
	of := func(vs []float64) (lo, mean, hi float64) {
		lo, hi = slices.Min(vs), slices.Max(vs)
		for _, v := range vs {
			mean += v / float64(len(vs))
		}
		return lo, mean, hi
	}
	lo, mean, hi := of(r.Total)
	t := tabular.Table{Title: fmt.Sprintf("%s of %s: %s to %s, mean %s, max/mean %.3f", r.tree.Metric().Name, count(len(r.IDs), r.Unit),
		tabular.Quantity(lo, unit), tabular.Quantity(hi, unit), tabular.Quantity(mean, unit), hi/mean),
		Columns: tabular.Columns("<node", "mean", "max", r.Unit+" of max", "max/mean", r.Unit+"s", "incl. max/mean", "<evidence")}
	shown := 0
	for _, n := range r.Nodes {
		if !n.Exclusive.Valid || shown == 20 {
			continue
		}
		shown++
		e := n.Exclusive.V
		row, _ := r.tree.Row(n.Node)
		t.Add(n.Node.label(60), tabular.Quantity(e.Mean, unit), tabular.Quantity(e.Max, unit), fmt.Sprint(e.MaxRank), ratio(e.Imbalance),
			fmt.Sprint(e.Ranks), ratio(n.Inclusive.V.Imbalance), row.String())
	}
	if left := len(r.Nodes) - shown; left > 0 {
		t.Note("%s not shown, where less would be gained or no value is known", count(left, "more node"))
	}
	t.Note("mean, max and max/mean are of exclusive values, over the %ss that have one", r.Unit)
	return t
}

func ratio(v float64) string {
	if math.IsNaN(v) {
		return "n/a"
	}
	return fmt.Sprintf("%.3f", v)
}

// String is the spread as text.
func (r *Ranks) String() string { return r.Table().String() }

// Display shows the spread as a table.
func (r *Ranks) Display() display.Bundle { return r.Table().Display() }
