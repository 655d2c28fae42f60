package devices_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/all"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/modeling/devices"
)

// sharedDir holds the project's sample profiles and data sets.
const sharedDir = "../../../shared"

// storeDir is where that store lies, removed at the end.
var storeDir string

func TestMain(m *testing.M) {
	code := m.Run()
	if storeDir != "" {
		os.RemoveAll(storeDir)
	}
	os.Exit(code)
}

// shared is a store with all of them, made once.
var shared = sync.OnceValues(func() (*datasets.Store, error) {
	var paths []string
	for _, dir := range []string{"samples", "data"} {
		err := filepath.WalkDir(filepath.Join(sharedDir, dir), func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%w: the folder shared/ must lie beside the repository", err)
		}
	}
	var err error
	if storeDir, err = os.MkdirTemp("", "rooflab-devices-"); err != nil {
		return nil, err
	}
	store, err := datasets.Open(filepath.Join(storeDir, "all.db"))
	if err != nil {
		return nil, err
	}
	imported := 0
	err = collectors.ImportFiles(context.Background(), store, paths, collectors.Options{Found: true}, func(_ collectors.Summary, err error) error {
		if err == nil { // some of the samples are broken on purpose
			imported++
		}
		return nil
	})
	if err == nil && imported < 100 {
		err = fmt.Errorf("only %d of %d files below %s could be read", imported, len(paths), sharedDir)
	}
	return store, err
})

