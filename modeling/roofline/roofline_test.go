package roofline_test

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

func near(got roofline.Quantity, want float64) bool {
	return got.OK && math.Abs(got.Value-want) <= 1e-9*math.Abs(want)
}

// sample reads a long-form ncu file of one launch, independently of collectors.
func sample(t *testing.T, name string) roofline.Launch {
	t.Helper()
	raw, err := os.ReadFile("../../../shared/samples/ncu/" + name)
	if err != nil {
		t.Fatalf("the sample is missing: %v: the folder shared/ must lie beside the repository", err)
	}
	text := string(raw)
	rows, err := csv.NewReader(strings.NewReader(text[strings.Index(text, `"ID"`):])).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	l := roofline.Launch{Metrics: map[string]float64{}}
	for _, r := range rows[1:] {
		v, err := strconv.ParseFloat(strings.ReplaceAll(r[14], ",", ""), 64)
		if err != nil {
			t.Fatal(err)
		}
		if r[13] == "ns" {
			v *= 1e-9
		}
		l.Kernel, l.Metrics[r[12]] = r[4], v
	}
	return l
}

func TestSampleOfSaxpy(t *testing.T) {
	// From the file: DRAM 134,221,568 read + 43,631,104 written; L1 4,194,304 +
	// 2,097,152 sectors of 32 bytes; 292,928 ns; SM throughput 22.30 %.
	r := roofline.Analyse(sample(t, "rtx5070_saxpy_stdout_mixed.csv"), roofline.Options{})
	if !near(r.Time, 292928e-9) || !near(r.Traffic[roofline.DRAM].Bytes, 177852672) || !near(r.Traffic[roofline.L1].Bytes, 201326592) {
		t.Errorf("%v", r)
	}
	if !near(r.Traffic[roofline.DRAM].Rate, 177852672/292928e-9) { // 607 GB/s
		t.Errorf("rate %v", r.Traffic[roofline.DRAM].Rate)
	}
	if r.Bound != roofline.Unknown || !strings.Contains(r.Why, "dram__bytes.sum.peak_sustained") {
		t.Errorf("%s: %s", r.Bound, r.Why)
	}
	if r.Traffic[roofline.L2].Bytes.OK || r.Work[roofline.FP32].Flop.OK {
		t.Error("counters that are not in the file count as measured")
	}
	want := "FP32 work: sm__sass_thread_inst_executed_op_fadd_pred_on.sum, sm__sass_thread_inst_executed_op_fmul_pred_on.sum, sm__sass_thread_inst_executed_op_ffma_pred_on.sum not measured"
	if !strings.Contains(strings.Join(r.Missing, "\n"), want) {
		t.Errorf("missing: %q", r.Missing)
	}
	// The program printed 595.2 GB/s as measured ceiling: 607 of 595 is a
	// bandwidth-bound kernel.
	r = roofline.Analyse(sample(t, "rtx5070_saxpy_stdout_mixed.csv"), roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: 595.2e9}})
	if r.Bound != "DRAM" || !near(r.Traffic[roofline.DRAM].Used, 177852672/292928e-9/595.2e9) {
		t.Errorf("%s, %v", r.Bound, r.Traffic[roofline.DRAM].Used)
	}
}

// The samples count no work; the algorithms do: saxpy has 2 flop for each of
// 65536 blocks of 256 threads.
func TestWorkThatIsGivenFillsTheGap(t *testing.T) {
	opt := roofline.Options{Flop: func(l roofline.Launch) map[roofline.Precision]float64 {
		return map[roofline.Precision]float64{roofline.FP32: 2 * 65536 * 256}
	}}
	r := roofline.Analyse(sample(t, "rtx5070_saxpy_stdout_mixed.csv"), opt)
	if !near(r.Intensity(roofline.DRAM, roofline.FP32), 2*65536*256./177852672) || r.Work[roofline.FP32].Flop.From != "given" || r.Work[roofline.FP64].Flop.OK {
		t.Errorf("%v", r)
	}
	if r := roofline.Analyse(whole(), opt); !near(r.Work[roofline.FP32].Flop, 9e9) {
		t.Errorf("given work replaced what was measured: %v", r.Work[roofline.FP32].Flop)
	}
}

