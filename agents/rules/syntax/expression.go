package syntax

import "github.com/rooflab/rooflab/modeling/tokenize"

var precedence = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

var assigns = words("= += -= *= /= %= &= |= ^= <<= >>=")

func join(k Kind, op string, kids ...*Node) *Node {
	return &Node{Kind: k, Op: op, Start: kids[0].Start, End: kids[len(kids)-1].End, Kids: kids}
}

// expression reads one with commas. What is none is Bad, and nothing is read.
func (p *parser) expression() *Node {
	x := p.assignment()
	for p.is(",") {
		p.at++
		x = join(Binary, ",", x, p.assignment())
	}
	return x
}

func (p *parser) assignment() *Node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return p.badExpr("an expression nested too deep")
	}
	if p.is("{") {
		return p.list()
	}
	x := p.binary(1)
	if p.take("?") {
		then := p.expression()
		if !p.take(":") {
			return p.badExpr("?")
		}
		return join(Conditional, "?", x, then, p.assignment())
	}
	if op := p.peek(0).text; assigns[op] && !p.done() {
		p.at++
		return join(Assign, op, x, p.assignment())
	}
	return x
}

func (p *parser) list() *Node {
	n := &Node{Kind: List, Start: p.peek(0).start}
	p.at++
	for !p.done() && !p.is("}") {
		before := p.at
		n.Kids = append(n.Kids, p.assignment())
		if !p.take(",") || p.at == before {
			break
		}
	}
	if !p.take("}") {
		return p.badExpr("a list in braces")
	}
	n.End = p.end()
	return n
}

func (p *parser) badExpr(what string) *Node {
	p.problem(p.peek(0).start, what)
	at := p.peek(0).start
	return &Node{Kind: Bad, Start: at, End: at}
}

func (p *parser) binary(level int) *Node {
	x := p.unary()
	for {
		op := p.peek(0).text
		l := precedence[op]
		if l < level || l == 0 || p.done() {
			return x
		}
		p.at++
		x = join(Binary, op, x, p.binary(l+1))
	}
}

// cast reports whether a type in parentheses stands at the current token.
func (p *parser) cast() bool {
	if !p.is("(") || p.peek(1).kind != tokenize.Word {
		return false
	}
	w := p.peek(1).text
	if p.std(1) {
		return typeWords[p.peek(3).text] || scalarWords[p.peek(3).text]
	}
	if p.qualifier(1) || p.typeName(w) || w == "struct" || w == "union" || w == "enum" {
		return true
	}
	if p.lookup(w) != nil || p.macros[w] != nil {
		return false
	}
	i := 2
	for p.peek(i).text == "*" {
		i++
	}
	if p.peek(i).text != ")" {
		return false
	}
	if i > 2 {
		return true
	}
	// (name) before an operand is a cast, before an operator it is not.
	next := p.peek(i + 1)
	return next.kind == tokenize.Word && !keywords[next.text] || next.kind == tokenize.Number
}

func (p *parser) typeInParens() *Type {
	p.at++
	t := p.specifiers()
	if t == nil {
		return nil
	}
	for p.is("*") || p.word() && qualifiers[p.peek(0).text] {
		if p.is("*") {
			t.Pointers++
		}
		p.at++
	}
	if !p.take(")") {
		return nil
	}
	return t
}

func (p *parser) unary() *Node {
	p.depth++
	defer func() { p.depth-- }()
	if p.depth > maxDepth {
		return p.badExpr("an expression nested too deep")
	}
	t := p.peek(0)
	switch t.text {
	case "+", "-", "!", "~", "*", "&", "++", "--":
		if p.done() || t.kind != tokenize.Operator {
			break
		}
		p.at++
		x := p.unary()
		return &Node{Kind: Unary, Op: t.text, Start: t.start, End: x.End, Kids: []*Node{x}}
	case "sizeof":
		p.at++
		n := &Node{Kind: SizeOf, Start: t.start}
		if p.is("(") {
			p.skip()
		} else {
			n.Kids = []*Node{p.unary()}
			n.Kids = nil // it is not evaluated
		}
		n.End = p.end()
		return n
	}
	if p.cast() {
		ty := p.typeInParens()
		if ty == nil {
			return p.badExpr("a type in parentheses")
		}
		var x *Node
		if p.is("{") {
			x = p.list()
		} else {
			x = p.unary()
		}
		return &Node{Kind: Cast, Start: t.start, End: x.End, Type: ty, Kids: []*Node{x}}
	}
	return p.postfix()
}

