package likwid

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

func atoi(s string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(s), 10, 31)
	return int(n), err
}

// title is what stands above a table.
type title struct {
	region string // marker region, "" for the whole program
	group  string // number
	name   string // of the group
	kind   string // "Raw", "Metric STAT"; "" in drawn tables
	rows   int    // -1: not said
}

// table is the table that is being read.
type table struct {
	title
	open    bool
	line    int
	columns []string // titles of the columns of values
	first   int      // the column where values begin
	info    bool     // the table of a marker region's run time and calls
	met     int      // rows
	dashes  int
}

type launchKey struct {
	region int64
	group  string
	column string
	round  int // which of several runs in one file
}

type reader struct {
	in       *collectors.Input
	out      *collectors.Output
	run      datasets.Run
	machine  datasets.Machine
	table    table
	drawn    title
	regions  map[string]int64
	launches map[launchKey]int64
	values   int
	facts    map[string]bool
	times    map[string]bool
	timeline map[string]*timeline
	threads  []string         // of a timeline
	ends     map[string]int64 // where the last interval of a thread ended, ns
	noisy    bool
	rounds   map[launchKey]int // by region's name (in column) and group: how often it came
	denied   map[string]bool   // event and CPU that could not be set up
	// Of LIKWID 3: the region that was named last, and the table that begins a
	// round.
	old, oldRegion, oldKind string
}

// again begins a group of a region, for the second time where several runs
// were written to one file.
func (r *reader) again(t title) { r.rounds[launchKey{column: t.region, group: t.group}]++ }

// refused reads "NAME on CPU 0 failed: Permission denied".
func (r *reader) refused(s string, line int) {
	event, rest, ok := strings.Cut(s, " on CPU ")
	cpu, reason, failed := strings.Cut(rest, " failed: ")
	if !ok || !failed || r.denied[event+" "+cpu] {
		return
	}
	if len(r.denied) == 0 {
		r.out.Warn(line, 1, "%s could not be counted on CPU %s (%s): LIKWID writes 0 for such events, here they have no value, and metrics that are made of them are not to be trusted", event, cpu, reason)
	}
	r.denied[event+" "+cpu] = true
}

func (r *reader) begin(t title, line int) error {
	if err := r.close(line); err != nil {
		return err
	}
	r.table = table{title: t, open: true, line: line}
	return nil
}

// close ends a table.
func (r *reader) close(line int) error {
	t := &r.table
	if t.open && t.columns == nil {
		e := r.in.Syntax(line, 1, "the table has no titles of columns")
		e.Expected, e.Hint = `"Event,Counter,..." or "Metric,..."`, "the file is damaged: measure again"
		return e
	}
	if t.open && t.rows >= 0 && t.met != t.rows {
		r.out.Warn(t.line, 1, "the table has %d rows, its title says %d", t.met, t.rows)
	}
	t.open = false
	return nil
}

// noise is a line of the measured program among the tables.
func (r *reader) noise(s string, line int) error {
	if !r.noisy {
		r.noisy = true
		r.out.Warn(line, 1, "the line is left out, it is not LIKWID's: %s", collectors.Quote(s))
	}
	return nil
}

// fact keeps what LIKWID says of the machine; it repeats it above each table.
func (r *reader) fact(key, value string) error {
	if r.facts[key] {
		return nil
	}
	r.facts[key] = true
	switch key {
	case "CPU name":
		r.machine.CPU = value
	case "CPU clock":
		number, unit, _ := strings.Cut(value, " ")
		if v, err := collectors.ParseUnit(unit).Scale(number, collectors.Dot); err == nil && unit != "" {
			r.machine.ClockHz = datasets.Some(v)
		}
	}
	return r.out.Put(&datasets.Attribute{Run: runID, Name: key, Value: value})
}

