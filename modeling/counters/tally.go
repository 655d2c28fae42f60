package counters

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// bootstraps is how many samples of units an interval is made of.
const bootstraps = 2000

// tally gathers predictions of all folds of a repeat (and draw) per way.
type tally struct {
	order  []string
	runs   map[string]map[[2]int]*tallied
	chosen map[string]map[string]int
}

type tallied struct {
	rows                []int     // of the table
	measured, predicted []float64 // of the target as it was taken
	apes                []float64
}

func newTally() *tally {
	return &tally{runs: map[string]map[[2]int]*tallied{}, chosen: map[string]map[string]int{}}
}

func (t *tally) add(way string, repeat, draw int, s scale, z, raw []float64, rows []int) {
	if t.runs[way] == nil {
		t.order = append(t.order, way)
		t.runs[way] = map[[2]int]*tallied{}
	}
	key := [2]int{repeat, draw}
	run := t.runs[way][key]
	if run == nil {
		run = &tallied{}
		t.runs[way][key] = run
	}
	run.rows = append(run.rows, rows...)
	for i, v := range z {
		predicted := v*s.sd + s.mean
		run.predicted = append(run.predicted, predicted)
		run.measured = append(run.measured, s.transform(raw[i]))
		if s.log {
			predicted = math.Exp(predicted)
		}
		if raw[i] > 0 {
			run.apes = append(run.apes, math.Abs(predicted-raw[i])/raw[i])
		}
	}
}

func (t *tally) chose(way, name string) {
	if t.chosen[way] == nil {
		t.chosen[way] = map[string]int{}
	}
	t.chosen[way][name]++
}

func (r *tallied) r2() float64 {
	mean := stat.Mean(r.measured, nil)
	var sse, sst float64
	for i, m := range r.measured {
		sse += (m - r.predicted[i]) * (m - r.predicted[i])
		sst += (m - mean) * (m - mean)
	}
	return 1 - sse/sst
}

func (r *tallied) mape() float64 {
	if len(r.apes) < len(r.measured) {
		return math.NaN()
	}
	return stat.Mean(r.apes, nil)
}

// errors are the means of a way's squared and relative errors per row of the
// table; relative ones are NaN where the target is not positive.
func (t *tally) errors(way string, rows int) (squared, relative []float64) {
	squared, relative = make([]float64, rows), make([]float64, rows)
	n := float64(len(t.runs[way]))
	for _, k := range t.keys(way) {
		r := t.runs[way][k]
		for i, row := range r.rows {
			d := r.measured[i] - r.predicted[i]
			squared[row] += d * d / n
			ape := math.NaN()
			if len(r.apes) == len(r.rows) {
				ape = r.apes[i]
			}
			relative[row] += ape / n
		}
	}
	return squared, relative
}

// keys are the repeats and draws of a way, in order.
func (t *tally) keys(way string) [][2]int {
	keys := make([][2]int, 0, len(t.runs[way]))
	for k := range t.runs[way] {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return keys
}

// intervals fills the intervals of all ways from the same bootstrap samples of
// units, so that differences are paired: what is hard to predict is so for
// every way. keys says which unit a row of the table belongs to, "" where each
// stands alone.
func (t *tally) intervals(ways []Compared, keys []string, seed uint64) {
	rows := len(keys)
	measured := make([]float64, rows)
	first := t.runs[Ensemble][[2]int{0, 0}]
	for i, row := range first.rows {
		measured[row] = first.measured[i]
	}
	at := map[string]int{}
	var units [][]int
	for row, k := range keys {
		u, ok := at[k]
		if !ok || k == "" {
			u = len(units)
			at[k] = u
			units = append(units, nil)
		}
		units[u] = append(units[u], row)
	}
	squared, relative := make([][]float64, len(ways)), make([][]float64, len(ways))
	r2s, mapes := make([][]float64, len(ways)), make([][]float64, len(ways))
	base := 0
	for i, w := range ways {
		squared[i], relative[i] = t.errors(w.Way, rows)
		if w.Way == Ensemble {
			base = i
		}
	}
	rng := rand.New(rand.NewPCG(seed, 0x626f6f74))
	weights := make([]float64, rows)
	for range bootstraps {
		clear(weights)
		for range units {
			for _, row := range units[rng.IntN(len(units))] {
				weights[row]++
			}
		}
		_, variance := stat.PopMeanVariance(measured, weights)
		if variance <= 0 {
			continue
		}
		for i := range ways {
			r2s[i] = append(r2s[i], 1-stat.Mean(squared[i], weights)/variance)
			mapes[i] = append(mapes[i], stat.Mean(relative[i], weights))
		}
	}
	interval := func(of func(draw int) float64) (low, high float64) {
		if len(r2s[base]) == 0 {
			return math.NaN(), math.NaN()
		}
		v := make([]float64, len(r2s[base]))
		for d := range v {
			v[d] = of(d)
		}
		if slices.ContainsFunc(v, math.IsNaN) {
			return math.NaN(), math.NaN()
		}
		slices.Sort(v)
		return stat.Quantile(0.025, stat.LinInterp, v, nil), stat.Quantile(0.975, stat.LinInterp, v, nil)
	}
	for i := range ways {
		w := &ways[i]
		w.Low, w.High = interval(func(d int) float64 { return r2s[i][d] })
		w.MAPELow, w.MAPEHigh = interval(func(d int) float64 { return mapes[i][d] })
		w.Ahead, w.AheadLow, w.AheadHigh = math.NaN(), math.NaN(), math.NaN()
		if i != base {
			w.Ahead = ways[base].R2 - w.R2
			w.AheadLow, w.AheadHigh = interval(func(d int) float64 { return r2s[base][d] - r2s[i][d] })
		}
	}
}

// ways makes the table; folds is how often each way chose.
func (t *tally) ways(folds int) []Compared {
	var out []Compared
	for _, way := range t.order {
		keys := t.keys(way)
		var r2s, mapes []float64
		better := 0.0
		for _, k := range keys {
			r2 := t.runs[way][k].r2()
			r2s, mapes = append(r2s, r2), append(mapes, t.runs[way][k].mape())
			if t.runs[Ensemble][[2]int{k[0], 0}].r2() > r2 {
				better++
			}
		}
		c := Compared{Way: way, R2: stat.Mean(r2s, nil), MAPE: stat.Mean(mapes, nil), Better: better / float64(len(keys))}
		_, c.R2SD = stat.PopMeanStdDev(r2s, nil)
		if way == Ensemble {
			c.Better = math.NaN()
		}
		for n, count := range t.chosen[way] {
			c.Often = append(c.Often, Frequency{n, float64(count) / float64(folds)})
		}
		slices.SortFunc(c.Often, func(a, b Frequency) int { return cmp.Or(cmp.Compare(b.Share, a.Share), cmp.Compare(a.Name, b.Name)) })
		out = append(out, c)
	}
	return out
}
