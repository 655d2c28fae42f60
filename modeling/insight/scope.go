package insight

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/observe"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// scope is what the analyses of one report look at: a run and the kernels of
// it that matter.
type scope struct {
	store   *datasets.Store
	opt     Options
	run     Run
	machine int64
	time    string          // the run's time metric, "" for durations of launches
	metrics map[string]bool // counters of the run with a value
	// sections are metrics that Nsight Compute's page of details has in a single
	// section, which is their instance: their values are of the whole.
	sections map[string]bool
	// spellings are the run's names of events whose bare name the rules know.
	spellings map[string][]string
	hot       hot.Result // zero where no time or other cost is known
	cost      string     // the metric of hot, "" for time
	// instance is that of the metric of hot, where the tool writes it for one
	// instance alone (perf script: samples of an event).
	instance string
	class    string           // SQL that holds for regions of the kind that hot compares
	kernels  []*Kernel        // the ones to look at, the most expensive first
	named    bool             // the user named the kernel
	limits   roofline.Options // the ceilings that the user named
}

// is reports whether the run's tool is one of some; names match from their
// begin.
func (sc *scope) is(tools ...string) bool {
	return slices.ContainsFunc(tools, func(t string) bool { return strings.HasPrefix(sc.run.Tool, t) })
}

// has reports whether the run has a value of all of some counters.
func (sc *scope) has(metrics ...string) bool {
	for _, m := range metrics {
		if !sc.metrics[m] {
			return false
		}
	}
	return true
}

// source is some rows of the run with the file that they came from.
func (sc *scope) source(rows []Row, count int64) []Source {
	s := Source{Run: sc.run.ID, Tool: sc.run.Tool, Rows: rows, Count: max(count, int64(len(rows)))}
	if len(sc.run.Artefacts) > 0 {
		s.Path, s.SHA256 = sc.run.Artefacts[0].Path, sc.run.Artefacts[0].SHA256
	}
	return []Source{s}
}

// mostRows is how many rows an item names; Source.Count says how many there are.
const mostRows = 8

// evidence is the rows of observations.
func (sc *scope) evidence(ctx context.Context, rows []observe.Row) []Source {
	var out []Row
	for _, r := range rows[:min(len(rows), mostRows)] {
		row := Row{Table: "counter", Region: r.Region, Launch: r.Launch, Metric: r.Metric}
		if r.Metric == observe.Duration {
			row.Table = "launch"
			row.Metric = "dur_ns"
		} else if r.Launch == 0 && !sc.wholeValue(ctx, r.Region, r.Metric) {
			row = Row{Table: "region", Region: r.Region}
		}
		out = append(out, row)
	}
	return sc.source(out, int64(len(rows)))
}

// wholeValue reports whether a region has any row of a counter: the exclusive
// time of one that has none follows from what is below it.
func (sc *scope) wholeValue(ctx context.Context, region int64, metric string) bool {
	n, err := number(ctx, sc.store, Row{Table: "counter", Region: region, Metric: metric}.Query(sc.run.ID))
	return err == nil && n > 0
}

// regions is SQL for the ids of a kernel's regions, of all of the class where
// k is nil.
func (sc *scope) regions(k *Kernel) string {
	if k == nil {
		return fmt.Sprintf("SELECT id FROM region WHERE run_id = %d AND %s", sc.run.ID, sc.class)
	}
	return fmt.Sprintf("SELECT id FROM region WHERE run_id = %d AND short = %s AND kind = %s", sc.run.ID, literal(k.Name), literal(k.Kind))
}

