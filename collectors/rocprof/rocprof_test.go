package rocprof_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/rocprof"
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

func TestRealSamples(t *testing.T) {
	launches := func(r *parsertest.Records) any { return len(r.Launches) }
	regions := func(r *parsertest.Records) any { return len(r.Regions) }
	const dir = "../../../shared/samples/rocprof"
	parsertest.Facts(t, dir, []parsertest.Fact{
		{File: "rocprofv3_counter_collection.csv", What: "dispatches", Of: launches, Want: 7, How: "tail -n +2 FILE | wc -l: one counter, so a row per dispatch"},
		{File: "rocprofv3_counter_collection.csv", What: "the sum of SQ_WAVES", Of: func(r *parsertest.Records) any { return r.Total("SQ_WAVES") }, Want: 114688.0, How: "awk -F, '{s+=$NF} END {print s}' FILE"},
		{File: "rocprofv3_counter_collection.csv", What: "kernels", Of: regions, Want: 3, How: "three names by eye"},
		{File: "rocprofv3_counter_collection.csv", What: "place of dispatch 5", Of: func(r *parsertest.Records) any { return r.Launches[2].Sequence }, Want: some(3), How: "the ids are 1 2 5 9 13 3 6: 5 is the fourth of them in order"},
		{File: "rocprofv3_kernel_trace.csv", What: "dispatches", Of: launches, Want: 7, How: "tail -n +2 FILE | wc -l"},
		{File: "rocprofv3_kernel_trace.csv", What: "time of the kernels", Of: func(r *parsertest.Records) any { return r.Total("duration") }, Want: 795453e-9,
			How: "python3: sum(int(r['End_Timestamp'])-int(r['Start_Timestamp']) for r in csv.DictReader(open(FILE)))"},
		{File: "rocprofv3_kernel_trace.csv", What: "first dispatch", Of: func(r *parsertest.Records) any {
			l := r.Launches[0]
			return fmt.Sprint(r.Regions[0].Short, l.Grid, l.Block, l.Thread, l.Stream, l.Smem, l.StartNs, attr(r, 1, "Correlation_Id"))
		}, Want: fmt.Sprint("addition_kernel", [3]datasets.Null[int64]{some(1024), some(1024), some(1)}, [3]datasets.Null[int64]{some(64), some(1), some(1)}, some(69), some(1), some(0), some(8819330200067564), "1451"), How: "the second line of the file"},
		{File: "rocprofv3_hip_api_stats.csv", What: "functions", Of: regions, Want: 17, How: "grep -c '^\"hip\\|^\"__hip' FILE"},
		{File: "rocprofv3_hip_api_stats.csv", What: "time of all calls", Of: func(r *parsertest.Records) any { return r.Total("TotalDurationNs") }, Want: 0.308269675, How: "python3: sum(int(r['TotalDurationNs']) for r in csv.DictReader(open(FILE))), ns"},
		{File: "rocprofv3_hip_api_stats.csv", What: "share of hipFree", Of: func(r *parsertest.Records) any { return r.Value("hipFree", "Percentage") }, Want: datasets.Some(0.6470), How: "the line of hipFree"},
		{File: "rocprofv3_hip_api_stats.csv", What: "the last line, which has no end and is whole", Of: func(r *parsertest.Records) any { return r.Value("hipSetDevice", "TotalDurationNs") }, Want: datasets.Some(660e-9), How: "the last line"},
		{File: "rocprofv3_hsa_api_trace.csv", What: "calls", Of: launches, Want: 10, How: "tail -n +2 FILE | wc -l"},
		{File: "rocprofv3_hsa_api_trace.csv", What: "time of hsa_amd_agent_iterate_memory_pools", Of: func(r *parsertest.Records) any { return r.Value("hsa_amd_agent_iterate_memory_pools", "duration") }, Want: datasets.Some(10470e-9), How: "1507843974769238-1507843974758768, its line"},
		{File: "rocprofv3_hsa_api_trace.csv", What: "its place in order of start", Of: func(r *parsertest.Records) any { return r.Launches[8].Sequence }, Want: some(2), How: "only two calls start before ...758768"},
		{File: "rocprofv3_marker_api_trace.csv", What: "markers", Of: launches, Want: 5, How: "tail -n +2 FILE | grep -c ."},
		{File: "rocprofv3_marker_api_trace.csv", What: "kind", Of: func(r *parsertest.Records) any { return r.Regions[0].Kind }, Want: datasets.KindRange, How: "markers are ranges"},
		{File: "rocprofv3_marker_api_trace.csv", What: "the last line, which has no end", Of: func(r *parsertest.Records) any { return r.Launches[4].DurNs }, Want: some(1813674), How: "python3: the difference of the last line's two times"},
		{File: "rocprofv3_memory_copy_trace.csv", What: "copies", Of: launches, Want: 2, How: "by eye"},
		{File: "rocprofv3_memory_copy_trace.csv", What: "time from host to device", Of: func(r *parsertest.Records) any { return r.Launches[0].DurNs }, Want: some(563880), How: "14955950239443-14955949675563"},
		{File: "rocprofv3_memory_copy_trace.csv", What: "where it went", Of: func(r *parsertest.Records) any { return attr(r, 1, "Destination_Agent_Id") }, Want: "1", How: "the fourth cell"},
	}, nil)
}

