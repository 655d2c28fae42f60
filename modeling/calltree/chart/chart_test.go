package chart_test

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/calltree"
	"github.com/rooflab/rooflab/modeling/calltree/chart"
)

func node(name, module string, exclusive float64, children ...*calltree.Node) *calltree.Node {
	return &calltree.Node{Name: name, Module: module, Children: children, Values: []calltree.Value{{Exclusive: datasets.Some(exclusive)}}}
}

func tree(t *testing.T) *calltree.Tree {
	t.Helper()
	tr, err := calltree.New([]calltree.Metric{{Name: "time", Unit: "s"}},
		node("main", "app", 2, node("solve_the_system", "app", 5, node("dgemm_", "libblas.so", 9)), node("write<File>", "libio.so", 4)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func svg(t *testing.T, pic *calltree.Picture) string {
	t.Helper()
	p, err := chart.Plot(pic)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(7*vg.Inch, 3*vg.Inch, "svg")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestAxesFramesAndModulesAreNamed(t *testing.T) {
	out := svg(t, calltree.Flame(tree(t)))
	// libblas has 9 of 20 s, the program 7, libio 4.
	for _, want := range []string{"share of time (%)", "call depth", ">main<", ">solve_the_system<", ">dgemm_<", ">write&lt;File&gt;<", "libblas.so, 45.0 %", "app, 35.0 %", "libio.so, 20.0 %"} {
		if !strings.Contains(out, want) {
			t.Errorf("the plot lacks %q", want)
		}
	}
	c, err := calltree.Compare(tree(t), tree(t))
	if err != nil {
		t.Fatal(err)
	}
	if out := svg(t, c.Flame()); !strings.Contains(out, "the larger of before and after") || !strings.Contains(out, "no change, or not known") {
		t.Error("the plot of a comparison does not say what it shows")
	}
}

func TestSavedColoursCoverTheirShares(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f.png")
	pic := calltree.Flame(tree(t))
	if err := chart.Save(pic, path); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	img, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	pixels := map[color.RGBA]float64{}
	for x := range img.Bounds().Dx() {
		for y := range img.Bounds().Dy() {
			pixels[color.RGBAModel.Convert(img.At(x, y)).(color.RGBA)]++
		}
	}
	// Areas of frames, in rows of the whole width: libblas.so 9/20; the program
	// 20/20 and 14/20; libio.so 4/20. Names and edges take some of them.
	blas, app, io := pixels[pic.Legend[0].Fill], pixels[pic.Legend[1].Fill], pixels[pic.Legend[2].Fill]
	if math.Abs(app/blas-34.0/9) > 0.4 || math.Abs(blas/io-9.0/4) > 0.4 || blas < 1000 {
		t.Errorf("%g, %g and %g pixels", blas, app, io)
	}
}

func TestNothingToDrawIsAnError(t *testing.T) {
	if _, err := chart.Plot(nil); err == nil {
		t.Error("no error for no picture")
	}
	if err := chart.Save(calltree.Flame(tree(t)), filepath.Join(t.TempDir(), "f.xyz")); err == nil || !strings.Contains(err.Error(), "f.xyz") {
		t.Errorf("%v", err)
	}
}
