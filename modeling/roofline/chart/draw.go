package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
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

// SI writes a number with three digits and an SI prefix, to stand before a
// unit: 1.5e12 as "1.5 T", 2e-3 as "2 m".
func SI(v float64) string {
	if v > 0 && v < 0.9995e-3 {
		return strconv.FormatFloat(v*1e6, 'g', 3, 64) + " u"
	}
	if v > 0 && v < 0.9995 {
		return strconv.FormatFloat(v*1e3, 'g', 3, 64) + " m"
	}
	return si(v)
}

// si is SI without prefixes for small numbers: axes of intensity read 0.01.
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

// logScale is gonum's, but for one value: gonum asks it where the label of an
// axis stands, at the arithmetic middle of the range, which is near the end of
// a logarithmic axis, and would take room from the data for a label that it
// then draws in the middle.
type logScale struct{ plot.LogScale }

func (s logScale) Normalize(lo, hi, v float64) float64 {
	if v == 0.5*(hi+lo) {
		return 0.5
	}
	return s.LogScale.Normalize(lo, hi, v)
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

// roofs are the ceilings of a plot.
type roofs struct {
	slopes []slope
	flats  []flat
	walls  []wall
	points []point // which labels keep away from
}

// slope is the ceiling y = perX x: a bandwidth.
type slope struct {
	label  string
	perX   float64
	dashes []vg.Length
}

// flat is the ceiling y: a peak.
type flat struct {
	label string
	y     float64
}

// wall is a vertical line: an access pattern that makes so many transactions.
type wall struct {
	label string
	x     float64
	names []string
}

var dashes = map[roofline.Level][]vg.Length{
	roofline.L3: {vg.Points(10), vg.Points(2)}, roofline.L2: {vg.Points(6), vg.Points(2)}, roofline.L1: {vg.Points(2), vg.Points(2)},
	roofline.Shared: {vg.Points(6), vg.Points(2), vg.Points(1), vg.Points(2)},
}

func (rs roofs) Plot(c draw.Canvas, p *plot.Plot) {
	rs.plotWalls(c, p)
	low, top := p.Y.Max, p.Y.Max
	if len(rs.flats) > 0 {
		low, top = math.Inf(1), 0
		for _, f := range rs.flats {
			low, top = math.Min(low, f.y), math.Max(top, f.y)
		}
	}
	fastest := 0.0
	var placed []label
	for _, s := range rs.slopes {
		rs.plotSlope(c, p, s, low, top, &placed)
		fastest = math.Max(fastest, s.perX)
	}
	rs.plotFlats(c, p, fastest)
}

// plotSlope draws a bandwidth from the left or lower edge to the ridge, or to
// the right edge, with its label along the line, above it, where no point and
// no other label is near, and below the lowest peak.
func (rs roofs) plotSlope(c draw.Canvas, p *plot.Plot, s slope, low, top float64, placed *[]label) {
	x, y := p.Transforms(&c)
	bw := s.perX
	x0, x1 := math.Max(p.X.Min, p.Y.Min/bw), math.Min(top/bw, p.X.Max)
	if x1 <= x0 {
		return
	}
	c.StrokeLine2(draw.LineStyle{Color: grey, Width: vg.Points(1), Dashes: s.dashes}, x(x0), y(x0*bw), x(x1), y(x1*bw))
	text := style(p, vg.Points(8.5), color.Black)
	text.Rotation = math.Atan2(float64(y(x1*bw)-y(x0*bw)), float64(x(x1)-x(x0)))
	length := math.Hypot(float64(x(x1)-x(x0)), float64(y(x1*bw)-y(x0*bw)))
	width := float64(text.Width(s.label))
	if width > length {
		return // too short a line for a label: the legend's level names stay
	}
	room := length - width // for the label's start; it ends below the lowest peak
	if below := length * math.Log(low/(x0*bw)) / math.Log(x1/x0); below > width*1.1 {
		room = math.Min(room, below-width*1.1)
	}
	// Along the line from its start, and away from it to the upper left.
	cos, sin := math.Cos(text.Rotation), math.Sin(text.Rotation)
	from := vg.Point{X: x(x0), Y: y(x0 * bw)}
	place := func(q vg.Point) (along, away float64) {
		dx, dy := float64(q.X-from.X), float64(q.Y-from.Y)
		return dx*cos + dy*sin, dy*cos - dx*sin
	}
	// Above the line, or else below it: where the text's foot and middle are.
	type spot struct{ start, foot, middle float64 }
	const enough = 16
	var best spot
	farthest := -1.0
	var spots []spot
	for _, side := range []spot{{0, 6, 9}, {0, -13, -10}} {
		for _, part := range []float64{0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 0.05, 0} {
			spots = append(spots, spot{part * room, side.foot, side.middle})
		}
	}
	for _, sp := range spots {
		near := float64(enough) // far enough is far enough: the first such place is taken
		keep := func(along, away, half float64) {
			beside := math.Max(0, math.Abs(along-sp.start-width/2)-width/2-half)
			near = math.Min(near, math.Hypot(beside, away-sp.middle))
		}
		for _, q := range rs.points {
			along, away := place(vg.Point{X: x(q.x), Y: y(q.y)})
			keep(along, away, float64(q.radius)/2)
		}
		for _, l := range *placed {
			along, away := place(l.middle)
			keep(along, away, l.width/2)
		}
		if near > farthest {
			farthest, best = near, sp
		}
	}
	at := func(along, away float64) vg.Point {
		return vg.Point{X: from.X + vg.Length(along*cos-away*sin), Y: from.Y + vg.Length(along*sin+away*cos)}
	}
	c.FillText(text, at(best.start, best.foot), s.label)
	*placed = append(*placed, label{at(best.start+width/2, best.middle), width})
}

// label is a slope's, where it was put.
type label struct {
	middle vg.Point
	width  float64
}

// plotFlats draws peaks from the fastest level's ridge to the right edge.
func (rs roofs) plotFlats(c draw.Canvas, p *plot.Plot, fastest float64) {
	x, y := p.Transforms(&c)
	sty := style(p, vg.Points(8.5), color.Black)
	sty.XAlign = text.XRight
	peaks := slices.Clone(rs.flats)
	sort.SliceStable(peaks, func(i, j int) bool { return peaks[i].y > peaks[j].y })
	lastY := vg.Length(math.Inf(1))
	for _, f := range peaks {
		x0 := p.X.Min
		if fastest > 0 {
			x0 = math.Min(math.Max(p.X.Min, f.y/fastest), p.X.Max)
		}
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: vg.Points(1)}, x(x0), y(f.y), x(p.X.Max), y(f.y))
		at := y(f.y) + vg.Points(4)
		if lastY-at < vg.Points(10) { // two peaks close together: this label below its line
			at = y(f.y) - vg.Points(12)
		}
		lastY = at
		c.FillText(sty, vg.Point{X: c.Max.X - vg.Points(3), Y: at}, f.label)
	}
}

