package smi

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// rowsOf reads a table whose first line is its header. A last row without a
// line end is left out. Of each of some lists of columns one must be there.
func (l *log) rowsOf(columns [][]string, f func(head *delimited.Header, row []delimited.Cell) error) error {
	var head *delimited.Header
	err := l.each(func(text string) error {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		if head != nil && l.cut(text) {
			return nil
		}
		row, err := l.r.Cells(text)
		if err != nil {
			return err
		}
		if head == nil {
			head = delimited.NewHeader(row)
			for _, names := range columns {
				there := false
				for _, name := range names {
					there = there || head.At(delimited.Key(name)) >= 0
				}
				if !there {
					e := l.in.Syntax(l.r.Line, 1, "the header lacks a column")
					e.Expected, e.Found = strings.Join(names, " or "), collectors.Quote(text)
					return e
				}
			}
			return nil
		}
		if len(row) != len(head.Cells) {
			return l.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(head.Cells)), strconv.Itoa(len(row)))
		}
		l.rows++
		return f(head, row)
	})
	if err == nil && head == nil {
		return l.in.Syntax(max(l.r.Line, 1), 1, "the file has no header")
	}
	return err
}

// singlePrecision is what roofline tools that name no precision measure.
const singlePrecision = "the file names no precision; tools that write it count single-precision operations"

