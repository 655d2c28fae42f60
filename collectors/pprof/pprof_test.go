package pprof_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/callgrind"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/pprof"
	"github.com/rooflab/rooflab/datasets"
)

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

// flat sums a metric over all regions of a name.
func flat(name, metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Counters {
			if c.Metric == metric && r.Region(c.Region).Raw == name {
				sum += c.Value.V
			}
		}
		return sum
	}
}

// cum sums a metric over all launches at or below a region of a name, each once.
func cum(name, metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Counters {
			for g := r.Region(c.Region); g != nil && c.Metric == metric; g = r.Region(g.Parent) {
				if g.Raw == name {
					sum += c.Value.V
					break
				}
			}
		}
		return fmt.Sprintf("%.9g", sum)
	}
}

func TestSamples(t *testing.T) {
	const how = "go tool pprof -top -addresses -sample_index=0 and 1"
	fact := func(file, what string, of func(*parsertest.Records) any, want any) parsertest.Fact {
		return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
	}
	parsertest.Facts(t, "../../../shared/samples/pprof", []parsertest.Fact{
		fact("cppbench.cpu", "samples", total("samples"), 712), fact("cppbench.cpu", "seconds", func(r *parsertest.Records) any { return fmt.Sprintf("%.9g", r.Total("cpu")) }, "7.12"),
		fact("cppbench.cpu", "samples of an address", flat("0x42ed43", "samples"), 542),
		fact("cppbench.heap", "objects", total("objects"), 41063), fact("cppbench.heap", "objects of an address", flat("0xc635c7", "objects"), 41061),
		fact("cppbench.heap", "objects below an address", cum("0x40bce3", "objects"), "22139"),
		fact("cppbench.growth", "objects", total("objects"), 85), fact("cppbench.growth", "bytes", total("space"), 178257920), fact("cppbench.growth", "objects of an address", flat("0xb83002", "objects"), 83),
		fact("cppbench.thread", "threads", total("thread"), 4), fact("cppbench.thread", "threads of an address", flat("0xbc8f1c", "thread"), 3),
		fact("cppbench.thread", "threads below an address", cum("0x40bce3", "thread"), "3"),
		fact("go.crc32.cpu", "samples", total("samples"), 211), fact("go.crc32.cpu", "seconds", func(r *parsertest.Records) any { return fmt.Sprintf("%.9g", r.Total("cpu")) }, "2.11"),
		fact("go.crc32.cpu", "samples of an address", flat("0x430bac", "samples"), 85),
		fact("speedscope_simple.prof", "samples", total("samples"), 150), fact("speedscope_simple.prof", "samples of main.alpha", flat("main.alpha", "samples"), 48),
		fact("speedscope_simple.prof", "seconds below main.delta", cum("main.delta", "cpu"), "0.58"), fact("speedscope_simple.prof", "seconds below main.main", cum("main.main", "cpu"), "1.36"),
		fact("speedscope_simple.prof", "time metric", func(r *parsertest.Records) any { return r.Runs[0].TimeMetric }, "cpu"),
		{File: "pprof.cpu.callgrind", What: "format", Of: func(r *parsertest.Records) any { return r.Runs[0].Format }, Want: "callgrind", How: "its first lines"},
		{File: "pprof.cpu.callgrind", What: "seconds of line1000", Of: flat("line1000", "cpu(ms)"), Want: 1.1, How: "by hand: the costs below fn=(1)"},
		{File: "pprof.cpu.callgrind", What: "seconds in all", Of: func(r *parsertest.Records) any { return fmt.Sprintf("%.9g", r.Total("cpu(ms)")) }, Want: "1.12", How: "by hand: 1100 + 10 + 10"},
	}, nil)
}

