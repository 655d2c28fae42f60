package boost_test

import (
	"math"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/boost"
)

// Predictions of scikit-learn 1.9.1's HistGradientBoostingRegressor on a table
// whose values are few enough for a bin each, so that both choose from the same
// splits:
//
//	n = 60
//	X = [[(7*i)%60/10, (13*i+5)%60/7, (11*i+3)%60/3] for i in range(n)]
//	y = [sin(a) + 0.3*b + 0.1*c for a, b, c in X]
//	HistGradientBoostingRegressor(max_iter=20, learning_rate=0.2, max_leaf_nodes=6, min_samples_leaf=5,
//	    early_stopping=False, l2_regularization=0.5).fit(X, y).predict(Q)
//
// It sums gradients in 32 bits, so that they agree to about six digits. With
// unknown values it cuts elsewhere between two rows of a node, and under
// monotone constraints it estimates the gain of a clipped value, so that it is
// no reference there.
func TestAsScikitLearn(t *testing.T) {
	var x [][]float64
	var y []float64
	for i := range 60 {
		a, b, c := float64(7*i%60)/10, float64((13*i+5)%60)/7, float64((11*i+3)%60)/3
		x, y = append(x, []float64{a, b, c}), append(y, math.Sin(a)+0.3*b+0.1*c)
	}
	ask := rows([][]float64{{0.05, 0.5, 1.0}, {2.52, 3.3, 7.5}, {5.9, 8.4, 19.0}, {3.1, 7.0, 10.2}, {1.0, 1.0, 14.1}, {4.4, 0.1, 6.5}}, make([]float64, 6))
	m := fit(t, boost.Learner{Trees: 20, Rate: 0.2, Leaves: 6, MinRows: 5, L2: 0.5, Held: -1}, rows(x, y))
	want := []float64{0.670030945534, 2.286221490237, 3.024713506514, 3.207141780507, 2.451228194733, 0.467101220958}
	if got := logs(t, m, ask); !near(got, want, 2e-6) {
		t.Errorf("predicted %v\nexpected  %v", got, want)
	}
}
