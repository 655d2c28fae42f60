package boost

import "math"

// Logistic makes trees decide instead of predict: the loss is the negative
// logarithm of the probability of the side of 1 that the target was on, and Log
// is the logarithm of the odds that it is above 1, as where the target is how
// many times one device is faster than another. Positive is for above; by how
// much does not count, only Weights do. Trees split by the gradient and a leaf
// takes one step of Newton's (Friedman 2001, L2_TreeBoost). Intervals of
// predict.Conformal mean nothing for odds.
const Logistic Loss = "logistic"

func (g *grower) logistic() bool { return g.Loss == Logistic }

// side is 1 where the target, of logarithm y, is above 1, else 0.
func side(y float64) float64 {
	if y > 0 {
		return 1
	}
	return 0
}

func probability(logOdds float64) float64 { return 1 / (1 + math.Exp(-logOdds)) }

// crossEntropy is -log of the probability that log odds f give the side of y.
func crossEntropy(y, f float64) float64 {
	if y > 0 {
		f = -f
	}
	return math.Max(f, 0) + math.Log1p(math.Exp(-math.Abs(f))) // log(1 + exp f)
}

// most is the largest second derivative of the loss, at even odds. Gradients are
// divided by it, so that it is the row's weight there.
const most = 0.25

func (g *grower) logisticGradient(rows []int32) {
	for _, r := range rows {
		g.grad[r] = g.weight[r] * (probability(g.f[r]) - side(g.y[r])) / most
	}
}

// odds are the logarithm of the odds of rows as a whole. Where all are on one
// side, half a row counts as on the other.
func (g *grower) odds(rows []int32) float64 {
	above, total := 0.0, 0.0
	for _, r := range rows {
		above += g.weight[r] * side(g.y[r])
		total += g.weight[r]
	}
	half := total / float64(2*len(rows))
	return math.Log(math.Max(above, half) / math.Max(total-above, half))
}

// logisticLeaf is Newton's step for the rows of a leaf.
func (g *grower) logisticLeaf(l *leaf) float64 {
	curvature := 0.0
	for _, r := range l.rows {
		p := probability(g.f[r])
		curvature += g.weight[r] * p * (1 - p) / most
	}
	if curvature += g.L2; curvature == 0 { // all as sure as numbers can be
		return 0
	}
	return -l.total.g / curvature
}
