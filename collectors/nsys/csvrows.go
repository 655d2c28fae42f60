package nsys

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// numberedDevice is how traces name a GPU, "NVIDIA H100 PCIe (0)".
var numberedDevice = regexp.MustCompile(`^(.*?)\s*\((\d+)\)$`)

// unitOf reads the unit in the brackets of a title.
func (t title) unitOf() collectors.Unit {
	switch t.unit {
	case "":
		return collectors.Unit{}
	case "MBps":
		return collectors.Unit{Base: "byte/s", Exp10: 6}
	case "GBps":
		return collectors.Unit{Base: "byte/s", Exp10: 9}
	}
	return collectors.ParseUnit(t.unit)
}

// row reads one row of the current table.
func (s *sheet) row(row []delimited.Cell) error {
	t := s.table
	name := row[t.name].Text
	if i, ok := t.at["operation"]; name == "" && ok {
		name = row[i].Text
	}
	if name == "" && t.kind != datasets.KindRange {
		return s.r.Fault(row[t.name], "a row without a name", "a name in the column "+t.titles[t.name].label)
	}
	kind := t.kind
	if kind == datasets.KindKernel && strings.HasPrefix(name, "[CUDA mem") {
		kind = datasets.KindRange // traces have copies among the kernels
	}
	if i, ok := t.at["category"]; ok { // cuda_gpu_sum and cuda_api_gpu_sum have all sorts
		switch row[i].Text {
		case "CUDA_KERNEL":
			kind = datasets.KindKernel
		case "MEMORY_OPER":
			kind = datasets.KindRange
		case "CUDA_API":
			kind = datasets.KindFunction
		}
	}
	var values []datasets.Counter
	l := datasets.Launch{}
	var attrs [][2]string
	for i, c := range row {
		if i == t.name || c.Text == "" {
			continue
		}
		v, is, err := s.cell(&l, &attrs, t.titles[i], c)
		if err != nil {
			return err
		}
		if is {
			values = append(values, v)
		}
	}
	if t.trace && !l.StartNs.Valid {
		return s.r.Fault(row[0], "an event without a start", "ns since the start of the session")
	}
	this := rowOf{t.number, kind, name}
	if !s.emit {
		if !t.trace {
			this.name = strings.Clone(name) // not the row that it is part of
			s.repeats[this]++
		}
		if t.trace {
			s.starts[kind] = append(s.starts[kind], l.StartNs.V)
		}
		return nil
	}
	region, err := s.region(kind, name, row)
	if err != nil {
		return err
	}
	if t.trace {
		s.launches++
		l.ID, l.Run, l.Region = s.launches, runID, region
		l.Sequence = datasets.Some(s.places[kind][s.seen[kind]])
		s.seen[kind]++
		if err := s.out.Put(&l); err != nil {
			return err
		}
	}
	instance := ""
	if !t.trace {
		instance = t.report
		if s.repeats[this] > 1 {
			instance = s.instance(this, row)
		}
	}
	for i := range values {
		c := &values[i]
		c.Run, c.Region, c.Launch = runID, region, l.ID
		c.Instance = instance
		if err := s.out.Put(c); err != nil {
			return err
		}
	}
	for _, a := range attrs {
		if err := s.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: l.ID, Name: a[0], Value: a[1]}); err != nil {
			return err
		}
	}
	return nil
}

// rowOf is a name within a table.
type rowOf struct {
	table int
	kind  string
	name  string
}

