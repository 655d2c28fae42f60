package duckdb_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-gota/gota/dataframe"

	"github.com/rooflab/rooflab/datasets"
)

// lines are the records of a dataframe, a line per row, the header first.
func lines(t *testing.T, df dataframe.DataFrame, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, r := range df.Records() {
		fmt.Fprintln(&b, strings.Join(r, " "))
	}
	return b.String()
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got, want := strings.TrimSpace(got), strings.TrimSpace(strings.ReplaceAll(want, "\t", "")); got != want {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

var serial int

// profile is a run with records beside it, of a content of its own.
func profile(records ...datasets.Record) datasets.Profile {
	serial++
	run := &datasets.Run{ID: 1, Tool: "test", Format: "test", Status: datasets.RunOK, TimeMetric: "time"}
	return datasets.Profile{Artefact: datasets.Artefact{Path: "p", SHA256: fmt.Sprint("frames", serial), Kind: "test", ParserVersion: 1},
		Records: append([]datasets.Record{run}, records...)}
}

func value(region, launch int64, metric string, v float64) datasets.Record {
	return &datasets.Counter{Run: 1, Region: region, Launch: launch, Metric: metric, Value: datasets.Some(v), Unit: "s", Status: datasets.StatusOK}
}

func kernel(id int64, name string) datasets.Record {
	return &datasets.Region{ID: id, Run: 1, Kind: datasets.KindKernel, Raw: name, Short: name}
}

func TestStallsByKernelInstructionAndLine(t *testing.T) {
	n := datasets.Some[int64]
	code := func(id, region, offset, line int64, op string) datasets.Record {
		return &datasets.Code{ID: id, Run: 1, Region: region, ISA: "sass", Offset: n(offset), Opcode: op, File: "k.cu", Line: n(line)}
	}
	sample := func(launch, code int64, reason string, samples int64) datasets.Record {
		return &datasets.PCSample{Run: 1, Launch: launch, Code: code, Reason: reason, Samples: n(samples)}
	}
	s := open(t, filepath.Join(t.TempDir(), "s"))
	group(t, s, profile(kernel(1, "k"), kernel(2, "other"),
		&datasets.Launch{ID: 1, Run: 1, Region: 1}, &datasets.Launch{ID: 2, Run: 1, Region: 1}, &datasets.Launch{ID: 3, Run: 1, Region: 2},
		code(1, 1, 0, 7, "LDG"), code(2, 1, 16, 7, "FADD"), code(3, 1, 32, 8, "STG"), code(4, 2, 0, 1, "NOP"),
		sample(1, 1, "long_scoreboard", 6), sample(2, 1, "long_scoreboard", 2), sample(1, 1, "selected", 4),
		sample(1, 2, "wait", 1), sample(1, 2, "not_selected", 1), sample(1, 3, "long_scoreboard", 10), sample(3, 4, "selected", 5)),
		profile(kernel(1, "k"), &datasets.Launch{ID: 1, Run: 1, Region: 1}, code(1, 1, 0, 7, "LDG"), sample(1, 1, "stall_barrier", 3), sample(1, 1, "stall_selected", 1)))

	df, err := s.Stalls(t.Context(), datasets.Filter{}, datasets.StallsByKernel)
	// Run 1, k: 24 samples, 4 selected; of the 20 others 18, 1 and 1.
	same(t, "by kernel", lines(t, df, err), `
		run_id kernel samples selected stalled not_issued share long_scoreboard not_selected stall_barrier wait
		1 k 24 4 20 NaN 1.000000 0.900000 0.050000 NaN 0.050000
		1 other 5 5 0 NaN NaN NaN NaN NaN NaN
		2 k 4 1 3 NaN 1.000000 NaN NaN 1.000000 NaN`)
	df, err = s.Stalls(t.Context(), datasets.Filter{Run: 1, Kernel: "k"}, datasets.StallsByInstruction)
	same(t, "by instruction", lines(t, df.Select([]string{"code_id", "offset", "opcode", "line", "samples", "stalled", "share", "long_scoreboard", "not_selected"}), err), `
		code_id offset opcode line samples stalled share long_scoreboard not_selected
		3 32 STG 8 10 10 0.500000 1.000000 0.000000
		1 0 LDG 7 12 8 0.400000 1.000000 0.000000
		2 16 FADD 7 2 2 0.100000 0.000000 0.500000`)
	df, err = s.Stalls(t.Context(), datasets.Filter{Run: 1, Kernel: "k"}, datasets.StallsByLine)
	// Lines 7 (8 of LDG, 2 of FADD) and 8 have ten each.
	same(t, "by line", lines(t, df.Select([]string{"file", "line", "samples", "selected", "stalled", "share", "long_scoreboard"}), err), `
		file line samples selected stalled share long_scoreboard
		k.cu 7 14 4 10 0.500000 0.800000
		k.cu 8 10 0 10 0.500000 1.000000`)
	// A function of a CPU has events, no stalls; a reason may have any name.
	group(t, s, profile(&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindFunction, Raw: "f", Short: "f"}, kernel(2, "k"), &datasets.Launch{ID: 1, Run: 1, Region: 1},
		&datasets.Launch{ID: 2, Run: 1, Region: 2}, code(1, 1, 0, 7, "MOV"), code(2, 2, 0, 7, "LDG"), sample(1, 1, "cpu", 3), sample(2, 2, "share", 3)))
	df, err = s.Stalls(t.Context(), datasets.Filter{Run: 3}, datasets.StallsByKernel)
	same(t, "a function beside a kernel", lines(t, df, err), `
		run_id kernel samples selected stalled not_issued share share (reason)
		3 k 3 0 3 NaN 1.000000 1.000000`)
	if _, err := s.Stalls(t.Context(), datasets.Filter{}, 9); err == nil || !strings.Contains(err.Error(), "StallsByLine") {
		t.Errorf("an unknown level: %v", err)
	}
	for reason, want := range map[string]bool{"selected": true, "stall_selected": true, "Selected": true, "smsp__pcsamp_warps_issue_stalled_selected": true,
		"smsp__pcsamp_warps_issue_stalled_selected_not_issued": true, "not_selected": false, "stall_not_selected": false, "wait": false} {
		if datasets.Selected(reason) != want {
			t.Errorf("Selected(%q) = %v", reason, !want)
		}
	}
}

func TestTelemetryLongAndResampled(t *testing.T) {
	read := func(sensor, kind string, ms int64, v float64) datasets.Record {
		return &datasets.Telemetry{Run: 1, Sensor: sensor, TNs: 5e9 + ms*1e6, Value: datasets.Some(v), Unit: "W", Kind: kind}
	}
	s := open(t, filepath.Join(t.TempDir(), "s"))
	group(t, s, profile(read("power", "instant", 0, 10), read("power", "instant", 90, 20), read("power", "instant", 350, 40),
		read("energy", "cumulative", 0, 1), read("energy", "cumulative", 60, 3), read("energy", "cumulative", 120, 7),
		&datasets.Telemetry{Run: 1, Sensor: "power", TNs: 5e9 + 110e6, Kind: "instant"}))
	df, err := s.Telemetry(t.Context(), datasets.Filter{Metrics: []string{"power"}})
	same(t, "long", lines(t, df.Select([]string{"run_id", "sensor", "t", "value", "unit", "kind"}), err), `
		run_id sensor t value unit kind
		1 power 0.000000 10.000000 W instant
		1 power 0.090000 20.000000 W instant
		1 power 0.110000 NaN NaN instant
		1 power 0.350000 40.000000 W instant`)
	df, err = s.TelemetryResampled(t.Context(), datasets.Filter{}, 100*time.Millisecond)
	same(t, "resampled", lines(t, df, err), `
		run_id t energy power
		1 0.000000 3.000000 15.000000
		1 0.100000 7.000000 NaN
		1 0.200000 NaN NaN
		1 0.300000 NaN 40.000000`)
	if _, err := s.TelemetryResampled(t.Context(), datasets.Filter{}, 0); err == nil {
		t.Error("a step of 0 was taken")
	}
	var large *datasets.TooLargeError
	if _, err := s.TelemetryResampled(t.Context(), datasets.Filter{}, 1); !errors.As(err, &large) || !strings.Contains(err.Error(), "longer step") {
		t.Errorf("a step of a nanosecond: %v", err)
	}
}

func TestStatisticsOfRepeats(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	// Ten repeats of one kernel in two runs, and one value far off.
	var ps []datasets.Profile
	for r := range 2 {
		records := []datasets.Record{&datasets.Region{ID: 2, Run: 1, Kind: datasets.KindFunction, Raw: "main", Short: "main"},
			&datasets.Region{ID: 1, Run: 1, Parent: 2, Kind: datasets.KindKernel, Raw: "k", Short: "k"}}
		for i := range 5 {
			id := int64(i + 1)
			v := float64(r*5 + i + 1) // 1 ... 9
			if v == 10 {
				v = 100
			}
			records = append(records, &datasets.Launch{ID: id, Run: 1, Region: 1}, value(1, id, "time", v))
		}
		records = append(records, &datasets.Counter{Run: 1, Region: 1, Metric: "time", Unit: "s", Status: datasets.StatusNA})
		ps = append(ps, profile(records...))
	}
	group(t, s, ps...)
	df, err := s.Statistics(t.Context(), datasets.Filter{}, datasets.StatisticsOptions{})
	// Of 1 ... 9 and 100: mean 14.5, std sqrt((285 + 10000 - 10*14.5^2) / 9), quartiles 3.25
	// 5.5 7.75; |x-5.5| has the median 2.5. Above 7.75+1.5*4.5 = 14.5 is 100.
	same(t, "all", lines(t, df, err), `
		kernel metric instance unit n missing mean std min q1 median q3 max mad outliers rule
		k time NaN s 10 2 14.500000 30.152391 1.000000 3.250000 5.500000 7.750000 100.000000 2.500000 1 tukey`)
	df, err = s.Statistics(t.Context(), datasets.Filter{}, datasets.StatisticsOptions{PerRun: true, PerPath: true, Rule: datasets.ModifiedZ})
	// [1..5]; [6,7,8,9,100]: median 8, MAD 1, 0.6745*92 > 3.5.
	same(t, "per run and path", lines(t, df.Select([]string{"run_id", "path", "n", "missing", "median", "mad", "outliers", "rule"}), err), `
		run_id path n missing median mad outliers rule
		1 main/k 5 1 3.000000 1.000000 0 modified-z
		2 main/k 5 1 8.000000 1.000000 1 modified-z`)
	if _, err := s.Statistics(t.Context(), datasets.Filter{}, datasets.StatisticsOptions{Rule: "guess"}); err == nil || !strings.Contains(err.Error(), "tukey") {
		t.Errorf("an unknown rule: %v", err)
	}
}

func TestCompareShowsWhatIsMissing(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	group(t, s,
		profile(kernel(1, "slow"), kernel(2, "gone"), kernel(3, "mute"), &datasets.Launch{ID: 1, Run: 1, Region: 1}, &datasets.Launch{ID: 2, Run: 1, Region: 1}, &datasets.Launch{ID: 3, Run: 1, Region: 1},
			value(1, 1, "time", 4), value(1, 2, "time", 8), value(1, 3, "time", 6), value(2, 0, "time", 1), value(3, 0, "time", 1)),
		profile(kernel(1, "slow"), kernel(2, "new"), kernel(3, "mute"), value(1, 0, "time", 3), value(2, 0, "time", 2),
			&datasets.Counter{Run: 1, Region: 3, Metric: "time", Unit: "s", Status: datasets.StatusUnsupported}))
	df, err := s.Compare(t.Context(), 1, 2, "")
	same(t, "by the time metric", lines(t, df, err), `
		kernel instance unit n_before n_after before after mad_before mad_after difference ratio status
		slow NaN s 3 1 6.000000 3.000000 2.000000 0.000000 -3.000000 0.500000 both
		gone NaN s 1 0 1.000000 NaN 0.000000 NaN NaN NaN only before
		mute NaN s 1 0 1.000000 NaN 0.000000 NaN NaN NaN no value
		new NaN s 0 1 NaN 2.000000 NaN 0.000000 NaN NaN only after`)
	for _, c := range []struct {
		run    int64
		metric string
		want   string
	}{{9, "", "no run 9"}, {2, "nothing", `"nothing"`}} {
		if _, err := s.Compare(t.Context(), 1, c.run, c.metric); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("comparing with run %d, %s: %v", c.run, c.metric, err)
		}
	}
}

