package smi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors/delimited"
)

// columns reads a log that a program wrote: a header with names of sensors and
// units, a time per row.
func (l *log) columns() error {
	type col struct {
		sensor sensor
		is     bool
	}
	var head []delimited.Cell
	var cols []col
	time, clock, gpu := -1, "", -1
	first := int64(0)
	err := l.each(func(text string) error {
		if strings.TrimSpace(text) == "" || strings.HasPrefix(text, "#") {
			return nil
		}
		if l.cut(text) {
			return nil
		}
		row, err := l.r.Cells(text)
		if err != nil {
			return err
		}
		if head == nil {
			head = row
			taken := map[string]bool{}
			for i, c := range row {
				s, ok := column(c.Text)
				if ok && taken[s.name] {
					s.name += "." + strings.ToLower(c.Text) // two columns of one quantity
				}
				switch k := delimited.Key(c.Text); {
				case time < 0 && timeColumn(c.Text) != "":
					time, clock = i, timeColumn(c.Text)
					ok = false
				case k == "gpu" || k == "index" || k == "gpuindex" || k == "gpuid" || k == "device" || k == "deviceid":
					gpu = i
					ok = false
				}
				taken[s.name] = taken[s.name] || ok
				cols = append(cols, col{s, ok})
			}
			if time < 0 {
				return l.r.Fault(row[0], "no column is a time", "timestamp, time_s, elapsed_ms, ...")
			}
			return nil
		}
		if len(row) != len(head) {
			return l.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(head)), strconv.Itoa(len(row)))
		}
		l.rows++
		t, date, zone, ok := when(row[time].Text, clock)
		if !ok {
			return l.r.Fault(row[time], "the time of the row is none", "a date or a number")
		}
		if l.rows == 1 {
			first = t
		}
		if t < first {
			l.once("back", "times go back: rows are taken with the times that they have")
		}
		if err := l.begin(t, date, zone); err != nil {
			return err
		}
		n := int64(0)
		if gpu >= 0 {
			if n, err = strconv.ParseInt(row[gpu].Text, 10, 32); err != nil || n < 0 {
				return l.r.Fault(row[gpu], "the index of the GPU is no number", "a number")
			}
		}
		for i, c := range row {
			switch {
			case cols[i].is:
				if err := l.reading(n, cols[i].sensor, t, c); err != nil {
					return err
				}
			case i == time || i == gpu || c.Text == "":
			default:
				if err := l.more(n, head[i].Text, t, c); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if head == nil {
		return l.in.Syntax(max(l.r.Line, 1), 1, "the file has no header")
	}
	return l.finish()
}

// more takes a column that names no sensor: a mask of reasons for throttling,
// another number, or a fact.
func (l *log) more(gpu int64, title string, t int64, c delimited.Cell) error {
	low := strings.ToLower(title)
	if strings.Contains(low, "throttle") && strings.HasPrefix(strings.ToLower(c.Text), "0x") {
		return l.mask(gpu, t, c)
	}
	if low == "name" || low == "gpu_name" || low == "device_name" {
		l.names[gpu] = c.Text
		if l.machine.GPU == "" {
			l.machine.GPU = c.Text
		}
		return l.fact(gpu, "name", c.Text)
	}
	if v, err := number(c.Text, plain); err == nil {
		return l.put(gpu, sensor{title, plain, instant}, t, v)
	}
	return l.fact(gpu, title, c.Text)
}
