package calltree

import (
	"fmt"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Frame is the tree as a dataframe, a row per node in the tree's order: node
// and parent (numbers from 0, parent NA for a root), depth, name, raw, kind,
// module, file, line, count, run_id and region_id of the first region, then for each metric two
// columns named as Hatchet does: "METRIC" (exclusive) and "METRIC (inc)".
func (t *Tree) Frame() (dataframe.DataFrame, error) {
	names := []string{"node", "parent", "depth", "name", "raw", "kind", "module", "file", "line", "count", "run_id", "region_id"}
	types := []series.Type{series.Int, series.Int, series.Int, series.String, series.String, series.String, series.String, series.String, series.Int, series.Int, series.Int, series.Int}
	for _, m := range t.Metrics {
		names, types = append(names, m.Name, m.Name+" (inc)"), append(types, series.Float, series.Float)
	}
	cols := make([][]any, len(names))
	for i := range cols {
		cols[i] = []any{}
	}
	type place struct{ number, depth int }
	at := map[*Node]place{}
	for n := range t.All() {
		p := place{number: len(at)}
		row := []any{p.number, nil, 0, n.Name, n.Raw, n.Kind, text(n.Module), text(n.File), number(n.Line), number(int64(n.Launches)), nil, nil}
		if up, ok := at[n.parent]; ok {
			p.depth = up.depth + 1
			row[1], row[2] = up.number, p.depth
		}
		if len(n.Regions) > 0 {
			row[10], row[11] = int(n.Regions[0].Run), int(n.Regions[0].ID)
		}
		at[n] = p
		for _, v := range n.Values {
			row = append(row, value(v.Exclusive.V, v.Exclusive.Valid), value(v.Inclusive.V, v.Inclusive.Valid))
		}
		for i, v := range row {
			cols[i] = append(cols[i], v)
		}
	}
	ss := make([]series.Series, len(cols))
	for i := range cols {
		ss[i] = series.New(cols[i], types[i], names[i])
	}
	df := dataframe.New(ss...)
	if df.Err != nil {
		return df, fmt.Errorf("call tree as a dataframe: %w", df.Err)
	}
	return df, nil
}

func text(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func number(n int64) any {
	if n == 0 {
		return nil
	}
	return int(n)
}

func value(v float64, ok bool) any {
	if !ok {
		return nil
	}
	return v
}
