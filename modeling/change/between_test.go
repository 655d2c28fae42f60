package change_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/gbench"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/change"
)

func open(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// profile is a run with two kernels, each launched n times; gemm takes factor
// ms and moves factor MB, copy always takes 3 ms. Its flop are always the same.
func profile(rng *rand.Rand, id string, n int, factor float64) datasets.Profile {
	some := datasets.Some[int64]
	records := []datasets.Record{&datasets.Run{ID: 1, Tool: "t", Format: "t", Status: datasets.RunOK, TimeMetric: "time"},
		&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindKernel, Raw: "gemm", Short: "gemm"},
		&datasets.Region{ID: 2, Run: 1, Kind: datasets.KindKernel, Raw: "copy", Short: "copy"}}
	for i := range int64(n) {
		for region, time := range map[int64]float64{1: factor * 1e-3, 2: 3e-3} {
			launch := 2*i + region
			time *= 1 + 0.01*rng.NormFloat64()
			records = append(records, &datasets.Launch{ID: launch, Run: 1, Region: region, Sequence: some(launch)})
			for metric, v := range map[string]float64{"time": time, "bytes": time * 1e9 * (1 + 0.001*rng.NormFloat64()), "flop": 1e6} {
				records = append(records, &datasets.Counter{Run: 1, Region: region, Launch: launch, Metric: metric, Value: datasets.Some(v),
					Unit: map[string]string{"time": "s", "bytes": "byte", "flop": "flop"}[metric], Status: datasets.StatusOK})
			}
		}
	}
	return datasets.Profile{Records: records, Artefact: datasets.Artefact{Path: id, SHA256: id, Kind: "t"}}
}

func TestBetweenRuns(t *testing.T) {
	s, rng := open(t), rand.New(rand.NewPCG(1, 1))
	var profiles []datasets.Profile
	for i := range 12 {
		factor := 2.0
		if i >= 6 {
			factor = 3
		}
		profiles = append(profiles, profile(rng, fmt.Sprint(i), 10, factor))
	}
	ctx := context.Background()
	if _, err := s.ImportAll(ctx, profiles); err != nil {
		t.Fatal(err)
	}
	groups := [][2][]int64{{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}}, {{1}, {7}}}
	for i, repeats := range []string{change.ByRun, change.ByLaunch} {
		r, err := change.Between(ctx, s, groups[i][0], groups[i][1], change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		gemm, _ := r.Kernel("gemm")
		// A run has 10 launches of 2 ms and 3 ms: 20 ms become 30 ms, and with
		// copy 50 ms become 60 ms.
		if r.Repeats != repeats || gemm.Verdict != change.Slower || math.Abs(gemm.Ratio-1.5) > 0.03 || math.Abs(r.Difference-0.010) > 0.0008 || math.Abs(r.Before-0.05) > 0.001 {
			t.Errorf("%s:\n%s", repeats, r)
		}
		if len(r.With(change.Slower)) != 1 || gemm.Before.Launches != 10 || math.Abs(gemm.Explains-1) > 0.1 {
			t.Errorf("%s:\n%s\n%+v", repeats, r, gemm)
		}
		// Bytes follow, flop do not: they are no news.
		if len(r.Counters) != 1 || r.Counters[0].Metric != "bytes" || r.Counters[0].Direction() != "more" || math.Abs(r.Counters[0].Ratio-1.5) > 0.03 {
			t.Errorf("%s: counters %+v", repeats, r.Counters)
		}
		if html := r.Display().Data["text/html"].(string); !strings.Contains(html, "Counters that changed along") {
			t.Errorf("HTML: %s", html)
		}
	}
	if _, err := change.Between(ctx, s, []int64{1}, []int64{1}, change.Options{}); err == nil || !strings.Contains(err.Error(), "run 1 is on both sides") {
		t.Errorf("a run against itself: %v", err)
	}
	if _, err := change.Between(ctx, s, []int64{1}, []int64{99}, change.Options{}); err == nil || !strings.Contains(err.Error(), "the store has no such run") {
		t.Errorf("a run that is not there: %v", err)
	}
}

// Google Benchmark's own example of two runs: benchmarks named after what
// changed, each measured once, of which nothing can be concluded.
func TestOneRepeatIsNoVerdict(t *testing.T) {
	s := open(t)
	for _, name := range []string{"test1_run1.json", "test1_run2.json"} {
		path := filepath.Join("../../../shared/samples/gbench", name)
		if _, err := os.Stat(path); err != nil {
			t.Fatalf("%v: this test reads the profiles beside the repository", err)
		}
		if _, err := collectors.ImportFile(context.Background(), s, path, collectors.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := change.Between(context.Background(), s, []int64{1}, []int64{2}, change.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, ratio := range map[string]float64{"BM_SameTimes": 1, "BM_2xFaster": 0.5, "BM_2xSlower": 2, "BM_10PercentSlower": 1.1, "BM_100xFaster": 0.01} {
		k, ok := r.Kernel(name)
		if !ok || k.Verdict != change.TooFew || math.Abs(k.Ratio-ratio) > 1e-9*ratio || !math.IsNaN(k.Low) {
			t.Errorf("%s: %+v", name, k.Test)
		}
	}
}