// tableRow reads titles of columns, or values.
func (r *reader) tableRow(cells []string, line int) error {
	for len(cells) > 1 && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	t := &r.table
	switch cells[0] {
	case "Region Info", "Event", "Metric":
		t.columns, t.first, t.info, t.dashes = cells, 1, cells[0] == "Region Info", 0
		if cells[0] == "Event" && len(cells) > 1 && cells[1] == "Counter" {
			t.first = 2
		}
		if len(cells) <= t.first {
			e := r.in.Syntax(line, 1, "the table has no column of values")
			e.Expected, e.Found = "columns such as HWThread 0", collectors.Quote(strings.Join(cells, ","))
			return e
		}
		return nil
	}
	if t.columns == nil || len(cells) != len(t.columns) {
		if t.columns != nil && t.rows >= 0 && t.met >= t.rows || len(cells) == 1 {
			return r.noise(strings.Join(cells, ","), line)
		}
		e := r.in.Syntax(line, 1, "the row does not have one cell per title")
		e.Expected, e.Found, e.Hint = fmt.Sprintf("%d cells", len(t.columns)), strconv.Itoa(len(cells)), "the line is damaged, or the program wrote into the table (likwid-perfctr -o keeps them apart)"
		return e
	}
	if !t.info {
		t.met++
	}
	for i := t.first; i < len(cells); i++ {
		if err := r.value(cells, i, line); err != nil {
			return err
		}
	}
	return nil
}

// region returns the region of a marker, or that of the whole program.
func (r *reader) region(name string) (int64, error) {
	if id, ok := r.regions[name]; ok {
		return id, nil
	}
	id := int64(len(r.regions) + 1)
	r.regions[name] = id
	raw := name
	if raw == "" {
		raw = "likwid-perfctr"
	}
	return id, r.out.Put(&datasets.Region{ID: id, Run: runID, Kind: datasets.KindRange, Raw: raw, Short: raw})
}

// isStatistic knows the columns that stand for all threads.
func isStatistic(column string) bool {
	switch column {
	case "Sum", "Min", "Max", "Avg":
		return true
	}
	return strings.HasPrefix(column, "%ile")
}

// launch returns the launch of a column, 0 for a statistic over threads. A
// column is of a hardware thread ("HWThread 3", before version 5 "Core 3"), of
// a GPU ("GPU 0") or, from likwid-mpirun, of a thread of a rank on a host
// ("node7:2:3").
func (r *reader) launch(region int64, column string) (int64, error) {
	if isStatistic(column) {
		return 0, nil
	}
	host, rank, thread, unit := "", int64(-1), int64(-1), "HWThread"
	if f := strings.Split(column, ":"); len(f) == 3 {
		n, err := atoi(f[1])
		m, err2 := atoi(f[2])
		if err == nil && err2 == nil {
			host, rank, thread = f[0], int64(n), int64(m)
		}
	} else if kind, number, ok := strings.Cut(column, " "); ok {
		if n, err := atoi(number); err == nil {
			unit, thread = kind, int64(n)
			if unit == "core" { // LIKWID 3
				unit = "Core"
			}
		}
	}
	if thread < 0 || unit != "HWThread" && unit != "Core" && unit != "GPU" {
		e := r.in.Syntax(r.table.line, 1, "a column of the table is of no thread")
		e.Expected, e.Found = "HWThread and a number, or a statistic such as Sum", collectors.Quote(column)
		return 0, e
	}
	t := &r.table
	round := r.rounds[launchKey{column: t.region, group: t.group}]
	key := launchKey{region, t.group, column, round}
	if id, ok := r.launches[key]; ok {
		return id, nil
	}
	l := datasets.Launch{ID: int64(len(r.launches) + 1), Run: runID, Region: region, ToolID: strings.TrimSpace("group "+t.group) + " " + column}
	l.Sequence = datasets.Some(l.ID - 1)
	name := "hwthread"
	if unit == "GPU" {
		l.Device, name = datasets.Some(thread), "gpu"
	} else {
		l.Thread = datasets.Some(thread)
	}
	if rank >= 0 {
		l.Rank = datasets.Some(rank)
	}
	r.launches[key] = l.ID
	if err := r.out.Put(&l); err != nil {
		return 0, err
	}
	repetition := ""
	if round > 1 {
		repetition = strconv.Itoa(round)
	}
	for _, a := range [][2]string{{name, strconv.FormatInt(thread, 10)}, {"host", host}, {"group", t.name}, {"group number", t.group}, {"repetition", repetition}} {
		if a[1] == "" {
			continue
		}
		if err := r.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: l.ID, Name: a[0], Value: a[1]}); err != nil {
			return 0, err
		}
	}
	return l.ID, nil
}

