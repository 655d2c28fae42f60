package caliper

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

// noRegion is the short name of what was measured outside all regions.
const noRegion = "(no region)"

// profile collects regions and emits observations: what both forms share.
type profile struct {
	in       *collectors.Input
	out      *collectors.Output
	run      datasets.Run
	machine  datasets.Machine
	regions  map[regionKey]int64
	list     []datasets.Region // index is id-1; emitted at the end, when their order is known
	plain    map[int64]bool    // regions that have counters of their own
	launches int64
	records  int
	metrics  map[string]string // name to unit
	globals  map[string]bool   // those that were emitted, "name=value"
	warned   map[string]bool
}

type regionKey struct {
	parent      int64
	kind, label string
}

func newProfile(in *collectors.Input, out *collectors.Output, format string) *profile {
	return &profile{in: in, out: out,
		run:     datasets.Run{ID: runID, Tool: "caliper", Format: format, Status: datasets.RunOK},
		machine: datasets.Machine{ID: machineID},
		regions: map[regionKey]int64{}, plain: map[int64]bool{}, metrics: map[string]string{}, globals: map[string]bool{}, warned: map[string]bool{}}
}

// region returns the region of a name below a parent; attr is Caliper's
// attribute, which tells the kind.
func (p *profile) region(parent int64, attr, label string) int64 {
	key := regionKey{parent, regionKind(attr), label}
	if id, ok := p.regions[key]; ok {
		return id
	}
	id := int64(len(p.list) + 1)
	p.regions[key] = id
	short := label
	switch key.kind {
	case datasets.KindKernel, datasets.KindFunction:
		short = collectors.ShortName(label)
	}
	if label == "" {
		short = noRegion
	}
	p.list = append(p.list, datasets.Region{ID: id, Run: runID, Parent: parent, Kind: key.kind, Raw: label, Short: short})
	return id
}

func regionKind(attr string) string {
	switch {
	case isKernel(attr):
		return datasets.KindKernel
	case attr == "loop":
		return datasets.KindLoop
	case attr == "function", strings.HasSuffix(attr, ".function"), strings.Contains(attr, "callpath"), strings.HasSuffix(attr, ".api"), strings.Contains(attr, "runtimeAPI"):
		return datasets.KindFunction
	}
	return datasets.KindRange
}

// isKernel reports whether an attribute holds the name of a GPU kernel.
func isKernel(attr string) bool {
	return strings.HasSuffix(attr, "kernel.name") || strings.HasSuffix(attr, "cuda.kernel") || strings.HasSuffix(attr, "rocm.kernel")
}

// isCallpath reports whether an attribute's chain of values is a call path.
func isCallpath(attr string) bool { return strings.Contains(attr, "callpath") }

// isOrder reports whether an attribute numbers the nodes in order of their
// first visit.
func isOrder(attr string) bool { return strings.HasSuffix(attr, "aggregate.slot") }

// observation is one record: numbers of one region.
type observation struct {
	region int64
	rank   datasets.Null[int64]
	thread datasets.Null[int64]
	part   bool // of one interval of time or one iteration
	values []value
	attrs  [][2]string
}

type value struct {
	metric, text, unit string
	num                datasets.Null[float64]
}

// number reads the text of a number; ok is false where it is none.
func number(metric, text, unit string) (v value, ok bool) {
	// A name keeps its ".ns" when a query has scaled the values.
	if unit == "" && strings.HasSuffix(metric, ".ns") && !strings.Contains(metric, "scale#") {
		unit = "ns"
	}
	v = value{metric: metric, text: text, unit: unit}
	switch strings.ToLower(strings.TrimLeft(text, "+-")) {
	case "nan", "inf", "infinity":
		return v, true // Caliper writes what printf does for a division by zero
	}
	n, err := collectors.ParseUnit(unit).Scale(text, collectors.Dot)
	if err != nil || strings.ContainsAny(text, ", '") {
		return v, false
	}
	v.num = datasets.Some(n)
	return v, true
}

// dimension takes a number that says where a record belongs, not how much was
// measured. It returns false for all others.
func (o *observation) dimension(name string, v value) bool {
	n := datasets.Some(int64(v.num.V))
	switch name {
	case "mpi.rank", "rank":
		o.rank = n
	case "thread", "thread.id", "omp.thread.id", "pthread.id":
		o.thread = n
	default:
		if strings.HasPrefix(name, "timeseries.") || strings.HasPrefix(name, "iteration#") || strings.HasPrefix(name, "time.offset") {
			o.part = true // and a counter too
		}
		return false
	}
	return true
}

