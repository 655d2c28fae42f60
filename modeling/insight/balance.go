package insight

import (
	"context"
	"fmt"
	"math"
	"strings"
)

// unbalanced is the imbalance from which on it is a problem.
const unbalanced = 0.1

// imbalanceSource defines max / mean - 1.
const imbalanceSource = "DeRose, Homer and Johnson 2007, Detecting Application Load Imbalance on High End Massively Parallel Systems, Euro-Par"

// balance compares ranks (or threads, where there is one rank) of each region.
func balance(ctx context.Context, sc *scope) (found, error) {
	var f found
	if sc.hot.Total == 0 || sc.cost != "" {
		return f, nil
	}
	for _, k := range sc.kernels {
		if k.Kind == "kernel" {
			continue
		}
		for _, by := range []string{"rank", "thread"} {
			if by == "thread" && sc.is("perf", "pprof") {
				break // threads of all processes that were sampled
			}
			it, ok, err := sc.imbalance(ctx, k, by)
			if err != nil {
				return f, err
			}
			if ok {
				f.items = append(f.items, it)
				break
			}
		}
	}
	return f, nil
}

func (sc *scope) imbalance(ctx context.Context, k *Kernel, by string) (Item, bool, error) {
	values := fmt.Sprintf("SELECT l.%s AS p, sum(c.value) AS t FROM counter c JOIN launch l ON l.id = c.launch_id WHERE c.run_id = %d AND c.metric = %s AND c.instance IS NULL AND c.region_id IN (%s) AND l.%s IS NOT NULL GROUP BY 1",
		by, sc.run.ID, literal(sc.time), sc.regions(k), by)
	if sc.durations() {
		values = fmt.Sprintf("SELECT l.%s AS p, sum(l.dur_ns) / 1e9 AS t FROM launch l WHERE l.run_id = %d AND l.region_id IN (%s) AND l.%s IS NOT NULL GROUP BY 1", by, sc.run.ID, sc.regions(k), by)
	}
	var n, most, mean, worst float64
	if err := sc.store.Each(ctx, func(v []any) {
		n, most, mean, worst = asFloat(v[0]), asFloat(v[1]), asFloat(v[2]), asFloat(v[3])
	}, "SELECT count(t), max(t), avg(t), arg_max(p, t) FROM ("+values+")"); err != nil {
		return Item{}, false, err
	}
	if n < 2 || !(mean > 0) {
		return Item{}, false, nil
	}
	v := most/mean - 1
	includes := ""
	if sc.run.inclusive {
		includes = ", with what it calls"
	}
	it := Item{Kind: Balance, Rule: by + "-imbalance", Verdict: Fine, Kernel: k.Name, Metric: "max / mean - 1 of the time over " + by + "s", Value: v, Share: k.share(),
		Statement: fmt.Sprintf("%s%s is balanced over %.0f %ss: the slowest takes %s more than the mean of %s.", k.short(), includes, n, by, percent(v), quantity(mean, k.Unit)),
		Reference: &Reference{Value: unbalanced, What: "threshold", From: imbalanceSource}, Importance: 0.08 * k.share(),
		Query: "SELECT max(t) / avg(t) - 1 FROM (" + values + ")"}
	if v > unbalanced {
		it.Verdict, it.Gain = Problem, v/(1+v)
		it.Importance = k.share() * (0.3 + 0.5*it.Gain)
		it.Statement = fmt.Sprintf("%s%s is not balanced over %.0f %ss: %s %.0f takes %s, %s more than the mean of %s.", k.short(), includes, n, by, by, worst, quantity(most, k.Unit), percent(v), quantity(mean, k.Unit))
		it.Meaning = "All wait for the slowest at the next synchronisation; equal work would save up to the difference."
		it.Remedies = []string{"Split work by cost instead of number (weighted partitioning, dynamic schedule, work stealing); see whether one " + by + " has input, output or a slow core."}
		it.Moves = []Move{{sc.timeMetric(), Down}}
	}
	var rows []Row
	var count int64
	table := "counter"
	sql := fmt.Sprintf("SELECT c.region_id, l.id, count(*) OVER () FROM counter c JOIN launch l ON l.id = c.launch_id WHERE c.run_id = %d AND c.metric = %s AND c.instance IS NULL AND c.value IS NOT NULL AND c.region_id IN (%s) AND l.%s IS NOT NULL",
		sc.run.ID, literal(sc.time), sc.regions(k), by)
	metric := sc.time
	if sc.durations() {
		table, metric = "launch", "dur_ns"
		sql = fmt.Sprintf("SELECT l.region_id, l.id, count(*) OVER () FROM launch l WHERE l.run_id = %d AND l.region_id IN (%s) AND l.%s IS NOT NULL AND l.dur_ns IS NOT NULL", sc.run.ID, sc.regions(k), by)
	}
	err := sc.store.Each(ctx, func(v []any) {
		rows = append(rows, Row{Table: table, Region: v[0].(int64), Launch: v[1].(int64), Metric: metric})
		count = v[2].(int64)
	}, sql+fmt.Sprintf(" ORDER BY l.id LIMIT %d", mostRows))
	it.Sources = sc.source(rows, count)
	return it, true, err
}

