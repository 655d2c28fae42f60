// Package chart draws rooflines: in flow results of package roofline, out
// flows a gonum plot, which a notebook shows as it is and Save writes to a file.
// Plot is the hierarchical roofline, Instructions the instruction roofline.
// Package chart/interactive makes the same to point at.
package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
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
	roofline.DRAM: draw.CircleGlyph{}, roofline.L3: diamond{}, roofline.L2: draw.BoxGlyph{}, roofline.L1: draw.PyramidGlyph{}, roofline.Shared: cross{},
}

var (
	grey  = color.RGBA{0x55, 0x55, 0x55, 0xff}
	faint = color.RGBA{0xe4, 0xe4, 0xe4, 0xff}
)

// point is one kernel at one level.
type point struct {
	kernel int
	level  roofline.Level
	x, y   float64   // flop/byte and flop/s, or instructions per transaction and per second
	radius vg.Length // its area is the kernel's share of the time
	hollow bool      // not the kernel's dominant precision
}

// Points of a kernel that takes all of the time, and of one that takes none.
const (
	largest  = 7.5 // points
	smallest = 3.0
)

func radius(share float64) vg.Length {
	return vg.Points(math.Max(smallest, largest*math.Sqrt(share)))
}

// Plot draws results (of one machine): a point per kernel and memory level at
// the attained performance and the intensity at that level, as large as the
// kernel's share of the time, and the ceilings as means over the results,
// labelled with where they come from where that is not the profile. A kernel
// that computes in several precisions has points for each that does a twentieth
// of its work or more, filled for the dominant one. Results that have no point
// are left out; it is an error when none has one.
func Plot(results []roofline.Result) (*plot.Plot, error) {
	kernels := drawable(results)
	if len(kernels) == 0 {
		why := "there are none"
		if len(results) > 0 {
			why = lacks(results[0])
		}
		return nil, errors.New("drawing a roofline: no result has work, time and bytes of a level: " + why)
	}
	shares := Shares(kernels)
	hidden := len(kernels) - min(len(kernels), maxKernels)
	kernels = kernels[:len(kernels)-hidden]
	var pts []point
	used := map[roofline.Precision]bool{}
	levels := map[roofline.Level]bool{}
	several := false
	for i, r := range kernels {
		dominant, _ := r.Dominant()
		for _, p := range Precisions(r) {
			used[p] = true
			several = several || p != dominant
			for _, t := range r.Traffic {
				ai := r.Intensity(t.Level, p)
				if ai.OK && ai.Value > 0 && r.Work[p].Rate.OK {
					pts = append(pts, point{i, t.Level, ai.Value, r.Work[p].Rate.Value, radius(shares[i]), p != dominant})
					levels[t.Level] = true
				}
			}
		}
	}
	c := roofs{points: pts}
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		if v, from, ok := mean(kernels, func(r *roofline.Result) roofline.Quantity { return r.Traffic[l].Ceiling }); ok && (levels[l] || l == roofline.DRAM) {
			c.slopes = append(c.slopes, slope{fmt.Sprintf("%s %sB/s%s", l, si(v), from), v, dashes[l]})
		}
	}
	unit := "flop"
	for p := roofline.FP64; p <= roofline.TensorInt8; p++ {
		op := "flop"
		if p.Integer() {
			op = "op"
		}
		if used[p] && p.Integer() {
			unit = "flop or op"
		}
		if v, from, ok := mean(kernels, func(r *roofline.Result) roofline.Quantity { return r.Work[p].Ceiling }); ok && used[p] {
			c.flats = append(c.flats, flat{fmt.Sprintf("%s %s%s/s%s", p, si(v), op, from), v})
		}
	}
	title := "Roofline at the profiled clock"
	switch kinds := Provenance(kernels); {
	case len(c.slopes) == 0 && len(c.flats) == 0:
		title = "Kernels in the roofline plane (ceilings are not known)"
	case len(c.flats) == 0:
		title = "Roofline (the peak is not known)"
	case len(c.slopes) == 0:
		title = "Roofline (the bandwidths are not known)"
	case kinds != "":
		title = "Roofline (ceilings " + kinds + ")"
	}
	p := frame(title, fmt.Sprintf("Arithmetic intensity (%s/byte)", unit), fmt.Sprintf("Performance (%s/s)", unit))
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = extent(pts, c)
	leg := legend{levels: levels, hidden: hidden, several: several}
	for i, r := range kernels {
		leg.entries = append(leg.entries, entry{r.Kernel, note(r, shares[i])})
	}
	p.Add(grid{}, c, points{pts}, leg)
	return p, nil
}

// frame is an empty plot with logarithmic axes.
func frame(title, x, y string) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = color.White // readable on a dark page, too
	p.Title.Text = title
	p.Title.TextStyle.Font.Size = vg.Points(12)
	p.Title.TextStyle.Font.Variant = "Sans"
	p.X.Label.Text, p.Y.Label.Text = x, y
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Scale = logScale{}
		a.Tick.Marker = siTicks{}
		a.Label.TextStyle.Font.Size = vg.Points(10)
		a.Label.TextStyle.Font.Variant = "Sans"
		a.Tick.Label.Font.Variant = "Sans"
		a.Tick.Label.Font.Size = vg.Points(9)
		a.Label.Padding = vg.Points(3)
	}
	return p
}