func (p *parser) postfix() *Node {
	x := p.primary()
	for !p.done() {
		t := p.peek(0)
		switch t.text {
		case "[":
			p.at++
			i := p.expression()
			if !p.take("]") {
				return p.badExpr("[")
			}
			x = &Node{Kind: Index, Start: x.Start, End: p.end(), Kids: []*Node{x, i}}
		case "(":
			p.at++
			n := &Node{Kind: Call, Start: x.Start, Kids: []*Node{x}}
			for !p.is(")") && !p.done() {
				n.Kids = append(n.Kids, p.assignment())
				if !p.take(",") {
					break
				}
			}
			if !p.take(")") {
				return p.badExpr("(")
			}
			n.End = p.end()
			x = n
		case ".", "->":
			if p.peek(1).kind != tokenize.Word {
				return p.badExpr(t.text)
			}
			p.at += 2
			x = &Node{Kind: Member, Op: t.text + p.peek(-1).text, Start: x.Start, End: p.end(), Kids: []*Node{x}}
		case "++", "--":
			p.at++
			x = &Node{Kind: Postfix, Op: t.text, Start: x.Start, End: p.end(), Kids: []*Node{x}}
		default:
			return x
		}
	}
	return x
}

func (p *parser) primary() *Node {
	t := p.peek(0)
	n := &Node{Start: t.start, End: t.end, Op: t.text}
	switch {
	case p.done():
	case t.kind == tokenize.Number:
		p.at++
		n.Kind = Number
		return n
	case t.kind == tokenize.String:
		for p.peek(0).kind == tokenize.String && !p.done() {
			p.at++
		}
		n.Kind, n.End = Literal, p.end()
		return n
	case t.text == "(":
		p.at++
		x := p.expression()
		if !p.take(")") {
			return p.badExpr("(")
		}
		n.Kind, n.Op, n.End, n.Kids = Paren, "", p.end(), []*Node{x}
		return n
	case t.kind == tokenize.Word && !keywords[t.text]:
		if p.std(0) {
			p.at += 3
			n.Kind, n.Std, n.Op, n.End = Name, true, p.peek(-1).text, p.end()
			return n
		}
		p.at++
		if m := p.macros[t.text]; m != nil && p.lookup(t.text) == nil && !p.open[t.text] {
			return p.expand(n, m)
		}
		n.Kind, n.Var = Name, p.lookup(t.text)
		return n
	}
	return p.badExpr("an expression")
}

// expand reads what a macro, whose name was taken, stands for.
func (p *parser) expand(n *Node, m *macro) *Node {
	n.Kind = Macro
	args := map[string][]token{}
	if m.function {
		if !p.is("(") {
			return p.badExpr("a macro without its arguments")
		}
		from := p.at + 1
		p.skip()
		n.End = p.end()
		var list [][]token
		depth, start := 0, from
		for i := from; i < p.at; i++ {
			switch t := p.tokens[i].text; {
			case i == p.at-1 || t == "," && depth == 0:
				list = append(list, p.tokens[start:i])
				start = i + 1
			case t == "(" || t == "[" || t == "{":
				depth++
			case t == ")" || t == "]" || t == "}":
				depth--
			}
		}
		if len(list) != len(m.params) {
			return p.badExpr("a macro with other arguments than it has")
		}
		for i, name := range m.params {
			args[name] = list[i]
		}
	}
	var body []token
	for _, t := range m.body {
		with, ok := args[t.text]
		if !ok {
			with = []token{t}
		}
		for _, w := range with {
			w.start, w.end = n.Start, n.End
			body = append(body, w)
		}
	}
	if p.made += len(body); p.made > maxExpanded || len(body) == 0 || len(p.open) > 30 {
		return p.badExpr("a macro that is not understood")
	}
	open := map[string]bool{n.Op: true}
	for name := range p.open {
		open[name] = true
	}
	q := *p
	q.tokens, q.at, q.open = body, 0, open
	x := q.expression()
	p.made = q.made
	if !q.done() {
		return p.badExpr("a macro that is no expression")
	}
	// What the tree takes from the end of the text, for want of tokens, is not there.
	Walk(x, func(k *Node) bool {
		k.Start, k.End = n.Start, n.End
		return true
	})
	n.Kids = []*Node{x}
	return n
}
