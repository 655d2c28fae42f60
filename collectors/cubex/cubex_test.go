package cubex_test

import (
	"archive/tar"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/cubex"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func fact(file, what string, of func(*parsertest.Records) any, want any, how string) parsertest.Fact {
	return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

// at is the value of a metric of the first node of a name at a location.
func at(name, location, metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, l := range r.Launches {
			if r.Region(l.Region).Raw != name || l.ToolID != location {
				continue
			}
			for _, c := range r.Counters {
				if c.Launch == l.ID && c.Metric == metric {
					return c.Value
				}
			}
		}
		return "nothing"
	}
}

func TestSamples(t *testing.T) {
	const how = "pycubexr 2.1.1: sum of get_metric_values(metric).values, without those of minimum and maximum over no visit"
	const one = "pycubexr 2.1.1: cnode_values of the node, at the location"
	const k, s, b, c = "kripke.cubex", "scorep_cpi.cubex", "cube4.8_with_checksum_bug.cubex", "call_tree_test.cubex"
	launches := func(r *parsertest.Records) any { return len(r.Launches) }
	parsertest.Facts(t, "../../../shared/samples/cubex", []parsertest.Fact{
		fact(k, "launches", launches, 112, how),
		fact(k, "visits", total("visits"), 401106, how),
		fact(k, "time", total("time"), 453.80029458625, how),
		fact(k, "min_time", total("min_time"), 297.35931553937496, how),
		fact(k, "max_time", total("max_time"), 297.46458752125, how),
		fact(k, "instructions", total("PAPI_TOT_INS"), 133795078694, how),
		fact(k, "floating-point operations", total("PAPI_FP_OPS"), 41271852626, how),
		fact(k, "lines fetched", total("PEVT_L2_FETCH_LINE"), 2453463380, how),
		fact(k, "bytes sent", total("bytes_sent"), 1770240000, how),
		fact(k, "MPI_Isend of rank 7", at("MPI_Isend", "7", "time"), 0.33403476875, one),
		fact(k, "MPI_Waitall of rank 6", at("MPI_Waitall", "6", "time"), 0.061842595625, one),
		fact(k, "MPI_Comm_rank of rank 6", at("MPI_Comm_rank", "6", "time"), 4.9198125e-05, one),
		fact(s, "launches", launches, 44, how),
		fact(s, "visits", total("visits"), 1200973, how),
		fact(s, "time", total("time"), 77.34165129753502, how),
		fact(s, "hits", total("hits"), 812, how),
		fact(s, "bytes received", total("bytes_received"), 2400000, how),
		fact(s, "MPI_Init of rank 2", at("MPI_Init", "2", "time"), 0.5065175725199208, one),
		fact(s, "visits of iteration.cold.1 of rank 3", at("iteration.cold.1", "3", "visits"), 24, one),
		fact(b, "launches", launches, 1016, how),
		fact(b, "visits", total("visits"), 2565089, how),
		fact(b, "time", total("time"), 2359.333769104851, how),
		fact(b, "min_time", total("min_time"), 248.95385872193432, how),
		fact(b, "bytes sent", total("bytes_sent"), 303912264, how),
		fact(b, "warning", func(r *parsertest.Records) any { return strings.Contains(fmt.Sprint(r.Warnings), "wrong checksum") }, true, "tarfile refuses it: bad checksum"),
		fact(c, "launches", launches, 18, how),
		fact(c, "visits", total("visits"), 72, how),
		fact(c, "time", total("time"), 296.1994427136572, how),
		fact(c, "d3", at("d3", "0", "time"), 0.12183299942481474, one),
		fact(c, "a1", at("a1", "0", "time"), 10.00013940227799, one),
	}, nil)
}

