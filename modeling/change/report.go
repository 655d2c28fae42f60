package change

import (
	"fmt"
	"math"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Limits of what a report shows; the fields have it all.
const (
	shownKernels  = 30
	shownCounters = 20
)

// With returns the kernels with a verdict, the largest difference first.
func (r Report) With(v Verdict) []Kernel {
	var out []Kernel
	for _, k := range r.Kernels {
		if k.Verdict == v {
			out = append(out, k)
		}
	}
	return out
}

// Kernel returns a kernel by its name.
func (r Report) Kernel(name string) (Kernel, bool) {
	for _, k := range r.Kernels {
		if k.Name == name {
			return k, true
		}
	}
	return Kernel{}, false
}

// Tables are the kernels and, where some changed along, the counters.
func (r Report) Tables() []tabular.Table {
	ts := []tabular.Table{r.kernels()}
	if len(r.Counters) > 0 {
		ts = append(ts, r.counters())
	}
	return ts
}

func (r Report) kernels() tabular.Table {
	per := ""
	if len(r.RunsBefore)+len(r.RunsAfter) > 2 {
		per = " per run"
	}
	title := fmt.Sprintf("%s before, %s after%s", tabular.Quantity(r.Before, r.Unit), tabular.Quantity(r.After, r.Unit), per)
	if r.Before > 0 {
		title += fmt.Sprintf(" (%+.1f %%)", 100*r.Difference/r.Before)
	}
	title += fmt.Sprintf(": %d slower, %d faster, %d new, %d vanished of %d kernels", len(r.With(Slower)), len(r.With(Faster)), len(r.With(New)), len(r.With(Vanished)), len(r.Kernels))
	t := tabular.Table{Title: title, Columns: tabular.Columns("<kernel", "<verdict", "before", "after", "ratio", "<interval", "q", "repeats", "difference", "explains")}
	for i, k := range r.Kernels {
		if i == shownKernels {
			t.Note("%d more kernels changed less in total", len(r.Kernels)-i)
			break
		}
		ratio, interval, q := ratioCells(k.Test)
		t.Add(k.Name, string(k.Verdict), tabular.Quantity(k.Before.Median, r.Unit), tabular.Quantity(k.After.Median, r.Unit), ratio, interval, q,
			fmt.Sprintf("%d, %d", k.Before.N, k.After.N), tabular.Quantity(k.Difference, r.Unit), tabular.Percent(k.Explains))
		for _, side := range []struct {
			name string
			Side
		}{{"before", k.Before}, {"after", k.After}} {
			if trouble := side.Noise.Trouble(); trouble != "" {
				t.Note("%s %s: %s", k.Name, side.name, trouble)
			}
			if side.Unknown > 0 {
				t.Note("%s %s: %d launches have no time, so that its total is a lower bound", k.Name, side.name, side.Unknown)
			}
		}
	}
	if len(r.With(TooFew)) > 0 {
		t.Note("too few repeats to tell: to find one change among %d kernels takes %d repeats or more on each side", len(r.Kernels), RepeatsNeeded(len(r.Kernels), r.Options.Alpha))
	}
	if r.Repeats == ByLaunch {
		t.Note("repeats are launches: what differs from run to run is not in the intervals")
	} else {
		t.Note("repeats are runs: before and after are medians of a kernel's total time in a run")
	}
	t.Note("%.0f %% intervals of the ratio of medians (bootstrap); rank test of Mann and Whitney, q corrected for %d tests (Benjamini and Hochberg); a change is q <= %g and %g %% or more",
		100*r.Options.Level, r.Tested, r.Options.Alpha, 100*r.Options.MinEffect)
	return t
}

func ratioCells(t Test) (ratio, interval, q string) {
	ratio, interval, q = "n/a", "n/a", "n/a"
	if !math.IsNaN(t.Ratio) {
		ratio = fmt.Sprintf("%.3f", t.Ratio)
	}
	if !math.IsNaN(t.Low) {
		interval = fmt.Sprintf("%.3f to %.3f", t.Low, t.High)
	}
	if !math.IsNaN(t.Ratio) && t.Verdict != TooFew {
		q = fmt.Sprintf("%.2g", t.Q)
	}
	return ratio, interval, q
}

func (r Report) counters() tabular.Table {
	t := tabular.Table{Title: "Counters that changed along", Columns: tabular.Columns("<kernel", "<counter", "<verdict", "before", "after", "ratio", "<interval", "q", "repeats")}
	for i, c := range r.Counters {
		if i == shownCounters {
			t.Note("%d more counters changed less", len(r.Counters)-i)
			break
		}
		ratio, interval, q := ratioCells(c.Test)
		t.Add(c.Kernel, c.Metric, c.Direction(), tabular.Quantity(c.Before.Median, c.Unit), tabular.Quantity(c.After.Median, c.Unit), ratio, interval, q,
			fmt.Sprintf("%d, %d", c.Before.N, c.After.N))
	}
	if r.without > 0 {
		t.Note("counters of %d more kernels were not looked at", r.without)
	}
	t.Note("q corrected for %d tests of counters; that a counter changed along does not show that it is the reason", r.CountersTested)
	return t
}

// String is the report as text.
func (r Report) String() string { s, _ := r.Display().Data["text/plain"].(string); return s }

// Display shows the report as tables.
func (r Report) Display() display.Bundle { return tabular.Join(r.Tables()...) }
