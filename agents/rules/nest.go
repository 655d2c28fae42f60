package rules

import (
	"fmt"
	"slices"
	"strings"
)

// nest is a loop and those that stand in it and in each other with nothing beside
// them, the outermost first.
func (f *finder) nest(l *loop) []*loop {
	chain := []*loop{l}
	for {
		in := f.loopOf[only(chain[len(chain)-1].body)]
		if in == nil {
			return chain
		}
		chain = append(chain, in)
	}
}

// permute puts the loops of a nest of three and more into the order in which the
// innermost walks memory in the smallest steps and the outermost in the largest.
// Nests of two are interchange's.
func (f *finder) permute(chain []*loop) {
	top, r := chain[0], f.region(chain[0].node)
	order := slices.Clone(chain)
	slices.SortStableFunc(order, func(a, b *loop) int {
		ca, cb := f.cost(r.e.accesses, a), f.cost(r.e.accesses, b)
		switch {
		case ca > cb+0.3:
			return -1
		case cb > ca+0.3:
			return 1
		}
		return f.reach(r.e.accesses, b) - f.reach(r.e.accesses, a)
	})
	last := len(chain) - 1
	now, then := f.cost(r.e.accesses, chain[last]), f.cost(r.e.accesses, order[last])
	if then > now-0.3 {
		f.refuse(top.node, "the inner loop over %s walks memory in steps as small as one over %s would", chain[last].v.Name, order[last].v.Name)
		return
	}
	for i, a := range chain {
		for _, b := range chain[i+1:] {
			if why := f.rectangular(r, a, b); why != "" {
				f.refuse(top.node, "%s", why)
				return
			}
		}
	}
	if why := r.reorder(chain, order); why != "" {
		f.refuse(top.node, "%s", why)
		return
	}
	var cs []change
	var names []string
	for i, l := range order {
		names = append(names, l.v.Name)
		if l != chain[i] {
			cs = append(cs, f.headChange(chain[i], l))
		}
	}
	f.takes(reordered, r.reorders(chain[0]))
	f.offer(top.node, min(1, now-then), fmt.Sprintf("the loops are nested as %s, from the outermost to the innermost, so that neighbouring iterations touch neighbouring elements", strings.Join(names, ", ")), cs...)
}

// reach orders loops by how far apart in memory their iterations are: the number
// of factors of what a counter is multiplied by, over all accesses.
func (f *finder) reach(as []access, l *loop) int {
	sum := 0
	for _, a := range as {
		for i, d := range a.dims {
			c, _, ok := d.split(l.key)
			if !ok || len(c) == 0 {
				continue
			}
			most := 1
			for k := range c {
				if k != "" {
					most = max(most, 2+strings.Count(k, "*"))
				}
			}
			sum += most + 10*(len(a.dims)-1-i)
		}
	}
	return sum
}

// reorder says why the loops of a nest cannot be put into another order; "" where
// they can: all dependences still go forward.
func (r *region) reorder(now, then []*loop) string {
	ps, why := r.pairs()
	if why != "" {
		return why
	}
	for _, p := range ps {
		if !forward(p.d, now, then) {
			return fmt.Sprintf("%s at places that depend on the loops in an order that would change", p)
		}
	}
	return r.scalars(now[0], true)
}

// forward reports whether what comes first by one order of loops comes first by
// the other, too, for two iterations at the distances that are known.
func forward(d distances, now, then []*loop) bool {
	moves := func(l *loop) bool { by, ok := d[l]; return !ok || by != 0 }
	same := func(ls []*loop) []*loop {
		return slices.DeleteFunc(slices.Clone(ls), func(l *loop) bool { return !moves(l) })
	}
	if a, b := same(now), same(then); slices.Equal(a, b) {
		return true
	}
	sign := func(ls []*loop) int {
		for _, l := range ls {
			switch by, ok := d[l]; {
			case !ok:
				return 0
			case by > 0:
				return 1
			case by < 0:
				return -1
			}
		}
		return 0
	}
	a, b := sign(now), sign(then)
	for _, l := range now {
		if _, ok := d[l]; !ok {
			return false
		}
	}
	return a == b
}

// perfect reports whether a loop is the only thing in another one that is
// understood.
func (f *finder) perfect(l *loop) bool {
	return l.outer != nil && f.loopOf[only(l.outer.body)] == l
}
