package boost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/modeling/predict"
)

// Kind is what boosted trees are called in files and descriptions.
const Kind = "boosted trees"

func init() {
	predict.Register(Kind, func(raw json.RawMessage) (predict.Model, error) {
		m := &Model{}
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		return m, m.check()
	})
}

// Model is an ensemble of trees, and two of quantiles where they were asked for.
type Model struct {
	About     predict.Description `json:"about"` // Features are in the order of the trees' numbers
	Mean      ensemble            `json:"mean"`
	Quantiles [2]*ensemble        `json:"quantiles"`
}

// ensemble predicts Start plus the values of all trees.
type ensemble struct {
	Start float64 `json:"start"`
	Trees []tree  `json:"trees"`
}

type tree struct {
	Nodes []node `json:"nodes"` // the root first
}

// node is a split, or a leaf where Feature is -1.
type node struct {
	Feature     int32   `json:"f"`
	Threshold   float64 `json:"t,omitempty"` // values up to it go left
	UnknownLeft bool    `json:"u,omitempty"`
	Left        int32   `json:"l,omitempty"` // the right child is the next
	Gain        float64 `json:"g,omitempty"`
	Value       float64 `json:"v,omitempty"` // of a leaf, the learning rate in it
}

func (t *tree) value(row []float64) float64 {
	n := &t.Nodes[0]
	for n.Feature >= 0 {
		next := n.Left
		v := row[n.Feature]
		if v > n.Threshold || v != v && !n.UnknownLeft {
			next++
		}
		n = &t.Nodes[next]
	}
	return n.Value
}

func (en *ensemble) log(row []float64) float64 {
	y := en.Start
	for i := range en.Trees {
		y += en.Trees[i].value(row)
	}
	return y
}

// Log implements predict.Model.
func (m *Model) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	return m.logs(ctx, e, &m.Mean)
}

func (m *Model) logs(ctx context.Context, e *predict.Examples, en *ensemble) ([]float64, error) {
	x, err := e.Columns(m.About.Features)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(x))
	for r, row := range x {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[r] = en.log(row)
	}
	return out, nil
}

// least is the smallest spread, in the logarithm: quantile trees that meet or
// cross do not make an interval of nothing.
const least = 1e-3

// Spread implements predict.Spread: the distances of the quantiles from the
// mean, 1 where no quantiles were fitted.
func (m *Model) Spread(ctx context.Context, e *predict.Examples) (below, above []float64, err error) {
	if m.Quantiles[0] == nil {
		one := slices.Repeat([]float64{1}, e.Len())
		return one, one, nil
	}
	mid, err := m.Log(ctx, e)
	if err != nil {
		return nil, nil, err
	}
	low, err := m.logs(ctx, e, m.Quantiles[0])
	if err != nil {
		return nil, nil, err
	}
	high, err := m.logs(ctx, e, m.Quantiles[1])
	if err != nil {
		return nil, nil, err
	}
	for i := range mid {
		low[i], high[i] = math.Max(least, mid[i]-low[i]), math.Max(least, high[i]-mid[i])
	}
	return low, high, nil
}

// Describe implements predict.Model.
func (m *Model) Describe() predict.Description { return m.About }

// MarshalJSON writes the model for predict.Save.
func (m *Model) MarshalJSON() ([]byte, error) {
	type plain Model
	return json.Marshal((*plain)(m))
}

// check makes sure that no prediction can leave the trees.
func (m *Model) check() error {
	if (m.Quantiles[0] == nil) != (m.Quantiles[1] == nil) {
		return errors.New("it has one quantile of two")
	}
	for _, en := range []*ensemble{&m.Mean, m.Quantiles[0], m.Quantiles[1]} {
		if en == nil {
			continue
		}
		for i, t := range en.Trees {
			if len(t.Nodes) == 0 {
				return fmt.Errorf("tree %d is empty", i)
			}
			for k, n := range t.Nodes {
				if n.Feature >= int32(len(m.About.Features)) || n.Feature >= 0 && (int(n.Left) <= k || int(n.Left)+1 >= len(t.Nodes)) {
					return fmt.Errorf("node %d of tree %d splits on feature %d of %d and continues at node %d of %d", k, i, n.Feature, len(m.About.Features), n.Left, len(t.Nodes))
				}
			}
		}
	}
	return nil
}

// Importance is how much of the fall of the loss a feature's splits made.
type Importance struct {
	Feature string
	Gain    float64 // the parts of all features sum to 1
	Splits  int
}

// Importance lists the features, the most important first. It tells what the
// trees used, which is not what causes the target to change; of features that
// tell the same it may name either. predict.Permutation asks in another way.
func (m *Model) Importance() []Importance {
	out := make([]Importance, len(m.About.Features))
	total := 0.0
	for j, name := range m.About.Features {
		out[j].Feature = name
	}
	for _, t := range m.Mean.Trees {
		for _, n := range t.Nodes {
			if n.Feature >= 0 {
				out[n.Feature].Gain += n.Gain
				out[n.Feature].Splits++
				total += n.Gain
			}
		}
	}
	if total > 0 {
		for j := range out {
			out[j].Gain /= total
		}
	}
	slices.SortStableFunc(out, func(a, b Importance) int { return cmp.Compare(b.Gain, a.Gain) })
	return out
}
