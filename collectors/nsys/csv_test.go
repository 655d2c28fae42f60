package nsys_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// summary is what nsys stats prints with several reports, to one file.
const summary = `the program's own line
NOTICE: Existing SQLite export found: run.sqlite

Processing [run.sqlite] with [/opt/nsys/reports/cuda_gpu_kern_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
75.0,9000,3,3000.0,2900.0,2800,3300,264.6,"void ns::axpy<float, 4>(float const*, int)"
25.0,3000,1,3000.0,3000.0,3000,3000,0.0,fill(int)

Processing [run.sqlite] with [/opt/nsys/reports/cuda_gpu_mem_time_sum.py]...
Time (%),Total Time (us),Count,Avg (us),Med (us),Min (us),Max (us),StdDev (us),Operation
100.0,12.5,2,6.25,6.25,5,7.5,1.8,[CUDA memcpy Host-to-Device]

Processing [run.sqlite] with [/opt/nsys/reports/cuda_gpu_mem_size_sum.py]...
Total (MB),Count,Avg (MB),Med (MB),Min (MB),Max (MB),StdDev (MB),Operation
8.389,2,4.194,4.194,4.194,4.194,0.000,[CUDA memcpy Host-to-Device]

Processing [run.sqlite] with [/opt/nsys/reports/cuda_api_sum.py]...
Time (%),Total Time (ns),Num Calls,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
100.0,500000,4,125000.0,1000.0,900,480000,nan,cudaLaunchKernel_v7000

Processing [run.sqlite] with [/opt/nsys/reports/nvtx_sum.py]...
Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Style,Range
100.0,700,1,700.0,700.0,700,700,0.0,PushPop,:step

Processing [run.sqlite] with [/opt/nsys/reports/osrt_sum.py]...
SKIPPED: run.sqlite does not contain OS Runtime trace data.
`

func TestStackedSummariesAreRegionsWithCounters(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "stats.csv", summary)
	// Read off the text above: 8 numbers a row for the times, 7 for the sizes.
	kinds := map[string]string{}
	for _, g := range r.Regions {
		kinds[g.Short] = g.Kind
	}
	want := map[string]string{"axpy": "kernel", "fill": "kernel", "[CUDA memcpy Host-to-Device]": "range", "cudaLaunchKernel": "function", ":step": "range"}
	if len(kinds) != len(want) || len(r.Regions) != 5 || len(r.Launches) != 0 {
		t.Errorf("regions %v", kinds)
	}
	for name, kind := range want {
		if kinds[name] != kind {
			t.Errorf("%s is a %q, want %q", name, kinds[name], kind)
		}
	}
	if len(r.Counters) != 5*8+7 {
		t.Errorf("%d counters", len(r.Counters))
	}
	for _, c := range []struct {
		kernel, metric, instance, unit, raw string
		value                               float64
	}{
		{"axpy", "Total Time", "cuda_gpu_kern_sum", "s", "9000", 9e-6},
		{"axpy", "Time", "cuda_gpu_kern_sum", "%", "75.0", 75},
		{"axpy", "Instances", "cuda_gpu_kern_sum", "", "3", 3},
		{"[CUDA memcpy Host-to-Device]", "Total Time", "cuda_gpu_mem_time_sum", "s", "12.5", 1.25e-5},
		{"[CUDA memcpy Host-to-Device]", "Total", "cuda_gpu_mem_size_sum", "byte", "8.389", 8.389e6},
		{":step", "Max", "nvtx_sum", "s", "700", 7e-7},
	} {
		found := false
		for _, got := range r.Counters {
			if got.Metric == c.metric && got.Instance == c.instance && r.Region(got.Region).Short == c.kernel {
				found = true
				if got.Value != datasets.Some(c.value) || got.Unit != c.unit || got.RawValue != c.raw {
					t.Errorf("%s of %s is %+v, want %v %s", c.metric, c.kernel, got, c.value, c.unit)
				}
			}
		}
		if !found {
			t.Errorf("there is no %s of %s", c.metric, c.kernel)
		}
	}
	run := r.Runs[0]
	if run.TimeMetric != "Total Time" || run.Status != datasets.RunOK || len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "OS Runtime") {
		t.Errorf("run %+v, warnings %v", run, r.Warnings)
	}
	na := 0
	for _, c := range r.Counters {
		if c.Status == datasets.StatusNA && c.RawValue == "nan" {
			na++
		}
	}
	if na != 1 {
		t.Errorf("%d values are n/a, want the one nan", na)
	}
}

