// Package perfreport reads the tables of `perf report --stdio`, in columns or
// with a separator (-t), and knows perf's other files by sight: perf.data and
// perf annotate are refused with what to run instead.
//
// A report has a table per event:
//
//	# Samples: 12K of event 'cycles:u'
//	# Event count (approx.): 9876543210
//	#
//	# Children      Self  Command  Shared Object  Symbol
//	# ........  ........  .......  .............  ......
//	#
//	    99.00%     0.00%  solve    libc.so.6      [.] main
//	            |
//	            ---main
//
// The dots tell where the columns are. Out flow one run and a region per symbol
// and shared object. A launch is a row, its command an attribute; rows of the
// same command and symbol in several events are one. The counters are the
// columns "Overhead", "Children" and "Self" in %, with the event as their
// instance; "samples" (-n); and, where the report has the column Period, one
// with the event's name. Columns of text are attributes. The number of samples
// and the event count of a table are attributes of the run ("samples of
// cycles:u"), as perf rounds them ("12K").
//
// Call graphs below a row are left out: their percentages are relative to what
// options say that the text does not repeat. perf script has the stacks.
package perfreport

import (
	"bytes"
	"context"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "perf-report",
		About:   "Linux perf report --stdio",
		Version: 2,
		Detect:  detect,
		Parse:   parse,
	})
	collectors.Register(collectors.Format{
		Name:    "perf-data",
		About:   "Linux perf, perf.data (refused: perf itself must read it)",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if bytes.HasPrefix(h.Bytes, []byte("PERFILE")) || bytes.HasPrefix(h.Bytes, []byte("2ELIFREP")) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "perf's raw recording, whose addresses only the machine with the binaries explains",
				Hint: "run there: perf script -i " + in.Name + " --header > samples.txt (after perf stat record: perf stat report -i " + in.Name + " 2> counts.txt), and import the text"}
		},
	})
	collectors.Register(collectors.Format{
		Name:    "perf-annotate",
		About:   "Linux perf annotate (refused: its percentages are per symbol)",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			first, _, _ := bytes.Cut(bytes.TrimSpace(h.Bytes), []byte("\n"))
			if bytes.HasPrefix(first, []byte("Percent")) && bytes.Contains(first, []byte("Source code & Disassembly of ")) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "the text of perf annotate, which has percentages of each symbol and no counts",
				Hint: "run: perf script > samples.txt, or perf report --stdio -n > report.txt, and import that"}
		},
	})
}

func detect(h collectors.Head) collectors.Confidence {
	if !h.HasLine("# ") || !h.Has("# Samples: ", "Overhead", "Children") {
		return collectors.No
	}
	noise := 0 // perf's remarks about symbols that it does not find
	for line := range bytes.Lines(h.Bytes) {
		s := strings.TrimRight(string(line), "\r\n ")
		if isTableTitle(s) {
			return collectors.Certain
		}
		if strings.HasPrefix(s, "# Samples: ") && strings.Contains(s, " of event ") {
			return collectors.Certain
		}
		if s != "" && s[0] != '#' {
			if noise++; noise > 100 {
				return collectors.No
			}
		}
	}
	return collectors.No
}

// isTableTitle knows the line that names a table's columns.
func isTableTitle(s string) bool {
	t := strings.TrimLeft(strings.TrimPrefix(s, "#"), " ")
	if !strings.HasPrefix(s, "# ") {
		return false
	}
	for _, first := range []string{"Overhead", "Children"} {
		if rest, ok := strings.CutPrefix(t, first); ok && rest != "" {
			return true
		}
	}
	return false
}
