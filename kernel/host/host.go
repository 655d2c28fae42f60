// Package host is the session host: a long-lived process that loads compiled
// cells as plugins and runs them, so that their values stay alive. Commands
// flow in and events flow out as JSON lines on two pipes; what cells print
// goes to the process's own standard output and error, which the front end
// captures. Before each event that must not overtake printed text, the host
// writes a marker into both streams.
package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"plugin"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/live"
)

// Command is what a front end sends to the host.
type Command struct {
	Op     string // "load", "run", "shell", "env", "chdir", "args", "pwd", "path", "interrupt"
	ID     int    // cell, for load and run
	Plugin string // path of the plugin, for load
	Count  int    // execution count; the result becomes Out[Count]
	Text   string // command line, "NAME=value", directory
	Args   []string
	Silent bool
	Input  bool // shell: the command reads the host's standard input
}

// Event is what the host sends to a front end.
type Event struct {
	Op      string          // "ready", "display", "clear", "result", "done", "late"
	Mark    int64           `json:",omitempty"` // marker that was written before it
	Bundle  *display.Bundle `json:",omitempty"`
	ID      string          `json:",omitempty"`
	Update  bool            `json:",omitempty"`
	Wait    bool            `json:",omitempty"`
	Failure *Failure        `json:",omitempty"`
	Text    string          `json:",omitempty"`
}

// Failure is how a command failed.
type Failure struct {
	Kind  string // "panic", "error", "exit", "interrupted", "load", "command"
	Text  string
	Code  int
	Stack string
	Other bool // a goroutine of the cell, not the cell itself
}

// MarkFormat is the marker in the output streams; %d is Event.Mark.
const MarkFormat = "\x00rooflab:%d\x00"

// Host is the state of the process.
type Host struct {
	in  *bufio.Reader
	out *json.Encoder

	mu     sync.Mutex // guards out and mark
	mark   int64
	stdin  *os.File
	stdout *os.File
	stderr *os.File
	shell  atomic.Pointer[os.Process]
	// insisted counts the interrupts of the shell command that runs.
	insisted atomic.Int32
	since    atomic.Int64 // uptime at the start of the running cell, else 0
	work     chan Command
	flags    *flagSet
}

// Main runs the host on the descriptors that the session passes: commands on
// in, events on out. It returns when in ends.
func Main(in io.Reader, out io.Writer) error {
	h := &Host{in: bufio.NewReader(in), out: json.NewEncoder(out), work: make(chan Command, 1)}
	h.out.SetEscapeHTML(false)
	var err error
	// Cells may close or replace os.Stdout; the markers go to descriptors of
	// our own, as does the input of commands.
	if h.stdin, err = dup(0, "stdin"); err != nil {
		return err
	}
	if h.stdout, err = dup(1, "stdout"); err != nil {
		return err
	}
	if h.stderr, err = dup(2, "stderr"); err != nil {
		return err
	}
	// The front end interrupts with a command, so that a terminal's ^C, which
	// reaches the whole process group, does not end the host; and a front end
	// that died took the pipes along. Both signals are caught rather than
	// ignored, since programs that cells start would ignore them, too.
	signal.Notify(make(chan os.Signal, 1), os.Interrupt, syscall.SIGPIPE)
	live.Stack = debug.Stack
	live.Late = func(f *live.Failure) { h.send(Event{Op: "late", Failure: convert(f)}, true) }
	live.Log = func(s string) { _ = log.Output(3, s) }
	live.Sprint, live.Sprintf, live.Sprintln = fmt.Sprint, fmt.Sprintf, fmt.Sprintln
	display.SetSink(h)
	os.Args = os.Args[:1]
	flag.CommandLine.Init(os.Args[0], flag.PanicOnError)
	h.flags = newFlagSet()
	debug.SetTraceback("all")
	h.send(Event{Op: "ready"}, false)
	go func() {
		for c := range h.work {
			h.do(c)
		}
	}()
	for {
		line, err := h.in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // the front end is done with us
		}
		if err != nil {
			return fmt.Errorf("reading commands of the front end: %w", err)
		}
		var c Command
		if err := json.Unmarshal(line, &c); err != nil {
			return fmt.Errorf("reading a command of the front end: %w", err)
		}
		switch c.Op {
		case "interrupt":
			live.Interrupt()
			if p := h.shell.Load(); p != nil {
				sig := syscall.SIGINT
				if h.insisted.Add(1) > 1 {
					sig = syscall.SIGKILL
				}
				_ = syscall.Kill(-p.Pid, sig) // it may have ended by itself
			} else if since := h.since.Load(); since > 0 {
				interruptGroup(since)
			}
		default:
			h.work <- c
		}
	}
}

