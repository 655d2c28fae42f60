package llmperfopencl

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/llmperf/ontrees"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// The predictors that others are held against, and those that are held.
const (
	nameMedian    = "boosted trees, median loss"
	nameRelative  = "boosted trees, relative loss"
	nameSum       = "additive costs"
	nameTrees     = "boosted trees, alone and on additive costs, mean of both losses"
	nameCorrected = "boosted trees, corrected by LLMPerf"
	nameTogether  = "LLMPerf on boosted trees"
)

// predictor is one that is asked.
type predictor struct {
	name    string
	learner predict.Learner
	work    bool // it reads amounts of work instead of features
	ours    bool // it is held against all that are not
	first   bool // it is what the evaluation is about

	predictions []predict.Prediction
	detail      string
	took        time.Duration  // to fit it, without what was fitted before
	network     *llmperf.Model // that is a part of it
}

// predictors are all that are asked. Those that have models in common are fitted in the order
// of the list, each common model once.
func (s settings) predictors(limits []analytical.Limit, network bool, progress func(string, int, int)) []*predictor {
	growing := func(name string, l *boost.Learner) {
		of := l.Trees
		l.Progress = func(tree int, _ float64) { progress("growing "+name, tree, of) }
	}
	growing("trees with the median loss", &s.parts.Median)
	growing("trees with the relative loss", &s.parts.Relative)
	var began time.Time
	s.parts.Network.Train.Progress = func(p train.Progress) {
		if p.Step <= 1 {
			began = time.Now()
		}
		what := "training LLMPerf"
		if gone := time.Since(began); p.Step > 1 && gone > time.Minute {
			what = fmt.Sprintf("training LLMPerf, loss %.3f, about %v left", p.Loss, time.Duration(float64(gone)*float64(p.Steps-p.Step)/float64(p.Step-1)).Round(time.Minute))
		}
		progress(what, p.Step, p.Steps)
	}
	l := ontrees.New(s.parts)
	ps := []*predictor{
		{name: "median", learner: baseline.MedianLearner{}},
		{name: "ridge", learner: baseline.RidgeLearner{}},
		{name: "neighbours", learner: baseline.NeighboursLearner{}},
		{name: "roofline, rates fitted", learner: analytical.Learner{Limits: limits, Mode: analytical.Fitted}, work: true},
		{name: nameSum, learner: l.Sum},
		{name: nameMedian, learner: l.Median},
		{name: nameRelative, learner: l.Relative},
		{name: nameTrees, learner: l.Trees, ours: true},
	}
	if network {
		ps = append(ps, &predictor{name: nameCorrected, learner: l.Corrected, ours: true}, &predictor{name: nameTogether, learner: l, ours: true, first: true})
	}
	return ps
}

// amounts are the work of a launch by kernelcost, in features that are log2 of
// one more.
var amounts = []struct {
	name string
	of   []string
}{
	{"flop fp32", []string{"log2_f32_flop"}},
	{"flop fp64", []string{"log2_f64_flop"}},
	{"integer operations", []string{"log2_int_add", "log2_int_mul", "log2_int_div"}},
	{"bytes asked", []string{"log2_global_read_bytes", "log2_global_write_bytes"}},
	{"bytes asked of local memory", []string{"log2_local_read_bytes", "log2_local_write_bytes"}},
	{"bytes of buffers", []string{"log2_footprint_bytes"}},
}

// roofline is a table of the amounts of work, and a limit with a rate to be
// fitted for each amount that some of the rows to learn from have.
func roofline(e *predict.Examples, learnt []int) (*predict.Examples, []analytical.Limit, error) {
	out := &predict.Examples{Groups: e.Groups, Target: e.Target, Unit: e.Unit, Y: e.Y, X: make([][]float64, e.Len())}
	known := slices.Index(e.Features, "footprint_known")
	var limits []analytical.Limit
	for _, a := range amounts {
		var from []int
		for _, name := range a.of {
			j := slices.Index(e.Features, name)
			if j < 0 {
				return nil, nil, fmt.Errorf("making a roofline: there is no feature %q among kernelcost's", name)
			}
			from = append(from, j)
		}
		out.Features = append(out.Features, a.name)
		for r, row := range e.X {
			sum := 0.0
			for _, j := range from {
				sum += math.Exp2(row[j]) - 1
			}
			if a.name == "bytes of buffers" && known >= 0 && row[known] == 0 {
				sum = math.NaN()
			}
			out.X[r] = append(out.X[r], math.Max(sum, 0)) // NaN stays
		}
		j := len(out.Features) - 1
		if slices.ContainsFunc(learnt, func(r int) bool { return out.X[r][j] > 0 }) {
			limits = append(limits, analytical.Limit{Name: a.name, Work: a.name})
		}
	}
	if len(limits) == 0 {
		return nil, nil, errors.New("making a roofline: no launch has any work")
	}
	return out, limits, nil
}
