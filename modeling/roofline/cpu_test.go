package roofline_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/likwid"
	_ "github.com/rooflab/rooflab/collectors/papi"
	_ "github.com/rooflab/rooflab/collectors/perfscript"
	_ "github.com/rooflab/rooflab/collectors/perfstat"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// read imports a text and returns the results of its kernels.
func read(t *testing.T, name, text string) map[string][]roofline.Result {
	t.Helper()
	s := emptyStore(t)
	if _, err := collectors.Import(t.Context(), s, name, strings.NewReader(text), collectors.Options{}); err != nil {
		t.Fatal(err)
	}
	return resultsOf(t, s, roofline.Options{})
}

// Two threads of a marker region, measured in two groups one after the other:
// FLOPS_DP took 2 s and MEM 1 s, so that MEM's volume counts twice.
const likwidRegions = `STRUCT,Info,3,,,
CPU name:,Some CPU @ 2.00GHz,,,,
CPU type:,Some architecture,,,,
CPU clock:,2.0 GHz,,,,
TABLE,Region triad,Group 1 Raw,FLOPS_DP,4
Region Info,HWThread 0,HWThread 1,,,
RDTSC Runtime [s],2.0,1.0,,,
call count,10,10,,,
Event,Counter,HWThread 0,HWThread 1,,
FP_ARITH_INST_RETIRED_128B_PACKED_DOUBLE,PMC0,100,0,,
FP_ARITH_INST_RETIRED_SCALAR_DOUBLE,PMC1,7,3,,
FP_ARITH_INST_RETIRED_256B_PACKED_DOUBLE,PMC2,1000,2000,,
FP_ARITH_INST_RETIRED_512B_PACKED_DOUBLE,PMC3,500,500,,
TABLE,Region triad,Group 1 Metric,FLOPS_DP,2
Metric,HWThread 0,HWThread 1,,,
Runtime (RDTSC) [s],2.0,1.0,,,
CPI,0.5,0.7,,,
STRUCT,Info,3,,,
CPU name:,Some CPU @ 2.00GHz,,,,
TABLE,Region triad,Group 2 Raw,MEM,4
Region Info,HWThread 0,HWThread 1,,,
RDTSC Runtime [s],1.0,1.0,,,
Event,Counter,HWThread 0,HWThread 1,,
CAS_COUNT_RD,MBOX0C0,1000,0,,
CAS_COUNT_RD,MBOX1C0,1100,0,,
CAS_COUNT_WR,MBOX0C1,500,0,,
CAS_COUNT_WR,MBOX1C1,600,0,,
`

func TestLikwidRegionsAreSumsOverThreads(t *testing.T) {
	rs := read(t, "marker.csv", likwidRegions)["triad"]
	if len(rs) != 1 {
		t.Fatalf("%d results of one region: %v", len(rs), rs)
	}
	r := rs[0]
	// 2*100 + 10 + 4*3000 + 8*1000 flop; 64 * (2100 + 1100) bytes in 1 s, twice that in 2 s.
	if !within(r.Work[roofline.FP64].Flop, 20210, 1e-12) || !within(r.Time, 2, 1e-12) || !within(r.Traffic[roofline.DRAM].Bytes, 2*64*3200, 1e-12) {
		t.Errorf("%v", r)
	}
	if q := r.Work[roofline.FP32].Flop; q.OK || !strings.Contains(q.From, "scalar_single") {
		t.Errorf("FP32, which was not counted: %v", q)
	}
}

