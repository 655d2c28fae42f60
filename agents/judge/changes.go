package judge

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules/syntax"
)

// trips is what a loop counts as whose iterations are not in the text.
const trips = 16

// classes are what is counted in the text, each by how often loops around it run.
var classes = []string{"arithmetic", "division", "load", "store", "strided", "unit", "invariant", "call", "branch", "loop"}

// marks are words whose number in the text says how it runs.
var marks = map[string]*regexp.Regexp{
	"parallel": regexp.MustCompile(`omp[ \t]+(parallel|target)|\bomp[ \t]+for\b`),
	"simd":     regexp.MustCompile(`\bomp[^\n]*\bsimd\b|\bivdep\b|\bvector(ize)?\b`),
	"unroll":   regexp.MustCompile(`#\s*pragma[^\n]*unroll`),
	"restrict": regexp.MustCompile(`\brestrict\b|__restrict`),
	"local":    regexp.MustCompile(`\b(__local|local|__shared__)\b`),
	"barrier":  regexp.MustCompile(`\bbarrier\b|__syncthreads`),
	"vectors":  regexp.MustCompile(`\b(float|double|int|uint)(2|4|8|16)\b|\bvload\d+|__m(128|256|512)`),
	"options":  regexp.MustCompile(`__attribute__|#\s*pragma\s+GCC`),
}

// Changes are numbers about the difference of two programs' texts, by name: for
// each class of operation in functions that differ, log2 of how many more there
// are (each counted as often as the loops around it run, 16 times where the text
// does not say); for pragmas and qualifiers, how many more (-4 to 4). 0 is no
// change. transformation, where there is one, is a further name of value 1.
func Changes(before, after []edit.Source, transformation string) map[string]float64 {
	a, b := functions(before), functions(after)
	var was, is tally
	for name, text := range a {
		if b[name] != text {
			was.add(text)
		}
	}
	for name, text := range b {
		if a[name] != text {
			is.add(text)
		}
	}
	out := map[string]float64{}
	for i, c := range classes {
		out["log2_"+c] = math.Log2((is.of[i] + 1) / (was.of[i] + 1))
	}
	texts := func(ss []edit.Source) string {
		var all []string
		for _, s := range ss {
			all = append(all, s.Text)
		}
		return strings.Join(all, "\n")
	}
	x, y := texts(before), texts(after)
	for name, re := range marks {
		n := len(re.FindAllStringIndex(y, -1)) - len(re.FindAllStringIndex(x, -1))
		out["more_"+name] = float64(max(-4, min(4, n)))
	}
	if transformation != "" {
		out["rule_"+transformation] = 1
	}
	return out
}

// functions are the texts of functions by file and name; those of one name are
// one text.
func functions(ss []edit.Source) map[string]string {
	out := map[string]string{}
	for _, s := range ss {
		for _, f := range syntax.Parse(s.Text).Functions {
			out[s.Path+" "+f.Name] += s.Text[f.Start:f.End] + "\n"
		}
	}
	return out
}

// tally is a count of each class.
type tally struct{ of [10]float64 }

const (
	arithmetic = iota
	division
	load
	store
	strided
	unit
	invariant
	call
	branch
	loops
)

// most bounds a count: of a text that nests loops without end.
const most = 1e15

func (t *tally) add(text string) {
	for _, f := range syntax.Parse(text).Functions {
		t.walk(f.Body, 1, "")
	}
}

func (t *tally) count(class int, times float64) { t.of[class] = min(most, t.of[class]+times) }