func TestOldTitlesAreRead(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "old.csv", `Time(%),Total Time (ns),Instances,Average,Minimum,Maximum,Name
100.0,4000,2,2000.0,1000,3000,k<1,2>(int,float)

Processing [x.sqlite] with [gpumemsizesum.py]...
Total,Operations,Average,Minimum,Maximum,Operation
4.0,2,2.0,1.0,3.0,[CUDA memcpy HtoD]
`)
	if v := r.Value("k", "Average"); v != datasets.Some(2e-6) {
		t.Errorf("the average, whose title has no unit, is %v, want that of the total: 2 us", v)
	}
	if r.Regions[0].Raw != "k<1,2>(int,float)" { // not quoted, and as it stands there
		t.Errorf("%+v", r.Regions[0])
	}
	if v := r.Value("[CUDA memcpy HtoD]", "Total"); v != datasets.Some(4096.0) {
		t.Errorf("the total in KiB is %v", v)
	}
}

const trace = `Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name
500,100,7,,,,,,,,,,4.194,6337.593,Pinned,Device,NVIDIA H100 PCIe (1),1,,13,[CUDA memcpy Host-to-Device]
900,60,9,64,2,1,256,1,1,32,0.002,0.000,,,,,NVIDIA H100 PCIe (1),1,,13,"void f<1, 2>(int)"
700,50,8,64,2,1,256,1,1,32,0.002,0.000,,,,,NVIDIA H100 PCIe (1),1,,13,"void f<1, 2>(int)"
`

func TestTracesAreLaunches(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "trace.csv", trace)
	if len(r.Launches) != 3 || len(r.Regions) != 2 || r.Machines[0].GPU != "NVIDIA H100 PCIe" {
		t.Fatalf("%d launches, %d regions, machines %+v", len(r.Launches), len(r.Regions), r.Machines)
	}
	c, late, early := r.Launches[0], r.Launches[1], r.Launches[2]
	if late.Sequence != some(1) || early.Sequence != some(0) || c.Sequence != some(0) {
		t.Errorf("kernels are numbered among kernels in order of start: %v %v %v", late.Sequence, early.Sequence, c.Sequence)
	}
	if late.ToolID != "9" || late.Device != some(1) || late.Stream != some(13) || late.Context != some(1) || late.Regs != some(32) || late.StartNs != some(900) || late.DurNs != some(60) ||
		late.Grid != [3]datasets.Null[int64]{some(64), some(2), some(1)} || late.Smem.Valid {
		t.Errorf("%+v", late)
	}
	if v := r.Value("f", "StcSMem"); v != datasets.Some(2000.0) {
		t.Errorf("static shared memory %v", v)
	}
	if v := r.Value("[CUDA memcpy Host-to-Device]", "Throughput"); v != datasets.Some(6.337593e9) {
		t.Errorf("throughput %v", v)
	}
	if r.Runs[0].TimeMetric != "duration" || r.Total("duration") != 100e-9+60e-9+50e-9 {
		t.Errorf("duration %v", r.Total("duration"))
	}
}

func TestPushedRangesAreATree(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "nvtx.csv", `Start (ns),End (ns),Duration (ns),DurChild (ns),DurNonChild (ns),Name,PID,TID,Lvl,NumChild,RangeId,ParentId,RangeStack,NameTree
10,110,100,40,60,:outer,5,6,0,1,1,,:1,:outer
20,60,40,0,40,:inner,5,6,1,0,2,1,:1:2,--:inner
`)
	if len(r.Regions) != 2 || r.Path(r.Launches[1].Region) != ":outer/:inner" || r.Launches[1].Thread != some(6) {
		t.Errorf("%+v", r.Regions)
	}
}

