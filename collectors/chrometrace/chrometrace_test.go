package chrometrace_test

import (
	"errors"
	"fmt"
	"sort"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/chrometrace"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func launches(r *parsertest.Records) any { return len(r.Launches) }

// ofKind counts launches of regions of a kind.
func ofKind(kind string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := 0
		for _, l := range r.Launches {
			if r.Region(l.Region).Kind == kind {
				n++
			}
		}
		return n
	}
}

// sum adds a field up over the launches of kernels.
func sum(of func(datasets.Launch) datasets.Null[int64]) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := int64(0)
		for _, l := range r.Launches {
			if r.Region(l.Region).Kind == datasets.KindKernel {
				n += of(l).V
			}
		}
		return n
	}
}

// under counts the launches whose region's parent has a name.
func under(parent, name string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := 0
		for _, l := range r.Launches {
			g := r.Region(l.Region)
			above := ""
			if g.Parent != 0 {
				above = r.Region(g.Parent).Raw
			}
			if above == parent && (name == "" || g.Raw == name) {
				n++
			}
		}
		return n
	}
}

func attribute(name string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, a := range r.Attributes {
			if a.Name == name && a.Region == 0 {
				return a.Value
			}
		}
		return "no attribute " + name
	}
}

func flows(prefix string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		n := 0
		for _, a := range r.Attributes {
			if a.Name == prefix {
				n++
			}
		}
		return n
	}
}

func fact(file, what string, of func(*parsertest.Records) any, want any, how string) parsertest.Fact {
	return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
}

