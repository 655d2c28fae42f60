package rocprof

import (
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

// row reads one row.
func (p *parser) row(row []delimited.Cell) error {
	switch p.kind {
	case kindStats:
		return p.stats(row)
	case kindAgents:
		return p.agent(row)
	}
	e := &event{}
	switch p.kind {
	case kindDispatches, kindKernels, kindCounters:
		e.kind, e.name = datasets.KindKernel, p.text(row, "kernelname")
	case kindCalls:
		e.kind, e.name, e.module = datasets.KindFunction, p.text(row, "function"), p.text(row, "domain")
		if strings.Contains(strings.ToUpper(e.module), "MARKER") || strings.Contains(strings.ToUpper(e.module), "ROCTX") {
			e.kind = datasets.KindRange
		}
		kernel := p.text(row, "kernelname")
		if p.kernelOf != "" {
			kernel = p.kernelOf
		}
		if kernel != "" {
			e.attrs = append(e.attrs, [2]string{"Kernel_Name", kernel})
		}
	case kindOps:
		e.kind, e.name, e.module = datasets.KindRange, p.text(row, "operation"), p.text(row, "domain")
		if kernel := p.text(row, "kernelname"); kernel != "" {
			e.attrs = append(e.attrs, [2]string{"Operation", e.name})
			e.kind, e.name, e.module = datasets.KindKernel, kernel, ""
		}
	case kindCopies:
		e.kind, e.name, e.module = datasets.KindRange, p.text(row, "direction"), p.text(row, "kind")
	case kindMemory:
		e.kind, e.name, e.module = datasets.KindRange, p.text(row, "operation"), p.text(row, "kind")
	}
	if e.name == "" {
		return p.r.Fault(row[max(p.head.At("kernelname", "function", "direction", "operation"), 0)], "a row without a name", "the name of a kernel, a function or an operation")
	}
	for i, c := range row {
		if err := p.cell(e, row, delimited.Key(p.head.Cells[i].Text), p.head.Cells[i].Text, c); err != nil {
			return err
		}
	}
	if err := p.times(e, row); err != nil {
		return err
	}
	if p.kind == kindCounters {
		metric := p.text(row, "countername")
		c := row[p.head.At("countervalue")]
		if metric == "" {
			return p.r.Fault(row[p.head.At("countername")], "a row without a counter", "the name of a counter")
		}
		v, err := p.number(metric, c)
		if err != nil {
			return err
		}
		e.values = append(e.values, v)
		e.key = p.text(row, "processid") + "|" + p.text(row, "dispatchid")
	}
	return p.add(e)
}

// text returns a cell, "" where there is no such column.
func (p *parser) text(row []delimited.Cell, keys ...string) string {
	if i := p.head.At(keys...); i >= 0 {
		return row[i].Text
	}
	return ""
}

// cell puts what one cell says where it belongs. Names of columns that no
// table of the profilers has for another purpose are counters.
func (p *parser) cell(e *event, row []delimited.Cell, key, name string, c delimited.Cell) error {
	l := &e.launch
	switch key {
	case "kernelname", "function", "domain", "kind", "direction", "operation", "countername", "countervalue",
		"starttimestamp", "endtimestamp", "stoptimestamp", "beginns", "endns":
		return nil
	case "index", "dispatchid":
		l.ToolID = c.Text
		return nil
	case "gpuid", "agentid":
		return p.device(e, name, c)
	case "queueid":
		return p.id(&l.Stream, c)
	case "streamid":
		e.attrs = append(e.attrs, [2]string{name, c.Text})
		return nil
	case "pid", "processid":
		return p.id(&l.PID, c)
	case "tid", "threadid":
		return p.id(&l.Thread, c)
	case "grd", "gridsize":
		p.grid = "work-items; x is the product of the three sizes, which the table does not give"
		return p.id(&l.Grid[0], c)
	case "wgr", "workgroupsize":
		return p.id(&l.Block[0], c)
	case "gridsizex", "gridsizey", "gridsizez":
		p.grid = "work-items"
		return p.id(&l.Grid[key[len(key)-1]-'x'], c)
	case "workgroupsizex", "workgroupsizey", "workgroupsizez":
		return p.id(&l.Block[key[len(key)-1]-'x'], c)
	case "lds", "ldsperworkgroup", "ldsblocksize", "groupsegmentsize":
		return p.id(&l.Smem, c)
	case "vgpr", "archvgpr", "vgprcount", "archvgprcount":
		return p.id(&l.Regs, c)
	case "correlationid":
		if p.kind != kindDispatches && p.kind != kindKernels && p.kind != kindCounters {
			l.ToolID = c.Text
			return nil
		}
		e.attrs = append(e.attrs, [2]string{name, c.Text})
		return nil
	case "queueindex", "sig", "obj", "kernelid", "xccindex", "sourceagentid", "destinationagentid", "address", "allocflags", "guid":
		if c.Text != "" {
			e.attrs = append(e.attrs, [2]string{name, c.Text})
		}
		return nil
	}
	if base := p.again(name); base >= 0 {
		// rocprof-compute joins the passes of a profile and numbers the ids
		// that each of them has: they say something where they differ.
		if c.Text != row[base].Text {
			e.attrs = append(e.attrs, [2]string{name, c.Text})
		}
		return nil
	}
	instance := ""
	if i := strings.IndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		name, instance = name[:i], name[i+1:len(name)-1]
	}
	v, err := p.number(name, c)
	if err != nil {
		return err
	}
	v.instance = instance
	if fixed[key] {
		e.fixed = append(e.fixed, v)
	} else {
		e.values = append(e.values, v)
	}
	return nil
}

