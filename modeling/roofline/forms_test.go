package roofline_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// A device of 10 SMs at 1 GHz, a kernel of 1 ms, so a million cycles: the same
// 4e9 flop and 3.2e9 byte of L2 in each of ncu's forms, and the same ceilings.
func TestEveryFormOfACounterIsTheSameQuantity(t *testing.T) {
	const fma, add, sectors = 1.5e9, 1e9, 1e8
	base := map[string]float64{"gpu__time_duration.sum": 1e-3, "sm__cycles_elapsed.avg.per_second": 1e9, "lts__cycles_elapsed.avg.per_second": 1e9,
		"device__attribute_multiprocessor_count": 10, "device__attribute_l2s_count": 16}
	forms := map[string]map[string]float64{
		"sum":        {".sum": 1},
		"per second": {".sum.per_second": 1e3},
		"per cycle":  {".sum.per_cycle_elapsed": 1e-6},
	}
	mean := map[string]map[string]float64{
		"mean":            {".avg": 1},
		"mean per second": {".avg.per_second": 1e3},
		"mean per cycle":  {".avg.per_cycle_elapsed": 1e-6},
	}
	const op = "__sass_thread_inst_executed_op_f"
	check := func(name string, m map[string]float64) {
		t.Helper()
		r := roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{})
		if w := r.Work[roofline.FP32]; !near(w.Flop, add+2*fma) {
			t.Errorf("%s: %v flop from %s", name, w.Flop, w.Flop.From)
		}
		if b := r.Traffic[roofline.L2].Bytes; !near(b, 32*sectors) {
			t.Errorf("%s: %v byte from %s", name, b, b.From)
		}
	}
	for _, unit := range []string{"sm", "smsp"} {
		instances := map[string]float64{"sm": 10, "smsp": 40}[unit]
		for name, f := range forms {
			m := map[string]float64{}
			for k, v := range base {
				m[k] = v
			}
			for suffix, scale := range f {
				m[unit+op+"add_pred_on"+suffix], m[unit+op+"mul_pred_on"+suffix], m[unit+op+"fma_pred_on"+suffix] = add*scale, 0, fma*scale
				m["lts__t_sectors"+suffix] = sectors * scale
			}
			check(unit+" "+name, m)
		}
		for name, f := range mean {
			m := map[string]float64{}
			for k, v := range base {
				m[k] = v
			}
			for suffix, scale := range f {
				m[unit+op+"add_pred_on"+suffix], m[unit+op+"mul_pred_on"+suffix], m[unit+op+"fma_pred_on"+suffix] = add*scale/instances, 0, fma*scale/instances
				m["lts__t_sectors"+suffix] = sectors * scale / 16
			}
			check(unit+" "+name, m)
		}
	}
	// The roofline sections' own metrics: fma x 2 per cycle.
	m := map[string]float64{"lts__t_sectors.sum": sectors, "derived__smsp__sass_thread_inst_executed_op_ffma_pred_on_x2": 2 * fma * 1e-6,
		"smsp" + op + "add_pred_on.sum.per_cycle_elapsed": add * 1e-6, "smsp" + op + "mul_pred_on.sum.per_cycle_elapsed": 0}
	for k, v := range base {
		m[k] = v
	}
	check("sections", m)
	// The clock from cycles and the time.
	delete(m, "sm__cycles_elapsed.avg.per_second")
	m["sm__cycles_elapsed.max"] = 1e6
	check("clock from cycles", m)
}

