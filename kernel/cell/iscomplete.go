package cell

import (
	"go/scanner"
	"go/token"
	"strings"
)

// Completeness says whether a cell's Go text can run.
type Completeness int

const (
	Complete   Completeness = iota
	Incomplete              // more lines may make it complete
	Invalid                 // no line added at the end can
)

func (c Completeness) String() string {
	return [...]string{"complete", "incomplete", "invalid"}[c]
}

// IsComplete judges the Go text of a cell by its syntax, and suggests the
// indent of the next line where one is wanted.
func IsComplete(text string) (status Completeness, indent string) {
	defer func() {
		if recover() != nil {
			status, indent = Invalid, ""
		}
	}()
	return judge(text)
}

func judge(text string) (Completeness, string) {
	if open := openToken(text); open {
		return Incomplete, ""
	}
	if !balanced(text) {
		return Invalid, ""
	}
	src := newSource("In", text)
	_, ps := parse(src)
	if ps == nil {
		return Complete, ""
	}
	end := lastToken(text)
	for _, p := range ps {
		if p.Line == 0 || p.Line > len(src.lines) {
			continue
		}
		if off := src.lines[p.Line-1] + p.Col - 1; off < end {
			return Invalid, ""
		}
	}
	return Incomplete, nextIndent(text)
}

// openToken reports whether the text ends within a raw string or a comment.
func openToken(text string) bool {
	open := false
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(_ token.Position, msg string) {
		open = open || msg == "raw string literal not terminated" || msg == "comment not terminated"
	}, 0)
	for {
		if _, t, _ := s.Scan(); t == token.EOF {
			return open
		}
	}
}

// balanced reports whether every closing bracket has its opening one.
func balanced(text string) bool {
	var open []token.Token
	for _, l := range lex(text) {
		switch l.tok {
		case token.LPAREN:
			open = append(open, token.RPAREN)
		case token.LBRACK:
			open = append(open, token.RBRACK)
		case token.LBRACE:
			open = append(open, token.RBRACE)
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(open) == 0 || open[len(open)-1] != l.tok {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return true
}

// lastToken is the offset behind the last token.
func lastToken(text string) int {
	end := 0
	for _, l := range lex(text) {
		if l.tok != token.COMMENT {
			end = l.end
		}
	}
	return end
}

// nextIndent is one tab more than the line with the innermost open bracket, or
// than the last line where an operator waits for its operand.
func nextIndent(text string) string {
	var open []int
	last := 0
	for _, l := range lex(text) {
		switch l.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			open = append(open, l.start)
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
		last = l.start
	}
	at := last
	if len(open) > 0 {
		at = open[len(open)-1]
	}
	line := text[strings.LastIndexByte(text[:at], '\n')+1:]
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))] + "\t"
}
