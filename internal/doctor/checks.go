package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Checks is the table: one line, one function.
var Checks = []Check{
	{"kernel", "Go", "compiling cells", true, goToolchain},
	{"kernel", "C compiler", "linking cells, which are plugins", true, cCompiler},
	{"kernel", "plugins", "loading cells", true, plugins},
	{"kernel", "source tree", "compiling cells against rooflab's packages", true, sourceTree},
	{"kernel", "cache folder", "the files of running sessions", true, cacheFolder},
	{"kernel", "modules", "cells that import the modules of go.mod without the network", false, moduleCache},
	{"kernel", "fast linker", "cells that start sooner", false, fastLinker},

	{"jupyter", "Python", "JupyterLab", false, python},
	{"jupyter", "JupyterLab", "notebooks in the browser", false, jupyterLab},
	{"jupyter", "kernelspec", "Jupyter to know the kernel Go (rooflab)", false, kernelspec},

	{"data", "DuckDB", "stores of measurements", false, duckDB},

	{"models", "XLA plugin", "fast training; without it GoMLX's Go backend is used", false, xlaPlugin},
	{"models", "XLA on a GPU", "training on NVIDIA cards", false, xlaOnGPU},
	{"models", "Go backend", "training where there is no XLA plugin", false, goBackend},
	{"models", "in use", "training models", false, modelBackend},

	{"measuring", "NVIDIA driver", "GPU kernels on NVIDIA cards", false, nvidiaDriver},
	{"measuring", "rooflab-nvml", "clocks, power and temperatures of NVIDIA cards", false, nvmlProgram},
	{"measuring", "ncu", "counters of CUDA kernels", false,
		command("ncu", "it comes with the CUDA toolkit or NVIDIA Nsight Compute", "--version")},
	{"measuring", "nsys", "timelines of CUDA programs", false,
		command("nsys", "it comes with the CUDA toolkit or NVIDIA Nsight Systems", "--version")},
	{"measuring", "OpenCL", "running OpenCL kernels, on the CPU too", false, openCL},
	{"measuring", "perf", "hardware counters of CPUs", false, debian("perf", "linux-perf", "--version")},
	{"measuring", "valgrind", "exact counts of instructions and cache misses", false, debian("valgrind", "valgrind", "--version")},
	{"measuring", "clang", "static features of sources", false, debian("clang", "clang", "--version")},
	{"measuring", "llvm-mca", "simulating loops on other processors", false, debian("llvm-mca", "llvm", "--version")},

	{"tests", "Chromium", "tests that open a notebook in a browser", false, chromium},
}

func goToolchain(ctx context.Context, m Machine) Finding {
	want := goRelease(m.Binary.GoVersion)
	bin, err := m.LookPath("go")
	if err != nil {
		return missing("no go on the PATH", fmt.Sprintf("install Go %s from your package manager or https://go.dev/dl/", strings.TrimPrefix(want, "go")))
	}
	have, err := m.Run(ctx, bin, "env", "GOVERSION")
	if err != nil {
		return broken(fmt.Sprintf("%s does not run (%v): %s", bin, err, have), "install Go again, from your package manager or https://go.dev/dl/")
	}
	if goRelease(have) != want {
		return broken(fmt.Sprintf("%s is %s, this program was built with %s", bin, have, want),
			"cells must be compiled with the Go that built this program: run make build again, or put "+want+" on the PATH")
	}
	return ok("%s, %s", have, bin)
}

// goRelease strips what a version carries besides the release: go1.26.8-X:simd
// and "go1.26.8 X:simd" are go1.26.8.
func goRelease(v string) string {
	if i := strings.IndexAny(v, "- "); i >= 0 {
		v = v[:i]
	}
	return v
}

func cCompiler(ctx context.Context, m Machine) Finding {
	fix := m.apt("gcc")
	cc := "gcc"
	if goBin, err := m.LookPath("go"); err == nil {
		if out, err := m.Run(ctx, goBin, "env", "CC"); err == nil && out != "" {
			cc = out // $CC or what Go was configured with; may carry flags
		}
	}
	words := strings.Fields(cc)
	bin, err := m.LookPath(words[0])
	if err != nil {
		return missing("no "+words[0]+" on the PATH, which is what go env CC names", fix)
	}
	v, err := m.version(ctx, bin, "--version")
	if err != nil {
		return broken(fmt.Sprintf("%s does not run (%v)", bin, err), fix)
	}
	return ok("%s, %s", v, bin)
}

// Go loads plugins on these systems only (package plugin); rooflab runs on
// the two of them that people measure on.
func plugins(_ context.Context, m Machine) Finding {
	if m.GOOS == "linux" || m.GOOS == "darwin" {
		return ok("Go has them on %s", m.GOOS)
	}
	return missing("Go has none on "+m.GOOS, "use Linux, in a virtual machine or WSL for example")
}

func sourceTree(_ context.Context, m Machine) Finding {
	if m.Binary.SourceErr != nil {
		return missing(m.Binary.SourceErr.Error(), "keep the checkout this program was built from, or name it in ROOFLAB_SRC")
	}
	return ok("%s", m.Binary.SourceRoot)
}

func cacheFolder(_ context.Context, m Machine) Finding {
	dir := m.Binary.CacheDir
	if dir == "" {
		return missing("no cache folder: neither XDG_CACHE_HOME nor HOME is set", "set HOME or XDG_CACHE_HOME")
	}
	if err := m.Writable(dir); err != nil {
		return broken(fmt.Sprintf("%s cannot be written: %v", dir, err), "make it writable, or set XDG_CACHE_HOME to a folder that is")
	}
	return ok("%s", dir)
}

