package generate

import (
	"fmt"
	"strconv"
	"strings"
)

// element is a type of numbers, most often float.
func (w *writer) element() string {
	switch {
	case w.chance(0.68):
		return "float"
	case w.chance(0.55):
		return "double"
	}
	return "int"
}

func (w *writer) real() string {
	if w.chance(0.75) {
		return "float"
	}
	return "double"
}

// literal is a number as a literal of a type.
func literal(typ string, v float64) string {
	switch strings.TrimRight(typ, "0123456789") {
	case "int", "uint":
		return strconv.Itoa(int(v))
	case "float":
		s := strconv.FormatFloat(v, 'g', 4, 32)
		if !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
		return s + "f"
	}
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func (w *writer) constantOf(typ string) string {
	if strings.HasPrefix(typ, "int") {
		return literal(typ, float64(1+w.r.IntN(31)))
	}
	return literal(typ, float64(1+w.r.IntN(4000))/1000)
}

// expression is arithmetic over leaves, n operations deep. It ends with finite
// numbers for finite leaves often enough: a runtime does not depend on it.
func (w *writer) expression(typ string, leaves []string, n int) string {
	leaf := func() string {
		if w.chance(0.75) {
			return leaves[w.r.IntN(len(leaves))]
		}
		return w.constantOf(typ)
	}
	if n <= 0 {
		return leaf()
	}
	w.work(1)
	sub := func() string { return w.expression(typ, leaves, (n-1)/2) }
	if strings.HasPrefix(typ, "int") {
		switch w.r.IntN(9) {
		case 0, 1, 2:
			return fmt.Sprintf("(%s + %s)", sub(), sub())
		case 3:
			return fmt.Sprintf("(%s - %s)", sub(), sub())
		case 4:
			return fmt.Sprintf("(%s * %s)", sub(), sub())
		case 5:
			return fmt.Sprintf("(%s ^ (%s >> %d))", sub(), leaf(), 1+w.r.IntN(15))
		case 6:
			return fmt.Sprintf("(%s & %s)", sub(), sub())
		case 7:
			return fmt.Sprintf("min(%s, %s)", sub(), leaf())
		}
		return fmt.Sprintf("((%s %% %d) + %s)", leaf(), 2+w.r.IntN(60), sub())
	}
	switch w.r.IntN(16) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s + %s)", sub(), sub())
	case 3, 4:
		return fmt.Sprintf("(%s - %s)", sub(), sub())
	case 5, 6, 7:
		return fmt.Sprintf("(%s * %s)", sub(), sub())
	case 8:
		return fmt.Sprintf("fma(%s, %s, %s)", leaf(), sub(), leaf())
	case 9:
		return fmt.Sprintf("mad(%s, %s, %s)", sub(), leaf(), leaf())
	case 10:
		w.work(8)
		return fmt.Sprintf("(%s / (%s + %s))", sub(), leaf(), w.constantOf(typ))
	case 11:
		w.work(8)
		return fmt.Sprintf("sqrt(fabs(%s))", sub())
	case 12:
		w.work(20)
		if w.chance(0.4) { // of numbers that stay small: reducing large ones is another, slower way
			return fmt.Sprintf("%s(%s)", w.pick("sin", "cos"), leaves[0])
		}
		return fmt.Sprintf("%s(%s)", w.pick("exp", "tanh", "atan"), sub())
	case 13:
		w.work(20)
		return fmt.Sprintf("log(fabs(%s) + %s)", sub(), literal(typ, 1))
	case 14:
		return fmt.Sprintf("%s(%s, %s)", w.pick("fmin", "fmax"), sub(), leaf())
	}
	return fmt.Sprintf("(%s > %s ? %s : %s)", leaf(), w.constantOf(typ), sub(), leaf())
}

// mix is a value that depends on all of some: nothing that was computed can be
// left out by a compiler.
func (w *writer) mix(typ string, values []string) string {
	all := values[0]
	for _, v := range values[1:] {
		w.work(2)
		if strings.HasPrefix(typ, "int") {
			all = fmt.Sprintf("(%s * 31 ^ %s)", all, v)
		} else {
			all = fmt.Sprintf("(%s * %s + %s)", all, w.fraction(typ), v)
		}
	}
	return all
}

// fraction is a factor below 1: what is multiplied by it again and again stays
// in range.
func (w *writer) fraction(typ string) string { return literal(typ, float64(100+w.r.IntN(890))/1000) }

// next writes acc = f(acc, v), so that no iteration of a loop around it can be
// left out or moved out of it.
func (w *writer) next(typ, acc, v string) {
	w.work(2)
	if strings.HasPrefix(typ, "int") {
		w.line("%s = %s * 31 ^ %s;", acc, acc, v)
		return
	}
	w.line("%s = %s * %s + %s;", acc, acc, w.fraction(typ), v)
}

// threshold is a number that a part of the values in a buffer are above.
func (w *writer) threshold(typ string) string {
	if strings.HasPrefix(typ, "int") {
		return literal(typ, float64(5+w.r.IntN(90)))
	}
	return literal(typ, float64(50+w.r.IntN(900))/1000)
}

// accumulate writes acc = acc op v.
func (w *writer) accumulate(typ, acc, v, op string) {
	w.line("%s = %s;", acc, combine(typ, op, acc, v))
}

func combine(typ, op, a, b string) string {
	integer := strings.HasPrefix(typ, "int")
	switch op {
	case "max", "min":
		if integer {
			return fmt.Sprintf("%s(%s, %s)", op, a, b)
		}
		return fmt.Sprintf("f%s(%s, %s)", op, a, b)
	}
	return fmt.Sprintf("%s %s %s", a, op, b)
}

// neutral is what an operation starts from.
func neutral(typ, op string) string {
	switch op {
	case "max":
		return literal(typ, -1e6)
	case "min":
		return literal(typ, 1e6)
	case "*":
		return literal(typ, 1)
	}
	return literal(typ, 0)
}

// variable declares a number.
func (w *writer) declare(short, long, typ, value string) string {
	n := w.name(short, long)
	w.line("%s %s = %s;", typ, n, value)
	return n
}
