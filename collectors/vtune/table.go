package vtune

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// tableLimit bounds the text that is kept: what a column holds is decided over
// all of its cells.
const tableLimit = 512 << 20

const runID, machineID = 1, 1

type cell struct {
	text   string
	column int
}

type tableRow struct {
	cells []cell
	depth int
	line  int
}

type column struct {
	name    string
	key     string // the title without spaces behind its colons
	text    bool
	unit    string // of cells that write none
	numbers int
}

type table struct {
	in      *collectors.Input
	out     *collectors.Output
	delim   string
	columns []column
	rows    []tableRow
	style   collectors.Style
	run     datasets.Run
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	t := &table{in: in, out: out, style: collectors.Dot, run: datasets.Run{ID: runID, Tool: "vtune", Format: "vtune-csv", Status: datasets.RunOK}}
	size, last := 0, 0
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		last = line
		if size += len(text); size > tableLimit {
			e := in.Syntax(line, 1, fmt.Sprintf("the table has more than %d bytes", tableLimit))
			e.Hint = "report fewer rows (vtune -limit, or a coarser -group-by)"
			return e
		}
		s := string(text)
		switch {
		case strings.TrimSpace(s) == "":
			if s != "" && !ended && t.columns != nil { // the indentation of a row
				return in.Cut(line, len(s), "the file is cut: write the report again")
			}
			continue
		case t.columns == nil:
			err = t.title(s, line, ended)
		case ended && (strings.HasPrefix(s, "vtune: ") || strings.HasPrefix(s, "amplxe: ")):
			// What it says on the standard error, which went into the same file.
		default:
			err = t.row(s, line, ended)
		}
		if err != nil {
			return err
		}
	}
	if t.columns == nil {
		e := in.Syntax(max(last, 1), 1, "the file ends before a table begins")
		e.Expected, e.Hint = `a line of titles such as "Function Stack,CPU Time:Self,Module"`, "vtune wrote only messages: run vtune -report again and look at them"
		if last == 0 {
			e.Msg = "the file is empty"
		}
		return e
	}
	if len(t.rows) == 0 {
		t.run.Status, t.run.Error = datasets.RunEmpty, "the table has titles and no rows"
		out.Warn(0, 0, "%s", t.run.Error)
		return out.Put(&t.run)
	}
	if t.columns[0].name == summaryTitle {
		return t.summary()
	}
	if err := t.decide(); err != nil {
		return err
	}
	return t.emit()
}

func (t *table) title(s string, line int, ended bool) error {
	delim, ok := isTitle(s)
	if !ok {
		return nil // a message
	}
	if !ended {
		return t.cut(line, len(s))
	}
	t.delim = delim
	cells, err := t.split(s, line)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, c := range cells {
		name := strings.TrimSpace(c.text)
		if seen[name] {
			e := t.in.Syntax(line, c.column, "the table has two columns of the same title")
			e.Found = collectors.Quote(name)
			return e
		}
		seen[name] = true
		t.columns = append(t.columns, column{name: name, key: strings.ReplaceAll(name, ": ", ":")})
	}
	return nil
}

func (t *table) cut(line, length int) error {
	e := t.in.Syntax(line, length+1, "the file ends within a row")
	e.Expected, e.Hint = "a line end", "the file is cut: write the report again"
	return e
}

// split cuts a line into cells. Quotes can follow the indentation.
func (t *table) split(s string, line int) ([]cell, error) {
	var cells []cell
	for at := 0; ; {
		start := at
		for at < len(s) && s[at] == ' ' {
			at++
		}
		c := cell{column: start + 1}
		if at < len(s) && s[at] == '"' {
			var b strings.Builder
			b.WriteString(s[start:at])
			closed := false
			for at++; at < len(s); at++ {
				if s[at] == '"' {
					if at+1 < len(s) && s[at+1] == '"' {
						at++
					} else {
						closed = true
						at++
						break
					}
				}
				b.WriteByte(s[at])
			}
			if !closed || at < len(s) && !strings.HasPrefix(s[at:], t.delim) {
				e := t.in.Syntax(line, start+1, "a quoted cell has no end")
				e.Expected, e.Found, e.Hint = "a closing quote before the delimiter", collectors.Quote(s[start:]), "write the report again"
				return nil, e
			}
			c.text = b.String()
		} else {
			end := strings.Index(s[start:], t.delim)
			if end < 0 {
				at = len(s)
			} else {
				at = start + end
			}
			c.text = s[start:at]
		}
		cells = append(cells, c)
		if at >= len(s) {
			return cells, nil
		}
		at += len(t.delim)
	}
}

