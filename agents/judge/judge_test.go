package judge_test

import (
	"math"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/judge"
)

func source(text string) []edit.Source { return []edit.Source{{Path: "f.c", Text: text}} }

const (
	jk = `void f(int n, const double *a, const double *b, double *c) {
  for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) { double s = 0; for (int k = 0; k < n; k++) s += a[i*n+k] * b[k*n+j]; c[i*n+j] = s; }
}
int untouched(int x) { return x / 3; }
`
	kj = `void f(int n, const double *a, const double *b, double *c) {
  for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j < n; j++) c[i*n+j] += a[i*n+k] * b[k*n+j];
}
int untouched(int x) { return x / 3; }
`
)

// By hand, with 16 iterations of each loop: before, a[i*n+k] is read along k
// 16^3 times and b[k*n+j] in strides of n as often; c[i*n+j], in the loop over j,
// 16^2 times with unit stride. After, b and c (read and written) go along j 16^3
// times each and a does not move with j.
func TestChangesCountAsOftenAsLoopsRun(t *testing.T) {
	got := judge.Changes(source(jk), source(kj), "interchange")
	log2 := func(after, before float64) float64 { return math.Log2((after + 1) / (before + 1)) }
	const n2, n3 = 16 * 16, 16 * 16 * 16
	for name, want := range map[string]float64{
		"log2_strided": log2(0, n3), "log2_unit": log2(2*n3, n3+n2), "log2_invariant": log2(n3, 0),
		"log2_store": log2(n3, n2), "log2_load": log2(3*n3, 2*n3), "log2_division": 0, "log2_call": 0, "rule_interchange": 1, "more_simd": 0,
	} {
		if math.Abs(got[name]-want) > 1e-12 {
			t.Errorf("%s is %g, want %g", name, got[name], want)
		}
	}
	for name, v := range judge.Changes(source(jk), source(jk), "") {
		if v != 0 {
			t.Errorf("nothing has changed, and %s is %g", name, v)
		}
	}
}

func TestChangesReadBoundsAndMarks(t *testing.T) {
	loop := func(head string) []edit.Source { return source("void f(float *a) {\n" + head + " a[i] /= 3;\n}\n") }
	// 8 iterations, 4 of two, and 16 where the text does not say.
	for head, times := range map[string]float64{"for (int i = 0; i < 8; i++)": 8, "for (int i = 2; i < 10; i += 2)": 4, "for (int i = 0; i < m; i++)": 16, "for (i = 8; i > 0; i--)": 16} {
		got := judge.Changes(source("void f(float *a) {\n}\n"), loop(head), "")["log2_division"]
		if want := math.Log2(times + 1); math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %g, want %g", head, got, want)
		}
	}
	plain, marked := loop("for (int i = 0; i < n; i++)"), loop("#pragma omp parallel for simd\nfor (int i = 0; i < n; i++)")
	if got := judge.Changes(plain, marked, ""); got["more_parallel"] != 1 || got["more_simd"] != 1 || got["more_unroll"] != 0 {
		t.Errorf("%v", got)
	}
	if got := judge.Changes(marked, plain, ""); got["more_parallel"] != -1 {
		t.Errorf("%v", got)
	}
}

// Whatever a text holds, numbers are finite, and each has its name.
func FuzzChanges(f *testing.F) {
	for _, s := range []string{jk, kj, "", "void f(", "for(;;)", "void f(){" + strings.Repeat("for(;;){", 200), "int f(){ return a[a[a[i]]] / 0; }", "\x00\xff"} {
		f.Add(s, jk)
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		got := judge.Changes(source(a), source(b), "")
		if len(got) != 18 {
			t.Fatalf("%d numbers: %v", len(got), got)
		}
		for name, v := range got {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%s is %g", name, v)
			}
		}
	})
}
