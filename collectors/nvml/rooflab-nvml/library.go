package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/dl"
	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/rooflab/rooflab/collectors/nvml/sensors"
)

const (
	driverFix = "install NVIDIA's driver, which brings libnvidia-ml.so.1, or let the container have the GPU (docker run --gpus all)"
	rightsFix = "ask for access to /dev/nvidia*, or run as root"
)

// library is the driver's library, loaded. A call of a function that it lacks
// would end the program, so each is looked up before: see has.
type library struct {
	nvml.Interface
	loaded *dl.DynamicLibrary
	begun  bool
}

// names are where the library is looked for: in the folders of the loader, and
// where WSL keeps it; only where ROOFLAB_NVML_LIBRARY says if it says so.
func names() []string {
	if name := os.Getenv("ROOFLAB_NVML_LIBRARY"); name != "" {
		return []string{name}
	}
	return []string{"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"}
}

// open loads and starts the library. The hello says what is missing, if
// anything is.
func open() (*library, sensors.Hello) {
	unavailable := func(format string, args ...any) sensors.Hello {
		return sensors.Hello{Missing: &sensors.Missing{What: fmt.Sprintf(format, args...), Fix: driverFix}}
	}
	lib := &library{}
	why := ""
	for _, name := range names() {
		loaded := dl.New(name, dl.RTLD_LAZY|dl.RTLD_GLOBAL)
		err := loaded.Open()
		if err == nil {
			lib.Interface, lib.loaded = nvml.New(nvml.WithLibraryPath(name)), loaded
			break
		}
		if !strings.Contains(err.Error(), name+": cannot open shared object file: No such file") {
			why = err.Error()
		}
	}
	switch {
	case lib.loaded == nil && why != "":
		return lib, unavailable("the library of NVIDIA's driver cannot be loaded: %s", why)
	case lib.loaded == nil:
		return lib, unavailable("no GPU of NVIDIA, or no driver: libnvidia-ml.so.1 is not there")
	}
	for _, symbol := range []string{"nvmlInit_v2", "nvmlShutdown", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2"} {
		if !lib.has(symbol) {
			return lib, unavailable("the library of NVIDIA's driver lacks %s: its driver is older than 2012, or it is another library", symbol)
		}
	}
	switch ret := lib.Init(); ret {
	case nvml.SUCCESS:
		lib.begun = true
		return lib, sensors.Hello{}
	case nvml.ERROR_NO_PERMISSION:
		return lib, sensors.Hello{Missing: &sensors.Missing{Denied: true, What: "the driver refuses access: " + lib.say(ret), Fix: rightsFix}}
	default:
		return lib, unavailable("the driver's library does not start: %s", lib.say(ret))
	}
}

func (l *library) close() {
	if l.begun {
		_ = l.Shutdown() // at the end nothing depends on it
	}
}

// has says whether the library has a function.
func (l *library) has(symbol string) bool { return l.loaded.Lookup(symbol) == nil }

// say is the library's text for what a function returned.
func (l *library) say(ret nvml.Return) string {
	if !l.has("nvmlErrorString") {
		return fmt.Sprintf("status %d of the library", ret)
	}
	return l.ErrorString(ret)
}

// ask calls a function if the library has it; ok is false where there is no
// answer.
func ask[T any](l *library, symbol string, f func() (T, nvml.Return)) (v T, ok bool) {
	if !l.has(symbol) {
		return v, false
	}
	v, ret := f()
	return v, ret == nvml.SUCCESS
}

// choose finds the GPUs of the given numbers, all where there are none given.
// It returns nothing where one of them is not there or may not be used, which
// the hello says then.
func (l *library) choose(hello *sensors.Hello, which []int) []*gpu {
	missing := func(denied bool, fix, format string, args ...any) []*gpu {
		hello.Missing = &sensors.Missing{Denied: denied, What: fmt.Sprintf(format, args...), Fix: fix}
		return nil
	}
	n, ret := l.DeviceGetCount()
	if ret != nvml.SUCCESS {
		return missing(false, driverFix, "the driver does not list its GPUs: %s", l.say(ret))
	}
	if n == 0 {
		return missing(false, "look at nvidia-smi -L, and whether the container has a GPU", "the driver is there and knows no GPU")
	}
	if len(which) == 0 {
		for i := range n {
			which = append(which, i)
		}
	}
	var found []*gpu
	for _, i := range which {
		if i < 0 || i >= n {
			hello.Wrong = fmt.Sprintf("--gpu %d: there are GPUs 0 to %d", i, n-1)
			return nil
		}
		device, ret := l.DeviceGetHandleByIndex(i)
		switch ret {
		case nvml.SUCCESS:
			found = append(found, &gpu{index: i, lib: l, device: device})
		case nvml.ERROR_NO_PERMISSION:
			return missing(true, rightsFix, "the driver refuses GPU %d: %s", i, l.say(ret))
		default:
			return missing(false, "look at nvidia-smi and the kernel's log (dmesg | grep -i xid)", "GPU %d does not answer: %s", i, l.say(ret))
		}
	}
	return found
}

// describe completes the hello and returns the chosen GPUs with their sensors.
func (l *library) describe(hello *sensors.Hello, which []int) []*gpu {
	gpus := l.choose(hello, which)
	if gpus == nil {
		return nil
	}
	hello.Driver, _ = ask(l, "nvmlSystemGetDriverVersion", l.SystemGetDriverVersion)
	hello.NVML, _ = ask(l, "nvmlSystemGetNVMLVersion", l.SystemGetNVMLVersion)
	if cuda, ok := ask(l, "nvmlSystemGetCudaDriverVersion", l.SystemGetCudaDriverVersion); ok {
		hello.CUDA = fmt.Sprintf("%d.%d", cuda/1000, cuda%1000/10)
	}
	hello.Reasons = reasons
	for _, g := range gpus {
		hello.GPUs = append(hello.GPUs, g.describe())
	}
	return gpus
}
