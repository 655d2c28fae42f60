package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// region is statements with loops, and what is known of the dependences in them.
type region struct {
	v *view
	e *effects
	// least are lower bounds of atoms wherever the region accesses memory.
	least map[string]int64
	bound []*loop // the loops of the region and those around it
	inner []*loop // those of the region
}

func (v *view) region(n *syntax.Node) *region {
	r := &region{v: v, e: v.effects(n), least: map[string]int64{}}
	for _, l := range v.loops {
		inside := l.node.Start >= n.Start && l.node.End <= n.End
		around := l.node.Start <= n.Start && l.node.End >= n.End
		if inside {
			r.inner = append(r.inner, l)
		}
		if inside || around {
			r.bound = append(r.bound, l)
		}
	}
	for _, a := range r.e.accesses {
		for _, l := range a.loops {
			if v.loopOf[l.node] != l && !slices.Contains(r.inner, l) { // of a condition, see guards
				r.inner, r.bound = append(r.inner, l), append(r.bound, l)
			}
		}
	}
	for _, p := range v.fn.Params {
		if unsigned(p.Type.Base) && !p.Type.Indirect() {
			r.least[v.key(p)] = 0
		}
		if c, ok := v.floor[p]; ok && v.written[p] == 0 && !v.taken[p] && c > r.least[v.key(p)] {
			r.least[v.key(p)] = c
		} else if ok && v.written[p] == 0 && !v.taken[p] && c == 0 {
			r.least[v.key(p)] = 0
		}
	}
	return r
}

// leasts are the lower bounds that hold where an access in some loops is reached:
// each loop has an iteration, so its end is above its begin.
func (r *region) leasts(loops []*loop) map[string]int64 {
	out := map[string]int64{}
	for k, c := range r.least {
		out[k] = c
	}
	around := append([]*loop(nil), loops...)
	for _, l := range r.bound {
		if !slices.Contains(around, l) && len(loops) > 0 && l.node.Start <= loops[0].node.Start && l.node.End >= loops[0].node.End {
			around = append(around, l)
		}
	}
	for range 2 {
		for _, l := range around {
			if lo, ok := l.lo.lowest(out); ok && r.steady(l.lo) {
				if _, there := out[l.key]; !there {
					out[l.key] = lo
				}
			}
			// hi > lo: an atom of hi - lo - 1 >= 0 that stands alone is as large as the
			// rest is below 0.
			over := l.hi.add(l.lo, -1).add(constant(1), -1)
			for _, key := range slices.Sorted(maps.Keys(over)) {
				c := over[key]
				if key == "" || strings.Contains(key, "*") || c != 1 || key == l.key {
					continue
				}
				at, ok := constant(0).add(over.add(atom(key), -1), -1).lowest(out)
				if old, there := out[key]; ok && (!there || at > old) {
					out[key] = at
				}
			}
		}
	}
	return out
}

// steady reports whether nothing in the region writes to a variable of p, other
// than loops that count.
func (r *region) steady(p poly) bool {
	if p == nil {
		return false
	}
	for k := range p {
		if k == "" {
			continue
		}
		for _, a := range strings.Split(k, "*") {
			if !r.steadyAtom(a) {
				return false
			}
		}
	}
	return true
}

func (r *region) steadyAtom(a string) bool {
	v := r.v
	ok := func(x *syntax.Variable) bool {
		if x == nil {
			return true
		}
		if v.taken[x] || x.Type.Volatile {
			return false
		}
		for _, l := range r.bound {
			if l.v == x {
				return true
			}
		}
		if len(r.e.writes[x]) > 0 {
			return false
		}
		if x.Global && !x.Type.Const { // a store through a pointer may change it
			for _, w := range r.e.accesses {
				if w.write && !(v.unit.strict && differ(w.v.Type.Base, x.Type.Base)) && !(len(w.v.Type.Dims) > 0 && !w.v.Param) {
					return false
				}
			}
		}
		return true
	}
	if n := v.texts[a]; n != nil {
		good := true
		syntax.Walk(n, func(k *syntax.Node) bool {
			if k.Kind == syntax.Name {
				good = good && ok(k.Var)
			}
			return true
		})
		// A counter inside: the expression changes with it.
		for _, l := range r.bound {
			good = good && !strings.Contains(a, l.key)
		}
		return good
	}
	return ok(v.vars[a])
}

