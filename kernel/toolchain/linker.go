package toolchain

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
)

// linkerFront returns the path of rooflab-ld, the external linker of cells,
// building it when the cache has none of this toolchain.
func (t *Toolchain) linkerFront() (string, error) {
	src, err := os.ReadFile(filepath.Join(t.Root, "kernel", "toolchain", "rooflab-ld", "main.go"))
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append(src, t.goVersion...))
	front, err := t.kept("rooflab-ld-" + hex.EncodeToString(sum[:])[:16])
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(front); err == nil {
		return front, nil
	}
	tmp := fmt.Sprintf("%s.%d", front, os.Getpid())
	if _, err := t.goOutput("build", "-ldflags=-s -w", "-o", tmp, "github.com/rooflab/rooflab/kernel/toolchain/rooflab-ld"); err != nil {
		return "", fmt.Errorf("building the linker front of cells: %w", err)
	}
	return front, os.Rename(tmp, front)
}
