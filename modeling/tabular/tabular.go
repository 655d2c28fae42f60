// Package tabular writes the tables of results: rows of text in flow, plain
// text and HTML for front ends out. Analyses fill a Table; nothing is computed
// here.
package tabular

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/kernel/display"
)

// Column is the head of a column. Text stands left, numbers right.
type Column struct {
	Name string
	Text bool
}

// Table is a table with a line above it and remarks below.
type Table struct {
	Title   string
	Columns []Column
	Rows    [][]string // as many cells as columns; a missing one is empty
	Notes   []string
}

// Columns makes columns from their names; those that begin with "<" hold text.
func Columns(names ...string) []Column {
	out := make([]Column, len(names))
	for i, n := range names {
		out[i].Name, out[i].Text = strings.CutPrefix(n, "<")
	}
	return out
}

// Add appends a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Note appends a remark.
func (t *Table) Note(format string, args ...any) {
	t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
}

func (t Table) cell(row []string, i int) string {
	if i < len(row) {
		return row[i]
	}
	return ""
}

// String is the table as text, columns aligned.
func (t Table) String() string {
	width := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		width[i] = utf8.RuneCountInString(c.Name)
		for _, r := range t.Rows {
			width[i] = max(width[i], utf8.RuneCountInString(t.cell(r, i)))
		}
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString(t.Title + "\n")
	}
	line := func(of func(i int) string) {
		var l strings.Builder
		for i, c := range t.Columns {
			text := of(i)
			pad := strings.Repeat(" ", width[i]-utf8.RuneCountInString(text))
			if i > 0 {
				l.WriteString("  ")
			}
			if c.Text {
				l.WriteString(text + pad)
			} else {
				l.WriteString(pad + text)
			}
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	if len(t.Rows) > 0 {
		line(func(i int) string { return t.Columns[i].Name })
		for _, r := range t.Rows {
			line(func(i int) string { return t.cell(r, i) })
		}
	}
	for _, n := range t.Notes {
		b.WriteString("note: " + n + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// HTML is the table as HTML that takes its colours from the page.
func (t Table) HTML() string {
	e := display.Escape
	const style = ` style="padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.35);text-align:`
	var b strings.Builder
	b.WriteString(`<div style="color:inherit">` + e(t.Title))
	if len(t.Rows) > 0 {
		b.WriteString(`<table style="border-collapse:collapse;color:inherit;background:transparent">`)
		row := func(tag string, of func(i int) string) {
			b.WriteString("<tr>")
			for i, c := range t.Columns {
				align := "right"
				if c.Text {
					align = "left"
				}
				fmt.Fprintf(&b, `<%s%s%s">%s</%s>`, tag, style, align, e(of(i)), tag)
			}
			b.WriteString("</tr>")
		}
		row("th", func(i int) string { return t.Columns[i].Name })
		for _, r := range t.Rows {
			row("td", func(i int) string { return t.cell(r, i) })
		}
		b.WriteString("</table>")
	}
	for _, n := range t.Notes {
		b.WriteString(`<div style="font-size:90%;opacity:.8">` + e(n) + "</div>")
	}
	b.WriteString("</div>")
	return b.String()
}

// Display shows the table.
func (t Table) Display() display.Bundle { return Join(t) }

// Join shows tables below each other.
func Join(ts ...Table) display.Bundle {
	var text, html []string
	for _, t := range ts {
		text, html = append(text, t.String()), append(html, t.HTML())
	}
	return display.Bundle{Data: map[string]any{"text/plain": strings.Join(text, "\n\n"), "text/html": strings.Join(html, "")}}
}

// Quantity is a value with its unit, times with a prefix. What is no number is
// "n/a".
func Quantity(v float64, unit string) string {
	if math.IsNaN(v) {
		return "n/a"
	}
	if unit == "s" && v != 0 && !math.IsInf(v, 0) {
		for _, p := range []struct {
			unit  string
			value float64
		}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
			if math.Abs(v) >= p.value {
				return fmt.Sprintf("%.4g %s", v/p.value, p.unit)
			}
		}
		return fmt.Sprintf("%.4g ns", v*1e9)
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit))
}

// Percent is a fraction as percent, "n/a" for what is no number.
func Percent(v float64) string {
	if math.IsNaN(v) {
		return "n/a"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}
