package rich

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/kernel/display"
)

// Limits of what is shown of a table.
const (
	wholeRows = 60  // tables up to this length are shown whole
	headRows  = 20  // of longer ones the first
	tailRows  = 10  // and the last rows
	htmlCols  = 100 // columns of the HTML table (it scrolls)
	cellText  = 120 // runes of one HTML cell
	textWidth = 120 // columns of the text table
	textCell  = 32  // runes of one text cell
)

func gotaBundle(v any) (display.Bundle, bool) {
	switch x := v.(type) {
	case dataframe.DataFrame:
		return frameBundle(x), true
	case *dataframe.DataFrame:
		if x != nil {
			return frameBundle(*x), true
		}
	case series.Series:
		return seriesBundle(x), true
	case *series.Series:
		if x != nil {
			return seriesBundle(*x), true
		}
	case dataframe.Groups:
		return groupsBundle(&x), true
	case *dataframe.Groups:
		if x != nil {
			return groupsBundle(x), true
		}
	}
	return display.Bundle{}, false
}

// table is what is shown of a frame: the rows picked, as text.
type table struct {
	caption string
	names   []string
	types   []series.Type
	rows    []int // indices of the rows shown, ascending
	total   int   // rows there are
	cols    int   // columns there are
	cell    func(row, col int) string
}

func frameBundle(df dataframe.DataFrame) display.Bundle {
	if df.Err != nil {
		return failed("DataFrame", df.Err)
	}
	rows, cols := df.Dims()
	t := table{
		caption: fmt.Sprintf("%s x %s", count(rows, "row"), count(cols, "column")),
		names:   df.Names(), types: df.Types(), rows: pick(rows), total: rows, cols: cols,
		cell: func(r, c int) string { return element(df.Elem(r, c)) },
	}
	return t.bundle()
}

func seriesBundle(s series.Series) display.Bundle {
	if s.Err != nil {
		return failed("Series", s.Err)
	}
	name := s.Name
	if name == "" {
		name = "(no name)"
	}
	t := table{
		caption: "Series of " + count(s.Len(), "value"),
		names:   []string{name}, types: []series.Type{s.Type()}, rows: pick(s.Len()), total: s.Len(), cols: 1,
		cell: func(r, _ int) string { return element(s.Elem(r)) },
	}
	return t.bundle()
}

// groupsBundle shows how many rows each group has.
func groupsBundle(g *dataframe.Groups) display.Bundle {
	if g.Err != nil {
		return failed("Groups", g.Err)
	}
	groups := g.GetGroups()
	keys := make([]string, 0, len(groups))
	for k := range groups {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	t := table{
		caption: count(len(keys), "group"), names: []string{"group", "rows"},
		types: []series.Type{series.String, series.Int}, rows: pick(len(keys)), total: len(keys), cols: 2,
		cell: func(r, c int) string {
			if c == 0 {
				return keys[r]
			}
			return strconv.Itoa(groups[keys[r]].Nrow())
		},
	}
	return t.bundle()
}

func failed(what string, err error) display.Bundle {
	return display.Of("text/plain", what+" with an error: "+err.Error())
}

func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return group(n) + " " + thing
}

// group writes an integer with commas between thousands.
func group(n int) string {
	s := strconv.Itoa(n)
	start := len(s) % 3
	if n < 0 { // counts are never negative; keep the sign if one comes anyway
		return s
	}
	var b strings.Builder
	b.WriteString(s[:start])
	for i := start; i < len(s); i += 3 {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(s[i : i+3])
	}
	return b.String()
}

// pick chooses the rows to show.
func pick(n int) []int {
	var rows []int
	for i := range n {
		if n <= wholeRows || i < headRows || i >= n-tailRows {
			rows = append(rows, i)
		}
		if n > wholeRows && i == headRows {
			for j := n - tailRows; j < n; j++ {
				rows = append(rows, j)
			}
			break
		}
	}
	return rows
}

// element is one value as text: floats with six significant digits at most
// (gota's own %f shows 1e-7 as 0), missing values as NaN (floats) or NA.
func element(e series.Element) string {
	if e.IsNA() {
		if e.Type() == series.Float {
			return "NaN"
		}
		return "NA"
	}
	if e.Type() == series.Float {
		return number(e.Float())
	}
	return e.String()
}

func number(f float64) string {
	short := strconv.FormatFloat(f, 'g', -1, 64)
	if a := math.Abs(f); a >= 1e-3 && a < 1e15 {
		if plain := strconv.FormatFloat(f, 'f', -1, 64); len(plain) <= 10 || f == math.Trunc(f) {
			return plain
		}
	}
	if len(short) <= 10 {
		return short
	}
	return strconv.FormatFloat(f, 'g', 6, 64)
}

func numeric(t series.Type) bool { return t == series.Float || t == series.Int }

func (t table) bundle() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": t.text(), "text/html": t.html()}}
}

// hidden says what the caption adds when the table is cut; where tells which
// columns are not shown.
func (t table) hidden(shownCols int, where string) string {
	var cut []string
	if n := t.total - len(t.rows); n > 0 {
		cut = append(cut, count(n, "row")+" in the middle")
	}
	if n := t.cols - shownCols; n > 0 {
		cut = append(cut, count(n, "column")+" "+where)
	}
	if len(cut) == 0 {
		return ""
	}
	return ", not shown: " + strings.Join(cut, " and ")
}

