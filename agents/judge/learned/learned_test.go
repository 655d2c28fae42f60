package learned_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/agents/judge/learned"
)

// attempts are made up: a speed-up is 2^(-x/4 + 2 parallel), with some noise, of
// which x and the rest are static changes; "noise" has nothing to do with it.
func attempts(targets, each int, noise float64) []history.Attempt {
	r := rand.New(rand.NewPCG(3, 4))
	var out []history.Attempt
	for t := range targets {
		for i := range each {
			x, parallel := r.NormFloat64()*3, float64(r.IntN(2))
			y := math.Exp2(-x/4 + 2*parallel + noise*r.NormFloat64())
			name := fmt.Sprintf("target %d", t)
			out = append(out, history.Attempt{ID: history.Identify(name, i, "", ""), Run: name, Target: name, Backend: "b", Speedup: &y,
				Features: map[string]float64{"log2_strided": x, "more_parallel": parallel, "log2_noise": r.NormFloat64()}})
		}
	}
	return out
}

func TestWhatMadeOthersFasterIsLearnt(t *testing.T) {
	as := attempts(12, 6, 0.1)
	m, err := learned.Fit(t.Context(), as)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		changes map[string]float64
		want    float64 // by the formula
	}{{map[string]float64{"log2_strided": -4}, 2}, {map[string]float64{"more_parallel": 1, "log2_strided": 4}, 2}, {map[string]float64{"log2_strided": 4, "of another kind": 7}, 0.5}} {
		v, err := m.Judge(t.Context(), c.changes)
		if err != nil || math.Abs(math.Log(v.Speedup/c.want)) > 0.15 || !(v.Low < v.Speedup && v.Speedup < v.High) || math.IsInf(v.High, 1) || v.Level != judge.Level {
			t.Errorf("%v: %+v, want about %g (%v)", c.changes, v, c.want, err)
		}
	}
	s, err := learned.LeaveOneOut(t.Context(), as, 2)
	if err != nil {
		t.Fatal(err)
	}
	// The noise is 0.1 octaves, a factor of 1.07; the spread of all is above 2.
	if s.LogError > 0.15 || s.Median < 0.6 || s.Rank < 0.9 || s.Covered < 0.6 || s.Compared != 12 || s.Regret < 1 || s.Regret > 1.1 {
		t.Errorf("%+v", s)
	}
}

// Of speed-ups of 1, 2 and 4 at each target, two of three drawn blindly hold the
// best in 2 of 3 cases, else the second, which takes twice as long: 2^(1/3) times.
func TestBlindChoiceIsWhatAJudgeMustBeat(t *testing.T) {
	as := attempts(8, 3, 0)
	for i := range as {
		y := math.Exp2(float64(i % 3))
		as[i].Speedup = &y
	}
	s, err := learned.LeaveOneOut(t.Context(), as, 2)
	if err != nil || math.Abs(s.Chance-math.Cbrt(2)) > 1e-12 || !strings.Contains(s.String(), "2 drawn blindly 1.26 times (8 targets)") {
		t.Errorf("%+v, %v\n%s", s, err, s)
	}
}

// Of noise alone nothing can be learnt, and the skill says so.
func TestWhatCannotBeLearntShows(t *testing.T) {
	as := attempts(10, 5, 0)
	r := rand.New(rand.NewPCG(5, 6))
	for i := range as {
		y := math.Exp(r.NormFloat64())
		as[i].Speedup = &y
	}
	s, err := learned.LeaveOneOut(t.Context(), as, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.LogError < 0.9*s.Median || math.Abs(s.Rank) > 0.5 {
		t.Errorf("it tells noise: %+v", s)
	}
}

func TestAShortHistoryJudgesNothing(t *testing.T) {
	store := history.Store{Path: filepath.Join(t.TempDir(), "history.jsonl")}
	base := judge.Program{ID: "original", Language: "c", Sources: []edit.Source{{Path: "f.c", Text: "void f(double *a, int n)\n{\n    for (int i = 0; i < n; i++) a[i * n] = 0;\n}\n"}}}
	faster := base
	faster.ID, faster.Sources = "p", []edit.Source{{Path: "f.c", Text: "void f(double *a, int n)\n{\n    for (int i = 0; i < n; i++) a[i] = 0;\n}\n"}}
	j := learned.New(store)
	for _, as := range [][]history.Attempt{nil, attempts(5, 3, 0)} {
		if _, err := store.Add(t.Context(), as, nil); err != nil {
			t.Fatal(err)
		}
		got, err := j.Rank(t.Context(), base, []judge.Program{faster})
		if err != nil || len(got) != 1 || got[0].Known() || !strings.Contains(got[0].Why, "needed") {
			t.Errorf("of %d attempts: %+v, %v", len(as), got, err)
		}
	}
	if _, err := learned.Fit(t.Context(), attempts(3, 30, 0)); err == nil || !strings.Contains(err.Error(), "at 3 targets") {
		t.Errorf("of three targets: %v", err)
	}
	if _, err := store.Add(t.Context(), attempts(12, 6, 0.1), nil); err != nil {
		t.Fatal(err)
	}
	got, err := j.Rank(t.Context(), base, []judge.Program{faster, base})
	if err != nil || !got[0].Known() || !(got[0].Speedup > got[1].Speedup) {
		t.Errorf("a loop without its stride is judged %+v, the program itself %+v (%v)", got[0], got[1], err)
	}
}
