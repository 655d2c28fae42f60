package ncu

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// launch is a launch whose rows are being read. It goes out when its last row
// was seen and the values of its counters are known.
type launch struct {
	rec    datasets.Launch
	kernel string
	shape  string // of a summary's rows, where another row of the kernel came before
	held   int    // counters whose value waits for the file's style
	closed bool   // no further rows are expected
	sent   bool
	seen   map[string]bool // metrics so far, where there is no id
	table  int             // number of the table that its rows are in
	pid    string
	// shared memory in parts, for pages that do not give the sum
	static, dynamic datasets.Null[int64]
}

// kernelRegion returns the region of a kernel, which it puts when it is new.
func (p *parser) kernelRegion(name string) (int64, error) {
	if id, ok := p.regions[name]; ok {
		return id, nil
	}
	id := int64(len(p.regions) + 1)
	p.regions[name] = id
	g := datasets.Region{ID: id, Run: runID, Kind: datasets.KindKernel, Raw: name, Short: collectors.ShortName(name)}
	if strings.HasPrefix(name, "_Z") {
		g.Mangled = name
	}
	return id, p.out.Put(&g)
}

// text returns a cell, "" where the table has no such column or the row is too short.
func (p *parser) text(row []field, c column) string {
	if i := p.table.at[c]; i >= 0 && i < len(row) {
		return strings.TrimSpace(row[i].text)
	}
	return ""
}

// launchOf returns the launch that a row belongs to.
func (p *parser) launchOf(row []field, metric string) (*launch, error) {
	kernel := p.text(row, colKernel)
	if kernel == "" {
		return nil, p.bad(row, colKernel, "a row without a kernel", "the kernel's name")
	}
	id := p.text(row, colID)
	if l := p.current; l != nil && id != "" && l.rec.ToolID == id && l.kernel == kernel && l.table == p.tables && l.pid == p.text(row, colPID) {
		return l, nil // as almost always
	}
	if p.table.at[colID] < 0 {
		metric += "|" + p.text(row, colSection)
		l := p.current
		if l == nil || l.kernel != kernel || l.seen[metric] || !p.table.long() {
			var err error
			if l, err = p.newLaunch(row, kernel, ""); err != nil {
				return nil, err
			}
			l.seen = map[string]bool{}
			p.launches[fmt.Sprintf("#%d", p.count)] = l
		}
		l.seen[metric] = true
		return l, nil
	}
	if _, err := strconv.ParseUint(id, 10, 63); err != nil {
		return nil, p.bad(row, colID, "the id of a row is no number", "a number")
	}
	key := strconv.Itoa(p.tables) + "|" + p.text(row, colPID) + "|" + id
	l, ok := p.launches[key]
	if !ok {
		var err error
		if l, err = p.newLaunch(row, kernel, id); err != nil {
			return nil, err
		}
		p.launches[key] = l
	}
	if l.kernel != kernel {
		return nil, p.bad(row, colKernel, "the kernel differs from that of earlier rows with the id "+id, collectors.Quote(l.kernel))
	}
	if l != p.current {
		if err := p.endLaunch(); err != nil {
			return nil, err
		}
		p.current = l
	}
	return l, nil
}

func (p *parser) newLaunch(row []field, kernel, id string) (*launch, error) {
	if err := p.endLaunch(); err != nil {
		return nil, err
	}
	region, err := p.kernelRegion(kernel)
	if err != nil {
		return nil, err
	}
	p.count++
	l := &launch{kernel: kernel, table: p.tables, pid: p.text(row, colPID), rec: datasets.Launch{ID: p.count, Run: runID, Region: region, ToolID: id, Sequence: datasets.Some(p.count - 1)}}
	p.current = l
	for _, f := range []struct {
		c   column
		dst *datasets.Null[int64]
	}{{colPID, &l.rec.PID}, {colContext, &l.rec.Context}, {colStream, &l.rec.Stream}, {colDevice, &l.rec.Device}} {
		if s := p.text(row, f.c); s != "" {
			if n, err := strconv.ParseInt(s, 10, 64); err == nil {
				*f.dst = datasets.Some(n)
			} else if f.c == colPID {
				return nil, p.bad(row, f.c, "the process id is no number", "a number")
			}
		}
	}
	if l.rec.Grid, err = p.dims(row, colGrid); err != nil {
		return nil, err
	}
	if l.rec.Block, err = p.dims(row, colBlock); err != nil {
		return nil, err
	}
	p.hostOf(row)
	if s := p.text(row, colTime); s != "" {
		if err := p.attribute(l, "Kernel Time", s); err != nil {
			return nil, err
		}
	}
	for _, i := range p.table.nvtx {
		if i < len(row) && row[i].text != "" {
			if err := p.attribute(l, "NVTX "+p.table.cells[i].text, row[i].text); err != nil {
				return nil, err
			}
		}
	}
	return l, nil
}

func (p *parser) attribute(l *launch, name, value string) error {
	return p.out.Put(&datasets.Attribute{Run: runID, Region: l.rec.Region, Launch: l.rec.ID, Name: name, Value: value})
}

