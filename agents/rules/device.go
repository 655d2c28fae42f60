package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// id is the number of the dimension that an expression is the index of: of a
// work-item in all (get_global_id) or of a thread in its block (threadIdx); -1
// where it is no such thing.
func id(n *syntax.Node) int {
	n = n.Bare()
	switch {
	case n == nil:
	case n.Kind == syntax.Call && n.Kids[0].Kind == syntax.Name && n.Kids[0].Op == "get_global_id" && len(n.Kids) == 2 && n.Kids[1].Kind == syntax.Number:
		if d, err := strconv.Atoi(n.Kids[1].Op); err == nil && d < 3 {
			return d
		}
	case n.Kind == syntax.Member && n.Kids[0].Kind == syntax.Name && n.Kids[0].Op == "threadIdx":
		return strings.Index("xyz", strings.TrimPrefix(n.Op, "."))
	}
	return -1
}

// along is the coefficient of a dimension's index in p, and whether it is known.
func (v *view) along(p poly, dim int) (coefficient poly, ok bool) {
	if p == nil {
		return nil, false
	}
	sum := poly{}
	for key, n := range v.texts {
		if !p.has(key) {
			continue
		}
		if id(n) != dim {
			found := false
			syntax.Walk(n, func(k *syntax.Node) bool {
				found = found || k != n && id(k) == dim
				return !found
			})
			if found {
				return nil, false
			}
			continue
		}
		c, _, linear := p.split(key)
		if !linear {
			return nil, false
		}
		sum = sum.add(c, 1)
	}
	return sum, sum != nil
}

// step is how far neighbours along a dimension are apart in an access: 0, 1, or 8
// and more.
func (f *finder) step(a access, dim int) float64 {
	for i, d := range a.dims {
		c, ok := f.along(d, dim)
		if !ok {
			return 1
		}
		if len(c) == 0 {
			continue
		}
		k, known := c.value()
		if !known || i < len(a.dims)-1 {
			return 1
		}
		return min(1, float64(max(k, -k))/8)
	}
	return 0
}

// memory are the accesses of a kernel to global memory; jumps and barriers in it do
// not matter here.
func (f *finder) memory() []access {
	var out []access
	for _, a := range f.effects(f.fn.Body).accesses {
		if a.v.Type.Space != "local" && (a.v.Param || a.v.Global) {
			out = append(out, a)
		}
	}
	return out
}

// coalescing exchanges the first two dimensions of a kernel, so that neighbouring
// work-items touch neighbouring elements.
func coalescing(f *finder) {
	if !f.fn.Kernel {
		return
	}
	as := f.memory()
	now, then := 0.0, 0.0
	for _, a := range as {
		now += f.step(a, 0)
		then += f.step(a, 1)
	}
	two := false
	syntax.Walk(f.fn.Body, func(n *syntax.Node) bool {
		two = two || id(n) == 1
		return !two
	})
	if !two || then > now-0.3 {
		return
	}
	cs, why := f.exchange()
	if why != "" {
		f.refuse(f.fn.Body, "%s", why)
		return
	}
	f.offer(f.fn.Body, min(1, now-then), "the first dimension, along which neighbouring work-items lie, becomes that along which data lie", cs...)
}

// exchange are the changes that let the first two dimensions of a kernel change
// places, or why they cannot.
func (f *finder) exchange() (cs []change, why string) {
	other := ""
	syntax.Walk(f.fn.Body, func(n *syntax.Node) bool {
		switch {
		case n.Kind == syntax.Call && n.Kids[0].Kind == syntax.Name:
			switch name := n.Kids[0].Op; {
			case id(n) == 0 || id(n) == 1:
				if f.macro(n) {
					other = "a macro"
				}
				cs = append(cs, change{n.Kids[1].Start, n.Kids[1].End, strconv.Itoa(1 - id(n))})
			case !pure[name] && !f.unit.pure(name):
				other = name
			}
		case n.Kind == syntax.Member && n.Kids[0].Kind == syntax.Name && ids[n.Kids[0].Op]:
			if f.macro(n) || n.Op == ".z" {
				other = f.text(n)
			}
			cs = append(cs, change{n.Start, n.End, n.Kids[0].Op + map[string]string{".x": ".y", ".y": ".x"}[n.Op]})
		case n.Kind == syntax.Bad || n.Kind == syntax.Directive:
			other = "what is not understood"
		case n.Kind == syntax.Declared && n.Var.Type.Space == "local":
			other = "local memory"
		}
		return true
	})
	switch {
	case !f.c.Launches[f.fn.Name].Square:
		return nil, "neighbours in dimension 1 are closer together than those in dimension 0, but that launches are square is not known"
	case other != "":
		return nil, other + " tells the dimensions apart"
	}
	return cs, ""
}

