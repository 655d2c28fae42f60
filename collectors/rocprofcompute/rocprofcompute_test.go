package rocprofcompute_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/rocprof"
	_ "github.com/rooflab/rooflab/collectors/rocprofcompute"
	"github.com/rooflab/rooflab/datasets"
)

func some(n int64) datasets.Null[int64] { return datasets.Some(n) }

func attr(r *parsertest.Records, launch int64, name string) string {
	for _, a := range r.Attributes {
		if a.Launch == launch && a.Name == name {
			return a.Value
		}
	}
	return ""
}

// channel sums a counter over a launch's channels.
func channels(metric string, launch int64) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum := 0.0
		for _, c := range r.Counters {
			if c.Metric == metric && c.Launch == launch && c.Instance != "" {
				sum += c.Value.V
			}
		}
		return sum
	}
}

func ceiling(level, device string, measured bool) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, c := range r.Ceilings {
			if c.Level == level && c.Measured == measured && strings.HasSuffix(c.Source, device) {
				return c.Value
			}
		}
		return "none"
	}
}

func TestRealSamples(t *testing.T) {
	const mi300, mi200 = "device_filter_MI300A_A1_", "vcopy_MI200_"
	const py = "python3: csv.DictReader of FILE, "
	metrics := func(r *parsertest.Records) any {
		n := 0
		for _, c := range r.Counters {
			if c.Launch == 1 {
				n++
			}
		}
		return n
	}
	parsertest.Facts(t, "../../../shared/samples/rocprof_compute", []parsertest.Fact{
		{File: mi300 + "pmc_perf.csv", What: "dispatches", Of: func(r *parsertest.Records) any { return len(r.Launches) }, Want: 3, How: "tail -n +2 FILE | wc -l"},
		{File: mi300 + "pmc_perf.csv", What: "hits of all channels, first dispatch", Of: channels("TCC_HIT", 1), Want: 65998.0, How: py + "sum of the row's TCC_HIT[n]"},
		{File: mi300 + "pmc_perf.csv", What: "values of a dispatch", Of: metrics, Want: 2062, How: py + "2110 columns, less 8 of the dispatch, XCC_Index, 2 times and 38 repeated ids, plus the duration"},
		{File: mi300 + "pmc_perf.csv", What: "wait", Of: func(r *parsertest.Records) any { return r.Value("vecCopy", "SQ_WAIT_ANY") }, Want: datasets.Some(12334507.0), How: py + "first row"},
		{File: mi300 + "pmc_perf.csv", What: "time of the first dispatch", Of: func(r *parsertest.Records) any { return r.Launches[0].DurNs }, Want: some(7731), How: "73843971999909-73843971992178, its last two cells"},
		{File: mi300 + "pmc_perf.csv", What: "machine", Of: func(r *parsertest.Records) any { return r.Machines[0].Arch + " " + r.Machines[0].Host }, Want: "gfx942 sh5-1w300-rg3-3", How: "sysinfo.csv beside it"},
		{File: mi300 + "sysinfo.csv", What: "clock", Of: func(r *parsertest.Records) any { return r.Machines[0].ClockHz }, Want: datasets.Some(2.1e9), How: "max_sclk 2100"},
		{File: mi300 + "sysinfo.csv", What: "compute units", Of: func(r *parsertest.Records) any { return r.Machines[0].Units }, Want: some(228), How: "cu_per_gpu"},
		{File: mi300 + "sysinfo.csv", What: "bandwidth", Of: ceiling("dram", "hbm_bw", false), Want: 5324.8e9, How: "hbm_bw 5324.8"},
		{File: mi300 + "sysinfo.csv", What: "a quoted cell with a comma", Of: func(r *parsertest.Records) any { return attr(r, 0, "sysinfo.sbios") }, Want: "American Megatrends International, LLC.RMO1002DS", How: "the eighth cell"},
		{File: mi300 + "timestamps.csv", What: "dispatches", Of: func(r *parsertest.Records) any { return len(r.Launches) }, Want: 3, How: "tail -n +2 FILE | wc -l"},
		{File: mi300 + "timestamps.csv", What: "process", Of: func(r *parsertest.Records) any { return r.Launches[0].PID }, Want: some(148592), How: "the fourth cell"},
		{File: mi300 + "timestamps.csv", What: "time", Of: func(r *parsertest.Records) any { return r.Total("duration") }, Want: 20269e-9, How: "7731+6329+6209"},
		{File: mi200 + "pmc_perf.csv", What: "hits of all channels, third dispatch", Of: channels("TCC_HIT", 3), Want: 70216.0, How: py + "sum of the row's TCC_HIT[n]"},
		{File: mi200 + "pmc_perf.csv", What: "measured bandwidth of device 1", Of: ceiling("dram", "device 1", true), Want: 1389.3043e9, How: "roofline.csv beside it"},
		{File: mi200 + "pmc_perf.csv", What: "counters whose names end in a number", Of: func(r *parsertest.Records) any {
			return r.Value("vecCopy", "SQC_DCACHE_REQ_READ_16") != (datasets.Null[float64]{})
		}, Want: true, How: "they are no repeated ids"},
		{File: mi200 + "roofline.csv", What: "matrix FP16 of device 0", Of: ceiling("fp16.tensor", "device 0", true), Want: 164938.17e9, How: "MFMAF16Flops, first row"},
		{File: mi200 + "roofline.csv", What: "FP64 of device 3", Of: ceiling("fp64", "device 3", true), Want: 20308.371e9, How: "FP64Flops, fourth row"},
		{File: mi200 + "roofline.csv", What: "ceilings", Of: func(r *parsertest.Records) any { return len(r.Ceilings) }, Want: 44, How: "11 columns without Low and High, 4 rows"},
		{File: mi200 + "roofline.csv", What: "the interval", Of: func(r *parsertest.Records) any { return attr(r, 0, "roofline.device0.hbmBwHigh") }, Want: "1389.4768", How: "first row"},
		{File: mi200 + "sysinfo.csv", What: "GPU", Of: func(r *parsertest.Records) any { return r.Machines[0].GPU }, Want: "MI200", How: "gpu_model"},
		{File: mi200 + "sysinfo.csv", What: "command", Of: func(r *parsertest.Records) any { return r.Runs[0].Command }, Want: "./tests/vcopy -n 1048576 -b 256 -i 3", How: "command"},
		{File: mi200 + "sysinfo.csv", What: "architecture", Of: func(r *parsertest.Records) any { return r.Machines[0].Arch }, Want: "gfx90a", How: "gpu_arch"},
		{File: mi200 + "timestamps.csv", What: "time of the first dispatch", Of: func(r *parsertest.Records) any { return r.Launches[0].DurNs }, Want: some(20480), How: "1411551767656192-1411551767635712"},
		{File: mi200 + "timestamps.csv", What: "kernel", Of: func(r *parsertest.Records) any { return r.Regions[0].Short }, Want: "vecCopy", How: "without [clone .kd]"},
		{File: mi200 + "timestamps.csv", What: "object", Of: func(r *parsertest.Records) any { return attr(r, 1, "obj") }, Want: "0x7fc6de634ec0", How: "obj"},
	}, nil)
}

