package chart_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/internal/imagetest"
	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart"
)

// A kernel that takes a third of the time after a change, with a quarter of the
// bytes of DRAM and L2: its points move up, two of them to the right.
func TestAChangeIsDrawnAsBefore(t *testing.T) {
	p, err := chart.Change(made("stencil", 6e-4, 0, 4e8, 7e8, 2.6e9, 3e8), made("stencil", 2e-4, 0, 1e8, 1.75e8, 2.6e9, 3e8))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(p.Title.Text, ", before and after") {
		t.Errorf("the title is %q", p.Title.Text)
	}
	w, err := p.WriterTo(chart.Width, chart.Height, "png")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	imagetest.PNG(t, out.Bytes(), "testdata/change.png", 0.002)
}

func TestAChangeWithoutPointsSaysWhatIsLacking(t *testing.T) {
	whole := made("stencil", 6e-4, 0, 4e8, 7e8, 2.6e9, 3e8)
	without := roofline.Analyse(roofline.Launch{Kernel: "stencil", Metrics: map[string]float64{"dram__bytes.sum": 1}}, roofline.Options{})
	for want, c := range map[string][2]roofline.Result{"before, stencil lacks work": {without, whole}, "after, stencil lacks work": {whole, without}} {
		if _, err := chart.Change(c[0], c[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error that says %q", err, want)
		}
	}
}
