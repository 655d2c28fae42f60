package smi_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/smi"
	"github.com/rooflab/rooflab/datasets"
)

// sensor collects the readings of one.
func sensor(r *parsertest.Records, name string) (all []datasets.Telemetry) {
	for _, t := range r.Telemetry {
		if t.Sensor == name {
			all = append(all, t)
		}
	}
	return all
}

func sum(name string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		v := 0.0
		for _, t := range sensor(r, name) {
			v += t.Value.V
		}
		return v
	}
}

func readings(name string) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any { return len(sensor(r, name)) }
}

func attr(r *parsertest.Records, name string) string {
	for _, a := range r.Attributes {
		if a.Name == name {
			return a.Value
		}
	}
	return ""
}

func ceiling(level string, measured bool) func(*parsertest.Records) any {
	return func(r *parsertest.Records) any {
		for _, c := range r.Ceilings {
			if c.Level == level && c.Measured == measured {
				return c.Value
			}
		}
		return "none"
	}
}

func TestRealSamples(t *testing.T) {
	parsertest.Facts(t, "../../../shared/samples/nvml", []parsertest.Fact{
		{File: "rtx5070_nvml.csv", What: "readings of power, repeats among them", Of: readings("gpu0.power"), Want: 293, How: "tail -n +2 FILE | wc -l"},
		{File: "rtx5070_nvml.csv", What: "sum of the power", Of: func(r *parsertest.Records) any { return math.Round(1e6*sum("gpu0.power")(r).(float64)) / 1e6 }, Want: 35190.628, How: "awk -F, 'NR>1 {s+=$2} END {printf \"%.3f\", s}' FILE"},
		{File: "rtx5070_nvml.csv", What: "highest clock", Of: func(r *parsertest.Records) any {
			v := 0.0
			for _, t := range sensor(r, "gpu0.clock.sm") {
				v = max(v, t.Value.V)
			}
			return v
		}, Want: 2.865e9, How: "cut -d, -f4 FILE | sort -n | tail -1"},
		{File: "rtx5070_nvml.csv", What: "first time", Of: func(r *parsertest.Records) any { return r.Telemetry[0].TNs }, Want: time.Date(2026, 7, 22, 21, 41, 45, 304e6, time.UTC).UnixNano(), How: "the second line"},
		{File: "h100_burst_smi.txt", What: "readings", Of: readings("gpu0.power"), Want: 25, How: "grep -vc '^#' FILE"},
		{File: "h100_burst_smi.txt", What: "sum of the power", Of: sum("gpu0.power"), Want: 2044.0, How: "awk '!/^#/ {s+=$2} END {print s}' FILE"},
		{File: "h100_burst_smi.txt", What: "received", Of: func(r *parsertest.Records) any { return sensor(r, "gpu0.pcie.rx")[0].Value }, Want: datasets.Some(116e6), How: "the third line, MB/s"},
		{File: "h100_dynamic_smi.txt", What: "readings", Of: readings("gpu0.power"), Want: 30, How: "grep -vc '^#' FILE"},
		{File: "h100_dynamic_smi.txt", What: "sum of the clock", Of: sum("gpu0.clock.sm"), Want: 1.716e10, How: "awk '!/^#/ {s+=$6} END {print s*1e6}' FILE"},
		{File: "h100_dynamic_smi.txt", What: "busy", Of: sum("gpu0.utilization"), Want: 9.0, How: "one row has 9 in the column sm"},
		{File: "h100_dynamic.json", What: "samples", Of: readings("gpu0.flops"), Want: 41, How: "jq '.thermal_trajectory | length' FILE"},
		{File: "h100_dynamic.json", What: "burst", Of: ceiling("fp32", true), Want: 59114.799661067984e9, How: "jq .burst.peak_gflops FILE"},
		{File: "h100_dynamic.json", What: "GPU", Of: func(r *parsertest.Records) any { return r.Machines[0].GPU }, Want: "NVIDIA H100 80GB HBM3", How: "jq .device_name FILE"},
		{File: "h100_dynamic.json", What: "a power of 0 is none", Of: func(r *parsertest.Records) any { return sensor(r, "gpu0.power")[0].Value.Valid }, Want: false, How: "all are 0.0: the tool could not read it"},
		{File: "h100_dynamic.json", What: "time of the last sample", Of: func(r *parsertest.Records) any { s := sensor(r, "gpu0.flops"); return s[len(s)-1].TNs }, Want: int64(20.5e9), How: "jq '.thermal_trajectory[-1].elapsed_secs' FILE"},
		{File: "rtx5070_peaks.csv", What: "datasheet", Of: ceiling("fp32", false), Want: 32256e9, How: "the file"},
		{File: "rtx5070_peaks.csv", What: "measured bandwidth", Of: ceiling("dram", true), Want: 590061393638.3, How: "the file"},
		{File: "rtx5070_peaks.csv", What: "ceilings", Of: func(r *parsertest.Records) any { return len(r.Ceilings) }, Want: 4, How: "the file"},
		{File: "rtx5070_timing.csv", What: "rows", Of: func(r *parsertest.Records) any { return len(r.Launches) }, Want: 62, How: "tail -n +2 FILE | wc -l"},
		{File: "rtx5070_timing.csv", What: "kernels and variants", Of: func(r *parsertest.Records) any { return len(r.Regions) }, Want: 10, How: "tail -n +2 FILE | cut -d, -f1,2 | sort -u | wc -l"},
		{File: "rtx5070_timing.csv", What: "sum of the means", Of: func(r *parsertest.Records) any { return math.Round(1e9*r.Total("mean_ms")) / 1e9 }, Want: 0.264968171, How: "awk -F, 'NR>1 {s+=$9} END {printf \"%.6f\", s}' FILE, ms"},
		{File: "rtx5070_timing.csv", What: "first row", Of: func(r *parsertest.Records) any { return fmt.Sprint(r.Launches[0].Block[0], r.Launches[0].DurNs) }, Want: fmt.Sprint(datasets.Some(int64(128)), datasets.Some(int64(19372))), How: "the second line: block_size 128, mean_ms 0.019372"},
	}, nil)
}

