package tokenize

import "strings"

// c splits C, C++, CUDA and OpenCL (ISO C++20, [lex], with CUDA's <<< and >>>).
func (s *scanner) c() {
	start, directive := true, false // of a line; within a directive
	for s.at < len(s.src) {
		c := s.src[s.at]
		switch {
		case directive && c == '\n':
			s.emit(Newline, s.at+1)
			start, directive = true, false
			continue
		case classes[c]&isSpace != 0 || c == '\\' && s.joined(s.at) > 0:
			end := s.at
			for end < len(s.src) {
				if n := s.joined(end); n > 0 {
					end += n
				} else if b := s.src[end]; classes[b]&isSpace != 0 && !(directive && b == '\n') {
					start = start || b == '\n'
					end++
				} else {
					break
				}
			}
			s.emit(Space, end)
			continue
		case c == '/' && strings.HasPrefix(s.src[s.at:], "//"):
			s.prose(Comment, s.lineComment(true))
			continue
		case c == '/' && strings.HasPrefix(s.src[s.at:], "/*"):
			s.prose(Comment, s.blockComment())
			continue
		case c == '#' && start:
			s.emit(Directive, s.at+1)
			directive = true
		case c == '"' || c == '\'':
			s.string(true)
		case classes[c]&isDigit != 0 || c == '.' && s.fraction():
			s.emit(Number, s.number())
		case classes[c]&isWord != 0:
			end := s.while(s.at, isWord)
			raw := end < len(s.src) && s.src[end] == '"' && rawPrefix(s.src[s.at:end])
			s.emit(Word, end)
			if raw {
				s.raw()
			}
		case classes[c]&isPunct != 0:
			s.emit(Operator, s.at+operator(s.src[s.at:]))
		default:
			s.emit(Other, s.at+1)
		}
		start = false
	}
}

// fraction says that the point here begins a number: it does not after a name.
func (s *scanner) fraction() bool {
	return s.at+1 < len(s.src) && classes[s.src[s.at+1]]&isDigit != 0 && (s.at == 0 || classes[s.src[s.at-1]]&isWord == 0)
}

// joined is the length of a backslash with the line end after it, or 0.
func (s *scanner) joined(i int) int {
	rest := s.src[i:]
	switch {
	case strings.HasPrefix(rest, "\\\n"):
		return 2
	case strings.HasPrefix(rest, "\\\r\n"):
		return 3
	}
	return 0
}

// number is the end of a preprocessing number ([lex.ppnumber]).
func (s *scanner) number() int {
	i, point := s.at, false
	for i < len(s.src) {
		c := s.src[i]
		switch {
		case classes[c]&isWord != 0 && c < 0x80 && c != '$', c == '.':
			i++
			point = point || c == '.'
			hex := len(s.src) > s.at+1 && s.src[s.at+1]|0x20 == 'x'
			exp := c|0x20 == 'e' && !hex || c|0x20 == 'p'
			if exp && i < len(s.src) && (s.src[i] == '+' || s.src[i] == '-') {
				i++
			}
		case c == '\'' && !point && i > s.at && classes[s.src[i-1]]&isHex != 0 && i+1 < len(s.src) && classes[s.src[i+1]]&isHex != 0:
			// A separator of digits, and not the quote of a character.
			if i+2 < len(s.src) && s.src[i+2] == '\'' {
				return i
			}
			i += 2
		default:
			return i
		}
	}
	return i
}

func rawPrefix(w string) bool {
	switch w {
	case "R", "LR", "uR", "UR", "u8R":
		return true
	}
	return false
}

// raw emits a raw string from its quote on; what is none is read as an ordinary
// string.
func (s *scanner) raw() {
	open := strings.IndexByte(s.src[s.at:min(len(s.src), s.at+18)], '(')
	if open < 0 || strings.ContainsAny(s.src[s.at+1:s.at+open], ") \\\t\v\f\n\"") {
		s.string(true)
		return
	}
	end := ")" + s.src[s.at+1:s.at+open] + `"`
	if n := strings.Index(s.src[s.at+open:], end); n >= 0 {
		s.prose(String, s.at+open+n+len(end))
		return
	}
	s.prose(Other, len(s.src))
}

// operators are those of more than one character, the longest first.
var operators = [...]string{"<<<", ">>>", "<<=", ">>=", "...", "->*", "<=>",
	"::", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||",
	"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "##", ".*"}

// operatorsOf are those that begin with a character.
var operatorsOf = func() (of [128][]string) {
	for _, op := range operators {
		of[op[0]] = append(of[op[0]], op)
	}
	return of
}()

// operator is the length of the operator that text begins with.
func operator(text string) int {
	if len(text) > 1 && classes[text[1]]&isPunct != 0 {
		for _, op := range operatorsOf[text[0]] {
			if strings.HasPrefix(text, op) {
				return len(op)
			}
		}
	}
	return 1
}

// glues says that an operator and what comes next would be read as another
// operator or a comment if nothing stood between them.
func glues(op, next string) bool {
	if op == "/" && (next[0] == '/' || next[0] == '*') || op == "." && classes[next[0]]&isDigit != 0 {
		return true
	}
	for _, o := range operatorsOf[op[0]] {
		if len(o) > len(op) && o[:len(op)] == op && o[len(op)] == next[0] {
			return true
		}
	}
	return false
}