// span is the least and the greatest value of p over the loops given.
func (r *region) span(p poly, loops []*loop, least map[string]int64) (lo, hi poly, ok bool) {
	lo, hi = p, p
	for i := len(loops) - 1; i >= 0; i-- {
		l := loops[i]
		for _, end := range []*poly{&lo, &hi} {
			c, rest, linear := (*end).split(l.key)
			if !linear {
				return nil, nil, false
			}
			if len(c) == 0 {
				continue
			}
			if !r.steady(l.lo) || !r.steady(l.hi) {
				return nil, nil, false
			}
			up := c.atLeast(0, least)
			down := constant(0).add(c, -1).atLeast(0, least)
			if !up && !down {
				return nil, nil, false
			}
			with := l.lo
			if up == (end == &hi) {
				with = l.hi.add(constant(1), -1)
			}
			*end = rest.add(c.mul(with), 1)
			if *end == nil {
				return nil, nil, false
			}
		}
	}
	return lo, hi, true
}

// distances say by how many values of each loop's counter two accesses to the
// same place are apart: x comes so much later than w. A loop that is not there
// may be apart by any number.
type distances map[*loop]int64

// between compares two accesses of one variable with regard to the loops that
// both are in. none: they never touch the same place.
func (r *region) between(w, x access) (d distances, none bool) {
	d = distances{}
	if len(w.dims) != len(x.dims) {
		return d, false
	}
	var common []*loop
	for i := range min(len(w.loops), len(x.loops)) {
		if w.loops[i] != x.loops[i] {
			break
		}
		common = append(common, w.loops[i])
	}
	for i := range w.dims {
		r.dimension(w, x, i, common, func(l *loop, by int64) {
			if old, ok := d[l]; ok && old != by {
				none = true
			}
			d[l] = by
		}, func() { none = true })
	}
	return d, none
}

func (r *region) dimension(w, x access, i int, common []*loop, apart func(*loop, int64), never func()) {
	f, g := w.dims[i], x.dims[i]
	if !r.steady(f) || !r.steady(g) {
		return
	}
	least := r.leasts(w.loops)
	for k, c := range r.leasts(x.loops) {
		if old, ok := least[k]; !ok || c > old {
			least[k] = c
		}
	}
	// Counters are taken out of least: those of both sides differ.
	for _, l := range r.bound {
		if slices.Contains(common, l) || slices.Contains(w.loops, l) || slices.Contains(x.loops, l) {
			delete(least, l.key)
		}
	}
	type digit struct {
		l    *loop
		c    poly
		span poly // how far its counter goes, nil where that is not known
	}
	var digits []digit
	for _, l := range common {
		cf, rf, ok1 := f.split(l.key)
		cg, rg, ok2 := g.split(l.key)
		if !ok1 || !ok2 || !cf.equal(cg) {
			return
		}
		f, g = rf, rg
		if len(cf) == 0 {
			continue
		}
		for _, other := range r.bound {
			if slices.Contains(w.loops, other) && cf.has(other.key) {
				return
			}
		}
		dg := digit{l: l, c: cf}
		if _, hi, ok := r.span(l.hi, w.loops, least); ok && r.steady(l.hi) && r.steady(l.lo) {
			if lo, _, ok := r.span(l.lo, w.loops, least); ok {
				dg.span = hi.add(constant(1), -1).add(lo, -1)
			}
		}
		digits = append(digits, dg)
	}
	flo, fhi, ok1 := r.span(f, w.loops[len(common):], least)
	glo, ghi, ok2 := r.span(g, x.loops[len(common):], least)
	if !ok1 || !ok2 {
		return
	}
	if len(digits) > 4 {
		return
	}
	// A counter that is left is used outside of its loop.
	left := []poly{flo, fhi, glo, ghi}
	for _, d := range digits {
		left = append(left, d.c, d.span)
	}
	for _, l := range r.inner {
		for _, p := range left {
			if p.has(l.key) {
				return
			}
		}
	}
	// sum c (counter of x - counter of w) is from lo to hi.
	lo, hi := flo.add(ghi, -1), fhi.add(glo, -1)
	// Largest first: it is so when what remains cannot reach its next multiple.
	var solve func(rest []digit, lo, hi poly, found distances) bool
	solve = func(rest []digit, lo, hi poly, found distances) bool {
		if len(rest) == 0 {
			if lo.atLeast(1, least) || constant(0).add(hi, -1).atLeast(1, least) {
				never()
				return true
			}
			for l, by := range found {
				apart(l, by)
			}
			return true
		}
		for k, dg := range rest {
			others := slices.Delete(slices.Clone(rest), k, k+1)
			reach := constant(0)
			known := true
			for _, o := range others {
				c := o.c
				if !c.atLeast(0, least) {
					c = constant(0).add(c, -1)
				}
				if o.span == nil || !c.atLeast(0, least) {
					known = false
					break
				}
				reach = reach.add(c.mul(o.span), 1)
			}
			c, sign := dg.c, int64(1)
			if !c.atLeast(1, least) {
				c, sign = constant(0).add(c, -1), -1
			}
			if !known || reach == nil || !c.atLeast(1, least) {
				continue
			}
			low, high := lo.add(reach, -1), hi.add(reach, 1)
			for _, by := range []int64{0, 1, -1, 2, -2, 3, -3, 4, -4} {
				if low.add(c, -(by-1)).atLeast(1, least) && c.mul(constant(by+1)).add(high, -1).atLeast(1, least) {
					next := distances{dg.l: sign * by}
					for l, b := range found {
						next[l] = b
					}
					if solve(others, lo.add(c, -by), hi.add(c, -by), next) {
						return true
					}
					break
				}
			}
		}
		return false
	}
	solve(digits, lo, hi, distances{})
}

