package llmperfopencl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/score"
)

// level is the coverage that intervals are made for.
const level = 0.9

// The figure to be below (Nguyen et al. 2025): MAPE of LLMPerf on the
// validation set of the paper, of other kernels on a GPU.
const (
	paper     = "LLMPerf as published, on the paper's own set"
	paperMAPE = 0.2425
	paperNote = "the published 24.25 % is of other kernels on a GPU: it is the figure to be below, not one on the same launches"
)

// tested are the launches that were predicted, with what the predictors say.
type tested struct {
	settings
	seed       uint64
	split      string
	examples   []llmperf.Example
	measured   []float64
	kernels    []string
	predictors []*predictor
}

// metric is a figure of rows of what was tested, by one predictor.
type metric struct {
	name string
	of   func(t *tested, p *predictor, rows []int) float64
}

// scores are those of rows; unknown where they cannot be scored.
func scores(t *tested, p *predictor, rows []int) score.Scores {
	nan := math.NaN()
	s, err := score.Of(pick(t.measured, rows), values(p, rows))
	if err != nil {
		return score.Scores{MAPE: nan, MedianAPE: nan, LogRMSE: nan}
	}
	return s
}

func values(p *predictor, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = p.predictions[r].Value
	}
	return out
}

var (
	mape      = metric{"MAPE", func(t *tested, p *predictor, rows []int) float64 { return scores(t, p, rows).MAPE }}
	medianAPE = metric{"median APE", func(t *tested, p *predictor, rows []int) float64 { return scores(t, p, rows).MedianAPE }}
	logRMSE   = metric{"log-RMSE", func(t *tested, p *predictor, rows []int) float64 { return scores(t, p, rows).LogRMSE }}
	spearman  = metric{"Spearman", func(t *tested, p *predictor, rows []int) float64 {
		return score.Spearman(pick(t.measured, rows), values(p, rows))
	}}
	coverage = metric{"coverage of intervals at 90 %", func(t *tested, p *predictor, rows []int) float64 {
		in := 0.0
		for _, r := range rows {
			if x := p.predictions[r]; x.Low <= t.measured[r] && t.measured[r] <= x.High {
				in++
			}
		}
		return in / float64(len(rows))
	}}
	width = metric{"upper by lower end of intervals at 90 %, median", func(t *tested, p *predictor, rows []int) float64 {
		var factors []float64
		for _, r := range rows {
			factors = append(factors, p.predictions[r].High/p.predictions[r].Low)
		}
		return score.Median(factors)
	}}
	// inOrder is 1 where all are, 0.5 where it is chance.
	inOrder = metric{fmt.Sprintf("pairs in the right order, of a kernel's launches whose times differ by more than %g %%", 100*apart), func(t *tested, p *predictor, rows []int) float64 {
		return t.pairs(p, rows, func(measured, predicted float64) (float64, bool) {
			switch {
			case math.Abs(measured) <= math.Log1p(apart):
				return 0, false
			case predicted == 0:
				return 0.5, true
			case measured > 0 == (predicted > 0):
				return 1, true
			}
			return 0, true
		})
	}}
	ratio = metric{"log-RMSE of the ratio of two launches' times", func(t *tested, p *predictor, rows []int) float64 {
		return math.Sqrt(t.pairs(p, rows, func(measured, predicted float64) (float64, bool) {
			return (predicted - measured) * (predicted - measured), true
		}))
	}}
)

// apart is the difference of times from which on it is said which is the longer.
const apart = 0.1

