package agents

import (
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/review"
	moved "github.com/rooflab/rooflab/agents/review/chart"
	"github.com/rooflab/rooflab/modeling/insight"
)

// What moved is what the kept edits cite or predict, from the original to the
// result, and each stall reason; not what an edit that was turned down cites.
func TestMovesAreOfWhatIsCited(t *testing.T) {
	r, _ := decidable(t)
	r.Rounds[0].Evidence.Metrics = map[string]Number{"D1mr": 100, "Bcm": 5, "pc_sample:long_scoreboard": 0.6, "pc_sample:barrier": 0.1}
	r.Rounds[1].Evidence.Metrics = map[string]Number{"D1mr": 10, "Bcm": 5, "pc_sample:long_scoreboard": 0.2}
	want := []moved.Move{
		{Metric: "time", Unit: "s", Before: 2, After: 1},
		{Metric: "D1mr", Before: 100, After: 10, Fate: review.True},
		{Metric: "pc_sample:long_scoreboard", Before: 0.6, After: 0.2},
	}
	if got := r.Moves(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if page := r.HTML(); strings.Contains(page, "no stalls to compare") {
		t.Error("the page says that there are no stalls")
	}
	r.Final = &Program{ID: "original"}
	if got := r.Moves(); got != nil {
		t.Errorf("nothing was kept, and %+v moved", got)
	}
}

func TestARooflineThatCannotBeMadeSaysWhy(t *testing.T) {
	r, _ := decidable(t)
	share := 0.9
	r.Rounds[0].Evidence.Report.Kernels = []*insight.Kernel{{Name: "matmul", Share: &share, Unit: "Ir"}}
	if _, _, err := r.Roofline(t.Context()); err == nil || !strings.Contains(err.Error(), "the profile of original is gone") {
		t.Error(err)
	}
	r.Rounds[0].Evidence.Report.Kernels = nil
	if _, _, err := r.Roofline(t.Context()); err == nil || !strings.Contains(err.Error(), "names no kernel") {
		t.Error(err)
	}
	r.Final = nil
	if _, _, err := r.Roofline(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing was kept") {
		t.Error(err)
	}
}

// Runs of one backend on one target are told apart, so that both are drawn.
func TestScoresOfSeveralRunsAreNamed(t *testing.T) {
	r, _ := decidable(t)
	r.Scores = r.scores()
	other := &Result{Target: "heat", Advisor: "a model", Scores: r.Scores[:1]}
	var runs []string
	for _, s := range ScoresOf(r, r, other).ByRun() {
		runs = append(runs, s.Run)
	}
	if want := []string{"matmul", "matmul (2)", "heat"}; !slices.Equal(runs, want) {
		t.Errorf("runs %q, want %q", runs, want)
	}
}
