package rocprofcompute

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/collectors/rocprof"
	"github.com/rooflab/rooflab/datasets"
)

// table is a small table about the machine.
type table struct {
	out     *collectors.Output
	r       *delimited.Reader
	head    *delimited.Header
	rows    [][]delimited.Cell
	run     *datasets.Run
	machine *datasets.Machine
}

const runID, machineID = 1, 1

// parseAlone reads a table as a run of its own.
func parseAlone(in *collectors.Input, out *collectors.Output, format string, is func(*delimited.Header) bool, read func(*table) error) error {
	if err := ofMain(in); err != nil {
		return err
	}
	run := datasets.Run{ID: runID, Tool: tool, Format: format, Status: datasets.RunOK, Machine: machineID}
	machine := datasets.Machine{ID: machineID}
	if err := readTable(in, out, &run, &machine, is, read); err != nil {
		return err
	}
	if err := out.Put(&machine); err != nil {
		return err
	}
	return out.Put(&run)
}

func readPart(in *collectors.Input, out *collectors.Output, name string, run *datasets.Run, machine *datasets.Machine, is func(*delimited.Header) bool, read func(*table) error) error {
	f, err := in.Part(name)
	if err != nil {
		return err
	}
	defer f.Close()
	part, err := collectors.Open(name, f)
	if err != nil {
		return err
	}
	if err := readTable(part, out, run, machine, is, read); err != nil {
		return fmt.Errorf("%s: reading what lies beside it: %w", in.Name, err)
	}
	return nil
}

// maxTable is how many rows the tables have at most: one per device.
const maxTable = 1 << 12

func readTable(in *collectors.Input, out *collectors.Output, run *datasets.Run, machine *datasets.Machine, is func(*delimited.Header) bool, read func(*table) error) error {
	t := &table{out: out, r: delimited.New(in), run: run, machine: machine}
	for {
		row, err := t.r.Row()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if t.head == nil {
			if t.head = delimited.NewHeader(row); !is(t.head) {
				e := t.r.Fault(row[0], "the header is not that of this table", "the columns of sysinfo.csv or roofline.csv")
				e.Hint = "is it the first line?"
				return e
			}
			continue
		}
		if len(row) != len(t.head.Cells) {
			return t.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", len(t.head.Cells)), strconv.Itoa(len(row)))
		}
		if last := row[len(row)-1]; !t.r.Ended && !last.Quoted {
			e := t.r.Fault(last, "the last row has no line end, so its last cell may be cut", "")
			e.Hint = "if the file is whole, end it with a newline; else get it again"
			return e
		}
		if len(t.rows) == maxTable {
			return t.r.Short(row, "the table has too many rows", fmt.Sprintf("at most %d", maxTable), "another one")
		}
		t.rows = append(t.rows, row)
	}
	if len(t.rows) == 0 {
		e := in.Syntax(max(t.r.Line, 1), 1, "the table has no row")
		e.Hint = "the file is cut, or the profiler was stopped before it knew the machine"
		return e
	}
	return read(t)
}

func isSysinfo(h *delimited.Header) bool {
	return h.Has("workloadname", "command") && h.At("gpuarch", "gpusoc") >= 0
}

// text returns a cell of the first row, "" where there is none or it says so.
func (t *table) text(keys ...string) string {
	i := t.head.At(keys...)
	if i < 0 {
		return ""
	}
	switch s := t.rows[0][i].Text; strings.ToLower(s) {
	case "nan", "na", "n/a", "none":
		return ""
	default:
		return s
	}
}

func (t *table) number(exp10 int, keys ...string) (datasets.Null[float64], error) {
	s := t.text(keys...)
	if s == "" {
		return datasets.Null[float64]{}, nil
	}
	v, err := collectors.ParseNumber(s, collectors.Dot, exp10)
	if err != nil {
		return datasets.Null[float64]{}, t.r.Fault(t.rows[0][t.head.At(keys...)], "a property of the machine is no number", "a number")
	}
	return datasets.Some(v), nil
}

