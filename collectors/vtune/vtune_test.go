package vtune_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/vtune"
	"github.com/rooflab/rooflab/datasets"
)

func TestSamples(t *testing.T) {
	const f = "inferno_vtune.csv"
	named := func(name, metric string) func(*parsertest.Records) any {
		return func(r *parsertest.Records) any {
			sum := 0.0
			for _, c := range r.Counters {
				if c.Metric == metric && r.Region(c.Region).Raw == name {
					sum += c.Value.V
				}
			}
			return sum
		}
	}
	deepest := func(r *parsertest.Records) any {
		most := 0
		for _, g := range r.Regions {
			most = max(most, strings.Count(pathOf(r, g.ID), "\x00"))
		}
		return most
	}
	parsertest.Facts(t, "../../../shared/samples/vtune", []parsertest.Fact{
		{File: f, What: "rows", Of: func(r *parsertest.Records) any { return len(r.Regions) }, Want: 63, How: "wc -l, without the titles"},
		{File: f, What: "CPU Time:Self in all", Of: func(r *parsertest.Records) any { return r.Total("CPU Time:Self") }, Want: 0.168572, How: "the second field from the end, added by a script"},
		{File: f, What: "depth", Of: deepest, Want: 24, How: "the longest run of spaces at the begin of a line"},
		{File: f, What: "time of is_null at two places", Of: named("core::ptr::{{impl}}::is_null<u8>", "CPU Time:Self"), Want: 0.031864, How: "the same script, by name"},
		{File: f, What: "name with commas", Of: named("core::convert::{{impl}}::into<usize,usize>", "CPU Time:Self"), Want: 0.015309, How: "the same script, by name"},
		{File: f, What: "module of memset", Of: func(r *parsertest.Records) any {
			for _, g := range r.Regions {
				if g.Raw == "memset" {
					return g.Module
				}
			}
			return nil
		}, Want: "VCRUNTIME140.dll", How: "read in the text"},
	}, map[string]string{
		"inferno_end-before-header.csv":   "inferno_end-before-header.csv:1:1: the file ends before a table begins",
		"inferno_invalid-time-field.csv":  `:2:7: the cell of CPU Time:Self is no number: expected a number, found "INVALID TIME"`,
		"inferno_skipped-indentation.csv": ":7:1: the indentation skips a level: expected at most 5 spaces, one more than in the row above, found 6",
	})
}

func pathOf(r *parsertest.Records, id int64) string {
	var names []string
	for g := r.Region(id); g != nil; g = r.Region(g.Parent) {
		names = append([]string{g.Raw}, names...)
	}
	return strings.Join(names, "\x00")
}

const topDown = `war:Column filter is ON.
Function Stack,CPU Time:Total,CPU Time:Self,Instructions Retired:Self,Module,Start Address
Total,2.0,0.0,,,
 main,2.0,0.5,1000000,a.out,0x401000
  "ns::mul<float, 4>(float*, int)",1.5,1.0,2000000,"lib,odd.so",0x402000
   _ZN2ns3dotEPf,0.5,0.5,3000000,a.out,0x403000
`

