package chart

import (
	"fmt"
	"image/color"
	"math"
	"sort"
	"strconv"
	"unicode/utf8"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/modeling/roofline"
)

func style(p *plot.Plot, size vg.Length, c color.Color) text.Style {
	s := p.X.Tick.Label
	s.Font.Size = size
	s.Color = c
	s.Font.Variant = "Sans"
	s.Rotation = 0
	s.XAlign, s.YAlign = text.XLeft, text.YBottom
	return s
}

// si writes a number with an SI prefix: 1.5e12 as "1.5 T".
func si(v float64) string {
	for _, s := range []struct {
		size float64
		sign string
	}{{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if v >= 0.9995*s.size {
			return strconv.FormatFloat(v/s.size, 'g', 3, 64) + " " + s.sign
		}
	}
	return strconv.FormatFloat(v, 'g', 3, 64) + " "
}

// siTicks marks decades, and the steps between them without a label.
type siTicks struct{}

func (siTicks) Ticks(lo, hi float64) []plot.Tick {
	var ticks []plot.Tick
	first, last := math.Floor(math.Log10(lo)), math.Ceil(math.Log10(hi))
	every := math.Max(1, math.Ceil((last-first)/9)) // at most about nine labels
	for e := first; e <= last; e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < lo || v > hi {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 && math.Mod(e-first, every) == 0 {
				t.Label = si(v)
				if n := len(t.Label); t.Label[n-1] == ' ' {
					t.Label = t.Label[:n-1]
				}
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// grid is faint lines at the decades.
type grid struct{}

func (grid) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	line := draw.LineStyle{Color: faint, Width: vg.Points(0.5)}
	for e := math.Ceil(math.Log10(p.X.Min)); e <= math.Log10(p.X.Max); e++ {
		at := x(math.Pow(10, e))
		c.StrokeLine2(line, at, c.Min.Y, at, c.Max.Y)
	}
	for e := math.Ceil(math.Log10(p.Y.Min)); e <= math.Log10(p.Y.Max); e++ {
		at := y(math.Pow(10, e))
		c.StrokeLine2(line, c.Min.X, at, c.Max.X, at)
	}
}

// ceilings are the roofs, in byte/s and flop/s.
type ceilings struct {
	bandwidth map[roofline.Level]float64
	peak      map[roofline.Precision]float64
	points    []point // which labels keep away from
}

var dashes = map[roofline.Level][]vg.Length{
	roofline.L2: {vg.Points(6), vg.Points(2)}, roofline.L1: {vg.Points(2), vg.Points(2)}, roofline.Shared: {vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)},
}

func (cl ceilings) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	top := 0.0
	for _, v := range cl.peak {
		top = math.Max(top, v)
	}
	if top == 0 {
		top = p.Y.Max
	}
	low := top
	for _, v := range cl.peak {
		low = math.Min(low, v)
	}
	label := style(p, vg.Points(8.5), color.Black)
	line := draw.LineStyle{Color: grey, Width: vg.Points(1)}
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		bw, ok := cl.bandwidth[l]
		if !ok {
			continue
		}
		// From the left or lower edge to the ridge, or to the right edge.
		x0, x1 := math.Max(p.X.Min, p.Y.Min/bw), math.Min(top/bw, p.X.Max)
		if x1 <= x0 {
			continue
		}
		s := line
		s.Dashes = dashes[l]
		c.StrokeLine2(s, x(x0), y(x0*bw), x(x1), y(x1*bw))
		// Along the line, above it, where no point is near.
		text := label
		text.Rotation = math.Atan2(float64(y(x1*bw)-y(x0*bw)), float64(x(x1)-x(x0)))
		name := fmt.Sprintf("%s %sB/s", l, si(bw))
		length := math.Hypot(float64(x(x1)-x(x0)), float64(y(x1*bw)-y(x0*bw)))
		width := float64(text.Width(name))
		if width > length {
			continue // too short a line for a label: the legend's level names stay
		}
		room := length - width // for the label's start; it ends below the lowest peak
		if below := length * math.Log(low/(x0*bw)) / math.Log(x1/x0); below > width*1.1 {
			room = math.Min(room, below-width*1.1)
		}
		gap := vg.Points(6)
		var px, py vg.Length
		farthest := -1.0
		for _, along := range []float64{0.2, 0.35, 0.5, 0.65, 0.8, 0.95} {
			at := vg.Length(along * room / length)
			tx := x(x0) + at*(x(x1)-x(x0)) - gap*vg.Length(math.Sin(text.Rotation))
			ty := y(x0*bw) + at*(y(x1*bw)-y(x0*bw)) + gap*vg.Length(math.Cos(text.Rotation))
			midX, midY := float64(tx)+width/2*math.Cos(text.Rotation), float64(ty)+width/2*math.Sin(text.Rotation)
			near := 0.8 * width // far enough is far enough: the lowest such place is taken
			for _, q := range cl.points {
				near = math.Min(near, math.Hypot(midX-float64(x(q.x)), midY-float64(y(q.y))))
			}
			if near > farthest {
				farthest, px, py = near, tx, ty
			}
		}
		c.FillText(text, vg.Point{X: px, Y: py}, name)
	}
	fastest := 0.0
	for _, bw := range cl.bandwidth {
		fastest = math.Max(fastest, bw)
	}
	peaks := make([]roofline.Precision, 0, 3)
	for q := range cl.peak {
		peaks = append(peaks, q)
	}
	sort.Slice(peaks, func(i, j int) bool { return cl.peak[peaks[i]] > cl.peak[peaks[j]] })
	label.XAlign = text.XRight
	lastY := vg.Length(math.Inf(1))
	for _, q := range peaks {
		v := cl.peak[q]
		x0 := p.X.Min
		if fastest > 0 {
			x0 = math.Min(math.Max(p.X.Min, v/fastest), p.X.Max)
		}
		c.StrokeLine2(line, x(x0), y(v), x(p.X.Max), y(v))
		at := y(v) + vg.Points(4)
		if lastY-at < vg.Points(10) { // two peaks close together: this label below its line
			at = y(v) - vg.Points(12)
		}
		lastY = at
		c.FillText(label, vg.Point{X: c.Max.X - vg.Points(3), Y: at}, fmt.Sprintf("%s %sflop/s", q, si(v)))
	}
}

