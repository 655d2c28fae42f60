package perfstat_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/perfstat"
	"github.com/rooflab/rooflab/datasets"
)

// of is the value of a metric and instance.
func of(metric, instance string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, c := range r.Counters {
			if c.Metric == metric && c.Instance == instance {
				return c.Value
			}
		}
		return "none"
	}
}

func status(metric string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, c := range r.Counters {
			if c.Metric == metric {
				return fmt.Sprint(c.Status, c.Value.Valid)
			}
		}
		return "none"
	}
}

func TestSamplesHoldWhatTheTextSays(t *testing.T) {
	const text, awk = "read in the text", "awk 'BEGIN {printf \"%.17g\", COUNT / SECONDS}' with the text's numbers"
	const x, j = "local_perf_stat_x.csv", "local_perf_stat_j.json"
	parsertest.Facts(t, "../../../shared/samples/perf", []parsertest.Fact{
		{File: x, What: "task-clock", Of: of("task-clock", ""), Want: 0.00177, How: text},
		{File: x, What: "cycles", Of: status("cycles"), Want: "unsupportedfalse", How: text},
		{File: x, What: "page-faults", Of: of("page-faults", ""), Want: 318, How: text},
		{File: x, What: "rate of page-faults", Of: of("rate", "page-faults"), Want: 318 / 0.001765664, How: awk},
		{File: x, What: "CPUs utilized, which perf has 1000 times too large", Of: status("CPUs utilized"), Want: "nafalse", How: "476 CPUs on a machine of two"},
		{File: x, What: "start", Of: func(r *parsertest.Records) any { return r.Runs[0].Started.V.Format("2006-01-02 15:04:05") }, Want: "2026-11-29 16:12:16", How: text},
		{File: j, What: "task-clock", Of: of("task-clock", ""), Want: 0.001580638, How: text},
		{File: j, What: "instructions", Of: status("instructions"), Want: "unsupportedfalse", How: text},
		{File: j, What: "rate of page-faults", Of: of("rate", "page-faults"), Want: 318 / 0.001580638, How: awk},
		{File: j, What: "CPUs utilized, which perf has 1000 times too large", Of: status("CPUs utilized"), Want: "nafalse", How: "834 CPUs on a machine of two"},
	}, nil)
}

