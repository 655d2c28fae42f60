package notebook

import (
	"fmt"
	"go/scanner"
	"go/token"
	"html/template"
	"strings"
)

// highlight marks up one cell of the cell language as HTML: Go tokens by kind
// and lines that are commands (%get ..., !ls, %%) as a whole. What the scanner
// does not understand stays plain text; nothing is lost or reordered.
func highlight(src string) template.HTML {
	var b strings.Builder
	var code strings.Builder // consecutive lines of Go
	flush := func() {
		highlightGo(&b, code.String())
		code.Reset()
	}
	for line := range strings.Lines(src) {
		if strings.HasPrefix(line, "%") || strings.HasPrefix(line, "!") {
			flush()
			span(&b, "cmd", line)
			continue
		}
		code.WriteString(line)
	}
	flush()
	return template.HTML(b.String())
}

func highlightGo(b *strings.Builder, src string) {
	if src == "" {
		return
	}
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(src))
	var s scanner.Scanner
	s.Init(file, []byte(src), func(token.Position, string) {}, scanner.ScanComments)
	done := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		off := file.Offset(pos)
		var class string
		switch {
		case tok == token.COMMENT:
			class = "com"
		case tok == token.STRING || tok == token.CHAR:
			class = "str"
		case tok == token.INT || tok == token.FLOAT || tok == token.IMAG:
			class = "num"
		case tok.IsKeyword():
			class, lit = "kw", tok.String()
		default:
			continue // operators, names and automatic semicolons stay as they are
		}
		// The scanner drops carriage returns from literals, so lengths can differ;
		// such a token stays plain.
		if off < done || !strings.HasPrefix(src[off:], lit) {
			continue
		}
		b.WriteString(template.HTMLEscapeString(src[done:off]))
		span(b, class, lit)
		done = off + len(lit)
	}
	b.WriteString(template.HTMLEscapeString(src[done:]))
}

func span(b *strings.Builder, class, text string) {
	fmt.Fprintf(b, `<span class="%s">%s</span>`, class, template.HTMLEscapeString(text))
}
