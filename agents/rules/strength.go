package rules

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// strengthReduction writes cheaper operations for dear ones: x*x for pow(x, 2),
// products for divisions by powers of two, counters for quotients and remainders of
// a loop's counter, and, where sums may be reordered, one division for many.
func strengthReduction(f *finder) {
	syntax.Walk(f.fn.Body, func(n *syntax.Node) bool {
		switch n.Kind {
		case syntax.Macro:
			return false
		case syntax.Call:
			f.power(n)
		case syntax.Binary:
			f.division(n)
		}
		return true
	})
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

// power is pow(x, 2) as x*x: what is exact is x*x, which a good pow returns as
// well, and GCC and Clang write it so themselves when they optimise.
func (f *finder) power(n *syntax.Node) {
	name := n.Kids[0]
	if name.Kind != syntax.Name || name.Var != nil || name.Op != "pow" && name.Op != "powf" || len(n.Kids) != 3 || !f.inLoop(n) {
		return
	}
	e := n.Kids[2].Bare()
	if e.Kind != syntax.Number {
		return
	}
	k, err := strconv.ParseFloat(strings.TrimRight(e.Op, "fF"), 64)
	x := n.Kids[1].Bare()
	switch {
	case err != nil || k != 2 && k != 3 && k != 4:
		return
	case k != 2 && !f.opt.Reassociate:
		f.refuse(n, "x*x*x rounds twice where pow(x, 3) rounds once: allow it with a tolerance")
		return
	case x.Kind != syntax.Name:
		f.refuse(n, "%s would be computed %v times", oneLine(f.text(x)), k)
		return
	}
	want := "double"
	if name.Op == "powf" {
		want = "float"
	}
	t := f.typeOf(x)
	if t != want && !(want == "double" && t == "float") {
		f.refuse(n, "%s is converted by the call", f.text(x))
		return
	}
	text := f.text(x)
	if t != want {
		text = "(" + want + ")" + text
	}
	f.offer(n, 1, fmt.Sprintf("a product in place of a call of %s", name.Op), change{n.Start, n.End, "(" + strings.Join(repeat(text, int(k)), " * ") + ")"})
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
		if d.Kind != syntax.Name || d.Var == nil || f.same(r, d, l) != "" || !floating(f.typeOf(d)) || f.same(r, n, l) == "" {
			return true
		}
		if !f.opt.Reassociate {
			f.refuse(n, "dividing by %s once and multiplying rounds twice: allow it with a tolerance", d.Op)
			return true
		}
		if !f.alone(l.node) || r.e.why() != "" {
			return true
		}
		name := f.fresh("one_by_" + d.Op)
		t := f.typeOf(n)
		one := map[string]string{"float": "1.0f", "double": "1.0"}[t]
		f.offer(l.node, 0.8, fmt.Sprintf("one division by %s in place of one in each iteration", d.Op),
			f.before(l.node, fmt.Sprintf("const %s %s = %s / %s;", t, name, one, d.Op)), change{n.Kids[0].End, n.End, " * " + name})
		return false
	})
}