// counters lists what was read as "path-less" lines: launch's sequence, metric,
// instance, value and unit, status, coverage.
func counters(r *parsertest.Records) string {
	sequence := map[int64]string{}
	for _, l := range r.Launches {
		sequence[l.ID] = fmt.Sprint(l.Sequence.V)
	}
	var b strings.Builder
	for _, c := range r.Counters {
		if c.Metric == "event-runtime" {
			continue
		}
		value := "NULL"
		if c.Value.Valid {
			value = fmt.Sprintf("%.6g%s", c.Value.V, c.Unit)
		}
		fmt.Fprintf(&b, "%s %s[%s] %s %s", sequence[c.Launch], c.Metric, c.Instance, value, c.Status)
		if c.Coverage.Valid && c.Coverage.V != 100 {
			fmt.Fprintf(&b, " %v%%", c.Coverage.V)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func attributes(r *parsertest.Records) string {
	var b strings.Builder
	for _, a := range r.Attributes {
		fmt.Fprintf(&b, "%d %s=%s\n", a.Launch, a.Name, a.Value)
	}
	return b.String()
}

const counted = `1200.50,msec,task-clock,1200500000,100.00,0.998,CPUs utilized
2401000000,,cycles:u,900375000,75.00,2.000,GHz
4802000000,,instructions:u,900375000,75.00,2.00,insn per cycle
,,,,,0.10,stalled cycles per insn
1000,,branches:u,1200500000,100.00,832.986,/sec
25,,branch-misses:u,1200500000,100.00,2.50,of all branches
<not counted>,,L1-dcache-loads,0,0.00,,
<not supported>,,LLC-loads,0,100.00,,
12.34,Joules,power/energy-pkg/,1200500000,100.00,,
7,,cpu_core/event=0x3c,umask=0x1,name=x/,1200500000,100.00,,
9,,cpu_atom/cycles/,1200500000,100.00,,
`

const countedWant = `0 task-clock[] 1.2005s ok
0 cycles:u[] 2.401e+09 multiplexed 75%
0 instructions:u[] 4.802e+09 multiplexed 75%
0 branches:u[] 1000 ok
0 branch-misses:u[] 25 ok
0 L1-dcache-loads[] NULL missing 0%
0 LLC-loads[] NULL unsupported
0 power/energy-pkg/[] 12.34J ok
0 cpu_core/event=0x3c,umask=0x1,name=x/[] 7 ok
0 cpu_atom/cycles/[] 9 ok
0 CPUs utilized[task-clock] NULL na
0 GHz[cycles:u] 2e+09Hz multiplexed 75%
0 insn per cycle[instructions:u] 2 multiplexed 75%
0 stalled cycles per insn[instructions:u] 0.1 ok
0 rate[branches:u] 832.986/s ok
0 of all branches[branch-misses:u] 2.5% ok
`

// perf 6.1 divides the nanoseconds of duration_time by the task clock:
// 863342 / 498751 = 1.731, in 1e9 per second.
func TestRateOfATimeIsAFraction(t *testing.T) {
	r := parsertest.MustParse(t, "perf-stat-csv", "x", "863342,ns,duration_time,863342,100.00,1.731,G/sec\n0.498751,msec,task-clock,498751,100.00,0.578,CPUs utilized\n")
	for _, c := range r.Counters {
		if c.Metric == "rate" && (c.Unit != "" || math.Abs(c.Value.V-1.731) > 0.001 || c.RawUnit != "G/sec") {
			t.Errorf("rate %+v", c)
		}
	}
	for _, w := range r.Warnings {
		if strings.Contains(w.Msg, "the latter is kept") {
			t.Errorf("warning %s", w.Msg)
		}
	}
}

func TestEverySeparatorAndLocaleReadsTheSame(t *testing.T) {
	for _, sep := range []string{",", ";", "\t", "|", ":", " ", "@", "::", " ; "} {
		text := strings.ReplaceAll(counted, ",", sep)
		text = strings.ReplaceAll(text, "event=0x3c"+sep+"umask=0x1"+sep+"name=x", "event=0x3c,umask=0x1,name=x")
		if strings.Contains(sep, ":") || sep == " " { // users cannot have events with the separator in them
			text = strings.ReplaceAll(text, ":u", "")
		}
		want := countedWant
		if strings.Contains(sep, ":") || sep == " " {
			want = strings.ReplaceAll(want, ":u", "")
		}
		for _, comma := range []bool{false, true} {
			text := text
			if comma {
				var lines []string
				for line := range strings.Lines(text) {
					lines = append(lines, french(line))
				}
				text = strings.Join(lines, "")
			}
			r := parsertest.MustParse(t, "perf-stat-csv", "x", text)
			if got := counters(r); got != want {
				t.Errorf("separator %q, decimal comma %v:\n%s\nwant\n%s", sep, comma, got, want)
			}
			f, sure, err := collectors.Detect(collectors.Head{Name: "x.csv", Bytes: []byte(text), Whole: true})
			if err != nil || f.Name != "perf-stat-csv" || sure != collectors.Certain {
				t.Errorf("separator %q, decimal comma %v: detected as %q, %v, %v", sep, comma, f.Name, sure, err)
			}
		}
	}
}

// french writes decimals with a comma: every point between two digits.
func french(s string) string {
	b := []byte(s)
	for i := 1; i+1 < len(b); i++ {
		if b[i] == '.' && b[i-1] >= '0' && b[i-1] <= '9' && b[i+1] >= '0' && b[i+1] <= '9' {
			b[i] = ','
		}
	}
	return string(b)
}

func TestIntervalsPartsAndRepetitions(t *testing.T) {
	for name, c := range map[string]struct{ format, text, counters, attributes, launches string }{
		"interval": {"perf-stat-csv",
			"# started on Sun Nov 29 20:38:19 2026\n\n     0.100000000,50.00,msec,cpu-clock,50000000,100.00,0.5,CPUs utilized\n     0.100000000,5,,page-faults,50000000,100.00,100.000,/sec\n" +
				"     0.250000000,150.00,msec,cpu-clock,150000000,100.00,1.5,CPUs utilized\n     0.250000000,6,,page-faults,150000000,100.00,40.000,/sec\n",
			"0 cpu-clock[] 0.05s ok\n0 page-faults[] 5 ok\n0 CPUs utilized[cpu-clock] 0.5 ok\n0 rate[page-faults] 100/s ok\n" +
				"1 cpu-clock[] 0.15s ok\n1 page-faults[] 6 ok\n1 CPUs utilized[cpu-clock] 1 ok\n1 rate[page-faults] 40/s ok\n",
			"", "0+100000000 100000000+150000000 "},
		"interval of cores, French": {"perf-stat-csv",
			"     0.100000000,S0-D0-C0,1,50,25,msec,cpu-clock,50000000,100,00,,\n     0.100000000,S0-D0-C1,2,5,,faults,50000000,99,50,,\n",
			"0 cpu-clock[] 0.05025s ok\n1 faults[] 5 multiplexed 99.5%\n",
			"1 core=S0-D0-C0\n1 aggregate-number=1\n2 core=S0-D0-C1\n2 aggregate-number=2\n", "0+100000000 0+100000000 "},
		"CPUs": {"perf-stat-csv", "CPU0,75,,page-faults,103849768,100.00,722.202,/sec\nCPU11,180,,page-faults,103862089,100.00,1.733,K/sec\n",
			"0 page-faults[] 75 ok\n0 rate[page-faults] 722.202/s ok\n1 page-faults[] 180 ok\n1 rate[page-faults] 1733/s ok\n", "1 cpu=0\n2 cpu=11\n", "- - "},
		"threads": {"perf-stat-csv", "solve-15888,1.50,msec,task-clock,1500000,100.00,,\nsolve-15889,2.50,msec,task-clock,2500000,100.00,,\n",
			"0 task-clock[] 0.0015s ok\n1 task-clock[] 0.0025s ok\n", "1 thread=solve-15888\n2 thread=solve-15889\n", "- - "},
		"variance and cgroup": {"perf-stat-csv", "309,,page-faults,/batch,0.19%,104372364,100.00,3.003,K/sec\n",
			"0 page-faults[] 309 ok\n0 variance[page-faults] 0.19% ok\n0 rate[page-faults] 3003/s ok\n", "1 cgroup=/batch\n", "- "},
		"before run times": {"perf-stat-csv", "1.77,msec,task-clock\n318,,page-faults\n", "0 task-clock[] 0.00177s ok\n0 page-faults[] 318 ok\n", "", "- "},
		"groups of metrics": {"perf-stat-csv", "51102,,branches,2258,100.00,0.70,K/sec\n,2258,100.00,,,,TopdownL1 (cpu_core)\n,,,,,70.1,%  tma_backend_bound\n,,,,,,%  tma_retiring\n,101,63.00,,,,TopdownL1 (cpu_atom)\n,,,,,13.8,%  tma_backend_bound\n,102,64.00,,,5.4,%  tma_retiring\n",
			"0 branches[] 51102 ok\n0 rate[branches] 700/s ok\n0 tma_backend_bound[TopdownL1 (cpu_core)] 70.1% ok\n0 tma_retiring[TopdownL1 (cpu_core)] NULL na\n0 tma_backend_bound[TopdownL1 (cpu_atom)] 13.8% ok\n0 tma_retiring[TopdownL1 (cpu_atom)] 5.4% multiplexed 64%\n", "", "- "},
		"one separator too many": {"perf-stat-csv", "0.001813453,S0,1,85379,,instructions,1856754,100.00,0.32,insn per cycle\n0.001813453,,S0,1,,,,,,,1.34,stalled cycles per insn\n",
			"0 instructions[] 85379 ok\n0 insn per cycle[instructions] 0.32 ok\n0 stalled cycles per insn[instructions] 1.34 ok\n", "1 socket=S0\n1 aggregate-number=1\n", "0+1813453 "},
		"summary of intervals": {"perf-stat-csv", "     1.000000000,10,,faults,100,100.00,,\n     2.000000000,20,,faults,100,100.00,,\n         summary,30,,faults,200,100.00,,\n",
			"0 faults[] 10 ok\n1 faults[] 20 ok\n2 faults[] 30 ok\n", "3 summary=all intervals\n", "0+1000000000 1000000000+1000000000 0+2000000000 "},
		"clock in nanoseconds": {"perf-stat-csv", "2773115078,,task-clock,2773115078,100.00,0.987,CPUs utilized\n", "0 task-clock[] 2.77312s ok\n0 CPUs utilized[task-clock] NULL na\n", "", "- "},
		"JSON, groups": {"perf-stat-json", `{"counter-value" : "5.000000", "unit" : "", "event" : "branches", "event-runtime" : 2258, "pcnt-running" : 100.00, "metric-value" : "0.700000", "metric-unit" : "K/sec"}` + "\n" +
			`{"event-runtime" : 2258, "pcnt-running" : 100.00, "metricgroup" : "TopdownL1"}` + "\n" + `{"metric-value" : "nan", "metric-unit" : "%  tma_retiring", "metric-threshold" : "bad"}` + "\n" +
			`{"event-runtime" : 101, "pcnt-running" : 63.00, "metric-value" : "41.0", "metric-unit" : "%  tma_frontend_bound"}` + "\n",
			"0 branches[] 5 ok\n0 rate[branches] 700/s ok\n0 tma_retiring[TopdownL1] NULL na\n0 tma_frontend_bound[TopdownL1] 41% multiplexed 63%\n", "", "- "},
		"JSON": {"perf-stat-json", `{"interval" : 0.100131328, "core" : "S0-D0-C0", "aggregate-number" : 2, "counter-value" : "63.500000", "unit" : "msec", "event" : "task-clock", "variance" : 1.46, "event-runtime" : 63500000, "pcnt-running" : 50.00, "metric-value" : 0.636775, "metric-unit" : "CPUs utilized"}` + "\n" +
			`{"interval" : 0.100131328, "core" : "S0-D0-C0", "aggregate-number" : 2, "metric-value" : 12.5, "metric-unit" : "%  tma_retiring"}` + "\n",
			"0 task-clock[] 0.0635s multiplexed 50%\n0 variance[task-clock] 1.46% ok\n0 CPUs utilized[task-clock] 0.634167 multiplexed 50%\n0 tma_retiring[task-clock] 12.5% ok\n",
			"1 core=S0-D0-C0\n1 aggregate-number=2\n", "0+100131328 "},
		"JSON, French": {"perf-stat-json", `{"counter-value" : "63,500000", "unit" : "msec", "event" : "task-clock", "event-runtime" : 63500000, "pcnt-running" : 100,00, "metric-value" : 834,991020, "metric-unit" : "CPUs utilized"}` + "\n",
			"0 task-clock[] 0.0635s ok\n0 CPUs utilized[task-clock] NULL na\n", "", "- "},
		"JSON, nothing counted": {"perf-stat-json", `{"cpu" : "3", "counter-value" : "<not counted>", "unit" : "", "event" : "cycles", "event-runtime" : 0, "pcnt-running" : 0.00, "metric-value" : 0.000000, "metric-unit" : ""}` + "\n",
			"0 cycles[] NULL missing 0%\n", "1 cpu=3\n", "- "},
		"text": {"perf-stat", `output of the program, 12 msec
# started on Sun Nov 29 20:38:16 2026

 Performance counter stats for './solve -n 3' (2 runs):

          1,200.50 msec task-clock:u              #    0.998 CPUs utilized            ( +-  0.23% )
     2,401,000,000      cycles:u                  #    2.000 GHz                      ( +-  0.11% )  (75.00%)
     4,802,000,000      instructions:u            #    2.00  insn per cycle           (75.00%)
                                                  #    0.10  stalled cycles per insn
                25      branch-misses:u           #    2.50% of all branches
                        TopdownL1                 #     41.5 %  tma_backend_bound
                                                  #      8.5 %  tma_retiring
   <not supported>      LLC-loads
     <not counted>      L1-dcache-loads                                               (0.00%)
             12.34 Joules power/energy-pkg/

           1.25000 +- 0.00590 seconds time elapsed  ( +-  4.01% )

       1.100000000 seconds user
       0.100000000 seconds sys

`, "0 task-clock:u[] 1.2005s ok\n0 variance[task-clock:u] 0.23% ok\n0 cycles:u[] 2.401e+09 multiplexed 75%\n0 variance[cycles:u] 0.11% ok\n0 instructions:u[] 4.802e+09 multiplexed 75%\n" +
			"0 branch-misses:u[] 25 ok\n0 LLC-loads[] NULL unsupported\n0 L1-dcache-loads[] NULL missing 0%\n0 power/energy-pkg/[] 12.34J ok\n" +
			"0 duration_time[] 1.25s ok\n0 variance[duration_time] 4.01% ok\n0 user_time[] 1.1s ok\n0 system_time[] 0.1s ok\n" +
			"0 CPUs utilized[task-clock:u] 0.9604 ok\n0 GHz[cycles:u] 2e+09Hz multiplexed 75%\n0 insn per cycle[instructions:u] 2 multiplexed 75%\n0 stalled cycles per insn[instructions:u] 0.1 ok\n0 of all branches[branch-misses:u] 2.5% ok\n0 tma_backend_bound[TopdownL1] 41.5% ok\n0 tma_retiring[TopdownL1] 8.5% ok\n",
			"0 runs=2\n", "-+1250000000 "},
		"text of Linux 3.10": {"perf-stat", "Performance counter stats for 'ls':\n\n          2.000000 task-clock (msec)         #    0.500 CPUs utilized          \n         4,000,000 cycles                    #    2.000 GHz                     [83.33%]\n         8,000,000 instructions              #    2.00  insns per cycle         ( +-  0.50% ) [50.00%]\n                12 LLC-loads                                                    [40.00%]\n\n       0.004000000 seconds time elapsed\n",
			"0 task-clock[] 0.002s ok\n0 cycles[] 4e+06 multiplexed 83.33%\n0 instructions[] 8e+06 multiplexed 50%\n0 variance[instructions] 0.5% ok\n0 LLC-loads[] 12 multiplexed 40%\n0 duration_time[] 0.004s ok\n" +
				"0 CPUs utilized[task-clock] 0.5 ok\n0 GHz[cycles] 2e+09Hz multiplexed 83.33%\n0 insn per cycle[instructions] 2 multiplexed 50%\n", "", "-+4000000 "},
		"text, threads": {"perf-stat", " Performance counter stats for process id '7':\n\n     Web Content-71              1.50 msec task-clock\n          solve-72                 7      faults\n\n       1.250000000 seconds time elapsed\n",
			"0 task-clock[] 0.0015s ok\n1 faults[] 7 ok\n duration_time[] 1.25s ok\n", "1 thread=Web Content-71\n2 thread=solve-72\n", "-+1250000000 -+1250000000 "},
		"text, German": {"perf-stat", " Performance counter stats for 'system wide':\n\nS0        2          1.200,50 msec cpu-clock                 #    1,998 CPUs utilized\nS0        2               540      page-faults               #    2,586 K/sec\n" +
			"S1        2             1.234      page-faults\n\n       1,250000000 seconds time elapsed\n",
			"0 cpu-clock[] 1.2005s ok\n0 page-faults[] 540 ok\n0 CPUs utilized[cpu-clock] 0.9604 ok\n0 rate[page-faults] 449.813/s ok\n1 page-faults[] 1234 ok\n duration_time[] 1.25s ok\n",
			"1 socket=S0\n1 aggregate-number=2\n2 socket=S1\n2 aggregate-number=2\n", "-+1250000000 -+1250000000 "},
		"text, narrow spaces of French": {"perf-stat", " Performance counter stats for 'a b':\n\n   1\u202f234\u202f567      cycles:u\n   2\u202f469\u202f134      instructions:u   #    2,00  insn per cycle\n\n       0,500000000 seconds time elapsed\n",
			"0 cycles:u[] 1.23457e+06 ok\n0 instructions:u[] 2.46913e+06 ok\n0 duration_time[] 0.5s ok\n0 insn per cycle[instructions:u] 2 ok\n", "", "-+500000000 "},
		"text, intervals": {"perf-stat", "#           time             counts unit events\n     0.100000000              70.00 msec task-clock                #    0.701 CPUs utilized\n     0.100000000                296      page-faults\n     0.300000000    <not supported>      cycles\n",
			"0 task-clock[] 0.07s ok\n0 page-faults[] 296 ok\n0 CPUs utilized[task-clock] 0.7 ok\n1 cycles[] NULL unsupported\n", "", "0+100000000 100000000+200000000 "},
	} {
		r := parsertest.MustParse(t, c.format, name, c.text)
		if got := counters(r); got != c.counters {
			t.Errorf("%s: counters are\n%s\nwant\n%s", name, got, c.counters)
		}
		if got := attributes(r); got != c.attributes {
			t.Errorf("%s: attributes are\n%s\nwant\n%s", name, got, c.attributes)
		}
		launches := ""
		for _, l := range r.Launches {
			if l.StartNs.Valid {
				launches += fmt.Sprint(l.StartNs.V)
			} else {
				launches += "-"
			}
			if l.DurNs.Valid {
				launches += fmt.Sprintf("+%d", l.DurNs.V)
			}
			launches += " "
		}
		if launches != c.launches {
			t.Errorf("%s: launches start and last %q, want %q", name, launches, c.launches)
		}
		f, _, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(c.text), Whole: true})
		if name == "before run times" { // three fields are too few to be sure of
			continue
		}
		if err != nil || f.Name != c.format {
			t.Errorf("%s: detected as %q, %v", name, f.Name, err)
		}
	}
}

func TestRunsOfOneFileStayApart(t *testing.T) {
	text := "# started on Sun Nov 29 20:38:19 2026\n\n1.00,msec,task-clock,1000000,100.00,,\n# started on Sun Nov 29 20:39:19 2026\n\n2.00,msec,task-clock,2000000,100.00,,\n"
	r := parsertest.MustParse(t, "perf-stat-csv", "x", text)
	if len(r.Runs) != 2 || r.Runs[1].Started.V.Minute() != 39 || r.Counters[2].Run != 2 || r.Launches[1].Sequence.V != 0 || r.Runs[0].TimeMetric != "task-clock" {
		t.Errorf("runs %+v with launches %+v", r.Runs, r.Launches)
	}
	text = " Performance counter stats for 'a':\n\n 5 faults\n\n 1.5 seconds time elapsed\n\n Performance counter stats for 'b':\n\n 6 faults\n\n 2.5 seconds time elapsed\n"
	r = parsertest.MustParse(t, "perf-stat", "x", text)
	if len(r.Runs) != 2 || r.Regions[1].Raw != "b" || r.Runs[0].Command != "a" || r.Total("duration_time") != 4 {
		t.Errorf("runs %+v of regions %+v", r.Runs, r.Regions)
	}
}

func TestThreadsHaveTheirIds(t *testing.T) {
	r := parsertest.MustParse(t, "perf-stat-csv", "x", "my-prog-15888,1.50,msec,task-clock,1500000,100.00,,\n")
	if r.Launches[0].Thread != datasets.Some(int64(15888)) {
		t.Errorf("launch %+v", r.Launches[0])
	}
}

func TestWrongDerivedMetricsAreComputedAgain(t *testing.T) {
	text := "1000.00,msec,task-clock,1000000000,100.00,,\n2000,,page-faults,1000000000,100.00,2000.000,K/sec\n"
	r := parsertest.MustParse(t, "perf-stat-csv", "x", text)
	if v := of("rate", "page-faults")(r).(datasets.Null[float64]); math.Abs(v.V-2000) > 1e-9 {
		t.Errorf("the rate is %v, want 2000 faults in one second", v)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].String(), "x:2:37: perf says 2000.000 K/sec of page-faults, its counts give 2 K/sec") {
		t.Errorf("warnings %v", r.Warnings)
	}
}

