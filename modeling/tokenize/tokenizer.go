package tokenize

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The special tokens that every trained tokenizer has, in the order of their
// ids from 0. There is no token for the unknown: every byte has one. No text
// is ever encoded as a special token, whatever it spells.
const (
	Pad    = "<pad>"    // fills a batch
	Begin  = "<bos>"    // begins a sequence
	End    = "<eos>"    // ends it
	Sep    = "<sep>"    // between source and arguments
	Mask   = "<mask>"   // what a model is to guess
	Cut    = "<cut>"    // here a part of the source was left out
	Arg    = "<arg>"    // before the description of an argument
	Buffer = "<buffer>" // an argument is memory
	Scalar = "<scalar>" // an argument is a value
	Global = "<global>" // before the global size, or the grid
	Local  = "<local>"  // before the work-group's size, or the block
)

// Specials lists them.
func Specials() []string {
	return []string{Pad, Begin, End, Sep, Mask, Cut, Arg, Buffer, Scalar, Global, Local}
}

// Options say what to train.
type Options struct {
	// Vocab is the number of tokens, all kinds together; 0 is 8192. There may be
	// fewer, where no pair is left that occurs MinCount times.
	Vocab int
	// MinCount is how often a pair must occur to be merged; 0 is 2.
	MinCount int64
	// Language of all texts; "" is C.
	Language Language
	Normalization
	// Specials are further special tokens, after those of Specials().
	Specials []string
	// Progress is told about the training, from the goroutine that trains.
	Progress func(Progress)
}

// Progress is the state of a training.
type Progress struct {
	Step  string // "reading" or "merging"
	Done  int    // texts read, or tokens made
	Total int    // tokens to make; 0 while reading, where it is not known
	Bytes int64  // read
}

// A Tokenizer encodes texts. It does not change, and may be used by several
// goroutines at a time.
type Tokenizer struct {
	language Language
	norm     Normalization
	rules    rules // of Text
	specials map[string]int32
	tokens   []string // what each id stands for: bytes, or the name of a special or number token
	kinds    []tokenKind
	bytes    [256]int32
	merges   []merge
	numbers  int32 // the first token of numbers; -1 without
	direct   bool  // a piece that is a token is taken without merging
	vocab    map[string]int32

	ranks table
	free  chan *encoder
}

type tokenKind uint8

const (
	noToken tokenKind = iota
	textToken
	specialToken
	numberToken
)

// merge makes one token of two.
type merge struct{ left, right, to int32 }

// Size is the number of ids: all are below it.
func (t *Tokenizer) Size() int { return len(t.tokens) }

// Merges is the number of pairs that are merged.
func (t *Tokenizer) Merges() int { return len(t.merges) }

// Language is that of the texts that t is for.
func (t *Tokenizer) Language() Language { return t.language }

// Normalization is what Encode does to a text first.
func (t *Tokenizer) Normalization() Normalization { return t.norm }

// Special is the id of a special token.
func (t *Tokenizer) Special(name string) (int32, bool) {
	id, ok := t.specials[name]
	return id, ok
}

// Token is what an id stands for: bytes of text, or the name of a special or
// number token, which text says. It is "" for an id that has no token.
func (t *Tokenizer) Token(id int32) (token string, text bool) {
	if id < 0 || int(id) >= len(t.tokens) {
		return "", false
	}
	return t.tokens[id], t.kinds[id] == textToken
}

// Normalize is the text that Encode encodes in place of text.
func (t *Tokenizer) Normalize(text string) string { return t.norm.apply(t.language, text, nil).text }

// Tokens of numbers, in the order of their ids: marks, zero, the exponents from
// small to large, digits.
const (
	numMinus    = 0
	numFloating = 1
	numBase     = 2                             // hexadecimal to llvm64
	numZero     = 8                             // after six bases
	numExponent = numZero + 1 + maxExponent     // of 1
	numDigit    = numExponent + maxExponent + 1 // 0
	numCount    = numDigit + 10
)

func numberTokens() []string {
	names := []string{"-", ".", "0x", "0", "0b", "0f", "0d", "0x64", "zero"}
	for e := -maxExponent; e <= maxExponent; e++ {
		names = append(names, "e"+strconv.Itoa(e))
	}
	for d := range 10 {
		names = append(names, "#"+strconv.Itoa(d))
	}
	for i, n := range names {
		names[i] = "<" + n + ">"
	}
	return names
}

