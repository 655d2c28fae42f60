package ncu_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const longHeader = "\"ID\",\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Context\",\"Stream\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n"

// long is a table of rows `metric|unit|value` of one kernel.
func long(kernel string, rows ...string) string {
	var b strings.Builder
	b.WriteString(longHeader)
	for _, r := range rows {
		p := strings.Split(r, "|")
		fmt.Fprintf(&b, "\"0\",\"7\",\"a\",\"127.0.0.1\",\"%s\",\"1\",\"7\",\"(64, 1, 1)\",\"(8, 1, 1)\",\"0\",\"8.0\",\"Command line profiler metrics\",\"%s\",\"%s\",\"%s\"\n", kernel, p[0], p[1], p[2])
	}
	return b.String()
}

func TestUnitsScalePerRow(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "units.csv", long("k", "a__time.sum|us|9.86", "b__time.sum|ms|1.50", "c__time.sum|nsecond|2,816", "d__bytes.sum|Kbyte|65.54",
		"e__bytes.sum|Mbyte|1.00", "f__rate|cycle/nsecond|1.41", "g__rate|Ghz|1.41", "h__rate|cycle/usecond|9.5", "i__bw|Gbyte/s|12.50", "j__pct|%|3.00", "k__time|second|2.50"))
	for metric, want := range map[string]struct {
		value float64
		unit  string
	}{
		"a__time.sum": {9.86e-6, "s"}, "b__time.sum": {1.5e-3, "s"}, "c__time.sum": {2816e-9, "s"}, "d__bytes.sum": {65540, "byte"}, "e__bytes.sum": {1e6, "byte"},
		"f__rate": {1.41e9, "Hz"}, "g__rate": {1.41e9, "Hz"}, "h__rate": {9.5e6, "Hz"}, "i__bw": {12.5e9, "byte/s"}, "j__pct": {3, "%"}, "k__time": {2.5, "s"},
	} {
		for _, c := range r.Counters {
			if c.Metric == metric && (c.Value != datasets.Some(want.value) || c.Unit != want.unit || c.RawUnit == "") {
				t.Errorf("%s: %+v, want %v %s", metric, c, want.value, want.unit)
			}
		}
	}
}

func TestValuesThatNcuMarks(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "marks.csv", long("k", "a__a.sum|inst|(!) n/a", "b__b.sum|inst|(!) nan", "c__c.sum|inst|n/a", "d__d.sum||-nan(ind)", "e__e.sum|inst|(!) 12", "f__f.sum|inst|0", "g__g.sum|inst|failed", "h__h||text"))
	for metric, want := range map[string]string{"a__a.sum": "na", "b__b.sum": "na", "c__c.sum": "na", "d__d.sum": "na", "e__e.sum": "ok", "f__f.sum": "ok", "g__g.sum": "na"} {
		for _, c := range r.Counters {
			if c.Metric == metric && (c.Status != want || c.Value.Valid != (want == "ok")) {
				t.Errorf("%s: %+v, want the status %s", metric, c, want)
			}
		}
	}
	if v := r.Value("k", "e__e.sum"); v.V != 12 || len(r.Warnings) == 0 {
		t.Errorf("a marked value is %v, warnings %v", v, r.Warnings)
	}
}