func TestPyTorchSamples(t *testing.T) {
	const how = "python3: json.loads of the unpacked file, sums over traceEvents"
	const brute = "python3: for each X event of the CPU the latest earlier one of its pid and tid that contains it, with a slack of 1 us"
	ns := func(l datasets.Launch) datasets.Null[int64] { return l.DurNs }
	parsertest.Facts(t, "../../../shared/samples/torch_trace", []parsertest.Fact{
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "launches", launches, 868+2, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "kernels", ofKind(datasets.KindKernel), 79, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "time of kernels, ns", sum(ns), 10692000, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "registers", sum(func(l datasets.Launch) datasets.Null[int64] { return l.Regs }), 4653, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "shared memory", sum(func(l datasets.Launch) datasets.Null[int64] { return l.Smem }), 950144, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "blocks in x", sum(func(l datasets.Launch) datasets.Null[int64] { return l.Grid[0] }), 902680, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "bytes copied and set", func(r *parsertest.Records) any { return r.Total("bytes") }, 244425120, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "roots", under("", ""), 142+2, brute+"; and the two instants"),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "cudaEventRecord in convolutions", under("aten::cudnn_convolution", "cudaEventRecord"), 30, brute),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "flows that begin", flows("flow s ac2g"), 155, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "flows that end", flows("flow f ac2g"), 345, how),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "rank", func(r *parsertest.Records) any { return r.Launches[0].Rank.Or(-1) }, 0, "distributedInfo"),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "machine", func(r *parsertest.Records) any {
			m := r.Machines[0]
			return fmt.Sprint(m.GPU, " ", m.Arch, " ", m.Units.V, " ", m.MemBytes.V)
		}, "NVIDIA A100-PG509-200 cc8.0 108 42297524224", "deviceProperties"),
		fact("benchmark_result_2869224_1695835535_trace.json.gz", "counted events", attribute("events X cpu_op"), "359", how),
		fact("benchmark_result_924719_1679055439_trace.json.gz", "launches", launches, 2327, how),
		fact("benchmark_result_924719_1679055439_trace.json.gz", "profiled ranges", ofKind(datasets.KindKernel), 77, how),
		fact("benchmark_result_924719_1679055439_trace.json.gz", "fused multiply-adds", func(r *parsertest.Records) any { return r.Total("smsp__sass_thread_inst_executed_op_ffma_pred_on.sum") }, 39142369720, how),
		fact("benchmark_result_924719_1679055439_trace.json.gz", "time of ranges", sum(ns), 0, "the ranges' durations are all 121431 us: the recording's, evenly divided"),
		fact("benchmark_result_924719_1679055439_trace.json.gz", "roots", under("", ""), 81+3, brute+"; and the three instants"),
		fact("benchmark_result_924719_1679055439_trace.json.gz", "attributes in convolutions", under("aten::cudnn_convolution", "cudaFuncSetAttribute"), 1556, brute),
		fact("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "launches", launches, 18, how),
		fact("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "rank", func(r *parsertest.Records) any { return r.Launches[0].Rank.V }, 34, "distributedInfo"),
		fact("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "first start, ns", func(r *parsertest.Records) any { return r.Launches[0].StartNs.V }, 1212075525586016, "ts 1212075525586.016 of the Trace event, the earliest"),
		fact("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "started", func(r *parsertest.Records) any { return r.Runs[0].Started.V.Format("2006-01-02 15:04") }, "2024-07-15 17:52",
			"date -u -d @$((1719853884+1212075)); the file's name says 10:52 in California"),
		fact("rank-34.Jul_15_10_52_41.1074.pt.trace.json.gz", "world", attribute("distributedInfo.world_size"), "300", "distributedInfo"),
		fact("rank_not_found.json.gz", "launches", launches, 2467, how),
		fact("rank_not_found.json.gz", "rank", func(r *parsertest.Records) any { return r.Launches[0].Rank.Or(-1) }, -1, "distributedInfo has none"),
		fact("rank_not_found.json.gz", "roots", under("", ""), 3, brute),
		fact("rank_not_found.json.gz", "add_ in the optimizer", under("Optimizer.step#FusedAdam.step", "aten::add_"), 257, brute),
		fact("rank_not_found.json.gz", "t in linear", under("aten::linear", "aten::t"), 101, brute),
		fact("sampled_rank-0.json.gz", "launches", launches, 4811, how),
		fact("sampled_rank-0.json.gz", "kernels", ofKind(datasets.KindKernel), 1154, how),
		fact("sampled_rank-0.json.gz", "time of kernels, ns", sum(ns), 606519000, how),
		fact("sampled_rank-0.json.gz", "registers", sum(func(l datasets.Launch) datasets.Null[int64] { return l.Regs }), 85940, how),
		fact("sampled_rank-0.json.gz", "roots", under("", ""), 1521, brute),
		fact("sampled_rank-0.json.gz", "launches of kernels by mm", under("aten::mm", "cudaLaunchKernel"), 232, brute),
	}, map[string]string{"benchmark_simple_add_et.json.gz": "execution trace of PyTorch"})
}

// shape writes launches as path@start+duration in microseconds, "?" unknown.
func shape(r *parsertest.Records) string {
	ls := append([]datasets.Launch(nil), r.Launches...)
	sort.Slice(ls, func(i, j int) bool { return ls[i].Sequence.V < ls[j].Sequence.V })
	var s []string
	for _, l := range ls {
		start, dur := "?", "?"
		if l.StartNs.Valid {
			start = fmt.Sprint(float64(l.StartNs.V) / 1000)
		}
		if l.DurNs.Valid {
			dur = fmt.Sprint(float64(l.DurNs.V) / 1000)
		}
		s = append(s, r.Path(l.Region)+"@"+start+"+"+dur)
	}
	return strings.Join(s, " ")
}

