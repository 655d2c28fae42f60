package llmperf_test

import (
	"context"
	"math"
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/llmperf"
)

// store has a generated kernel with two configurations, of three repeats and of
// one, a launch that failed, and a kernel of another file.
func store(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	im, err := s.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	put := func(r datasets.Record) {
		t.Helper()
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	put(&datasets.Machine{ID: 1, CPU: "cpu"})
	launch := int64(0)
	for run, path := range []string{1: "map-0123456789abcdef.cl", 2: "mine.cl"} {
		if path == "" {
			continue
		}
		id := int64(run)
		put(&datasets.Run{ID: id, Machine: 1, Tool: "opencl", Format: "opencl", Status: datasets.RunOK, TimeMetric: "kernel_time"})
		put(&datasets.Region{ID: id, Run: id, Kind: datasets.KindKernel, Raw: "f", Short: "f"})
		put(&datasets.Attribute{Run: id, Name: "source", Value: "kernel void f(global int *x, int n) {} // " + path})
		put(&datasets.Attribute{Run: id, Name: "source.path", Value: path})
		put(&datasets.Attribute{Run: id, Name: "device.name", Value: "cpu"})
		for _, l := range []struct {
			n       string
			seconds float64
		}{{"64", 4e-7}, {"64", 1e-7}, {"64", 2e-7}, {"128", 3e-7}, {"256", 0}} {
			launch++
			put(&datasets.Launch{ID: launch, Run: id, Region: id})
			put(&datasets.Attribute{Run: id, Launch: launch, Name: "args", Value: "x=buf:int:" + l.n + " n=int:" + l.n})
			put(&datasets.Attribute{Run: id, Launch: launch, Name: "global_size", Value: l.n + ",2"})
			put(&datasets.Attribute{Run: id, Launch: launch, Name: "local_size", Value: "16,1"})
			c := &datasets.Counter{Run: id, Region: id, Launch: launch, Metric: "kernel_time", Unit: "s", Status: datasets.StatusMissing}
			if l.seconds > 0 {
				c.Value, c.Status = datasets.Some(l.seconds), datasets.StatusOK
			}
			put(c)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: "x", SHA256: "y", Kind: "opencl"}); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRepeatsOfAConfigurationAreOneExample(t *testing.T) {
	xs, err := llmperf.FromStore(context.Background(), store(t), datasets.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(xs) != 4 {
		t.Fatalf("%d examples, want two configurations of two kernels: %+v", len(xs), xs)
	}
	byRepeats := map[int]llmperf.Example{}
	for _, x := range xs {
		if x.Pattern == "map" {
			byRepeats[x.Repeats] = x
		}
	}
	three, one := byRepeats[3], byRepeats[1]
	// The deviations of the logarithms from the median's, log 2e-7, are log 2,
	// log 2 and 0, whose median is log 2.
	if three.Seconds != 2e-7 || math.Abs(three.Spread-1.4826*math.Ln2) > 1e-12 || three.Group != "map-0123456789abcdef" || three.Kernel != "f" {
		t.Errorf("of three repeats: %+v", three)
	}
	if one.Seconds != 3e-7 || !math.IsNaN(one.Spread) || len(one.Args) != 2 || one.Args[0].Elements != 128 || one.Args[1].Values[0] != 128 || one.Global[1] != 2 || one.Local[0] != 16 {
		t.Errorf("of one repeat: %+v", one)
	}
	if xs, err := llmperf.FromStore(context.Background(), store(t), datasets.Filter{Kernel: "g"}); err == nil {
		t.Errorf("a kernel that is not there: %v", xs)
	}
	e, err := llmperf.Table(xs)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Check(true); err != nil {
		t.Error(err)
	}
}
