// Package compare holds predictors against each other on the same rows: each
// is fitted on the same folds of groups, asked about groups that it did not
// see, and scored by the same figures.
//
// In flow predict.Examples and Entries, out flow the predictions of all rows,
// score.Reports and the evaluation.Results that rooflab eval prints.
package compare

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/score"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Entry is a predictor that takes part.
type Entry struct {
	Name   string
	Fitter predict.Fitter
	// Features are those that it may see; nil is all.
	Features []string
}

// Options say how to compare.
type Options struct {
	Folds int        // 5 by default
	Axis  split.Axis // what Examples.Groups are, for the record
	// Keys, if not nil, are what the folds are made of instead of
	// Examples.Groups: one per row. Folds < 0 holds out one key after the other.
	Keys []string
	// Tasks, if not nil, name which rows are alternatives of each other, for
	// the regret of choosing by prediction (score.Predictions).
	Tasks     []string
	Seed      uint64
	Level     float64 // of the predictors' intervals, 0.9 by default
	Baseline  string  // the entry that the others are to beat; "" is the first
	Resamples int     // of the bootstrap over groups, 1000 by default
	Progress  func(what string, done, total int)
}

// Comparison is what came of it.
type Comparison struct {
	Entries   []Outcome
	Baseline  string
	Split     string // in words
	Folds     []split.Split
	Level     float64
	Rows      int
	Groups    int
	Data      string // hash of the examples
	Seed      uint64
	Measured  []float64
	keys      []string
	resamples int
}

// Outcome is what one entry predicted.
type Outcome struct {
	Name        string
	Predictions []predict.Prediction  // one per row of the examples
	Described   []predict.Description // one per fold
	Report      score.Report
	// Bounded is false where some interval had no ends, so that coverage is not
	// reported.
	Bounded bool
}

// Run fits and scores all entries. It is an error if a key stands on two sides
// of a split, which cannot be with folds that are made here.
func Run(ctx context.Context, e *predict.Examples, entries []Entry, o Options) (*Comparison, error) {
	c, err := prepare(e, entries, &o)
	if err != nil {
		return nil, fmt.Errorf("comparing predictors: %w", err)
	}
	for i, entry := range entries {
		table := e
		if entry.Features != nil {
			if table, err = e.With(entry.Features...); err != nil {
				return nil, fmt.Errorf("comparing predictors: the features of %s: %w", entry.Name, err)
			}
		}
		out := Outcome{Name: entry.Name, Predictions: make([]predict.Prediction, e.Len())}
		for k, s := range c.Folds {
			if o.Progress != nil {
				o.Progress("fitting "+entry.Name, i*len(c.Folds)+k, len(entries)*len(c.Folds))
			}
			p, err := entry.Fitter.Fit(ctx, table.Rows(s.Train), o.Seed)
			if err != nil {
				return nil, fmt.Errorf("comparing predictors: fitting %s without fold %d of %d: %w", entry.Name, k+1, len(c.Folds), err)
			}
			asked := table.Rows(s.Test)
			asked.Y = nil // nobody shall look
			ps, err := p.Predict(ctx, asked, o.Level)
			if err != nil {
				return nil, fmt.Errorf("comparing predictors: asking %s about fold %d of %d: %w", entry.Name, k+1, len(c.Folds), err)
			}
			for j, r := range s.Test {
				out.Predictions[r] = ps[j]
			}
			out.Described = append(out.Described, p.Describe())
		}
		if err := c.score(&out, o); err != nil {
			return nil, fmt.Errorf("comparing predictors: %w", err)
		}
		c.Entries = append(c.Entries, out)
	}
	return c, nil
}