// add emits an observation.
func (p *profile) add(o *observation) error {
	p.records++
	if o.region == 0 {
		o.region = p.region(0, "", "")
	}
	var launch int64
	if o.rank.Valid || o.thread.Valid || o.part || p.plain[o.region] {
		p.launches++
		launch = p.launches
		l := datasets.Launch{ID: launch, Run: runID, Region: o.region, Rank: o.rank, Thread: o.thread, Sequence: datasets.Some(launch - 1)}
		for _, v := range o.values {
			switch {
			case !v.num.Valid:
			case v.metric == "timeseries.starttime" && !l.StartNs.Valid && v.num.V > 0 && v.num.V < 9e9:
				// Seconds since 1970 with microseconds, which is what a
				// float64 holds of them.
				l.StartNs = datasets.Some(int64(math.Round(v.num.V*1e6)) * 1000)
			case v.metric == "time.offset.ns" && math.Abs(v.num.V) < 9e9:
				l.StartNs = datasets.Some(int64(math.Round(v.num.V * 1e9)))
			case v.metric == "timeseries.duration" && v.num.V >= 0 && v.num.V < 9e9:
				l.DurNs = datasets.Some(int64(math.Round(v.num.V * 1e9)))
			}
		}
		if err := p.out.Put(&l); err != nil {
			return err
		}
	} else {
		p.plain[o.region] = true
	}
	for _, a := range o.attrs {
		if a[0] == "cali.caliper.version" && p.run.ToolVersion == "" {
			p.run.ToolVersion = a[1] // version 1 wrote it with each snapshot
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Region: o.region, Launch: launch, Name: a[0], Value: a[1]}); err != nil {
			return err
		}
	}
	times := map[string]int{}
	for _, v := range o.values {
		c := datasets.Counter{Run: runID, Region: o.region, Launch: launch, Metric: v.metric, Value: v.num,
			Unit: collectors.ParseUnit(v.unit).Base, RawValue: v.text, RawUnit: v.unit, Status: datasets.StatusOK}
		if !v.num.Valid {
			c.Status = datasets.StatusNA
		}
		if times[v.metric]++; times[v.metric] > 1 {
			c.Instance = "#" + strconv.Itoa(times[v.metric])
		}
		if isOrder(v.metric) && v.num.Valid && !p.list[o.region-1].Order.Valid {
			p.list[o.region-1].Order = datasets.Some(int64(v.num.V))
		}
		p.metrics[v.metric] = v.unit
		if err := p.out.Put(&c); err != nil {
			return err
		}
	}
	return nil
}

// global emits a fact about the run, once.
func (p *profile) global(name, value string) error {
	key := name + "=" + value
	if p.globals[key] {
		return nil
	}
	p.globals[key] = true
	switch name {
	case "cali.caliper.version":
		p.run.ToolVersion = value
	case "cmdline":
		p.run.Command = value
	case "launchdate":
		if sec, err := strconv.ParseInt(value, 10, 64); err == nil && sec > 0 && sec < 1<<33 {
			p.run.Started = datasets.Some(time.Unix(sec, 0).UTC())
		}
	case "hostname", "cluster":
		if p.machine.Host == "" || name == "hostname" {
			p.machine.Host = value
		}
	case "gpu_name", "device_name":
		p.machine.GPU = value
	}
	return p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value})
}

// times are the attributes that hold the time of a region, the best first.
var times = []struct {
	name      string
	inclusive bool
}{
	{"sum#inclusive#sum#time.duration", true}, {"inclusive#sum#time.duration", true}, {"sum#time.inclusive.duration", true}, {"time.inclusive.duration", true},
	{"sum#inclusive#scale#sum#time.duration", true}, {"inclusive#scale#sum#time.duration", true},
	{"sum#scale#sum#time.duration", false}, {"scale#sum#time.duration", false},
	{"sum#sum#time.duration", false}, {"sum#time.duration", false}, {"time.duration", false},
	{"avg#inclusive#sum#time.duration", true}, {"max#inclusive#sum#time.duration", true}, {"min#inclusive#sum#time.duration", true},
	{"avg#sum#time.duration", false}, {"avg#time.duration", false},
}

// finish emits regions, machine and run.
func (p *profile) finish() error {
	for i := range p.list {
		if err := p.out.Put(&p.list[i]); err != nil {
			return err
		}
	}
	for _, t := range times {
		for _, suffix := range []string{"", ".ns"} {
			unit, ok := p.metrics[t.name+suffix]
			if !ok || p.run.TimeMetric != "" {
				continue
			}
			p.run.TimeMetric, p.run.TimeInclusive = t.name+suffix, t.inclusive
			if unit == "" {
				p.out.Warn(0, 0, "the file does not tell the unit of %s: its values are kept as they are (Caliper's versions wrote microseconds or seconds)", p.run.TimeMetric)
			}
		}
	}
	if p.records == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the file holds no measurement"
		p.out.Warn(0, 0, "%s", p.run.Error)
	}
	if p.machine.Host != "" || p.machine.GPU != "" {
		p.run.Machine = machineID
		if err := p.out.Put(&p.machine); err != nil {
			return err
		}
	}
	return p.out.Put(&p.run)
}
