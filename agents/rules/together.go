package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
)

// Together is the proposals with others that join those of several functions: what
// is changed in one function does not matter to another, so that all may be done
// at once. One joins the best of each function, the others those of one
// transformation.
func (a Advice) Together() []Proposal {
	best := func(name string, of func(Proposal) bool) []Proposal {
		var out []Proposal
		for _, p := range a.Proposals {
			if of(p) && !slices.ContainsFunc(out, func(q Proposal) bool {
				return q.File == p.File && q.Function == p.Function && (name != "vectorisation" || overlap(p, q))
			}) {
				out = append(out, p)
			}
		}
		return out
	}
	joined := []Proposal{}
	join := func(ps []Proposal, why string) {
		functions := map[string]bool{}
		for _, p := range ps {
			functions[p.File+" "+p.Function] = true
		}
		if len(functions) < 2 {
			return
		}
		joined = append(joined, joinOf(ps, why))
	}
	join(best("", func(p Proposal) bool { return p.Transformation != "flags" }), "what promises most in each function")
	for _, t := range Transformations {
		join(best(t.Name, func(p Proposal) bool { return p.Transformation == t.Name }), t.Title)
	}
	out := append(joined, a.Proposals...)
	slices.SortStableFunc(out, func(x, y Proposal) int { return cmp.Compare(y.Gain, x.Gain) })
	return out
}

func joinOf(ps []Proposal, why string) Proposal {
	out := Proposal{Transformation: ps[0].Transformation, File: ps[0].File, Line: ps[0].Line}
	var names, parts []string
	for _, p := range ps {
		if p.Transformation != out.Transformation {
			out.Transformation = All
		}
		if !slices.Contains(names, p.Function) {
			names = append(names, p.Function)
		}
		parts = append(parts, fmt.Sprintf("%s of %s:%d", p.Transformation, p.File, p.Line))
		out.Gain = min(0.99, out.Gain+p.Gain)
		out.Edit.Hunks = append(out.Edit.Hunks, p.Edit.Hunks...)
		for _, id := range p.Edit.Evidence {
			if !slices.Contains(out.Edit.Evidence, id) {
				out.Edit.Evidence = append(out.Edit.Evidence, id)
			}
		}
		for _, pr := range p.Edit.Predictions {
			if len(out.Edit.Predictions) < 6 && !slices.ContainsFunc(out.Edit.Predictions, func(q edit.Prediction) bool { return q.Metric == pr.Metric }) {
				out.Edit.Predictions = append(out.Edit.Predictions, pr)
			}
		}
		for _, s := range p.Assumes {
			if !slices.Contains(out.Assumes, s) {
				out.Assumes = append(out.Assumes, s)
			}
		}
	}
	out.Function = strings.Join(names, ", ")
	out.Edit.Why = why + ": " + strings.Join(parts, ", ")
	return out
}

// overlap reports whether two proposals want the same lines.
func overlap(p, q Proposal) bool {
	for _, a := range p.Edit.Hunks {
		for _, b := range q.Edit.Hunks {
			if a.File == b.File && a.At < b.At+max(1, len(b.Search)) && b.At < a.At+max(1, len(a.Search)) {
				return true
			}
		}
	}
	return false
}
