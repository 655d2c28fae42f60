//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call that is told to the stage: which argument is the path
// that it changes and which the folder that the path is relative to (-1: the
// current one), and which holds the flags of an opening (-1: it is none).
type call struct {
	name        string
	number      uint32
	path, dirfd int
	flags       int
}

// everywhere are the calls that all machines have.
var everywhere = []call{
	{"openat", unix.SYS_OPENAT, 1, 0, 2},
	{"mkdirat", unix.SYS_MKDIRAT, 1, 0, -1},
	{"unlinkat", unix.SYS_UNLINKAT, 1, 0, -1},
	{"renameat", unix.SYS_RENAMEAT, 1, 0, -1},
	{"renameat", unix.SYS_RENAMEAT, 3, 2, -1},
	{"renameat2", unix.SYS_RENAMEAT2, 1, 0, -1},
	{"renameat2", unix.SYS_RENAMEAT2, 3, 2, -1},
	{"linkat", unix.SYS_LINKAT, 3, 2, -1},
	{"symlinkat", unix.SYS_SYMLINKAT, 2, 1, -1},
	{"truncate", unix.SYS_TRUNCATE, 0, -1, -1},
	{"fchmodat", unix.SYS_FCHMODAT, 1, 0, -1},
	{"fchownat", unix.SYS_FCHOWNAT, 1, 0, -1},
	{"mknodat", unix.SYS_MKNODAT, 1, 0, -1},
	{"socket", unix.SYS_SOCKET, -1, -1, -1},
}

// mostAttempts are kept; a program that tries without end says nothing new.
const mostAttempts = 50

// notice is struct seccomp_notif of linux/seccomp.h, answer struct
// seccomp_notif_resp.
type notice struct {
	ID                 uint64
	PID, Flags         uint32
	Number, Arch       uint32
	InstructionPointer uint64
	Args               [6]uint64
}

type answer struct {
	ID           uint64
	Value        int64
	Error, Flags int32
}

// notices collects what a filter tells.
type notices struct {
	watch Watch
	mu    sync.Mutex
	list  []Attempt
}

func listen(fd int, watch Watch) *notices {
	n := &notices{watch: watch}
	go n.serve(fd)
	return n
}

func (n *notices) attempts() []Attempt {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.list)
}

// serve lets every call go on: the sandbox is what holds them, this only looks.
// (A path may be changed between the look and the call; a program that does
// so is not reported, and not let out either.)
func (n *notices) serve(fd int) {
	for {
		var one notice
		if errno := ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_RECV, unsafe.Pointer(&one)); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT { // ENOENT: it died meanwhile
				continue
			}
			return
		}
		if a, bad := n.judge(one); bad && !own(one.PID) {
			n.keep(a)
		}
		_ = ioctl(fd, unix.SECCOMP_IOCTL_NOTIF_SEND, unsafe.Pointer(&answer{ID: one.ID, Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}))
	}
}

// own says that a thread is the stage's, which is process 1: what it does for the
// command is not the command's. Threads that Go begins later have the filter of
// the one that began them.
func own(thread uint32) bool {
	return thread == 1 || exists(fmt.Sprintf("/proc/1/task/%d", thread))
}

func ioctl(fd int, request uintptr, p unsafe.Pointer) unix.Errno {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), request, uintptr(p))
	return errno
}

func (n *notices) keep(a Attempt) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.list) < mostAttempts && !slices.Contains(n.list, a) {
		n.list = append(n.list, a)
	}
}

// judge says whether a call is something that the command may not do.
func (n *notices) judge(one notice) (Attempt, bool) {
	for _, c := range calls { // one with two paths is there twice
		if c.number == one.Number {
			if a, bad := n.path(c, one); bad {
				return a, true
			}
		}
	}
	return Attempt{}, false
}

