// Package ktt reads the results of the Kernel Tuning Toolkit: its JSON, and
// the CSV of its first versions (and of its converters), which public sets of
// tuning spaces use. Its results in the T4 schema are kerneltuner's.
//
// In flows the text, out flows one run with:
//
//	machine    the device
//	region     the tuned kernel, kind "range", and below it each kernel function
//	           that it runs, kind "kernel"
//	launch     of the tuned kernel: one per configuration, with TotalDuration
//	           and overheads; of a function: one per configuration, with its
//	           Duration and profiling counters, grid, block, registers (regs),
//	           local memory (smem), dur_ns. Both have the same tool id, the
//	           number of the configuration in the file
//	attribute  of both launches: every tuning parameter by its own name, status
//	           as KTT writes it and invalidity in the words of the T4 schema
//	           (correct, compile, runtime, correctness), as with Kernel Tuner;
//	           of the run: the metadata
//	counter    times in seconds; counters by their names
//
// KTT writes 2^64-1 ns for what it did not measure, and a configuration that
// failed has no duration: these counters have the status "na".
//
// The model's table is one query:
//
//	SELECT p.*, c.value AS seconds FROM
//	  (PIVOT (SELECT launch_id, name, value FROM attribute WHERE launch_id IS NOT NULL)
//	   ON name USING any_value(value) GROUP BY launch_id) p
//	JOIN counter c ON c.launch_id = p.launch_id AND c.metric = 'Duration'
//
// The CSV has one row per configuration and names parameters and counters
// alike. By KTT's custom, columns in capitals are parameters: they become
// attributes; all others are counters. There every configuration is one launch
// of a region of kind "kernel".
package ktt

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const (
	formatJSON       = "ktt-json"
	formatCSV        = "ktt-csv"
	formatXML        = "ktt-xml"
	runID, machineID = 1, 1
)

func init() {
	collectors.Register(collectors.Format{Name: formatJSON, About: "Kernel Tuning Toolkit, JSON", Version: 1, Detect: detectJSON, Parse: parseJSON})
	collectors.Register(collectors.Format{Name: formatCSV, About: "Kernel Tuning Toolkit, CSV of a tuning space", Version: 1, Detect: detectCSV, Parse: parseCSV})
	collectors.Register(collectors.Format{Name: formatXML, About: "Kernel Tuning Toolkit, XML (recognised, not read)", Version: 1, Detect: detectXML, Parse: refuseXML})
}

var jsonKeys = regexp.MustCompile(`"(KttVersion|GlobalSizeType|ComputeApi|ComputationResults|KernelFunction)"\s*:`)

func detectJSON(h collectors.Head) collectors.Confidence {
	if !bytes.HasPrefix(bytes.TrimLeft(h.Bytes, " \t\r\n"), []byte("{")) || !bytes.Contains(h.Bytes, []byte(`"Metadata"`)) && !bytes.Contains(h.Bytes, []byte(`"Results"`)) {
		return collectors.No
	}
	keys := map[string]bool{}
	for _, m := range jsonKeys.FindAllSubmatch(h.Bytes, 100) {
		keys[string(m[1])] = true
	}
	if len(keys) >= 2 {
		return collectors.Certain
	}
	return collectors.No
}

var csvHeader = regexp.MustCompile(`\A"?Kernel name"?[,;].*\b(Computation|Kernel) duration \((ns|us|ms|s)\)`)

func detectCSV(h collectors.Head) collectors.Confidence {
	if csvHeader.Match(h.Bytes) {
		return collectors.Certain
	}
	return collectors.No
}

func detectXML(h collectors.Head) collectors.Confidence {
	if bytes.Contains(h.Bytes, []byte("<KernelResult")) && bytes.Contains(h.Bytes, []byte("<Configuration")) {
		return collectors.Certain
	}
	return collectors.No
}

// invalidities are KTT's states of a result in the words of the T4 schema.
var invalidities = map[string]string{"Ok": "correct", "ComputationFailed": "runtime", "ValidationFailed": "correctness", "CompilationFailed": "compile", "DeviceLimitsExceeded": "runtime"}

func invalidity(status string) string {
	if s, ok := invalidities[status]; ok {
		return s
	}
	return "unknown"
}

// notMeasured says whether a time in seconds is KTT's 2^64-1 ns.
func notMeasured(s float64) bool { return s >= 1.8446e10 && s <= 1.8447e10 }

// unitOf returns the unit of a counter: what its type or its name say.
func unitOf(name, kind string) string {
	switch {
	case kind == "Percent", strings.Contains(name, ".pct"), strings.Contains(name, "_pct"):
		return "%"
	case kind == "Throughput":
		return "byte/s"
	}
	return ""
}

// number emits a number as a counter. unit is as it is written.
func number(out *collectors.Output, c datasets.Counter, n json.Number, unit string) (datasets.Null[float64], error) {
	u := collectors.ParseUnit(unit)
	if unit == "mW" {
		u = collectors.Unit{Base: "W", Exp10: -3}
	}
	v, err := u.Scale(n.String(), collectors.Dot)
	if err != nil {
		return datasets.Null[float64]{}, err
	}
	c.Run, c.RawValue, c.RawUnit, c.Unit = runID, n.String(), unit, u.Base
	c.Value, c.Status = datasets.Some(v), datasets.StatusOK
	if u.Base == "s" && notMeasured(v) {
		c.Value, c.Status = datasets.Null[float64]{}, datasets.StatusNA
	}
	return c.Value, out.Put(&c)
}
