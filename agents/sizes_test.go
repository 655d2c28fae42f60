package agents_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/target"
)

// A program whose size is free, and listed as two multiples of 8.
const (
	sizedMain = `#include <stdio.h>
#include <stdlib.h>
void work(int, const double *, double *);
static double a[70000], b[70000];
int main(int argc, char **argv)
{
    int n = atoi(argv[1]);
    unsigned long x = strtoul(argv[2], 0, 10);
    if (argc != 3 || n < LEAST || n > 70000)
        return 3;
    for (int i = 0; i < n; i++)
        a[i] = (x = x * 6364136223846793005u + 1442695040888963407u) >> 40;
    for (int pass = 0; pass < 8; pass++)
        work(n, a, b);
    for (int i = 0; i < n; i += 1 + n / 1000)
        printf("%.17g\n", b[i]);
    printf("%.17g\n", n ? b[n - 1] : 0);
    return 0;
}
`
	sizedWork = `void work(int n, const double *a, double *b)
{
    for (volatile int again = 0; again < 20; again++)
        for (int i = 0; i < n; i++)
            b[i] = 2 * a[i];
}
`
	sizedTarget = `name = "sized"
language = "c"
[sources]
editable = ["work.c"]
read_only = ["main.c"]
[build]
commands = [["gcc", "-O1", "-DLEAST=1", "-o", "sized", "main.c", "work.c"]]
products = ["sized"]
[inputs]
per_run = 1
sizes = ["65536"]
other_sizes = ["1024"]
[inputs.drawn]
from = "1"
to = "65536"
[run]
command = ["./sized", "{size}", "{seed}"]
[[output]]
stdout = true
[measure]
repeats = 12
[budget]
rounds = 2
`
)

func sized(t *testing.T, change ...string) *target.Target {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"main.c": sizedMain, "work.c": sizedWork, "sized.toml": strings.NewReplacer(change...).Replace(sizedTarget)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tg, err := target.Load(filepath.Join(dir, "sized.toml"))
	if err != nil {
		t.Fatal(err)
	}
	return tg
}

// sizedBodies are candidates: two that are right where a target's sizes are
// listed and wrong elsewhere, and one that is right.
var sizedBodies = map[string]string{
	"for the listed sizes": "    if (n == 65536 || n == 1024) {\n        for (int i = 0; i < n; i++)\n            b[i] = 2 * a[i];\n        return;\n    }\n" +
		"    for (int i = 0; i < n; i++)\n        b[i] = 3 * a[i];\n",
	"without the rest": "    for (int i = 0; i + 8 <= n; i += 8)\n        for (int k = 0; k < 8; k++)\n            b[i + k] = 2 * a[i + k];\n",
	"once":             "    for (int i = 0; i < n; i++)\n        b[i] = 2 * a[i];\n",
}

// bodies proposes them all, and hears what came of them.
type bodies struct{ told *[]string }

func (bodies) Name() string { return "bodies" }

func (b bodies) Advise(_ context.Context, c agents.Case) (agents.Advice, error) {
	out := agents.Advice{Supplied: agents.Supplied(c.Report)}
	if len(c.Tried) > 0 {
		for _, e := range c.Tried {
			*b.told = append(*b.told, e.Outcome)
		}
		return out, nil
	}
	lines := strings.Split(strings.TrimSpace(sizedWork), "\n")
	for _, name := range []string{"for the listed sizes", "without the rest", "once"} {
		h := edit.Hunk{File: "work.c", Search: lines[2 : len(lines)-1], Replace: strings.Split(strings.TrimRight(sizedBodies[name], "\n"), "\n")}
		out.Proposals = append(out.Proposals, agents.Proposal{Name: name, Edits: []edit.Edit{{Evidence: out.Supplied[:1], Hunks: []edit.Hunk{h}}}})
	}
	return out, nil
}

