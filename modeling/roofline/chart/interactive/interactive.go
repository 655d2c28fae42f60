// Package interactive draws rooflines to point at: in flow results of package
// roofline, out flows a Figure that a notebook shows as it is. Each kernel's
// name, time, share, bound and distance to the roof stand at the pointer.
//
// A Figure carries three forms, and a front end takes the best that it can
// show. One is the figure for plotly (application/vnd.plotly.v1+json), which
// JupyterLab draws without a network where the plotly extension is installed
// (the PyPI package plotly brings it). The second is HTML that loads plotly.js
// from gonbui's plotly.PlotlySrc, a CDN unless it is set to a copy, and until
// then, or where it cannot be loaded, shows the third: a static SVG whose marks
// carry the same text as titles. Text and lines take the page's colour, light
// or dark.
package interactive

import (
	"errors"
	"fmt"
	"html"
	"math"
	"os"
	"slices"
	"sort"
	"strings"

	grob "github.com/MetalBlueberry/go-plotly/generated/v2.34.0/graph_objects"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart"
)

// Figure is an interactive roofline.
type Figure struct {
	// Fig is the figure of plotly. It may be changed before it is shown;
	// gonbui/plotly's DisplayFig shows it, too.
	Fig *grob.Fig
	// SVG is the static picture.
	SVG string

	title string
	marks int
}

// Of drawn kernels, those with the most time, named ones have a colour and a
// line of the legend; the others are grey and share one. All can be pointed at.
const (
	named = 12
	drawn = 300
)

// colours are Okabe and Ito's, without black, which a dark page hides.
var colours = []string{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"}

const rest = "#8c8c8c"

func colour(kernel int) string {
	if kernel >= named {
		return rest
	}
	return colours[kernel%len(colours)]
}

// scene is what a roofline shows, in the units of its axes.
type scene struct {
	title, x, y string
	xmin, xmax  float64
	ymin, ymax  float64
	ceilings    []ceiling
	marks       []mark
	kernels     []string // names, most time first
	left        int      // kernels of less time that are not drawn
	levels      []roofline.Level
}

// ceiling is a line from (x0, y0) to (x1, y1).
type ceiling struct {
	label          string
	text           string // where it comes from
	x0, y0, x1, y1 float64
	level          roofline.Level
	peak           bool
	below          bool // its label stands below it, since another peak is close above
}

// mark is a kernel at one level in one precision.
type mark struct {
	kernel int
	level  roofline.Level
	x, y   float64
	share  float64
	hollow bool
	text   []string // lines; the first is the kernel's name
}

// Plot makes the hierarchical roofline of results (of one machine): a mark per
// kernel, memory level and precision, as large as the kernel's share of the
// time. Results without work, time and bytes are left out; it is an error when
// none is left.
func Plot(results []roofline.Result) (*Figure, error) {
	s, err := sceneOf(results)
	if err != nil {
		return nil, err
	}
	return &Figure{Fig: s.figure(), SVG: s.svg(), title: s.title, marks: len(s.marks)}, nil
}

func sceneOf(results []roofline.Result) (*scene, error) {
	rs := make([]roofline.Result, 0, len(results))
	for _, r := range results {
		if _, ok := r.Dominant(); ok && r.Time.OK {
			rs = append(rs, r)
		}
	}
	sort.SliceStable(rs, func(i, j int) bool { return rs[i].Time.Value > rs[j].Time.Value })
	shares := chart.Shares(rs)
	left := len(rs) - min(len(rs), drawn)
	rs = rs[:len(rs)-left]
	s := &scene{left: left, title: "Roofline", x: "Arithmetic intensity (flop/byte)", y: "Performance (flop/s)"}
	if from := chart.Provenance(rs); from != "" {
		s.title += " (ceilings " + from + ")"
	}
	levels, used := map[roofline.Level]bool{}, map[roofline.Precision]bool{}
	for i, r := range rs {
		dominant, _ := r.Dominant()
		for _, p := range chart.Precisions(r) {
			for _, t := range r.Traffic {
				ai, rate := r.Intensity(t.Level, p), r.Work[p].Rate
				if ai.OK && rate.OK && ai.Value > 0 && rate.Value > 0 {
					s.marks = append(s.marks, mark{i, t.Level, ai.Value, rate.Value, shares[i], p != dominant, describe(r, t.Level, p, shares[i])})
					levels[t.Level], used[p] = true, true
				}
			}
		}
		s.kernels = append(s.kernels, r.Kernel)
	}
	if len(s.marks) == 0 {
		// The static chart says what is missing.
		_, err := chart.Plot(results)
		if err == nil {
			err = errors.New("no result has work, time and bytes of a level")
		}
		return nil, fmt.Errorf("an interactive chart: %w", err)
	}
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		if levels[l] {
			s.levels = append(s.levels, l)
		}
	}
	if used[roofline.Int] || used[roofline.TensorInt8] {
		s.x, s.y = "Arithmetic intensity (flop or op/byte)", "Performance (flop/s or op/s)"
	}
	s.addCeilings(rs, levels, used)
	return s, nil
}

