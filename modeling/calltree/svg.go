package calltree

import (
	_ "embed"
	"fmt"
	"image/color"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
)

// script zooms on a click and searches; pictures are complete without it.
//
//go:embed flame.js
var script string

// flameStyle has no colours of text or page but on frames, whose fills are the
// same in dark and light: the rest is the page's.
const flameStyle = `.rl-flame{font:12px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;display:block;max-width:100%;height:auto}
.rl-flame text{fill:currentColor;direction:ltr;unicode-bidi:isolate;white-space:pre}
.rl-flame .f text{fill:#111;pointer-events:none}
.rl-flame .f rect{stroke:rgba(96,96,96,.55);stroke-width:.5}
.rl-flame .f{cursor:pointer}
.rl-flame .f:hover rect,.rl-flame .hit rect{stroke:currentColor;stroke-width:2}
.rl-flame .up{opacity:.6}
.rl-flame .dim{opacity:.3}
.rl-flame .b{font-weight:600;font-size:13px}
.rl-flame .rl-search{visibility:hidden;cursor:pointer;text-decoration:underline}
`

const (
	rowHeight = 17
	charWidth = 7.25 // of the font, pixels
)

// SVG is the picture as a file of its own, in the reader's dark or light.
// Frames say on hover what they are; a click zooms where scripts may run.
func (p *Picture) SVG() string {
	return p.svg(`:root{color:#1b1b1b;background:#fff}@media(prefers-color-scheme:dark){:root{color:#e4e4e4;background:#161616}}`, "<script><![CDATA[\n"+script+"]]></script>")
}

// HTML is the picture with a field to search, as a part of a page that needs
// nothing else. Its text takes the page's colour.
func (p *Picture) HTML() string {
	var b strings.Builder
	b.WriteString(`<div class="rl-flame-box" style="color:inherit"><div class="rl-bar" hidden style="margin:.2em 0"><input class="rl-search" type="search" placeholder="search: a regular expression" aria-label="search frames" style="width:22em;font:inherit;color:inherit;background:transparent;border:1px solid rgba(128,128,128,.7);padding:.1em .4em"> <button class="rl-reset" type="button" style="visibility:hidden;font:inherit">show all</button> <span class="rl-found" role="status"></span></div>`)
	b.WriteString(p.svg("", ""))
	b.WriteString(`</div><script>` + script + `</script>`)
	return b.String()
}

// Page is HTML as a page of its own, in the reader's dark or light.
func (p *Picture) Page() string { return page(p.Title, p.HTML()) }

