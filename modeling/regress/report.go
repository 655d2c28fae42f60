package regress

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/score"
)

// NamedScores are the figures of one predictor on the test rows.
type NamedScores struct {
	Name string // "mlp", "ridge", "median"
	score.Scores
}

// Report is the record of a training run: what it gave and what it takes to
// get the same again.
type Report struct {
	Options  Options
	Scores   []NamedScores // on the test rows: the model, then the baselines
	Split    string        // how rows were split, in words
	Train    int           // rows
	Calibr   int
	Test     int
	Features []string  // columns learnt from
	Dropped  []Dropped // columns not learnt from, with reasons
	Warnings []string
	Epochs   int // done
	Took     time.Duration
	Started  time.Time
	DataHash string            // of target, groups and features, in the order of the rows
	Backend  string            // where it ran
	Notice   string            // set when that was second best
	Machine  string            // host, processor architecture and count
	Versions map[string]string // Go and the modules that matter
}

func newReport(opt Options, t *table, p split.Split, in inputs, dropped []Dropped, why, notice string) Report {
	r := Report{
		Options: opt, Train: len(p.Train), Calibr: len(p.Calibration), Test: len(p.Test),
		Features: in.Names(), Dropped: append(t.dropped, dropped...), Started: time.Now(),
		DataHash: t.hash, Backend: why, Notice: notice, Versions: map[string]string{"go": runtime.Version()},
	}
	r.Options.Progress = nil // a record holds data
	r.Split = p.String()
	if opt.RandomRows {
		r.Warnings = append(r.Warnings, "random rows: rows of one kernel stand on both sides, so errors on new kernels are larger than these")
	}
	if t.missing > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d rows without a value of %s were left out", t.missing, opt.Target))
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	r.Machine = fmt.Sprintf("%s, %s/%s, %d processors", host, runtime.GOOS, runtime.GOARCH, runtime.NumCPU())
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			if strings.HasPrefix(d.Path, "github.com/gomlx/") || strings.HasPrefix(d.Path, "github.com/go-gota/") || strings.HasPrefix(d.Path, "github.com/rooflab/") {
				r.Versions[d.Path] = d.Version
			}
		}
	}
	return r
}

// Score returns the figures of a predictor by name.
func (r Report) Score(name string) (score.Scores, bool) {
	for _, s := range r.Scores {
		if s.Name == name {
			return s.Scores, true
		}
	}
	return score.Scores{}, false
}

// String is the report as text.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "regression of log %s on %d columns, %d training rows, %d epochs in %s, on %s\n",
		r.Options.Target, len(r.Features), r.Train, r.Epochs, r.Took.Round(time.Millisecond), r.Backend)
	fmt.Fprintf(&b, "on %d test rows (%s):\n", r.Test, r.Split)
	for _, s := range r.Scores {
		fmt.Fprintf(&b, "  %-7s %s\n", s.Name, s.Scores)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if r.Notice != "" {
		fmt.Fprintf(&b, "note: %s\n", r.Notice)
	}
	if len(r.Dropped) > 0 {
		fmt.Fprintf(&b, "not learnt from: %s\n", reasons(r.Dropped))
	}
	fmt.Fprintf(&b, "data %s, %s, %s", r.DataHash, r.Versions["go"], r.Machine)
	return b.String()
}

// Display shows the report as a table.
func (r Report) Display() display.Bundle {
	e := display.Escape
	var b strings.Builder
	const cell = `style="padding:.15em .7em;border-bottom:1px solid rgba(128,128,128,.35);text-align:`
	fmt.Fprintf(&b, `<div style="color:inherit">Regression of log %s on %d columns: %d training rows, %d epochs in %s, on %s<table style="border-collapse:collapse;color:inherit;background:transparent"><tr>`,
		e(r.Options.Target), len(r.Features), r.Train, r.Epochs, r.Took.Round(time.Millisecond), e(r.Backend))
	for i, h := range []string{"", "MAPE", "median APE", "R² of log time", "inside the interval"} {
		align := "right"
		if i == 0 {
			align = "left"
		}
		fmt.Fprintf(&b, `<th %s%s">%s</th>`, cell, align, h)
	}
	b.WriteString("</tr>")
	for _, s := range r.Scores {
		inside := "&ndash;"
		if s.Within == s.Within { // a number
			inside = fmt.Sprintf("%.0f %% (%.0f %% wanted)", 100*s.Within, 100*r.Options.Level)
		}
		fmt.Fprintf(&b, `<tr><th %sleft">%s</th><td %sright">%.1f %%</td><td %sright">%.1f %%</td><td %sright">%.3f</td><td %sright">%s</td></tr>`,
			cell, e(s.Name), cell, 100*s.MAPE, cell, 100*s.MedianAPE, cell, s.R2Log, cell, inside)
	}
	fmt.Fprintf(&b, `</table><div style="font-size:90%%;opacity:.8">%d test rows, split %s; data %s`, r.Test, e(r.Split), e(r.DataHash))
	for _, w := range r.Warnings {
		b.WriteString("<br>Warning: " + e(w))
	}
	if r.Notice != "" {
		b.WriteString("<br>Note: " + e(r.Notice))
	}
	if len(r.Dropped) > 0 {
		b.WriteString("<details><summary>" + fmt.Sprint(len(r.Dropped)) + " columns not learnt from</summary>" + e(reasons(r.Dropped)) + "</details>")
	}
	b.WriteString("</div></div>")
	return display.Bundle{Data: map[string]any{"text/plain": r.String(), "text/html": b.String()}}
}

// Display shows a model by its report.
func (m *Model) Display() display.Bundle { return m.Report.Display() }

// String is the model's report as text.
func (m *Model) String() string { return m.Report.String() }
