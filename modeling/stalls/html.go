package stalls

import (
	"fmt"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
)

// style has no colours of text or page: both are the front end's, dark or
// light. Heat is one hue of growing strength (Okabe and Ito's orange, which
// common kinds of colour blindness leave distinct from grey), and a number and
// a bar's length say the same again.
const style = `<style>
.rl-stalls{color:inherit;font-size:.95em;line-height:1.35}
.rl-stalls table{border-collapse:collapse;color:inherit;background:transparent;margin:.3em 0 1em;border:0}
.rl-stalls th,.rl-stalls td{padding:.05em .6em;text-align:left;vertical-align:top;border:0;background:transparent;color:inherit}
.rl-stalls thead th{border-bottom:1px solid rgba(128,128,128,.6);font-weight:600;white-space:nowrap}
.rl-stalls .n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.rl-stalls .src td{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92em}
.rl-stalls .src .t{white-space:pre-wrap;overflow-wrap:anywhere;min-width:24em;tab-size:4}
.rl-stalls .src .w{min-width:11em;font-family:inherit}
.rl-stalls .faint{opacity:.7}
.rl-stalls .bar{display:inline-block;height:.75em;background:#d55e00;vertical-align:baseline;min-width:1px}
.rl-stalls .track{display:inline-block;width:6em;white-space:nowrap}
.rl-stalls .src .track{width:4em}
.rl-stalls .box{overflow-x:auto}
.rl-stalls h3,.rl-stalls h4{margin:.8em 0 .2em;font-size:1.05em}
.rl-stalls abbr{text-decoration:underline dotted;text-underline-offset:.25em;cursor:help}
</style>`

// HTML is the kernel's stalls with the annotated source, as a part of a page
// that needs nothing else.
func (k *Kernel) HTML() string { return style + `<div class="rl-stalls">` + k.body() + `</div>` }

// Page is HTML as a page of its own, in the reader's dark or light.
func (k *Kernel) Page() string {
	return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Stalls of ` + display.Escape(k.Name) +
		`</title></head><body style="font-family:system-ui,sans-serif;margin:1.5em">` + k.HTML() + `</body></html>` + "\n"
}

// Display shows the kernel's stalls and its annotated source.
func (k *Kernel) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": k.String() + "\n\n" + strings.TrimSuffix(k.Listing(), "\n"), "text/html": k.HTML()}}
}

// Display shows the most stalled kernels.
func (a *Analysis) Display() display.Bundle {
	var b strings.Builder
	b.WriteString(style + `<div class="rl-stalls">`)
	if len(a.Kernels) == 0 {
		b.WriteString("no kernel has PC samples")
	}
	for i, k := range a.Kernels {
		switch {
		case i == 0:
			b.WriteString(k.body())
		case i < maxKernels:
			fmt.Fprintf(&b, `<details><summary>%s: %d stalled samples</summary>%s</details>`, display.Escape(k.Name), k.Stalled(), k.body())
		case i == maxKernels:
			fmt.Fprintf(&b, "<div>%s</div>", plural(int64(len(a.Kernels)-i), "more kernel"))
		}
	}
	for _, n := range a.Notes {
		b.WriteString("<div>Note: " + display.Escape(n) + "</div>")
	}
	b.WriteString("</div>")
	return display.Bundle{Data: map[string]any{"text/plain": a.String(), "text/html": b.String()}}
}

// reasonHTML is a reason with its meaning and remedy at hand.
func reasonHTML(name string) string {
	r, ok := LookUp(name)
	if !ok {
		return display.Escape(name)
	}
	return fmt.Sprintf(`<abbr title="%s">%s</abbr>`, display.Escape(r.Meaning+" "+r.Remedy), display.Escape(name))
}

func track(share, most float64) string {
	width := 0.0
	if most > 0 {
		width = 100 * min(share/most, 1)
	}
	if share <= 0 {
		return `<span class="track"></span>`
	}
	return fmt.Sprintf(`<span class="track"><span class="bar" style="width:%.1f%%"></span></span>`, width)
}

func (k *Kernel) body() string {
	e := display.Escape
	w := writer{ks: []*Kernel{k}, all: k.Stalled()}
	var b strings.Builder
	fmt.Fprintf(&b, `<h3 title="%s">%s</h3>`, e(k.Raw), e(w.header(0, k).forms[0]))
	k.table(&b, "Reason", len(k.Reasons), func(i int) (string, int64, string) {
		c := k.Reasons[i]
		what := ""
		if r, ok := LookUp(c.Reason); ok {
			what = e(r.Meaning)
		}
		if part(c.Samples, k.Stalled()) >= k.dominant {
			what = "<b>dominant</b> " + what
		}
		return reasonHTML(c.Reason), c.Samples, what
	})
	k.table(&b, "Type of instruction", min(len(k.Types), 12), func(i int) (string, int64, string) {
		t := k.Types[i]
		return e(string(t.Class)), t.Stalled(), `<span class="faint">` + e(shortList(t.Opcodes, 12)) + "</span>; " + k.whyHTML(t.Tally)
	})
	if len(k.Lines) > 0 {
		b.WriteString(`<div class="faint">Lines by file, with their part of the kernel's stalled samples: its bar and its colour are full for the most stalled line.</div>`)
	}
	for _, f := range k.blocks() {
		fmt.Fprintf(&b, `<h4>%s: %s of the stalls</h4><div class="box"><table class="src"><thead><tr><th class="n">stalled</th><th></th><th class="n">line</th><th>source</th><th>waits for</th></tr></thead><tbody>`,
			e(f.name()), percent(f.share))
		for _, r := range f.rows {
			k.row(&b, r)
		}
		b.WriteString("</tbody></table></div>")
	}
	if left := k.left(); left != "" {
		b.WriteString("<div>" + left + "</div>")
	}
	return b.String()
}

