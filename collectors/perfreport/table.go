package perfreport

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

type column struct {
	name       string
	start, end int // of the cell in a line; end of the last one is the line's
}

type reader struct {
	in      *collectors.Input
	out     *collectors.Output
	run     datasets.Run
	machine datasets.Machine
	style   collectors.Style
	styled  bool

	event     string
	group     []string // the events of --group: a cell holds a number of each
	events    int
	repeats   map[string]int // of events' names
	columns   []column
	separator string // of -t
	title     string // the line of titles, until the dots are met
	titleLine int
	regions   map[[2]string]int64
	launches  map[string]*datasets.Launch
	metrics   map[string]bool
	rows      int
	header    bool // the header of --header is being read
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &reader{in: in, out: out, style: collectors.Dot, regions: map[[2]string]int64{}, launches: map[string]*datasets.Launch{}, metrics: map[string]bool{},
		run: datasets.Run{ID: runID, Tool: "perf", Format: "perf-report", Status: datasets.RunOK}, machine: datasets.Machine{ID: machineID}}
	last := 0
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		last = line
		s := strings.TrimRight(string(text), " \t")
		if !ended && s != "" {
			return in.Cut(line, len(text), "the file is cut: run perf report again")
		}
		if err := r.take(s, line); err != nil {
			return err
		}
	}
	if last == 0 {
		e := in.Syntax(1, 1, "the file is empty")
		e.Expected = "the text of perf report --stdio"
		return e
	}
	if r.events == 0 {
		e := in.Syntax(last, 1, "the text holds no table of perf report")
		e.Expected, e.Hint = `"# Overhead ..."`, "write the report again without -q"
		return e
	}
	return r.end()
}

func (r *reader) take(s string, line int) error {
	switch {
	case s == "" || s == "#":
		return nil
	case isTableTitle(s):
		return r.titles(s, line)
	case r.title != "" && strings.Trim(s, "#. ") == "" && strings.Contains(s, "..."):
		return r.dots(s, line)
	case s[0] == '#':
		return r.comment(s)
	case strings.HasPrefix(s, "Warning:"), strings.HasPrefix(s, "Error:"):
		r.out.Warn(line, 1, "perf says: %s", s)
		return nil
	}
	if r.title != "" && r.columns == nil { // no dots: a separator was given
		if err := r.separated(); err != nil {
			return err
		}
	}
	if r.columns == nil {
		if first, _, _ := strings.Cut(strings.TrimSpace(s), " "); r.events == 0 && strings.HasSuffix(first, "%") {
			e := r.in.Syntax(line, 1, "the line is in no table")
			e.Expected, e.Found, e.Hint = `"# Overhead ..."`, collectors.Quote(s), "write the report again without -q"
			return e
		}
		return nil
	}
	cells, ok := r.cells(s)
	if !ok {
		if !r.begins(s) {
			return nil // a call graph
		}
		e := r.in.Syntax(line, 1, "the row does not stand below the titles of its table")
		e.Expected, e.Found = fmt.Sprintf("cells below %d titles", len(r.columns)), collectors.Quote(s)
		e.Hint = "the file was changed after perf wrote it: write the report again"
		return e
	}
	return r.row(cells, line)
}

// titles remembers the line of titles until the dots below it tell the columns.
func (r *reader) titles(s string, line int) error {
	if strings.Contains(s, " / ") {
		return &collectors.UnsupportedError{File: r.in.Name, What: "a report of perf report --hierarchy", Hint: "write it again without --hierarchy"}
	}
	r.title, r.titleLine, r.columns, r.separator = s, line, nil, ""
	if r.event == "" {
		r.events++
	}
	return nil
}

func (r *reader) dots(s string, line int) error {
	var cols []column
	for i := 1; i < len(s); i++ {
		if s[i] != '.' {
			continue
		}
		start := i
		for i < len(s) && s[i] == '.' {
			i++
		}
		// Titles can be wider than their dots only at the end.
		from, to := min(start, len(r.title)), min(i, len(r.title))
		cols = append(cols, column{strings.TrimSpace(r.title[from:to]), start, i})
	}
	if len(cols) == 0 {
		return nil
	}
	last := &cols[len(cols)-1]
	last.name = strings.TrimSpace(r.title[min(last.start, len(r.title)):])
	last.end = math.MaxInt
	for _, c := range cols {
		if c.name == "" {
			e := r.in.Syntax(line, c.start+1, "the column has no title")
			e.Expected, e.Hint = "a title above the dots", "write the report again"
			return e
		}
	}
	r.columns = cols
	return nil
}

