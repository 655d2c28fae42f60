package baseline_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

var learners = map[string]predict.Learner{
	"median":     baseline.MedianLearner{},
	"ridge":      baseline.RidgeLearner{},
	"neighbours": baseline.NeighboursLearner{},
	"boost":      boost.Learner{Trees: 40, Groups: 0.7, Features: 0.8, Quantiles: [2]float64{0.1, 0.9}},
	"roofline": analytical.Learner{Mode: analytical.Fitted, Limits: []analytical.Limit{
		{Name: "FP32", Work: "flop"}, {Name: "DRAM", Work: "bytes"}}},
	"corrected": baseline.Correction{Base: baseline.RidgeLearner{}, Learner: boost.Learner{Trees: 40}},
	"stacked": baseline.Correction{Base: baseline.RidgeLearner{}, Folds: 3, Shown: "log of base",
		Learner: boost.Learner{Trees: 20, Held: -1, Loss: boost.Relative}},
}

// launches are 60 kernels of 5 launches each: flop and bytes over decades,
// block sizes of which many are unknown, weights.
func launches(seed uint64) *predict.Examples {
	rng := rand.New(rand.NewPCG(seed, 9))
	e := &predict.Examples{Features: []string{"flop", "bytes", "block", "grid"}, Target: "time", Unit: "s"}
	for k := range 60 {
		intensity := math.Exp(rng.NormFloat64() * 2)
		for range 5 {
			bytes := math.Exp(10 + 10*rng.Float64())
			block := float64(32 * (1 + rng.IntN(8)))
			row := []float64{bytes * intensity, bytes, block, math.Ceil(bytes / block)}
			if rng.IntN(3) == 0 {
				row[2] = math.NaN()
			}
			e.X = append(e.X, row)
			e.Groups = append(e.Groups, fmt.Sprint("kernel ", k))
			e.Weights = append(e.Weights, 0.5+rng.Float64())
			e.Y = append(e.Y, (5e-6+max(bytes*intensity/5e12, bytes/6e11))*math.Exp(0.1*rng.NormFloat64()))
		}
	}
	return e
}

