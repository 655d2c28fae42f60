package rules

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// strengthReduction writes cheaper operations for dear ones: x*x for pow(x, 2),
// products for divisions by powers of two, counters for quotients and remainders of
// a loop's counter, and, where sums may be reordered, one division for many.
func strengthReduction(f *finder) {
	var powers []change
	var how []string
	otherwise := false // they round otherwise
	syntax.Walk(f.fn.Body, func(n *syntax.Node) bool {
		switch n.Kind {
		case syntax.Macro:
			return false
		case syntax.Call:
			if text, what := f.power(n); text != "" {
				powers = append(powers, change{n.Start, n.End, text})
				otherwise = otherwise || what != "products" || !f.exact(n)
				if !slices.Contains(how, what) {
					how = append(how, what)
				}
				return false
			}
		case syntax.Binary:
			f.division(n)
			f.exponentials(n)
		}
		return true
	})
	if len(powers) > 0 {
		all := &syntax.Node{Start: powers[0].start, End: powers[len(powers)-1].end}
		f.takes(rounded, otherwise)
		f.offer(all, 1.6, strings.Join(how, ", ")+" in place of calls that raise to a power", powers...)
	}
	for _, l := range f.loops {
		f.quotients(l)
		f.reciprocals(l)
	}
}

func (f *finder) inLoop(n *syntax.Node) bool {
	for p := f.parent[n]; p != nil; p = f.parent[p] {
		if p.Kind == syntax.For || p.Kind == syntax.While || p.Kind == syntax.Do {
			return true
		}
	}
	return f.fn.Kernel
}

// powers are functions that raise to a power; those of devices but pow may do so
// for numbers above 0 only.
var powers = set("pow powf powr native_powr half_powr pown")

// power is pow(x, 2) as x*x: what is exact is x*x, which a good pow returns as
// well, and GCC and Clang write it so themselves when they optimise. Powers of 3, 4,
// 1/2 and 3/2 round otherwise, as does any on a device, whose pow is not exact.
func (f *finder) power(n *syntax.Node) (text, how string) {
	name := n.Kids[0]
	if name.Kind != syntax.Name || name.Var != nil || !powers[name.Op] || len(n.Kids) != 3 || !f.inLoop(n) || f.macro(n) {
		return "", ""
	}
	e := n.Kids[2].Bare()
	if e.Kind != syntax.Number {
		return "", ""
	}
	k, err := strconv.ParseFloat(strings.TrimRight(e.Op, "fF"), 64)
	x := n.Kids[1].Bare()
	floats := f.typeOf(x) == "float" && f.typeOf(e) == "float" && f.plusplus() && name.Op == "pow"
	double := !f.device() && name.Op != "powf" && !floats
	t := f.typeOf(x)
	_, index := peel(x)
	switch {
	case err != nil || k != 2 && k != 3 && k != 4 && k != 0.5 && k != 1.5:
		return "", ""
	case k != 2 && !f.opt.Reassociate:
		f.refuse(n, "a product rounds twice where pow(x, %v) rounds once: allow it with a tolerance", e.Op)
		return "", ""
	case f.device() && !f.opt.Reassociate:
		f.refuse(n, "%s of a device may round otherwise than a product: allow it with a tolerance", name.Op)
		return "", ""
	case floats && !name.Std:
		f.refuse(n, "it depends on headers whether %s is computed in float: write std::pow", f.text(n))
		return "", ""
	case x.Kind != syntax.Name && index == nil && !f.simple(x):
		f.refuse(n, "%s would be computed more than once", oneLine(f.text(x)))
		return "", ""
	case double && t != "double" && t != "float" || !double && t != "float" && !(f.device() && t == "double"):
		f.refuse(n, "%s is converted by the call, or of a type that is not known", f.text(x))
		return "", ""
	}
	text = "(" + f.text(x) + ")"
	if x.Kind == syntax.Name {
		text = f.text(x)
	}
	if double && t == "float" {
		text = "(double)" + text
	}
	root := "sqrt"
	switch {
	case name.Std:
		root = "std::sqrt"
	case !f.device() && !double:
		root = "sqrtf"
	}
	now, how := strings.Join(repeat(text, int(k)), " * "), "products"
	switch k {
	case 0.5:
		now, how = fmt.Sprintf("%s(%s)", root, text), "square roots"
	case 1.5:
		now, how = fmt.Sprintf("%s * %s(%s)", text, root, text), "products with square roots"
	}
	return "(" + now + ")", how
}

// exact reports whether a power that is written as a product rounds as before.
func (f *finder) exact(n *syntax.Node) bool {
	k, err := strconv.ParseFloat(strings.TrimRight(n.Kids[2].Bare().Op, "fF"), 64)
	return err == nil && k == 2 && !f.device()
}