func TestFrame(t *testing.T) {
	df := roofline.Frame([]roofline.Result{roofline.Analyse(whole(), roofline.Options{}), roofline.Analyse(roofline.Launch{Kernel: "empty"}, roofline.Options{})})
	if df.Err != nil || df.Nrow() != 2 {
		t.Fatal(df)
	}
	if got := df.Col("DRAM_flop_per_byte").Float(); got[0] != 22.5 || !math.IsNaN(got[1]) {
		t.Errorf("intensity %v", got)
	}
	if got := df.Col("bound").Records(); got[0] != "FP32" || got[1] != "unknown" {
		t.Errorf("bounds %v", got)
	}
}

func TestSampleOfGemm(t *testing.T) {
	r := roofline.Analyse(sample(t, "rtx5070_gemm_tiled.csv"), roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: 582.4e9}})
	// 53,261,312 + 3,377,920 bytes in 10,195,552 ns; SM throughput 88.90 %.
	if !near(r.Traffic[roofline.DRAM].Bytes, 56639232) || !near(r.Traffic[roofline.DRAM].Used, 56639232/10195552e-9/582.4e9) {
		t.Errorf("%v", r)
	}
	if r.Bound != roofline.SM || !near(r.SM, 0.889) {
		t.Errorf("%s: %s", r.Bound, r.Why)
	}
}

// whole is a launch with all counters; the numbers are easy to follow by hand.
func whole() roofline.Launch {
	return roofline.Launch{Kernel: "k", Metrics: map[string]float64{
		"gpu__time_duration.sum":                            1e-3,
		"sm__sass_thread_inst_executed_op_fadd_pred_on.sum": 1e9, "sm__sass_thread_inst_executed_op_fmul_pred_on.sum": 2e9, "sm__sass_thread_inst_executed_op_ffma_pred_on.sum": 3e9,
		"sm__sass_thread_inst_executed_op_dadd_pred_on.sum": 0, "sm__sass_thread_inst_executed_op_dmul_pred_on.sum": 0, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum": 1e6,
		"sm__sass_thread_inst_executed_op_hadd_pred_on.sum": 0, "sm__sass_thread_inst_executed_op_hmul_pred_on.sum": 0, "sm__sass_thread_inst_executed_op_hfma_pred_on.sum": 0,
		"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 5000, "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained": 2500, "sm__sass_thread_inst_executed_op_hfma_pred_on.sum.peak_sustained": 10000,
		"sm__cycles_elapsed.avg.per_second": 1.25e9,
		"dram__bytes_read.sum":              3e8, "dram__bytes_write.sum": 1e8, "dram__bytes.sum.peak_sustained": 1000, "dram__cycles_elapsed.avg.per_second": 0.9e9,
		"lts__t_bytes.sum": 8e8, "lts__t_bytes.sum.peak_sustained": 2000, "lts__cycles_elapsed.avg.per_second": 1.5e9,
		"l1tex__t_bytes.sum": 1.6e9, "l1tex__t_bytes.sum.peak_sustained": 10000, "l1tex__cycles_elapsed.avg.per_second": 1.25e9,
		"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 1e7, "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum.peak_sustained": 80,
	}}
}

