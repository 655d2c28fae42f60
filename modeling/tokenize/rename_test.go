package tokenize_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/tokenize"
)

// What is renamed and what is kept, by the rules of scope of C and C++.
func TestNamesAreRenamedByScope(t *testing.T) {
	for _, c := range []struct{ what, in, want string }{
		{"each declaration is its own", "void k(int n) { for (int i = 0; i < n; i++) a(i); for (int i = 1; i < n; i++) b(i); }",
			"void f0(int v0) { for (int v1 = 0; v1 < v0; v1++) a(v1); for (int v2 = 1; v2 < v0; v2++) b(v2); }"},
		{"an inner name hides an outer", "void k(int x) { { float x = 1; x++; } x--; }", "void f0(int v0) { { float v1 = 1; v1++; } v0--; }"},
		{"a for without braces ends", "int i; void k() { for (int i = 0; ;) if (i) f(i); else g(i); h(i); }",
			"int g0; void f0() { for (int v0 = 0; ;) if (v0) f(v0); else g(v0); h(g0); }"},
		{"functions count from nothing", "void a(int x) { x; } void b(int y) { a(y); }", "void f0(int v0) { v0; } void f1(int v0) { f0(v0); }"},
		{"used before it is defined", "void k() { helper(1); } int helper(int q) { return q; }", "void f0() { f1(1); } int f1(int v0) { return v0; }"},
		{"members stay", "struct P { float x, y; }; float k(struct P p, float x) { return p.x * x + (&p)->y; }",
			"struct P { float x, y; }; float f0(struct P v0, float v1) { return v0.x * v1 + (&v0)->y; }"},
		{"a global with a member's name stays", "int n; struct S { int n; int get() { return n; } };", "int n; struct S { int n; int get() { return n; } };"},
		{"a new name that the text has is passed over", "void k(int a, int b) { v0(a, b); }", "void f0(int v1, int v2) { v0(v1, v2); }"},
		{"a call is no declaration", "void k(int *p, int a) { f(&p); g(*p); a * 2; if (a & 1) h(a); }", "void f0(int *v0, int v1) { f(&v0); g(*v0); v1 * 2; if (v1 & 1) h(v1); }"},
		{"several declarators", "void k() { int a = f(1, 2), *b = &a, c[3] = {1, 2, 3}; c[a] = *b; }", "void f0() { int v0 = f(1, 2), *v1 = &v0, v2[3] = {1, 2, 3}; v2[v0] = *v1; }"},
		{"qualifiers of OpenCL and CUDA", "__kernel void k(__global const float4* restrict in, local uint *t) { __shared__ float s[8]; s[0] = in[0].x + t[0]; }",
			"__kernel void f0(__global const float4* restrict v0, local uint *v1) { __shared__ float v2[8]; v2[0] = v0[0].x + v1[0]; }"},
		{"short qualifiers as names", "void k(int global) { int local = global; local++; }", "void f0(int v0) { int v1 = v0; v1++; }"},
		{"templates keep their parameters", "template <typename T, int N> T k(const T (&x)[N]) { std::vector<T> v(N); return x[0] + v[1]; }",
			"template <typename T, int N> T f0(const T (&v0)[N]) { std::vector<T> v1(N); return v0[0] + v1[1]; }"},
		{"lambdas", "void k(int a) { auto f = [&](int q) { int a = q; return a; }; f(a); }", "void f0(int v0) { auto v1 = [&](int v2) { int v3 = v2; return v3; }; v1(v0); }"},
		{"ranges", "void k(std::vector<int> xs) { for (auto x : xs) use(x); }", "void f0(std::vector<int> v0) { for (auto v1 : v0) use(v1); }"},
		{"pointers to functions", "void k(float (*op)(float, float), int n) { op(1, n); }", "void f0(float (*v0)(float, float), int v1) { v0(1, v1); }"},
		{"names in macros stay", "#define AT(i) buf[i + off]\nvoid k(int *buf, int off, int i) { AT(i); }", "#define AT(i) buf[i + off]\nvoid f0(int *buf, int off, int v0) { AT(v0); }"},
		{"an overload of a built-in function stays", "float4 make_float4(int q) { return make_float4(q, q, q, q); }", "float4 make_float4(int v0) { return make_float4(v0, v0, v0, v0); }"},
		{"labels and enumerators", "enum { red, green }; void k(int a) { again: a += red; goto again; }", "enum { red, green }; void f0(int v0) { again: v0 += red; goto again; }"},
		{"conditions of ? :", "void k(int a, int b) { int c = a ? b : a * b; }", "void f0(int v0, int v1) { int v2 = v0 ? v1 : v0 * v1; }"},
	} {
		got, err := tokenize.Normalize(tokenize.C, tokenize.Normalization{Rename: true}, c.in)
		if err != nil || got != c.want {
			t.Errorf("%s:\n%s\nbecame\n%s, %v, want\n%s", c.what, c.in, got, err, c.want)
		}
	}
}

