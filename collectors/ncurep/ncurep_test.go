package ncurep_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ncurep"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const (
	loadedAt = 0x7f0000001000 // where the kernel of the fixtures was loaded
	module   = 85899345921
)

var names = []string{"gpu__time_duration.sum", "launch__registers_per_thread", "dram__bytes.sum.per_second", "inst_executed",
	"smsp__pcsamp_warps_issue_stalled_long_scoreboard", "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
	"smsp__pcsamp_warps_issue_stalled_wait", "sass__inst_executed_per_opcode", "launch__kernel_name", "sm__cycles_active.avg", "launch__func_cache_config"}

func metrics() [][]byte {
	return [][]byte{
		metric(0, f64(2048)), metric(1, u64(18)), metric(2, f64(5e11)),
		metric(3, u64(300), at(u64(loadedAt), u64(100)), at(u64(loadedAt+0x90), u64(200))),
		metric(4, u64(7), at(u64(loadedAt), u64(0)), at(u64(loadedAt+0xc0), u64(7))),
		metric(5, u64(4), at(u64(loadedAt), u64(0)), at(u64(loadedAt+0xc0), u64(4))),
		metric(6, u64(3), at(u64(loadedAt+0xf0), u64(3))),
		metric(7, f64(300), at(text("LDG"), f64(100)), at(text("FMUL"), f64(200))),
		metric(8, u64(0), at(u64(0), text("scale"))),
		metric(9, f32(1.5), at(u64(1_700_000_000_000_000_000), f64(1)), at(u64(1_700_000_000_000_001_000), f64(2)), num(4, 1)),
		metric(10, text("CachePreferNone")),
	}
}

func source(t testing.TB, cubin string) []byte {
	return join(num(1, module), sub(4, fixture(t, cubin)), num(5, 8), num(6, 8<<16|6),
		sub(8, sub(1, str(1, "/src/scale/scale.cu"), str(2, "line one\nline two\r\nline three\n")), sub(1, str(1, "/src/other.h"), str(2, "never used\n"))),
		sub(9, sub(1, str(1, "_Z5scalePfi"), num(2, loadedAt), num(3, 1))))
}

func session() []byte {
	return join(num(2, 1_744_302_033), sub(4, str(1, "Linux"), str(3, "Some CPU"), str(4, "x86_64"), str(5, "node9")),
		sub(6, num(1, 0), str(2, "Big GPU"), sub(3, str(1, "device__attribute_multiprocessor_count"), sub(2, u64(84))),
			sub(3, str(1, "device__attribute_clock_rate"), sub(2, u64(1740000))), sub(3, str(1, "device__attribute_compute_capability_major"), sub(2, u64(8))),
			sub(3, str(1, "device__attribute_compute_capability_minor"), sub(2, u64(6)))),
		sub(8, str(1, "Nsight Compute Target"), str(2, "2024.3.1.0 (build 1)")), sub(8, str(1, "Display Driver Version"), str(2, "570.1")),
		sub(9, str(1, "/app/run"), str(3, "64 64"), str(4, "TOKEN=secret")),
		str(11, "/opt/ncu --set=full --cache-control none --replay-mode=application -o r /app/run"))
}

func scale(t testing.TB, cubin string) string {
	rule := sub(19, str(1, "SOLBottleneck"), str(2, "Bottleneck"), sub(3,
		sub(1, sub(1, str(1, "Look at memory."), num(2, 4), str(4, "Latency")), sub(10, num(1, 2), double(2, 5.7737)))),
		str(4, "SpeedOfLight"), sub(5, num(1, 1), num(2, 10), str(4, "A hot line."), num(5, 2), str(6, "/src/scale/scale.cu")))
	nvtx := sub(21, sub(1, num(1, 5), str(2, "solver")), sub(2, num(1, 41), sub(2, num(1, 5), sub(3, str(1, "step")), sub(3, str(1, "smooth")))))
	k := kernel("_Z5scalePfi", "scale(float *, int)", module, metrics(), rule, nvtx, sub(17, str(1, "SpeedOfLight"), str(2, "GPU Speed Of Light Throughput")), sub(17, str(1, "Occupancy"), str(2, "Occupancy")), sub(25, num(1, 0), num(2, 0)), str(27, "copies"))
	return report(7, block{session: session(), pid: 4711}.bytes(), block{pid: 4711, sources: [][]byte{source(t, cubin)}}.bytes(),
		block{pid: 4711, strings: names, kernels: [][]byte{k}}.bytes())
}