// plotWalls draws access patterns as lines with their number of transactions
// at the top; the legend names them.
func (rs roofs) plotWalls(c draw.Canvas, p *plot.Plot) {
	x, _ := p.Transforms(&c)
	sty := style(p, vg.Points(8), grey)
	sty.XAlign = text.XCenter
	for _, w := range rs.walls {
		at := x(w.x)
		c.StrokeLine2(draw.LineStyle{Color: grey, Width: vg.Points(0.6), Dashes: []vg.Length{vg.Points(1), vg.Points(2)}}, at, c.Min.Y, at, c.Max.Y-vg.Points(10))
		c.FillText(sty, vg.Point{X: at, Y: c.Max.Y - vg.Points(8)}, w.label)
	}
}

// points draws kernels at their levels; a thin line joins those of a kernel.
type points struct{ list []point }

func (ps points) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	type row struct { // the points of a kernel at one height
		kernel int
		y      float64
	}
	span := map[row][2]float64{}
	for _, q := range ps.list {
		s, ok := span[row{q.kernel, q.y}]
		if !ok {
			s = [2]float64{q.x, q.x}
		}
		span[row{q.kernel, q.y}] = [2]float64{math.Min(s[0], q.x), math.Max(s[1], q.x)}
	}
	for _, q := range ps.list {
		col := palette[q.kernel%len(palette)]
		line := draw.LineStyle{Color: color.NRGBA{col.R, col.G, col.B, 0x70}, Width: vg.Points(0.8)}
		s := span[row{q.kernel, q.y}]
		if q.x == s[0] && s[1] > s[0] {
			c.StrokeLine2(line, x(s[0]), y(q.y), x(s[1]), y(q.y))
		}
	}
	for _, q := range ps.list {
		mark(c, q.level, palette[q.kernel%len(palette)], q.radius, q.hollow, vg.Point{X: x(q.x), Y: y(q.y)})
	}
}

// mark draws a level's shape with a white rim, which keeps marks that overlap
// apart. It draws outside of the data, too (Canvas.DrawGlyph does not).
func mark(c draw.Canvas, l roofline.Level, col color.Color, radius vg.Length, hollow bool, at vg.Point) {
	layers := []draw.GlyphStyle{{Color: color.White, Radius: radius + vg.Points(1.1)}, {Color: col, Radius: radius}}
	if hollow {
		layers = append(layers, draw.GlyphStyle{Color: color.White, Radius: 0.55 * radius})
	}
	for _, s := range layers {
		c.SetColor(s.Color)
		shapes[l].DrawGlyph(&c, s, at)
	}
}

// diamond is a filled square on its corner.
type diamond struct{}

func (diamond) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r := 1.2 * s.Radius
	fill(c, vg.Point{X: at.X, Y: at.Y + r}, vg.Point{X: at.X + r, Y: at.Y}, vg.Point{X: at.X, Y: at.Y - r}, vg.Point{X: at.X - r, Y: at.Y})
}

