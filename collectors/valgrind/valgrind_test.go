package valgrind_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	_ "github.com/rooflab/rooflab/collectors/cachegrind"
	_ "github.com/rooflab/rooflab/collectors/callgrind"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/parsertest"
	_ "github.com/rooflab/rooflab/collectors/valgrind"
	"github.com/rooflab/rooflab/datasets"
)

// program has a function of which the number of instructions is known: three
// for each turn, in assembly, and a few around them (the first one keeps the
// loop from beginning where the function does, which looks like a call). Its argument is the
// number of turns; without one it fails.
const program = `#include <stdlib.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noinline)) void turns(long n)
{
#ifdef __x86_64__
	__asm__ volatile("nop\n1: nop\n\tdec %0\n\tjnz 1b" : "+r"(n));
#else
	__asm__ volatile("nop\n1: nop\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(n));
#endif
}
int main(int argc, char **argv)
{
	if (argc < 2)
		return 6;
	turns(atol(argv[1]));
	puts("done");
	if (argc > 2)
		execl(argv[2], argv[2], "5", NULL);
	return 0;
}
`

func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "p.c"), filepath.Join(dir, "p")
	if err := os.WriteFile(src, []byte(program), 0o666); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("cc", "-g", "-O1", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("building a program (install a C compiler: apt install gcc): %v\n%s", err, out)
	}
	if _, err := exec.LookPath("valgrind"); err != nil {
		t.Fatal("the tests need valgrind: apt install valgrind")
	}
	return bin
}

func collect(t *testing.T, flags []string, command ...string) *parsertest.Records {
	t.Helper()
	r, err := parsertest.Collect(t, "valgrind", flags, collectors.Job{Command: command})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestInstructionsAreExact(t *testing.T) {
	bin := build(t)
	for _, tool := range []string{"callgrind", "cachegrind"} {
		var out bytes.Buffer
		r, err := parsertest.Collect(t, "valgrind", []string{"-tool", tool}, collectors.Job{Command: []string{bin, "1000"}, Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		if out.String() != "done\n" {
			t.Errorf("%s: the command said %q", tool, out.String())
		}
		run := r.Runs[0]
		if run.Status != datasets.RunOK || run.Tool != tool || run.ToolVersion == "" || run.Command != bin+" 1000" || run.InputHash == "" || run.Machine != 1 || r.Machines[0] != host.Machine() || !run.Started.Valid {
			t.Errorf("run %+v", run)
		}
		more := collect(t, []string{"-tool", tool}, bin, "3000")
		a, b := r.Value("turns", "Ir"), more.Value("turns", "Ir")
		if !a.Valid || b.V-a.V != 3*2000 {
			t.Errorf("%s: %v and %v instructions", tool, a, b)
		}
		if m := r.Value("turns", "Bcm"); !m.Valid {
			t.Errorf("%s: no mispredicted branches", tool)
		}
	}
}

func TestWithoutSimulation(t *testing.T) {
	r := collect(t, []string{"-cache=false", "-branch=false"}, build(t), "10")
	for _, c := range r.Counters {
		if c.Metric == "D1mr" || c.Metric == "Bcm" {
			t.Fatalf("%+v", c)
		}
	}
}

func TestAFailingCommandKeepsItsCounts(t *testing.T) {
	r := collect(t, nil, build(t))
	if run := r.Runs[0]; run.Status != datasets.RunFailed || run.Error != "the command ended with exit status 6" || len(r.Counters) == 0 {
		t.Errorf("%+v with %d counters", run, len(r.Counters))
	}
}

func TestOneRunForEachProcess(t *testing.T) {
	bin := build(t)
	r := collect(t, []string{"-children"}, "sh", "-c", bin+" 100 & "+bin+" 200; wait")
	seen := map[int64]float64{}
	for _, c := range r.Counters {
		if c.Metric == "Ir" && r.Region(c.Region).Short == "turns" {
			seen[c.Run] = c.Value.V
		}
	}
	if len(r.Runs) < 3 || len(seen) != 2 || len(r.Machines) != 1 {
		t.Errorf("%d runs on %d machines, turns in %v", len(r.Runs), len(r.Machines), seen)
	}
	for _, g := range r.Regions {
		if r.Region(g.ID).Run != g.Run {
			t.Fatalf("two regions have id %d", g.ID)
		}
	}
}

func TestAToolThatFails(t *testing.T) {
	r := collect(t, []string{"-option", "--no-such-option"}, "true")
	if run := r.Runs[0]; run.Status != datasets.RunFailed || !strings.Contains(run.Error, "wrote no profile") {
		t.Errorf("run %+v", run)
	}
	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if run := collect(t, nil, "sh", "-c", "exit 0").Runs[0]; run.Status != datasets.RunUnavailable || !strings.Contains(run.Error, "apt install valgrind") {
		t.Errorf("run %+v", run)
	}
	for _, flags := range [][]string{{"-tool", "memcheck"}, {"-tool", "cachegrind", "-instructions"}} {
		if _, err := parsertest.Collect(t, "valgrind", flags, collectors.Job{Command: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "callgrind") {
			t.Errorf("%v: %v", flags, err)
		}
	}
}
