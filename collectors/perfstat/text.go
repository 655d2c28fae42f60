package perfstat

import (
	"context"
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// textLimit bounds what is kept in memory: the style of the numbers is decided
// over the whole text.
const textLimit = 256 << 20

const title = "Performance counter stats for "

type textLine struct {
	text string
	line int
}

func parseText(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := newReader(in, out, "perf-stat")
	var lines []textLine
	size, last, ended := 0, 0, true
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line := l.Text, l.Number
		if size += len(text); size > textLimit {
			e := in.Syntax(line, 1, fmt.Sprintf("the text has more than %d bytes", textLimit))
			e.Hint = "measure with perf stat -x, or -j, which are read line by line"
			return e
		}
		last, ended = line, l.Ended
		lines = append(lines, textLine{strings.TrimRight(string(text), " \t"), line})
	}
	if last == 0 {
		e := in.Syntax(1, 1, "the file is empty")
		e.Expected = "what perf stat prints"
		return e
	}
	t := &textReader{reader: r}
	t.style = styleOf(lines)
	for i, l := range lines {
		if i%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", in.Name, ctx.Err())
		}
		if !ended && l.line == last && l.text != "" {
			return r.cut(l.line, len(l.text))
		}
		if err := t.take(l.text, l.line); err != nil {
			return err
		}
	}
	if t.block && !t.timed && !r.elapsed.Valid && r.rows > 0 {
		e := in.Syntax(last+1, 1, "the text ends before the time that the command took")
		e.Expected, e.Hint = `"seconds time elapsed"`, "the file is cut: get it again"
		return e
	}
	if !t.began {
		e := in.Syntax(last+1, 1, "the text has no counts of perf stat")
		e.Expected = `"Performance counter stats for"`
		return e
	}
	return r.finish()
}

// styleOf decides how the text writes numbers. A count without a unit is an
// integer, so that a separator in it groups. Only perf's own numbers tell: the
// command may be called with others, and print others.
func styleOf(lines []textLine) collectors.Style {
	var t textReader
	began := false
	for _, l := range lines {
		trimmed := strings.TrimSpace(l.text)
		if strings.HasPrefix(trimmed, title) || intervalTitle([]byte(trimmed)) {
			began = true
			continue
		}
		if _, row := t.row(l.text); !began || !row && !strings.Contains(l.text, "#") && !strings.Contains(l.text, " seconds ") {
			continue
		}
		f := words(l.text)
		if len(f) > 0 && isInterval(f[0]) && len(f) > 1 && !strings.Contains(l.text, "seconds") {
			f = f[1:]
		}
		for i, s := range f {
			s = strings.Trim(s, "()%")
			switch collectors.StyleOf(s) {
			case collectors.Dot:
				return collectors.Dot
			case collectors.Comma:
				return collectors.Comma
			case collectors.Ambiguous:
				if i+1 < len(f) && textUnits[f[i+1]] || i > 0 && f[i-1] == "#" || strings.Contains(l.text, "seconds") {
					continue
				}
				if strings.Contains(s, ",") {
					return collectors.Dot
				}
				return collectors.Comma
			}
		}
	}
	return collectors.Dot
}

// textUnits are units that stand between a value and its event.
var textUnits = map[string]bool{"msec": true, "ns": true, "usec": true, "sec": true, "Joules": true, "Watts": true, "MiB": true, "KiB": true, "GiB": true, "MB": true, "GB": true,
	"Bytes": true, "bytes": true, "64Bytes": true, "%": true, "C": true, "uW": true, "mW": true, "GB/s": true, "MB/s": true, "hz": true, "MHz": true}

type textReader struct {
	*reader
	began bool
	block bool // a title was read
	last  row  // the last event's row, for metrics on lines of their own
	has   bool
}