// LIKWID's derived metrics alone: a rate of each thread over its own time. A
// thread whose volume is nan makes the sum unknown.
func TestLikwidMetrics(t *testing.T) {
	text := `TABLE,Region solve,Group 1 Metric,MEM_DP,5
Metric,HWThread 0,HWThread 2,,,
Runtime (RDTSC) [s],0.5,0.25,,,
DP [MFLOP/s],1200,400,,,
Memory data volume [GBytes],1.25,0,,,
L3 data volume [GBytes],1.5,nan,,,
L2 data volume [GBytes],2,1,,,
`
	r := read(t, "metrics.csv", text)["solve"][0]
	if !within(r.Work[roofline.FP64].Flop, 1200e6*0.5+400e6*0.25, 1e-12) || !within(r.Traffic[roofline.DRAM].Bytes, 1.25e9, 1e-12) || !within(r.Traffic[roofline.L2].Bytes, 3e9, 1e-12) {
		t.Errorf("%v", r)
	}
	if r.Traffic[roofline.L3].Bytes.OK {
		t.Errorf("L3 of one thread in two: %v", r.Traffic[roofline.L3].Bytes)
	}
	// Zen 2 and later: the event behind the rate counts all precisions.
	zen := "TABLE,Region k,Group 1 Raw,FLOPS_DP,1\nEvent,Counter,HWThread 0\nRETIRED_SSE_AVX_FLOPS_ALL,PMC2,1000\n" +
		"TABLE,Region k,Group 1 Metric,FLOPS_DP,2\nMetric,HWThread 0\nRuntime (RDTSC) [s],1\nDP [MFLOP/s],0.001\n"
	if q := read(t, "zen.csv", zen)["k"][0].Work; !within(q[roofline.FP64].Flop, 1000, 1e-12) || !q[roofline.FP64].Flop.Estimate() || q[roofline.FP32].Flop.OK {
		t.Errorf("%v and %v", q[roofline.FP64].Flop, q[roofline.FP32].Flop)
	}
}

// perf stat of a command: 2 + 2*10 + 4*100 + 8*1000 flop, counted in user mode;
// 10 and 5 MiB at two controllers; 0.5 s.
func TestPerfStat(t *testing.T) {
	text := `# started on Sun Nov 29 12:00:00 2026

2,,fp_arith_inst_retired.scalar_double:u,500000000,100.00,,
10,,fp_arith_inst_retired.128b_packed_double:u,500000000,100.00,,
100,,fp_arith_inst_retired.256b_packed_double:u,500000000,100.00,,
1000,,fp_arith_inst_retired.512b_packed_double:u,500000000,100.00,,
<not supported>,,fp_arith_inst_retired.scalar_single:u,0,100.00,,
10,MiB,uncore_imc_0/cas_count_read/,500000000,100.00,,
5,MiB,uncore_imc_1/cas_count_read/,500000000,100.00,,
1,MiB,uncore_imc_0/cas_count_write/,500000000,100.00,,
2000,,LLC-load-misses,500000000,100.00,,
500000000,ns,duration_time,500000000,100.00,,
`
	rs := read(t, "perf.csv", text)
	if len(rs) != 1 {
		t.Fatalf("%v", rs)
	}
	for _, r := range rs {
		if !within(r[0].Work[roofline.FP64].Flop, 8422, 1e-12) || !within(r[0].Traffic[roofline.DRAM].Bytes, 16<<20, 1e-12) || !within(r[0].Time, 0.5, 1e-12) {
			t.Errorf("%v", r[0])
		}
		if q := r[0].Work[roofline.FP32].Flop; q.OK {
			t.Errorf("what is not supported is not 0: %v", q)
		}
	}
}

// perf script: samples stand for their periods, and cpu-clock's for time on a
// processor.
func TestPerfScriptOfEvents(t *testing.T) {
	sample := func(event string, period int) string {
		return fmt.Sprintf("prog 12/12 100.000001:  %d %s: \n\t   401136 triad+0x16 (/tmp/prog)\n\t   401200 main+0x10 (/tmp/prog)\n\n", period, event)
	}
	var text string
	for range 3 {
		text += sample("fp_arith_inst_retired.scalar_double:u", 100000) + sample("fp_arith_inst_retired.128b_packed_double:u", 1000) +
			sample("fp_arith_inst_retired.256b_packed_double:u", 500) + sample("cpu-clock:u", 250000)
	}
	r := read(t, "script.txt", text)["triad"][0]
	// 3 * (100000 + 2*1000 + 4*500) flop in 3 * 250 us
	if !within(r.Work[roofline.FP64].Flop, 312000, 1e-12) || !within(r.Time, 750e-6, 1e-12) || !r.Time.Estimate() || !strings.Contains(strings.Join(r.Notes, " "), "samples") {
		t.Errorf("%v; time %v (%s); notes %q", r, r.Time, r.Time.From, r.Notes)
	}
}

