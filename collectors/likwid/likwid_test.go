package likwid_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/likwid"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// The layout follows likwid-perfctr 5.2's own printing of tables.
const markers = `STRUCT,Info,3,,,
CPU name:,Some CPU @ 2.40GHz,,,,
CPU type:,Some nano-architecture,,,,
CPU clock:,2.4 GHz,,,,
TABLE,Region solve, phase 2,Group 1 Raw,MEM_DP,4
Region Info,HWThread 0,HWThread 2,,,
RDTSC Runtime [s],0.500000,0.250000,,,
call count,10,20,,,
Event,Counter,HWThread 0,HWThread 2,,
INSTR_RETIRED_ANY,FIXC0,1000,2000,,
CPU_CLK_UNHALTED_CORE,FIXC1,nan,-,,
CAS_COUNT_RD,MBOX0C0,12,0,,
CAS_COUNT_RD,MBOX1C0,1.300000e+10,0,,
TABLE,Region solve, phase 2,Group 1 Raw STAT,MEM_DP,1
Event,Counter,Sum,Min,Max,Avg
INSTR_RETIRED_ANY STAT,FIXC0,3000,1000,2000,1500
TABLE,Region solve, phase 2,Group 1 Metric,MEM_DP,6
Metric,HWThread 0,HWThread 2,,,
Clock [MHz],2400.5,2400,,,
CPI,0.5000,0.2500,,,
DP [MFLOP/s],1200.5,0,,,
Memory bandwidth [MBytes/s],5000,0,,,
Memory data volume [GBytes],1.25,0,,,
Energy [J],12.5,0,,,
TABLE,Region solve, phase 2,Group 1 Metric STAT,MEM_DP,1
Metric,Sum,Min,Max,Avg,
CPI STAT,0.7500,0.2500,0.5000,0.3750,
STRUCT,Info,3,,,
CPU name:,Some CPU @ 2.40GHz,,,,
TABLE,Region solve, phase 2,Group 2 Raw,L2,1
Event,Counter,HWThread 0,HWThread 2,,
INSTR_RETIRED_ANY,FIXC0,1001,2001,,
`

const wantMarkers = `0/MEM_DP RDTSC Runtime [s][] 0.5s
2/MEM_DP RDTSC Runtime [s][] 0.25s
0/MEM_DP call count[] 10
2/MEM_DP call count[] 20
0/MEM_DP INSTR_RETIRED_ANY[FIXC0] 1000
2/MEM_DP INSTR_RETIRED_ANY[FIXC0] 2000
0/MEM_DP CPU_CLK_UNHALTED_CORE[FIXC1] na
2/MEM_DP CPU_CLK_UNHALTED_CORE[FIXC1] na
0/MEM_DP CAS_COUNT_RD[MBOX0C0] 12
2/MEM_DP CAS_COUNT_RD[MBOX0C0] 0
0/MEM_DP CAS_COUNT_RD[MBOX1C0] 1.3e+10
2/MEM_DP CAS_COUNT_RD[MBOX1C0] 0
/ INSTR_RETIRED_ANY STAT[Sum FIXC0] 3000
/ INSTR_RETIRED_ANY STAT[Min FIXC0] 1000
/ INSTR_RETIRED_ANY STAT[Max FIXC0] 2000
/ INSTR_RETIRED_ANY STAT[Avg FIXC0] 1500
0/MEM_DP Clock [MHz][] 2.4005e+09Hz
2/MEM_DP Clock [MHz][] 2.4e+09Hz
0/MEM_DP CPI[] 0.5
2/MEM_DP CPI[] 0.25
0/MEM_DP DP [MFLOP/s][] 1.2005e+09flop/s
2/MEM_DP DP [MFLOP/s][] 0flop/s
0/MEM_DP Memory bandwidth [MBytes/s][] 5e+09byte/s
2/MEM_DP Memory bandwidth [MBytes/s][] 0byte/s
0/MEM_DP Memory data volume [GBytes][] 1.25e+09byte
2/MEM_DP Memory data volume [GBytes][] 0byte
0/MEM_DP Energy [J][] 12.5J
2/MEM_DP Energy [J][] 0J
/ CPI STAT[Sum] 0.75
/ CPI STAT[Min] 0.25
/ CPI STAT[Max] 0.5
/ CPI STAT[Avg] 0.375
0/L2 INSTR_RETIRED_ANY[FIXC0] 1001
2/L2 INSTR_RETIRED_ANY[FIXC0] 2001
`