const v1 = `"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","arch_vgpr","accum_vgpr","sgpr","wave_size","sig","obj","SQ_WAVES","FETCH_SIZE","TCC_HIT[0]","TCC_HIT[1]","L2CacheHit","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"
0,"void body<4>(float*, int) [clone .kd]",2,1,0,350,351,65536,256,512,16,20,4,16,64,"0x0","0x7f7b27c04500",1024.0000000000,2.5000000000,7.0000000000,8.0000000000,nan,900,1000,3000,3100,2000
1,"_Z4fillPfi.kd",2,1,2,350,351,0x100,64,0,0,8,0,16,64,"0x0","0x7f7b27c04540",4.0000000000,0.0000000000,1.0000000000,2.0000000000,50.0000000000,3000,4000,4500,4600,500
`

func TestVersionOne(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "results.csv", v1)
	l, g := r.Launches[0], r.Regions[0]
	if g.Short != "body" || g.Raw != "void body<4>(float*, int) [clone .kd]" || r.Regions[1].Short != "fill" || r.Regions[1].Mangled != "_Z4fillPfi" {
		t.Errorf("regions %+v", r.Regions)
	}
	if l.Device != some(2) || l.Stream != some(1) || l.PID != some(350) || l.Thread != some(351) || l.Grid[0] != some(65536) || l.Grid[1].Valid || l.Block[0] != some(256) || l.Smem != some(512) ||
		l.Regs != some(20) || l.ToolID != "0" || l.StartNs != some(1000) || l.DurNs != some(2000) || attr(r, 1, "obj") != "0x7f7b27c04500" {
		t.Errorf("%+v", l)
	}
	if r.Launches[1].Grid[0] != some(256) {
		t.Errorf("a size in hexadecimal: %+v", r.Launches[1])
	}
	// FETCH_SIZE is in KiB: 2.5 of them are 2560 bytes.
	for metric, want := range map[string]float64{"SQ_WAVES": 1024, "FETCH_SIZE": 2560, "DurationNs": 2e-6, "duration": 2e-6, "accum_vgpr": 4, "scr": 16, "TCC_HIT": 7} {
		if v := r.Value("body", metric); v != datasets.Some(want) {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
	for _, c := range r.Counters {
		if c.Metric == "TCC_HIT" && c.Launch == 1 && (c.Instance == "1") != (c.Value.V == 8) {
			t.Errorf("channel %+v", c)
		}
		if c.Metric == "L2CacheHit" && (c.Unit != "%" || (c.Launch == 1) != (c.Status == datasets.StatusNA)) {
			t.Errorf("%+v", c)
		}
	}
	if run := r.Runs[0]; run.FormatVersion != "v1" || run.TimeMetric != "duration" || attr(r, 0, "grid") == "" {
		t.Errorf("%+v", run)
	}
}

const v2head = "Dispatch_ID,GPU_ID,Queue_ID,Queue_Index,PID,TID,GRD,WGR,LDS,SCR,Arch_VGPR,ACCUM_VGPR,SGPR,Wave_Size,SIG,OBJ,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID,GRBM_COUNT\n"

func TestVersionTwoWithRowsShorterThanTheHeader(t *testing.T) {
	for name, row := range map[string]string{
		"as long":             `1,4,1,7,15,16,1024,64,0,0,8,0,16,64,140464978048000,1,"hello(char*, char*) (.kd)",100,900,33,12637.000000`,
		"without SIG and OBJ": `1,4,1,7,15,16,1024,64,0,0,8,0,16,64,"hello(char*, char*) (.kd)",100,900,33,12637.000000`,
		"without times":       `1,4,1,7,15,16,1024,64,0,0,8,0,16,64,140464978048000,1,"hello(char*, char*) (.kd)",33,12637.000000`,
	} {
		r := parsertest.MustParse(t, "rocprof-csv", name, v2head+"\n"+row+"\n")
		l := r.Launches[0]
		if r.Regions[0].Short != "hello" || l.Device != some(4) || l.Thread != some(16) || l.Regs != some(8) || l.DurNs.Valid == (name == "without times") || attr(r, 1, "Correlation_ID") != "33" ||
			(attr(r, 1, "SIG") == "") != (name == "without SIG and OBJ") {
			t.Errorf("%s: %+v, %+v", name, l, r.Attributes)
		}
		if v := r.Value("hello", "GRBM_COUNT"); v != datasets.Some(12637.0) || r.Runs[0].FormatVersion != "v2" {
			t.Errorf("%s: %v", name, v)
		}
		if (name == "as long") != (len(r.Warnings) == 0) {
			t.Errorf("%s: warnings %v", name, r.Warnings)
		}
	}
	// A row that lacks something else is not guessed at.
	_, err := parsertest.Parse("rocprof-csv", "x.csv", v2head+`1,4,1,15,16,1024,64,0,0,8,0,16,64,140464978048000,"hello (.kd)",100,900,33,12637.0`+"\n")
	if err == nil || !strings.HasPrefix(err.Error(), "x.csv:2:") || !strings.Contains(err.Error(), "expected 21 cells, found 19") {
		t.Errorf("%v", err)
	}
}

const counters3 = `"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size","LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"
1,1,"Agent 4",2,31,32,4096,5,"init",1024,0,0,12,4,32,"OccupancyPercent",48.846775,2000,2500
1,1,"Agent 4",2,31,32,4096,5,"init",1024,0,0,12,4,32,"SQ_WAVES",64,2000,2500
2,2,"Agent 4",2,31,32,4096,5,"init",1024,0,0,12,4,32,"SQ_WAVES",1.68555351e-01,1000,1400
1,1,"Agent 4",2,31,32,4096,5,"init",1024,0,0,12,4,32,"SQ_WAVES",65,2000,2500
1,1,"Agent 4",2,77,32,4096,5,"init",1024,0,0,12,4,32,"SQ_WAVES",66,3000,3500
`

func TestLongCountersAreJoinedByDispatch(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "1_counter_collection.csv", counters3)
	if len(r.Launches) != 3 || r.Launches[0].Sequence != some(1) || r.Launches[1].Sequence != some(0) || r.Launches[2].PID != some(77) || r.Launches[0].Device != some(4) || attr(r, 1, "Agent_Id") != "Agent 4" {
		t.Errorf("%+v", r.Launches)
	}
	var got []string
	n := map[string]int{}
	for _, c := range r.Counters {
		n[c.Metric]++
		if c.Metric == "SQ_WAVES" {
			got = append(got, fmt.Sprintf("%d%s %v", c.Launch, c.Instance, c.Value.V))
		}
	}
	if fmt.Sprint(got) != "[1 64 2 0.168555351 1#2 65 3 66]" || n["duration"] != 3 || n["SGPR_Count"] != 3 || n["OccupancyPercent"] != 1 {
		t.Errorf("%v %v", got, n)
	}
}

