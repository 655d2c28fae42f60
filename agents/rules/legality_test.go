package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
)

// What must not be done is not proposed, and the reason is said.
func TestIllegalTransformationsAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		what, transformation, text, reason string
	}{
		{"a dependence that would turn round", "interchange", `void f(long n, double *a) {
			for (long j = 1; j < n - 1; j++)
				for (long i = 1; i < n - 1; i++)
					a[i * n + j] = a[(i + 1) * n + j - 1]; }`, "order that would change"},
		{"a floating-point sum over both loops", "interchange", `double f(long n, const double *a) { double s = 0;
			for (long j = 0; j < n; j++)
				for (long i = 0; i < n; i++)
					s += a[i * n + j];
			return s; }`, "last bits"},
		{"arrays that may overlap", "interchange", `void f(long n, const double *a, double *c) {
			for (long j = 0; j < n; j++)
				for (long i = 0; i < n; i++)
					c[i * n + j] = a[i * n + j]; }`, "may overlap"},
		{"a product of matrices that may overlap", "interchange", `void f(long n, const double *a, const double *b, double *c) {
			for (long i = 0; i < n; i++)
				for (long j = 0; j < n; j++) {
					double s = 0;
					for (long k = 0; k < n; k++)
						s += a[i * n + k] * b[k * n + j];
					c[i * n + j] = s;
				} }`, "may overlap"},
		{"sums that go to one place", "interchange", `void f(long n, const double *restrict a, const double *restrict b, double *restrict c) {
			for (long i = 0; i < n; i++)
				for (long j = 0; j < n; j++) {
					double s = 0;
					for (long k = 0; k < n; k++)
						s += a[i * n + k] * b[k * n + j];
					c[i] = s;
				} }`, "same place for two values of j"},
		{"sums in more precision than they are kept", "interchange", `void f(long n, const float *restrict a, const float *restrict b, float *restrict c) {
			for (long i = 0; i < n; i++)
				for (long j = 0; j < n; j++) {
					double s = 0;
					for (long k = 0; k < n; k++)
						s += a[i * n + k] * b[k * n + j];
					c[i * n + j] = s;
				} }`, "different types"},
		{"a triangle", "interchange", `void f(long n, double *a) {
			for (long j = 0; j < n; j++)
				for (long i = 0; i < j; i++)
					a[i * n + j] = 1; }`, "depends on j"},
		{"rows longer than the distance between them", "interchange", `void f(long n, long m, long w, double *a) {
			for (long j = 0; j < w; j++)
				for (long i = 0; i < n; i++)
					a[i * m + j] = a[i * m + j] + j; }`, "order that would change"},
		{"a call with effects", "threads", `int puts(const char *);
			void f(long n, double *a) { for (long i = 0; i < n; i++) { a[i] = 1; puts("x"); } }`, "calls puts"},
		{"an early exit", "vectorisation", `void f(long n, double *a) { for (long i = 0; i < n; i++) { if (a[i] > 1) break; a[i] = 1; } }`, "leave early (break)"},
		{"a counter that changes", rules.All, `void f(long n, double *a) { for (long i = 0; i < n; i++) { a[i] = 1; i += (long)a[i]; } }`, "i changes while it runs"},
		{"an end that changes", rules.All, `void f(long n, double *a) { for (long i = 0; i < n; i++) { a[i] = 1; n -= 1; } }`, "n changes while it runs"},
		{"an inner loop that ends early", "interchange", `void f(long n, double *a) { for (long j = 0; j < n; j++) for (long i = 0; i < n; i++) { if (a[i * n + j] > 3) break; a[i * n + j] = 1; } }`, "leave early (break)"},
		{"a loop of unknown steps over the same places", "threads", `void f(long n, double *a) { for (long i = 0; i < n; i++) { long k = i; while (k > 0) { a[k] += 1; k /= 2; } } }`, "different iterations"},
		{"places that data decide", "threads", `void f(long n, const int *restrict k, double *restrict a) { for (long i = 0; i < n; i++) a[k[i]] += 1; }`, "different iterations"},
		{"a value from the iteration before", "vectorisation", `void f(long n, double *a) { for (long i = 1; i < n; i++) a[i] += a[i - 1]; }`, "different iterations"},
		{"no threads in the build", "threads", `void f(long n, double *restrict a) { for (long i = 0; i < n; i++) a[i] = 1; }`, ""},
		{"a store that may change what is loaded", "hoisting", `void f(long n, const double *w, double *a) { for (long i = 0; i < n; i++) a[i] = w[3]; }`, "may change w[3]"},
		{"a load of what is stored", "hoisting", `void f(long n, double *a) { for (long i = 0; i < n; i++) a[i] = a[3]; }`, "may be written"},
		{"a load on a condition", "hoisting", `double f(long n, const double *w, const int *c) { double s = 0; for (long i = 0; i < n; i++) if (c[i]) s += w[n]; return s; }`, "might fault"},
		{"an element with another name", "scalar-replacement", `void f(long n, long k, double *a) { for (long i = 0; i < n; i++) a[k] += a[i]; }`, "same element"},
		{"an element that is seldom stored", "scalar-replacement", `void f(long n, long k, const double *restrict b, double *restrict a) { for (long i = 0; i < n; i++) if (b[i] > 0) a[k] = b[i]; }`, "on a condition only"},
		{"a store through another pointer", "scalar-replacement", `void f(long n, long k, const double *b, double *a) { for (long i = 0; i < n; i++) a[k] += b[i]; }`, "may overlap"},
		{"a power that rounds otherwise", "strength-reduction", `double pow(double, double); void f(long n, double *a) { for (long i = 0; i < n; i++) { double x = a[i]; a[i] = pow(x, 3); } }`, "rounds twice"},
		{"a divisor that is no power of two", "strength-reduction", `void f(long n, double *a) { for (long i = 0; i < n; i++) a[i] = a[i] / 3.0; }`, "exactly"},
		{"a divisor that is the same", "strength-reduction", `void f(long n, double d, double *a) { for (long i = 0; i < n; i++) a[i] = a[i] / d; }`, "rounds twice"},
		{"quotients by what changes", "strength-reduction", `void f(int n, int w, int *a) { for (int i = 0; i < n; i++) { a[i] = i / w; w += a[i] & 1; } }`, "may change"},
		{"quotients that an iteration may skip", "strength-reduction", `void f(int n, int w, int *a) { for (int i = 0; i < n; i++) { if (a[i] < 0) continue; a[i] = i / w; } }`, "end early"},
		{"a new store", "selection", `void f(long n, double *a) { for (long i = 0; i < n; i++) if (a[i] < 0) a[i] = 0; }`, "where it is not now"},
		{"values of two types", "selection", `int f(long n, const double *a, int k) { int m = 0; for (long i = 0; i < n; i++) if (a[i] > m) m = a[i]; return m; }`, "different types"},
		{"a condition with effects", "selection", `long f(long n, long k) { long m = 0; for (long i = 0; i < n; i++) if (k++ > 3) m = i; return m; }`, "has effects"},
		{"a value from a later iteration", "fusion", `void f(long n, double *restrict a, double *restrict b) {
			for (long i = 0; i < n; i++) a[i] = i;
			for (long i = 0; i < n; i++) b[i] = a[i + 1]; }`, "too early"},
		{"loops of different length", "fusion", `void f(long n, double *restrict a, double *restrict b) {
			for (long i = 0; i < n; i++) a[i] = i;
			for (long i = 0; i < n - 1; i++) b[i] = a[i]; }`, "other bounds"},
		{"a sum that the second loop needs", "fusion", `double f(long n, const double *restrict a, double *restrict b) { double s = 0;
			for (long i = 0; i < n; i++) s += a[i];
			for (long i = 0; i < n; i++) b[i] = a[i] / s;
			return s; }`, "used by both loops"},
		{"one array for both", "restrict", `static void f(long n, const double *a, double *b) { for (long i = 0; i < n; i++) b[i] = a[i]; }
			int main(void) { static double x[9]; f(8, x, x); }`, "may overlap"},
		{"callers that are not seen", "restrict", `void f(long n, const double *a, double *b) { for (long i = 0; i < n; i++) b[i] = a[i]; }`, "may overlap"},
		{"a pointer that is copied", "restrict", `#include <stdlib.h>
			void f(long n, const double *a, double *b) { for (long i = 0; i < n; i++) b[i] = a[i]; }
			int main(void) { double *x = malloc(80), *y = x; y = x + 1; f(8, x, y); }`, "may overlap"},
		{"an index in a macro that is not known", "vectorisation", `void f(long n, double *restrict a) { for (long i = 0; i < n; i++) a[at(i)] = 1; }`, "calls at"},
		{"a loop over pointers", "vectorisation", `void f(long n, double *a) { for (long i = 0; i < n; i++) *a++ = 1; }`, ""},
		{"a global that a store may change", "vectorisation", `double scale; void f(long n, double *a) { for (long i = 0; i < n; i++) a[i] = scale; }`, "may change scale"},
		{"volatile", "vectorisation", `void f(long n, volatile double *a) { for (long i = 0; i < n; i++) a[i] = 1; }`, "volatile"},
		{"rows behind pointers", "interchange", `void f(long n, double **a) { for (long j = 0; j < n; j++) for (long i = 0; i < n; i++) a[i][j] = 1; }`, ""},
		{"a counter that is used behind the loop", "threads", `long f(long n, double *a) { long i; for (i = 0; i < n; i++) a[i] = 1; return i; }`, "used behind the loop"},
		{"a loop that a pragma speaks of", "interchange", `void f(long n, double *a) {
			#pragma omp parallel for
			for (long j = 0; j < n; j++)
				for (long i = 0; i < n; i++)
					a[i * n + j] = 1; }`, "belongs to the line before it"},
		{"a callee that knows the array", "restrict", `double *kept; void g(void) { kept[0] = 1; }
			static void f(long n, const double *a, double *b) { g(); for (long i = 0; i < n; i++) b[i] = a[i]; }
			int main(void) { static double x[9], y[9]; kept = x; f(8, x, y); }`, "uses kept, which is global"},
		{"a static array that is passed on", "vectorisation", `void f(long n, double *a) { static double s[9]; for (long i = 0; i < n; i++) a[i] = s[i + 1]; if (n > 0) f(n - 1, s); }`, "may overlap"},
		{"a nest whose dependences would turn round", "interchange", `void f(long n, double *a) {
			for (long x = 1; x < n - 1; x++)
				for (long y = 1; y < n - 1; y++)
					for (long z = 1; z < n - 1; z++)
						a[(z * n + y) * n + x] = a[((z + 1) * n + y) * n + x - 1]; }`, "order that would change"},
		{"two pointers into one array", "vectorisation", `void f(long n, double *restrict a) { const double *b = a + 1; for (long i = 1; i < n; i++) a[i] = b[i - 2]; }`, "different iterations"},
		{"a place that a condition leaves open above", "threads", `void f(int n, int m, const int *restrict k, int *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int b = k[j]; if (b >= 0) a[i * m + b]++; } }`, "different iterations"},
		{"a place outside of the condition", "threads", `void f(int n, int m, const int *restrict k, int *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int b = k[j]; if (b >= 0 && b < m) a[i * m] += 1; a[i * m + b]++; } }`, "different iterations"},
		{"a place in the other branch", "threads", `void f(int n, int m, const int *restrict k, int *restrict a) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { int b = k[j]; if (b >= 0 && b < m) a[i * m] += 1; else a[i * m + b]++; } }`, "different iterations"},
		{"a pointer that moves", "vectorisation", `void f(long n, double *restrict a, double *restrict c) { double *b = a; b++; for (long i = 0; i < n; i++) c[i] = b[i]; }`, "changes"},
		{"a callee that writes what is read", "threads", `static void put(double *a, long i) { a[i] = 1; }
			void f(long n, double *restrict a, double *restrict b) { for (long i = 0; i < n; i++) { put(a, i); b[i] = a[n - i]; } }`, "different iterations"},
		{"a callee that keeps a pointer", "threads", `static double *kept; static void keep(double *a) { kept = a; }
			void f(long n, double *a) { for (long i = 0; i < n; i++) { double x; keep(&x); a[i] = x; } }`, "address of x is taken"},
		{"a callee that counts", "threads", `static int calls; static int next(void) { return calls++; }
			void f(long n, int *a) { for (long i = 0; i < n; i++) a[i] = next(); }`, "next"},
		{"an element that another one's barrier shows", "scalar-replacement", `__kernel void f(int n, __global int *o) { int i = get_global_id(0); o[i] = 0; barrier(2); for (int k = 0; k < n; k++) if (k & i) o[i] += k; }`, "on a condition only"},
		{"an atomic whose old value is used", "private-atomics", `__kernel void f(int n, __global int *restrict o, __global int *restrict p) { for (int k = 0; k < n; k++) p[atomic_inc(&o[0])] = k; }`, "old value"},
		{"an atomic at places that change", "private-atomics", `__kernel void f(int n, __global int *o) { for (int k = 0; k < n; k++) atomic_inc(&o[k % 3]); }`, "place changes"},
		{"an atomic whose place is read", "private-atomics", `__kernel void f(int n, __global int *restrict o, __global int *restrict p) { for (int k = 0; k < n; k++) { atomic_inc(&o[0]); p[k] = o[0]; } }`, "used otherwise"},
		{"atomics of two kinds at one place", "private-atomics", `__kernel void f(int n, __global int *o) { for (int k = 0; k < n; k++) { atomic_add(&o[0], k); atomic_max(&o[0], k); } }`, "used otherwise"},
		{"a barrier between atomics", "private-atomics", `__kernel void f(int n, __global int *o) { for (int k = 0; k < n; k++) { atomic_add(&o[0], k); barrier(2); } }`, "calls barrier"},
		{"a power on a device", "strength-reduction", `__kernel void f(int n, __global float *o) { float x = o[n]; o[get_global_id(0)] = pow(x, 2.0f); }`, "a device may round"},
		{"launches that may not be square", "coalescing", `__kernel void f(int n, __global float *restrict o) { int x = get_global_id(0), y = get_global_id(1); o[x * n + y] = 1; }`, "square is not known"},
		{"groups of unknown size", "staging", `__kernel void f(int n, __global const float *restrict a, __global float *restrict o) { int x = get_global_id(0), y = get_global_id(1); o[x * n + y] = a[y * n + x]; }`, "is not known"},
		{"work-items that return before", "staging", `__kernel void g(int n, __global const float *restrict a, __global float *restrict o) { int x = get_global_id(0), y = get_global_id(1);
			if (x >= n) return;
			o[x * n + y] = a[y * n + x]; }`, "return before"},
		{"a tree of floating-point sums", "tree-reduction", `__kernel void f(__global float *o, __local float *p) { int l = get_local_id(0); barrier(1);
			if (l == 0) { float s = 0; for (int k = 0; k < get_local_size(0); k++) s += p[k]; o[0] = s; } }`, "last bits"},
	} {
		t.Run(c.what, func(t *testing.T) {
			path, build := "f.c", [][]string{{"gcc", "-O2", "-fopenmp"}}
			if strings.Contains(c.text, "__kernel") {
				path, build = "f.cl", nil
			}
			if strings.Contains(c.what, "no threads") {
				build, c.reason = nil, "no -fopenmp"
			}
			advice := rules.Advisor{Options: rules.Options{Uncited: true}}.Advise(rules.Case{
				Sources: []edit.Source{{Path: path, Text: c.text, Editable: edit.All(c.text)}}, Build: build,
				Launches: map[string]rules.Launch{"g": {Local: []int64{8, 8}}}})
			for _, p := range advice.Proposals {
				if (p.Transformation == c.transformation || c.transformation == rules.All && p.Transformation != "flags") && p.Function != "main" {
					t.Errorf("it is proposed:\n%s", edit.Format([]edit.Edit{p.Edit}))
				}
			}
			if c.reason != "" && !slices.ContainsFunc(advice.Refusals, func(r rules.Refusal) bool {
				return r.Transformation == c.transformation && strings.Contains(r.Reason, c.reason)
			}) {
				t.Errorf("no refusal of %s says %q:", c.transformation, c.reason)
				for _, r := range advice.Refusals {
					t.Log(r)
				}
			}
		})
	}
}
