package perf

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/process"
	"github.com/rooflab/rooflab/datasets"
)

const (
	permissionFix = "let users count: sudo sysctl kernel.perf_event_paranoid=1, or give perf the capability: sudo setcap cap_perfmon+ep $(command -v perf)"
	noCounters    = "use bare metal or a virtual machine whose processor exposes its counters (KVM: pmu=on), or collect valgrind, which counts in software"
)

// permitted says whether the kernel lets this user count events of its own
// programs: kernel.perf_event_paranoid is 2 at most, or 3 and above (Debian,
// Android) with the capability CAP_PERFMON or CAP_SYS_ADMIN.
func permitted(s host.System, root bool) *collectors.MissingError {
	b, err := os.ReadFile(s.Path("/proc/sys/kernel/perf_event_paranoid"))
	if err != nil {
		return &collectors.MissingError{Status: datasets.RunUnavailable, What: "this kernel has no performance events: /proc/sys/kernel/perf_event_paranoid is not there", Fix: "use a kernel with CONFIG_PERF_EVENTS"}
	}
	// A text that is no number refuses nothing: perf itself will say.
	if level, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil && level > 2 && !root && !capable(s) {
		return &collectors.MissingError{Status: datasets.RunDenied, What: fmt.Sprintf("kernel.perf_event_paranoid is %d: users may not count events", level), Fix: permissionFix}
	}
	return nil
}

// capable looks for CAP_PERFMON (38) or CAP_SYS_ADMIN (21) among the effective
// capabilities.
func capable(s host.System) bool {
	b, err := os.ReadFile(s.Path("/proc/self/status"))
	if err != nil {
		return false
	}
	for _, line := range strings.Split(string(b), "\n") {
		if v, ok := strings.CutPrefix(line, "CapEff:"); ok {
			caps, err := strconv.ParseUint(strings.TrimSpace(v), 16, 64)
			return err == nil && caps&(1<<38|1<<21) != 0
		}
	}
	return false
}

// denied recognises what perf says when the kernel refuses.
func denied(said string) bool {
	for _, s := range []string{"perf_event_paranoid", "No permission", "Access to performance monitoring", "Permission denied", "Operation not permitted"} {
		if strings.Contains(said, s) {
			return true
		}
	}
	return false
}

// check tries a hardware counter for a moment.
func check(ctx context.Context) error {
	perf, missing := process.Tool("perf", fix)
	if missing == nil {
		missing = permitted(host.Here, os.Geteuid() == 0)
	}
	if missing != nil {
		return missing
	}
	var said bytes.Buffer
	r, err := process.Run(ctx, process.Command{Argv: []string{perf, "stat", "-x", ";", "-e", "cycles", "--", "true"}, Stderr: &said, Env: append(os.Environ(), "LC_ALL=C")})
	switch {
	case err != nil:
		return err
	case denied(said.String()):
		return &collectors.MissingError{Status: datasets.RunDenied, What: "the kernel refuses performance events", Fix: permissionFix}
	case !r.OK():
		return &collectors.MissingError{Status: datasets.RunUnavailable, What: "perf ended with " + r.String(), Fix: fix}
	case strings.Contains(said.String(), "<not supported>"):
		return &collectors.MissingError{Status: datasets.RunUnavailable, What: "this machine has no hardware counters (events of the kernel work)", Fix: noCounters}
	}
	return nil
}

// lastLines keeps the end of what is written to it.
type lastLines struct{ buf []byte }

const lastBytes = 4 << 10

func (l *lastLines) Write(p []byte) (int, error) {
	l.buf = append(l.buf, p...)
	if n := len(l.buf); n > 2*lastBytes {
		l.buf = append(l.buf[:0], l.buf[n-lastBytes:]...)
	}
	return len(p), nil
}

// beside is a writer to both.
func (l *lastLines) beside(w io.Writer) io.Writer {
	if w == nil {
		return l
	}
	return io.MultiWriter(w, l)
}

// String is the last lines, on one.
func (l *lastLines) String() string {
	lines := strings.FieldsFunc(string(l.buf), func(r rune) bool { return r == '\n' })
	if len(lines) > 12 {
		lines = lines[len(lines)-12:]
	}
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(lines, " ")
}
