package csource

import (
	"fmt"
	"strings"
)

// Dialect is a language.
type Dialect uint8

const (
	OpenCL Dialect = iota
	CUDA
)

func (d Dialect) String() string { return [...]string{"OpenCL C", "CUDA C++"}[d] }

// Options say how to read. The zero value reads with the dialect that the text
// looks like.
type Options struct {
	Dialect *Dialect          // nil: CUDA if the text has __global__, else OpenCL
	Flags   string            // of a compiler; -D is looked at
	Types   map[string]string // what names of types stand for that the text does not declare
}

// Limits of a text.
const (
	mostTokens  = 400_000
	deepest     = 150 // of nested expressions and statements
	mostProblem = 50
)

// Parse reads a text.
func Parse(src string, opt Options) *Unit {
	d := OpenCL
	if strings.Contains(src, "__global__") || strings.Contains(src, "__device__") {
		d = CUDA
	}
	if opt.Dialect != nil {
		d = *opt.Dialect
	}
	u := &Unit{Dialect: d, Globals: map[string]*Variable{}, Enums: map[string]int64{}, Lines: strings.Count(src, "\n") + 1}
	report := func(line int32, format string, args ...any) {
		if len(u.Problems) < mostProblem {
			u.Problems = append(u.Problems, Problem{int(line), fmt.Sprintf(format, args...)})
		}
	}
	ts, cut := scan(src, mostTokens)
	if cut {
		report(ts[len(ts)-1].line, "more than %d tokens; the rest is left out", mostTokens)
	}
	pre := &preprocessor{macros: map[string]*macro{}, unrolls: map[int32]bool{}, limit: mostTokens, report: report}
	for name, value := range predefined(d) {
		body, _ := scan(value, 10)
		pre.macros[name] = &macro{body: body}
	}
	pre.defines(opt.Flags)
	pre.run(ts)
	p := newParser(pre.out, d, report)
	p.unit = u
	u.unrolls = pre.unrolls
	for name, text := range opt.Types {
		q, _ := scan(text, 50)
		sub := newParser(q, d, func(int32, string, ...any) {})
		if t := sub.typeName(); t != nil {
			p.types[name] = t
		}
	}
	p.file()
	u.Nodes = p.nodes
	return u
}

func predefined(d Dialect) map[string]string {
	if d == CUDA {
		return map[string]string{"__CUDACC__": "1", "__CUDA_ARCH__": "800", "INFINITY": "1e30f", "FLT_MAX": "3.402823466e+38f", "DBL_MAX": "1.7e308",
			"M_PI": "3.14159265358979323846", "INT_MAX": "2147483647", "FLT_EPSILON": "1.19e-7f", "NULL": "0"}
	}
	return map[string]string{"__OPENCL_VERSION__": "120", "__OPENCL_C_VERSION__": "120", "cl_khr_fp64": "1", "CLK_LOCAL_MEM_FENCE": "1", "CLK_GLOBAL_MEM_FENCE": "2",
		"INFINITY": "1e30f", "FLT_MAX": "3.402823466e+38f", "DBL_MAX": "1.7e308", "M_PI": "3.14159265358979323846", "M_PI_F": "3.14159274f",
		"INT_MAX": "2147483647", "INT_MIN": "(-2147483647-1)", "UINT_MAX": "4294967295u", "FLT_EPSILON": "1.19e-7f", "NULL": "0",
		"MAXFLOAT": "3.402823466e+38f"}
}

// parser reads tokens.
type parser struct {
	ts      []token
	i       int
	dialect Dialect
	unit    *Unit
	report  func(line int32, format string, args ...any)
	types   map[string]*Type
	scopes  []map[string]int // names of variables to slots
	slots   int
	vars    []*Type // by slot
	nodes   int
	depth   int
}

func newParser(ts []token, d Dialect, report func(int32, string, ...any)) *parser {
	return &parser{ts: ts, dialect: d, report: report, types: map[string]*Type{}, unit: &Unit{Globals: map[string]*Variable{}, Enums: map[string]int64{}}}
}

