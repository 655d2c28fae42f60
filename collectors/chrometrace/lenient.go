package chrometrace

import (
	"bytes"
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Tracers write JSON with printf: names with quotes that nobody escaped,
// control characters, a comma before the closing bracket. What follows reads
// such text, and strict JSON as what it is.

var (
	errMore  = errors.New("the value goes on")        // more bytes are needed
	errDepth = errors.New("values are nested deeper") // than maxDepth
	errShape = errors.New("this is no JSON")
)

const maxDepth = 256

func space(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// skip returns the index of the first byte from i that is no white space.
func skip(b []byte, i int) int {
	for i < len(b) && space(b[i]) {
		i++
	}
	return i
}

// where a string stands decides what may follow its closing quote.
type where byte

const (
	asKey     where = iota // a colon follows
	inObject               // a comma and a key, or the end of the object
	inArray                // a comma, or the end of the array
	elsewhere              // anything
)

// stringEnd returns the index behind the string that begins at b[i]. A quote
// that is not followed by what must follow a string there belongs to the text.
// eof says that nothing comes after b.
func stringEnd(b []byte, i int, at where, eof bool) (int, error) {
	within := false
	for k := i + 1; ; k++ {
		n := bytes.IndexByte(b[k:], '"')
		if n < 0 {
			return 0, errMore
		}
		slashes := 0
		for j := k + n - 1; j > i && b[j] == '\\'; j-- {
			slashes++
		}
		k += n
		if slashes%2 == 1 {
			continue
		}
		ends, err := closes(b, k+1, at)
		switch {
		case err != nil && !eof:
			return 0, err
		case err != nil: // nothing follows
			ends = true
		}
		switch {
		case ends && within && bytes.Contains(b[i:k], []byte(`"ph"`)):
			return 0, errShape // rather something is missing than this is one text
		case ends:
			return k + 1, nil
		}
		within = true
	}
}

// closes reports whether what follows a quote, from b[i] on, shows that it
// ended a string.
func closes(b []byte, i int, at where) (bool, error) {
	if at == elsewhere {
		return true, nil
	}
	if i = skip(b, i); i == len(b) {
		return false, errMore
	}
	switch c := b[i]; {
	case at == asKey:
		return c == ':', nil
	case at == inArray && c == ']', at == inObject && c == '}':
		return true, nil
	case c != ',':
		return false, nil
	}
	if i = skip(b, i+1); i == len(b) {
		return false, errMore
	}
	switch c := b[i]; {
	case at == inArray:
		return c == '"' || c == '{' || c == '[' || c == ']' || c == '-' || c >= '0' && c <= '9' || strings.IndexByte("tfnNI", c) >= 0, nil
	case c == '}':
		return true, nil
	case c != '"':
		return false, nil
	}
	n := bytes.IndexByte(b[i+1:], '"')
	if n < 0 {
		return false, errMore
	}
	if i = skip(b, i+n+2); i == len(b) {
		return false, errMore
	}
	return b[i] == ':' || bytes.IndexByte(b[i-n-1:i], '\\') >= 0, nil
}

// valueEnd returns the index behind the value that begins at b[i].
func valueEnd(b []byte, i int, at where, eof bool) (int, error) {
	if i >= len(b) {
		return 0, errMore
	}
	switch b[i] {
	case '"':
		return stringEnd(b, i, at, eof)
	case '{', '[':
		return nestedEnd(b, i, eof)
	case ',', ':', '}', ']':
		return 0, errShape
	}
	k := i
	for k < len(b) && !space(b[k]) && strings.IndexByte(",}]", b[k]) < 0 {
		if strings.IndexByte(":{[\"", b[k]) >= 0 {
			return 0, errShape
		}
		k++
	}
	if k == len(b) && !eof {
		return 0, errMore
	}
	return k, nil
}

// nestedEnd returns the index behind an object or array.
func nestedEnd(b []byte, i int, eof bool) (int, error) {
	var in [maxDepth]bool // true: an object
	depth, key := 0, false
	for i < len(b) {
		switch b[i] {
		case '{', '[':
			if depth == maxDepth {
				return 0, errDepth
			}
			key = b[i] == '{'
			in[depth] = key
			depth++
		case '}', ']':
			if in[depth-1] != (b[i] == '}') {
				return 0, errShape
			}
			if depth--; depth == 0 {
				return i + 1, nil
			}
			key = false
		case ',':
			key = in[depth-1]
		case ':':
			key = false
		case '"':
			at := inArray
			if key {
				at = asKey
			} else if in[depth-1] {
				at = inObject
			}
			end, err := stringEnd(b, i, at, eof)
			if err != nil {
				return 0, err
			}
			i = end
			continue
		}
		i++
	}
	return 0, errMore
}

// members calls f with the keys and values of an object, which is whole. The
// keys are without quotes and as they are written. The error's place is the
// index that comes with it.
func members(b []byte, f func(key, value []byte) error) (int, error) {
	i := skip(b, 1)
	for i < len(b) && b[i] != '}' {
		if b[i] != '"' {
			return i, errShape
		}
		end, err := stringEnd(b, i, asKey, true)
		if err != nil {
			return i, errShape
		}
		key := b[i+1 : end-1]
		if i = skip(b, end); i == len(b) || b[i] != ':' {
			return i, errShape
		}
		i = skip(b, i+1)
		end, err = valueEnd(b, i, inObject, true)
		if err != nil {
			return i, errShape
		}
		if err := f(key, b[i:end]); err != nil {
			return i, err
		}
		if i = skip(b, end); i < len(b) && b[i] == ',' {
			i = skip(b, i+1)
		} else if i == len(b) || b[i] != '}' {
			return i, errShape
		}
	}
	return i, nil
}

// elements calls f with the elements of an array, which is whole.
func elements(b []byte, f func(value []byte) error) error {
	i := skip(b, 1)
	for i < len(b) && b[i] != ']' {
		end, err := valueEnd(b, i, inArray, true)
		if err != nil {
			return errShape
		}
		if err := f(b[i:end]); err != nil {
			return err
		}
		if i = skip(b, end); i < len(b) && b[i] == ',' {
			i = skip(b, i+1)
		}
	}
	return nil
}

// text is a value as text: a string without quotes and escapes, anything else
// as it is written.
func text(v []byte) string {
	if len(v) < 2 || v[0] != '"' {
		return strings.ToValidUTF8(string(v), "\uFFFD")
	}
	v = v[1 : len(v)-1]
	if bytes.IndexByte(v, '\\') < 0 {
		return strings.ToValidUTF8(string(v), "\uFFFD")
	}
	var s strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' || i+1 == len(v) {
			s.WriteByte(v[i])
			continue
		}
		i++
		switch c := v[i]; c {
		case '"', '\\', '/':
			s.WriteByte(c)
		case 'b':
			s.WriteByte('\b')
		case 'f':
			s.WriteByte('\f')
		case 'n':
			s.WriteByte('\n')
		case 'r':
			s.WriteByte('\r')
		case 't':
			s.WriteByte('\t')
		case 'u':
			r, n := rune4(v[i+1:])
			if n == 0 {
				s.WriteString(`\u`)
				continue
			}
			i += n
			if utf16.IsSurrogate(r) {
				r2, n2 := rune(utf8.RuneError), 0
				if i+2 < len(v) && v[i+1] == '\\' && v[i+2] == 'u' {
					r2, n2 = rune4(v[i+3:])
				}
				if r = utf16.DecodeRune(r, r2); r != utf8.RuneError {
					i += 2 + n2
				}
			}
			s.WriteRune(r)
		default: // a path of Windows that nobody escaped
			s.WriteByte('\\')
			s.WriteByte(c)
		}
	}
	return strings.ToValidUTF8(s.String(), "\uFFFD")
}

