package edit_test

import (
	"fmt"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

func TestFunctionsAreFoundWithTheirLines(t *testing.T) {
	const text = `#include <x.h>
#define F(x) { x
static const int table[2] = { 1, 2 };
int (*hook)(int) = { 0 };
namespace n { class Grid : public Base<int> {
public:
	Grid(int n) : n_(n), m_{n} { init(); }
	double at(int i) const { return v[i]; }
	bool operator()(int a) { return a > 0; }
}; }
template <typename T, int N>
__global__ void __launch_bounds__(256) scale(T *__restrict__ v,
	int n)
{
	auto f = [](int x) { return x; };
	if (n) { v[0] = f(1); }
}
extern "C" {
EXPORT(int) run(void) { return 0; }
}
__kernel __attribute__((reqd_work_group_size(8, 8, 1)))
void add(__global const float *a, local float4 *t, const uint n) { }
struct S make(unsigned) { }
void n::Grid::step() {
}
template <> __device__ float largest<float, Pair<int>>(float a) { return a; }
template <> __device__ int n::largest<int>(int a) { return a; }
`
	var got []string
	for _, f := range edit.Functions(text) {
		got = append(got, fmt.Sprintf("%s %s body %s: %s", f.Name, f.Lines, f.Body, f.Signature))
	}
	rows := []string{
		"Grid::Grid 7 body 7: Grid::Grid ( int )",
		"Grid::at 8 body 8: double Grid::at ( int ) const",
		"Grid::operator() 9 body 9: bool Grid::operator() ( int )",
		"scale 11-17 body 14-17: template < typename T , int N > __global__ void scale ( T * , int )",
		"run 19 body 19: EXPORT ( int ) run ( )",
		"add 21-22 body 22: __kernel void add ( __global const float * , __local float4 * , uint )",
		"make 23 body 23: struct S make ( unsigned )",
		"n::Grid::step 24-25 body 24-25: void n::Grid::step ( )",
		"largest<float,Pair<int>> 26 body 26: template < > __device__ float largest<float,Pair<int>> ( float )",
		"n::largest<int> 27 body 27: template < > __device__ int n::largest<int> ( int )",
	}
	for i := range max(len(got), len(rows)) {
		g, w := "(nothing)", "(nothing)"
		if i < len(got) {
			g = got[i]
		}
		if i < len(rows) {
			w = rows[i]
		}
		if g != w {
			t.Errorf("got  %s\nwant %s", g, w)
		}
	}
}

func TestFunctionsOfBothBranchesOfACondition(t *testing.T) {
	const text = `#ifdef A
void f(int a) {
#else
void f(long a) {
#endif
	if (a) { a = 0; }
}
#if B
namespace n {
#else
namespace m {
#endif
int g(void) { return 1; }
}
int h(void) { return 2; }
`
	var got []string
	for _, f := range edit.Functions(text) {
		got = append(got, f.Signature+" at "+f.Lines.String())
	}
	if want := "[void f ( int ) at 2-3 void f ( long ) at 4-7 int g ( ) at 13 int h ( ) at 15]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
}

// What does not matter to a caller is not in a signature, and all else is.
func TestSignatures(t *testing.T) {
	const plain = "void f(const float *a, int n, double (*g)(int), struct S s)"
	for head, same := range map[string]bool{
		"inline void f(const float *restrict x, const int m, double (*h)(int), struct S const t)":               true,
		"void f(float const *a, int n, double (*g)(int), struct S s)":                                           false, // the same type, spelled otherwise
		"void __attribute__((noinline)) f(const float *const __restrict__ a, int, double (*)(int), struct S s)": true,
		"void f(const float *a, long n, double (*g)(int), struct S s)":                                          false,
		"void f(float *a, int n, double (*g)(int), struct S s)":                                                 false,
		"void f(const float *a, int n, double (*g)(long), struct S s)":                                          false,
		"void f(const float *a, int n, double (*g)(int), struct T s)":                                           false,
		"void f(const float *a, int n, double (*g)(int))":                                                       false,
		"int f(const float *a, int n, double (*g)(int), struct S s)":                                            false,
	} {
		a, b := edit.Functions(plain+" {}"), edit.Functions(head+" {}")
		if len(a) != 1 || len(b) != 1 || (a[0].Signature == b[0].Signature) != same {
			t.Errorf("%s\n%+v\n%+v, want the same: %v", head, a, b, same)
		}
	}
}
