package score

import (
	"errors"
	"fmt"
	"math"
)

// Band is an interval for each prediction, meant to hold the measured value
// with probability Level.
type Band struct {
	Level     float64 // as 0.9
	Low, High []float64
}

func (b Band) check(n int) error {
	if !(b.Level > 0 && b.Level < 1) {
		return fmt.Errorf("an interval of level %g, want one between 0 and 1", b.Level)
	}
	if len(b.Low) != n || len(b.High) != n {
		return fmt.Errorf("%d and %d interval ends for %d measurements", len(b.Low), len(b.High), n)
	}
	for i := range b.Low {
		if !(b.Low[i] > 0 && b.Low[i] <= b.High[i]) {
			return fmt.Errorf("interval %d is from %g to %g: want positive ends in order", i, b.Low[i], b.High[i])
		}
	}
	return nil
}

// Coverage is the fraction of measured values inside their intervals: Level,
// if the intervals are calibrated.
func (b Band) Coverage(measured []float64) float64 {
	in := 0
	for i, y := range measured {
		if b.Low[i] <= y && y <= b.High[i] {
			in++
		}
	}
	return float64(in) / float64(len(measured))
}

// Sharpness is how wide the intervals are: the geometric mean of High/Low. Of
// two calibrated predictors the one with the smaller is the better (Gneiting,
// Balabdaoui and Raftery 2007). Infinite where an end is.
func (b Band) Sharpness() float64 {
	sum := 0.0
	for i := range b.Low {
		sum += math.Log(b.High[i]) - math.Log(b.Low[i])
	}
	return math.Exp(sum / float64(len(b.Low)))
}

// Pinball is the mean loss of a predicted quantile q (Koenker and Bassett
// 1978): q (y-p) where the measured y is above the prediction p, (1-q) (p-y)
// where it is below, in the unit of both. The true quantile has the smallest.
func Pinball(measured, predicted []float64, q float64) (float64, error) {
	if len(measured) != len(predicted) {
		return 0, fmt.Errorf("pinball loss of %d predictions for %d measurements", len(predicted), len(measured))
	}
	if len(measured) == 0 {
		return 0, errors.New("pinball loss of no predictions at all")
	}
	if !(q > 0 && q < 1) {
		return 0, fmt.Errorf("pinball loss of the quantile %g, want one between 0 and 1", q)
	}
	sum := 0.0
	for i, y := range measured {
		d := y - predicted[i]
		sum += math.Max(q*d, (q-1)*d)
	}
	return sum / float64(len(measured)), nil
}

// pinball is the mean loss of the two ends of a band as quantiles, in
// logarithms.
func (b Band) pinball(measured []float64) float64 {
	tail := (1 - b.Level) / 2
	sum := 0.0
	for i, y := range measured {
		low, high := math.Log(y)-math.Log(b.Low[i]), math.Log(y)-math.Log(b.High[i])
		sum += math.Max(tail*low, (tail-1)*low) + math.Max((1-tail)*high, -tail*high)
	}
	return sum / float64(2*len(measured))
}
