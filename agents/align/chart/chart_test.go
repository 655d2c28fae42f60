package chart_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/align/chart"
	"github.com/rooflab/rooflab/internal/imagetest"
)

func scores() align.Scores {
	var ss align.Scores
	for i := range 12 {
		ss = append(ss,
			align.Score{Backend: "rules", Edit: i, Coverage: align.Part{Of: 2 + i%4, All: 12}, Location: align.Part{Of: 4, All: 4 + i%3}, Direction: align.Part{Of: min(2, 1+i%5), All: 2}},
			align.Score{Backend: "ollama/small-0.5b", Edit: i, Coverage: align.Part{Of: i % 2, All: 12}, Location: align.Part{Of: i % 3, All: 6}, Hallucinated: i % 4})
	}
	return append(ss, align.Score{Backend: "large", Coverage: align.Part{Of: 6, All: 12}, Location: align.Part{Of: 9, All: 10}, Direction: align.Part{Of: 3, All: 4}, Hallucinated: 1})
}

func picture(t *testing.T, ss align.Scores, format string) []byte {
	t.Helper()
	p, err := chart.Plot(ss)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(chart.Width, chart.Height, format)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestScoresAreDrawnAsBefore(t *testing.T) {
	imagetest.PNG(t, picture(t, scores(), "png"), "testdata/scores.png", 0.002)
}

func TestWhatIsUnknownIsSaid(t *testing.T) {
	svg := string(picture(t, scores(), "svg"))
	for _, want := range []string{"How 25 edits agree", ">unknown<", "ollama/small-0.5b, 18 ids made up", "large, 1 id made up", ">rules<", ">n = 12<", ">n = 1<", "evidence coverage", "location agreement", "directional consistency", "cites nothing made up", "mean (%)"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
	// The direction of the small model is known of no edit.
	if n := strings.Count(svg, ">n = 12<"); n != 7 {
		t.Errorf("%d means are of 12 edits, want four scores of rules and three of the small model", n)
	}
	if n := strings.Count(svg, ">unknown<"); n != 1 {
		t.Errorf("%d scores are unknown, want the direction of one backend", n)
	}
}

func TestNoScoresAreAnError(t *testing.T) {
	if _, err := chart.Plot(nil); err == nil || !strings.Contains(err.Error(), "align.Of") {
		t.Error(err)
	}
}

func TestBackendsBeyondTheColoursAreCounted(t *testing.T) {
	var ss align.Scores
	for i := range 8 {
		ss = append(ss, align.Score{Backend: fmt.Sprint("model ", i), Coverage: align.Part{Of: 1, All: 2}})
	}
	if svg := string(picture(t, ss, "svg")); !strings.Contains(svg, "(2 backends are not shown)") || strings.Contains(svg, "model 6") {
		t.Error("the title does not say what is left out")
	}
}

// Two runs of one backend, and one of another, are three rows of each score.
func TestRunsAreDrawnApart(t *testing.T) {
	ss := scores()
	for i := range ss {
		ss[i].Run = "matmul"
		if i%4 == 0 {
			ss[i].Run = "dot"
		}
	}
	p, err := chart.Runs(ss)
	if err != nil {
		t.Fatal(err)
	}
	w, err := p.WriterTo(chart.Width, chart.Height, "svg")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{">rules, dot<", ">rules, matmul<", ">ollama/small-0.5b, matmul, 18 ids made up<", ">large, dot, 1 id made up<"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the drawing lacks %q", want)
		}
	}
}