// again returns the column which one such as "Wave_Size_1" repeats, -1 where
// it repeats none.
func (p *parser) again(name string) int {
	i := strings.LastIndexByte(name, '_')
	if i < 0 {
		return -1
	}
	if _, err := strconv.ParseUint(name[i+1:], 10, 16); err != nil {
		return -1
	}
	switch base := delimited.Key(name[:i]); base {
	case "wavesize", "obj", "sig", "correlationid", "xccindex", "dispatchid", "gpuid", "queueid", "pid", "tid", "kernelname", "gridsize", "workgroupsize",
		"ldsperworkgroup", "scratchperworkitem", "archvgpr", "accumvgpr", "sgpr", "kernelid":
		return p.head.At(base)
	}
	return -1
}

// fixed are the columns that describe a dispatch and count nothing.
var fixed = map[string]bool{"scr": true, "scratchperworkitem": true, "scratchsize": true, "privatesegmentsize": true, "accumvgpr": true, "accumvgprcount": true,
	"sgpr": true, "sgprcount": true, "wavesize": true, "fbar": true, "dispatchns": true, "completens": true, "durationns": true, "allocationsize": true}

// id reads a whole number; an empty cell is none.
func (p *parser) id(dst *datasets.Null[int64], c delimited.Cell) error {
	if c.Text == "" {
		return nil
	}
	n, err := strconv.ParseInt(c.Text, 0, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(c.Text, 64) // pandas has written whole numbers as 64.0
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return p.r.Fault(c, "the cell is no whole number", "a whole number")
		}
		n = int64(f)
	}
	*dst = datasets.Some(n)
	return nil
}

// device reads an agent: a number, or "Agent 4" and "GPU 0" by version.
func (p *parser) device(e *event, name string, c delimited.Cell) error {
	if n, err := strconv.ParseInt(c.Text, 10, 64); err == nil {
		e.launch.Device = datasets.Some(n)
		return nil
	}
	if _, last, ok := strings.Cut(c.Text, " "); ok {
		if n, err := strconv.ParseInt(last, 10, 64); err == nil {
			e.launch.Device = datasets.Some(n)
			e.attrs = append(e.attrs, [2]string{name, c.Text})
			return nil
		}
	}
	if c.Text == "" {
		return nil
	}
	return p.r.Fault(c, "the agent is not numbered", `a number, or "Agent 4"`)
}

