package notebook_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/kernel/notebook"
	"github.com/rooflab/rooflab/kernel/session"
	"github.com/rooflab/rooflab/kernel/session/scripted"
)

func stdout(s string) session.Event { return session.Stream{Name: "stdout", Text: s} }
func stderr(s string) session.Event { return session.Stream{Name: "stderr", Text: s} }

// code returns a code cell that carries an output of an earlier run.
func code(src string, tags ...string) *notebook.Cell {
	c := notebook.NewCell(notebook.Code, src, tags...)
	c.Outputs = []*notebook.Output{{Type: notebook.StreamOutput, Name: "stdout", Text: "stale"}}
	c.Count = 99
	return c
}

// show writes outputs one a line, for comparing.
func show(c *notebook.Cell) string {
	var b strings.Builder
	for _, o := range c.Outputs {
		switch o.Type {
		case notebook.StreamOutput:
			fmt.Fprintf(&b, "%s:%q\n", o.Name, o.Text)
		case notebook.ErrorOutput:
			fmt.Fprintf(&b, "error:%s:%s\n", o.EName, o.EValue)
		default:
			fmt.Fprintf(&b, "%s:%v:%d\n", o.Type, o.Bundle.Data["text/plain"], o.Count)
		}
	}
	return b.String()
}

func TestRunRecordsOutputsAsJupyterLabWould(t *testing.T) {
	display := func(id, text string, update bool) session.Event {
		return session.Display{Bundle: scripted.Text(text), ID: id, Update: update}
	}
	for _, tt := range []struct {
		name   string
		events []session.Event
		want   string
	}{
		{"neighbours of one stream are one output",
			[]session.Event{stdout("a"), stdout("b\n"), stderr("x"), stdout("c")},
			"stdout:\"ab\\n\"\nstderr:\"x\"\nstdout:\"c\"\n"},
		{"a result carries the count",
			[]session.Event{stdout("a"), session.Result{Bundle: scripted.Text("7")}}, "stdout:\"a\"\nexecute_result:7:1\n"},
		{"a progress bar leaves its last state",
			[]session.Event{stdout("start\n 10%\r"), stdout(" 50%\r"), stdout("100%"), stdout("\ndone")},
			"stdout:\"start\\n100%\\ndone\"\n"},
		{"a shorter line overwrites only what it covers",
			[]session.Event{stdout("abcdef\rXY\n"), stdout("ab\b\bc\r\n")}, "stdout:\"XYcdef\\ncb\\n\"\n"},
		{"clear removes what was there",
			[]session.Event{stdout("a"), session.Clear{}, stdout("b")}, "stdout:\"b\"\n"},
		{"clear that waits keeps the outputs until the next",
			[]session.Event{stdout("a"), session.Clear{Wait: true}}, "stdout:\"a\"\n"},
		{"clear that waits removes them then, also for the same stream",
			[]session.Event{stdout("a"), session.Clear{Wait: true}, stdout("b")}, "stdout:\"b\"\n"},
		{"an update replaces the named display in place",
			[]session.Event{display("p", "one", false), stdout("x"), display("p", "two", true), display("q", "lost", true)},
			"display_data:two:0\nstdout:\"x\"\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := code("cell")
			notebook.Run(context.Background(), notebook.New(c),
				scripted.New(map[string]scripted.Step{"cell": {Events: tt.events}}), notebook.RunOptions{})
			if got := show(c); got != tt.want {
				t.Errorf("outputs\n%swant\n%s", got, tt.want)
			}
		})
	}
}

func TestAnUpdateReachesAnEarlierCell(t *testing.T) {
	a, b := code("a"), code("b")
	s := scripted.New(map[string]scripted.Step{
		"a": {Events: []session.Event{session.Display{Bundle: scripted.Text("old"), ID: "p"}}},
		"b": {Events: []session.Event{session.Display{Bundle: scripted.Text("new"), ID: "p", Update: true}}},
	})
	notebook.Run(context.Background(), notebook.New(a, b), s, notebook.RunOptions{})
	if got := show(a) + "|" + show(b); got != "display_data:new:0\n|" {
		t.Errorf("outputs %q", got)
	}
}

