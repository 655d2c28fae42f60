package insight

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/counters"
	"github.com/rooflab/rooflab/modeling/observe"
)

const (
	// enoughLaunches are those from which counters are chosen that explain why
	// some take longer than others; explained is the part of the variance from
	// which the choice is told.
	enoughLaunches = 30
	explained      = 0.3
)

// explanations say which counters tell the quick launches of a kernel from the
// slow ones: configurations of a tuner, or launches of other sizes. A tuner
// that counted nothing has its parameters.
func explanations(ctx context.Context, sc *scope) (found, error) {
	var f found
	if sc.hot.Total == 0 || sc.cost != "" || sc.run.inclusive {
		return f, nil
	}
	for _, k := range sc.kernels {
		if !k.launched || k.Launches < enoughLaunches {
			continue
		}
		t, noun, err := sc.launchTable(ctx, k)
		if err != nil {
			return f, err
		}
		r, err := counters.Select(ctx, t, counters.Options{Seed: sc.opt.Seed})
		if ctx.Err() != nil {
			return f, err
		}
		// Launches that take the same time, or columns that say nothing: there is
		// nothing to explain, or nothing that explains it.
		if err != nil || len(r.Chosen) == 0 || r.R2 < explained {
			continue
		}
		it, ok, err := sc.explanation(ctx, k, r, noun)
		if err != nil {
			return f, err
		}
		if ok {
			f.items = append(f.items, it)
		}
	}
	return f, nil
}

// tuned reports whether the run's launches are configurations of a tuner.
func (sc *scope) tuned() bool { return sc.is("kernel_tuner", "kernel-tuner", "KTT", "ktt") }

// launchTable is the table of a kernel's launches with the time as its target,
// of at most mostLaunches of them, and what its columns are.
func (sc *scope) launchTable(ctx context.Context, k *Kernel) (t counters.Table, noun string, err error) {
	filter := datasets.Filter{Run: sc.run.ID, Kernel: k.Name}
	if k.Launches > mostLaunches {
		filter.Sample = mostLaunches
	}
	ms, err := sc.store.Measurements(ctx, filter)
	if err != nil {
		return t, "", err
	}
	ms = slices.DeleteFunc(ms, func(m datasets.Measurement) bool { return m.Launch == 0 || m.Kind != k.Kind })
	target := sc.timeMetric()
	for i := range ms {
		if target == observe.Duration && ms[i].DurNs.Valid {
			ms[i].Counters = append(ms[i].Counters, datasets.Counter{Metric: target, Unit: "s", Value: datasets.Some(float64(ms[i].DurNs.V) / 1e9)})
		}
	}
	timed := func(m datasets.Measurement) bool { return m.Value(target).Valid }
	if !slices.ContainsFunc(ms, timed) {
		return t, "", nil // the empty table is refused
	}
	if t, err = counters.FromMeasurements(ms, target, false); err != nil {
		return t, "", err
	}
	if sc.tuned() && !slices.ContainsFunc(t.Names, func(n string) bool { return counters.Describe(n).Text != "" && counters.Describe(n).Source != "tuner" }) {
		return t, "tuning parameter", sc.parameters(ctx, k, ms, &t)
	}
	return t, "counter", nil
}

// parameters puts the numbers among the attributes of launches in the place of
// a table's columns.
func (sc *scope) parameters(ctx context.Context, k *Kernel, ms []datasets.Measurement, t *counters.Table) error {
	row := map[int64]int{}
	for i := range ms {
		row[ms[i].Launch] = i
	}
	index := map[string]int{}
	t.Names, t.Columns = nil, nil
	return sc.store.Each(ctx, func(v []any) {
		i, ok := row[v[0].(int64)]
		if !ok {
			return
		}
		name := v[1].(string)
		n, ok := index[name]
		if !ok {
			n = len(t.Names)
			index[name] = n
			col := make([]float64, len(ms))
			for j := range col {
				col[j] = math.NaN()
			}
			t.Names, t.Columns = append(t.Names, name), append(t.Columns, col)
		}
		t.Columns[n][i] = v[2].(float64)
	}, fmt.Sprintf(`SELECT launch_id, name, try_cast(value AS DOUBLE) AS v FROM attribute WHERE run_id = %d AND launch_id IS NOT NULL AND region_id IN (%s)
		AND isfinite(try_cast(value AS DOUBLE)) ORDER BY name, launch_id`, sc.run.ID, sc.regions(k)))
}

