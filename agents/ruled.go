package agents

import (
	"context"
	"fmt"
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
	ask := rules.Case{Sources: c.Sources, Evidence: c.Report.Items}
	for _, command := range c.Target.Build.Commands {
		ask.Build = append(ask.Build, command)
	}
	opt := a.opt
	opt.Reassociate = opt.Reassociate || tolerant(c.Target)
	advice := rules.Advisor{Options: opt}.Advise(ask)
	for _, r := range advice.Refusals {
		out.Notes = append(out.Notes, r.String())
	}
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
		out.Proposals = append(out.Proposals, Proposal{Name: name, Edits: []edit.Edit{p.Edit}, Notes: p.Assumes})
	}
	return out, nil
}

// tried says that an edit was a candidate before.
func tried(c Case, e edit.Edit) bool {
	for _, t := range c.Tried {
		for _, was := range t.Edits {
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
