package syntax_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/agents/rules/syntax"
)

func TestKernelsOfTheRepositoryAreUnderstood(t *testing.T) {
	var files []string
	for _, g := range []string{"kernels/*.cl", "programs/*.c", "programs/*.h"} {
		m, err := filepath.Glob(filepath.Join("../../../datasets/recorded", g))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, m...)
	}
	if len(files) < 36 {
		t.Fatalf("found %d programs and kernels in datasets/recorded, want at least 36", len(files))
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		f := syntax.Parse(string(text))
		if len(f.Functions) == 0 {
			t.Errorf("%s: no function was found", file)
		}
		for _, fn := range f.Functions {
			for _, p := range fn.Problems {
				t.Errorf("%s:%d: in %s: %s", file, f.Line(p.Offset), fn.Name, p.Text)
			}
		}
	}
}

// Each node covers what is in it, and the names that a tree resolves are
// spelled like their variables.
func check(t *testing.T, f *syntax.File) {
	t.Helper()
	for _, fn := range f.Functions {
		syntax.Walk(fn.Body, func(n *syntax.Node) bool {
			if n.Start < 0 || n.End < n.Start || n.End > len(f.Text) {
				t.Fatalf("a node of kind %d covers %d to %d of %d bytes", n.Kind, n.Start, n.End, len(f.Text))
			}
			if n.Kind != syntax.Bad {
				for _, k := range n.Kids {
					if k != nil && (k.Start < n.Start || k.End > n.End) && k.Kind != syntax.Bad {
						t.Fatalf("a node of kind %d at %d-%d has one of kind %d at %d-%d", n.Kind, n.Start, n.End, k.Kind, k.Start, k.End)
					}
				}
			}
			if n.Kind == syntax.Name && n.Var != nil && n.Var.Name != n.Op {
				t.Fatalf("%q means the variable %q", n.Op, n.Var.Name)
			}
			return true
		})
	}
}

func TestNamesMeanTheVariablesOfTheirScopes(t *testing.T) {
	f := syntax.Parse(`#define AT(i, j) a[(i) * N + (j)]
#define N 8
int i;
static void f(const float *restrict a, unsigned long int n)
{
    for (int i = 0; i < 3; i++) { float x = AT(i, 1); (void)x; }
    i = (int)n * 2;
}`)
	check(t, f)
	fn := f.Find("f")
	if fn == nil || len(fn.Params) != 2 || len(fn.Problems) > 0 {
		t.Fatalf("function %+v", fn)
	}
	if a := fn.Params[0].Type; !a.Restrict || !a.Const || a.Pointers != 1 || a.Base != "float" {
		t.Errorf("a is %+v", a)
	}
	if n := fn.Params[1].Type; n.Base != "unsigned long" {
		t.Errorf("n is %+v", n)
	}
	var seen []string
	syntax.Walk(fn.Body, func(n *syntax.Node) bool {
		if n.Kind == syntax.Name && n.Op == "i" {
			seen = append(seen, fmt.Sprint(n.Var.Global, f.Line(n.Start)))
		}
		return true
	})
	want := "[false 6 false 6 false 6 true 7]"
	if fmt.Sprint(seen) != want {
		t.Errorf("uses of i: %v, want %s", seen, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"", "void f(int a){for(int i=0;i<a;i++)b[i]=c(i)?1:(float2)(2,3);}", "#define A(x) x\nvoid f(){A(A(1));{{{", "enum{A,B};struct s{int a;};int q[]={1,2};void g(s*x){x->a++;switch(1){}}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { check(t, syntax.Parse(text)) })
}
