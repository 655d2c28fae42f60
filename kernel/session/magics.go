package session

import (
	"fmt"
	"go/token"
	"html"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/rooflab/rooflab/kernel/cell"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/kernel/host"
)

// idle are commands of GoNB that have nothing to do in a live session: why, and
// what does it instead.
var idle = map[string]string{
	"autoget":    "ignored, packages of modules that the session has are there, and %get adds others",
	"noautoget":  "ignored, nothing is fetched unasked; %get adds modules",
	"goflags":    "ignored, a cell must be compiled like the session that loads it; for other flags put the code into a package and run !go build",
	"goworkfix":  "ignored, the session's modules are chosen by %get; name local ones with !*go mod edit -replace and then %get",
	"track":      "ignored, completion reads the live session; no file needs tracking",
	"untrack":    "ignored, no file is tracked; completion reads the live session",
	"wasm":       "the cell is not run, since code for a browser cannot share values with the session; build it with %%writefile and !GOOS=js GOARCH=wasm go build",
	"widgets":    "ignored, widgets of gonbui do not hear from the front end; use cells, or gonbui.RequestInput for input",
	"widgets_hb": "ignored, widgets of gonbui do not hear from the front end; use cells, or gonbui.RequestInput for input",
	"%gx":        "the cell is not run, since it is not Go; call the gx program with %%script",
}

// keepModules answers %reset go.mod.
func (x *execution) keepModules(args []string) *Error {
	if len(args) != 1 || args[0] != "go.mod" {
		return commandError("%%reset takes nothing or go.mod, not %s", strings.Join(args, " "))
	}
	x.emit(Stream{Name: "stderr", Text: "%reset go.mod: ignored, modules that are loaded stay with their values; %reset alone starts afresh\n"})
	return nil
}

// list answers %ls as GoNB does, with text for front ends that show no HTML.
func (x *execution) list() {
	x.e.mu.Lock()
	d := x.e.state.Definitions()
	lines := x.e.state.Describe()
	x.e.mu.Unlock()
	text := "Memorized Definitions\n"
	page := "<h3>Memorized Definitions</h3>\n"
	for _, g := range []struct {
		title string
		names []string
	}{{"Imports", d.Imports}, {"Constants", d.Constants}, {"Types", d.Types}, {"Variables", d.Variables}, {"Functions", d.Functions}} {
		if len(g.names) == 0 {
			continue
		}
		page += "<h4>" + g.title + "</h4>\n<ul>\n"
		for _, n := range g.names {
			page += "<li><pre>" + html.EscapeString(n) + "</pre></li>\n"
		}
		page += "</ul>\n"
		if g.title == "Imports" {
			text += "import " + strings.Join(g.names, ", ") + "\n"
		}
	}
	for _, l := range lines {
		text += l + "\n"
	}
	x.emit(Display{Bundle: display.Bundle{Data: map[string]any{"text/html": page, "text/plain": text}}})
}

func (x *execution) version() {
	version := "devel"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		version = info.Main.Version
	}
	text := fmt.Sprintf("rooflab %s, %s %s/%s; cells of GoNB v0.11.3", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	x.emit(Display{Bundle: display.Bundle{Data: map[string]any{"text/markdown": text, "text/plain": text}}})
}

// remove takes declarations back; as in GoNB, a name that is not there is told
// and no error, so that a cell with %rm runs again.
func (x *execution) remove(names []string) *Error {
	if len(names) == 0 {
		return commandError("%%rm: name declarations; %%ls lists them")
	}
	for _, n := range names {
		x.e.mu.Lock()
		kind := x.e.state.Forget(n)
		x.e.mu.Unlock()
		if kind == "" {
			x.emit(Stream{Name: "stderr", Text: fmt.Sprintf(". key %q not found in any definition, not removed\n", n)})
		} else {
			x.emit(Stream{Name: "stdout", Text: fmt.Sprintf(". removed %s %s\n", kind, n)})
		}
	}
	return nil
}

// callLater notes the function of %exec, which the cell calls at its end.
func (x *execution) callLater(args []string) *Error {
	if len(args) == 0 {
		return commandError("%%exec requires the name of the function to execute")
	}
	if !token.IsIdentifier(args[0]) {
		return commandError("%%exec: %q is not the name of a function; its arguments come behind the name, without parentheses", args[0])
	}
	x.call = args[0]
	return x.hostCommand(host.Command{Op: "args", Args: args[1:]})
}

