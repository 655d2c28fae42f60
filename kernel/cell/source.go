package cell

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"strings"
)

// Problem is an error at a place of the user's source.
type Problem struct {
	File      string // "In[3]"
	Line, Col int    // from 1; 0 when unknown
	Msg       string
}

func (p Problem) String() string {
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Msg)
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Col, p.Msg)
}

// Problems are the errors of one cell, in source order.
type Problems []Problem

func (ps Problems) Error() string {
	var lines []string
	for _, p := range ps {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// A span is a stretch of the cell's Go text, by byte offsets.
type span struct{ start, end int }

// source is a cell's Go text with its line table.
type source struct {
	file  string
	text  string
	lines []int // offset of each line
}

func newSource(file, text string) *source {
	s := &source{file: file, text: text, lines: []int{0}}
	for i := 0; i < len(text); i++ {
		if text[i] == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	return s
}

// position returns line and column (bytes, from 1) of an offset.
func (s *source) position(off int) (line, col int) {
	lo, hi := 0, len(s.lines)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.lines[mid] <= off {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo + 1, off - s.lines[lo] + 1
}

type tok struct {
	tok  token.Token
	lit  string
	off  int
	end  int
	semi bool // an explicit semicolon
}

// scan tokenizes Go text; comments are dropped. Lexical errors are left to the
// parser, which reports them with the rest.
func scan(text string) []tok {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, []byte(text), func(token.Position, string) {}, 0)
	var toks []tok
	for {
		pos, t, lit := s.Scan()
		off := file.Offset(pos)
		n := len(lit)
		if lit == "" {
			n = len(t.String())
		}
		if t == token.SEMICOLON && lit == "\n" {
			n = 0
		}
		toks = append(toks, tok{t, lit, off, min(off+n, len(text)), t == token.SEMICOLON && lit == ";"})
		if t == token.EOF {
			return toks
		}
	}
}

// topLevel finds the stretches that are legal only outside functions: imports
// and the declarations of functions and methods.
func topLevel(text string) (imports, funcs []span) {
	toks := scan(text)
	depth := 0
	start := true
	for i := 0; i < len(toks); i++ {
		t := toks[i]
		switch t.tok {
		case token.LPAREN, token.LBRACE, token.LBRACK:
			depth++
		case token.RPAREN, token.RBRACE, token.RBRACK:
			depth--
		}
		if depth == 0 && start && (t.tok == token.IMPORT || t.tok == token.PACKAGE || t.tok == token.FUNC && declares(toks[i:])) {
			j := i
			d := 0
			for ; j < len(toks); j++ {
				switch toks[j].tok {
				case token.LPAREN, token.LBRACE, token.LBRACK:
					d++
				case token.RPAREN, token.RBRACE, token.RBRACK:
					d--
				}
				if d <= 0 && (toks[j].tok == token.SEMICOLON || toks[j].tok == token.EOF) {
					break
				}
			}
			if j == len(toks) {
				j--
			}
			sp := span{t.off, toks[j].off}
			if t.tok == token.FUNC {
				funcs = append(funcs, sp)
			} else if t.tok == token.IMPORT {
				imports = append(imports, sp)
			} else {
				imports = append(imports, span{t.off, toks[j].off}) // a package clause says nothing here
			}
			i = j
			start = true
			continue
		}
		start = depth == 0 && t.tok == token.SEMICOLON
	}
	return imports, funcs
}

// declares reports whether tokens beginning with func declare a function or a
// method rather than begin a function literal.
func declares(toks []tok) bool {
	if len(toks) < 2 {
		return false
	}
	if toks[1].tok == token.IDENT {
		return true
	}
	if toks[1].tok != token.LPAREN {
		return false
	}
	depth := 0
	for i := 1; i < len(toks); i++ {
		switch toks[i].tok {
		case token.LPAREN:
			depth++
		case token.RPAREN:
			depth--
			if depth == 0 {
				return i+2 < len(toks) && toks[i+1].tok == token.IDENT && toks[i+2].tok == token.LPAREN
			}
		}
	}
	return false
}

// blank replaces the spans by spaces, keeping lines.
func blank(text string, spans ...span) string {
	b := []byte(text)
	for _, sp := range spans {
		for i := sp.start; i < sp.end && i < len(b); i++ {
			if b[i] != '\n' {
				b[i] = ' '
			}
		}
	}
	return string(b)
}

const bodyPrefix = "package p; func _() {"

// parseBody parses text as the statements of a function. Positions in the
// result are offsets of text plus len(bodyPrefix), from base.
func parseBody(src *source, text string) (*ast.BlockStmt, func(token.Pos) int, Problems) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", bodyPrefix+text+"\n}", parser.AllErrors|parser.SkipObjectResolution)
	tf := fset.File(token.Pos(1))
	offset := func(p token.Pos) int { return tf.Offset(p) - len(bodyPrefix) }
	if err != nil {
		return nil, nil, problemsOf(src, err, len(bodyPrefix))
	}
	if len(f.Decls) != 1 {
		off := offset(f.Decls[1].Pos())
		line, col := src.position(off)
		return nil, nil, Problems{{src.file, line, col, "syntax error: unmatched } before this"}}
	}
	return f.Decls[0].(*ast.FuncDecl).Body, offset, nil
}

const endOfCell = "found the end of the cell"

// problemsOf turns parser errors of text that stood behind a prefix of n bytes
// on line 1 into problems of the cell.
func problemsOf(src *source, err error, n int) Problems {
	var list scanner.ErrorList
	if !errors.As(err, &list) {
		return Problems{{File: src.file, Msg: err.Error()}}
	}
	var ps Problems
	last := len(src.lines)
	seen := map[int]int{} // line -> its problem in ps
	for _, e := range list {
		line, col := e.Pos.Line, e.Pos.Column
		if line == 1 {
			col -= n
		}
		msg := strings.ReplaceAll(e.Msg, "found 'EOF'", endOfCell)
		if line > last { // the closing brace that was added
			line, col = src.position(len(strings.TrimRight(src.text, " \t\r\n")))
			msg = strings.ReplaceAll(msg, "found '}'", endOfCell)
		}
		p := Problem{src.file, line, max(col, 1), "syntax error: " + msg}
		if i, ok := seen[line]; ok { // the first one counts, if it says anything
			if strings.Contains(ps[i].Msg, "'ILLEGAL'") {
				ps[i] = p
			}
			continue
		}
		seen[line] = len(ps)
		ps = append(ps, p)
	}
	return ps
}

// freeNames returns the identifiers of a file that nothing in it declares.
// Field names in selectors are not among them; keys of composite literals are,
// since those of maps and arrays are expressions, and the name of a field costs
// nothing but an emission too many.
func freeNames(text string) []string {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if f == nil || err != nil && f.Unresolved == nil {
		return nil
	}
	seen := map[string]bool{}
	var names []string
	add := func(id *ast.Ident) {
		if !seen[id.Name] {
			seen[id.Name] = true
			names = append(names, id.Name)
		}
	}
	for _, id := range f.Unresolved {
		add(id)
	}
	ast.Inspect(f, func(n ast.Node) bool { // the parser keeps keys out of its list
		if kv, ok := n.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && id.Obj == nil {
				add(id)
			}
		}
		return true
	})
	return names
}
