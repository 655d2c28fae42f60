package perfreport_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/perfreport"
	"github.com/rooflab/rooflab/datasets"
)

const report = `# ========
# captured on    : Sun Nov 29 20:38:25 2026
# hostname : node7
# perf version : 6.1.0
# cmdline : /usr/bin/perf record -e cycles:u,faults -g ./solve
# cpudesc : Some CPU
# ========
#
#
# Total Lost Samples: 0
#
# Samples: 12K of event 'cycles:u'
# Event count (approx.): 9876543210
#
# Children      Self       Samples  Command      Shared Object         Symbol
# ........  ........  ............  ...........  ....................  ...................................
#
    99.00%     1.00%           120  Web Content  libc.so.6             [.] main
            |
            ---main
               |
               |--69.00%--ns::leaf<float, 4>
               |          |
               |           --1.00%--irq
                --30.00%--other

    68.00%    68.00%          8160  Web Content  a.out                 [.] ns::leaf<float, 4>
            |
            ---main
               ns::leaf<float, 4>

     1.50%     1.50%           180  solve        [kernel.kallsyms]     [k] page_fault


# Samples: 101  of event 'faults'
# Event count (approx.): 424
#
# Overhead       Period  Command      Shared Object      Symbol
# ........  ...........  ...........  .................  ..................
#
    75.00%          318  Web Content  a.out              [.] ns::leaf<float, 4>
    25.00%          106  solve        [kernel.kallsyms]  [k] page_fault


#
# (Tip: Skip collecting build-id when recording: perf record -B)
#
`

func lines(r *parsertest.Records) string {
	var b strings.Builder
	for _, c := range r.Counters {
		comm := ""
		for _, a := range r.Attributes {
			if a.Launch == c.Launch && a.Name == "comm" {
				comm = a.Value
			}
		}
		g := r.Region(c.Region)
		fmt.Fprintf(&b, "%s|%s|%s %s[%s] %v%s\n", comm, g.Module, g.Short, c.Metric, c.Instance, c.Value.V, c.Unit)
	}
	return b.String()
}

func TestTablesOfSeveralEvents(t *testing.T) {
	r := parsertest.MustParse(t, "perf-report", "x", report)
	want := `Web Content|libc.so.6|main Children[cycles:u] 99%
Web Content|libc.so.6|main Self[cycles:u] 1%
Web Content|libc.so.6|main samples[cycles:u] 120
Web Content|a.out|leaf Children[cycles:u] 68%
Web Content|a.out|leaf Self[cycles:u] 68%
Web Content|a.out|leaf samples[cycles:u] 8160
solve|[kernel.kallsyms]|page_fault Children[cycles:u] 1.5%
solve|[kernel.kallsyms]|page_fault Self[cycles:u] 1.5%
solve|[kernel.kallsyms]|page_fault samples[cycles:u] 180
Web Content|a.out|leaf Overhead[faults] 75%
Web Content|a.out|leaf faults[] 318
solve|[kernel.kallsyms]|page_fault Overhead[faults] 25%
solve|[kernel.kallsyms]|page_fault faults[] 106
`
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(r.Regions) != 3 || len(r.Launches) != 3 || r.Runs[0].Command != "/usr/bin/perf record -e cycles:u,faults -g ./solve" || r.Machines[0].CPU != "Some CPU" {
		t.Errorf("%+v\n%+v", r.Regions, r.Runs)
	}
	found := 0
	for _, a := range r.Attributes {
		if a.Name == "samples of cycles:u" && a.Value == "12K" || a.Name == "event count of faults" && a.Value == "424" || a.Name == "level" && a.Value == "k" {
			found++
		}
	}
	if found != 3 {
		t.Errorf("attributes %+v", r.Attributes)
	}
}

