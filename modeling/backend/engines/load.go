package engines

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The head of PJRT_Api, which pjrt_c_api.h promises to keep.
struct rooflab_api {
	size_t struct_size;
	void *extension_start;
	struct {
		size_t struct_size;
		void *extension_start;
		int major, minor;
	} version;
};

// rooflab_load returns what is wrong, or NULL.
static const char *rooflab_load(const char *file) {
	return dlopen(file, RTLD_LAZY | RTLD_LOCAL) ? NULL : dlerror();
}

static const char *rooflab_version(const char *file, int *major, int *minor) {
	void *lib = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
	if (!lib) return dlerror();
	const struct rooflab_api *(*get)(void) = (const struct rooflab_api *(*)(void))dlsym(lib, "GetPjrtApi");
	if (!get) return dlerror();
	const struct rooflab_api *api = get();
	if (!api) return "GetPjrtApi returns nothing";
	if (api->struct_size < sizeof *api) return "GetPjrtApi returns something too short to be PJRT's functions";
	*major = api->version.major;
	*minor = api->version.minor;
	return NULL;
}
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"github.com/gomlx/go-xla/pjrt"
)

// apiOf loads a plugin and reads the version of its C API, before any of its
// functions but GetPjrtApi is called.
func apiOf(plugin string) (major, minor int, err error) {
	file := C.CString(plugin)
	defer C.free(unsafe.Pointer(file))
	var a, b C.int
	if wrong := C.rooflab_version(file, &a, &b); wrong != nil {
		return 0, 0, fmt.Errorf("loading %s: %s", plugin, C.GoString(wrong))
	}
	return int(a), int(b), nil
}

// nvidia are the libraries of NVIDIA's wheels, in an order in which each finds
// those that it needs among the earlier: of CUDA 12 in a folder each, of CUDA 13
// in one. It is what JAX loads before its plugin: cuDNN, cuBLAS and NVSHMEM look
// for others by names that no path of theirs leads to.
var nvidia = []string{
	"cuda_runtime/lib/libcudart.so.12", "cu13/lib/libcudart.so.13",
	"cuda_nvrtc/lib/libnvrtc.so.12", "cu13/lib/libnvrtc.so.13",
	"nvjitlink/lib/libnvJitLink.so.12", "cu13/lib/libnvJitLink.so.13",
	"cublas/lib/libcublasLt.so.12", "cu13/lib/libcublasLt.so.13",
	"cublas/lib/libcublas.so.12", "cu13/lib/libcublas.so.13",
	"nccl/lib/libnccl.so.2",
	"cuda_cupti/lib/libcupti.so.12", "cu13/lib/libcupti.so.13",
	"cusparse/lib/libcusparse.so.12", "cu13/lib/libcusparse.so.12",
	"cusolver/lib/libcusolver.so.11", "cu13/lib/libcusolver.so.12",
	"cufft/lib/libcufft.so.11", "cu13/lib/libcufft.so.12",
	"nvshmem/lib/libnvshmem_host.so.3",
	"cudnn/lib/libcudnn.so.9",
}

// preload loads the libraries that lie beside a CUDA plugin, in ../nvidia. One
// that is not there may be installed in the system, and one that does not load
// is named by the plugin when it wants it.
func preload(plugin string) {
	if !pjrt.IsCUDAName(plugin) {
		return
	}
	home := filepath.Join(filepath.Dir(filepath.Dir(plugin)), "nvidia")
	for _, l := range nvidia {
		path := filepath.Join(home, filepath.FromSlash(l))
		if _, err := os.Stat(path); err != nil {
			continue
		}
		file := C.CString(path)
		C.rooflab_load(file)
		C.free(unsafe.Pointer(file))
	}
}
