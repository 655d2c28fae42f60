package repl

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/kernel/session"
)

// Editor is the line editor of a terminal.
type Editor interface {
	// Prompt reads a line. The error is io.EOF when the user leaves (Ctrl-D) and
	// ErrAborted when the user gives up the line (Ctrl-C).
	Prompt(prompt string) (string, error)
	// Password reads a line without showing it.
	Password(prompt string) (string, error)
	// AppendHistory remembers a line.
	AppendHistory(line string)
	// SetCompleter installs what Tab asks: the line and the cursor in it (in
	// runes) give the text before the completion, the candidates, and the rest.
	SetCompleter(func(line string, cursor int) (head string, candidates []string, tail string))
}

// ErrAborted is what an Editor returns when the user gives up a line.
var ErrAborted = errors.New("line given up")

const help = `Type Go: imports, declarations, statements and expressions in any mixture.
A cell ends with the line that makes it complete; an empty line ends it in any case.
Commands of the cell language (%get MODULE@VERSION, !shell command, ...) work as in a notebook.

:save N FILE   write picture N to FILE
:restart       drop all values and start afresh
:help          this text
:quit          leave (so does Ctrl-D)

Tab completes. Ctrl-C gives up the line, or interrupts the running cell and keeps all values;
Ctrl-C twice kills a cell that does not react, and the values with it.
`

// Interactive reads cells from ed and runs them until the user leaves or, with
// stopOnError, a cell fails. It returns how many cells failed.
func Interactive(s session.Session, ed Editor, p *Printer, stopOnError bool) (failed int, err error) {
	t := &terminal{s: s, ed: ed, p: p, next: 1}
	p.Input = t.input
	p.Keep = func(n int, _ Picture) string { return fmt.Sprintf("\":save %d FILE\" writes it", n) }
	ed.SetCompleter(t.complete)
	s.Background(p.Event)
	defer s.Background(nil)
	for {
		src, err := t.read()
		if errors.Is(err, io.EOF) {
			return failed, nil
		}
		if err != nil {
			return failed, fmt.Errorf("reading from the terminal: %w", err)
		}
		if cmd := strings.TrimSpace(src); strings.HasPrefix(cmd, ":") {
			if leave := t.command(cmd); leave {
				return failed, nil
			}
			continue
		}
		reply := s.Execute(session.Request{Source: src, StoreHistory: true, AllowStdin: true}, p.Event)
		p.EndCell()
		t.next = reply.Count + 1
		if e := failure(reply); e != nil {
			failed++
			p.Failure(e)
			if stopOnError {
				return failed, ErrStopped
			}
		}
	}
}

// terminal is the state of one interactive session.
type terminal struct {
	s       session.Session
	ed      Editor
	p       *Printer
	next    int    // number that the next cell will have
	pending string // lines of the cell being typed
}

// read returns the next cell that is not blank.
func (t *terminal) read() (string, error) {
	t.pending = ""
	first := fmt.Sprintf("In [%d]: ", t.next)
	more := strings.Repeat(" ", max(len(first)-5, 0)) + "...: "
	for {
		prompt := first
		if t.pending != "" {
			prompt = more
		}
		line, err := t.ed.Prompt(prompt)
		if errors.Is(err, ErrAborted) {
			t.pending = ""
			continue
		}
		if err != nil {
			return "", err
		}
		blank := strings.TrimSpace(line) == ""
		if blank && t.pending == "" {
			continue
		}
		if !blank {
			t.ed.AppendHistory(line)
		}
		if t.pending == "" && strings.HasPrefix(strings.TrimSpace(line), ":") {
			return line, nil
		}
		t.pending += line + "\n"
		if blank || t.s.IsComplete(t.pending).Status != "incomplete" {
			src := t.pending
			t.pending = ""
			return src, nil
		}
	}
}

// command runs one of the terminal's own commands.
func (t *terminal) command(cmd string) (leave bool) {
	args := strings.Fields(cmd)
	switch args[0] {
	case ":quit", ":q", ":exit":
		return true
	case ":help", ":h", ":?":
		io.WriteString(t.p.Out, help)
	case ":restart":
		if err := t.s.Restart(); err != nil {
			fmt.Fprintln(t.p.Err, "restarting:", err)
			return false
		}
		t.next = 1
		fmt.Fprintln(t.p.Out, "restarted: all values are gone")
	case ":save":
		if len(args) != 3 {
			fmt.Fprintln(t.p.Err, "expected :save NUMBER FILE")
			return false
		}
		n, err := strconv.Atoi(args[1])
		if err != nil {
			fmt.Fprintf(t.p.Err, ":save: expected the number of a picture, found %q\n", args[1])
			return false
		}
		if err := t.p.SavePicture(n, args[2]); err != nil {
			fmt.Fprintln(t.p.Err, err)
			return false
		}
		fmt.Fprintln(t.p.Out, "wrote", args[2])
	default:
		fmt.Fprintf(t.p.Err, "unknown command %s: \":help\" lists them\n", args[0])
	}
	return false
}

// input answers a cell that asks for a line.
func (t *terminal) input(prompt string, password bool) string {
	ask := t.ed.Prompt
	if password {
		ask = t.ed.Password
	}
	line, err := ask(prompt)
	if errors.Is(err, ErrAborted) {
		t.s.Interrupt()
	}
	if err != nil {
		return "" // the user left the question: the cell reads an empty line
	}
	return line
}

// complete asks the session, with the lines typed so far as context.
func (t *terminal) complete(line string, cursor int) (head string, candidates []string, tail string) {
	runes := []rune(line)
	cursor = min(max(cursor, 0), len(runes))
	head, tail = string(runes[:cursor]), string(runes[cursor:])
	if strings.TrimSpace(head) == "" {
		return head, []string{"    "}, tail // nothing to complete: Tab indents
	}
	before := len([]rune(t.pending))
	c := t.s.Complete(t.pending+line, before+cursor)
	start, end := c.Start-before, c.End-before
	if start < 0 || end < start || end > len(runes) {
		return head, nil, tail // a completion that reaches into earlier lines
	}
	for _, m := range c.Matches {
		candidates = append(candidates, m.Text)
	}
	return string(runes[:start]), candidates, string(runes[end:])
}
