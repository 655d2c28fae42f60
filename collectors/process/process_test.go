package process_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/process"
)

// TestMain makes the test binary a command to measure: ROOFLAB_TEST_TOUCH
// makes it write to so many bytes of memory, and read standard input to its
// end before it ends.
func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv("ROOFLAB_TEST_TOUCH")); err == nil {
		b := make([]byte, n)
		for i := 0; i < n; i += 4096 {
			b[i] = 1
		}
		os.Stdout.WriteString("ready\n")
		_, _ = os.Stdin.Read(b[:1])
		os.Exit(int(b[4096]) - 1)
	}
	os.Exit(m.Run())
}

func TestHowACommandEnds(t *testing.T) {
	for _, c := range []struct {
		script string
		exit   int
		signal syscall.Signal
		ok     bool
		text   string
	}{
		{"exit 0", 0, 0, true, "exit status 0"},
		{"exit 3", 3, 0, false, "exit status 3"},
		{"kill -KILL $$", -1, syscall.SIGKILL, false, "signal: killed"},
	} {
		r, err := process.Run(t.Context(), process.Command{Argv: []string{"sh", "-c", c.script}})
		if err != nil || r.Exit != c.exit || r.Signal != c.signal || r.OK() != c.ok || r.String() != c.text || r.LeftOver {
			t.Errorf("%s: %+v (%s), %v", c.script, r, r, err)
		}
	}
}

func TestStreamsPassThrough(t *testing.T) {
	var out, errs bytes.Buffer
	r, err := process.Run(t.Context(), process.Command{Argv: []string{"sh", "-c", "cat; echo oops >&2; pwd"}, Dir: "/", Stdin: strings.NewReader("in\n"), Stdout: &out, Stderr: &errs})
	if err != nil || !r.OK() || out.String() != "in\n/\n" || errs.String() != "oops\n" {
		t.Errorf("%v %v %q %q", r, err, out.String(), errs.String())
	}
}

func TestNoSuchProgram(t *testing.T) {
	for _, name := range []string{"no-such-program-here", "./no/such/file"} {
		_, err := process.Run(t.Context(), process.Command{Argv: []string{name}})
		var missing *process.NotFoundError
		if !errors.As(err, &missing) || missing.Program != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := process.Run(t.Context(), process.Command{}); err == nil || !strings.Contains(err.Error(), "after --") {
		t.Errorf("no command: %v", err)
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b[bytes.LastIndexByte(b, ')'):]), ") Z ")
}

// TestInterruptLeavesNothing stops a command whose children ignore SIGTERM, and
// one of which has a group of its own.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	lines := &signalled{want: 3, reached: cancel}
	script := `trap '' TERM
setsid sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
sh -c 'trap "" TERM; echo $$; while :; do sleep 1; done' &
echo $$
while :; do sleep 1; done`
	_, err := process.Run(ctx, process.Command{Argv: []string{"sh", "-c", script}, Stdout: lines})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	pids := strings.Fields(lines.text.String())
	if len(pids) != 3 {
		t.Fatalf("pids %q", pids)
	}
	for _, p := range pids {
		pid, err := strconv.Atoi(p)
		if err != nil {
			t.Fatal(err)
		}
		// A killed process may take a moment to go.
		for deadline := time.Now().Add(10 * time.Second); alive(pid); {
			if time.Now().After(deadline) {
				t.Fatalf("process %d still runs", pid)
			}
		}
	}
}

// signalled calls reached once it has got so many lines.
type signalled struct {
	text    bytes.Buffer
	want    int
	reached func()
}

func (s *signalled) Write(p []byte) (int, error) {
	s.text.Write(p)
	if bytes.Count(s.text.Bytes(), []byte("\n")) >= s.want {
		s.reached()
	}
	return len(p), nil
}

