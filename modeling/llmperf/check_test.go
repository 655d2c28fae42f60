package llmperf_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf"
)

const saxpy = `__kernel void saxpy(const int n, const float a, __global const float *x, __global float *y) {
  int i = get_global_id(0);
  if (i < n) y[i] = a * x[i] + y[i];
}`

// launch is one of 1024 work-items in groups of 64, with arguments separated by
// blanks.
func launch(t *testing.T, source, kernel, args string) llmperf.Example {
	t.Helper()
	as, err := llmperf.ParseArguments(args)
	if err != nil {
		t.Fatal(err)
	}
	return llmperf.Example{Source: source, Kernel: kernel, Args: as, Global: []int64{1024}, Local: []int64{64}}
}

// Values count by the names of parameters, also where arguments have none.
func TestArgumentsGetTheNamesOfTheirParameters(t *testing.T) {
	const args = "n=int:512 a=float:2 x=buf:float:1024:random(1):r y=buf:float:1024"
	x, notes, err := llmperf.Check(launch(t, saxpy, "", "int:512 float:2 buf:float:1024:random(1):r y=buf:float:1024"))
	if err != nil || len(notes) != 0 || x.Kernel != "saxpy" {
		t.Fatalf("%q, notes %q (%v)", x.Kernel, notes, err)
	}
	var got []string
	for _, a := range x.Args {
		got = append(got, a.String())
	}
	if s := strings.Join(got, " "); s != args {
		t.Errorf("%s, want %s", s, args)
	}
	a, err := llmperf.Table([]llmperf.Example{x, launch(t, saxpy, "saxpy", args)})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range a.Features {
		if v, w := a.X[0][i], a.X[1][i]; v != w && (v == v || w == w) {
			t.Errorf("%s is %g without names, %g with", f, v, w)
		}
	}
}

func TestLaunchesThatCannotBeAreErrors(t *testing.T) {
	const fits = "n=int:1024 a=float:2 x=buf:float:1024 y=buf:float:1024"
	two := "kernel void f(global int *x) {} kernel void g(global int *x, local float4 *s) {} int h(int v) { return v; }"
	body := "typedef struct { float dt; int n; } P; kernel void k(P p, float2 v, global P *ps) {}"
	image := "kernel void k(read_only image2d_t i, sampler_t s) {}"
	for _, c := range []struct{ source, kernel, args, want string }{
		{saxpy, "", "", "the first that is missing is number 1; kernel saxpy takes, in this order: n=int:VALUE a=float:VALUE x=buf:float:COUNT y=buf:float:COUNT"},
		{saxpy, "", fits + " z=int:3", "5 arguments are given, z=int:3 is one too many"},
		{saxpy, "", "a=float:2 n=int:1024 x=buf:float:4 y=buf:float:4", "argument 1 is named a, parameter 1 is n"},
		{saxpy, "", "n=float:3 a=float:2 x=buf:float:4 y=buf:float:4", "argument 1, n=float:3: its type is float, the parameter's int"},
		{saxpy, "", "n=int:3 a=float:2 x=float:4 y=buf:float:4", "it is for a buffer, this is a value"},
		{saxpy, "", "n=int:3 a=float:2 x=buf:float:0 y=buf:float:4", "no empty buffer"},
		{saxpy, "sgemm", fits, "no kernel sgemm; it has saxpy"},
		{two, "", "x=buf:int:4", "2 kernels, f, g: name one"},
		{two, "h", "v=int:4", "no kernel h; it has f, g"},
		{two, "g", "x=buf:int:4 s=buf:float4:4", "it is for local memory, this is a buffer; kernel g takes, in this order: x=buf:int:COUNT s=local:BYTES"},
		{body, "", "p=raw:00000000 v=float2:1,2 ps=buf:long:4", "it has 4 bytes, the parameter 8; kernel k takes, in this order: p=raw:HEX (8 bytes) v=float2:VALUE ps=buf:TYPE:COUNT (structs of 8 bytes)"},
		{body, "", "p=raw:0000000000000000 v=float2:1 ps=buf:long:4", "float2 has 2 values, found 1"},
		{image, "", "i=buf:float4:4 s=int:1", "of type image2d_t: a launch with it cannot be described"},
		{"int main(void) { return 0; }", "", "", "the source has no kernel"},
		{"", "", "", "the source has no kernel"},
		{"\x7fELF\x00", "", "", "no text"},
	} {
		if _, _, err := llmperf.Check(launch(t, c.source, c.kernel, c.args)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q with %q: %v, want %q", c.source, c.args, err, c.want)
		}
	}
	x := launch(t, saxpy, "", fits)
	for want, local := range map[string][]int64{"1 dimensions and the local size 8,8 has 2": {8, 8}, "a positive multiple": {100}} {
		x.Local = local
		if _, _, err := llmperf.Check(x); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %q", local, err, want)
		}
	}
}

func TestWhatOfASourceIsNotReadIsNoted(t *testing.T) {
	const source = `#include "scale.h"
kernel void f(global real *x) {
  int i = get_global_id(0)
  for (int k = 0; k < SCALE; k++) x[i] = twice(x[i]);
  x[i] = twice(x[i]);
}`
	_, notes, err := llmperf.Check(launch(t, source, "", "x=buf:float:1024"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(notes, "\n")
	for _, want := range []string{`line 1: "scale.h" is not read`, "line 4: ", "real is not declared", "twice is not defined"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not in the notes:\n%s", want, all)
		}
	}
}
