package duckdb_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// The store is there while it is used, and nothing is left of it afterwards, also
// when its use fails.
func TestATemporaryStoreLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	broken := errors.New("broken")
	for _, want := range []error{nil, broken} {
		used := false
		err := datasets.Temporary(func(s *datasets.Store) error {
			used = true
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("%d folders while it is used, %v", len(entries), err)
			}
			return errors.Join(want, s.Each(t.Context(), func([]any) {}, "SELECT id FROM run"))
		})
		if !used || !errors.Is(err, want) || (want == nil) != (err == nil) {
			t.Errorf("used %t, error %v, want %v", used, err, want)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
			t.Errorf("%d folders are left, %v", len(entries), err)
		}
	}
}

// DuckDB's own name for a database in memory would become a file of that name.
func TestStoresInMemoryAreRefused(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, want := range map[string]string{":memory:": "datasets.Temporary", ":memory:notes": "datasets.Temporary", "": "its path is empty"} {
		for _, opts := range [][]datasets.Option{nil, {datasets.ReadOnly}} {
			if _, err := datasets.Open(path, opts...); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q: %v, want %s", path, err, want)
			}
		}
	}
	if entries, err := os.ReadDir("."); err != nil || len(entries) != 0 {
		t.Errorf("%v are left, %v", entries, err)
	}
}

// DuckDB takes tables for databases in memory, too: what is imported into one
// would be gone.
func TestOtherFilesAreNoStores(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"a.csv": "a,b\n1,2\n", "a.json": "[{\"a\": 1}]\n", "empty": ""} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-time.Minute) // a new one might become a store
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
		for _, opts := range [][]datasets.Option{nil, {datasets.ReadOnly}} {
			if s, err := datasets.Open(path, opts...); err == nil || !strings.Contains(err.Error(), "no store") {
				t.Errorf("%s: opened %v, %v", name, s, err)
			}
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != content {
			t.Errorf("%s is now %q, %v", name, b, err)
		}
	}
	path := filepath.Join(dir, "making")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var locked *datasets.LockedError
	if s, err := datasets.Open(path); !errors.As(err, &locked) {
		t.Errorf("a file that was made just now: opened %v, %v", s, err)
	}
}
