package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/align"
	scores "github.com/rooflab/rooflab/agents/align/chart"
	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// style takes text and page from the reader's dark or light; pictures bring
// their own white ground.
const style = `<style>
.rl-opt{color:inherit;line-height:1.45;max-width:85em}
.rl-opt h2{font-size:1.35em;margin:.2em 0 .4em}
.rl-opt h3{font-size:1.1em;margin:1.3em 0 .4em}
.rl-opt .more{font-size:.93em;opacity:.85;white-space:pre-line;overflow-wrap:anywhere}
.rl-opt span.more{white-space:normal}
.rl-opt .box{overflow-x:auto}
.rl-opt details{margin:.5em 0}
.rl-opt summary{cursor:pointer}
.rl-opt summary:focus-visible{outline:2px solid #0072b2;outline-offset:2px}
.rl-opt .picture{background:#fff;color:#000;padding:.4em;border-radius:4px;display:inline-block;max-width:100%;box-sizing:border-box;overflow-x:auto}
.rl-opt .picture img{max-width:100%;height:auto;display:block}
.rl-opt table.steps{border-collapse:collapse;color:inherit;background:transparent;margin:.3em 0;border:0}
.rl-opt table.steps th,.rl-opt table.steps td{padding:.15em .8em;text-align:left;vertical-align:top;border:0;border-bottom:1px solid rgba(128,128,128,.3);background:transparent;color:inherit;white-space:normal}
.rl-opt table.steps .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.rl-opt table.steps .state{white-space:nowrap}
.rl-opt table.steps tr td:first-child{border-left:.3em solid transparent}
.rl-opt table.steps .running td:first-child{border-left-color:#e69f00}
.rl-opt table.steps .kept td:first-child{border-left-color:#0072b2}
.rl-opt table.steps .turned-down td:first-child,.rl-opt table.steps .stopped td:first-child{border-left-color:#d55e00}
</style>`

// HTML is the report as a part of a page that needs nothing else.
func (r *Result) HTML() string {
	e := display.Escape
	var b strings.Builder
	b.WriteString(style + review.Style + `<div class="rl-opt rl-review"><h2>` + e(r.Verdict()) + `</h2><div class="more">` + e(r.remarks()) + `</div>`)
	section := func(t tabular.Table) {
		if len(t.Rows)+len(t.Notes) > 0 {
			title := t.Title
			t.Title = ""
			b.WriteString(`<h3>` + e(title) + `</h3><div class="box">` + t.HTML() + `</div>`)
		}
	}
	if len(r.Measurements)+len(r.Others) > 0 {
		section(r.sizesTable())
	}
	section(r.FrontTable())
	if len(r.choices()) > 0 {
		section(r.Review().Table())
	}
	b.WriteString(r.pictures())
	if len(r.Candidates()) > 0 {
		b.WriteString(`<h3>Candidates, with the evidence that they cite</h3>`)
	}
	for _, c := range r.Candidates() {
		r.candidateHTML(&b, c)
	}
	r.scoresHTML(&b)
	section(r.Judged.Table())
	fold := func(t tabular.Table) {
		if len(t.Rows) > 0 {
			title := t.Title
			t.Title = ""
			b.WriteString(`<details><summary>` + e(title) + `</summary><div class="box">` + t.HTML() + `</div></details>`)
		}
	}
	fold(r.Metrics())
	fold(r.Table())
	fold(r.recalled())
	if notes := r.notes(); len(notes) > 0 {
		b.WriteString(`<details><summary>Notes</summary><ul>`)
		for _, n := range notes {
			b.WriteString(`<li>` + e(n) + `</li>`)
		}
		b.WriteString(`</ul></details>`)
	}
	b.WriteString(`</div>`)
	return review.Visible(b.String())
}

// Display shows the report.
func (r *Result) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": r.String(), "text/html": r.HTML()}, Metadata: map[string]any{}}
}

// heading says in a line what came of a candidate.
func (r *Result) heading(c *Candidate) string {
	s := r.Name(c) + " " + c.Proposal.Name + ": "
	switch {
	case c.Kept:
		s += fmt.Sprintf("kept, %.3g times as fast as what it began with", c.Speedup())
	case c.Rejected != nil:
		s += fmt.Sprintf("turned down by %s (%s)", c.Rejected.Step, c.Rejected.Reason)
	default:
		s += fmt.Sprintf("not gone on with, %.3g times as fast as what it began with", c.Speedup())
	}
	if d := r.decided(c); d != "" {
		s += "; " + d
	}
	return s
}

// candidateHTML writes a candidate: its diff with the evidence beside each hunk,
// open where it was kept, and where it was turned down, why.
func (r *Result) candidateHTML(b *strings.Builder, c *Candidate) {
	e := display.Escape
	open := ""
	if c.Kept {
		open = " open"
	}
	fmt.Fprintf(b, `<details%s><summary>%s</summary>`, open, e(r.heading(c)))
	if c.Rejected != nil {
		b.WriteString(`<div class="more">` + e(c.Rejected.Detail) + `</div>`)
	}
	for _, m := range c.Measurements {
		b.WriteString(`<div class="more">` + e(m.String()) + `</div>`)
	}
	if p := c.Predicted; p.known() {
		fmt.Fprintf(b, `<div class="more">before it was measured, %s took it to be %.3g times as fast (%.3g to %.3g)</div>`, e(p.Judge), float64(p.Speedup), float64(p.Low), float64(p.High))
	}
	for _, n := range c.Proposal.Notes {
		b.WriteString(`<div class="more">` + e(n) + `</div>`)
	}
	hunks, err := r.Hunks(c)
	if err != nil {
		b.WriteString(`<div class="more">` + e(err.Error()) + `</div>`)
	}
	review.HTML(b, hunks)
	review.Problems(b, c.Proposal.Problems)
	for i, t := range c.Repairs {
		fmt.Fprintf(b, `<div class="more">try %d did not build: %s</div>`, i+1, e(t.Failed))
	}
	review.Answer(b, c.Proposal.Text)
	b.WriteString(`</details>`)
}

