package host

import (
	"fmt"
	"math"
	"path"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

// CPU is the processor of a system.
type CPU struct {
	Model    string
	Vendor   string
	Stepping string // "family 6 model 207 stepping 2"
	Threads  int    // hardware threads online
	Cores    int
	Sockets  int
	Allowed  []int // hardware threads that this process may use
	Quota    float64
	Hz       float64 // the nominal frequency, 0 where nothing tells it
	HzFrom   string  // what told it
	Flags    []string
	SIMD     []string // those of Flags that are about vectors
}

// arch is what `uname -m` calls this machine.
func arch() string {
	switch runtime.GOARCH {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return runtime.GOARCH
}

// vectorFlag matches the instruction sets that move or compute vectors, on
// x86, ARM and RISC-V.
var vectorFlag = regexp.MustCompile(`^(mmx|sse.*|ssse3|avx.*|fma|f16c|amx_.*|gfni|vaes|asimd.*|neon|sve.*|sme2.*|sme[if].*|asimdhp|fphp)$`)

var inModel = regexp.MustCompile(`@ *([0-9.]+) *GHz`)

// CPU reads what the system says of its processor.
func (s System) CPU() CPU {
	var c CPU
	first := map[string]string{}
	sockets, cores := map[string]bool{}, map[string]bool{}
	for _, block := range strings.Split(s.text("/proc/cpuinfo"), "\n\n") {
		one := map[string]string{}
		for _, line := range strings.Split(block, "\n") {
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				continue
			}
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
			one[name] = value
			if _, has := first[name]; !has {
				first[name] = value
			}
		}
		if cpu, ok := one["processor"]; ok {
			c.Threads++
			socket, core := one["physical id"], one["core id"]
			if core == "" { // not on x86
				topology := "/sys/devices/system/cpu/cpu" + cpu + "/topology/"
				socket, core = s.text(topology+"physical_package_id"), s.text(topology+"core_id")
			}
			if core == "" {
				core = "cpu" + cpu
			}
			sockets[socket] = true
			cores[socket+"/"+core] = true
		}
	}
	c.Sockets, c.Cores = len(sockets), len(cores)
	c.Vendor = first["vendor_id"]
	for _, name := range []string{"model name", "cpu model", "Model", "cpu"} {
		if c.Model == "" {
			c.Model = first[name]
		}
	}
	if part := first["CPU part"]; part != "" {
		c.Vendor = "implementer " + first["CPU implementer"]
		c.Stepping = fmt.Sprintf("part %s variant %s revision %s", part, first["CPU variant"], first["CPU revision"])
		if c.Model == "" {
			c.Model = "ARM " + c.Vendor + " part " + part
		}
	} else if first["cpu family"] != "" {
		c.Stepping = fmt.Sprintf("family %s model %s stepping %s", first["cpu family"], first["model"], first["stepping"])
	}
	c.Flags = strings.Fields(first["flags"])
	if len(c.Flags) == 0 {
		c.Flags = strings.Fields(first["Features"])
	}
	for _, f := range c.Flags {
		if vectorFlag.MatchString(f) {
			c.SIMD = append(c.SIMD, f)
		}
	}
	sort.Strings(c.SIMD)
	for _, line := range strings.Split(s.text("/proc/self/status"), "\n") {
		if l, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			c.Allowed = list(strings.TrimSpace(l))
		}
	}
	c.Quota = s.quota()
	c.Hz, c.HzFrom = s.clock(first, c.Model)
	return c
}

// clock finds the nominal frequency: what the processor promises, rather than
// what it happens to run at. Virtual machines tell little.
func (s System) clock(cpuinfo map[string]string, model string) (hz float64, from string) {
	const freq = "/sys/devices/system/cpu/cpu0/cpufreq/"
	if k, ok := s.number(freq + "base_frequency"); ok {
		return float64(k) * 1e3, "cpufreq base_frequency"
	}
	if m := inModel.FindStringSubmatch(model); m != nil {
		if g, err := strconv.ParseFloat(m[1], 64); err == nil {
			return math.Round(g * 1e9), "model name"
		}
	}
	if k, ok := s.number(freq + "cpuinfo_max_freq"); ok {
		return float64(k) * 1e3, "cpufreq cpuinfo_max_freq"
	}
	// Where the frequency of the time stamp counter is known, BogoMIPS is
	// twice that in MHz, and it is the nominal one.
	if strings.Contains(" "+cpuinfo["flags"]+" ", " constant_tsc ") {
		if b, err := strconv.ParseFloat(cpuinfo["bogomips"], 64); err == nil && b > 0 {
			return math.Round(b/2*1e3) * 1e3, "time stamp counter"
		}
	}
	return 0, ""
}

