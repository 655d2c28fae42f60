package interactive_test

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	grob "github.com/MetalBlueberry/go-plotly/generated/v2.34.0/graph_objects"
	"github.com/janpfeifer/gonb/gonbui/plotly"

	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart/interactive"
)

// results are three kernels on a device of 10 Tflop/s, 800 GB/s and 2 TB/s;
// the first, with the most awkward name, does 4e9 flop over 2e9 byte in 3 of 4 ms.
func results() []roofline.Result {
	opt := roofline.Options{Bandwidth: map[roofline.Level]float64{roofline.DRAM: 800e9},
		Ceilings: roofline.Ceilings{Bandwidth: map[roofline.Level]roofline.Ceiling{roofline.L2: {Value: 2e12, From: "measured: a probe of L2"}},
			Peak: map[roofline.Precision]roofline.Ceiling{roofline.FP32: {Value: 10e12, From: "theoretical: data sheet"}}}}
	return roofline.AnalyseAll([]roofline.Launch{
		{Kernel: `k<int, '"', "</script>">::run`, Metrics: map[string]float64{"time.duration": 3e-3, "flop.fp32": 4e9, "byte.dram": 2e9, "byte.l2": 3e9}},
		{Kernel: "small", Metrics: map[string]float64{"time.duration": 1e-3, "flop.fp32": 1e9, "byte.dram": 1e8}},
		{Kernel: "nothing known"},
	}, opt)
}

