package roofline

import (
	"math"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Frame is results as a dataframe, a row each: kernel, launches, time_s, the
// dominant precision with its flop, flop_per_s and peak_used (0 to 1), then
// for each memory level bytes, flop_per_byte and used (0 to 1), the use of the
// issue slots and the part of warps' threads at work (issue_used, full_warps, 0
// to 1), and bound. What is unknown is NaN; a level that no result knows has no
// columns, nor have instructions.
func Frame(rs []Result) dataframe.DataFrame {
	n := len(rs)
	names, precisions, bounds, launches := make([]string, n), make([]string, n), make([]string, n), make([]int, n)
	for i, r := range rs {
		names[i], launches[i], bounds[i], precisions[i] = r.Kernel, r.Launches, string(r.Bound), "unknown"
		if p, ok := r.Dominant(); ok {
			precisions[i] = p.String()
		}
	}
	cols := []series.Series{series.New(names, series.String, "kernel"), series.New(launches, series.Int, "launches")}
	add := func(name string, always bool, of func(r Result) Quantity) {
		vs := make([]float64, n)
		shown := always
		for i, r := range rs {
			vs[i] = math.NaN()
			if q := of(r); q.OK {
				vs[i], shown = q.Value, true
			}
		}
		if shown {
			cols = append(cols, series.New(vs, series.Float, name))
		}
	}
	dominant := func(of func(r Result, p Precision) Quantity) func(Result) Quantity {
		return func(r Result) Quantity {
			p, ok := r.Dominant()
			if !ok {
				return missing("no work known")
			}
			return of(r, p)
		}
	}
	add("time_s", true, func(r Result) Quantity { return r.Time })
	cols = append(cols, series.New(precisions, series.String, "precision"))
	add("flop", true, dominant(func(r Result, p Precision) Quantity { return r.Work[p].Flop }))
	add("flop_per_s", true, dominant(func(r Result, p Precision) Quantity { return r.Work[p].Rate }))
	add("peak_used", true, dominant(func(r Result, p Precision) Quantity { return r.Work[p].Used }))
	for l := DRAM; l <= Shared; l++ {
		name := [...]string{"DRAM", "L3", "L2", "L1", "shared"}[l]
		add(name+"_bytes", l == DRAM, func(r Result) Quantity { return r.Traffic[l].Bytes })
		add(name+"_flop_per_byte", l == DRAM, dominant(func(r Result, p Precision) Quantity { return r.Intensity(l, p) }))
		add(name+"_used", l == DRAM, func(r Result) Quantity { return r.Traffic[l].Used })
	}
	add("issue_used", false, func(r Result) Quantity { return r.Instr.Used })
	add("full_warps", false, func(r Result) Quantity { return r.Instr.Full() })
	cols = append(cols, series.New(bounds, series.String, "bound"))
	return dataframe.New(cols...)
}
