package devmap

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// ratios are rows whose target is above 1 where x > 0.5, in one of ten rows not.
func ratios(n int, seed uint64) *predict.Examples {
	rng := rand.New(rand.NewPCG(seed, 1))
	e := &predict.Examples{Features: []string{"noise", "x"}, Target: "ratio"}
	for r := range n {
		x, y := rng.Float64(), -rng.Float64()
		if (x > 0.5) == (rng.IntN(10) > 0) {
			y = rng.Float64()
		}
		e.X, e.Y, e.Groups = append(e.X, []float64{rng.Float64(), x}), append(e.Y, math.Exp(y)), append(e.Groups, fmt.Sprint(r/2))
	}
	return e
}

// Of a tree's leaf with targets e, e and 1/e, 1/e, 1/e the mean logarithm is
// -1/5, whatever the ratios are: the side with most rows wins.
func TestSidesAreAVote(t *testing.T) {
	e := &predict.Examples{Features: []string{"x"}, X: [][]float64{{0}, {0}, {0}, {0}, {0}, {1}}, Y: []float64{1e6, 1e6, 0.9, 0.9, 0.9, 3}, Groups: []string{"a", "b", "c", "d", "e", "f"}, Target: "ratio"}
	m, err := sides{boost.Learner{Trees: 1, Rate: 1, Leaves: 2, MinRows: 1, Held: -1}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Log(t.Context(), e)
	if err != nil || math.Abs(got[0]+0.2) > 1e-12 || math.Abs(got[5]-1) > 1e-12 {
		t.Errorf("%v, %v; want -0.2 and 1", got, err)
	}
	if e.Y[0] != 1e6 {
		t.Error("the caller's targets were changed")
	}
}

// Of a learner that knows nothing, one of noise and a good one the good one is
// chosen, and it is the mean of its seeds that is fitted at last.
func TestTheChosenDecidesBestOnGroupsThatItDidNotSee(t *testing.T) {
	e := ratios(300, 1)
	overfitted := boost.Learner{Loss: boost.Logistic, Trees: 200, Leaves: 32, Rate: 1, MinRows: 1, Held: -1}
	good := boost.Learner{Loss: boost.Logistic, Trees: 20, Leaves: 2, Groups: 0.8, Held: -1}
	final := func(l predict.Learner) predict.Learner { return committee{l, 2} }
	m, err := chosen{of: []predict.Learner{baseline.MedianLearner{}, overfitted, good}, folds: 3, final: final}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := m.Describe().Detail; !strings.HasPrefix(d, "number 3 of 3 settings, by 3-fold cross-validation over the training groups; mean of 2 seeds: 20 trees") {
		t.Error(d)
	}
	fresh := ratios(100, 2)
	got, err := m.Log(t.Context(), fresh)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, len(got))
	for i := range 2 {
		one, err := good.Fit(t.Context(), e, 1+uint64(i)<<32)
		if err != nil {
			t.Fatal(err)
		}
		logs, err := one.Log(t.Context(), fresh)
		if err != nil {
			t.Fatal(err)
		}
		for r, v := range logs {
			want[r] += v / 2
		}
	}
	if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Error("the chosen is not the mean of its two seeds")
	}
}

// Folds are fitted side by side: what they decide does not depend on who is
// ready first, and nobody is told the answers.
func TestEqualSeedsDecideEqually(t *testing.T) {
	e := ratios(200, 3)
	class := make([]bool, e.Len())
	for r, y := range e.Y {
		class[r] = y > 1
	}
	deal, err := stratified(class, 10, 1)
	if err != nil {
		t.Fatal(err)
	}
	m := method{"trees", committee{trees(4, 20), 2}, []string{"x"}}
	a, err := decide(t.Context(), e, m, deal, 1)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for r := range class {
		if a.gpu[r] == class[r] {
			right++
		}
	}
	if right < 160 || right > 195 { // nine of ten can be known
		t.Errorf("%d of 200 are right", right)
	}
	for range 3 {
		b, err := decide(t.Context(), e, m, deal, 1)
		if err != nil || !slices.Equal(a.gpu, b.gpu) || a.detail != b.detail {
			t.Errorf("other decisions for the same seed, %v", err)
		}
	}
}
