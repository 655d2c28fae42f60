package agents

import (
	"fmt"
	"slices"

	"github.com/rooflab/rooflab/modeling/insight"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// described collects the items on kernels.
type described struct{ items []insight.Item }

// add appends an item on a line of a kernel. weight is how much it is likely to
// matter, 0 to 1, in the kernel's time.
func (d *described) add(w deviceWork, rule string, line int, metric string, value, weight float64, moves []string, meaning, remedy, format string, args ...any) {
	it := insight.Item{ID: fmt.Sprintf("D%d", len(d.items)+1), Kind: insight.Counter, Rule: rule, Verdict: insight.Problem, Kernel: w.name,
		Statement: fmt.Sprintf(format, args...), Metric: metric, Value: value, Share: w.share, Importance: min(1, 0.6*weight*w.share),
		Location: &insight.Location{File: w.kernel.file, Line: int64(line)}, Estimate: "counted in the text for the shape and the arguments of the last launch",
		Meaning: meaning, Remedies: []string{remedy}}
	for _, m := range append([]string{metric}, moves...) {
		if !slices.ContainsFunc(it.Moves, func(v insight.Move) bool { return v.Metric == m }) {
			it.Moves = append(it.Moves, insight.Move{Metric: m, Direction: insight.Down})
		}
	}
	d.items = append(d.items, it)
}

// kernel describes what one kernel does that costs much.
func (d *described) kernel(w deviceWork) {
	n := float64(w.launches)
	d.accesses(w, n)
	for _, l := range w.cost.Lines {
		items := w.cost.Items
		t := l.Total
		if v := special(t); v >= 2*items {
			pow := 0.0
			for _, bytes := range []int{2, 4, 8} {
				pow += t[kernelcost.Float(kernelcost.Power, bytes)]
			}
			what := "exponentials, sines and the like"
			if pow > 0 {
				what += fmt.Sprintf(", %.3g of them general powers", n*pow)
			}
			d.add(w, "special-functions", l.Number, metricSpecial, n*v, 0.8, []string{metricTime},
				"Each takes tens of instructions, a general power the most.", "Products in place of small whole powers; compute once what is the same for several work-items or iterations.",
				"Line %d of %s executes %.3g %s, %.3g for each work-item.", l.Number, w.name, n*v, what, v/items)
		}
		if v := t[kernelcost.BranchByData] + t[kernelcost.BranchByID]; v >= 4*items {
			d.add(w, "divergence", l.Number, metricBranches, n*v, 0.3, []string{metricTime},
				"Work-items that run side by side wait for each other's way, and a processor's vectors are not used.", "Select in place of branch; take what differs out of the loop.",
				"Line %d of %s branches %.3g times in a way in which neighbouring work-items may differ, %.3g times for each.", l.Number, w.name, n*v, v/items)
		}
	}
	d.shape(w)
}

// accesses describes how a kernel walks memory.
func (d *described) accesses(w deviceWork, n float64) {
	type place struct {
		line   int
		buffer string
		rule   string
	}
	seen := map[place]bool{}
	for _, s := range w.cost.Sites {
		switch {
		case s.Space != csource.Global && s.Space != csource.Local:
			continue
		case s.Operation == "update":
			if at := (place{s.Line, s.Buffer, "atomics"}); !seen[at] {
				seen[at] = true
				d.add(w, "atomics", s.Line, metricAtomics, n*s.Count, 0.9, []string{metricTime},
					"Atomic operations on one place are done one after the other.", "Collect in a variable of the work-item, or in local memory, and update once.",
					"Line %d of %s updates %s atomically %.3g times, %.3g times for each work-item.", s.Line, w.name, s.Buffer, n*s.Count, s.Count/w.cost.Items)
			}
			continue
		case s.Space != csource.Global:
			continue
		}
		if apart(s) {
			if at := (place{s.Line, s.Buffer, "work-item-stride"}); !seen[at] {
				seen[at] = true
				how := "in no fixed distance"
				if s.Stride != 0 {
					how = fmt.Sprintf("%d bytes apart", s.Stride)
				}
				d.add(w, "work-item-stride", s.Line, metricStrided, n*s.Count, 0.7, []string{metricSectors, metricTime},
					"Each work-item touches a cache line or sector of its own.", "Exchange the dimensions of the launch, or read a tile into local memory.",
					"The %ss of %s in line %d of %s, %.3g of them, are %s in neighbouring work-items: 32 of them touch %.3g sectors of 32 bytes.", s.Operation, s.Buffer, s.Line, w.name, n*s.Count, how, s.Sectors)
			}
		}
		if s.Operation == "store" && s.Count > 2*w.cost.Items && w.rewritten(s) {
			if at := (place{s.Line, s.Buffer, "repeated-access"}); !seen[at] {
				seen[at] = true
				d.add(w, "repeated-access", s.Line, metricStores, n*s.Count, 0.8, []string{metricGlobal, metricTime},
					"A value that a loop changes lies in memory: each iteration waits for the one before.", "Keep it in a variable and store it once.",
					"Line %d of %s stores to %s %.3g times, %.3g times for each work-item, at the same places again.", s.Line, w.name, s.Buffer, n*s.Count, s.Count/w.cost.Items)
			}
		}
	}
	for _, b := range w.cost.Buffers {
		if !b.Argument || b.Space != csource.Global || b.Footprint <= 0 {
			continue
		}
		bytes, line, most := 0.0, 0, 0.0
		for _, s := range w.cost.Sites {
			if s.Buffer == b.Name && s.Operation == "load" {
				bytes += s.Count * float64(s.Bytes)
				if s.Count > most {
					most, line = s.Count, s.Line
				}
			}
		}
		if again := bytes / float64(b.Footprint); again >= 8 {
			d.add(w, "global-reuse", line, metricGlobal, n*bytes, 0.5, []string{metricTime},
				"What several work-items or iterations read comes from memory or a cache each time.", "Read a tile into local memory once for each work-group, or keep it in registers.",
				"%s reads each byte of %s %.3g times from global memory, %.3g bytes in all.", w.name, b.Name, again, n*bytes)
		}
	}
}

// rewritten says that the stores to a buffer are at least twice as many as the
// places that they can go to.
func (w deviceWork) rewritten(s kernelcost.Site) bool {
	for _, b := range w.cost.Buffers {
		if b.Name == s.Buffer {
			return b.Footprint > 0 && s.Count*float64(s.Bytes) >= 2*float64(b.Footprint)
		}
	}
	return false
}

// shape describes a launch whose work-groups are short in the first dimension, or
// small.
func (d *described) shape(w deviceWork) {
	local := w.shape.Local
	if len(local) == 0 {
		return
	}
	all := int64(1)
	for _, n := range local {
		all *= n
	}
	line := int(w.kernel.fn.Line)
	switch {
	case len(local) > 1 && local[0] < 16 && all >= 2*local[0]:
		d.add(w, "work-group-shape", line, metricTime, w.seconds, 0.3, nil,
			"Devices put neighbours in the first dimension side by side.", "Make work-groups long in the first dimension.",
			"Work-groups of %s are %d work-items long in the first dimension and %d in all.", w.name, local[0], all)
	case all < 16:
		d.add(w, "work-group-shape", line, metricTime, w.seconds, 0.3, nil,
			"A group is what a device puts on one of its processors, and has an overhead of its own.", "Make work-groups of 64 work-items or more.",
			"Work-groups of %s have %d work-items.", w.name, all)
	}
}
