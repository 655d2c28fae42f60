package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/rooflab/rooflab/collectors/nvml/sensors"
)

// gpu is one GPU and what can be read of it.
type gpu struct {
	index   int
	lib     *library
	device  nvml.Device
	sensors []*sensor

	fields  []nvml.FieldValue // those that sensors need, asked for in one call
	busy    nvml.Utilization  // of the reading in progress, as are the fields
	busyOK  bool
	fieldOK bool
}

type sensor struct {
	sensors.Sensor
	read func() (float64, bool)
}

// read reads all sensors once, nil where one does not answer.
func (g *gpu) read() []*float64 {
	g.refresh()
	values := make([]*float64, len(g.sensors))
	for i, s := range g.sensors {
		if v, ok := s.read(); ok {
			values[i] = &v
		}
	}
	return values
}

// refresh asks for what several sensors share.
func (g *gpu) refresh() {
	if len(g.fields) > 0 {
		g.fieldOK = g.device.GetFieldValues(g.fields) == nvml.SUCCESS
	}
	g.busy, g.busyOK = ask(g.lib, "nvmlDeviceGetUtilizationRates", g.device.GetUtilizationRates)
}

// candidates are the sensors that a GPU may have. Power comes first: a reading
// has the time at which it begins.
func (g *gpu) candidates() []sensor {
	d := g.device
	clock := func(kind nvml.ClockType) func() (float64, bool) {
		return scaled(1e6, g.lib, "nvmlDeviceGetClockInfo", func() (uint32, nvml.Return) { return d.GetClockInfo(kind) })
	}
	busy := func(of *uint32) func() (float64, bool) {
		return func() (float64, bool) { return float64(*of), g.busyOK }
	}
	return []sensor{
		{sensors.Sensor{Name: "power.instant", Unit: "W", Kind: "instant"}, g.field(nvml.FI_DEV_POWER_INSTANT, 1e-3)},
		{sensors.Sensor{Name: "power", Unit: "W", Kind: g.powerKind()}, scaled(1e-3, g.lib, "nvmlDeviceGetPowerUsage", d.GetPowerUsage)},
		{sensors.Sensor{Name: "energy", Unit: "J", Kind: "cumulative"}, scaled(1e-3, g.lib, "nvmlDeviceGetTotalEnergyConsumption", d.GetTotalEnergyConsumption)},
		{sensors.Sensor{Name: "clock.sm", Unit: "Hz", Kind: "instant"}, clock(nvml.CLOCK_SM)},
		{sensors.Sensor{Name: "clock.graphics", Unit: "Hz", Kind: "instant"}, clock(nvml.CLOCK_GRAPHICS)},
		{sensors.Sensor{Name: "clock.memory", Unit: "Hz", Kind: "instant"}, clock(nvml.CLOCK_MEM)},
		{sensors.Sensor{Name: "memory.used", Unit: "byte", Kind: "instant"}, scaled(1, g.lib, "nvmlDeviceGetMemoryInfo", func() (uint64, nvml.Return) {
			m, ret := d.GetMemoryInfo()
			return m.Used, ret
		})},
		{sensors.Sensor{Name: "temperature", Unit: "degC", Kind: "instant"}, scaled(1, g.lib, "nvmlDeviceGetTemperature", func() (uint32, nvml.Return) {
			return d.GetTemperature(nvml.TEMPERATURE_GPU)
		})},
		{sensors.Sensor{Name: "temperature.memory", Unit: "degC", Kind: "instant"}, g.field(nvml.FI_DEV_MEMORY_TEMP, 1)},
		{sensors.Sensor{Name: "utilization.gpu", Unit: "%", Kind: "average"}, busy(&g.busy.Gpu)},
		{sensors.Sensor{Name: "utilization.memory", Unit: "%", Kind: "average"}, busy(&g.busy.Memory)},
		{sensors.Sensor{Name: "throttle_reasons", Unit: "bitmask", Kind: "instant"}, g.throttle()},
		{sensors.Sensor{Name: "fan", Unit: "%", Kind: "instant"}, scaled(1, g.lib, "nvmlDeviceGetFanSpeed", d.GetFanSpeed)},
		// The library's throughputs take 20 ms to read each; these counters are there at once.
		{sensors.Sensor{Name: "pcie.tx", Unit: "byte", Kind: "cumulative"}, g.field(nvml.FI_DEV_PCIE_COUNT_TX_BYTES, 1)},
		{sensors.Sensor{Name: "pcie.rx", Unit: "byte", Kind: "cumulative"}, g.field(nvml.FI_DEV_PCIE_COUNT_RX_BYTES, 1)},
	}
}

// scaled is a sensor that a function of the library reads.
func scaled[T uint32 | uint64](factor float64, l *library, symbol string, f func() (T, nvml.Return)) func() (float64, bool) {
	if !l.has(symbol) {
		return nil
	}
	return func() (float64, bool) {
		v, ret := f()
		return scale(float64(v), factor), ret == nvml.SUCCESS
	}
}

