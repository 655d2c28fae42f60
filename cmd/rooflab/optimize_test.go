package main_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// optimized is what `rooflab optimize --json` says, as far as the tests look.
type optimized struct {
	Rounds []struct {
		Evidence struct {
			How    string
			Report struct {
				Items []struct {
					ID       string
					Rule     string
					Location *struct {
						File    string
						Line    int
						EndLine int `json:"end_line"`
					}
				}
				Notes []string
			}
		}
		Candidates []optimizedCandidate
	}
	Final struct {
		ID    string
		Files []struct{ Path, Text string }
	}
	Measurements []optimizedMeasurement
	Confirmed    bool
	Patch        string
	Resumed      int `json:"resumed_steps"`
	Record       struct {
		Sources map[string]string `json:"sources_sha256"`
		Rooflab string
		Machine struct{ CPU string }
	}
	Scores []struct {
		Rejected     string
		Hallucinated int
	}
}

type optimizedCandidate struct {
	Proposal   struct{ Name string }
	Repairs    []struct{ Log string }
	Diff       string
	Validation *struct {
		Seeds []uint64
		Drawn *struct{ Sizes []string }
	}
	Measurements []optimizedMeasurement
	Rejected     *struct{ Step, Reason, Detail string }
	Kept         bool
}

type optimizedMeasurement struct {
	Verdict       string
	P             *float64
	Threshold     *float64  `json:"p_threshold"`
	BeforeSeconds []float64 `json:"before_seconds"`
	AfterSeconds  []float64 `json:"after_seconds"`
}

