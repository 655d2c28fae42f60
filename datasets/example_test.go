package datasets_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// store is a store with two runs of one program: before and after a change.
// Kernel gemm has two launches and PC samples, power was measured beside it.
func store() (*datasets.Store, func()) {
	dir, err := os.MkdirTemp("", "example")
	check(err)
	s, err := datasets.Open(filepath.Join(dir, "s.duckdb"))
	check(err)
	n := datasets.Some[int64]
	var profiles []datasets.Profile
	for i, scale := range []int64{4, 2} {
		records := []datasets.Record{
			&datasets.Run{ID: 1, Tool: "ncu", Format: "ncu-csv", Status: datasets.RunOK, TimeMetric: "gpu__time_duration.sum"},
			&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "void gemm<float>(float*)", Short: "gemm"},
			&datasets.Code{ID: 1, Run: 1, Region: 1, ISA: "sass", Offset: n(0), Opcode: "LDG", File: "gemm.cu", Line: n(12)},
			&datasets.Code{ID: 2, Run: 1, Region: 1, ISA: "sass", Offset: n(16), Opcode: "FFMA", File: "gemm.cu", Line: n(13)},
		}
		for l := range int64(2) {
			records = append(records,
				&datasets.Launch{ID: l + 1, Run: 1, Region: 1, Grid: [3]datasets.Null[int64]{n(64), n(64), n(1)}, Block: [3]datasets.Null[int64]{n(32), n(32), n(1)}, Sequence: n(l), DurNs: n(scale * 1_000_000)},
				&datasets.Counter{Run: 1, Region: 1, Launch: l + 1, Metric: "gpu__time_duration.sum", Value: datasets.Some(float64(scale) / 1000), Unit: "s", Status: datasets.StatusOK},
				&datasets.Counter{Run: 1, Region: 1, Launch: l + 1, Metric: "dram__bytes.sum", Value: datasets.Some(float64(l+1) * 1e6), Unit: "byte", Status: datasets.StatusOK},
				&datasets.PCSample{Run: 1, Launch: l + 1, Code: 1, Reason: "long_scoreboard", Samples: n(6)},
				&datasets.PCSample{Run: 1, Launch: l + 1, Code: 2, Reason: "wait", Samples: n(2)},
				&datasets.PCSample{Run: 1, Launch: l + 1, Code: 2, Reason: "selected", Samples: n(2)},
				&datasets.Telemetry{Run: 1, Sensor: "power", TNs: l * 1e9, Value: datasets.Some(float64(100 + 50*l)), Unit: "W", Kind: "instant"})
		}
		profiles = append(profiles, datasets.Profile{Records: records,
			Artefact: datasets.Artefact{Path: fmt.Sprintf("run%d.csv", i+1), SHA256: fmt.Sprint(i), Kind: "ncu-csv", ParserVersion: 1}})
	}
	_, err = s.ImportAll(context.Background(), profiles)
	check(err)
	return s, func() { check(s.Close()); check(os.RemoveAll(dir)) }
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func ExampleStore_Launches() {
	s, done := store()
	defer done()
	df, err := s.Launches(context.Background(), datasets.Filter{Run: 1, Kernel: "gemm"})
	check(err)
	fmt.Println(df.Select([]string{"launch_id", "kernel", "grid_x", "block_x", "sequence", "dur_ns"}).Records())
	// Output: [[launch_id kernel grid_x block_x sequence dur_ns] [1 gemm 64 32 0 4000000] [2 gemm 64 32 1 4000000]]
}

func ExampleStore_Counters() {
	s, done := store()
	defer done()
	df, err := s.Counters(context.Background(), datasets.Filter{Run: 1, Metrics: []string{"dram__bytes.sum"}})
	check(err)
	fmt.Println(df.Select([]string{"launch_id", "metric", "value", "unit", "status"}).Records())
	// Output: [[launch_id metric value unit status] [1 dram__bytes.sum 1000000.000000 byte ok] [2 dram__bytes.sum 2000000.000000 byte ok]]
}

func ExampleStore_CountersWide() {
	s, done := store()
	defer done()
	df, err := s.CountersWide(context.Background(), datasets.Filter{Run: 2})
	check(err)
	fmt.Println(df.Select([]string{"kernel", "sequence", "dram__bytes.sum", "gpu__time_duration.sum"}).Records())
	// Output: [[kernel sequence dram__bytes.sum gpu__time_duration.sum] [gemm 0 1000000.000000 0.002000] [gemm 1 2000000.000000 0.002000]]
}

func ExampleStore_Tree() {
	s, done := store()
	defer done()
	df, err := s.Tree(context.Background(), 1, "")
	check(err)
	fmt.Println(df.Select([]string{"path", "count", "inclusive", "exclusive", "unit"}).Records())
	// Output: [[path count inclusive exclusive unit] [gemm 2 0.008000 0.008000 s]]
}

