// Package chart draws timelines: in flows a View of package timeline, out flow a
// gonum plot, which a notebook shows as it is and Save writes to a file, and a
// page that needs nothing else, in which a reader zooms.
//
// Kernels have full height and the colour of their name, those that communicate
// have stripes' yellow, copies and memsets are grey and narrow, each direction at a
// height of its own. Above the streams of each device its gaps are marked, the
// longest, by the reason, and below them launch-bound stretches.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/modeling/timeline"
)

// Okabe and Ito's colours, distinct for all common kinds of colour blindness:
// for names of kernels in the order of their time, then for the rest.
var (
	palette = []color.RGBA{
		{0x00, 0x72, 0xb2, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x8c, 0x6d, 0x46, 0xff},
	}
	others      = color.RGBA{0xb4, 0xb4, 0xb4, 0xff}
	communicate = color.RGBA{0xf0, 0xe4, 0x42, 0xff}
	copies      = color.RGBA{0x76, 0x76, 0x76, 0xff} // as far from white as from black
	hostWait    = color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	otherWait   = color.RGBA{0x99, 0x99, 0x99, 0xff}
	bound       = color.RGBA{0xcc, 0x79, 0xa7, 0xff}
	ink         = color.RGBA{0x22, 0x22, 0x22, 0xff}
	faint       = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

// band is the part of a lane's height, from 0 below to 1 above, that a class
// takes.
func band(c timeline.Class) (low, high float64) {
	switch c {
	case timeline.HtoD:
		return 0.06, 0.36
	case timeline.DtoH:
		return 0.64, 0.94
	case timeline.DtoD, timeline.PtoP, timeline.HtoH, timeline.OtherCopy:
		return 0.38, 0.62
	case timeline.Memset:
		return 0.44, 0.56
	}
	return 0.06, 0.94
}

// colours tells the colour of bars.
type colours map[string]int

func newColours(v *timeline.View) colours {
	c := colours{}
	for i, n := range v.Names {
		if i < len(palette) {
			c[n.Name] = i
		}
	}
	return c
}

func (c colours) of(b timeline.Bar) color.RGBA {
	switch {
	case b.Class == timeline.Communication:
		return communicate
	case !b.Class.IsKernel():
		return copies
	}
	if i, ok := c[b.Name]; ok {
		return palette[i]
	}
	return others
}

func wait(w timeline.Wait) color.RGBA {
	if w == timeline.HostWait {
		return hostWait
	}
	return otherWait
}

// scale is the unit of a time axis: seconds for long windows, ns for short.
func scale(ns int64) (unit string, size float64) {
	switch {
	case ns >= 2e9:
		return "s", 1e9
	case ns >= 2e6:
		return "ms", 1e6
	case ns >= 2e3:
		return "µs", 1e3
	}
	return "ns", 1
}

// Plot draws a view. It is an error when there is no lane.
func Plot(v *timeline.View) (*plot.Plot, error) {
	if v == nil || len(v.Lanes) == 0 {
		return nil, errors.New("drawing a timeline: the view has no lanes")
	}
	unit, size := scale(v.To - v.From)
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = "Timeline of run " + runs(v)
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.X.Label.Text = "Time from the start of the work of devices (" + unit + ")"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(8.5)
		a.Label.Padding = vg.Points(3)
	}
	p.X.Min, p.X.Max = float64(v.From-v.Origin)/size, float64(v.To-v.Origin)/size
	p.X.Tick.Marker = timeTicks{}
	n := len(v.Lanes)
	ticks := make(plot.ConstantTicks, n)
	for i, l := range v.Lanes {
		ticks[i] = plot.Tick{Value: float64(n-1-i) + 0.5, Label: l.Title}
	}
	p.Y.Min, p.Y.Max = 0, float64(n)
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	p.Y.Padding = 0
	p.X.Padding = vg.Points(2)
	p.Add(lanes{v, newColours(v), size}, legend{v})
	return p, nil
}

