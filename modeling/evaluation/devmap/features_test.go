package devmap

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// Names and literals give way to what they are, so that two sources that differ
// in nothing else are equal.
func TestTokensForgetNamesAndValues(t *testing.T) {
	want := strings.Fields("__kernel void f ( __global float * v , int v ) { v [ get_global_id ( integer ) ] += real * v ; }")
	for _, source := range []string{
		"__kernel void scale(__global float *data, int n) {\n  data[get_global_id(0)] += 2.5f * n; // all of it\n}",
		"__kernel void A(__global float* a, int b) { a[get_global_id(1)] += .5f * b; }",
		"__kernel void A(__global float* a, int b) { a[get_global_id(0x1F)] += 1e3 * b; }",
	} {
		got, err := tokens(source)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q\n%q\n%v", got, want, err)
		}
	}
}

func kernel(i int) launch {
	return launch{kernel: "suite-program-k", program: "suite-program", transfer: 1 << 20, group: 64, cpu: 3, gpu: 2,
		source: "__kernel void A(__global float* a) { int i = get_global_id(0); a[i] = a[i] * 2.0f" + strings.Repeat(" + a[i]", i) + "; }",
		static: map[string]float64{"comp": 6, "mem": 4, "localmem": 2, "coalesced": 3, "rational": 0, "atomic": 0}}
}

// F1 = 2^20 / (6+4), F2 = 3/4, F3 = 2/4 * 64, F4 = 6/4, and "a[" once for each
// of a[i] = a[i] and 0 to 4 more.
func TestFeaturesByHand(t *testing.T) {
	var ls []launch
	for i := range 5 {
		ls = append(ls, kernel(i))
	}
	e, err := examples(ls)
	if err != nil {
		t.Fatal(err)
	}
	at := func(r int, name string) float64 {
		j := slices.Index(e.Features, name)
		if j < 0 {
			t.Fatalf("no feature %q among %q", name, e.Features)
		}
		return e.X[r][j]
	}
	for name, want := range map[string]float64{combined[0]: 104857.6, combined[1]: 0.75, combined[2]: 32, combined[3]: 1.5, "transfer": 1 << 20, "wgsize": 64} {
		if got := at(0, name); got != want {
			t.Errorf("%s is %g, want %g", name, got, want)
		}
	}
	for r := range ls {
		if got := at(r, "pair v ["); got != float64(2+r) {
			t.Errorf("row %d: v [ %g times, want %d", r, got, 2+r)
		}
		// One addition each more, in each work-item: log2(1 + r).
		if got := at(r, "cost log2_add_per_item"); math.Abs(got-math.Log2(1+float64(r))) > 1e-12 {
			t.Errorf("row %d: log2 of 1 + additions %g", r, got)
		}
	}
	if e.Y[0] != 1.5 || e.Groups[0] != ls[0].source {
		t.Errorf("ratio %g of group %q", e.Y[0], e.Groups[0])
	}
	if err := e.Check(true); err != nil {
		t.Error(err)
	}
}

// What stands in fewer than five sources is no feature; five launches of one
// source are one.
func TestRareTokensAreNoFeatures(t *testing.T) {
	ls := []launch{kernel(0), kernel(0), kernel(0), kernel(0), kernel(0), kernel(1)}
	e, err := examples(ls)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range e.Features {
		if strings.HasPrefix(f, tokenPrefix) || strings.HasPrefix(f, pairPrefix) {
			t.Errorf("%q is a feature, in 2 sources", f)
		}
	}
}

func TestASourceWithoutAKernelIsNamed(t *testing.T) {
	l := kernel(0)
	l.source = "float f(float x) { return x; }"
	if _, err := examples([]launch{l}); err == nil || !strings.Contains(err.Error(), "row 1, suite-program-k: its source has no kernel") {
		t.Error(err)
	}
}
