package calltree_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/calltree"
)

var seconds = []calltree.Metric{{Name: "time", Unit: "s"}}

// node has an exclusive value; NaN is one that is not known.
func node(name string, exclusive float64, children ...*calltree.Node) *calltree.Node {
	n := &calltree.Node{Name: name, Kind: datasets.KindFunction, Children: children, Values: make([]calltree.Value, 1)}
	if !math.IsNaN(exclusive) {
		n.Values[0].Exclusive = datasets.Some(exclusive)
	}
	return n
}

func tree(t *testing.T, roots ...*calltree.Node) *calltree.Tree {
	t.Helper()
	out, err := calltree.New(seconds, roots...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// random is a forest of n nodes with names from few letters, so that functions
// call each other and themselves. A tenth of the values is not known.
func random(rng *rand.Rand, n int) []*calltree.Node {
	var roots, all []*calltree.Node
	for range n {
		v := float64(rng.IntN(1000)) / 8 // sums are exact
		if rng.IntN(10) == 0 {
			v = math.NaN()
		}
		x := node(string(rune('a'+rng.IntN(6))), v)
		x.Module = string(rune('M' + rng.IntN(3)))
		if len(all) == 0 || rng.IntN(8) == 0 {
			roots = append(roots, x)
		} else {
			p := all[rng.IntN(len(all))]
			p.Children = append(p.Children, x)
		}
		all = append(all, x)
	}
	return roots
}

// sum is the sum of all exclusive values.
func sum(t *calltree.Tree) (s float64) {
	for n := range t.All() {
		s += t.Exclusive(n).V
	}
	return s
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b)) }

func TestTotalsAreKept(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		tr := tree(t, random(rng, 1+rng.IntN(80))...)
		total := tr.Total()
		want := sum(tr)
		if !near(total.V, want) {
			t.Fatalf("seed %d: roots have %g, all nodes themselves %g", seed, total.V, want)
		}
		for n := range tr.All() {
			below := 0.0
			for _, c := range n.Children {
				below += tr.Inclusive(c).V
			}
			if !near(tr.Inclusive(n).V, tr.Exclusive(n).V+below) {
				t.Fatalf("seed %d: %s has %v, its children %g", seed, n.Name, n.Values, below)
			}
		}
		flat := 0.0
		for _, r := range tr.Flatten(calltree.ByModule).Rows {
			flat += r.Exclusive.V
		}
		odd := func(n *calltree.Node) bool { return n.Name == "b" || n.Name == "e" }
		for what, got := range map[string]*calltree.Tree{
			"Invert": tr.Invert(), "Prune": tr.Prune(0.1), "Hide": tr.Hide(odd), "Merge": tr.Merge(), "Subtree of all": tr.Subtree(func(*calltree.Node) bool { return true }),
			"Flatten": tree(t, node("x", flat)), "Prune again": tr.Prune(0.01).Prune(0.2),
		} {
			if !near(got.Total().V, want) || !near(sum(got), want) {
				t.Fatalf("seed %d: %s makes %g (nodes themselves %g) of %g", seed, what, got.Total().V, sum(got), want)
			}
		}
		kept := 0.0
		for n := range tr.All() {
			if !odd(n) {
				kept += tr.Exclusive(n).V
			}
		}
		if got := tr.Filter(func(n *calltree.Node) bool { return !odd(n) }); !near(got.Total().V, kept) || len(got.Find(odd)) > 0 {
			t.Fatalf("seed %d: Filter leaves %g, want %g", seed, got.Total().V, kept)
		}
	}
}

// byName is what a recursive walk of its own finds for each name: the sum of
// the exclusive values, and of the inclusive ones of the outermost places.
func byName(tr *calltree.Tree) map[string][2]float64 {
	out := map[string][2]float64{}
	var walk func(ns []*calltree.Node, above string)
	walk = func(ns []*calltree.Node, above string) {
		for _, n := range ns {
			v := out[n.Name]
			v[0] += tr.Exclusive(n).V
			if !strings.Contains(above, n.Name) {
				v[1] += tr.Inclusive(n).V
			}
			out[n.Name] = v
			walk(n.Children, above+n.Name)
		}
	}
	walk(tr.Roots, "")
	return out
}

