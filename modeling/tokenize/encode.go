package tokenize

import (
	"math"
	"sort"
	"strings"
)

// Span is a range of bytes of a source; {-1, -1} is none.
type Span struct{ Start, End int }

// Encoding is a text as ids. All slices have the same length.
type Encoding struct {
	IDs []int32
	// Log2 is log2 of the absolute value of the literal number that a token
	// belongs to, ZeroLog2 for zero, NaN where there is no number. In Text, where
	// numbers have no form, it is NaN throughout.
	Log2 []float32
	// Spans are the bytes of the text, before normalisation, that a token stands
	// for; where a piece was rewritten, and for a number, all of its bytes. They
	// lead from a token to its line (Lines).
	Spans []Span
}

// Len is the number of tokens.
func (e Encoding) Len() int { return len(e.IDs) }

// Lines are the lines of text, from 1, in which the tokens begin; 0 for tokens
// that have no span.
func (e Encoding) Lines(text string) []int {
	var ends []int // of the lines
	for i := range len(text) {
		if text[i] == '\n' {
			ends = append(ends, i)
		}
	}
	lines := make([]int, len(e.Spans))
	for i, s := range e.Spans {
		if s.Start < 0 {
			continue
		}
		// A token that begins with the line's end belongs to what it leads to.
		at := s.Start
		for at < s.End-1 && at < len(text) && classes[text[at]]&isSpace != 0 {
			at++
		}
		lines[i] = sort.SearchInts(ends, at) + 1
	}
	return lines
}

func (e *Encoding) add(id int32, log2 float32, s Span) {
	e.IDs = append(e.IDs, id)
	e.Log2 = append(e.Log2, log2)
	e.Spans = append(e.Spans, s)
}

// Bounds of what an encoder remembers.
const (
	cacheEntries = 1 << 16
	cacheBytes   = 64 // of a piece
)

// encoder is the memory of one goroutine that encodes.
type encoder struct {
	merger
	scratch, found []Piece
	cache          map[string][2]uint32 // piece: start and length in kept
	kept           []int32
}

func (t *Tokenizer) take() *encoder {
	select {
	case e := <-t.free:
		return e
	default:
		return &encoder{}
	}
}

func (t *Tokenizer) give(e *encoder) {
	select {
	case t.free <- e:
	default:
	}
}

// pieces calls f with each piece that is encoded by itself: those of the
// normalised text, where the last blank before a piece is part of it.
func (e *encoder) pieces(t *Tokenizer, text string, f func(p Piece, piece string)) normalized {
	n := t.norm.apply(t.language, text, e.scratch)
	text = n.text
	if t.language == Text {
		e.found = words(t.rules, text, 0, Word, e.found[:0])
	} else {
		e.found = scan(t.language, text, e.found[:0])
	}
	joins := func(i int) bool {
		if i >= len(e.found) {
			return false
		}
		switch k := e.found[i].Kind; k {
		case Space, Newline:
			return false
		case Number:
			return t.numbers < 0
		}
		return true
	}
	for i, p := range e.found {
		if p.Kind == Space && text[p.End-1] == ' ' && joins(i+1) {
			e.found[i+1].Start--
			if p.End--; p.Start == p.End {
				continue
			}
		}
		f(p, text[p.Start:p.End])
	}
	return n
}

// ids encodes a piece; what it returns holds until the next call.
func (e *encoder) ids(t *Tokenizer, piece string) []int32 {
	if len(piece) == 1 {
		e.merger.ids = append(e.merger.ids[:0], t.bytes[piece[0]])
		return e.merger.ids
	}
	if at, ok := e.cache[piece]; ok {
		return e.kept[at[0] : at[0]+at[1]]
	}
	if t.direct {
		if id, ok := t.vocab[piece]; ok {
			e.merger.ids = append(e.merger.ids[:0], id)
			return e.merger.ids
		}
	}
	ids := e.merge(t, piece)
	if len(piece) <= cacheBytes {
		if e.cache == nil || len(e.cache) >= cacheEntries {
			e.cache, e.kept = make(map[string][2]uint32), e.kept[:0]
		}
		e.cache[strings.Clone(piece)] = [2]uint32{uint32(len(e.kept)), uint32(len(ids))}
		e.kept = append(e.kept, ids...)
	}
	return ids
}

