package callgrind

import (
	"regexp"
	"strconv"

	"github.com/rooflab/rooflab/datasets"
)

// cycle is a set of functions each of which calls, directly or not, all others.
type cycle struct {
	name    string
	members []*function
}

// findCycles finds the strongly connected components of the part's call graph
// that have several functions (Tarjan's algorithm, without recursion: call
// graphs can be deep).
func (p *profile) findCycles() []*cycle {
	type frame struct {
		f    *function
		arcs []*arc
		next int
	}
	index, low, on := map[int64]int{}, map[int64]int{}, map[int64]bool{}
	var stack []*function
	var cycles []*cycle
	enter := func(f *function) *frame {
		index[f.id] = len(index) + 1
		low[f.id] = index[f.id]
		stack, on[f.id] = append(stack, f), true
		return &frame{f: f, arcs: sorted(f.to)}
	}
	for _, root := range p.part.used {
		if index[root.id] > 0 {
			continue
		}
		work := []*frame{enter(root)}
		for len(work) > 0 {
			top := work[len(work)-1]
			id := top.f.id
			if top.next < len(top.arcs) {
				to := top.arcs[top.next].to
				top.next++
				if index[to.id] == 0 {
					work = append(work, enter(to))
				} else if on[to.id] {
					low[id] = min(low[id], index[to.id])
				}
				continue
			}
			work = work[:len(work)-1]
			if len(work) > 0 {
				up := work[len(work)-1].f.id
				low[up] = min(low[up], low[id])
			}
			if low[id] != index[id] {
				continue
			}
			c := &cycle{}
			for {
				f := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				on[f.id] = false
				c.members = append(c.members, f)
				if f == top.f {
					break
				}
			}
			if len(c.members) > 1 {
				p.cycles++
				c.name = "<cycle " + strconv.Itoa(p.cycles) + ">"
				cycles = append(cycles, c)
			}
		}
	}
	return cycles
}

// deeper finds the names of functions below themselves: callgrind writes calls
// of f within f as f'2.
var deeper = regexp.MustCompile(`'[0-9]+('|$)`)

// outermost says that a function's costs are those of its outermost calls
// alone. Then its calls contain no call of itself, and the sum over them is
// exact, though the graph has a cycle: f calls f'2, which is another function.
func (p *profile) outermost(f *function) bool {
	return p.levels && f.to[f.id] == nil && !deeper.MatchString(f.key.name)
}

// inclusive returns a function's inclusive costs, as the package comment says.
func (p *profile) inclusive(f *function, member map[int64]*cycle) ([]int64, error) {
	sum := append([]int64(nil), f.self...)
	c := member[f.id]
	if p.outermost(f) {
		c = nil
	}
	for _, a := range f.to {
		if a.to != f && (c == nil || member[a.to.id] != c) {
			if err := add(sum, a.costs); err != nil {
				return nil, err
			}
		}
	}
	if c == nil && f.own {
		return sum, nil
	}
	in := make([]int64, len(sum))
	for _, a := range f.from {
		if a.from != f && (c == nil || member[a.from.id] != c) {
			if err := add(in, a.costs); err != nil {
				return nil, err
			}
		}
	}
	for i := range sum {
		sum[i] = max(sum[i], in[i])
	}
	return sum, nil
}

// emitCycle emits a cycle as a region with the costs of all its members and of
// what they call outside.
func (p *profile) emitCycle(c *cycle, member map[int64]*cycle) error {
	p.regions++
	id := p.regions
	if err := p.out.Put(&datasets.Region{ID: id, Run: runID, Kind: datasets.KindFunction, Raw: c.name, Short: c.name}); err != nil {
		return err
	}
	launch, err := p.launch(id)
	if err != nil {
		return err
	}
	sum := make([]int64, len(p.events))
	for _, f := range c.members {
		if err := add(sum, f.self); err != nil {
			return err
		}
		for _, a := range f.to {
			if member[a.to.id] != c {
				if err := add(sum, a.costs); err != nil {
					return err
				}
			}
		}
	}
	return p.counters(id, launch, ".inclusive", "", sum)
}
