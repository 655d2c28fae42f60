package collectors_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func TestImportFirstTakesTheFirstFileThatHoldsCounters(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	store, err := datasets.Open(filepath.Join(dir, ".store.duckdb"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if _, err := collectors.ImportFirst(ctx, store, "ncu", dir); err == nil || !strings.Contains(err.Error(), "no ncu profile") {
		t.Errorf("an empty folder gives %v", err)
	}
	whole, err := os.ReadFile("ncu/testdata/raw_two_kernels.csv")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"a/denied.csv":  "==PROF== Connected to process 1\n==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n",
		"b/notes.txt":   "nothing of interest\n",
		"c/.hidden.csv": string(whole),
		"d/first.csv":   string(whole),
		"e/second.csv":  string(whole) + "\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []bool{false, true} { // the second time it is there already
		sum, err := collectors.ImportFirst(ctx, store, "ncu", dir)
		if err != nil {
			t.Fatal(err)
		}
		if sum.Path != filepath.Join(dir, "d/first.csv") || sum.Run() != 2 || (sum.Duplicate != nil) != want {
			t.Errorf("got %+v", sum)
		}
	}
	if _, err := collectors.ImportFirst(ctx, store, "caliper", dir); err == nil {
		t.Error("a caliper profile was found among ncu's")
	}
	if _, err := collectors.ImportFirst(ctx, store, "ncu", filepath.Join(dir, "nowhere")); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("a folder that is not there gives %v", err)
	}
}
