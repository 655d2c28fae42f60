package agents

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors/ocllaunch"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/hot"
	"github.com/rooflab/rooflab/modeling/insight"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// Metrics of device code: what all launches of the hot kernels execute, counted in
// their text for the shapes and arguments that were seen. An edit changes them in
// a way that can be told before.
const (
	metricTime     = "kernel_time"          // s, measured: among the counters of the profile
	metricStrided  = "opencl.strided"       // accesses of global memory whose neighbours are not side by side
	metricSectors  = "opencl.sector_bytes"  // bytes of the 32-byte sectors that groups of 32 neighbours touch
	metricGlobal   = "opencl.global_bytes"  // bytes that work-items ask of global memory
	metricAtomics  = "opencl.atomics"       // atomic operations
	metricSpecial  = "opencl.special"       // pow, exp, sin and the like
	metricBranches = "opencl.divergence"    // branches that work-items of a group may take differently
	metricStores   = "opencl.global_stores" // stores to global memory
)

// deviceWork is the cost of a kernel's launches.
type deviceWork struct {
	kernel   *deviceKernel
	name     string
	launches int
	seconds  float64
	share    float64
	shape    ocllaunch.Launch
	cost     *kernelcost.Cost
}

// works are the costs of the kernels that were launched, the longest first, as far
// as they are hot; notes say of which nothing is known.
func works(kernels map[string]*deviceKernel, launches []ocllaunch.Launch) (out []deviceWork, notes []string) {
	by := map[string]*deviceWork{}
	var names []string
	total := 0.0
	for _, l := range launches {
		d := by[l.Kernel]
		if d == nil {
			d = &deviceWork{name: l.Kernel, kernel: kernels[l.Kernel]}
			by[l.Kernel], names = d, append(names, l.Kernel)
		}
		d.launches++
		d.shape = l
		if l.Start != nil && l.End != nil {
			d.seconds += float64(*l.End-*l.Start) / 1e9
		}
	}
	for _, d := range by {
		total += d.seconds
	}
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case by[a].seconds > by[b].seconds:
			return -1
		case by[a].seconds < by[b].seconds:
			return 1
		}
		return 0
	})
	covered := 0.0
	for _, name := range names {
		d := by[name]
		if total > 0 {
			d.share = d.seconds / total
		}
		if covered >= hot.DefaultShare {
			break
		}
		covered += d.share
		if d.kernel == nil {
			notes = append(notes, fmt.Sprintf("no costs of the kernel %s: it is in none of the target's .cl files", name))
			continue
		}
		l := kernelcost.Launch{Kernel: name, Global: d.shape.Global, Local: d.shape.Local, Scalars: map[string]float64{}, Bytes: map[string]int64{}}
		for i, a := range d.shape.Args {
			if i >= len(d.kernel.fn.Params) {
				break
			}
			p := d.kernel.fn.Params[i]
			kind, value, _ := strings.Cut(a, ":")
			if n, err := strconv.ParseInt(value, 10, 64); err == nil && (kind == "buffer" || kind == "local") {
				l.Bytes[p.Name] = n
			} else if v, ok := scalar(p.Type, value); ok && kind == "value" {
				l.Scalars[p.Name] = v
			}
		}
		cost, err := d.kernel.program.Analyse(l)
		if err != nil {
			notes = append(notes, fmt.Sprintf("no costs of the kernel %s: %v", name, err))
			continue
		}
		d.cost = cost
		out = append(out, *d)
	}
	return out, notes
}

// metrics of the kernels together.
func deviceMetrics(ws []deviceWork) map[string]Number {
	out := map[string]Number{}
	for _, w := range ws {
		n := float64(w.launches)
		add := func(name string, v float64) { out[name] += Number(v) }
		t := w.cost.Total
		add(metricGlobal, n*t.GlobalBytes())
		add(metricAtomics, n*(t[kernelcost.GlobalAtomic]+t[kernelcost.LocalAtomic]))
		add(metricSpecial, n*special(t))
		add(metricBranches, n*(t[kernelcost.BranchByID]+t[kernelcost.BranchByData]))
		add(metricStores, n*t[kernelcost.GlobalStore])
		strided, sectors := 0.0, 0.0
		for _, s := range w.cost.Sites {
			if s.Space != csource.Global {
				continue
			}
			if apart(s) {
				strided += s.Count
			}
			if s.Sectors > 0 && !math.IsNaN(s.Sectors) {
				sectors += s.Count / 32 * s.Sectors * 32
			}
		}
		add(metricStrided, n*strided)
		add(metricSectors, n*sectors)
	}
	return out
}

// special are operations that take many instructions, of all precisions.
func special(c kernelcost.Counts) float64 {
	sum := 0.0
	for _, bytes := range []int{2, 4, 8} {
		for _, k := range []kernelcost.Kind{kernelcost.Transcendental, kernelcost.Trigonometric, kernelcost.Power} {
			sum += c[kernelcost.Float(k, bytes)]
		}
	}
	return sum
}

// apart says that neighbouring work-items do not access neighbouring elements.
func apart(s kernelcost.Site) bool {
	switch s.Pattern {
	case kernelcost.Strided, kernelcost.Transposed, kernelcost.Irregular:
		return s.Sectors > float64(max(s.Bytes, 1)) // 32 neighbours side by side touch as many sectors as an element has bytes
	}
	return false
}

// deviceItems are what the text of the hot kernels says about the launches that
// were seen, as items with the lines that they are about. Their ids begin with D.
func (w *Workbench) deviceItems(ctx context.Context, s *datasets.Store, ws []deviceWork) ([]insight.Item, error) {
	d := &described{}
	for _, work := range ws {
		d.kernel(work)
	}
	if len(d.items) == 0 {
		return nil, nil
	}
	im, err := s.Begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = im.Rollback() }() // after Commit it does nothing
	records := []datasets.Record{&datasets.Run{ID: 1, Tool: "kernelcost", Format: "optimize", Status: datasets.RunOK}}
	region := map[string]int64{}
	for _, it := range d.items {
		if region[it.Kernel] == 0 {
			region[it.Kernel] = int64(len(region) + 1)
			records = append(records, &datasets.Region{ID: region[it.Kernel], Run: 1, Kind: datasets.KindKernel, Raw: it.Kernel, Short: it.Kernel, Module: it.Location.File})
		}
		records = append(records, &datasets.StaticFeature{Run: 1, Region: region[it.Kernel], Name: it.ID + "." + it.Rule, Value: datasets.Some(it.Value)})
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			return nil, err
		}
	}
	sum, err := digest(d.items)
	if err != nil {
		return nil, err
	}
	if err := im.Commit(datasets.Artefact{Path: "costs of launches", SHA256: sum, Kind: "optimize", ParserVersion: 1}); err != nil {
		return nil, err
	}
	run := im.Runs()[0]
	for i := range d.items {
		it := &d.items[i]
		it.Query = fmt.Sprintf("SELECT value FROM static_feature WHERE run_id = %d AND name = '%s.%s'", run, it.ID, it.Rule)
		it.Sources = []insight.Source{{Run: run, Tool: "kernelcost", Path: it.Location.File, Rows: []insight.Row{}}}
	}
	return d.items, nil
}
