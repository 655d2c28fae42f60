package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// A keeper is this program, started again between its first self and bwrap. What
// bwrap has begun is bound to bwrap only once that has asked for it: where bwrap is
// ended before, because the program that started it was, a process of it would wait
// for ever. The keeper is who inherits such a process (it is a subreaper), hears the
// end of the program that started it (a pipe that nobody writes to), and ends with
// nothing left of what it began.
const (
	keeperCommand = "sandbox-keeper"
	keeperLife    = stageSocket + 1 // the pipe, on this descriptor
)

// serveKeeper runs a command to its end, or to that of the program that started this one.
// It is the main of a keeper and does not return.
func serveKeeper(argv []string) {
	status, err := kept(argv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "keeping bubblewrap:", err)
		status = 1
	}
	os.Exit(status)
}

func kept(argv []string) (status int, err error) {
	runtime.LockOSThread() // Pdeathsig is of the thread
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, err
	}
	if err := unix.CloseRange(keeperLife, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return 0, err
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{Env: []string{}, Files: []uintptr{0, 1, 2, stageSocket},
		Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}})
	if err != nil {
		return 0, err
	}
	unix.Close(stageSocket) // its end is that of the stage
	go func() {
		b := make([]byte, 1)
		for {
			n, err := unix.Read(keeperLife, b)
			if n == 0 || err != nil && !errors.Is(err, unix.EINTR) {
				break
			}
		}
		_ = syscall.Kill(pid, syscall.SIGKILL) // the rest is done when that has ended
	}()
	for ended := false; ; {
		var ws syscall.WaitStatus
		got, err := wait4(-1, &ws, nil)
		if errors.Is(err, unix.ECHILD) {
			return status, nil // there is nothing left
		}
		if err != nil {
			return 0, fmt.Errorf("waiting for what the sandbox runs: %w", err)
		}
		if got == pid {
			status, ended = ws.ExitStatus(), true
		}
		if ended { // what a child leaves comes to this process when that ends
			endChildren()
		}
	}
}

// endChildren kills the children of this process: those that it has inherited, too.
func endChildren() {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return
	}
	for _, t := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil && pid > 1 {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended meanwhile
			}
		}
	}
}

// keeper is the command of a keeper of another, and the end of the pipe whose
// closing ends it all.
func (b *Box) keeper(argv []string) (cmd *exec.Cmd, theirs, ours *os.File, err error) {
	theirs, ours, err = os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	cmd = exec.Command(b.self, append([]string{keeperCommand}, argv...)...)
	cmd.Env = []string{stageMark + "=1"}
	// What is typed at a terminal is for the program that started it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd, theirs, ours, nil
}