// A peak of 2000 flop per cycle at 1 GHz, 640 byte per cycle of L2: from the
// peak itself, its mean over instances, or the count and its percentage.
func TestEveryFormOfACeiling(t *testing.T) {
	base := func() map[string]float64 {
		return map[string]float64{"gpu__time_duration.sum": 1e-3, "sm__cycles_elapsed.avg.per_second": 1e9, "lts__cycles_elapsed.avg.per_second": 1e9,
			"device__attribute_multiprocessor_count": 10, "device__attribute_l2s_count": 20}
	}
	const fma = "sm__sass_thread_inst_executed_op_ffma_pred_on"
	for name, add := range map[string]map[string]float64{
		"peak":      {fma + ".sum.peak_sustained": 1000, "lts__t_sectors.sum.peak_sustained": 20},
		"mean peak": {fma + ".avg.peak_sustained": 100, "lts__t_sectors.avg.peak_sustained": 1},
		"per second": {fma + ".sum.peak_sustained_elapsed.per_second": 1e12,
			"lts__t_sectors.sum.peak_sustained_elapsed.per_second": 2e10},
		"percentage": {fma + ".sum": 2.5e8, fma + ".sum.pct_of_peak_sustained_elapsed": 25, "lts__t_sectors.sum": 1e7, "lts__t_sectors.avg.pct_of_peak_sustained_elapsed": 50},
		"sections":   {"derived__" + fma + "_x2": 2000, "derived__lts__lts2xbar_bytes.sum.peak_sustained": 640},
	} {
		m := base()
		for k, v := range add {
			m[k] = v
		}
		r := roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{})
		if c := r.Work[roofline.FP32].Ceiling; !near(c, 2e12) {
			t.Errorf("%s: peak %v from %s", name, c, c.From)
		}
		if c := r.Traffic[roofline.L2].Ceiling; !near(c, 640e9) {
			t.Errorf("%s: L2 %v from %s", name, c, c.From)
		}
	}
	// Too small a percentage gives none: 0.01 may be anything from 0.005 to 0.015.
	m := base()
	m["lts__t_sectors.sum"], m["lts__t_sectors.sum.pct_of_peak_sustained_elapsed"] = 1e3, 0.01
	if c := roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{}).Traffic[roofline.L2].Ceiling; c.OK {
		t.Errorf("a ceiling of %v from 0.01 %%", c)
	}
	// DRAM: by ncu's percentage, or by the memory clock (kHz, two transfers a
	// cycle) and the bus: 2 x 7.251e9 x 384/8 = 696.1e9.
	m = base()
	m["dram__bytes_op_read.sum"], m["dram__bytes_op_write.sum"], m["gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed"] = 3e8, 1e8, 50
	if c := roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{}).Traffic[roofline.DRAM].Ceiling; !near(c, 800e9) {
		t.Errorf("DRAM from a percentage: %v from %s", c, c.From)
	}
	m = base()
	m["device__attribute_memory_clock_rate"], m["device__attribute_global_memory_bus_width"] = 7.251e6, 384
	if c := roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{}).Traffic[roofline.DRAM].Ceiling; !near(c, 696.096e9) {
		t.Errorf("DRAM from the bus: %v from %s", c, c.From)
	}
}