// own is a profile with an inlined frame, labels, two mappings, a frame that
// is to be left out, and a place without symbols:
//
//	main > solve (and within it, inlined, dot)   3 samples, 30 ms, two of them with labels
//	main > solve > malloc_hook (left out)        1 sample, 10 ms
//	main > 0x9000                                2 samples, 20 ms
func own() *profile.Profile {
	exe := &profile.Mapping{ID: 1, Start: 0x1000, Limit: 0x8000, File: "/opt/solver", BuildID: "abc", HasFunctions: true}
	lib := &profile.Mapping{ID: 2, Start: 0x9000, Limit: 0xa000, File: "/lib/libm.so"}
	fs := []*profile.Function{{ID: 1, Name: "main", SystemName: "main", Filename: "main.cc"}, {ID: 2, Name: "ns::solve(double*)", SystemName: "_ZN2ns5solveEPd", Filename: "solve.cc"},
		{ID: 3, Name: "ns::dot", SystemName: "ns::dot", Filename: "dot.h"}, {ID: 4, Name: "malloc_hook", SystemName: "malloc_hook"}}
	l := func(id, addr uint64, m *profile.Mapping, lines ...profile.Line) *profile.Location {
		return &profile.Location{ID: id, Address: addr, Mapping: m, Line: lines}
	}
	locs := []*profile.Location{l(1, 0x1100, exe, profile.Line{Function: fs[0], Line: 10}), l(2, 0x1200, exe, profile.Line{Function: fs[2], Line: 5}, profile.Line{Function: fs[1], Line: 20}),
		l(3, 0x1300, exe, profile.Line{Function: fs[3], Line: 1}), l(4, 0x9000, lib), l(5, 0x1210, exe, profile.Line{Function: fs[1], Line: 22})}
	s := func(n int64, stack ...*profile.Location) *profile.Sample {
		return &profile.Sample{Location: stack, Value: []int64{n, n * 10e6}}
	}
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}, PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10e6,
		TimeNanos: 1767323045000000000, DurationNanos: 2e9, Comments: []string{"night run"}, DropFrames: "malloc_hook", DefaultSampleType: "cpu", Mapping: []*profile.Mapping{exe, lib}, Function: fs, Location: locs,
		Sample: []*profile.Sample{s(1, locs[1], locs[0]), s(2, locs[1], locs[0]), s(1, locs[2], locs[4], locs[0]), s(2, locs[3], locs[0])}}
	p.Sample[1].Label = map[string][]string{"phase": {"warm", "up"}}
	p.Sample[1].NumLabel, p.Sample[1].NumUnit = map[string][]int64{"tid": {77}, "block": {4096}}, map[string][]string{"block": {"bytes"}}
	return p
}

func packed(t testing.TB, p *profile.Profile) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.WriteUncompressed(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestProto(t *testing.T) {
	r := parsertest.MustParse(t, "pprof", "p", packed(t, own()))
	var got []string
	for _, c := range r.Counters {
		if c.Metric == "cpu" {
			l := r.Launches[c.Launch-1]
			got = append(got, fmt.Sprintf("%s %g %s %s thread %v", r.Path(c.Region), c.Value.V, c.RawValue, c.RawUnit, l.Thread))
		}
	}
	want := []string{"main/solve/dot 0.01 10000000 nanoseconds thread {0 false}", "main/solve/dot 0.02 20000000 nanoseconds thread {77 true}",
		"main/solve 0.01 10000000 nanoseconds thread {0 false}", "main/0x9000 0.02 20000000 nanoseconds thread {0 false}"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var codes []string
	for _, s := range r.Samples {
		c := r.Codes[s.Code-1]
		if s.Reason == "samples" {
			codes = append(codes, fmt.Sprintf("%s %s:%d %x inlined %d: %d", c.ISA, c.File, c.Line.V, c.Offset.V, c.InlineDepth.V, s.Samples.V))
		}
	}
	if s := strings.Join(codes, ", "); s != "source dot.h:5 0 inlined 1: 1, source dot.h:5 0 inlined 1: 2, source solve.cc:22 0 inlined 0: 1, machine :0 9000 inlined 0: 2" {
		t.Errorf("codes %s", s)
	}
	attrs := map[string]bool{}
	for _, a := range r.Attributes {
		attrs[fmt.Sprint(a.Launch, " ", a.Name, "=", a.Value)] = true
	}
	for _, a := range []string{"2 phase=warm,up", "2 tid=77", "2 block=4096 bytes", "0 comment=night run", "0 default_sample_type=cpu", "0 period=10000000 nanoseconds", "0 duration=2000000000 nanoseconds",
		"0 drop_frames=malloc_hook", "0 mapping=/opt/solver 0x1000-0x8000 offset 0x0 build id abc", "0 file=solve.cc"} {
		if !attrs[a] {
			t.Errorf("no attribute %s among %v", a, attrs)
		}
	}
	for _, g := range r.Regions {
		if g.Short == "solve" && (g.Mangled != "_ZN2ns5solveEPd" || g.Raw != "ns::solve(double*)" || g.Module != "/opt/solver") {
			t.Errorf("region %+v", g)
		}
	}
	run := r.Runs[0]
	if run.TimeMetric != "cpu" || run.TimeInclusive || !run.Started.V.Equal(time.Unix(1767323045, 0)) {
		t.Errorf("run %+v", run)
	}
}

func TestPackedProfilesAreDetected(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(packed(t, own()))); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "solver.pb.gz")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	format, warnings, err := collectors.ParseFile(context.Background(), path, collectors.Options{}, &parsertest.Records{})
	if format != "pprof" || len(warnings) > 0 || err != nil {
		t.Errorf("%s %v %v", format, warnings, err)
	}
}

