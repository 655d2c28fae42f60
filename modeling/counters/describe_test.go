package counters_test

import (
	"strings"
	"testing"

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
