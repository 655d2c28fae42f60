// Package rocprof reads what AMD's profilers write as CSV: results of rocprof
// (v1) and rocprofv2, which have one wide row per dispatch, and the tables of
// rocprofv3, which have one row per dispatch, counter, API call or copy.
//
// In flows the text, out flow one run, a region per kernel, function, marker
// or direction of copies, a launch per row (per dispatch, where a table has a
// row per counter) and a counter per value. Every event with two times has a
// counter "duration", which is the run's time.
//
// A grid is in work-items, as AMD's tools count it, not in workgroups. Where a
// table gives only the product of the three sizes the product is the launch's
// x, with y and z unknown: the run's attribute "grid" says which.
package rocprof

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "rocprof-csv",
		About:   "AMD rocprof, rocprofv2, rocprofv3: dispatches, counters, API calls, copies, statistics, agents (CSV)",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
		Parts:   agentsBeside,
	})
	collectors.Register(collectors.Format{
		Name:    "rocprofv3-json",
		About:   "AMD rocprofv3 --output-format json",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			b := bytes.TrimLeft(h.Bytes, " \t\r\n")
			if len(b) > 0 && b[0] == '{' && bytes.Contains(b[:min(len(b), 200)], []byte(`"rocprofiler-sdk-tool"`)) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: parseJSON,
	})
	collectors.Register(collectors.Format{
		Name:    "rocpd",
		About:   "rocprofv3 database (rocpd): recognised, to be converted first",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if bytes.HasPrefix(h.Bytes, []byte("SQLite format 3\x00")) && bytes.Contains(h.Bytes, []byte("rocpd_")) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "a rocpd database of rocprofv3",
				Hint: "convert it: rocpd convert -i " + in.Name + " --output-format csv, and import the folder that it writes; or profile with rocprofv3 --output-format csv"}
		},
	})
}

// kind is what the rows of a table are.
type kind int

const (
	kindNone       kind = iota
	kindDispatches      // v1 and v2: a wide row per dispatch
	kindKernels         // v3 kernel trace
	kindCounters        // v3 counter collection, a row per counter
	kindCalls           // API and marker traces
	kindCopies          // memory copies
	kindMemory          // allocations and scratch memory
	kindStats           // rocprof's, and pmc_kernel_top.csv of ROCm Compute Profiler
	kindAgents
	kindOps     // what rocprofv2 writes of kernels and copies when it traces HIP and HSA
	kindMarks   // points in time of rocprofv2's ROCTX traces
	kindSamples // PC samples
)

// kindOf tells a table by its header.
func kindOf(h *delimited.Header) kind {
	name := h.At("kernelname") >= 0
	switch {
	case h.Has("countername", "countervalue") && h.Has("dispatchid"):
		return kindCounters
	case name && h.Has("kind", "starttimestamp", "endtimestamp"):
		return kindKernels
	case name && (h.At("index", "dispatchid") >= 0 || h.Has("beginns", "endns")) && h.At("grd", "gridsize") >= 0 && h.At("wgr", "workgroupsize") >= 0:
		return kindDispatches
	case h.Has("domain", "function", "starttimestamp", "endtimestamp"):
		return kindCalls
	case h.Has("domain", "operation", "starttimestamp", "stoptimestamp"):
		return kindOps
	case h.Has("domain", "roctxid", "message", "timestamp"):
		return kindMarks
	case h.Has("kind", "direction", "starttimestamp", "endtimestamp"):
		return kindCopies
	case h.Has("kind", "operation", "starttimestamp"):
		return kindMemory
	case h.Has("name", "calls", "totaldurationns", "averagens", "percentage"), h.Has("kernelname", "count", "sum(ns)", "mean(ns)"):
		return kindStats
	case h.Has("nodeid", "agenttype"):
		return kindAgents
	case h.Has("sampletimestamp", "execmask"), h.Has("dispatchid", "timestamp", "pcsample"):
		return kindSamples
	}
	return kindNone
}

// headerLines is how far into a file its header is looked for.
const headerLines = 200

func detect(h collectors.Head) collectors.Confidence {
	switch head := Header(h); {
	case head == nil:
		return collectors.No
	case kindOf(head) == kindDispatches:
		return collectors.Likely // tables that ROCm Compute Profiler made of these have more
	}
	return collectors.Certain
}

// Header returns the header of the table of dispatches or events that a file
// is, as far as the file's head shows it; nil where it is none.
func Header(h collectors.Head) *delimited.Header {
	rest := h.Bytes
	if start := bytes.TrimLeft(rest, " \t\r\n"); len(start) > 0 && (start[0] == '{' || start[0] == '<' || start[0] == 0) {
		return nil // JSON, XML, binary: their lines can be long
	}
	if !h.Has(titles...) {
		return nil
	}
	for range headerLines {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		if len(line) == 0 && !ended {
			return nil
		}
		if !ended && !h.Whole { // counters of many channels make headers longer than the head
			line = line[:max(bytes.LastIndexByte(line, ','), 0)]
		}
		if text := strings.TrimRight(string(line), "\r"); !delimited.IsRow(text) {
			if c := asHeader(text); c != nil {
				return c
			}
		}
		if !ended {
			return nil
		}
		rest = more
	}
	return nil
}

// titles are parts of titles, of which each table has one.
var titles = []string{"ame", "unction", "irection", "peration", "gent", "xec", "ample", "essage"}

// anyOf says whether one of some texts is in a line: in each header there is.
func anyOf(line string, texts ...string) bool {
	for _, t := range texts {
		if strings.Contains(line, t) {
			return true
		}
	}
	return false
}

// asHeader returns the header that a line is, nil where it is none.
func asHeader(line string) *delimited.Header {
	if !anyOf(line, titles...) || strings.Count(line, ",") < 3 {
		return nil
	}
	cells, broken := delimited.Split(line, ',')
	if broken != nil {
		return nil
	}
	for len(cells) > 0 && cells[len(cells)-1].Text == "" {
		cells = cells[:len(cells)-1]
	}
	h := delimited.NewHeader(cells)
	if kindOf(h) == kindNone {
		return nil
	}
	return h
}

// tables are the endings of the files that rocprofv3 writes side by side.
var tables = []string{"_kernel_trace.csv", "_counter_collection.csv", "_hip_api_trace.csv", "_hsa_api_trace.csv",
	"_marker_api_trace.csv", "_memory_copy_trace.csv", "_memory_allocation_trace.csv", "_scratch_memory_trace.csv",
	"_rccl_api_trace.csv", "_kernel_stats.csv", "_hip_api_stats.csv", "_domain_stats.csv"}

// agentsBeside finds the table of agents that belongs to one of those.
func agentsBeside(path string) []string {
	base := filepath.Base(path)
	for _, t := range tables {
		if prefix, ok := strings.CutSuffix(base, t); ok {
			if found, err := filepath.Glob(escape(filepath.Join(filepath.Dir(path), prefix)) + "_agent_info.csv"); err == nil {
				return found
			}
		}
	}
	return nil
}

// escape makes a path stand for itself within a pattern.
func escape(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}
