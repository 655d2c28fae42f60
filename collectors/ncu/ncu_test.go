package ncu_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ncu"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func fixture(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// samples are the real files that lie beside the repository.
func samples(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../../shared/samples/ncu/*.csv")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples in ../shared/samples/ncu beside the repository (%v): put the project's sample profiles there", err)
	}
	files := map[string]string{}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		files[filepath.Base(p)] = string(b)
	}
	return files
}

func TestRawPageGivesALaunchPerRowInSIUnits(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "raw.csv", fixture(t, "raw_two_kernels.csv"))
	if len(r.Launches) != 2 || len(r.Regions) != 2 || len(r.Counters) != 22 { // 11 metrics, 2 rows
		t.Fatalf("%d launches, %d regions, %d counters, want 2, 2, 22", len(r.Launches), len(r.Regions), len(r.Counters))
	}
	for _, c := range []struct {
		kernel, metric string
		want           float64
	}{
		{"jacobi", "dram__bytes_read.sum", 67.11e6},
		{"jacobi", "gpu__time_duration.sum", 112.35e-6},
		{"jacobi", "launch__shared_mem_per_block_dynamic", 8190},
		{"jacobi", "sm__cycles_elapsed.avg.per_second", 1.09e9},
		{"jacobi", "smsp__inst_executed.sum", 5242880},
		{"reduce", "gpu__time_duration.sum", 4.10e-6},
	} {
		if v := r.Value(c.kernel, c.metric); !v.Valid || v.V != c.want {
			t.Errorf("%s of %s = %v, want %v", c.metric, c.kernel, v, c.want)
		}
	}
	l := r.Launches[0]
	if l.DurNs != datasets.Some(int64(112350)) || l.Regs != datasets.Some(int64(40)) || l.Smem != datasets.Some(int64(8190+1024)) ||
		l.Block[1] != datasets.Some(int64(8)) || l.Grid[1] != datasets.Some(int64(512)) || l.PID != datasets.Some(int64(4242)) {
		t.Errorf("launch = %+v", l)
	}
	na := 0
	for _, c := range r.Counters {
		if c.Status == datasets.StatusNA {
			na++
			if c.Value.Valid {
				t.Errorf("%s has no value and counts %v", c.Metric, c.Value.V)
			}
		}
	}
	if na != 3 { // n/a, nan and an empty cell
		t.Errorf("%d counters are na, want 3", na)
	}
	if r.Runs[0].Command != "/home/ada/stencil/bench" || r.Runs[0].FormatVersion != "raw" || r.Machines[0].Arch != "cc8.0" || r.Machines[0].Host != "node7" {
		t.Errorf("run %+v on %+v", r.Runs[0], r.Machines[0])
	}
}

func TestDetailsPageKeepsSectionsAndRules(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "details.csv", fixture(t, "details_rules.csv"))
	if len(r.Counters) != 4 || len(r.Launches) != 1 || len(r.Attributes) != 2 {
		t.Fatalf("%d counters, %d launches, %d attributes, want 4, 1, 2", len(r.Counters), len(r.Launches), len(r.Attributes))
	}
	got := map[string]float64{}
	for _, c := range r.Counters {
		got[c.Metric+"/"+c.Instance+"/"+c.Unit] = c.Value.V
	}
	if got["Memory Throughput/GPU Speed Of Light Throughput/%"] != 91.2 || got["Memory Throughput/Memory Workload Analysis/byte/s"] != 2.55e12 {
		t.Errorf("the two throughputs: %v", got)
	}
	if a := r.Attributes[0]; a.Name != "rule SOLBottleneck" || !strings.Contains(a.Value, "\"peak\" bandwidth,\nsee the roofline") {
		t.Errorf("the first rule: %+v", a)
	}
	if a := r.Attributes[1]; !strings.HasPrefix(a.Value, "OPT: ") || !strings.HasSuffix(a.Value, "(estimated speedup global 3.4 %)") {
		t.Errorf("the second rule: %+v", a)
	}
	if r.Launches[0].DurNs != datasets.Some(int64(9860)) || r.Launches[0].Regs != datasets.Some(int64(16)) {
		t.Errorf("launch = %+v", r.Launches[0])
	}
}

func TestLocaleIsDecidedPerFile(t *testing.T) {
	german := fixture(t, "long_german.csv")
	r := parsertest.MustParse(t, "ncu-csv", "german.csv", german)
	for metric, want := range map[string]float64{
		"smsp__cycles_active.avg": 117344, "dram__bytes.sum": 27595520, "lts__t_sector_hit_rate.pct": 65.77, "gpu__time_duration.sum": 117344e-9,
	} {
		if v := r.Value("gemm", metric); v.V != want {
			t.Errorf("%s = %v, want %v", metric, v, want)
		}
	}
	if r.Launches[0].DurNs != datasets.Some(int64(117344)) || r.Launches[0].Grid[0].Valid {
		t.Errorf("launch = %+v", r.Launches[0])
	}

	// The same numbers in a file that shows a decimal point read otherwise.
	english := strings.NewReplacer("27.595.520", "27,595,520", "65,77", "65.77", `"nsecond","117.344"`, `"nsecond","117,344"`).Replace(german)
	r = parsertest.MustParse(t, "ncu-csv", "english.csv", english)
	if v := r.Value("gemm", "smsp__cycles_active.avg"); v.V != 117.344 {
		t.Errorf("with decimal points 117.344 is %v", v)
	}

	mixed := strings.Replace(german, "27.595.520", "27,595,520", 1)
	_, err := parsertest.Parse("ncu-csv", "mixed.csv", mixed)
	var syntax *collectors.SyntaxError
	if !errors.As(err, &syntax) || syntax.Line != 5 || !strings.Contains(err.Error(), "mixes") {
		t.Errorf("a file in two styles: %v", err)
	}
}

func TestAmbiguousNumbersAloneAreSaid(t *testing.T) {
	german := fixture(t, "long_german.csv")
	lines := strings.SplitAfter(german, "\n")
	r := parsertest.MustParse(t, "ncu-csv", "one.csv", lines[1]+lines[2])
	if v := r.Value("gemm", "smsp__cycles_active.avg"); v.V != 117.344 {
		t.Errorf("117.344 = %v", v)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "decimal") || r.Warnings[0].Line != 2 {
		t.Errorf("warnings: %v", r.Warnings)
	}
}

func TestSpreadsheetsMayDropTheQuotes(t *testing.T) {
	r := parsertest.MustParse(t, "ncu-csv", "spreadsheet.csv", fixture(t, "spreadsheet.csv"))
	if len(r.Launches) != 1 || r.Value("k", "dram__bytes_read.sum").V != 2816 || r.Value("k", "sm__cycles_elapsed.avg").V != 1362.20 {
		t.Errorf("%+v", r.Counters)
	}
	if r.Launches[0].Grid[0].V != 4 || r.Launches[0].Block[0].V != 256 {
		t.Errorf("%+v", r.Launches[0])
	}
	// German spreadsheets write semicolons.
	semi := "\"ID\";\"Kernel Name\";\"Metric Name\";\"Metric Unit\";\"Metric Value\"\r\n0;\"f(int, int)\";dram__bytes.sum;Kbyte;1.234,50\r\n"
	r = parsertest.MustParse(t, "ncu-csv", "semi.csv", semi)
	if v := r.Value("f", "dram__bytes.sum"); v.V != 1234500 {
		t.Errorf("1.234,50 Kbyte = %v", v)
	}
}

func TestFailedRunsHaveANamedStatus(t *testing.T) {
	for name, c := range map[string]struct{ content, status, says string }{
		"denied":  {fixture(t, "denied.csv"), datasets.RunDenied, "ERR_NVGPUCTRPERM"},
		"failed":  {"==PROF== Connected to process 1 (/a)\n==ERROR== Failed to profile kernel \"k\" in process 1\n", datasets.RunFailed, "Failed to profile"},
		"nothing": {"==PROF== Connected to process 1 (/a)\n==WARNING== No kernels were profiled.\n", datasets.RunEmpty, "No kernels"},
		"report":  {"==PROF== Connected to process 1 (/a)\n==PROF== Report: /tmp/x.ncu-rep\n", datasets.RunEmpty, "import /tmp/x.ncu-rep"},
		"header":  {"\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n", datasets.RunEmpty, "no rows"},
	} {
		r := parsertest.MustParse(t, "ncu-csv", name, c.content)
		if len(r.Runs) != 1 || r.Runs[0].Status != c.status || !strings.Contains(r.Runs[0].Error, c.says) || len(r.Counters) != 0 || len(r.Warnings) == 0 {
			t.Errorf("%s: run %+v, %d counters, warnings %v", name, r.Runs, len(r.Counters), r.Warnings)
		}
	}
}

func TestRowsAfterAnErrorLineStillCount(t *testing.T) {
	content := fixture(t, "raw_two_kernels.csv") + "==ERROR== The application returned an error code (3).\n"
	r := parsertest.MustParse(t, "ncu-csv", "raw.csv", content)
	if len(r.Launches) != 2 || r.Runs[0].Status != datasets.RunFailed || !strings.Contains(r.Runs[0].Error, "error code (3)") {
		t.Errorf("%d launches, run %+v", len(r.Launches), r.Runs[0])
	}
}

func TestBrokenFilesNameThePlace(t *testing.T) {
	raw, german, details := fixture(t, "raw_two_kernels.csv"), fixture(t, "long_german.csv"), fixture(t, "details_rules.csv")
	lines := strings.SplitAfter(raw, "\n")
	for name, c := range map[string]struct {
		content      string
		line, column int
		says         string
	}{
		"no unit row":         {strings.Join(append(append([]string{}, lines[:7]...), lines[8:]...), ""), 8, 28, "units"},
		"a cell less":         {strings.Replace(raw, `"67.11",`, "", 1), 9, 0, "wrong number of cells"},
		"a cell more":         {strings.Replace(raw, `"67.11",`, `"67.11","1",`, 1), 9, 0, "wrong number of cells"},
		"no value column":     {strings.Replace(german, `,"Metric Value"`, "", 1), 2, 0, `"Metric Value"`},
		"no unit column":      {strings.Replace(german, `,"Metric Unit"`, "", 1), 2, 0, `"Metric Unit"`},
		"no kernel column":    {strings.Replace(german, `"Kernel Name",`, "", 1), 2, 0, `"Kernel Name"`},
		"a damaged number":    {strings.Replace(german, "27.595.520", "27.59x", 1), 4, 0, "no number"},
		"a damaged size":      {strings.Replace(raw, "(32, 8, 1)", "(32, 8)", 1), 9, 0, "three numbers"},
		"a damaged id":        {strings.Replace(german, `"0","900"`, `"zero","900"`, 1), 3, 1, "id"},
		"text after a quote":  {strings.Replace(german, `"gemm.exe",`, `"gemm".exe,`, 1), 3, 0, "after a closing quote"},
		"a stray quote":       {strings.Replace(details, `"Launch Statistics",`, `"Launch Statistics,`, 1), 0, 0, "quote"},
		"a number unquoted":   {strings.Replace(details, `"9.86","","","","",""`, "1,234", 1), 3, 0, "after the value"},
		"two columns alike":   {strings.Replace(german, `"Context"`, `"Stream"`, 1), 2, 0, "twice"},
		"a kernel that moved": {strings.Replace(german, `"gemm","2020-Mai-04 10:11:12","1","7","Command line profiler metrics","dram`, `"other","2020-Mai-04 10:11:12","1","7","Command line profiler metrics","dram`, 1), 4, 0, "differs"},
		"no table":            {"hello\nworld\n", 2, 1, "no table"},
	} {
		_, err := parsertest.Parse("ncu-csv", "broken.csv", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: %v, want a SyntaxError", name, err)
			continue
		}
		if c.line != 0 && syntax.Line != c.line || c.column != 0 && syntax.Column != c.column || syntax.Column == 0 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v (line %d, column %d), want line %d, column %d and %q", name, err, syntax.Line, syntax.Column, c.line, c.column, c.says)
		}
	}
}

func TestDetectionLooksAtTheContent(t *testing.T) {
	noise := strings.Repeat("step 1 of many\n", 300)
	for name, c := range map[string]struct {
		content string
		sure    collectors.Confidence
	}{
		"raw":            {fixture(t, "raw_two_kernels.csv"), collectors.Certain},
		"after noise":    {noise + fixture(t, "long_german.csv"), collectors.Certain},
		"denied":         {fixture(t, "denied.csv"), collectors.Likely},
		"derived table":  {"\"Kernel Name\",\"traffic\",\"dpAI\",\"Block Size\",\"Grid Size\",\"device\"\n\"k\",1,2,\"(1, 1, 1)\",\"(1, 1, 1)\",\"x\"\n", collectors.No},
		"nsys stats":     {"Time (%),Total Time (ns),Instances,Name\n1,2,3,k\n", collectors.No},
		"something else": {"a,b,c\n1,2,3\n", collectors.No},
	} {
		f, sure, _ := collectors.Detect(collectors.Head{Name: name, Bytes: []byte(c.content), Whole: true})
		if sure != c.sure {
			t.Errorf("%s: %v (%s), want %v", name, sure, f.Name, c.sure)
		}
	}
}

// The numbers are those of the files, read by eye: 12 rows each after the
// header (grep -c '^"0"'), one launch of one kernel.
func TestRealSamples(t *testing.T) {
	files := samples(t)
	for file, c := range map[string]struct {
		kernel      string
		durNs, grid int64
		bytes       float64
	}{
		"rtx5070_gemm_tiled.csv":         {"gemm_tiled_kernel", 10195552, 64, 53261312},
		"rtx5070_saxpy_stdout_mixed.csv": {"saxpy_kernel", 292928, 65536, 134221568},
	} {
		content, ok := files[file]
		if !ok {
			t.Errorf("no sample %s", file)
			continue
		}
		r := parsertest.MustParse(t, "ncu-csv", file, content)
		if len(r.Counters) != 12 || len(r.Launches) != 1 || len(r.Regions) != 1 {
			t.Errorf("%s: %d counters, %d launches, %d regions, want 12, 1, 1", file, len(r.Counters), len(r.Launches), len(r.Regions))
			continue
		}
		if g := r.Regions[0]; g.Short != c.kernel {
			t.Errorf("%s: kernel %q, want %q", file, g.Short, c.kernel)
		}
		if l := r.Launches[0]; l.DurNs.V != c.durNs || l.Grid[0].V != c.grid {
			t.Errorf("%s: launch %+v", file, l)
		}
		if v := r.Value(c.kernel, "dram__bytes_op_read.sum"); v.V != c.bytes {
			t.Errorf("%s: bytes read %v, want %v", file, v, c.bytes)
		}
		if v := r.Value(c.kernel, "gpu__time_duration.sum"); math.Abs(v.V*1e9-float64(c.durNs)) > 1e-6 {
			t.Errorf("%s: time %v s", file, v)
		}
	}
}

func TestCutFilesGiveAnErrorOrWhatIsWhole(t *testing.T) {
	for name, content := range samples(t) {
		parsertest.Truncations(t, "ncu-csv", name, content, 1500)
	}
	for _, name := range []string{"raw_two_kernels.csv", "details_rules.csv", "spreadsheet.csv", "denied.csv"} {
		parsertest.Truncations(t, "ncu-csv", name, fixture(t, name), 1500)
	}
}

func TestAnyColumnMayBeMissing(t *testing.T) {
	for name, content := range samples(t) {
		whole := parsertest.MustParse(t, "ncu-csv", name, content)
		start := strings.Index(content, `"ID"`)
		for col := range 15 {
			var b strings.Builder
			b.WriteString(content[:start])
			for _, row := range strings.Split(strings.TrimSuffix(content[start:], "\r\n"), "\r\n") {
				cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(row, `"`), `"`), `","`)
				b.WriteString(`"` + strings.Join(append(append([]string{}, cells[:col]...), cells[col+1:]...), `","`) + "\"\r\n")
			}
			r, err := parsertest.Parse("ncu-csv", name, b.String())
			switch {
			case err != nil:
				var syntax *collectors.SyntaxError
				if !errors.As(err, &syntax) || syntax.Line == 0 || syntax.Column == 0 {
					t.Errorf("%s without column %d: %v", name, col, err)
				}
			case len(r.Counters) != len(whole.Counters):
				t.Errorf("%s without column %d: %d counters and no error, want %d", name, col, len(r.Counters), len(whole.Counters))
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	var seeds []string
	for _, name := range []string{"raw_two_kernels.csv", "details_rules.csv", "long_german.csv", "spreadsheet.csv", "denied.csv", "source_sass.csv", "source_both.csv"} {
		seeds = append(seeds, fixture(f, name))
	}
	parsertest.Fuzz(f, "ncu-csv", seeds...)
}