func TestWhatIsLeftRunningIsTold(t *testing.T) {
	var out bytes.Buffer
	r, err := process.Run(t.Context(), process.Command{Argv: []string{"sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"}, Stdout: &out})
	if err != nil || !r.OK() || !r.LeftOver {
		t.Errorf("%+v, %v", r, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// TestMemoryIsTheCommandsOwn: the kernel lets a process begin with the peak of
// the one that started it, which must not be taken for the command's.
func TestMemoryIsTheCommandsOwn(t *testing.T) {
	own := make([]byte, 300<<20)
	for i := 0; i < len(own); i += 4096 {
		own[i] = 1
	}
	for _, touched := range []int{64 << 20, 600 << 20} { // smaller and larger than this process
		in, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		// The command ends once its memory was there for some looks.
		enough := &signalled{want: 1, reached: func() {
			time.AfterFunc(100*time.Millisecond, func() { w.Close() })
		}}
		r, err := process.Run(t.Context(), process.Command{Argv: []string{os.Args[0]}, Env: []string{"ROOFLAB_TEST_TOUCH=" + strconv.Itoa(touched)}, Stdin: in, Stdout: enough, Tree: time.Millisecond})
		in.Close()
		if err != nil || !r.OK() {
			t.Fatalf("%v, %v", r, err)
		}
		// The Go runtime and the test's code need some 20 MB besides.
		if got := r.Usage.MaxRSS; got < int64(touched) || got > int64(touched)+60<<20 {
			t.Errorf("touched %d bytes, peak %d (seen: %v)", touched, got, r.Usage.Seen)
		}
		if r.Usage.TreeRSS < int64(touched) || r.Usage.Processes != 1 {
			t.Errorf("tree %d bytes in %d processes", r.Usage.TreeRSS, r.Usage.Processes)
		}
	}
	own[0] = own[4096]
}

func TestDescribe(t *testing.T) {
	dir := t.TempDir()
	input := filepath.Join(dir, "in.txt")
	write := func(text string) {
		if err := os.WriteFile(input, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("one")
	job := collectors.Job{Command: []string{"sh", "-c", "echo 'a b'"}, Dir: dir}
	t.Setenv("OMP_NUM_THREADS", "4")
	t.Setenv("CUDA_API_KEY", "hidden")
	t.Setenv("SLURM_JOB_ID", "17")
	describe := func() *process.Subject {
		s, err := process.Describe(t.Context(), job, "in.txt")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	facts := func(s *process.Subject) map[string]string {
		m := map[string]string{}
		for _, a := range s.Attributes {
			m[a.Name] = a.Value
		}
		return m
	}
	first := describe()
	if first.Command != `sh -c 'echo '\''a b'\'''` || first.Program != "sh" {
		t.Errorf("command %s of %s", first.Command, first.Program)
	}
	f := facts(first)
	// printf one | sha256sum
	if f["input.in.txt.sha256"] != "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed" {
		t.Errorf("sum of the input: %s", f["input.in.txt.sha256"])
	}
	if f["env.OMP_NUM_THREADS"] != "4" || f["env.SLURM_JOB_ID"] != "17" || f["env.PATH"] != "" || f["env.CUDA_API_KEY"] != "" || f["cwd"] != dir {
		t.Errorf("facts %v", f)
	}
	t.Setenv("SLURM_JOB_ID", "18")
	t.Setenv("PATH", os.Getenv("PATH")+":/nowhere")
	if again := describe(); again.EnvHash != first.EnvHash || again.InputHash != first.InputHash {
		t.Error("a job id or PATH changes a hash")
	}
	t.Setenv("OMP_NUM_THREADS", "5")
	write("two")
	if changed := describe(); changed.EnvHash == first.EnvHash || changed.InputHash == first.InputHash {
		t.Error("threads or input do not change the hashes")
	}
	if _, err := process.Describe(t.Context(), collectors.Job{Command: []string{"./nothing"}, Dir: dir}); err == nil {
		t.Error("a program that is not there")
	}
	if _, err := process.Describe(t.Context(), job, "absent.txt"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an input that is not there: %v", err)
	}
}

func TestDescribeNamesTheCommit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=n", "-c", "user.email=e@x"}, args...)...)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v (install git): %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "trunk")
	file := filepath.Join(dir, "f")
	if err := os.WriteFile(file, []byte("1"), 0o666); err != nil {
		t.Fatal(err)
	}
	git("add", "f")
	git("commit", "-q", "-m", "m")
	want := map[string]string{"git.commit": git("rev-parse", "HEAD"), "git.branch": "trunk", "git.changed": "false"}
	for _, changed := range []string{"false", "true"} {
		want["git.changed"] = changed
		s, err := process.Describe(t.Context(), collectors.Job{Command: []string{"true"}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range s.Attributes {
			if w, ok := want[a.Name]; ok && w != a.Value {
				t.Errorf("%s is %s, want %s", a.Name, a.Value, w)
			}
		}
		if err := os.WriteFile(file, []byte("2"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryReadsFirstAndLast(t *testing.T) {
	reads := 0
	stop := process.Every(time.Now(), time.Hour, func(time.Duration) error { reads++; return nil })
	if err := stop(); err != nil || reads != 2 {
		t.Errorf("%d reads, %v", reads, err)
	}
	broken := errors.New("sensor gone")
	reads = 0
	stop = process.Every(time.Now(), time.Hour, func(time.Duration) error { reads++; return broken })
	if err := stop(); !errors.Is(err, broken) || reads != 1 {
		t.Errorf("%d reads, %v", reads, err)
	}
}
