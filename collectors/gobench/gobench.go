// Package gobench reads the results of Go's benchmarks: what `go test -bench`
// prints (plain or with -json), with lines of configuration, units and notes,
// several packages and repeats; and the JSON of comparisons over time that
// golang.org/x/perf's benchseries writes.
//
// In flows the text, out flows one run:
//
//	region     a benchmark of a package (module), kind "function": raw is its
//	           whole name, short is without "Benchmark" and -GOMAXPROCS
//	attribute  of the region: /key=value parts of the name by their key, other
//	           parts as sub.1, sub.2, and gomaxprocs
//	launch     one per line of results: repeats are launches of one region
//	attribute  of the launch: the configuration in force, as "goos", "note";
//	           of the run: "unit NAME KEY", what Unit lines say
//	counter    iterations, and every value by its unit as benchstat calls it:
//	           sec/op, B/s, B/op, allocs/op, and those of ReportMetric. Values
//	           are in seconds and bytes; raw_unit is what was printed (ns/op)
//
// A benchmark that failed or was skipped is a launch with the attribute status
// ("fail", "skip") and without counters, and a run with a failure has the
// status "failed". Lines that are no results are passed over, as Go's own
// tools do: programs print what they like.
package gobench

import (
	"bytes"
	"regexp"

	"github.com/rooflab/rooflab/collectors"
)

const (
	formatText   = "go-bench"
	formatSeries = "go-benchseries"
	runID        = 1
)

func init() {
	collectors.Register(collectors.Format{Name: formatText, About: "Go benchmarks (go test -bench)", Version: 1, Detect: detect, Parse: parse})
	collectors.Register(collectors.Format{Name: formatSeries, About: "Go benchmarks, comparisons over time (benchseries)", Version: 1, Detect: detectSeries, Parse: parseSeries})
}

var (
	resultLine = regexp.MustCompile(`(?m)^Benchmark\S*[ \t]+[0-9]+[ \t]+[-+0-9.eEInfNa]+[ \t]+\S+`)
	jsonLine   = regexp.MustCompile(`(?m)^\{"Time":"[^"]*","Action":"(start|run|output)"`)
	pieces     = regexp.MustCompile(`"Output":"Benchmark[^a-z]`)
	configLine = regexp.MustCompile(`(?m)^(goos|goarch|pkg): \S`)
	headName   = regexp.MustCompile(`(?m)^Benchmark[A-Z0-9_]\S*(-[0-9]+)?[ \t]*\r?$`)
)

func detect(h collectors.Head) collectors.Confidence {
	switch {
	case !h.HasLine("Benchmark", `{"Time":"`):
		return collectors.No
	case jsonLine.Match(h.Bytes):
		if pieces.Match(h.Bytes) || bytes.Contains(h.Bytes, []byte(`"Test":"Benchmark`)) {
			return collectors.Certain
		}
		return collectors.No // tests without benchmarks
	case resultLine.Match(h.Bytes):
		return collectors.Certain
	case configLine.Match(h.Bytes) && headName.Match(h.Bytes):
		return collectors.Likely
	}
	return collectors.No
}

func detectSeries(h collectors.Head) collectors.Confidence {
	if !bytes.HasPrefix(bytes.TrimLeft(h.Bytes, " \t\r\n"), []byte("[")) {
		return collectors.No
	}
	n := 0
	for _, key := range []string{`"unit"`, `"benchmarks"`, `"series"`, `"summaries"`, `"hashpairs"`, `"residues"`} {
		if bytes.Contains(h.Bytes, []byte(key)) {
			n++
		}
	}
	if n >= 3 && bytes.Contains(h.Bytes, []byte(`"unit"`)) && bytes.Contains(h.Bytes, []byte(`"benchmarks"`)) {
		return collectors.Certain
	}
	return collectors.No
}
