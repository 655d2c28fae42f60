package datasets

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// OutlierRule names the rule by which a value is an outlier of its group.
type OutlierRule string

// Rules for outliers.
const (
	// Tukey: more than 1.5 interquartile ranges below the first or above the
	// third quartile (Tukey 1977).
	Tukey OutlierRule = "tukey"
	// ModifiedZ: 0.6745 |x - median| / MAD above 3.5 (Iglewicz and Hoaglin
	// 1993). Where the MAD is 0 there are none.
	ModifiedZ OutlierRule = "modified-z"
)

var outlierSQL = map[OutlierRule]string{
	Tukey:     `value < q1 - 1.5 * (q3 - q1) OR value > q3 + 1.5 * (q3 - q1)`,
	ModifiedZ: `mad > 0 AND 0.6745 * abs(value - median) / mad > 3.5`,
}

// StatisticsOptions say what the repeats are.
type StatisticsOptions struct {
	// PerRun keeps runs apart: the repeats are launches. Else they are the
	// launches of all runs that the filter picks.
	PerRun bool
	// PerPath keeps the places apart that a function is called from, as Thicket
	// does with the nodes of call trees; else its kernel (short name) counts.
	PerPath bool
	Rule    OutlierRule // "" is Tukey
}

// Statistics returns the statistics of counters across repeats, computed by
// the store: one row per kernel (with its path, per run, where asked) and
// metric: run_id or not, kernel, path or not, metric, instance, unit, n
// (values), missing (counters without one), mean, std (of a sample, n-1), min,
// q1, median, q3, max, mad (median absolute deviation from the median, not
// scaled), outliers (how many by the rule), rule. Quartiles are interpolated
// linearly. Values are SI; where n is 0 they are NA.
func (s *Store) Statistics(ctx context.Context, f Filter, opt StatisticsOptions) (dataframe.DataFrame, error) {
	if opt.Rule == "" {
		opt.Rule = Tukey
	}
	is, ok := outlierSQL[opt.Rule]
	if !ok {
		return dataframe.DataFrame{}, fmt.Errorf("statistics: no rule %q for outliers: there are %s and %s", string(opt.Rule), Tukey, ModifiedZ)
	}
	var keys []string
	if opt.PerRun {
		keys = append(keys, "run_id")
	}
	keys = append(keys, "kernel")
	with, from := "", "g.short AS kernel"
	join := ""
	if opt.PerPath {
		keys = append(keys, "path")
		with, join, from = pathSQL, ` JOIN path p ON p.id = g.id`, from+", p.path"
	}
	keys = append(keys, "metric", "instance", "unit")
	key := strings.Join(keys, ", ")
	same := make([]string, len(keys))
	for i, k := range keys {
		same[i] = "v." + k + " IS NOT DISTINCT FROM q." + k
	}
	where, args := f.where(true)
	df, err := s.Query(ctx, `WITH `+with+` v AS (SELECT c.run_id, `+from+`, c.metric, c.instance, c.unit, c.value
			FROM counter c JOIN region g ON g.id = c.region_id`+join+where+`),
		q AS (SELECT `+key+`, count(value) AS n, count(*) - count(value) AS missing, avg(value) AS mean, stddev_samp(value) AS std, min(value) AS min,
			quantile_cont(value, 0.25) AS q1, median(value) AS median, quantile_cont(value, 0.75) AS q3, max(value) AS max, mad(value) AS mad
			FROM v GROUP BY ALL),
		o AS (SELECT q.*, (SELECT count(*) FROM v WHERE (`+is+`) AND `+strings.Join(same, " AND ")+`) AS outliers FROM q)
		SELECT *, '`+string(opt.Rule)+`' AS rule FROM o ORDER BY ALL`, args...)
	if err != nil {
		return df, fmt.Errorf("statistics: %w", err)
	}
	return df, nil
}

// pathSQL is a table path(id, path) of short names from the root, for WITH.
const pathSQL = `RECURSIVE path AS (SELECT id, short AS path FROM region WHERE parent_id IS NULL
	UNION ALL SELECT g.id, p.path || '/' || g.short FROM region g JOIN path p ON g.parent_id = p.id),`