// pairs is the mean over the pairs of rows of one kernel and global size, by the
// logarithms of the ratios of their times.
func (t *tested) pairs(p *predictor, rows []int, of func(measured, predicted float64) (float64, bool)) float64 {
	// A resample holds a kernel several times: each copy is a block of rows
	// that ascend, and pairs are within a block.
	sum, n := 0.0, 0.0
	for i, a := range rows {
		for k := i + 1; k < len(rows); k++ {
			b := rows[k]
			if b <= a || t.kernels[b] != t.kernels[a] || rows[k-1] >= b {
				break
			}
			if !slices.Equal(t.examples[a].Global, t.examples[b].Global) {
				continue
			}
			v, ok := of(math.Log(t.measured[b]/t.measured[a]), math.Log(p.predictions[b].Value/p.predictions[a].Value))
			if ok {
				sum, n = sum+v, n+1
			}
		}
	}
	return sum / n // NaN without any
}

// figure is a metric with its interval, of some rows.
func (t *tested) figure(rows []int, of func(rows []int) float64) (score.Interval, error) {
	return score.Bootstrap(pick(t.kernels, rows), func(drawn []int) float64 { return of(pick(rows, drawn)) }, score.Resampling{Resamples: t.resamples, Seed: t.seed})
}

// results are all figures.
func (t *tested) results(ctx context.Context, progress func(string, int, int)) ([]evaluation.Result, error) {
	all := make([]int, len(t.measured))
	for i := range all {
		all[i] = i
	}
	byMedian := t.predictors[slices.IndexFunc(t.predictors, func(p *predictor) bool { return p.name == nameMedian })]
	var out []evaluation.Result
	order := slices.Clone(t.predictors)
	slices.SortStableFunc(order, func(a, b *predictor) int {
		switch {
		case a.first && !b.first:
			return -1
		case b.first && !a.first:
			return 1
		}
		return 0
	})
	for i, p := range order {
		progress("scoring "+p.name, i, len(t.predictors))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		note := p.name + ": " + p.detail
		for _, m := range []metric{mape, medianAPE, logRMSE, spearman, coverage, width} {
			r := evaluation.Result{Name: p.name, Note: note, BaselineValue: math.NaN()}
			switch {
			case m.name == mape.name:
				r.Baseline, r.BaselineValue, r.Note = paper, paperMAPE, paperNote
				if p.network != nil {
					r.Note = "with a network trained on " + told(p.network.Backend()) + "; " + r.Note
				}
			case m.name == coverage.name:
				r.Baseline, r.BaselineValue = "what the intervals are made for", level
			case p.ours:
				r.Baseline, r.BaselineValue = byMedian.name, m.of(t, byMedian, all)
			}
			if err := t.add(&out, r, m, p, all); err != nil {
				return nil, err
			}
		}
		if p.first {
			out = append(out, t.training(p))
		}
	}
	for _, p := range order {
		if !p.ours {
			continue
		}
		for _, b := range t.predictors {
			if b.ours && (!p.first || b.first) { // the first is held against its parts, too
				continue
			}
			d, err := t.figure(all, func(rows []int) float64 { return mape.of(t, p, rows) - mape.of(t, b, rows) })
			if err != nil {
				return nil, err
			}
			out = append(out, evaluation.Result{Name: p.name, Metric: "MAPE less the baseline's (paired difference)", Value: d.Value, Low: d.Low, High: d.High,
				Baseline: b.name, BaselineValue: 0, Split: t.split, N: len(all)})
		}
	}
	progress("scoring patterns", 0, 0)
	for _, p := range order {
		if !p.ours {
			continue
		}
		for _, pattern := range t.patterns() {
			var rows []int
			for _, r := range all {
				if t.examples[r].Pattern == pattern {
					rows = append(rows, r)
				}
			}
			name := fmt.Sprintf("%s: pattern %s (%d kernels)", p.name, pattern, distinct(pick(t.kernels, rows)))
			for _, m := range []metric{mape, medianAPE, logRMSE} {
				if err := t.add(&out, evaluation.Result{Name: name, Baseline: byMedian.name, BaselineValue: m.of(t, byMedian, rows)}, m, p, rows); err != nil {
					return nil, err
				}
			}
		}
		rows := t.growing(all)
		if len(rows) == 0 {
			continue
		}
		name := fmt.Sprintf("%s: data size changing under a fixed global size (%d kernels)", p.name, distinct(pick(t.kernels, rows)))
		for _, m := range []metric{mape, medianAPE, logRMSE, inOrder, ratio} {
			r := evaluation.Result{Name: name, Baseline: byMedian.name, BaselineValue: m.of(t, byMedian, rows), Note: growingNote}
			if err := t.add(&out, r, m, p, rows); err != nil {
				return nil, err
			}
		}
	}
	scatter, err := t.figure(all, t.scatter)
	if err != nil {
		return nil, err
	}
	return append(out, evaluation.Result{Name: "measured", Metric: "standard deviation of log of a configuration's times, median", Value: scatter.Value, Low: scatter.Low, High: scatter.High,
		BaselineValue: math.NaN(), Split: t.split, N: len(all), Note: "measured: the noise of single times; what is predicted is the median of 5 to 25 of them"}), nil
}