func TestAFailingCellEndsTheRunAndKeepsOutputsSoFar(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{
		"good": {Events: []session.Event{stdout("fine")}},
		"bad":  {Events: []session.Event{stdout("before")}, Error: &session.Error{Name: "panic", Value: "boom"}},
	})
	good, bad, later := code("good"), code("bad"), code("later")
	nb := notebook.New(good, notebook.NewCell(notebook.Markdown, "text"), bad, later)
	var log []string
	sum := notebook.Run(context.Background(), nb, s, notebook.RunOptions{
		Started:  func(p notebook.Progress) { log = append(log, fmt.Sprintf("start %d/%d", p.Index, p.Total)) },
		Finished: func(p notebook.Progress) { log = append(log, fmt.Sprintf("end %d %v", p.Number, p.Error)) },
	})
	if sum.Ran != 2 || sum.Total != 3 || sum.Failed == nil || sum.Failed.Number != 3 {
		t.Errorf("summary %+v", sum)
	}
	if got, want := show(good)+show(bad)+show(later), "stdout:\"fine\"\nstdout:\"before\"\nerror:panic:boom\n"; got != want {
		t.Errorf("outputs\n%swant\n%s", got, want)
	}
	if good.Count != 1 || bad.Count != 2 || later.Count != 0 {
		t.Errorf("counts %d %d %d: a cell that did not run has none", good.Count, bad.Count, later.Count)
	}
	if want := []string{"start 1/3", "end 1 <nil>", "start 2/3", "end 3 panic: boom"}; !slices.Equal(log, want) {
		t.Errorf("progress %q, want %q", log, want)
	}
	if s.Late(stdout("late")) {
		t.Error("the session can still write into the notebook after the run")
	}
}

func TestTagsSkipCellsAndAllowFailures(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{"bad": {Error: &session.Error{Name: "panic", Value: "boom"}}})
	skipped := code("never", notebook.TagSkipExecution)
	nb := notebook.New(code("bad", notebook.TagRaisesException), skipped, code("  \n"), code("last"))
	sum := notebook.Run(context.Background(), nb, s, notebook.RunOptions{})
	if sum.Failed != nil || sum.Ran != 2 || sum.Total != 2 {
		t.Errorf("summary %+v", sum)
	}
	if want := []string{"bad", "last"}; !slices.Equal(s.Sources(), want) {
		t.Errorf("ran %q, want %q", s.Sources(), want)
	}
	if skipped.Count != 99 || len(skipped.Outputs) != 1 {
		t.Error("a skipped cell lost its outputs")
	}
}

func TestTheEndOfTheContextInterruptsTheCell(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	s := scripted.New(map[string]scripted.Step{"loop": {Block: true,
		Do: func(func(session.Event)) { cancel(errors.New("asked to stop")) }}})
	c := code("loop")
	sum := notebook.Run(ctx, notebook.New(c, code("later")), s, notebook.RunOptions{})
	if sum.Failed == nil || sum.Ran != 1 || !strings.Contains(show(c), "error:Interrupted:the cell was interrupted (asked to stop)") {
		t.Errorf("summary %+v, outputs %s", sum, show(c))
	}
}

func TestACellTimeoutInterruptsTheCell(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{"loop": {Block: true}})
	c := code("loop")
	sum := notebook.Run(context.Background(), notebook.New(c), s, notebook.RunOptions{CellTimeout: time.Millisecond})
	if sum.Failed == nil || !strings.Contains(show(c), "the cell ran longer than 1ms") {
		t.Errorf("summary %+v, outputs %s", sum, show(c))
	}
}

func TestAnEndedContextRunsNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := scripted.New(nil)
	sum := notebook.Run(ctx, notebook.New(code("a")), s, notebook.RunOptions{})
	if sum.Failed == nil || sum.Ran != 0 || len(s.Sources()) != 0 {
		t.Errorf("summary %+v, ran %q", sum, s.Sources())
	}
}

func TestTextWithoutEndIsCutAndSaysSo(t *testing.T) {
	line := strings.Repeat("x", 1<<20-1) + "\n"
	events := []session.Event{}
	for range 12 { // MiB, of which 8 and the one that goes over that are kept
		events = append(events, stdout(line))
	}
	c := code("loop")
	notebook.Run(t.Context(), notebook.New(c),
		scripted.New(map[string]scripted.Step{"loop": {Events: append(events, session.Result{Bundle: scripted.Text("7")})}}), notebook.RunOptions{})
	if n := len(c.Outputs); n != 3 || len(c.Outputs[0].Text) != 9<<20 {
		t.Fatalf("%d outputs, %d bytes", n, len(c.Outputs[0].Text))
	}
	c.Outputs[0].Text = "cut"
	if got, want := show(c), "stdout:\"cut\"\nexecute_result:7:1\nstderr:\"rooflab: 3145728 more bytes were printed and are not kept\\n\"\n"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}
