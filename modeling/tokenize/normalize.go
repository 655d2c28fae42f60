package tokenize

import (
	"fmt"
	"strings"
)

// Spacing says what becomes of white space.
type Spacing string

// The treatments of white space.
const (
	// KeepSpace changes nothing.
	KeepSpace Spacing = ""
	// CollapseSpace makes one line end of blanks with a line end among them, and
	// one blank of others. Indentation and empty lines are lost.
	CollapseSpace Spacing = "collapse"
	// MinimalSpace keeps a blank only where two pieces would become one without
	// it, or within a directive, and a line end only around a directive and, in
	// LLVM IR and assembler, after an instruction. The whole layout is lost;
	// what a compiler sees is not.
	MinimalSpace Spacing = "minimal"
)

// Normalization says what is rewritten before a text is split for good. The
// zero value changes nothing.
type Normalization struct {
	// DropComments takes comments out; each separates what it stood between.
	DropComments bool    `json:"drop_comments,omitempty"`
	Space        Spacing `json:"space,omitempty"`
	// Rename gives the names that the text itself declares new ones, in order of
	// appearance, so that a text and its alpha-renamed twin have the same ids.
	// Comments go, since they hold names. See rename_c.go and rename_asm.go for
	// what is renamed.
	Rename bool `json:"rename,omitempty"`
	// Numbers is the encoding of literal numbers; Digits their significant
	// digits, up to 20 (0 is DefaultDigits).
	Numbers Numbers `json:"numbers,omitempty"`
	Digits  int     `json:"digits,omitempty"`
}

func (n Normalization) check(l Language) error {
	switch n.Space {
	case KeepSpace, CollapseSpace, MinimalSpace:
	default:
		return fmt.Errorf("tokenize: the spacing %q is not known: take one of %q", n.Space, []Spacing{KeepSpace, CollapseSpace, MinimalSpace})
	}
	if n.Numbers != AsText && n.Numbers != Scientific {
		return fmt.Errorf("tokenize: the encoding of numbers %q is not known: take one of %q", n.Numbers, []Numbers{AsText, Scientific})
	}
	if n.Digits < 0 || n.Digits > maxDigits {
		return fmt.Errorf("tokenize: %d significant digits: take 1 to %d, or 0 for %d", n.Digits, maxDigits, DefaultDigits)
	}
	if l == Text && n != (Normalization{}) {
		return fmt.Errorf("tokenize: the language %q has no comments, names or numbers to normalise: leave Normalization empty, or name the language of the source", l)
	}
	if l == Assembly && n.Rename {
		return fmt.Errorf("tokenize: the language %q has no names to rename: its registers are those of the machine", l)
	}
	return nil
}

func (n Normalization) digits() int {
	if n.Digits == 0 {
		return DefaultDigits
	}
	return n.Digits
}

// Normalize rewrites a text as n says. Doing so again changes nothing.
func Normalize(l Language, n Normalization, text string) (string, error) {
	if err := l.check(); err != nil {
		return "", err
	}
	if err := n.check(l); err != nil {
		return "", err
	}
	return n.apply(l, text, nil).text, nil
}

// normalized is a rewritten text and where its parts come from; no parts mean
// that nothing was changed.
type normalized struct {
	text  string
	parts []part
}

// part is a piece of the rewritten text that begins at start.
type part struct {
	start     int
	source    Span
	unchanged bool
}

func (n Normalization) apply(l Language, text string, scratch []Piece) normalized {
	if n == (Normalization{Digits: n.Digits}) {
		return normalized{text: text}
	}
	pieces := scan(l, text, scratch[:0])
	var names []string
	if n.Rename {
		n.DropComments = true
		names = rename(l, text, pieces)
	}
	w := writer{l: l, n: n, src: text, parts: make([]part, 0, len(pieces)+2)}
	w.out.Grow(len(text))
	for i, p := range pieces {
		switch {
		case p.Kind == Space, p.Kind == Newline, p.Kind == Comment && n.DropComments:
			w.skip(p)
			continue
		}
		s := text[p.Start:p.End]
		if names != nil && names[i] != "" {
			s = names[i]
		} else if p.Kind == Number && n.Numbers == Scientific {
			if lit, ok := parse(l, s, n.digits()); ok {
				s = lit.String() + lit.suffix
			}
		}
		w.write(p, s)
	}
	w.end(len(text))
	return normalized{w.out.String(), w.parts}
}

