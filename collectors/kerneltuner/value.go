package kerneltuner

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, regionID, machineID = 1, 1, 1

// noKernel is the name of a kernel that the file does not name.
const noKernel = "(kernel)"

// tuning emits the configurations of a file.
type tuning struct {
	in      *collectors.Input
	out     *collectors.Output
	j       *collectors.JSON
	run     datasets.Run
	machine datasets.Machine
	kernel  string
	count   int64
	timed   bool // some configuration has a time
	warned  map[string]bool
}

func newTuning(in *collectors.Input, out *collectors.Output, format string) *tuning {
	return &tuning{in: in, out: out, j: collectors.NewLooseJSON(in), warned: map[string]bool{},
		run:     datasets.Run{ID: runID, Tool: "kernel_tuner", Format: format, Status: datasets.RunOK},
		machine: datasets.Machine{ID: machineID}}
}

// pair is a member of a JSON object, in the order of the file.
type pair struct {
	key   string
	value any
}

// pairs reads an object whose first brace is still to come.
func (t *tuning) pairs(what string) ([]pair, error) {
	if err := t.j.Delim('{', what); err != nil {
		return nil, err
	}
	var ps []pair
	seen := map[string]bool{}
	for t.j.More() {
		key, err := t.j.Member(seen, what)
		if err != nil {
			return nil, err
		}
		var v any
		if err := t.j.Decode(&v); err != nil {
			return nil, t.j.Wrap(err)
		}
		ps = append(ps, pair{key, v})
	}
	return ps, t.j.Delim('}', what)
}

// units of the numbers that Kernel Tuner and its observers write.
var units = map[string]string{
	"time": "ms", "times": "ms", "compile_time": "ms", "verification_time": "ms", "benchmark_time": "ms", "strategy_time": "ms", "framework_time": "ms",
	"nvml_energy": "J", "ps_energy": "J", "pwr_energy": "J", "pmt_energy": "J", "nvml_power": "W", "ps_power": "W", "pwr_power": "W",
	"core_freq": "MHz", "pwr_core_freq": "MHz", "mem_freq": "MHz", "gr_voltage": "mV", "temperature": "°C",
}

// rates are names of users' metrics that are units themselves.
var rates = map[string]collectors.Unit{
	"gflop/s": {Base: "flop/s", Exp10: 9}, "gflops": {Base: "flop/s", Exp10: 9}, "gflops/s": {Base: "flop/s", Exp10: 9}, "tflop/s": {Base: "flop/s", Exp10: 12}, "tflops": {Base: "flop/s", Exp10: 12},
	"gb/s": {Base: "byte/s", Exp10: 9}, "gib/s": {Base: "byte/s", Exp2: 30}, "tb/s": {Base: "byte/s", Exp10: 12}, "mb/s": {Base: "byte/s", Exp10: 6},
}

// more units, which only tuners write.
var moreUnits = map[string]collectors.Unit{"mv": {Base: "V", Exp10: -3}, "mw": {Base: "W", Exp10: -3}, "mj": {Base: "J", Exp10: -3}, "uj": {Base: "J", Exp10: -6}, "j": {Base: "J"}, "w": {Base: "W"}}

// noUnit is the written unit of a number whose name tells nothing either.
const noUnit = "(none)"

// unitOf returns the unit of a metric; written is what the file says.
func unitOf(metric, written string) (string, collectors.Unit) {
	if written == noUnit {
		return "", collectors.Unit{}
	}
	if written == "" {
		written = units[metric]
	}
	if written == "" {
		if u, ok := rates[strings.ToLower(metric)]; ok {
			return metric, u
		}
		return "", collectors.Unit{}
	}
	if u, ok := moreUnits[strings.ToLower(written)]; ok {
		return written, u
	}
	return written, collectors.ParseUnit(written)
}

// failures are Kernel Tuner's errors in terms of the T4 schema.
var failures = map[string]string{"CompilationFailedConfig": "compile", "RuntimeFailedConfig": "runtime", "InvalidConfig": "constraints", "CorrectnessFailedConfig": "correctness", "TimeoutConfig": "timeout", "ErrorConfig": "unknown"}