const anchorXML = `<?xml version="1.0" encoding="UTF-8"?>
<cube version="4.4"><attr key="Creator" value="Score-P 9.0"/>
<metrics>
<metric id="0" type="EXCLUSIVE"><uniq_name>visits</uniq_name><dtype>UINT64</dtype><uom>occ</uom>
 <metric id="2" type="EXCLUSIVE"><uniq_name>low</uniq_name><dtype>MINDOUBLE</dtype><uom>sec</uom></metric></metric>
<metric id="1" type="INCLUSIVE"><uniq_name>time</uniq_name><dtype>DOUBLE</dtype><uom>msec</uom></metric>
<metric id="3" type="POSTDERIVED"><uniq_name>rate</uniq_name><dtype>DOUBLE</dtype><cubepl>metric::time()/metric::visits()</cubepl></metric>
<metric id="4" type="EXCLUSIVE"><uniq_name>bytes</uniq_name><dtype>UINT64</dtype></metric>
</metrics>
<program>
<region id="10" mod="a.c" begin="3" end="9"><name>main</name><paradigm>compiler</paradigm><role>function</role></region>
<region id="11" mod="" begin="-1" end="-1"><name>void ns::f&lt;int&gt;(int)</name><mangled_name>_ZN2ns1fIiEEvi</mangled_name><paradigm>compiler</paradigm><role>function</role></region>
<region id="12" mod="" begin="-1" end="-1"><name>!$omp for @a.c:5</name><paradigm>openmp</paradigm><role>loop</role></region>
<cnode id="0" calleeId="10">
 <cnode id="1" calleeId="11"><parameter partype="numeric" parkey="n" parvalue="7"/><cnode id="2" calleeId="12"/></cnode>
 <cnode id="3" calleeId="12"/>
</cnode>
</program>
<system><systemtreenode Id="0"><name>machine X</name><class>machine</class>
<systemtreenode Id="1"><name>node n17</name><class>node</class>
<locationgroup Id="0"><name>MPI Rank 0</name><rank>0</rank><type>process</type>
 <location Id="0"><name>Master</name><rank>0</rank><type>thread</type></location>
 <location Id="1"><name>T1</name><rank>1</rank><type>thread</type></location></locationgroup>
</systemtreenode></systemtreenode></system></cube>`

