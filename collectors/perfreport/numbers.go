package perfreport

import (
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// isPercent knows "12.5%", and "12.5%  3.0%" of a group of events.
func isPercent(s string) bool {
	for _, f := range strings.Fields(s) {
		number, ok := strings.CutSuffix(f, "%")
		if !ok || collectors.StyleOf(number) == collectors.NotNumber {
			return false
		}
	}
	return s != ""
}

func (r *reader) number(text string, line int, c column) (float64, error) {
	if s := collectors.StyleOf(text); !r.styled && (s == collectors.Dot || s == collectors.Comma) {
		r.style, r.styled = s, true
	}
	v, err := collectors.ParseNumber(text, r.style, 0)
	if err != nil {
		e := r.in.Syntax(line, c.start+1, "the cell of "+c.name+" is no number")
		e.Expected, e.Found, e.Hint = "a number", collectors.Quote(text), "the line is damaged: write the report again"
		return 0, e
	}
	return v, nil
}

// numbers reads a cell of numbers: one, or one of each event of a group.
func (r *reader) numbers(c column, text string, line int) ([]datasets.Counter, error) {
	events, cells := []string{r.event}, []string{text}
	if len(r.group) > 1 {
		events, cells = r.group, strings.Fields(text)
	}
	if len(cells) != len(events) {
		e := r.in.Syntax(line, c.start+1, "the cell of "+c.name+" does not hold one number of each event")
		e.Expected, e.Found, e.Hint = strconv.Itoa(len(events))+" numbers", collectors.Quote(text), "write the report again without --group"
		return nil, e
	}
	var out []datasets.Counter
	for i, cell := range cells {
		number, percent := strings.CutSuffix(cell, "%")
		v, err := r.number(number, line, c)
		if err != nil {
			return nil, err
		}
		n := datasets.Counter{Run: runID, Metric: c.name, Instance: events[i], Value: datasets.Some(v), RawValue: number, Status: datasets.StatusOK}
		switch {
		case percent:
			n.Unit, n.RawUnit = "%", "%"
		case c.name == "Samples":
			n.Metric = "samples"
		case events[i] != "":
			n.Metric, n.Instance = events[i], ""
			if name, _, _ := strings.Cut(events[i], ":"); name == "cpu-clock" || name == "task-clock" {
				n.Unit, n.RawUnit, n.Value = "s", "ns", datasets.Some(v/1e9)
			}
		}
		out = append(out, n)
	}
	return out, nil
}

// groupOf reads the names of the events of a group: "a, b" of --group, or
// "anon group { a, b }".
func groupOf(s string) []string {
	if i := strings.IndexByte(s, '{'); i >= 0 && strings.HasSuffix(s, "}") {
		s = s[i+1 : len(s)-1]
	}
	var names []string
	depth, from := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i == len(s) || s[i] == ',' && depth%2 == 0 && strings.HasPrefix(s[i+1:], " "):
			names = append(names, strings.TrimSpace(s[from:i]))
			from = i + 1
		case s[i] == '/':
			depth++
		}
	}
	return names
}