func lines(r *parsertest.Records) string {
	var b strings.Builder
	for _, c := range r.Counters {
		thread, group := "", ""
		for _, l := range r.Launches {
			if l.ID == c.Launch && l.Thread.Valid {
				thread = fmt.Sprint(l.Thread.V)
			}
		}
		for _, a := range r.Attributes {
			if a.Launch == c.Launch && a.Launch != 0 && a.Name == "group" {
				group = a.Value
			}
		}
		value := c.Status
		if c.Value.Valid {
			value = fmt.Sprintf("%.6g%s", c.Value.V, c.Unit)
		}
		fmt.Fprintf(&b, "%s/%s %s[%s] %s\n", thread, group, c.Metric, c.Instance, value)
	}
	return b.String()
}

func TestMarkerRegions(t *testing.T) {
	r := parsertest.MustParse(t, "likwid-csv", "x.csv", markers)
	if got := lines(r); got != wantMarkers {
		t.Errorf("got\n%s\nwant\n%s", got, wantMarkers)
	}
	run, m := r.Runs[0], r.Machines[0]
	if len(r.Regions) != 1 || r.Regions[0].Raw != "solve, phase 2" || run.TimeMetric != "RDTSC Runtime [s]" || !run.TimeInclusive || m.CPU != "Some CPU @ 2.40GHz" || m.ClockHz.V != 2.4e9 {
		t.Errorf("%+v\n%+v\n%+v", r.Regions, run, m)
	}
	if len(r.Launches) != 4 || len(r.Warnings) != 0 {
		t.Errorf("%d launches, warnings %v", len(r.Launches), r.Warnings)
	}
}

func TestWholeProgramsAndOlderTitles(t *testing.T) {
	text := "output of the program\nSTRUCT,Info,3,\nCPU name:,Old CPU,\nTABLE,Group 1 Raw,Custom,2,\nEvent,Counter,Core 0,Core 1\nRuntime (RDTSC) [s],TSC,1.5e-01,1.5e-01\nL1D_REPLACEMENT,PMC0,7,8\nTABLE,Group 2 Raw,GPU events,1,\nEvent,Counter,GPU 0,GPU 1\nSMSP_CYCLES,GPU0,5,6\n"
	r := parsertest.MustParse(t, "likwid-csv", "x", text)
	want := "0/Custom Runtime (RDTSC) [s][TSC] 0.15s\n1/Custom Runtime (RDTSC) [s][TSC] 0.15s\n0/Custom L1D_REPLACEMENT[PMC0] 7\n1/Custom L1D_REPLACEMENT[PMC0] 8\n/GPU events SMSP_CYCLES[GPU0] 5\n/GPU events SMSP_CYCLES[GPU0] 6\n"
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.Regions[0].Raw != "likwid-perfctr" || r.Launches[3].Device != datasets.Some(int64(1)) || r.Runs[0].TimeMetric != "Runtime (RDTSC) [s]" || len(r.Warnings) != 1 {
		t.Errorf("%+v\n%+v\n%v", r.Regions, r.Launches, r.Warnings)
	}
}

