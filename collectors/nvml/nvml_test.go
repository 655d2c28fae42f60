package nvml

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// library builds testdata/library.c, a library of two pretended GPUs, with
// some macros defined, and has the loader find it before any other.
func library(t *testing.T, defines ...string) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"-shared", "-fPIC", "-o", filepath.Join(dir, "libnvidia-ml.so.1"), "testdata/library.c"}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("building a library (install a C compiler: apt install gcc): %v\n%s", err, out)
	}
	t.Setenv("LD_LIBRARY_PATH", dir)
	t.Setenv("ROOFLAB_NVML_LIBRARY", "")
}

// noLibrary hides the driver of a machine that has one.
func noLibrary(t *testing.T) {
	t.Setenv("ROOFLAB_NVML_LIBRARY", filepath.Join(t.TempDir(), "absent.so"))
}

func collect(t *testing.T, flags []string, command ...string) *parsertest.Records {
	t.Helper()
	r, err := parsertest.Collect(t, "nvml", flags, collectors.Job{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func counters(r *parsertest.Records) map[string]datasets.Counter {
	m := map[string]datasets.Counter{}
	for _, c := range r.Counters {
		m[strings.TrimSpace(c.Metric+" "+c.Instance)] = c
	}
	return m
}

// TestSensorsOfTwoGPUs: the library says 250 W at each reading, counts 3 J more
// with each one of the energy, and throttles at every second one.
func TestSensorsOfTwoGPUs(t *testing.T) {
	library(t)
	r := collect(t, []string{"-rate", "100"}, "sh", "-c", "sleep 0.1")
	run, m := r.Runs[0], r.Machines[0]
	if run.Status != datasets.RunOK || run.ToolVersion != "12.570.86" || run.TimeMetric != "time.wall" {
		t.Errorf("run %+v", run)
	}
	if m.GPU != "Pretend 100" || m.Arch != "cc9.0" || m.MemBytes.V != 80<<30 || m.ClockHz.V != 1.98e9 || m.MemHz.V != 2.619e9 || m.Driver != "570.86" || m.Units.V != 132 {
		t.Errorf("machine %+v", m)
	}
	if r.Attribute("gpu.1.uuid") != "GPU-1" || r.Attribute("gpu.cuda_driver") != "12.8" || r.Attribute("gpu.0.unsupported") != "pcie.rx utilization.gpu utilization.memory" {
		t.Errorf("attributes %v", r.Attributes)
	}
	readings := map[string][]datasets.Telemetry{}
	for _, x := range r.Telemetry {
		readings[x.Sensor] = append(readings[x.Sensor], x)
	}
	power, energy := readings["gpu0.power.instant"], readings["gpu0.energy"]
	if len(power) < 2 || len(power) != len(energy) {
		t.Fatalf("%d readings of power and %d of energy", len(power), len(energy))
	}
	for i, e := range energy {
		if math.Abs(e.Value.V-3*float64(i)) > 1e-9 || e.Kind != "cumulative" || e.Unit != "J" || power[i].Value.V != 251.5 || power[i].Unit != "W" {
			t.Errorf("reading %d: %+v, %+v", i, e, power[i])
		}
	}
	for sensor, want := range map[string]float64{"gpu1.power": 250, "gpu1.clock.sm": 1.98e9, "gpu1.clock.memory": 2.619e9, "gpu1.temperature": 44, "gpu1.memory.used": 1 << 30,
		"gpu0.temperature.memory": 60, "gpu0.fan": 30, "gpu1.pcie.tx": 0} {
		if x := readings[sensor]; len(x) == 0 || x[0].Value.V != want {
			t.Errorf("%s: %+v", sensor, x)
		}
	}
	c := counters(r)
	seconds := float64(power[len(power)-1].TNs-power[0].TNs) / 1e9
	for name, want := range map[string]float64{
		"energy.counter gpu0": 3 * float64(len(energy)-1), "pcie.tx gpu1": 1000 * float64(len(energy)-1), "energy.integral gpu0": 251.5 * seconds, "power.mean gpu0": 251.5, "power.max gpu1": 251.5,
		"temperature.max gpu1": 44, "memory.used.max gpu0": 1 << 30, "clock.sm.mean gpu0": 1.98e9,
	} {
		if got := c[name]; got.Status != datasets.StatusOK || math.Abs(got.Value.V/want-1) > 1e-9 {
			t.Errorf("%s: %+v, want %g", name, got, want)
		}
	}
	if s := c["throttle gpu0 sw_power_cap"]; s.Unit != "%" || !(s.Value.V > 0 && s.Value.V < 100) {
		t.Errorf("throttling %+v", s)
	}
	if _, ok := c["throttle gpu0 hw_slowdown"]; ok {
		t.Error("a reason that never was")
	}
	if rx := c["pcie.rx gpu0"]; rx.Status != datasets.StatusUnsupported || rx.Value.Valid {
		t.Errorf("a counter of 32 bits: %+v", rx)
	}
	for i, x := range readings["gpu1.power"] {
		if i > 0 && x.TNs <= readings["gpu1.power"][i-1].TNs || x.TNs < 0 || x.Kind != "average" {
			t.Errorf("reading %d: %+v", i, x)
		}
	}
}

func TestOneOfTheGPUs(t *testing.T) {
	library(t)
	r := collect(t, []string{"-gpu", "1"}, "true")
	for _, x := range r.Telemetry {
		if !strings.HasPrefix(x.Sensor, "gpu1.") {
			t.Fatalf("sensor %s", x.Sensor)
		}
	}
	if _, err := parsertest.Collect(t, "nvml", []string{"-gpu", "2"}, collectors.Job{Command: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "GPUs 0 to 1") {
		t.Errorf("a GPU that is not there: %v", err)
	}
}

// TestAnOldDriver lacks the counter of energy, fields and throttle reasons.
func TestAnOldDriver(t *testing.T) {
	library(t, "OLD")
	r := collect(t, nil, "sh", "-c", "exit 5")
	if r.Runs[0].Status != datasets.RunFailed || r.Runs[0].Error != "the command ended with exit status 5" {
		t.Errorf("run %+v", r.Runs[0])
	}
	if got := r.Attribute("gpu.0.unsupported"); got != "energy fan pcie.rx pcie.tx power.instant temperature.memory throttle_reasons utilization.gpu utilization.memory" {
		t.Errorf("unsupported %q", got)
	}
	c := counters(r)
	if e := c["energy.counter gpu0"]; e.Status != datasets.StatusUnsupported || e.Value.Valid {
		t.Errorf("%+v", e)
	}
	if p := c["power.mean gpu0"]; math.Abs(p.Value.V-250) > 1e-9 {
		t.Errorf("%+v", p)
	}
}

// TestTheNewestDriver has functions by new names, and a reason for throttling
// that has none yet.
func TestTheNewestDriver(t *testing.T) {
	library(t, "NEW")
	t.Setenv("LD_BIND_NOW", "1") // must not reach the program: it would not start
	c := counters(collect(t, nil, "true"))
	for _, name := range []string{"throttle gpu0 hw_thermal_slowdown", "throttle gpu1 0x100000"} {
		if s := c[name]; s.Value.V != 100 || s.Status != datasets.StatusOK {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// TestALibraryThatCrashes: each GPU is asked once for its power when it is
// described and once at the start, so that the fifth time is of the second reading.
func TestALibraryThatCrashes(t *testing.T) {
	library(t, "CRASH=5")
	ran := filepath.Join(t.TempDir(), "ran")
	r := collect(t, nil, "touch", ran)
	if run := r.Runs[0]; run.Status != datasets.RunFailed || !strings.Contains(run.Error, "the sensors were not read to the end: ") || !strings.Contains(run.Error, "SIGSEGV") {
		t.Errorf("run %+v", run)
	}
	if _, err := os.Stat(ran); err != nil {
		t.Errorf("the command did not run: %v", err)
	}
	n := 0
	for _, x := range r.Telemetry {
		if x.Sensor == "gpu1.power" && x.Value.V == 250 {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d readings of power", n)
	}
	for name, c := range counters(r) {
		if known := name == "time.wall"; c.Value.Valid != known || !known && c.Status != datasets.StatusMissing && c.Status != datasets.StatusUnsupported {
			t.Errorf("%s: %+v", name, c)
		}
	}
	library(t, "CRASH=1")
	if r := collect(t, nil, "true"); r.Runs[0].Status != datasets.RunUnavailable || !strings.Contains(r.Runs[0].Error, "SIGSEGV") {
		t.Errorf("run %+v", r.Runs[0])
	}
}

func TestInterrupted(t *testing.T) {
	library(t)
	ctx, cancel := context.WithCancel(t.Context())
	started := writer(func(p []byte) { cancel() })
	c, err := collectors.LookupCollector("nvml")
	if err != nil {
		t.Fatal(err)
	}
	measure := c.New(flag.NewFlagSet("", flag.ContinueOnError))
	_, err = collectors.Gather(ctx, c, measure, collectors.Job{Command: []string{"sh", "-c", "echo started; exec sleep 600"}, Stdout: started})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// TestWithoutTheProgram: it is not in the cache, and cannot be built.
func TestWithoutTheProgram(t *testing.T) {
	out, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	dirs := strings.Fields(string(out))
	if err != nil || len(dirs) != 2 {
		t.Fatalf("%v, %q", err, dirs)
	}
	for _, c := range []struct {
		what    string
		prepare func(t *testing.T)
		text    string
	}{
		{"no driver", func(t *testing.T) { noLibrary(t); t.Setenv("PATH", t.TempDir()) }, "libnvidia-ml.so.1 is not there; install NVIDIA's driver"},
		{"no go command", func(t *testing.T) { library(t); t.Setenv("PATH", t.TempDir()) }, "rooflab-nvml, cannot be built: there is no go command in PATH; it takes Go"},
		{"no C compiler", func(t *testing.T) { library(t); t.Setenv("CC", "no-such-compiler") }, "no-such-compiler"},
		{"no source", func(t *testing.T) { library(t); t.Setenv("ROOFLAB_SRC", t.TempDir()) }, "set ROOFLAB_SRC to the checkout"},
	} {
		t.Run(c.what, func(t *testing.T) {
			cache := t.TempDir()
			t.Setenv("GOCACHE", dirs[0])
			t.Setenv("GOMODCACHE", dirs[1])
			t.Setenv("XDG_CACHE_HOME", cache)
			c.prepare(t)
			r := collect(t, nil, "/bin/true")
			if run := r.Runs[0]; run.Status != datasets.RunUnavailable || !strings.Contains(run.Error, c.text) {
				t.Errorf("run %+v", run)
			}
			if left, err := filepath.Glob(filepath.Join(cache, "rooflab", "*")); err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestTheProgramAlone is built beforehand where there is no GPU, and can be
// used by itself.
func TestTheProgramAlone(t *testing.T) {
	noLibrary(t)
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	c, err := collectors.LookupCollector("nvml")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := c.Prepare(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(cache, "rooflab", "rooflab-nvml-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("built %q, %v", found, err)
	}
	program := found[0]
	if out, err := exec.Command(program, "describe").Output(); err != nil || !strings.Contains(string(out), `{"missing":{"what":"no GPU of NVIDIA, or no driver`) {
		t.Errorf("%v: %s", err, out)
	}
	library(t)
	if out, err := exec.Command(program, "describe", "--gpu", "1").Output(); err != nil || !strings.Contains(string(out), `"uuid":"GPU-1"`) || strings.Contains(string(out), "GPU-0") {
		t.Errorf("%v: %s", err, out)
	}
	for input, want := range map[string]int{"": 2, "stop\n": 2, "start\nstop\nstart\n": 2} { // readings of one GPU
		cmd := exec.Command(program, "sample", "--gpu", "0", "--rate", "0.001")
		cmd.Stdin = strings.NewReader(input)
		out, err := cmd.Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(lines) != 1+want || !strings.HasSuffix(lines[want], `,"end":true}`) || !strings.Contains(lines[1], `,"gpu":0,"values":[251.5,250,`) {
			t.Errorf("%q: %v\n%s", input, err, out)
		}
	}
	cmd := exec.Command(program, "sample", "--rate", "0.001")
	if _, err := cmd.StdinPipe(); err != nil { // stays open
		t.Fatal(err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for n, lines := 0, bufio.NewScanner(output); lines.Scan(); n++ {
		if n == 1 {
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("told to end: %v", err)
	}
}

func TestFlagsThatAreWrong(t *testing.T) {
	library(t)
	for _, c := range []struct{ flag, value, want string }{
		{"-rate", "101", "100 at most"},
		{"-rate", "0", "100 at most"},
		{"-rate", "NaN", "100 at most"},
		{"-gpu", "0,one", "expected numbers"},
		{"-gpu", "-1", "there are GPUs 0 to 1"},
	} {
		if _, err := parsertest.Collect(t, "nvml", []string{c.flag, c.value}, collectors.Job{Command: []string{"true"}}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v", c.flag, c.value, err)
		}
	}
	if _, err := parsertest.Collect(t, "nvml", nil, collectors.Job{}); err == nil || !strings.Contains(err.Error(), "name it after --") {
		t.Errorf("no command: %v", err)
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, c := range []struct {
		what    string
		prepare func()
		status  string
		text    string
	}{
		{"no library", func() { noLibrary(t) }, datasets.RunUnavailable, "libnvidia-ml.so.1 is not there"},
		{"no GPU", func() { library(t, "GPUS=0") }, datasets.RunUnavailable, "knows no GPU"},
		{"driver not loaded", func() { library(t, "INIT=9") }, datasets.RunUnavailable, "does not start: text of 9"},
		{"no permission", func() { library(t, "INIT=4") }, datasets.RunDenied, "refuses access: text of 4"},
		{"no permission for a GPU", func() { library(t, "HANDLE=4") }, datasets.RunDenied, "refuses GPU 0"},
		{"a GPU that is lost", func() { library(t, "HANDLE=15") }, datasets.RunUnavailable, "GPU 0 does not answer"},
		{"no library at all", func() {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "l.so"), []byte("text"), 0o644); err != nil {
				t.Fatal(err)
			}
			t.Setenv("ROOFLAB_NVML_LIBRARY", filepath.Join(dir, "l.so"))
		}, datasets.RunUnavailable, "cannot be loaded: "},
		{"another library", func() { library(t, "OTHER") }, datasets.RunUnavailable, "another library"},
	} {
		c.prepare()
		r := collect(t, nil, "touch", ran)
		if r.Runs[0].Status != c.status || !strings.Contains(r.Runs[0].Error, c.text) || len(r.Counters)+len(r.Telemetry) != 0 {
			t.Errorf("%s: %+v", c.what, r.Runs[0])
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the command ran although nothing could be measured")
	}
}

func TestFactsOfTheGPUs(t *testing.T) {
	library(t)
	facts := map[string]string{}
	for _, f := range host.DeviceFacts() {
		facts[f.Name] = f.Value
	}
	if facts["gpu.0.name"] != "Pretend 100" || facts["gpu.1.compute_capability"] != "9.0" || facts["gpu.0.power.limit"] != "700" || facts["gpu.0.memory"] != "85899345920" {
		t.Errorf("facts %v", facts)
	}
	for name, want := range map[string]string{"sms": "132", "cores": "16896", "architecture": "Hopper", "pci": "00000000:65:00.0", "ecc": "on", "mig": "off", "persistence": "on",
		"clock.sm.max": "1980000000", "clock.graphics.applications": "1755000000", "power.limit.default": "650.5"} {
		if got := facts["gpu.1."+name]; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	noLibrary(t)
	if f := host.DeviceFacts(); len(f) != 0 {
		t.Errorf("without a driver: %v", f)
	}
}

func TestIntegral(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		t, v           []float64
		integral, mean float64
	}{
		{[]float64{0, 1, 3}, []float64{10, 20, 20}, 55, 55.0 / 3}, // 15 + 40
		{[]float64{0, 1, 2}, []float64{10, nan, 30}, 40, 20},      // the gap is a straight line
		{[]float64{0, 1, 2}, []float64{nan, 10, 10}, 10, 10},
		{[]float64{0}, []float64{10}, nan, nan},
		{nil, nil, nan, nan},
	} {
		integral, mean := integrate(c.t, c.v)
		if same := func(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }; !same(integral, c.integral) || !same(mean, c.mean) {
			t.Errorf("%v over %v: %g, %g", c.v, c.t, integral, mean)
		}
	}
}
