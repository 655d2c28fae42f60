package tokenize

import (
	"unicode"
	"unicode/utf8"
)

// rules are those of a pre-tokeniser by regular expression, of which language
// models have a few; the expressions need look-ahead, which Go's lack.
type rules struct {
	fold     bool // contractions ('s, 't, 're, 've, 'm, 'll, 'd) in either case
	anyLead  bool // a word may begin with any one character but a letter, number or line end; else with a blank
	digits   int  // of a number in one piece; 0: all, and a blank before them
	newlines bool // punctuation takes the line ends after it, and blanks up to a line end are one piece
	single   bool // each digit is split off before anything else
}

// gpt2 is the expression of GPT-2 and of Hugging Face's ByteLevel:
//
//	's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
var gpt2 = rules{}

// classes of characters in these expressions.
const (
	other = iota
	letter
	number
	blank
)

var asciiClass = func() (t [128]uint8) {
	for c := range t {
		t[c] = classOf(rune(c))
	}
	return t
}()

func classOf(r rune) uint8 {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return blank
	}
	return other
}

// class is that of the character at i, with its length. A byte that is no
// UTF-8 is a character of its own and neither letter, number nor blank.
func class(s string, i int) (uint8, int) {
	if c := s[i]; c < utf8.RuneSelf {
		return asciiClass[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && n == 1 {
		return other, 1
	}
	return classOf(r), n
}

// run is the end of the characters of class k from i on, at most limit of them
// where limit is not 0.
func run(s string, i int, k uint8, limit int) int {
	for n := 0; i < len(s) && (limit == 0 || n < limit); n++ {
		c, size := class(s, i)
		if c != k {
			break
		}
		i += size
	}
	return i
}

// words appends the pieces of text, which begins at offset.
func words(r rules, text string, offset int, k Kind, out []Piece) []Piece {
	if r.single {
		for from, i := 0, 0; ; {
			c, n := uint8(number), 0
			if i < len(text) {
				c, n = class(text, i)
			}
			if c != number {
				i += n
				continue
			}
			plain := r
			plain.single = false
			out = words(plain, text[from:i], offset+from, k, out)
			if n == 0 {
				return out
			}
			out = append(out, Piece{k, offset + i, offset + i + n})
			i += n
			from = i
		}
	}
	for i := 0; i < len(text); {
		end := r.next(text, i)
		out = append(out, Piece{k, offset + i, offset + end})
		i = end
	}
	return out
}

func (r rules) next(s string, i int) int {
	c, n := class(s, i)
	if c == other && s[i] == '\'' {
		if end := contraction(s, i+1, r.fold); end > 0 {
			return end
		}
	}
	// What follows one leading character, if that may be part of the piece.
	after, an := uint8(blank), 0
	if i+n < len(s) {
		after, an = class(s, i+n)
	}
	switch {
	case c == letter:
		return run(s, i, letter, 0)
	case after == letter && (s[i] == ' ' || r.anyLead && c != number && s[i] != '\n' && s[i] != '\r'):
		return run(s, i+n, letter, 0)
	case c == number:
		return run(s, i, number, r.digits)
	case s[i] == ' ' && after == number && an > 0 && r.digits == 0:
		return run(s, i+1, number, 0)
	case c == other, s[i] == ' ' && after == other && an > 0:
		if c != other {
			i++
		}
		end := run(s, i, other, 0)
		for r.newlines && end < len(s) && (s[end] == '\n' || s[end] == '\r') {
			end++
		}
		return end
	}
	end := run(s, i, blank, 0)
	if r.newlines {
		for j := end - 1; j >= i; j-- {
			if s[j] == '\n' || s[j] == '\r' {
				return j + 1
			}
		}
	}
	if end == len(s) {
		return end
	}
	// The last blank belongs to what follows, unless there is only one.
	_, last := utf8.DecodeLastRuneInString(s[i:end])
	if end-last > i {
		return end - last
	}
	return end
}

// contraction is the end of 's and the like whose letters begin at i, or 0.
func contraction(s string, i int, fold bool) int {
	at := func(j int) byte {
		if j >= len(s) {
			return 0
		}
		if c := s[j]; fold && c >= 'A' && c <= 'Z' {
			return c | 0x20
		}
		return s[j]
	}
	switch a, b := at(i), at(i+1); {
	case a == 's', a == 't', a == 'm', a == 'd':
		return i + 1
	case a == 'r' && b == 'e', a == 'v' && b == 'e', a == 'l' && b == 'l':
		return i + 2
	}
	return 0
}