func TestDrawnTablesReadLikeCSV(t *testing.T) {
	text := `--------------------------------------------------------------------------------
CPU name:	Some CPU @ 2.40GHz
CPU type:	Some nano-architecture
CPU clock:	2.40 GHz
--------------------------------------------------------------------------------
output of the program
--------------------------------------------------------------------------------
Region solve, phase 2, Group 1: MEM_DP
+-------------------+------------+------------+
|    Region Info    | HWThread 0 | HWThread 2 |
+-------------------+------------+------------+
| RDTSC Runtime [s] |   0.500000 |   0.250000 |
|     call count    |         10 |         20 |
+-------------------+------------+------------+

+-----------------------+---------+--------------+------------+
|         Event         | Counter |  HWThread 0  | HWThread 2 |
+-----------------------+---------+--------------+------------+
|   INSTR_RETIRED_ANY   |  FIXC0  |         1000 |       2000 |
| CPU_CLK_UNHALTED_CORE |  FIXC1  |      nan     |      -     |
+-----------------------+---------+--------------+------------+

+------------------------+---------+------+------+------+------+
|          Event         | Counter |  Sum |  Min |  Max |  Avg |
+------------------------+---------+------+------+------+------+
| INSTR_RETIRED_ANY STAT |  FIXC0  | 3000 | 1000 | 2000 | 1500 |
+------------------------+---------+------+------+------+------+

+-------------+------------+------------+
|    Metric   | HWThread 0 | HWThread 2 |
+-------------+------------+------------+
| Clock [MHz] |  2400.5000 |       2400 |
+-------------+------------+------------+
`
	r := parsertest.MustParse(t, "likwid-text", "x.txt", text)
	w := strings.SplitAfter(wantMarkers, "\n")
	want := strings.Join(append(append(append([]string{}, w[:8]...), w[12:16]...), w[16:18]...), "")
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if r.Machines[0].CPU != "Some CPU @ 2.40GHz" || r.Regions[0].Raw != "solve, phase 2" {
		t.Errorf("%+v %+v", r.Machines, r.Regions)
	}
	f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(text), Whole: true})
	if err != nil || f.Name != "likwid-text" || sure != collectors.Certain {
		t.Errorf("detected as %q, %v, %v", f.Name, sure, err)
	}
	parsertest.Truncations(t, "likwid-text", "x", text, 300)
}

func TestColumnsOfRanks(t *testing.T) {
	r := parsertest.MustParse(t, "likwid-csv", "x", "TABLE,Group 1 Raw,MEM,1\nEvent,Counter,node7:2:3,node8:3:0\nA,PMC0,1,2\nTABLE,Group 1 Raw STAT,MEM,1\nEvent,Counter,Sum,Min,Max,Avg,%ile 25\nA STAT,PMC0,3,1,2,1.5,1\n")
	if l := r.Launches[1]; len(r.Launches) != 2 || l.Rank.V != 3 || l.Thread.V != 0 || r.Total("A") != 3 {
		t.Errorf("launches %+v", r.Launches)
	}
	_, err := parsertest.Parse("likwid-csv", "x", "TABLE,Group 1 Raw,MEM,1\nEvent,Counter,Something\nA,PMC0,1\n")
	var e *collectors.SyntaxError
	if !errors.As(err, &e) || e.Line != 1 || !strings.Contains(err.Error(), "of no thread") {
		t.Errorf("a column of nothing: %v", err)
	}
}

func TestTimeline(t *testing.T) {
	text := "# HWThreads,0,3\n# GID,MetricsCount,CpuCount,Total runtime [s],Runtime (RDTSC) [s],Clock [MHz]\n1,2,2,0.5,0.5,0.5,2400,2500\n1,2,2,1.25,0.75,0.75,2401,nan\n"
	r := parsertest.MustParse(t, "likwid-csv", "x", text)
	want := "0/ Runtime (RDTSC) [s][] 0.5s\n0/ Clock [MHz][] 2.4e+09Hz\n3/ Runtime (RDTSC) [s][] 0.5s\n3/ Clock [MHz][] 2.5e+09Hz\n0/ Runtime (RDTSC) [s][] 0.75s\n0/ Clock [MHz][] 2.401e+09Hz\n3/ Runtime (RDTSC) [s][] 0.75s\n3/ Clock [MHz][] na\n"
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if l := r.Launches[2]; l.StartNs.V != 5e8 || l.DurNs.V != 75e7 {
		t.Errorf("the second interval is %+v", l)
	}
}

func TestDamagedFilesAreRefusedWithTheirPlace(t *testing.T) {
	table := "TABLE,Group 1 Raw,MEM,2\nEvent,Counter,HWThread 0\nA,PMC0,1\n"
	for name, c := range map[string]struct {
		format, text string
		line, col    int
		msg          string
	}{
		"empty":          {"likwid-csv", "", 1, 1, "the file is empty"},
		"rows missing":   {"likwid-csv", table, 4, 1, "ends within a table: expected 2 rows, 1 were read"},
		"no titles":      {"likwid-csv", "TABLE,Group 1 Raw,MEM,2\nTABLE,Group 1 Raw,MEM,2\n", 2, 1, "no titles of columns"},
		"odd title":      {"likwid-csv", "TABLE,Table 1,MEM,2\n", 1, 1, "the title of the table is odd"},
		"no number":      {"likwid-csv", table + "B,PMC1,x7\n", 4, 8, "the value of B is no number"},
		"few cells":      {"likwid-csv", table + "B,PMC1\n", 4, 1, "one cell per title"},
		"cut":            {"likwid-csv", table + "B,PMC1,1", 4, 9, "ends within a line"},
		"timeline":       {"likwid-csv", "# HWThreads,0\n# GID,MetricsCount,CpuCount,Total runtime [s],CPI\n1,1,1,0.5\n", 3, 1, "another number of values"},
		"drawn, not end": {"likwid-text", "Group 1: MEM\n+---+---+---+\n| Event | Counter | HWThread 0 |\n+---+---+---+\n| A | PMC0 | 1 |\n", 6, 1, "ends within a table"},
	} {
		parsertest.Refused(t, c.format, name, c.text, c.line, c.col, c.msg)
	}
}

