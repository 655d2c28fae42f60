package generate

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/opencl"
	"github.com/rooflab/rooflab/datasets"
	_ "github.com/rooflab/rooflab/datasets/duckdb"
)

func TestMain(m *testing.M) {
	opencl.ServeIfAsked()
	os.Exit(m.Run())
}

func TestCorpusIsTheSameForASeed(t *testing.T) {
	a, b, other := New(3, 4), New(3, 4), New(4, 4)
	differ := false
	seen := map[string]bool{}
	for range 200 {
		x, y, z := a.Next(), b.Next(), other.Next()
		if fmt.Sprint(x) != fmt.Sprint(y) {
			t.Fatalf("equal seeds gave\n%v\nand\n%v", x, y)
		}
		differ = differ || x.Source != z.Source
		if key := anonymous(x.Source); seen[key] {
			t.Errorf("twice the same kernel:\n%s", x.Source)
		} else {
			seen[key] = true
		}
		for _, l := range x.Launches {
			if l.Accesses < fewestAccesses || l.Accesses > mostAccesses || l.Bytes > mostBytes {
				t.Errorf("%s %v: %g accesses, %d bytes", x.Name, l.Args, l.Accesses, l.Bytes)
			}
		}
	}
	if !differ {
		t.Error("another seed gave the same kernels")
	}
}

// Names, comments and indentation make no other kernel, an operator does.
func TestAnonymous(t *testing.T) {
	a := "kernel void f(global float *x) {\n  // doubles\n  x[0] = x[0] + 1.5f;\n}\n"
	b := "kernel void g(global float *data) {\n    data[0] = data[0] + 1.5f;\n}\n"
	c := strings.ReplaceAll(b, "+", "*")
	if anonymous(a) != anonymous(b) || anonymous(a) == anonymous(c) {
		t.Errorf("%q\n%q\n%q", anonymous(a), anonymous(b), anonymous(c))
	}
}

// The text of an index, read by Go's parser (its + - * / % and min, max bind and
// round as C's do for numbers that are not negative), has the value of the tree;
// and the value lies within the span, for all values of the variables.
func TestIndexTextAndSpan(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		x := randomIndex(r, 1+r.IntN(4))
		e := &env{values: map[string]int64{"n": 1 + r.Int64N(20)}}
		e.scope = []binding{{"i", lit(0), minus(variable("n"), lit(1))}, {"j", variable("i"), lit(40)}}
		s, ok := spanOf(x, e)
		if !ok {
			continue // a division that the package refuses
		}
		tree, err := parser.ParseExpr(x.String())
		if err != nil {
			t.Fatalf("%s: %v", x, err)
		}
		n := e.values["n"]
		for i := int64(0); i < n; i++ {
			for j := i; j <= 40; j += 3 {
				at := map[string]int64{"n": n, "i": i, "j": j}
				want := x.span(&env{values: at}) // of single values: the tree's value
				got := evaluate(t, tree, at)
				if want.lo != want.hi || got != want.lo || got < s.lo || got > s.hi {
					t.Fatalf("%s with %v: text %d, tree %v, span %v", x, at, got, want, s)
				}
			}
		}
	}
}

func spanOf(x index, e *env) (s span, ok bool) {
	defer func() { ok = recover() == nil }()
	return x.span(e), true
}

func randomIndex(r *rand.Rand, depth int) index {
	if depth == 0 {
		switch r.IntN(3) {
		case 0:
			return lit(1 + r.Int64N(9))
		}
		return variable([]string{"i", "j", "n"}[r.IntN(3)])
	}
	return binary{"+-*/%mM"[r.IntN(7)], randomIndex(r, depth-1), randomIndex(r, r.IntN(depth))}
}

