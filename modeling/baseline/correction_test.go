package baseline_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/predict"
)

// memory knows the rows that it was fitted on by heart and of others nothing
// but 1; it is the extreme of a base that fits its own rows too closely.
type memory map[float64]float64

func (memory) Fit(_ context.Context, e *predict.Examples, _ uint64) (predict.Model, error) {
	m := memory{}
	for r, y := range e.LogY() {
		m[e.X[r][0]] = y
	}
	return m, nil
}

func (m memory) Log(_ context.Context, e *predict.Examples) ([]float64, error) {
	out := make([]float64, e.Len())
	for r, row := range e.X {
		out[r] = m[row[0]]
	}
	return out, nil
}

func (m memory) Describe() predict.Description {
	return predict.Description{Kind: "memory", Features: []string{"x"}}
}

// All times are e^3. A base that knows its rows by heart leaves nothing to
// correct on them, so that new ones are predicted as 1; on rows that the bases
// of the folds did not see it leaves 3, which the median finds.
func TestCorrectionsAreLearntOnRowsThatTheBaseDidNotSee(t *testing.T) {
	e := &predict.Examples{Features: []string{"x"}, Target: "time"}
	for i := range 20 {
		e.X, e.Y, e.Groups = append(e.X, []float64{float64(i)}), append(e.Y, math.Exp(3)), append(e.Groups, fmt.Sprint(i))
	}
	asked := &predict.Examples{Features: []string{"x"}, X: [][]float64{{99}}}
	for folds, want := range map[int]float64{0: 0, 5: 3} {
		m, err := baseline.Correction{Base: memory{}, Learner: baseline.MedianLearner{}, Folds: folds}.Fit(context.Background(), e, 1)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Log(context.Background(), asked)
		if err != nil || math.Abs(got[0]-want) > 1e-12 {
			t.Errorf("%d folds: %v, want %g (%v)", folds, got, want, err)
		}
	}
}

// The base is told nothing that matters, the times are in two clusters by x:
// what a linear learner sees of the base's prediction is of use to it.
func TestTheBasesPredictionCanBeShown(t *testing.T) {
	e := &predict.Examples{Features: []string{"x"}, Target: "time"}
	for i := range 40 {
		x := float64(i)
		e.X, e.Groups = append(e.X, []float64{x}), append(e.Groups, fmt.Sprint(i))
		e.Y = append(e.Y, math.Exp(0.05*x)) // the base gives 0.05 x where it knows x, the rest is nothing
	}
	c := baseline.Correction{Base: baseline.RidgeLearner{}, Learner: baseline.RidgeLearner{}, Folds: 4, Shown: "log of base"}
	m, err := c.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	if d := m.Describe(); len(d.Features) != 1 || d.Features[0] != "x" || !strings.Contains(d.Detail, "4 folds") {
		t.Errorf("%+v", d)
	}
	got, err := m.Log(context.Background(), &predict.Examples{Features: []string{"x"}, X: [][]float64{{10}, {30}}})
	if err != nil || math.Abs(got[0]-0.5) > 0.02 || math.Abs(got[1]-1.5) > 0.02 {
		t.Errorf("%v, %v", got, err)
	}
	c.Shown = "x"
	if _, err := c.Fit(context.Background(), e, 1); err == nil || !strings.Contains(err.Error(), `"x"`) {
		t.Error(err)
	}
}