// PAPI's regions: threads that visit a region at a time are one measurement,
// visits one after the other join to their sum.
func TestPAPIRegions(t *testing.T) {
	visit := func(ns, flop, misses string) string {
		return `{"name":"solve","parent_region_id":"-1","cycles":"12","real_time_nsec":"` + ns + `","PAPI_DP_OPS":{"region_value":"` + flop + `","read_1":"5"},"PAPI_L3_TCM":"` + misses + `"}`
	}
	text := `{"papi_version":"7.0.0.0","cpu_info":"Some CPU","event_definitions":{"PAPI_DP_OPS":{"component":"perf_event","type":"delta"}},
"threads":{"0":{"regions":{"0":` + visit("1000", "500", "7") + `,"1":` + visit("3000", "700", "8") + `}},
"1":{"regions":{"0":` + visit("2000", "50", "1") + `,"1":` + visit("1000", "70", "2") + `}}}}`
	rs := read(t, "rank_000000.json", text)["solve"]
	if len(rs) != 2 || !within(rs[0].Time, 2e-6, 1e-12) || !within(rs[0].Work[roofline.FP64].Flop, 550, 1e-12) {
		t.Fatalf("%d visits: %v", len(rs), rs)
	}
	r := roofline.ByKernel(rs)[0]
	if !within(r.Work[roofline.FP64].Flop, 1320, 1e-12) || !within(r.Time, 5e-6, 1e-12) || !within(r.Traffic[roofline.DRAM].Bytes, 64*18, 1e-12) || !r.Traffic[roofline.DRAM].Bytes.Estimate() || !strings.HasPrefix(r.Why, "an estimate") {
		t.Errorf("%v", r)
	}
}

func analyse(metrics map[string]float64) roofline.Result {
	return roofline.Analyse(roofline.Launch{Kernel: "k", Metrics: metrics}, roofline.Options{})
}