const (
	counters = `Dispatch_ID,GPU_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Correlation_ID,SQ_WAVES,Wave_Size_1,Correlation_ID_1,TCC_HIT[0],TCC_HIT[1]
0,2,1024,64,0,0,8,4,16,64,"k(int) (.kd)",0,16.0,64,9,1.0,2.0
1,2,1024,64,0,0,8,4,16,64,"k(int) (.kd)",0,17.0,64,0,3.0,
`
	times = `Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID
1,2,1,5,5,1024,64,0,0,8,4,16,64,"k(int) (.kd)",100,150,0
2,2,1,5,5,1024,64,0,0,8,4,16,64,"k(int) (.kd)",200,270,0
`
	sysinfo  = "workload_name,command,version,hostname,gpu_model,gpu_arch,cu_per_gpu,max_sclk,max_mclk,hbm_bw\nw,./a,2,node,MI210,gfx90a,104,1700,1600,1638.4\n"
	roofline = "device,HBMBw,HBMBwLow,MALLBw,FP32Flops,I8Ops,MFMABF16Flops,MFMAF64Flops\n0,1300.5,1300.1,0,20000,40000,170000,41000\n"
)

// folder is a workload as the profiler leaves it.
func folder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"pmc_perf.csv": counters, "timestamps.csv": times, "sysinfo.csv": sysinfo, "roofline.csv": roofline} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestAWorkloadIsOneProfile(t *testing.T) {
	dir := folder(t)
	format, r, err := parsertest.ParseFile(t, filepath.Join(dir, "pmc_perf.csv"))
	if err != nil || format != "rocprof-compute" {
		t.Fatal(format, err)
	}
	parsertest.CheckReferences(t, r)
	// By hand from the four texts.
	if len(r.Runs) != 1 || len(r.Machines) != 1 || r.Machines[0].GPU != "MI210" || len(r.Ceilings) != 6 || r.Runs[0].Machine == 0 || r.Runs[0].Command != "./a" {
		t.Errorf("run %+v, machines %+v, ceilings %+v", r.Runs, r.Machines, r.Ceilings)
	}
	if l := r.Launches[1]; l.StartNs != some(200) || l.DurNs != some(70) || l.ToolID != "1" || attr(r, 0, "times") == "" || !strings.Contains(attr(r, 0, "scope"), "GCD") {
		t.Errorf("the times of timestamps.csv: %+v", l)
	}
	if attr(r, 1, "Correlation_ID_1") != "9" || attr(r, 2, "Correlation_ID_1") != "" {
		t.Errorf("repeated ids say something where they differ: %+v", r.Attributes)
	}
	for _, c := range r.Counters {
		if c.Metric == "TCC_HIT" && c.Launch == 2 && c.Instance == "1" && c.Status != datasets.StatusNA {
			t.Errorf("an empty cell is no 0: %+v", c)
		}
	}
	for _, want := range []struct {
		level, unit string
		value       float64
		measured    bool
	}{{"dram", "byte/s", 1638.4e9, false}, {"dram", "byte/s", 1300.5e9, true}, {"fp32", "flop/s", 2e13, true}, {"int8", "op/s", 4e13, true}, {"bf16.tensor", "flop/s", 1.7e14, true}, {"fp64.tensor", "flop/s", 4.1e13, true}} {
		found := false
		for _, c := range r.Ceilings {
			found = found || c.Level == want.level && c.Unit == want.unit && c.Value == want.value && c.Measured == want.measured
		}
		if !found {
			t.Errorf("no ceiling %+v in %+v", want, r.Ceilings)
		}
	}
}