// cross is a filled plus.
type cross struct{}

func (cross) DrawGlyph(c *draw.Canvas, s draw.GlyphStyle, at vg.Point) {
	r, w := 1.1*s.Radius, 0.42*s.Radius
	p := func(x, y vg.Length) vg.Point { return vg.Point{X: at.X + x, Y: at.Y + y} }
	fill(c, p(-w, r), p(w, r), p(w, w), p(r, w), p(r, -w), p(w, -w), p(w, -r), p(-w, -r), p(-w, -w), p(-r, -w), p(-r, w), p(-w, w))
}

func fill(c *draw.Canvas, corners ...vg.Point) {
	var path vg.Path
	path.Move(corners[0])
	for _, q := range corners[1:] {
		path.Line(q)
	}
	path.Close()
	c.Fill(path)
}

// legend stands to the right of the data, never on it: its glyph box makes the
// plot leave room.
type legend struct {
	entries  []entry
	levels   map[roofline.Level]bool
	hidden   int
	several  bool   // hollow points are of other precisions
	accesses bool   // hollow points are load and store instructions alone
	walls    []wall // what their access patterns would be
}

// entry is a kernel of the legend.
type entry struct{ name, note string }

const (
	legendWidth = 2.35 * vg.Inch
	legendLine  = 13 // points from line to line
	nameRunes   = 30
)

// GlyphBoxes reserves the legend's width at the right edge.
func (l legend) GlyphBoxes(*plot.Plot) []plot.GlyphBox {
	return []plot.GlyphBox{{X: 1, Y: 0.5, Rectangle: vg.Rectangle{Max: vg.Point{X: legendWidth}}}}
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
		mark(c, v, grey, vg.Points(3.8), false, vg.Point{X: left + vg.Points(6), Y: at + vg.Points(3)})
		write(body, vg.Points(16), v.String())
	}
	if l.several || l.accesses {
		what := "hollow: in another precision"
		if l.accesses {
			what = "hollow: loads and stores alone"
		}
		at -= vg.Points(legendLine)
		mark(c, roofline.DRAM, grey, vg.Points(3.8), true, vg.Point{X: left + vg.Points(6), Y: at + vg.Points(3)})
		write(body, vg.Points(16), what)
	}
	if len(l.walls) > 0 {
		at -= vg.Points(legendLine * 1.4)
		write(head, 0, "Transactions per access")
		for _, w := range l.walls {
			for i, name := range w.names {
				at -= vg.Points(10)
				if i == 0 {
					write(small, vg.Points(2), w.label)
				}
				write(small, vg.Points(16), name)
			}
		}
	}
	at -= vg.Points(legendLine * 1.4)
	write(head, 0, "Kernel (area: share of time)")
	// Notes take as many lines as there is room for.
	lines := 0
	for _, e := range l.entries {
		lines += len(wrap(small, e.note, legendWidth-vg.Points(28)))
	}
	most := math.MaxInt
	if need := vg.Points(float64(14*len(l.entries) + 10*lines)); need > at-c.Min.Y+vg.Points(20) {
		most = 1
	}
	for i, e := range l.entries {
		at -= vg.Points(legendLine)
		col := palette[i%len(palette)]
		c.FillPolygon(col, []vg.Point{
			{X: left + vg.Points(2), Y: at}, {X: left + vg.Points(10), Y: at},
			{X: left + vg.Points(10), Y: at + vg.Points(7)}, {X: left + vg.Points(2), Y: at + vg.Points(7)},
		})
		write(body, vg.Points(16), shorten(e.name))
		// A note that is too wide goes on in a second line.
		for i, line := range wrap(small, e.note, legendWidth-vg.Points(28)) {
			if i >= most {
				break
			}
			if most == 1 {
				line = strings.TrimSuffix(line, ",")
			}
			at -= vg.Points(10)
			write(small, vg.Points(16), line)
		}
		at -= vg.Points(1)
	}
	if l.hidden > 0 {
		at -= vg.Points(legendLine)
		write(small, vg.Points(16), fmt.Sprintf("%d more, of less time, not shown", l.hidden))
	}
}

// wrap breaks text at ", " to lines of a width.
func wrap(s text.Style, note string, width vg.Length) []string {
	var lines []string
	line := ""
	for _, part := range strings.SplitAfter(note, ", ") {
		if line != "" && s.Width(strings.TrimSpace(line+part)) > width {
			lines = append(lines, strings.TrimSpace(line))
			line = ""
		}
		line += part
	}
	return append(lines, strings.TrimSpace(line))
}

func shorten(name string) string {
	if utf8.RuneCountInString(name) <= nameRunes {
		return name
	}
	r := []rune(name)
	return string(r[:nameRunes-9]) + "..." + string(r[len(r)-6:])
}
