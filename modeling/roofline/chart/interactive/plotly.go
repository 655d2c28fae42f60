package interactive

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"strings"

	grob "github.com/MetalBlueberry/go-plotly/generated/v2.34.0/graph_objects"
	"github.com/MetalBlueberry/go-plotly/pkg/types"
	"github.com/janpfeifer/gonb/gonbui/plotly"

	"github.com/rooflab/rooflab/modeling/roofline"
)

const plotlyMIME = "application/vnd.plotly.v1+json"

var symbols = [...]grob.ScatterMarkerSymbol{
	roofline.DRAM: grob.ScatterMarkerSymbolCircle, roofline.L3: grob.ScatterMarkerSymbolDiamond, roofline.L2: grob.ScatterMarkerSymbolSquare,
	roofline.L1: grob.ScatterMarkerSymbolTriangleUp, roofline.Shared: grob.ScatterMarkerSymbolCross,
}

var hollow = [...]grob.ScatterMarkerSymbol{
	roofline.DRAM: grob.ScatterMarkerSymbolCircleOpen, roofline.L3: grob.ScatterMarkerSymbolDiamondOpen, roofline.L2: grob.ScatterMarkerSymbolSquareOpen,
	roofline.L1: grob.ScatterMarkerSymbolTriangleUpOpen, roofline.Shared: grob.ScatterMarkerSymbolCrossOpen,
}

var dash = [...]string{roofline.DRAM: "solid", roofline.L3: "longdash", roofline.L2: "dash", roofline.L1: "dot", roofline.Shared: "dashdot"}

// middling can be read on white and on black; the page's own colour replaces it
// where a script can ask for it.
const (
	middling = "#7a7a7a"
	gridded  = "rgba(127,127,127,0.25)"
)

// size is a mark's diameter in pixels: its area is the share of the time.
func size(share float64) float64 { return math.Max(7, 26*math.Sqrt(share)) }

// figure is the scene for plotly.
func (s *scene) figure() *grob.Fig {
	var data []types.Trace
	for _, c := range s.ceilings {
		// A third point between the ends carries a slope's label beside it.
		xs, ys, labels, at := []float64{c.x0, c.x1}, []float64{c.y0, c.y1}, []string{"", c.label}, grob.ScatterTextpositionTopLeft
		line := grob.ScatterLine{Color: middling, Width: types.N(1.4), Dash: types.S("solid")}
		if !c.peak {
			part := s.along(c, 0.21)
			xs = []float64{c.x0, c.x0 * math.Pow(c.x1/c.x0, part), c.x1}
			ys = []float64{c.y0, c.y0 * math.Pow(c.y1/c.y0, part), c.y1}
			labels, at = []string{"", c.label, ""}, grob.ScatterTextpositionMiddleLeft
			line.Dash = types.S(dash[c.level])
		}
		if c.below {
			at = grob.ScatterTextpositionBottomLeft
		}
		hover := escape(append([]string{c.label}, wrap("from "+c.text, 64)...))
		data = append(data, &grob.Scatter{Name: types.S(c.label), Mode: grob.ScatterMode("lines+text"), X: types.DataArray(xs), Y: types.DataArray(ys),
			Line: &line, Text: texts(labels), Textposition: types.ArrayOKValue(at), Showlegend: types.B(false),
			Hovertext: types.ArrayOKValue(types.S(hover)), Hovertemplate: types.ArrayOKValue(types.S("%{hovertext}<extra></extra>"))})
	}
	traces := map[int]*trace{}
	var order []int
	for _, m := range s.layers() {
		k := min(m.kernel, named)
		t := traces[k]
		if t == nil {
			t = &trace{}
			traces[k], order = t, append(order, k)
		}
		t.add(m)
	}
	for _, k := range order {
		name, rank := s.others(), 1100
		if k < named {
			name, rank = escape([]string{shorten(s.kernels[k], 40)}), 1000+k
		}
		data = append(data, traces[k].scatter(name, colour(k), rank))
	}
	for _, l := range s.levels { // what the shapes mean: entries of the legend without points
		data = append(data, &grob.Scatter{Name: types.S(l.String()), Mode: grob.ScatterModeMarkers, X: types.DataArray([]float64{-1}), Y: types.DataArray([]float64{-1}), // nowhere on a logarithmic axis
			Marker:     &grob.ScatterMarker{Symbol: types.ArrayOKValue(symbols[l]), Color: types.ArrayOKValue(types.UseColor(middling)), Size: types.ArrayOKValue(types.N(9))},
			Legendrank: types.N(float64(900 + int(l)))})
	}
	log := func(lo, hi float64) []float64 { return []float64{math.Log10(lo), math.Log10(hi)} }
	return &grob.Fig{
		Data: data,
		Layout: &grob.Layout{
			Title: &grob.LayoutTitle{Text: types.S(s.title)},
			Xaxis: &grob.LayoutXaxis{Title: &grob.LayoutXaxisTitle{Text: types.S(s.x)}, Type: grob.LayoutXaxisTypeLog, Range: log(s.xmin, s.xmax),
				Gridcolor: gridded, Linecolor: middling, Dtick: 1, Exponentformat: grob.LayoutXaxisExponentformatSI},
			Yaxis: &grob.LayoutYaxis{Title: &grob.LayoutYaxisTitle{Text: types.S(s.y)}, Type: grob.LayoutYaxisTypeLog, Range: log(s.ymin, s.ymax),
				Gridcolor: gridded, Linecolor: middling, Dtick: 1, Exponentformat: grob.LayoutYaxisExponentformatSI},
			Font:         &grob.LayoutFont{Color: middling},
			PaperBgcolor: "rgba(0,0,0,0)", PlotBgcolor: "rgba(0,0,0,0)", // the page's
			Hovermode: grob.LayoutHovermodeClosest, Hoverlabel: &grob.LayoutHoverlabel{Align: grob.LayoutHoverlabelAlignLeft},
			Height: types.N(480), Margin: &grob.LayoutMargin{L: types.N(70), R: types.N(20), T: types.N(50), B: types.N(55)},
		},
		Config: &grob.Config{Responsive: types.B(true), Displaylogo: types.B(false)},
	}
}