// quota is how many processors' time the control group of this process may
// take, 0 where there is no limit.
func (s System) quota() float64 {
	group2, group1 := s.groups("cpu")
	least := 0.0
	note := func(q, p string) {
		quota, err := strconv.ParseFloat(q, 64)
		period, err2 := strconv.ParseFloat(p, 64)
		if err == nil && err2 == nil && quota > 0 && period > 0 && (least == 0 || quota/period < least) {
			least = quota / period
		}
	}
	for g := group2; g != ""; g = up(g) { // each level limits those below it
		if q, p, ok := strings.Cut(s.text("/sys/fs/cgroup"+path.Join("/", g)+"/cpu.max"), " "); ok {
			note(q, p)
		}
	}
	for g := group1; g != ""; g = up(g) {
		dir := "/sys/fs/cgroup/cpu" + path.Join("/", g)
		note(s.text(dir+"/cpu.cfs_quota_us"), s.text(dir+"/cpu.cfs_period_us"))
	}
	return least
}

// groups returns the control group of this process for a controller: in the
// unified hierarchy, and in the controller's own one.
func (s System) groups(controller string) (unified, own string) {
	for _, line := range strings.Split(s.text("/proc/self/cgroup"), "\n") {
		f := strings.SplitN(line, ":", 3)
		switch {
		case len(f) != 3:
		case f[0] == "0":
			unified = f[2]
		case strings.Contains(","+f[1]+",", ","+controller+","):
			own = f[2]
		}
	}
	return unified, own
}

// up is the control group above g, "" above the root.
func up(g string) string {
	if g == "/" {
		return ""
	}
	return path.Dir(g)
}

// Cache is one cache of a system, as its first processor sees it.
type Cache struct {
	Level     int
	Type      string // "Data", "Instruction" or "Unified"
	Bytes     int64  // of one instance
	Instances int
	Threads   int // hardware threads that share an instance
	Line      int64
	Ways      int64
}

// Name is "l1d", "l1i", "l2" and so on.
func (c Cache) Name() string {
	name := fmt.Sprintf("l%d", c.Level)
	switch c.Type {
	case "Data":
		if c.Level == 1 {
			name += "d"
		}
	case "Instruction":
		name += "i"
	}
	return name
}

// Caches lists the caches, nearest first. It is empty where the system does
// not tell them.
func (s System) Caches() []Cache {
	found := map[string]*Cache{}
	shared := map[string]map[string]bool{}
	for _, dir := range s.glob("/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]*") {
		level, ok := s.number(dir + "/level")
		size := parseSize(s.text(dir + "/size"))
		if !ok || size <= 0 {
			continue
		}
		c := Cache{Level: int(level), Type: s.text(dir + "/type"), Bytes: size}
		name := c.Name()
		sharers := s.text(dir + "/shared_cpu_list")
		if shared[name] == nil {
			shared[name] = map[string]bool{}
		}
		shared[name][sharers] = true
		// Mixed processors have caches of several sizes: the smallest is the
		// one that fits everywhere.
		if old := found[name]; old != nil && old.Bytes <= c.Bytes {
			continue
		}
		c.Threads = len(list(sharers))
		c.Line, _ = s.number(dir + "/coherency_line_size")
		c.Ways, _ = s.number(dir + "/ways_of_associativity")
		found[name] = &c
	}
	var all []Cache
	for name, c := range found {
		c.Instances = len(shared[name])
		all = append(all, *c)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name() < all[j].Name() })
	return all
}

// parseSize reads "48K" and "300M".
func parseSize(s string) int64 {
	unit := int64(1)
	if n := len(s); n > 0 {
		switch s[n-1] {
		case 'K':
			unit, s = 1<<10, s[:n-1]
		case 'M':
			unit, s = 1<<20, s[:n-1]
		case 'G':
			unit, s = 1<<30, s[:n-1]
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > 1<<40 {
		return 0
	}
	return n * unit
}

// MemoryLimit is how much memory the control group of this process may take,
// 0 where there is no limit.
func (s System) MemoryLimit() int64 {
	least := int64(0)
	note := func(n int64, ok bool) {
		if ok && n > 0 && n < 1<<60 && (least == 0 || n < least) {
			least = n
		}
	}
	group2, group1 := s.groups("memory")
	for g := group2; g != ""; g = up(g) {
		note(s.number("/sys/fs/cgroup" + path.Join("/", g) + "/memory.max"))
	}
	for g := group1; g != ""; g = up(g) {
		note(s.number("/sys/fs/cgroup/memory" + path.Join("/", g) + "/memory.limit_in_bytes"))
	}
	return least
}
