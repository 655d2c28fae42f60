package regress

import (
	"github.com/rooflab/rooflab/modeling/predict"
)

// inputs turn a row of counters into a network's inputs. All constants come
// from the training rows only.
type inputs struct{ predict.Scale }

func prepare(t *table, rows []int) (in inputs, dropped []predict.Dropped) {
	in.Scale, dropped = predict.FitScale(t.features, len(rows), func(r, j int) float64 { return t.cols[t.features[j]][rows[r]] })
	return in, dropped
}

// row is the network's input for one row of counters.
func (in inputs) row(value func(name string) float64) []float32 {
	wide := in.Row(func(i int) float64 { return value(in.Columns[i].Name) })
	row := make([]float32, len(wide))
	for i, v := range wide {
		row[i] = float32(v)
	}
	return row
}

func moments(xs []float64, rows []int) (mean, sd float64) {
	picked := make([]float64, len(rows))
	for i, r := range rows {
		picked[i] = xs[r]
	}
	if mean, sd = predict.Moments(picked); sd == 0 {
		sd = 1
	}
	return mean, sd
}

func widen(xs []float32) []float64 {
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = float64(x)
	}
	return out
}
