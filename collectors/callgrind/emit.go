package callgrind

import (
	"sort"
	"strconv"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// emitPart emits what was added up and empties it.
func (p *profile) emitPart() error {
	part := p.part
	for _, d := range part.descs {
		if p.single {
			if err := p.attribute(d[0], d[1]); err != nil {
				return err
			}
		}
	}
	member := map[int64]*cycle{}
	cycles := p.findCycles()
	for _, c := range cycles {
		for _, f := range c.members {
			member[f.id] = c
		}
	}
	counted := false // some writers do not know how often functions were called
	for _, f := range part.used {
		for _, a := range f.to {
			counted = counted || a.calls > 0
		}
	}
	launches := map[int64]int64{}
	for _, f := range part.used {
		if err := p.emitFunction(f, member, counted, launches); err != nil {
			return err
		}
	}
	for _, c := range cycles {
		if err := p.emitCycle(c, member); err != nil {
			return err
		}
	}
	if err := p.emitPlaces(launches); err != nil {
		return err
	}
	for _, f := range part.used {
		f.self, f.to, f.from = nil, nil, nil
	}
	p.part = newPart(len(p.events))
	return nil
}

func newPart(events int) part {
	return part{places: map[place][]int64{}, total: make([]int64, events)}
}

func (p *profile) launch(region int64) (int64, error) {
	p.launches++
	l := datasets.Launch{ID: p.launches, Run: runID, Region: region, PID: p.pid, Thread: p.thread, Sequence: datasets.Some(p.launches - 1)}
	if p.part.number > 0 {
		l.ToolID = "part " + strconv.FormatInt(p.part.number, 10)
	}
	if err := p.out.Put(&l); err != nil {
		return 0, err
	}
	for _, d := range p.part.descs {
		if p.single {
			break
		}
		if err := p.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: l.ID, Name: d[0], Value: d[1]}); err != nil {
			return 0, err
		}
	}
	return l.ID, nil
}

func (p *profile) emitFunction(f *function, member map[int64]*cycle, counted bool, launches map[int64]int64) error {
	if f.key.name == "" {
		f.key.name = "(no name)"
	}
	if !p.shown[f.id] {
		p.shown[f.id] = true
		g := datasets.Region{ID: f.id, Run: runID, Kind: datasets.KindFunction, Raw: f.key.name, Short: collectors.ShortName(f.key.name), Module: f.key.ob}
		if d := collectors.Demangle(f.key.name); d != f.key.name {
			g.Mangled = f.key.name
		}
		if err := p.out.Put(&g); err != nil {
			return err
		}
		if f.key.file != "" {
			if err := p.out.Put(&datasets.Attribute{Run: runID, Region: f.id, Name: "file", Value: f.key.file}); err != nil {
				return err
			}
		}
	}
	id, err := p.launch(f.id)
	if err != nil {
		return err
	}
	launches[f.id] = id
	if c := member[f.id]; c != nil && !p.outermost(f) {
		if err := p.out.Put(&datasets.Attribute{Run: runID, Region: f.id, Launch: id, Name: "cycle", Value: c.name}); err != nil {
			return err
		}
	}
	if f.own {
		if err := p.counters(f.id, id, "", "", f.self); err != nil {
			return err
		}
	}
	inclusive, err := p.inclusive(f, member)
	if err != nil {
		return err
	}
	if err := p.counters(f.id, id, ".inclusive", "", inclusive); err != nil {
		return err
	}
	calls := int64(0)
	for _, a := range f.from {
		calls += a.calls
	}
	if err := p.count(f.id, id, "calls", "", calls, counted || len(f.from) == 0); err != nil {
		return err
	}
	for _, a := range sorted(f.to) {
		label := p.label(a.to)
		if err := p.count(f.id, id, "calls.to", label, a.calls, counted); err != nil {
			return err
		}
		if err := p.counters(f.id, id, ".to", label, a.costs); err != nil {
			return err
		}
	}
	return nil
}

func sorted(arcs map[int64]*arc) []*arc {
	list := make([]*arc, 0, len(arcs))
	for _, a := range arcs {
		list = append(list, a)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].to.id < list[j].to.id })
	return list
}

// count emits a number of calls; known is false where the writer did not know it.
func (p *profile) count(region, launch int64, metric, instance string, n int64, known bool) error {
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: metric, Instance: instance, Value: datasets.Some(float64(n)), Unit: "call",
		RawValue: strconv.FormatInt(n, 10), Status: datasets.StatusOK}
	if !known {
		c.Value, c.Status = datasets.Null[float64]{}, datasets.StatusNA
	}
	return p.out.Put(&c)
}

// counters emits the costs of all events, and of those that are defined as
// sums of them.
func (p *profile) counters(region, launch int64, suffix, instance string, costs []int64) error {
	for i, e := range p.events {
		c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: e.name + suffix, Instance: instance,
			Value: datasets.Some(e.value(costs[i])), Unit: e.base.Base, RawValue: strconv.FormatInt(costs[i], 10), RawUnit: e.unit, Status: datasets.StatusOK}
		if err := p.out.Put(&c); err != nil {
			return err
		}
	}
	for _, d := range p.defined {
		v, ok := p.sum(d, costs)
		if !ok {
			continue
		}
		c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: d.name + suffix, Instance: instance, Value: datasets.Some(v), Status: datasets.StatusOK}
		if err := p.out.Put(&c); err != nil {
			return err
		}
	}
	return nil
}

// emitPlaces emits lines and instructions with their costs.
func (p *profile) emitPlaces(launches map[int64]int64) error {
	for _, at := range p.part.order {
		costs := p.part.places[at]
		id, known := p.codes[at]
		if !known {
			id = int64(len(p.codes) + 1)
			p.codes[at] = id
			c := datasets.Code{ID: id, Run: runID, Region: at.fn, ISA: "source", File: at.file, InlineDepth: datasets.Some[int64](0)}
			if c.File == "???" {
				c.File = ""
			}
			if at.line > 0 {
				c.Line = datasets.Some(at.line)
			}
			if at.addr != 0 {
				c.ISA, c.Offset = "machine", datasets.Some(at.addr)
			}
			if at.file != p.files[at.fn] {
				c.InlineDepth = datasets.Some[int64](1)
			}
			if err := p.out.Put(&c); err != nil {
				return err
			}
		}
		for i, n := range costs {
			if n == 0 {
				continue
			}
			reason := [3]string{"jumps", "branches", "branches.taken"}
			s := datasets.PCSample{Run: runID, Launch: launches[at.fn], Code: id, Samples: datasets.Some(n)}
			if i < len(p.events) {
				s.Reason = p.events[i].name
			} else {
				s.Reason = reason[i-len(p.events)]
			}
			if err := p.out.Put(&s); err != nil {
				return err
			}
		}
	}
	return nil
}
