package run_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// A cell measures a command as `rooflab collect run` does.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	store, err := datasets.Open(filepath.Join(dir, "s.db"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer store.Close()
	sum, err := collectors.Collect(context.Background(), store, "run", []string{"-repeats", "3"},
		collectors.Job{Command: []string{"sort", "/etc/passwd"}})
	fmt.Println(err, sum.States[0].Status, sum.Rows["launch"], "launches")
	// Output: <nil> ok 3 launches
}
