package session

import (
	"strings"
	"unicode/utf8"

	"github.com/rooflab/rooflab/kernel/cell"
	"github.com/rooflab/rooflab/kernel/display"
)

// Complete implements Session.
func (e *engine) Complete(source string, cursor int) Completion {
	at := byteOffset(source, cursor)
	text, special := goText(source)
	if line := special.at(at); line != nil {
		return completeCommand(source, *line, at)
	}
	found, start, end := e.present().Complete(text, at)
	c := Completion{Start: runeOffset(source, start), End: runeOffset(source, end)}
	for _, f := range found {
		c.Matches = append(c.Matches, Match{Text: f.Text, Type: f.Kind, Doc: cleanText(f.Doc)})
	}
	return c
}

// Inspect implements Session.
func (e *engine) Inspect(source string, cursor, detail int) Inspection {
	at := byteOffset(source, cursor)
	text, special := goText(source)
	if line := special.at(at); line != nil {
		name, _ := commandName(source, *line)
		for _, c := range commandHelp() {
			if c.name == name {
				doc := c.usage + "\n" + c.doc
				return Inspection{Found: true, Bundle: display.Bundle{Data: map[string]any{"text/plain": doc + "\n", "text/markdown": "`" + c.usage + "`\n\n" + c.doc + "\n"}}}
			}
		}
		return Inspection{}
	}
	note, ok := e.present().Inspect(text, at, detail > 0)
	if !ok {
		return Inspection{}
	}
	return Inspection{Found: true, Bundle: display.Bundle{Data: map[string]any{
		"text/plain":    cleanText(note.Text()),
		"text/markdown": cleanText(note.Markdown()),
	}}}
}

// IsComplete implements Session. Special lines are complete as they stand; a
// command that takes the rest of the cell ends with an empty line.
func (e *engine) IsComplete(source string) Completeness { return isComplete(source) }

func isComplete(source string) Completeness {
	text, special := goText(source)
	for _, l := range special {
		switch {
		case l.continues:
			return Completeness{Status: "incomplete"}
		case l.body && !strings.HasSuffix(strings.TrimRight(source, " \t"), "\n\n"):
			return Completeness{Status: "incomplete"}
		}
	}
	status, indent := cell.IsComplete(text)
	return Completeness{Status: status.String(), Indent: indent}
}

func (e *engine) present() *cell.State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// byteOffset turns an offset in runes into one in bytes, within the text.
func byteOffset(text string, runes int) int {
	at := 0
	for ; runes > 0 && at < len(text); runes-- {
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	return at
}

func runeOffset(text string, bytes int) int { return utf8.RuneCountInString(text[:bytes]) }

// specialLine is where a special command stands, as byte offsets.
type specialLine struct {
	start, end int
	body       bool // takes the rest of the cell
	continues  bool // ends in a backslash at the end of the source
}

type specialLines []specialLine

func (ls specialLines) at(off int) *specialLine {
	for i := range ls {
		if ls[i].start < off && off <= ls[i].end || ls[i].start == off && ls[i].body {
			return &ls[i]
		}
	}
	return nil
}

// goText returns the source with special lines blanked, every offset in its
// place. It sees as special what splitCommands does.
func goText(source string) (string, specialLines) {
	var out strings.Builder
	var found specialLines
	var sc codeScanner
	off := 0
	for off < len(source) {
		line := source[off:]
		if i := strings.IndexByte(line, '\n'); i >= 0 {
			line = line[:i+1]
		}
		if !sc.top() || len(line) < 1 || line[0] != '!' && line[0] != '%' {
			sc.feed(line)
			out.WriteString(line)
			off += len(line)
			continue
		}
		l := specialLine{start: off}
		text := line
		for strings.HasSuffix(strings.TrimRight(line, "\r\n"), "\\") {
			next := source[off+len(text):]
			if next == "" {
				l.continues = true
				break
			}
			if i := strings.IndexByte(next, '\n'); i >= 0 {
				next = next[:i+1]
			}
			text += next
			line = next
		}
		name, _, _ := strings.Cut(strings.TrimSpace(text[1:]), " ")
		if text[0] == '%' && bodyCommands[name] {
			text = source[off:]
			l.body = true
		}
		off += len(text)
		l.end = l.start + len(strings.TrimRight(text, "\r\n"))
		if l.body {
			l.end = len(source)
		}
		found = append(found, l)
		for i := 0; i < len(text); i++ {
			if text[i] == '\n' {
				out.WriteByte('\n')
			} else {
				out.WriteByte(' ')
			}
		}
	}
	return out.String(), found
}

// commandName is the command of a special line with its per cent signs, and
// where it ends.
func commandName(source string, l specialLine) (string, int) {
	text := source[l.start:l.end]
	if i := strings.IndexAny(text, " \t\r\n"); i >= 0 {
		text = text[:i]
	}
	return text, l.start + len(text)
}

// completeCommand completes the name of a special command.
func completeCommand(source string, l specialLine, at int) Completion {
	name, end := commandName(source, l)
	none := Completion{Start: runeOffset(source, at), End: runeOffset(source, at)}
	if at > end || source[l.start] == '!' {
		return none
	}
	c := Completion{Start: runeOffset(source, l.start), End: runeOffset(source, end)}
	prefix := name[:at-l.start]
	for _, h := range commandHelp() {
		if strings.HasPrefix(h.name, prefix) {
			c.Matches = append(c.Matches, Match{Text: h.name, Type: "command", Doc: h.doc})
		}
	}
	return c
}

type commandLine struct{ name, usage, doc string }

// commandHelp reads the commands out of the help text: each line that begins
// with one, of the form "  %name ARGS   what it does".
func commandHelp() []commandLine {
	var all []commandLine
	for _, line := range strings.Split(helpText, "\n") {
		rest, ok := strings.CutPrefix(line, "  %")
		if !ok {
			continue
		}
		usage, doc, ok := strings.Cut("%"+rest, "  ")
		if !ok { // the usage fills its column
			continue
		}
		for _, form := range strings.Split(usage, ", ") {
			name, _, _ := strings.Cut(form, " ")
			if strings.HasPrefix(name, "%") && name != "%%" {
				all = append(all, commandLine{name, form, strings.TrimSpace(doc)})
			}
		}
	}
	return all
}
