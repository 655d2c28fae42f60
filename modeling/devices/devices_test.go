package devices_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/devices"
)

func find(t *testing.T, name string) devices.Device {
	t.Helper()
	d, err := devices.Find(name)
	if err != nil {
		t.Fatalf("Find(%q): %v", name, err)
	}
	return d
}

// printedOtherwise are the printed figures that units x rate x clock does not
// meet within 1 %, and why.
var printedOtherwise = map[string]string{
	"Tesla P4 fp32":                "the data sheet rounds 5.44 up to 5.5",
	"NVIDIA H200 fp64":             "rounded to 34 from 33.5, as the H100 white paper prints for the same chip and clock",
	"NVIDIA GH200 480GB fp64":      "rounded to 34 from 33.5, as the H100 white paper prints for the same chip and clock",
	"NVIDIA GH200 144G HBM3e fp64": "rounded to 34 from 33.5, as the H100 white paper prints for the same chip and clock",
	"AMD Instinct MI350X dram":     "rounded to 8 TB/s from 8192 bit x 8 Gbit/s",
	"AMD Instinct MI355X dram":     "rounded to 8 TB/s from 8192 bit x 8 Gbit/s",
	"Intel Core i7-8700K dram":     "ARK takes DDR4-2666 for 2.6 GT/s: 2 x 8 byte x 2.6 = 41.6",
	"Intel Core i9-9900K dram":     "ARK takes DDR4-2666 for 2.6 GT/s: 2 x 8 byte x 2.6 = 41.6",
}

// The structure of each device gives the figures that its vendor prints.
func TestComputedLimitsAgreeWithPrintedFigures(t *testing.T) {
	compared, used := 0, map[string]bool{}
	for _, d := range devices.All() {
		for _, l := range d.Limits() {
			if l.Printed == 0 {
				continue
			}
			compared++
			key := d.Name + " " + l.Name
			why, expected := printedOtherwise[key]
			off := l.Value.Value/l.Printed - 1
			if expected {
				used[key] = true
			}
			switch {
			case math.Abs(off) > 0.01 && !expected:
				t.Errorf("%s: %s gives %.5g, printed %.5g: %+.2f %%", key, l.How, l.Value.Value, l.Printed, 100*off)
			case math.Abs(off) <= 0.01 && expected:
				t.Errorf("%s: agrees within %.2f %%, and is explained: %s", key, 100*off, why)
			}
		}
	}
	if compared < 400 {
		t.Errorf("only %d figures compared", compared)
	}
	for key := range printedOtherwise {
		if !used[key] {
			t.Errorf("%s is explained and not in the table", key)
		}
	}
}

// Worked by hand from the structure that white papers describe.
func TestPeaksByHand(t *testing.T) {
	for _, c := range []struct {
		device string
		limit  string
		want   float64
	}{
		{"NVIDIA A100-SXM4-40GB", "fp64", 108 * 32 * 2 * 1.41e9},
		{"NVIDIA A100-SXM4-40GB", "fp16.tensor", 108 * 4 * 256 * 2 * 1.41e9}, // 4 tensor cores of 256 FMA
		{"NVIDIA A100-SXM4-40GB", "l2", 2 * 40 * 64 * 1.41e9},                // 2 partitions of 40 slices, 64 B each
		{"NVIDIA A100-SXM4-40GB", "shared", 108 * 32 * 4 * 1.41e9},
		{"Tesla V100-SXM2-16GB", "fp16.tensor", 80 * 8 * 64 * 2 * 1.53e9},
		{"NVIDIA H100 80GB HBM3", "fp32", 132 * 128 * 2 * 1.98e9},
		{"NVIDIA H100 80GB HBM3", "fp16.tensor", 132 * 4 * 512 * 2 * 1.83e9},
		{"AMD Instinct MI250X", "fp64.tensor", 110 * 256 * 1.7e9},
		{"AMD Instinct MI250X", "l2", 32 * 128 * 1.7e9},
		{"AMD Instinct MI300X", "dram", 8 * 1024 / 8 * 5.2e9}, // 8 stacks of 1024 bit
		{"Intel Xeon Platinum 8480+", "fp64", 56 * 2 * 8 * 2 * 2e9},
		{"Intel Xeon Platinum 8480+", "dram", 8 * 8 * 4.8e9},
		{"AMD EPYC 9654", "dram", 12 * 8 * 4.8e9},
		{"AMD EPYC 7742", "fp64", 64 * 2 * 4 * 2 * 2.25e9},
	} {
		d := find(t, c.device)
		v, ok := d.Peak(devices.Precision(c.limit))
		if !ok {
			v, ok = d.Bandwidth(devices.Level(c.limit))
		}
		if !ok || math.Abs(v.Value/c.want-1) > 1e-12 {
			t.Errorf("%s %s: %v %v, want %g", c.device, c.limit, v, ok, c.want)
		}
	}
}

