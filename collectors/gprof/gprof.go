// Package gprof reads the text of GNU gprof: the flat profile and the call
// graph, with their explanations or without (-b), by function or by line (-l).
//
// Out flow one run and a region per function, with the counters "self seconds",
// "cumulative seconds", "% time", "calls", "self per call" and "total per call"
// (seconds). The call graph adds "called", "recursive calls", "graph % time",
// "graph self" and "graph children", and below each function a region per
// function that it called, with "arc self", "arc children", "arc calls" and
// "arc calls of all" (how often it was called in all). gprof has no call tree
// but a graph: what it says of a callee is an estimate, spread by calls.
// "inclusive seconds" is self and children together, for functions and for what
// they called. The run's time is "self seconds", exclusive, so that sums over
// functions are right.
//
// gmon.out itself says nothing without the program and is refused.
package gprof

import (
	"bytes"
	"context"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "gprof",
		About:   "GNU gprof, flat profile and call graph",
		Version: 2,
		Detect: func(h collectors.Head) collectors.Confidence {
			switch {
			case h.Has("cumulative ") && isFlatTitle(h.Bytes), bytes.Contains(h.Bytes, []byte("granularity: each sample hit covers ")):
				return collectors.Certain
			case bytes.HasPrefix(h.Bytes, []byte("Flat profile:")):
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: parse,
	})
	collectors.Register(collectors.Format{
		Name:    "gprof-gmon",
		About:   "GNU gprof, gmon.out (refused: gprof itself must read it)",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if bytes.HasPrefix(h.Bytes, []byte("gmon")) && len(h.Bytes) > 8 && (bytes.HasPrefix(h.Bytes[4:], []byte{1, 0, 0, 0}) || bytes.HasPrefix(h.Bytes[4:], []byte{0, 0, 0, 1})) {
				return collectors.Certain
			}
			if h.Name == "gmon.out" && bytes.IndexByte(h.Bytes, 0) >= 0 {
				return collectors.Possible
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "gprof's raw gmon.out, whose addresses only the program explains",
				Hint: "run: gprof PROGRAM " + in.Name + " > profile.txt, and import profile.txt"}
		},
	})
}

// isFlatTitle looks for the two lines of titles above a flat profile.
func isFlatTitle(b []byte) bool {
	first := false
	for line := range bytes.Lines(b) {
		f := strings.Join(strings.Fields(string(line)), " ")
		if first && strings.HasPrefix(f, "time seconds seconds calls") {
			return true
		}
		first = f == "% cumulative self self total" || f == "% cumulative self self"
	}
	return false
}

// Parts of the text.
type section int

const (
	between section = iota
	flatTable
	graphTable
)

const runID = 1

type reader struct {
	in      *collectors.Input
	out     *collectors.Output
	run     datasets.Run
	style   collectors.Style
	styled  bool
	at      section
	perCall [2]int // powers of ten of the two columns per call
	regions map[string]int64
	flat    map[int64]bool // functions whose own time is known
	next    int64
	entry   entry // of the call graph
	idle    bool  // no time accumulated
	flats   int   // how many flat profiles there were
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, style: collectors.Dot, regions: map[string]int64{}, flat: map[int64]bool{},
		run: datasets.Run{ID: runID, Tool: "gprof", Format: "gprof", Status: datasets.RunOK}}
	known, last := false, 0
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		last = line
		s := strings.TrimRight(string(text), " \t")
		before := r.at
		err = r.take(strings.TrimLeft(s, "\f"), line)
		if !ended && s != "" && (before != between || r.at != between) {
			return in.Cut(line, len(text), "the file is cut: run gprof again")
		}
		if err != nil {
			return err
		}
		known = known || r.at != between || strings.HasPrefix(s, "Flat profile:")
	}
	if !known {
		e := in.Syntax(max(last, 1), 1, "the text holds neither a flat profile nor a call graph")
		e.Expected = `"Flat profile:" or "Call graph"`
		if last == 0 {
			e.Msg = "the file is empty"
		}
		return e
	}
	if r.at == graphTable && r.entry.open {
		e := in.Syntax(last+1, 1, "the file ends within an entry of the call graph")
		e.Expected, e.Hint = "a line of dashes", "the file is cut: run gprof again"
		return e
	}
	return r.end()
}

func (r *reader) end() error {
	switch {
	case len(r.regions) == 0:
		r.run.Status, r.run.Error = datasets.RunEmpty, "the profile names no function"
		if r.idle {
			r.run.Error = "no time accumulated: the program ended before its first sample, or was not compiled and linked with -pg"
		}
		r.out.Warn(0, 0, "%s", r.run.Error)
	default:
		r.run.TimeMetric = "self seconds"
		if r.idle {
			r.out.Warn(0, 0, "no time accumulated: only the calls say something")
		}
	}
	return r.out.Put(&r.run)
}

func (r *reader) take(s string, line int) error {
	f := strings.Join(strings.Fields(s), " ")
	switch {
	case strings.HasPrefix(f, "Each sample counts as "):
		r.at = between
		value := strings.TrimSuffix(strings.TrimPrefix(f, "Each sample counts as "), ".")
		return r.out.Put(&datasets.Attribute{Run: runID, Name: "each sample counts as", Value: value})
	case f == "no time accumulated":
		r.idle = true
		return nil
	case strings.HasPrefix(f, "granularity: each sample hit covers "):
		return r.out.Put(&datasets.Attribute{Run: runID, Name: "granularity", Value: strings.TrimPrefix(f, "granularity: ")})
	case strings.HasPrefix(f, "time seconds seconds calls "):
		if r.flats++; r.flats > 1 {
			e := r.in.Syntax(line, 1, "another flat profile begins here, and the times of both would be one")
			e.Hint = "cut the file into one file per run of gprof"
			return e
		}
		r.at = flatTable
		return r.units(f, line)
	case strings.HasPrefix(f, "index % time self children called name"), strings.HasPrefix(f, "index %time self descendents called+self name"),
		strings.HasPrefix(f, "index %time self descendants called/total parents"):
		r.at = graphTable
		return nil
	case strings.HasPrefix(f, "Index by function name"):
		r.at = between
		return nil
	}
	switch r.at {
	case flatTable:
		if f == "" {
			r.at = between
			return nil
		}
		return r.flatRow(s, line)
	case graphTable:
		if f == "" {
			if !r.entry.open {
				r.at = between
			}
			return nil
		}
		return r.graphRow(s, line)
	}
	return nil
}
