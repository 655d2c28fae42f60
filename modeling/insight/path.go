package insight

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/modeling/calltree"
)

// hotPath says by which chain of calls the time is spent.
func hotPath(ctx context.Context, sc *scope) (found, error) {
	var f found
	if sc.hot.Total == 0 || sc.instance != "" || strings.Contains(sc.class, "= 'kernel'") {
		return f, nil
	}
	nested, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(*) FROM (SELECT 1 FROM region WHERE run_id = %d AND parent_id IS NOT NULL LIMIT 1)", sc.run.ID))
	if err != nil {
		return f, err
	}
	opt := calltree.Options{}
	if sc.cost != "" {
		opt.Metrics = []string{sc.cost}
	}
	t, err := calltree.FromStore(ctx, sc.store, sc.run.ID, opt)
	if err != nil {
		if ctx.Err() != nil {
			return f, err
		}
		return f, nil // the run has values and no tree of them
	}
	if t.Len() > 1 {
		flame := calltree.Flame(t, calltree.FlameOptions{Icicle: true, Width: 1000, Bytes: 200_000, Title: "Call tree"})
		f.pictures = append(f.pictures, picture{title: "Call tree", html: flame.HTML()})
	}
	p := t.HotPath(calltree.DefaultHotPath)
	last := p.Last()
	if nested == 0 || last == nil || len(p.Nodes) < 2 || len(last.Regions) != 1 {
		return f, nil
	}
	in := t.Inclusive(last)
	share := t.Share(in)
	if !in.Valid || math.IsNaN(share) || share < 0 {
		return f, nil
	}
	region := last.Regions[0].ID
	names := p.Names()
	for i := range names {
		names[i] = clean(names[i], 60)
	}
	if len(names) > 7 {
		names = append(append(names[:2:2], "..."), names[len(names)-4:]...)
	}
	it := Item{Kind: Path, Rule: "hot-path", Verdict: Fact, Kernel: last.Name, Metric: t.Metric().Name, Value: in.V, Unit: t.Metric().Unit, Share: min(1, share), Importance: 0.45 + 0.3*min(1, share),
		Statement: fmt.Sprintf("The hot path, %s, has %s (%s of all) with all that is called from its end", strings.Join(names, " > "), quantity(in.V, t.Metric().Unit), percent(share)),
		Reference: &Reference{Value: calltree.DefaultHotPath, What: "part of its caller's time that each step has at least", From: "Adhianto et al. 2010, HPCToolkit, hot path analysis"},
		Sources:   sc.source([]Row{{Table: "region", Region: region}}, int64(len(p.Nodes))),
		Query:     sc.inclusive(region), Meaning: "Where the path ends the time spreads over several callees: this is the place to restructure; the hot functions below it are the places to tune."}
	if ex := t.Exclusive(last); ex.Valid && in.V > 0 {
		it.Statement += fmt.Sprintf("; %s of that is in %s itself", percent(max(0, ex.V)/in.V), clean(last.Name, 60))
		if ex.V >= 0.99*in.V {
			it.Meaning = "The path ends in a function that does nearly all of it itself: this is the place to tune."
		}
	}
	it.Statement += "."
	if last.File != "" {
		it.Location = &Location{File: last.File, Line: last.Line, Function: clean(last.Name, 60)}
	}
	// The tree takes values together that a query over rows may not (call graphs,
	// missing values): what it does not find again is not cited.
	if v, err := number(ctx, sc.store, it.Query); err != nil || math.Abs(v-in.V) > 1e-9*math.Abs(in.V) {
		return f, err
	}
	f.items = append(f.items, it)
	return f, nil
}

// inclusive is SQL for the value of a region with all below it.
func (sc *scope) inclusive(region int64) string {
	run := sc.run.ID
	metric, inclusive := sc.time, sc.run.inclusive
	if sc.cost != "" {
		metric, inclusive = sc.cost, false
	}
	if inclusive && !sc.durations() {
		return fmt.Sprintf("SELECT coalesce(max(value) FILTER (WHERE launch_id IS NULL), sum(value)) FROM counter WHERE run_id = %d AND metric = %s AND instance IS NULL AND region_id = %d", run, literal(metric), region)
	}
	below := fmt.Sprintf("below(id) AS (SELECT %d::BIGINT UNION ALL SELECT g.id FROM below b JOIN region g ON g.parent_id = b.id)", region)
	if sc.durations() {
		return fmt.Sprintf("SELECT sum(dur_ns) / 1e9 FROM launch WHERE run_id = %d AND region_id = %d", run, region)
	}
	return fmt.Sprintf(`WITH RECURSIVE %s, c AS (SELECT region_id, launch_id, value FROM counter WHERE run_id = %d AND metric = %s AND instance IS NULL AND value IS NOT NULL)
SELECT sum(value) FROM c WHERE region_id IN (SELECT id FROM below) AND (launch_id IS NULL OR region_id NOT IN (SELECT region_id FROM c WHERE launch_id IS NULL))`, below, run, literal(metric))
}
