package doctor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/internal/doctor"
)

// made is a machine on which everything is there; tests take things away.
// answers maps "command arg arg" to what it prints.
func made(answers map[string]string) doctor.Machine {
	all := map[string]string{
		"go env GOVERSION":   "go1.26.8",
		"go env CC":          "gcc",
		"go env GOMODCACHE":  "/mods",
		"go -C":              "there\nthere",
		"gcc --version":      "gcc (made up) 12.2.0\nCopyright",
		"mold --version":     "mold 2.0",
		"ld.gold --version":  "GNU gold 1.16",
		"nvidia-smi":         "H200, 580.65.06",
		"ncu --version":      "NVIDIA (R) Nsight Compute\nVersion 2025.1",
		"nsys --version":     "nsys 2025.1",
		"perf --version":     "perf version 6.1",
		"valgrind --version": "valgrind-3.19.0",
		"clang --version":    "clang version 14.0.6",
		"llvm-mca --version": "LLVM version 14.0.6",
		"chromium --version": "wrapper: remark 1\nChromium 156.0",
	}
	for k, v := range answers {
		all[k] = v
	}
	return doctor.Machine{
		GOOS: "linux",
		LookPath: func(name string) (string, error) {
			for cmd, out := range all {
				if strings.HasPrefix(cmd, name+" ") || cmd == name {
					if out == "absent" {
						return "", errors.New("not found")
					}
					return "/bin/" + name, nil
				}
			}
			return "", errors.New("not found")
		},
		Run: func(_ context.Context, name string, args ...string) (string, error) {
			line := strings.Join(append([]string{strings.TrimPrefix(name, "/bin/")}, args...), " ")
			for cmd, out := range all {
				if strings.HasPrefix(line, cmd) {
					if text, bad := strings.CutPrefix(out, "fails:"); bad {
						return text, errors.New("exit status 1")
					}
					return out, nil
				}
			}
			return "", errors.New("no such command in the test: " + line)
		},
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist },
		Glob:     func(pattern string) []string { return []string{pattern} },
		Writable: func(string) error { return nil },
		Binary: doctor.Binary{
			GoVersion: "go1.26.8 X:simd", SourceRoot: "/src", CacheDir: "/cache", SQLDrivers: []string{"duckdb"},
			Engines: []string{"go", "xla"}, PluginPath: "/plugins",
			Plugins: []doctor.Plugin{
				{Path: "/plugins/nvidia/pjrt_c_api_cuda_plugin.so", Platform: "cuda", API: "0.115", Program: "0.104", Devices: []string{"cuda:0"}},
				{Path: "/plugins/pjrt_c_api_cpu_plugin.so", Platform: "cpu", API: "0.115", Program: "0.104", Devices: []string{"cpu:0"}},
			},
			GPU:      doctor.GPU{Driver: "580.65.06", Names: []string{"H200"}, CUDA: 13, Download: 1966753034},
			Models:   doctor.Models{Engine: "xla", Plugin: "/plugins/nvidia/pjrt_c_api_cuda_plugin.so", Why: "XLA with the PJRT plugin"},
			SpecDirs: []string{"/data"}, JupyterLab: "4.6.6, /bin/jupyter-lab", Python: "3.11, /bin/python3",
		},
	}
}

func find(t *testing.T, r doctor.Report, name string) doctor.Result {
	t.Helper()
	i := slices.IndexFunc(r.Checks, func(c doctor.Result) bool { return c.Name == name })
	if i < 0 {
		t.Fatalf("no check called %q", name)
	}
	return r.Checks[i]
}

func TestAWellEquippedMachineIsAllOK(t *testing.T) {
	r := doctor.Examine(context.Background(), made(nil), doctor.Checks)
	for _, c := range r.Checks {
		if c.Status != doctor.OK || c.Found == "" || c.Fix != "" {
			t.Errorf("%s: %+v", c.Name, c.Finding)
		}
	}
	if !r.KernelRuns {
		t.Error("the kernel should run")
	}
	if got := find(t, r, "Chromium").Found; got != "Chromium 156.0, /bin/chromium" {
		t.Errorf("Chromium: %q", got)
	}
}

