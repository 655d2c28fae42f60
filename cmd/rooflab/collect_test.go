package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// collected is what `rooflab collect --json` prints.
type collected struct {
	Store     string
	Collector string
	Command   []string
	Status    string
	Runs      []struct {
		ID     int64
		Status string
		Error  string
	}
	Rows  map[string]int64
	Error *struct{ Message string }
}

// collectCmd runs rooflab collect and returns its exit status and output.
func collectCmd(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	c := exec.Command(binary, append([]string{"collect"}, args...)...)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

func collectJSON(t *testing.T, args ...string) (int, collected) {
	t.Helper()
	status, out, errs := collectCmd(t, args...)
	var c collected
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	return status, c
}

func ask(t *testing.T, store, sql string) string {
	t.Helper()
	out, err := exec.Command(binary, "query", "--store", store, "--format", "csv", sql).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestCollectRunKeepsWhatTheCommandDoes(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.db")
	// Flags behind the command's name are the command's.
	status, out, errs := collectCmd(t, "run", "--store", store, "--repeats", "2", "sh", "-c", `echo "out $1"; echo err >&2`, "sh", "--repeats")
	if status != 0 || out != "out --repeats\nout --repeats\n" || !strings.Contains(errs, "err\n") || !strings.Contains(errs, "run 1 in "+store+": ok") {
		t.Errorf("status %d, out %q, errors %q", status, out, errs)
	}
	got := ask(t, store, `SELECT r.status, count(DISTINCT l.id), count(c.metric), min(c.value) > 0, any_value(m.cpu) IS NOT NULL
		FROM run r JOIN launch l ON l.run_id = r.id JOIN counter c ON c.launch_id = l.id AND c.metric = 'time.wall' JOIN machine m ON m.id = r.machine_id GROUP BY 1`)
	if !strings.HasSuffix(got, "\nok,2,2,true,true") {
		t.Errorf("stored %s", got)
	}
}

func TestCollectReportsAsJSON(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.db")
	status, c := collectJSON(t, "--json", "--store", store, "run", "--", "sh", "-c", "echo this is not JSON; exit 3")
	if status != 1 || c.Status != "failed" || len(c.Runs) != 1 || c.Runs[0].Status != "failed" || !strings.HasSuffix(c.Runs[0].Error, "exit status 3") || c.Rows["launch"] != 1 || c.Error != nil || c.Collector != "run" || c.Command[0] != "sh" {
		t.Errorf("status %d, %+v", status, c)
	}
	if got := ask(t, store, "SELECT status FROM run"); got != "status\nfailed" {
		t.Errorf("stored %s", got)
	}
	status, c = collectJSON(t, "run", "--json", "--store", store, "--", "true")
	if status != 0 || c.Status != "ok" || c.Runs[0].ID != 2 {
		t.Errorf("status %d, %+v", status, c)
	}
}

func TestCollectThatCannotBeginStoresNothing(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "s.db")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--store", store, "--", "no-such-program-here"}, `there is no program "no-such-program-here"`},
		{[]string{"run", "--store", store}, "name it after --"},
		{[]string{"run", "--", "true"}, "needs --store"},
		{[]string{"run", "--store", store, "--repeats", "0", "--", "true"}, "--repeats 0"},
		{[]string{"run", "--store", store, "--repeats", "x", "--", "true"}, "repeats"},
		{[]string{"run", "--store", filepath.Join(dir, "absent", "s.db"), "--", "touch", filepath.Join(dir, "ran")}, "absent"},
		{[]string{"nothing-of-this-name", "--store", store}, "there are"},
		{[]string{"llvm", "--store", store}, "rooflab: collecting with llvm: --source is needed"},
		{[]string{"opencl", "--store", store, "--source", "absent.cl", "--kernel", "k", "--global", "1"}, "rooflab: collecting with opencl: reading the source"},
	} {
		status, out, errs := collectCmd(t, c.args...)
		if status != 1 || !strings.Contains(errs, c.want) || out != "" {
			t.Errorf("%v: status %d, out %q, errors %q", c.args, status, out, errs)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
	status, c := collectJSON(t, "run", "--json", "--store", store, "--", "no-such-program-here")
	if status != 1 || c.Status != "failed" || c.Error == nil || len(c.Runs) != 0 {
		t.Errorf("status %d, %+v", status, c)
	}
}

func TestCollectListsWhatThisMachineCan(t *testing.T) {
	for _, args := range [][]string{nil, {"--list"}} {
		status, out, _ := collectCmd(t, args...)
		for _, name := range []string{"run", "machine", "valgrind", "perf", "rapl", "nvml", "ncu", "nsys"} {
			if !strings.Contains("\n"+out, "\n"+name+" ") {
				t.Errorf("%v: status %d, no %s in\n%s", args, status, name, out)
			}
		}
	}
	status, out, errs := collectCmd(t, "--list", "--json")
	var list struct {
		Collectors []struct{ Name, About, Status, Reason string }
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil || status != 0 || len(list.Collectors) < 8 {
		t.Fatalf("status %d, %v\n%s%s", status, err, out, errs)
	}
	for _, c := range list.Collectors {
		if c.About == "" || (c.Status == "ok") != (c.Reason == "") || c.Name == "run" && c.Status != "ok" {
			t.Errorf("%+v", c)
		}
	}
	status, out, _ = collectCmd(t, "run", "--help")
	if status != 0 || !strings.Contains(out, "--repeats") || !strings.Contains(out, "--store") || !strings.Contains(out, "how often the command is measured") {
		t.Errorf("status %d\n%s", status, out)
	}
}

// TestCollectOfWhatIsMissing: without the library of a driver there is no GPU.
func TestCollectOfWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "s.db")
	_, list, _ := collectCmd(t, "--list", "--json")
	if !strings.Contains(list, `"status": "unavailable"`) {
		t.Log("this machine lacks nothing")
	}
	// A PATH without tools: ncu and perf are not there, whatever the machine has.
	for _, name := range []string{"perf", "valgrind"} {
		c := exec.Command(binary, "collect", name, "--json", "--store", store, "--", "/bin/sh", "-c", "touch "+filepath.Join(dir, "ran"))
		c.Env = append(os.Environ(), "PATH="+dir)
		out, err := c.Output()
		var r collected
		if jerr := json.Unmarshal(out, &r); jerr != nil || err == nil || r.Status != "unavailable" || !strings.Contains(r.Runs[0].Error, "the tool "+name+" is not in PATH; install") {
			t.Errorf("%s: %v, %s", name, err, out)
		}
	}
	if got := ask(t, store, "SELECT count(*), count(DISTINCT status), (SELECT count(*) FROM counter) FROM run"); !strings.HasSuffix(got, "\n2,1,0") {
		t.Errorf("stored %s", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the command ran")
	}
}

// TestCollectInterrupted sends Ctrl-C while a command and a child of it, which
// has a group of its own, run.
func TestCollectInterrupted(t *testing.T) {
	dir := t.TempDir()
	store := filepath.Join(dir, "s.db")
	c := exec.Command(binary, "collect", "run", "--store", store, "--", "sh", "-c", `setsid sh -c 'echo $$; sleep 600; echo late' & echo $$; sleep 600; echo late`)
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	c.Stderr = &errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(pipe)
	var pids []int
	for range 2 {
		line, err := r.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if rest, err := r.ReadString(0); rest != "" {
		t.Errorf("%q, %v", rest, err)
	}
	var exit *exec.ExitError
	if err := c.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 || !strings.Contains(errs.String(), "interrupted: the command was ended and nothing was stored") {
		t.Errorf("%v: %s", err, errs.String())
	}
	for _, pid := range pids {
		for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; {
			if b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil && strings.Contains(string(b), ") Z ") {
				break // dead, and nobody waits for it where init does not
			}
			if time.Now().After(deadline) {
				t.Fatalf("process %d still runs", pid)
			}
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestCollectsWaitForTheStore: several at once all get their result stored.
func TestCollectsWaitForTheStore(t *testing.T) {
	store := filepath.Join(t.TempDir(), "s.db")
	const n = 4
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			if out, err := exec.Command(binary, "collect", "run", "--store", store, "--", "true").CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	if got := ask(t, store, "SELECT count(*) FROM run WHERE status = 'ok'"); !strings.HasSuffix(got, "\n4") {
		t.Errorf("stored %s", got)
	}
}
