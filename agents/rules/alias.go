package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// unit is all sources of a case: what callers pass and callees do is looked up
// across them.
type unit struct {
	files []*syntax.File
	paths []string
	opt   Options
	// strict says that objects of different types do not overlap (C11 6.5, 7).
	strict bool
	purity map[string]int // 1 being looked at or impure, 2 pure
	done   map[string]*doing
}

// pure reports whether a function of the sources computes its result from its
// arguments alone and does nothing else.
func (u *unit) pure(name string) bool {
	if u.purity[name] != 0 {
		return u.purity[name] == 2
	}
	u.purity[name] = 1
	found := 0
	for i, f := range u.files {
		for _, fn := range f.Functions {
			if fn.Name != name {
				continue
			}
			if found++; found > 1 || fn.Kernel || len(fn.Problems) > 0 {
				return false
			}
			v := newView(u, u.paths[i], f, fn, u.opt)
			e := v.effects(fn.Body)
			if len(e.accesses) > 0 || len(e.trouble) > 0 || len(e.calls) > 0 {
				return false
			}
			for x := range e.writes {
				if x.Global || x.Type.Indirect() {
					return false
				}
			}
			for x := range e.reads {
				if x.Global {
					return false
				}
			}
			for _, j := range e.jumps {
				if j != "return" {
					return false
				}
			}
		}
	}
	if found == 1 {
		u.purity[name] = 2
	}
	return found == 1
}

// apart says why two variables that stand for memory cannot overlap; "" where they
// may.
func (v *view) apart(a, b *syntax.Variable) string {
	a, b = v.root(a), v.root(b)
	if a == b {
		return ""
	}
	if a.Start > b.Start {
		a, b = b, a
	}
	array := func(x *syntax.Variable) bool { return len(x.Type.Dims) > 0 && !x.Param }
	switch {
	case array(a) && array(b):
		return "they are arrays of their own"
	case array(a) && !a.Global && !a.Type.Static && b.Param || array(b) && !b.Global && !b.Type.Static && a.Param:
		return "an array of the function is none of its caller's"
	case array(a) && a.Global && a.Type.Const || array(b) && b.Global && b.Type.Const:
		return "a constant is never written"
	case v.own(a) && (v.own(b) || !a.Global && b.Param) || v.own(b) && !b.Global && a.Param:
		return "memory that was allocated for one is no other's"
	case a.Type.Space != b.Type.Space && a.Type.Space != "" && b.Type.Space != "":
		return "they are in different address spaces"
	case a.Type.Restrict && a.Param && (b.Param || b.Global) || b.Type.Restrict && b.Param && (a.Param || a.Global):
		return "restrict says so"
	}
	if why := v.distinct[[2]*syntax.Variable{a, b}]; why != "" {
		return why
	}
	if v.unit.strict && differ(a.Type.Base, b.Type.Base) {
		return fmt.Sprintf("%s and %s are of different types", a.Type.Base, b.Type.Base)
	}
	if v.opt.Distinct && a.Param && b.Param {
		return "the caller vouches for it"
	}
	return ""
}

// differ reports whether objects of two built-in types may not be the same.
func differ(a, b string) bool {
	bare := func(s string) string {
		s = strings.TrimPrefix(s, "unsigned ")
		return map[string]string{"int32_t": "int", "uint32_t": "int", "int64_t": "long", "uint64_t": "long", "size_t": "long", "ssize_t": "long", "ptrdiff_t": "long", "long long": "long"}[s] + "|" + s
	}
	name := func(s string) string {
		x, y, _ := strings.Cut(bare(s), "|")
		if x != "" {
			return x
		}
		return y
	}
	known := []string{"int", "long", "short", "float", "double", "int16_t", "uint16_t"}
	return slices.Contains(known, name(a)) && slices.Contains(known, name(b)) && name(a) != name(b)
}

// learn finds what all callers agree on, where all calls are in the sources: pairs
// of pointer parameters for which they pass arrays, or what was allocated, each
// another, so that they do not overlap; and integers of which they pass numbers.
func (u *unit) learn(v *view) {
	if v.fn.Kernel {
		return
	}
	var pointers []int
	for i, p := range v.fn.Params {
		if p.Type.Indirect() {
			pointers = append(pointers, i)
		}
	}
	type call struct {
		fn   *syntax.Function
		args []*syntax.Node
	}
	var calls []call
	mentions := 0
	for _, f := range u.files {
		for _, fn := range f.Functions {
			syntax.Walk(fn.Body, func(n *syntax.Node) bool {
				if n.Kind == syntax.Bad && strings.Contains(f.Of(n), v.fn.Name) {
					mentions++
				}
				if n.Kind == syntax.Name && n.Op == v.fn.Name && n.Var == nil {
					mentions++
				}
				if n.Kind == syntax.Call && n.Kids[0].Kind == syntax.Name && n.Kids[0].Op == v.fn.Name && n.Kids[0].Var == nil && len(n.Kids) == 1+len(v.fn.Params) {
					calls = append(calls, call{fn, n.Kids[1:]})
				}
				return true
			})
		}
	}
	whole := false // a program: nobody else can call
	for _, f := range u.files {
		whole = whole || f.Find("main") != nil
	}
	if len(calls) == 0 || mentions != len(calls) || !whole && !v.fn.Static {
		return
	}
	for i, p := range v.fn.Params {
		if p.Type.Indirect() || !integers[p.Type.Base] {
			continue
		}
		least, ok := int64(maxCoef), true
		for _, c := range calls {
			value, known := v.form(c.args[i], nil).value()
			least, ok = min(least, value), ok && known
		}
		if ok {
			v.floor[p] = least
		}
	}
	for x, i := range pointers {
		for _, j := range pointers[x+1:] {
			ok := true
			for _, c := range calls {
				a, b := u.object(c.fn, c.args[i]), u.object(c.fn, c.args[j])
				ok = ok && a != nil && b != nil && a != b
			}
			if ok {
				a, b := v.fn.Params[i], v.fn.Params[j]
				if a.Start > b.Start {
					a, b = b, a
				}
				v.distinct[[2]*syntax.Variable{a, b}] = "all callers pass memory of its own for each"
			}
		}
	}
}

