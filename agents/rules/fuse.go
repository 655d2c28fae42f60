package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// fusion makes one loop of two that follow each other and use the same data.
func fusion(f *finder) {
	for _, a := range f.loops {
		p := f.parent[a.node]
		if p == nil || p.Kind != syntax.Block {
			continue
		}
		i := slices.Index(p.Kids, a.node)
		if i+1 >= len(p.Kids) {
			continue
		}
		b := f.loopOf[p.Kids[i+1]]
		if b == nil || f.macro(a.node) || f.macro(b.node) {
			continue
		}
		if a.step != b.step || a.inclusive != b.inclusive || oneLine(f.text(a.loN)) != oneLine(f.text(b.loN)) || oneLine(f.text(a.hiN)) != oneLine(f.text(b.hiN)) {
			f.refuse(a.node, "the loop behind it has other bounds")
			continue
		}
		if a.v.Name != b.v.Name || a.declared != b.declared || a.v.Type.Base != b.v.Type.Base {
			f.refuse(a.node, "the loop behind it counts another variable")
			continue
		}
		if why := f.fusible(a, b); why != "" {
			f.refuse(a.node, "%s", why)
			continue
		}
		in := f.indent(a.node.Start)
		step := "    "
		if strings.HasPrefix(in, "\t") {
			step = "\t"
		}
		piece := func(n *syntax.Node) string {
			if n.Kind == syntax.Block {
				return f.text(n)
			}
			return "{ " + f.text(n) + " }"
		}
		if f.device() || strings.Contains(f.text(a.body)+f.text(b.body), "//") {
			f.refuse(a.node, "comments stand in it, which cannot be moved")
			continue
		}
		s, e := f.head(a.node)
		text := f.file.Text[s:e] + " {\n" + in + step + strings.ReplaceAll(piece(a.body), "\n", "\n"+step) + "\n" + in + step + strings.ReplaceAll(piece(b.body), "\n", "\n"+step) + "\n" + in + "}"
		f.offer(a.node, 1, "one pass over what both loops use", change{a.node.Start, b.node.End, text})
	}
}

// fusible says why two loops with the same bounds cannot be one; "" if they can:
// each iteration of the second must not need, nor spoil, what later iterations of
// the first do.
func (f *finder) fusible(a, b *loop) string {
	ra, rb := f.region(a.node), f.region(b.node)
	for _, r := range []*region{ra, rb} {
		if why := r.e.why(); why != "" {
			return why
		}
	}
	shared := false
	r := &region{v: f.view, e: &effects{writes: map[*syntax.Variable][]*syntax.Node{}, reads: ra.e.reads, accesses: slices.Concat(ra.e.accesses, rb.e.accesses)}, least: ra.least,
		bound: slices.Concat(ra.bound, rb.inner), inner: slices.Concat(ra.inner, rb.inner)}
	for _, e := range []*effects{ra.e, rb.e} {
		for x, w := range e.writes {
			r.e.writes[x] = append(r.e.writes[x], w...)
		}
	}
	for _, pair := range [][2]*effects{{ra.e, rb.e}, {rb.e, ra.e}} {
		for _, x := range sortedVars(pair[0].writes) {
			if x != a.v && x != b.v && (len(pair[1].reads[x]) > 0 || len(pair[1].writes[x]) > 0) && !pair[0].declared[x] {
				if f.private(x, a) && f.private(x, b) {
					continue
				}
				return x.Name + " is used by both loops"
			}
		}
	}
	for _, p := range ra.e.accesses {
		for _, q := range rb.e.accesses {
			if p.v != q.v {
				if (p.write || q.write) && f.apart(p.v, q.v) == "" {
					return fmt.Sprintf("%s and %s may overlap: neither is restrict, and callers that are seen do not say otherwise", p.v.Name, q.v.Name)
				}
				continue
			}
			shared = true
			if !p.write && !q.write {
				continue
			}
			moved := q
			if len(q.loops) == 0 || len(p.loops) == 0 {
				return p.v.Name + " decides how often a loop runs"
			}
			moved.loops = append([]*loop{a}, q.loops[1:]...)
			moved.dims = nil
			for _, d := range q.dims {
				moved.dims = append(moved.dims, d.substitute(b.key, atom(a.key)))
			}
			d, none := r.between(p, moved)
			if by, ok := d[a]; !none && (!ok || by < 0) {
				return fmt.Sprintf("%s of a later iteration would be touched too early", p.v.Name)
			}
		}
	}
	if !shared {
		return "the loops share no data"
	}
	return ""
}
