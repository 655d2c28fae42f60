package boost_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// rows makes examples of logarithms of targets, each row its own group.
func rows(x [][]float64, logY []float64) *predict.Examples {
	e := &predict.Examples{X: x, Target: "time"}
	for j := range x[0] {
		e.Features = append(e.Features, fmt.Sprintf("f%d", j))
	}
	for i, y := range logY {
		e.Y, e.Groups = append(e.Y, math.Exp(y)), append(e.Groups, fmt.Sprint(i))
	}
	return e
}

func fit(t *testing.T, l boost.Learner, e *predict.Examples) *boost.Model {
	t.Helper()
	m, err := l.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*boost.Model)
}

func logs(t *testing.T, m predict.Model, e *predict.Examples) []float64 {
	t.Helper()
	out, err := m.Log(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func near(a, b []float64, by float64) bool {
	return slices.EqualFunc(a, b, func(x, y float64) bool { return math.Abs(x-y) <= by })
}

var nan = math.NaN()

// The mean is 0.5, residuals are -0.5 twice and +0.5 twice; the split is
// half-way between 2 and 3. With L2 = 2 leaves are sums of residuals over 2 + 2.
func TestOneSplitByHand(t *testing.T) {
	e := rows([][]float64{{1}, {2}, {3}, {4}}, []float64{0, 0, 1, 1})
	ask := rows([][]float64{{-9}, {2.49}, {2.51}, {99}}, make([]float64, 4))
	one := boost.Learner{Trees: 1, Leaves: 2, Rate: 1, MinRows: 1, Held: -1}
	m := fit(t, one, e)
	if got := logs(t, m, ask); !near(got, []float64{0, 0, 1, 1}, 1e-15) {
		t.Errorf("%v", got)
	}
	// Gain: 1^2/2 + 1^2/2 - 0 = 1, all of it by the only feature.
	if imp := m.Importance(); imp[0].Gain != 1 || imp[0].Splits != 1 || m.Mean.Trees[0].Nodes[0].Gain != 1 {
		t.Errorf("%+v", imp)
	}
	one.L2 = 2
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0.25, 0.25, 0.75, 0.75}, 1e-15) {
		t.Errorf("with L2: %v", got)
	}
	one.L2, one.Rate = 0, 0.5
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0.25, 0.25, 0.75, 0.75}, 1e-15) {
		t.Errorf("at half the rate: %v", got)
	}
}

// Unknown is neither 0 nor the mean: it is a branch.
func TestUnknownValuesHaveABranch(t *testing.T) {
	one := boost.Learner{Trees: 1, Leaves: 2, Rate: 1, MinRows: 1, Held: -1}
	// Known values say nothing, that there is one does.
	e := rows([][]float64{{0}, {1}, {2}, {nan}, {nan}, {nan}}, []float64{0, 0, 0, 3, 3, 3})
	ask := rows([][]float64{{-5}, {0}, {7}, {nan}}, make([]float64, 4))
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0, 0, 0, 3}, 1e-15) {
		t.Errorf("known or not: %v", got)
	}
	// Rows without a value are like large ones, then like small ones.
	e = rows([][]float64{{0}, {1}, {8}, {9}, {nan}, {nan}}, []float64{0, 0, 6, 6, 6, 6})
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0, 0, 6, 6}, 1e-15) {
		t.Errorf("as large ones: %v", got)
	}
	e = rows([][]float64{{0}, {1}, {8}, {9}, {nan}, {nan}}, []float64{0, 0, 6, 6, 0, 0})
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0, 0, 6, 0}, 1e-15) {
		t.Errorf("as small ones: %v", got)
	}
	// Never unknown in training: with the larger side, here that of small values.
	e = rows([][]float64{{0}, {1}, {2}, {9}}, []float64{0, 0, 0, 4})
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0, 0, 4, 0}, 1e-15) {
		t.Errorf("never unknown before: %v", got)
	}
}