func TestEveryLimitHasUnitArithmeticAndSource(t *testing.T) {
	for _, d := range devices.All() {
		if len(d.Limits()) == 0 {
			t.Errorf("%s has no limits", d.Name)
		}
		for _, l := range d.Limits() {
			unit := "flop/s"
			switch {
			case !strings.HasPrefix(l.Name, "fp") && !strings.HasPrefix(l.Name, "bf") && !strings.HasPrefix(l.Name, "tf") && !strings.HasPrefix(l.Name, "int"):
				unit = "byte/s"
			case strings.HasPrefix(l.Name, "int"):
				unit = "op/s"
			}
			if l.Unit != unit || l.How == "" || len(l.Source) < 10 || !(l.Value.Value > 1e9) || math.IsInf(l.Value.Value, 0) {
				t.Errorf("%s: %+v", d.Name, l)
			}
		}
		if d.Vendor == "" || d.Units == 0 || d.Warp == 0 || d.Source == "" || d.MaxThreads.Valid && d.LimitsSource == "" {
			t.Errorf("%+v is not complete", d)
		}
	}
}

// Every device is found by its name and by each of its other names.
func TestAllAreFoundByTheirNames(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range devices.All() {
		if seen[d.Name] {
			t.Errorf("%s is twice in the table", d.Name)
		}
		seen[d.Name] = true
		for _, n := range append([]string{d.Name, strings.ToUpper(d.Name)}, d.Also...) {
			got, err := devices.Match(devices.Facts{Name: n, Units: int64(d.Units)})
			if err != nil || got.Name != d.Name {
				t.Errorf("%q: %s, %v; want %s", n, got.Name, err, d.Name)
			}
		}
	}
}

func TestFindIsTolerantOfSpelling(t *testing.T) {
	for name, want := range map[string]string{
		"A100-SXM4-40GB":                    "NVIDIA A100-SXM4-40GB",
		"A100 SXM 80 GB":                    "NVIDIA A100-SXM4-80GB",
		"a100 pcie 80gb":                    "NVIDIA A100 80GB PCIe",
		"V100-SXM2-32GB":                    "Tesla V100-SXM2-32GB",
		"NVIDIA Tesla V100-PCIE-32GB":       "Tesla V100-PCIE-32GB",
		"RTX 3080":                          "NVIDIA GeForce RTX 3080",
		"GeForce RTX 3080 Ti":               "NVIDIA GeForce RTX 3080 Ti",
		"RTX4090":                           "NVIDIA GeForce RTX 4090",
		"H100 SXM5":                         "NVIDIA H100 80GB HBM3",
		"NVIDIA L4":                         "NVIDIA L4",
		"RTX A6000":                         "NVIDIA RTX A6000",
		"RTX 6000 Ada":                      "NVIDIA RTX 6000 Ada Generation",
		"Orin":                              "Jetson AGX Orin 64GB",
		"MI250X":                            "AMD Instinct MI250X (one GCD)",
		"gfx90a 110":                        "AMD Instinct MI250X (one GCD)",
		"gfx90a:sramecc+:xnack-, 110 CUs":   "AMD Instinct MI250X (one GCD)",
		"gfx908":                            "AMD Instinct MI100",
		"sm_70 80 SMs":                      "",
		"AMD Instinct MI300X":               "AMD Instinct MI300X",
		"Radeon RX 6900 XT":                 "AMD Radeon RX 6900 XT",
		"Intel(R) Data Center GPU Max 1550": "Intel Data Center GPU Max 1550",
		"Intel(R) Xeon(R) Platinum 8480+":   "Intel Xeon Platinum 8480+",
		"Intel(R) Xeon(R) Gold 6248 CPU @ 2.50GHz": "Intel Xeon Gold 6248",
		"Intel(R) Core(TM) i9-9900K CPU @ 3.60GHz": "Intel Core i9-9900K",
		"AMD EPYC 7713 64-Core Processor":          "AMD EPYC 7713",
		"AMD EPYC 9654 96-Core Processor":          "AMD EPYC 9654",
		"AMD Ryzen 9 7950X 16-Core Processor":      "AMD Ryzen 9 7950X",
		"EPYC 7742":                                "AMD EPYC 7742",
	} {
		d, err := devices.Find(name)
		if want == "" {
			var a *devices.AmbiguousError
			if !errors.As(err, &a) {
				t.Errorf("Find(%q): %s, %v; several fit", name, d.Name, err)
			}
			continue
		}
		if err != nil || d.Name != want {
			t.Errorf("Find(%q): %q, %v; want %q", name, d.Name, err, want)
		}
	}
}

