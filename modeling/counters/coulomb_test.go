package counters_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ktt"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/counters"
)

// coulomb is the tuning space of a direct Coulomb sum on an RTX 2080 Ti: 210
// configurations with their profiling counters.
func coulomb(t *testing.T) counters.Table {
	t.Helper()
	ctx := context.Background()
	store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sum, err := collectors.ImportFile(ctx, store, "../../../shared/data/ktt-coulomb/coulomb_2080_full_search_space.json", collectors.Options{})
	if err != nil {
		t.Fatalf("importing the tuning space: %v: the folder shared/ must lie beside the repository", err)
	}
	ms, err := store.Measurements(ctx, datasets.Filter{Run: sum.Run()})
	if err != nil {
		t.Fatal(err)
	}
	table, err := counters.FromMeasurements(ms, "Duration", false)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestCoulombCountersPredictTime(t *testing.T) {
	table := coulomb(t)
	for _, r := range []counters.Regressor{counters.Ridge, counters.Neighbours} {
		c, err := counters.Compare(context.Background(), table, counters.CompareOptions{Regressor: r})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(c)
	}
}