func TestNothingCountedIsAnEmptyRun(t *testing.T) {
	for _, format := range []string{"perf-stat-csv", "perf-stat-json"} {
		r := parsertest.MustParse(t, format, "x", "# started on Sun Nov 29 20:38:22 2026\n\n")
		if r.Runs[0].Status != datasets.RunEmpty || len(r.Warnings) != 1 {
			t.Errorf("%s: run %+v, warnings %v", format, r.Runs[0], r.Warnings)
		}
	}
}

func TestDamagedFilesAreRefusedWithTheirPlace(t *testing.T) {
	good := "1.77,msec,task-clock,1765664,100.00,,\n"
	for name, c := range map[string]struct {
		format, text string
		line, col    int
		msg          string
	}{
		"empty":            {"perf-stat-csv", "", 1, 1, "the file is empty"},
		"no value":         {"perf-stat-csv", good + "x,y,z,1,100.00,,\n", 2, 3, "no value"},
		"half a line":      {"perf-stat-csv", good + "318,,page-fau", 2, 14, "ends within a line"},
		"no percentage":    {"perf-stat-csv", good + "318,,page-faults,1765664,100,,\n", 2, 26, "how much of the time"},
		"metrics only":     {"perf-stat-csv", "# started on Sun Nov 29 20:38:22 2026\n\nGHz,insn per cycle,branch-misses of all branches,x\n", 3, 1, "does not have perf stat's fields"},
		"JSON cut":         {"perf-stat-json", `{"counter-value" : "1.5", "un`, 1, 30, "ends within a line"},
		"JSON no colon":    {"perf-stat-json", "{\"counter-value\" \"1.5\"}\n", 1, 18, "the key has no value"},
		"JSON metric only": {"perf-stat-json", "{\"GHz\" : \"2.1\"}\n", 1, 1, "no count of an event"},
		"text cut":         {"perf-stat", " Performance counter stats for 'a':\n\n 5 faults\n", 4, 1, "ends before the time"},
		"text damaged":     {"perf-stat", " Performance counter stats for 'a':\n\n 5 faults\n?? faults\n", 4, 1, "no count of an event"},
	} {
		parsertest.Refused(t, c.format, name, c.text, c.line, c.col, c.msg)
	}
}

