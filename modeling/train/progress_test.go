package train_test

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/train"
)

type sink struct {
	rich  bool
	texts []string
	last  display.Bundle
	news  int
}

func (s *sink) Rich() bool { return s.rich }
func (s *sink) Clear(bool) {}
func (s *sink) Display(b display.Bundle, id string, update bool) {
	s.texts = append(s.texts, b.Data["text/plain"].(string))
	s.last = b
	if !update {
		s.news++
	}
}

func run(s *sink) {
	defer display.SetSink(display.SetSink(s))
	report := train.Live("mlp <a&b>")
	for i := 0; i <= 1000; i++ {
		report(train.Progress{Step: i, Steps: 1000, Loss: math.Exp(-float64(i) / 200), Validation: 2 * math.Exp(-float64(i)/250), Elapsed: time.Duration(i) * time.Millisecond, Done: i == 1000})
	}
}

func TestATerminalGetsAFewLines(t *testing.T) {
	s := &sink{}
	run(s)
	if n := len(s.texts); n < 10 || n > 12 {
		t.Errorf("%d lines: %q", n, s.texts)
	}
	if want := "mlp <a&b>: 1000 of 1000, loss 0.006738, held out 0.03663, 1s"; s.texts[len(s.texts)-1] != want {
		t.Errorf("last line %q, want %q", s.texts[len(s.texts)-1], want)
	}
}

func TestANotebookGetsOneOutputThatChanges(t *testing.T) {
	s := &sink{rich: true}
	run(s)
	if s.news != 1 {
		t.Errorf("%d new outputs, want one", s.news)
	}
	html := s.last.Data["text/html"].(string)
	if strings.Contains(html, "<a&b>") || !strings.Contains(html, "1000 of 1000") || strings.Count(html, "<polyline") != 2 {
		t.Errorf("html %.300s", html)
	}
	d := xml.NewDecoder(strings.NewReader(html))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestLossesThatAreNoNumbersAreLeftOut(t *testing.T) {
	nan := math.NaN()
	if got := train.Curve([]train.Progress{{Loss: nan, Validation: nan}, {Loss: math.Inf(1), Validation: -1}}); got != "" {
		t.Errorf("a curve of nothing: %q", got)
	}
	if got := train.Curve([]train.Progress{{Loss: 1, Validation: nan}}); strings.Contains(got, "NaN") || !strings.Contains(got, "polyline") {
		t.Errorf("one point: %q", got)
	}
}

// Of a long run, each column of pixels shows the geometric mean of its steps,
// and the axis ends where the curve does, not where single steps do.
func TestALongRunIsAveraged(t *testing.T) {
	var h []train.Progress
	for i := range 40000 {
		loss := 0.01
		if i%2 == 1 {
			loss = 1 // geometric mean 0.1
		}
		h = append(h, train.Progress{Step: i + 1, Steps: 40000, Loss: loss, Validation: math.NaN()})
	}
	svg := train.Curve(h)
	if len(svg) > 6000 || strings.Contains(svg, ">0.01<") || strings.Contains(svg, ">1<") || !strings.Contains(svg, ">0.1<") {
		t.Errorf("%d bytes: %.900s", len(svg), svg)
	}
}

func TestTheTimeLeftOfAResumedRun(t *testing.T) {
	p := train.Progress{Step: 60, From: 50, Steps: 100, Loss: 1, Validation: math.NaN(), Elapsed: 10 * time.Second}
	if got := p.Line(); !strings.Contains(got, "about 40s left") {
		t.Error(got)
	}
}
