package hpctoolkit

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// xmlReader reads experiment.xml.
type xmlReader struct {
	ctx     context.Context
	in      *collectors.Input
	out     *collectors.Output
	run     datasets.Run
	metrics map[string]*xmlMetric // by id
	dbs     map[int]*xmlMetric    // by column of the metric-db files
	times   []*xmlMetric
	tables  map[string]map[string]string // element to id to name
	open    []xmlFrame
	ids     map[int64]int64 // node's number to region
	regions int64
	// launches are of the metric-db files
	launches, values int64
}

type xmlMetric struct {
	metric
	inclusive bool
}

type xmlFrame struct {
	name         string
	region       int64
	file, module string
}

const maxElements = 1 << 16

func parseXML(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
	r := &xmlReader{ctx: ctx, in: in, out: out, metrics: map[string]*xmlMetric{}, dbs: map[int]*xmlMetric{}, tables: map[string]map[string]string{}, ids: map[int64]int64{},
		run: datasets.Run{ID: runID, Tool: "hpctoolkit", Format: "hpctoolkit-xml", Status: datasets.RunOK}}
	d := xml.NewDecoder(bufio.NewReaderSize(in, 256<<10))
	d.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	for n := 0; ; n++ {
		if n%4096 == 0 && ctx.Err() != nil {
			return fmt.Errorf("reading %s: %w", in.Name, ctx.Err())
		}
		line, column := d.InputPos()
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			var own *collectors.SyntaxError
			if errors.As(err, &own) {
				return err
			}
			line, column = d.InputPos()
			e := in.Syntax(line, column, "the XML is broken")
			var broken *xml.SyntaxError
			switch {
			case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &broken) && broken.Msg == "unexpected EOF":
				e.Msg = "the file ends within its XML"
			case errors.As(err, &broken):
				e.Msg += ": " + broken.Msg
			}
			e.Hint = getAgain
			return e
		}
		switch t := tok.(type) {
		case xml.StartElement:
			if len(r.open) > maxElements {
				return in.Syntax(line, column, fmt.Sprintf("elements are nested deeper than %d", maxElements))
			}
			if err := r.start(t, line, column); err != nil {
				return err
			}
		case xml.EndElement:
			r.open = r.open[:len(r.open)-1]
		}
	}
	return r.finish(d)
}

