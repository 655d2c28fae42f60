package calltree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// Function is a function of a call graph.
type Function struct {
	Node           // its Values and Children are not looked at
	Own  []float64 // its exclusive value of each metric
}

// Call is an arc of a call graph, between places in a list of functions: what
// all calls from one to the other took, with all that was called from there.
type Call struct {
	From, To int
	Values   []float64 // of each metric
}

const (
	graphShare = 1e-4 // of the total: what is below is put together
	graphNodes = 200_000
)

// FromGraph makes a call tree of a call graph, which does not tell what a
// function did for which of its callers' callers. It is an estimate: each function
// is taken to spend its time in the same way whoever calls it, so that of its own
// value and of its calls a caller gets the part that it has of the function's
// inclusive value (gprof's assumption: Graham, Kessler and McKusick, "gprof: a call graph execution
// profiler", 1982, section 4). Inclusive values of functions are their own and those of their
// calls; what callers do not account for makes a root.
//
// A call that closes a cycle is a leaf that has all it took as its own value.
// Calls below 0.01 % of the total are put together in a node of KindRest.
func FromGraph(metrics []Metric, functions []Function, calls []Call) (*Tree, error) {
	n, m := len(functions), len(metrics)
	if m == 0 {
		return nil, errors.New("a call graph needs a metric: give its name and unit")
	}
	inclusive, incoming := table(n, m), table(n, m)
	for i, f := range functions {
		if len(f.Own) != m {
			return nil, fmt.Errorf("the function %q has %d values for %d metrics", f.Name, len(f.Own), m)
		}
		copy(inclusive[i], f.Own)
	}
	from := make([][]Call, n)
	for _, c := range calls {
		if c.From < 0 || c.From >= n || c.To < 0 || c.To >= n || len(c.Values) != m {
			return nil, fmt.Errorf("the call from %d to %d has %d values: there are %d functions and %d metrics", c.From, c.To, len(c.Values), n, m)
		}
		if c.From == c.To {
			continue // its cost is part of the function's
		}
		from[c.From] = append(from[c.From], c)
		for k, v := range c.Values {
			inclusive[c.From][k] += v
			incoming[c.To][k] += v
		}
	}
	t := &Tree{Metrics: metrics, Over: "sum over ranks, threads and visits"}
	type open struct {
		at   int
		node *Node
		v    []float64 // inclusive values of the node
	}
	total, own := make([]float64, m), make([]float64, m)
	var level []open
	for i, f := range functions {
		v := make([]float64, m)
		for k := range v {
			v[k] = max(0, inclusive[i][k]-incoming[i][k])
			own[k] += f.Own[k]
		}
		if v[0] > negligible*math.Abs(inclusive[i][0]) {
			for k := range v {
				total[k] += v[k]
			}
			level = append(level, open{i, functions[i].copied(), v})
		}
	}
	for _, o := range level {
		o.node.Values = make([]Value, m)
		t.attach(nil, o.node)
	}
	nodes, cycles, small := 0, 0, 0
	onPath := func(n *Node, f int) bool {
		for ; n != nil; n = n.parent {
			if n.at == f+1 {
				return true
			}
		}
		return false
	}
	for len(level) > 0 {
		nodes += len(level)
		// The largest are opened first, in case there are too many.
		slices.SortStableFunc(level, func(a, b open) int { return cmp.Compare(b.v[0], a.v[0]) })
		var next []open
		for _, o := range level {
			o.node.at = o.at + 1
			rest, left := make([]float64, m), 0
			ex := slices.Clone(o.v)
			for _, c := range from[o.at] {
				v := make([]float64, m)
				for k := range v {
					if whole := inclusive[o.at][k]; whole > 0 {
						v[k] = c.Values[k] / whole * o.v[k]
					}
					ex[k] -= v[k]
				}
				switch {
				case onPath(o.node, c.To):
					cycles++
					child := functions[c.To].copied()
					child.Values = make([]Value, m)
					for k := range v {
						child.Values[k] = Value{datasets.Some(v[k]), datasets.Some(v[k])}
					}
					t.attach(o.node, child)
				case v[0] < graphShare*total[0] || nodes+len(next) >= graphNodes:
					left++
					for k := range v {
						rest[k] += v[k]
					}
				default:
					child := functions[c.To].copied()
					child.Values = make([]Value, m)
					t.attach(o.node, child)
					next = append(next, open{c.To, child, v})
				}
			}
			if left > 0 {
				small += left
				child := &Node{Name: fmt.Sprintf("(%d more)", left), Kind: KindRest, Values: make([]Value, m)}
				for k, v := range rest {
					child.Values[k] = Value{datasets.Some(v), datasets.Some(v)}
				}
				t.attach(o.node, child)
			}
			for k := range o.v {
				if whole := inclusive[o.at][k]; whole > 0 { // exact where there is one caller
					ex[k] = functions[o.at].Own[k] / whole * o.v[k]
				}
				o.node.Values[k] = Value{datasets.Some(ex[k]), datasets.Some(o.v[k])}
			}
		}
		level = next
	}
	t.Notes = append(t.Notes, "an estimate: the profile is a call graph, whose functions are taken to spend their time alike for each caller")
	if cycles > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s that close a cycle are leaves, with all that they took as their own", count(cycles, "call")))
	}
	if small > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s below %g %% of the total, or beyond %d nodes, are put together", count(small, "call"), 100*graphShare, graphNodes))
	}
	for k, metric := range metrics {
		if math.Abs(total[k]-own[k]) > 1e-6*math.Abs(own[k]) {
			o := *t
			o.main = k
			t.Notes = append(t.Notes, fmt.Sprintf("of %s the tree has %s, the functions have %s: calls in cycles, or rounding", metric.Name,
				o.quantity(datasets.Some(total[k])), o.quantity(datasets.Some(own[k]))))
		}
	}
	t.remark()
	return t, nil
}