// ByKernel groups launches by kernel: one row per run and kernel, the one that
// took the most time first: run_id, tool, kernel, kind, launches (0 where the
// profile has only the kernel as a whole), time (s: the sum of the launches'
// durations, or else of the run's time metric; NA where neither is known),
// share (of the time of all kernels of the kind in that run, 0 to 1; only where
// times do not contain each other), then one Float column per metric,
// aggregated, SI units. A metric with several instances gets a column each,
// "metric[instance]". Filter.Sample picks launches for the metrics alone.
func (s *Store) ByKernel(ctx context.Context, f Filter, agg Agg) (dataframe.DataFrame, error) {
	fail := func(err error) (dataframe.DataFrame, error) {
		return dataframe.DataFrame{}, fmt.Errorf("by kernel: %w", err)
	}
	function, ok := map[Agg]string{Mean: "avg", Median: "median", Sum: "sum", Min: "min", Max: "max", Count: "count", Std: "stddev_samp"}[agg]
	if !ok {
		return fail(fmt.Errorf("no aggregation %q: there are count, max, mean, median, min, std and sum", string(agg)))
	}
	type key struct {
		run          int64
		kernel, kind string
	}
	values := map[key]map[string]Null[float64]{}
	names := map[string]bool{}
	where, args := f.where(true)
	err := each(ctx, s.conn, `SELECT c.run_id, g.short, g.kind, c.metric || coalesce('[' || c.instance || ']', ''), `+function+`(c.value)::DOUBLE
		FROM counter c JOIN region g ON g.id = c.region_id`+where+` GROUP BY ALL`, func(v []any) {
		k := key{integer(v[0]).V, str(v[1]), str(v[2])}
		if values[k] == nil {
			values[k] = map[string]Null[float64]{}
		}
		values[k][str(v[3])], names[str(v[3])] = number(v[4]), true
	}, args...)
	if err != nil {
		return fail(err)
	}
	var t table
	t.columns(series.Int, "run_id")
	t.columns(series.String, "tool", "kernel", "kind")
	t.columns(series.Int, "launches")
	t.columns(series.Float, "time", "share")
	metrics := sorted(names)
	t.columns(series.Float, metrics...)
	whole := f
	whole.Metrics, whole.Sample = nil, 0
	where, args = whole.where(false)
	var rows [][]any
	err = each(ctx, s.conn, `WITH timed AS (SELECT c.region_id, CASE WHEN bool_or(c.launch_id IS NULL) THEN sum(c.value) FILTER (WHERE c.launch_id IS NULL) ELSE sum(c.value) END AS t
			FROM counter c JOIN run u ON u.id = c.run_id WHERE c.metric = u.time_metric AND c.unit = 's' GROUP BY c.region_id),
		launched AS (SELECT region_id, count(*) AS n, sum(dur_ns)::DOUBLE / 1e9 AS t FROM launch GROUP BY region_id),
		k AS (SELECT g.run_id, u.tool, g.short, g.kind, coalesce(sum(l.n), 0)::BIGINT AS n, sum(coalesce(l.t, m.t)) AS t,
			coalesce(u.time_inclusive, false) AND g.kind <> '`+KindKernel+`' AS nested
			FROM region g JOIN run u ON u.id = g.run_id LEFT JOIN launched l ON l.region_id = g.id LEFT JOIN timed m ON m.region_id = g.id`+
		where+` GROUP BY ALL)
		SELECT run_id, tool, short, kind, n, t, CASE WHEN NOT nested THEN t / nullif(sum(t) OVER (PARTITION BY run_id, kind), 0) END
		FROM k ORDER BY run_id, t DESC NULLS LAST, short`, func(v []any) {
		rows = append(rows, slices.Clone(v))
	}, args...)
	if err == nil {
		err = s.fits(len(rows), len(t.names))
	}
	if err != nil {
		return fail(err)
	}
	for _, v := range rows {
		row := make([]any, 7, len(t.names))
		copy(row, v)
		of := values[key{integer(v[0]).V, str(v[2]), str(v[3])}]
		for _, m := range metrics {
			row = append(row, of[m])
		}
		t.add(row...)
	}
	return t.frame()
}