func TestOtherTablesAreNotTakenForCounts(t *testing.T) {
	for _, text := range []string{
		"a,b,c\n1,2,3\n", "time,value,name\n0.5,1,x\n", "{\"a\": 1}\n", "main;work 12\n", "TABLE,Group 1 Raw,MEM_DP,3\nEvent,Counter,HWThread 0\n",
		"\"ID\",\"Kernel Name\"\n\"0\",\"k\"\n", "name,iterations,real_time,cpu_time,time_unit\nBM_x,100,1.5,1.5,ns\n",
	} {
		for _, name := range []string{"perf-stat-csv", "perf-stat-json", "perf-stat"} {
			f, err := collectors.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			if c := f.Detect(collectors.Head{Bytes: []byte(text), Whole: true}); c != collectors.No {
				t.Errorf("%q is taken for %s: %v", text, name, c)
			}
		}
	}
}

func TestCutFilesGiveNoOtherValues(t *testing.T) {
	parsertest.Truncations(t, "perf-stat-csv", "x", strings.ReplaceAll(counted, ",0.998,CPUs utilized", ",,"), 400)
}

func FuzzPerfStatCSV(f *testing.F) {
	parsertest.Fuzz(f, "perf-stat-csv", counted, strings.ReplaceAll(counted, ",", ";"), french(counted), "     0.100000000,S0-D0-C0,1,50.25,msec,cpu-clock,50000000,100.00,,\n")
}

