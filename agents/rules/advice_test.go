package rules_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/modeling/insight"
)

const walk = `void walk(long n, const double *restrict a, double *restrict b)
{
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++)
            b[i * n + j] = 2 * a[i * n + j];
}

void other(long n, double *restrict b)
{
    for (long i = 0; i < n; i++)
        b[i] = b[i] / 3.0;
}
`

func editable(text string) []edit.Source {
	return []edit.Source{{Path: "walk.c", Text: text, Editable: edit.All(text)}}
}

func find(ps []rules.Proposal, transformation, function string) *rules.Proposal {
	for i, p := range ps {
		if p.Transformation == transformation && p.Function == function {
			return &ps[i]
		}
	}
	return nil
}

func TestProposalsCiteWhatSpeaksForThemAndPredictWhatItMoves(t *testing.T) {
	misses := insight.Item{ID: "C2", Kind: insight.Counter, Rule: "l1d-misses", Verdict: insight.Problem, Kernel: "walk", Share: 0.9,
		Moves: []insight.Move{{Metric: "L1-dcache-load-misses", Direction: insight.Down}, {Metric: "cycles", Direction: insight.Down}}}
	fine := insight.Item{ID: "C3", Kind: insight.Counter, Rule: "cache-misses", Verdict: insight.Fine, Kernel: "walk", Share: 0.9}
	elsewhere := insight.Item{ID: "C4", Kind: insight.Counter, Rule: "l1d-misses", Verdict: insight.Problem, Kernel: "other", Share: 0.1}
	line := insight.Item{ID: "S1", Kind: insight.Stall, Rule: "line", Verdict: insight.Problem, Kernel: "walk", Location: &insight.Location{File: "/src/walk.c", Line: 11}}
	ps := rules.Advisor{}.Propose(rules.Case{Sources: editable(walk), Evidence: []insight.Item{hot("walk")[0], fine, elsewhere, line, misses}})
	p := find(ps, "interchange", "walk")
	if p == nil {
		t.Fatalf("no interchange of walk among %d proposals", len(ps))
	}
	if want := []string{"C2"}; !reflect.DeepEqual(p.Edit.Evidence, want) {
		t.Errorf("it cites %v, want %v", p.Edit.Evidence, want)
	}
	if want := []edit.Prediction{{Metric: "L1-dcache-load-misses", Direction: edit.Down}, {Metric: "cycles", Direction: edit.Down}}; !reflect.DeepEqual(p.Edit.Predictions, want) {
		t.Errorf("it predicts %v, want %v", p.Edit.Predictions, want)
	}
	if !reflect.DeepEqual(ps[0], *p) {
		t.Errorf("%s comes before the interchange, which the misses speak for", ps[0].Transformation)
	}
	if q := find(ps, "unrolling", "walk"); q == nil || !reflect.DeepEqual(q.Edit.Evidence, []string{"H1"}) {
		t.Errorf("unrolling, which nothing speaks for, is to cite where the time goes: %+v", q)
	}
	if !slices.IsSortedFunc(ps, func(a, b rules.Proposal) int {
		switch {
		case a.Gain > b.Gain:
			return -1
		case a.Gain < b.Gain:
			return 1
		}
		return 0
	}) {
		t.Error("proposals are not sorted by gain")
	}
}

func TestWithoutEvidenceNothingIsProposedAndTheReasonIsSaid(t *testing.T) {
	advice := rules.Advisor{}.Advise(rules.Case{Sources: editable(walk)})
	if len(advice.Proposals) > 0 {
		t.Errorf("%d proposals that cite nothing", len(advice.Proposals))
	}
	if !slices.ContainsFunc(advice.Refusals, func(r rules.Refusal) bool {
		return r.Transformation == "interchange" && strings.Contains(r.Reason, "no evidence")
	}) {
		t.Errorf("refusals: %v", advice.Refusals)
	}
	if uncited := (rules.Advisor{Options: rules.Options{Uncited: true}}).Propose(rules.Case{Sources: editable(walk)}); find(uncited, "interchange", "walk") == nil {
		t.Error("Uncited proposes no interchange")
	}
}

