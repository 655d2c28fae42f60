// Package llmperfopencl is the evaluation llmperf-opencl: how long does a launch
// of an OpenCL kernel take that is new, told from its source, its arguments and
// its launch geometry before it runs?
//
// In flow the configurations of rooflab-opencl (datasets/generated), each with
// the median of its times; out flow Results on one fifth of the kernels, which
// nothing was trained or stopped on. The first is LLMPerf on boosted trees
// (llmperf/ontrees), a transformer that corrects trees on what kernelcost counts,
// and is trained here. Beside it stand simple predictors, additive costs, the trees
// alone and each loss of them, with rows for each pattern of kernels and for
// launches whose data grows under a fixed global size, the known weak spots of the
// paper (Nguyen et al. 2025). The transformer trains on XLA for less than an hour on
// two processors; with Options.Quick, or without XLA, it is left out, and a Result
// says so.
package llmperfopencl

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/llmperf/ontrees"
	"github.com/rooflab/rooflab/modeling/predict"
)

const set = "rooflab-opencl"

func init() {
	evaluation.Register(evaluation.Evaluation{
		Name: "llmperf-opencl",
		Doc:  "the time of launches of 4,040 generated OpenCL kernels (PoCL on a CPU) from source, arguments and launch, on kernels that are new: LLMPerf, a transformer, on boosted trees, against each baseline; trains for up to an hour, --quick without it",
		Data: []string{set},
		Run: func(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
			return published.run(ctx, o)
		},
	})
}

// settings are how the evaluation is done.
type settings struct {
	test        float64 // the part of the launches, in whole kernels, that is predicted
	calibration float64 // the part of the others that only makes intervals
	resamples   int     // of the bootstrap by kernel
	parts       ontrees.Options
	backend     string // that the network trains on: with another one it is left out
	// kernels, if not 0, is how many there are at most.
	kernels int
}

var published = settings{
	test:        0.2,
	calibration: 0.05,
	resamples:   1000,
	parts:       ontrees.Small(),
	backend:     "xla",
}

func (s settings) run(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	o.Progress("reading the kernels", 0, 0)
	dir, err := o.Data(set)
	if err != nil {
		return nil, err
	}
	xs, err := llmperf.FromParquet(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("reading data set %s: %w", set, err)
	}
	return s.evaluate(ctx, o, s.part(xs))
}

// part takes some of the kernels, evenly from all patterns.
func (s settings) part(xs []llmperf.Example) []llmperf.Example {
	names := map[string]bool{}
	for _, x := range xs {
		names[x.Group] = true
	}
	if s.kernels == 0 || len(names) <= s.kernels {
		return xs
	}
	// Examples are sorted by group, and groups begin with the pattern.
	take, at, last := map[string]bool{}, 0, ""
	for _, x := range xs {
		if x.Group == last {
			continue
		}
		if at*s.kernels/len(names) != (at+1)*s.kernels/len(names) {
			take[x.Group] = true
		}
		at, last = at+1, x.Group
	}
	return slices.DeleteFunc(slices.Clone(xs), func(x llmperf.Example) bool { return !take[x.Group] })
}

func (s settings) evaluate(ctx context.Context, o evaluation.Options, xs []llmperf.Example) ([]evaluation.Result, error) {
	o.Progress("counting operations in the sources", 0, 0)
	e, err := llmperf.Table(xs)
	if err != nil {
		return nil, fmt.Errorf("reading data set %s: %w", set, err)
	}
	parts, err := s.held(e, o.Seed)
	if err != nil {
		return nil, err
	}
	without, err := s.leaveOut(o)
	if err != nil {
		return nil, err
	}
	if without != "" {
		o.Progress(without, 0, 0)
	}
	work, limits, err := roofline(e, parts.Train)
	if err != nil {
		return nil, err
	}
	t := &tested{settings: s, seed: o.Seed, examples: pick(xs, parts.Test), measured: pick(e.Y, parts.Test), kernels: pick(e.Groups, parts.Test)}
	all, there := distinct(e.Groups), distinct(t.kernels)
	t.split = fmt.Sprintf("%d of %d kernels are new (%d of %d launches), %s; of the others %g %% only make intervals", there, all, len(parts.Test), len(xs), parts, 100*s.calibration)
	predictors := s.predictors(limits, without == "", o.Progress)
	defer func() {
		for _, p := range predictors {
			if p.network != nil {
				p.network.Close()
			}
		}
	}()
	for i, p := range predictors {
		o.Progress("predictors, now "+p.name, i, len(predictors))
		table := e
		if p.work {
			table = work
		}
		began := time.Now()
		fitted, err := predict.Conformal{Learner: p.learner, Fraction: s.calibration}.Fit(ctx, table.Rows(parts.Train), o.Seed)
		if err != nil {
			return nil, fmt.Errorf("fitting %s: %w", p.name, err)
		}
		p.took = time.Since(began)
		if f, ok := fitted.(*predict.Fitted); ok {
			predict.Each(f.Model, func(m predict.Model) {
				if n, ok := m.(*llmperf.Model); ok {
					p.network = n
				}
			})
		}
		asked := table.Rows(parts.Test)
		asked.Y = nil // nobody shall look
		p.predictions, err = fitted.Predict(ctx, asked, level)
		if err != nil {
			return nil, fmt.Errorf("asking %s: %w", p.name, err)
		}
		p.detail = fitted.Describe().Detail
		t.predictors = append(t.predictors, p)
	}
	o.Progress("predictors", len(predictors), len(predictors))
	out, err := t.results(ctx, o.Progress)
	if err != nil || without == "" {
		return out, err
	}
	return slices.Insert(out, 0, evaluation.Result{Name: nameTogether, Metric: "MAPE", Value: math.NaN(), Low: math.NaN(), High: math.NaN(),
		Baseline: paper, BaselineValue: paperMAPE, Split: t.split, Note: without}), nil
}

// held deals whole kernels.
func (s settings) held(e *predict.Examples, seed uint64) (split.Split, error) {
	return split.Groups(e.Groups, split.Options{Axis: split.ByKernel, Test: s.test, Seed: seed})
}

// leaveOut says why the network is not trained, "" where it is.
func (s settings) leaveOut(o evaluation.Options) (string, error) {
	if o.Quick {
		return "LLMPerf was left out, as asked: the whole evaluation trains it for up to an hour on two processors", nil
	}
	c, err := backend.Default()
	if err != nil {
		return "", err
	}
	if c.Engine != s.backend {
		return fmt.Sprintf("LLMPerf was left out: it trains on %s only, which takes hours elsewhere, and models run on %s here: `rooflab doctor` says why, `rooflab xla install` gets a plugin", s.backend, told(c.Why)), nil
	}
	return "", nil
}

// told is where a network runs, for results, which others read than who ran it: of
// the plugin's path its file alone.
func told(where string) string {
	c, err := backend.Default()
	if err != nil {
		return where
	}
	return withoutFolder(where, c.Plugin)
}

func withoutFolder(text, path string) string {
	if path == "" {
		return text
	}
	return strings.ReplaceAll(text, path, filepath.Base(path))
}

func distinct(keys []string) int {
	set := map[string]bool{}
	for _, k := range keys {
		set[k] = true
	}
	return len(set)
}

func pick[T any](from []T, rows []int) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = from[r]
	}
	return out
}
