package llmperfgpuflopbench

import (
	"math"

	"github.com/rooflab/rooflab/modeling/score"
)

// metric is a figure of times measured and predicted; kernels tell which kernel
// a launch is of.
type metric struct {
	name string
	of   func(measured, predicted []float64, kernels []string) float64
}

var metrics = []metric{
	{"MAPE", func(y, p []float64, _ []string) float64 { return of(y, p).MAPE }},
	{"MAPE, mean over kernels", kernelMAPE},
	{"median APE", func(y, p []float64, _ []string) float64 { return of(y, p).MedianAPE }},
	{"log-RMSE", func(y, p []float64, _ []string) float64 { return of(y, p).LogRMSE }},
	{"Spearman", func(y, p []float64, _ []string) float64 { return score.Spearman(y, p) }},
}

// of are the scores of pairs; what cannot be scored is unknown.
func of(y, p []float64) score.Scores {
	s, err := score.Of(y, p)
	if err != nil {
		nan := math.NaN()
		return score.Scores{MAPE: nan, MedianAPE: nan, LogRMSE: nan}
	}
	return s
}

// kernelMAPE is the mean over kernels of the mean over their launches.
func kernelMAPE(y, p []float64, kernels []string) float64 {
	sum, n := map[string]float64{}, map[string]float64{}
	var names []string // in the order of appearance, so that the sum is one
	for i, k := range kernels {
		if n[k] == 0 {
			names = append(names, k)
		}
		sum[k] += math.Abs(p[i]-y[i]) / y[i]
		n[k]++
	}
	total := 0.0
	for _, k := range names {
		total += sum[k] / n[k]
	}
	return total / float64(len(names))
}

func pick[T any](from []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = from[r]
	}
	return out
}
