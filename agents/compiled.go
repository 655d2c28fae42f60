package agents

import (
	"context"
	"fmt"
	"path"
	"slices"

	"github.com/rooflab/rooflab/agents/build"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Commands are the calls of compilers by which a program is built: those of the
// target, or where make or a script makes them, those that are seen when it builds
// once more.
func (w *Workbench) Commands(ctx context.Context, p *Program) ([]build.Ran, error) {
	if w.plain() {
		var out []build.Ran
		for _, c := range w.Target.Build.Commands {
			out = append(out, build.Ran{Argv: literal(c)})
		}
		return out, nil
	}
	ran, err := build.Commands(ctx, w.box, w.recipe(p))
	if err != nil {
		return nil, fmt.Errorf("looking at how %s of %s is built: %w", p.ID, w.Target.Name, err)
	}
	return ran, nil
}

// plain says that the target calls compilers itself, and otherwise only what they
// have made.
func (w *Workbench) plain() bool {
	return !slices.ContainsFunc(w.Target.Build.Commands, func(c target.Command) bool {
		return len(c) > 0 && !slices.Contains(build.Compilers(), path.Base(c[0])) && !slices.Contains(w.Target.Build.Products, path.Clean(c[0]))
	})
}

// mostSaid is how many commands of a build a note says.
const mostSaid = 5

// compiled adds to the evidence how the sources that may be changed are compiled:
// an item for each whose flags leave much undone. Ids begin with B.
func (w *Workbench) compiled(e *Evidence, p *Program, ran []build.Ran) {
	c := rules.Case{Sources: w.Target.Sources()}
	for _, r := range ran {
		c.Build = append(c.Build, r.Argv)
	}
	for i, s := range c.Sources {
		for _, f := range p.Files {
			if f.Path == s.Path {
				c.Sources[i].Text = f.Text
			}
		}
	}
	all := rules.Compiled(c)
	if !w.plain() {
		e.Build = c.Build
		for _, one := range all[:min(len(all), mostSaid)] {
			e.Report.Notes = append(e.Report.Notes, fmt.Sprintf("%s is compiled by: %s", one.File, target.Command(one.Command)))
		}
	}
	n := 0
	for _, one := range all {
		missing := one.Missing()
		if missing == "" {
			continue
		}
		n++
		e.Report.Items = append(e.Report.Items, insight.Item{ID: fmt.Sprintf("B%d", n), Kind: insight.Counter, Rule: rules.BuildRule, Verdict: insight.Problem,
			Statement: fmt.Sprintf("%s is compiled with %s.", one.File, missing),
			Metric:    "build.optimisation", Value: float64(one.Optimised()), Importance: 0.3,
			Location: &insight.Location{File: one.File},
			Query:    fmt.Sprintf("SELECT %d", one.Optimised()),
			Estimate: "from the commands of the build, not from a measurement",
			Sources:  []insight.Source{{Run: e.Run, Tool: "build", Path: one.File, Rows: []insight.Row{}}},
			Meaning:  "What the compiler was not asked to do, it leaves to the processor: " + target.Command(one.Command).String(),
			Remedies: []string{"Change the flags where the build says them, if lines of that file may be changed; else ask by attributes or pragmas of the source."},
			Moves:    []insight.Move{{Metric: "time", Direction: insight.Down}}})
	}
}
