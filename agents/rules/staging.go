package rules

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// staging reads what work-items of a group share into local memory, once for each
// group: both factors of a product of matrices, or a tile to be turned.
func staging(f *finder) {
	if !f.fn.Kernel || strings.Contains(f.file.Text[f.fn.Start:f.fn.End], "threadIdx") {
		return
	}
	for _, l := range f.loops {
		f.stageProduct(l, false)
		f.stageProduct(l, true)
	}
	for _, n := range f.fn.Body.Kids {
		if n != nil && n.Kind == syntax.Evaluate {
			f.stageTile(n)
		}
	}
}

// stageProduct stages the factors of a product, of which work-items with the same
// second index share a row and those with the same first one a column; turned, the
// other way round, and the dimensions change places as well.
func (f *finder) stageProduct(l *loop, turned bool) {
	if !f.innermost(l) {
		return
	}
	across, down := 0, 1
	if turned {
		across, down = 1, 0
	}
	r := f.region(l.node)
	var row, column *access
	for i, a := range r.e.accesses {
		if len(a.dims) != 1 || a.write || a.via != nil || a.v.Type.Space != "global" || a.dims[0] == nil {
			return
		}
		c, _, ok := a.dims[0].split(l.key)
		one, known := c.value()
		switch {
		case !ok || len(c) == 0:
			return
		case known && one == 1 && f.onlyOf(a.dims[0], down, l.key) && row == nil:
			row = &r.e.accesses[i]
		case f.step(a, across) == 0.125 && f.onlyOf(a.dims[0], across, l.key) && column == nil:
			column = &r.e.accesses[i]
		default:
			return
		}
	}
	if row == nil || column == nil {
		return
	}
	t := f.tile()
	lo, known := l.lo.value()
	switch {
	case t == 0:
		f.refuse(l.node, "work-items of a group share rows of %s and columns of %s, but that groups are square, and how large, is not known", row.v.Name, column.v.Name)
		return
	case f.uniform(l.node) != "":
		f.refuse(l.node, "%s, and a barrier needs all", f.uniform(l.node))
		return
	case r.e.why() != "":
		f.refuse(l.node, "%s", r.e.why())
		return
	case !known || lo != 0 || l.step != 1 || l.inclusive || !l.declared || !f.onlyOf(l.hi, 3, ""):
		f.refuse(l.node, "the loop does not count from 0 to below a parameter")
		return
	case f.macro(row.node) || f.macro(column.node):
		f.refuse(l.node, "an access comes out of a macro")
		return
	}
	in := f.indent(l.node.Start)
	ta, tb := f.fresh(row.v.Name+"_tile"), f.fresh(column.v.Name+"_tile")
	if ta == tb {
		tb += "2"
	}
	x, y, from, k := f.fresh("in_x"), f.fresh("in_y"), f.fresh("from"), l.v.Name
	body := f.replaced(l.body, []change{
		{row.node.Start, row.node.End, fmt.Sprintf("%s[%s][%s]", ta, y, k)},
		{column.node.Start, column.node.End, fmt.Sprintf("%s[%s][%s]", tb, k, x)},
	})
	if uses(l.body, l.v) {
		n := 0
		syntax.Walk(l.body, func(m *syntax.Node) bool {
			if m == row.node || m == column.node {
				return false
			}
			if m.Kind == syntax.Name && m.Var == l.v {
				n++
			}
			return true
		})
		if n > 0 {
			f.refuse(l.node, "%s is used for more than the two arrays", k)
			return
		}
	}
	hi, ty := f.text(l.hiN), l.v.Type.Base
	lines := []string{
		fmt.Sprintf("const int %s = get_local_id(0), %s = get_local_id(1);", x, y),
		fmt.Sprintf("for (%s %s = 0; %s < %s; %s += %d) {", ty, from, from, hi, from, t),
		fmt.Sprintf("    if (%s + %s < %s)", from, x, hi),
		fmt.Sprintf("        %s[%s][%s] = %s;", ta, y, x, f.named(row.node, map[*syntax.Variable]string{l.v: "(" + from + " + " + x + ")"})),
		fmt.Sprintf("    if (%s + %s < %s)", from, y, hi),
		fmt.Sprintf("        %s[%s][%s] = %s;", tb, y, x, f.named(column.node, map[*syntax.Variable]string{l.v: "(" + from + " + " + y + ")"})),
		"    barrier(CLK_LOCAL_MEM_FENCE);",
		fmt.Sprintf("    for (%s %s = 0; %s < %d && %s + %s < %s; %s++)", ty, k, k, t, from, k, hi, k),
		"        " + strings.ReplaceAll(body, "\n", "\n    "),
		"    barrier(CLK_LOCAL_MEM_FENCE);",
		"}",
	}
	open := f.fn.Body.Start + 1
	cs := []change{{open, open, fmt.Sprintf("\n%s__local %s %s[%d][%d];\n%s__local %s %s[%d][%d];", in, row.v.Type.Base, ta, t, t, in, column.v.Type.Base, tb, t, t)},
		{l.node.Start, l.node.End, strings.Join(lines, "\n"+in)}}
	why := fmt.Sprintf("each group reads its rows of %s and columns of %s once into local memory, %d by %d at a time; the sum is added in the same order", row.v.Name, column.v.Name, t, t)
	if turned {
		more, not := f.exchange()
		if not != "" {
			f.refuse(l.node, "%s", not)
			return
		}
		for _, c := range more {
			if c.start >= l.node.Start && c.end <= l.node.End {
				f.refuse(l.node, "the loop asks for the index of the work-item")
				return
			}
		}
		cs, why = append(cs, more...), why+"; the first dimension becomes that along which data lie"
	}
	f.offer(l.node, 1, why, cs...)
}

