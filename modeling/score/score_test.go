package score_test

import (
	"math"
	"testing"

	"github.com/rooflab/rooflab/modeling/score"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(1, math.Abs(b)) }

func TestScoresByHand(t *testing.T) {
	// |p-y|/y: 0.5, 0.5, 0, 1; mean 0.5, median (0.5+0.5)/2 = 0.5.
	// In base 2 logs: y 1 2 3 4, p log2(1) 1+log2(1.5) 3 5 -> differences 1, -0.585, 0, -1.
	y := []float64{2, 4, 8, 16}
	p := []float64{1, 6, 8, 32}
	s, err := score.Of(y, p)
	if err != nil {
		t.Fatal(err)
	}
	l := math.Log2(1.5)
	rest := (1 + l*l + 0 + 1) // in log2 units
	total := 2*1.5*1.5 + 2*0.5*0.5
	if !near(s.MAPE, 0.5) || !near(s.MedianAPE, 0.5) || !near(s.R2Log, 1-rest/total) || !near(s.LogRMSE, math.Ln2*math.Sqrt(rest/4)) {
		t.Errorf("%+v", s)
	}
	if err := s.Interval(y, []float64{1, 5, 8, 1}, []float64{2, 10, 8, 4}); err != nil {
		t.Fatal(err)
	}
	if s.Within != 0.5 || s.MeanFactor != (2+2+1+4)/4. {
		t.Errorf("interval %+v", s)
	}
}

func TestScaleOfTheUnitDoesNotMatter(t *testing.T) {
	y, p := []float64{1, 2, 5, 9}, []float64{1.5, 2, 4, 12}
	a, _ := score.Of(y, p)
	for i := range y {
		y[i], p[i] = y[i]*1e-6, p[i]*1e-6
	}
	b, err := score.Of(y, p)
	if err != nil || !near(a.MAPE, b.MAPE) || !near(a.MedianAPE, b.MedianAPE) || math.Abs(a.R2Log-b.R2Log) > 1e-9 || math.Abs(a.LogRMSE-b.LogRMSE) > 1e-9 {
		t.Errorf("%+v and %+v (%v)", a, b, err)
	}
}

func TestImpossiblePairsAreErrors(t *testing.T) {
	for _, c := range [][2][]float64{{{1}, {1, 2}}, {{}, {}}, {{0}, {1}}, {{1}, {-1}}, {{1}, {math.NaN()}}, {{math.Inf(1)}, {1}}} {
		if _, err := score.Of(c[0], c[1]); err == nil {
			t.Errorf("%v against %v is no error", c[0], c[1])
		}
	}
	if s, err := score.Of([]float64{3, 3}, []float64{3, 3}); err != nil || !math.IsNaN(s.R2Log) || s.MAPE != 0 {
		t.Errorf("equal measurements: %+v, %v", s, err)
	}
}
