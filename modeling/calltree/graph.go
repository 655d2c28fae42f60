package calltree

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/tabular"
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
	graphShare = 1e-6 // of the total: what is below is put together
	graphNodes = 50_000
)

// FromGraph makes a call tree of a call graph, which does not tell what a
// function did for which of its callers' callers. It is an estimate: each
// function is taken to spend its time in the same way whoever calls it, so that
// of its own value and of its calls a caller gets the part that it has of the
// function's inclusive value (gprof's assumption: Graham, Kessler and McKusick,
// "gprof: a call graph execution profiler", 1982, section 4). Inclusive values of
// functions are their own and those of their calls; what callers do not account
// for makes a root.
//
// A call that closes a cycle is a leaf that has all it took as its own value.
// The most expensive calls are followed first; those below a millionth of the
// total, or beyond 50000 nodes, are put together in nodes of KindRest.
func FromGraph(metrics []Metric, functions []Function, calls []Call) (*Tree, error) {
	if len(metrics) == 0 {
		return nil, errors.New("a call graph needs a metric: give its name and unit")
	}
	g, err := newGraph(len(metrics), functions, calls)
	if err != nil {
		return nil, err
	}
	t := &Tree{Metrics: metrics, Over: "sum over ranks, threads and visits"}
	total, own := g.roots()
	cycles := 0
	nodes := 0
	for ; g.Len() > 0 && nodes < graphNodes && g.open[0].v[0] >= graphShare*total[0]; nodes++ {
		o := heap.Pop(g).(*open)
		n := g.node(o)
		t.attach(o.above, n)
		cycles += g.follow(n, o)
	}
	small, largest := g.Len(), 0.0
	if small > 0 {
		largest = g.open[0].v[0]
	}
	t.together(g.open, len(metrics))
	t.Notes = append(t.Notes, "an estimate: the profile is a call graph, whose functions are taken to spend their time alike for each caller")
	if cycles > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s closing a cycle: leaves, with all that they took as their own", count(cycles, "call")))
	}
	if small > 0 {
		t.Notes = append(t.Notes, fmt.Sprintf("%s put together, each of %s or less", count(small, "small call"), tabular.Quantity(largest, metrics[0].Unit)))
	}
	for k, m := range metrics {
		if math.Abs(total[k]-own[k]) > 1e-6*math.Abs(own[k]) {
			t.Notes = append(t.Notes, fmt.Sprintf("of %s the tree has %s, the functions have %s: calls in cycles, or rounding", m.Name,
				tabular.Quantity(total[k], m.Unit), tabular.Quantity(own[k], m.Unit)))
		}
	}
	t.remark()
	return t, nil
}

// graph is a call graph on its way to become a tree: the calls that are not
// yet nodes, as a heap with the most expensive one on top.
type graph struct {
	functions           []Function
	from                [][]Call    // by caller
	inclusive, incoming [][]float64 // by function
	open                []*open
	met                 int
}

// open is a function called from a node (nil for a root), with what it has
// there, inclusive.
type open struct {
	at    int
	above *Node
	v     []float64
	met   int  // the how manieth, for calls of equal value
	leaf  bool // it closes a cycle
}

func newGraph(metrics int, functions []Function, calls []Call) (*graph, error) {
	g := &graph{functions: functions, from: make([][]Call, len(functions)), inclusive: table(len(functions), metrics), incoming: table(len(functions), metrics)}
	for i, f := range functions {
		if len(f.Own) != metrics {
			return nil, fmt.Errorf("the function %q has %d values for %d metrics", f.Name, len(f.Own), metrics)
		}
		copy(g.inclusive[i], f.Own)
	}
	for _, c := range calls {
		if c.From < 0 || c.From >= len(functions) || c.To < 0 || c.To >= len(functions) || len(c.Values) != metrics {
			return nil, fmt.Errorf("the call from %d to %d has %d values: there are %d functions and %d metrics", c.From, c.To, len(c.Values), len(functions), metrics)
		}
		if c.From == c.To {
			continue // its cost is part of the function's
		}
		g.from[c.From] = append(g.from[c.From], c)
		for k, v := range c.Values {
			g.inclusive[c.From][k] += v
			g.incoming[c.To][k] += v
		}
	}
	return g, nil
}

