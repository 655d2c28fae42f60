package roofline_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ncu"
	_ "github.com/rooflab/rooflab/collectors/rocprofcompute"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// quantities are all numbers of a result, by name.
func quantities(r roofline.Result) map[string]roofline.Quantity {
	out := map[string]roofline.Quantity{"time": r.Time, "SM": r.SM, "warps": r.Instr.Warps, "threads": r.Instr.Threads,
		"issue rate": r.Instr.Rate, "issue ceiling": r.Instr.Ceiling, "issue used": r.Instr.Used, "full": r.Instr.Full()}
	for _, w := range r.Work {
		n := w.Precision.String()
		out[n+" flop"], out[n+" rate"], out[n+" ceiling"], out[n+" used"] = w.Flop, w.Rate, w.Ceiling, w.Used
		for _, t := range r.Traffic {
			at := n + " at " + t.Level.String()
			out["intensity of "+at], out["roof of "+at], out["distance of "+at] = r.Intensity(t.Level, w.Precision), r.Roof(t.Level, w.Precision), r.Distance(t.Level, w.Precision)
			out["balance of "+at], out["what if "+at] = r.Balance(t.Level, w.Precision), r.WhatIf(t.Level, w.Precision).Time
		}
	}
	for _, t := range r.Traffic {
		n := t.Level.String()
		out[n+" bytes"], out[n+" rate"], out[n+" ceiling"], out[n+" used"] = t.Bytes, t.Rate, t.Ceiling, t.Used
	}
	for _, t := range r.Instr.Levels {
		n := t.Level.String() + " transactions"
		out[n], out[n+" rate"], out[n+" ceiling"], out[n+" used"] = t.Count, t.Rate, t.Ceiling, t.Used
		out[n+" per access"], out[n+" intensity"], out[n+" roof"] = r.Instr.PerAccess(t.Level), r.Instr.Intensity(t.Level), r.Instr.Roof(t.Level)
	}
	return out
}

// same compares two results in all numbers, and in what bounds.
func same(t *testing.T, what string, a, b roofline.Result) {
	t.Helper()
	qa, qb := quantities(a), quantities(b)
	for name, x := range qa {
		y := qb[name]
		if x.OK != y.OK || x.OK && math.Abs(x.Value-y.Value) > 1e-9*math.Max(math.Abs(x.Value), math.Abs(y.Value)) {
			t.Errorf("%s: %s is %v and %v", what, name, x, y)
		}
	}
	if a.Bound != b.Bound || a.Launches != b.Launches {
		t.Errorf("%s: bound by %s and %s, %d and %d launches", what, a.Bound, b.Bound, a.Launches, b.Launches)
	}
}

// rich is whole with instructions, at random sizes.
func rich(rng *rand.Rand) roofline.Launch {
	l := whole()
	for k, v := range map[string]float64{"smsp__inst_executed.sum": 2e7, "smsp__thread_inst_executed_pred_on.sum": 5e8, "device__attribute_multiprocessor_count": 10,
		"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 2e7, "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum": 1e7,
		"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 3e6, "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum": 1e6,
		"sm__throughput.avg.pct_of_peak_sustained_elapsed": 40} {
		l.Metrics[k] = v
	}
	for k, v := range l.Metrics {
		if amountOf(k) {
			l.Metrics[k] = v * math.Exp(rng.NormFloat64())
		}
	}
	return l
}

// amountOf tells counters that add up over launches from rates, peaks and percentages.
func amountOf(metric string) bool { return strings.HasSuffix(metric, ".sum") }

// A kernel that is split in two, at any point and unevenly in each counter,
// is the same kernel when its parts are joined. Ceilings are the machine's.
func TestSplittingAKernelChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		l := rich(rng)
		delete(l.Metrics, "sm__throughput.avg.pct_of_peak_sustained_elapsed") // a mean over time, not told by the parts' sums
		parts := [2]roofline.Launch{{Kernel: l.Kernel, Metrics: map[string]float64{}}, {Kernel: l.Kernel, Metrics: map[string]float64{}}}
		for k, v := range l.Metrics {
			parts[0].Metrics[k], parts[1].Metrics[k] = v, v
			if amountOf(k) {
				f := 0.05 + 0.9*rng.Float64()
				parts[0].Metrics[k], parts[1].Metrics[k] = f*v, (1-f)*v
			}
		}
		whole := roofline.ByKernel(roofline.AnalyseAll([]roofline.Launch{l}, roofline.Options{}))[0]
		joined := roofline.ByKernel(roofline.AnalyseAll(parts[:], roofline.Options{}))[0]
		joined.Launches = 1
		same(t, "split in two", whole, joined)
		if t.Failed() {
			return
		}
	}
}

