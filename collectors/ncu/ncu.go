// Package ncu reads what Nsight Compute prints with --csv: the long form of
// --metrics and of the details page (a row per metric) and the raw page (a row
// per launch, units in the second row), with the tool's and the application's
// own output before, between and after, of all versions since 2019, in any
// locale, and after a spreadsheet has saved it again.
//
// In flows the text, out flow one run, a region per kernel name, a launch per
// row id and a counter per value. Findings of the details page's rules become
// attributes of their launch. The SOURCE page
// is recognised and refused with what to do instead.
package ncu

import (
	"bytes"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "ncu-csv",
		About:   "Nsight Compute, --csv: --metrics, details page, raw page",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
}

// detect looks for the table's header, else for the tool's own lines.
func detect(h collectors.Head) collectors.Confidence {
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
		if isSource(string(line)) {
			return collectors.Certain
		}
		if t := asHeader(string(line)); t != nil && (t.col(colMetricName) >= 0 && t.col(colMetricValue) >= 0 || t.wide() && t.col(colID) >= 0) {
			return collectors.Certain
		}
	}
	return tool
}

// isSource reports whether a line belongs to the SOURCE page: the title that it
// writes before each kernel's listing ("Kernel Name","saxpy(...)",), or the
// header of a listing.
func isSource(line string) bool {
	if strings.Contains(line, "Instructions Executed") && strings.Contains(line, "Source") &&
		(strings.Contains(line, "Address") || strings.Contains(line, "Warp Stall") || strings.Contains(line, "# Samples")) {
		return true
	}
	rest, ok := strings.CutPrefix(line, `"Kernel Name"`)
	if !ok {
		if rest, ok = strings.CutPrefix(line, "Kernel Name"); !ok {
			return false
		}
	}
	if len(rest) < 2 || !strings.ContainsRune(",;\t", rune(rest[0])) {
		return false
	}
	fields, err := split(line, rest[0])
	if err != nil || len(fields) < 2 || fields[1].text == "" {
		return false
	}
	for _, f := range fields[1:] {
		if _, known := columns[f.text]; known {
			return false
		}
	}
	return len(fields) == 2 || len(fields) == 3 && fields[2].text == ""
}

// refuseSource is the error for a SOURCE page.
func refuseSource(in *collectors.Input) error {
	return &collectors.UnsupportedError{File: in.Name, What: "the SOURCE page of Nsight Compute",
		Hint: "import the metrics of the launches instead: ncu --import REPORT --csv --page raw > profile.csv"}
}
