// Package hugepages has glibc's malloc ask for transparent huge pages, and keep
// what is freed. XLA's CPU plugin takes the memory of a training step afresh at
// each step, some hundreds of MB. A sixth of the step's processor time went to
// page faults of 4 KiB each; and blocks of more than 32 MB went back to the
// system each time, which clears their pages again before it hands them out: 40
// ms of an encoder's step of 450 ms. So blocks of up to 1 GiB stay in the
// process, as does the free end of its heap, up to 1 GiB. There is one heap:
// those of single threads cannot hold such blocks. (Go and DuckDB have
// allocators of their own.)
//
// In flows a process's environment, out flows the same with GLIBC_TUNABLES
// (glibc.malloc.hugetlb, arena_max, mmap_threshold and trim_threshold; glibc
// before 2.35 ignores the first). It is read before a program's first
// instruction, so that it can be given to a program that is started, and this
// one must start itself again. Programs that such a process starts do not inherit
// it (Kept): what is measured runs as in the user's shell. A value that the user
// has set is kept. With huge pages switched off in the kernel
// (/sys/kernel/mm/transparent_hugepage/enabled) nothing changes.
package hugepages

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

const (
	variable = "GLIBC_TUNABLES"
	tunables = "glibc.malloc.hugetlb=1:glibc.malloc.arena_max=1:glibc.malloc.mmap_threshold=1073741824:glibc.malloc.trim_threshold=1073741824"
	// guard says that a program has started itself again: to programs with the
	// rights of others glibc does not pass variable on.
	guard   = "ROOFLAB_HUGEPAGES"
	setting = variable + "=" + tunables
)

// Environment is environ for a program to start, with the setting unless
// GLIBC_TUNABLES is there. Other systems than Linux get what they gave.
func Environment(environ []string) []string {
	if runtime.GOOS != "linux" || has(environ, variable) {
		return environ
	}
	return append(slices.Clip(environ), setting)
}

// Kept takes the setting out of this process's environment, once malloc has
// read it. Another value, the user's, stays.
func Kept() {
	if os.Getenv(variable) == tunables {
		_ = os.Unsetenv(variable)
	}
	_ = os.Unsetenv(guard)
}

// Restart starts this program again, in this process, with the setting, and
// keeps it from programs that are started then (Kept). It returns where there is
// nothing to do: with the setting or another of the user's in the environment,
// in a program that is not linked with glibc, or where starting fails.
func Restart() {
	environ := os.Environ()
	defer Kept()
	if runtime.GOOS != "linux" || has(environ, variable) || has(environ, guard) {
		return
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil || !strings.Contains(string(maps), "/libc.so.6\n") {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	_ = syscall.Exec(self, os.Args, append(environ, setting, guard+"=1")) //nolint:gosec // this program with its own arguments
}

func has(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(s string) bool { return strings.HasPrefix(s, name+"=") })
}
