package collectors_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A cell links what it imports each time it runs, so neither the store's API
// nor a format may bring an engine along.
func TestNoEngineBehindTheThinPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../datasets", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for pkg := range strings.Lines(string(out)) {
		for _, engine := range []string{"duckdb", "arrow-go", "sqlite", "gomlx", "go-xla", "runtime/cgo"} {
			if strings.Contains(pkg, engine) {
				t.Errorf("%s is linked into cells that import datasets or collectors", strings.TrimSpace(pkg))
			}
		}
	}
}
