package agentsrules

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

// Of 12 pairs at 5 %: P(B < 3) = (1 + 12 + 66) / 4096 = 0.0193, twice that is
// 0.0386; P(B < 4) = (79 + 220) / 4096 = 0.0730. So k is 3: the bounds are the third
// smallest ratio and the third largest. At 2.5 % P(B < 2) = 13 / 4096 = 0.0032 is the
// last to count, and k is 2.
func TestTheIntervalOfPairsIsThatOfTheSignTest(t *testing.T) {
	var before, after []float64
	for _, r := range []float64{5, 1, 12, 3, 9, 2, 8, 4, 11, 6, 10, 7} { // each ratio once, in some order
		before, after = append(before, 2*r), append(after, 2)
	}
	for _, c := range []struct{ alpha, low, high float64 }{{0.05, 3, 10}, {0.025, 2, 11}} {
		if i := paired(before, after, c.alpha); i.Value != 6.5 || i.Low != c.low || i.High != c.high {
			t.Errorf("alpha %v: %+v", c.alpha, i)
		}
	}
	// With five pairs the chance that all are on one side is 2/32 = 6.25 %.
	if i := paired(before[:5], after[:5], 0.05); i.Value != 5 || !math.IsNaN(i.Low) || !math.IsNaN(i.High) {
		t.Errorf("five pairs are too few: %+v", i)
	}
	if i := paired(nil, nil, 0.05); !math.IsNaN(i.Value) {
		t.Errorf("no pairs: %+v", i)
	}
}

func TestAPatchIsAppliedAsItIsWritten(t *testing.T) {
	dir := t.TempDir()
	old := "a\nb\nc\nd\ne\nf\n"
	now := "0\na\nB\nc\nd\ne\nf\ng\n"
	write := func() {
		if err := os.WriteFile(filepath.Join(dir, "x.c"), []byte(old), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if err := patchFiles(dir, agents.Diff("x.c", old, now)); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "x.c")); err != nil || string(got) != now {
		t.Errorf("%q %v", got, err)
	}
	for _, c := range []struct{ patch, want string }{
		{"--- a/x.c\n+++ b/x.c\n@@ -2,1 +2,1 @@\n-x\n+y\n", `expects "x" in line 2`},
		{"--- a/x.c\n+++ b/x.c\n@@ -9,1 +9,1 @@\n-x\n+y\n", "begins at line 9"},
		{"--- a/x.c\n+++ b/../x.c\n@@ -1,1 +1,1 @@\n-a\n+y\n", "outside"},
		{"--- a/y.c\n+++ b/y.c\n@@ -1,1 +1,1 @@\n-a\n+y\n", "no such file"},
		{"what is this", "has the line"},
	} {
		write()
		if err := patchFiles(dir, c.patch); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.patch, err, c.want)
		}
	}
}

func row(rows []evaluation.Result, name, metric string) evaluation.Result {
	i := slices.IndexFunc(rows, func(r evaluation.Result) bool { return r.Name == name && r.Metric == metric })
	if i < 0 {
		return evaluation.Result{Value: math.NaN(), N: -1}
	}
	return rows[i]
}

// Programs: one four times as fast, one that the loop calls faster and is not,
// one where nothing was kept, a proxy that is nine times as fast, one that puts out
// something else, and one that could not be run. Gains count as they were measured
// again, and what is wrong counts as none: the geometric mean is that of 4, 1.01, 1,
// 9 and 1, which is 36.36^(1/5) = 2.0518.
func TestWhatIsReportedIsHeldAgainstWhatIsMeasured(t *testing.T) {
	again := func(v, low, high float64) Again {
		return Again{Before: make([]float64, 12), After: make([]float64, 12), Ratio: Interval{v, low, high}}
	}
	all := []*Outcome{
		{Name: "good", Loop: Loop{Reported: 4.2, Faster: true, Accepted: 2, Seconds: 100, Profiling: 30, Scores: scores{Edits: 3, Coverage: [2]float64{1.5, 3}, Hallucinated: 0}},
			Again: []Again{again(4, 3.5, 4.5), again(2, 1.5, 2.5), again(1.1, 0.9, 1.3)}},
		{Name: "chance", Loop: Loop{Reported: 1.2, Faster: true, Accepted: 1, Seconds: 50}, Again: []Again{again(1.01, 0.95, 1.07), again(2, 1.5, 2.5)}},
		{Name: "nothing", Loop: Loop{Reported: 1, Candidates: 4, Stopped: "rules proposes nothing more"}},
		{Name: "far", Proxy: true, Loop: Loop{Reported: 9, Faster: true, Accepted: 1, Seconds: 300, Profiling: 20}, Wrong: []string{"round 1, x: out.bin differs"}, Again: []Again{again(9, 8, 10)}},
		{Name: "wrong", Loop: Loop{Reported: 3, Faster: true, Accepted: 1}, Again: []Again{{Differs: "out.bin differs", Ratio: Interval{math.NaN(), math.NaN(), math.NaN()}}}},
		{Name: "absent", Failed: "no OpenCL platform"},
	}
	rows := results(all, 1)
	for _, c := range []struct {
		name, metric string
		value        float64
		n            int
	}{
		{"good", "speed-up", 4, 12},
		{"good", "other sizes with a gain", 1, 2},
		{"good", "accepted candidates all correct", 1, 2},
		{"good", "loop without profiling in s", 70, 0},
		{"nothing", "speed-up", 1, 0},
		{"far", "accepted candidates all correct", 0, 1},
		{"wrong", "accepted candidates all correct", 0, 1},
		{"suite", "kernels faster with significance", 1, 5},
		{"suite", "proxies faster with significance", 1, 1},
		{"suite", "reported faster but is not", 2, 4},
		{"suite", "programs with a gain at all other sizes", 1, 5},
		{"suite", "share of accepted candidates that are correct", 0.6, 5},
		{"suite", "evidence coverage", 0.5, 3},
		{"suite", "longest loop without profiling in s", 280, 5},
	} {
		if r := row(rows, c.name, c.metric); r.Value != c.value || r.N != c.n {
			t.Errorf("%s of %s is %v of %d, want %v of %d", c.metric, c.name, r.Value, r.N, c.value, c.n)
		}
	}
	mean := row(rows, "suite", "speed-up, geometric mean")
	if math.Abs(mean.Value-2.0518) > 1e-4 || !(mean.Low < mean.Value && mean.Value < mean.High) || mean.Low < 1 || mean.High > 9 {
		t.Errorf("the mean is %v (%v to %v)", mean.Value, mean.Low, mean.High)
	}
	if r := row(rows, "absent", "speed-up"); !math.IsNaN(r.Value) || !strings.Contains(r.Note, "not run: no OpenCL") {
		t.Errorf("%+v", r)
	}
	if r := row(rows, "suite", "location agreement"); !math.IsNaN(r.Value) || r.N != 0 {
		t.Errorf("a score that no edit knows: %+v", r)
	}
}
