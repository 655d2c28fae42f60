package build

import (
	"debug/elf"
	"errors"
	"io"
	"os"
	"slices"
)

// watched are functions of the C library and of runtimes that a program has no
// reason to define itself: by which it takes time, ends and writes what it
// found. A definition of its own stands before the library's.
var watched = []string{
	"clock_gettime", "clock_getres", "gettimeofday", "time", "times", "clock", "timespec_get", "getrusage", "ftime",
	"omp_get_wtime", "omp_get_wtick", "MPI_Wtime",
	"cudaEventElapsedTime", "cudaEventRecord", "cuEventElapsedTime", "hipEventElapsedTime", "hipEventRecord", "clGetEventProfilingInfo",
	"exit", "_exit", "_Exit", "quick_exit", "__libc_start_main",
	"printf", "puts", "fprintf", "fwrite", "fopen", "write", "memcmp", "strcmp",
}

// Suspects lists the functions in an executable, object or library (ELF) that
// its sources define although they are the system's, in order. Of another file
// it lists none. A static executable has the library's own in it: look at what
// the original's has not. A stripped one tells only what it exports, and a macro
// has no name, so that this is a hint for those who read the candidate. Time is
// taken outside of the program, where none of it counts.
func Suspects(path string) ([]string, error) {
	r, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil || string(magic[:]) != elf.ELFMAG {
		return nil, nil // less than four bytes are no executable
	}
	f, err := elf.NewFile(r)
	if err != nil {
		return nil, nil // made by a stranger: broken is as good as none
	}
	var found []string
	for _, read := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		symbols, err := read()
		if err != nil && !errors.Is(err, elf.ErrNoSymbols) {
			continue // likewise
		}
		for _, s := range symbols {
			t, global := elf.ST_TYPE(s.Info), elf.ST_BIND(s.Info) != elf.STB_LOCAL
			// What is global is what others call by that name, whatever type it says
			// it has: code may be an array, or a label of assembly.
			if s.Section == elf.SHN_UNDEF || t != elf.STT_FUNC && t != elf.STT_GNU_IFUNC && !global {
				continue
			}
			if slices.Contains(watched, s.Name) && !slices.Contains(found, s.Name) {
				found = append(found, s.Name)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
