package calltree_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/calltree"
)

// rect is a frame as an SVG file has it.
type rect struct {
	About            string
	X, Y, W          float64
	Fill, Text, Name string
}

// parse reads the frames of a picture and fails where it is no XML.
func parse(t *testing.T, svg string) []rect {
	t.Helper()
	var out []rect
	d := xml.NewDecoder(strings.NewReader(svg))
	var at string
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			at = x.Name.Local
			class, num := "", map[string]float64{}
			fill := ""
			for _, a := range x.Attr {
				switch a.Name.Local {
				case "class":
					class = a.Value
				case "fill":
					fill = a.Value
				case "x", "y", "width":
					num[a.Name.Local], _ = strconv.ParseFloat(a.Value, 64)
				default:
					if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "href" {
						t.Errorf("%s has %s=%q", at, a.Name.Local, a.Value)
					}
				}
			}
			open = append(open, class)
			if class == "f" {
				out = append(out, rect{})
			}
			if len(open) > 1 && open[len(open)-2] == "f" && at == "rect" {
				r := &out[len(out)-1]
				r.X, r.Y, r.W, r.Fill = num["x"], num["y"], num["width"], fill
			}
		case xml.EndElement:
			open = open[:len(open)-1]
			at = ""
		case xml.CharData:
			if len(open) < 2 || open[len(open)-2] != "f" {
				continue
			}
			r := &out[len(out)-1]
			switch at {
			case "title":
				r.About = string(x)
				r.Name, _, _ = strings.Cut(r.About, "\n")
			case "text":
				r.Text = string(x)
			}
		}
	}
}

func TestFramesAreAsWideAsTheirTime(t *testing.T) {
	// 16 s: main 12 (solve 8, write 2, itself 2), idle 4. 1600 pixels.
	tr := tree(t, node("main", 2, node("write", 2), node("solve", 8)), node("idle", 4))
	want := map[string]rect{ // idle comes before main, solve before write
		"idle": {X: 0, W: 400}, "main": {X: 400, W: 1200}, "solve": {X: 400, W: 800}, "write": {X: 1200, W: 200}}
	for _, icicle := range []bool{false, true} {
		frames := parse(t, calltree.Flame(tr, calltree.FlameOptions{Width: 1600, Icicle: icicle}).SVG())
		y := map[string]float64{}
		for _, f := range frames {
			if w := want[f.Name]; f.X != w.X || f.W != w.W || f.Text != f.Name {
				t.Errorf("%+v, want %+v", f, w)
			}
			y[f.Name] = f.Y
		}
		if len(frames) != 4 || (y["solve"] > y["main"]) != icicle || y["idle"] != y["main"] {
			t.Errorf("icicle %v: rows %v", icicle, y)
		}
	}
	pic := calltree.Flame(tr)
	frames := parse(t, pic.SVG())
	for _, f := range frames {
		if f.Name == "solve" && f.About != "solve\ninclusive 8 s, 50.0 % of all\nexclusive 8 s, 50.0 % of all" {
			t.Errorf("hover says %q", f.About)
		}
		// Heat: solve has the most itself.
		if hot := f.Fill == "#e07626"; hot != (f.Name == "solve") {
			t.Errorf("%s is %s", f.Name, f.Fill)
		}
	}
	if pic.Options.Colour != calltree.Heat || pic.Left() != "" {
		t.Errorf("%s, left %q", pic.Options.Colour, pic.Left())
	}
}

func TestModulesHaveColours(t *testing.T) {
	var ns []*calltree.Node
	for i := range 8 {
		n := node(fmt.Sprint("f", i), float64(10-i))
		n.Module = "???" // as callgrind says that it does not know
		if i < 7 {
			n.Module = fmt.Sprint("/lib/m", i)
		}
		ns = append(ns, n)
	}
	pic := calltree.Flame(tree(t, ns...))
	fills := map[string]string{}
	for _, f := range parse(t, pic.SVG()) {
		fills[f.Name] = f.Fill
	}
	distinct := map[string]bool{}
	for _, f := range fills {
		distinct[f] = true
	}
	// Six colours, and grey for the seventh module and for none.
	if len(distinct) != 7 || fills["f6"] != fills["f7"] {
		t.Errorf("fills %v", fills)
	}
	if l := pic.Legend; len(l) != 7 || l[0].Text != "m0, 19.2 %" || l[6].Text != "1 other module, or not known" { // 10 of 52
		t.Errorf("legend %+v", l)
	}
}

func TestChangesDiverge(t *testing.T) {
	before := tree(t, node("main", 0, node("slower", 2), node("faster", 8), node("same", 5), node("gone", 3)))
	after := tree(t, node("main", 0, node("slower", 6), node("faster", 4), node("same", 5)))
	c, err := calltree.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	frames := parse(t, c.Flame(calltree.FlameOptions{Width: 2200}).SVG())
	// The widest of both: 6 + 8 + 5 + 3 = 22 s.
	want := map[string]float64{"main": 2200, "slower": 600, "faster": 800, "same": 500, "gone": 300}
	fills := map[string]string{}
	for _, f := range frames {
		if f.W != want[f.Name] {
			t.Errorf("%s is %g wide, want %g", f.Name, f.W, want[f.Name])
		}
		fills[f.Name] = f.Fill
		if f.Name == "gone" && !strings.Contains(f.About, "exclusive: 3 s before, not there after, change -3 s (-100.0 %)") {
			t.Errorf("hover says %q", f.About)
		}
	}
	if len(frames) != 5 || fills["slower"] != "#e07b2e" || fills["faster"] != "#3d95c8" || fills["same"] != "#f4f4f0" || fills["gone"] == fills["faster"] {
		t.Errorf("fills %v", fills)
	}
}