func counter(r *parsertest.Records, metric, instance string) datasets.Counter {
	for _, c := range r.Counters {
		if c.Metric == metric && c.Instance == instance {
			return c
		}
	}
	return datasets.Counter{Status: "there is none"}
}

func TestAReportGivesLaunchesAndMetricsInSIUnits(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-rep", "r.ncu-rep", scale(t, "scale.sm86.cubin"))
	if len(r.Warnings) != 0 || len(r.Launches) != 1 {
		t.Fatalf("%d launches, warnings %v", len(r.Launches), r.Warnings)
	}
	l, g := r.Launches[0], r.Regions[0]
	if fmt.Sprint(l.Grid, l.Block) != "[{8 true} {2 true} {1 true}] [{64 true} {1 true} {1 true}]" || l.DurNs.V != 2048 || l.Regs.V != 18 ||
		l.PID.V != 4711 || l.Thread.V != 41 || l.Context.V != 1 || l.Stream.V != 7 || l.Sequence != datasets.Some(int64(0)) {
		t.Errorf("launch %+v", l)
	}
	if g.Raw != "scale(float *, int)" || g.Short != "scale" || g.Mangled != "_Z5scalePfi" || g.Kind != datasets.KindKernel {
		t.Errorf("region %+v", g)
	}
	for _, c := range []struct {
		metric, instance string
		value            float64
		unit, raw        string
	}{
		{"gpu__time_duration.sum", "", 2048e-9, "s", "2048"},
		{"dram__bytes.sum.per_second", "", 5e11, "byte/s", "5e+11"},
		{"launch__registers_per_thread", "", 18, "register/thread", "18"},
		{"inst_executed", "", 300, "inst", "300"},
		{"inst_executed", "0x0000", 100, "inst", "100"},
		{"inst_executed", "0x0090", 200, "inst", "200"},
		{"sass__inst_executed_per_opcode", "FMUL", 200, "inst", "200"},
		{"smsp__pcsamp_warps_issue_stalled_long_scoreboard", "", 7, "warp", "7"},
		{"sm__cycles_active.avg", "", 1.5, "cycle", "1.5"},
	} {
		got := counter(r, c.metric, c.instance)
		if got.Value != datasets.Some(c.value) || got.Unit != c.unit || got.RawValue != c.raw || got.RawUnit != "" || got.Status != datasets.StatusOK {
			t.Errorf("%s %s: %+v, want %v %s", c.metric, c.instance, got, c.value, c.unit)
		}
	}
	for metric, want := range map[string]string{"launch__kernel_name": "scale", "launch__func_cache_config": "CachePreferNone"} {
		if c := counter(r, metric, ""); c.RawValue != want || c.Value.Valid || c.Status != datasets.StatusOK {
			t.Errorf("%s: %+v, want the text %s and no value", metric, c, want)
		}
	}
	if len(r.Telemetry) != 2 || r.Telemetry[1].TNs != 1_700_000_000_000_001_000 || r.Telemetry[1].Value.V != 2 || r.Telemetry[1].Sensor != "sm__cycles_active.avg" {
		t.Errorf("samples over time: %+v", r.Telemetry)
	}
}

