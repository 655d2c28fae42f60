package counterscoulomb_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ktt"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/modeling/evaluation"
	_ "github.com/rooflab/rooflab/modeling/evaluation/counterscoulomb"
)

func evaluate(t *testing.T, seed uint64) *evaluation.Record {
	t.Helper()
	data, err := filepath.Abs("../../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(registry.Env, data)
	e, err := evaluation.Lookup("counters-coulomb")
	if err != nil {
		t.Fatal(err)
	}
	r, err := evaluation.Run(context.Background(), e, evaluation.Options{Seed: seed, Import: func(ctx context.Context, s *datasets.Store, path string) (int64, error) {
		sum, err := collectors.ImportFile(ctx, s, path, collectors.Options{})
		if err != nil {
			return 0, err
		}
		return sum.Run(), nil
	}})
	if err != nil {
		t.Fatalf("%v: the folder shared/ must lie beside the repository", err)
	}
	return r
}

// By linear regression five counters of the ensemble are ahead of five random,
// most correlated, LASSO's and most informative ones, and the interval of each
// paired difference excludes zero. A single pursuit is not beaten: the
// ensemble adds the stability, not the figure.
func TestTheEnsembleIsAhead(t *testing.T) {
	r := evaluate(t, 1)
	seen := 0
	for _, x := range r.Results {
		if x.N != 210 || !strings.Contains(x.Split, "5-fold") || !(x.Low <= x.Value && x.Value <= x.High) {
			t.Errorf("%+v", x)
		}
		if !strings.Contains(x.Name, "ridge") || strings.HasPrefix(x.Baseline, "all") || strings.Contains(x.Baseline, "single pursuit") {
			continue
		}
		switch x.Metric {
		case "R2 ahead (paired difference)":
			seen++
			if x.Low <= 0 {
				t.Errorf("%s: ahead by %.4f (%.4f to %.4f)", x.Baseline, x.Value, x.Low, x.High)
			}
		case "R2":
			if x.Value <= x.BaselineValue {
				t.Errorf("%s: R2 %.4f, ours %.4f", x.Baseline, x.BaselineValue, x.Value)
			}
		case "MAPE":
			if x.Value >= x.BaselineValue {
				t.Errorf("%s: MAPE %.4f, ours %.4f", x.Baseline, x.BaselineValue, x.Value)
			}
		default:
			t.Errorf("metric %q", x.Metric)
		}
	}
	if seen != 5 || len(r.Data) != 1 || len(r.Warnings) != 0 {
		t.Errorf("%d baselines, data %v, warnings %v", seen, r.Data, r.Warnings)
	}
}

func TestEqualSeedsGiveEqualResults(t *testing.T) {
	a, b := evaluate(t, 3), evaluate(t, 3)
	if !reflect.DeepEqual(a.Results, b.Results) {
		t.Errorf("%v\n%v", a, b)
	}
}
