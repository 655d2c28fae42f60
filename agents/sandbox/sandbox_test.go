package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.ServeIfAsked()
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

var programs string // what is compiled for the tests

var compiled = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "hostile")
	out, err := exec.Command("gcc", "-O1", "-o", program, "testdata/hostile.c").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("gcc is needed (Debian: apt-get install gcc) to compile testdata/hostile.c: %w\n%s", err, out)
	}
	return program, nil
})

// open opens a way, and fails where it does not work: these tests are what
// stands between this machine and code that nobody has read.
func open(t *testing.T) *sandbox.Box {
	t.Helper()
	b, err := sandbox.Open(t.Context(), sandbox.Mechanism(os.Getenv(mechanismVariable)))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// mechanismVariable names the way for tests that are run as another user.
const mechanismVariable = "ROOFLAB_TEST_MECHANISM"

// hostile compiles testdata/hostile.c.
func hostile(t *testing.T) string {
	t.Helper()
	if ready := os.Getenv("ROOFLAB_TEST_HOSTILE"); ready != "" {
		return ready
	}
	program, err := compiled()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// run runs hostile with arguments; change may be nil.
func run(t *testing.T, change func(*sandbox.Command), args ...string) sandbox.Outcome {
	t.Helper()
	c := sandbox.Command{
		Argv:   append([]string{"./hostile"}, args...),
		Put:    []sandbox.Copy{{From: hostile(t), To: "hostile"}},
		Limits: sandbox.Limits{Wall: time.Minute, Disk: 16 << 20},
	}
	if change != nil {
		change(&c)
	}
	o, err := open(t).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func limits(l sandbox.Limits) func(*sandbox.Command) {
	return func(c *sandbox.Command) {
		if l.Disk == 0 {
			l.Disk = 16 << 20
		}
		if l.Wall == 0 {
			l.Wall = time.Minute
		}
		c.Limits = l
	}
}

func lines(b []byte) []string { return strings.Split(strings.TrimSpace(string(b)), "\n") }

func TestWhatExitsTellsItsStatus(t *testing.T) {
	o := run(t, nil, "exit", "7")
	if o.End != sandbox.Exited || o.Code != 7 || o.OK() || o.String() != "exit status 7" {
		t.Errorf("outcome %v (%q, code %d)", o, o.End, o.Code)
	}
	if o.Mechanism == "" || o.Mechanism == sandbox.Unconfined {
		t.Errorf("mechanism %q", o.Mechanism)
	}
	if o.Spawned != 1 || o.LeftBehind != 0 || o.Wall <= 0 {
		t.Errorf("%d spawned, %d left, %v", o.Spawned, o.LeftBehind, o.Wall)
	}
}

func TestInputReachesTheProgramAndItsOutputComesBack(t *testing.T) {
	o := run(t, func(c *sandbox.Command) { c.Stdin = []byte("one\ntwo\n") }, "echo")
	if string(o.Stdout) != "one\ntwo\n" || !o.OK() {
		t.Errorf("%v: %q", o, o.Stdout)
	}
}

func TestSignalsAreTold(t *testing.T) {
	for what, sig := range map[string]syscall.Signal{"crash": syscall.SIGSEGV, "abort": syscall.SIGABRT} {
		if o := run(t, nil, what); o.End != sandbox.Signalled || o.Signal != sig || o.Code != -1 {
			t.Errorf("%s: %v, signal %v", what, o, o.Signal)
		}
	}
}

func TestWritingOutsideIsHeldAndTold(t *testing.T) {
	kept := t.TempDir()
	dir, err := os.MkdirTemp("/var/tmp", "outside-") // /tmp is the sandbox's own
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, watch := range []*sandbox.Watch{nil, {}} {
		o := run(t, func(c *sandbox.Command) { c.Keep, c.Watch = kept, watch }, "outside", dir)
		const none, readOnly = "No such file or directory", "Read-only file system"
		got := map[string]string{}
		for _, l := range lines(o.Stdout) {
			k, v, _ := strings.Cut(l, ": ")
			got[k] = v
		}
		for k, want := range map[string][]string{
			"make": {none}, "make in /usr": {readOnly, "Permission denied"}, "remove": {readOnly, "Permission denied"}, "move": {readOnly, "Permission denied", "Invalid cross-device link"}, "move away": {readOnly, "Permission denied", "Invalid cross-device link"},
			"folder": {readOnly, "Permission denied"}, "through link": {readOnly, "Permission denied"}, "link": {"done"}, "inside": {"done"}, "temporary": {"done"},
		} {
			if !slices.Contains(want, got[k]) {
				t.Errorf("%s: %q, want one of %q", k, got[k], want)
			}
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("in the folder of the machine: %v, %v", entries, err)
		}
		if _, err := os.Stat("/usr/planted"); err == nil {
			t.Error("/usr/planted is there")
		}
		if _, ok := o.File("kept.txt"); !ok {
			t.Errorf("kept.txt is not among %v", o.Files)
		}
		if _, err := os.Stat(filepath.Join(kept, "kept.txt")); err != nil {
			t.Error(err)
		}
		if watch == nil {
			if o.Watched || len(o.Attempts) > 0 {
				t.Errorf("watched %v: %v", o.Watched, o.Attempts)
			}
			continue
		}
		if !o.Watched {
			t.Fatal("the kernel does not tell system calls (Linux 5.5 does)")
		}
		var tried []string
		for _, a := range o.Attempts {
			tried = append(tried, a.Path)
			if a.Kind != "write" {
				t.Errorf("%v", a)
			}
		}
		// Removing a program, moving one over it, and moving another away.
		want := []string{dir + "/planted", "/usr/planted", "/usr/bin/true", "/usr/bin/true", "/usr/bin/env", "/planted"}
		if !slices.Equal(tried, want) {
			t.Errorf("tried %q, want %q", tried, want)
		}
	}
}

func TestReadingWhatIsSecretIsTold(t *testing.T) {
	dir := t.TempDir()
	secret := filepath.Join(dir, "reference.bin")
	if err := os.WriteFile(secret, []byte("answer"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	o := run(t, func(c *sandbox.Command) { c.Watch = &sandbox.Watch{Secrets: []string{dir}} }, "read", secret)
	if got := string(o.Stdout); got != "read: No such file or directory\n" {
		t.Errorf("%q", got)
	}
	if len(o.Attempts) != 1 || o.Attempts[0].Kind != "read" || o.Attempts[0].Path != secret {
		t.Errorf("attempts %v", o.Attempts)
	}
}

func TestThereIsNoNetwork(t *testing.T) {
	o := run(t, func(c *sandbox.Command) { c.Watch = &sandbox.Watch{} }, "network")
	if got := string(o.Stdout); got != "connect: Network is unreachable\n" {
		t.Errorf("%q", got)
	}
	if len(o.Attempts) != 1 || o.Attempts[0].String() != "tried to open a network socket (IPv4)" {
		t.Errorf("attempts %v", o.Attempts)
	}
}

func TestPrivilegesAreOutOfReach(t *testing.T) {
	o := run(t, nil, "privileges")
	if !o.OK() {
		t.Fatalf("%v: %s", o, o.Stderr)
	}
	got := lines(o.Stdout)
	if len(got) != 8 {
		t.Fatalf("%q", got)
	}
	for _, l := range got {
		what, answer, _ := strings.Cut(l, ": ")
		if answer != "Operation not permitted" && answer != "Permission denied" && !(what == "descriptors" && answer == "No such file or directory") {
			t.Errorf("%s", l)
		}
	}
}

func TestTheEnvironmentIsWhatTheCallerNames(t *testing.T) {
	t.Setenv("SOME_API_KEY", "secret")
	t.Setenv("LD_PRELOAD", "")
	o := run(t, func(c *sandbox.Command) { c.Env = []string{"OMP_NUM_THREADS=2"} }, "environment")
	want := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/tmp", "TMPDIR=/tmp", "LC_ALL=C.UTF-8", "OMP_NUM_THREADS=2"}
	if got := lines(o.Stdout); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestForkingWithoutEndIsEndedAndTold(t *testing.T) {
	// The kernel's bound first, with a program that stops at 300, before anything
	// that forks without end is let loose.
	few := sandbox.Limits{Processes: 20, Wall: 30 * time.Second}
	o := run(t, limits(few), "count", "300")
	if o.Spawned < 20 || o.Spawned > 20+64+1 {
		t.Fatalf("%d processes were made, of 20 allowed and 64 to spare", o.Spawned)
	}
	if o.End != sandbox.ProcessLimit || !strings.Contains(o.Why, "of 20 allowed") {
		t.Errorf("%v", o)
	}
	o = run(t, limits(few), "fork")
	if o.End != sandbox.ProcessLimit || o.Processes <= 20 || o.Code != -1 {
		t.Errorf("%v, %d processes", o, o.Processes)
	}
}

func TestPrintingWithoutEndIsCutAndTold(t *testing.T) {
	for _, what := range []string{"print", "complain"} {
		o := run(t, limits(sandbox.Limits{Output: 1000}), what)
		if o.End != sandbox.OutputLimit || len(o.Stdout)+len(o.Stderr) != 1000 || o.OK() {
			t.Errorf("%s: %v, %d and %d bytes", what, o, len(o.Stdout), len(o.Stderr))
		}
		if want := "it printed more than 1000 bytes"; o.Why != want {
			t.Errorf("%q, want %q", o.Why, want)
		}
	}
}

func TestHangingIsEndedAndTold(t *testing.T) {
	o := run(t, limits(sandbox.Limits{Wall: 300 * time.Millisecond}), "hang")
	if o.End != sandbox.TimedOut || o.Why != "it still ran after 300ms" || o.Wall < 300*time.Millisecond {
		t.Errorf("%v after %v", o, o.Wall)
	}
	o = run(t, limits(sandbox.Limits{CPU: time.Second}), "hang")
	if o.End != sandbox.CPULimit || o.User+o.System < 500*time.Millisecond { // counted in ticks
		t.Errorf("%v, %v of CPU time", o, o.User+o.System)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	o := run(t, limits(sandbox.Limits{Memory: 64 << 20, AddressSpace: 2 << 30}), "memory")
	if o.End != sandbox.MemoryLimit || o.Guess || o.TreeRSS <= 64<<20 {
		t.Errorf("resident: %v, guess %v, %d bytes", o, o.Guess, o.TreeRSS)
	}
	o = run(t, limits(sandbox.Limits{AddressSpace: 64 << 20}), "memory")
	if o.End != sandbox.MemoryLimit || !o.Guess || !strings.Contains(o.Why, "most likely") {
		t.Errorf("address space: %v, guess %v, %s", o, o.Guess, o.Stderr)
	}
}

func TestFilesAreBounded(t *testing.T) {
	o := run(t, limits(sandbox.Limits{FileSize: 1 << 20}), "file")
	if f, _ := o.File("large"); o.End != sandbox.FileLimit || f.Size != 1<<20 {
		t.Errorf("one file: %v, %d bytes", o, f.Size)
	}
	o = run(t, limits(sandbox.Limits{Disk: 4 << 20}), "files")
	var sum int64
	for _, f := range o.Files {
		sum += f.Size
	}
	if o.Code != 1 || sum > 4<<20 {
		t.Errorf("many files: %v, %d bytes", o, sum)
	}
}

func TestWhatIsLeftRunningIsEndedAndTold(t *testing.T) {
	o := run(t, nil, "leave")
	if o.LeftBehind != 1 || o.Code != 0 || o.Spawned != 2 {
		t.Errorf("%v, %d left, %d spawned", o, o.LeftBehind, o.Spawned)
	}
}

func TestAskingToBeTracedDoesNotLookLikeAnEnd(t *testing.T) {
	o := run(t, nil, "traced")
	if o.End != sandbox.Signalled || !strings.Contains(o.Why, "traced") {
		t.Errorf("%v", o)
	}
}

func TestLinksAreNotFollowedOut(t *testing.T) {
	kept := t.TempDir()
	o := run(t, func(c *sandbox.Command) { c.Keep = kept }, "links")
	if !o.OK() {
		t.Fatalf("%v: %s", o, o.Stdout)
	}
	entries, err := os.ReadDir(kept)
	if err != nil || len(entries) != 1 || entries[0].Name() != "hostile" {
		t.Errorf("kept %v, %v", entries, err)
	}
}

func TestTheMachineIsNotThere(t *testing.T) {
	o := run(t, func(c *sandbox.Command) { c.Argv = []string{"ls", "/", "/etc", "/home", "/root"} })
	text := string(o.Stdout) + string(o.Stderr)
	for _, path := range []string{"shadow", "passwd"} {
		if strings.Contains(text, path) {
			t.Errorf("%s is there:\n%s", path, text)
		}
	}
	if !strings.Contains(text, "'/root': No such file") || !strings.Contains(text, "work") {
		t.Error(text)
	}
}

func TestPeakMemoryIsTold(t *testing.T) {
	o := run(t, nil, "touch", "200")
	if o.MaxRSS < 200<<20 || o.MaxRSS > 230<<20 || o.Seen {
		t.Errorf("%d bytes, seen %v", o.MaxRSS, o.Seen)
	}
}

func TestFoldersAreShownReadOnly(t *testing.T) {
	dir := t.TempDir()
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "a"), []byte("shown"), 0o644), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	show := func(at string) func(c *sandbox.Command) {
		return func(c *sandbox.Command) {
			c.ReadOnly = []sandbox.Mount{{From: dir, At: at}}
			c.Argv = []string{"sh", "-c", "cat " + at + "/a; echo x > " + at + "/a"}
		}
	}
	o := run(t, show("/inputs"))
	if string(o.Stdout) != "shown" || o.OK() {
		t.Errorf("%v: %q %s", o, o.Stdout, o.Stderr)
	}
	var c sandbox.Command
	show("/work/inputs")(&c)
	if _, err := open(t).Run(t.Context(), c); err == nil {
		t.Error("a mount in the work folder is accepted")
	}
}

func TestCopiesKeepTimesAndLeaveOut(t *testing.T) {
	from, more, kept := t.TempDir(), t.TempDir(), t.TempDir()
	old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"a.c", "b.o", ".git/config", "sub/c.c"} {
		path := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(name), 0o644), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(more, "a.c"), []byte("new"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := run(t, func(c *sandbox.Command) {
		c.Put = []sandbox.Copy{{From: from, Skip: []string{".git", "*.o"}}, {From: more}}
		c.Argv = []string{"sh", "-c", "cat a.c; date -u -r sub/c.c +%Y-%m-%d"}
		c.Keep, c.KeepOnly = kept, []string{"sub/c.c"}
	})
	if got := string(o.Stdout); got != "new2020-01-02\n" {
		t.Errorf("%q", got)
	}
	if len(o.Files) != 2 {
		t.Errorf("files %v", o.Files)
	}
	if _, err := os.Stat(filepath.Join(kept, "a.c")); err == nil {
		t.Error("a.c was copied out and not asked for")
	}
	if data, err := os.ReadFile(filepath.Join(kept, "sub/c.c")); err != nil || string(data) != "sub/c.c" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestErrorsSayWhatIsWrong(t *testing.T) {
	b := open(t)
	for _, c := range []struct {
		command sandbox.Command
		want    string
	}{
		{sandbox.Command{}, "no command"},
		{sandbox.Command{Argv: []string{"no-such-program"}}, "there is no such program in the sandbox's PATH"},
		{sandbox.Command{Argv: []string{"./none"}}, "no such file"},
		{sandbox.Command{Argv: []string{"true"}, Dir: "../.."}, "not inside"},
		{sandbox.Command{Argv: []string{"true"}, Put: []sandbox.Copy{{From: "testdata", To: "../x"}}}, "not inside"},
		{sandbox.Command{Argv: []string{"true"}, Put: []sandbox.Copy{{From: "none"}}}, "no such file"},
		{sandbox.Command{Argv: []string{"true"}, Put: []sandbox.Copy{{From: os.Args[0], To: "x"}}, Limits: sandbox.Limits{Disk: 1 << 16}}, "Limits.Disk is 65536"},
		{sandbox.Command{Argv: []string{"true"}, Limits: sandbox.Limits{Memory: -1}}, "below 0"},
	} {
		if _, err := b.Run(t.Context(), c.command); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.command.Argv, err, c.want)
		}
	}
	if _, err := sandbox.Open(t.Context(), "chroot"); err == nil {
		t.Error("a way that does not exist is opened")
	}
}

func TestTheEndOfTheContextEndsTheCommand(t *testing.T) {
	box := open(t)
	// While it is set up, and while the command runs.
	for _, after := range []time.Duration{time.Nanosecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 200 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		_, err := box.Run(ctx, sandbox.Command{Argv: []string{"./hostile", "hang"}, Put: []sandbox.Copy{{From: hostile(t), To: "hostile"}}})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %v: %v", after, err)
		}
		cancel()
	}
}

func TestUnconfinedIsAskedForAndTold(t *testing.T) {
	b, err := sandbox.Open(t.Context(), sandbox.Unconfined)
	if err != nil {
		t.Fatal(err)
	}
	program := hostile(t)
	kept := t.TempDir()
	o, err := b.Run(t.Context(), sandbox.Command{Argv: []string{"./hostile", "exit", "3"}, Put: []sandbox.Copy{{From: program, To: "hostile"}}, Keep: kept})
	if err != nil || o.Code != 3 || o.Mechanism != sandbox.Unconfined {
		t.Errorf("%v, %v, %s", err, o, o.Mechanism)
	}
	for what, end := range map[string]sandbox.End{"print": sandbox.OutputLimit, "complain": sandbox.OutputLimit} {
		o, err := b.Run(t.Context(), sandbox.Command{Argv: []string{program, what}, Limits: sandbox.Limits{Output: 100}})
		if err != nil || o.End != end {
			t.Errorf("%s: %v, %v", what, err, o)
		}
	}
}

// The other ways in, and the other user: the tests above, run again by nobody.
func TestOrdinaryUsersHaveTheSameSandbox(t *testing.T) {
	ways := []sandbox.Mechanism{sandbox.Namespaces, sandbox.Bubblewrap}
	var as *syscall.SysProcAttr
	if os.Getuid() == 0 {
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	} else {
		ways = ways[1:] // the first is what the tests above went
	}
	dir, err := os.MkdirTemp("", "sandbox-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "hostile")
	for from, to := range map[string]string{hostile(t): program, os.Args[0]: filepath.Join(dir, "tests"), "testdata/opencl.c": filepath.Join(dir, "testdata/opencl.c")} {
		data, err := os.ReadFile(from)
		if err == nil {
			err = errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, data, 0o755))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tmp := filepath.Join(dir, "tmp")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(tmp, 0o777), os.Chmod(tmp, 0o1777)); err != nil {
		t.Fatal(err)
	}
	for _, m := range ways {
		t.Run(string(m), func(t *testing.T) {
			if _, err := exec.LookPath("bwrap"); err != nil && m == sandbox.Bubblewrap {
				t.Fatal("bwrap is needed (Debian: apt-get install bubblewrap) to test the way through it")
			}
			cmd := exec.Command(filepath.Join(dir, "tests"), "-test.count=1", "-test.skip=Ordinary|Root|Nowhere")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), mechanismVariable+"="+string(m), "ROOFLAB_TEST_HOSTILE="+program, "TMPDIR="+tmp, "HOME="+tmp)
			cmd.SysProcAttr = as
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// In a user namespace that may have none below it there is no way.
func TestNothingIsRunWhereThereIsNowhereToRunIt(t *testing.T) {
	const inside = "ROOFLAB_TEST_NOWHERE"
	if os.Getenv(inside) != "" {
		_, err := sandbox.Open(t.Context(), "")
		var none *sandbox.UnavailableError
		if !errors.As(err, &none) || !strings.Contains(err.Error(), "nothing is run") || none.Reasons[sandbox.Namespaces] == nil || none.Reasons[sandbox.Bubblewrap] == nil {
			t.Error(err)
		}
		t.Log(err)
		return
	}
	cmd := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c",
		`echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" -test.count=1 -test.v -test.run=Nowhere`, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "PASS: TestNothingIsRun") {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestThreadsComputeInTheSandbox(t *testing.T) {
	dir := t.TempDir()
	source := filepath.Join(dir, "threads.c")
	code := `#include <omp.h>
#include <stdio.h>
int main(void) { int n = 0;
#pragma omp parallel reduction(+:n)
n += 1;
printf("%d\n", n); return 0; }`
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "threads")
	if out, err := exec.Command("gcc", "-fopenmp", "-o", program, source).CombinedOutput(); err != nil {
		t.Fatalf("gcc with OpenMP is needed (Debian: apt-get install gcc): %v\n%s", err, out)
	}
	o := run(t, func(c *sandbox.Command) {
		c.Put, c.Argv, c.Env = []sandbox.Copy{{From: program, To: "threads"}}, []string{"./threads"}, []string{"OMP_NUM_THREADS=4"}
	})
	if string(o.Stdout) != "4\n" || o.Spawned != 4 {
		t.Errorf("%v: %q, %d spawned: %s", o, o.Stdout, o.Spawned, o.Stderr)
	}
}

func TestOpenCLComputesInTheSandbox(t *testing.T) {
	program := filepath.Join(t.TempDir(), "opencl")
	if out, err := exec.Command("gcc", "-o", program, "testdata/opencl.c", "-l:libOpenCL.so.1").CombinedOutput(); err != nil {
		t.Fatalf("OpenCL's loader is needed (Debian: apt-get install ocl-icd-libopencl1 pocl-opencl-icd): %v\n%s", err, out)
	}
	o := run(t, func(c *sandbox.Command) {
		c.Put, c.Argv = []sandbox.Copy{{From: program, To: "opencl"}}, []string{"./opencl"}
		c.Limits.Wall = time.Minute
		c.Watch = &sandbox.Watch{}
	})
	if string(o.Stdout) != "0: 2 4 6 8\n" || len(o.Attempts) != 0 {
		t.Errorf("%v: %q %s %v", o, o.Stdout, o.Stderr, o.Attempts)
	}
}

// A stand-in for bwrap starts a process of its own, which holds a pipe open, and
// never gets so far as to bind that to itself. The program that started it is then
// told to stop, or killed: in both cases the pipe closes, for nothing is left.
func TestWhatBubblewrapBeganEndsWithIt(t *testing.T) {
	const inside = "ROOFLAB_TEST_KEEPER"
	if os.Getuid() == 0 {
		t.Skip("root is not served by bubblewrap: TestOrdinaryUsersHaveTheSameSandbox runs this as nobody")
	}
	if os.Getenv(inside) != "" {
		ctx, stop := signal.NotifyContext(t.Context(), syscall.SIGTERM)
		defer stop()
		_, err := sandbox.Open(ctx, sandbox.Bubblewrap)
		t.Fatal(err) // of ctx, after which the test that started this looks at the pipe
	}
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		dir := t.TempDir()
		pipe := filepath.Join(dir, "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\nexec 9> " + pipe + "\nsleep 100000 <&- >&- 2>&- &\necho begun >&9\nwait\n"
		if err := os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(os.Args[0], "-test.count=1", "-test.run=WhatBubblewrapBegan")
		cmd.Env = append(os.Environ(), inside+"=1", "PATH="+dir+":"+os.Getenv("PATH"))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		held, err := os.Open(pipe)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(held, make([]byte, len("begun\n"))); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(end); err != nil {
			t.Fatal(err)
		}
		if rest, err := io.ReadAll(held); err != nil || len(rest) > 0 {
			t.Errorf("%v: %q, %v", end, rest, err)
		}
		held.Close()
		_ = cmd.Wait() // it was killed, or says that it was told to stop
	}
}

func TestRootIsNotServedByBubblewrap(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user")
	}
	_, err := sandbox.Open(t.Context(), sandbox.Bubblewrap)
	var none *sandbox.UnavailableError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "nothing is run") {
		t.Error(err)
	}
}

func ExampleOpen() {
	sandbox.ServeIfAsked() // first of all in main
	box, err := sandbox.Open(context.Background(), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	o, err := box.Run(context.Background(), sandbox.Command{
		Argv:   []string{"sh", "-c", "echo hello; echo lost > /usr/lost"},
		Limits: sandbox.Limits{Wall: 10 * time.Second},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s%v\n", o.Stdout, o)
	// Output:
	// hello
	// exit status 2
}

// What a run costs besides the program: Wall does not count it.
func BenchmarkRun(b *testing.B) {
	box, err := sandbox.Open(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := box.Run(b.Context(), sandbox.Command{Argv: []string{"true"}}); err != nil {
			b.Fatal(err)
		}
	}
}