func TestWhatOptionsAllowIsProposedAndSaysWhatItAssumes(t *testing.T) {
	c := rules.Case{Sources: editable(walk), Evidence: hot("walk", "other")}
	if p := find(rules.Advisor{Options: rules.Options{Reassociate: true}}.Propose(c), "flags", "other"); p != nil {
		t.Error("flags are proposed for a compiler that is not known")
	}
	c.Build = [][]string{{"gcc", "-O2"}}
	p := find(rules.Advisor{Options: rules.Options{Reassociate: true}}.Propose(c), "flags", "other")
	if p == nil || len(p.Assumes) != 2 || !strings.Contains(edit.Format([]edit.Edit{p.Edit}), "fast-math") {
		t.Errorf("with Reassociate: %+v", p)
	}
	p = find(rules.Advisor{}.Propose(c), "flags", "other")
	if p == nil || len(p.Assumes) != 0 || strings.Contains(edit.Format([]edit.Edit{p.Edit}), "fast-math") {
		t.Errorf("without: %+v", p)
	}
	loose := strings.ReplaceAll(walk, "restrict ", "")
	c.Sources = editable(loose)
	if find(rules.Advisor{}.Propose(c), "interchange", "walk") != nil {
		t.Error("arrays that may overlap are interchanged")
	}
	if p := find(rules.Advisor{Options: rules.Options{Distinct: true}}.Propose(c), "interchange", "walk"); p == nil || len(p.Assumes) != 1 {
		t.Errorf("with Distinct: %+v", p)
	}
}

// What a tolerance allows is said of those proposals alone that make use of it.
func TestOnlyWhatReordersSaysThatItDoes(t *testing.T) {
	const text = `void each(int n, const double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] = pow(a[i], 2) + a[i];
}
void cubes(int n, const double *restrict a, double *restrict b)
{
    for (int i = 0; i < n; i++)
        b[i] = pow(a[i], 3);
}
double sum(int n, const double *a)
{
    double s = 0;
    for (int i = 0; i < n; i++)
        s += a[i];
    return s;
}
void by(int n, const double *restrict a, double *restrict b, double d)
{
    for (int i = 0; i < n; i++)
        b[i] = a[i] / d;
}
`
	c := rules.Case{Sources: editable(text + walk), Evidence: hot("each", "cubes", "sum", "by", "walk", "other"), Build: [][]string{{"gcc", "-O2", "-fopenmp"}}}
	order, last := []string{"sums may be added in another order"}, []string{"results may be rounded otherwise in their last bits"}
	ps := rules.Advisor{Options: rules.Options{Reassociate: true}}.Propose(c)
	for _, want := range []struct {
		transformation, function string
		assumes                  []string
	}{
		{"strength-reduction", "each", nil}, {"vectorisation", "each", nil}, {"threads", "each", nil}, {"unrolling", "each", nil},
		{"strength-reduction", "cubes", last}, {"strength-reduction", "by", last},
		{"vectorisation", "sum", order}, {"threads", "sum", order},
		{"interchange", "walk", nil}, {"flags", "walk", append(order, last...)},
	} {
		p := find(ps, want.transformation, want.function)
		if p == nil || !slices.Equal(p.Assumes, want.assumes) {
			t.Errorf("%s of %s: %+v, want %q", want.transformation, want.function, p, want.assumes)
		}
	}
}

// C++ writes std::pow for pow; which one is computed, of float or of double, is
// said by the types of the arguments.
func TestFunctionsOfTheStandardLibraryOfCPlusPlusAreKnown(t *testing.T) {
	const text = `#include <cmath>
#include <cstddef>
void kernel(std::size_t n, double s, float w, const double *__restrict__ a, const float *__restrict__ g, double *__restrict__ b, float *__restrict__ c)
{
    for (std::size_t i = 0; i < n; i++) {
        b[i] = std::pow(a[i], 2) * std::exp(s);
        c[i] = std::pow(g[i], 2.0f) * std::sqrt(w);
    }
}
void cubes(int n, const double *__restrict__ a, const float *__restrict__ g, double *__restrict__ b)
{
    for (int i = 0; i < n; i++)
        b[i] = std::pow(a[i], 1.5) + std::pow(g[i], 2) + std::exp(a[i]) * std::exp(b[i]);
}
void unknown(int n, const float *__restrict__ g, float *__restrict__ c)
{
    for (int i = 0; i < n; i++)
        c[i] = pow(g[i], 2.0f) + std::frob(g[i]);
}
`
	source := []edit.Source{{Path: "k.cpp", Text: text, Editable: edit.All(text)}}
	c := rules.Case{Sources: source, Evidence: hot("kernel", "cubes", "unknown")}
	said := func(opt rules.Options, transformation, function string) string {
		if p := find(rules.Advisor{Options: opt}.Propose(c), transformation, function); p != nil {
			return edit.Format([]edit.Edit{p.Edit})
		}
		return ""
	}
	exact, near := rules.Options{}, rules.Options{Reassociate: true}
	for _, want := range []struct {
		opt                      rules.Options
		transformation, function string
		texts                    []string
	}{
		{exact, "strength-reduction", "kernel", []string{"b[i] = ((a[i]) * (a[i])) * std::exp(s);", "c[i] = ((g[i]) * (g[i])) * std::sqrt(w);"}},
		{exact, "hoisting", "kernel", []string{"const double same0 = std::exp(s);", "const float same1 = std::sqrt(w);"}},
		{exact, "strength-reduction", "cubes", []string{"((double)(g[i]) * (double)(g[i]))"}},
		{near, "strength-reduction", "cubes", []string{"((a[i]) * std::sqrt((a[i]))) + ((double)(g[i]) * (double)(g[i]))"}},
	} {
		got := said(want.opt, want.transformation, want.function)
		for _, s := range want.texts {
			if !strings.Contains(got, s) {
				t.Errorf("%s of %s has no %q:\n%s", want.transformation, want.function, s, got)
			}
		}
	}
	var refused []string
	advice := rules.Advisor{}.Advise(c)
	for _, r := range advice.Refusals {
		refused = append(refused, r.String())
	}
	all := strings.Join(refused, "\n")
	for _, s := range []string{"it depends on headers whether pow(g[i], 2.0f) is computed in float", "it calls std::frob, which may have effects"} {
		if !strings.Contains(all, s) {
			t.Errorf("no refusal says %q:\n%s", s, all)
		}
	}
	if got := said(exact, "strength-reduction", "unknown"); got != "" {
		t.Errorf("of functions that are not known: %s", got)
	}
}

