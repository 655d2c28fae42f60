// Package pypi makes virtual environments for the peers of benchmarks that are
// Python packages: pinned requirements flow in, the path of a Python that has
// them flows out.
package pypi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// Python makes the virtual environment called name with the requirements pins,
// once, and returns its Python. It stands in rooflab/name of the user's cache;
// another list of pins makes it anew. about says in a line what is installed.
func Python(ctx context.Context, name, about string, pins []string, progress func(string)) (python string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the peers: %w", err)
	}
	dir := filepath.Join(cache, "rooflab", name)
	python = filepath.Join(dir, "bin", "python")
	stamp := filepath.Join(dir, "rooflab-pins.txt")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == strings.Join(pins, "\n") {
		return python, nil
	}
	progress("installing " + about + " from PyPI into " + dir)
	if err := run(ctx, "python3", "-m", "venv", "--clear", dir); err != nil {
		return "", fmt.Errorf("making a virtual environment for the peers: %w\non Debian or Ubuntu: apt install python3-venv", err)
	}
	if err := run(ctx, python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-cache-dir"}, pins...)...); err != nil {
		return "", fmt.Errorf("installing the peers (%s) from PyPI: %w\nwith the network there, try again; what was begun in %s is made anew",
			strings.Join(pins, ", "), err, dir)
	}
	return python, os.WriteFile(stamp, []byte(strings.Join(pins, "\n")), 0o644)
}

func run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	if out, err := cmd.CombinedOutput(); err != nil {
		text := string(out)
		return fmt.Errorf("%s %s: %w\n%s", filepath.Base(name), strings.Join(args[:min(2, len(args))], " "), err, text[max(0, len(text)-4000):])
	}
	return nil
}
