package syntax

import "github.com/rooflab/rooflab/modeling/tokenize"

// block reads from { to }.
func (p *parser) block() *Node {
	n := &Node{Kind: Block, Start: p.peek(0).start}
	p.take("{")
	p.push()
	defer p.pop()
	for !p.done() && !p.is("}") {
		before := p.at
		n.Kids = append(n.Kids, p.statement())
		if p.at == before {
			p.at++
		}
	}
	if !p.take("}") {
		p.problem(n.Start, "a block that does not end")
	}
	n.End = p.end()
	return n
}

// bad skips a statement that is not understood.
func (p *parser) bad(from int, what string) *Node {
	p.at = from
	n := &Node{Kind: Bad, Start: p.peek(0).start}
	p.problem(n.Start, what)
	for !p.done() {
		switch p.peek(0).text {
		case "(", "[":
			p.skip()
			continue
		case "{":
			p.skip()
			n.End = p.end()
			return n
		case "}":
			n.End = max(n.Start, p.end())
			return n
		case ";":
			p.at++
			n.End = p.end()
			return n
		}
		p.at++
	}
	n.End = p.end()
	return n
}

func (p *parser) statement() *Node {
	p.depth++
	defer func() { p.depth-- }()
	from := p.at
	if p.depth > maxDepth {
		return p.bad(from, "statements nested too deep")
	}
	t := p.peek(0)
	n := &Node{Start: t.start}
	finish := func(k Kind, kids ...*Node) *Node {
		n.Kind, n.Kids, n.End = k, kids, p.end()
		return n
	}
	if t.kind == tokenize.Directive {
		p.at++
		n.Op = t.text
		return finish(Directive)
	}
	switch t.text {
	case "{":
		return p.block()
	case ";":
		p.at++
		return finish(Empty)
	case "for":
		p.push()
		defer p.pop()
		p.at++
		if !p.take("(") {
			return p.bad(from, "for")
		}
		var init, cond, step *Node
		if !p.is(";") && p.declares() {
			if init = p.declaration(); init == nil {
				return p.badLoop(from)
			}
		} else {
			at := p.at
			if !p.is(";") {
				e := p.expression()
				init = &Node{Kind: Evaluate, Start: e.Start, End: e.End, Kids: []*Node{e}}
			}
			if !p.take(";") {
				_ = at
				return p.badLoop(from)
			}
		}
		if !p.is(";") {
			cond = p.expression()
		}
		if !p.take(";") {
			return p.badLoop(from)
		}
		if !p.is(")") {
			step = p.expression()
		}
		if !p.take(")") {
			return p.badLoop(from)
		}
		return finish(For, init, cond, step, p.statement())
	case "while", "if":
		p.at++
		if !p.take("(") {
			return p.bad(from, t.text)
		}
		cond := p.expression()
		if !p.take(")") {
			return p.badLoop(from)
		}
		body := p.statement()
		if t.text == "while" {
			return finish(While, cond, body)
		}
		var other *Node
		if p.take("else") {
			other = p.statement()
		}
		return finish(If, cond, body, other)
	case "do":
		p.at++
		body := p.statement()
		if !p.take("while") || !p.take("(") {
			return p.bad(from, "do")
		}
		cond := p.expression()
		if !p.take(")") || !p.take(";") {
			return p.bad(from, "do")
		}
		return finish(Do, cond, body)
	case "return":
		p.at++
		var x *Node
		if !p.is(";") {
			x = p.expression()
		}
		if !p.take(";") {
			return p.bad(from, "return")
		}
		return finish(Return, x)
	case "break", "continue", "goto", "case", "default":
		n.Op = t.text
		for !p.done() && !p.is(";") && !p.is(":") && !p.is("}") && !p.is("{") {
			p.at++
		}
		if !p.take(";") {
			p.take(":")
		}
		return finish(Jump)
	case "switch", "asm", "__asm__", "try", "else", "struct", "union", "enum", "typedef", "using", "template":
		if t.text != "struct" && t.text != "union" && t.text != "enum" {
			return p.bad(from, t.text)
		}
	}
	if t.kind == tokenize.Word && p.peek(1).text == ":" && p.peek(2).text != ":" && !keywords[t.text] {
		p.at += 2
		n.Op = "label"
		return finish(Jump)
	}
	if p.declares() {
		if d := p.declaration(); d != nil {
			return d
		}
		return p.bad(from, "a declaration")
	}
	x := p.expression()
	if !p.take(";") {
		return p.bad(from, "a statement")
	}
	return finish(Evaluate, x)
}

// badLoop skips a statement whose head is not understood, with its body.
func (p *parser) badLoop(from int) *Node {
	p.at = from
	start := p.peek(0).start
	p.problem(start, p.peek(0).text)
	p.at++
	if p.is("(") {
		p.skip()
	}
	body := p.statement()
	return &Node{Kind: Bad, Start: start, End: max(body.End, p.end())}
}
