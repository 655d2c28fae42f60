package tokenize_test

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// slowBPE trains and encodes by the definition alone: count all pairs of all
// pieces, merge the most frequent everywhere, begin again. Pieces are words
// with the blank before them, which is what Text makes of words of letters.
func slowBPE(words []string, base func(byte) int32, vocab, minCount int) (merges [][2]string, encode func(string) []string) {
	texts := map[int32]string{}
	ids := map[string]int32{}
	next := int32(0)
	for b := range 256 {
		id := base(byte(b))
		texts[id], ids[string([]byte{byte(b)})] = string([]byte{byte(b)}), id
		next = max(next, id+1)
	}
	var split [][]int32
	for _, w := range words {
		var s []int32
		for i := range len(w) {
			s = append(s, base(w[i]))
		}
		split = append(split, s)
	}
	replace := func(s []int32, a, b, to int32) []int32 {
		var out []int32
		for i := 0; i < len(s); i++ {
			if i+1 < len(s) && s[i] == a && s[i+1] == b {
				out = append(out, to)
				i++
			} else {
				out = append(out, s[i])
			}
		}
		return out
	}
	type rule struct{ a, b, to int32 }
	var rules []rule
	for int(next) < vocab {
		counts := map[[2]int32]int{}
		for _, s := range split {
			for i := 1; i < len(s); i++ {
				counts[[2]int32{s[i-1], s[i]}]++
			}
		}
		best, n := [2]int32{}, 0
		for p, c := range counts {
			if c > n || c == n && (p[0] < best[0] || p[0] == best[0] && p[1] < best[1]) {
				best, n = p, c
			}
		}
		if n < minCount {
			break
		}
		text := texts[best[0]] + texts[best[1]]
		to, known := ids[text]
		if !known {
			to = next
			next++
			texts[to], ids[text] = text, to
		}
		rules = append(rules, rule{best[0], best[1], to})
		merges = append(merges, [2]string{texts[best[0]], texts[best[1]]})
		for i := range split {
			split[i] = replace(split[i], best[0], best[1], to)
		}
	}
	return merges, func(w string) (out []string) {
		var s []int32
		for i := range len(w) {
			s = append(s, base(w[i]))
		}
		for _, r := range rules {
			s = replace(s, r.a, r.b, r.to)
		}
		for _, id := range s {
			out = append(out, texts[id])
		}
		return out
	}
}

func TestTrainingFollowsItsDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 8 {
		var words []string
		for range 120 {
			var b strings.Builder
			b.WriteByte(' ')
			for range 1 + rng.IntN(9) {
				b.WriteByte("aaabbc"[rng.IntN(6)])
			}
			words = append(words, b.String())
		}
		text := strings.Join(words, "")
		k := trained(t, tokenize.Options{Language: tokenize.Text, Vocab: 330}, []string{text[:len(text)/2], text[len(text)/2:]})
		// Halving the text makes two pieces of the word in the middle.
		var pieces []string
		for _, half := range []string{text[:len(text)/2], text[len(text)/2:]} {
			found, err := tokenize.Scan(tokenize.Text, half)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range found {
				pieces = append(pieces, half[p.Start:p.End])
			}
		}
		base := func(b byte) int32 { return k.AppendIDs(nil, string([]byte{b}))[0] }
		merges, encode := slowBPE(pieces, base, 330, 2)
		if k.Merges() != len(merges) {
			t.Fatalf("%d merges, the definition has %d", k.Merges(), len(merges))
		}
		long := " " + strings.Repeat("abcaabbcca", 30) // longer than what is merged by looking at all pairs
		for _, w := range append(words, long) {
			var got []string
			for _, id := range k.AppendIDs(nil, w) {
				s, _ := k.Token(id)
				got = append(got, s)
			}
			if want := encode(w); !slices.Equal(got, want) {
				t.Fatalf("%q: %q, the definition gives %q", w, got, want)
			}
		}
	}
}

