package kernelcost_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors/opencl/generate"
	"github.com/rooflab/rooflab/modeling/kernelcost"
	"github.com/rooflab/rooflab/modeling/kernelcost/csource"
)

// scribe writes random kernels that end: integers that control loops, branches
// and indices, no data.
type scribe struct {
	r     *rand.Rand
	b     strings.Builder
	vars  []string // may be read
	free  []string // may be written
	count int
	loops int
}

func (w *scribe) name() string { w.count++; return fmt.Sprintf("t%d", w.count) }

func (w *scribe) pick(ss ...string) string { return ss[w.r.IntN(len(ss))] }

func (w *scribe) expr(depth int) string {
	if depth == 0 || w.r.IntN(4) == 0 {
		if w.r.IntN(4) == 0 {
			return fmt.Sprint(w.r.IntN(20))
		}
		return w.vars[w.r.IntN(len(w.vars))]
	}
	a, c := w.expr(depth-1), 1+w.r.IntN(12)
	switch w.r.IntN(10) {
	case 0, 1:
		return fmt.Sprintf("(%s + %s)", a, w.expr(depth-1))
	case 2:
		return fmt.Sprintf("(%s - %s)", a, w.expr(depth-1))
	case 3:
		return fmt.Sprintf("(%s * %d)", a, c)
	case 4:
		return fmt.Sprintf("(%s / %d)", a, c)
	case 5:
		return fmt.Sprintf("(%s %% %d)", a, c)
	case 6:
		return fmt.Sprintf("(%s & %d)", a, w.r.IntN(64))
	case 7:
		return fmt.Sprintf("(%s >> %d)", a, w.r.IntN(4))
	case 8:
		return fmt.Sprintf("%s(%s, %s)", w.pick("min", "max"), a, w.expr(depth-1))
	}
	return fmt.Sprintf("(%s ? %s : %s)", w.cond(depth-1), a, w.expr(depth-1))
}

func (w *scribe) cond(depth int) string {
	c := fmt.Sprintf("%s %s %s", w.expr(depth), w.pick("<", "<", ">", "<=", ">=", "==", "!="), w.expr(0))
	switch w.r.IntN(7) {
	case 0:
		return fmt.Sprintf("((%s) && %s)", c, w.cond(0))
	case 1:
		return fmt.Sprintf("(%s || %s)", c, w.cond(0))
	case 2:
		return fmt.Sprintf("(!(%s))", c)
	}
	return "(" + c + ")"
}

func (w *scribe) block(depth, n int) {
	vars, free := len(w.vars), len(w.free)
	for range n {
		w.statement(depth)
	}
	w.vars, w.free = w.vars[:vars], w.free[:free]
}

func (w *scribe) statement(depth int) {
	line := func(format string, args ...any) { fmt.Fprintf(&w.b, format+"\n", args...) }
	k := w.r.IntN(16)
	if depth == 0 {
		k %= 8
	}
	switch k {
	case 0, 1:
		t := w.name()
		line("int %s = %s %% 997;", t, w.expr(2))
		w.vars, w.free = append(w.vars, t), append(w.free, t)
	case 2:
		if len(w.free) > 0 {
			t := w.free[w.r.IntN(len(w.free))]
			line("%s", w.pick(t+"++;", t+" += "+fmt.Sprint(w.r.IntN(9))+";", t+" = "+w.expr(2)+" % 997;", "if "+w.cond(1)+" "+t+"--;"))
		}
	case 3:
		if w.loops > 0 && w.r.IntN(3) == 0 {
			line("if %s %s;", w.cond(1), w.pick("break", "continue"))
		} else if w.r.IntN(6) == 0 {
			line("if %s return;", w.cond(1))
		}
	case 4, 5, 6, 7:
		line("a[%s] = 1;", w.pick(w.expr(2), "("+w.expr(2)+" & 255)", w.expr(1)))
	case 8, 9, 10, 11:
		line("if %s {", w.cond(1))
		w.block(depth-1, 1+w.r.IntN(3))
		if w.r.IntN(2) == 0 {
			line("} else {")
			w.block(depth-1, 1+w.r.IntN(2))
		}
		line("}")
	case 12, 13, 14:
		t := w.name()
		end := w.pick(fmt.Sprint(1+w.r.IntN(40)), "n % 30", "i % 9", "(l + 3)", "m", w.expr(1)+" % 20")
		line("%s", w.pick(
			fmt.Sprintf("for (int %s = %s %% 5; %s < %s; %s += %d) {", t, w.expr(1), t, end, t, 1+w.r.IntN(3)),
			fmt.Sprintf("for (int %s = 0; %s < %s; %s++) {", t, t, end, t),
			fmt.Sprintf("for (int %s = %s; %s > 0; %s--) {", t, end, t, t),
			fmt.Sprintf("for (int %s = %d; %s > 0; %s >>= 1) {", t, 1+w.r.IntN(200), t, t)))
		w.vars = append(w.vars, t)
		w.loops++
		w.block(depth-1, 1+w.r.IntN(3))
		w.loops--
		w.vars = w.vars[:len(w.vars)-1]
		line("}")
	case 15:
		t := w.name()
		line("int %s = %s %% 10;\nwhile (%s < %d) {\n%s += %d;", t, w.expr(1), t, w.r.IntN(60), t, 1+w.r.IntN(3))
		w.vars = append(w.vars, t)
		loops := w.loops
		w.loops = 0 // continue and break are for others
		w.block(depth-1, 1+w.r.IntN(2))
		w.loops = loops
		line("}")
	}
}