func TestPartsAreImportedWhenNamedAndLeftToTheMainFileWhenFound(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"sysinfo.csv", "roofline.csv", "timestamps.csv"} {
		path := filepath.Join(dir, name)
		if _, r, err := parsertest.ParseFile(t, path); err != nil || len(r.Runs) != 1 {
			t.Errorf("%s by itself: %v", name, err)
		}
		_, _, err := collectors.ParseFile(context.Background(), path, collectors.Options{Found: true}, &parsertest.Records{})
		var part *collectors.PartError
		if !errors.As(err, &part) || part.Of != "pmc_perf.csv" {
			t.Errorf("%s found in a folder: %v", name, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "pmc_perf.csv")); err != nil {
		t.Fatal(err)
	}
	if _, _, err := collectors.ParseFile(context.Background(), filepath.Join(dir, "sysinfo.csv"), collectors.Options{Found: true}, &parsertest.Records{}); err != nil {
		t.Errorf("a part without its main file: %v", err)
	}
}

func TestCeilingsWithoutSysinfoAreOfAMachine(t *testing.T) {
	dir := folder(t)
	if err := os.Remove(filepath.Join(dir, "sysinfo.csv")); err != nil {
		t.Fatal(err)
	}
	_, r, err := parsertest.ParseFile(t, filepath.Join(dir, "pmc_perf.csv"))
	if err != nil || len(r.Ceilings) != 5 {
		t.Fatal(err, r.Ceilings)
	}
	parsertest.CheckReferences(t, r)
}