// path is a file as the cell means it: relative to the cells' folder, with ~
// and environment variables replaced.
func (x *execution) path(name string) (string, *Error) {
	ev, err := x.p.do(host.Command{Op: "path", Text: name})
	if err != nil {
		return "", x.lost()
	}
	if ev.Failure != nil {
		return "", x.failure(ev.Failure)
	}
	return ev.Text, nil
}

// copyOutput opens the file of %capture.
func (x *execution) copyOutput(args []string) *Error {
	path, flags, lost := x.outputFile(args, "%capture takes one argument, the name of the file where to save the captured output")
	if lost != nil {
		return lost
	}
	if err := x.endCopy(); err != nil { // of another file
		return err
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if err != nil {
		return commandError("%%capture: %v", err)
	}
	x.copyMu.Lock()
	x.copy = f
	x.copyMu.Unlock()
	return nil
}

// copied writes what an event shows to the file of %capture: text as it is, of
// a display its text, or its HTML or Markdown where it has no other.
func (x *execution) copied(ev Event) {
	x.copyMu.Lock()
	defer x.copyMu.Unlock()
	if x.copy == nil || !x.going {
		return
	}
	var text string
	switch ev := ev.(type) {
	case Stream:
		text = ev.Text
	case Display:
		text = textOf(ev.Bundle)
	case Result:
		text = textOf(ev.Bundle)
		if !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
	}
	if _, err := x.copy.WriteString(text); err != nil && x.copyErr == nil {
		x.copyErr = err
	}
}

func textOf(b display.Bundle) string {
	if s, ok := b.Data["text/plain"].(string); ok && s != placeholder(b) {
		return s
	}
	for _, mime := range []string{"text/markdown", "text/html"} {
		if s, ok := b.Data[mime].(string); ok {
			return s
		}
	}
	return ""
}

// endCopy closes the file of %capture.
func (x *execution) endCopy() *Error {
	x.copyMu.Lock()
	defer x.copyMu.Unlock()
	if x.copy == nil {
		return nil
	}
	err := x.copy.Close()
	x.copy = nil
	if x.copyErr != nil {
		err = x.copyErr
	}
	if err != nil {
		return commandError("%%capture: %v", err)
	}
	return nil
}

// shellLine runs a command line, with input if %with_inputs asked for it.
func (x *execution) shellLine(text string) *Error {
	c := host.Command{Op: "shell", Text: text, Input: x.input}
	if x.input {
		defer x.watchInput(x.p.childReadsInput, x.password)()
		x.input, x.password = false, false
	}
	return x.hostCommand(c)
}

// runTests answers %test: with flags, all tests that cells have declared are
// there to choose from; without, those of this cell run, verbose, or all tests
// if it has none.
func (x *execution) runTests() *Error {
	x.e.mu.Lock()
	all := x.e.state.Tests()
	x.e.mu.Unlock()
	listed := map[string][]string{}
	mine := map[string][]string{}
	for _, t := range all {
		listed[t.Param] = append(listed[t.Param], fmt.Sprintf("%q: %s", t.Name, t.Name))
		if t.File == x.label {
			mine[t.Param] = append(mine[t.Param], "^"+t.Name+"$")
		}
	}
	args := x.tests
	if len(args) == 0 {
		args = []string{"-test.v"}
		if len(mine["T"])+len(mine["B"]) > 0 {
			args = append(args, "-test.run="+strings.Join(append(mine["T"], mine["B"]...), "|"))
		}
		if len(mine["B"]) > 0 {
			args = append(args, "-test.bench="+strings.Join(mine["B"], "|"))
		}
	}
	for i, a := range args {
		args[i] = fmt.Sprintf("%q", a)
	}
	call := fmt.Sprintf("%[1]s.Run([]string{%[2]s}, %[1]s.Tests{%[3]s}, %[1]s.Benchmarks{%[4]s}", cell.TestsName,
		strings.Join(args, ", "), strings.Join(listed["T"], ", "), strings.Join(listed["B"], ", "))
	if listed["M"] != nil {
		call += ", TestMain"
	}
	x.unit = "%test"
	err := x.goCell(call + ")")
	x.unit = ""
	if err != nil && err.Name == "ExitError" {
		err.Value = fmt.Sprintf("tests failed: exit status %d", err.Exit)
		err.Traceback = []string{"ExitError: " + err.Value}
	}
	return err
}

// placeholder is the text of a bundle from gonbui, which sends none.
func placeholder(b display.Bundle) string {
	var kinds []string
	for k := range b.Data {
		if k != "text/plain" {
			kinds = append(kinds, k)
		}
	}
	sort.Strings(kinds)
	return "[" + strings.Join(kinds, ", ") + "]"
}
