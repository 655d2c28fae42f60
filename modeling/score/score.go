// Package score measures predictions of positive quantities (run times)
// against what was measured. In flow slices of equal length in the same unit,
// out flow the figures by which the field compares models: errors, rank
// correlations, regret and the calibration of intervals (Evaluate), each with
// a confidence interval that resamples kernels, not rows (Bootstrap). Nothing
// is fitted here.
package score

import (
	"errors"
	"fmt"
	"math"
	"sort"
)

// Scores are the figures by which performance models are compared.
type Scores struct {
	N          int     // pairs
	MAPE       float64 // mean of |p-y|/y, as a fraction (0.2 is 20 %)
	MedianAPE  float64 // median of |p-y|/y
	R2Log      float64 // coefficient of determination of log p for log y
	LogRMSE    float64 // root mean square of log p - log y
	Within     float64 // fraction of y inside [low, high], NaN without intervals
	MeanFactor float64 // mean of high/low, NaN without intervals
}

// Of compares predicted with measured values, both positive. R2Log is
// 1 - sum (log y - log p)^2 / sum (log y - mean log y)^2: 1 is perfect, 0 is
// no better than the mean of the measured values, and it is NaN when all
// measured values are equal.
func Of(measured, predicted []float64) (Scores, error) {
	s := Scores{N: len(measured), Within: math.NaN(), MeanFactor: math.NaN()}
	if len(measured) != len(predicted) {
		return s, fmt.Errorf("scoring %d predictions against %d measurements", len(predicted), len(measured))
	}
	if len(measured) == 0 {
		return s, errors.New("scoring no predictions at all")
	}
	apes := make([]float64, len(measured))
	var mean float64
	for i, y := range measured {
		p := predicted[i]
		if !(y > 0) || !(p > 0) || math.IsInf(y, 0) || math.IsInf(p, 0) {
			return s, fmt.Errorf("scoring pair %d: measured %g and predicted %g must be positive and finite", i, y, p)
		}
		apes[i] = math.Abs(p-y) / y
		s.MAPE += apes[i]
		mean += math.Log(y)
	}
	n := float64(len(measured))
	s.MAPE /= n
	mean /= n
	var rest, total float64
	for i, y := range measured {
		d := math.Log(y) - math.Log(predicted[i])
		rest += d * d
		d = math.Log(y) - mean
		total += d * d
	}
	s.LogRMSE = math.Sqrt(rest / n)
	s.R2Log = math.NaN()
	if total > 0 {
		s.R2Log = 1 - rest/total
	}
	s.MedianAPE = Median(apes)
	return s, nil
}

// Interval adds to s how often [low, high] holds the measured value and how
// wide it is (as the mean factor between its ends).
func (s *Scores) Interval(measured, low, high []float64) error {
	if len(low) != len(measured) || len(high) != len(measured) || len(measured) == 0 {
		return fmt.Errorf("scoring %d and %d interval ends against %d measurements", len(low), len(high), len(measured))
	}
	s.Within, s.MeanFactor = 0, 0
	for i, y := range measured {
		if low[i] <= y && y <= high[i] {
			s.Within++
		}
		s.MeanFactor += high[i] / low[i]
	}
	s.Within /= float64(len(measured))
	s.MeanFactor /= float64(len(measured))
	return nil
}

// Median is the middle of xs (the mean of the middle two of an even number),
// NaN for none. xs is not changed.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := append([]float64(nil), xs...)
	sort.Float64s(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

// String is one line with percentages.
func (s Scores) String() string {
	line := fmt.Sprintf("MAPE %.1f %%, median APE %.1f %%, R2 of log %.3f, n = %d", 100*s.MAPE, 100*s.MedianAPE, s.R2Log, s.N)
	if !math.IsNaN(s.Within) {
		line += fmt.Sprintf(", %.0f %% inside the interval", 100*s.Within)
	}
	return line
}
