package ktt_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/kerneltuner"
	_ "github.com/rooflab/rooflab/collectors/ktt"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func TestCoulombSpace(t *testing.T) {
	const f, how = "coulomb_2080_full_search_space.json", "python3: json.load of the file, math.fsum over the computations"
	kernel := func(r *parsertest.Records, config string) datasets.Launch {
		for _, l := range r.Launches {
			if l.ToolID == config && r.Region(l.Region).Kind == datasets.KindKernel {
				return l
			}
		}
		return datasets.Launch{}
	}
	parsertest.Facts(t, "../../../shared/data/ktt-coulomb", []parsertest.Fact{
		{File: f, What: "launches: one for the kernel and one for its function", Of: func(r *parsertest.Records) any { return len(r.Launches) }, Want: 2 * 210, How: how},
		{File: f, What: "seconds in all", Of: func(r *parsertest.Records) any { return fmt.Sprintf("%.12g", r.Total("Duration")) }, Want: fmt.Sprintf("%.12g", 0.5805581430000001), How: how},
		{File: f, What: "instructions", Of: func(r *parsertest.Records) any { return r.Total("smsp__inst_executed.sum") }, Want: 99305799680.0, How: how},
		{File: f, What: "grid, block and registers of configuration 100", Of: func(r *parsertest.Records) any {
			l := kernel(r, "100")
			return fmt.Sprint(l.Grid, l.Block, l.Regs.V, l.DurNs.V)
		}, Want: "[{16 true} {64 true} {8 true}] [{16 true} {4 true} {1 true}] 58 2236608", How: how},
		{File: f, What: "unrolling of configuration 100", Of: func(r *parsertest.Records) any {
			l := kernel(r, "100")
			for _, a := range r.Attributes {
				if a.Launch == l.ID && a.Name == "INNER_UNROLL_FACTOR" {
					return a.Value
				}
			}
			return "absent"
		}, Want: "16", How: how},
	}, nil)
}

// small has a good configuration of two functions, one that failed with KTT's
// time for "not measured", and OpenCL's way to count global sizes.
const small = `{
 "Metadata": {"ComputeApi": "OpenCL", "Device": "Example GPU", "GlobalSizeType": "OpenCL", "KttVersion": "2.1.0", "Platform": "P", "TimeUnit": "Milliseconds", "Timestamp": "2026-01-02 03:04:05 UTC"},
 "Results": [
  {"KernelName": "pipeline", "Status": "Ok", "TotalDuration": 3.5, "TotalOverhead": 10, "ExtraDuration": 0.5, "ExtraOverhead": 1,
   "Configuration": [{"Name": "BLOCK", "IsDouble": false, "Value": 64}, {"Name": "FACTOR", "ValueType": "Double", "Value": 0.5}],
   "ComputationResults": [
    {"KernelFunction": "ns::first<int>", "Duration": 1.25, "Overhead": 2, "GlobalSize": {"X": 1024, "Y": 4, "Z": 1}, "LocalSize": {"X": 64, "Y": 4, "Z": 1},
     "CompilationData": {"MaxWorkGroupSize": 1024, "LocalMemorySize": 4096, "PrivateMemorySize": 16, "ConstantMemorySize": 0, "RegistersCount": 40},
     "ProfilingData": {"RemainingProfilingRuns": 0, "Counters": [{"Name": "sm__throughput.avg.pct_of_peak_sustained_elapsed", "Type": "Double", "Value": 51.5}, {"Name": "gld_throughput", "Type": "Throughput", "Value": 1000}, {"Name": "odd", "Type": "Double", "Value": null}]}},
    {"KernelFunction": "second", "Duration": 1.75, "Overhead": 2, "GlobalSize": {"X": 100, "Y": 1, "Z": 1}, "LocalSize": {"X": 64, "Y": 1, "Z": 1}, "PowerUsage": 90500}]},
  {"KernelName": "pipeline", "Status": "CompilationFailed", "TotalDuration": 18446744073709.55, "TotalOverhead": 18446744073709.55, "ExtraDuration": 0,
   "Configuration": [{"Name": "BLOCK", "Value": 2048}, {"Name": "FACTOR", "Value": 1}], "ComputationResults": []}
 ],
 "UserData": {"note": "x"}
}
`