// The first split is the best of all that there are, found by trying them all.
func TestTheFirstSplitIsTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for trial := range 100 {
		n, d := 8+rng.IntN(30), 1+rng.IntN(4)
		x, y := make([][]float64, n), make([]float64, n)
		for r := range x {
			x[r] = make([]float64, d)
			for j := range x[r] {
				if x[r][j] = float64(rng.IntN(9)); rng.IntN(4) == 0 {
					x[r][j] = nan
				}
			}
			y[r] = rng.NormFloat64()
		}
		e := rows(x, y)
		least := float64(1 + rng.IntN(4))
		m := fit(t, boost.Learner{Trees: 1, Leaves: 2, Rate: 1, MinRows: least, Held: -1}, e)
		got := 0.0
		for r, p := range logs(t, m, e) {
			got += (p - math.Log(e.Y[r])) * (p - math.Log(e.Y[r]))
		}
		want := squares(y)
		for j := range d {
			for cut := 0.0; cut <= 9; cut++ {
				for _, unknownLeft := range []bool{false, true} {
					var a, b []float64
					for r := range x {
						if v := x[r][j]; v < cut || math.IsNaN(v) && unknownLeft {
							a = append(a, y[r])
						} else {
							b = append(b, y[r])
						}
					}
					if float64(len(a)) >= least && float64(len(b)) >= least {
						want = min(want, squares(a)+squares(b))
					}
				}
			}
		}
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("trial %d: the squares are %g, the best split gives %g", trial, got, want)
		}
	}
}

func squares(ys []float64) float64 {
	mean, sum := 0.0, 0.0
	for _, y := range ys {
		mean += y / float64(len(ys))
	}
	for _, y := range ys {
		sum += (y - mean) * (y - mean)
	}
	return sum
}

// A row of weight 3 is the same as three rows, and groups that are not drawn
// into a tree are still predicted by it.
func TestWeightsCountRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	var x, x3 [][]float64
	var y, y3, w []float64
	for range 60 {
		row, v, k := []float64{rng.NormFloat64(), rng.NormFloat64()}, rng.NormFloat64(), 1+rng.IntN(3)
		x, y, w = append(x, row), append(y, v), append(w, float64(k))
		for range k {
			x3, y3 = append(x3, row), append(y3, v)
		}
	}
	weighted := rows(x, y)
	weighted.Weights = w
	l := boost.Learner{Trees: 10, Leaves: 5, MinRows: 1e-9, Held: -1}
	a, b := logs(t, fit(t, l, weighted), weighted), logs(t, fit(t, l, rows(x3, y3)), weighted)
	if !near(a, b, 1e-9) {
		t.Errorf("%v\n%v", a[:5], b[:5])
	}
}

func TestMonotoneConstraintsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	var x [][]float64
	var y []float64
	for range 600 {
		row := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
		x, y = append(x, row), append(y, math.Sin(6*row[0])+row[1]*row[2]+0.5*rng.NormFloat64())
	}
	e := rows(x, y)
	falls := func(l boost.Learner) (n int) {
		m := fit(t, l, e)
		for range 30 {
			b, c := rng.Float64(), rng.Float64()
			var line [][]float64
			for i := range 101 {
				line = append(line, []float64{float64(i) / 100, b, c})
			}
			p := logs(t, m, rows(line, make([]float64, 101)))
			for i := range 100 {
				if p[i+1] < p[i]-1e-12 {
					n++
				}
			}
		}
		return n
	}
	l := boost.Learner{Trees: 60, Held: -1}
	if falls(l) == 0 {
		t.Error("without a constraint the sine does not fall: the test tells nothing")
	}
	l.Monotone = map[string]int{"f0": 1}
	if n := falls(l); n > 0 {
		t.Errorf("the prediction falls %d times", n)
	}
	l.Quantiles = [2]float64{0.2, 0.8}
	l.Monotone = map[string]int{"f9": 1}
	if _, err := l.Fit(context.Background(), e, 1); err == nil || !strings.Contains(err.Error(), `"f9"`) {
		t.Error(err)
	}
}