func TestByKernelAndPivot(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	ns := datasets.Some[int64]
	group(t, s, profile(kernel(1, "a"), kernel(2, "b"), kernel(3, "unknown"),
		&datasets.Launch{ID: 1, Run: 1, Region: 1, DurNs: ns(1e9)}, &datasets.Launch{ID: 2, Run: 1, Region: 1, DurNs: ns(2e9)},
		value(1, 1, "m", 1), value(1, 2, "m", 5), value(2, 0, "time", 9), value(2, 0, "m", 7)))
	df, err := s.ByKernel(t.Context(), datasets.Filter{Metrics: []string{"m"}}, datasets.Mean)
	same(t, "by kernel", lines(t, df, err), `
		run_id tool kernel kind launches time share m
		1 test b kernel 0 9.000000 0.750000 7.000000
		1 test a kernel 2 3.000000 0.250000 3.000000
		1 test unknown kernel 0 NaN NaN NaN`)
	if _, err := s.ByKernel(t.Context(), datasets.Filter{}, "mode"); err == nil {
		t.Error("an unknown aggregation was taken")
	}

	long, err := s.Counters(t.Context(), datasets.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for agg, want := range map[datasets.Agg]string{
		datasets.Median: "kernel m time\nb 7.000000 9.000000\na 3.000000 NaN",
		datasets.Sum:    "kernel m time\nb 7.000000 9.000000\na 6.000000 NaN",
		datasets.Count:  "kernel m time\nb 1.000000 1.000000\na 2.000000 0.000000",
		datasets.Std:    "kernel m time\nb NaN NaN\na 2.828427 NaN", // sqrt(2*2^2/1)
		datasets.Max:    "kernel m time\nb 7.000000 9.000000\na 5.000000 NaN",
	} {
		df, err := datasets.Pivot(long, []string{"kernel"}, "metric", "value", agg)
		same(t, "pivot by "+string(agg), lines(t, df, err), want)
	}
	for _, c := range [][]string{{"nothing", "metric", "value", "mean", `no column "nothing"`}, {"kernel", "metric", "status", "mean", "holds text"}, {"kernel", "metric", "value", "mode", "no aggregation"}} {
		if _, err := datasets.Pivot(long, c[:1], c[1], c[2], datasets.Agg(c[3])); err == nil || !strings.Contains(err.Error(), c[4]) {
			t.Errorf("pivot %v: %v", c, err)
		}
	}
}

func TestTreeOfInclusiveAndExclusiveTools(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	for _, inclusive := range []bool{true, false} {
		// main (10 s, of which 3 its own) calls f (5 + 2 s on two ranks).
		main := 3.0
		if inclusive {
			main = 10
		}
		p := profile(&datasets.Region{ID: 1, Run: 1, Kind: "function", Raw: "main", Short: "main"}, &datasets.Region{ID: 2, Run: 1, Parent: 1, Kind: "function", Raw: "f", Short: "f"},
			&datasets.Launch{ID: 1, Run: 1, Region: 2}, &datasets.Launch{ID: 2, Run: 1, Region: 2},
			value(1, 0, "time", main), value(2, 1, "time", 5), value(2, 2, "time", 2), value(2, 0, "misses", 4))
		p.Records[0].(*datasets.Run).TimeInclusive = inclusive
		group(t, s, p)
		df, err := s.TreeOf(t.Context(), map[bool]int64{true: 1, false: 2}[inclusive], "time", "misses")
		same(t, fmt.Sprint("inclusive ", inclusive), lines(t, df.Select([]string{"path", "count", "time", "time (inc)", "misses", "misses (inc)"}), err), `
			path count time time (inc) misses misses (inc)
			main 0 3.000000 10.000000 NaN 4.000000
			main/f 2 7.000000 7.000000 4.000000 4.000000`)
	}
}

func TestValuesOfSeveralValues(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	df, err := s.Query(t.Context(), `SELECT [1, NULL, 2.5] AS a, {'y': [true], 'x': 'u'} AS b, MAP {'k': 1} AS c, INTERVAL 36 HOUR AS d,
		INTERVAL 14 MONTH + INTERVAL 3 DAY AS e, [DATE '2024-01-02'] AS f, []::INTEGER[] AS g, NULL::INTEGER[] AS h`)
	if err != nil {
		t.Fatal(err)
	}
	want := "[1, NULL, 2.5] | {'x': u, 'y': [true]} | {k=1} | 129600 s | 14 months 3 days | [2024-01-02T00:00:00Z] | [] | NaN"
	if got := strings.Join(df.Records()[1], " | "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Callgrind's regions have no parents, and its files say both costs.
func TestTreeOfACallGraph(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	group(t, s, profile(kernel(1, "main"), kernel(2, "f"), kernel(3, "stub"), value(1, 0, "Ir", 3), value(2, 0, "Ir", 7),
		value(1, 0, "Ir.inclusive", 10), value(2, 0, "Ir.inclusive", 7), value(3, 0, "Ir.inclusive", 1)))
	for _, metric := range []string{"Ir", "Ir.inclusive"} {
		df, err := s.Tree(t.Context(), 1, metric)
		if err != nil {
			t.Fatal(err)
		}
		same(t, metric, lines(t, df.Select([]string{"path", "inclusive", "exclusive"}), nil), `
			path inclusive exclusive
			main 10.000000 3.000000
			f 7.000000 7.000000
			stub 1.000000 NaN`)
	}
}

func TestATreeWithoutATimeNamesMetrics(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"))
	p := profile(kernel(1, "f"), kernel(2, "g"), value(1, 0, "Ir", 5), value(2, 0, "Ir", 6), value(1, 0, "Dr", 1))
	p.Records[0].(*datasets.Run).TimeMetric = ""
	group(t, s, p)
	for metric, want := range map[string]string{"": "give a metric (Ir, Dr)", "Instructions": `"Instructions"`, "Bc": "(Ir, Dr)"} {
		if _, err := s.Tree(t.Context(), 1, metric); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("metric %q: %v, want %s", metric, err, want)
		}
	}
}

// The groups of many runs, each with metrics of its own, are few rows and still
// a large frame: rows times all metrics.
func TestGroupsThatAreTooLargeAreRefused(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "s"), datasets.MaxCells(200))
	n := datasets.Some[int64]
	for run := range 10 {
		group(t, s, profile(kernel(1, "k"), &datasets.Launch{ID: 1, Run: 1, Region: 1, Sequence: n(0)},
			value(1, 1, fmt.Sprint("a", run), 1), value(1, 1, fmt.Sprint("b", run), 2),
			&datasets.Code{ID: 1, Run: 1, Region: 1, ISA: "sass", Offset: n(0)},
			&datasets.PCSample{Run: 1, Launch: 1, Code: 1, Reason: fmt.Sprint("reason", run), Samples: n(1)}))
	}
	var large *datasets.TooLargeError
	if _, err := s.ByKernel(t.Context(), datasets.Filter{}, datasets.Mean); !errors.As(err, &large) || large.Columns != 27 {
		t.Errorf("by kernel, 10 rows of 7 columns and 20 metrics: %v", err)
	}
	if _, err := s.Stalls(t.Context(), datasets.Filter{}, datasets.StallsByInstruction); !errors.As(err, &large) {
		t.Errorf("stalls, 10 rows of 13 columns and 10 reasons: %v", err)
	}
	if df, err := s.ByKernel(t.Context(), datasets.Filter{Run: 3}, datasets.Mean); err != nil || df.Nrow() != 1 || df.Ncol() != 9 {
		t.Errorf("one run: %v, %v", df, err)
	}
}

func TestFramesThatAreTooLargeAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	s := open(t, path, datasets.MaxCells(200))
	imported(t, s, 40, artefact)
	var large *datasets.TooLargeError
	for name, f := range map[string]func() error{
		"Query":        func() error { _, err := s.Query(t.Context(), "SELECT id, run_id FROM launch, range(10)"); return err },
		"Counters":     func() error { _, err := s.Counters(t.Context(), datasets.Filter{}); return err },
		"CountersWide": func() error { _, err := s.CountersWide(t.Context(), datasets.Filter{}); return err },
		"Measurements": func() error { _, err := s.Measurements(t.Context(), datasets.Filter{}); return err },
		"PairedCounters": func() error {
			_, err := s.PairedCounters(t.Context(), 1, 1, datasets.PairOptions{})
			return err
		},
	} {
		if err := f(); !errors.As(err, &large) || !strings.Contains(err.Error(), "Filter.Sample") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if df, err := s.Query(t.Context(), "SELECT id, run_id FROM launch, range(2)"); err != nil || df.Nrow() != 80 {
		t.Errorf("160 cells: %v, %v", df.Nrow(), err)
	}
	// A sample fits, is the same again, and differs with the seed.
	pick := func(seed int64) string {
		df, err := s.Launches(t.Context(), datasets.Filter{Sample: 5, Seed: seed})
		if err != nil || df.Nrow() != 5 {
			t.Fatalf("%d rows, %v", df.Nrow(), err)
		}
		return fmt.Sprint(df.Col("launch_id").Records())
	}
	first := pick(1)
	if again, other := pick(1), pick(2); again != first || other == first {
		t.Errorf("samples: %s, %s, %s", first, again, other)
	}
	ms, err := s.Measurements(t.Context(), datasets.Filter{Sample: 5, Seed: 1, Kernel: "k", Metrics: []string{"time"}})
	var ids []string
	for _, m := range ms {
		ids = append(ids, fmt.Sprint(m.Launch))
	}
	if err != nil || fmt.Sprint(ids) != pick(1) {
		t.Errorf("measurements of %v, launches %s, %v", ids, pick(1), err)
	}
	if math.MaxInt32 < datasets.DefaultMaxCells {
		t.Error("the default is no limit")
	}
}
