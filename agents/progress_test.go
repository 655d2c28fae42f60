package agents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/kernel/display"
)

// screen is a front end of a test: it has outputs, some of which are replaced.
type screen struct {
	mu      sync.Mutex
	plain   bool
	outputs []string       // HTML, or text of one that shows no HTML
	at      map[string]int // places of outputs that have a name
	updates int
	heard   func(text string) // of each
}

func (s *screen) Rich() bool { return !s.plain }

func (s *screen) Clear(bool) {}

func (s *screen) Display(b display.Bundle, id string, update bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprint(b.Data["text/plain"])
	shown := fmt.Sprint(b.Data["text/html"])
	if s.plain {
		shown = text
	}
	if i, ok := s.at[id]; ok && update {
		s.outputs[i] = shown
		s.updates++
	} else {
		s.at[id] = len(s.outputs)
		s.outputs = append(s.outputs, shown)
	}
	if s.heard != nil {
		s.heard(text)
	}
}

func watch(t *testing.T, plain bool) *screen {
	t.Helper()
	s := &screen{plain: plain, at: map[string]int{}}
	before := display.SetSink(s)
	t.Cleanup(func() { display.SetSink(before) })
	return s
}

func TestANotebookHasOneDisplayThatIsReplaced(t *testing.T) {
	s := watch(t, false)
	w := Watch("heat <b>")
	for _, e := range []Event{
		{Text: "building the original"}, {Round: 1, Text: "asking rules"},
		{Round: 1, Candidate: "tiling <i>", Text: "building"}, {Round: 1, Candidate: "tiling <i>", Text: "measuring 256"},
		{Round: 1, Candidate: "tiling <i>", Text: "turned down (slower): it is <slower>", Done: true},
		{Round: 1, Candidate: "fusion", Text: "building"}, {Round: 1, Candidate: "fusion", Text: "kept: 2 times as fast", Done: true},
		{Text: "measuring the result"},
	} {
		w.Hear(e)
	}
	w.End(&Result{Target: "heat", Final: &Program{}}, nil)
	if len(s.outputs) != 1 || s.updates == 0 {
		t.Fatalf("%d outputs, %d updates", len(s.outputs), s.updates)
	}
	page := s.outputs[0]
	// Two steps of the run and the round each have a row, and two candidates.
	if n := strings.Count(page, "<tr class="); n != 5 {
		t.Errorf("%d rows, want 5", n)
	}
	for _, want := range []string{`<tr class="turned-down"><td>1</td><td><b>tiling &lt;i&gt;</b>`, "measuring 256", "it is &lt;slower&gt;", `<tr class="kept"><td>1</td><td><b>fusion</b>`, "★ kept", "✗ turned down", "✓ done", "nothing was kept", `role="status"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the display lacks %q:\n%s", want, page)
		}
	}
	if strings.Contains(page, "<i>") || strings.Contains(page, "▶") {
		t.Errorf("markup of a name, or a step that still runs:\n%s", page)
	}
}

func TestAnInterruptedStepIsSaidToBeStopped(t *testing.T) {
	s := watch(t, false)
	w := Watch("heat")
	w.Hear(Event{Text: "building the original"})
	w.Hear(Event{Round: 1, Text: "gathering evidence"})
	w.End(nil, fmt.Errorf("in the profile: %w", context.Canceled))
	page := s.outputs[0]
	for _, want := range []string{"interrupted: the same call goes on from here", "✓ done", `<tr class="stopped"><td>1</td><td>gathering evidence`} {
		if !strings.Contains(page, want) {
			t.Errorf("the display lacks %q:\n%s", want, page)
		}
	}
	w = Watch("heat")
	w.Hear(Event{Text: "building the original"})
	w.End(nil, errors.New("no compiler"))
	if page := s.outputs[1]; !strings.Contains(page, "stopped by an error") {
		t.Errorf("%s", page)
	}
	w = Watch("heat")
	w.End(nil, errors.New("no target"))
	if len(s.outputs) != 2 {
		t.Error("a run that did not begin has a display")
	}
}

func TestATerminalHasALineForEachEvent(t *testing.T) {
	s := watch(t, true)
	w := Watch("heat")
	w.Hear(Event{Text: "building the original"})
	w.Hear(Event{Round: 2, Candidate: "tiling", Text: "building"})
	w.End(nil, context.Canceled)
	if got, want := strings.Join(s.outputs, "\n"), "heat: building the original\nheat: round 2: tiling: building\nheat: interrupted: the same call goes on from here"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOfManyStepsTheLatestAreShown(t *testing.T) {
	s := watch(t, false)
	w := Watch("heat")
	for i := range 500 {
		w.Hear(Event{Round: i, Text: fmt.Sprint("step ", i)})
	}
	w.End(nil, context.Canceled)
	if page := s.outputs[0]; !strings.Contains(page, "440 earlier steps are not shown") || !strings.Contains(page, "step 499") || strings.Contains(page, "step 439<") {
		t.Errorf("%.2000s", page)
	}
}