func TestTrainingDoesNotDependOnTheOrder(t *testing.T) {
	texts := slices.Clone(opencl(t)[:60])
	o := tokenize.Options{Normalization: full, Vocab: 1200}
	a := trained(t, o, texts)
	slices.Reverse(texts)
	if b := trained(t, o, texts); a.Hash() != b.Hash() {
		t.Error("the same texts in reverse give another tokenizer")
	}
}

// Tokens of code end where the language's tokens end, and a kernel takes fewer
// of them when it is normalised.
func TestTokensOfRealKernels(t *testing.T) {
	texts := append(slices.Clone(cuda(t)), opencl(t)...)
	k := trained(t, tokenize.Options{Normalization: full, Vocab: 4096}, texts)
	plain := trained(t, tokenize.Options{Vocab: 4096}, texts)
	bytes, ids, plainIDs := 0, 0, 0
	for i, s := range texts {
		if i%5 == 0 {
			checkText(t, tokenize.C, full, k, s)
			checkText(t, tokenize.C, tokenize.Normalization{}, plain, s)
		}
		bytes += len(s)
		ids += len(k.AppendIDs(nil, s))
		plainIDs += len(plain.AppendIDs(nil, s))
	}
	t.Logf("%d bytes, %d tokens, %d without normalisation; %s", bytes, ids, plainIDs, k)
	if ids*2 > bytes || ids >= plainIDs {
		t.Errorf("%d tokens for %d bytes", ids, bytes)
	}
	for id := range int32(k.Size()) {
		s, text := k.Token(id)
		if text && len(s) > 1 && strings.ContainsAny(s[1:], " ;(){}[]") && !strings.Contains(s, `"`) && strings.Trim(s, " \n\t") != "" &&
			strings.ContainsAny(s, "abcdefghijklmnopqrstuvwxyz") {
			t.Errorf("the token %q crosses from one token of C to the next", s)
		}
	}
}

func TestTrainingCanBeStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	texts := opencl(t)[:40]
	_, err := tokenize.Train(ctx, tokenize.Texts(texts...), tokenize.Options{Progress: func(p tokenize.Progress) {
		if p.Step == "merging" && p.Done >= 128 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "of 7925 tokens") { // 8192 - 256 - 11
		t.Errorf("stopped while merging: %v", err)
	}
	if _, err := tokenize.Train(ctx, tokenize.Texts(texts...), tokenize.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while reading: %v", err)
	}
}

func TestTrainingSaysWhatIsWrong(t *testing.T) {
	broken := errors.New("disk on fire")
	var bad iter.Seq2[string, error] = func(yield func(string, error) bool) { _ = yield("int x;", nil) && yield("", broken) }
	if _, err := tokenize.Train(t.Context(), bad, tokenize.Options{}); !errors.Is(err, broken) || !strings.Contains(err.Error(), "text 2") {
		t.Errorf("a corpus that breaks: %v", err)
	}
	for says, o := range map[string]tokenize.Options{
		"take 267":         {Vocab: 20},
		"take 377":         {Vocab: 300, Normalization: full},
		`"fortran"`:        {Language: "fortran"},
		`"wide"`:           {Normalization: tokenize.Normalization{Space: "wide"}},
		`"roman"`:          {Normalization: tokenize.Normalization{Numbers: "roman"}},
		"21 significant":   {Normalization: tokenize.Normalization{Digits: 21}},
		"no comments":      {Language: tokenize.Text, Normalization: full},
		"no names":         {Language: tokenize.Assembly, Normalization: full},
		`"<pad>" is there`: {Specials: []string{tokenize.Pad}},
		"MinCount -1":      {MinCount: -1},
	} {
		if _, err := tokenize.Train(t.Context(), tokenize.Texts("int x;"), o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
	if _, err := tokenize.Train(t.Context(), tokenize.Texts(), tokenize.Options{}); err == nil {
		t.Error("no texts at all, and no error")
	}
}
