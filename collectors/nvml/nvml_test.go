package nvml

import (
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// library builds testdata/library.c, a library of two pretended GPUs, with
// some macros defined, and has the collector load it.
func library(t *testing.T, defines ...string) {
	t.Helper()
	so := filepath.Join(t.TempDir(), "libnvidia-ml.so.1")
	args := []string{"-shared", "-fPIC", "-o", so, "testdata/library.c"}
	for _, d := range defines {
		args = append(args, "-D"+d)
	}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("building a library (install a C compiler: apt install gcc): %v\n%s", err, out)
	}
	use(t, so)
}

func use(t *testing.T, path string) {
	old := libraryNames
	libraryNames = []string{path}
	t.Cleanup(func() { libraryNames = old })
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
	if m.GPU != "Pretend 100" || m.Arch != "cc9.0" || m.MemBytes.V != 80<<30 || m.ClockHz.V != 1.98e9 || m.MemHz.V != 2.619e9 || m.Driver != "570.86" || m.Units.Valid {
		t.Errorf("machine %+v", m)
	}
	if r.Attribute("gpu.1.uuid") != "GPU-1" || r.Attribute("gpu.cuda_driver") != "12.8" || r.Attribute("gpu.0.unsupported") != "utilization.gpu utilization.memory" {
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
		if math.Abs(e.Value.V-3*float64(i+1)) > 1e-9 || e.Kind != "cumulative" || e.Unit != "J" || power[i].Value.V != 251.5 || power[i].Unit != "W" {
			t.Errorf("reading %d: %+v, %+v", i, e, power[i])
		}
	}
	for sensor, want := range map[string]float64{"gpu1.power": 250, "gpu1.clock.sm": 1.98e9, "gpu1.clock.memory": 2.619e9, "gpu1.temperature": 44, "gpu1.memory.used": 1 << 30} {
		if x := readings[sensor]; len(x) == 0 || x[0].Value.V != want {
			t.Errorf("%s: %+v", sensor, x)
		}
	}
	c := counters(r)
	seconds := float64(power[len(power)-1].TNs-power[0].TNs) / 1e9
	for name, want := range map[string]float64{
		"energy.counter gpu0": 3 * float64(len(energy)), "energy.integral gpu0": 251.5 * seconds, "power.mean gpu0": 251.5, "power.max gpu1": 251.5,
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
	if got := r.Attribute("gpu.0.unsupported"); got != "energy power.instant throttle_reasons utilization.gpu utilization.memory" {
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

func TestWhatIsMissingIsNamed(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	for _, c := range []struct {
		what    string
		prepare func()
		status  string
		text    string
	}{
		{"no library", func() { use(t, filepath.Join(t.TempDir(), "absent.so")) }, datasets.RunUnavailable, "libnvidia-ml.so.1 is not there"},
		{"no GPU", func() { library(t, "GPUS=0") }, datasets.RunUnavailable, "knows no GPU"},
		{"driver not loaded", func() { library(t, "INIT=9") }, datasets.RunUnavailable, "does not start: text of 9"},
		{"no permission", func() { library(t, "INIT=4") }, datasets.RunDenied, "refuses access: text of 4"},
		{"no permission for a GPU", func() { library(t, "HANDLE=4") }, datasets.RunDenied, "refuses GPU 0"},
		{"a GPU that is lost", func() { library(t, "HANDLE=15") }, datasets.RunUnavailable, "GPU 0 does not answer"},
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
	use(t, filepath.Join(t.TempDir(), "absent.so"))
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