// addCeilings adds the means over the results, and the range of the axes.
func (s *scene) addCeilings(rs []roofline.Result, levels map[roofline.Level]bool, used map[roofline.Precision]bool) {
	type limit struct {
		name, unit, from string
		v                float64
		level            roofline.Level
	}
	mean := func(name, unit string, of func(*roofline.Result) roofline.Quantity) (limit, bool) {
		l, n := limit{name: name, unit: unit}, 0
		for i := range rs {
			if q := of(&rs[i]); q.OK && q.Value > 0 {
				l.v += q.Value
				l.from = q.From
				n++
			}
		}
		l.v /= float64(max(n, 1))
		return l, n > 0
	}
	var slopes, flats []limit
	for l := roofline.DRAM; l <= roofline.Shared; l++ {
		if v, ok := mean(l.String(), "B/s", func(r *roofline.Result) roofline.Quantity { return r.Traffic[l].Ceiling }); ok && levels[l] {
			v.level = l
			slopes = append(slopes, v)
		}
	}
	for p := roofline.FP64; p <= roofline.TensorInt8; p++ {
		unit := "flop/s"
		if p.Integer() {
			unit = "op/s"
		}
		if v, ok := mean(p.String(), unit, func(r *roofline.Result) roofline.Quantity { return r.Work[p].Ceiling }); ok && used[p] {
			flats = append(flats, v)
		}
	}
	s.xmin, s.ymin = math.Inf(1), math.Inf(1)
	for _, m := range s.marks {
		s.xmin, s.xmax = math.Min(s.xmin, m.x), math.Max(s.xmax, m.x)
		s.ymin, s.ymax = math.Min(s.ymin, m.y), math.Max(s.ymax, m.y)
	}
	top, fastest := 0.0, 0.0
	for _, f := range flats {
		top = math.Max(top, f.v)
		for _, b := range slopes {
			s.xmin, s.xmax = math.Min(s.xmin, f.v/b.v), math.Max(s.xmax, f.v/b.v)
		}
	}
	s.ymax = math.Max(s.ymax, top)
	s.xmin, s.xmax, s.ymin, s.ymax = s.xmin/5, s.xmax*8, s.ymin/5, s.ymax*2.5
	if top == 0 {
		top = s.ymax
	}
	label := func(l limit) string {
		text := fmt.Sprintf("%s %s%s", l.name, chart.SI(l.v), l.unit)
		if k := chart.Kind(roofline.Quantity{OK: true, From: l.from}); k != "" {
			text += " (" + k + ")"
		}
		return text
	}
	for _, b := range slopes {
		fastest = math.Max(fastest, b.v)
		x0, x1 := math.Max(s.xmin, s.ymin/b.v), math.Min(top/b.v, s.xmax)
		if x1 > x0 {
			s.ceilings = append(s.ceilings, ceiling{label: label(b), text: b.from, x0: x0, y0: x0 * b.v, x1: x1, y1: x1 * b.v, level: b.level})
		}
	}
	sort.SliceStable(flats, func(i, j int) bool { return flats[i].v > flats[j].v })
	for i, f := range flats {
		x0 := s.xmin
		if fastest > 0 {
			x0 = math.Min(math.Max(s.xmin, f.v/fastest), s.xmax)
		}
		s.ceilings = append(s.ceilings, ceiling{label: label(f), text: f.from, x0: x0, y0: f.v, x1: s.xmax, y1: f.v, peak: true,
			below: i > 0 && math.Log(flats[i-1].v/f.v) < 0.05*math.Log(s.ymax/s.ymin)})
	}
}

