package counters_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
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

// Chosen on four fifths of the configurations, fitted there, and scored on the
// last fifth: five counters of the ensemble predict better than five random
// ones, the five most correlated, the five most informative and five of
// LASSO's, by ridge regression. The interval of each paired difference, over
// configurations, excludes zero.
func TestCoulombCountersPredictTime(t *testing.T) {
	for _, seed := range []uint64{0, 1} {
		c, err := counters.Compare(context.Background(), coulomb(t), counters.CompareOptions{Repeats: 5, Options: counters.Options{Seed: seed}})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(c)
		best, _ := c.Way(counters.Ensemble)
		if best.R2 < 0.95 || best.MAPE > 0.12 || !(best.Low < best.R2 && best.R2 < best.High) {
			t.Errorf("the ensemble's counters: R2 %.3f (%.3f to %.3f), MAPE %.3f", best.R2, best.Low, best.High, best.MAPE)
		}
		for _, way := range []string{counters.Random, counters.Correlated, counters.Informative, counters.LassoLargest, counters.LassoFirst} {
			w, ok := c.Way(way)
			if !ok || !(best.R2 > w.R2 && best.MAPE < w.MAPE && w.AheadLow > 0) {
				t.Errorf("%s: R2 %.3f and MAPE %.3f, the ensemble %.3f and %.3f, ahead by %.4f (%.4f to %.4f)", way, w.R2, w.MAPE, best.R2, best.MAPE, w.Ahead, w.AheadLow, w.AheadHigh)
			}
		}
		if r, _ := c.Way(counters.Random); r.Better < 0.95 {
			t.Errorf("better than %.2f of the random choices", r.Better)
		}
		if n := len(c.Ways); n != 8 || c.Frame().Nrow() != n || c.Rows != 210 {
			t.Errorf("%d ways, %d rows", n, c.Rows)
		}
		if html, _ := c.Display().Data["text/html"].(string); !strings.Contains(html, "most correlated") || !strings.Contains(html, "ridge regression") {
			t.Errorf("HTML %s", html)
		}
	}
}

// Nearest neighbours take any shape, and five counters suffice for nearly all
// of the variance. The ensemble's are better than all but the largest of
// LASSO's, from which they do not differ: the interval holds zero, or they are
// ahead.
func TestCoulombCountersAsNeighbours(t *testing.T) {
	c, err := counters.Compare(context.Background(), coulomb(t), counters.CompareOptions{Repeats: 5, Regressor: counters.Neighbours})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(c)
	best, _ := c.Way(counters.Ensemble)
	for _, way := range []string{counters.Random, counters.Correlated, counters.Informative, counters.LassoFirst, counters.Everything} {
		if w, _ := c.Way(way); !(best.R2 > w.R2 && w.AheadLow > 0) {
			t.Errorf("%s: R2 %.3f, the ensemble %.3f, ahead by %.4f (%.4f to %.4f)", way, w.R2, best.R2, w.Ahead, w.AheadLow, w.AheadHigh)
		}
	}
	if w, _ := c.Way(counters.LassoLargest); w.AheadHigh < 0 || math.Abs(w.Ahead) > 0.001 {
		t.Errorf("LASSO's largest are better: %.4f (%.4f to %.4f)", w.Ahead, w.AheadLow, w.AheadHigh)
	}
}

// Different seeds agree on the four counters that carry the time.
func TestCoulombChoiceIsStable(t *testing.T) {
	table := coulomb(t)
	for seed := range uint64(5) {
		r := choose(t, table, counters.Options{Seed: seed})
		names := strings.Join(r.Names(), " ")
		for _, n := range []string{"lts__t_sectors_op_read.sum", "smsp__inst_executed.sum", "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", "dram__sectors_read.sum"} {
			if !strings.Contains(names, n) {
				t.Errorf("seed %d: %s is not among %s", seed, n, names)
			}
		}
		for _, d := range r.Dropped {
			if d.Column == "Overhead" && d.Reason != "derived from time: in seconds" {
				t.Errorf("%v", d)
			}
		}
	}
}