// scale multiplies; thousandths are divided, which rounds once rather than twice.
func scale(v, factor float64) float64 {
	if factor == 1e-3 {
		return v / 1e3
	}
	return v * factor
}

// field is a sensor that is a field of the library's, nil where this GPU has it not.
func (g *gpu) field(id uint32, factor float64) func() (float64, bool) {
	if !g.lib.has("nvmlDeviceGetFieldValues") {
		return nil
	}
	probe := []nvml.FieldValue{{FieldId: id}}
	if g.device.GetFieldValues(probe) != nvml.SUCCESS {
		return nil
	}
	if _, ok := value(&probe[0]); !ok {
		return nil
	}
	at := len(g.fields)
	g.fields = append(g.fields, nvml.FieldValue{FieldId: id})
	return func() (float64, bool) {
		v, ok := value(&g.fields[at])
		return scale(v, factor), ok && g.fieldOK
	}
}

// value reads a field by its type. Counters of bytes that have 32 bits come
// round several times a second, so that nothing can be told by them.
func value(f *nvml.FieldValue) (float64, bool) {
	if nvml.Return(f.NvmlReturn) != nvml.SUCCESS {
		return 0, false
	}
	narrow := f.FieldId != nvml.FI_DEV_PCIE_COUNT_TX_BYTES && f.FieldId != nvml.FI_DEV_PCIE_COUNT_RX_BYTES
	order := binary.NativeEndian
	switch nvml.ValueType(f.ValueType) {
	case nvml.VALUE_TYPE_DOUBLE:
		return math.Float64frombits(order.Uint64(f.Value[:])), true
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return float64(order.Uint32(f.Value[:])), narrow
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return float64(order.Uint64(f.Value[:])), true
	case nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return float64(int64(order.Uint64(f.Value[:]))), true
	case nvml.VALUE_TYPE_SIGNED_INT:
		return float64(int32(order.Uint32(f.Value[:]))), narrow
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return float64(order.Uint16(f.Value[:])), narrow
	}
	return 0, false
}

// throttle reads why the clocks are lower, by the function's new name or its
// old one.
func (g *gpu) throttle() func() (float64, bool) {
	if f := scaled(1, g.lib, "nvmlDeviceGetCurrentClocksEventReasons", g.device.GetCurrentClocksEventReasons); f != nil {
		return f
	}
	return scaled(1, g.lib, "nvmlDeviceGetCurrentClocksThrottleReasons", g.device.GetCurrentClocksThrottleReasons)
}

// powerKind says what "power" is: the mean over a second on Ampere and later,
// except on GA100, as the library's manual has it.
func (g *gpu) powerKind() string {
	if major, minor := g.capability(); major > 0 && (major < 8 || major == 8 && minor == 0) {
		return "instant"
	}
	return "average"
}

// capability is the compute capability, 0 where it is not known.
func (g *gpu) capability() (major, minor int) {
	if !g.lib.has("nvmlDeviceGetCudaComputeCapability") {
		return 0, 0
	}
	major, minor, ret := g.device.GetCudaComputeCapability()
	if ret != nvml.SUCCESS {
		return 0, 0
	}
	return major, minor
}