// sampleTarget copies the matrix product into a folder of its own, with short
// measurements, and its recorded answers into another.
func sampleTarget(t *testing.T, change func(string) string) (dir, answers string) {
	t.Helper()
	from := "../../agents/testdata/matmul"
	dir, answers = t.TempDir(), t.TempDir()
	copyInto := func(from, to string, change func(string) string) {
		entries, err := os.ReadDir(from)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() {
				continue
			}
			text, err := os.ReadFile(filepath.Join(from, e.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(to, e.Name()), []byte(change(string(text))), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	copyInto(from, dir, change)
	copyInto(filepath.Join(from, "answers"), answers, strings.NewReplacer("@DIR@", dir).Replace)
	return dir, answers
}

// files are the contents of all files below a folder.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		out[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A run with one good answer and several bad ones, killed again and again, ends
// with each bad one turned down for what it is, no step done twice, and the
// sources as they were.
func TestOptimizeWithRecordedAnswersSurvivesBeingKilled(t *testing.T) {
	for _, tool := range []string{"gcc", "valgrind"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed (Debian: apt-get install %[1]s)", tool)
		}
	}
	dir, answers := sampleTarget(t, strings.NewReplacer("repeats = 12", "repeats = 6", `sizes = ["256"]`, `sizes = ["200"]`, "per_run = 2", "per_run = 1").Replace)
	// What a candidate would like to find.
	if err := os.WriteFile(filepath.Join(dir, "out.bin"), make([]byte, 200*200*8), 0o644); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	out := filepath.Join(t.TempDir(), "out")
	argv := []string{"optimize", filepath.Join(dir, "matmul.toml"), "--backend", "replay:" + answers, "--out", out}
	for _, at := range []string{"gathering evidence", "asking", "good: comparing", "good: measuring", "measuring the result"} {
		killAt(t, at, argv...)
	}
	text, errs, status := run(t, "", append(argv, "--json")...)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	var r optimized
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if r.Resumed < 10 {
		t.Errorf("%d steps are from the processes before", r.Resumed)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Error("files of the target have changed")
	}
	want := map[string]string{"invalid-code": "invalid code", "wrong-result": "wrong result", "outside": "read-only file", "outside-include": "outside",
		"signature": "signature change", "no-such-evidence": "unknown evidence", "sleeping": "sleeping", "timer": "timer tricks",
		"copied": "output copied", "no-edit": "no edit"}
	for _, c := range r.Rounds[0].Candidates {
		name := c.Proposal.Name
		if name == "good" {
			checkGood(t, c)
			continue
		}
		if c.Rejected == nil || c.Rejected.Reason != want[name] || c.Kept {
			t.Errorf("%s: %+v, want it turned down for %q", name, c.Rejected, want[name])
		}
		delete(want, name)
		if name == "invalid-code" && (len(c.Repairs) != 1 || !strings.Contains(c.Repairs[0].Log, "matmul.c:9")) {
			t.Errorf("what does not build was to be repaired once, after a log that names its line: %+v", c.Repairs)
		}
	}
	if len(want) > 0 {
		t.Errorf("no such candidates: %v", want)
	}
	checkJournal(t, filepath.Join(out, "journal.jsonl"))
	if r.Record.Rooflab == "" || len(r.Record.Sources) != 3 {
		t.Errorf("the record is %+v", r.Record)
	}
	if !slices.ContainsFunc(r.Scores, func(s struct {
		Rejected     string
		Hallucinated int
	}) bool {
		return s.Rejected == "unknown evidence" && s.Hallucinated == 1
	}) {
		t.Error("no score counts the evidence that was made up")
	}
	for _, name := range []string{"report.txt", "report.html", "result.json"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if !r.Confirmed {
		t.Logf("the gain was not shown on this machine today: %+v", r.Measurements)
		return
	}
	// The same command again has nothing to do but to apply the result.
	if _, errs, status := run(t, "", append(argv, "--apply")...); status != 0 {
		t.Fatalf("status %d: %s", status, errs)
	}
	now, err := os.ReadFile(filepath.Join(dir, "matmul.c"))
	if err != nil || string(now) != r.Final.Files[0].Text || !strings.Contains(r.Patch, "+++ b/matmul.c") {
		t.Errorf("the result was not applied: %v\n%s", err, now)
	}
	for name, text := range files(t, dir) {
		if filepath.Base(name) != "matmul.c" && before[name] != text {
			t.Errorf("%s has changed, too", name)
		}
	}
}

// checkGood looks at the good answer: it is right, and whether it is faster was
// decided by the test of significance, whatever this machine does meanwhile.
func checkGood(t *testing.T, c optimizedCandidate) {
	t.Helper()
	if c.Validation == nil || len(c.Validation.Seeds) != 5 || c.Validation.Drawn == nil || len(c.Validation.Drawn.Sizes) != 3 || len(c.Measurements) != 1 {
		t.Fatalf("the good answer: %+v", c)
	}
	m := c.Measurements[0]
	if m.P == nil || m.Threshold == nil || len(m.BeforeSeconds) != 6 || len(m.AfterSeconds) != 6 {
		t.Fatalf("the good answer was measured so: %+v", m)
	}
	shown := m.Verdict == "faster"
	if shown != c.Kept || shown && *m.P > *m.Threshold {
		t.Errorf("the good answer is %s with p = %g of %g, kept: %v", m.Verdict, *m.P, *m.Threshold, c.Kept)
	}
	if !shown && (c.Rejected == nil || c.Rejected.Step != "measure") {
		t.Errorf("the good answer is turned down: %+v", c.Rejected)
	}
}

// checkJournal: each step ended once, and each question was asked once.
func checkJournal(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range bytes.Lines(data) {
		var e struct {
			Step  string
			Begin bool
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		key := e.Step
		if e.Begin {
			key += " (begins)"
		}
		if seen[key] {
			t.Errorf("the step %s was done twice", key)
		}
		seen[key] = true
	}
	for _, step := range []string{"run", "build/original", "validate/original", "profile/original", "r1/advice (begins)", "r1/advice"} {
		if !seen[step] {
			t.Errorf("the journal has no step %s", step)
		}
	}
}

// killAt runs the program and kills it, without a warning, when it says something.
func killAt(t *testing.T, text string, argv ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary, argv...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	killed := false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		if said = append(said, lines.Text()); !killed && strings.Contains(lines.Text(), text) {
			killed = true
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	err = cmd.Wait()
	// A good answer that was not shown to be faster is not measured at the end.
	if !killed && text != "measuring the result" {
		t.Fatalf("it ended (%v) and never said %q:\n%s", err, text, strings.Join(said, "\n"))
	}
}

// A target without a profile command has evidence of its sources, which says so.
func TestOptimizeWithoutAProfileCitesTheSource(t *testing.T) {
	for _, tool := range []string{"gcc", "clang"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%s is needed (Debian: apt-get install %[1]s)", tool)
		}
	}
	dir, _ := sampleTarget(t, func(text string) string {
		text = strings.NewReplacer("[profile]\ncollector = \"valgrind\"\ntimeout = \"2m\"\n", "", `sizes = ["256"]`, `sizes = ["16"]`, "per_run = 2", "per_run = 1").Replace(text)
		return text
	})
	answers := filepath.Join(t.TempDir(), "answers.jsonl")
	if err := os.WriteFile(answers, []byte(`{"answer": "nothing"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	argv := []string{"optimize", filepath.Join(dir, "matmul.toml"), "--backend", "replay:" + answers, "--out", filepath.Join(t.TempDir(), "out"), "--json", "--apply"}
	text, errs, status := run(t, "", argv...)
	// That nothing is faster is no failure, unless it is asked to be one.
	if status != 0 || !strings.Contains(errs, "rooflab: nothing to apply, the sources stay as they are: ") {
		t.Fatalf("status %d: %s", status, errs)
	}
	if again, errs, status := run(t, "", append(argv, "--need-gain")...); status != 1 || !strings.Contains(errs, "no gain was confirmed") || !json.Valid([]byte(again)) {
		t.Errorf("with --need-gain: status %d: %s", status, errs)
	}
	if after := files(t, dir); !maps.Equal(before, after) {
		t.Error("files of the target have changed")
	}
	var r optimized
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, i := range r.Rounds[0].Evidence.Report.Items {
		// b is read down its columns in line 10.
		found = found || i.Rule == "static-stride" && i.Location != nil && i.Location.File == "matmul.c" && i.Location.Line <= 10 && i.Location.EndLine >= 10
	}
	if !found {
		t.Errorf("no item is about the strided access: %+v", r.Rounds[0].Evidence.Report)
	}
	if !strings.Contains(strings.Join(r.Rounds[0].Evidence.Report.Notes, "\n"), "no profile command") {
		t.Errorf("the report does not say that nothing was profiled: %q", r.Rounds[0].Evidence.Report.Notes)
	}
	if r.Final.ID != "original" || r.Confirmed {
		t.Errorf("something was kept: %+v", r.Final)
	}
}

// Whoever gives a folder of another run is told, and nothing is lost.
func TestOptimizeRefusesWhatItCannotDo(t *testing.T) {
	dir, answers := sampleTarget(t, func(s string) string { return s })
	target := filepath.Join(dir, "matmul.toml")
	for _, c := range []struct {
		argv []string
		want string
	}{
		{[]string{target, "--backend", "nobody"}, "replay:PATH"},
		{[]string{target, "--backend", "replay:" + filepath.Join(dir, "nowhere")}, "nowhere"},
		{[]string{filepath.Join(dir, "matmul.c"), "--backend", "replay:" + answers}, "matmul.c"},
	} {
		_, errs, status := run(t, "", append([]string{"optimize", "--out", filepath.Join(t.TempDir(), "out")}, c.argv...)...)
		if status != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: status %d, %s", c.argv, status, errs)
		}
	}
}
