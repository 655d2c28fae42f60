package smi_test

import (
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const rocmCSV = `WARNING: AMD GPU device(s) is/are in a low-power state

device,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),Average Graphics Package Power (W),GPU use (%),VRAM Total Used Memory (B),sclk clock speed:,Card Series
card0,45.0,61.5,212.5,82,1073741824,(1700Mhz),AMD Instinct MI250X
card1,N/A,60.0,198.0,0%,10977280,(800Mhz),AMD Instinct MI250X

device,Temperature (Sensor edge) (C),Temperature (Sensor junction) (C),Average Graphics Package Power (W),GPU use (%),VRAM Total Used Memory (B),sclk clock speed:,Card Series
card0,46.0,62.5,213.5,83,1073741824,(1701Mhz),AMD Instinct MI250X
card1,N/A,60.0,198.0,0%,10977280,(800Mhz),AMD Instinct MI250X
`

const rocmJSON = `{"card0": {"GPU use (%)": "82", "sclk clock speed:": "(1700Mhz)", "sclk clock level:": "1", "VRAM Total Memory (B)": "68702699520", "Voltage (mV)": "818", "GFX Version": "gfx90a"}, "system": {"Driver version": "6.3.6"}}
{"card0": {"GPU use (%)": "83"}, "system": {"Driver version": "6.3.6"}}
`

const amdCSV = `timestamp,gpu,gfx_activity,umc_activity,vcn_activity,socket_power,gfx_0_clk,mem_0_clk,edge,hotspot,mem
1789515524,0,0,0,"['N/A', 'N/A']",288,2402,2000,N/A,44,24
1789515525,0,95,80,"['N/A', 'N/A']",1180,2100,2000,55,78,60
1789515525,1,1,2,"['N/A', 'N/A']",300,2100,2000,55,78,60
`

const amdJSON = `{"gpu_data": [
 {"gpu": 0, "usage": {"gfx_activity": {"value": 40, "unit": "%"}, "vcn_activity": [{"value": 3, "unit": "%"}, "N/A"]},
  "power": {"socket_power": {"value": 239, "unit": "W"}, "gfx_voltage": "N/A"}, "clock": {"gfx_0": {"clk": {"value": 2100, "unit": "MHz"}, "min_clk": {"value": 500, "unit": "MHz"}}},
  "temperature": {"edge": "N/A", "hotspot": {"value": 36, "unit": "C"}, "mem": {"value": 30, "unit": "C"}},
  "mem_usage": {"total_vram": {"value": 16384, "unit": "MB"}, "used_vram": {"value": 283, "unit": "MB"}}, "energy": {"total_energy_consumption": {"value": 12345.5, "unit": "J"}}},
 {"gpu": 1, "usage": "N/A", "power": {"socket_power": {"value": 22, "unit": "W"}}}]}
`

// Values by hand: MHz times a million, MB times 1,048,576, mV by a thousand.
func TestListingsOfAmd(t *testing.T) {
	second := time.Unix(1789515524, 0).UnixNano()
	for format, c := range map[string]struct {
		text  string
		start int64
		want  map[string][]any
	}{
		"rocm-smi-csv": {rocmCSV, 0, map[string][]any{"gpu0.temperature": {45.0, 46.0}, "gpu1.temperature": {nil, nil}, "gpu0.temperature.hotspot": {61.5, 62.5}, "gpu0.power": {212.5, 213.5},
			"gpu1.utilization": {0.0, 0.0}, "gpu0.memory.used": {float64(1 << 30), float64(1 << 30)}, "gpu0.clock.sm": {1.7e9, 1.701e9}}},
		"rocm-smi-json": {rocmJSON, 0, map[string][]any{"gpu0.utilization": {82.0, 83.0}, "gpu0.clock.sm": {1.7e9}, "gpu0.memory.total": {68702699520.0}, "gpu0.voltage": {0.818}}},
		"amd-smi-csv": {amdCSV, second, map[string][]any{"gpu0.utilization": {0.0, 95.0}, "gpu0.power": {288.0, 1180.0}, "gpu0.clock.sm": {2.402e9, 2.1e9}, "gpu0.temperature": {nil, 55.0},
			"gpu0.temperature.hotspot": {44.0, 78.0}, "gpu0.temperature.memory": {24.0, 60.0}, "gpu0.utilization.memory": {0.0, 80.0}}},
		"amd-smi-json": {amdJSON, 0, map[string][]any{"gpu0.utilization": {40.0}, "gpu0.power": {239.0}, "gpu1.power": {22.0}, "gpu0.clock.sm": {2.1e9}, "gpu0.temperature": {nil}, "gpu0.temperature.hotspot": {36.0},
			"gpu0.temperature.memory": {30.0}, "gpu0.memory.total": {float64(16 << 30)}, "gpu0.memory.used": {float64(283 << 20)}, "gpu0.energy": {12345.5}, "gpu0.voltage": {nil}}},
	} {
		f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(c.text), Whole: true})
		if f.Name != format || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", format, f.Name, sure, err)
		}
		r := parsertest.MustParse(t, format, "x", c.text)
		for name, want := range c.want {
			s := sensor(r, name)
			if len(s) != len(want) {
				t.Errorf("%s: %s has %d readings, want %d: %+v", format, name, len(s), len(want), r.Telemetry)
				continue
			}
			for i, w := range want {
				if s[i].TNs != c.start+int64(i)*1e9 || s[i].Value.Valid != (w != nil) || w != nil && s[i].Value.V != w {
					t.Errorf("%s: reading %d of %s is %+v, want %v", format, i, name, s[i], w)
				}
			}
		}
	}
	r := parsertest.MustParse(t, "amd-smi-csv", "x", "timestamp,gpu,power_usage,hotspot_temperature,memory_temperature,gfx_clk,gfx,mem,vram_used\n1789515524,0,133 W,37 C,30,131 MHz,5 %,7,283 MB\n")
	for name, want := range map[string]float64{"gpu0.power": 133, "gpu0.temperature.hotspot": 37, "gpu0.temperature.memory": 30, "gpu0.clock.sm": 1.31e8, "gpu0.utilization": 5, "gpu0.utilization.memory": 7} {
		if s := sensor(r, name); len(s) != 1 || s[0].Value != datasets.Some(want) {
			t.Errorf("%s of amd-smi monitor is %+v, want %v", name, s, want)
		}
	}
	r = parsertest.MustParse(t, "rocm-smi-csv", "x", rocmCSV)
	if m := r.Machines[0]; m.GPU != "AMD Instinct MI250X" || r.Runs[0].Tool != "rocm-smi" {
		t.Errorf("%+v %+v", m, r.Runs)
	}
	r = parsertest.MustParse(t, "rocm-smi-json", "x", rocmJSON)
	if m := r.Machines[0]; m.Arch != "gfx90a" || m.Driver != "6.3.6" || attr(r, "gpu0.sclk clock level") != "1" {
		t.Errorf("%+v %+v", m, r.Attributes)
	}
	r = parsertest.MustParse(t, "amd-smi-json", "x", amdJSON)
	if attr(r, "gpu0.usage.vcn_activity.0") != "3 %" || attr(r, "gpu0.clock.gfx_0.min_clk") != "500 MHz" || len(r.Runs) != 1 || r.Runs[0].Started != (datasets.Null[time.Time]{}) {
		t.Errorf("%+v", r.Attributes)
	}
	parsertest.Truncations(t, "rocm-smi-json", "x", rocmJSON, 100)
	parsertest.Truncations(t, "amd-smi-json", "x", amdJSON, 100)
}

func TestBrokenListingsOfAmdAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		format, text string
		line, col    int
		msg          string
	}{
		"no header":     {"rocm-smi-csv", "hello\n", 1, 1, "there is no header of rocm-smi"},
		"no header, 2":  {"amd-smi-csv", "hello\n", 1, 1, "amd-smi metric --csv > FILE"},
		"a short row":   {"rocm-smi-csv", "device,GPU use (%)\ncard0\n", 2, 1, "expected 2 cells, found 1"},
		"a word":        {"rocm-smi-csv", "device,GPU use (%)\ncard0,much\n", 2, 7, "no number"},
		"a bad index":   {"amd-smi-csv", "gpu,gfx_activity,umc_activity\nx,1,2\n", 2, 1, "the index of the GPU is no number"},
		"a bad time":    {"amd-smi-csv", "timestamp,gpu,gfx_activity,umc_activity\nnow,0,1,2\n", 2, 1, "expected seconds since 1970"},
		"empty":         {"rocm-smi-json", "", 1, 1, "the file ends within a JSON value"},
		"a list":        {"rocm-smi-json", "[]", 1, 3, "there are no cards"},
		"a bare card":   {"rocm-smi-json", `{"card0": 1}`, 1, 13, "a card has no members"},
		"a text":        {"rocm-smi-json", `{"card0": {"GPU use (%)": "much"}}`, 1, 35, "is no number (GPU use (%))"},
		"no list":       {"amd-smi-json", `{"gpu_data": 1}`, 1, 16, "there is no list of GPUs"},
		"no index":      {"amd-smi-json", `[{"usage": 1}]`, 1, 15, `expected "gpu": 0`},
		"another unit":  {"amd-smi-json", `[{"gpu": 0, "power": {"socket_power": {"value": 1, "unit": "C"}}}]`, 1, 67, "is no number"},
		"a later fault": {"amd-smi-json", "[{\"gpu\": 0}]\n[{\"gpu\": 0, \"timestamp\": \"x\"}]", 2, 31, "the time is none"},
	} {
		parsertest.Refused(t, c.format, name, c.text, c.line, c.col, c.msg)
	}
}

func FuzzRocmCSV(f *testing.F)  { parsertest.Fuzz(f, "rocm-smi-csv", rocmCSV) }
func FuzzRocmJSON(f *testing.F) { parsertest.Fuzz(f, "rocm-smi-json", rocmJSON) }
func FuzzAmdCSV(f *testing.F)   { parsertest.Fuzz(f, "amd-smi-csv", amdCSV) }
func FuzzAmdJSON(f *testing.F)  { parsertest.Fuzz(f, "amd-smi-json", amdJSON) }