func ExampleStore_TreeOf() {
	s, done := store()
	defer done()
	df, err := s.TreeOf(context.Background(), 1, "gpu__time_duration.sum", "dram__bytes.sum")
	check(err)
	fmt.Println(df.Select([]string{"path", "gpu__time_duration.sum (inc)", "dram__bytes.sum"}).Records())
	// Output: [[path gpu__time_duration.sum (inc) dram__bytes.sum] [gemm 0.008000 3000000.000000]]
}

func ExampleStore_Stalls() {
	s, done := store()
	defer done()
	df, err := s.Stalls(context.Background(), datasets.Filter{Run: 1}, datasets.StallsByLine)
	check(err)
	fmt.Println(df.Select([]string{"file", "line", "samples", "selected", "share", "long_scoreboard", "wait"}).Records())
	// Output: [[file line samples selected share long_scoreboard wait] [gemm.cu 12 12 0 0.750000 1.000000 0.000000] [gemm.cu 13 8 4 0.250000 0.000000 1.000000]]
}

func ExampleStore_Telemetry() {
	s, done := store()
	defer done()
	df, err := s.Telemetry(context.Background(), datasets.Filter{Run: 1})
	check(err)
	fmt.Println(df.Select([]string{"sensor", "t", "value", "unit"}).Records())
	// Output: [[sensor t value unit] [power 0.000000 100.000000 W] [power 1.000000 150.000000 W]]
}

func ExampleStore_TelemetryResampled() {
	s, done := store()
	defer done()
	df, err := s.TelemetryResampled(context.Background(), datasets.Filter{Run: 1}, 500*time.Millisecond)
	check(err)
	fmt.Println(df.Select([]string{"t", "power"}).Records())
	// Output: [[t power] [0.000000 100.000000] [0.500000 NaN] [1.000000 150.000000]]
}

func ExamplePivot() {
	s, done := store()
	defer done()
	long, err := s.Counters(context.Background(), datasets.Filter{})
	check(err)
	df, err := datasets.Pivot(long, []string{"run_id", "kernel"}, "metric", "value", datasets.Sum)
	check(err)
	fmt.Println(df.Records())
	// Output: [[run_id kernel dram__bytes.sum gpu__time_duration.sum] [1 gemm 3000000.000000 0.008000] [2 gemm 3000000.000000 0.004000]]
}

func ExampleStore_Statistics() {
	s, done := store()
	defer done()
	df, err := s.Statistics(context.Background(), datasets.Filter{Metrics: []string{"dram__bytes.sum"}}, datasets.StatisticsOptions{Rule: datasets.Tukey})
	check(err)
	fmt.Println(df.Select([]string{"kernel", "n", "q1", "median", "q3", "mad", "outliers"}).Records())
	// Output: [[kernel n q1 median q3 mad outliers] [gemm 4 1000000.000000 1500000.000000 2000000.000000 500000.000000 0]]
}

func ExampleStore_ByKernel() {
	s, done := store()
	defer done()
	df, err := s.ByKernel(context.Background(), datasets.Filter{Metrics: []string{"dram__bytes.sum"}}, datasets.Sum)
	check(err)
	fmt.Println(df.Select([]string{"run_id", "kernel", "launches", "time", "share", "dram__bytes.sum"}).Records())
	// Output: [[run_id kernel launches time share dram__bytes.sum] [1 gemm 2 0.008000 1.000000 3000000.000000] [2 gemm 2 0.004000 1.000000 3000000.000000]]
}

func ExampleStore_Compare() {
	s, done := store()
	defer done()
	df, err := s.Compare(context.Background(), 1, 2, "")
	check(err)
	fmt.Println(df.Select([]string{"kernel", "before", "after", "difference", "ratio", "status"}).Records())
	// Output: [[kernel before after difference ratio status] [gemm 0.004000 0.002000 -0.002000 0.500000 both]]
}

func ExampleStore_PairedCounters() {
	s, done := store()
	defer done()
	df, err := s.PairedCounters(context.Background(), 1, 2, datasets.PairOptions{}, "gpu__time_duration.sum")
	check(err)
	fmt.Println(df.Select([]string{"kernel", "sequence_a", "sequence_b", "match", "gpu__time_duration.sum (a)", "dur_b"}).Records())
	// Output: [[kernel sequence_a sequence_b match gpu__time_duration.sum (a) dur_b] [gemm 0 0 exact 0.004000 0.002000] [gemm 1 1 exact 0.004000 0.002000]]
}

func ExampleStore_Provenance() {
	s, done := store()
	defer done()
	df, err := s.Provenance(context.Background(), datasets.Filter{Run: 2})
	check(err)
	fmt.Println(df.Select([]string{"run_id", "tool", "path", "parser", "parser_version"}).Records())
	// Output: [[run_id tool path parser parser_version] [2 ncu run2.csv ncu-csv 1]]
}

func ExampleStore_ExportParquet() {
	s, done := store()
	defer done()
	folder := s.Path() + ".parquet"
	m, err := s.ExportParquet(context.Background(), folder)
	check(err)
	fmt.Println(m.Tables[2].File, m.Tables[2].Rows)
	again, err := s.ImportParquet(context.Background(), folder)
	check(err)
	fmt.Println(len(again.Runs), again.Unchanged)
	// Output:
	// run.parquet 2
	// 0 2
}
