// Package gbench reads the JSON of Google Benchmark, which other libraries
// write, too.
//
// In flows the JSON, out flows one run:
//
//	machine    host, processors and their clock
//	region     a benchmark, kind "function", by its run_name: aggregates and
//	           repetitions belong to it. Parts of the name behind slashes are
//	           attributes: threads:4 by its key, others as arg.0, arg.1
//	launch     one per row that was measured: repetitions are launches of one
//	           region; attributes repetition_index, threads, label, status
//	counter    of a launch: real_time and cpu_time per iteration, in seconds
//	           whatever the row's time_unit, iterations, and every counter of
//	           the user by its name
//	counter    of the region as a whole: aggregates, which are no measurements,
//	           under names of their own: real_time.mean, cpu_time.stddev,
//	           items_per_second.cv, real_coefficient.BigO, rms.RMS
//	attribute  of the run: what "context" says
//
// A row with an error, or that was skipped, is a launch with the attributes
// status ("error", "skipped") and message; its times have the status "na".
//
// Rows without run_type, of versions before 1.5, whose name ends in _mean,
// _median, _stddev or _cv behind the name of rows before are aggregates.
package gbench

import (
	"bytes"
	"context"
	"regexp"

	"github.com/rooflab/rooflab/collectors"
)

const (
	formatJSON       = "google-benchmark"
	formatText       = "google-benchmark-text"
	runID, machineID = 1, 1
)

func init() {
	collectors.Register(collectors.Format{Name: formatJSON, About: "Google Benchmark, JSON", Version: 1, Detect: detect, Parse: parse})
	collectors.Register(collectors.Format{Name: formatText, About: "Google Benchmark, console or CSV (recognised, not read)", Version: 1, Detect: detectText, Parse: refuse})
}

func detect(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	if !bytes.HasPrefix(b, []byte("{")) || !bytes.Contains(b, []byte(`"benchmarks"`)) {
		return collectors.No
	}
	n := 0
	for _, key := range []string{`"context"`, `"real_time"`, `"cpu_time"`, `"time_unit"`, `"run_name"`, `"num_cpus"`, `"library_build_type"`, `"iterations"`} {
		if bytes.Contains(b, []byte(key)) {
			n++
		}
	}
	switch {
	case n >= 3:
		return collectors.Certain
	case n == 2:
		return collectors.Likely
	}
	return collectors.No
}

var (
	console = regexp.MustCompile(`(?m)^Benchmark +Time +CPU +Iterations`)
	csvHead = regexp.MustCompile(`(?m)^name,iterations,real_time,cpu_time,time_unit,`)
)

func detectText(h collectors.Head) collectors.Confidence {
	if h.HasLine("Benchmark ", "name,iterations,") && (console.Match(h.Bytes) || csvHead.Match(h.Bytes)) {
		return collectors.Certain
	}
	return collectors.No
}

func refuse(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
	return &collectors.UnsupportedError{File: in.Name, What: "the console or CSV output of Google Benchmark, which rounds its values or leaves out what was measured on",
		Hint: "run the benchmark with --benchmark_out=FILE --benchmark_out_format=json"}
}
