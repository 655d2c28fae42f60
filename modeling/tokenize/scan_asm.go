package tokenize

import "strings"

// llvm splits LLVM IR (LLVM Language Reference, "Identifiers" and "Lexical"):
// a sigil (% @ ! # $) and its name are one piece.
func (s *scanner) llvm() {
	for s.at < len(s.src) {
		c := s.src[s.at]
		next := byte(0)
		if s.at+1 < len(s.src) {
			next = s.src[s.at+1]
		}
		switch {
		case classes[c]&isSpace != 0:
			s.space()
		case c == ';':
			s.prose(Comment, s.lineComment(false))
		case (c == '%' || c == '@' || c == '$') && next == '"':
			if end, closed := s.quoted(s.at+1, false); closed {
				s.emit(Word, end)
			} else {
				s.emit(Other, end)
			}
		case (c == '%' || c == '@' || c == '!' || c == '#') && classes[next]&isLLVM != 0:
			s.emit(Word, s.while(s.at+1, isLLVM))
		case c == '"':
			s.string(false)
		case classes[c]&isDigit != 0:
			end := s.while(s.at, isWord)
			if end < len(s.src) && s.src[end] == '.' {
				end = s.while(end+1, isWord)
			}
			if s.src[end-1]|0x20 == 'e' && s.bits() == "" && end+1 < len(s.src) && (s.src[end] == '+' || s.src[end] == '-') && classes[s.src[end+1]]&isDigit != 0 {
				end = s.while(end+1, isDigit)
			}
			s.emit(Number, end)
		case classes[c]&isWord != 0 || c == '.' && classes[next]&isLLVM != 0 && next != '.':
			s.emit(Word, s.while(s.at, isLLVM))
		case classes[c]&isPunct != 0:
			n := 1
			if strings.HasPrefix(s.src[s.at:], "...") {
				n = 3
			}
			s.emit(Operator, s.at+n)
		default:
			s.emit(Other, s.at+1)
		}
	}
}

// space emits blanks, and line ends as Newline: they end instructions.
func (s *scanner) space() {
	end := s.while(s.at, isSpace)
	if strings.IndexByte(s.src[s.at:end], '\n') >= 0 {
		s.emit(Newline, end)
		return
	}
	s.emit(Space, end)
}

// assembly splits PTX (PTX ISA, "Syntax") and assembler such as SASS and
// AMDGCN. Opcodes are split before each dot, so that ld.global.f32 shares
// .global and .f32 with others. With lines, line ends mean something.
func (s *scanner) assembly(lines bool) {
	for s.at < len(s.src) {
		c := s.src[s.at]
		next := byte(0)
		if s.at+1 < len(s.src) {
			next = s.src[s.at+1]
		}
		switch {
		case classes[c]&isSpace != 0 && lines:
			s.space()
		case classes[c]&isSpace != 0:
			s.emit(Space, s.while(s.at, isSpace))
		case c == '/' && next == '/':
			s.prose(Comment, s.lineComment(false))
		case c == '/' && next == '*':
			s.prose(Comment, s.blockComment())
		case c == ';' && lines && s.remark():
			s.prose(Comment, s.lineComment(false))
		case c == '"':
			s.string(true)
		case classes[c]&isDigit != 0:
			s.emit(Number, s.literal())
		case (c == '.' || c == '%') && classes[next]&isWord != 0:
			s.emit(Word, s.while(s.at+1, isWord))
		case classes[c]&isWord != 0:
			s.emit(Word, s.while(s.at, isWord))
		case classes[c]&isPunct != 0:
			s.emit(Operator, s.at+1)
		default:
			s.emit(Other, s.at+1)
		}
	}
}

// remark says that the semicolon here begins a comment (AMDGCN) and does not
// end an instruction, after which SASS has only an encoding in /* */.
func (s *scanner) remark() bool {
	line := s.src[s.at+1:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	line = strings.TrimSpace(line)
	return line != "" && !strings.HasPrefix(line, "/*")
}

// literal is the end of a number of an assembler: 12, 0x1f, 0f3F800000, 1.5e-3.
func (s *scanner) literal() int {
	end := s.while(s.at, isWord)
	if end+1 < len(s.src) && s.src[end] == '.' && classes[s.src[end+1]]&isDigit != 0 {
		end = s.while(end+1, isWord)
	}
	if s.src[end-1]|0x20 == 'e' && s.bits() == "" &&
		end+1 < len(s.src) && (s.src[end] == '+' || s.src[end] == '-') && classes[s.src[end+1]]&isDigit != 0 {
		end = s.while(end+1, isWord)
	}
	return end
}

// bits is the prefix 0x, 0f or 0d of a number in hexadecimal digits, or "".
func (s *scanner) bits() string {
	if s.src[s.at] == '0' && s.at+1 < len(s.src) && strings.IndexByte("xXfFdD", s.src[s.at+1]) >= 0 {
		return s.src[s.at : s.at+2]
	}
	return ""
}