// simple reports whether an expression is made of operations that a compiler sees
// to be the same when it is written twice: no calls, no effects.
func (v *view) simple(n *syntax.Node) bool {
	ok := true
	syntax.Walk(n, func(k *syntax.Node) bool {
		switch k.Kind {
		case syntax.Name, syntax.Number, syntax.Binary, syntax.Paren, syntax.Cast, syntax.Index:
		case syntax.Unary:
			ok = ok && (k.Op == "-" || k.Op == "+")
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// exponentials are exp(a) * exp(b) as exp(a + b), which rounds otherwise.
func (f *finder) exponentials(n *syntax.Node) {
	a, b := n.Kids[0].Bare(), n.Kids[1].Bare()
	exp := func(k *syntax.Node) bool {
		return k.Kind == syntax.Call && len(k.Kids) == 2 && k.Kids[0].Kind == syntax.Name && k.Kids[0].Var == nil && (k.Kids[0].Op == "exp" || k.Kids[0].Op == "expf" || k.Kids[0].Op == "native_exp")
	}
	if n.Op != "*" || a == nil || b == nil || !exp(a) || !exp(b) || a.Kids[0].Op != b.Kids[0].Op || a.Kids[0].Std != b.Kids[0].Std || !f.inLoop(n) || f.macro(n) {
		return
	}
	if !f.opt.Reassociate {
		f.refuse(n, "one exponential of a sum rounds otherwise than a product of two: allow it with a tolerance")
		return
	}
	f.takes(rounded, true)
	f.offer(n, 1, "one exponential in place of two", change{n.Start, n.End, fmt.Sprintf("%s((%s) + (%s))", f.text(a.Kids[0]), f.text(a.Kids[1]), f.text(b.Kids[1]))})
}

func repeat(s string, n int) []string {
	var out []string
	for range n {
		out = append(out, s)
	}
	return out
}

// division is x / 4.0 as x * 0.25: both are exact for powers of two.
func (f *finder) division(n *syntax.Node) {
	d := n.Kids[1].Bare()
	if n.Op != "/" || d.Kind != syntax.Number || !f.inLoop(n) || f.macro(n) {
		return
	}
	t := f.typeOf(d)
	if !floating(t) {
		return
	}
	c, err := strconv.ParseFloat(strings.TrimRight(d.Op, "fF"), 64)
	if err != nil || c == 0 {
		return
	}
	if m, e := math.Frexp(c); m != 0.5 || e < -100 || e > 100 {
		if !f.opt.Reassociate {
			f.refuse(n, "1/%s is no number that floating point has exactly", d.Op)
		}
		return
	}
	suffix := ""
	if t == "float" {
		suffix = "f"
	}
	s := strconv.FormatFloat(1/c, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	f.offer(n, 0.5, fmt.Sprintf("a product in place of the division by %s, which is a power of two: both are exact", d.Op), change{n.Kids[0].End, n.End, " * " + s + suffix})
}

// quotients keeps counter / n and counter % n as variables that are counted along.
func (f *finder) quotients(l *loop) {
	byDivisor := map[string][]*syntax.Node{}
	var order []string
	syntax.Walk(l.body, func(n *syntax.Node) bool {
		if n.Kind == syntax.For && f.loopOf[n] != nil && f.loopOf[n].v == l.v {
			return false
		}
		if n.Kind == syntax.Binary && (n.Op == "/" || n.Op == "%") && n.Kids[0].Bare().Kind == syntax.Name && n.Kids[0].Bare().Var == l.v && !f.macro(n) {
			d := oneLine(f.text(n.Kids[1]))
			if len(byDivisor[d]) == 0 {
				order = append(order, d)
			}
			byDivisor[d] = append(byDivisor[d], n)
		}
		return true
	})
	for _, d := range order {
		ns := byDivisor[d]
		r := f.region(l.node)
		divisor := ns[0].Kids[1]
		x := divisor.Bare()
		lo, known := l.lo.value()
		switch {
		case x.Kind == syntax.Number:
			continue // the compiler multiplies
		case x.Kind != syntax.Name || x.Var == nil || !f.fixed(r, []*syntax.Node{divisor}, l):
			f.refuse(ns[0], "%s may change in the loop", d)
			continue
		case x.Var.Type.Base != l.v.Type.Base:
			f.refuse(ns[0], "%s and %s are of different types", l.v.Name, d)
			continue
		case l.step != 1 || !known || lo != 0:
			f.refuse(ns[0], "%s does not count from 0 in steps of 1", l.v.Name)
			continue
		case f.jumps(l.body):
			f.refuse(ns[0], "an iteration may end early")
			continue
		case !f.alone(l.node) || f.macro(l.node) || !l.declared && !f.dead(l.v, l.node):
			f.refuse(ns[0], "nothing can be put before the loop")
			continue
		}
		q, m := f.fresh(l.v.Name+"_by_"+x.Op), f.fresh(l.v.Name+"_mod_"+x.Op)
		var cs []change
		for _, n := range ns {
			name := q
			if n.Op == "%" {
				name = m
			}
			cs = append(cs, change{n.Start, n.End, name})
		}
		in := f.indent(l.node.Start)
		step := in + "    "
		if strings.HasPrefix(in, "\t") {
			step = in + "\t"
		}
		count := fmt.Sprintf("if (++%s == %s) {\n%s    %s = 0;\n%s    %s++;\n%s}", m, d, step, m, step, q, step)
		_, he := f.head(l.node)
		body := f.replaced(l.body, cs)
		var text string
		if l.body.Kind == syntax.Block {
			text = strings.TrimRight(body[:len(body)-1], " \t\r\n") + "\n" + step + count + "\n" + in + "}"
		} else {
			text = "{\n" + step + body + "\n" + step + count + "\n" + in + "}"
		}
		text = fmt.Sprintf("%s %s = 0, %s = 0;\n%s%s %s", l.v.Type.Base, q, m, in, f.file.Text[l.node.Start:he], text)
		if !f.positive(x.Var, l) {
			// Below 0 it would be counted otherwise, and 0 faults only if it is reached.
			text = fmt.Sprintf("if (%s > 0) {\n%s    %s\n%s} else {\n%s    %s\n%s}", d, in, strings.ReplaceAll(text, "\n", "\n    "), in, in, strings.ReplaceAll(f.text(l.node), "\n", "\n    "), in)
		}
		f.offer(l.node, 1, fmt.Sprintf("%s / %s and %s %% %s are counted along, without a division in each iteration", l.v.Name, d, l.v.Name, d),
			change{l.node.Start, l.node.End, text})
		return
	}
}

// positive reports whether a variable is above 0 wherever a loop has an iteration,
// by the ends of this loop and those around it.
func (f *finder) positive(x *syntax.Variable, l *loop) bool {
	least := f.region(l.node).leasts([]*loop{l})
	return least[f.key(x)] > 0
}

func (f *finder) jumps(n *syntax.Node) bool {
	found := false
	syntax.Walk(n, func(k *syntax.Node) bool {
		found = found || k.Kind == syntax.Jump || k.Kind == syntax.Return || k.Kind == syntax.Bad
		return !found
	})
	return found
}

// reciprocals divides once where a loop divides by the same number each time. It
// rounds otherwise.
func (f *finder) reciprocals(l *loop) {
	if !f.innermost(l) {
		return
	}
	r := f.region(l.node)
	syntax.Walk(l.body, func(n *syntax.Node) bool {
		if n.Kind != syntax.Binary || n.Op != "/" || f.macro(n) || !floating(f.typeOf(n)) {
			return true
		}
		d := n.Kids[1].Bare()
		if d.Kind == syntax.Number || f.same(r, d, l) != "" || !floating(f.typeOf(d)) || f.same(r, n, l) == "" {
			return true
		}
		if !f.opt.Reassociate {
			f.refuse(n, "dividing by %s once and multiplying rounds twice: allow it with a tolerance", oneLine(f.text(d)))
			return true
		}
		if !f.alone(l.node) || r.e.why() != "" {
			return true
		}
		t := f.typeOf(n)
		one := map[string]string{"float": "1.0f", "double": "1.0"}[t]
		value, name := fmt.Sprintf("%s / (%s)", one, f.text(d)), f.fresh("one_by")
		if d.Kind == syntax.Name {
			value, name = one+" / "+d.Op, f.fresh("one_by_"+d.Op)
		}
		if f.faults(d) && !f.runs(r, l) {
			if !f.unconditional(d, l) {
				f.refuse(n, "%s is computed on a condition, and might fault where that does not hold", oneLine(f.text(d)))
				return true
			}
			value = fmt.Sprintf("%s ? %s : 0", f.begins(l), value)
		} else if f.faults(d) && !f.unconditional(d, l) {
			return true
		}
		f.takes(rounded, true)
		f.offer(l.node, 0.8, fmt.Sprintf("one division by %s in place of one in each iteration", oneLine(f.text(d))),
			f.before(l.node, fmt.Sprintf("const %s %s = %s;", t, name, value)), change{n.Kids[0].End, n.End, " * " + name})
		return false
	})
}
