package tau_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/tau"
	"github.com/rooflab/rooflab/datasets"
)

func fact(file, what string, of func(*parsertest.Records) any, want any, how string) parsertest.Fact {
	return parsertest.Fact{File: file, What: what, Of: of, Want: want, How: how}
}

func total(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return r.Total(metric) }
}

func TestSamples(t *testing.T) {
	const how = "Hatchet's TAUReader: sum of the column, in microseconds; awk over the lines with => and .TAU application gives the same"
	const flat = "awk: sum over the lines with neither => nor .TAU application"
	of := func(path, metric string) func(*parsertest.Records) any {
		return func(r *parsertest.Records) any {
			for _, c := range r.Counters {
				if c.Metric == metric && r.Path(c.Region) == path {
					return c.Value
				}
			}
			return "nothing"
		}
	}
	rank := func(r *parsertest.Records) any {
		return fmt.Sprint(r.Launches[0].Rank.Or(-1), r.Launches[0].Thread.Or(-1))
	}
	const a, b = "tau_cpi_profile.0.0.0", "tau_cpi_profile.1.0.0"
	parsertest.Facts(t, "../../../shared/samples/tau", []parsertest.Fact{
		fact(a, "exclusive", total("TIME exclusive"), 0.051781, how),
		fact(a, "inclusive", total("TIME inclusive"), 0.130959, how),
		fact(a, "flat exclusive", total("flat TIME exclusive"), 0.051332, flat),
		fact(a, "rank and thread", rank, "0 0", "the file's name"),
		fact(a, "MPI_Init", of(".TAU application/MPI_Init", "TIME inclusive"), 0.017983, "grep MPI_Init"),
		fact(a, "machine", func(r *parsertest.Records) any { return r.Machines[0].CPU }, "Intel(R) Xeon(R) CPU E5-2698 v3 @ 2.30GHz", "grep -o 'CPU Type.*'"),
		fact(a, "command", func(r *parsertest.Records) any { return r.Runs[0].Command }, "./cpi-mpi", "grep -o 'Command Line.*'"),
		fact(b, "exclusive", total("TIME exclusive"), 0.055329, how),
		fact(b, "inclusive", total("TIME inclusive"), 0.138099, how),
		fact(b, "rank and thread", rank, "1 0", "the file's name"),
		fact(b, "MPI_File_open", of(".TAU application/MPI_Finalize/MPI_File_open", "TIME exclusive"), 0.026904, "grep MPI_File_open"),
		fact(b, "subroutines of the program", of(".TAU application", "subroutines"), 7, "the third line"),
		fact(b, "events", of(".TAU application", "Message size for reduce"), 1, "the last line: numevents comes first"),
	}, nil)
}

const metadata = `<metadata><attribute><name>Metric Name</name><value>TIME</value></attribute><attribute><name>Hostname</name><value>n7</value></attribute>` +
	`<attribute><name>CPU MHz</name><value>2300.5</value></attribute><attribute><name>Memory Size</name><value>2 kB</value></attribute>` +
	`<attribute><name>Starting Timestamp</name><value>1614611761048571</value></attribute><attribute><name>pid</name><value>42</value></attribute></metadata>`

const whole = "5 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls # " + metadata + "\n" +
	`"main C [{a.c} {3,1}-{9,2}]" 1 2 100 1.5E+03 0 GROUP="TAU_DEFAULT" ` + "\n" +
	`"void ns::f(int) [{b.cpp} {7,0}]" 3 0 1400 1400 0 GROUP="TAU_USER" ` + "\n" +
	`"main C [{a.c} {3,1}-{9,2}] => void ns::f(int) [{b.cpp} {7,0}]" 2 0 900 900 0 GROUP="TAU_USER|TAU_CALLPATH" ` + "\n" +
	`"main C [{a.c} {3,1}-{9,2}] => Loop: main [{a.c} {5,1}-{6,2}]" 1 0 10 10 0 GROUP="TAU_LOOP|TAU_CALLPATH" ` + "\n" +
	`"main C [{a.c} {3,1}-{9,2}] => [SAMPLE] hot() [{/src/c.c} {12}]" 4 0 -1 nan 0 GROUP="TAU_SAMPLE|TAU_CALLPATH" ` + "\n" +
	"0 aggregates\n2 userevents\n# eventname numevents max min mean sumsqr\n" +
	`"Heap Allocate (kB) : main C [{a.c} {3,1}-{9,2}] => void ns::f(int) [{b.cpp} {7,0}]" 2 4 1 2.5 17` + "\n" +
	`"Message size" 1 8 8 8 64` + "\n"

