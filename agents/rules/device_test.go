package rules_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/rules"
)

// kernels runs a text's kernels on the OpenCL device that there is.
func kernels(t *testing.T, text string) []string {
	t.Helper()
	dir := t.TempDir()
	host := filepath.Join(dir, "host")
	library := "-lOpenCL"
	if found, _ := filepath.Glob("/usr/lib/*/libOpenCL.so.1"); len(found) > 0 {
		library = found[0] // without the package of headers there is no link for -lOpenCL
	}
	if out, err := exec.Command("gcc", "-O1", "-o", host, "testdata/opencl/host.c", library).CombinedOutput(); err != nil {
		t.Fatalf("gcc and an OpenCL loader are needed: %v\n%s", err, out)
	}
	file := filepath.Join(dir, "kernels.cl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(host, file)
	c.Env = append(os.Environ(), "POCL_CACHE_DIR="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("an OpenCL device, such as PoCL, is needed: %v\n%s\n%s", err, out, text)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

func TestEachProposalForKernelsKeepsResultsBitForBit(t *testing.T) {
	ss := sources(t, "testdata/opencl/*.cl")
	square := rules.Launch{Local: []int64{8, 8}, Square: true}
	c := rules.Case{Sources: ss, Evidence: hot("product", "turn", "columns", "sums", "rows"),
		Launches: map[string]rules.Launch{"product": square, "turn": square, "columns": square}}
	advice := rules.Advisor{}.Advise(c)
	want := kernels(t, ss[0].Text)
	found := map[string]bool{}
	left := advice.Proposals
	for len(left) > 0 {
		var now, later []rules.Proposal
		for _, p := range left {
			found[p.Transformation+" "+p.Function] = true
			if slices.ContainsFunc(now, func(q rules.Proposal) bool { return q.Function == p.Function }) {
				later = append(later, p)
			} else {
				now = append(now, p)
			}
		}
		patch := apply(t, c, now)
		got := kernels(t, patch.Files[0].Text)
		for i := range want {
			if got[i] != want[i] {
				name, _, _ := strings.Cut(want[i], " ")
				for _, p := range now {
					if p.Function == name {
						t.Errorf("%s of %s changes results:\n%s", p.Transformation, p.Function, edit.Format([]edit.Edit{p.Edit}))
					}
				}
			}
		}
		left = later
	}
	for _, w := range []string{"staging product", "staging turn", "coalescing columns", "tree-reduction sums", "scalar-replacement rows", "hoisting rows", "selection rows", "strength-reduction rows", "unrolling product"} {
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