// oldFailure is the time of a failed configuration in old caches.
const oldFailure = 1e20

// counter emits one number; ok is false where there is none.
func (t *tuning) counter(launch int64, metric, instance, written string, v any) (value datasets.Null[float64], ok bool, err error) {
	raw, base := unitOf(metric, written)
	c := datasets.Counter{Run: runID, Region: regionID, Launch: launch, Metric: metric, Instance: instance, Unit: base.Base, RawUnit: raw, RawValue: collectors.JSONText(v), Status: datasets.StatusNA}
	switch v := v.(type) {
	case json.Number:
		n, err := base.Scale(v.String(), collectors.Dot)
		if err != nil {
			return value, false, t.j.Syntax("the value of " + collectors.Quote(metric) + " fits no number of 64 bits: " + collectors.Quote(v.String()))
		}
		c.Value, c.Status = datasets.Some(n), datasets.StatusOK
	case nil:
	case string:
		if _, not := collectors.NotFinite(v); !not && failures[v] == "" {
			return value, false, nil
		}
	default:
		return value, false, nil
	}
	return c.Value, true, t.out.Put(&c)
}

// list emits a list of numbers as instances; ok is false where it holds
// anything else.
func (t *tuning) list(launch int64, metric, written string, v any) (ok bool, err error) {
	list, isList := v.([]any)
	if !isList || len(list) == 0 {
		return false, nil
	}
	for _, e := range list {
		if _, num := e.(json.Number); num || e == nil {
			continue
		}
		if _, not := collectors.NotFinite(e); !not {
			return false, nil
		}
	}
	for i, e := range list {
		if _, _, err := t.counter(launch, metric, strconv.Itoa(i), written, e); err != nil {
			return false, err
		}
	}
	return true, nil
}

func (t *tuning) attribute(region, launch int64, name, value string) error {
	return t.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launch, Name: name, Value: value})
}

// parameter emits a tuning parameter and takes what it says of the launch.
func (t *tuning) parameter(l *datasets.Launch, name string, v any) error {
	for i, n := range []string{"block_size_x", "block_size_y", "block_size_z"} {
		if name == n {
			if size, err := strconv.ParseInt(collectors.JSONText(v), 10, 64); err == nil && size > 0 {
				l.Block[i] = datasets.Some(size)
			}
		}
	}
	return t.attribute(regionID, l.ID, name, collectors.JSONText(v))
}

// launch returns the launch of the next configuration.
func (t *tuning) launch(id string) *datasets.Launch {
	t.count++
	return &datasets.Launch{ID: t.count, Run: runID, Region: regionID, Sequence: datasets.Some(t.count - 1), ToolID: id}
}

// duration sets a launch's duration from seconds.
func duration(l *datasets.Launch, seconds float64) {
	if ns := math.Round(seconds * 1e9); ns >= 0 && ns < 1<<62 {
		l.DurNs = datasets.Some(int64(ns))
	}
}

// finish emits kernel, machine and run.
func (t *tuning) finish() error {
	if t.kernel == "" {
		t.kernel = noKernel
	}
	if t.timed {
		t.run.TimeMetric = "time"
	}
	if t.count == 0 {
		t.run.Status = datasets.RunEmpty
		if t.run.Error == "" {
			t.run.Error = "the file holds no configuration"
			t.out.Warn(0, 0, "%s", t.run.Error)
		}
	}
	if t.machine.GPU != "" {
		t.run.Machine = machineID
		if err := t.out.Put(&t.machine); err != nil {
			return err
		}
	}
	if err := t.out.Put(&datasets.Region{ID: regionID, Run: runID, Kind: datasets.KindKernel, Raw: t.kernel, Short: collectors.ShortName(t.kernel)}); err != nil {
		return err
	}
	return t.out.Put(&t.run)
}

// end checks that nothing follows the file's object.
func (t *tuning) end() error {
	if _, err := t.j.Token(); err == nil {
		e := t.j.Syntax("the file goes on after its object")
		e.Hint = "two files in one have to be cut apart"
		return e
	}
	return nil
}
