package opencl

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

// emitter turns a child's messages into records.
type emitter struct {
	out     *collectors.Output
	machine datasets.Machine
	state   []host.Fact

	machinePut                bool
	runs, regions, launches   int64
	codes                     int64
	run                       datasets.Run
	program                   program
	kernels                   map[string]int64 // regions by name
	config                    int
	repeat, sequence          int64
	result                    *launchResult
	faults                    []string
	buildFailed, anythingDone bool
}

func (e *emitter) begin(p program, command string) {
	e.runs++
	h := sha256.Sum256([]byte(p.Options + "\x00" + p.Source))
	e.run = datasets.Run{ID: e.runs, Machine: 1, Tool: "opencl", Format: "opencl", FormatVersion: strconv.Itoa(protocol), Command: command,
		InputHash: hex.EncodeToString(h[:]), Started: datasets.Some(time.Now().UTC()), ClockPolicy: "none", CachePolicy: "none",
		Status: datasets.RunOK, TimeMetric: "kernel_time"}
	e.program, e.kernels, e.sequence, e.result, e.faults, e.buildFailed = p, map[string]int64{}, 0, nil, nil, false
	e.anythingDone = false
}

func (e *emitter) attribute(region, launch int64, name, value string) error {
	if value == "" {
		return nil
	}
	return e.out.Put(&datasets.Attribute{Run: e.run.ID, Region: region, Launch: launch, Name: name, Value: value})
}

func (e *emitter) message(m message, offset int64) error {
	switch {
	case m.Unavailable != nil:
		m.Unavailable.Mark(&e.run)
	case m.Device != nil:
		return e.device(*m.Device)
	case m.Build != nil:
		return e.build(*m.Build)
	case m.Kernel != nil:
		return e.kernel(*m.Kernel)
	case m.Begin != nil:
		e.config, e.repeat, e.result = *m.Begin, 0, nil
	case m.Launch != nil:
		e.result = m.Launch
		c := e.program.Launches[e.config]
		if m.Launch.Error != "" {
			return e.failed(c, m.Launch.Error)
		}
		return nil
	case m.Timing != nil:
		return e.timing(e.program.Launches[e.config], *m.Timing, offset)
	}
	return nil
}

// device says once on which device a run is; a second child is on the same.
func (e *emitter) device(d deviceFacts) error {
	if e.run.ToolVersion != "" {
		return nil
	}
	e.run.ToolVersion = d.get("driver_version")
	if d.GPU {
		e.machine.GPU = d.get("name")
		e.machine.Arch = ""
		e.machine.Driver = d.get("driver_version")
		e.machine.Units, e.machine.ClockHz, e.machine.MemBytes = positive(d.number("max_compute_units")), datasets.Null[float64]{}, positive(d.number("global_mem_size"))
		e.machine.MemHz = datasets.Null[float64]{}
		if mhz := d.number("max_clock_frequency"); mhz > 0 {
			e.machine.ClockHz = datasets.Some(float64(mhz) * 1e6)
		}
	}
	for _, f := range append([]fact{{"platform.name", d.Platform}, {"platform.version", d.PlatformVersion}, {"platform.vendor", d.PlatformVendor}}, prefixed("device.", d.Facts)...) {
		if err := e.attribute(0, 0, f.Name, f.Value); err != nil {
			return err
		}
	}
	return nil
}

func prefixed(prefix string, fs []fact) []fact {
	named := make([]fact, len(fs))
	for i, f := range fs {
		named[i] = fact{prefix + f.Name, f.Value}
	}
	return named
}

func positive(n int64) datasets.Null[int64] { return datasets.Null[int64]{V: n, Valid: n > 0} }

// diagnostic matches a compiler's message of an error: line, column, text.
// Most write "FILE:5:27: error: text", PoCL "error: FILE:5:27: text".
var diagnostic = regexp.MustCompile(`(?m)^(?:error: [^\n]*?:(\d+):(\d+): |[^\n]*?:(\d+):(\d+): (?:fatal )?error: )([^\n]*)`)

func (e *emitter) build(b buildResult) error {
	if e.anythingDone { // of a child after a crash
		return nil
	}
	e.anythingDone = true
	for _, f := range []fact{{"source", e.program.Source}, {"source.path", e.program.Path}, {"build.options", e.program.Options}, {"build.log", b.Log}} {
		if err := e.attribute(0, 0, f.Name, f.Value); err != nil {
			return err
		}
	}
	if b.Error == "" {
		return nil
	}
	e.buildFailed = true
	e.run.Status = datasets.RunFailed
	e.run.Error = fmt.Sprintf("%s was not built: %s", e.program.Path, b.Error)
	lines := strings.Split(e.program.Source, "\n")
	for i, m := range diagnostic.FindAllStringSubmatch(b.Log, 20) {
		at, column := m[1]+m[3], m[2]+m[4]
		line, _ := strconv.Atoi(at)
		text := ""
		if line >= 1 && line <= len(lines) {
			text = strings.TrimSpace(lines[line-1])
		}
		fault := fmt.Sprintf("%s:%s:%s: %s: in `%s`", e.program.Path, at, column, m[5], text)
		if i == 0 {
			e.run.Error += ": " + fault
		}
		if err := e.attribute(0, 0, fmt.Sprintf("build.error.%d", i), fault); err != nil {
			return err
		}
	}
	return nil
}

