package roofline

import (
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// Facts about a launch's machine that FromStore adds to its metrics under
// names that no tool uses.
const (
	clockFact   = "machine.clock_hz"
	unitsFact   = "machine.units"
	banksFact   = "machine.lds_banks"
	diesFact    = "machine.dies"
	threadsFact = "machine.threads" // threads that the launch ran on
	ceilingFact = "ceiling."        // + the level, + theoretical
)

const theoretical = ".theoretical"

// levelName is a level of memory, levelOf a precision, in the store's table
// ceiling.
var levelName = [...]string{DRAM: "dram", L3: "l3", L2: "l2", L1: "l1", Shared: "lds"}

func levelOf(p Precision) string {
	return [...]string{FP64: "fp64", FP32: "fp32", FP16: "fp16", Int: "int32", TensorFP64: "fp64.tensor", TensorFP32: "fp32.tensor",
		TensorFP16: "fp16.tensor", TensorBF16: "bf16.tensor", TensorFP8: "fp8.tensor", TensorInt8: "int8.tensor"}[p]
}

// machine is a ceiling of the launch's machine, measured before theoretical.
func (c counters) machine(level string) Quantity {
	if v, ok := c[ceilingFact+level]; ok {
		return known(v, "measured ceiling "+level+" of the machine")
	}
	if v, ok := c[ceilingFact+level+theoretical]; ok {
		return known(v, "theoretical ceiling "+level+" of the machine")
	}
	return missing("no ceiling " + level + " of the machine is known")
}

// shared is a ceiling of a machine's processors for the threads that ran: one
// thread has that of one core; t threads have t times that, as far as all
// processors together reach it.
func (c counters) shared(level string) Quantity {
	all, core := c.machine(level), c.machine(level+".core")
	t, counted := c[threadsFact]
	switch {
	case !counted && all.OK:
		all.From += ", all processors (how many threads ran is not known)"
		return all
	case counted && core.OK && (t <= 1 || !all.OK || t*core.Value < all.Value):
		return known(max(t, 1)*core.Value, fmt.Sprintf("%g x %s", max(t, 1), core.From))
	}
	return all
}

// facts reads what the store knows of the machines of runs: ceilings and
// sizes, by run. Where roofline.csv has several devices the first one's count,
// as in rocprof-compute, which cannot tell which of them a dispatch ran on
// either: they differ by less than 1 %. Of repeated measurements the highest
// counts.
func facts(ctx context.Context, s *datasets.Store) (map[int64]map[string]float64, error) {
	out := map[int64]map[string]float64{}
	of := func(run int64) map[string]float64 {
		if out[run] == nil {
			out[run] = map[string]float64{}
		}
		return out[run]
	}
	err := each(ctx, s, `SELECT r.id, c.level, c.measured, c.value FROM run r JOIN ceiling c ON c.machine_id = r.machine_id
		WHERE c.source IS NULL OR c.source NOT LIKE 'roofline.csv, device %' OR c.source = (SELECT min(d.source) FROM ceiling d
			WHERE d.machine_id = c.machine_id AND d.source LIKE 'roofline.csv, device %')`, func(v []any) {
		level, _ := v[1].(string)
		switch level { // names of roofline.csv
		case "mall":
			level = "l3"
		case "shared":
			level = "lds"
		}
		if measured, _ := v[2].(bool); !measured {
			level += theoretical
		}
		m, value := of(v[0].(int64)), v[3].(float64)
		m[ceilingFact+level] = max(m[ceilingFact+level], value)
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, s, `SELECT r.id, m.clock_hz, m.units::DOUBLE FROM run r JOIN machine m ON m.id = r.machine_id`, func(v []any) {
		for i, name := range []string{clockFact, unitsFact} {
			if x, ok := v[i+1].(float64); ok && x > 0 {
				of(v[0].(int64))[name] = x
			}
		}
	})
	if err != nil {
		return nil, err
	}
	err = each(ctx, s, `SELECT run_id, name, try_cast(value AS DOUBLE) FROM attribute
		WHERE name IN ('sysinfo.lds_banks_per_cu', 'sysinfo.num_xcd')`, func(v []any) {
		name := banksFact
		if n, _ := v[1].(string); strings.HasSuffix(n, "xcd") {
			name = diesFact
		}
		if x, ok := v[2].(float64); ok && x > 0 {
			of(v[0].(int64))[name] = x
		}
	})
	return out, err
}

// each calls f for the rows of a query.
func each(ctx context.Context, s *datasets.Store, query string, f func([]any)) error {
	rows, err := s.Rows(ctx, query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		f(rows.Values())
	}
	return rows.Err()
}
