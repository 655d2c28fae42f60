package ktt

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

type jsonReader struct {
	in       *collectors.Input
	out      *collectors.Output
	j        *collectors.JSON
	run      datasets.Run
	machine  datasets.Machine
	seen     map[string]bool
	timeUnit string
	openCL   bool // sizes are work items, not groups
	regions  map[[2]string]int64
	launches int64
	results  int
	timed    bool
}

func parseJSON(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &jsonReader{in: in, out: out, j: collectors.NewLooseJSON(in), seen: map[string]bool{}, regions: map[[2]string]int64{},
		run:     datasets.Run{ID: runID, Tool: "ktt", Format: formatJSON, Status: datasets.RunOK},
		machine: datasets.Machine{ID: machineID}}
	if err := r.j.Delim('{', "the file"); err != nil {
		return err
	}
	for r.j.More() {
		if err := r.member(ctx); err != nil {
			return err
		}
	}
	if err := r.j.Delim('}', "the end of the file"); err != nil {
		return err
	}
	if _, err := r.j.Token(); err == nil {
		return r.j.Syntax("the file goes on after its object")
	}
	for _, key := range []string{"Metadata", "Results"} {
		if !r.seen[key] {
			e := r.j.Syntax("the file lacks a member")
			e.Expected, e.Hint = collectors.Quote(key), "is this a file that KTT's SaveResults wrote?"
			return e
		}
	}
	if r.timed {
		r.run.TimeMetric = "Duration"
	}
	if r.results == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the file holds no result"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	if r.machine.GPU != "" {
		r.run.Machine = machineID
		if err := out.Put(&r.machine); err != nil {
			return err
		}
	}
	return out.Put(&r.run)
}

func (r *jsonReader) member(ctx context.Context) error {
	key, err := r.j.Member(r.seen, "the file")
	if err != nil {
		return err
	}
	switch key {
	case "Metadata":
		return r.metadata()
	case "Results":
		if !r.seen["Metadata"] {
			e := r.j.Syntax("the results come before the metadata, which tell their unit of time")
			e.Expected, e.Hint = `"Metadata" first, as KTT writes it`, "sort the members of the file"
			return e
		}
		if err := r.j.Delim('[', `"Results"`); err != nil {
			return err
		}
		for ; r.j.More(); r.results++ {
			if r.results%256 == 0 && ctx.Err() != nil {
				return fmt.Errorf("reading %s: %w", r.in.Name, ctx.Err())
			}
			var v result
			if err := r.j.Decode(&v); err != nil {
				return r.j.Wrap(err)
			}
			if err := r.result(&v); err != nil {
				return err
			}
		}
		return r.j.Delim(']', `"Results"`)
	}
	// UserData, and what later versions add.
	var v json.RawMessage
	if err := r.j.Decode(&v); err != nil {
		return r.j.Wrap(err)
	}
	return r.attribute(0, 0, key, string(v))
}

func (r *jsonReader) metadata() error {
	var m map[string]any
	if err := r.j.Decode(&m); err != nil {
		return r.j.Wrap(err)
	}
	names := slices.Sorted(maps.Keys(m))
	for _, n := range names {
		value := fmt.Sprint(m[n])
		switch n {
		case "Device":
			r.machine.GPU = value
		case "KttVersion":
			r.run.ToolVersion = value
		case "TimeUnit":
			r.timeUnit = value
		case "GlobalSizeType":
			r.openCL = value == "OpenCL" || value == "Vulkan"
		}
		if err := r.attribute(0, 0, n, value); err != nil {
			return err
		}
	}
	if collectors.ParseUnit(r.timeUnit).Base != "s" {
		e := r.j.Syntax("the metadata do not tell the unit of times")
		e.Expected, e.Found = `"TimeUnit": "Nanoseconds", "Microseconds", "Milliseconds" or "Seconds"`, collectors.Quote(r.timeUnit)
		return e
	}
	return nil
}

type result struct {
	KernelName         string
	Status             string
	Configuration      []parameter
	ComputationResults []computation
	TotalDuration      *json.Number
	TotalOverhead      *json.Number
	ExtraDuration      *json.Number
	ExtraOverhead      *json.Number

	DataMovementOverhead, ValidationOverhead, SearcherOverhead, CompilationOverhead, ProfilingOverhead *json.Number
	FailedKernelOverhead, ProfilingRunsOverhead, PreciseMeasurementOverhead                            *json.Number
}

type parameter struct {
	Name  string
	Value any
}

