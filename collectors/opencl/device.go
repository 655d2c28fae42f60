package opencl

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// deviceFacts is a device as the driver describes it.
type deviceFacts struct {
	Platform, PlatformVersion, PlatformVendor string
	Facts                                     []fact // in the order of deviceQuestions
	GPU                                       bool
}

// fact is one answer, named as in OpenCL's headers, in lower case and without
// CL_DEVICE_.
type fact struct{ Name, Value string }

func (d deviceFacts) get(name string) string {
	for _, f := range d.Facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

func (d deviceFacts) number(name string) int64 {
	n, err := strconv.ParseInt(d.get(name), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// deviceQuestions are what is asked of a device; kind 's' is a text, 'n' a
// number of any width, 'v' a list of size_t.
var deviceQuestions = []struct {
	name string
	code uint32
	kind byte
}{
	{"name", 0x102B, 's'}, {"vendor", 0x102C, 's'}, {"version", 0x102F, 's'}, {"opencl_c_version", 0x103D, 's'},
	{"driver_version", 0x102D, 's'}, {"profile", 0x102E, 's'}, {"extensions", 0x1030, 's'},
	{"type", 0x1000, 'n'}, {"vendor_id", 0x1001, 'n'}, {"max_compute_units", 0x1002, 'n'},
	{"max_work_group_size", 0x1004, 'n'}, {"max_work_item_sizes", 0x1005, 'v'}, {"max_clock_frequency", 0x100C, 'n'},
	{"address_bits", 0x100D, 'n'}, {"max_mem_alloc_size", 0x1010, 'n'}, {"global_mem_size", 0x101F, 'n'},
	{"global_mem_cacheline_size", 0x101D, 'n'}, {"global_mem_cache_size", 0x101E, 'n'},
	{"max_constant_buffer_size", 0x1020, 'n'}, {"local_mem_size", 0x1023, 'n'}, {"local_mem_type", 0x1022, 'n'},
	{"profiling_timer_resolution", 0x1025, 'n'}, {"preferred_vector_width_float", 0x100A, 'n'},
	{"preferred_vector_width_double", 0x100B, 'n'}, {"native_vector_width_float", 0x103A, 'n'},
	{"native_vector_width_double", 0x103B, 'n'}, {"host_unified_memory", 0x1035, 'n'}, {"error_correction_support", 0x1024, 'n'},
}

func (l *library) describe(p, d handle) deviceFacts {
	f := deviceFacts{Platform: l.platformText(p, platformName), PlatformVersion: l.platformText(p, platformVersion),
		PlatformVendor: l.platformText(p, platformVendor)}
	for _, q := range deviceQuestions {
		b, ok := info(func(n uintptr, v unsafe.Pointer, r *uintptr) int32 { return l.GetDeviceInfo(d, q.code, n, v, r) })
		if !ok {
			continue
		}
		value := ""
		switch q.kind {
		case 's':
			value = text(b)
		case 'n':
			value = strconv.FormatUint(number(b), 10)
		case 'v':
			var ns []string
			for ; len(b) >= 8; b = b[8:] {
				ns = append(ns, strconv.FormatUint(number(b[:8]), 10))
			}
			value = strings.Join(ns, ",")
		}
		if value != "" {
			f.Facts = append(f.Facts, fact{q.name, value})
		}
	}
	f.GPU = f.number("type")&deviceTypeGPU != 0
	return f
}

// number reads an integer of the machine's byte order and of any width.
func number(b []byte) uint64 {
	switch len(b) {
	case 4:
		return uint64(binary.NativeEndian.Uint32(b))
	case 8:
		return binary.NativeEndian.Uint64(b)
	}
	return 0
}

// choose finds the device whose platform's and own name contain the texts (in
// any case): of those the first GPU, else the first.
func (l *library) choose(platform, device string) (handle, deviceFacts, error) {
	var n uint32
	if code := l.GetPlatformIDs(0, nil, &n); code != 0 || n == 0 {
		return 0, deviceFacts{}, missingOpenCL(fmt.Sprintf("OpenCL's loader is there and no driver under it (clGetPlatformIDs: %d)", code))
	}
	platforms := make([]handle, n)
	if err := failed("clGetPlatformIDs", l.GetPlatformIDs(n, &platforms[0], nil)); err != nil {
		return 0, deviceFacts{}, err
	}
	var best handle
	var facts deviceFacts
	var all []string
	for _, p := range platforms {
		var n uint32
		if l.GetDeviceIDs(p, deviceTypeAll, 0, nil, &n) != 0 || n == 0 {
			continue
		}
		devices := make([]handle, n)
		if l.GetDeviceIDs(p, deviceTypeAll, n, &devices[0], nil) != 0 {
			continue
		}
		for _, d := range devices {
			f := l.describe(p, d)
			all = append(all, fmt.Sprintf("%q of %q", f.get("name"), f.Platform))
			if contains(f.Platform, platform) && contains(f.get("name"), device) && (best == 0 || f.GPU && !facts.GPU) {
				best, facts = d, f
			}
		}
	}
	switch {
	case len(all) == 0:
		return 0, deviceFacts{}, missingOpenCL("OpenCL has no device here")
	case best == 0:
		return 0, deviceFacts{}, &collectors.MissingError{Status: datasets.RunUnavailable,
			What: fmt.Sprintf("no OpenCL device fits --platform %q --device %q", platform, device), Fix: "name one of " + strings.Join(all, ", ")}
	}
	return best, facts, nil
}

func contains(s, part string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(part))
}
