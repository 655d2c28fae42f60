package nsys

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// title is a column's: a label and, in brackets behind it, the unit.
type title struct {
	label, unit string
	key         string // of the label
}

var bracketed = regexp.MustCompile(`^(.*?)\s*\(([^()]*)\)$`)

func asTitle(text string) title {
	t := title{label: strings.TrimSpace(text)}
	if strings.HasSuffix(t.label, ")") {
		if m := bracketed.FindStringSubmatch(t.label); m != nil {
			t.label, t.unit = m[1], m[2]
		}
	}
	t.key = delimited.Key(t.label)
	return t
}

// table is one table of the file.
type table struct {
	report string // "cuda_gpu_kern_sum", where the file says so
	titles []title
	at     map[string]int
	kind   string // of its regions
	trace  bool   // a row per event, else per name
	name   int    // column
	spans  []span // of the columns, in tables that are printed for people
	sep    byte   // between cells, else
	number int    // of the table in the file
}

// nameColumns are those that name what a row is about.
var nameColumns = []string{"kernelname", "name", "range", "operation", "apifunction"}

// asTable returns the table whose header a line is, nil where it is none:
// tables of nsys stats have a name, and times with units or a share of time.
func asTable(line, report string) *table {
	sep := byte(',')
	if strings.Count(line, "\t") >= 3 {
		sep = '\t'
	}
	if strings.Count(line, string(sep)) < 3 || strings.Contains(line, ",Sum(ns),") { // that is ROCm Compute Profiler's
		return nil
	}
	cells, broken := delimited.Split(line, sep)
	if broken != nil {
		return nil
	}
	t := &table{report: report, at: map[string]int{}, name: -1, sep: sep}
	times, numbers := 0, 0
	for i, c := range cells {
		h := asTitle(c.Text)
		t.titles = append(t.titles, h)
		if _, twice := t.at[h.key]; !twice {
			t.at[h.key] = i
		}
		switch u := strings.ToLower(h.unit); {
		case h.key == "time" && u == "%":
			times++
		case u == "ns" || u == "nsec" || u == "us" || u == "usec" || u == "ms" || u == "msec" || u == "s" || u == "sec":
			times++
		case u == "mb" || u == "kb" || u == "b" || u == "kib" || u == "mib" || u == "gb":
			numbers++
		}
	}
	for _, k := range nameColumns {
		if i, ok := t.at[k]; ok {
			t.name = i
			break
		}
	}
	_, start := t.at["start"]
	_, dur := t.at["duration"]
	_, kstart := t.at["kernelstart"]
	_, pstart := t.at["projectedstart"]
	t.trace = start && dur || kstart || pstart
	t.inherit()
	if _, ok := t.at["operations"]; ok && t.at["total"] == 0 && t.name >= 0 && t.titles[t.name].key == "operation" && numbers == 0 && times == 0 {
		// Before 2021.2 the sizes of copies were in KiB, and no title said so.
		for i, h := range t.titles {
			if h.key != "operations" && h.key != "operation" {
				t.titles[i].unit = "KiB"
			}
		}
		numbers = 2
	}
	counts := false
	for _, k := range []string{"instances", "numcalls", "calls", "count", "operations", "totalinstances", "rangeinstances", "kerninst"} {
		_, has := t.at[k]
		counts = counts || has
	}
	if t.name < 0 || times == 0 && numbers < 2 || !t.trace && !counts {
		return nil
	}
	t.kind = t.kindOf()
	return t
}

// inherit gives the unit of the total to the statistics that have none: old
// versions wrote it once.
func (t *table) inherit() {
	unit := ""
	for _, k := range []string{"totaltime", "total"} {
		if i, ok := t.at[k]; ok && unit == "" {
			unit = t.titles[i].unit
		}
	}
	for i, h := range t.titles {
		switch h.key {
		case "average", "avg", "median", "med", "minimum", "min", "maximum", "max", "stddev", "stddeviation":
			if h.unit == "" {
				t.titles[i].unit = unit
			}
		}
	}
}

// kindOf tells what the names of a table are.
func (t *table) kindOf() string {
	has := func(keys ...string) bool {
		for _, k := range keys {
			if _, ok := t.at[k]; ok {
				return true
			}
		}
		return false
	}
	switch r := t.report; {
	case strings.Contains(r, "nvtx") || has("range", "rangeid"):
		return datasets.KindRange
	case strings.Contains(r, "api") || strings.Contains(r, "osrt") || has("numcalls", "tid") && !has("kernelname"):
		return datasets.KindFunction
	case strings.Contains(r, "mem") || has("operation") && !has("category"):
		return datasets.KindRange
	case has("instances", "grdx", "kernelname", "gridxyz"):
		return datasets.KindKernel
	}
	return datasets.KindFunction
}

