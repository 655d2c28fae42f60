package roofline_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ncurep"
	_ "github.com/rooflab/rooflab/collectors/smi"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// imported are the launches of a profile, through the collectors and a store.
func imported(t *testing.T, path string) []roofline.Launch {
	t.Helper()
	ctx := context.Background()
	store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sum, err := collectors.ImportFile(ctx, store, path, collectors.Options{})
	if err != nil {
		t.Fatalf("importing %s: %v: the folder shared/ must lie beside the repository", path, err)
	}
	ls, err := roofline.FromStore(ctx, store, datasets.Filter{Run: sum.Run()})
	if err != nil {
		t.Fatal(err)
	}
	return ls
}

// Two reports of an A40 hold ncu's full set of sections: what we compute from
// counters and peaks is the percentage of the peak that ncu prints itself.
func TestReportsOfA40AgreeWithTheirOwnPercentages(t *testing.T) {
	for _, path := range []string{"../../../shared/samples/ncu_rep/stencil-2d-cuda-v4.ncu-rep", "../../../shared/samples/ncu_rep/stencil-2d-omp-target-v3.ncu-rep"} {
		ls := imported(t, path)
		if len(ls) != 4 {
			t.Fatalf("%s: %d launches, want 4", path, len(ls))
		}
		for _, l := range ls {
			r := roofline.Analyse(l, roofline.Options{})
			percent := func(what string, got roofline.Quantity, metric string, within float64) {
				t.Helper()
				want, ok := l.Metrics[metric]
				if !ok || !got.OK || math.Abs(100*got.Value/want-1) > within {
					t.Errorf("%s: %s %v (%s), the report's %s is %g %%", path, what, got, got.From, metric, want)
				}
			}
			const pct = ".pct_of_peak_sustained_elapsed"
			percent("DRAM used", r.Traffic[roofline.DRAM].Used, "gpu__dram_throughput.avg"+pct, 0.01)
			percent("L2 used", r.Traffic[roofline.L2].Used, "lts__t_sectors.avg"+pct, 0.01)
			percent("issue slots used", r.Instr.Used, "sm__inst_executed.avg"+pct, 0.01)
			// An A40 has 84 SMs of 2 FP64 units, 696 GB/s (384 bit at 14.5 Gbit/s,
			// data sheet) and moves 128 byte per cycle from each L1.
			clock := l.Metrics["sm__cycles_elapsed.avg.per_second"]
			for _, c := range []struct {
				what string
				got  roofline.Quantity
				want float64
			}{
				{"FP64 peak", r.Work[roofline.FP64].Ceiling, 84 * 2 * 2 * clock},
				{"FP32 peak", r.Work[roofline.FP32].Ceiling, 84 * 128 * 2 * clock},
				{"DRAM bandwidth", r.Traffic[roofline.DRAM].Ceiling, 696e9},
				{"L1 bandwidth", r.Traffic[roofline.L1].Ceiling, 84 * 128 * clock},
				{"shared memory bandwidth", r.Traffic[roofline.Shared].Ceiling, 84 * 128 * clock},
				{"issue slots", r.Instr.Ceiling, 84 * 4 * clock},
				// 8190 x 8190 inner points of a star in double precision: the
				// compiler multiplies once and fuses three times, 7 flop a point.
				{"FP64 work", r.Work[roofline.FP64].Flop, 7 * 8190 * 8190},
			} {
				if !c.got.OK || math.Abs(c.got.Value/c.want-1) > 0.01 {
					t.Errorf("%s: %s %v (%s), want %g", path, c.what, c.got, c.got.From, c.want)
				}
			}
			if l.Arch != "cc8.6" || r.Bound != "DRAM" || len(r.Notes) > 0 {
				t.Errorf("%s: %q, %s: %s %q", path, l.Arch, r.Bound, r.Why, r.Notes)
			}
		}
	}
}

