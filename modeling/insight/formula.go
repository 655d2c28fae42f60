package insight

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// formula is an arithmetic expression over the counters of a launch, in the
// spelling of roofline.Quantity.From: names and numbers with +, -, x and /
// between spaces, and brackets.
type formula struct {
	text  string
	names []string // of counters, each once
	root  node
}

// node is a number, a name, or an operation on two nodes.
type node struct {
	op          byte // 'n' number, 'm' name of a counter, or + - x /
	text        string
	left, right *node
}

// parse reads a formula. Names may hold spaces and brackets where known says
// so: it returns the longest name that a text begins with.
func parse(text string, known func(rest string) string) (formula, error) {
	f, rest, err := parsePrefix(text, known)
	if err == nil && rest != "" {
		err = fmt.Errorf("reading the formula %q: %q is left over", text, rest)
	}
	return f, err
}

// parsePrefix reads as much of a text as is a formula.
func parsePrefix(text string, known func(rest string) string) (formula, string, error) {
	p := parser{rest: text, known: known}
	n, err := p.sum()
	if err != nil {
		return formula{}, "", fmt.Errorf("reading the formula %q: %w", text, err)
	}
	f := formula{text: text, root: *n}
	f.root.walk(func(name string) {
		if !slices.Contains(f.names, name) {
			f.names = append(f.names, name)
		}
	})
	return f, p.rest, nil
}

// sql is the formula with columns for counters; a division by zero is NULL.
func (f formula) sql(column func(name string) string) string { return f.root.sql(column) }

func (n *node) walk(f func(name string)) {
	switch n.op {
	case 'n':
	case 'm':
		f(n.text)
	default:
		n.left.walk(f)
		n.right.walk(f)
	}
}

func (n *node) sql(column func(string) string) string {
	switch n.op {
	case 'n':
		return n.text
	case 'm':
		return column(n.text)
	case 'x':
		return "(" + n.left.sql(column) + " * " + n.right.sql(column) + ")"
	case '/':
		return "(" + n.left.sql(column) + " / nullif(" + n.right.sql(column) + ", 0))"
	}
	return "(" + n.left.sql(column) + " " + string(n.op) + " " + n.right.sql(column) + ")"
}

type parser struct {
	rest  string
	known func(string) string
}

// operator takes one of some operators off the text.
func (p *parser) operator(ops string) (byte, bool) {
	if len(p.rest) > 3 && p.rest[0] == ' ' && p.rest[2] == ' ' && strings.IndexByte(ops, p.rest[1]) >= 0 {
		op := p.rest[1]
		p.rest = p.rest[3:]
		return op, true
	}
	return 0, false
}

func (p *parser) sum() (*node, error)     { return p.chain("+-", p.product) }
func (p *parser) product() (*node, error) { return p.chain("x/", p.factor) }

func (p *parser) chain(ops string, operand func() (*node, error)) (*node, error) {
	left, err := operand()
	if err != nil {
		return nil, err
	}
	for {
		op, ok := p.operator(ops)
		if !ok {
			return left, nil
		}
		right, err := operand()
		if err != nil {
			return nil, err
		}
		left = &node{op: op, left: left, right: right}
	}
}

func (p *parser) factor() (*node, error) {
	if name := p.known(p.rest); name != "" {
		p.rest = p.rest[len(name):]
		return &node{op: 'm', text: name}, nil
	}
	if inner, ok := strings.CutPrefix(p.rest, "("); ok {
		p.rest = inner
		n, err := p.sum()
		if err != nil {
			return nil, err
		}
		if p.rest, ok = strings.CutPrefix(p.rest, ")"); !ok {
			return nil, fmt.Errorf("a bracket is not closed before %q", p.rest)
		}
		return n, nil
	}
	end := strings.IndexAny(p.rest, " )")
	if end < 0 {
		end = len(p.rest)
	}
	word := p.rest[:end]
	p.rest = p.rest[end:]
	if word == "" {
		return nil, fmt.Errorf("a name is missing before %q", p.rest)
	}
	if _, err := strconv.ParseFloat(word, 64); err == nil {
		return &node{op: 'n', text: word}, nil
	}
	return &node{op: 'm', text: word}, nil
}
