package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A stage is this program, started again as the first process of a sandbox. It
// gets a job on descriptor 3, makes the file system, hands out the work folder,
// runs the command when told to, and reports. When it ends, the kernel ends
// whatever is left inside.
const (
	stageCommand = "sandbox-stage"
	stageMark    = "ROOFLAB_SANDBOX_STAGE"
	stageSocket  = 3
	mostMessage  = 1 << 20
)

// job is what a stage is to do.
type job struct {
	Mounts []mount // nil where bubblewrap has made them
	Argv   []string
	Dir    string // absolute, in the sandbox
	Env    []string
	UID    int // of the command; 0 is the stage's own
	Limits Limits
	Watch  *Watch
	Shown  []string // paths of Command.ReadOnly
}

// report is what a stage says: once when it is ready, once when the command has
// ended.
type report struct {
	Fault   string // why there is no outcome
	Start   string // why the command could not be started
	Outcome Outcome
}

// ServeIfAsked is the first process of a sandbox where this program was
// started for that, and does not return then; else it does nothing. A program
// that runs commands with this package calls it before anything else in main.
func ServeIfAsked() {
	if len(os.Args) > 2 && os.Args[1] == keeperCommand && os.Getenv(stageMark) != "" {
		serveKeeper(os.Args[2:])
	}
	if len(os.Args) != 2 || os.Args[1] != stageCommand || os.Getenv(stageMark) == "" {
		return
	}
	runtime.LockOSThread() // for good: privileges, filters and tracing are of the thread
	s := stage{parent: stageSocket}
	// Not even what a library of the parent's left open reaches the command.
	if err := unix.CloseRange(stageSocket, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		s.say(report{Fault: "closing descriptors needs Linux 5.11: " + err.Error()})
		os.Exit(1)
	}
	if err := s.serve(); err != nil {
		s.say(report{Fault: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

type stage struct {
	parent int
	job    job
}

func (s *stage) say(r report, fds ...int) {
	data, err := json.Marshal(r)
	if err != nil {
		data = fmt.Appendf(nil, `{"Fault": %q}`, err.Error())
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	// There is nobody else to tell when this fails, and the parent sees the end.
	_ = unix.Sendmsg(s.parent, data, rights, nil, 0)
}

func (s *stage) hear() ([]byte, error) {
	b := make([]byte, mostMessage)
	for {
		n, _, err := unix.Recvfrom(s.parent, b, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, errors.New("the program that asked is gone")
		}
		return b[:n], nil
	}
}

func (s *stage) serve() error {
	data, err := s.hear()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &s.job); err != nil {
		return err
	}
	if os.Getpid() != 1 {
		return errors.New("not the first process of a process namespace")
	}
	// What runs inside has the same user, where only one can be mapped: it must
	// not get at this process.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	if s.job.Mounts != nil {
		if err := enter(s.job.Mounts, s.job.UID, s.job.UID); err != nil {
			return err
		}
	}
	work, err := unix.Open(Work, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.say(report{}, work)
	unix.Close(work)
	if _, err := s.hear(); err != nil { // the files are there now
		return err
	}
	enough := make(chan struct{})
	go func() {
		if _, err := s.hear(); err != nil {
			os.Exit(1) // and with this process everything inside
		}
		close(enough)
	}()
	o, err := s.run(enough)
	var start *StartError
	if errors.As(err, &start) {
		s.say(report{Start: start.Err.Error()})
		return nil
	}
	if err != nil {
		return err
	}
	s.say(report{Outcome: o})
	return nil
}

// run runs the command and waits until nothing but the stage is left. What is
// closed when the command has printed enough is enough.
func (s *stage) run(enough <-chan struct{}) (Outcome, error) {
	o := Outcome{Limits: s.job.Limits}
	argv := s.job.Argv
	program, err := find(argv[0], s.job.Env)
	if err != nil {
		return o, &StartError{argv[0], err}
	}
	notices, err := s.confine()
	if err != nil {
		return o, err
	}
	o.Watched = notices != nil
	numbers := tasks()
	attr := &syscall.ProcAttr{
		Dir: s.job.Dir, Env: s.job.Env, Files: []uintptr{0, 1, 2},
		// It stops before its first instruction: until then it has no limits.
		Sys: &syscall.SysProcAttr{Setsid: true, Ptrace: true},
	}
	if s.job.UID != 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: uint32(s.job.UID), Gid: uint32(s.job.UID)}
	}
	pid, err := begin(program, argv, attr)
	if err != nil {
		return o, &StartError{argv[0], err}
	}
	var ws syscall.WaitStatus
	if _, err := wait4(pid, &ws, nil); err != nil {
		return o, fmt.Errorf("waiting for the command to stop before it begins: %w", err)
	}
	if !ws.Stopped() {
		return o, fmt.Errorf("the command did not stop before it began (status %#x): may processes be traced here?", uint32(ws))
	}
	if err := s.job.Limits.rlimits(pid); err != nil {
		return o, err
	}
	// Where memory runs out after all, the command goes first. Best effort: it is
	// about other programs on this machine.
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)

	guard := newGuard(s.job.Limits, enough)
	start, before := time.Now(), delay(pid)
	if err := syscall.PtraceDetach(pid); err != nil {
		return o, fmt.Errorf("letting the command begin: %w", err)
	}
	go guard.watch(start)
	ws, main, traced, err := o.await(pid)
	if err != nil {
		return o, err
	}
	guard.stop()
	o.Delayed = max(0, o.Delayed-before) // without what it waited before it began
	if guard.end == "" {
		o.LeftBehind = look().processes
	}
	_ = syscall.Kill(-1, syscall.SIGKILL) // all but this process
	for {
		var ru syscall.Rusage
		_, err := wait4(-1, nil, &ru)
		if err != nil {
			break
		}
		o.add(ru)
	}
	o.Wall = time.Since(start)
	if after := tasks(); after.last > 0 && numbers.last > 0 {
		o.Spawned = (after.last - numbers.last) - (after.own - numbers.own)
	}
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		return o, err
	}
	// A process begins with the peak of the one that started it.
	if main.Maxrss > own.Maxrss {
		o.MaxRSS = main.Maxrss << 10
	} else {
		o.MaxRSS, o.Seen = guard.most.largest, true
	}
	o.TreeRSS, o.Processes = max(guard.most.memory, o.MaxRSS), guard.most.tasks
	o.DiskFull = full(Work) || full("/tmp")
	o.Attempts = notices.attempts()
	switch {
	case guard.end != "":
		o.End, o.Why, o.Guess, o.Code = guard.end, guard.why, guard.guess, -1
		if ws.Signaled() {
			o.Signal = ws.Signal()
		}
	case traced:
		o.End, o.Code, o.Why = Signalled, -1, "it asked to be traced by its parent, and was killed when it stopped"
	case ws.Signaled():
		o.signalled(ws.Signal())
	default:
		o.End, o.Code = Exited, ws.ExitStatus()
	}
	return o, nil
}

