package scaling_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/callgrind"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/datasets/recorded"
	"github.com/rooflab/rooflab/modeling/scaling"
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

func TestAmdahlAndGustafson(t *testing.T) {
	// A tenth of the work is serial: T(p) = 0.1 + 0.9/p. By hand at p = 4:
	// T = 0.325, speedup 3.077, efficiency 0.769, serial fraction 0.1.
	var strong, weak []scaling.Point
	for _, p := range []float64{1, 2, 4, 8, 16} {
		strong = append(strong, scaling.Point{At: []float64{p}, Values: []float64{0.1 + 0.9/p, 0.1 + 0.9/p}})
		weak = append(weak, scaling.Point{At: []float64{p}, Values: []float64{1 + 0.05*math.Log2(p)}})
	}
	e, err := scaling.Strong(strong, scaling.Options{Unit: "s"})
	if err != nil {
		t.Fatal(err)
	}
	r := e.Rows[2]
	if math.Abs(r.Speedup-3.0769) > 1e-4 || math.Abs(r.Efficiency-0.7692) > 1e-4 || math.Abs(r.Serial-0.1) > 1e-12 || r.Low != r.High {
		t.Errorf("strong: %+v", r)
	}
	e, err = scaling.Weak(weak, scaling.Options{Unit: "s"})
	if err != nil {
		t.Fatal(err)
	}
	// At p = 16: T = 1.2, efficiency 1/1.2, scaled speedup 16/1.2.
	if r := e.Rows[4]; math.Abs(r.Efficiency-1/1.2) > 1e-12 || math.Abs(r.Speedup-16/1.2) > 1e-9 || !math.IsNaN(r.Low) || !math.IsNaN(r.Serial) {
		t.Errorf("weak: %+v", r)
	}
	if text := e.String(); !strings.Contains(text, "scaled speedup") || strings.Contains(text, "serial") {
		t.Error(text)
	}
	if _, err := scaling.Strong(strong[:1], scaling.Options{Name: "k"}); err == nil || !strings.Contains(err.Error(), "one number of processes only") {
		t.Errorf("one row: %v", err)
	}
	m, err := scaling.Fit(strong, scaling.Options{Exponents: scaling.Shrinking(), Unit: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if m.Growth() != "1 + p^-1" || math.Abs(m.Coefficients[0]-0.1) > 1e-6 {
		t.Errorf("Amdahl's law is %s (grows as %s)", m.Formula(), m.Growth())
	}
}

func TestFromFrame(t *testing.T) {
	var names []string
	var n, v []float64
	for i := range 6 {
		size := float64(int(16) << i)
		names, n, v = append(names, "a", "b"), append(n, size, size), append(v, 3*size, math.NaN())
	}
	df := dataframe.New(series.New(names, series.String, "kernel"), series.New(n, series.Float, "n"), series.New(v, series.Float, "t"))
	ss, err := scaling.FromFrame(df, "kernel", "t", "n")
	if err != nil {
		t.Fatal(err)
	}
	models, refused := scaling.FitAll(ss, scaling.Options{Parameters: []string{"n"}, Unit: "s"})
	if len(models) != 1 || len(refused) != 0 || models[0].Name != "a" || models[0].Growth() != "n" {
		t.Errorf("%v %v", models, refused)
	}
	if _, err := scaling.FromFrame(df, "kernel", "time", "n"); err == nil || !strings.Contains(err.Error(), `no column "time"`) {
		t.Errorf("a column that is not there: %v", err)
	}
}

// Runs with Caliper's globals: two parameters, three repeats.
func TestParametersFromAttributes(t *testing.T) {
	s := open(t)
	rng := rand.New(rand.NewPCG(1, 1))
	var profiles []datasets.Profile
	for _, p := range []float64{1, 2, 4, 8, 16} {
		for _, n := range []float64{10, 20, 40, 80, 160} {
			for rep := range 3 {
				records := []datasets.Record{&datasets.Run{ID: 1, Tool: "caliper", Format: "t", Status: datasets.RunOK, TimeMetric: "time"},
					&datasets.Attribute{Run: 1, Name: "jobsize", Value: fmt.Sprint(p)}, &datasets.Attribute{Run: 1, Name: "problem_size", Value: fmt.Sprint(n)}}
				for i, name := range []string{"solve", "exchange", "solve"} { // solve is called from two places
					v := []float64{n * n * n * 1e-6, 1e-3 * math.Log2(2*p), n * n * n * 1e-6}[i] * math.Exp(0.01*rng.NormFloat64())
					records = append(records, &datasets.Region{ID: int64(i + 1), Run: 1, Kind: datasets.KindFunction, Raw: name, Short: name},
						&datasets.Counter{Run: 1, Region: int64(i + 1), Metric: "time", Value: datasets.Some(v), Unit: "s", Status: datasets.StatusOK})
				}
				id := fmt.Sprint(p, n, rep)
				profiles = append(profiles, datasets.Profile{Records: records, Artefact: datasets.Artefact{Path: id, SHA256: id, Kind: "t"}})
			}
		}
	}
	ctx := context.Background()
	if _, err := s.ImportAll(ctx, profiles); err != nil {
		t.Fatal(err)
	}
	names := []string{"jobsize", "problem_size"}
	ss, err := scaling.FromStore(ctx, s, scaling.Source{Parameters: names})
	if err != nil {
		t.Fatal(err)
	}
	models, refused := scaling.FitAll(ss, scaling.Options{Parameters: names})
	if len(models) != 2 || len(refused) > 0 {
		t.Fatalf("%v %v", models, refused)
	}
	if m := models[0]; m.Name != "exchange" || m.Growth() != "log2(jobsize)" {
		t.Errorf("%s", m)
	}
	m := models[1]
	if m.Name != "solve" || m.Growth() != "problem_size^3" || math.Abs(m.At(1, 100)-2) > 0.05 {
		t.Errorf("%s", m)
	}
	if p := m.Points[0]; len(p.Values) != 3 || len(p.Evidence) != 6 || p.Evidence[0].Metric != "time" {
		t.Errorf("evidence of a point: %+v", p)
	}
	if _, err := scaling.FromStore(ctx, s, scaling.Source{Parameters: []string{"size"}}); err == nil || !strings.Contains(err.Error(), "no run has the parameters [size]") {
		t.Errorf("a parameter that is not there: %v", err)
	}
}

// Instructions that Callgrind counted in programs of the recorded data set:
// how often their loops run is known from their source.
func TestRecordedCounts(t *testing.T) {
	ctx := context.Background()
	s := open(t)
	if _, err := recorded.Import(ctx, s); err != nil {
		t.Fatal(err)
	}
	ss, err := scaling.FromStore(ctx, s, scaling.Source{Tool: "callgrind", Parameters: []string{"$1"}, Metric: "Ir"})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, k := range ss {
		m, err := scaling.Fit(k.Points, scaling.Options{Name: k.Kernel, Parameters: []string{"n"}, Unit: k.Unit})
		switch k.Kernel {
		case "matmul_ijk", "matmul_ikj": // three loops over n
			seen++
			if err != nil || m.Growth() != "n^3" || m.SMAPE > 0.01 {
				t.Errorf("%s: %v %v", k.Kernel, m, err)
			}
		case "daxpy", "sieve": // recorded at four sizes
			seen++
			if err == nil || !strings.Contains(err.Error(), "n has 4 values: a model needs 5 or more") {
				t.Errorf("%s: %v %v", k.Kernel, m, err)
			}
		}
	}
	if seen != 4 {
		t.Errorf("%d of 4 programs are there", seen)
	}
	// Launches with parameters of their own: each launch is a point of its own, and
	// its row is the evidence.
	ss, err = scaling.FromStore(ctx, s, scaling.Source{Tool: "opencl", Parameters: []string{"param.n"}, Where: map[string]string{"param.wg": "16"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ss {
		if k.Kernel == "vadd" {
			// 4 sizes, 11 launches each.
			if len(k.Points) != 44 || len(k.Points[0].Values) != 1 || k.Points[0].Evidence[0].Launch == 0 {
				t.Errorf("vadd: %d points, the first %+v", len(k.Points), k.Points[0])
			}
			return
		}
	}
	t.Error("vadd is not there")
}

// loops runs its innermost statement n^3 and n log2(n) times, for n a power of
// two, and a thousand times whatever n is.
const loops = `#include <stdlib.h>
static volatile long sink;
__attribute__((noinline)) static void cube(long n) { for (long i = 0; i < n; i++) for (long j = 0; j < n; j++) for (long k = 0; k < n; k++) sink++; }
__attribute__((noinline)) static void passes(long n) { for (long w = 1; w < n; w *= 2) for (long i = 0; i < n; i++) sink++; }
__attribute__((noinline)) static void fixed(void) { for (long i = 0; i < 1000; i++) sink++; }
int main(int argc, char **argv) { long n = atol(argv[1]); cube(n); passes(n); fixed(); return 0; }
`

func TestCountedLoops(t *testing.T) {
	for tool, get := range map[string]string{"gcc": "gcc", "valgrind": "valgrind"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: install the package %s", err, get)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "loops.c"), []byte(loops), 0o666); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), args[0], args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	command("gcc", "-O1", "-o", "loops", "loops.c")
	s := open(t)
	for _, n := range []int{4, 8, 16, 32, 64, 128} {
		out := filepath.Join(dir, fmt.Sprintf("callgrind.out.%d", n))
		command("valgrind", "--tool=callgrind", "--callgrind-out-file="+out, "./loops", fmt.Sprint(n))
		if _, err := collectors.ImportFile(t.Context(), s, out, collectors.Options{}); err != nil {
			t.Fatal(err)
		}
	}
	ss, err := scaling.FromStore(t.Context(), s, scaling.Source{Parameters: []string{"$1"}, Metric: "Ir"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"cube": "n^3", "passes": "n * log2(n)", "fixed": "1"}
	for _, k := range ss {
		growth, ok := want[k.Kernel]
		if !ok {
			continue
		}
		delete(want, k.Kernel)
		m, err := scaling.Fit(k.Points, scaling.Options{Name: k.Kernel, Parameters: []string{"n"}, Unit: k.Unit})
		if err != nil {
			t.Error(err)
			continue
		}
		t.Logf("%s: %s", k.Kernel, m.Formula())
		if m.Growth() != growth || m.SMAPE > 0.02 {
			t.Errorf("%s grows as %s:\n%s", k.Kernel, growth, m)
		}
		// A loop around sink++ takes 3 to 8 instructions a turn.
		if c := m.Coefficients[len(m.Coefficients)-1]; growth != "1" && (c < 3 || c > 8) {
			t.Errorf("%s: %g instructions a turn", k.Kernel, c)
		}
	}
	if len(want) > 0 {
		t.Errorf("not there: %v", want)
	}
}

func TestASeriesIsALineOfText(t *testing.T) {
	s := scaling.Series{Kernel: "sort", Unit: "s", Points: []scaling.Point{
		{At: []float64{8}, Values: []float64{3}}, {At: []float64{2}, Values: []float64{1, 2}}, {At: []float64{8}, Values: []float64{4}}}}
	if got, want := s.String(), "sort: values 4, at 2 places from [2] to [8]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (scaling.Series{Kernel: "sort"}).String(), "sort: no values"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
