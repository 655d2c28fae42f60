package toolchain

import (
	"fmt"
	"os"
	"path/filepath"
)

// linkerFront returns the path of rooflab-ld, the external linker of cells,
// building it when the cache has none of this toolchain.
func (t *Toolchain) linkerFront() (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	front := filepath.Join(dir, "rooflab-ld-"+t.buildKey)
	if _, err := os.Stat(front); err == nil {
		return front, nil
	}
	tmp := fmt.Sprintf("%s.%d", front, os.Getpid())
	if _, err := t.goOutput("build", "-ldflags=-s -w", "-o", tmp, "github.com/rooflab/rooflab/kernel/toolchain/rooflab-ld"); err != nil {
		return "", fmt.Errorf("building the linker front of cells: %w", err)
	}
	return front, os.Rename(tmp, front)
}
