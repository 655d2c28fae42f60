package data_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	_ "github.com/rooflab/rooflab/collectors/caliper"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/notebooks/data"
)

func open(t *testing.T) *datasets.Store {
	t.Helper()
	store, err := datasets.Open(filepath.Join(t.TempDir(), "store.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

func TestRecordingsImportAndAreComplete(t *testing.T) {
	ctx := context.Background()
	store := open(t)
	var size int64
	for name, rows := range map[string]int64{"ceilings": 40, "large": 7, "sweep": 372} {
		sum, err := data.Import(ctx, store, name)
		if err != nil {
			t.Fatal(err)
		}
		if len(sum.Warnings) > 0 || sum.Rows["launch"] != rows {
			t.Errorf("%s: %d launches, want %d; warnings %v", name, sum.Rows["launch"], rows, sum.Warnings)
		}
		ms, err := store.Measurements(ctx, datasets.Filter{Run: sum.Run()})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			fastest, slowest := m.Value("time.duration"), m.Value("time.duration.max")
			if !(fastest.V > 0 && fastest.V <= slowest.V) || !(m.Value("flop.fp64").V > 0) {
				t.Errorf("%s, %s at %v: time %v to %v, flop %v", name, m.Kernel, m.Value("size").V, fastest, slowest, m.Value("flop.fp64"))
			}
		}
		facts, err := store.Query(ctx, "SELECT name FROM attribute WHERE run_id = ? AND name IN ('cpu', 'how.time', 'how.work', 'how.bytes')", sum.Run())
		if err != nil || facts.Nrow() != 4 {
			t.Errorf("%s: %d of 4 facts are there (%v)", name, facts.Nrow(), err)
		}
		st, err := os.Stat(name + ".cali")
		if err != nil {
			t.Fatal(err)
		}
		size += st.Size()
	}
	if size > 200e3 {
		t.Errorf("the recordings take %d bytes, want 200 kB at most", size)
	}
}

// What notebook 02 rests on: counts that the algorithm gives, and times of both
// orders.
func TestHeatIsComplete(t *testing.T) {
	ctx := context.Background()
	store := open(t)
	if err := data.Heat(ctx, store); err != nil {
		t.Fatal(err)
	}
	one := func(query string) float64 {
		t.Helper()
		df, err := store.Query(ctx, query)
		if err != nil || df.Nrow() != 1 {
			t.Fatalf("%s: %d rows, %v", query, df.Nrow(), err)
		}
		return df.Elem(0, 0).Float()
	}
	for _, n := range []int{32, 64, 96, 128, 192, 256} {
		// Each point is drawn once, by a call.
		calls := one(fmt.Sprintf(`SELECT sum(c.value) FROM counter c JOIN region g ON g.id = c.region_id JOIN run r ON r.id = g.run_id
			WHERE r.tool = 'callgrind' AND r.command = './heat %d 50 columns' AND g.short = 'uniform' AND c.metric = 'calls'`, n))
		if calls != float64(n*n) {
			t.Errorf("n = %d: uniform was called %v times, want %d", n, calls, n*n)
		}
	}
	for _, c := range []struct {
		query string
		want  float64
	}{
		{"SELECT count(*) FROM run WHERE status <> 'ok'", 0},
		{"SELECT count(*) FROM ceiling WHERE measured AND value > 0", 12},
		{"SELECT count(DISTINCT value) FROM attribute WHERE name = 'executable.sha256'", 1},
		{"SELECT count(*) FROM launch l JOIN run r ON r.id = l.run_id WHERE r.command = './heat 512 50 columns' AND r.tool = 'rooflab'", 30},
		{"SELECT count(*) FROM launch l JOIN run r ON r.id = l.run_id WHERE r.command = './heat 512 50 rows' AND r.tool = 'rooflab'", 30},
	} {
		if v := one(c.query); v != c.want {
			t.Errorf("%s: %v, want %v", c.query, v, c.want)
		}
	}
	// Two cores reach more than one, or the ceilings were disturbed.
	for _, level := range []string{"fp64", "fp32", "l1", "l2", "l3", "dram"} {
		if v := one("SELECT max(value) FILTER (WHERE level = '" + level + "') / max(value) FILTER (WHERE level = '" + level + ".core') FROM ceiling"); !(v >= 1) {
			t.Errorf("ceiling %s: two cores reach %.2f of what one does", level, v)
		}
	}
}

// A recording whose kernels beat the ceilings of the same recording by more
// than noise would be wrong.
func TestNoKernelIsAboveTheRoofs(t *testing.T) {
	ctx := context.Background()
	store := open(t)
	ls := map[string][]roofline.Launch{}
	for _, name := range []string{"ceilings", "large"} {
		sum, err := data.Import(ctx, store, name)
		if err != nil {
			t.Fatal(err)
		}
		if ls[name], err = roofline.FromStore(ctx, store, datasets.Filter{Run: sum.Run()}); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range roofline.AnalyseAll(ls["large"], roofline.Reached(ls["ceilings"])) {
		for _, l := range []roofline.Level{roofline.DRAM, roofline.L1} {
			if d := r.Distance(l, roofline.FP64); !d.OK || d.Value > 1.05 {
				t.Errorf("%s attains %v of the %v roof", r.Kernel, d, l)
			}
		}
	}
}

func TestAnUnknownRecordingIsAnError(t *testing.T) {
	if _, err := data.Import(context.Background(), open(t), "nothing"); err == nil {
		t.Error("no error")
	}
}