func (t *textReader) take(s string, line int) error {
	trimmed := strings.TrimSpace(s)
	switch {
	case trimmed == "":
		return nil
	case strings.HasPrefix(s, startedOn):
		t.has = false
		return t.started(s)
	case strings.HasPrefix(trimmed, title):
		return t.title(trimmed, line)
	case intervalTitle([]byte(trimmed)):
		t.began = true
		return nil
	case strings.HasPrefix(trimmed, "#") && len(trimmed) > 1 && t.has && (s[0] == ' ' || s[0] == '\t') && !strings.Contains(trimmed, "Table of"):
		w := t.last
		w.percent, w.runtime = "", ""
		if w.metric, w.metricUnit = splitMetric(w.shares(trimmed[1:])); w.metricUnit == "" {
			return nil
		}
		w.onlyMetric, w.line, w.metricColumn = true, line, strings.Index(s, "#")+1
		return t.add(w)
	case !t.began || trimmed[0] == '#':
		return nil // the command's own output
	}
	if done, err := t.seconds(trimmed, line); done || err != nil {
		return err
	}
	w, ok := t.row(s)
	if name, metric, has := strings.Cut(s, "#"); !ok && has && t.has {
		w := t.last
		w.percent, w.runtime = "", ""
		if v, unit := splitMetric(w.shares(metric)); unit != "" { // "TopdownL1 (cpu_core)  #  41.0 %  tma_frontend_bound  (83.33%)"
			f := words(name)
			if len(f) > 1 && isInterval(f[0]) {
				f = f[1:]
			}
			t.group = strings.Join(f, " ")
			w.metric, w.metricUnit, w.onlyMetric, w.line, w.metricColumn = v, unit, true, line, len(name)+1
			return t.add(w)
		}
	}
	if !ok {
		if t.rows == 0 || t.elapsed.Valid || looksLikeProse(trimmed) {
			if !t.elapsed.Valid {
				t.note("prose", line, 1, "the line is left out, it has no count: %s", collectors.Quote(trimmed))
			}
			return nil
		}
		e := t.in.Syntax(line, 1, "the line has no count of an event")
		e.Expected, e.Found = "a value and an event", collectors.Quote(trimmed)
		e.Hint = "something else wrote into the file (perf stat -o keeps them apart), or --metric-only was given: measure again without"
		return e
	}
	w.line = line
	t.last, t.has = w, true
	return t.add(w)
}

// looksLikeProse knows perf's remarks, such as "Some events weren't counted".
func looksLikeProse(s string) bool {
	f := words(s)
	return len(f) > 3 && !isValue(f[0]) && s[0] != '<'
}

// title reads "Performance counter stats for 'a.out x' (3 runs):".
func (t *textReader) title(s string, line int) error {
	t.began, t.has = true, false
	if t.rows > 0 { // several measurements in one file
		if err := t.finish(); err != nil {
			return err
		}
		t.begin()
	}
	t.block = true
	s = strings.TrimSuffix(strings.TrimPrefix(s, title), ":")
	if i := strings.LastIndex(s, " ("); i > 0 && strings.HasSuffix(s, " runs)") {
		n := strings.TrimSuffix(s[i+2:], " runs)")
		s = s[:i]
		if digits(n) {
			if err := t.out.Put(&datasets.Attribute{Run: t.run.ID, Name: "runs", Value: n}); err != nil {
				return err
			}
		}
	}
	s = strings.Trim(s, "'")
	if s == "" {
		return nil
	}
	t.region.Raw, t.region.Short = s, s
	if s != "system wide" && !strings.HasPrefix(s, "process id ") && !strings.HasPrefix(s, "thread id ") && !strings.HasPrefix(s, "CPU(s) ") {
		t.run.Command = s
	}
	return nil
}

// seconds reads the lines below the counts: "0.18 seconds time elapsed",
// "0.147 +- 0.006 seconds time elapsed ( +- 4.01% )", "0.09 seconds user".
func (t *textReader) seconds(s string, line int) (bool, error) {
	before, after, ok := strings.Cut(s, " seconds ")
	if !ok {
		return false, nil
	}
	var name string
	switch {
	case strings.HasPrefix(after, "time elapsed"):
		name = "duration_time"
	case strings.HasPrefix(after, "user"):
		name = "user_time"
	case strings.HasPrefix(after, "sys"):
		name = "system_time"
	default:
		return false, nil
	}
	text, _, _ := strings.Cut(before, "+-")
	text = strings.TrimSpace(text)
	v, err := collectors.ParseNumber(text, t.style, 0)
	if err != nil {
		e := t.in.Syntax(line, 1, "the time of the command is no number")
		e.Expected, e.Found = "seconds", collectors.Quote(text)
		return true, e
	}
	if name == "duration_time" {
		t.elapsed = datasets.Some(v)
	}
	t.footer = append(t.footer, measured{datasets.Counter{Run: t.run.ID, Region: t.region.ID, Metric: name, Value: datasets.Some(v), Unit: "s",
		RawValue: text, RawUnit: "seconds", Status: datasets.StatusOK}, line})
	if i := strings.Index(after, "( +-"); i >= 0 {
		spread := strings.TrimSpace(strings.Trim(after[i+4:], " )"))
		if v, err := collectors.ParseNumber(strings.TrimSuffix(spread, "%"), t.style, 0); err == nil {
			t.footer = append(t.footer, measured{datasets.Counter{Run: t.run.ID, Region: t.region.ID, Metric: "variance", Instance: name, Value: datasets.Some(v), Unit: "%",
				RawValue: spread, RawUnit: "%", Status: datasets.StatusOK}, line})
		}
	}
	return true, nil
}

