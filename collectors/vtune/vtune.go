// Package vtune reads the tables that Intel VTune's command line writes with
// -format csv: hotspots, top-down trees, callers, hardware events, grouped by
// whatever, and the summary.
//
//	vtune -report top-down -r RESULT -format csv -csv-delimiter comma
//
// Lines of messages can stand before the table ("war:Column filter is ON.").
// The delimiter is what follows the first title: a comma, a tab, a semicolon
// or any other character. A cell that holds the delimiter is quoted. The
// indentation of the first cell, one space a level and outside the quotes, is
// the depth in a tree.
//
// Out flow one run and a region per row, a function where the table is of
// functions, with the number of each column as a counter of the region: times
// in seconds, percentages in %, a unit behind a number ("12.5ms") in SI. Columns
// of text are attributes. Where a table has "CPU Time:Self" it is the time of the
// run, exclusive. The columns "...:Total" of times are seconds in some
// versions and percent of the whole in others; which one is decided by whether
// the root's total is the sum of the rows' own times.
//
// A summary (Hierarchy Level, Metric Name, Metric Value) is one region with a
// counter per number, named by the path of its names, and an attribute per
// text.
package vtune

import (
	"bytes"
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

func init() {
	collectors.Register(collectors.Format{
		Name:    "vtune-csv",
		About:   "Intel VTune, tables of vtune -report -format csv",
		Version: 1,
		Detect:  detect,
		Parse:   parse,
	})
}

// groupings are the titles that a table's first column can have, and whether
// its rows are functions.
var groupings = map[string]bool{
	"Function Stack": true, "Function": true, "Function / Call Stack": true, "Function/Call Stack": true, "Source Function": true, "Source Function Stack": true,
	"Source Function / Function / Call Stack": true, "Bottom-up Tree": true, "Callers": true, "Callees": true,
	"Module": false, "Thread": false, "Process": false, "Package": false, "Core": false, "Class": false, "Source File": false, "Source Line": false, "Code Location": false,
	"Task Type": false, "Computing Task": false, "Sync Object": false, "Frame Domain": false, "CPU": false, "H/W Context": false, "Basic Block": false, "Loop": false,
	"Function Range / Basic Block / Address": false, "OpenMP Region": false, "Memory Object": false, "Allocation Source": false, "Address": false, "Assembly": false, "Cache Line": false,
	summaryTitle: false,
}

const summaryTitle = "Hierarchy Level"

// marks are parts of titles that tables of VTune have.
var marks = []string{"CPU Time", "Instructions Retired", "Hardware Event Count", "Hardware Event Sample Count", "Clockticks", "CPI Rate", "Wait Time", "Spin Time",
	"Elapsed Time", "Metric Value", "Effective Time", "GPU Time", "Total Time", "Loads", "Retiring", "Task Time", "Allocation Size", "Inactive Time"}

// isTitle reports whether a line holds the titles of a table, and finds the
// delimiter.
func isTitle(line string) (delim string, ok bool) {
	var rest string
	first := strings.TrimSpace(line)
	if strings.HasPrefix(first, `"`) {
		end := strings.IndexByte(first[1:], '"')
		if end < 0 {
			return "", false
		}
		first, rest = first[1:end+1], first[end+2:]
		if _, known := groupings[first]; !known || rest == "" {
			return "", false
		}
	} else {
		best := ""
		for g := range groupings {
			if strings.HasPrefix(first, g) && len(g) > len(best) && len(first) > len(g) && !isLetter(first[len(g)]) && first[len(g)] != ' ' {
				best = g
			}
		}
		if best == "" {
			return "", false
		}
		rest = first[len(best):]
	}
	for i, c := range rest {
		if i > 0 || isLetter(rest[0]) {
			break
		}
		delim = string(c)
	}
	if delim == "" || delim == `"` || delim == " " {
		return "", false
	}
	for _, m := range marks {
		if strings.Contains(rest, m) {
			return delim, true
		}
	}
	return "", false
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// isMessage knows what vtune writes before a table.
func isMessage(line string) bool {
	for _, p := range []string{"war:", "vtune: ", "amplxe: ", "err:"} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

func detect(h collectors.Head) collectors.Confidence {
	messages := 0
	n := 0
	for line := range bytes.Lines(bytes.TrimLeft(h.Bytes, " \t\r\n")) {
		text := strings.TrimSpace(string(line))
		if text == "" {
			continue
		}
		if _, ok := isTitle(text); ok {
			return collectors.Certain
		}
		switch {
		case isMessage(text):
			messages++
		case n > 20:
			return collectors.No
		case messages == 0 && n > 0: // messages come first
			return collectors.No
		}
		n++
	}
	if messages > 0 && strings.HasPrefix(string(h.Bytes), "war:") {
		return collectors.Likely
	}
	return collectors.No
}