// AppendIDs appends the ids of a text. It is the fast way where neither spans
// nor magnitudes are wanted.
func (t *Tokenizer) AppendIDs(ids []int32, text string) []int32 {
	e := t.take()
	defer t.give(e)
	e.pieces(t, text, func(p Piece, piece string) {
		if p.Kind == Number && t.numbers >= 0 {
			if n, ok := parse(t.language, piece, t.norm.digits()); ok {
				ids = t.appendLiteral(ids, n)
				piece = n.suffix
			}
		}
		ids = append(ids, e.ids(t, piece)...)
	})
	return ids
}

// Encode encodes a text.
func (t *Tokenizer) Encode(text string) Encoding {
	e := t.take()
	defer t.give(e)
	nan := float32(math.NaN())
	var out Encoding
	var number []int32
	n := e.pieces(t, text, func(p Piece, piece string) {
		log2, literal := nan, false
		if p.Kind == Number {
			digits := strings.TrimPrefix(piece, " ")
			if n, ok := parse(t.language, digits, t.norm.digits()); ok {
				log2, literal = n.log2(), true
				if t.numbers >= 0 {
					number = t.appendLiteral(number[:0], n)
					for _, id := range number {
						out.add(id, log2, Span{p.Start, p.End})
					}
					piece = n.suffix
				}
			}
		}
		at := p.Start
		for _, id := range e.ids(t, piece) {
			end := at + len(t.tokens[id])
			if literal {
				out.add(id, log2, Span{p.Start, p.End})
			} else {
				out.add(id, log2, Span{at, end})
			}
			at = end
		}
	})
	if n.parts != nil {
		n.locate(out.Spans)
	}
	return out
}

// locate turns spans of the rewritten text, in order, into those of the source.
func (n normalized) locate(spans []Span) {
	part := 0
	for i, s := range spans {
		for part+1 < len(n.parts) && n.parts[part+1].start <= s.Start {
			part++
		}
		last := part
		for last+1 < len(n.parts) && n.parts[last+1].start < s.End {
			last++
		}
		a, b := n.parts[part], n.parts[last]
		spans[i] = Span{a.source.Start, b.source.End}
		if a.unchanged {
			spans[i].Start += s.Start - a.start
		}
		if b.unchanged {
			spans[i].End = b.source.Start + s.End - b.start
		}
	}
}

// appendLiteral appends the tokens of a number, without its suffix.
func (t *Tokenizer) appendLiteral(ids []int32, n literal) []int32 {
	at := t.numbers
	if n.negative {
		ids = append(ids, at+numMinus)
	}
	if n.base != decimal {
		ids = append(ids, at+numBase+int32(n.base)-1)
	}
	if n.digits == "" {
		ids = append(ids, at+numZero)
	} else {
		ids = append(ids, at+numExponent+int32(n.exponent))
	}
	for i := range len(n.digits) {
		ids = append(ids, at+numDigit+int32(n.digits[i]-'0'))
	}
	if n.floating {
		ids = append(ids, at+numFloating)
	}
	return ids
}

// literal reads the number that ids begin with, and how many of them it takes,
// at least one.
func (t *Tokenizer) literal(ids []int32) (n literal, used int) {
	token := func() int32 {
		if used < len(ids) {
			if k := ids[used] - t.numbers; k >= 0 && k < numCount {
				return k
			}
		}
		return -1
	}
	if token() == numMinus {
		n.negative = true
		used++
	}
	if k := token(); k >= numBase && k < numZero {
		n.base = base(k - numBase + 1)
		used++
	}
	if k := token(); k >= numZero && k < numDigit {
		if k > numZero {
			n.exponent = int(k - numExponent)
		}
		used++
		if k == numZero && token() >= numDigit {
			return n, used // digits that belong to nothing
		}
	}
	var digits []byte
	for token() >= numDigit && len(digits) < maxDigits {
		digits = append(digits, '0'+byte(token()-numDigit))
		used++
	}
	n.digits = strings.TrimRight(string(digits), "0")
	if token() == numFloating {
		n.floating = true
		used++
	}
	return n, max(used, 1)
}
