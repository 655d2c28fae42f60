package cubex

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

const runID, machineID = 1, 1

type profile struct {
	ctx   context.Context
	in    *collectors.Input
	out   *collectors.Output
	file  *os.File
	files map[string]member
	*anchor
	order []int // of a row's values, the location in the system tree's order
	run   datasets.Run
}

func parse(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	return in.WithFile(func(path string) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		st, err := f.Stat()
		if err != nil {
			return err
		}
		p := &profile{ctx: ctx, in: in, out: out, file: f,
			run: datasets.Run{ID: runID, Tool: "cube", Format: "cubex", Status: datasets.RunOK}}
		return p.read(st.Size())
	})
}

func (p *profile) open(name string) (io.Reader, member, bool) {
	m, ok := p.files[name]
	return bufio.NewReaderSize(io.NewSectionReader(p.file, m.offset, m.size), 256<<10), m, ok
}

func (p *profile) read(size int64) error {
	files, bad, err := members(p.in, p.file, size)
	if err != nil {
		return err
	}
	p.files = files
	if bad > 0 {
		p.out.Warn(0, 0, "%d headers of the archive have a wrong checksum, as CubeLib 4.8 wrote them: the file is read nevertheless", bad)
	}
	r, _, ok := p.open("anchor.xml")
	if !ok {
		return broken(p.in, getAgain, "the archive of %d bytes has no anchor.xml", size)
	}
	if p.anchor, err = readAnchor(p.in, r); err != nil {
		return err
	}
	if !strings.HasPrefix(p.version, "4") {
		return &collectors.UnsupportedError{File: p.in.Name, What: "a profile of CUBE version " + p.version, Hint: "convert it to version 4 with CubeLib"}
	}
	if err := p.layout(); err != nil {
		return err
	}
	if err := p.describe(); err != nil {
		return err
	}
	if err := p.tree(); err != nil {
		return err
	}
	values := 0
	for _, m := range p.metrics {
		n, err := p.metric(m)
		if err != nil {
			return err
		}
		values += n
	}
	if values == 0 {
		p.run.Status, p.run.Error = datasets.RunEmpty, "the profile holds no values"
		p.out.Warn(0, 0, "%s", p.run.Error)
	}
	return p.out.Put(&p.run)
}

// layout finds the order of the values in a row: by the locations' numbers
// where these are 0, 1, 2 ..., else as the system tree lists them.
func (p *profile) layout() error {
	if len(p.nodes) > 0 && int64(len(p.nodes))*int64(len(p.places)) > 1<<34 {
		return broken(p.in, "cut the profile with cube_cut or cube_partition", "the profile has %d nodes at %d locations", len(p.nodes), len(p.places))
	}
	p.order = make([]int, len(p.places))
	seen := make([]bool, len(p.places))
	for i, l := range p.places {
		id, err := strconv.Atoi(l.id)
		if err != nil || id < 0 || id >= len(seen) || seen[id] {
			for i := range p.order {
				p.order[i] = i
			}
			return nil
		}
		seen[id] = true
		p.order[id] = i
	}
	return nil
}

func (p *profile) attribute(name, value string) error {
	if name == "" || value == "" {
		return nil
	}
	return p.out.Put(&datasets.Attribute{Run: runID, Name: name, Value: value})
}

// describe emits what is said about the run.
func (p *profile) describe() error {
	p.run.FormatVersion = p.version
	for _, kv := range p.attrs {
		if kv[0] == "Creator" {
			tool, version, _ := strings.Cut(kv[1], " ")
			p.run.Tool, p.run.ToolVersion = strings.ToLower(tool), version
		}
		if err := p.attribute(kv[0], kv[1]); err != nil {
			return err
		}
	}
	for _, l := range p.places {
		name := l.above + l.group + "/" + l.name
		if err := p.attribute("location "+l.id, strings.Trim(name, "/")+" ("+l.kind+")"); err != nil {
			return err
		}
	}
	for _, m := range p.metrics {
		name := "metric " + m.name + " "
		for _, kv := range [][2]string{{"type", m.kind}, {"display name", m.display}, {"data type", m.dtype}, {"unit", m.unit}, {"parent", m.parent}, {"expression", m.expression}} {
			if err := p.attribute(name+kv[0], kv[1]); err != nil {
				return err
			}
		}
	}
	if p.host != "" {
		p.run.Machine = machineID
		return p.out.Put(&datasets.Machine{ID: machineID, Host: p.host})
	}
	return nil
}

func kindOf(r *region) string {
	switch paradigm := strings.ToLower(r.paradigm); {
	case strings.Contains(r.role, "loop"):
		return datasets.KindLoop
	case (paradigm == "cuda" || paradigm == "opencl" || paradigm == "hip" || paradigm == "accelerator") && (r.role == "kernel" || strings.Contains(strings.ToLower(r.module), "kernel")):
		return datasets.KindKernel
	case r.role == "artificial", r.role == "region", r.role == "parallel", paradigm == "user", paradigm == "openmp":
		return datasets.KindRange
	}
	return datasets.KindFunction
}

func number(s string) datasets.Null[int64] {
	n, err := strconv.ParseInt(s, 10, 64)
	return datasets.Null[int64]{V: n, Valid: err == nil}
}

