package llmperf

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Normalization is what sources are normalised to: without comments and layout,
// with names of their own, and numbers as exponent and up to four digits (their
// log2 goes beside).
var Normalization = tokenize.Normalization{DropComments: true, Space: tokenize.MinimalSpace, Rename: true, Numbers: tokenize.Scientific, Digits: 4}

// special are words of arguments that have a token of their own in a tokenizer
// that is trained here; in another they are text.
var special = map[string]string{"fill": "<fill>", "iota": "<iota>", "random": "<random>", "file": "<file>", "r": "<r>", "w": "<w>", "rw": "<rw>", "local": "<local memory>", "raw": "<raw>"}

// Specials are the special tokens of arguments, for tokenize.Options.
func Specials() []string { return slices.Sorted(maps.Values(special)) }

// Encoder makes launches sequences of tokens:
//
//	<bos> source <sep> arguments <sep> sizes <eos>
//
// An argument is <arg>, then <buffer>, its type and elements, how it is filled (not
// said for zeros) and accessed, or <scalar>, its type and value. Names are left out,
// the place in the list says which it is: a launch and its twin with other
// names are the same. Sizes are <global> and <local> with a number for each
// dimension. A tokenizer without these tokens, which is a language model's, gets
// the source as it is and, behind it, comments with arguments and sizes. Where all is too long the source is cut, what stands before the
// kernel first; arguments and sizes stay.
type Encoder struct {
	Tokenizer *tokenize.Tokenizer
	Limit     int // tokens at most
	// Begin is a special token before a text, "" for none (see Base).
	Begin string
}

// Encode is a launch as tokens.
func (c Encoder) Encode(x Example) (tokenize.Encoding, error) {
	if c.plain() {
		return c.text(x)
	}
	s := c.Tokenizer.NewSequence()
	s.Special(tokenize.Begin)
	s.Source(x.Source)
	s.Special(tokenize.Sep)
	for _, a := range x.Args {
		s.Special(tokenize.Arg)
		switch a.Kind {
		case Scalar:
			s.Special(tokenize.Scalar)
			s.Text(a.Type)
			for _, v := range a.Values {
				value(s, v)
			}
		default:
			s.Special(tokenize.Buffer)
			if a.Kind == Buffer {
				s.Text(a.Type)
				value(s, float64(a.Elements))
			} else {
				c.word(s, string(a.Kind))
				value(s, float64(a.Bytes))
			}
			if a.Init != "zero" {
				c.word(s, a.Init)
			}
			for _, v := range a.Range {
				value(s, v)
			}
			c.word(s, a.Access)
		}
	}
	s.Special(tokenize.Sep)
	for _, part := range []struct {
		special string
		sizes   []int64
	}{{tokenize.Global, x.Global}, {tokenize.Local, x.Local}} {
		s.Special(part.special)
		for _, n := range part.sizes {
			value(s, float64(n))
		}
	}
	s.Special(tokenize.End)
	e, err := s.Fit(c.Limit, tokenize.KeepBody)
	if err != nil {
		return e, fmt.Errorf("encoding a launch of %q: %w", x.Kernel, err)
	}
	return e, nil
}

// word adds a word of an argument's description.
func (c Encoder) word(s *tokenize.Sequence, word string) {
	if word == "" {
		return
	}
	if _, ok := c.Tokenizer.Special(special[word]); ok {
		s.Special(special[word])
		return
	}
	s.Text(" " + word)
}

// value adds a number; one beyond what tokens can say, as text.
func value(s *tokenize.Sequence, v float64) {
	if m := math.Abs(v); v != 0 && !(m >= 1e-44 && m <= 1e44) {
		s.Text(strconv.FormatFloat(v, 'g', 3, 64))
		return
	}
	s.Number(v)
}
