package suite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents"
	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/suite"
	"github.com/rooflab/rooflab/agents/target"
)

func TestMain(m *testing.M) {
	sandbox.ServeIfAsked()
	os.Exit(m.Run())
}

// load writes a target of the suite into a folder of its own and loads it.
func load(t *testing.T, name string) *target.Target {
	t.Helper()
	path, err := suite.Write(name, filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	got, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Each target is whole, and there are as many as the suite is to have.
func TestEachTargetIsDescribed(t *testing.T) {
	kernels := suite.Kernels()
	for _, want := range []string{"dot", "stencil", "transpose", "histogram", "spmv", "nbody", "scan"} {
		if !slices.Contains(kernels, want) {
			t.Errorf("there is no kernel %s among %q", want, kernels)
		}
	}
	proxies := suite.Proxies()
	if !slices.Equal(proxies, []string{"seismicproxy", "xsproxy"}) {
		t.Errorf("proxy applications are %q", proxies)
	}
	if all := suite.Names(); len(all) != len(kernels)+len(proxies) {
		t.Errorf("%d kernels and %d proxies are not all of %q", len(kernels), len(proxies), all)
	}
	for _, name := range suite.Names() {
		got := load(t, name)
		if got.Name != name {
			t.Errorf("%s is called %s", name, got.Name)
		}
		if len(got.Inputs.Sizes) == 0 || len(got.Inputs.Other) < 5 {
			t.Errorf("%s has the sizes %q and %q: there are to be five others", name, got.Inputs.Sizes, got.Inputs.Other)
		}
		if d := got.Inputs.Drawn; d == nil || len(got.Inputs.Draw(1)) != d.Count {
			t.Errorf("%s has no sizes to draw beside the listed ones: %+v", name, d)
		}
		if len(got.Hot) == 0 || slices.Contains(proxies, name) && len(got.Hot) < 3 {
			t.Errorf("%s has %d hot functions", name, len(got.Hot))
		}
		if about, err := suite.About(name); err != nil || len(about) < 20 || strings.Contains(about, "\n") {
			t.Errorf("%s is about %q (%v)", name, about, err)
		}
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	mine := filepath.Join(dir, "main.c")
	if err := os.WriteFile(mine, []byte("// mine\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Write("dot", dir); err == nil || !strings.Contains(err.Error(), mine) {
		t.Errorf("writing over %s: %v", mine, err)
	}
	if text, err := os.ReadFile(mine); err != nil || string(text) != "// mine\n" {
		t.Errorf("%s is now %q (%v)", mine, text, err)
	}
	if _, err := suite.Write("../suite", dir); err == nil || !strings.Contains(err.Error(), "stencil") {
		t.Errorf("a name that is none: %v", err)
	}
}

// Each target in C builds, gives the same outputs again, and gives others when a
// hot function does nothing: all that may be changed counts.
func TestEachHotFunctionCounts(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Fatal("gcc is needed (Debian: apt-get install gcc)")
	}
	for _, name := range suite.Names() {
		got := load(t, name)
		if got.Language != target.C {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// One small input, so that the test is quick, and the smallest that may be drawn.
			got.Inputs.Sizes, got.Inputs.Other, got.Inputs.PerRun = []string{got.Profile.Size}, []string{got.Inputs.Drawn.From}, 1
			got.Inputs.Drawn = nil
			w, err := agents.NewWorkbench(t.Context(), got, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			original, err := w.Build(t.Context(), nil)
			if err != nil || !original.OK() {
				t.Fatalf("building it: %v %s", err, original.Log)
			}
			if v, err := w.Validate(t.Context(), original, original); err != nil || !v.OK || v.Unstable != "" {
				t.Fatalf("compared with itself: %+v, %v", v, err)
			}
			for _, r := range got.Hot {
				idle, err := w.Build(t.Context(), []edit.File{emptied(t, got, r)})
				if err != nil || !idle.OK() {
					t.Fatalf("building it without %s: %v %s", r.Function, err, idle.Log)
				}
				if v, err := w.Validate(t.Context(), original, idle); err != nil || v.OK {
					t.Errorf("nobody sees that %s does nothing: %+v, %v", r.Function, v, err)
				}
			}
		})
	}
}

// emptied is the file of a hot function with one that returns at once.
func emptied(t *testing.T, from *target.Target, r target.Region) edit.File {
	t.Helper()
	for _, s := range from.Sources() {
		if s.Path != r.File {
			continue
		}
		for _, f := range edit.Functions(s.Text) {
			if f.Name != r.Function {
				continue
			}
			lines := strings.SplitAfter(s.Text, "\n")
			back := "return;"
			if !strings.HasPrefix(f.Signature, "void") {
				back = "return 0;"
			}
			lines[f.Body.Start-1] = strings.Replace(lines[f.Body.Start-1], "{", "{ "+back, 1)
			return edit.File{Path: s.Path, Text: strings.Join(lines, "")}
		}
	}
	t.Fatalf("%s has no function %s", r.File, r.Function)
	return edit.File{}
}
