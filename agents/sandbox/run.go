package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// inner is the user that commands run as, seen from inside, where the caller is
// root; outer is the same user on this machine: nobody. Root itself is bound by
// no limit of processes.
const (
	inner = 1000
	outer = 65534
)

const (
	mostStart = 2 * time.Minute  // until a stage is ready, on a machine with much other work
	mostEnd   = 30 * time.Second // from the time limit to the end of a stage
)

// stagePath is where bubblewrap shows this program.
const stagePath = "/run/rooflab-stage"

// Run runs a command and waits for its end. However the command ends, it is an
// Outcome and no error; an error says that it could not be run (a *StartError:
// that there is no such program inside), or that ctx ended. Nothing of it is
// left on the machine but what Keep asked for.
func (b *Box) Run(ctx context.Context, c Command) (Outcome, error) {
	if len(c.Argv) == 0 {
		return Outcome{}, errors.New("running in the sandbox: no command was given")
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	if !filepath.IsLocal(c.Dir) && c.Dir != "" {
		return Outcome{}, fmt.Errorf("running %s in the sandbox: its folder %q is not inside of the work folder", c.Argv[0], c.Dir)
	}
	limits, err := c.Limits.filled(c.GPU)
	if err != nil {
		return Outcome{}, err
	}
	c.Limits = limits
	var o Outcome
	if b.mechanism == Unconfined {
		o, err = unconfined(ctx, c)
	} else {
		o, err = b.confined(ctx, c)
	}
	o.Mechanism = b.mechanism
	if cause := ctx.Err(); cause != nil && err != nil {
		return o, cause
	}
	return o, err
}

// environment is all that a command is told.
func environment(c Command, tmp string) []string {
	return append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + tmp, "TMPDIR=" + tmp, "LC_ALL=C.UTF-8"}, c.Env...)
}

func (b *Box) confined(ctx context.Context, c Command) (Outcome, error) {
	mounts, err := plan(c, c.Limits)
	if err != nil {
		return Outcome{}, err
	}
	j := job{Argv: c.Argv, Dir: path.Join(Work, c.Dir), Env: environment(c, "/tmp"), Limits: c.Limits, Watch: c.Watch}
	for _, m := range c.ReadOnly {
		j.Shown = append(j.Shown, m.At)
	}
	s := &conversation{}
	if b.mechanism == Bubblewrap {
		s.cmd, s.theirLife, s.life, err = b.keeper(b.wrapped(mounts))
		if err != nil {
			return Outcome{}, b.cannot(err)
		}
	} else {
		j.Mounts = mounts
		s.cmd, j.UID = b.namespaces()
	}
	cmd := s.cmd
	stdout, stderr := &capture{most: c.Limits.Output, full: s.enough}, &capture{most: c.Limits.Output, full: s.enough}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Stdin), stdout, stderr
	cmd.WaitDelay = time.Second

	// Pdeathsig fires when the thread goes that started the stage: keep it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := s.start(); err != nil {
		return Outcome{}, b.cannot(err)
	}
	defer s.close()
	unbind := context.AfterFunc(ctx, s.kill)
	defer unbind()

	o, err := s.converse(c, j)
	if err != nil {
		s.kill()
	}
	werr := s.wait()
	if err != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" && s.work == nil {
			err = fmt.Errorf("%w: %s", err, text[:min(len(text), 1000)])
		}
		return o, b.cannot(err)
	}
	if werr != nil && !errors.Is(werr, exec.ErrWaitDelay) {
		return o, fmt.Errorf("ending the sandbox: %w", werr)
	}
	o.Stdout, o.Stderr = stdout.bytes(), stderr.bytes()
	if (stdout.over || stderr.over) && o.End != OutputLimit {
		o.End, o.Code = OutputLimit, -1
		o.Why = fmt.Sprintf("it printed more than %d bytes", c.Limits.Output)
	}
	o.guess()
	if o.Files, err = files(s.work); err != nil {
		return o, err
	}
	if c.Keep != "" {
		wanted := c.kept(o.Files)
		if o.large(wanted) {
			return o, nil
		}
		if err := keep(s.work, wanted, c.Keep); err != nil {
			return o, fmt.Errorf("copying what %s left to %s: %w", c.Argv[0], c.Keep, err)
		}
	}
	return o, nil
}

