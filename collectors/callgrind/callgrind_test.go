package callgrind_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/cachegrind"
	_ "github.com/rooflab/rooflab/collectors/callgrind"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// of finds the value of a metric for a function, summed over parts.
func of(function, metric, instance string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		sum, found := 0.0, false
		for _, c := range r.Counters {
			if c.Metric == metric && c.Instance == instance && r.Region(c.Region).Raw == function && c.Value.Valid {
				sum, found = sum+c.Value.V, true
			}
		}
		if !found {
			return "absent"
		}
		return sum
	}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

func TestSamples(t *testing.T) {
	var facts []parsertest.Fact
	for _, f := range []string{"callgrind.example.log", "callgrind.name-compression.log", "callgrind.subposition-compression.log"} {
		how := "read by hand: the cost lines below fn=, and those after calls="
		facts = append(facts,
			parsertest.Fact{File: f, What: "all instructions", Of: total("Instructions"), Want: 820, How: how},
			parsertest.Fact{File: f, What: "inclusive cost of main", Of: of("main", "Instructions.inclusive", ""), Want: 820, How: how},
			parsertest.Fact{File: f, What: "own cost of func1", Of: of("func1", "Instructions", ""), Want: 100, How: how},
			parsertest.Fact{File: f, What: "calls of func2", Of: of("func2", "calls", ""), Want: 5, How: how},
			parsertest.Fact{File: f, What: "cost of main's calls of func2", Of: of("main", "Instructions.to", "func2"), Want: 400, How: how})
	}
	f := "callgrind.cfn-reset.log"
	facts = append(facts,
		parsertest.Fact{File: f, What: "functions", Of: func(r *parsertest.Records) any { return len(r.Regions) }, Want: 4, How: "grep ^fn= | sort -u: the file of a callee holds for one call, so that gamma is one function"},
		parsertest.Fact{File: f, What: "inclusive cost of alpha", Of: of("alpha", "Instructions.inclusive", ""), Want: 50, How: "by hand, 10 + 10 + 10 + 20"},
		parsertest.Fact{File: f, What: "calls of gamma", Of: of("gamma", "calls", ""), Want: 2, How: "by hand, from alpha and delta"})
	f = "callgrind.multiple-event-types.log"
	facts = append(facts,
		parsertest.Fact{File: f, What: "seconds in all", Of: total("Time_(10ns)"), Want: 820e-8, How: "by hand, 20 + 100 + 700 times 10 ns"},
		parsertest.Fact{File: f, What: "bytes of func1 and what it calls", Of: of("func1", "Memory_(bytes).inclusive", ""), Want: 20000, How: "by hand, 15000 + 5000"},
		parsertest.Fact{File: f, What: "the writer", Of: func(r *parsertest.Records) any { return r.Runs[0].Tool + " " + r.Runs[0].ToolVersion }, Want: "xdebug 3.0.2 (PHP 7.4.14)", How: "line creator:"})
	parsertest.Facts(t, "../../../shared/samples/callgrind", facts, nil)
}

// everything uses all of what callgrind itself writes. Derived by hand:
//
//	part 1  main 1 + 2, walk 4 + 8 (8 of them inlined), walk calls itself twice
//	part 2  even 16 and odd 32 call each other, main calls even for 48 in all
const everything = `# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 77
cmd:  ./walk -n 3
part: 1
thread: 1

desc: I1 cache: 32768 B, 64 B, 8-way associative
desc: Timerange: Basic block 0 - 100
desc: Trigger: --dump-before=even

event: Est = Ir + 10 Bcm : Cycles, estimated
positions: instr line
events: Ir Bcm
summary: 15 3

ob=(1) /bin/walk
fl=(1) walk.c
fn=(1) main
0x1000 10 1
+4 +1 2
cfn=(2) walk(int)
calls=1 0x2000 20
* * 12 3
jump=7 +8 12
* *

fn=(2)
0x2000 20 4 1
fi=(2) vec.h
+8 5 8 2
fe=(1)
+2 +16 0
jcnd=3/9 -4 20
* *
cfn=(2)
calls=2 0x2000 20
* * 9 1

totals: 15 3
part: 2
thread: 2
desc: Trigger: Program termination
positions: instr line
events: Ir Bcm

ob=(1)
fl=(1)
fn=(1)
0x1000 10 0
cfn=(3) even
calls=1 0x3000 30
* * 48
cob=(4) /lib/libc.so
cfi=(5) ???
cfn=(6) exit
calls=1 0x4000 0
* * 5

fn=(3)
0x3000 30 16
cfn=(4) odd
calls=4 0x3010 40
* * 40

fn=(4)
0x3010 40 32
cfn=(3)
calls=3 0x3000 30
* * 20

totals: 48
`

