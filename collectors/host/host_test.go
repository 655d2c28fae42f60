package host_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/host"
)

// tree writes files below a folder: what the kernel shows of a machine of two
// sockets with two cores each and two threads per core.
func tree(t *testing.T, files map[string]string) host.System {
	t.Helper()
	root := t.TempDir()
	for path, text := range files {
		full := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(full), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return host.At(root)
}

func twoSockets() map[string]string {
	files := map[string]string{
		"proc/sys/kernel/hostname":                             "node7\n",
		"proc/sys/kernel/osrelease":                            "6.1.0-test\n",
		"proc/meminfo":                                         "MemTotal:       1024 kB\nMemAvailable:    512 kB\nHugePages_Total:       0\n",
		"proc/self/status":                                     "Name:\tx\nCpus_allowed_list:\t0-2,7\n",
		"proc/self/cgroup":                                     "0::/jobs/one\n",
		"proc/loadavg":                                         "1.50 1.0 0.5 1/100 77\n",
		"sys/fs/cgroup/jobs/cpu.max":                           "300000 100000\n",
		"sys/fs/cgroup/jobs/one/cpu.max":                       "max 100000\n",
		"sys/fs/cgroup/jobs/one/memory.max":                    "4096\n",
		"sys/fs/cgroup/jobs/memory.max":                        "max\n",
		"sys/kernel/mm/transparent_hugepage/enabled":           "always [madvise] never\n",
		"sys/devices/system/cpu/intel_pstate/no_turbo":         "1\n",
		"sys/devices/system/cpu/cpu0/cpufreq/base_frequency":   "2300000\n",
		"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
		"sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
		"sys/devices/system/node/node0/cpulist":                "0-3\n",
		"sys/devices/system/node/node1/cpulist":                "4-7\n",
		"sys/devices/system/node/node0/meminfo":                "Node 0 MemTotal:       512 kB\n",
		"proc/driver/nvidia/version":                           "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\nGCC version: 12\n",
		"proc/driver/nvidia/gpus/0000:01:00.0/information":     "Model: \t\t NVIDIA Pretend\nIRQ: 7\n",
	}
	var cpuinfo strings.Builder
	for cpu := range 8 {
		n := string(rune('0' + cpu))
		socket, core := string(rune('0'+cpu/4)), string(rune('0'+cpu%2))
		cpuinfo.WriteString("processor\t: " + n + "\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Pretend CPU @ 9.90GHz\nstepping\t: 4\nphysical id\t: " + socket + "\ncore id\t\t: " + core + "\nflags\t\t: fpu sse sse2 avx2 fma smep sme hypervisor\n\n")
		dir := "sys/devices/system/cpu/cpu" + n + "/cache/"
		sibling := string(rune('0' + cpu/4*4 + cpu%2))
		other := string(rune('0' + cpu/4*4 + cpu%2 + 2))
		first := string(rune('0' + cpu/4*4))
		last := string(rune('0' + cpu/4*4 + 3))
		for i, c := range []struct{ level, kind, size, shared string }{
			{"1", "Data", "48K", sibling + "," + other}, {"1", "Instruction", "32K", sibling + "," + other},
			{"2", "Unified", "2048K", sibling + "," + other}, {"3", "Unified", "30M", first + "-" + last},
		} {
			index := dir + "index" + string(rune('0'+i)) + "/"
			files[index+"level"], files[index+"type"], files[index+"size"], files[index+"shared_cpu_list"] = c.level, c.kind, c.size, c.shared
			files[index+"coherency_line_size"], files[index+"ways_of_associativity"] = "64", "12"
		}
	}
	files["proc/cpuinfo"] = cpuinfo.String()
	return files
}

func TestMachineOfTwoSockets(t *testing.T) {
	s := tree(t, twoSockets())
	m := s.Machine()
	if m.Host != "node7" || m.CPU != "Pretend CPU @ 9.90GHz" || m.Units.V != 4 || m.MemBytes.V != 1<<20 || m.GPU != "NVIDIA Pretend" || m.Driver != "570.86.15" {
		t.Errorf("machine %+v", m)
	}
	if m.ClockHz.V != 2.3e9 { // the frequency that cpufreq promises goes before the model's name
		t.Errorf("clock %g", m.ClockHz.V)
	}
	c := s.CPU()
	if c.Threads != 8 || c.Cores != 4 || c.Sockets != 2 || c.Quota != 3 || !reflect.DeepEqual(c.Allowed, []int{0, 1, 2, 7}) {
		t.Errorf("CPU %+v", c)
	}
	// smep and AMD's sme protect memory and are no vectors.
	if !reflect.DeepEqual(c.SIMD, []string{"avx2", "fma", "sse", "sse2"}) {
		t.Errorf("SIMD %q", c.SIMD)
	}
	if s.MemoryLimit() != 4096 {
		t.Errorf("memory limit %d", s.MemoryLimit())
	}
	want := []host.Cache{
		{Level: 1, Type: "Data", Bytes: 48 << 10, Instances: 4, Threads: 2, Line: 64, Ways: 12},
		{Level: 1, Type: "Instruction", Bytes: 32 << 10, Instances: 4, Threads: 2, Line: 64, Ways: 12},
		{Level: 2, Type: "Unified", Bytes: 2 << 20, Instances: 4, Threads: 2, Line: 64, Ways: 12},
		{Level: 3, Type: "Unified", Bytes: 30 << 20, Instances: 2, Threads: 4, Line: 64, Ways: 12},
	}
	if got := s.Caches(); !reflect.DeepEqual(got, want) {
		t.Errorf("caches %+v", got)
	}
	facts := map[string]string{}
	for _, f := range s.Facts() {
		if _, twice := facts[f.Name]; twice {
			t.Errorf("%s is told twice", f.Name)
		}
		facts[f.Name] = f.Value
	}
	for name, want := range map[string]string{
		"cpu.governor": "performance, powersave", "cpu.turbo": "off", "memory.transparent_hugepages": "madvise", "numa.nodes": "2",
		"numa.node0.bytes": "524288", "numa.node1.cpus": "4-7", "kernel.release": "6.1.0-test", "virtualisation": "virtual machine",
		"cpu.quota": "3", "cpu.allowed": "4", "gpu.0": "NVIDIA Pretend", "load.1min": "1.50", "cache.l2.bytes": "2097152",
	} {
		if facts[name] != want {
			t.Errorf("%s is %q, want %q", name, facts[name], want)
		}
	}
}

func TestClockWithoutCpufreq(t *testing.T) {
	for _, c := range []struct {
		what, cpuinfo string
		hz            float64
		from          string
	}{
		{"the model's name", "processor: 0\nmodel name: X @ 2.60GHz\nflags: constant_tsc\nbogomips: 1.0\n", 2.6e9, "model name"},
		{"the time stamp counter", "processor: 0\nmodel name: X\nflags: constant_tsc fpu\nbogomips: 4200.00\n", 2.1e9, "time stamp counter"},
		{"nothing", "processor: 0\nmodel name: X\nflags: fpu\nbogomips: 4200.00\n", 0, ""},
		{"ARM", "processor: 0\nBogoMIPS: 50.00\nFeatures: fp asimd sve\nCPU implementer: 0x41\nCPU part: 0xd40\n", 0, ""},
	} {
		got := tree(t, map[string]string{"proc/cpuinfo": c.cpuinfo}).CPU()
		if got.Hz != c.hz || got.HzFrom != c.from {
			t.Errorf("%s: %g from %q", c.what, got.Hz, got.HzFrom)
		}
	}
}

func TestARMHasNoModelName(t *testing.T) {
	c := tree(t, map[string]string{
		"proc/cpuinfo": "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xd40\nCPU revision\t: 1\n\nprocessor\t: 1\nFeatures\t: fp asimd sve\n",
		"sys/devices/system/cpu/cpu0/topology/core_id":             "0",
		"sys/devices/system/cpu/cpu0/topology/physical_package_id": "0",
		"sys/devices/system/cpu/cpu1/topology/core_id":             "1",
		"sys/devices/system/cpu/cpu1/topology/physical_package_id": "0",
	}).CPU()
	if c.Model != "ARM implementer 0x41 part 0xd40" || c.Cores != 2 || c.Sockets != 1 || !reflect.DeepEqual(c.SIMD, []string{"asimd", "sve"}) {
		t.Errorf("CPU %+v", c)
	}
}

func TestASystemThatTellsNothing(t *testing.T) {
	s := tree(t, nil)
	m := s.Machine()
	if m.Units.Valid || m.ClockHz.Valid || m.MemBytes.Valid || m.GPU != "" || len(s.Caches()) != 0 {
		t.Errorf("machine %+v", m)
	}
}

func TestThisMachineIsTheSameTwice(t *testing.T) {
	a, b := host.Machine(), host.Machine()
	if a != b || a.Host == "" || a.CPU == "" || !a.Units.Valid || !a.MemBytes.Valid {
		t.Errorf("%+v and %+v", a, b)
	}
}
