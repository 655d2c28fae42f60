package chart_test

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart"
)

// made is a launch on a made-up device of 15.6 Tflop/s FP32 and 0.9 TB/s.
func made(name string, seconds, fma, dram, l2, l1, dfma float64) roofline.Result {
	m := map[string]float64{"gpu__time_duration.sum": seconds, "sm__cycles_elapsed.avg.per_second": 1.53e9,
		"dram__bytes.sum": dram, "lts__t_bytes.sum": l2, "l1tex__t_bytes.sum": l1,
		"dram__bytes.sum.peak_sustained": 1024, "dram__cycles_elapsed.avg.per_second": 0.877e9,
		"lts__t_bytes.sum.peak_sustained": 2048, "lts__cycles_elapsed.avg.per_second": 1.4e9, "l1tex__t_bytes.sum.peak_sustained": 10240,
		"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 5120, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 2560}
	for op, v := range map[string]float64{"fadd": 0, "fmul": 0, "ffma": fma, "dadd": 0, "dmul": 0, "dfma": dfma} {
		m["sm__sass_thread_inst_executed_op_"+op+"_pred_on.sum"] = v
	}
	return roofline.Analyse(roofline.Launch{Kernel: name, Metrics: m}, roofline.Options{})
}

func some() []roofline.Result {
	return []roofline.Result{
		made("saxpy_kernel", 2.9e-4, 1.7e7, 2.0e8, 2.1e8, 2.1e8, 0),
		made("gemm_tiled_kernel<32>", 1.0e-3, 5.5e9, 9.0e7, 5.0e8, 4.5e9, 0),
		made("void cub::DeviceReduceKernel<cub::Policy600, float, int, Sum>", 1.0e-4, 3.0e7, 6.0e7, 6.1e7, 7.0e7, 0),
		made("stencil2d<double>", 6.0e-4, 0, 4.0e8, 7.0e8, 2.6e9, 3e8),
	}
}

func TestEveryCeilingAndKernelIsNamed(t *testing.T) {
	p, err := chart.Plot(some())
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(7.5*vg.Inch, 4.5*vg.Inch, "svg")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	// 2 * 5120 * 1.53e9 = 15.67e12; 1024 * 0.877e9 = 898e9; 2048 * 1.4e9 = 2.87e12.
	for _, want := range []string{"Arithmetic intensity (flop/byte)", "Performance (flop/s)", "FP32 15.7 Tflop/s", "FP64 7.83 Tflop/s",
		"DRAM 898 GB/s", "L2 2.87 TB/s", "L1 15.7 TB/s", "saxpy_kernel", "gemm_tiled_kernel&lt;32&gt;", "void cub::DeviceReduc..., Sum&gt;", "100 G", "fill:#FFFFFF"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
}

func TestSaveWritesAPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.png")
	if err := chart.Save(some(), path); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	blue := 0
	for x := range img.Bounds().Dx() {
		for y := range img.Bounds().Dy() {
			if color.RGBAModel.Convert(img.At(x, y)) == (color.RGBA{0x00, 0x72, 0xb2, 0xff}) {
				blue++
			}
		}
	}
	if blue < 50 {
		t.Errorf("%d pixels in the first kernel's colour", blue)
	}
}

func TestManyKernelsAreCutAndSaySo(t *testing.T) {
	var rs []roofline.Result
	for i := range 20 {
		rs = append(rs, made(fmt.Sprint("k", i), 1e-4*float64(i+1), 1e8, 1e7, 2e7, 3e7, 0))
	}
	p, err := chart.Plot(rs)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, _ := p.WriterTo(7.5*vg.Inch, 4.5*vg.Inch, "svg")
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "13 more, of less time, not shown") || !strings.Contains(out.String(), ">k19<") || strings.Contains(out.String(), ">k0<") {
		t.Error("the kernels with the most time are not those shown")
	}
}

func TestNothingToDrawIsAnError(t *testing.T) {
	if _, err := chart.Plot(nil); err == nil {
		t.Error("no error for no results")
	}
	r := roofline.Analyse(roofline.Launch{Kernel: "x"}, roofline.Options{})
	if _, err := chart.Plot([]roofline.Result{r}); err == nil || !strings.Contains(err.Error(), "gpu__time_duration") {
		t.Errorf("%v", err)
	}
	if err := chart.Save(some(), filepath.Join(t.TempDir(), "r.xyz")); err == nil || !strings.Contains(err.Error(), "r.xyz") {
		t.Errorf("%v", err)
	}
}