func TestTraceEventSamples(t *testing.T) {
	is := func(want string) []any { return []any{want} }
	var facts []parsertest.Fact
	for file, want := range map[string][]any{
		"speedscope_event-reordering-name-match.json":   is("alpha@0+10 alpha/beta@1+1 alpha/beta/gamma@1+1"),
		"speedscope_invalid-x-nesting.json":             is("alpha@0+10 beta@5+10"),
		"speedscope_mismatched-name.json":               is("alpha@0+?"),
		"speedscope_simple-object.json":                 is("alpha@0+14 alpha/beta@1+12 alpha/beta/(unnamed)@7+?"),
		"speedscope_simple-partial.json":                is("alpha@0+14 alpha/beta@1+12 alpha/beta/gamma@2+5 alpha/beta/epsilon@7+?"),
		"speedscope_simple-partial-trailing-comma.json": is("alpha@0+14 alpha/beta@1+12 alpha/beta/gamma@2+5 alpha/beta/epsilon@7+?"),
		"speedscope_x-events-matching-end.json": is("alpha@0+20 alpha/beta@1+2 alpha/beta/gamma@2+1 alpha/gamma@5+2 alpha/gamma/beta@6+1 " +
			"alpha/beta@9+2 alpha/beta/gamma@10+1 alpha/gamma@14+2 alpha/gamma/beta@15+1"),
		"speedscope_zero-duration-events.json": is("A@0+10 A/B@1+0 A/C@2+0 A/D@3+0"),
	} {
		const how = "by hand from the file's few lines"
		facts = append(facts,
			parsertest.Fact{File: file, What: "launches", Of: func(r *parsertest.Records) any { return shape(r) }, Want: want[0], How: how},
			parsertest.Fact{File: file, What: "number of launches", Of: launches, Want: strings.Count(want[0].(string), "@"), How: how},
			parsertest.Fact{File: file, What: "tool", Of: func(r *parsertest.Records) any { return r.Runs[0].Tool }, Want: "trace-event", How: "no tool is named"})
	}
	parsertest.Facts(t, "../../../shared/samples/chrome_trace", facts, nil)
}

func parse(t *testing.T, content string) *parsertest.Records {
	t.Helper()
	return parsertest.MustParse(t, "chrome-trace", "t.json", content)
}

func ev(s string) string { return `{"pid":1,"tid":2,` + s + `}` }

func TestNesting(t *testing.T) {
	for _, c := range []struct{ what, events, want string }{
		{"out of order", ev(`"ph":"X","name":"c","ts":5,"dur":1`) + "," + ev(`"ph":"X","name":"a","ts":0,"dur":10`) + "," + ev(`"ph":"X","name":"b","ts":5,"dur":3`),
			"a@0+10 a/b@5+3 a/b/c@5+1"},
		{"the same name below the same region is one region", ev(`"ph":"X","name":"a","ts":0,"dur":9`) + "," + ev(`"ph":"X","name":"b","ts":1,"dur":1`) + "," + ev(`"ph":"X","name":"b","ts":3,"dur":1`),
			"a@0+9 a/b@1+1 a/b@3+1"},
		{"truncated microseconds", ev(`"ph":"X","name":"a","ts":0,"dur":9`) + "," + ev(`"ph":"X","name":"b","ts":5,"dur":5`), "a@0+9 a/b@5+5"},
		{"exact times do not overlap a little", ev(`"ph":"X","name":"a","ts":0.001,"dur":9`) + "," + ev(`"ph":"X","name":"b","ts":5,"dur":4.5`), "a@0.001+9 b@5+4.5"},
		{"threads", ev(`"ph":"X","name":"a","ts":0,"dur":9`) + `,{"pid":1,"tid":3,"ph":"X","name":"b","ts":1,"dur":1}`, "a@0+9 b@1+1"},
		{"E without a name", ev(`"ph":"B","name":"a","ts":0`) + "," + ev(`"ph":"B","name":"b","ts":1`) + "," + ev(`"ph":"E","ts":2`) + "," + ev(`"ph":"E","ts":4`), "a@0+4 a/b@1+1"},
		{"recursion", ev(`"ph":"B","name":"f","ts":0`) + "," + ev(`"ph":"B","name":"f","ts":1`) + "," + ev(`"ph":"E","name":"f","ts":1`) + "," + ev(`"ph":"E","name":"f","ts":4`), "f@0+4 f/f@1+0"},
		{"instants", ev(`"ph":"X","name":"a","ts":0,"dur":9`) + "," + ev(`"ph":"i","name":"tick","ts":3,"s":"t"`) + "," + ev(`"ph":"I","name":"tock","ts":20`), "a@0+9 a/tick@3+? tock@20+?"},
		{"asynchronous", ev(`"ph":"b","cat":"net","id":"0x1","name":"get","ts":0`) + `,{"pid":1,"tid":9,"ph":"n","cat":"net","id":"0x1","name":"dns","ts":2},` +
			ev(`"ph":"b","cat":"net","id":"0x2","name":"get","ts":1`) + "," + ev(`"ph":"e","cat":"net","id":"0x1","name":"get","ts":7`) + "," + ev(`"ph":"e","cat":"net","id":"0x2","name":"get","ts":9`),
			"get@0+7 get@1+8 get/dns@2+?"},
		{"no time", ev(`"ph":"X","name":"a","dur":3`), "a@?+3"},
		{"a negative duration", ev(`"ph":"X","name":"a","ts":1,"dur":-3`), "a@1+?"},
		{"a duration past int64", ev(`"ph":"X","name":"a","ts":1,"dur":18446744073709551615`), "a@1+?"},
		{"texts and decimals", ev(`"ph":"X","name":"a","ts":"1695835542514261.25","dur":"0.0625"`), "a@1.6958355425142612e+15+0.063"},
		{"exponents", ev(`"ph":"X","name":"a","ts":1.5e3,"dur":2E0`), "a@1500+2"},
		{"empty events and null", `{},null,` + ev(`"ph":"X","name":"a","ts":1,"dur":3`), "a@1+3"},
	} {
		for _, content := range []string{"[" + c.events + "]", `{"displayTimeUnit":"ns","traceEvents":[` + c.events + `]}`, "[\n" + c.events + ",\n"} {
			if got := shape(parse(t, content)); got != c.want {
				t.Errorf("%s: %s\n  is %s\nwant %s", c.what, content, got, c.want)
			}
		}
	}
}

