package opencl_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/opencl"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func TestMain(m *testing.M) {
	opencl.ServeIfAsked()
	os.Exit(m.Run())
}

// collect runs the collector and returns what it emits.
func collect(t *testing.T, flags ...string) (*parsertest.Records, error) {
	t.Helper()
	c, err := collectors.LookupCollector("opencl")
	if err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("opencl", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f := c.New(fs)
	if err := fs.Parse(flags); err != nil {
		return nil, err
	}
	recs := &parsertest.Records{}
	out := collectors.NewOutput("collect opencl", recs)
	var stderr strings.Builder
	err = f(context.Background(), collectors.Job{Stdout: io.Discard, Stderr: &stderr, Log: io.Discard}, out)
	if err == nil {
		parsertest.CheckReferences(t, recs)
		for _, r := range recs.Runs {
			if r.Status == datasets.RunUnavailable && os.Getenv("OCL_ICD_VENDORS") == "" {
				t.Fatalf("this test needs OpenCL: %s", r.Error)
			}
		}
	}
	return recs, err
}

func must(t *testing.T, flags ...string) *parsertest.Records {
	t.Helper()
	recs, err := collect(t, flags...)
	if err != nil {
		t.Fatal(err)
	}
	return recs
}

func attribute(r *parsertest.Records, launch int64, name string) string {
	for _, a := range r.Attributes {
		if a.Launch == launch && a.Name == name {
			return a.Value
		}
	}
	return ""
}

// y = 3*x + y with x = 0, 1, 2 ... 999 and y = 1: the sum is 3*999*1000/2 + 1000.
func TestOneKernelFromFlags(t *testing.T) {
	recs := must(t, "--source", "testdata/kernels.cl", "--kernel", "saxpy", "--global", "1024", "--local", "32", "--repeats", "4", "--warmup", "1",
		"--arg", "n=int:1000", "--arg", "float:3", "--arg", "x=buf:float:1024:iota(0,1):r", "--arg", "y=buf:float:1024:fill(1)",
		"--expect", "y=sum=1499524")
	run := recs.Runs[0]
	if run.Status != datasets.RunOK || run.Error != "" || run.TimeMetric != "kernel_time" {
		t.Fatalf("the run is %+v", run)
	}
	if len(recs.Launches) != 4 || len(recs.Regions) != 1 || recs.Regions[0].Short != "saxpy" {
		t.Fatalf("%d launches of %+v, want 4 of saxpy", len(recs.Launches), recs.Regions)
	}
	end := int64(0)
	for i, l := range recs.Launches {
		if l.Grid[0].V != 32 || l.Block[0].V != 32 || l.Grid[1].V != 1 || l.Sequence.V != int64(i) {
			t.Errorf("launch %d is %+v, want 32 groups of 32", i, l)
		}
		if !l.DurNs.Valid || l.DurNs.V <= 0 || l.StartNs.V < end {
			t.Errorf("launch %d starts at %v and takes %v after %d", i, l.StartNs, l.DurNs, end)
		}
		end = l.StartNs.V + l.DurNs.V
		times := map[string]float64{}
		for _, c := range recs.Counters {
			if c.Launch == l.ID {
				times[c.Metric] = c.Value.V
			}
		}
		if math.Abs(times["kernel_time"]*1e9-float64(l.DurNs.V)) > 0.5 || times["host_time"] < times["kernel_time"] {
			t.Errorf("launch %d has the times %v and %v ns", i, times, l.DurNs)
		}
	}
	if got := attribute(recs, 1, "output.y.sum"); got != "1.499524e+06" {
		t.Errorf("the sum of y is %s, want 3*999*1000/2 + 1024 = 1499524", got)
	}
	if got := attribute(recs, 1, "args"); got != "n=int:1000 float:3 x=buf:float:1024:iota(0,1):r y=buf:float:1024:fill(1)" {
		t.Errorf("the arguments are %s", got)
	}
	for name, want := range map[string]string{"arg.0.name": "n", "arg.2.type": "float*", "arg.3.address": "global"} {
		if got := attribute(recs, 0, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	source, err := os.ReadFile("testdata/kernels.cl")
	if err != nil {
		t.Fatal(err)
	}
	if attribute(recs, 0, "source") != string(source) {
		t.Error("the source is not kept as it is")
	}
	// By hand: saxpy is in lines 8 to 12 of the file.
	if n := len(recs.Codes); n != 5 || recs.Codes[0].Line.V != 8 || recs.Codes[4].Text != "}" {
		t.Errorf("the kernel's lines are %+v", recs.Codes)
	}
	if f := feature(recs, "work_group_size_max"); f < 32 {
		t.Errorf("the driver allows groups of %v", f)
	}
	if attribute(recs, 0, "device.name") == "" || attribute(recs, 0, "platform.version") == "" || run.ToolVersion == "" {
		t.Error("the device is not described")
	}
}

func feature(r *parsertest.Records, name string) float64 {
	for _, f := range r.Features {
		if f.Name == name {
			return f.Value.V
		}
	}
	return math.NaN()
}

func TestLocalMemoryAndVectors(t *testing.T) {
	recs := must(t, "--source", "testdata/kernels.cl", "--kernel", "groups", "--global", "256", "--local", "16", "--repeats", "1", "--warmup", "0",
		"--arg", "out=buf:int:16", "--arg", "local:64", "--expect", "out=all=16")
	if recs.Runs[0].Status != datasets.RunOK || recs.Launches[0].Smem.V != 64 || len(recs.Launches) != 1 {
		t.Errorf("the run is %+v, its launch %+v", recs.Runs[0], recs.Launches)
	}
	recs = must(t, "--source", "testdata/kernels.cl", "--kernel", "axpy4", "--global", "4,4", "--repeats", "1", "--reinit",
		"--arg", "float4:1,2,3,4", "--arg", "buf:float4:16:fill(2):r", "--arg", "y=buf:float4:16", "--expect", "y=sum=320") // 16*2*(1+2+3+4)
	if recs.Runs[0].Status != datasets.RunOK || recs.Launches[0].Grid[0].Valid || attribute(recs, 1, "global_size") != "4,4" {
		t.Errorf("the run is %+v, its launch %+v", recs.Runs[0], recs.Launches[0])
	}
}

// Fewer than three times say nothing about their spread; three of one kernel are
// within a hundred times of each other.
func TestALaunchIsTimedUntilItsMedianIsSettled(t *testing.T) {
	recs := must(t, "--source", "testdata/kernels.cl", "--kernel", "groups", "--global", "256", "--local", "16", "--repeats", "1", "--settle", "100",
		"--arg", "out=buf:int:16", "--arg", "local:64")
	if recs.Runs[0].Status != datasets.RunOK || len(recs.Launches) != 3 {
		t.Errorf("the run is %+v with %d launches, want 3", recs.Runs[0], len(recs.Launches))
	}
}

// A group that does not divide the work, a wrong result and a missing kernel
// are failures of their configurations; what lies between is measured.
func TestFailuresAreNamed(t *testing.T) {
	job := writeJob(t, `{"repeats": 2, "warmup": 0, "programs": [{"source": "kernels.cl", "options": "-cl-std=CL1.2", "launches": [
		{"kernel": "groups", "global": "100", "local": "16", "args": ["out=buf:int:16", "local:64"]},
		{"kernel": "groups", "global": "256", "local": "16", "args": ["out=buf:int:16", "local:64"], "expect": {"out": "all=15"}},
		{"kernel": "nothing", "global": "16", "args": []},
		{"kernel": "groups", "global": "256", "local": "16", "args": ["out=buf:int:16"]},
		{"kernel": "groups", "global": "256", "local": "16", "args": ["out=buf:int:16", "local:64"]}]}]}`)
	recs := must(t, "--job", job)
	run := recs.Runs[0]
	if run.Status != datasets.RunFailed || !strings.Contains(run.Error, "CL_INVALID_WORK_GROUP_SIZE") || !strings.Contains(run.Error, "and 3 more") {
		t.Errorf("the run is %s: %s", run.Status, run.Error)
	}
	var errs []string
	timed := 0
	for _, l := range recs.Launches {
		if e := attribute(recs, l.ID, "error"); e != "" {
			errs = append(errs, e)
			if l.DurNs.Valid {
				t.Errorf("launch %+v failed and has a time", l)
			}
		} else {
			timed++
		}
	}
	for i, part := range []string{"CL_INVALID_WORK_GROUP_SIZE", "element 0 is 16, expected 15", "CL_INVALID_KERNEL_NAME", "takes 2 arguments, 1 are given"} {
		if i >= len(errs) || !strings.Contains(errs[i], part) {
			t.Errorf("error %d of %q is not %q", i, errs, part)
		}
	}
	if timed != 2 {
		t.Errorf("%d launches were timed, want the 2 of the last configuration", timed)
	}
}

func TestABuildThatFailsSaysWhere(t *testing.T) {
	recs := must(t, "--source", "testdata/broken.cl", "--kernel", "broken", "--global", "16", "--arg", "buf:float:16")
	run := recs.Runs[0]
	if run.Status != datasets.RunFailed || !strings.Contains(run.Error, "testdata/broken.cl:5:27: ") || !strings.Contains(run.Error, "x[get_global_id(0)] = undeclared * 2;") {
		t.Errorf("the run is %s: %s", run.Status, run.Error)
	}
	if !strings.Contains(attribute(recs, 0, "build.log"), "undeclared") || len(recs.Launches) != 0 {
		t.Errorf("log %q, launches %v", attribute(recs, 0, "build.log"), recs.Launches)
	}
}

// The child dies of a signal in the first configuration, hangs in the second,
// and the third is measured.
func TestACrashAndAHangEndNothingElse(t *testing.T) {
	job := writeJob(t, `{"repeats": 2, "warmup": 0, "programs": [{"source": "kernels.cl", "launches": [
		{"kernel": "crash", "global": "16", "local": "16", "args": ["out=buf:int:16"]},
		{"kernel": "endless", "global": "1", "local": "1", "args": ["out=buf:int:16"]},
		{"kernel": "groups", "global": "256", "local": "16", "args": ["out=buf:int:16", "local:64"], "expect": {"out": "all=16"}}]}]}`)
	recs := must(t, "--job", job, "--timeout", "10s")
	run := recs.Runs[0]
	if run.Status != datasets.RunFailed || !strings.Contains(run.Error, "crash") || !strings.Contains(run.Error, "and 1 more") {
		t.Errorf("the run is %s: %s", run.Status, run.Error)
	}
	if len(recs.Launches) != 4 || recs.Launches[0].DurNs.Valid || !recs.Launches[3].DurNs.Valid {
		t.Fatalf("the launches are %+v", recs.Launches)
	}
	if e := attribute(recs, 2, "error"); !strings.Contains(e, "--timeout") {
		t.Errorf("the hang is told as %q", e)
	}
	if len(recs.Runs) != 1 || len(recs.Machines) != 1 {
		t.Errorf("%d runs on %d machines", len(recs.Runs), len(recs.Machines))
	}
}

func TestWithoutADriverTheRunIsUnavailable(t *testing.T) {
	t.Setenv("OCL_ICD_VENDORS", t.TempDir())
	recs := must(t, "--source", "testdata/kernels.cl", "--kernel", "groups", "--global", "16")
	if run := recs.Runs[0]; run.Status != datasets.RunUnavailable || !strings.Contains(run.Error, "apt-get install pocl-opencl-icd") {
		t.Errorf("the run is %s: %s", run.Status, run.Error)
	}
}

func TestADeviceThatIsNotThere(t *testing.T) {
	recs, err := collectAnyway(t, "--source", "testdata/kernels.cl", "--kernel", "groups", "--global", "16", "--device", "abacus")
	if err != nil {
		t.Fatal(err)
	}
	if run := recs.Runs[0]; run.Status != datasets.RunUnavailable || !strings.Contains(run.Error, `"abacus"; name one of "`) {
		t.Errorf("the run is %s: %s", run.Status, run.Error)
	}
}

func collectAnyway(t *testing.T, flags ...string) (*parsertest.Records, error) {
	t.Helper()
	t.Setenv("OCL_ICD_VENDORS", "/etc/OpenCL/vendors")
	return collect(t, flags...)
}

// Two values of n and three of wg, less what "when" leaves out; SCALE makes
// two programs of one source.
func TestSweeps(t *testing.T) {
	job := writeJob(t, `{"repeats": 1, "warmup": 1, "programs": [{"source": "kernels.cl", "launches": [
		{"kernel": "saxpy", "sweep": {"n": [32, 64], "wg": [16, 32, 64], "scale": [1, 2]}, "when": "n >= wg && n % wg == 0",
		 "options": "-DSCALE=${scale}", "global": "${n}", "local": "${wg}",
		 "args": ["n=int:${n}", "a=float:1", "x=buf:float:${n}:fill(1):r", "y=buf:float:${(n+1)-1}"],
		 "work": {"flop": "2*n"}, "expect": {"y": "all=${scale}"}}]}]}`)
	recs := must(t, "--job", job)
	if len(recs.Runs) != 2 {
		t.Fatalf("%d runs, want one for each set of options", len(recs.Runs))
	}
	for _, r := range recs.Runs {
		if r.Status != datasets.RunOK {
			t.Errorf("a run is %s: %s", r.Status, r.Error)
		}
	}
	var got []string
	for _, l := range recs.Launches {
		got = append(got, fmt.Sprint(l.Run, " ", attribute(recs, l.ID, "param.n"), "/", l.Block[0].V))
	}
	want := []string{"1 32/16", "1 32/32", "1 64/16", "1 64/32", "1 64/64", "2 32/16", "2 32/32", "2 64/16", "2 64/32", "2 64/64"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the launches are %q, want %q", got, want)
	}
	if total := recs.Total("declared_flop"); total != 2*2*(2*32+3*64) {
		t.Errorf("the declared work is %v flop", total)
	}
}

func writeJob(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	source, err := os.ReadFile("testdata/kernels.cl")
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{"kernels.cl": string(source), "job.json": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "job.json")
}

func TestWhatCannotBeRunIsSaidBeforeAnythingRuns(t *testing.T) {
	base := []string{"--source", "testdata/kernels.cl", "--kernel", "saxpy", "--global", "16"}
	for _, c := range []struct {
		flags []string
		part  string
	}{
		{nil, "--source, --kernel and --global are needed"},
		{[]string{"--source", "nowhere.cl", "--kernel", "k", "--global", "1"}, "nowhere.cl"},
		{append(base, "--arg", "int:x"), `"x" is no int`},
		{append(base, "--arg", "uchar:256"), `"256" is no uchar`},
		{append(base, "--arg", "float3:1,2"), "float3 has 3 values, found 2"},
		{append(base, "--arg", "buf:flaot:3"), `"flaot" is no type`},
		{append(base, "--arg", "buf:float:0"), "no number of elements"},
		{append(base, "--arg", "buf:float:9:rnd(1)"), "is no way to fill a buffer"},
		{append(base, "--arg", "buf:float:9:random(x)"), "needs a seed"},
		{append(base, "--arg", "image2d:9"), "images and samplers are not supported"},
		{append(base, "--arg", "raw:0"), "two hexadecimal digits"},
		{append(base, "--arg", "local:0"), "number of bytes above 0"},
		{append(base, "--local", "16,16"), "as many dimensions"},
		{append(base, "--repeats", "-3"), "-3 repeats"},
		{append(base, "--expect", "y=all=1"), "no output has this name"},
		{append(base, "--job", "j.json"), "--job goes without"},
		{[]string{"--job", writeJob(t, `{"programs": [{"sauce": 1}]}`)}, `unknown field "sauce"`},
		{[]string{"--job", writeJob(t, `{"programs": []}`)}, "it holds no launch"},
		{[]string{"--job", writeJob(t, `{"programs": [{"source": "kernels.cl", "launches": [{"kernel": "k", "global": "${1/0}"}]}]}`)}, "division by zero"},
		{[]string{"--job", writeJob(t, `{"programs": [{"source": "kernels.cl", "launches": [{"kernel": "k", "global": "${f(1)}"}]}]}`)}, "only whole numbers"},
	} {
		if _, err := collect(t, c.flags...); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%q gives %v, want %q", c.flags, err, c.part)
		}
	}
}

func TestAnInterruptEndsTheChild(t *testing.T) {
	c, err := collectors.LookupCollector("opencl")
	if err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("opencl", flag.ContinueOnError)
	f := c.New(fs)
	if err := fs.Parse([]string{"--source", "testdata/kernels.cl", "--kernel", "endless", "--global", "1", "--arg", "buf:int:1"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err = f(ctx, collectors.Job{Stdout: io.Discard, Stderr: io.Discard, Log: io.Discard}, collectors.NewOutput("", &parsertest.Records{}))
	if err == nil || !strings.Contains(err.Error(), "context deadline exceeded") {
		t.Errorf("the interrupted collection gives %v", err)
	}
}

// Whatever a job file says, it is an error or a list of launches: nothing
// panics, and nothing runs, as no repeat is asked for.
func FuzzJob(f *testing.F) {
	for _, s := range []string{"n=int:1", "x=buf:float4:${n}:random(1,0,2):r", "local:${4*n}", "raw:00ff", "float2:1,${n}", "buf:half:3:file(a:b)", "${(n}", "double:${1<<n}"} {
		f.Add(s)
	}
	dir := f.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "k.cl"), nil, 0o644); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, arg string) {
		text, err := json.Marshal(map[string]any{"programs": []any{map[string]any{"source": "k.cl", "launches": []any{
			map[string]any{"kernel": "k", "global": arg, "sweep": map[string]any{"n": []int{3}}},
			map[string]any{"kernel": "k", "global": "1", "when": arg, "args": []string{arg}, "repeats": 0, "sweep": map[string]any{"n": []int{3, -1}}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		job := filepath.Join(dir, "job.json")
		if err := os.WriteFile(job, text, 0o644); err != nil {
			t.Fatal(err)
		}
		c, err := collectors.LookupCollector("opencl")
		if err != nil {
			t.Fatal(err)
		}
		fs := flag.NewFlagSet("opencl", flag.ContinueOnError)
		run := c.New(fs)
		if err := fs.Parse([]string{"--job", job, "--platform", "none of this name"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // what could be launched is not
		if err := run(ctx, collectors.Job{Stdout: io.Discard, Stderr: io.Discard, Log: io.Discard}, collectors.NewOutput("", &parsertest.Records{})); err == nil {
			t.Error("it ran")
		}
	})
}

// By Python's struct.pack('e', v): it is 0.0999755859375 for 0.1, 1.1920928955078125e-07
// for 1e-7 (which is below the normal numbers), 2050 for 2049.5, 65504 at most.
func TestNumbersOfHalfPrecision(t *testing.T) {
	for v, sum := range map[string]string{"0.1": "0.199951171875", "1e-7": "2.384185791015625e-07", "2049.5": "4100", "-65504": "-131008", "1e-9": "0"} {
		recs := must(t, "--source", "testdata/kernels.cl", "--kernel", "untouched", "--global", "1", "--repeats", "1", "--arg", "h=buf:half:2:fill("+v+")")
		if got := attribute(recs, 1, "output.h.sum"); got != sum {
			t.Errorf("two times %s is %s, want %s (%s)", v, got, sum, recs.Runs[0].Error)
		}
	}
}

// Two numbers of 1.7e308 are finite and their sum is not.
func TestASumBeyondAllNumbers(t *testing.T) {
	recs := must(t, "--source", "testdata/kernels.cl", "--kernel", "huge", "--global", "2", "--repeats", "1", "--arg", "y=buf:double:2:zero:w")
	if got := attribute(recs, 1, "output.y.sum"); recs.Runs[0].Status != datasets.RunOK || got != "+Inf" {
		t.Errorf("the sum is %s, the run %+v", got, recs.Runs[0])
	}
}