// await waits for the command, and for those of its descendants that come to
// this process meanwhile. A process that stops asked to be traced: nobody does.
func (o *Outcome) await(pid int) (ws syscall.WaitStatus, main syscall.Rusage, traced bool, err error) {
	for {
		var one syscall.WaitStatus
		var ru syscall.Rusage
		// What the scheduler knows of a process goes when it is waited for.
		if err := waitable(); err == nil {
			o.Delayed = max(o.Delayed, delay(pid))
		}
		got, err := wait4(-1, &one, &ru)
		switch {
		case err != nil:
			return ws, main, traced, fmt.Errorf("waiting for the command: %w", err)
		case one.Stopped():
			traced = true
			_ = syscall.Kill(got, syscall.SIGKILL)
			continue
		}
		o.add(ru)
		if got == pid {
			return one, ru, traced, nil
		}
	}
}

func (o *Outcome) add(ru syscall.Rusage) {
	o.User += time.Duration(ru.Utime.Nano())
	o.System += time.Duration(ru.Stime.Nano())
}

// waitable waits until a child can be waited for.
func waitable() error {
	for {
		err := unix.Waitid(unix.P_ALL, 0, nil, unix.WEXITED|unix.WSTOPPED|unix.WNOWAIT|unix.WALL, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// delay is the second number of /proc/PID/schedstat: nanoseconds in which the
// thread could have run and did not (Documentation/scheduler/sched-stats.rst of
// Linux). 0 where that is not known.
func delay(pid int) time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return 0
	}
	var ran, delayed int64
	if _, err := fmt.Sscan(string(text), &ran, &delayed); err != nil {
		return 0
	}
	return time.Duration(max(0, delayed))
}

func wait4(pid int, ws *syscall.WaitStatus, ru *syscall.Rusage) (int, error) {
	for {
		got, err := syscall.Wait4(pid, ws, syscall.WALL, ru)
		if !errors.Is(err, syscall.EINTR) {
			return got, err
		}
	}
}

// confine takes from this thread, and so from what it starts, all means to get
// privileges.
func (s *stage) confine() (*notices, error) {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("giving up new privileges: %w", err)
	}
	for c := uintptr(0); c < 64; c++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) {
			break // there are no more
		}
		// bubblewrap has left this process none to give up.
		if err != nil && s.job.Mounts != nil {
			return nil, fmt.Errorf("giving up capability %d: %w", c, err)
		}
	}
	if s.job.Watch != nil {
		s.job.Watch.shown = s.job.Shown
	}
	return filter(s.job.Watch)
}

// begin starts a program. One that was written a moment ago may still be open for
// writing, in a process that another goroutine of the writer has forked and that
// has not begun its own program yet (golang.org/issue/22315): it is soon over.
func begin(program string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	for wait := time.Millisecond; ; wait *= 2 {
		pid, err = syscall.ForkExec(program, argv, attr)
		if !errors.Is(err, syscall.ETXTBSY) || wait > time.Second/2 {
			return pid, err
		}
		time.Sleep(wait)
	}
}

// find looks for a program as a shell does.
func find(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	path := ""
	for _, e := range env { // the last one counts
		if v, ok := strings.CutPrefix(e, "PATH="); ok {
			path = v
		}
	}
	for dir := range strings.SplitSeq(path, ":") {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file, nil
		}
	}
	return "", fmt.Errorf("there is no such program in the sandbox's PATH (%s): %w", path, fs.ErrNotExist)
}

// numbers of tasks in this process namespace.
type numbers struct {
	last int // the last one given; they count up. 0 is unknown
	own  int // threads of the stage
}

// tasks reads both at a time at which the stage made no thread.
func tasks() numbers {
	for range 100 {
		before, err1 := os.ReadDir("/proc/self/task")
		data, err2 := os.ReadFile("/proc/loadavg")
		after, err3 := os.ReadDir("/proc/self/task")
		words := strings.Fields(string(data))
		if errors.Join(err1, err2, err3) != nil || len(words) == 0 {
			return numbers{}
		}
		last, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return numbers{}
		}
		if len(before) == len(after) {
			return numbers{last, len(after)}
		}
	}
	return numbers{}
}

// full reports whether less than a page is left in a file system.
func full(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Bavail == 0
}
