package baseline_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/predict"
)

// always predicts one logarithm, with a spread below and above.
type always struct{ log, below, above float64 }

func (a always) Fit(context.Context, *predict.Examples, uint64) (predict.Model, error) { return a, nil }

func (a always) Log(_ context.Context, e *predict.Examples) ([]float64, error) {
	return slices.Repeat([]float64{a.log}, e.Len()), nil
}

func (a always) Spread(_ context.Context, e *predict.Examples) (below, above []float64, err error) {
	return slices.Repeat([]float64{a.below}, e.Len()), slices.Repeat([]float64{a.above}, e.Len()), nil
}

func (a always) Describe() predict.Description {
	return predict.Description{Kind: "always", Features: []string{"x"}, Warnings: []string{"it never learns"}}
}

// failing cannot be fitted.
type failing struct{}

func (failing) Fit(context.Context, *predict.Examples, uint64) (predict.Model, error) {
	return nil, errors.New("no memory")
}

// line is e^x for x of 0 to 39, each its own group.
func line() *predict.Examples {
	e := &predict.Examples{Features: []string{"x"}, Target: "time", Unit: "s"}
	for i := range 40 {
		e.X, e.Groups, e.Y = append(e.X, []float64{float64(i)}), append(e.Groups, string(rune('A'+i))), append(e.Y, math.Exp(float64(i)))
	}
	return e
}

// Times of 2 and of 8 have the geometric mean 4. Spreads of 1 and 4 below, 9 and
// 1 above have 2 and 3; the median, 19.5 between x of 19 and 20, knows none and
// does not count there: its mean with 3, 3 and 3 is 7.125.
func TestMeanIsThatOfLogarithms(t *testing.T) {
	e := line()
	m, err := baseline.Mean{Learners: []predict.Learner{always{math.Log(2), 1, 9}, always{math.Log(8), 4, 1}}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	logs, err := m.Log(t.Context(), e)
	if err != nil || len(logs) != 40 || math.Abs(logs[7]-math.Log(4)) > 1e-12 {
		t.Errorf("%v (%v), want log 4", logs, err)
	}
	below, above, err := m.(predict.Spread).Spread(t.Context(), e)
	if err != nil || math.Abs(below[7]-2) > 1e-12 || math.Abs(above[7]-3) > 1e-12 {
		t.Errorf("spread %v, %v (%v), want 2 and 3", below, above, err)
	}
	d := m.Describe()
	if !slices.Equal(d.Features, []string{"x"}) || len(d.Warnings) != 2 || d.Rows != 40 || !strings.Contains(d.Detail, "geometric mean of 2: always") {
		t.Errorf("%+v", d)
	}
	three := always{3, 5, 5}
	m, err = baseline.Mean{Learners: []predict.Learner{three, baseline.MedianLearner{}, three, three}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	logs, _ = m.Log(t.Context(), e)
	below, _, err = m.(predict.Spread).Spread(t.Context(), e)
	if err != nil || math.Abs(logs[0]-7.125) > 1e-12 || math.Abs(below[0]-5) > 1e-12 {
		t.Errorf("%v, spread %v (%v), want 7.125 and 5", logs, below, err)
	}
	m, err = baseline.Mean{Learners: []predict.Learner{baseline.MedianLearner{}}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if below, above, err = m.(predict.Spread).Spread(t.Context(), e); err != nil || below[0] != 1 || above[0] != 1 {
		t.Errorf("spread %v, %v (%v) of models without any, want 1", below, above, err)
	}
}

// Logarithms of 1, 1 and 4 are apart by the square root of 2; with Apart that is
// what counts, whatever the models say of themselves.
func TestMeansAreUnsureWhereTheirModelsDisagree(t *testing.T) {
	e := line()
	m, err := baseline.Mean{Apart: 0.5, Learners: []predict.Learner{always{1, 7, 7}, always{1, 7, 7}, always{4, 7, 7}}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	below, above, err := m.(predict.Spread).Spread(t.Context(), e)
	if err != nil || len(below) != 40 || math.Abs(below[3]-0.5-math.Sqrt2) > 1e-12 || !slices.Equal(below, above) {
		t.Errorf("spread %v, %v (%v), want 0.5 and the square root of 2", below, above, err)
	}
	c, ok := m.(predict.Compound)
	if !ok {
		t.Fatalf("a %T", m)
	}
	again, _, err := c.With(c.Parts()).(predict.Spread).Spread(t.Context(), e)
	if err != nil || !slices.Equal(again, below) {
		t.Errorf("with the same parts %v (%v), want %v", again, err, below)
	}
	if _, err := (baseline.Mean{Apart: -1, Learners: []predict.Learner{always{1, 1, 1}}}).Fit(t.Context(), e, 1); err == nil || !strings.Contains(err.Error(), "Mean.Apart is -1") {
		t.Error(err)
	}
}

func TestMeansAreSavedWithTheirModels(t *testing.T) {
	for _, apart := range []float64{0, 0.25} {
		savedWithTheirModels(t, apart)
	}
}

func savedWithTheirModels(t *testing.T, apart float64) {
	t.Helper()
	e := line()
	learner := baseline.Mean{Apart: apart, Learners: []predict.Learner{baseline.RidgeLearner{}, boost.Learner{Trees: 5, Leaves: 3, Held: -1, Quantiles: [2]float64{0.1, 0.9}}}}
	p, err := predict.Conformal{Learner: learner}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := predict.Save(&b, p.(*predict.Fitted)); err != nil {
		t.Fatal(err)
	}
	back, err := predict.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Predict(t.Context(), e, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Predict(t.Context(), e, 0.5)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v (%v), want %v", got, err, want)
	}
	if a, b := back.Describe().String(), p.Describe().String(); a != b {
		t.Errorf("%s\nwas\n%s", a, b)
	}
	// Of a kind that is not registered nothing is written.
	p, err = predict.Conformal{Learner: baseline.Mean{Learners: []predict.Learner{always{1, 1, 1}}}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := predict.Save(&b, p.(*predict.Fitted)); err == nil || !strings.Contains(err.Error(), `"always"`) {
		t.Error(err)
	}
}

func TestMeansOfNothingOrOfWhatFailsAreErrors(t *testing.T) {
	if _, err := (baseline.Mean{}).Fit(t.Context(), line(), 1); err == nil || !strings.Contains(err.Error(), "no learners") {
		t.Error(err)
	}
	l := baseline.Mean{Learners: []predict.Learner{baseline.MedianLearner{}, failing{}}}
	if _, err := l.Fit(t.Context(), line(), 1); err == nil || !strings.Contains(err.Error(), "model 2 of a mean of 2: no memory") {
		t.Error(err)
	}
}
