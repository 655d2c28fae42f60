package rich_test

import (
	"bytes"
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"

	"github.com/rooflab/rooflab/kernel/display"
	_ "github.com/rooflab/rooflab/kernel/display/rich"
)

func str(t *testing.T, b display.Bundle, mime string) string {
	t.Helper()
	s, ok := b.Data[mime].(string)
	if !ok {
		t.Fatalf("no %s in %v", mime, keys(b))
	}
	return s
}

func keys(b display.Bundle) (ks []string) {
	for k := range b.Data {
		ks = append(ks, k)
	}
	return ks
}

// wellFormed parses HTML of ours as XML: every element closed, attributes quoted.
func wellFormed(t *testing.T, html string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<x>" + html + "</x>"))
	d.Entity = xml.HTMLEntity
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("not well formed: %v in %s", err, html)
		}
	}
}

func TestDataFrameTable(t *testing.T) {
	df := dataframe.New(
		series.New([]string{"saxpy", "gemm"}, series.String, "kernel"),
		series.New([]float64{1e-7, math.NaN()}, series.Float, "time_s"),
		series.New([]any{12, nil}, series.Int, "regs"),
	)
	b := display.Render(df)
	want := "" +
		"     kernel  time_s  regs\n" +
		"     string   float   int\n" +
		"  0  saxpy    1e-07    12\n" +
		"  1  gemm       NaN    NA\n" +
		"[2 rows x 3 columns]"
	if got := str(t, b, "text/plain"); got != want {
		t.Errorf("text:\n%s\nwant:\n%s", got, want)
	}
	html := str(t, b, "text/html")
	wellFormed(t, html)
	for _, want := range []string{">saxpy</td>", ">1e-07</td>", ">NaN</td>", ">NA</td>", ">float</th>", "2 rows x 3 columns", "overflow:auto"} {
		if !strings.Contains(html, want) {
			t.Errorf("html lacks %q: %s", want, html)
		}
	}
	if n := strings.Count(html, "text-align:right;padding:.15em .6em;white-space:nowrap\">"); n != 4 {
		t.Errorf("%d right-aligned cells, want 4 (two numeric columns, two rows)", n)
	}
	if regexp.MustCompile(`(?i)background(-color)?:\s*(white|#fff|rgb)`).MatchString(html) {
		t.Error("a table must not force a background")
	}
	if got, want := display.Render(&df).Data["text/plain"], b.Data["text/plain"]; got != want {
		t.Error("a pointer to a frame shows otherwise than the frame")
	}
}

func TestDataCannotInjectMarkup(t *testing.T) {
	evil := `<script>alert("x")</script>'"&<img src=x onerror=y>`
	df := dataframe.New(series.New([]string{evil, strings.Repeat(evil, 100)}, series.String, evil))
	b := display.Render(df)
	html := str(t, b, "text/html")
	wellFormed(t, html)
	for _, v := range []any{df, series.New([]string{evil}, series.String, evil), errors.New(evil)} {
		html := str(t, display.Render(v), "text/html")
		wellFormed(t, html)
		if strings.Contains(html, "<script") || strings.Contains(html, "<img") {
			t.Errorf("%T lets markup through: %s", v, html)
		}
	}
	if esc := str(t, display.Render(series.New([]string{"\x1b[31mred\nline"}, series.String, "s")), "text/plain"); strings.Contains(esc, "\x1b") {
		t.Errorf("terminal control passes: %q", esc)
	}
}

func TestLongFramesShowBothEnds(t *testing.T) {
	n := 100000
	xs := make([]int, n)
	for i := range xs {
		xs[i] = i
	}
	b := display.Render(dataframe.New(series.New(xs, series.Int, "i")))
	text := str(t, b, "text/plain")
	for _, want := range []string{"\n   19     19\n", "(99,970 rows)", "\n99999  99999\n", "[100,000 rows x 1 column, not shown: 99,970 rows in the middle]"} {
		if !strings.Contains(text, want) {
			t.Errorf("text lacks %q:\n%s", want, text)
		}
	}
	html := str(t, b, "text/html")
	wellFormed(t, html)
	if got := strings.Count(html, "<tr>"); got != 2+20+1+10 {
		t.Errorf("%d table rows", got)
	}
	var cols []series.Series
	for i := range 300 {
		cols = append(cols, series.New([]float64{float64(i)}, series.Float, fmt.Sprintf("column_%03d", i)))
	}
	wide := display.Render(dataframe.New(cols...))
	for _, l := range strings.Split(str(t, wide, "text/plain"), "\n") {
		if len(l) > 121 {
			t.Errorf("line of %d columns: %q", len(l), l)
		}
	}
	// 120 columns of text: the first of the index, then columns of 10 and 2.
	if text := str(t, wide, "text/plain"); !strings.Contains(text, "  column_005  ...  column_297  ") || !strings.Contains(text, "  column_299\n") ||
		!strings.Contains(text, "[1 row x 300 columns, not shown: 291 columns in between]") {
		t.Errorf("not both ends:\n%s", text)
	}
	if !strings.Contains(str(t, wide, "text/html"), "not shown: 200 columns on the right") {
		t.Error("cut columns are not stated")
	}
}