func TestPathsEventsAndNames(t *testing.T) {
	r := parsertest.MustParse(t, "tau", "MULTI__TIME/profile.3.0.2", whole)
	var got []string
	for _, c := range r.Counters {
		if c.Metric == "calls" || c.Metric == "TIME inclusive" || strings.HasPrefix(c.Metric, "flat TIME") || c.Instance == "max" || c.Instance == "numevents" {
			got = append(got, fmt.Sprint(r.Path(c.Region), " ", c.Metric, " ", c.Instance, "=", c.Value.Or(-9), c.Unit))
		}
	}
	want := "main calls =1; main TIME inclusive =0.0015s; f flat TIME exclusive =0.0014s; f flat TIME inclusive =0.0014s; main/f calls =2; main/f TIME inclusive =0.0009s; " +
		"main/Loop: main calls =1; main/Loop: main TIME inclusive =1e-05s; main/hot calls =4; main/hot TIME inclusive =-9s; " +
		"main/f Heap Allocate (kB) numevents=2; main/f Heap Allocate (kB) max=4000byte; main Message size numevents=1; main Message size max=8"
	if s := strings.Join(got, "; "); s != want {
		t.Errorf("%s\nwant %s", s, want)
	}
	if l := r.Launches[0]; l.Rank != datasets.Some[int64](3) || l.Thread != datasets.Some[int64](2) || l.PID != datasets.Some[int64](42) || l.DurNs != datasets.Some[int64](1500000) {
		t.Errorf("%+v", l)
	}
	kinds := ""
	for _, g := range r.Regions {
		kinds += g.Short + " " + g.Kind + "; "
	}
	if kinds != "main function; f function; f function; Loop: main loop; hot function; " {
		t.Error(kinds)
	}
	m := r.Machines[0]
	if u := r.Runs[0]; u.Started.V.UnixMicro() != 1614611761048571 || u.TimeMetric != "TIME inclusive" || m.Host != "n7" || m.ClockHz.V != 2300.5e6 || m.MemBytes.V != 2048 {
		t.Errorf("%+v %+v", u, m)
	}
	files := ""
	for _, a := range r.Attributes {
		if a.Name == "file" || a.Name == "line" || a.Name == "end line" {
			files += a.Value + " "
		}
	}
	if files != "a.c 3 9 b.cpp 7 b.cpp 7 a.c 5 6 /src/c.c 12 " {
		t.Error(files)
	}
}

func TestOtherMetricsAndFlatProfiles(t *testing.T) {
	r := parsertest.MustParse(t, "tau", "profile.0.0.0", "1 templated_functions_MULTI_PAPI_FP_OPS\n# Name Calls Subrs Excl Incl ProfileCalls #\n\"f()\" 1 0 7 7 0 GROUP=\"A\"\n0 aggregates\n")
	if v := r.Value("f", "PAPI_FP_OPS exclusive"); v.V != 7 || r.Runs[0].TimeMetric != "" || r.Launches[0].DurNs.Valid {
		t.Errorf("%v %+v", v, r.Runs)
	}
	r = parsertest.MustParse(t, "tau", "profile.0.0.0", "2 templated_functions_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n\"APEX MAIN\" 1 0 12.5 112.5 0 \"TAU_USER\"\n\"f()\" 3 0 100 100 0 \"TAU_USER\"\n0 aggregates\n")
	if math.Abs(r.Total("TIME exclusive")-112.5e-6) > 1e-12 || len(r.Regions) != 2 {
		t.Errorf("without MULTI_: %+v %+v", r.Regions, r.Counters)
	}
	r = parsertest.MustParse(t, "tau", "x", "1 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls\n\"f()\" 1 0 7 7 0 GROUP=\"A\"\n0 aggregates\n")
	if v := r.Value("f", "TIME exclusive"); v.V != 7e-6 || len(r.Warnings) != 1 || r.Launches[0].Rank.Valid {
		t.Errorf("%v %v", v, r.Warnings)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct {
		old, new  string
		line, col int
		part      string
	}{
		{"5 templated", "6 templated", 8, 1, "reading timer 6 of 6"},
		{"2 0 900 900", "2 0 9o0 900", 5, 69, "is no number"},
		{"2 userevents", "3 userevents", 13, 1, "ends too soon"},
		{"1 8 8 8 64", "1 8 8 8", 12, 1, "user event 2 of 2"},
		{"# Name", "% Name", 2, 1, "column names"},
		{"0 aggregates", "nonsense", 8, 1, "follows the timers"},
	} {
		_, err := parsertest.Parse("tau", "profile.0.0.0", strings.Replace(whole, c.old, c.new, 1))
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != c.line || e.Column != c.col || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %d:%d with %q", c.new, err, c.line, c.col, c.part)
		}
	}
	parsertest.Truncations(t, "tau", "profile.0.0.0", whole, 2000)
}

func FuzzTAU(f *testing.F) { parsertest.Fuzz(f, "tau", whole) }

// What was sampled within a timer is part of the timer's own time.
func TestSamplesAreNotCountedTwice(t *testing.T) {
	r := parsertest.MustParse(t, "tau", "profile.0.0.1", "7 templated_functions_MULTI_TIME\n# Name Calls Subrs Excl Incl ProfileCalls #\n"+
		"\".TAU application\" 1 1 2 102 0 GROUP=\"TAU_DEFAULT\" \n\"f\" 1 0 100 100 0 GROUP=\"TAU_DEFAULT\" \n\".TAU application => f\" 1 0 100 100 0 GROUP=\"TAU_CALLPATH|TAU_DEFAULT\" \n"+
		"\"[CONTEXT]  f\" 9 0 0 90 0 GROUP=\"TAU_SAMPLE_CONTEXT\" \n\".TAU application => f  => [CONTEXT]  f\" 9 0 0 90 0 GROUP=\"TAU_SAMPLE_CONTEXT|TAU_CALLPATH\" \n"+
		"\"[SAMPLE] g [{/a.c} {8}]\" 9 0 90 90 0 GROUP=\"TAU_SAMPLE\" \n\".TAU application => f  => [CONTEXT]  f  => [SAMPLE] g [{/a.c} {8}]\" 9 0 90 90 0 GROUP=\"TAU_SAMPLE|TAU_CALLPATH\" \n0 aggregates\n")
	for metric, want := range map[string]float64{"TIME exclusive": 102e-6, "sampled TIME exclusive": 90e-6, "TIME inclusive": (102 + 100 + 90 + 90) * 1e-6, "flat TIME exclusive": 190e-6} {
		if got := r.Total(metric); math.Abs(got-want) > 1e-12 {
			t.Errorf("the total of %s is %g, want %g", metric, got, want)
		}
	}
}
