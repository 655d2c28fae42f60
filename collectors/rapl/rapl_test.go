package rapl

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

// zones writes a powercap folder: files by path below /sys/class/powercap.
func zones(t *testing.T, files map[string]string) (host.System, string) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, folder)
	for path, text := range files {
		full := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return host.At(root), dir
}

func collect(t *testing.T, s host.System, command ...string) *parsertest.Records {
	t.Helper()
	r, err := parsertest.CollectWith(t, func(fs *flag.FlagSet) func(context.Context, collectors.Job, *collectors.Output) error {
		return newRAPL(fs, s)
	}, []string{"-interval", "1ms"}, collectors.Job{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func twoPackages() map[string]string {
	return map[string]string{
		"intel-rapl:0/name": "package-0", "intel-rapl:0/energy_uj": "262143000000", "intel-rapl:0/max_energy_range_uj": "262143328850",
		"intel-rapl:0:0/name": "dram", "intel-rapl:0:0/energy_uj": "5000000", "intel-rapl:0:0/max_energy_range_uj": "65712999613",
		"intel-rapl:1/name": "package-1", "intel-rapl:1/energy_uj": "100", "intel-rapl:1/max_energy_range_uj": "262143328850",
		"intel-rapl:1:0/name": "dram", "intel-rapl:1:0/energy_uj": "7", "intel-rapl:1:0/max_energy_range_uj": "65712999613",
		"intel-rapl-mmio:0/name": "package-0", "intel-rapl-mmio:0/energy_uj": "9", "intel-rapl-mmio:0/max_energy_range_uj": "262143328850",
		"intel-rapl/enabled": "1", // the control type itself
	}
}

// TestEnergyOfEachDomain lets the command move the counters itself: package-0
// wraps, by hand 262143328850 - 262143000000 + 2000000 = 2328850 uJ.
func TestEnergyOfEachDomain(t *testing.T) {
	s, dir := zones(t, twoPackages())
	// The kernel's counters are never empty: they change in one step.
	script := `set_to() { echo $1 > "$2.new"; mv "$2.new" "$2"; }; set_to 2000000 "$0/intel-rapl:0/energy_uj"; set_to 8000000 "$0/intel-rapl:0:0/energy_uj"; set_to 1000100 "$0/intel-rapl:1/energy_uj"`
	r := collect(t, s, "sh", "-c", script, dir)
	if r.Runs[0].Status != datasets.RunOK {
		t.Fatalf("run %+v", r.Runs[0])
	}
	want := map[string]struct {
		joules float64
		raw    string
	}{"package-0": {2.32885, "2328850"}, "package-0/dram": {3, "3000000"}, "package-1": {1, "1000000"}, "package-1/dram": {0, "0"}, "mmio/package-0": {0, "0"}}
	wall := r.Value("sh", "time.wall").V
	seen := 0
	for _, c := range r.Counters {
		w, known := want[c.Instance]
		switch {
		case c.Metric == "energy":
			seen++
			if !known || c.Value.V != w.joules || c.RawValue != w.raw || c.Unit != "J" || c.RawUnit != "uJ" {
				t.Errorf("%+v", c)
			}
		case c.Metric == "power" && (c.Value.V != w.joules/wall || c.Unit != "W"):
			t.Errorf("%+v over %g s", c, wall)
		}
	}
	if seen != len(want) {
		t.Errorf("%d energies", seen)
	}
	first, last := map[string]datasets.Telemetry{}, map[string]datasets.Telemetry{}
	for _, x := range r.Telemetry {
		if _, ok := first[x.Sensor]; !ok {
			first[x.Sensor] = x
		} else if x.TNs <= last[x.Sensor].TNs || x.Value.V < last[x.Sensor].Value.V {
			t.Errorf("%+v after %+v", x, last[x.Sensor])
		}
		last[x.Sensor] = x
	}
	if len(last) != len(want) {
		t.Errorf("sensors %v", last)
	}
	for domain, w := range want {
		a, b := first["rapl."+domain], last["rapl."+domain]
		if a.Value.V != 0 && domain == "package-1/dram" || b.Value.V != w.joules || b.Kind != "cumulative" || b.Unit != "J" {
			t.Errorf("%s from %+v to %+v", domain, a, b)
		}
	}
}

func TestAFailingCommandKeepsItsEnergy(t *testing.T) {
	s, _ := zones(t, twoPackages())
	r := collect(t, s, "sh", "-c", "exit 2")
	if r.Runs[0].Status != datasets.RunFailed || r.Runs[0].Error != "the command ended with exit status 2" || len(r.Counters) != 11 {
		t.Errorf("%+v with %d counters", r.Runs[0], len(r.Counters))
	}
}

func TestWhatIsMissingIsNoZero(t *testing.T) {
	empty, _ := zones(t, map[string]string{"dtpm/enabled": "0"})
	denied, dir := zones(t, twoPackages())
	// A folder in the place of the counter cannot be read by anybody, root
	// included: the error is another one, and the zone is left out.
	broken, brokenDir := zones(t, map[string]string{"intel-rapl:0/name": "package-0", "intel-rapl:0/max_energy_range_uj": "9"})
	if err := os.Mkdir(filepath.Join(brokenDir, "intel-rapl:0/energy_uj"), 0o777); err != nil {
		t.Fatal(err)
	}
	// Some files of the kernel are for writing only, for root too.
	for _, z := range []string{"intel-rapl:0", "intel-rapl:0:0", "intel-rapl:1", "intel-rapl:1:0", "intel-rapl-mmio:0"} {
		counter := filepath.Join(dir, z, "energy_uj")
		if err := os.Remove(counter); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/proc/sys/net/ipv4/route/flush", counter); err != nil {
			t.Fatal(err)
		}
	}
	cases := []struct {
		what   string
		system host.System
		status string
		text   string
	}{
		{"no zones", empty, datasets.RunUnavailable, "no energy counters"},
		{"a counter that is none", broken, datasets.RunUnavailable, "no energy counters"},
		{"no permission", denied, datasets.RunDenied, "chmod -R a+r"},
	}
	for _, c := range cases {
		r := collect(t, c.system, "sh", "-c", "echo ran > "+filepath.Join(dir, "ran"))
		if r.Runs[0].Status != c.status || !strings.Contains(r.Runs[0].Error, c.text) || len(r.Counters)+len(r.Telemetry)+len(r.Launches) != 0 {
			t.Errorf("%s: %+v with %d counters", c.what, r.Runs[0], len(r.Counters))
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran although nothing could be measured")
	}
}
