package tokenize_test

import (
	"bytes"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// Sources of our own, for the fuzzers and for tests of all languages.
var snippets = map[tokenize.Language][]string{
	tokenize.Text: {"It's 12 kernels' work,  isn't it?\n\tYes: 3.5\u00a0µs "},
	tokenize.C: {
		"#define N 256 // size\n#define AT(i, j) a[(i)*N + (j)]\n__global__ void scale(float *__restrict__ a, const int n) {\n  int i = blockIdx.x * blockDim.x + threadIdx.x;\n  if (i < n) a[i] *= 0.5f; /* half */\n}\n",
		"template <typename T, int N> __device__ T sum(const T (&x)[N]) { T s = T(0); for (int i = 0; i < N; ++i) s += x[i]; return s; }\n",
		"__kernel void k(__global float4* x, __local float *tmp, uint n) { size_t g = get_global_id(0); if (g >= n) return; tmp[g] = x[g].x + 1e-3f; barrier(CLK_LOCAL_MEM_FENCE); }",
		"extern \"C\" __launch_bounds__(128) void f(int a, int *b) { auto g = [=](int q) mutable { return q * a; }; k<<<a, 32>>>(b, 0x1Fu, 017, 1'000, L\"a\\\"b\", R\"x(\")x\", '\\''); }",
		"a/**/b \"open\nnext ' x\n# /* */ if\\\n 1.5e+3f .5 1.'b5 0x1p-3f\\ \n#x",
	},
	tokenize.LLVM: {
		"; m\n@tab = addrspace(3) global [4 x float] zeroinitializer\n%s = type { i32, float }\ndeclare i64 @_Z13get_global_idj(i32)\ndefine spir_kernel void @k(float* %a, i32 %n) #0 {\nentry:\n  %g = call i64 @_Z13get_global_idj(i32 0)\n  %c = icmp slt i64 %g, 16\n  br i1 %c, label %t, label %e\nt:                ; preds = %entry\n  store float 0x3FB99999A0000000, float* %a, align 4\n  %q = fadd float 1.000000e+00, -2.5e-3\n  br label %e\ne:\n  ret void\n}\n!0 = !{!\"x\"}\n",
	},
	tokenize.PTX: {
		".version 7.0\n.visible .entry k(.param .u64 k_param_0)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<4>;\n.shared .align 4 .b8 tile[64];\nld.param.u64 %rd1, [k_param_0]; // x\nmov.u32 %r3, %tid.x;\nmov.f32 %f1, 0f3F800000;\nsetp.ge.s32 %p1, %r3, 0x10;\n@%p1 bra $L__BB0_2;\n$L__BB0_2:\nret;\n}\n",
	},
	tokenize.Assembly: {
		"  /*0010*/ IMAD.MOV.U32 R1, RZ, RZ, c[0x0][0x28] ; /* 0x00 */\n@P0 BRA `(.L_1) ;\n; %bb.0:\nv_add_f32_e32 v0, 1.0, v1 // x\ns_waitcnt vmcnt(0) ; wait\n",
	},
}

// normalizations that a language takes.
func normalizations(l tokenize.Language) []tokenize.Normalization {
	if l == tokenize.Text {
		return []tokenize.Normalization{{}}
	}
	n := []tokenize.Normalization{
		{}, {DropComments: true}, {Space: tokenize.CollapseSpace}, {Space: tokenize.MinimalSpace},
		{Numbers: tokenize.Scientific}, {Numbers: tokenize.Scientific, Digits: 2},
		{DropComments: true, Space: tokenize.MinimalSpace}, {DropComments: true, Space: tokenize.CollapseSpace, Numbers: tokenize.Scientific},
	}
	if l != tokenize.Assembly {
		n = append(n, tokenize.Normalization{Rename: true}, full)
	}
	return n
}

// checkText holds what must be true of any text.
func checkText(t *testing.T, l tokenize.Language, n tokenize.Normalization, k *tokenize.Tokenizer, text string) {
	t.Helper()
	pieces, err := tokenize.Scan(l, text)
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, p := range pieces {
		if p.Start != at || p.End <= p.Start {
			t.Fatalf("%s: piece %+v begins not at %d: %q", l, p, at, text)
		}
		at = p.End
	}
	if at != len(text) {
		t.Fatalf("%s: pieces end at %d of %d: %q", l, at, len(text), text)
	}
	once := k.Normalize(text)
	if n == (tokenize.Normalization{}) && once != text {
		t.Fatalf("%s: nothing is to be normalised, %q became %q", l, text, once)
	}
	if twice := k.Normalize(once); twice != once {
		t.Fatalf("%s %+v: %q\nnormalised  %q\nand again   %q", l, n, text, once, twice)
	}
	e := k.Encode(text)
	if got := k.Decode(e.IDs); got != once {
		t.Fatalf("%s %+v: %q\nnormalised %q\ndecoded    %q", l, n, text, once, got)
	}
	if ids := k.AppendIDs(nil, text); !equal(ids, e.IDs) {
		t.Fatalf("%s %+v: AppendIDs and Encode differ for %q", l, n, text)
	}
	if again := k.AppendIDs(nil, once); !equal(again, e.IDs) {
		t.Fatalf("%s %+v: other ids for the normalised text of %q", l, n, text)
	}
	if len(e.Log2) != len(e.IDs) || len(e.Spans) != len(e.IDs) {
		t.Fatalf("%d ids, %d magnitudes, %d spans", len(e.IDs), len(e.Log2), len(e.Spans))
	}
	for i, s := range e.Spans {
		if s.Start < 0 || s.End < s.Start || s.End > len(text) || i > 0 && s.Start < e.Spans[i-1].Start {
			t.Fatalf("%s %+v: span %d of %q is %v, after %v", l, n, i, text, s, e.Spans[max(0, i-1)])
		}
	}
}

func equal(a, b []int32) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// tokenizers of each language and normalisation, trained on the snippets.
func tokenizers(t testing.TB, l tokenize.Language) map[tokenize.Normalization]*tokenize.Tokenizer {
	m := map[tokenize.Normalization]*tokenize.Tokenizer{}
	for _, n := range normalizations(l) {
		m[n] = trained(t, tokenize.Options{Language: l, Normalization: n, Vocab: 500}, snippets[l])
	}
	return m
}

func TestSnippetsRoundTrip(t *testing.T) {
	for _, l := range tokenize.Languages() {
		for n, k := range tokenizers(t, l) {
			for _, other := range tokenize.Languages() {
				for _, s := range snippets[other] {
					checkText(t, l, n, k, s)
				}
			}
			checkText(t, l, n, k, "")
			checkText(t, l, n, k, "\x00\xff\xfe \xc3")
		}
	}
}

func FuzzEncode(f *testing.F) {
	all := map[tokenize.Language]map[tokenize.Normalization]*tokenize.Tokenizer{}
	for i, l := range tokenize.Languages() {
		all[l] = tokenizers(f, l)
		for _, s := range snippets[l] {
			f.Add(uint8(i), s)
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, text string) {
		l := tokenize.Languages()[int(which)%len(tokenize.Languages())]
		for n, k := range all[l] {
			checkText(t, l, n, k, text)
		}
	})
}

// Any ids decode to something, and numbers among them are read.
func FuzzDecode(f *testing.F) {
	k := tokenizers(f, tokenize.C)[full]
	f.Add([]byte{0, 12, 14, 200, 120, 121, 122, 11})
	f.Fuzz(func(t *testing.T, data []byte) {
		var ids []int32
		for i, b := range data {
			ids = append(ids, int32(b)+int32(i%3)-1)
		}
		k.Decode(ids)
		for i := range ids {
			if _, n := k.ReadNumber(ids[i:]); n < 0 || n > len(ids)-i {
				t.Fatalf("a number of %d tokens where %d are left", n, len(ids)-i)
			}
		}
	})
}

// What is read at all works and can be written and read again.
func FuzzRead(f *testing.F) {
	for _, l := range []tokenize.Language{tokenize.Text, tokenize.C} {
		k := trained(f, tokenize.Options{Language: l, Vocab: 300}, snippets[l])
		var own bytes.Buffer
		if err := k.Write(&own); err != nil {
			f.Fatal(err)
		}
		f.Add(own.Bytes())
		if l == tokenize.Text {
			var hf bytes.Buffer
			if err := k.WriteHuggingFace(&hf); err != nil {
				f.Fatal(err)
			}
			f.Add(hf.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, read := range []func([]byte) (*tokenize.Tokenizer, error){
			func(b []byte) (*tokenize.Tokenizer, error) { return tokenize.Read(bytes.NewReader(b)) },
			func(b []byte) (*tokenize.Tokenizer, error) { return tokenize.ReadHuggingFace(bytes.NewReader(b)) },
		} {
			k, err := read(data)
			if err != nil {
				continue
			}
			const text = "int x = 42; // it's\n"
			if got := k.Decode(k.AppendIDs(nil, text)); got != k.Normalize(text) {
				t.Fatalf("%q became %q", text, got)
			}
			var b bytes.Buffer
			if err := k.Write(&b); err != nil {
				t.Fatal(err)
			}
			again, err := tokenize.Read(&b)
			if err != nil || again.Hash() != k.Hash() {
				t.Fatalf("written and read again: %v", err)
			}
		}
	})
}