// tile is the side of square work-groups of a kernel, 0 where it is not known.
func (f *finder) tile() int64 {
	l := f.c.Launches[f.fn.Name].Local
	if len(l) < 2 || l[0] != l[1] || l[0] < 2 || l[0] > 64 || len(l) > 2 && l[2] != 1 {
		return 0
	}
	return l[0]
}

// uniform says why not all work-items of a group get to a statement; "" where they
// do: it stands in the function's own block and nothing before it returns.
func (f *finder) uniform(n *syntax.Node) string {
	if f.parent[n] != f.fn.Body {
		return "not all work-items of a group get there"
	}
	for _, k := range f.fn.Body.Kids {
		if k == n {
			return ""
		}
		if f.jumps(k) {
			return "some work-items return before"
		}
	}
	return "not all work-items of a group get there"
}

// onlyOf reports whether all atoms of p are parameters and constants, or indices
// of one dimension, or one counter.
func (f *finder) onlyOf(p poly, dim int, counter string) bool {
	for k := range p {
		if k == "" {
			continue
		}
		for _, a := range strings.Split(k, "*") {
			x := f.vars[a]
			switch {
			case a == counter:
			case f.texts[a] != nil && id(f.texts[a]) == dim:
			case f.texts[a] != nil:
				return false
			case x != nil && (!x.Param || f.written[x] > 0):
				return false
			}
		}
	}
	return p != nil
}

// named is an expression's text with others in the place of variables.
func (f *finder) named(n *syntax.Node, with map[*syntax.Variable]string) string {
	var cs []change
	syntax.Walk(n, func(k *syntax.Node) bool {
		if k.Kind == syntax.Macro {
			return false
		}
		if k.Kind == syntax.Name && with[k.Var] != "" {
			cs = append(cs, change{k.Start, k.End, with[k.Var]})
		}
		return true
	})
	return f.replaced(n, cs)
}

// treeReduction adds what a group has in local memory as a tree, by all work-items,
// where one work-item adds it in a loop.
func treeReduction(f *finder) {
	if !f.fn.Kernel || strings.Contains(f.file.Text[f.fn.Start:f.fn.End], "threadIdx") {
		return
	}
	for _, l := range f.loops {
		add := only(l.body)
		guard := f.parent[f.parent[l.node]]
		if add == nil || add.Kind != syntax.Evaluate || guard == nil || guard.Kind != syntax.If || guard.Kids[2] != nil {
			continue
		}
		s := add.Kids[0].Bare()
		if s.Kind != syntax.Assign || s.Op != "+=" || s.Kids[0].Bare().Kind != syntax.Name {
			continue
		}
		x, index := peel(s.Kids[1].Bare())
		if x == nil || x.Type.Space != "local" || len(index) != 1 || index[0] == nil || index[0].Bare().Kind != syntax.Name || index[0].Bare().Var != l.v {
			continue
		}
		sum := s.Kids[0].Bare().Var
		is := func(n *syntax.Node, call string) bool {
			n = n.Bare()
			if n != nil && n.Kind == syntax.Name && n.Var != nil && n.Var.Decl != nil && f.written[n.Var] == 0 && !n.Var.Global {
				n = n.Var.Decl.Kids[0].Bare()
			}
			return n != nil && oneLine(f.text(n)) == call
		}
		c := guard.Kids[0].Bare()
		lo, known := l.lo.value()
		switch {
		case sum == nil || sum.Type.Base != x.Type.Base:
			f.refuse(l.node, "the sum is of another type than what is added")
		case floating(sum.Type.Base) && !f.opt.Reassociate:
			f.refuse(l.node, "%s adds up floating-point numbers, and their order would change the last bits: allow it with a tolerance", sum.Name)
		case !floating(sum.Type.Base) && !integers[sum.Type.Base]:
			f.refuse(l.node, "%s is no number", sum.Name)
		case c.Kind != syntax.Binary || c.Op != "==" || !is(c.Kids[0], "get_local_id(0)") || oneLine(f.text(c.Kids[1])) != "0":
			f.refuse(l.node, "it is not the first work-item that adds")
		case !known || lo != 0 || l.step != 1 || l.inclusive || !is(l.hiN, "get_local_size(0)"):
			f.refuse(l.node, "it does not add one element for each work-item of the group")
		case f.uniform(guard) != "":
			f.refuse(l.node, "%s, and a barrier needs all", f.uniform(guard))
		case f.usedBehind(x, guard) || f.count(guard, x) != 1:
			f.refuse(l.node, "%s is used behind the sum", x.Name)
		case f.macro(l.node) || f.text(s.Kids[1]) == "":
			f.refuse(l.node, "it comes out of a macro")
		default:
			in := f.indent(guard.Start)
			n, h, id := f.fresh("left"), f.fresh("half_left"), f.text(c.Kids[0])
			if c.Kids[0].Bare().Kind != syntax.Name {
				id = "get_local_id(0)"
			}
			tree := []string{
				fmt.Sprintf("for (int %s = get_local_size(0), %s; %s > 1; %s = %s) {", n, h, n, n, h),
				fmt.Sprintf("    %s = (%s + 1) / 2;", h, n),
				fmt.Sprintf("    if (%s < %s - %s)", id, n, h),
				fmt.Sprintf("        %s[%s] += %s[%s + %s];", x.Name, id, x.Name, id, h),
				"    barrier(CLK_LOCAL_MEM_FENCE);",
				"}",
			}
			f.takes(reordered, floating(sum.Type.Base))
			f.offer(guard, 1, fmt.Sprintf("the work-items of a group add %s as a tree, in as many steps as the logarithm of their number", x.Name),
				change{guard.Start, guard.Start, strings.Join(tree, "\n"+in) + "\n" + in}, change{l.node.Start, l.node.End, fmt.Sprintf("%s += %s[0];", sum.Name, x.Name)})
		}
	}
}

