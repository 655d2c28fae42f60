package tokenize

import (
	"fmt"
	"slices"
	"strings"
)

// A Language is the family of lexical rules by which a text is split.
type Language string

// The languages.
const (
	Text     Language = "text"     // GPT-2's words, numbers and punctuation; for prose and for models that were trained so
	C        Language = "c"        // C, C++, CUDA, HIP and OpenCL
	LLVM     Language = "llvm"     // LLVM IR
	PTX      Language = "ptx"      // NVIDIA PTX
	Assembly Language = "assembly" // SASS, AMDGCN and the like
)

// Languages lists them all.
func Languages() []Language { return []Language{Text, C, LLVM, PTX, Assembly} }

func (l Language) check() error {
	if slices.Contains(Languages(), l) {
		return nil
	}
	return fmt.Errorf("tokenize: the language %q is not known: take one of %q", l, Languages())
}

// A Kind says what a piece is.
type Kind uint8

// The kinds of pieces. In Text all are Word.
const (
	Space     Kind = iota // blanks and line ends, line continuations too
	Newline               // a line end that means something: that of a directive, or of an instruction
	Comment               // a comment or a part of one
	Word                  // an identifier, keyword, register or opcode
	Number                // a literal number, with its suffix
	String                // a string or character, or a part of one
	Operator              // an operator or other punctuation
	Directive             // the # of a preprocessor's line
	Other                 // bytes that are none of these, strings that are not closed
)

// A Piece is a part of a text. Pieces cover a text without gaps, and no merge
// crosses from one to the next (but one blank joins the piece that follows).
type Piece struct {
	Kind       Kind
	Start, End int // bytes
}

// Scan splits a text. The pieces cover all of it, whatever it holds.
func Scan(l Language, text string) ([]Piece, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	return scan(l, text, nil), nil
}

// scan appends the pieces of text to pieces.
func scan(l Language, text string, pieces []Piece) []Piece {
	s := scanner{src: text, out: pieces}
	switch l {
	case C:
		s.c()
	case LLVM:
		s.llvm()
	case PTX:
		s.assembly(false)
	case Assembly:
		s.assembly(true)
	default:
		return words(gpt2, text, 0, Word, s.out)
	}
	return s.out
}

// scanner is a text that is read from left to right.
type scanner struct {
	src string
	at  int
	out []Piece
}

func (s *scanner) emit(k Kind, end int) {
	if end > s.at {
		s.out = append(s.out, Piece{k, s.at, end})
		s.at = end
	}
}

// prose emits a comment or string as words, so that neither is one huge piece.
func (s *scanner) prose(k Kind, end int) {
	s.out = words(gpt2, s.src[s.at:end], s.at, k, s.out)
	s.at = end
}

// lineComment is the end of the line, which is not part of the comment; with
// joined, a backslash before it goes on.
func (s *scanner) lineComment(joined bool) int {
	for i := s.at; ; {
		n := strings.IndexByte(s.src[i:], '\n')
		if n < 0 {
			return len(s.src)
		}
		i += n
		if !joined || !continued(s.src[s.at:i]) {
			return i
		}
		i++
	}
}

func continued(line string) bool {
	return strings.HasSuffix(strings.TrimSuffix(line, "\r"), `\`)
}

// blockComment is the end of /* */; one that is never closed goes to the end.
func (s *scanner) blockComment() int {
	if n := strings.Index(s.src[s.at+2:], "*/"); n >= 0 {
		return s.at + 2 + n + 2
	}
	return len(s.src)
}

// string emits a string or character; one that is not closed ends with the line
// and is Other.
func (s *scanner) string(escapes bool) {
	end, closed := s.quoted(s.at, escapes)
	if closed {
		s.prose(String, end)
	} else {
		s.prose(Other, end)
	}
}

// quoted is the end of a string whose opening quote is at from.
func (s *scanner) quoted(from int, escapes bool) (end int, closed bool) {
	q := s.src[from]
	for i := from + 1; i < len(s.src); i++ {
		switch c := s.src[i]; {
		case c == q:
			return i + 1, true
		case c == '\n':
			return i, false
		case c == '\\' && escapes:
			if i+2 < len(s.src) && s.src[i+1] == '\r' && s.src[i+2] == '\n' {
				i++
			}
			i++
		}
	}
	return len(s.src), false
}

// while is the first place from i on whose byte is none of class.
func (s *scanner) while(i int, class uint8) int {
	for i < len(s.src) && classes[s.src[i]]&class != 0 {
		i++
	}
	return i
}

// Classes of bytes.
const (
	isSpace  = 1 << iota // C's white space
	isWord               // letters, digits, _, $ and all of UTF-8 beyond ASCII
	isDigit              // 0 to 9
	isPunct              // other printable ASCII
	isLLVM               // what an LLVM identifier goes on with
	isHex                // hexadecimal digits
	isLetter             // ASCII letters
)

var classes = func() (t [256]uint8) {
	for c := range t {
		b := byte(c)
		letter := b|0x20 >= 'a' && b|0x20 <= 'z'
		digit := b >= '0' && b <= '9'
		if letter {
			t[c] |= isLetter
		}
		if b == ' ' || b >= '\t' && b <= '\r' {
			t[c] |= isSpace
		}
		if letter || digit || b == '_' || b == '$' || b >= 0x80 {
			t[c] |= isWord | isLLVM
		} else if b > ' ' && b < 0x7f {
			t[c] |= isPunct
		}
		if digit {
			t[c] |= isDigit | isHex
		}
		if b|0x20 >= 'a' && b|0x20 <= 'f' {
			t[c] |= isHex
		}
		if b == '-' || b == '.' {
			t[c] |= isLLVM
		}
	}
	return t
}()