// Random kernels, executed: every index lies within what is said to be enough,
// and where nothing is assumed or sampled the number of accesses is the same.
func TestRandomKernelsAgainstExecution(t *testing.T) {
	n := 120
	if testing.Short() {
		n = 30
	}
	var ts []*trial
	for seed := range uint64(n) {
		w := &scribe{r: rand.New(rand.NewPCG(seed, 77)), vars: []string{"i", "l", "n", "m"}}
		w.block(3, 8)
		k := generate.Kernel{Name: "f", Source: "__kernel void f(__global int *a, const int n, const int m) {\nint i = get_global_id(0); int l = get_local_id(0);\n" + w.b.String() + "}\n"}
		l := generate.Launch{Global: []int64{64 * (1 + w.r.Int64N(20))}, Local: []int64{[]int64{1, 16, 64}[w.r.IntN(3)]}}
		values := [2]int{w.r.IntN(1000), w.r.IntN(12)}
		l.Args = []string{"a=buf:int:1:nothing:rw", fmt.Sprintf("n=int:%d", values[0]), fmt.Sprintf("m=int:%d", values[1])}
		p := kernelcost.Parse(k.Source, csource.Options{})
		c, err := p.Analyse(kernelcost.Launch{Scalars: map[string]float64{"n": float64(values[0]), "m": float64(values[1])}, Global: l.Global, Local: l.Local})
		if err != nil || len(p.Unit.Problems) > 0 {
			t.Fatal(err, p.Unit.Problems, k.Source)
		}
		ts = append(ts, &trial{k: k, l: l, p: p, c: c})
	}
	execute(t, ts)
	exact, known, tight := 0, 0, 0
	for _, x := range ts {
		e := x.extents["a"]
		b, _ := x.c.Buffer("a")
		if b.Known && x.n[7] > 0 {
			known++
			if e[1] == b.Elements() {
				tight++
			}
			if e[0] < 0 || e[1] > b.Elements() || b.Tight && e[1] != b.Elements() {
				t.Errorf("indices from %d to %d, %d elements are said to be enough, reached: %v\n%v %v\n%s", e[0], e[1]-1, b.Elements(), b.Tight, x.l.Global, x.l.Args, x.k.Source)
			}
		}
		if x.c.AssumedShare() == 0 && x.c.SampledShare() == 0 && x.c.Unseen == 0 {
			exact++
			if math.Abs(x.c.Total.Accesses()-x.n[7]) > 1e-6*x.n[7] {
				t.Errorf("%g accesses, executed %g\n%v %v %v\n%s", x.c.Total.Accesses(), x.n[7], x.l.Global, x.l.Local, x.l.Args, x.c.LineTable())
			}
		}
	}
	t.Logf("%d kernels: counts of %d exact; bounds of %d known, %d of them as executed", n, exact, known, tight)
}