func runs(v *timeline.View) string {
	s := make([]string, len(v.Runs))
	for i, r := range v.Runs {
		s[i] = strconv.FormatInt(r, 10)
	}
	return strings.Join(s, ", ")
}

// Save writes a plot of a view to a file; its extension says the format (svg,
// png, pdf). The height grows with the lanes.
func Save(v *timeline.View, path string) error {
	p, err := Plot(v)
	if err != nil {
		return err
	}
	height := max(2.6*vg.Inch, vg.Length(len(v.Lanes))*0.3*vg.Inch+1.1*vg.Inch)
	if err := write(p, 9*vg.Inch, height, path); err != nil {
		return fmt.Errorf("writing the timeline to %s: %w", path, err)
	}
	return nil
}

// write draws with a margin: labels of ticks would touch the edge.
func write(p *plot.Plot, width, height vg.Length, path string) error {
	c, err := draw.NewFormattedCanvas(width, height, strings.ToLower(strings.TrimPrefix(filepath.Ext(path), ".")))
	if err != nil {
		return err
	}
	dc := draw.New(c)
	dc.SetColor(p.BackgroundColor)
	dc.Fill(dc.Path())
	const margin = 0.1 * vg.Inch
	p.Draw(draw.Crop(dc, margin, -margin, margin, -margin))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := c.WriteTo(f); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

// timeTicks are at round numbers, at most about eight.
type timeTicks struct{}

func (timeTicks) Ticks(lo, hi float64) []plot.Tick {
	span := hi - lo
	if !(span > 0) || math.IsInf(span, 0) {
		return nil
	}
	step := math.Pow(10, math.Floor(math.Log10(span/4)))
	for _, m := range []float64{5, 2} {
		if span/(step*m) >= 4 {
			step *= m
			break
		}
	}
	var out []plot.Tick
	for i := math.Ceil(lo/step-1e-9) + 0; i*step <= hi+1e-9*span && len(out) < 50; i++ {
		out = append(out, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 10, 64)})
	}
	return out
}

// lanes draws everything within the axes.
type lanes struct {
	v       *timeline.View
	colours colours
	size    float64 // ns per unit of the axis
}

func (l lanes) Plot(c draw.Canvas, p *plot.Plot) {
	tx, ty := p.Transforms(&c)
	x := func(ns int64) vg.Length { return tx(float64(ns-l.v.Origin) / l.size) }
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: vg.Points(0.5)}, tx(t.Value), c.Min.Y, tx(t.Value), c.Max.Y)
	}
	n := len(l.v.Lanes)
	rect := func(lane int, from, to int64, low, high float64, fill color.Color) {
		x0, x1 := x(max(from, l.v.From)), x(min(to, l.v.To))
		if least := vg.Points(0.4); x1-x0 < least { // a hairline at least
			x1 = x0 + least
		}
		y0, y1 := ty(float64(n-1-lane)+low), ty(float64(n-1-lane)+high)
		c.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
	}
	for i, lane := range l.v.Lanes {
		if i > 0 && lane.Marks {
			c.StrokeLine2(draw.LineStyle{Color: ink, Width: vg.Points(0.4)}, c.Min.X, ty(float64(n-i)), c.Max.X, ty(float64(n-i)))
		}
		for _, b := range lane.Bars {
			fill := l.colours.of(b)
			if b.Launches > 1 { // paler where the merged pieces leave room between them
				fill = pale(fill, float64(b.Busy)/float64(max(1, b.To-b.From)))
			}
			low, high := band(b.Class)
			rect(i, b.From, b.To, low, high, fill)
		}
		for _, g := range lane.Gaps {
			rect(i, g.From, g.To, 0.5, 0.9, wait(g.Wait))
		}
		for _, s := range lane.Stretch {
			rect(i, s.From, s.To, 0.1, 0.4, bound)
		}
	}
}

