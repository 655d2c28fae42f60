package perfstat

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/collectors"
)

// dialect is the separator of a file and its decimal separator.
type dialect struct {
	sep   string
	style collectors.Style
}

// dialectOf tries every separator that a line could have. The longest one that
// makes sense of the line wins, so that ",," is not read as "," with empty
// fields between, unless only that fits.
func dialectOf(line string) (dialect, bool) {
	for _, sep := range separators(line) {
		if strings.Count(line, sep) < 2 {
			continue
		}
		for _, style := range []collectors.Style{collectors.Dot, collectors.Comma} {
			d := dialect{sep, style}
			if w, _, err := d.row(line); err == nil && w.percent != "" && collectors.StyleOf(w.percent) == style {
				return d, true
			}
		}
	}
	for _, sep := range separators(line) { // perf before 3.13 wrote no run time
		if strings.Count(line, sep) < 2 {
			continue
		}
		d := dialect{sep, collectors.Dot}
		if w, _, err := d.row(line); err == nil && collectors.StyleOf(w.value) == collectors.Dot || err == nil && strings.HasPrefix(w.value, "<not") {
			return d, true
		}
	}
	return dialect{}, false
}

// separators lists the texts between words that may separate fields, the
// common ones first.
func separators(line string) []string {
	list := []string{",", ";", "\t", "|", ":", " "}
	seen := map[string]bool{}
	for _, s := range list {
		seen[s] = true
	}
	start := -1
	for i := 0; i <= len(line) && len(list) < 60; i++ {
		if i < len(line) && isSeparator(line[i]) {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			for end := start + 1; end <= i && end-start <= 4; end++ {
				if s := line[start:end]; !seen[s] && utf8.ValidString(s) {
					seen[s] = true
					list = append(list, s)
				}
			}
			start = -1
		}
	}
	return list
}

