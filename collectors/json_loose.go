package collectors

import (
	"bytes"
	"encoding/json"
	"io"
)

// NewLooseJSON is NewJSON for writers that put NaN, Infinity and -Infinity
// where JSON has no number for them, as Python and C++ libraries do, or nan,
// inf, -nan and -inf, as C's printf does. They come out as strings, which
// NotFinite knows; places stay what they are.
func NewLooseJSON(in *Input) *JSON {
	j := &JSON{in: in}
	j.Decoder = json.NewDecoder(&looseReader{r: lineIndex{j}})
	j.UseNumber()
	return j
}

// LooseJSON is a whole text that NewLooseJSON would read, as JSON of the same
// length.
func LooseJSON(text []byte) []byte {
	loose := make([]byte, 0, len(text)+bytes.MinRead)
	b := bytes.NewBuffer(loose)
	_, _ = b.ReadFrom(&looseReader{r: bytes.NewReader(text)}) // memory gives no error
	return b.Bytes()
}

// The strings are as long as the words, so that offsets do not move.
var notFinite = map[string]string{"~": "NaN", "~~~~~~": "Infinity", "-~~~~~~": "-Infinity", "\x7f": "nan", "-\x7f": "-nan", "`": "inf", "-`": "-inf"}

// NotFinite returns the word, such as "NaN" or "-inf", where a value that
// NewLooseJSON read is none of JSON's numbers.
func NotFinite(v any) (text string, ok bool) {
	s, isString := v.(string)
	if !isString {
		return "", false
	}
	text, ok = notFinite[s]
	return text, ok
}

// looseReader replaces the words of notFinite outside strings.
type looseReader struct {
	r        io.Reader
	inString bool
	escaped  bool
	minus    bool   // a "-" was read and is not written yet
	n        bool   // so was an "n", which may begin null
	rest     string // of the word that is being replaced, as it is read
	fill     byte   // what it is replaced by
}

func (l *looseReader) Read(p []byte) (int, error) {
	if len(p) < 2 {
		return 0, io.ErrShortBuffer
	}
	// One byte is left free for a minus that was kept back.
	n, err := l.r.Read(p[1:])
	w := 0
	for _, b := range p[1 : 1+n] {
		w = l.byte(p, w, b)
	}
	if err != nil && l.minus {
		p[w] = '-'
		w, l.minus = w+1, false
	}
	if err != nil && l.n {
		p[w] = 'n'
		w, l.n = w+1, false
	}
	return w, err
}

// byte writes what a byte becomes at p[w] and returns the new end. It never
// writes further than one byte before what is still to be read.
func (l *looseReader) byte(p []byte, w int, b byte) int {
	if l.rest != "" {
		if b == l.rest[0] {
			l.rest = l.rest[1:]
			b = l.fill
			if l.rest == "" {
				b = '"'
			}
			p[w] = b
			return w + 1
		}
		l.rest = "" // no such word: JSON's own reader complains about what is there
	}
	if l.n {
		l.n = false
		if b == 'a' {
			l.rest, l.fill = "n", '\x7f'
			p[w], p[w+1] = '"', l.fill
			return w + 2
		}
		p[w] = 'n'
		w++
	}
	minus := l.minus
	l.minus = false
	switch {
	case l.inString:
		switch {
		case l.escaped:
			l.escaped = false
		case b == '\\':
			l.escaped = true
		case b == '"':
			l.inString = false
		}
	case b == '-':
		if minus {
			p[w] = '-'
			w++
		}
		l.minus = true
		return w
	case b == 'N' && !minus:
		l.rest, l.fill, b = "aN", '~', '"'
	case b == 'n' && !minus:
		l.n = true
		return w
	case b == 'I', b == 'i', b == 'n':
		switch b {
		case 'I':
			l.rest, l.fill = "nfinity", '~'
		case 'i':
			l.rest, l.fill = "nf", '`'
		case 'n':
			l.rest, l.fill = "an", '\x7f'
		}
		if minus {
			p[w], p[w+1] = '"', '-'
			return w + 2
		}
		b = '"'
	case b == '"':
		l.inString = true
	}
	if minus {
		p[w] = '-'
		w++
	}
	p[w] = b
	return w + 1
}