type computation struct {
	KernelFunction      string
	Duration            *json.Number
	DurationStdev       *json.Number
	Overhead            *json.Number
	CompilationOverhead *json.Number
	GlobalSize          *size
	LocalSize           *size
	CompilationData     *compilation
	ProfilingData       *struct {
		Counters               []counter
		RemainingProfilingRuns int64
	}
	PowerUsage, EnergyConsumption, Temperature, SMFrequency, MemoryFrequency, FanSpeed *json.Number
}

type size struct{ X, Y, Z *int64 }

type compilation struct {
	MaxWorkGroupSize, LocalMemorySize, PrivateMemorySize, ConstantMemorySize, RegistersCount *json.Number
}

type counter struct {
	Name, Type string
	Value      any
}

// named is a number with its name and unit.
type named struct {
	name string
	n    *json.Number
	unit string
}

func (r *jsonReader) result(v *result) error {
	if v.KernelName == "" || v.Status == "" {
		e := r.j.Syntax("the result that ends here lacks its kernel or its status")
		e.Expected = `"KernelName" and "Status"`
		return e
	}
	tuned, err := r.region(0, datasets.KindRange, v.KernelName)
	if err != nil {
		return err
	}
	l := r.launch(tuned)
	t := r.timeUnit
	values := []named{{"TotalDuration", v.TotalDuration, t}, {"TotalOverhead", v.TotalOverhead, t}, {"ExtraDuration", v.ExtraDuration, t}, {"ExtraOverhead", v.ExtraOverhead, t},
		{"DataMovementOverhead", v.DataMovementOverhead, t}, {"ValidationOverhead", v.ValidationOverhead, t}, {"SearcherOverhead", v.SearcherOverhead, t},
		{"CompilationOverhead", v.CompilationOverhead, t}, {"ProfilingOverhead", v.ProfilingOverhead, t}, {"FailedKernelOverhead", v.FailedKernelOverhead, t},
		{"ProfilingRunsOverhead", v.ProfilingRunsOverhead, t}, {"PreciseMeasurementOverhead", v.PreciseMeasurementOverhead, t}}
	if err := r.put(l, v, values); err != nil {
		return err
	}
	for i := range v.ComputationResults {
		c := &v.ComputationResults[i]
		if c.KernelFunction == "" {
			return r.j.Syntax("a computation of the result that ends here lacks its kernel function")
		}
		if err := r.computation(tuned, v, c); err != nil {
			return err
		}
	}
	return nil
}

