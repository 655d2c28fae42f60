package roofline

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// cpu reads the counters of processors: LIKWID's events and derived metrics,
// perf's events, PAPI's presets, and the simulated caches of Callgrind and
// Cachegrind. Names differ in case and punctuation alone between perf
// ("fp_arith_inst_retired.scalar_double:u") and LIKWID
// ("FP_ARITH_INST_RETIRED_SCALAR_DOUBLE"), so that one spelling serves both.
type cpu struct {
	opt      Options
	counters counters            // by plain name
	names    map[string][]string // the tool's names behind it
}

// line is the bytes of a cache line of every processor that these events are of
// (A64FX and POWER, whose lines are longer, are read from LIKWID's volumes).
const line = 64

var (
	cpuCounter = regexp.MustCompile(`^(fp_arith_inst|fp_comp_ops_exe_|simd_fp_256_|(papi|rdtsc|retired_sse_avx|fp_ret_sse_avx)_|runtime \(rdtsc\)|rdtsc runtime|instr_retired_any|` +
		`instructions$|cycles$|cpu_cycles$|task_clock$|cpu_clock$|cache_misses$|llc_|duration_time$|ir$|d[rw]$|d[1l]m[rw]$|longest_lat_cache|l1d_replacement|l2_lines|` +
		`cas_count|unc_m_cas|(fp|ase|vfp)_.*spec$|memory (data volume|bandwidth)|[sd]p .*mflop/s)`)
	modifiers = regexp.MustCompile(`:[ukhGHpPSDIWe]+$`)
	imcBox    = regexp.MustCompile(`^uncore_imc(?:_free_running)?(?:_\d+)?/(.*?)/?$`)
	pmu       = regexp.MustCompile(`^(?:cpu|cpu_core|cpu_atom|armv\w+)/(.*?)/?$`)
)

// plainName is an event's name without unit of the processor, modifiers and
// punctuation.
func plainName(name string) string {
	name = modifiers.ReplaceAllString(name, "")
	if m := pmu.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if m := imcBox.FindStringSubmatch(name); m != nil {
		name = m[1]
	}
	if i := strings.Index(name, "PAPI_"); i >= 0 { // Caliper: "sum#papi.PAPI_DP_OPS"
		name = name[i:]
	}
	return strings.NewReplacer(".", "_", "-", "_").Replace(strings.ToLower(name))
}

// newCPU sums what is one event under several names: those of the boxes of a
// memory controller, of a processor's two kinds of cores. One value that is
// none makes the sum unknown.
func newCPU(metrics counters, opt Options) cpu {
	c := cpu{opt: opt, counters: counters{}, names: map[string][]string{}}
	for name := range metrics {
		plain := plainName(name)
		c.names[plain] = append(c.names[plain], name)
	}
	for plain, names := range c.names {
		slices.Sort(names)
		for _, n := range names {
			v, no := metrics.get(n)
			if no != "" {
				v = math.NaN()
			}
			c.counters[plain] += v
		}
	}
	return c
}

func isCPU(metrics map[string]float64) bool {
	for name := range metrics {
		if cpuCounter.MatchString(plainName(name)) {
			return true
		}
	}
	return false
}

// family is the source for the tool that counted.
func family(c counters, opt Options) source {
	switch {
	case isNVIDIA(c):
		return nvidia{c, opt}
	case isAMD(c):
		return amd{c, opt}
	case isCPU(c):
		return newCPU(c, opt)
	}
	return nvidia{c, opt}
}

// get is an event, by the tool's own name.
func (c cpu) get(plain string) Quantity {
	if v, no := c.counters.get(plain); no == "" {
		return known(v, strings.Join(c.names[plain], " + "))
	}
	if c.names[plain] != nil {
		return missing(strings.Join(c.names[plain], " + ") + " is no number")
	}
	return missing(plain + notMeasured)
}

// all is weight x the sum of events that must all be there.
func (c cpu) all(weight float64, names ...string) Quantity {
	q := c.get(names[0])
	for _, n := range names[1:] {
		q = plus(q, c.get(n))
	}
	return times(weight, q)
}

func (c cpu) first(names ...string) Quantity {
	qs := make([]Quantity, len(names))
	for i, n := range names {
		qs[i] = c.get(n)
	}
	return best(qs...)
}

// time is the wall-clock time: LIKWID's of the slowest thread, PAPI's, perf's,
// or, for a simulation, that of another run of the same function.
func (c cpu) time() Quantity {
	q := best(c.first("runtime (rdtsc) [s]", "rdtsc runtime [s]", "real_time_nsec", "duration_time", plainName(wallFact), plainName(TimeCounter), "duration"),
		c.opt.launch.ownTime(), ratio(c.get("task_clock"), c.get(plainName(threadsFact))), c.onProcessor())
	if q.OK && !(q.Value > 0) {
		return missing(q.From + " is not positive")
	}
	if c.simulated() && !q.OK {
		return missing("a simulation tells no time, and no run in the store timed this function")
	}
	return asking(q, "duration_time (perf), Runtime (RDTSC) [s] (LIKWID) or real_time_nsec (PAPI)")
}