func TestOtherTables(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "m.csv", `"Kind","Operation","Agent_Id","Allocation_Size","Address","Correlation_Id","Start_Timestamp","End_Timestamp"
"MEMORY_ALLOCATION","MEMORY_ALLOCATION_ALLOCATE","Agent 1",4096,"0x7f",3,10,30
`)
	if v := r.Value("MEMORY_ALLOCATION_ALLOCATE", "Allocation_Size"); v != datasets.Some(4096.0) || r.Launches[0].DurNs != some(20) || r.Launches[0].ToolID != "3" {
		t.Errorf("%v, %+v", v, r.Launches[0])
	}
	r = parsertest.MustParse(t, "rocprof-csv", "hip.csv", "Domain,Function,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\n\nHIP_API_DOMAIN,hipMalloc,,100,160,2\n")
	if g := r.Regions[0]; g.Kind != datasets.KindFunction || g.Module != "HIP_API_DOMAIN" || r.Launches[0].DurNs != some(60) {
		t.Errorf("%+v", g)
	}
	r = parsertest.MustParse(t, "rocprof-csv", "results.stats.csv", "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"void f<1>(int) [clone .kd]\",2,3000,1500,100.0\n")
	if v := r.Value("f", "AverageNs"); v != datasets.Some(1.5e-6) {
		t.Errorf("%v", v)
	}
	r = parsertest.MustParse(t, "rocprof-csv", "e.csv", `"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"`+"\n")
	if run := r.Runs[0]; run.Status != datasets.RunEmpty || run.Error == "" {
		t.Errorf("a table without rows: %+v", run)
	}
}

