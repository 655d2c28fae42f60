package counters

import (
	"regexp"
	"strings"
)

// nvidiaUnits are the parts of the chip that counters stand at.
var nvidiaUnits = map[string]string{
	"sm": "the streaming multiprocessors", "smsp": "the SMs' sub-partitions", "tpc": "the texture processing clusters", "gpc": "the graphics processing clusters",
	"l1tex": "the L1 cache", "lts": "the L2 cache", "ltc": "the L2 cache", "lrc": "the L2 request coalescer", "dram": "device memory", "fbpa": "the memory controllers",
	"gpu": "the whole GPU", "gr": "the compute engine", "idc": "the constant cache", "gcc": "the cluster's constant and instruction cache", "pcie": "PCI Express",
	"nvlrx": "NVLink, receiving", "nvltx": "NVLink, sending", "sys": "the system clock domain", "ctc": "NVLink-C2C", "mcc": "the memory controller of an integrated GPU", "fe": "the front end", "crop": "the colour unit", "zrop": "the depth unit",
}

// nvidiaNouns are what is counted, tried in this order; %op, %mem and %rest
// are filled from the qualifiers. The unit is of the plain count.
var nvidiaNouns = []struct {
	pattern    *regexp.Regexp
	text, unit string
}{
	{regexp.MustCompile(`^sass_thread_inst_executed_op_(\w+?)_pred_on$`), "$1 instructions, counted once for each thread that was not predicated off", "thread instruction"},
	{regexp.MustCompile(`^sass_thread_inst_executed_op_(\w+)$`), "$1 instructions, counted once for each thread", "thread instruction"},
	{regexp.MustCompile(`^sass_inst_executed_op_(\w+)$`), "$1 instructions, counted once for each warp", "warp instruction"},
	{regexp.MustCompile(`^sass_data_bytes_mem_(\w+)$`), "bytes that instructions asked for, $1", "byte"},
	{regexp.MustCompile(`^(?:thread_inst_executed_per_inst_executed)$`), "threads that were active in the mean instruction, of 32: less means divergence", "thread/warp instruction"},
	{regexp.MustCompile(`^thread_inst_executed_pred_on$`), "instructions, counted once for each thread that was not predicated off", "thread instruction"},
	{regexp.MustCompile(`^thread_inst_executed$`), "instructions, counted once for each active thread", "thread instruction"},
	{regexp.MustCompile(`^inst_executed_pipe_(\w+)$`), "warp instructions that went through the $1 pipeline", "warp instruction"},
	{regexp.MustCompile(`^inst_executed_op_(\w+)$`), "$1 warp instructions", "warp instruction"},
	{regexp.MustCompile(`^inst_executed$`), "instructions executed, counted once for each warp", "warp instruction"},
	{regexp.MustCompile(`^inst_issued$`), "instructions issued, repeated issues counted again", "warp instruction"},
	{regexp.MustCompile(`^issue_active$`), "cycles in which a scheduler issued an instruction", "cycle"},
	{regexp.MustCompile(`^issue_inst0$`), "cycles in which a scheduler issued nothing", "cycle"},
	{regexp.MustCompile(`^(?:pipe|inst_executed_pipe)_(\w+?)_cycles_active$`), "cycles in which the $1 pipeline was busy", "cycle"},
	{regexp.MustCompile(`^(?:warps|average_warps?)_issue_stalled_(\w+)$`), "warps waiting to issue because of $1", "warp"},
	{regexp.MustCompile(`^warps_active$`), "warps resident, each cycle: the achieved occupancy", "warp"},
	{regexp.MustCompile(`^warps_eligible$`), "warps ready to issue, each cycle", "warp"},
	{regexp.MustCompile(`^warps_launched$`), "warps launched", "warp"},
	{regexp.MustCompile(`^ctas_launched$`), "thread blocks launched", "block"},
	{regexp.MustCompile(`^threads_launched$`), "threads launched", "thread"},
	{regexp.MustCompile(`^maximum_warps_\w+$`), "warps that could be resident: the theoretical occupancy", "warp"},
	{regexp.MustCompile(`^cycles_active$`), "cycles with work present", "cycle"},
	{regexp.MustCompile(`^cycles_elapsed$`), "cycles from begin to end", "cycle"},
	{regexp.MustCompile(`^(?:cycles_in_frame|cycles)$`), "cycles", "cycle"},
	{regexp.MustCompile(`^time_(?:duration|active)\w*$`), "time of the kernel", "ns"},
	{regexp.MustCompile(`^\w*throughput\w*$`), "how busy the busiest part was", "%"},
	{regexp.MustCompile(`^\w*hit_rate\w*$`), "share of lookups that hit", "%"},
	{regexp.MustCompile(`^\w*miss_rate\w*$`), "share of lookups that missed", "%"},
	{regexp.MustCompile(`^data_bank_conflicts\w*$`), "extra passes because of bank conflicts%op%mem", "pass"},
	{regexp.MustCompile(`^data_bank_(?:reads|writes)\w*$`), "accesses of data banks%op%mem", "access"},
	{regexp.MustCompile(`^\w*wavefronts\w*$`), "passes of the data stage (wavefronts)%op%mem", "pass"},
	{regexp.MustCompile(`^\w*bytes\w*$`), "bytes moved%op%mem%rest", "byte"},
	{regexp.MustCompile(`^\w*sectors\w*$`), "sectors of 32 bytes%op%mem%rest", "sector"},
	{regexp.MustCompile(`^\w*requests\w*$`), "requests%op%mem%rest, one for each warp's instruction or cache line", "request"},
	{regexp.MustCompile(`^\w*tag_requests\w*|\w*tags?_\w*$`), "lookups of cache tags%op%mem%rest", "lookup"},
}

