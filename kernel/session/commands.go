package session

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"unicode"

	"github.com/rooflab/rooflab/kernel/host"
)

// command is a special line of a cell: !shell or %command.
type command struct {
	shell bool
	text  string // without the ! or %
	body  string // the rest of the cell, for %% commands that take it
	line  int
}

type parts struct {
	commands []command
	goCode   string // special lines blanked; empty when nothing is left
}

// gonbPrefix may stand before a special line, to make it a comment to Go tools.
const gonbPrefix = "//gonb:"

// bodyCommands take the rest of the cell as their input.
var bodyCommands = map[string]bool{"%writefile": true, "%bash": true, "%sh": true, "%script": true, "%gx": true}

// splitCommands separates the special lines (a ! or % in the first column,
// outside of strings, comments and parentheses) from the Go code.
func splitCommands(source string) parts {
	var p parts
	var out strings.Builder
	lines := strings.SplitAfter(source, "\n")
	var sc codeScanner
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if sc.top() && (strings.HasPrefix(line, gonbPrefix+"%") || strings.HasPrefix(line, gonbPrefix+"!")) {
			line = line[len(gonbPrefix):]
		}
		if sc.top() && len(line) > 1 && (line[0] == '!' || line[0] == '%') {
			text := strings.TrimRight(line, "\r\n")
			for strings.HasSuffix(text, "\\") && i+1 < len(lines) {
				i++
				out.WriteString("\n")
				text = strings.TrimSuffix(text, "\\") + "\n" + strings.TrimRight(lines[i], "\r\n")
			}
			c := command{shell: text[0] == '!', text: text[1:], line: i + 1}
			name, _, _ := strings.Cut(strings.TrimSpace(c.text), " ")
			if !c.shell && bodyCommands[name] {
				c.body = strings.Join(lines[i+1:], "")
				p.commands = append(p.commands, c)
				break
			}
			p.commands = append(p.commands, c)
			if !c.shell && (name == "%" || name == "main") && strings.Contains(c.text, " -") {
				out.WriteString("flag.Parse()") // as GoNB's main does first
			}
			out.WriteString("\n")
			continue
		}
		sc.feed(line)
		out.WriteString(line)
	}
	if strings.TrimSpace(out.String()) != "" {
		p.goCode = out.String()
	}
	return p
}

// codeScanner follows strings, comments and brackets of Go text.
type codeScanner struct {
	depth   int
	raw     bool
	comment bool
}

func (s *codeScanner) top() bool { return s.depth <= 0 && !s.raw && !s.comment }

func (s *codeScanner) feed(line string) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case s.raw:
			s.raw = c != '`'
		case s.comment:
			if c == '*' && i+1 < len(line) && line[i+1] == '/' {
				s.comment = false
				i++
			}
		case c == '`':
			s.raw = true
		case c == '/' && i+1 < len(line) && line[i+1] == '/':
			return
		case c == '/' && i+1 < len(line) && line[i+1] == '*':
			s.comment = true
			i++
		case c == '"' || c == '\'':
			for i++; i < len(line) && line[i] != c && line[i] != '\n'; i++ {
				if line[i] == '\\' {
					i++
				}
			}
		case c == '(' || c == '{' || c == '[':
			s.depth++
		case c == ')' || c == '}' || c == ']':
			s.depth--
		}
	}
}

const helpText = `rooflab cells hold Go: imports, declarations, statements and expressions in any order.
Values, types, functions and goroutines of earlier cells are there. The value of a
trailing expression is shown (a semicolon behind it hides it) and becomes Out[n].
An error that a trailing call returns fails the cell; _ = f() does not care.
Well-known packages need no import. ctx is the cell's context: interrupts cancel it.

  !command              run a shell command (a failure fails the cell)
  %get module@version   add a module to the session
  %env NAME VALUE       set an environment variable (alone: list them)
  %cd DIR               change the working directory (alone: show it)
  %args A B ...         set os.Args
  %who, %ls             list what the session has declared
  %rm NAME ...          take declarations and imports back; of a method: Type~Method
  %test FLAGS           run the cell's tests and benchmarks (alone: all tests), as go test -v
  %exec F ARGS          set os.Args and call F() after the rest of the cell
  %capture FILE         copy what the cell's Go code prints and shows to FILE (-a appends)
  %with_inputs, %with_password  the next shell command may ask for input, or for a secret
  %version              show the versions of rooflab and Go
  %reset                forget everything and start afresh
  %%writefile FILE      write the rest of the cell to FILE (-a appends)
  %%bash, %%script CMD  feed the rest of the cell to a shell or a command
  %main, %%             the rest of the cell is the body of main (as in GoNB)
  %help                 this text
`

// command runs one special line.
func (x *execution) command(c command) *Error {
	if c.shell {
		text := strings.TrimPrefix(c.text, "*")
		return x.shellLine(text)
	}
	fields := words(c.text)
	if len(fields) == 0 {
		return nil
	}
	name, args := fields[0], fields[1:]
	rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(c.text), name))
	switch name {
	case "help":
		x.payload = append(x.payload, map[string]any{"source": "page", "start": 0, "data": map[string]any{"text/plain": helpText}})
		return nil
	case "%", "main", "args":
		return x.hostCommand(host.Command{Op: "args", Args: args})
	case "env":
		return x.env(rest)
	case "cd":
		if len(args) == 1 {
			rest = args[0] // without its quotes
		}
		return x.chdir(rest)
	case "get":
		return x.get(args)
	case "who":
		x.who()
		return nil
	case "ls", "list":
		x.list()
		return nil
	case "rm", "remove":
		return x.remove(args)
	case "reset":
		if len(args) > 0 {
			return x.keepModules(args)
		}
		return x.reset()
	case "test":
		x.tests = append([]string{}, args...)
		return nil
	case "exec":
		return x.callLater(args)
	case "capture":
		return x.copyOutput(args)
	case "version":
		x.version()
		return nil
	case "with_inputs", "with_password":
		x.input, x.password = true, name == "with_password"
		return nil
	case "%writefile":
		return x.writeFile(args, c.body)
	case "%bash", "%sh":
		return x.hostCommand(host.Command{Op: "shell", Text: c.body, Args: append([]string{strings.TrimPrefix(name, "%"), "-s", "--"}, args...)})
	case "%script":
		if len(args) == 0 {
			return commandError("%%%%script: name the command that reads the cell")
		}
		return x.hostCommand(host.Command{Op: "shell", Text: c.body, Args: args})
	}
	if why, ok := idle[name]; ok {
		x.emit(Stream{Name: "stderr", Text: "%" + name + ": " + why + "\n"})
		x.unrun = name == "wasm"
		return nil
	}
	return commandError("unknown command %%%s; %%help lists the commands", name)
}

