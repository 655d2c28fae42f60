package baseline

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/modeling/predict"
)

// Correction fits a Base, as the analytical roofline, and then a Learner of
// what the measured values are in units of the Base's: physics first, for it
// holds beyond the rows that were seen, and statistics for the rest.
type Correction struct {
	Base, Learner predict.Learner
}

type correctionModel struct {
	about      predict.Description
	base, rest predict.Model
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
	logs, err := base.Log(ctx, e)
	if err != nil {
		return nil, fmt.Errorf("fitting a corrected model: %w", err)
	}
	rest := *e
	rest.Target, rest.Unit, rest.Y = e.Target+" / "+base.Describe().Kind, "", make([]float64, e.Len())
	for r, y := range e.LogY() {
		rest.Y[r] = math.Exp(y - logs[r])
	}
	m := &correctionModel{about: predict.About(kindCorrection, e, seed), base: base}
	if m.rest, err = c.Learner.Fit(ctx, &rest, seed); err != nil {
		return nil, fmt.Errorf("correcting the %s: %w", base.Describe().Kind, err)
	}
	b, d := base.Describe(), m.rest.Describe()
	m.about.Detail = fmt.Sprintf("%s (%s), times %s (%s)", b.Kind, b.Detail, d.Kind, d.Detail)
	m.about.Features = slices.Concat(b.Features, d.Features)
	slices.Sort(m.about.Features)
	m.about.Features = slices.Compact(m.about.Features)
	m.about.Dropped = d.Dropped
	m.about.Warnings = slices.Concat(b.Warnings, d.Warnings)
	return m, nil
}

func (m *correctionModel) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	out, err := m.base.Log(ctx, e)
	if err != nil {
		return nil, err
	}
	rest, err := m.rest.Log(ctx, e)
	if err != nil {
		return nil, err
	}
	for r, v := range rest {
		out[r] += v
	}
	return out, nil
}

func (m *correctionModel) Describe() predict.Description { return m.about }

// correctionFile is how a correctionModel is written.
type correctionFile struct {
	About predict.Description `json:"about"`
	Base  json.RawMessage     `json:"base"`
	Rest  json.RawMessage     `json:"rest"`
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
	return json.Marshal(correctionFile{m.about, base, rest})
}

func decodeCorrection(raw json.RawMessage) (predict.Model, error) {
	var f correctionFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	m := &correctionModel{about: f.About}
	var err error
	if m.base, err = predict.Decode(f.Base); err != nil {
		return nil, err
	}
	m.rest, err = predict.Decode(f.Rest)
	return m, err
}