func get(t xml.StartElement, name string) string {
	for _, a := range t.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

func (r *xmlReader) start(t xml.StartElement, line, column int) error {
	up := xmlFrame{}
	if n := len(r.open); n > 0 {
		up = r.open[n-1]
	}
	f := up
	f.name = t.Name.Local
	var err error
	switch f.name {
	case "HPCToolkitExperiment":
		r.run.FormatVersion = get(t, "version")
		if v := r.run.FormatVersion; !strings.HasPrefix(v, "2") && v != "" {
			return &collectors.UnsupportedError{File: r.in.Name, What: "an HPCToolkit experiment of version " + v, Hint: "rooflab reads version 2, and databases with a meta.db: make the database again with hpcprof of 2022.10 or later"}
		}
	case "Header":
		r.run.Command = get(t, "n")
	case "NV":
		if up.name == "Info" && get(t, "n") != "" && len(r.open) > 1 && r.open[len(r.open)-2].name != "Metric" && r.open[len(r.open)-2].name != "MetricFormula" {
			err = r.out.Put(&datasets.Attribute{Run: runID, Name: get(t, "n"), Value: get(t, "v")})
		}
	case "Metric", "MetricDB":
		name := get(t, "n")
		m := &xmlMetric{metric: metric{name: name, unit: unitOf(name), si: collectors.ParseUnit(unitOf(name))}, inclusive: get(t, "t") == "inclusive"}
		if f.name == "MetricDB" {
			if i, err := strconv.Atoi(get(t, "db-id")); err == nil {
				r.dbs[i] = m
			}
		} else {
			r.metrics[get(t, "i")] = m
		}
		r.times = append(r.times, m)
	case "LoadModule", "File", "Procedure":
		if r.tables[f.name] == nil {
			r.tables[f.name] = map[string]string{}
		}
		r.tables[f.name][get(t, "i")] = get(t, "n")
	case "SecFlatProfileData":
		r.out.Warn(line, column, "a flat profile: its load modules, files and procedures are regions")
	case "M":
		err = r.value(t, up, line, column)
	case "PF", "P", "Pr", "L", "C", "S", "LM", "F":
		err = r.node(t, &f, up, line, column)
	}
	r.open = append(r.open, f)
	return err
}

// node emits a region.
func (r *xmlReader) node(t xml.StartElement, f *xmlFrame, up xmlFrame, line, column int) error {
	r.regions++
	f.region = r.regions
	name, file, module := get(t, "n"), get(t, "f"), get(t, "lm")
	lookup := func(table, id string) string {
		if v, ok := r.tables[table][id]; ok {
			return v
		}
		return id
	}
	if file != "" {
		f.file = lookup("File", file)
	}
	if module != "" {
		f.module = lookup("LoadModule", module)
	}
	at := get(t, "l")
	place := f.file + ":" + at
	g := datasets.Region{ID: f.region, Run: runID, Parent: up.region, Kind: datasets.KindRange, Module: f.module, Order: datasets.Some(f.region - 1)}
	switch f.name {
	case "PF", "P", "Pr":
		g.Kind, g.Raw = datasets.KindFunction, lookup("Procedure", name)
		if g.Short = collectors.ShortName(g.Raw); strings.HasPrefix(g.Raw, "<") {
			g.Short = g.Raw
		}
	case "L":
		g.Kind, g.Raw = datasets.KindLoop, "loop at "+place
	case "C", "S":
		g.Raw = place
	case "LM":
		f.module = lookup("LoadModule", name)
		g.Raw, g.Module = f.module, f.module
	case "F":
		f.file = lookup("File", name)
		g.Raw = f.file
	}
	if g.Short == "" {
		g.Short = g.Raw
	}
	if id := get(t, "i"); id != "" {
		n, err := strconv.ParseInt(id, 10, 64)
		if _, twice := r.ids[n]; err != nil || twice {
			e := r.in.Syntax(line, column, "a node's number is none, or that of another node")
			e.Found, e.Hint = collectors.Quote(id), getAgain
			return e
		}
		r.ids[n] = f.region
	}
	if err := r.out.Put(&g); err != nil {
		return err
	}
	for _, kv := range [][2]string{{"element", f.name}, {"file", f.file}, {"line", at}} {
		if kv[1] == "" {
			continue
		}
		if err := r.out.Put(&datasets.Attribute{Run: runID, Region: f.region, Name: kv[0], Value: kv[1]}); err != nil {
			return err
		}
	}
	return nil
}

// value emits a summary value of a node.
func (r *xmlReader) value(t xml.StartElement, up xmlFrame, line, column int) error {
	m := r.metrics[get(t, "n")]
	if m == nil {
		e := r.in.Syntax(line, column, "a value of a metric that the file does not describe")
		e.Found, e.Hint = collectors.Quote(get(t, "n")), getAgain
		return e
	}
	text := get(t, "v")
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		e := r.in.Syntax(line, column, "the value of "+m.name+" is no number")
		e.Found, e.Hint = collectors.Quote(text), getAgain
		return e
	}
	if up.region == 0 { // the sum over the roots
		return nil
	}
	return r.counter(up.region, 0, m, v, text)
}

func (r *xmlReader) counter(region, launch int64, m *xmlMetric, v float64, text string) error {
	r.values++
	c := datasets.Counter{Run: runID, Region: region, Launch: launch, Metric: m.name, Unit: m.si.Base, RawValue: text, RawUnit: m.unit, Status: datasets.StatusNA}
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		x, err := m.si.Scale(text, collectors.Dot)
		if err != nil {
			return fmt.Errorf("reading %s: %w", r.in.Name, err)
		}
		c.Value, c.Status = datasets.Some(x), datasets.StatusOK
	}
	return r.out.Put(&c)
}