// asking names what to measure where nothing is, in the words of each tool.
func asking(q Quantity, what string) Quantity {
	if !q.OK && strings.HasSuffix(q.From, notMeasured) {
		return missing(what + notMeasured)
	}
	return q
}

// onProcessor is the time that perf's samples of cpu-clock or task-clock stand
// for, which is that of one thread.
func (c cpu) onProcessor() Quantity {
	q := c.first("cpu_clock", "task_clock")
	if !q.OK || c.names["samples"] == nil {
		return missing("duration_time" + notMeasured)
	}
	return q.estimated("sampled, without the time that the thread waited")
}

// flop counts operations. Intel's FP_ARITH_INST_RETIRED counts a fused
// multiply-add as two, so that lanes are the only weight (Intel SDM, volume 3,
// performance events; LIKWID's groups FLOPS_DP and FLOPS_SP).
func (c cpu) flop(p Precision) Quantity {
	short, word, lanes := "dp", "double", 1.0
	switch p {
	case FP64:
	case FP32:
		short, word, lanes = "sp", "single", 2
	default:
		return missing("no counter of the processor gives it")
	}
	if c.simulated() {
		if q := c.get(estimatedFlop[p]); q.OK {
			return q.estimated("flop of the lines of the IR times their executions under Valgrind")
		}
		return missing("a simulation counts no flop, and the store has no IR of this function whose lines were executed: rooflab collect llvm --source FILE, rooflab collect valgrind --instructions")
	}
	if q := c.get("fp_" + short + "_scale_ops_spec"); q.Value > 0 {
		return c.arm(short)
	}
	ways := []Quantity{
		c.mixed(p, product(c.first(short+" [mflop/s]", short+" mflop/s"), c.time())),
		c.all(1, "fp_ret_sse_avx_ops_"+short+"_add_sub_flops", "fp_ret_sse_avx_ops_"+short+"_mult_flops", "fp_ret_sse_avx_ops_"+short+"_div_flops", "fp_ret_sse_avx_ops_"+short+"_mult_add_flops"),
		c.get("retired_sse_avx_flops_" + word + "_all"),
		c.get("papi_" + short + "_ops"),
		c.arm(short),
		c.older(word, lanes),
	}
	if scale := c.get("fp_scale_ops_spec"); p == FP64 {
		for _, both := range []string{"fp_ret_sse_avx_ops_all", "retired_sse_avx_flops_all", "papi_fp_ops", "fp_fixed_ops_spec"} {
			if both == "fp_fixed_ops_spec" && scale.Value > 0 {
				continue // SVE, of a vector length that is not known
			}
			ways = append(ways, c.get(both).estimated("it counts all precisions, which are taken as FP64"))
		}
	}
	return best(append([]Quantity{c.intel(word, lanes)}, ways...)...) // where none is known, Intel's events are named
}

// mixed marks LIKWID's rate where the event behind it counts all precisions:
// AMD Zen 2 and later cannot tell them apart (LIKWID, groups zen2 and zen3
// FLOPS_DP).
func (c cpu) mixed(p Precision, q Quantity) Quantity {
	if q.OK && c.get("retired_sse_avx_flops_all").OK {
		if p != FP64 {
			return missing("RETIRED_SSE_AVX_FLOPS_ALL counts all precisions; they are given as FP64")
		}
		return q.estimated("it counts all precisions, which are taken as FP64")
	}
	return q
}

// intel sums the widths. A processor without AVX-512 has no event for 512 bits;
// the others must be there.
func (c cpu) intel(word string, lanes float64) Quantity {
	e := "fp_arith_inst_retired_"
	q := plus(plus(c.get(e+"scalar_"+word), times(2*lanes, c.get(e+"128b_packed_"+word))), times(4*lanes, c.get(e+"256b_packed_"+word)))
	if wide := times(8*lanes, c.get(e+"512b_packed_"+word)); q.OK && wide.OK {
		return plus(q, wide)
	}
	return q // remarks says so
}

// older is Sandy Bridge's and Ivy Bridge's.
func (c cpu) older(word string, lanes float64) Quantity {
	e := "fp_comp_ops_exe_sse_fp_"
	return plus(plus(c.get(e+"scalar_"+word), times(2*lanes, c.get(e+"packed_"+word))), times(4*lanes, c.get("simd_fp_256_packed_"+word)))
}

// arm is operations of fixed width and of SVE, whose events count per 128 bits
// of vector length, which no counter gives: known where there were none.
func (c cpu) arm(short string) Quantity {
	fixed, scale := c.get("fp_"+short+"_fixed_ops_spec"), c.get("fp_"+short+"_scale_ops_spec")
	if fixed.OK && scale.OK && scale.Value > 0 {
		return missing(scale.From + " counts SVE operations per 128 bits of a vector length that is not known")
	}
	if fixed.OK && !scale.OK {
		return fixed // remarks says so
	}
	return plus(fixed, scale)
}

