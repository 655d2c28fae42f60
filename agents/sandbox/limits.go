package sandbox

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spare are processes above Limits.Processes that the kernel allows: the
// stage's own threads are among them where it has the same user, and what goes
// over the limit is seen before the kernel refuses.
const spare = 64

func (l Limits) filled(gpu bool) (Limits, error) {
	for name, v := range map[string]int64{"Wall": int64(l.Wall), "CPU": int64(l.CPU), "Memory": l.Memory, "FileSize": l.FileSize,
		"Disk": l.Disk, "Processes": int64(l.Processes), "Files": int64(l.Files), "Output": l.Output} {
		if v < 0 {
			return l, fmt.Errorf("the sandbox's limit %s is %d: it cannot be below 0, and 0 is the default", name, v)
		}
	}
	fill := func(v *int64, def int64) {
		if *v == 0 {
			*v = def
		}
	}
	if l.Wall == 0 {
		l.Wall = time.Minute
	}
	if l.CPU == 0 {
		l.CPU = time.Duration(min(float64(l.Wall)*float64(runtime.NumCPU()), math.MaxInt64/2))
	}
	l.CPU = (l.CPU + time.Second - 1).Truncate(time.Second)
	fill(&l.Memory, 4<<30)
	if l.AddressSpace == 0 && gpu { // drivers reserve all that there is
		l.AddressSpace = -1
	}
	fill(&l.AddressSpace, 4*l.Memory)
	fill(&l.Disk, 1<<30)
	fill(&l.FileSize, l.Disk)
	fill(&l.Output, 1<<20)
	if l.Processes == 0 {
		l.Processes = 256
	}
	if l.Files == 0 {
		l.Files = 1024
	}
	return l, nil
}

// rlimits sets what the kernel enforces on a process that has not yet begun.
func (l Limits) rlimits(pid int) error {
	set := []struct {
		name     string
		resource int
		value    int64
	}{
		{"core files", unix.RLIMIT_CORE, 0},
		{"CPU time", unix.RLIMIT_CPU, int64(l.CPU / time.Second)},
		{"address space", unix.RLIMIT_AS, l.AddressSpace},
		{"file size", unix.RLIMIT_FSIZE, l.FileSize},
		{"processes", unix.RLIMIT_NPROC, int64(l.Processes + spare)},
		{"open files", unix.RLIMIT_NOFILE, int64(l.Files)},
	}
	for _, s := range set {
		if s.value < 0 {
			continue
		}
		var have unix.Rlimit
		if err := unix.Prlimit(pid, s.resource, nil, &have); err != nil {
			return fmt.Errorf("reading the limit of %s: %w", s.name, err)
		}
		v := min(uint64(s.value), have.Max) // a lower one of the caller's stays
		want := unix.Rlimit{Cur: v, Max: v}
		if s.resource == unix.RLIMIT_CPU && v < have.Max {
			want.Max = v + 1 // at Cur comes SIGXCPU, which says why; at Max SIGKILL
		}
		if err := unix.Prlimit(pid, s.resource, &want, nil); err != nil {
			return fmt.Errorf("setting the limit of %s: %w", s.name, err)
		}
	}
	return nil
}

// signalled explains the end of a command by a signal that the sandbox did not
// send, as far as it can be told.
func (o *Outcome) signalled(sig syscall.Signal) {
	o.End, o.Code, o.Signal, o.Why = Signalled, -1, sig, sig.String()
	switch sig {
	case syscall.SIGXCPU:
		o.End, o.Why = CPULimit, fmt.Sprintf("a process used more than %v of CPU time", o.Limits.CPU)
	case syscall.SIGXFSZ:
		o.End, o.Why = FileLimit, fmt.Sprintf("it wrote a file of more than %d bytes", o.Limits.FileSize)
	case syscall.SIGKILL:
		o.End, o.Guess = MemoryLimit, true
		o.Why = "it was killed, and not by the sandbox: most likely by the kernel, which had no memory left"
	}
}