// namesRows is a cheap look at whether a line can be a header with one of
// nameColumns.
func namesRows(line string) bool {
	return strings.Contains(line, "ame") || strings.Contains(line, "ange") || strings.Contains(line, "peration") || strings.Contains(line, "unction")
}

func detectCSV(h collectors.Head) collectors.Confidence {
	rest, above := h.Bytes, ""
	for range 400 {
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		if len(line) == 0 && !ended || !ended && !h.Whole {
			break
		}
		text := strings.TrimRight(string(line), "\r")
		if namesRows(text) && !delimited.IsRow(text) && asTable(text, "") != nil {
			return collectors.Certain
		}
		if asPrinted(above, text, "") != nil {
			return collectors.Certain
		}
		above = text
		if strings.HasPrefix(text, "SKIPPED: ") && skipped.MatchString(text) {
			return collectors.Certain
		}
		rest = more
	}
	return collectors.No
}

var (
	processing = regexp.MustCompile(`^Processing \[.*\] with \[(?:.*/)?([A-Za-z0-9_]+)\.py\b.*\]`)
	starred    = regexp.MustCompile(`^\s*\*\* .*\(([a-z0-9_]+)\):?\s*$`)
	skipped    = regexp.MustCompile(`^SKIPPED: .* (does not contain|could not be)`)
)

// sheet reads the output of nsys stats, twice: first to know the order of the
// events' starts, of which it keeps one number each, then to emit.
type sheet struct {
	in   *collectors.Input
	out  *collectors.Output
	r    *delimited.Reader
	emit bool

	table    *table
	report   string
	above    [2]string // the line before, and the report that was named before it
	repeats  map[rowOf]int
	numbered map[rowOf]int
	tables   int
	again    map[string]int // summaries by report and titles
	rows     int
	skipped  []string
	starts   map[string][]int64 // by kind of event
	places   map[string][]int64
	seen     map[string]int
	regions  map[string]int64
	ranges   map[string]int64 // NVTX ranges by their ids
	launches int64
	run      datasets.Run
	machine  datasets.Machine
	warned   map[string]bool
}

func parseCSV(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return parseSheet(ctx, in, out, "nsys-csv", (*sheet).pass)
}

func parseSheet(ctx context.Context, in *collectors.Input, out *collectors.Output, format string, pass func(s *sheet, ctx context.Context, name, path string) error) error {
	return in.WithFile(func(path string) error {
		s := &sheet{out: out, starts: map[string][]int64{}, places: map[string][]int64{}, regions: map[string]int64{}, repeats: map[rowOf]int{}, numbered: map[rowOf]int{}, warned: map[string]bool{},
			run: datasets.Run{ID: runID, Tool: "nsys", Format: format, Status: datasets.RunOK}, machine: datasets.Machine{ID: machineID}}
		for _, s.emit = range []bool{false, true} {
			if err := pass(s, ctx, in.Name, path); err != nil {
				return err
			}
			s.order()
		}
		return s.finish()
	})
}

func (s *sheet) pass(ctx context.Context, name, path string) error {
	return s.from(name, path, func() error { return s.tablesCSV(ctx, name) })
}

// from has read go over the file at path.
func (s *sheet) from(name, path string, read func() error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if s.in, err = collectors.Open(name, f); err != nil {
		return err
	}
	s.reset()
	return read()
}

func (s *sheet) tablesCSV(ctx context.Context, name string) error {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", name, ctx.Err())
		}
		text, err := s.r.Text()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := s.line(text); err != nil {
			return err
		}
	}
	if s.tables == 0 && len(s.skipped) == 0 {
		e := s.in.Syntax(max(s.r.Line, 1), 1, "there is no table of nsys stats")
		e.Expected, e.Hint = "a header such as Time (%),Total Time (ns),Instances,...,Name", "write it with nsys stats --format csv --report cuda_gpu_kern_sum REPORT"
		return e
	}
	return nil
}

// reset begins a pass.
func (s *sheet) reset() {
	s.r = delimited.New(s.in)
	s.above = [2]string{}
	s.table, s.report, s.tables, s.rows, s.skipped, s.seen, s.ranges, s.again = nil, "", 0, 0, nil, map[string]int{}, map[string]int64{}, map[string]int{}
}

// noise are beginnings of what nsys stats prints around its tables.
var noise = []string{"Processing [", "NOTICE:", "Generating ", "Exporting ", "Exported ", "Using ", "SKIPPED:", "WARNING:", "Importing ", "FATAL", " **", "**", "It is assumed", "Consider using"}

