package tokenize

import "math"

// table finds the merge of a pair: open addressing, at most half full.
type table struct {
	slots []slot
	shift uint
}

type slot struct {
	pair uint64
	rank int32
	to   int32
}

const (
	noRank  = math.MaxInt32
	noPair  = math.MaxUint64
	shortly = 48 // symbols up to which looking at all pairs is faster than a heap
)

func pairOf(a, b int32) uint64 { return uint64(uint32(a))<<32 | uint64(uint32(b)) }

func newTable(merges []merge) table {
	bits := uint(4)
	for 1<<bits < 2*len(merges) {
		bits++
	}
	t := table{make([]slot, 1<<bits), 64 - bits}
	for i := range t.slots {
		t.slots[i] = slot{noPair, noRank, 0}
	}
	for rank, m := range merges {
		p := pairOf(m.left, m.right)
		s := t.find(p)
		if s.pair == noPair { // of two merges of one pair the first counts
			*s = slot{p, int32(rank), m.to}
		}
	}
	return t
}

// find is the slot of a pair, or the empty one where it would be.
func (t *table) find(p uint64) *slot {
	for i := p * 0x9e3779b97f4a7c15 >> t.shift; ; i++ {
		if s := &t.slots[i&uint64(len(t.slots)-1)]; s.pair == p || s.pair == noPair {
			return s
		}
	}
}

func (t *table) rank(a, b int32) int32 { return t.find(pairOf(a, b)).rank }

// merger merges the symbols of one piece; it keeps its memory.
type merger struct {
	ids, ranks, next, prev []int32
	heap                   []uint64 // rank, position
}

// merge applies all merges to the piece, the earliest learned first and of
// those the leftmost, and returns the ids, which the next call overwrites.
func (m *merger) merge(t *Tokenizer, piece string) []int32 {
	m.ids = m.ids[:0]
	for i := range len(piece) {
		m.ids = append(m.ids, t.bytes[piece[i]])
	}
	if len(m.ids) > shortly {
		return m.long(&t.ranks)
	}
	ids := m.ids
	m.ranks = m.ranks[:0]
	for i := 1; i < len(ids); i++ {
		m.ranks = append(m.ranks, t.ranks.rank(ids[i-1], ids[i]))
	}
	ranks := m.ranks
	for len(ids) > 1 {
		best, at := int32(noRank), -1
		for i, r := range ranks {
			if r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		ids[at] = t.ranks.find(pairOf(ids[at], ids[at+1])).to
		ids = append(ids[:at+1], ids[at+2:]...)
		ranks = append(ranks[:at], ranks[at+1:]...)
		if at > 0 {
			ranks[at-1] = t.ranks.rank(ids[at-1], ids[at])
		}
		if at < len(ranks) {
			ranks[at] = t.ranks.rank(ids[at], ids[at+1])
		}
	}
	return ids
}

// long does the same in n log n.
func (m *merger) long(t *table) []int32 {
	n := int32(len(m.ids))
	m.next, m.prev, m.heap = m.next[:0], m.prev[:0], m.heap[:0]
	for i := range n {
		m.next = append(m.next, i+1)
		m.prev = append(m.prev, i-1)
	}
	push := func(i int32) {
		if i < 0 || m.next[i] >= n {
			return
		}
		if r := t.rank(m.ids[i], m.ids[m.next[i]]); r != noRank {
			m.push(uint64(r)<<32 | uint64(i))
		}
	}
	for i := range n {
		push(i)
	}
	for len(m.heap) > 0 {
		top := m.pop()
		i := int32(uint32(top))
		if m.ids[i] < 0 || m.next[i] >= n {
			continue
		}
		j := m.next[i]
		s := t.find(pairOf(m.ids[i], m.ids[j]))
		if uint64(uint32(s.rank)) != top>>32 {
			continue // one of the two was merged since
		}
		m.ids[i], m.ids[j] = s.to, -1
		m.next[i] = m.next[j]
		if m.next[i] < n {
			m.prev[m.next[i]] = i
		}
		push(i)
		push(m.prev[i])
	}
	out := m.ids[:0]
	for i := int32(0); i < n; i = m.next[i] {
		out = append(out, m.ids[i])
	}
	return out
}

func (m *merger) push(x uint64) {
	m.heap = append(m.heap, x)
	for i := len(m.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if m.heap[up] <= m.heap[i] {
			return
		}
		m.heap[up], m.heap[i] = m.heap[i], m.heap[up]
		i = up
	}
}

func (m *merger) pop() uint64 {
	h := m.heap
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h[c+1] < h[c] {
			c++
		}
		if h[i] <= h[c] {
			break
		}
		h[i], h[c] = h[c], h[i]
		i = c
	}
	m.heap = h
	return top
}