// nvidiaWords are qualifiers: operation, memory, and the rest.
var nvidiaWords = []struct{ word, kind, text string }{
	{"op_ld", "op", "loads"}, {"op_st", "op", "stores"}, {"op_read", "op", "reads"}, {"op_write", "op", "writes"}, {"op_atom", "op", "atomics"}, {"op_red", "op", "reductions"},
	{"bytes_read", "op", "reads"}, {"bytes_write", "op", "writes"}, {"sectors_read", "op", "reads"}, {"sectors_write", "op", "writes"}, {"read_bytes", "op", "reads"}, {"write_bytes", "op", "writes"},
	{"mem_global", "mem", "global memory"}, {"mem_local", "mem", "local memory (spilled registers, private arrays)"}, {"mem_shared", "mem", "shared memory"},
	{"mem_texture", "mem", "texture memory"}, {"mem_surface", "mem", "surface memory"}, {"pipe_tex", "mem", "the texture pipeline"},
	{"lookup_hit", "rest", "that hit"}, {"lookup_miss", "rest", "that missed"}, {"srcunit_tex", "rest", "coming from L1"}, {"srcunit_ltcfabric", "rest", "coming from the other half of L2"},
	{"aperture_sysmem", "rest", "to the host's memory"}, {"aperture_device", "rest", "to device memory"}, {"aperture_peer", "rest", "to another GPU's memory"},
	{"evict", "rest", "on eviction"},
}

var nvidiaOps = map[string]string{
	"fp64": "FP64", "fp32": "FP32", "fp16": "FP16", "integer": "integer", "control": "control-flow", "memory": "memory", "misc": "miscellaneous (moves, votes, special registers)",
	"conversion": "type-conversion", "bit": "bit-manipulation", "uniform": "uniform-datapath", "inter_thread_communication": "shuffle and vote",
	"fadd": "FP32 add", "fmul": "FP32 multiply", "ffma": "FP32 fused multiply-add", "dadd": "FP64 add", "dmul": "FP64 multiply", "dfma": "FP64 fused multiply-add",
	"hadd": "FP16 add", "hmul": "FP16 multiply", "hfma": "FP16 fused multiply-add",
	"fma": "multiply-add (FMA)", "fmaheavy": "multiply-add and integer multiply (FMA heavy)", "fmalite": "multiply-add (FMA lite)", "alu": "integer and logic (ALU)", "xu": "transcendental and conversion (XU)",
	"lsu": "load/store (LSU)", "tex": "texture (TEX)", "tensor": "tensor", "cbu": "branch (CBU)", "adu": "address-divergence (ADU)", "fp64_op_dmma": "FP64 tensor",
	"global_ld": "global-memory load", "global_st": "global-memory store", "local_ld": "local-memory load", "local_st": "local-memory store", "shared_ld": "shared-memory load", "shared_st": "shared-memory store",
	"long_scoreboard": "data from L1, L2 or device memory", "short_scoreboard": "data from shared memory or the special-function unit", "barrier": "a barrier", "wait": "a fixed latency",
	"math_pipe_throttle": "a busy arithmetic pipeline", "lg_throttle": "a full queue of global and local accesses", "mio_throttle": "a full queue of shared-memory and special instructions", "not_selected": "another warp being chosen",
	"branch_resolving": "a branch", "no_instruction": "instructions not fetched", "imc_miss": "a miss in the constant cache", "membar": "a memory barrier", "tex_throttle": "a full texture queue", "drain": "stores draining at the end", "dispatch_stall": "the dispatcher", "sleeping": "sleeping",
}