func TestOnlyEditableLinesAreChanged(t *testing.T) {
	s := editable(walk)
	s[0].Editable = []edit.Range{{Start: 4, End: 5}} // the inner loop alone
	advice := rules.Advisor{}.Advise(rules.Case{Sources: s, Evidence: hot("walk", "other")})
	for _, p := range advice.Proposals {
		for _, h := range p.Edit.Hunks {
			if h.At < 4 || h.At+len(h.Search)-1 > 5 {
				t.Errorf("%s changes lines %d to %d", p.Transformation, h.At, h.At+len(h.Search)-1)
			}
		}
	}
	if !slices.ContainsFunc(advice.Refusals, func(r rules.Refusal) bool {
		return r.Transformation == "interchange" && strings.Contains(r.Reason, "may not be changed")
	}) {
		t.Errorf("refusals: %v", advice.Refusals)
	}
}

// All kernels and programs of datasets/recorded are advised on, the same each
// time, and what is proposed can be applied.
func TestRecordedKernelsAreAdvisedOn(t *testing.T) {
	proposed := map[string]int{}
	files := 0
	for _, glob := range []string{"kernels/*.cl", "programs/*.c"} {
		paths, err := filepath.Glob(filepath.Join("../../datasets/recorded", glob))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			files++
			s := sources(t, path)[0]
			c := rules.Case{Sources: []edit.Source{s}, Build: [][]string{{"gcc", "-O2", "-fopenmp"}}}
			if strings.HasSuffix(path, ".c") {
				header, err := os.ReadFile(filepath.Join(filepath.Dir(path), "program.h"))
				if err != nil {
					t.Fatal(err)
				}
				c.Sources = append(c.Sources, edit.Source{Path: "program.h", Text: string(header)})
			}
			a := rules.Advisor{Options: rules.Options{Uncited: true}}
			advice := a.Advise(c)
			if again := a.Advise(c); !reflect.DeepEqual(advice, again) {
				t.Errorf("%s: two answers for one question", path)
			}
			for _, p := range advice.Proposals {
				patch := edit.Apply([]edit.Edit{p.Edit}, c.Sources, edit.Rules{AllowUncited: true})
				if r := patch.Outcomes[0].Rejected; r != nil {
					t.Errorf("%s: %s of %s: %v", path, p.Transformation, p.Function, r)
				}
				proposed[filepath.Base(path)+" "+p.Transformation+" "+p.Function]++
				t.Logf("%s:%d: %s of %s", path, p.Line, p.Transformation, p.Function)
			}
			for _, r := range advice.Refusals {
				t.Log(r)
			}
		}
	}
	if files < 35 {
		t.Fatalf("%d files in datasets/recorded, want at least 35", files)
	}
	for _, want := range []string{"matmul_ijk.c interchange matmul_ijk", "jacobi.c threads jacobi", "jacobi.c restrict jacobi", "daxpy.c vectorisation daxpy", "spmv.c threads spmv", "mandelbrot.c threads mandelbrot"} {
		if proposed[want] == 0 {
			t.Errorf("no %s", want)
		}
	}
}

