package stalls

import (
	"container/heap"
	"sort"
)

// stallsLess orders rows by stalled samples, then all samples, then tie.
func stallsLess(a, b *Tally, tie func() bool) bool {
	if x, y := a.Stalled(), b.Stalled(); x != y {
		return x < y
	}
	if a.Samples != b.Samples {
		return a.Samples < b.Samples
	}
	return tie()
}

// best keeps the most stalled items and adds up the rest.
type best[T any] struct {
	most  int
	less  func(a, b *T) bool
	tally func(*T) *Tally
	items []*T // a heap, the least of them first
	rest  Rest // without reasons
}

func (b *best[T]) Len() int           { return len(b.items) }
func (b *best[T]) Less(i, j int) bool { return b.less(b.items[i], b.items[j]) }
func (b *best[T]) Swap(i, j int)      { b.items[i], b.items[j] = b.items[j], b.items[i] }
func (b *best[T]) Push(x any)         { b.items = append(b.items, x.(*T)) }
func (b *best[T]) Pop() any {
	x := b.items[len(b.items)-1]
	b.items = b.items[:len(b.items)-1]
	return x
}

func (b *best[T]) put(x *T) {
	if len(b.items) == b.most {
		if b.less(x, b.items[0]) {
			b.drop(x)
			return
		}
		b.drop(heap.Pop(b).(*T))
	}
	heap.Push(b, x)
}

func (b *best[T]) drop(x *T) {
	b.rest.Count++
	b.rest.plus(*b.tally(x))
}

// take returns the items, the greatest first, and the rest, and begins anew.
func (b *best[T]) take() ([]T, Rest) {
	sort.Slice(b.items, func(i, j int) bool { return b.less(b.items[j], b.items[i]) })
	out := make([]T, len(b.items))
	for i, x := range b.items {
		out[i] = *x
	}
	rest := b.rest
	b.items, b.rest = b.items[:0], Rest{}
	return out, rest
}