func (r *reader) value(cells []string, i, line int) error {
	t := &r.table
	name, column := strings.TrimSpace(cells[0]), strings.TrimSpace(t.columns[i])
	region, err := r.region(t.region)
	if err != nil {
		return err
	}
	launch, err := r.launch(region, column)
	if err != nil {
		return err
	}
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: name}
	if t.first == 2 {
		c.Instance = strings.TrimSpace(cells[1])
	}
	if launch == 0 { // Sum, Min, Max, Avg
		if !strings.HasSuffix(c.Metric, " STAT") {
			c.Metric += " STAT"
		}
		c.Instance = strings.TrimSpace(column + " " + c.Instance)
	}
	if err := r.number(&c, name, strings.TrimSpace(cells[i]), line, columnOf(cells, i)); err != nil {
		return err
	}
	if cpu, ok := strings.CutPrefix(column, "HWThread "); (ok || strings.HasPrefix(column, "Core ")) && len(r.denied) > 0 && c.Value.V == 0 {
		if r.denied[name+" "+strings.TrimPrefix(cpu, "Core ")] {
			c.Value, c.Status = datasets.Null[float64]{}, datasets.StatusNA
		}
	}
	if launch != 0 && (name == "RDTSC Runtime [s]" || name == "Runtime (RDTSC) [s]") && c.Value.Valid {
		r.times[name] = true
	}
	r.values++
	return r.out.Put(&c)
}

func columnOf(cells []string, i int) int {
	at := 1
	for _, c := range cells[:i] {
		at += len(c) + 1
	}
	return at
}

// number reads a value. The unit is in brackets at the end of its name.
func (r *reader) number(c *datasets.Counter, name, text string, line, column int) error {
	c.RawValue, c.Status = text, datasets.StatusOK
	u := collectors.Unit{}
	if open := strings.LastIndexByte(name, '['); open > 0 {
		if end := strings.IndexByte(name[open:], ']'); end > 0 {
			c.RawUnit = name[open+1 : open+end]
			u = unitOf(c.RawUnit)
			c.Unit = u.Base
		}
	} else if i := strings.LastIndexByte(name, ' '); i >= 0 && (strings.EqualFold(name[i+1:], "MFLOP/s") || strings.EqualFold(name[i+1:], "MFLOPS/s")) {
		c.RawUnit = name[i+1:] // without brackets up to LIKWID 4
		u = collectors.ParseUnit("Mflop/s")
		c.Unit = u.Base
	}
	switch strings.ToLower(text) {
	case "nan", "-nan", "inf", "-inf", "-", "", "n/a", "nil": // nil: a formula without a result
		c.Status = datasets.StatusNA
		return nil
	}
	v, err := u.Scale(text, collectors.Dot)
	if err != nil || math.IsInf(v, 0) {
		e := r.in.Syntax(line, column, "the value of "+name+" is no number")
		e.Expected, e.Found, e.Hint = "a number, nan or -", collectors.Quote(text), "the line is damaged: measure again"
		return e
	}
	c.Value = datasets.Some(v)
	return nil
}

// unitOf reads LIKWID's spellings: MBytes/s, GBytes, DP MFLOP/s, J, W.
func unitOf(s string) collectors.Unit {
	f := strings.Fields(s)
	if len(f) == 0 {
		return collectors.Unit{}
	}
	s = f[len(f)-1]
	s = strings.NewReplacer("Bytes", "byte", "Byte", "byte", "FLOPs", "flop", "FLOP", "flop").Replace(s)
	if u, ok := strings.CutSuffix(s, "OP/s"); ok && len(u) == 1 { // MUOP/s and the like stay as they are
		s = u + "op/s"
	}
	return collectors.ParseUnit(s)
}

// end closes the run.
func (r *reader) end(last int) error {
	if last == 0 {
		e := r.in.Syntax(1, 1, "the file is empty")
		e.Expected = "what likwid-perfctr writes"
		return e
	}
	t := &r.table
	if t.open && (t.columns == nil || t.info || t.rows > t.met || r.run.Format == "likwid-text") {
		e := r.in.Syntax(last+1, 1, "the file ends within a table")
		e.Expected, e.Hint = fmt.Sprintf("%d rows, %d were read", t.rows, t.met), "the file is cut: get it again"
		if t.rows < 0 {
			e.Expected = "the line below the table"
		}
		return e
	}
	if err := r.close(last); err != nil {
		return err
	}
	for _, name := range []string{"RDTSC Runtime [s]", "Runtime (RDTSC) [s]"} {
		if r.times[name] {
			r.run.TimeMetric, r.run.TimeInclusive = name, true
			break
		}
	}
	if r.values == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "LIKWID's tables hold no value"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	if r.machine.CPU != "" {
		r.run.Machine = machineID
		if err := r.out.Put(&r.machine); err != nil {
			return err
		}
	}
	return r.out.Put(&r.run)
}
