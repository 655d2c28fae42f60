package ncurep

import "strings"

// unitOf derives the unit of a metric from its name, as the profiler itself
// does: "unit__counter.rollup.submetric". Time is in nanoseconds in the file
// and in seconds here, which exp10 says; all else has no prefix. What is a
// mere number, or not known, has no unit.
func unitOf(metric string) (unit string, exp10 int) {
	if u, ok := unitsByName[metric]; ok {
		return u, 0
	}
	if strings.HasPrefix(metric, "device__") || strings.HasPrefix(metric, "group:") {
		return "", 0
	}
	counter := metric
	if i := strings.Index(metric, "__"); i >= 0 {
		counter = metric[i+2:]
	}
	counter, tail, _ := strings.Cut(counter, ".")
	last := tail[strings.LastIndexByte(tail, '.')+1:]
	base := counterUnit(metric, counter)
	switch {
	case strings.HasPrefix(last, "pct") || strings.HasSuffix(counter, "_pct") || strings.HasSuffix(counter, "throughput") && strings.Contains(tail, "pct"):
		return "%", 0
	case base == "ns" && (tail == "" || last == "sum" || last == "avg" || last == "min" || last == "max"):
		return "s", -9
	case base == "ns", base == "":
		return "", 0
	case last == "per_second":
		if base == "cycle" {
			return "Hz", 0
		}
		return base + "/s", 0
	case strings.HasPrefix(last, "per_cycle"), strings.HasPrefix(last, "peak_"):
		switch base {
		case "warp": // warps are counted anew each cycle: their mean per cycle is a number of warps
			return base, 0
		case "cycle":
			return "", 0
		}
		return base + "/cycle", 0
	}
	return base, 0
}

// counterUnit is the unit of what a counter counts. The first that fits holds.
func counterUnit(metric, counter string) string {
	for _, r := range []struct{ part, unit string }{
		{"occupancy_limit_", "block"},
		{"pred_on_x2", "inst/cycle"}, // twice a rate or a peak
		{"bytes_per_sector", "byte/sector"},
		{"average_warp_latency", "cycle"},
		{"average_warps_active", "cycle"},
		{"average_warps_issue_stalled", "inst"}, // per instruction that is issued
		{"per_inst_executed", ""},
		{"compression_", ""},
		{"time_duration", "ns"}, {"interval_time", "ns"},
		{"buffer_size_bytes", "byte"},
		{"warps_issue_stalled", "warp"},
		{"bytes", "byte"},
		{"evict_type", ""},
		{"bank_conflicts", ""}, {"wavefronts", ""}, {"_nway", ""},
		{"sectors", "sector"},
		{"requests", "request"},
		{"targets_threads", "branches"},
		{"inst_executed", "inst"}, {"inst_issued", "inst"},
		{"warps", "warp"},
		{"issue_active", ""}, {"issue_inst0", ""},
		{"ctas", "block"},
		{"cycles", "cycle"}, {"writeback_active", "cycle"},
		{"samples", "sample"}, {"sample_count", "sample"},
		{"replayer_passes", "pass"}, {"aggregated_passes", "pass"},
	} {
		if strings.Contains(counter, r.part) {
			return r.unit
		}
	}
	switch {
	case strings.HasPrefix(metric, "derived__avg_thread_executed"):
		return "thread"
	case strings.HasPrefix(counter, "registers_per_thread"):
		return "register/thread"
	case strings.HasPrefix(counter, "shared_mem_per_block"):
		return "byte/block"
	}
	return ""
}

// unitsByName are those that no rule gives. The metrics without "__" are
// counted per instruction.
var unitsByName = map[string]string{
	"launch__thread_count":                           "thread",
	"launch__shared_mem_config_size":                 "byte",
	"launch__stack_size":                             "byte",
	"launch__sm_count":                               "SM",
	"launch__occupancy_per_shared_mem_size":          "warp",
	"launch__occupancy_per_register_count":           "warp",
	"launch__occupancy_per_block_size":               "warp",
	"memory_l1_tag_requests_global":                  "request",
	"memory_l1_wavefronts_shared":                    "",
	"memory_l1_wavefronts_shared_ideal":              "",
	"smsp__pcsamp_interval":                          "",
	"profiler__pmsampler_pass_groups":                "",
	"derived__memory_l1_wavefronts_shared_excessive": "",
}
