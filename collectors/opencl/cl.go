package opencl

import (
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// handle is any of OpenCL's opaque pointers.
type handle uintptr

// Names of constants of OpenCL's headers, by the specification.
const (
	deviceTypeGPU = 1 << 2
	deviceTypeAll = 0xFFFFFFFF

	memReadWrite = 1 << 0
	memWriteOnly = 1 << 1
	memReadOnly  = 1 << 2

	queueProfiling = 1 << 1

	platformVersion = 0x0901
	platformName    = 0x0902
	platformVendor  = 0x0903

	programBuildLog = 0x1183
)

// library is libOpenCL, with the functions that are used here.
type library struct {
	GetPlatformIDs          func(n uint32, ids *handle, num *uint32) int32
	GetPlatformInfo         func(p handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	GetDeviceIDs            func(p handle, kind uint64, n uint32, ids *handle, num *uint32) int32
	GetDeviceInfo           func(d handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	CreateContext           func(props unsafe.Pointer, n uint32, ds *handle, notify, user uintptr, err *int32) handle
	CreateCommandQueue      func(c, d handle, props uint64, err *int32) handle
	CreateProgramWithSource func(c handle, n uint32, src, lens unsafe.Pointer, err *int32) handle
	BuildProgram            func(p handle, n uint32, ds *handle, options *byte, notify, user uintptr) int32
	GetProgramBuildInfo     func(p, d handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	CreateKernel            func(p handle, name *byte, err *int32) handle
	GetKernelInfo           func(k handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	GetKernelWorkGroupInfo  func(k, d handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	GetKernelArgInfo        func(k handle, index, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	SetKernelArg            func(k handle, index uint32, size uintptr, value unsafe.Pointer) int32
	CreateBuffer            func(c handle, flags uint64, size uintptr, host unsafe.Pointer, err *int32) handle
	EnqueueWriteBuffer      func(q, b handle, blocking uint32, offset, size uintptr, p unsafe.Pointer, n uint32, wait, ev *handle) int32
	EnqueueReadBuffer       func(q, b handle, blocking uint32, offset, size uintptr, p unsafe.Pointer, n uint32, wait, ev *handle) int32
	EnqueueNDRangeKernel    func(q, k handle, dim uint32, offset, global, local *uintptr, n uint32, wait, ev *handle) int32
	WaitForEvents           func(n uint32, evs *handle) int32
	GetEventProfilingInfo   func(ev handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	GetEventInfo            func(ev handle, name uint32, size uintptr, value unsafe.Pointer, ret *uintptr) int32
	Finish                  func(q handle) int32
	ReleaseEvent            func(ev handle) int32
	ReleaseMemObject        func(b handle) int32
	ReleaseKernel           func(k handle) int32
	ReleaseProgram          func(p handle) int32
	ReleaseCommandQueue     func(q handle) int32
	ReleaseContext          func(c handle) int32
}

// libraryNames are tried in order.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"/System/Library/Frameworks/OpenCL.framework/OpenCL"}
	}
	return []string{"libOpenCL.so.1", "libOpenCL.so"}
}

// load opens the ICD loader. The error says how to get one.
func load() (*library, error) {
	var lib uintptr
	var err error
	for _, name := range libraryNames() {
		if lib, err = purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL); err == nil {
			break
		}
	}
	if err != nil {
		return nil, missingOpenCL(fmt.Sprintf("there is no OpenCL on this machine (%v)", err))
	}
	l := &library{}
	for name, f := range map[string]any{
		"clGetPlatformIDs": &l.GetPlatformIDs, "clGetPlatformInfo": &l.GetPlatformInfo,
		"clGetDeviceIDs": &l.GetDeviceIDs, "clGetDeviceInfo": &l.GetDeviceInfo,
		"clCreateContext": &l.CreateContext, "clCreateCommandQueue": &l.CreateCommandQueue,
		"clCreateProgramWithSource": &l.CreateProgramWithSource, "clBuildProgram": &l.BuildProgram,
		"clGetProgramBuildInfo": &l.GetProgramBuildInfo, "clCreateKernel": &l.CreateKernel,
		"clGetKernelInfo": &l.GetKernelInfo, "clGetKernelWorkGroupInfo": &l.GetKernelWorkGroupInfo,
		"clGetKernelArgInfo": &l.GetKernelArgInfo, "clSetKernelArg": &l.SetKernelArg,
		"clCreateBuffer": &l.CreateBuffer, "clEnqueueWriteBuffer": &l.EnqueueWriteBuffer,
		"clEnqueueReadBuffer": &l.EnqueueReadBuffer, "clEnqueueNDRangeKernel": &l.EnqueueNDRangeKernel,
		"clWaitForEvents": &l.WaitForEvents, "clGetEventProfilingInfo": &l.GetEventProfilingInfo,
		"clGetEventInfo": &l.GetEventInfo, "clFinish": &l.Finish, "clReleaseEvent": &l.ReleaseEvent,
		"clReleaseMemObject": &l.ReleaseMemObject, "clReleaseKernel": &l.ReleaseKernel,
		"clReleaseProgram": &l.ReleaseProgram, "clReleaseCommandQueue": &l.ReleaseCommandQueue,
		"clReleaseContext": &l.ReleaseContext,
	} {
		sym, err := purego.Dlsym(lib, name)
		if err != nil {
			return nil, missingOpenCL(fmt.Sprintf("the OpenCL library has no %s, and version 1.2 is needed (%v)", name, err))
		}
		purego.RegisterFunc(f, sym)
	}
	return l, nil
}

const howToGet = "install a driver: on Debian or Ubuntu `sudo apt-get install pocl-opencl-icd ocl-icd-libopencl1` runs kernels on the CPU; a card's vendor has one for the card"

// info asks one of OpenCL's many questions of the form (size, value, size
// out). ok is false where the device does not know the question.
func info(ask func(size uintptr, value unsafe.Pointer, ret *uintptr) int32) (b []byte, ok bool) {
	var n uintptr
	if ask(0, nil, &n) != 0 || n == 0 || n > 64<<20 {
		return nil, false
	}
	b = make([]byte, n)
	if ask(n, unsafe.Pointer(&b[0]), nil) != 0 {
		return nil, false
	}
	return b, true
}

func (l *library) platformText(p handle, name uint32) string {
	b, _ := info(func(n uintptr, v unsafe.Pointer, r *uintptr) int32 { return l.GetPlatformInfo(p, name, n, v, r) })
	return text(b)
}

func text(b []byte) string { return strings.TrimSpace(strings.TrimRight(string(b), "\x00")) }

// clString is a text as C wants it.
func clString(s string) *byte { return &append([]byte(s), 0)[0] }

// clError is a status that a function of OpenCL returned.
type clError struct {
	call string
	code int32
}

func (e clError) Error() string {
	if name, ok := errorNames[e.code]; ok {
		return fmt.Sprintf("%s: %s (%d)", e.call, name, e.code)
	}
	return fmt.Sprintf("%s: OpenCL error %d", e.call, e.code)
}

func failed(call string, code int32) error {
	if code == 0 {
		return nil
	}
	return clError{call, code}
}

// errorNames are those of the specification.
var errorNames = map[int32]string{
	-1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -3: "CL_COMPILER_NOT_AVAILABLE",
	-4: "CL_MEM_OBJECT_ALLOCATION_FAILURE", -5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY",
	-7: "CL_PROFILING_INFO_NOT_AVAILABLE", -11: "CL_BUILD_PROGRAM_FAILURE",
	-14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST", -30: "CL_INVALID_VALUE",
	-33: "CL_INVALID_DEVICE", -34: "CL_INVALID_CONTEXT", -36: "CL_INVALID_COMMAND_QUEUE",
	-38: "CL_INVALID_MEM_OBJECT", -43: "CL_INVALID_BUILD_OPTIONS", -44: "CL_INVALID_PROGRAM",
	-45: "CL_INVALID_PROGRAM_EXECUTABLE", -46: "CL_INVALID_KERNEL_NAME", -47: "CL_INVALID_KERNEL_DEFINITION",
	-48: "CL_INVALID_KERNEL", -49: "CL_INVALID_ARG_INDEX", -50: "CL_INVALID_ARG_VALUE",
	-51: "CL_INVALID_ARG_SIZE", -52: "CL_INVALID_KERNEL_ARGS", -53: "CL_INVALID_WORK_DIMENSION",
	-54: "CL_INVALID_WORK_GROUP_SIZE", -55: "CL_INVALID_WORK_ITEM_SIZE", -56: "CL_INVALID_GLOBAL_OFFSET",
	-58: "CL_INVALID_EVENT", -59: "CL_INVALID_OPERATION", -61: "CL_INVALID_BUFFER_SIZE",
	-63: "CL_INVALID_GLOBAL_WORK_SIZE", -1001: "CL_PLATFORM_NOT_FOUND_KHR",
}
