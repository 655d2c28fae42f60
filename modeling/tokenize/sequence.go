package tokenize

import (
	"fmt"
	"math"
	"strings"
)

// Sequence is one input of a model, built part by part:
//
//	s := t.NewSequence()
//	s.Special(tokenize.Begin)
//	s.Source(kernel)
//	s.Special(tokenize.Sep)
//	s.Special(tokenize.Arg)
//	s.Text("float*")
//	s.Number(1 << 20)
//	s.Special(tokenize.Global)
//	s.Number(4096)
//	s.Special(tokenize.End)
//	e, err := s.Fit(1024, tokenize.KeepBody)
//
// The first error stays and is returned by Fit.
type Sequence struct {
	t      *Tokenizer
	parts  []segment
	length int
	err    error
}

// segment is a part of a sequence; only source can be cut.
type segment struct {
	Encoding
	source string
	cut    bool
}

// NewSequence begins a sequence.
func (t *Tokenizer) NewSequence() *Sequence { return &Sequence{t: t} }

func (s *Sequence) part(e Encoding, source string, cut bool) {
	s.parts = append(s.parts, segment{e, source, cut})
	s.length += e.Len()
}

// outside is an encoding of ids that stand for no part of a source.
func outside(log2 float32, ids ...int32) Encoding {
	var e Encoding
	for _, id := range ids {
		e.add(id, log2, Span{-1, -1})
	}
	return e
}

// Special adds a special token.
func (s *Sequence) Special(name string) {
	id, ok := s.t.Special(name)
	if !ok && s.err == nil {
		s.err = fmt.Errorf("tokenize: there is no special token %q: name it in Options.Specials, or see Specials()", name)
	}
	s.part(outside(float32(math.NaN()), id), "", false)
}

// Source adds source code, the only part that Fit may cut. Spans and lines
// refer to it.
func (s *Sequence) Source(text string) { s.part(s.t.Encode(text), text, true) }

// Text adds text that is no source, such as the type of an argument.
func (s *Sequence) Text(text string) {
	e := s.t.Encode(text)
	for i := range e.Spans {
		e.Spans[i] = Span{-1, -1}
	}
	s.part(e, "", false)
}

// Number adds a value.
func (s *Sequence) Number(v float64) {
	ids, err := s.t.AppendNumber(nil, v)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.part(outside(Log2(v), ids...), "", false)
}

// Len is the number of tokens so far.
func (s *Sequence) Len() int { return s.length }

// Keep says what of a source is kept where all of it is too long. Where
// something was left out stands the token Cut, if the tokenizer has one.
type Keep string

// The ways to cut a source.
const (
	KeepHead Keep = "head" // the beginning
	KeepTail Keep = "tail" // the end
	KeepEnds Keep = "ends" // beginning and end, half of the room each
	// KeepBody leaves out what stands before the kernel, as far as needed, then
	// the end. The kernel is the last function that is marked as one
	// (__global__, __kernel, kernel void; .entry; a kernel's calling convention,
	// or define). Without one it is KeepHead.
	KeepBody Keep = "body"
)

// Fit is the sequence in at most limit tokens. Arguments, numbers and special
// tokens are never cut; it is an error if they alone are too many. Of several
// sources each is cut in proportion.
func (s *Sequence) Fit(limit int, keep Keep) (Encoding, error) {
	switch keep {
	case KeepHead, KeepTail, KeepEnds, KeepBody:
	default:
		return Encoding{}, fmt.Errorf("tokenize: the way to cut %q is not known: take one of %q", keep, []Keep{KeepHead, KeepTail, KeepEnds, KeepBody})
	}
	if s.err != nil {
		return Encoding{}, s.err
	}
	source := 0
	for _, p := range s.parts {
		if p.cut {
			source += p.Len()
		}
	}
	room := limit - (s.length - source)
	if room < 0 {
		return Encoding{}, fmt.Errorf("tokenize: the sequence has %d tokens besides its source, %d are the limit: raise it, or describe fewer arguments", s.length-source, limit)
	}
	var out Encoding
	for _, p := range s.parts {
		e := p.Encoding
		if p.cut && source > room {
			e = s.t.cut(p, int(int64(room)*int64(p.Len())/int64(source)), keep)
		}
		out.IDs = append(out.IDs, e.IDs...)
		out.Log2 = append(out.Log2, e.Log2...)
		out.Spans = append(out.Spans, e.Spans...)
	}
	return out, nil
}

// slice is a part of an encoding.
func (e Encoding) slice(from, to int) Encoding {
	return Encoding{e.IDs[from:to:to], e.Log2[from:to:to], e.Spans[from:to:to]}
}

// cut keeps room tokens of a source, marks of the cuts included.
func (t *Tokenizer) cut(p segment, room int, keep Keep) Encoding {
	n := p.Len()
	if n <= room {
		return p.Encoding
	}
	var mark Encoding
	if id, ok := t.Special(Cut); ok {
		mark = outside(float32(math.NaN()), id)
	}
	join := func(parts ...Encoding) Encoding {
		var out Encoding
		for _, e := range parts {
			out.IDs = append(out.IDs, e.IDs...)
			out.Log2 = append(out.Log2, e.Log2...)
			out.Spans = append(out.Spans, e.Spans...)
		}
		return out
	}
	if room <= 2*mark.Len() {
		return p.slice(0, room)
	}
	one := room - mark.Len()
	switch keep {
	case KeepTail:
		return join(mark, p.slice(n-one, n))
	case KeepEnds:
		return join(p.slice(0, one-one/2), mark, p.slice(n-one/2, n))
	case KeepBody:
		begin, at := 0, kernelStart(t.language, p.source)
		for begin < n && p.Spans[begin].Start < at {
			begin++
		}
		switch two := room - 2*mark.Len(); {
		case begin == 0:
		case n-begin <= one:
			return join(mark, p.slice(n-one, n))
		default:
			return join(mark, p.slice(begin, begin+two), mark)
		}
	}
	return join(p.slice(0, one), mark)
}

// kernelStart is where the kernel of a source begins, 0 if none is found.
func kernelStart(l Language, text string) int {
	kernel, function := -1, -1
	word := ""
	at := 0
	for _, p := range scan(l, text, nil) {
		if p.Kind != Word {
			continue
		}
		w := text[p.Start:p.End]
		switch l {
		case C:
			if w == "__global__" || w == "__kernel" {
				kernel = p.Start
			} else if w == "void" && word == "kernel" {
				kernel = at
			}
		case PTX:
			if w == ".entry" {
				kernel = p.Start
				if word == ".visible" || word == ".weak" {
					kernel = at
				}
			}
		case LLVM:
			if w == "define" {
				function = p.Start
			} else if strings.HasSuffix(w, "_kernel") && w[0] != '@' && w[0] != '%' && function >= 0 {
				kernel = function
			}
		}
		word, at = w, p.Start
	}
	if kernel < 0 {
		kernel = function
	}
	return max(kernel, 0)
}
