package rules

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
)

// Together is the proposals with others that join some of them, which may be done
// at once: what is changed in one function does not matter to another, and what
// the compiler is asked for by flags not to what the text says. One joins the best
// of each function and flags, the others those of one transformation.
func (a Advice) Together() []Proposal {
	first := func(ps []Proposal, of func(Proposal) bool) (out []Proposal) {
		for _, p := range a.Proposals {
			if of(p) && !slices.ContainsFunc(ps, func(q Proposal) bool { return overlap(p, q) }) {
				return []Proposal{p}
			}
		}
		return nil
	}
	var joined []Proposal
	// Whether threads gain anything depends on what else the machine does.
	for _, threads := range []bool{false, true} {
		var all []Proposal
		for i, p := range a.Proposals {
			same := func(q Proposal) bool { return q.File == p.File && q.Function == p.Function }
			if slices.ContainsFunc(a.Proposals[:i], same) {
				continue
			}
			best := first(nil, func(q Proposal) bool { return same(q) && q.Transformation != "flags" && (threads || q.Transformation != "threads") })
			all = append(all, append(best, first(best, func(q Proposal) bool { return same(q) && q.Transformation == "flags" })...)...)
		}
		if len(all) > 1 {
			p := joinOf(all, "what promises most")
			if !slices.ContainsFunc(joined, func(q Proposal) bool { return reflect.DeepEqual(p.Edit.Hunks, q.Edit.Hunks) }) {
				joined = append(joined, p)
			}
		}
	}
	for _, t := range Transformations {
		var of []Proposal
		functions := map[string]bool{}
		for _, p := range a.Proposals {
			if p.Transformation == t.Name && !slices.ContainsFunc(of, func(q Proposal) bool {
				return q.File == p.File && q.Function == p.Function && (t.Name != "vectorisation" || overlap(p, q))
			}) {
				of = append(of, p)
				functions[p.File+" "+p.Function] = true
			}
		}
		if len(functions) > 1 {
			joined = append(joined, joinOf(of, t.Title))
		}
	}
	out := append(joined, a.Proposals...)
	slices.SortStableFunc(out, func(x, y Proposal) int { return cmp.Compare(y.Gain, x.Gain) })
	return out
}

func joinOf(ps []Proposal, why string) Proposal {
	out := Proposal{Transformation: ps[0].Transformation, File: ps[0].File, Line: ps[0].Line}
	var names, parts, kinds []string
	for _, p := range ps {
		if !slices.Contains(kinds, p.Transformation) {
			kinds = append(kinds, p.Transformation)
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
	out.Function, out.Transformation = strings.Join(names, ", "), strings.Join(kinds, "+")
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