func TestNamesOfKernelsHoldAnything(t *testing.T) {
	for raw, short := range map[string]string{
		"void axpy<float, (int)4, (bool)1>(float *, const float *, int)": "axpy",
		"<unnamed>::sum(int, int)":                                       "sum",
		"void (anonymous namespace)::sum<double>(T1 *, int)":             "sum",
		"void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, at::detail::Array<char *, (int)1>>(int, T2, T3)": "vectorized_elementwise_kernel",
		"nvkernel__Z4axpyi_F1L3_1": "nvkernel__Z4axpyi_F1L3_1",
		"unnamed>::axpy(float *)":  "axpy",
	} {
		r := parsertest.MustParse(t, "ncu-csv", "names.csv", long(raw, "gpu__time_duration.sum|us|1.50"))
		if g := r.Regions[0]; g.Raw != raw || g.Short != short {
			t.Errorf("%q became %q and %q, want %q", raw, g.Raw, g.Short, short)
		}
		unquoted := strings.NewReplacer(`"`, "", "\n", "\r\n").Replace(long(raw, "gpu__time_duration.sum|us|1.50"))
		r = parsertest.MustParse(t, "ncu-csv", "unquoted.csv", unquoted)
		if g := r.Regions[0]; g.Raw != raw || g.Short != short || r.Launches[0].Grid[0].V != 8 {
			t.Errorf("without quotes, %q became %q of %+v", raw, g.Raw, r.Launches[0])
		}
	}
}

func TestMarksOfByteOrderMayComeAgain(t *testing.T) {
	one := "\ufeff" + long("k", "gpu__time_duration.sum|us|1.50")
	r := parsertest.MustParse(t, "ncu-csv", "twice.csv", one+one)
	if len(r.Launches) != 2 || len(r.Counters) != 2 {
		t.Errorf("%d launches, %d counters, want 2 and 2", len(r.Launches), len(r.Counters))
	}
}

func TestHeadersMayBeginWithTheKernel(t *testing.T) {
	content := "\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\"k(int)\",\"dram__bytes.sum\",\"Kbyte\",\"1.50\"\n\"k(int)\",\"dram__bytes.sum\",\"Kbyte\",\"2.50\"\n"
	r := parsertest.MustParse(t, "ncu-csv", "kernel.csv", content)
	if len(r.Launches) != 2 || r.Total("dram__bytes.sum") != 4000 {
		t.Errorf("%d launches, %v bytes, want 2 and 4000", len(r.Launches), r.Total("dram__bytes.sum"))
	}
}

// In some versions the header does not name the columns of rules.
func TestRowsOfRulesMayHaveCellsThatTheHeaderDoesNotName(t *testing.T) {
	content := long("k", "Duration|us|1.50") +
		"\"0\",\"7\",\"a\",\"127.0.0.1\",\"k\",\"1\",\"7\",\"(64, 1, 1)\",\"(8, 1, 1)\",\"0\",\"8.0\",\"SpeedOfLight\",\"\",\"\",\"\",\"SOLBottleneck\",\"OPT\",\"Look, at memory.\",\"global\",\"3.4\"\n"
	r := parsertest.MustParse(t, "ncu-csv", "rules.csv", content)
	if len(r.Attributes) != 1 || r.Attributes[0].Name != "rule SOLBottleneck" || r.Attributes[0].Value != "OPT: Look, at memory. (estimated speedup global 3.4 %)" {
		t.Errorf("attributes %+v", r.Attributes)
	}
}

func TestOutputOfTheApplicationAmongTheRows(t *testing.T) {
	content := "==PROF== Connected to process 7 (/a)\nstep 1, residual 3.5\n\n" + long("k", "a__a.sum|inst|1") + "step 2, residual 1.25\n==PROF== Profiling \"k\" - 1: 0%....50%....100% - 1 pass\n" +
		strings.SplitAfter(long("k", "b__b.sum|inst|2"), "\n")[1] + "Function Name,none\n" + strings.SplitAfter(long("k", "c__c.sum|inst|3"), "\n")[1] + "done\n==PROF== Disconnected from process 7\n"
	r := parsertest.MustParse(t, "ncu-csv", "noise.csv", content)
	if len(r.Counters) != 3 || len(r.Launches) != 1 || r.Value("k", "c__c.sum").V != 3 {
		t.Errorf("%d counters, %d launches, want 3 and 1", len(r.Counters), len(r.Launches))
	}
}

func TestTheTimeOfALaunchIsNamed(t *testing.T) {
	for _, metric := range []string{"gpu__time_duration.sum", "Duration"} {
		r := parsertest.MustParse(t, "ncu-csv", "time.csv", long("k", metric+"|us|1.50"))
		if r.Runs[0].TimeMetric != metric || r.Launches[0].DurNs.V != 1500 {
			t.Errorf("%s: run %+v, launch %+v", metric, r.Runs[0], r.Launches[0])
		}
	}
}