// Hunks are the changes of a candidate, each with the edits that made it, the
// evidence that they cite, and what became of their predictions; those of edits
// that were not taken are as they were proposed.
func (r *Result) Hunks(c *Candidate) (review.Hunks, error) {
	ev := review.Evidence{}
	if c.Round > 0 && c.Round <= len(r.Rounds) {
		ev = r.evidenceOf(c, r.Rounds[c.Round-1].Evidence, c.Measurements)
	}
	hunks, err := review.Parse(c.Diff)
	if c.Diff == "" {
		hunks, err = nil, nil
	}
	review.Annotate(hunks, c.Outcomes, ev)
	for i, o := range c.Outcomes {
		if o.Rejected != nil || len(hunks) == 0 && c.Diff == "" {
			hunks = append(hunks, review.Proposed(i+1, o, ev)...)
		}
	}
	if err != nil {
		err = fmt.Errorf("the diff of %s: %w", r.Name(c), err)
	}
	return hunks, err
}

// scoresHTML writes the scores: of the backend and by round, each edit, and as a
// picture.
func (r *Result) scoresHTML(b *strings.Builder) {
	if len(r.Scores) == 0 {
		return
	}
	e := display.Escape
	b.WriteString(`<h3>Evidence-aligned reasoning</h3>`)
	p, err := scores.Plot(r.Scores)
	if err == nil {
		err = picture(b, p, scores.Width, scores.Height, r.Scores.ByBackend().String())
	}
	if err != nil {
		b.WriteString(`<div class="more">` + e(err.Error()) + `</div>`)
	}
	table := func(t tabular.Table) {
		t.Title = ""
		b.WriteString(`<div class="box">` + t.HTML() + `</div>`)
	}
	table(r.Scores.ByBackend().Table())
	b.WriteString(`<details><summary>By round, and of each edit</summary>`)
	table(r.Scores.ByRun().Table())
	table(r.Scores.Table())
	b.WriteString(`</details>`)
}

// ScoresOf are the scores of several runs, each run named by its target and
// backend, to be summarised and drawn together (align.Scores, align/chart).
func ScoresOf(results ...*Result) align.Scores {
	var out align.Scores
	seen := map[string]int{}
	for _, r := range results {
		name := r.Target
		if seen[r.Target+" "+r.Advisor]++; seen[r.Target+" "+r.Advisor] > 1 {
			name += fmt.Sprintf(" (%d)", seen[r.Target+" "+r.Advisor])
		}
		for _, s := range r.Scores {
			s.Run = name
			out = append(out, s)
		}
	}
	return out
}

// recalled are the attempts of other runs that the adviser was told of.
func (r *Result) recalled() tabular.Table {
	t := tabular.Table{Title: "What was told of other runs", Columns: tabular.Columns("round", "<attempt", "<what came of it")}
	for _, round := range r.Rounds {
		if round.Past == nil {
			continue
		}
		for _, x := range round.Past.Examples {
			t.Add(fmt.Sprint(round.N), x.Title, x.Outcome)
		}
	}
	return t
}

// sizesTable is a row for each size that the result was measured on.
func (r *Result) sizesTable() tabular.Table {
	t := tabular.Table{Title: "The result against the original, measured again", Columns: tabular.Columns("<size", "<verdict", "before", "after", "times as fast", "from", "to", "p", "repeats")}
	for i, m := range append(slices.Clone(r.Measurements), r.Others...) {
		size := m.Size
		if i >= len(r.Measurements) {
			size += " (not optimized for)"
		}
		if m.Failed != "" {
			t.Add(size, m.Failed)
			continue
		}
		t.Add(size, string(m.Verdict), tabular.Quantity(float64(m.BeforeMed), "s"), tabular.Quantity(float64(m.AfterMed), "s"), fmt.Sprintf("%.3g", float64(m.Speedup)),
			fmt.Sprintf("%.3g", float64(m.Low)), fmt.Sprintf("%.3g", float64(m.High)), fmt.Sprintf("%.2g", float64(m.P)), fmt.Sprint(len(m.After)))
	}
	for _, m := range r.Measurements {
		if m.Failed == "" {
			t.Note("times are medians of the repeats, which take turns; from and to are the interval of the ratio at %g %%", 100*m.Level)
			break
		}
	}
	return t
}

// Page is HTML as a page of its own, in the reader's dark or light.
func (r *Result) Page() string {
	return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>` + review.Visible(display.Escape(r.Target)) + `: rooflab optimize</title>` +
		`<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:1.5em;background:Canvas;color:CanvasText}</style>` + r.HTML() + `</html>`
}
