package csource

import (
	"strconv"
	"strings"
)

// expression reads a, b, c.
func (p *parser) expression() Expr {
	x := p.assignment()
	for p.is(",") {
		at := p.pos()
		p.i++
		x = &Binary{at, ",", x, p.assignment()}
	}
	return x
}

func (p *parser) assignment() Expr {
	at := p.pos()
	if p.depth++; p.depth > deepest {
		p.report(at.Line, "expressions are nested deeper than %d", deepest)
		p.depth--
		return &BadExpr{at}
	}
	defer func() { p.depth-- }()
	x := p.conditional()
	t := p.peek()
	if t.kind != punctuation {
		return x
	}
	switch t.s {
	case "=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=":
		p.i++
		return &Assign{at, t.s[:len(t.s)-1], x, p.initialiser()}
	}
	return x
}

func (p *parser) conditional() Expr {
	c := p.binary(1)
	if !p.is("?") {
		return c
	}
	at := p.pos()
	p.i++
	if p.depth++; p.depth > deepest {
		p.depth--
		return &BadExpr{at}
	}
	defer func() { p.depth-- }()
	a := p.expression()
	if !p.accept(":") {
		return &BadExpr{at}
	}
	return &Conditional{at, c, a, p.conditional()}
}

var precedence = map[string]int{"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10}

// longest is how many operators of one expression may follow each other.
const longest = 1000

func (p *parser) binary(least int) Expr {
	x := p.unary()
	for n := 0; ; n++ {
		t := p.peek()
		if t.kind != punctuation {
			return x
		}
		if n > longest {
			p.report(t.line, "an expression has more than %d operators in a row", longest)
			return &BadExpr{p.pos()}
		}
		level := precedence[t.s]
		if level < least || level == 0 {
			return x
		}
		at := p.pos()
		p.i++
		x = &Binary{at, t.s, x, p.binary(level + 1)}
	}
}

func (p *parser) unary() Expr {
	at := p.pos()
	t := p.peek()
	if p.depth++; p.depth > deepest {
		p.report(at.Line, "expressions are nested deeper than %d", deepest)
		p.depth--
		return &BadExpr{at}
	}
	defer func() { p.depth-- }()
	if t.kind == punctuation {
		switch t.s {
		case "+", "-", "!", "~", "*", "&", "++", "--":
			p.i++
			u := &Unary{Pos: at, Op: t.s, X: p.unary()}
			if t.s == "*" {
				u.ID = p.id()
			}
			return u
		case "(":
			if x := p.cast(); x != nil {
				return x
			}
		}
	}
	if t.kind == identifier && t.s == "sizeof" {
		p.i++
		if p.is("(") {
			p.i++
			s := &SizeOf{Pos: at}
			if p.startsType() {
				s.Type = p.typeName()
			} else {
				s.X = p.expression()
			}
			if !p.accept(")") {
				p.skip(")")
				p.accept(")")
			}
			return s
		}
		return &SizeOf{Pos: at, X: p.unary()}
	}
	return p.postfix(p.primary())
}

// cast reads (type) x or a vector's literal; nil where it is neither.
func (p *parser) cast() Expr {
	at, from := p.pos(), p.i
	p.i++
	if !p.startsType() && !p.unknownCast() {
		p.i = from
		return nil
	}
	t := p.typeName()
	if t == nil || !p.accept(")") {
		p.i = from
		return nil
	}
	switch {
	case p.is("(") && t.Width > 1:
		p.i++
		args := p.arguments(")")
		return p.postfix(&Vector{at, t, args})
	case p.is("{"):
		l := p.initialiser().(*List)
		return p.postfix(&Vector{at, t, l.Items})
	}
	return &Cast{at, t, p.unary()}
}

// unknownCast tells whether ( stands before a name that nothing declares and
// that is used as a type.
func (p *parser) unknownCast() bool {
	t := p.peek()
	if t.kind != identifier || p.known(t.s) {
		return false
	}
	if t.s == "std" && p.ahead(1).s == "::" && p.ahead(3).s == ")" {
		return true
	}
	if _, isEnum := p.unit.Enums[t.s]; isEnum {
		return false
	}
	i := 1
	for p.ahead(i).s == "*" {
		i++
	}
	if p.ahead(i).s != ")" {
		return false
	}
	next := p.ahead(i + 1)
	return next.kind == identifier || next.kind == number || next.s == "(" && i > 1
}

// arguments reads expressions up to a closing bracket.
func (p *parser) arguments(end string) []Expr {
	var args []Expr
	for !p.done() && !p.is(end) {
		from := p.i
		if p.is("{") {
			args = append(args, p.initialiser())
		} else {
			args = append(args, p.assignment())
		}
		if !p.accept(",") && !p.is(end) {
			p.skip(end)
			return args
		}
		if p.i == from {
			break
		}
	}
	p.accept(end)
	return args
}

func (p *parser) primary() Expr {
	at := p.pos()
	t := *p.peek()
	switch {
	case t.kind == number:
		p.i++
		return literal(at, t.s)
	case t.kind == text:
		p.i++
		if strings.HasPrefix(t.s, "'") {
			return &IntLit{Pos: at, Value: character(t.s)}
		}
		return &StringLit{at, t.s}
	case t.s == "(" && t.kind == punctuation:
		p.i++
		x := p.expression()
		if !p.accept(")") {
			return &BadExpr{at}
		}
		return x
	case t.s == "::" && p.ahead(1).kind == identifier:
		p.i++
		return p.primary()
	case t.s == "[" && t.kind == punctuation && p.dialect == CUDA: // a lambda: not followed
		p.i++
		p.skip("]")
		if p.accept("(") {
			p.skip(")")
			p.accept(")")
		}
		for !p.done() && !p.is("{") && !p.is(";") && !p.is(")") {
			p.i++
		}
		if p.accept("{") {
			for depth := 1; !p.done() && depth > 0; p.i++ {
				if p.is("{") {
					depth++
				} else if p.is("}") {
					depth--
				}
			}
		}
		return &List{Pos: at}
	case t.kind == identifier:
		return p.name(at)
	}
	return &BadExpr{at}
}

// name reads a name and what may follow it: scopes, template arguments.
func (p *parser) name(at Pos) Expr {
	name := p.peek().s
	slot := p.lookUp(name)
	switch {
	case name == "true" || name == "false":
		p.i++
		return &IntLit{Pos: at, Value: truth(name == "true")}
	case name == "nullptr":
		p.i++
		return &IntLit{Pos: at}
	case slot >= 0:
		p.i++
		return &Ident{at, name, slot}
	case (name == "static_cast" || name == "reinterpret_cast" || name == "const_cast") && p.ahead(1).s == "<":
		p.i += 2
		t := p.typeName()
		if t == nil || !p.accept(">") || !p.accept("(") {
			return &BadExpr{at}
		}
		x := p.expression()
		p.accept(")")
		return &Cast{at, t, x}
	}
	// float(x), float4(a, b), T(x), unsigned(x), T{}
	if next := p.ahead(1).s; (next == "(" || next == "{") && p.unit.Globals[name] == nil {
		t := named(name)
		if u := p.types[name]; u != nil {
			t = u
		}
		if name == "unsigned" {
			t = named("uint")
		}
		if t != nil {
			p.i += 2
			end := map[string]string{"(": ")", "{": "}"}[next]
			args := p.arguments(end)
			if len(args) == 1 && t.Width <= 1 {
				return &Cast{at, t, args[0]}
			}
			return &Vector{at, t, args}
		}
	}
	p.i++
	for p.is("::") && p.ahead(1).kind == identifier {
		name = p.ahead(1).s
		p.i += 2
	}
	if p.is("<") && !p.known(name) {
		if n := p.templateArguments(); n > 0 && p.ahead(n).s == "(" {
			types := p.callTypes(n)
			if p.accept("(") {
				return &Call{Pos: at, Fun: &Ident{at, name, -1}, Name: name, Types: types, Args: p.arguments(")"), ID: p.id()}
			}
		}
	}
	return &Ident{at, name, -1}
}

// callTypes reads the n tokens of the template arguments of a call.
func (p *parser) callTypes(n int) []*Type {
	end := p.i + n
	p.i++
	var types []*Type
	for p.i < end-1 {
		from := p.i
		if p.startsType() || p.peek().kind == identifier {
			types = append(types, p.typeName())
		} else {
			types = append(types, nil)
		}
		for p.i < end-1 && !p.is(",") {
			p.i++
		}
		p.accept(",")
		if p.i == from {
			break
		}
	}
	p.i = end
	return types
}

func (p *parser) postfix(x Expr) Expr {
	for range 1000 {
		at := p.pos()
		switch {
		case p.accept("["):
			i := p.expression()
			if !p.accept("]") {
				return &BadExpr{at}
			}
			x = &Index{at, x, i, p.id()}
		case p.accept("("):
			c := &Call{Pos: at, Fun: x, ID: p.id()}
			if id, ok := x.(*Ident); ok {
				c.Name, c.Pos = id.Name, id.Pos
			}
			c.Args = p.arguments(")")
			x = c
		case p.is(".") || p.is("->"):
			arrow := p.is("->")
			p.i++
			if p.peek().kind != identifier {
				return &BadExpr{at}
			}
			x = &Member{at, x, p.peek().s, arrow, p.id()}
			p.i++
		case p.is("++") || p.is("--"):
			x = &Unary{Pos: at, Op: "p" + p.peek().s, X: x}
			p.i++
		case p.is("<<<"):
			return &BadExpr{at}
		default:
			return x
		}
	}
	return x
}

// literal reads a number with its suffix.
func literal(at Pos, s string) Expr {
	low := strings.ToLower(strings.ReplaceAll(s, "'", ""))
	hex := strings.HasPrefix(low, "0x")
	if !hex && strings.ContainsAny(low, ".e") || hex && strings.Contains(low, "p") || !hex && strings.HasSuffix(low, "f") {
		single := strings.HasSuffix(low, "f") || strings.HasSuffix(low, "h")
		v, err := strconv.ParseFloat(strings.TrimRight(low, "fhl"), 64)
		if err != nil && v == 0 {
			return &BadExpr{at}
		}
		return &FloatLit{at, v, single}
	}
	digits := strings.TrimRight(low, "ulz")
	suffix := low[len(digits):]
	v, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		return &BadExpr{at}
	}
	return &IntLit{at, int64(v), strings.Contains(suffix, "u"), strings.Contains(suffix, "l")}
}

func character(s string) int64 {
	s = strings.Trim(s, "'")
	if len(s) == 0 {
		return 0
	}
	if s[0] == '\\' && len(s) > 1 {
		switch s[1] {
		case 'n':
			return 10
		case 't':
			return 9
		case '0':
			return 0
		}
		return int64(s[1])
	}
	return int64(s[0])
}
