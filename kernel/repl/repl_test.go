package repl_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/repl"
	"github.com/rooflab/rooflab/kernel/session"
	"github.com/rooflab/rooflab/kernel/session/scripted"
)

func out(text string) session.Event { return session.Stream{Name: "stdout", Text: text} }

func printer() (p *repl.Printer, stdout, stderr *bytes.Buffer) {
	stdout, stderr = new(bytes.Buffer), new(bytes.Buffer)
	return &repl.Printer{Out: stdout, Err: stderr}, stdout, stderr
}

func TestBatchRunsAllCellsAndSeparatesStreams(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{
		"a": {Events: []session.Event{out("from a")}},
		"b": {Events: []session.Event{session.Stream{Name: "stderr", Text: "warned\n"}},
			Error: &session.Error{Name: "panic", Value: "boom", Traceback: []string{"panic: boom", "cell 2, line 1"}}},
		"c\nd": {Events: []session.Event{session.Result{Bundle: scripted.Text("42")}}},
	})
	p, stdout, stderr := printer()
	failed, err := repl.Batch(context.Background(), s, strings.NewReader("a\n%%%\r\nb\n%%%\n\n%%%\nc\nd"), p, false)
	if err != nil || failed != 1 {
		t.Errorf("Batch = %d, %v; want 1 failed cell, no error", failed, err)
	}
	if want := []string{"a", "b", "c\nd"}; !slices.Equal(s.Sources(), want) {
		t.Errorf("ran %q, want %q", s.Sources(), want)
	}
	if got, want := stdout.String(), "from a\n42\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	if got, want := stderr.String(), "warned\npanic: boom\ncell 2, line 1\n"; got != want {
		t.Errorf("stderr %q, want %q", got, want)
	}
}

func TestBatchStopsOnErrorWhenAsked(t *testing.T) {
	fail := scripted.Step{Error: &session.Error{Name: "CompileError", Value: "undefined: x"}}
	for _, tt := range []struct {
		name, in string
		ran      int
		err      error
	}{
		{"cells are left", "bad\n%%%\nnext", 1, repl.ErrStopped},
		{"the last cell fails", "next\n%%%\nbad\n", 2, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := scripted.New(map[string]scripted.Step{"bad": fail})
			p, _, stderr := printer()
			failed, err := repl.Batch(context.Background(), s, strings.NewReader(tt.in), p, true)
			if failed != 1 || !errors.Is(err, tt.err) || len(s.Sources()) != tt.ran {
				t.Errorf("failed %d, err %v, ran %q; want 1, %v, %d cells", failed, err, s.Sources(), tt.err, tt.ran)
			}
			if got, want := stderr.String(), "CompileError: undefined: x\n"; got != want {
				t.Errorf("stderr %q, want %q: an error without traceback shows name and value", got, want)
			}
		})
	}
}

func TestBatchInterruptsTheRunningCellWhenTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := scripted.New(map[string]scripted.Step{
		"loop": {Do: func(func(session.Event)) { cancel() }, Block: true},
	})
	p, _, _ := printer()
	failed, err := repl.Batch(ctx, s, strings.NewReader("loop\n%%%\nnext"), p, false)
	if failed != 1 || !errors.Is(err, repl.ErrStopped) || len(s.Sources()) != 1 {
		t.Errorf("failed %d, err %v, ran %q", failed, err, s.Sources())
	}
}

