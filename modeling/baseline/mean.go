package baseline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/predict"
)

// Mean fits Learners on the same rows and predicts the geometric mean of what
// they predict, all of them with the same weight: what models of different kinds
// get wrong in different ways cancels in part (Breiman 1996, stacked regressions,
// with the weights given).
type Mean struct {
	Learners []predict.Learner
	// Apart, if not 0, makes the spread of a prediction Apart plus the standard
	// deviation of the logarithms that the models predict: where they do not agree,
	// they are less to be relied on. It is how far off, in the same units, they are
	// where they agree.
	Apart float64
}

const kindMean = "mean of models"

func init() { predict.Register(kindMean, decodeMean) }

type meanModel struct {
	about  predict.Description
	models []predict.Model
	apart  float64
}

// Fit implements predict.Learner. The Model is a predict.Spread.
func (l Mean) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	if len(l.Learners) == 0 {
		return nil, errors.New("fitting a mean of models: there are no learners")
	}
	if l.Apart < 0 || math.IsNaN(l.Apart) || math.IsInf(l.Apart, 0) {
		return nil, fmt.Errorf("fitting a mean of models: Mean.Apart is %g, want a positive number, or 0 to leave it", l.Apart)
	}
	if err := e.Check(true); err != nil {
		return nil, fmt.Errorf("fitting a mean of models: %w", err)
	}
	m := &meanModel{about: predict.About(kindMean, e, seed), apart: l.Apart}
	var details []string
	for i, one := range l.Learners {
		model, err := one.Fit(ctx, e, seed)
		if err != nil {
			return nil, fmt.Errorf("fitting model %d of a mean of %d: %w", i+1, len(l.Learners), err)
		}
		m.models = append(m.models, model)
		d := model.Describe()
		details = append(details, fmt.Sprintf("%s (%s)", d.Kind, d.Detail))
		m.about.Features = append(m.about.Features, d.Features...)
		m.about.Warnings = append(m.about.Warnings, d.Warnings...)
		for _, x := range d.Dropped {
			if !slices.Contains(m.about.Dropped, x) {
				m.about.Dropped = append(m.about.Dropped, x)
			}
		}
	}
	slices.Sort(m.about.Features)
	m.about.Features = slices.Compact(m.about.Features)
	m.about.Detail = fmt.Sprintf("geometric mean of %d: %s", len(m.models), strings.Join(details, "; "))
	if l.Apart != 0 {
		m.about.Detail += fmt.Sprintf("; intervals are as wide as %g and the deviation of the %d", l.Apart, len(m.models))
	}
	return m, nil
}

// Log implements predict.Model.
func (m *meanModel) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	out := make([]float64, e.Len())
	for _, one := range m.models {
		logs, err := one.Log(ctx, e)
		if err != nil {
			return nil, err
		}
		for r, v := range logs {
			out[r] += v / float64(len(m.models))
		}
	}
	return out, nil
}

// Spread implements predict.Spread: with Mean.Apart how far the models are apart,
// else the geometric mean of the spreads of those models that know one, for which
// it does not matter that the scale of each is its own; 1 where none does.
func (m *meanModel) Spread(ctx context.Context, e *predict.Examples) (below, above []float64, err error) {
	if m.apart > 0 {
		below, err = m.deviation(ctx, e)
		for r := range below {
			below[r] += m.apart
		}
		return below, below, err
	}
	below, above = make([]float64, e.Len()), make([]float64, e.Len())
	n := 0.0
	for _, one := range m.models {
		s, ok := one.(predict.Spread)
		if !ok {
			continue
		}
		b, a, err := s.Spread(ctx, e)
		if err != nil {
			return nil, nil, err
		}
		n++
		for r := range b {
			below[r] += math.Log(b[r])
			above[r] += math.Log(a[r])
		}
	}
	for r := range below {
		below[r], above[r] = math.Exp(below[r]/max(n, 1)), math.Exp(above[r]/max(n, 1))
	}
	return below, above, nil
}

// deviation is the standard deviation of what the models predict, in each row.
func (m *meanModel) deviation(ctx context.Context, e *predict.Examples) ([]float64, error) {
	all := make([][]float64, len(m.models))
	for i, one := range m.models {
		var err error
		if all[i], err = one.Log(ctx, e); err != nil {
			return nil, err
		}
	}
	out := make([]float64, e.Len())
	of := make([]float64, len(all))
	for r := range out {
		for i := range all {
			of[i] = all[i][r]
		}
		_, out[r] = predict.Moments(of)
	}
	return out, nil
}

// Parts implements predict.Compound.
func (m *meanModel) Parts() []predict.Model { return slices.Clone(m.models) }

// With implements predict.Compound.
func (m *meanModel) With(parts []predict.Model) predict.Compound {
	return &meanModel{about: m.about, models: slices.Clone(parts), apart: m.apart}
}

// Describe implements predict.Model.
func (m *meanModel) Describe() predict.Description { return m.about }

// meanFile is how a meanModel is written.
type meanFile struct {
	About  predict.Description `json:"about"`
	Models []json.RawMessage   `json:"models"`
	Apart  float64             `json:"apart,omitempty"`
}

// MarshalJSON writes the models as predict.Encode does.
func (m *meanModel) MarshalJSON() ([]byte, error) {
	f := meanFile{About: m.about, Apart: m.apart}
	for _, one := range m.models {
		raw, err := predict.Encode(one)
		if err != nil {
			return nil, err
		}
		f.Models = append(f.Models, raw)
	}
	return json.Marshal(f)
}

func decodeMean(raw json.RawMessage) (predict.Model, error) {
	var f meanFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	if len(f.Models) == 0 {
		return nil, errors.New("it has no models")
	}
	if f.Apart < 0 {
		return nil, fmt.Errorf("its models are %g apart, want a positive number", f.Apart)
	}
	m := &meanModel{about: f.About, apart: f.Apart}
	for _, raw := range f.Models {
		one, err := predict.Decode(raw)
		if err != nil {
			return nil, err
		}
		m.models = append(m.models, one)
	}
	return m, nil
}
