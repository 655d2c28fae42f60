package rocprof

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

// event is a row of a table, or the part of a dispatch that a row tells.
type event struct {
	name   string // of its region
	kind   string
	module string
	launch datasets.Launch
	key    string  // of the launch, where several rows may tell of one
	fixed  []value // what is said again in every row of a dispatch
	values []value
	attrs  [][2]string
}

type value struct {
	metric, instance, raw, rawUnit, unit string
	num                                  datasets.Null[float64]
}

// parser reads one table. It reads it twice: first to know the order in which
// the launches started, of which it keeps one number each, then to emit.
type parser struct {
	in   *collectors.Input
	out  *collectors.Output
	r    *delimited.Reader
	emit bool

	head *delimited.Header
	kind kind
	last []delimited.Cell
	end  string // the last cell of the row before

	kernelOf string // the kernel of a call, where no column has it

	launches map[string]int // by key
	kernel   map[int]int32  // of the launches that have a key
	starts   []int64
	extern   [][2]int64 // times from elsewhere
	partial  bool       // some launch has no start
	places   []int64
	count    int
	ids      map[string]int32   // of names and metrics
	texts    []string           // by id
	seen     map[[2]int32]int32 // how often a launch had a metric
	regions  map[string]int64
	run      datasets.Run
	machine  datasets.Machine
	grid     string
	timed    bool
	ceilings bool
	rows     int
	warned   map[string]bool
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return Table(ctx, in, out, Options{Tool: "rocprof"})
}

// Options change how a table is read, for tools that write such tables too.
type Options struct {
	Tool string
	// Times, if it is not nil, are the start and the end of the dispatches in
	// the order of the rows, in ns, for tables without times.
	Times [][2]int64
	// Finish, if it is not nil, is called once before the run goes out: it may
	// fill in run and machine and emit what belongs to them.
	Finish func(*datasets.Run, *datasets.Machine) error
}

// Table reads a table of dispatches or events into a run.
func Table(ctx context.Context, in *collectors.Input, out *collectors.Output, opt Options) error {
	return in.WithFile(func(path string) error {
		p := &parser{out: out, extern: opt.Times, launches: map[string]int{}, kernel: map[int]int32{}, ids: map[string]int32{}, seen: map[[2]int32]int32{}, regions: map[string]int64{}, warned: map[string]bool{},
			run:     datasets.Run{ID: runID, Tool: opt.Tool, Status: datasets.RunOK},
			machine: datasets.Machine{ID: machineID}}
		if err := p.pass(ctx, in.Name, path); err != nil {
			return err
		}
		p.order()
		p.emit = true
		if err := p.pass(ctx, in.Name, path); err != nil {
			return err
		}
		if err := p.agentsPart(in); err != nil {
			return err
		}
		p.describe()
		if opt.Finish != nil {
			p.ceilings = len(in.Parts()) > 0 // they may be all that is known of the machine
			if err := opt.Finish(&p.run, &p.machine); err != nil {
				return err
			}
		}
		return p.finish()
	})
}

// pass reads the whole table.
func (p *parser) pass(ctx context.Context, name, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if p.in, err = collectors.Open(name, f); err != nil {
		return err
	}
	p.r = delimited.New(p.in)
	p.head, p.count, p.rows, p.end = nil, 0, 0, ""
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", name, ctx.Err())
		}
		text, err := p.r.Text()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := p.line(text); err != nil {
			return err
		}
	}
	if p.head == nil {
		e := p.in.Syntax(max(p.r.Line, 1), 1, "there is no table of rocprof")
		e.Expected = `a header such as "Kind","Agent_Id","Queue_Id",... or "Index","KernelName","gpu-id",...`
		e.Hint = "is the file whole, and written with --output-format csv?"
		return e
	}
	return nil
}