func TestBatchRunsACellBeforeTheNextIsWritten(t *testing.T) {
	r, w := io.Pipe()
	ran := make(chan struct{})
	s := scripted.New(map[string]scripted.Step{"first": {Do: func(func(session.Event)) { close(ran) }}})
	p, _, _ := printer()
	done := make(chan error)
	go func() {
		_, err := repl.Batch(context.Background(), s, r, p, false)
		done <- err
	}()
	io.WriteString(w, "first\n%%%\n")
	<-ran // would block for ever if Batch read all its input first
	w.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestBatchReportsABrokenInput(t *testing.T) {
	r, w := io.Pipe()
	broken := errors.New("broken pipe in test")
	go func() {
		io.WriteString(w, "half a ce")
		w.CloseWithError(broken)
	}()
	s := scripted.New(nil)
	p, _, _ := printer()
	if _, err := repl.Batch(context.Background(), s, r, p, false); !errors.Is(err, broken) {
		t.Errorf("err = %v, want %v", err, broken)
	}
	if len(s.Sources()) != 0 {
		t.Errorf("ran %q: half a cell must not run", s.Sources())
	}
}

func pngBundle(t *testing.T, w, h int) display.Bundle {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return display.Bundle{Data: map[string]any{
		"text/plain": "a plot", "image/png": base64.StdEncoding.EncodeToString(b.Bytes())}}
}

func TestPicturesAreMeasuredAndOffered(t *testing.T) {
	p, stdout, _ := printer()
	var kept repl.Picture
	p.Keep = func(n int, pic repl.Picture) string { kept = pic; return "kept as " + string(rune('0'+n)) }
	p.Event(out("no newline"))
	p.Event(session.Display{Bundle: pngBundle(t, 30, 20)})
	text := stdout.String()
	if !strings.HasPrefix(text, "no newline\n[picture 1: png, 30 x 20 pixels, ") || !strings.HasSuffix(text, "; kept as 1]\n") {
		t.Errorf("stdout %q", text)
	}
	if _, err := png.Decode(bytes.NewReader(kept.Data)); err != nil || kept.Extension() != ".png" {
		t.Errorf("kept picture: %v, extension %s", err, kept.Extension())
	}
}

func TestABundleWithoutTextSaysWhatItIs(t *testing.T) {
	p, stdout, _ := printer()
	p.Event(session.Display{Bundle: display.Bundle{Data: map[string]any{"text/html": "<b>x</b>"}}})
	if got := stdout.String(); got != "[text/html, 8 bytes: a notebook shows it]\n" {
		t.Errorf("stdout %q", got)
	}
}

// typist is a line editor whose user types the given lines; "^C" gives up a line.
type typist struct {
	lines    []string
	prompts  []string
	history  []string
	complete func(string, int) (string, []string, string)
}

func (e *typist) Prompt(prompt string) (string, error) {
	e.prompts = append(e.prompts, prompt)
	if len(e.lines) == 0 {
		return "", io.EOF
	}
	line := e.lines[0]
	e.lines = e.lines[1:]
	if line == "^C" {
		return "", repl.ErrAborted
	}
	return line, nil
}
func (e *typist) Password(prompt string) (string, error) { return e.Prompt(prompt) }
func (e *typist) AppendHistory(line string)              { e.history = append(e.history, line) }
func (e *typist) SetCompleter(f func(string, int) (string, []string, string)) {
	e.complete = f
}

func TestInteractiveReadsCellsLineByLine(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{
		"x":                    {Events: []session.Event{session.Result{Bundle: scripted.Text("7")}}},
		"func f() {\n\tg()\n}": {Events: []session.Event{out("defined")}},
	})
	ed := &typist{lines: []string{"", "x", "func f() {", "\tg()", "}", "if a {", "^C", "for {", ""}}
	p, stdout, _ := printer()
	p.Results = true
	failed, err := repl.Interactive(s, ed, p, false)
	if failed != 0 || err != nil {
		t.Fatalf("Interactive = %d, %v", failed, err)
	}
	if want := []string{"x", "func f() {\n\tg()\n}", "for {"}; !slices.Equal(s.Sources(), want) {
		t.Errorf("ran %q, want %q", s.Sources(), want)
	}
	if got, want := stdout.String(), "Out[1]: 7\ndefined\n"; got != want {
		t.Errorf("stdout %q, want %q", got, want)
	}
	want := []string{"In [1]: ", "In [1]: ", "In [2]: ", "   ...: ", "   ...: ", "In [3]: ", "   ...: ", "In [3]: ", "   ...: ", "In [4]: "}
	if !slices.Equal(ed.prompts, want) {
		t.Errorf("prompts %q, want %q", ed.prompts, want)
	}
	if slices.Contains(ed.history, "") || !slices.Contains(ed.history, "\tg()") {
		t.Errorf("history %q", ed.history)
	}
}

func TestInteractiveStopsOnErrorWhenAsked(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{"bad": {Error: &session.Error{Name: "panic", Value: "x"}}})
	p, _, stderr := printer()
	failed, err := repl.Interactive(s, &typist{lines: []string{"bad", "next"}}, p, true)
	if failed != 1 || !errors.Is(err, repl.ErrStopped) || len(s.Sources()) != 1 {
		t.Errorf("failed %d, err %v, ran %q", failed, err, s.Sources())
	}
	if stderr.String() != "panic: x\n" {
		t.Errorf("stderr %q", stderr)
	}
}

