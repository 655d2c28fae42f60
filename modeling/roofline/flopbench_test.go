package roofline_test

import (
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/published"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// rtx3080 are the limits of the device of gpuFLOPBench at 1.44 GHz, the base
// clock that Nsight Compute holds by default, by NVIDIA's GA102 white paper: 68
// SMs, each with 128 FP32 and 2 FP64 units (two flop per multiply-add), 64
// integer units besides 64 of the FP32 ones that multiply-add integers, so 128
// integer instructions; 320 bit at 19 Gbit/s. The fastest kernels of the table
// (24.54 Tflop/s FP32, 321 Gflop/s FP64, 8.52 Top/s, 745 GB/s) stay below.
var rtx3080 = roofline.Options{
	Bandwidth: map[roofline.Level]float64{roofline.DRAM: 320 / 8 * 19e9},
	Peak: map[roofline.Precision]float64{
		roofline.FP32: 68 * 128 * 2 * 1.44e9, roofline.FP64: 68 * 2 * 2 * 1.44e9, roofline.Int: 68 * 128 * 1.44e9,
	},
}

// Balance points, flop/byte: 25.07e12 / 760e9, 0.3917e12 / 760e9, 12.53e12 / 760e9.
var balance3080 = map[roofline.Precision]float64{roofline.FP32: 32.981, roofline.FP64: 0.51533, roofline.Int: 16.491}

// The built-in table says the same of the device, at the profiled clock.
func TestTheTableOfDevicesHasThatBalance(t *testing.T) {
	d, err := devices.Find("NVIDIA GeForce RTX 3080")
	if err != nil {
		t.Fatal(err)
	}
	// The profile's clock is 1.44 GHz, the table's 1.71: peaks are scaled.
	l := roofline.Launch{Metrics: map[string]float64{"gpu__time_duration.sum": 1e-3, "sm__cycles_elapsed.avg.per_second": 1.44e9}}
	r := roofline.Analyse(l, roofline.Options{Ceilings: roofline.Of(d)})
	for p, want := range balance3080 {
		if b := r.Balance(roofline.DRAM, p); !b.OK || math.Abs(b.Value/want-1) > 1e-3 {
			t.Errorf("%s: %v flop/byte from %s, want %g", p, b, b.From, want)
		}
		if from := r.Work[p].Ceiling.From; !strings.HasPrefix(from, "theoretical: ") || !strings.HasSuffix(from, "scaled from 1.71 GHz to the profiled 1.44 GHz") {
			t.Errorf("%s: from %q", p, from)
		}
	}
}

// Every row of gpuFLOPBench, imported and analysed: what we compute from
// amounts is what the table's own columns say, and every kernel stands on the
// side of the balance point that its own intensity tells. No row differs by as
// much as 0.01 %; the times are whole nanoseconds, the rest is full precision.
func TestGPUFLOPBenchAgreesWithItsOwnColumns(t *testing.T) {
	for _, path := range []string{"../../../shared/data/gpuflopbench/profiling-data.csv", "../../../shared/samples/derived/gpuflopbench_profiling_data.csv"} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatalf("the table is missing: %v: the folder shared/ must lie beside the repository", err)
		}
		rows, err := csv.NewReader(f).ReadAll()
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		column := map[string]int{}
		for i, n := range rows[0] {
			column[n] = i
		}
		rows = rows[1:]
		number := func(row []string, name string) float64 {
			v, err := strconv.ParseFloat(row[column[name]], 64)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		ctx := context.Background()
		store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		sum, err := collectors.ImportFile(ctx, store, path, collectors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		launches, err := roofline.FromStore(ctx, store, datasets.Filter{Run: sum.Run()})
		if err != nil {
			t.Fatal(err)
		}
		if len(launches) != len(rows) || len(rows) != 3436 {
			t.Fatalf("%d launches of %d rows, the table has 3436", len(launches), len(rows))
		}
		// Without options the ceilings are the table's, found by the device's name.
		if c := roofline.Analyse(launches[0], roofline.Options{}).Traffic[roofline.DRAM].Ceiling; !near(c, 760e9) || !strings.HasPrefix(c.From, "theoretical: ") {
			t.Errorf("DRAM's ceiling is %v from %s", c, c.From)
		}
		rs := roofline.AnalyseAll(launches, rtx3080)
		bounds, sides := map[roofline.Bound]int{}, map[roofline.Precision]int{}
		for i, r := range rs { // the import keeps the order of the rows
			row := rows[i]
			same := func(what string, got roofline.Quantity, want float64) {
				t.Helper()
				if !got.OK || math.Abs(got.Value-want) > 1e-4*math.Abs(want) {
					t.Errorf("row %d, %s: %s is %v, the table says %g", i+2, row[0], what, got, want)
				}
			}
			same("time", r.Time, number(row, "xtime")*1e-9)
			same("traffic", r.Traffic[roofline.DRAM].Rate, number(row, "traffic"))
			for p, name := range map[roofline.Precision]string{roofline.FP64: "dp", roofline.FP32: "sp", roofline.Int: "int"} {
				own := number(row, name+"AI")
				same(name+"Perf", r.Work[p].Rate, number(row, name+"Perf"))
				same(name+"AI", r.Intensity(roofline.DRAM, p), own)
				want := roofline.MemorySide
				if own >= balance3080[p] {
					want = roofline.ComputeSide
					sides[p]++
				}
				if got := r.Side(roofline.DRAM, p); got != want {
					t.Errorf("row %d, %s: %s side of the %s balance point, by its own intensity %g %s", i+2, row[0], got, p, own, want)
				}
			}
			// The rule of utilisation, from the table's own rates.
			used := map[roofline.Bound]float64{"DRAM": number(row, "traffic") / 760e9, "FP32": number(row, "spPerf") / 25.067e12,
				"FP64": number(row, "dpPerf") / 0.39168e12, "INT": number(row, "intPerf") / 12.534e12}
			top := roofline.Latency
			for b, u := range used {
				if u >= 0.6 && (top == roofline.Latency || u > used[top]) {
					top = b
				}
			}
			if r.Bound != top {
				t.Errorf("row %d, %s: bound by %s, by the table's own rates %s (%v)", i+2, row[0], r.Bound, top, used)
			}
			if len(r.Notes) > 0 {
				t.Errorf("row %d: %q", i+2, r.Notes)
			}
			bounds[r.Bound]++
		}
		t.Logf("bounds %v; above the balance point %v", bounds, sides)
	}
}