func (e *emitter) region(name string) (int64, error) {
	if id, ok := e.kernels[name]; ok {
		return id, nil
	}
	e.regions++
	e.kernels[name] = e.regions
	err := e.out.Put(&datasets.Region{ID: e.regions, Run: e.run.ID, Kind: datasets.KindKernel, Raw: name, Short: name, Module: e.program.Path})
	if err != nil {
		return 0, err
	}
	first, body := kernelLines(e.program.Source, name)
	for i, l := range body {
		e.codes++
		if err := e.out.Put(&datasets.Code{ID: e.codes, Run: e.run.ID, Region: e.regions, ISA: "source", Text: l, File: e.program.Path, Line: datasets.Some(int64(first + i))}); err != nil {
			return 0, err
		}
	}
	return e.regions, nil
}

func (e *emitter) kernel(k kernelFacts) error {
	if _, ok := e.kernels[k.Name]; ok {
		return nil
	}
	region, err := e.region(k.Name)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(k.Features)) {
		if err := e.out.Put(&datasets.StaticFeature{Run: e.run.ID, Region: region, Name: name, Value: datasets.Some(k.Features[name])}); err != nil {
			return err
		}
	}
	for _, f := range k.Facts {
		if err := e.attribute(region, 0, f.Name, f.Value); err != nil {
			return err
		}
	}
	return nil
}

// newLaunch emits a launch of a configuration with what is known of it.
func (e *emitter) newLaunch(c launch, l datasets.Launch) (datasets.Launch, error) {
	region, err := e.region(c.Kernel)
	if err != nil {
		return l, err
	}
	e.launches++
	l.ID, l.Run, l.Region, l.Sequence = e.launches, e.run.ID, region, datasets.Some(e.sequence)
	l.ToolID = fmt.Sprintf("%d.%d", e.config, e.repeat)
	e.sequence++
	if len(c.Local) > 0 {
		for i := range 3 {
			l.Grid[i], l.Block[i] = datasets.Some[int64](1), datasets.Some[int64](1)
			if i < len(c.Global) {
				l.Block[i] = datasets.Some(int64(c.Local[i]))
				l.Grid[i] = datasets.Some(int64((c.Global[i] + c.Local[i] - 1) / c.Local[i]))
			}
		}
	}
	local := int64(0)
	var args []string
	for _, spec := range c.Args {
		if a, err := parseArgument(spec); err == nil && a.Kind == "local" {
			local += int64(a.Count)
		}
		args = append(args, spec)
	}
	if local > 0 {
		l.Smem = datasets.Some(local)
	}
	if err := e.out.Put(&l); err != nil {
		return l, err
	}
	facts := []fact{{"global_size", join(c.Global)}, {"local_size", join(c.Local)}, {"args", strings.Join(args, " ")},
		{"configuration", strconv.Itoa(e.config)}, {"repeat", strconv.FormatInt(e.repeat, 10)}}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		facts = append(facts, fact{"param." + name, strconv.FormatInt(c.Params[name], 10)})
	}
	for _, f := range facts {
		if err := e.attribute(0, l.ID, f.Name, f.Value); err != nil {
			return l, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Work)) {
		v := c.Work[name]
		if err := e.counter(l, "declared_"+name, name, v, strconv.FormatFloat(v, 'f', -1, 64), name); err != nil {
			return l, err
		}
	}
	return l, nil
}

func join(ns []uint64) string {
	var s []string
	for _, n := range ns {
		s = append(s, strconv.FormatUint(n, 10))
	}
	return strings.Join(s, ",")
}

func (e *emitter) counter(l datasets.Launch, metric, unit string, v float64, raw, rawUnit string) error {
	return e.out.Put(&datasets.Counter{Run: l.Run, Region: l.Region, Launch: l.ID, Metric: metric, Value: datasets.Some(v), Unit: unit,
		RawValue: raw, RawUnit: rawUnit, Status: datasets.StatusOK})
}