func (t table) html() string {
	cols := min(t.cols, htmlCols)
	var b strings.Builder
	const line = "border:0;border-bottom:1px solid rgba(128,128,128,.35);"
	b.WriteString(`<div class="rooflab-table" style="max-height:32em;max-width:100%;overflow:auto;color:inherit">` +
		`<table style="border-collapse:collapse;margin:0;color:inherit;background:transparent;font-variant-numeric:tabular-nums">` + "\n<thead>\n<tr>")
	th := func(align, extra, text string) {
		fmt.Fprintf(&b, `<th style="%stext-align:%s;padding:.15em .6em;white-space:nowrap;%s">%s</th>`, line, align, extra, text)
	}
	th("right", "", "")
	for c := range cols {
		th(align(t.types[c]), "", clip(t.names[c], cellText, display.Escape))
	}
	b.WriteString("</tr>\n<tr>")
	small := "font-weight:normal;font-style:italic;font-size:85%;opacity:.75;"
	th("right", small, "")
	for c := range cols {
		th(align(t.types[c]), small, display.Escape(string(t.types[c])))
	}
	b.WriteString("</tr>\n</thead>\n<tbody>\n")
	last := -1
	for _, r := range t.rows {
		if r != last+1 {
			fmt.Fprintf(&b, `<tr><td colspan="%d" style="%stext-align:left;padding:.15em .6em;opacity:.75">... %s ...</td></tr>`+"\n",
				cols+1, line, count(r-last-1, "row"))
		}
		last = r
		fmt.Fprintf(&b, `<tr><th style="%stext-align:right;padding:.15em .6em;font-weight:normal;opacity:.6">%d</th>`, line, r)
		for c := range cols {
			fmt.Fprintf(&b, `<td style="%stext-align:%s;padding:.15em .6em;white-space:nowrap">%s</td>`,
				line, align(t.types[c]), clip(t.cell(r, c), cellText, display.Escape))
		}
		b.WriteString("</tr>\n")
	}
	fmt.Fprintf(&b, "</tbody>\n</table>\n</div>\n<div style=\"color:inherit;opacity:.75;font-size:90%%\">%s%s</div>",
		display.Escape(t.caption), t.hidden(cols, "on the right"))
	return b.String()
}

func align(t series.Type) string {
	if numeric(t) {
		return "right"
	}
	return "left"
}

// clip shortens text to n runes, keeps it on one line and escapes it; the
// whole text, when cut, stays readable as the cell's title.
func clip(s string, n int, escape func(string) string) string {
	if utf8.RuneCountInString(s) <= n {
		return escape(s)
	}
	runes := []rune(s)
	whole := s
	if len(runes) > 2000 {
		whole = string(runes[:2000]) + "..."
	}
	return fmt.Sprintf(`<span title="%s">%s...</span>`, escape(whole), escape(string(runes[:n])))
}

// oneLine makes text safe for a terminal's table: one line, no control bytes.
func oneLine(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) > n {
		s = string([]rune(s)[:n-3]) + "..."
	}
	return s
}

// textColumn is a column of the text table: its name, its type and its cells.
type textColumn struct {
	cells   []string
	width   int
	numeric bool
}

func (t table) textColumn(c int) textColumn {
	cells := []string{oneLine(t.names[c], textCell), oneLine(string(t.types[c]), textCell)}
	for _, r := range t.rows {
		cells = append(cells, oneLine(t.cell(r, c), textCell))
	}
	return textColumn{cells, widest(cells), numeric(t.types[c])}
}

// textColumns are the columns that fit beside used: all, or those of both ends,
// since ids stand on the left and results on the right. left is how many of
// them are of the left end.
func (t table) textColumns(used int) (columns []textColumn, left int) {
	const gap = 2 + 3 // the mark between the ends
	all := used
	for c := 0; c < t.cols && all <= textWidth; c++ {
		columns = append(columns, t.textColumn(c))
		all += 2 + columns[c].width
	}
	if len(columns) == t.cols && all <= textWidth {
		return columns, t.cols
	}
	known := columns
	used += gap
	take := func(most int) {
		for ; left < len(known); left++ {
			w := 2 + known[left].width
			if left > 0 && used+w > most {
				return
			}
			used += w
		}
	}
	take(textWidth * 2 / 3)
	var right []textColumn
	for c := t.cols - 1; c >= left; c-- {
		col := t.textColumn(c)
		if used += 2 + col.width; used > textWidth {
			used -= 2 + col.width
			break
		}
		right = append(right, col)
	}
	known = known[:min(len(known), t.cols-len(right))]
	take(textWidth)
	slices.Reverse(right)
	return append(known[:left:left], right...), left
}

func (t table) text() string {
	index := make([]string, len(t.rows))
	for i, r := range t.rows {
		index[i] = strconv.Itoa(r)
	}
	width := widest(index)
	columns, left := t.textColumns(width)
	cut := len(columns) < t.cols
	var b strings.Builder
	row := func(label string, i int) {
		line := fmt.Sprintf("%*s", width, label)
		for c, col := range columns {
			if cut && c == left {
				line += "  ..."
			}
			cell := col.cells[i]
			pad := strings.Repeat(" ", col.width-utf8.RuneCountInString(cell))
			if col.numeric {
				cell = pad + cell
			} else if c < len(columns)-1 {
				cell += pad
			}
			line += "  " + cell
		}
		if cut && left == len(columns) {
			line += "  ..."
		}
		b.WriteString(line + "\n")
	}
	row("", 0)
	row("", 1)
	last := -1
	for i, r := range t.rows {
		if r != last+1 {
			fmt.Fprintf(&b, "%*s  (%s)\n", width, "...", count(r-last-1, "row"))
		}
		last = r
		row(index[i], i+2)
	}
	b.WriteString("[" + t.caption + t.hidden(len(columns), "in between") + "]")
	return b.String()
}

func widest(cells []string) int {
	w := 3
	if len(cells) == 0 {
		return w
	}
	for _, c := range cells {
		w = max(w, utf8.RuneCountInString(c))
	}
	return w
}
