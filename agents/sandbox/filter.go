//go:build amd64 || arm64

package sandbox

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// refused are system calls with which code got out of sandboxes before, or that
// no program under test needs: of the kernel's own administration, of other
// processes' memory, of keys, and with parameters in memory that a filter cannot
// see (openat2; the C library does without).
var refused = []uint32{
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_FSOPEN, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_FSCONFIG, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE, unix.SYS_MOUNT_SETATTR,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SECCOMP,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX,
}

// absent are said not to exist, so that the C library takes an older call whose
// parameters the filter sees.
var absent = []uint32{unix.SYS_CLONE3, unix.SYS_OPENAT2}

const namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// Offsets in struct seccomp_data (linux/seccomp.h); arguments are 8 bytes each,
// and their lower halves come first on these machines.
const (
	dataNumber   = 0
	dataArch     = 4
	dataArgument = 16
)

const (
	allow  = unix.SECCOMP_RET_ALLOW
	deny   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	noCall = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	notify = unix.SECCOMP_RET_USER_NOTIF
)

// program makes the filter: one rule after another, each either returns or
// falls through with the number of the call loaded.
func program(watch *Watch) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: dataArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: deny}, // 32-bit calls on a 64-bit kernel
		bpf.LoadAbsolute{Off: dataNumber, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpLessThan, Val: 0x40000000, SkipTrue: 1}, // x32 begins there
		bpf.RetConstant{Val: deny},
	}
	rule := func(number uint32, steps ...bpf.Instruction) {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: number, SkipTrue: uint8(len(steps))})
		p = append(p, steps...)
	}
	// bits answers with what says where any of the bits of an argument is set, and
	// lets the call through otherwise.
	bits := func(number uint32, argument uint32, mask, what uint32) {
		rule(number,
			bpf.LoadAbsolute{Off: dataArgument + 8*argument, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: mask, SkipFalse: 1},
			bpf.RetConstant{Val: what},
			bpf.RetConstant{Val: allow})
	}
	equal := func(number uint32, argument uint32, values []uint32, what uint32) {
		steps := []bpf.Instruction{bpf.LoadAbsolute{Off: dataArgument + 8*argument, Size: 4}}
		for _, v := range values {
			steps = append(steps, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: v, SkipTrue: 1}, bpf.RetConstant{Val: what})
		}
		rule(number, append(steps, bpf.RetConstant{Val: allow})...)
	}
	for _, n := range refused {
		rule(n, bpf.RetConstant{Val: deny})
	}
	for _, n := range absent {
		rule(n, bpf.RetConstant{Val: noCall})
	}
	bits(unix.SYS_CLONE, 0, namespaceFlags, deny)
	// A process asks to be traced by the stage, which lets it begin; nothing else.
	rule(unix.SYS_PTRACE,
		bpf.LoadAbsolute{Off: dataArgument, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PTRACE_TRACEME, SkipTrue: 2},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.PTRACE_DETACH, SkipTrue: 1},
		bpf.RetConstant{Val: deny},
		bpf.RetConstant{Val: allow})
	if watch != nil {
		for _, c := range calls {
			switch {
			case c.number == unix.SYS_SOCKET:
				equal(c.number, 0, []uint32{unix.AF_INET, unix.AF_INET6, unix.AF_PACKET}, notify)
			case c.flags < 0 || len(watch.Secrets)+len(watch.Outputs) > 0:
				rule(c.number, bpf.RetConstant{Val: notify})
			default:
				bits(c.number, uint32(c.flags), writing, notify)
			}
		}
	}
	return append(p, bpf.RetConstant{Val: allow})
}

// writing are the flags with which an opening could change a file.
const writing = unix.O_WRONLY | unix.O_RDWR | unix.O_CREAT | unix.O_TRUNC

// filter holds back system calls of this thread and of what it starts. Where
// watch asks for it and the kernel can (Linux 5.5, and no other listener), calls
// that might write outside are told.
func filter(watch *Watch) (*notices, error) {
	if watch != nil {
		fd, err := install(program(watch), unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
		if err == nil {
			return listen(fd, *watch), nil
		}
		if !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EINVAL) {
			return nil, err
		}
	}
	_, err := install(program(nil), 0)
	return nil, err
}

func install(p []bpf.Instruction, flags uintptr) (int, error) {
	raw, err := bpf.Assemble(p)
	if err != nil {
		return 0, fmt.Errorf("assembling the filter of system calls: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		code[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	prog := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return 0, fmt.Errorf("setting the filter of system calls: %w", errno)
	}
	return int(fd), nil
}