func FuzzPerfStatJSON(f *testing.F) {
	parsertest.Fuzz(f, "perf-stat-json", `{"interval" : 0.100131328, "counter-value" : "63,5", "unit" : "msec", "event" : "task-clock", "pcnt-running" : 50,00}`+"\n", "{}\n")
}

func FuzzPerfStat(f *testing.F) {
	parsertest.Fuzz(f, "perf-stat", " Performance counter stats for 'a':\n\n 1,5 msec task-clock # 0.7 CPUs utilized ( +- 0.1% ) (75.00%)\n\n 1.5 seconds time elapsed\n",
		"#           time             counts unit events\n     0.100000000              70.00 msec task-clock\n")
}

// As Linux 2.6.32 wrote it: a unit in the event's name, the share of time in
// other words, and other names of the derived metrics.
func TestTextOfLinux26(t *testing.T) {
	r := parsertest.MustParse(t, "perf-stat", "x", " Performance counter stats for './solve':\n\n     500.000000  task-clock-msecs         #      2.000 CPUs \n     1000000000  cycles                   #   2000.000 M/sec\n"+
		"      400000000  instructions             #      0.400 IPC     ( +-   0.1% )\n        5000000  cache-references         #     10.000 M/sec  (scaled from 71.2%)\n          20000  cache-misses               (scaled from 50.0%)\n\n    0.250000000  seconds time elapsed\n\n")
	want := map[string]string{"task-clock": "0.5 s  ok", "cycles": "1e+09   ok", "instructions": "4e+08   ok", "cache-references": "5e+06  71.2 multiplexed", "cache-misses": "20000  50 multiplexed",
		"CPUs utilized task-clock": "2   ok", "rate cycles": "2e+09 /s  ok", "insn per cycle instructions": "0.4   ok", "rate cache-references": "1e+07 /s 71.2 multiplexed", "duration_time": "0.25 s  ok", "variance instructions": "0.1 %  ok"}
	for _, c := range r.Counters {
		coverage := ""
		if c.Coverage.Valid {
			coverage = fmt.Sprint(c.Coverage.V)
		}
		name := strings.TrimSpace(c.Metric + " " + c.Instance)
		if got := fmt.Sprintf("%g %s %s %s", c.Value.V, c.Unit, coverage, c.Status); got != want[name] {
			t.Errorf("%s is %q, want %q", name, got, want[name])
		}
		delete(want, name)
	}
	if len(want) != 0 {
		t.Errorf("missing: %v", want)
	}
}