func TestHierarchyByHand(t *testing.T) {
	r := roofline.Analyse(whole(), roofline.Options{})
	if len(r.Missing) > 0 {
		t.Errorf("missing %q", r.Missing)
	}
	for _, c := range []struct {
		what string
		got  roofline.Quantity
		want float64
	}{
		{"FP32 flop: 1e9 + 2e9 + 2*3e9", r.Work[roofline.FP32].Flop, 9e9},
		{"FP64 flop: 2*1e6", r.Work[roofline.FP64].Flop, 2e6},
		{"FP32 rate: 9e9 / 1 ms", r.Work[roofline.FP32].Rate, 9e12},
		{"FP32 peak: 2 * 5000 * 1.25e9", r.Work[roofline.FP32].Ceiling, 12.5e12},
		{"FP64 peak: 2 * 2500 * 1.25e9", r.Work[roofline.FP64].Ceiling, 6.25e12},
		{"FP32 used", r.Work[roofline.FP32].Used, 0.72},
		{"DRAM peak: 1000 * 0.9e9", r.Traffic[roofline.DRAM].Ceiling, 0.9e12},
		{"L2 peak: 2000 * 1.5e9", r.Traffic[roofline.L2].Ceiling, 3e12},
		{"shared bytes: 1e7 * 128", r.Traffic[roofline.Shared].Bytes, 1.28e9},
		{"shared peak: 80 * 128 * 1.25e9", r.Traffic[roofline.Shared].Ceiling, 12.8e12},
		{"DRAM intensity: 9e9 / 4e8", r.Intensity(roofline.DRAM, roofline.FP32), 22.5},
		{"L1 intensity: 9e9 / 1.6e9", r.Intensity(roofline.L1, roofline.FP32), 5.625},
		{"DRAM roof: min(12.5e12, 22.5 * 0.9e12)", r.Roof(roofline.DRAM, roofline.FP32), 12.5e12},
		{"FP64 DRAM roof: 0.005 * 0.9e12", r.Roof(roofline.DRAM, roofline.FP64), 4.5e9},
		{"distance to the DRAM roof", r.Distance(roofline.DRAM, roofline.FP32), 0.72},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v, want %g", c.what, c.got, c.want)
		}
	}
	if r.Bound != roofline.FP32bound {
		t.Errorf("%s: %s", r.Bound, r.Why)
	}
	if p, ok := r.Dominant(); !ok || p != roofline.FP32 {
		t.Errorf("dominant %v", p)
	}
}

func TestBoundRule(t *testing.T) {
	for _, c := range []struct {
		name   string
		change map[string]float64
		drop   string
		want   roofline.Bound
	}{
		{"arithmetic at 72 %", nil, "", "FP32"},
		{"ten times slower", map[string]float64{"gpu__time_duration.sum": 1e-2}, "", "latency"},
		{"DRAM at 100 %", map[string]float64{"dram__bytes_read.sum": 8e8}, "", "DRAM"},
		{"L2 at 83 %", map[string]float64{"lts__t_bytes.sum": 2.5e9}, "", "L2"},
		{"slow, DRAM ceiling not measured", map[string]float64{"gpu__time_duration.sum": 1e-2}, "dram__bytes.sum.peak_sustained", "unknown"},
		{"time not measured", nil, "gpu__time_duration.sum", "unknown"},
		{"another SM unit", map[string]float64{"gpu__time_duration.sum": 1e-2, "sm__throughput.avg.pct_of_peak_sustained_elapsed": 90}, "", "SM"},
	} {
		l := whole()
		for k, v := range c.change {
			l.Metrics[k] = v
		}
		delete(l.Metrics, c.drop)
		r := roofline.Analyse(l, roofline.Options{})
		if r.Bound != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, r.Bound, r.Why, c.want)
		}
		if c.drop != "" && !strings.Contains(strings.Join(r.Missing, "\n"), c.drop) {
			t.Errorf("%s: %s is not named in %q", c.name, c.drop, r.Missing)
		}
	}
}

// The roofline section of ncu gives work per cycle: the same work either way.
func TestWorkPerCycleIsTheSameWork(t *testing.T) {
	l := whole()
	cycles := 1e-3 * 1.25e9
	for _, op := range []string{"fadd", "fmul", "ffma"} {
		name := "sass_thread_inst_executed_op_" + op + "_pred_on.sum"
		l.Metrics["smsp__"+name+".per_cycle_elapsed"] = l.Metrics["sm__"+name] / cycles
		delete(l.Metrics, "sm__"+name)
	}
	if r := roofline.Analyse(l, roofline.Options{}); !near(r.Work[roofline.FP32].Flop, 9e9) {
		t.Errorf("%v", r.Work[roofline.FP32].Flop)
	}
}

// Whatever one counter is taken away, nothing becomes zero that was not.
func TestAMissingCounterIsNeverZero(t *testing.T) {
	full := roofline.Analyse(whole(), roofline.Options{})
	for name := range whole().Metrics {
		l := whole()
		delete(l.Metrics, name)
		r := roofline.Analyse(l, roofline.Options{})
		pairs := [][2]roofline.Quantity{{r.Time, full.Time}}
		for i := range r.Work {
			pairs = append(pairs, [2]roofline.Quantity{r.Work[i].Flop, full.Work[i].Flop}, [2]roofline.Quantity{r.Work[i].Used, full.Work[i].Used})
		}
		for i := range r.Traffic {
			pairs = append(pairs, [2]roofline.Quantity{r.Traffic[i].Bytes, full.Traffic[i].Bytes}, [2]roofline.Quantity{r.Traffic[i].Used, full.Traffic[i].Used})
		}
		for _, p := range pairs {
			if p[0].OK && math.Abs(p[0].Value-p[1].Value) > 1e-9*math.Abs(p[1].Value) {
				t.Errorf("without %s: %v instead of %v", name, p[0], p[1])
			}
		}
	}
}