func pack[T uint64 | float64](order binary.AppendByteOrder, values ...T) []byte {
	var b []byte
	for _, v := range values {
		switch v := any(v).(type) {
		case uint64:
			b = order.AppendUint64(b, v)
		case float64:
			b = order.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

func indexFile(order binary.AppendByteOrder, nodes ...uint32) []byte {
	b := order.AppendUint32([]byte("CUBEX.INDEX"), 1)
	b = append(order.AppendUint16(b, 0), 1)
	b = order.AppendUint32(b, uint32(len(nodes)))
	for _, n := range nodes {
		b = order.AppendUint32(b, n)
	}
	return b
}

// zipped packs values in two pieces.
func zipped(order binary.AppendByteOrder, data []byte) []byte {
	b := order.AppendUint64([]byte("ZCUBEX.DATA"), 2)
	var all []byte
	for i, part := range [][]byte{data[:8], data[8:]} {
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		if _, err := w.Write(part); err != nil {
			panic(err) // a buffer takes everything
		}
		w.Close()
		b = order.AppendUint64(b, uint64(i*8))
		b = order.AppendUint64(b, uint64(len(all)))
		b = order.AppendUint64(b, uint64(z.Len()))
		all = append(all, z.Bytes()...)
	}
	return append(b, all...)
}

func archive(t testing.TB, files map[string][]byte) string {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"1.data", "1.index", "0.data", "0.index", "2.data", "2.index", "anchor.xml"} {
		data, ok := files[name]
		if !ok {
			continue
		}
		if err := w.WriteHeader(&tar.Header{Name: name, Size: int64(len(data)), Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func profile(t testing.TB, order binary.AppendByteOrder) map[string][]byte {
	return map[string][]byte{
		"anchor.xml": []byte(anchorXML),
		"0.index":    indexFile(order, 0, 2), // depth first: main, the loop in f
		"0.data":     append([]byte("CUBEX.DATA"), pack(order, uint64(1), 1, 5, 1<<63)...),
		"1.index":    indexFile(order, 0, 1, 2, 3), // main, f, the loop in main, the loop in f
		"1.data":     zipped(order, pack(order, 10.0, 11, 6, 7, 2, 3, 4, 5)),
		"2.index":    indexFile(order, 0),
		"2.data":     append([]byte("CUBEX.DATA"), pack(order, 0.5, math.MaxFloat64)...),
	}
}

func TestBothByteOrdersAndBothOrdersOfNodes(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		r := parsertest.MustParse(t, "cubex", "p.cubex", archive(t, profile(t, order)))
		got := map[string]string{}
		for _, c := range r.Counters {
			l := r.Launches[c.Launch-1]
			if c.Launch != l.ID {
				t.Fatal("launches are not in order")
			}
			got[fmt.Sprint(r.Path(c.Region), "#", l.Thread.V, " ", c.Metric)] = fmt.Sprint(c.RawValue, " ", c.Value.Or(-1), c.Unit, " ", c.Status)
		}
		for what, want := range map[string]string{
			"main#0 time":                      "10 0.01s ok",
			"main#1 time":                      "11 0.011s ok",
			"main/f#1 time":                    "7 0.007s ok",
			"main/!$omp for @a.c:5#0 time":     "2 0.002s ok", // wide: before the loop in f
			"main/f/!$omp for @a.c:5#0 time":   "4 0.004s ok",
			"main/f/!$omp for @a.c:5#0 visits": "5 5occ ok",
			"main/f/!$omp for @a.c:5#1 visits": "9223372036854775808 9.223372036854776e+18occ ok",
			"main/f#0 visits":                  "0 0occ ok", // no row is zero
			"main#0 low":                       "0.5 0.5s ok",
			"main#1 low":                       "1.7976931348623157e+308 -1s na",
			"main/f#0 low":                     "",
			"main#0 bytes":                     "", // no data at all
		} {
			if got[what] != want {
				t.Errorf("%v: %s is %q, want %q", order, what, got[what], want)
			}
		}
		if g := r.Regions[1]; g.Mangled != "_ZN2ns1fIiEEvi" || g.Short != "f" || g.Kind != datasets.KindFunction || r.Regions[2].Kind != datasets.KindLoop || r.Regions[0].Module != "a.c" {
			t.Errorf("%+v", r.Regions)
		}
		if u := r.Runs[0]; u.Tool != "score-p" || u.ToolVersion != "9.0" || u.TimeMetric != "time" || !u.TimeInclusive || r.Machines[0].Host != "n17" || r.Launches[0].Rank != datasets.Some[int64](0) {
			t.Errorf("%+v on %+v", u, r.Machines)
		}
		attrs := map[string]string{}
		for _, a := range r.Attributes {
			attrs[a.Name] = a.Value
		}
		if attrs["parameter n"] != "7" || attrs["metric rate data"] != "none: it is derived from others" || attrs["metric low parent"] != "visits" || attrs["metric bytes data"] == "" || attrs["location 1"] != "machine X/node n17/MPI Rank 0/T1 (thread)" {
			t.Errorf("%q", attrs)
		}
	}
}

func TestBrokenFilesAreRefused(t *testing.T) {
	le := binary.LittleEndian
	for _, c := range []struct {
		what   string
		change func(map[string][]byte)
		part   string
	}{
		{"a row is missing", func(f map[string][]byte) { f["0.data"] = f["0.data"][:len(f["0.data"])-8] }, "0.data: it has 24 bytes of values"},
		{"a node that is not there", func(f map[string][]byte) { f["0.index"] = indexFile(le, 0, 9) }, "0.index: it names node 9"},
		{"a node twice", func(f map[string][]byte) { f["0.index"] = indexFile(le, 1, 1) }, "names node 1 twice"},
		{"a long index", func(f map[string][]byte) { f["0.index"] = append(f["0.index"], 0) }, "does not fit"},
		{"no anchor", func(f map[string][]byte) { delete(f, "anchor.xml") }, "no anchor.xml"},
		{"no data", func(f map[string][]byte) { delete(f, "1.data") }, "1.index and no 1.data"},
		{"cut packed values", func(f map[string][]byte) { f["1.data"] = f["1.data"][:len(f["1.data"])-9] }, "1.data: its values end within row"},
		{"cut XML", func(f map[string][]byte) { f["anchor.xml"] = f["anchor.xml"][:600] }, "p.cubex:8:32: anchor.xml"},
		{"another magic", func(f map[string][]byte) { f["0.data"][0] = 'X' }, `0.data: it begins with "XUBEX.DATA"`},
		{"a missing region", func(f map[string][]byte) {
			f["anchor.xml"] = bytes.Replace(f["anchor.xml"], []byte(`calleeId="11"`), []byte(`calleeId="99"`), 1)
		}, "a region that is not there"},
	} {
		files := profile(t, le)
		c.change(files)
		_, err := parsertest.Parse("cubex", "p.cubex", archive(t, files))
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %q", c.what, err, c.part)
		}
	}
	whole := archive(t, profile(t, le))
	last := strings.LastIndex(whole, "</cube>") + len("</cube>")
	for i := 0; i < last; i += 37 {
		if _, err := parsertest.Parse("cubex", "p.cubex", whole[:i]); err == nil {
			t.Errorf("cut at %d: no error", i)
		}
	}
	f, err := collectors.Lookup("cubex")
	if err != nil || f.Detect(collectors.Head{Name: "x.tar", Bytes: []byte(whole)}) != collectors.Certain {
		t.Error("not detected by its content")
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "a.txt", Size: 0, Format: tar.FormatUSTAR}); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if f.Detect(collectors.Head{Name: "x.tar", Bytes: b.Bytes()}) != collectors.No {
		t.Error("any tar is taken for a profile")
	}
}

func FuzzCubex(f *testing.F) {
	parsertest.Fuzz(f, "cubex", archive(f, profile(f, binary.LittleEndian)), archive(f, profile(f, binary.BigEndian)))
}