// large says that files have more bytes than the work folder may: with holes in
// them they take none in there, and would take them on this machine's disk.
func (o *Outcome) large(files []File) bool {
	var bytes int64
	for _, f := range files {
		if bytes += f.Size; bytes > o.Limits.Disk {
			o.End, o.Code = FileLimit, -1
			o.Why = fmt.Sprintf("it left files of more than %d bytes together, holes included, which are not copied", o.Limits.Disk)
			return true
		}
	}
	return false
}

// kept are the files that the caller wants of those that are there.
func (c Command) kept(all []File) []File {
	if c.KeepOnly == nil {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(f File) bool { return !slices.Contains(c.KeepOnly, f.Path) })
}

// guess looks in the messages of a command that failed for memory that it did
// not get.
func (o *Outcome) guess() {
	if o.End != Exited && o.End != Signalled || o.OK() || o.Limits.AddressSpace < 0 {
		return
	}
	for _, sign := range []string{"bad_alloc", "annot allocate memory", "ut of memory", "emory exhausted"} {
		if bytes.Contains(o.Stderr, []byte(sign)) {
			o.Why = fmt.Sprintf("it said %q, and may have %d bytes of address space: most likely that was too little (it ended with %s)", sign, o.Limits.AddressSpace, o.String())
			o.End, o.Guess = MemoryLimit, true
			return
		}
	}
}

// namespaces is the stage's command, and the user that it is to run the command
// as.
func (b *Box) namespaces() (*exec.Cmd, int) {
	cmd := exec.Command(b.self, stageCommand)
	cmd.Env = []string{stageMark + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET |
			syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
		Setsid:      true,
		Pdeathsig:   syscall.SIGKILL,
	}
	if os.Geteuid() != 0 {
		return cmd, 0
	}
	nobody := syscall.SysProcIDMap{ContainerID: inner, HostID: outer, Size: 1}
	cmd.SysProcAttr.UidMappings = append(cmd.SysProcAttr.UidMappings, nobody)
	cmd.SysProcAttr.GidMappings = append(cmd.SysProcAttr.GidMappings, nobody)
	cmd.SysProcAttr.GidMappingsEnableSetgroups = true
	return cmd, inner
}

// wrapped is bwrap's command for the stage.
func (b *Box) wrapped(mounts []mount) []string {
	args := []string{"--unshare-all", "--unshare-user", "--uid", fmt.Sprint(inner), "--gid", fmt.Sprint(inner),
		"--die-with-parent", "--new-session", "--as-pid-1", "--cap-drop", "ALL", "--clearenv", "--setenv", stageMark, "1"}
	mounts = append(mounts, mount{Kind: mountBind, From: b.self, At: stagePath})
	args = append(args, bubblewrap(mounts)...)
	return slices.Concat([]string{b.bwrap}, args, []string{"--chdir", "/", "--", stagePath, stageCommand})
}

// conversation is a stage that runs, from the side of its parent.
type conversation struct {
	cmd    *exec.Cmd
	socket int
	// life is the end of a pipe whose closing ends a keeper and all that it began,
	// theirLife the other one; nil where there is no keeper.
	life, theirLife *os.File
	work            *os.Root
	waited          bool
	late            atomic.Bool // it was killed because it was not ready in time

	mu   sync.Mutex // of what other goroutines call: kill and enough
	open bool       // the socket is
	told bool
}

func (s *conversation) start() error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	s.socket = pair[0]
	theirs := os.NewFile(uintptr(pair[1]), "stage")
	defer theirs.Close()
	s.cmd.ExtraFiles = []*os.File{theirs} // becomes stageSocket
	if s.theirLife != nil {
		defer s.theirLife.Close()
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, s.theirLife) // becomes keeperLife
	}
	if err := s.cmd.Start(); err != nil {
		unix.Close(pair[0])
		if s.life != nil {
			s.life.Close()
		}
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = true
	return nil
}

// kill ends the stage; with the first process of a namespace all others end. A
// keeper is not killed: it ends what it keeps, and then itself.
func (s *conversation) kill() {
	if s.life != nil {
		_ = s.life.Close() // a second time it says so, and does nothing
	} else {
		_ = s.cmd.Process.Kill()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open {
		_ = unix.Shutdown(s.socket, unix.SHUT_RDWR)
	}
}

// enough tells the stage that the command has printed enough.
func (s *conversation) enough() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open && !s.told {
		_ = unix.Sendto(s.socket, []byte("enough"), unix.MSG_NOSIGNAL, nil)
		s.told = true
	}
}

