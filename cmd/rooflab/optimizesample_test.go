package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/target"
)

// Who has nothing to optimize yet is shown what there is, gets a target that
// loads, and loses no file to a second try.
func TestOptimizeSample(t *testing.T) {
	text, errs, status := run(t, "", "optimize", "sample")
	if status != 0 || !strings.Contains(text, "stencil") || !strings.Contains(text, "seismicproxy") || strings.Count(text, "\n") < 9 {
		t.Fatalf("listing: exit status %d\n%s\n%s", status, text, errs)
	}
	dir := filepath.Join(t.TempDir(), "heat")
	text, errs, status = run(t, "", "optimize", "sample", "stencil", dir)
	path := filepath.Join(dir, "stencil.toml")
	if status != 0 || !strings.Contains(text, "rooflab optimize "+path) {
		t.Fatalf("writing: exit status %d\n%s\n%s", status, text, errs)
	}
	if _, err := target.Load(path); err != nil {
		t.Error(err)
	}
	changed := []byte("// mine\n")
	if err := os.WriteFile(filepath.Join(dir, "main.c"), changed, 0o644); err != nil {
		t.Fatal(err)
	}
	_, errs, status = run(t, "", "optimize", "sample", "stencil", dir)
	if status == 0 || !strings.Contains(errs, "there already") {
		t.Errorf("writing over what is there: exit status %d, %s", status, errs)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "main.c")); err != nil || string(text) != string(changed) {
		t.Errorf("main.c is now %q (%v)", text, err)
	}
	_, errs, status = run(t, "", "optimize", "sample", "no-such")
	if status == 0 || !strings.Contains(errs, `no target "no-such"`) || !strings.Contains(errs, "histogram") {
		t.Errorf("a name that is none: exit status %d, %s", status, errs)
	}
}
