package tokenize

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
)

const (
	defaultVocab = 8192
	maxVocab     = 1 << 20
)

// Texts is a corpus of texts that are in memory.
func Texts(texts ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for _, t := range texts {
			if !yield(t, nil) {
				return
			}
		}
	}
}

// Train learns merges from a corpus: again and again the pair of tokens that
// stands side by side most often, over all pieces of all texts, becomes one
// token (Sennrich et al. 2016, algorithm 1). Of pairs that occur equally often
// the one whose left token has the smaller id comes first, then that whose
// right one has. So the order of the texts does not matter, and there is no
// randomness.
//
// An error of the corpus ends the training, as does ctx.
func Train(ctx context.Context, corpus iter.Seq2[string, error], o Options) (*Tokenizer, error) {
	o.Vocab, o.MinCount, o.Language = cmp.Or(o.Vocab, defaultVocab), cmp.Or(o.MinCount, 2), cmp.Or(o.Language, C)
	if err := o.Language.check(); err != nil {
		return nil, err
	}
	if err := o.check(o.Language); err != nil {
		return nil, err
	}
	t, err := layout(o.Language, o.Normalization, append(Specials(), o.Specials...))
	if err != nil {
		return nil, err
	}
	if o.Vocab < len(t.tokens) || o.Vocab > maxVocab {
		return nil, fmt.Errorf("tokenize: a vocabulary of %d: take %d (bytes, special and number tokens) to %d", o.Vocab, len(t.tokens), maxVocab)
	}
	if o.MinCount < 1 {
		return nil, fmt.Errorf("tokenize: MinCount %d: take 1 or more, or 0 for 2", o.MinCount)
	}
	if err := t.ready(); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	tell := o.Progress
	if tell == nil {
		tell = func(Progress) {}
	}
	counts, err := t.count(ctx, corpus, tell)
	if err != nil {
		return nil, err
	}
	if err := t.learn(ctx, counts, o, tell); err != nil {
		return nil, err
	}
	if err := t.ready(); err != nil {
		return nil, fmt.Errorf("tokenize: %w", err)
	}
	return t, nil
}

// count counts the pieces of a corpus.
func (t *Tokenizer) count(ctx context.Context, corpus iter.Seq2[string, error], tell func(Progress)) (map[string]int64, error) {
	counts := map[string]*int64{}
	texts, size := 0, int64(0)
	var e encoder
	for text, err := range corpus {
		if err != nil {
			return nil, fmt.Errorf("tokenize: reading text %d of the corpus: %w", texts+1, err)
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("tokenize: training stopped after %d texts: %w", texts, err)
		}
		e.pieces(t, text, func(p Piece, piece string) {
			if p.Kind == Number && t.numbers >= 0 {
				n, ok := parse(t.language, piece, t.norm.digits())
				if ok {
					piece = n.suffix
				}
			}
			if len(piece) < 2 {
				return
			}
			if c := counts[piece]; c != nil {
				*c++
			} else {
				one := int64(1)
				counts[strings.Clone(piece)] = &one
			}
		})
		texts++
		size += int64(len(text))
		tell(Progress{Step: "reading", Done: texts, Bytes: size})
	}
	if texts == 0 {
		return nil, fmt.Errorf("tokenize: the corpus has no texts")
	}
	out := make(map[string]int64, len(counts))
	for p, c := range counts {
		out[p] = *c
	}
	return out, nil
}

// candidate is a pair that waits to be merged, with a count that may be out of
// date.
type candidate struct {
	count       int64
	left, right int32
}

type candidates []candidate

func (c candidates) Len() int { return len(c) }
func (c candidates) Less(i, j int) bool {
	a, b := &c[i], &c[j]
	if a.count != b.count {
		return a.count > b.count
	}
	return a.left < b.left || a.left == b.left && a.right < b.right
}
func (c candidates) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *candidates) Push(x any)   { *c = append(*c, x.(candidate)) }
func (c *candidates) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}

// occurrences of a pair.
type occurrences struct {
	count int64
	words []int32 // that have or had it; some twice
}

// learn finds the merges.
func (t *Tokenizer) learn(ctx context.Context, counts map[string]int64, o Options, tell func(Progress)) error {
	sorted := slices.Sorted(maps.Keys(counts))
	words := make([][]int32, len(sorted))
	weight := make([]int64, len(sorted))
	pairs := map[uint64]*occurrences{}
	change := func(a, b int32, by int64, word int) *occurrences {
		p := pairs[pairOf(a, b)]
		if p == nil {
			p = &occurrences{}
			pairs[pairOf(a, b)] = p
		}
		p.count += by
		if by > 0 {
			if n := len(p.words); n == 0 || p.words[n-1] != int32(word) {
				p.words = append(p.words, int32(word))
			}
		}
		return p
	}
	for w, piece := range sorted {
		ids := make([]int32, len(piece))
		for i := range ids {
			ids[i] = t.bytes[piece[i]]
		}
		words[w], weight[w] = ids, counts[piece]
		for i := 1; i < len(ids); i++ {
			change(ids[i-1], ids[i], weight[w], w)
		}
	}
	var queue candidates
	for p, c := range pairs {
		queue = append(queue, candidate{c.count, int32(p >> 32), int32(uint32(p))})
	}
	heap.Init(&queue)

	known := make(map[string]int32, o.Vocab)
	for s, id := range t.vocab {
		known[s] = id
	}
	seen := make([]int, len(words)) // the merge that last looked at a word
	fresh := map[uint64]bool{}
	base := len(t.tokens)
	for len(t.tokens) < o.Vocab && len(queue) > 0 {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("tokenize: training stopped after %d of %d tokens: %w", len(t.tokens)-base, o.Vocab-base, err)
		}
		top := heap.Pop(&queue).(candidate)
		a, b := top.left, top.right
		occ := pairs[pairOf(a, b)]
		if occ == nil || occ.count < o.MinCount {
			continue
		}
		if occ.count != top.count {
			top.count = occ.count
			heap.Push(&queue, top)
			continue
		}
		// The same text may be made of two pairs: it is one token all the same.
		text := t.tokens[a] + t.tokens[b]
		id, ok := known[text]
		if !ok {
			id = int32(len(t.tokens))
			known[text] = id
			t.add(text, textToken)
		}
		t.merges = append(t.merges, merge{a, b, id})
		stamp := len(t.merges)
		clear(fresh)
		for _, w := range occ.words {
			if seen[w] == stamp {
				continue
			}
			seen[w] = stamp
			ids, n := words[w], weight[w]
			out := ids[:0]
			for i := 0; i < len(ids); i++ {
				if ids[i] != a || i+1 >= len(ids) || ids[i+1] != b {
					out = append(out, ids[i])
					continue
				}
				if len(out) > 0 {
					left := out[len(out)-1]
					change(left, a, -n, int(w))
					change(left, id, n, int(w))
					fresh[pairOf(left, id)] = true
				}
				if i+2 < len(ids) {
					change(b, ids[i+2], -n, int(w))
					change(id, ids[i+2], n, int(w))
					fresh[pairOf(id, ids[i+2])] = true
				}
				out = append(out, id)
				i++
			}
			words[w] = out
		}
		delete(pairs, pairOf(a, b))
		for p := range fresh {
			if c := pairs[p]; c != nil && c.count > 0 {
				heap.Push(&queue, candidate{c.count, int32(p >> 32), int32(uint32(p))})
			}
		}
		if made := len(t.tokens) - base; made%64 == 0 || len(t.tokens) == o.Vocab {
			tell(Progress{Step: "merging", Done: made, Total: o.Vocab - base})
		}
	}
	return nil
}
