package csource_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// show writes an expression fully bracketed.
func show(e csource.Expr) string {
	switch e := e.(type) {
	case *csource.Ident:
		return e.Name
	case *csource.IntLit:
		return fmt.Sprint(e.Value)
	case *csource.FloatLit:
		return fmt.Sprintf("%gf", e.Value)
	case *csource.Unary:
		return "(" + e.Op + show(e.X) + ")"
	case *csource.Binary:
		return "(" + show(e.X) + e.Op + show(e.Y) + ")"
	case *csource.Assign:
		return "(" + show(e.L) + e.Op + "=" + show(e.R) + ")"
	case *csource.Conditional:
		return "(" + show(e.Cond) + "?" + show(e.Then) + ":" + show(e.Else) + ")"
	case *csource.Cast:
		return "<" + e.Type.Name + ">" + show(e.X)
	case *csource.Vector:
		return e.Type.Name + "{" + list(e.Args) + "}"
	case *csource.Call:
		return e.Name + "(" + list(e.Args) + ")"
	case *csource.Index:
		return show(e.X) + "[" + show(e.I) + "]"
	case *csource.Member:
		return show(e.X) + "." + e.Name
	}
	return fmt.Sprintf("%T", e)
}

func list(es []csource.Expr) string {
	var ss []string
	for _, e := range es {
		ss = append(ss, show(e))
	}
	return strings.Join(ss, ",")
}

// What an expression is depends on what its names are, and on macros.
func TestExpressions(t *testing.T) {
	for _, test := range []struct{ head, in, want, flags string }{
		{in: "a + b * c - d", want: "((a+(b*c))-d)"},
		{in: "a << 1 + b & c == d", want: "((a<<(1+b))&(c==d))"},
		{in: "a ? b : c ? d : a", want: "(a?b:(c?d:a))"},
		{in: "(float)(b)", want: "<float>b"},
		{in: "(float)-b", want: "<float>(-b)"},
		{in: "(a)-b", want: "(a-b)"},
		{in: "(float4)(a, b, 1.5f, 0)", want: "float4{a,b,1.5f,0}"},
		{in: "(float4)(a).x", want: "float4{a}.x"},
		{in: "make(a)[b]++", want: "(p++make(a)[b])"},
		{head: "typedef unsigned int word;", in: "(word)a * b", want: "(<int>a*b)"},
		{head: "#define SQ(x) ((x) * (x))\n#define TWICE(x) SQ(SQ(x))", in: "TWICE(a + 1)", want: "(((a+1)*(a+1))*((a+1)*(a+1)))"},
		{head: "#define CAT(a, b) a##b\n#define N CAT(1, 6)", in: "N", want: "16"},
		{head: "#define SELF SELF + 1", in: "SELF", want: "(SELF+1)"},
		{head: "#if defined(W) && W > 8\n#define V 1\n#elif W == 8\n#define V 2\n#else\n#define V 3\n#endif", in: "V", want: "2", flags: "-O3 -DW=8 -DX"},
		{in: "0x1F + 010 + 'a' + 1e3f + 3u", want: "((((31+8)+97)+1000f)+3)"},
		{in: "a /* no */ + // end\n b", want: "(a+b)"},
	} {
		u := csource.Parse(test.head+"\nkernel void f(int a, int b, int c, int d) { a = "+test.in+"; }", csource.Options{Flags: test.flags})
		f := u.Find("f")
		if f == nil {
			t.Errorf("%s: no function", test.in)
			continue
		}
		got := "nothing"
		if len(f.Body.List) > 0 {
			if e, ok := f.Body.List[0].(*csource.Evaluate); ok {
				a, isAssign := e.X.(*csource.Assign)
				if got = show(e.X); isAssign {
					got = show(a.R)
				}
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.in, got, test.want)
		}
	}
}

// What is not understood is left out, with its line, and nothing else is.
func TestReadingGoesOnBehindWhatIsNotUnderstood(t *testing.T) {
	u := csource.Parse(`int ok1(int a) { return a; }
#!garbage at the top level;
kernel void k(global int *a, int n) {
  a[0] = 1;
  a[1] = @ 2;
  if (n) { asm("nop" : : ); a[2] = 3; }
  for (int i = 0; i < n; i++) a[i] = i;
}
int ok2(int a) { return a; }
`, csource.Options{})
	if u.Find("ok1") == nil || u.Find("ok2") == nil || len(u.Kernels()) != 1 {
		t.Fatalf("functions: %v, problems %v", u.Functions, u.Problems)
	}
	bad, stores, loops := []int32{}, 0, 0
	csource.Walk(u.Find("k").Body, func(n any) bool {
		switch n := n.(type) {
		case *csource.Bad:
			bad = append(bad, n.At().Line)
		case *csource.Assign:
			stores++
		case *csource.Loop:
			loops++
		}
		return true
	})
	if fmt.Sprint(bad) != "[5 6]" || stores != 3 || loops != 1 {
		t.Errorf("bad statements in lines %v, %d assignments, %d loops; problems %v", bad, stores, loops, u.Problems)
	}
}

// Sizes follow C's rules: padding in structs, vectors of three as four.
func TestSizesOfTypes(t *testing.T) {
	u := csource.Parse(`typedef struct { char c; double d; float3 v; int a[3]; } s;
struct pair { short x; int y; };
union both { float f; double d; };
kernel void f(global s *a, global struct pair *b, global union both *c, local float4 *d, constant uchar *e, global int (*m)[8]) { }`, csource.Options{})
	f := u.Find("f")
	if f == nil || len(f.Params) != 6 {
		t.Fatalf("%+v %v", f, u.Problems)
	}
	// 1 + 7 padding, 8, 16 at 16, 12, up to a multiple of 16.
	for i, want := range []int{48, 8, 8, 16, 1, 32} {
		if p := f.Params[i]; p.Type.Elem.Size() != want {
			t.Errorf("%s: %d bytes, want %d", p.Name, p.Type.Elem.Size(), want)
		}
	}
	for i, want := range []csource.Space{csource.Global, csource.Global, csource.Global, csource.Local, csource.Constants, csource.Global} {
		if p := f.Params[i]; p.Type.Space != want {
			t.Errorf("%s: in %v memory, want %v", p.Name, p.Type.Space, want)
		}
	}
}
