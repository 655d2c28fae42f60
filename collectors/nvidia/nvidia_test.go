package nvidia

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/ncu"
	_ "github.com/rooflab/rooflab/collectors/ncurep"
	_ "github.com/rooflab/rooflab/collectors/nsys"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// tool puts a shell script into PATH under a tool's name. It finds its
// arguments in $args, which are also written to a file, a line for each call.
func tool(t *testing.T, name, version, script string) (calls string) {
	t.Helper()
	dir := t.TempDir()
	calls = filepath.Join(dir, "calls")
	text := "#!/bin/sh\nif [ \"$1\" = --version ]; then echo 'NVIDIA tool'; echo 'Version " + version + " (build 7)'; exit 0; fi\nargs=\"$*\"; echo \"$args\" >> " + calls + "\n" + script
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return calls
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// ncuScript is a tool that writes a report which only it can read, and its
// metrics as CSV.
const ncuScript = `if [ "$1" = --import ]; then
	[ "$(cat "$2")" = report ] || exit 9
	printf '"ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size","Grid Size","Device","CC","gpu__time_duration.sum","dram__bytes.sum"\n"","","","","","","","","","","","nsecond","byte"\n"0","7","app","h","void saxpy<float>(int)","1","7","(256, 1, 1)","(10, 1, 1)","0","9.0","1,500","4,096"\n'
	exit 0
fi
while [ $# -gt 0 ]; do
	case "$1" in
	--export) out=$2; shift 2;;
	--log-file) log=$2; shift 2;;
	--metrics) metrics=$2; shift 2;;
	--force-overwrite) shift;;
	--*) shift 2;;
	*) break;;
	esac
done
`

func ncuRun(t *testing.T, flags []string, command ...string) *parsertest.Records {
	t.Helper()
	var out bytes.Buffer
	r, err := parsertest.Collect(t, "ncu", flags, collectors.Job{Command: command, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 1 || len(r.Machines) != 1 || r.Runs[0].Tool != "ncu" {
		t.Errorf("%d runs on %d machines: %+v", len(r.Runs), len(r.Machines), r.Runs)
	}
	return r
}

func TestMetricsOfKernels(t *testing.T) {
	tool(t, "ncu", "2024.1.1.0", ncuScript+`"$@"; rc=$?; printf report > "$out"; exit $rc`)
	kept := filepath.Join(t.TempDir(), "kept.ncu-rep")
	r := ncuRun(t, []string{"-keep", kept}, "sh", "-c", "exit 0")
	run := r.Runs[0]
	if run.Status != datasets.RunOK || run.ToolVersion != "2024.1.1.0" || run.Command != "sh -c 'exit 0'" || run.ClockPolicy != "base" || run.CachePolicy != "flush-all" || run.ReplayPolicy != "kernel" {
		t.Errorf("run %+v", run)
	}
	if v := r.Value("saxpy", "gpu__time_duration.sum"); v != datasets.Some(1.5e-6) {
		t.Errorf("time %v", v)
	}
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Msg, "without instructions and samples") {
		t.Errorf("warnings %v", r.Warnings)
	}
	if got := lines(t, kept); got[0] != "report" {
		t.Errorf("kept %q", got)
	}
	if run := ncuRun(t, nil, "sh", "-c", "exit 7").Runs[0]; run.Status != datasets.RunFailed || run.Error != "the command ended with exit status 7" {
		t.Errorf("a failing command: %+v", run)
	}
}

func TestOptionsOfVersions(t *testing.T) {
	for _, c := range []struct {
		version string
		flags   []string
		has     []string
		hasNot  []string
	}{
		{"2024.1.0", nil, []string{"--metrics gpu__time_duration.sum,", "dram__bytes.sum.peak_sustained", "sm__sass_thread_inst_executed_op_dfma_pred_on.sum.peak_sustained", "--clock-control base", "--cache-control all"}, []string{"--set", "--kernel-name", "--import-source", "--replay-mode"}},
		{"2024.1.0", []string{"-set", "stalls", "-kernel", "axpy|gemm", "-skip", "2", "-count", "3"}, []string{"--section WarpStateStats", "--section SourceCounters", "--import-source yes", "--kernel-name regex:axpy|gemm", "--launch-skip 2 --launch-count 3"}, []string{"--set", "--kernel-regex"}},
		{"2020.3.1", []string{"-set", "stalls", "-kernel", "axpy"}, []string{"--kernel-regex axpy"}, []string{"--kernel-name", "--import-source"}},
		{"2019.5.0", nil, []string{"--clock-control base"}, []string{"--cache-control"}},
		{"2025.1.0", []string{"-set", "all", "-clock", "none", "-cache", "none", "-replay", "application"}, []string{"--set full", "--clock-control none", "--cache-control none", "--replay-mode application", "dram__bytes.sum"}, nil},
		{"2025.1.0", []string{"-set", "none", "-metrics", "a__b.sum, c__d.avg", "-metrics", "e__f.max", "-option", "--nvtx"}, []string{"--metrics a__b.sum,c__d.avg,e__f.max", "--nvtx"}, []string{"--section", "gpu__time_duration"}},
	} {
		calls := tool(t, "ncu", c.version, ncuScript+`printf report > "$out"`)
		ncuRun(t, c.flags, "true")
		got := lines(t, calls)[0]
		for _, s := range c.has {
			if !strings.Contains(got, s) {
				t.Errorf("%s %v: no %q in %s", c.version, c.flags, s, got)
			}
		}
		for _, s := range c.hasNot {
			if strings.Contains(got, s) {
				t.Errorf("%s %v: %q in %s", c.version, c.flags, s, got)
			}
		}
		if !strings.HasSuffix(got, " true") {
			t.Errorf("the command is not last: %s", got)
		}
	}
}

func TestMetricsThatAGPUDoesNotHave(t *testing.T) {
	calls := tool(t, "ncu", "2024.1.0", ncuScript+`case ",$metrics," in
*,dram__bytes.sum,*) echo '==ERROR== Failed to find metric dram__bytes.sum' > "$log"; exit 1;;
*,lts__t_bytes.sum,*) echo '==ERROR== Failed to find metric lts__t_bytes.sum' > "$log"; exit 1;;
esac
printf report > "$out"`)
	r := ncuRun(t, nil, "true")
	if n := len(lines(t, calls)); n != 4 || r.Runs[0].Status != datasets.RunOK { // three tries and the import
		t.Errorf("%d calls, %+v", n, r.Runs[0])
	}
	left := 0
	for _, w := range r.Warnings {
		if strings.Contains(w.Msg, "does not know the metric") {
			left++
		}
	}
	if left != 2 {
		t.Errorf("warnings %v", r.Warnings)
	}
}

// noGPU is what the collector nvml says in these tests.
var noGPU error

func init() {
	collectors.RegisterCollector(collectors.Collector{Name: "nvml", Check: nvmlCheck})
}

func TestWhatKeepsNcuFromMeasuring(t *testing.T) {
	gone := &collectors.MissingError{Status: datasets.RunUnavailable, What: "no GPU", Fix: "buy one"}
	for _, c := range []struct {
		what, script string
		gpu          error
		status, text string
	}{
		{"permission", `echo '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters' > "$log"; exit 1`, nil, datasets.RunDenied, "NVreg_RestrictProfilingToAdminUsers=0"},
		{"no kernels", `echo '==WARNING== No kernels were profiled.' > "$log"`, nil, datasets.RunEmpty, "launched none"},
		{"no GPU", `echo '==WARNING== No kernels were profiled.' > "$log"`, gone, datasets.RunUnavailable, "no GPU; buy one: No kernels were profiled."},
		{"a failure", `echo '==ERROR== The application returned an error code (9).' > "$log"; exit 9`, nil, datasets.RunFailed, "exit status 9 and nothing was measured: The application returned an error code (9)."},
		{"silence", ``, nil, datasets.RunFailed, "ncu wrote no report"},
	} {
		noGPU = c.gpu
		tool(t, "ncu", "2024.1.0", ncuScript+c.script)
		r := ncuRun(t, nil, "true")
		if run := r.Runs[0]; run.Status != c.status || !strings.Contains(run.Error, c.text) || len(r.Counters) != 0 {
			t.Errorf("%s: %+v", c.what, run)
		}
	}
	noGPU = nil
}

// exporter makes the export of a timeline with one kernel, by Python's module
// for SQLite.
const exporter = `if [ "$1" = export ]; then
	while [ $# -gt 1 ]; do case "$1" in --output) db=$2; shift;; esac; shift; done
	[ "$(cat "$1")" = timeline ] || exit 9
	exec python3 -c "
import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
c.executescript('''CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.1.7'), ('EXPORT_PRODUCT_VERSION', '2023.1.2');
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'axpy');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, \"end\" INTEGER, deviceId INTEGER, contextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 350, 0, 1, 7, 1, 0, 1, 1, 10, 1, 1, 256, 1, 1);''')
c.commit()
" "$db"
fi
shift
while [ $# -gt 0 ]; do case "$1" in --output) out=$2; shift 2;; --*) shift 2;; *) break;; esac; done
`

func nsysRun(t *testing.T, flags []string, command ...string) *parsertest.Records {
	t.Helper()
	r, err := parsertest.Collect(t, "nsys", flags, collectors.Job{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTimelineOfACommand(t *testing.T) {
	for version, ending := range map[string]string{"2023.1.2": "nsys-rep", "2020.4.1": "qdrep"} {
		tool(t, "nsys", version, exporter+`"$@"; rc=$?; printf timeline > "$out".`+ending+`; exit $rc`)
		r := nsysRun(t, nil, "sh", "-c", "exit 4")
		run := r.Runs[0]
		if run.Status != datasets.RunFailed || run.Error != "the command ended with exit status 4" || run.Command != "sh -c 'exit 4'" || run.Format != "nsys-sqlite" || len(r.Machines) != 1 {
			t.Errorf("run %+v", run)
		}
		if len(r.Launches) != 1 || r.Launches[0].DurNs.V != 250 || r.Launches[0].Block[0].V != 256 {
			t.Errorf("launches %+v", r.Launches)
		}
	}
}

func TestOptionsOfNsys(t *testing.T) {
	for _, c := range []struct {
		version string
		flags   []string
		want    string
	}{
		{"2023.1.2", nil, "--trace cuda,nvtx,osrt --sample none --cpuctxsw none true"},
		{"2020.4.1", []string{"-sample", "cpu"}, "--trace cuda,nvtx,osrt --sample cpu true"},
		{"2023.1.2", []string{"-sample", "cpu", "-gpu-metrics", "-memory"}, "--sample process-tree --gpu-metrics-device all --cuda-memory-usage true true"},
		{"2024.5.1", []string{"-set", "all"}, "--trace cuda,nvtx,osrt --sample process-tree --gpu-metrics-devices all --cuda-memory-usage true true"},
		{"2025.1.1", []string{"-sample", "system", "-trace", "cuda", "-gpu-metrics", "-option", "--backtrace=none"}, "--trace cuda --sample system-wide --gpu-metrics-devices all --backtrace=none true"},
	} {
		calls := tool(t, "nsys", c.version, "exit 1")
		if run := nsysRun(t, c.flags, "true").Runs[0]; run.Status != datasets.RunFailed || !strings.Contains(run.Error, "exit status 1 and nothing was measured") {
			t.Errorf("run %+v", run)
		}
		if got := lines(t, calls)[0]; !strings.HasSuffix(got, c.want) || !strings.HasPrefix(got, "profile --output ") {
			t.Errorf("%s %v: %s", c.version, c.flags, got)
		}
	}
}

func TestToolsThatAreNotThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	places := [][]string{ncuPlaces, nsysPlaces}
	ncuPlaces, nsysPlaces = nil, nil
	defer func() { ncuPlaces, nsysPlaces = places[0], places[1] }()
	for _, name := range []string{"ncu", "nsys"} {
		r, err := parsertest.Collect(t, name, nil, collectors.Job{Command: []string{"sh", "-c", "exit 0"}})
		if err != nil || r.Runs[0].Status != datasets.RunUnavailable || !strings.Contains(r.Runs[0].Error, "the tool "+name+" is not in PATH; install Nsight") {
			t.Errorf("%s: %+v, %v", name, r.Runs, err)
		}
		c, err := collectors.LookupCollector(name)
		var missing *collectors.MissingError
		if err != nil || !errors.As(c.Check(t.Context()), &missing) {
			t.Errorf("%s: the check finds nothing missing", name)
		}
	}
	// An installer's folder is looked at, the newest version first.
	for _, v := range []string{"2023.1", "2024.3"} {
		place := filepath.Join(dir, "opt", v)
		if err := os.MkdirAll(place, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(place, "ncu"), []byte("#!/bin/sh\n"), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if got, missing := find("ncu", []string{filepath.Join(dir, "opt/*/ncu")}, ""); missing != nil || got != filepath.Join(dir, "opt/2024.3/ncu") {
		t.Errorf("found %s, %v", got, missing)
	}
}

func TestWrongUse(t *testing.T) {
	job := collectors.Job{Command: []string{"true"}}
	for _, c := range []struct {
		name  string
		flags []string
		job   collectors.Job
		want  string
	}{
		{"ncu", nil, collectors.Job{}, "after --"},
		{"ncu", []string{"-set", "x"}, job, "--set x: it is one of roofline, stalls, all, none"},
		{"ncu", []string{"-set", "none"}, job, "without --metrics"},
		{"ncu", []string{"-clock", "boost"}, job, "--clock boost"},
		{"ncu", []string{"-count", "-1"}, job, "--count -1"},
		{"nsys", nil, collectors.Job{}, "after --"},
		{"nsys", []string{"-sample", "x"}, job, "--sample x"},
		{"nsys", []string{"-set", "x"}, job, "--set x: it is timeline or all"},
		{"nsys", []string{"-set", "stalls"}, job, "rooflab collect ncu --set stalls"},
	} {
		if _, err := parsertest.Collect(t, c.name, c.flags, c.job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %v: %v", c.name, c.flags, err)
		}
	}
}

func nvmlCheck(context.Context) error { return noGPU }