func (s *sheet) line(text string) error {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		s.table, s.above = nil, [2]string{}
		return nil
	}
	above := s.above
	if s.table == nil {
		s.above = [2]string{strings.Clone(text), s.report} // it may be the titles of a table that is printed
	}
	if r, ok := printed[trimmed]; ok {
		s.table = nil
		if s.report == "" {
			s.report = r
		}
		return nil
	}
	if t := asPrinted(above[0], text, above[1]); t != nil {
		s.begin(t)
		s.run.Format = "nsys-text"
		return nil
	}
	for _, form := range []*regexp.Regexp{processing, starred, executing} {
		if m := form.FindStringSubmatch(text); m != nil {
			s.table, s.report = nil, m[1]
			return nil
		}
	}
	for _, n := range noise {
		if strings.HasPrefix(text, n) || strings.HasPrefix(trimmed, n) {
			if skipped.MatchString(text) {
				s.skipped = append(s.skipped, trimmed)
			}
			s.table = nil
			return nil
		}
	}
	if t := asTable(text, s.report); t != nil {
		if !s.r.Ended {
			e := s.in.Syntax(s.r.Line, len(text)+1, "the file ends within a header")
			e.Hint = "the file is cut: get it again"
			return e
		}
		s.begin(t)
		return nil
	}
	if s.table == nil {
		if s.report != "" && s.emit && strings.Count(text, ",") > 2 {
			s.out.Warn(s.r.Line, 1, "the table of the report %s is not read: its columns are not known: %s", s.report, collectors.Quote(text))
		}
		s.report = ""
		return nil // the application's own output
	}
	if s.table.spans != nil {
		return s.printedRow(text)
	}
	row, err := s.r.Cells(text)
	if err != nil {
		return err
	}
	want := len(s.table.titles)
	if len(row) > want && s.table.name == want-1 { // a name with commas that nobody quoted
		name := &row[want-1]
		if name.Line == s.r.Line && !name.Quoted {
			name.Text = strings.TrimRight(text[name.Column-1:], " ")
			row = row[:want]
		}
	}
	if len(row) != want {
		return s.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", want), fmt.Sprint(len(row)))
	}
	if last := row[want-1]; !s.r.Ended && !last.Quoted {
		if s.emit {
			s.out.Warn(last.Line, 1, "the last row has no line end, so its last cell %s may be cut, and was left out: if the file is whole, end it with a newline", collectors.Quote(last.Text))
		}
		return nil
	}
	s.rows++
	return s.row(row)
}

func (s *sheet) begin(t *table) {
	s.tables++
	t.number = s.tables
	if !t.trace { // the report of another profile in the same file
		names := t.report
		for _, h := range t.titles {
			names += "\x00" + h.label
		}
		if s.again[names]++; s.again[names] > 1 {
			t.report = strings.TrimSpace(t.report + " #" + strconv.Itoa(s.again[names]))
			if s.emit {
				s.once("again", "the report comes again: its values have the instance %s", collectors.Quote(t.report))
			}
		}
	}
	s.table, s.report = t, ""
	s.r.Sep = t.sep
}

// order ranks the events of each kind by their start.
func (s *sheet) order() {
	for kind, starts := range s.starts {
		ids := make([]int, len(starts))
		for i := range ids {
			ids[i] = i
		}
		sort.SliceStable(ids, func(a, b int) bool { return starts[ids[a]] < starts[ids[b]] })
		places := make([]int64, len(ids))
		for rank, i := range ids {
			places[i] = int64(rank)
		}
		s.places[kind] = places
	}
	s.starts = map[string][]int64{}
}

func (s *sheet) finish() error {
	for _, text := range s.skipped {
		s.out.Warn(0, 0, "nsys had nothing for a report: %s", text)
	}
	if s.rows == 0 {
		s.run.Status = datasets.RunEmpty
		s.run.Error = "the tables have no row: nothing was traced of what these reports are about"
		if len(s.skipped) > 0 {
			s.run.Error = strings.Join(s.skipped, "\n")
		}
		s.out.Warn(0, 0, "nothing was measured: %s", s.run.Error)
	}
	if s.machine != (datasets.Machine{ID: machineID}) {
		s.run.Machine = machineID
		if err := s.out.Put(&s.machine); err != nil {
			return err
		}
	}
	return s.out.Put(&s.run)
}

// once warns about the current line, a single time per topic.
func (s *sheet) once(topic, format string, args ...any) {
	if !s.warned[topic] {
		s.warned[topic] = true
		s.out.Warn(s.r.Line, 1, format, args...)
	}
}
