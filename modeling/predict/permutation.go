package predict

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Importance is by how much predictions get worse without a feature.
type Importance struct {
	Feature string
	// Rise of the root mean square error of the logarithm, mean over the
	// repeats, and its standard deviation over them.
	Rise, Deviation float64
}

// Permutation asks how much worse m predicts e, which should be rows that it
// was not fitted on, when the values of one feature are dealt to other rows
// (Breiman 2001), the most important feature first. Of two features that tell
// the same, each may look unimportant, since the other is still there.
func Permutation(ctx context.Context, m Model, e *Examples, repeats int, seed uint64) ([]Importance, error) {
	if err := e.Check(true); err != nil {
		return nil, fmt.Errorf("measuring importance by permutation: %w", err)
	}
	if repeats < 1 {
		return nil, fmt.Errorf("measuring importance by permutation: %d repeats, want 1 at least", repeats)
	}
	e, err := e.Canonical().With(m.Describe().Features...)
	if err != nil {
		return nil, fmt.Errorf("measuring importance by permutation: %w", err)
	}
	logY := e.LogY()
	rmse := func(e *Examples) (float64, error) {
		p, err := m.Log(ctx, e)
		sum, total := 0.0, 0.0
		for r := range p {
			d := logY[r] - p[r]
			sum += e.Weight(r) * d * d
			total += e.Weight(r)
		}
		return math.Sqrt(sum / total), err
	}
	base, err := rmse(e)
	if err != nil {
		return nil, fmt.Errorf("measuring importance by permutation: %w", err)
	}
	rng := rand.New(rand.NewPCG(seed, 0x7065726d))
	out := make([]Importance, len(e.Features))
	for j, name := range e.Features {
		mixed := *e
		mixed.X = make([][]float64, e.Len())
		for r, row := range e.X {
			mixed.X[r] = slices.Clone(row)
		}
		rises := make([]float64, repeats)
		for k := range rises {
			for r, from := range rng.Perm(e.Len()) {
				mixed.X[r][j] = e.X[from][j]
			}
			now, err := rmse(&mixed)
			if err != nil {
				return nil, fmt.Errorf("measuring the importance of %q by permutation: %w", name, err)
			}
			rises[k] = now - base
		}
		out[j].Feature = name
		out[j].Rise, out[j].Deviation = Moments(rises)
	}
	slices.SortStableFunc(out, func(a, b Importance) int { return cmp.Compare(b.Rise, a.Rise) })
	return out, nil
}