// What is right at the sizes that a target lists alone is refused with the size at
// which it is wrong; all candidates of a run are held to the same sizes, which the
// record, the report and a later process have.
func TestCandidatesThatAreRightAtTheListedSizesAloneAreRefused(t *testing.T) {
	tg := sized(t)
	dir := filepath.Join(t.TempDir(), "out")
	var told []string
	res := optimize(t, tg, agents.Options{Advisor: bodies{&told}, Dir: dir, Sizes: 7})
	drawn := tg.Inputs.Draw(7)
	if d := res.Record.Drawn; d == nil || d.Seed != 7 || !slices.Equal(d.Sizes, drawn) || len(drawn) != 3 {
		t.Fatalf("recorded are %+v, drawn %q", d, drawn)
	}
	for _, c := range res.Candidates() {
		v := c.Validation
		if v == nil || v.Drawn == nil || !slices.Equal(v.Drawn.Sizes, drawn) {
			t.Fatalf("%s: %+v", c.Proposal.Name, v)
		}
		if right := c.Proposal.Name == "once"; right {
			if !v.OK || v.Inputs != 2 || len(v.Seeds) != 5 || !c.Kept {
				t.Errorf("%s: %+v, %v", c.Proposal.Name, v, c.Rejected)
			}
			continue
		}
		want := "at the size " + drawn[0] + ", which is not listed but drawn (seed 7): what is printed differs"
		if r := c.Rejected; r == nil || r.Reason != agents.WrongResult || !strings.HasPrefix(r.Detail, want) {
			t.Errorf("%s: %v, want %s", c.Proposal.Name, r, want)
		}
	}
	if want := "at the sizes " + strings.Join(drawn, ", ") + ", drawn with the seed 7"; !strings.Contains(res.String(), want) {
		t.Errorf("the report does not say %q:\n%s", want, res)
	}
	journal, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	if d, _ := json.Marshal(res.Record.Drawn); err != nil || !strings.Contains(string(journal), `"drawn":`+string(d)) {
		t.Errorf("the journal has no %s: %v", d, err)
	}
	// The next round is told that they were wrong, and not at which sizes.
	if all := strings.Join(told, "\n"); len(told) != 3 || strings.Count(all, "rejected (wrong result): at a size that is not listed, where the original is right") != 2 || strings.Contains(all, drawn[0]) {
		t.Errorf("the next round is told %q", told)
	}
	// Nothing is done again, whatever a new process would draw.
	again := optimize(t, tg, agents.Options{Advisor: bodies{}, Dir: dir, Sizes: 7})
	if again.Resumed <= res.Resumed || !slices.Equal(again.Record.Drawn.Sizes, drawn) {
		t.Errorf("%d steps were taken from the journal, with %+v", again.Resumed, again.Record.Drawn)
	}
	if _, err := agents.Optimize(t.Context(), tg, agents.Options{Advisor: bodies{}, Dir: dir, Sizes: 8, Progress: func(agents.Event) {}}); err == nil || !strings.Contains(err.Error(), "take another folder") {
		t.Errorf("other sizes in the same folder: %v", err)
	}
}

// Without bounds the same candidates pass: it is the drawn sizes that find them.
func TestOnlyListedSizesAreComparedWithoutBounds(t *testing.T) {
	w, original := bench(t, sized(t, "[inputs.drawn]\nfrom = \"1\"\nto = \"65536\"\n", ""))
	for name, body := range sizedBodies {
		p, err := w.Build(t.Context(), []edit.File{{Path: "work.c", Text: "void work(int n, const double *a, double *b)\n{\n" + body + "}\n"}})
		if err != nil || !p.OK() {
			t.Fatalf("%v, %+v", err, p)
		}
		if v, err := w.Validate(t.Context(), original, p); err != nil || !v.OK || v.Inputs != 2 || v.Drawn != nil {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
}

// An original that does not run at a drawn size is no candidate's fault, and the
// bounds are what to change.
func TestBoundsThatTheProgramDoesNotTakeAreTold(t *testing.T) {
	tg := sized(t, "LEAST=1", "LEAST=20")
	_, err := agents.Optimize(t.Context(), tg, agents.Options{Advisor: bodies{}, Dir: t.TempDir(), Sizes: 7, Progress: func(agents.Event) {}})
	if at := tg.Inputs.Draw(7)[2]; err == nil || !strings.Contains(err.Error(), "at the size "+at+", which is not listed but drawn (seed 7): exit status 3") || !strings.Contains(err.Error(), "give inputs.drawn bounds") {
		t.Errorf("at %s: %v", at, err)
	}
	// Nor is it where the candidate runs.
	w, original := bench(t, tg)
	p, err := w.Build(t.Context(), []edit.File{{Path: "main.c", Text: strings.Replace(sizedMain, "n < LEAST", "n < 1", 1)}})
	if err != nil || !p.OK() {
		t.Fatalf("%v, %+v", err, p)
	}
	w.Drawn.Sizes = []string{"11"}
	if _, err := w.Validate(t.Context(), original, p); err == nil || !strings.Contains(err.Error(), "and the size 11: exit status 3") || !strings.Contains(err.Error(), "give inputs.drawn bounds") {
		t.Error(err)
	}
}
