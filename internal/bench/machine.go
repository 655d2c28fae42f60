package bench

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Machine describes the machine and how busy it is, in one line.
func Machine() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				fmt.Fprintf(&b, " (%s)", strings.TrimSpace(value))
				break
			}
		}
	}
	fmt.Fprintf(&b, ", %s", runtime.Version())
	if data, err := os.ReadFile("/proc/loadavg"); err == nil {
		if f := strings.Fields(string(data)); len(f) > 0 {
			fmt.Fprintf(&b, ", load average %s", f[0])
		}
	}
	return b.String()
}
