package caliper_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/caliper"
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

// samples are the paths of the real files that lie beside the repository.
func samples(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("../../../shared/samples/caliper/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no samples in ../shared/samples/caliper beside the repository (%v): put the project's sample profiles there", err)
	}
	return paths
}

func read(t testing.TB, path string) (format, content string) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, sure, err := collectors.Detect(collectors.Head{Name: filepath.Base(path), Bytes: b[:min(len(b), collectors.HeadSize)], Whole: len(b) <= collectors.HeadSize})
	if err != nil || sure != collectors.Certain {
		t.Fatalf("%s is detected as %q, %v, %v", path, f.Name, sure, err)
	}
	return f.Name, string(b)
}

func TestRealSamplesHoldWhatAnIndependentReadingFinds(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("this test compares with a reading by python3, which is not there: install it (apt-get install python3)")
	}
	for _, path := range samples(t) {
		out, err := exec.Command(python, "testdata/independent.py", path).Output()
		if err != nil {
			t.Fatalf("independent.py %s: %v", path, err)
		}
		var want struct {
			Records, Numbers, Regions int
			Sums                      map[string]float64
		}
		if err := json.Unmarshal(out, &want); err != nil {
			t.Fatal(err)
		}
		format, content := read(t, path)
		r := parsertest.MustParse(t, format, path, content)
		name := filepath.Base(path)
		if len(r.Counters) != want.Numbers || len(r.Regions) != want.Regions || want.Numbers == 0 {
			t.Errorf("%s: %d counters and %d regions, want %d and %d", name, len(r.Counters), len(r.Regions), want.Numbers, want.Regions)
		}
		// A record is a launch, or the one plain record of its region.
		plain := map[int64]bool{}
		sums := map[string]float64{}
		for _, c := range r.Counters {
			if c.Launch == 0 {
				plain[c.Region] = true
			}
			// The file's own number: the value in the file's unit.
			v := c.Value.V
			if u := collectors.ParseUnit(c.RawUnit); u.Exp10 != 0 {
				v *= math.Pow10(-u.Exp10)
			}
			sums[c.Metric] += v
		}
		if n := len(r.Launches) + len(plain); n != want.Records {
			t.Errorf("%s: %d launches and %d regions with counters, want %d records", name, len(r.Launches), len(plain), want.Records)
		}
		for metric, sum := range want.Sums {
			if math.Abs(sums[metric]-sum) > 1e-9*math.Abs(sum) {
				t.Errorf("%s: the sum of %s is %v, want %v", name, metric, sums[metric], sum)
			}
		}
		if len(sums) != len(want.Sums) {
			t.Errorf("%s: %d metrics, want %d", name, len(sums), len(want.Sums))
		}
	}
}

func TestRunKnowsItsGlobals(t *testing.T) {
	_, content := read(t, "../../../shared/samples/caliper/mpi_scaling_cali__27_cores.cali")
	r := parsertest.MustParse(t, "caliper-cali", "27", content)
	run := r.Runs[0]
	// grep launchdate in the file; it has min, max, avg and sum of inclusive times.
	if run.Started != datasets.Some(time.Unix(1616614379, 0).UTC()) || run.TimeMetric != "sum#inclusive#sum#time.duration" || !run.TimeInclusive || run.ToolVersion == "" {
		t.Errorf("run = %+v", run)
	}
	attrs := map[string]string{}
	for _, a := range r.Attributes {
		if a.Region == 0 {
			attrs[a.Name] = a.Value
		}
	}
	for name, want := range map[string]string{"jobsize": "27", "cluster": "opal", "compiler": "intel"} {
		if attrs[name] != want {
			t.Errorf("the global %s is %q, want %q", name, attrs[name], want)
		}
	}
}