func TestOtherColumns(t *testing.T) {
	for name, c := range map[string]struct{ text, want, time string }{
		"separator": {"# Samples: 104  of event 'cpu-clock'\n# Event count (approx.): 104104104\n#\n# Overhead,Command,Shared Object    ,Symbol                         \n 67.31% ,w      ,w                ,[.] f(int, int)\n 0.96%  ,w      ,[kernel.kallsyms],[k] irq\n",
			"w|w|f Overhead[cpu-clock] 67.31%\nw|[kernel.kallsyms]|irq Overhead[cpu-clock] 0.96%\n", "Overhead"},
		"modules only": {"# Samples: 104  of event 'cycles'\n#\n# Overhead  Shared Object    \n# ........  .................\n#\n    98,08%  /tmp/my app/w\n     1,92%  [kernel.kallsyms]\n",
			"|/tmp/my app/w|/tmp/my app/w Overhead[cycles] 98.08%\n|[kernel.kallsyms]|[kernel.kallsyms] Overhead[cycles] 1.92%\n", "Overhead"},
		"period of a clock": {"# Samples: 104  of event 'cpu-clock:u'\n#\n# Overhead       Samples        Period      Pid:Command  Symbol\n# ........  ............  ............  ...............  .......\n#\n    67.31%            70      70070070      15961:w      [.] leaf\n",
			"||leaf Overhead[cpu-clock:u] 67.31%\n||leaf samples[cpu-clock:u] 70\n||leaf cpu-clock:u[] 0.07007007s\n", "cpu-clock:u"},
		"folded stacks": {"# Samples: 1  of event 'cycles'\n#\n# Overhead  Command  Symbol\n# ........  .......  ......\n#\n    67.31%  w        [.] leaf\n67.31% main;leaf;x;y;z\n",
			"w||leaf Overhead[cycles] 67.31%\n", "Overhead"},
		"old":            {"# Events: 1K cycles\n#\n# Overhead  Command  Symbol\n# ........  .......  ......\n#\n    67.31%  w        [.] leaf\n", "w||leaf Overhead[cycles] 67.31%\n", "Overhead"},
		"remarks before": {"[nvidia] with build id 12 not found, continuing without symbols\n# Samples: 1  of event 'cycles'\n#\n# Overhead  Command  Symbol\n# ........  .......  ......\n#\n    67.31%  w        [.] leaf\n", "w||leaf Overhead[cycles] 67.31%\n", "Overhead"},
		"no event named": {"# Overhead  Command  Symbol\n# ........  .......  ......\n#\n    67.31%  w        [.] leaf\n", "w||leaf Overhead[] 67.31%\n", "Overhead"},
	} {
		r := parsertest.MustParse(t, "perf-report", name, c.text)
		if got := lines(r); got != c.want || r.Runs[0].TimeMetric != c.time {
			t.Errorf("%s: time %q, got\n%s\nwant\n%s", name, r.Runs[0].TimeMetric, got, c.want)
		}
		if name == "period of a clock" && r.Launches[0].PID != datasets.Some(int64(15961)) {
			t.Errorf("launch %+v", r.Launches[0])
		}
		f, sure, err := collectors.Detect(collectors.Head{Name: "perf_stat.txt", Bytes: []byte(c.text), Whole: true})
		if err != nil || f.Name != "perf-report" || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", name, f.Name, sure, err)
		}
	}
}

func TestAReportWithoutRowsIsAnEmptyRun(t *testing.T) {
	r := parsertest.MustParse(t, "perf-report", "x", "# Samples: 0  of event 'cycles'\n# Event count (approx.): 0\n#\n")
	if r.Runs[0].Status != datasets.RunEmpty {
		t.Errorf("%+v", r.Runs[0])
	}
}

func TestOtherFilesOfPerfAreRefusedWithWhatToDo(t *testing.T) {
	for text, want := range map[string][2]string{
		"PERFILE2\x68\x00\x00\x00": {"perf-data", "perf script -i x --header > samples.txt"},
		"2ELIFREP\x00\x00":         {"perf-data", "perf script -i x"},
		" Percent |\tSource code & Disassembly of w for cpu-clock (70 samples, percent: local period)\n---\n": {"perf-annotate", "perf report --stdio -n > report.txt"},
	} {
		f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(text), Whole: true})
		if err != nil || f.Name != want[0] || sure != collectors.Certain {
			t.Errorf("%.10q is detected as %q, %v, %v", text, f.Name, sure, err)
		}
		_, err = parsertest.Parse(want[0], "x", text)
		var refused *collectors.UnsupportedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want[1]) {
			t.Errorf("%.10q: %v", text, err)
		}
	}
	_, err := parsertest.Parse("perf-report", "x", "#    Overhead  Command / Shared Object / Symbol\n")
	var refused *collectors.UnsupportedError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), "without --hierarchy") {
		t.Errorf("a hierarchy: %v", err)
	}
}

