package collectors_test

import (
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

// drivers are the folders whose packages bring an engine along by their
// nature: the host links them once, cells do not import them.
var drivers = []string{"all", "nsys", "rooflab-nvml", "opencl", "duckdb"}

// A cell links what it imports each time it runs, so neither the store's API
// nor a format may bring an engine along.
func TestNoEngineBehindTheThinPackages(t *testing.T) {
	all, err := exec.Command("go", "list", "../datasets", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	args := []string{"list", "-deps"}
	for pkg := range strings.Lines(string(all)) {
		pkg = strings.TrimSpace(pkg)
		if !slices.Contains(drivers, path.Base(pkg)) {
			args = append(args, pkg)
		}
	}
	out, err := exec.Command("go", args...).Output()
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
