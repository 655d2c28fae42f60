package agents

import (
	"errors"
	"os"
	"path/filepath"
)

// save writes what a reader wants of a run into its folder, with what was
// decided of it so far.
func (r *Result) save() error {
	if err := r.readDecisions(); err != nil {
		return err
	}
	data, err := r.JSON()
	if err != nil {
		return err
	}
	files := map[string][]byte{"result.json": data, "report.txt": []byte(r.String() + "\n"), "report.html": []byte(r.Page())}
	for _, name := range []string{"result.json", "report.txt", "report.html"} {
		if err := replaceFile(filepath.Join(r.Dir, name), files[name]); err != nil {
			return err
		}
	}
	path := filepath.Join(r.Dir, "result.patch")
	if r.Patch == "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		return nil
	}
	return replaceFile(path, []byte(r.Patch))
}