func prepare(e *predict.Examples, entries []Entry, o *Options) (*Comparison, error) {
	if err := e.Check(true); err != nil {
		return nil, err
	}
	if o.Folds == 0 {
		o.Folds = 5
	}
	if o.Level == 0 {
		o.Level = 0.9
	}
	keys := o.Keys
	if keys == nil {
		keys = e.Groups
	}
	if len(keys) != e.Len() || len(entries) == 0 {
		return nil, fmt.Errorf("%d keys for %d rows and %d entries", len(keys), e.Len(), len(entries))
	}
	if o.Baseline == "" {
		o.Baseline = entries[0].Name
	}
	seen := map[string]bool{}
	for _, x := range entries {
		if x.Name == "" || x.Fitter == nil || seen[x.Name] {
			return nil, fmt.Errorf("the entry %q has no name or no fitter, or there are two of it", x.Name)
		}
		seen[x.Name] = true
	}
	if !seen[o.Baseline] {
		return nil, fmt.Errorf("the baseline %q is none of the entries", o.Baseline)
	}
	names := slices.Clone(keys)
	slices.Sort(names)
	names = slices.Compact(names)
	folds := o.Folds
	if folds < 0 {
		folds = len(names)
	}
	ss, err := split.Folds(keys, folds, split.Options{Axis: o.Axis, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	for k, s := range ss {
		train := map[string]bool{}
		for _, r := range s.Train {
			train[keys[r]] = true
		}
		for _, r := range s.Test {
			if train[keys[r]] {
				return nil, fmt.Errorf("fold %d: %q is in training and in test", k+1, keys[r])
			}
		}
	}
	what := string(o.Axis)
	if what == "" {
		what = "group"
	}
	words := fmt.Sprintf("%d-fold, disjoint in %s (%d of them), seed %d", folds, what, len(names), o.Seed)
	if o.Folds < 0 {
		words = fmt.Sprintf("each %s held out once (%d of them)", what, len(names))
	}
	return &Comparison{Baseline: o.Baseline, Split: words, Folds: ss, Level: o.Level, Rows: e.Len(), Groups: len(names), Data: e.Hash(), Seed: o.Seed,
		Measured: e.Y, keys: keys, resamples: o.Resamples}, nil
}

func (c *Comparison) score(out *Outcome, o Options) error {
	p := score.Predictions{Measured: c.Measured, Group: c.keys, Task: o.Tasks}
	band := score.Band{Level: o.Level}
	out.Bounded = true
	for _, x := range out.Predictions {
		p.Predicted = append(p.Predicted, x.Value)
		band.Low, band.High = append(band.Low, x.Low), append(band.High, x.High)
		if !(x.Low > 0) || math.IsInf(x.High, 1) {
			out.Bounded = false
		}
	}
	if out.Bounded {
		p.Bands = []score.Band{band}
	}
	var err error
	out.Report, err = score.Evaluate(out.Name, p, score.Resampling{Resamples: c.resamples, Seed: c.Seed})
	return err
}

func (c *Comparison) entry(name string) *Outcome {
	for i := range c.Entries {
		if c.Entries[i].Name == name {
			return &c.Entries[i]
		}
	}
	return nil
}

// Ahead is by how much the log-RMSE of an entry is below the baseline's, with
// the 95 % interval of the difference over the same resamples of groups:
// above 0 the entry is better.
func (c *Comparison) Ahead(name string) (score.Interval, error) {
	a, b := c.entry(name), c.entry(c.Baseline)
	if a == nil {
		return score.Interval{}, fmt.Errorf("comparing predictors: there is no entry %q", name)
	}
	squared := func(o *Outcome, r int) float64 {
		d := math.Log(o.Predictions[r].Value) - math.Log(c.Measured[r])
		return d * d
	}
	return score.Bootstrap(c.keys, func(rows []int) float64 {
		sa, sb := 0.0, 0.0
		for _, r := range rows {
			sa += squared(a, r)
			sb += squared(b, r)
		}
		return math.Sqrt(sb/float64(len(rows))) - math.Sqrt(sa/float64(len(rows)))
	}, score.Resampling{Resamples: c.resamples, Seed: c.Seed})
}

// Results are the figures of all entries, each beside the baseline's, and the
// paired difference of each to the baseline. Fractions (MAPE) are fractions.
func (c *Comparison) Results() ([]evaluation.Result, error) {
	var out []evaluation.Result
	base := c.entry(c.Baseline)
	for _, e := range c.Entries {
		note := fmt.Sprintf("%s: %s", e.Name, e.Described[0].Detail)
		if len(e.Described) > 1 {
			note += " (first fold)"
		}
		if !e.Bounded {
			note += fmt.Sprintf("; too few groups were held out for intervals at %g", c.Level)
		}
		for _, f := range e.Report.Figures {
			r := evaluation.Result{Name: e.Name, Metric: f.Metric, Value: f.Value, Low: f.Low, High: f.High, BaselineValue: math.NaN(), Split: c.Split, N: f.N, Note: note}
			if b, ok := base.Report.Figure(f.Metric); ok && e.Name != c.Baseline {
				r.Baseline, r.BaselineValue = c.Baseline, b.Value
			}
			out = append(out, r)
		}
		if e.Name == c.Baseline {
			continue
		}
		ahead, err := c.Ahead(e.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, evaluation.Result{Name: e.Name, Metric: "log-RMSE below the baseline's (paired difference)", Value: ahead.Value, Low: ahead.Low, High: ahead.High,
			Baseline: c.Baseline, BaselineValue: 0, Split: c.Split, N: c.Rows, Note: note})
	}
	return out, nil
}

// Table is the comparison for people.
func (c *Comparison) Table() tabular.Table {
	reports := make([]score.Report, len(c.Entries))
	for i, e := range c.Entries {
		reports[i] = e.Report
	}
	t := score.Table(fmt.Sprintf("%d rows, %s", c.Rows, c.Split), reports...)
	t.Note("data %s", c.Data)
	return t
}

// String is the table as text.
func (c *Comparison) String() string { return c.Table().String() }

// Display shows the table.
func (c *Comparison) Display() display.Bundle { return c.Table().Display() }
