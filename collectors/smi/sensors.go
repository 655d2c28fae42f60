package smi

import (
	"strings"

	"github.com/rooflab/rooflab/collectors"
)

// sensor is a quantity of a GPU.
type sensor struct {
	name string // below the GPU's
	unit collectors.Unit
	kind string
}

const instant, average, cumulative = "instant", "average", "cumulative"

var (
	watts   = collectors.Unit{Base: "W"}
	celsius = collectors.Unit{Base: "degC"}
	percent = collectors.Unit{Base: "%"}
	mega    = collectors.Unit{Base: "Hz", Exp10: 6}
	mebi    = collectors.Unit{Base: "byte", Exp2: 20}
	megaps  = collectors.Unit{Base: "byte/s", Exp10: 6}
	plain   = collectors.Unit{}
)

// properties are those of nvidia-smi --query-gpu, with the unit that they have
// where the header names none. Utilization is the share of the last period of
// sampling (1 s to 1/6 s) in which something ran, power.draw an average or not
// by the GPU: see powerKind.
var properties = map[string]sensor{
	"power.draw": {"power", watts, ""}, "power.draw.average": {"power.average", watts, average}, "power.draw.instant": {"power.instant", watts, instant},
	"power.limit": {"power.limit", watts, instant}, "enforced.power.limit": {"power.limit.enforced", watts, instant}, "power.default_limit": {"power.limit.default", watts, instant},
	"power.min_limit": {"power.limit.min", watts, instant}, "power.max_limit": {"power.limit.max", watts, instant},
	"module.power.draw.average": {"module.power.average", watts, average}, "module.power.draw.instant": {"module.power.instant", watts, instant},
	"total_energy_consumption": {"energy", collectors.Unit{Base: "J", Exp10: -3}, cumulative},
	"temperature.gpu":          {"temperature", celsius, instant}, "temperature.memory": {"temperature.memory", celsius, instant}, "temperature.gpu.tlimit": {"temperature.tlimit", celsius, instant},
	"clocks.gr": {"clock.graphics", mega, instant}, "clocks.current.graphics": {"clock.graphics", mega, instant},
	"clocks.sm": {"clock.sm", mega, instant}, "clocks.current.sm": {"clock.sm", mega, instant},
	"clocks.mem": {"clock.memory", mega, instant}, "clocks.current.memory": {"clock.memory", mega, instant},
	"clocks.video": {"clock.video", mega, instant}, "clocks.current.video": {"clock.video", mega, instant},
	"clocks.max.gr": {"clock.graphics.max", mega, instant}, "clocks.max.graphics": {"clock.graphics.max", mega, instant},
	"clocks.max.sm": {"clock.sm.max", mega, instant}, "clocks.max.mem": {"clock.memory.max", mega, instant}, "clocks.max.memory": {"clock.memory.max", mega, instant},
	"clocks.applications.gr": {"clock.graphics.applications", mega, instant}, "clocks.applications.graphics": {"clock.graphics.applications", mega, instant},
	"clocks.applications.mem": {"clock.memory.applications", mega, instant}, "clocks.applications.memory": {"clock.memory.applications", mega, instant},
	"utilization.gpu": {"utilization", percent, average}, "utilization.memory": {"utilization.memory", percent, average},
	"utilization.encoder": {"utilization.encoder", percent, average}, "utilization.decoder": {"utilization.decoder", percent, average},
	"utilization.jpeg": {"utilization.jpeg", percent, average}, "utilization.ofa": {"utilization.ofa", percent, average},
	"memory.used": {"memory.used", mebi, instant}, "memory.free": {"memory.free", mebi, instant}, "memory.total": {"memory.total", mebi, instant}, "memory.reserved": {"memory.reserved", mebi, instant},
	"fan.speed":             {"fan", percent, instant},
	"pcie.link.gen.current": {"pcie.generation", plain, instant}, "pcie.link.gen.gpucurrent": {"pcie.generation", plain, instant}, "pcie.link.gen.max": {"pcie.generation.max", plain, instant},
	"pcie.link.width.current": {"pcie.width", plain, instant}, "pcie.link.width.max": {"pcie.width.max", plain, instant},
	"encoder.stats.sessioncount": {"encoder.sessions", plain, instant},
}

