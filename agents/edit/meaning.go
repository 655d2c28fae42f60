package edit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// leaks is the first line, from 1, that is not editable and is read differently
// in the new text: as a comment, a string or a part of a directive, under other
// conditions, within other brackets or another function; 0 where there is none.
func (f *file) leaks(rs []owned, after string) int {
	if f.readAs == nil {
		f.readAs = readLines(f.Text)
	}
	old := f.readAs
	var now []string // read when a line needs it
	i, j := 0, 0
	for _, r := range append(slices.Clone(rs), owned{replacement: replacement{from: len(f.lines.text), to: len(f.lines.text)}}) {
		for ; i < r.from; i, j = i+1, j+1 {
			if !f.locked(i) {
				continue
			}
			if now == nil {
				now = readLines(after)
			}
			if i >= len(old) || j >= len(now) || old[i] != now[j] {
				return i + 1
			}
		}
		i, j = r.to, j+len(r.lines)
	}
	return 0
}

// locked says that a line, from 0, is not editable.
func (f *file) locked(i int) bool { return !f.allowed(replacement{from: i, to: i + 1}) }

// readLines says of each line how it is read: the conditions and brackets that
// are open and the function that it is in, and the kinds and the text of what
// begins in it. Lines with nothing on them are read in no way.
func readLines(text string) []string {
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return nil // only for a language that is not known
	}
	r := lineReader{within: functionOfLine(text)}
	for _, p := range pieces {
		rest := text[p.Start:p.End]
		for {
			line, more, found := strings.Cut(rest, "\n")
			if t := strings.TrimSpace(line); t != "" {
				r.piece(p.Kind, t)
			}
			if !found {
				break
			}
			if p.Kind == tokenize.Newline {
				r.endDirective()
			}
			r.endLine()
			rest = more
		}
	}
	if r.now.Len() > 0 {
		r.endLine()
	}
	return r.out
}

type lineReader struct {
	within    []string // names of functions by line, from 0
	out       []string
	now       strings.Builder
	open      []string // conditions, each with the branch that one is in
	depth     int      // of brackets
	directive []string // the words of the one that is read; nil: none
}

func (r *lineReader) piece(kind tokenize.Kind, text string) {
	if r.now.Len() == 0 {
		name := ""
		if n := len(r.out); n < len(r.within) {
			name = r.within[n]
		}
		fmt.Fprintf(&r.now, "%q %d %v %s", r.open, r.depth, r.directive != nil, name)
	}
	fmt.Fprintf(&r.now, " %d:%s", kind, text)
	switch {
	case kind == tokenize.Directive:
		r.directive = []string{}
	case r.directive != nil && kind != tokenize.Comment:
		r.directive = append(r.directive, text)
	case kind == tokenize.Operator && !r.other():
		for _, c := range text {
			switch c {
			case '(', '[', '{':
				r.depth++
			case ')', ']', '}':
				r.depth--
			}
		}
	}
}

func (r *lineReader) endLine() {
	r.out = append(r.out, r.now.String())
	r.now.Reset()
}

// otherBranch stands before the condition of an #else or #elif.
const otherBranch = "else "

// other says that a branch of a condition is read that is not the first one: the
// branches of a condition open and close the same brackets.
func (r *lineReader) other() bool {
	return slices.ContainsFunc(r.open, func(c string) bool { return strings.HasPrefix(c, otherBranch) })
}

func (r *lineReader) endDirective() {
	words := r.directive
	r.directive = nil
	if len(words) == 0 {
		return
	}
	n := len(r.open)
	switch condition := strings.Join(words, " "); words[0] {
	case "if", "ifdef", "ifndef":
		r.open = append(slices.Clone(r.open), condition)
	case "else", "elif", "elifdef", "elifndef":
		if n > 0 {
			r.open = append(slices.Clone(r.open[:n-1]), otherBranch+r.open[n-1]+" "+condition)
		}
	case "endif":
		r.open = r.open[:max(0, n-1)]
	}
}

// functionOfLine is the name of the function around each line, "" for none.
func functionOfLine(text string) []string {
	var out []string
	for _, f := range Functions(text) {
		for len(out) < f.Lines.End {
			out = append(out, "")
		}
		for l := f.Lines.Start; l <= f.Lines.End; l++ {
			if l >= 1 && out[l-1] == "" {
				out[l-1] = f.Name
			}
		}
	}
	return out
}