func TestMetricsWithNames(t *testing.T) {
	r := parsertest.MustParse(t, "perf-stat", "x", " Performance counter stats for 'system wide':\n\n             7,932      context-switches                 #    281.7 cs/sec  cs_per_second     \n"+
		"       100,000,000      cycles                           #      3.0 GHz  cycles_frequency       \n             1,000      branch-misses                    #      0.5 %  branch_miss_rate         \n\n       1.000000000 seconds time elapsed\n\n")
	for _, want := range []struct {
		metric, instance, unit string
		value                  float64
	}{{"cs_per_second", "context-switches", "cs/s", 281.7}, {"cycles_frequency", "cycles", "Hz", 3e9}, {"branch_miss_rate", "branch-misses", "%", 0.5}} {
		found := false
		for _, c := range r.Counters {
			found = found || c.Metric == want.metric && c.Instance == want.instance && c.Unit == want.unit && c.Value == datasets.Some(want.value)
		}
		if !found {
			t.Errorf("no %+v in %+v", want, r.Counters)
		}
	}
}

// The command's arguments and output have numbers of their own style.
func TestTheCommandDoesNotTellHowPerfWritesNumbers(t *testing.T) {
	r := parsertest.MustParse(t, "perf-stat", "x", "residual 0,25\n\n Performance counter stats for './solve --step 0,5':\n\n             1,234      cycles\n\n       1.250000000 seconds time elapsed\n\n")
	if got, want := counters(r), "0 cycles[] 1234 ok\n0 duration_time[] 1.25s ok\n"; got != want {
		t.Errorf("counters are\n%s\nwant\n%s", got, want)
	}
}

