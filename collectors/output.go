package collectors

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/datasets"
)

// maxWarnings is how many warnings of one file are kept; the rest is counted.
const maxWarnings = 50

// Output takes what a parser finds: records go on to a Sink, warnings are kept.
type Output struct {
	datasets.Sink
	// Warnings are the first ones; More says how many there were besides.
	Warnings []Warning
	More     int

	file string
	in   *Input // that is read, where it is known
}

// lines is how many lines were read, 0 where that is not known.
func (o *Output) lines() int {
	if o.in == nil {
		return 0
	}
	return o.in.line
}

// NewOutput returns an Output for a file, in front of a sink.
func NewOutput(file string, sink datasets.Sink) *Output { return &Output{Sink: sink, file: file} }

// Warn adds a warning about a place in the file; line 0 is the file as a whole.
func (o *Output) Warn(line, column int, format string, args ...any) {
	if len(o.Warnings) == maxWarnings {
		o.More++
		return
	}
	o.Warnings = append(o.Warnings, Warning{o.file, line, column, fmt.Sprintf(format, args...)})
}

// Put passes a record on. A number that can be none of a measurement, such as a
// negative size of a grid, is an error: the file is damaged, or was misread.
func (o *Output) Put(r datasets.Record) error {
	if what := impossible(r); what != "" {
		return &SyntaxError{File: o.file, Line: o.lines(), Msg: what, Hint: "the file is damaged: get it again, or make it again"}
	}
	return o.Sink.Put(r)
}

// impossible names the number of a record that cannot be.
func impossible(r datasets.Record) string {
	switch r := r.(type) {
	case *datasets.Counter: // nearly all records are
		if v := r.Value; v.Valid && (math.IsNaN(v.V) || math.IsInf(v.V, 0)) {
			return "the value of " + r.Metric + " is no finite number"
		}
		if c := r.Coverage; c.Valid && !(c.V >= 0 && c.V <= mostCoverage) {
			return fmt.Sprintf("%s was counted during %g %% of the time", r.Metric, c.V)
		}
	case *datasets.Launch:
		for _, n := range [...]struct {
			what string
			v    datasets.Null[int64]
		}{{"size of a grid", r.Grid[0]}, {"size of a grid", r.Grid[1]}, {"size of a grid", r.Grid[2]}, {"size of a block", r.Block[0]}, {"size of a block", r.Block[1]},
			{"size of a block", r.Block[2]}, {"number of registers", r.Regs}, {"size of shared memory", r.Smem}, {"duration", r.DurNs}} {
			if n.v.V < 0 {
				return fmt.Sprintf("a launch has a %s of %d", n.what, n.v.V)
			}
		}
	case *datasets.Telemetry:
		if v := r.Value; v.Valid && (math.IsNaN(v.V) || math.IsInf(v.V, 0)) {
			return "a reading of " + r.Sensor + " is no finite number"
		}
	case *datasets.Machine:
		if r.MemBytes.V < 0 || r.Units.V < 0 {
			return fmt.Sprintf("the machine has a memory of %d bytes and %d units", r.MemBytes.V, r.Units.V)
		}
	}
	return ""
}

// mostCoverage is what percentages of the time may come to by rounding.
const mostCoverage = 100.5
