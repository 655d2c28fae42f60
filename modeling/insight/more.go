package insight

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/observe"
	"github.com/rooflab/rooflab/modeling/scaling"
)

// usualParameters are attributes of runs over which programs are scaled.
var usualParameters = []string{"jobsize", "mpi.world.size", "problem_size", "ProblemSize", "num_threads", "omp_threads", "n", "size"}

// growth says how kernels grow over runs of other sizes.
func growth(ctx context.Context, sc *scope) (found, error) {
	var f found
	parameters := sc.opt.Scale
	if len(parameters) == 0 {
		for _, p := range usualParameters {
			n, err := number(ctx, sc.store, fmt.Sprintf("SELECT count(DISTINCT a.value) FROM attribute a JOIN run r ON r.id = a.run_id WHERE a.name = %s AND a.region_id IS NULL AND a.launch_id IS NULL AND r.tool = %s", literal(p), literal(sc.run.Tool)))
			if err != nil {
				return f, err
			}
			if n >= scaling.FewestPoints {
				parameters = []string{p}
				break
			}
		}
		if len(parameters) == 0 {
			return f, nil
		}
	}
	series, err := scaling.FromStore(ctx, sc.store, scaling.Source{Parameters: parameters, Tool: sc.run.Tool})
	if err != nil {
		if ctx.Err() != nil {
			return f, err
		}
		return f, &missingError{what: "scaling over " + strings.Join(parameters, ", ") + ": " + err.Error()}
	}
	for _, s := range series {
		i := slices.IndexFunc(sc.kernels, func(k *Kernel) bool { return k.Name == s.Kernel })
		if i < 0 {
			continue
		}
		k := sc.kernels[i]
		opt := scaling.Options{Name: s.Kernel, Unit: s.Unit, Parameters: parameters, Seed: sc.opt.Seed}
		m, err := scaling.Fit(s.Points, opt)
		if err != nil { // strong scaling: times that fall
			opt.Exponents = scaling.Shrinking()
			if falling, no := scaling.Fit(s.Points, opt); no == nil {
				m, err = falling, nil
			}
		}
		if refusal := (*scaling.RefusedError)(nil); errors.As(err, &refusal) {
			f.missing = append(f.missing, Missing{What: refusal.Error(), Command: "runs of at least 5 sizes: sbatch --array, or rooflab collect run for each"})
			continue
		} else if err != nil {
			return f, err
		}
		if k.Time == nil {
			continue
		}
		it := Item{Kind: Scaling, Rule: "growth", Verdict: Fact, Kernel: k.Name, Metric: "time in this run", Value: *k.Time, Unit: k.Unit, Share: k.share(),
			Statement: fmt.Sprintf("%s grows as %s over %s: %s (%.1f %% error in leave-one-out over %d sizes)", k.short(), m.Growth(), strings.Join(parameters, ", "), m.Formula(), 100*m.SMAPE, len(m.Points)),
			Sources:   sc.evidence(ctx, evidenceOf(sc.hot, k)), Query: sc.times(k) + "\nSELECT sum(v) FROM o",
			Importance: 0.4 * k.share(), Estimate: "a fitted formula; beyond the sizes measured it is an extrapolation"}
		if m.Constant() {
			it.Statement = fmt.Sprintf("%s does not depend on %s (%d sizes)", k.short(), strings.Join(parameters, ", "), len(m.Points))
		}
		it.Statement += fmt.Sprintf("; in this run it takes %s", quantity(*k.Time, k.Unit))
		for _, p := range m.Points {
			if slices.ContainsFunc(p.Evidence, func(r observe.Row) bool { return r.Run == sc.run.ID }) {
				it.Reference = &Reference{Value: m.At(p.At...), What: "by the formula, " + s.Unit, From: "Calotoiu et al. 2013, SC13"}
				it.Statement += fmt.Sprintf(", by the formula %s", quantity(it.Reference.Value, s.Unit))
				break
			}
		}
		it.Statement += "."
		f.items = append(f.items, it)
	}
	return f, nil
}

// sensors says what clocks, power and temperature did.
func sensors(ctx context.Context, sc *scope) (found, error) {
	var f found
	type reading struct {
		name, unit     string
		n              int64
		low, high, avg float64
	}
	var rs []reading
	if err := sc.store.Each(ctx, func(v []any) {
		unit, _ := v[1].(string)
		rs = append(rs, reading{v[0].(string), unit, v[2].(int64), asFloat(v[3]), asFloat(v[4]), asFloat(v[5])})
	}, "SELECT sensor, min(unit), count(value), min(value), max(value), avg(value) FROM telemetry WHERE run_id = ? AND kind <> 'cumulative' AND value IS NOT NULL GROUP BY 1 ORDER BY 1", sc.run.ID); err != nil {
		return f, err
	}
	for _, r := range rs {
		var what string
		switch {
		case strings.HasSuffix(r.name, ".clock.sm"):
			what = "core clock"
		case strings.HasSuffix(r.name, ".power"):
			what = "power"
		case strings.HasSuffix(r.name, ".temperature"):
			what = "temperature"
		case strings.HasSuffix(r.name, ".utilization"):
			what = "utilisation"
		default:
			continue
		}
		row := sc.source([]Row{{Table: "telemetry", Metric: r.name}}, r.n)
		where := fmt.Sprintf("FROM telemetry WHERE run_id = %d AND sensor = %s", sc.run.ID, literal(r.name))
		it := Item{Kind: Telemetry, Rule: strings.ReplaceAll(what, " ", "-"), Verdict: Fact, Metric: r.name, Value: r.avg, Unit: r.unit, Share: 1, Importance: 0.1,
			Statement: fmt.Sprintf("The %s of %s is %s on average, %s to %s in %s.", what, device(r.name), quantity(r.avg, r.unit), quantity(r.low, r.unit), quantity(r.high, r.unit), plural(r.n, "reading")),
			Sources:   row, Query: "SELECT avg(value) " + where}
		if what == "core clock" {
			busy := strings.TrimSuffix(r.name, "clock.sm") + "utilization"
			query := fmt.Sprintf("SELECT min(c.value) / max(c.value) FROM telemetry c JOIN telemetry u ON u.run_id = c.run_id AND u.t_ns = c.t_ns AND u.sensor = %s AND u.value >= 50 WHERE c.run_id = %d AND c.sensor = %s AND c.value > 0",
				literal(busy), sc.run.ID, literal(r.name))
			v, err := number(ctx, sc.store, query)
			if err != nil {
				return f, err
			}
			if v < 0.9 {
				it = Item{Kind: Telemetry, Rule: "throttling", Verdict: Problem, Metric: "lowest / highest core clock while the GPU is busy", Value: v, Share: 1, Importance: 0.6,
					Statement: fmt.Sprintf("While %s is busy (50 %% or more) its core clock falls to %s of its highest, %s: times depend on when they were taken.", device(r.name), percent(v), quantity(r.high, r.unit)),
					Reference: &Reference{Value: 0.9, What: "threshold", From: "rooflab's threshold"}, Sources: row, Query: query,
					Meaning:  "The GPU lowers its clock for power or temperature, or had not reached it yet.",
					Remedies: []string{"Fix the clock (nvidia-smi -lgc), warm up before measuring, look at power and temperature limits (nvidia-smi -q -d PERFORMANCE)."}}
			}
		}
		f.items = append(f.items, it)
	}
	return f, nil
}

func device(sensor string) string {
	name, _, _ := strings.Cut(sensor, ".")
	return strings.ToUpper(strings.TrimRight(name, "0123456789")) + " " + strings.TrimLeft(name, "abcdefghijklmnopqrstuvwxyz")
}
