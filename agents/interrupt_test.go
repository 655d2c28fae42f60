package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
	"github.com/rooflab/rooflab/kernel/display"
)

func TestMain(m *testing.M) {
	sandbox.ServeIfAsked()
	os.Exit(m.Run())
}

// front is a notebook's front end: it hears the text of each display.
type front struct {
	hear func(text string)
	last map[string]string // HTML by id
}

func (f *front) Clear(bool) {}
func (f *front) Display(b display.Bundle, id string, _ bool) {
	f.last[id] = fmt.Sprint(b.Data["text/html"])
	f.hear(fmt.Sprint(b.Data["text/plain"]))
}

// A cell that is interrupted at any step can be run again: it goes on, does no
// step twice, and shows where it is in a display of its own.
func TestAnInterruptedRunGoesOn(t *testing.T) {
	for _, tool := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed (Debian: apt-get install %[1]s)", tool)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"main.c", "matmul.c", "matmul.h", "matmul.toml"} {
		text, err := os.ReadFile(filepath.Join("testdata/matmul", name))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.NewReplacer("[profile]\ncollector = \"valgrind\"\ntimeout = \"2m\"\n", "", `sizes = ["256"]`, `sizes = ["16"]`, "per_run = 2", "per_run = 1", "repeats = 12", "repeats = 6").Replace(string(text)))
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tg, err := target.Load(filepath.Join(dir, "matmul.toml"))
	if err != nil {
		t.Fatal(err)
	}
	block := "evidence: H1\npredict: time down\nwhy: %s\n<<<<<<< SEARCH\n            double sum = 0;\n=======\n            %s\n>>>>>>> REPLACE\n"
	advisor, err := agents.Answers("recorded", []agents.Recorded{{Name: "other", Answer: fmt.Sprintf(block, "another start", "double sum = 0.5;")}, {Name: "nothing", Answer: "I do not know."}})
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	opt := agents.Options{Dir: out, Advisor: advisor}
	f := &front{last: map[string]string{}}
	before := display.SetSink(f)
	defer display.SetSink(before)
	interrupted := 0
	for _, at := range []string{"building the original", "gathering evidence", "asking recorded", "other: building", "other: comparing outputs"} {
		ctx, cancel := context.WithCancel(t.Context())
		f.hear = func(text string) {
			if strings.Contains(text, at) {
				cancel()
			}
		}
		res, err := agents.Optimize(ctx, tg, opt)
		cancel()
		// What comes at once after another event may not be drawn by itself.
		if err == nil {
			continue
		}
		interrupted++
		if res != nil || !errors.Is(err, context.Canceled) {
			t.Fatalf("interrupted at %q: %v, %v", at, res, err)
		}
	}
	if interrupted < 2 {
		t.Fatalf("it was interrupted %d times", interrupted)
	}
	f.hear = func(string) {}
	res, err := agents.Optimize(t.Context(), tg, opt)
	if err != nil {
		t.Fatal(err)
	}
	if c := res.Candidates(); len(c) != 2 || c[0].Rejected == nil || c[0].Rejected.Reason != agents.WrongResult || c[1].Rejected.Reason != agents.NoEdit {
		t.Errorf("%v", res)
	}
	said := 0
	for _, page := range f.last {
		if strings.Contains(page, "interrupted: the same call goes on from here") {
			said++
		}
	}
	if said != interrupted {
		t.Errorf("%d of %d interrupts are shown", said, interrupted)
	}
	data, err := os.ReadFile(filepath.Join(out, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	done := map[string]int{}
	for line := range bytes.Lines(data) {
		var e struct {
			Step  string
			Begin bool
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		if !e.Begin {
			done[e.Step]++
		}
	}
	for step, n := range done {
		if n != 1 {
			t.Errorf("the step %s was done %d times", step, n)
		}
	}
	if done["profile/original"] != 1 || done["r1/advice"] != 1 {
		t.Errorf("the steps %v were done", done)
	}
}
