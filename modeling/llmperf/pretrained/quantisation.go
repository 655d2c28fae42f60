package pretrained

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
)

// quantisation is how ggml stores the values of a tensor (enum ggml_type).
type quantisation uint32

const (
	typeF32  quantisation = 0
	typeF16  quantisation = 1
	typeQ4_0 quantisation = 2
	typeQ4_1 quantisation = 3
	typeQ5_0 quantisation = 6
	typeQ5_1 quantisation = 7
	typeQ8_0 quantisation = 8
	typeQ2K  quantisation = 10
	typeQ3K  quantisation = 11
	typeQ4K  quantisation = 12
	typeQ5K  quantisation = 13
	typeQ6K  quantisation = 14
	typeBF16 quantisation = 30
)

var quantisationNames = map[quantisation]string{typeF32: "F32", typeF16: "F16", typeQ4_0: "Q4_0", typeQ4_1: "Q4_1", typeQ5_0: "Q5_0", typeQ5_1: "Q5_1",
	typeQ8_0: "Q8_0", typeQ2K: "Q2_K", typeQ3K: "Q3_K", typeQ4K: "Q4_K", typeQ5K: "Q5_K", typeQ6K: "Q6_K", typeBF16: "BF16"}

func (q quantisation) String() string {
	if s, ok := quantisationNames[q]; ok {
		return s
	}
	return fmt.Sprintf("ggml's type %d", uint32(q))
}

// block is the unit that values are stored in.
type block struct {
	values, bytes int
	decode        func(from []byte, to []float32)
}

// blocks are those that can be read. Their layouts are ggml's (ggml-common.h).
var blocks = map[quantisation]block{
	typeF32:  {1, 4, func(b []byte, x []float32) { x[0] = math.Float32frombits(binary.LittleEndian.Uint32(b)) }},
	typeF16:  {1, 2, func(b []byte, x []float32) { x[0] = half(b) }},
	typeBF16: {1, 2, func(b []byte, x []float32) { x[0] = brain(b) }},
	typeQ8_0: {32, 34, q8_0},
	typeQ4_0: {32, 18, func(b []byte, x []float32) { legacy(x, b[2:], 0, half(b), -8*half(b)) }},
	typeQ4_1: {32, 20, func(b []byte, x []float32) { legacy(x, b[4:], 0, half(b), half(b[2:])) }},
	typeQ5_0: {32, 22, func(b []byte, x []float32) {
		legacy(x, b[6:], binary.LittleEndian.Uint32(b[2:]), half(b), -16*half(b))
	}},
	typeQ5_1: {32, 24, func(b []byte, x []float32) {
		legacy(x, b[8:], binary.LittleEndian.Uint32(b[4:]), half(b), half(b[2:]))
	}},
	typeQ4K: {256, 144, func(b []byte, x []float32) { super(x, b, nil, b[16:]) }},
	typeQ5K: {256, 176, func(b []byte, x []float32) { super(x, b, b[16:48], b[48:]) }},
	typeQ6K: {256, 210, q6k},
}

// known lists the names of blocks.
func known() string {
	var out []string
	for q := range blocks {
		out = append(out, q.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// half reads an IEEE 754 binary16.
func half(b []byte) float32 {
	h := uint32(binary.LittleEndian.Uint16(b))
	sign, exponent, fraction := h>>15<<31, h>>10&31, h&0x3ff
	switch exponent {
	case 0: // zero and subnormal: fraction * 2^-24
		v := float32(fraction) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 31:
		return math.Float32frombits(sign | 0xff<<23 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// brain reads a bfloat16, the upper half of a float32.
func brain(b []byte) float32 {
	return math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16)
}

// q8_0: scale, 32 signed bytes.
func q8_0(b []byte, x []float32) {
	scale := half(b)
	for i := range x {
		x[i] = scale * float32(int8(b[2+i]))
	}
}

// legacy are 32 values of four bits, the first 16 in the lower halves of the
// bytes, and of a fifth bit each in high: scale * q + least.
func legacy(x []float32, low []byte, high uint32, scale, least float32) {
	for i := range 16 {
		x[i] = scale*float32(uint32(low[i]&15)|high>>i&1<<4) + least
		x[i+16] = scale*float32(uint32(low[i]>>4)|high>>(i+16)&1<<4) + least
	}
}

// super is a block of eight times 32 values: scale and least of all, six bits of
// scale and least for each 32 packed in twelve bytes, of Q5_K 32 bytes of fifth
// bits, and 128 bytes of which each holds a value of one 32 and one of the next.
func super(x []float32, b, high, low []byte) {
	d, dmin, packed := half(b), half(b[2:]), b[4:16]
	for j := range 8 {
		var scale, least byte
		if j < 4 {
			scale, least = packed[j]&63, packed[j+4]&63
		} else {
			scale, least = packed[j+4]&15|packed[j-4]>>6<<4, packed[j+4]>>4|packed[j]>>6<<4
		}
		for i := range 32 {
			q := low[j/2*32+i] >> (j % 2 * 4) & 15
			if high != nil {
				q |= high[i] >> j & 1 << 4
			}
			x[j*32+i] = d*float32(scale)*float32(q) - dmin*float32(least)
		}
	}
}

// q6k: 128 bytes of lower four bits, 64 of upper two, 16 signed scales of 16
// values each, and the scale of all.
func q6k(b []byte, x []float32) {
	low, high, scales, d := b[:128], b[128:192], b[192:208], half(b[208:])
	for part := range 2 { // 128 values each
		for i := range 128 {
			quarter, at := i/32, i%32
			q := low[part*64+quarter%2*32+at] >> (quarter / 2 * 4) & 15
			q |= high[part*32+at] >> (2 * quarter) & 3 << 4
			x[part*128+i] = d * float32(int8(scales[part*8+i/16])) * float32(int(q)-32)
		}
	}
}

// littleEndian are the bytes of float32 values.
func littleEndian(x []float32) []byte {
	out := make([]byte, 0, 4*len(x))
	for _, v := range x {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
	}
	return out
}
