package boost_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/boost"
)

// Decision values of scikit-learn 1.9.1's GradientBoostingClassifier, which
// splits by the gradient and steps by Newton's method as well:
//
//	n = 60
//	X = [[(7*i)%60/10, (13*i+5)%60/7, (11*i+3)%60/3] for i in range(n)]
//	y = [sin(a) + 0.3*b + 0.1*c + 0.8*((17*i)%11/11-0.5) > 2 for i, (a, b, c) in enumerate(X)]
//	GradientBoostingClassifier(n_estimators=12, learning_rate=0.3, max_leaf_nodes=5, max_depth=None,
//	    min_samples_leaf=6, random_state=0).fit(X, y).decision_function(X)[:12]
//
// Asked about rows of the training, since it cuts elsewhere between two rows of
// a node.
func TestLogisticAsScikitLearn(t *testing.T) {
	var x [][]float64
	var y []float64
	for i := range 60 {
		a, b, c := float64(7*i%60)/10, float64((13*i+5)%60)/7, float64((11*i+3)%60)/3
		x = append(x, []float64{a, b, c})
		// How far from the border a row is decides nothing.
		y = append(y, (math.Sin(a)+0.3*b+0.1*c+0.8*(float64(17*i%11)/11-0.5)-2)*float64(1+i%3))
	}
	m := fit(t, boost.Learner{Trees: 12, Rate: 0.3, Leaves: 5, MinRows: 6, Held: -1, Loss: boost.Logistic}, rows(x, y))
	want := []float64{-2.5283653725, -2.3021909785, 3.2524480509, 4.3659152963, 4.3381328014, 2.8050659708, -4.1208920321, -2.5665452097, 3.0456827971, 1.9909474030, 3.6583652673, -2.2048753792}
	if got := logs(t, m, rows(x[:12], make([]float64, 12))); !near(got, want, 1e-8) {
		t.Errorf("predicted %v\nexpected  %v", got, want)
	}
	if !strings.Contains(m.Describe().Detail, "logistic loss") {
		t.Error(m.Describe().Detail)
	}
}

// Three of four rows with f0 = 0 are above 1, one of four with f0 = 1: log odds
// of all are 0, p = 1/2. A step is sum(y - p) / sum(p (1-p)): (3 - 2) / 1 = 1 and
// -1. Twice the weight of all rows changes nothing; with L2 = 4, in units of
// p (1-p) at even odds, 1/4, it is 1 / (1 + 4/4).
func TestLogisticStepByHand(t *testing.T) {
	e := rows([][]float64{{0}, {0}, {0}, {0}, {1}, {1}, {1}, {1}}, []float64{5, 0.1, 2, -7, -1, -1, -0.2, 3})
	ask := rows([][]float64{{0}, {1}}, make([]float64, 2))
	one := boost.Learner{Trees: 1, Leaves: 2, Rate: 1, MinRows: 1, Held: -1, Loss: boost.Logistic}
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{1, -1}, 1e-12) {
		t.Errorf("%v", got)
	}
	e.Weights = []float64{2, 2, 2, 2, 2, 2, 2, 2}
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{1, -1}, 1e-12) {
		t.Errorf("with weights %v", got)
	}
	one.L2 = 4
	if got := logs(t, fit(t, one, e), ask); !near(got, []float64{0.5, -0.5}, 1e-12) {
		t.Errorf("with L2 %v", got)
	}
}

// Odds that trees give on rows that they did not see are those of the data:
// p = 0.9 and 0.3 by one feature, the other is noise.
func TestLogisticOddsAreCalibrated(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	var x [][]float64
	var y []float64
	for range 6000 {
		v, p := float64(rng.IntN(2)), 0.3
		if v == 1 {
			p = 0.9
		}
		s := -1.0
		if rng.Float64() < p {
			s = 1
		}
		x, y = append(x, []float64{v, rng.Float64()}), append(y, s)
	}
	m := fit(t, boost.Learner{Trees: 80, Leaves: 2, Held: -1, Loss: boost.Logistic}, rows(x, y))
	mean := [2]float64{}
	for i := range 100 {
		for v := range 2 {
			got := logs(t, m, rows([][]float64{{float64(v), (float64(i) + 0.5) / 100}}, []float64{0}))
			mean[v] += 1 / (1 + math.Exp(-got[0])) / 100
		}
	}
	if math.Abs(mean[0]-0.3) > 0.03 || math.Abs(mean[1]-0.9) > 0.03 {
		t.Errorf("probabilities %v, want 0.3 and 0.9: %s", mean, m.Describe().Detail)
	}
}

// All on one side: surer with each tree, which is a root that takes a step, and
// finite in the end.
func TestLogisticWithOneSideOnly(t *testing.T) {
	e := rows([][]float64{{1}, {2}, {3}, {4}}, []float64{1, 2, 1, 2})
	m := fit(t, boost.Learner{Trees: 2000, Rate: 1, MinRows: 1, Held: -1, Loss: boost.Logistic}, e)
	for _, v := range logs(t, m, e) {
		if !(v > 1) || math.IsInf(v, 0) {
			t.Errorf("log odds %g", v)
		}
	}
}

func TestOddsHaveNoQuantiles(t *testing.T) {
	_, err := boost.Learner{Loss: boost.Logistic, Quantiles: [2]float64{0.1, 0.9}}.Fit(t.Context(), rows([][]float64{{1}, {2}}, []float64{1, -2}), 1)
	if err == nil || !strings.Contains(err.Error(), "odds have none") {
		t.Error(err)
	}
}
