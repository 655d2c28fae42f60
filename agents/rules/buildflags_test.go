package rules_test

import (
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/modeling/insight"
)

const makefile = `# built with -O1 for debugging
CC = gcc
CFLAGS = -g -O1 -fno-tree-vectorize
LDLIBS = -lm
heat: main.o heat.o
	$(CC) -o heat main.o heat.o $(LDLIBS)
`

const heated = `void step(int n, const double *restrict a, double *restrict b)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        b[i] = 2 * a[i];
}
`

// made are the commands that make runs for it.
var made = [][]string{{"gcc", "-g", "-O1", "-fno-tree-vectorize", "-c", "-o", "main.o", "main.c"},
	{"gcc", "-g", "-O1", "-fno-tree-vectorize", "-c", "-o", "heat.o", "heat.c"}, {"gcc", "-o", "heat", "main.o", "heat.o", "-lm"}}

func heatCase(editableMakefile bool, text string) rules.Case {
	c := rules.Case{Build: made, Sources: []edit.Source{{Path: "heat.c", Text: heated, Editable: edit.All(heated)}, {Path: "Makefile", Text: text}},
		Evidence: append(hot("step"), insight.Item{ID: "b1", Kind: insight.Counter, Rule: rules.BuildRule, Verdict: insight.Problem})}
	if editableMakefile {
		c.Sources[1].Editable = edit.All(text)
	}
	return c
}

// flagsOf are the proposals for a file of the build, as it is with them, and why
// there are no more.
func flagsOf(t *testing.T, opt rules.Options, c rules.Case) (texts []string, refusals string) {
	t.Helper()
	advice := rules.Advisor{Options: opt}.Advise(c)
	for _, p := range advice.Proposals {
		if p.Transformation != "build-flags" {
			continue
		}
		patch := edit.Apply([]edit.Edit{p.Edit}, c.Sources, edit.Rules{Evidence: []string{"B1", "H1"}})
		if patch.Accepted() != 1 || len(patch.Files) != 1 {
			t.Fatalf("%+v is not taken: %+v", p, patch.Outcomes)
		}
		texts = append(texts, patch.Files[0].Text)
	}
	for _, r := range advice.Refusals {
		refusals += r.String() + "\n"
	}
	return texts, refusals
}

func TestFlagsOfABuildChangeWhereItsFilesMayBeEdited(t *testing.T) {
	texts, _ := flagsOf(t, rules.Options{}, heatCase(true, makefile))
	if len(texts) != 2 {
		t.Fatalf("%d proposals: %q", len(texts), texts)
	}
	for _, want := range []string{"CFLAGS = -g -O3 -march=native -ffp-contract=off\nLDLIBS = -lm\n",
		"CFLAGS = -g -O1 -fopenmp -fno-tree-vectorize\nLDLIBS = -lm -fopenmp\n"} {
		if all := strings.Join(texts, "\n"); !strings.Contains(all, want) || !strings.HasPrefix(all, "# built with -O1 for debugging\n") {
			t.Errorf("no proposal has %q:\n%s", want, all)
		}
	}
	if texts, _ := flagsOf(t, rules.Options{Reassociate: true}, heatCase(true, makefile)); len(texts) != 2 || !strings.Contains(strings.Join(texts, ""), "-O3 -march=native\n") {
		t.Errorf("with a tolerance: %q", texts)
	}
	// No -O at all: the flags go where CFLAGS is set.
	plain := heatCase(true, strings.Replace(makefile, " -O1 -fno-tree-vectorize", "", 1))
	plain.Build = [][]string{{"cc", "-g", "-c", "heat.c"}, {"cc", "-o", "heat", "heat.o"}}
	if texts, _ := flagsOf(t, rules.Options{}, plain); len(texts) != 2 || !strings.Contains(strings.Join(texts, ""), "CFLAGS = -g -O3 -march=native -ffp-contract=off\n") {
		t.Errorf("without -O: %q", texts)
	}
	// The line is there, and is not the one that the compiler got its flags from.
	if texts, why := flagsOf(t, rules.Options{}, heatCase(true, strings.Replace(makefile, "-O1 -fno-tree-vectorize", "-O2", 1))); len(texts) != 0 || !strings.Contains(why, "no line that may be changed has the flags that the compiler is given") {
		t.Errorf("flags from elsewhere: %q, %s", texts, why)
	}
}

func TestFlagsOfABuildStayWhereItsFilesAreNotToBeEdited(t *testing.T) {
	texts, why := flagsOf(t, rules.Options{}, heatCase(false, makefile))
	if want := "heat.c:1: no build-flags in its build: it is compiled with -O1, which leaves out most optimisations; -fno-tree-vectorize, so that loops are not vectorised; " +
		"no -fopenmp, so that the pragmas of OpenMP in it are not read; no -march, so that vectors are those of the oldest processor of its family; no file that says so may be changed"; len(texts) != 0 || !strings.Contains(why, want) {
		t.Errorf("%q, refused:\n%s\nwant %s", texts, why, want)
	}
	c := heatCase(false, makefile)
	if p := find(rules.Advisor{}.Propose(c), "flags", "step"); p == nil || !strings.Contains(edit.Format([]edit.Edit{p.Edit}), `optimize("O3", "tree-vectorize", "fp-contract=off"), target("avx2")`) {
		t.Errorf("the attribute of the function, which may be changed: %+v", p)
	}
	c.Build = [][]string{{"gcc", "-O3", "-march=native", "-fopenmp", "-o", "heat", "main.c", "heat.c"}}
	if compiled := rules.Compiled(c); len(compiled) != 1 || compiled[0].Missing() != "" || compiled[0].Optimised() != 3 || !compiled[0].Native {
		t.Errorf("nothing is missing: %+v", compiled)
	}
	if _, why := flagsOf(t, rules.Options{}, c); strings.Contains(why, "its build") {
		t.Errorf("nothing is missing:\n%s", why)
	}
}
