package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Events of profiles by lines that are worth an item each, with what a line
// with much of it means.
var lineEvents = []struct {
	name, meaning string
	remedies      []string
}{
	{"Ir", "Instructions that are not executed take no time.", []string{"Move what does not change out of the loop, keep sums in registers, vectorise."}},
	{"D1mr", "Data is read in another order than it lies in, or again after it has left the cache.", []string{"Exchange loops so that the innermost one walks with unit stride, block for the cache."}},
	{"D1mw", "Data is written in another order than it lies in.", []string{"Exchange loops so that the innermost one walks with unit stride."}},
	{"DLmr", "Data is read from memory, beyond all caches.", []string{"Block for the last-level cache, one pass in place of several."}},
	{"Bcm", "The processor guesses wrong which way a branch goes.", []string{"Select in place of branch."}},
}

// lines are items on the lines of editable files that have the most of an
// event in the profile. Their ids begin with X.
func (w *Workbench) lines(ctx context.Context, s *datasets.Store, e *Evidence) ([]insight.Item, error) {
	var out []insight.Item
	for _, ev := range lineEvents {
		total := 0.0
		var found []insight.Item
		// A line that is inlined at several places is one line.
		const query = `SELECT c.file, c.line, sum(p.samples) FROM pc_sample p JOIN code c ON c.id = p.code_id AND c.run_id = p.run_id
 WHERE p.run_id = %d AND p.reason = '%s' AND c.line > 0 GROUP BY 1, 2 ORDER BY 3 DESC, 1, 2`
		err := s.Each(ctx, func(v []any) {
			file, _ := v[0].(string)
			line, _ := v[1].(int64)
			n, _ := asFloat(v[2])
			total += n
			name, ok := w.editable(file)
			if !ok || len(found) >= 2 || n <= 0 {
				return
			}
			found = append(found, insight.Item{Kind: insight.Counter, Rule: "line", Verdict: insight.Problem, Metric: ev.name, Value: n, Unit: "event",
				Location: &insight.Location{File: name, Line: line},
				Query: fmt.Sprintf("SELECT sum(p.samples) FROM pc_sample p JOIN code c ON c.id = p.code_id AND c.run_id = p.run_id WHERE p.run_id = %d AND p.reason = '%s' AND c.file = '%s' AND c.line = %d",
					e.Run, ev.name, strings.ReplaceAll(file, "'", "''"), line),
				Meaning: ev.meaning, Remedies: ev.remedies, Moves: []insight.Move{{Metric: ev.name, Direction: insight.Down}}})
		}, fmt.Sprintf(query, e.Run, ev.name))
		if err != nil {
			return nil, err
		}
		// What is rare does not matter, however it is spread.
		if ir := e.Metrics["Ir"]; ev.name != "Ir" && ir > 0 && total < 0.002*float64(ir) {
			continue
		}
		for _, i := range found {
			share := i.Value / total
			if share < 0.1 {
				continue
			}
			i.ID = fmt.Sprintf("X%d", len(out)+1)
			i.Share, i.Importance = share, 0.4*share
			i.Statement = fmt.Sprintf("Line %d of %s has %.0f %% of all %s of the run: %.3g.", i.Location.Line, i.Location.File, 100*share, eventName(ev.name), i.Value)
			i.Sources = source(e)
			out = append(out, i)
		}
	}
	return out, nil
}

// source is the profile itself: an item of lines is a sum over many rows of it.
func source(e *Evidence) []insight.Source {
	for _, r := range e.Report.Runs {
		if r.ID == e.Run && len(r.Artefacts) > 0 {
			return []insight.Source{{Run: r.ID, Tool: r.Tool, Path: r.Artefacts[0].Path, SHA256: r.Artefacts[0].SHA256, Rows: []insight.Row{}}}
		}
	}
	return []insight.Source{}
}

func eventName(e string) string {
	if long, ok := map[string]string{"Ir": "instructions (Ir)", "D1mr": "misses of the simulated L1 by reads (D1mr)", "D1mw": "misses of the simulated L1 by writes (D1mw)",
		"DLmr": "misses of the simulated last-level cache by reads (DLmr)", "Bcm": "mispredicted conditional branches (Bcm)"}[e]; ok {
		return long
	}
	return e
}

func asFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// editable finds the source with editable lines that a path of a profile means.
func (w *Workbench) editable(path string) (string, bool) {
	for _, s := range w.Target.Sources() {
		if len(s.Editable) > 0 && (path == s.Path || strings.HasSuffix(path, "/"+s.Path)) {
			return s.Path, true
		}
	}
	return "", false
}

// includes are the options of the build's compiler that say where headers are
// and what is defined.
func includes(ran []build.Ran) string {
	var out []string
	add := func(option string) {
		if !slices.Contains(out, option) { // make says the same for each source
			out = append(out, option)
		}
	}
	for _, r := range ran {
		if r.Dir != "" {
			continue // its folders are relative to another one
		}
		for i, a := range r.Argv {
			switch {
			case (a == "-I" || a == "-D") && i+1 < len(r.Argv):
				add(a + r.Argv[i+1])
			case len(a) > 2 && (strings.HasPrefix(a, "-I") || strings.HasPrefix(a, "-D")):
				add(a)
			}
		}
	}
	return strings.Join(out, " ")
}