// times reads start and end. A start of 0 is what the tools write where they
// have no times.
func (p *parser) times(e *event, row []delimited.Cell) error {
	s, t := p.head.At("starttimestamp", "beginns"), p.head.At("endtimestamp", "stoptimestamp", "endns")
	if n := p.rows - 1; s < 0 && t < 0 && n < len(p.extern) {
		p.time(e, p.extern[n][0], p.extern[n][1])
		return nil
	}
	if s < 0 || t < 0 || row[s].Text == "" && row[t].Text == "" {
		return nil
	}
	if strings.Contains(row[s].Text+row[t].Text, ".") {
		return p.means(e, row[s], row[t])
	}
	var start, end datasets.Null[int64]
	if err := p.id(&start, row[s]); err != nil {
		return err
	}
	if err := p.id(&end, row[t]); err != nil {
		return err
	}
	if start.V == 0 || !start.Valid || !end.Valid {
		return nil
	}
	if end.V < start.V {
		err := p.r.Fault(row[t], "the event ends before it starts", "at least "+row[s].Text)
		if !p.r.Ended {
			err.Hint = "the file is cut within this row: get it again, or remove the row"
		}
		return err
	}
	if end.V-start.V < 0 { // more than 64 bits hold
		return p.r.Fault(row[t], "the event lasts longer than 292 years", "a time near "+row[s].Text)
	}
	p.time(e, start.V, end.V)
	return nil
}

// means reads a start and an end with fractions of a nanosecond: where several
// passes ran a kernel, ROCm Compute Profiler writes the means of its times.
func (p *parser) means(e *event, first, last delimited.Cell) error {
	var times [2]float64
	for i, c := range []delimited.Cell{first, last} {
		v, err := strconv.ParseFloat(c.Text, 64)
		if err != nil || !(v >= 0 && v < 1<<62) {
			return p.r.Fault(c, "the time is no number", "nanoseconds")
		}
		times[i] = v
	}
	start, ns := times[0], times[1]-times[0]
	if start == 0 {
		return nil
	}
	if ns < 0 {
		return p.r.Fault(last, "the event ends before it starts", "at least "+first.Text)
	}
	p.time(e, int64(math.Round(start)), int64(math.Round(start))+int64(math.Round(ns)))
	d := &e.fixed[len(e.fixed)-1]
	d.raw = strconv.FormatFloat(ns, 'f', -1, 64)
	d.num = datasets.Some(ns * 1e-9)
	return nil
}

func (p *parser) time(e *event, start, end int64) {
	ns := end - start
	e.launch.StartNs, e.launch.DurNs = datasets.Some(start), datasets.Some(ns)
	p.timed = true
	e.fixed = append(e.fixed, value{metric: "duration", raw: strconv.FormatInt(ns, 10), rawUnit: "ns", unit: "s", num: datasets.Some(seconds(ns))})
}

// seconds is the float64 nearest to some nanoseconds.
func seconds(ns int64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatInt(ns, 10)+"e-9", 64) // digits always parse
	return v
}

// number reads the value of a counter.
func (p *parser) number(metric string, c delimited.Cell) (value, error) {
	u, raw := unitOf(metric)
	v := value{metric: metric, raw: c.Text, rawUnit: raw, unit: u.Base}
	switch strings.ToLower(strings.TrimLeft(c.Text, "+-")) {
	case "", "nan", "inf", "n/a":
		return v, nil
	}
	n, err := u.Scale(c.Text, collectors.Dot)
	if err != nil || strings.ContainsAny(c.Text, ", ") {
		return v, p.r.Fault(c, "the value of "+metric+" is no number", "a number with a decimal point")
	}
	v.num = datasets.Some(n)
	return v, nil
}

