package roofline

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/devices"
)

// Ceiling is a limit that does not come from the profile, and where it comes
// from: "measured: ...", "theoretical: ...".
type Ceiling struct {
	Value float64 // byte/s, flop/s, operations/s or warp instructions/s
	From  string
	// ClockHz is the clock of the cores that Value holds at, 0 where it is not
	// said or does not matter. Where the profile gives its own clock, Value is
	// scaled to that, and From says so.
	ClockHz float64
}

// Ceilings are the limits of a machine.
type Ceilings struct {
	Bandwidth map[Level]Ceiling
	Peak      map[Precision]Ceiling
	Issue     Quantity // warp instructions/s
}

// Or is c where it has a ceiling and d elsewhere: measured.Or(theoretical).
func (c Ceilings) Or(d Ceilings) Ceilings {
	out := Ceilings{Bandwidth: map[Level]Ceiling{}, Peak: map[Precision]Ceiling{}, Issue: d.Issue}
	for _, from := range []Ceilings{d, c} {
		for l, v := range from.Bandwidth {
			out.Bandwidth[l] = v
		}
		for p, v := range from.Peak {
			out.Peak[p] = v
		}
		if from.Issue.OK {
			out.Issue = from.Issue
		}
	}
	return out
}

// levelNames and precisionNames are the store's names (datasets.Ceiling.Level)
// beside those that Level and Precision print.
var levelNames = map[string]Level{"dram": DRAM, "hbm": DRAM, "l3": L3, "mall": L3, "l2": L2, "l1": L1, "lds": Shared, "shared": Shared}

var precisionNames = map[string]Precision{"fp64": FP64, "fp32": FP32, "fp16": FP16, "int": Int, "int32": Int,
	"fp64.tensor": TensorFP64, "fp32.tensor": TensorFP32, "tf32.tensor": TensorFP32, "fp16.tensor": TensorFP16, "bf16.tensor": TensorBF16,
	"fp8.tensor": TensorFP8, "int8.tensor": TensorInt8}

// Measured takes the ceilings that were measured out of a store's rows of one
// machine; of several of one limit the highest, since a probe can only fall
// short of it.
func Measured(rows []datasets.Ceiling) Ceilings { return of(rows, true) }

// Theoretical takes those that were not measured, but come from a data sheet
// or a system's own description; of several of one limit the highest.
func Theoretical(rows []datasets.Ceiling) Ceilings { return of(rows, false) }

// Of are the theoretical ceilings of a device of the built-in table, each with
// its clock and the documents that it is from.
func Of(d devices.Device) Ceilings { return Theoretical(d.Records(0)) }

func of(rows []datasets.Ceiling, measured bool) Ceilings {
	out := Ceilings{Bandwidth: map[Level]Ceiling{}, Peak: map[Precision]Ceiling{}}
	kind := "theoretical: "
	if measured {
		kind = "measured: "
	}
	// MI300 has both, and its counters are of FP32; NVIDIA's chips have TF32 alone.
	fp32 := slices.ContainsFunc(rows, func(r datasets.Ceiling) bool { return r.Level == "fp32.tensor" })
	for _, r := range rows {
		if r.Measured != measured || !(r.Value > 0) || math.IsInf(r.Value, 1) || fp32 && r.Level == "tf32.tensor" {
			continue
		}
		source := strings.TrimPrefix(strings.TrimPrefix(r.Source, "theoretical: "), "measured: ")
		if source == "" || source+": " == kind {
			source = "no source is said"
		}
		c := Ceiling{Value: r.Value, From: kind + source}
		if l, ok := levelNames[r.Level]; ok && c.Value > out.Bandwidth[l].Value {
			out.Bandwidth[l] = c
		}
		if p, ok := precisionNames[r.Level]; ok && c.Value > out.Peak[p].Value {
			if !measured {
				c.ClockHz = r.ClockHz.V
			}
			out.Peak[p] = c
		}
	}
	return out
}

// at is a ceiling as a quantity, scaled to the profile's clock where both say
// theirs.
func (c Ceiling) at(clock Quantity) Quantity {
	switch {
	case !(c.Value > 0) || math.IsInf(c.Value, 1):
		return missing(fmt.Sprintf("the ceiling %g (%s) is no positive number", c.Value, c.From))
	case c.ClockHz > 0 && clock.OK && clock.Value > 0 && math.Abs(clock.Value/c.ClockHz-1) > 1e-6:
		return known(c.Value*(clock.Value/c.ClockHz), fmt.Sprintf("%s, scaled from %.4g GHz to the profiled %.4g GHz", c.From, c.ClockHz/1e9, clock.Value/1e9))
	}
	return known(c.Value, c.From)
}

// A clocked source knows the clock of the cores during the launch, cycles/s.
type clocked interface{ clock() Quantity }

func clockOf(s source) Quantity {
	if w, ok := s.(withPlain); ok {
		s = w.source
	}
	if c, ok := s.(clocked); ok {
		return c.clock()
	}
	return missing("the profile does not give the clock")
}

// CeilingsOf are the ceilings of a run's machine as the store has them, measured
// ones before theoretical ones; none where there is no such machine or run.
func CeilingsOf(ctx context.Context, s *datasets.Store, run int64) (Ceilings, error) {
	of, _, err := machinesOf(ctx, s, datasets.Filter{Run: run})
	return of[run], err
}

// machinesOf reads the ceilings and the architecture of each run's machine.
func machinesOf(ctx context.Context, s *datasets.Store, f datasets.Filter) (map[int64]Ceilings, map[int64]string, error) {
	where, args := "", []any(nil)
	if f.Run != 0 {
		where, args = " WHERE u.id = ?", []any{f.Run}
	}
	rows, err := s.Rows(ctx, `SELECT u.id, m.arch, c.level, c.value, c.measured, c.clock_hz, c.source
		FROM run u JOIN machine m ON m.id = u.machine_id LEFT JOIN ceiling c ON c.machine_id = m.id`+where+
		` ORDER BY u.id, c.level, c.value, c.source`, args...)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the ceilings of the machines in %s: %w", s.Path(), err)
	}
	defer rows.Close()
	byRun, archs := map[int64][]datasets.Ceiling{}, map[int64]string{}
	for rows.Next() {
		v := rows.Values()
		run, _ := v[0].(int64)
		archs[run], _ = v[1].(string)
		c := datasets.Ceiling{}
		c.Level, _ = v[2].(string)
		c.Value, _ = v[3].(float64)
		c.Measured, _ = v[4].(bool)
		c.ClockHz.V, c.ClockHz.Valid = v[5].(float64)
		c.Source, _ = v[6].(string)
		byRun[run] = append(byRun[run], c)
	}
	if err := rows.Err(); err != nil {
		return nil, nil, fmt.Errorf("reading the ceilings of the machines in %s: %w", s.Path(), err)
	}
	out := map[int64]Ceilings{}
	for run, cs := range byRun {
		out[run] = Measured(cs).Or(Theoretical(cs))
	}
	return out, archs, nil
}
