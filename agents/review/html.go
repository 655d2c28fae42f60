package review

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Style is the style sheet of what HTML writes, to stand once before it, within
// an element of the class rl-review. It takes text and page from the reader's
// dark or light; what is removed and added is told by its sign and by a bar of
// Okabe and Ito's colours, and so is what became of a prediction.
const Style = `<style>
.rl-review{color:inherit;line-height:1.45}
.rl-review .hunk{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,28em),1fr));gap:.4em 1.2em;margin:.7em 0;border-top:1px solid rgba(128,128,128,.4);padding-top:.4em}
.rl-review .where{grid-column:1/-1;font-size:.93em;opacity:.85}
.rl-review .code{overflow-x:auto;max-height:40em;overflow-y:auto;border-radius:3px;background:rgba(128,128,128,.1);align-self:start}
.rl-review .code:focus-visible,.rl-review summary:focus-visible{outline:2px solid #0072b2;outline-offset:2px}
.rl-review pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.88em;line-height:1.4;margin:0;padding:.3em 0;background:transparent;color:inherit;white-space:pre;width:max-content;min-width:100%}
.rl-review pre ins,.rl-review pre del,.rl-review pre span.same{display:block;text-decoration:none;color:inherit;background:transparent;border-left:.3em solid transparent;padding-right:.6em}
.rl-review pre del{border-left-color:#d55e00;background:rgba(213,94,0,.17)}
.rl-review pre ins{border-left-color:#0072b2;background:rgba(0,114,178,.2)}
.rl-review pre .no{display:inline-block;min-width:2.8em;padding-right:.5em;text-align:right;opacity:.55;user-select:none}
.rl-review .id{font-weight:700;font-family:ui-monospace,Menlo,Consolas,monospace;margin-right:.4em}
.rl-review .item{border-left:.3em solid rgba(128,128,128,.5);padding:.1em .7em;margin:.4em 0}
.rl-review .here{border-left-color:#e69f00}
.rl-review .unknown{border-left-color:#cc79a7;border-left-style:double}
.rl-review .more{font-size:.93em;opacity:.85;overflow-wrap:anywhere}
.rl-review .fate{margin:.25em 0;font-size:.93em;overflow-wrap:anywhere}
.rl-review details{margin:.5em 0}
.rl-review summary{cursor:pointer}
.rl-review .answer{white-space:pre-wrap;overflow-wrap:anywhere;max-height:24em;overflow-y:auto;padding:.4em .6em;width:auto}
</style>`

// Bounds of what is shown, so that a page stays one that a browser can show.
const (
	maxLines = 400 // of a hunk
	maxText  = 400 // characters of a line
	maxShown = 20000
)

// HTML writes hunks with their evidence beside them.
func HTML(b *strings.Builder, hunks []Hunk) {
	for _, h := range hunks {
		h.html(b)
	}
}

// Display shows the hunks.
func (hs Hunks) Display() display.Bundle {
	var b strings.Builder
	b.WriteString(Style + `<div class="rl-review">`)
	HTML(&b, hs)
	b.WriteString(`</div>`)
	return display.Bundle{Data: map[string]any{"text/plain": hs.String(), "text/html": b.String()}}
}

// String is the hunks as text, each with what its edits cite and predict.
func (hs Hunks) String() string {
	var b strings.Builder
	for _, h := range hs {
		fmt.Fprintf(&b, "%s, lines %s before, %s after\n", cut(h.File, maxText), h.Old, h.New)
		for i, l := range h.Lines {
			if i == maxLines {
				fmt.Fprintf(&b, "%d more lines\n", len(h.Lines)-i)
				break
			}
			fmt.Fprintf(&b, "%c%s\n", l.Kind, cut(l.Text, maxText))
		}
		for _, n := range h.Edits {
			if n.Rejected != nil {
				b.WriteString("  " + cut(n.Rejected.Error(), maxText) + "\n")
			}
			for _, c := range n.Cites {
				said := "made up: the evidence has no item of this id"
				if c.Item != nil {
					said = c.Item.Statement
				}
				fmt.Fprintf(&b, "  [%s] %s\n", cut(c.ID, maxText), cut(said, maxText))
			}
			for _, p := range n.Predicts {
				b.WriteString("  " + cut(p.String(), maxText) + "\n")
			}
		}
	}
	return b.String()
}

