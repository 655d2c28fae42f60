package roofline

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/devices"
)

// Facts that FromStore adds to the counters of a launch, under names that no
// tool uses.
const (
	clockFact   = "machine.clock_hz"
	unitsFact   = "machine.units"
	banksFact   = "machine.lds_banks"
	diesFact    = "machine.dies"
	threadsFact = "run.threads"   // threads that the launch ran on
	wallFact    = "run.wall_time" // s, in another run of the same function
	wallRunFact = "run.wall_time_run"
	twinFact    = "ceiling.same_processor" // ceilings are of a machine that has the same processor
	ceilingFact = "ceiling."               // + the level: of the machine's processors together, + ".core": of one
)

// ceilings are the launch's: those of its machine, but where the number of
// threads is known, of as many cores (one thread has the ceiling of one core; t
// threads have t times that, as far as all processors together reach it); then,
// for AMD, two operations per lane, compute unit and cycle for unpacked FP32 and
// FP64, the peak of rocprof-compute's panel 400; and last the table of devices'.
func (l Launch) ceilings(machine, table Ceilings) Ceilings {
	c := counters(l.Metrics)
	some, theory := Ceilings{Bandwidth: map[Level]Ceiling{}, Peak: map[Precision]Ceiling{}}, Ceilings{Peak: map[Precision]Ceiling{}}
	for name, level := range levelNames {
		if q := c.forThreads(name); q.OK {
			some.Bandwidth[level] = Ceiling{Value: q.Value, From: q.From}
		}
	}
	for name, p := range precisionNames {
		if q := c.forThreads(name); q.OK {
			some.Peak[p] = Ceiling{Value: q.Value, From: q.From}
		}
	}
	if q := product(c.first(clockFact), c.first(unitsFact)); q.OK && isAMD(l.Metrics) {
		q = times(2*waveSize, q)
		for _, p := range []Precision{FP64, FP32} {
			theory.Peak[p] = Ceiling{Value: q.Value, From: "theoretical: " + q.From}
		}
	}
	return some.Or(machine).Or(theory).Or(table)
}

// forThreads is the ceiling of as many cores as ran threads. Where their number
// is not known, that of all processors holds.
func (c counters) forThreads(level string) Quantity {
	all, hasAll := c[ceilingFact+level]
	core, hasCore := c[ceilingFact+level+".core"]
	t, counted := c[threadsFact]
	from := "measured: "
	if c[twinFact] > 0 {
		from = "measured on a machine with this processor: "
	}
	t = max(t, 1)
	switch {
	case hasAll && c[twinFact] > 0 && (!counted || !hasCore):
		return known(all, from+level+" of all processors")
	case !counted || !hasCore:
		return missing("no ceiling " + level + " of one core, or how many threads ran is not known")
	case hasAll && all < t*core:
		return known(all, fmt.Sprintf("%s%s of all processors, for %g threads", from, level, t))
	}
	return known(t*core, fmt.Sprintf("%s%g x %s of one core", from, t, level))
}

// tablesOf are the theoretical ceilings of the devices that runs were on, as far
// as package devices knows them; not those of programs that count themselves,
// which say nothing of the cores that they use.
func tablesOf(ctx context.Context, s *datasets.Store, ms []datasets.Measurement, ls []Launch) (map[int64]Ceilings, error) {
	out := map[int64]Ceilings{}
	for i, l := range ls {
		run := ms[i].Run
		if _, done := out[run]; done || !isAMD(l.Metrics) && !isCPU(l.Metrics) && !isNVIDIA(l.Metrics) && !isPublished(l.Metrics) {
			continue
		}
		m, err := devices.FromStore(ctx, s, run)
		if err != nil {
			return nil, err
		}
		out[run] = Ceilings{}
		if m.Unknown == nil {
			out[run] = Of(m.Device)
		}
	}
	return out, nil
}

type facts map[int64]map[string]float64

func (f facts) set(run int64, name string, v float64) {
	if f[run] == nil {
		f[run] = map[string]float64{}
	}
	f[run][name] = max(f[run][name], v)
}

// factsOf reads what a store knows of the machines of runs. Of repeated
// measurements the highest counts, since a probe can only fall short. Where a
// file says no more of its machine than the processor's name (LIKWID, PAPI),
// machines of that name have its ceilings.
func factsOf(ctx context.Context, s *datasets.Store, runs map[int64]bool) (facts, error) {
	out := facts{}
	where, args := among("r.id", runs)
	err := each(ctx, s, `SELECT r.id, c.level, c.value, n.id <> m.id FROM run r JOIN machine m ON m.id = r.machine_id
		JOIN machine n ON n.id = m.id OR m.host IS NULL AND m.gpu IS NULL AND n.cpu = m.cpu JOIN ceiling c ON c.machine_id = n.id WHERE c.measured AND `+where, args, func(v []any) {
		out.set(v[0].(int64), ceilingFact+v[1].(string), v[2].(float64))
		if other, _ := v[3].(bool); other {
			out.set(v[0].(int64), twinFact, 1)
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, s, `SELECT r.id, m.clock_hz, m.units::DOUBLE FROM run r JOIN machine m ON m.id = r.machine_id WHERE `+where, args, func(v []any) {
		for i, name := range []string{clockFact, unitsFact} {
			if x, ok := v[i+1].(float64); ok && x > 0 {
				out.set(v[0].(int64), name, x)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, s, `SELECT r.id, a.name, try_cast(a.value AS DOUBLE) FROM attribute a JOIN run r ON r.id = a.run_id
		WHERE `+where+` AND a.name IN ('sysinfo.lds_banks_per_cu', 'sysinfo.num_xcd') AND try_cast(a.value AS DOUBLE) > 0`, args, func(v []any) {
		name := banksFact
		if strings.HasSuffix(v[1].(string), "xcd") {
			name = diesFact
		}
		out.set(v[0].(int64), name, v[2].(float64))
	})
	return out, err
}

// among is a condition: the column is one of those values.
func among[T cmp.Ordered](column string, values map[T]bool) (string, []any) {
	var args []any
	for _, v := range slices.Sorted(maps.Keys(values)) {
		args = append(args, v)
	}
	if args == nil {
		return "false", nil
	}
	return column + " IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}

// each is Store.Each with the query first, for queries of several lines.
func each(ctx context.Context, s *datasets.Store, query string, args []any, f func([]any)) error {
	return s.Each(ctx, f, query, args...)
}
