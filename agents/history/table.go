package history

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/score"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Backend is what became of the work of one backend.
type Backend struct {
	Name       string `json:"backend"`
	Runs       int    `json:"runs"`     // that made an attempt or ended
	Ended      int    `json:"ended"`    // of them
	Targets    int    `json:"targets"`  // different ones
	Candidates int    `json:"attempts"` // attempts
	Accepted   int    `json:"accepted"` // of them: shown to be faster
	Confirmed  int    `json:"confirmed"`
	// Speedup is the geometric mean over runs that ended, 1 for those in which
	// nothing was confirmed; NaN without such runs.
	Speedup float64       `json:"-"`
	Calls   int           `json:"calls"`
	Tokens  int64         `json:"tokens"`
	Money   float64       `json:"money"`
	Aligned align.Summary `json:"-"` // over all edits of all runs
}

// Backends summarises a Log, in the order of names.
func (l *Log) Backends() Backends {
	type sums struct {
		Backend
		runs, targets map[string]bool
		logs          float64
		scores        align.Scores
	}
	by := map[string]*sums{}
	of := func(name string) *sums {
		if by[name] == nil {
			by[name] = &sums{Backend: Backend{Name: name}, runs: map[string]bool{}, targets: map[string]bool{}}
		}
		return by[name]
	}
	for _, a := range l.Attempts {
		s := of(a.Backend)
		s.runs[a.Run], s.targets[a.Target] = true, true
		s.Candidates++
		if a.Outcome == Kept || a.Outcome == Faster {
			s.Accepted++
		}
		for _, sc := range a.Scores {
			sc.Backend = a.Backend
			s.scores = append(s.scores, sc)
		}
	}
	for _, e := range l.Ends {
		s := of(e.Backend)
		s.runs[e.Run], s.targets[e.Target] = true, true
		s.Ended++
		s.logs += math.Log(e.Speedup)
		if e.Confirmed {
			s.Confirmed++
		}
		s.Calls += e.Calls
		s.Tokens += e.Tokens
		s.Money += e.Money
	}
	var out Backends
	for _, name := range names(by) {
		s := by[name]
		s.Runs, s.Targets, s.Speedup = len(s.runs), len(s.targets), math.NaN()
		if s.Ended > 0 {
			s.Speedup = math.Exp(s.logs / float64(s.Ended))
		}
		if sum := s.scores.ByBackend(); len(sum) > 0 {
			s.Aligned = sum[0]
		}
		out = append(out, s.Backend)
	}
	return out
}

// Backends are summaries by backend.
type Backends []Backend

// Table is a row for each backend.
func (bs Backends) Table() tabular.Table {
	t := tabular.Table{Title: "What came of each backend's work", Columns: tabular.Columns("<backend", "runs", "ended", "targets", "candidates", "accepted", "confirmed",
		"times as fast", "evidence coverage", "location agreement", "direction", "hallucinated", "tokens", "US dollars")}
	for _, b := range bs {
		t.Add(b.Name, fmt.Sprint(b.Runs), fmt.Sprint(b.Ended), fmt.Sprint(b.Targets), fmt.Sprint(b.Candidates), fmt.Sprint(b.Accepted), fmt.Sprint(b.Confirmed),
			number(b.Speedup), mean(b.Aligned.Coverage), mean(b.Aligned.Location), mean(b.Aligned.Direction), fmt.Sprint(b.Aligned.Hallucinated), fmt.Sprint(b.Tokens), fmt.Sprintf("%.4f", b.Money))
	}
	return t
}

// String is the table as text.
func (bs Backends) String() string { return bs.Table().String() }

// Display shows the table.
func (bs Backends) Display() display.Bundle { return bs.Table().Display() }

func number(v float64) string {
	if math.IsNaN(v) {
		return "unknown"
	}
	return fmt.Sprintf("%.3g", v)
}

func mean(m align.Mean) string {
	if m.N == 0 {
		return "unknown"
	}
	return fmt.Sprintf("%s (n = %d)", tabular.Percent(m.Value), m.N)
}

