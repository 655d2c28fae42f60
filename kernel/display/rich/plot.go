package rich

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/rooflab/rooflab/kernel/display"
)

const (
	plotWidth  = 7.5 * vg.Inch
	plotHeight = 4.5 * vg.Inch
	// Beyond so many path points an SVG is larger and slower than a picture.
	svgPoints = 20000
	// Without it title and labels touch the edge, which a dark page shows.
	plotMargin = 0.1 * vg.Inch
	plotDPI    = 192 // twice a screen's 96, for sharp text on dense screens
)

// plotBundle draws a plot as SVG, or as PNG when it has very many points. The
// plot keeps its own background; one without is given white, since axes and
// text are black and the page may be dark.
func plotBundle(v any) (display.Bundle, bool) {
	p, ok := v.(*plot.Plot)
	if !ok || p == nil {
		return display.Bundle{}, false
	}
	shown := *p
	if shown.BackgroundColor == nil {
		shown.BackgroundColor = color.White
	}
	b := display.Bundle{Data: map[string]any{"text/plain": plotText(p)}}
	if points(&shown) <= svgPoints {
		c := vgsvg.New(plotWidth, plotHeight)
		drawFramed(&shown, draw.New(c))
		var out bytes.Buffer
		if _, err := c.WriteTo(&out); err != nil {
			return failed("Plot", err), true
		}
		b.Data["image/svg+xml"] = out.String()
		return b, true
	}
	c := vgimg.NewWith(vgimg.UseWH(plotWidth, plotHeight), vgimg.UseDPI(plotDPI))
	drawFramed(&shown, draw.New(pieces{c}))
	var out bytes.Buffer
	if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&out); err != nil {
		return failed("Plot", err), true
	}
	b.Data["image/png"] = out.Bytes()
	b.Metadata = map[string]any{"image/png": map[string]any{
		"width": int(plotWidth.Dots(96)), "height": int(plotHeight.Dots(96)),
	}}
	return b, true
}

// drawFramed draws a plot with a margin in its background's colour.
func drawFramed(p *plot.Plot, c draw.Canvas) {
	c.SetColor(p.BackgroundColor)
	c.Fill(c.Path())
	p.Draw(draw.Crop(c, plotMargin, -plotMargin, plotMargin, -plotMargin))
}

func plotText(p *plot.Plot) string {
	title := strings.TrimSpace(p.Title.Text)
	if title == "" {
		title = "untitled"
	}
	s := fmt.Sprintf("plot %q", title)
	if p.X.Label.Text != "" || p.Y.Label.Text != "" {
		s += fmt.Sprintf(", %q over %q", p.Y.Label.Text, p.X.Label.Text)
	}
	return s + fmt.Sprintf(", x from %s to %s, y from %s to %s",
		number(p.X.Min), number(p.X.Max), number(p.Y.Min), number(p.Y.Max))
}

// points counts what a plot draws, and stops counting once there is too much.
func points(p *plot.Plot) (n int) {
	c := &counter{}
	defer func() {
		if r := recover(); r != nil && r != any(tooMany{}) {
			panic(r)
		}
		n = c.n
	}()
	p.Draw(draw.New(c))
	return c.n
}

// pieces strokes long paths piece by piece: the rasteriser searches a list of
// all cells that a path touched in a row, so that one dense line of 50,000
// points takes many minutes, and its pieces a second.
type pieces struct{ *vgimg.Canvas }

const pieceLength = 64

func (c pieces) Stroke(p vg.Path) {
	piece := make(vg.Path, 0, pieceLength+1)
	for i, comp := range p {
		piece = append(piece, comp)
		// Only at the end of a straight segment: the next piece starts there.
		if len(piece) > pieceLength && comp.Type == vg.LineComp && i+1 < len(p) {
			c.Canvas.Stroke(piece)
			piece = append(piece[:0], vg.PathComp{Type: vg.MoveComp, Pos: comp.Pos})
		}
	}
	c.Canvas.Stroke(piece)
}

type tooMany struct{}

// counter is a canvas that draws nothing and counts path points.
type counter struct{ n int }

func (c *counter) add(n int) {
	if c.n += n; c.n > svgPoints {
		panic(tooMany{})
	}
}

func (c *counter) Size() (x, y vg.Length)                 { return plotWidth, plotHeight }
func (c *counter) SetLineWidth(vg.Length)                 {}
func (c *counter) SetLineDash([]vg.Length, vg.Length)     {}
func (c *counter) SetColor(color.Color)                   {}
func (c *counter) Rotate(float64)                         {}
func (c *counter) Translate(vg.Point)                     {}
func (c *counter) Scale(float64, float64)                 {}
func (c *counter) Push()                                  {}
func (c *counter) Pop()                                   {}
func (c *counter) Stroke(p vg.Path)                       { c.add(1 + len(p)) }
func (c *counter) Fill(p vg.Path)                         { c.add(1 + len(p)) }
func (c *counter) FillString(font.Face, vg.Point, string) { c.add(1) }
func (c *counter) DrawImage(_ vg.Rectangle, img image.Image) {
	c.add(img.Bounds().Dx() * img.Bounds().Dy() / 16)
}
