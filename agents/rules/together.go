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
	var joined []Proposal
	// Whether threads gain anything depends on what else the machine does.
	for _, threads := range []bool{false, true} {
		var all []Proposal
		for i, p := range a.Proposals {
			same := func(q Proposal) bool { return q.File == p.File && q.Function == p.Function }
			if !slices.ContainsFunc(a.Proposals[:i], same) {
				all = append(all, a.bundle(same, threads)...)
			}
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

// bundle is the best proposal of a function with those that go with it: cheaper
// operations, what the compiler is told and asked for; within threads, what is kept
// in registers and computed before a loop as well.
func (a Advice) bundle(of func(Proposal) bool, threads bool) []Proposal {
	var out []Proposal
	add := func(kinds ...string) {
		for _, p := range a.Proposals {
			if of(p) && slices.Contains(kinds, p.Transformation) && !slices.ContainsFunc(out, func(q Proposal) bool { return overlap(p, q) && !headed(p, q) && !headed(q, p) }) {
				out = append(out, p)
				return
			}
		}
	}
	var first []string
	for _, t := range Transformations {
		if t.Name != "flags" && t.Name != "restrict" && (threads || t.Name != "threads") {
			first = append(first, t.Name)
		}
	}
	add(first...)
	if len(out) > 0 && out[0].Transformation == "threads" {
		add("scalar-replacement")
		add("hoisting")
	}
	if len(out) > 0 && out[0].Transformation != "strength-reduction" {
		add("strength-reduction")
	}
	add("restrict")
	add("flags")
	return out
}

// headed reports whether a proposal only puts flags before the lines that another
// one begins with, so that both can be done. A pragma belongs to the very loop
// that stood there.
func headed(p, q Proposal) bool {
	if len(p.Edit.Hunks) != 1 || p.Transformation != "flags" {
		return false
	}
	h := p.Edit.Hunks[0]
	n := len(h.Replace) - len(h.Search)
	return n > 0 && slices.Equal(h.Replace[n:], h.Search) && slices.ContainsFunc(q.Edit.Hunks, func(k edit.Hunk) bool {
		return k.File == h.File && k.At == h.At && len(k.Search) >= len(h.Search)
	})
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
		out.Edit.Hunks = joinHunks(out.Edit.Hunks, p.Edit.Hunks)
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

// joinHunks adds changes to others. One that only puts lines before those that
// another one changes becomes a part of it.
func joinHunks(to, more []edit.Hunk) []edit.Hunk {
	out := slices.Clone(to)
	for _, h := range more {
		i := slices.IndexFunc(out, func(k edit.Hunk) bool { return k.File == h.File && k.At == h.At })
		if i < 0 {
			out = append(out, h)
			continue
		}
		head, body := h, out[i]
		if n := len(head.Replace) - len(head.Search); n < 1 || !slices.Equal(head.Replace[n:], head.Search) {
			head, body = body, head
		}
		n := len(head.Replace) - len(head.Search)
		body.Replace = slices.Concat(head.Replace[:n], body.Replace)
		out[i] = body
	}
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