func TestJSON(t *testing.T) {
	r := parsertest.MustParse(t, "ktt-json", "r.json", small)
	var launches []string
	for _, l := range r.Launches {
		launches = append(launches, strings.ReplaceAll(fmt.Sprint(r.Path(l.Region), " ", l.ToolID, " ", l.DurNs, l.Grid[0], l.Grid[1], l.Block[0], l.Regs, l.Smem), "} {", "}{"))
	}
	want := []string{"pipeline 0 {3500000 true}{0 false}{0 false}{0 false}{0 false}{0 false}",
		"pipeline/first 0 {1250000 true}{16 true}{1 true}{64 true}{40 true}{4096 true}",
		"pipeline/second 0 {1750000 true}{0 false}{1 true}{64 true}{0 false}{0 false}",
		"pipeline 1 {0 false}{0 false}{0 false}{0 false}{0 false}{0 false}"}
	if strings.Join(launches, "\n") != strings.Join(want, "\n") {
		t.Errorf("launches\n%s\nwant\n%s", strings.Join(launches, "\n"), strings.Join(want, "\n"))
	}
	counters := map[string]string{}
	for _, c := range r.Counters {
		counters[fmt.Sprint(c.Launch, " ", c.Metric)] = fmt.Sprint(c.Value.V, " ", c.Unit, " ", c.RawUnit, " ", c.Status)
	}
	for key, want := range map[string]string{
		"1 TotalDuration": "0.0035 s Milliseconds ok", "2 Duration": "0.00125 s Milliseconds ok", "2 LocalMemorySize": "4096 byte byte ok", "3 PowerUsage": "90.5 W mW ok",
		"2 sm__throughput.avg.pct_of_peak_sustained_elapsed": "51.5 % % ok", "2 gld_throughput": "1000 byte/s byte/s ok", "2 odd": "0   na",
		"4 TotalDuration": "0 s Milliseconds na", "4 TotalOverhead": "0 s Milliseconds na", "4 ExtraDuration": "0 s Milliseconds na",
	} {
		if counters[key] != want {
			t.Errorf("%s is %q, want %q", key, counters[key], want)
		}
	}
	attrs := map[string]string{}
	for _, a := range r.Attributes {
		attrs[fmt.Sprint(a.Launch, " ", a.Name)] = a.Value
	}
	for key, want := range map[string]string{"2 BLOCK": "64", "3 FACTOR": "0.5", "2 status": "Ok", "4 status": "CompilationFailed", "4 invalidity": "compile", "1 invalidity": "correct",
		"4 BLOCK": "2048", "0 ComputeApi": "OpenCL", "0 UserData": `{"note": "x"}`, "2 GlobalSize": `{"X":1024,"Y":4,"Z":1}`} {
		if attrs[key] != want {
			t.Errorf("attribute %s is %q, want %q", key, attrs[key], want)
		}
	}
	if run := r.Runs[0]; run.ToolVersion != "2.1.0" || run.TimeMetric != "Duration" || r.Machines[0].GPU != "Example GPU" {
		t.Errorf("%+v %+v", run, r.Machines)
	}
}

const space = `Kernel name,Computation duration (us),Global size,Local size,BLOCK_X,TILE,Registers count,dram_utilization,sm__warps_active.avg.pct_of_peak_sustained_active,
mm<float>,12.5,4096,"(16, 4, 1)",16,2,40,3,81.5
mm<float>,7,4096,32,32,2,n/a,4,nan,
`