// hostOf fills in what a row says about program and machine.
func (p *parser) hostOf(row []field) {
	if p.run.Command == "" {
		p.run.Command = p.text(row, colProcess)
	}
	if p.machine.Host == "" {
		p.machine.Host = p.text(row, colHost)
	}
	if cc := p.text(row, colCC); cc != "" {
		arch := "cc" + cc
		switch p.machine.Arch {
		case "", arch:
			p.machine.Arch = arch
		default:
			p.once("cc", "launches ran on devices of several kinds, %s and %s: the machine is recorded as %s", p.machine.Arch, arch, p.machine.Arch)
		}
	}
}

// dims reads "(x, y, z)".
func (p *parser) dims(row []field, c column) (d [3]datasets.Null[int64], err error) {
	s := p.text(row, c)
	if s == "" {
		return d, nil
	}
	inner, ok := strings.CutPrefix(s, "(")
	inner, ok2 := strings.CutSuffix(inner, ")")
	parts := strings.FieldsFunc(inner, func(r rune) bool { return strings.ContainsRune(" ,;", r) })
	if !ok || !ok2 || len(parts) != 3 {
		return d, p.bad(row, c, "the size is not three numbers", `"(x, y, z)"`)
	}
	for i, t := range parts {
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil || n < 0 {
			return d, p.bad(row, c, "the size is not three numbers", `"(x, y, z)"`)
		}
		d[i] = datasets.Some(n)
	}
	return d, nil
}

// bad is the error for a cell.
func (p *parser) bad(row []field, c column, msg, expected string) *collectors.SyntaxError {
	f := row[0]
	if i := p.table.at[c]; i >= 0 && i < len(row) {
		f = row[i]
	}
	e := p.in.Syntax(f.line, f.column, msg)
	e.Expected, e.Found = expected, collectors.Quote(f.text)
	e.Hint = "a cell of this row is missing or damaged: export the profile again"
	return e
}

// endLaunch notes that the current launch gets no further rows.
func (p *parser) endLaunch() error {
	l := p.current
	if l == nil {
		return nil
	}
	p.current = nil
	l.closed = true
	return p.send(l)
}

// send puts a launch that is complete.
func (p *parser) send(l *launch) error {
	if !l.closed || l.held > 0 || l.sent {
		return nil
	}
	l.sent = true
	if !l.rec.Smem.Valid && (l.static.Valid || l.dynamic.Valid) {
		l.rec.Smem = datasets.Some(l.static.V + l.dynamic.V)
	}
	return p.out.Put(&l.rec)
}

// describes says by a metric's first letters whether it may describe a launch
// or a machine: most do not, and this is the way of every value.
func describes(metric string) bool {
	if len(metric) < 3 {
		return false
	}
	switch metric[:3] {
	case "gpu", "lau", "dev", "Dur", "Reg", "Sta", "Dyn":
		return true
	}
	return false
}

// observe fills in the launch and the machine from the metrics that describe
// them; v is in the base unit. A time or a size whose unit is not known says
// nothing of the launch: its counter has the unit that the tool wrote.
func (p *parser) observe(l *launch, metric, unit string, v float64) {
	if !describes(metric) {
		return
	}
	n := datasets.Some(int64(math.Round(v)))
	switch metric {
	case "gpu__time_duration.sum", "Duration":
		if unit != "s" {
			p.once("time", "the unit of %s, %s, is no unit of time that is known here: its values are kept as they are, and launches have no duration by it", metric, collectors.Quote(unit))
			return
		}
		if ns := v * 1e9; ns >= 0 && ns < math.MaxInt64/2 {
			l.rec.DurNs = datasets.Some(int64(math.Round(ns)))
		}
		if l.rec.ID != 0 && p.run.TimeMetric != "gpu__time_duration.sum" {
			p.run.TimeMetric = metric
		}
	case "launch__registers_per_thread", "Registers Per Thread":
		l.rec.Regs = n
	case "launch__shared_mem_per_block", "launch__shared_mem_per_block_static", "Static Shared Memory Per Block",
		"launch__shared_mem_per_block_dynamic", "Dynamic Shared Memory Per Block":
		p.sharedMemory(l, metric, unit, n)
	case "device__attribute_multiprocessor_count":
		p.machine.Units = n
	default:
		for i, axis := range [3]string{"x", "y", "z"} {
			if metric == "launch__grid_dim_"+axis && !l.rec.Grid[i].Valid {
				l.rec.Grid[i] = n
			}
			if metric == "launch__block_dim_"+axis && !l.rec.Block[i].Valid {
				l.rec.Block[i] = n
			}
		}
	}
}

// sharedMemory takes a launch's shared memory per block, or a part of it.
func (p *parser) sharedMemory(l *launch, metric, unit string, n datasets.Null[int64]) {
	switch base, _, _ := strings.Cut(unit, "/"); {
	case base != "byte" && base != "":
		p.once("memory", "the unit of %s, %s, is no unit of memory that is known here: its values are kept as they are, and launches have no shared memory by it", metric, collectors.Quote(unit))
	case strings.Contains(strings.ToLower(metric), "static"):
		l.static = n
	case strings.Contains(strings.ToLower(metric), "dynamic"):
		l.dynamic = n
	default:
		l.rec.Smem = n
	}
}
