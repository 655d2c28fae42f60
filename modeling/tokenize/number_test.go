package tokenize_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// The names of a text's tokens, text tokens as they are.
func tokens(k *tokenize.Tokenizer, text string) []string {
	var out []string
	for _, id := range k.Encode(text).IDs {
		s, _ := k.Token(id)
		out = append(out, s)
	}
	return out
}

// Expected spellings follow from the rules in the doc comment of Scientific,
// by hand; bit patterns are those of IEEE 754.
func TestNumbersHaveOneSpelling(t *testing.T) {
	for _, c := range []struct {
		l        tokenize.Language
		digits   int
		in, want string
	}{
		{tokenize.C, 0, "1048576", "1048576"},
		{tokenize.C, 0, "4294967295u", "4294967295u"},
		{tokenize.C, 0, "0XffUL", "0xffUL"},
		{tokenize.C, 0, "0b0110", "0b110"},
		{tokenize.C, 0, "0017", "017"},
		{tokenize.C, 0, "1'000'000", "1000000"},
		{tokenize.C, 0, "1.50F", "1.5F"},
		{tokenize.C, 0, ".5f", "0.5f"},
		{tokenize.C, 0, "1.f", "1.0f"},
		{tokenize.C, 0, "1e-3", "0.001"},
		{tokenize.C, 0, "1e-7f", "1.0e-07f"},
		{tokenize.C, 0, "6.02214076e23", "6.02214076e+23"},
		{tokenize.C, 0, "0x1.8p3", "12.0"},
		{tokenize.C, 0, "3.14159265358979", "3.141592654"},
		{tokenize.C, 3, "1048576", "1050000"},
		{tokenize.C, 3, "0.99951", "1.0"},
		{tokenize.C, 3, "2147483647", "2150000000"},
		{tokenize.C, 0, "0", "0"},
		{tokenize.C, 0, "0.0f", "0.0f"},
		{tokenize.C, 0, "00", "00"},
		{tokenize.C, 0, "1e300", "1e300"}, // beyond the tokens: stays text
		{tokenize.C, 0, "1.2.3", "1.2.3"}, // no number
		{tokenize.C, 0, "09", "09"},       // no octal number
		{tokenize.PTX, 0, "0F3f800000", "0f3F800000"},
		{tokenize.PTX, 0, "0dC000000000000000", "0dC000000000000000"}, // -2
		{tokenize.PTX, 0, "0f7F800000", "0f7F800000"},                 // infinity: stays text
		{tokenize.PTX, 2, "0f3FC00001", "0f3FC00000"},                 // 1.5000001 is 1.5
		{tokenize.LLVM, 0, "1.000000e+00", "1.0"},
		{tokenize.LLVM, 0, "0x3FB99999A0000000", "0x3FB99999A0000000"}, // float 0.1, not the double next to its digits
	} {
		got, err := tokenize.Normalize(c.l, tokenize.Normalization{Numbers: tokenize.Scientific, Digits: c.digits}, c.in)
		if err != nil || got != c.want {
			t.Errorf("%s %q: %q, %v, want %q", c.l, c.in, got, err, c.want)
		}
	}
}

func TestNumbersAreExponentAndDigits(t *testing.T) {
	k := trained(t, tokenize.Options{Normalization: tokenize.Normalization{Numbers: tokenize.Scientific}, Vocab: 400}, snippets[tokenize.C])
	for _, c := range []struct{ in, want string }{
		{"1048576", "<e6> <#1> <#0> <#4> <#8> <#5> <#7> <#6>"},
		{"256", "<e2> <#2> <#5> <#6>"},
		{"1000000", "<e6> <#1>"},
		{"0.5f", "<e-1> <#5> <.> f"},
		{"0xFF", "<0x> <e2> <#2> <#5> <#5>"},
		{"0", "<zero>"},
		{"a[2]", "a [ <e0> <#2> ]"},
	} {
		if got := strings.Join(tokens(k, c.in), " "); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
}

// Ids of positive numbers are ordered as the numbers, and the same only where
// their significant digits are.
func TestNumbersAreOrderedAndExactToTheirDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, digits := range []int{1, 3, 6, 10, 17} {
		k := trained(t, tokenize.Options{Normalization: tokenize.Normalization{Numbers: tokenize.Scientific, Digits: digits}, Vocab: 400}, snippets[tokenize.C])
		type number struct {
			v   float64
			ids []int32
		}
		var all []number
		for i := range 2000 {
			v := math.Exp2(rng.Float64()*290 - 145)
			switch i % 4 {
			case 0:
				v = float64(rng.IntN(5000))
			case 1:
				v = all[i-1].v * (1 + rng.Float64()*math.Pow(10, float64(-digits)))
			}
			ids, err := k.AppendNumber(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			back, n := k.ReadNumber(ids)
			if n != len(ids) || math.Abs(back-v) > v*0.5*math.Pow(10, float64(1-digits))*(1+1e-12)+v*1e-15 {
				t.Fatalf("%d digits: %g came back as %g from %d of %d tokens", digits, v, back, n, len(ids))
			}
			minus, err := k.AppendNumber(nil, -v)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := k.ReadNumber(minus); b != -back {
				t.Fatalf("-%g came back as %g", v, b)
			}
			all = append(all, number{v, ids})
		}
		slices.SortStableFunc(all, func(a, b number) int { return slices.Compare([]float64{a.v}, []float64{b.v}) })
		for i := 1; i < len(all); i++ {
			a, b := all[i-1], all[i]
			if slices.Compare(a.ids, b.ids) > 0 {
				t.Fatalf("%d digits: %g has ids %v, the larger %g %v", digits, a.v, a.ids, b.v, b.ids)
			}
			same := a.v == b.v || b.v-a.v <= a.v*math.Pow(10, float64(1-digits))*(1+1e-9)
			if slices.Equal(a.ids, b.ids) && !same {
				t.Fatalf("%d digits: %g and %g have the same ids", digits, a.v, b.v)
			}
		}
	}
}

func TestMagnitudesStandBesideNumbers(t *testing.T) {
	for _, numbers := range []tokenize.Numbers{tokenize.AsText, tokenize.Scientific} {
		k := trained(t, tokenize.Options{Normalization: tokenize.Normalization{Numbers: numbers}, Vocab: 400}, snippets[tokenize.C])
		const text = "x = 1048576 + 0.25f - 0;"
		e := k.Encode(text)
		got := map[string]float32{}
		for i, v := range e.Log2 {
			if s := e.Spans[i]; !math.IsNaN(float64(v)) {
				got[strings.TrimSpace(text[s.Start:s.End])] = v
			}
		}
		if len(got) != 3 || got["1048576"] != 20 || got["0.25f"] != -2 || got["0"] != tokenize.ZeroLog2 {
			t.Errorf("%q: magnitudes %v", numbers, got)
		}
	}
}

func TestNumbersWithoutTokensAreErrors(t *testing.T) {
	k := trained(t, tokenize.Options{Normalization: full, Vocab: 400}, snippets[tokenize.C])
	for _, v := range []float64{math.NaN(), math.Inf(1), 1e60, 1e-60} {
		if ids, err := k.AppendNumber(nil, v); err == nil || len(ids) != 0 {
			t.Errorf("%g: %v, %v", v, ids, err)
		}
	}
}
