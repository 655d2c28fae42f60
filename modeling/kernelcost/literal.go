package kernelcost

import "github.com/rooflab/rooflab/modeling/kernelcost/csource"

// folded tells that a compiler knows what a call of a function of numbers gives:
// all that it is given are literals, or it is the least or the greatest of the
// same variable.
func folded(c *csource.Call) bool {
	base, _, ok := mathName(c.Name)
	if !ok || len(c.Args) == 0 {
		return false
	}
	if base == "fmin" || base == "fmax" {
		a, isName := c.Args[0].(*csource.Ident)
		if len(c.Args) == 2 && isName && a.Slot >= 0 {
			b, isName := c.Args[1].(*csource.Ident)
			return isName && b.Slot == a.Slot
		}
	}
	for _, a := range c.Args {
		if !literal(a) {
			return false
		}
	}
	return true
}

// literal tells that an expression is made of literals alone.
func literal(e csource.Expr) bool {
	switch e := e.(type) {
	case *csource.IntLit, *csource.FloatLit:
		return true
	case *csource.Unary:
		return (e.Op == "-" || e.Op == "+") && literal(e.X)
	case *csource.Binary:
		return literal(e.X) && literal(e.Y)
	case *csource.Cast:
		return literal(e.X)
	case *csource.Call:
		return folded(e)
	case *csource.Conditional:
		v, ok := settled(e.Cond)
		switch {
		case !ok:
			return false
		case v != 0:
			return literal(e.Then)
		}
		return literal(e.Else)
	}
	return false
}

// settled is what an expression of literals comes to, truth being 1.
func settled(e csource.Expr) (float64, bool) {
	switch e := e.(type) {
	case *csource.IntLit:
		return float64(e.Value), true
	case *csource.FloatLit:
		return e.Value, true
	case *csource.Unary:
		v, ok := settled(e.X)
		switch e.Op {
		case "-":
			return -v, ok
		case "+":
			return v, ok
		}
	case *csource.Binary:
		a, ok1 := settled(e.X)
		b, ok2 := settled(e.Y)
		if !ok1 || !ok2 {
			return 0, false
		}
		truth := func(t bool) (float64, bool) {
			if t {
				return 1, true
			}
			return 0, true
		}
		switch e.Op {
		case "<":
			return truth(a < b)
		case ">":
			return truth(a > b)
		case "<=":
			return truth(a <= b)
		case ">=":
			return truth(a >= b)
		case "==":
			return truth(a == b)
		case "!=":
			return truth(a != b)
		case "+":
			return a + b, true
		case "-":
			return a - b, true
		case "*":
			return a * b, true
		}
	}
	return 0, false
}
