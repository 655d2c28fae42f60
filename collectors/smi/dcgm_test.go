package smi_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

const dcgmi = `#Entity   DVNAM               GRACT        DRAMA        POWER        FBUSD        NVLTX        XYZZY
ID                                                      W            MB                        MHz
GPU 0     NVIDIA H100 NVL     N/A          N/A          61.250       1024         1500         7
GPU-I 3   NVIDIA H100 NVL     0.5          0.125        N/A          512          0            8
Error: a message of the host engine
GPU 0     NVIDIA H100 NVL     0.966        0.131        397.637      2048         3000         9
`

// Values by hand: shares times 100, MiB times 1,048,576; the unit of an unknown
// column stands below it.
func TestDcgmiDmon(t *testing.T) {
	r := parsertest.MustParse(t, "dcgmi-dmon", "d.txt", dcgmi)
	for name, want := range map[string][]any{
		"gpu0.active.graphics": {nil, 96.6}, "gpu0.active.dram": {nil, 13.1}, "gpu0.power": {61.25, 397.637}, "gpu0.memory.used": {float64(1 << 30), float64(2 << 30)},
		"gpu0.nvlink.tx": {1500.0, 3000.0}, "gpu0.dcgm.xyzzy": {7e6, 9e6}, "gpu-i3.active.graphics": {50.0}, "gpu-i3.power": {nil},
	} {
		s := sensor(r, name)
		if len(s) != len(want) {
			t.Fatalf("%s has %d readings, want %d", name, len(s), len(want))
		}
		for i, w := range want {
			if s[i].TNs != int64(i)*1e9 || s[i].Value.Valid != (w != nil) || w != nil && s[i].Value.V != w {
				t.Errorf("reading %d of %s is %+v, want %v", i, name, s[i], w)
			}
		}
	}
	if m := r.Machines[0]; m.GPU != "NVIDIA H100 NVL" || r.Runs[0].Tool != "dcgm" || len(r.Warnings) != 2 {
		t.Errorf("%+v %+v %v", m, r.Runs, r.Warnings)
	}
}

const scrape = `# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-a",device="nvidia0",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",DCGM_FI_DRIVER_VERSION="550.54.15"} 1410
DCGM_FI_DEV_SM_CLOCK{gpu="1", UUID="GPU-b",modelName="NVIDIA A100-SXM4-40GB",Hostname="n1",pod="a\"b"} 210
DCGM_FI_DEV_MEMORY_TEMP{gpu="0",UUID="GPU-a"} 9223372036854775794
DCGM_FI_DEV_POWER_USAGE{gpu="0",UUID="GPU-a"} 71.250000
DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{gpu="0",UUID="GPU-a"} 1234567
DCGM_FI_PROF_DRAM_ACTIVE{gpu="0",UUID="GPU-a",GPU_I_ID="2",GPU_I_PROFILE="1g.5gb"} 0.25
# HELP DCGM_FI_DEV_POWER_VIOLATION Throttling duration due to power constraints (in us).
# TYPE DCGM_FI_DEV_POWER_VIOLATION counter
DCGM_FI_DEV_POWER_VIOLATION{gpu="0"} 1500
go_goroutines 12
`