func TestProcessorEvents(t *testing.T) {
	fp64 := func(r roofline.Result) roofline.Quantity { return r.Work[roofline.FP64].Flop }
	fp32 := func(r roofline.Result) roofline.Quantity { return r.Work[roofline.FP32].Flop }
	at := func(l roofline.Level) func(roofline.Result) roofline.Quantity {
		return func(r roofline.Result) roofline.Quantity { return r.Traffic[l].Bytes }
	}
	for _, c := range []struct {
		name     string
		metrics  map[string]float64
		of       func(roofline.Result) roofline.Quantity
		want     float64
		estimate bool
		says     string
	}{
		{"Intel single: 1 + 4*10 + 8*100", map[string]float64{"fp_arith_inst_retired.scalar_single": 1, "fp_arith_inst_retired.128b_packed_single": 10, "fp_arith_inst_retired.256b_packed_single": 100}, fp32, 841, false, "512-bit"},
		{"both kinds of cores", map[string]float64{"cpu_core/fp_arith_inst_retired.scalar_double/": 5, "cpu_atom/fp_arith_inst_retired.scalar_double/": 6, "fp_arith_inst_retired.128b_packed_double": 0, "fp_arith_inst_retired.256b_packed_double": 0}, fp64, 11, false, "cpu_atom"},
		{"Sandy Bridge: 1 + 2*10 + 4*100", map[string]float64{"FP_COMP_OPS_EXE_SSE_FP_SCALAR_DOUBLE": 1, "FP_COMP_OPS_EXE_SSE_FP_PACKED_DOUBLE": 10, "SIMD_FP_256_PACKED_DOUBLE": 100}, fp64, 421, false, ""},
		{"Zen, all precisions", map[string]float64{"fp_ret_sse_avx_ops.all": 77}, fp64, 77, true, "all precisions"},
		{"Zen 1", map[string]float64{"RETIRED_SSE_AVX_FLOPS_DOUBLE_ALL": 78}, fp64, 78, false, ""},
		{"A64FX without SVE", map[string]float64{"FP_DP_FIXED_OPS_SPEC": 9, "FP_DP_SCALE_OPS_SPEC": 0}, fp64, 9, false, ""},
		{"Neoverse", map[string]float64{"fp_fixed_ops_spec": 12, "fp_scale_ops_spec": 0}, fp64, 12, true, "all precisions"},
		{"PAPI", map[string]float64{"PAPI_DP_OPS": 13}, fp64, 13, false, ""},
		{"PAPI in Caliper", map[string]float64{"sum#papi.PAPI_SP_OPS": 14}, fp32, 14, false, ""},
		{"PAPI's L3 misses", map[string]float64{"PAPI_L3_TCM": 10}, at(roofline.DRAM), 640, true, "lower bound"},
		{"PAPI's L1 misses", map[string]float64{"PAPI_L1_DCM": 10}, at(roofline.L2), 640, true, "lower bound"},
		{"PAPI's accesses", map[string]float64{"PAPI_LD_INS": 10, "PAPI_SR_INS": 5}, at(roofline.L1), 120, true, "8 bytes"},
		{"last level", map[string]float64{"LLC-load-misses": 10, "LLC-store-misses": 1}, at(roofline.DRAM), 704, true, "lower bound"},
		{"cache-misses", map[string]float64{"cache-misses:u": 10}, at(roofline.DRAM), 640, true, "lower bound"},
		{"the memory controller before the cache", map[string]float64{"cache-misses": 10, "CAS_COUNT_RD": 100, "CAS_COUNT_WR": 20}, at(roofline.DRAM), 7680, false, ""},
		{"Valgrind's last level", map[string]float64{"Ir": 100, "Dr": 50, "Dw": 25, "D1mr": 8, "D1mw": 4, "DLmr": 2, "DLmw": 1}, at(roofline.DRAM), 192, true, "simulated"},
		{"Valgrind's first level", map[string]float64{"Ir": 100, "Dr": 50, "Dw": 25, "D1mr": 8, "D1mw": 4, "DLmr": 2, "DLmw": 1}, at(roofline.L2), 768, true, "simulated"},
		{"Valgrind's accesses", map[string]float64{"Ir": 100, "Dr": 50, "Dw": 25}, at(roofline.L1), 600, true, "8 bytes"},
	} {
		r := analyse(c.metrics)
		got := c.of(r)
		if !within(got, c.want, 1e-12) || got.Estimate() != c.estimate || !strings.Contains(got.From+strings.Join(r.Notes, " "), c.says) {
			t.Errorf("%s: %v, want %g; from %q", c.name, got, c.want, got.From)
		}
	}
	// What makes an estimate stands apart from the formula, in rates too.
	r := analyse(map[string]float64{"cache-misses": 10, "duration_time": 2})
	if q := r.Traffic[roofline.DRAM].Rate; q.Formula() != "64 x cache-misses / duration_time" || !q.Estimate() || r.Time.Formula() != "duration_time" || r.Time.Estimate() {
		t.Errorf("%q of %q", q.Formula(), q.From)
	}
	for name, m := range map[string]map[string]float64{
		"fp_dp_scale_ops_spec":       {"FP_DP_FIXED_OPS_SPEC": 9, "FP_DP_SCALE_OPS_SPEC": 4},
		"256b_packed_double":         {"fp_arith_inst_retired.scalar_double": 5, "fp_arith_inst_retired.128b_packed_double": 5},
		"rooflab collect llvm":       {"Ir": 100, "Dr": 1, "Dw": 1},
		"scalar_double is no number": {"fp_arith_inst_retired.scalar_double": math.NaN(), "fp_arith_inst_retired.128b_packed_double": 1, "fp_arith_inst_retired.256b_packed_double": 1},
	} {
		if got := fp64(analyse(m)); got.OK || !strings.Contains(strings.ToLower(got.From), name) {
			t.Errorf("%v: %v does not say %q", m, got, name)
		}
	}
}

