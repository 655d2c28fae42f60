package insight_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/insight"
)

// A kernel whose loads touch 32 sectors each, and whose time is steady.
func Example() {
	dir, err := os.MkdirTemp("", "insight")
	check(err)
	defer os.RemoveAll(dir)
	ctx := context.Background()
	store, err := datasets.Open(filepath.Join(dir, "study.db"))
	check(err)
	im, err := store.Begin(ctx)
	check(err)
	check(im.Put(&datasets.Run{ID: 1, Tool: "ncu", Format: "ncu-csv", Status: datasets.RunOK}))
	check(im.Put(&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "transpose", Short: "transpose"}))
	for i := range int64(4) {
		check(im.Put(&datasets.Launch{ID: i + 1, Run: 1, Region: 1, Sequence: datasets.Some(i), DurNs: datasets.Some(50000 + i)}))
		for metric, v := range map[string]float64{"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 32000, "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1000} {
			check(im.Put(&datasets.Counter{Run: 1, Region: 1, Launch: i + 1, Metric: metric, Value: datasets.Some(v), Status: datasets.StatusOK}))
		}
	}
	check(im.Commit(datasets.Artefact{Path: "transpose.csv", SHA256: "5e", Bytes: 1, Kind: "ncu-csv", ParserVersion: 1}))

	report, err := insight.Of(ctx, store, insight.Options{})
	check(err)
	for _, item := range report.Items[:2] {
		fmt.Println(item.ID, item.Verdict, item.Statement)
	}
	loads, _ := report.Find("C1")
	fmt.Println(loads.Sources[0].Path, loads.Sources[0].Count, "rows", loads.Moves[0])
	check(report.Verify(ctx, store))
	// Output:
	// H1 fact All of the time (200 µs in 4 launches, 50 µs each on average) is in one kernel, transpose.
	// C1 problem A global load of transpose touches 32 sectors: more than the 16 that a warp needs for the widest elements.
	// transpose.csv 8 rows {l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum down}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
