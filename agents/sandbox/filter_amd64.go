package sandbox

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_X86_64

// calls may name a file outside or open a network.
var calls = append([]call{
	{"open", unix.SYS_OPEN, 0, -1, 1},
	{"creat", unix.SYS_CREAT, 0, -1, -1},
	{"mkdir", unix.SYS_MKDIR, 0, -1, -1},
	{"rmdir", unix.SYS_RMDIR, 0, -1, -1},
	{"unlink", unix.SYS_UNLINK, 0, -1, -1},
	{"rename", unix.SYS_RENAME, 0, -1, -1},
	{"rename", unix.SYS_RENAME, 1, -1, -1},
	{"link", unix.SYS_LINK, 1, -1, -1},
	{"symlink", unix.SYS_SYMLINK, 1, -1, -1},
	{"chmod", unix.SYS_CHMOD, 0, -1, -1},
	{"chown", unix.SYS_CHOWN, 0, -1, -1},
	{"mknod", unix.SYS_MKNOD, 0, -1, -1},
}, everywhere...)
