package llvm

import (
	"fmt"
	"strings"
)

// token is a word of textual IR. A local or global name keeps its sigil and
// loses its quotes: %"a b" is "%a b".
type token struct {
	text string
	at   int // byte in the line
}

// lex splits a line into tokens, and drops its comment.
func lex(line string) ([]token, error) {
	var ts []token
	for i := 0; i < len(line); {
		c := line[i]
		switch {
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == ';':
			return ts, nil
		case c == '"':
			end := strings.IndexByte(line[i+1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("column %d: a text without its closing quote", i+1)
			}
			ts = append(ts, token{line[i : i+end+2], i})
			i += end + 2
		case (c == '%' || c == '@' || c == '$') && i+1 < len(line) && line[i+1] == '"':
			end := strings.IndexByte(line[i+2:], '"')
			if end < 0 {
				return nil, fmt.Errorf("column %d: a name without its closing quote", i+1)
			}
			ts = append(ts, token{string(c) + line[i+2:i+2+end], i})
			i += end + 3
		case isWord(c) || c == '%' || c == '@' || c == '!' || c == '#' || c == '$':
			j := i + 1
			for j < len(line) && isWord(line[j]) {
				j++
			}
			ts = append(ts, token{line[i:j], i})
			i = j
		default:
			ts = append(ts, token{line[i : i+1], i})
			i++
		}
	}
	return ts, nil
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c == '+' || c == '\\'
}

// cursor walks over tokens.
type cursor struct {
	ts []token
	i  int
}

func (c *cursor) peek() string {
	if c.i < len(c.ts) {
		return c.ts[c.i].text
	}
	return ""
}

func (c *cursor) next() string {
	t := c.peek()
	c.i++
	return t
}

// accept skips a token where it comes next.
func (c *cursor) accept(text string) bool {
	if c.peek() == text {
		c.i++
		return true
	}
	return false
}

// skipParens passes over a balanced (...) where one comes next.
func (c *cursor) skipParens() {
	if c.peek() != "(" {
		return
	}
	depth := 0
	for c.i < len(c.ts) {
		switch c.next() {
		case "(":
			depth++
		case ")":
			if depth--; depth == 0 {
				return
			}
		}
	}
}