var none = token{kind: eof}

func (p *parser) peek() *token { return p.ahead(0) }

func (p *parser) ahead(n int) *token {
	if p.i+n < len(p.ts) {
		return &p.ts[p.i+n]
	}
	return &none
}

func (p *parser) is(s string) bool { t := p.peek(); return t.s == s && t.kind != text && t.kind != eof }

func (p *parser) accept(s string) bool {
	if p.is(s) {
		p.i++
		return true
	}
	return false
}

func (p *parser) done() bool { return p.i >= len(p.ts) }

func (p *parser) pos() Pos {
	t := p.peek()
	if t.kind == eof && len(p.ts) > 0 {
		t = &p.ts[len(p.ts)-1]
	}
	return Pos{t.line, t.at}
}

func (p *parser) id() int { p.nodes++; return p.nodes - 1 }

// skip goes behind the next s at this level of brackets, or before a closing
// bracket of the level outside. It always advances or stands at such a bracket.
func (p *parser) skip(stops ...string) {
	depth := 0
	for !p.done() {
		t := p.peek()
		if depth == 0 && t.kind == punctuation {
			for _, s := range stops {
				if t.s == s {
					p.i++
					return
				}
			}
		}
		switch t.s {
		case "(", "[", "{":
			if t.kind == punctuation {
				depth++
			}
		case ")", "]", "}":
			if t.kind != punctuation {
				break
			}
			if depth == 0 {
				return
			}
			depth--
			if depth == 0 && t.s == "}" {
				p.i++
				p.accept(";")
				return
			}
		}
		p.i++
	}
}

// file reads declarations up to the end.
func (p *parser) file() {
	p.scopes = []map[string]int{{}}
	for !p.done() {
		from := p.i
		p.external()
		if p.i == from {
			p.i++ // a bracket too many
		}
	}
}

// external reads one declaration of the file level.
func (p *parser) external() {
	if p.accept(";") || p.accept("}") {
		return
	}
	at := p.pos()
	var templates []string
	for p.accept("template") {
		templates = append(templates, p.templateParameters()...)
	}
	switch {
	case p.is("extern") && p.ahead(1).kind == text:
		p.i += 2
		p.accept("{")
		return
	case p.accept("namespace"):
		for p.peek().kind == identifier || p.is("::") {
			p.i++
		}
		p.accept("{")
		return
	case p.accept("using"):
		if p.peek().kind == identifier && p.ahead(1).s == "=" {
			name := p.peek().s
			p.i += 2
			if t := p.typeName(); t != nil {
				p.types[name] = t
			}
		}
		p.skip(";")
		return
	case p.accept("typedef"):
		p.typedef()
		return
	}
	spec, ok := p.specifiers()
	if !ok {
		if p.peek().kind == identifier && p.ahead(1).s == "(" { // a macro that is not there
			p.i++
			p.i++
			p.skip(")")
			p.accept(")")
			return
		}
		p.report(at.Line, "%q does not start a declaration", p.peek().s)
		p.i++
		p.skip(";")
		return
	}
	if p.accept(";") {
		return
	}
	for {
		t, name := p.declarator(spec.t)
		if name == "" {
			p.skip(";")
			return
		}
		if p.is("(") {
			p.function(at, spec, t, name, templates)
			return
		}
		v := &Variable{Pos: at, Name: name, Type: t, Slot: -1}
		if spec.space != Private {
			t.Space = spec.space
		} else if spec.constant || p.dialect == CUDA {
			t.Space = Constants
		}
		if p.accept("=") {
			v.Init = p.initialiser()
		} else if p.is("(") || p.is("{") {
			p.skip(";")
			p.unit.Globals[name] = v
			return
		}
		p.unit.Globals[name] = v
		if !p.accept(",") {
			break
		}
	}
	if !p.accept(";") {
		p.skip(";")
	}
}