func flat(tr *calltree.Tree) map[string][2]float64 {
	out := map[string][2]float64{}
	for _, r := range tr.Flatten(calltree.ByName).Rows {
		out[r.Name] = [2]float64{r.Exclusive.V, r.Inclusive.V}
	}
	return out
}

func TestFlatteningCountsRecursionOnceWhateverTheOrder(t *testing.T) {
	for seed := range uint64(100) {
		build := func(scale float64, shuffle bool) *calltree.Tree {
			rng := rand.New(rand.NewPCG(seed, 2))
			roots := random(rng, 60)
			var walk func(ns []*calltree.Node)
			walk = func(ns []*calltree.Node) {
				if shuffle {
					rng.Shuffle(len(ns), func(i, j int) { ns[i], ns[j] = ns[j], ns[i] })
				}
				for _, n := range ns {
					n.Values[0].Exclusive.V *= scale
					walk(n.Children)
				}
			}
			walk(roots)
			return tree(t, roots...)
		}
		tr := build(1, false)
		want := flat(tr)
		if got := byName(tr); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: flattened %v, want %v", seed, want, got)
		}
		if got := flat(build(1, true)); !reflect.DeepEqual(want, got) {
			t.Fatalf("seed %d: another order of rows gives %v, want %v", seed, got, want)
		}
		// In a unit 1024 times as large all is 1/1024, and shares are the same.
		small := build(1.0/1024, false)
		for name, v := range flat(small) {
			if v[0]*1024 != want[name][0] || v[1]*1024 != want[name][1] {
				t.Fatalf("seed %d: scaled %s is %v of %v", seed, name, v, want[name])
			}
		}
		if a, b := tr.HotPath(0.4).Names(), small.HotPath(0.4).Names(); !slices.Equal(a, b) {
			t.Fatalf("seed %d: the hot path depends on the unit: %v, %v", seed, a, b)
		}
		// Inverted, the roots are the functions with what they have themselves.
		for _, r := range tr.Invert().Roots {
			if got := tr.Invert().Inclusive(r).V; got != want[r.Name][0] {
				t.Fatalf("seed %d: inverted %s has %g, want %g", seed, r.Name, got, want[r.Name][0])
			}
		}
	}
}

func TestSplittingANodeChangesNothing(t *testing.T) {
	whole := tree(t, node("main", 1, node("solve", 6, node("dot", 4)), node("write", 1)))
	parts := tree(t, node("main", 1, node("solve", 2, node("dot", 3)), node("write", 1), node("solve", 4, node("dot", 1))))
	if a, b := flat(whole), flat(parts); !reflect.DeepEqual(a, b) {
		t.Errorf("flattened %v, want %v", b, a)
	}
	if a, b := whole.String(), parts.Merge().String(); a != b {
		t.Errorf("merged:\n%s\nwant\n%s", b, a)
	}
	c, err := calltree.Compare(whole, parts)
	if err != nil {
		t.Fatal(err)
	}
	if top := c.Top(9); len(top) != 0 {
		t.Errorf("%d nodes changed, the first is %s", len(top), top[0].Name)
	}
	if a, b := calltree.Flame(whole).SVG(), calltree.Flame(parts).SVG(); a != b {
		t.Error("the flame graphs differ")
	}
}

func TestHotPathEndsWhereTimeSpreads(t *testing.T) {
	// main 20: solve 15 (dot 6, axpy 5), write 4. 15/20 = 75 %, 6/15 = 40 %.
	tr := tree(t, node("init", 2), node("main", 1, node("write", 4), node("solve", 4, node("dot", 6), node("axpy", 5))))
	for threshold, want := range map[float64]string{0: "main solve", 0.5: "main solve", 0.4: "main solve dot", 0.76: "main"} {
		if got := strings.Join(tr.HotPath(threshold).Names(), " "); got != want {
			t.Errorf("%g: %s, want %s", threshold, got, want)
		}
	}
	text := tr.HotPath(0.4).String()
	for _, want := range []string{"dot holds 27.3 % of 22 s", "40.0 %"} { // 6 of 22
		if !strings.Contains(text, want) {
			t.Errorf("the path lacks %q:\n%s", want, text)
		}
	}
	if p := tree(t, node("a", 0)).HotPath(0); p.Last() != nil || !strings.Contains(p.String(), "there is no hot path") {
		t.Errorf("nothing is hot: %s", p)
	}
}