func TestAWrongNumberOfRowsIsWarnedAbout(t *testing.T) {
	r := parsertest.MustParse(t, "likwid-csv", "x", "TABLE,Group 1 Raw,MEM,3\nEvent,Counter,HWThread 0\nA,PMC0,1\nTABLE,Group 1 Metric,MEM,1\nMetric,HWThread 0\nCPI,2\n")
	if len(r.Warnings) != 1 || r.Warnings[0].Line != 1 || !strings.Contains(r.Warnings[0].Msg, "has 1 rows, its title says 3") {
		t.Errorf("%v", r.Warnings)
	}
}

func TestCutFilesGiveNoOtherValues(t *testing.T) {
	parsertest.Truncations(t, "likwid-csv", "x", markers, 500)
}

func FuzzLikwidCSV(f *testing.F) {
	parsertest.Fuzz(f, "likwid-csv", markers, "Region,a,\nGroup,1,\nEvent,Counter,n:0:1\nA,PMC0,1\nMetric,n:0:1\nCPI,2\n", "# HWThreads,0,3\n# GID,MetricsCount,CpuCount,Total runtime [s],CPI\n1,1,2,0.5,0.5,0.5\n")
}

func FuzzLikwidText(f *testing.F) {
	parsertest.Fuzz(f, "likwid-text", drawnByLikwid3, "Group 1: MEM\n+---+---+---+\n| Event | Counter | HWThread 0 |\n+---+---+---+\n| A | PMC0 | 1 |\n+---+---+---+\n")
}

// Tables as LIKWID 3 drew them: no title, no column of registers, two runs in
// one file.
const drawnByLikwid3 = `-------------------------------------------------------------
CPU type:	Some old processor 
CPU clock:	2.94 GHz 
-------------------------------------------------------------
./solver
Status: 0x0 
+-------------------+-------------+-------------+
|       Event       |   core 0    |   core 1    |
+-------------------+-------------+-------------+
| INSTR_RETIRED_ANY | 1.56604e+11 |   178370    |
+-------------------+-------------+-------------+
+------------------------+-------------+-------------+--------+-------------+
|         Event          |     Sum     |     Max     |  Min   |     Avg     |
+------------------------+-------------+-------------+--------+-------------+
| INSTR_RETIRED_ANY STAT | 1.56604e+11 | 1.56604e+11 | 178370 | 7.83021e+10 |
+------------------------+-------------+-------------+--------+-------------+
+---------------------+---------+---------+
|       Metric        | core 0  | core 1  |
+---------------------+---------+---------+
| Runtime (RDTSC) [s] | 100.458 | 100.458 |
|      DP MFlops/s    |   2.5   |    0    |
+---------------------+---------+---------+
make: nothing to be done
+-------------------+--------+--------+
|       Event       | core 0 | core 1 |
+-------------------+--------+--------+
| INSTR_RETIRED_ANY |   7    |   8    |
+-------------------+--------+--------+
`