// training is how long it took to fit a predictor and all that it shares with
// others, which were fitted before it.
func (t *tested) training(p *predictor) evaluation.Result {
	whole := 0.0
	var parts []string
	for _, o := range t.predictors {
		switch o.name {
		case nameMedian, nameRelative, nameTrees, nameCorrected, p.name:
			whole += o.took.Minutes()
			parts = append(parts, fmt.Sprintf("%s %.1f", o.name, o.took.Minutes()))
		}
	}
	r := evaluation.Result{Name: p.name, Metric: "minutes to fit", Value: whole, Low: math.NaN(), High: math.NaN(), Baseline: "what it may take on two processors", BaselineValue: 90,
		Split: t.split, N: p.network.Result.Steps, Note: fmt.Sprintf("minutes to fit, with whatever else ran meanwhile, n being steps of the network: %s (without what was fitted before)", strings.Join(parts, ", "))}
	return r
}

const growingNote = "data size changing under a fixed global size: launches of a kernel that have the same global size and others of other sizes of buffers or values of scalars beside them; pairs are of these"

// add takes a metric of some rows as a Result.
func (t *tested) add(out *[]evaluation.Result, r evaluation.Result, m metric, p *predictor, rows []int) error {
	v, err := t.figure(rows, func(rows []int) float64 { return m.of(t, p, rows) })
	if err != nil {
		return fmt.Errorf("scoring %s: %w", r.Name, err)
	}
	r.Metric, r.Value, r.Low, r.High, r.Split, r.N = m.name, v.Value, v.Low, v.High, t.split, len(rows)
	*out = append(*out, r)
	return nil
}

// patterns are those of the kernels that were tested.
func (t *tested) patterns() []string {
	var out []string
	for _, x := range t.examples {
		if x.Pattern != "" {
			out = append(out, x.Pattern)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// growing are the rows whose kernel has other sizes of data under the same
// global size.
func (t *tested) growing(rows []int) []int {
	sizes := map[string]map[string]bool{}
	key := func(r int) string { return fmt.Sprint(t.kernels[r], t.examples[r].Global) }
	for _, r := range rows {
		k := key(r)
		if sizes[k] == nil {
			sizes[k] = map[string]bool{}
		}
		sizes[k][size(t.examples[r].Args)] = true
	}
	var out []int
	for _, r := range rows {
		if len(sizes[key(r)]) > 1 {
			out = append(out, r)
		}
	}
	return out
}

// size is what tells the amounts of data of launches of one kernel apart.
func size(args []llmperf.Argument) string {
	var b strings.Builder
	for _, a := range args {
		fmt.Fprint(&b, a.Bytes, a.Values, " ")
	}
	return b.String()
}

// scatter is the median of the times' own spreads.
func (t *tested) scatter(rows []int) float64 {
	var spreads []float64
	for _, r := range rows {
		if s := t.examples[r].Spread; !math.IsNaN(s) {
			spreads = append(spreads, s)
		}
	}
	if len(spreads) == 0 {
		return math.NaN()
	}
	return score.Median(spreads)
}
