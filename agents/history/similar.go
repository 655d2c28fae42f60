package history

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/agents/edit"
)

// Match is a past attempt with how alike its situation is.
type Match struct {
	Similarity float64 `json:"similarity"`
	Attempt    Attempt `json:"attempt"`
}

// Title says what the attempt was of, without names of its files.
func (m Match) Title() string {
	what := m.Attempt.Transformation
	if what == "" {
		what = "an edit"
	}
	return fmt.Sprintf("%s of another program (%s, alike by %.2f of 1)", what, m.Attempt.Situation.Language, m.Similarity)
}

// Result says what came of it.
func (m Match) Result() string {
	a := m.Attempt
	switch {
	case a.Outcome == Rejected && a.Measured():
		return fmt.Sprintf("rejected (%s): %.3g times as fast", a.Reason, *a.Speedup)
	case a.Outcome == Rejected:
		return fmt.Sprintf("rejected (%s)", a.Reason)
	case a.Measured():
		return fmt.Sprintf("accepted: %.3g times as fast", *a.Speedup)
	}
	return string(a.Outcome)
}

// leastAlike is the similarity below which nothing can be learnt.
const leastAlike = 0.1

// tells says that an attempt tells something of its edit: it was measured, or was
// wrong by itself. What was never tried, or was no edit at all, does not.
func (a *Attempt) tells() bool {
	switch {
	case a.Measured():
		return true
	case a.Outcome != Rejected:
		return false
	}
	return a.Step == "build" || a.Step == "validate" || a.Step == "measure"
}

// Similar are up to n attempts in the situations most like a given one, the most
// alike first; among equals what was kept, then the later one. Attempts of the run
// itself are left out, and of attempts with the same edit all but the first. It
// gives the same for the same Log.
func (l *Log) Similar(s Situation, n int, run string) []Match {
	var all []Match
	for i := range l.Attempts {
		a := &l.Attempts[i]
		if a.Run == run || a.Withheld != "" || len(a.Edits) == 0 || !a.tells() {
			continue
		}
		if v := Similarity(s, a.Situation); v >= leastAlike {
			all = append(all, Match{v, *a})
		}
	}
	rank := func(m Match) int { return slices.Index([]Outcome{Kept, Faster, Rejected}, m.Attempt.Outcome) }
	slices.SortStableFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(rank(a), rank(b)), b.Attempt.At.Compare(a.Attempt.At), cmp.Compare(a.Attempt.ID, b.Attempt.ID))
	})
	var out []Match
	seen := map[string]bool{}
	for _, m := range all {
		var hunks []edit.Edit
		for _, e := range m.Attempt.Edits {
			hunks = append(hunks, edit.Edit{Hunks: e.Hunks})
		}
		if key := edit.Format(hunks); len(out) < n && !seen[key] {
			seen[key] = true
			out = append(out, m)
		}
	}
	return out
}

// Gain is what a transformation has gained.
type Gain struct {
	Log    float64 `json:"log_speedup"` // mean of the logarithms of speed-ups, each weighed by its similarity
	Weight float64 `json:"weight"`      // sum of these weights
	N      int     `json:"n"`           // attempts
}

// Gains are those of each transformation in situations like a given one. An
// attempt that was wrong or did not build has gained nothing: a speed-up of 1, for
// the code stays as it is. Attempts that were not measured for another reason do
// not count, nor do those of the run itself.
func (l *Log) Gains(s Situation, run string) map[string]Gain {
	out := map[string]Gain{}
	for i := range l.Attempts {
		a := &l.Attempts[i]
		if a.Run == run || a.Transformation == "" || !a.tells() {
			continue
		}
		w := Similarity(s, a.Situation)
		if w < leastAlike {
			continue
		}
		y := 0.0
		if a.Measured() {
			y = math.Log(*a.Speedup)
		}
		g := out[a.Transformation]
		g.Log = (g.Log*g.Weight + w*y) / (g.Weight + w)
		g.Weight += w
		g.N++
		out[a.Transformation] = g
	}
	return out
}

// PriorWeight is how many past attempts in the very same situation a rule of thumb
// counts as.
const PriorWeight = 2

// Posterior is the logarithm of the speed-up that is to be expected of a
// transformation whose rule of thumb is to save a part of the time (0 to 1): the
// mean of the rule of thumb and of what was gained before, weighed by PriorWeight
// and Weight. It is the posterior mean of a normal distribution with known
// variance and a normal prior of a variance that is 1/PriorWeight of it.
func (g Gain) Posterior(saves float64) float64 {
	prior := -math.Log1p(-max(0, min(saves, 0.99)))
	return (PriorWeight*prior + g.Weight*g.Log) / (PriorWeight + g.Weight)
}
