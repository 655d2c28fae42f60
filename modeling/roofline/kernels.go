package roofline

import (
	"context"
	"fmt"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// FromStore reads the launches with counters from a store. Values are in SI
// units there; counters without a value are left out, and so are counters with
// several instances (per SM, per sub-partition), whose first is no sum.
func FromStore(ctx context.Context, s *datasets.Store, f datasets.Filter) ([]Launch, error) {
	ms, err := s.Measurements(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("reading counters for a roofline from %s: %w", s.Path(), err)
	}
	return FromMeasurements(ms), nil
}

// FromMeasurements takes launches out of measurements.
func FromMeasurements(ms []datasets.Measurement) []Launch {
	var out []Launch
	for i := range ms {
		m := &ms[i]
		l := Launch{Kernel: m.Kernel, Metrics: map[string]float64{}}
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
			if c.Value.Valid && count[c.Metric] == 1 {
				l.Metrics[c.Metric] = c.Value.V
			}
		}
		out = append(out, l)
	}
	return out
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
	total := func(of func(Result) Quantity) Quantity {
		sum := known(0, of(rs[0]).From)
		for _, r := range rs {
			q := of(r)
			if !q.OK {
				return q
			}
			sum.Value += q.Value
		}
		return sum
	}
	mean := func(of func(Result) Quantity) Quantity {
		weighted, time := known(0, of(rs[0]).From), 0.0
		for _, r := range rs {
			q := of(r)
			if !q.OK {
				return q
			}
			w := 1.0
			if r.Time.OK {
				w = r.Time.Value
			}
			weighted.Value += q.Value * w
			time += w
		}
		weighted.Value /= time
		return weighted
	}
	out := Result{Kernel: rs[0].Kernel, Time: total(func(r Result) Quantity { return r.Time }), SM: mean(func(r Result) Quantity { return r.SM })}
	for _, r := range rs {
		out.Launches += r.Launches
	}
	for i := range out.Work {
		out.Work[i] = Work{Precision: Precision(i), Flop: total(func(r Result) Quantity { return r.Work[i].Flop }),
			Ceiling: mean(func(r Result) Quantity { return r.Work[i].Ceiling })}
	}
	for i := range out.Traffic {
		out.Traffic[i] = Traffic{Level: Level(i), Bytes: total(func(r Result) Quantity { return r.Traffic[i].Bytes }),
			Ceiling: mean(func(r Result) Quantity { return r.Traffic[i].Ceiling })}
	}
	out.finish()
	for _, m := range rs[0].Missing {
		if strings.HasPrefix(m, "tensor work") {
			out.Missing = append(out.Missing, m)
		}
	}
	return out
}