// walk counts what is in a node that runs so many times within a loop over a
// variable.
func (t *tally) walk(n *syntax.Node, times float64, over string) {
	if n == nil {
		return
	}
	switch n.Kind {
	case syntax.For:
		t.walk(n.Kid(0), times, over)
		inner := min(most, times*iterations(n))
		if v := counter(n); v != "" {
			over = v
		}
		t.count(loops, inner)
		for _, k := range n.Kids[min(1, len(n.Kids)):] {
			t.walk(k, inner, over)
		}
		return
	case syntax.While, syntax.Do:
		t.count(loops, min(most, times*trips))
		for _, k := range n.Kids {
			t.walk(k, min(most, times*trips), over)
		}
		return
	case syntax.If, syntax.Conditional:
		t.count(branch, times)
	case syntax.Binary:
		switch n.Op {
		case "/", "%":
			t.count(division, times)
		case ",":
		default:
			t.count(arithmetic, times)
		}
	case syntax.Unary, syntax.Postfix:
		t.count(arithmetic, times)
	case syntax.Assign:
		if target := n.Kid(0).Bare(); target != nil && target.Kind == syntax.Index {
			t.count(store, times)
			if n.Op == "=" {
				t.count(load, -times) // the walk below counts it
			}
		}
		switch n.Op {
		case "=":
		case "/=", "%=":
			t.count(division, times)
		default:
			t.count(arithmetic, times)
		}
	case syntax.Index:
		t.count(load, times)
		t.count(pattern(n, over), times)
	case syntax.Call:
		t.count(call, times)
	default:
	}
	for _, k := range n.Kids {
		t.walk(k, times, over)
	}
}

// counter is the variable that a for loop steps, "" where it is not one.
func counter(n *syntax.Node) string {
	step := n.Kid(2).Bare()
	if step == nil || step.Kind != syntax.Unary && step.Kind != syntax.Postfix && step.Kind != syntax.Assign {
		return ""
	}
	if v := step.Kid(0).Bare(); v != nil && v.Kind == syntax.Name {
		return v.Op
	}
	return ""
}

// iterations is how often a loop's body runs, where its bounds are numbers.
func iterations(n *syntax.Node) float64 {
	from, ok := start(n.Kid(0))
	condition := n.Kid(1).Bare()
	if !ok || condition == nil || condition.Kind != syntax.Binary || !slices.Contains([]string{"<", "<=", "!="}, condition.Op) {
		return trips
	}
	to, ok := value(condition.Kid(1))
	if !ok || to <= from {
		return trips
	}
	by := 1.0
	if step := n.Kid(2).Bare(); step != nil && step.Kind == syntax.Assign && step.Op == "+=" {
		if v, ok := value(step.Kid(1)); ok && v > 0 {
			by = v
		}
	}
	return max(1, min(1e9, math.Ceil((to-from)/by)))
}

// start is the number that a loop begins with.
func start(n *syntax.Node) (float64, bool) {
	if n == nil {
		return 0, false
	}
	switch n.Kind {
	case syntax.Declare:
		if len(n.Kids) == 1 {
			return value(n.Kids[0].Kid(0))
		}
	case syntax.Evaluate:
		return start(n.Kid(0))
	case syntax.Assign:
		return value(n.Kid(1))
	default:
	}
	return 0, false
}

// value is that of a number.
func value(n *syntax.Node) (float64, bool) {
	n = n.Bare()
	if n == nil || n.Kind != syntax.Number {
		return 0, false
	}
	v, err := strconv.ParseInt(strings.TrimRight(n.Op, "uUlL"), 0, 64)
	return float64(v), err == nil
}

// pattern says how an index moves with the innermost loop: not at all, by one, or
// by more.
func pattern(n *syntax.Node, over string) int {
	found, scaled := false, false
	var look func(n *syntax.Node, times bool)
	look = func(n *syntax.Node, times bool) {
		if n == nil {
			return
		}
		if n.Kind == syntax.Name && n.Op == over && over != "" {
			found, scaled = true, scaled || times
		}
		times = times || n.Kind == syntax.Binary && (n.Op == "*" || n.Op == "<<") || n.Kind == syntax.Index
		for _, k := range n.Kids {
			look(k, times)
		}
	}
	look(n.Kid(1), false)
	// In a[i][j] the variable in a[i] moves by a row.
	if base := n.Kid(0).Bare(); base != nil && base.Kind == syntax.Index {
		look(base.Kid(1), true)
	}
	switch {
	case !found:
		return invariant
	case scaled:
		return strided
	}
	return unit
}