// texts are properties that are facts rather than readings.
var texts = map[string]bool{"timestamp": true, "index": true, "name": true, "gpu_name": true, "uuid": true, "gpu_uuid": true, "serial": true, "gpu_serial": true,
	"driver_version": true, "count": true, "vbios_version": true, "pci.bus_id": true, "gpu_bus_id": true, "pstate": true, "persistence_mode": true, "compute_mode": true,
	"compute_cap": true, "display_mode": true, "display_active": true, "accounting.mode": true, "mig.mode.current": true, "mig.mode.pending": true, "power.management": true,
	"ecc.mode.current": true, "ecc.mode.pending": true, "driver_model.current": true, "driver_model.pending": true, "inforom.img": true, "gom.current": true}

// dmonColumns are those of nvidia-smi dmon; its second line of titles has the
// units.
var dmonColumns = map[string]sensor{
	"pwr": {"power", watts, ""}, "gtemp": {"temperature", celsius, instant}, "temp": {"temperature", celsius, instant}, "mtemp": {"temperature.memory", celsius, instant},
	"sm": {"utilization", percent, average}, "mem": {"utilization.memory", percent, average}, "enc": {"utilization.encoder", percent, average}, "dec": {"utilization.decoder", percent, average},
	"jpg": {"utilization.jpeg", percent, average}, "ofa": {"utilization.ofa", percent, average},
	"mclk": {"clock.memory", mega, instant}, "pclk": {"clock.sm", mega, instant},
	"pviol": {"violation.power", percent, average}, "tviol": {"violation.thermal", plain, instant},
	"fb": {"memory.used", mebi, instant}, "bar1": {"memory.bar1.used", mebi, instant}, "ccpm": {"memory.protected.used", mebi, instant},
	"sbecc": {"ecc.single", plain, cumulative}, "dbecc": {"ecc.double", plain, cumulative}, "pci": {"pcie.replays", plain, cumulative},
	"rxpci": {"pcie.rx", megaps, average}, "txpci": {"pcie.tx", megaps, average},
}

