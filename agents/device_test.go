package agents_test

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/suite"
	"github.com/rooflab/rooflab/agents/target"
)

// bench opens a workbench on a target with its original built.
func bench(t *testing.T, tg *target.Target) (*agents.Workbench, *agents.Program) {
	t.Helper()
	w, err := agents.NewWorkbench(t.Context(), tg, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	original, err := w.Build(t.Context(), nil)
	if err != nil || !original.OK() {
		t.Fatalf("building the original: %v, %+v", err, original)
	}
	return w, original
}

// device is a target of the suite on PoCL, with inputs that take no time.
func device(t *testing.T, name, size, other string) *target.Target {
	t.Helper()
	if _, err := os.Stat("/etc/OpenCL/vendors/pocl.icd"); err != nil {
		t.Fatal("PoCL is needed (Debian: apt-get install pocl-opencl-icd ocl-icd-libopencl1): ", err)
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatal("gcc is needed (Debian: apt-get install gcc)")
	}
	path, err := suite.Write(name, filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	tg, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	tg.Inputs.Sizes, tg.Inputs.Other, tg.Inputs.PerRun, tg.Profile.Size = []string{size}, []string{other}, 1, ""
	tg.Inputs.Drawn = nil
	return tg
}

// TestLaunchesAreEvidence profiles the reduction, as it is and with private sums.
// Its program launches 512 work-items in groups of 64 for each of 150 lags. At 2000
// samples each has a part of ceil(2000/512) = 4; at the last lag, 149, of 2000 - 149
// = 1851 products each is added by 2 atomics, and a metric is that of the last launch
// times the number of launches: 150 * 2 * 1851 = 555300. With private sums there are 2 for each work-item: 150 * 2 * 512 =
// 153600.
func TestLaunchesAreEvidence(t *testing.T) {
	tg := device(t, "reduction", "2000", "1200")
	w, original := bench(t, tg)
	before, err := w.Profile(t.Context(), original)
	if err != nil {
		t.Fatal(err)
	}
	l, ok := before.Launches["correlate"]
	if !ok || !slices.Equal(l.Global, []int64{512}) || !slices.Equal(l.Local, []int64{64}) || l.Square {
		t.Errorf("launches %+v", before.Launches)
	}
	if k := before.Report.Kernels; len(k) != 1 || k[0].Name != "correlate" {
		t.Errorf("hot kernels %+v", k)
	}
	if a := float64(before.Metrics["opencl.atomics"]); a != 555300 {
		t.Errorf("%g atomics, want 555300", a)
	}
	if time := before.Metrics["kernel_time"]; time <= 0 || math.Abs(float64(time-before.Metrics["time"])) > 1e-9*float64(time) {
		t.Errorf("the only kernel takes %g s and all together %g s", time, before.Metrics["time"])
	}
	text := tg.Sources()[0].Text
	var lines []string
	for _, it := range before.Report.Items {
		if it.Rule == "atomics" {
			lines = append(lines, strings.TrimSpace(strings.Split(text, "\n")[it.Location.Line-1]))
			if it.Location.File != "kernels.cl" || it.Kernel != "correlate" || it.Query == "" || len(it.Moves) == 0 || it.Moves[0].Metric != "opencl.atomics" {
				t.Errorf("%+v", it)
			}
		}
	}
	slices.Sort(lines)
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "atomic_add(") || !strings.HasPrefix(lines[1], "atomic_max(") {
		t.Errorf("atomics are seen in %q", lines)
	}

	private := strings.NewReplacer("    for (int i", "    int all = 0, most = INT_MIN;\n    for (int i",
		"atomic_add(&sum[lag], x[i] * x[i + lag]);", "all += x[i] * x[i + lag];",
		"atomic_max(&peak[lag], x[i] * x[i + lag]);\n    }", "most = max(most, x[i] * x[i + lag]);\n    }\n    atomic_add(&sum[lag], all);\n    atomic_max(&peak[lag], most);").Replace(text)
	changed, err := w.Build(t.Context(), []edit.File{{Path: "kernels.cl", Text: private}})
	if err != nil || !changed.OK() {
		t.Fatalf("%v, %+v", err, changed)
	}
	if v, err := w.Validate(t.Context(), original, changed); err != nil || !v.OK || v.Inputs != 2 {
		t.Errorf("%+v, %v", v, err)
	}
	after, err := w.Profile(t.Context(), changed)
	if err != nil {
		t.Fatal(err)
	}
	if a := float64(after.Metrics["opencl.atomics"]); a != 153600 {
		t.Errorf("%g atomics, want 153600", a)
	}
	// What a driver compiled once is there for the runs that are timed.
	for _, p := range []*agents.Program{original, changed} {
		kept, err := filepath.Glob(filepath.Join(w.Dir, "caches", p.ID, "*", "cache", "*"))
		if err != nil || len(kept) == 0 {
			t.Errorf("%s has no cache: %v", p.ID, err)
		}
	}
	if m, err := w.Measure(t.Context(), original, changed, "2000", agents.MeasureOptions{Min: 2, Max: 6}); err != nil || m.Failed != "" || len(m.After) == 0 {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestTheDevicesCompilerIsHeard breaks a kernel in line 5.
func TestTheDevicesCompilerIsHeard(t *testing.T) {
	tg := device(t, "reduction", "2000", "1200")
	w, err := agents.NewWorkbench(t.Context(), tg, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(tg.Sources()[0].Text, "get_global_id(0) * part;", "get_global_id(0) * parts;", 1)
	p, err := w.Build(t.Context(), []edit.File{{Path: "kernels.cl", Text: text}})
	if err != nil || p.OK() || !strings.Contains(p.Log, "kernels.cl:5") || !strings.Contains(p.Log, "parts") {
		t.Errorf("%v, %+v", err, p)
	}
}

// hip is a target whose profiler is among its own files: a stand-in for rocprof that
// runs the program and writes two launches, of 3 and 4 microseconds.
func hip(t *testing.T, profile, gpu string) *target.Target {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatal("gcc is needed (Debian: apt-get install gcc)")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"main.c":  "#include <stdio.h>\nint scale(int);\nint main(int argc, char **argv) { printf(\"%d\\n\", argc + scale(argv[1][0])); return 0; }\n",
		"scale.c": "int scale(int x) { return 2 * x; }\n",
		"rocprof": `#!/bin/sh
[ "$1 $2 $3" = "--timestamp on -o" ] || exit 2
out=$4; shift 4; "$@" || exit 1
cat > "$out" <<END
"Index","KernelName","gpu-id","queue-id","queue-index","pid","tid","grd","wgr","lds","scr","vgpr","sgpr","fbar","DispatchNs","BeginNs","EndNs","CompleteNs","DurationNs"
0,"scale.kd",0,0,0,100,100,65536,256,0,0,8,16,0,1000,2000,5000,6000,3000
1,"scale.kd",0,0,1,100,100,65536,256,0,0,8,16,0,7000,8000,12000,13000,4000
END
`,
		"target.toml": `name = "scale"
language = "hip"
[sources]
editable = ["scale.c"]
read_only = ["main.c"]
[build]
commands = [["gcc", "-o", "scale", "main.c", "scale.c"]]
products = ["scale"]
[run]
command = ["./scale", "{seed}"]
files = ["rocprof"]
environment = { PATH = "/work:/usr/bin:/bin" }
[[output]]
stdout = true
` + profile + gpu,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	tg, err := target.Load(filepath.Join(dir, "target.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

func TestProfilersWorkThroughTheTarget(t *testing.T) {
	const gpu = "[sandbox]\ngpu = true\n"
	profile := func(collector, gpu string) (*agents.Evidence, error) {
		w, original := bench(t, hip(t, "[profile]\ncollector = \""+collector+"\"\n", gpu))
		return w.Profile(context.WithoutCancel(t.Context()), original)
	}
	e, err := profile("rocprof", gpu)
	if err != nil {
		t.Fatal(err)
	}
	if k := e.Report.Kernels; len(k) != 1 || !strings.HasPrefix(k[0].Name, "scale") || *k[0].Share != 1 {
		t.Errorf("kernels %+v", k)
	}
	for _, tt := range []struct{ collector, gpu, says string }{
		{"ncu", gpu, "install Nsight Compute"},
		{"nsys", gpu, "install Nsight Systems"},
		{"ncu", "", "gpu = true"},
		{"papi", "", "take one of ncu, nsys, opencl, perf, rocprof, run, valgrind"},
		{"opencl", "", "launches no kernels"},
	} {
		if _, err := exec.LookPath(tt.collector); err == nil && tt.gpu != "" {
			continue // it is here, and may work
		}
		if _, err := profile(tt.collector, tt.gpu); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.collector, err)
		}
	}
}
