package history_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/modeling/insight"
)

const (
	product = `void f(int n, const double *a, const double *b, double *c) {
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}`
	// The same with other names, and a histogram.
	renamed   = `void g(int m, const double *x, const double *y, double *z) { for (int p = 0; p < m; p++) for (int q = 0; q < m; q++) { double s = 0; for (int r = 0; r < m; r++) s += x[p * m + r] * y[r * m + q]; z[p * m + q] = s; } }`
	histogram = `void h(const unsigned char *p, long n, int *bins) { while (n--) { int v = *p++; if (v > 127) bins[v & 63]++; else bins[v >> 2] += 2; } }`
)

var (
	misses = []insight.Item{{ID: "C1", Rule: "cpu-l1-misses", Verdict: insight.Problem, Metric: "D1mr", Importance: 0.8, Kernel: "f"},
		{ID: "H1", Rule: "hot-kernel", Verdict: insight.Fact, Metric: "Ir", Importance: 0.9}}
	branches = []insight.Item{{ID: "C1", Rule: "cpu-branch-misses", Verdict: insight.Problem, Metric: "Bcm", Importance: 0.7, Kernel: "h"}}
)

func attempt(run, name string, s history.Situation, speedup float64, transformation string) history.Attempt {
	a := history.Attempt{ID: history.Identify(run, 1, "original", name), Run: run, At: time.Unix(1700000000, 0).UTC(), Target: "t", Backend: "rules", Round: 1,
		Name: name, Base: "original", Situation: s, Transformation: transformation, Outcome: history.Rejected, Step: "measure", Reason: "slower",
		Edits: []edit.Edit{{Evidence: []string{"C1"}, Hunks: []edit.Hunk{{File: "f.c", Search: []string{"old " + name}, Replace: []string{"new " + name}}}}}}
	if speedup > 0 {
		a.Speedup = &speedup
	}
	if speedup > 1 {
		a.Outcome, a.Step, a.Reason = history.Kept, "", ""
	}
	return a
}

func store(t *testing.T) history.Store {
	t.Helper()
	return history.Store{Path: filepath.Join(t.TempDir(), "folder", "history.jsonl")}
}

