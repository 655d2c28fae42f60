package nsys_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// What nsys profile --stats=true prints: the application's output, then tables.
const printed = `3 of 4 done
Generating '/tmp/nsys-report-1.qdstrm'
[1/8] [========================100%] a.nsys-rep
[3/8] Executing 'nvtx_sum' stats report
SKIPPED: /tmp/a.sqlite does not contain NV Tools Extension (NVTX) data.
[4/8] Executing 'cuda_gpu_kern_sum' stats report

 Time (%)  Total Time (ns)  Instances  Avg (ns)   Med (ns)   Min (ns)  Max (ns)   StdDev (ns)           Name          
 --------  ---------------  ---------  ---------  ---------  --------  ---------  -----------  -----------------------
     75.0        3,000,000      1,024    2,929.7    2,900.0     2,000     10,000        100.5  void k<int, 2>(int *)  
     20.0          800,000          1  800,000.0  800,000.0   800,000    800,000          0.0  void long_name<float, …
      5.0          200,000          1  200,000.0  200,000.0   200,000    200,000          0.0  void long_name<float, …

[5/8] Executing 'cuda_gpu_mem_size_sum' stats report

 Total (MB)  Count  Avg (MB)  Med (MB)  Min (MB)  Max (MB)  StdDev (MB)      Operation     
 ----------  -----  --------  --------  --------  --------  -----------  ------------------
  1,024.500      2   512.250   512.250   512.250   512.250        0.000  [CUDA memcpy DtoH]

Generated:
    /tmp/a.nsys-rep
`

func TestTablesThatArePrinted(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "log.txt", printed)
	if len(r.Regions) != 3 || r.Regions[0].Short != "k" || r.Regions[0].Kind != datasets.KindKernel || r.Regions[2].Kind != datasets.KindRange || len(r.Counters) != 3*8+7 {
		t.Fatalf("%+v, %d counters", r.Regions, len(r.Counters))
	}
	for metric, want := range map[string]float64{"Time": 75, "Total Time": 3e-3, "Instances": 1024, "Avg": 2929.7e-9, "StdDev": 100.5e-9} {
		if v := r.Value("k", metric); v != datasets.Some(want) {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
	if v := r.Value("[CUDA memcpy DtoH]", "Total"); v != datasets.Some(1024.5e6) {
		t.Errorf("%v bytes", v)
	}
	instances := map[string]float64{}
	for _, c := range r.Counters {
		if c.Metric == "Total Time" {
			instances[c.Instance] += c.Value.V
		}
	}
	// Names that are cut may be one: their rows are told apart.
	if len(instances) != 2 || instances["cuda_gpu_kern_sum"] != 3e-3+0.8e-3 || instances["cuda_gpu_kern_sum #2"] != 0.2e-3 {
		t.Errorf("%v", instances)
	}
	if run := r.Runs[0]; run.Format != "nsys-text" || run.TimeMetric != "Total Time" || len(r.Warnings) != 2 || !strings.Contains(r.Warnings[0].Msg+r.Warnings[1].Msg, "cut names") {
		t.Errorf("%+v, %v", run, r.Warnings)
	}
	f, sure, _ := collectors.Detect(collectors.Head{Name: "log.txt", Bytes: []byte(printed), Whole: true})
	if f.Name != "nsys-csv" || sure != collectors.Certain {
		t.Errorf("taken for %s", f.Name)
	}
}

// Versions of 2020 and 2021 named no reports, and the sizes were in KiB.
func TestPrintedTablesOfOldVersions(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "log.txt", `    CUDA Memory Operation Statistics (by size in KiB):

       Total     Operations   Average   Minimum   Maximum       Operation     
     ----------  ----------  ---------  -------  ---------  ------------------
     11,718.750           4  2,929.688    0.004  3,906.250  [CUDA memcpy HtoD]

    CUDA Kernel Statistics:

     Time(%)  Total Time (ns)  Instances  Average  Minimum  Maximum     Name    
     -------  ---------------  ---------  -------  -------  -------  -----------
       100.0              500          2      250      200      300  f(a, b) é b
`)
	if v := r.Value("[CUDA memcpy HtoD]", "Total"); v != datasets.Some(11718.75*1024) {
		t.Errorf("%v bytes", v)
	}
	if v := r.Value("f", "Average"); v != datasets.Some(250e-9) || r.Regions[1].Raw != "f(a, b) é b" || r.Counters[len(r.Counters)-1].Instance != "gpukernsum" {
		t.Errorf("%v, %+v", v, r.Regions)
	}
}

func TestRowsOfOneNameAreToldApart(t *testing.T) {
	r := parsertest.MustParse(t, "nsys-csv", "a_cuda_gpu_kern_gb_sum.csv", `Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),GridXYZ,BlockXYZ,Name
60.0,600,2,300.0,300.0,300,300,0.0,  32    1    1,256    1    1,"void k<int>(int*)"
40.0,400,1,400.0,400.0,400,400,0.0,  64    1    1,256    1    1,"void k<int>(int*)"
`)
	got := map[string]float64{}
	for _, c := range r.Counters {
		if c.Metric == "Instances" {
			got[c.Instance] = c.Value.V
		}
	}
	if len(got) != 2 || got["GridXYZ=32 1 1 BlockXYZ=256 1 1"] != 2 || got["GridXYZ=64 1 1 BlockXYZ=256 1 1"] != 1 {
		t.Errorf("%v", got)
	}
}

func TestCutPrintedTablesGiveAnErrorOrWhatIsWhole(t *testing.T) {
	parsertest.Truncations(t, "nsys-csv", "printed", printed, 2500)
}

func FuzzPrinted(f *testing.F) { parsertest.Fuzz(f, "nsys-csv", printed) }
