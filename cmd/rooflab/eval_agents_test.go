package main_test

import (
	"encoding/json"
	"testing"
)

// The loop over a few programs of the suite, end to end: how fast they become is
// the machine's to say, but what is accepted has to be right.
func TestEvalAgentsRulesRunsTheLoopAndMeasuresAgain(t *testing.T) {
	stdout, stderr, err := evaluate(t, t.TempDir(), "agents-rules", "--quick", "--json")
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr)
	}
	var r struct {
		Results []struct {
			Name, Metric, Split, Note string
			Value, Low, High          *float64
			Baseline_value            *float64
			N                         int
		}
	}
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	found := map[string]bool{}
	for _, x := range r.Results {
		found[x.Name+" "+x.Metric] = true
		switch x.Metric {
		case "accepted candidates all correct":
			if x.Value == nil || *x.Value != 1 {
				t.Errorf("%s: what was accepted is wrong: %s", x.Name, x.Note)
			}
		case "speed-up":
			if x.Value == nil {
				t.Errorf("%s was not run: %s", x.Name, x.Note)
			} else if x.Baseline_value == nil || *x.Baseline_value != 1 {
				t.Errorf("%s is held against %v, want the original, 1", x.Name, x.Baseline_value)
			}
		case "hallucinated evidence":
			if x.Value == nil || *x.Value != 0 || x.N == 0 {
				t.Errorf("evidence that there is not: %v of %d edits", x.Value, x.N)
			}
		}
	}
	for _, want := range []string{"transpose speed-up", "stencil speed-up", "stencil accepted candidates all correct", "suite kernels faster with significance",
		"suite reported faster but is not", "suite speed-up, geometric mean", "suite evidence coverage", "suite longest loop without profiling in s"} {
		if !found[want] {
			t.Errorf("no result %q:\n%s", want, stdout)
		}
	}
}