// --print-summary per-kernel has the least, greatest and mean value of all
// launches of a kernel.
func TestSummariesAreOfKernels(t *testing.T) {
	content := "\"Process ID\",\"Process Name\",\"Host Name\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Device\",\"CC\",\"Invocations\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n" +
		"\"7\",\"a\",\"127.0.0.1\",\"k(int)\",\"(64, 1, 1)\",\"(8, 1, 1)\",\"0\",\"8.0\",\"3\",\"Command line profiler metrics\",\"gpu__time_duration.sum\",\"us\",\"1.50\",\"2.50\",\"2.00\"\n" +
		"\"7\",\"a\",\"127.0.0.1\",\"k(int)\",\"(64, 1, 1)\",\"(8, 1, 1)\",\"0\",\"8.0\",\"3\",\"GPU Speed Of Light Throughput\",\"Memory Throughput\",\"%\",\"40.25\",\"n/a\",\"50.00\"\n"
	r := parsertest.MustParse(t, "ncu-csv", "summary.csv", content)
	got := map[string]string{}
	for _, c := range r.Counters {
		got[c.Metric+"/"+c.Instance] = fmt.Sprint(c.Value.V, " ", c.Unit, " ", c.Status, " ", c.Launch)
	}
	want := map[string]string{
		"gpu__time_duration.sum/minimum": "1.5e-06 s ok 0", "gpu__time_duration.sum/maximum": "2.5e-06 s ok 0", "gpu__time_duration.sum/average": "2e-06 s ok 0",
		"Memory Throughput/GPU Speed Of Light Throughput minimum": "40.25 % ok 0", "Memory Throughput/GPU Speed Of Light Throughput maximum": "0 % na 0",
		"Memory Throughput/GPU Speed Of Light Throughput average": "50 % ok 0", "Invocations/": "3  ok 0",
	}
	check(t, "counters", got, want)
	if len(r.Launches) != 0 || len(r.Regions) != 1 || r.Runs[0].Status != datasets.RunOK || r.Runs[0].FormatVersion != "summary" {
		t.Errorf("launches %+v, run %+v", r.Launches, r.Runs[0])
	}
	if len(r.Attributes) != 2 || r.Attributes[0].Value != "(64, 1, 1)" {
		t.Errorf("sizes: %+v", r.Attributes)
	}
}

// A kernel with several sizes has rows for each of them.
func TestSummariesOfSeveralSizes(t *testing.T) {
	const head = "\"Process ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"Invocations\",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Minimum\",\"Maximum\",\"Average\"\n"
	r := parsertest.MustParse(t, "ncu-csv", "summary.csv", head+
		"\"7\",\"k(int)\",\"(64, 1, 1)\",\"(8, 1, 1)\",\"14\",\"Occupancy\",\"Achieved Occupancy\",\"%\",\"70\",\"80\",\"75\"\n"+
		"\"7\",\"k(int)\",\"(1, 1, 1)\",\"(512, 1, 1)\",\"2\",\"Occupancy\",\"Achieved Occupancy\",\"%\",\"3\",\"9\",\"5\"\n")
	got := map[string]string{}
	for _, c := range r.Counters {
		if c.Instance == "" || strings.Contains(c.Instance, "average") || c.Metric == "Invocations" {
			got[c.Metric+"/"+c.Instance] = fmt.Sprint(c.Value.V)
		}
	}
	const other = "block=(1,1,1) grid=(512,1,1) pid=7"
	check(t, "counters", got, map[string]string{"Invocations/": "14", "Achieved Occupancy/Occupancy average": "75",
		"Invocations/" + other: "2", "Achieved Occupancy/Occupancy average " + other: "5"})
	if len(r.Regions) != 1 || len(r.Warnings) != 0 {
		t.Errorf("%+v, %v", r.Regions, r.Warnings)
	}
}