func TestPartsThreadsCyclesInlinedLinesAndJumps(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "callgrind.out.77", everything)
	for _, c := range []struct {
		function, metric, instance string
		want                       any
	}{
		{"main", "Ir", "", 3.0}, {"main", "Ir.inclusive", "", 15.0 + 53},
		{"walk(int)", "Ir", "", 12.0}, {"walk(int)", "Ir.inclusive", "", 12.0}, {"walk(int)", "calls", "", 3.0},
		{"walk(int)", "Ir.to", "walk(int)", 9.0}, {"walk(int)", "Est", "", 42.0}, {"main", "Est.to", "walk(int)", 42.0},
		{"even", "Ir", "", 16.0}, {"even", "Ir.inclusive", "", 48.0}, {"odd", "Ir.inclusive", "", 32.0}, {"<cycle 1>", "Ir.inclusive", "", 48.0},
		{"exit", "Ir", "", "absent"}, {"exit", "Ir.inclusive", "", 5.0}, {"exit", "calls", "", 1.0}, {"<cycle 1>", "Ir", "", "absent"},
	} {
		if got := of(c.function, c.metric, c.instance)(r); got != c.want {
			t.Errorf("%s %s %s: %v, want %v", c.function, c.metric, c.instance, got, c.want)
		}
	}
	if len(r.Warnings) != 0 || r.Total("Ir") != 63 {
		t.Errorf("warnings %v, total %v", r.Warnings, r.Total("Ir"))
	}
	run := r.Runs[0]
	if run.Tool != "callgrind" || run.ToolVersion != "3.19.0" || run.Command != "./walk -n 3" || run.TimeMetric != "" {
		t.Errorf("run %+v", run)
	}
	threads := map[string]bool{}
	for _, l := range r.Launches {
		threads[fmt.Sprint(l.ToolID, l.Thread.V, l.PID.V)] = true
	}
	if len(threads) != 2 || !threads["part 11 77"] || !threads["part 22 77"] {
		t.Errorf("launches are of %v", threads)
	}
	var lines []string
	for _, s := range r.Samples {
		c := r.Codes[s.Code-1]
		lines = append(lines, fmt.Sprintf("%s:%d %x %d %s %d", c.File, c.Line.V, c.Offset.V, c.InlineDepth.V, s.Reason, s.Samples.V))
	}
	want := []string{"walk.c:10 1000 0 Ir 1", "walk.c:11 1004 0 Ir 2", "walk.c:11 1004 0 jumps 7", "walk.c:20 2000 0 Ir 4", "walk.c:20 2000 0 Bcm 1",
		"vec.h:5 2008 1 Ir 8", "vec.h:5 2008 1 Bcm 2", "walk.c:21 200a 0 branches 9", "walk.c:21 200a 0 branches.taken 3", "walk.c:30 3000 0 Ir 16", "walk.c:40 3010 0 Ir 32"}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("lines\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	for _, g := range r.Regions {
		if g.Raw == "walk(int)" && (g.Short != "walk" || g.Module != "/bin/walk" || g.Kind != datasets.KindFunction) {
			t.Errorf("region %+v", g)
		}
	}
	have := map[string]bool{}
	for _, a := range r.Attributes {
		have[a.Name+"="+a.Value] = true
	}
	for _, a := range []string{"I1 cache=32768 B, 64 B, 8-way associative", "trigger=--dump-before=even", "timerange=Basic block 0 - 100", "pid=77",
		"file=walk.c", "cycle=<cycle 1>", "event Est=Est = Ir + 10 Bcm : Cycles, estimated"} {
		if !have[a] {
			t.Errorf("there is no attribute %s", a)
		}
	}
}

// Callgrind tells recursive calls from outermost ones: f and f'2 call each
// other through g, and f's costs are those of its outermost call.
func TestRecursionLevels(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "p", "# callgrind format\ncreator: callgrind-3.22\nevents: Ir\n"+
		"fn=main\n1 1\ncfn=f\ncalls=1 1\n1 60\nfn=f\n2 10\ncfn=g\ncalls=1 1\n2 50\n"+
		"fn=g\n3 20\ncfn=f'2\ncalls=1 1\n3 30\nfn=f'2\n2 20\ncfn=g'2\ncalls=1 1\n2 10\nfn=g'2\n3 10\ncfn=f'2\ncalls=1 1\n3 5\ntotals: 61\n")
	for name, want := range map[string]float64{"main": 61, "f": 60, "g": 50, "<cycle 1>": 30} {
		if v := of(name, "Ir.inclusive", "")(r); v != want {
			t.Errorf("%s took %v, want %v", name, v, want)
		}
	}
	for _, a := range r.Attributes {
		if a.Name == "cycle" && !strings.HasSuffix(r.Region(a.Region).Raw, "'2") {
			t.Errorf("%s is in a cycle", r.Region(a.Region).Raw)
		}
	}
}