// families are complete counters of each family, no quantity of which has a
// second way.
func families() map[string]map[string]float64 {
	intel := map[string]float64{"duration_time": 0.5, "CAS_COUNT_RD": 1e6, "CAS_COUNT_WR": 5e5, "l2_lines_in.all": 2e6, "l2_trans.l2_wb": 1e6, "l1d.replacement": 3e6, "l1d.m_evict": 1e6,
		"mem_inst_retired.all_loads": 1e7, "mem_inst_retired.all_stores": 5e6}
	for i, width := range []string{"scalar", "128b_packed", "256b_packed"} {
		intel["fp_arith_inst_retired."+width+"_double"] = float64(1000 * (i + 1))
		intel["fp_arith_inst_retired."+width+"_single"] = float64(500 * (i + 1))
	}
	return map[string]map[string]float64{
		"MI200": mi200().Metrics, "MI300": mi300().Metrics, "Intel": intel,
		"LIKWID": {"Runtime (RDTSC) [s]": 2, "DP [MFLOP/s]": 1e9, "SP [MFLOP/s]": 2e9, "Memory data volume [GBytes]": 3e9, "L3 data volume [GBytes]": 4e9, "L2 data volume [GBytes]": 5e9},
		"PAPI":   {"real_time_nsec": 1.5, "PAPI_DP_OPS": 1e9, "PAPI_SP_OPS": 2e9, "PAPI_L3_TCM": 1e6, "PAPI_L2_TCM": 2e6, "PAPI_L1_DCM": 3e6, "PAPI_LST_INS": 4e8},
		"Valgrind": {"Ir": 100, "Dr": 50, "Dw": 25, "D1mr": 8, "D1mw": 4, "DLmr": 2, "DLmw": 1, "estimate_flop_fp64": 20, "estimate_flop_fp32": 10,
			"run.wall_time": 0.1},
	}
}

func valuesOf(r roofline.Result) []roofline.Quantity {
	qs := []roofline.Quantity{r.Time, r.SM}
	for i := range r.Work {
		qs = append(qs, r.Work[i].Flop, r.Work[i].Rate)
	}
	for i := range r.Traffic {
		qs = append(qs, r.Traffic[i].Bytes, r.Traffic[i].Rate)
	}
	return qs
}

// Whatever counter is taken away or is no number, every quantity stays as it
// was or becomes unknown, and one that is unknown names what is missing.
func TestAMissingCounterOfAnyFamilyIsNeverZero(t *testing.T) {
	for name, metrics := range families() {
		full := valuesOf(analyse(metrics))
		// These say how a quantity is read or divided, or are one of several
		// ways, and have a stated default.
		optional := []string{"Ir", "machine.units", "SQ_ACTIVE_INST_SCA", "SQ_VALU_MFMA_BUSY_CYCLES", "TCC_BUBBLE_sum"}
		for metric := range metrics {
			for _, broken := range []bool{false, true} {
				m := maps.Clone(metrics)
				delete(m, metric)
				if broken {
					m[metric] = math.NaN()
				}
				changed := 0
				for i, q := range valuesOf(analyse(m)) {
					switch {
					case q.OK && strings.Contains(q.From, "a lower bound") && !strings.Contains(full[i].From, "a lower bound"):
						changed++ // and says so
					case q.OK && (!full[i].OK || math.Abs(q.Value-full[i].Value) > 1e-9*math.Abs(full[i].Value)) && !slices.Contains(optional, metric):
						t.Errorf("%s without %s: %v (%s) instead of %v", name, metric, q, q.From, full[i])
					case !q.OK && full[i].OK:
						changed++
						if q.From == "" {
							t.Errorf("%s without %s: unknown without a reason", name, metric)
						}
					}
				}
				if changed == 0 && !slices.Contains(optional, metric) {
					t.Errorf("%s: nothing needs %s", name, metric)
				}
			}
		}
	}
}