func dup(fd int, name string) (*os.File, error) {
	n, err := syscall.Dup(fd)
	if err != nil {
		return nil, fmt.Errorf("duplicating %s: %w", name, err)
	}
	syscall.CloseOnExec(n)
	return os.NewFile(uintptr(n), name), nil
}

// send writes an event; with mark, printed text before it stays before it.
func (h *Host) send(e Event, mark bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if mark {
		flushC()
		h.mark++
		e.Mark = h.mark
		text := fmt.Sprintf(MarkFormat, h.mark)
		io.WriteString(h.stdout, text)
		io.WriteString(h.stderr, text)
	}
	// A front end that went away ends the host through the other pipe.
	_ = h.out.Encode(e)
}

// Display implements display.Sink.
func (h *Host) Display(b display.Bundle, id string, update bool) {
	h.send(Event{Op: "display", Bundle: &b, ID: id, Update: update}, true)
}

// Clear implements display.Sink.
func (h *Host) Clear(wait bool) { h.send(Event{Op: "clear", Wait: wait}, true) }

func (h *Host) do(c Command) {
	switch c.Op {
	case "load":
		h.done(h.load(c))
	case "run":
		h.done(h.run(c))
	case "shell":
		h.done(h.command(c))
	case "env":
		name, value, _ := strings.Cut(c.Text, "=")
		h.done(fail("command", os.Setenv(name, value)))
	case "chdir":
		h.done(fail("command", os.Chdir(c.Text)))
	case "args":
		os.Args = append([]string{os.Args[0]}, c.Args...)
		h.done(nil)
	case "path":
		path, err := filepath.Abs(expand(c.Text))
		h.send(Event{Op: "done", Text: path, Failure: fail("command", err)}, true)
	case "pwd":
		dir, err := os.Getwd()
		h.send(Event{Op: "done", Text: dir, Failure: fail("command", err)}, true)
	default:
		h.done(&Failure{Kind: "command", Text: "unknown operation " + c.Op})
	}
}

// expand replaces $NAME, ${NAME} and a tilde at the start of a path.
func expand(path string) string {
	path = os.ExpandEnv(path)
	if path == "~" || strings.HasPrefix(path, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + path[1:]
		}
	}
	return path
}

func (h *Host) done(f *Failure) { h.send(Event{Op: "done", Failure: f}, true) }

func fail(kind string, err error) *Failure {
	if err == nil {
		return nil
	}
	return &Failure{Kind: kind, Text: err.Error()}
}

// load opens a plugin; its init function registers the cell's function.
func (h *Host) load(c Command) (f *Failure) {
	defer func() {
		if v := recover(); v != nil {
			f = &Failure{Kind: "panic", Text: fmt.Sprintf("initialising an imported package: %v", v), Stack: string(debug.Stack())}
		}
	}()
	_, err := plugin.Open(c.Plugin)
	if _, ok := live.Lookup(c.ID); ok {
		// Names that a cell exports are looked up under the plugin's own path,
		// where they are not; the cell is loaded and registered all the same.
		os.Remove(c.Plugin)
		return nil
	}
	if err == nil {
		err = fmt.Errorf("the plugin did not register cell %d", c.ID)
	}
	if strings.Contains(err.Error(), "different version of package") {
		err = fmt.Errorf("%w: rooflab's sources or a module changed after this rooflab was built; run `make build` and restart the kernel", err)
	}
	return fail("load", err)
}