// pair is two accesses of which one writes, that may touch the same place.
type pair struct {
	w, x access
	d    distances
}

func (p pair) String() string {
	if p.w.node == p.x.node {
		return fmt.Sprintf("%s is written", p.w.v.Name)
	}
	return fmt.Sprintf("%s is written and used", p.w.v.Name)
}

// pairs are all dependences through memory; why is a reason for which they are not
// known.
func (r *region) pairs() (out []pair, why string) {
	if why := r.e.why(); why != "" {
		return nil, why
	}
	as := r.e.accesses
	for i, w := range as {
		if !w.write {
			continue
		}
		for j, x := range as {
			if x.write && j < i {
				continue // seen from its side
			}
			if w.v != x.v {
				if r.v.apart(w.v, x.v) == "" {
					return nil, fmt.Sprintf("%s and %s may overlap: neither is restrict, and callers that are seen do not say otherwise", w.v.Name, x.v.Name)
				}
				continue
			}
			if d, none := r.between(w, x); !none {
				out = append(out, pair{w, x, d})
			}
		}
		// A store may change a variable whose address others have.
		for x := range r.e.reads {
			if x.Global && !x.Type.Const && !(r.v.unit.strict && differ(w.v.Type.Base, x.Type.Base)) && !(len(w.v.Type.Dims) > 0 && !w.v.Param) {
				return nil, fmt.Sprintf("a store to %s may change %s, which is global", w.v.Name, x.Name)
			}
		}
	}
	return out, ""
}

// swap says why two loops, one directly in the other, cannot change places; ""
// where they can.
func (r *region) swap(outer, inner *loop, ints bool) string {
	ps, why := r.pairs()
	if why != "" {
		return why
	}
	for _, p := range ps {
		a, okA := p.d[outer]
		b, okB := p.d[inner]
		switch {
		case okA && a == 0 || okB && b == 0:
		case okA && okB && (a > 0) == (b > 0):
		default:
			return fmt.Sprintf("%s at places that depend on both %s and %s in an order that would change", p, outer.v.Name, inner.v.Name)
		}
	}
	return r.scalars(outer, ints)
}

// independent says why the iterations of a loop cannot be done in any order, at
// the same time; "" where they can. reductions are the integers that they add up.
func (r *region) independent(l *loop) (why string, reductions []string, private []*syntax.Variable) {
	ps, why := r.pairs()
	if why != "" {
		return why, nil, nil
	}
	for _, p := range ps {
		if r.e.declared[p.w.v] && len(p.w.v.Type.Dims) > 0 {
			continue // each iteration has one of its own
		}
		if by, ok := p.d[l]; !ok || by != 0 {
			return fmt.Sprintf("%s in different iterations of %s, as far as its index says", p, l.v.Name), nil, nil
		}
	}
	if why := r.scalars(l, true); why != "" {
		return why, nil, nil
	}
	if !l.declared && (r.v.labels || l.v.Global || !r.v.renewedBut(l.v, r.v.fn.Body, l.node)) {
		return l.v.Name + " is used behind the loop", nil, nil
	}
	for _, x := range sortedVars(r.e.writes) {
		if x == l.v || r.e.declared[x] {
			continue
		}
		if r.v.private(x, l) {
			private = append(private, x)
		} else if op := r.reduction(x, l.body); op != "" {
			reductions = append(reductions, op+":"+x.Name)
		}
	}
	return "", reductions, private
}
