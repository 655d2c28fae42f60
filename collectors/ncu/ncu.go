// Package ncu reads what Nsight Compute prints with --csv: the long form of
// --metrics and of the details page (a row per metric) and the raw page (a row
// per launch, units in the second row), with the tool's and the application's
// own output before, between and after, of all versions since 2019, in any
// locale, and after a spreadsheet has saved it again.
//
// In flows the text, out flow one run, a region per kernel name, a launch per
// row id and a counter per value. Findings of the details page's rules become
// attributes of their launch. Of the SOURCE page, instructions and lines become
// code, stalls PC samples, and the other columns counters whose instance is the
// instruction's offset ("0x0250") or, without instructions, the line.
package ncu

import (
	"bytes"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "ncu-csv",
		About:   "Nsight Compute, --csv: --metrics, details, raw and source page, summary",
		Version: 3,
		Detect:  detect,
		Parse:   parse,
	})
}

// detect looks for the table's header, else for the tool's own lines.
func detect(h collectors.Head) collectors.Confidence {
	if !h.Has("Kernel Name", "Metric ", "Process ", "Function Name", "Source", "SASS", "==PROF==", "==ERROR==") {
		return collectors.No
	}
	tool := collectors.No
	rest := h.Bytes
	for len(rest) > 0 {
		line, more, found := bytes.Cut(rest, []byte("\n"))
		if !found && !h.Whole {
			break // the head ends within this line
		}
		rest = more
		line = bytes.TrimRight(line, "\r")
		if bytes.HasPrefix(line, []byte("==PROF==")) || bytes.HasPrefix(line, []byte("==ERROR==")) {
			tool = collectors.Likely
			continue
		}
		if kind, _, ok := asTitle(string(line)); ok && kind != filePath {
			return collectors.Certain
		}
		if h := asListHeader(string(line)); h != nil && h.measured() {
			return collectors.Certain
		}
		if t := asHeader(string(line)); t != nil && (t.col(colMetricName) >= 0 && (t.col(colMetricValue) >= 0 || t.summary() && t.col(colKernel) >= 0) || t.wide() && t.col(colID) >= 0) {
			return collectors.Certain
		}
	}
	return tool
}
