package calltree

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Colours of a flame graph.
const (
	Modules = "modules" // the six modules with the most exclusive time each have one
	Heat    = "heat"    // by the exclusive value: pale for none, vermilion for the largest
	Changes = "changes" // of a comparison: blue for less than before, orange for more
)

// FlameOptions say how a flame graph is drawn. The zero value is ready to use.
type FlameOptions struct {
	// Icicle puts roots at the top and lets calls hang down, else roots are at
	// the bottom and calls stand on them, as flames.
	Icicle bool
	// Colour is Modules or Heat; "" is Modules where there are several, else
	// Heat. Comparisons have Changes.
	Colour string
	Title  string
	Width  int // of the picture in pixels, 0 is 1200
	// Bytes bounds the size of the picture as text, 0 is 1.8 million: the widest
	// frames are drawn.
	Bytes int
}

// Frame is a node as a rectangle.
type Frame struct {
	Node  *Node
	Depth int
	X, W  float64 // parts of the picture's width
	Fill  color.RGBA
	// Squeezed: its children have more than it has, and are drawn narrower than
	// they are for the sake of fitting in.
	Squeezed bool
}

// Legend is a colour with what it means.
type Legend struct {
	Fill color.RGBA
	Text string
}

// Picture is a flame graph: the width of a frame is the inclusive value of a
// node. It is laid out once and drawn as SVG, HTML, or by package chart.
type Picture struct {
	Frames  []Frame // each after the one below it
	Depth   int     // how many rows of frames there are
	Legend  []Legend
	Title   string
	Options FlameOptions

	tree *Tree
	cmp  *Comparison
	left int // nodes that are not drawn

	share func(datasets.Null[float64]) float64
}

const (
	thinnest = 0.4 // pixels: what is narrower is not drawn
	deepest  = 300 // rows
)

// Flame lays out a tree as a flame graph. Siblings of one name are one frame
// (see Merge); they stand in the order of their names, so that pictures of two
// runs can be compared. Frames narrower than 0.4 pixels and calls deeper than
// 300 are left out, which the picture says.
func Flame(t *Tree, opt ...FlameOptions) *Picture {
	t = t.Merge()
	p := &Picture{tree: t}
	if len(opt) > 0 {
		p.Options = opt[0]
	}
	p.layout(func(n *Node) float64 { return t.Inclusive(n).V })
	p.paint()
	return p
}

// Flame lays out a comparison as a flame graph: the width of a frame is the
// larger of before and after, its colour the change.
func (c *Comparison) Flame(opt ...FlameOptions) *Picture {
	p := &Picture{tree: c.Tree, cmp: c}
	if len(opt) > 0 {
		p.Options = opt[0]
	}
	wide := map[*Node]float64{}
	all := slices.Collect(c.Tree.All())
	for _, n := range slices.Backward(all) {
		below := 0.0
		for _, child := range n.Children {
			below += wide[child]
		}
		wide[n] = max(n.Values[0].Inclusive.V, n.Values[1].Inclusive.V, below)
	}
	p.layout(func(n *Node) float64 { return wide[n] })
	p.paintChanges()
	return p
}