func (h *Host) run(c Command) *Failure {
	fn, ok := live.Lookup(c.ID)
	if !ok {
		return &Failure{Kind: "load", Text: fmt.Sprintf("cell %d is not loaded", c.ID)}
	}
	var values []any
	var has bool
	lf := &live.Failure{Kind: "panic", Value: "the cell ended its goroutine (runtime.Goexit)"}
	h.since.Store(uptime())
	defer h.since.Store(0)
	h.flags.begin()
	defer h.flags.end()
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		values, has, lf = live.Run(fn)
	}()
	<-finished
	if lf != nil {
		if told := telling(values); len(told) > 0 && !has && !c.Silent {
			if b, err := render(told); err == nil {
				h.send(Event{Op: "display", Bundle: &b}, true)
			}
		}
		return convert(lf)
	}
	if has && !c.Silent {
		if len(values) == 1 {
			live.Out[c.Count] = values[0]
		} else {
			live.Out[c.Count] = values
		}
		b, err := render(values)
		if err != nil {
			return &Failure{Kind: "panic", Text: err.Error()}
		}
		h.send(Event{Op: "result", Bundle: &b}, true)
	}
	return nil
}

// telling returns, of the values beside an error, those that hold something.
func telling(values []any) []any {
	var all []any
	for _, v := range values {
		switch r := reflect.ValueOf(v); {
		case v == nil || r.IsZero():
		case (r.Kind() == reflect.Slice || r.Kind() == reflect.Map) && r.Len() == 0:
		default:
			all = append(all, v)
		}
	}
	return all
}

// render guards against values whose methods panic.
func render(values []any) (b display.Bundle, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("showing a %T: %v", values[0], v)
		}
	}()
	return display.Render(values...), nil
}

func convert(f *live.Failure) *Failure {
	out := &Failure{Kind: f.Kind, Code: f.Code, Stack: string(f.Stack), Other: f.Other}
	if f.Value != nil {
		out.Text = fmt.Sprint(f.Value) // which survives methods that panic
		if _, ok := f.Value.(runtime.Error); ok && f.Kind == "panic" && !strings.HasPrefix(out.Text, "runtime error") {
			out.Text = "runtime error: " + out.Text
		}
		var exit *exec.ExitError // whose text is the status alone
		if err, ok := f.Value.(error); ok && errors.As(err, &exit) && len(exit.Stderr) > 0 {
			out.Text += ": " + strings.TrimSpace(string(exit.Stderr))
		}
	}
	return out
}

// command runs a shell line in a process group of its own.
func (h *Host) command(c Command) *Failure {
	shell, err := exec.LookPath("bash")
	if err != nil {
		shell = "/bin/sh"
	}
	cmd := exec.Command(shell, "-c", c.Text)
	if len(c.Args) > 0 {
		cmd = exec.Command(c.Args[0], c.Args[1:]...)
		cmd.Stdin = strings.NewReader(c.Text)
	}
	if c.Input {
		cmd.Stdin = h.stdin
	}
	cmd.Stdout, cmd.Stderr = h.stdout, h.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return fail("command", err)
	}
	h.insisted.Store(0)
	h.shell.Store(cmd.Process)
	err = cmd.Wait()
	h.shell.Store(nil)
	var e *exec.ExitError
	if errors.As(err, &e) {
		if ws, ok := e.Sys().(syscall.WaitStatus); ok && ws.Signaled() && (ws.Signal() == syscall.SIGINT || h.insisted.Load() > 1) {
			return &Failure{Kind: "interrupted"}
		}
		return &Failure{Kind: "exit", Code: e.ExitCode(), Text: c.Text}
	}
	return fail("command", err)
}