// writer puts pieces together again.
type writer struct {
	l     Language
	n     Normalization
	src   string
	out   strings.Builder
	parts []part

	prev      Piece // the last that was written
	prevText  string
	wrote     bool
	changed   bool
	directive bool // within a directive's line

	// What was skipped since.
	gap       bool
	from      int
	line      bool // has a line end
	lineMeant bool // has one that means something
}

func (w *writer) skip(p Piece) {
	if !w.gap {
		w.gap, w.from, w.line, w.lineMeant = true, p.Start, false, false
	}
	if p.Kind == Newline {
		w.line, w.lineMeant = true, true
	}
	if p.Kind == Space {
		w.line = w.line || endsLine(w.l, w.src[p.Start:p.End])
	}
	if w.n.Space == KeepSpace {
		if p.Kind == Comment && w.l == Assembly && w.prevText == ";" {
			// What follows on the line would be read as a comment.
			if s := w.out.String(); s[len(s)-1] != '\n' {
				w.add("\n", Span{p.Start, p.Start}, false)
			}
		} else if p.Kind == Comment && p.Start == w.from {
			w.add(" ", Span{p.Start, p.Start}, false)
		} else if p.Kind != Comment {
			w.add(w.src[p.Start:p.End], Span{p.Start, p.End}, true)
		}
	}
}

// endsLine says that blanks have a line end, other than one after a backslash
// in C.
func endsLine(l Language, s string) bool {
	if l != C {
		return strings.IndexByte(s, '\n') >= 0
	}
	for i := range len(s) {
		if s[i] == '\n' && (i == 0 || s[i-1] != '\\' && (s[i-1] != '\r' || i == 1 || s[i-2] != '\\')) {
			return true
		}
	}
	return false
}

func (w *writer) add(s string, source Span, unchanged bool) {
	w.parts = append(w.parts, part{start: w.out.Len(), source: source, unchanged: unchanged})
	w.out.WriteString(s)
}

func (w *writer) write(p Piece, s string) {
	if w.gap && w.wrote && w.n.Space != KeepSpace {
		if sep := w.separator(p, s); sep != "" {
			w.add(sep, Span{w.from, p.Start}, false)
		}
	}
	if !w.gap && w.wrote && w.changed && (w.prev.Kind == Word || w.prev.Kind == Number) && w.apart(p, s) {
		w.add(" ", Span{p.Start, p.Start}, false) // %"q"1 must not become %v01
	}
	if w.lineMeant || w.l != C {
		w.directive = false
	}
	if p.Kind == Directive {
		w.directive = true
	}
	w.gap, w.lineMeant = false, false
	w.changed = s != w.src[p.Start:p.End]
	w.add(s, Span{p.Start, p.End}, !w.changed)
	w.prev, w.prevText, w.wrote = p, s, true
}

func (w *writer) end(at int) {
	w.parts = append(w.parts, part{start: w.out.Len(), source: Span{at, at}})
}

// separator is what stands between the last piece and the next, where there
// was white space or a comment.
func (w *writer) separator(p Piece, s string) string {
	line := w.lineMeant || p.Kind == Directive || w.l == Assembly && w.prevText == ";" || w.line && (w.n.Space == CollapseSpace || w.prev.Kind == Comment || w.prev.Kind == Other)
	switch {
	case line && strings.HasSuffix(w.prevText, `\`):
		return " \n" // and not a line that is continued
	case line:
		return "\n"
	case w.n.Space == CollapseSpace, w.directive, w.apart(p, s):
		return " "
	}
	return ""
}

// apart says that the last piece and the next would not be read as the same
// two if nothing stood between them.
func (w *writer) apart(p Piece, s string) bool {
	last, first := w.prevText[len(w.prevText)-1], s[0]
	if w.prev.Kind == Other || p.Kind == Other {
		return true
	}
	if w.l != C {
		sticks := func(b byte) bool {
			return classes[b]&(isWord|isLLVM) != 0 || strings.IndexByte("+%@!#\"'/*", b) >= 0
		}
		return sticks(last) && sticks(first)
	}
	word := w.prev.Kind == Word || w.prev.Kind == Number
	switch {
	case word && (p.Kind == Number || classes[first]&isWord != 0 || first == '"' || first == '\''):
		return true
	case w.prev.Kind == Number && strings.IndexByte(".+-", first) >= 0:
		return first == '.' || strings.IndexByte("eEpP", last) >= 0
	case w.prev.Kind == String && p.Kind == Word:
		return true
	case w.prev.Kind == Operator:
		return glues(w.prevText, s)
	}
	return false
}
