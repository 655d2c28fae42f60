package chrometrace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// onGPU reports whether events of a category run on a device, whose "process"
// is the device and whose "thread" is the stream. Kineto's spelling changed.
func onGPU(cat string) bool {
	switch cat {
	case "kernel", "Kernel", "gpu_memcpy", "Memcpy", "gpu_memset", "Memset", "gpu_user_annotation", "cuda_sync", "cuda_profiler_range":
		return true
	}
	return false
}

// isWork reports whether events of a category are work of a device, which does
// not nest.
func isWork(cat string) bool { return onGPU(cat) && cat != "gpu_user_annotation" }

// isProfilerRange reports whether the times of a category are made up: CUPTI's
// range profiler has none, and Kineto divides the recording's evenly.
func isProfilerRange(cat string) bool { return cat == "cuda_profiler_range" }

var frame = regexp.MustCompile(`^.*\(\d+\): (.+)$`)

// classify returns the kind and the short name of a region.
func classify(cat, name string) (kind, short string) {
	kind, short = datasets.KindRange, name
	switch cat {
	case "kernel", "Kernel", "cuda_profiler_range":
		kind, short = datasets.KindKernel, collectors.ShortName(name)
	case "cpu_op", "Operator", "cuda_runtime", "cuda_driver", "Runtime", "runtime", "hip_runtime", "xpu_runtime", "privateuse1_runtime":
		kind = datasets.KindFunction
	case "python_function":
		kind = datasets.KindFunction
		if m := frame.FindStringSubmatch(name); m != nil { // "module.py(12): forward"
			short = m[1]
		}
	}
	if short == "" {
		short = "(unnamed)"
	}
	return kind, short
}

// identifiers are numbers among args that say which, not how much.
var identifiers = map[string]bool{"External id": true, "external id": true, "correlation": true, "Ev Idx": true, "Profiler Event Index": true,
	"Record function id": true, "Python id": true, "Python parent id": true, "Python module id": true, "Python thread": true,
	"Sequence number": true, "Fwd thread id": true, "cbid": true, "Trace iteration": true, "device": true, "context": true, "stream": true,
	"Device Id": true, "Device Type": true, "Addr": true, "wait_on_stream": true, "wait_on_cuda_event_record_corr_id": true, "wait_on_cuda_event_id": true,
	"graph id": true, "graph node id": true, "fwdbwd": true, "Rank": true, "id": true, "pid": true, "tid": true, "Src Rank": true, "Dst Rank": true}

// args emits what an event says of itself. instance is "end" for an E.
func (n *nester) args(e *event, l *datasets.Launch, instance string) error {
	if t := n.tracked[e.track]; instance == "" {
		for _, f := range [2]struct {
			name, text string
			num        datasets.Null[int64]
		}{{"pid", t.pid, t.pidNum}, {"tid", t.tid, t.tidNum}} {
			if f.num.Valid || f.text == "" {
				continue
			}
			if err := n.out.Put(&datasets.Attribute{Run: runID, Region: l.Region, Launch: l.ID, Name: f.name, Value: f.text}); err != nil {
				return err
			}
		}
	}
	if len(e.args) == 0 {
		return nil
	}
	gpu := onGPU(n.cats.list[e.cat])
	_, err := members(e.args, func(k, v []byte) error {
		if n.column(l, gpu, string(k), v) {
			return nil
		}
		key := text(append(append([]byte{'"'}, k...), '"'))
		if key == "" {
			key = "args"
		}
		t := text(v)
		if isNumber(v) && !identifiers[key] {
			return n.number(l, key, instance, t)
		}
		if low := strings.ToLower(t); v[0] != '"' && (low == "nan" || low == "infinity" || low == "-infinity" || low == "inf" || low == "-inf") {
			return n.number(l, key, instance, t)
		}
		if instance != "" {
			key += " (" + instance + ")"
		}
		return n.out.Put(&datasets.Attribute{Run: runID, Region: l.Region, Launch: l.ID, Name: key, Value: t})
	})
	if errors.Is(err, errShape) {
		n.warn("args", 0, 0, "the args of an event are no JSON: what could be read of them is kept")
		return nil
	}
	return err
}