func (r *xmlReader) finish(d *xml.Decoder) error {
	if r.run.FormatVersion == "" && r.regions == 0 {
		line, column := d.InputPos()
		e := r.in.Syntax(line, column, "the file has no element HPCToolkitExperiment")
		e.Hint = getAgain
		return e
	}
	parts := r.in.Parts()
	for _, p := range parts {
		if err := r.database(p); err != nil {
			return err
		}
	}
	if len(parts) == 0 && len(r.dbs) > 0 {
		r.out.Warn(0, 0, "no *.metric-db is beside it: there are summary values and none of single threads")
	}
	for _, wantInclusive := range []bool{true, false} {
		for _, m := range r.times {
			if r.run.TimeMetric == "" && m.si.Base == "s" && m.inclusive == wantInclusive {
				r.run.TimeMetric, r.run.TimeInclusive = m.name, m.inclusive
			}
		}
	}
	if r.values == 0 {
		r.run.Status, r.run.Error = datasets.RunEmpty, "the experiment holds no values"
		r.out.Warn(0, 0, "%s", r.run.Error)
	}
	return r.out.Put(&r.run)
}

var (
	threadName = regexp.MustCompile(`-(\d+)-(\d+)-[0-9a-zA-Z]+-(\d+)-\d+\.metric-db$`)
	rankName   = regexp.MustCompile(`rank(\d+)`)
)

// database reads the values of one thread. The layout, big-endian:
//
//	"HPCPROF-metricdb__", "00.10", "b", uint32 nodes, uint32 metrics,
//	then for node 1, 2 ... a float64 per metric
func (r *xmlReader) database(name string) error {
	f, err := r.in.Part(name)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	const magic = "HPCPROF-metricdb__"
	b := bufio.NewReaderSize(f, 256<<10)
	var head [32]byte
	if _, err := io.ReadFull(b, head[:]); err != nil || string(head[:len(magic)]) != magic {
		return broken(r.in, name, "it does not begin with %s", magic)
	}
	if string(head[18:23]) != "00.10" || head[23] != 'b' {
		return &collectors.UnsupportedError{File: r.in.Name, What: fmt.Sprintf("an experiment whose %s is of version %s", name, collectors.Quote(string(head[18:24]))), Hint: "rooflab reads 00.10, big-endian"}
	}
	nodes, metrics := int64(be.Uint32(head[24:])), int64(be.Uint32(head[28:]))
	if want := 32 + nodes*metrics*8; st.Size() != want {
		return broken(r.in, name, "it has %d bytes; %d metrics of %d nodes are %d", st.Size(), metrics, nodes, want)
	}
	l := datasets.Launch{Run: runID, ToolID: name}
	if m := threadName.FindStringSubmatch(name); m != nil {
		l.Rank, l.Thread, l.PID = number(m[1]), number(m[2]), number(m[3])
	} else if m := rankName.FindStringSubmatch(name); m != nil {
		l.Rank = number(m[1])
	}
	if metrics > st.Size() {
		return nil // no node, hence no value
	}
	row := make([]byte, metrics*8)
	for node := int64(1); node <= nodes; node++ {
		if _, err := io.ReadFull(b, row); err != nil {
			return fmt.Errorf("reading %s: %s: %w", r.in.Name, name, err)
		}
		has := false
		for i := range metrics {
			has = has || be.Uint64(row[i*8:]) != 0
		}
		region, ok := r.ids[node]
		if !has || !ok { // the node 1 is above the roots
			continue
		}
		r.launches++
		l.ID, l.Region, l.Sequence = r.launches, region, datasets.Some(r.launches-1)
		if err := r.out.Put(&l); err != nil {
			return err
		}
		for i := range metrics {
			m := r.dbs[int(i)]
			if m == nil {
				return broken(r.in, name, "it has %d metrics per node, and the experiment describes no metric %d", metrics, i)
			}
			v := math.Float64frombits(be.Uint64(row[i*8:]))
			if err := r.counter(region, l.ID, m, v, strconv.FormatFloat(v, 'g', -1, 64)); err != nil {
				return err
			}
		}
	}
	return nil
}

func number(s string) datasets.Null[int64] {
	n, err := strconv.ParseInt(s, 10, 64)
	return datasets.Null[int64]{V: n, Valid: err == nil}
}
