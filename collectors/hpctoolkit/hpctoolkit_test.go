package hpctoolkit_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/hpctoolkit"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func fact(file, what string, of func(*parsertest.Records) any, want any, how string) parsertest.Fact {
	return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

func TestSamples(t *testing.T) {
	const how = "python3 with struct: sums over cct.db, which the parser does not read"
	const sum = "python3 with struct: the first profile of profile.db, without the context 0"
	const xml = "python3 with xml.etree: sums of M below the nodes, in units of 1e-6"
	const db = "python3 with struct: sums over the metric-db but for its first row"
	const v4, old = "pingpong_v4_meta.db", "cpi_experiment.xml"
	parsertest.Facts(t, "../../../shared/samples/hpctoolkit", []parsertest.Fact{
		fact(v4, "contexts", func(r *parsertest.Records) any { return len(r.Regions) }, 117, "python3 with struct: a walk through meta.db; Hatchet has 117 rows too"),
		fact(v4, "contexts and threads with a value", func(r *parsertest.Records) any { return len(r.Launches) }, 132+2, how+", of the contexts in meta.db; two have samples in trace.db alone"),
		fact(v4, "execution", total("CPUTIME (sec):execution"), 5.236836999999998, how),
		fact(v4, "function", total("CPUTIME (sec):function"), 0.6293270000000001, how),
		fact(v4, "warning", func(r *parsertest.Records) any {
			return strings.Contains(fmt.Sprint(r.Warnings), "60 contexts have values and are not in meta.db")
		}, true, "python3 with struct: contexts of cct.db with values that a walk through meta.db does not meet"),
		fact(v4, "sum of execution", total("CPUTIME (sec):execution:sum"), 5.236836999999999, sum),
		fact(v4, "sum of lex_aware", total("CPUTIME (sec):lex_aware:sum"), 0.617683, sum),
		fact(v4, "main of both ranks", func(r *parsertest.Records) any { return r.Value("main", "CPUTIME (sec):execution:sum") }, 0.26207, "Hatchet's HPCToolkitReaderLatest: time (inc) of main"),
		fact(v4, "trace samples", total("trace samples"), 22+22, "23 a line, of which one of each is of no context"),
		fact(v4, "started", func(r *parsertest.Records) any { return r.Runs[0].Started.V.UnixNano() }, int64(1679027616448149000), "trace.db: minTimestamp"),
		fact(v4, "program", func(r *parsertest.Records) any { return r.Runs[0].Command }, "ping-pong", "strings meta.db"),
		fact(old, "nodes", func(r *parsertest.Records) any { return len(r.Regions) }, 59, xml),
		fact(old, "inclusive", total("CPUTIME (usec):Sum (I)"), 89.554127, xml),
		fact(old, "exclusive", total("CPUTIME (usec):Sum (E)"), 7.99649, xml),
		fact(old, "inclusive of rank 0", total("CPUTIME (usec) (I)"), 22.378672, db),
		fact(old, "exclusive of rank 0", total("CPUTIME (usec) (E)"), 1.998476, db),
		fact(old, "nodes of rank 0 with values", func(r *parsertest.Records) any { return len(r.Launches) }, 38, db),
		fact(old, "main of rank 0", func(r *parsertest.Records) any { return r.Value("main", "CPUTIME (usec) (I)") }, 0.999238, "Hatchet's HPCToolkitReader: time (inc) of main, 999238 us"),
	}, map[string]string{
		"pingpong_v4_profile.db": "read together with meta.db", "pingpong_v4_cct.db": "read together with meta.db",
		"pingpong_v4_trace.db": "read together with meta.db", "cpi_rank0.metric-db": "read together with experiment.xml",
	})
}

var le = binary.LittleEndian

// blob builds a binary file; at and text return offsets.
type blob struct{ b []byte }

func (w *blob) align(n int) int {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
	return len(w.b)
}

func (w *blob) put(v ...any) int {
	at := len(w.b)
	for _, x := range v {
		switch x := x.(type) {
		case string:
			w.b = append(w.b, x...)
		case uint8:
			w.b = append(w.b, x)
		case uint16:
			w.b = le.AppendUint16(w.b, x)
		case uint32:
			w.b = le.AppendUint32(w.b, x)
		case int:
			w.b = le.AppendUint64(w.b, uint64(x))
		case float64:
			w.b = le.AppendUint64(w.b, math.Float64bits(x))
		default:
			panic("put")
		}
	}
	return at
}

func (w *blob) set(at, v int) { le.PutUint64(w.b[at:], uint64(v)) }