func (k *Kernel) table(b *strings.Builder, title string, n int, row func(i int) (name string, samples int64, note string)) {
	if n == 0 {
		return
	}
	fmt.Fprintf(b, `<div class="box"><table><thead><tr><th>%s</th><th class="n">stalled</th><th></th><th class="n">samples</th><th></th></tr></thead><tbody>`, title)
	_, most, _ := row(0)
	for i := range n {
		name, samples, note := row(i)
		fmt.Fprintf(b, `<tr><td style="white-space:nowrap">%s</td><td class="n">%s</td><td>%s</td><td class="n">%d</td><td>%s</td></tr>`, name, percent(part(samples, k.Stalled())),
			track(float64(samples), float64(most)), samples, note)
	}
	b.WriteString("</tbody></table></div>")
}

func (k *Kernel) row(b *strings.Builder, r shown) {
	if r.gap > 0 {
		fmt.Fprintf(b, `<tr class="faint"><td></td><td></td><td class="n">&#8942;</td><td>%s</td><td></td></tr>`, plural(r.gap, "line"))
		return
	}
	number := ""
	if r.number.Valid {
		number = fmt.Sprint(r.number.V)
	}
	text := display.Escape(strings.Map(func(c rune) rune {
		if c < ' ' && c != '\t' {
			return -1
		}
		return c
	}, r.text))
	if r.at == nil {
		fmt.Fprintf(b, `<tr><td></td><td></td><td class="n faint">%s</td><td class="t">%s</td><td></td></tr>`, number, text)
		return
	}
	heat := 0.0
	if most := k.hottest(); most > 0 {
		heat = r.at.Share / most
	}
	fmt.Fprintf(b, `<tr title="%d samples: %d issued, %d stalled; %d instructions"><td class="n">%s</td><td>%s</td><td class="n">%s</td><td class="t" style="background:rgba(230,159,0,%.2f)">%s</td><td class="w">%s</td></tr>`,
		r.at.Samples, r.at.Selected, r.at.Stalled(), r.at.Instructions, percent(r.at.Share), track(r.at.Share, k.hottest()), number, 0.4*heat, text, k.whyHTML(r.at.Tally))
}

func (k *Kernel) whyHTML(t Tally) string {
	cs := t.Dominant(k.dominant)
	if len(cs) == 0 && len(t.Reasons) > 0 && t.Reasons[0].Samples > 0 {
		cs = t.Reasons[:1]
	}
	var parts []string
	for _, c := range cs {
		parts = append(parts, fmt.Sprintf("%s&nbsp;%.0f&nbsp;%%", reasonHTML(c.Reason), 100*part(c.Samples, t.Stalled())))
	}
	return strings.Join(parts, ", ")
}

func plural(n int64, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}
