package baseline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/predict"
)

// Correction fits a Base, as the analytical roofline, and then a Learner of
// what the measured values are in units of the Base's: physics first, for it
// holds beyond the rows that were seen, and statistics for the rest.
type Correction struct {
	Base, Learner predict.Learner
	// Folds is for a Base that fits its training rows closer than new ones, as
	// trees do: what is left is then taken from as many bases that were each
	// fitted without a part of the groups (stacked generalisation, Wolpert 1992),
	// and the Base of all rows predicts. 0 takes what one Base leaves on the rows
	// that it was fitted on.
	Folds int
	// Shown gives the Learner the Base's prediction, its logarithm, as a feature
	// of this name; "" does not.
	Shown string
}

type correctionModel struct {
	about      predict.Description
	base, rest predict.Model
	shown      string
}

// Fit implements predict.Learner.
func (c Correction) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	if err := e.Check(true); err != nil {
		return nil, fmt.Errorf("fitting a corrected model: %w", err)
	}
	base, err := c.Base.Fit(ctx, e, seed)
	if err != nil {
		return nil, fmt.Errorf("fitting a corrected model: %w", err)
	}
	logs, err := c.unseen(ctx, base, e, seed)
	if err != nil {
		return nil, fmt.Errorf("fitting a corrected model: %w", err)
	}
	if slices.Contains(e.Features, c.Shown) {
		return nil, fmt.Errorf("fitting a corrected model: the prediction is to be shown as %q, and there is a feature of that name", c.Shown)
	}
	rest := *show(e, c.Shown, logs)
	rest.Target, rest.Unit, rest.Y = e.Target+" / "+base.Describe().Kind, "", make([]float64, e.Len())
	for r, y := range e.LogY() {
		rest.Y[r] = math.Exp(y - logs[r])
	}
	m := &correctionModel{about: predict.About(kindCorrection, e, seed), base: base, shown: c.Shown}
	if m.rest, err = c.Learner.Fit(ctx, &rest, seed); err != nil {
		return nil, fmt.Errorf("correcting the %s: %w", base.Describe().Kind, err)
	}
	b, d := base.Describe(), m.rest.Describe()
	m.about.Detail = fmt.Sprintf("%s (%s), times %s (%s)", b.Kind, b.Detail, d.Kind, d.Detail)
	if c.Folds != 0 {
		m.about.Detail += fmt.Sprintf(", from bases of %d folds that did not see the rows", c.Folds)
	}
	m.about.Features = slices.DeleteFunc(slices.Concat(b.Features, d.Features), func(f string) bool { return f == c.Shown })
	slices.Sort(m.about.Features)
	m.about.Features = slices.Compact(m.about.Features)
	m.about.Dropped = d.Dropped
	m.about.Warnings = slices.Concat(b.Warnings, d.Warnings)
	return m, nil
}

// unseen are the logarithms that the base predicts for e, by bases that did not
// see the row where there are folds.
func (c Correction) unseen(ctx context.Context, base predict.Model, e *predict.Examples, seed uint64) ([]float64, error) {
	if c.Folds == 0 {
		return base.Log(ctx, e)
	}
	folds, err := split.Folds(e.Groups, c.Folds, split.Options{Seed: seed})
	if err != nil {
		return nil, err
	}
	out := make([]float64, e.Len())
	for _, s := range folds {
		m, err := c.Base.Fit(ctx, e.Rows(s.Train), seed)
		if err != nil {
			return nil, err
		}
		logs, err := m.Log(ctx, e.Rows(s.Test))
		if err != nil {
			return nil, err
		}
		for i, r := range s.Test {
			out[r] = logs[i]
		}
	}
	return out, nil
}

// show is e with one more feature; "" is none.
func show(e *predict.Examples, name string, values []float64) *predict.Examples {
	out := *e
	if name == "" {
		return &out
	}
	out.Features = append(slices.Clone(e.Features), name)
	out.X = make([][]float64, e.Len())
	for r, row := range e.X {
		out.X[r] = append(slices.Clone(row), values[r])
	}
	return &out
}

func (m *correctionModel) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	out, err := m.base.Log(ctx, e)
	if err != nil {
		return nil, err
	}
	rest, err := m.rest.Log(ctx, show(e, m.shown, out))
	if err != nil {
		return nil, err
	}
	for r, v := range rest {
		out[r] += v
	}
	return out, nil
}

func (m *correctionModel) Describe() predict.Description { return m.about }

// Parts implements predict.Compound: the base, and what corrects it.
func (m *correctionModel) Parts() []predict.Model { return []predict.Model{m.base, m.rest} }

// With implements predict.Compound.
func (m *correctionModel) With(parts []predict.Model) predict.Compound {
	return &correctionModel{about: m.about, base: parts[0], rest: parts[1], shown: m.shown}
}

// correctionFile is how a correctionModel is written.
type correctionFile struct {
	About predict.Description `json:"about"`
	Base  json.RawMessage     `json:"base"`
	Rest  json.RawMessage     `json:"rest"`
	Shown string              `json:"shown,omitempty"`
}

func (m *correctionModel) MarshalJSON() ([]byte, error) {
	base, err := predict.Encode(m.base)
	if err != nil {
		return nil, err
	}
	rest, err := predict.Encode(m.rest)
	if err != nil {
		return nil, err
	}
	return json.Marshal(correctionFile{m.about, base, rest, m.shown})
}

func decodeCorrection(raw json.RawMessage) (predict.Model, error) {
	var f correctionFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	m := &correctionModel{about: f.About, shown: f.Shown}
	var err error
	if m.base, err = predict.Decode(f.Base); err != nil {
		return nil, err
	}
	m.rest, err = predict.Decode(f.Rest)
	return m, err
}
