package ncu

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

// parser holds what reading one file needs.
type parser struct {
	in  *collectors.Input
	out *collectors.Output
	r   reader

	run     datasets.Run
	machine datasets.Machine
	tool    bool // there are lines of the tool
	report  string
	page    string

	table    *table
	tables   int
	units    []string // of the raw page's metrics
	regions  map[string]int64
	launches map[string]*launch
	shapes   map[int64]int // of a region, in a summary
	current  *launch
	list     listing
	count    int64
	rows     int
	numbers  numbers
	same     same
	warned   map[string]bool
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	p := &parser{in: in, out: out, r: reader{in: in},
		run:     datasets.Run{ID: runID, Tool: "ncu", Format: "ncu-csv", Status: datasets.RunOK},
		machine: datasets.Machine{ID: machineID},
		regions: map[string]int64{}, launches: map[string]*launch{}, shapes: map[int64]int{}, warned: map[string]bool{}}
	p.list = listing{views: map[string]int{}, nth: map[string]*shown{}, codes: map[string]int64{}}
	p.numbers = numbers{p: p, units: map[string]unit{}}
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", in.Name, ctx.Err())
		}
		if err := p.line(); errors.Is(err, io.EOF) {
			return p.finish()
		} else if err != nil {
			return err
		}
	}
}

// lineOf handles the line that the reader is at.
func (p *parser) lineOf(text string) error {
	switch {
	case strings.TrimSpace(text) == "":
		return nil
	case strings.HasPrefix(text, "=="):
		if !p.r.ended {
			return p.cut(text)
		}
		p.toolLine(text)
		return nil
	}
	if p.isRow(text) {
		return p.tableRow(text)
	}
	if done, err := p.listLine(text); done {
		return err
	}
	if t := asHeader(text); t != nil && (p.table == nil || t.cells[0].text == p.table.cells[0].text) {
		if !p.r.ended {
			return p.cut(text)
		}
		return p.header(t)
	}
	if p.table == nil || p.noise(text) {
		if p.table == nil && !p.r.ended && (p.tool || strings.HasPrefix(text, `"`)) {
			return p.cut(text)
		}
		if p.table != nil {
			p.out.Warn(p.r.line, 1, "a line among the rows is no row and was left out: %s", collectors.Quote(text))
		}
		return nil // the application's own output
	}
	return p.tableRow(text)
}

// isRow reports whether a line can only be a row of the table of launches: the
// quoted number that each begins with.
func (p *parser) isRow(text string) bool {
	return p.table != nil && p.table.quoted && p.table.at[colID] == 0 && len(text) > 2 && text[0] == '"' && text[1] >= '0' && text[1] <= '9'
}

// tableRow reads the row of a table that begins with a line.
func (p *parser) tableRow(text string) error {
	line := p.r.line
	fields, err := p.wholeRow(text)
	if err != nil {
		return err
	}
	p.rows++
	if p.table.long() {
		return p.longRow(fields, text, line)
	}
	return p.wideRow(fields, text, line)
}

// wholeRow reads a row and makes sure that its last cell is not cut.
func (p *parser) wholeRow(text string) ([]field, error) {
	fields, err := p.r.row(text)
	if err != nil {
		return nil, err
	}
	if last := fields[len(fields)-1]; !p.r.ended && !last.quoted {
		e := p.in.Syntax(last.line, last.column+len(last.text), "the last row has no line end, so its last cell may be cut")
		e.Found = collectors.Quote(last.text)
		e.Hint = "if the file is whole, end it with a newline; else get it again"
		return nil, e
	}
	return fields, nil
}

// listLine reads a line of the SOURCE page; done is false where it is none.
func (p *parser) listLine(text string) (done bool, err error) {
	quoted := p.list.header != nil && p.list.header.cells[0].quoted
	if kind, value, ok := asTitle(text); ok && (!quoted || text[0] == '"') {
		if !p.r.ended {
			return true, p.cut(text)
		}
		p.listTitle(kind, value)
		return true, nil
	}
	if h := asListHeader(text); h != nil && (p.list.titled || h.measured()) {
		if !p.r.ended {
			return true, p.cut(text)
		}
		p.endTable()
		p.list.header, p.list.titled, p.list.current, p.r.sep = h, false, nil, h.sep
		return true, p.endLaunch()
	}
	h := p.list.header
	if h == nil || p.table != nil {
		return false, nil
	}
	if t := asHeader(text); t != nil {
		p.list.header, p.list.current = nil, nil // the launches' table comes after the listing
		return false, nil
	}
	if h.cells[0].quoted && text[0] != '"' || strings.Count(text, string(h.sep)) < min(3, len(h.cells)-1) {
		p.out.Warn(p.r.line, 1, "a line among the rows is no row and was left out: %s", collectors.Quote(text))
		return true, nil
	}
	fields, err := p.wholeRow(text)
	if err != nil {
		return true, err
	}
	p.page = "source"
	return true, p.listRow(fields)
}