func TestXdebug(t *testing.T) {
	// Xdebug repeats a function for every call, writes its summary within
	// {main}, three numbers behind calls= and negative memory.
	r := parsertest.MustParse(t, "callgrind", "cachegrind.out.9", `version: 1
creator: xdebug 3.4.0 (PHP 8.3.0)
cmd: /srv/index.php
part: 1
positions: line

events: Time_(10ns) Memory_(bytes)

fl=(1) php:internal
fn=(1) php::strlen
3 5 32

fl=(1)
fn=(1)
4 7 -16

fl=(2) /srv/index.php
fn=(2) {main}

summary: 30 48

1 18 32
cfl=(1)
cfn=(1)
calls=1 0 0
3 5 32
cfl=(1)
cfn=(1)
calls=1 0 0
4 7 -16

`)
	if v := of("{main}", "Time_(10ns).inclusive", "")(r); v != 30e-8 {
		t.Errorf("{main} took %v s", v)
	}
	if v := of("php::strlen", "Memory_(bytes)", "")(r); v != 16.0 {
		t.Errorf("strlen took %v bytes", v)
	}
	if v := of("{main}", "calls.to", "php::strlen")(r); v != 2.0 {
		t.Errorf("strlen was called %v times", v)
	}
	if r.Runs[0].TimeMetric != "Time_(10ns)" || r.Runs[0].TimeInclusive || len(r.Warnings) != 0 {
		t.Errorf("run %+v, warnings %v", r.Runs[0], r.Warnings)
	}
}

func TestOtherWriters(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "cachegrind.out.1", "version: 0.9.6\ncmd: a.php\npart: 1\n\nevents: Time\n\nfl=a.php\nfn={main}\n1 7\n")
	if r.Total("Time") != 7 || r.Runs[0].FormatVersion != "0.9.6" || len(r.Warnings) != 1 || r.Warnings[0].Line != 1 {
		t.Errorf("%+v %v", r.Runs, r.Warnings)
	}
	r = parsertest.MustParse(t, "callgrind", "p", "version: 1\nevents: Nanoseconds\nfl=a.py\nfn=f\n3 1500\n")
	if r.Total("Nanoseconds") != 1.5e-6 || r.Runs[0].TimeMetric != "Nanoseconds" {
		t.Errorf("%+v", r.Runs)
	}
}

func TestUnknownCallCountsAreNoZeros(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "p", "positions: instr line\nevents: cpu(ms)\n\nfl=a.c\nfn=a\n0x10 1 10\ncfl=b.c\ncfn=b\ncalls=0 * 1\n* * 1000\n\nfl=b.c\nfn=b\n* 2 1000\n")
	for _, c := range r.Counters {
		if strings.HasPrefix(c.Metric, "calls") && r.Region(c.Region).Raw == "b" && (c.Value.Valid || c.Status != datasets.StatusNA) {
			t.Errorf("pprof does not count calls, and %+v", c)
		}
	}
	if v := of("a", "cpu(ms).inclusive", "")(r); v != 1.01 {
		t.Errorf("a took %v s", v)
	}
}

func TestTwoFunctionsOfOneName(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "p", "# callgrind format\nevents: Ir\nfl=a.c\nfn=f\n1 1\ncfi=b.c\ncfn=f\ncalls=1 1\n1 2\nfl=b.c\nfn=f\n1 2\n")
	if v := of("f", "Ir.to", "f (b.c)")(r); v != 2.0 || len(r.Regions) != 2 {
		t.Errorf("%v, %+v", v, r.Counters)
	}
}

func TestTotalsThatDifferAreWarnedAbout(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "p", "# callgrind format\nevents: Ir\nfn=f\n1 1\ntotals: 2\n")
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "the totals of Ir are 2 and the functions' costs are 1 together") {
		t.Errorf("warnings %v", r.Warnings)
	}
}