// points draws kernels at their levels; a thin line joins those of a kernel.
type points struct{ list []point }

func (ps points) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	span := map[int][2]float64{}
	for _, q := range ps.list {
		s, ok := span[q.kernel]
		if !ok {
			s = [2]float64{q.x, q.x}
		}
		span[q.kernel] = [2]float64{math.Min(s[0], q.x), math.Max(s[1], q.x)}
	}
	for _, q := range ps.list {
		col := palette[q.kernel%len(palette)]
		line := draw.LineStyle{Color: color.NRGBA{col.R, col.G, col.B, 0x70}, Width: vg.Points(0.8)}
		s := span[q.kernel]
		if q.x == s[0] && s[1] > s[0] {
			c.StrokeLine2(line, x(s[0]), y(q.y), x(s[1]), y(q.y))
		}
	}
	for _, q := range ps.list {
		mark(c, q.level, palette[q.kernel%len(palette)], vg.Point{X: x(q.x), Y: y(q.y)})
	}
}

// mark draws a level's shape with a white rim, which keeps marks that overlap
// apart. It draws outside of the data, too (Canvas.DrawGlyph does not).
func mark(c draw.Canvas, l roofline.Level, col color.Color, at vg.Point) {
	for _, s := range []draw.GlyphStyle{{Color: color.White, Radius: vg.Points(4.9)}, {Color: col, Radius: vg.Points(3.8)}} {
		c.SetColor(s.Color)
		shapes[l].DrawGlyph(&c, s, at)
	}
}

// legend stands to the right of the data, never on it: its glyph box makes the
// plot leave room.
type legend struct {
	kernels []roofline.Result
	levels  map[roofline.Level]bool
	hidden  int
}

const (
	legendWidth = 2.3 * vg.Inch
	legendLine  = 13 // points from line to line
	nameRunes   = 30
)

// GlyphBoxes reserves the legend's width at the right edge.
func (l legend) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Min: vg.Point{}, Max: vg.Point{X: legendWidth}}}}
}

func (l legend) Plot(c draw.Canvas, p *plot.Plot) {
	head, body := style(p, vg.Points(9), color.Black), style(p, vg.Points(8.5), color.Black)
	small := style(p, vg.Points(7.5), grey)
	left, at := c.Max.X+vg.Points(10), c.Max.Y-vg.Points(10)
	write := func(s text.Style, indent vg.Length, t string) {
		c.FillText(s, vg.Point{X: left + indent, Y: at}, t)
	}
	write(head, 0, "Memory level")
	for v := roofline.DRAM; v <= roofline.Shared; v++ {
		if !l.levels[v] {
			continue
		}
		at -= vg.Points(legendLine)
		mark(c, v, grey, vg.Point{X: left + vg.Points(6), Y: at + vg.Points(3)})
		write(body, vg.Points(16), v.String())
	}
	at -= vg.Points(legendLine * 1.5)
	write(head, 0, "Kernel, what bounds it")
	for i, r := range l.kernels {
		at -= vg.Points(legendLine)
		col := palette[i%len(palette)]
		c.FillPolygon(col, []vg.Point{
			{X: left + vg.Points(2), Y: at}, {X: left + vg.Points(10), Y: at},
			{X: left + vg.Points(10), Y: at + vg.Points(7)}, {X: left + vg.Points(2), Y: at + vg.Points(7)},
		})
		write(body, vg.Points(16), shorten(r.Kernel))
		at -= vg.Points(10)
		q, _ := r.Dominant()
		note := q.String() + " work, " + string(r.Bound) + " bound"
		if r.Bound == roofline.Unknown {
			note = q.String() + " work, bound unknown"
		}
		if d := r.Distance(roofline.DRAM, q); d.OK {
			note += fmt.Sprintf(", %.0f %% of roof", 100*d.Value)
		}
		write(small, vg.Points(16), note)
		at -= vg.Points(1)
	}
	if l.hidden > 0 {
		at -= vg.Points(legendLine)
		write(small, vg.Points(16), fmt.Sprintf("%d more, of less time, not shown", l.hidden))
	}
}

func shorten(name string) string {
	if utf8.RuneCountInString(name) <= nameRunes {
		return name
	}
	r := []rune(name)
	return string(r[:nameRunes-9]) + "..." + string(r[len(r)-6:])
}
