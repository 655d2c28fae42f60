package agents_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/history"
	"github.com/rooflab/rooflab/agents/prompt"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/insight"
)

// What has gained much in situations like this one goes first, what has only ever
// made programs slower goes last, and the notes say so.
func TestTheHistoryOrdersRules(t *testing.T) {
	tg, err := target.Load("testdata/matmul/matmul.toml")
	if err != nil {
		t.Fatal(err)
	}
	c := agents.Case{Target: tg, Sources: tg.Sources(), Round: 1, Report: &insight.Report{Items: []insight.Item{
		{ID: "H1", Kind: insight.Hot, Verdict: insight.Fact, Kernel: "matmul", Share: 1, Metric: "Ir", Importance: 1}}}}
	names := func(c agents.Case) (out, notes []string) {
		advice, err := agents.Rules(100, rules.Options{Uncited: true}).Advise(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range advice.Proposals {
			out = append(out, p.Transformation)
		}
		return out, advice.Notes
	}
	plain, _ := names(c)
	if len(plain) < 3 || slices.Contains(plain, "") {
		t.Fatalf("the rules propose %q", plain)
	}
	last, first := plain[len(plain)-1], plain[0]
	// ln 8 with the weight of 20 attempts, and ln 0.5.
	c.Past = &agents.Recollected{Gains: map[string]history.Gain{last: {Log: 2.079, Weight: 20, N: 25}, first: {Log: -0.693, Weight: 20, N: 25}}}
	ordered, notes := names(c)
	if ordered[0] != last || ordered[len(ordered)-1] != first {
		t.Errorf("before %q, after %q", plain, ordered)
	}
	if text := strings.Join(notes, "\n"); !strings.Contains(text, "history: "+last+" was 8 times as fast in 25 attempts") || !strings.Contains(text, "history: "+first+" was 0.5 times") {
		t.Errorf("notes %q", notes)
	}
	c.Past = &agents.Recollected{}
	if same, _ := names(c); !slices.Equal(same, plain) {
		t.Errorf("a history without such attempts changes %q to %q", plain, same)
	}
}

// An edit that was tried on this very program is not proposed again; one that was
// tried on another and is not Done is.
func TestRulesProposeAgainWhatAnotherProgramLost(t *testing.T) {
	tg, err := target.Load("testdata/matmul/matmul.toml")
	if err != nil {
		t.Fatal(err)
	}
	c := agents.Case{Target: tg, Sources: tg.Sources(), Round: 1, Report: &insight.Report{Items: []insight.Item{
		{ID: "H1", Kind: insight.Hot, Verdict: insight.Fact, Kernel: "matmul", Share: 1, Metric: "Ir", Importance: 1}}}}
	advise := func(c agents.Case) []agents.Proposal {
		advice, err := agents.Rules(100, rules.Options{Uncited: true}).Advise(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return advice.Proposals
	}
	all := advise(c)
	c.Tried = []prompt.Example{{Title: "round 1", Edits: all[0].Edits, Outcome: "rejected (outdone)"}}
	if got := advise(c); len(got) != len(all)-1 {
		t.Errorf("%d of %d proposals after one was tried", len(got), len(all))
	}
	c.Done = [][]edit.Edit{}
	if got := advise(c); len(got) != len(all) {
		t.Errorf("%d of %d proposals where it was tried elsewhere", len(got), len(all))
	}
	c.Done = [][]edit.Edit{all[1].Edits}
	if got := advise(c); len(got) != len(all)-1 || got[1].Name == all[1].Name {
		t.Errorf("%d of %d proposals after another was done", len(got), len(all))
	}
}