var hostile = []string{
	`</title><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "a\x00b\x1b[31mred", "bad\xff\xfeutf8", "\u202Egnirts\u2066", "operator<<  <&>",
	"دالة_طويلة", "名前空間::関数", "]]></script>", "'; DROP TABLE", "\uFFFE\uFFFF", strings.Repeat("ab<", 5000), "", "line\nbreak",
}

func TestHostileNamesAreOnlyText(t *testing.T) {
	var ns []*calltree.Node
	for _, name := range hostile {
		n := node(name, 1)
		n.Raw, n.Module, n.File, n.Line = name, name, name, 3
		ns = append(ns, n)
	}
	tr := tree(t, node("main", 1, ns...))
	pic := calltree.Flame(tr, calltree.FlameOptions{Title: hostile[0]})
	frames := parse(t, pic.SVG())
	if len(frames) != len(hostile)+1 {
		t.Errorf("%d frames", len(frames))
	}
	if !slices.ContainsFunc(frames, func(f rect) bool { return f.Text == "(no n…" || f.Text == "(no name)" }) {
		t.Error("no frame is said to have no name")
	}
	c, err := calltree.Compare(tr, tr)
	if err != nil {
		t.Fatal(err)
	}
	parse(t, c.Flame().SVG())
	scripts := regexp.MustCompile(`(?i)<script`)
	for what, html := range map[string]string{"the flame graph": pic.Page(), "the tree": tr.Page(), "the table": tr.Flatten(calltree.ByName).Display().Data["text/html"].(string), "the comparison": c.Display().Data["text/html"].(string)} {
		if n := len(scripts.FindAllString(html, -1)); n > 1 || n == 1 && what != "the flame graph" {
			t.Errorf("%s has %d scripts", what, n)
		}
		for _, bad := range []string{"<img", "\x00", "\x1b", "\u202e", "\u2066", "\uFFFE"} {
			if strings.Contains(html, bad) {
				t.Errorf("%s has %q", what, bad)
			}
		}
		if strings.ToValidUTF8(html, "") != html {
			t.Errorf("%s is no UTF-8", what)
		}
	}
	for _, line := range strings.Split(tr.String(), "\n") {
		if len([]rune(line)) > 260 || strings.ContainsAny(line, "\x1b\x00\u202e") {
			t.Errorf("line %q", line)
		}
	}
	if plain, colour := tr.String(), tr.Text(calltree.TextOptions{Colour: true}); regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(colour, "") != plain {
		t.Error("without its colours the text is another")
	}
}

// big is a tree of about n nodes, most of them small.
func big(t *testing.T, n int) *calltree.Tree {
	t.Helper()
	rng := rand.New(rand.NewPCG(7, 7))
	root := node("main", 1)
	all := []*calltree.Node{root}
	for i := range n - 1 {
		x := node(fmt.Sprintf("namespace::Class<double, %d>::method_%d", i%977, i), math.Exp(rng.NormFloat64()))
		x.Module, x.File, x.Line = fmt.Sprint("/usr/lib/module", i%23, ".so"), fmt.Sprint("/home/user/src/file", i%101, ".cpp"), int64(i)
		p := all[max(0, len(all)-1-rng.IntN(min(len(all), 2000)))]
		p.Children = append(p.Children, x)
		all = append(all, x)
	}
	return tree(t, root)
}

func TestAMillionNodesAreDrawnInBoundedSize(t *testing.T) {
	const n = 1_000_000
	tr := big(t, n)
	pic := calltree.Flame(tr)
	svg := pic.SVG()
	frames := parse(t, svg)
	if len(svg) > 2e6 || len(pic.Page()) > 2e6 {
		t.Errorf("the picture has %d bytes", len(svg))
	}
	if want := fmt.Sprintf("%d nodes of %d too small to draw", n-len(frames), n); len(frames) < 1000 || !strings.Contains(svg, want) {
		t.Errorf("the picture has %d frames and does not say %q", len(frames), want)
	}
	if html := tr.HTML(); len(html) > 1e6 || !strings.Contains(html, "more nodes not shown") {
		t.Errorf("the tree as HTML has %d bytes", len(html))
	}
	pic.Options.Bytes = 100_000
	small := pic.SVG()
	if few := parse(t, small); len(small) > 110_000 || len(few) < 50 || len(few) >= len(frames) {
		t.Errorf("%d bytes, %d frames", len(small), len(few))
	}
}

func TestNothingToDrawIsSaid(t *testing.T) {
	for what, tr := range map[string]*calltree.Tree{"no nodes": tree(t), "no values": tree(t, node("a", math.NaN())), "zero": tree(t, node("a", 0))} {
		if svg := calltree.Flame(tr).SVG(); len(parse(t, svg)) != 0 || !strings.Contains(svg, "there is nothing to draw") {
			t.Errorf("%s: %s", what, svg)
		}
		_ = tr.Display()
	}
}