// advice is what the profiling tool's own rules estimate: the name of the rule
// and its number, to be read in the tool.
func advice(ctx context.Context, sc *scope) (found, error) {
	var f found
	if !sc.is("ncu") {
		return f, nil
	}
	for _, k := range sc.kernels {
		const pattern = `'estimated speedup ([a-z]+) ([0-9.eE+-]+) %'`
		const note = "a.name LIKE 'rule %' AND a.name NOT LIKE '% marker'"
		from := fmt.Sprintf("SELECT a.name, a.launch_id, a.region_id, regexp_extract(a.value, %s, 1) AS scope, try_cast(regexp_extract(a.value, %s, 2) AS DOUBLE) AS gain FROM attribute a WHERE a.run_id = %d AND a.region_id IN (%s) AND %s",
			pattern, pattern, sc.run.ID, sc.regions(k), note)
		type estimate struct {
			name, scope string
			gain        float64
			rows        []Row
			count       int64
		}
		var es []*estimate
		if err := sc.store.Each(ctx, func(v []any) {
			e := &estimate{name: v[0].(string), scope: v[1].(string), gain: v[2].(float64), count: v[3].(int64)}
			launch, _ := v[5].(int64)
			e.rows = []Row{{Table: "attribute", Region: v[4].(int64), Launch: launch, Metric: e.name}}
			es = append(es, e)
		}, "SELECT name, min(scope), max(gain), count(*), min(region_id), min(launch_id) FROM ("+from+") WHERE gain > 2 GROUP BY name ORDER BY 3 DESC, name LIMIT 4"); err != nil {
			return f, err
		}
		for _, e := range es {
			rule := strings.TrimPrefix(e.name, "rule ")
			part := math.Min(1, e.gain/100)
			f.items = append(f.items, Item{Kind: Advice, Rule: "ncu-" + rule, Verdict: Problem, Kernel: k.Name, Metric: "speed-up that the tool estimates", Value: e.gain, Unit: "%", Share: k.share(), Gain: part,
				Statement: fmt.Sprintf("Nsight Compute's rule %s puts what can be gained in %s at %s (%s).", rule, k.short(), quantity(e.gain, "%"), scopeWords(e.scope)),
				Sources:   sc.source(e.rows, e.count), Query: "SELECT max(gain) FROM (" + from + ") WHERE gain > 2 AND name = " + literal(e.name),
				Estimate: "the tool's own estimate, the largest over launches", Importance: k.share() * (0.15 + 0.2*part),
				Meaning: "The rule's own words are in the attribute \"" + e.name + "\" of the launch."})
		}
	}
	return f, nil
}

func scopeWords(scope string) string {
	if scope == "local" {
		return "of the part that the rule looks at"
	}
	return "of the kernel's time"
}
