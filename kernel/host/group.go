package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// uptime is the time since the machine's start in hundredths of a second, the
// unit in which /proc says when processes started (proc_pid_stat(5)), or 0
// where it cannot be read.
func uptime() int64 {
	data, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return 0
	}
	text, _, _ := strings.Cut(string(data), " ")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return int64(seconds * 100)
}

// interruptGroup does what ^C does at a terminal: it sends SIGINT to the
// programs that run in the host's process group, here only to those that
// started at the given uptime or later: the running cell waits for them, while
// a server that an earlier cell started goes on. Programs that lead a group of
// their own end by the cell's context.
func interruptGroup(since int64) {
	self, group := os.Getpid(), syscall.Getpgrp()
	if group != self {
		return // we share it with others
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return
	}
	for _, path := range stats {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == self {
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		// The name of the program, in parentheses, may hold anything.
		text := string(data)
		fields := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
		const pgrp, starttime = 2, 19 // fields 5 and 22, less the two before
		if len(fields) <= starttime || fields[pgrp] != strconv.Itoa(group) {
			continue
		}
		if started, err := strconv.ParseInt(fields[starttime], 10, 64); err == nil && started >= since {
			_ = syscall.Kill(pid, syscall.SIGINT) // it may have ended
		}
	}
}
