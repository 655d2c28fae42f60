package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"

	"github.com/rooflab/rooflab/kernel/cell"
	"github.com/rooflab/rooflab/kernel/host"
	"github.com/rooflab/rooflab/kernel/toolchain"
)

// marks finds what the generator appended to names of redeclared types.
var marks = regexp.MustCompile(cell.Mark + `(?:was|old|\d*)`)

func cleanText(s string) string {
	if !strings.Contains(s, cell.Mark) {
		return s
	}
	return marks.ReplaceAllString(s, "")
}

// clean removes the generator's marks from the text of an event.
func clean(ev Event) Event {
	bundle := func(data map[string]any) {
		for k, v := range data {
			if s, ok := v.(string); ok {
				data[k] = cleanText(s)
			}
		}
	}
	switch ev := ev.(type) {
	case Stream:
		ev.Text = cleanText(ev.Text)
		return ev
	case Display:
		bundle(ev.Bundle.Data)
	case Result:
		bundle(ev.Bundle.Data)
	}
	return ev
}

// Execute implements Session.
func (e *engine) Execute(req Request, emit func(Event)) Reply {
	e.run.Lock()
	defer e.run.Unlock()
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return Reply{Count: e.count, Status: "error", Error: &Error{Name: "SessionClosed", Value: "the session has ended"}}
	}
	count := e.count
	label := fmt.Sprintf("In[%d]", count+1)
	if req.StoreHistory && !req.Silent {
		e.count++
		count = e.count
	}
	e.running, e.interrupts = true, 0
	p := e.host
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		e.running = false
		e.mu.Unlock()
	}()
	x := &execution{e: e, req: req, count: count, label: label, emit: emit}
	reply := Reply{Count: count, Status: "ok"}
	if p == nil || !p.alive() {
		if err := e.revive(); err != nil {
			reply.Status, reply.Error = "error", &Error{Name: "HostLost", Value: err.Error()}
			return reply
		}
		p = e.host
	}
	x.p = p
	p.attach(x.event)
	err := x.cell(req.Source)
	if copyErr := x.endCopy(); err == nil {
		err = copyErr
	}
	if err == nil && len(req.UserExpressions) > 0 {
		reply.UserExpressions = x.userExpressions()
	}
	p.attach(nil)
	reply.Payload = x.payload
	if err != nil {
		reply.Status, reply.Error = "error", err
	}
	return reply
}

// revive starts a new host after the old one was lost.
func (e *engine) revive() error {
	if e.host != nil {
		e.host.kill()
	}
	if err := e.begin(); err != nil {
		return fmt.Errorf("starting a new session host: %w", err)
	}
	return nil
}

// execution is one call of Execute.
type execution struct {
	e       *engine
	p       *process
	req     Request
	count   int
	label   string
	unit    string // what positions call the text, if it is not the cell's
	emit    func(Event)
	capture *Result // user expressions: takes the result instead of emit
	payload []map[string]any

	// What special commands of the cell ask for.
	tests           []string // flags of %test, nil without it
	call            string   // function that %exec calls
	copyMu          sync.Mutex
	copy            *os.File // of %capture
	copyErr         error
	going           bool // the Go code runs: its output is copied
	unrun           bool // the Go code is not for this session
	input, password bool // the next shell command reads input, in secret
}

func (x *execution) event(ev Event) {
	x.copied(ev)
	switch v := ev.(type) {
	case Result:
		v.Count = x.count
		if x.capture != nil {
			*x.capture = v
			return
		}
		ev = v
	case InputRequest:
		if !x.req.AllowStdin {
			x.emit(Stream{Name: "stderr", Text: "input was asked for, but this front end cannot give any\n"})
			go v.Answer("")
			return
		}
	}
	x.emit(ev)
}

// cell runs special commands, then the Go code.
func (x *execution) cell(source string) *Error {
	parts := splitCommands(source)
	for _, c := range parts.commands {
		if err := x.command(c); err != nil {
			return err
		}
	}
	if x.unrun {
		return nil
	}
	if x.call != "" {
		parts.goCode += "\nflag.Parse()\n" + x.call + "()"
	}
	x.copyMu.Lock()
	x.going = true
	x.copyMu.Unlock()
	err := x.goCode(parts.goCode)
	if err == nil && x.tests != nil {
		err = x.runTests()
	}
	return err
}