func TestScrapesOfTheExporter(t *testing.T) {
	r := parsertest.MustParse(t, "dcgm-exporter", "m.txt", scrape+scrape)
	for name, want := range map[string]float64{"gpu0.clock.sm": 1.41e9, "gpu1.clock.sm": 2.1e8, "gpu0.power": 71.25, "gpu0.energy": 1234.567, "gpu0.mig2.active.dram": 25, "gpu0.dcgm.dev_power_violation": 1500e-6} {
		if s := sensor(r, name); len(s) != 2 || s[0].Value != datasets.Some(want) || s[0].TNs != 0 || s[1].TNs != 1e9 {
			t.Errorf("%s is %+v, want %v twice", name, s, want)
		}
	}
	// 9223372036854775794 is DCGM_INT64_BLANK + 2: not supported.
	if s := sensor(r, "gpu0.temperature.memory"); len(s) != 2 || s[0].Value.Valid || attr(r, "gpu0.temperature.memory.status") != "N/A, not supported" {
		t.Errorf("%+v", s)
	}
	if s := sensor(r, "gpu0.dcgm.dev_power_violation"); s[0].Kind != "cumulative" || s[0].Unit != "s" {
		t.Errorf("%+v", s[0])
	}
	if m := r.Machines[0]; m.GPU != "NVIDIA A100-SXM4-40GB" || m.Host != "n1" || m.Driver != "550.54.15" || attr(r, "gpu1.pod") != `a"b` {
		t.Errorf("%+v %+v", m, r.Attributes)
	}
	r = parsertest.MustParse(t, "dcgm-exporter", "m.txt", `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 37 1712345678000`+"\n")
	if s := sensor(r, "gpu0.utilization"); len(s) != 1 || s[0].TNs != 1712345678e9 || s[0].Value != datasets.Some(37.0) {
		t.Errorf("%+v", s)
	}
}

func TestBrokenReadingsOfDcgmAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		format, text string
		line, col    int
		msg          string
	}{
		"no header":     {"dcgmi-dmon", "hello\n", 1, 1, "there is no header of dcgmi dmon"},
		"a short row":   {"dcgmi-dmon", "#Entity GRACT DRAMA\nID\nGPU 0   0.5\n", 3, 9, "expected 4 cells, found 3"},
		"a word":        {"dcgmi-dmon", "#Entity GRACT\nGPU 0   fast\n", 2, 9, "no number"},
		"an empty file": {"dcgm-exporter", "", 1, 1, "curl HOST:9400/metrics"},
		"no GPU":        {"dcgm-exporter", "DCGM_FI_DEV_SM_CLOCK{a=\"0\"} 1\n", 1, 21, `expected gpu="0"`},
		"no value":      {"dcgm-exporter", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"}\n", 1, 30, "has not one value"},
		"no number":     {"dcgm-exporter", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} fast\n", 1, 31, "no number"},
		"two hosts":     {"dcgm-exporter", "DCGM_FI_A{gpu=\"0\",Hostname=\"a\"} 1\nDCGM_FI_A{gpu=\"0\",Hostname=\"b\"} 1\n", 2, 1, `expected "a", found "b"`},
		"open labels":   {"dcgm-exporter", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\n", 1, 26, "a value in quotes"},
		"no label":      {"dcgm-exporter", "DCGM_FI_DEV_SM_CLOCK{gpu\n", 1, 22, "a label as"},
		"no time":       {"dcgm-exporter", "DCGM_FI_DEV_SM_CLOCK{gpu=\"0\"} 1 now\n", 1, 33, "expected ms since 1970"},
	} {
		parsertest.Refused(t, c.format, name, c.text, c.line, c.col, c.msg)
	}
	for format, text := range map[string]string{"dcgmi-dmon": dcgmi, "dcgm-exporter": scrape} {
		f, sure, err := collectors.Detect(collectors.Head{Bytes: []byte(text), Whole: true})
		if f.Name != format || sure != collectors.Certain {
			t.Errorf("%s is detected as %q, %v, %v", format, f.Name, sure, err)
		}
		// Loggers are stopped while they write: the line that may be cut is left out.
		r := parsertest.MustParse(t, format, "x", text[:len(text)-3])
		if w := r.Warnings[len(r.Warnings)-1]; !strings.Contains(w.Msg, "may be cut") {
			t.Errorf("%s: %v", format, w)
		}
	}
}

func FuzzDcgmi(f *testing.F) { parsertest.Fuzz(f, "dcgmi-dmon", dcgmi, "#Entity GRACT\nGPU 0 0.5\n") }

func FuzzExporter(f *testing.F) {
	parsertest.Fuzz(f, "dcgm-exporter", scrape, `DCGM_FI_DEV_GPU_UTIL{gpu="0"} 37 1712345678000`+"\n")
}