// What nvdisasm says of the cubins is in testdata/README.md.
func TestCodeOfAKernelHasOpcodesLinesPTXAndSource(t *testing.T) {
	for cubin, want := range map[string][]struct {
		offset int64
		opcode string
		line   int64
	}{
		"scale.sm86.cubin":  {{0, "MOV", 8}, {0x20, "ULDC", 8}, {0x50, "ISETP", 9}, {0x60, "EXIT", 9}, {0x90, "LDG", 10}, {0xb0, "CALL", 10}, {0xd0, "EXIT", 12}, {0xf0, "FMUL", 3}, {0x100, "RET", 4}},
		"scale.sm120.cubin": {{0, "LDC", 8}, {0x20, "S2UR", 8}, {0x30, "LDCU", 9}, {0x40, "LDC", 8}, {0x60, "ISETP", 9}, {0xb0, "LDG", 10}, {0xf0, "EXIT", 12}, {0x100, "HFMA2", 3}, {0x130, "BRA", 4}},
	} {
		content := scale(t, cubin)
		if cubin == "scale.sm120.cubin" { // the module says nothing of its capability: the cubin does
			content = strings.Replace(content, string(num(6, 8<<16|6)), string(num(7, 8<<16|6)), 1)
		}
		r := parsertest.MustParse(t, "ncu-rep", "r.ncu-rep", content)
		byISA, sass := map[string]int{}, map[int64]datasets.Code{}
		for _, c := range r.Codes {
			byISA[c.ISA]++
			if c.ISA == "sass" {
				sass[c.Offset.V] = c
			}
		}
		for _, w := range want {
			if c := sass[w.offset]; c.Opcode != w.opcode || c.Line.V != w.line || c.File != "/src/scale/scale.cu" {
				t.Errorf("%s: at %#x %+v, want %s of line %d", cubin, w.offset, c, w.opcode, w.line)
			}
		}
		if c := sass[0x60]; cubin == "scale.sm86.cubin" && c.Text != "@P0 EXIT /* 0x000000000000094d 0x000fea0003800000 */" {
			t.Errorf("a guarded instruction is %q", c.Text)
		}
		if byISA["source"] != 3 || byISA["ptx"] == 0 {
			t.Errorf("%s: %v, want the 3 lines of the file that instructions come from, and PTX", cubin, byISA)
		}
		for _, c := range r.Codes {
			if c.ISA == "source" && c.Line.V == 2 && c.Text != "line two" {
				t.Errorf("line 2 is %q", c.Text)
			}
			if c.ISA == "ptx" && strings.Contains(c.Text, "ld.param.f32 \t%f1, [half_in]") {
				t.Errorf("PTX of another function is the kernel's: %+v", c)
			}
			if c.ISA == "ptx" && strings.Contains(c.Text, "setp.ge") && c.Opcode != "setp.ge.s32" {
				t.Errorf("PTX %+v", c)
			}
		}
	}
}

func TestPCSamplesAreOfInstructions(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-rep", "r.ncu-rep", scale(t, "scale.sm86.cubin"))
	got := map[string]string{}
	for _, s := range r.Samples {
		for _, c := range r.Codes {
			if c.ID == s.Code {
				got[fmt.Sprintf("%#x %s", c.Offset.V, s.Reason)] = fmt.Sprint(s.Samples, s.NotIssued)
			}
		}
	}
	want := map[string]string{"0xc0 long_scoreboard": "{7 true} {4 true}", "0xf0 wait": "{3 true} {0 false}"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("samples %v, want %v", got, want)
	}
}