func TestTablesOfLikwid3(t *testing.T) {
	f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(drawnByLikwid3), Whole: true})
	if err != nil || f.Name != "likwid-text" || sure != collectors.Certain {
		t.Errorf("detected as %q, %v, %v", f.Name, sure, err)
	}
	r := parsertest.MustParse(t, "likwid-text", "x", drawnByLikwid3)
	want := "0/ INSTR_RETIRED_ANY[] 1.56604e+11\n1/ INSTR_RETIRED_ANY[] 178370\n" +
		"/ INSTR_RETIRED_ANY STAT[Sum] 1.56604e+11\n/ INSTR_RETIRED_ANY STAT[Max] 1.56604e+11\n/ INSTR_RETIRED_ANY STAT[Min] 178370\n/ INSTR_RETIRED_ANY STAT[Avg] 7.83021e+10\n" +
		"0/ Runtime (RDTSC) [s][] 100.458s\n1/ Runtime (RDTSC) [s][] 100.458s\n0/ DP MFlops/s[] 2.5e+06flop/s\n1/ DP MFlops/s[] 0flop/s\n" +
		"0/ INSTR_RETIRED_ANY[] 7\n1/ INSTR_RETIRED_ANY[] 8\n"
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(r.Launches) != 4 || len(r.Warnings) != 0 {
		t.Errorf("%d launches, warnings %v", len(r.Launches), r.Warnings)
	}
	parsertest.Truncations(t, "likwid-text", "x", drawnByLikwid3, 300)
}

// Two runs were appended to one file: the values of one thread are not added up.
func TestRunsInOneFileAreToldApart(t *testing.T) {
	one := "STRUCT,Info,3,\nCPU name:,Some CPU,\nTABLE,Region solve,Group 1 Raw,MEM,1\nRegion Info,HWThread 0\nRDTSC Runtime [s],0.5\ncall count,1\nEvent,Counter,HWThread 0\nA,PMC0,%d\n" +
		"TABLE,Region solve,Group 1 Metric,MEM,1\nMetric,HWThread 0\nCPI,%d\n"
	drawn := "Region solve, Group 1: MEM\n+---+---+---+\n| Event | Counter | HWThread 0 |\n+---+---+---+\n| A | PMC0 | %d |\n+---+---+---+\n\n+---+---+\n| Metric | HWThread 0 |\n+---+---+\n| CPI | %d |\n+---+---+\n"
	for format, text := range map[string]string{"likwid-csv": one, "likwid-text": drawn} {
		r := parsertest.MustParse(t, format, "x", fmt.Sprintf(text, 3, 1)+fmt.Sprintf(text, 5, 2))
		byLaunch := map[int64]string{}
		for _, c := range r.Counters {
			if c.Metric == "A" || c.Metric == "CPI" {
				byLaunch[c.Launch] += fmt.Sprintf("%s %g,", c.Metric, c.Value.V)
			}
		}
		if len(r.Launches) != 2 || byLaunch[1] != "A 3,CPI 1," || byLaunch[2] != "A 5,CPI 2," {
			t.Errorf("%s: %d launches, %v", format, len(r.Launches), byLaunch)
		}
		last := r.Attributes[len(r.Attributes)-1]
		if last.Launch != 2 || last.Name != "repetition" || last.Value != "2" {
			t.Errorf("%s: the second launch has the attribute %+v", format, last)
		}
	}
}

func TestRefusedEventsHaveNoValue(t *testing.T) {
	text := "CPU name:       Some CPU with spaces behind the colon                \nCPU clock:      2.80 GHz\n" +
		"Setup of event ACTUAL_CPU_CLOCK on CPU 18 failed: Permission denied\nSetup of event ACTUAL_CPU_CLOCK on CPU 18 failed: Permission denied\n" +
		"Region solve!, Group 1: FLOPS_SP\n+---+---+---+---+\n| Event | Counter | HWThread 18 | HWThread 19 |\n+---+---+---+---+\n| ACTUAL_CPU_CLOCK | FIXC1 | 0 | 0 |\n| MERGE | PMC3 | 0 | 0 |\n+---+---+---+---+\n"
	r := parsertest.MustParse(t, "likwid-text", "x", text)
	want := "18/FLOPS_SP ACTUAL_CPU_CLOCK[FIXC1] na\n19/FLOPS_SP ACTUAL_CPU_CLOCK[FIXC1] 0\n18/FLOPS_SP MERGE[PMC3] 0\n19/FLOPS_SP MERGE[PMC3] 0\n"
	if got := lines(r); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(r.Warnings) != 1 || r.Warnings[0].Line != 3 || !strings.Contains(r.Warnings[0].Msg, "ACTUAL_CPU_CLOCK could not be counted on CPU 18 (Permission denied)") {
		t.Errorf("%v", r.Warnings)
	}
	if m := r.Machines[0]; m.CPU != "Some CPU with spaces behind the colon" || m.ClockHz.V != 2.8e9 {
		t.Errorf("%+v", m)
	}
}

