package chart

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/modeling/roofline"
)

// Change draws one kernel before and after a change of its program, as Plot
// does, with an arrow from each level's point before to its point after. It is
// an error, which says what is lacking, when one of them has no point.
func Change(before, after roofline.Result) (*plot.Plot, error) {
	for _, r := range []struct {
		when string
		roofline.Result
	}{{"before", before}, {"after", after}} {
		if len(drawable([]roofline.Result{r.Result})) == 0 {
			return nil, errors.New("drawing a roofline before and after: " + r.when + ", " + lacks(r.Result))
		}
	}
	a := arrows{before, after}
	before.Kernel += " before"
	after.Kernel += " after"
	p, err := Plot([]roofline.Result{before, after})
	if err != nil {
		return nil, fmt.Errorf("before and after: %w", err)
	}
	p.Title.Text += ", before and after"
	p.Add(a)
	return p, nil
}

// arrows join the points of one kernel before and after, level by level.
type arrows struct{ before, after roofline.Result }

func (a arrows) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	now, _ := a.after.Dominant()
	was, _ := a.before.Dominant()
	if was != now {
		return // the points are of different work
	}
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		i, j := a.before.Intensity(l, was), a.after.Intensity(l, now)
		if !i.OK || !j.OK || i.Value <= 0 || j.Value <= 0 {
			continue
		}
		arrow(c, vg.Point{X: x(i.Value), Y: y(a.before.Work[was].Rate.Value)}, vg.Point{X: x(j.Value), Y: y(a.after.Work[now].Rate.Value)})
	}
}

// arrow draws a line with a head from one point to another, between their marks.
func arrow(c draw.Canvas, from, to vg.Point) {
	way := to.Sub(from)
	length := way.X*way.X + way.Y*way.Y
	const gap = 8 // points, which the marks take
	if length < 4*gap*gap {
		return
	}
	unit := way.Scale(1 / vg.Length(math.Sqrt(float64(length))))
	from, to = from.Add(unit.Scale(gap)), to.Sub(unit.Scale(gap))
	c.StrokeLine2(draw.LineStyle{Color: grey, Width: vg.Points(1.2)}, from.X, from.Y, to.X, to.Y)
	side := vg.Point{X: -unit.Y, Y: unit.X}
	back := to.Sub(unit.Scale(6))
	c.FillPolygon(grey, []vg.Point{to, back.Add(side.Scale(3)), back.Sub(side.Scale(3))})
}