func TestAReportSaysWhatWasMeasuredWhere(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-rep", "r.ncu-rep", scale(t, "scale.sm86.cubin"))
	run, m := r.Runs[0], r.Machines[0]
	if run.ToolVersion != "2024.3.1.0" || run.FormatVersion != "7" || run.Command != "/app/run" || run.Started.V.Unix() != 1_744_302_033 || run.ClockPolicy != "none" ||
		run.CachePolicy != "none" || run.ReplayPolicy != "application" || run.TimeMetric != "gpu__time_duration.sum" || run.Status != datasets.RunOK {
		t.Errorf("run %+v", run)
	}
	if m.Host != "node9" || m.CPU != "Some CPU" || m.GPU != "Big GPU" || m.Arch != "cc8.6" || m.Units.V != 84 || m.ClockHz.V != 1.74e9 || m.Driver != "570.1" {
		t.Errorf("machine %+v", m)
	}
	said := map[string]string{}
	for _, a := range r.Attributes {
		said[a.Name] = a.Value
		if strings.Contains(a.Value, "secret") {
			t.Errorf("the environment is in the store: %+v", a)
		}
	}
	for name, want := range map[string]string{
		"rule SOLBottleneck":               "OPT: Latency: Look at memory. (estimated speedup global 5.774 %)",
		"rule SOLBottleneck marker":        "/src/scale/scale.cu:10: WRN: A hot line.",
		"NVTX solver":                      "step/smooth",
		"stream name":                      "copies",
		"API call":                         "9",
		"arguments":                        "64 64",
		"sections":                         "SpeedOfLight,Occupancy",
		"device 0 multiprocessor_count":    "84",
		"version of Nsight Compute Target": "2024.3.1.0 (build 1)",
	} {
		if said[name] != want {
			t.Errorf("%s is %q, want %q", name, said[name], want)
		}
	}
}

func TestStringsAreNumberedOverAllBlocks(t *testing.T) {
	one := block{strings: []string{"a__bytes.sum"}, kernels: [][]byte{kernel("k", "k()", 1, [][]byte{metric(0, f64(1))})}}
	two := block{strings: []string{"b__sectors.sum"}, kernels: [][]byte{kernel("k", "k()", 1, [][]byte{metric(0, f64(2)), metric(1, f64(3))})}}
	r := parsertest.MustParse(t, "ncu-rep", "r", report(7, one.bytes(), two.bytes()))
	if len(r.Counters) != 3 || r.Counters[1].Metric != "a__bytes.sum" || r.Counters[2].Metric != "b__sectors.sum" || r.Counters[2].Unit != "sector" {
		t.Errorf("%+v", r.Counters)
	}
	if len(r.Regions) != 1 || len(r.Launches) != 2 || r.Launches[1].Sequence.V != 1 {
		t.Errorf("regions %+v, launches %+v", r.Regions, r.Launches)
	}
}

func TestRangesCommandListsAndGraphsAreResults(t *testing.T) {
	m := sub(4, metric(0, f64(1000)))
	b := block{strings: []string{"gpu__time_duration.sum"}, kernels: [][]byte{kernel("k", "k()", 1, [][]byte{metric(0, f64(1))})},
		ranges: [][]byte{join(num(1, 1), num(2, 2), m, num(11, 3))}, lists: [][]byte{join(num(1, 1), num(2, 2), m, num(11, 3), num(12, 4), str(18, "copy list"))},
		graphs: [][]byte{join(num(1, 1), num(2, 2), m, num(12, 5))}}
	r := parsertest.MustParse(t, "ncu-rep", "r", report(7, b.bytes()))
	var got []string
	for _, l := range r.Launches {
		g := r.Region(l.Region)
		got = append(got, fmt.Sprintf("%s %s %d", g.Kind, g.Raw, l.DurNs.V))
	}
	if want := "[kernel k() 1 range range 1000 range copy list 1000 range graph 1000]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestCodeIsFoundWithoutTheModule(t *testing.T) {
	table := []string{"launch__function_pcs", "inst_executed", "smsp__pcsamp_warps_issue_stalled_wait"}
	wait := metric(2, u64(3), at(u64(loadedAt+0x40), u64(3)))
	for name, ms := range map[string][][]byte{
		"the kernel's address is a metric":             {metric(0, f64(loadedAt), at(u64(0), u64(loadedAt))), wait},
		"the lowest address is the kernel's beginning": {metric(1, u64(5), at(u64(loadedAt), u64(5))), wait},
	} {
		r := parsertest.MustParse(t, "ncu-rep", "r", report(7, block{strings: table, kernels: [][]byte{kernel("k", "k()", 1, ms)}}.bytes()))
		if len(r.Samples) != 1 || len(r.Codes) != 1 || r.Codes[0].Offset.V != 0x40 || r.Codes[0].ID != r.Samples[0].Code {
			t.Errorf("%s: samples %+v of %+v", name, r.Samples, r.Codes)
		}
	}
}

