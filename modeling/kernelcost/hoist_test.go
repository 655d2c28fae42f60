package kernelcost_test

import (
	"testing"

	. "github.com/rooflab/rooflab/modeling/kernelcost"
)

// Of two nested loops, 20 and 50 iterations, the logarithm depends on neither,
// the sine on the outer, the exponential on the inner one; that of w rests on what
// is declared within and does not change. By hand, for 64 work-items.
func TestWhatLoopsDoNotChange(t *testing.T) {
	c := analyse(t, `kernel void k(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float u = a[i];
  float v = a[i];
  for (int j = 0; j < n; j++) {
    float x = a[i + j];
    for (int l = 0; l < 50; l++) {
      float w = u * 2.0f;
      v = v * 0.5f + log(w);
      v += sin(x);
      v += exp(v);
    }
  }
  o[i] = v;
}`, "", Launch{Scalars: scalars{"n": 20}, Global: []int64{64}, Local: []int64{16}})
	n := c.Executed()
	if got := c.Total[Transcendental]; got != 64*20*50*2 {
		t.Errorf("the text has %v logarithms and exponentials, want 128000", got)
	}
	if got := n[Transcendental]; got != 64+64*20*50 {
		t.Errorf("%v logarithms and exponentials are executed, want 64 and 64000", got)
	}
	if got := n[Trigonometric]; got != 64*20 {
		t.Errorf("%v sines are executed, want 1280", got)
	}
	if got := n[GlobalLoad]; got != 64*2+64*20 {
		t.Errorf("%v loads are executed, want 1408", got)
	}
}

// The way that is never taken does not keep what is taken in the loop.
func TestWhatIsNeverChosenKeepsNothing(t *testing.T) {
	c := analyse(t, `kernel void k(global const float *a, global float *o, int n) {
  int i = get_global_id(0);
  float v = a[i];
  float u = a[i + 64];
  for (int j = 0; j < n; j++) {
    v = v * 0.5f + log(fabs(1.5f > 2.5f ? v : u) + 1.0f);
  }
  o[i] = v;
}`, "", Launch{Scalars: scalars{"n": 20}, Global: []int64{64}, Local: []int64{16}})
	if n := c.Executed(); n[Transcendental] != 64 || c.Total[Transcendental] != 64*20 {
		t.Errorf("%v logarithms are executed of %v in the text, want 64 of 1280", n[Transcendental], c.Total[Transcendental])
	}
}

// A store in the loop may change what is loaded.
func TestLoadsBesideStoresStay(t *testing.T) {
	c := analyse(t, `kernel void k(global const float *a, global float *o) {
  int i = get_global_id(0);
  for (int j = 0; j < 100; j++) {
    o[i * 100 + j] = a[i] + j;
  }
}`, "", Launch{Global: []int64{32}, Local: []int64{16}})
	if n := c.Executed(); n[GlobalLoad] != 3200 || n[IntMul] != 32 {
		t.Errorf("%v loads and %v multiplications are executed, want 3200 and 32", n[GlobalLoad], n[IntMul])
	}
}

// 96 work-items: 8 iterations each that are to be unrolled, 4 with literal bounds,
// n without. One call in the first.
func TestIterationsByWhatBoundsThem(t *testing.T) {
	c := analyse(t, `kernel void k(global float *o, int n) {
  int i = get_global_id(0);
  float v = o[i];
  #pragma unroll
  for (int j = 0; j < 8; j++) {
    v = native_exp(v);
  }
  for (int j = 0; j < 4; j++) {
    v = v * 2.0f;
  }
  for (int j = 0; j < n; j++) {
    v = v + 1.0f;
  }
  o[i] = v;
}`, "", Launch{Scalars: scalars{"n": 5}, Global: []int64{96}, Local: []int64{16}})
	if want := [3]float64{96 * 8, 96 * 4, 96 * 5}; c.Iterations != want {
		t.Errorf("iterations %v, want %v", c.Iterations, want)
	}
	if got := c.Calls["exp"]; got != 96*8 {
		t.Errorf("%v calls of exp, want 768", got)
	}
}
