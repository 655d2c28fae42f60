package kernels

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// Counted by hand from the kernels' definitions, for n = 100 (arrays) and
// n = 12 (matrices, 12^3 = 1728 and 12^2 = 144).
func TestCountsAreThoseOfTheDefinition(t *testing.T) {
	for _, c := range []struct {
		name                       string
		n                          int
		flop, load, store, distict float64
	}{
		{"triad", 100, 200, 200, 100, 300},
		{"dot", 100, 200, 200, 0, 200},
		{"stencil5", 100, 700, 500, 100, 200},
		{"horner8", 100, 1600, 900, 100, 200}, // 8 (mul + add); x and 8 coefficients
		{"sum_stride8", 100, 100, 100, 0, 800},
		{"gemm_ijk", 12, 3456, 3456, 144, 432},
		{"gemm_ikj", 12, 3456, 3456 + 144, 1728, 432},
		{"gemv", 12, 288, 288, 12, 168},
	} {
		k, err := Find(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got := k.Count(c.n)
		if got.Flop() != c.flop || got.Load != c.load || got.Store != c.store || got.Distinct != c.distict {
			t.Errorf("%s(%d): %+v, flop %g", c.name, c.n, got, got.Flop())
		}
	}
	if _, err := Find("nothing"); err == nil {
		t.Error("an unknown kernel is found")
	}
}

func TestEveryKernelRunsAndCounts(t *testing.T) {
	for _, k := range All() {
		for _, n := range []int{8, 13, 64} {
			k.Prepare(n)()
			if c := k.Count(n); !(c.Flop() > 0) || !(c.Load+c.Store > 0) || c.Width < 1 || c.Stride < 1 {
				t.Errorf("%s(%d): %+v", k.Name, n, c)
			}
		}
	}
}

func TestVariantsOfOneAlgorithmAgree(t *testing.T) {
	const n = 1024
	want := 0.0
	for i, v := range array(n) {
		want += v * array(n)[i]
	}
	for _, k := range All() {
		switch k.Name {
		case "dot", "dot2", "dot4", "dot_simd":
			k.Prepare(n)()
			if math.Abs(sink-want) > 1e-9*want {
				t.Errorf("%s gives %g, want %g", k.Name, sink, want)
			}
		}
	}
	const side = 12
	a, b := array(side*side), array(side*side)
	one, two := make([]float64, side*side), make([]float64, side*side)
	ijk(side, a, b, one)
	ikj(side, a, b, two)
	for i := range one {
		if math.Abs(one[i]-two[i]) > 1e-12*one[i] {
			t.Fatalf("element %d: %g and %g", i, one[i], two[i])
		}
	}
}

func TestWhatIsWrittenIsWhatIsRead(t *testing.T) {
	ctx := context.Background()
	var samples []Sample
	for _, name := range []string{"sum", "triad", "triad"} {
		k, err := Find(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Measure(ctx, k, 500)
		if err != nil {
			t.Fatal(err)
		}
		if !(s.Seconds() > 0) || s.Max < s.Time {
			t.Errorf("%+v", s)
		}
		samples = append(samples, s)
	}
	var b bytes.Buffer
	if err := Write(&b, samples); err != nil {
		t.Fatal(err)
	}
	store, err := datasets.Open(filepath.Join(t.TempDir(), "store.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sum, err := collectors.Import(ctx, store, "own.cali", &b, collectors.Options{})
	if err != nil || len(sum.Warnings) > 0 {
		t.Fatal(err, sum.Warnings)
	}
	read, err := store.CountersWide(ctx, datasets.Filter{Run: sum.Run()})
	if err != nil {
		t.Fatal(err)
	}
	own := Frame(samples...)
	for _, name := range own.Names() {
		got, want := read.Col(name).Records(), own.Col(name).Records()
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("row %d, %s: %s was read and %s measured", i, name, got[i], want[i])
			}
		}
	}
}

func TestMeasuringStopsWhenAskedTo(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	k, err := Find("dot")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Measure(ctx, k, 100); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
