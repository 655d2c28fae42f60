// Package smi reads how GPUs did while programs ran: what nvidia-smi prints
// (--query-gpu as CSV, dmon, -q), what DCGM tells (dcgmi dmon, its exporter for
// Prometheus), AMD's rocm-smi and amd-smi as CSV and JSON, logs that programs
// write with NVML, and the small files that roofline tools leave beside them:
// ceilings, and timings of kernels.
//
// In flows the text, out flow one run and, of the sensors, telemetry: one row
// per reading, also where NVML repeated a value because the sensor is read out
// less often than it was asked. Sensors are named by GPU and quantity,
// "gpu0.power", "gpu0.clock.sm", "gpu0.temperature", "gpu0.utilization",
// "gpu0.memory.used", "gpu0.throttle.sw_power_cap"; values are in W, Hz, degC,
// %, byte, byte/s and J; a reason for throttling is 1 while it holds, else 0.
// What a GPU does not tell ("N/A", "[Not Supported]") is a reading without
// value. Times are ns since 1970 where the file has dates, else since its start.
package smi

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/delimited"
)

func init() {
	for _, f := range []struct {
		name, about string
		detect      func(collectors.Head) collectors.Confidence
		parse       func(*log) error
	}{
		{"nvidia-smi-csv", "nvidia-smi --query-gpu=... --format=csv", detectQuery, (*log).query},
		{"nvidia-smi-dmon", "nvidia-smi dmon", detectDmon, (*log).dmon},
		{"nvidia-smi-q", "nvidia-smi -q", detectFull, (*log).full},
		{"nvidia-smi-table", "nvidia-smi's table, pmon and XML: recognised, to be taken in another form", detectTable, (*log).refuseTable},
		{"dcgmi-dmon", "dcgmi dmon: sensors and profiling metrics of NVIDIA's DCGM", detectDcgmi, (*log).dcgmi},
		{"dcgm-exporter", "DCGM exporter: what it gives to Prometheus, one scrape or several", detectExporter, (*log).exporter},
		{"rocm-smi-csv", "AMD rocm-smi --csv, one listing or several", detectRocmCSV, (*log).amdCSV},
		{"rocm-smi-json", "AMD rocm-smi --json, one listing or several", detectRocmJSON, (*log).amdJSON},
		{"amd-smi-csv", "AMD amd-smi metric --csv, also with --watch, and amd-smi monitor --csv", detectAmdCSV, (*log).amdCSV},
		{"amd-smi-json", "AMD amd-smi metric --json, also with --watch", detectAmdJSON, (*log).amdJSON},
		{"nvml-csv", "telemetry of a GPU that a program logged as CSV: a time, and power_w, sm_clock_mhz, ...", detectLog, (*log).columns},
		{"roofline-peaks-csv", "ceilings as CSV: label, peak_flops, peak_bandwidth", detectPeaks, (*log).peaks},
		{"kernel-timing-csv", "timings of kernels as CSV: kernel, mean_ms, median_ms, ...", detectTiming, (*log).timings},
		{"gpu-roofline-json", "gpu-roofline: burst, dynamic and monitor results (JSON)", detectJSON, (*log).json},
	} {
		collectors.Register(collectors.Format{
			Name: f.name, About: f.about, Version: 1, Detect: f.detect,
			Parse: func(ctx context.Context, in *collectors.Input, out *collectors.Output) error {
				return f.parse(newLog(ctx, in, out, f.name))
			},
		})
	}
}

// lines are the first lines of a head that are whole.
func lines(h collectors.Head, most int) []string {
	var ls []string
	rest := h.Bytes
	for n := 0; n < 10*most && len(ls) < most && len(rest) > 0; n++ { // n counts blank lines, too
		line, more, ended := bytes.Cut(rest, []byte("\n"))
		if !ended && !h.Whole {
			break
		}
		if s := strings.TrimRight(string(line), "\r "); s != "" {
			ls = append(ls, s)
		}
		rest = more
	}
	return ls
}

// headerOf is the first line as a header.
func headerOf(h collectors.Head) *delimited.Header {
	ls := lines(h, 1)
	if len(ls) == 0 {
		return nil
	}
	return asHeader(ls[0])
}

func asHeader(line string) *delimited.Header {
	if !strings.Contains(line, ",") {
		return nil
	}
	cells, broken := delimited.Split(line, ',')
	if broken != nil {
		return nil
	}
	return delimited.NewHeader(cells)
}