func TestTopDownTreeInEveryDelimiter(t *testing.T) {
	for _, delim := range []string{",", "\t", ";", "^", "|"} {
		text := ""
		for line := range strings.Lines(topDown) {
			inQuotes := false
			for _, c := range line {
				if c == '"' {
					inQuotes = !inQuotes
				}
				if c == ',' && !inQuotes {
					text += delim
				} else {
					text += string(c)
				}
			}
		}
		f, sure, err := collectors.Detect(collectors.Head{Name: "x.csv", Bytes: []byte(text), Whole: true})
		if err != nil || f.Name != "vtune-csv" || sure != collectors.Certain {
			t.Errorf("%q: detected as %q, %v, %v", delim, f.Name, sure, err)
		}
		r := parsertest.MustParse(t, "vtune-csv", "x", text)
		var got []string
		for _, g := range r.Regions {
			got = append(got, r.Path(g.ID)+" "+g.Module+" "+g.Mangled)
		}
		want := []string{"Total  ", "Total/main a.out ", "Total/main/mul lib,odd.so ", "Total/main/mul/dot a.out _ZN2ns3dotEPf"}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: regions %q, want %q", delim, got, want)
		}
		if v := r.Value("mul", "CPU Time:Total"); v.V != 1.5 || r.Total("CPU Time:Self") != 2 || r.Total("Instructions Retired:Self") != 6e6 {
			t.Errorf("%q: counters %+v", delim, r.Counters)
		}
		if u := r.Runs[0]; u.TimeMetric != "CPU Time:Self" || u.TimeInclusive {
			t.Errorf("run %+v", u)
		}
		for _, c := range r.Counters {
			if c.Metric == "Instructions Retired:Self" && r.Region(c.Region).Raw == "Total" && (c.Status != datasets.StatusNA || c.Value.Valid) {
				t.Errorf("an empty cell became %+v", c)
			}
			if strings.HasPrefix(c.Metric, "CPU Time") && c.Unit != "s" {
				t.Errorf("a time became %+v", c)
			}
		}
	}
}

func TestTotalsInPercentAreNotSeconds(t *testing.T) {
	text := "Function Stack,CPU Time: Total,CPU Time: Self\nTotal,100.0,0.0\n main,100.0,0.5\n  f,75.0,1.5\n"
	r := parsertest.MustParse(t, "vtune-csv", "x", text)
	for _, c := range r.Counters {
		want := "s"
		if c.Metric == "CPU Time: Total" {
			want = "%"
		}
		if c.Unit != want {
			t.Errorf("%s has the unit %q, want %q", c.Metric, c.Unit, want)
		}
	}
}

func TestUnitsBehindNumbersAndDecimalCommas(t *testing.T) {
	text := "Function;CPU Time;CPI Rate;Bandwidth, GB/sec;Share (%);Module;Wait Time\nf;12,5ms;0,75;1,5;87,5%;m.so;1,25\n"
	r := parsertest.MustParse(t, "vtune-csv", "x", text)
	for metric, want := range map[string]string{"CPU Time": "0.0125 s", "CPI Rate": "0.75 ", "Bandwidth, GB/sec": "1.5e+09 byte/s", "Share (%)": "87.5 %", "Wait Time": "1.25 s"} {
		for _, c := range r.Counters {
			if c.Metric == metric && fmt.Sprint(c.Value.V, " ", c.Unit) != want {
				t.Errorf("%s is %v %s, want %s", metric, c.Value.V, c.Unit, want)
			}
		}
	}
	// With its messages on standard error in the same file.
	text = "vtune: Using result path \"/r\"\n" + text + "vtune: Executing actions 100 % done\n"
	if mixed := parsertest.MustParse(t, "vtune-csv", "x", text); len(mixed.Counters) != 5 || len(mixed.Regions) != 1 {
		t.Errorf("%+v", mixed.Regions)
	}
	if len(r.Counters) != 5 || r.Regions[0].Kind != datasets.KindFunction || r.Runs[0].TimeMetric != "CPU Time" {
		t.Errorf("%d counters of %+v", len(r.Counters), r.Regions)
	}
}

func TestSummary(t *testing.T) {
	text := "Hierarchy Level\tMetric Name\tMetric Value\n0\tElapsed Time\t1.5\n1\tCPU Time\t1.25\n2\tEffective Time\t1.0\n1\tTotal Thread Count\t4\n0\tCollection and Platform Info\t\n1\tApplication Command Line\t./a.out -n 3\n1\tComputer Name\tnode7\n"
	r := parsertest.MustParse(t, "vtune-csv", "x", text)
	if r.Total("Elapsed Time:CPU Time:Effective Time") != 1 || r.Total("Elapsed Time:Total Thread Count") != 4 || r.Runs[0].Command != "./a.out -n 3" || r.Machines[0].Host != "node7" || r.Runs[0].TimeMetric != "Elapsed Time" {
		t.Errorf("%+v\n%+v", r.Runs, r.Counters)
	}
}

