package baselines_test

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/published"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/modeling/evaluation"
	_ "github.com/rooflab/rooflab/modeling/evaluation/baselines"
)

func evaluate(t *testing.T, name string) *evaluation.Record {
	t.Helper()
	data, err := filepath.Abs("../../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(registry.Env, data)
	e, err := evaluation.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := evaluation.Run(context.Background(), e, evaluation.Options{Seed: 1, Import: func(ctx context.Context, s *datasets.Store, path string) (int64, error) {
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

// On programs that are new: launch geometry alone tells little, counted work
// tells most, and trees on top of a fitted roofline tell more than the roofline.
// Nothing here knows the time: a feature that did would give R2 near 1.
func TestFlopBenchOnNewPrograms(t *testing.T) {
	r := evaluate(t, "baselines-gpuflopbench")
	figure := map[string]map[string]float64{}
	for _, x := range r.Results {
		if figure[x.Name] == nil {
			figure[x.Name] = map[string]float64{}
		}
		figure[x.Name][x.Metric] = x.Value
		if x.N != 3419 || !strings.HasPrefix(x.Split, "5-fold, disjoint in program (389 of them), seed 1") || x.Note == "" || !(x.Low <= x.Value && x.Value <= x.High) {
			t.Errorf("%+v", x)
		}
		if x.Metric == "coverage at 90 %" && (x.Value < 0.85 || x.Value > 0.97) {
			t.Errorf("%s: %.3f of the intervals at 90 %% cover", x.Name, x.Value)
		}
		if strings.HasPrefix(x.Name, "roofline fitted, then") && strings.HasPrefix(x.Metric, "log-RMSE below") && !(x.Low > 0) {
			t.Errorf("trees do not improve on the roofline: %+v", x)
		}
	}
	if len(figure) != 10 || len(r.Warnings) > 0 {
		t.Errorf("%d predictors, warnings %q", len(figure), r.Warnings)
	}
	for name, f := range figure {
		r2 := f["R2 of log"]
		switch {
		case r2 > 0.95 || math.IsNaN(r2):
			t.Errorf("%s: R2 %.3f", name, r2)
		case strings.Contains(name, "launch geometry") && r2 > 0.3:
			t.Errorf("%s: R2 %.3f from the launch alone", name, r2)
		case strings.Contains(name, "counted work") && r2 < 0.7:
			t.Errorf("%s: R2 %.3f with counted work", name, r2)
		}
	}
}
