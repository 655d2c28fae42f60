package llvmmca

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

type report struct {
	CodeRegions          []json.RawMessage
	SimulationParameters map[string]any
	TargetInfo           struct {
		CPUName   string
		Resources []string
	}
}

type codeRegion struct {
	Name                string
	Instructions        []string
	SummaryView         map[string]any
	DispatchStatistics  map[string]any
	InstructionInfoView struct {
		InstructionList []map[string]any
	}
	ResourcePressureView struct {
		ResourcePressureInfo []struct {
			InstructionIndex, ResourceIndex *int
			ResourceUsage                   json.Number
		}
	}
	TimelineView struct {
		TimelineInfo []map[string]any
	}
}

// views are the members of a code region that codeRegion has.
var views = map[string]bool{"Name": true, "Instructions": true, "SummaryView": true, "DispatchStatistics": true, "InstructionInfoView": true, "ResourcePressureView": true, "TimelineView": true}

type reader struct {
	in    *collectors.Input
	out   *collectors.Output
	j     *collectors.JSON
	r     report
	codes int64
	isa   string
}

// parse reads the report as a whole: the names of resources come last. It is
// as large as the code that was analysed, which is small.
func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, j: collectors.NewLooseJSON(in)}
	if err := r.j.Decode(&r.r); err != nil {
		return r.j.Wrap(err)
	}
	if _, err := r.j.Token(); !errors.Is(err, io.EOF) {
		return r.j.Syntax("the file goes on after its object")
	}
	if r.r.CodeRegions == nil {
		e := r.j.Syntax("the file lacks a member")
		e.Expected, e.Hint = `"CodeRegions"`, "rooflab reads the JSON of llvm-mca of LLVM 14 and later"
		return e
	}
	run := datasets.Run{ID: runID, Tool: "llvm-mca", Format: formatJSON, Status: datasets.RunOK}
	m := datasets.Machine{ID: machineID, CPU: r.r.TargetInfo.CPUName}
	for _, n := range slices.Sorted(maps.Keys(r.r.SimulationParameters)) {
		value := fmt.Sprint(r.r.SimulationParameters[n])
		switch n {
		case "-march":
			r.isa, m.Arch = value, value
		case "-mcpu":
			if m.CPU == "" {
				m.CPU = value
			}
		}
		if err := out.Put(&datasets.Attribute{Run: runID, Name: n, Value: value}); err != nil {
			return err
		}
	}
	if r.isa == "" {
		r.isa = "assembly"
	}
	for i := range r.r.CodeRegions {
		if ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", in.Name, ctx.Err())
		}
		var c codeRegion
		var all map[string]any
		if err := r.decode(i, &c); err != nil {
			return err
		}
		if err := r.decode(i, &all); err != nil {
			return err
		}
		if err := r.region(i, &c); err != nil {
			return err
		}
		if err := r.others(i, all); err != nil {
			return err
		}
	}
	if len(r.r.CodeRegions) == 0 {
		run.Status, run.Error = datasets.RunEmpty, "the file holds no code region"
		out.Warn(0, 0, "%s", run.Error)
	}
	if m.CPU != "" || m.Arch != "" {
		run.Machine = machineID
		if err := out.Put(&m); err != nil {
			return err
		}
	}
	return out.Put(&run)
}

func (r *reader) decode(i int, v any) error {
	d := json.NewDecoder(bytes.NewReader(r.r.CodeRegions[i]))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		msg, expected, found := collectors.JSONFault(err)
		e := r.in.Syntax(1, 1, fmt.Sprintf("code region %d: %s", i, msg))
		e.Expected, e.Found = expected, found
		return e
	}
	return nil
}

