package ncurep

import (
	"fmt"
	"math"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// Kinds of entries in a block's payload, in their order.
const (
	kindSource = iota
	kindKernel
	kindRange
	kindList
	kindGraph
	numKinds
)

var kindNames = [numKinds]string{"a source", "a kernel's result", "a range's result", "a command list's result", "a graph's result"}

// resultFields are the numbers of the fields that kinds of results have in
// different places; 0 where a kind has no such field.
type resultFields struct {
	thread, call, mangled, function, demangled, grid, block, comments, metrics, source,
	comment, rules, nvtx, context, stream, series, clock, contextName, streamName, stack, python, renamed, sections, timed int32
}

var fieldsOf = [numKinds]resultFields{
	kindKernel: {thread: 1, call: 2, mangled: 5, function: 6, demangled: 7, grid: 10, block: 11, comments: 12, metrics: 13, source: 15,
		comment: 18, rules: 19, nvtx: 21, context: 22, stream: 23, series: 24, clock: 25, contextName: 26, streamName: 27, stack: 28, renamed: 31, python: 32, sections: 17, timed: 36},
	kindRange: {thread: 1, call: 2, comments: 3, metrics: 4, comment: 8, nvtx: 10, context: 11, clock: 12, contextName: 13, stack: 14, python: 17, rules: 20, sections: 7, timed: 22},
	kindList: {thread: 1, call: 2, comments: 3, metrics: 4, comment: 8, nvtx: 10, context: 11, stream: 12, clock: 13, contextName: 14, streamName: 15,
		stack: 16, demangled: 18, rules: 21, python: 22, sections: 7, timed: 26},
	kindGraph: {thread: 1, call: 2, comments: 3, metrics: 4, comment: 8, nvtx: 10, context: 11, stream: 12, clock: 13, contextName: 14, streamName: 15,
		stack: 16, python: 19, rules: 22, sections: 7, timed: 24},
}

// regionKey is a kernel: of one name, and of one module, since just-in-time
// compilers give many variants of a kernel the same name.
type regionKey struct {
	name      string
	reference uint64
}

// result is a profiled kernel, range, command list or graph.
type result struct {
	rec                datasets.Launch
	mangled, function  string
	demangled, renamed string
	source             *source
	base               uint64 // the kernel's address, where no module says it
	samples            map[sampled]*datasets.PCSample
	order              []sampled
	counted            map[string]bool // reasons whose samples of all cycles were read
	attributes         []datasets.Attribute
}

// result reads a result and puts all that it says.
func (p *parser) result(m message, kind int) error {
	p.count++
	r := &result{rec: datasets.Launch{ID: p.count, Run: runID, ToolID: fmt.Sprint(p.count - 1), Sequence: datasets.Some(p.count - 1)},
		samples: map[sampled]*datasets.PCSample{}, counted: map[string]bool{}}
	if p.process.id != 0 {
		r.rec.PID = datasets.Some(int64(p.process.id))
	}
	metrics := []metric{}
	if err := p.each(m, func(fd field) error { return p.resultField(r, fd, fieldsOf[kind], &metrics) }); err != nil {
		return err
	}
	if kind == kindKernel && r.mangled+r.function+r.demangled == "" {
		return p.bad(m.at, "a kernel's result names no kernel")
	}
	if err := p.region(r, kind); err != nil {
		return err
	}
	r.findBase(p, metrics)
	for i := range metrics {
		p.describe(r, &metrics[i])
		if err := p.putMetric(r, &metrics[i]); err != nil {
			return err
		}
	}
	if kind == kindKernel {
		if _, err := p.putFunction(r.rec.Region, r.mangled, r.mangled, r.source); err != nil {
			return err
		}
	}
	if err := p.putSamples(r); err != nil {
		return err
	}
	for i := range r.attributes {
		a := &r.attributes[i]
		a.Run, a.Region, a.Launch = runID, r.rec.Region, r.rec.ID
		if err := p.out.Put(a); err != nil {
			return err
		}
	}
	return p.out.Put(&r.rec)
}

func (p *parser) resultField(r *result, fd field, f resultFields, metrics *[]metric) error {
	switch num := int32(fd.num); num {
	case f.thread:
		return p.id(fd, &r.rec.Thread)
	case f.context:
		return p.id(fd, &r.rec.Context)
	case f.stream:
		return p.id(fd, &r.rec.Stream)
	case f.call:
		call := uint64(0)
		err := p.number(fd, &call)
		r.say("API call", fmt.Sprint(call))
		return err
	case f.mangled:
		return p.text(fd, &r.mangled)
	case f.function:
		return p.text(fd, &r.function)
	case f.demangled:
		return p.text(fd, &r.demangled)
	case f.renamed:
		return p.text(fd, &r.renamed)
	case f.grid:
		return p.size(fd, &r.rec.Grid)
	case f.block:
		return p.size(fd, &r.rec.Block)
	case f.metrics:
		m, err := p.metric(fd)
		*metrics = append(*metrics, m)
		return err
	case f.source:
		return p.eachIn(fd, "the source of a result", func(fd field) error {
			reference := uint64(0)
			if fd.num != 1 {
				return nil
			}
			err := p.number(fd, &reference)
			r.source = p.sources[reference]
			return err
		})
	case f.rules:
		return p.rule(fd, r)
	case f.nvtx:
		return p.nvtx(fd, r)
	case f.sections:
		return p.section(fd)
	case f.timed:
		p.once("timed", "samples of warps over time are left out: the sums per instruction are there")
	case f.clock:
		return p.clock(fd)
	case f.series:
		return p.eachIn(fd, "a series", func(fd field) error { return p.sayIf(fd, 2, r, "series") })
	case f.comments:
		return p.sayText(fd, r, "comments")
	case f.contextName:
		return p.sayText(fd, r, "context name")
	case f.streamName:
		return p.sayText(fd, r, "stream name")
	case f.comment:
		return p.eachIn(fd, "a comment", func(fd field) error { return p.sayIf(fd, 3, r, "comment") })
	case f.stack, f.python:
		return p.stack(fd, r, map[bool]string{true: "call stack", false: "Python call stack"}[num == f.stack])
	}
	return nil
}

// section keeps the names of the sections that were collected, each once.
func (p *parser) section(fd field) error {
	name := ""
	err := p.eachIn(fd, "a section", func(fd field) error {
		if fd.num == 1 {
			return p.text(fd, &name)
		}
		return nil
	})
	if name != "" && !p.session.seen[name] {
		if p.session.seen == nil {
			p.session.seen = map[string]bool{}
		}
		p.session.seen[name] = true
		p.session.sections = append(p.session.sections, name)
	}
	return err
}

// say keeps an attribute of a result.
func (r *result) say(name, value string) {
	if value == "" {
		return
	}
	r.attributes = append(r.attributes, datasets.Attribute{Name: name, Value: value})
}

func (p *parser) sayText(fd field, r *result, name string) error {
	s := ""
	err := p.text(fd, &s)
	r.say(name, s)
	return err
}

func (p *parser) sayIf(fd field, num int, r *result, name string) error {
	if int(fd.num) != num {
		return nil
	}
	return p.sayText(fd, r, name)
}

func (p *parser) id(fd field, dst *datasets.Null[int64]) error {
	v := uint64(0)
	err := p.number(fd, &v)
	*dst = datasets.Some(int64(v))
	return err
}

// size reads x, y and z.
func (p *parser) size(fd field, dst *[3]datasets.Null[int64]) error {
	for i := range dst {
		dst[i] = datasets.Some[int64](0)
	}
	return p.eachIn(fd, "a size in three dimensions", func(fd field) error {
		if fd.num < 1 || fd.num > 3 {
			return nil
		}
		return p.id(fd, &dst[fd.num-1])
	})
}

// clock reads how the tool held the clocks.
func (p *parser) clock(fd field) error {
	return p.eachIn(fd, "the state of the clocks", func(fd field) error {
		asked := uint64(0)
		if fd.num != 1 {
			return nil
		}
		err := p.number(fd, &asked)
		if p.run.ClockPolicy == "" {
			p.run.ClockPolicy = map[bool]string{true: "base", false: "none"}[asked != 0]
		}
		return err
	})
}

// region finds the region of a result by the kernel's name and module.
func (p *parser) region(r *result, kind int) (err error) {
	g := datasets.Region{Kind: datasets.KindKernel, Raw: r.demangled, Mangled: r.mangled}
	if g.Raw == "" {
		g.Raw = demangled(r.mangled)
	}
	if g.Raw == "" {
		g.Raw = r.function
	}
	if kind != kindKernel {
		g.Kind = datasets.KindRange
		if g.Raw == "" {
			g.Raw = [numKinds]string{kindRange: "range", kindList: "command list", kindGraph: "graph"}[kind]
		}
	}
	if r.renamed != "" && r.renamed != r.demangled {
		r.say("name given by the user", r.renamed)
	}
	key := regionKey{name: g.Raw + "\x00" + g.Mangled}
	if r.source != nil {
		key.reference = r.source.reference
	}
	id, ok := p.regions[key]
	if !ok {
		if id, err = p.putRegion(&g); err != nil {
			return err
		}
		p.regions[key] = id
	}
	r.rec.Region = id
	return nil
}

func (p *parser) putRegion(g *datasets.Region) (int64, error) {
	p.ids.region++
	g.ID, g.Run, g.Short = p.ids.region, runID, collectors.ShortName(g.Raw)
	return g.ID, p.out.Put(g)
}

func demangled(name string) string { return collectors.Demangle(name) }

// mangledOnly is a linker's symbol, "" for a name that is none.
func mangledOnly(name string) string {
	if demangled(name) == name {
		return ""
	}
	return name
}

// describe fills in the launch from the metrics that describe it.
func (p *parser) describe(r *result, m *metric) {
	v := m.total
	if v.kind != integer && v.kind != floating || math.IsNaN(v.f) || math.Abs(v.f) > math.MaxInt64/2 {
		return
	}
	n := datasets.Some(int64(math.Round(v.f)))
	switch m.name {
	case "gpu__time_duration.sum":
		if n.V < 0 {
			return
		}
		r.rec.DurNs = n
		p.run.TimeMetric = m.name
	case "launch__registers_per_thread":
		r.rec.Regs = n
	case "launch__shared_mem_per_block":
		r.rec.Smem = n
	case "launch__device_id":
		r.rec.Device = n
	}
	p.session.observe(r.rec.Device.V, m.name, v)
}

// findBase finds the address of a kernel whose module was not kept.
func (r *result) findBase(p *parser, metrics []metric) {
	for i := range metrics {
		m := &metrics[i]
		known := m.name == "launch__function_pcs"
		if !known && !perInstruction(m.name) {
			continue
		}
		found := false
		err := p.eachInstance(m, func(in instance) error {
			at := in.id.u
			if known {
				at = in.value.u
			}
			if at != 0 && !found && (r.base == 0 || known || at < r.base) {
				r.base, found = at, known
			}
			return nil
		})
		if err != nil || found {
			return // putMetric says what is wrong
		}
	}
}

// perInstruction says whether a metric's instances are instructions.
func perInstruction(metric string) bool {
	for _, prefix := range []string{"smsp__pcsamp_sample", stalls, "inst_executed", "thread_inst_executed", "memory_", "derived__memory_",
		"derived__avg_thread_executed", "smsp__branch_targets_threads", "smsp__sass_inst_executed_memdesc", "sass__"} {
		if strings.HasPrefix(metric, prefix) {
			return true
		}
	}
	return false
}

// isPC says whether the id of an instance of a metric is an address.
func (r *result) isPC(metric string, id uint64) bool {
	if r.source != nil {
		if _, _, ok := r.source.function(id); ok {
			return true
		}
	}
	return perInstruction(metric) && r.base != 0 && id >= r.base && id-r.base < farthest
}

// locate finds the function of an address.
func (r *result) locate(pc uint64) (name string, offset uint64, ok bool) {
	if r.source != nil {
		if name, offset, ok := r.source.function(pc); ok {
			return name, offset, true
		}
	}
	if r.base == 0 || pc < r.base || pc-r.base >= farthest {
		return "", 0, false
	}
	return r.mangled, pc - r.base, true
}
