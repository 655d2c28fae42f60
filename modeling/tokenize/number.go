package tokenize

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Numbers says how literal numbers are encoded.
type Numbers string

// The encodings of numbers.
const (
	// AsText encodes a number as any other text.
	AsText Numbers = ""
	// Scientific encodes a number as one token of its decimal exponent and one
	// for each significant digit, trailing zeros left out: 1048576 is <e6> 1 0 4
	// 8 5 7 6, and 0.5f is <e-1> 5 <.> f. The base of an integer (hexadecimal,
	// octal, binary) or of a bit pattern (PTX's 0f and 0d, LLVM's 0x) is a token
	// before, that a literal is floating one after, a suffix follows as text.
	// The idea, of exponents as tokens, is that of Charton, "Linear algebra with
	// transformers" (TMLR 2022), section 2.
	//
	// Ids of positive numbers, compared one by one with a missing digit below
	// any, are ordered as the numbers are, and two numbers have the same ids only
	// if they agree to Options.Digits significant digits. Values that Options
	// cannot tell apart become one (half away from zero), and so do spellings: 1.50F is 1.5F, 0XfF
	// is 0xff, 1'000 is 1000. Literals beyond 1e±45, and what is no number
	// (1.2.3), stay text.
	Scientific Numbers = "scientific"
)

// DefaultDigits are enough for every 32-bit integer and every float32.
const DefaultDigits = 10

const (
	maxExponent = 45 // decimal; the smallest float32 is 1.4e-45
	maxDigits   = 20 // of the largest 64-bit integer
)

// ZeroLog2 stands for log2 of zero in Encoding.Log2: it is below log2 of any
// number that has tokens (1e-45).
const ZeroLog2 = -150

// base is the notation of a literal number.
type base uint8

const (
	decimal     base = iota
	hexadecimal      // 0x1f
	octal            // 017
	binary           // 0b11
	bits32           // PTX 0f3F800000: the bits of a float32
	bits64           // PTX 0d3FF0000000000000: the bits of a float64
	llvm64           // LLVM 0x3FF0000000000000: the same
)

// literal is a number as its tokens hold it: digits d1 d2 ... are the value
// d1.d2... * 10^exponent; there are none for zero.
type literal struct {
	base     base
	floating bool // spelled with a point or an exponent
	negative bool // only a bit pattern's
	digits   string
	exponent int
	suffix   string
}

// value is the number as a float64.
func (n literal) value() float64 {
	v, _ := strconv.ParseFloat("0"+n.digits+"e"+strconv.Itoa(n.exponent-len(n.digits)+1), 64)
	if n.negative {
		return math.Copysign(v, -1)
	}
	return v
}

func (n literal) log2() float32 {
	if n.digits == "" {
		return ZeroLog2
	}
	return float32(math.Log2(math.Abs(n.value())))
}

// set takes value as significant digits and an exponent (of the first digit),
// rounded to limit digits.
func (n *literal) set(digits string, exponent, limit int) bool {
	t := strings.TrimLeft(digits, "0")
	exponent -= len(digits) - len(t)
	if len(t) > limit {
		up := t[limit] >= '5'
		d := []byte(t[:limit])
		for i := limit - 1; up && i >= 0; i-- {
			if d[i]++; d[i] <= '9' {
				up = false
			} else {
				d[i] = '0'
			}
		}
		t = string(d)
		if up {
			t = "1" + t
			exponent++
		}
	}
	t = strings.TrimRight(t, "0")
	if t == "" {
		exponent = 0
	}
	n.digits, n.exponent = t, exponent
	return exponent >= -maxExponent && exponent <= maxExponent
}

func (n *literal) setUint(v uint64, limit int) bool {
	s := strconv.FormatUint(v, 10)
	return n.set(s, len(s)-1, limit)
}

func (n *literal) setFloat(v float64, limit int) bool {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	n.negative = math.Signbit(v)
	m, e, _ := strings.Cut(strconv.FormatFloat(math.Abs(v), 'e', limit-1, 64), "e")
	x, _ := strconv.Atoi(e)
	return n.set(strings.Replace(m, ".", "", 1), x, limit)
}

// parse reads a literal number as the language spells it; false if it is none
// that has tokens.
func parse(l Language, text string, limit int) (literal, bool) {
	var n literal
	text = strings.ReplaceAll(text, "'", "")
	if len(text) > 1 && text[0] == '0' {
		rest := text[2:]
		switch c := text[1] | 0x20; {
		case l == PTX && (c == 'f' || c == 'd') && hexRun(rest) == len(rest):
			width := 8
			n.base = bits32
			if c == 'd' {
				width, n.base = 16, bits64
			}
			return n, len(rest) == width && n.setBits(rest, limit)
		case c == 'x' && l == LLVM:
			n.base = llvm64
			return n, len(rest) == 16 && text[1] == 'x' && hexRun(rest) == 16 && n.setBits(rest, limit)
		case c == 'x' && strings.ContainsAny(rest, ".pP"):
			return n, n.hexFloat(text, limit)
		case c == 'x':
			n.base = hexadecimal
			return n, n.integer(rest, hexRun(rest), 16, limit)
		case c == 'b' && (l == C || l == PTX):
			n.base = binary
			return n, n.integer(rest, span(rest, "01"), 2, limit)
		}
	}
	return n, n.decimal(l, text, limit)
}