func TestStreamIsReadAsItIsMeant(t *testing.T) {
	r := parsertest.MustParse(t, "caliper-cali", "solver.cali", fixture(t, "solver.cali"))
	if len(r.Regions) != 4 || len(r.Counters) != 8 || len(r.Launches) != 0 || len(r.Warnings) != 0 {
		t.Fatalf("%d regions, %d counters, %d launches, warnings %v", len(r.Regions), len(r.Counters), len(r.Launches), r.Warnings)
	}
	paths := map[string]datasets.Region{}
	for _, g := range r.Regions {
		paths[r.Path(g.ID)] = g
	}
	solve, ok := paths["main/time step/solve(A,b)=x"]
	if !ok || solve.Order != datasets.Some(int64(2)) {
		t.Errorf("a record before its node, with escaped characters: %v", paths)
	}
	if g := paths["main/time step"]; g.Kind != datasets.KindLoop {
		t.Errorf("the loop is %+v", g)
	}
	if g, ok := paths["(no region)"]; !ok || g.Raw != "" {
		t.Errorf("what was outside of all regions: %v", paths)
	}
	for _, c := range r.Counters {
		if c.Region == solve.ID && c.Metric == "sum#sum#time.duration" && (c.Value != datasets.Some(0.5) || c.Unit != "s" || c.RawUnit != "sec") {
			t.Errorf("time of solve: %+v", c)
		}
	}
	run := r.Runs[0]
	if run.ToolVersion != "2.11.0" || run.Command != "[./solver,-n,100]" || run.Started != datasets.Some(time.Unix(1700000000, 0).UTC()) || run.TimeMetric != "sum#sum#time.duration" || run.TimeInclusive {
		t.Errorf("run = %+v", run)
	}
}

func TestRanksAreLaunches(t *testing.T) {
	r := parsertest.MustParse(t, "caliper-json-split", "ranks.json", fixture(t, "ranks.json"))
	if len(r.Launches) != 4 || len(r.Counters) != 5 || len(r.Regions) != 3 {
		t.Fatalf("%d launches, %d counters, %d regions, want 4, 5, 3", len(r.Launches), len(r.Counters), len(r.Regions))
	}
	if l := r.Launches[3]; l.Rank != datasets.Some(int64(1)) || r.Path(l.Region) != "main/inner" {
		t.Errorf("the last launch: %+v", l)
	}
	if c := r.Counters[0]; c.Value.V != 100.5e-6 || c.Unit != "s" || c.Launch == 0 {
		t.Errorf("the first counter: %+v", c)
	}
	if c := r.Counters[4]; c.Launch != 0 || r.Path(c.Region) != "(no region)" {
		t.Errorf("the row without rank and path: %+v", c)
	}
	if r.Runs[0].ToolVersion != "2.9.0" || len(r.Attributes) != 3 { // note, version, answer
		t.Errorf("run %+v, attributes %v", r.Runs[0], r.Attributes)
	}
}

func TestTimeSeriesHaveTheirPlacesInTime(t *testing.T) {
	paths, _ := filepath.Glob("../../../shared/samples/caliper/*timeseries*.cali")
	if len(paths) != 1 {
		t.Fatalf("the sample with a time series: %v", paths)
	}
	_, content := read(t, paths[0])
	r := parsertest.MustParse(t, "caliper-cali", "series", content)
	// Line 29 of the file: timeseries.starttime=1689118709.135139 and .duration=0.001398.
	found := false
	for _, l := range r.Launches {
		if l.StartNs == datasets.Some(int64(1689118709135139000)) && l.DurNs == datasets.Some(int64(1398000)) {
			found = true
		}
	}
	if !found || len(r.Launches) != 22 {
		t.Errorf("%d launches, want 22, one of them the interval of line 29: %+v", len(r.Launches), r.Launches)
	}
}

func TestCutFilesGiveAnErrorOrWhatIsWhole(t *testing.T) {
	for _, path := range samples(t) {
		format, content := read(t, path)
		parsertest.Truncations(t, format, filepath.Base(path), content, 60)
	}
	parsertest.Truncations(t, "caliper-cali", "solver.cali", fixture(t, "solver.cali"), 5000)
	parsertest.Truncations(t, "caliper-json-split", "ranks.json", fixture(t, "ranks.json"), 5000)
}