// unitOf tells the unit of a column. The tables name none: units are those of
// AMD's descriptions of the derived metrics (FETCH_SIZE and WRITE_SIZE are in
// kilobytes of 1024 bytes), and basic counters are plain numbers.
func unitOf(metric string) (u collectors.Unit, raw string) {
	switch key := delimited.Key(metric); {
	case key == "fetchsize" || key == "writesize":
		raw = "KiB"
	case strings.HasSuffix(metric, "Ns"), strings.HasSuffix(metric, "(ns)"):
		raw = "ns"
	case key == "scr" || key == "scratchsize" || key == "scratchperworkitem" || key == "privatesegmentsize" || key == "allocationsize":
		raw = "byte"
	case percents[metric]:
		raw = "%"
	default:
		return collectors.Unit{}, ""
	}
	return collectors.ParseUnit(raw), raw
}

var percents = map[string]bool{"GPUBusy": true, "VALUUtilization": true, "VALUBusy": true, "SALUBusy": true, "L2CacheHit": true, "MemUnitBusy": true,
	"MemUnitStalled": true, "WriteUnitStalled": true, "ALUStalledByLDS": true, "LDSBankConflict": true, "FetchUnitStalled": true, "OccupancyPercent": true,
	"MfmaUtil": true, "GPU_UTIL": true, "Percentage": true, "Pct": true}

// statsKind tells what the names of a table of statistics are: by the name of
// the file, else by their own.
func statsKind(file, name string) string {
	starts := func(prefixes ...string) bool {
		for _, s := range prefixes {
			if strings.HasPrefix(name, s) {
				return true
			}
		}
		return false
	}
	switch {
	case strings.Contains(file, "kernel_stats"):
		return datasets.KindKernel
	case strings.Contains(file, "marker_api_stats"), strings.Contains(file, "memory_copy_stats"), strings.Contains(file, "copy_stats"), strings.Contains(file, "domain_stats"):
		return datasets.KindRange
	case strings.Contains(file, "api_stats"), strings.Contains(file, "hip_stats"), strings.Contains(file, "hsa_stats"), starts("hip", "hsa_", "__hip", "nccl", "rccl"):
		return datasets.KindFunction
	case starts("MEMORY_COPY_", "MEMORY_ALLOCATION_", "SCRATCH_MEMORY_", "KERNEL_DISPATCH", "HIP_", "HSA_", "MARKER_", "RCCL_", "Copy"):
		return datasets.KindRange
	}
	return datasets.KindKernel
}

// stats reads a row of statistics: a region with counters of its own.
func (p *parser) stats(row []delimited.Cell) error {
	at := p.head.At("name", "kernelname")
	name := row[at].Text
	if name == "" {
		return p.r.Fault(row[at], "a row without a name", "the name of a kernel, a function or a domain")
	}
	if !p.emit {
		// The whole table is looked at before anything goes out.
		for i, c := range row {
			if i != at {
				if _, err := p.number(p.head.Cells[i].Text, c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	kind := statsKind(p.in.Head.Name, name)
	if p.head.At("name") < 0 {
		kind = datasets.KindKernel
	}
	p.count++
	id := int64(p.count)
	g := datasets.Region{ID: id, Run: runID, Kind: kind, Raw: name, Short: name, Order: datasets.Some(id - 1)}
	if kind == datasets.KindKernel {
		g.Short = collectors.ShortName(strings.TrimSuffix(name, " (.kd)"))
	}
	if err := p.out.Put(&g); err != nil {
		return err
	}
	p.timed = true
	for i, c := range row {
		if i == at {
			continue
		}
		metric := p.head.Cells[i].Text
		v, err := p.number(metric, c)
		if err != nil {
			return err
		}
		if metric == "StdDev" && v.num.Valid {
			v.rawUnit, v.unit = "ns", "s"
			if v.num.V, err = collectors.ParseNumber(c.Text, collectors.Dot, -9); err != nil {
				return err
			}
		}
		if err := p.counter(id, 0, v, ""); err != nil {
			return err
		}
	}
	return nil
}