func TestDamagedReportsAreRefusedWithTheirPlace(t *testing.T) {
	for name, c := range map[string]struct {
		text      string
		line, col int
		msg       string
	}{
		"empty":                         {"", 1, 1, "the file is empty"},
		"no table":                      {"# hostname : x\nhello\n", 2, 1, "holds no table"},
		"no titles":                     {"    67.31%  w        [.] leaf\n", 1, 1, "the line is in no table"},
		"no dots":                       {"# Overhead  Command  Symbol\n    67.31%  w        [.] leaf\n", 1, 1, "where the columns"},
		"no number":                     {"# Overhead  Samples  Symbol\n# ........  .......  ......\n    67.31%  7x       [.] leaf\n", 3, 13, "Samples is no number"},
		"moved":                         {"# Overhead  Command  Symbol\n# ........  .......  ......\n    60.00%  w        [.] leaf\n    40.00%  [.] longer\n", 4, 1, "does not stand below"},
		"a cell less, with a separator": {"# Overhead;Command;Symbol\n60.00%;w;[.] leaf\n40.00%;[.] leaf\n", 3, 1, "does not stand below"},
		"cut":                           {"# Overhead  Symbol\n# ........  ......\n    67.31%  [.] le", 3, 19, "ends within a line"},
	} {
		parsertest.Refused(t, "perf-report", name, c.text, c.line, c.col, c.msg)
	}
}

func TestCutReportsGiveNoOtherValues(t *testing.T) {
	parsertest.Truncations(t, "perf-report", "x", report, 500)
}

func FuzzPerfReport(f *testing.F) {
	parsertest.Fuzz(f, "perf-report", report, "# Overhead,Command,Symbol\n 67.31% ,w      ,[.] f\n")
}

// A cell of --group holds a number of each event, in the order of the title.
func TestGroupsOfEvents(t *testing.T) {
	for title, want := range map[string]string{
		"'cycles, faults'":                        "a|m|f Overhead[cycles] 30.5%\na|m|f Overhead[faults] 10%\na|m|f samples[cycles] 61\na|m|f samples[faults] 2\n",
		"'anon group { cpu-clock, r1/u=2,n=3/ }'": "a|m|f Overhead[cpu-clock] 30.5%\na|m|f Overhead[r1/u=2,n=3/] 10%\na|m|f samples[cpu-clock] 61\na|m|f samples[r1/u=2,n=3/] 2\n",
	} {
		text := "# Samples: 1K of events " + title + "\n# Event count (approx.): 1252\n#\n" +
			"#         Overhead                   Samples  Command  Shared Object  Symbol\n" +
			"# ................  ........................  .......  .............  .......\n#\n" +
			"    30.50%  10.00%            61           2  a        m              [.] f\n"
		r := parsertest.MustParse(t, "perf-report", "x", text)
		if got := lines(r); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", title, got, want)
		}
		_, err := parsertest.Parse("perf-report", "x", strings.Replace(text, "10.00%", "      ", 1))
		var e *collectors.SyntaxError
		if !errors.As(err, &e) || e.Line != 7 || !strings.Contains(e.Msg, "one number of each event") {
			t.Errorf("a number is missing: %v", err)
		}
	}
}

func TestColumnsThatDoNotApply(t *testing.T) {
	r := parsertest.MustParse(t, "perf-report", "x", "# Samples: 3  of event 'cycles'\n#\n# Children       sys       usr  Symbol\n# ........  ........  ........  ......\n#\n       N/A     0.44%     0.00%  [k] f\n")
	if r.Counters[0].Status != datasets.StatusNA || r.Counters[0].Value.Valid {
		t.Errorf("%+v", r.Counters[0])
	}
	if got := lines(r); got != "||f Children[cycles] 0%\n||f sys[cycles] 0.44%\n||f usr[cycles] 0%\n" {
		t.Errorf("got %s", got)
	}
}

// The shares of two reports do not add up.
func TestReportsInOneFileStayApart(t *testing.T) {
	const report = "# Samples: 10  of event 'cycles:u'\n# Event count (approx.): 100\n#\n# Overhead  Command  Symbol\n# ........  .......  ......\n#\n    60.00%  w        [.] leaf\n\n"
	r := parsertest.MustParse(t, "perf-report", "x", report+report)
	var got []string
	for _, c := range r.Counters {
		got = append(got, c.Metric+" of "+c.Instance+" "+c.RawValue)
	}
	if want := "Overhead of cycles:u 60.00, Overhead of cycles:u #2 60.00"; strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
}
