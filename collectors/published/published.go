// Package published reads the tables of published data sets, as their authors
// released them, so that a study can start from them as from any profile: in
// flow CSV and JSON files with the columns of one data set, out flow runs,
// kernels, launches, counters and sources.
//
//	gpuflopbench          gpuFLOPBench's profiling table: CUDA kernels on an RTX 3080 (time, traffic, work)
//	gpuflopbench-sources  the sources of its kernels, by program and file
//	neusight              NeuSight's measured operators (bmm, linear, layer norm, softmax) on several GPUs
//	neusight-device       one GPU's peaks, as NeuSight describes it
//	robust-kbench         runs of kernel-writing agents: source, run time, speedup, feedback
//	deeptune-devmap       OpenCL kernels with their times on a CPU and a GPU
//
// Each name of the data set's is kept as an attribute or a metric; times become
// seconds. The attribute "program" tells what benchmark a kernel is from, for
// splits by program.
package published

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() {
	for _, f := range []collectors.Format{gpuflopbench, gpuflopbenchSources, neusight, neusightDevice, robustKBench, deeptune} {
		collectors.Register(f)
	}
}

// table is a CSV file with one header line.
type table struct {
	in     *collectors.Input
	r      *csv.Reader
	end    *ending
	header []string
	row    []string
	line   int // of the row
}

// ending knows how the file ended.
type ending struct {
	r     io.Reader
	last  byte
	ended bool
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if n > 0 {
		e.last = p[n-1]
	}
	e.ended = e.ended || errors.Is(err, io.EOF)
	return n, err
}

// open reads the header and checks that the columns are there.
func open(in *collectors.Input, columns ...string) (*table, error) {
	end := &ending{r: in}
	t := &table{in: in, r: csv.NewReader(end), end: end}
	t.r.ReuseRecord = true
	header, err := t.r.Read()
	if err != nil {
		return nil, t.wrap(err)
	}
	t.header = slices.Clone(header)
	for _, c := range columns {
		if !slices.Contains(t.header, c) {
			e := in.Syntax(1, 1, fmt.Sprintf("the header has no column %q", c))
			e.Found = collectors.Quote(strings.Join(t.header, ","))
			return nil, e
		}
	}
	return t, nil
}

func (t *table) wrap(err error) error {
	var pe *csv.ParseError
	if !errors.As(err, &pe) {
		return err
	}
	e := t.in.Syntax(pe.Line, max(pe.Column, 1), "the row is no CSV")
	switch {
	case errors.Is(pe.Err, csv.ErrQuote):
		e.Msg = "a quoted cell does not end here, or a quote stands within it"
		if t.end.ended {
			e.Msg = "the file ends within a quoted cell"
		}
	case errors.Is(pe.Err, csv.ErrBareQuote):
		e.Msg = "a quote stands within a cell that is not quoted"
	case errors.Is(pe.Err, csv.ErrFieldCount):
		e.Msg = "the row has not one cell per column"
		e.Expected, e.Found = fmt.Sprintf("%d fields, as the header has", len(t.header)), fmt.Sprint(len(t.row))
	}
	e.Hint = "the file is cut or damaged: get it again"
	return e
}

// next reads the next row; io.EOF ends the table.
func (t *table) next() error {
	row, err := t.r.Read()
	t.row = row
	if errors.Is(err, io.EOF) {
		if t.end.last != '\n' && t.line > 0 {
			e := t.in.Syntax(t.line, 1, "the last row has no line end: it may be cut")
			e.Hint = "if the file is whole, end it with a newline; else get it again"
			return e
		}
		return io.EOF
	}
	if err != nil {
		return t.wrap(err)
	}
	t.line, _ = t.r.FieldPos(0)
	return nil
}

func (t *table) has(column string) bool { return slices.Contains(t.header, column) }

// text returns a cell; "" where there is no such column.
func (t *table) text(column string) string {
	if i := slices.Index(t.header, column); i >= 0 {
		return t.row[i]
	}
	return ""
}

