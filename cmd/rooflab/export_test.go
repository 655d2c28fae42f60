package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestExportedFolderIsImportedOnce(t *testing.T) {
	dir := t.TempDir()
	store, folder, other := filepath.Join(dir, "s.duckdb"), filepath.Join(dir, "in", "out"), filepath.Join(dir, "other.duckdb")
	importJSON(t, 0, "--store", store, "../../collectors/ncu/testdata/raw_two_kernels.csv", "../../collectors/caliper/testdata/solver.cali")
	out, errs, status := run(t, "", "export", "--store", store, folder)
	if status != 0 || !strings.Contains(out, "counter.parquet: ") {
		t.Fatalf("export: %d %s%s", status, out, errs)
	}
	// A folder of an export is found below a directory, too.
	for i, want := range []string{"imported", "unchanged"} {
		r := importJSON(t, 0, "--store", other, filepath.Join(dir, "in"))
		if len(r.Files) != 1 || r.Files[0].Status != want || r.Files[0].Path != folder || r.Files[0].Format != "rooflab-parquet" {
			t.Errorf("time %d: %+v", i+1, r.Files)
		}
	}
	if dump(t, other) != dump(t, store) {
		t.Error("the other store is not the same")
	}
	// The files that the export came from are known.
	for _, f := range importJSON(t, 0, "--store", other, "../../collectors/caliper/testdata/solver.cali").Files {
		if f.Status != "unchanged" {
			t.Errorf("%+v", f)
		}
	}
	if _, errs, status := run(t, "", "export", "--store", store, folder); status != 1 || !strings.Contains(errs, "holds files already") {
		t.Errorf("exporting again: %d %s", status, errs)
	}
	if err := os.Truncate(filepath.Join(folder, "counter.parquet"), 10); err != nil {
		t.Fatal(err)
	}
	if r := importJSON(t, 1, "--store", other, folder); r.Files[0].Status != "failed" || !strings.Contains(r.Files[0].Error.Message, "counter.parquet") {
		t.Errorf("a cut file: %+v", r.Files)
	}
}