func TestBrokenFrameShowsItsError(t *testing.T) {
	df := dataframe.New(series.New([]int{1}, series.Int, "a"), series.New([]int{1, 2}, series.Int, "b"))
	if got := str(t, display.Render(df), "text/plain"); !strings.Contains(got, "DataFrame with an error") {
		t.Errorf("got %q", got)
	}
	if got := str(t, display.Render(dataframe.DataFrame{}), "text/plain"); !strings.Contains(got, "0 rows x 0 columns") {
		t.Errorf("empty: %q", got)
	}
}

func TestPlotsAreSVGWhenSmallAndPNGWhenLarge(t *testing.T) {
	draw := func(n int) *plot.Plot {
		p := plot.New()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = "losses", "step", "loss"
		p.BackgroundColor = nil
		xy := make(plotter.XYs, n)
		for i := range xy {
			xy[i].X, xy[i].Y = float64(i), math.Sin(float64(i))
		}
		s, err := plotter.NewLine(xy)
		if err != nil {
			t.Fatal(err)
		}
		p.Add(s)
		return p
	}
	b := display.Render(draw(100))
	svg := str(t, b, "image/svg+xml")
	if !strings.Contains(svg, "<svg") || !strings.Contains(svg, "fill:#FFFFFF") || !strings.Contains(svg, "losses") {
		t.Errorf("SVG without background or title: %.600s", svg)
	}
	if got := str(t, b, "text/plain"); !strings.HasPrefix(got, `plot "losses", "loss" over "step", x from 0 to 99, y from -0.9`) {
		t.Errorf("text %q", got)
	}
	p := draw(50000)
	b = display.Render(p)
	if b.Data["image/svg+xml"] != nil {
		t.Error("50,000 points as SVG")
	}
	raw, err := base64.StdEncoding.DecodeString(str(t, b, "image/png"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	if w := img.Bounds().Dx(); w != 1440 { // 7.5 inches at 192 dots
		t.Errorf("PNG is %d pixels wide", w)
	}
	if r, g, bl, a := img.At(0, 0).RGBA(); r&g&bl&a != 0xffff {
		t.Errorf("corner is %x %x %x %x, want opaque white", r, g, bl, a)
	}
	if p.BackgroundColor != nil {
		t.Error("showing a plot changed it")
	}
}

func TestMatricesTensorsImagesErrors(t *testing.T) {
	m := mat.NewDense(2, 2, []float64{1, 2, 3, 4.5})
	if got, want := str(t, display.Render(m), "text/plain"), "mat.Dense, 2 x 2\n⎡1    2⎤\n⎣3  4.5⎦"; got != want {
		t.Errorf("matrix %q, want %q", got, want)
	}
	if got := str(t, display.Render(mat.NewDense(100, 100, nil)), "text/plain"); strings.Count(got, "\n") > 15 || !strings.Contains(got, "100 x 100") {
		t.Errorf("large matrix:\n%s", got)
	}
	if got := str(t, display.Render(&mat.Dense{}), "text/plain"); !strings.Contains(got, "(empty)") {
		t.Errorf("empty matrix %q", got)
	}
	x := tensors.FromValue([][]float32{{1, 2}, {3, 4}})
	if got, want := str(t, display.Render(x), "text/plain"), "tensor (Float32)[2, 2], 4 values, 16 bytes\n[[1 2] [3 4]]"; got != want {
		t.Errorf("tensor %q, want %q", got, want)
	}
	if err := x.FinalizeAll(); err != nil {
		t.Fatal(err)
	}
	if got := str(t, display.Render(x), "text/plain"); !strings.Contains(got, "tensor without values") {
		t.Errorf("finalized tensor %q", got)
	}
	img := image.NewRGBA(image.Rect(0, 0, 3, 2))
	raw, err := base64.StdEncoding.DecodeString(str(t, display.Render(img), "image/png"))
	if err != nil {
		t.Fatal(err)
	}
	back, err := png.Decode(bytes.NewReader(raw))
	if err != nil || back.Bounds().Dx() != 3 {
		t.Errorf("image comes back as %v, %v", back, err)
	}
	if got := str(t, display.Render(image.NewUniform(color.White)), "text/plain"); !strings.Contains(got, "too large") {
		t.Errorf("infinite image %q", got)
	}
	err = fmt.Errorf("reading a.csv: %w", io.ErrUnexpectedEOF)
	b := display.Render(err)
	if b.Data["text/plain"] != "reading a.csv: unexpected EOF" || !strings.Contains(str(t, b, "text/html"), "*fmt.wrapError &larr; *errors.errorString") {
		t.Errorf("error %v", b.Data)
	}
	var nilImage *image.RGBA
	var nilFrame *dataframe.DataFrame
	var nilPlot *plot.Plot
	for _, v := range []any{nilImage, nilFrame, nilPlot, (*mat.Dense)(nil), (*tensors.Tensor)(nil)} {
		if got := str(t, display.Render(v), "text/plain"); got != "<nil>" {
			t.Errorf("%T nil: %q", v, got)
		}
	}
}
