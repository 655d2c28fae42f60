package tokenize_test

import (
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

const twoFunctions = "float helper(float q) { return q * q; }\n__kernel void k(__global float *a, int n) {\n  int i = get_global_id(0);\n  if (i < n)\n    a[i] = helper(a[i]);\n}\n"

func sequence(k *tokenize.Tokenizer) *tokenize.Sequence {
	s := k.NewSequence()
	s.Special(tokenize.Begin)
	s.Source(twoFunctions)
	s.Special(tokenize.Sep)
	s.Special(tokenize.Global)
	s.Number(4096)
	s.Special(tokenize.End)
	return s
}

func TestCutKeepsWhatIsAskedFor(t *testing.T) {
	k := trained(t, tokenize.Options{Vocab: 300}, []string{twoFunctions})
	s := sequence(k)
	whole, err := s.Fit(s.Len(), tokenize.KeepHead)
	if err != nil || whole.Len() != s.Len() {
		t.Fatalf("%d of %d tokens, %v", whole.Len(), s.Len(), err)
	}
	source := k.Encode(twoFunctions).Len()
	room := source - 30
	for keep, parts := range map[tokenize.Keep][2]string{
		tokenize.KeepHead: {"float helper(", ""},
		tokenize.KeepTail: {"", "a[i] = helper(a[i]);\n}\n"},
		tokenize.KeepEnds: {"float helper(", "helper(a[i]);\n}\n"},
		tokenize.KeepBody: {"__kernel void k(", ""},
	} {
		e, err := s.Fit(s.Len()-30, keep)
		if err != nil || e.Len() != s.Len()-30 {
			t.Fatalf("%s: %d tokens, %v", keep, e.Len(), err)
		}
		cut, _ := k.Special(tokenize.Cut)
		if !slices.Contains(e.IDs, cut) {
			t.Errorf("%s: nothing says that something was cut", keep)
		}
		// Marks of cuts have no text.
		text := k.Decode(e.IDs[1 : 1+room])
		if !strings.HasPrefix(strings.TrimSpace(text), parts[0]) || !strings.HasSuffix(text, parts[1]) {
			t.Errorf("%s: %q", keep, text)
		}
		if tail := e.IDs[1+room:]; !slices.Equal(tail, whole.IDs[1+source:]) {
			t.Errorf("%s: what is no source was changed: %v", keep, tail)
		}
		for limit := s.Len() - source; limit < s.Len(); limit++ {
			if e, err := s.Fit(limit, keep); err != nil || e.Len() != limit {
				t.Fatalf("%s in %d: %d tokens, %v", keep, limit, e.Len(), err)
			}
		}
	}
	if _, err := s.Fit(5, tokenize.KeepBody); err == nil || !strings.Contains(err.Error(), "besides its source") {
		t.Errorf("no room for the arguments: %v", err)
	}
	s.Special("<nothing>")
	if _, err := s.Fit(1000, tokenize.KeepHead); err == nil || !strings.Contains(err.Error(), "<nothing>") {
		t.Errorf("an unknown special token: %v", err)
	}
}

func TestPaddingIsMasked(t *testing.T) {
	k := trained(t, tokenize.Options{Vocab: 400, Normalization: full}, []string{twoFunctions})
	long, err := sequence(k).Fit(1000, tokenize.KeepHead)
	if err != nil {
		t.Fatal(err)
	}
	short := k.Encode("x = 8;")
	b, err := k.Pad([]tokenize.Encoding{short, long}, 0, 16)
	if err != nil {
		t.Fatal(err)
	}
	if b.Rows != 2 || b.Length%16 != 0 || b.Length < long.Len() || b.Length-long.Len() >= 16 || len(b.IDs) != 2*b.Length {
		t.Fatalf("a batch of %d x %d, %d ids", b.Rows, b.Length, len(b.IDs))
	}
	pad, _ := k.Special(tokenize.Pad)
	for r, e := range []tokenize.Encoding{short, long} {
		if int(b.Lengths[r]) != e.Len() {
			t.Errorf("row %d: %d tokens, want %d", r, b.Lengths[r], e.Len())
		}
		for i := range b.Length {
			at := r*b.Length + i
			if b.Mask[at] != (i < e.Len()) || !b.Mask[at] && (b.IDs[at] != pad || b.HasNumber[at] || b.Log2[at] != 0) || b.Mask[at] && b.IDs[at] != e.IDs[i] {
				t.Fatalf("row %d, place %d: id %d, mask %v", r, i, b.IDs[at], b.Mask[at])
			}
			if b.Mask[at] && b.HasNumber[at] == math.IsNaN(float64(e.Log2[i])) {
				t.Fatalf("row %d, place %d: number %v, log2 %g", r, i, b.HasNumber[at], e.Log2[i])
			}
		}
	}
	if _, err := k.Pad([]tokenize.Encoding{long}, 4, 0); err == nil || !strings.Contains(err.Error(), "row 0") {
		t.Errorf("a row that is too long: %v", err)
	}
}

// Each token leads to its line of the source, though comments, blanks and names
// were changed.
func TestTokensKnowTheirLines(t *testing.T) {
	const text = "// a comment\nint   add(int first,\n        int second) {\n\n  return first /* plus */ + second;\n}\n"
	k := trained(t, tokenize.Options{Vocab: 500, Normalization: full}, []string{text, text})
	e := k.Encode(text)
	lines := e.Lines(text)
	got := map[string]int{}
	for i, id := range e.IDs {
		s, _ := k.Token(id)
		got[strings.TrimSpace(s)] = lines[i]
	}
	for token, line := range map[string]int{"f0": 2, "return": 5, "+": 5, "}": 6} {
		if got[token] != line {
			t.Errorf("%q on line %d, want %d (%v)", token, got[token], line, got)
		}
	}
	for i, s := range e.Spans {
		if tok, _ := k.Token(e.IDs[i]); strings.TrimSpace(tok) == "f0" && strings.TrimSpace(text[s.Start:s.End]) != "add" {
			t.Errorf("f0 comes from %q", text[s.Start:s.End])
		}
	}
}

func TestSeveralGoroutinesGetTheSameIDs(t *testing.T) {
	texts := opencl(t)[:40]
	k := trained(t, tokenize.Options{Vocab: 1000, Normalization: full}, texts)
	want := make([][]int32, len(texts))
	for i, s := range texts {
		want[i] = k.AppendIDs(nil, s)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for j := range texts {
				i := (j*7 + g) % len(texts)
				if !equal(k.Encode(texts[i]).IDs, want[i]) {
					t.Errorf("text %d has other ids", i)
				}
			}
		})
	}
	wg.Wait()
}
