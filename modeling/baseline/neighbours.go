package baseline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rooflab/rooflab/modeling/predict"
)

// NeighboursLearner fits k nearest neighbours: the mean of the logarithm of the
// target over the k nearest training rows, each weighted by one over its
// Euclidean distance in scaled features (predict.Scale). Rows at distance 0
// count alone where there are any.
type NeighboursLearner struct {
	// Ks are the numbers of neighbours to choose from by grouped
	// cross-validation, for the least squared error; nil is 1, 2, 3, 5, 8, 13,
	// 21, 34, 55.
	Ks    []int
	Folds int // 5 by default, fewer where there are fewer groups
}

type neighboursModel struct {
	About  predict.Description `json:"about"`
	Scale  predict.Scale       `json:"scale"`
	K      int                 `json:"k"`
	X      [][]float64         `json:"x"`
	Y      []float64           `json:"log_y"`
	Weight []float64           `json:"weights,omitempty"`
}

// queries is how many rows of a fold are asked at most to choose k: all rows of
// a large table would cost the square of their number.
const queries = 1000

// Fit implements predict.Learner.
func (l NeighboursLearner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	if err := e.Check(true); err != nil {
		return nil, fmt.Errorf("fitting nearest neighbours: %w", err)
	}
	ks := slices.Clone(l.Ks)
	if ks == nil {
		ks = []int{1, 2, 3, 5, 8, 13, 21, 34, 55}
	}
	slices.Sort(ks)
	if ks[0] < 1 {
		return nil, fmt.Errorf("fitting nearest neighbours: %d of them, want 1 at least", ks[0])
	}
	c := e.Canonical()
	m := &neighboursModel{About: predict.About(kindNeighbours, e, seed), Weight: c.Weights}
	var err error
	if m.X, m.Y, err = m.About.Inputs(&m.Scale, c); err != nil {
		return nil, fmt.Errorf("fitting nearest neighbours: %w", err)
	}
	best, how := 0, "given"
	if len(ks) > 1 {
		rng := rand.New(rand.NewPCG(seed, 0x6b6e6e))
		var losses []float64
		losses, how, err = crossValidate(ctx, c, l.Folds, seed, len(ks), func(train, test []int) ([]float64, error) {
			if len(test) > queries {
				test = slices.Clone(test)
				rng.Shuffle(len(test), func(i, j int) { test[i], test[j] = test[j], test[i] })
				test = test[:queries]
			}
			return m.losses(ctx, train, test, ks)
		})
		if err != nil {
			return nil, fmt.Errorf("fitting nearest neighbours: choosing k: %w", err)
		}
		best = smallest(losses)
	}
	m.K = ks[best]
	m.About.Detail = fmt.Sprintf("k = %d, %s; weighted by 1/distance in %d scaled inputs", m.K, how, m.Scale.Width())
	if len(ks) > 1 && best == len(ks)-1 {
		m.About.Warnings = append(m.About.Warnings, fmt.Sprintf("k = %d is the largest that it was chosen from", m.K))
	}
	return m, nil
}

func (m *neighboursModel) losses(ctx context.Context, train, test []int, ks []int) ([]float64, error) {
	x, y := at(m.X, train), at(m.Y, train)
	var w []float64
	if m.Weight != nil {
		w = at(m.Weight, train)
	}
	out := make([]float64, len(ks))
	for _, t := range test {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		near := nearest(x, y, w, m.X[t], ks[len(ks)-1])
		for i, k := range ks {
			d := m.Y[t] - mean(near[:min(k, len(near))])
			if m.Weight != nil {
				d *= math.Sqrt(m.Weight[t])
			}
			out[i] += d * d
		}
	}
	return out, nil
}

// neighbour is a training row as seen from a query.
type neighbour struct{ squared, y, weight float64 }

func nearer(a, b neighbour) int {
	if c := cmp.Compare(a.squared, b.squared); c != 0 {
		return c
	}
	return cmp.Compare(a.y, b.y) // so that the order of rows decides nothing
}

// nearest are the k rows of x nearest to q, by distance.
func nearest(x [][]float64, y, w []float64, q []float64, k int) []neighbour {
	near := make([]neighbour, 0, k+1)
	for r, row := range x {
		limit := math.Inf(1)
		if len(near) == k {
			limit = near[k-1].squared
		}
		sum := 0.0
		for j := 0; j < len(row) && sum <= limit; j++ {
			d := row[j] - q[j]
			sum += d * d
		}
		n := neighbour{sum, y[r], 1}
		if w != nil {
			n.weight = w[r]
		}
		if sum > limit || len(near) == k && nearer(n, near[k-1]) >= 0 {
			continue
		}
		i, _ := slices.BinarySearchFunc(near, n, nearer)
		near = slices.Insert(near, i, n)
		near = near[:min(len(near), k)]
	}
	return near
}

func mean(near []neighbour) float64 {
	sum, total := 0.0, 0.0
	exact := near[0].squared == 0
	for _, n := range near {
		w := n.weight
		if exact && n.squared > 0 {
			break // they ascend
		}
		if !exact {
			w /= math.Sqrt(n.squared)
		}
		sum += w * n.y
		total += w
	}
	return sum / total
}

func (m *neighboursModel) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	x, err := m.Scale.Table(e)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(x))
	for r, q := range x {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[r] = mean(nearest(m.X, m.Y, m.Weight, q, m.K))
	}
	return out, nil
}

func (m *neighboursModel) Describe() predict.Description { return m.About }

func (m *neighboursModel) MarshalJSON() ([]byte, error) {
	type plain neighboursModel
	return json.Marshal((*plain)(m))
}

func (m *neighboursModel) check() error {
	if m.K < 1 || len(m.X) == 0 || len(m.Y) != len(m.X) || m.Weight != nil && len(m.Weight) != len(m.X) {
		return fmt.Errorf("it has %d rows, %d targets and k = %d", len(m.X), len(m.Y), m.K)
	}
	for r, row := range m.X {
		if len(row) != m.Scale.Width() {
			return fmt.Errorf("its row %d has %d inputs, want %d", r, len(row), m.Scale.Width())
		}
	}
	return m.Scale.Check()
}