func TestLongTablesAndLongHeadersAreRead(t *testing.T) {
	long := `GPU_ID,Dispatch_ID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem,Arch_VGPR,Accum_VGPR,SGPR,Kernel_Name,Start_Timestamp,End_Timestamp,Kernel_ID,Counter_Name,Counter_Value
0,0,256,64,0,0,8,0,16,k,10,20,0,SQ_WAVES,4
0,0,256,64,0,0,8,0,16,k,10,20,0,SQ_BUSY_CYCLES,100
`
	path := filepath.Join(t.TempDir(), "pmc_perf.csv")
	if err := os.WriteFile(path, []byte(long), 0o600); err != nil {
		t.Fatal(err)
	}
	format, r, err := parsertest.ParseFile(t, path)
	if err != nil || format != "rocprof-compute" || len(r.Launches) != 1 || r.Total("SQ_BUSY_CYCLES") != 100 {
		t.Errorf("%s, %v, %+v", format, err, r.Launches)
	}
	var head, row strings.Builder
	io.WriteString(&head, strings.TrimSuffix(counters[:strings.IndexByte(counters, '\n')], "\n"))
	io.WriteString(&row, strings.Split(counters, "\n")[1])
	for i := range 6000 {
		fmt.Fprintf(&head, ",TCC_EA_RDREQ[%d]", i)
		fmt.Fprintf(&row, ",%d", i)
	}
	if head.Len() < collectors.HeadSize {
		t.Fatal("the header is shorter than what detection sees")
	}
	if err := os.WriteFile(path, []byte(head.String()+"\n"+row.String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	format, r, err = parsertest.ParseFile(t, path)
	if err != nil || format != "rocprof-compute" || r.Total("TCC_EA_RDREQ") != 5999*6000/2 {
		t.Errorf("%s, %v", format, err)
	}
}

func TestBrokenTablesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ format, content, want string }{
		"sysinfo without its row": {"rocprof-compute-sysinfo", "workload_name,command,gpu_arch\n", "x.csv:1:1: the table has no row"},
		"a clock that is none":    {"rocprof-compute-sysinfo", "workload_name,command,gpu_arch,max_sclk\na,b,gfx90a,fast\n", `x.csv:2:12: a property of the machine is no number: expected a number, found "fast"`},
		"a short row":             {"rocprof-compute-roofline", "device,HBMBw,L2Bw\n0,1\n", "x.csv:2:3: the row has not one cell per column: expected 3 cells, found 2"},
		"a cut row":               {"rocprof-compute-roofline", "device,HBMBw,L2Bw\n0,1,2", "x.csv:2:5: the last row has no line end, so its last cell may be cut"},
		"a bad ceiling":           {"rocprof-compute-roofline", "device,HBMBw,L2Bw\n0,1,x\n", `x.csv:2:5: a ceiling is no number: expected a number, found "x"`},
		"another table":           {"rocprof-compute-roofline", "a,b\n", "x.csv:1:1: the header is not that of this table"},
		"a short dispatch":        {"rocprof-compute", strings.Join(strings.Split(counters, "\n")[:1], "") + "\n1,2\n", "x.csv:2:3: the row has not one cell per column: expected 17 cells, found 2"},
	} {
		_, err := parsertest.Parse(c.format, "x.csv", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestCutTablesGiveAnErrorOrWhatIsWhole(t *testing.T) {
	parsertest.Truncations(t, "rocprof-compute", "pmc_perf.csv", counters, 2000)
	parsertest.Truncations(t, "rocprof-compute-timestamps", "timestamps.csv", times, 2000)
	parsertest.Truncations(t, "rocprof-compute-roofline", "roofline.csv", roofline, 2000)
}

func FuzzCounters(f *testing.F) { parsertest.Fuzz(f, "rocprof-compute", counters, times) }

func FuzzSysinfo(f *testing.F) { parsertest.Fuzz(f, "rocprof-compute-sysinfo", sysinfo) }

func FuzzRoofline(f *testing.F) { parsertest.Fuzz(f, "rocprof-compute-roofline", roofline) }
