package imports_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/internal/bench/imports"
)

// A small race with a peer that loses rows must be void rather than won.
func TestASideThatLosesRowsMakesTheRaceVoid(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", filepath.Join(t.TempDir(), "cache"))
	bin := t.TempDir()
	// Stands in for python3 -m venv: the Python that it makes reads nothing.
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(bin, "python3"), `#!/bin/sh
mkdir -p "$4/bin" && printf '#!/bin/sh\necho 0 0 0\n' > "$4/bin/python" && chmod +x "$4/bin/python"
`)
	// Ours answers as if it had imported all: 20 rows a launch, one launch.
	write(filepath.Join(bin, "rooflab"), "#!/bin/sh\necho 1,20,$NS\n")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	race := func() error {
		r := imports.Race{Ours: filepath.Join(bin, "rooflab"), NCUBytes: 1, Caliper: 1, TraceBytes: 1, Rounds: 1, Seed: 1, Progress: func(string) {}}
		_, err := r.Run(context.Background())
		return err
	}
	t.Setenv("NS", "1")
	if err := race(); err == nil || !strings.Contains(err.Error(), "rooflab: it read") || !strings.Contains(err.Error(), "the race is void") {
		t.Errorf("a wrong sum of ours: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "rooflab-bench-import-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("it left %q (%v)", left, err)
	}
}