// nvidiaPart are rollups and submetrics.
var nvidiaPart = map[string]string{
	"sum": "summed over all units", "avg": "mean over the units", "max": "of the unit with the most", "min": "of the unit with the least", "ratio": "a ratio", "pct": "in percent", "max_rate": "the most possible",
	"per_second": "per second", "per_cycle_active": "per active cycle", "per_cycle_elapsed": "per elapsed cycle",
	"pct_of_peak_sustained_active": "in percent of the peak while active", "pct_of_peak_sustained_elapsed": "in percent of the peak over the whole time", "pct_of_peak_burst_active": "in percent of the burst peak while active",
	"peak_sustained": "the most possible per cycle", "peak_sustained_active": "the most possible while active", "peak_sustained_elapsed": "the most possible over the whole time", "pct_of_peak_sustained_region": "in percent of the peak over the region",
}

// describeNVIDIA reads names such as
// l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum.per_second: a unit, what is
// counted with qualifiers, a rollup and a submetric.
func describeNVIDIA(name string) Description {
	head, counted, ok := strings.Cut(name, "__")
	where, known := nvidiaUnits[head]
	if !ok || !known {
		return Description{}
	}
	parts := strings.Split(counted, ".")
	what := parts[0]
	d := Description{Source: "NVIDIA"}
	for _, n := range nvidiaNouns {
		m := n.pattern.FindStringSubmatch(what)
		if m == nil {
			continue
		}
		d.Text, d.Unit = n.text, n.unit
		if len(m) > 1 {
			op, ok := nvidiaOps[m[1]]
			if !ok {
				op = strings.ReplaceAll(m[1], "_", " ")
			}
			d.Text = strings.ReplaceAll(d.Text, "$1", op)
		}
		break
	}
	if d.Text == "" { // the unit and the rollup say something all the same
		d.Text = strings.ReplaceAll(what, "_", " ")
	}
	fill := map[string]string{"op": "", "mem": "", "rest": ""}
	before := map[string]string{"op": " for ", "mem": " in ", "rest": " "}
	for _, w := range nvidiaWords {
		if i := strings.Index(what, w.word); i >= 0 && (i+len(w.word) == len(what) || what[i+len(w.word)] == '_') {
			fill[w.kind] += before[w.kind] + w.text
			before[w.kind] = map[string]string{"op": " and ", "mem": " and ", "rest": ", "}[w.kind]
		}
	}
	for kind, text := range fill {
		d.Text = strings.ReplaceAll(d.Text, "%"+kind, text)
	}
	if head != "gpu" {
		d.Text = strings.TrimRight(d.Text, ",") + ", at " + where
	}
	for _, p := range parts[1:] {
		if t, ok := nvidiaPart[p]; ok {
			d.Text += ", " + t
		}
		switch {
		case strings.HasPrefix(p, "pct"):
			d.Unit = "%"
		case p == "per_second" && d.Unit != "":
			d.Unit += "/s"
		case strings.HasPrefix(p, "per_cycle") && d.Unit != "":
			d.Unit += "/cycle"
		}
	}
	return d
}