// pale mixes a colour with white, to a third at least.
func pale(c color.RGBA, share float64) color.RGBA {
	k := 0.35 + 0.65*math.Min(1, math.Max(0, share))
	mix := func(v uint8) uint8 { return uint8(255 - k*(255-float64(v))) }
	return color.RGBA{mix(c.R), mix(c.G), mix(c.B), 255}
}

// legend stands to the right of the data: its glyph box makes the plot leave
// room.
type legend struct{ v *timeline.View }

const (
	legendWidth = 2.2 * vg.Inch
)

// GlyphBoxes reserves the legend's width at the right edge.
func (legend) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: legendWidth}}}}
}

// entry is a line of the legend.
type entry struct {
	colour    color.RGBA
	low, high float64
	name      string
}

// entries are what a view shows, and nothing else.
func entries(v *timeline.View) []entry {
	var out []entry
	for i, n := range v.Names {
		if i < len(palette) {
			out = append(out, entry{palette[i], 0.06, 0.94, n.Name})
		}
	}
	seen := map[timeline.Class]bool{}
	var host, other, stretches, rest bool
	known := newColours(v)
	for _, l := range v.Lanes {
		for _, b := range l.Bars {
			seen[b.Class] = true
			if _, ok := known[b.Name]; b.Class == timeline.Compute && !ok {
				rest = true
			}
		}
		for _, g := range l.Gaps {
			host, other = host || g.Wait == timeline.HostWait, other || g.Wait != timeline.HostWait
		}
		stretches = stretches || len(l.Stretch) > 0
	}
	if rest {
		out = append(out, entry{others, 0.06, 0.94, "other kernels"})
	}
	if seen[timeline.Communication] {
		out = append(out, entry{communicate, 0.06, 0.94, "communication"})
	}
	for _, c := range []timeline.Class{timeline.HtoD, timeline.DtoH, timeline.DtoD, timeline.PtoP, timeline.HtoH, timeline.OtherCopy, timeline.Memset} {
		if seen[c] {
			low, high := band(c)
			name := "copy " + c.String()
			if !c.IsCopy() || c == timeline.OtherCopy {
				name = c.String()
			}
			out = append(out, entry{copies, low, high, name})
		}
	}
	for _, e := range []struct {
		show bool
		entry
	}{{host, entry{hostWait, 0.3, 0.7, "gap: waits for the host"}}, {other, entry{otherWait, 0.3, 0.7, "gap: other or unknown"}}, {stretches, entry{bound, 0.35, 0.65, "launch-bound"}}} {
		if e.show {
			out = append(out, e.entry)
		}
	}
	return out
}

func (l legend) Plot(c draw.Canvas, p *plot.Plot) {
	s := p.X.Tick.Label
	s.Color, s.Rotation, s.XAlign, s.YAlign = ink, 0, text.XLeft, text.YBottom
	left, at := c.Max.X+vg.Points(8), c.Max.Y-vg.Points(8)
	es := entries(l.v)
	// As close as the height needs.
	line := vg.Length(math.Min(12, float64(c.Max.Y-c.Min.Y)/math.Max(1, float64(len(es)))))
	s.Font.Size = vg.Length(math.Min(8, float64(line)*0.75))
	for _, e := range es {
		h := vg.Points(8)
		y0, y1 := at+vg.Length(e.low)*h, at+vg.Length(e.high)*h
		c.FillPolygon(e.colour, []vg.Point{{X: left, Y: y0}, {X: left + vg.Points(9), Y: y0}, {X: left + vg.Points(9), Y: y1}, {X: left, Y: y1}})
		c.FillText(s, vg.Point{X: left + vg.Points(13), Y: at + vg.Points(0.5)}, shorten(s, e.name))
		at -= line
	}
}

// shorten cuts a name in its middle until it is as narrow as the legend.
func shorten(s text.Style, name string) string {
	const room = legendWidth - 24
	r := []rune(name)
	for keep := len(r); s.Width(name) > room && keep > 8; keep-- {
		name = string(r[:keep/2]) + "…" + string(r[len(r)-keep/2:])
	}
	return name
}