// detectQuery takes a header that nvidia-smi has printed: properties with
// points in their names or units in brackets. Rows without a header are its
// own too, to be refused.
// among is certain where one of the first lines is what a format's files have.
func among(h collectors.Head, first int, tells func(line string) bool) collectors.Confidence {
	if slices.ContainsFunc(lines(h, first), tells) {
		return collectors.Certain
	}
	return collectors.No
}

func detectQuery(h collectors.Head) collectors.Confidence {
	return among(h, 20, func(line string) bool { return isQuery(line) || bare(line) })
}

func isQuery(line string) bool {
	cells, broken := delimited.Split(line, ',')
	if broken != nil || len(cells) == 0 {
		return false
	}
	known := 0
	for _, c := range cells {
		name, _ := property(c.Text)
		if _, ok := properties[name]; ok || strings.HasPrefix(name, "clocks_throttle_reasons.") || strings.HasPrefix(name, "clocks_event_reasons.") {
			if strings.Contains(name, ".") {
				known++
			}
		} else if !texts[name] && !strings.ContainsAny(name, "._") {
			return false
		}
	}
	return known > 0
}

func detectDmon(h collectors.Head) collectors.Confidence { return among(h, 20, isDmon) }

func detectFull(h collectors.Head) collectors.Confidence { return among(h, 40, isLogTitle) }

func isLogTitle(line string) bool { return strings.Contains(line, "=NVSMI LOG=") }

func detectTable(h collectors.Head) collectors.Confidence {
	for _, line := range lines(h, 6) {
		if strings.HasPrefix(line, "| NVIDIA-SMI ") || strings.HasPrefix(line, "<nvidia_smi_log>") || isPmon(line) {
			return collectors.Certain
		}
	}
	return collectors.No
}

// isPmon tells the titles of nvidia-smi pmon, which is about processes.
func isPmon(line string) bool {
	gpu, pid := false, false
	for _, c := range titles(line, 1) {
		gpu, pid = gpu || c.Text == "gpu", pid || c.Text == "pid"
	}
	return gpu && pid
}

func (l *log) refuseTable() error {
	what := "the table of nvidia-smi, which rounds and cuts what it shows"
	for _, line := range lines(l.in.Head, 6) {
		switch {
		case isPmon(line):
			what = "output of nvidia-smi pmon, which is about processes"
		case strings.HasPrefix(line, "<nvidia_smi_log>"):
			what = "a listing of nvidia-smi -q -x, which is XML"
		}
	}
	return &collectors.UnsupportedError{File: l.in.Name, What: what,
		Hint: "take the readings as CSV: nvidia-smi --query-gpu=timestamp,index,name,power.draw,clocks.sm,temperature.gpu,utilization.gpu --format=csv -lms 100"}
}

// detectLog takes a header that begins with a time and has two columns whose
// names tell a sensor and its unit.
func detectLog(h collectors.Head) collectors.Confidence {
	head := headerOf(h)
	if head == nil || len(head.Cells) < 3 {
		return collectors.No
	}
	time, sensors := -1, 0
	for i, c := range head.Cells {
		if timeColumn(c.Text) != "" && time < 0 {
			time = i
		} else if _, ok := column(c.Text); ok {
			sensors++
		}
	}
	if time != 0 && time != 1 || sensors < 2 || 2*sensors < len(head.Cells)-2 {
		return collectors.No
	}
	return collectors.Likely
}

func detectPeaks(h collectors.Head) collectors.Confidence {
	if head := headerOf(h); head != nil && head.At("label", "kind", "source") >= 0 && head.Has("peakflops", "peakbandwidth") {
		return collectors.Certain
	}
	return collectors.No
}

func detectTiming(h collectors.Head) collectors.Confidence {
	head := headerOf(h)
	if head == nil || head.At("kernel", "kernelname") < 0 {
		return collectors.No
	}
	for _, c := range head.Cells {
		if t, ok := timing(c.Text); ok && (t == "mean" || t == "median") {
			return collectors.Likely
		}
	}
	return collectors.No
}

func detectJSON(h collectors.Head) collectors.Confidence {
	b := bytes.TrimLeft(h.Bytes, " \t\r\n")
	has := func(words ...string) bool {
		for _, w := range words {
			if !bytes.Contains(b, []byte(`"`+w+`"`)) {
				return false
			}
		}
		return true
	}
	if len(b) > 0 && b[0] == '{' && (has("device_name", "peak_gflops", "peak_bandwidth_gbps") || has("sample_index", "bandwidth_gbps", "gflops")) {
		return collectors.Certain
	}
	return collectors.No
}