func (h *Hunk) html(b *strings.Builder) {
	where := line(h.File)
	if h.Old.Start > 0 {
		where += fmt.Sprintf(", lines %s before, %s after", h.Old, h.New)
	} else {
		where += ", as proposed"
	}
	fmt.Fprintf(b, `<div class="hunk"><div class="where">%s</div><div class="code" tabindex="0" role="region" aria-label="Changes of %s"><pre>`, where, where)
	for i, l := range h.Lines {
		if i == maxLines {
			fmt.Fprintf(b, `<span class="same">%d more lines</span>`, len(h.Lines)-i)
			break
		}
		tag, sign := `span class="same"`, "&nbsp;"
		switch l.Kind {
		case '-':
			tag, sign = "del", "-"
		case '+':
			tag, sign = "ins", "+"
		}
		fmt.Fprintf(b, `<%s>`, tag)
		if h.Old.Start > 0 {
			fmt.Fprintf(b, `<span class="no">%s</span><span class="no">%s</span>`, number(l.Old), number(l.New))
		}
		end, _, _ := strings.Cut(tag, " ")
		fmt.Fprintf(b, `%s %s</%s>`, sign, line(l.Text), end)
	}
	b.WriteString(`</pre></div><div class="notes">`)
	for _, n := range h.Edits {
		n.html(b)
	}
	b.WriteString(`</div></div>`)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func (n Note) html(b *strings.Builder) {
	if n.Why != "" && !n.Above {
		b.WriteString(`<div>` + text(n.Why) + `</div>`)
	}
	if n.Rejected != nil {
		b.WriteString(`<div class="fate">✗ ` + text(n.Rejected.Error()) + `</div>`)
	}
	var above []string
	for _, c := range n.Cites {
		if c.Above {
			above = append(above, c.ID)
			continue
		}
		c.html(b)
	}
	if len(above) > 0 {
		b.WriteString(`<div class="more">cites ` + text(strings.Join(above, ", ")) + `, as above</div>`)
	}
	if n.Above {
		return
	}
	if len(n.Cites) == 0 {
		b.WriteString(`<div class="more">cites no evidence</div>`)
	}
	for _, p := range n.Predicts {
		b.WriteString(`<div class="fate">` + text(p.String()) + `</div>`)
	}
	if len(n.Predicts) == 0 {
		b.WriteString(`<div class="more">predicts nothing</div>`)
	}
}

func (c Cite) html(b *strings.Builder) {
	class := ""
	switch {
	case c.Item == nil || !c.Supplied:
		class = " unknown"
	case c.Here:
		class = " here"
	}
	fmt.Fprintf(b, `<div class="item%s"><span class="id">%s</span>`, class, line(c.ID))
	switch {
	case c.Item == nil:
		b.WriteString(`made up: the evidence has no item of this id</div>`)
		return
	case !c.Supplied:
		b.WriteString(`not among what was shown to whoever proposed it: `)
	}
	i := c.Item
	b.WriteString(text(i.Statement))
	b.WriteString(`<div class="more">` + text(i.Metric) + ` = ` + text(tabular.Quantity(i.Value, i.Unit)))
	if i.Location != nil {
		if at := i.Location.String(); at != "" {
			b.WriteString(`, at ` + text(at))
			if c.Here {
				b.WriteString(` (these lines)`)
			}
		}
	}
	if i.Estimate != "" {
		b.WriteString(`; an estimate: ` + text(i.Estimate))
	}
	b.WriteString(`</div></div>`)
}

// String says the prediction and what became of it.
func (p Prediction) String() string {
	s := fmt.Sprintf("predicts %s %s: ", p.Metric, p.Direction)
	switch p.Fate {
	case True:
		s = "✓ " + s + string(p.Fate)
	case False:
		s = "✗ " + s + string(p.Fate)
	default:
		return "? " + s + string(p.Fate)
	}
	s += fmt.Sprintf(", from %.4g to %.4g", p.Before, p.After)
	if r := p.After / p.Before; !math.IsNaN(r) && !math.IsInf(r, 0) {
		s += fmt.Sprintf(" (x %.3g)", r)
	}
	return s
}

// Answer writes the text of an answer, to be opened.
func Answer(b *strings.Builder, answer string) {
	if answer == "" {
		return
	}
	fmt.Fprintf(b, `<details><summary>The answer, as it was given</summary><div class="code" tabindex="0" role="region" aria-label="The answer"><pre class="answer">%s</pre></div></details>`,
		text(answer))
}

// Problems writes the parts of an answer that were meant as edits and are none.
func Problems(b *strings.Builder, ps []edit.Rejection) {
	for _, p := range ps {
		b.WriteString(`<div class="fate">✗ ` + text(p.Error()) + `</div>`)
	}
}

// text is a text as a page has it, within bounds; line is a short one.
func text(s string) string { return display.Escape(cut(s, maxShown)) }
func line(s string) string { return display.Escape(cut(s, maxText)) }

// cut shortens a text to so many characters and says so; what is no UTF-8 is
// replaced.
func cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= most {
		return Visible(s)
	}
	r := []rune(s)
	return Visible(string(r[:most])) + fmt.Sprintf(" … %d more characters", len(r)-most)
}

// Visible replaces what a reader does not see, or sees in another order than a
// compiler reads it, and what a terminal obeys: controls, and marks of direction
// (Boucher and Anderson, "Trojan Source", 2021).
func Visible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n':
			return r
		case r == 0x7f:
			return '\u2421'
		case r < ' ':
			return '\u2400' + r
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r >= 0x200b && r <= 0x200d || r == 0xfeff:
			return '\u2422'
		}
		return r
	}, s)
}