// byteOrder is the order of the ids of bytes, that of GPT-2's vocabulary: the
// printable ones of Latin-1 first.
var byteOrder = func() (order []byte) {
	printable := func(b int) bool { return b >= '!' && b <= '~' || b >= 0xa1 && b <= 0xac || b >= 0xae }
	for _, want := range []bool{true, false} {
		for b := range 256 {
			if printable(b) == want {
				order = append(order, byte(b))
			}
		}
	}
	return order
}()

// layout makes a tokenizer that has no merges yet.
func layout(l Language, n Normalization, specials []string) (*Tokenizer, error) {
	t := &Tokenizer{language: l, norm: n, specials: map[string]int32{}, numbers: -1}
	for _, s := range specials {
		if _, twice := t.specials[s]; twice || s == "" || !utf8.ValidString(s) {
			return nil, fmt.Errorf("tokenize: the special token %q is there twice, empty or no UTF-8: give each a name of its own", s)
		}
		t.specials[s] = int32(len(t.tokens))
		t.add(s, specialToken)
	}
	if n.Numbers == Scientific {
		t.numbers = int32(len(t.tokens))
		for _, s := range numberTokens() {
			t.add(s, numberToken)
		}
	}
	for _, b := range byteOrder {
		t.add(string([]byte{b}), textToken)
	}
	return t, nil
}

func (t *Tokenizer) add(token string, k tokenKind) {
	t.tokens = append(t.tokens, token)
	t.kinds = append(t.kinds, k)
}

// ready derives what encoding needs.
func (t *Tokenizer) ready() error {
	t.vocab = make(map[string]int32, len(t.tokens))
	for i := range t.bytes {
		t.bytes[i] = -1
	}
	for id, s := range t.tokens {
		if t.kinds[id] != textToken {
			continue
		}
		if was, twice := t.vocab[s]; twice {
			return fmt.Errorf("tokens %d and %d are both %q", was, id, s)
		}
		t.vocab[s] = int32(id)
		if len(s) == 1 {
			t.bytes[s[0]] = int32(id)
		}
	}
	if b := slices.Index(t.bytes[:], -1); b >= 0 {
		return fmt.Errorf("no token for the byte 0x%02x: all 256 are needed", b)
	}
	for i, m := range t.merges {
		for _, id := range []int32{m.left, m.right, m.to} {
			if id < 0 || int(id) >= len(t.tokens) || t.kinds[id] != textToken {
				return fmt.Errorf("merge %d speaks of %d, which is no token of text", i, id)
			}
		}
		if t.tokens[m.left]+t.tokens[m.right] != t.tokens[m.to] {
			return fmt.Errorf("merge %d makes %q of %q and %q", i, t.tokens[m.to], t.tokens[m.left], t.tokens[m.right])
		}
	}
	t.ranks = newTable(t.merges)
	t.free = make(chan *encoder, 64)
	return nil
}

// Decode gives back the text of ids. Special tokens, and ids that have no
// token, are left out; number tokens become the one spelling of their number.
func (t *Tokenizer) Decode(ids []int32) string {
	var b strings.Builder
	for i := 0; i < len(ids); {
		id := ids[i]
		if id < 0 || int(id) >= len(t.tokens) {
			i++
			continue
		}
		switch t.kinds[id] {
		case textToken:
			b.WriteString(t.tokens[id])
		case numberToken:
			n, used := t.literal(ids[i:])
			if n.negative && n.base < bits32 {
				b.WriteByte('-')
			}
			b.WriteString(n.String())
			i += used
			continue
		}
		i++
	}
	return b.String()
}

// String says what t is.
func (t *Tokenizer) String() string {
	s := fmt.Sprintf("tokenizer for %s: %d tokens, %d merges", t.language, len(t.tokens), len(t.merges))
	if t.norm.DropComments || t.norm.Rename {
		s += ", without comments"
	}
	if t.norm.Space != KeepSpace {
		s += ", " + string(t.norm.Space) + " space"
	}
	if t.norm.Rename {
		s += ", names renamed"
	}
	if t.norm.Numbers == Scientific {
		s += fmt.Sprintf(", numbers to %d digits", t.norm.digits())
	}
	return s
}