func TestBrokenFilesNameThePlace(t *testing.T) {
	solver, ranks := fixture(t, "solver.cali"), fixture(t, "ranks.json")
	for name, c := range map[string]struct {
		format, content string
		line            int
		says            string
	}{
		"no record":          {"caliper-cali", strings.Replace(solver, "__rec=ctx,attr", "rec=ctx,attr", 1), 10, "no record"},
		"a value less":       {"caliper-cali", strings.Replace(solver, "data=0.125000=1", "data=0.125000", 1), 14, "one value per attribute"},
		"no number":          {"caliper-cali", strings.Replace(solver, "0.125000", "0.12x", 1), 14, "no number"},
		"a number with a ,":  {"caliper-cali", strings.Replace(solver, "0.125000", `0\,125`, 1), 14, "no number"},
		"no id":              {"caliper-cali", strings.Replace(solver, "id=32,", "", 1), 13, "id"},
		"no attribute":       {"caliper-cali", strings.Replace(solver, ",attr=31,data=main", ",data=main", 1), 13, "attr"},
		"a node is missing":  {"caliper-cali", strings.Replace(solver, "__rec=node,id=34,attr=33,data=time step,parent=32\n", "", 1), 16, "node 34"},
		"a circle":           {"caliper-cali", strings.Replace(solver, "data=main", "data=main,parent=40", 1), 0, "never end"},
		"two streams":        {"caliper-cali", solver + strings.Replace(solver, "data=main", "data=other", 1), 40, "another one than in line 13"},
		"not an attribute":   {"caliper-cali", strings.Replace(solver, "attr=23=25,data=0.125000", "attr=32=25,data=0.125000", 1), 14, "not"},
		"an entry twice":     {"caliper-cali", strings.Replace(solver, "id=32,", "id=32,id=32,", 1), 13, "twice"},
		"json: columns":      {"caliper-json-split", strings.Replace(ranks, `"mpi.rank", `, "", 1), 0, "3 descriptions"},
		"json: no columns":   {"caliper-json-split", strings.Replace(ranks, `"columns"`, `"kolumns"`, 1), 0, `"columns"`},
		"json: a cell less":  {"caliper-json-split", strings.Replace(ranks, "[ 40, 0, 1, null ]", "[ 40, 0, 1 ]", 1), 5, "4 cells"},
		"json: no such node": {"caliper-json-split", strings.Replace(ranks, "[ 40, 0, 1, null ]", "[ 40, 0, 9, null ]", 1), 5, "no node"},
		"json: a bad parent": {"caliper-json-split", strings.Replace(ranks, `"parent": 0`, `"parent": 1`, 1), 11, "no node before"},
		"json: a comma":      {"caliper-json-split", strings.Replace(ranks, "[ 40, 0, 1, null ],", "[ 40, 0, 1, null ]", 1), 0, "broken"},
		"json: more":         {"caliper-json-split", ranks + "{}", 0, "goes on"},
		"json: a list":       {"caliper-json-split", "[1]", 1, "expected"},
	} {
		_, err := parsertest.Parse(c.format, "broken", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) {
			t.Errorf("%s: %v, want a SyntaxError", name, err)
			continue
		}
		if c.line != 0 && syntax.Line != c.line || syntax.Line == 0 || syntax.Column == 0 || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want line %d and %q", name, err, c.line, c.says)
		}
	}
}

func TestUnitOfScaledTimesIsTheFiles(t *testing.T) {
	solver := strings.ReplaceAll(fixture(t, "solver.cali"), "sum#sum#time.duration", "sum#scale#sum#time.duration.ns")
	r := parsertest.MustParse(t, "caliper-cali", "scaled.cali", solver)
	if v := r.Value("main", "sum#scale#sum#time.duration.ns"); v.V != 0.125 || r.Runs[0].TimeMetric != "sum#scale#sum#time.duration.ns" {
		t.Errorf("0.125 sec under a name in .ns = %v, run %+v", v, r.Runs[0])
	}
	plain := strings.NewReplacer("sum#sum#time.duration", "sum#sum#time.duration.ns", "attr=14,data=sec,", "attr=13,data=x,").Replace(fixture(t, "solver.cali"))
	r = parsertest.MustParse(t, "caliper-cali", "ns.cali", plain)
	if v := r.Value("main", "sum#sum#time.duration.ns"); v.V != 0.125e-9 {
		t.Errorf("0.125 without a unit under a name in .ns = %v", v)
	}
}

func TestRepeatedRecordsAreKept(t *testing.T) {
	solver := fixture(t, "solver.cali")
	again := strings.Replace(solver, "__rec=node,id=33", "__rec=ctx,ref=32,attr=23=25,data=0.250000=1\n__rec=node,id=32,attr=31,data=main\n__rec=node,id=33", 1)
	r := parsertest.MustParse(t, "caliper-cali", "again.cali", again)
	if len(r.Regions) != 4 || len(r.Counters) != 10 || len(r.Launches) != 1 {
		t.Errorf("%d regions, %d counters, %d launches, want 4, 10, 1", len(r.Regions), len(r.Counters), len(r.Launches))
	}
}