func table(n, m int) [][]float64 {
	cells, out := make([]float64, n*m), make([][]float64, n)
	for i := range out {
		out[i] = cells[i*m : (i+1)*m : (i+1)*m]
	}
	return out
}

// graphOfStore reads the call graph of callgrind (counters METRIC.to with the
// callee as instance) or gprof (arcs as regions below the caller).
func graphOfStore(ctx context.Context, s *datasets.Store, run int64, format string, opt Options) (*Tree, error) {
	if opt.Over != Sum || opt.Rank.Valid {
		return nil, errors.New("the profile is a call graph without ranks: only the sum can be read")
	}
	var metrics []Metric
	var functions []Function
	var calls []Call
	at := map[int64]int{}      // places of regions
	byName := map[string]int{} // and of names
	arcs := map[[2]int]int{}   // places of calls
	kinds := map[string]int{}  // how often a name is there
	var nodes []datasets.TreeNode
	for k, name := range opt.Metrics {
		read, err := s.CallTree(ctx, run, name)
		if err != nil {
			return nil, err
		}
		unit := ""
		for _, n := range read.Nodes {
			unit = cmp.Or(unit, n.Unit)
			if n.Parent != 0 || strings.HasPrefix(n.Raw, "<cycle ") {
				continue
			}
			i, ok := at[n.Region]
			if !ok {
				i = len(functions)
				at[n.Region] = i
				functions = append(functions, Function{Node: Node{Name: cmp.Or(n.Short, n.Raw), Raw: n.Raw, Kind: n.Kind, Module: n.Module, Launches: int(n.Launches),
					Regions: []Region{{run, n.Region}}}, Own: make([]float64, len(opt.Metrics))})
				nodes = append(nodes, n)
				kinds[n.Raw]++
			}
			functions[i].Own[k] = n.Exclusive.Or(0)
		}
		metrics = append(metrics, Metric{strings.TrimSuffix(read.Metric, ".inclusive"), unit})
	}
	list := make([]*Node, len(functions))
	for i := range functions {
		list[i] = &functions[i].Node
	}
	if err := places(ctx, s, run, list); err != nil {
		return nil, err
	}
	for i, n := range nodes {
		byName[n.Raw] = i
		if kinds[n.Raw] > 1 {
			byName[n.Raw+" ("+strings.TrimSpace(functions[i].File+" "+n.Module)+")"] = i
		}
	}
	lost := map[string]bool{}
	for k, m := range metrics {
		sql, args := `SELECT region_id, instance, sum(value) FROM counter WHERE run_id = ? AND metric = ? AND instance IS NOT NULL AND value IS NOT NULL
			GROUP BY 1, 2 ORDER BY 1, 2`, []any{run, m.Name + ".to"}
		if format == "gprof" {
			if m.Name != "self seconds" {
				return nil, fmt.Errorf("gprof has calls in its time alone: leave the metric out instead of %q", m.Name)
			}
			sql, args = `SELECT g.parent_id, g.raw, sum(c.value) FROM counter c JOIN region g ON g.id = c.region_id
				WHERE c.run_id = ? AND c.metric = ? AND g.parent_id IS NOT NULL AND c.value IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 2`, []any{run, "inclusive seconds"}
		}
		err := each(ctx, s, func(v []any) {
			caller, _ := v[0].(int64)
			callee, _ := v[1].(string)
			cost, _ := v[2].(float64)
			i, ok := at[caller]
			j, found := byName[callee]
			if !ok {
				return
			}
			if !found || kinds[callee] > 1 {
				lost[callee] = true
				return
			}
			c, ok := arcs[[2]int{i, j}]
			if !ok {
				c = len(calls)
				arcs[[2]int{i, j}] = c
				calls = append(calls, Call{i, j, make([]float64, len(metrics))})
			}
			calls[c].Values[k] += cost
		}, sql, args...)
		if err != nil {
			return nil, err
		}
	}
	t, err := FromGraph(metrics, functions, calls)
	if err != nil {
		return nil, err
	}
	t.Runs = []int64{run}
	if len(lost) > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("calls of %s are left out, whose name several functions have or none", count(len(lost), "function")))
	}
	if len(opt.Kinds) > 0 {
		return t.kinds(opt, false), nil
	}
	return t, nil
}
