package agents

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/change"
	"github.com/rooflab/rooflab/modeling/insight"
)

const fasterText = "#include \"matmul.h\"\n// faster\n"

// decidable is a run of which two candidates were kept, one on top of the other,
// and one was turned down for being outdone, as if it had been made.
func decidable(t *testing.T) (r *Result, source string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"main.c", "matmul.c", "matmul.h", "matmul.toml"} {
		text, err := os.ReadFile(filepath.Join("testdata/matmul", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	tg, err := target.Load(filepath.Join(dir, "matmul.toml"))
	if err != nil {
		t.Fatal(err)
	}
	faster := []Measurement{{Size: "256", Verdict: change.Faster, Speedup: 2, Low: 1.5, High: 2.5, BeforeMed: 2, AfterMed: 1}}
	program := func(id, text string) *Program {
		return &Program{ID: id, Files: []edit.File{{Path: "matmul.c", Text: text}}}
	}
	report := &insight.Report{Items: []insight.Item{{ID: "X1", Statement: "Line 10 misses.", Metric: "D1mr", Value: 100, Location: &insight.Location{File: "matmul.c", Line: 10}}}}
	before := &Evidence{Program: "original", Store: "evidence/original.db", Report: report, Metrics: map[string]Number{"D1mr": 100}}
	after := &Evidence{Program: "p1", Store: "evidence/p1.db", Report: report, Metrics: map[string]Number{"D1mr": 10}}
	cand := func(round int, base, name, id, text string) *Candidate {
		o := edit.Outcome{Edit: edit.Edit{Why: "why " + name, Evidence: []string{"X1"}, Predictions: []edit.Prediction{{Metric: "D1mr", Direction: edit.Down}}},
			Changes: []edit.Change{{File: "matmul.c", Old: edit.Range{Start: 10, End: 10}, New: edit.Range{Start: 10, End: 10}}}}
		return &Candidate{Round: round, Base: base, Proposal: Proposal{Name: name}, Outcomes: []edit.Outcome{o}, Program: program(id, text),
			Diff:       "--- a/matmul.c\n+++ b/matmul.c\n@@ -10,1 +10,1 @@\n-                sum += a[i * n + k] * b[k * n + j];\n+                sum += 1;\n",
			Validation: &Validation{OK: true}, Measurements: faster, After: after}
	}
	one, two, less := cand(1, "original", "interchange", "p1", fasterText+"1\n"), cand(2, "p1", "tiling", "p2", fasterText+"2\n"), cand(1, "original", "unrolling", "p3", fasterText+"3\n")
	wrong := cand(1, "original", "wrong", "p4", fasterText+"4\n")
	one.Kept, two.Kept = true, true
	less.Rejected = &Rejection{Choosing, Outdone, "another is faster"}
	wrong.Validation, wrong.Measurements, wrong.Rejected = &Validation{}, nil, &Rejection{Validating, WrongResult, "out.bin differs"}
	refused := &Candidate{Round: 2, Base: "p1", Proposal: Proposal{Name: "made up", Text: "the answer"}, Rejected: &Rejection{Editing, "unknown evidence", "S17 was not supplied"},
		Outcomes: []edit.Outcome{{Edit: edit.Edit{Evidence: []string{"S17"}, Hunks: []edit.Hunk{{File: "matmul.c", Search: []string{"old text"}, Replace: []string{"new text"}}}},
			Rejected: &edit.Rejection{Reason: edit.UnknownEvidence, Detail: "S17 was not supplied"}}}}
	return &Result{Target: "matmul", Advisor: "rules", Dir: t.TempDir(), Stopped: "it was made up", Final: two.Program, Measurements: faster, Confirmed: true, target: tg,
		Rounds: []*Round{{N: 1, Base: "original", Evidence: before, Supplied: []string{"X1"}, Candidates: []*Candidate{one, less, wrong}},
			{N: 2, Base: "p1", Evidence: after, Supplied: []string{"X1"}, Candidates: []*Candidate{two, refused}}}}, filepath.Join(dir, "matmul.c")
}

func text(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestWhatIsAcceptedIsWrittenAndRecorded(t *testing.T) {
	r, source := decidable(t)
	if _, err := r.Accept(); err != nil {
		t.Fatal(err)
	}
	if got := text(t, source); got != fasterText+"2\n" {
		t.Errorf("the source is %q", got)
	}
	ds, err := review.Read(r.Dir)
	if err != nil || len(ds) != 1 || ds[0].Verdict != review.Accepted || ds[0].Program != "p2" || ds[0].Candidate != "2.1" || !ds[0].Confirmed || len(ds[0].Files) != 1 {
		t.Errorf("%+v, %v", ds, err)
	}
	for _, name := range []string{"report.html", "report.txt"} {
		if page := text(t, filepath.Join(r.Dir, name)); !strings.Contains(page, "accepted on 20") {
			t.Errorf("%s does not say that it was accepted:\n%s", name, page)
		}
	}
	if !strings.Contains(text(t, filepath.Join(r.Dir, "result.json")), `"decision": "accepted"`) {
		t.Error("result.json has no decision")
	}
	// What is there already is accepted again, and another over it is not.
	if _, err := r.Accept("tiling"); err != nil {
		t.Error(err)
	}
	if _, err := r.Accept("1.1"); err == nil || !strings.Contains(err.Error(), "matmul.c has changed since the run began") {
		t.Errorf("another program was written over the first: %v", err)
	}
}

func TestWhatIsRejectedIsNotApplied(t *testing.T) {
	r, source := decidable(t)
	original := text(t, source)
	if _, err := r.Reject("interchange", "it reads badly <b>"); err != nil {
		t.Fatal(err)
	}
	// The result builds on it.
	for name, err := range map[string]error{"Accept": second(r.Accept()), "Apply": r.Apply()} {
		if err == nil || !strings.Contains(err.Error(), "1.1 (interchange) was rejected: it reads badly") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if text(t, source) != original {
		t.Fatal("the source was changed")
	}
	// Whoever opens the folder later is told, too.
	again, _ := decidable(t)
	again.Dir, again.target = r.Dir, r.target
	if err := again.Apply(); err == nil || !strings.Contains(err.Error(), "was rejected") {
		t.Errorf("another process applied it: %v", err)
	}
	if page := text(t, filepath.Join(r.Dir, "report.html")); !strings.Contains(page, "it reads badly &lt;b&gt;") {
		t.Error("the page lacks the reason")
	}
	if s := r.Review().String(); !strings.Contains(s, "rejected on 20") || !strings.Contains(s, "none yet") {
		t.Errorf("%s", s)
	}
	// What does not build on it can be had by name, and so can what was rejected.
	if _, err := r.Accept("1.2"); err != nil {
		t.Error(err)
	}
	if got := text(t, source); got != fasterText+"3\n" {
		t.Errorf("the source is %q", got)
	}
	if ds, _ := review.Read(r.Dir); len(ds) != 2 || ds[1].Confirmed {
		t.Errorf("%+v", ds)
	}
}

func second(_ *Review, err error) error { return err }

func TestNothingElseIsAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *Result, source string)
		accept []string
		want   string
	}{
		"a source that was changed": {func(_ *Result, source string) { _ = os.WriteFile(source, []byte("mine\n"), 0o644) }, nil, "has changed since the run began"},
		"another source": {func(_ *Result, source string) {
			_ = os.WriteFile(filepath.Join(filepath.Dir(source), "matmul.h"), nil, 0o644)
		}, nil, "matmul.h has changed"},
		"a source that is gone": {func(_ *Result, source string) { _ = os.Remove(source) }, nil, "matmul.c"},
		"what is wrong":         {nil, []string{"wrong"}, "out.bin differs"},
		"what was no program":   {nil, []string{"2.2"}, "S17 was not supplied"},
		"what is not there":     {nil, []string{"7.1"}, "there are 1.1, 1.2, 1.3, 2.1, 2.2"},
		"two":                   {nil, []string{"1.1", "1.2"}, "name one"},
		"without a confirmed gain": {func(r *Result, _ string) {
			r.Confirmed, r.Measurements = false, []Measurement{{Verdict: change.Unclear, Speedup: Number(math.NaN())}}
		}, nil, "no confirmed gain"},
		"without a gain":             {func(r *Result, _ string) { r.Final = &Program{ID: "original"} }, nil, "nothing was kept"},
		"a target that is not known": {func(r *Result, _ string) { r.target = nil }, nil, "run Optimize again"},
	} {
		r, source := decidable(t)
		if c.change != nil {
			c.change(r, source)
		}
		before, _ := os.ReadFile(source)
		if _, err := r.Accept(c.accept...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error that says %q", name, err, c.want)
		}
		if after, _ := os.ReadFile(source); string(after) != string(before) {
			t.Errorf("%s: the source was changed", name)
		}
		if ds, err := review.Read(r.Dir); err != nil || len(ds) != 0 {
			t.Errorf("%s: decisions %+v, %v", name, ds, err)
		}
	}
	r, _ := decidable(t)
	for _, c := range [][2]string{{"1.1", ""}, {"made up", "x"}, {"nobody", "x"}} {
		if _, err := r.Reject(c[0], c[1]); err == nil {
			t.Errorf("%s was rejected because of %q", c[0], c[1])
		}
	}
}

func TestTheReportHasEvidenceBesideEachHunk(t *testing.T) {
	r, _ := decidable(t)
	page := r.HTML()
	for _, want := range []string{"1.1 interchange: kept", "2.2 made up: turned down by edit (unknown evidence)", "1.3 wrong: turned down by validate (wrong result)", "out.bin differs",
		"<details open><summary>", "matmul.c, lines 10 before, 10 after", "Line 10 misses.", "D1mr = 100, at matmul.c:10 (these lines)", "why interchange",
		"✓ predicts D1mr down: came true, from 100 to 10 (x 0.1)", "<del>- old text</del>", "made up: the evidence has no item of this id", "the answer",
		"no roofline: the profile names no kernel", "there are no stalls to compare", "To decide", `alt="Before and after: time from 2 to 1; D1mr from 100 to 10"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, not := range []string{"http://", "https://", "<script", "src=\"/", "url("} {
		if strings.Contains(page, not) {
			t.Errorf("the page has %q: it is to need nothing else", not)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

func TestNothingOfARunIsMarkup(t *testing.T) {
	const evil = `</details><script>alert(1)</script><img src=x onerror="a()">'"&` + "\x1b[2J\u202e"
	r, _ := decidable(t)
	r.Target, r.Advisor, r.Stopped, r.Notes = evil, evil, evil, []string{evil}
	for _, c := range r.Candidates() {
		c.Proposal = Proposal{Name: evil, Text: evil, Notes: []string{evil}, Problems: []edit.Rejection{{Reason: evil, File: evil, Detail: evil}}}
		c.Diff = "--- a/" + evil + "\n+++ b/" + evil + "\n@@ -1 +1 @@\n-" + evil + "\n+" + evil + "\n"
		c.Repairs = []Repair{{Failed: evil}}
		if c.Rejected != nil {
			c.Rejected = &Rejection{evil, evil, evil}
		}
		for i := range c.Outcomes {
			e := &c.Outcomes[i].Edit
			e.Why, e.Evidence, e.Predictions = evil, []string{evil}, []edit.Prediction{{Metric: evil, Direction: evil}}
			e.Hunks = []edit.Hunk{{File: evil, Search: []string{evil}, Replace: []string{evil}}}
		}
	}
	for _, round := range r.Rounds {
		round.Notes = []string{evil}
		round.Evidence.How = evil
		round.Evidence.Report.Items[0] = insight.Item{ID: evil, Statement: evil, Metric: evil, Unit: evil, Location: &insight.Location{File: evil, Line: 3}}
		round.Evidence.Metrics = map[string]Number{evil: 1}
		round.Evidence.Report.Kernels = []*insight.Kernel{{Name: evil}}
	}
	r.Measurements = []Measurement{{Size: evil, Verdict: evil, Failed: ""}, {Size: evil, Failed: evil}}
	r.Decisions = []review.Decision{{Program: "p1", Verdict: review.Rejected, Why: evil}}
	r.Scores = r.scores()
	page := r.Page()
	if n := strings.Count(page, "&lt;script&gt;"); n < 30 {
		t.Errorf("the text is %d times on the page, want it everywhere", n)
	}
	for _, not := range []string{"\x1b", "\u202e"} { // which a terminal obeys
		if strings.Contains(r.String(), not) {
			t.Errorf("the text has %q", not)
		}
	}
	for _, not := range []string{"<script", "<img src=x", "onerror=\"", "\x1b", "\u202e"} {
		if at := strings.Index(page, not); at >= 0 {
			t.Errorf("the page has %q: %s", not, page[max(0, at-200):at+100])
		}
	}
}
