package smi

import (
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// share is what DCGM's profiling metrics are in: 0 to 1 of the period.
var share = collectors.Unit{Base: "%", Exp10: 2}

// dcgmFields are fields of DCGM by their names, which its exporter uses behind
// "DCGM_FI_", and by their tags, which are the titles of dcgmi dmon; dcgmi dmon
// --list has both. Profiling metrics are averages since the reading before.
var dcgmFields = []struct {
	name, tag string
	sensor
}{
	{"DEV_SM_CLOCK", "SMCLK", sensor{"clock.sm", mega, instant}},
	{"DEV_MEM_CLOCK", "MMCLK", sensor{"clock.memory", mega, instant}},
	{"DEV_GPU_TEMP", "TMPTR", sensor{"temperature", celsius, instant}},
	{"DEV_MEMORY_TEMP", "MMTMP", sensor{"temperature.memory", celsius, instant}},
	{"DEV_POWER_USAGE", "POWER", sensor{"power", watts, ""}},
	{"DEV_TOTAL_ENERGY_CONSUMPTION", "TOTEC", sensor{"energy", collectors.Unit{Base: "J", Exp10: -3}, cumulative}},
	{"DEV_GPU_UTIL", "GPUTL", sensor{"utilization", percent, average}},
	{"DEV_MEM_COPY_UTIL", "MCUTL", sensor{"utilization.memory", percent, average}},
	{"DEV_ENC_UTIL", "", sensor{"utilization.encoder", percent, average}},
	{"DEV_DEC_UTIL", "", sensor{"utilization.decoder", percent, average}},
	{"DEV_FB_TOTAL", "FBTTL", sensor{"memory.total", mebi, instant}},
	{"DEV_FB_FREE", "FBFRE", sensor{"memory.free", mebi, instant}},
	{"DEV_FB_USED", "FBUSD", sensor{"memory.used", mebi, instant}},
	{"DEV_FB_RESERVED", "", sensor{"memory.reserved", mebi, instant}},
	{"DEV_PCIE_LINK_GEN", "PCILG", sensor{"pcie.generation", plain, instant}},
	{"DEV_PCIE_LINK_WIDTH", "PCILW", sensor{"pcie.width", plain, instant}},
	{"DEV_PCIE_REPLAY_COUNTER", "", sensor{"pcie.replays", plain, cumulative}},
	{"PROF_GR_ENGINE_ACTIVE", "GRACT", sensor{"active.graphics", share, average}},
	{"PROF_SM_ACTIVE", "SMACT", sensor{"active.sm", share, average}},
	{"PROF_SM_OCCUPANCY", "SMOCC", sensor{"occupancy.sm", share, average}},
	{"PROF_PIPE_TENSOR_ACTIVE", "TENSO", sensor{"active.tensor", share, average}},
	{"PROF_DRAM_ACTIVE", "DRAMA", sensor{"active.dram", share, average}},
	{"PROF_PIPE_FP64_ACTIVE", "FP64A", sensor{"active.fp64", share, average}},
	{"PROF_PIPE_FP32_ACTIVE", "FP32A", sensor{"active.fp32", share, average}},
	{"PROF_PIPE_FP16_ACTIVE", "FP16A", sensor{"active.fp16", share, average}},
	{"PROF_PCIE_TX_BYTES", "PCITX", sensor{"pcie.tx", bytesPerSecond, average}},
	{"PROF_PCIE_RX_BYTES", "PCIRX", sensor{"pcie.rx", bytesPerSecond, average}},
	{"PROF_NVLINK_TX_BYTES", "NVLTX", sensor{"nvlink.tx", bytesPerSecond, average}},
	{"PROF_NVLINK_RX_BYTES", "NVLRX", sensor{"nvlink.rx", bytesPerSecond, average}},
}

var bytesPerSecond = collectors.Unit{Base: "byte/s"}

// fieldNamed finds a field by its name without "DCGM_FI_", or by its tag.
func fieldNamed(name, tag string) (sensor, bool) {
	for _, f := range dcgmFields {
		if name != "" && f.name == name || tag != "" && f.tag == tag {
			return f.sensor, true
		}
	}
	return sensor{}, false
}

// blanks are the numbers that DCGM has for no value (DCGM_INT32_BLANK,
// DCGM_INT64_BLANK and DCGM_FP64_BLANK), and what the three behind each mean.
var blanks = []string{"2147483632", "9223372036854775792", "140737488355328"}

var blankMeans = []string{"blank", "not found", "not supported", "no permission"}

// blank tells whether a value is one of those, and which.
func blank(text string) (means string, ok bool) {
	whole, frac, _ := strings.Cut(text, ".")
	if strings.Trim(frac, "0") != "" {
		return "", false
	}
	for _, b := range blanks {
		n := len(b) - 1
		if len(whole) == n+1 && whole[:n] == b[:n] && whole[n] >= b[n] && int(whole[n]-b[n]) < len(blankMeans) {
			return blankMeans[whole[n]-b[n]], true
		}
	}
	return "", false
}
