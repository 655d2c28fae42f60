// Package chart draws what a change of a program moved: in flow metrics before
// and after, out flows a gonum plot, which a notebook shows as it is.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Move is a metric before and after. Fate is empty where nothing was predicted.
type Move struct {
	Metric, Unit  string
	Before, After float64
	Fate          review.Fate
}

// Okabe and Ito's colours, each with a shape of its own.
var (
	looks = map[review.Fate]draw.GlyphStyle{
		review.True:  {Color: color.RGBA{0x00, 0x72, 0xb2, 0xff}, Radius: vg.Points(4.5), Shape: draw.CircleGlyph{}},
		review.False: {Color: color.RGBA{0xd5, 0x5e, 0x00, 0xff}, Radius: vg.Points(4.5), Shape: draw.BoxGlyph{}},
		"":           {Color: color.RGBA{0x55, 0x55, 0x55, 0xff}, Radius: vg.Points(4.5), Shape: draw.PyramidGlyph{}},
	}
	before = draw.GlyphStyle{Color: color.RGBA{0x00, 0x00, 0x00, 0xff}, Radius: vg.Points(3.5), Shape: draw.RingGlyph{}}
	names  = []struct {
		fate review.Fate
		text string
	}{{review.True, "after, as predicted"}, {review.False, "after, not as predicted"}, {"", "after, nothing predicted"}}
	faint = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	grey  = color.RGBA{0x55, 0x55, 0x55, 0xff}
)

// Rows are drawn at most, the first ones.
const Rows = 14

// Width is that of a saved plot; Height that of one with n rows.
const Width = 7.5 * vg.Inch

// roomForNumbers is the width of the numbers beside the rows, as a part of that
// of the axis.
const roomForNumbers = 1.05

// Height is the height of a saved plot of n metrics.
func Height(n int) vg.Length { return vg.Points(110 + 22*float64(min(n, Rows))) }

// Plot draws a row for each metric: a ring at 1, which is the value before,
// joined to the value after as a part of it, with both numbers beside. The axis
// is logarithmic where a metric changed by a factor of two or more. Metrics of
// which a value is not known are left out, and so are those that were and
// stayed 0; it is an error when none is left.
func Plot(moves []Move) (*plot.Plot, error) {
	var rows []Move
	for _, m := range moves {
		if finite(m.Before) && finite(m.After) && (m.Before != 0 || m.After != 0) && m.Before*m.After >= 0 {
			rows = append(rows, m)
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("drawing what moved: no metric is known before and after")
	}
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = "Before and after"
	if hidden := len(rows) - Rows; hidden > 0 {
		rows = rows[:Rows]
		p.Title.Text += fmt.Sprintf(" (%d metrics are not shown)", hidden)
	}
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.Title.TextStyle.Font.Variant = "Sans"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(9)
		a.Tick.Label.Font.Variant = "Sans"
		a.Padding = vg.Points(3)
	}
	d := dumbbells{rows: rows}
	d.lo, d.hi = 1, 1
	for _, m := range rows {
		if r := m.After / m.Before; m.Before != 0 && m.After != 0 {
			d.lo, d.hi = min(d.lo, r), max(d.hi, r)
		}
	}
	p.X.Label.Text = "after / before"
	if d.log = d.lo <= 0.5 || d.hi >= 2; d.log {
		p.X.Label.Text += " (log scale)"
		p.X.Scale = logScale{}
		d.lo, d.hi = d.lo/1.6, d.hi*1.6
		p.X.Min, p.X.Max = d.lo, d.hi*math.Pow(d.hi/d.lo, roomForNumbers) // room for the numbers
		p.X.Tick.Marker = logTicks{d.hi}
	} else {
		margin := 0.08 * max(d.hi-d.lo, 0.1)
		d.lo, d.hi = d.lo-margin, d.hi+margin
		p.X.Min, p.X.Max = d.lo, d.hi+roomForNumbers*(d.hi-d.lo)
		p.X.Tick.Marker = upTo{d.hi}
	}
	var ticks plot.ConstantTicks
	for i, m := range rows {
		ticks = append(ticks, plot.Tick{Value: float64(len(rows) - 1 - i), Label: shorten(m.Metric)})
	}
	p.Y.Min, p.Y.Max = -0.6, float64(len(rows))+0.4 // room for the legend
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = ticks, 0, 0
	p.Add(d)
	return p, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// look is what a move is drawn as: what was not measured has no after.
func look(f review.Fate) review.Fate {
	if _, ok := looks[f]; ok {
		return f
	}
	return ""
}

type dumbbells struct {
	rows   []Move
	lo, hi float64 // of the axis, without the room for numbers
	log    bool
}

func (d dumbbells) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	c.StrokeLine2(draw.LineStyle{Color: grey, Width: vg.Points(0.7), Dashes: []vg.Length{vg.Points(3), vg.Points(2)}}, x(1), c.Min.Y, x(1), y(float64(len(d.rows))-0.5))
	text := p.X.Tick.Label
	text.Font.Size, text.Color = vg.Points(8.5), grey
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	at := vg.Point{X: c.Min.X + vg.Points(4), Y: y(float64(len(d.rows)))}
	legend := func(g draw.GlyphStyle, name string) {
		c.DrawGlyph(g, at)
		at.X += vg.Points(8)
		c.FillText(text, at, name)
		at.X += 1.15*text.Width(name) + vg.Points(16) // browsers may have a wider type
	}
	legend(before, "before")
	for _, n := range names {
		if slices.ContainsFunc(d.rows, func(m Move) bool { return look(m.Fate) == n.fate }) {
			legend(looks[n.fate], n.text)
		}
	}
	for i, m := range d.rows {
		at := y(float64(len(d.rows) - 1 - i))
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: vg.Points(0.5)}, c.Min.X, at, x(d.hi), at)
		r, from := m.After/m.Before, 1.0
		switch {
		case m.Before == 0:
			r, from = d.hi, d.hi // there is no part of nothing: the numbers say it
		case m.After == 0:
			r = d.lo
			if !d.log {
				r = max(0, d.lo)
			}
		}
		style := looks[look(m.Fate)]
		c.StrokeLine2(draw.LineStyle{Color: style.Color, Width: vg.Points(2)}, x(from), at, x(r), at)
		if m.Before != 0 {
			c.DrawGlyph(before, vg.Point{X: x(1), Y: at})
		}
		c.DrawGlyph(style, vg.Point{X: x(r), Y: at})
		c.FillText(text, vg.Point{X: x(d.hi) + vg.Points(8), Y: at}, numbers(m))
	}
}