func page(title, body string) string {
	return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>` + display.Escape(clean(title, 200)) +
		`</title></head><body style="font-family:system-ui,sans-serif;margin:1.5em">` + body + `</body></html>` + "\n"
}

// String is what the picture shows as text: the tree.
func (p *Picture) String() string {
	if p.cmp != nil {
		return p.cmp.String()
	}
	return p.tree.String()
}

// Display shows the picture; a terminal gets the tree.
func (p *Picture) Display() display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": p.String(), "text/html": p.HTML()}}
}

func hex(c color.RGBA) string { return fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B) }

func px(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// round is a length to a hundredth of a pixel.
func round(v float64) float64 { return float64(int64(v*100+0.5)) / 100 }

// fit is a name that fits into a frame, "" where none does.
func fit(name string, width float64) string {
	room := int((width - 6) / charWidth)
	if room < 3 {
		return ""
	}
	r := []rune(name)
	w := 0
	for i, c := range r {
		w++
		if c >= 0x1100 { // wide ones: Hangul, Chinese, Japanese, pictures
			w++
		}
		if w > room || w == room && i+1 < len(r) {
			return string(r[:i]) + "…"
		}
	}
	return name
}

func (p *Picture) svg(style, last string) string {
	e := display.Escape
	width := float64(p.Options.Width)
	var head strings.Builder
	fmt.Fprintf(&head, `<text class="b" x="3" y="16">%s</text>`, e(fit(clean(p.Title, 300), width-80)))
	fmt.Fprintf(&head, `<text class="rl-search" x="%s" y="16" text-anchor="end">search</text>`, px(width-3))
	x, y := 3.0, 24.0
	for _, l := range p.Legend {
		w := 20 + charWidth*float64(len([]rune(l.Text)))
		if x > 3 && x+w > width {
			x, y = 3, y+rowHeight
		}
		fmt.Fprintf(&head, `<rect x="%s" y="%s" width="11" height="11" fill="%s" stroke="#808080" stroke-width=".5"/><text x="%s" y="%s">%s</text>`, px(x), px(y+1), hex(l.Fill), px(x+15), px(y+10.5), e(l.Text))
		x += w + 14
	}
	if len(p.Legend) > 0 {
		y += rowHeight
	}
	top := y + 6
	drawn, body := p.frames(top, width)
	y = top + float64(p.Depth)*rowHeight + 14
	var foot strings.Builder
	left := p.left + len(p.Frames) - drawn
	notes := slices.Clone(p.tree.Notes)
	if left > 0 {
		notes = append([]string{fmt.Sprintf("%s of %d too small to draw", count(left, "node"), p.tree.Len())}, notes...)
	}
	if len(p.Frames) == 0 {
		notes = append([]string{"no node has a value above 0: there is nothing to draw"}, notes...)
	}
	for _, n := range notes {
		for _, line := range wrap(clean(n, 600), int((width-10)/charWidth)) {
			fmt.Fprintf(&foot, `<text x="3" y="%s">%s</text>`, px(y), e(line))
			y += rowHeight
		}
	}
	icicle := ""
	if p.Options.Icicle {
		icicle = ` data-icicle=""`
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="rl-flame" data-width="%d"%s viewBox="0 0 %d %s" width="%d" role="group" aria-label="%s"><style>%s%s</style>`,
		p.Options.Width, icicle, p.Options.Width, px(y), p.Options.Width, e(clean(p.Title, 300)), flameStyle, style) +
		head.String() + body + foot.String() + last + `</svg>`
}

// frames draws as many frames as fit into the bytes that the picture may have,
// the widest ones.
func (p *Picture) frames(top, width float64) (drawn int, text string) {
	parts := make([]string, len(p.Frames))
	order := make([]int, len(p.Frames))
	for i := range order {
		order[i] = i
	}
	// What is as wide as its parent comes after it.
	slices.SortStableFunc(order, func(a, b int) int {
		switch fa, fb := p.Frames[a], p.Frames[b]; {
		case fa.W > fb.W:
			return -1
		case fa.W < fb.W:
			return 1
		default:
			return fa.Depth - fb.Depth
		}
	})
	room := p.Options.Bytes - len(script) - len(flameStyle) - 8000
	for _, i := range order {
		parts[i] = p.frame(p.Frames[i], top, width)
		if room -= len(parts[i]); room < 0 {
			parts[i] = ""
			break
		}
		drawn++
	}
	return drawn, strings.Join(parts, "")
}

func (p *Picture) frame(f Frame, top, width float64) string {
	e := display.Escape
	row := f.Depth
	if !p.Options.Icicle {
		row = p.Depth - 1 - f.Depth
	}
	x, y, w := round(f.X*width), top+float64(row*rowHeight), round(f.W*width)
	var b strings.Builder
	fmt.Fprintf(&b, `<g class="f"><title>%s</title><rect x="%s" y="%s" width="%s" height="%d" fill="%s"/>`, e(strings.Join(p.About(f), "\n")), px(x), px(y), px(w), rowHeight-1, hex(f.Fill))
	if name := fit(f.Label(), w); name != "" {
		fmt.Fprintf(&b, `<text x="%s" y="%s">%s</text>`, px(x+3), px(y+12.5), e(name))
	}
	b.WriteString("</g>\n")
	return b.String()
}

func wrap(text string, width int) (lines []string) {
	line, n := "", 0
	for _, word := range strings.Fields(text) {
		k := len([]rune(word))
		if n > 0 && n+1+k > width {
			lines, line, n = append(lines, line), "", 0
		}
		if n > 0 {
			line, n = line+" ", n+1
		}
		line, n = line+word, n+k
	}
	return append(lines, line)
}
