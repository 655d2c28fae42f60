package ktt

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// column is what a column of the CSV is for.
type column struct {
	name, unit string
	kind       columnKind
}

type columnKind int

const (
	counterColumn columnKind = iota
	kernelColumn
	statusColumn
	timeColumn
	sizeColumn
	parameterColumn
	emptyColumn
)

var (
	timeName = regexp.MustCompile(`^(.*\bduration|.*\boverhead) \((ns|us|ms|s)\)$`)
	capitals = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
	sizeText = regexp.MustCompile(`^\(?\s*(\d+)\s*[x, ]\s*(\d+)\s*[x, ]\s*(\d+)\s*\)?$`)
)

// memory are columns in bytes.
var memory = map[string]string{"Local memory size": "byte", "Private memory size": "byte", "Constant memory size": "byte"}

func columns(header []string) []column {
	cs := make([]column, len(header))
	for i, h := range header {
		h = strings.TrimSpace(h)
		c := column{name: h, unit: memory[h]}
		m := timeName.FindStringSubmatch(h)
		switch {
		case h == "":
			c.kind = emptyColumn
		case h == "Kernel name":
			c.kind = kernelColumn
		case h == "Status":
			c.kind = statusColumn
		case m != nil:
			c.kind, c.unit = timeColumn, m[2]
		case strings.HasPrefix(h, "Global size"), strings.HasPrefix(h, "Local size"):
			c.kind = sizeColumn
		case capitals.MatchString(h):
			c.kind = parameterColumn
		default:
			c.unit = unitOf(h, "")
		}
		cs[i] = c
	}
	return cs
}

type csvReader struct {
	in      *collectors.Input
	out     *collectors.Output
	cols    []column
	regions map[string]int64
	rows    int64
	line    int
}

func parseCSV(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &csvReader{in: in, out: out, regions: map[string]int64{}}
	run := datasets.Run{ID: runID, Tool: "ktt", Format: formatCSV, Status: datasets.RunOK}
	delimiter := ','
	for l, err := range in.Lines(ctx) {
		if err != nil {
			return err
		}
		text, line, ended := l.Text, l.Number, l.Ended
		r.line = line
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		if r.cols == nil && bytes.IndexByte(text, ';') >= 0 && bytes.IndexByte(text, ',') < 0 {
			delimiter = ';'
		}
		c := csv.NewReader(bytes.NewReader(text))
		c.Comma, c.LazyQuotes, c.FieldsPerRecord = delimiter, true, -1
		fields, err := c.Read()
		if err != nil {
			e := in.Syntax(line, 1, "the line is no CSV")
			e.Found, e.Hint = collectors.Quote(string(text)), "look for a quote that is missing there"
			return e
		}
		if r.cols == nil {
			r.cols = columns(fields)
			for _, col := range r.cols {
				if col.kind == timeColumn && run.TimeMetric == "" {
					run.TimeMetric = col.name
				}
			}
			if run.TimeMetric == "" || r.cols[0].kind != kernelColumn {
				e := in.Syntax(line, 1, "the header has no kernel or no duration")
				e.Expected, e.Found = `"Kernel name" and "Computation duration (us)"`, collectors.Quote(string(text))
				return e
			}
			continue
		}
		if !ended {
			e := in.Syntax(line, len(text)+1, "the file ends within a row")
			e.Expected, e.Hint = "a line end", "if the file is whole, end it with a newline; else get it again"
			return e
		}
		if err := r.row(fields); err != nil {
			return err
		}
	}
	if r.rows == 0 {
		run.Status, run.Error = datasets.RunEmpty, "the file holds no configuration"
		out.Warn(0, 0, "%s", run.Error)
	}
	return out.Put(&run)
}

