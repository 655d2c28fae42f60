package nvml

import (
	"bytes"
	"fmt"
	"os"

	"github.com/ebitengine/purego"
)

// status is what functions of the library return.
type status int32

const (
	success         status = 0
	noPermission    status = 4
	functionMissing status = 13 // the library is older than the function
)

// Constants of nvml.h.
const (
	clockGraphics = 0
	clockSM       = 1
	clockMemory   = 2

	temperatureGPU = 0

	fieldPowerInstant = 186
)

// device is the library's handle of a GPU.
type device uintptr

type memoryInfo struct{ Total, Free, Used uint64 }

type utilization struct{ GPU, Memory uint32 }

type fieldValue struct {
	Field, Scope       uint32
	Timestamp, Latency int64
	Type               uint32
	Return             status
	Value              [8]byte
}

// driver is the library of NVIDIA's driver. It is loaded by hand, since a
// binding that leaves its symbols to the linker keeps programs that load
// plugins, which bind all symbols at once, from starting where there is no GPU.
// A function that the library does not have is nil.
type driver struct {
	handle uintptr

	init        func() status
	shutdown    func() status
	errorString func(status) string
	driverVer   func(*byte, uint32) status
	nvmlVer     func(*byte, uint32) status
	cudaVer     func(*int32) status
	count       func(*uint32) status
	byIndex     func(uint32, *device) status
	name        func(device, *byte, uint32) status
	uuid        func(device, *byte, uint32) status
	capability  func(device, *int32, *int32) status
	power       func(device, *uint32) status
	powerLimit  func(device, *uint32) status
	energy      func(device, *uint64) status
	clock       func(device, uint32, *uint32) status
	maxClock    func(device, uint32, *uint32) status
	memory      func(device, *memoryInfo) status
	temperature func(device, uint32, *uint32) status
	busy        func(device, *utilization) status
	throttle    func(device, *uint64) status
	fields      func(device, int32, *fieldValue) status
}

// libraryNames are tried in this order; the folders are those of the loader,
// and the place where WSL keeps it.
var libraryNames = []string{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}

// load opens the library, os.ErrNotExist where there is none.
func load() (*driver, error) {
	var d driver
	for _, name := range libraryNames {
		if h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL); err == nil {
			d.handle = h
			break
		}
	}
	if d.handle == 0 {
		return nil, os.ErrNotExist
	}
	for _, f := range d.functions() {
		if sym, err := purego.Dlsym(d.handle, f.symbol); err == nil && sym != 0 {
			purego.RegisterFunc(f.pointer, sym)
		}
	}
	if d.init == nil || d.shutdown == nil || d.count == nil || d.byIndex == nil {
		return nil, fmt.Errorf("the library of NVIDIA's driver lacks nvmlInit_v2, nvmlShutdown, nvmlDeviceGetCount_v2 or nvmlDeviceGetHandleByIndex_v2: its driver is older than 2012, or it is another library")
	}
	return &d, nil
}

type function struct {
	symbol  string
	pointer any
}

// functions lists where each symbol of the library goes.
func (d *driver) functions() []function {
	return []function{
		{"nvmlInit_v2", &d.init},
		{"nvmlShutdown", &d.shutdown},
		{"nvmlErrorString", &d.errorString},
		{"nvmlSystemGetDriverVersion", &d.driverVer},
		{"nvmlSystemGetNVMLVersion", &d.nvmlVer},
		{"nvmlSystemGetCudaDriverVersion", &d.cudaVer},
		{"nvmlDeviceGetCount_v2", &d.count},
		{"nvmlDeviceGetHandleByIndex_v2", &d.byIndex},
		{"nvmlDeviceGetName", &d.name},
		{"nvmlDeviceGetUUID", &d.uuid},
		{"nvmlDeviceGetCudaComputeCapability", &d.capability},
		{"nvmlDeviceGetPowerUsage", &d.power},
		{"nvmlDeviceGetPowerManagementLimit", &d.powerLimit},
		{"nvmlDeviceGetTotalEnergyConsumption", &d.energy},
		{"nvmlDeviceGetClockInfo", &d.clock},
		{"nvmlDeviceGetMaxClockInfo", &d.maxClock},
		{"nvmlDeviceGetMemoryInfo", &d.memory},
		{"nvmlDeviceGetTemperature", &d.temperature},
		{"nvmlDeviceGetUtilizationRates", &d.busy},
		{"nvmlDeviceGetCurrentClocksThrottleReasons", &d.throttle},
		{"nvmlDeviceGetFieldValues", &d.fields},
	}
}

// say is the library's text for a status.
func (d *driver) say(s status) string {
	if d.errorString == nil {
		return fmt.Sprintf("status %d of the library", s)
	}
	return d.errorString(s)
}

// Each of these calls a function of the library that may not be there.

func number[T any](f func(device, *T) status, g device) (v T, s status) {
	if f == nil {
		return v, functionMissing
	}
	s = f(g, &v)
	return v, s
}

func numberOf[T any](f func(device, uint32, *T) status, g device, kind uint32) (v T, s status) {
	if f == nil {
		return v, functionMissing
	}
	s = f(g, kind, &v)
	return v, s
}

func text(f func(*byte, uint32) status) string {
	if f == nil {
		return ""
	}
	var buf [128]byte
	if f(&buf[0], uint32(len(buf))) != success {
		return ""
	}
	b, _, _ := bytes.Cut(buf[:], []byte{0})
	return string(b)
}

func textOf(f func(device, *byte, uint32) status, g device) string {
	if f == nil {
		return ""
	}
	return text(func(p *byte, n uint32) status { return f(g, p, n) })
}