func (e *emitter) timing(c launch, t timing, offset int64) error {
	l := datasets.Launch{StartNs: datasets.Some(offset + t.AtNs)}
	if t.Profiled {
		l.DurNs = datasets.Some(int64(t.End - t.Start))
	}
	l, err := e.newLaunch(c, l)
	if err != nil {
		return err
	}
	for _, m := range []struct {
		name     string
		from, to uint64
	}{{"kernel_time", t.Start, t.End}, {"queued_to_submit", t.Queued, t.Submit}, {"submit_to_start", t.Submit, t.Start}} {
		if !t.Profiled {
			err = e.out.Put(&datasets.Counter{Run: l.Run, Region: l.Region, Launch: l.ID, Metric: m.name, Unit: "s", Status: datasets.StatusUnsupported})
		} else {
			err = e.nanoseconds(l, m.name, int64(m.to-m.from))
		}
		if err != nil {
			return err
		}
	}
	if err := e.nanoseconds(l, "host_time", t.HostNs); err != nil {
		return err
	}
	if e.repeat == 0 && e.result != nil {
		if err := e.outputs(l, *e.result); err != nil {
			return err
		}
	}
	e.repeat++
	return nil
}

func (e *emitter) nanoseconds(l datasets.Launch, metric string, ns int64) error {
	return e.counter(l, metric, "s", float64(ns)/1e9, strconv.FormatInt(ns, 10), "ns")
}

// outputs are said once for a configuration, at its first launch.
func (e *emitter) outputs(l datasets.Launch, r launchResult) error {
	if r.Bytes > 0 {
		if err := e.counter(l, "buffer_size", "byte", float64(r.Bytes), strconv.FormatUint(r.Bytes, 10), "byte"); err != nil {
			return err
		}
	}
	for _, o := range r.Outputs {
		for _, f := range []fact{{"sha256", o.SHA256}, {"sum", o.Sum.String()}, {"nonfinite", strconv.FormatInt(o.NonFinite, 10)}, {"fault", o.Fault}} {
			if err := e.attribute(0, l.ID, "output."+o.Name+"."+f.Name, f.Value); err != nil {
				return err
			}
		}
	}
	return nil
}

// failed records a configuration that was not timed.
func (e *emitter) failed(c launch, how string) error {
	e.faults = append(e.faults, fmt.Sprintf("%s with global size %s, local size %s: %s", c.Kernel, join(c.Global), orDriver(join(c.Local)), how))
	l, err := e.newLaunch(c, datasets.Launch{})
	if err != nil {
		return err
	}
	if e.result != nil {
		if err := e.outputs(l, *e.result); err != nil {
			return err
		}
	}
	if err := e.out.Put(&datasets.Counter{Run: l.Run, Region: l.Region, Launch: l.ID, Metric: "kernel_time", Unit: "s", Status: datasets.StatusMissing}); err != nil {
		return err
	}
	return e.attribute(0, l.ID, "error", how)
}

func orDriver(local string) string {
	if local == "" {
		return "of the driver's choice"
	}
	return local
}

func (e *emitter) crashed(c crash) error {
	if c.launch < 0 {
		e.faults = append(e.faults, "before any launch: "+c.how)
		return nil
	}
	return e.failed(e.program.Launches[c.launch], c.how)
}

// end emits the run, whose status is known now.
func (e *emitter) end() error {
	if !e.machinePut {
		e.machinePut = true
		e.machine.ID = 1
		if err := e.out.Put(&e.machine); err != nil {
			return err
		}
	}
	if len(e.faults) > 0 && e.run.Status == datasets.RunOK {
		e.run.Status = datasets.RunFailed
		e.run.Error = e.faults[0]
		if n := len(e.faults) - 1; n > 0 {
			e.run.Error += fmt.Sprintf("; and %d more failures", n)
		}
	}
	for _, f := range e.state {
		if err := e.attribute(0, 0, f.Name, f.Value); err != nil {
			return err
		}
	}
	return e.out.Put(&e.run)
}

// kernelLines finds the lines of a kernel's function: from the line with its
// qualifier to the brace that closes it. It returns the number of the first.
func kernelLines(source, name string) (int, []string) {
	def := regexp.MustCompile(`(?s)(?:__kernel|\bkernel)\b[^;{}]*?\b` + regexp.QuoteMeta(name) + `\s*\(`)
	at := def.FindStringIndex(source)
	if at == nil {
		return 0, nil
	}
	depth, end := 0, len(source)
	for i := at[1]; i < len(source); i++ {
		switch source[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 && source[i] == '}' {
			end = i + 1
			break
		}
	}
	start := bytes.LastIndexByte([]byte(source[:at[0]]), '\n') + 1
	if n := strings.IndexByte(source[end:], '\n'); n >= 0 {
		end += n
	} else {
		end = len(source)
	}
	return 1 + strings.Count(source[:start], "\n"), strings.Split(source[start:end], "\n")
}