func TestInteractiveAnswersInputRequests(t *testing.T) {
	var answers []string
	s := scripted.New(map[string]scripted.Step{"ask": {Events: []session.Event{
		session.InputRequest{Prompt: "name? ", Answer: func(a string) { answers = append(answers, a) }},
		session.InputRequest{Prompt: "key? ", Password: true, Answer: func(a string) { answers = append(answers, a) }},
		session.InputRequest{Prompt: "more? ", Answer: func(a string) { answers = append(answers, a) }},
	}}})
	ed := &typist{lines: []string{"ask", "Ada", "secret", "^C"}}
	p, _, _ := printer()
	if _, err := repl.Interactive(s, ed, p, false); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Ada", "secret", ""}; !slices.Equal(answers, want) {
		t.Errorf("answers %q, want %q", answers, want)
	}
	if s.Interrupts() != 1 {
		t.Errorf("%d interrupts; giving up the question must interrupt the cell once", s.Interrupts())
	}
}

func TestInteractiveSavesPictures(t *testing.T) {
	s := scripted.New(map[string]scripted.Step{"plot": {Events: []session.Event{session.Display{Bundle: pngBundle(t, 4, 3)}}}})
	file := filepath.Join(t.TempDir(), "p.png")
	p, stdout, stderr := printer()
	ed := &typist{lines: []string{"plot", ":save 1 " + file, ":save 2 " + file, ":save one x", ":nonsense", ":quit", "never"}}
	if _, err := repl.Interactive(s, ed, p, false); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if cfg, err := png.DecodeConfig(f); err != nil || cfg.Width != 4 || cfg.Height != 3 {
		t.Errorf("saved picture %+v, %v", cfg, err)
	}
	if !strings.Contains(stdout.String(), `":save 1 FILE" writes it`) {
		t.Errorf("stdout %q makes no offer", stdout)
	}
	for _, want := range []string{"there are 1 pictures", `found "one"`, "unknown command :nonsense"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("stderr %q lacks %q", stderr, want)
		}
	}
	if len(s.Sources()) != 1 {
		t.Errorf("ran %q: commands and what follows :quit must not run", s.Sources())
	}
}

func TestCompletionSeesTheLinesTypedBefore(t *testing.T) {
	s := scripted.New(nil)
	ed := &typist{lines: []string{"if é {"}}
	p, _, _ := printer()
	// Asked while the second line of a cell is being typed.
	var head, tail string
	var got, indent []string
	stop := &hooked{typist: ed, before: func(n int) {
		if n != 2 {
			return
		}
		before := len([]rune("if é {\n"))
		s.Completion = session.Completion{Start: before + 4, End: before + 6, Matches: []session.Match{{Text: "Println"}, {Text: "Print"}}}
		head, got, tail = ed.complete("fmt.Pr)", 6)
		_, indent, _ = ed.complete("", 0)
	}}
	if _, err := repl.Interactive(s, stop, p, false); err != nil {
		t.Fatal(err)
	}
	if head != "fmt." || tail != ")" || !slices.Equal(got, []string{"Println", "Print"}) {
		t.Errorf("completion %q %q %q", head, got, tail)
	}
	if !slices.Equal(indent, []string{"    "}) {
		t.Errorf("Tab on an empty line gives %q", indent)
	}
	if want := []string{"if é {\nfmt.Pr)"}; !slices.Equal(s.Completed(), want) {
		t.Errorf("asked %q, want %q", s.Completed(), want)
	}
}

// hooked calls before with the number of each prompt.
type hooked struct {
	*typist
	before func(n int)
	n      int
}

func (h *hooked) Prompt(p string) (string, error) {
	h.n++
	h.before(h.n)
	return h.typist.Prompt(p)
}

func TestRestartStartsCountingAfresh(t *testing.T) {
	ed := &typist{lines: []string{"x", ":restart"}}
	p, _, _ := printer()
	if _, err := repl.Interactive(scripted.New(nil), ed, p, false); err != nil {
		t.Fatal(err)
	}
	if want := []string{"In [1]: ", "In [2]: ", "In [1]: "}; !slices.Equal(ed.prompts, want) {
		t.Errorf("prompts %q, want %q", ed.prompts, want)
	}
}

func TestHistoryFileFollowsTheStateDirectory(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if got, err := repl.HistoryFile(); err != nil || got != filepath.Join(dir, "rooflab", "history") {
		t.Errorf("HistoryFile = %q, %v", got, err)
	}
	t.Setenv("XDG_STATE_HOME", "relative") // the standard says to ignore such a value
	t.Setenv("HOME", dir)
	if got, err := repl.HistoryFile(); err != nil || got != filepath.Join(dir, ".local", "state", "rooflab", "history") {
		t.Errorf("HistoryFile = %q, %v", got, err)
	}
}