func (p *Picture) layout(width func(*Node) float64) {
	o := &p.Options
	if o.Width <= 0 {
		o.Width = 1200
	}
	if o.Bytes <= 0 {
		o.Bytes = 1_800_000
	}
	p.share = p.tree.shares()
	p.Title = cmp.Or(o.Title, p.heading())
	least := thinnest / float64(o.Width)
	type item struct {
		n     *Node
		depth int
		x, w  float64
	}
	var stack []item
	place := func(ns []*Node, depth int, x, w float64) {
		order := slices.Clone(ns)
		slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Kind, b.Kind)) })
		sum := 0.0
		for _, n := range order {
			sum += max(0, width(n))
		}
		if !(sum > 0) {
			return
		}
		var below []item
		for _, n := range order {
			part := max(0, width(n)) / sum * w
			if part >= least {
				below = append(below, item{n, depth, x, part})
			}
			x += part
		}
		slices.Reverse(below)
		stack = append(stack, below...)
	}
	place(p.tree.Roots, 0, 0, 1)
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		f := Frame{Node: at.n, Depth: at.depth, X: at.x, W: at.w}
		own, below := width(at.n), 0.0
		for _, c := range at.n.Children {
			below += max(0, width(c))
		}
		f.Squeezed = below > own*(1+1e-6)
		p.Frames = append(p.Frames, f)
		p.Depth = max(p.Depth, at.depth+1)
		if below > 0 && at.depth+1 < deepest {
			place(at.n.Children, at.depth+1, at.x, at.w*min(1, below/own))
		}
	}
	p.left = p.tree.Len() - len(p.Frames)
}

func (p *Picture) heading() string {
	t := p.tree
	if p.cmp != nil {
		return fmt.Sprintf("%s: %s before, %s after (%s)", strings.TrimSuffix(t.Metric().Name, " after"), t.quantity(p.cmp.Before), t.quantity(p.cmp.After), signed(p.cmp.Total().Relative))
	}
	return t.title()
}

// Okabe and Ito's colours, a third of the way to white, on which dark text can
// be read: blue, vermilion, green, purple, orange and yellow.
var palette = []color.RGBA{
	pale(0x00, 0x72, 0xb2), pale(0xd5, 0x5e, 0x00), pale(0x00, 0x9e, 0x73), pale(0xcc, 0x79, 0xa7), pale(0xe6, 0x9f, 0x00), pale(0xf0, 0xe4, 0x42),
}

var (
	white     = color.RGBA{0xf4, 0xf4, 0xf0, 0xff}
	grey      = color.RGBA{0xc4, 0xc4, 0xc4, 0xff}
	vermilion = color.RGBA{0xe0, 0x7b, 0x2e, 0xff}
	blue      = color.RGBA{0x3d, 0x95, 0xc8, 0xff}
	hot       = color.RGBA{0xe0, 0x76, 0x26, 0xff}
)

func pale(r, g, b uint8) color.RGBA {
	return mix(color.RGBA{r, g, b, 0xff}, color.RGBA{0xff, 0xff, 0xff, 0xff}, 0.32)
}

// mix is part of the way (0 to 1) from a to b.
func mix(a, b color.RGBA, part float64) color.RGBA {
	of := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + part*(float64(y)-float64(x)))) }
	return color.RGBA{of(a.R, b.R), of(a.G, b.G), of(a.B, b.B), 0xff}
}

func (p *Picture) paint() {
	t := p.tree
	modules := t.Flatten(ByModule).Rows
	if p.Options.Colour == "" {
		p.Options.Colour = Heat
		if len(modules) > 1 {
			p.Options.Colour = Modules
		}
	}
	if p.Options.Colour != Modules {
		most := 0.0
		for _, f := range p.Frames {
			most = max(most, t.Exclusive(f.Node).V)
		}
		for i := range p.Frames {
			if f := &p.Frames[i]; most > 0 {
				// The root of the part: small values are seen, too.
				f.Fill = mix(white, hot, math.Sqrt(max(0, t.Exclusive(f.Node).V)/most))
			} else {
				f.Fill = white
			}
		}
		p.Legend = []Legend{{white, "no exclusive value"}, {mix(white, hot, 0.5), "a quarter of the largest"}, {hot, fmt.Sprintf("the largest, %s", tabular.Quantity(most, t.Metric().Unit))}}
		return
	}
	fill := map[string]color.RGBA{}
	others := 0
	for _, r := range modules {
		switch {
		case r.Name == unnamed, r.Name == together:
		case len(fill) < len(palette):
			c := palette[len(fill)]
			fill[r.Name] = c
			share := ""
			if s := p.share(r.Exclusive); !math.IsNaN(s) {
				share = ", " + tabular.Percent(s)
			}
			p.Legend = append(p.Legend, Legend{c, clean(base(r.Name), 32) + share})
		default:
			others++
		}
	}
	for i := range p.Frames {
		c, ok := fill[p.Frames[i].Node.Module]
		if !ok {
			c = grey
		}
		p.Frames[i].Fill = c
	}
	switch {
	case others > 0:
		p.Legend = append(p.Legend, Legend{grey, count(others, "other module") + ", or not known"})
	case slices.ContainsFunc(modules, func(r Row) bool { return r.Name == unnamed || r.Name == together }):
		p.Legend = append(p.Legend, Legend{grey, "module not known"})
	}
}

