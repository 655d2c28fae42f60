// Package chart draws a choice of counters: in flows a result of package
// counters, out flows a gonum plot, which a notebook shows as it is and Save
// writes to a file.
package chart

import (
	"errors"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/modeling/counters"
)

const (
	maxBars  = 15 // more names cannot be read
	maxLabel = 48 // characters of a name; its end says more than its middle
)

// Okabe and Ito's blue, and a grey that is lighter in print, too.
var (
	blue = color.RGBA{0x00, 0x72, 0xb2, 0xff}
	grey = color.RGBA{0xb0, 0xb0, 0xb0, 0xff}
)

// Plot draws the stability of the chosen counters, in the order they were
// picked from above, and below them of the most stable others, as bars; a dot
// on each bar is its importance. It is an error when there is no candidate.
func Plot(r *counters.Result) (*plot.Plot, error) {
	if r == nil || len(r.All) == 0 {
		return nil, errors.New("drawing a choice of counters: the result has no counters")
	}
	shown := append([]counters.Counter(nil), r.Chosen[:min(len(r.Chosen), maxBars)]...)
	chosen := len(shown)
	taken := map[string]bool{}
	for _, c := range r.Chosen {
		taken[c.Name] = true
	}
	for _, c := range r.All {
		if !taken[c.Name] && len(shown) < maxBars {
			shown = append(shown, c)
		}
	}
	n := len(shown)
	names := make([]string, n)
	picked, others := make(plotter.Values, n), make(plotter.Values, n)
	dots := make(plotter.XYs, n)
	for i, c := range shown { // the first on top
		at := n - 1 - i
		names[at] = label(c.Name)
		if i < chosen {
			picked[at] = 100 * c.Stability
		} else {
			others[at] = 100 * c.Stability
		}
		dots[at] = plotter.XY{X: 100 * c.Importance, Y: float64(at)}
	}
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = fmt.Sprintf("What explains %s: %.1f %% of its variance by %d counters", r.Target, 100*r.R2, len(r.Chosen))
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.X.Label.Text = "stability, importance (%)"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(8)
		a.Tick.Label.Font.Variant = "Sans"
	}
	p.Legend.XOffs = -vg.Points(6) // off the edge
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	p.Legend.TextStyle.Font.Variant = "Sans"
	for _, s := range []struct {
		values plotter.Values
		colour color.Color
		name   string
		show   bool
	}{{picked, blue, "chosen", chosen > 0}, {others, grey, "not chosen", chosen < n}} {
		if !s.show {
			continue
		}
		bars, err := plotter.NewBarChart(s.values, vg.Points(9))
		if err != nil {
			return nil, fmt.Errorf("drawing a choice of counters: %w", err)
		}
		bars.Horizontal, bars.Color, bars.LineStyle.Width = true, s.colour, 0
		p.Add(bars)
		p.Legend.Add(s.name, bars)
	}
	points, err := plotter.NewScatter(dots)
	if err != nil {
		return nil, fmt.Errorf("drawing a choice of counters: %w", err)
	}
	points.Radius, points.Color, points.Shape = vg.Points(2.2), color.Black, draw.CircleGlyph{}
	p.Add(points)
	p.Legend.Add("importance", points)
	p.X.Min, p.X.Max = 0, 128 // room for the legend beside full bars
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 25, Label: "25"}, {Value: 50, Label: "50"}, {Value: 75, Label: "75"}, {Value: 100, Label: "100"}}
	p.Y.Min, p.Y.Max = -0.7, float64(n)-0.3
	ticks := make(plot.ConstantTicks, n)
	for i, name := range names {
		ticks[i] = plot.Tick{Value: float64(i), Label: name}
	}
	p.Y.Tick.Marker = ticks
	p.Y.Tick.Length = 0
	return p, nil
}

// label is a name that fits, cut in its middle.
func label(name string) string {
	r := []rune(name)
	if len(r) <= maxLabel {
		return name
	}
	return string(r[:maxLabel/2-1]) + "…" + string(r[len(r)-maxLabel/2:])
}
