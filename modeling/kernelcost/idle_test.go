package kernelcost_test

import (
	"testing"

	. "github.com/rooflab/rooflab/modeling/kernelcost"
)

// What nothing reads any more is in the text and not executed. Of 64 work-items
// each has by hand, in the text: 25 iterations of a load from a and one from c; and
// what is left: the store of a constant.
func TestWhatNothingReadsIsNotExecuted(t *testing.T) {
	c := analyse(t, `kernel void k(global const float *a, global float *b, constant float *c) {
  int i = get_global_id(0);
  float s = 0.0f;
  for (int y = 0; y < 5; y++) {
    for (int x = 0; x < 5; x++) {
      s += c[y * 5 + x] * sin(a[i + x]);
    }
  }
  s = 2.5f;
  b[i] = s;
}`, "", Launch{Global: []int64{64}, Local: []int64{16}})
	if n := c.Total; n[GlobalLoad] != 64*25 || n[ConstantLoad] != 64*25 || n[Trigonometric] != 64*25 {
		t.Errorf("the text has %v and %v loads and %v sines, want 1600 each", n[GlobalLoad], n[ConstantLoad], n[Trigonometric])
	}
	n := c.Executed()
	if n[GlobalLoad] != 0 || n[ConstantLoad] != 0 || n[Trigonometric] != 0 || n[IntMul] != 0 || n[GlobalStore] != 64 {
		t.Errorf("executed are %v and %v loads, %v sines and %v stores, want only 64 stores", n[GlobalLoad], n[ConstantLoad], n[Trigonometric], n[GlobalStore])
	}
	if c.Iterations != [3]float64{} {
		t.Errorf("%v iterations of loops that compute nothing", c.Iterations)
	}
	a, _ := c.Buffer("a")
	b, _ := c.Buffer("b")
	if !a.Idle || b.Idle || !a.Reads {
		t.Errorf("a %+v, b %+v, want only the first idle", a, b)
	}
	if got, _ := c.Footprint(); got != 64*4 {
		t.Errorf("a footprint of %v bytes, want the 256 of b", got)
	}
}

// Each of these computes something that is read, if only in a later iteration, by
// another way through, or by others.
func TestWhatIsReadIsExecuted(t *testing.T) {
	for name, body := range map[string]string{
		"a later iteration":   "float p = 0.0f; for (int j = 0; j < 4; j++) { b[i + j] = p; p = sin(a[j]); }",
		"one way":             "float p = sin(a[i]); if (i < n) { p = 1.0f; } b[i] = p;",
		"a break":             "float p = 0.0f; int j = 0; while (1) { p = sin(a[j]); j++; if (p < 5.0f) break; p = 0.0f; } b[i] = p;",
		"a continue":          "float p = 0.0f; for (int j = 0; j < n; j++) { p = sin(a[j]); if (p < 0.5f) continue; p = 0.0f; } b[i] = p;",
		"a condition":         "float p = sin(a[i]); if (p < 0.5f) { b[i] = 1.0f; }",
		"a case":              "float p = sin(a[i]); switch (n) { case 1: p = 1.0f; break; case 2: b[0] = 0.0f; } b[i] = p;",
		"an index":            "int p = (int)sin(a[i]); b[p] = 1.0f;",
		"another function":    "float p = sin(a[i]); keep(&p); b[i] = p;",
		"a component":         "float4 p = (float4)(0.0f); p.x = sin(a[i]); p.y = 1.0f; b[i] = p.x;",
		"shared by the group": "local float p; p = sin(a[i]); barrier(CLK_LOCAL_MEM_FENCE); b[i] = p; p = 0.0f;",
		"an array":            "float p[2]; p[0] = sin(a[i]); p[1] = 0.0f; b[i] = p[n];",
		"a do loop":           "float p; int j = 0; do { p = sin(a[j]); j++; } while (j < n); b[i] = p;",
		"the end of a loop":   "int j = 0; float p = 0.0f; for (; j < 4; j++) { p += sin(a[j]); } b[j] = p;",
		"within itself":       "float p, q; q = p = sin(a[i]); b[i] = p;",
		"a comma":             "float p = 0.0f, q; q = 1.0f, p = sin(a[i]); b[i] = p;",
	} {
		source := "void keep(float *x) { *x += 1.0f; }\nkernel void k(global const float *a, global float *b, int n) { int i = get_global_id(0); " + body + " }"
		c := analyse(t, source, "", Launch{Kernel: "k", Scalars: scalars{"n": 3}, Global: []int64{64}, Local: []int64{16}})
		if n := c.Executed(); !(n[Trigonometric] > 0) || c.Total[Trigonometric] != n[Trigonometric] {
			t.Errorf("%s: %v sines are executed of %v in the text, want all", name, n[Trigonometric], c.Total[Trigonometric])
		}
	}
}

// And each of these does not.
func TestWhatIsNotReadIsNotExecuted(t *testing.T) {
	for name, body := range map[string]string{
		"written over":         "float p = sin(a[i]); p = 1.0f; b[i] = p;",
		"never read":           "float p = sin(a[i]); b[i] = 1.0f;",
		"read by what is dead": "float p = sin(a[i]); float q = p * 2.0f; q += p; b[i] = 1.0f;",
		"in both ways":         "float p = sin(a[i]); if (i < n) { p = 1.0f; } else { p = 2.0f; } b[i] = p;",
		"by itself":            "float p = 1.0f; for (int j = 0; j < n; j++) { p = sin(p); } b[i] = 1.0f;",
		"in a branch":          "float p = 0.0f; if (sin(a[i]) < 0.5f) { p = 1.0f; } b[i] = 1.0f;",
		"of literals":          "b[i] = sin(fabs(0.5f + 1.0f));",
		"never chosen":         "float p = a[i]; for (int j = 0; j < 1; j++) { p += (1.5f > 2.5f ? sin(p) : 0.5f); } b[i] = p;",
		"a component":          "float4 p = (float4)(0.0f); p.x = sin(a[i]); b[i] = 1.0f;",
	} {
		source := "kernel void k(global const float *a, global float *b, int n) { int i = get_global_id(0); " + body + " }"
		c := analyse(t, source, "", Launch{Scalars: scalars{"n": 3}, Global: []int64{64}, Local: []int64{16}})
		if n := c.Executed(); n[Trigonometric] != 0 {
			t.Errorf("%s: %v sines are executed, want none", name, n[Trigonometric])
		}
	}
}

// Loops in loops in loops end, as those of 30 do here.
func TestDeepLoopsEnd(t *testing.T) {
	source := "kernel void k(global float *b) { float p = 0.0f, q = 0.0f;"
	for range 30 {
		source += " for (int j = 0; j < 2; j++) { q = p; p = q + 1.0f;"
	}
	for range 30 {
		source += " }"
	}
	c := analyse(t, source+" b[0] = p; }", "", Launch{Global: []int64{1}, Local: []int64{1}})
	if !(c.Total.Flops() > 0) {
		t.Error("nothing is counted")
	}
}