func TestAFunctionThatAKernelCallsIsARegionBelowIt(t *testing.T) {
	src := join(num(1, module), sub(9, sub(1, str(1, "k"), num(2, loadedAt)), sub(1, str(1, "_Z7half_off"), num(2, loadedAt+0x1000))))
	ms := [][]byte{metric(0, u64(3), at(u64(loadedAt+0x1010), u64(3))), metric(1, u64(3), at(u64(loadedAt+0x1010), u64(3)))}
	b := block{strings: []string{"smsp__pcsamp_warps_issue_stalled_wait", "inst_executed"}, sources: [][]byte{src}, kernels: [][]byte{kernel("k", "k()", module, ms)}}
	r := parsertest.MustParse(t, "ncu-rep", "r", report(7, b.bytes()))
	g := r.Region(r.Codes[0].Region)
	if g.Raw != "half_of(float)" || g.Kind != datasets.KindFunction || r.Region(g.Parent).Raw != "k()" || r.Codes[0].Offset.V != 0x10 {
		t.Errorf("code %+v of %+v", r.Codes[0], g)
	}
	if c := counter(r, "inst_executed", "_Z7half_off+0x0010"); c.Value.V != 3 {
		t.Errorf("counters %+v", r.Counters)
	}
}

func TestValuesThatAreNoneAreNotZero(t *testing.T) {
	b := block{strings: []string{"a", "b", "c", "d"}, kernels: [][]byte{kernel("k", "k()", 1, [][]byte{
		metric(0, nil), metric(1, f64(math.NaN())), metric(2, u64(1), at(u64(0), text("no data"))), metric(3, f64(0))})}}
	r := parsertest.MustParse(t, "ncu-rep", "r", report(7, b.bytes()))
	for metric, status := range map[string]string{"a": datasets.StatusNA, "b": datasets.StatusNA, "c": datasets.StatusNA, "d": datasets.StatusOK} {
		if c := counter(r, metric, ""); c.Status != status || c.Value.Valid != (status == datasets.StatusOK) {
			t.Errorf("%s: %+v, want status %s", metric, c, status)
		}
	}
}

func TestAReportWithoutResultsIsEmpty(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-rep", "r", report(7, block{session: session()}.bytes()))
	if r.Runs[0].Status != datasets.RunEmpty || len(r.Warnings) != 1 || r.Machines[0].GPU != "Big GPU" {
		t.Errorf("run %+v, warnings %v", r.Runs[0], r.Warnings)
	}
}

func TestAnotherVersionIsSaid(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-rep", "r", report(9, block{strings: []string{"a"}, kernels: [][]byte{kernel("k", "k()", 1, [][]byte{metric(0, f64(1))})}}.bytes()))
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "version 9") || len(r.Counters) != 1 {
		t.Errorf("warnings %v", r.Warnings)
	}
}

func TestADamagedCubinCostsTheCodeAndNoNumber(t *testing.T) {
	whole := parsertest.MustParse(t, "ncu-rep", "r", scale(t, "scale.sm86.cubin"))
	cubin := fixture(t, "scale.sm86.cubin")
	for i := 0; i < len(cubin); i += 7 {
		broken := append([]byte(nil), cubin...)
		broken[i] ^= 0x5a
		r := parsertest.MustParse(t, "ncu-rep", "r", strings.Replace(scale(t, "scale.sm86.cubin"), string(cubin), string(broken), 1))
		if len(r.Counters) != len(whole.Counters) || len(r.Samples) != len(whole.Samples) {
			t.Fatalf("with byte %d changed: %d counters, %d samples, want %d, %d", i, len(r.Counters), len(r.Samples), len(whole.Counters), len(whole.Samples))
		}
	}
}

