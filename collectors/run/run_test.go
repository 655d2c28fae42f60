package run_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/run"
	"github.com/rooflab/rooflab/datasets"
)

func TestRepeatsAreLaunches(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	r, err := parsertest.Collect(t, "run", []string{"-repeats", "3", "-warmup", "2"},
		collectors.Job{Command: []string{"sh", "-c", "echo x >> calls; echo said"}, Dir: dir, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil || string(calls) != strings.Repeat("x\n", 5) || out.String() != strings.Repeat("said\n", 5) {
		t.Errorf("calls %q, said %q, %v", calls, out.String(), err)
	}
	run := r.Runs[0]
	if run.Status != datasets.RunOK || run.Command != "sh -c 'echo x >> calls; echo said'" || run.TimeMetric != "time.wall" || !run.TimeInclusive || run.Machine != 1 || len(r.Machines) != 1 {
		t.Errorf("run %+v", run)
	}
	if len(r.Launches) != 3 || len(r.Regions) != 1 || r.Regions[0].Short != "sh" {
		t.Fatalf("%d launches of %+v", len(r.Launches), r.Regions)
	}
	for i, l := range r.Launches {
		if l.Sequence.V != int64(i) || l.DurNs.V <= 0 || i > 0 && l.StartNs.V < r.Launches[i-1].StartNs.V+r.Launches[i-1].DurNs.V {
			t.Errorf("launch %+v", l)
		}
		found := map[string]datasets.Counter{}
		for _, c := range r.Counters {
			if c.Launch == l.ID {
				found[c.Metric] = c
			}
		}
		if c := found["time.wall"]; c.Unit != "s" || int64(c.Value.V*1e9+0.5) != l.DurNs.V {
			t.Errorf("wall time %+v", c)
		}
		if c := found["exit_status"]; c.Value != datasets.Some(0.0) {
			t.Errorf("exit status %+v", c)
		}
		for _, m := range []string{"time.user", "time.system", "memory.rss.max", "memory.tree.rss.max", "page_fault.minor", "page_fault.major", "context_switch.voluntary", "context_switch.involuntary"} {
			if _, ok := found[m]; !ok {
				t.Errorf("no %s", m)
			}
		}
	}
	if r.Attribute("run.repeats") != "3" || r.Attribute("run.warmup") != "2" {
		t.Errorf("attributes %v", r.Attributes)
	}
}

func TestAFailureIsTheRuns(t *testing.T) {
	for _, c := range []struct {
		what     string
		flags    []string
		script   string
		launches int
		message  string
		exit     datasets.Null[float64]
	}{
		{"exit status", []string{"-repeats", "5"}, "exit 4", 1, "repeat 1 of 5: the command ended with exit status 4", datasets.Some(4.0)},
		{"signal", nil, "kill -ABRT $$", 1, "repeat 1 of 1: the command ended with signal: aborted", datasets.Null[float64]{}},
		{"second repeat", []string{"-repeats", "3"}, "[ -e ran ] && exit 9; touch ran", 2, "repeat 2 of 3: the command ended with exit status 9", datasets.Some(9.0)},
		{"warm-up", []string{"-warmup", "1"}, "exit 1", 0, "warm-up 1 of 1: the command ended with exit status 1", datasets.Null[float64]{}},
		{"time limit", []string{"-timeout", "50ms"}, "sleep 600", 1, "repeat 1 of 1: the command ended with the time limit", datasets.Null[float64]{}},
	} {
		r, err := parsertest.Collect(t, "run", c.flags, collectors.Job{Command: []string{"sh", "-c", c.script}, Dir: t.TempDir()})
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if r.Runs[0].Status != datasets.RunFailed || !strings.HasPrefix(r.Runs[0].Error, c.message) || len(r.Launches) != c.launches {
			t.Errorf("%s: %+v with %d launches", c.what, r.Runs[0], len(r.Launches))
		}
		for _, n := range r.Counters {
			if n.Launch == int64(c.launches) && n.Metric == "exit_status" && n.Value != c.exit {
				t.Errorf("%s: %+v", c.what, n)
			}
		}
	}
}

func TestEachRepeatReadsTheSameInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("abc\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	job := collectors.Job{Command: []string{"cat"}, Dir: dir, Stdout: &out}
	r, err := parsertest.Collect(t, "run", []string{"-repeats", "2", "-stdin", "in"}, job)
	if err != nil || out.String() != "abc\nabc\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	// printf 'abc\n' | sha256sum
	if got := r.Attribute("input.in.sha256"); got != "edeaaff3f1774ad2888673770c6d64097e391bc362d7d6fb34982ddf0efd18cb" {
		t.Errorf("sum %s", got)
	}
	f, err := os.Open(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out.Reset()
	job.Stdin = f
	if _, err := parsertest.Collect(t, "run", []string{"-repeats", "2"}, job); err != nil || out.String() != "abc\nabc\n" {
		t.Errorf("a file as standard input: %q, %v", out.String(), err)
	}
	out.Reset()
	job.Stdin = io.MultiReader(strings.NewReader("abc\n")) // can be read once
	if _, err := parsertest.Collect(t, "run", []string{"-repeats", "2"}, job); err != nil || out.String() != "" {
		t.Errorf("a pipe as standard input of two repeats: %q, %v", out.String(), err)
	}
}

func TestWrongUse(t *testing.T) {
	job := collectors.Job{Command: []string{"true"}}
	for _, c := range []struct {
		flags []string
		job   collectors.Job
		want  string
	}{
		{nil, collectors.Job{}, "after --"},
		{[]string{"-repeats", "0"}, job, "--repeats 0"},
		{[]string{"-warmup", "-1"}, job, "--warmup -1"},
		{[]string{"-input", "absent"}, job, "absent"},
		{nil, collectors.Job{Command: []string{"no-such-program-here"}}, `no program "no-such-program-here"`},
	} {
		if _, err := parsertest.Collect(t, "run", c.flags, c.job); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.flags, err)
		}
	}
}
