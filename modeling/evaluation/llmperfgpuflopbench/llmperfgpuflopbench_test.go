package llmperfgpuflopbench_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/published"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/modeling/evaluation"
	_ "github.com/rooflab/rooflab/modeling/evaluation/llmperfgpuflopbench"
)

func evaluate(t *testing.T) *evaluation.Record {
	t.Helper()
	data, err := filepath.Abs("../../../../shared/data")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(registry.Env, data)
	e, err := evaluation.Lookup("llmperf-gpuflopbench")
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

// What is claimed: with the work counted, the stack is below 46.1 % on kernels
// that are new and ahead of each baseline beyond the interval of the paired
// difference; from the source alone it is ahead of each as well, and stays far
// above, for arguments and data decide the work. Each figure has its interval.
func TestRealKernelsAgainstEachBaseline(t *testing.T) {
	r := evaluate(t)
	value := map[string]float64{}
	against := map[string]int{}
	for _, x := range r.Results {
		if !(x.Low <= x.Value && x.Value <= x.High) || x.N == 0 || x.Split == "" || x.Note == "" {
			t.Errorf("%+v", x)
		}
		axis := "kernel"
		if strings.Contains(x.Split, "disjoint in program") {
			axis = "program"
		}
		value[axis+" "+x.Name+" "+x.Metric] = x.Value
		if !strings.HasPrefix(x.Metric, "MAPE less") || strings.HasPrefix(x.Name, "ablation") {
			continue
		}
		against[axis+" "+x.Name]++
		if x.High >= 0 {
			t.Errorf("new %ss: %s is off by %.3f (%.3f to %.3f) more than %s", axis, x.Name, x.Value, x.Low, x.High, x.Baseline)
		}
	}
	const counted, source = "roofline, boosted trees, relative loss, counted work", "boosted trees, relative loss, source"
	for _, axis := range []string{"kernel", "program"} {
		if against[axis+" "+counted] != 6 || against[axis+" "+source] != 6 {
			t.Errorf("baselines: %v", against)
		}
		if v := value[axis+" "+source+" MAPE"]; v > 0.95 || v < 0.5 {
			t.Errorf("new %ss, from the source: MAPE %.3f", axis, v)
		}
	}
	if v := value["kernel "+counted+" MAPE"]; v >= 0.461 {
		t.Errorf("counted work: MAPE %.3f on new kernels, want less than 0.461", v)
	}
	if v := value["kernel "+counted+" Spearman"]; v < 0.95 {
		t.Errorf("counted work: Spearman %.3f", v)
	}
	// Half of the launches take the same time again within 1 %, and a program's
	// other kernels, on the same input, tell less than the source does.
	if again := value["kernel measured: the launch run again median APE"]; again > 0.01 || again <= 0 {
		t.Errorf("the launch run again: median APE %.4f", again)
	}
	if other, ours := value["kernel measured: other kernels of the program Spearman"], value["kernel "+source+" Spearman"]; other >= ours {
		t.Errorf("other kernels of the program: Spearman %.3f, the source's %.3f", other, ours)
	}
	// The work is what the source does not tell.
	if data, text := value["kernel operations by the source: launches whose work arguments and data decide log-RMSE"], value["kernel operations by the source: launches whose work the source and the shape decide log-RMSE"]; data < 1.5*text {
		t.Errorf("operations by the source: log-RMSE %.2f where data decides, %.2f where not", data, text)
	}
}