// stageTile turns a tile in local memory where one side of a copy is walked across.
func (f *finder) stageTile(n *syntax.Node) {
	a := n.Kids[0].Bare()
	if a.Kind != syntax.Assign || a.Op != "=" || a.Kids[0].Bare().Kind != syntax.Index {
		return
	}
	e := f.effects(n)
	var out *access
	loads := 0.0
	for i, x := range e.accesses {
		if x.write {
			out = &e.accesses[i]
		} else {
			loads += f.step(x, 0)
		}
	}
	if out == nil || out.via != nil || len(out.dims) != 1 || f.step(*out, 0) < 1 || f.step(*out, 1) != 0.125 || loads > 0.5 {
		return
	}
	t := f.tile()
	c0, _ := f.along(out.dims[0], 0)
	var xs, ys *syntax.Variable
	bad := ""
	syntax.Walk(out.index[0], func(k *syntax.Node) bool {
		if k.Kind == syntax.Call || k.Kind == syntax.Macro {
			bad = "its index is not made of variables"
		}
		if k.Kind == syntax.Name && k.Var != nil {
			p := f.form(k, n)
			d0, _ := f.along(p, 0)
			d1, _ := f.along(p, 1)
			one := func(q poly) bool { c, ok := q.value(); return ok && c == 1 }
			switch {
			case k.Var.Param && f.written[k.Var] == 0:
			case len(p) == 1 && one(d0):
				xs = k.Var
			case len(p) == 1 && one(d1):
				ys = k.Var
			default:
				bad = k.Op + " in its index is neither a parameter nor the index of a work-item"
			}
		}
		return true
	})
	switch {
	case t == 0:
		f.refuse(n, "%s is written in steps of %s, and a tile in local memory would turn that, but that groups are square, and how large, is not known", out.v.Name, shape(c0))
		return
	case f.uniform(n) != "":
		f.refuse(n, "%s, and a barrier needs all", f.uniform(n))
		return
	case e.why() != "":
		f.refuse(n, "%s", e.why())
		return
	case bad != "" || xs == nil || ys == nil:
		f.refuse(n, "%s", strings.TrimSpace(bad+" "))
		return
	}
	in := f.indent(n.Start)
	tile, x, y := f.fresh(out.v.Name+"_tile"), f.fresh("in_x"), f.fresh("in_y")
	lines := []string{
		fmt.Sprintf("const int %s = get_local_id(0), %s = get_local_id(1);", x, y),
		fmt.Sprintf("%s[%s][%s] = %s;", tile, y, x, f.text(a.Kids[1])),
		"barrier(CLK_LOCAL_MEM_FENCE);",
		fmt.Sprintf("%s = %s[%s][%s];", f.named(a.Kids[0], map[*syntax.Variable]string{
			xs: fmt.Sprintf("(%s - %s + %s)", xs.Name, x, y), ys: fmt.Sprintf("(%s - %s + %s)", ys.Name, y, x)}), tile, x, y),
	}
	open := f.fn.Body.Start + 1
	f.offer(n, 1, fmt.Sprintf("a tile of %d by %d is turned in local memory, so that neighbouring work-items write neighbouring elements of %s", t, t, out.v.Name),
		change{open, open, fmt.Sprintf("\n%s__local %s %s[%d][%d];", in, out.v.Type.Base, tile, t, t+1)},
		change{n.Start, n.End, strings.Join(lines, "\n"+in)})
}

func shape(p poly) string {
	if c, ok := p.value(); ok {
		return strconv.FormatInt(c, 10)
	}
	return "a row"
}