func commandError(format string, args ...any) *Error {
	msg := fmt.Sprintf(format, args...)
	return &Error{Name: "CommandError", Value: msg, Traceback: []string{msg}}
}

func (x *execution) hostCommand(c host.Command) *Error {
	x.e.mu.Lock()
	if x.e.interrupts > 0 { // before it began
		x.e.mu.Unlock()
		return &Error{Name: "Interrupted", Value: "interrupted"}
	}
	x.e.shell = c.Op == "shell"
	x.e.mu.Unlock()
	defer func() {
		x.e.mu.Lock()
		x.e.shell = false
		x.e.mu.Unlock()
	}()
	ev, err := x.p.do(c)
	if err != nil {
		return x.lost()
	}
	if ev.Failure != nil {
		return x.failure(ev.Failure)
	}
	return nil
}

func (x *execution) env(rest string) *Error {
	if rest == "" {
		env := os.Environ()
		sort.Strings(env)
		x.emit(Stream{Name: "stdout", Text: strings.Join(env, "\n") + "\n"})
		return nil
	}
	name, value, ok := strings.Cut(rest, "=")
	if !ok || strings.ContainsAny(name, " \t") {
		name, value, _ = strings.Cut(rest, " ")
	}
	return x.hostCommand(host.Command{Op: "env", Text: name + "=" + strings.Trim(strings.TrimSpace(value), `"`)})
}

func (x *execution) chdir(dir string) *Error {
	if dir != "" {
		if home, err := os.UserHomeDir(); err == nil && (dir == "~" || strings.HasPrefix(dir, "~/")) {
			dir = filepath.Join(home, strings.TrimPrefix(dir, "~"))
		}
		if err := x.hostCommand(host.Command{Op: "chdir", Text: dir}); err != nil {
			return err
		}
	}
	ev, err := x.p.do(host.Command{Op: "pwd"})
	if err != nil {
		return x.lost()
	}
	x.emit(Stream{Name: "stdout", Text: ev.Text + "\n"})
	return nil
}

func (x *execution) get(args []string) *Error {
	if len(args) == 0 {
		return commandError("%%get: name modules, as in %%get gonum.org/v1/gonum@v0.17.0")
	}
	if err := x.e.tc.Get(args...); err != nil {
		return commandError("%%get %s: %v", strings.Join(args, " "), err)
	}
	x.emit(Stream{Name: "stderr", Text: "added " + strings.Join(args, " ") + "\n"})
	return nil
}

func (x *execution) who() {
	x.e.mu.Lock()
	lines := x.e.state.Describe()
	x.e.mu.Unlock()
	if len(lines) == 0 {
		lines = []string{"nothing declared yet"}
	}
	x.emit(Stream{Name: "stdout", Text: strings.Join(lines, "\n") + "\n"})
}

// words splits the text of a command at blanks; quotes, single or double, keep
// blanks within a word. A quote that is not closed is a character like others.
func words(text string) []string {
	var all []string
	var b strings.Builder
	var quote rune
	in := false
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, in = r, true
		case unicode.IsSpace(r):
			if in {
				all = append(all, b.String())
				b.Reset()
				in = false
			}
		default:
			b.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return strings.Fields(text)
	}
	if in {
		all = append(all, b.String())
	}
	return all
}

func (x *execution) reset() *Error {
	x.p.attach(nil)
	x.p.kill()
	if err := x.e.begin(); err != nil {
		return commandError("%%reset: %v", err)
	}
	x.p = x.e.host
	x.p.attach(x.event)
	x.emit(Stream{Name: "stdout", Text: "* State reset: all memorized declarations discarded.\n"})
	return nil
}

// outputFile is the file that a command's arguments, [-a] PATH, name, and how to
// open it: anew, or with -a to append.
func (x *execution) outputFile(args []string, complaint string) (path string, flags int, _ *Error) {
	flags = os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if len(args) > 0 && args[0] == "-a" {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		args = args[1:]
	}
	if len(args) != 1 {
		return "", 0, commandError("%s", complaint)
	}
	path, lost := x.path(args[0])
	return path, flags, lost
}

func (x *execution) writeFile(args []string, body string) *Error {
	path, flags, lost := x.outputFile(args, "%%writefile: name one file")
	if lost != nil {
		return lost
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return commandError("%%%%writefile: %v", err)
	}
	if _, err := f.WriteString(body); err != nil {
		f.Close()
		return commandError("%%%%writefile: %v", err)
	}
	if err := f.Close(); err != nil {
		return commandError("%%%%writefile: %v", err)
	}
	x.emit(Stream{Name: "stderr", Text: fmt.Sprintf("wrote %d bytes to %s\n", len(body), args[0])})
	return nil
}