func TestWhatIsMissingIsNamedWithTheWayToGetIt(t *testing.T) {
	for _, tt := range []struct {
		name       string
		answers    map[string]string
		change     func(*doctor.Machine)
		check      string
		status     string
		found, fix string
		kernelRuns bool
	}{
		{"no Go", map[string]string{"go env GOVERSION": "absent", "go env CC": "absent", "go env GOMODCACHE": "absent", "go -C": "absent"}, nil,
			"Go", doctor.Missing, "no go on the PATH", "Go 1.26.8", false},
		{"another Go", map[string]string{"go env GOVERSION": "go1.25.1"}, nil,
			"Go", doctor.Broken, "is go1.25.1, this program was built with go1.26.8", "make build", false},
		{"the same Go with an experiment", map[string]string{"go env GOVERSION": "go1.26.8-X:simd"}, nil,
			"Go", doctor.OK, "go1.26.8-X:simd", "", true},
		{"a Go that does not run", map[string]string{"go env GOVERSION": "fails:bad ELF"}, nil,
			"Go", doctor.Broken, "bad ELF", "install Go again", false},
		{"no C compiler", map[string]string{"gcc --version": "absent"}, nil,
			"C compiler", doctor.Missing, "no gcc", "sudo apt-get install gcc", false},
		{"the compiler that Go names counts", map[string]string{"go env CC": "clang -m64", "clang --version": "absent"}, nil,
			"C compiler", doctor.Missing, "no clang", "apt-get", false},
		{"a system without plugins", nil, func(m *doctor.Machine) { m.GOOS = "windows" },
			"plugins", doctor.Missing, "none on windows", "Linux", false},
		{"no source tree", nil, func(m *doctor.Machine) { m.Binary.SourceErr = errors.New("gone") },
			"source tree", doctor.Missing, "gone", "ROOFLAB_SRC", false},
		{"a cache that cannot be written", nil, func(m *doctor.Machine) { m.Writable = func(string) error { return fs.ErrPermission } },
			"cache folder", doctor.Broken, "/cache cannot be written: permission denied", "XDG_CACHE_HOME", false},
		{"no cache folder", nil, func(m *doctor.Machine) { m.Binary.CacheDir = "" }, "cache folder", doctor.Missing, "HOME", "HOME", false},
		{"modules to download", map[string]string{"go -C": "there\nmissing gonum.org/v1/plot\n"}, nil,
			"modules", doctor.Missing, "not in the module cache: gonum.org/v1/plot", "go mod download", true},
		{"gold instead of mold", map[string]string{"mold --version": "absent"}, nil, "fast linker", doctor.OK, "GNU gold", "", true},
		{"no fast linker, as root", map[string]string{"mold --version": "absent", "ld.gold --version": "absent"}, func(m *doctor.Machine) { m.Root = true },
			"fast linker", doctor.Missing, "neither", "apt-get install mold", true},
		{"no JupyterLab", nil, func(m *doctor.Machine) { m.Binary.JupyterLab, m.Binary.NoJupyterLab = "", "nowhere" },
			"JupyterLab", doctor.Missing, "nowhere", "rooflab lab", true},
		{"no kernelspec", nil, func(m *doctor.Machine) { m.Glob = func(string) []string { return nil } },
			"kernelspec", doctor.Missing, "not in /data", "rooflab install", true},
		{"no Python", nil, func(m *doctor.Machine) { m.Binary.PythonErr = errors.New("too old") },
			"Python", doctor.Missing, "too old", "python3-venv", true},
		{"DuckDB left out", nil, func(m *doctor.Machine) { m.Binary.SQLDrivers = nil }, "DuckDB", doctor.Missing, "not linked", "drivers.go", true},
		{"no XLA plugin", nil, func(m *doctor.Machine) { m.Binary.Plugins = nil }, "XLA plugin", doctor.Missing, "/plugins", "PJRT_PLUGIN_LIBRARY_PATH", true},
		{"a plugin that works", nil, nil, "XLA plugin", doctor.OK,
			"/plugins/pjrt_c_api_cpu_plugin.so (cpu, PJRT C API 0.115, go-xla speaks 0.104, devices: cpu:0)", "", true},
		{"a plugin that does not", nil, func(m *doctor.Machine) {
			m.Binary.Plugins = []doctor.Plugin{{Path: "/p_cpu.so", Error: "/p_cpu.so is truncated"}}
		}, "XLA plugin", doctor.Broken, "/p_cpu.so is truncated", "`rooflab xla install` gets", true},
		{"a GPU without a plugin", nil, func(m *doctor.Machine) { m.Binary.Plugins = m.Binary.Plugins[1:] },
			"XLA on a GPU", doctor.Missing, "driver 580.65.06 runs CUDA 13, and there is no CUDA plugin in /plugins", "xla install --cuda auto` (2.0 GB", true},
		{"a GPU whose plugin fails", nil, func(m *doctor.Machine) { m.Binary.Plugins[0].Error = "no libcudnn" },
			"XLA on a GPU", doctor.Broken, "driver 580.65.06; /plugins/nvidia/pjrt_c_api_cuda_plugin.so: no libcudnn", "--cuda auto", true},
		{"a driver that is too old", nil, func(m *doctor.Machine) {
			m.Binary.Plugins = m.Binary.Plugins[1:]
			m.Binary.GPU = doctor.GPU{Driver: "470.82.01", FitErr: errors.New("CUDA 12 needs 525 or later")}
		}, "XLA on a GPU", doctor.Broken, "CUDA 12 needs 525 or later", "update", true},
		{"a driver that does not answer", nil, func(m *doctor.Machine) { m.Binary.GPU = doctor.GPU{DriverErr: errors.New("nvidia-smi does not run")} },
			"XLA on a GPU", doctor.Broken, "nvidia-smi does not run", "one version", true},
		{"no GPU", nil, func(m *doctor.Machine) { m.Binary.GPU = doctor.GPU{NoDriver: true} },
			"XLA on a GPU", doctor.Missing, "no NVIDIA driver", "only for machines with an NVIDIA card", true},
		{"models on the Go backend", nil, func(m *doctor.Machine) {
			m.Binary.Models = doctor.Models{Engine: "go", Why: "GoMLX's Go backend", Notice: "`rooflab xla install` gets a plugin"}
		}, "in use", doctor.Missing, "GoMLX's Go backend", "xla install", true},
		{"a backend that is not there", nil, func(m *doctor.Machine) { m.Binary.Models = doctor.Models{Why: "GOMLX_BACKEND=tpu: no model engine"} },
			"in use", doctor.Broken, "GOMLX_BACKEND=tpu", "unset GOMLX_BACKEND", true},
		{"no program for NVML", nil, func(m *doctor.Machine) { m.Glob = func(string) []string { return nil } },
			"rooflab-nvml", doctor.Missing, "not built yet", "rooflab prepare", true},
		{"no Go backend", nil, func(m *doctor.Machine) { m.Binary.Engines = nil }, "Go backend", doctor.Missing, "not linked", "drivers.go", true},
		{"a driver that does not fit its tools", map[string]string{"nvidia-smi": "fails:version mismatch"}, nil,
			"NVIDIA driver", doctor.Broken, "version mismatch", "one version", true},
		{"a driver without tools", map[string]string{"nvidia-smi": "absent"}, func(m *doctor.Machine) {
			m.ReadFile = func(string) ([]byte, error) { return []byte("NVRM version: 580\nGCC"), nil }
		}, "NVIDIA driver", doctor.OK, "NVRM version: 580", "", true},
		{"a broken perf", map[string]string{"perf --version": "fails:perf not found for this kernel 6.1"}, nil,
			"perf", doctor.Broken, "perf not found for this kernel", "linux-perf", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := made(tt.answers)
			if tt.change != nil {
				tt.change(&m)
			}
			r := doctor.Examine(context.Background(), m, doctor.Checks)
			c := find(t, r, tt.check)
			if c.Status != tt.status || !strings.Contains(c.Found, tt.found) || !strings.Contains(c.Fix, tt.fix) {
				t.Errorf("%s: %+v; want status %s, found %q, fix %q", tt.check, c.Finding, tt.status, tt.found, tt.fix)
			}
			if r.KernelRuns != tt.kernelRuns {
				t.Errorf("kernel runs: %v, want %v", r.KernelRuns, tt.kernelRuns)
			}
		})
	}
}

func TestReportsForPeopleAndScriptsSayTheSame(t *testing.T) {
	m := made(map[string]string{"gcc --version": "absent"})
	r := doctor.Examine(context.Background(), m, doctor.Checks)
	var text bytes.Buffer
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"missing (needed)", "no gcc on the PATH", "for linking cells, which are plugins: sudo apt-get install gcc", "The kernel cannot run"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &text)
		}
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		KernelRuns *bool `json:"kernel_runs"`
		Checks     []struct{ Name, Status, Found, Fix string }
	}
	if err := json.Unmarshal(raw, &got); err != nil || got.KernelRuns == nil || *got.KernelRuns || len(got.Checks) != len(doctor.Checks) {
		t.Errorf("JSON %s: %v", raw, err)
	}
}