// row reads
//
//	[seconds] [part [CPUs]] value [unit] event [cgroup]  # metric  ( +- 1.2% )  (83.33%)
func (t *textReader) row(s string) (row, bool) {
	var w row
	counts, rest, hasMetric := strings.Cut(s, "#")
	if !hasMetric {
		counts = strings.Replace(counts, "(scaled from ", "(", 1)
		if i := strings.LastIndex(counts, "  ["); i > 0 && strings.HasSuffix(counts, "%]") {
			counts = counts[:i] + "  (" + strings.Trim(counts[i:], " []") + ")"
		}
		if i := strings.LastIndex(counts, "  ("); i > 0 && strings.HasSuffix(counts, "%)") || i > 0 && strings.HasSuffix(counts, "% )") {
			counts, rest = counts[:i], counts[i:]
			if j := strings.LastIndex(counts, "( +-"); j > 0 {
				counts, rest = counts[:j], counts[j:]+rest
			}
		}
	}
	for _, what := range []string{"<not counted>", "<not supported>"} {
		counts = strings.Replace(counts, what, strings.ReplaceAll(what, " ", "_"), 1)
	}
	f := words(counts)
	if len(f) > 0 && isInterval(f[0]) && len(f) > 1 {
		w.interval, f = f[0], f[1:]
	}
	if len(f) > 0 && !isTextValue(f[0]) {
		n := 1
		for n < len(f) && !isTextValue(f[n]) { // the name of a thread can have spaces
			n++
		}
		w.partKind, w.part = partOf(strings.Join(f[:n], " "))
		f = f[n:]
		if len(f) > 2 && digits(f[0]) && isTextValue(f[1]) && w.partKind != "cpu" {
			w.cpus, f = f[0], f[1:]
		}
	}
	if len(f) < 2 || !isTextValue(f[0]) {
		return w, false
	}
	w.value = strings.ReplaceAll(f[0], "_", " ")
	w.column = strings.Index(s, w.value) + 1
	switch f = f[1:]; {
	case len(f) == 1 && strings.HasSuffix(f[0], "-clock-msecs"): // before Linux 2.6.39
		w.event, w.unit = strings.TrimSuffix(f[0], "-msecs"), "msec"
	case len(f) == 1:
		w.event = f[0]
	case len(f) == 2 && f[1] == "(msec)": // before Linux 4.20: "task-clock (msec)"
		w.event, w.unit = f[0], "msec"
	case textUnits[f[0]]:
		w.unit, w.event = f[0], f[1]
		if len(f) > 2 {
			w.cgroup = strings.Join(f[2:], " ")
		}
	case len(f) == 2:
		w.event, w.cgroup = f[0], f[1]
	default:
		return w, false
	}
	if isNumber(w.event) {
		return w, false
	}
	rest = w.shares(rest)
	if hasMetric {
		w.metric, w.metricUnit = splitMetric(rest)
		w.metricColumn = strings.Index(s, "#") + 1
	}
	return w, true
}

// shares takes what stands at the end of a line, "( +-  0.23% )" and "(83.33%)"
// ("(scaled from 83.33%)" before Linux 2.6.39), and returns what is before.
func (w *row) shares(rest string) string {
	rest = strings.Replace(strings.TrimSpace(rest), "(scaled from ", "(", 1)
	if i := strings.LastIndex(rest, "["); i >= 0 && strings.HasSuffix(rest, "%]") { // before Linux 3.14
		rest = rest[:i] + "(" + strings.Trim(rest[i:], "[]") + ")"
	}
	if i := strings.LastIndex(rest, "("); i >= 0 && strings.HasSuffix(rest, "%)") && isNumber(strings.Trim(rest[i:], "(%)")) {
		w.percent, rest = strings.TrimSpace(strings.Trim(rest[i:], "(%)")), strings.TrimSpace(rest[:i])
	}
	if i := strings.LastIndex(rest, "( +-"); i >= 0 && strings.HasSuffix(rest, ")") {
		w.variance, rest = strings.TrimSpace(strings.Trim(rest[i+4:], " )")), strings.TrimSpace(rest[:i])
	}
	return rest
}

// splitMetric cuts "0.23  insn per cycle", "1.2% of all branches" and
// "15.3 %  tma_retiring".
func splitMetric(s string) (value, unit string) {
	f := words(s)
	if len(f) < 2 {
		return "", ""
	}
	value, f = f[0], f[1:]
	if f[0] == "%" && len(f) > 1 {
		value, f = value+"%", f[1:]
	}
	if !isNumber(strings.TrimSuffix(value, "%")) && !strings.Contains(strings.ToLower(value), "nan") && !strings.Contains(strings.ToLower(value), "inf") {
		return "", ""
	}
	return value, strings.Join(f, " ")
}

func isTextValue(s string) bool {
	return s == "<not_counted>" || s == "<not_supported>" || isNumber(s)
}

// words cuts a text at spaces and tabs. Other white space, such as a narrow
// no-break space, groups the digits of a number.
func words(s string) []string {
	return strings.FieldsFunc(s, func(c rune) bool { return c == ' ' || c == '\t' })
}