func TestCSV(t *testing.T) {
	r := parsertest.MustParse(t, "ktt-csv", "1070-mm_output.csv", space)
	l := r.Launches[0]
	if l.DurNs.V != 12500 || l.Block[1].V != 4 || l.Regs.V != 40 || r.Regions[0].Short != "mm" || r.Runs[0].TimeMetric != "Computation duration (us)" {
		t.Errorf("%+v %+v %+v", l, r.Regions, r.Runs)
	}
	var got []string
	for _, c := range r.Counters {
		got = append(got, fmt.Sprint(c.Launch, " ", c.Metric, " ", c.Value, c.Unit, c.Status))
	}
	for _, a := range r.Attributes {
		got = append(got, fmt.Sprint(a.Launch, " ", a.Name, "=", a.Value))
	}
	want := []string{"1 Computation duration (us) {1.25e-05 true}sok", "1 Registers count {40 true}ok", "1 dram_utilization {3 true}ok", "1 sm__warps_active.avg.pct_of_peak_sustained_active {81.5 true}%ok",
		"2 Computation duration (us) {7e-06 true}sok", "2 Registers count {0 false}na", "2 dram_utilization {4 true}ok", "2 sm__warps_active.avg.pct_of_peak_sustained_active {0 false}%na",
		"1 invalidity=correct", "1 Global size=4096", "1 Local size=(16, 4, 1)", "1 BLOCK_X=16", "1 TILE=2", "2 invalidity=correct", "2 Global size=4096", "2 Local size=32", "2 BLOCK_X=32", "2 TILE=2"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	// A failed row, and semicolons.
	r = parsertest.MustParse(t, "ktt-csv", "a.csv", "Kernel name;Status;Kernel duration (ms);A\nk;ComputationFailed;9;1\n")
	if c := r.Counters[0]; c.Value.Valid || c.Status != datasets.StatusNA || r.Attributes[0].Value != "runtime" || r.Launches[0].DurNs.Valid {
		t.Errorf("%+v %+v", r.Counters, r.Attributes)
	}
}

func TestErrors(t *testing.T) {
	const meta = `{"Metadata": {"TimeUnit": "Microseconds"}, `
	for _, c := range []struct {
		format, text string
		line, column int
		msg          string
	}{
		{"ktt-json", `{"Results": []}`, 1, 11, "come before the metadata"},
		{"ktt-json", `{"Metadata": {}}`, 1, 16, "do not tell the unit of times"},
		{"ktt-json", meta + `"Results": [{}]}`, 1, 58, "lacks its kernel or its status"},
		{"ktt-json", meta + `"Results": [{"KernelName": "k", "Status": "Ok", "ComputationResults": [{}]}]}`, 1, 119, "lacks its kernel function"},
		{"ktt-json", meta + `"Results": [{"KernelName": "k", "Status": "Ok", "TotalDuration": 1e999}]}`, 1, 115, "does not fit"},
		{"ktt-json", meta + `"Results": [`, 1, 56, "the file ends within a JSON value"},
		{"ktt-json", meta + `"Metadata": 1}`, 1, 54, "a member twice"},
		{"ktt-json", `{"Metadata": {"TimeUnit": "Seconds"}}`, 1, 38, "lacks a member"},
		{"ktt-csv", "Kernel name,Computation duration (us),A\nk,1\n", 2, 1, "not one field per column"},
		{"ktt-csv", "Kernel name,Computation duration (us),A\nk,x,1\n", 2, 1, "has no number"},
		{"ktt-csv", "Kernel name,Computation duration (us),A\nk,1,12", 2, 7, "ends within a row"},
		{"ktt-csv", "Kernel,A\n", 1, 1, "no kernel or no duration"},
	} {
		parsertest.Refused(t, c.format, "p", c.text, c.line, c.column, c.msg)
	}
	var u *collectors.UnsupportedError
	if _, err := parsertest.Parse("ktt-xml", "p", ""); !errors.As(err, &u) {
		t.Error(err)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{small: "ktt-json", space: "ktt-csv", "Kernel name;Kernel duration (ns);A\n": "ktt-csv", `{"Metadata": {}, "Results": []}`: "",
		"<?xml version=\"1.0\"?><TunerResults><Results><KernelResult Status=\"Ok\"><Configuration/>": "ktt-xml", "Kernel name,Time\n": ""} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "a", Bytes: []byte(text), Whole: true})
		if f.Name != want {
			t.Errorf("%.40s is detected as %q, want %q", text, f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) {
	parsertest.Truncations(t, "ktt-json", "r.json", small, 1000)
	parsertest.Truncations(t, "ktt-csv", "r.csv", space, 1000)
}

func FuzzJSON(f *testing.F) { parsertest.Fuzz(f, "ktt-json", small) }
func FuzzCSV(f *testing.F)  { parsertest.Fuzz(f, "ktt-csv", space, "Kernel name,x duration (us)\n,-\n") }
