package roofline

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// FromStore reads the launches with counters from a store, with the ceilings of
// the machines that they ran on: measured ones (collector machine, probes,
// rocprof-compute's roofline.csv) before theoretical ones. Values are in SI
// units there; counters without a value are left out, and so are counters with
// several instances (per SM, per sub-partition) and no value of the whole.
func FromStore(ctx context.Context, s *datasets.Store, f datasets.Filter) ([]Launch, error) {
	ms, err := s.Measurements(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("reading counters for a roofline from %s: %w", s.Path(), err)
	}
	if ms, err = prepared(ctx, s, ms); err != nil {
		return nil, err
	}
	ls := FromMeasurements(ms)
	if len(ls) == 0 {
		return ls, nil
	}
	ceilings, archs, err := machinesOf(ctx, s, f)
	if err != nil {
		return nil, err
	}
	tables, err := tablesOf(ctx, s, ms, ls)
	if err != nil {
		return nil, err
	}
	for i := range ls {
		ls[i].Ceilings, ls[i].Arch = ls[i].ceilings(ceilings[ms[i].Run], tables[ms[i].Run]), archs[ms[i].Run]
	}
	return ls, nil
}

// FromMeasurements takes launches out of measurements, one each, in their order.
func FromMeasurements(ms []datasets.Measurement) []Launch {
	var out []Launch
	for i := range ms {
		m := &ms[i]
		l := Launch{Kernel: m.Kernel, Metrics: make(map[string]float64, len(m.Counters)), Time: missing("the profile gives the launch no duration")}
		if m.DurNs.Valid && m.DurNs.V > 0 {
			l.Time = known(float64(m.DurNs.V)*1e-9, "1e-09 x dur_ns")
		}
		for axis := range l.Threads {
			if g, b := m.Grid[axis], m.Block[axis]; g.Valid && b.Valid {
				l.Threads[axis] = g.V * b.V
			}
		}
		count := map[string]int{}
		for _, c := range m.Counters {
			count[c.Metric]++
		}
		for _, c := range m.Counters {
			if c.Value.Valid && (count[c.Metric] == 1 || c.Instance == "" || c.Metric == memoryThroughput) && fits(c.Metric, c.Unit) {
				l.Metrics[c.Metric] = c.Value.V
			}
		}
		out = append(out, l)
	}
	return out
}

// fits reports whether a counter of Nsight Compute has a unit that its name
// can have: a time or a number of bytes in a unit that nobody knows is none.
func fits(metric, unit string) bool {
	switch {
	case metric == memoryThroughput:
		return unit == "byte/s"
	case unit == "":
	case strings.Contains(metric, "__time_duration."):
		return unit == "s"
	case strings.Contains(metric, "__bytes") && strings.HasSuffix(metric, ".sum"):
		return unit == "byte"
	}
	return true
}

// ByKernel joins the results of a kernel's launches: times, work and bytes are
// summed where every launch knows them, ceilings are means weighted with time.
// The kernel that took the most time comes first; those whose time is not
// known come last, by name.
func ByKernel(rs []Result) []Result {
	groups := map[string][]Result{}
	var names []string
	for _, r := range rs {
		if groups[r.Kernel] == nil {
			names = append(names, r.Kernel)
		}
		groups[r.Kernel] = append(groups[r.Kernel], r)
	}
	sort.Strings(names)
	var out []Result
	for _, n := range names {
		out = append(out, join(groups[n]))
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Time, out[j].Time
		return a.OK && (!b.OK || a.Value > b.Value)
	})
	return out
}

func join(rs []Result) Result {
	if len(rs) == 1 {
		return rs[0]
	}
	timed := true
	for _, r := range rs {
		timed = timed && r.Time.OK
	}
	total := func(of func(*Result) Quantity) Quantity {
		sum := known(0, from(rs, of))
		for i := range rs {
			q := of(&rs[i])
			if !q.OK {
				return q
			}
			sum.Value += q.Value
		}
		return known(sum.Value, sum.From)
	}
	mean := func(of func(*Result) Quantity) Quantity {
		sum, weight := known(0, from(rs, of)), 0.0
		for i := range rs {
			q := of(&rs[i])
			if !q.OK {
				return q
			}
			w := 1.0
			if timed {
				w = rs[i].Time.Value
			}
			sum.Value += q.Value * w
			weight += w
		}
		return known(sum.Value/weight, sum.From)
	}
	out := Result{Kernel: rs[0].Kernel, Time: total(func(r *Result) Quantity { return r.Time }), SM: mean(func(r *Result) Quantity { return r.SM })}
	for _, r := range rs {
		out.Launches += r.Launches
		// They hold numbers of one launch: those of the first that has any.
		if out.uncounted == nil {
			out.uncounted = r.uncounted
		}
		if out.remarks == nil {
			out.remarks = r.remarks
		}
	}
	for i := range out.Work {
		out.Work[i] = Work{Precision: Precision(i), Flop: total(func(r *Result) Quantity { return r.Work[i].Flop }),
			Ceiling: mean(func(r *Result) Quantity { return r.Work[i].Ceiling })}
	}
	for i := range out.Traffic {
		out.Traffic[i] = Traffic{Level: Level(i), Bytes: total(func(r *Result) Quantity { return r.Traffic[i].Bytes }),
			Ceiling: mean(func(r *Result) Quantity { return r.Traffic[i].Ceiling })}
	}
	out.Instr.Warps = total(func(r *Result) Quantity { return r.Instr.Warps })
	out.Instr.Threads = total(func(r *Result) Quantity { return r.Instr.Threads })
	out.Instr.Ceiling = mean(func(r *Result) Quantity { return r.Instr.Ceiling })
	for i := range out.Instr.Levels {
		out.Instr.Levels[i] = Transactions{Level: Level(i), Count: total(func(r *Result) Quantity { return r.Instr.Levels[i].Count }),
			Ceiling:  mean(func(r *Result) Quantity { return r.Instr.Levels[i].Ceiling }),
			Accesses: total(func(r *Result) Quantity { return r.Instr.Levels[i].Accesses }),
			Moved:    total(func(r *Result) Quantity { return r.Instr.Levels[i].Moved })}
	}
	out.finish()
	return out
}

// from is where a quantity of several results comes from: each way once.
func from(rs []Result, of func(*Result) Quantity) string {
	var ways []string
	for i := range rs {
		ways = appendNew(ways, []string{of(&rs[i]).From})
	}
	return strings.Join(ways, "; ")
}

func appendNew(to, more []string) []string {
	for _, s := range more {
		if !slices.Contains(to, s) {
			to = append(to, s)
		}
	}
	return to
}
