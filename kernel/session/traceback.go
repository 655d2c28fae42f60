package session

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/kernel/cell"
	"github.com/rooflab/rooflab/kernel/host"
)

// problemError shows problems with the source lines that they are about.
func problemError(ps cell.Problems, label, source string) *Error {
	lines := strings.Split(source, "\n")
	var tb []string
	for i, p := range ps {
		if strings.Contains(p.Msg, cell.Mark+"old") {
			p.Msg += "; a variable has the type as it was before that was declared anew: declare the variable again"
			ps[i] = p
		}
		tb = append(tb, cleanText(p.String()))
		if p.File == label && p.Line >= 1 && p.Line <= len(lines) {
			text := lines[p.Line-1]
			tb = append(tb, fmt.Sprintf("%5d | %s", p.Line, text))
			if p.Col >= 1 && p.Col <= len(text)+1 {
				pad := strings.Map(func(r rune) rune {
					if r == '\t' {
						return r
					}
					return ' '
				}, text[:min(p.Col-1, len(text))])
				tb = append(tb, "      | "+pad+"^")
			}
		}
	}
	value := "the cell does not compile"
	if len(ps) > 0 {
		value = cleanText(ps[0].String())
		if len(ps) > 1 {
			value += fmt.Sprintf(" (and %d more)", len(ps)-1)
		}
	}
	return &Error{Name: "CompileError", Value: value, Traceback: tb}
}

// callError is the failure of a cell whose trailing call, on the given line,
// returned an error.
func callError(text, label, source string, line int) *Error {
	tb := []string{"error: " + text}
	if lines := strings.Split(source, "\n"); line >= 1 && line <= len(lines) {
		tb = append(tb, fmt.Sprintf("  %s:%d in cell", label, line), fmt.Sprintf("  --> %3d | %s", line, strings.TrimRight(lines[line-1], "\r")))
	}
	return &Error{Name: "error", Value: text, Traceback: tb}
}

// wrapped is what the compiler says of a trailing expression that it finds as
// the argument of a call that the user did not write.
var wrapped = regexp.MustCompile(` in argument to rl` + cell.Mark + `?live\.\w+`)

var diagnostic = regexp.MustCompile(`^(.*?):(\d+):(?:(\d+):)? (.*)$`)

// parseDiagnostics reads the compiler's output.
func parseDiagnostics(out, label string) cell.Problems {
	var ps cell.Problems
	for _, line := range strings.Split(strings.TrimSpace(out), "\n") {
		m := diagnostic.FindStringSubmatch(line)
		if m == nil {
			if strings.TrimSpace(line) != "" {
				ps = append(ps, cell.Problem{File: label, Msg: line})
			}
			continue
		}
		n, _ := strconv.Atoi(m[2])
		c, _ := strconv.Atoi(m[3])
		file := m[1]
		if i := strings.Index(file, "In["); i >= 0 {
			file = file[i:]
		}
		ps = append(ps, cell.Problem{File: file, Line: n, Col: c, Msg: wrapped.ReplaceAllString(m[4], "")})
	}
	return ps
}

var frame = regexp.MustCompile(`^\t(.*):(\d+)(?: \+0x[0-9a-f]+)?$`)

// stack turns a goroutine's stack into lines about the user's cells: frames of
// cells with their source, others by name, the machinery left out.
func (e *engine) stack(stack, label, source string) []string {
	lines := strings.Split(stack, "\n")
	src := strings.Split(source, "\n")
	var out []string
	started := false
	for i := 0; i+1 < len(lines); i++ {
		m := frame.FindStringSubmatch(lines[i+1])
		if m == nil {
			continue
		}
		fn := lines[i]
		i++
		if strings.HasPrefix(fn, "panic(") {
			// What stands above is the recovery; the user's frames follow.
			started, out = true, nil
			continue
		}
		if !started {
			continue
		}
		file, line := m[1], m[2]
		at := strings.Index(file, "In[")
		switch {
		case strings.Contains(fn, cell.Mark+"cell") && at < 0, strings.HasPrefix(fn, "github.com/rooflab/rooflab/kernel/live."), strings.HasPrefix(fn, "github.com/rooflab/rooflab/kernel/gotest."), strings.HasPrefix(fn, "github.com/rooflab/rooflab/kernel/host."), strings.HasPrefix(fn, "created by "):
			continue
		case at < 0:
			if strings.HasPrefix(fn, "runtime.") {
				continue
			}
			out = append(out, "  "+strings.TrimSuffix(fn, "(...)")+"  "+shortPath(file)+":"+line)
			continue
		}
		name := cleanText(trimArgs(fn))
		name = strings.TrimPrefix(name, "cell.")
		if strings.HasPrefix(name, "rlcell") {
			name = "cell" + strings.TrimLeft(strings.TrimPrefix(name, "rlcell"), "0123456789")
		}
		file = file[at:]
		out = append(out, fmt.Sprintf("  %s:%s in %s", file, line, name))
		if n, err := strconv.Atoi(line); err == nil && file == label && n >= 1 && n <= len(src) {
			out = append(out, fmt.Sprintf("  --> %3d | %s", n, src[n-1]))
		}
	}
	return out
}

// trimArgs cuts the arguments off a stack frame's function.
func trimArgs(fn string) string {
	depth := 0
	for i := len(fn) - 1; i >= 0; i-- {
		switch fn[i] {
		case ')':
			depth++
		case '(':
			depth--
			if depth == 0 {
				return fn[:i]
			}
		}
	}
	return fn
}

// shortPath leaves of a source path what says where it is from.
func shortPath(p string) string {
	for _, mark := range []string{"/pkg/mod/", "/src/"} {
		if i := strings.LastIndex(p, mark); i >= 0 {
			return p[i+len(mark):]
		}
	}
	return p
}

// lateText reports a panic of a goroutine whose cell had ended.
func (e *engine) lateText(f *host.Failure) string {
	if f.Kind == "exit" {
		return fmt.Sprintf("a goroutine of an earlier cell called os.Exit(%d); the session goes on\n", f.Code)
	}
	if f.Kind == "interrupted" {
		return "the interrupt has also stopped goroutines that earlier cells had started\n"
	}
	text := "panic in a goroutine of an earlier cell: " + cleanText(f.Text) + "\n"
	for _, l := range e.stack(f.Stack, "", "") {
		text += l + "\n"
	}
	return text
}
