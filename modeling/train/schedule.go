package train

import (
	"fmt"
	"math"
)

// Schedule says how the learning rate goes over a run.
type Schedule string

// After the warm-up, in which the rate rises linearly from zero to the peak,
// it stays, falls linearly to the floor, or falls to it as half a cosine
// (Loshchilov and Hutter, SGDR, 2017, without restarts).
const (
	Cosine   Schedule = "cosine"
	Linear   Schedule = "linear"
	Constant Schedule = "constant"
)

// Rate is the learning rate of a step, the first being 0, in a run of steps
// steps with a warm-up of warmup steps, for a peak of 1 and a floor given as a
// fraction of it.
func (s Schedule) Rate(step, steps, warmup int, floor float64) float64 {
	if step < warmup {
		return float64(step+1) / float64(warmup)
	}
	// The last step has the floor's neighbour, not the floor: a rate of zero would waste it.
	x := float64(step-warmup) / float64(max(steps-warmup, 1))
	x = min(max(x, 0), 1)
	switch s {
	case Linear:
		return floor + (1-floor)*(1-x)
	case Constant:
		return 1
	default:
		return floor + (1-floor)*(1+math.Cos(math.Pi*x))/2
	}
}

func (s Schedule) check() error {
	switch s {
	case Cosine, Linear, Constant:
		return nil
	}
	return fmt.Errorf("there is no schedule %q: take %q, %q or %q", s, Cosine, Linear, Constant)
}
