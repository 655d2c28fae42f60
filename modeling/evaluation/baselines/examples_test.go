package baselines

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/published"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/predict"
)

func read(t *testing.T, examples func(*datasets.Store) (*predict.Examples, error), files ...string) *predict.Examples {
	t.Helper()
	var e *predict.Examples
	err := datasets.Temporary(func(store *datasets.Store) (err error) {
		for _, f := range files {
			if _, err := collectors.ImportFile(context.Background(), store, filepath.Join("../../../../shared/data", f), collectors.Options{}); err != nil {
				return err
			}
		}
		e, err = examples(store)
		return err
	})
	if err != nil {
		t.Fatalf("%v: the folder shared/ must lie beside the repository", err)
	}
	if err := e.Check(true); err != nil {
		t.Fatal(err)
	}
	return e
}

// clean makes sure that no feature holds the time: neither by its name nor in a
// product of powers with others.
func clean(t *testing.T, e *predict.Examples) {
	t.Helper()
	columns := []series.Series{series.New(e.Groups, series.String, "group"), series.New(e.Y, series.Float, "target")}
	for j, n := range e.Features {
		v := make([]float64, e.Len())
		for r := range v {
			v[r] = e.X[r][j]
		}
		columns = append(columns, series.New(v, series.Float, n))
	}
	ss, err := split.Folds(e.Groups, 5, split.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	leaks, err := split.Check(dataframe.New(columns...), ss[0], "group", "target")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range leaks {
		if l.Kind != split.SameRow { // two programs may launch the same empty kernel
			t.Error(l)
		}
	}
}

// table looks up values by name.
type table struct{ *predict.Examples }

func (e table) value(row int, feature string) float64 {
	for j, n := range e.Features {
		if n == feature {
			return e.X[row][j]
		}
	}
	return math.Inf(1)
}

func TestFlopBenchExamplesHoldNoTime(t *testing.T) {
	e := table{read(t, func(s *datasets.Store) (*predict.Examples, error) {
		e, left, err := flopbenchExamples(context.Background(), s)
		if left != 17 {
			t.Errorf("%d launches left out, 17 have no integer operations", left)
		}
		return e, err
	}, "gpuflopbench/profiling-data.csv")}
	clean(t, e.Examples)
	// The first row: 4 blocks of 256 threads, 2990880 ns, 105854832 integer
	// operations at 492.5497 per byte, FP32 at 1860.42 flop/byte. The table's
	// rates say the same: 133.68e9 flop/s x 2.99 ms = 399.8e6 flop.
	if e.Len() != 3419 || e.Groups[0] != "haccmk" || e.Y[0] != 2990880e-9 || e.value(0, "threads") != 1024 || e.value(0, "blocks") != 4 ||
		math.Abs(e.value(0, "dram bytes")/(105854832/492.54965752736365)-1) > 1e-12 || math.Abs(e.value(0, "flop fp32")/(133681937309.193*2990880e-9)-1) > 1e-6 {
		t.Errorf("%d rows, %s, %g s, %v", e.Len(), e.Groups[0], e.Y[0], e.X[0])
	}
}

func TestOperatorExamplesHoldNoTime(t *testing.T) {
	e := table{read(t, func(s *datasets.Store) (*predict.Examples, error) { return operatorExamples(context.Background(), s) },
		"neusight/bmm.csv", "neusight/ln.csv")}
	clean(t, e.Examples)
	found := 0
	for r := range e.X {
		// On an L4: bmm of B 192, M 96, N 196, K 196 in 0.2386 ms.
		if e.Groups[r] == "NVIDIA L4" && e.value(r, "B") == 192 && e.value(r, "M") == 96 && e.value(r, "N") == 196 && e.value(r, "K") == 196 {
			found++
			if math.Abs(e.Y[r]-0.2386e-3) > 1e-7 || e.value(r, "flop") != 2*192*96*196*196 || e.value(r, "bytes") != 4*192*(96*196+196*196+96*196) || e.value(r, "bmm") != 1 || !math.IsNaN(e.value(r, "H")) {
				t.Errorf("%g s, %v", e.Y[r], e.X[r])
			}
		}
		if e.value(r, "layer norm") == 1 && (!math.IsNaN(e.value(r, "flop")) || e.value(r, "bytes") != 8*e.value(r, "B")*e.value(r, "H")) {
			t.Errorf("layer norm %v", e.X[r])
		}
	}
	// The two files have 13461 and 533 rows.
	if found != 1 || e.Len() != 13461+533 {
		t.Errorf("found %d times among %d rows", found, e.Len())
	}
}
