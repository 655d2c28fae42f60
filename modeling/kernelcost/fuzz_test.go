package kernelcost_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/opencl/generate"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// anyLaunch analyses every kernel of a text with some launches and checks what
// must hold of any text.
func anyLaunch(t *testing.T, src string) {
	p := kernelcost.Parse(src, csource.Options{})
	for i, name := range p.Unit.Kernels() {
		if i == 3 {
			break
		}
		for _, l := range []kernelcost.Launch{
			{Global: []int64{1}, Local: []int64{1}},
			{Global: []int64{1024, 6}, Local: []int64{64, 2}, Scalars: map[string]float64{"n": 1000, "m": -3, "k": 7, "a": math.Inf(1), "b": math.NaN()}},
		} {
			l.Kernel = name
			c, err := p.Analyse(l)
			if err != nil {
				t.Fatal(err)
			}
			for k, n := range c.Total {
				if n < 0 || math.IsNaN(n) || math.IsInf(n, 0) || c.Assumed[k] > n*(1+1e-9) {
					t.Fatalf("%s: %g executions of %v, %g assumed", name, n, kernelcost.Kind(k), c.Assumed[k])
				}
			}
			for j, x := range c.Features() {
				if math.IsNaN(x) || math.IsInf(x, 0) {
					t.Fatalf("%s: feature %s is %g", name, kernelcost.FeatureNames()[j], x)
				}
			}
			_, _ = c.LineTable().String(), c.Frame()
		}
	}
}

var hostile = []string{
	"__kernel void f(", "__kernel void f(int", "__kernel void f(__global float *a, int n) {",
	"kernel void f(global float *a, int n) { for (;;) a[n++] += 1; }",
	"kernel void f(global float *a, int n) { while (1) { if (a[n]) break; n = a[n]; } }",
	"kernel void f(global int *a, int n) { for (int i = 0; i < n; i *= 2) a[i % 0] = 1 / 0; }",
	"kernel void f(global int *a, int n) { for (int i = 0; i < n; i += n - n) a[i << 99] = i >> -1; }",
	"int g(int x) { return g(x - 1); } kernel void f(global int *a, int n) { a[g(n)] = g(g(n)); }",
	"int h(int x); int g(int x) { return h(x); } int h(int x) { return g(x); } kernel void f(global int *a, int n) { a[h(n)] = 1; }",
	"#define A A A\n#define B(x) x B(x) x\nkernel void f(global int *a, int n) { A; B(n); B(B(B(B(n)))); }",
	"#define X(a, b) a##b\n#if X(1,\nkernel void f() {}\n#endif",
	"#define E0(x) x x x x x x x x\n#define E1(x) E0(E0(E0(x)))\n#define E2(x) E1(E1(E1(x)))\nkernel void f(global int *a, int n) { E2(E2(a[n]++;)) }",
	"kernel void f(global int *a, int n) { n = " + strings.Repeat("(", 5000) + "1; }",
	"kernel void f(global int *a, int n) { " + strings.Repeat("{", 5000) + " a[0] = 1; }",
	"kernel void f(global int *a, int n) { " + strings.Repeat("if (a[n]) ", 3000) + " a[0] = 1; }",
	"kernel void f(global int *a, int n) { n = " + strings.Repeat("1 + ", 5000) + "1; }",
	"kernel void f(global int *a, int n) { n = " + strings.Repeat("n ? ", 3000) + "1; }",
	"kernel void f(global int *a, int n) { " + strings.Repeat("for (int i = 0; i < n; i++) ", 60) + "a[n] = 1; }",
	"kernel void f(global int *a, int n) { int x[" + strings.Repeat("1000000][", 12) + "2]; x[0] = sizeof(x); }",
	"kernel void f(int *a, int n) { switch (n) { case 1: case 2: default: switch (a[n]) { case 1: break; continue; } } }",
	"struct s { struct s x; int y[99999999]; }; kernel void f(global struct s *a, int n) { a[n].x.x.x.y[n].z = a->x; }",
	"kernel void f(global float4 *a, int n) { a[n].s0123456789abcdef.xyzw.lo.hi = (float4)(1); float16 x = vload16(n, a); vstore4(x.s0, n, a); }",
	"template <typename T, int N> __global__ void f(T *a, int n) { extern __shared__ T s[]; auto l = [&](int i) { return i; }; s[threadIdx.x] = a[l(N)]; }",
	"enum { A = B, B = A }; typedef T T; kernel void f(T *a, int n) { a[A] = B; }",
	"kernel void f(global int *a, int n) { long i = 9223372036854775807; i++; a[i * i * i]--; unsigned long j = -1; a[j / -1] = j % -1; int k = -2147483648; a[k / -1] = -k; }",
}

func TestHostileTextEnds(t *testing.T) {
	for _, src := range hostile {
		anyLaunch(t, src)
	}
}

func FuzzAnalyse(f *testing.F) {
	for _, src := range hostile {
		if len(src) < 500 {
			f.Add(src)
		}
	}
	g := generate.New(5, 1)
	for range 40 {
		f.Add(g.Next().Source)
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) < 20_000 {
			anyLaunch(t, src)
		}
	})
}