// reasons are the bits of nvidia-smi's mask of reasons for clocks that are
// held down (NVML's nvmlClocksEventReason constants).
var reasons = []struct {
	bit  uint64
	name string
}{
	{0x1, "gpu_idle"}, {0x2, "applications_clocks_setting"}, {0x4, "sw_power_cap"}, {0x8, "hw_slowdown"}, {0x10, "sync_boost"},
	{0x20, "sw_thermal_slowdown"}, {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake_slowdown"}, {0x100, "display_clock_setting"},
}

// property cuts a column's title of nvidia-smi into the property and its unit.
func property(title string) (name, unit string) {
	name = strings.TrimSpace(title)
	if i := strings.IndexByte(name, '['); i >= 0 && strings.HasSuffix(name, "]") {
		name, unit = strings.TrimSpace(name[:i]), name[i+1:len(name)-1]
	}
	return strings.ToLower(name), unit
}

// powerKind tells what nvidia-smi's power.draw is: on Ampere and later, but
// for GA100, the average of the last second, before that the power at the
// time (NVML's description of nvmlDeviceGetPowerUsage).
func powerKind(gpu string) (kind string, sure bool) {
	for _, old := range []string{"A100", "A800", "A30", "V100", "P100", "P40", "P4", "T4", "K80", "K40", "M60", "GTX", "TITAN", "RTX 20", "Quadro"} {
		for _, w := range []string{" " + old + " ", " " + old + "-", "-" + old + "-", " " + old + "X"} {
			if strings.Contains(" "+gpu+" ", w) {
				return instant, true
			}
		}
		if strings.HasPrefix(old, "RTX 2") && strings.Contains(gpu, old) {
			return instant, true
		}
	}
	return average, gpu != ""
}

// suffixes are the endings of columns' names in logs that programs write.
var suffixes = []struct {
	end  string
	unit collectors.Unit
}{
	{"_watts", watts}, {"_mw", collectors.Unit{Base: "W", Exp10: -3}}, {"_w", watts}, {"(w)", watts}, {"[w]", watts},
	{"_mhz", mega}, {"(mhz)", mega}, {"[mhz]", mega}, {"_ghz", collectors.Unit{Base: "Hz", Exp10: 9}}, {"_hz", collectors.Unit{Base: "Hz"}},
	{"_celsius", celsius}, {"_degc", celsius}, {"_c", celsius}, {"(c)", celsius}, {"[c]", celsius},
	{"_percent", percent}, {"_pct", percent}, {"(%)", percent}, {"[%]", percent}, {"_%", percent},
	{"_mib", mebi}, {"_gib", collectors.Unit{Base: "byte", Exp2: 30}}, {"_mb", collectors.Unit{Base: "byte", Exp10: 6}}, {"_gb", collectors.Unit{Base: "byte", Exp10: 9}}, {"_bytes", collectors.Unit{Base: "byte"}},
	{"_mj", collectors.Unit{Base: "J", Exp10: -3}}, {"_joules", collectors.Unit{Base: "J"}}, {"_j", collectors.Unit{Base: "J"}},
	{"_gbps", collectors.Unit{Base: "byte/s", Exp10: 9}}, {"_mbps", megaps},
}

// column tells which sensor a column of such a log is of.
func column(title string) (sensor, bool) {
	name := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(title), " ", "_"))
	s := sensor{kind: instant}
	found := false
	for _, x := range suffixes {
		if base, ok := strings.CutSuffix(name, x.end); ok && base != "" {
			name, s.unit, found = strings.TrimRight(base, "_"), x.unit, true
			break
		}
	}
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(name, w) {
				return true
			}
		}
		return false
	}
	memory := has("mem", "vram", "hbm", "fb")
	switch base := s.unit.Base; {
	case has("power") && (base == "W" || !found):
		s.name, s.kind, s.unit = "power", "", orUnit(found, s.unit, watts)
		if has("limit", "cap") {
			s.name, s.kind = "power.limit", instant
		}
	case has("energy") && base == "J":
		s.name, s.kind = "energy", cumulative
	case has("temp") && (base == "degC" || !found):
		s.name, s.unit = "temperature", orUnit(found, s.unit, celsius)
		if memory {
			s.name = "temperature.memory"
		}
	case has("clock", "clk", "freq") && base == "Hz":
		switch {
		case memory:
			s.name = "clock.memory"
		case has("graphics", "gfx", "gr_"):
			s.name = "clock.graphics"
		case has("video"):
			s.name = "clock.video"
		default:
			s.name = "clock.sm"
		}
	case has("util") && (base == "%" || !found):
		s.name, s.kind, s.unit = "utilization", average, orUnit(found, s.unit, percent)
		if memory {
			s.name = "utilization.memory"
		}
	case has("fan"):
		s.name = "fan"
	case memory && base == "byte":
		s.name = "memory.used"
		for _, w := range [...]string{"free", "total", "reserved"} {
			if has(w) {
				s.name = "memory." + w
			}
		}
	case has("pcie", "rx", "tx") && base == "byte/s":
		s.name, s.kind = "pcie."+name, average
	default:
		return s, false
	}
	return s, true
}

func orUnit(has bool, u, other collectors.Unit) collectors.Unit {
	if has {
		return u
	}
	return other
}

// timeColumn tells how a column of times counts: "date" for texts, or the unit
// of numbers; "" for columns that are no time.
func timeColumn(title string) string {
	name := strings.ToLower(strings.TrimSpace(title))
	switch name {
	case "timestamp", "time", "datetime", "date", "ts", "t":
		return "date"
	case "timestamp_ns", "time_ns", "t_ns", "elapsed_ns":
		return "ns"
	case "timestamp_us", "time_us", "t_us", "elapsed_us":
		return "us"
	case "timestamp_ms", "time_ms", "t_ms", "elapsed_ms":
		return "ms"
	case "timestamp_s", "time_s", "t_s", "elapsed_s", "elapsed", "elapsed_sec", "elapsed_secs", "elapsed_seconds", "time_sec", "seconds", "unix_time", "epoch":
		return "s"
	}
	return ""
}