func (x *execution) goCode(text string) *Error {
	if text == "" {
		return nil
	}
	if usesC.MatchString(text) {
		return x.cgoCell(text)
	}
	return x.goCell(text)
}

func (x *execution) userExpressions() map[string]UserValue {
	out := map[string]UserValue{}
	names := make([]string, 0, len(x.req.UserExpressions))
	for n := range x.req.UserExpressions {
		names = append(names, n)
	}
	sort.Strings(names)
	label := x.label
	for _, n := range names {
		var r Result
		x.capture = &r
		x.label = "user expression " + n
		err := x.goCell(x.req.UserExpressions[n])
		if err == nil && r.Bundle.Data == nil {
			err = &Error{Name: "CompileError", Value: "not an expression with a value"}
		}
		out[n] = UserValue{Bundle: r.Bundle, Error: err}
	}
	x.capture, x.label = nil, label
	return out
}

// goCell compiles, loads and runs Go code.
func (x *execution) goCell(text string) *Error {
	e := x.e
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := e.building(cancel); err != nil {
		return err
	}
	id, plan, err := x.load(ctx, text)
	if stopped := e.built(); stopped {
		return &Error{Name: "Interrupted", Value: "interrupted while compiling", Traceback: []string{"Interrupted: the cell was not run"}}
	}
	if err != nil {
		return x.explain(err, text)
	}
	if plan.Empty {
		return nil
	}
	unwatch := x.watchInput(x.p.readsInput, false)
	ev, err := x.p.do(host.Command{Op: "run", ID: id, Count: x.count, Silent: x.req.Silent && x.capture == nil})
	unwatch()
	if err != nil {
		return x.lost()
	}
	if ev.Failure != nil && ev.Failure.Kind == "error" {
		return callError(cleanText(ev.Failure.Text), x.label, x.req.Source, plan.ResultLine)
	}
	if ev.Failure != nil {
		return x.failure(ev.Failure)
	}
	return nil
}

// building notes that the cell is being compiled; an interrupt cancels that.
func (e *engine) building(cancel context.CancelFunc) *Error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.interrupts > 0 {
		return &Error{Name: "Interrupted", Value: "interrupted"}
	}
	e.cancel = cancel
	return nil
}

// built ends that and reports whether it was interrupted.
func (e *engine) built() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cancel = nil
	stopped := e.interrupts > 0
	return stopped
}

// load plans the text and loads its plugin, unless the host has that already.
func (x *execution) load(ctx context.Context, text string) (int, *cell.Plan, error) {
	e := x.e
	e.mu.Lock()
	id := e.nextID + 1
	state := e.state
	e.mu.Unlock()
	label := cmp.Or(x.unit, x.label)
	plan, err := state.Plan(id, label, text)
	if err != nil || plan.Empty {
		return 0, plan, err
	}
	if old, ok := e.loaded[plan.Key]; ok {
		plan.Commit()
		return old, plan, nil
	}
	if plan.NeedsBase {
		if err := x.base(ctx); err != nil {
			return 0, nil, err
		}
		e.mu.Lock()
		id = e.nextID + 1 // the base took a number
		e.mu.Unlock()
		if plan, err = state.Plan(id, label, text); err != nil {
			return 0, nil, err
		}
	}
	if err := x.build(ctx, id, plan); err != nil {
		return 0, nil, err
	}
	e.mu.Lock()
	e.nextID = id
	e.loaded[plan.Key] = id
	e.mu.Unlock()
	plan.Commit()
	return id, plan, nil
}

// build compiles a plan and loads it.
func (x *execution) build(ctx context.Context, id int, plan *cell.Plan) error {
	files := make([]toolchain.File, len(plan.Files))
	for i, f := range plan.Files {
		files[i] = toolchain.File(f)
	}
	so, err := x.e.tc.Build(ctx, toolchain.Cell{ID: id, Files: files, Func: plan.Func, Imports: plan.Imports})
	if err != nil {
		return err
	}
	ev, err := x.p.do(host.Command{Op: "load", ID: id, Plugin: so})
	if err != nil {
		return errLost
	}
	if ev.Failure != nil {
		return &loadError{ev.Failure}
	}
	x.e.based = true
	return nil
}

type loadError struct{ f *host.Failure }

func (e *loadError) Error() string { return e.f.Text }