// separated reads titles of a report with a separator: "# Overhead,Command".
func (r *reader) separated() error {
	s := strings.TrimPrefix(r.title, "# ")
	for _, first := range []string{"Overhead", "Children"} {
		rest, ok := strings.CutPrefix(strings.TrimLeft(s, " "), first)
		if !ok {
			continue
		}
		rest = strings.TrimLeft(rest, " ")
		if rest == "" || rest[0] >= 'A' && rest[0] <= 'Z' || rest[0] >= 'a' && rest[0] <= 'z' {
			break
		}
		r.separator = rest[:1]
		for _, name := range strings.Split(s, r.separator) {
			r.columns = append(r.columns, column{name: strings.TrimSpace(name)})
		}
		return nil
	}
	e := r.in.Syntax(r.titleLine, 1, "nothing tells where the columns of the table are")
	e.Expected, e.Found, e.Hint = "a line of dots below the titles", collectors.Quote(r.title), "the file is damaged: write the report again"
	return e
}

// cells cuts a row, and reports whether the line is one: lines of a call graph
// have no percentage in the first column, or text between the columns.
func (r *reader) cells(s string) ([]string, bool) {
	var cells []string
	if r.separator != "" {
		cells = strings.SplitN(s, r.separator, len(r.columns))
		if len(cells) != len(r.columns) {
			return nil, false
		}
	} else {
		end := 0
		for _, c := range r.columns {
			if c.start > len(s) || strings.TrimSpace(s[min(end, len(s)):c.start]) != "" {
				return nil, false
			}
			end = min(c.end, len(s))
			cells = append(cells, s[c.start:end])
		}
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) > 2 && cells[0] == "N/A" { // Children, where no call graph was recorded
		return cells, isPercent(cells[1])
	}
	return cells, isPercent(cells[0])
}

// begins says whether a line begins as a row does, with a percentage and
// nothing else in the first column. A call graph is indented further.
func (r *reader) begins(s string) bool {
	if r.separator != "" {
		first, _, _ := strings.Cut(s, r.separator)
		return isPercent(strings.TrimSpace(first))
	}
	c := r.columns[0]
	return len(s) > c.end && s[c.end] == ' ' && isPercent(strings.TrimSpace(s[:c.end]))
}

// row makes a launch of a row and counters of its numbers.
func (r *reader) row(cells []string, line int) error {
	r.rows++
	var counters []datasets.Counter
	var texts [][2]string
	var symbol, module, command, level string
	for i, c := range r.columns {
		text := cells[i]
		switch {
		case c.name == "Symbol" || c.name == "IP or Symbol" || c.name == "Target Symbol": // the latter of branches (-b)
			level, symbol = splitLevel(text)
			continue
		case c.name == "Shared Object" || c.name == "Object" || c.name == "Target Shared Object":
			module = text
			continue
		case c.name == "Command" || c.name == "comm":
			command = text
		case text == "N/A":
			counters = append(counters, datasets.Counter{Run: runID, Metric: c.name, Instance: r.event, Unit: "%", RawValue: text, Status: datasets.StatusNA})
			continue
		case c.name == "Samples" || c.name == "Period" || isPercent(text):
			more, err := r.numbers(c, text, line)
			if err != nil {
				return err
			}
			counters = append(counters, more...)
			continue
		}
		if text != "" && text != "-" {
			texts = append(texts, [2]string{c.name, text})
		}
	}
	l, err := r.launch(symbol, module, command, level, texts)
	if err != nil {
		return err
	}
	for i := range counters {
		c := &counters[i]
		c.Region, c.Launch = l.Region, l.ID
		r.metrics[c.Metric] = true
		if err := r.out.Put(c); err != nil {
			return err
		}
	}
	return nil
}

// splitLevel cuts "[.] name", "[k] name".
func splitLevel(s string) (level, symbol string) {
	if len(s) > 4 && s[0] == '[' && s[2] == ']' && s[3] == ' ' {
		return s[1:2], strings.TrimSpace(s[4:])
	}
	return "", s
}

