package cell

import (
	"go/scanner"
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// here stands for the identifier that is being typed.
const here = "rl" + Mark + "here"

// lexeme is a token with its place, comments included.
type lexeme struct {
	tok        token.Token
	lit        string
	start, end int
}

// lex tokenizes Go text, comments included, automatic semicolons left out.
func lex(text string) []lexeme {
	file := token.NewFileSet().AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	var ls []lexeme
	for {
		pos, t, lit := s.Scan()
		if t == token.EOF {
			return ls
		}
		if t == token.SEMICOLON && lit != ";" {
			continue
		}
		off := file.Offset(pos)
		n := len(lit)
		if lit == "" {
			n = len(t.String())
		}
		ls = append(ls, lexeme{t, lit, off, min(off+n, len(text))})
	}
}

// identAt returns the identifier around an offset; start == end == cursor if
// there is none. ok is false where an identifier cannot stand: in numbers.
func identAt(text string, cursor int) (start, end int, ok bool) {
	start, end = cursor, cursor
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if !letter(r) {
			break
		}
		start -= n
	}
	for end < len(text) {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !letter(r) {
			break
		}
		end += n
	}
	r, _ := utf8.DecodeRuneInString(text[start:])
	return start, end, start == end || !unicode.IsDigit(r)
}

func letter(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// closers returns what closes the brackets that are open at the end of text,
// innermost first.
func closers(text string) []string {
	var open []string
	for _, l := range lex(text) {
		switch l.tok {
		case token.LPAREN:
			open = append(open, ")")
		case token.LBRACK:
			open = append(open, "]")
		case token.LBRACE:
			open = append(open, "}")
		case token.RPAREN, token.RBRACK, token.RBRACE:
			if len(open) > 0 {
				open = open[:len(open)-1]
			}
		}
	}
	for i, j := 0, len(open)-1; i < j; i, j = i+1, j-1 {
		open[i], open[j] = open[j], open[i]
	}
	return open
}

// repair finds a cell near to the text that parses: the range start to end,
// which is being typed, is replaced by insert, and what is missing behind it is
// supplied. It tries to keep as much of the text as it can and returns nil if
// nothing parses.
func repair(file, text string, start, end int, insert string) *parsed {
	before, behind := text[:start], text[end:]
	if p := attempt(file, before+insert+behind); p != nil {
		return p
	}
	after := ""
	if i := strings.IndexByte(behind, '\n'); i >= 0 {
		after = behind[i:]
	}
	open := closers(before)
	if p := complete(file, before, insert, after, open); p != nil {
		return p
	}
	// Something before is broken too: keep those statements that are whole.
	from := statementStart(before)
	if p := complete(file, keepWhole(file, before[:from])+before[from:], insert, "", closers(before[from:])); p != nil {
		return p
	}
	// Or the statement is: keep the expression.
	expr := operand(before)
	return complete(file, keepWhole(file, before[:from])+"\n"+expr, insert, "", nil)
}

func attempt(file, text string) *parsed {
	p, ps := parse(newSource(file, text))
	if ps != nil {
		return nil
	}
	return p
}

// endings complete statements whose head is being typed.
var endings = []string{" {}", "; true {}", "; {}", ":", "()", "() {}", " m() {}", "int", "int {}", " = 0"}

// complete tries to close the text behind the insertion.
func complete(file, before, insert, after string, open []string) *parsed {
	if len(open) > 50 {
		return nil
	}
	head := before + insert
	if after != "" { // the text goes on behind this line
		for k := 0; k <= len(open); k++ {
			if p := attempt(file, head+strings.Join(open[:k], "")+after); p != nil {
				return p
			}
		}
		for k := 0; k <= len(open); k++ {
			if p := attempt(file, head+strings.Join(open[:k], "")+" {}"+after); p != nil {
				return p
			}
		}
	}
	if p := attempt(file, head+strings.Join(open, "")); p != nil {
		return p
	}
	// The head of a statement ends within the innermost block: the brackets up
	// to the next brace are part of it.
	k := 0
	for k < len(open) && open[k] != "}" {
		k++
	}
	for i := k; i >= 0; i-- {
		for _, e := range endings {
			if p := attempt(file, head+strings.Join(open[:i], "")+e+strings.Join(open[i:], "")); p != nil {
				return p
			}
		}
	}
	return nil
}

// statementStart is where the last top-level statement of text begins.
func statementStart(text string) int {
	depth, from := 0, 0
	for _, t := range scan(text) {
		switch t.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth = max(depth-1, 0)
		case token.SEMICOLON:
			if depth == 0 && t.end < len(text) {
				from = t.end
			}
		}
	}
	return from
}

// keepWhole blanks those top-level statements that do not parse.
func keepWhole(file, text string) string {
	depth, from := 0, 0
	var broken []span
	for _, t := range scan(text) {
		switch t.tok {
		case token.LPAREN, token.LBRACK, token.LBRACE:
			depth++
		case token.RPAREN, token.RBRACK, token.RBRACE:
			depth = max(depth-1, 0)
		case token.SEMICOLON, token.EOF:
			if depth == 0 || t.tok == token.EOF {
				if attempt(file, text[from:t.end]) == nil {
					broken = append(broken, span{from, t.end})
				}
				from = t.end
			}
		}
	}
	return blank(text, broken...)
}

// operand returns the primary expression with its trailing dot at the end of
// text, as in "a + b.c(1)[2].": names, selectors, calls and indexes.
func operand(text string) string {
	ls := lex(text)
	i := len(ls)
	if i == 0 || ls[i-1].tok != token.PERIOD {
		return ""
	}
	from := len(text)
	want := token.PERIOD // what continues the expression to the left
	for i--; i >= 0; i-- {
		l := ls[i]
		switch {
		case l.tok == token.PERIOD && want == token.PERIOD:
			from, want = l.start, token.IDENT
			continue
		case want == token.IDENT && l.tok == token.IDENT:
			from, want = l.start, token.PERIOD
			continue
		case want == token.IDENT && (l.tok == token.RPAREN || l.tok == token.RBRACK || l.tok == token.RBRACE):
			depth := 0
			for ; i >= 0; i-- {
				switch ls[i].tok {
				case token.RPAREN, token.RBRACK, token.RBRACE:
					depth++
				case token.LPAREN, token.LBRACK, token.LBRACE:
					depth--
				}
				if depth == 0 {
					break
				}
			}
			if i < 0 {
				return ""
			}
			from = ls[i].start // what is called or indexed, if anything, follows
			continue
		}
		break
	}
	return strings.TrimLeft(text[from:], " \t")
}