var allocators = set("malloc calloc aligned_alloc memalign valloc _mm_malloc")

// object is the memory that an argument certainly stands for, named by the
// variable that alone leads to it: an array, or a pointer that gets its value from
// an allocation, once, and is never copied or changed.
func (u *unit) object(fn *syntax.Function, arg *syntax.Node) *syntax.Variable {
	arg = arg.Bare()
	if arg == nil || arg.Kind != syntax.Name {
		return nil
	}
	return u.objectOf(fn, arg.Var)
}

// objectOf is x where it stands alone for memory of its own, else nil.
func (u *unit) objectOf(fn *syntax.Function, x *syntax.Variable) *syntax.Variable {
	if x == nil || x.Param || x.Decl == nil || x.Enum {
		return nil
	}
	if len(x.Type.Dims) > 0 && x.Type.Pointers == 0 {
		return x
	}
	if x.Type.Pointers != 1 || len(x.Type.Dims) > 0 {
		return nil
	}
	value := x.Decl.Kid(0)
	writes := 0
	look := func(n *syntax.Node) bool {
		switch n.Kind {
		case syntax.Assign:
			if l := n.Kids[0].Bare(); l.Kind == syntax.Name && l.Var == x {
				writes++
				value = n.Kids[1]
			}
		case syntax.Unary:
			if l := n.Kids[0].Bare(); (n.Op == "&" || n.Op == "++" || n.Op == "--") && l.Kind == syntax.Name && l.Var == x {
				writes += 2
			}
		case syntax.Postfix:
			if l := n.Kids[0].Bare(); l.Kind == syntax.Name && l.Var == x {
				writes += 2
			}
		}
		return true
	}
	if !x.Global {
		syntax.Walk(fn.Body, look)
	} else {
		for _, f := range u.files {
			for _, g := range f.Functions {
				syntax.Walk(g.Body, func(n *syntax.Node) bool {
					if n.Kind == syntax.Bad && strings.Contains(f.Of(n), x.Name) {
						writes += 2
					}
					return look(n)
				})
			}
		}
		// Another file's variable of that name would be another object in the tree.
		for _, other := range u.files {
			if y := other.Globals[x.Name]; y != nil && y != x {
				writes += 2
			}
		}
	}
	if value == nil || x.Decl.Kid(0) != nil && writes > 0 || writes > 1 || !u.fresh(value, 0) {
		return nil
	}
	return x
}

// fresh reports whether an expression is memory that nothing else leads to: what
// an allocator returns, or a function of the sources that returns nothing else.
func (u *unit) fresh(n *syntax.Node, depth int) bool {
	n = n.Bare()
	for n != nil && n.Kind == syntax.Cast {
		n = n.Kids[0].Bare()
	}
	if n == nil || n.Kind != syntax.Call || n.Kids[0].Kind != syntax.Name || depth > 5 {
		return false
	}
	name := n.Kids[0].Op
	var fn *syntax.Function
	for _, f := range u.files {
		for _, g := range f.Functions {
			if g.Name != name {
				continue
			}
			if fn != nil {
				return false
			}
			fn = g
		}
	}
	if fn == nil {
		return allocators[name]
	}
	if len(fn.Problems) > 0 {
		return false
	}
	ok, returns := true, 0
	syntax.Walk(fn.Body, func(k *syntax.Node) bool {
		if k.Kind != syntax.Return {
			return true
		}
		returns++
		r := k.Kids[0].Bare()
		for r != nil && r.Kind == syntax.Cast {
			r = r.Kids[0].Bare()
		}
		if r != nil && r.Kind == syntax.Name && r.Var != nil && !r.Var.Param && !r.Var.Global && r.Var.Decl != nil && !r.Var.Type.Static {
			x := r.Var
			init := x.Decl.Kids[0]
			good := init != nil && u.fresh(init, depth+1)
			// It must lead nowhere else: only indexed, tested and returned.
			syntax.Walk(fn.Body, func(m *syntax.Node) bool {
				if m.Kind == syntax.Assign || m.Kind == syntax.Declared {
					right := m.Kids[len(m.Kids)-1].Bare()
					if right != nil && right.Kind == syntax.Name && right.Var == x {
						good = false
					}
					if l := m.Kids[0].Bare(); m.Kind == syntax.Assign && l.Kind == syntax.Name && l.Var == x {
						good = false
					}
				}
				return true
			})
			ok = ok && good
			return false
		}
		ok = ok && r != nil && u.fresh(r, depth+1)
		return false
	})
	return ok && returns > 0
}