// Doubling work, bytes and time leaves rates, intensity and bound as they are;
// the order of launches does not matter; two equal launches are twice one.
func TestScalingAndPermutation(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 100 {
		l, big := whole(), roofline.Launch{Kernel: "k", Metrics: map[string]float64{}}
		for k, v := range l.Metrics {
			l.Metrics[k] = v * math.Exp(rng.NormFloat64())
		}
		for k, v := range l.Metrics {
			if strings.HasSuffix(k, ".sum") {
				v *= 2
			}
			big.Metrics[k] = v
		}
		a, b := roofline.Analyse(l, roofline.Options{}), roofline.Analyse(big, roofline.Options{})
		joined := roofline.ByKernel([]roofline.Result{a, a})[0]
		for _, r := range []roofline.Result{b, joined} {
			for i := range a.Traffic {
				if roofline.Level(i) == roofline.L3 {
					continue // GPUs of NVIDIA have none
				}
				if !near(r.Traffic[i].Used, a.Traffic[i].Used.Value) || !near(r.Traffic[i].Bytes, 2*a.Traffic[i].Bytes.Value) {
					t.Fatalf("level %d: %v and %v", i, r.Traffic[i], a.Traffic[i])
				}
			}
			if !near(r.Work[roofline.FP32].Rate, a.Work[roofline.FP32].Rate.Value) || r.Bound != a.Bound ||
				!near(r.Distance(roofline.DRAM, roofline.FP32), a.Distance(roofline.DRAM, roofline.FP32).Value) {
				t.Fatalf("%v and %v", r, a)
			}
		}
		other := whole()
		other.Kernel = "slow"
		other.Metrics["gpu__time_duration.sum"] = 1e6
		c := roofline.Analyse(other, roofline.Options{})
		x, y := roofline.ByKernel([]roofline.Result{a, b, c}), roofline.ByKernel([]roofline.Result{c, b, a})
		if len(x) != 2 || x[0].Kernel != "slow" || y[0].Kernel != "slow" || x[1].Bound != y[1].Bound || !near(x[1].Time, y[1].Time.Value) || x[1].Launches != 2 {
			t.Fatalf("order matters: %v and %v", x, y)
		}
	}
}

func TestTensorWorkNeedsAWeight(t *testing.T) {
	l := whole()
	l.Metrics["sm__inst_executed_pipe_tensor.sum"] = 1000
	if r := roofline.Analyse(l, roofline.Options{}); !strings.Contains(strings.Join(r.Missing, "\n"), "1000 instructions of the tensor pipe") {
		t.Errorf("%q", r.Missing)
	}
	if r := roofline.Analyse(l, roofline.Options{TensorFlop: 512}); !near(r.Work[roofline.TensorFP16].Flop, 512000) {
		t.Errorf("%v", r.Work[roofline.TensorFP16].Flop)
	}
}

func TestNothingMeasured(t *testing.T) {
	r := roofline.Analyse(roofline.Launch{Kernel: "empty"}, roofline.Options{})
	if r.Bound != roofline.Unknown || len(r.Missing) != 1+6+8 || !strings.Contains(r.String(), "empty") {
		t.Errorf("%d missing: %v", len(r.Missing), r)
	}
	if roofline.ByKernel(nil) != nil {
		t.Error("kernels of no results")
	}
}

// From a store's measurements: values without a number and counters with
// several instances are no input.
func TestFromMeasurements(t *testing.T) {
	ms := []datasets.Measurement{{Kernel: "k", Counters: []datasets.Counter{
		{Metric: "gpu__time_duration.sum", Value: datasets.Null[float64]{V: 2e-3, Valid: true}},
		{Metric: "dram__bytes.sum"},
		{Metric: "lts__t_bytes.sum", Instance: "0", Value: datasets.Null[float64]{V: 1, Valid: true}},
		{Metric: "lts__t_bytes.sum", Instance: "1", Value: datasets.Null[float64]{V: 2, Valid: true}},
	}}}
	ls := roofline.FromMeasurements(ms)
	if len(ls) != 1 || ls[0].Kernel != "k" || len(ls[0].Metrics) != 1 || ls[0].Metrics["gpu__time_duration.sum"] != 2e-3 {
		t.Errorf("%+v", ls)
	}
}