func figure(t *testing.T, rs []roofline.Result) *interactive.Figure {
	t.Helper()
	f, err := interactive.Plot(rs)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// 4e9 flop in 3 ms are 1.33 Tflop/s at 2 flop/byte, whose roof is 1.6 Tflop/s:
// 83.3 %. At that roof the kernel would take 2.5 ms.
func TestTheFigureForPlotly(t *testing.T) {
	b := figure(t, results()).Display()
	raw, err := json.Marshal(b.Data["application/vnd.plotly.v1+json"])
	if err != nil {
		t.Fatal(err)
	}
	var fig grob.Fig
	if err := json.Unmarshal(raw, &fig); err != nil {
		t.Fatalf("plotly's own types do not read the figure: %v", err)
	}
	var plain struct {
		Data []struct {
			Name      string
			Hovertext json.RawMessage
			X         []float64
			Marker    struct{ Size json.RawMessage }
		}
		Layout struct {
			Title        struct{ Text string }
			Xaxis, Yaxis struct {
				Type  string
				Title struct{ Text string }
			}
		}
	}
	if err := json.Unmarshal(raw, &plain); err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	hover := ""
	for _, d := range plain.Data {
		names[d.Name] = true
		var texts []string
		if json.Unmarshal(d.Hovertext, &texts) == nil {
			hover += strings.Join(texts, "\n") + "\n"
		}
	}
	for _, want := range []string{"DRAM 800 GB/s (given)", "L2 2 TB/s (measured)", "FP32 10 Tflop/s (theoretical)", "small", "DRAM", "L2", "k&lt;int, &#39;&#34;&#39;, &#34;&lt;/script&gt;&#34;&gt;::run"} {
		if !names[want] {
			t.Errorf("no trace %q among %v", want, names)
		}
	}
	for _, want := range []string{"<b>k&lt;int, &#39;&#34;&#39;, &#34;&lt;/script&gt;&#34;&gt;::run</b>", "FP32 at DRAM: 2 flop/byte, 1.33 Tflop/s", "time 3 ms, 75 % of all", "83.3 % of the roof; DRAM 83.3 % used",
		"bound by DRAM bandwidth", "this kernel would take 2.5 ms instead of 3 ms"} {
		if !strings.Contains(strings.ReplaceAll(hover, "<br>", " "), want) {
			t.Errorf("nothing to point at says %q:\n%s", want, hover)
		}
	}
	l := plain.Layout
	if l.Xaxis.Type != "log" || l.Yaxis.Type != "log" || l.Xaxis.Title.Text != "Arithmetic intensity (flop/byte)" || l.Title.Text != "Roofline (ceilings given, measured and theoretical)" {
		t.Errorf("%+v", l)
	}
}

// The picture is well-formed, names what the chart names, and has a title for
// each of the three marks with the same text.
func TestThePictureHasTitles(t *testing.T) {
	f := figure(t, results())
	d := xml.NewDecoder(strings.NewReader(f.SVG))
	var titles []string
	inTitle := false
	for {
		tok, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := tok.(type) {
		case xml.StartElement:
			inTitle = e.Name.Local == "title"
		case xml.EndElement:
			inTitle = false
		case xml.CharData:
			if inTitle {
				titles = append(titles, string(e))
			}
		}
	}
	all := strings.Join(titles, "\n")
	if n := strings.Count(all, "of all"); n != 3 {
		t.Errorf("%d marks with titles, want 3", n)
	}
	for _, want := range []string{`k<int, '"', "</script>">::run`, "from measured: a probe of L2", "time 1 ms, 25 % of all"} {
		if !strings.Contains(all, want) {
			t.Errorf("no title has %q:\n%s", want, all)
		}
	}
	if !strings.Contains(f.SVG, "currentColor") || strings.Contains(f.SVG, `"#000`) {
		t.Error("the picture does not take the page's colour")
	}
}

func TestManyKernelsAreOneTrace(t *testing.T) {
	var rs []roofline.Result
	for i := range 400 {
		rs = append(rs, roofline.Analyse(roofline.Launch{Kernel: fmt.Sprint("k", i), Metrics: map[string]float64{"time.duration": float64(400 - i), "flop.fp64": 1e9 * float64(i+1), "byte.dram": 1e9}}, roofline.Options{}))
	}
	f := figure(t, rs)
	if n := len(f.Fig.Data); n != 12+1+1 { // named kernels, the rest, a shape of the legend
		t.Errorf("%d traces", n)
	}
	if !strings.Contains(f.SVG, "288 more, of less time; 100 not drawn") || !strings.Contains(f.SVG, "k299") || strings.Contains(f.SVG, "k300") {
		t.Error("the kernels with the most time are not those drawn")
	}
}

func TestNothingToPointAt(t *testing.T) {
	for _, rs := range [][]roofline.Result{nil, {roofline.Analyse(roofline.Launch{Kernel: "x"}, roofline.Options{})}} {
		if _, err := interactive.Plot(rs); err == nil {
			t.Error("no error")
		}
		if err := interactive.Save(rs, filepath.Join(t.TempDir(), "x.html")); err == nil {
			t.Error("no error")
		}
	}
	if err := interactive.Save(results(), filepath.Join(t.TempDir(), "no", "x.html")); err == nil || !strings.Contains(err.Error(), "x.html") {
		t.Errorf("%v", err)
	}
}

// stub stands for plotly.js: it writes what it was asked to draw into the plot.
const stub = `window.Plotly = {newPlot: function (div, data, layout, config) {
  div.textContent = "DREW " + data.length + " traces in " + layout.font.color + ": " + data.map(function (d) { return d.name; }).join("; ");
}};`

const broken = `window.Plotly = {newPlot: function () { throw new Error("no canvas"); }};`

// look opens a page in Chromium and returns what it holds once scripts ran.
func look(t *testing.T, script, dark string) string {
	t.Helper()
	chromium := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		t.Fatal("this test looks at a page in Chromium: on Debian or Ubuntu, apt-get install chromium")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if script == "" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = io.WriteString(w, script)
	}))
	defer server.Close()
	was := plotly.PlotlySrc
	plotly.PlotlySrc = server.URL + "/plotly.js"
	defer func() { plotly.PlotlySrc = was }()
	page := filepath.Join(t.TempDir(), "page.html")
	if err := interactive.Save(results(), page); err != nil {
		t.Fatal(err)
	}
	if dark != "" {
		raw, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(page, []byte(strings.Replace(string(raw), "color-scheme:light dark", "color-scheme:"+dark, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+page)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("looking at the page: %v\n%s", err, &said)
	}
	return string(out)
}

// With plotly.js the figure stands in the picture's place, in the page's
// colour; without it, or when it fails, the picture stays.
func TestThePageShowsThePictureUntilPlotlyDraws(t *testing.T) {
	const pictureShown, pictureGone = `<div data-part="picture">`, `<div data-part="picture" style="display: none;">`
	out := look(t, stub, "light")
	// Three ceilings, two kernels, two shapes of the legend, in black.
	if !strings.Contains(out, pictureGone) || !strings.Contains(out, "DREW 7 traces in rgb(0, 0, 0): DRAM 800 GB/s (given); L2 2 TB/s (measured); FP32 10 Tflop/s (theoretical); ") {
		t.Errorf("plotly.js did not draw:\n%s", out)
	}
	if out = look(t, stub, "dark"); !strings.Contains(out, "in rgb(255, 255, 255)") {
		t.Errorf("on a dark page the text is not light:\n%s", out)
	}
	if out = look(t, "", ""); !strings.Contains(out, pictureShown) || strings.Contains(out, "DREW") || !strings.Contains(out, "<svg") {
		t.Errorf("without plotly.js there is no picture:\n%s", out)
	}
	if out = look(t, broken, ""); !strings.Contains(out, `<div data-part="picture" style="display: block;">`) {
		t.Errorf("a failing plotly.js leaves no picture:\n%s", out)
	}
}

func ExamplePlot() {
	f, err := interactive.Plot(results())
	fmt.Println(f, err)
	// In a notebook f as the last line of a cell shows the chart.
	// Output: Roofline (ceilings given, measured and theoretical): 3 marks to point at (needs a front end that shows HTML or SVG) <nil>
}
