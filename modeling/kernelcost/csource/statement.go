package csource

// block reads { ... }.
func (p *parser) block() *Block {
	b := &Block{Pos: p.pos()}
	if !p.accept("{") {
		return b
	}
	p.scopes = append(p.scopes, map[string]int{})
	for !p.done() && !p.is("}") {
		from := p.i
		b.List = append(b.List, p.statement())
		if p.i == from {
			p.i++
		}
	}
	p.accept("}")
	p.scopes = p.scopes[:len(p.scopes)-1]
	return b
}

// statement reads one statement. One that is not understood is a Bad one, and
// reading goes on behind its semicolon.
func (p *parser) statement() Stmt {
	at := p.pos()
	if p.depth++; p.depth > deepest {
		p.report(at.Line, "statements are nested deeper than %d", deepest)
		p.skip(";", "}")
		p.depth--
		return &Bad{Pos: at}
	}
	defer func() { p.depth-- }()
	t := p.peek()
	switch {
	case t.s == "{":
		return p.block()
	case p.accept(";"):
		return &Block{Pos: at}
	case t.kind != identifier:
	case p.accept("if"):
		p.accept("constexpr")
		s := &If{Pos: at}
		s.Cond = p.condition()
		s.Then = p.statement()
		if p.accept("else") {
			s.Else = p.statement()
		}
		return s
	case p.accept("for"):
		return p.forLoop(at)
	case p.accept("while"):
		s := &Loop{Pos: at, ID: p.id()}
		s.Cond = p.condition()
		s.Body = p.statement()
		return s
	case p.accept("do"):
		s := &Loop{Pos: at, Do: true, ID: p.id()}
		s.Body = p.statement()
		if p.accept("while") {
			s.Cond = p.condition()
		}
		p.accept(";")
		return s
	case p.accept("switch"):
		return p.switchOver(at)
	case p.accept("return"):
		s := &Return{Pos: at}
		if !p.is(";") {
			s.X = p.initialiser()
			for p.accept(",") {
				p.assignment()
			}
		}
		return p.ended(s)
	case p.accept("break"):
		return p.ended(&Break{at})
	case p.accept("continue"):
		return p.ended(&Continue{at})
	case t.s == "goto" || t.s == "asm" || t.s == "__asm__" || t.s == "try" || t.s == "throw":
		return p.bad(at)
	case t.s == "case" || t.s == "default": // outside of a switch's own level
		p.i++
		for !p.done() && !p.is(":") && !p.is(";") && !p.is("}") {
			p.i++
		}
		p.accept(":")
		return &Block{Pos: at}
	case t.s == "typedef":
		p.i++
		p.typedef()
		return &Block{Pos: at}
	case t.s == "using":
		p.skip(";")
		return &Block{Pos: at}
	case p.ahead(1).s == ":" && p.ahead(2).s != ":" && !p.startsType():
		p.i += 2 // a label
		return &Block{Pos: at}
	case p.startsType() && !(p.types[t.s] != nil || named(t.s) != nil) || p.startsType() && p.ahead(1).s != "(":
		return p.declaration(at)
	}
	x := p.expression()
	if _, isBad := x.(*BadExpr); isBad {
		return p.bad(at)
	}
	return p.ended(&Evaluate{at, x})
}

// ended expects the semicolon behind a statement.
func (p *parser) ended(s Stmt) Stmt {
	if p.accept(";") {
		return s
	}
	if p.is("}") || p.done() {
		p.report(p.pos().Line, "a statement without its semicolon")
		return s
	}
	return p.bad(s.At())
}

func (p *parser) bad(at Pos) Stmt {
	s := p.peek().s
	p.report(p.pos().Line, "a statement is not understood at %.40q; it is not counted", s)
	from := p.i
	p.skip(";")
	if p.i == from && !p.is("}") {
		p.i++
	}
	return &Bad{at, s}
}

// condition reads ( expression ).
func (p *parser) condition() Expr {
	if !p.accept("(") {
		return &BadExpr{p.pos()}
	}
	x := p.expression()
	if !p.accept(")") {
		p.skip(")")
		p.accept(")")
		return &BadExpr{x.At()}
	}
	return x
}