// column takes an arg that is a column of the launch.
func (n *nester) column(l *datasets.Launch, gpu bool, key string, v []byte) bool {
	var dst *datasets.Null[int64]
	switch key {
	case "device":
		dst = &l.Device
	case "context":
		dst = &l.Context
	case "stream":
		dst = &l.Stream
	case "registers per thread":
		dst = &l.Regs
	case "shared memory":
		dst = &l.Smem
	case "kernel_details":
		kernelDetails(l, text(v))
		return false // what else it says is kept
	case "grid", "block":
		if !gpu {
			return false
		}
		var d [3]datasets.Null[int64]
		i := 0
		if len(v) == 0 || v[0] != '[' {
			return false
		}
		err := elements(v, func(x []byte) error {
			k, ok := integer(x)
			if !ok || i == 3 {
				return errShape
			}
			d[i] = datasets.Some(k)
			i++
			return nil
		})
		if err != nil || i != 3 {
			return false
		}
		if key == "grid" {
			l.Grid = d
		} else {
			l.Block = d
		}
		return true
	default:
		return false
	}
	k, ok := integer(v)
	if !ok || !gpu {
		return false
	}
	*dst = datasets.Some(k)
	return true
}

// kernelDetails reads what TensorFlow and JAX say of a kernel:
// "regs:32 static_shared:0 dynamic_shared:1024 grid:4,1,1 block:128,1,1 occ_pct:50".
func kernelDetails(l *datasets.Launch, s string) {
	for _, part := range strings.Fields(s) {
		key, value, _ := strings.Cut(part, ":")
		var n [3]datasets.Null[int64]
		texts := strings.Split(value, ",")
		for i, t := range texts[:min(3, len(texts))] {
			v, err := strconv.ParseInt(t, 10, 64)
			n[i] = datasets.Null[int64]{V: v, Valid: err == nil}
		}
		switch {
		case key == "regs":
			l.Regs = n[0]
		case (key == "static_shared" || key == "dynamic_shared") && n[0].Valid:
			l.Smem = datasets.Some(l.Smem.V + n[0].V)
		case key == "grid" && len(texts) == 3:
			l.Grid = n
		case key == "block" && len(texts) == 3:
			l.Block = n
		}
	}
}

// number emits a counter.
func (n *nester) number(l *datasets.Launch, key, instance, t string) error {
	unit := unitOf(key)
	u := collectors.ParseUnit(unit)
	c := datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: key, Instance: instance, Unit: u.Base, RawValue: t, RawUnit: unit, Status: datasets.StatusNA}
	if f, err := u.Scale(t, collectors.Dot); err == nil && !math.IsInf(f, 0) {
		c.Value, c.Status = datasets.Some(f), datasets.StatusOK
	}
	return n.out.Put(&c)
}

// memory emits what PyTorch's allocator held, as telemetry of the device.
func (n *nester) memory(e *event) error {
	facts := map[string]string{}
	if _, err := members(e.args, func(k, v []byte) error {
		facts[string(k)] = text(v)
		return nil
	}); err != nil || e.ts == noTime {
		return nil //nolint:nilerr // args has warned about it
	}
	for _, k := range [2]string{"Total Allocated", "Total Reserved"} {
		v, err := strconv.ParseFloat(facts[k], 64)
		if err != nil {
			continue
		}
		t := datasets.Telemetry{Run: runID, Sensor: fmt.Sprintf("%s (device type %s, id %s)", k, facts["Device Type"], facts["Device Id"]), TNs: e.ts,
			Value: datasets.Some(v), Unit: "byte", Kind: "instant"}
		if err := n.out.Put(&t); err != nil {
			return err
		}
	}
	return nil
}

var inName = regexp.MustCompile(`\(([^()]+)\)$`)

// unitOf is the unit that an arg's name tells.
func unitOf(key string) string {
	if m := inName.FindStringSubmatch(key); m != nil {
		switch collectors.ParseUnit(m[1]).Base {
		case "s", "Hz", "byte", "byte/s", "%", "flop":
			return m[1]
		}
	}
	switch key {
	case "bytes", "Bytes", "Total Allocated", "Total Reserved":
		return "byte"
	case "tdur":
		return "us"
	}
	if strings.HasSuffix(key, "%") {
		return "%"
	}
	return ""
}

// beside reads a key beside the events.
func (p *parser) beside(key string, v []byte) error {
	switch key {
	case "deviceProperties", "computeProperties": // the name that kineto gave them until 2021
		p.torch = true
		return p.devices(v)
	case "distributedInfo":
		p.torch = true
		return p.flat(key, v)
	case "schemaVersion":
		p.torch = true
		p.run.FormatVersion = "kineto " + text(v)
	case "baseTimeNanoseconds":
		if n, ok := integer(v); ok {
			p.base = datasets.Some(n)
		}
	case "viztracer_metadata":
		p.run.Tool = "viztracer"
		return p.flat(key, v)
	case "otherData", "metadata", "file_info":
		return p.flat(key, v)
	case "stackFrames", "samples", "systemTraceEvents", "controllerTraceDataKey", "powerTraceAsString":
		line, column := p.place(p.r)
		p.out.Warn(line, column, "%s is not read", key)
		return nil
	}
	if key == "" {
		key = "(unnamed)"
	}
	return p.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: text(v)})
}