// tree emits regions and launches.
func (p *profile) tree() error {
	for _, n := range p.nodes {
		r := p.regions[n.region]
		if r == nil {
			e := p.in.Syntax(n.line, 1, "anchor.xml within the archive: a node of the call tree calls a region that is not there")
			e.Found, e.Hint = collectors.Quote(n.region), getAgain
			return e
		}
		g := datasets.Region{ID: int64(n.index + 1), Run: runID, Kind: kindOf(r), Raw: r.name, Short: r.name, Module: r.module, Order: datasets.Some(int64(n.index))}
		if g.Kind == datasets.KindFunction || g.Kind == datasets.KindKernel {
			g.Short = collectors.ShortName(r.name)
		}
		if r.mangled != r.name {
			g.Mangled = r.mangled
		}
		if n.parent != nil {
			g.Parent = int64(n.parent.index + 1)
		}
		if err := p.out.Put(&g); err != nil {
			return err
		}
		facts := append([][2]string{{"paradigm", r.paradigm}, {"role", r.role}, {"description", r.descr}}, n.attrs...)
		if r.begin != "-1" {
			facts = append(facts, [2]string{"line", r.begin})
		}
		if r.end != "-1" {
			facts = append(facts, [2]string{"end line", r.end})
		}
		for _, kv := range facts {
			if kv[0] == "" || kv[1] == "" {
				continue
			}
			if err := p.out.Put(&datasets.Attribute{Run: runID, Region: g.ID, Name: kv[0], Value: kv[1]}); err != nil {
				return err
			}
		}
		for i, l := range p.places {
			id := p.launch(n, i)
			err := p.out.Put(&datasets.Launch{ID: id, Run: runID, Region: g.ID, Rank: number(l.groupRank), Thread: number(l.rank), ToolID: l.id, Sequence: datasets.Some(id - 1)})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// launch is the id of the launch of a node at a location.
func (p *profile) launch(n *node, place int) int64 {
	return int64(n.index)*int64(len(p.places)) + int64(place) + 1
}

// metric emits the values of a metric and returns how many rows it has.
func (p *profile) metric(m *metric) (int, error) {
	name := "metric " + m.name + " data"
	r, _, ok := p.open(m.id + ".index")
	if !ok {
		if m.expression != "" || strings.Contains(m.kind, "DERIVED") {
			return 0, p.attribute(name, "none: it is derived from others")
		}
		return 0, p.attribute(name, "none: the profile has no values of it")
	}
	fields := fieldsOf(m.dtype)
	if fields == nil || m.name == "" {
		p.out.Warn(0, 0, "the values of metric %s are of the type %s, which is not read", collectors.Quote(m.name), collectors.Quote(m.dtype))
		return 0, p.attribute(name, "not read")
	}
	nodes := p.deep()
	inclusive := m.kind == "INCLUSIVE" || m.kind == "PREDERIVED_INCLUSIVE"
	if inclusive {
		nodes = p.wide()
	} else if m.kind != "EXCLUSIVE" && m.kind != "PREDERIVED_EXCLUSIVE" {
		p.out.Warn(0, 0, "metric %s is of the kind %s: nothing tells the order of its values, which are not read", collectors.Quote(m.name), collectors.Quote(m.kind))
		return 0, p.attribute(name, "not read")
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return 0, fmt.Errorf("reading %s: %w", p.in.Name, err)
	}
	x, err := readIndex(p.in, m.id+".index", b, len(nodes))
	if err != nil {
		return 0, err
	}
	r, file, ok := p.open(m.id + ".data")
	if !ok {
		return 0, broken(p.in, getAgain, "the archive has %s.index and no %s.data", m.id, m.id)
	}
	width := 0
	for _, f := range fields {
		width += f.size
	}
	has := make([]bool, len(nodes))
	e := emitter{profile: p, unit: collectors.ParseUnit(unitText(m.unit)), metric: m, fields: fields, width: width, index: x}
	err = rows(p.in, m.id+".data", r, file.size, x, width*len(p.places), func(n int, row []byte) error {
		if p.ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", p.in.Name, p.ctx.Err())
		}
		has[n] = true
		return e.row(nodes[n], row)
	})
	if err != nil {
		return 0, err
	}
	if m.name == "time" && m.dtype == "DOUBLE" {
		p.run.TimeMetric, p.run.TimeInclusive = m.name, inclusive
	}
	// What has no row is zero; minima and maxima over nothing have no value.
	if d := strings.ToUpper(m.dtype); d == "MINDOUBLE" || d == "MAXDOUBLE" {
		return len(x.rows), nil
	}
	zero := make([]byte, width*len(p.places))
	for i, n := range nodes {
		if !has[i] {
			if err := e.row(n, zero); err != nil {
				return 0, err
			}
		}
	}
	return len(x.rows), nil
}

// unitText is a unit as rooflab knows it.
func unitText(s string) string {
	if s == "#" {
		return ""
	}
	return s
}

type emitter struct {
	*profile
	metric *metric
	unit   collectors.Unit
	fields []field
	width  int
	index  *index
}

// row emits the values of one node at all locations.
func (e *emitter) row(n *node, row []byte) error {
	for i, place := range e.order {
		v := row[i*e.width:]
		for _, f := range e.fields {
			x, text := f.read(e.index.order, v[:f.size])
			v = v[f.size:]
			c := datasets.Counter{Run: runID, Region: int64(n.index + 1), Launch: e.launch(n, place), Metric: e.metric.name, Instance: f.instance,
				Unit: e.unit.Base, RawValue: text, RawUnit: e.metric.unit, Status: datasets.StatusNA}
			// The minimum over no visit is the largest number, the maximum the lowest.
			if !math.IsNaN(x) && !math.IsInf(x, 0) && math.Abs(x) != math.MaxFloat64 {
				if y, err := e.unit.Scale(text, collectors.Dot); err == nil {
					c.Value, c.Status = datasets.Some(y), datasets.StatusOK
				}
			}
			if err := e.out.Put(&c); err != nil {
				return err
			}
		}
	}
	return nil
}