func TestTablesOfMpirun(t *testing.T) {
	csv := "output of the program\nRegion,solve,,,,\nGroup,1,,,,\nEvent,Counter,e0107:0:0,e0108:1:4\nRuntime (RDTSC) [s],TSC,1.25,1.5\nRegion calls,CTR,10,11\nINSTR_RETIRED_ANY,FIXC0,500,600\n" +
		"Event,Counter,Sum,Min,Max,Avg\nINSTR_RETIRED_ANY STAT,FIXC0,1100,500,600,550\nMetric,e0107:0:0,e0108:1:4,\nMemory data volume [GBytes],9.5,1,\nRegion,other,\nGroup,1,\nEvent,Counter,e0107:0:0,e0108:1:4\nINSTR_RETIRED_ANY,FIXC0,7,8\n"
	drawn := "output of the program\nRegion: solve\nGroup: 1\n+---+---+---+---+\n| Event | Counter | e0107:0:0 | e0108:1:4 |\n+---+---+---+---+\n| Runtime (RDTSC) [s] | TSC | 1.25 | 1.5 |\n| Region calls | CTR | 10 | 11 |\n| INSTR_RETIRED_ANY | FIXC0 | 500 | 600 |\n+---+---+---+---+\n\n" +
		"+---+---+---+---+---+---+\n| Event | Counter | Sum | Min | Max | Avg |\n+---+---+---+---+---+---+\n| INSTR_RETIRED_ANY STAT | FIXC0 | 1100 | 500 | 600 | 550 |\n+---+---+---+---+---+---+\n\n+---+---+---+\n| Metric | e0107:0:0 | e0108:1:4 |\n+---+---+---+\n| Memory data volume [GBytes] | 9.5 | 1 |\n+---+---+---+\n\n" +
		"Region: other\nGroup: 1\n+---+---+---+---+\n| Event | Counter | e0107:0:0 | e0108:1:4 |\n+---+---+---+---+\n| INSTR_RETIRED_ANY | FIXC0 | 7 | 8 |\n+---+---+---+---+\n"
	want := "0/ Runtime (RDTSC) [s][TSC] 1.25s\n4/ Runtime (RDTSC) [s][TSC] 1.5s\n0/ Region calls[CTR] 10\n4/ Region calls[CTR] 11\n0/ INSTR_RETIRED_ANY[FIXC0] 500\n4/ INSTR_RETIRED_ANY[FIXC0] 600\n" +
		"/ INSTR_RETIRED_ANY STAT[Sum FIXC0] 1100\n/ INSTR_RETIRED_ANY STAT[Min FIXC0] 500\n/ INSTR_RETIRED_ANY STAT[Max FIXC0] 600\n/ INSTR_RETIRED_ANY STAT[Avg FIXC0] 550\n" +
		"0/ Memory data volume [GBytes][] 9.5e+09byte\n4/ Memory data volume [GBytes][] 1e+09byte\n0/ INSTR_RETIRED_ANY[FIXC0] 7\n4/ INSTR_RETIRED_ANY[FIXC0] 8\n"
	for format, text := range map[string]string{"likwid-csv": csv, "likwid-text": drawn} {
		f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(text), Whole: true})
		if err != nil || f.Name != format || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", format, f.Name, sure, err)
		}
		r := parsertest.MustParse(t, format, "x", text)
		if got := lines(r); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", format, got, want)
		}
		if len(r.Regions) != 2 || r.Regions[0].Raw != "solve" || r.Regions[1].Raw != "other" || len(r.Launches) != 4 || r.Launches[1].Rank.V != 1 || r.Runs[0].TimeMetric != "Runtime (RDTSC) [s]" {
			t.Errorf("%s: %+v\n%+v\n%+v", format, r.Regions, r.Launches, r.Runs)
		}
	}
}

// LIKWID's formulas give nil where a counter overflowed.
func TestFormulasWithoutAResultHaveNoValue(t *testing.T) {
	r := parsertest.MustParse(t, "likwid-csv", "x", "TABLE,Group 1 Metric,MEM,2\nMetric,HWThread 0,HWThread 1\nMemory load bandwidth [MBytes/s],nil,2.5\nCPI,nil,nil\n")
	if got, want := lines(r), "0/MEM Memory load bandwidth [MBytes/s][] na\n1/MEM Memory load bandwidth [MBytes/s][] 2.5e+06byte/s\n0/MEM CPI[] na\n1/MEM CPI[] na\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
