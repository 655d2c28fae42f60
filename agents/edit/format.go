package edit

import (
	"fmt"
	"strings"
)

// Format writes edits as Parse reads them: Parse of the result has the same
// edits, but for Line and Ignored. Hunks that say where they are become unified
// diffs, others search/replace blocks, with marks longer than any in the text.
func Format(edits []Edit) string {
	var b strings.Builder
	for i, e := range edits {
		if i > 0 {
			b.WriteString("\n")
		}
		ids := strings.Join(e.Evidence, ", ")
		if ids == "" {
			ids = "none"
		}
		b.WriteString("evidence: " + ids + "\n")
		if len(e.Predictions) > 0 {
			b.WriteString("predict: " + predictLine(e.Predictions) + "\n")
		}
		if e.Why != "" {
			b.WriteString("why: " + e.Why + "\n")
		}
		for _, h := range e.Hunks {
			if h.At > 0 {
				h.diff(&b)
			} else {
				h.block(&b)
			}
		}
	}
	return b.String()
}

// predictLine is what follows the word predict.
func predictLine(list []Prediction) string {
	var out []string
	for _, p := range list {
		out = append(out, p.Metric+" "+string(p.Direction))
	}
	return strings.Join(out, ", ")
}

func (h *Hunk) block(b *strings.Builder) {
	n := 7
	for _, lines := range [][]string{h.Search, h.Replace} {
		for _, l := range lines {
			l = strings.TrimSpace(l)
			for _, mark := range []string{"<", "=", ">"} {
				n = max(n, 1+len(l)-len(strings.TrimLeft(l, mark)))
			}
		}
	}
	fmt.Fprintf(b, "file: %s\n%s SEARCH\n", h.File, strings.Repeat("<", n))
	writeLines(b, "", h.Search)
	b.WriteString(strings.Repeat("=", n) + "\n")
	writeLines(b, "", h.Replace)
	b.WriteString(strings.Repeat(">", n) + " REPLACE\n")
}

func (h *Hunk) diff(b *strings.Builder) {
	fmt.Fprintf(b, "--- a/%s\n+++ b/%s\n@@ -%d,%d +%d,%d @@\n", h.File, h.File, h.At, len(h.Search), h.At, len(h.Replace))
	same, end := commonEnds(h.Search, h.Replace)
	writeLines(b, " ", h.Search[:same])
	writeLines(b, "-", h.Search[same:len(h.Search)-end])
	writeLines(b, "+", h.Replace[same:len(h.Replace)-end])
	writeLines(b, " ", h.Search[len(h.Search)-end:])
}

// commonEnds are how many lines two texts begin and end with in common.
func commonEnds(a, b []string) (begin, end int) {
	n := min(len(a), len(b))
	for begin < n && a[begin] == b[begin] {
		begin++
	}
	for end < n-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}

func writeLines(b *strings.Builder, prefix string, lines []string) {
	for _, l := range lines {
		b.WriteString(prefix + l + "\n")
	}
}
