// Command rooflab-ld is the external linker that the Go linker calls for a
// cell. It hides, in the Go object, the symbols that must stay private to a
// plugin and then runs mold directly (linking is most of what an edited cell
// costs), or gcc where mold is missing. The toolchain package builds it once
// and keeps it: it starts in a millisecond or two, which rooflab itself, with
// its engines, would not.
package main

import (
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// pkgPath is the package path of cells, toolchain.PkgPath.
const pkgPath = "cell"

func main() { os.Exit(link(os.Args[1:])) }

// link does the work and returns the exit status.
func link(args []string) int {
	probe := false
	var out string
	var objects []string
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case strings.HasSuffix(a, "trivial.c"):
			probe = true
		case a == "-o" && i+1 < len(args):
			i++
			out = args[i]
		case strings.HasSuffix(a, ".o"):
			objects = append(objects, a)
		}
	}
	mold := os.Getenv("ROOFLAB_MOLD")
	if probe {
		// The Go linker asks which flags the linker takes; without debug
		// information none of them matters.
		return 1
	}
	for _, o := range objects {
		if filepath.Base(o) == "go.o" {
			if err := hide(o); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
	}
	var argv []string
	if mold != "" && plainC(args) {
		argv = []string{mold, "-shared", "-s", "-z", "relro", "-z", "now", "-z", "nocopyreloc", "-z", "nodelete", "--hash-style=gnu", "--build-id=none", "-o", out}
		argv = append(argv, objects...)
		for _, dir := range []string{"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/usr/lib"} {
			if _, err := os.Stat(dir); err == nil {
				argv = append(argv, "-L"+dir)
			}
		}
		argv = append(argv, "-lpthread", "-lc")
		if code := run(argv); code == 0 {
			return 0
		}
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		if gcc, err = exec.LookPath("cc"); err != nil {
			fmt.Fprintln(os.Stderr, "linking a cell: neither gcc nor cc is on PATH; install a C compiler (Debian: apt-get install gcc)")
			return 1
		}
	}
	return run(append([]string{gcc}, args...))
}

// plainC reports whether the link needs nothing but libc: no libraries or
// flags of a cgo package in the cell's closure.
func plainC(args []string) bool {
	for _, a := range args {
		switch {
		case a == "-lpthread", a == "-lc", !strings.HasPrefix(a, "-l") && !strings.HasPrefix(a, "-L") && !strings.HasSuffix(a, ".a") && !strings.HasSuffix(a, ".so"):
		case strings.HasSuffix(a, "cell.so"): // the output
		default:
			return false
		}
	}
	return true
}

func run(argv []string) int {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Run(); err != nil {
		var e *exec.ExitError
		if errors.As(err, &e) {
			return e.ExitCode()
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// private reports whether a symbol of the cell package must not be shared
// between plugins: function values (·f) and generic dictionaries would bind a
// cell to code of an earlier one, and static temporaries are numbered anew in
// each compilation, so equal names mean different data.
func private(name string) bool {
	rest, ok := strings.CutPrefix(name, pkgPath+".")
	if !ok {
		return false
	}
	return strings.HasSuffix(name, "·f") || strings.HasPrefix(rest, ".stmp_") || strings.HasPrefix(rest, ".dict.") ||
		strings.HasPrefix(rest, ".gobytes") || strings.HasPrefix(rest, ".map.")
}

// hide gives the private symbols of the ELF object hidden visibility.
func hide(path string) error {
	f, err := elf.Open(path)
	if err != nil {
		return fmt.Errorf("reading the Go object %s: %w", path, err)
	}
	defer f.Close()
	if f.Class != elf.ELFCLASS64 {
		return fmt.Errorf("reading the Go object %s: class %v, expected 64 bit", path, f.Class)
	}
	sec := f.SectionByType(elf.SHT_SYMTAB)
	if sec == nil {
		return fmt.Errorf("reading the Go object %s: no symbol table", path)
	}
	data, err := sec.Data()
	if err != nil {
		return err
	}
	strs, err := f.Sections[sec.Link].Data()
	if err != nil {
		return err
	}
	w, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer w.Close()
	prefix := []byte(pkgPath + ".")
	for off := 0; off+elf.Sym64Size <= len(data); off += elf.Sym64Size {
		at := int(f.ByteOrder.Uint32(data[off:]))
		if at >= len(strs) || len(strs)-at < len(prefix) || string(strs[at:at+len(prefix)]) != string(prefix) {
			continue
		}
		end := at
		for end < len(strs) && strs[end] != 0 {
			end++
		}
		if !private(string(strs[at:end])) {
			continue
		}
		other := data[off+5]&^3 | byte(elf.STV_HIDDEN)
		if _, err := w.WriteAt([]byte{other}, int64(sec.Offset)+int64(off)+5); err != nil {
			return fmt.Errorf("writing the Go object %s: %w", path, err)
		}
	}
	return nil
}