func add(t *testing.T, s history.Store, as ...history.Attempt) int {
	t.Helper()
	n, err := s.Add(t.Context(), as, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func read(t *testing.T, s history.Store) *history.Log {
	t.Helper()
	l, err := s.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestEachAttemptIsWrittenOnceWhoeverWrites(t *testing.T) {
	s := store(t)
	if l := read(t, s); len(l.Attempts)+len(l.Notes) > 0 {
		t.Fatalf("a file that is not there holds %+v", l)
	}
	// Eight writers with the same attempts and some of their own.
	situation := history.Of("c", misses, []string{product})
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := range 10 {
				as := []history.Attempt{attempt("all", fmt.Sprint(i), situation, 1.5, ""), attempt(fmt.Sprint("run ", w), fmt.Sprint(i), situation, 1.5, "")}
				if _, err := s.Add(context.Background(), as, []history.End{{ID: "end", Run: "all", Speedup: 1}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	l := read(t, s)
	if len(l.Attempts) != 90 || len(l.Ends) != 1 || len(l.Notes) != 0 {
		t.Errorf("%d attempts and %d ends, want 90 and 1: %q", len(l.Attempts), len(l.Ends), l.Notes)
	}
	if n := add(t, s, l.Attempts...); n != 0 {
		t.Errorf("%d attempts were written again", n)
	}
	if info, err := os.Stat(s.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file holds code and may be read by others: %v, %v", info.Mode(), err)
	}
}

func TestDamagedLinesAreLeftOutAndSaid(t *testing.T) {
	s := store(t)
	situation := history.Of("c", misses, []string{product})
	add(t, s, attempt("r", "a", situation, 2, ""), attempt("r", "b", situation, 2, ""))
	whole, err := os.ReadFile(s.Path)
	if err != nil {
		t.Fatal(err)
	}
	second := strings.Index(string(whole), "\n") + 1
	// Cut anywhere within the second line: it is left out, and what comes next is
	// whole.
	for cut := second + 1; cut < len(whole); cut += 97 {
		if err := os.WriteFile(s.Path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if n := add(t, s, attempt("r", "a", situation, 2, ""), attempt("r", "b", situation, 2, "")); n != 1 {
			t.Fatalf("cut at %d of %d bytes: %d attempts were written, want the one that was lost", cut, len(whole), n)
		}
		l := read(t, s)
		if len(l.Attempts) != 2 || len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "1 damaged lines") {
			t.Fatalf("cut at %d: %d attempts, notes %q", cut, len(l.Attempts), l.Notes)
		}
	}
	// What is no attempt, or would spoil means.
	for name, bad := range map[string]string{
		"not JSON": "nonsense", "a list": "[1]", "no entry": `{"id":"x","v":1}`, "no id": `{"v":1,"end":{"run":"r","speedup":1}}`,
		"below 0": `{"id":"x","v":1,"end":{"run":"r","speedup":-1}}`, "0": `{"id":"x","v":1,"end":{"run":"r","speedup":0}}`,
		"no run":     `{"id":"x","v":1,"attempt":{"target":"t","backend":"b"}}`,
		"a weight":   `{"id":"x","v":1,"attempt":{"run":"r","target":"t","backend":"b","situation":{"evidence":[{"weight":1e300}]}}}`,
		"prediction": `{"id":"x","v":1,"attempt":{"run":"r","target":"t","backend":"b","predicted":{"speedup":0}}}`,
		"long":       strings.Repeat("x", 3<<20), "NUL": "\x00\x00\x00",
	} {
		if err := os.WriteFile(s.Path, []byte(bad+"\n"+string(whole)), 0o600); err != nil {
			t.Fatal(err)
		}
		l := read(t, s)
		if len(l.Attempts) != 2 || len(l.Ends) != 0 || len(l.Notes) != 1 || !strings.Contains(l.Notes[0], "the first is line 1") {
			t.Errorf("%s: %d attempts, %d ends, notes %q", name, len(l.Attempts), len(l.Ends), l.Notes)
		}
	}
	if err := os.WriteFile(s.Path, append([]byte(`{"id":"x","v":2,"attempt":"of another kind"}`+"\n"+`{"id":"y","v":2}`+"\n"), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	if l := read(t, s); len(l.Attempts) != 2 || !strings.Contains(strings.Join(l.Notes, "\n"), "newer rooflab") {
		t.Errorf("lines of a newer version: %d attempts, %q", len(l.Attempts), l.Notes)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	s := store(t)
	for i, text := range []string{"sk-abcdefghijklmnopqrstuvwxyz", `const char *password = "hunter22";`, "-----BEGIN RSA PRIVATE KEY-----", "AKIAABCDEFGHIJKLMNOP"} {
		a := attempt("r", fmt.Sprint(i), history.Of("c", misses, nil), 2, "")
		a.Edits[0].Hunks[0].Replace = []string{text}
		add(t, s, a)
		data, err := os.ReadFile(s.Path)
		if err != nil || strings.Contains(string(data), text) {
			t.Errorf("%q is in the file (%v)", text, err)
		}
		if l := read(t, s); l.Attempts[i].Withheld == "" || !slices.Equal(l.Attempts[i].Edits[0].Evidence, []string{"C1"}) {
			t.Errorf("%q: %+v", text, l.Attempts[i])
		}
	}
	if l := read(t, s); len(l.Similar(history.Of("c", misses, nil), 10, "")) > 0 {
		t.Error("an attempt without text is an example")
	}
}

func TestSimilarityIsOfEvidenceAndCodeWithoutNames(t *testing.T) {
	a := history.Of("c", misses, []string{product})
	near := func(got, want float64) bool { return math.Abs(got-want) < 1e-12 }
	if got := history.Similarity(a, a); !near(got, 1) {
		t.Errorf("a situation is like itself by %g", got)
	}
	if got := history.Similarity(a, history.Of("c", misses, []string{renamed})); !near(got, 1) {
		t.Errorf("with other names: %g", got)
	}
	if got := history.Similarity(a, history.Of("opencl", misses, []string{product})); !near(got, 0.6) {
		t.Errorf("in another language: %g", got)
	}
	other := history.Of("c", branches, []string{histogram})
	same, far := history.Similarity(a, history.Of("c", misses, []string{histogram})), history.Similarity(a, other)
	if !(same > 0.6 && far < 0.3) || history.Similarity(a, other) != history.Similarity(other, a) {
		t.Errorf("with the same evidence on other code %g, with other evidence %g", same, far)
	}
	if got := history.Similarity(history.Situation{}, history.Situation{}); got != 0 {
		t.Errorf("what is not known is alike by %g", got)
	}
}

func TestTheMostSimilarAttemptsAreFound(t *testing.T) {
	here, there := history.Of("c", misses, []string{product}), history.Of("c", branches, []string{histogram})
	never := attempt("r1", "never", here, 0, "tile")
	never.Outcome, never.Step = history.Untried, "choose"
	l := &history.Log{Attempts: []history.Attempt{
		attempt("r1", "branch", there, 3, "select"), attempt("r1", "slow", here, 0.7, "unroll"), attempt("r1", "good", here, 2, "interchange"),
		attempt("r2", "good", here, 2, "interchange"), never, attempt("now", "own", here, 5, "own")}}
	got := l.Similar(here, 3, "now")
	var what []string
	for _, m := range got {
		what = append(what, m.Attempt.Name)
	}
	// "good" is there once, though two runs have it; "never" tells nothing; "own" is
	// of the run itself; "branch" is not alike.
	if !slices.Equal(what, []string{"good", "slow"}) {
		t.Errorf("found %q", what)
	}
	if got[0].Result() != "accepted: 2 times as fast" || got[1].Result() != "rejected (slower): 0.7 times as fast" {
		t.Errorf("%q, %q", got[0].Result(), got[1].Result())
	}
	if n := len(l.Similar(here, 1, "now")); n != 1 {
		t.Errorf("%d matches, one was asked for", n)
	}
}

// The rule of thumb of 30 % saved counts as two attempts: of one attempt in the
// same situation that ran twice as fast the posterior is
// (2 ln(1/0.7) + ln 2) / 3.
func TestGainsMoveTheRuleOfThumb(t *testing.T) {
	here := history.Of("c", misses, []string{product})
	wrong := attempt("r2", "w", here, 0, "unroll")
	wrong.Step, wrong.Reason = "validate", "wrong result"
	l := &history.Log{Attempts: []history.Attempt{attempt("r1", "a", here, 2, "interchange"), wrong, attempt("r1", "b", here, 0.5, "unroll"), attempt("now", "own", here, 9, "unroll")}}
	g := l.Gains(here, "now")
	if got, want := g["interchange"].Posterior(0.3), (-2*math.Log(0.7)+math.Log(2))/3; math.Abs(got-want) > 1e-12 {
		t.Errorf("posterior %g, want %g", got, want)
	}
	// ln 1 of what was wrong and ln 0.5: the mean is -ln 2 / 2, of weight 2.
	if u := g["unroll"]; u.N != 2 || math.Abs(u.Log+math.Log(2)/2) > 1e-12 || math.Abs(u.Posterior(0.3)-(-2*math.Log(0.7)-math.Log(2))/4) > 1e-12 {
		t.Errorf("%+v", u)
	}
	if got := (history.Gain{}).Posterior(0.3); math.Abs(got+math.Log(0.7)) > 1e-12 {
		t.Errorf("without attempts %g, want the rule of thumb", got)
	}
	for _, saves := range []float64{-1, 0, 1, 2, math.Inf(1)} {
		if got := (history.Gain{}).Posterior(saves); math.IsNaN(got) || math.IsInf(got, 0) {
			t.Errorf("a rule that saves %g: %g", saves, got)
		}
	}
}

// Two runs of a model, 4x and nothing: the geometric mean is 2. Of three edits
// two know their direction.
func TestBackendsAreSummedUp(t *testing.T) {
	here := history.Of("c", misses, []string{product})
	a, b, c := attempt("r1", "a", here, 4, ""), attempt("r2", "b", here, 0.9, ""), attempt("r3", "c", here, 2, "tile")
	a.Backend, b.Backend = "model", "model"
	a.Scores = []align.Score{{Coverage: align.Part{Of: 1, All: 2}, Direction: align.Part{Of: 1, All: 1}}, {Coverage: align.Part{Of: 2, All: 2}}}
	b.Scores = []align.Score{{Coverage: align.Part{Of: 0, All: 2}, Direction: align.Part{Of: 0, All: 1}, Hallucinated: 3}}
	l := &history.Log{Attempts: []history.Attempt{a, b, c}, Ends: []history.End{{Run: "r1", Backend: "model", Target: "t", Confirmed: true, Speedup: 4, Tokens: 10}, {Run: "r2", Backend: "model", Target: "t", Speedup: 1}}}
	got := l.Backends()
	if len(got) != 2 || got[0].Name != "model" || got[0].Runs != 2 || got[0].Candidates != 2 || got[0].Accepted != 1 || got[0].Confirmed != 1 || math.Abs(got[0].Speedup-2) > 1e-12 || got[0].Tokens != 10 {
		t.Fatalf("%+v", got)
	}
	if s := got[0].Aligned; math.Abs(s.Coverage.Value-0.5) > 1e-12 || s.Direction.Value != 0.5 || s.Direction.N != 2 || s.Hallucinated != 3 {
		t.Errorf("%+v", s)
	}
	if !math.IsNaN(got[1].Speedup) || !strings.Contains(got.String(), "unknown") {
		t.Errorf("a backend without a run that ended has gained %g\n%s", got[1].Speedup, got)
	}
}

// Predictions 2, 1 and 0.5 of what was 1, 1 and 1: the logarithms of the ratios
// are ln 2, 0 and -ln 2, with a root mean square of ln 2 sqrt(2/3).
func TestPredictionsAreHeldAgainstMeasurements(t *testing.T) {
	here := history.Of("c", misses, nil)
	var as []history.Attempt
	low, high := 0.9, 1.1
	for i, p := range []float64{2, 1, 0.5} {
		a := attempt("r", fmt.Sprint(i), here, 1, "")
		a.Predicted = &history.Prediction{Judge: "j", Speedup: p, Level: 0.9}
		if i == 1 {
			a.Predicted.Low, a.Predicted.High = &low, &high
		}
		as = append(as, a)
	}
	skipped := attempt("r", "skipped", here, 0, "")
	skipped.Outcome, skipped.Predicted = history.Untried, &history.Prediction{Judge: "j", Speedup: 0.1, Level: 0.9}
	c := history.Calibrate(append(as, skipped))
	if len(c) != 1 || c[0].N != 3 || c[0].Skipped != 1 || c[0].Bounded != 1 || c[0].Covered != 1 || c[0].Rank != nil ||
		math.Abs(c[0].LogError-math.Ln2*math.Sqrt(2.0/3)) > 1e-12 || math.Abs(c[0].Bias) > 1e-12 {
		t.Errorf("%+v", c)
	}
	// Measured in the order in which they were predicted.
	for i, v := range []float64{3, 2, 1} {
		as[i].Speedup = &v
	}
	if c := history.Calibrate(as); c[0].Rank == nil || *c[0].Rank != 1 || !strings.Contains(c.String(), "0 of 1") {
		t.Errorf("%+v\n%s", c, c)
	}
}

func TestTheFileIsWhereTheUserSays(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "/data")
	for env, want := range map[string]string{"": "/data/rooflab/history.jsonl", "off": "", "/elsewhere/h": "/elsewhere/h"} {
		t.Setenv(history.Env, env)
		if got, err := history.Path(); err != nil || got != want {
			t.Errorf("%s=%q: %q, %v; want %q", history.Env, env, got, err, want)
		}
	}
}
