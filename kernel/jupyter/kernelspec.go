package jupyter

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

//go:embed logo.svg
var logo []byte

// Spec is a kernelspec: a folder that tells Jupyter how to start a kernel.
type Spec struct {
	Name    string // folder, and the name notebooks refer to
	Display string // what a user sees
	Argv    []string
	Env     map[string]string
	// InterruptMode is "message" (interrupt_request) or "signal" (SIGINT).
	InterruptMode string
	Logo          []byte // SVG, or nil
}

// RooflabSpec is the kernelspec that starts binary as a kernel.
func RooflabSpec(binary string) Spec {
	return Spec{
		Name:          "rooflab",
		Display:       "Go (rooflab)",
		Argv:          []string{binary, "kernel", "--connection-file", "{connection_file}"},
		InterruptMode: "message",
		Logo:          logo,
	}
}

// GoNBSpec is the kernelspec that starts a stock GoNB binary, with the folder
// tools in front of the PATH on which it looks for goimports.
func GoNBSpec(binary, tools string) Spec {
	return Spec{
		Env:           map[string]string{"PATH": tools + string(os.PathListSeparator) + "${PATH}"},
		Name:          "gonb",
		Display:       "Go (gonb)",
		Argv:          []string{binary, "--kernel", "{connection_file}"},
		InterruptMode: "signal",
	}
}

// Write puts the kernelspec under dataDir (Jupyter's data directory) and
// returns its folder. An older one of the same name is replaced.
func (s Spec) Write(dataDir string) (dir string, err error) {
	dir = filepath.Join(dataDir, "kernels", s.Name)
	env := s.Env
	if env == nil {
		env = map[string]string{}
	}
	config, err := json.MarshalIndent(map[string]any{
		"argv":           s.Argv,
		"display_name":   s.Display,
		"language":       "go",
		"interrupt_mode": s.InterruptMode,
		"env":            env,
		"metadata":       map[string]any{"debugger": false},
	}, "", "  ")
	if err != nil {
		return dir, fmt.Errorf("kernelspec %s: %w", s.Name, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return dir, fmt.Errorf("kernelspec %s: %w", s.Name, err)
	}
	if s.Logo != nil {
		if err := os.WriteFile(filepath.Join(dir, "logo-svg.svg"), s.Logo, 0o644); err != nil {
			return dir, fmt.Errorf("kernelspec %s: %w", s.Name, err)
		}
	}
	// kernel.json last and at once: its presence makes the kernel appear.
	temp := filepath.Join(dir, ".kernel.json.new")
	if err := os.WriteFile(temp, append(config, '\n'), 0o644); err != nil {
		return dir, fmt.Errorf("kernelspec %s: %w", s.Name, err)
	}
	if err := os.Rename(temp, filepath.Join(dir, "kernel.json")); err != nil {
		return dir, fmt.Errorf("kernelspec %s: %w", s.Name, err)
	}
	return dir, nil
}

// RemoveSpec removes the kernelspec called name from under dataDir and
// reports whether there was one.
func RemoveSpec(dataDir, name string) (dir string, found bool, err error) {
	dir = filepath.Join(dataDir, "kernels", name)
	if _, err := os.Stat(filepath.Join(dir, "kernel.json")); errors.Is(err, fs.ErrNotExist) {
		return dir, false, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return dir, true, fmt.Errorf("removing kernelspec %s: %w", name, err)
	}
	return dir, true, nil
}

// UserDataDir is Jupyter's data directory of this user: JUPYTER_DATA_DIR, or
// what the platform has.
func UserDataDir() (string, error) {
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("looking for Jupyter's data directory: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Jupyter"), nil
	}
	if dir := os.Getenv("XDG_DATA_HOME"); dir != "" {
		return filepath.Join(dir, "jupyter"), nil
	}
	return filepath.Join(home, ".local", "share", "jupyter"), nil
}

// PrefixDataDir is Jupyter's data directory of an installation or virtual
// environment.
func PrefixDataDir(prefix string) string { return filepath.Join(prefix, "share", "jupyter") }
