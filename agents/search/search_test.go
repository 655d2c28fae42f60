package search_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rooflab/rooflab/agents/search"
)

var pool = []search.Point{
	{ID: "original", Time: 1, Energy: 1},
	{ID: "fast", Time: 0.4, Energy: 0.9},
	{ID: "frugal", Time: 0.8, Energy: 0.3},
	{ID: "between", Time: 0.6, Energy: 0.5},
	{ID: "dominated", Time: 0.7, Energy: 0.6}, // by between
	{ID: "fast", Time: 0.4, Energy: 0.9},      // the same program again
	{ID: "unmetered", Time: 0.5, Energy: math.NaN()},
}

func TestStrategiesKeepWhatTheySay(t *testing.T) {
	for text, want := range map[string][]int{
		"": {1}, "best": {1}, "beam:1": {1}, "beam:3": {1, 6, 3}, "beam:64": {1, 6, 3, 4, 2, 0}, "pareto": {1, 3, 2},
	} {
		s, err := search.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Keep(pool); !slices.Equal(got, want) {
			t.Errorf("%q keeps %v, want %v", text, got, want)
		}
		if again, err := search.Parse(s.String()); err != nil || again != s {
			t.Errorf("%q is written as %q, which is read as %v, %v", text, s, again, err)
		}
		if got := s.Keep(nil); len(got) > 0 {
			t.Errorf("%q keeps %v of nothing", text, got)
		}
	}
	if got := (search.Beam{Width: 2, By: search.Energy}).Keep(pool); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("a beam by energy keeps %v", got)
	}
	for _, text := range []string{"beam", "beam:", "beam:0", "beam:-1", "beam:65", "beam:x", "bests", "best:2", "pareto:2"} {
		if s, err := search.Parse(text); err == nil {
			t.Errorf("%q is the search %v", text, s)
		}
	}
}

// The front by its definition: no pair within it, and each point outside is
// dominated by one of it.
func TestTheFrontIsWhatNoneDominates(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var ps []search.Point
		for i := range 1 + r.IntN(12) {
			ps = append(ps, search.Point{ID: string(rune('a' + i)), Time: float64(1 + r.IntN(5)), Energy: float64(1 + r.IntN(5))})
		}
		front := search.Front(ps)
		for i, p := range ps {
			beaten := slices.ContainsFunc(ps, func(q search.Point) bool {
				return q.Time <= p.Time && q.Energy <= p.Energy && (q.Time < p.Time || q.Energy < p.Energy)
			})
			in := slices.Contains(front, i)
			same := slices.ContainsFunc(front, func(j int) bool { return ps[j].Time == p.Time && ps[j].Energy == p.Energy })
			if in && beaten || !in && !beaten && !same {
				t.Fatalf("%v: the front is %v; %d is in it: %v, dominated: %v", ps, front, i, in, beaten)
			}
		}
	}
}

func TestPreferencesChooseFromAFront(t *testing.T) {
	// Energy times time: 0.36, 0.24 and 0.3.
	for text, want := range map[string]string{"": "fast", "time": "fast", "energy": "frugal", "edp": "frugal"} {
		p, err := search.Preferred(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := pool[search.Choose(pool, p)].ID; got != want {
			t.Errorf("%q chooses %s, want %s", text, got, want)
		}
	}
	if _, err := search.Preferred("money"); err == nil {
		t.Error("money is a preference")
	}
	if got := search.Choose(pool[6:], search.Energy); got != -1 {
		t.Errorf("of a program whose energy is not known %d is chosen", got)
	}
}
