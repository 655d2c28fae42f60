package score

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/modeling/tabular"
)

// Predictions are what Evaluate scores: one entry per row in each slice.
type Predictions struct {
	Measured  []float64 // positive
	Predicted []float64 // positive, in the same unit
	// Group is what a row belongs to (its kernel); nil takes every row for
	// independent, which it rarely is.
	Group []string
	// Task says which rows are alternatives of one another, as the
	// configurations of one kernel for one input, for regret; nil for none. All
	// rows of a task belong to one group.
	Task []string
	// Bands are intervals of the predictions, any number of levels.
	Bands []Band
}

// Figure is a metric with its confidence interval.
type Figure struct {
	Metric string // "MAPE", "Spearman", "coverage at 90 %" ...
	Unit   string // "%" for fractions, else ""
	Interval
	N    int  // what it is taken over: rows, or tasks
	Less bool // whether less is better; of coverage neither is
}

// Report is all the field's figures of one predictor.
type Report struct {
	Name    string // of the predictor
	Figures []Figure
	Groups  int
	Opt     Resampling
}

// Evaluate scores a predictor: MAPE, median APE, log-RMSE, R2 of logarithms,
// Spearman, Kendall, regret of the top 1 and top 3 where there are tasks, and
// coverage, sharpness and pinball loss (in logarithms) of each band, each with
// a confidence interval by Bootstrap over groups. Fractions are given as such,
// not in per cent.
func Evaluate(name string, p Predictions, opt Resampling) (Report, error) {
	if opt.Resamples == 0 {
		opt.Resamples = 1000
	}
	if opt.Level == 0 {
		opt.Level = 0.95
	}
	r := Report{Name: name, Opt: opt}
	if _, err := Of(p.Measured, p.Predicted); err != nil { // all the checks
		return r, err
	}
	n := len(p.Measured)
	group := p.Group
	if group == nil {
		group = make([]string, n)
		for i := range group {
			group[i] = fmt.Sprint(i)
		}
	}
	if len(group) != n || (p.Task != nil && len(p.Task) != n) {
		return r, fmt.Errorf("scoring %s: %d groups and %d tasks for %d rows", name, len(group), len(p.Task), n)
	}
	distinct := map[string]bool{}
	for _, g := range group {
		distinct[g] = true
	}
	r.Groups = len(distinct)
	add := func(metric, unit string, less bool, group []string, statistic func(rows []int) float64) error {
		iv, err := Bootstrap(group, statistic, opt)
		if err != nil {
			return fmt.Errorf("scoring %s: %s: %w", name, metric, err)
		}
		r.Figures = append(r.Figures, Figure{metric, unit, iv, len(group), less})
		return nil
	}
	of := func(pick func(s Scores) float64) func(rows []int) float64 {
		return func(rows []int) float64 {
			s, err := Of(at(p.Measured, rows), at(p.Predicted, rows))
			if err != nil {
				return math.NaN() // rows were checked: none left
			}
			return pick(s)
		}
	}
	for _, m := range []struct {
		name, unit string
		less       bool
		statistic  func(rows []int) float64
	}{
		{"MAPE", "%", true, of(func(s Scores) float64 { return s.MAPE })},
		{"median APE", "%", true, of(func(s Scores) float64 { return s.MedianAPE })},
		{"log-RMSE", "", true, of(func(s Scores) float64 { return s.LogRMSE })},
		{"R2 of log", "", false, of(func(s Scores) float64 { return s.R2Log })},
		{"Spearman", "", false, func(rows []int) float64 { return Spearman(at(p.Measured, rows), at(p.Predicted, rows)) }},
		{"Kendall tau-b", "", false, func(rows []int) float64 { return Kendall(at(p.Measured, rows), at(p.Predicted, rows)) }},
	} {
		if err := add(m.name, m.unit, m.less, group, m.statistic); err != nil {
			return r, err
		}
	}
	for _, k := range []int{1, 3} {
		regrets, groups, err := p.regrets(k, group)
		if err != nil {
			return r, fmt.Errorf("scoring %s: %w", name, err)
		}
		if len(regrets) == 0 {
			continue
		}
		if err := add(fmt.Sprintf("top-%d regret", k), "%", true, groups, func(rows []int) float64 { return mean(at(regrets, rows)) }); err != nil {
			return r, err
		}
	}
	for _, b := range p.Bands {
		if err := b.check(n); err != nil {
			return r, fmt.Errorf("scoring %s: %w", name, err)
		}
		sub := func(rows []int) Band { return Band{b.Level, at(b.Low, rows), at(b.High, rows)} }
		level := fmt.Sprintf(" at %.4g %%", 100*b.Level)
		for _, m := range []struct {
			name, unit string
			less       bool
			statistic  func(rows []int) float64
		}{
			{"coverage" + level, "%", false, func(rows []int) float64 { return sub(rows).Coverage(at(p.Measured, rows)) }},
			{"high/low" + level, "", true, func(rows []int) float64 { return sub(rows).Sharpness() }},
			{"pinball (log)" + level, "", true, func(rows []int) float64 { return sub(rows).pinball(at(p.Measured, rows)) }},
		} {
			if err := add(m.name, m.unit, m.less, group, m.statistic); err != nil {
				return r, err
			}
		}
	}
	return r, nil
}

