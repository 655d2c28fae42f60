package edit_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func TestFilesStayBelowTheFolder(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	put(t, filepath.Join(in, "src", "a.c"), "old\n")
	put(t, filepath.Join(in, "zero.c"), "a\x00b")
	put(t, filepath.Join(out, "secret.c"), "secret\n")
	for link, to := range map[string]string{"link.c": "../out/secret.c", "dir": "../out", "near.c": "src/a.c"} {
		if err := os.Symlink(to, filepath.Join(in, link)); err != nil {
			t.Fatal(err)
		}
	}
	for file, reason := range map[string]edit.Reason{"link.c": edit.PathEscape, "dir/secret.c": edit.PathEscape, "near.c": edit.PathEscape, "../out/secret.c": edit.PathEscape,
		filepath.Join(out, "secret.c"): edit.PathEscape, "src": edit.PathEscape, "zero.c": edit.Binary} {
		_, err := edit.Read(in, file)
		if r := (*edit.Rejection)(nil); !errors.As(err, &r) || r.Reason != reason {
			t.Errorf("reading %s: %v, want %s", file, err, reason)
		}
		if reason == edit.Binary {
			continue
		}
		err = (&edit.Patch{Files: []edit.File{{Path: file, Text: "changed"}}}).Write(in)
		if r := (*edit.Rejection)(nil); !errors.As(err, &r) || r.Reason != reason {
			t.Errorf("writing %s: %v, want %s", file, err, reason)
		}
	}
	if err := (&edit.Patch{Files: []edit.File{{Path: "new.c", Text: "x"}}}).Write(in); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("writing a file that is not there: %v", err)
	}
	if err := (&edit.Patch{Files: []edit.File{{Path: "src/a.c", Text: "new\n"}}}).Write(in); err != nil {
		t.Fatal(err)
	}
	text, err := edit.Read(in, "src/a.c")
	info, statErr := os.Stat(filepath.Join(in, "src", "a.c"))
	if err != nil || statErr != nil || text != "new\n" || info.Mode().Perm() != 0o640 {
		t.Errorf("%q, %v, %v, %v", text, err, statErr, info.Mode())
	}
	for _, d := range []string{filepath.Join(in, "src"), out} {
		if es, err := os.ReadDir(d); err != nil || len(es) != 1 {
			t.Errorf("%s holds %v, %v: only what was there", d, es, err)
		}
	}
	if b, err := os.ReadFile(filepath.Join(out, "secret.c")); err != nil || string(b) != "secret\n" {
		t.Errorf("the file outside is %q, %v", b, err)
	}
}