// Two probes and a kernel on a CPU. Roofs: 64 GB in 2 s are 32 GB/s, 100 Gflop
// in 1 s are 100 Gflop/s. The kernel does 10 Gflop over 20 GB in 1 s: 0.5
// flop/byte, so its roof is 0.5 x 32 = 16 Gflop/s and it attains 10/16.
func TestCeilingsThatProbesReached(t *testing.T) {
	probes := []roofline.Launch{
		{Kernel: "slower", Metrics: map[string]float64{"time.duration": 4, "byte.dram": 64e9, "flop.fp64": 1e9}},
		{Kernel: "stream", Metrics: map[string]float64{"time.duration": 2, "byte.dram": 64e9}},
		{Kernel: "fma", Metrics: map[string]float64{"time.duration": 1, "flop.fp64": 100e9}},
	}
	opt := roofline.Reached(probes)
	if len(opt.Bandwidth) != 1 || opt.Bandwidth[roofline.DRAM] != 32e9 || len(opt.Peak) != 1 || opt.Peak[roofline.FP64] != 100e9 {
		t.Fatalf("%+v", opt)
	}
	r := roofline.AnalyseAll([]roofline.Launch{{Kernel: "k", Metrics: map[string]float64{"time.duration": 1, "byte.dram": 20e9, "flop.fp64": 10e9}}}, opt)[0]
	if d := r.Distance(roofline.DRAM, roofline.FP64); !d.OK || math.Abs(d.Value-0.625) > 1e-12 {
		t.Errorf("it attains %v of its roof, want 0.625", d)
	}
	if r.Bound != "DRAM" { // 20 of 32 GB/s are 62.5 %
		t.Errorf("bound by %s: %s", r.Bound, r.Why)
	}
}

func TestThreadsAreGridTimesBlock(t *testing.T) {
	some := func(x, y, z int64) [3]datasets.Null[int64] {
		return [3]datasets.Null[int64]{datasets.Some(x), datasets.Some(y), datasets.Some(z)}
	}
	ls := roofline.FromMeasurements([]datasets.Measurement{{Kernel: "a", Grid: some(64, 32, 1), Block: some(32, 8, 2)}, {Kernel: "b", Grid: some(64, 1, 1)}})
	if ls[0].Threads != [3]int64{2048, 256, 2} || ls[1].Threads != [3]int64{} {
		t.Errorf("%v and %v", ls[0].Threads, ls[1].Threads)
	}
}

func ExampleAnalyse() {
	r := roofline.Analyse(roofline.Launch{Kernel: "copy", Metrics: map[string]float64{
		"gpu__time_duration.sum":                                           1e-3, // s
		"dram__bytes.sum":                                                  8e8,  // byte
		"dram__bytes.sum.peak_sustained":                                   1024, // byte/cycle
		"dram__cycles_elapsed.avg.per_second":                              1e9,  // cycle/s
		"sm__sass_thread_inst_executed_op_fadd_pred_on.sum":                1e8,
		"sm__sass_thread_inst_executed_op_fmul_pred_on.sum":                0,
		"sm__sass_thread_inst_executed_op_ffma_pred_on.sum":                1e8,
		"sm__sass_thread_inst_executed_op_ffma_pred_on.sum.peak_sustained": 5120,
		"sm__cycles_elapsed.avg.per_second":                                1.5e9,
	}}, roofline.Options{})
	fmt.Println(r.Bound)
	fmt.Println(r.Why)
	fmt.Println("flop/byte:", r.Intensity(roofline.DRAM, roofline.FP32))
	fmt.Println("L2 bytes:", r.Traffic[roofline.L2].Bytes)
	// Output:
	// DRAM
	// bound by DRAM bandwidth: 78 % of the ceiling is used (60 % or more counts as bound)
	// flop/byte: 0.375
	// L2 bytes: unknown (lts__t_bytes.sum not measured)
}
