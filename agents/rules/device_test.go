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

// device builds the host program.
func device(t *testing.T) string {
	t.Helper()
	host := filepath.Join(t.TempDir(), "host")
	library := "-lOpenCL"
	if found, _ := filepath.Glob("/usr/lib/*/libOpenCL.so.1"); len(found) > 0 {
		library = found[0] // without the package of headers there is no link for -lOpenCL
	}
	if out, err := exec.Command("gcc", "-O1", "-o", host, "testdata/opencl/host.c", library).CombinedOutput(); err != nil {
		t.Fatalf("gcc and an OpenCL loader are needed: %v\n%s", err, out)
	}
	return host
}

// kernels runs kernels of a text on the OpenCL device that there is: what they
// write, by name and size.
func kernels(t *testing.T, host, text string, names []string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "kernels.cl")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(host, append([]string{file}, names...)...)
	c.Env = append(os.Environ(), "POCL_CACHE_DIR="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("an OpenCL device, such as PoCL, is needed: %v\n%s\n%s", err, out, text)
	}
	results := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if f := strings.Fields(line); len(f) == 3 && slices.Contains(names, f[0]) {
			results[f[0]+" "+f[1]] = f[2]
		}
	}
	if len(results) != 2*len(names) {
		t.Fatalf("%d results of %v:\n%s", len(results), names, out)
	}
	return results
}

func TestEachProposalForKernelsKeepsResultsBitForBit(t *testing.T) {
	ss := sources(t, "testdata/opencl/*.cl")
	square := rules.Launch{Local: []int64{8, 8}, Square: true}
	c := rules.Case{Sources: ss, Evidence: hot("product", "turn", "columns", "sums", "rows", "turned", "tallies", "peaks"),
		Launches: map[string]rules.Launch{"product": square, "turn": square, "columns": square, "turned": square}}
	advice := rules.Advisor{}.Advise(c)
	host := device(t)
	want := kernels(t, host, ss[0].Text, []string{"product", "turn", "columns", "sums", "rows", "turned", "tallies", "peaks"})
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
		var names []string
		for _, p := range now {
			names = append(names, p.Function)
		}
		patch := apply(t, c, now)
		for at, got := range kernels(t, host, patch.Files[0].Text, names) {
			for _, p := range now {
				if strings.HasPrefix(at, p.Function+" ") && got != want[at] {
					t.Errorf("%s changes what %s computes:\n%s", p.Transformation, at, edit.Format([]edit.Edit{p.Edit}))
				}
			}
		}
		left = later
	}
	for _, w := range []string{"staging product", "staging turn", "coalescing columns", "tree-reduction sums", "scalar-replacement rows", "hoisting rows", "selection rows", "strength-reduction rows", "unrolling product",
		"staging turned", "coalescing turned", "private-atomics tallies", "private-atomics peaks"} {
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
