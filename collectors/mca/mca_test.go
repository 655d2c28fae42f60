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
	"github.com/rooflab/rooflab/collectors/mca"
	"github.com/rooflab/rooflab/collectors/parsertest"
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