// times is SQL that begins with WITH and defines o(region_id, launch_id, v):
// the times (or other costs) of a kernel, exclusive, row by row as
// modeling/observe reads them, which says what the cases are.
func (sc *scope) times(k *Kernel) string {
	run, in := sc.run.ID, sc.regions(k)
	metric, inclusive := sc.time, sc.run.inclusive
	if sc.cost != "" {
		metric, inclusive = sc.cost, false
	}
	if sc.durations() {
		return fmt.Sprintf(`WITH s AS (SELECT l.region_id, sum(l.dur_ns) / 1e9 AS t FROM launch l JOIN region g ON g.id = l.region_id
 WHERE l.run_id = %[1]d AND g.kind <> 'kernel' GROUP BY 1),
b AS (SELECT g.parent_id AS region_id, sum(s.t) AS t FROM s JOIN region g ON g.id = s.region_id WHERE g.parent_id IN (SELECT region_id FROM s) GROUP BY 1),
o AS (SELECT region_id, id AS launch_id, dur_ns / 1e9 AS v FROM launch WHERE run_id = %[1]d AND dur_ns IS NOT NULL
 AND region_id IN (%[2]s) AND region_id NOT IN (SELECT region_id FROM b)
 UNION ALL SELECT s.region_id, NULL, greatest(0, s.t - b.t) FROM s JOIN b USING (region_id) WHERE s.region_id IN (%[2]s))`, run, in)
	}
	values := fmt.Sprintf("SELECT region_id, launch_id, value FROM counter WHERE run_id = %d AND metric = %s AND instance %s AND value IS NOT NULL", run, literal(metric), sc.isInstance())
	if !inclusive {
		return fmt.Sprintf(`WITH c AS (%s),
o AS (SELECT region_id, launch_id, value AS v FROM c WHERE region_id IN (%s)
 AND (launch_id IS NULL OR region_id NOT IN (SELECT region_id FROM c WHERE launch_id IS NULL)))`, values, in)
	}
	return fmt.Sprintf(`WITH RECURSIVE c AS (%[1]s),
v AS (SELECT region_id, coalesce(max(value) FILTER (WHERE launch_id IS NULL), sum(value)) AS v FROM c GROUP BY 1),
d(top, id) AS (SELECT parent_id, id FROM region WHERE parent_id IN (%[2]s)
 UNION ALL SELECT d.top, g.id FROM d JOIN region g ON g.parent_id = d.id WHERE d.id NOT IN (SELECT region_id FROM v)),
b AS (SELECT d.top AS region_id, sum(v.v) AS v FROM d LEFT JOIN v ON v.region_id = d.id GROUP BY 1),
whole AS (SELECT region_id FROM c WHERE launch_id IS NULL),
o AS (SELECT c.region_id, c.launch_id, c.value AS v FROM c WHERE c.region_id IN (%[2]s)
 AND c.region_id NOT IN (SELECT region_id FROM b) AND c.region_id NOT IN (SELECT region_id FROM whole)
 UNION ALL SELECT v.region_id, NULL, greatest(0, v.v - coalesce(b.v, 0)) FROM v LEFT JOIN b USING (region_id)
 WHERE v.region_id IN (%[2]s) AND (b.region_id IS NOT NULL OR v.region_id IN (SELECT region_id FROM whole)))`, values, in)
}

// isInstance is what SQL asks of the instance of the metric of hot.
func (sc *scope) isInstance() string {
	if sc.instance == "" {
		return "IS NULL"
	}
	return "= " + literal(sc.instance)
}

// durations reports whether the run's times are those of its launches.
func (sc *scope) durations() bool {
	if sc.cost != "" {
		return false
	}
	for _, ks := range [][]hot.Kernel{sc.hot.Kernels, sc.hot.Rest} {
		for _, k := range ks {
			if len(k.Evidence) > 0 {
				return k.Evidence[0].Metric == observe.Duration
			}
		}
	}
	return sc.time == ""
}

// timeMetric is what Moves call the time of a kernel.
func (sc *scope) timeMetric() string {
	switch {
	case sc.cost != "":
		return sc.cost
	case sc.durations():
		return "dur_ns"
	}
	return sc.time
}