func TestBrokenSheetsAreNamed(t *testing.T) {
	head, _, _ := strings.Cut(trace, "\n")
	for name, c := range map[string]struct{ content, want string }{
		"no table":     {"hello\n", "no.csv:1:1: there is no table of nsys stats"},
		"short row":    {head + "\n1,2,3\n", "no.csv:2:5: the row has not one cell per column: expected 21 cells, found 3"},
		"cut header":   {strings.TrimSuffix(head, "e"), "no.csv:1:1: there is no table"},
		"bad number":   {"Time (%),Total Time (ns),Instances,Name\n1,x,3,k\n", `no.csv:2:3: the value of Total Time is no number: expected a number with a decimal point, found "x"`},
		"bad grid":     {head + "\n" + `1,2,3,a,1,1,1,1,1,1,0,0,,,,,GPU,1,,7,k` + "\n", `no.csv:2:7: the cell is no whole number: expected a whole number, found "a"`},
		"no start":     {head + "\n" + `,2,3,1,1,1,1,1,1,1,0,0,,,,,GPU,1,,7,k` + "\n", "no.csv:2:1: an event without a start"},
		"nameless row": {"Time (%),Total Time (ns),Instances,Name\n1,2,3,\n", "no.csv:2:7: a row without a name"},
	} {
		_, err := parsertest.Parse("nsys-csv", "no.csv", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestEmptySheetsSaySo(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "e.csv", "Processing [a.sqlite] with [cuda_gpu_kern_sum.py]... \nSKIPPED: a.sqlite does not contain CUDA kernel data.\n")
	if run := r.Runs[0]; run.Status != datasets.RunEmpty || !strings.Contains(run.Error, "does not contain CUDA kernel data") {
		t.Errorf("%+v", run)
	}
}

func TestDetectionOfSheets(t *testing.T) {
	for content, want := range map[string]collectors.Confidence{
		summary: collectors.Certain,
		trace:   collectors.Certain,
		"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n":                                     collectors.No,
		"\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n":                  collectors.No,
		"name,iterations,real_time,cpu_time,time_unit\n":                                                            collectors.No,
		"\"Kernel Name\",\"traffic\",\"dpAI\",\"spAI\",\"xtime\",\"Block Size\",\"Grid Size\"\n\"k\",1,2,3,4,5,6\n": collectors.No,
	} {
		f, err := collectors.Lookup("nsys-csv")
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Detect(collectors.Head{Name: "x.csv", Bytes: []byte(content), Whole: true}); got != want {
			t.Errorf("%.40q: %v, want %v", content, got, want)
		}
	}
}

func TestCutSheetsGiveAnErrorOrWhatIsWhole(t *testing.T) {
	parsertest.Truncations(t, "nsys-csv", "summary", summary, 1500)
	parsertest.Truncations(t, "nsys-csv", "trace", strings.Replace(trace, "900,60", "600,60", 1), 1500)
}

func FuzzCSV(f *testing.F) {
	parsertest.Fuzz(f, "nsys-csv", summary, trace, "Time(%),Total Time (ns),Instances,Average,Name\n1,2,3,4,k(a, b)\n")
}

// The projection of NVTX ranges counts their instances under a name of its own.
func TestRangesProjectedOntoTheGPU(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "nvtx_gpu_proj_sum.csv", `Range,Style,Total Proj Time (ns),Total Range Time (ns),Range Instances,Proj Avg (ns),Proj Med (ns),Proj Min (ns),Proj Max (ns),Proj StdDev (ns),Total GPU Ops,Avg GPU Ops,Avg Range Lvl,Avg Num Child
:forward,PushPop,5000,7000,2,2500.0,2500.0,2000,3000,707.1,8,4.0,1.0,2.0
`)
	for metric, want := range map[string]float64{"Total Proj Time": 5e-6, "Total Range Time": 7e-6, "Range Instances": 2, "Total GPU Ops": 8, "Avg Num Child": 2} {
		if v := r.Value(":forward", metric); v != datasets.Some(want) {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
	if r.Regions[0].Kind != datasets.KindRange || r.Runs[0].TimeMetric != "Total Proj Time" {
		t.Errorf("%+v", r.Regions)
	}
}

// The values of two profiles do not add up.
func TestReportsThatComeAgainStayApart(t *testing.T) {
	const report = "Processing [a.sqlite] with [reports/cuda_gpu_kern_sum.py]...\nTime (%),Total Time (ns),Instances,Avg (ns),Name\n100.0,100,1,100.0,k\n\n"
	const bare = "Time(%),Total Time (ns),Calls,Average,Name\n100.0,7,1,7.0,f\n\n"
	r := parsertest.MustParse(t, "nsys-csv", "x.csv", report+bare+report+bare)
	got := map[string]float64{}
	for _, c := range r.Counters {
		if c.Metric == "Total Time" {
			got[r.Region(c.Region).Raw+" "+c.Instance] += c.Value.V
		}
	}
	want := map[string]float64{"k cuda_gpu_kern_sum": 100e-9, "k cuda_gpu_kern_sum #2": 100e-9, "f ": 7e-9, "f #2": 7e-9}
	if !maps.Equal(got, want) || len(r.Warnings) != 1 {
		t.Errorf("%v, want %v; %v", got, want, r.Warnings)
	}
}