// explanation is the item of a choice.
func (sc *scope) explanation(ctx context.Context, k *Kernel, r *counters.Result, noun string) (Item, bool, error) {
	first := r.Chosen[0]
	with, column := sc.launchValues(k, first.Name, noun)
	scale := func(log bool, name string) string {
		if log {
			return fmt.Sprintf("CASE WHEN %[1]s > 0 THEN ln(%[1]s) END", name)
		}
		return name
	}
	query := fmt.Sprintf("%s\nSELECT regr_r2(%s, %s) FROM l WHERE isfinite(d) AND isfinite(%s)", with, scale(r.LogTime, "d"), scale(first.Log, column), column)
	v, err := number(ctx, sc.store, query)
	if err != nil || math.IsNaN(v) {
		return Item{}, false, err
	}
	names, means, moves := []string{}, []string{}, []Move{}
	for _, c := range r.Chosen {
		way, d := "more time with more of it", Down
		if c.Sign < 0 {
			way, d = "less time with more of it", Up
		}
		names = append(names, fmt.Sprintf("%s (%s, stable to %s)", clean(c.Name, 80), way, percent(c.Stability)))
		if c.About.Text != "" {
			means = append(means, c.Name+": "+c.About.String()+".")
		}
		if noun == "counter" {
			moves = append(moves, Move{c.Name, d})
		}
	}
	of := "the time"
	if r.LogTime {
		of = "the time's logarithm"
	}
	it := Item{Kind: Counter, Rule: "explains-time", Verdict: Fact, Kernel: k.Name, Share: k.share(), Importance: 0.45 * k.share(), Value: v,
		Metric: fmt.Sprintf("part of the variance of %s that %s alone explains", of, first.Name),
		Statement: fmt.Sprintf("Over %d %s of %s that take from %s, %s tells the quick from the slow (%s of the variance of %s): %s.", r.Rows, "launches", k.short(),
			sc.span(ctx, k), plural(len(names), noun), percent(r.R2), of, strings.Join(names, ", ")),
		Reference: &Reference{Value: r.R2, What: fmt.Sprintf("part that the chosen %s explain together", plural(len(names), noun))},
		Query:     query, Meaning: strings.Join(means, " "), Moves: append(moves, Move{sc.timeMetric(), Down}),
		Estimate: fmt.Sprintf("chosen by a randomized pursuit, %d members; what goes with the time need not cause it", r.Members)}
	if k.Launches > mostLaunches {
		it.Estimate += fmt.Sprintf("; of %d launches, picked at random", mostLaunches)
	}
	if len(names) > 1 {
		it.Statement = strings.Replace(it.Statement, " tells the", " tell the", 1)
	}
	if noun == "counter" {
		it.Sources, err = sc.counterRows(ctx, k, []string{first.Name})
		return it, err == nil, err
	}
	it.Sources, err = sc.parameterRows(ctx, k, first.Name)
	return it, err == nil, err
}

// span is the times of a kernel's launches in words.
func (sc *scope) span(ctx context.Context, k *Kernel) string {
	low, high := math.NaN(), math.NaN()
	// An error here is that of the item's own query.
	_ = sc.store.Each(ctx, func(v []any) { low, high = asFloat(v[0]), asFloat(v[1]) }, sc.times(k)+"\nSELECT min(v), max(v) FROM o WHERE isfinite(v)")
	return quantity(low, k.Unit) + " to " + quantity(high, k.Unit)
}

// launchValues is SQL that begins with WITH and defines l: the time d of each
// launch of a kernel with one column, of a counter or a parameter.
func (sc *scope) launchValues(k *Kernel, name, noun string) (with, column string) {
	value := fmt.Sprintf("SELECT launch_id, value AS x FROM counter WHERE run_id = %d AND metric = %s AND instance IS NULL AND region_id IN (%s)", sc.run.ID, literal(name), sc.regions(k))
	if noun != "counter" {
		value = fmt.Sprintf("SELECT launch_id, try_cast(value AS DOUBLE) AS x FROM attribute WHERE run_id = %d AND name = %s AND region_id IN (%s)", sc.run.ID, literal(name), sc.regions(k))
	}
	return sc.times(k) + fmt.Sprintf(",\nl AS (SELECT o.v AS d, x.x FROM o JOIN (%s) x USING (launch_id))", value), "x"
}

// parameterRows are rows of an attribute of a kernel's launches.
func (sc *scope) parameterRows(ctx context.Context, k *Kernel, name string) ([]Source, error) {
	var rows []Row
	var count int64
	err := sc.store.Each(ctx, func(v []any) {
		rows = append(rows, Row{Table: "attribute", Region: v[0].(int64), Launch: v[1].(int64), Metric: name})
		count = v[2].(int64)
	}, fmt.Sprintf("SELECT region_id, launch_id, count(*) OVER () FROM attribute WHERE run_id = %d AND name = %s AND launch_id IS NOT NULL AND region_id IN (%s) ORDER BY launch_id LIMIT %d",
		sc.run.ID, literal(name), sc.regions(k), mostRows))
	if err == nil && len(rows) == 0 {
		err = errors.New("the parameter " + name + " has no rows")
	}
	return sc.source(rows, count), err
}
