package llmperf_test

import (
	"math"
	"strings"
	"testing"

	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/generated"
	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/modeling/llmperf"
)

// The figures are those of the store that the data set was packed of, by SQL:
// of launches grouped by run, args, global_size and local_size the count of
// groups, the sum and the greatest of median(kernel_time), and the number of
// launches, for the patterns with the fewest kernels.
func TestGeneratedKernelsAreThoseThatWereMeasured(t *testing.T) {
	t.Setenv(registry.Env, "")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	place, err := registry.Find(generated.Name)
	if err != nil {
		t.Fatal(err)
	}
	xs, err := llmperf.FromParquet(t.Context(), place.Dir)
	if err != nil {
		t.Fatal(err)
	}
	type sums struct {
		n, repeats   int
		total, worst float64
	}
	got := map[string]sums{}
	kernels := map[string]bool{}
	for _, x := range xs {
		s := got[x.Pattern]
		got[x.Pattern] = sums{s.n + 1, s.repeats + x.Repeats, s.total + x.Seconds, max(s.worst, x.Seconds)}
		kernels[x.Group] = true
		if len(x.Args) == 0 || len(x.Global) == 0 || x.Repeats < 5 || !(x.Spread >= 0) || !strings.Contains(x.Source, x.Kernel) || !strings.Contains(x.Device, "Xeon") {
			t.Errorf("%+v", x)
		}
	}
	if len(xs) != 20200 || len(kernels) != 4040 {
		t.Errorf("%d configurations of %d kernels, want 20200 of 4040", len(xs), len(kernels))
	}
	for pattern, want := range map[string]sums{
		"bfs":         {40, 697, 0.009832271999999996, 0.002539635},
		"butterfly":   {40, 355, 0.06253801549999999, 0.010654044},
		"convolution": {60, 522, 0.13802756949999995, 0.03164798},
		"paths":       {105, 1460, 0.11927093850000003, 0.032183492},
		"sort":        {155, 1767, 0.18130157949999995, 0.015023051},
		"spmv":        {215, 2402, 0.43665401149999966, 0.022785427},
	} {
		g := got[pattern]
		if g.n != want.n || g.repeats != want.repeats || math.Abs(g.total-want.total) > 1e-12 || math.Abs(g.worst-want.worst) > 1e-15 {
			t.Errorf("%s: %+v, want %+v", pattern, g, want)
		}
	}
}

func TestParquetThatIsNoneIsAnError(t *testing.T) {
	if _, err := llmperf.FromParquet(t.Context(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "manifest.json") {
		t.Error(err)
	}
}