func isSeparator(c byte) bool {
	return c >= 0x80 || c != '.' && c != '%' && c != '<' && c != '>' && c != '-' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// fields cuts a line into texts and their columns. An event like
// cpu/event=0x3c,umask=0x0/ keeps the separators between its slashes.
func (d dialect) fields(line string) (fs []string, columns []int) {
	at := 0
	for at <= len(line) {
		skip := 0
		if strings.HasPrefix(line[at:], "<not ") {
			skip = len("<not ") // the separator can be a space
		}
		end := strings.Index(line[at+skip:], d.sep)
		if end < 0 {
			end = len(line)
		} else {
			end += at + skip
		}
		if f := line[at:end]; d.sep != "/" && strings.Count(f, "/") == 1 && strings.Contains(f, "=") && !strings.HasPrefix(f, "<") {
			if slash := strings.IndexByte(line[end:], '/'); slash > 0 {
				end += slash + 1
				if next := strings.Index(line[end:], d.sep); next >= 0 {
					end += next
				} else {
					end = len(line)
				}
			}
		}
		fs, columns = append(fs, line[at:end]), append(columns, at+1)
		at = end + len(d.sep)
	}
	return fs, columns
}

type rowError struct {
	column          int
	msg             string
	expected, found string
}

func (e *rowError) Error() string { return e.msg }

// cursor walks over the fields of a line. Where the decimal separator is also
// that of the fields, a number takes its decimals from the next field.
type cursor struct {
	fs     []string
	cols   []int
	at     int
	joined bool
}

func (c *cursor) peek(i int) string {
	if c.at+i < len(c.fs) {
		return c.fs[c.at+i]
	}
	return ""
}

func (c *cursor) left() int { return len(c.fs) - c.at }

// decimal takes a number with decimals of two fields: n of them, or any where
// n is 0.
func (c *cursor) decimal(n int) string {
	v := c.fs[c.at]
	c.at++
	if c.joined && c.left() > 0 && isInteger(v) && digits(strings.TrimSuffix(c.peek(0), "%")) && (n == 0 || len(strings.TrimSuffix(c.peek(0), "%")) == n) {
		v += "," + c.fs[c.at]
		c.at++
	}
	return v
}

// row reads a line; the number is that of its fields.
func (d dialect) row(line string) (row, int, error) {
	fs, cols := d.fields(line)
	c := &cursor{fs: fs, cols: cols, joined: d.style == collectors.Comma && d.sep == ","}
	var w row
	if len(fs) < 3 {
		return w, len(fs), &rowError{1, "the line has too few fields", "at least a value, a unit and an event", collectors.Quote(line)}
	}
	if f := strings.TrimSpace(fs[0]); isInterval(f) {
		w.interval = f
		c.at++
	}
	if strings.TrimSpace(c.peek(0)) == "summary" { // perf stat -I --summary
		w.partKind, w.part = "summary", "all intervals"
		c.at++
	}
	if c.peek(0) == "" && c.left() > 1 { // perf before 6.1 wrote one separator too many
		if kind, _ := partOf(strings.TrimSpace(c.peek(1))); kind != "thread" {
			c.at++
		}
	}
	if f := strings.TrimSpace(c.peek(0)); f != "" && !isValue(f) {
		w.partKind, w.part = partOf(f)
		c.at++
		if n := strings.TrimSpace(c.peek(0)); w.partKind != "cpu" && w.partKind != "thread" && isInteger(n) {
			w.cpus = n
			c.at++
		}
	}
	if c.left() > 2 && strings.TrimSpace(c.peek(0)) == "" {
		return w, len(fs), d.metricOnly(&w, c)
	}
	if c.left() < 3 {
		return w, len(fs), &rowError{cols[min(c.at, len(cols)-1)], "the line ends too early", "a value, a unit and an event", collectors.Quote(line)}
	}
	w.column = cols[c.at]
	w.value = strings.TrimSpace(c.decimal(2))
	if !isValue(w.value) {
		return w, len(fs), &rowError{w.column, "the field is no value of an event", "a number, <not counted> or <not supported>", collectors.Quote(w.value)}
	}
	if c.left() < 2 {
		return w, len(fs), &rowError{w.column, "the line ends after a value", "a unit and an event", collectors.Quote(line)}
	}
	w.unit, w.event = strings.TrimSpace(c.peek(0)), strings.TrimSpace(c.peek(1))
	eventColumn := cols[c.at+1]
	c.at += 2
	if w.event == "" || isNumber(w.event) || isNumber(w.unit) {
		return w, len(fs), &rowError{eventColumn, "the field is no event", "the name of an event", collectors.Quote(w.event)}
	}
	return w, len(fs), d.tail(&w, c)
}

// metricOnly reads a line without a value: a derived metric of the event above,
// or the name of the group that the following ones belong to.
//
//	,,,,,0.10,stalled cycles per insn
//	,225849327050,100.00,,,,TopdownL1 (cpu_core)
//	,10188319019,63.00,,,41.3,%  tma_frontend_bound
func (d dialect) metricOnly(w *row, c *cursor) error {
	skip := func() {
		for c.left() > 0 && strings.TrimSpace(c.peek(0)) == "" {
			c.at++
		}
	}
	skip()
	if c.left() > 2 && isInteger(c.peek(0)) && isNumber(c.peek(1)) && (!c.joined || len(c.peek(2)) == 2 && digits(c.peek(2))) {
		w.runtime = c.peek(0)
		c.at++
		w.percent = strings.TrimSpace(c.decimal(2))
		skip()
	}
	if c.left() == 0 {
		return &rowError{1, "the line has only empty fields", "a value, a unit and an event", collectors.Quote(strings.Join(c.fs, d.sep))}
	}
	w.onlyMetric, w.metricColumn = true, c.cols[c.at]
	if isNumber(strings.TrimSuffix(strings.TrimSpace(c.peek(0)), "%")) {
		w.metric = strings.TrimSpace(c.decimal(0))
	}
	if w.metricUnit = strings.TrimSpace(strings.Join(c.fs[c.at:], d.sep)); w.metricUnit == "" {
		return &rowError{w.metricColumn, "the derived metric has no name", "a name", `""`}
	}
	if w.metric == "" && w.percent != "" && w.metricUnit[0] != '%' {
		w.heading, w.metricUnit = w.metricUnit, ""
	}
	return nil
}

// tail reads what follows the event.
func (d dialect) tail(w *row, c *cursor) error {
	if c.left() == 0 {
		return nil
	}
	if f := c.peek(0); !isInteger(f) && !strings.HasSuffix(f, "%") && c.left() >= 3 {
		w.cgroup = f
		c.at++
	}
	if c.left() > 0 && (strings.HasSuffix(c.peek(0), "%") || c.joined && strings.HasSuffix(c.peek(1), "%")) {
		w.variance = c.decimal(0)
	}
	if c.left() < 2 || !isInteger(c.peek(0)) {
		at := min(c.at, len(c.cols)-1)
		return &rowError{c.cols[at], "the line ends before the event's run time", "run time and percentage", collectors.Quote(c.peek(0))}
	}
	w.runtime = c.peek(0)
	c.at++
	column := c.cols[c.at]
	w.percent = strings.TrimSpace(c.decimal(2))
	if !isNumber(w.percent) || isInteger(w.percent) {
		return &rowError{column, "the field does not say how much of the time the event ran", "a percentage with two decimals", collectors.Quote(w.percent)}
	}
	if c.left() == 0 {
		return nil
	}
	w.closed = true
	w.metricColumn = c.cols[c.at]
	w.metric = strings.TrimSpace(c.decimal(0))
	w.metricUnit = strings.TrimSpace(strings.Join(c.fs[c.at:], d.sep))
	return nil
}

// isInterval knows the time of an interval: perf always prints it with a point
// and nine decimals.
func isInterval(s string) bool {
	whole, frac, ok := strings.Cut(s, ".")
	return ok && len(frac) == 9 && digits(frac) && digits(whole)
}

func isValue(s string) bool {
	return s == "<not counted>" || s == "<not supported>" || isNumber(s)
}

func isNumber(s string) bool { return collectors.StyleOf(s) != collectors.NotNumber }

func isInteger(s string) bool { return digits(strings.TrimPrefix(s, "-")) }

func digits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// partOf names the kind of a part of the machine: CPU0, S0-D0-C1, N0, and
// comm-tid for a thread.
func partOf(s string) (kind, name string) {
	if n, ok := strings.CutPrefix(s, "CPU"); ok && digits(n) {
		return "cpu", n
	}
	steps := strings.Split(s, "-")
	for _, p := range steps {
		if len(p) < 2 || !strings.ContainsAny(p, "0123456789") || strings.Trim(strings.TrimLeft(p, "SDNCLIP"), "0123456789") != "" {
			return "thread", s
		}
	}
	last := steps[len(steps)-1]
	switch {
	case strings.HasPrefix(last, "CLS"), strings.HasPrefix(last, "CL"):
		return "cluster", s
	case strings.HasPrefix(last, "ID"), strings.HasPrefix(last, "L"):
		return "cache", s
	case strings.HasPrefix(last, "C"):
		return "core", s
	case strings.HasPrefix(last, "D"):
		return "die", s
	case strings.HasPrefix(last, "N"):
		return "node", s
	case strings.HasPrefix(last, "S"):
		return "socket", s
	}
	return "thread", s
}

type csvReader struct {
	*reader
	d     dialect
	known bool
}

func (c *csvReader) line(text string, line int, ended bool) error {
	if !c.known {
		d, ok := dialectOf(text)
		if !ok {
			if !ended {
				return c.cut(line, len(text))
			}
			if strings.Count(text, ",") > 2 || strings.Count(text, ";") > 2 {
				e := c.in.Syntax(line, 1, "the line does not have perf stat's fields")
				e.Expected, e.Found = "value, unit, event, run time and percentage", collectors.Quote(text)
				e.Hint = "measure again without --metric-only and without --csv options of other tools"
				return e
			}
			c.note("noise", line, 1, "the line is left out, it is not perf's: %s", collectors.Quote(text))
			return nil
		}
		c.d, c.known, c.style = d, true, d.style
	}
	w, _, err := c.d.row(text)
	var re *rowError
	if errors.As(err, &re) {
		if !ended {
			return c.cut(line, len(text))
		}
		e := c.in.Syntax(line, re.column, re.msg)
		e.Expected, e.Found, e.Hint = re.expected, re.found, "the line is damaged, or something else wrote into the file (perf stat -o keeps them apart)"
		return e
	}
	if !ended {
		if !w.closed { // what stands there may be the beginning of a longer number
			return c.cut(line, len(text))
		}
		c.note("unended", line, len(text)+1, "the last line has no end, so that its derived metric may be cut and is left out")
		w.metric, w.metricUnit = "", ""
	}
	w.line = line
	return c.add(w)
}
