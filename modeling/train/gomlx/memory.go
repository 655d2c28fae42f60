package gomlx

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// available is the memory in bytes that a process can still take here: what
// Linux calls available, within the limit of the control group.
func available() (int64, error) {
	raw, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, err
	}
	free := int64(-1)
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			kb, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("reading /proc/meminfo: %w", err)
			}
			free = kb << 10
		}
	}
	if free < 0 {
		return 0, errors.New("/proc/meminfo has no MemAvailable")
	}
	limit, err1 := number("/sys/fs/cgroup/memory.max")
	used, err2 := number("/sys/fs/cgroup/memory.current")
	if err1 == nil && err2 == nil {
		free = min(free, max(limit-used, 0))
	}
	return free, nil
}

func number(path string) (int64, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64) // "max" is no number: no limit
}
