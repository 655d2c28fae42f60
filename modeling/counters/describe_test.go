package counters_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/perfstat"
	_ "github.com/rooflab/rooflab/collectors/rocprofcompute"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/counters"
)

func TestDescribe(t *testing.T) {
	for _, c := range []struct{ name, text, unit, source string }{
		{"dram__sectors_read.sum", "sectors of 32 bytes for reads, at device memory, summed over all units", "sector", "NVIDIA"},
		{"smsp__inst_executed.sum", "instructions executed, counted once for each warp, at the SMs' sub-partitions, summed over all units", "warp instruction", "NVIDIA"},
		{"smsp__sass_thread_inst_executed_op_fp32_pred_on.sum", "FP32 instructions, counted once for each thread that was not predicated off", "thread instruction", "NVIDIA"},
		{"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "requests for loads in global memory, one for each", "request", "NVIDIA"},
		{"lts__t_sectors_srcunit_tex_op_read_lookup_miss.sum", "sectors of 32 bytes for reads that missed, coming from L1, at the L2 cache", "sector", "NVIDIA"},
		{"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum", "bank conflicts for stores in shared memory", "pass", "NVIDIA"},
		{"sm__warps_active.avg.pct_of_peak_sustained_active", "achieved occupancy, at the streaming multiprocessors, mean over the units, in percent of the peak while active", "%", "NVIDIA"},
		{"dram__bytes_write.sum.per_second", "bytes moved for writes, at device memory, summed over all units, per second", "byte/s", "NVIDIA"},
		{"smsp__warps_issue_stalled_long_scoreboard.avg", "because of data from L1, L2 or device memory", "warp", "NVIDIA"},
		{"smsp__inst_executed_pipe_xu.sum", "the transcendental and conversion (XU) pipeline", "warp instruction", "NVIDIA"},
		{"lts__odd_thing.max", "odd thing, at the L2 cache, of the unit with the most", "", "NVIDIA"},
		{"gld_transactions", "transactions: gld", "transaction", "nvprof"},
		{"achieved_occupancy", "achieved occupancy", "", "nvprof"},
		{"SQ_INSTS_VALU", "vector arithmetic instructions", "wavefront instruction", "AMD"},
		{"SQ_INSTS_VALU_FMA_F64", "vector FMA instructions in F64", "wavefront instruction", "AMD"},
		{"TCC_HIT_sum", "L2 lookups that hit", "request", "AMD"},
		{"TCC_MISS[3]", "L2 lookups that missed", "request", "AMD"},
		{"TCC_EA_RDREQ_32B_sum", "reads of 32 bytes from L2 to memory", "request", "AMD"},
		{"FETCH_SIZE", "data read from memory", "kilobyte", "AMD"},
		{"VALUUtilization", "divergence", "%", "AMD"},
		{"PAPI_L2_DCM", "data accesses that missed L2", "miss", "PAPI"},
		{"PAPI_DP_OPS", "double-precision operations", "flop", "PAPI"},
		{"instructions:u", "instructions completed", "instruction", "perf"},
		{"LLC-load-misses", "loads that missed LLC", "miss", "perf"},
		{"L1-dcache-loads", "loads of L1-dcache", "access", "perf"},
		{"branch-misses", "branches predicted wrongly", "branch", "perf"},
		{"Ir", "instructions executed", "instruction", "callgrind"},
		{"DLmw", "data writes that missed the last-level cache", "miss", "callgrind"},
		{"RegistersCount", "registers of a thread", "register", "tuner"},
		{"INSTR_RETIRED_ANY", "instructions completed", "instruction", "LIKWID"},
		{"FP_ARITH_INST_RETIRED_256B_PACKED_DOUBLE", "on vectors of 256 bits: DOUBLE precision", "instruction", "LIKWID"},
		{"CAS_COUNT_RD", "lines that a memory controller read", "line", "LIKWID"},
		{"Memory bandwidth [MBytes/s]", "data moved per second: Memory", "MBytes/s", "LIKWID"},
		{"L2 data volume [GBytes]", "data moved: L2", "GBytes", "LIKWID"},
		{"L2D load data volume [GBytes]", "data moved: L2D load", "GBytes", "LIKWID"},
		{"Branch misprediction ratio", "share of the lookups of Branch that missed", "", "LIKWID"},
		{"DP [MFLOP/s]", "floating-point rate, in DP", "MFLOP/s", "LIKWID"},
		{"Operational intensity", "for each byte of memory traffic", "", "LIKWID"},
		{"PWR_PKG_ENERGY", "energy: PKG", "J", "LIKWID"},
		{"SQ_ITEMS", "work items launched", "work item", "AMD"},
		{"TCC_EA0_RDREQ_LEVEL_sum", "in flight, summed over cycles", "", "AMD"},
		{"SQC_TC_DATA_READ_REQ", "scalar caches to L2 READ", "request", "AMD"},
		{"Arch_VGPR", "a property of the compiled kernel", "register", "AMD"},
		{"flux capacitor", "", "", ""},
		{"", "", "", ""},
		{"made__up.sum", "", "", ""},
	} {
		d := counters.Describe(c.name)
		if !strings.Contains(d.Text, c.text) || (c.text == "") != (d.Text == "") || d.Unit != c.unit || d.Source != c.source {
			t.Errorf("%s: %q [%s] of %q", c.name, d.Text, d.Unit, d.Source)
		}
		if strings.ContainsAny(d.Text, "%$_") && !strings.Contains(d.Text, "100 %") {
			t.Errorf("%s: a placeholder is left: %q", c.name, d.Text)
		}
	}
	if got := counters.Describe("flux").String(); got != "no description" {
		t.Error(got)
	}
}

// Of the counters of real tables by rocprof-compute and perf nearly all have a
// description: what has none are statistics of time and counts of calls.
func TestRealNamesAreDescribed(t *testing.T) {
	ctx := context.Background()
	store, err := datasets.Open(filepath.Join(t.TempDir(), "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for _, pattern := range []string{"rocprof_compute/*_pmc_perf.csv", "perf/*"} {
		files, err := filepath.Glob("../../../shared/samples/" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no samples %s: the folder shared/ must lie beside the repository", pattern)
		}
		for _, f := range files {
			if _, err := collectors.ImportFile(ctx, store, f, collectors.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	df, err := store.Query(ctx, "SELECT DISTINCT r.format, c.metric FROM counter c JOIN run r ON r.id = c.run_id ORDER BY ALL")
	if err != nil {
		t.Fatal(err)
	}
	var unknown []string
	for _, name := range df.Col("metric").Records() {
		if counters.Describe(name).Text == "" {
			unknown = append(unknown, name)
		}
	}
	t.Logf("%d of %d names have no description: %s", len(unknown), df.Nrow(), strings.Join(unknown, ", "))
	if df.Nrow() < 250 || len(unknown) > df.Nrow()*3/100 {
		t.Errorf("%d of %d names have no description: %s", len(unknown), df.Nrow(), strings.Join(unknown, ", "))
	}
}

// Counters of a clock, by any maker's name, do not explain time: they are it.
// Those of work done do.
func TestClocksOfAllMakersAreLeftOut(t *testing.T) {
	clocks := []string{"GRBM_GUI_ACTIVE", "GRBM_COUNT", "SQ_BUSY_CYCLES", "SQ_WAIT_INST_ANY", "TCC_BUSY_sum", "TCP_TCC_READ_REQ_LATENCY_sum", "PAPI_TOT_CYC", "PAPI_RES_STL",
		"CPU_CLK_UNHALTED_CORE", "ACTUAL_CPU_CLOCK", "Runtime (RDTSC) [s]", "Clock [MHz]", "CPI", "DP [MFLOP/s]", "Memory bandwidth [MBytes/s]", "PWR_PKG_ENERGY", "cpu-cycles", "task-clock", "sysTime", "smsp__cycles_active.avg"}
	work := []string{"SQ_INSTS_VALU", "TCC_HIT_sum", "TCC_EA_RDREQ_sum", "TCP_TCC_READ_REQ_sum", "PAPI_DP_OPS", "PAPI_L2_DCM", "INSTR_RETIRED_ANY", "CAS_COUNT_RD", "Memory data volume [GBytes]", "instructions", "LLC-load-misses", "Ir", "DLmr", "smsp__inst_executed.sum"}
	table := counters.Table{Target: "t", Names: append(append([]string{}, clocks...), work...)}
	rng := rand.New(rand.NewPCG(5, 5))
	table.Columns = make([][]float64, len(table.Names))
	for range 60 {
		for j := range table.Columns {
			table.Columns[j] = append(table.Columns[j], rng.NormFloat64())
		}
		table.Y = append(table.Y, 1+rng.Float64())
	}
	r, err := counters.Select(context.Background(), table, counters.Options{K: 2, Members: 10})
	if err != nil {
		t.Fatal(err)
	}
	gone := map[string]string{}
	for _, d := range r.Dropped {
		gone[d.Column] = d.Reason
	}
	for _, n := range clocks {
		if !strings.HasPrefix(gone[n], "derived from time") {
			t.Errorf("%s: %q, want it left out as derived from time", n, gone[n])
		}
	}
	for _, n := range work {
		if gone[n] != "" {
			t.Errorf("%s is left out: %s", n, gone[n])
		}
	}
}
