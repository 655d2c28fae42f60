package llmperfgpuflopbench

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/score"
)

// figures are the metrics of one predictor; groups are what is resampled.
func figures(name string, measured, predicted []float64, kernels, groups []string, seed uint64) ([]evaluation.Result, error) {
	var out []evaluation.Result
	for _, m := range metrics {
		v, err := score.Bootstrap(groups, func(rows []int) float64 {
			return m.of(pick(measured, rows), pick(predicted, rows), pick(kernels, rows))
		}, score.Resampling{Resamples: resamples, Seed: seed})
		if err != nil {
			return nil, fmt.Errorf("scoring %s: %w", name, err)
		}
		out = append(out, evaluation.Result{Name: name, Metric: m.name, Value: v.Value, Low: v.Low, High: v.High, BaselineValue: math.NaN(), N: len(measured)})
	}
	return out, nil
}

// pairs are values told and values that stand for them.
type pairs struct {
	told, by []float64
	kernels  []string
}

func (p *pairs) add(told, by float64, kernel string) {
	if told > 0 && by > 0 && !math.IsInf(told+by, 0) {
		p.told, p.by, p.kernels = append(p.told, told), append(p.by, by), append(p.kernels, kernel)
	}
}

// measured is how far measured times are from each other where one stands for
// another, and how far off the work is that a source tells without its arguments
// and data.
func (t *table) measured(seed uint64) ([]evaluation.Result, error) {
	var again, other, program, exact, loose pairs
	byKernel, byProgram := map[string][]int{}, map[string][]int{}
	for _, i := range t.source {
		byKernel[t.launches[i].Group] = append(byKernel[t.launches[i].Group], i)
		byProgram[t.programs[i]] = append(byProgram[t.programs[i]], i)
	}
	mean := func(logs []float64) float64 { // geometric; 0 of none
		if len(logs) == 0 {
			return 0
		}
		s := 0.0
		for _, l := range logs {
			s += l
		}
		return math.Exp(s / float64(len(logs)))
	}
	for _, i := range t.source {
		l := &t.launches[i]
		for k, y := range l.Times {
			var rest []float64
			for j, x := range l.Times {
				if j != k {
					rest = append(rest, math.Log(x))
				}
			}
			again.add(y, mean(rest), l.Group)
		}
		var same, near []float64
		for _, j := range byKernel[l.Group] {
			if j != i {
				same = append(same, math.Log(t.launches[j].Seconds))
			}
		}
		for _, j := range byProgram[t.programs[i]] {
			if t.launches[j].Group != l.Group {
				near = append(near, math.Log(t.launches[j].Seconds))
			}
		}
		other.add(l.Seconds, mean(same), l.Group)
		program.add(l.Seconds, mean(near), l.Group)
		into := &loose
		if t.assumed[i] <= sure {
			into = &exact
		}
		into.add(l.Int+l.FP32+l.FP64, t.operations(i), l.Group)
	}
	var out []evaluation.Result
	for _, f := range []struct {
		name, note string
		p          pairs
	}{
		{"measured: the launch run again", "a time of a launch by its other times: the noise of measuring, and of few kernels that had other work to do in the second run, which decide the mean", again},
		{"measured: other launches of the kernel", "the time of a launch by the geometric mean of the kernel's launches of another shape, instance or command line, of kernels that have some", other},
		{"measured: other kernels of the program", "the time of a launch by the geometric mean of its program's other kernels, which ran on the same input", program},
		{"operations by the source: " + sourceDecides, operationsNote, exact},
		{"operations by the source: " + dataDecides, operationsNote, loose},
	} {
		if len(f.p.told) == 0 {
			continue
		}
		rs, err := figures(f.name, f.p.told, f.p.by, f.p.kernels, f.p.kernels, seed)
		if err != nil {
			return nil, err
		}
		for i := range rs {
			rs[i].Split, rs[i].Note = "none: nothing is fitted", f.note
		}
		out = append(out, rs...)
	}
	return out, nil
}

const operationsNote = "no time: operations (integer and floating) that kernelcost tells from source and shape, by those that the profiler counted. " +
	"A predictor of the logarithm with a normal error of standard deviation s has at best a MAPE of erf(s / sqrt 2): 46.1 % needs s = 0.61, and s = 1.8 leaves 93 %"

// operations are those of a launch by its source.
func (t *table) operations(i int) float64 {
	sum := 0.0
	for j, name := range t.names {
		for _, w := range analytical.SourceWork[:4] { // floating and integer operations
			if name == w {
				sum += t.rows[i][j]
			}
		}
	}
	return sum
}
