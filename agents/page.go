package agents

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// style takes text and page from the reader's dark or light. What is removed and
// added is told by its sign and by a bar of Okabe and Ito's colours.
const style = `<style>
.rl-opt{color:inherit;line-height:1.45;max-width:80em}
.rl-opt h2{font-size:1.35em;margin:.2em 0 .4em}
.rl-opt h3{font-size:1.1em;margin:1.2em 0 .4em}
.rl-opt .more{font-size:.93em;opacity:.85;white-space:pre-line}
.rl-opt .box{overflow-x:auto}
.rl-opt .beside{display:grid;grid-template-columns:minmax(14em,1fr) minmax(20em,2fr);gap:1em;margin:.6em 0;border-top:1px solid rgba(128,128,128,.35);padding-top:.5em}
.rl-opt pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.9em;margin:0;padding:.4em 0;background:rgba(128,128,128,.12);color:inherit;border-radius:3px;overflow-x:auto}
.rl-opt pre span{display:block;padding:0 .6em;border-left:.3em solid transparent;min-height:1.2em}
.rl-opt .minus{border-left-color:#d55e00;background:rgba(213,94,0,.16)}
.rl-opt .plus{border-left-color:#0072b2;background:rgba(0,114,178,.18)}
.rl-opt .head{opacity:.7}
.rl-opt .id{font-weight:700;font-family:ui-monospace,Menlo,Consolas,monospace;margin-right:.4em}
.rl-opt .item{border-left:.3em solid #e69f00;padding:.1em .7em;margin:.4em 0}
.rl-opt summary{cursor:pointer}
</style>`

// HTML is the report as a part of a page that needs nothing else.
func (r *Result) HTML() string {
	e := display.Escape
	var b strings.Builder
	b.WriteString(style + `<div class="rl-opt"><h2>` + e(r.Verdict()) + `</h2><div class="more">` + e(r.remarks()) + `</div>`)
	for _, c := range r.Candidates() {
		if c.Kept {
			fmt.Fprintf(&b, `<h3>Kept in round %d: %s, %.3g times as fast as before</h3>`, c.Round, e(c.Proposal.Name), c.Speedup())
			r.beside(&b, c)
		}
	}
	section := func(t tabular.Table) {
		if len(t.Rows) > 0 {
			title := t.Title
			t.Title = ""
			b.WriteString(`<h3>` + e(title) + `</h3><div class="box">` + t.HTML() + `</div>`)
		}
	}
	if len(r.Measurements)+len(r.Others) > 0 {
		section(r.sizesTable())
	}
	section(r.Metrics())
	section(r.Table())
	turned := tabular.Table{Title: "Why candidates were turned down", Columns: tabular.Columns("round", "<candidate", "<step", "<reason", "<what was found")}
	for _, c := range r.Candidates() {
		if j := c.Rejected; j != nil {
			turned.Add(fmt.Sprint(c.Round), c.Proposal.Name, string(j.Step), string(j.Reason), j.Detail)
		}
	}
	section(turned)
	if notes := r.notes(); len(notes) > 0 {
		b.WriteString(`<details><summary>Notes</summary><ul>`)
		for _, n := range notes {
			b.WriteString(`<li>` + e(n) + `</li>`)
		}
		b.WriteString(`</ul></details>`)
	}
	scores := r.Scores.Table()
	scores.Title = "Evidence-aligned reasoning"
	section(scores)
	for _, c := range r.Candidates() {
		if !c.Kept && c.Diff != "" {
			fmt.Fprintf(&b, `<details><summary>Round %d, %s: %s</summary>`, c.Round, e(c.Proposal.Name), e(string(c.Rejected.Reason)))
			r.beside(&b, c)
			b.WriteString(`</details>`)
		}
	}
	b.WriteString(`</div>`)
	return b.String()
}

// beside writes a candidate's diff beside the evidence that its edits cite.
func (r *Result) beside(b *strings.Builder, c *Candidate) {
	e := display.Escape
	b.WriteString(`<div class="beside"><div>`)
	report := r.Rounds[c.Round-1].Evidence.Report
	var shown []string
	for _, o := range c.Outcomes {
		if o.Rejected != nil {
			continue
		}
		if o.Edit.Why != "" {
			b.WriteString(`<div>` + e(o.Edit.Why) + `</div>`)
		}
		for _, id := range o.Edit.Evidence {
			if item, ok := report.Find(id); ok && !slices.Contains(shown, id) {
				shown = append(shown, id)
				b.WriteString(`<div class="item"><span class="id">` + e(id) + `</span>` + e(item.Statement) + `</div>`)
			}
		}
		for _, p := range o.Edit.Predictions {
			b.WriteString(`<div class="more">predicts: ` + e(p.Metric) + " " + e(string(p.Direction)) + e(r.cameTrue(c, p.Metric)) + `</div>`)
		}
	}
	b.WriteString(`</div><pre>`)
	for _, line := range strings.Split(strings.TrimRight(c.Diff, "\n"), "\n") {
		class := ""
		switch {
		case strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "@@"):
			class = ` class="head"`
		case strings.HasPrefix(line, "-"):
			class = ` class="minus"`
		case strings.HasPrefix(line, "+"):
			class = ` class="plus"`
		}
		b.WriteString(`<span` + class + `>` + e(line) + `</span>`)
	}
	b.WriteString(`</pre></div>`)
}

// cameTrue says what a metric was before and after a candidate.
func (r *Result) cameTrue(c *Candidate, metric string) string {
	k := c.case_(0, c.Outcomes[0], nil, r.Rounds[c.Round-1], r.Advisor)
	before, ok := k.Before[metric]
	now, ok2 := k.After[metric]
	if !ok || !ok2 {
		return " (not measured)"
	}
	return fmt.Sprintf(" (measured: from %.4g to %.4g)", before, now)
}

// sizesTable is a row for each size that the result was measured on.
func (r *Result) sizesTable() tabular.Table {
	t := tabular.Table{Title: "The result against the original, measured again", Columns: tabular.Columns("<size", "<verdict", "times as fast", "from", "to", "p", "repeats", "before", "after")}
	for i, m := range append(slices.Clone(r.Measurements), r.Others...) {
		size := m.Size
		if i >= len(r.Measurements) {
			size += " (not optimized for)"
		}
		if m.Failed != "" {
			t.Add(size, m.Failed)
			continue
		}
		t.Add(size, string(m.Verdict), fmt.Sprintf("%.3g", float64(m.Speedup)), fmt.Sprintf("%.3g", float64(m.Low)), fmt.Sprintf("%.3g", float64(m.High)),
			fmt.Sprintf("%.2g", float64(m.P)), fmt.Sprint(len(m.After)), tabular.Quantity(float64(m.BeforeMed), "s"), tabular.Quantity(float64(m.AfterMed), "s"))
	}
	return t
}

// Page is HTML as a page of its own, in the reader's dark or light.
func (r *Result) Page() string {
	return `<!doctype html><html lang="en"><meta charset="utf-8"><title>` + display.Escape(r.Target) + `: rooflab optimize</title>` +
		`<style>:root{color-scheme:light dark}body{font-family:system-ui,sans-serif;margin:1.5em;background:Canvas;color:CanvasText}</style>` + r.HTML() + `</html>`
}
