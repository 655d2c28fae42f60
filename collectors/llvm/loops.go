package llvm

import (
	"slices"
	"sort"
)

// Loop is a natural loop: a header that dominates the blocks from which it is
// reached again.
type Loop struct {
	Header int
	Blocks []int // indices, sorted, inner loops' included
	Parent int   // index among the function's loops, -1 at the top
	Depth  int   // 1 at the top
	Latch  []int // the blocks that lead back
	Line   int   // of the source, 0 where unknown
	File   string
}

// connect finds successors and predecessors, and where the function is.
func (f *Function) connect() {
	f.File, f.Line = f.module.subprogram(f.Line)
	for i, b := range f.Blocks {
		if len(b.Instrs) == 0 {
			continue
		}
		for _, l := range b.Instrs[len(b.Instrs)-1].labels {
			if j, ok := f.blocks[l]; ok && !slices.Contains(b.Succs, j) {
				b.Succs = append(b.Succs, j)
				f.Blocks[j].Preds = append(f.Blocks[j].Preds, i)
			}
		}
	}
}

// order lists the blocks that are reached, each before those that it leads to
// but for loops.
func (f *Function) order() []int {
	seen := make([]bool, len(f.Blocks))
	var post []int
	type frame struct{ block, next int }
	if len(f.Blocks) == 0 {
		return nil
	}
	stack := []frame{{0, 0}}
	seen[0] = true
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next < len(f.Blocks[top.block].Succs) {
			s := f.Blocks[top.block].Succs[top.next]
			top.next++
			if !seen[s] {
				seen[s] = true
				stack = append(stack, frame{s, 0})
			}
			continue
		}
		post = append(post, top.block)
		stack = stack[:len(stack)-1]
	}
	slices.Reverse(post)
	return post
}

// dominators returns each block's immediate dominator, -1 for the entry and
// for what is not reached. It is the algorithm of Cooper, Harvey and Kennedy
// ("A Simple, Fast Dominance Algorithm", 2001).
func (f *Function) dominators() []int {
	order := f.order()
	place := make([]int, len(f.Blocks))
	idom := make([]int, len(f.Blocks))
	for i := range idom {
		idom[i] = -1
	}
	for i, b := range order {
		place[b] = i
	}
	if len(order) == 0 {
		return idom
	}
	idom[0] = 0
	for changed := true; changed; {
		changed = false
		for _, b := range order[1:] {
			dom := -1
			for _, p := range f.Blocks[b].Preds {
				if idom[p] < 0 {
					continue
				}
				if dom < 0 {
					dom = p
					continue
				}
				for q := p; q != dom; {
					for place[q] > place[dom] {
						q = idom[q]
					}
					for place[dom] > place[q] {
						dom = idom[dom]
					}
				}
			}
			if dom != idom[b] {
				idom[b], changed = dom, true
			}
		}
	}
	idom[0] = -1
	return idom
}

// Loops finds the natural loops, outer ones before those within. Loops that
// have a header in common are one.
func (f *Function) Loops() []Loop {
	idom := f.dominators()
	dominates := func(a, b int) bool {
		for n := 0; b >= 0 && n <= len(f.Blocks); n++ {
			if a == b {
				return true
			}
			b = idom[b]
		}
		return false
	}
	var loops []Loop
	for _, h := range f.order() {
		in := map[int]bool{h: true}
		var latch, work []int
		for _, p := range f.Blocks[h].Preds {
			if (p == 0 || idom[p] >= 0) && dominates(h, p) {
				latch = append(latch, p)
				work = append(work, p)
			}
		}
		if len(latch) == 0 {
			continue
		}
		for len(work) > 0 {
			b := work[len(work)-1]
			work = work[:len(work)-1]
			if in[b] {
				continue
			}
			in[b] = true
			for _, p := range f.Blocks[b].Preds {
				if p == 0 || idom[p] >= 0 {
					work = append(work, p)
				}
			}
		}
		l := Loop{Header: h, Parent: -1, Depth: 1, Latch: latch}
		for b := range in {
			l.Blocks = append(l.Blocks, b)
		}
		sort.Ints(l.Blocks)
		l.Line, l.File = f.loopPlace(l)
		// An outer header comes before an inner one, so the last loop that
		// holds this header is the one around it.
		for i := len(loops) - 1; i >= 0; i-- {
			if _, found := slices.BinarySearch(loops[i].Blocks, h); found {
				l.Parent, l.Depth = i, loops[i].Depth+1
				break
			}
		}
		loops = append(loops, l)
	}
	return loops
}

// loopPlace finds the line of a loop: that of the branch back to its header,
// which clang places at the for or while, else the smallest line in it.
func (f *Function) loopPlace(l Loop) (int, string) {
	line, file := 0, ""
	for _, b := range append(slices.Clone(l.Latch), l.Header) {
		is := f.Blocks[b].Instrs
		if len(is) == 0 {
			continue
		}
		p := f.module.where(is[len(is)-1].Debug)
		if p.line > 0 && p.depth == 0 && (line == 0 || p.line < line) {
			line, file = p.line, p.file
		}
	}
	return line, file
}

// inner gives each block the index of its innermost loop, -1 for none.
func inner(blocks int, loops []Loop) []int {
	in := make([]int, blocks)
	for i := range in {
		in[i] = -1
	}
	for i, l := range loops { // inner ones come later
		for _, b := range l.Blocks {
			if in[b] < 0 || loops[in[b]].Depth < l.Depth {
				in[b] = i
			}
		}
	}
	return in
}
