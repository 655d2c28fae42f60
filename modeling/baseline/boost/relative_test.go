package boost_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// Two leaves hold 1, 2, 4 and 10, 10, 1000. The ensemble begins at the median
// of the six, 4 (the third; the weight of three reaches half). What makes
// sum |p - y| / y least is the median with weights 1/y: of 1, 2, 4 the weights
// are 1, 1/2, 1/4, the half of 1.75 is reached at 1; of the others it is at 10.
// From 4 the weights are 4/y, in the same proportions.
func TestRelativeLeavesByHand(t *testing.T) {
	x := [][]float64{{1}, {2}, {3}, {11}, {12}, {13}}
	logs6 := []float64{0, math.Log(2), math.Log(4), math.Log(10), math.Log(10), math.Log(1000)}
	e := rows(x, logs6)
	m := fit(t, boost.Learner{Trees: 1, Leaves: 2, Rate: 1, MinRows: 3, Held: -1, Loss: boost.Relative}, e)
	got := logs(t, m, rows([][]float64{{2}, {12}}, make([]float64, 2)))
	if !near(got, []float64{0, math.Log(10)}, 1e-12) {
		t.Errorf("%v", got)
	}
	if !strings.Contains(m.Describe().Detail, "relative loss") {
		t.Error(m.Describe().Detail)
	}
}

// The logarithm is normal with deviation s: the best prediction lies s^2 below
// its mean and is off by erf(s / sqrt 2) of what is measured. With s = 0.8 that
// is 0.64 below and 0.576; the mean itself is off by more.
func TestRelativeLossPredictsLowWhatIsUnsure(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	var x [][]float64
	var y []float64
	for range 8000 {
		v := float64(rng.IntN(2))
		x, y = append(x, []float64{v}), append(y, 3*v+0.8*rng.NormFloat64())
	}
	e := rows(x, y)
	apart := func(l predict.Learner) (shift, mape float64) {
		m := fit(t, l.(boost.Learner), e)
		for r, p := range logs(t, m, e) {
			shift += (p - 3*x[r][0]) / float64(len(y))
			mape += math.Abs(math.Exp(p-y[r])-1) / float64(len(y))
		}
		return shift, mape
	}
	l := boost.Learner{Trees: 60, Leaves: 2, Rate: 0.2, Held: -1}
	_, mean := apart(l)
	l.Loss = boost.Relative
	shift, mape := apart(l)
	if best := math.Erf(0.8 / math.Sqrt2); math.Abs(shift+0.64) > 0.08 || math.Abs(mape-best) > 0.02 || mape > 0.85*mean {
		t.Errorf("shift %.3f, MAPE %.3f (best %.3f), by the squared loss %.3f", shift, mape, best, mean)
	}
}

func TestAnUnknownLossIsAnError(t *testing.T) {
	_, err := boost.Learner{Loss: "cubic"}.Fit(t.Context(), rows([][]float64{{1}, {2}}, []float64{1, 2}), 1)
	if err == nil || !strings.Contains(err.Error(), `"cubic"`) {
		t.Error(err)
	}
}

// The leaves of TestRelativeLeavesByHand by |d|: the medians of 1, 2, 4 and of
// 10, 10, 1000 are 2 and 10, where the means of the logarithms are 2 and 46.4.
func TestAbsoluteLossPredictsTheMedian(t *testing.T) {
	e := rows([][]float64{{1}, {2}, {3}, {11}, {12}, {13}}, []float64{0, math.Log(2), math.Log(4), math.Log(10), math.Log(10), math.Log(1000)})
	m := fit(t, boost.Learner{Trees: 1, Leaves: 2, Rate: 1, MinRows: 3, Held: -1, Loss: boost.Absolute}, e)
	got := logs(t, m, rows([][]float64{{2}, {12}}, make([]float64, 2)))
	if !near(got, []float64{math.Log(2), math.Log(10)}, 1e-12) || !strings.Contains(m.Describe().Detail, "absolute loss") {
		t.Errorf("%v, %s", got, m.Describe().Detail)
	}
}