// templateParameters reads <typename T, int N> and makes T a type; N stays a
// name without a value.
func (p *parser) templateParameters() (names []string) {
	if !p.accept("<") {
		return nil
	}
	depth := 1
	for !p.done() && depth > 0 {
		switch {
		case p.accept("<"):
			depth++
		case p.accept(">"):
			depth--
		case p.accept(">>"):
			depth -= 2
		case p.is("typename") || p.is("class"):
			p.i++
			p.accept("...")
			if p.peek().kind == identifier {
				name := p.peek().s
				if p.types[name] == nil {
					p.types[name] = &Type{Class: Unknown, Name: name, Bytes: 4, Width: 1}
				}
				names = append(names, name)
				p.i++
			}
		case p.is("{") || p.is(";"):
			return names
		default:
			p.i++
		}
	}
	return names
}

func (p *parser) typedef() {
	spec, ok := p.specifiers()
	if !ok {
		p.skip(";")
		return
	}
	for {
		t, name := p.declarator(spec.t)
		if name != "" {
			p.types[name] = t
		}
		if !p.accept(",") {
			break
		}
	}
	if !p.accept(";") {
		p.skip(";")
	}
}

// function reads parameters and body.
func (p *parser) function(at Pos, spec specifiers, result *Type, name string, templates []string) {
	f := &Function{Pos: at, Name: name, Kernel: spec.kernel, Result: result, Types: templates}
	p.scopes = append(p.scopes[:1:1], map[string]int{})
	p.slots, p.vars = 0, nil
	p.accept("(")
	for !p.done() && !p.is(")") {
		if p.accept("...") || p.accept(",") {
			continue
		}
		from := p.i
		ps, ok := p.specifiers()
		if !ok {
			p.report(p.pos().Line, "parameter of %s: %q is no type", name, p.peek().s)
			p.skip(",")
			if p.i == from {
				break
			}
			continue
		}
		pt, pn := p.declarator(ps.t)
		if pt.Class == Array { // decays
			pt = &Type{Class: Pointer, Elem: pt.Elem, Space: pt.Space, Bytes: 8, Width: 1}
		}
		if pt.Class == Pointer && f.Kernel && pt.Space == Private {
			pt.Space = Global
			if ps.space != Private {
				pt.Space = ps.space
			}
		}
		if pt.Class != Void {
			v := &Variable{Pos: at, Name: pn, Type: pt}
			v.Slot = p.declare(pn, pt)
			f.Params = append(f.Params, v)
		}
		if p.accept("=") {
			p.assignment()
		}
		if !p.accept(",") && !p.is(")") {
			p.skip(",")
			if p.i == from {
				break
			}
		}
	}
	if !p.accept(")") {
		p.skip("{", ";")
		return
	}
	for p.peek().kind == identifier || p.is("(") { // const, noexcept, attributes
		if p.accept("(") {
			p.skip(")")
			p.accept(")")
			continue
		}
		p.i++
	}
	if p.is(":") {
		for !p.done() && !p.is("{") && !p.is(";") {
			p.i++
		}
	}
	if !p.is("{") {
		p.skip(";")
		return
	}
	f.Body = p.block()
	f.Slots = p.slots
	if n := min(p.i, len(p.ts)); n > 0 {
		f.End = p.ts[n-1].line
	}
	p.unit.Functions = append(p.unit.Functions, f)
	p.scopes = p.scopes[:1]
}

// declare makes a slot for a name in the innermost scope.
func (p *parser) declare(name string, t *Type) int {
	slot := p.slots
	p.slots++
	p.vars = append(p.vars, t)
	if name != "" {
		p.scopes[len(p.scopes)-1][name] = slot
	}
	return slot
}

func (p *parser) lookUp(name string) int {
	for i := len(p.scopes) - 1; i >= 0; i-- {
		if s, ok := p.scopes[i][name]; ok {
			return s
		}
	}
	return -1
}

// known tells whether a name is that of a variable.
func (p *parser) known(name string) bool {
	return p.lookUp(name) >= 0 || p.unit.Globals[name] != nil
}