func TestErrors(t *testing.T) {
	const head = "# callgrind format\nevents: Ir\n"
	for _, c := range []struct {
		text         string
		line, column int
		msg          string
	}{
		{head + "fn=f\n1 x\n", 4, 1, "a cost is no number"},
		{head + "fn=f\nx1 2\n", 4, 1, "none of Callgrind's format"},
		{head + "fn=f\n1 2 3\n", 4, 1, "more costs than there are events"},
		{head + "1 2\n", 3, 1, "costs without a function"},
		{head + "fn=f\ncfn=g\ncalls=1 2\nfn=h\n", 6, 1, "the costs of the calls in line 5 are missing"},
		{head + "fn=f\ncfn=g\ncalls=1 2\n", 5, 1, "the costs of the calls in line 5 are missing"},
		{head + "fn=f\ncalls=1 2\n1 1\n", 4, 1, "calls without caller or callee"},
		{head + "fn=f\ncfn=g\ncalls=z 2\n1 1\n", 5, 7, "number of calls is none"},
		{head + "fn=(7)\n", 3, 4, "the name of this number was not given before"},
		{head + "fn=f\njcnd=3 4\n", 4, 6, "the number of jumps is none"},
		{head + "fn=f\n1 9223372036854775807\n1 1\n", 5, 1, "does not fit 63 bits"},
		{head + "fn=f\n1 -5\n1 *\n", 5, 1, "what -N means is not known"},
		{head + "events: Ir Dr\n", 3, 9, "different events"},
		{"# callgrind format\nfn=f\n1 1\n", 2, 1, "before the header names their events"},
		{"# callgrind format\npositions: column\n", 2, 12, "unknown kind of position"},
		{"# callgrind format\npid: x\n", 2, 6, "the process is no number"},
		{"# callgrind format\n", 2, 1, "ends before it names its events"},
		{strings.TrimSuffix(everything, "totals: 48\n"), 72, 1, "ends before its totals"},
	} {
		_, err := parsertest.Parse("callgrind", "p", c.text)
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.column || !strings.Contains(e.Error(), c.msg) || e.Hint == "" {
			t.Errorf("%q: %v, want %q in %d:%d", c.text[:min(len(c.text), 60)], err, c.msg, c.line, c.column)
		}
	}
	_, err := parsertest.Parse("callgrind", "p", "# callgrind format\nversion: 2\nevents: Ir\n")
	var u *collectors.UnsupportedError
	if !errors.As(err, &u) {
		t.Errorf("version 2: %v", err)
	}
}

func TestDetect(t *testing.T) {
	for text, want := range map[string]string{
		everything: "callgrind",
		"version: 1\ncreator: xdebug 2\nevents: Time Memory\nfl=a\nfn=b\n":           "callgrind",
		"positions: instr line\nevents: cpu(ms)\n\nob=(1) /x\n":                      "callgrind",
		"events: Ir\nfl=(1) a\nfn=(1) b\n1 1\ncfn=(1)\ncalls=1 1\n1 1\n":             "callgrind",
		"desc: I1 cache: 1 B\ncmd: ./b\nevents: Ir\nfl=a.c\nfn=f\n1 1\nsummary: 1\n": "cachegrind",
		"cmd: ./b\nevents: Ir\nfl=a.c\nfn=f\n1 1\nsummary: 1\n":                      "cachegrind",
		"events: the first\nall: the rest\n":                                         "",
		"{\"events\": 1}":                                                            "",
	} {
		f, _, err := collectors.Detect(collectors.Head{Name: "out", Bytes: []byte(text), Whole: true})
		if f.Name != want || (err != nil) != (want == "") {
			t.Errorf("%q is detected as %q, want %q", text[:min(30, len(text))], f.Name, want)
		}
	}
}

func TestTruncations(t *testing.T) {
	parsertest.Truncations(t, "callgrind", "callgrind.out.77", everything, 2000)
}

func FuzzCallgrind(f *testing.F) {
	parsertest.Fuzz(f, "callgrind", everything, "# callgrind format\nevents: A(3ms)\nfn=f\n+1 *\ncfn=f\ncalls=1 1\n* 1\n")
}

// In old files of Xdebug a callee without a file is the one function of that
// name, not another in the caller's file.
func TestXdebugWithoutFilesOfCallees(t *testing.T) {
	r := parsertest.MustParse(t, "callgrind", "cachegrind.out.1", "version: 1\ncreator: xdebug 2.1.0\ncmd: /index.php\npart: 1\n\nevents: Time\n\nfl=php:internal\nfn=php::define\n5 12\n\nfl=/index.php\nfn={main}\n\nsummary: 312\n\n1 300\ncfn=php::define\ncalls=1 0 0\n5 12\n")
	if len(r.Regions) != 2 || r.Total("Time") != 312 {
		t.Errorf("%d regions, Time %g", len(r.Regions), r.Total("Time"))
	}
	for _, c := range r.Counters {
		if c.Metric == "calls" && r.Region(c.Region).Raw == "php::define" && c.Value.V != 1 {
			t.Errorf("php::define was called %g times", c.Value.V)
		}
	}
}