func TestWriterWritesWhatTheReaderReads(t *testing.T) {
	var b bytes.Buffer
	w := caliper.NewWriter(&b)
	main := caliper.Step{Kind: caliper.Function, Name: "main"}
	w.Record([]caliper.Step{main}, caliper.Metric{Name: "sum#time.duration", Unit: "sec", Value: 0.1})
	w.Record([]caliper.Step{main, {Kind: caliper.Loop, Name: `a,b=c\d`}}, caliper.Metric{Name: "sum#time.duration", Unit: "sec", Value: 1.0 / 3}, caliper.Metric{Name: "bytes", Unit: "byte", Value: 1e12})
	w.Global("cmdline", "rooflab, again=1")
	w.Global("launchdate", "1700000000")
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := parsertest.MustParse(t, "caliper-cali", "own.cali", b.String())
	if len(r.Regions) != 2 || len(r.Counters) != 3 || len(r.Warnings) != 0 || r.Path(2) != `main/a,b=c\d` || r.Regions[1].Kind != datasets.KindLoop {
		t.Errorf("regions %+v, counters %+v, warnings %v", r.Regions, r.Counters, r.Warnings)
	}
	if v := r.Value(`a,b=c\d`, "sum#time.duration"); v.V != 1.0/3 {
		t.Errorf("a third came back as %v", v)
	}
	if run := r.Runs[0]; run.Command != "rooflab, again=1" || run.TimeMetric != "sum#time.duration" {
		t.Errorf("run %+v", run)
	}
}

func ExampleWriter() {
	var b bytes.Buffer
	w := caliper.NewWriter(&b)
	w.Record([]caliper.Step{{Kind: caliper.Function, Name: "main"}}, caliper.Metric{Name: "sum#time.duration", Unit: "sec", Value: 0.25})
	w.Global("cmdline", "./solver")
	if err := w.Close(); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.Count(b.String(), "__rec=ctx"), "record")
	// Output: 1 record
}

func FuzzCali(f *testing.F) {
	parsertest.Fuzz(f, "caliper-cali", fixture(f, "solver.cali"), "__rec=ctx,attr=23,data=1\n", "__rec=node,id=40,attr=40,data=a,parent=40\n__rec=ctx,ref=40\n")
}

func FuzzJSONSplit(f *testing.F) {
	parsertest.Fuzz(f, "caliper-json-split", fixture(f, "ranks.json"), `{"data":[],"columns":[],"nodes":[]}`)
}

// Version 1 had the unit in an attribute time.unit, its own version in each
// snapshot, and no record of globals.
func TestFilesOfVersion1(t *testing.T) {
	text := "__rec=node,id=12,attr=10,data=20,parent=3\n__rec=node,id=13,attr=8,data=phase,parent=12\n__rec=node,id=14,attr=8,data=time.unit,parent=12\n__rec=node,id=15,attr=8,data=cali.caliper.version,parent=12\n" +
		"__rec=node,id=16,attr=14,data=usec,parent=2\n__rec=node,id=17,attr=10,data=85,parent=16\n__rec=node,id=18,attr=8,data=time.inclusive.duration,parent=17\n" +
		"__rec=node,id=19,attr=15,data=1.5.dev\n__rec=node,id=20,attr=13,data=init\n__rec=ctx,ref=20=19,attr=18,data=1813\n"
	r := parsertest.MustParse(t, "caliper-cali", "x.cali", text)
	c := r.Counters[0]
	if len(r.Counters) != 1 || c.Value.V != 1813e-6 || c.Unit != "s" || c.RawUnit != "usec" || r.Runs[0].ToolVersion != "1.5.dev" || len(r.Warnings) != 0 {
		t.Errorf("%+v\n%+v\n%v", r.Counters, r.Runs, r.Warnings)
	}
}

// Caliper writes doubles as C's printf does.
func TestResultsOfDivisionsByZero(t *testing.T) {
	r := parsertest.MustParse(t, "caliper-json-split", "x", `{"data": [[0, inf, -nan], [0, nan, 2.5]], "columns": ["path", "ratio", "time"], "column_metadata": [{"is_value": false}, {"is_value": true}, {"is_value": true}], "nodes": [{"label": "main", "column": "path"}]}`)
	var got []string
	for _, c := range r.Counters {
		got = append(got, fmt.Sprint(c.Metric, " ", c.RawValue, " ", c.Status, " ", c.Value))
	}
	slices.Sort(got)
	if want := "[ratio inf na {0 false} ratio nan na {0 false} time -nan na {0 false} time 2.5 ok {2.5 true}]"; fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}