// cut is the error for a file that ends within a line which is no row.
func (p *parser) cut(text string) error {
	e := p.in.Syntax(p.r.line, len(text)+1, "the file ends within a line")
	e.Found, e.Hint = collectors.Quote(text), "the file is cut: get it again"
	return e
}

// noise reports whether a line among the rows is output of the application:
// where cells are quoted a row begins with a quote, elsewhere with a number.
func (p *parser) noise(text string) bool {
	sep := string(p.table.sep)
	if p.table.quoted {
		return text[0] != '"' && !strings.Contains(text, `"`+sep) && strings.Count(text, sep) < len(p.table.cells)-5
	}
	return p.table.at[colID] == 0 && strings.Count(text, sep) < 3 && (text[0] < '0' || text[0] > '9')
}

// toolLine reads one of the tool's own lines.
func (p *parser) toolLine(text string) {
	p.tool = true
	kind, msg, _ := strings.Cut(strings.TrimPrefix(text, "=="), "==")
	msg = strings.TrimSpace(msg)
	switch kind {
	case "ERROR":
		switch {
		case strings.Contains(msg, "ERR_NVGPUCTRPERM"):
			p.run.Status, p.run.Error = datasets.RunDenied, msg
			p.out.Warn(p.r.line, 1, "the system denied access to performance counters: %s", msg)
		default:
			if p.run.Status != datasets.RunDenied {
				p.run.Status = datasets.RunFailed
			}
			if p.run.Error != "" {
				p.run.Error += "\n"
			}
			p.run.Error += msg
			p.out.Warn(p.r.line, 1, "ncu reported an error: %s", msg)
		}
	case "WARNING":
		if strings.Contains(msg, "No kernels were profiled") && p.run.Status == datasets.RunOK {
			p.run.Status, p.run.Error = datasets.RunEmpty, msg
		}
		p.out.Warn(p.r.line, 1, "ncu warned: %s", msg)
	case "PROF":
		if rest, ok := strings.CutPrefix(msg, "Connected to process "); ok && p.run.Command == "" {
			if _, path, ok := strings.Cut(rest, "("); ok {
				p.run.Command = strings.TrimSuffix(path, ")")
			}
		}
		if rest, ok := strings.CutPrefix(msg, "Report: "); ok {
			p.report = rest
		}
	}
}

// header begins a table: the first, or another one of the same file, as ncu
// writes when several processes are profiled.
func (p *parser) header(t *table) error {
	if err := t.check(p.in, p.r.line); err != nil {
		return err
	}
	p.table, p.r.sep = t, t.sep
	p.tables++
	p.units = nil
	if err := p.endLaunch(); err != nil {
		return err
	}
	if p.tables > 1 {
		p.once("tables", "another table begins here: its rows are launches of their own")
	}
	if t.at[colID] < 0 && !t.summary() {
		p.once("id", "there is no column \"ID\": launches are told apart by their metrics coming again")
	}
	if t.long() && len(t.metrics) > 0 {
		p.once("extra", "columns of metrics beside the rows of metrics are left out")
	}
	return nil
}

// once warns about the current line, a single time per topic.
func (p *parser) once(topic, format string, args ...any) {
	if !p.warned[topic] {
		p.warned[topic] = true
		p.out.Warn(p.r.line, 1, format, args...)
	}
}

// finish ends the file: what was held back goes out, then run and machine.
func (p *parser) finish() error {
	if err := p.endLaunch(); err != nil {
		return err
	}
	if err := p.putListings(); err != nil {
		return err
	}
	if err := p.numbers.decide(); err != nil {
		return err
	}
	if p.units == nil && p.table != nil && p.table.wide() {
		e := p.in.Syntax(p.r.line, 1, "the table ends after its header")
		e.Expected, e.Hint = "a row of units", "the file is cut: get it again"
		return e
	}
	if p.count == 0 && p.page != "summary" {
		if err := p.nothing(); err != nil {
			return err
		}
	}
	p.run.FormatVersion = p.page
	if p.machine.Host != "" || p.machine.Arch != "" || p.machine.GPU != "" {
		p.run.Machine = machineID
		if err := p.out.Put(&p.machine); err != nil {
			return err
		}
	}
	return p.out.Put(&p.run)
}

// nothing names the reason why there is no launch.
func (p *parser) nothing() error {
	if !p.tool && p.table == nil && p.list.header == nil {
		e := p.in.Syntax(max(p.r.line, 1), 1, "there is no table")
		e.Expected, e.Hint = `a header row such as "ID","Process ID","Process Name",...`, "is this the output of ncu --csv?"
		return e
	}
	if p.run.Status != datasets.RunOK {
		return nil // the tool said why
	}
	p.run.Status = datasets.RunEmpty
	switch {
	case p.report != "":
		p.run.Error = "ncu wrote a report instead of a table: import " + p.report
	case p.table != nil, p.list.header != nil:
		p.run.Error = "the table has no rows"
	default:
		p.run.Error = "ncu wrote no table and no error"
	}
	p.out.Warn(0, 0, "no launch was measured: %s", p.run.Error)
	return nil
}