// The noise is ten times as large where f0 > 0.5: intervals follow, and cover.
func TestQuantileTreesMakeIntervalsFollowTheNoise(t *testing.T) {
	draw := func(n int, seed uint64) *predict.Examples {
		rng := rand.New(rand.NewPCG(seed, 10))
		var x [][]float64
		var y []float64
		for range n {
			row := []float64{rng.Float64(), rng.Float64()}
			sd := 0.1
			if row[0] > 0.5 {
				sd = 1
			}
			x, y = append(x, row), append(y, row[1]+sd*rng.NormFloat64())
		}
		return rows(x, y)
	}
	e, fresh := draw(4000, 1), draw(4000, 2)
	p, err := predict.Conformal{Learner: boost.Learner{Quantiles: [2]float64{0.05, 0.95}, Trees: 200, Leaves: 8}}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	ps, err := p.Predict(context.Background(), fresh, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	var covered, width, n [2]float64
	for i, q := range ps {
		side := 0
		if fresh.X[i][0] > 0.5 {
			side = 1
		}
		n[side]++
		width[side] += math.Log(q.High / q.Low)
		if q.Low <= fresh.Y[i] && fresh.Y[i] <= q.High {
			covered[side]++
		}
	}
	for side := range n {
		covered[side] /= n[side]
		width[side] /= n[side]
		// With one interval for all, 0.8 and 1 would be covered.
		if covered[side] < 0.85 || covered[side] > 0.95 {
			t.Errorf("side %d: %.3f covered, want 0.9", side, covered[side])
		}
	}
	// 90 % of a normal distribution lie within 1.645 standard deviations: widths
	// of 0.33 and 3.3.
	if width[0] > 0.5 || math.Abs(width[1]-3.3) > 0.5 {
		t.Errorf("mean widths %v, want about 0.33 and 3.3", width)
	}
}

func TestTreesStopWhenHeldOutGroupsGetWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 11))
	e := &predict.Examples{Features: []string{"a", "b"}, Target: "time"}
	for r := range 500 {
		row := []float64{rng.Float64(), rng.Float64()}
		e.X, e.Groups = append(e.X, row), append(e.Groups, fmt.Sprint(r/5))
		e.Y = append(e.Y, math.Exp(row[0]+rng.NormFloat64()))
	}
	calls := 0
	m := fit(t, boost.Learner{Patience: 10, Progress: func(int, float64) { calls++ }}, e)
	if n := len(m.Mean.Trees); n >= 100 || calls != n+10 || len(m.About.Warnings) > 0 {
		t.Errorf("%d trees after %d, warnings %q", n, calls, m.About.Warnings)
	}
	ctx, cancel := context.WithCancel(context.Background())
	_, err := boost.Learner{Progress: func(tree int, _ float64) {
		if tree == 3 {
			cancel()
		}
	}}.Fit(ctx, e, 1)
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Error(err)
	}
}

func TestImpossibleSettingsAreErrors(t *testing.T) {
	e := rows([][]float64{{1}, {2}, {3}, {4}}, []float64{0, 0, 1, 1})
	for want, l := range map[string]boost.Learner{
		"2 leaves": {Leaves: 1}, "256 bins": {Bins: 256}, "learning rate 2": {Rate: 2}, "L2 -1": {L2: -1}, "parts of groups 2": {Groups: 2},
		"quantiles [0.9 0.1]": {Quantiles: [2]float64{0.9, 0.1}}, "is 2: want": {Monotone: map[string]int{"f0": 2}},
	} {
		if _, err := l.Fit(context.Background(), e, 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	same := rows([][]float64{{1, nan}, {1, nan}}, []float64{0, 1})
	if _, err := (boost.Learner{Held: -1}).Fit(context.Background(), same, 1); err == nil || !strings.Contains(err.Error(), "no feature tells anything") {
		t.Error(err)
	}
}
