package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/llm"
	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/insight"
)

// A process may end between any two writes, and within one: whatever part of the
// journal is left, each step is done once more at most, and those whose line is
// whole are not.
func TestAStepThatIsWrittenDownIsNotDoneAgain(t *testing.T) {
	steps := []string{"a", "b", "c"}
	var done []string
	all := func(dir string) (values []string, lost int) {
		t.Helper()
		done = nil
		j, err := openJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer j.close()
		for i, s := range steps {
			v, l, err := paid(context.Background(), j, s, i, func(context.Context) (string, error) {
				done = append(done, s)
				return "value of " + s, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if l {
				lost++
			}
			values = append(values, v)
		}
		return values, lost
	}
	dir := t.TempDir()
	want, _ := all(dir)
	if !slices.Equal(done, steps) {
		t.Fatalf("the first run did %v", done)
	}
	path := filepath.Join(dir, "journal.jsonl")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cuts := []int{0}
	for at, b := range whole {
		if b == '\n' {
			cuts = append(cuts, (cuts[len(cuts)-1]+at)/2, at, at+1) // within the line, without its end, with it
		}
	}
	for _, cut := range cuts {
		if err := os.WriteFile(path, whole[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		// A line for the beginning and one for the end of each step.
		lines := strings.Count(string(whole[:cut]), "\n")
		got, lost := all(dir)
		if !slices.Equal(got, want) {
			t.Fatalf("cut at byte %d: the steps gave %q", cut, got)
		}
		if !slices.Equal(done, steps[lines/2:]) {
			t.Fatalf("cut at byte %d, after %d lines: the steps %v were done again", cut, lines, done)
		}
		if lost != lines%2 {
			t.Fatalf("cut at byte %d, after %d lines: %d calls are said to be lost", cut, lines, lost)
		}
		if _, later := all(dir); later != lost || len(done) > 0 {
			t.Fatalf("cut at byte %d: %d lost calls are %d for the next process, which did %v", cut, lost, later, done)
		}
	}
}

func TestAJournalIsOfOneProcessAndOneRun(t *testing.T) {
	dir := t.TempDir()
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(dir); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second one was opened: %v", err)
	}
	give := func(v int) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { return v, nil }
	}
	if _, err := once(t.Context(), j, "step", "input", give(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := once(t.Context(), j, "step", "other input", give(2)); err == nil || !strings.Contains(err.Error(), "take another folder") {
		t.Errorf("a step of other input was taken: %v", err)
	}
	failed := errors.New("no")
	if _, err := once(t.Context(), j, "failing", 0, func(context.Context) (int, error) { return 0, failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if v, err := once(t.Context(), j, "failing", 0, give(3)); err != nil || v != 3 {
		t.Errorf("a step that had failed gave %d, %v", v, err)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte("{\"step\": \"a\"}\nnonsense\n{\"step\": \"b\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := openJournal(dir); err == nil || !strings.Contains(err.Error(), "journal.jsonl:2") {
		t.Errorf("a damaged journal was opened: %v", err)
	}
}

// patch, a program of its own, makes the text after of the text before.
func TestPatchReadsDiff(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Fatal("the program patch is not there: install the package patch")
	}
	long := strings.Repeat("same\n", 20)
	for name, c := range map[string][2]string{
		"a line":              {"a\nb\nc\n", "a\nB\nc\n"},
		"at both ends":        {"a\n" + long + "z\n", "A\n" + long + "Z\n"},
		"inserted":            {long, long + "new\n"},
		"inserted at the top": {"a\n", "new\na\n"},
		"removed":             {"a\nb\nc\nd\n", "a\nd\n"},
		"all new":             {"", "a\nb\n"},
		"no end of line":      {"a\nb", "a\nc"},
		"end of line":         {"a\nb", "a\nb\n"},
		"close together":      {"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\nx\n3\n4\n5\n6\n7\ny\n9\n"},
		"repeated":            {"{\n}\n{\n}\n", "{\n}\n{\nx\n}\n{\n}\n"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), []byte(c[0]), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("patch", "-p1", "--fuzz=0")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(Diff("f", c[0], c[1]))
		said, err := cmd.CombinedOutput()
		got, _ := os.ReadFile(filepath.Join(dir, "f"))
		if err != nil || string(got) != c[1] {
			t.Errorf("%s: %v, %s\n%s\ngot %q", name, err, said, Diff("f", c[0], c[1]), got)
		}
	}
	if d := Diff("f", "a\n", "a\n"); d != "" {
		t.Errorf("texts that are the same differ: %q", d)
	}
}

func TestHotFunctionsNarrowWhatMayBeChanged(t *testing.T) {
	text := "int a(int x)\n{\n    return x;\n}\n\nint b(int x)\n{\n    return x + 1;\n}\n\nint c(int x)\n{\n    return x + 2;\n}\n"
	sources := []edit.Source{{Path: "f.c", Text: text, Editable: edit.All(text)}, {Path: "g.h", Text: "int b(int);\n"}}
	share := func(v float64) *float64 { return &v }
	report := &insight.Report{Kernels: []*insight.Kernel{{Name: "b", Share: share(0.7)}, {Name: "a", Share: share(0.2)}, {Name: "c", Share: share(0.1)}}}
	// 0.7 is less than the 0.8 that is to be covered, 0.9 is not.
	hot, narrowed := SelectHot(report, sources, 0)
	if len(hot) != 2 || hot[0].Name != "b" || hot[1].Name != "a" {
		t.Fatalf("hot are %v", hot)
	}
	if want := []edit.Range{{Start: 6, End: 9}, {Start: 1, End: 4}}; !slices.Equal(narrowed[0].Editable, want) || narrowed[1].Editable != nil {
		t.Errorf("editable are %v and %v, want %v and none", narrowed[0].Editable, narrowed[1].Editable, want)
	}
	report.Kernels = []*insight.Kernel{{Name: "elsewhere", Share: share(1)}}
	if hot, same := SelectHot(report, sources, 0); hot != nil || !slices.Equal(same[0].Editable, sources[0].Editable) {
		t.Errorf("without a hot function of the sources: %v, %v", hot, same)
	}
}

// The compiler left no trace of square: its time is in that of norm, which calls
// it. never is called by nobody, and cold is known to the profile for a small share.
func TestWhatWasInlinedIsHotWithItsCaller(t *testing.T) {
	text := "static int power(int x) { return x * x; }\nstatic int square(int x) { return power(x); }\nint never(int x) { return x; }\n" +
		"int cold(int x) { return x; }\nint norm(int x)\n{\n    return square(x) + cold(x);\n}\n"
	sources := []edit.Source{{Path: "f.c", Text: text, Editable: edit.All(text)}}
	share := func(v float64) *float64 { return &v }
	report := &insight.Report{Kernels: []*insight.Kernel{{Name: "norm", Share: share(0.95)}, {Name: "cold", Share: share(0.05)}}}
	hot, narrowed := SelectHot(report, sources, 0)
	var got []string
	for _, k := range hot {
		got = append(got, k.Name+" in "+k.Within)
	}
	if want := []string{"norm in ", "square in norm", "power in norm"}; !slices.Equal(got, want) {
		t.Errorf("hot are %q, want %q", got, want)
	}
	if want := []edit.Range{{Start: 5, End: 8}, {Start: 2, End: 2}, {Start: 1, End: 1}}; !slices.Equal(narrowed[0].Editable, want) {
		t.Errorf("editable are %v, want %v", narrowed[0].Editable, want)
	}
}

func TestEditableLinesMoveWithEdits(t *testing.T) {
	text := "1\n2\n3\n4\n5\n6\n7\n8\n"
	sources := []edit.Source{{Path: "f.c", Text: text, Editable: []edit.Range{{Start: 2, End: 3}, {Start: 6, End: 7}}}}
	p := edit.Apply([]edit.Edit{
		{Evidence: []string{"C1"}, Hunks: []edit.Hunk{{File: "f.c", Search: []string{"2"}, Replace: []string{"x", "y", "z"}}}},
		{Evidence: []string{"C1"}, Hunks: []edit.Hunk{{File: "f.c", Search: []string{"6", "7"}, Replace: []string{"w"}}}},
	}, sources, edit.Rules{Evidence: []string{"C1"}})
	got := after(sources, p)[0]
	// x y z 3 are lines 2 to 5; w was line 6 and is line 8.
	if want := []edit.Range{{Start: 2, End: 5}, {Start: 8, End: 8}}; got.Text != "1\nx\ny\nz\n3\n4\n5\nw\n8\n" || !slices.Equal(got.Editable, want) {
		t.Errorf("%v of %q, want %v", got.Editable, got.Text, want)
	}
}

func TestRecordedAnswersAreReadFromLinesAndFolders(t *testing.T) {
	dir := t.TempDir()
	block := "evidence: C1\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE\n"
	for name, text := range map[string]string{"b.txt": block, "a.txt": block, "round2-c.txt": block, "a.repair1.txt": "nothing", "README": "no answer"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	lines := filepath.Join(dir, "answers.jsonl")
	b, _ := json.Marshal(block)
	if err := os.WriteFile(lines, fmt.Appendf(nil, `{"name":"a","answer":%s}
{"name":"b","answer":%[1]s}

{"name":"c","round":2,"answer":%[1]s}
{"name":"a","repair":1,"answer":"nothing"}
`, b), 0o644); err != nil {
		t.Fatal(err)
	}
	sources := []edit.Source{{Path: "f.c", Text: "1\n", Editable: edit.All("1\n")}}
	for _, path := range []string{dir, lines} {
		a, err := Replay(path)
		if err != nil {
			t.Fatal(err)
		}
		say := func(c Case) string {
			c.Sources, c.Report = sources, &insight.Report{Items: []insight.Item{{ID: "C1"}}}
			advice, err := a.Advise(t.Context(), c)
			if err != nil || !slices.Equal(advice.Supplied, []string{"C1"}) {
				t.Fatal(err, advice.Supplied)
			}
			var out []string
			for _, p := range advice.Proposals {
				out = append(out, fmt.Sprintf("%s %d", p.Name, len(p.Edits)))
				if len(p.Edits) > 0 && p.Edits[0].Hunks[0].File != "f.c" {
					t.Errorf("a block without a file is of %q", p.Edits[0].Hunks[0].File)
				}
			}
			return strings.Join(out, ", ")
		}
		for _, c := range []struct {
			Case
			want string
		}{{Case{Round: 1}, "a 1, b 1"}, {Case{Round: 2}, "c 1"}, {Case{Round: 3}, ""}, {Case{Round: 1, Repair: 1, Of: "a"}, "a 0"}, {Case{Round: 1, Repair: 1, Of: "b"}, ""}} {
			if got := say(c.Case); got != c.want {
				t.Errorf("%s, round %d, repair %d: %q, want %q", path, c.Round, c.Repair, got, c.want)
			}
		}
	}
	if err := os.WriteFile(lines, []byte("{\"answer\": \"x\"}\n{\"anwser\": \"y\"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(lines); err == nil || !strings.Contains(err.Error(), "answers.jsonl:2") {
		t.Errorf("a key that is not known: %v", err)
	}
	if _, err := Replay(t.TempDir()); err == nil {
		t.Error("a folder without answers is an advisor")
	}
	for _, c := range []struct {
		bases [2]string
		ok    bool
	}{{[2]string{"p", "q"}, true}, {[2]string{"p", "p"}, false}, {[2]string{"p", ""}, false}, {[2]string{"", "q"}, false}, {[2]string{"p\u202e", "q"}, false}} {
		var list []Recorded
		for _, base := range c.bases {
			list = append(list, Recorded{Name: "a", Base: base})
		}
		if _, err := Answers("recorded", list); (err == nil) != c.ok {
			t.Errorf("answers of one name about %q: %v", c.bases, err)
		}
	}
	dir = t.TempDir()
	old := `{"step":"r1/advice","value":{"round":1,"proposals":[{"name":"a","text":"x"}]}}` + "\n" + `{"step":"r2/advice","value":{"round":1,"proposals":[{"name":"a","text":"y"}]}}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(old), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Replay(dir); err == nil || !strings.Contains(err.Error(), "several programs") {
		t.Errorf("a round of two programs whose answers do not say which is theirs: %v", err)
	}
}

func TestCandidatesAreTurnedDownForTheRightReason(t *testing.T) {
	measured := func(v change.Verdict) Measurement { return Measurement{Verdict: v} }
	for _, c := range []struct {
		ms   []Measurement
		want Reason
	}{
		{nil, Unclear},
		{[]Measurement{measured(change.Faster)}, ""},
		{[]Measurement{measured(change.Faster), measured(change.Same)}, ""},
		{[]Measurement{measured(change.Faster), measured(change.Slower)}, Slower},
		{[]Measurement{measured(change.Same)}, NotFaster},
		{[]Measurement{measured(change.Unclear)}, Unclear},
		{[]Measurement{{Verdict: change.TooFew, Failed: "another output"}}, WrongResult},
		{[]Measurement{{Verdict: change.TooFew, Failed: "a timeout", FailedAs: Exceeds}}, Exceeds},
		{[]Measurement{{Verdict: change.Slower, Findings: []measure.Finding{{Kind: measure.Waits}}}}, Sleeping},
		{[]Measurement{{Verdict: change.Faster, Findings: []measure.Finding{{Kind: measure.Waits}}}}, ""}, // for a device that computes
		{[]Measurement{{Verdict: change.Faster, Findings: []measure.Finding{{Kind: measure.OwnClock}}}}, TimerTricks},
	} {
		var got Reason
		if r := ofMeasurement(c.ms); r != nil {
			got = r.Reason
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.ms, got, c.want)
		}
	}
	for _, c := range []struct {
		o    sandbox.Outcome
		want Reason
	}{
		{sandbox.Outcome{End: sandbox.Exited, LeftBehind: 2}, LeftRunning},
		{sandbox.Outcome{End: sandbox.Exited, Code: 1}, Fails},
		{sandbox.Outcome{End: sandbox.Signalled, Code: -1}, Fails},
		{sandbox.Outcome{End: sandbox.TimedOut, Code: -1}, Exceeds},
		{sandbox.Outcome{End: sandbox.FileLimit, Code: -1}, Exceeds},
	} {
		if got := failedAs(&measure.FailedError{Side: measure.Candidate, Err: &measure.EndError{Outcome: c.o}}); got != c.want {
			t.Errorf("a measured run that ends with %v: %q, want %q", c.o, got, c.want)
		}
	}
	// What others say is one line that steers no terminal, and not without end.
	if got := turnedDown(Validating, Fails, "a\n\x1b[31mb\u202e"+strings.Repeat("c", 1e6)).Detail; !strings.HasPrefix(got, "a \ufffd[31mb\ufffdccc") || len(got) > 2100 {
		t.Errorf("%d bytes: %.40q", len(got), got)
	}
	// A build may try what the original's build tries.
	was := &Program{Tried: []sandbox.Attempt{{Call: "open", Kind: "write", Path: "/var/cache/x"}}}
	if r := ofBuild(was, &Program{Failed: "no", End: sandbox.Exited, Tried: was.Tried}); r.Reason != InvalidCode {
		t.Errorf("%v", r)
	}
	if r := ofBuild(was, &Program{Tried: []sandbox.Attempt{{Call: "openat", Kind: "write", Path: "/var/cache/y"}}}); r == nil || r.Reason != Writes {
		t.Errorf("%v", r)
	}
	// Who looks for the answer and puts out something wrong is told the former.
	r := ofValidation(Validation{Reasons: []validate.Reason{{Kind: validate.Differs, Text: "d"}, {Kind: validate.ReadSecret, Text: "s"}}})
	if r == nil || r.Reason != OutputCopied {
		t.Errorf("%v", r)
	}
	for _, k := range []validate.Kind{validate.Failed, validate.Exceeded, validate.Differs, validate.MissingFile, validate.ExtraFile, validate.WroteOutside, validate.ReadSecret, validate.Network, validate.LeftRunning} {
		if r := ofValidation(Validation{Reasons: []validate.Reason{{Kind: k}}}); r == nil || r.Reason == "" {
			t.Errorf("%s has no reason", k)
		}
	}
}

// Clocks of an edit's own are found where the linker never sees them, and using a
// clock is none.
func TestClocksAreFoundInTheText(t *testing.T) {
	for replace, want := range map[string]string{
		"#define clock_gettime(a, b) 0":                          "clock_gettime",
		"#  define time(x) 0":                                    "time",
		"static long clock(void) { return 0; }":                  "clock",
		"double omp_get_wtime()\n{\n":                            "omp_get_wtime",
		"int gettimeofday(long (*t)[2], void *z) /* mine */ {":   "gettimeofday",
		"if (clock() < 3) {":                                     "",
		"while (time(0)) { x++; }":                               "",
		"clock_gettime(1, &t);":                                  "",
		"double time = 0; // time(x) {":                          "",
		"const char *s = \"#define time(x) clock(x) {\";":        "",
		"#define NOW clock()":                                    "",
		"struct s { double time; } v = { time(0) }; for (;;) {}": "",
	} {
		e := edit.Edit{Hunks: []edit.Hunk{{Search: []string{"x"}, Replace: strings.Split(replace, "\n")}}}
		if got := ownClock(e); got != want {
			t.Errorf("%q: %q, want %q", replace, got, want)
		}
	}
	same := edit.Edit{Hunks: []edit.Hunk{{Search: []string{"long clock(void) {"}, Replace: []string{"static long clock(void) {"}}}}
	if got := ownClock(same); got != "" {
		t.Errorf("one that was there is said to be new: %q", got)
	}
}

func TestNumbersThatAreNotKnownAreNull(t *testing.T) {
	data, err := json.Marshal([]Number{1.5, Number(math.NaN()), Number(math.Inf(1))})
	if err != nil || string(data) != "[1.5,null,null]" {
		t.Fatal(string(data), err)
	}
	var back []Number
	if err := json.Unmarshal(data, &back); err != nil || back[0] != 1.5 || !math.IsNaN(float64(back[1])) {
		t.Error(back, err)
	}
}

// parrot is a language model that says the same each time, for 100 tokens.
type parrot struct {
	text  string
	asked []llm.Request
}

func (*parrot) Name() string { return "parrot" }

func (p *parrot) Ask(_ context.Context, q llm.Request, _ func(llm.Event)) (*llm.Answer, error) {
	p.asked = append(p.asked, q)
	return &llm.Answer{Text: p.text, Stop: llm.StopEnd, Spent: llm.Spent{Calls: 1, Tokens: 100}}, nil
}

func TestAModelIsAskedWithinTheBudgetOfTokens(t *testing.T) {
	tg, err := target.Load("testdata/matmul/matmul.toml")
	if err != nil {
		t.Fatal(err)
	}
	c := Case{Target: tg, Sources: tg.Sources(), Round: 1, Report: &insight.Report{Runs: []insight.Run{{ID: 1, Tool: "callgrind"}}, Items: []insight.Item{
		{ID: "C1", Kind: insight.Counter, Verdict: insight.Problem, Statement: "Half of the accesses miss.", Metric: "D1mr", Importance: 1}}}}
	m := &parrot{text: "evidence: C1\npredict: D1mr down\n<<<<<<< SEARCH\n            double sum = 0;\n=======\n            double sum = 0.0;\n>>>>>>> REPLACE\n"}
	ask := Ask(m, AskOptions{Answers: 3, MaxTokens: 1000})
	advice, err := ask.Advise(t.Context(), c)
	if err != nil || len(advice.Proposals) != 3 || advice.Usage.Tokens != 300 || advice.Usage.Calls != 3 {
		t.Fatalf("%+v, %v", advice.Usage, err)
	}
	if e := advice.Proposals[2].Edits; len(e) != 1 || e[0].Hunks[0].File != "matmul.c" || !slices.Equal(advice.Supplied, []string{"C1"}) {
		t.Errorf("the third answer holds %+v, with the evidence %v", e, advice.Supplied)
	}
	if m.asked[0].Sample == m.asked[1].Sample {
		t.Error("two answers to one prompt are one request")
	}
	// Room for one call and not for two: what was answered is used.
	left := m.asked[0].Estimate() + 1000 + 50
	c.Left.Tokens = &left
	if advice, err = ask.Advise(t.Context(), c); err != nil || len(advice.Proposals) != 1 {
		t.Errorf("with room for one call: %d proposals, %v", len(advice.Proposals), err)
	}
	left = 1000
	var over *llm.BudgetError
	if _, err = ask.Advise(t.Context(), c); !errors.As(err, &over) {
		t.Errorf("without room for a call: %v", err)
	}
}
