package csource

import "strings"

// kind is a token's kind.
type kind uint8

const (
	eof kind = iota
	identifier
	number
	text // a string or character literal
	punctuation
)

// token is one token, with where it stands in the text.
type token struct {
	kind  kind
	first bool // of its line: a # here starts a directive
	space bool // stands apart from the token before
	line  int32
	at    int32 // offset in bytes
	s     string
}

// operators, longest first.
var operators = []string{"<<<", ">>>", "<<=", ">>=", "...", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", "::"}

func isLetter(c byte) bool {
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// scan splits a text into at most limit tokens; cut tells that there were more.
func scan(src string, limit int) (out []token, cut bool) {
	line, first, space := int32(1), true, false
	i := 0
	emit := func(k kind, from, to int) {
		out = append(out, token{k, first, space, line, int32(from), src[from:to]})
		first, space = false, false
	}
	for i < len(src) {
		if len(out) >= limit {
			return out, true
		}
		c := src[i]
		switch {
		case c == '\n':
			line++
			i++
			first, space = true, true
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			i++
			space = true
		case c == '\\' && i+1 < len(src) && src[i+1] == '\n':
			line++
			i += 2
			space = true
		case c == '\\' && i+2 < len(src) && src[i+1] == '\r' && src[i+2] == '\n':
			line++
			i += 3
			space = true
		case strings.HasPrefix(src[i:], "//"):
			for i < len(src) && src[i] != '\n' {
				if src[i] == '\\' && i+1 < len(src) && src[i+1] == '\n' {
					line++
					i++
				}
				i++
			}
			space = true
		case strings.HasPrefix(src[i:], "/*"):
			end := strings.Index(src[i+2:], "*/")
			stop := len(src)
			if end >= 0 {
				stop = i + 2 + end + 2
			}
			line += int32(strings.Count(src[i:stop], "\n"))
			i = stop
			space = true
		case isLetter(c):
			j := i + 1
			for j < len(src) && (isLetter(src[j]) || isDigit(src[j])) {
				j++
			}
			emit(identifier, i, j)
			i = j
		case isDigit(c) || c == '.' && i+1 < len(src) && isDigit(src[i+1]):
			j := i + 1
			for j < len(src) && (isLetter(src[j]) || isDigit(src[j]) || src[j] == '.' ||
				(src[j] == '+' || src[j] == '-') && exponent(src[i:j])) {
				j++
			}
			emit(number, i, j)
			i = j
		case c == '"' || c == '\'':
			j := i + 1
			for j < len(src) && src[j] != c && src[j] != '\n' {
				if src[j] == '\\' && j+1 < len(src) {
					j++
				}
				j++
			}
			j = min(j+1, len(src))
			emit(text, i, j)
			line += int32(strings.Count(src[i:j], "\n"))
			i = j
		default:
			n := 1
			for _, op := range operators {
				if strings.HasPrefix(src[i:], op) {
					n = len(op)
					break
				}
			}
			emit(punctuation, i, i+n)
			i += n
		}
	}
	return out, false
}

// exponent tells whether a sign may follow: 1e, 0x1p, but not 0xe.
func exponent(s string) bool {
	hex := len(s) > 1 && (s[1] == 'x' || s[1] == 'X')
	switch s[len(s)-1] {
	case 'e', 'E':
		return !hex
	case 'p', 'P':
		return hex
	}
	return false
}
