package jupyter_test

import (
	"strings"
	"sync"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/session"
)

// fake is a scripted session: what a cell does is looked up by its source.
type fake struct {
	cells map[string]func(*run) session.Reply

	mu         sync.Mutex
	count      int
	cancel     chan struct{} // closed by Interrupt and Close
	requests   []session.Request
	interrupts int
	closed     int
	background func(session.Event)
}

// run is one cell of a fake at work.
type run struct {
	session.Request
	emit   func(session.Event)
	cancel <-chan struct{} // closed when the cell is interrupted or the session closes
	count  int
}

func newFake(cells map[string]func(*run) session.Reply) *fake {
	return &fake{cells: cells}
}

func (f *fake) Execute(req session.Request, emit func(session.Event)) session.Reply {
	f.mu.Lock()
	if req.StoreHistory {
		f.count++
	}
	f.requests = append(f.requests, req)
	f.cancel = make(chan struct{})
	r := &run{Request: req, emit: emit, cancel: f.cancel, count: f.count}
	cell := f.cells[req.Source]
	f.mu.Unlock()
	reply := session.Reply{Status: "ok"}
	if cell != nil {
		reply = cell(r)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cancel = nil
	reply.Count = f.count
	return reply
}

func (f *fake) stop() {
	if f.cancel != nil {
		close(f.cancel)
		f.cancel = nil
	}
}

func (f *fake) Interrupt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interrupts++
	f.stop()
}

func (f *fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed++
	f.stop()
	return nil
}

func (f *fake) Complete(source string, cursor int) session.Completion {
	return session.Completion{
		Matches: []session.Match{{Text: "Fprintln", Type: "function", Doc: "func(w io.Writer, a ...any)"}},
		Start:   strings.LastIndex(source, ".") + 1, End: cursor,
	}
}

func (f *fake) Inspect(source string, cursor, detail int) session.Inspection {
	if cursor == 0 {
		return session.Inspection{}
	}
	return session.Inspection{Found: true, Bundle: text("about " + string([]rune(source)[:cursor]))}
}

func (f *fake) IsComplete(source string) session.Completeness {
	switch {
	case strings.HasSuffix(source, "{"):
		return session.Completeness{Status: "incomplete", Indent: "\t"}
	case strings.HasSuffix(source, ")"):
		return session.Completeness{Status: "complete"}
	}
	return session.Completeness{Status: "invalid"}
}

func (f *fake) Restart() error { return nil }

func (f *fake) Background(emit func(session.Event)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.background = emit
}

func (f *fake) seen() []session.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]session.Request(nil), f.requests...)
}

// text is a bundle of plain text.
func text(s string) display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": s}}
}

// prints is a cell that sends events.
func prints(events ...session.Event) func(*run) session.Reply {
	return func(r *run) session.Reply {
		for _, e := range events {
			r.emit(e)
		}
		return session.Reply{Status: "ok"}
	}
}

// fails is a cell that ends with an error.
func fails(name, value string, traceback ...string) func(*run) session.Reply {
	return func(*run) session.Reply {
		return session.Reply{Status: "error", Error: &session.Error{Name: name, Value: value, Traceback: traceback}}
	}
}

// blocks is a cell that says when it has started and runs until interrupted.
func blocks(started chan<- bool) func(*run) session.Reply {
	return func(r *run) session.Reply {
		started <- true
		<-r.cancel
		return session.Reply{Status: "error", Error: &session.Error{Name: "Interrupted", Value: "the cell was interrupted"}}
	}
}