// Texts with $1, $2, ... for the names that they declare: whatever those are,
// the normalised text is the same.
var patterns = map[tokenize.Language][]string{
	tokenize.C: {
		"__global__ void $1(float *__restrict__ $2, const int $3) { __shared__ float $4[256]; int $5 = threadIdx.x; for (int $6 = 0; $6 < $3; ++$6) { float $7 = $2[$6 + $5]; $4[$5] += sqrtf($7) * $2[$6].x; } __syncthreads(); $2[0] = $4[$5]; }",
		"static float $1[16];\n__device__ float $2(float $3) { return $3 * $1[0]; }\n__kernel void $4(__global float *$5, uint $6) { size_t $7 = get_global_id(0); if ($7 < $6) { float $8 = $2($5[$7]), *$9 = &$8; $5[$7] = fma($8, *$9, 1.0f); } }",
	},
	tokenize.LLVM: {
		"@$1 = global i32 0\ndefine i32 @$2(i32 %$3, float* %$4) {\n$5:\n  %$6 = add i32 %$3, 1\n  %$7 = load i32, i32* @$1\n  br label %$8\n$8:\n  %$9 = call i32 @llvm.ctpop.i32(i32 %$6)\n  ret i32 %$9\n}\n",
	},
	tokenize.PTX: {
		".global .f32 $1[4];\n.visible .entry $2(\n.param .u64 $3\n)\n{\n.reg .b64 %rd<3>;\n.shared .b8 $4[64];\nld.param.u64 %rd1, [$3];\nmov.u64 %rd2, $1;\nbra $5;\n$5:\nst.shared.u64 [$4], %rd2;\nret;\n}\n",
	},
}

func TestNormalizedTextIsTheSameWhateverTheNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for l, texts := range patterns {
		for _, p := range texts {
			var first string
			for round := range 50 {
				text := p
				for i := 9; i >= 1; i-- {
					name := fmt.Sprintf("%c%c%d_%d", 'a'+rng.IntN(26), 'A'+rng.IntN(26), i, rng.IntN(100))
					if rng.IntN(4) == 0 {
						name = fmt.Sprintf("v%d", (i+round)%10) // as if normalised, but in another order
					}
					text = strings.ReplaceAll(text, fmt.Sprintf("$%d", i), name)
				}
				got, err := tokenize.Normalize(l, full, text)
				if err != nil {
					t.Fatal(err)
				}
				if first == "" {
					first = got
				}
				if got != first {
					t.Fatalf("%s: %s\nbecame %s\nand    %s", l, text, got, first)
				}
			}
			if strings.Contains(first, "$") {
				t.Errorf("names are left in %s", first)
			}
		}
	}
}

var identifier = regexp.MustCompile(`[A-Za-z_]\w*`)

// Real kernels, one of their names after the other replaced everywhere by an
// expression that knows nothing of scopes: where the normaliser renames the
// name wherever it stands, the normalised text stays the same.
func TestRealKernelsAreTheSameWhateverTheNames(t *testing.T) {
	renamed, all := 0, 0
	for i, src := range append(cuda(t), opencl(t)...) {
		if i%4 != 0 {
			continue
		}
		keep := tokenize.Normalization{Rename: true}
		src, err := tokenize.Normalize(tokenize.C, tokenize.Normalization{DropComments: true}, src)
		if err != nil {
			t.Fatal(err)
		}
		want, err := tokenize.Normalize(tokenize.C, keep, src)
		if err != nil {
			t.Fatal(err)
		}
		left := map[string]bool{}
		for _, w := range identifier.FindAllString(want, -1) {
			left[w] = true
		}
		names := map[string]string{}
		for _, w := range identifier.FindAllString(src, -1) {
			if all++; !left[w] && names[w] == "" {
				names[w] = fmt.Sprintf("name_%d_%d", i, len(names))
			}
		}
		other := identifier.ReplaceAllStringFunc(src, func(w string) string {
			if n := names[w]; n != "" {
				renamed++
				return n
			}
			return w
		})
		got, err := tokenize.Normalize(tokenize.C, keep, other)
		if err != nil || got != want {
			t.Fatalf("%s\nbecame %s, %v, want\n%s", other, got, err, want)
		}
	}
	t.Logf("%d of %d identifiers renamed", renamed, all)
	if renamed*3 < all {
		t.Errorf("only %d of %d identifiers are renamed", renamed, all)
	}
}

// The compiler's word: OpenCL kernels mean the same after everything that can
// be normalised was, but for the names of their functions.
func TestNormalizedKernelsCompileToTheSameCode(t *testing.T) {
	clang, err := exec.LookPath("clang")
	if err != nil {
		t.Fatalf("%v: install clang (Debian: apt-get install clang)", err)
	}
	symbol := regexp.MustCompile(`@[\w.$]+`)
	compile := func(src string) (string, error) {
		cmd := exec.CommandContext(t.Context(), clang, "-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "-w", "-S", "-emit-llvm", "-O0", "-o", "-", "-")
		cmd.Stdin = strings.NewReader(src)
		var out bytes.Buffer
		cmd.Stdout = &out
		err := cmd.Run()
		// The functions that are defined, by their order.
		names := map[string]string{}
		for _, line := range strings.Split(out.String(), "\n") {
			if s := symbol.FindString(line); strings.HasPrefix(line, "define") || strings.HasPrefix(line, "@") {
				names[s] = fmt.Sprintf("@S%d", len(names))
			}
		}
		code := symbol.ReplaceAllStringFunc(out.String(), func(s string) string {
			if n := names[s]; n != "" {
				return n
			}
			return s
		})
		return code, err
	}
	n := full
	n.Digits = 20
	compared := 0
	for i, src := range opencl(t) {
		if i%16 != 0 {
			continue
		}
		want, err := compile(src)
		if err != nil {
			continue // some of the data set lack their types
		}
		text, err := tokenize.Normalize(tokenize.C, n, src)
		if err != nil {
			t.Fatal(err)
		}
		got, err := compile(text)
		if err != nil || got != want {
			t.Errorf("%s\nno longer compiles to the same: %v", text, err)
		}
		compared++
	}
	if compared < 10 {
		t.Errorf("only %d kernels compile at all", compared)
	}
}
