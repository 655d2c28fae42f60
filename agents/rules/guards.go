package rules

import "github.com/rooflab/rooflab/agents/rules/syntax"

// guards are the integers that a condition keeps within bounds, in the form of
// loops that count over these: where
//
//	if (bin >= 0 && bin < bins)
//
// holds, bin is from 0 to below bins, one value in each iteration around. They are
// variables of the function that keep the value with which they are declared.
func (v *view) guards(n *syntax.Node) []*loop {
	if l, ok := v.guarded[n]; ok {
		return l
	}
	lows, highs := map[*syntax.Variable]poly{}, map[*syntax.Variable]poly{}
	var look func(c *syntax.Node)
	look = func(c *syntax.Node) {
		c = c.Bare()
		if c == nil || c.Kind != syntax.Binary {
			return
		}
		if c.Op == "&&" {
			look(c.Kids[0])
			look(c.Kids[1])
			return
		}
		x, end, op := c.Kids[0].Bare(), c.Kids[1], c.Op
		if v.counts(x) == nil {
			x, end = c.Kids[1].Bare(), c.Kids[0]
			op = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}[op]
		}
		is := v.counts(x)
		p := v.form(end, n)
		if is == nil || p == nil || !v.steady(p, is.Decl) {
			return
		}
		switch op {
		case "<":
			highs[is] = p
		case "<=":
			highs[is] = p.add(constant(1), 1)
		case ">":
			lows[is] = p.add(constant(1), 1)
		case ">=":
			lows[is] = p
		}
	}
	look(n.Kids[0])
	var out []*loop
	for _, x := range sortedVars(highs) {
		lo := lows[x]
		if lo == nil && unsigned(x.Type.Base) {
			lo = constant(0)
		}
		if lo != nil && highs[x] != nil {
			out = append(out, &loop{node: n, v: x, key: v.key(x), lo: lo, hi: highs[x], step: 1, body: n.Kids[1], declared: true})
		}
	}
	v.guarded[n] = out
	return out
}

// counts is the variable that a name means where it is an integer that keeps the
// value with which it is declared, of which nothing else is known; else nil.
func (v *view) counts(n *syntax.Node) *syntax.Variable {
	if n == nil || n.Kind != syntax.Name || n.Var == nil {
		return nil
	}
	x := n.Var
	if x.Param || x.Global || x.Type.Static || x.Type.Volatile || !integers[x.Type.Base] || x.Type.Indirect() || v.written[x] > 0 || v.taken[x] || x.Decl == nil || x.Decl.Kid(0) == nil {
		return nil
	}
	if p := v.form(n, n); !p.equal(atom(v.key(x))) {
		return nil // it is known by other variables
	}
	for _, l := range v.loops {
		if l.v == x {
			return nil
		}
	}
	return x
}