func sharedStore(t *testing.T) *datasets.Store {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func rowsOf(t *testing.T, s *datasets.Store, sql string, each func([]any)) {
	t.Helper()
	rows, err := s.Rows(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		each(rows.Values())
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
}

// inShared are the names of all devices that profiles and data sets below
// shared/ carry, and what they are.
var inShared = map[string]string{
	"AMD Radeon PRO W6600":           "AMD Radeon PRO W6600",
	"MI200":                          "AMD Instinct MI210", // 104 CUs: or a GCD of MI250, with the same limits
	"MI300A_A1":                      "AMD Instinct MI300A",
	"NVIDIA A100 80GB PCIe":          "NVIDIA A100 80GB PCIe",
	"NVIDIA A100-PCIE-40GB":          "NVIDIA A100-PCIE-40GB",
	"NVIDIA A100-SXM4-40GB":          "NVIDIA A100-SXM4-40GB",
	"NVIDIA A100-PG509-200":          "NVIDIA A100-SXM4-40GB",
	"NVIDIA A40":                     "NVIDIA A40",
	"NVIDIA GeForce RTX 2080 Ti":     "NVIDIA GeForce RTX 2080 Ti",
	"NVIDIA GeForce RTX 3080":        "NVIDIA GeForce RTX 3080",
	"NVIDIA H100 80GB HBM3":          "NVIDIA H100 80GB HBM3",
	"NVIDIA L4":                      "NVIDIA L4",
	"NVIDIA RTX 4000 Ada Generation": "NVIDIA RTX 4000 Ada Generation",
	"NVIDIA RTX A4000":               "NVIDIA RTX A4000",
	"NVIDIA RTX A6000":               "NVIDIA RTX A6000",
	"Tesla P100-PCIE-16GB":           "Tesla P100-PCIE-16GB",
	"Tesla P4":                       "Tesla P4",
	"Tesla T4":                       "Tesla T4",
	"Tesla V100-PCIE-32GB":           "Tesla V100-PCIE-32GB",

	"AMD EPYC 7713 64-Core Processor":           "AMD EPYC 7713",
	"AMD EPYC 7V13 64-Core Processor":           "AMD EPYC 7V13",
	"AMD Instinct MI300A Accelerator":           "AMD Instinct MI300A", // its own host
	"Intel(R) Core(TM) i5-2400 CPU @ 3.10GHz":   "Intel Core i5-2400",
	"Intel(R) Core(TM) i7-4870HQ CPU @ 2.50GHz": "Intel Core i7-4870HQ",
	"Intel(R) Xeon(R) CPU E3-1245 v5 @ 3.50GHz": "Intel Xeon E3-1245 v5",
	"Intel(R) Xeon(R) CPU E5-2698 v3 @ 2.30GHz": "Intel Xeon E5-2698 v3",
	"skylake": "", // llvm-mca's name of a microarchitecture, not of a device
}

func TestEveryDeviceOfTheSamplesIsFound(t *testing.T) {
	s, seen := sharedStore(t), map[string]bool{}
	rowsOf(t, s, `SELECT cpu, gpu, arch, units, mem_bytes FROM machine ORDER BY id`, func(v []any) {
		cpu, _ := v[0].(string)
		gpu, _ := v[1].(string)
		gf := devices.Facts{Name: gpu}
		gf.Arch, _ = v[2].(string)
		gf.Units, _ = v[3].(int64)
		gf.MemBytes, _ = v[4].(int64)
		for _, f := range []devices.Facts{gf, {Name: cpu}} {
			if f.Name == "" {
				continue
			}
			seen[f.Name] = true
			want, listed := inShared[f.Name]
			d, err := devices.Match(f)
			switch {
			case !listed:
				t.Errorf("%q is not among the names of this test; Match: %q, %v", f.Name, d.Name, err)
			case want == "" && !devices.IsUnknown(err):
				t.Errorf("%q is no device; Match: %q, %v", f.Name, d.Name, err)
			case want != "" && (err != nil || d.Name != want):
				t.Errorf("%q: %q, %v; want %q", f.Name, d.Name, err, want)
			}
		}
	})
	for name := range inShared {
		if !seen[name] {
			t.Errorf("no profile names %q", name)
		}
	}
}

// neusight are the differences of more than 1 % between NeuSight's device
// descriptions and the table, and why they are no mistakes of the table.
var neusight = map[string]string{
	"Tesla P100-PCIE-16GB fp32":  "9519 is 56 SM x 128 x 1328 MHz, the base clock of the SXM2 board; the PCIe board boosts to 1303 MHz (data sheet: 9.3 TFLOPS)",
	"Tesla P4 units":             "40 SMs of 64 cores; GP104 has 20 of 128 (2560 cores, as the data sheet says)",
	"Tesla P4 fp32":              "5699 is 2560 cores x 2 x 1113 MHz; the board boosts to 1063 MHz (data sheet: 5.5 TFLOPS)",
	"NVIDIA L4 units":            "60 SMs are the whole AD104; L4 has 58 (7424 cores)",
	"NVIDIA L4 fp32":             "31334 is 60 SM x 256 x 2040 MHz; the data sheet says 30.3 TFLOPS",
	"NVIDIA H100 80GB HBM3 dram": "3430 GB/s; NVIDIA's data sheet says 3.35 TB/s, and 5120 bit x 5.238 Gbit/s is 3352",
}

// The table agrees with NeuSight's device descriptions, or the difference is
// explained.
func TestAgreesWithNeuSight(t *testing.T) {
	s, used, compared := sharedStore(t), map[string]bool{}, 0
	check := func(name, what string, theirs, ours float64) {
		compared++
		key := name + " " + what
		off := math.Abs(theirs/ours-1) > 0.01
		if _, ok := neusight[key]; ok {
			used[key] = true
			if !off {
				t.Errorf("%s agrees (%g and %g), and is explained", key, theirs, ours)
			}
		} else if off {
			t.Errorf("%s: NeuSight %g, the table %g", key, theirs, ours)
		}
	}
	rowsOf(t, s, `SELECT u.id, m.gpu, m.units FROM run u JOIN machine m ON m.id = u.machine_id WHERE u.format = 'neusight-device' ORDER BY m.gpu`, func(v []any) {
		run, name := v[0].(int64), v[1].(string)
		m, err := devices.FromStore(context.Background(), s, run)
		if err != nil || m.Unknown != nil {
			t.Fatalf("%s: %v %v", name, err, m)
		}
		check(name, "units", float64(v[2].(int64)), float64(m.Device.Units))
		for _, limit := range []string{"fp32", "dram"} {
			theirs, ok1 := m.Best(limit, devices.Stated)
			ours, ok2 := m.Best(limit, devices.Theoretical)
			if !ok1 || !ok2 {
				t.Errorf("%s: no %s: %v", name, limit, m)
				continue
			}
			check(name, limit, theirs.Value.Value, ours.Value.Value)
		}
	})
	if compared != 27 {
		t.Errorf("%d figures of nine devices compared, want 27", compared)
	}
	for key := range neusight {
		if !used[key] {
			t.Errorf("%s is explained and not compared", key)
		}
	}
}

// A probe cannot reach more than the theory allows at its clock.
func TestNoProbeExceedsTheTable(t *testing.T) {
	s, compared := sharedStore(t), 0
	ctx := context.Background()
	rowsOf(t, s, `SELECT DISTINCT u.id FROM run u JOIN ceiling c ON c.machine_id = u.machine_id WHERE c.measured ORDER BY u.id`, func(v []any) {
		m, err := devices.FromStore(ctx, s, v[0].(int64))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range m.Ceilings {
			theory, ok := m.Best(c.Name, devices.Theoretical)
			if c.Origin != devices.Measured || !ok {
				continue
			}
			compared++
			if used := c.Value.Value / theory.Value.Value; used > 1 || used < 0.5 {
				t.Errorf("run %d, %s: measured %.4g is %.0f %% of %.4g (%s)", m.Run, c.Name, c.Value.Value, 100*used, theory.Value.Value, theory.How)
			}
		}
	})
	// 11 limits of 4 MI200 devices, and 2 of the H100 in 2 states, for each run of the machine.
	if compared < 44+4 {
		t.Errorf("%d ceilings compared", compared)
	}

	// The file of the RTX 5070 names no device. Its theory is the table's at 2.625
	// GHz and with a memory clock of 14.001 GHz; its probe ran at 2.746 GHz or
	// more, above the boost clock of 2.512 GHz that NVIDIA prints, as cards do
	// while they are cool: another reason to take At.
	d, seen := find(t, "NVIDIA GeForce RTX 5070"), 0
	dram, _ := d.Bandwidth(devices.DRAM)
	fp32, _ := d.At(2.625e9).Peak(devices.FP32)
	cool, _ := d.At(2.7457e9).Peak(devices.FP32)
	rowsOf(t, s, `SELECT level, measured, value FROM ceiling c JOIN machine m ON m.id = c.machine_id WHERE m.gpu IS NULL AND m.arch IS NULL`, func(v []any) {
		what, value := fmt.Sprint(v[0], v[1]), v[2].(float64)
		low, high := map[string]float64{"dramfalse": 0.9999, "fp32false": 1, "dramtrue": 0.8, "fp32true": 0.9999}[what], 1.0001
		want := map[string]float64{"dramfalse": dram.Value, "fp32false": fp32.Value, "dramtrue": dram.Value, "fp32true": cool.Value}[what]
		seen++
		if r := value / want; !(r >= low && r <= high) {
			t.Errorf("RTX 5070 %s: %g, the table %g", what, value, want)
		}
	})
	if seen != 4 {
		t.Errorf("%d ceilings of the RTX 5070, want 4", seen)
	}
}

// The profile of an A40 tells what its driver says of the device.
func TestA40AgreesWithItsDriver(t *testing.T) {
	d, found := find(t, "NVIDIA A40"), map[string]bool{}
	want := map[string]float64{
		"max_threads_per_multiprocessor":       float64(d.MaxThreads.V),
		"max_blocks_per_multiprocessor":        float64(d.MaxBlocks.V),
		"max_registers_per_multiprocessor":     float64(d.Registers.V),
		"max_shared_memory_per_multiprocessor": float64(d.SharedBytes.V),
		"max_shared_memory_per_block_optin":    float64(d.SharedBlockBytes.V),
		"l2_cache_size":                        float64(d.L2Bytes.V),
		"max_gpu_frequency_khz":                d.BoostHz.V / 1e3,
		"global_memory_bus_width":              384,
		"max_mem_frequency_khz":                7251000,
	}
	rowsOf(t, sharedStore(t), `SELECT DISTINCT name, value FROM attribute a JOIN run u ON u.id = a.run_id JOIN machine m ON m.id = u.machine_id WHERE m.gpu = 'NVIDIA A40' AND name LIKE 'device 0 %'`, func(v []any) {
		name := strings.TrimPrefix(v[0].(string), "device 0 ")
		if w, ok := want[name]; ok {
			found[name] = true
			if fmt.Sprintf("%.0f", w) != v[1].(string) {
				t.Errorf("%s: the driver says %s, the table %.0f", name, v[1], w)
			}
		}
	})
	if len(found) != len(want) {
		t.Errorf("found only %v", found)
	}
	// 7251 MHz is the clock of the memory, two bits per pin and clock.
	v, _ := d.Bandwidth(devices.DRAM)
	if driver := 384. / 8 * 2 * 7.251e9; math.Abs(v.Value/driver-1) > 0.001 {
		t.Errorf("memory: %g by the driver, %g by the table", driver, v.Value)
	}
}

// What ROCm Compute Profiler's sysinfo says of its machines.
func TestSysinfoAgrees(t *testing.T) {
	compared := 0
	rowsOf(t, sharedStore(t), `SELECT m.gpu, m.arch, m.units, m.clock_hz, max(CASE WHEN a.name = 'sysinfo.wave_size' THEN a.value END),
			max(CASE WHEN a.name = 'sysinfo.max_waves_per_cu' THEN a.value END), max(CASE WHEN a.name = 'sysinfo.gpu_l2' THEN a.value END), max(CASE WHEN a.name = 'sysinfo.gpu_l1' THEN a.value END),
			(SELECT max(value) FROM ceiling c WHERE c.machine_id = m.id AND level = 'dram' AND NOT measured)
		FROM machine m JOIN run u ON u.machine_id = m.id JOIN attribute a ON a.run_id = u.id WHERE a.name LIKE 'sysinfo.%' GROUP BY ALL`, func(v []any) {
		d, err := devices.Match(devices.Facts{Name: v[0].(string), Arch: v[1].(string), Units: v[2].(int64)})
		if err != nil {
			t.Fatal(err)
		}
		compared++
		dram, _ := d.Bandwidth(devices.DRAM)
		ours := []string{d.ISA, fmt.Sprint(d.Units), fmt.Sprint(d.ClockHz()), fmt.Sprint(d.Warp), fmt.Sprint(d.MaxWarps().V), fmt.Sprint(d.L2Bytes.V / 1024), fmt.Sprint(d.L1Bytes.V / 1024), fmt.Sprint(dram.Value)}
		var theirs []string
		for _, x := range v[1:] {
			theirs = append(theirs, fmt.Sprint(x))
		}
		if !slices.Equal(ours, theirs) {
			t.Errorf("%s: sysinfo %v, the table %v", d.Name, theirs, ours)
		}
	})
	if compared != 2 {
		t.Errorf("%d machines compared, want MI200 and MI300A", compared)
	}
}

func TestARunWithoutANameOfItsDeviceSaysSo(t *testing.T) {
	s, ctx := sharedStore(t), context.Background()
	looked := 0
	rowsOf(t, s, `SELECT u.id FROM run u JOIN machine m ON m.id = u.machine_id WHERE m.arch = 'cc12.0' ORDER BY u.id`, func(v []any) {
		looked++
		m, err := devices.FromStore(ctx, s, v[0].(int64))
		if err != nil {
			t.Fatal(err)
		}
		var a *devices.AmbiguousError
		if !errors.As(m.Unknown, &a) || !slices.Contains(a.Candidates, "NVIDIA GeForce RTX 5070") {
			t.Errorf("%v", m)
		}
	})
	if looked != 2 {
		t.Errorf("%d runs of ncu without a name of the device, want those of saxpy and gemm", looked)
	}
	if _, err := devices.FromStore(ctx, s, 1<<40); err == nil || !strings.Contains(err.Error(), "no run 1099511627776") {
		t.Errorf("a run that is not there: %v", err)
	}
}