// launch returns the launch of a row's texts, which it emits when it is new.
func (r *reader) launch(symbol, module, command, level string, texts [][2]string) (*datasets.Launch, error) {
	key := fmt.Sprintf("%q %q %q", symbol, module, texts)
	if l := r.launches[key]; l != nil {
		return l, nil
	}
	name, kind := symbol, datasets.KindFunction
	if name == "" {
		if name, kind = module, datasets.KindRange; name == "" {
			name = command
		}
		for _, t := range texts {
			if name == "" {
				name = t[1]
			}
		}
	}
	region, ok := r.regions[[2]string{name, module}]
	if !ok {
		region = int64(len(r.regions) + 1)
		r.regions[[2]string{name, module}] = region
		g := datasets.Region{ID: region, Run: runID, Kind: kind, Raw: name, Short: name, Module: module}
		if kind == datasets.KindFunction {
			g.Short = collectors.ShortName(name)
			if collectors.Demangle(name) != name {
				g.Mangled = name
			}
		}
		if err := r.out.Put(&g); err != nil {
			return nil, err
		}
		if level != "" {
			if err := r.out.Put(&datasets.Attribute{Run: runID, Region: region, Name: "level", Value: level}); err != nil {
				return nil, err
			}
		}
	}
	l := &datasets.Launch{ID: int64(len(r.launches) + 1), Run: runID, Region: region, ToolID: command}
	r.launches[key] = l
	for _, t := range texts {
		if id, _, ok := strings.Cut(t[1], ":"); ok && strings.HasSuffix(t[0], ":Command") {
			if n, err := strconv.ParseInt(strings.TrimSpace(id), 10, 64); err == nil {
				if strings.HasPrefix(t[0], "Tid") {
					l.Thread = datasets.Some(n)
				} else {
					l.PID = datasets.Some(n)
				}
			}
		}
	}
	if err := r.out.Put(l); err != nil {
		return nil, err
	}
	for _, t := range texts {
		name := t[0]
		if name == "Command" {
			name = "comm"
		}
		if err := r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: l.ID, Name: name, Value: t[1]}); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// comment reads what stands above the tables.
func (r *reader) comment(s string) error {
	if strings.HasPrefix(s, "# ====") {
		r.header = !r.header
		return nil
	}
	key, value, ok := strings.Cut(strings.TrimLeft(s, "# "), ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !ok || value == "" {
		return nil
	}
	switch {
	case key == "Samples" && strings.Contains(value, "of event"):
		count, event, _ := strings.Cut(value, "of event")
		event, several := strings.CutPrefix(event, "s ")
		event = strings.TrimSpace(event)
		if event, _, _ = strings.Cut(event, ","); event == "" {
			return nil
		}
		if i := strings.LastIndexByte(s, '\''); i > 0 { // the name itself can hold commas
			if j := strings.IndexByte(s, '\''); j < i {
				event = s[j : i+1]
			}
		}
		r.event, r.title, r.columns, r.group = strings.Trim(event, "'"), "", nil, nil
		if several || strings.Contains(r.event, "group {") {
			r.group = groupOf(r.event)
		}
		r.events++
		if r.repeats == nil {
			r.repeats = map[string]int{}
		}
		if r.repeats[r.event]++; r.repeats[r.event] > 1 { // of another report in the same file, or an event that was named twice
			r.event += " #" + strconv.Itoa(r.repeats[r.event])
		}
		return r.out.Put(&datasets.Attribute{Run: runID, Name: "samples of " + r.event, Value: strings.TrimSpace(count)})
	case key == "Events" && !r.header: // before Linux 3.3: "1K cycles"
		count, event, _ := strings.Cut(value, " ")
		r.event, r.title, r.columns = strings.TrimSpace(event), "", nil
		r.events++
		return r.out.Put(&datasets.Attribute{Run: runID, Name: "samples of " + r.event, Value: count})
	case key == "Event count (approx.)":
		return r.out.Put(&datasets.Attribute{Run: runID, Name: "event count of " + r.event, Value: value})
	case key == "Total Lost Samples":
		if value != "0" {
			r.out.Warn(0, 0, "perf lost %s samples while it recorded", value)
		}
	case !r.header:
		return nil
	}
	switch key {
	case "hostname":
		r.machine.Host = value
	case "cpudesc":
		r.machine.CPU = value
	case "arch":
		r.machine.Arch = value
	case "perf version":
		r.run.ToolVersion = value
	case "cmdline":
		r.run.Command = value
	case "captured on":
		if t, err := time.Parse("Mon Jan _2 15:04:05 2006", strings.Join(strings.Fields(value), " ")); err == nil {
			r.run.Started = datasets.Some(t)
		}
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: value})
}

func (r *reader) end() error {
	switch {
	case r.rows == 0:
		r.run.Status, r.run.Error = datasets.RunEmpty, "the report has no row"
		r.out.Warn(0, 0, "%s", r.run.Error)
	case r.events == 1:
		for _, m := range []string{r.event, "Self", "Overhead"} {
			if m != "" && r.metrics[m] {
				r.run.TimeMetric = m
				break
			}
		}
	default:
		for m := range r.metrics { // clocks and cycles can stand for time
			if name, _, _ := strings.Cut(m, ":"); (name == "cpu-clock" || name == "task-clock" || name == "cycles") && (r.run.TimeMetric == "" || m < r.run.TimeMetric) {
				r.run.TimeMetric = m
			}
		}
	}
	if r.machine.Host != "" || r.machine.CPU != "" {
		r.run.Machine = machineID
		if err := r.out.Put(&r.machine); err != nil {
			return err
		}
	}
	return r.out.Put(&r.run)
}