// trace collects the marks that share a colour.
type trace struct {
	x, y, size []float64
	symbol     []grob.ScatterMarkerSymbol
	hover      []string
}

func (t *trace) add(m mark) {
	t.x, t.y, t.size = append(t.x, m.x), append(t.y, m.y), append(t.size, size(m.share))
	shape := symbols[m.level]
	if m.hollow {
		shape = hollow[m.level]
	}
	t.symbol = append(t.symbol, shape)
	lines := []string{"<b>" + escape(wrap(m.text[0], 64)) + "</b>"}
	for _, l := range m.text[1:] {
		lines = append(lines, escape(wrap(l, 64)))
	}
	t.hover = append(t.hover, strings.Join(lines, "<br>"))
}

func (t *trace) scatter(name, colour string, rank int) *grob.Scatter {
	sizes := make([]types.NumberType, len(t.size))
	for i, v := range t.size {
		sizes[i] = types.N(v)
	}
	opacity := 1.0
	if colour == rest {
		opacity = 0.6
	}
	return &grob.Scatter{Name: types.S(name), Legendrank: types.N(float64(rank)), Mode: grob.ScatterModeMarkers, X: types.DataArray(t.x), Y: types.DataArray(t.y),
		Marker: &grob.ScatterMarker{Size: types.ArrayOKArray(sizes...), Symbol: types.ArrayOKArray(t.symbol...),
			Color: types.ArrayOKValue(types.UseColor(types.C(colour))), Opacity: types.ArrayOKValue(types.N(opacity)),
			Line: &grob.ScatterMarkerLine{Color: types.ArrayOKValue(types.UseColor("rgba(127,127,127,0.9)")), Width: types.ArrayOKValue(types.N(1))}},
		Hovertext: texts(t.hover), Hovertemplate: types.ArrayOKValue(types.S("%{hovertext}<extra></extra>"))}
}

func texts(lines []string) *types.ArrayOK[*types.StringType] {
	out := make([]types.StringType, len(lines))
	for i, l := range lines {
		out[i] = types.S(l)
	}
	return types.ArrayOKArray(out...)
}

// escape joins lines for plotly, which takes a few HTML tags in its texts.
func escape(lines []string) string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = html.EscapeString(l)
	}
	return strings.Join(out, "<br>")
}

// render is the figure as HTML, and as what plotly's MIME type holds.
func (f *Figure) render() (page string, figure map[string]any, err error) {
	raw, err := json.Marshal(f.Fig) // escapes <, > and &, so that it may stand in a script
	if err != nil {
		return "", nil, fmt.Errorf("writing the figure for plotly: %w", err)
	}
	if err := json.Unmarshal(raw, &figure); err != nil {
		return "", nil, fmt.Errorf("reading the figure of plotly back: %w", err)
	}
	src, err := json.Marshal(plotly.PlotlySrc)
	if err != nil {
		return "", nil, fmt.Errorf("writing the address of plotly.js: %w", err)
	}
	sum := sha256.Sum256(raw)
	page = strings.NewReplacer("ID", hex.EncodeToString(sum[:6]), "PICTURE", f.SVG, "FIGURE", string(raw), "SOURCE", string(src)).Replace(fragment)
	return page, figure, nil
}

// fragment shows the picture until plotly.js has drawn the figure in its place,
// in the page's colours. The same figure may stand on a page several times.
const fragment = `<div data-roofline="ID" style="max-width:100%">
<div data-part="picture">PICTURE</div>
<div data-part="plot" style="display:none;width:100%"></div>
<script>
(function () {
  var figure = FIGURE, source = SOURCE;
  var roots = document.querySelectorAll('[data-roofline="ID"]:not([data-seen])');
  roots.forEach(function (root) { root.setAttribute("data-seen", ""); });
  function draw(Plotly) {
    if (!Plotly || !Plotly.newPlot) { return; }
    roots.forEach(function (root) {
      var picture = root.querySelector('[data-part="picture"]'), plot = root.querySelector('[data-part="plot"]');
      var show = JSON.parse(JSON.stringify(figure)), colour = getComputedStyle(root).color;
      show.layout.font.color = colour;
      picture.style.display = "none";
      plot.style.display = "block";
      Promise.resolve().then(function () { return Plotly.newPlot(plot, show.data, show.layout, show.config); }).catch(function () {
        plot.style.display = "none";
        picture.style.display = "block";
      });
    });
  }
  if (window.Plotly) { draw(window.Plotly); return; }
  if (typeof window.requirejs === "function" && window.requirejs.config) {
    window.requirejs.config({paths: {plotly: source.replace(/\.js$/, "")}});
    window.requirejs(["plotly"], draw, function () {});
    return;
  }
  var script = document.createElement("script");
  script.src = source;
  script.charset = "utf-8";
  script.onload = function () { draw(window.Plotly); };
  document.head.appendChild(script);
})();
</script>
</div>`