func TestAmbiguousNamesNameTheCandidates(t *testing.T) {
	_, err := devices.Find("A100")
	var a *devices.AmbiguousError
	if !errors.As(err, &a) {
		t.Fatalf("Find(A100): %v", err)
	}
	want := []string{"NVIDIA A100-SXM4-40GB", "NVIDIA A100-PCIE-40GB", "NVIDIA A100-SXM4-80GB", "NVIDIA A100 80GB PCIe"}
	if !slices.Equal(a.Candidates, want) || !strings.Contains(err.Error(), want[2]) || !strings.Contains(err.Error(), "memory") {
		t.Errorf("%v", err)
	}
	// What a profile knows beside the name decides.
	d, err := devices.Match(devices.Facts{Name: "A100", MemBytes: 42297524224})
	if err != nil || d.Name != want[0] || !slices.Equal(d.Same, want[1:2]) {
		t.Errorf("A100 of 42.3 GB: %s, %v, %v", d.Name, d.Same, err)
	}
	if d, err := devices.Match(devices.Facts{Name: "MI200", Arch: "gfx90a", Units: 104}); err != nil || d.Name != "AMD Instinct MI210" || !slices.Equal(d.Same, []string{"AMD Instinct MI250 (one GCD)"}) {
		t.Errorf("MI200 of 104 CUs: %s, %v, %v", d.Name, d.Same, err)
	}
	if _, err := devices.Find("gfx90a"); !errors.As(err, &a) || len(a.Candidates) != 3 {
		t.Errorf("gfx90a: %v", err)
	}
}

func TestUnknownNamesNameTheNearest(t *testing.T) {
	for name, nearest := range map[string]string{
		"NVIDIA GeForce RTX 3085":             "NVIDIA GeForce RTX 3080",
		"NVIDIA A100-SXM4-40GB MIG 1g.5gb":    "NVIDIA A100-SXM4-40GB",
		"Intel(R) Xeon(R) Platinum 8481C CPU": "Intel Xeon Platinum 8480+",
		"skylake":                             "",
		"Intel(R) Xeon(R) Processor":          "", // of a virtual machine: any Xeon
		"NVIDIA GeForce RTX 3080 Laptop GPU":  "NVIDIA GeForce RTX 3080",
		"":                                    "",
		"gfx90a 14":                           "AMD Instinct MI210",
		"gfx0":                                "",
		"µ\x00\xff((((":                       "",
	} {
		d, err := devices.Find(name)
		var u *devices.UnknownError
		if !errors.As(err, &u) || !devices.IsUnknown(err) || d.Name != "" {
			t.Errorf("Find(%q): %q, %v", name, d.Name, err)
			continue
		}
		if nearest != "" && !slices.Contains(u.Nearest, nearest) {
			t.Errorf("Find(%q): nearest %v, want %s among them", name, u.Nearest, nearest)
		}
	}
}

// What depends on the core clock is proportional to it; memory is not.
func TestAtScalesToTheClockOfTheMeasurement(t *testing.T) {
	d := find(t, "NVIDIA H100 80GB HBM3")
	at := d.At(0.99e9)
	v, ok := at.Peak(devices.FP32)
	if !ok || math.Abs(v.Value/(132*256*0.99e9)-1) > 1e-12 || v.ClockHz != 0.99e9 || at.ClockHz() != 0.99e9 {
		t.Errorf("FP32 at 0.99 GHz: %v", v)
	}
	// Matrix units, too: the lower boost clock is the vendor's, not the unit's.
	if v, _ := at.Peak(devices.TensorFP16); math.Abs(v.Value/(132*4096*0.99e9)-1) > 1e-12 {
		t.Errorf("tensor FP16 at 0.99 GHz: %v", v)
	}
	a, _ := d.Bandwidth(devices.DRAM)
	if b, ok := at.Bandwidth(devices.DRAM); !ok || a.Value != b.Value {
		t.Errorf("DRAM %v at another clock %v", a, b)
	}
	// A printed figure without its clock cannot be scaled.
	b200 := find(t, "B200")
	if v, ok := b200.Peak(devices.TensorFP16); !ok || v.Value != 2.25e15 || v.ClockHz != 0 {
		t.Errorf("B200 tensor FP16: %v %v", v, ok)
	}
	if v, ok := b200.At(1e9).Peak(devices.TensorFP16); ok {
		t.Errorf("B200 tensor FP16 at 1 GHz: %v", v)
	}
	for _, hz := range []float64{-1, math.NaN(), math.Inf(1)} {
		if v, ok := d.At(hz).Peak(devices.FP64); ok {
			t.Errorf("at %g Hz: %v", hz, v)
		}
	}
}

