package roofline_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/roofline"
)

// whole does 9e9 FP32 flop at a peak of 12.5e12 (0.72 ms), moves 4e8 byte of
// DRAM at 0.9e12/s (0.4444 ms), 6e8 of L2 at 3e12 (0.2 ms), 1.6e9 of L1 at
// 12.5e12 (0.128 ms), 1.28e9 of shared memory at 12.8e12 (0.1 ms), in 1 ms.
func TestWhatIf(t *testing.T) {
	r := roofline.Analyse(whole(), roofline.Options{})
	w := r.WhatIf(roofline.DRAM, roofline.FP32)
	if !near(w.Time, 0.72e-3) || w.By != "FP32" || !near(w.Speedup, 1/0.72) ||
		w.Text != "at the DRAM roof, where FP32 arithmetic limits, this kernel would take 720 us instead of 1 ms, 1.39 times faster" {
		t.Errorf("%+v", w)
	}
	if w = r.WhatIf(roofline.DRAM, roofline.FP64); !near(w.Time, 4e8/0.9e12) || w.By != "DRAM" ||
		w.Text != "at the DRAM roof this kernel would take 444 us instead of 1 ms, 2.25 times faster" {
		t.Errorf("%+v", w)
	}
	l := whole()
	delete(l.Metrics, "lts__t_bytes.sum")
	if w = roofline.Analyse(l, roofline.Options{}).WhatIf(roofline.L2, roofline.FP32); w.Time.OK || w.Text != "the time at the L2 roof is not known: lts__t_bytes.sum not measured" {
		t.Errorf("%+v", w)
	}
	var order []string
	for _, l := range r.Limits() {
		order = append(order, string(l.Bound))
	}
	if got := strings.Join(order, " > "); got != "FP32 > DRAM > L2 > L1 > shared memory > FP64" {
		t.Errorf("limits %s", got)
	}
	next := r.Lifted()
	if len(next) != 5 || next[0].By != "DRAM" || !near(next[0].Time, 4e8/0.9e12) ||
		next[0].Text != "at the DRAM roof, the next when FP32 is lifted, this kernel would take 444 us instead of 1 ms, 2.25 times faster" {
		t.Errorf("%+v", next)
	}
	if all := r.WhatIfs(); len(all) != 4+5 || all[1].What != "the L2 roof, where FP32 arithmetic limits," {
		t.Errorf("%+v", all)
	}
	// At its roof, and above it.
	l = whole()
	l.Metrics["gpu__time_duration.sum"] = 0.73e-3
	if w = roofline.Analyse(l, roofline.Options{}).WhatIf(roofline.DRAM, roofline.FP32); !strings.HasSuffix(w.Text, "it is there") {
		t.Errorf("%s", w.Text)
	}
	l.Metrics["gpu__time_duration.sum"] = 0.5e-3
	r = roofline.Analyse(l, roofline.Options{})
	if w = r.WhatIf(roofline.DRAM, roofline.FP32); !strings.Contains(w.Text, "more than the 500 us it takes") || len(r.Notes) != 1 {
		t.Errorf("%s %q", w.Text, r.Notes)
	}
	// A kernel without work still has a roof of bytes.
	l = roofline.Launch{Metrics: map[string]float64{"gpu__time_duration.sum": 1e-3, "dram__bytes.sum": 4e8}}
	r = roofline.Analyse(l, roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: 800e9}})
	if all := r.WhatIfs(); len(all) != 1 || all[0].Text != "at the full bandwidth of DRAM this kernel would take 500 us instead of 1 ms, 2 times faster" {
		t.Errorf("%+v", all)
	}
	if all := roofline.Analyse(roofline.Launch{}, roofline.Options{}).WhatIfs(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}

// Balance points: 12.5e12 / 0.9e12 and 6.25e12 / 0.9e12. whole has 22.5 FP32
// and 0.005 FP64 flop per byte of DRAM.
func TestSides(t *testing.T) {
	r := roofline.Analyse(whole(), roofline.Options{})
	if b := r.Balance(roofline.DRAM, roofline.FP32); !near(b, 12.5/0.9) || r.Side(roofline.DRAM, roofline.FP32) != roofline.ComputeSide {
		t.Errorf("%v %s", b, r.Side(roofline.DRAM, roofline.FP32))
	}
	if r.Side(roofline.DRAM, roofline.FP64) != roofline.MemorySide || r.Side(roofline.L2, roofline.Int) != roofline.NoSide {
		t.Errorf("%s %s", r.Side(roofline.DRAM, roofline.FP64), r.Side(roofline.L2, roofline.Int))
	}
	// Exactly at the balance point the flat roof is reached.
	at := roofline.Launch{Metrics: map[string]float64{"time.duration": 1, "byte.dram": 4, "flop.fp32": 8}}
	r = roofline.Analyse(at, roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: 10}, Peak: map[roofline.Precision]float64{roofline.FP32: 20}})
	if r.Side(roofline.DRAM, roofline.FP32) != roofline.ComputeSide {
		t.Error("a kernel at the balance point is not on the compute side")
	}
	if l, q, ok := roofline.Analyse(whole(), roofline.Options{}).Near(); !ok || l != roofline.DRAM || !near(q, 0.72) {
		t.Errorf("nearest %s %v", l, q)
	}
}

