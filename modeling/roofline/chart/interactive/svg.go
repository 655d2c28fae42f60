package interactive

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart"
)

// The picture's size and the frame of its data, in user units.
const (
	width, height          = 860.0, 470.0
	frameLeft, frameRight  = 70.0, 600.0
	frameTop, frameBottom  = 40.0, 415.0
	legendLeft, legendStep = 620.0, 18.0
)

// svg is the scene as a picture in the page's colours; marks and ceilings have
// titles, which browsers show at the pointer.
func (s *scene) svg() string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %g %g" width="100%%" style="max-width:%gpx;height:auto" role="img" aria-label="%s" fill="currentColor" font-family="sans-serif" font-size="11">`,
		width, height, width, html.EscapeString(s.title))
	text := func(x, y float64, attributes, t string) {
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" %s>%s</text>`, x, y, attributes, html.EscapeString(t))
	}
	line := func(x0, y0, x1, y1 float64, attributes, title string) {
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="currentColor" %s>`, x0, y0, x1, y1, attributes)
		if title != "" {
			fmt.Fprintf(&b, "<title>%s</title>", html.EscapeString(title))
		}
		b.WriteString("</line>")
	}
	text((frameLeft+frameRight)/2, 22, `text-anchor="middle" font-size="15"`, s.title)
	text((frameLeft+frameRight)/2, height-14, `text-anchor="middle" font-size="12"`, s.x)
	fmt.Fprintf(&b, `<text transform="translate(16 %.1f) rotate(-90)" text-anchor="middle" font-size="12">%s</text>`, (frameTop+frameBottom)/2, html.EscapeString(s.y))
	for _, v := range decades(s.xmin, s.xmax) {
		line(s.atX(v), frameTop, s.atX(v), frameBottom, `stroke-opacity="0.18"`, "")
		text(s.atX(v), frameBottom+16, `text-anchor="middle"`, tick(v))
	}
	for _, v := range decades(s.ymin, s.ymax) {
		line(frameLeft, s.atY(v), frameRight, s.atY(v), `stroke-opacity="0.18"`, "")
		text(frameLeft-6, s.atY(v)+4, `text-anchor="end"`, tick(v))
	}
	line(frameLeft, frameBottom, frameRight, frameBottom, "", "")
	line(frameLeft, frameTop, frameLeft, frameBottom, "", "")
	dashes := [...]string{roofline.DRAM: "", roofline.L3: "12 3", roofline.L2: "8 3", roofline.L1: "3 3", roofline.Shared: "8 3 2 3"}
	for _, c := range s.ceilings {
		style := `stroke-width="1.4"`
		if !c.peak && dashes[c.level] != "" {
			style += fmt.Sprintf(` stroke-dasharray="%s"`, dashes[c.level])
		}
		line(s.atX(c.x0), s.atY(c.y0), s.atX(c.x1), s.atY(c.y1), style, c.label+"\nfrom "+c.text)
	}
	for _, m := range s.layers() {
		s.mark(&b, m.level, s.atX(m.x), s.atY(m.y), size(m.share)/2, colour(m.kernel), m.hollow, strings.Join(m.text, "\n"))
	}
	for _, c := range s.ceilings { // above the marks, which would hide them
		x0, y0, x1, y1 := s.atX(c.x0), s.atY(c.y0), s.atX(c.x1), s.atY(c.y1)
		if c.peak {
			away := -5.0
			if c.below {
				away = 13
			}
			text(frameRight-4, y1+away, `text-anchor="end" pointer-events="none"`, c.label)
			continue
		}
		part := s.clear(c)
		fmt.Fprintf(&b, `<text transform="translate(%.1f %.1f) rotate(%.1f) translate(0 -5)" pointer-events="none">%s</text>`,
			x0+part*(x1-x0), y0+part*(y1-y0), math.Atan2(y1-y0, x1-x0)*180/math.Pi, html.EscapeString(c.label))
	}
	s.legend(&b, text)
	b.WriteString("</svg>")
	return b.String()
}

// clear is the part of a slope from which its label is farthest from all marks,
// or far enough.
func (s *scene) clear(c ceiling) float64 {
	x0, y0, x1, y1 := s.atX(c.x0), s.atY(c.y0), s.atX(c.x1), s.atY(c.y1)
	length := math.Hypot(x1-x0, y1-y0)
	dx, dy := (x1-x0)/length, (y1-y0)/length
	text := 6 * float64(len(c.label)) // about a letter's width each
	best, farthest := 0.0, -1.0
	for _, part := range []float64{0.12, 0.3, 0.5, 0.65, 0.8, 0.02} {
		start := part * length
		if start+text > length {
			continue
		}
		near := 14.0 // far enough
		for _, m := range s.marks {
			x, y := s.atX(m.x)-x0, s.atY(m.y)-y0
			along, above := x*dx+y*dy, y*dx-x*dy+9 // the text stands above the line
			near = math.Min(near, math.Hypot(math.Max(0, math.Abs(along-start-text/2)-text/2), above)-size(m.share)/2)
		}
		if near > farthest {
			best, farthest = part, near
		}
	}
	return best
}

func (s *scene) legend(b *strings.Builder, text func(x, y float64, attributes, t string)) {
	at := frameTop + 8
	for _, l := range s.levels {
		s.mark(b, l, legendLeft+6, at-4, 5, "currentColor", false, "")
		text(legendLeft+18, at, "", l.String())
		at += legendStep
	}
	at += 6
	text(legendLeft, at, `font-weight="bold"`, "Kernel (area: share of time)")
	for i, name := range s.kernels[:min(len(s.kernels), named)] {
		at += legendStep
		fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="11" height="11" fill="%s"/>`, legendLeft, at-9.5, colour(i))
		text(legendLeft+18, at, "", shorten(name, 32))
	}
	if others := s.others(); others != "" {
		text(legendLeft+18, at+legendStep, `font-style="italic"`, others)
	}
}

