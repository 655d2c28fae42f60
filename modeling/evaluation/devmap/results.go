package devmap

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/score"
)

// tried is what a reader must know of the settings.
const tried = "penalties, numbers of neighbours and, where it says so, the leaves of trees were chosen within the training rows; " +
	"the other settings of trees after trials on these rows dealt otherwise"

// results are accuracy and speedups of each method, with intervals over units,
// and by how much the best is ahead of each other one in accuracy.
func results(done []outcome, ls []launch, p protocol, seed uint64) ([]evaluation.Result, error) {
	mostGPU := 0
	for _, l := range ls {
		if l.gpu < l.cpu {
			mostGPU++
		}
	}
	fixed := 2*mostGPU >= len(ls)
	time := func(r int, gpu bool) float64 {
		if gpu {
			return ls[r].gpu
		}
		return ls[r].cpu
	}
	right := func(o outcome, r int) float64 {
		if o.gpu[r] == (ls[r].gpu < ls[r].cpu) {
			return 1
		}
		return 0
	}
	speedup := func(o outcome, r int) float64 { return time(r, fixed) / time(r, o.gpu[r]) }
	interval := func(of func(r int) float64, then func(float64) float64) (score.Interval, error) {
		return score.Bootstrap(p.unit, func(rows []int) float64 {
			sum := 0.0
			for _, r := range rows {
				sum += of(r)
			}
			return then(sum / float64(len(rows)))
		}, score.Resampling{Seed: seed})
	}
	same := func(x float64) float64 { return x }
	perfect := outcome{gpu: make([]bool, len(ls))}
	for r, l := range ls {
		perfect.gpu[r] = l.gpu < l.cpu
	}
	ideal := 0.0
	for r := range ls {
		ideal += speedup(perfect, r) / float64(len(ls))
	}
	device := map[bool]string{true: "GPU", false: "CPU"}[fixed]
	var out []evaluation.Result
	base := map[string]float64{}
	for _, o := range done {
		note := o.method + ": " + o.detail + " (first fold)"
		for _, f := range []struct {
			metric string
			of     func(r int) float64
			then   func(float64) float64
		}{
			{"accuracy", func(r int) float64 { return right(o, r) }, same},
			{"speedup over the " + device + " always, mean", func(r int) float64 { return speedup(o, r) }, same},
			{"speedup over the " + device + " always, geometric mean", func(r int) float64 { return math.Log(speedup(o, r)) }, math.Exp},
		} {
			iv, err := interval(f.of, f.then)
			if err != nil {
				return nil, err
			}
			x := evaluation.Result{Name: o.method, Metric: f.metric, Value: iv.Value, Low: iv.Low, High: iv.High, Baseline: staticMapping, Split: p.words, N: len(ls), Note: note}
			if o.method == staticMapping {
				base[f.metric] = iv.Value
				x.Baseline, x.BaselineValue = "", math.NaN()
				x.Note = fmt.Sprintf("the right device always has a mean speedup of %.3f; intervals are over resampled %s; %s", ideal, p.units, tried)
			} else {
				x.BaselineValue = base[f.metric]
			}
			out = append(out, x)
		}
	}
	ahead := done[len(done)-1]
	for _, o := range done[:len(done)-1] {
		iv, err := interval(func(r int) float64 { return right(ahead, r) - right(o, r) }, same)
		if err != nil {
			return nil, err
		}
		out = append(out, evaluation.Result{Name: ahead.method, Metric: "accuracy ahead (paired difference)", Value: iv.Value, Low: iv.Low, High: iv.High,
			Baseline: o.method, BaselineValue: 0, Split: p.words, N: len(ls)})
	}
	return out, nil
}