// The order of launches and of kernels changes nothing; sums over a kernel's
// launches are its amounts.
func TestOrderOfLaunchesChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var ls []roofline.Launch
	for i := range 60 {
		l := rich(rng)
		l.Kernel = fmt.Sprint("kernel", i%7)
		if i%11 == 0 {
			delete(l.Metrics, "lts__t_bytes.sum")
		}
		ls = append(ls, l)
	}
	rs := roofline.AnalyseAll(ls, roofline.Options{})
	first := roofline.ByKernel(rs)
	for range 20 {
		rng.Shuffle(len(rs), func(i, j int) { rs[i], rs[j] = rs[j], rs[i] })
		again := roofline.ByKernel(rs)
		if len(again) != 7 || len(first) != 7 {
			t.Fatalf("%d and %d kernels", len(first), len(again))
		}
		for i := range first {
			if first[i].Kernel != again[i].Kernel {
				t.Fatalf("kernel %d is %s and %s", i, first[i].Kernel, again[i].Kernel)
			}
			same(t, first[i].Kernel, first[i], again[i])
		}
	}
	for _, k := range first {
		bytes, seconds := 0.0, 0.0
		for _, l := range ls {
			if l.Kernel == k.Kernel {
				bytes += l.Metrics["dram__bytes_read.sum"] + l.Metrics["dram__bytes_write.sum"]
				seconds += l.Metrics["gpu__time_duration.sum"]
			}
		}
		if !near(k.Traffic[roofline.DRAM].Bytes, bytes) || !near(k.Time, seconds) {
			t.Errorf("%s: %v byte and %v s, the launches have %g and %g", k.Kernel, k.Traffic[roofline.DRAM].Bytes, k.Time, bytes, seconds)
		}
	}
}

// Launches at other clocks: 3 ms under 900 GB/s and 1 ms under 700 are under
// (3 x 900 + 1 x 700) / 4 = 850 GB/s on the whole, of which 2.7e9 byte in 4 ms
// use 675; where a time is not known, all launches count the same.
func TestCeilingsOfAKernelAreMeansOverTime(t *testing.T) {
	launch := func(seconds, bytes, gbs float64) roofline.Launch {
		return roofline.Launch{Kernel: "k", Metrics: map[string]float64{"gpu__time_duration.sum": seconds, "dram__bytes.sum": bytes,
			"dram__bytes.sum.peak_sustained": gbs, "dram__cycles_elapsed.avg.per_second": 1e9}}
	}
	ls := []roofline.Launch{launch(3e-3, 2.2e9, 900), launch(1e-3, 0.5e9, 700)}
	d := roofline.ByKernel(roofline.AnalyseAll(ls, roofline.Options{}))[0].Traffic[roofline.DRAM]
	if !near(d.Ceiling, 850e9) || !near(d.Used, 675./850) {
		t.Errorf("%v, used %v", d.Ceiling, d.Used)
	}
	delete(ls[1].Metrics, "gpu__time_duration.sum")
	if d = roofline.ByKernel(roofline.AnalyseAll(ls, roofline.Options{}))[0].Traffic[roofline.DRAM]; !near(d.Ceiling, 800e9) || d.Used.OK {
		t.Errorf("%v, used %v", d.Ceiling, d.Used)
	}
}

