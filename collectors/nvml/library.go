package nvml

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/datasets"
)

const (
	driverFix = "install NVIDIA's driver, which brings libnvidia-ml.so.1, or let the container have the GPU (docker run --gpus all)"
	rightsFix = "ask for access to /dev/nvidia*, or run as root"
)

// open loads and starts the driver's library. The caller closes it.
func open() (d *driver, closeLib func(), err error) {
	unavailable := func(what string) error {
		return &collectors.MissingError{Status: datasets.RunUnavailable, What: what, Fix: driverFix}
	}
	d, err = load()
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil, unavailable("no GPU of NVIDIA, or no driver: libnvidia-ml.so.1 is not there")
	}
	if err != nil {
		return nil, nil, unavailable(err.Error())
	}
	switch s := d.init(); s {
	case success:
		return d, func() { d.shutdown() }, nil // at the end nothing depends on it
	case noPermission:
		return nil, nil, &collectors.MissingError{Status: datasets.RunDenied, What: "the driver refuses access: " + d.say(s), Fix: rightsFix}
	default:
		return nil, nil, unavailable("the driver's library does not start: " + d.say(s))
	}
}

// gpus lists the GPUs that are chosen, all where which is empty.
func gpus(d *driver, which []int) ([]*gpu, error) {
	var count uint32
	if s := d.count(&count); s != success {
		return nil, &collectors.MissingError{Status: datasets.RunUnavailable, What: "the driver does not list its GPUs: " + d.say(s), Fix: driverFix}
	}
	n := int(count)
	if n == 0 {
		return nil, &collectors.MissingError{Status: datasets.RunUnavailable, What: "the driver is there and knows no GPU", Fix: "look at nvidia-smi -L, and whether the container has a GPU"}
	}
	if len(which) == 0 {
		for i := range n {
			which = append(which, i)
		}
	}
	var found []*gpu
	for _, i := range which {
		if i < 0 || i >= n {
			return nil, fmt.Errorf("--gpu %d: there are GPUs 0 to %d", i, n-1)
		}
		g := &gpu{index: i, driver: d}
		switch s := d.byIndex(uint32(i), &g.device); s {
		case success:
		case noPermission:
			return nil, &collectors.MissingError{Status: datasets.RunDenied, What: fmt.Sprintf("the driver refuses GPU %d: %s", i, d.say(s)), Fix: rightsFix}
		default:
			return nil, &collectors.MissingError{Status: datasets.RunUnavailable, What: fmt.Sprintf("GPU %d does not answer: %s", i, d.say(s)), Fix: "look at nvidia-smi and the kernel's log (dmesg | grep -i xid)"}
		}
		g.choose()
		found = append(found, g)
	}
	return found, nil
}

// gpu is one GPU and what can be read of it.
type gpu struct {
	index   int
	driver  *driver
	device  device
	sensors []*sensor
	lacks   []string // sensors that this GPU, or its driver, has not
	energy0 float64
}

// sensor is one quantity of a GPU.
type sensor struct {
	name string // without the GPU: "power"
	unit string
	kind string // of datasets.Telemetry
	read func() (float64, status)
}

// choose finds out which sensors the GPU and its driver have.
func (g *gpu) choose() {
	d, dev := g.driver, g.device
	clock := func(kind uint32) func() (float64, status) {
		return func() (float64, status) { v, s := numberOf(d.clock, dev, kind); return float64(v) * 1e6, s }
	}
	for _, c := range []sensor{
		{"power.instant", "W", "instant", g.instantPower},
		{"power", "W", g.powerKind(), func() (float64, status) { v, s := number(d.power, dev); return float64(v) / 1e3, s }},
		{"energy", "J", "cumulative", g.energy},
		{"clock.sm", "Hz", "instant", clock(clockSM)},
		{"clock.graphics", "Hz", "instant", clock(clockGraphics)},
		{"clock.memory", "Hz", "instant", clock(clockMemory)},
		{"memory.used", "byte", "instant", func() (float64, status) { v, s := number(d.memory, dev); return float64(v.Used), s }},
		{"temperature", "degC", "instant", func() (float64, status) {
			v, s := numberOf(d.temperature, dev, temperatureGPU)
			return float64(v), s
		}},
		{"utilization.gpu", "%", "average", func() (float64, status) { v, s := number(d.busy, dev); return float64(v.GPU), s }},
		{"utilization.memory", "%", "average", func() (float64, status) { v, s := number(d.busy, dev); return float64(v.Memory), s }},
		{"throttle_reasons", "bitmask", "instant", func() (float64, status) { v, s := number(d.throttle, dev); return float64(v), s }},
	} {
		if _, s := c.read(); s == success {
			g.sensors = append(g.sensors, &c)
		} else {
			g.lacks = append(g.lacks, c.name)
		}
	}
}