func table(n, m int) [][]float64 {
	cells, out := make([]float64, n*m), make([][]float64, n)
	for i := range out {
		out[i] = cells[i*m : (i+1)*m : (i+1)*m]
	}
	return out
}

// roots opens the functions that callers do not account for. total is what
// they have, own what all functions have themselves.
func (g *graph) roots() (total, own []float64) {
	for i, f := range g.functions {
		if total == nil {
			total, own = make([]float64, len(f.Own)), make([]float64, len(f.Own))
		}
		v := make([]float64, len(f.Own))
		for k := range v {
			v[k] = max(0, g.inclusive[i][k]-g.incoming[i][k])
			own[k] += f.Own[k]
		}
		if v[0] > negligible*math.Abs(g.inclusive[i][0]) {
			for k := range v {
				total[k] += v[k]
			}
			g.add(&open{at: i, v: v})
		}
	}
	return total, own
}

func (g *graph) add(o *open) {
	o.met = g.met
	g.met++
	heap.Push(g, o)
}

// node is the function at a place, with its part of what it has itself.
func (g *graph) node(o *open) *Node {
	n := g.functions[o.at].copied()
	n.at = o.at + 1
	n.Values = make([]Value, len(o.v))
	for k, in := range o.v {
		ex := in
		if whole := g.inclusive[o.at][k]; whole > 0 && !o.leaf {
			ex = g.functions[o.at].Own[k] / whole * in
		}
		n.Values[k] = Value{datasets.Some(ex), datasets.Some(in)}
	}
	return n
}

// follow opens the calls of a node and counts those that close a cycle.
func (g *graph) follow(n *Node, o *open) (cycles int) {
	if o.leaf {
		return 0
	}
	for _, c := range g.from[o.at] {
		v := make([]float64, len(o.v))
		for k := range v {
			if whole := g.inclusive[o.at][k]; whole > 0 {
				v[k] = c.Values[k] / whole * o.v[k]
			}
		}
		next := &open{at: c.To, above: n, v: v}
		for up := n; up != nil && !next.leaf; up = up.parent {
			next.leaf = up.at == c.To+1
		}
		if next.leaf {
			cycles++
		}
		g.add(next)
	}
	return cycles
}

// together makes one node of the calls of each node that were not followed.
func (t *Tree) together(left []*open, metrics int) {
	slices.SortFunc(left, func(a, b *open) int { return cmp.Compare(a.met, b.met) })
	rest := map[*Node]*Node{}
	for _, o := range left {
		r := rest[o.above]
		if r == nil {
			r = &Node{Kind: KindRest, Values: make([]Value, metrics)}
			rest[o.above] = r
			t.attach(o.above, r)
		}
		r.more++
		for k, v := range o.v {
			add(&r.Values[k].Exclusive, datasets.Some(v))
		}
	}
	for _, r := range rest {
		for k, v := range r.Values {
			r.Values[k].Inclusive = v.Exclusive
		}
		r.nameRest()
	}
}

func (g *graph) Len() int { return len(g.open) }
func (g *graph) Less(i, j int) bool {
	if a, b := g.open[i].v[0], g.open[j].v[0]; a != b {
		return a > b
	}
	return g.open[i].met < g.open[j].met
}
func (g *graph) Swap(i, j int) { g.open[i], g.open[j] = g.open[j], g.open[i] }
func (g *graph) Push(x any)    { g.open = append(g.open, x.(*open)) }
func (g *graph) Pop() any {
	o := g.open[len(g.open)-1]
	g.open = g.open[:len(g.open)-1]
	return o
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
		err := s.Each(ctx, func(v []any) {
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
