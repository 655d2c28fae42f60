// Package chart draws how edits agree with their evidence: in flow scores of
// package align, out flows a gonum plot, which a notebook shows as it is.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/agents/align"
)

// Okabe and Ito's colours, distinct for all common kinds of colour blindness.
var (
	palette = []color.RGBA{{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff}, {0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}}
	shapes  = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
	faint   = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
	grey    = color.RGBA{0x55, 0x55, 0x55, 0xff}
)

// Width and Height are the size of a saved plot of three backends.
const (
	Width  = 7.5 * vg.Inch
	Height = 4.8 * vg.Inch
)

// scores are what is drawn, from above.
var scores = []struct {
	name string
	one  func(align.Score) align.Part
	mean func(align.Summary) align.Mean
}{
	{"evidence coverage", func(s align.Score) align.Part { return s.Coverage }, func(s align.Summary) align.Mean { return s.Coverage }},
	{"location agreement", func(s align.Score) align.Part { return s.Location }, func(s align.Summary) align.Mean { return s.Location }},
	{"directional consistency", func(s align.Score) align.Part { return s.Direction }, func(s align.Summary) align.Mean { return s.Direction }},
	{"cites nothing made up", func(s align.Score) align.Part {
		if s.Hallucinated > 0 {
			return align.Part{All: 1}
		}
		return align.Part{Of: 1, All: 1}
	}, func(s align.Summary) align.Mean {
		return align.Mean{Value: 1 - float64(s.Hallucinating)/float64(s.Edits), N: s.Edits}
	}},
}

// Plot draws for each score a row for each backend: a faint mark for each edit,
// a large one at their mean, with the number of edits that know the score. A
// score that no edit of a backend knows is said to be unknown. Beside the name
// of a backend is how many ids it made up. At most six backends are drawn, the
// first ones; it is an error when there is no score.
func Plot(ss align.Scores) (*plot.Plot, error) { return plotted(ss, ss.ByBackend(), "backends") }

// Runs is Plot with a row for each run of each backend.
func Runs(ss align.Scores) (*plot.Plot, error) { return plotted(ss, ss.ByRun(), "runs") }

func plotted(ss align.Scores, by align.Summaries, what string) (*plot.Plot, error) {
	if len(ss) == 0 {
		return nil, errors.New("drawing how edits agree with their evidence: there are no scores; align.Of makes one of an edit")
	}
	hidden := len(by) - min(len(by), len(palette))
	by = by[:len(by)-hidden]
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = fmt.Sprintf("How %d edits agree with their evidence", len(ss))
	if len(ss) == 1 {
		p.Title.Text = "How an edit agrees with its evidence"
	}
	if hidden > 0 {
		p.Title.Text += fmt.Sprintf(" (%d %s are not shown)", hidden, what)
	}
	p.Title.TextStyle.Font.Size = vg.Points(11)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.X.Label.Text = "score of an edit, and mean (%)"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(9)
		a.Tick.Label.Font.Variant = "Sans"
		a.Padding = vg.Points(3)
	}
	p.Legend.TextStyle.Font.Size = vg.Points(9)
	p.Legend.TextStyle.Font.Variant = "Sans"
	p.Legend.Top = true
	p.Legend.XOffs = -vg.Points(4)
	rows := float64(len(by)) + 1 // of a score, with room to the next one
	var ticks plot.ConstantTicks
	d := dots{}
	for k, score := range scores {
		top := float64(len(scores)-k)*rows - 1
		ticks = append(ticks, plot.Tick{Value: top - (rows-2)/2, Label: score.name})
		for b, s := range by {
			r := row{y: top - float64(b), mean: score.mean(s), look: b}
			for _, e := range ss {
				if part := score.one(e); e.Backend == s.Backend && (s.Run == "" || e.Run == s.Run) && part.Known() {
					r.edits = append(r.edits, 100*part.Value())
				}
			}
			d = append(d, r)
		}
	}
	p.Add(d)
	for b, s := range by {
		name := s.Backend
		if s.Run != "" {
			name += ", " + s.Run
		}
		switch {
		case s.Hallucinated == 1:
			name += ", 1 id made up"
		case s.Hallucinated > 1:
			name += fmt.Sprintf(", %d ids made up", s.Hallucinated)
		}
		p.Legend.Add(name, mark(b))
	}
	p.X.Min, p.X.Max = -2, 112 // room for the numbers beside full scores
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 25, Label: "25"}, {Value: 50, Label: "50"}, {Value: 75, Label: "75"}, {Value: 100, Label: "100"}}
	p.Y.Min, p.Y.Max = -0.7, float64(len(scores))*rows+0.35*float64(len(by))
	p.Y.Tick.Marker, p.Y.Tick.Length, p.Y.LineStyle.Width = ticks, 0, 0
	return p, nil
}

// row is a score of a backend.
type row struct {
	y     float64
	edits []float64 // per cent
	mean  align.Mean
	look  int
}

type dots []row

func (d dots) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	for _, v := range []float64{0, 25, 50, 75, 100} {
		c.StrokeLine2(draw.LineStyle{Color: faint, Width: vg.Points(0.5)}, x(v), c.Min.Y, x(v), c.Max.Y)
	}
	text := p.X.Tick.Label
	text.Font.Size = vg.Points(8)
	text.Color = grey
	text.XAlign, text.YAlign = draw.XLeft, draw.YCenter
	for _, r := range d {
		if r.mean.N == 0 {
			c.FillText(text, vg.Point{X: x(0) + vg.Points(4), Y: y(r.y)}, "unknown")
			continue
		}
		col := palette[r.look]
		light := color.NRGBA{col.R, col.G, col.B, 0x70}
		for _, v := range spread(r.edits) {
			c.DrawGlyph(draw.GlyphStyle{Color: light, Radius: vg.Points(2), Shape: shapes[r.look]}, vg.Point{X: x(v.at), Y: y(r.y) + vg.Points(3.2*v.above)})
		}
		at := vg.Point{X: x(100 * r.mean.Value), Y: y(r.y)}
		c.DrawGlyph(draw.GlyphStyle{Color: col, Radius: vg.Points(4.5), Shape: shapes[r.look]}, at)
		c.FillText(text, vg.Point{X: x(101) + vg.Points(6), Y: at.Y}, fmt.Sprintf("n = %d", r.mean.N))
	}
}

// place is where the mark of an edit is, with how many others it stands aside.
type place struct{ at, above float64 }

// spread puts marks at the same place beside each other, up and down in turn.
func spread(values []float64) []place {
	var out []place
	seen := map[float64]int{}
	for _, v := range values {
		near := math.Round(v)
		n := seen[near]
		seen[near]++
		above := float64((n + 1) / 2)
		if n%2 == 0 {
			above = -above
		}
		out = append(out, place{v, math.Mod(above, 4)})
	}
	return out
}

// mark is a backend's mark in the legend.
type mark int

func (m mark) Thumbnail(c *draw.Canvas) {
	c.DrawGlyph(draw.GlyphStyle{Color: palette[m], Radius: vg.Points(4), Shape: shapes[m]}, c.Center())
}