// instance tells apart the rows of a summary that have one name: it says what
// they are by, "cuda_gpu_kern_gb_sum GridXYZ=64 1 1", or numbers them.
func (s *sheet) instance(this rowOf, row []delimited.Cell) string {
	t := s.table
	parts := make([]string, 0, 4)
	if t.report != "" {
		parts = append(parts, t.report)
	}
	for _, k := range []string{"gridxyz", "blockxyz", "nvtxrange", "style", "category", "pid", "tid", "devid"} {
		if i, ok := t.at[k]; ok && i != t.name && row[i].Text != "" {
			parts = append(parts, t.titles[i].label+"="+strings.Join(strings.Fields(row[i].Text), " "))
		}
	}
	text := strings.Join(parts, " ")
	key := rowOf{t.number, this.kind, this.name + "\x00" + text}
	s.numbered[key]++
	if n := s.numbered[key]; n > 1 {
		text = strings.TrimSpace(text + " #" + strconv.Itoa(n))
	}
	return text
}

// printedRow reads a row of a table that is printed for people.
func (s *sheet) printedRow(text string) error {
	t := s.table
	if strings.HasPrefix(text, "[") && executing.MatchString(text) {
		s.table = nil
		return nil
	}
	row := cut(text, s.r.Line, t.spans)
	if !s.r.Ended {
		if s.emit {
			s.out.Warn(s.r.Line, 1, "the last row has no line end, so it may be cut, and was left out: if the file is whole, end it with a newline")
		}
		return nil
	}
	if s.emit && strings.HasSuffix(row[t.name].Text, "…") && !s.warned["cut"] {
		s.warned["cut"] = true
		s.out.Warn(s.r.Line, row[t.name].Column, "nsys has cut names that are long, at …: nsys stats --format csv writes all of them")
	}
	s.rows++
	return s.row(row)
}

// region returns the region of a row. The trace of pushed ranges tells which
// range is within which.
func (s *sheet) region(kind, name string, row []delimited.Cell) (int64, error) {
	t := s.table
	parent := int64(0)
	if i, ok := t.at["parentid"]; ok {
		parent = s.ranges[row[i].Text]
	}
	module := ""
	if i, ok := t.at["category"]; ok {
		module = row[i].Text
	}
	key := kind + "\x00" + strconv.FormatInt(parent, 10) + "\x00" + name
	id, ok := s.regions[key]
	if !ok {
		id = int64(len(s.regions) + 1)
		s.regions[key] = id
		g := datasets.Region{ID: id, Run: runID, Parent: parent, Kind: kind, Raw: name, Short: name, Module: module}
		switch kind {
		case datasets.KindKernel:
			g.Short = collectors.ShortName(name)
			if strings.HasPrefix(name, "_Z") {
				g.Mangled = name
			}
		case datasets.KindFunction:
			g.Short = versioned.ReplaceAllString(name, "")
		case datasets.KindRange:
			g.Short = shortRange(name)
		}
		if err := s.out.Put(&g); err != nil {
			return 0, err
		}
	}
	if i, ok := t.at["rangeid"]; ok && row[i].Text != "" {
		s.ranges[strings.Clone(row[i].Text)] = id // not the row that it is part of
	}
	return id, nil
}