func TestBrokenTextIsReadAsItIsMeant(t *testing.T) {
	r := parse(t, `[{"ph":"X","pid":1,"tid":1,"ts":0,"dur":2,"name":"load "model" fast","args":{"path":"C:\dir\new","msg":"a`+"\n\t"+`b","uni":"\u00b5\ud83d\ude00","big":18446744073709551615}}]`)
	got := map[string]string{}
	for _, a := range r.Attributes {
		got[a.Name] = a.Value
	}
	// \n of "\new" is what JSON says, a line end: nothing tells that a path was meant.
	if r.Regions[0].Raw != `load "model" fast` || got["path"] != "C:\\dir\new" || got["msg"] != "a\n\tb" || got["uni"] != "\u00b5\U0001F600" {
		t.Errorf("%q, %q", r.Regions[0].Raw, got)
	}
	if c := r.Counters[0]; c.Metric != "big" || c.RawValue != "18446744073709551615" || c.Value.V != 18446744073709551615 {
		t.Errorf("%+v", c)
	}
}

func TestCountersAreTelemetry(t *testing.T) {
	r := parse(t, `[{"ph":"C","pid":1,"ts":1,"name":"GPU","args":{"value":0.5}},{"ph":"C","pid":1,"ts":2.5,"name":"mem","id":3,"args":{"used":7,"free":"9"}},
{"ph":"C","pid":2,"ts":3,"name":"GPU","args":{"value":1}},{"ph":"C","pid":1,"ts":4,"name":"GPU","args":{"value":null}}]`)
	var got []string
	for _, v := range r.Telemetry {
		got = append(got, fmt.Sprint(v.Sensor, "@", v.TNs, "=", v.Value.Or(-1)))
	}
	if want := "GPU@1000=0.5 mem[3]/used@2500=7 mem[3]/free@2500=9 GPU (pid 2)@3000=1 GPU@4000=-1"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestKernelsAndOperators(t *testing.T) {
	r := parse(t, `{"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"python_function","name":"train.py(12): step","pid":7,"tid":7,"ts":10,"dur":50,"args":{"Python id":1}},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":7,"tid":7,"ts":11,"dur":40,"args":{"External id":5,"Input Dims":[[2,3],[3,4]]}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":7,"tid":7,"ts":12,"dur":4,"args":{"correlation":9}},
{"ph":"s","cat":"ac2g","name":"ac2g","id":9,"pid":7,"tid":7,"ts":12},
{"ph":"f","bp":"e","cat":"ac2g","name":"ac2g","id":9,"pid":0,"tid":20,"ts":30},
{"ph":"X","cat":"kernel","name":"void ns::gemm<float>(float*)","pid":0,"tid":20,"ts":30,"dur":8,"args":{"device":0,"context":1,"stream":20,"correlation":9,
 "registers per thread":64,"shared memory":2048,"grid":[4,2,1],"block":[128,1,1],"est. achieved occupancy %":37}}],
"distributedInfo":{"backend":"nccl","rank":3}}`)
	if got, want := shape(r), "step@10+50 step/aten::mm@11+40 step/aten::mm/cudaLaunchKernel@12+4 gemm@30+8"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	k := r.Launches[3]
	if k.Device != datasets.Some[int64](0) || k.Stream != datasets.Some[int64](20) || k.Context != datasets.Some[int64](1) || k.PID.Valid || k.Thread.Valid || k.Rank != datasets.Some[int64](3) ||
		k.Regs.V != 64 || k.Smem.V != 2048 || k.Grid[1].V != 2 || k.Block[0].V != 128 {
		t.Errorf("the kernel is %+v", k)
	}
	if r.Launches[0].PID.V != 7 || r.Launches[0].Rank.V != 3 || r.Runs[0].Tool != "pytorch-profiler" {
		t.Errorf("%+v of %+v", r.Launches[0], r.Runs[0])
	}
	flow := map[string]int64{}
	for _, a := range r.Attributes {
		if strings.HasPrefix(a.Name, "flow") || a.Name == "correlation" {
			flow[a.Name+"="+a.Value] += a.Launch * a.Launch
		}
	}
	if flow["flow s ac2g=9"] != 3*3 || flow["flow f ac2g=9"] != 4*4 || flow["correlation=9"] != 3*3+4*4 {
		t.Errorf("flows and correlations are at other launches: %v", flow)
	}
	if v := r.Value("gemm", "est. achieved occupancy %"); v.V != 37 {
		t.Errorf("occupancy %v", v)
	}
}

func TestKernelsOfTensorFlowAndJAX(t *testing.T) {
	r := parse(t, `{"displayTimeUnit":"ns","traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
{"ph":"X","pid":1,"tid":14,"ts":5.5,"dur":2.25,"name":"loop_add_fusion","args":{"hlo_op":"add.1","kernel_details":"regs:18 static_shared:16 dynamic_shared:1024 grid:4,2,1 block:128,1,1 occ_pct:50"}}]}`)
	l := r.Launches[0]
	if g := r.Regions[0]; g.Kind != datasets.KindKernel || l.Regs.V != 18 || l.Smem.V != 1040 || l.Grid[1].V != 2 || l.Block[0].V != 128 || l.DurNs.V != 2250 {
		t.Errorf("%+v of %+v", l, g)
	}
	if got := attribute("process_name[1]")(r); got != "/device:GPU:0" {
		t.Error(got)
	}
}

func TestDevicesAndMemory(t *testing.T) {
	r := parse(t, `[{"ph":"X","cat":"gpu_memcpy","name":"copy","pid":0,"tid":7,"ts":10,"dur":10,"args":{"device":0,"stream":7,"bytes":64}},
{"ph":"X","cat":"cuda_sync","name":"wait","pid":0,"tid":7,"ts":15,"dur":9,"args":{"device":0,"stream":7}},
{"ph":"X","cat":"gpu_user_annotation","name":"step","pid":0,"tid":7,"ts":9,"dur":13},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":16,"dur":1},
{"ph":"i","s":"t","name":"[memory]","cat":"cpu_instant_event","pid":5,"tid":5,"ts":3,"args":{"Total Reserved":100,"Total Allocated":40,"Bytes":-8,"Addr":140231,"Device Id":1,"Device Type":1}}]`)
	if got, want := shape(r), "[memory]@3+? step@9+13 step/copy@10+10 wait@15+9 step/k@16+1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if m := r.Telemetry; len(m) != 2 || m[0].Sensor != "Total Allocated (device type 1, id 1)" || m[0].Value.V != 40 || m[0].TNs != 3000 || m[1].Value.V != 100 {
		t.Errorf("%+v", m)
	}
	if v := r.Value("[memory]", "Bytes"); v.V != -8 {
		t.Errorf("freed %v", v)
	}
}

