// Package counterscoulomb is the evaluation counters-coulomb: do five hardware
// counters that the ensemble of package counters chooses predict run time
// better than five chosen in other ways?
//
// In flows the data set ktt-coulomb, the tuning space of a direct Coulomb sum
// on an RTX 2080 Ti with the counters of each configuration; out flow Results.
// The choice and the fit are both made on four fifths of the configurations
// and scored on the last fifth, five times with other folds.
package counterscoulomb

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/counters"
	"github.com/rooflab/rooflab/modeling/evaluation"
)

const (
	set    = "ktt-coulomb"
	target = "Duration"
)

func init() {
	evaluation.Register(evaluation.Evaluation{
		Name: "counters-coulomb",
		Doc:  "five counters chosen by an ensemble of matching pursuits against five chosen otherwise, predicting the time of unseen configurations of a Coulomb sum (RTX 2080 Ti)",
		Data: []string{set},
		Run:  run,
	})
}

// ways are what the ensemble is held against, with what they are called here.
var ways = []struct{ way, name string }{
	{counters.Random, "5 random (mean of 50 draws a repeat)"},
	{counters.Correlated, "5 most correlated"},
	{counters.LassoLargest, "5 of LASSO (largest coefficients)"},
	{counters.LassoFirst, "5 of LASSO (first on the path)"},
	{counters.Informative, "5 of most mutual information"},
	{counters.Pursuit, "5 of a single pursuit"},
	{counters.Everything, "all counters (a bound, no choice)"},
}

const (
	folds   = 5
	repeats = 5
	draws   = 50
)

func run(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	dir, err := o.Data(set)
	if err != nil {
		return nil, err
	}
	table, err := load(ctx, o, dir)
	if err != nil {
		return nil, err
	}
	var out []evaluation.Result
	for _, regressor := range []counters.Regressor{counters.Ridge, counters.Neighbours} {
		c, err := counters.Compare(ctx, table, counters.CompareOptions{
			Options: counters.Options{Seed: o.Seed, Progress: func(done, total int) { o.Progress("folds with "+string(regressor), done, total) }},
			Folds:   folds, Repeats: repeats, Draws: draws, Regressor: regressor})
		if err != nil {
			return nil, err
		}
		out = append(out, results(c)...)
	}
	return out, nil
}

// load imports the tuning space into a store of its own.
func load(ctx context.Context, o evaluation.Options, dir string) (t counters.Table, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		return t, fmt.Errorf("reading data set %s: %d JSON files in %s, want the one tuning space", set, len(files), dir)
	}
	var ms []datasets.Measurement
	err = datasets.Temporary(func(store *datasets.Store) error {
		run, err := o.Import(ctx, store, files[0])
		if err != nil {
			return err
		}
		ms, err = store.Measurements(ctx, datasets.Filter{Run: run})
		return err
	})
	if err != nil {
		return t, fmt.Errorf("reading data set %s: %w", set, err)
	}
	return counters.FromMeasurements(ms, target, false)
}

// results tells for each baseline the ensemble's own R2 (of the logarithm of
// time) and MAPE (of time, a part of one), and by how much its R2 is ahead,
// with the interval of the paired difference.
func results(c *counters.Comparison) []evaluation.Result {
	split := fmt.Sprintf("configurations: %d-fold, %d repeats, choice and fit on the training folds", c.Folds, c.Repeats)
	best, _ := c.Way(counters.Ensemble)
	by := ", " + string(c.Regressor)
	name := "5 of the ensemble" + by
	chosen := make([]string, 0, c.K)
	for _, f := range best.Often[:min(c.K, len(best.Often))] {
		chosen = append(chosen, fmt.Sprintf("%s (%.0f %% of folds)", f.Name, 100*f.Share))
	}
	note := "R2 is of the logarithm of time; the ensemble chose most often " + strings.Join(chosen, ", ")
	var out []evaluation.Result
	for _, b := range ways {
		w, ok := c.Way(b.way)
		if !ok {
			continue
		}
		out = append(out,
			evaluation.Result{Name: name, Metric: "R2", Value: best.R2, Low: best.Low, High: best.High, Baseline: b.name, BaselineValue: w.R2, Split: split, N: c.Rows, Note: note},
			evaluation.Result{Name: name, Metric: "R2 ahead (paired difference)", Value: w.Ahead, Low: w.AheadLow, High: w.AheadHigh, Baseline: b.name, BaselineValue: 0, Split: split, N: c.Rows},
			evaluation.Result{Name: name, Metric: "MAPE", Value: best.MAPE, Low: best.MAPELow, High: best.MAPEHigh, Baseline: b.name, BaselineValue: w.MAPE, Split: split, N: c.Rows})
	}
	return out
}