func evaluate(t *testing.T, e ast.Expr, at map[string]int64) int64 {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return evaluate(t, e.X, at)
	case *ast.BasicLit:
		n, err := strconv.ParseInt(e.Value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	case *ast.Ident:
		return at[e.Name]
	case *ast.CallExpr:
		a, b := evaluate(t, e.Args[0], at), evaluate(t, e.Args[1], at)
		if e.Fun.(*ast.Ident).Name == "min" {
			return min(a, b)
		}
		return max(a, b)
	case *ast.BinaryExpr:
		a, b := evaluate(t, e.X, at), evaluate(t, e.Y, at)
		switch e.Op {
		case token.ADD:
			return a + b
		case token.SUB:
			return a - b
		case token.MUL:
			return a * b
		case token.QUO:
			return a / b
		case token.REM:
			return a % b
		}
	}
	t.Fatalf("%T in an index", e)
	return 0
}

// A kernel of each pattern is built and launched, with accesses that count what
// is out of bounds: none is. All launches end well.
func TestKernelsStayInBounds(t *testing.T) {
	dir := t.TempDir()
	var ks []Kernel
	launches := 0
	for i, p := range patterns {
		k, ok := p.kernel([2]uint64{uint64(100 + i), 1}, 2, true)
		if !ok {
			t.Fatalf("no launch fits a kernel of pattern %s:\n%s", p.name, k.Source)
		}
		ks = append(ks, k)
		launches += len(k.Launches)
	}
	path, err := WriteJob(dir, ks, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	expectNoFaults(t, path)
	s, err := datasets.Open(filepath.Join(dir, "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := collectors.Collect(context.Background(), s, "opencl", []string{"-job", path}, collectors.Job{}); err != nil {
		t.Fatal(err)
	}
	df, err := s.Query(context.Background(), "SELECT coalesce(r.error, '') AS error, r.status, count(l.id) AS launches FROM run r LEFT JOIN launch l ON l.run_id = r.id GROUP BY ALL")
	if err != nil {
		t.Fatal(err)
	}
	if df.Nrow() != 1 || df.Elem(0, 1).String() != datasets.RunOK || df.Elem(0, 2).String() != fmt.Sprint(launches) {
		t.Errorf("%v\n(a device is needed: apt install pocl-opencl-icd)", df)
	}
}

// expectNoFaults makes a job check the counter of accesses out of bounds.
func expectNoFaults(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var job map[string]any
	if err := json.Unmarshal(data, &job); err != nil {
		t.Fatal(err)
	}
	for _, p := range job["programs"].([]any) {
		for _, l := range p.(map[string]any)["launches"].([]any) {
			l.(map[string]any)["expect"] = map[string]string{"rooflab_faults": "all=0"}
		}
	}
	if data, err = json.Marshal(job); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A measurement that was cut off after some kernels goes on with the others.
func TestMeasureGoesOn(t *testing.T) {
	s, err := datasets.Open(filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	opt := Options{Seed: 5, Kernels: 2, Launches: 2, Warmup: -1, Repeats: 2, Batch: 1}
	first, err := Measure(context.Background(), s, opt)
	if err != nil || first != (Report{Measured: 2}) {
		t.Fatal(first, err)
	}
	opt.Kernels = 3
	second, err := Measure(context.Background(), s, opt)
	if err != nil || second != (Report{Measured: 1, There: 2}) {
		t.Fatal(second, err)
	}
	stopped, stop := context.WithCancel(context.Background())
	stop()
	opt.Kernels = 4
	if r, err := Measure(stopped, s, opt); err == nil {
		t.Error("an interrupted measurement ended well:", r)
	}
	df, err := s.Query(context.Background(), "SELECT count(*) FROM run")
	if err != nil || df.Elem(0, 0).String() != "3" {
		t.Error(df, err)
	}
	// The same launches are there twice: repeats.
	df, err = s.Query(context.Background(), "SELECT count(*) FROM counter WHERE metric = 'kernel_time' AND value > 0")
	want := 0
	c := New(5, 2)
	for range 3 {
		want += 2 * len(c.Next().Launches)
	}
	if err != nil || df.Elem(0, 0).String() != fmt.Sprint(want) {
		t.Error(df, err, want)
	}
}
