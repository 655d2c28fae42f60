package tokenize

import (
	"fmt"
	"math"
	"strconv"
)

// AppendNumber appends the tokens of a value that does not come from a text:
// an argument, a size. It is rounded to Normalization.Digits significant
// digits. Where t has no tokens of numbers its decimal digits are encoded as
// text.
//
// NaN, infinities and magnitudes outside of 1e-45 to 1e46 are errors.
func (t *Tokenizer) AppendNumber(ids []int32, v float64) ([]int32, error) {
	var n literal
	if !n.setFloat(v, t.norm.digits()) {
		return ids, fmt.Errorf("tokenize: the number %g has no tokens: they reach from 1e-%d to 1e%d", v, maxExponent, maxExponent+1)
	}
	if n.digits == "" {
		n.negative = false
	}
	if t.numbers < 0 {
		return t.AppendIDs(ids, strconv.FormatFloat(n.value(), 'g', -1, 64)), nil
	}
	return t.appendLiteral(ids, n), nil
}

// ReadNumber reads the number that ids begin with, and says how many tokens it
// takes; 0 if they begin with none.
func (t *Tokenizer) ReadNumber(ids []int32) (v float64, tokens int) {
	if t.numbers < 0 || len(ids) == 0 || ids[0] < t.numbers || ids[0] >= t.numbers+numCount {
		return 0, 0
	}
	n, used := t.literal(ids)
	return n.value(), used
}

// Log2 is what Encoding.Log2 holds for a value; NaN for what is no finite
// number.
func Log2(v float64) float32 {
	switch {
	case v == 0:
		return ZeroLog2
	case math.IsInf(v, 0):
		return float32(math.NaN())
	}
	return float32(math.Log2(math.Abs(v)))
}