func (r *csvReader) row(fields []string) error {
	for len(fields) > len(r.cols) && strings.TrimSpace(fields[len(fields)-1]) == "" {
		fields = fields[:len(fields)-1] // some writers end a row with the delimiter
	}
	if len(fields) > len(r.cols) || len(fields) < len(r.cols) && !(len(fields) == len(r.cols)-1 && r.cols[len(r.cols)-1].kind == emptyColumn) {
		e := r.in.Syntax(r.line, 1, "the row has not one field per column")
		e.Expected, e.Found, e.Hint = strconv.Itoa(len(r.cols))+" fields", strconv.Itoa(len(fields)), "the row is damaged: get the file again"
		return e
	}
	region, ok := r.regions[fields[0]]
	if !ok {
		region = int64(len(r.regions) + 1)
		r.regions[fields[0]] = region
		g := datasets.Region{ID: region, Run: runID, Kind: datasets.KindKernel, Raw: fields[0], Short: collectors.ShortName(fields[0])}
		if g.Raw == "" {
			g.Raw, g.Short = "(kernel)", "(kernel)"
		}
		if err := r.out.Put(&g); err != nil {
			return err
		}
	}
	r.rows++
	l := &datasets.Launch{ID: r.rows, Run: runID, Region: region, Sequence: datasets.Some(r.rows - 1), ToolID: strconv.FormatInt(r.rows-1, 10)}
	status := "Ok"
	for i, f := range fields {
		if r.cols[i].kind == statusColumn {
			status = strings.TrimSpace(f)
		}
	}
	if err := r.attribute(l, "invalidity", invalidity(status)); err != nil {
		return err
	}
	for i, f := range fields {
		if err := r.field(l, r.cols[i], strings.TrimSpace(f), status); err != nil {
			return err
		}
	}
	return r.out.Put(l)
}

func (r *csvReader) field(l *datasets.Launch, c column, f, status string) error {
	switch c.kind {
	case kernelColumn, emptyColumn:
		return nil
	case statusColumn:
		return r.attribute(l, "status", f)
	case parameterColumn:
		return r.attribute(l, c.name, f)
	case sizeColumn:
		if m := sizeText.FindStringSubmatch(f); m != nil {
			d := &l.Grid
			if strings.HasPrefix(c.name, "Local") {
				d = &l.Block
			}
			for i, s := range m[1:] {
				// Global sizes are work items in OpenCL, which the file does not
				// tell: they stay attributes.
				if n, err := strconv.ParseInt(s, 10, 64); err == nil && d == &l.Block {
					d[i] = datasets.Some(n)
				}
			}
		}
		return r.attribute(l, c.name, f)
	}
	counter := datasets.Counter{Run: runID, Region: l.Region, Launch: l.ID, Metric: c.name, Unit: collectors.ParseUnit(c.unit).Base, RawUnit: c.unit, RawValue: f, Status: datasets.StatusNA}
	switch low := strings.ToLower(f); {
	case c.kind == timeColumn && status != "Ok", low == "nan", low == "inf", low == "-inf", low == "n/a":
		return r.out.Put(&counter)
	case f == "":
		return nil
	}
	v, err := number(r.out, counter, json.Number(f), c.unit)
	if err != nil || strings.ContainsAny(f, ",' ") {
		e := r.in.Syntax(r.line, 1, "the column "+collectors.Quote(c.name)+" has no number")
		e.Found, e.Hint = collectors.Quote(f), "the row is damaged: get the file again"
		return e
	}
	switch {
	case c.kind == timeColumn && v.Valid && v.V >= 0 && v.V < 9e9 && !l.DurNs.Valid:
		l.DurNs = datasets.Some(int64(math.Round(v.V * 1e9)))
	case c.name == "Registers count" && v.V >= 0 && v.V < 1<<40:
		l.Regs = datasets.Some(int64(v.V))
	case c.name == "Local memory size" && v.V >= 0 && v.V < 1<<40:
		l.Smem = datasets.Some(int64(v.V))
	}
	return nil
}

func (r *csvReader) attribute(l *datasets.Launch, name, value string) error {
	return r.out.Put(&datasets.Attribute{Run: runID, Region: l.Region, Launch: l.ID, Name: name, Value: value})
}

func refuseXML(_ context.Context, in *collectors.Input, _ *collectors.Output) error {
	return &collectors.UnsupportedError{File: in.Name, What: "a result file of the Kernel Tuning Toolkit in XML", Hint: "save it as JSON: tuner.SaveResults(results, file, ktt::OutputFormat::JSON)"}
}