// The same profile in other units is the same roofline: the collector turns
// them to SI, in whichever unit ncu printed each row.
func TestUnitsOfAProfileChangeNothing(t *testing.T) {
	const head = `"ID","Kernel Name","Context","Stream","Block Size","Grid Size","Section Name","Metric Name","Metric Unit","Metric Value"` + "\n"
	row := func(metric, unit, value string) string {
		return fmt.Sprintf(`"0","copy(float *)","1","7","(256, 1, 1)","(64, 1, 1)","Command line profiler metrics","%s","%s","%s"`+"\n", metric, unit, value)
	}
	plain := head + row("gpu__time_duration.sum", "nsecond", "1,500,000") + row("dram__bytes.sum", "byte", "600,000,000") +
		row("dram__bytes.sum.peak_sustained", "byte/cycle", "512") + row("dram__cycles_elapsed.avg.per_second", "cycle/second", "1,000,000,000") +
		row("lts__t_bytes.sum", "byte", "900,000,000")
	scaled := head + row("gpu__time_duration.sum", "msecond", "1.5") + row("dram__bytes.sum", "Mbyte", "600") +
		row("dram__bytes.sum.peak_sustained", "Kbyte/cycle", "0.512") + row("dram__cycles_elapsed.avg.per_second", "cycle/nsecond", "1") +
		row("lts__t_bytes.sum", "Gbyte", "0.9")
	var rs []roofline.Result
	for i, text := range []string{plain, scaled} {
		ctx := context.Background()
		store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		path := filepath.Join(t.TempDir(), fmt.Sprint(i, ".csv"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sum, err := collectors.ImportFile(ctx, store, path, collectors.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ls, err := roofline.FromStore(ctx, store, datasets.Filter{Run: sum.Run()})
		if err != nil || len(ls) != 1 {
			t.Fatal(ls, err)
		}
		rs = append(rs, roofline.Analyse(ls[0], roofline.Options{}))
	}
	if !near(rs[0].Traffic[roofline.DRAM].Used, 6e8/1.5e-3/512e9) {
		t.Errorf("%v", rs[0])
	}
	same(t, "other units", rs[0], rs[1])
}

// Whatever the counters hold, nothing that is said to be known is NaN, infinite
// or negative, and a ceiling that is exceeded is said to be.
func TestNothingKnownIsNoNumber(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	odd := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), -1, -1e300, 1e308, 5e-324, 1e-300, 1, 1e9, 100}
	var names []string
	seen := map[string]bool{}
	for _, m := range []map[string]float64{rich(rng).Metrics, {
		"sm__ops_path_tensor_src_fp16.sum": 1, "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum": 1, "sm__ops_path_tensor_src_fp16_dst_fp32_sparsity_off.sum.peak_sustained": 1,
		"sm__inst_executed_pipe_tensor.sum": 1, "sm__inst_executed_pipe_tensor_op_hmma.sum": 1, "device__attribute_compute_capability_major": 7, "device__attribute_compute_capability_minor": 0,
		"lts__t_sectors.sum.pct_of_peak_sustained_elapsed": 1, "lts__t_sectors.sum": 1, "lts__t_sectors_srcunit_ltcfabric.sum": 1, "device__attribute_l2s_count": 1,
		"sm__cycles_elapsed.max": 1, "smsp__sass_thread_inst_executed_op_integer_pred_on.sum.per_second": 1, "time.duration": 1, "byte.dram": 1, "flop.fp64": 1,
		"xtime": 1, "traffic": 1, "dpPerf": 1, "mean_ms": 1, "flops": 1, "theoretical_bytes": 1,
		"SQ_INSTS_VALU_ADD_F32": 1, "SQ_INSTS_VALU_FMA_F32": 1, "TCC_EA_RDREQ_sum": 1, "TCC_EA_RDREQ_32B_sum": 2, "duration": 1, "cycles": 1, "instructions": 1}} {
		for k := range m {
			if !seen[k] {
				names, seen[k] = append(names, k), true
			}
		}
	}
	check := func(r roofline.Result) {
		t.Helper()
		for name, q := range quantities(r) {
			if q.OK && (math.IsNaN(q.Value) || math.IsInf(q.Value, 0) || q.Value < 0) || !q.OK && (!math.IsNaN(q.Value) || q.From == "") {
				t.Errorf("%s: %+v", name, q)
			}
			if strings.HasSuffix(name, " used") && q.OK && q.Value > 1 && !strings.Contains(name, "transactions") && !strings.Contains(strings.Join(r.Notes, "\n"), "of the ceiling") {
				t.Errorf("%s is %v and no note says so: %q", name, q, r.Notes)
			}
		}
		if r.Why == "" || r.String() == "" {
			t.Error("nothing is said")
		}
		for _, w := range r.WhatIfs() {
			if w.Text == "" || strings.Contains(w.Text, "NaN") || strings.Contains(w.Text, "Inf") {
				t.Errorf("%+v", w)
			}
		}
	}
	for range 400 {
		var rs []roofline.Result
		for range 3 {
			l := roofline.Launch{Kernel: "k", Metrics: map[string]float64{}, Arch: []string{"", "cc7.0", "gfx90a", "cc", "x86_64"}[rng.IntN(5)]}
			for _, n := range names {
				if rng.IntN(3) == 0 {
					l.Metrics[n] = odd[rng.IntN(len(odd))]
				} else if rng.IntN(2) == 0 {
					l.Metrics[n] = math.Exp(20 * rng.NormFloat64())
				}
			}
			opt := roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: odd[rng.IntN(len(odd))]}, Peak: map[roofline.Precision]float64{roofline.FP32: odd[rng.IntN(len(odd))]},
				TensorFlop: odd[rng.IntN(len(odd))], HalfWeight: odd[rng.IntN(len(odd))],
				Flop: func(roofline.Launch) map[roofline.Precision]float64 {
					return map[roofline.Precision]float64{roofline.FP16: odd[rng.IntN(len(odd))]}
				}}
			rs = append(rs, roofline.Analyse(l, opt))
			check(rs[len(rs)-1])
		}
		check(roofline.ByKernel(rs)[0])
		if df := roofline.Frame(rs); df.Err != nil || df.Nrow() != 3 {
			t.Fatal(df.Err)
		}
		if t.Failed() {
			return
		}
	}
}

