package datasets

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// ValueKind says what a Value holds.
type ValueKind uint8

// Kinds of values.
const (
	NullValue ValueKind = iota
	IntValue
	FloatValue
	BoolValue
	TextValue
	TimeValue
)

// Value is one value on its way into a table. Unlike an any it costs no
// allocation, of which an import would make millions. The zero Value is NULL.
type Value struct {
	kind ValueKind
	bits uint64
	text string
}

// Kind says what the value is.
func (v Value) Kind() ValueKind { return v.kind }

// Int is the value of an IntValue.
func (v Value) Int() int64 { return int64(v.bits) } //nolint:gosec // the same bits

// Float is the value of a FloatValue.
func (v Value) Float() float64 { return math.Float64frombits(v.bits) }

// Bool is the value of a BoolValue.
func (v Value) Bool() bool { return v.bits != 0 }

// Text is the value of a TextValue; it is valid UTF-8.
func (v Value) Text() string { return v.text }

// Micros is the value of a TimeValue, in microseconds since 1970 UTC.
func (v Value) Micros() int64 { return int64(v.bits) } //nolint:gosec // the same bits

func intValue(n int64) Value { return Value{kind: IntValue, bits: uint64(n)} } //nolint:gosec // the same bits

func floatValue(f float64) Value { return Value{kind: FloatValue, bits: math.Float64bits(f)} }

func timeValue(t time.Time) Value {
	return Value{kind: TimeValue, bits: uint64(t.UnixMicro())} //nolint:gosec // the same bits
}

func boolValue(b bool) Value {
	v := Value{kind: BoolValue}
	if b {
		v.bits = 1
	}
	return v
}

// textValue is a text that may be empty.
func textValue(s string) Value { return Value{kind: TextValue, text: unicodeText(s)} }

// wordValue is a text that says nothing where it is empty: NULL.
func wordValue(s string) Value {
	if s == "" {
		return Value{}
	}
	return textValue(s)
}

// idValue is an id: 0, which means "none", is NULL.
func idValue(id int64) Value {
	if id == 0 {
		return Value{}
	}
	return intValue(id)
}

func maybeInt(n Null[int64]) Value {
	if !n.Valid {
		return Value{}
	}
	return intValue(n.V)
}

func maybeFloat(n Null[float64]) Value {
	if !n.Valid {
		return Value{}
	}
	return floatValue(n.V)
}

// unicodeText returns s as UTF-8. Engines take nothing else (DuckDB makes NULL
// of it), and files from Windows hold Latin-1: there a byte that is no UTF-8 is
// the character of that number.
func unicodeText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			r = rune(s[0])
		}
		b.WriteRune(r)
		s = s[n:]
	}
	return b.String()
}