func TestSquashKeepsAncestorsConnected(t *testing.T) {
	tr := tree(t, node("main", 1, node("mpi", 2, node("solve", 3, node("mpi", 4, node("dot", 5))))))
	notMPI := func(n *calltree.Node) bool { return n.Name != "mpi" }
	got := tr.Filter(notMPI)
	if p := got.Find(calltree.Named("dot"))[0].Path(); !slices.Equal(p, []string{"main", "solve", "dot"}) {
		t.Errorf("path %v", p)
	}
	// 2 and 4 of 15 leave.
	if got.Total().V != 9 || !strings.Contains(got.String(), "filtered: 2 nodes left out, with 6 s of 15 s") {
		t.Errorf("filtered:\n%s", got)
	}
	hidden := tr.Hide(func(n *calltree.Node) bool { return !notMPI(n) })
	if f := flat(hidden); f["main"] != [2]float64{3, 15} || f["solve"] != [2]float64{7, 12} {
		t.Errorf("hidden: %v", f)
	}
	// The root goes: its own second stays as a root of its own.
	if f := tr.Hide(calltree.Named("main")); f.Total().V != 15 || f.Roots[1].Kind != calltree.KindRest || f.Exclusive(f.Roots[1]).V != 1 {
		t.Errorf("hidden root:\n%s", f)
	}
	if sub := tr.Subtree(calltree.Named("mpi")); len(sub.Roots) != 1 || sub.Total().V != 14 || sub.Roots[0].Parent() != nil {
		t.Errorf("subtree:\n%s", sub)
	}
	if n := tr.Find(calltree.Named("dot"))[0]; len(n.Path()) != 5 || tr.Total().V != 15 {
		t.Error("the tree itself has changed")
	}
}

func TestPruningSaysHowMuchItTook(t *testing.T) {
	tr := tree(t, node("main", 50, node("a", 40), node("b", 1, node("c", 2)), node("d", math.NaN()), node("e", 7)))
	p := tr.Prune(0.05)
	var names []string
	for n := range p.All() {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"main", "a", "e", "(3 more)"}) { // b with c, d
		t.Errorf("%v", names)
	}
	if rest := p.Find(calltree.Named("(3 more)"))[0]; p.Inclusive(rest).V != 3 || rest.Kind != calltree.KindRest {
		t.Errorf("%+v", rest)
	}
	if again := p.Prune(0.1); len(again.Find(calltree.Named("(4 more)"))) != 1 {
		t.Errorf("pruned again:\n%s", again)
	}
}

