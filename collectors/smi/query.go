package smi

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// stamped are rows of nvidia-smi without their header: a date in its form.
var stamped = regexp.MustCompile(`^"?\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}"?\s*,`)

func bare(line string) bool { return stamped.MatchString(line) }

// field is a column of nvidia-smi --query-gpu.
type field struct {
	name   string
	sensor *sensor
	reason string // for throttling
}

// query reads nvidia-smi --query-gpu as CSV.
func (l *log) query() error {
	var fields []field
	err := l.each(func(text string) error {
		switch {
		case strings.TrimSpace(text) == "":
			return nil
		case isQuery(text):
			if !l.r.Ended {
				e := l.in.Syntax(l.r.Line, len(text)+1, "the file ends within its header")
				e.Hint = "the file is cut: get it again"
				return e
			}
			cells, err := l.r.Cells(text)
			if err != nil {
				return err
			}
			fields, err = l.fields(cells)
			return err
		case fields == nil && bare(text):
			return &collectors.UnsupportedError{File: l.in.Name, What: "output of nvidia-smi without its header (format=csv,noheader), which does not tell what its columns are",
				Hint: "put the header back as the first line (the properties that --query-gpu named, separated by commas), or take noheader out of the command"}
		case fields == nil:
			l.once("noise", "lines before the table were left out: %s", collectors.Quote(text))
			return nil
		case l.cut(text):
			return nil
		}
		row, err := l.r.Cells(text)
		if err != nil {
			return err
		}
		if len(row) != len(fields) {
			if len(row) == 1 { // what the driver says in between
				l.out.Warn(l.r.Line, 1, "a line among the rows is no row and was left out: %s", collectors.Quote(text))
				return nil
			}
			return l.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(fields)), strconv.Itoa(len(row)))
		}
		l.rows++
		return l.queryRow(fields, row)
	})
	if err != nil {
		return err
	}
	if fields == nil {
		e := l.in.Syntax(max(l.r.Line, 1), 1, "there is no header of nvidia-smi --query-gpu")
		e.Expected = "timestamp, name, power.draw [W], ..."
		return e
	}
	return l.finish()
}

func (l *log) fields(cells []delimited.Cell) ([]field, error) {
	var fields []field
	for _, c := range cells {
		name, unit := property(c.Text)
		f := field{name: name}
		if s, ok := properties[name]; ok {
			if unit != "" {
				u, known := unitOf(unit)
				if !known || s.unit.Base != "" && u.Base != s.unit.Base {
					return nil, l.r.Fault(c, "the unit of this column is not known", "W, C, %, MHz or MiB")
				}
				s.unit = u
			}
			f.sensor = &s
		}
		for _, p := range [...]string{"clocks_throttle_reasons.", "clocks_event_reasons."} {
			if r, ok := strings.CutPrefix(name, p); ok {
				f.reason = r
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

func (l *log) queryRow(fields []field, row []delimited.Cell) error {
	at := func(names ...string) string {
		for _, n := range names {
			for i, f := range fields {
				if f.name == n {
					return row[i].Text
				}
			}
		}
		return ""
	}
	gpu, err := l.gpu(at("index"), at("uuid", "gpu_uuid"), at("pci.bus_id", "gpu_bus_id"), row)
	if err != nil {
		return err
	}
	if name := at("name", "gpu_name"); name != "" {
		l.names[gpu] = name
	}
	t := int64(l.rows - 1)
	if stamp := at("timestamp"); stamp != "" {
		ns, date, zone, ok := when(stamp, "date")
		if !ok {
			return l.r.Fault(row[0], "the time of the row is none", "2006/01/02 15:04:05.000")
		}
		t = ns
		if err := l.begin(ns, date, zone); err != nil {
			return err
		}
	} else {
		l.once("time", "there is no column timestamp: readings are numbered by their rows instead of having times")
		if err := l.about("t_ns", "the number of the row: the file has no times"); err != nil {
			return err
		}
	}
	for i, f := range fields {
		c := row[i]
		switch {
		case f.sensor != nil:
			if err := l.reading(gpu, *f.sensor, t, c); err != nil {
				return err
			}
			l.know(f.name, *f.sensor, c)
		case f.reason == "active" || f.reason == "supported":
			if f.reason == "supported" {
				err = l.fact(gpu, f.name, c.Text)
			} else {
				err = l.mask(gpu, t, c)
			}
			if err != nil {
				return err
			}
		case f.reason != "":
			if err := l.put(gpu, sensor{"throttle." + f.reason, plain, instant}, t, active(c.Text)); err != nil {
				return err
			}
		case f.name == "timestamp" || f.name == "index":
		default:
			if err := l.other(gpu, f.name, t, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// other takes a property without a sensor of its own: a number is a reading
// all the same, a text is a fact.
func (l *log) other(gpu int64, name string, t int64, c delimited.Cell) error {
	switch name {
	case "name", "gpu_name":
		if l.machine.GPU == "" {
			l.machine.GPU = c.Text
		}
	case "driver_version":
		l.machine.Driver = c.Text
	case "compute_cap":
		l.machine.Arch = "cc" + c.Text
	case "pstate":
		if n, err := strconv.Atoi(strings.TrimPrefix(c.Text, "P")); err == nil {
			return l.put(gpu, sensor{"pstate", plain, instant}, t, datasets.Some(float64(n)))
		}
	}
	if !texts[name] {
		if v, err := number(c.Text, plain); err == nil && v.Valid {
			kind := instant
			if strings.Contains(name, "ecc.errors") || strings.Contains(name, "retired_pages") {
				kind = cumulative
			}
			return l.put(gpu, sensor{name, plain, kind}, t, v)
		}
	}
	return l.fact(gpu, name, c.Text)
}

// know fills in the machine from limits among the readings.
func (l *log) know(name string, s sensor, c delimited.Cell) {
	v, err := number(c.Text, s.unit)
	if err != nil || !v.Valid {
		return
	}
	switch name {
	case "memory.total":
		l.machine.MemBytes = datasets.Some(int64(v.V))
	case "clocks.max.sm":
		l.machine.ClockHz = v
	case "clocks.max.mem", "clocks.max.memory":
		l.machine.MemHz = v
	}
}

// gpu tells which GPU a row is about.
func (l *log) gpu(index, uuid, bus string, row []delimited.Cell) (int64, error) {
	if index != "" {
		n, err := strconv.ParseInt(index, 10, 32)
		if err != nil || n < 0 {
			return 0, l.r.Fault(row[0], "the index of the GPU is no number", "a number")
		}
		return n, nil
	}
	id := uuid
	if id == "" {
		id = bus
	}
	if id == "" {
		l.once("gpu", "no column tells which GPU a row is about (index, uuid or pci.bus_id): all are taken as of gpu0")
		return 0, nil
	}
	n, ok := l.ids[id]
	if !ok {
		n = int64(len(l.ids))
		l.ids[id] = n
	}
	return n, nil
}
