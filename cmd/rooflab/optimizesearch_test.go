package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// passesFiles are a program that does the same over and over, and answers that let
// it do so less often: two in the first round, and one in the second that only
// fits what the slower one of them made.
func passesFiles(t *testing.T) (toml, answers string) {
	t.Helper()
	dir := t.TempDir()
	work := func(n int) string { return fmt.Sprintf("    for (int pass = 0; pass < %d; pass++) {", n) }
	files := map[string]string{
		"main.c": `#include <stdio.h>
#include <stdlib.h>
double work(const double *, int);
static double values[120000];
int main(int argc, char **argv)
{
    unsigned long x = argc > 1 ? strtoul(argv[1], 0, 10) : 1;
    for (int i = 0; i < 120000; i++)
        values[i] = (x = x * 6364136223846793005u + 1442695040888963407u) >> 40;
    printf("%.17g\n", work(values, 120000));
    return 0;
}
`,
		"work.c": "double work(const double *a, int n)\n{\n    volatile double sum = 0;\n" + work(240) + `
        sum = 0;
        for (int i = 0; i < n; i++)
            sum += a[i];
    }
    return sum;
}
`,
		"passes.toml": `name = "passes"
language = "c"
[sources]
editable = ["work.c"]
read_only = ["main.c"]
[build]
commands = [["gcc", "-O1", "-g", "-o", "passes", "main.c", "work.c"]]
products = ["passes"]
[inputs]
per_run = 1
[run]
command = ["./passes", "{seed}"]
[[output]]
stdout = true
[profile]
collector = "valgrind"
[measure]
repeats = 8
[search]
strategy = "beam:2"
`,
	}
	var lines []string
	for _, a := range []struct {
		name            string
		round, was, now int
	}{{"near", 1, 240, 60}, {"far", 1, 240, 120}, {"on", 2, 120, 1}} {
		text := fmt.Sprintf("evidence: H1\npredict: Ir down\nwhy: fewer passes\n<<<<<<< SEARCH\n%s\n=======\n%s\n>>>>>>> REPLACE\n", work(a.was), work(a.now))
		line, err := json.Marshal(map[string]any{"name": a.name, "round": a.round, "answer": text})
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, string(line))
	}
	files["answers.jsonl"] = strings.Join(lines, "\n") + "\n"
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "passes.toml"), filepath.Join(dir, "answers.jsonl")
}

// A beam that is killed in each of its rounds goes on where it was, asks for no
// advice twice, and writes each candidate into the history once.
func TestABeamSurvivesBeingKilled(t *testing.T) {
	for _, tool := range []string{"gcc", "valgrind"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed (Debian: apt-get install %[1]s)", tool)
		}
	}
	toml, answers := passesFiles(t)
	out, past := filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "history.jsonl")
	argv := []string{"optimize", toml, "--backend", "replay:" + answers, "--out", out, "--history", past}
	for _, at := range []string{"round 1: asking", "round 1: far: measuring", "round 2: asking", "round 3: asking", "round 3: on: measuring", "measuring the result"} {
		killAt(t, at, argv...)
	}
	text, errs, status := run(t, "", append(argv, "--json")...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	var r struct {
		optimized
		Search string
		Rounds []struct {
			Round, Depth int
			Base         string
			Candidates   []optimizedCandidate
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	var got []string
	candidates := 0
	for _, round := range r.Rounds {
		for _, c := range round.Candidates {
			candidates++
			fate := "kept"
			if c.Rejected != nil {
				fate = c.Rejected.Reason
			}
			got = append(got, fmt.Sprintf("%d.%d %s: %s", round.Depth, round.Round, c.Proposal.Name, fate))
		}
	}
	// The third round asks about what is left, and there is no recorded answer to it.
	if want := []string{"1.1 near: kept", "1.1 far: kept", "2.2 on: not found", "2.3 on: kept"}; !slices.Equal(got, want) || r.Search != "beam:2" {
		t.Fatalf("the search %s has come to %q, want %q", r.Search, got, want)
	}
	if len(r.Final.Files) != 1 || !strings.Contains(r.Final.Files[0].Text, "pass < 1;") {
		t.Errorf("the result is %+v", r.Final)
	}
	checkJournal(t, filepath.Join(out, "journal.jsonl"))
	data, err := os.ReadFile(past)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(data), `"attempt":{`); n != candidates || strings.Count(string(data), `"end":{`) != 1 {
		t.Errorf("the history holds %d attempts and not %d, or not one end:\n%s", n, candidates, data)
	}
	text, errs, status = run(t, "", "optimize", "history", "--history", past, "--json")
	var h struct {
		Attempts, Ended int
		Backends        []struct {
			Backend                             string
			Runs, Attempts, Accepted, Confirmed int
			Speedup                             *float64
			Coverage                            struct{ N int }
			Hallucinated                        int
		}
		Notes []string
	}
	if status != 0 || json.Unmarshal([]byte(text), &h) != nil {
		t.Fatalf("status %d: %s%s", status, text, errs)
	}
	if b := h.Backends; h.Attempts != 4 || h.Ended != 1 || len(h.Notes) != 0 || len(b) != 1 || b[0].Backend != "replay:answers.jsonl" || b[0].Runs != 1 || b[0].Attempts != 4 ||
		b[0].Accepted != 3 || b[0].Speedup == nil || b[0].Coverage.N != 4 || b[0].Hallucinated != 0 {
		t.Errorf("%+v", h)
	}
	text, errs, status = run(t, "", "optimize", "history", "--history", past)
	if status != 0 || !strings.Contains(text, "replay:answers.jsonl") || !strings.Contains(text, "Nothing can be learnt") {
		t.Errorf("status %d: %s%s", status, text, errs)
	}
	// The target says how to search; who says otherwise is another run.
	if _, errs, status = run(t, "", append(argv, "--search", "best")...); status != 1 || !strings.Contains(errs, "another folder") {
		t.Errorf("status %d: %s", status, errs)
	}
}

func TestOptimizeSaysHowToSearch(t *testing.T) {
	toml, answers := passesFiles(t)
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{"--search", "beam"}, "beam:3"},
		{[]string{"--search", "widest"}, "pareto"},
		{[]string{"--prefer", "money"}, "edp"},
		{[]string{"--measure", "2"}, "--judge"},
		{[]string{"--judge", "history"}, "--history FILE"}, // it is off in tests
		{[]string{"--judge", filepath.Join(t.TempDir(), "none")}, "rooflab train"},
		{[]string{"--judge", "history", "--history", filepath.Join(t.TempDir(), "h"), "--measure", "-1"}, "at least one"},
		{[]string{"--learn", "3"}, "no history"},
		{[]string{"--learn", "-3"}, "below 0"},
		{[]string{"--rounds", "-1"}, "--rounds -1: give a number above 0"},
		{[]string{"--candidates", "-2"}, "--candidates -2: give a number above 0"},
	} {
		_, errs, status := run(t, "", append([]string{"optimize", toml, "--backend", "replay:" + answers, "--out", filepath.Join(t.TempDir(), "out")}, c.argv...)...)
		if status != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %s", c.argv, status, errs)
		}
	}
	if _, errs, status := run(t, "", "optimize", "history"); status != 1 || !strings.Contains(errs, "off") {
		t.Errorf("without a history: status %d, %s", status, errs)
	}
}