func (p *parser) forLoop(at Pos) Stmt {
	s := &Loop{Pos: at, ID: p.id(), Unroll: p.unit.unrolls[at.Line-1]}
	p.scopes = append(p.scopes, map[string]int{})
	defer func() { p.scopes = p.scopes[:len(p.scopes)-1] }()
	if !p.accept("(") {
		return p.bad(at)
	}
	switch {
	case p.accept(";"):
	case p.startsType():
		s.Init = p.declaration(p.pos())
	default:
		s.Init = p.ended(&Evaluate{p.pos(), p.expression()})
	}
	if !p.accept(";") {
		s.Cond = p.expression()
		if !p.accept(";") {
			p.report(at.Line, "a loop's condition is not understood")
			s.Cond = &BadExpr{at}
			p.skip(";")
		}
	}
	if !p.is(")") {
		s.Step = p.expression()
	}
	if !p.accept(")") {
		p.skip(")")
		p.accept(")")
	}
	s.Body = p.statement()
	return s
}

func (p *parser) switchOver(at Pos) Stmt {
	s := &Switch{Pos: at}
	s.X = p.condition()
	if !p.accept("{") {
		return p.bad(at)
	}
	p.scopes = append(p.scopes, map[string]int{})
	defer func() { p.scopes = p.scopes[:len(p.scopes)-1] }()
	for !p.done() && !p.is("}") {
		from := p.i
		switch {
		case p.accept("case"):
			v := p.conditional()
			p.accept(":")
			if n := len(s.Cases); n > 0 && len(s.Cases[n-1].Body) == 0 && len(s.Cases[n-1].Values) > 0 {
				s.Cases[n-1].Values = append(s.Cases[n-1].Values, v)
			} else {
				s.Cases = append(s.Cases, Case{Values: []Expr{v}})
			}
		case p.accept("default"):
			p.accept(":")
			s.Cases = append(s.Cases, Case{})
		default:
			st := p.statement()
			if n := len(s.Cases); n > 0 {
				c := &s.Cases[n-1]
				c.Body = append(c.Body, st)
				switch st.(type) {
				case *Break, *Return, *Continue:
					c.Stops = true
				}
			}
		}
		if p.i == from {
			p.i++
		}
	}
	p.accept("}")
	return s
}

// declaration reads variables of a function.
func (p *parser) declaration(at Pos) Stmt {
	spec, ok := p.specifiers()
	if !ok {
		return p.bad(at)
	}
	d := &Declare{Pos: at}
	if p.accept(";") {
		return d // a struct alone
	}
	for {
		here := p.pos()
		t, name := p.declarator(spec.t)
		if name == "" {
			return p.bad(at)
		}
		if p.is("(") && p.ahead(1).s == ")" {
			p.i += 2
		}
		v := &Variable{Pos: here, Name: name, Type: t}
		if spec.space == Private && t.Class != Pointer {
			t.Space = Private
		}
		// As in C the name is there within its own initialiser.
		v.Slot = p.declare(name, t)
		switch {
		case p.accept("="):
			v.Init = p.initialiser()
		case p.is("{"):
			v.Init = p.initialiser()
		case p.accept("("):
			v.Init = p.expression()
			if !p.accept(")") {
				p.skip(")")
				p.accept(")")
			}
		}
		d.Vars = append(d.Vars, v)
		if !p.accept(",") {
			break
		}
	}
	return p.ended(d)
}

// initialiser reads an expression or a list in braces.
func (p *parser) initialiser() Expr {
	if !p.is("{") {
		return p.assignment()
	}
	l := &List{Pos: p.pos()}
	if p.depth++; p.depth > deepest {
		p.skip("}")
		p.depth--
		return l
	}
	defer func() { p.depth-- }()
	p.i++
	for !p.done() && !p.is("}") {
		from := p.i
		if p.accept(".") && p.peek().kind == identifier {
			p.i++
			p.accept("=")
		}
		l.Items = append(l.Items, p.initialiser())
		if !p.accept(",") && !p.is("}") {
			p.skip("}")
			return l
		}
		if p.i == from {
			break
		}
	}
	p.accept("}")
	return l
}