// Ceilings: the profile's, then what Options give, then what was measured on
// the machine, then its data sheet's, each saying so.
func TestPreferenceOfCeilings(t *testing.T) {
	machine := roofline.Measured([]datasets.Ceiling{
		{Level: "dram", Value: 700e9, Measured: true, Source: "triad"}, {Level: "dram", Value: 720e9, Measured: true, Source: "triad, again"},
		{Level: "dram", Value: 900e9, Source: "data sheet"}, {Level: "fp16.tensor", Value: 1e14, Measured: true, Source: "wmma"}, {Level: "what", Value: 1, Measured: true},
		{Level: "l2", Value: -1, Measured: true},
	}).Or(roofline.Theoretical([]datasets.Ceiling{
		{Level: "dram", Value: 900e9, Source: "data sheet"}, {Level: "fp32", Value: 10e12, Source: "data sheet", ClockHz: datasets.Some(2e9)},
	}))
	l := roofline.Launch{Metrics: map[string]float64{"gpu__time_duration.sum": 1e-3, "dram__bytes.sum": 1e8, "sm__cycles_elapsed.avg.per_second": 1.5e9}, Ceilings: machine}
	r := roofline.Analyse(l, roofline.Options{})
	if c := r.Traffic[roofline.DRAM].Ceiling; !near(c, 720e9) || c.From != "measured: triad, again" {
		t.Errorf("%v from %s", c, c.From)
	}
	// The data sheet's 10 Tflop/s hold at 2 GHz; the profile ran at 1.5.
	if c := r.Work[roofline.FP32].Ceiling; !near(c, 7.5e12) || c.From != "theoretical: data sheet, scaled from 2 GHz to the profiled 1.5 GHz" {
		t.Errorf("%v from %s", c, c.From)
	}
	if c := r.Work[roofline.TensorFP16].Ceiling; !near(c, 1e14) || r.Traffic[roofline.L2].Ceiling.OK {
		t.Errorf("%v, %v", c, r.Traffic[roofline.L2].Ceiling)
	}
	given := roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: 800e9}}
	if c := roofline.Analyse(l, given).Traffic[roofline.DRAM].Ceiling; !near(c, 800e9) || c.From != roofline.Given {
		t.Errorf("%v from %s", c, c.From)
	}
	l.Metrics["dram__bytes.sum.peak_sustained"], l.Metrics["dram__cycles_elapsed.avg.per_second"] = 512, 1e9
	if c := roofline.Analyse(l, given).Traffic[roofline.DRAM].Ceiling; !near(c, 512e9) || !strings.Contains(c.From, "peak_sustained") {
		t.Errorf("%v from %s", c, c.From)
	}
}

// FromStore brings the ceilings of the machine that a run ran on.
func TestCeilingsOfTheStore(t *testing.T) {
	ls := imported(t, "../../../shared/samples/rocprof_compute/vcopy_MI200_pmc_perf.csv")
	if len(ls) == 0 {
		t.Fatal("no launches")
	}
	// roofline.csv measured 1388.93, 1389.30, ... GB/s of HBM on its devices.
	c := ls[0].Ceilings.Bandwidth[roofline.DRAM]
	if math.Abs(c.Value/1389e9-1) > 0.01 || !strings.HasPrefix(c.From, "measured: roofline.csv") || ls[0].Arch != "gfx90a" {
		t.Errorf("%+v on %s", c, ls[0].Arch)
	}
}
