package chart_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/review"
	"github.com/rooflab/rooflab/agents/review/chart"
	"github.com/rooflab/rooflab/internal/imagetest"
)

func moves() []chart.Move {
	return []chart.Move{
		{Metric: "time", Unit: "s", Before: 28.66e-3, After: 4.374e-3, Fate: review.True},
		{Metric: "D1mr", Unit: "event", Before: 1.686e7, After: 2.1e6, Fate: review.True},
		{Metric: "Bcm", Before: 4024, After: 4023, Fate: review.False},
		{Metric: "DLmr + DLmw / Dr + Dw", Before: 0.00097, After: 0.0012},
		{Metric: "spills", Before: 12, After: 0},
		{Metric: "vector instructions", Before: 0, After: 300},
		{Metric: "never there", Before: 0, After: 0},
		{Metric: "unknown", Before: math.NaN(), After: 1},
	}
}

func picture(t *testing.T, ms []chart.Move, format string) []byte {
	t.Helper()
	p, err := chart.Plot(ms)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(chart.Width, chart.Height(len(ms)), format)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestMovesAreDrawnAsBefore(t *testing.T) {
	imagetest.PNG(t, picture(t, moves(), "png"), "testdata/moves.png", 0.002)
}

// 4.374 / 28.66 = 0.153; what was 0 has no factor, and what is not known, or was
// and stayed 0, no row.
func TestRowsHaveBothNumbers(t *testing.T) {
	svg := string(picture(t, moves(), "svg"))
	for _, want := range []string{">28.66 ms to 4.374 ms (x 0.153)<", ">12 to 0 (x 0)<", ">0 to 300<", ">after, as predicted<", ">after, not as predicted<", ">after, nothing predicted<", "(log scale)"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	for _, not := range []string{"never there", "unknown", "NaN", "not shown"} {
		if strings.Contains(svg, not) {
			t.Errorf("the drawing has %q", not)
		}
	}
}

func TestSmallMovesHaveALinearAxis(t *testing.T) {
	svg := string(picture(t, []chart.Move{{Metric: "time", Unit: "s", Before: 1, After: 0.9}}, "svg"))
	if strings.Contains(svg, "log scale") || strings.Contains(svg, "predicted<") && !strings.Contains(svg, "nothing predicted<") {
		t.Error("a change by a tenth has a logarithmic axis, or a legend of what is not there")
	}
}

func TestNothingKnownIsAnError(t *testing.T) {
	if _, err := chart.Plot(moves()[6:]); err == nil || !strings.Contains(err.Error(), "before and after") {
		t.Error(err)
	}
}

func TestRowsBeyondTheRoomAreCounted(t *testing.T) {
	var ms []chart.Move
	for i := range chart.Rows + 3 {
		ms = append(ms, chart.Move{Metric: fmt.Sprint("metric ", i), Before: 1, After: 2})
	}
	if svg := string(picture(t, ms, "svg")); !strings.Contains(svg, "(3 metrics are not shown)") {
		t.Error("the title does not say what is left out")
	}
}