// others names the kernels without a colour of their own, "" where there are none.
func (s *scene) others() string {
	if len(s.kernels) <= named {
		return ""
	}
	out := fmt.Sprintf("%d more, of less time", len(s.kernels)-named)
	if s.left > 0 {
		out += fmt.Sprintf("; %d not drawn", s.left)
	}
	return out
}

// layers are the marks in the order of drawing: kernels without a colour of
// their own, then the others, the most time first, so that small marks stay in
// reach.
func (s *scene) layers() []mark {
	out := slices.Clone(s.marks)
	sort.SliceStable(out, func(i, j int) bool { return out[i].kernel >= named && out[j].kernel < named })
	return out
}

// along is the part of a slope at which its label stands: far enough to the
// right for its text to stand left of it.
func (s *scene) along(c ceiling, room float64) float64 {
	part := [...]float64{0.3, 0.5, 0.4, 0.35, 0.6}[c.level]
	all := math.Log(s.xmax / s.xmin)
	f0, f1 := math.Log(c.x0/s.xmin)/all, math.Log(c.x1/s.xmin)/all
	return math.Min(0.9, math.Max(part, (room-f0)/(f1-f0)))
}

// describe is what stands at the pointer.
func describe(r roofline.Result, l roofline.Level, p roofline.Precision, share float64) []string {
	w, t := r.Work[p], r.Traffic[l]
	op := "flop"
	if p.Integer() {
		op = "op"
	}
	lines := []string{r.Kernel, fmt.Sprintf("%s at %s: %.3g %s/byte, %s%s/s", p, l, r.Intensity(l, p).Value, op, chart.SI(w.Rate.Value), op)}
	times := fmt.Sprintf("time %ss, %.3g %% of all", chart.SI(r.Time.Value), 100*share)
	if r.Launches > 1 {
		times += fmt.Sprintf(", %d launches", r.Launches)
	}
	lines = append(lines, times)
	if d := r.Distance(l, p); d.OK {
		lines = append(lines, fmt.Sprintf("%.3g %% of the roof; %s %s%% used", 100*d.Value, l, used(t.Used)))
	}
	lines = append(lines, r.Why)
	if what := r.WhatIf(l, p); what.Time.OK {
		lines = append(lines, what.Text)
	}
	return append(lines, r.Notes...)
}

func used(q roofline.Quantity) string {
	if !q.OK {
		return "? "
	}
	return fmt.Sprintf("%.3g ", 100*q.Value)
}

// String is the figure as a line of text.
func (f *Figure) String() string {
	return fmt.Sprintf("%s: %d marks to point at (needs a front end that shows HTML or SVG)", f.title, f.marks)
}

// Display is the figure in the forms of the package's comment.
func (f *Figure) Display() display.Bundle {
	page, figure, err := f.render()
	if err != nil {
		return display.Bundle{Data: map[string]any{"text/plain": f.String() + "\n" + err.Error(), "image/svg+xml": f.SVG}}
	}
	return display.Bundle{Data: map[string]any{"text/plain": f.String(), "text/html": page, plotlyMIME: figure}}
}

// Save writes results as a page of its own, which loads plotly.js as Figure's
// HTML does.
func Save(results []roofline.Result, path string) error {
	f, err := Plot(results)
	if err != nil {
		return err
	}
	fragment, _, err := f.render()
	if err != nil {
		return err
	}
	page := "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><meta name=\"color-scheme\" content=\"light dark\"><title>" +
		html.EscapeString(f.title) + "</title>\n<style>:root{color-scheme:light dark}body{font-family:sans-serif;margin:1em;max-width:75em;color:CanvasText;background:Canvas}</style></head>\n<body>\n" +
		fragment + "\n</body>\n</html>\n"
	if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
		return fmt.Errorf("writing the interactive roofline to %s: %w", path, err)
	}
	return nil
}

// shorten cuts the middle out of a name for the legend; the pointer shows all.
func shorten(name string, most int) string {
	r := []rune(name)
	if len(r) <= most {
		return name
	}
	return string(r[:most-9]) + "..." + string(r[len(r)-6:])
}

// wrap breaks a line at spaces to about a width.
func wrap(line string, width int) []string {
	var out []string
	at := ""
	for _, word := range strings.Fields(line) {
		if at != "" && len(at)+1+len(word) > width {
			out = append(out, at)
			at = ""
		}
		if at != "" {
			at += " "
		}
		at += word
	}
	return append(out, at)
}
