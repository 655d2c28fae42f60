package llmperf_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/llmperf"
)

func TestLaunchesOfFLOPBenchFindTheirSources(t *testing.T) {
	ctx := context.Background()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	im, err := s.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	put := func(r datasets.Record) {
		t.Helper()
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	region := func(id, run, parent int64, kind, name, module, source string) {
		put(&datasets.Region{ID: id, Run: run, Parent: parent, Kind: kind, Raw: name, Short: name, Module: module})
		put(&datasets.Attribute{Run: run, Region: id, Name: "program", Value: "heat-cuda"})
		if source != "" {
			put(&datasets.Code{ID: id, Run: run, Region: id, ISA: "source", Text: source, File: module})
		}
	}
	put(&datasets.Machine{ID: 1, GPU: "A100"})
	put(&datasets.Run{ID: 1, Machine: 1, Tool: "gpuFLOPBench", Format: "gpuflopbench", Status: datasets.RunOK, TimeMetric: "xtime"})
	put(&datasets.Run{ID: 2, Tool: "gpuFLOPBench", Format: "gpuflopbench-sources", Status: datasets.RunOK})
	region(1, 1, 0, datasets.KindKernel, "step", "", "")
	put(&datasets.Attribute{Run: 1, Region: 1, Launch: 3, Name: "exeArgs", Value: "64 8"})
	// 600 operations at 3 a byte are 200 bytes, on which 0.5 flop a byte are 100.
	for metric, v := range map[string]float64{"intops": 600, "intAI": 3, "spAI": 0.5, "dpAI": 0} {
		put(&datasets.Counter{Run: 1, Region: 1, Launch: 3, Metric: metric, Value: datasets.Some(v), Status: datasets.StatusOK})
	}
	region(2, 1, 0, datasets.KindKernel, "twice", "", "")
	region(3, 1, 0, datasets.KindKernel, "nowhere", "", "")
	region(4, 2, 0, datasets.KindFunction, "square", "a.cu", "__device__ float square(float x) { return x * x; }")
	region(5, 2, 0, datasets.KindKernel, "step", "a.cu", "__global__ void step(float *x) { *x = square(*x); }")
	region(6, 2, 0, datasets.KindFunction, "other", "b.cu", "__device__ float other(float x) { return x; }")
	region(7, 2, 0, datasets.KindKernel, "twice", "b.cu", "__global__ void twice(float *x) { *x = 1; }")
	region(8, 2, 0, datasets.KindKernel, "twice", "c.cu", "__global__ void twice(float *x) { *x = 2; }")
	for i, l := range []struct {
		region int64
		grid   int64
		time   float64
	}{{1, 4, 1e-3}, {1, 4, 3e-3}, {1, 8, 5e-3}, {2, 4, 1e-3}, {3, 4, 1e-3}} {
		id := int64(i + 1)
		n := datasets.Some[int64]
		put(&datasets.Launch{ID: id, Run: 1, Region: l.region, Grid: [3]datasets.Null[int64]{n(l.grid), n(1), n(1)}, Block: [3]datasets.Null[int64]{n(32), n(2), n(1)}})
		put(&datasets.Counter{Run: 1, Region: l.region, Launch: id, Metric: "xtime", Value: datasets.Some(l.time), Unit: "s", Status: datasets.StatusOK})
	}
	if err := im.Commit(datasets.Artefact{Path: "x", SHA256: "y", Kind: "gpuflopbench"}); err != nil {
		t.Fatal(err)
	}
	xs, leftOut, err := llmperf.FromFLOPBench(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(leftOut, []string{"heat-cuda/nowhere: 0 sources", "heat-cuda/twice: 2 sources"}) {
		t.Errorf("left out: %q", leftOut)
	}
	if len(xs) != 2 || xs[0].Repeats != 2 || xs[0].Seconds != 2e-3 || xs[1].Seconds != 5e-3 || !slices.Equal(xs[0].Global, []int64{128, 2, 1}) || !slices.Equal(xs[1].Local, []int64{32, 2, 1}) {
		t.Fatalf("%+v", xs)
	}
	if want := "__device__ float square(float x) { return x * x; }\n__global__ void step(float *x) { *x = square(*x); }"; xs[0].Source != want || xs[0].Group != "heat-cuda/step" || xs[0].Device != "A100" {
		t.Errorf("%+v", xs[0])
	}
	all, _, err := llmperf.FLOPBench(ctx, s)
	if err != nil || len(all) != 4 {
		t.Fatalf("%d launches, %v", len(all), err)
	}
	if l := all[1]; l.CommandLine != "64 8" || l.Program != "heat-cuda" || l.Name != "step" || l.Int != 600 || l.Bytes != 200 || l.FP32 != 100 || l.FP64 != 0 {
		t.Errorf("%+v", l)
	}
	if l := all[0]; !slices.Equal(l.Times, []float64{1e-3, 3e-3}) || !math.IsNaN(l.Bytes) || !math.IsNaN(l.FP32) {
		t.Errorf("%+v", l)
	}
	if l := all[3]; l.Source != "" || l.Kernel != "nowhere" {
		t.Errorf("%+v", l)
	}
	if _, _, err := llmperf.FromFLOPBench(ctx, store(t)); err == nil || !strings.Contains(err.Error(), "extracted_CUDA_kernels.json") {
		t.Errorf("a store without it: %v", err)
	}
}