// flat emits the members of an object as attributes.
func (p *parser) flat(key string, v []byte) error {
	if len(v) == 0 || v[0] != '{' {
		return p.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: text(v)})
	}
	_, err := members(v, func(k, m []byte) error {
		name := key + "." + text(append(append([]byte{'"'}, k...), '"'))
		switch name {
		case "distributedInfo.rank":
			if n, ok := integer(m); ok {
				p.rank = datasets.Some(n)
			}
		case "viztracer_metadata.version":
			p.run.ToolVersion = text(m)
		}
		return p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: text(m)})
	})
	if errors.Is(err, errShape) {
		return p.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: text(v)})
	}
	return err
}

// devices reads what Kineto says about the GPUs.
func (p *parser) devices(v []byte) error {
	if len(v) == 0 || v[0] != '[' {
		return nil
	}
	first := true
	err := elements(v, func(d []byte) error {
		if len(d) == 0 || d[0] != '{' {
			return errShape
		}
		facts := map[string]string{}
		var order []string
		if _, err := members(d, func(k, m []byte) error {
			facts[string(k)] = text(m)
			order = append(order, string(k))
			return nil
		}); err != nil {
			return err
		}
		for _, k := range order {
			if k == "id" || k == "" {
				continue
			}
			if err := p.out.Put(&datasets.Attribute{Run: runID, Name: "device " + facts["id"] + " " + k, Value: facts[k]}); err != nil {
				return err
			}
		}
		if !first {
			if facts["name"] != p.machine.GPU {
				p.warn("gpus", 0, 0, "the machine has GPUs of several kinds: it is recorded with the first")
			}
			return nil
		}
		first = false
		p.machine.GPU = facts["name"]
		for _, k := range [...][2]string{{"computeMajor", "computeMinor"}, {"major", "minor"}} {
			if facts[k[0]] != "" && facts[k[1]] != "" {
				p.machine.Arch = "cc" + facts[k[0]] + "." + facts[k[1]]
			}
		}
		for k, dst := range map[string]*datasets.Null[int64]{"numSms": &p.machine.Units, "multiProcessorCount": &p.machine.Units, "smCount": &p.machine.Units, "totalGlobalMem": &p.machine.MemBytes} {
			if n, err := strconv.ParseInt(facts[k], 10, 64); err == nil {
				*dst = datasets.Some(n)
			}
		}
		return nil
	})
	if errors.Is(err, errShape) {
		p.out.Warn(0, 0, "deviceProperties cannot be read: what the trace says about its GPUs is left out")
		return nil
	}
	return err
}

// decide finds out which tool wrote the trace.
func (p *parser) decide() {
	ranges := false
	for k := range p.phases {
		switch c := p.cats.list[k.cat]; {
		case c == "cpu_op" || c == "python_function" || c == "gpu_memcpy" || c == "cuda_runtime":
			p.torch = true
		case isProfilerRange(c):
			p.torch, ranges = true, true
		}
	}
	if p.torch && p.run.Tool == "trace-event" {
		p.run.Tool = "pytorch-profiler"
	}
	if ranges {
		p.out.Warn(0, 0, "the times of its cuda_profiler_range events are the recording's, evenly divided: the launches have none")
	}
	if !p.first.Valid || !p.torch {
		return
	}
	// Kineto's times are since 1970, or since a base that it names.
	ns := p.first.V
	if p.base.Valid {
		ns = add(ns, p.base.V)
	}
	if ns > 1e18 && ns < 4e18 {
		p.run.Started = datasets.Some(time.Unix(0, ns).UTC())
	}
}

// close emits the run and its machine.
func (p *parser) close() error {
	all := make([]phase, 0, len(p.phases))
	for k := range p.phases {
		all = append(all, k)
	}
	slices.SortFunc(all, func(a, b phase) int { return cmp.Or(cmp.Compare(a.cat, b.cat), cmp.Compare(a.ph, b.ph)) })
	for _, k := range all {
		count := p.phases[k]
		name := strings.TrimSpace("events " + string(rune(k.ph)) + " " + p.cats.list[k.cat])
		if err := p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: strconv.FormatInt(count, 10)}); err != nil {
			return err
		}
	}
	if p.machine.GPU != "" {
		p.run.Machine = machineID
		if err := p.out.Put(&p.machine); err != nil {
			return err
		}
	}
	if len(p.phases) == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the trace holds no event"
		p.out.Warn(0, 0, "%s", p.run.Error)
	}
	return p.out.Put(&p.run)
}
