package vtune

import (
	"bytes"
	"context"
	"regexp"

	"github.com/rooflab/rooflab/collectors"
)

// VTune's default report is a text for people: "Elapsed Time: 5.055s" with its
// parts indented below, and remarks in between.
func init() {
	collectors.Register(collectors.Format{
		Name:    "vtune-text",
		About:   "Intel VTune, reports as text (recognised, not read)",
		Version: 1,
		Detect: func(h collectors.Head) collectors.Confidence {
			if h.Has("Elapsed Time: ") && elapsed.Match(h.Bytes) && h.Has("CPU Time: ", "Collection and Platform Info", "IPC: ", "CPI Rate: ", "GPU Time: ") {
				return collectors.Certain
			}
			if first := bytes.TrimLeft(h.Bytes, " \t\r\n"); bytes.HasPrefix(first, []byte("Function ")) && textTable.Match(first) {
				return collectors.Certain
			}
			return collectors.No
		},
		Parse: func(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
			return &collectors.UnsupportedError{File: in.Name, What: "a report of VTune as text",
				Hint: "write it as a table: vtune -report summary (or hotspots, hw-events, top-down) -r RESULT -format csv -csv-delimiter comma"}
		},
	})
}

var (
	elapsed = regexp.MustCompile(`(?m)^(?:(?:vtune|amplxe): .* )?Elapsed Time: [0-9.,]+s?[^\n]*\n(?:[^\n]*\n){0,8}?[ \t]+[A-Z][^\n:|]*: [0-9]`)
	// The titles of a table as text, over a line of dashes for each.
	textTable = regexp.MustCompile(`^Function(?: Stack)? +[A-Z][^\n]*(?:CPU Time|Clockticks|Instructions Retired|Hardware Event Count)[^\n]*\n-+(?: +-+)+ *\r?\n`)
)
