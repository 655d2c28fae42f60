// Package session is what every front end talks to: a live Go session whose
// values stay alive from cell to cell. Cells flow in through Execute, events
// (streams, displays, results) flow out through the callback while the cell
// runs, and a Reply says how it ended.
//
// The session owns a host process that loads compiled cells; the front end is
// another process and survives the host's death: the reply then has Status
// "error", names what was lost, and the next cell starts a fresh host.
package session

import "github.com/rooflab/rooflab/kernel/display"

// Request is one cell to run.
type Request struct {
	Source string
	// Silent runs the cell without result, counting or history (protocol: silent).
	Silent bool
	// StoreHistory counts the cell; a false value leaves the counter alone.
	StoreHistory bool
	// UserExpressions are evaluated after a cell that succeeded.
	UserExpressions map[string]string
	// AllowStdin says that the front end can answer InputRequest events.
	AllowStdin bool
}

// Reply says how a cell ended.
type Reply struct {
	Count           int    // execution count, also for silent cells (the current value)
	Status          string // "ok", "error" or "aborted"
	Error           *Error // set when Status is "error"
	UserExpressions map[string]UserValue
	// Payload holds pager pages and the like, as the protocol's payload field.
	Payload []map[string]any
}

// UserValue is the outcome of one user expression.
type UserValue struct {
	Bundle display.Bundle
	Error  *Error
}

// Error is a failed cell: compile errors, panics, errors that the trailing call
// returned, failed commands, a lost host. Name is the kind ("CompileError",
// "panic", "error", "ExitError", "Interrupted", "HostLost"), Value one line, and
// Traceback the lines to show, which point at the user's cells and lines, never
// at generated code.
type Error struct {
	Name      string
	Value     string
	Traceback []string
	Exit      int // exit status for ExitError, else 0
}

func (e *Error) Error() string { return e.Name + ": " + e.Value }

// Event is something that a running cell sends: one of Stream, Display, Clear,
// Result, InputRequest.
type Event interface{ event() }

// Stream is text on standard output or standard error.
type Stream struct{ Name, Text string } // Name: "stdout" or "stderr"

// Display shows a bundle; with Update set it replaces the output named ID.
type Display struct {
	Bundle display.Bundle
	ID     string
	Update bool
}

// Clear removes the outputs so far, at once or (Wait) with the next output.
type Clear struct{ Wait bool }

// Result is the value of the cell's trailing expression, Out[Count].
type Result struct {
	Bundle display.Bundle
	Count  int
}

// InputRequest asks the user for a line. The front end calls Answer once.
type InputRequest struct {
	Prompt   string
	Password bool
	Answer   func(text string)
}

func (Stream) event()       {}
func (Display) event()      {}
func (Clear) event()        {}
func (Result) event()       {}
func (InputRequest) event() {}

// Completion answers a completion request. Offsets count runes of the source,
// as the Jupyter protocol does.
type Completion struct {
	Matches    []Match
	Start, End int
}

// Match is one completion candidate.
type Match struct {
	Text string
	Type string // "function", "type", "var", "const", "field", "method", "package", "keyword", "command"
	Doc  string // signature or type, one line
}

// Inspection answers an inspection request.
type Inspection struct {
	Found  bool
	Bundle display.Bundle
}

// Completeness is the answer to "is this source complete?".
type Completeness struct {
	Status string // "complete", "incomplete", "invalid" or "unknown"
	Indent string // suggested indent of the next line when incomplete
}

// Session is a live Go session. Its methods are safe for concurrent use; cells
// run one at a time, Interrupt, Complete, Inspect and IsComplete may be called
// while a cell runs.
type Session interface {
	// Execute runs one cell. emit is called from one goroutine at a time, never
	// after Execute returns.
	Execute(req Request, emit func(Event)) Reply
	// Interrupt asks the running cell to stop and keeps the state. A second
	// interrupt of the same cell kills the host; the reply says what was lost.
	Interrupt()
	Complete(source string, cursor int) Completion
	Inspect(source string, cursor, detail int) Inspection
	IsComplete(source string) Completeness
	// Restart drops all state and starts afresh (execution count 1).
	Restart() error
	// Close ends the host and removes the session's files.
	Close() error
	// Background sets where events of goroutines that outlive their cell go;
	// nil drops them.
	Background(emit func(Event))
}

// Options configure Start.
type Options struct {
	// Dir is the working directory of cells; empty means the current one.
	Dir string
	// Env is added to the host's environment.
	Env []string
	// Interactive is true where a person watches (live progress bars).
	Interactive bool
	// Output, when set, hears about slow set-up steps ("compiling gomlx ...").
	Output func(line string)
}