// Until 2021 kineto called the devices' properties otherwise.
func TestDevicesOfOldTraces(t *testing.T) {
	r := parsertest.MustParse(t, "chrome-trace", "old.json", `{"schemaVersion": 1, "computeProperties": [{"id": 0, "name": "Tesla V100", "totalGlobalMem": 34000000000, "major": 7, "minor": 0, "multiProcessorCount": 80}],
"traceEvents": [{"ph": "X", "cat": "Kernel", "name": "void k<int>(int)", "pid": 0, "tid": "stream 7", "ts": 1, "dur": 2, "args": {"device": 0, "stream": 7, "grid": [4, 1, 1], "block": [64, 1, 1]}}]}`)
	m := r.Machines[0]
	if m.GPU != "Tesla V100" || m.Arch != "cc7.0" || m.Units != datasets.Some(int64(80)) || m.MemBytes != datasets.Some(int64(34e9)) || r.Runs[0].Machine != m.ID {
		t.Errorf("%+v", m)
	}
	if r.Regions[0].Kind != datasets.KindKernel || r.Launches[0].Stream != datasets.Some(int64(7)) || r.Launches[0].Block[0] != datasets.Some(int64(64)) {
		t.Errorf("%+v %+v", r.Regions, r.Launches)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct {
		content   string
		line, col int
		part      string
	}{
		{"", 1, 1, "empty"},
		{"[\n  7]", 2, 3, "no event"},
		{"[\n{\"ts\":1}]", 2, 1, "no phase"},
		{"{\"traceEvents\":\n7}", 2, 2, "no events"},
		{"{\"a\":\n{\"b\":", 2, 6, "before the list of events"},
		{"[{\"ph\":\"X\",\n\"ts\":5 7}]", 2, 8, "no object of JSON"},
		{"[{\"ph\":\"X\"},\n {\"ph\":\"X\",\"ts\" 5},{\"ph\":\"X\"}]", 2, 2, "no JSON"},
		{"[" + strings.Repeat("[", 300), 1, 2, "deeper than"},
		{"\n\n hello", 3, 2, "no trace"},
		{"[{\"ph\":\"X\",\"ts\":1}]\n[{\"ph\":\"X\",\"ts\":1}]", 2, 1, "another trace"},
		{"{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1}]}\n {\"traceEvents\":[]}", 2, 2, "another trace"},
	} {
		parsertest.Refused(t, "chrome-trace", "t.json", c.content, c.line, c.col, c.part)
	}
}

func TestCutFilesAreReadAsFarAsTheyGo(t *testing.T) {
	whole := "[\n" + ev(`"ph":"X","name":"a","ts":0,"dur":1`) + ",\n" + ev(`"ph":"X","name":"b","ts":2,"dur":1`) + "\n]"
	for i := 2; i < len(whole); i++ {
		r := parse(t, whole[:i])
		if n := strings.Count(whole[:i], "}"); len(r.Launches) != n {
			t.Errorf("cut at %d: %d launches, want %d", i, len(r.Launches), n)
		}
		if within := strings.Count(whole[:i], "{") > strings.Count(whole[:i], "}"); within != (len(r.Warnings) > 0 && strings.Contains(r.Warnings[0].Msg, "within an event")) {
			t.Errorf("cut at %d: warnings %v", i, r.Warnings)
		}
	}
}

// An event may be longer than what is read at once, and end where a window does.
func TestLongEvents(t *testing.T) {
	for _, n := range []int{1000, 1<<18 - 60, 1 << 18, 1<<20 + 7} {
		long := strings.Repeat("x ", n/2)
		r := parse(t, "[\n"+ev(`"ph":"X","name":"a","ts":0,"dur":9,"args":{"stack":"`+long+`"}`)+",\n"+ev(`"ph":"X","name":"b","ts":1,"dur":1`)+"]")
		if got := shape(r); got != "a@0+9 a/b@1+1" || r.Attributes[0].Value != long {
			t.Errorf("%d bytes: %s", n, got)
		}
	}
	// Places are right far behind the first window.
	_, err := parsertest.Parse("chrome-trace", "t.json", "[\n"+strings.Repeat("{\"ph\":\"X\",\"ts\":1},\n", 40000)+"7]")
	var e *collectors.SyntaxError
	if !errors.As(err, &e) || e.Line != 40002 || e.Column != 1 {
		t.Errorf("%v", err)
	}
}

func TestDetection(t *testing.T) {
	for content, want := range map[string]collectors.Confidence{
		`{"traceEvents":[`: collectors.Certain,
		`{"schemaVersion": 1, "deviceProperties": [{"id": 0}`:     collectors.Certain,
		`[{"name":"x","ph":"X","ts":1`:                            collectors.Certain,
		`[{"name":"x","real_time":1}]`:                            collectors.No,
		`{"schema":"1.0.1","nodes":[{"rf_id":1,"op_schema":""}]}`: collectors.No,
		`{"benchmarks":[]}`:                                       collectors.No,
		``:                                                        collectors.No,
	} {
		f, err := collectors.Lookup("chrome-trace")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Detect(collectors.Head{Name: "x.json", Bytes: []byte(content), Whole: true}); got != want {
			t.Errorf("%s: %v, want %v", content, got, want)
		}
	}
}

func FuzzChromeTrace(f *testing.F) {
	parsertest.Fuzz(f, "chrome-trace",
		"["+ev(`"ph":"B","name":"a","ts":0`)+","+ev(`"ph":"E","name":"a","ts":1,"args":{"x":1}`)+"]",
		`{"traceEvents":[`+ev(`"ph":"b","id":1,"name":"a","ts":0`)+","+ev(`"ph":"e","id":1,"name":"a","ts":0`)+`],"deviceProperties":[{"id":0,"name":"A100"}],"distributedInfo":{"rank":1}}`,
		`[{"ph":"C","ts":1,"name":"m","args":{"a":1,"b":2}},{"ph":"M","name":"process_name","pid":1,"args":{"name":"x"}},{"ph":"s","id":{"local":1},"ts":9}]`)
}

func TestTracesOfPerfettoAreNamed(t *testing.T) {
	const packets = "\n\x0c\x18\x01\x20\x02\x08\x00abcdef\n\x02\x08\x00"
	for name, want := range map[string]string{"12_results.pftrace": "perfetto-trace", "boot.perfetto-trace": "perfetto-trace", "notes.bin": ""} {
		f, _, err := collectors.Detect(collectors.Head{Name: name, Bytes: []byte(packets), Whole: true})
		if f.Name != want {
			t.Errorf("%s is %q, %v, want %q", name, f.Name, err, want)
		}
	}
	if _, err := parsertest.Parse("perfetto-trace", "a.pftrace", packets); err == nil || !strings.Contains(err.Error(), "traceconv json") {
		t.Errorf("%v does not say how to convert it", err)
	}
}

func TestWhatFollowsTheTraceIsSaid(t *testing.T) {
	r := parse(t, "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":1,\"dur\":2}]\n]; done\n")
	if len(r.Launches) != 1 || len(r.Warnings) != 1 || r.Warnings[0].Line != 2 || !strings.Contains(r.Warnings[0].Msg, "]; done") {
		t.Errorf("%+v, %v", r.Launches, r.Warnings)
	}
}
