// Package train is what training a model looks like from outside: progress
// flows in from a training loop, and out flows a live picture in a notebook or
// plain lines in a terminal.
package train

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rooflab/rooflab/kernel/display"
)

// Progress is the state of a training run after some of its steps.
type Progress struct {
	Step, Steps int           // done and to do; the unit is the caller's (epochs, batches)
	Loss        float64       // training loss, mean since the last report
	Validation  float64       // loss on data not trained on; NaN when there is none
	Elapsed     time.Duration // since the start
	From        int           // the step at which Elapsed began, of a resumed run
	Done        bool          // the last report of the run
	Note        string        // one line shown with it ("on XLA ...", "cancelled")
}

// Line is the progress as one line of text.
func (p Progress) Line() string {
	line := fmt.Sprintf("%d of %d, loss %.4g", p.Step, p.Steps, p.Loss)
	if !math.IsNaN(p.Validation) {
		line += fmt.Sprintf(", held out %.4g", p.Validation)
	}
	line += ", " + p.Elapsed.Round(10*time.Millisecond).String()
	if p.Step > p.From && p.Step < p.Steps && !p.Done {
		left := time.Duration(float64(p.Elapsed) / float64(p.Step-p.From) * float64(p.Steps-p.Step))
		line += ", about " + left.Round(100*time.Millisecond).String() + " left"
	}
	if p.Note != "" {
		line += ", " + p.Note
	}
	return line
}

// Live shows progress: in a notebook as one output with a curve that is
// replaced at each report, elsewhere as lines. The function that it returns
// takes the reports; it draws at most a few times a second, and always the
// last one (Done).
func Live(title string) func(Progress) {
	l := &live{title: title, rich: display.Rich(), held: math.NaN()}
	return l.report
}

const (
	redraw = 250 * time.Millisecond
	lines  = 10 // of plain text in a whole run, besides the last
)

type live struct {
	mu      sync.Mutex
	title   string
	rich    bool
	history []Progress
	handle  *display.Handle
	drawn   time.Time
	printed int
	held    float64
}

func (l *live) report(p Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.history = append(l.history, p)
	// Looks at held-out data are rarer than steps: the line keeps the last one.
	if math.IsNaN(p.Validation) {
		p.Validation = l.held
	}
	l.held = p.Validation
	if !l.rich {
		due := p.Steps > 0 && p.Step*lines >= p.Steps*l.printed
		if p.Done || due {
			l.printed = p.Step*lines/max(p.Steps, 1) + 1
			display.Show(display.Of("text/plain", l.title+": "+p.Line()))
		}
		return
	}
	now := time.Now()
	if !p.Done && now.Sub(l.drawn) < redraw {
		return
	}
	l.drawn = now
	b := display.Bundle{Data: map[string]any{
		"text/plain": l.title + ": " + p.Line(),
		"text/html": `<div style="color:inherit"><div>` + display.Escape(l.title) + `: ` + display.Escape(p.Line()) + `</div>` +
			Curve(l.history) + `</div>`,
	}}
	if l.handle == nil {
		l.handle = display.Live(b)
	} else {
		l.handle.Update(b)
	}
}

// column is the width in pixels over which Curve averages.
const column = 1.5

// Curve draws losses over steps as an SVG, the losses on a logarithmic axis.
// Of a long run, steps that fall onto one column of pixels are drawn as their
// geometric mean.
// It takes the page's text colour, so that it reads in light and dark.
func Curve(history []Progress) string {
	const w, h, left, right, top, bottom = 480.0, 170.0, 62.0, 96.0, 10.0, 34.0
	steps := 1
	for _, p := range history {
		steps = max(steps, p.Step, p.Steps)
	}
	x := func(step float64) float64 { return left + (w-left-right)*step/float64(steps) }
	training := averaged(history, func(p Progress) float64 { return p.Loss }, column/(w-left-right)*float64(steps))
	held := averaged(history, func(p Progress) float64 { return p.Validation }, column/(w-left-right)*float64(steps))
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, q := range slices.Concat(training, held) {
		lo, hi = math.Min(lo, q.loss), math.Max(hi, q.loss)
	}
	if lo > hi {
		return ""
	}
	a, b := math.Log10(lo), math.Log10(hi)
	if b-a < 0.3 { // at least a factor of two, so that noise looks like noise
		mid := (a + b) / 2
		a, b = mid-0.15, mid+0.15
	}
	y := func(loss float64) float64 { return top + (h-top-bottom)*(b-math.Log10(loss))/(b-a) }
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img" aria-label="loss over steps" `+
		`style="color:inherit;max-width:100%%" font-family="sans-serif" font-size="11" fill="currentColor">`, w, h, w, h)
	fmt.Fprintf(&s, `<path d="M%g %gV%gH%g" fill="none" stroke="currentColor" stroke-opacity=".5"/>`, left, top, h-bottom, w-right)
	for i := 0; i <= 2; i++ {
		v := math.Pow(10, a+(b-a)*float64(i)/2)
		fmt.Fprintf(&s, `<text x="%g" y="%g" text-anchor="end">%.3g</text>`, left-6, y(v)+4, v)
	}
	fmt.Fprintf(&s, `<text x="%g" y="%g" text-anchor="middle">0</text><text x="%g" y="%g" text-anchor="middle">%d</text>`,
		left, h-bottom+14, w-right, h-bottom+14, steps)
	fmt.Fprintf(&s, `<text x="%g" y="%g" text-anchor="middle">step</text>`, (left+w-right)/2, h-4)
	fmt.Fprintf(&s, `<text transform="translate(12 %g) rotate(-90)" text-anchor="middle">loss (log scale)</text>`, (top+h-bottom)/2)
	// Okabe and Ito's blue and vermillion, distinct also in dash.
	for i, style := range []struct {
		colour, dash, name string
		points             []point
	}{{"#0072b2", "none", "training", training}, {"#d55e00", "5 3", "held out", held}} {
		var path []string
		for _, q := range style.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", x(q.step), y(q.loss)))
		}
		if len(path) == 0 {
			continue
		}
		fmt.Fprintf(&s, `<polyline points="%s" fill="none" stroke="%s" stroke-width="1.8" stroke-dasharray="%s"/>`,
			strings.Join(path, " "), style.colour, style.dash)
		ly := top + 12 + 16*float64(i)
		fmt.Fprintf(&s, `<path d="M%g %gh18" stroke="%s" stroke-width="1.8" stroke-dasharray="%s"/><text x="%g" y="%g">%s</text>`,
			w-right+8, ly-4, style.colour, style.dash, w-right+30, ly, style.name)
	}
	s.WriteString(`</svg>`)
	return s.String()
}

// point is a loss after some steps, or a mean of both.
type point struct{ step, loss float64 }

// averaged are the positive, finite losses of a history, those within each
// stretch of width steps as their geometric mean.
func averaged(history []Progress, of func(Progress) float64, width float64) []point {
	var points []point
	stretch, n := -1, 0.0
	var step, log float64
	flush := func() {
		if n > 0 {
			points = append(points, point{step / n, math.Exp(log / n)})
		}
		n, step, log = 0, 0, 0
	}
	for _, p := range history {
		l := of(p)
		if !(l > 0) || math.IsInf(l, 0) {
			continue
		}
		if s := int(float64(p.Step) / width); s != stretch {
			flush()
			stretch = s
		}
		n, step, log = n+1, step+float64(p.Step), log+math.Log(l)
	}
	flush()
	return points
}