// mark is a level's shape with a rim.
func (s *scene) mark(b *strings.Builder, l roofline.Level, x, y, r float64, colour string, hollow bool, title string) {
	paint := fmt.Sprintf(`fill="%s" stroke="currentColor" stroke-opacity="0.6" stroke-width="0.8"`, colour)
	if hollow {
		paint = fmt.Sprintf(`fill="%s" fill-opacity="0.12" stroke="%s" stroke-width="2"`, colour, colour)
	}
	fmt.Fprintf(b, `<g data-mark="%s" %s>`, l, paint)
	if title != "" {
		fmt.Fprintf(b, "<title>%s</title>", html.EscapeString(title))
	}
	polygon := func(corners ...float64) {
		b.WriteString(`<polygon points="`)
		for i := 0; i < len(corners); i += 2 {
			fmt.Fprintf(b, "%.1f,%.1f ", x+r*corners[i], y+r*corners[i+1])
		}
		b.WriteString(`"/>`)
	}
	switch l {
	case roofline.L3:
		polygon(0, -1.2, 1.2, 0, 0, 1.2, -1.2, 0)
	case roofline.L2:
		polygon(-0.9, -0.9, 0.9, -0.9, 0.9, 0.9, -0.9, 0.9)
	case roofline.L1:
		polygon(0, -1.1, 1.05, 0.75, -1.05, 0.75)
	case roofline.Shared:
		polygon(-0.4, -1.1, 0.4, -1.1, 0.4, -0.4, 1.1, -0.4, 1.1, 0.4, 0.4, 0.4, 0.4, 1.1, -0.4, 1.1, -0.4, 0.4, -1.1, 0.4, -1.1, -0.4, -0.4, -0.4)
	default:
		fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="%.1f"/>`, x, y, r)
	}
	b.WriteString("</g>")
}

func (s *scene) atX(v float64) float64 {
	return frameLeft + (frameRight-frameLeft)*math.Log(v/s.xmin)/math.Log(s.xmax/s.xmin)
}

func (s *scene) atY(v float64) float64 {
	return frameBottom - (frameBottom-frameTop)*math.Log(v/s.ymin)/math.Log(s.ymax/s.ymin)
}

// decades are the powers of ten in a range, thinned to at most nine; with their
// halves and fifths where there are few.
func decades(lo, hi float64) []float64 {
	first, last := math.Floor(math.Log10(lo)), math.Floor(math.Log10(hi))
	every := math.Max(1, math.Ceil((last-first)/8))
	steps := []float64{1}
	if last-first < 3 {
		steps = []float64{1, 2, 5}
	}
	var out []float64
	for e := first; e <= last; e += every {
		for _, m := range steps {
			if v := m * math.Pow(10, e); v >= lo && v <= hi {
				out = append(out, v)
			}
		}
	}
	return out
}

// tick is an axis's number: small ones are written out, not in thousandths.
func tick(v float64) string {
	if v < 1 {
		return fmt.Sprintf("%g", v)
	}
	return strings.TrimSpace(chart.SI(v))
}
