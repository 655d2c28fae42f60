// Package scripted is a session.Session that plays a script instead of running
// Go: tests of front ends say which events and reply each source gives. It
// checks no Go and compiles nothing.
package scripted

import (
	"strings"
	"sync"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/session"
)

// Step is what one source does.
type Step struct {
	Events []session.Event
	Error  *session.Error
	// Block keeps the cell running until Interrupt; it then ends with the error
	// "Interrupted".
	Block bool
	// Do runs in the cell, before Events; it may be nil.
	Do func(emit func(session.Event))
}

// Session plays Steps; a source that has none (blanks at its ends aside) ends
// well and prints nothing.
type Session struct {
	Steps      map[string]Step
	Completion session.Completion

	mu          sync.Mutex
	count       int
	sources     []string
	completed   []string
	interrupted chan struct{}
	interrupts  int
	closed      bool
	background  func(session.Event)
}

// New returns a session that plays steps.
func New(steps map[string]Step) *Session {
	return &Session{Steps: steps, interrupted: make(chan struct{}, 16)}
}

// Text is a bundle of plain text.
func Text(s string) display.Bundle {
	return display.Bundle{Data: map[string]any{"text/plain": s}}
}

// Execute plays the step of req.Source.
func (s *Session) Execute(req session.Request, emit func(session.Event)) session.Reply {
	s.mu.Lock()
	if req.StoreHistory {
		s.count++
	}
	s.sources = append(s.sources, strings.TrimSpace(req.Source))
	n, step := s.count, s.Steps[strings.TrimSpace(req.Source)]
	s.mu.Unlock()
	if step.Do != nil {
		step.Do(emit)
	}
	for _, ev := range step.Events {
		if r, ok := ev.(session.Result); ok {
			r.Count = n
			ev = r
		}
		emit(ev)
	}
	if step.Block {
		<-s.interrupted
		step.Error = &session.Error{Name: "Interrupted", Value: "the cell was interrupted"}
	}
	if step.Error != nil {
		return session.Reply{Count: n, Status: "error", Error: step.Error}
	}
	return session.Reply{Count: n, Status: "ok"}
}

// Interrupt ends a blocked cell.
func (s *Session) Interrupt() {
	s.mu.Lock()
	s.interrupts++
	s.mu.Unlock()
	select {
	case s.interrupted <- struct{}{}:
	default:
	}
}

// Complete answers Completion and remembers what was asked.
func (s *Session) Complete(source string, _ int) session.Completion {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.completed = append(s.completed, source)
	return s.Completion
}

// Inspect finds nothing.
func (s *Session) Inspect(string, int, int) session.Inspection { return session.Inspection{} }

// IsComplete counts braces: more open than closed ones are incomplete.
func (s *Session) IsComplete(source string) session.Completeness {
	if strings.Count(source, "{") > strings.Count(source, "}") {
		return session.Completeness{Status: "incomplete", Indent: "\t"}
	}
	return session.Completeness{Status: "complete"}
}

// Restart sets the count back.
func (s *Session) Restart() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count = 0
	return nil
}

// Close marks the session closed.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// Background sets the receiver of Late.
func (s *Session) Background(emit func(session.Event)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.background = emit
}

// Late sends an event as a goroutine that outlives its cell would; it says
// whether anybody listens.
func (s *Session) Late(ev session.Event) bool {
	s.mu.Lock()
	emit := s.background
	s.mu.Unlock()
	if emit != nil {
		emit(ev)
	}
	return emit != nil
}

// Sources lists what was executed, in order.
func (s *Session) Sources() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.sources...)
}

// Completed lists the sources that completion was asked for.
func (s *Session) Completed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.completed...)
}

// Interrupts counts the calls of Interrupt.
func (s *Session) Interrupts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.interrupts
}