// Calibration is how predictions of speed-ups came true.
type Calibration struct {
	Judge string `json:"judge"`
	N     int    `json:"n"` // predictions of what was measured afterwards
	// Level is how often the intervals were to hold what was measured, the mean over
	// those that have both bounds, N of them Bounded; Covered is how many did.
	Level   float64 `json:"level"`
	Bounded int     `json:"bounded"`
	Covered int     `json:"covered"`
	// LogError is the root mean square of the logarithm of predicted over measured,
	// Bias its mean: above 0 the judge promised too much.
	LogError float64 `json:"log_error"`
	Bias     float64 `json:"log_bias"`
	// Rank is Spearman's correlation of predicted and measured; nil where it is not
	// known, as of fewer than three.
	Rank *float64 `json:"rank_correlation,omitempty"`
	// Skipped were not measured, for their predictions were worse than others'.
	Skipped int `json:"skipped"`
}

// Calibrations are those of several judges.
type Calibrations []Calibration

// Calibrate holds predictions against what was measured, judge by judge in the
// order of names.
func Calibrate(attempts []Attempt) Calibrations {
	by := map[string][]Attempt{}
	for _, a := range attempts {
		if a.Predicted != nil {
			by[a.Predicted.Judge] = append(by[a.Predicted.Judge], a)
		}
	}
	var out Calibrations
	for _, judge := range names(by) {
		c := Calibration{Judge: judge}
		var predicted, measured []float64
		for _, a := range by[judge] {
			p := a.Predicted
			if !a.Measured() {
				if a.Outcome == Untried {
					c.Skipped++
				}
				continue
			}
			predicted, measured = append(predicted, p.Speedup), append(measured, *a.Speedup)
			d := math.Log(p.Speedup / *a.Speedup)
			c.LogError += d * d
			c.Bias += d
			if p.Low != nil && p.High != nil {
				c.Bounded++
				c.Level += p.Level
				if *p.Low <= *a.Speedup && *a.Speedup <= *p.High {
					c.Covered++
				}
			}
		}
		if c.N = len(measured); c.N > 0 {
			c.LogError = math.Sqrt(c.LogError / float64(c.N))
			c.Bias /= float64(c.N)
		}
		if c.Bounded > 0 {
			c.Level /= float64(c.Bounded)
		}
		if rank := score.Spearman(predicted, measured); c.N >= 3 && !math.IsNaN(rank) {
			c.Rank = &rank
		}
		out = append(out, c)
	}
	return out
}

// Judges are the calibrations of all judges over all runs.
func (l *Log) Judges() Calibrations { return Calibrate(l.Attempts) }

// Table is a row for each judge.
func (cs Calibrations) Table() tabular.Table {
	t := tabular.Table{Title: "Predicted and measured speed-ups", Columns: tabular.Columns("<judge", "measured", "in their interval", "interval is for", "factor off (RMS)", "bias (factor)", "rank correlation", "not measured")}
	for _, c := range cs {
		covered, level, off, bias, rank := "unknown", "", "unknown", "unknown", "unknown"
		if c.Bounded > 0 {
			covered, level = fmt.Sprintf("%d of %d", c.Covered, c.Bounded), tabular.Percent(c.Level)
		}
		if c.N > 0 {
			off, bias = fmt.Sprintf("%.3g", math.Exp(c.LogError)), fmt.Sprintf("%.3g", math.Exp(c.Bias))
		}
		if c.Rank != nil {
			rank = fmt.Sprintf("%.2f", *c.Rank)
		}
		t.Add(c.Judge, fmt.Sprint(c.N), covered, level, off, bias, rank, fmt.Sprint(c.Skipped))
	}
	return t
}

// String is the table as text.
func (cs Calibrations) String() string { return cs.Table().String() }

// Display shows the table.
func (cs Calibrations) Display() display.Bundle { return cs.Table().Display() }