// database writes a tiny one: main calls an unnamed function in a loop, and a
// GPU kernel. All structures are larger than rooflab needs, as later versions
// may make them.
func database() map[string]string {
	m := &blob{}
	m.put("HPCTOOLKITmeta", uint8(4), uint8(1))
	m.put(strings.Repeat("\x00", 16*8))
	text := func(s string) int { return m.put(s + "\x00") }
	title, main, gpu, kern := text("app"), text("main [app]"), text("<gpu kernel>"), text("void k<int>(int*)")
	mod, file, entry := text("/bin/app"), text("src/a.c"), text("main thread")
	rank, thread, node := text("RANK"), text("THREAD"), text("NODE")
	name, point, exec, id, one := text("REALTIME (ms)"), text("point"), text("execution"), text("$$"), text("1")
	m.align(8)
	m.set(0x18, m.put(title, 0))
	names := m.put(node, rank, thread)
	m.set(0x28, m.put(names, uint8(3)))
	m.align(8)
	scope0, scope1 := m.put(point, uint8(1), "1234567"), m.put(exec, uint8(2), "1234567")
	psi := m.put(scope0, uint16(7), "123456", scope1, uint16(9), "123456")
	ss := m.put(scope1, id, uint8(0), uint8(0), uint16(3), uint32(0), scope1, one, uint8(2), uint8(0), uint16(4), uint32(0))
	md := m.put(name, psi, ss, uint16(2), uint16(2), "1234")
	m.set(0x38, m.put(md, uint32(1), uint8(32), uint8(16), uint8(24), uint8(0), 0, uint16(0), uint8(0)))
	m.align(8)
	module, source := m.put(uint32(0), uint32(0), mod), m.put(uint32(0), uint32(0), file)
	fMain, fGPU, fKern := m.put(main, module, 0x40, source, uint32(3), uint32(0)), m.put(gpu, 0, 0, 0, 0), m.put(kern, 0, 0, 0, 0)
	ctx := func(children, size, id, flags, relation, kind int, flex ...any) int {
		at := m.put(size, children, uint32(id), uint8(flags), uint8(relation), uint8(kind), uint8(len(flex)), uint16(0), "123456")
		m.put(flex...)
		return at
	}
	instr := ctx(0, 0, 6, 4, 0, 3, module, 0x99)
	unknown := ctx(instr, len(m.b)-instr, 5, 0, 1, 0)
	kernel := ctx(0, 0, 8, 1, 1, 0, fKern)
	place := ctx(kernel, len(m.b)-kernel, 7, 1, 1, 0, fGPU)
	at := len(m.b)
	ctx(unknown, kernel-unknown, 3, 2, 0, 1, source, 12) // a line of 12 and a free half word
	ctx(place, at-place, 4, 0, 0, 2)
	mainAt := ctx(at, len(m.b)-at, 2, 1, 1, 0, fMain)
	entries := m.put(40, mainAt, uint32(1), uint16(1), uint16(0), entry)
	m.set(0x48, m.put(entries, uint16(1), uint8(32)))
	m.put("_meta.db")

	p := &blob{}
	p.put("HPCTOOLKITprof", uint8(4), uint8(0))
	p.put(strings.Repeat("\x00", 32))
	tuple := p.put(uint16(3), "123456", uint8(0), "x", uint16(1), uint32(0), 0xabc, uint8(1), "x", uint16(0), uint32(2), 2, uint8(2), "x", uint16(0), uint32(1), 1)
	sumV := p.put(uint16(3), 9.0, uint16(3), 8.0, uint16(4), 2.0)
	p.align(4)
	sumC := p.put(uint32(0), 0, uint32(2), 1)
	oneV := p.put(uint16(9), 8.0, uint16(7), 5.0, uint16(9), 5.0)
	p.align(4)
	oneC := p.put(uint32(2), 0, uint32(8), 1)
	p.align(8)
	list := p.put(3, sumV, uint32(2), uint32(0), sumC, 0, uint32(1), uint32(0), 3, oneV, uint32(2), uint32(0), oneC, tuple, uint32(0), uint32(0))
	p.set(0x18, p.put(list, uint32(2), uint8(48)))
	p.align(8)
	p.put("_prof.db")

	t := &blob{}
	t.put("HPCTOOLKITtrce", uint8(4), uint8(0), 0, 0)
	from := t.put(1700000000000000000, uint32(2), 1700000000000001000, uint32(3), 1700000000000002000, uint32(0), 1700000000000003000, uint32(2))
	to := len(t.b)
	t.align(8)
	tl := t.put(uint32(1), uint32(0), from, to)
	t.set(0x18, t.put(tl, uint32(1), uint8(24), "123", 1700000000000000000, 1700000000000003000))
	t.put("trace.db")
	return map[string]string{"meta.db": string(m.b), "profile.db": string(p.b), "trace.db": string(t.b)}
}

