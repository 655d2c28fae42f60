package mca_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/llvm"
	_ "github.com/rooflab/rooflab/collectors/llvmmca"
	"github.com/rooflab/rooflab/collectors/mca"
	"github.com/rooflab/rooflab/collectors/parsertest"
	"github.com/rooflab/rooflab/datasets"
)

func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := llvm.Tool(name, "")
	if err != nil {
		t.Fatalf("this test needs %s: %v", name, err)
	}
	return path
}

func names(rs []mca.Region) []string {
	var ns []string
	for _, r := range rs {
		ns = append(ns, r.Name)
	}
	return ns
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestInnermostLoopsByHand(t *testing.T) {
	rs := mca.Loops(read(t, "testdata/byhand.s"))
	if len(rs) != 1 || rs[0].Name != "nested.inner" || rs[0].First != 6 || rs[0].Last != 13 {
		t.Fatalf("the loops are %+v, want .inner in lines 7 to 14", rs)
	}
	got := strings.Split(mca.Mark(read(t, "testdata/byhand.s"), rs), "\n")
	if got[7] != "# LLVM-MCA-BEGIN nested.inner" || got[15] != "# LLVM-MCA-END nested.inner" {
		t.Errorf("marked, it is\n%s", strings.Join(got, "\n"))
	}
}

// The loops of clang's assembly are those of the source, and llvm-mca takes
// the marks, on two architectures.
func TestLoopsOfClangsAssembly(t *testing.T) {
	clang, sim := tool(t, "clang"), tool(t, "llvm-mca")
	for _, target := range []struct{ triple, cpu string }{{"x86_64-linux-gnu", "skylake"}, {"aarch64-linux-gnu", "neoverse-n1"}} {
		b, _, err := llvm.Output(t.Context(), "", clang, "-S", "-o", "-", "-O1", "-gline-tables-only", "-target", target.triple, "testdata/loops.c")
		if err != nil {
			t.Fatal(err)
		}
		rs := mca.Loops(string(b))
		// By the source: saxpy's loop in line 3, and matvec's inner one in line 12.
		if got := names(rs); !slices.Equal(got, []string{"saxpy:3", "matvec:12"}) {
			t.Errorf("%s: the loops are %q\n%s", target.triple, got, b)
		}
		file := filepath.Join(t.TempDir(), "m.s")
		if err := os.WriteFile(file, []byte(mca.Mark(string(b), rs)), 0o644); err != nil {
			t.Fatal(err)
		}
		out, _, err := llvm.Output(t.Context(), "", sim, "-mtriple="+target.triple, "-mcpu="+target.cpu, "--json", file)
		if err != nil {
			t.Fatal(err)
		}
		var report struct{ CodeRegions []struct{ Name string } }
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range report.CodeRegions {
			got = append(got, r.Name)
		}
		if !slices.Equal(got, names(rs)) {
			t.Errorf("%s: llvm-mca found the regions %q", target.triple, got)
		}
	}
}

func TestAMarkedProgramKeepsItsMarks(t *testing.T) {
	if !mca.Marked(read(t, "testdata/marked.s")) || mca.Marked(read(t, "testdata/byhand.s")) {
		t.Error("marks are not told from their absence")
	}
}

func collect(t *testing.T, flags ...string) (*parsertest.Records, error) {
	t.Helper()
	c, err := collectors.LookupCollector("llvm-mca")
	if err != nil {
		t.Fatal(err)
	}
	fs := flag.NewFlagSet("llvm-mca", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	f := c.New(fs)
	if err := fs.Parse(flags); err != nil {
		t.Fatal(err)
	}
	recs := &parsertest.Records{}
	err = f(context.Background(), collectors.Job{Stdout: io.Discard, Stderr: io.Discard, Log: io.Discard}, collectors.NewOutput("collect llvm-mca", recs))
	if err == nil {
		parsertest.CheckReferences(t, recs)
	}
	return recs, err
}

// llvm-mca itself says how many cycles: the report is read again here by
// another way, as JSON.
func TestCollectSimulatesEachProcessor(t *testing.T) {
	sim := tool(t, "llvm-mca")
	recs, err := collect(t, "--source", "testdata/marked.s", "--target", "x86_64-linux-gnu", "--mcpu", "skylake,znver3")
	if err != nil {
		t.Fatal(err)
	}
	if len(recs.Runs) != 2 || len(recs.Machines) != 2 {
		t.Fatalf("%d runs on %d machines, want a run on each of two processors", len(recs.Runs), len(recs.Machines))
	}
	for i, cpu := range []string{"skylake", "znver3"} {
		run := recs.Runs[i]
		if run.Status != "ok" || run.Tool == "" || !strings.Contains(run.Command, "--source testdata/marked.s") {
			t.Errorf("the run of %s is %+v", cpu, run)
		}
		named := slices.ContainsFunc(recs.Attributes, func(a datasets.Attribute) bool {
			return a.Run == run.ID && a.Name == "target.cpu" && a.Value == cpu
		})
		if !named {
			t.Errorf("run %d does not say that it is about %s", run.ID, cpu)
		}
		out, _, err := llvm.Output(t.Context(), "", sim, "-mtriple=x86_64-linux-gnu", "-mcpu="+cpu, "--json", "-iterations=100", "testdata/marked.s")
		if err != nil {
			t.Fatal(err)
		}
		var report struct {
			CodeRegions []struct {
				SummaryView struct{ TotalCycles float64 }
			}
		}
		if err := json.Unmarshal(out, &report); err != nil {
			t.Fatal(err)
		}
		want := report.CodeRegions[0].SummaryView.TotalCycles
		found := slices.ContainsFunc(recs.Counters, func(c datasets.Counter) bool {
			return c.Run == run.ID && c.Value.V == want && recs.Region(c.Region).Short == "multiply"
		})
		if !found || want < 600 { // two multiplications of 3 cycles, one after the other, 100 times
			t.Errorf("%s: no counter of multiply is %v, the cycles of llvm-mca's report", cpu, want)
		}
	}
}

func TestAllProcessors(t *testing.T) {
	tool(t, "llvm-mca")
	_, err := collect(t, "--source", "testdata/marked.s", "--target", "aarch64-linux-gnu", "--mcpu", "bogus")
	if err == nil || !strings.Contains(err.Error(), `no processor "bogus" for aarch64-linux-gnu`) || !strings.Contains(err.Error(), "neoverse-n1") {
		t.Errorf("an unknown processor gives %v", err)
	}
	recs, err := collect(t, "--source", "testdata/marked.s", "--target", "x86_64-linux-gnu", "--mcpu", "all")
	if err != nil {
		t.Fatal(err)
	}
	if len(recs.Runs) < 20 { // LLVM 14 has models of 50 of its 86 processors for x86
		t.Errorf("only %d processors were simulated", len(recs.Runs))
	}
}

func TestWhatCannotBeSimulated(t *testing.T) {
	tool(t, "clang")
	dir := t.TempDir()
	for name, text := range map[string]string{"straight.c": "int f(int x) { return x + 1; }\n", "bad.c": "int f(int x) { return y; }\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ file, status, part string }{
		{"straight.c", "empty", "has no loop to simulate"},
		{"bad.c", "failed", "use of undeclared identifier 'y'"},
	} {
		recs, err := collect(t, "--source", filepath.Join(dir, c.file))
		if err != nil {
			t.Fatal(err)
		}
		if r := recs.Runs[0]; r.Status != c.status || !strings.Contains(r.Error, c.part) {
			t.Errorf("%s gives a run that is %s: %s", c.file, r.Status, r.Error)
		}
	}
	for _, c := range []struct {
		flags []string
		part  string
	}{{nil, "--source is needed"}, {[]string{"--source", "testdata/marked.s", "--iterations", "0"}, "--iterations 0"}, {[]string{"--source", "k.cl"}, "k.cl"}} {
		if _, err := collect(t, c.flags...); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%q gives %v, want %s", c.flags, err, c.part)
		}
	}
}
