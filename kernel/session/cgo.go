package session

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/kernel/cell"
)

// usesC finds an import of C code.
var usesC = regexp.MustCompile(`(?m)^\s*(?:import\s+)?"C"\s*(?://.*)?$`)

// cgoCell compiles a cell with C code. The direct road does not know cgo, so
// the cell becomes a package of its own, which `go build` makes; its exported
// names are then there for later cells. Such a cell holds declarations only.
func (x *execution) cgoCell(text string) *Error {
	e := x.e
	e.mu.Lock()
	e.nextID++
	name := fmt.Sprintf("cgo%d", e.nextID)
	e.mu.Unlock()
	dir := filepath.Join(e.tc.Dir, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return &Error{Name: "SessionError", Value: err.Error(), Traceback: []string{err.Error()}}
	}
	// The blank line keeps the clause from the C code's comment.
	src := "package " + name + "\n\n" + strings.TrimPrefix(strings.TrimLeft(text, " \t"), "package main")
	if err := os.WriteFile(filepath.Join(dir, "cell.go"), []byte(src), 0o644); err != nil {
		return &Error{Name: "SessionError", Value: err.Error(), Traceback: []string{err.Error()}}
	}
	path := "rooflab.session/" + name
	if out, err := e.tc.BuildPackage(path); err != nil {
		return problemError(x.cgoProblems(out), x.label, x.req.Source)
	}
	names, err := e.state.Open(path)
	if err != nil {
		return x.explain(err, text)
	}
	if len(names) == 0 {
		x.emit(Stream{Name: "stderr", Text: "the cell declares no exported name; only those can be used in other cells\n"})
	}
	return nil
}

// cgoLine finds the positions in what cgo and the C compiler say.
var cgoLine = regexp.MustCompile(`^(?:\./)?(?:[^ :]*/)?cell\.go:(\d+):(?:(\d+):)? (.*)$`)

// cgoProblems maps diagnostics of a cell with C code to its lines.
func (x *execution) cgoProblems(out string) cell.Problems {
	var ps cell.Problems
	for _, line := range strings.Split(out, "\n") {
		m := cgoLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue // quoted source and headings
		}
		n, _ := strconv.Atoi(m[1])
		col, _ := strconv.Atoi(m[2])
		msg := m[3]
		if strings.Contains(msg, "expected declaration") || strings.Contains(msg, "non-declaration statement") {
			msg += ` (a cell with import "C" holds declarations only; use them in another cell)`
		}
		ps = append(ps, cell.Problem{File: x.label, Line: n - 2, Col: col, Msg: msg})
	}
	if ps == nil {
		ps = cell.Problems{{File: x.label, Msg: out}}
	}
	return ps
}