func (n *notices) path(c call, one notice) (Attempt, bool) {
	if c.path < 0 {
		family := map[uint64]string{unix.AF_INET: "IPv4", unix.AF_INET6: "IPv6", unix.AF_PACKET: "packets"}[one.Args[0]]
		return Attempt{c.name, "network", family}, true
	}
	path, err := text(one.PID, one.Args[c.path])
	if err != nil || path == "" {
		return Attempt{}, false // the call will fail for the same reason
	}
	if !filepath.IsAbs(path) {
		at := fmt.Sprintf("/proc/%d/cwd", one.PID)
		if c.dirfd >= 0 && int32(one.Args[c.dirfd]) != unix.AT_FDCWD {
			at = fmt.Sprintf("/proc/%d/fd/%d", one.PID, int32(one.Args[c.dirfd]))
		}
		dir, err := os.Readlink(at)
		if err != nil {
			return Attempt{}, false
		}
		path = dir + "/" + path // what ".." means is seen when links are followed
	}
	named := filepath.Clean(path) // before links are followed: what it asks for
	changes := c.flags < 0 || one.Args[c.flags]&writing != 0
	path = resolved(path, one.PID, c.flags >= 0)
	kind := "read"
	if changes {
		kind = "write"
	}
	for _, p := range []string{named, path} {
		if n.secret(p) {
			return Attempt{c.name, kind, p}, true
		}
	}
	if !changes {
		return Attempt{c.name, "look", path}, n.early(path)
	}
	// Opening a device changes nothing that is outside; making one does.
	if within(path, "/dev") && c.flags >= 0 && (one.Args[c.flags]&unix.O_CREAT == 0 || exists(path)) || allowed(path, one.PID) {
		return Attempt{}, false
	}
	return Attempt{c.name, kind, path}, true
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// secret says that a path is one that the command should not know of, and was
// not shown to it.
func (n *notices) secret(path string) bool {
	below := func(dir string) bool { return within(path, filepath.Clean(dir)) }
	return slices.ContainsFunc(n.watch.Secrets, below) && !slices.ContainsFunc(n.watch.shown, below)
}

// early says that a command looks for one of its outputs where none can be yet:
// in its folder before it has made it, or elsewhere under the same name.
func (n *notices) early(path string) bool {
	for _, o := range n.watch.Outputs {
		if filepath.Base(path) != filepath.Base(o) {
			continue
		}
		if !within(path, Work) || !exists(path) {
			return true
		}
	}
	return false
}

// mostLinks are followed, as many as the kernel follows.
const mostLinks = 40

// resolved is a path as a process has it: its links are followed, those in /proc
// among them, as far as there are any. The last part is followed where last is
// true.
func resolved(path string, pid uint32, last bool) string {
	at, rest := "/", path
	for links := 0; ; {
		part, more, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		if part == "" {
			return at
		}
		next := filepath.Join(at, part) // ".." is the folder above, as at has no links
		if next == "/proc/self" || next == "/proc/thread-self" {
			next = fmt.Sprintf("/proc/%d", pid)
		}
		info, err := os.Lstat(next)
		if err != nil {
			return filepath.Join(next, more)
		}
		rest = more
		if info.Mode()&os.ModeSymlink == 0 || !last && strings.Trim(more, "/") == "" {
			at = next
			continue
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > mostLinks {
			return filepath.Join(next, more)
		}
		if filepath.IsAbs(to) {
			at = "/"
		}
		rest = to + "/" + more
	}
}

// allowed are the places that a command may write to; what a process writes
// about itself in /proc is its own affair.
func allowed(path string, pid uint32) bool {
	for _, dir := range []string{Work, "/tmp", "/dev/shm", fmt.Sprintf("/proc/%d", pid)} {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// text reads a path from the memory of a process.
func text(pid uint32, address uint64) (string, error) {
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		return "", err
	}
	defer mem.Close()
	var path []byte
	chunk := make([]byte, 256)
	for len(path) < unix.PathMax {
		// A page at a time: the next may not be there.
		n := min(uint64(len(chunk)), 4096-address%4096)
		got, err := mem.ReadAt(chunk[:n], int64(address))
		if i := bytes.IndexByte(chunk[:got], 0); i >= 0 {
			return string(append(path, chunk[:i]...)), nil
		}
		if err != nil {
			return "", err
		}
		path = append(path, chunk[:got]...)
		address += uint64(got)
	}
	return "", errors.New("a path without end")
}
