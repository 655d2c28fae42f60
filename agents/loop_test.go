package agents_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/search"
	"github.com/rooflab/rooflab/agents/target"
	_ "github.com/rooflab/rooflab/collectors/all"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

// A program that does the same over and over: how often is a number in its text,
// so that each edit has the speed that a test wants, by a factor of two and more.
const (
	passesMain = `#include <stdio.h>
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
`
	passesWork = `double work(const double *a, int n)
{
    volatile double sum = 0;
    for (int pass = 0; pass < 240; pass++) {
        sum = 0;
        for (int i = 0; i < n; i++)
            sum += a[i];
    }
    return sum;
}
`
	passesTarget = `name = "passes"
language = "c"
[sources]
editable = ["work.c"]
read_only = ["main.c"]
[build]
commands = [["gcc", "-O1", "-o", "passes", "main.c", "work.c"]]
products = ["passes"]
[inputs]
per_run = 1
[run]
command = ["./passes", "{seed}"]
[[output]]
stdout = true
`
)

func passes(t *testing.T) *target.Target {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatal("gcc is needed (Debian: apt-get install gcc)")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"main.c": passesMain, "work.c": passesWork, "passes.toml": passesTarget} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tg, err := target.Load(filepath.Join(dir, "passes.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

var passCount = regexp.MustCompile(`pass < (\d+)`)

func passesOf(sources []edit.Source) int {
	for _, s := range sources {
		if m := passCount.FindStringSubmatch(s.Text); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
	}
	return 0
}

// ladder proposes other numbers of passes by the one that there is.
type ladder struct {
	steps map[int][]int
	mu    sync.Mutex
	asked []int
	cases []agents.Case
}

func (*ladder) Name() string { return "ladder" }

func (l *ladder) Advise(_ context.Context, c agents.Case) (agents.Advice, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := passesOf(c.Sources)
	l.asked, l.cases = append(l.asked, now), append(l.cases, c)
	out := agents.Advice{Supplied: agents.Supplied(c.Report)}
	for _, n := range l.steps[now] {
		at := fmt.Sprintf("    for (int pass = 0; pass < %d; pass++) {", now)
		e := edit.Edit{Evidence: out.Supplied[:1], Why: "fewer passes", Hunks: []edit.Hunk{{File: "work.c", Search: []string{at}, Replace: []string{strings.Replace(at, fmt.Sprint(now), fmt.Sprint(n), 1)}}}}
		out.Proposals = append(out.Proposals, agents.Proposal{Name: fmt.Sprintf("%d to %d", now, n), Edits: []edit.Edit{e}, Transformation: "fewer-passes"})
	}
	return out, nil
}

func optimize(t *testing.T, tg *target.Target, opt agents.Options) *agents.Result {
	t.Helper()
	if opt.Dir == "" {
		opt.Dir = filepath.Join(t.TempDir(), "out")
	}
	if opt.Progress == nil {
		opt.Progress = func(e agents.Event) { t.Log(e) }
	}
	res, err := agents.Optimize(t.Context(), tg, opt)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// fates are what came of candidates, by name, when they were first proposed.
func fates(r *agents.Result) map[string]string {
	out := map[string]string{}
	for _, c := range r.Candidates() {
		fate := "kept"
		if c.Rejected != nil {
			fate = string(c.Rejected.Reason)
		}
		if _, before := out[c.Proposal.Name]; !before { // a later turn may propose it again
			out[c.Proposal.Name] = fate
		}
	}
	return out
}

// From the fastest of the first round nothing leads on; from the second there is a
// way to something faster. One who keeps the best alone does not find it.
func TestABeamFindsWhatTheBestAloneDoesNot(t *testing.T) {
	steps := map[int][]int{240: {60, 120}, 120: {1, 60}}
	tg := passes(t)
	best := optimize(t, tg, agents.Options{Advisor: &ladder{steps: steps}})
	if got := fates(best); got["240 to 60"] != "kept" || got["240 to 120"] != "outdone" || len(got) != 2 || best.Search != "best" {
		t.Fatalf("best of n: %v", got)
	}
	l := &ladder{steps: steps}
	store := &history.Store{Path: filepath.Join(t.TempDir(), "history.jsonl")}
	opt := agents.Options{Advisor: l, Search: search.Beam{Width: 2}, Dir: filepath.Join(t.TempDir(), "out"), History: store}
	beam := optimize(t, tg, opt)
	if got := fates(beam); got["240 to 60"] != "kept" || got["240 to 120"] != "kept" || got["120 to 1"] != "kept" || got["120 to 60"] != "repeated" {
		t.Errorf("a beam of two: %v", got)
	}
	if f := beam.Final.Files; len(f) != 1 || !strings.Contains(f[0].Text, "pass < 1;") || !beam.Confirmed {
		t.Errorf("the result is %+v, confirmed: %v", f, beam.Confirmed)
	}
	// The original, then both programs of the beam in the second round, and what was
	// found in the third. Each was profiled once.
	if !slices.Equal(l.asked, []int{240, 60, 120, 1}) {
		t.Errorf("advice was asked for on %v", l.asked)
	}
	for i, round := range beam.Rounds {
		if want := []int{1, 2, 2, 3}[i]; round.N != i+1 || round.Depth != want {
			t.Errorf("turn %d is number %d of round %d, want round %d", i+1, round.N, round.Depth, want)
		}
	}
	journal, err := os.ReadFile(filepath.Join(opt.Dir, "journal.jsonl"))
	if err != nil || strings.Count(string(journal), `{"step":"profile/`) != 4 {
		t.Errorf("%d profiles (%v), want those of four programs", strings.Count(string(journal), `{"step":"profile/`), err)
	}
	// What failed here may be proposed again there, and what was outdone; what the
	// program itself has seen may not.
	if c := l.cases[2]; len(c.Tried) != 2 || len(c.Done) != 0 || c.Round != 2 {
		t.Errorf("advice on the second program: %d attempts, %d of them done, round %d", len(c.Tried), len(c.Done), c.Round)
	}
	written := readAttempts(t, store)
	if len(written) != 4 || written[0].Outcome != history.Kept || written[0].Transformation != "fewer-passes" || !written[0].Measured() || len(written[0].Features) == 0 || len(written[0].Scores) != 1 {
		t.Errorf("the history holds %+v", written)
	}

	// The same call again does nothing that was done.
	again := optimize(t, tg, opt)
	if len(l.asked) != 4 || again.Final.ID != beam.Final.ID || len(readAttempts(t, store)) != 4 {
		t.Errorf("again: advice was asked %d times, the result is %s and not %s, the history holds %d attempts", len(l.asked), again.Final.ID, beam.Final.ID, len(readAttempts(t, store)))
	}
	// Its answers are given again to the programs that they were given for.
	recorded, err := agents.Replay(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	given := func(round int, base string) (names, notes []string) {
		a, err := recorded.Advise(t.Context(), agents.Case{Target: tg, Report: beam.Rounds[0].Evidence.Report, Sources: tg.Sources(), Round: round, Base: base})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range a.Proposals {
			names = append(names, p.Name)
		}
		return names, a.Notes
	}
	for i, want := range [][]string{{"240 to 60", "240 to 120"}, nil, {"120 to 1", "120 to 60"}, nil} {
		round := beam.Rounds[i]
		if l.cases[i].Base != round.Base {
			t.Errorf("turn %d: the advisor is told of %q, and the record of %q", i+1, l.cases[i].Base, round.Base)
		}
		if got, _ := given(round.Depth, round.Base); !slices.Equal(got, want) {
			t.Errorf("turn %d has the answers %q, want %q", i+1, got, want)
		}
	}
	if got, notes := given(2, "another"); len(got) != 0 || len(notes) != 1 || !strings.Contains(notes[0], beam.Rounds[2].Base) {
		t.Errorf("a program that the run did not have: %q, %q", got, notes)
	}
	if got, _ := given(1, "another"); len(got) != 2 { // the round had one program
		t.Errorf("a first round that begins with another program: %q", got)
	}
	opt.Search = search.Best{}
	if _, err := agents.Optimize(t.Context(), tg, opt); err == nil || !strings.Contains(err.Error(), "another folder") {
		t.Errorf("another search in the same folder: %v", err)
	}
}

func readAttempts(t *testing.T, s *history.Store) []history.Attempt {
	t.Helper()
	l, err := s.Read(t.Context())
	if err != nil || len(l.Notes) > 0 {
		t.Fatal(err, l.Notes)
	}
	return l.Attempts
}

// meter says joules that a test wants, by whose turn it is: a warm-up of each side,
// then A B B A and B A A B. The original takes 10 J.
type meter struct {
	joules map[string]float64
	now    string
	n      int
}

func (*meter) Name() string { return "test" }

func (m *meter) Begin(context.Context) (func() (float64, error), error) {
	const turns = "OCCOCOOC"
	side := turns[max(0, m.n-2)%len(turns)]
	if m.n < 2 {
		side = "OC"[m.n]
	}
	m.n++
	return func() (float64, error) {
		if side == 'C' {
			return m.joules[m.now], nil
		}
		return 10, nil
	}, nil
}

func (m *meter) hear(e agents.Event) {
	if strings.HasPrefix(e.Text, "measuring") {
		m.now, m.n = e.Candidate, 0
	}
}

// One is faster and takes more energy, one takes less at the same speed, one takes
// more of both: the first two are the front, with the original where its time is
// not more than the second's. What is preferred decides.
func TestAParetoSearchKeepsTimeAndEnergy(t *testing.T) {
	m := &meter{joules: map[string]float64{"240 to 12": 12, "240 to 239": 5, "240 to 480": 20, "": 9}}
	res := optimize(t, passes(t), agents.Options{Advisor: &ladder{steps: map[int][]int{240: {12, 239, 480}}}, Search: search.Pareto{}, Prefer: search.Energy, Rounds: 1,
		Sensors: &measure.Sensors{Meters: []measure.Meter{m}}, Progress: func(e agents.Event) { m.hear(e); t.Log(e) }, Measure: agents.MeasureOptions{Max: 8}})
	got := fates(res)
	if got["240 to 12"] != "kept" || got["240 to 239"] != "kept" || got["240 to 480"] == "kept" {
		t.Fatalf("%v", got)
	}
	names := map[string]agents.FrontRow{}
	for _, f := range res.Front {
		names[f.Name] = f
	}
	fast, frugal := names["240 to 12"], names["240 to 239"]
	if fast.Candidate != "1.1" || len(fast.Measurements) != 1 || len(frugal.Measurements) != 1 || fast.Chosen || !frugal.Chosen {
		t.Errorf("the front is %+v", res.Front)
	}
	if math.Abs(fast.Energy()-0.9) > 1e-9 || !(fast.Time() < frugal.Time()) {
		t.Errorf("the meter says 9 J in place of 10 at the end, and the front %g; the times are %g and %g", fast.Energy(), fast.Time(), frugal.Time())
	}
	if !strings.Contains(res.Final.Files[0].Text, "pass < 239;") || !res.Confirmed || res.Aim != agents.LessEither {
		t.Errorf("the result is %+v, confirmed: %v", res.Final.Files, res.Confirmed)
	}
	if text := res.String(); !strings.Contains(text, "chosen by energy") || !strings.Contains(text, "passes takes 0.9 times the energy") {
		t.Errorf("the report does not show the front:\n%s", text)
	}
}

func TestAParetoSearchNeedsASensor(t *testing.T) {
	_, err := agents.Optimize(t.Context(), passes(t), agents.Options{Dir: t.TempDir(), Search: search.Pareto{}, Sensors: &measure.Sensors{Note: "energy: no RAPL here"}})
	if err == nil || !strings.Contains(err.Error(), "no RAPL here") || !strings.Contains(err.Error(), "beam:K") {
		t.Errorf("%v", err)
	}
}

// teller predicts a speed-up from the numbers of passes, twice what it is; of 239
// passes it cannot tell.
type teller struct{}

func (teller) Name() string { return "teller" }

func (teller) Rank(_ context.Context, base judge.Program, cs []judge.Program) ([]judge.Verdict, error) {
	var out []judge.Verdict
	for _, c := range cs {
		if passesOf(c.Sources) == 239 {
			out = append(out, judge.Unknown("239 is not known"))
			continue
		}
		v := 2 * float64(passesOf(base.Sources)) / float64(passesOf(c.Sources))
		out = append(out, judge.Verdict{Speedup: v, Low: v / 100, High: 100 * v, Level: 0.8})
	}
	return out, nil
}

func TestAJudgeSaysWhatIsMeasured(t *testing.T) {
	tg := passes(t)
	store := &history.Store{Path: filepath.Join(t.TempDir(), "history.jsonl")}
	res := optimize(t, tg, agents.Options{Advisor: &ladder{steps: map[int][]int{240: {239, 60, 12, 120}}}, Judge: teller{}, Keep: 1, Rounds: 1, History: store, Measure: agents.MeasureOptions{Max: 8}})
	got := fates(res)
	if got["240 to 12"] != "kept" || got["240 to 60"] != "judged slower" || got["240 to 120"] != "judged slower" || got["240 to 239"] == "judged slower" {
		t.Fatalf("%v", got)
	}
	for _, c := range res.Candidates() {
		if (len(c.Measurements) > 0) != (c.Rejected == nil || c.Rejected.Reason != agents.JudgedSlower) || c.Predicted == nil {
			t.Errorf("%s: %d measurements, predicted %+v, %+v", c.Proposal.Name, len(c.Measurements), c.Predicted, c.Rejected)
		}
	}
	// One prediction was held against a measurement: 40 times, within 0.4 to 4000.
	if j := res.Judged; len(j) != 1 || j[0].Judge != "teller" || j[0].N != 1 || j[0].Covered != 1 || j[0].Skipped != 2 || j[0].Rank != nil || !strings.Contains(res.String(), "teller") {
		t.Errorf("%+v", j)
	}
	if !slices.Contains(res.Rounds[0].Notes, "not judged: 239 is not known") {
		t.Errorf("notes %q", res.Rounds[0].Notes)
	}
	log, err := store.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if j := log.Judges(); len(j) != 1 || j[0].N != 1 || j[0].Skipped != 2 {
		t.Errorf("the history knows %+v", j)
	}
}

// A run is told of what was alike in others and not of itself; what it was told is
// the same when it goes on, whatever the history holds by then.
func TestARunLearnsFromOthers(t *testing.T) {
	store := &history.Store{Path: filepath.Join(t.TempDir(), "history.jsonl")}
	first := &ladder{steps: map[int][]int{240: {12}}}
	options := agents.Options{History: store, Learn: 2, Rounds: 1, Measure: agents.MeasureOptions{Max: 8}}
	opt := options
	opt.Advisor, opt.Dir = first, filepath.Join(t.TempDir(), "first")
	res := optimize(t, passes(t), opt)
	if past := first.cases[0].Past; past == nil || len(past.Examples) != 0 || !strings.Contains(strings.Join(res.Rounds[0].Notes, "\n"), "holds nothing like this") {
		t.Errorf("an empty history has taught %+v, notes %q", past, res.Rounds[0].Notes)
	}
	second := &ladder{steps: map[int][]int{240: {60}}}
	opt.Advisor, opt.Dir = second, filepath.Join(t.TempDir(), "second")
	tg := passes(t)
	res = optimize(t, tg, opt)
	past := second.cases[0].Past
	if past == nil || len(past.Examples) != 1 || past.Gains["fewer-passes"].N != 1 || !(past.Gains["fewer-passes"].Log > 0) {
		t.Fatalf("it was told %+v", past)
	}
	e := past.Examples[0]
	if !strings.Contains(e.Outcome, "accepted") || len(e.Edits) != 1 || len(e.Edits[0].Evidence) != 0 || e.Edits[0].Hunks[0].File == "work.c" || !strings.Contains(e.Edits[0].Hunks[0].Replace[0], "pass < 12;") {
		t.Errorf("the example is %+v", e)
	}
	again := optimize(t, tg, opt)
	if len(second.cases) != 1 || again.Resumed <= res.Resumed || len(again.Rounds[0].Past.Examples) != 1 {
		t.Errorf("asked %d times, resumed %d steps, told %+v", len(second.cases), again.Resumed, again.Rounds[0].Past)
	}
	opt.History = nil
	if _, err := agents.Optimize(t.Context(), tg, opt); err == nil || !strings.Contains(err.Error(), "no history") {
		t.Errorf("learning without a history: %v", err)
	}
	// A history that cannot be written does not end a run: it is said.
	opt = options
	opt.Advisor, opt.Learn, opt.History = &ladder{}, 0, &history.Store{Path: filepath.Join(tg.Path, "no", "folder")}
	if res := optimize(t, tg, opt); len(res.Notes) == 0 || !strings.Contains(res.Notes[0], "writing the history") {
		t.Errorf("notes %q", res.Notes)
	}
}
