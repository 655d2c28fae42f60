package counters

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Lasso is the ranking by LASSO (Tibshirani 1996), for comparison: coordinate
// descent along a path of penalties (Friedman, Hastie and Tibshirani 2010).
type Lasso struct {
	Penalty float64  // the one with the least error in cross-validation, on standardised columns and target
	Folds   int      // of the cross-validation; units of rows stay whole
	Error   float64  // cross-validated mean squared error there, a part of the target's variance
	Ranking []string // largest coefficients first, then those that enter the path next
	Entered []string // in the order in which they enter the path

	coefs            []float64 // per column
	ranking, entered []int
}

const (
	penalties   = 60
	pathEnd     = 1e-3 // the last penalty as a part of the first
	sweeps      = 500
	convergence = 1e-5 // of a coefficient, in standard deviations
	lassoFolds  = 5
)

// lasso fits the path on all rows and chooses the penalty by cross-validation.
func (p *prepared) lasso(ctx context.Context, seed uint64) (Lasso, error) {
	all := make([]int, p.rows)
	for i := range all {
		all[i] = i
	}
	var path []float64
	top := 0.0
	for j := range p.columns {
		top = math.Max(top, math.Abs(floats.Dot(p.columns[j].z, p.y))/float64(p.rows))
	}
	for i := range penalties {
		path = append(path, top*math.Pow(pathEnd, float64(i)/(penalties-1)))
	}
	fits, err := p.descend(ctx, all, path)
	if err != nil {
		return Lasso{}, err
	}
	l := Lasso{Folds: min(lassoFolds, len(p.units))}
	rng := rand.New(rand.NewPCG(seed, 0x6c6173736f))
	fold := make([]int, p.rows)
	for i, u := range rng.Perm(len(p.units)) {
		for _, r := range p.units[u] {
			fold[r] = i % max(l.Folds, 1)
		}
	}
	errors := make([]float64, penalties)
	for f := range l.Folds {
		var train, test []int
		for r := range all {
			if fold[r] == f {
				test = append(test, r)
			} else {
				train = append(train, r)
			}
		}
		if len(train) == 0 {
			continue
		}
		part, err := p.descend(ctx, train, path)
		if err != nil {
			return Lasso{}, err
		}
		for i, fit := range part {
			for _, r := range test {
				e := p.y[r] - fit.intercept
				for j, w := range fit.weights {
					if w != 0 {
						e -= w * p.columns[j].z[r]
					}
				}
				errors[i] += e * e / float64(p.rows)
			}
		}
	}
	best := floats.MinIdx(errors)
	l.Penalty, l.Error, l.coefs = path[best], errors[best], fits[best].weights
	l.rank(p, fits)
	return l, nil
}

// rank orders columns by when they enter the path and by their coefficients.
func (l *Lasso) rank(p *prepared, fits []linear) {
	in := map[int]bool{}
	for _, fit := range fits {
		var fresh []int
		for j, w := range fit.weights {
			if w != 0 && !in[j] {
				fresh = append(fresh, j)
				in[j] = true
			}
		}
		slices.SortStableFunc(fresh, func(a, b int) int { return cmp.Compare(math.Abs(fit.weights[b]), math.Abs(fit.weights[a])) })
		l.entered = append(l.entered, fresh...)
	}
	l.ranking = slices.Clone(l.entered)
	slices.SortStableFunc(l.ranking, func(a, b int) int { return cmp.Compare(math.Abs(l.coefs[b]), math.Abs(l.coefs[a])) })
	for _, j := range l.ranking {
		l.Ranking = append(l.Ranking, p.columns[j].name)
	}
	for _, j := range l.entered {
		l.Entered = append(l.Entered, p.columns[j].name)
	}
}

// linear is a linear predictor of the standardised target.
type linear struct {
	intercept float64
	weights   []float64
}

// descend minimises |y - b - x w|^2 / 2n + penalty |w|_1 over rows for each
// penalty of a falling path, each from the solution before.
func (p *prepared) descend(ctx context.Context, rows []int, path []float64) ([]linear, error) {
	n := float64(len(rows))
	x := make([][]float64, len(p.columns))
	mean, square := make([]float64, len(x)), make([]float64, len(x))
	for j := range x {
		x[j] = pick(p.columns[j].z, rows)
		mean[j] = floats.Sum(x[j]) / n
		floats.AddConst(-mean[j], x[j])
		square[j] = floats.Dot(x[j], x[j]) / n
	}
	y := pick(p.y, rows)
	ymean := floats.Sum(y) / n
	floats.AddConst(-ymean, y)
	// g are the columns' products with the residual. A change of a weight
	// changes them by a column of the covariance, which is computed when the
	// weight first leaves zero (Friedman, Hastie and Tibshirani 2010, 2.2).
	g := make([]float64, len(x))
	for j := range x {
		g[j] = floats.Dot(x[j], y) / n
	}
	covariance := make([][]float64, len(x))
	w := make([]float64, len(x))
	active := make([]int, 0, len(x))
	step := func(j int, penalty float64) float64 {
		if square[j] < 1e-12 {
			return 0
		}
		rho := g[j] + square[j]*w[j]
		fresh := math.Copysign(math.Max(math.Abs(rho)-penalty, 0), rho) / square[j]
		d := fresh - w[j]
		if d == 0 {
			return 0
		}
		if covariance[j] == nil {
			covariance[j] = make([]float64, len(x))
			for k := range x {
				covariance[j][k] = floats.Dot(x[j], x[k]) / n
			}
		}
		floats.AddScaled(g, -d, covariance[j])
		w[j] = fresh
		return math.Abs(d)
	}
	var out []linear
	for _, penalty := range path {
		for range sweeps {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			moved := 0.0
			active = active[:0]
			for j := range x {
				moved = math.Max(moved, step(j, penalty))
				if w[j] != 0 {
					active = append(active, j)
				}
			}
			if moved < convergence {
				break
			}
			for range sweeps { // those that are in, until they rest
				moved = 0
				for _, j := range active {
					moved = math.Max(moved, step(j, penalty))
				}
				if moved < convergence {
					break
				}
			}
		}
		fit := linear{intercept: ymean, weights: slices.Clone(w)}
		for j, v := range w {
			if v != 0 {
				fit.intercept -= v * mean[j]
			}
		}
		out = append(out, fit)
	}
	return out, nil
}