func (r *jsonReader) computation(tuned int64, v *result, c *computation) error {
	region, err := r.region(tuned, datasets.KindKernel, c.KernelFunction)
	if err != nil {
		return err
	}
	l := r.launch(region)
	l.Block = dimensions(c.LocalSize)
	l.Grid = dimensions(c.GlobalSize)
	for i, g := range l.Grid {
		if !r.openCL || !g.Valid {
			continue
		}
		l.Grid[i] = datasets.Null[int64]{}
		if b := l.Block[i]; b.V > 0 && g.V%b.V == 0 {
			l.Grid[i] = datasets.Some(g.V / b.V)
		}
	}
	t := r.timeUnit
	values := []named{{"Duration", c.Duration, t}, {"DurationStdev", c.DurationStdev, t}, {"Overhead", c.Overhead, t}, {"CompilationOverhead", c.CompilationOverhead, t},
		{"PowerUsage", c.PowerUsage, "mW"}, {"EnergyConsumption", c.EnergyConsumption, "J"}, {"Temperature", c.Temperature, "°C"}, {"SMFrequency", c.SMFrequency, "MHz"},
		{"MemoryFrequency", c.MemoryFrequency, "MHz"}, {"FanSpeed", c.FanSpeed, ""}}
	if d := c.CompilationData; d != nil {
		l.Regs, l.Smem = integer(d.RegistersCount), integer(d.LocalMemorySize)
		values = append(values, named{"MaxWorkGroupSize", d.MaxWorkGroupSize, ""}, named{"LocalMemorySize", d.LocalMemorySize, "byte"}, named{"PrivateMemorySize", d.PrivateMemorySize, "byte"},
			named{"ConstantMemorySize", d.ConstantMemorySize, "byte"}, named{"RegistersCount", d.RegistersCount, ""})
	}
	if err := r.put(l, v, values); err != nil {
		return err
	}
	if r.openCL && c.GlobalSize != nil {
		b, err := json.Marshal(c.GlobalSize)
		if err != nil {
			return err
		}
		if err := r.attribute(region, l.ID, "GlobalSize", string(b)); err != nil {
			return err
		}
	}
	if c.ProfilingData == nil {
		return nil
	}
	if n := c.ProfilingData.RemainingProfilingRuns; n > 0 {
		if err := r.attribute(region, l.ID, "RemainingProfilingRuns", strconv.FormatInt(n, 10)); err != nil {
			return err
		}
	}
	for _, p := range c.ProfilingData.Counters {
		if err := r.counter(l, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *jsonReader) counter(l *datasets.Launch, p counter) error {
	if p.Name == "" {
		return r.j.Syntax("a counter of the result that ends here has no name")
	}
	c := datasets.Counter{Region: l.Region, Launch: l.ID, Metric: p.Name}
	n, ok := p.Value.(json.Number)
	if ok {
		if _, err := number(r.out, c, n, unitOf(p.Name, p.Type)); err != nil {
			return r.j.Syntax("the counter " + collectors.Quote(p.Name) + " of the result that ends here: " + err.Error())
		}
		return nil
	}
	c.Run, c.Status, c.RawUnit = runID, datasets.StatusNA, unitOf(p.Name, p.Type)
	c.Unit = c.RawUnit
	if text, not := collectors.NotFinite(p.Value); not {
		c.RawValue = text
	} else if p.Value != nil {
		e := r.j.Syntax("the counter " + collectors.Quote(p.Name) + " of the result that ends here has no number")
		e.Found = collectors.Quote(fmt.Sprint(p.Value))
		return e
	}
	return r.out.Put(&c)
}

func dimensions(s *size) (d [3]datasets.Null[int64]) {
	if s == nil {
		return d
	}
	for i, n := range []*int64{s.X, s.Y, s.Z} {
		if n != nil {
			d[i] = datasets.Some(*n)
		}
	}
	return d
}

func integer(n *json.Number) datasets.Null[int64] {
	if n != nil {
		if i, err := n.Int64(); err == nil {
			return datasets.Some(i)
		}
	}
	return datasets.Null[int64]{}
}

// region returns the region of a name below a parent.
func (r *jsonReader) region(parent int64, kind, name string) (int64, error) {
	key := [2]string{strconv.FormatInt(parent, 10), name}
	if id, ok := r.regions[key]; ok {
		return id, nil
	}
	id := int64(len(r.regions) + 1)
	r.regions[key] = id
	short := name
	if kind == datasets.KindKernel {
		short = collectors.ShortName(name)
	}
	return id, r.out.Put(&datasets.Region{ID: id, Run: runID, Parent: parent, Kind: kind, Raw: name, Short: short})
}

func (r *jsonReader) launch(region int64) *datasets.Launch {
	r.launches++
	return &datasets.Launch{ID: r.launches, Run: runID, Region: region, Sequence: datasets.Some(r.launches - 1), ToolID: strconv.Itoa(r.results)}
}

// put emits a launch with its configuration, its status and numbers.
func (r *jsonReader) put(l *datasets.Launch, v *result, values []named) error {
	failed := v.Status != "Ok"
	for _, n := range values {
		if n.n == nil {
			continue
		}
		duration := strings.HasSuffix(n.name, "Duration")
		c := datasets.Counter{Region: l.Region, Launch: l.ID, Metric: n.name}
		if duration && failed {
			c.Run, c.RawValue, c.RawUnit, c.Unit, c.Status = runID, n.n.String(), n.unit, "s", datasets.StatusNA
			if err := r.out.Put(&c); err != nil {
				return err
			}
			continue
		}
		value, err := number(r.out, c, *n.n, n.unit)
		if err != nil {
			return r.j.Syntax(n.name + " of the result that ends here: " + err.Error())
		}
		if !value.Valid || value.V < 0 || value.V >= 9e9 {
			continue
		}
		if n.name == "Duration" || n.name == "TotalDuration" {
			l.DurNs = datasets.Some(int64(math.Round(value.V * 1e9)))
			r.timed = r.timed || n.name == "Duration"
		}
	}
	for _, p := range v.Configuration {
		if p.Name == "" {
			return r.j.Syntax("a parameter of the result that ends here has no name")
		}
		if err := r.attribute(l.Region, l.ID, p.Name, fmt.Sprint(p.Value)); err != nil {
			return err
		}
	}
	if err := r.attribute(l.Region, l.ID, "status", v.Status); err != nil {
		return err
	}
	if err := r.attribute(l.Region, l.ID, "invalidity", invalidity(v.Status)); err != nil {
		return err
	}
	return r.out.Put(l)
}

func (r *jsonReader) attribute(region, launch int64, name, value string) error {
	return r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch, Name: name, Value: value})
}
