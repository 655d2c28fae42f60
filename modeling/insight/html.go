package insight

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
)

// style takes text and page from the reader's dark or light; pictures bring
// their own white ground. Verdicts are told by a word and a bar of Okabe and
// Ito's colours.
const style = `<style>
.rl-insight{color:inherit;line-height:1.45;max-width:70em}
.rl-insight h2{font-size:1.35em;margin:.2em 0 .4em}
.rl-insight h3{font-size:1.1em;margin:1.2em 0 .4em}
.rl-insight table{border-collapse:collapse;color:inherit;background:transparent;margin:.5em 0 1em;border:0}
.rl-insight th,.rl-insight td{padding:.2em .8em;text-align:left;vertical-align:top;border:0;border-bottom:1px solid rgba(128,128,128,.35);background:transparent;color:inherit}
.rl-insight td:first-child{overflow-wrap:anywhere}
.rl-insight .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.rl-insight .item{border-left:.3em solid rgba(128,128,128,.5);padding:.1em .8em;margin:.7em 0}
.rl-insight .problem{border-left-color:#d55e00}
.rl-insight .fine{border-left-color:#009e73}
.rl-insight .fact{border-left-color:#0072b2}
.rl-insight .id{font-weight:700;font-family:ui-monospace,Menlo,Consolas,monospace;margin-right:.4em}
.rl-insight .more{font-size:.93em;opacity:.85}
.rl-insight .box{overflow-x:auto}
.rl-insight ul{margin:.2em 0 .2em 1.2em;padding:0}
.rl-insight details{font-size:.88em;opacity:.85}
.rl-insight summary{cursor:pointer}
.rl-insight pre,.rl-insight code{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.95em;background:rgba(128,128,128,.14);color:inherit;border-radius:3px}
.rl-insight pre{padding:.5em;white-space:pre-wrap;overflow-wrap:anywhere}
.rl-insight code{padding:0 .25em;overflow-wrap:anywhere}
.rl-insight .picture{background:#fff;color:#000;padding:.4em;border-radius:4px;display:inline-block;max-width:100%;overflow-x:auto}
.rl-insight .picture svg{max-width:100%;height:auto}
</style>`

// HTML is the report as a part of a page that needs nothing else.
func (r *Report) HTML() string {
	e := display.Escape
	var b strings.Builder
	b.WriteString(style + `<div class="rl-insight"><h2>Insight: ` + e(r.subject()) + `</h2>`)
	for _, n := range r.Notes {
		b.WriteString(`<div class="more">` + e(n) + `</div>`)
	}
	if len(r.Kernels) > 0 {
		heads, rows := r.table()
		row := func(tag string, cells []string) {
			b.WriteString("<tr>")
			for i, c := range cells {
				class := ""
				if i >= 2 && i <= 4 {
					class = ` class="n"`
				}
				fmt.Fprintf(&b, "<%s%s>%s</%s>", tag, class, e(c), tag)
			}
			b.WriteString("</tr>")
		}
		b.WriteString(`<div class="box"><table><thead>`)
		row("th", heads)
		b.WriteString("</thead><tbody>")
		for _, c := range rows {
			row("td", c)
		}
		b.WriteString("</tbody></table></div>")
	}
	for _, p := range r.pictures {
		if p.svg != "" {
			b.WriteString(`<h3>` + e(p.title) + `</h3><div class="picture">` + p.svg + `</div>`)
		}
	}
	for _, s := range r.sections() {
		b.WriteString(`<h3>` + e(s.title) + `</h3>`)
		for _, i := range s.items {
			i.html(&b)
		}
	}
	if len(r.Missing) > 0 {
		b.WriteString(`<h3>What is not known</h3><ul>`)
		for _, m := range r.Missing {
			b.WriteString(`<li>` + e(m.Analysis) + ": " + e(m.What))
			if m.Command != "" {
				b.WriteString(`; collect it with <code>` + e(m.Command) + `</code>`)
			}
			b.WriteString(`</li>`)
		}
		b.WriteString(`</ul>`)
	}
	for _, p := range r.pictures {
		if p.html != "" {
			b.WriteString(`<h3>` + e(p.title) + `</h3>` + p.html)
		}
	}
	b.WriteString(`<h3>Where it comes from</h3><ul>`)
	for _, run := range r.Runs {
		for _, a := range run.Artefacts {
			size := ""
			if a.Bytes > 0 { // what a collector measured is no file
				size = fmt.Sprintf(", %d bytes", a.Bytes)
			}
			fmt.Fprintf(&b, `<li>run %d (%s), %s: <code>%s</code>%s, sha256 <code>%s</code></li>`, run.ID, e(run.Role), e(run.Tool), e(a.Path), size, e(a.SHA256))
		}
	}
	fmt.Fprintf(&b, `</ul><div class="more">rooflab %s, report version %d, store <code>%s</code></div></div>`, e(r.Rooflab), r.Version, e(r.Store))
	return b.String()
}

func (i Item) html(b *strings.Builder) {
	e := display.Escape
	fmt.Fprintf(b, `<div class="item %s" id="%s"><span class="id">%s</span>%s`, e(string(i.Verdict)), e(i.ID), e(i.ID), e(i.Statement))
	if at := i.place(); at != "" {
		fmt.Fprintf(b, `<div class="more">at <code title="%s">%s</code></div>`, e(i.Location.String()), e(at))
	}
	if i.Estimate != "" {
		b.WriteString(`<div class="more">Estimate: ` + e(i.Estimate) + `.</div>`)
	}
	if i.Verdict != Fine && i.Meaning != "" {
		b.WriteString(`<div class="more">` + e(i.Meaning) + `</div>`)
	}
	if i.Verdict == Problem && len(i.Remedies) > 0 {
		b.WriteString(`<ul class="more">`)
		for _, r := range i.Remedies {
			b.WriteString(`<li>` + e(r) + `</li>`)
		}
		b.WriteString(`</ul>`)
	}
	b.WriteString(`<details><summary>` + e(i.Metric) + ` = ` + e(strings.TrimSpace(fmt.Sprintf("%.6g %s", i.Value, i.Unit))))
	if ref := i.Reference; ref != nil {
		fmt.Fprintf(b, `; %s %.4g`, e(ref.What), ref.Value)
	}
	b.WriteString(`</summary>`)
	if i.Formula != "" {
		b.WriteString(`<div>formula: <code>` + e(i.Formula) + `</code></div>`)
	}
	if i.Reference != nil && i.Reference.From != "" {
		b.WriteString(`<div>threshold: ` + e(i.Reference.From) + `</div>`)
	}
	b.WriteString(`<div>source: ` + e(i.cite()) + `</div><pre>` + e(printable(i.Query)) + `</pre></details></div>`)
}

// Page is HTML as a page of its own, in the reader's dark or light.
func (r *Report) Page() string {
	return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width"><title>Insight: ` +
		display.Escape(r.subject()) + `</title></head><body style="font-family:system-ui,sans-serif;margin:1.5em">` + r.HTML() + `</body></html>` + "\n"
}

// Display shows the report.
func (r *Report) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": r.String(), "text/html": r.HTML(), "text/markdown": r.Markdown()}}
}

// Display shows the item as the report does.
func (i Item) Display() display.Bundle {
	var b strings.Builder
	b.WriteString(style + `<div class="rl-insight">`)
	i.html(&b)
	b.WriteString(`</div>`)
	return display.Bundle{Data: map[string]any{"text/plain": i.String(), "text/html": b.String()}}
}
