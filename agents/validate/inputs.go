package validate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
)

// content is a hash of all files of a folder, with their names; "" where there is
// no folder.
func content(dir string) (string, error) {
	h := sha256.New()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		fmt.Fprintf(h, "%q\n", name)
		n, err := io.Copy(h, f)
		fmt.Fprintf(h, "\n%d\n", n)
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // it made nothing
	}
	if err != nil {
		return "", fmt.Errorf("reading what the generator of inputs made: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// fixed says that two of the seeds have made the same input, "" where none have.
func fixed(cases []Case) string {
	for i, a := range cases {
		for _, b := range cases[:i] {
			if a.made != "" && a.made == b.made && a.Seed != b.Seed && maps.Equal(a.Input, b.Input) {
				return fmt.Sprintf("the generator of inputs makes the same of the seeds %d and %d: a candidate may be right on that one input alone; let it use its seed", b.Seed, a.Seed)
			}
		}
	}
	return ""
}
