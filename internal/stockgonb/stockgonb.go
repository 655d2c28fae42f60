// Package stockgonb builds the GoNB kernel that go.mod pins, unchanged: the
// peer that `rooflab install --gonb` offers beside ours and that benchmarks
// and tests run against. Sources come from the module cache (or the module
// proxy); binaries go to the user's cache directory.
package stockgonb

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/kernel/toolchain"
)

// Version is the pinned version of GoNB; a test holds it against go.mod.
const Version = "v0.11.3"

// Kernel is a built GoNB.
type Kernel struct {
	Binary string // the gonb program
	Tools  string // folder with goimports, which GoNB looks for on the PATH
}

// Build builds GoNB and goimports, unless they have been built before, and
// says on log what takes long.
func Build(ctx context.Context, log io.Writer) (Kernel, error) {
	root, err := toolchain.SourceRoot()
	if err != nil {
		return Kernel{}, fmt.Errorf("building GoNB: %w", err)
	}
	cache, err := toolchain.CacheDir()
	if err != nil {
		return Kernel{}, fmt.Errorf("building GoNB: %w", err)
	}
	dir := filepath.Join(cache, "gonb", Version)
	k := Kernel{Binary: filepath.Join(dir, "gonb"), Tools: filepath.Join(dir, "tools")}
	for pkg, binary := range map[string]string{
		"github.com/janpfeifer/gonb":       k.Binary,
		"golang.org/x/tools/cmd/goimports": filepath.Join(k.Tools, "goimports"),
	} {
		if err := build(ctx, log, root, pkg, binary); err != nil {
			return Kernel{}, err
		}
	}
	return k, nil
}

func build(ctx context.Context, log io.Writer, root, pkg, binary string) error {
	if _, err := os.Stat(binary); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	fmt.Fprintf(log, "building %s ...\n", pkg)
	// Several processes may build at once: each its own file, the last wins.
	temp := fmt.Sprintf("%s.%d", binary, os.Getpid())
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-o", temp, pkg)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("building %s: %s in %s: %w\n%s", pkg, strings.Join(cmd.Args, " "), root, err, output.Bytes())
	}
	if err := os.Rename(temp, binary); err != nil {
		return fmt.Errorf("building %s: %w", pkg, err)
	}
	return nil
}