func rune4(b []byte) (rune, int) {
	if len(b) < 4 {
		return 0, 0
	}
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return 0, 0
	}
	return rune(n), 4
}

// nanos reads a time in microseconds, an integer, a decimal or a string of
// either, as nanoseconds; exactly where it is written without an exponent.
func nanos(v []byte) (int64, bool) {
	if len(v) > 1 && v[0] == '"' {
		v = bytes.TrimSpace(v[1 : len(v)-1])
	}
	neg := len(v) > 0 && v[0] == '-'
	if neg || len(v) > 0 && v[0] == '+' {
		v = v[1:]
	}
	var n int64
	digits, frac, point := 0, 0, false
	for i, c := range v {
		switch {
		case c >= '0' && c <= '9':
			digits++
			if point {
				frac++
			}
			if frac > 3 {
				if frac == 4 && c >= '5' { // the rest is less than a nanosecond
					n++
				}
				continue
			}
			if n > (1<<63-10)/10 {
				return 0, false
			}
			n = n*10 + int64(c-'0')
		case c == '.' && !point:
			point = true
		case (c == 'e' || c == 'E') && digits > 0 && i > 0:
			f, err := strconv.ParseFloat(string(v), 64)
			if f *= 1000; err != nil || f > 9.2e18 {
				return 0, false
			}
			if n = int64(f + 0.5); neg {
				n = -n
			}
			return n, true
		default:
			return 0, false
		}
	}
	for ; frac < 3; frac++ {
		if n > (1<<63-10)/10 {
			return 0, false
		}
		n *= 10
	}
	if neg {
		n = -n
	}
	return n, digits > 0
}

// integer reads a whole number, also one in a string; float ones such as 2.0
// count.
func integer(v []byte) (int64, bool) {
	if len(v) > 1 && v[0] == '"' {
		v = v[1 : len(v)-1]
	}
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -(1<<53) {
		return 0, false
	}
	return int64(f), true
}

// isNumber reports whether a value is written as a number.
func isNumber(v []byte) bool {
	return len(v) > 0 && (v[0] == '-' && len(v) > 1 || v[0] >= '0' && v[0] <= '9')
}
