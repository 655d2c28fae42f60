package llmperf

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rooflab/rooflab/modeling/tokenize"
	"github.com/rooflab/rooflab/modeling/train"
)

// encoded are launches as a network sees them; a train.Examples.
type encoded struct {
	tokenizer *tokenize.Tokenizer
	base      string // that the network begins with
	rows      []tokenize.Encoding
	side      [][]float32
	width     int         // of side
	counts    [][]float32 // per row and token, nil where the network takes none
	y, weight []float32   // nil where nothing was measured
}

// Len implements train.Examples.
func (d *encoded) Len() int { return len(d.rows) }

// Length implements train.Examples.
func (d *encoded) Length(i int) int { return d.rows[i].Len() }

// Batch implements train.Examples.
func (d *encoded) Batch(ids []int, length int) (train.Batch, error) {
	var rows []tokenize.Encoding
	for _, id := range ids {
		rows = append(rows, d.rows[id])
	}
	p, err := d.tokenizer.Pad(rows, length, 1)
	if err != nil {
		return train.Batch{}, err
	}
	n := len(ids)
	tokens := []int{n, p.Length}
	kinds := make([]int32, len(p.IDs))
	log2 := make([]float32, len(p.IDs))
	for i, has := range p.HasNumber {
		switch {
		case !has:
		case p.Log2[i] <= tokenize.ZeroLog2:
			kinds[i] = 2
		default:
			kinds[i], log2[i] = 1, p.Log2[i]
		}
	}
	b := train.Batch{IDs: ids, Inputs: []train.Array{{Dims: tokens, Int32: p.IDs}, {Dims: tokens, Float32: log2}, {Dims: tokens, Int32: kinds}, {Dims: []int{n}, Int32: p.Lengths}}}
	if d.width > 0 {
		side := train.Array{Dims: []int{n, d.width}}
		for _, id := range ids {
			side.Float32 = append(side.Float32, d.side[id]...)
		}
		b.Inputs = append(b.Inputs, side)
	}
	if d.counts != nil {
		counts := train.Array{Dims: tokens, Float32: make([]float32, len(p.IDs))}
		for i, id := range ids {
			copy(counts.Float32[i*p.Length:], d.counts[id])
		}
		b.Inputs = append(b.Inputs, counts)
	}
	y, weight := train.Array{Dims: []int{n}, Float32: make([]float32, n)}, train.Array{Dims: []int{n}, Float32: make([]float32, n)}
	for i, id := range ids {
		if d.y != nil {
			y.Float32[i], weight.Float32[i] = d.y[id], d.weight[id]
		}
	}
	b.Labels = []train.Array{y, weight}
	return b, nil
}

// Hash implements train.Examples.
func (d *encoded) Hash() string {
	h := sha256.New()
	put := func(v any) { _ = binary.Write(h, binary.LittleEndian, v) }
	_, _ = io.WriteString(h, d.tokenizer.Hash()+d.base)
	for i, r := range d.rows {
		put(int64(r.Len()))
		put(r.IDs)
		for _, x := range r.Log2 { // every NaN is the same
			put(math.IsNaN(float64(x)))
			if !math.IsNaN(float64(x)) {
				put(x)
			}
		}
		if d.width > 0 {
			put(d.side[i])
		}
		if d.counts != nil {
			put(d.counts[i])
		}
		if d.y != nil {
			put(d.y[i])
			put(d.weight[i])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// buckets are lengths that sequences are padded to, each a third or half more
// than the one before: 64, 96, 128, 192, 256, 384, ... up to limit.
func buckets(limit int) []int {
	var out []int
	for b := 64; b < limit; b *= 2 {
		out = append(out, b)
		if b+b/2 < limit {
			out = append(out, b+b/2)
		}
	}
	return append(out, limit)
}

// bucket is the shortest length of those that holds n tokens.
func bucket(lengths []int, n int) (int, error) {
	sorted := slices.Sorted(slices.Values(lengths))
	i, _ := slices.BinarySearch(sorted, n)
	if i == len(sorted) {
		return 0, fmt.Errorf("a sequence of %d tokens, the model takes %d", n, sorted[len(sorted)-1])
	}
	return sorted[i], nil
}