// sysinfo reads the row about the machine. Clocks are in MHz, memory in KiB,
// the bandwidth of the memory in GB/s.
func (t *table) sysinfo() error {
	m := t.machine
	m.Host, m.CPU = t.text("hostname"), t.text("cpumodel", "hostcpu")
	m.GPU, m.Arch = t.text("gpumodel", "name"), t.text("gpuarch", "gpusoc")
	m.Driver = t.text("rocmversion", "hostrocmver")
	t.run.Command, t.run.FormatVersion = t.text("command"), t.text("version")
	units, err := t.number(0, "cupergpu", "numcu")
	if err != nil {
		return err
	}
	if units.Valid {
		m.Units = datasets.Some(int64(units.V))
	}
	if m.ClockHz, err = t.number(6, "maxsclk", "sclk"); err != nil {
		return err
	}
	if m.MemHz, err = t.number(6, "maxmclk", "curmclk"); err != nil {
		return err
	}
	for i, c := range t.rows[0] {
		if c.Text == "" {
			continue
		}
		if err := t.out.Put(&datasets.Attribute{Run: t.run.ID, Name: "sysinfo." + t.head.Cells[i].Text, Value: c.Text}); err != nil {
			return err
		}
	}
	bw, err := t.number(9, "hbmbw")
	if err != nil || !bw.Valid || bw.V <= 0 {
		return err
	}
	return t.out.Put(&datasets.Ceiling{Machine: m.ID, Level: "dram", Value: bw.V, Unit: "byte/s", ClockHz: m.MemHz, Source: "sysinfo.csv hbm_bw"})
}

func isRoofline(h *delimited.Header) bool {
	return h.At("device", "devid") >= 0 && h.At("hbmbw") >= 0 && h.At("l2bw", "l1bw", "ldsbw", "fp32flops", "fp64flops") >= 0
}

// level names the ceiling that a column of roofline.csv holds: "" where it
// holds none. Bandwidths are in GB/s, rates in GFLOP/s or GOP/s.
func level(column string) (name, unit string) {
	c := strings.ToLower(column)
	if b, ok := strings.CutSuffix(c, "bw"); ok {
		if b == "hbm" {
			b = "dram"
		}
		return b, "byte/s"
	}
	unit = "flop/s"
	op, ok := strings.CutSuffix(c, "flops")
	if !ok {
		if op, ok = strings.CutSuffix(c, "ops"); !ok {
			return "", ""
		}
		unit = "op/s"
	}
	matrix := strings.HasPrefix(op, "mfma")
	op = strings.TrimPrefix(op, "mfma")
	if op == "" {
		return "", ""
	}
	switch op[0] {
	case 'i':
		op = "int" + op[1:]
	case 'f':
		if !strings.HasPrefix(op, "fp") {
			op = "fp" + op[1:]
		}
	}
	if matrix {
		op += ".tensor"
	}
	return op, unit
}

// roofline reads the ceilings: the columns with Low and High around each are
// the interval of the measurement, and become attributes.
func (t *table) roofline() error {
	id := t.head.At("device", "devid")
	for _, row := range t.rows {
		source := "roofline.csv, device " + row[id].Text
		for i, c := range row {
			if i == id || c.Text == "" || strings.EqualFold(c.Text, "nan") || strings.EqualFold(c.Text, "n/a") || strings.EqualFold(c.Text, "inf") {
				continue
			}
			column := t.head.Cells[i].Text
			v, err := collectors.ParseNumber(c.Text, collectors.Dot, 9)
			if err != nil {
				return t.r.Fault(c, "a ceiling is no number", "a number")
			}
			name, unit := level(column)
			if name == "" {
				if err := t.out.Put(&datasets.Attribute{Run: t.run.ID, Name: "roofline.device" + row[id].Text + "." + column, Value: c.Text}); err != nil {
					return err
				}
				continue
			}
			if v <= 0 {
				continue // what the device cannot do is written as 0
			}
			if err := t.out.Put(&datasets.Ceiling{Machine: t.machine.ID, Run: t.run.ID, Level: name, Value: v, Unit: unit, Measured: true, Source: source}); err != nil {
				return err
			}
		}
	}
	return nil
}

// timesBeside reads the times of the dispatches from timestamps.csv, where it
// lies beside an input without times.
func timesBeside(ctx context.Context, in *collectors.Input) ([][2]int64, error) {
	for _, name := range in.Parts() {
		if !strings.HasSuffix(name, "timestamps.csv") {
			continue
		}
		f, err := in.Part(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		part, err := collectors.Open(name, f)
		if err != nil {
			return nil, err
		}
		var times [][2]int64
		sink := putter(func(r datasets.Record) error {
			if l, ok := r.(*datasets.Launch); ok {
				times = append(times, [2]int64{l.StartNs.V, l.StartNs.V + l.DurNs.V})
			}
			return nil
		})
		if err := rocprof.Table(ctx, part, collectors.NewOutput(name, sink), rocprof.Options{Tool: tool}); err != nil {
			return nil, fmt.Errorf("%s: reading what lies beside it: %w", in.Name, err)
		}
		return times, nil
	}
	return nil, nil
}

type putter func(datasets.Record) error

func (p putter) Put(r datasets.Record) error { return p(r) }
