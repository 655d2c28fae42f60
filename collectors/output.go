package collectors

import (
	"fmt"

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