func (p *parser) line(text string) error {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	if h := asHeader(text); h != nil {
		k := kindOf(h)
		if p.head != nil && k != p.kind {
			e := p.in.Syntax(p.r.Line, 1, "a table of another kind begins here")
			e.Hint = "cut the file into one file per table"
			return e
		}
		if !p.r.Ended {
			e := p.in.Syntax(p.r.Line, len(text)+1, "the file ends within its header")
			e.Hint = "the file is cut: get it again"
			return e
		}
		p.head, p.kind = h, k
		switch k {
		case kindSamples:
			return &collectors.UnsupportedError{File: p.in.Name, What: "a table of PC samples of rocprof",
				Hint: "import the kernel trace and the counters of the same run instead"}
		case kindMarks:
			return &collectors.UnsupportedError{File: p.in.Name, What: "a table of ROCTX marks of rocprofv2, which does not tell where their ranges end",
				Hint: "import the traces of the API and of the kernels of the same run instead, or trace the marks with rocprofv3 --marker-trace"}
		}
		return nil
	}
	if p.head == nil {
		if p.emit {
			p.once("noise", p.r.Line, "lines before the table were left out: %s", collectors.Quote(text))
		}
		return nil
	}
	row, err := p.r.Cells(text)
	if err != nil {
		return err
	}
	p.rows++
	if row, err = p.align(row); err != nil {
		return err
	}
	p.last = row
	before := p.end
	p.end = strings.Clone(row[len(row)-1].Text)
	if !p.r.Ended && !p.whole(row) && p.rows > 1 && p.end == before && p.end != "" {
		// A cell that is cut is seldom what the one above it is: tables put
		// together by hand end so.
		if p.emit {
			p.out.Warn(row[0].Line, 1, "the last row has no line end: it was kept, for its last cell %s is that of the row before: if the file is cut, remove the row",
				collectors.Quote(p.end))
		}
		return p.row(row)
	}
	if !p.r.Ended && !p.whole(row) {
		if p.emit {
			p.out.Warn(row[0].Line, 1, "the last row has no line end and was left out, for its last cell %s may be cut: if the file is whole, end it with a newline",
				collectors.Quote(row[len(row)-1].Text))
		}
		return nil
	}
	return p.row(row)
}

// align makes a row as long as the header. rocprofv2 has written rows without
// the cells of SIG and OBJ (before the name) or of the two timestamps (after
// it) under a header that has them: the name, the only quoted cell, tells.
func (p *parser) align(row []delimited.Cell) ([]delimited.Cell, error) {
	want := len(p.head.Cells)
	p.kernelOf = ""
	for len(row) > want && row[len(row)-1].Text == "" {
		row = row[:len(row)-1]
	}
	if len(row) == want {
		return row, nil
	}
	bad := p.r.Short(row, "the row has not one cell per column", fmt.Sprintf("%d cells", want), strconv.Itoa(len(row)))
	at := p.head.At("kernelname")
	missing := want - len(row)
	if f := p.head.At("function"); p.kind == kindCalls && at < 0 && f >= 0 && missing == -1 && row[f+1].Quoted {
		// Of calls that launch a kernel rocprofv2 writes its name too, for
		// which its header has no column.
		p.kernelOf = row[f+1].Text
		return append(row[:f+1:f+1], row[f+2:]...), nil
	}
	if p.kind != kindDispatches || at < 0 || missing < 1 || missing > 3 || !p.r.Ended {
		return nil, bad
	}
	named := -1
	for i, c := range row {
		if c.Quoted && named >= 0 {
			return nil, bad
		}
		if c.Quoted {
			named = i
		}
	}
	var gone []int
	switch {
	case named == at-missing:
		for _, k := range [...]string{"sig", "obj", "queueindex"} {
			if i := p.head.At(k); i >= 0 && i < at && len(gone) < missing {
				gone = append(gone, i)
			}
		}
	case named == at && missing == 2 && p.head.Has("starttimestamp", "endtimestamp"):
		gone = []int{p.head.At("starttimestamp"), p.head.At("endtimestamp")}
	}
	if len(gone) != missing {
		return nil, bad
	}
	sort.Ints(gone)
	line := row[0].Line
	full := make([]delimited.Cell, 0, want)
	for i := range want {
		if len(gone) > 0 && gone[0] == i {
			gone = gone[1:]
			full = append(full, delimited.Cell{Line: line, Column: 1})
			continue
		}
		full = append(full, row[0])
		row = row[1:]
	}
	// Were other cells missing, the wave size would not be where it is.
	if i := p.head.At("wavesize"); i < 0 || full[i].Text != "32" && full[i].Text != "64" {
		return nil, bad
	}
	if p.emit {
		p.once("align", full[at].Line, "the rows are shorter than the header (%d and %d cells): the columns that they leave out are %s",
			want-missing, want, "SIG and OBJ, or the timestamps")
	}
	return full, nil
}