// note is what the legend says below a kernel's name.
func note(r roofline.Result, share float64) string {
	q, _ := r.Dominant()
	out := fmt.Sprintf("%s, %s bound", q, r.Bound)
	if r.Bound == roofline.Unknown {
		out = q.String() + ", bound unknown"
	}
	if l, d, ok := r.Near(); ok {
		out += fmt.Sprintf(", %.0f %% of %s roof", 100*d.Value, strings.TrimSuffix(l.String(), " memory"))
	}
	if share > 0 {
		out += fmt.Sprintf(", %s of time", percent(share))
	}
	return out
}

func percent(share float64) string {
	if share < 0.01 {
		return "< 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*share)
}

// Shares is each result's part of the time of all of them, 0 where a time is
// not known.
func Shares(rs []roofline.Result) []float64 {
	total := 0.0
	for _, r := range rs {
		if r.Time.OK {
			total += r.Time.Value
		}
	}
	out := make([]float64, len(rs))
	for i, r := range rs {
		if r.Time.OK && total > 0 {
			out[i] = r.Time.Value / total
		}
	}
	return out
}

// Precisions are those that a kernel's points are drawn in: the dominant one,
// then those that do a twentieth of its work or more.
func Precisions(r roofline.Result) []roofline.Precision {
	dominant, ok := r.Dominant()
	if !ok {
		return nil
	}
	out := []roofline.Precision{dominant}
	for _, w := range r.Work {
		if w.Precision != dominant && w.Precision.Integer() == dominant.Integer() && w.Flop.OK && w.Flop.Value >= 0.05*r.Work[dominant].Flop.Value {
			out = append(out, w.Precision)
		}
	}
	return out
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

// mean is a ceiling over the results that know it, and where it comes from, to
// stand behind its label.
func mean(rs []roofline.Result, of func(*roofline.Result) roofline.Quantity) (v float64, from string, ok bool) {
	sum, n, kind := 0.0, 0, ""
	for i := range rs {
		if q := of(&rs[i]); q.OK && q.Value > 0 {
			sum += q.Value
			n++
			kind = Kind(q)
		}
	}
	if kind != "" {
		kind = " (" + kind + ")"
	}
	return sum / float64(max(n, 1)), kind, n > 0
}

// Kind is where a ceiling comes from: "given", "measured", "theoretical", or ""
// for the profile.
func Kind(q roofline.Quantity) string {
	for _, k := range []string{roofline.Given, "measured", "theoretical"} {
		if strings.HasPrefix(q.From, k) {
			return k
		}
	}
	return ""
}

// Provenance names the kinds of the ceilings that results are drawn with (of
// DRAM, the levels and the precisions that they have points of), where they are
// not all the profile's: "given", "of the profile and theoretical".
func Provenance(rs []roofline.Result) string {
	var kinds []string
	see := func(q roofline.Quantity) {
		if k := Kind(q); q.OK && !slices.Contains(kinds, k) {
			kinds = append(kinds, k)
		}
	}
	for i := range rs {
		for _, t := range rs[i].Traffic {
			if t.Level == roofline.DRAM || t.Bytes.OK {
				see(t.Ceiling)
			}
		}
		for _, p := range Precisions(rs[i]) {
			see(rs[i].Work[p].Ceiling)
		}
	}
	sort.Strings(kinds)
	if len(kinds) > 0 && kinds[0] == "" {
		if kinds = kinds[1:]; len(kinds) > 0 {
			kinds = append([]string{"of the profile"}, kinds...)
		}
	}
	if n := len(kinds); n > 1 {
		return strings.Join(kinds[:n-1], ", ") + " and " + kinds[n-1]
	}
	return strings.Join(kinds, "")
}

// extent is a frame around points and ridges, with room for labels.
func extent(pts []point, c roofs) (xmin, xmax, ymin, ymax float64) {
	xmin, ymin = math.Inf(1), math.Inf(1)
	for _, p := range pts {
		xmin, xmax = math.Min(xmin, p.x), math.Max(xmax, p.x)
		ymin, ymax = math.Min(ymin, p.y), math.Max(ymax, p.y)
	}
	top := 0.0
	for _, f := range c.flats {
		top = math.Max(top, f.y)
		for _, s := range c.slopes {
			xmin, xmax = math.Min(xmin, f.y/s.perX), math.Max(xmax, f.y/s.perX)
		}
	}
	for _, w := range c.walls {
		xmin, xmax = math.Min(xmin, w.x), math.Max(xmax, w.x)
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
	return save(p, path)
}

func save(p *plot.Plot, path string) error {
	if err := p.Save(Width, Height, path); err != nil {
		return fmt.Errorf("writing the roofline to %s: %w", path, err)
	}
	return nil
}

// Width and Height are the size of a saved plot.
const (
	Width  = 7.5 * vg.Inch
	Height = 4.5 * vg.Inch
)