// describe finds out what the GPU is and which sensors it has.
func (g *gpu) describe() sensors.GPU {
	l, d := g.lib, g.device
	one := sensors.GPU{Index: g.index}
	all := g.candidates()
	g.refresh()
	for _, c := range all {
		if c.read != nil {
			if _, ok := c.read(); ok {
				g.sensors = append(g.sensors, &c)
				one.Sensors = append(one.Sensors, c.Sensor)
				continue
			}
		}
		one.Unsupported = append(one.Unsupported, c.Name)
	}
	slices.Sort(one.Unsupported)

	one.Name, _ = ask(l, "nvmlDeviceGetName", d.GetName)
	one.UUID, _ = ask(l, "nvmlDeviceGetUUID", d.GetUUID)
	if l.has("nvmlDeviceGetPciInfo_v3") {
		if pci, ret := d.GetPciInfo(); ret == nvml.SUCCESS {
			one.PCI = chars(pci.BusId[:])
		}
	}
	if a, ok := ask(l, "nvmlDeviceGetArchitecture", d.GetArchitecture); ok {
		one.Architecture = architectures[a]
	}
	one.Major, one.Minor = g.capability()
	one.Cores, _ = ask(l, "nvmlDeviceGetNumGpuCores", d.GetNumGpuCores)
	if per := coresPerSM(one.Major, one.Minor); per > 0 && one.Cores%per == 0 {
		one.SMs = one.Cores / per
	}
	if m, ok := ask(l, "nvmlDeviceGetMemoryInfo", d.GetMemoryInfo); ok {
		one.MemoryBytes = m.Total
	}
	hz := func(symbol string, f func(nvml.ClockType) (uint32, nvml.Return), kind nvml.ClockType) float64 {
		mhz, _ := ask(l, symbol, func() (uint32, nvml.Return) { return f(kind) })
		return float64(mhz) * 1e6
	}
	one.MaxSM = hz("nvmlDeviceGetMaxClockInfo", d.GetMaxClockInfo, nvml.CLOCK_SM)
	one.MaxGraphics = hz("nvmlDeviceGetMaxClockInfo", d.GetMaxClockInfo, nvml.CLOCK_GRAPHICS)
	one.MaxMemory = hz("nvmlDeviceGetMaxClockInfo", d.GetMaxClockInfo, nvml.CLOCK_MEM)
	one.AppGraphics = hz("nvmlDeviceGetApplicationsClock", d.GetApplicationsClock, nvml.CLOCK_GRAPHICS)
	one.AppMemory = hz("nvmlDeviceGetApplicationsClock", d.GetApplicationsClock, nvml.CLOCK_MEM)
	watts := func(symbol string, f func() (uint32, nvml.Return)) float64 {
		mW, _ := ask(l, symbol, f)
		return float64(mW) / 1e3
	}
	one.PowerLimit = watts("nvmlDeviceGetPowerManagementLimit", d.GetPowerManagementLimit)
	one.PowerDefault = watts("nvmlDeviceGetPowerManagementDefaultLimit", d.GetPowerManagementDefaultLimit)
	onOff := func(symbol string, f func() (bool, nvml.Return)) string {
		on, ok := ask(l, symbol, f)
		switch {
		case !ok:
			return ""
		case on:
			return "on"
		}
		return "off"
	}
	one.ECC = onOff("nvmlDeviceGetEccMode", func() (bool, nvml.Return) {
		now, _, ret := d.GetEccMode()
		return now == nvml.FEATURE_ENABLED, ret
	})
	one.MIG = onOff("nvmlDeviceGetMigMode", func() (bool, nvml.Return) {
		now, _, ret := d.GetMigMode()
		return now == nvml.DEVICE_MIG_ENABLE, ret
	})
	one.Persistence = onOff("nvmlDeviceGetPersistenceMode", func() (bool, nvml.Return) {
		now, ret := d.GetPersistenceMode()
		return now == nvml.FEATURE_ENABLED, ret
	})
	return one
}

// chars is a text that C has in an array.
func chars[T int8 | uint8](s []T) string {
	b := make([]byte, len(s))
	for i, c := range s {
		b[i] = byte(c)
	}
	b, _, _ = bytes.Cut(b, []byte{0})
	return string(b)
}

// coresPerSM is how many FP32 lanes a multiprocessor has, by compute
// capability, as the CUDA programming guide lists it; 0 where it is not known.
func coresPerSM(major, minor int) int {
	switch {
	case major == 3:
		return 192
	case major == 6 && minor == 0, major == 7, major == 8 && minor == 0:
		return 64
	case major == 5, major == 6, major == 8, major >= 9 && major <= 12:
		return 128
	}
	return 0
}

var architectures = map[nvml.DeviceArchitecture]string{
	nvml.DEVICE_ARCH_KEPLER: "Kepler", nvml.DEVICE_ARCH_MAXWELL: "Maxwell", nvml.DEVICE_ARCH_PASCAL: "Pascal", nvml.DEVICE_ARCH_VOLTA: "Volta",
	nvml.DEVICE_ARCH_TURING: "Turing", nvml.DEVICE_ARCH_AMPERE: "Ampere", nvml.DEVICE_ARCH_ADA: "Ada", nvml.DEVICE_ARCH_HOPPER: "Hopper",
	nvml.DEVICE_ARCH_BLACKWELL: "Blackwell", nvml.DEVICE_ARCH_RUBIN: "Rubin",
}

// reasons are the bits of throttle_reasons, as nvidia-smi names them.
var reasons = []sensors.Reason{
	{Bit: nvml.ClocksEventReasonGpuIdle, Name: "gpu_idle"},
	{Bit: nvml.ClocksEventReasonApplicationsClocksSetting, Name: "applications_clocks_setting"},
	{Bit: nvml.ClocksEventReasonSwPowerCap, Name: "sw_power_cap"},
	{Bit: nvml.ClocksThrottleReasonHwSlowdown, Name: "hw_slowdown"},
	{Bit: nvml.ClocksEventReasonSyncBoost, Name: "sync_boost"},
	{Bit: nvml.ClocksEventReasonSwThermalSlowdown, Name: "sw_thermal_slowdown"},
	{Bit: nvml.ClocksThrottleReasonHwThermalSlowdown, Name: "hw_thermal_slowdown"},
	{Bit: nvml.ClocksThrottleReasonHwPowerBrakeSlowdown, Name: "hw_power_brake_slowdown"},
	{Bit: nvml.ClocksEventReasonDisplayClockSetting, Name: "display_clock_setting"},
	{Bit: nvml.ClocksEventReasonBoardLimit, Name: "board_limit"},
	{Bit: nvml.ClocksEventReasonReliability, Name: "reliability"},
}
