package rocprof_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// The names stand behind the events here, on purpose.
const sdk = `{"rocprofiler-sdk-tool": [{
"metadata": {"pid": 77, "command": ["./a", "-n", "3"], "node": {"hostname": "node1"}},
"agents": [{"id": {"handle": 500}, "type": 1, "node_id": 0, "name": "AMD EPYC", "product_name": "AMD EPYC 7A53"}, {"id": {"handle": 600}, "type": 2, "node_id": 4, "name": "gfx90a", "product_name": "AMD Instinct MI250X", "cu_count": 110}],
"counters": [{"id": {"handle": 9}, "name": "SQ_WAVES"}],
"callback_records": {"counter_collection": [
 {"thread_id": 78, "lds_block_size_v": 512, "arch_vgpr_count": 24, "sgpr_count": 16, "records": [{"counter_id": {"handle": 9}, "value": 64.0}],
  "dispatch_data": {"start_timestamp": 2000, "end_timestamp": 2600, "correlation_id": {"internal": 5}, "dispatch_info": {"agent_id": {"handle": 600}, "queue_id": {"handle": 1}, "kernel_id": 3, "dispatch_id": 2, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 256, "y": 2, "z": 1}}}}]},
"buffer_records": {"kernel_dispatch": [
 {"thread_id": 78, "start_timestamp": 2000, "end_timestamp": 2600, "correlation_id": {"internal": 5}, "dispatch_info": {"agent_id": {"handle": 600}, "queue_id": {"handle": 1}, "kernel_id": 3, "dispatch_id": 2, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 256, "y": 2, "z": 1}}},
 {"thread_id": 78, "start_timestamp": 1000, "end_timestamp": 1500, "correlation_id": {"internal": 4}, "dispatch_info": {"agent_id": {"handle": 600}, "queue_id": {"handle": 1}, "kernel_id": 3, "dispatch_id": 1, "workgroup_size": {"x": 64, "y": 1, "z": 1}, "grid_size": {"x": 256, "y": 2, "z": 1}}}],
 "hip_api": [{"kind": 1, "operation": 1, "thread_id": 78, "start_timestamp": 900, "end_timestamp": 950, "correlation_id": {"internal": 4}}],
 "memory_copy": [{"kind": 0, "operation": 0, "thread_id": 78, "start_timestamp": 100, "end_timestamp": 300, "bytes": 4096, "correlation_id": {"internal": 1}}]},
"kernel_symbols": [{"kernel_id": 3, "kernel_name": "_Z1kPf.kd", "formatted_kernel_name": "k(float*)"}],
"strings": {"buffer_records": [{"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_HOST_TO_DEVICE"]}, {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel"]}]}
}]}
`

func TestJSONOfVersionThree(t *testing.T) {
	r := parsertest.MustParse(t, "rocprofv3-json", "x.json", sdk)
	// By hand: two dispatches, one of them with a counter, a call and a copy.
	if len(r.Launches) != 4 || len(r.Regions) != 3 {
		t.Fatalf("%d launches, %+v", len(r.Launches), r.Regions)
	}
	l := r.Launches[0]
	if r.Region(l.Region).Short != "k" || l.Device != some(4) || l.Smem != some(512) || l.Regs != some(24) || l.Grid[1] != some(2) || l.PID != some(77) || l.Thread != some(78) || l.DurNs != some(600) || l.Sequence != some(3) || l.ToolID != "2" {
		t.Errorf("%+v", l)
	}
	if v := r.Value("k", "SQ_WAVES"); v != datasets.Some(64.0) || r.Value("hipLaunchKernel", "duration") != datasets.Some(50e-9) || r.Value("MEMORY_COPY_HOST_TO_DEVICE", "bytes") != datasets.Some(4096.0) {
		t.Errorf("%v", v)
	}
	n := 0
	for _, c := range r.Counters {
		if c.Metric == "duration" && r.Region(c.Region).Short == "k" {
			n++
		}
	}
	m := r.Machines[0]
	if n != 2 || m.GPU != "AMD Instinct MI250X" || m.Arch != "gfx90a" || m.CPU != "AMD EPYC 7A53" || m.Units != some(110) || m.Host != "node1" || r.Runs[0].Command != "./a -n 3" || r.Runs[0].Format != "rocprofv3-json" {
		t.Errorf("%d durations, %+v, %+v", n, m, r.Runs[0])
	}
	r = parsertest.MustParse(t, "rocprofv3-json", "x.json", strings.Replace(sdk, "64.0", "NaN", 1))
	for _, c := range r.Counters {
		if c.Metric == "SQ_WAVES" && (c.Status != datasets.StatusNA || c.Value.Valid || c.RawValue != "NaN") {
			t.Errorf("%+v", c)
		}
	}
	for content, want := range map[string]string{
		strings.Replace(sdk, "1500", "500", 1):    "x.json:10:", // the second dispatch
		strings.Replace(sdk, `64.0`, `"much"`, 1): "x.json:7:",
		sdk[:900]:                "x.json:7:",
		sdk + "{}":               "x.json:16:",
		`{"a": 1} trailing`:      "x.json:1:",
		`{"rocprofiler-sdk-tool`: "x.json:1:",
	} {
		_, err := parsertest.Parse("rocprofv3-json", "x.json", content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%.30q...: %v, want %s", content, err, want)
		}
	}
	f, sure, err := collectors.Detect(collectors.Head{Name: "x.json", Bytes: []byte(sdk), Whole: true})
	if f.Name != "rocprofv3-json" || sure != collectors.Certain || err != nil {
		t.Errorf("%s %v %v", f.Name, sure, err)
	}
}

// Calls may stand before dispatches, and several processes in one file.
func TestJSONOfSeveralProcesses(t *testing.T) {
	one, ok := strings.CutSuffix(strings.TrimPrefix(sdk, `{"rocprofiler-sdk-tool": [`), "]}\n")
	if !ok {
		t.Fatal("the text is another")
	}
	r := parsertest.MustParse(t, "rocprofv3-json", "x.json", `{"rocprofiler-sdk-tool": [`+one+","+strings.Replace(one, `"pid": 77`, `"pid": 99`, 1)+"]}")
	if len(r.Launches) != 8 || len(r.Regions) != 3 || r.Launches[7].PID != some(99) || r.Total("SQ_WAVES") != 128 {
		t.Errorf("%d launches, %d regions, %v", len(r.Launches), len(r.Regions), r.Total("SQ_WAVES"))
	}
}

func FuzzJSON(f *testing.F) {
	parsertest.Fuzz(f, "rocprofv3-json", sdk, `{"rocprofiler-sdk-tool": [{}]}`)
}
