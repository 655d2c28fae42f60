package notebook_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/rooflab/rooflab/kernel/notebook"
)

// A run reads two files and writes one; afterwards they change one by one.
func TestInputsThatChangeAreTold(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("ä b.csv", "1,2\n")
	put("profiles/one/a.txt", "a")
	put("result.txt", "old")
	put("not named", "x")
	nb := notebook.New(
		notebook.NewCell(notebook.Markdown, `"not named"`),
		notebook.NewCell(notebook.Code, "// \"not named\"\nread(\"ä b.csv\")\nread(`profiles`, \"nosuch\", \".\")"),
		notebook.NewCell(notebook.Code, `write("result.txt")`))
	before := notebook.Inputs(nb, dir)
	put("result.txt", "a longer result")
	notebook.RecordInputs(nb, dir, before)

	// As the file that is published, and read again.
	path := filepath.Join(dir, "study.ipynb")
	if err := notebook.WriteFile(path, nb); err != nil {
		t.Fatal(err)
	}
	nb, err := notebook.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := func(lines ...string) {
		t.Helper()
		if got := notebook.ChangedInputs(nb, dir); !slices.Equal(got, lines) {
			t.Errorf("told:\n%q\nwant\n%q", got, lines)
		}
	}
	want()
	put("not named", "y")
	put("result.txt", "")
	put("profiles/two.txt", "new")
	want()
	// Checksums by sha256sum.
	put("ä b.csv", "1,3\n")
	const csv = "ä b.csv has changed since the notebook was run: its sha256 was 52186c933993 and is 162d69039f60"
	want(csv)
	put("profiles/one/a.txt", "aa")
	const profile = "profiles/one/a.txt has changed since the notebook was run: it had 1 bytes and has 2"
	want(profile, csv)
	if err := os.Remove(filepath.Join(dir, "ä b.csv")); err != nil {
		t.Fatal(err)
	}
	want(profile, "ä b.csv is not there any more")

	// A run with no inputs remembers none.
	nb.Cells = nb.Cells[:1]
	notebook.RecordInputs(nb, dir, notebook.Inputs(nb, dir))
	if _, ok := nb.Metadata["rooflab"]; ok {
		t.Errorf("metadata is %v", nb.Metadata)
	}
}