func TestBrokenTablesAreRefusedWithTheirPlace(t *testing.T) {
	title := "Function,CPU Time,Module\n"
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":          {"", 1, 1, "the file is empty"},
		"messages only":  {"war:x\nvtune: done\n", 2, 1, "ends before a table begins"},
		"few cells":      {title + "f,1.0\n", 2, 1, "one cell per title"},
		"many cells":     {title + "f,1.0,m,x\n", 2, 1, "one cell per title"},
		"open quote":     {title + "\"f,1.0,m\n", 2, 1, "a quoted cell has no end"},
		"no name":        {title + ",1.0,m\n", 2, 1, "the row has no name"},
		"indented first": {title + " f,1.0,m\n", 2, 1, "the indentation skips a level"},
		"no number":      {title + "f,1.0,m\ng,1.x,m\n", 3, 3, "is no number"},
		"cut":            {title + "f,1.0,m\ng,1.", 3, 5, "the file ends within a row"},
		"titles twice":   {"Function,CPU Time,CPU Time\n", 1, 19, "two columns of the same title"},
	} {
		parsertest.Refused(t, "vtune-csv", name, c.text, c.line, c.col, c.msg)
	}
}

func TestATableWithoutRowsIsAnEmptyRun(t *testing.T) {
	r := parsertest.MustParse(t, "vtune-csv", "x", "Function,CPU Time,Module\n")
	if r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("run %+v", r.Runs[0])
	}
}

func TestOtherTablesAreNotVTunes(t *testing.T) {
	f, err := collectors.Lookup("vtune-csv")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "Function,calls,time\nf,1,2\n", "name,CPU Time\n", "Process,PID\nx,1\n", "# x\nFunctional,CPU Time\n"} {
		if c := f.Detect(collectors.Head{Bytes: []byte(text), Whole: true}); c != collectors.No {
			t.Errorf("%q is taken for VTune's: %v", text, c)
		}
	}
}

func TestCutTablesGiveNoOtherValues(t *testing.T) {
	parsertest.Truncations(t, "vtune-csv", "x", topDown, 1000)
}

func FuzzVTune(f *testing.F) {
	parsertest.Fuzz(f, "vtune-csv", topDown, "Hierarchy Level\tMetric Name\tMetric Value\n0\tElapsed Time\t1.5\n", "Function;CPU Time\nf;12,5ms\n")
}

func TestReportsAsTextAreRefusedWithWhatToDo(t *testing.T) {
	for _, text := range []string{
		"vtune: Executing actions 75 % Generating a report                              Elapsed Time: 5.055s\n    CPU Time: 34.515s\n    Memory Bound: 5.8% of Pipeline Slots\n        L1 Bound: 12.6% of Clockticks\n",
		"Elapsed Time: 1.250s\n | Application execution time is too short.\n |\n    Clockticks: 5,500,000\n    CPI Rate: 0.750\nCollection and Platform Info\n    Application Command Line: ./solver\n",
		"Function          CPU Time  CPU Time:Effective Time\n----------------  --------  -----------------------\nsolve               1.500s                   1.500s\n",
	} {
		f, sure, err := collectors.Detect(collectors.Head{Name: "summary.txt", Bytes: []byte(text), Whole: true})
		if err != nil || f.Name != "vtune-text" || sure != collectors.Certain {
			t.Errorf("detected as %q, %v, %v", f.Name, sure, err)
		}
		_, err = parsertest.Parse("vtune-text", "summary.txt", text)
		var e *collectors.UnsupportedError
		if !errors.As(err, &e) || !strings.Contains(e.Hint, "-format csv") {
			t.Errorf("%v", err)
		}
	}
	for _, text := range []string{"Elapsed Time: 5.0s\nall done\n", "Benchmark of the solver\nElapsed Time: 5.0s CPU Time: 4s\n", "Function  Calls\n--------  -----\nf  1\n"} {
		if f, sure, err := collectors.Detect(collectors.Head{Name: "log.txt", Bytes: []byte(text), Whole: true}); err == nil && f.Name == "vtune-text" {
			t.Errorf("%q is taken for %s, %v", text, f.Name, sure)
		}
	}
}