// numbers are both values, and by what factor they differ.
func numbers(m Move) string {
	unit := m.Unit
	if unit == "event" {
		unit = "" // the metric's name says of what
	}
	s := tabular.Quantity(m.Before, unit) + " to " + tabular.Quantity(m.After, unit)
	if m.Before != 0 {
		s += fmt.Sprintf(" (x %.3g)", m.After/m.Before)
	}
	return s
}

// logScale is gonum's, with the label of the axis in the middle: gonum asks
// where the arithmetic middle of the range is.
type logScale struct{ plot.LogScale }

func (s logScale) Normalize(lo, hi, v float64) float64 {
	if v == 0.5*(hi+lo) {
		return 0.5
	}
	return s.LogScale.Normalize(lo, hi, v)
}

// logTicks marks 1, 2 and 5 of each decade where there are few, and decades
// where there are many, up to where the numbers begin.
type logTicks struct{ hi float64 }

func (t logTicks) Ticks(lo, _ float64) []plot.Tick {
	var out []plot.Tick
	decades := math.Log10(t.hi / lo)
	every := int(max(1, math.Ceil(decades/6)))
	for e := int(math.Floor(math.Log10(lo))); float64(e) <= math.Log10(t.hi); e++ {
		for _, m := range []float64{1, 2, 5} {
			v := m * math.Pow(10, float64(e))
			if v < lo || v > t.hi || m != 1 && decades > 2.2 || m == 1 && e%every != 0 {
				continue
			}
			out = append(out, plot.Tick{Value: v, Label: fmt.Sprintf("%.4g", v)})
		}
	}
	return out
}

// upTo are gonum's ticks up to where the numbers begin.
type upTo struct{ hi float64 }

func (t upTo) Ticks(lo, _ float64) []plot.Tick { return plot.DefaultTicks{}.Ticks(lo, t.hi) }

// shorten cuts a name to what there is room for.
func shorten(name string) string {
	const most = 34
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	r := []rune(name)
	return string(r[:most-9]) + "..." + string(r[len(r)-6:])
}
