package rules

import "github.com/rooflab/rooflab/agents/rules/syntax"

// use is what is done to a variable or to the memory that it stands for.
type use struct{ read, write bool }

func (u use) or(o use) use { return use{u.read || o.read, u.write || o.write} }

// doing is all that a function of the sources does, but for its result: to the
// memory that its parameters lead to, and to globals. It keeps no pointer.
type doing struct {
	file    *syntax.File
	params  []use // of those that are pointers
	globals map[*syntax.Variable]use
}

// doing is what a function does; nil where that is not known.
func (u *unit) doing(name string) *doing {
	if d, ok := u.done[name]; ok {
		return d
	}
	u.done[name] = nil // while it is looked at, and where it calls itself
	var file *syntax.File
	var fn *syntax.Function
	var path string
	for i, f := range u.files {
		for _, g := range f.Functions {
			if g.Name != name {
				continue
			}
			if fn != nil {
				return nil
			}
			file, fn, path = f, g, u.paths[i]
		}
	}
	if fn == nil || fn.Kernel || len(fn.Problems) > 0 {
		return nil
	}
	v := newView(u, path, file, fn, u.opt)
	e := v.effects(fn.Body)
	if len(e.trouble) > 0 || len(e.calls) > 0 {
		return nil
	}
	for _, j := range e.jumps {
		if j != "return" {
			return nil
		}
	}
	d := &doing{file: file, params: make([]use, len(fn.Params)), globals: map[*syntax.Variable]use{}}
	mark := func(x *syntax.Variable, how use) bool {
		for i, p := range fn.Params {
			if p == x {
				if x.Type.Indirect() {
					d.params[i] = d.params[i].or(how)
				}
				return true
			}
		}
		if x.Global && !x.Enum {
			d.globals[x] = d.globals[x].or(how)
			return true
		}
		return x.Enum || !x.Type.Indirect() || len(x.Type.Dims) > 0 && !x.Type.Static
	}
	for _, a := range e.accesses {
		if !mark(a.v, use{a.read, a.write}) {
			return nil
		}
	}
	for x := range e.reads {
		if !mark(x, use{read: true}) {
			return nil
		}
	}
	for x := range e.writes {
		if x.Global && !mark(x, use{write: true}) {
			return nil
		}
	}
	u.done[name] = d
	return d
}

// lent reports whether an address is taken only for a call of a function that
// does not keep it.
func (v *view) lent(n *syntax.Node) bool {
	p := v.parent[n]
	for p != nil && p.Kind == syntax.Paren {
		p = v.parent[p]
	}
	if p == nil || p.Kind != syntax.Call || p.Kids[0].Kind != syntax.Name || p.Kids[0].Var != nil || p.Kids[0].Std {
		return false
	}
	d := v.unit.doing(p.Kids[0].Op)
	return d != nil && len(p.Kids)-1 == len(d.params)
}

// known takes in what a call of a function of the sources does; false where that is
// not known.
func (c *collector) known(n *syntax.Node) bool {
	f := n.Kids[0].Bare()
	if f.Kind != syntax.Name || f.Var != nil || f.Std {
		return false
	}
	d := c.v.unit.doing(f.Op)
	if d == nil || len(n.Kids)-1 != len(d.params) {
		return false
	}
	fn := d.file.Find(f.Op)
	for i, arg := range n.Kids[1:] {
		if fn.Params[i].Type.Indirect() && !c.argument(arg, d.params[i]) {
			return false
		}
	}
	for i, arg := range n.Kids[1:] {
		if !fn.Params[i].Type.Indirect() {
			c.node(arg)
		}
	}
	for _, x := range sortedVars(d.globals) {
		how := d.globals[x]
		// In another file it is declared again.
		if d.file != c.v.file && !x.Type.Static {
			if here := c.v.file.Globals[x.Name]; here != nil {
				x = here
			}
		}
		switch {
		case x.Type.Indirect():
			c.e.accesses = append(c.e.accesses, c.somewhere(x, n, how.read, how.write))
		default:
			if how.read {
				c.e.reads[x] = append(c.e.reads[x], n)
			}
			if how.write {
				c.e.writes[x] = append(c.e.writes[x], n)
			}
		}
	}
	return true
}

// argument takes in what is done to the memory that an argument leads to.
func (c *collector) argument(arg *syntax.Node, how use) bool {
	n := arg.Bare()
	if n != nil && n.Kind == syntax.Unary && n.Op == "&" {
		if x := n.Kids[0].Bare(); x.Kind == syntax.Name && x.Var != nil && !x.Var.Type.Indirect() {
			if how.read || how.write {
				c.name(x, how.read, how.write)
			}
			return true
		}
	}
	p := c.v.address(arg, arg)
	if p == nil {
		return false
	}
	c.pointer(arg)
	if how.read || how.write {
		a := c.somewhere(p.base, n, how.read, how.write)
		c.e.accesses = append(c.e.accesses, a)
	}
	return true
}

// somewhere is an access to a variable's memory at an index that is not known.
func (c *collector) somewhere(x *syntax.Variable, n *syntax.Node, read, write bool) access {
	return access{v: x, dims: make([]poly, x.Type.Pointers+len(x.Type.Dims)), node: n, read: read, write: write,
		loops: append([]*loop(nil), c.loops...), conditional: c.inIf > 0}
}

// pointer takes in what a pointer expression that is understood (see address)
// computes: its indices.
func (c *collector) pointer(n *syntax.Node) {
	n = n.Bare()
	switch {
	case n == nil || n.Kind == syntax.Name && n.Var != nil && n.Var.Type.Indirect():
	case n.Kind == syntax.Binary && (n.Op == "+" || n.Op == "-"):
		c.pointer(n.Kids[0])
		c.pointer(n.Kids[1])
	case n.Kind == syntax.Unary && n.Op == "&":
		_, index := peel(n.Kids[0].Bare())
		for _, i := range index {
			c.node(i)
		}
	default:
		c.node(n)
	}
}

// through is an access to what a pointer to a structure leads to: p->x.
func (c *collector) through(n *syntax.Node, read, write bool) {
	b := n.Kids[0].Bare()
	if b.Kind != syntax.Name || b.Var == nil || b.Var.Type.Pointers != 1 || len(b.Var.Type.Dims) > 0 || b.Var.Type.Volatile || b.Var.Type.Base == "" ||
		c.v.written[b.Var] > 0 && !c.v.own(b.Var) || c.v.taken[b.Var] {
		c.trouble(n, "what %s points to is not known", c.v.text(n.Kids[0]))
		return
	}
	a := c.somewhere(b.Var, n, read, write)
	a.dims = []poly{constant(0)}
	if p := c.v.place(b.Var); p != nil {
		a.v, a.via = p.base, b.Var
		a.dims = append(append([]poly{}, p.rows...), p.offset)
	}
	c.e.accesses = append(c.e.accesses, a)
}