// 10 SMs of 4 schedulers at 1.25 GHz issue 50e9 warp instructions/s. In 1 ms:
// 2e7 warp instructions are 2e10/s, 40 %; 24 of 32 threads at work; 4e8 byte of
// DRAM are 1.25e7 sectors, 1.6 instructions each; 4e6 loads and stores of global
// memory make 3.2e7 sectors, 8 each; 1e6 of shared memory 3.2e7 wavefronts, 32 each.
func TestInstructionRoofline(t *testing.T) {
	l := whole()
	for k, v := range map[string]float64{"smsp__inst_executed.sum": 2e7, "smsp__thread_inst_executed_pred_on.sum": 2e7 * 24,
		"device__attribute_multiprocessor_count":               10,
		"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum":       2e7,
		"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum":       1.2e7,
		"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum":      3e6,
		"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum":      1e6,
		"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum": 3e7, "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum": 2e6,
		"smsp__inst_executed_op_shared_ld.sum": 9e5, "smsp__inst_executed_op_shared_st.sum": 1e5} {
		l.Metrics[k] = v
	}
	i := roofline.Analyse(l, roofline.Options{}).Instr
	for _, c := range []struct {
		what string
		got  roofline.Quantity
		want float64
	}{
		{"rate", i.Rate, 2e10}, {"ceiling", i.Ceiling, 50e9}, {"used", i.Used, 0.4}, {"full warps", i.Full(), 0.75},
		{"DRAM sectors", i.Levels[roofline.DRAM].Count, 1.25e7}, {"DRAM intensity", i.Intensity(roofline.DRAM), 1.6},
		{"DRAM ceiling", i.Levels[roofline.DRAM].Ceiling, 0.9e12 / 32}, {"DRAM used", i.Levels[roofline.DRAM].Used, 4e8 / 1e-3 / 0.9e12},
		{"DRAM roof: 1.6 x 28.125e9 < 50e9", i.Roof(roofline.DRAM), 45e9},
		{"L1 intensity", i.Intensity(roofline.L1), 0.625}, {"L1 per access", i.PerAccess(roofline.L1), 8},
		{"shared memory's ceiling", i.Levels[roofline.Shared].Ceiling, 80 * 1.25e9}, {"shared memory per access", i.PerAccess(roofline.Shared), 32},
	} {
		if !near(c.got, c.want) {
			t.Errorf("%s: %v (%s), want %g", c.what, c.got, c.got.From, c.want)
		}
	}
	if p := i.Pattern(roofline.L1); p != "global memory takes 8 sectors per access (unit stride, 8 byte takes 8)" {
		t.Errorf("%q", p)
	}
	if p := i.Pattern(roofline.Shared); !strings.Contains(p, "32 wavefronts per access: bank conflicts") {
		t.Errorf("%q", p)
	}
	if i.Pattern(roofline.DRAM) != "" || roofline.Walls(roofline.L2) != nil || len(roofline.Walls(roofline.L1)) != 4 {
		t.Error("patterns of levels that have none")
	}
	if s := i.String(); !strings.Contains(s, "40.0 % of the issue slots, 24 of 32 threads at work") {
		t.Errorf("%s", s)
	}
	// Spilled registers are transactions of L1, but not of global memory's accesses.
	l.Metrics["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"], l.Metrics["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"] = 5e6, 3e6
	if s := roofline.Analyse(l, roofline.Options{}).Instr; !near(s.Levels[roofline.L1].Count, 4e7) || !near(s.PerAccess(roofline.L1), 8) {
		t.Errorf("with spills %v sectors, %v per access", s.Levels[roofline.L1].Count, s.PerAccess(roofline.L1))
	}
	// Two equal launches: twice the counts, the same rates.
	r := roofline.Analyse(l, roofline.Options{})
	j := roofline.ByKernel([]roofline.Result{r, r})[0].Instr
	if !near(j.Warps, 4e7) || !near(j.Used, 0.4) || !near(j.PerAccess(roofline.L1), 8) || !near(j.Levels[roofline.DRAM].Used, i.Levels[roofline.DRAM].Used.Value) {
		t.Errorf("%v", j)
	}
	df := roofline.Frame([]roofline.Result{r})
	if used, full := df.Col("issue_used").Float(), df.Col("full_warps").Float(); df.Err != nil || used[0] != 0.4 || full[0] != 0.75 {
		t.Errorf("%v", df)
	}
	// The issue slots are a limit like others: 2e7 / 50e9 s.
	found := false
	for _, m := range r.Limits() {
		found = found || m.Bound == roofline.Issue && near(m.Time, 4e-4)
	}
	if !found {
		t.Errorf("%v", r.Limits())
	}
	if n := roofline.Analyse(roofline.Launch{}, roofline.Options{}).Instr; n.Warps.OK || n.String() != "" || n.Rate.OK {
		t.Errorf("%v of nothing", n)
	}
}

func ExampleResult_WhatIf() {
	r := roofline.Analyse(roofline.Launch{Kernel: "copy", Metrics: map[string]float64{
		"time.duration": 2e-3, "byte.dram": 8e8, "byte.l2": 8e8, "flop.fp32": 1e8,
	}}, roofline.Options{
		Bandwidth: map[roofline.Level]float64{roofline.DRAM: 800e9, roofline.L2: 3.2e12},
		Peak:      map[roofline.Precision]float64{roofline.FP32: 15e12},
	})
	for _, w := range r.WhatIfs() {
		fmt.Println(w.Text)
	}
	// Output:
	// at the DRAM roof this kernel would take 1 ms instead of 2 ms, 2 times faster
	// at the L2 roof this kernel would take 250 us instead of 2 ms, 8 times faster
	// at the L2 roof, the next when DRAM is lifted, this kernel would take 250 us instead of 2 ms, 8 times faster
	// at the FP32 roof, the next when L2 is lifted, this kernel would take 6.67 us instead of 2 ms, 300 times faster
}