// whole reports whether the last row is certainly not cut, although it has no
// line end.
func (p *parser) whole(row []delimited.Cell) bool {
	last := row[len(row)-1]
	switch i := len(p.head.Cells) - 1; {
	case last.Quoted:
		return true
	case delimited.Key(p.head.Cells[i].Text) == "endtimestamp":
		// A time that is cut has fewer digits than the one before it.
		s := p.head.At("starttimestamp")
		return s >= 0 && len(row[s].Text) == len(last.Text)
	case p.kind == kindStats:
		// An exponent of two digits; or six decimals, after more than the
		// one digit that numbers with an exponent begin with.
		digits, frac, _ := strings.Cut(last.Text, ".")
		mantissa, exp, has := strings.Cut(frac, "e")
		return has && len(exp) == 3 && len(mantissa) > 0 || !has && len(digits) > 1 && len(frac) == 6
	}
	return false
}

// order ranks the launches by their start.
func (p *parser) order() {
	ids := make([]int, len(p.starts))
	for i := range ids {
		ids[i] = i
	}
	if !p.partial {
		sort.SliceStable(ids, func(a, b int) bool { return p.starts[ids[a]] < p.starts[ids[b]] })
	}
	p.places = make([]int64, len(ids))
	for rank, i := range ids {
		p.places[i] = int64(rank)
	}
	p.starts = nil
}

// add takes an event: in the first pass its start, in the second all of it.
func (p *parser) add(e *event) error {
	place, known := p.count, false
	if e.key != "" {
		if place, known = p.launches[e.key]; !known {
			place = p.count
			p.launches[e.key] = place
			p.kernel[place] = p.id32(e.name)
		} else if p.kernel[place] != p.id32(e.name) {
			err := p.r.Fault(p.last[0], "this dispatch has another kernel than in an earlier row", collectors.Quote(p.texts[p.kernel[place]]))
			err.Found = collectors.Quote(e.name)
			return err
		}
		known = place < p.count
	}
	if !known {
		p.count++
	}
	if !p.emit {
		if !known {
			start := e.launch.StartNs
			if !start.Valid {
				if n, err := strconv.ParseInt(e.launch.ToolID, 10, 64); err == nil {
					start = datasets.Some(n)
				}
			}
			p.partial = p.partial || !start.Valid
			p.starts = append(p.starts, start.V)
		}
		return nil
	}
	region, err := p.region(e)
	if err != nil {
		return err
	}
	id := int64(place + 1)
	if !known {
		l := e.launch
		l.ID, l.Run, l.Region, l.Sequence = id, runID, region, datasets.Some(p.places[place])
		if err := p.out.Put(&l); err != nil {
			return err
		}
		for _, a := range e.attrs {
			if err := p.out.Put(&datasets.Attribute{Run: runID, Region: region, Launch: id, Name: a[0], Value: a[1]}); err != nil {
				return err
			}
		}
	}
	if !known {
		for _, v := range e.fixed {
			if err := p.counter(region, id, v, v.instance); err != nil {
				return err
			}
		}
	}
	for _, v := range e.values {
		instance := v.instance
		if e.key != "" && instance == "" {
			k := [2]int32{int32(id), p.id32(v.metric)}
			if p.seen[k]++; p.seen[k] > 1 {
				instance = "#" + strconv.Itoa(int(p.seen[k]))
			}
		}
		if err := p.counter(region, id, v, instance); err != nil {
			return err
		}
	}
	return nil
}

