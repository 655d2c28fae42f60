package datasets

import (
	"context"
	"fmt"
	"math"
	"sort"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// CallTree is the call tree of a run in one metric.
type CallTree struct {
	Metric    string
	Inclusive bool       // the metric's values contain those of the regions below
	Nodes     []TreeNode // depth first
}

// TreeNode is a region of a call tree.
type TreeNode struct {
	Region, Parent int64 // Parent is 0 for a root
	Depth          int
	Short, Raw     string
	Kind, Module   string
	Launches       int64
	Inclusive      Null[float64]
	Exclusive      Null[float64]
	Unit           string
}

// Tree returns the call tree of a run, one row per region in depth-first
// order: region_id, parent_id, depth, path (short names joined with "/"),
// kernel (short name), kind, count (launches), inclusive, exclusive and unit.
// Its values are those of CallTree.
func (s *Store) Tree(ctx context.Context, run int64, metric string) (dataframe.DataFrame, error) {
	t, err := s.CallTree(ctx, run, metric)
	if err != nil {
		return dataframe.DataFrame{}, err
	}
	return t.frame()
}

// CallTree returns the call tree of a run.
//
// metric is the counter that holds the time; empty takes the one which the
// collector named for the run. Its values are summed over launches (ranks,
// visits), except that a region with a value as a whole has that. Where the
// metric is inclusive, exclusive = inclusive - sum of the children's inclusive;
// where it is exclusive, inclusive = exclusive + sum of the children's
// inclusive. A region without a value of its own has no value, but for an
// inclusive that follows from its children. A counter named here counts as
// inclusive when the profile says so (Score-P's "metric NAME type") or its name
// does: by the word "inclusive", by HPCToolkit's "(I)" or its scope "execution".
func (s *Store) CallTree(ctx context.Context, run int64, metric string) (CallTree, error) {
	fail := func(err error) (CallTree, error) {
		return CallTree{}, fmt.Errorf("call tree of run %d: %w", run, err)
	}
	metric, inclusive, err := s.timeMetric(ctx, run, metric)
	if err != nil {
		return fail(err)
	}
	nodes, err := s.regions(ctx, run)
	if err != nil {
		return fail(err)
	}
	out := CallTree{Metric: metric, Inclusive: inclusive}
	t := treeWalk{inclusive: inclusive}
	base := strings.TrimSuffix(metric, inclusiveSuffix)
	if t.both, err = s.has(ctx, run, base, base+inclusiveSuffix); err != nil {
		return fail(err)
	}
	if t.both {
		if err := s.times(ctx, run, base+inclusiveSuffix, nodes); err != nil {
			return fail(err)
		}
		for _, n := range nodes {
			n.whole, n.own = n.own, Null[float64]{}
		}
		metric = base
	}
	if err := s.times(ctx, run, metric, nodes); err != nil {
		return fail(err)
	}
	children := map[int64][]*treeNode{}
	for _, n := range nodes {
		p := n.Parent
		if _, ok := nodes[p]; !ok {
			p = 0
		}
		children[p] = append(children[p], n)
	}
	for _, c := range children {
		sort.Slice(c, func(i, j int) bool { return c[i].before(c[j]) })
	}
	t.children = children
	t.nodes = make([]TreeNode, 0, len(nodes))
	for _, root := range children[0] {
		t.visit(root, 0)
	}
	out.Nodes = t.nodes
	return out, nil
}

// TreeOf returns the call tree of a run with several metrics, rows as Tree has
// them: region_id, parent_id, depth, path, kernel, kind, count, then for each
// metric two Float columns named as Hatchet does: "METRIC" (exclusive) and
// "METRIC (inc)". Without metrics it takes the run's own time metric.
func (s *Store) TreeOf(ctx context.Context, run int64, metrics ...string) (dataframe.DataFrame, error) {
	if len(metrics) == 0 {
		named, _, err := s.timeMetric(ctx, run, "")
		if err != nil {
			return dataframe.DataFrame{}, fmt.Errorf("call tree of run %d: %w", run, err)
		}
		metrics = []string{named}
	}
	var out dataframe.DataFrame
	for i, m := range metrics {
		df, err := s.Tree(ctx, run, m)
		if err != nil {
			return df, err
		}
		if i == 0 {
			out = df.Select([]string{"region_id", "parent_id", "depth", "path", "kernel", "kind", "count"})
		}
		exclusive, inclusive := df.Col("exclusive"), df.Col("inclusive")
		exclusive.Name, inclusive.Name = m, m+" (inc)"
		out = out.CBind(dataframe.New(exclusive, inclusive))
	}
	return out, out.Err
}

// timeMetric returns the metric to use and whether it is inclusive.
func (s *Store) timeMetric(ctx context.Context, run int64, metric string) (string, bool, error) {
	rows, err := s.conn.Query(ctx, `SELECT time_metric, time_inclusive FROM run WHERE id = ?`, run)
	if err != nil {
		return "", false, err
	}
	defer rows.Close()
	if !rows.Next() {
		if err := rows.Err(); err != nil {
			return "", false, err
		}
		return "", false, fmt.Errorf("the store has no such run: Query \"SELECT id, tool FROM run\" lists them")
	}
	named := str(rows.Values()[0])
	inclusive, _ := rows.Values()[1].(bool)
	switch {
	case metric == "" && named == "":
		return "", false, fmt.Errorf("the profile names no counter of time: give a metric%s", s.someMetrics(ctx, run))
	case metric == "" || metric == named:
		return named, inclusive, nil
	}
	inclusive, err = s.isInclusive(ctx, run, metric)
	return metric, inclusive, err
}

// someMetrics names metrics that a call tree of the run can show, for errors:
// those that most regions have come first.
func (s *Store) someMetrics(ctx context.Context, run int64) string {
	var names []string
	err := each(ctx, s.conn, `SELECT metric FROM counter WHERE run_id = ? AND value IS NOT NULL AND instance IS NULL
		GROUP BY metric ORDER BY count(DISTINCT region_id) DESC, metric LIMIT 6`, func(v []any) { names = append(names, str(v[0])) }, run)
	switch {
	case err != nil || len(names) == 0:
		return ""
	case len(names) == 6:
		names[5] = "..."
	}
	return " (" + strings.Join(names, ", ") + ")"
}

type treeNode struct {
	TreeNode
	order int64
	own   Null[float64] // sum of the metric
	whole Null[float64] // sum of the inclusive one, where there are both
}

// before orders siblings: as the tool orders them, else as they were met.
func (n *treeNode) before(m *treeNode) bool {
	if n.order != m.order {
		return n.order < m.order
	}
	return n.Region < m.Region
}

func (s *Store) regions(ctx context.Context, run int64) (map[int64]*treeNode, error) {
	rows, err := s.conn.Query(ctx, `SELECT g.id, g.parent_id, g.ord, g.short, g.raw, g.kind, g.module, count(l.id)
		FROM region g LEFT JOIN launch l ON l.region_id = g.id WHERE g.run_id = ? GROUP BY ALL`, run)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	nodes := map[int64]*treeNode{}
	for rows.Next() {
		v := rows.Values()
		n := &treeNode{order: integer(v[2]).Or(math.MaxInt64)}
		n.Region, n.Parent, n.Launches = integer(v[0]).V, integer(v[1]).V, integer(v[7]).V
		n.Short, n.Raw, n.Kind, n.Module = str(v[3]), str(v[4]), str(v[5]), str(v[6])
		nodes[n.Region] = n
	}
	return nodes, rows.Err()
}

func (s *Store) times(ctx context.Context, run int64, metric string, nodes map[int64]*treeNode) error {
	rows, err := s.conn.Query(ctx, `SELECT region_id,
		CASE WHEN bool_or(launch_id IS NULL) THEN sum(value) FILTER (WHERE launch_id IS NULL) ELSE sum(value) END, any_value(unit)
		FROM counter WHERE run_id = ? AND metric = ? AND value IS NOT NULL GROUP BY region_id`, run, metric)
	if err != nil {
		return err
	}
	defer rows.Close()
	found := false
	for rows.Next() {
		v := rows.Values()
		if n := nodes[integer(v[0]).V]; n != nil {
			n.own, n.Unit, found = number(v[1]), str(v[2]), true
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("no region has a value of the metric %q: Query \"SELECT DISTINCT metric FROM counter WHERE run_id = %d\" lists those that there are%s",
			metric, run, s.someMetrics(ctx, run))
	}
	return nil
}

// inclusiveSuffix marks the inclusive one of two counters.
const inclusiveSuffix = ".inclusive"

// has reports whether a run has values of both metrics.
func (s *Store) has(ctx context.Context, run int64, a, b string) (bool, error) {
	n, err := one(ctx, s.conn, `SELECT count(DISTINCT metric) FROM counter WHERE run_id = ? AND metric IN (?, ?) AND value IS NOT NULL AND instance IS NULL`, run, a, b)
	return n == 2, err
}

type treeWalk struct {
	children  map[int64][]*treeNode
	inclusive bool
	both      bool // nodes have the inclusive value as whole
	nodes     []TreeNode
}

// visit adds n and what is below it and returns n's inclusive value.
func (t *treeWalk) visit(n *treeNode, depth int) Null[float64] {
	n.Depth = depth
	at := len(t.nodes)
	t.nodes = append(t.nodes, n.TreeNode)
	var below float64
	var has bool
	for _, c := range t.children[n.Region] {
		if in := t.visit(c, depth+1); in.Valid {
			below, has = below+in.V, true
		}
	}
	in, ex := n.own, n.own
	switch {
	case t.both:
		in = n.whole
	case n.own.Valid && t.inclusive:
		ex.V -= below
	case n.own.Valid:
		in.V += below
	case has:
		in = Some(below)
	}
	t.nodes[at].Inclusive, t.nodes[at].Exclusive = in, ex
	return in
}

func (t CallTree) frame() (dataframe.DataFrame, error) {
	var cols [10][]any
	var path []string // one for each depth on the way to a node
	for _, n := range t.Nodes {
		path = path[:n.Depth]
		p := n.Short
		if n.Depth > 0 {
			p = path[n.Depth-1] + "/" + p
		}
		path = append(path, p)
		var unit any
		if n.Unit != "" {
			unit = n.Unit
		}
		for i, v := range []any{int(n.Region), cell(Null[int64]{n.Parent, n.Parent != 0}), n.Depth, p, n.Short, n.Kind, int(n.Launches), n.Inclusive.any(), n.Exclusive.any(), unit} {
			cols[i] = append(cols[i], v)
		}
	}
	names := [10]string{"region_id", "parent_id", "depth", "path", "kernel", "kind", "count", "inclusive", "exclusive", "unit"}
	types := [10]series.Type{series.Int, series.Int, series.Int, series.String, series.String, series.String, series.Int, series.Float, series.Float, series.String}
	var ss []series.Series
	for i := range names {
		if cols[i] == nil {
			cols[i] = []any{}
		}
		ss = append(ss, series.New(cols[i], types[i], names[i]))
	}
	df := dataframe.New(ss...)
	return df, df.Err
}

// isInclusive reports whether the profile or a metric's name says that it is
// inclusive.
func (s *Store) isInclusive(ctx context.Context, run int64, metric string) (bool, error) {
	said := ""
	err := each(ctx, s.conn, `SELECT value FROM attribute WHERE run_id = ? AND region_id IS NULL AND launch_id IS NULL AND name = ?`,
		func(v []any) { said = str(v[0]) }, run, "metric "+metric+" type")
	if err != nil {
		return false, err
	}
	switch said {
	case "INCLUSIVE":
		return true, nil
	case "EXCLUSIVE":
		return false, nil
	}
	return strings.Contains(metric, "inclusive") || strings.HasSuffix(metric, " (I)") ||
		strings.HasSuffix(metric, ":execution") || strings.HasSuffix(metric, ":execution:sum"), nil
}