func TestTensorWork(t *testing.T) {
	base := func(m map[string]float64) map[string]float64 {
		m["gpu__time_duration.sum"], m["sm__cycles_elapsed.avg.per_second"] = 1e-3, 1e9
		return m
	}
	const ops = "sm__ops_path_tensor_src_"
	for _, c := range []struct {
		name        string
		metrics     map[string]float64
		arch        string
		opt         roofline.Options
		p           roofline.Precision
		flop, peak  float64 // 0: unknown
		note, lacks string
	}{
		{"operations of both sums", map[string]float64{ops + "fp16_dst_fp32.sum": 3e9, ops + "fp16_dst_fp16.sum": 1e9,
			ops + "fp16_dst_fp32_sparsity_off.sum.peak_sustained": 2e4, ops + "fp16_dst_fp16_sparsity_off.sum.peak_sustained": 4e4},
			"cc8.9", roofline.Options{}, roofline.TensorFP16, 4e9, 2e13, "", ""}, // the peak of the sum that did most
		{"dense and sparse", map[string]float64{ops + "bf16_dst_fp32_sparsity_off.sum": 2e9, ops + "bf16_dst_fp32_sparsity_on.sum": 1e9},
			"cc9.0", roofline.Options{}, roofline.TensorBF16, 3e9, 0, "", ""},
		{"one path alone", map[string]float64{ops + "fp16_dst_fp32_sparsity_off.sum": 2e9, ops + "fp16_dst_fp32.sum.peak_sustained": 4e4},
			"cc8.6", roofline.Options{}, roofline.TensorFP16, 2e9, 4e13, "alone", ""},
		{"sparse peak", map[string]float64{ops + "tf32_dst_fp32.sum": 2e9, ops + "tf32_dst_fp32.sum.peak_sustained": 2e4},
			"cc8.0", roofline.Options{}, roofline.TensorFP32, 2e9, 2e13, "sparse operations", ""},
		{"Blackwell's FP8", map[string]float64{ops + "fp4_fp6_fp8_dst_fp32.sum": 5e9, ops + "fp4_fp6_fp8_dst_fp16.sum": 1e9},
			"cc12.0", roofline.Options{}, roofline.TensorFP8, 6e9, 0, "", ""},
		{"integers", map[string]float64{ops + "int8.sum": 7e9}, "cc7.5", roofline.Options{}, roofline.TensorInt8, 7e9, 0, "", ""},
		{"Volta's HMMA: 512 each", map[string]float64{"sm__inst_executed_pipe_tensor.sum": 1e6, "sm__inst_executed_pipe_tensor.sum.peak_sustained": 40},
			"cc7.0", roofline.Options{}, roofline.TensorFP16, 512e6, 512 * 40e9, "", ""},
		{"A100's DMMA: 2 x 8 x 8 x 4 each", map[string]float64{"sm__inst_executed_pipe_tensor_op_dmma.sum": 1e6},
			"cc8.0", roofline.Options{}, roofline.TensorFP64, 512e6, 0, "", ""},
		{"Ampere's HMMA has several sizes", map[string]float64{"sm__inst_executed_pipe_tensor_op_hmma.sum": 1e6},
			"cc8.6", roofline.Options{}, roofline.TensorFP16, 0, 0, "", "1000000 instructions of the tensor pipe (hmma)"},
		{"unless it is told", map[string]float64{"sm__inst_executed_pipe_tensor_op_hmma.sum": 1e6},
			"cc8.6", roofline.Options{TensorFlop: 4096}, roofline.TensorFP16, 4096e6, 0, "", ""},
	} {
		r := roofline.Analyse(roofline.Launch{Metrics: base(c.metrics), Arch: c.arch}, c.opt)
		w := r.Work[c.p]
		if w.Flop.OK != (c.flop > 0) || c.flop > 0 && !near(w.Flop, c.flop) {
			t.Errorf("%s: %v flop (%s), want %g", c.name, w.Flop, w.Flop.From, c.flop)
		}
		if w.Ceiling.OK != (c.peak > 0) || c.peak > 0 && !near(w.Ceiling, c.peak) {
			t.Errorf("%s: peak %v (%s), want %g", c.name, w.Ceiling, w.Ceiling.From, c.peak)
		}
		if notes := strings.Join(r.Notes, "\n"); c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
			t.Errorf("%s: notes %q, want %q", c.name, notes, c.note)
		}
		if missing := strings.Join(r.Missing, "\n"); c.lacks != "" && !strings.Contains(missing, c.lacks) || c.lacks == "" && strings.Contains(missing, "tensor work") {
			t.Errorf("%s: missing %q, want %q", c.name, missing, c.lacks)
		}
	}
}