// peaks reads a table of ceilings, in flop/s and byte/s: one row from the
// datasheet, one measured.
func (l *log) peaks() error {
	some := false
	err := l.rowsOf([][]string{{"label", "kind", "source"}, {"peak_flops"}, {"peak_bandwidth"}}, func(head *delimited.Header, row []delimited.Cell) error {
		label := row[head.At("label", "kind", "source")].Text
		measured := !strings.Contains(strings.ToLower(label), "theor") && !strings.Contains(strings.ToLower(label), "datasheet") && !strings.Contains(strings.ToLower(label), "spec")
		for _, c := range []struct{ key, level, unit, note string }{{"peakflops", "fp32", "flop/s", ": " + singlePrecision}, {"peakbandwidth", "dram", "byte/s", ""}} {
			cell := row[head.At(c.key)]
			v, err := number(cell.Text, plain)
			if err != nil || v.V < 0 {
				return l.r.Fault(cell, "a ceiling is no number", "a number, or nothing")
			}
			if !v.Valid || v.V == 0 {
				continue
			}
			some = true
			r := datasets.Ceiling{Machine: machineID, Level: c.level, Value: v.V, Unit: c.unit, Measured: measured, Source: label + c.note}
			if measured {
				r.Run = runID
			}
			if err := l.out.Put(&r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case l.rows == 0:
		l.run.Status, l.run.Error = datasets.RunEmpty, "the table has no row"
	case !some:
		l.run.Status, l.run.Error = datasets.RunEmpty, "the table has no ceiling: all of its cells are empty, 0 or no finite number"
		l.out.Warn(0, 0, "%s", l.run.Error)
	}
	l.run.Machine = machineID
	if err := l.out.Put(&l.machine); err != nil {
		return err
	}
	return l.out.Put(&l.run)
}

// timing tells which statistic of a time a column holds, "mean" of "mean_ms";
// unitTiming its unit.
func timing(title string) (statistic string, ok bool) {
	name := strings.ToLower(strings.TrimSpace(title))
	for _, u := range [...]string{"_ms", "_us", "_ns", "_s"} {
		base, has := strings.CutSuffix(name, u)
		if !has {
			continue
		}
		for _, s := range [...]string{"mean", "avg", "average", "median", "stddev", "std", "min", "max", "time", "duration"} {
			if base == s || strings.HasPrefix(base, s+"_") || strings.HasSuffix(base, "_"+s) {
				switch s {
				case "avg", "average", "time", "duration":
					s = "mean"
				}
				return s, true
			}
		}
	}
	return "", false
}

// quantity is the unit of a column of such a table, by its ending.
func quantity(title string) (u collectors.Unit, raw string) {
	name := strings.ToLower(title)
	for _, q := range []struct {
		end, raw string
		unit     collectors.Unit
	}{
		{"_ms", "ms", collectors.Unit{Base: "s", Exp10: -3}}, {"_us", "us", collectors.Unit{Base: "s", Exp10: -6}}, {"_ns", "ns", collectors.Unit{Base: "s", Exp10: -9}}, {"_s", "s", collectors.Unit{Base: "s"}},
		{"gflops", "Gflop/s", collectors.Unit{Base: "flop/s", Exp10: 9}}, {"tflops", "Tflop/s", collectors.Unit{Base: "flop/s", Exp10: 12}},
		{"gbps", "GB/s", collectors.Unit{Base: "byte/s", Exp10: 9}}, {"bytes", "byte", collectors.Unit{Base: "byte"}}, {"flops", "flop", collectors.Unit{Base: "flop"}},
	} {
		if strings.HasSuffix(name, q.end) {
			return q.unit, q.raw
		}
	}
	return plain, ""
}

// timings reads a table of timed kernels: a region per kernel and variant, a
// launch per row, which stands for the repeats that its statistics are of.
func (l *log) timings() error {
	regions := map[[2]string]int64{}
	var launches int64
	err := l.rowsOf([][]string{{"kernel", "kernel_name"}}, func(head *delimited.Header, row []delimited.Cell) error {
		kernel, variant := row[head.At("kernel", "kernelname")].Text, ""
		if i := head.At("variant"); i >= 0 {
			variant = row[i].Text
		}
		if kernel == "" {
			return l.r.Fault(row[head.At("kernel", "kernelname")], "a row without a kernel", "the kernel's name")
		}
		key := [2]string{kernel, variant}
		region, ok := regions[key]
		if !ok {
			region = int64(len(regions) + 1)
			regions[key] = region
			g := datasets.Region{ID: region, Run: runID, Kind: datasets.KindKernel, Raw: kernel, Short: collectors.ShortName(kernel)}
			if err := l.out.Put(&g); err != nil {
				return err
			}
			if variant != "" {
				if err := l.out.Put(&datasets.Attribute{Run: runID, Region: region, Name: "variant", Value: variant}); err != nil {
					return err
				}
			}
		}
		launches++
		launch := datasets.Launch{ID: launches, Run: runID, Region: region, Sequence: datasets.Some(launches - 1)}
		var counters []datasets.Counter
		for i, c := range row {
			title := head.Cells[i].Text
			name := delimited.Key(title)
			switch name {
			case "kernel", "kernelname", "variant":
				continue
			case "timestamp":
				if err := l.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launches, Name: title, Value: c.Text}); err != nil {
					return err
				}
				if ns, date, zone, ok := when(c.Text, "date"); ok {
					if err := l.begin(ns, date, zone); err != nil {
						return err
					}
				}
				continue
			}
			u, raw := quantity(title)
			v, err := number(c.Text, u)
			if err != nil {
				if _, is := timing(title); is || raw != "" {
					return l.r.Fault(c, "the value of "+title+" is no number", "a number with a decimal point")
				}
				if err := l.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: launches, Name: title, Value: c.Text}); err != nil {
					return err
				}
				continue
			}
			if name == "blocksize" && v.Valid && v.V > 0 && v.V == math.Trunc(v.V) && v.V < 1<<31 {
				launch.Block[0] = datasets.Some(int64(v.V))
			}
			if s, is := timing(title); is && v.Valid && v.V >= 0 && v.V < 9e9 && (s == "mean" || s == "median" && !launch.DurNs.Valid) {
				launch.DurNs = datasets.Some(int64(math.Round(v.V * 1e9)))
				if l.run.TimeMetric == "" || s == "mean" {
					l.run.TimeMetric, l.run.TimeInclusive = title, true
				}
			}
			n := datasets.Counter{Run: runID, Region: region, Launch: launches, Metric: title, Value: v, Unit: u.Base, RawValue: c.Text, RawUnit: raw, Status: datasets.StatusOK}
			if !v.Valid {
				n.Status = datasets.StatusNA
			}
			counters = append(counters, n)
		}
		if err := l.out.Put(&launch); err != nil {
			return err
		}
		for i := range counters {
			if err := l.out.Put(&counters[i]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if l.rows == 0 {
		l.run.Status, l.run.Error = datasets.RunEmpty, "the table has no row"
		l.out.Warn(0, 0, "nothing was measured: %s", l.run.Error)
	}
	return l.end()
}
