package chart

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"image/color"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
	"github.com/rooflab/rooflab/modeling/timeline"
)

//go:embed timeline.js
var script string

// drawing is what the page's script draws: times in ns from the origin.
type drawing struct {
	From   int64        `json:"from"`
	To     int64        `json:"to"`
	Lanes  []string     `json:"lanes"`
	Marks  []int        `json:"marks"` // lanes before which a line separates devices
	Names  []string     `json:"names"`
	Fills  []string     `json:"fills"`  // colours
	Bands  [][2]float64 `json:"bands"`  // low, high, of bars' kinds
	Bars   [][9]int64   `json:"bars"`   // lane, start, length, name, fill, band, launches, busy, launch id
	Legend [][3]any     `json:"legend"` // name, fill, band
}

// builder numbers what bars share.
type builder struct {
	drawing
	names map[string]int
	fills map[color.RGBA]int
	bands map[[2]float64]int
}

func number[K comparable](of map[K]int, k K, add func()) int64 {
	i, ok := of[k]
	if !ok {
		i = len(of)
		of[k] = i
		add()
	}
	return int64(i)
}

func (b *builder) fill(c color.RGBA) int64 {
	return number(b.fills, c, func() { b.Fills = append(b.Fills, fmt.Sprintf("#%02x%02x%02x", c.R, c.G, c.B)) })
}

func (b *builder) band(low, high float64) int64 {
	k := [2]float64{low, high}
	return number(b.bands, k, func() { b.Bands = append(b.Bands, k) })
}

func (b *builder) name(n string) int64 {
	return number(b.names, n, func() { b.Names = append(b.Names, n) })
}

// HTML draws a view as a part of a page that needs nothing else: it zooms
// (wheel, or + and -) and moves (dragging, or arrows), and shows name, length and
// launch of what the pointer is on. Its size depends on the view's options.
func HTML(v *timeline.View) (string, error) {
	if v == nil || len(v.Lanes) == 0 {
		return "", errors.New("drawing a timeline: the view has no lanes")
	}
	b := &builder{names: map[string]int{}, fills: map[color.RGBA]int{}, bands: map[[2]float64]int{}}
	b.From, b.To, b.Marks, b.Bars = v.From-v.Origin, v.To-v.Origin, []int{}, [][9]int64{}
	known := newColours(v)
	for i, l := range v.Lanes {
		b.Lanes = append(b.Lanes, l.Title)
		if l.Marks && i > 0 {
			b.Marks = append(b.Marks, i)
		}
		for _, r := range l.Bars {
			low, high := band(r.Class)
			name := r.Name
			if r.Class == timeline.Communication {
				name += " (communication)"
			}
			b.Bars = append(b.Bars, [9]int64{int64(i), r.From - v.Origin, r.To - r.From, b.name(name), b.fill(known.of(r)), b.band(low, high), int64(r.Launches), int64(r.Busy), r.Launch})
		}
		for _, g := range l.Gaps {
			from, to := max(g.From, v.From), min(g.To, v.To)
			name := "gap, " + string(g.Wait)
			for _, a := range g.Host {
				name += "; host in " + a.Name + " " + tabular.Quantity(a.Time.Seconds(), "s")
			}
			b.Bars = append(b.Bars, [9]int64{int64(i), from - v.Origin, to - from, b.name(name), b.fill(wait(g.Wait)), b.band(0.5, 0.9), 0, int64(g.Time()), g.After.Launch})
		}
		for _, s := range l.Stretch {
			from, to := max(s.From, v.From), min(s.To, v.To)
			name := fmt.Sprintf("launch-bound: %d launches, idle for %s", s.Launches, tabular.Quantity(s.Idle.Seconds(), "s"))
			b.Bars = append(b.Bars, [9]int64{int64(i), from - v.Origin, to - from, b.name(name), b.fill(bound), b.band(0.1, 0.4), 0, int64(s.Busy), s.First.Launch})
		}
	}
	for _, e := range entries(v) {
		b.Legend = append(b.Legend, [3]any{e.name, b.fill(e.colour), b.band(e.low, e.high)})
	}
	data, err := json.Marshal(b.drawing) // < > & and line separators come out escaped
	if err != nil {
		return "", fmt.Errorf("drawing a timeline: %w", err)
	}
	h := fnv.New64a()
	_, _ = h.Write(data) // a hash takes everything
	id := fmt.Sprintf("rl-timeline-%x", h.Sum64())
	height := 24*len(v.Lanes) + 34
	var out strings.Builder
	fmt.Fprintf(&out, `<div id="%s" class="rl-timeline" style="position:relative;color:inherit;font:12px system-ui,sans-serif">`, id)
	fmt.Fprintf(&out, `<canvas tabindex="0" role="img" aria-label="%s" style="width:100%%;height:%dpx;display:block;cursor:grab"></canvas>`, display.Escape(plain(v)), height)
	out.WriteString(`<div class="legend" style="margin:.3em 0"></div><div class="tip" style="position:absolute;display:none;pointer-events:none;padding:.3em .5em;max-width:32em;overflow-wrap:anywhere;` +
		`background:#222;color:#fff;border:1px solid #888;border-radius:3px;z-index:9"></div>`)
	out.WriteString(`<div style="opacity:.75">Wheel or + and - zoom, dragging or arrow keys move, double click or 0 shows all.`)
	for _, n := range v.Notes {
		out.WriteString(" " + display.Escape(n) + ".")
	}
	out.WriteString("</div><noscript>The timeline needs scripts; its tables do not.</noscript></div>")
	out.WriteString("<script>(function(){const data=" + string(data) + ";\n" + strings.ReplaceAll(script, "@ID@", id) + "})();</script>")
	return out.String(), nil
}

// plain is a view in a sentence.
func plain(v *timeline.View) string {
	bars := 0
	for _, l := range v.Lanes {
		bars += len(l.Bars)
	}
	return fmt.Sprintf("timeline of %s, %d lanes, %d bars", tabular.Quantity(float64(v.To-v.From)*1e-9, "s"), len(v.Lanes), bars)
}

// Page is HTML as a page of its own, in the reader's dark or light.
func Page(v *timeline.View) (string, error) {
	body, err := HTML(v)
	if err != nil {
		return "", err
	}
	return `<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"><title>Timeline</title></head>` +
		`<body style="font-family:system-ui,sans-serif;margin:1em">` + body + "</body></html>\n", nil
}

// Interactive shows a view in a notebook.
func Interactive(v *timeline.View) (display.Bundle, error) {
	body, err := HTML(v)
	if err != nil {
		return display.Bundle{}, err
	}
	return display.Bundle{Data: map[string]any{"text/plain": plain(v), "text/html": body}}, nil
}
