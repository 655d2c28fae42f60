package counters

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// tally gathers predictions of all folds of a repeat (and draw) per way.
type tally struct {
	order  []string
	runs   map[string]map[[2]int]*tallied
	chosen map[string]map[string]int
}

type tallied struct {
	measured, predicted []float64 // of the target as it was taken
	apes                []float64
}

func newTally() *tally {
	return &tally{runs: map[string]map[[2]int]*tallied{}, chosen: map[string]map[string]int{}}
}

func (t *tally) add(way string, repeat, draw int, s scale, z, raw []float64) {
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

// ways makes the table; folds is how often each way chose.
func (t *tally) ways(folds int) []Compared {
	var out []Compared
	for _, way := range t.order {
		keys := make([][2]int, 0, len(t.runs[way]))
		for k := range t.runs[way] {
			keys = append(keys, k)
		}
		slices.SortFunc(keys, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
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