func (f *finder) count(n *syntax.Node, x *syntax.Variable) int {
	c := 0
	syntax.Walk(n, func(k *syntax.Node) bool {
		if k.Kind == syntax.Name && k.Var == x {
			c++
		}
		return true
	})
	return c
}

func (f *finder) usedBehind(x *syntax.Variable, n *syntax.Node) bool {
	i := slices.Index(f.fn.Body.Kids, n)
	for _, k := range f.fn.Body.Kids[i+1:] {
		if uses(k, x) {
			return true
		}
	}
	return false
}

// groupShape makes work-groups long in the first dimension, along which devices put
// work-items side by side.
func groupShape(f *finder) {
	syntax.Walk(f.fn.Body, func(n *syntax.Node) bool {
		if n.Kind != syntax.Call || n.Kids[0].Kind != syntax.Name || n.Kids[0].Op != "clEnqueueNDRangeKernel" || len(n.Kids) < 7 {
			return true
		}
		global, _ := f.literal(n.Kids[5])
		local, at := f.literal(n.Kids[6])
		if len(local) < 2 || local[0] >= 32 {
			return true
		}
		if len(global) < 2 {
			f.refuse(n, "the size of the launch is not written as numbers")
			return true
		}
		for i, file := range f.unit.files {
			for _, k := range file.Functions {
				text := file.Text[k.Start:k.End]
				for _, w := range []string{"get_local", "get_group", "get_num_groups", "barrier", "local"} {
					if k.Kernel && strings.Contains(text, w) {
						f.refuse(n, "%s in %s depends on the shape of work-groups (%s)", k.Name, f.unit.paths[i], w)
						return true
					}
				}
			}
		}
		all := local[0] * local[1]
		first := int64(0)
		for _, try := range []int64{64, 32, 16} {
			if try <= all && all%try == 0 && global[0]%try == 0 && global[1]%(all/try) == 0 && try > local[0] {
				first = try
				break
			}
		}
		if first == 0 {
			f.refuse(n, "no other shape divides the launch")
			return true
		}
		f.offer(n, 1, fmt.Sprintf("work-groups of %d by %d in place of %d by %d: neighbours in the first dimension run side by side", first, all/first, local[0], local[1]),
			change{at.Kids[0].Start, at.Kids[0].End, strconv.FormatInt(first, 10)}, change{at.Kids[1].Start, at.Kids[1].End, strconv.FormatInt(all/first, 10)})
		return true
	})
}

// literal is the value of a constant array that a name stands for.
func (f *finder) literal(n *syntax.Node) ([]int64, *syntax.Node) {
	n = n.Bare()
	if n == nil || n.Kind != syntax.Name || n.Var == nil || n.Var.Decl == nil || len(n.Var.Type.Dims) != 1 {
		return nil, nil
	}
	list := n.Var.Decl.Kids[0].Bare()
	if list == nil || list.Kind != syntax.List {
		return nil, nil
	}
	// It must be used only here, and as it is.
	if f.count(f.fn.Body, n.Var) != 1 {
		return nil, nil
	}
	var out []int64
	for _, k := range list.Kids {
		v, ok := f.form(k, nil).value()
		if !ok || v <= 0 || k.Kind != syntax.Number {
			return nil, nil
		}
		out = append(out, v)
	}
	return out, list
}