func load(t testing.TB, files map[string]string, main string) (*parsertest.Records, error) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r := &parsertest.Records{}
	_, warnings, err := collectors.ParseFile(context.Background(), filepath.Join(dir, main), collectors.Options{}, r)
	r.Warnings = warnings
	return r, err
}

func TestDatabase(t *testing.T) {
	r, err := load(t, database(), "meta.db")
	if err != nil {
		t.Fatal(err)
	}
	parsertest.CheckReferences(t, r)
	var tree []string
	for _, g := range r.Regions {
		tree = append(tree, g.Kind+" "+r.Path(g.ID))
	}
	want := []string{"range main thread", "function main thread/main", "loop main thread/main/loop at src/a.c:12",
		"function main thread/main/loop at src/a.c:12/<unknown function> :0", "range main thread/main/loop at src/a.c:12/<unknown function> :0/app@0x99",
		"range main thread/main/:0", "function main thread/main/:0/<gpu kernel>", "kernel main thread/main/:0/<gpu kernel>/k"}
	if strings.Join(tree, "\n") != strings.Join(want, "\n") {
		t.Errorf("the tree is\n%s\nwant\n%s", strings.Join(tree, "\n"), strings.Join(want, "\n"))
	}
	var got []string
	for _, c := range r.Counters {
		got = append(got, fmt.Sprint(r.Region(c.Region).Short, " ", c.Launch, " ", c.Metric, "=", c.Value.V, c.Unit))
	}
	// The value of the context 0 is left out; 8 ms; the formula 1 has no unit.
	if s := strings.Join(got, "; "); s != "main 0 REALTIME (ms):execution:sum=0.008s; main 0 REALTIME (ms):execution:max of 1=2; main 1 REALTIME (ms):execution=0.008s; main 1 trace samples=2; "+
		"k 2 REALTIME (ms):point=0.005s; k 2 REALTIME (ms):execution=0.005s; loop at src/a.c:12 3 trace samples=1" {
		t.Errorf("counters: %s", s)
	}
	if len(r.Warnings) != 0 {
		t.Error(r.Warnings)
	}
	if l := r.Launches[0]; l.Rank != datasets.Some[int64](2) || l.Thread != datasets.Some[int64](1) {
		t.Errorf("launch %+v", l)
	}
	if u := r.Runs[0]; u.TimeMetric != "REALTIME (ms):execution" || !u.TimeInclusive || u.Command != "app" || u.FormatVersion != "4.1" || u.Started.V.UnixNano() != 1700000000000000000 {
		t.Errorf("run %+v", u)
	}
	for _, a := range r.Attributes {
		if a.Name == "profile 1" && a.Value != "NODE 0 (0xabc) RANK 2 THREAD 1" {
			t.Errorf("%+v", a)
		}
	}
}

func TestBrokenDatabases(t *testing.T) {
	for _, c := range []struct {
		what, part string
		change     func(map[string]string)
	}{
		{"no profile", "profile.db that belongs to it is not beside it", func(f map[string]string) { delete(f, "profile.db") }},
		{"another version", "version 5.1", func(f map[string]string) { f["meta.db"] = strings.Replace(f["meta.db"], "meta\x04", "meta\x05", 1) }},
		{"cut profile", "profile.db: it has", func(f map[string]string) { f["profile.db"] = f["profile.db"][:len(f["profile.db"])-9] }},
		{"a metric that is not described", "metric 77", func(f map[string]string) {
			b := []byte(f["profile.db"])
			b[strings.Index(f["profile.db"], string(le.AppendUint64([]byte{7, 0}, math.Float64bits(5))))] = 77
			f["profile.db"] = string(b)
		}},
		{"another file as profile", "begins with", func(f map[string]string) { f["profile.db"] = f["trace.db"] }},
	} {
		files := database()
		c.change(files)
		_, err := load(t, files, "meta.db")
		if err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", c.what, err, c.part)
		}
	}
	for name, content := range database() {
		for i := 0; i < len(content); i += 3 {
			files := database()
			files[name] = content[:i]
			if _, err := load(t, files, "meta.db"); err == nil && !(name == "trace.db" && i == 0) {
				t.Fatalf("%s cut at %d: no error", name, i)
			}
			if i%7 == 0 { // damage of other kinds must not end in a panic
				b := []byte(content)
				b[i] ^= 0xff
				files[name] = string(b)
				if _, err := load(t, files, "meta.db"); err != nil && strings.Contains(err.Error(), "fault of rooflab") {
					t.Fatalf("%s changed at %d: %v", name, i, err)
				}
			}
		}
	}
}