const heap = `heap profile:     3:   4096 [     5:   8192] @ heap/1024
     1:     1024 [     2:     4096] @ 0x401000 0x402000
     2:     3072 [     3:     4096] @ 0x401010 0x402000

MAPPED_LIBRARIES:
00400000-00500000 r-xp 00000000 08:01 1 /opt/solver
`

func TestLegacy(t *testing.T) {
	r := parsertest.MustParse(t, "pprof-legacy", "p", "threadcreate profile: total 7\n4 @ 0x401000 0x402000\n3 @ 0x401010 0x402000\n")
	if r.Total("threadcreate") != 7 || len(r.Regions) != 3 {
		t.Errorf("%+v %+v", r.Counters, r.Regions)
	}
	if _, err := parsertest.Parse("pprof-legacy", "p", heap); err != nil {
		t.Error(err)
	}
	_, err := parsertest.Parse("pprof-legacy", "p", heap[:strings.Index(heap, "\n     2:")+1])
	var e *collectors.SyntaxError
	if !errors.As(err, &e) || e.Line != 3 || e.Column != 1 || !strings.Contains(e.Msg, "begins with a total of 3, and its lines have 1 together") {
		t.Errorf("a cut heap profile: %v", err)
	}
	r = parsertest.MustParse(t, "pprof-legacy", "p", "heap profile: 3: 96 [9: 999] @ heap/1048576\n1: 32 [2: 64] @ 0x401000 0x402000\n2: 64 [2: 64] @ 0x401010 0x402000\n")
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "a total of 9, and its lines have 4 together") || len(r.Counters) == 0 {
		t.Errorf("%v %+v", r.Warnings, r.Counters)
	}
	// A CPU profile of 4-byte words: head, one stack three times, end.
	var b bytes.Buffer
	for _, w := range []uint32{0, 3, 0, 10000, 0, 3, 2, 0x401000, 0x402000, 0, 1, 0} {
		if err := binary.Write(&b, binary.LittleEndian, w); err != nil {
			t.Fatal(err)
		}
	}
	f, sure, err := collectors.Detect(collectors.Head{Bytes: b.Bytes(), Whole: true})
	if f.Name != "pprof-legacy" || sure != collectors.Certain || err != nil {
		t.Errorf("%s %v %v", f.Name, sure, err)
	}
	r = parsertest.MustParse(t, "pprof-legacy", "p", b.String())
	if r.Total("samples") != 3 || r.Total("cpu") != 0.03 || r.Runs[0].TimeMetric != "cpu" {
		t.Errorf("%+v %+v", r.Counters, r.Runs)
	}
}

func TestDamagedAndEmpty(t *testing.T) {
	for _, format := range []string{"pprof", "pprof-legacy"} {
		_, err := parsertest.Parse(format, "p", "\x0b\xff\xff\n")
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != 1 || e.Column != 1 || !strings.Contains(e.Error(), "of 4 bytes is not whole") {
			t.Errorf("%s: %v", format, err)
		}
	}
	p := own()
	p.Sample = nil
	if r := parsertest.MustParse(t, "pprof", "p", packed(t, p)); r.Runs[0].Status != datasets.RunEmpty || len(r.Warnings) != 1 {
		t.Errorf("%+v %v", r.Runs, r.Warnings)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{packed(t, own()): "pprof", heap: "pprof-legacy", "goroutine profile: total 2\n2 @ 0x1\n": "pprof-legacy", "--- threadz 1 ---\n\n": "pprof-legacy",
		"--- contention:\ncycles/second = 1\n": "pprof-legacy", "hello": "", "\x0a\x02\x08\x01": "", "{}": "", "\x00\x00\x00\x00": ""} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "a", Bytes: []byte(text), Whole: true})
		if f.Name != want {
			t.Errorf("%.30q is detected as %q, want %q", text, f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) {
	// Nothing tells where an unpacked profile ends, so that one may lose its
	// last fields: drop_frames is among them.
	p := own()
	p.DropFrames = ""
	parsertest.Truncations(t, "pprof", "p", packed(t, p), 1000)
	parsertest.Truncations(t, "pprof-legacy", "p", "goroutine profile: total 7\n4 @ 0x401000 0x402000\n3 @ 0x401010 0x402000\n", 1000)
}

func FuzzProto(f *testing.F) { parsertest.Fuzz(f, "pprof", packed(f, own())) }
func FuzzLegacy(f *testing.F) {
	parsertest.Fuzz(f, "pprof-legacy", heap, "--- threadz 1 ---\n\n--- Thread 7f (name: a/1) stack: ---\n  PC: 0x1\n")
}
