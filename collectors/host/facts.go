package host

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
)

var (
	devicesMu sync.Mutex
	devices   []func() []Fact
)

// RegisterDevices adds a source of facts about devices that a driver's library
// tells, rather than files: packages that load such libraries register
// themselves, so that nobody else needs to link them. A source returns nothing
// where there is no such device.
func RegisterDevices(source func() []Fact) {
	devicesMu.Lock()
	defer devicesMu.Unlock()
	devices = append(devices, source)
}

// DeviceFacts is what the registered sources tell of this machine's devices.
func DeviceFacts() []Fact {
	devicesMu.Lock()
	defer devicesMu.Unlock()
	var all []Fact
	for _, source := range devices {
		all = append(all, source()...)
	}
	return all
}

// State is what may change between two runs on the same machine and changes
// how fast it is: the kernel, the governor, turbo, huge pages, limits.
func (s System) State() []Fact {
	var f facts
	c := s.CPU()
	f.add("kernel.release", s.text("/proc/sys/kernel/osrelease"))
	f.add("cpu.governor", s.same("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"))
	f.add("cpu.driver", s.text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"))
	f.add("cpu.turbo", s.turbo())
	f.add("cpu.max_frequency", s.same("/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_max_freq"), " kHz")
	f.add("cpu.smt", s.text("/sys/devices/system/cpu/smt/control"))
	if n := len(c.Allowed); n > 0 {
		f.add("cpu.allowed", strconv.Itoa(n))
	}
	if c.Quota > 0 {
		f.add("cpu.quota", strconv.FormatFloat(c.Quota, 'g', -1, 64))
	}
	f.add("memory.transparent_hugepages", chosen(s.text("/sys/kernel/mm/transparent_hugepage/enabled")))
	f.add("virtualisation", s.virtualisation())
	f.add("container", s.container())
	f.add("load.1min", firstWord(s.text("/proc/loadavg")))
	return f
}

// Facts is all that the system tells of itself, State included.
func (s System) Facts() []Fact {
	var f facts
	c := s.CPU()
	f.add("cpu.model", c.Model)
	f.add("cpu.vendor", c.Vendor)
	f.add("cpu.stepping", c.Stepping)
	f.add("cpu.microcode", s.text("/sys/devices/system/cpu/cpu0/microcode/version"))
	f.add("cpu.threads", strconv.Itoa(c.Threads))
	f.add("cpu.cores", strconv.Itoa(c.Cores))
	f.add("cpu.sockets", strconv.Itoa(c.Sockets))
	if c.Hz > 0 {
		f.add("cpu.clock_hz", strconv.FormatFloat(c.Hz, 'f', -1, 64))
		f.add("cpu.clock_hz.source", c.HzFrom)
	}
	f.add("cpu.simd", strings.Join(c.SIMD, " "))
	for _, cache := range s.Caches() {
		f.add("cache."+cache.Name(), fmt.Sprintf("%d bytes, %d instances, %d threads each, line %d, %d ways", cache.Bytes, cache.Instances, cache.Threads, cache.Line, cache.Ways))
		f.add("cache."+cache.Name()+".bytes", strconv.FormatInt(cache.Bytes, 10))
	}
	mem := s.Memory()
	if mem["MemTotal"] > 0 {
		f.add("memory.bytes", strconv.FormatInt(mem["MemTotal"], 10))
	}
	if n := mem["HugePages_Total"]; n > 0 {
		f.add("memory.hugepages", fmt.Sprintf("%d of %d bytes", n, mem["Hugepagesize"]))
	}
	nodes := s.glob("/sys/devices/system/node/node[0-9]*")
	if len(nodes) > 0 {
		f.add("numa.nodes", strconv.Itoa(len(nodes)))
	}
	for _, dir := range nodes {
		name := "numa." + dir[strings.LastIndex(dir, "/")+1:]
		f.add(name+".cpus", s.text(dir+"/cpulist"))
		f.add(name+".distance", s.text(dir+"/distance"))
		for _, line := range strings.Split(s.text(dir+"/meminfo"), "\n") {
			if words := strings.Fields(line); len(words) >= 4 && words[2] == "MemTotal:" {
				if k, err := strconv.ParseInt(words[3], 10, 64); err == nil {
					f.add(name+".bytes", strconv.FormatInt(k*1024, 10))
				}
			}
		}
	}
	for _, line := range strings.Split(s.text("/etc/os-release"), "\n") {
		if v, ok := strings.CutPrefix(line, "PRETTY_NAME="); ok {
			f.add("os", strings.Trim(v, `"'`))
		}
	}
	f.add("kernel.version", s.text("/proc/sys/kernel/version"))
	f.add("kernel.perf_event_paranoid", s.text("/proc/sys/kernel/perf_event_paranoid"))
	for i, g := range s.GPUs() {
		f.add(fmt.Sprintf("gpu.%d", i), g)
	}
	f.add("gpu.driver", s.gpuDriver())
	return append(f, s.State()...)
}

type facts []Fact

// add notes a fact; what the system does not tell is left out.
func (f *facts) add(name, value string, unit ...string) {
	if value != "" {
		*f = append(*f, Fact{name, value + strings.Join(unit, "")})
	}
}

// same returns what all files of a pattern hold, or each different content.
func (s System) same(pattern string) string {
	var all []string
	seen := map[string]bool{}
	for _, p := range s.glob(pattern) {
		if t := s.text(p); t != "" && !seen[t] {
			seen[t] = true
			all = append(all, t)
		}
	}
	return strings.Join(all, ", ")
}

func (s System) turbo() string {
	if v, ok := s.number("/sys/devices/system/cpu/intel_pstate/no_turbo"); ok {
		return onOff(v == 0)
	}
	if v, ok := s.number("/sys/devices/system/cpu/cpufreq/boost"); ok {
		return onOff(v != 0)
	}
	return ""
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func (s System) virtualisation() string {
	vendor := s.text("/sys/class/dmi/id/sys_vendor")
	if h := s.text("/sys/hypervisor/type"); h != "" {
		return h
	}
	for _, f := range s.CPU().Flags {
		if f == "hypervisor" {
			return strings.TrimSpace("virtual machine " + vendor)
		}
	}
	return ""
}

func (s System) container() string {
	exists := func(path string) bool { _, err := os.Stat(s.Path(path)); return err == nil }
	switch {
	case exists("/.dockerenv"):
		return "docker"
	case exists("/run/.containerenv"):
		return "podman"
	case exists("/singularity") || exists("/.singularity.d"):
		return "apptainer"
	}
	return ""
}

// chosen returns the word in brackets of "always [madvise] never".
func chosen(s string) string {
	if _, rest, ok := strings.Cut(s, "["); ok {
		word, _, _ := strings.Cut(rest, "]")
		return word
	}
	return s
}

func firstWord(s string) string {
	w, _, _ := strings.Cut(s, " ")
	return w
}