func (t *table) fault(column, msg, expected string) *collectors.SyntaxError {
	i := max(slices.Index(t.header, column), 0)
	line, col := t.r.FieldPos(i)
	e := t.in.Syntax(line, col, fmt.Sprintf("column %q: %s", column, msg))
	e.Expected, e.Found = expected, collectors.Quote(t.row[i])
	return e
}

// number returns a cell as a number; an empty one, or "nan", is absent.
func (t *table) number(column string) (datasets.Null[float64], error) {
	s := strings.TrimSpace(t.text(column))
	if s == "" || strings.EqualFold(s, "nan") {
		return datasets.Null[float64]{}, nil
	}
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return datasets.Null[float64]{}, t.fault(column, "not a number", "a number")
	}
	return datasets.Some(v), nil
}

// duration is what a launch lasted, in ns, of a time in units of scale ns. A
// time that no launch can have is kept as a counter alone.
func duration(time datasets.Null[float64], scale float64) datasets.Null[int64] {
	if ns := math.Round(time.V * scale); time.Valid && ns >= 0 && ns < math.MaxInt64/2 {
		return datasets.Some(int64(ns))
	}
	return datasets.Null[int64]{}
}

// integer is number for whole numbers.
func (t *table) integer(column string) (datasets.Null[int64], error) {
	v, err := t.number(column)
	if err != nil || !v.Valid {
		return datasets.Null[int64]{}, err
	}
	if v.V != math.Trunc(v.V) || math.Abs(v.V) > 1<<53 {
		return datasets.Null[int64]{}, t.fault(column, "not a whole number", "a whole number")
	}
	return datasets.Some(int64(v.V)), nil
}

// dims reads "(256, 1, 1)".
func (t *table) dims(column string) (d [3]datasets.Null[int64], err error) {
	parts := strings.Split(strings.Trim(t.text(column), "() "), ",")
	if len(parts) != 3 {
		return d, t.fault(column, "not three sizes", `"(x, y, z)"`)
	}
	for i, p := range parts {
		n, err := strconv.ParseInt(strings.TrimSpace(p), 10, 64)
		if err != nil {
			return d, t.fault(column, "not three sizes", `"(x, y, z)"`)
		}
		d[i] = datasets.Some(n)
	}
	return d, nil
}

// metric is a column that becomes a counter: its unit in the file, and in SI
// the factor to the base unit.
type metric struct {
	column, unit, base string
	factor             float64
}

// counters emits the metrics of the row.
func (t *table) counters(out *collectors.Output, c datasets.Counter, metrics []metric) error {
	for _, m := range metrics {
		if !t.has(m.column) {
			continue
		}
		v, err := t.number(m.column)
		if err != nil {
			return err
		}
		c.Metric, c.RawValue, c.RawUnit, c.Unit, c.Status = m.column, t.text(m.column), m.unit, m.base, datasets.StatusOK
		c.Value = datasets.Null[float64]{}
		if v.Valid {
			c.Value = datasets.Some(v.V * m.factor)
		} else {
			c.Status = datasets.StatusNA
		}
		if err := out.Put(&c); err != nil {
			return err
		}
	}
	return nil
}

// attributes emits the named columns that are not empty.
func (t *table) attributes(out *collectors.Output, a datasets.Attribute, columns ...string) error {
	for _, c := range columns {
		if a.Name, a.Value = c, t.text(c); a.Value != "" {
			if err := out.Put(&a); err != nil {
				return err
			}
		}
	}
	return nil
}

// header says whether a file's first line begins with some text.
func header(prefix string) func(collectors.Head) collectors.Confidence {
	return func(h collectors.Head) collectors.Confidence {
		if bytes.HasPrefix(h.Bytes, []byte(prefix)) {
			return collectors.Certain
		}
		return collectors.No
	}
}

// regions hands out ids for names.
type regions struct {
	ids  map[string]int64
	next int64
}

// id returns the id of a key, and whether it is new.
func (r *regions) id(key string) (int64, bool) {
	if r.ids == nil {
		r.ids = map[string]int64{}
	}
	if id, ok := r.ids[key]; ok {
		return id, false
	}
	r.next++
	r.ids[key] = r.next
	return r.next, true
}