// Compare puts a metric of two runs side by side, one row per kernel (short
// name) and instance, those that changed the most first: kernel, instance,
// unit, n_before, n_after (values), before, after (medians), mad_before,
// mad_after, difference (after - before), ratio (after / before, below 1 where
// after is less), status ("both", "only before", "only after", or "no value"
// where a side has the kernel and no value of the metric). NA where a side has
// none.
//
// metric "" compares the times of launches (dur_ns, in s) where both runs have
// them, else each run's own time metric.
func (s *Store) Compare(ctx context.Context, before, after int64, metric string) (dataframe.DataFrame, error) {
	df, err := s.compare(ctx, before, after, metric)
	if err != nil {
		return df, fmt.Errorf("comparing run %d with run %d: %w", before, after, err)
	}
	return df, nil
}

func (s *Store) compare(ctx context.Context, before, after int64, metric string) (df dataframe.DataFrame, err error) {
	values := `SELECT g.run_id, g.short AS kernel, c.instance, c.unit, c.value FROM counter c JOIN region g ON g.id = c.region_id JOIN run u ON u.id = g.run_id
		WHERE g.run_id IN (?, ?) AND c.metric = coalesce(nullif(?, ''), u.time_metric)`
	args := []any{before, after, metric}
	for _, run := range []int64{before, after} {
		if n, err := one(ctx, s.conn, `SELECT count(*) FROM run WHERE id = ?`, run); err != nil || n == 0 {
			if err == nil {
				err = fmt.Errorf("the store has no run %d: Query \"SELECT id, tool FROM run\" lists them", run)
			}
			return df, err
		}
	}
	if metric == "" {
		n, err := one(ctx, s.conn, `SELECT count(DISTINCT run_id) FROM launch WHERE run_id IN (?, ?) AND dur_ns IS NOT NULL`, before, after)
		if err != nil {
			return df, err
		}
		if n == 2 || n == 1 && before == after {
			values = `SELECT g.run_id, g.short AS kernel, NULL::TEXT AS instance, 's' AS unit, l.dur_ns / 1e9 AS value FROM launch l JOIN region g ON g.id = l.region_id
				WHERE g.run_id IN (?, ?)`
			args = args[:2]
		}
	}
	n, err := one(ctx, s.conn, `SELECT count(value) FROM (`+values+`)`, args...)
	if err != nil {
		return df, err
	}
	if n == 0 {
		return df, fmt.Errorf("neither run has a value of the metric %q: Query \"SELECT DISTINCT run_id, metric FROM counter\" lists those that there are", metric)
	}
	side := `(SELECT kernel, instance, any_value(unit) AS unit, count(value) AS n, median(value) AS median, mad(value) AS mad FROM v WHERE run_id = ? GROUP BY kernel, instance)`
	return s.Query(ctx, `WITH v AS (`+values+`), b AS `+side+`, a AS `+side+`
		SELECT coalesce(b.kernel, a.kernel) AS kernel, coalesce(b.instance, a.instance) AS instance, coalesce(b.unit, a.unit) AS unit,
			coalesce(b.n, 0) AS n_before, coalesce(a.n, 0) AS n_after, b.median AS before, a.median AS after, b.mad AS mad_before, a.mad AS mad_after,
			a.median - b.median AS difference, CASE WHEN b.median <> 0 THEN a.median / b.median END AS ratio,
			CASE WHEN a.n IS NULL THEN 'only before' WHEN b.n IS NULL THEN 'only after' WHEN a.n = 0 OR b.n = 0 THEN 'no value' ELSE 'both' END AS status
		FROM b FULL JOIN a ON b.kernel = a.kernel AND b.instance IS NOT DISTINCT FROM a.instance AND b.unit IS NOT DISTINCT FROM a.unit
		ORDER BY abs(difference) DESC NULLS LAST, kernel, instance`, append(args, before, after)...)
}