func fit(t *testing.T, l predict.Learner, e *predict.Examples, seed uint64) predict.Predictor {
	t.Helper()
	p, err := predict.Conformal{Learner: l}.Fit(context.Background(), e, seed)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ask(t *testing.T, p predict.Predictor, e *predict.Examples) []predict.Prediction {
	t.Helper()
	ps, err := p.Predict(context.Background(), e, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	return ps
}

func TestTheOrderOfRowsAndFeaturesDecidesNothing(t *testing.T) {
	e, fresh := launches(1), launches(2)
	mixed, err := e.Rows(rand.New(rand.NewPCG(4, 4)).Perm(e.Len())).With("grid", "block", "flop", "bytes")
	if err != nil {
		t.Fatal(err)
	}
	freshMixed, err := fresh.With("block", "grid", "bytes", "flop")
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range learners {
		a, b := ask(t, fit(t, l, e, 1), fresh), ask(t, fit(t, l, mixed, 1), freshMixed)
		if !slices.Equal(a, b) {
			t.Errorf("%s: other predictions for another order", name)
		}
	}
}

// In another unit of time all predictions are that many times as large; in
// another unit of bytes they are the same. Powers of two, so that rounding
// does not choose other splits.
func TestUnitsDecideNothing(t *testing.T) {
	e, fresh := launches(1), launches(2)
	for name, l := range learners {
		want := ask(t, fit(t, l, e, 1), fresh)
		slow := launches(1)
		for r := range slow.Y {
			slow.Y[r] *= 1024
		}
		for i, p := range ask(t, fit(t, l, slow, 1), fresh) {
			for _, c := range [][2]float64{{p.Value, want[i].Value}, {p.Low, want[i].Low}, {p.High, want[i].High}} {
				if math.Abs(c[0]/1024-c[1]) > 1e-6*c[1] {
					t.Fatalf("%s, row %d: %+v with times 1024 times as large, %+v before", name, i, p, want[i])
				}
			}
		}
		kilo, freshKilo := launches(1), launches(2)
		for _, rows := range [][][]float64{kilo.X, freshKilo.X} {
			for _, row := range rows {
				row[1] /= 1024
			}
		}
		for i, p := range ask(t, fit(t, l, kilo, 1), freshKilo) {
			if math.Abs(p.Value-want[i].Value) > 1e-6*want[i].Value {
				t.Fatalf("%s, row %d: %+v with KiB, %+v with bytes", name, i, p, want[i])
			}
		}
	}
}

func TestFurtherFeaturesAreIgnoredAndMissingOnesAreErrors(t *testing.T) {
	e, fresh := launches(1), launches(2)
	more := launches(2)
	more.Features = append(slices.Clone(more.Features), "colour")
	for r := range more.X {
		more.X[r] = append(more.X[r], float64(r))
	}
	less, err := fresh.With("block", "grid")
	if err != nil {
		t.Fatal(err)
	}
	for name, l := range learners {
		p := fit(t, l, e, 1)
		if !slices.Equal(ask(t, p, fresh), ask(t, p, more)) {
			t.Errorf("%s: a feature that was not learnt from changes predictions", name)
		}
		_, err := p.Predict(context.Background(), less, 0.8)
		if name != "median" && (err == nil || !strings.Contains(err.Error(), `no feature "`)) {
			t.Errorf("%s: features are missing: %v", name, err)
		}
	}
}

func TestWhatIsReadPredictsBitByBitWhatWasWritten(t *testing.T) {
	e, fresh := launches(1), launches(2)
	for name, l := range learners {
		p := fit(t, l, e, 1)
		var b bytes.Buffer
		if err := predict.Save(&b, p.(*predict.Fitted)); err != nil {
			t.Fatal(err)
		}
		q, err := predict.Load(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ask(t, p, fresh), ask(t, q, fresh)) {
			t.Errorf("%s: other predictions after reading", name)
		}
		if a, c := p.Describe().String(), q.Describe().String(); a != c {
			t.Errorf("%s: other description after reading:\n%s\n%s", name, a, c)
		}
		var again bytes.Buffer
		if err := predict.Save(&again, q); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
			t.Errorf("%s: another file when written again, %v", name, err)
		}
	}
}

// All but the median find most of what these times are made of.
func TestAllBeatTheMedianOnNewKernels(t *testing.T) {
	e, fresh := launches(1), launches(2)
	rmse := func(l predict.Learner) float64 {
		sum := 0.0
		for i, p := range ask(t, fit(t, l, e, 1), fresh) {
			d := math.Log(p.Value / fresh.Y[i])
			sum += d * d / float64(fresh.Len())
		}
		return math.Sqrt(sum)
	}
	median := rmse(learners["median"])
	for name, l := range learners {
		got := rmse(l)
		t.Logf("%s: log-RMSE %.3f", name, got)
		if name != "median" && got > 0.6*median {
			t.Errorf("%s: log-RMSE %.3f, the median has %.3f", name, got, median)
		}
	}
	if r := rmse(learners["roofline"]); r > 0.12 {
		t.Errorf("the roofline that made the data has log-RMSE %.3f, the noise is 0.1", r)
	}
}

func TestRidgeChoosesItsPenaltyOnHeldOutGroups(t *testing.T) {
	// One row per group and noise alone: the largest penalty is best.
	rng := rand.New(rand.NewPCG(6, 6))
	e := &predict.Examples{Target: "time"}
	for j := range 20 {
		e.Features = append(e.Features, fmt.Sprint("f", j))
	}
	for r := range 60 {
		row := make([]float64, 20)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		e.X, e.Groups, e.Y = append(e.X, row), append(e.Groups, fmt.Sprint(r)), append(e.Y, math.Exp(rng.NormFloat64()))
	}
	m, err := baseline.RidgeLearner{}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := m.Describe(); !strings.Contains(d.Detail, "lambda 10000") && !strings.Contains(d.Detail, "lambda 1000,") {
		t.Error(d.Detail)
	}
	// Now twenty coefficients without noise: the smallest.
	for r, row := range e.X {
		y := 0.0
		for j, v := range row {
			y += v * float64(j%3)
		}
		e.Y[r] = math.Exp(y)
	}
	if m, err = (baseline.RidgeLearner{}).Fit(context.Background(), e, 1); err != nil {
		t.Fatal(err)
	}
	if d := m.Describe(); !strings.Contains(d.Detail, "lambda 0.001") || len(d.Warnings) != 1 {
		t.Error(d)
	}
}

// One feature with values 0, 1, 2, 9: mean 3, standard deviation
// sqrt((9+4+1+36)/4) = sqrt(12.5), which cancels. Asked at 1.25: distances
// 1.25, 0.25, 0.75. Three nearest by 1/d: weights 0.8, 4, 4/3; logs 0, 1, 2.
func TestNeighboursByHand(t *testing.T) {
	e := &predict.Examples{Features: []string{"x"}, X: [][]float64{{0}, {1}, {2}, {9}}, Groups: []string{"a", "b", "c", "d"}, Target: "t",
		Y: []float64{1, math.E, math.E * math.E, 1000}}
	m, err := baseline.NeighboursLearner{Ks: []int{3}}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.Log(context.Background(), &predict.Examples{Features: []string{"x"}, X: [][]float64{{1.25}, {1}}})
	if err != nil {
		t.Fatal(err)
	}
	want := (4*1 + 4.0/3*2) / (0.8 + 4 + 4.0/3)
	if math.Abs(got[0]-want) > 1e-12 || got[1] != 1 { // at a training row: that row
		t.Errorf("%v, want %g and 1", got, want)
	}
}
