package collectors_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/all"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// Import a profile into a store and ask for it as a dataframe: in a notebook
// of rooflab the two blank imports are not needed.
func ExampleImportFile() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "rooflab-example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := datasets.Open(filepath.Join(dir, "profiles.duckdb"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()

	sum, err := collectors.ImportFile(ctx, store, "ncu/testdata/raw_two_kernels.csv", collectors.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sum.Format, sum.Rows["launch"], "launches", sum.Rows["counter"], "counters")

	df, err := store.Query(ctx, `SELECT g.short AS kernel, l.dur_ns FROM launch l JOIN region g ON g.id = l.region_id ORDER BY l.id`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(df.Records())

	again, err := collectors.ImportFile(ctx, store, "ncu/testdata/raw_two_kernels.csv", collectors.Options{})
	fmt.Println(again.Duplicate != nil, err)
	// Output:
	// ncu-csv 2 launches 22 counters
	// [[kernel dur_ns] [jacobi 112350] [reduce 4100]]
	// true <nil>
}