func TestAgentsBesideATraceAreItsMachine(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"7_kernel_trace.csv": `"Kind","Agent_Id","Queue_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp","Workgroup_Size_X","Workgroup_Size_Y","Workgroup_Size_Z","Grid_Size_X","Grid_Size_Y","Grid_Size_Z"
"KERNEL_DISPATCH",1,1,3,"k",5,100,150,64,1,1,128,2,1
`,
		"7_agent_info.csv": `"Node_Id","Logical_Node_Id","Agent_Type","Cu_Count","Max_Engine_Clk_Fcompute","Name","Vendor_Name","Product_Name","Model_Name"
0,0,"CPU",24,3800,"AMD Ryzen","CPU","AMD Ryzen",""
1,1,"GPU",104,1700,"gfx90a","AMD","AMD Instinct MI210","aldebaran"
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"7_kernel_trace.csv", "7_agent_info.csv"} {
		_, r, err := parsertest.ParseFile(t, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if m := r.Machines[0]; m.GPU != "AMD Instinct MI210" || m.Arch != "gfx90a" || m.CPU != "AMD Ryzen" || m.Units != some(104) || m.ClockHz != datasets.Some(1.7e9) || r.Runs[0].Machine != m.ID {
			t.Errorf("%s: %+v", name, m)
		}
		parsertest.CheckReferences(t, r)
	}
}

func TestBrokenTablesAreNamed(t *testing.T) {
	head, _, _ := strings.Cut(counters3, "\n")
	trace := `"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"` + "\n"
	for name, c := range map[string]struct{ content, want string }{
		"no table":       {"a,b\n", "x.csv:1:1: there is no table of rocprof"},
		"short":          {trace + "\"HIP\",\"f\",1\n", "x.csv:2:11: the row has not one cell per column: expected 7 cells, found 3"},
		"too long":       {trace + "\"HIP\",\"f\",1,2,3,-10,9223372036854775807\n", "x.csv:2:21: the event lasts longer than 292 years"},
		"ends early":     {trace + "\"HIP\",\"f\",1,2,3,100,90\n", `x.csv:2:21: the event ends before it starts: expected at least 100, found "90"`},
		"no number":      {trace + "\"HIP\",\"f\",1,x,3,100,190\n", `x.csv:2:13: the cell is no whole number: expected a whole number, found "x"`},
		"nameless":       {trace + "\"HIP\",\"\",1,2,3,100,190\n", "x.csv:2:7: a row without a name"},
		"bad value":      {head + "\n" + `1,1,1,2,31,32,4096,5,"init",1024,0,0,12,4,32,"A",1;5,2000,2500` + "\n", "x.csv:2:50: the value of A is no number"},
		"two kernels":    {head + "\n" + `1,1,1,2,31,32,4096,5,"init",1024,0,0,12,4,32,"A",1,2000,2500` + "\n" + `1,1,1,2,31,32,4096,5,"other",1024,0,0,12,4,32,"B",1,2000,2500` + "\n", "x.csv:3:1: this dispatch has another kernel than in an earlier row"},
		"another table":  {trace + head + "\n", "x.csv:2:1: a table of another kind begins here"},
		"cut in a quote": {trace + "\"HIP\",\"f", "x.csv:2:7: the file ends within a quoted cell"},
	} {
		_, err := parsertest.Parse("rocprof-csv", "x.csv", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	var refused *collectors.UnsupportedError
	if _, err := parsertest.Parse("rocprof-csv", "s.csv", "\"Sample_Timestamp\",\"Exec_Mask\",\"Dispatch_Id\",\"Instruction\",\"Instruction_Comment\",\"Correlation_Id\"\n"); !errors.As(err, &refused) {
		t.Errorf("PC samples: %v", err)
	}
	if f, _, _ := collectors.Detect(collectors.Head{Bytes: []byte("SQLite format 3\x00 CREATE TABLE rocpd_string")}); f.Name != "rocpd" {
		t.Errorf("a rocpd database is taken for %s", f.Name)
	}
}

func TestTheLastRowWithoutAnEnd(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "x.csv", strings.TrimSuffix(v1, "\n"))
	if len(r.Launches) != 1 || len(r.Warnings) != 1 {
		t.Errorf("a last cell that may be cut: %d launches, %v", len(r.Launches), r.Warnings)
	}
}

func TestALastCellLikeTheOneAboveIsKept(t *testing.T) {
	const head = `"Kind","Agent_Id","Kernel_Name","Start_Timestamp","End_Timestamp","Workgroup_Size_X","Grid_Size_X","Grid_Size_Z"` + "\n"
	const row = `"KERNEL_DISPATCH","Agent 4","add",100,300,64,1024,1`
	r := parsertest.MustParse(t, "rocprof-csv", "x.csv", head+row+"\n"+strings.Replace(row, "100,300", "400,450", 1))
	if len(r.Launches) != 2 || r.Launches[1].DurNs != some(50) || len(r.Warnings) != 1 {
		t.Errorf("%d launches, %v", len(r.Launches), r.Warnings)
	}
	for name, content := range map[string]string{
		"the only row": head + row,
		"another cell": head + row + "\n" + strings.TrimSuffix(row, "1") + "2",
	} {
		r := parsertest.MustParse(t, "rocprof-csv", "x.csv", content)
		if len(r.Launches) != strings.Count(content, "KERNEL")-1 || len(r.Warnings) == 0 {
			t.Errorf("%s: %d launches, %v", name, len(r.Launches), r.Warnings)
		}
	}
}

// Tables of rocpd convert begin with the id of the node and process.
func TestTablesFromADatabase(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "out_hip_api_trace.csv", `"Guid","Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
"00ab-cd","HIP_RUNTIME_API_EXT","hipMalloc",137,138,4,1000,1700
`)
	if r.Value("hipMalloc", "duration") != datasets.Some(700e-9) || attr(r, 1, "Guid") != "00ab-cd" {
		t.Errorf("%+v %+v", r.Counters, r.Attributes)
	}
}

func TestDispatchesWithoutTheirNumbers(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "x.csv", `"KernelName","gpu-id","grd","wgr","BeginNs","EndNs","VALUUtilization"
"gemm","0","65536","256","200","300","72.5"
"gemm","0","65536","256","100","150","70"
`)
	if len(r.Launches) != 2 || r.Launches[0].Sequence != some(1) || r.Value("gemm", "VALUUtilization") != datasets.Some(72.5) {
		t.Errorf("%+v %+v", r.Launches, r.Counters)
	}
}

// Means of the times of several passes have fractions of a nanosecond.
func TestTimesWithFractions(t *testing.T) {
	const head = "Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Workgroup_Size,SQ_WAVES,Start_Timestamp,End_Timestamp\n"
	r := parsertest.MustParse(t, "rocprof-csv", "x.csv", head+"0,k,0,256,64,4.0,41551895758129.75,41551895758630.25\n1,k,0,256,64,4.0,41551895758000.0,41551895758100.0\n")
	l := r.Launches[0]
	if l.StartNs != some(41551895758130) || l.DurNs != some(501) || l.Sequence != some(1) || r.Launches[1].DurNs != some(100) {
		t.Errorf("%+v", r.Launches)
	}
	if v := r.Value("k", "duration"); v != datasets.Some(500.5*1e-9) {
		t.Errorf("%v", v)
	}
	_, err := parsertest.Parse("rocprof-csv", "x.csv", head+"0,k,0,256,64,4.0,200.5,100.5\n")
	if err == nil || !strings.HasPrefix(err.Error(), "x.csv:2:24: the event ends before it starts") {
		t.Errorf("%v", err)
	}
}

func TestTracesOfVersionTwo(t *testing.T) {
	const calls = "Domain,Function,Start_Timestamp,End_Timestamp,Correlation_ID\n\nHIP_API_DOMAIN,\"hipMalloc\",100,150,1\n"
	r := parsertest.MustParse(t, "rocprof-csv", "hip_api_trace_7.csv", calls+"HIP_API_DOMAIN,\"hipLaunchKernel\",\"fill<int>(int*, int)\",200,260,2\nHIP_API_DOMAIN,\"hipFree\",300,310,3\n")
	if len(r.Launches) != 3 || r.Launches[1].ToolID != "2" || r.Launches[1].DurNs != some(60) || r.Value("hipLaunchKernel", "duration") != datasets.Some(60e-9) {
		t.Errorf("%+v", r.Launches)
	}
	if attr(r, 2, "Kernel_Name") != "fill<int>(int*, int)" || attr(r, 1, "Kernel_Name") != "" || attr(r, 3, "Kernel_Name") != "" {
		t.Errorf("%+v", r.Attributes)
	}
	_, err := parsertest.Parse("rocprof-csv", "x.csv", calls+"HIP_API_DOMAIN,\"hipFree\",7,300,310,3\n")
	if err == nil || !strings.Contains(err.Error(), "x.csv:4:") || !strings.Contains(err.Error(), "not one cell per column") {
		t.Errorf("%v", err)
	}
	r = parsertest.MustParse(t, "rocprof-csv", "hip.csv", "Domain,Function,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID\nHIP_API_DOMAIN,hipLaunchKernel,\"k(int)\",100,160,2\n")
	if attr(r, 1, "Kernel_Name") != "k(int)" {
		t.Errorf("%+v", r.Attributes)
	}

	r = parsertest.MustParse(t, "rocprof-csv", "hcc_ops_trace_7.csv", "Domain,Operation,Kernel_Name,Start_Timestamp,Stop_Timestamp,Correlation_ID\n\n"+
		"HIP_OPS_DOMAIN,\"hipKernelDispatch\",\"fill<int>(int*, int)\",210,290,2\nHIP_OPS_DOMAIN,\"hipMemcpy\",,10,20,1\n")
	if g := r.Regions; g[0].Kind != datasets.KindKernel || g[0].Short != "fill" || g[1].Kind != datasets.KindRange || g[1].Raw != "hipMemcpy" {
		t.Errorf("%+v", g)
	}
	if r.Runs[0].Format != "rocprofv2-activity-trace" || r.Value("fill", "duration") != datasets.Some(80e-9) || attr(r, 1, "Operation") != "hipKernelDispatch" {
		t.Errorf("%+v %+v %+v", r.Runs[0], r.Counters, r.Attributes)
	}
	r = parsertest.MustParse(t, "rocprof-csv", "async_copy_trace_7.csv", "Domain,Operation,Start_Timestamp,Stop_Timestamp,Correlation_ID\n\nHSA_OPS_DOMAIN,\"CopyHostToDevice\",10,25,1\n")
	if r.Regions[0].Kind != datasets.KindRange || r.Value("CopyHostToDevice", "duration") != datasets.Some(15e-9) {
		t.Errorf("%+v %+v", r.Regions, r.Counters)
	}

	for what, content := range map[string]string{
		"ROCTX marks": "Domain,ROCTX_ID,Message,Timestamp\n\nROCTX_DOMAIN,1,\"solve\",3100\n",
		"PC samples":  "Dispatch_ID,Timestamp,GPU_ID,PC_Sample,Shader_Engines\n\n1,3100,1,0x7f00,2\n",
	} {
		_, err := parsertest.Parse("rocprof-csv", "x.csv", content)
		var refused *collectors.UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestKernelsOfComputeProfilerByTime(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "pmc_kernel_top.csv", `Kernel_Name,Count,Sum(ns),Mean(ns),Median(ns),Pct
"void fill<int>(int*, int)",2,3000.0,1500.0,1500.0,75.0
other.kd,1,1000.0,1000.0,1000.0,25.0
`)
	if run := r.Runs[0]; run.Tool != "rocprof-compute" || run.TimeMetric != "Sum(ns)" || r.Regions[0].Short != "fill" || r.Regions[1].Short != "other" {
		t.Errorf("%+v %+v", r.Runs[0], r.Regions)
	}
	if r.Value("fill", "Sum(ns)") != datasets.Some(3e-6) || r.Value("other", "Pct") != datasets.Some(25.0) || r.Value("fill", "Count") != datasets.Some(2.0) {
		t.Errorf("%+v", r.Counters)
	}
	const head = "Kernel_Name,Count,Sum(ns),Mean(ns),Median(ns),Pct\n"
	if f, sure, _ := collectors.Detect(collectors.Head{Name: "pmc_kernel_top.csv", Bytes: []byte(head), Whole: true}); f.Name != "rocprof-csv" || sure != collectors.Certain {
		t.Errorf("taken for %s", f.Name)
	}
}

func TestCutTablesGiveAnErrorOrWhatIsWhole(t *testing.T) {
	for name, content := range map[string]string{"v1": v1, "v2": v2head + `1,4,1,7,15,16,1024,64,0,0,8,0,16,64,140464978048000,1,"hello(char*, char*) (.kd)",100,900,33,12637.000000` + "\n"} {
		parsertest.Truncations(t, "rocprof-csv", name, content, 2000)
	}
	// Those whose rows are in order of start: elsewhere a cut moves launches up.
	for _, name := range []string{"kernel_trace", "hip_api_stats", "memory_copy_trace"} {
		b, err := os.ReadFile("../../../shared/samples/rocprof/rocprofv3_" + name + ".csv")
		if err != nil {
			t.Fatal(err)
		}
		parsertest.Truncations(t, "rocprof-csv", name, string(b), 2000)
	}
}

func FuzzCSV(f *testing.F) {
	parsertest.Fuzz(f, "rocprof-csv", v1, counters3, v2head+`1,4,1,7,15,16,1024,64,0,0,8,0,16,64,"h (.kd)",100,900,33,1.0`+"\n", "\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n\"a\",1,2,3,4\n")
}

// The columns that the rows lack may be the last ones.
func TestRowsWithoutTheTimestampsAtTheEnd(t *testing.T) {
	r := parsertest.MustParse(t, "rocprof-csv", "x.csv", "Dispatch_ID,GPU_ID,Queue_ID,Queue_Index,PID,TID,GRD,WGR,LDS,SCR,Arch_VGPR,ACCUM_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp\n"+
		"1,0,1,0,5,5,1024,64,0,0,8,4,16,64,\"k(int, int)\"\n")
	if len(r.Launches) != 1 || r.Launches[0].DurNs.Valid || r.Launches[0].Regs.V != 8 || len(r.Warnings) != 1 {
		t.Errorf("%+v, %v", r.Launches, r.Warnings)
	}
}
