package boost

import "math"

// Loss names what is made small. With d the predicted less the measured
// logarithm it is d^2, |d|, or the error as a part of what was measured.
type Loss string

const (
	// Squared is d^2: the mean of the logarithm is predicted.
	Squared Loss = "squared"
	// Absolute is |d|: the median is predicted, of the target as of its logarithm.
	Absolute Loss = "absolute"
	// Relative is |exp(d) - 1| = |predicted - measured| / measured, whose mean is
	// MAPE. A prediction that is far too low costs at most 1, one that is too high
	// without bound, so that what is unsure is predicted low: if the logarithm is
	// normal with standard deviation s, s^2 below its mean, where the loss is
	// erf(s / sqrt 2). The loss is not convex and flat where predictions are much
	// too low, therefore it begins at the median, and does best as the Learner of
	// a baseline.Correction whose Base was fitted to the squared loss.
	Relative Loss = "relative"
)

func (g *grower) relative() bool { return g.Loss == Relative && g.quantile == 0 }

// steepest bounds the weight of a row: exp(6) is four hundred times too much, and
// what is beyond must not decide alone where trees split.
const steepest = 6

// overshoot is exp(d), the slope of the relative loss, bounded.
func overshoot(d float64) float64 { return math.Exp(math.Min(d, steepest)) }

// equal is a difference of logarithms that is rounding: an ensemble begins at
// the target of a row, and there no direction is better.
const equal = 1e-9

// relativeGradient is that of |exp(f-y) - 1| in f. In a leaf, where v is added
// to all f, it is exp(v) times the sum of sign(f+v-y) exp(f-y): the best v is the
// median of y-f with weights exp(f-y), which constant finds.
func (g *grower) relativeGradient(rows []int32) {
	for _, r := range rows {
		d := g.f[r] - g.y[r]
		g.grad[r] = 0
		if math.Abs(d) > equal {
			g.grad[r] = g.weight[r] * math.Copysign(overshoot(d), d)
		}
	}
}

// start is where an ensemble begins.
func (g *grower) start(rows []int32) float64 {
	if g.relative() {
		return g.quantileOf(rows, 0.5, func(r int32) float64 { return g.weight[r] })
	}
	return g.constant(rows)
}