// launches is SQL that begins with WITH and defines l: a row for each launch
// of a kernel (or its regions as a whole) with a column of each counter, m0,
// m1 ..., and its duration d in s.
func (sc *scope) launches(k *Kernel, metrics []string) (with string, column func(string) string) {
	var columns strings.Builder
	index := map[string]int{}
	for i, m := range metrics {
		index[m] = i
		fmt.Fprintf(&columns, ",\n max(c.value) FILTER (WHERE c.metric = %s) AS m%d", literal(m), i)
	}
	whole := ""
	if k.launched {
		whole = " AND c.launch_id IS NOT NULL"
	}
	with = fmt.Sprintf(`WITH l AS (SELECT c.region_id, c.launch_id, max(n.dur_ns) / 1e9 AS d%s
 FROM counter c LEFT JOIN launch n ON n.id = c.launch_id WHERE c.run_id = %d%s AND %s AND c.metric IN (%s)
 AND c.region_id IN (%s) GROUP BY 1, 2)`, columns.String(), sc.run.ID, whole, sc.ofWhole("c.", metrics), literals(metrics), sc.regions(k))
	return with, func(name string) string {
		if i, ok := index[name]; ok {
			return fmt.Sprintf("m%d", i)
		}
		return "NULL"
	}
}

// ofWhole is SQL that holds for the rows of counters that are values of the
// whole: those without an instance, and those whose instance is the section of
// a report.
func (sc *scope) ofWhole(prefix string, metrics []string) string {
	var in []string
	for _, m := range metrics {
		if sc.sections[m] {
			in = append(in, m)
		}
	}
	if in == nil {
		return prefix + "instance IS NULL"
	}
	return fmt.Sprintf("(%[1]sinstance IS NULL OR %[1]smetric IN (%[2]s))", prefix, literals(in))
}

// parse reads a formula over the run's counters. Names are known by the run:
// those with spaces and brackets in them, too.
func (sc *scope) parse(text string) (formula, error) { return parse(text, sc.counter) }

func (sc *scope) parsePrefix(text string) (formula, string, error) {
	return parsePrefix(text, sc.counter)
}

// counter is the longest name of a counter that a text begins with.
func (sc *scope) counter(text string) string {
	end := strings.IndexAny(text, " ()")
	if end < 0 {
		end = len(text)
	}
	best := ""
	if sc.metrics[text[:end]] {
		best = text[:end]
	}
	if end == len(text) {
		return best
	}
	for m := range sc.metrics {
		if len(m) > max(end, len(best)) && strings.HasPrefix(text, m) && (len(text) == len(m) || text[len(m)] == ' ' || text[len(m)] == ')') {
			best = m
		}
	}
	return best
}

// counterRows are rows of a kernel's counters.
func (sc *scope) counterRows(ctx context.Context, k *Kernel, metrics []string) ([]Source, error) {
	where := fmt.Sprintf("run_id = %d AND metric IN (%s) AND %s AND value IS NOT NULL AND region_id IN (%s)", sc.run.ID, literals(metrics), sc.ofWhole("", metrics), sc.regions(k))
	if k.launched {
		where += " AND launch_id IS NOT NULL"
	}
	var rows []Row
	var count int64
	err := sc.store.Each(ctx, func(v []any) {
		launch, _ := v[1].(int64)
		rows = append(rows, Row{Table: "counter", Region: v[0].(int64), Launch: launch, Metric: v[2].(string)})
		count = v[3].(int64)
	}, fmt.Sprintf("SELECT region_id, launch_id, metric, count(*) OVER () FROM counter WHERE %s ORDER BY launch_id, region_id, metric LIMIT %d", where, mostRows))
	return sc.source(rows, count), err
}

// number is the single number that a query returns, NaN for NULL.
func number(ctx context.Context, s *datasets.Store, sql string) (float64, error) {
	out, found := math.NaN(), false
	err := s.Each(ctx, func(v []any) {
		found = true
		switch n := v[0].(type) {
		case int64:
			out = float64(n)
		case float64:
			out = n
		}
	}, sql)
	if err == nil && !found {
		err = fmt.Errorf("the query %q has no row", sql)
	}
	return out, err
}
