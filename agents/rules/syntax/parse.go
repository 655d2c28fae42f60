package syntax

import (
	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Parse reads a text of any content.
func Parse(text string) *File {
	f := &File{Text: text, Globals: map[string]*Variable{}, Macros: map[string]bool{}, lines: []int{0}}
	for i := range len(text) {
		if text[i] == '\n' {
			f.lines = append(f.lines, i+1)
		}
	}
	tokens, macros := lex(text)
	for name := range macros {
		f.Macros[name] = true
	}
	p := &parser{file: f, tokens: tokens, macros: macros, types: map[string]bool{}}
	p.push()
	for !p.done() {
		before := p.at
		p.top()
		if p.at == before {
			p.at++
		}
	}
	return f
}

type parser struct {
	file   *File
	tokens []token
	at     int
	macros map[string]*macro
	types  map[string]bool
	scopes []map[string]*Variable
	fn     *Function
	depth  int
	made   int             // tokens that macros became
	open   map[string]bool // macros that are being expanded
}

const maxDepth = 120

func (p *parser) done() bool { return p.at >= len(p.tokens) }

func (p *parser) peek(n int) token {
	if p.at+n < 0 || p.at+n >= len(p.tokens) {
		// Behind the last token: what begins there has no text, not even white space.
		end := len(p.file.Text)
		if n := len(p.tokens); n > 0 {
			end = p.tokens[n-1].end
		}
		return token{tokenize.Other, "", end, end}
	}
	return p.tokens[p.at+n]
}

func (p *parser) is(text string) bool { return p.peek(0).text == text && !p.done() }

func (p *parser) take(text string) bool {
	if p.is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) word() bool { return p.peek(0).kind == tokenize.Word }

// end is where the token before the current one ends.
func (p *parser) end() int { return p.peek(-1).end }

func (p *parser) push() { p.scopes = append(p.scopes, map[string]*Variable{}) }
func (p *parser) pop()  { p.scopes = p.scopes[:len(p.scopes)-1] }

func (p *parser) declare(v *Variable) { p.scopes[len(p.scopes)-1][v.Name] = v }

func (p *parser) lookup(name string) *Variable {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if v := p.scopes[i][name]; v != nil {
			return v
		}
	}
	return nil
}

func (p *parser) problem(offset int, text string) {
	if p.fn != nil && len(p.fn.Problems) < 20 {
		p.fn.Problems = append(p.fn.Problems, Problem{offset, text})
	}
}

// skip goes behind the bracket that closes the one at the current token.
func (p *parser) skip() {
	depth := 0
	for ; !p.done(); p.at++ {
		switch p.peek(0).text {
		case "(", "[", "{":
			depth++
		case ")", "]", "}":
			if depth--; depth <= 0 {
				p.at++
				return
			}
		}
	}
}

var attributes = words("__attribute__ __attribute __launch_bounds__ __declspec alignas _Alignas __align__ asm __asm__")

// top reads one item outside of functions.
func (p *parser) top() {
	if p.peek(0).kind == tokenize.Directive || p.is("}") || p.is(";") {
		p.at++
		return
	}
	begin := p.at
	open, name := -1, -1 // of the parameter list
	compound, assigned := false, false
	for !p.done() {
		t := p.peek(0)
		switch {
		case t.text == "(":
			if prev := p.peek(-1); prev.kind == tokenize.Word && !attributes[prev.text] && p.at > begin && !assigned {
				open, name = p.at, p.at-1
			}
			p.skip()
			continue
		case t.text == "[":
			p.skip()
			continue
		case t.text == "=":
			assigned = true
		case t.text == "struct" || t.text == "union" || t.text == "enum" || t.text == "class":
			compound = true
		case t.text == ";" || t.text == "}":
			p.at++
			if open < 0 || assigned {
				p.global(begin)
			}
			return
		case t.text == "{":
			switch {
			case assigned:
				p.skip()
				continue
			case open >= 0:
				p.function(begin, name, open)
				return
			case compound:
				if p.tokens[begin].text == "enum" || p.tokens[begin].text == "typedef" && p.peek(1-(p.at-begin)).text == "enum" {
					p.enum()
				} else {
					p.skip()
				}
				continue
			default: // namespace, extern "C", or nothing that is known
				p.at++
				return
			}
		}
		p.at++
	}
}

// enum declares the constants in the braces at the current token.
func (p *parser) enum() {
	from := p.at
	p.skip()
	for i := from; i+1 < p.at; i++ {
		if t := p.tokens[i].text; (t == "{" || t == ",") && p.tokens[i+1].kind == tokenize.Word {
			p.declare(&Variable{Name: p.tokens[i+1].text, Type: &Type{Base: "int", Const: true}, Global: true, Enum: true})
		}
	}
}

// global reads a declaration from a token up to the current one.
func (p *parser) global(begin int) {
	stop := p.at
	if p.tokens[begin].text == "typedef" {
		for i := stop - 1; i > begin; i-- {
			if p.tokens[i].kind == tokenize.Word {
				p.types[p.tokens[i].text] = true
				return
			}
		}
		return
	}
	p.at = begin
	d := p.declaration()
	p.at = stop
	if d == nil {
		return
	}
	for _, k := range d.Kids {
		k.Var.Global = true
		p.file.Globals[k.Var.Name] = k.Var
	}
}

func (p *parser) function(begin, name, open int) {
	body := p.at
	f := &Function{Name: p.tokens[name].text, NameStart: p.tokens[name].start, Start: p.tokens[begin].start, Result: &Type{}}
	for _, t := range p.tokens[begin:name] {
		switch t.text {
		case "__kernel", "kernel", "__global__":
			f.Kernel = true
		case "static":
			f.Static = true
		}
	}
	p.fn = f
	p.push()
	p.at = begin
	if t := p.specifiers(); t != nil {
		for p.take("*") {
			t.Pointers++
		}
		f.Result = t
	}
	p.at = open + 1
	for p.at < body && !p.is(")") {
		before := p.at
		if p.is("void") && p.peek(1).text == ")" {
			p.at++
			break
		}
		start := p.peek(0).start
		t := p.specifiers()
		var v *Variable
		if t != nil {
			v = p.declarator(*t)
		}
		if v == nil || !p.is(",") && !p.is(")") {
			p.problem(start, "a parameter")
			for p.at < body && !p.is(",") && !p.is(")") {
				if p.is("(") || p.is("[") || p.is("{") {
					p.skip()
				} else {
					p.at++
				}
			}
		} else {
			v.Param, v.Start, v.End = true, start, p.end()
			f.Params = append(f.Params, v)
			p.declare(v)
		}
		p.take(",")
		if p.at == before {
			break
		}
	}
	p.at = body
	f.Body = p.block()
	f.End = p.end()
	p.pop()
	p.fn = nil
	p.file.Functions = append(p.file.Functions, f)
}