func TestBrokenReportsNameTheByte(t *testing.T) {
	good := scale(t, "scale.sm86.cubin")
	k := kernel("k", "k()", 1, [][]byte{metric(0, f64(1))})
	wrong := func(k []byte) string { return report(7, block{strings: []string{"a"}, kernels: [][]byte{k}}.bytes()) }
	huge := sized(join(num(1, 0), num(2, 3_000_000_000), num(5, 1<<31)))
	for name, c := range map[string]struct{ content, says string }{
		"no magic number":                  {"NVS\x00" + good[4:], "at byte 0"},
		"only a magic number":              {good[:4], "at byte 4: the file ends"},
		"a name outside the table":         {wrong(kernel("k", "k()", 1, [][]byte{metric(7, f64(1))})), "is string 7, and there are 1"},
		"a metric without a name":          {wrong(kernel("k", "k()", 1, [][]byte{sub(2, f64(1))})), "no name"},
		"a text that is a number":          {wrong(append(num(5, 3), k...)), "field 5 is no text"},
		"a number that is a text":          {wrong(join(k, str(22, "x"))), "field 22 is no integer"},
		"a value of the wrong type":        {wrong(kernel("k", "k()", 1, [][]byte{metric(0, num(3, 5))})), "wrong wire type"},
		"a kernel without a name":          {wrong(nil), "names no kernel"},
		"no protobuf":                      {wrong([]byte{0xff, 0xff, 0xff}), "no protobuf message"},
		"a header that is cut":             {report(7, sized(make([]byte, 9))[:8]), "ends within a block's header"},
		"a huge payload":                   {report(7, huge), "the file ends within"},
		"a result larger than the payload": {report(7, sized(join(num(2, 1), num(5, 8))), []byte{200, 0, 0, 0, 1, 2, 3, 4}), "has 200 bytes, and the payload of its block 4 more"},
		"more results than the payload":    {report(7, sized(join(num(1, 2), num(5, 4))), []byte{0, 0, 0, 0}), "ends before a source"},
	} {
		_, err := parsertest.Parse("ncu-rep", "broken.ncu-rep", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(err.Error(), c.says) || !strings.Contains(syntax.Msg, "at byte ") || syntax.Line != 0 {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

// A report that is cut between two blocks is a shorter report; anywhere else it
// is an error which names the byte.
func TestCutReports(t *testing.T) {
	content := scale(t, "scale.sm86.cubin")
	ends := map[int]bool{12 - 2: true} // after the file's header of 2 bytes
	for at := 10; at < len(content); {
		n := int(binary.LittleEndian.Uint32([]byte(content[at:])))
		header := content[at+4 : at+4+n]
		at += 4 + n + payload(t, header)
		ends[at] = true
	}
	for i := range content {
		r, err := parsertest.Parse("ncu-rep", "cut", content[:i])
		var syntax *collectors.SyntaxError
		switch {
		case ends[i]:
			if err != nil {
				t.Fatalf("cut between blocks at %d: %v", i, err)
			}
			parsertest.CheckReferences(t, r)
		case !errors.As(err, &syntax) || !strings.Contains(syntax.Msg, "at byte "):
			t.Fatalf("cut at %d: %v", i, err)
		}
	}
}

// payload finds the length of a payload in a header that the writer made.
func payload(t *testing.T, header string) int {
	for n := range 1 << 16 {
		if strings.Contains(header, string(join(num(5, uint64(n)), []byte{6<<3 | 2}))) {
			return n
		}
	}
	t.Fatal("a header without a length")
	return 0
}

func TestDetectionIsByTheMagicNumber(t *testing.T) {
	for content, want := range map[string]collectors.Confidence{report(7): collectors.Certain, "NVR 7": collectors.No, "": collectors.No} {
		f, sure, _ := collectors.Detect(collectors.Head{Name: "x.ncu-rep", Bytes: []byte(content), Whole: true})
		if sure != want {
			t.Errorf("%q is %s with %v", content, f.Name, sure)
		}
	}
}

func FuzzParse(f *testing.F) {
	parsertest.Fuzz(f, "ncu-rep", scale(f, "scale.sm86.cubin"), scale(f, "scale.sm120.cubin"), report(7), "")
}