// energy is what the GPU took since its driver was loaded, in J.
func (g *gpu) energy() (float64, status) {
	mJ, s := number(g.driver.energy, g.device)
	return float64(mJ) / 1e3, s
}

// instantPower reads the power without the mean over a second.
func (g *gpu) instantPower() (float64, status) {
	if g.driver.fields == nil {
		return 0, functionMissing
	}
	v := fieldValue{Field: fieldPowerInstant}
	if s := g.driver.fields(g.device, 1, &v); s != success {
		return 0, s
	}
	return float64(binary.NativeEndian.Uint32(v.Value[:4])) / 1e3, v.Return
}

// capability is the compute capability, false where it is not known.
func (g *gpu) capability() (major, minor int32, ok bool) {
	f := g.driver.capability
	ok = f != nil && f(g.device, &major, &minor) == success
	return major, minor, ok
}

// powerKind says what "power" is: the mean over a second on Ampere and later,
// except on GA100, as the library's manual has it.
func (g *gpu) powerKind() string {
	if major, minor, ok := g.capability(); ok && (major < 8 || major == 8 && minor == 0) {
		return "instant"
	}
	return "average"
}

func (g *gpu) sensor(name string) *sensor {
	for _, s := range g.sensors {
		if s.name == name {
			return s
		}
	}
	return nil
}

// reasons are the bits of throttle_reasons, as nvidia-smi names them.
var reasons = []struct {
	bit  uint64
	name string
}{
	{0x1, "gpu_idle"}, {0x2, "applications_clocks_setting"}, {0x4, "sw_power_cap"}, {0x8, "hw_slowdown"}, {0x10, "sync_boost"},
	{0x20, "sw_thermal_slowdown"}, {0x40, "hw_thermal_slowdown"}, {0x80, "hw_power_brake_slowdown"}, {0x100, "display_clock_setting"},
}

// describe completes the machine by the first GPU and returns facts of all.
func describe(d *driver, gs []*gpu, m *datasets.Machine) []host.Fact {
	var found []host.Fact
	add := func(name, value string) {
		if value != "" {
			found = append(found, host.Fact{Name: name, Value: value})
		}
	}
	m.Driver = text(d.driverVer)
	add("gpu.driver", m.Driver)
	add("nvml.version", text(d.nvmlVer))
	var cuda int32
	if d.cudaVer != nil && d.cudaVer(&cuda) == success {
		add("gpu.cuda_driver", fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10))
	}
	for i, g := range gs {
		p := fmt.Sprintf("gpu.%d.", g.index)
		one := datasets.Machine{GPU: textOf(d.name, g.device)}
		add(p+"name", one.GPU)
		add(p+"uuid", textOf(d.uuid, g.device))
		if major, minor, ok := g.capability(); ok {
			one.Arch = fmt.Sprintf("cc%d.%d", major, minor)
			add(p+"compute_capability", fmt.Sprintf("%d.%d", major, minor))
		}
		if mem, s := number(d.memory, g.device); s == success {
			one.MemBytes = datasets.Some(int64(mem.Total))
			add(p+"memory", strconv.FormatUint(mem.Total, 10))
		}
		if mhz, s := numberOf(d.maxClock, g.device, clockSM); s == success {
			one.ClockHz = datasets.Some(float64(mhz) * 1e6)
			add(p+"clock.sm.max", strconv.FormatUint(uint64(mhz)*1e6, 10))
		}
		if mhz, s := numberOf(d.maxClock, g.device, clockMemory); s == success {
			one.MemHz = datasets.Some(float64(mhz) * 1e6)
			add(p+"clock.memory.max", strconv.FormatUint(uint64(mhz)*1e6, 10))
		}
		if limit, s := number(d.powerLimit, g.device); s == success {
			add(p+"power.limit", strconv.FormatFloat(float64(limit)/1e3, 'g', -1, 64))
		}
		sort.Strings(g.lacks)
		add(p+"unsupported", strings.Join(g.lacks, " "))
		if i == 0 {
			m.GPU, m.Arch, m.Units, m.ClockHz, m.MemHz, m.MemBytes = one.GPU, one.Arch, one.Units, one.ClockHz, one.MemHz, one.MemBytes
		}
	}
	return found
}

// missing returns err as what is missing, nil where it is another error.
func missing(err error) *collectors.MissingError {
	var m *collectors.MissingError
	if errors.As(err, &m) {
		return m
	}
	return nil
}

// facts describes the GPUs of this machine, as attributes of a run; nothing
// where there is none, or no driver.
func facts() []host.Fact {
	lib, closeLib, err := open()
	if err != nil {
		return nil
	}
	defer closeLib()
	gs, err := gpus(lib, nil)
	if err != nil {
		return nil
	}
	var m datasets.Machine
	return describe(lib, gs, &m)
}