// base loads an empty cell, unless one was loaded before: the symbol of package
// initialisation is then taken, and the initialisers that cells carry along for
// the type checker's sake (of variables whose type cannot be written down) do
// not run.
func (x *execution) base(ctx context.Context) error {
	e := x.e
	if e.based {
		return nil
	}
	e.mu.Lock()
	e.nextID++
	id := e.nextID
	e.mu.Unlock()
	name := fmt.Sprintf("rl%sbase", cell.Mark)
	src := fmt.Sprintf("package main\n\nimport live %q\n\nvar %sv = live.Spawn\n\nfunc init() { _ = %sv }\n\nfunc %s() {}\n", cell.LivePath, name, name, name)
	so, err := e.tc.Build(ctx, toolchain.Cell{ID: id, Files: []toolchain.File{{Name: "base.go", Text: []byte(src)}}, Func: name, Imports: []string{cell.LivePath}})
	if err != nil {
		return err
	}
	ev, err := x.p.do(host.Command{Op: "load", ID: id, Plugin: so})
	if err != nil {
		return err
	}
	if ev.Failure != nil {
		return &loadError{ev.Failure}
	}
	return nil
}

// explain turns an error of planning, compiling or loading into the cell's.
func (x *execution) explain(err error, text string) *Error {
	var ps cell.Problems
	var diag *toolchain.DiagnosticError
	var load *loadError
	switch {
	case errors.As(err, &ps):
		return problemError(ps, x.label, x.req.Source)
	case errors.As(err, &diag):
		ps := parseDiagnostics(diag.Output, x.label)
		return problemError(ps, x.label, x.req.Source)
	case errors.As(err, &load):
		if load.f.Kind == "panic" {
			return x.failure(load.f)
		}
		return &Error{Name: "LoadError", Value: load.f.Text, Traceback: []string{"LoadError: " + load.f.Text}}
	case errors.Is(err, errLost):
		return x.lost()
	}
	return &Error{Name: "SessionError", Value: err.Error(), Traceback: []string{"SessionError: " + err.Error()}}
}

// failure turns what the host reports into the cell's error.
func (x *execution) failure(f *host.Failure) *Error {
	switch f.Kind {
	case "exit":
		if f.Code == 0 {
			return nil
		}
		value := fmt.Sprintf("exit status %d", f.Code)
		if f.Text != "" {
			value = fmt.Sprintf("%s: exit status %d", strings.TrimSpace(f.Text), f.Code)
		}
		return &Error{Name: "ExitError", Value: value, Exit: f.Code, Traceback: []string{"ExitError: " + value}}
	case "interrupted":
		value := "the cell was interrupted; values are kept"
		if f.Text != "" {
			value += " (" + cleanText(f.Text) + ")"
		}
		return &Error{Name: "Interrupted", Value: value, Traceback: []string{"Interrupted: " + value}}
	case "panic":
		lines := []string{"panic: " + cleanText(f.Text)}
		if f.Other {
			lines[0] += " [in a goroutine that the cell started]"
		}
		lines = append(lines, x.e.stack(f.Stack, x.label, x.req.Source)...)
		return &Error{Name: "panic", Value: cleanText(f.Text), Traceback: lines}
	}
	return &Error{Name: "CommandError", Value: f.Text, Traceback: []string{f.Text}}
}

// lost reports the end of the host and what went with it.
func (x *execution) lost() *Error {
	e := x.e
	e.mu.Lock()
	names := e.state.Names()
	interrupts := e.interrupts
	e.mu.Unlock()
	<-x.p.exited
	why := "ended"
	if x.p.err != nil {
		why = "ended with " + x.p.err.Error()
		x.p.mu.Lock()
		fatal := x.p.fatal
		x.p.mu.Unlock()
		switch {
		case fatal != "":
			why += " (" + cleanText(fatal) + ")"
		case x.p.err.Error() == "signal: killed":
			why += " (as the system does where memory runs out)"
		}
	}
	if interrupts > 1 {
		why = "was killed by the second interrupt"
	}
	lost := "no values were lost"
	if len(names) > 0 {
		shown := names
		if len(shown) > 20 {
			shown = append(append([]string{}, shown[:20]...), fmt.Sprintf("and %d more", len(names)-20))
		}
		lost = "lost: " + strings.Join(shown, ", ")
	}
	value := fmt.Sprintf("the session host %s; %s", why, lost)
	tb := []string{"HostLost: " + value, "The next cell starts a fresh session: run the cells that declare what it needs again."}
	e.mu.Lock()
	e.forget()
	e.mu.Unlock()
	return &Error{Name: "HostLost", Value: value, Traceback: tb}
}
