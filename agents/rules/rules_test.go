package rules_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/modeling/insight"
)

// hot is evidence that each function takes time.
func hot(names ...string) []insight.Item {
	var out []insight.Item
	for i, n := range names {
		out = append(out, insight.Item{ID: fmt.Sprintf("H%d", i+1), Kind: insight.Hot, Rule: "kernel", Verdict: insight.Fact, Kernel: n, Share: 0.5,
			Moves: []insight.Move{{Metric: "time", Direction: insight.Down}}})
	}
	return out
}

func sources(t *testing.T, glob string) []edit.Source {
	t.Helper()
	files, err := filepath.Glob(glob)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files at %s (%v)", glob, err)
	}
	var out []edit.Source
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		s := edit.Source{Path: filepath.Base(f), Text: string(text)}
		if s.Path != "main.c" && !strings.HasSuffix(f, ".h") {
			s.Editable = edit.All(s.Text)
		}
		out = append(out, s)
	}
	return out
}

var build = []string{"gcc", "-O2", "-fopenmp", "-Wall"}

// program builds sources, with other texts for some.
func program(t *testing.T, ss []edit.Source, files []edit.File) string {
	t.Helper()
	dir := t.TempDir()
	args := append(append([]string{}, build[1:]...), "-Werror", "-Wno-unknown-pragmas", "-Wno-maybe-uninitialized", "-o", filepath.Join(dir, "program"))
	for _, s := range ss {
		text := s.Text
		for _, f := range files {
			if f.Path == s.Path {
				text = f.Text
			}
		}
		if err := os.WriteFile(filepath.Join(dir, s.Path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(s.Path, ".c") {
			args = append(args, filepath.Join(dir, s.Path))
		}
	}
	if out, err := exec.Command(build[0], append(args, "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("gcc is needed, and must build: %v\n%s", err, out)
	}
	return filepath.Join(dir, "program")
}

// alone is what a program without arguments prints.
func alone(t *testing.T, ss []edit.Source, files []edit.File) string {
	t.Helper()
	out, err := exec.Command(program(t, ss, files)).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// outputs builds sources and runs them for all sizes: nothing, one, and sizes around
// those of tiles and vectors.
func outputs(t *testing.T, ss []edit.Source, files []edit.File) []string {
	t.Helper()
	path := program(t, ss, files)
	var all []string
	for _, seed := range []string{"3", "1234567"} {
		c := exec.Command(path, seed, "0", "1", "2", "33", "40", "71")
		c.Env = append(os.Environ(), "OMP_NUM_THREADS=2")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("the program fails: %v\n%s", err, out)
		}
		all = append(all, strings.Split(strings.TrimSpace(string(out)), "\n")...)
	}
	return all
}

var functions = []string{"gemm", "gemm2", "scale", "smooth", "transpose", "total", "row_sums", "weighted", "clipped", "index_pairs", "squares", "extremes", "waves", "pulls", "lookups", "inner", "counted"}

// expected are proposals that must be there.
var expected = []string{
	"interchange gemm", "interchange gemm2", "threads gemm", "threads gemm2", "flags gemm", "scalar-replacement gemm2",
	"interchange scale", "interchange smooth", "interchange total", "tiling transpose", "threads scale", "threads transpose", "threads total",
	"scalar-replacement row_sums", "hoisting weighted", "hoisting clipped", "restrict row_sums", "restrict weighted", "selection clipped", "vectorisation weighted", "threads row_sums",
	"strength-reduction index_pairs", "strength-reduction squares", "selection extremes", "fusion extremes", "vectorisation squares", "unrolling squares",
	"interchange waves", "threads waves", "scalar-replacement pulls", "threads pulls", "threads lookups", "interchange inner", "threads inner", "threads counted",
}

func TestEachProposalKeepsResultsBitForBit(t *testing.T) {
	c := rules.Case{Sources: sources(t, "testdata/c/*.[ch]"), Evidence: hot(functions...), Build: [][]string{build}}
	advice := rules.Advisor{}.Advise(c)
	want := outputs(t, c.Sources, nil)
	found := map[string]bool{}
	// In each round one proposal for each function is built, so that what fails is
	// known by the name beside the output.
	var rounds [][]rules.Proposal
	for _, p := range advice.Proposals {
		found[p.Transformation+" "+p.Function] = true
		i := slices.IndexFunc(rounds, func(ps []rules.Proposal) bool {
			return !slices.ContainsFunc(ps, func(q rules.Proposal) bool { return q.Function == p.Function })
		})
		if i < 0 {
			rounds = append(rounds, nil)
			i = len(rounds) - 1
		}
		rounds[i] = append(rounds[i], p)
	}
	for _, ps := range rounds {
		patch := apply(t, c, ps)
		got := outputs(t, c.Sources, patch.Files)
		for i := range want {
			if i >= len(got) || got[i] != want[i] {
				name, _, _ := strings.Cut(want[i], " ")
				for _, p := range ps {
					if p.Function == name {
						t.Errorf("%s of %s changes results:\n%s", p.Transformation, p.Function, edit.Format([]edit.Edit{p.Edit}))
					}
				}
				t.Fatalf("output %d of %d differs: %q, want %q", i, len(want), got[min(i, len(got)-1)], want[i])
			}
		}
	}
	for _, w := range expected {
		if !found[w] {
			t.Errorf("no %s is proposed", w)
		}
	}
	for _, p := range advice.Proposals {
		t.Logf("%s %s:%d gain %.2f\n%s", p.Transformation, p.Function, p.Line, p.Gain, edit.Format([]edit.Edit{p.Edit}))
	}
	for _, r := range advice.Refusals {
		t.Log(r)
	}
}

// apply reads proposals as an answer and applies them.
func apply(t *testing.T, c rules.Case, ps []rules.Proposal) *edit.Patch {
	t.Helper()
	var ids []string
	for _, it := range c.Evidence {
		ids = append(ids, it.ID)
	}
	text := rules.Advice{Proposals: ps}.Answer(0)
	answer := edit.Parse(text, edit.ParseOptions{})
	if len(answer.Edits) != len(ps) || len(answer.Problems) > 0 {
		t.Fatalf("%d proposals read back as %d: %+v\n%s", len(ps), len(answer.Edits), answer.Problems, text)
	}
	for i, p := range ps {
		back := answer.Edits[i]
		back.Line = 0
		back.Hunks = slices.Clone(back.Hunks)
		for j := range back.Hunks {
			back.Hunks[j].Line = 0
		}
		if !reflect.DeepEqual(back, p.Edit) {
			t.Errorf("%s of %s reads back as\n%+v, is\n%+v", p.Transformation, p.Function, back, p.Edit)
		}
		if len(p.Edit.Predictions) == 0 || p.Edit.Why == "" || strings.Contains(p.Edit.Why, "\n") {
			t.Errorf("%s of %s predicts %v because %q", p.Transformation, p.Function, p.Edit.Predictions, p.Edit.Why)
		}
	}
	patch := edit.Apply(answer.Edits, c.Sources, edit.Rules{Evidence: ids})
	for i, o := range patch.Outcomes {
		if o.Rejected != nil {
			t.Fatalf("%s of %s is rejected: %v\n%s", ps[i].Transformation, ps[i].Function, o.Rejected, edit.Format([]edit.Edit{ps[i].Edit}))
		}
	}
	return patch
}

func TestWhatIsProposedAtOnceKeepsResultsBitForBit(t *testing.T) {
	c := rules.Case{Sources: sources(t, "testdata/c/*.[ch]"), Evidence: hot(functions...), Build: [][]string{build}}
	want := outputs(t, c.Sources, nil)
	tried := 0
	for _, p := range (rules.Advisor{}).Advise(c).Together() {
		if !strings.Contains(p.Transformation, "+") {
			continue
		}
		tried++
		patch := apply(t, c, []rules.Proposal{p})
		if got := outputs(t, c.Sources, patch.Files); !slices.Equal(got, want) {
			t.Errorf("%s of %s changes what is computed", p.Transformation, p.Function)
			for i := range want {
				if got[i] != want[i] {
					t.Log(want[i], "is now", got[i])
				}
			}
		}
	}
	if tried < 2 {
		t.Errorf("%d proposals of several transformations, want those with and without threads", tried)
	}
}