func moduleCache(ctx context.Context, m Machine) Finding {
	const fix = "with the network there, run: go mod download (in rooflab's source tree)"
	goBin, err := m.LookPath("go")
	if err != nil || m.Binary.SourceErr != nil {
		return missing("cannot look without Go and the source tree", fix)
	}
	// -f prints one line for each module of the build that has no folder in the cache.
	out, err := m.Run(ctx, goBin, "-C", m.Binary.SourceRoot, "list", "-m", "-f", `{{if and (not .Main) (not .Dir)}}missing {{.Path}}{{else}}there{{end}}`,
		"github.com/janpfeifer/gonb", "github.com/go-gota/gota", "gonum.org/v1/plot", "github.com/gomlx/gomlx", "github.com/duckdb/duckdb-go/v2")
	if err != nil {
		return broken("go list -m: "+out, fix)
	}
	var lacking []string
	for line := range strings.Lines(out) {
		if mod, isMissing := strings.CutPrefix(strings.TrimSpace(line), "missing "); isMissing {
			lacking = append(lacking, mod)
		}
	}
	if len(lacking) > 0 {
		return missing("not in the module cache: "+strings.Join(lacking, ", "), fix)
	}
	dir, err := m.Run(ctx, goBin, "env", "GOMODCACHE")
	if err != nil {
		return broken("go env GOMODCACHE: "+dir, fix)
	}
	return ok("all there, %s", dir)
}

func fastLinker(ctx context.Context, m Machine) Finding {
	for _, name := range []string{"mold", "ld.gold"} {
		bin, err := m.LookPath(name)
		if err != nil {
			continue
		}
		if v, err := m.version(ctx, bin, "--version"); err == nil {
			return ok("%s, %s", v, bin)
		}
	}
	return missing("neither mold nor gold on the PATH; the C compiler's own linker is used", m.apt("mold"))
}

func python(_ context.Context, m Machine) Finding {
	if m.Binary.PythonErr != nil {
		return missing(m.Binary.PythonErr.Error(), m.apt("python3 python3-venv"))
	}
	return ok("%s", m.Binary.Python)
}

func jupyterLab(_ context.Context, m Machine) Finding {
	if m.Binary.JupyterLab == "" {
		return missing(m.Binary.NoJupyterLab, "rooflab lab installs it into a virtual environment of its own")
	}
	return ok("%s", m.Binary.JupyterLab)
}

func kernelspec(_ context.Context, m Machine) Finding {
	var found []string
	for _, dir := range m.Binary.SpecDirs {
		found = append(found, m.Glob(filepath.Join(dir, "kernels", "rooflab", "kernel.json"))...)
	}
	if len(found) == 0 {
		return missing("not in "+strings.Join(m.Binary.SpecDirs, ", "), "rooflab install (rooflab lab does it too)")
	}
	return ok("%s", strings.Join(found, ", "))
}

func duckDB(_ context.Context, m Machine) Finding {
	if !slices.Contains(m.Binary.SQLDrivers, "duckdb") {
		return missing("not linked into this program", "build cmd/rooflab with its drivers.go: make build")
	}
	return ok("linked in")
}

func goBackend(_ context.Context, m Machine) Finding {
	if !slices.Contains(m.Binary.Engines, "go") {
		return missing("not linked into this program", "build cmd/rooflab with its drivers.go: make build")
	}
	return ok("linked in")
}

func nvidiaDriver(ctx context.Context, m Machine) Finding {
	if bin, err := m.LookPath("nvidia-smi"); err == nil {
		out, err := m.Run(ctx, bin, "--query-gpu=name,driver_version", "--format=csv,noheader")
		if err == nil {
			return ok("%s", strings.Join(strings.Split(out, "\n"), "; "))
		}
		return broken(fmt.Sprintf("nvidia-smi (%v): %s", err, out), "the driver and its tools must be of one version: reinstall the driver")
	}
	if text, err := m.ReadFile("/proc/driver/nvidia/version"); err == nil {
		first, _, _ := strings.Cut(string(text), "\n")
		return ok("%s", first)
	}
	return missing("no NVIDIA driver loaded", "only for machines with an NVIDIA card: install NVIDIA's driver for it")
}

// nvmlProgram looks for the program that package nvml builds for its sensors.
func nvmlProgram(_ context.Context, m Machine) Finding {
	built := m.Glob(filepath.Join(m.Binary.CacheDir, "rooflab-nvml-*"))
	if m.Binary.CacheDir == "" || len(built) == 0 {
		return missing("not built yet", "it is built when it is first needed; `rooflab prepare` builds it now, for nodes without a compiler")
	}
	return ok("%s", built[len(built)-1])
}

func openCL(_ context.Context, m Machine) Finding {
	icds := m.Glob("/etc/OpenCL/vendors/*.icd")
	if len(icds) == 0 && m.GOOS != "darwin" {
		return missing("no driver in /etc/OpenCL/vendors", m.apt("pocl-opencl-icd ocl-icd-libopencl1")+"; a card's vendor has one for the card")
	}
	return ok("%s", strings.Join(icds, ", "))
}

func chromium(ctx context.Context, m Machine) Finding {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		bin, err := m.LookPath(name)
		if err != nil {
			continue
		}
		out, err := m.Run(ctx, bin, "--version")
		// Distributions wrap it in a script that may print remarks first.
		last := strings.TrimSpace(out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:])
		if err != nil {
			return broken(fmt.Sprintf("%s does not run (%v): %s", bin, err, last), m.apt("chromium"))
		}
		return ok("%s, %s", last, bin)
	}
	return missing("neither chromium nor google-chrome on the PATH", m.apt("chromium"))
}