// others keeps the views that later versions of llvm-mca add: numbers in an
// object are counters ("BottleneckAnalysis.PressureIncreaseCycles"), anything
// else is an attribute of the region.
func (r *reader) others(i int, all map[string]any) error {
	for _, view := range slices.Sorted(maps.Keys(all)) {
		if views[view] {
			continue
		}
		m, ok := all[view].(map[string]any)
		if !ok {
			m = map[string]any{"": all[view]}
		}
		for _, n := range slices.Sorted(maps.Keys(m)) {
			name := strings.TrimSuffix(view+"."+n, ".")
			if _, number := m[n].(json.Number); number {
				unit := ""
				if strings.HasSuffix(n, "Cycles") {
					unit = "cycle"
				}
				if _, err := r.counter(i, name, "", unit, m[n]); err != nil {
					return err
				}
				continue
			}
			text, err := json.Marshal(m[n])
			if err != nil {
				return r.fail(i, err.Error())
			}
			if err := r.out.Put(&datasets.Attribute{Run: runID, Region: int64(i + 1), Name: name, Value: string(text)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// units of what llvm-mca predicts.
var units = map[string]string{"TotalCycles": "cycle", "Instructions": "inst", "TotaluOps": "uop", "IPC": "inst/cycle", "uOpsPerCycle": "uop/cycle", "BlockRThroughput": "cycle", "DispatchWidth": "uop/cycle",
	"Latency": "cycle", "RThroughput": "cycle", "NumMicroOpcodes": "uop"}

// fail is an error about a region: places within the file are gone by then.
func (r *reader) fail(region int, msg string) error {
	return r.in.Syntax(1, 1, fmt.Sprintf("code region %d: %s", region, msg))
}

func (r *reader) region(i int, c *codeRegion) error {
	id := int64(i + 1)
	g := datasets.Region{ID: id, Run: runID, Kind: datasets.KindRange, Raw: c.Name, Short: c.Name, Order: datasets.Some(int64(i))}
	if c.Name == "" {
		g.Raw = fmt.Sprintf("[%d] Code Region", i)
		g.Short = g.Raw
	}
	if err := r.out.Put(&g); err != nil {
		return err
	}
	for k, text := range c.Instructions {
		r.codes++
		text = strings.TrimSpace(text)
		code := datasets.Code{ID: r.codes, Run: runID, Region: id, ISA: r.isa, Offset: datasets.Some(int64(k)), Opcode: opcode(text), Text: text}
		if err := r.out.Put(&code); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(c.SummaryView)) {
		v, err := r.counter(i, n, "", units[n], c.SummaryView[n])
		if err != nil {
			return err
		}
		if err := r.out.Put(&datasets.StaticFeature{Run: runID, Region: id, Name: n, Value: v}); err != nil {
			return err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(c.DispatchStatistics)) {
		if _, err := r.counter(i, "DispatchStatistics."+n, "", "cycle", c.DispatchStatistics[n]); err != nil {
			return err
		}
	}
	if err := r.instructions(i, c); err != nil {
		return err
	}
	if err := r.pressure(i, c); err != nil {
		return err
	}
	return r.timeline(i, c)
}

// opcode is an instruction's first word behind prefixes.
func opcode(text string) string {
	for _, f := range strings.Fields(text) {
		switch f {
		case "lock", "rep", "repe", "repne", "repz", "repnz", "data16", "addr32", "notrack":
			continue
		}
		return f
	}
	return text
}

// counter emits a number, or a boolean as 0 or 1.
func (r *reader) counter(region int, metric, instance, unit string, v any) (datasets.Null[float64], error) {
	c := datasets.Counter{Run: runID, Region: int64(region + 1), Metric: metric, Instance: instance, Unit: unit, RawUnit: unit, Status: datasets.StatusNA}
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return c.Value, r.fail(region, metric+" fits no number of 64 bits: "+collectors.Quote(v.String()))
		}
		c.RawValue, c.Value, c.Status = v.String(), datasets.Some(f), datasets.StatusOK
	case bool:
		c.RawValue, c.Value, c.Status = strconv.FormatBool(v), datasets.Some(0.0), datasets.StatusOK
		if v {
			c.Value.V = 1
		}
	default:
		if text, ok := collectors.NotFinite(v); ok {
			c.RawValue = text
		} else if v != nil {
			return c.Value, r.fail(region, metric+" is no number: "+collectors.Quote(fmt.Sprint(v)))
		}
	}
	return c.Value, r.out.Put(&c)
}

// na emits a number that stands for "none".
func (r *reader) na(region int, metric, instance, unit string, v json.Number) error {
	return r.out.Put(&datasets.Counter{Run: runID, Region: int64(region + 1), Metric: metric, Instance: instance, Unit: unit, RawUnit: unit, RawValue: v.String(), Status: datasets.StatusNA})
}

func isZero(v any) (json.Number, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return "", false
	}
	f, err := n.Float64()
	return n, err == nil && f == 0
}

func (r *reader) instructions(i int, c *codeRegion) error {
	seen := map[string]bool{}
	for k, info := range c.InstructionInfoView.InstructionList {
		at := strconv.Itoa(k)
		if n, ok := info["Instruction"].(json.Number); ok {
			at = n.String()
		}
		if n, err := strconv.Atoi(at); err != nil || n < 0 || n >= len(c.Instructions) || seen[at] {
			return r.fail(i, "there is information on an instruction that it does not have, or twice: "+collectors.Quote(at))
		}
		seen[at] = true
		for _, n := range slices.Sorted(maps.Keys(info)) {
			if n == "Instruction" {
				continue
			}
			if zero, ok := isZero(info[n]); ok && n == "RThroughput" {
				if err := r.na(i, "instruction."+n, at, units[n], zero); err != nil {
					return err
				}
				continue
			}
			if _, err := r.counter(i, "instruction."+n, at, units[n], info[n]); err != nil {
				return err
			}
		}
	}
	return nil
}

// pressure emits how long instructions use resources. The instruction behind
// the last one stands for all of them.
func (r *reader) pressure(i int, c *codeRegion) error {
	for _, p := range c.ResourcePressureView.ResourcePressureInfo {
		if p.InstructionIndex == nil || p.ResourceIndex == nil {
			return r.fail(i, "a resource pressure names no instruction or resource")
		}
		if *p.InstructionIndex < 0 || *p.InstructionIndex > len(c.Instructions) || *p.ResourceIndex < 0 || *p.ResourceIndex >= len(r.r.TargetInfo.Resources) {
			return r.fail(i, fmt.Sprintf("there is no instruction %d or no resource %d, whose pressure it has", *p.InstructionIndex, *p.ResourceIndex))
		}
		metric, instance := "instruction.ResourcePressure", strconv.Itoa(*p.InstructionIndex)+"/"+resource(r.r.TargetInfo.Resources[*p.ResourceIndex])
		if *p.InstructionIndex == len(c.Instructions) {
			metric, instance = "ResourcePressure", resource(r.r.TargetInfo.Resources[*p.ResourceIndex])
		}
		if _, err := r.counter(i, metric, instance, "cycle", p.ResourceUsage); err != nil {
			return err
		}
	}
	return nil
}

// resource names a resource. Several units of a kind are told apart by a
// number, which LLVM writes as a character of that code: "Zn3Load.\x01".
func resource(name string) string {
	return strings.Map(func(c rune) rune {
		if c < 10 {
			return '0' + c
		}
		return c
	}, name)
}

func (r *reader) timeline(i int, c *codeRegion) error {
	n := len(c.Instructions)
	if n == 0 && len(c.TimelineView.TimelineInfo) > 0 {
		return r.fail(i, "it has a timeline and no instruction")
	}
	for k, step := range c.TimelineView.TimelineInfo {
		at := strconv.Itoa(k/n) + "/" + strconv.Itoa(k%n)
		for _, name := range slices.Sorted(maps.Keys(step)) {
			zero, ok := isZero(step[name])
			if ok && (name == "CycleIssued" || name == "CycleExecuted" || name == "CycleRetired") {
				if err := r.na(i, "timeline."+name, at, "cycle", zero); err != nil {
					return err
				}
				continue
			}
			if _, err := r.counter(i, "timeline."+name, at, "cycle", step[name]); err != nil {
				return err
			}
		}
	}
	return nil
}
