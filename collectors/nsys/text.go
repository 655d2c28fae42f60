package nsys

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/collectors/delimited"
)

// The tables that nsys stats and nsys profile --stats=true print for people:
// a line of titles, a line of dashes that rules the columns, and rows whose
// cells stand within them. Numbers may have thousands separators, and names of
// more than 100 characters are cut and end with an ellipsis.

var (
	ruler     = regexp.MustCompile(`^ *-{2,}(  +-{2,}){2,} *$`)
	executing = regexp.MustCompile(`^\[\d+/\d+\] Executing '([A-Za-z0-9_]+)' stats report`)
	thousands = regexp.MustCompile(`^-?\d{1,3}(,\d{3})+(\.\d+)?$`)
)

// printed are the titles over the tables of versions that named no reports,
// and the reports that they are of.
var printed = map[string]string{
	"CUDA API Statistics:":                               "cudaapisum",
	"CUDA Kernel Statistics:":                            "gpukernsum",
	"CUDA Memory Operation Statistics (by time):":        "gpumemtimesum",
	"CUDA Memory Operation Statistics (by size):":        "gpumemsizesum",
	"CUDA Memory Operation Statistics (by size in KiB):": "gpumemsizesum",
	"Operating System Runtime API Statistics:":           "osrtsum",
	"NVTX Push-Pop Range Statistics:":                    "nvtxppsum",
	"NVTX Range Statistics:":                             "nvtxsum",
}

// span is a column: where it begins and ends, in characters.
type span struct{ from, to int }

// spansOf are the columns that a line of dashes rules, nil where it is none.
func spansOf(line string) []span {
	if !strings.Contains(line, "--") || !ruler.MatchString(line) {
		return nil
	}
	var spans []span
	for i := 0; i < len(line); {
		if line[i] != '-' {
			i++
			continue
		}
		from := i
		for i < len(line) && line[i] == '-' {
			i++
		}
		spans = append(spans, span{from, i})
	}
	return spans
}

// cut cuts a line at its columns. What stands beyond the last belongs to it.
func cut(line string, number int, spans []span) []delimited.Cell {
	cells := make([]delimited.Cell, 0, len(spans))
	at, chars := 0, 0 // bytes and characters passed
	forward := func(to int) int {
		for at < len(line) && chars < to {
			_, size := utf8.DecodeRuneInString(line[at:])
			at += size
			chars++
		}
		return at
	}
	for i, s := range spans {
		from := forward(s.from)
		end := len(line)
		if i < len(spans)-1 {
			end = forward(s.to)
		}
		text := line[from:end]
		column := from + len(text) - len(strings.TrimLeft(text, " ")) + 1
		text = strings.TrimSpace(text)
		if thousands.MatchString(text) {
			text = strings.ReplaceAll(text, ",", "") // as the same number stands in CSV
		}
		cells = append(cells, delimited.Cell{Text: text, Line: number, Column: column})
	}
	return cells
}

// asPrinted returns the table that a line of titles and the dashes below it
// begin, nil where they begin none.
func asPrinted(titles, dashes, report string) *table {
	spans := spansOf(dashes)
	if spans == nil {
		return nil
	}
	var names []string
	for _, c := range cut(titles, 0, spans) {
		if strings.ContainsAny(c.Text, ",\"\t") {
			return nil
		}
		names = append(names, c.Text)
	}
	t := asTable(strings.Join(names, ","), report)
	if t != nil {
		t.spans = spans
	}
	return t
}