func FuzzAdvise(f *testing.F) {
	for _, glob := range []string{"testdata/c/*.c", "testdata/opencl/*.cl"} {
		paths, err := filepath.Glob(glob)
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(string(text))
		}
	}
	f.Add(walk)
	f.Add("A(){for(;;) ") // it ends where a statement begins
	f.Fuzz(func(t *testing.T, text string) {
		s := edit.Source{Path: "f.c", Text: text, Editable: edit.All(text)}
		square := rules.Launch{Local: []int64{8, 8}, Square: true}
		c := rules.Case{Sources: []edit.Source{s}, Build: [][]string{{"gcc", "-fopenmp"}}, Launches: map[string]rules.Launch{"product": square, "turn": square, "columns": square}}
		for _, p := range (rules.Advisor{Options: rules.Options{Uncited: true, Distinct: true, Reassociate: true}}).Propose(c) {
			edit.Apply([]edit.Edit{p.Edit}, c.Sources, edit.Rules{AllowUncited: true})
		}
	})
}

// With Reassociate results may differ in their last bits, and by no more.
func TestReassociatedSumsStayClose(t *testing.T) {
	const text = `#include <stdio.h>
#include <stdlib.h>
#include <math.h>
double f(long n, double d, const double *restrict a, double *restrict b)
{
    double s = 0;
    for (long i = 0; i < n; i++)
        s += a[i] * a[i];
    for (long i = 0; i < n; i++) {
        double x = a[i];
        b[i] = pow(x, 3) + x / d;
    }
    return s;
}
int main(int argc, char **argv)
{
    long n = 1000;
    double *a = malloc(n * 8), *b = malloc(n * 8);
    for (long i = 0; i < n; i++)
        a[i] = 1 + sin(i), b[i] = 0;
    double s = f(n, argc + 6, a, b);
    for (long i = 0; i < n; i++)
        s += b[i];
    printf("%.17g\n", s);
    return argv == 0;
}
`
	c := rules.Case{Sources: []edit.Source{{Path: "f.c", Text: text, Editable: edit.All(text)}}, Evidence: hot("f"), Build: [][]string{build}}
	read := func(files []edit.File) float64 {
		v, err := strconv.ParseFloat(alone(t, c.Sources, files), 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := read(nil)
	found := map[string]bool{}
	for _, p := range (rules.Advisor{Options: rules.Options{Reassociate: true}}).Propose(c) {
		found[p.Transformation+strconv.Itoa(p.Line)] = true
		if got := read(apply(t, c, []rules.Proposal{p}).Files); math.Abs(got-want) > 1e-12*math.Abs(want) {
			t.Errorf("%s at line %d: %v, want %v\n%s", p.Transformation, p.Line, got, want, edit.Format([]edit.Edit{p.Edit}))
		}
	}
	for _, w := range []string{"vectorisation7", "threads7", "strength-reduction9", "strength-reduction11", "flags4"} {
		if !found[w] {
			t.Errorf("no %s among %v", w, found)
		}
	}
}

func TestWhatMayBeDoneAtOnceIsProposedAtOnce(t *testing.T) {
	text := walk + `
void third(long n, double *restrict a, double *restrict b)
{
    for (long j = 0; j < n; j++)
        for (long i = 0; i < n; i++)
            a[i * n + j] = b[i * n + j];
}
`
	c := rules.Case{Sources: editable(text), Evidence: hot("walk", "third"), Build: [][]string{{"gcc", "-O2", "-fopenmp"}}}
	advice := rules.Advisor{}.Advise(c)
	all := advice.Together()
	first := all[0]
	if first.Transformation != "interchange+flags" || first.Function != "walk, third" {
		t.Errorf("the first is %s of %s, not what promises most in both functions", first.Transformation, first.Function)
	}
	if !reflect.DeepEqual(first.Edit.Evidence, []string{"H1", "H2"}) {
		t.Errorf("it cites %v", first.Edit.Evidence)
	}
	for _, p := range all {
		patch := edit.Apply([]edit.Edit{p.Edit}, c.Sources, edit.Rules{Evidence: []string{"H1", "H2"}})
		if patch.Accepted() != 1 {
			t.Errorf("%s of %s cannot be applied: %v", p.Transformation, p.Function, patch.Outcomes[0].Rejected)
		}
	}
	if p := find(all, "threads", "walk, third"); p == nil {
		t.Error("threads in both functions are not proposed together")
	}
	if len(all) <= len(advice.Proposals) || find(all, "interchange", "third") == nil {
		t.Error("proposals of one function alone are gone")
	}
}
