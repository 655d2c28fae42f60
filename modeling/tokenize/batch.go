package tokenize

import (
	"fmt"
	"math"
)

// Batch is several encodings of one length, as plain slices, row after row.
type Batch struct {
	Rows, Length int
	IDs          []int32   // [Rows*Length], Pad behind each row's end
	Mask         []bool    // [Rows*Length], whether there is a token; the attention's mask
	Log2         []float32 // [Rows*Length], 0 where HasNumber is false
	HasNumber    []bool    // [Rows*Length], whether Log2 holds a number
	Lengths      []int32   // [Rows]; a row's last token is at Lengths-1
}

// Pad makes a batch. A length of 0 is that of the longest encoding, rounded up
// to a multiple of multiple (0 and 1 leave it); an encoding that is longer than
// length is an error, since Sequence.Fit cuts with more sense.
func (t *Tokenizer) Pad(rows []Encoding, length, multiple int) (Batch, error) {
	pad, ok := t.Special(Pad)
	if !ok {
		return Batch{}, fmt.Errorf("tokenize: the tokenizer has no token %s to fill a batch with: pad it yourself with an id of your choice", Pad)
	}
	if length < 0 || multiple < 0 {
		return Batch{}, fmt.Errorf("tokenize: a batch of length %d, a multiple of %d: both must be 0 or more", length, multiple)
	}
	longest := 0
	for _, e := range rows {
		longest = max(longest, e.Len())
	}
	if length == 0 {
		length = longest
		if multiple > 1 {
			length = (length + multiple - 1) / multiple * multiple
		}
	}
	b := Batch{Rows: len(rows), Length: length}
	n := len(rows) * length
	b.IDs, b.Mask, b.Log2, b.HasNumber = make([]int32, n), make([]bool, n), make([]float32, n), make([]bool, n)
	for i := range b.IDs {
		b.IDs[i] = pad
	}
	for r, e := range rows {
		if e.Len() > length {
			return Batch{}, fmt.Errorf("tokenize: row %d has %d tokens, the batch has room for %d: cut it with Sequence.Fit", r, e.Len(), length)
		}
		at := r * length
		copy(b.IDs[at:], e.IDs)
		for i, v := range e.Log2 {
			b.Mask[at+i] = true
			if !math.IsNaN(float64(v)) {
				b.Log2[at+i], b.HasNumber[at+i] = v, true
			}
		}
		b.Lengths = append(b.Lengths, int32(e.Len()))
	}
	return b, nil
}
