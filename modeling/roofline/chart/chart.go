// Package chart draws rooflines: in flow results of package roofline, out
// flows a gonum plot, which a notebook shows as it is and Save writes to a file.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/rooflab/rooflab/modeling/roofline"
)

// maxKernels are drawn, those with the most time; more colours cannot be told
// apart.
const maxKernels = 7

// Okabe and Ito's colours, distinct for all common kinds of colour blindness.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x00, 0x00, 0x00, 0xff},
}

var shapes = [...]draw.GlyphDrawer{
	roofline.DRAM: draw.CircleGlyph{}, roofline.L3: draw.SquareGlyph{}, roofline.L2: draw.BoxGlyph{}, roofline.L1: draw.PyramidGlyph{}, roofline.Shared: draw.PlusGlyph{},
}

var (
	grey  = color.RGBA{0x55, 0x55, 0x55, 0xff}
	faint = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

// point is one kernel at one level.
type point struct {
	kernel int
	level  roofline.Level
	x, y   float64 // flop/byte, flop/s
}

// Plot draws results (of one machine): a point per kernel and memory level at
// the attained performance and the intensity at that level, in the kernel's
// dominant precision, and the ceilings as means over the results. Results that
// have no point are left out; it is an error when none has one.
func Plot(results []roofline.Result) (*plot.Plot, error) {
	kernels := drawable(results)
	if len(kernels) == 0 {
		why := "there are none"
		if len(results) > 0 {
			why = lacks(results[0])
		}
		return nil, errors.New("drawing a roofline: no result has work, time and bytes of a level: " + why)
	}
	hidden := len(kernels) - min(len(kernels), maxKernels)
	kernels = kernels[:len(kernels)-hidden]
	var pts []point
	used := map[roofline.Precision]bool{}
	levels := map[roofline.Level]bool{}
	for i, r := range kernels {
		p, _ := r.Dominant()
		used[p] = true
		for _, t := range r.Traffic {
			ai := r.Intensity(t.Level, p)
			if ai.OK && ai.Value > 0 && r.Work[p].Rate.OK {
				pts = append(pts, point{i, t.Level, ai.Value, r.Work[p].Rate.Value})
				levels[t.Level] = true
			}
		}
	}
	c := ceilings{bandwidth: map[roofline.Level]float64{}, peak: map[roofline.Precision]float64{}, points: pts}
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		if v, ok := mean(kernels, func(r roofline.Result) roofline.Quantity { return r.Traffic[l].Ceiling }); ok && (levels[l] || l == roofline.DRAM) {
			c.bandwidth[l] = v
		}
	}
	for p := roofline.FP64; p <= roofline.TensorInt8; p++ {
		if v, ok := mean(kernels, func(r roofline.Result) roofline.Quantity { return r.Work[p].Ceiling }); ok && used[p] {
			c.peak[p] = v
		}
	}
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = "Roofline at the profiled clock"
	if len(c.bandwidth) == 0 || len(c.peak) == 0 {
		p.Title.Text = "Kernels in the roofline plane (the profile lacks ceilings)"
	}
	if given(kernels) {
		p.Title.Text = "Roofline (ceilings given, not from the profile)"
	}
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.X.Label.Text, p.Y.Label.Text = "Arithmetic intensity (flop/byte)", "Performance (flop/s)"
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Scale = plot.LogScale{}
		a.Tick.Marker = siTicks{}
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(9)
		a.Label.Padding = vg.Points(3)
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = extent(pts, c)
	p.Add(grid{}, c, points{pts}, legend{kernels, levels, hidden})
	return p, nil
}

// lacks says why a result has no point.
func lacks(r roofline.Result) string {
	var why []string
	if _, ok := r.Dominant(); !ok {
		why = append(why, "work ("+r.Work[roofline.FP32].Flop.From+"; Options.Flop takes work that is known otherwise)")
	}
	if !r.Time.OK {
		why = append(why, "time ("+r.Time.From+")")
	}
	if b := r.Traffic[roofline.DRAM].Bytes; !b.OK {
		why = append(why, "bytes ("+b.From+")")
	}
	return r.Kernel + " lacks " + strings.Join(why, " and ")
}

// drawable keeps results with at least one point, most time first.
func drawable(results []roofline.Result) []roofline.Result {
	var out []roofline.Result
	for _, r := range results {
		p, ok := r.Dominant()
		if !ok || !r.Work[p].Rate.OK {
			continue
		}
		for _, t := range r.Traffic {
			if ai := r.Intensity(t.Level, p); ai.OK && ai.Value > 0 {
				out = append(out, r)
				break
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Time.Value > out[j].Time.Value })
	return out
}

func mean(rs []roofline.Result, of func(roofline.Result) roofline.Quantity) (float64, bool) {
	sum, n := 0.0, 0
	for _, r := range rs {
		if q := of(r); q.OK && q.Value > 0 {
			sum += q.Value
			n++
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

// given reports whether a ceiling does not come from the profile.
func given(rs []roofline.Result) bool {
	for _, r := range rs {
		for _, w := range r.Work {
			if w.Ceiling.OK && w.Ceiling.From == roofline.Given {
				return true
			}
		}
		for _, t := range r.Traffic {
			if t.Ceiling.OK && t.Ceiling.From == roofline.Given {
				return true
			}
		}
	}
	return false
}

// extent is a frame around points and ridges, in whole decades below and with
// room for labels above.
func extent(pts []point, c ceilings) (xmin, xmax, ymin, ymax float64) {
	xmin, ymin = math.Inf(1), math.Inf(1)
	for _, p := range pts {
		xmin, xmax = math.Min(xmin, p.x), math.Max(xmax, p.x)
		ymin, ymax = math.Min(ymin, p.y), math.Max(ymax, p.y)
	}
	top := 0.0
	for _, peak := range c.peak {
		top = math.Max(top, peak)
		for _, bw := range c.bandwidth {
			xmin, xmax = math.Min(xmin, peak/bw), math.Max(xmax, peak/bw)
		}
	}
	ymax = math.Max(ymax, top)
	return xmin / 8, xmax * 25, ymin / 6, ymax * 2.5
}

// Save writes a plot of results to a file; its extension says the format
// (svg, png, pdf).
func Save(results []roofline.Result, path string) error {
	p, err := Plot(results)
	if err != nil {
		return err
	}
	if err := p.Save(7.5*vg.Inch, 4.5*vg.Inch, path); err != nil {
		return fmt.Errorf("writing the roofline to %s: %w", path, err)
	}
	return nil
}
