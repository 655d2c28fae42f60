package agents

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
)

// RulesProposals is how many proposals of the rules become candidates in a
// round, where nothing else is said.
const RulesProposals = 6

// Rules is the advisor without a model: each transformation that package rules
// offers for the evidence is a candidate, the most promising n (0 is
// RulesProposals) that were not tried yet in a round. Where the target compares
// all of its outputs within a tolerance, sums may be reordered whatever opt says.
// What was considered and is not offered is in Advice.Notes.
func Rules(n int, opt rules.Options) Advisor {
	if n <= 0 {
		n = RulesProposals
	}
	return ruled{n, opt}
}

type ruled struct {
	n   int
	opt rules.Options
}

// Name says what is taken for granted beyond the text.
func (a ruled) Name() string {
	if a.opt.Distinct {
		return "rules (distinct)"
	}
	return "rules"
}

func (a ruled) Advise(_ context.Context, c Case) (Advice, error) {
	out := Advice{Supplied: Supplied(c.Report)}
	if c.Failure != nil {
		return out, nil // it would propose the same again
	}
	ask := rules.Case{Sources: c.Sources, Evidence: c.Report.Items, Launches: c.Launches}
	for _, command := range c.Target.Build.Commands {
		ask.Build = append(ask.Build, command)
	}
	if len(c.Build) > 0 {
		ask.Build = c.Build
	}
	opt := a.opt
	opt.Reassociate = opt.Reassociate || tolerant(c.Target)
	advice := rules.Advisor{Options: opt}.Advise(ask)
	for _, r := range advice.Refusals {
		out.Notes = append(out.Notes, r.String())
	}
	advice.Proposals = advice.Together()
	out.Notes = append(out.Notes, byExperience(advice.Proposals, c.Past)...)
	for _, p := range advice.Proposals {
		if len(out.Proposals) == a.n {
			break
		}
		if tried(c, p.Edit) {
			continue
		}
		name := fmt.Sprintf("%s of %s:%d", p.Transformation, p.File, p.Line)
		for slices.ContainsFunc(out.Proposals, func(q Proposal) bool { return q.Name == name }) {
			name += "'"
		}
		out.Proposals = append(out.Proposals, Proposal{Name: name, Edits: []edit.Edit{p.Edit}, Notes: p.Assumes, Transformation: p.Transformation})
	}
	return out, nil
}

// byExperience puts first what is to be expected to gain most by the rules of
// thumb and by what was gained before, and says so.
func byExperience(ps []rules.Proposal, past *Recollected) (notes []string) {
	if past == nil || len(past.Gains) == 0 {
		return nil
	}
	expected := func(p rules.Proposal) float64 { return past.Gains[p.Transformation].Posterior(p.Gain) }
	slices.SortStableFunc(ps, func(a, b rules.Proposal) int { return cmp.Compare(expected(b), expected(a)) })
	said := map[string]bool{}
	for _, p := range ps {
		if g, ok := past.Gains[p.Transformation]; ok && !said[p.Transformation] {
			said[p.Transformation] = true
			notes = append(notes, fmt.Sprintf("history: %s was %.3g times as fast in %d attempts, weighed by how alike they are (%.3g in all); with the rule of thumb %.3g times are expected",
				p.Transformation, math.Exp(g.Log), g.N, g.Weight, math.Exp(expected(p))))
		}
	}
	return notes
}

// tried says that an edit need not be proposed again.
func tried(c Case, e edit.Edit) bool {
	done := c.Done
	if done == nil {
		for _, t := range c.Tried {
			done = append(done, t.Edits)
		}
	}
	for _, edits := range done {
		for _, was := range edits {
			if reflect.DeepEqual(was.Hunks, e.Hunks) {
				return true
			}
		}
	}
	return false
}

// tolerant says that no output is compared bit for bit.
func tolerant(t *target.Target) bool {
	for _, o := range t.Outputs {
		if o.Tolerance == nil {
			return false
		}
	}
	return true
}