const query = `timestamp, index, name, driver_version, power.draw [W], temperature.gpu, clocks.current.sm [MHz], clocks.max.sm [MHz], utilization.gpu [%], memory.used [MiB], memory.total [MiB], fan.speed [%], pstate, clocks_throttle_reasons.active, clocks_throttle_reasons.hw_slowdown
2024/05/29 13:39:25.123, 0, NVIDIA A100-SXM4-40GB, 550.54, 71.25 W, 34, 1410 MHz, 1410 MHz, 97 %, 1024 MiB, 40960 MiB, [N/A], P0, 0x0000000000000204, Not Active
2024/05/29 13:39:25.124, 1, NVIDIA H100 PCIe, 550.54, 80.50 W, 35, 1755 MHz, 1755 MHz, 0 %, 0 MiB, 81559 MiB, [Not Supported], P2, 0x0000000000000001, Active
2024/05/29 13:39:26.123, 0, NVIDIA A100-SXM4-40GB, 550.54, 71.25 W, 34, 1410 MHz, 1410 MHz, 97 %, 1024 MiB, 40960 MiB, [N/A], P0, 0x0000000000000000, Not Active
`

// A GPU that has failed says so in place of its readings.
func TestFailedGPUsHaveNoReadings(t *testing.T) {
	r := parsertest.MustParse(t, "nvidia-smi-csv", "gpu.csv", `index, temperature.gpu, utilization.gpu [%], power.draw [W], memory.used [MiB]
0, [GPU requires reset], [Unknown Error], ERR!, 12 MiB
`)
	for _, name := range []string{"gpu0.temperature", "gpu0.utilization", "gpu0.power"} {
		if s := sensor(r, name); len(s) != 1 || s[0].Value.Valid {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := sensor(r, "gpu0.memory.used"); s[0].Value != datasets.Some(12.0*(1<<20)) {
		t.Errorf("%+v", s)
	}
}

func TestQueriesAreTelemetry(t *testing.T) {
	r := parsertest.MustParse(t, "nvidia-smi-csv", "gpu.csv", query)
	power := sensor(r, "gpu0.power")
	start := time.Date(2024, 5, 29, 13, 39, 25, 123e6, time.UTC)
	if len(power) != 2 || power[0].Value != datasets.Some(71.25) || power[1].Value != power[0].Value || power[0].TNs != start.UnixNano() || power[1].TNs-power[0].TNs != 1e9 || power[0].Unit != "W" {
		t.Errorf("%+v", power)
	}
	// GA100 tells the power of an instant, Hopper the average of a second.
	if power[0].Kind != "instant" || sensor(r, "gpu1.power")[0].Kind != "average" {
		t.Errorf("kinds of power: %s %s", power[0].Kind, sensor(r, "gpu1.power")[0].Kind)
	}
	for name, want := range map[string]float64{"gpu0.clock.sm": 1.41e9, "gpu0.utilization": 97, "gpu0.memory.used": 1 << 30, "gpu0.temperature": 34, "gpu1.pstate": 2,
		"gpu0.throttle.sw_power_cap": 1, "gpu0.throttle.gpu_idle": 0, "gpu0.throttle.unknown_0x200": 1, "gpu1.throttle.gpu_idle": 1, "gpu1.throttle.hw_slowdown": 0} {
		if s := sensor(r, name); len(s) == 0 || s[0].Value != datasets.Some(want) {
			t.Errorf("%s is %+v, want %v", name, s, want)
		}
	}
	if fan := sensor(r, "gpu0.fan"); len(fan) != 2 || fan[0].Value.Valid || attr(r, "gpu0.fan.status") != "[N/A]" {
		t.Errorf("a fan that there is not: %+v", fan)
	}
	m := r.Machines[0]
	if m.GPU != "NVIDIA A100-SXM4-40GB" || m.Driver != "550.54" || r.Runs[0].Started.V != start || attr(r, "time zone") == "" {
		t.Errorf("%+v, %+v", m, r.Runs[0])
	}
}

func TestQueriesWithoutUnitsAndWithoutIndex(t *testing.T) {
	r := parsertest.MustParse(t, "nvidia-smi-csv", "q.csv", "uuid, power.draw [W], total_energy_consumption [mJ], clocks_event_reasons.sw_thermal_slowdown\nGPU-b, 10.5, 2500, Active\nGPU-a, N/A, 3000, Not Active\nGPU-b, 11.5, 2600, Not Active\n")
	if s := sensor(r, "gpu0.power"); len(s) != 2 || s[1].Value != datasets.Some(11.5) || s[1].TNs != 2 {
		t.Errorf("%+v", s)
	}
	if s := sensor(r, "gpu1.power"); len(s) != 1 || s[0].Value.Valid {
		t.Errorf("%+v", s)
	}
	if s := sensor(r, "gpu0.energy"); s[0].Value != datasets.Some(2.5) || s[0].Kind != "cumulative" || s[0].Unit != "J" {
		t.Errorf("%+v", s)
	}
	if s := sensor(r, "gpu0.throttle.sw_thermal_slowdown"); s[0].Value != datasets.Some(1.0) || s[1].Value != datasets.Some(0.0) {
		t.Errorf("%+v", s)
	}
}

const dmon = `#Date       Time        gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk  pviol  tviol     fb  rxpci
#YYYYMMDD   HH:MM:SS    Idx      W      C      C      %      %    MHz    MHz      %   bool     MB   MB/s
 20240529   13:39:25      0     71     31      -      9      4   2619   1980      0      0   1024     23
 20240529   13:39:26      0    130     33      -      0      0   2619   1980      0      0   1024      1
# gpu    pwr  gtemp  mtemp     sm    mem   mclk   pclk
`

func TestDmonWithTimes(t *testing.T) {
	content, _, _ := strings.Cut(dmon, "# gpu")
	r := parsertest.MustParse(t, "nvidia-smi-dmon", "d.txt", content)
	if s := sensor(r, "gpu0.power"); len(s) != 2 || s[0].TNs != time.Date(2024, 5, 29, 13, 39, 25, 0, time.UTC).UnixNano() || s[1].Value != datasets.Some(130.0) {
		t.Errorf("%+v", s)
	}
	if s := sensor(r, "gpu0.temperature.memory"); len(s) != 2 || s[0].Value.Valid {
		t.Errorf("- is no reading: %+v", s)
	}
	if s := sensor(r, "gpu0.memory.used"); s[0].Value != datasets.Some(float64(1<<30)) {
		t.Errorf("%+v", s)
	}
}

func TestDmonPastMidnightAndForTwoGPUs(t *testing.T) {
	r := parsertest.MustParse(t, "nvidia-smi-dmon", "d.txt", "#Time        gpu    pwr\n#HH:MM:SS    Idx      W\n 23:59:59      0     71\n 23:59:59      1     72\n 00:00:00      0     73\n")
	s := sensor(r, "gpu0.power")
	if len(s) != 2 || s[0].TNs != 86399e9 || s[1].TNs != 86400e9 || len(sensor(r, "gpu1.power")) != 1 {
		t.Errorf("%+v", r.Telemetry)
	}
}

const full = `
==============NVSMI LOG==============

Timestamp                                 : Wed May 29 13:39:25 2024
Driver Version                            : 550.54.15
Attached GPUs                             : 1
GPU 00000000:17:00.0
    Product Name                          : NVIDIA H100 PCIe
    Performance State                     : P0
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
    FB Memory Usage
        Total                             : 81559 MiB
        Used                              : 12 MiB
    Utilization
        Gpu                               : 55 %
    Temperature
        GPU Current Temp                  : 47 C
        GPU Target Temperature            : N/A
    GPU Power Readings
        Average Power Draw                : 100.5 W
        Current Power Limit               : 350.00 W
    Module Power Readings
        Power Draw                        : N/A
    Clocks
        SM                                : 1755 MHz
    Max Clocks
        SM                                : 1980 MHz
`

func TestFullListings(t *testing.T) {
	r := parsertest.MustParse(t, "nvidia-smi-q", "q.txt", full+strings.Replace(full, ":25 2024", ":30 2024", 1))
	for name, want := range map[string]float64{"gpu0.power.average": 100.5, "gpu0.power.limit": 350, "gpu0.clock.sm": 1.755e9, "gpu0.clock.sm.max": 1.98e9, "gpu0.utilization": 55,
		"gpu0.memory.used": 12 << 20, "gpu0.temperature": 47, "gpu0.throttle.sw_power_cap": 1, "gpu0.throttle.gpu_idle": 0, "gpu0.pstate": 0} {
		if s := sensor(r, name); len(s) != 2 || s[0].Value != datasets.Some(want) || s[1].TNs-s[0].TNs != 5e9 {
			t.Errorf("%s is %+v, want %v", name, s, want)
		}
	}
	if m := r.Machines[0]; m.GPU != "NVIDIA H100 PCIe" || m.Driver != "550.54.15" || m.ClockHz != datasets.Some(1.98e9) || attr(r, "gpu0.temperature.gpu_target_temperature") != "N/A" || attr(r, "gpu0.module_power_readings.power_draw") != "N/A" {
		t.Errorf("%+v %+v", m, r.Attributes)
	}
}

func TestLogsOfPrograms(t *testing.T) {
	r := parsertest.MustParse(t, "nvml-csv", "log.csv", "elapsed_ms,gpu_index,power_mw,sm_clock_mhz,mem_used_mib,gpu_util_pct,throttle_reasons,note\n0,0,71250,1410,1024,97,0x4,a\n100.5,1,,1410,1024,97,0x0,a\n")
	p0, p1 := sensor(r, "gpu0.power"), sensor(r, "gpu1.power")
	if p0[0].Value != datasets.Some(71.25) || p1[0].Value.Valid || p1[0].TNs != 100500000 || sensor(r, "gpu0.throttle.sw_power_cap")[0].Value != datasets.Some(1.0) || attr(r, "gpu0.note") != "a" || r.Runs[0].Started.Valid {
		t.Errorf("%+v", r.Telemetry)
	}
}

const burst = `{"device_name": "GPU", "peak_gflops": 100.5, "peak_bandwidth_gbps": 20, "ridge_point": 5, "clock_mhz": 1500, "temperature_c": 40, "power_watts": 50.0,
"placements": [{"name": "copy", "arithmetic_intensity": 0.0, "achieved_gflops": 0.0, "achieved_bandwidth_gbps": 20, "efficiency": 1.0, "bottleneck": {"MemoryBound": {"level": "Hbm"}}, "median_us": 184.8, "stddev_us": 0.7, "cv": 0.004}]}`

func TestResultsOfRooflineTools(t *testing.T) {
	r := parsertest.MustParse(t, "gpu-roofline-json", "burst.json", burst)
	if len(r.Ceilings) != 2 || r.Ceilings[0].ClockHz != datasets.Some(1.5e9) || r.Value("copy", "median_us") != datasets.Some(184.8e-6) || r.Launches[0].DurNs != datasets.Some(int64(184800)) || r.Runs[0].TimeMetric != "median_us" {
		t.Errorf("%+v %+v", r.Ceilings, r.Launches)
	}
	r = parsertest.MustParse(t, "gpu-roofline-json", "monitor.jsonl", `{"timestamp":"2026-03-18T17:20:26.5Z","sample_index":0,"bandwidth_gbps":2906.5,"gflops":59106.25,"cv":0.004,"temperature_c":0,"clock_mhz":1980,"power_watts":0.0,"utilization_pct":99.0}
{"timestamp":"2026-03-18T17:20:36.5Z","sample_index":1,"bandwidth_gbps":2909,"gflops":59106,"cv":0.004,"temperature_c":0,"clock_mhz":1980,"power_watts":0.0,"utilization_pct":99.0}
`)
	if s := sensor(r, "gpu0.bandwidth"); len(s) != 2 || s[0].Value != datasets.Some(2906.5e9) || s[1].TNs-s[0].TNs != 10e9 || sensor(r, "gpu0.clock.sm")[0].Value != datasets.Some(1.98e9) || sensor(r, "gpu0.power")[0].Value.Valid {
		t.Errorf("%+v", r.Telemetry)
	}
}

func TestWhatCannotBeReadIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ format, content, want string }{
		"without a header": {"nvidia-smi-csv", "2024/05/29 13:39:25.123, 0, 71.25 W\n", "without its header"},
		"pmon":             {"nvidia-smi-table", "# gpu        pid  type    sm   mem   command\n# Idx          #   C/G     %     %   name\n    0      1234     C    97     4   a.out\n", "pmon"},
		"XML":              {"nvidia-smi-table", "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n", "which is XML"},
		"the table":        {"nvidia-smi-table", "Wed May 29\n+---+\n| NVIDIA-SMI 550.54   Driver Version: 550.54 |\n", "the table of nvidia-smi"},
	} {
		f, sure, err := collectors.Detect(collectors.Head{Name: "x", Bytes: []byte(c.content), Whole: true})
		if f.Name != c.format || sure != collectors.Certain {
			t.Errorf("%s: detected as %s, %v, %v", name, f.Name, sure, err)
		}
		var refused *collectors.UnsupportedError
		if _, err := parsertest.Parse(c.format, "x", c.content); !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBrokenFilesAreNamed(t *testing.T) {
	for name, c := range map[string]struct{ format, content, want string }{
		"a short row":       {"nvidia-smi-csv", "timestamp, power.draw [W], clocks.sm [MHz]\n2024/05/29 13:39:25.123, 1 W\n", "x:2:26: the row has not one cell per column: expected 3 cells, found 2"},
		"another unit":      {"nvidia-smi-csv", "index, power.draw [W]\n0, 7 MHz\n", `x:2:4: the reading of power is no number: expected a number with a decimal point, or N/A, found "7 MHz"`},
		"no number":         {"nvidia-smi-csv", "index, power.draw [W]\n0, much\n", "x:2:4: the reading of power is no number"},
		"no time":           {"nvidia-smi-csv", "timestamp, power.draw [W]\nyesterday, 1 W\n", "x:2:1: the time of the row is none"},
		"an unknown unit":   {"nvidia-smi-csv", "index, power.draw [hp]\n0, 1\n", "x:1:8: the unit of this column is not known"},
		"a bad mask":        {"nvidia-smi-csv", "index, clocks_throttle_reasons.active\n0, 12\n", "x:2:4: the mask of reasons is no number"},
		"a bad index":       {"nvidia-smi-dmon", "# gpu pwr\n# Idx W\n x 7\n", "x:3:2: the row has not"},
		"a short line":      {"nvidia-smi-dmon", "# gpu pwr gtemp\n# Idx W C\n 0 7\n", "x:3:4: the row has not one cell per column: expected 3 cells, found 2"},
		"no header":         {"nvidia-smi-dmon", "hello\n", "x:1:1: there is no header of nvidia-smi dmon"},
		"a bad reading":     {"nvml-csv", "time_s,power_w,temp_c\n1,x,3\n", "x:2:3: the reading of power is no number"},
		"a bad ceiling":     {"roofline-peaks-csv", "label,peak_flops,peak_bandwidth\nmeasured,fast,1\n", "x:2:10: a ceiling is no number"},
		"a bad timing":      {"kernel-timing-csv", "kernel,mean_ms,median_ms\nk,1.5,x\n", "x:2:7: the value of median_ms is no number"},
		"a nameless kernel": {"kernel-timing-csv", "kernel,mean_ms,median_ms\n,1.5,2\n", "x:2:1: a row without a kernel"},
		"broken JSON":       {"gpu-roofline-json", "{\"device_name\": ", "x:1:"},
		"other JSON":        {"gpu-roofline-json", "{}", "x:1:3: the object that ends here is no result"},
	} {
		if name == "a bad index" {
			c.want = "x:3:2: the index of the GPU is no number"
		}
		_, err := parsertest.Parse(c.format, "x", c.content)
		var syntax *collectors.SyntaxError
		if !errors.As(err, &syntax) || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestLogsThatWereStoppedLoseTheirLastLineOnly(t *testing.T) {
	for format, content := range map[string]string{"nvidia-smi-csv": query, "nvidia-smi-dmon": dmon, "nvidia-smi-q": full, "nvml-csv": "time_s,power_w,temp_c\n1,2,3\n2,3,4\n"} {
		whole := parsertest.MustParse(t, format, "whole", content)
		values := map[string]bool{}
		for _, t := range whole.Telemetry {
			values[fmt.Sprint(t)] = true
		}
		for i := range content {
			r, err := parsertest.Parse(format, "cut", content[:i])
			if err != nil {
				var syntax *collectors.SyntaxError
				var refused *collectors.UnsupportedError
				if !errors.As(err, &refused) && (!errors.As(err, &syntax) || syntax.Line == 0) {
					t.Fatalf("%s cut at %d: %v", format, i, err)
				}
				continue
			}
			for _, v := range r.Telemetry {
				if !values[fmt.Sprint(v)] {
					t.Fatalf("%s cut at %d: a reading that is not in the whole file: %+v", format, i, v)
				}
			}
		}
	}
	r := parsertest.MustParse(t, "nvidia-smi-csv", "header", strings.SplitAfter(query, "\n")[0])
	if run := r.Runs[0]; run.Status != datasets.RunEmpty || run.Error == "" {
		t.Errorf("a log without readings: %+v", run)
	}
	parsertest.Truncations(t, "kernel-timing-csv", "timing", "kernel,variant,mean_ms,flops\nk,a,1.25,100\nk,b,1.50,200\n", 1000)
	parsertest.Truncations(t, "gpu-roofline-json", "burst", burst, 1000)
}

func TestDetection(t *testing.T) {
	derived, err := os.ReadFile("../../../shared/samples/derived/gpuflopbench_profiling_data.csv")
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		query: "nvidia-smi-csv", dmon: "nvidia-smi-dmon", full: "nvidia-smi-q", burst: "gpu-roofline-json",
		"time,power_w,temperature_c\n1,2,3\n":                                           "nvml-csv",
		"kernel,mean_ms,flops\n":                                                        "kernel-timing-csv",
		string(derived[:2000]):                                                          "",
		"a,b,c\n1,2,3\n":                                                                "",
		"timestamp,open,high,low,close\n1,2,3,4,5\n":                                    "",
		"name,iterations,real_time,cpu_time,time_unit\n\"x\",1,2,3,ns\n":                "",
		"kernel,block_size,grid,time\nx,1,2,3\n":                                        "",
		"\"Name\",\"Calls\",\"TotalDurationNs\",\"AverageNs\",\"Percentage\"\n":         "",
		"{\"traceEvents\": [{\"name\": \"device_name\"}]}":                              "",
		"timestamp,cpu_percent,mem_percent\n1,2,3\n":                                    "",
		"# gpu results\nthe text goes on\n":                                             "",
		"index,name,value\n0,a,1\n":                                                     "",
		"Time (%),Total Time (ns),Instances,Name\n1,2,3,k\n":                            "",
		"name, utilization\n":                                                           "",
		"timestamp,loss,accuracy,temperature\n1,2,3,0.7\n":                              "",
		"\"ID\",\"Process ID\",\"Kernel Name\",\"Metric Name\",\"Metric Value\"\n\"0\"": "",
	} {
		f, _, _ := collectors.Detect(collectors.Head{Name: "x.csv", Bytes: []byte(content), Whole: true})
		if f.Name != want {
			t.Errorf("%.40q is detected as %q, want %q", content, f.Name, want)
		}
	}
}

func FuzzQuery(f *testing.F) {
	parsertest.Fuzz(f, "nvidia-smi-csv", query, "index, power.draw [W]\n0, 1 W\n")
}

func FuzzDmon(f *testing.F) { parsertest.Fuzz(f, "nvidia-smi-dmon", dmon) }

func FuzzFull(f *testing.F) { parsertest.Fuzz(f, "nvidia-smi-q", full) }

func FuzzLog(f *testing.F) { parsertest.Fuzz(f, "nvml-csv", "time_s,power_w,temp_c\n1,2,3\n2,3,4\n") }

func FuzzTiming(f *testing.F) {
	parsertest.Fuzz(f, "kernel-timing-csv", "kernel,variant,mean_ms\nk,a,1.25\n")
}

func FuzzPeaks(f *testing.F) {
	parsertest.Fuzz(f, "roofline-peaks-csv", "label,peak_flops,peak_bandwidth\nmeasured,1,2\n")
}

func FuzzJSON(f *testing.F) {
	parsertest.Fuzz(f, "gpu-roofline-json", burst, `{"sample_index":0,"timestamp":"2026-03-18T17:20:26.5Z"}`)
}

// Logs of programs have what their language prints of no value.
func TestTimesWithoutAValue(t *testing.T) {
	r := parsertest.MustParse(t, "kernel-timing-csv", "x.csv", "kernel,mean_ms,median_ms\nk,inf,nan\nl,1.5,-inf\n")
	for i, want := range []string{"na", "na", "ok", "na"} {
		if c := r.Counters[i]; c.Status != want || c.Value.Valid != (want == "ok") {
			t.Errorf("%+v, want %s", c, want)
		}
	}
	if r.Launches[0].DurNs.Valid || r.Launches[1].DurNs.V != 1_500_000 {
		t.Errorf("%+v", r.Launches)
	}
}

func TestPeaksThatAreNone(t *testing.T) {
	r := parsertest.MustParse(t, "roofline-peaks-csv", "x.csv", "label,peak_flops,peak_bandwidth\nmeasured,0,inf\n")
	if len(r.Ceilings) != 0 || r.Runs[0].Status != datasets.RunEmpty || len(r.Warnings) != 1 {
		t.Errorf("%+v, %+v", r.Ceilings, r.Runs)
	}
	parsertest.Refused(t, "roofline-peaks-csv", "x.csv", "label,peak_flops,peak_bandwidth\nmeasured,-1,2\n", 2, 10, "a ceiling is no number")
}