// Top-down metrics are printed below the last of their events: whether that
// one was counted says nothing of them.
func TestMetricsOfAGroupStandBelowAnEventThatWasNotCounted(t *testing.T) {
	r := parsertest.MustParse(t, "perf-stat", "x", " Performance counter stats for 'a':\n\n     <not counted>      cpu_atom/cycles/                                             (0.00%)\n"+
		"                        TopdownL1 (cpu_core)             #      5.1 %  tma_bad_speculation\n                                                         #     30.2 %  tma_frontend_bound       (83.20%)\n\n       1.250000000 seconds time elapsed\n\n")
	want := "0 cpu_atom/cycles/[] NULL missing 0%\n0 duration_time[] 1.25s ok\n0 tma_bad_speculation[TopdownL1 (cpu_core)] 5.1% ok\n0 tma_frontend_bound[TopdownL1 (cpu_core)] 30.2% multiplexed 83.2%\n"
	if got := counters(r); got != want {
		t.Errorf("counters are\n%s\nwant\n%s", got, want)
	}
	r = parsertest.MustParse(t, "perf-stat-json", "x", `{"counter-value" : "<not counted>", "unit" : "", "event" : "cpu_atom/cycles/", "event-runtime" : 0, "pcnt-running" : 0.00}`+"\n"+
		`{"event-runtime" : 1000, "pcnt-running" : 100.00, "metricgroup" : "TopdownL1 (cpu_core)"}`+"\n"+`{"metric-value" : "41.5", "metric-unit" : "%  tma_backend_bound"}`+"\n")
	if got, want := counters(r), "0 cpu_atom/cycles/[] NULL missing 0%\n0 tma_backend_bound[TopdownL1 (cpu_core)] 41.5% ok\n"; got != want {
		t.Errorf("counters are\n%s\nwant\n%s", got, want)
	}
}
