package regress

import (
	"context"
	"fmt"

	"github.com/rooflab/rooflab/modeling/predict"
)

// Log predicts the logarithm of the run time of each row of a table, which has
// the columns that the model learnt from as its features: with it a Model is a
// predict.Model, and can be held against others.
func (m *Model) Log(ctx context.Context, e *predict.Examples) ([]float64, error) {
	x, err := e.Columns(m.inputs.Names())
	if err != nil {
		return nil, fmt.Errorf("predicting by regression: %w", err)
	}
	at := map[string]int{}
	for i, n := range m.inputs.Names() {
		at[n] = i
	}
	out := make([]float64, len(x))
	for r, row := range x {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[r] = m.logTime(m.inputs.row(func(name string) float64 { return row[at[name]] }))
	}
	return out, nil
}

// Describe says what the model is and what it was trained on.
func (m *Model) Describe() predict.Description {
	r := m.Report
	return predict.Description{
		Kind: "multilayer perceptron", Detail: fmt.Sprintf("hidden layers of %v units, %d epochs, on %s", r.Options.Hidden, r.Epochs, r.Backend),
		Target: r.Options.Target, Features: r.Features, Dropped: r.Dropped, Rows: r.Train, Data: r.DataHash, Seed: r.Options.Seed, Warnings: r.Warnings,
	}
}
