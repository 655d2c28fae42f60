package chart_test

import (
	"bytes"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"github.com/rooflab/rooflab/internal/imagetest"
	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart"
)

func picture(t *testing.T, p *plot.Plot, format string) []byte {
	t.Helper()
	w, err := p.WriterTo(chart.Width, chart.Height, format)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// mixed is kernels on a made-up device of an earlier test's size that compute
// in several precisions, with ceilings from other places than the profile.
func mixed() []roofline.Result {
	opt := roofline.Options{
		Bandwidth: map[roofline.Level]float64{roofline.DRAM: 900e9},
		Ceilings: roofline.Measured(nil).Or(roofline.Ceilings{
			Bandwidth: map[roofline.Level]roofline.Ceiling{roofline.L2: {Value: 3e12, From: "measured: a probe"}, roofline.Shared: {Value: 13e12, From: "theoretical: 32 banks of 4 byte"}},
			Peak: map[roofline.Precision]roofline.Ceiling{roofline.FP32: {Value: 15e12, From: "theoretical: data sheet"}, roofline.FP64: {Value: 7.5e12, From: "theoretical: data sheet"},
				roofline.TensorFP16: {Value: 120e12, From: "measured: a probe"}},
		}),
	}
	kernel := func(name string, seconds float64, m map[string]float64) roofline.Result {
		m["time.duration"] = seconds
		return roofline.Analyse(roofline.Launch{Kernel: name, Metrics: m}, opt)
	}
	return []roofline.Result{
		kernel("hgemm_wmma", 2e-3, map[string]float64{"flop.tensor.fp16": 1.4e11, "flop.fp32": 8e9, "byte.dram": 6e8, "byte.l2": 2.4e9, "byte.shared": 1.2e10}),
		kernel("mixed_precision_cg", 6e-3, map[string]float64{"flop.fp64": 2e9, "flop.fp32": 3e9, "byte.dram": 4.2e9, "byte.l2": 6e9}),
		kernel("axpy", 5e-4, map[string]float64{"flop.fp64": 5e7, "byte.dram": 4e8, "byte.l2": 4.1e8}),
	}
}

// issued is kernels with counts of instructions.
func issued() []roofline.Result {
	kernel := func(name string, seconds, warps, threads, dram, l2, load, sectors, shared, wavefronts float64) roofline.Result {
		return roofline.Analyse(roofline.Launch{Kernel: name, Metrics: map[string]float64{
			"gpu__time_duration.sum": seconds, "sm__cycles_elapsed.avg.per_second": 1.4e9, "device__attribute_multiprocessor_count": 80,
			"smsp__inst_executed.sum": warps, "smsp__thread_inst_executed_pred_on.sum": warps * threads,
			"dram__bytes.sum": dram, "dram__bytes.sum.peak_sustained": 1024, "dram__cycles_elapsed.avg.per_second": 0.877e9,
			"lts__t_bytes.sum": l2, "lts__t_bytes.sum.peak_sustained": 2048, "lts__cycles_elapsed.avg.per_second": 1.4e9,
			"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": sectors, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 0,
			"smsp__sass_inst_executed_op_global_ld.sum": load, "smsp__sass_inst_executed_op_global_st.sum": 0,
			"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": wavefronts, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 0,
			"smsp__sass_inst_executed_op_shared_ld.sum": shared, "smsp__sass_inst_executed_op_shared_st.sum": 0,
		}}, roofline.Options{})
	}
	return []roofline.Result{
		kernel("transpose_naive", 1.2e-3, 1.2e7, 32, 5.4e8, 9e8, 1.05e6, 3.36e7, 0, 0),
		kernel("transpose_shared", 7e-4, 2.1e7, 32, 5.4e8, 5.5e8, 1.05e6, 4.2e6, 1.05e6, 3.3e7),
		kernel("smith_waterman", 3e-4, 8e7, 19, 2e7, 6e7, 3e6, 9e6, 2e6, 2.1e6),
	}
}

// The pictures were looked at when they were made; a test fails when what is
// drawn is visibly another in more than 0.2 % of the pixels.
func TestPicturesAreTheGoldenOnes(t *testing.T) {
	for name, drawn := range map[string]func() (*plot.Plot, error){
		"hierarchical":        func() (*plot.Plot, error) { return chart.Plot(some()) },
		"several-precisions":  func() (*plot.Plot, error) { return chart.Plot(mixed()) },
		"instructions":        func() (*plot.Plot, error) { return chart.Instructions(issued()) },
		"without-any-ceiling": func() (*plot.Plot, error) { return chart.Plot(bare()) },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := drawn()
			if err != nil {
				t.Fatal(err)
			}
			imagetest.PNG(t, picture(t, p, "png"), "testdata/"+name+".png", 0.002)
		})
	}
}

func bare() []roofline.Result {
	return roofline.AnalyseAll([]roofline.Launch{{Kernel: "k", Metrics: map[string]float64{"time.duration": 1, "flop.fp64": 1e9, "byte.dram": 1e9, "byte.l2": 3e9}}}, roofline.Options{})
}

func TestCeilingsSayWhereTheyComeFrom(t *testing.T) {
	p, err := chart.Plot(mixed())
	if err != nil {
		t.Fatal(err)
	}
	svg := string(picture(t, p, "svg"))
	for _, want := range []string{"Roofline (ceilings given, measured and theoretical)", "DRAM 900 GB/s (given)", "L2 3 TB/s (measured)",
		"shared memory 13 TB/s (theoretical)", "FP32 15 Tflop/s (theoretical)", "tensor FP16 120 Tflop/s (measured)", "FP64 7.5 Tflop/s (theoretical)",
		"hollow: in another precision", "71 % of time"} { // 6 of 8.5 ms
		if !strings.Contains(svg, want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	if p, err = chart.Plot(bare()); err != nil || p.Title.Text != "Kernels in the roofline plane (ceilings are not known)" {
		t.Errorf("%q, %v", p.Title.Text, err)
	}
}

// 80 SMs of 4 schedulers at 1.4 GHz issue 448e9 instructions/s; 1024 byte per
// cycle at 0.877 GHz are 28.1e9 sectors/s of DRAM.
func TestInstructionsNamesCeilingsAndWalls(t *testing.T) {
	p, err := chart.Instructions(issued())
	if err != nil {
		t.Fatal(err)
	}
	svg := string(picture(t, p, "svg"))
	for _, want := range []string{"issue slots 448 Ginst/s", "DRAM 28.1 Gtxn/s", "L2 89.6 Gtxn/s", "unit stride, 4 byte", "a sector per thread",
		"32-way bank conflict", "19 of 32 threads", "Intensity (warp instructions/transaction)", "transpose_naive"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	if _, err := chart.Instructions(nil); err == nil {
		t.Error("no error for no results")
	}
	if _, err := chart.Instructions(bare()); err == nil || !strings.Contains(err.Error(), "counts no instructions") && !strings.Contains(err.Error(), "not measured") {
		t.Errorf("%v", err)
	}
}

// The area of a mark is the kernel's share of the time.
func TestShares(t *testing.T) {
	rs := mixed()
	got := chart.Shares(rs)
	for i, want := range []float64{2 / 8.5, 6 / 8.5, 0.5 / 8.5} {
		if d := got[i] - want; d > 1e-12 || d < -1e-12 {
			t.Errorf("%d: %g, want %g", i, got[i], want)
		}
	}
	if ps := chart.Precisions(rs[1]); len(ps) != 2 || ps[0] != roofline.FP32 || ps[1] != roofline.FP64 {
		t.Errorf("%v", ps)
	}
}