func TestTheApplicationsLastLineMayLackItsEnd(t *testing.T) {
	content := "==PROF== Connected to process 7 (/a)\nresidual 3.5, done" + long("k", "a__a.sum|inst|1", "b__b.sum|inst|2")
	r := parsertest.MustParse(t, "ncu-csv", "glued.csv", content)
	if len(r.Counters) != 2 || len(r.Launches) != 1 || r.Launches[0].ToolID != "0" || len(r.Warnings) != 0 {
		t.Errorf("%d counters, launches %+v, warnings %v", len(r.Counters), r.Launches, r.Warnings)
	}
	f, sure, err := collectors.Detect(collectors.Head{Name: "glued.csv", Bytes: []byte(content), Whole: true})
	if err != nil || f.Name != "ncu-csv" || sure != collectors.Certain {
		t.Errorf("detected as %q (%v, %v)", f.Name, sure, err)
	}
}

// The value keeps its unit, and nobody takes it for seconds.
func TestTimesAndSizesOfUnknownUnitsDescribeNoLaunch(t *testing.T) {
	for _, rows := range [][]string{
		{"gpu__time_duration.sum|fortnight|3", "launch__shared_mem_per_block|word|4"},
		{"Duration||3", "Static Shared Memory Per Block|word|4"},
		{"a__a.sum|inst|1.5", "gpu__time_duration.sum|fortnight|3", "launch__shared_mem_per_block|word/block|4"}, // by the short way
	} {
		r := parsertest.MustParse(t, "ncu-csv", "units.csv", long("k", rows...))
		if l := r.Launches[0]; l.DurNs.Valid || l.Smem.Valid || r.Runs[0].TimeMetric != "" {
			t.Errorf("%v: launch %+v, the time of the run is %q", rows, l, r.Runs[0].TimeMetric)
		}
		for i, c := range r.Counters {
			if p := strings.Split(rows[i], "|"); c.Status != datasets.StatusOK || fmt.Sprint(c.Value.V) != p[2] || c.RawUnit != p[1] {
				t.Errorf("%v: counter %+v", rows, c)
			}
		}
		if len(r.Warnings) != 2 {
			t.Errorf("%v: warnings %v", rows, r.Warnings)
		}
	}
	r := parsertest.MustParse(t, "ncu-csv", "units.csv", long("k", "gpu__time_duration.sum|us|3", "launch__shared_mem_per_block|Kbyte/block|4"))
	if l := r.Launches[0]; l.DurNs != datasets.Some(int64(3000)) || l.Smem != datasets.Some(int64(4000)) || len(r.Warnings) != 0 {
		t.Errorf("launch %+v, warnings %v", l, r.Warnings)
	}
}

// The metrics of instructions that the raw page sums up have names without "__".
func TestTheRawPageHasMetricsWithShortNames(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "raw.csv", "\"ID\",\"Kernel Name\",\"Block Size\",\"Grid Size\",\"gpu__time_duration.sum\",\"inst_executed\",\"memory_l2_theoretical_sectors_global\",\"sm__cycles_active.avg\"\n"+
		"\"\",\"\",\"\",\"\",\"us\",\"inst\",\"sector\",\"cycle\"\n\"0\",\"k\",\"(64, 1, 1)\",\"(8, 1, 1)\",\"1.50\",\"1,024\",\"77\", \"9.25\"\n")
	for metric, want := range map[string]float64{"gpu__time_duration.sum": 1.5e-6, "inst_executed": 1024, "memory_l2_theoretical_sectors_global": 77, "sm__cycles_active.avg": 9.25} {
		if v := r.Value("k", metric); v != datasets.Some(want) {
			t.Errorf("%s is %v, want %v", metric, v, want)
		}
	}
	if len(r.Counters) != 4 {
		t.Errorf("%d counters, want 4", len(r.Counters))
	}
}