// regrets are those of each task with a choice, and the tasks' groups.
func (p Predictions) regrets(k int, group []string) (regrets []float64, groups []string, err error) {
	byTask := map[string][]int{}
	var tasks []string
	for i, t := range p.Task {
		if byTask[t] == nil {
			tasks = append(tasks, t)
		}
		byTask[t] = append(byTask[t], i)
	}
	for _, t := range tasks {
		rows := byTask[t]
		for _, r := range rows {
			if group[r] != group[rows[0]] && p.Group != nil {
				return nil, nil, fmt.Errorf("the alternatives of task %q belong to the groups %q and %q: want one", t, group[rows[0]], group[r])
			}
		}
		if len(rows) <= k { // nothing to choose
			continue
		}
		r, err := TopK(at(p.Measured, rows), at(p.Predicted, rows), k)
		if err != nil {
			return nil, nil, fmt.Errorf("task %q: %w", t, err)
		}
		regrets, groups = append(regrets, r), append(groups, group[rows[0]])
	}
	return regrets, groups, nil
}

func at(xs []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = xs[r]
	}
	return out
}

func mean(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// Figure finds a metric by its name.
func (r Report) Figure(metric string) (Figure, bool) {
	for _, f := range r.Figures {
		if f.Metric == metric {
			return f, true
		}
	}
	return Figure{}, false
}

// Table compares predictors, one row for each metric, one column for each:
// value and interval.
func Table(title string, reports ...Report) tabular.Table {
	t := tabular.Table{Title: title, Columns: tabular.Columns("<metric")}
	var metrics []string
	seen := map[string]bool{}
	for _, r := range reports {
		t.Columns = append(t.Columns, tabular.Column{Name: r.Name}, tabular.Column{Name: "interval", Text: true})
		for _, f := range r.Figures {
			if !seen[f.Metric] {
				seen[f.Metric] = true
				metrics = append(metrics, f.Metric)
			}
		}
	}
	for _, m := range metrics {
		cells := []string{m}
		for _, r := range reports {
			f, ok := r.Figure(m)
			if !ok {
				cells = append(cells, "", "")
				continue
			}
			cells = append(cells, f.text(f.Value), fmt.Sprintf("%s to %s", f.text(f.Low), f.text(f.High)))
			if math.IsNaN(f.Low) {
				cells[len(cells)-1] = "none"
			}
		}
		t.Add(cells...)
	}
	for _, r := range reports {
		t.Note("%s: intervals at %.4g %% from %d resamples of %d groups, seed %d", r.Name, 100*r.Opt.Level, r.Opt.Resamples, r.Groups, r.Opt.Seed)
	}
	return t
}

func (f Figure) text(v float64) string {
	switch {
	case math.IsNaN(v):
		return "none"
	case f.Unit == "%":
		return fmt.Sprintf("%.1f %%", 100*v)
	}
	return fmt.Sprintf("%.3f", v)
}
