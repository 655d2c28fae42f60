package align

import (
	"fmt"
	"math"
	"slices"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Scores are those of several edits.
type Scores []Score

// Mean is a mean over the edits that know a score.
type Mean struct {
	Value float64 // NaN where N is 0
	N     int
}

// Summary is scores of one run, or of one backend over runs.
type Summary struct {
	Backend  string
	Run      string // "": all runs of the backend
	Edits    int
	Accepted int
	// Coverage, Location and Direction are means over edits, each edit alike.
	Coverage, Location, Direction Mean
	Unmeasured                    int // predictions
	Hallucinated                  int // ids, over all edits
	Hallucinating                 int // edits with at least one
}

// ByBackend summarises the scores of each backend, in the order of their first
// edit.
func (ss Scores) ByBackend() Summaries {
	return ss.by(func(s Score) Summary { return Summary{Backend: s.Backend} })
}

// ByRun summarises the scores of each run and backend, in the order of their
// first edit.
func (ss Scores) ByRun() Summaries {
	return ss.by(func(s Score) Summary { return Summary{Backend: s.Backend, Run: s.Run} })
}

func (ss Scores) by(key func(Score) Summary) Summaries {
	var out Summaries
	var groups []Scores
	for _, s := range ss {
		k := key(s)
		i := slices.IndexFunc(out, func(o Summary) bool { return o.Backend == k.Backend && o.Run == k.Run })
		if i < 0 {
			i = len(out)
			out, groups = append(out, k), append(groups, nil)
		}
		groups[i] = append(groups[i], s)
	}
	for i, g := range groups {
		o := &out[i]
		o.Edits = len(g)
		for _, s := range g {
			if s.Rejected == "" {
				o.Accepted++
			}
			if s.Hallucinated > 0 {
				o.Hallucinating++
			}
			o.Unmeasured += s.Unmeasured
			o.Hallucinated += s.Hallucinated
		}
		o.Coverage = g.mean(func(s Score) Part { return s.Coverage })
		o.Location = g.mean(func(s Score) Part { return s.Location })
		o.Direction = g.mean(func(s Score) Part { return s.Direction })
	}
	return out
}

func (ss Scores) mean(of func(Score) Part) Mean {
	m := Mean{Value: math.NaN()}
	sum := 0.0
	for _, s := range ss {
		if p := of(s); p.Known() {
			sum += p.Value()
			m.N++
		}
	}
	if m.N > 0 {
		m.Value = sum / float64(m.N)
	}
	return m
}

// Summaries are those of several runs or backends.
type Summaries []Summary

const unknown = "unknown"

func (p Part) cell() string {
	if !p.Known() {
		return unknown
	}
	return fmt.Sprintf("%s (%d/%d)", tabular.Percent(p.Value()), p.Of, p.All)
}

func (m Mean) cell() string {
	if m.N == 0 {
		return unknown
	}
	return fmt.Sprintf("%s (n = %d)", tabular.Percent(m.Value), m.N)
}

// Table is a row for each edit.
func (ss Scores) Table() tabular.Table {
	t := tabular.Table{Title: "How edits agree with their evidence",
		Columns: tabular.Columns("<backend", "<run", "edit", "<outcome", "coverage", "location", "direction", "unmeasured", "hallucinated")}
	for _, s := range ss {
		outcome := "accepted"
		if s.Rejected != "" {
			outcome = "rejected: " + string(s.Rejected)
		}
		t.Add(s.Backend, s.Run, fmt.Sprint(s.Edit), outcome, s.Coverage.cell(), s.Location.cell(), s.Direction.cell(), fmt.Sprint(s.Unmeasured), fmt.Sprint(s.Hallucinated))
	}
	return t
}

// Table is a row for each summary.
func (ss Summaries) Table() tabular.Table {
	t := tabular.Table{Title: "How edits agree with their evidence, means over the edits that know a score"}
	runs := slices.ContainsFunc(ss, func(s Summary) bool { return s.Run != "" })
	heads := []string{"<backend", "<run", "edits", "accepted", "coverage", "location", "direction", "unmeasured", "hallucinated", "in edits"}
	if !runs {
		heads = slices.Delete(heads, 1, 2)
	}
	t.Columns = tabular.Columns(heads...)
	for _, s := range ss {
		cells := []string{s.Backend, s.Run, fmt.Sprint(s.Edits), fmt.Sprint(s.Accepted), s.Coverage.cell(), s.Location.cell(), s.Direction.cell(),
			fmt.Sprint(s.Unmeasured), fmt.Sprint(s.Hallucinated), fmt.Sprint(s.Hallucinating)}
		if !runs {
			cells = slices.Delete(cells, 1, 2)
		}
		t.Add(cells...)
	}
	return t
}

// String is the table as text.
func (ss Scores) String() string { return ss.Table().String() }

// Display shows the table.
func (ss Scores) Display() display.Bundle { return ss.Table().Display() }

// String is the table as text.
func (ss Summaries) String() string { return ss.Table().String() }

// Display shows the table.
func (ss Summaries) Display() display.Bundle { return ss.Table().Display() }

// Frame is a dataframe with a row for each edit: backend, run, edit, rejected
// (the reason, "" for accepted ones), coverage, location and direction (0 to 1,
// NaN where unknown), unmeasured and hallucinated.
func (ss Scores) Frame() dataframe.DataFrame {
	n := len(ss)
	backend, run, rejected := make([]string, n), make([]string, n), make([]string, n)
	edits, unmeasured, hallucinated := make([]int, n), make([]int, n), make([]int, n)
	coverage, location, direction := make([]float64, n), make([]float64, n), make([]float64, n)
	for i, s := range ss {
		backend[i], run[i], rejected[i] = s.Backend, s.Run, string(s.Rejected)
		edits[i], unmeasured[i], hallucinated[i] = s.Edit, s.Unmeasured, s.Hallucinated
		coverage[i], location[i], direction[i] = s.Coverage.Value(), s.Location.Value(), s.Direction.Value()
	}
	return dataframe.New(series.New(backend, series.String, "backend"), series.New(run, series.String, "run"), series.New(edits, series.Int, "edit"),
		series.New(rejected, series.String, "rejected"), series.New(coverage, series.Float, "coverage"), series.New(location, series.Float, "location"),
		series.New(direction, series.Float, "direction"), series.New(unmeasured, series.Int, "unmeasured"), series.New(hallucinated, series.Int, "hallucinated"))
}

// Frame is a dataframe with a row for each summary: backend, run, edits,
// accepted, the means coverage, location and direction (0 to 1, NaN where
// unknown) with the number of edits behind each (coverage_n, ...), unmeasured,
// hallucinated and hallucinating.
func (ss Summaries) Frame() dataframe.DataFrame {
	text := func(name string, of func(Summary) string) series.Series {
		v := make([]string, len(ss))
		for i, s := range ss {
			v[i] = of(s)
		}
		return series.New(v, series.String, name)
	}
	count := func(name string, of func(Summary) int) series.Series {
		v := make([]int, len(ss))
		for i, s := range ss {
			v[i] = of(s)
		}
		return series.New(v, series.Int, name)
	}
	cols := []series.Series{text("backend", func(s Summary) string { return s.Backend }), text("run", func(s Summary) string { return s.Run }),
		count("edits", func(s Summary) int { return s.Edits }), count("accepted", func(s Summary) int { return s.Accepted })}
	for _, m := range []struct {
		name string
		of   func(Summary) Mean
	}{{"coverage", func(s Summary) Mean { return s.Coverage }}, {"location", func(s Summary) Mean { return s.Location }}, {"direction", func(s Summary) Mean { return s.Direction }}} {
		v := make([]float64, len(ss))
		for i, s := range ss {
			v[i] = m.of(s).Value
		}
		cols = append(cols, series.New(v, series.Float, m.name), count(m.name+"_n", func(s Summary) int { return m.of(s).N }))
	}
	cols = append(cols, count("unmeasured", func(s Summary) int { return s.Unmeasured }), count("hallucinated", func(s Summary) int { return s.Hallucinated }),
		count("hallucinating", func(s Summary) int { return s.Hallucinating }))
	return dataframe.New(cols...)
}