func (s *conversation) wait() error {
	if s.waited {
		return nil
	}
	s.waited = true
	err := s.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) { // its report, or the lack of one, says more
		return nil
	}
	return err
}

func (s *conversation) close() {
	s.kill()
	_ = s.wait() // it was killed
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = false
	unix.Close(s.socket)
	if s.work != nil {
		s.work.Close()
	}
}

// converse hands the stage its job and returns what it reports.
func (s *conversation) converse(c Command, j job) (Outcome, error) {
	data, err := json.Marshal(j)
	if err != nil {
		return Outcome{}, err
	}
	late := time.AfterFunc(mostStart, func() { s.late.Store(true); s.kill() })
	defer late.Stop()
	if err := unix.Sendto(s.socket, data, unix.MSG_NOSIGNAL, nil); err != nil {
		return Outcome{}, fmt.Errorf("handing the sandbox a command of %d bytes with its environment: %w", len(data), err)
	}
	_, fd, err := s.hear()
	if err != nil {
		return Outcome{}, err
	}
	if fd < 0 {
		return Outcome{}, errors.New("the first process of the sandbox did not hand out its work folder")
	}
	defer unix.Close(fd)
	if s.work, err = os.OpenRoot(fmt.Sprintf("/proc/self/fd/%d", fd)); err != nil {
		return Outcome{}, fmt.Errorf("opening the sandbox's work folder: %w", err)
	}
	own := owner{keep: true}
	if j.UID != 0 {
		own = owner{uid: outer, gid: outer}
	}
	late.Stop() // large inputs take their time
	if err := put(s.work, c.Put, own); err != nil {
		if errors.Is(err, unix.ENOSPC) {
			err = fmt.Errorf("%w; Limits.Disk is %d bytes", err, c.Limits.Disk)
		}
		return Outcome{}, err
	}
	late.Reset(c.Limits.Wall + mostEnd)
	if err := unix.Sendto(s.socket, []byte("go"), unix.MSG_NOSIGNAL, nil); err != nil {
		return Outcome{}, fmt.Errorf("starting the command: %w", err)
	}
	r, _, err := s.hear()
	if err != nil {
		return Outcome{}, err
	}
	if r.Start != "" {
		return Outcome{}, &StartError{c.Argv[0], errors.New(r.Start)}
	}
	return r.Outcome, nil
}

// hear waits for a report, with which a descriptor may come, else -1.
func (s *conversation) hear() (report, int, error) {
	b, rights := make([]byte, mostMessage), make([]byte, unix.CmsgSpace(4))
	var n, rn int
	for {
		var err error
		n, rn, _, _, err = unix.Recvmsg(s.socket, b, rights, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil && !errors.Is(err, unix.ECONNRESET) {
			return report{}, -1, err
		}
		break
	}
	if n <= 0 && s.late.Load() {
		if s.work == nil {
			return report{}, -1, fmt.Errorf("the first process of the sandbox was not ready after %v: the machine may have too much other work", mostStart)
		}
		return report{}, -1, fmt.Errorf("the first process of the sandbox said nothing for %v after the time limit: the machine may have too much other work", mostEnd)
	}
	if n <= 0 && s.work != nil {
		return report{}, -1, errors.New("the first process of the sandbox was ended, and what it ran with it")
	}
	if n <= 0 {
		return report{}, -1, errors.New("the first process of the sandbox ended without a report: " +
			"does this program call sandbox.ServeIfAsked at the beginning of its main?")
	}
	var r report
	if err := json.Unmarshal(b[:n], &r); err != nil {
		return r, -1, fmt.Errorf("reading the report of the sandbox: %w", err)
	}
	if r.Fault != "" {
		return r, -1, errors.New(r.Fault)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:rn])
	if err != nil || len(messages) == 0 {
		return r, -1, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) == 0 {
		return r, -1, err
	}
	return r, fds[0], nil
}

// capture keeps so many bytes and says when there are more, which it drops.
type capture struct {
	most int64
	full func()
	mu   sync.Mutex
	b    []byte
	over bool
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := int(c.most) - len(c.b)
	c.b = append(c.b, p[:min(room, len(p))]...)
	if len(p) > room {
		c.over = true
		c.full()
	}
	return len(p), nil
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.b
}

func (c *capture) String() string { return string(c.bytes()) }

var _ io.Writer = (*capture)(nil)