func (t *table) row(s string, line int, ended bool) error {
	cells, err := t.split(s, line)
	if err != nil && !ended {
		return t.cut(line, len(s))
	}
	if err != nil {
		return err
	}
	if len(cells) != len(t.columns) {
		if !ended {
			return t.cut(line, len(s))
		}
		e := t.in.Syntax(line, 1, "the row does not have one cell per title")
		e.Expected, e.Found, e.Hint = fmt.Sprintf("%d cells", len(t.columns)), fmt.Sprintf("%d", len(cells)), "the line is damaged: write the report again"
		return e
	}
	if last := cells[len(cells)-1].text; !ended && (last == "" || collectors.StyleOf(strings.TrimSuffix(last, "%")) != collectors.NotNumber || t.columns[0].name == summaryTitle) {
		return t.cut(line, len(s))
	}
	r := tableRow{cells: cells, line: line}
	name := cells[0].text
	r.depth = len(name) - len(strings.TrimLeft(name, " "))
	before := -1
	if n := len(t.rows); n > 0 {
		before = t.rows[n-1].depth
	}
	if r.depth > before+1 {
		e := t.in.Syntax(line, 1, "the indentation skips a level")
		e.Expected = fmt.Sprintf("at most %d spaces, one more than in the row above", before+1)
		e.Found, e.Hint = strconv.Itoa(r.depth), "a row is missing: write the report again"
		return e
	}
	t.rows = append(t.rows, r)
	return nil
}

// texts are columns that hold no measurement although they may look like
// numbers.
var texts = map[string]bool{"Module": true, "Function (Full)": true, "Source File": true, "Start Address": true, "Source Function": true, "Function": true, "Thread": true,
	"Process": true, "PID": true, "TID": true, "Module Path": true, "Source File Path": true, "Function Type": true, "Class": true, "Package": true, "Source Line": true,
	"Core": true, "Code Location": true, "Creation Module": true, "Object Type": true}

// decide finds what each column holds and how its numbers are written.
func (t *table) decide() error {
	for _, r := range t.rows {
		for i, c := range r.cells[1:] {
			number, _ := splitUnit(c.text)
			switch s := collectors.StyleOf(number); s {
			case collectors.NotNumber:
				continue
			case collectors.Dot, collectors.Comma:
				if t.style == collectors.Dot && s == collectors.Comma && !strings.Contains(c.text, ".") && t.delim != "," {
					t.style = collectors.Comma
				}
			}
			t.columns[i+1].numbers++
		}
	}
	for i := range t.columns {
		c := &t.columns[i]
		c.text = i == 0 || texts[c.name] || c.numbers == 0
		if !c.text {
			c.unit = unitOf(c.key)
		}
	}
	return t.totals()
}

// splitUnit cuts "12.5ms", "87.5%" and "3.2 GB/sec".
func splitUnit(s string) (number, unit string) {
	s = strings.TrimSpace(s)
	end := len(s)
	for end > 0 && (s[end-1] < '0' || s[end-1] > '9') {
		end--
	}
	if end == 0 {
		return s, ""
	}
	number, unit = s[:end], strings.TrimSpace(s[end:])
	switch collectors.ParseUnit(unit).Base {
	case "s", "Hz", "byte", "byte/s", "%":
		return number, unit
	}
	return s, ""
}

// unitOf tells the unit of a column from its title.
func unitOf(name string) string {
	_, after, _ := cutLast(name, ", ")
	switch {
	case after == "GB/sec", after == "MB/sec":
		return strings.TrimSuffix(after, "ec")
	case after == "%", strings.Contains(name, "(%)"):
		return "%"
	}
	for part := range strings.SplitSeq(name, ":") {
		if part == "Time" || strings.HasSuffix(part, " Time") {
			return "s"
		}
	}
	return ""
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// totals decides whether columns of total times are seconds or percent.
func (t *table) totals() error {
	self := map[string]int{}
	for i, c := range t.columns {
		if name, ok := strings.CutSuffix(c.key, ":Self"); ok && c.unit == "s" {
			self[name] = i
		}
	}
	for i := range t.columns {
		c := &t.columns[i]
		name, ok := strings.CutSuffix(c.key, ":Total")
		if !ok || c.text || c.unit != "s" {
			continue
		}
		root, _, err := t.value(t.rows[0], i)
		if err != nil {
			return err
		}
		own, has := self[name]
		if !has || !root.Valid || root.V == 0 {
			continue
		}
		sum := 0.0
		for _, r := range t.rows {
			v, _, err := t.value(r, own)
			if err != nil {
				return err
			}
			sum += v.V
		}
		switch {
		case math.Abs(root.V-sum) <= 0.02*math.Abs(sum)+0.001:
		case math.Abs(root.V-100) < 0.5:
			c.unit = "%"
		}
	}
	return nil
}

// value reads a cell of a column of numbers in SI; an empty cell is absent.
func (t *table) value(r tableRow, i int) (v datasets.Null[float64], unit string, err error) {
	c := r.cells[i]
	text := strings.TrimSpace(c.text)
	if text == "" || strings.EqualFold(text, "n/a") || text == "-" {
		return v, collectors.ParseUnit(t.columns[i].unit).Base, nil
	}
	number, suffix := splitUnit(text)
	u := collectors.ParseUnit(t.columns[i].unit)
	if suffix != "" {
		u = collectors.ParseUnit(suffix)
	}
	f, err := u.Scale(number, t.style)
	if err != nil {
		e := t.in.Syntax(r.line, c.column, "the cell of "+t.columns[i].name+" is no number")
		e.Expected, e.Found, e.Hint = "a number", collectors.Quote(text), "the line is damaged: write the report again"
		return v, "", e
	}
	return datasets.Some(f), u.Base, nil
}
