// Package baselines runs the simple predictors of run time against each other
// on public tables, as two evaluations:
//
//   - baselines-gpuflopbench: CUDA and OpenMP programs that are new, on one GPU,
//     by launch geometry alone and with counted work and traffic;
//   - baselines-neusight: operators of neural networks on a GPU that is new, by
//     their sizes and the device's data sheet.
//
// In flow the data sets, out flow Results. Whatever a learnt model claims on
// these tables is to be held against them. No feature is derived from time.
package baselines

import (
	"context"
	"math"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/predict/compare"
)

func init() {
	evaluation.Register(evaluation.Evaluation{
		Name: "baselines-gpuflopbench",
		Doc:  "median, ridge, nearest neighbours, boosted trees and rooflines predicting the time of launches of HeCBench programs that are new (RTX 3080), from launch geometry and from counted work",
		Data: []string{"gpuflopbench"},
		Run:  flopbench,
	})
	evaluation.Register(evaluation.Evaluation{
		Name: "baselines-neusight",
		Doc:  "the same predictors on operators of neural networks on a GPU that is new, from the operators' sizes and the device's data sheet",
		Data: []string{"neusight"},
		Run:  operators,
	})
}

// rows asks the store and hands over each row.
func rows(ctx context.Context, store *datasets.Store, sql string, each func([]any) error) error {
	rs, err := store.Rows(ctx, sql)
	if err != nil {
		return err
	}
	defer rs.Close()
	for rs.Next() {
		if err := each(rs.Values()); err != nil {
			return err
		}
	}
	return rs.Err()
}

// float is a number, NaN for NULL.
func float(v any) float64 {
	switch x := v.(type) {
	case float64:
		return x
	case int64:
		return float64(x)
	}
	return math.NaN()
}

// statistical are the learners that know no physics, on the named features.
func statistical(interval func(predict.Learner) predict.Fitter, suffix string, features []string) []compare.Entry {
	return []compare.Entry{
		{Name: "ridge" + suffix, Fitter: interval(baseline.RidgeLearner{}), Features: features},
		{Name: "neighbours" + suffix, Fitter: interval(baseline.NeighboursLearner{}), Features: features},
		{Name: "boosted trees" + suffix, Fitter: interval(boost.Learner{}), Features: features},
	}
}

// rooflines are the analytical model with peaks as given, with efficiencies
// fitted, and with what is left given to boosted trees.
func rooflines(interval func(predict.Learner) predict.Fitter, limits []analytical.Limit, features []string) []compare.Entry {
	fitted := analytical.Learner{Limits: limits, Mode: analytical.Fitted}
	return []compare.Entry{
		{Name: rooflineFitted, Fitter: interval(fitted)},
		{Name: "roofline, peaks given", Fitter: interval(analytical.Learner{Limits: limits})},
		{Name: "roofline fitted, then boosted trees", Fitter: interval(baseline.Correction{Base: fitted, Learner: boost.Learner{}}), Features: features},
	}
}

const rooflineFitted = "roofline, efficiencies fitted"

// resamples of the bootstrap: enough for two digits of an interval's ends.
const resamples = 300
