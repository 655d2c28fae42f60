package generate

import (
	"fmt"
	"strconv"
)

// span is a closed range of integers.
type span struct{ lo, hi int64 }

// index is an integer expression of a kernel: text in OpenCL C, and the range
// of its values.
type index interface {
	String() string
	span(e *env) span
}

// env is where variables have their ranges: arguments and geometry by value,
// the others by their bindings, of which a binding sees those before it.
type env struct {
	values map[string]int64
	scope  []binding
}

// binding gives a variable a range, in terms of what is bound before.
type binding struct {
	name   string
	lo, hi index // both included
}

// lookUp is the range of a variable.
func (e *env) lookUp(name string) span {
	if v, ok := e.values[name]; ok {
		return span{v, v}
	}
	for i := len(e.scope) - 1; i >= 0; i-- {
		if b := e.scope[i]; b.name == name {
			outer := &env{e.values, e.scope[:i]}
			return span{b.lo.span(outer).lo, b.hi.span(outer).hi}
		}
	}
	panic("generate: variable " + name + " has no range")
}

type constant int64

func (c constant) String() string { return strconv.FormatInt(int64(c), 10) }
func (c constant) span(*env) span { return span{int64(c), int64(c)} }

type variable string

func (v variable) String() string   { return string(v) }
func (v variable) span(e *env) span { return e.lookUp(string(v)) }

// binary is a op b.
type binary struct {
	op   byte // + - * / % m (min) M (max) << as 'l'
	a, b index
}

func (x binary) String() string {
	switch x.op {
	case 'm':
		return fmt.Sprintf("min(%s, %s)", x.a, x.b)
	case 'M':
		return fmt.Sprintf("max(%s, %s)", x.a, x.b)
	}
	return operand(x.a, x.op, false) + " " + string(x.op) + " " + operand(x.b, x.op, true)
}

// operand is an operand with parentheses where precedence asks for them.
func operand(x index, op byte, right bool) string {
	b, ok := x.(binary)
	if c, isConst := x.(constant); isConst && c < 0 {
		return "(" + x.String() + ")"
	}
	if !ok || b.op == 'm' || b.op == 'M' {
		return x.String()
	}
	weak := func(op byte) bool { return op == '+' || op == '-' }
	if weak(b.op) && !weak(op) || right && (op != '+' || !weak(b.op)) && !(weak(op) && !weak(b.op)) || b.op == '%' && op != '+' && op != '-' || b.op == '/' && op == '*' {
		return "(" + x.String() + ")"
	}
	return x.String()
}

func (x binary) span(e *env) span {
	a, b := x.a.span(e), x.b.span(e)
	switch x.op {
	case '+':
		return span{a.lo + b.lo, a.hi + b.hi}
	case '-':
		return span{a.lo - b.hi, a.hi - b.lo}
	case '*':
		p := [4]int64{a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi}
		return span{min(p[0], p[1], p[2], p[3]), max(p[0], p[1], p[2], p[3])}
	case '/':
		if b.lo <= 0 || a.lo < 0 {
			panic("generate: division of " + x.String() + " is not of a number >= 0 by one > 0")
		}
		return span{a.lo / b.hi, a.hi / b.lo}
	case '%':
		if b.lo <= 0 || a.lo < 0 {
			panic("generate: remainder of " + x.String() + " is not of a number >= 0 by one > 0")
		}
		if a.hi < b.lo {
			return a
		}
		if a.lo == a.hi && b.lo == b.hi {
			return span{a.lo % b.lo, a.lo % b.lo}
		}
		return span{0, min(a.hi, b.hi-1)}
	case 'm':
		return span{min(a.lo, b.lo), min(a.hi, b.hi)}
	case 'M':
		return span{max(a.lo, b.lo), max(a.hi, b.hi)}
	}
	panic("generate: operator " + string(x.op))
}

// within is an expression whose range is known otherwise: an index that was
// loaded, or one that the pattern knows better than intervals do.
type within struct {
	text   string
	lo, hi index
}

func (w within) String() string   { return w.text }
func (w within) span(e *env) span { return span{w.lo.span(e).lo, w.hi.span(e).hi} }

func lit(n int64) index      { return constant(n) }
func plus(a, b index) index  { return binary{'+', a, b} }
func minus(a, b index) index { return binary{'-', a, b} }
func times(a, b index) index { return binary{'*', a, b} }
func over(a, b index) index  { return binary{'/', a, b} }
func mod(a, b index) index   { return binary{'%', a, b} }
func least(a, b index) index { return binary{'m', a, b} }
func most(a, b index) index  { return binary{'M', a, b} }