func hexRun(s string) int { return span(s, "0123456789abcdefABCDEF") }

// span is the length of the prefix of s that consists of chars.
func span(s, chars string) int {
	return len(s) - len(strings.TrimLeft(s, chars))
}

func (n *literal) setBits(digits string, limit int) bool {
	v, err := strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return false
	}
	if n.base == bits32 {
		return n.setFloat(float64(math.Float32frombits(uint32(v))), limit)
	}
	return n.setFloat(math.Float64frombits(v), limit)
}

// ending takes what follows the digits: letters, digits and _, but nothing that
// another spelling of the digits could take for more of them.
func (n *literal) ending(s string) bool {
	for i := range len(s) {
		if classes[s[i]]&(isLetter|isDigit) == 0 && s[i] != '_' {
			return false
		}
	}
	n.suffix = s
	return s == "" || classes[s[0]]&isDigit == 0 && s[0]|0x20 != 'e'
}

func (n *literal) integer(digits string, end, radix, limit int) bool {
	v, err := strconv.ParseUint(digits[:end], radix, 64)
	if err != nil || !n.setUint(v, limit) || !n.ending(digits[end:]) {
		return false
	}
	_, fits := n.uint() // rounding may go beyond 64 bits
	return fits
}

func (n *literal) hexFloat(text string, limit int) bool {
	p := strings.IndexAny(text, "pP")
	if p < 0 {
		return false
	}
	end := p + 1
	if end < len(text) && (text[end] == '+' || text[end] == '-') {
		end++
	}
	end += span(text[end:], "0123456789")
	v, err := strconv.ParseFloat(text[:end], 64)
	n.floating = true
	return err == nil && n.setFloat(v, limit) && n.ending(text[end:])
}

func (n *literal) decimal(l Language, text string, limit int) bool {
	const digits = "0123456789"
	whole := text[:span(text, digits)]
	rest := text[len(whole):]
	fraction := ""
	if rest != "" && rest[0] == '.' {
		n.floating = true
		fraction = rest[1 : 1+span(rest[1:], digits)]
		rest = rest[1+len(fraction):]
	}
	if whole == "" && fraction == "" {
		return false
	}
	exponent := len(whole) - 1
	if rest != "" && rest[0]|0x20 == 'e' {
		end := 1
		if end < len(rest) && (rest[end] == '+' || rest[end] == '-') {
			end++
		}
		if d := span(rest[end:], digits); d > 0 {
			if d > 5 {
				return false
			}
			e, _ := strconv.Atoi(rest[1 : end+d])
			exponent += e
			n.floating = true
			rest = rest[end+d:]
		}
	}
	if !n.floating && len(whole) > 1 && whole[0] == '0' && (l == C || l == PTX) {
		n.base = octal
		if span(whole, "01234567") != len(whole) {
			return false
		}
		return n.integer(text, len(whole), 8, limit)
	}
	if !n.floating && rest != "" && len(whole) > 1 && whole[0] == '0' {
		return false // 00x1 must not become 0x1
	}
	return n.set(whole+fraction, exponent, limit) && n.ending(rest)
}

// plain are the digits of an integer, with the zeros after them.
func (n literal) plain() string {
	if n.digits == "" {
		return "0"
	}
	return n.digits + strings.Repeat("0", max(0, n.exponent+1-len(n.digits)))
}

func (n literal) uint() (uint64, bool) {
	v, err := strconv.ParseUint(n.plain(), 10, 64)
	return v, err == nil
}

// nearest is the value, or the float32 next to it where that has the same
// digits: LLVM spells a float as a double, and takes none that is no float.
func (n literal) nearest() float64 {
	v := n.value()
	short := literal{}
	f := float64(float32(v))
	if len(n.digits) > 0 && short.setFloat(f, len(n.digits)) && short.digits == n.digits && short.exponent == n.exponent {
		return f
	}
	return v
}

// String is the one spelling of the number, without its suffix. What no
// literal gives, but a model may (a fraction in hexadecimal), is spelled in
// decimal.
func (n literal) String() string {
	if n.exponent+1 >= len(n.digits) {
		if v, ok := n.uint(); ok {
			switch n.base {
			case hexadecimal:
				return "0x" + strconv.FormatUint(v, 16)
			case octal:
				return "0" + strconv.FormatUint(v, 8)
			case binary:
				return "0b" + strconv.FormatUint(v, 2)
			}
		}
	}
	switch n.base {
	case bits32:
		return fmt.Sprintf("0f%08X", math.Float32bits(float32(n.value())))
	case bits64:
		return fmt.Sprintf("0d%016X", math.Float64bits(n.value()))
	case llvm64:
		return fmt.Sprintf("0x%016X", math.Float64bits(n.nearest()))
	}
	whole := n.exponent + 1 // digits before the point
	switch {
	case !n.floating && whole >= len(n.digits):
		return n.plain()
	case n.digits == "":
		return "0.0"
	case whole > 16 || whole < -4:
		return fmt.Sprintf("%s.%se%+03d", n.digits[:1], cmp.Or(n.digits[1:], "0"), n.exponent)
	case whole >= len(n.digits):
		return n.plain() + ".0"
	case whole > 0:
		return n.digits[:whole] + "." + n.digits[whole:]
	}
	return "0." + strings.Repeat("0", -whole) + n.digits
}