// bytes is traffic between a level and the one nearer to the core: of L2 what
// L1 takes from it and gives back.
func (c cpu) bytes(l Level) Quantity {
	if c.simulated() {
		return c.simulatedBytes(l)
	}
	volume := func(level string) []Quantity {
		return []Quantity{c.first(level+" data volume [gbytes]", level+" data volume [gbyte]"), product(c.first(level+" bandwidth [mbytes/s]", level+" bandwidth [mbyte/s]"), c.time())}
	}
	switch l {
	case DRAM:
		return asking(best(append(volume("memory"),
			c.all(line, "cas_count_rd", "cas_count_wr"), c.all(1, "cas_count_read [byte]", "cas_count_write [byte]"), c.all(1, "unc_m_cas_count_rd [byte]", "unc_m_cas_count_wr [byte]"),
			c.all(line, "cas_count_read", "cas_count_write"), c.all(line, "unc_m_cas_count_rd", "unc_m_cas_count_wr"),
			c.atLeast("papi_l3_tcm"), c.atLeast("llc_load_misses", "llc_store_misses"), c.atLeast("llc_load_misses"), c.atLeast("longest_lat_cache_miss"), c.atLeast("cache_misses"))...),
			"CAS_COUNT_RD and CAS_COUNT_WR (LIKWID, group MEM), uncore_imc/cas_count_read/ and /cas_count_write/ (perf), PAPI_L3_TCM or another count of the last cache's misses")
	case L3:
		return asking(best(append(volume("l3"), c.all(line, "l2_lines_in_all", "l2_trans_l2_wb"), c.atLeast("l2_lines_in_all"), c.atLeast("papi_l2_tcm"))...),
			"L3 data volume [GBytes] (LIKWID, group L3), l2_lines_in.all and l2_trans.l2_wb (perf) or PAPI_L2_TCM")
	case L2:
		return asking(best(append(volume("l2"), c.all(line, "l1d_replacement", "l1d_m_evict"), c.atLeast("l1d_replacement"), c.atLeast("papi_l1_dcm"), c.atLeast("l1_dcache_load_misses"))...),
			"L2 data volume [GBytes] (LIKWID, group L2), l1d.replacement (perf) or PAPI_L1_DCM")
	case L1:
		for _, accesses := range [][]string{{"papi_lst_ins"}, {"papi_ld_ins", "papi_sr_ins"}, {"mem_inst_retired_all_loads", "mem_inst_retired_all_stores"}} {
			if q := c.all(8, accesses...); q.OK {
				return q.estimated("the size of an access is not counted, and taken as 8 bytes")
			}
		}
		return missing("mem_inst_retired.all_loads and .all_stores (perf) or PAPI_LST_INS" + notMeasured)
	}
	return missing("no such level")
}

// atLeast is a lower bound: lines that were missed, without what prefetchers
// brought and what was written back.
func (c cpu) atLeast(misses ...string) Quantity {
	return c.all(line, misses...).estimated("a lower bound: prefetched and written-back lines are not in it")
}

func (cpu) peak(Precision) Quantity {
	return missing("no counter of the processor gives a ceiling (rooflab collect machine measures it)")
}
func (cpu) bandwidth(Level) Quantity {
	return missing("no counter of the processor gives a ceiling (rooflab collect machine measures it)")
}
func (cpu) busy() Quantity { return missing("no counter of the processor gives the use of its ports") }

func (cpu) uncounted() []string { return nil }

func (c cpu) remarks() []string {
	var out []string
	has := func(plain string) bool { return c.names[plain] != nil }
	for _, word := range []string{"double", "single"} {
		if has("fp_arith_inst_retired_scalar_"+word) && !has("fp_arith_inst_retired_512b_packed_"+word) {
			out = append(out, "512-bit instructions ("+word+") were not counted: right on processors without AVX-512")
		}
	}
	for _, arm := range []string{"fp_dp", "fp_sp", "fp"} {
		if has(arm+"_fixed_ops_spec") && !has(arm+"_scale_ops_spec") {
			out = append(out, "SVE instructions were not counted ("+arm+"_scale_ops_spec): right on processors without SVE")
		}
	}
	if has("cas_count_rd") || has("unc_m_cas_count_rd") || has("cas_count_read [byte]") || has("memory data volume [gbytes]") {
		out = append(out, "DRAM traffic is that of the whole socket, whoever caused it: memory controllers do not tell")
	}
	if has("samples") {
		out = append(out, "counts are of samples, each of which stands for a period of its event")
	}
	if run, ok := c.counters[plainName(wallRunFact)]; ok {
		out = append(out, fmt.Sprintf("the time is that of this function in run %g, not of the simulation", run))
	}
	if _, known := c.counters[plainName(threadsFact)]; !known {
		out = append(out, "how many threads ran is not known: ceilings of the machine are those of all its processors")
	}
	return out
}
