package rules

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// launches are the shapes of all launches that the sources make by
// clEnqueueNDRangeKernel, by kernel, where they are written so that they hold for
// all inputs:
//
//	cl_kernel k = clCreateKernel(program, "scale", &error);
//	size_t global[] = {n, n}, local[] = {16, 16};
//	clEnqueueNDRangeKernel(queue, k, 2, NULL, global, local, 0, NULL, NULL);
//
// A kernel of which any launch is not understood is not there.
func (u *unit) launches() map[string]Launch {
	out := map[string]Launch{}
	bad := map[string]bool{}
	all := true // launches are of kernels that are known
	for i, file := range u.files {
		for _, fn := range file.Functions {
			if !strings.Contains(file.Text[fn.Start:fn.End], "clEnqueueNDRangeKernel") {
				continue
			}
			v := newView(u, u.paths[i], file, fn, u.opt)
			syntax.Walk(fn.Body, func(n *syntax.Node) bool {
				if n.Kind == syntax.Bad && strings.Contains(file.Of(n), "clEnqueueNDRangeKernel") {
					all = false
				}
				if n.Kind != syntax.Call || n.Kids[0].Kind != syntax.Name || n.Kids[0].Op != "clEnqueueNDRangeKernel" || len(n.Kids) != 10 {
					return true
				}
				name := v.launched(n.Kids[2])
				if name == "" {
					all = false
					return true
				}
				l, ok := v.shape(n.Kids[5], n.Kids[6])
				if was, there := out[name]; there && (!slices.Equal(was.Local, l.Local) || was.Square != l.Square) {
					ok = false
				}
				bad[name] = bad[name] || !ok
				out[name] = l
				return true
			})
		}
	}
	for name := range bad {
		if bad[name] || !all {
			delete(out, name)
		}
	}
	return out
}

// launched is the name of the kernel that a variable is, "" where that is not seen.
func (v *view) launched(n *syntax.Node) string {
	n = n.Bare()
	if n != nil && n.Kind == syntax.Name && n.Var != nil && !n.Var.Param && !n.Var.Global && v.written[n.Var] == 0 && !v.taken[n.Var] && n.Var.Decl != nil {
		n = n.Var.Decl.Kid(0).Bare()
	}
	if n == nil || n.Kind != syntax.Call || n.Kids[0].Kind != syntax.Name || n.Kids[0].Var != nil {
		return ""
	}
	// A function that hands its argument to clCreateKernel does as well.
	at := 1
	if n.Kids[0].Op != "clCreateKernel" {
		at = v.unit.creates(n.Kids[0].Op)
	}
	if at < 0 || at+1 >= len(n.Kids) {
		return ""
	}
	s := n.Kids[at+1].Bare()
	if s.Kind != syntax.Literal {
		return ""
	}
	name, err := strconv.Unquote(strings.TrimSpace(v.text(s)))
	if err != nil {
		return ""
	}
	return name
}

// creates is the place of the parameter that a function of the sources hands to
// clCreateKernel as the name of the kernel that it returns; -1 where it is none.
func (u *unit) creates(name string) int {
	for _, file := range u.files {
		fn := file.Find(name)
		if fn == nil {
			continue
		}
		at, calls := -1, 0
		syntax.Walk(fn.Body, func(n *syntax.Node) bool {
			if n.Kind == syntax.Call && n.Kids[0].Kind == syntax.Name && n.Kids[0].Op == "clCreateKernel" && len(n.Kids) == 4 {
				calls++
				if x := n.Kids[2].Bare(); x.Kind == syntax.Name {
					at = slices.Index(fn.Params, x.Var)
				}
			}
			return true
		})
		if calls == 1 {
			return at
		}
		return -1
	}
	return -1
}

// shape is a launch by its two arrays of sizes.
func (v *view) shape(global, local *syntax.Node) (Launch, bool) {
	list := func(n *syntax.Node) []*syntax.Node {
		n = n.Bare()
		if n == nil || n.Kind != syntax.Name || n.Var == nil || n.Var.Decl == nil || n.Var.Global || n.Var.Param || len(n.Var.Type.Dims) != 1 || n.Var.Type.Pointers > 0 {
			return nil
		}
		l := n.Var.Decl.Kid(0).Bare()
		if l == nil || l.Kind != syntax.List {
			return nil
		}
		// An element that is assigned to later is another size.
		changed := false
		syntax.Walk(v.fn.Body, func(k *syntax.Node) bool {
			if k.Kind == syntax.Assign || k.Kind == syntax.Postfix || k.Kind == syntax.Unary && (k.Op == "++" || k.Op == "--" || k.Op == "&") {
				x, _ := peel(k.Kids[0].Bare())
				changed = changed || x == n.Var
			}
			return true
		})
		if changed {
			return nil
		}
		return l.Kids
	}
	var l Launch
	g, sizes := list(global), list(local)
	if len(g) == 0 || len(sizes) == 0 {
		return l, false
	}
	for _, k := range sizes {
		c, ok := v.form(k, nil).value()
		if !ok || c < 1 {
			return l, false
		}
		l.Local = append(l.Local, c)
	}
	l.Square = len(g) > 1 && len(l.Local) > 1 && l.Local[0] == l.Local[1] && oneLine(v.text(g[0])) == oneLine(v.text(g[1])) && v.simple(g[0])
	return l, true
}
