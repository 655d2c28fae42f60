package gprof_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/gprof"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func TestSamples(t *testing.T) {
	const f, how = "local_gprof.txt", "read in the text: it says \"no time accumulated\" and has no rows"
	parsertest.Facts(t, "../../../shared/samples/gprof", []parsertest.Fact{
		{File: f, What: "status", Of: func(r *parsertest.Records) any { return r.Runs[0].Status }, Want: datasets.RunEmpty, How: how},
		{File: f, What: "functions", Of: func(r *parsertest.Records) any { return len(r.Regions) }, Want: 0, How: how},
		{File: f, What: "reason", Of: func(r *parsertest.Records) any { return strings.HasPrefix(r.Runs[0].Error, "no time accumulated") }, Want: true, How: how},
		{File: f, What: "sampling", Of: func(r *parsertest.Records) any { return r.Attributes[0].Value }, Want: "0.01 seconds", How: how},
	}, nil)
}

const flat = `Flat profile:

Each sample counts as 0.01 seconds.
  %   cumulative   self              self     total           
 time   seconds   seconds    calls  ms/call  us/call  name    
 60.00      0.60     0.60        2   300.00   400.00  ns::leaf(double, int)
 30.00      0.90     0.30                             _mcount
 10.00      1.00     0.10     5000     0.02     0.02  double ns::work<double>(std::vector<double, std::allocator<double> >&)
  0.00      1.00     0.00        1     0.00     0.00  _ZN2ns4initEv

 %         the percentage of the total running time of the
time       program used by this function.
`

const graph = `
		     Call graph (explanation follows)


granularity: each sample hit covers 2 byte(s) for 1.00% of 1.00 seconds

index % time    self  children    called     name
                                                 <spontaneous>
[1]     70.0    0.00    0.70                 main [1]
                0.60    0.00       2/2           ns::leaf(double, int) [2]
                0.10    0.00    5000/5000        walk <cycle 1> [4]
-----------------------------------------------
                0.60    0.00       2/2           main [1]
[2]     60.0    0.60    0.00       2         ns::leaf(double, int) [2]
-----------------------------------------------
[3]     10.0    0.10    0.00    5000+7       <cycle 1 as a whole> [3]
                0.10    0.00    5007             walk <cycle 1> [4]
-----------------------------------------------
                                   7             walk <cycle 1> [4]
                0.10    0.00    5000/5000        main [1]
[4]     10.0    0.10    0.00    5000+7       walk <cycle 1> [4]
                                   7             walk <cycle 1> [4]
-----------------------------------------------

 This table describes the call tree of the program.

Index by function name

   [2] ns::leaf(double, int)   [1] main
`

func lines(r *parsertest.Records) string {
	var b strings.Builder
	for _, c := range r.Counters {
		fmt.Fprintf(&b, "%s %s %.6g%s\n", r.Path(c.Region), c.Metric, c.Value.V, c.Unit)
	}
	return b.String()
}

const flatWant = `leaf % time 60%
leaf cumulative seconds 0.6s
leaf self seconds 0.6s
leaf calls 2
leaf self per call 0.3s
leaf total per call 0.0004s
_mcount % time 30%
_mcount cumulative seconds 0.9s
_mcount self seconds 0.3s
work % time 10%
work cumulative seconds 1s
work self seconds 0.1s
work calls 5000
work self per call 2e-05s
work total per call 2e-08s
init % time 0%
init cumulative seconds 1s
init self seconds 0s
init calls 1
init self per call 0s
init total per call 0s
`

func TestFlatProfile(t *testing.T) {
	r := parsertest.MustParse(t, "gprof", "x", flat)
	if got := lines(r); got != flatWant {
		t.Errorf("got\n%s\nwant\n%s", got, flatWant)
	}
	if r.Runs[0].TimeMetric != "self seconds" || r.Runs[0].TimeInclusive || r.Regions[3].Mangled != "_ZN2ns4initEv" {
		t.Errorf("%+v %+v", r.Runs, r.Regions)
	}
	// The same in a German locale.
	comma := strings.NewReplacer("0.", "0,", "60.", "60,", "30.", "30,", "10.", "10,", "1.0", "1,0", "300.", "300,", "400.", "400,").Replace(flat)
	if got := lines(parsertest.MustParse(t, "gprof", "x", comma)); got != flatWant {
		t.Errorf("with decimal commas:\n%s", got)
	}
}