// Twice the work in twice the time is the same rate; halves of a kernel join
// to the whole; neither the order of launches nor that of a map matters.
func TestScalingAndSplittingOfAnyFamily(t *testing.T) {
	isTime := map[string]bool{"duration": true, "duration_time": true, "Runtime (RDTSC) [s]": true, "real_time_nsec": true, "run.wall_time": true}
	fixed := map[string]bool{"machine.units": true, "DP [MFLOP/s]": true, "SP [MFLOP/s]": true}
	rng := rand.New(rand.NewPCG(7, 8))
	for name, metrics := range families() {
		for range 50 {
			whole, part := map[string]float64{}, map[string]float64{}
			stretch := math.Exp(rng.NormFloat64())
			for k, v := range metrics {
				whole[k] = v * stretch
				if isTime[k] {
					whole[k] = v * 3 * stretch
				}
				if fixed[k] {
					whole[k] = v
				}
				part[k] = whole[k] / 2
				if fixed[k] {
					part[k] = v
				}
			}
			a, b := analyse(whole), analyse(part)
			if !reflectsSame(valuesOf(a), valuesOf(analyse(whole))) {
				t.Fatalf("%s: two readings differ", name)
			}
			joined := roofline.ByKernel([]roofline.Result{b, b})[0]
			for i := range a.Work {
				if q, j := a.Work[i], joined.Work[i]; q.Flop.OK != j.Flop.OK || q.Flop.OK && (!within(j.Flop, q.Flop.Value, 1e-9) || q.Rate.OK && !within(b.Work[i].Rate, q.Rate.Value, 1e-9)) {
					t.Fatalf("%s, %s: %v, joined %v", name, q.Precision, q, j)
				}
			}
			for i := range a.Traffic {
				if q, j := a.Traffic[i], joined.Traffic[i]; q.Bytes.OK != j.Bytes.OK || q.Bytes.OK && (!within(j.Bytes, q.Bytes.Value, 1e-9) || q.Rate.OK && !within(b.Traffic[i].Rate, q.Rate.Value, 1e-9)) {
					t.Fatalf("%s, %s: %v, joined %v", name, q.Level, q, j)
				}
			}
			if joined.Bound != a.Bound {
				t.Fatalf("%s: %s and %s", name, joined.Why, a.Why)
			}
		}
	}
}

func reflectsSame(a, b []roofline.Quantity) bool {
	return slices.EqualFunc(a, b, func(x, y roofline.Quantity) bool {
		return x.OK == y.OK && x.From == y.From && (!x.OK || math.Abs(x.Value-y.Value) <= 1e-12*math.Abs(x.Value))
	})
}

// Ceilings follow the threads that ran: one core's for one, as many as ran, and
// never more than all processors reach.
func TestCeilingsFollowThreads(t *testing.T) {
	text := func(threads int) string {
		cells := func(v string) string { return strings.Repeat(","+v, threads) }
		names := ""
		for i := range threads {
			names += ",HWThread " + string(rune('0'+i))
		}
		return "CPU name:,Some CPU\nTABLE,Region k,Group 1 Metric,MEM_DP,3\nMetric" + names + "\nRuntime (RDTSC) [s]" + cells("1") + "\nDP [MFLOP/s]" + cells("100") + "\nMemory data volume [GBytes]" + cells("1") + "\n"
	}
	for threads, want := range map[int]float64{1: 10e9, 2: 20e9, 4: 25e9} {
		s := emptyStore(t)
		if _, err := collectors.Import(t.Context(), s, "k.csv", strings.NewReader(text(threads)), collectors.Options{}); err != nil {
			t.Fatal(err)
		}
		put(t, s, "machine",
			&datasets.Machine{ID: 1, Host: "probed", CPU: "Some CPU"}, &datasets.Run{ID: 1, Machine: 1, Tool: "rooflab", Format: "machine", Status: datasets.RunOK},
			&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram", Value: 25e9, Unit: "byte/s", Measured: true},
			&datasets.Ceiling{Machine: 1, Run: 1, Level: "dram.core", Value: 10e9, Unit: "byte/s", Measured: true})
		r := resultsOf(t, s, roofline.Options{})["k"][0]
		if got := r.Traffic[roofline.DRAM].Ceiling; !within(got, want, 1e-12) || !strings.Contains(got.From, "measured on a machine with this processor") {
			t.Errorf("%d threads: %v (%s), want %g", threads, got, got.From, want)
		}
	}
}

// put writes records as an import of their own.
func put(t *testing.T, s *datasets.Store, name string, records ...datasets.Record) {
	t.Helper()
	im, err := s.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := im.Commit(datasets.Artefact{Path: name, SHA256: strings.Repeat(name[:1], 64)[:64], Kind: name}); err != nil {
		t.Fatal(err)
	}
}
