// Package ontrees is LLMPerf on boosted trees: a network that reads the source
// corrects what trees on counted operations predict, and the mean of both is
// taken. It is what predicts times best.
//
// In flow tables of llmperf.Table, out flows a predict.Model, which llmperf.Save
// and llmperf.Load keep like one of a network alone:
//
//	p, err := predict.Conformal{Learner: ontrees.New(ontrees.Small())}.Fit(ctx, table, 1)
//
// Trees cannot sum, and a sum of costs (package additive) cannot bend. So there
// are trees on the features and trees that correct such a sum, each with a median
// and with a relative loss; their geometric mean is the base. What it leaves on
// kernels that it did not see (by five folds) is what the network learns. The
// network is trained to the relative error, too, for half of the correction is
// in the mean. Intervals are wider where the four predictions of trees are apart.
package ontrees

import (
	"context"
	"fmt"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/additive"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// Shown is what a base's prediction is called among the features of what corrects
// it.
const Shown = "log_base"

// Options are the settings of the parts.
type Options struct {
	Median, Relative boost.Learner // by their losses
	Network          llmperf.Options
	Folds            int // 5 by default
}

// Trees are settings of boosted trees for some thousand kernels.
func Trees() (median, relative boost.Learner) {
	median = boost.Learner{Loss: boost.Absolute, Trees: 1000, Rate: 0.05, Leaves: 40, MinRows: 8, Groups: 0.8, Features: 0.4, Held: -1}
	relative = median
	relative.Loss, relative.Trees = boost.Relative, 800
	return median, relative
}

// Small are the settings for some thousand kernels and a processor: a network of
// a third of a million parameters.
func Small() Options {
	median, relative := Trees()
	return Options{Median: median, Relative: relative, Network: llmperf.Options{
		Config:     llmperf.Config{Width: 96, Layers: 2, Heads: 4, Inner: 288},
		Context:    512,
		Vocab:      2048,
		Dropout:    -1,
		Relative:   true,
		Validation: -1, // the rate falls to nothing before much is learnt by heart
		Train:      train.Options{Epochs: 3, Batch: 32, Rate: 0.001, Buckets: []int{160, 256, 384, 512}},
	}}
}

// Learner fits the whole. Its parts are there for whoever wants to fit and ask
// them alone: fitted on the same rows, all share the models that they have in
// common.
type Learner struct {
	Median, Relative predict.Learner // trees on the features
	Sum              predict.Learner // additive costs
	Trees            predict.Learner // the mean of four
	Corrected        predict.Learner // by the network
	mean             baseline.Mean
}

// New makes the learners of the parts and of the whole.
func New(o Options) *Learner {
	if o.Folds == 0 {
		o.Folds = 5
	}
	// The four are off by this where they agree. It gave the narrowest intervals on
	// kernels of the training set, each predicted by trees that did not see it.
	const apart = 0.3
	sum := additive.Learner{Amounts: kernelcost.AmountNames(), Apart: "log2_f64_flop"}
	l := &Learner{Median: &once{Learner: o.Median}, Relative: &once{Learner: o.Relative}, Sum: sum}
	l.Trees = &once{Learner: baseline.Mean{Apart: apart, Learners: []predict.Learner{l.Median, l.Relative,
		baseline.Correction{Base: sum, Learner: o.Median, Shown: Shown}, baseline.Correction{Base: sum, Learner: o.Relative, Shown: Shown}}}}
	l.Corrected = &once{Learner: baseline.Correction{Base: l.Trees, Learner: llmperf.Learner{Options: o.Network}, Folds: o.Folds, Shown: Shown}}
	l.mean = baseline.Mean{Learners: []predict.Learner{l.Trees, l.Corrected}}
	return l
}

// Fit implements predict.Learner: the whole.
func (l *Learner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	m, err := l.mean.Fit(ctx, e, seed)
	if err != nil {
		return nil, fmt.Errorf("fitting LLMPerf on boosted trees: %w", err)
	}
	return m, nil
}

// once gives the model that it fitted to whoever wants it fitted on the same
// examples. Of several it keeps the one of most rows: those of folds are asked for
// once only.
type once struct {
	predict.Learner
	model predict.Model
	rows  int
	data  string
}

func (o *once) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	data := fmt.Sprint(e.Hash(), " ", seed)
	if o.model != nil && o.data == data {
		return o.model, nil
	}
	m, err := o.Learner.Fit(ctx, e, seed)
	if err == nil && e.Len() >= o.rows {
		o.model, o.rows, o.data = m, e.Len(), data
	}
	return m, err
}
