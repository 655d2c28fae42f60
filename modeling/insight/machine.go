package insight

import (
	"context"
	"fmt"
	"strings"
)

// limits says what the run found its machine to be able to do: those are the
// runs of probes.
func limits(ctx context.Context, sc *scope) (found, error) {
	var f found
	type ceiling struct {
		level, unit string
		measured    bool
		value       float64
	}
	var cs []ceiling
	if err := sc.store.Each(ctx, func(v []any) {
		cs = append(cs, ceiling{v[0].(string), v[1].(string), v[2].(bool), v[3].(float64)})
	}, "SELECT level, unit, measured, max(value) FROM ceiling WHERE run_id = ? GROUP BY ALL ORDER BY measured DESC, level", sc.run.ID); err != nil {
		return f, err
	}
	if len(sc.kernels) > 0 {
		return f, nil // rooflines use them
	}
	for _, c := range cs {
		kind := "theoretical"
		if c.measured {
			kind = "measured"
		}
		f.items = append(f.items, Item{Kind: Roofline, Rule: "ceiling-" + c.level, Verdict: Fact, Metric: "ceiling of " + c.level, Value: c.value, Unit: c.unit, Share: 1, Importance: 0.5,
			Statement: fmt.Sprintf("The %s ceiling of %s is %s.", kind, c.level, quantity(c.value, c.unit)),
			Sources:   sc.source([]Row{{Table: "ceiling", Metric: c.level}}, 1),
			Query:     fmt.Sprintf("SELECT max(value) FROM ceiling WHERE run_id = %d AND level = %s AND measured = %t", sc.run.ID, literal(c.level), c.measured)})
	}
	// The balance of the first pair, the number that every kernel is compared with.
	for _, p := range cs {
		for _, m := range cs {
			if m.level == "dram" && p.measured == m.measured && strings.HasPrefix(p.level, "fp") && m.value > 0 && !strings.Contains(p.level, ".") {
				at := func(level string) string {
					return fmt.Sprintf("(SELECT max(value) FROM ceiling WHERE run_id = %d AND level = %s AND measured = %t)", sc.run.ID, literal(level), p.measured)
				}
				f.items = append(f.items, Item{Kind: Roofline, Rule: "balance-" + p.level, Verdict: Fact, Metric: "machine balance of " + p.level, Value: p.value / m.value, Unit: "flop/byte", Share: 1, Importance: 0.6,
					Statement: fmt.Sprintf("The machine does %.3g flop in %s for each byte of DRAM: kernels of less intensity are bound by memory.", p.value/m.value, p.level),
					Reference: &Reference{Value: 1, What: "flop/byte", From: rooflinePaper},
					Sources:   sc.source([]Row{{Table: "ceiling", Metric: p.level}, {Table: "ceiling", Metric: "dram"}}, 2), Query: "SELECT " + at(p.level) + " / " + at("dram")})
			}
		}
	}
	return f, nil
}

// mostMetrics is how many metrics are told of a run without times.
const mostMetrics = 6

// values tells what there is where nothing says where time goes: the largest
// metrics with their spread.
func values(ctx context.Context, sc *scope) (found, error) {
	var f found
	if sc.hot.Total != 0 {
		return f, nil
	}
	type metric struct {
		name, instance, unit string
		n                    int64
		low, median, high    float64
		region               int64
		where                string
	}
	var ms []metric
	if err := sc.store.Each(ctx, func(v []any) {
		unit, _ := v[1].(string)
		instance, _ := v[8].(string)
		ms = append(ms, metric{v[0].(string), instance, unit, v[2].(int64), asFloat(v[3]), asFloat(v[4]), asFloat(v[5]), v[6].(int64), v[7].(string)})
	}, fmt.Sprintf(`SELECT c.metric, min(c.unit), count(*) AS n, min(c.value), median(c.value), max(c.value), arg_max(c.region_id, (c.value, -c.region_id)), arg_max(g.short, (c.value, -c.region_id)), c.instance
		FROM counter c JOIN region g ON g.id = c.region_id WHERE c.run_id = %d AND c.value IS NOT NULL
		GROUP BY c.metric, c.instance ORDER BY n DESC, c.metric, c.instance NULLS FIRST LIMIT %d`, sc.run.ID, mostMetrics)); err != nil {
		return f, err
	}
	for i, m := range ms {
		name, instance := m.name, "IS NULL"
		if m.instance != "" {
			name, instance = name+" ("+m.instance+")", "= "+literal(m.instance)
		}
		f.items = append(f.items, Item{Kind: Counter, Rule: "values", Verdict: Fact, Metric: name, Value: m.median, Unit: m.unit, Share: 1, Importance: 0.2 - 0.01*float64(i),
			Statement: fmt.Sprintf("%s has %s: median %s, from %s to %s (%s).", clean(name, 80), plural(m.n, "value"), quantity(m.median, m.unit), quantity(m.low, m.unit), quantity(m.high, m.unit), clean(m.where, mostName)),
			Sources:   sc.source([]Row{{Table: "counter", Region: m.region, Metric: m.name}}, m.n),
			Query:     fmt.Sprintf("SELECT median(value) FROM counter WHERE run_id = %d AND metric = %s AND instance %s", sc.run.ID, literal(m.name), instance)})
	}
	return f, nil
}
