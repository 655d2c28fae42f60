// Package process runs the commands that live collectors measure. A command
// gets a process group of its own, and nothing of it is left when the context
// ends. In flows a command, out flow how it ended and what the kernel says it
// used; Describe adds what a run must say of it.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Command is what to run.
type Command struct {
	Argv   []string
	Dir    string   // "" is here
	Env    []string // nil is this process's
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer
	// Tree asks for the memory of the whole process tree, looked at this often;
	// 0 does not look.
	Tree time.Duration
	// Before, where there is one, is called just before the command begins, and
	// After once it has ended, before anything else is done: sensors are read
	// then. Both return soon; After is called whenever Before was without error.
	Before func(start time.Time) error
	After  func() error
}

// Usage is what the kernel counted of a command and of those descendants of it
// that were waited for.
type Usage struct {
	Wall, User, System time.Duration
	// MaxRSS is the resident memory of the largest process at its peak, in
	// bytes, 0 where it could not be told. Seen says that it is the highest mark
	// that was seen while the command ran, rather than the kernel's last word.
	MaxRSS int64
	Seen   bool
	// TreeRSS is the most that all processes of the tree had at one time among
	// the times that were looked at; pages that they share count in each.
	TreeRSS       int64
	Processes     int // most that there were at one of those times
	MinorFaults   int64
	MajorFaults   int64
	Voluntary     int64 // context switches
	Involuntary   int64
	BlocksRead    int64 // of 512 bytes, from devices
	BlocksWritten int64
}

// Result is how a command ended.
type Result struct {
	PID      int
	Start    time.Time
	Exit     int            // the exit status; -1 where a signal ended it
	Signal   syscall.Signal // the signal that ended it, 0 where none did
	Usage    Usage
	LeftOver bool // processes of its group still run
	TimedOut bool // the caller's limit ended it
}

// OK reports whether the command succeeded.
func (r Result) OK() bool { return r.Exit == 0 && r.Signal == 0 && !r.TimedOut }

// String says how the command ended: "exit status 3", "signal: killed".
func (r Result) String() string {
	if r.TimedOut {
		return fmt.Sprintf("the time limit, after %.3g s", r.Usage.Wall.Seconds())
	}
	if r.Signal != 0 {
		return "signal: " + r.Signal.String()
	}
	return fmt.Sprintf("exit status %d", r.Exit)
}

// grace is how long a command has to end after SIGTERM.
const grace = 3 * time.Second

// Run runs a command until it ends. A command that fails is no error, only one
// that cannot be started, or that the end of ctx stopped: all of its processes
// are gone then.
func Run(ctx context.Context, c Command) (Result, error) {
	if len(c.Argv) == 0 {
		return Result{}, errors.New("no command to run: name it after --")
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	// What the command left running may hold its output open.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	// Pdeathsig fires when the thread goes that started the child: keep it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	r := Result{Start: time.Now()}
	if c.Before != nil {
		if err := c.Before(r.Start); err != nil {
			return r, err
		}
	}
	after := func() error { return nil }
	if c.After != nil {
		after = c.After
	}
	r.Start = time.Now()
	if err := cmd.Start(); err != nil {
		return r, errors.Join(startError(c.Argv[0], err), after())
	}
	r.PID = cmd.Process.Pid
	watch := watchTree(r.PID, c.Tree)
	stopped := killOnDone(ctx, r.PID)
	awaitExit(r.PID)
	r.Usage.Wall = time.Since(r.Start)
	aerr := after()
	err := cmd.Wait()
	seen := watch.stop()
	stopped()
	if cmd.ProcessState == nil {
		return r, fmt.Errorf("waiting for %s: %w", c.Argv[0], err)
	}
	r.LeftOver = syscall.Kill(-r.PID, 0) == nil
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return r, fmt.Errorf("running %s: %w", c.Argv[0], err)
	}
	r.finish(cmd.ProcessState, seen, own.Maxrss*1024)
	if ctx.Err() != nil {
		_ = syscall.Kill(-r.PID, syscall.SIGKILL) // whoever ignored SIGTERM
		return r, ctx.Err()
	}
	if aerr != nil {
		return r, aerr
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return r, fmt.Errorf("passing on what %s reads and writes: %w", c.Argv[0], err)
	}
	return r, nil
}

func (r *Result) finish(state *os.ProcessState, seen tree, floor int64) {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		r.Signal = ws.Signal()
	}
	r.Exit = state.ExitCode()
	u := &r.Usage
	ru, ok := state.SysUsage().(*syscall.Rusage)
	if !ok {
		return
	}
	u.User, u.System = state.UserTime(), state.SystemTime()
	// A process begins with the peak of the one that started it, so that small
	// commands seem to be as large as this process: below that the highest
	// mark that was seen is the better one.
	u.MaxRSS = ru.Maxrss * 1024
	if u.MaxRSS <= floor {
		u.MaxRSS, u.Seen = 0, true
		if seen.looks >= fewLooks {
			u.MaxRSS = seen.peak
		}
	}
	u.TreeRSS, u.Processes = max(seen.sum, u.MaxRSS), seen.count
	u.MinorFaults, u.MajorFaults = ru.Minflt, ru.Majflt
	u.Voluntary, u.Involuntary = ru.Nvcsw, ru.Nivcsw
	u.BlocksRead, u.BlocksWritten = ru.Inblock, ru.Oublock
}

// NotFoundError says that there is no such program.
type NotFoundError struct{ Program string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("there is no program %q: it is neither a file that may be executed nor found in PATH", e.Program)
}

func startError(program string, err error) error {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return &NotFoundError{program}
	}
	return fmt.Errorf("starting %s: %w", program, err)
}

// awaitExit returns when a child has ended, and leaves it to be waited for.
func awaitExit(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// killOnDone ends a command and its descendants when ctx ends: politely, and
// after some time by force. The function that it returns stops it, once the
// command was waited for.
func killOnDone(ctx context.Context, pid int) (stop func()) {
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		select {
		case <-done:
			return
		case <-ctx.Done():
		}
		all := descendants(pid) // also those that have a group of their own
		signalAll(pid, all, syscall.SIGTERM)
		select {
		case <-done:
		case <-time.After(grace):
		}
		all = append(all, descendants(pid)...)
		signalAll(pid, all, syscall.SIGKILL)
		// A process that was forked while the others were being ended is in
		// nobody's list, but it is in its parent's group or session.
		known := map[int]bool{pid: true}
		for _, m := range all {
			known[m.pid] = true
		}
		limit := time.Now().Add(grace) // what waits for a device cannot be ended
		for left := orphans(known); len(left) > 0 && time.Now().Before(limit); left = orphans(known) {
			for _, m := range left {
				known[m.pid] = true
			}
			signalAll(pid, left, syscall.SIGKILL)
		}
	}()
	return func() { close(done); <-gone }
}

func signalAll(group int, processes []member, sig syscall.Signal) {
	_ = syscall.Kill(-group, sig) // gone already is what we want
	for _, m := range processes {
		if now, ok := readStat(m.pid); ok && now.start == m.start {
			_ = syscall.Kill(m.pid, sig)
		}
	}
}