// id32 numbers texts: what is kept of each row stays small.
func (p *parser) id32(text string) int32 {
	id, ok := p.ids[text]
	if !ok {
		text = strings.Clone(text) // not the row that it is part of
		id = int32(len(p.texts))
		p.ids[text] = id
		p.texts = append(p.texts, text)
	}
	return id
}

func (p *parser) counter(region, launch int64, v value, instance string) error {
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: v.metric, Instance: instance, Value: v.num, Unit: v.unit,
		RawValue: v.raw, RawUnit: v.rawUnit, Status: datasets.StatusOK}
	if !v.num.Valid {
		c.Status = datasets.StatusNA
	}
	return p.out.Put(&c)
}

func (p *parser) region(e *event) (int64, error) {
	key := e.kind + "\x00" + e.module + "\x00" + e.name
	if id, ok := p.regions[key]; ok {
		return id, nil
	}
	id := int64(len(p.regions) + 1)
	p.regions[key] = id
	g := datasets.Region{ID: id, Run: runID, Kind: e.kind, Raw: e.name, Short: e.name, Module: e.module}
	if e.kind == datasets.KindKernel {
		g.Short = collectors.ShortName(strings.TrimSuffix(strings.TrimSpace(e.name), " (.kd)"))
		if strings.HasPrefix(e.name, "_Z") {
			g.Mangled = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(e.name, " [clone .kd]"), " (.kd)"), ".kd")
		}
	}
	return id, p.out.Put(&g)
}

func (p *parser) once(topic string, line int, format string, args ...any) {
	if !p.warned[topic] {
		p.warned[topic] = true
		p.out.Warn(line, 1, format, args...)
	}
}

func (p *parser) attribute(name, value string) error {
	return p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value})
}

// describe fills in the run.
func (p *parser) describe() {
	p.run.Format = map[kind]string{kindDispatches: "rocprof-dispatches", kindKernels: "rocprofv3-kernel-trace", kindCounters: "rocprofv3-counter-collection",
		kindCalls: "rocprof-api-trace", kindOps: "rocprofv2-activity-trace", kindCopies: "rocprofv3-memory-copy-trace", kindMemory: "rocprofv3-memory-trace", kindStats: "rocprof-stats", kindAgents: "rocprofv3-agent-info"}[p.kind]
	if p.kind == kindDispatches {
		p.run.FormatVersion = "v2"
		if p.head.Has("index") {
			p.run.FormatVersion = "v1"
		}
	}
	if p.timed {
		p.run.TimeMetric, p.run.TimeInclusive = "duration", true
		if p.kind == kindStats {
			p.run.TimeMetric = "TotalDurationNs"
			if p.head.Has("sum(ns)") {
				p.run.TimeMetric, p.run.Tool = "Sum(ns)", "rocprof-compute"
			}
		}
	}
	if p.rows == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the table has a header and no rows: nothing ran on the GPU, or the filters of the profiler left nothing"
		p.out.Warn(0, 0, "nothing was measured: %s", p.run.Error)
	}
}

func (p *parser) finish() error {
	if p.grid != "" {
		if err := p.attribute("grid", p.grid); err != nil {
			return err
		}
	}
	if p.ceilings || p.machine != (datasets.Machine{ID: machineID}) {
		p.run.Machine = machineID
		if err := p.out.Put(&p.machine); err != nil {
			return err
		}
	}
	return p.out.Put(&p.run)
}