func TestUnknownIsNotZeroAndNegativeIsSaid(t *testing.T) {
	nan := math.NaN()
	tr := tree(t, node("main", nan, node("a", 2), node("b", nan)), node("c", nan))
	main := tr.Roots[0]
	if tr.Exclusive(main).Valid || tr.Inclusive(main).V != 2 || tr.Inclusive(main.Children[1]).Valid || tr.Inclusive(tr.Roots[1]).Valid {
		t.Errorf("values %+v", tr)
	}
	text := tr.String()
	for _, want := range []string{"n/a       n/a            c", "time is not known of 2 of 4 nodes"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if r, _ := tr.Flatten(calltree.ByName).Row("b"); r.Exclusive.Valid || r.Unknown != 1 {
		t.Errorf("b is %+v", r)
	}
	if tot := tree(t, node("x", nan)).Total(); tot.Valid {
		t.Errorf("the total of nothing is %v", tot)
	}
	// Two children that ran at the same time, 3 s each, within 4 s.
	in := func(name string, v float64, children ...*calltree.Node) *calltree.Node {
		n := node(name, nan, children...)
		n.Values[0].Inclusive = datasets.Some(v)
		return n
	}
	tr = tree(t, in("parallel", 4, in("left", 3), in("right", 3)))
	if v := tr.Exclusive(tr.Roots[0]); v.V != -2 || !strings.Contains(tr.String(), "time below 0 in 1 node, -2 s in all, the lowest -2 s in parallel") {
		t.Errorf("%v\n%s", v, tr)
	}
	pic := calltree.Flame(tr)
	if f := pic.Frames; len(f) != 3 || !f[0].Squeezed || f[1].W != 0.5 || f[2].X != 0.5 || f[2].W != 0.5 {
		t.Errorf("frames %+v", pic.Frames)
	}
}

func TestComparedNodeByNode(t *testing.T) {
	before := tree(t, node("main", 1, node("solve", 10), node("old", 2), node("lost", 5)))
	after := tree(t, node("main", 1, node("solve", 15), node("new", 3), node("lost", math.NaN())))
	c, err := calltree.Compare(before, after)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range c.Top(9) {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"solve", "new", "old"}) { // +5, +3, -2
		t.Errorf("top %v", names)
	}
	of := func(name string) (calltree.Change, string) {
		n := c.Tree.Find(calltree.Named(name))[0]
		return c.Exclusive(n), c.Only(n)
	}
	if ch, only := of("solve"); ch.Absolute.V != 5 || ch.Relative.V != 0.5 || only != "" {
		t.Errorf("solve %+v %q", ch, only)
	}
	if ch, only := of("new"); ch.Absolute.V != 3 || ch.Relative.Valid || ch.Before.Valid || only != "after" {
		t.Errorf("new %+v %q", ch, only)
	}
	if ch, only := of("old"); ch.Absolute.V != -2 || ch.Relative.Valid && ch.Relative.V != -1 || only != "before" {
		t.Errorf("old %+v %q", ch, only)
	}
	if ch, _ := of("lost"); ch.Absolute.Valid {
		t.Errorf("the change of what is not known is %+v", ch)
	}
	if tot := c.Total(); tot.Before.V != 18 || tot.After.V != 19 || tot.Absolute.V != 1 {
		t.Errorf("total %+v", tot)
	}
	fs := c.Findings(2)
	if len(fs) != 2 || fs[0].ID != "calltree.change.1" || fs[0].Value != 5 || !near(fs[0].Share, 5.0/18) || !strings.Contains(fs[1].Text, "new itself went from not there to 3 s") {
		t.Errorf("findings %+v", fs)
	}
	if _, err := calltree.Compare(before, nil); err == nil {
		t.Error("nothing was compared")
	}
	bytes, err := calltree.New([]calltree.Metric{{Name: "bytes", Unit: "byte"}}, node("main", 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := calltree.Compare(before, bytes); err == nil || !strings.Contains(err.Error(), "cannot be subtracted") {
		t.Errorf("seconds and bytes: %v", err)
	}
}

func TestMetricsAreKeptApart(t *testing.T) {
	n := &calltree.Node{Name: "f", Values: []calltree.Value{{Exclusive: datasets.Some(2.0)}, {Exclusive: datasets.Some(700.0)}}}
	tr, err := calltree.New([]calltree.Metric{{Name: "time", Unit: "s"}, {Name: "bytes", Unit: "byte"}}, n)
	if err != nil {
		t.Fatal(err)
	}
	by, err := tr.By("bytes")
	if err != nil || by.Total().V != 700 || tr.Total().V != 2 || by.Invert().Total().V != 700 {
		t.Errorf("%v: %v and %v", err, by.Total(), tr.Total())
	}
	if _, err := tr.By("flops"); err == nil || !strings.Contains(err.Error(), "it has time, bytes") {
		t.Errorf("%v", err)
	}
	df, err := by.Frame()
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"node", "parent", "depth", "name", "raw", "kind", "module", "file", "line", "count", "run_id", "region_id", "time", "time (inc)", "bytes", "bytes (inc)"}; !slices.Equal(df.Names(), want) {
		t.Errorf("columns %v", df.Names())
	}
	if !df.Col("parent").Elem(0).IsNA() || df.Col("bytes (inc)").Elem(0).Float() != 700 {
		t.Errorf("%v", df)
	}
}

func TestWhatIsNoTreeIsRefused(t *testing.T) {
	twice := node("twice", 1)
	loop := node("loop", 1)
	loop.Children = []*calltree.Node{loop}
	for want, f := range map[string]func() (*calltree.Tree, error){
		"in the tree twice": func() (*calltree.Tree, error) { return calltree.New(seconds, node("a", 1, twice), twice) },
		`"loop" is in the`:  func() (*calltree.Tree, error) { return calltree.New(seconds, loop) },
		"nil node":          func() (*calltree.Tree, error) { return calltree.New(seconds, nil) },
		"needs a metric":    func() (*calltree.Tree, error) { return calltree.New(nil, node("a", 1)) },
		"2 metrics":         func() (*calltree.Tree, error) { return calltree.New(make([]calltree.Metric, 2), node("a", 1)) },
		"leave out what":    func() (*calltree.Tree, error) { return calltree.New(seconds, node("a", math.Inf(1))) },
	} {
		if _, err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

func TestGraphBecomesATree(t *testing.T) {
	f := func(name string, own float64) calltree.Function {
		return calltree.Function{Node: calltree.Node{Name: name, Kind: datasets.KindFunction}, Own: []float64{own}}
	}
	call := func(from, to int, v float64) calltree.Call {
		return calltree.Call{From: from, To: to, Values: []float64{v}}
	}
	// main (10) calls a (30 of its 60 with c) and b; both call c, which has 40, and c calls d.
	// c: 40 own + 20 for d = 60, of which a has 45 and b 15.
	// a: 10 + 45 = 55; b: 5 + 15 = 20; main: 10 + 55 + 20 = 85 = 10+10+5+40+20.
	tr, err := calltree.FromGraph(seconds, []calltree.Function{f("main", 10), f("a", 10), f("b", 5), f("c", 40), f("d", 20)},
		[]calltree.Call{call(0, 1, 55), call(0, 2, 20), call(1, 3, 45), call(2, 3, 15), call(3, 4, 20)})
	if err != nil {
		t.Fatal(err)
	}
	if tr.Total().V != 85 || len(tr.Roots) != 1 || !near(sum(tr), 85) || !strings.Contains(tr.String(), "an estimate") {
		t.Errorf("\n%s", tr)
	}
	// b has a quarter of c: 10 of its own 40, 5 of d's 20.
	for _, n := range tr.Find(calltree.Named("d")) {
		want := map[string]float64{"a": 15, "b": 5}[n.Parent().Parent().Name]
		if got := tr.Inclusive(n).V; !near(got, want) {
			t.Errorf("d below %s has %g, want %g", n.Parent().Parent().Name, got, want)
		}
	}
	if got := flat(tr); got["c"] != [2]float64{40, 60} || got["d"] != [2]float64{20, 20} {
		t.Errorf("flattened %v", got)
	}
	// A circle below main: f and g call each other.
	tr, err = calltree.FromGraph(seconds, []calltree.Function{f("main", 1), f("f", 4), f("g", 3)}, []calltree.Call{call(0, 1, 7), call(1, 2, 4), call(2, 1, 1), call(1, 1, 99)})
	if err != nil {
		t.Fatal(err)
	}
	if !near(tr.Total().V, 8) || !near(sum(tr), 8) || !strings.Contains(tr.String(), "1 call closing a cycle: leaves") {
		t.Errorf("\n%s", tr)
	}
	for want, g := range map[string][]calltree.Call{"the call from 0 to 7": {call(0, 7, 1)}} {
		if _, err := calltree.FromGraph(seconds, []calltree.Function{f("main", 1)}, g); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v", err)
		}
	}
}

func TestDeepTreesAreNoTrouble(t *testing.T) {
	const depth = 20_000
	at := node("f", 1)
	for range depth - 1 {
		at = node("f", 1, at)
	}
	tr := tree(t, at)
	if tr.Total().V != depth || tr.Len() != depth {
		t.Fatalf("%v in %d nodes", tr.Total(), tr.Len())
	}
	if r, _ := tr.Flatten(calltree.ByName).Row("f"); r.Inclusive.V != depth || r.Exclusive.V != depth {
		t.Errorf("recursion: %+v", r.Inclusive)
	}
	if got := len(tr.HotPath(0).Nodes); got != depth {
		t.Errorf("the hot path has %d nodes", got)
	}
	if svg := calltree.Flame(tr).SVG(); len(svg) > 2e6 || !strings.Contains(svg, fmt.Sprintf("%d nodes of %d too small to draw", depth-300, depth)) {
		t.Errorf("the picture of a deep tree has %d bytes", len(svg))
	}
	if text := tr.String(); len(text) > 100_000 {
		t.Errorf("the text has %d bytes", len(text))
	}
	// All callers of all calls would be two hundred million.
	if inv := tr.Invert(); !near(inv.Total().V, depth) || !near(sum(inv), depth) || !strings.Contains(inv.String(), "callers of 1 node are left out") {
		t.Errorf("inverted %v\n%s", inv.Total(), inv)
	}
}