// cell puts what a cell says where it belongs; is says that it is a counter.
func (s *sheet) cell(l *datasets.Launch, attrs *[][2]string, h title, c delimited.Cell) (v datasets.Counter, is bool, err error) {
	u := h.unitOf()
	if s.table.trace {
		switch h.key {
		case "start", "kernelstart", "projectedstart":
			n, err := s.ns(h, c)
			if err == nil && (!l.StartNs.Valid || h.key != "start") {
				l.StartNs = datasets.Some(n)
			}
			return v, false, err
		case "duration", "kerneldur", "projectedduration":
			n, err := s.ns(h, c)
			if err != nil {
				return v, false, err
			}
			if n < 0 {
				return v, false, s.r.Fault(c, "a duration below zero", "a time")
			}
			l.DurNs = datasets.Some(n)
			s.run.TimeMetric, s.run.TimeInclusive = "duration", true
			h.label = "duration"
		case "end":
			return v, false, nil // start and duration say it
		case "corrid":
			l.ToolID = c.Text
			return v, false, nil
		case "grdx", "grdy", "grdz":
			return v, false, s.id(&l.Grid[h.key[3]-'x'], c)
		case "blkx", "blky", "blkz":
			return v, false, s.id(&l.Block[h.key[3]-'x'], c)
		case "gridxyz", "blockxyz":
			dst := &l.Grid
			if h.key == "blockxyz" {
				dst = &l.Block
			}
			return v, false, s.xyz(dst, c)
		case "reg/trd":
			return v, false, s.id(&l.Regs, c)
		case "ctx":
			return v, false, s.id(&l.Context, c)
		case "strm":
			return v, false, s.id(&l.Stream, c)
		case "pid":
			return v, false, s.id(&l.PID, c)
		case "tid":
			return v, false, s.id(&l.Thread, c)
		case "devid":
			return v, false, s.id(&l.Device, c)
		case "device":
			if m := numberedDevice.FindStringSubmatch(c.Text); m != nil {
				if n, err := strconv.ParseInt(m[2], 10, 32); err == nil {
					l.Device = datasets.Some(n)
				}
				if s.machine.GPU == "" {
					s.machine.GPU = m[1]
				}
			} else if s.machine.GPU == "" {
				s.machine.GPU = c.Text
			}
			return v, false, nil
		case "rangeid", "parentid", "rangestack", "nametree":
			return v, false, nil // the regions say it
		}
	} else if h.key == "totaltime" || h.key == "totalprojtime" {
		s.run.TimeMetric, s.run.TimeInclusive = h.label, true
	}
	n, err := u.Scale(c.Text, collectors.Dot)
	if err != nil || strings.ContainsAny(c.Text, ", ") {
		low := strings.ToLower(c.Text)
		if u.Base != "" && low != "nan" && low != "-" && low != "n/a" {
			return v, false, s.r.Fault(c, "the value of "+h.label+" is no number", "a number with a decimal point")
		}
		if low != "nan" && low != "-" && low != "n/a" {
			*attrs = append(*attrs, [2]string{h.label, c.Text})
			return v, false, nil
		}
		return datasets.Counter{Metric: h.label, Unit: u.Base, RawValue: c.Text, RawUnit: h.unit, Status: datasets.StatusNA}, true, nil
	}
	return datasets.Counter{Metric: h.label, Value: datasets.Some(n), Unit: u.Base, RawValue: c.Text, RawUnit: h.unit, Status: datasets.StatusOK}, true, nil
}

// ns reads a time in the unit of its column.
func (s *sheet) ns(h title, c delimited.Cell) (int64, error) {
	u := h.unitOf()
	if u.Base != "s" {
		u = collectors.Unit{Base: "s", Exp10: -9}
	}
	v, err := collectors.ParseNumber(c.Text, collectors.Dot, u.Exp10+9)
	if err != nil || math.Abs(v) >= 1<<62 {
		return 0, s.r.Fault(c, "a time is no number", "a number with a decimal point")
	}
	if n, err := strconv.ParseInt(c.Text, 10, 64); err == nil && u.Exp10 == -9 {
		return n, nil
	}
	return int64(math.Round(v)), nil
}

func (s *sheet) id(dst *datasets.Null[int64], c delimited.Cell) error {
	n, err := strconv.ParseInt(c.Text, 10, 64)
	if err != nil {
		return s.r.Fault(c, "the cell is no whole number", "a whole number")
	}
	*dst = datasets.Some(n)
	return nil
}

// xyz reads the three sizes of a grid or a block in one cell.
func (s *sheet) xyz(dst *[3]datasets.Null[int64], c delimited.Cell) error {
	parts := strings.Fields(c.Text)
	if len(parts) != 3 {
		return s.r.Fault(c, "the size is not three numbers", fmt.Sprintf("%q", "  32    4    1"))
	}
	for i, p := range parts {
		n, err := strconv.ParseInt(p, 10, 64)
		if err != nil {
			return s.r.Fault(c, "the size is not three numbers", fmt.Sprintf("%q", "  32    4    1"))
		}
		dst[i] = datasets.Some(n)
	}
	return nil
}