func TestWhatIsNotKnownIsNotThere(t *testing.T) {
	p100 := find(t, "Tesla P100-PCIE-16GB")
	if v, ok := p100.Peak(devices.TensorFP16); ok {
		t.Errorf("P100 has tensor units: %v", v)
	}
	if v, ok := p100.Bandwidth(devices.L2); ok {
		t.Errorf("P100's L2: %v", v)
	}
	if v, ok := find(t, "AWS Graviton3").Peak(devices.FP64); ok {
		t.Errorf("a peak without a clock: %v", v)
	}
	if v, ok := find(t, "AWS Graviton3").At(2.6e9).Peak(devices.FP64); !ok || math.Abs(v.Value/(64*16*2.6e9)-1) > 1e-12 {
		t.Errorf("Graviton3 at 2.6 GHz: %v", v)
	}
	if _, ok := (devices.Device{}).Peak(devices.FP32); ok {
		t.Error("the zero device has a peak")
	}
	if _, ok := (devices.Device{}).Bandwidth(devices.DRAM); ok {
		t.Error("the zero device has a bandwidth")
	}
	f := devices.Frame()
	if f.Err != nil || f.Nrow() != len(devices.All()) {
		t.Fatalf("frame of %d rows: %v", f.Nrow(), f.Err)
	}
	i := slices.Index(f.Col("name").Records(), "Tesla P100-PCIE-16GB")
	if v := f.Col("fp16.tensor").Elem(i).Float(); !math.IsNaN(v) {
		t.Errorf("P100's tensor peak in the frame: %g", v)
	}
	if v := f.Col("fp64").Elem(i).Float(); math.Abs(v/(56*64*1.303e9)-1) > 1e-12 {
		t.Errorf("P100's FP64 peak in the frame: %g", v)
	}
	for name, col := range map[string][]float64{"units": f.Col("units").Float(), "l2_bytes": f.Col("l2_bytes").Float(), "fp32": f.Col("fp32").Float(), "watt": f.Col("watt").Float()} {
		if slices.Contains(col, 0) {
			t.Errorf("column %s has zeros", name)
		}
	}
}

// Theory holds for one GCD: half of the module's printed figures.
func TestModulesOfTwoDiesAreGivenPerDie(t *testing.T) {
	d := find(t, "AMD Instinct MI250X")
	v, _ := d.Peak(devices.FP64)
	if math.Abs(2*v.Value/47.9e12-1) > 0.01 || !strings.Contains(d.Note, "one of the two dies") || !strings.Contains(d.Name, "one GCD") {
		t.Errorf("%s: %v; %s", d.Name, v, d.Note)
	}
}

func TestDisplay(t *testing.T) {
	d := find(t, "NVIDIA A100-SXM4-40GB")
	b := d.Display()
	page, _ := b.Data["text/html"].(string)
	for _, want := range []string{"108 SM x 256", "white paper", "fp64.tensor", "5120 byte per clock"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if text := display.Render(devices.All()).Data["text/plain"].(string); !strings.Contains(text, "Tesla P100-PCIE-16GB") || !strings.Contains(text, " - ") {
		t.Errorf("the list: %.300s", text)
	}
}

// A cell shows what a call returns, also beside an error.
func TestNoDeviceIsShownAsNone(t *testing.T) {
	d, err := devices.Find("GTX 9999")
	if err == nil {
		t.Fatalf("found %v", d)
	}
	if got := d.Display(); got.Data["text/plain"] != "no device" || len(got.Data) != 1 {
		t.Errorf("shown as %v, want no device", got.Data)
	}
}
