// Package chart draws flame graphs for papers: in flows a picture of package
// calltree, out flows a gonum plot, which a notebook shows as it is and Save
// writes to a file.
package chart

import (
	"errors"
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/modeling/calltree"
)

// Plot draws a flame graph: frames over their share of the metric, by call
// depth. It is an error when no frame has a width.
func Plot(pic *calltree.Picture) (*plot.Plot, error) {
	if pic == nil || len(pic.Frames) == 0 {
		return nil, errors.New("drawing a call tree: no node has a value above 0")
	}
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = pic.Title
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.X.Label.Text = pic.Axis()
	p.Y.Label.Text = "call depth"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(8)
		a.Tick.Label.Font.Variant = "Sans"
		a.Padding = 0
	}
	p.X.Min, p.X.Max = 0, 100
	p.Y.Min, p.Y.Max = 0, float64(pic.Depth)+float64(len(pic.Legend)+2)/3
	p.Y.Tick.Marker = depths{pic}
	p.Add(frames{pic})
	return p, nil
}

// depths marks the rows of frames, roots as 1.
type depths struct{ *calltree.Picture }

func (d depths) Ticks(float64, float64) []plot.Tick {
	every := max(1, (d.Depth+9)/10)
	var out []plot.Tick
	for row := 0; row < d.Depth; row += every {
		out = append(out, plot.Tick{Value: d.row(row) + 0.5, Label: fmt.Sprint(row + 1)})
	}
	return out
}

// row is the lower edge of a depth.
func (d depths) row(depth int) float64 {
	if d.Options.Icicle {
		return float64(d.Depth - 1 - depth)
	}
	return float64(depth)
}

type frames struct{ *calltree.Picture }

func (f frames) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	label := p.X.Tick.Label
	label.Color = color.Black
	label.XAlign, label.YAlign = text.XLeft, text.YCenter
	// Names are as large as rows let them be, and readable.
	height := y(1) - y(0)
	label.Font.Size = min(vg.Points(9), height*0.75)
	edge := draw.LineStyle{Color: color.RGBA{0x70, 0x70, 0x70, 0xff}, Width: vg.Points(0.3)}
	for _, fr := range f.Frames {
		low := depths(f).row(fr.Depth)
		box := []vg.Point{{X: x(100 * fr.X), Y: y(low)}, {X: x(100 * (fr.X + fr.W)), Y: y(low)}, {X: x(100 * (fr.X + fr.W)), Y: y(low + 1)}, {X: x(100 * fr.X), Y: y(low + 1)}}
		c.FillPolygon(fr.Fill, box)
		c.StrokeLines(edge, append(box, box[0]))
		if label.Font.Size < vg.Points(4) {
			continue
		}
		if name := shorten(label, fr.Label(), box[1].X-box[0].X-vg.Points(4)); name != "" {
			c.FillText(label, vg.Point{X: box[0].X + vg.Points(2), Y: (box[0].Y + box[2].Y) / 2}, name)
		}
	}
	label.Font.Size = vg.Points(8)
	left, at := c.Min.X+vg.Points(4), c.Max.Y-vg.Points(8)
	for _, l := range f.Legend {
		width := label.Width(l.Text) + vg.Points(24)
		if left+width > c.Max.X {
			left, at = c.Min.X+vg.Points(4), at-vg.Points(11)
		}
		square := []vg.Point{{X: left, Y: at - vg.Points(3.5)}, {X: left + vg.Points(7), Y: at - vg.Points(3.5)}, {X: left + vg.Points(7), Y: at + vg.Points(3.5)}, {X: left, Y: at + vg.Points(3.5)}}
		c.FillPolygon(l.Fill, square)
		c.StrokeLines(edge, append(square, square[0]))
		c.FillText(label, vg.Point{X: left + vg.Points(10), Y: at}, l.Text)
		left += width
	}
	if says := f.Left(); says != "" {
		label.XAlign = text.XRight
		c.FillText(label, vg.Point{X: c.Max.X - vg.Points(2), Y: at}, says)
	}
}

// shorten cuts a name to a width, "" where three letters do not fit.
func shorten(s text.Style, name string, width vg.Length) string {
	if width <= 0 || s.Width(name) <= width {
		if width <= 0 {
			return ""
		}
		return name
	}
	r := []rune(name)
	for n := min(len(r)-1, int(width/s.Width("i"))+1); n >= 3; n-- {
		if short := string(r[:n]) + "…"; s.Width(short) <= width {
			return short
		}
	}
	return ""
}

// Save writes a flame graph to a file; its extension says the format (svg,
// png, pdf).
func Save(pic *calltree.Picture, path string) error {
	p, err := Plot(pic)
	if err != nil {
		return err
	}
	height := vg.Length(pic.Depth+3)*vg.Points(13) + 1.1*vg.Inch
	if err := p.Save(7.5*vg.Inch, min(max(height, 2.2*vg.Inch), 9*vg.Inch), path); err != nil {
		return fmt.Errorf("writing the flame graph to %s: %w", path, err)
	}
	return nil
}
