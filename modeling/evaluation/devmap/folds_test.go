package devmap

import (
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets/split"
)

func classes() []bool {
	out := make([]bool, 123)
	for i := range out {
		out[i] = 7*i%13 < 5
	}
	return out
}

// Sizes of the folds, and how many of the rows in each are of the first class,
// by scikit-learn 1.9.1, whose draw alone differs:
//
//	y = np.array([(7*i) % 13 < 5 for i in range(123)])
//	for _, te in StratifiedKFold(10, shuffle=True, random_state=3).split(y, y): print(len(te), y[te].sum())
func TestStratifiedFoldsAreAsScikitLearnDealsThem(t *testing.T) {
	want := [][2]int{{13, 5}, {13, 5}, {13, 5}, {12, 5}, {12, 5}, {12, 5}, {12, 5}, {12, 5}, {12, 4}, {12, 4}}
	class := classes()
	folds, err := stratified(class, 10, 3)
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	tested := make([]int, len(class))
	for _, s := range folds {
		n := 0
		for _, r := range s.Test {
			tested[r]++
			if class[r] {
				n++
			}
		}
		got = append(got, [2]int{len(s.Test), n})
		if len(s.Train)+len(s.Test) != len(class) || slices.ContainsFunc(s.Train, func(r int) bool { return slices.Contains(s.Test, r) }) {
			t.Errorf("training %v and test %v are not two sides of all rows", s.Train, s.Test)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("folds of %v, want %v", got, want)
	}
	if slices.ContainsFunc(tested, func(n int) bool { return n != 1 }) {
		t.Errorf("rows are tested %v times, want each once", tested)
	}
	again, _ := stratified(class, 10, 3)
	other, _ := stratified(class, 10, 4)
	equal := func(a, b []split.Split) bool {
		return slices.EqualFunc(a, b, func(x, y split.Split) bool { return slices.Equal(x.Test, y.Test) })
	}
	if !equal(folds, again) || equal(folds, other) {
		t.Error("the seed alone must decide who is in a fold")
	}
}

func TestAClassTooSmallForTheFoldsIsAnError(t *testing.T) {
	if _, err := stratified([]bool{true, false, false, false}, 2, 1); err == nil || !strings.Contains(err.Error(), "1 of one class and 3 of the other") {
		t.Error(err)
	}
}

// Where rows are dealt by source or program, none stands on both sides; where
// they are dealt by row, as in the study, the same look finds what does.
func TestNoSourceAndNoProgramOnBothSides(t *testing.T) {
	var ls []launch
	var class []bool
	for i := range 200 {
		ls = append(ls, launch{source: string(rune('a' + i%40)), program: string(rune('A' + i%20))})
		class = append(class, i%3 == 0)
	}
	for _, p := range protocols(ls, class, 1) {
		folds, err := p.deal()
		if err != nil {
			t.Fatal(err)
		}
		source, program := make([]string, len(ls)), make([]string, len(ls))
		for i, l := range ls {
			source[i], program[i] = l.source, l.program
		}
		leakSource, leakProgram := disjoint(source, folds) != nil, disjoint(program, folds) != nil
		want := map[string][2]bool{"rows": {true, true}, "sources": {false, true}, "programs": {false, false}}[p.name]
		if got := [2]bool{leakSource, leakProgram}; got != want || len(folds) != 10 {
			t.Errorf("%s: a source on both sides %v, a program on both sides %v; want %v", p.name, leakSource, leakProgram, want)
		}
	}
}