const experiment = `<?xml version="1.0"?>
<HPCToolkitExperiment version="2.2"><Header n="app"><Info><NV n="target" v="x"/></Info></Header>
<SecCallPathProfile i="0" n="app"><SecHeader>
<MetricTable><Metric i="4" n="REALTIME (usec):Sum (I)" t="inclusive"><Info><NV n="units" v="events"/></Info></Metric></MetricTable>
<MetricDBTable><MetricDB i="0" n="PAPI_TOT_CYC (E)" t="exclusive" db-id="0"/></MetricDBTable>
<LoadModuleTable><LoadModule i="2" n="/bin/app"/></LoadModuleTable><FileTable><File i="3" n="a.c"/></FileTable>
<ProcedureTable><Procedure i="7" n="main"/><Procedure i="8" n="ns::f(int)"/></ProcedureTable></SecHeader>
<SecCallPathProfileData><M n="4" v="9"/>
<PF i="2" s="1" l="1" lm="2" f="3" n="7"><M n="4" v="2.5e+06"/>
<L i="3" s="2" l="5" f="3"><C i="4" s="3" l="6"><Pr i="5" s="4" l="9" lm="2" f="3" n="8"><S i="6" s="5" l="10"/></Pr></C></L></PF>
</SecCallPathProfileData></SecCallPathProfile></HPCToolkitExperiment>
`

func metricDB(values ...float64) string {
	b := binary.BigEndian.AppendUint32([]byte("HPCPROF-metricdb__00.10b"), uint32(len(values)))
	b = binary.BigEndian.AppendUint32(b, 1)
	for _, v := range values {
		b = binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return string(b)
}

func TestExperiment(t *testing.T) {
	files := map[string]string{"experiment.xml": experiment, "app-000003-001-a8c0a1b2-4242-0.metric-db": metricDB(0, 0, 0, 0, 0, 17), "app-000004-000-a8c0a1b2-4243-0.metric-db": metricDB(0, 0, 1, 0, 0, 0)}
	r, err := load(t, files, "experiment.xml")
	if err != nil {
		t.Fatal(err)
	}
	parsertest.CheckReferences(t, r)
	var got []string
	for _, c := range r.Counters {
		l := datasets.Launch{}
		if c.Launch > 0 {
			l = r.Launches[c.Launch-1]
		}
		got = append(got, fmt.Sprint(r.Path(c.Region), " ", l.Rank.Or(-1), ",", l.Thread.Or(-1), ",", l.PID.Or(-1), " ", c.Metric, "=", c.Value.V, c.Unit))
	}
	if s := strings.Join(got, "; "); s != "main -1,-1,-1 REALTIME (usec):Sum (I)=2.5s; main/loop at a.c:5/a.c:6/f/a.c:10 3,1,4242 PAPI_TOT_CYC (E)=17; main/loop at a.c:5 4,0,4243 PAPI_TOT_CYC (E)=1" {
		t.Error(s)
	}
	if u := r.Runs[0]; u.TimeMetric != "REALTIME (usec):Sum (I)" || u.FormatVersion != "2.2" || u.Command != "app" {
		t.Errorf("%+v", u)
	}
	files["app-000003-001-a8c0a1b2-4242-0.metric-db"] = metricDB(0, 1)[:40]
	if _, err := load(t, files, "experiment.xml"); err == nil || !strings.Contains(err.Error(), "it has 40 bytes") {
		t.Errorf("a cut metric-db: %v", err)
	}
	parsertest.Truncations(t, "hpctoolkit-xml", "experiment.xml", experiment, 300)
	_, err = parsertest.Parse("hpctoolkit-xml", "e.xml", strings.Replace(experiment, `<M n="4" v="2.5e+06"/>`, `<M n="9" v="1"/>`, 1))
	var e *collectors.SyntaxError
	if !errors.As(err, &e) || e.Line != 9 || e.Column != 42 {
		t.Errorf("an unknown metric: %v", err)
	}
}

func FuzzMeta(f *testing.F)       { parsertest.Fuzz(f, "hpctoolkit", database()["meta.db"]) }
func FuzzExperiment(f *testing.F) { parsertest.Fuzz(f, "hpctoolkit-xml", experiment) }