func TestCallGraph(t *testing.T) {
	r := parsertest.MustParse(t, "gprof", "x", graph)
	want := `main graph % time 70%
main graph self 0s
main graph children 0.7s
main self seconds 0s
main inclusive seconds 0.7s
main/leaf arc self 0.6s
main/leaf arc children 0s
main/leaf inclusive seconds 0.6s
main/leaf arc calls 2
main/leaf arc calls of all 2
main/walk arc self 0.1s
main/walk arc children 0s
main/walk inclusive seconds 0.1s
main/walk arc calls 5000
main/walk arc calls of all 5000
leaf graph % time 60%
leaf graph self 0.6s
leaf graph children 0s
leaf self seconds 0.6s
leaf inclusive seconds 0.6s
leaf called 2
`
	if got := lines(r); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant first\n%s", got, want)
	}
	// The cycle as a whole is not a function: its time is that of its members.
	if r.Total("self seconds") != 0.7 || r.Total("recursive calls") != 14 {
		t.Errorf("self seconds %v, recursive calls %v", r.Total("self seconds"), r.Total("recursive calls"))
	}
	// With the flat profile each function has its own time once: 1 second in
	// the flat profile, and walk, which only the graph has, 0.1.
	for _, text := range []string{flat + "\f" + graph, graph + flat} {
		both := parsertest.MustParse(t, "gprof", "x", text)
		if sum := both.Total("self seconds"); math.Abs(sum-1.1) > 1e-12 || both.Value("leaf", "called").V != 2 || both.Value("main", "self seconds") != datasets.Some(0.0) {
			t.Errorf("with both tables: self seconds %v", sum)
		}
	}
}

func TestLines(t *testing.T) {
	r := parsertest.MustParse(t, "gprof", "x", "  %   cumulative   self              self     total           \n time   seconds   seconds    calls  ms/call  ms/call  name    \n 80.13      0.08     0.08        1    80.13    80.13  leaf(double) (w.cpp:4 @ 11f9)\n")
	if g := r.Regions[0]; g.Short != "leaf" || g.Raw != "leaf(double) (w.cpp:4 @ 11f9)" || r.Attributes[0].Value != "w.cpp:4" || r.Attributes[1].Value != "11f9" {
		t.Errorf("%+v %+v", r.Regions, r.Attributes)
	}
}

func TestDamagedTextsAreRefusedWithTheirPlace(t *testing.T) {
	head := "  %   cumulative   self              self     total           \n time   seconds   seconds    calls  ms/call  ms/call  name    \n"
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":         {"", 1, 1, "the file is empty"},
		"another text":  {"hello\n", 1, 1, "neither a flat profile nor a call graph"},
		"no number":     {head + " 80.x      0.08     0.08        1    80.13    80.13  leaf\n", 3, 1, "% time is no number"},
		"no name":       {head + " 80.1      0.08     0.08        1    80.13    80.13\n", 3, 1, "has no name"},
		"cut":           {head + " 80.1      0.08     0.08        1    80.13    80.13  le", 3, 56, "ends within a line"},
		"unknown unit":  {" time   seconds   seconds    calls  xs/call  ms/call  name    \n", 1, 1, "unknown unit"},
		"cut in graph":  {"index % time    self  children    called     name\n[1]     70.0    0.00    0.70                 main [1]\n", 3, 1, "ends within an entry"},
		"odd in callee": {"index % time    self  children    called     name\n[1]     70.0    0.00    0.70                 main [1]\n    x [2]\n", 3, 1, "callee"},
	} {
		parsertest.Refused(t, "gprof", name, c.text, c.line, c.col, c.msg)
	}
}

func TestDetection(t *testing.T) {
	for text, want := range map[string]string{flat: "gprof", graph: "gprof", "gmon\x01\x00\x00\x00\x00\x00": "gprof-gmon"} {
		f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(text), Whole: true})
		if err != nil || f.Name != want || sure != collectors.Certain {
			t.Errorf("%.20q is detected as %q, %v, %v", text, f.Name, sure, err)
		}
	}
	_, err := parsertest.Parse("gprof-gmon", "dir/gmon.out", "gmon\x01\x00\x00\x00\x00\x00")
	var refused *collectors.UnsupportedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "gprof PROGRAM dir/gmon.out > profile.txt") {
		t.Errorf("gmon.out: %v", err)
	}
}

func TestCutTextsGiveNoOtherValues(t *testing.T) {
	parsertest.Truncations(t, "gprof", "x", flat+graph, 500)
}

func FuzzGprof(f *testing.F) { parsertest.Fuzz(f, "gprof", flat, graph, "") }

func TestSeveralProfilesInOneFileAreRefused(t *testing.T) {
	if _, err := parsertest.Parse("gprof", "x", flat+"\n"+flat); err == nil || !strings.Contains(err.Error(), "another flat profile begins here") {
		t.Errorf("%v", err)
	}
}

// gprof -T writes the index of the call graph behind the names of the flat
// profile: they are the functions of the graph all the same.
func TestTraditionalStyle(t *testing.T) {
	r := parsertest.MustParse(t, "gprof", "x", "Flat profile:\n\nEach sample counts as 0.01 seconds.\n  %   cumulative   self              self     total           \n time   seconds   seconds    calls  ms/call  ms/call  name    \n"+
		" 60.00      0.06     0.06        2    30.00    30.00  ns::at<int>(int) [3]\n 40.00      0.10     0.04                             operator[](int) [1]\n")
	if len(r.Regions) != 2 || r.Regions[0].Raw != "ns::at<int>(int)" || r.Regions[0].Short != "at" || r.Regions[1].Raw != "operator[](int)" {
		t.Errorf("%+v", r.Regions)
	}
}