// Half precision is packed where the profile's sections count it so, and says
// that it is not elsewhere.
func TestHalfPrecision(t *testing.T) {
	m := map[string]float64{"gpu__time_duration.sum": 1e-3, "sm__cycles_elapsed.avg.per_second": 1e9}
	for op, v := range map[string]float64{"hadd": 1e6, "hmul": 2e6, "hfma": 3e6} {
		m["sm__sass_thread_inst_executed_op_"+op+"_pred_on.sum"] = v
	}
	r := roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{})
	if !near(r.Work[roofline.FP16].Flop, 9e6) || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "half2") {
		t.Errorf("%v %q", r.Work[roofline.FP16].Flop, r.Notes)
	}
	m["derived__smsp__sass_thread_inst_executed_op_hfma_pred_on_x4"] = 12
	if r = roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{}); !near(r.Work[roofline.FP16].Flop, 18e6) || len(r.Notes) != 0 {
		t.Errorf("%v %q", r.Work[roofline.FP16].Flop, r.Notes)
	}
	if r = roofline.Analyse(roofline.Launch{Metrics: m}, roofline.Options{HalfWeight: 1}); !near(r.Work[roofline.FP16].Flop, 9e6) || len(r.Notes) != 0 {
		t.Errorf("%v %q", r.Work[roofline.FP16].Flop, r.Notes)
	}
	// Blackwell's pairs of FP32: 2 (add + mul) + 4 fma more.
	f := whole().Metrics
	f["smsp__sass_thread_inst_executed_op_fadd2_pred_on.sum"], f["smsp__sass_thread_inst_executed_op_fmul2_pred_on.sum"], f["smsp__sass_thread_inst_executed_op_ffma2_pred_on.sum"] = 1e9, 0, 1e9
	if r = roofline.Analyse(roofline.Launch{Metrics: f}, roofline.Options{}); !near(r.Work[roofline.FP32].Flop, 15e9) {
		t.Errorf("%v", r.Work[roofline.FP32].Flop)
	}
	// Integers: thread instructions, and their own peak.
	f["smsp__sass_thread_inst_executed_op_integer_pred_on.sum"], f["sm__sass_thread_inst_executed_op_integer_pred_on.sum.peak_sustained"] = 1e9, 5000
	if w := roofline.Analyse(roofline.Launch{Metrics: f}, roofline.Options{}).Work[roofline.Int]; !near(w.Flop, 1e9) || !near(w.Used, 1e12/6.25e12) {
		t.Errorf("%v %v", w.Flop, w.Used)
	}
}

// The halves of a large L2 talk to each other in sectors of the same counter.
func TestTrafficBetweenHalvesOfL2IsSaid(t *testing.T) {
	l := whole()
	delete(l.Metrics, "lts__t_bytes.sum")
	l.Metrics["lts__t_sectors.sum"], l.Metrics["lts__t_sectors_srcunit_ltcfabric.sum"] = 4e7, 1e7
	r := roofline.Analyse(l, roofline.Options{})
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "25.0 % of the traffic of L2") || !near(r.Traffic[roofline.L2].Bytes, 1.28e9) {
		t.Errorf("%q %v", r.Notes, r.Traffic[roofline.L2].Bytes)
	}
}

// A time that no counter gives is the launch's own; a counter's goes first.
func TestTheLaunchsOwnDuration(t *testing.T) {
	own := roofline.Quantity{Value: 2e-3, OK: true, From: "1e-09 x dur_ns"}
	l := whole()
	l.Time = own
	if r := roofline.Analyse(l, roofline.Options{}); !near(r.Time, 1e-3) {
		t.Errorf("%v from %s", r.Time, r.Time.From)
	}
	delete(l.Metrics, "gpu__time_duration.sum")
	r := roofline.Analyse(l, roofline.Options{})
	if !near(r.Time, 2e-3) || r.Time.From != own.From || !near(r.Work[roofline.FP32].Rate, 4.5e12) {
		t.Errorf("%v from %s, %v", r.Time, r.Time.From, r.Work[roofline.FP32].Rate)
	}
	if s := math.Abs(r.Traffic[roofline.DRAM].Used.Value - 4e8/2e-3/0.9e12); s > 1e-12 {
		t.Errorf("%v", r.Traffic[roofline.DRAM].Used)
	}
}

// AMD's MI300A computes FP32 in matrix units at 122.6 Tflop/s and TF32 at four
// times that (CDNA 3's data sheet): its counters are of FP32.
func TestMatrixFP32IsNotTF32(t *testing.T) {
	d, err := devices.Find("AMD Instinct MI300A")
	if err != nil {
		t.Fatal(err)
	}
	if c := roofline.Of(d).Peak[roofline.TensorFP32]; math.Abs(c.Value/122.6e12-1) > 0.01 {
		t.Errorf("%g flop/s, from %s", c.Value, c.From)
	}
}
