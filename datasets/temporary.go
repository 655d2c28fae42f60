package datasets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Temporary opens an empty store in the folder for temporary files, and removes it
// after use, whatever came of it.
func Temporary(use func(*Store) error) (err error) {
	dir, err := os.MkdirTemp("", "rooflab-store-")
	if err != nil {
		return fmt.Errorf("making a folder for a temporary store: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	s, err := Open(filepath.Join(dir, "store.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return use(s)
}