// directives are the names that directives of a kind have in a text, such as the
// macros of define, in order; for line, the word itself.
func directives(text, wanted string) []string {
	if !strings.Contains(text, "#") {
		return nil
	}
	pieces, err := tokenize.Scan(tokenize.C, text)
	if err != nil {
		return nil // only for a language that is not known
	}
	var out []string
	kind, inside := "", false
	for _, p := range pieces {
		word := text[p.Start:p.End]
		switch {
		case p.Kind == tokenize.Directive:
			kind, inside = "", true
		case p.Kind == tokenize.Newline:
			inside = false
		case !inside || p.Kind == tokenize.Space || p.Kind == tokenize.Comment:
		case kind == "" && p.Kind == tokenize.Number: // # 12 "file" is a #line
			if inside = false; wanted == "line" {
				out = append(out, "line")
			}
		case kind == "":
			if kind = word; kind == "line" && wanted == kind {
				out = append(out, kind)
			}
		default:
			if inside = false; kind == wanted && kind != "line" {
				out = append(out, word)
			}
		}
	}
	return out
}

// defined are the functions of the text before.
func (f *file) defined() []Function {
	if f.functions == nil {
		f.functions = Functions(f.Text)
	}
	return f.functions
}

// meant is the text before without white space and comments.
func (f *file) meant() []string {
	if f.meaning == nil {
		f.meaning = meant(f.Text)
	}
	return f.meaning
}

// newDirective is a name that directives of a kind have in a text more often than
// before, "" for none.
func (f *file) newDirective(after, kind string) string {
	if f.directives == nil {
		f.directives = map[string][]string{}
	}
	if _, ok := f.directives[kind]; !ok {
		f.directives[kind] = directives(f.Text, kind)
	}
	had := slices.Clone(f.directives[kind])
	for _, name := range directives(after, kind) {
		i := slices.Index(had, name)
		if i < 0 {
			return name
		}
		had = slices.Delete(had, i, i+1)
	}
	return ""
}

// newMacros are the macros that a text defines, or takes away, and did not before.
func (f *file) newMacros(after string) []string {
	if !strings.Contains(after, "define") && !strings.Contains(after, "undef") {
		return nil
	}
	var out []string
	for _, kind := range []string{"define", "undef"} {
		if f.newDirective(after, kind) == "" {
			continue
		}
		for _, name := range directives(after, kind) {
			if !slices.Contains(f.directives[kind], name) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// redefined holds new macros of a file against the lines that may not be changed:
// in the file itself and, where other files include it, in those. It says which
// macro is a word of which of them, "" for none.
func (a *applier) redefined(f *file, after string) (macro string, in *file, line int) {
	macros := f.newMacros(after)
	if len(macros) == 0 {
		return "", nil, 0
	}
	for _, g := range a.files {
		if g != f && !a.included(f) {
			continue
		}
		for i, l := range g.lines.text {
			if len(g.Editable) > 0 && !g.locked(i) {
				continue
			}
			for _, name := range macros {
				if strings.Contains(l, name) && slices.Contains(meant(l), name) {
					return name, g, i + 1
				}
			}
		}
	}
	return "", nil, 0
}

// included says that another source includes a file, by its last name.
func (a *applier) included(f *file) bool {
	name := f.Path[strings.LastIndexByte(f.Path, '/')+1:]
	for _, g := range a.files {
		for _, l := range g.lines.text {
			if g != f && strings.Contains(l, name) && strings.Contains(l, "include") {
				return true
			}
		}
	}
	return false
}

// otherSpelling is a spelling of brackets and marks in a line by other characters,
// which compilers read as them (trigraphs and digraphs, ISO C, 5.2.1.1 and 6.4.6),
// "" for none.
func otherSpelling(line string) string {
	for _, c := range "=/'()!<>-" {
		if s := "??" + string(c); strings.Contains(line, s) {
			return s
		}
	}
	if !strings.ContainsAny(line, "%:") {
		return ""
	}
	pieces, err := tokenize.Scan(tokenize.C, line)
	if err != nil {
		return ""
	}
	for _, p := range pieces {
		if p.Kind != tokenize.Operator {
			continue
		}
		for at := p.Start; at < p.End; at++ {
			for _, s := range []string{"<%", "%>", "%:", ":>", "<:"} {
				if strings.HasPrefix(line[at:], s) && !strings.HasPrefix(line[at:], "<::") { // C++: f<::g>
					return s
				}
			}
		}
	}
	return ""
}
