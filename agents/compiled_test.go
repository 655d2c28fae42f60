package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/target"
)

// made is the program of sized.go built by make, whose Makefile may be changed in
// the line that is named, or not at all.
func made(t *testing.T, lines string) *target.Target {
	t.Helper()
	tg := sized(t)
	if err := os.WriteFile(filepath.Join(tg.Dir, "Makefile"), []byte("CFLAGS = -O1 -DLEAST=1\nsized: main.c work.c\n\t@$(CC) $(CFLAGS) -o sized main.c work.c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer(`[["gcc", "-O1", "-DLEAST=1", "-o", "sized", "main.c", "work.c"]]`, `[["make"]]`,
		`read_only = ["main.c"]`, `read_only = ["main.c", "Makefile"]`).Replace(sizedTarget)
	if lines != "" {
		text = strings.NewReplacer(`editable = ["work.c"]`, `editable = ["work.c", "Makefile"]`, `"main.c", "Makefile"]`, `"main.c"]`).Replace(text) +
			"[[hot]]\nfile = \"work.c\"\nfunction = \"work\"\n[[hot]]\nfile = \"Makefile\"\nlines = " + lines + "\n"
	}
	if err := os.WriteFile(filepath.Join(tg.Dir, "sized.toml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	tg, err := target.Load(filepath.Join(tg.Dir, "sized.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// The flags that make hands to the compiler are evidence, and other flags are
// proposed where the target lets the Makefile be changed.
func TestTheFlagsOfAMakefileAreEvidence(t *testing.T) {
	for _, lines := range []string{"[1, 1]", ""} {
		w, original := bench(t, made(t, lines))
		before, err := w.Profile(t.Context(), original)
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{"cc", "-O1", "-DLEAST=1", "-o", "sized", "main.c", "work.c"}; len(before.Build) != 1 || !slices.Equal(before.Build[0], want) {
			t.Errorf("the build runs %q, want %q", before.Build, want)
		}
		item, ok := before.Report.Find("B1")
		if want := "work.c is compiled with -O1, which leaves out most optimisations; no -march"; !ok || item.Rule != rules.BuildRule || item.Value != 1 || !strings.HasPrefix(item.Statement, want) {
			t.Errorf("evidence %+v, want %s", item, want)
		}
		hot, sources := agents.SelectHot(before.Report, w.Target.Sources(), 0)
		advice, err := agents.Rules(100, rules.Options{}).Advise(t.Context(), agents.Case{Target: w.Target, Report: before.Report, Build: before.Build, Sources: sources, Round: 1})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(advice.Proposals, func(p agents.Proposal) bool { return p.Transformation == "build-flags" })
		if lines == "" {
			if notes := strings.Join(advice.Notes, "\n"); i >= 0 || !strings.Contains(notes, "no build-flags in its build: it is compiled with -O1") {
				t.Errorf("the Makefile may not be changed: proposal %d, notes\n%s", i, notes)
			}
			continue
		}
		if i < 0 {
			t.Fatalf("no other flags are proposed, hot %v: %q", hot, advice.Notes)
		}
		patch := edit.Apply(advice.Proposals[i].Edits, sources, edit.Rules{Evidence: advice.Supplied})
		if len(patch.Files) != 1 || !strings.HasPrefix(patch.Files[0].Text, "CFLAGS = -O3 -march=native -ffp-contract=off -DLEAST=1\n") {
			t.Fatalf("%+v", patch)
		}
		changed, err := w.Build(t.Context(), patch.Files)
		if err != nil || !changed.OK() {
			t.Fatalf("%v, %+v", err, changed)
		}
		if v, err := w.Validate(t.Context(), original, changed); err != nil || !v.OK {
			t.Errorf("%+v, %v", v, err)
		}
		after, err := w.Profile(t.Context(), changed)
		if err != nil {
			t.Fatal(err)
		}
		if item, ok := after.Report.Find("B1"); ok || len(after.Build) != 1 || after.Build[0][1] != "-O3" {
			t.Errorf("with other flags: %q, %+v", after.Build, item)
		}
	}
}
