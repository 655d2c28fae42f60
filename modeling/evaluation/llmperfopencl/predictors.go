package llmperfopencl

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/additive"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// The predictors that others are held against, and those that are held.
const (
	nameMedian   = "boosted trees, median loss"
	nameRelative = "boosted trees, relative loss"
	nameSum      = "additive costs"
	nameTrees    = "boosted trees, alone and on additive costs, mean of both losses"
	nameNetwork  = "LLMPerf"
	nameTogether = "LLMPerf on boosted trees"
)

// shown is what a base's prediction is called among the features of what corrects
// it.
const shown = "log_base"

// predictor is one that is asked.
type predictor struct {
	name    string
	learner predict.Learner
	work    bool // it reads amounts of work instead of features
	ours    bool // it is held against all that are not
	close   func()

	predictions []predict.Prediction
	detail      string
}

// predictors are all that are asked. The mean is of the very models that are
// asked alone.
func (s settings) predictors(limits []analytical.Limit, network bool, progress func(string, int, int)) []*predictor {
	trees := func(name string, l predict.Learner) *once { return &once{Learner: l, name: name} }
	steps := func(name string, of int) func(int, float64) {
		return func(tree int, _ float64) { progress("growing "+name, tree, of) }
	}
	s.median.Progress = steps(nameMedian, s.median.Trees)
	s.relative.Progress = steps(nameRelative, s.relative.Trees)
	median, relative := trees(nameMedian, s.median), trees(nameRelative, s.relative)
	// Trees cannot sum, and a sum cannot bend: one corrects the other, and those
	// that do and those that do not are wrong in different places.
	sum := additive.Learner{Amounts: kernelcost.AmountNames(), Apart: "log2_f64_flop"}
	together := func(median, relative predict.Learner) baseline.Mean {
		return baseline.Mean{Learners: []predict.Learner{median, relative,
			baseline.Correction{Base: sum, Learner: s.median, Shown: shown}, baseline.Correction{Base: sum, Learner: s.relative, Shown: shown}}}
	}
	ps := []*predictor{
		{name: "median", learner: baseline.MedianLearner{}},
		{name: "ridge", learner: baseline.RidgeLearner{}},
		{name: "neighbours", learner: baseline.NeighboursLearner{}},
		{name: "roofline, rates fitted", learner: analytical.Learner{Limits: limits, Mode: analytical.Fitted}, work: true},
		{name: nameSum, learner: sum},
		{name: nameMedian, learner: median},
		{name: nameRelative, learner: relative},
		{name: nameTrees, learner: together(median, relative), ours: true},
	}
	if network {
		began := time.Now()
		s.network.Train.Progress = func(p train.Progress) {
			what := "training LLMPerf"
			if gone := time.Since(began); p.Step > 0 && gone > time.Minute {
				what = fmt.Sprintf("training LLMPerf, loss %.3f, about %v left", p.Loss, time.Duration(float64(gone)*float64(p.Steps-p.Step)/float64(p.Step)).Round(time.Minute))
			}
			progress(what, p.Step, p.Steps)
		}
		net := &once{Learner: llmperf.Learner{Options: s.network}, name: nameNetwork, begin: func() { began = time.Now() }}
		// The network corrects what trees leave on kernels that they did not see.
		on := &once{Learner: llmperf.Learner{Options: s.network}, name: nameTogether, begin: func() { began = time.Now() }}
		ps = append(ps,
			&predictor{name: nameNetwork, learner: net, ours: true, close: net.close},
			&predictor{name: nameTogether, ours: true, close: on.close,
				learner: baseline.Correction{Base: together(s.median, s.relative), Learner: on, Folds: 5, Shown: shown}})
	}
	for _, p := range ps {
		if p.close == nil {
			p.close = func() {}
		}
	}
	return ps
}

// once fits its Learner a single time, and gives the same model to whoever wants
// it fitted on the same examples.
type once struct {
	predict.Learner
	name  string
	begin func()

	model predict.Model
	data  string
}

func (o *once) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	data := fmt.Sprint(e.Hash(), " ", seed)
	if o.model != nil && o.data == data {
		return o.model, nil
	}
	if o.model != nil {
		return nil, fmt.Errorf("%s was fitted on other examples", o.name)
	}
	if o.begin != nil {
		o.begin()
	}
	m, err := o.Learner.Fit(ctx, e, seed)
	if err != nil {
		return nil, err
	}
	o.model, o.data = m, data
	return m, nil
}

func (o *once) close() {
	if m, ok := o.model.(*llmperf.Model); ok {
		m.Close()
	}
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