// The RTX 5070's profiles of two kernels, with the ceilings of the same runs of
// the same program. Each figure is in the files:
//
//	peaks.csv: 33.739 Tflop/s and 590.06 GB/s measured, 32.256 Tflop/s and 672.05 GB/s theoretical
//	saxpy.csv: 134,221,568 + 43,631,104 byte in 292,928 ns; 22.30 % of the SM
//	gemm_tiled.csv: 53,261,312 + 3,377,920 byte in 10,195,552 ns; 88.90 % of the SM
func TestRTX5070(t *testing.T) {
	ctx := context.Background()
	store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	sum, err := collectors.ImportFile(ctx, store, "../../../shared/samples/nvml/rtx5070_peaks.csv", collectors.Options{})
	if err != nil {
		t.Fatal(err)
	}
	df, err := store.Query(ctx, "SELECT c.level, c.value, c.unit, c.measured, c.source FROM ceiling c JOIN run u ON u.machine_id = c.machine_id WHERE u.id = ? ORDER BY c.level, c.measured", sum.Run())
	if err != nil {
		t.Fatal(err)
	}
	var rows []datasets.Ceiling
	for i := range df.Nrow() {
		measured, _ := df.Col("measured").Elem(i).Bool()
		rows = append(rows, datasets.Ceiling{Level: df.Col("level").Elem(i).String(), Value: df.Col("value").Elem(i).Float(), Measured: measured, Source: df.Col("source").Elem(i).String()})
	}
	measured, theoretical := roofline.Measured(rows), roofline.Theoretical(rows)
	opt := roofline.Options{Ceilings: measured.Or(theoretical)}
	saxpy := roofline.Analyse(sample(t, "rtx5070_saxpy_stdout_mixed.csv"), opt)
	gemm := roofline.Analyse(sample(t, "rtx5070_gemm_tiled.csv"), opt)
	for _, c := range []struct {
		what string
		got  roofline.Quantity
		want float64
	}{
		{"measured bandwidth", saxpy.Traffic[roofline.DRAM].Ceiling, 590061393638.3},
		{"measured peak", saxpy.Work[roofline.FP32].Ceiling, 33739119771597.6},
		{"saxpy's throughput", saxpy.Traffic[roofline.DRAM].Rate, (134221568 + 43631104) / 292928e-9},
		{"saxpy's use of DRAM", saxpy.Traffic[roofline.DRAM].Used, (134221568 + 43631104) / 292928e-9 / 590061393638.3},
		{"gemm's throughput", gemm.Traffic[roofline.DRAM].Rate, (53261312 + 3377920) / 10195552e-9},
		{"saxpy's SM", saxpy.SM, 0.2230},
		{"gemm's SM", gemm.SM, 0.8890},
		// 4 and 4 sectors of 32 byte per warp's load and store of 4 byte a thread.
		{"saxpy's sectors per access", saxpy.Instr.PerAccess(roofline.L1), (4194304 + 2097152.) / (1048576 + 524288)},
		{"gemm's sectors per access", gemm.Instr.PerAccess(roofline.L1), (67108864 + 524288.) / (16777216 + 131072)},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v, want %g", c.what, c.got, c.want)
		}
	}
	if p := saxpy.Instr.Pattern(roofline.L1); !strings.Contains(p, "unit stride, 4 byte takes 4") {
		t.Errorf("saxpy: %q", p)
	}
	if from := saxpy.Traffic[roofline.DRAM].Ceiling.From; !strings.HasPrefix(from, "measured: ") {
		t.Errorf("the ceiling is from %q", from)
	}
	if from := theoretical.Bandwidth[roofline.DRAM].From; !strings.HasPrefix(from, "theoretical") {
		t.Errorf("the theoretical ceiling is from %q", from)
	}
	// 607 GB/s are above the 590 that the program's own probe reached: said.
	if saxpy.Bound != "DRAM" || len(saxpy.Notes) != 1 || !strings.Contains(saxpy.Notes[0], "DRAM: the rate is 102.9 % of the ceiling (measured: ") {
		t.Errorf("saxpy: %s %q", saxpy.Bound, saxpy.Notes)
	}
	if gemm.Bound != roofline.SM || len(gemm.Notes) != 0 {
		t.Errorf("gemm: %s %q", gemm.Bound, gemm.Notes)
	}

	// The timings of the same kernels: rates are the file's own within its six
	// digits, and kernels that its own rates put above the measured bandwidth
	// (arrays that fit the L2 of 48 MB) are said to be.
	above := 0
	for _, l := range imported(t, "../../../shared/samples/nvml/rtx5070_timing.csv") {
		r := roofline.Analyse(l, opt)
		name := fmt.Sprintf("%s of %g", l.Kernel, l.Metrics["problem_size"])
		for what, c := range map[string]struct {
			got  roofline.Quantity
			want float64
		}{
			"rate":      {r.Work[roofline.FP32].Rate, l.Metrics["achieved_gflops"]},
			"bandwidth": {r.Traffic[roofline.DRAM].Rate, l.Metrics["achieved_gbps"]},
		} {
			if !c.got.OK || math.Abs(c.got.Value-c.want) > 1e-4*c.want {
				t.Errorf("%s: %s %v, the file says %g", name, what, c.got, c.want)
			}
		}
		fast := l.Metrics["achieved_gbps"] > 590061393638.3
		if said := strings.Contains(strings.Join(r.Notes, "\n"), "DRAM: the rate is"); said != fast {
			t.Errorf("%s: %g byte/s, notes %q", name, l.Metrics["achieved_gbps"], r.Notes)
		}
		if fast {
			above++
		}
		if !strings.HasPrefix(r.Notes[0], "estimate: ") {
			t.Errorf("%s: the estimate does not say so: %q", name, r.Notes)
		}
	}
	if above == 0 || above == 62 {
		t.Errorf("%d of 62 timings above the measured bandwidth", above)
	}
}