// base is the last part of a path.
func base(path string) string {
	if i := strings.LastIndexAny(path, `/\`); i >= 0 && i+1 < len(path) {
		return path[i+1:]
	}
	return path
}

func (p *Picture) paintChanges() {
	p.Options.Colour = Changes
	most := 0.0
	of := func(n *Node) float64 {
		return p.cmp.Exclusive(n).Absolute.V // what is not known is not coloured
	}
	for _, f := range p.Frames {
		most = max(most, math.Abs(of(f.Node)))
	}
	for i := range p.Frames {
		f := &p.Frames[i]
		f.Fill = white
		if most > 0 {
			to := vermilion
			if of(f.Node) < 0 {
				to = blue
			}
			f.Fill = mix(white, to, math.Sqrt(math.Abs(of(f.Node))/most))
		}
	}
	unit := p.cmp.Unit
	p.Legend = []Legend{{blue, "exclusive less by " + tabular.Quantity(most, unit)}, {white, "no change, or not known"}, {vermilion, "exclusive more by " + tabular.Quantity(most, unit)}}
}

// Tree is what the picture shows, siblings of one name merged.
func (p *Picture) Tree() *Tree { return p.tree }

// Axis says what the width of frames is.
func (p *Picture) Axis() string {
	if p.cmp != nil {
		return "the larger of before and after, share (%)"
	}
	return fmt.Sprintf("share of %s (%%)", p.tree.Metric().Name)
}

// Left says what is not drawn, "" for nothing.
func (p *Picture) Left() string {
	if p.left <= 0 {
		return ""
	}
	return fmt.Sprintf("%s too small to draw", count(p.left, "more node"))
}

// About are the facts of a frame as lines: the name, then values, then the place.
func (p *Picture) About(f Frame) []string {
	t, n := p.tree, f.Node
	lines := []string{clean(n.Name, 120)}
	if n.Raw != "" && n.Raw != n.Name {
		lines = append(lines, clean(n.Raw, 160))
	}
	if p.cmp != nil {
		line := func(what string, c Change) {
			lines = append(lines, fmt.Sprintf("%s: %s before, %s after, change %s (%s)", what, p.cmp.side(n, c.Before, "before"), p.cmp.side(n, c.After, "after"), p.cmp.plus(c.Absolute), signed(c.Relative)))
		}
		line("inclusive", p.cmp.Inclusive(n))
		line("exclusive", p.cmp.Exclusive(n))
	} else {
		lines = append(lines, fmt.Sprintf("inclusive %s, %s of all", t.quantity(t.Inclusive(n)), tabular.Percent(p.share(t.Inclusive(n)))),
			fmt.Sprintf("exclusive %s, %s of all", t.quantity(t.Exclusive(n)), tabular.Percent(p.share(t.Exclusive(n)))))
	}
	if known(n.Module) != "" {
		lines = append(lines, "module "+clean(n.Module, 80))
	}
	if where := n.where(); where != "" {
		lines = append(lines, clean(where, 100))
	}
	if f.Squeezed {
		lines = append(lines, "what it calls takes longer than it does: drawn narrower")
	}
	return lines
}

// Label is the name to write on the frame, printable, whole.
func (f Frame) Label() string { return f.Node.label(200) }
