package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What a mount is.
const (
	mountBind    = "bind"    // read-only
	mountDevice  = "device"  // a device node, or a folder of them
	mountMemory  = "memory"  // an empty folder in memory
	mountLink    = "link"    // a symbolic link to From
	mountProcess = "process" // the processes of the sandbox
)

// mount is one entry of the sandbox's file system.
type mount struct {
	Kind string
	From string // on this machine
	At   string
	Size int64 // bytes, of memory
	Mode uint32
	Own  bool // belongs to the command's user
}

// system are the folders with programs and libraries; a link stays a link.
// /sys says which CPUs and GPUs there are, to OpenMP and OpenCL among others.
var system = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store", "/sys"}

// settings are the parts of /etc that programs need to find libraries and
// OpenCL drivers. The rest, users and keys among it, is not there.
var settings = []string{"ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "alternatives", "OpenCL", "localtime", "clang"}

var devices = []string{"null", "zero", "full", "random", "urandom"}

// gpuDevices are the nodes of NVIDIA's and AMD's drivers and of DRM.
var gpuDevices = []string{"/dev/nvidia*", "/dev/kfd", "/dev/dri"}

// plan lists what a command's file system is made of, folders before what is in
// them.
func plan(c Command, l Limits) ([]mount, error) {
	var ms []mount
	add := func(from string) error {
		info, err := os.Lstat(from)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(from)
			if err != nil {
				return err
			}
			ms = append(ms, mount{Kind: mountLink, From: to, At: from})
			return nil
		}
		ms = append(ms, mount{Kind: mountBind, From: from, At: from})
		return nil
	}
	for _, dir := range system {
		if err := add(dir); err != nil {
			return nil, err
		}
	}
	for _, name := range settings {
		if err := add("/etc/" + name); err != nil {
			return nil, err
		}
	}
	ms = append(ms, mount{Kind: mountProcess, At: "/proc"})
	for _, name := range devices {
		ms = append(ms, mount{Kind: mountDevice, From: "/dev/" + name, At: "/dev/" + name})
	}
	ms = append(ms,
		mount{Kind: mountLink, From: "/proc/self/fd", At: "/dev/fd"},
		mount{Kind: mountMemory, At: "/dev/shm", Size: l.Disk, Mode: 0o1777},
		mount{Kind: mountMemory, At: "/tmp", Size: l.Disk, Mode: 0o1777},
		mount{Kind: mountMemory, At: Work, Size: l.Disk, Mode: 0o755, Own: true})
	if c.GPU {
		for _, pattern := range gpuDevices {
			nodes, err := filepath.Glob(pattern)
			if err != nil {
				return nil, err
			}
			for _, n := range nodes {
				ms = append(ms, mount{Kind: mountDevice, From: n, At: n})
			}
		}
	}
	for _, r := range c.ReadOnly {
		at := filepath.Clean(r.At)
		if !filepath.IsAbs(at) || at == "/" || within(at, Work) || within(at, "/tmp") || within(at, "/proc") || within(at, "/dev") {
			return nil, fmt.Errorf("showing %s at %q in the sandbox: the place is an absolute path that is not in %s, /tmp, /proc or /dev", r.From, r.At, Work)
		}
		from, err := filepath.Abs(r.From)
		if err == nil {
			from, err = filepath.EvalSymlinks(from)
		}
		if err != nil {
			return nil, fmt.Errorf("showing %s in the sandbox: %w", r.From, err)
		}
		ms = append(ms, mount{Kind: mountBind, From: from, At: at})
	}
	return ms, nil
}

func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// The two folders of the file system in between.
const (
	before = "/before" // the machine's
	inside = "/inside" // the sandbox's
)

// enter makes the file system of this process that of the plan; it is the only
// process of its mount namespace. The way is bubblewrap's: turn to a file system
// in memory, put the new one together in there, turn to that, and let go of the
// machine's.
func enter(ms []mount, uid, gid int) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	const base = "/tmp" // hidden under it until the turn, and found below before then
	if err := memory(base, 1<<20, 0o755, 0, 0); err != nil {
		return err
	}
	for _, dir := range []string{before, inside} {
		if err := os.Mkdir(base+dir, 0o755); err != nil {
			return err
		}
	}
	if err := unix.PivotRoot(base, base+before); err != nil {
		return fmt.Errorf("turning to a file system in memory: %w", err)
	}
	if err := unix.Chdir("/"); err != nil {
		return err
	}
	if err := memory(inside, 1<<20, 0o755, 0, 0); err != nil {
		return err
	}
	for _, m := range ms {
		if err := m.make(uid, gid); err != nil {
			return fmt.Errorf("putting %s into the sandbox's file system: %w", m.At, err)
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, inside, 0, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV}); err != nil {
		return fmt.Errorf("making the sandbox's root read-only: %w", err)
	}
	if err := unix.Unmount(before, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting go of the machine's file system: %w", err)
	}
	if err := unix.Chdir(inside); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the old one lies over the new one, and goes
		return fmt.Errorf("turning to the sandbox's file system: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return unix.Chdir("/")
}

func (m mount) make(uid, gid int) error {
	at := inside + m.At
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	switch m.Kind {
	case mountLink:
		return os.Symlink(m.From, at)
	case mountMemory:
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		if !m.Own {
			uid, gid = 0, 0
		}
		return memory(at, m.Size, m.Mode, uid, gid)
	case mountProcess:
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		return unix.Mount("proc", at, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	}
	from := before + m.From
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(at, 0o755)
	} else {
		err = os.WriteFile(at, nil, 0o644)
	}
	if err != nil {
		return err
	}
	// What is mounted below comes along: a user may not take it away.
	if err := unix.Mount(from, at, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if m.Kind == mountBind {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NODEV
	}
	err = unix.MountSetattr(unix.AT_FDCWD, at, unix.AT_RECURSIVE, &attr)
	if errors.Is(err, unix.ENOSYS) {
		return fmt.Errorf("making it read-only needs Linux 5.12: %w; install bubblewrap", err)
	}
	return err
}

// memory mounts an empty file system in memory with so many bytes and, since
// they take memory too, files in proportion.
func memory(at string, size int64, mode uint32, uid, gid int) error {
	options := fmt.Sprintf("mode=%o,size=%d,nr_inodes=%d,uid=%d,gid=%d", mode, size, max(1024, size>>14), uid, gid)
	if err := unix.Mount("tmpfs", at, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return fmt.Errorf("mounting memory at %s: %w", at, err)
	}
	return nil
}

// bubblewrap is the plan in the words of bwrap.
func bubblewrap(ms []mount) []string {
	var args []string
	for _, m := range ms {
		switch m.Kind {
		case mountBind:
			args = append(args, "--ro-bind", m.From, m.At)
		case mountDevice:
			args = append(args, "--dev-bind", m.From, m.At)
		case mountMemory:
			args = append(args, "--perms", strconv.FormatUint(uint64(m.Mode), 8), "--size", strconv.FormatInt(m.Size, 10), "--tmpfs", m.At)
		case mountLink:
			args = append(args, "--symlink", m.From, m.At)
		case mountProcess:
			args = append(args, "--proc", m.At)
		}
	}
	return slices.Concat(args, []string{"--remount-ro", "/"})
}
