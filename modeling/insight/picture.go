package insight

import (
	"bytes"
	"strings"

	"gonum.org/v1/plot/vg"

	"github.com/rooflab/rooflab/modeling/roofline"
	"github.com/rooflab/rooflab/modeling/roofline/chart"
)

// picture is a drawing of a report: an SVG document, or HTML that needs
// nothing else.
type picture struct{ title, svg, html string }

// rooflineSVG draws what can be drawn.
func rooflineSVG(rs []roofline.Result) (string, bool) {
	p, err := chart.Plot(rs)
	if err != nil {
		return "", false // no result has work, time and bytes: the items say what is missing
	}
	w, err := p.WriterTo(7.5*vg.Inch, 4.5*vg.Inch, "svg")
	if err != nil {
		return "", false
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		return "", false
	}
	svg := out.String()
	if i := strings.Index(svg, "<svg"); i >= 0 { // inside HTML it needs no prologue
		svg = svg[i:]
	}
	return svg, true
}
