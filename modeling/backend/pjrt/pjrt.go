// Package pjrt installs the PJRT plugin that XLA needs, when the user asks for
// it: in flows a wheel pinned by version and checksum, from PyPI through pip or
// from a file, out flows a plugin in a directory that package backend searches.
package pjrt

import (
	"archive/zip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
)

// Wheel is a Python wheel that carries a plugin.
type Wheel struct {
	Name, Version string
	SHA256        string // of the wheel
	Plugin        string // path of the plugin inside
	PluginSHA256  string
	Platform      string // GOOS/GOARCH that it is for
}

// CPU is XLA's CPU plugin as built for jaxlib 0.11.2 (PJRT C API 0.115), under
// Apache-2.0, with its licence and notices in the wheel. go-xla 0.4.1 speaks
// API 0.104 and trains on it as on its own.
var CPU = Wheel{
	Name: "lammps-jax-pjrt-cpu", Version: "0.11.2",
	SHA256:       "1319390d948b39f69f7dade496b7c385149d9ca6097a6b62114da113216d9ad1",
	Plugin:       "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so",
	PluginSHA256: "ad1309ac822b1b24d51b7f9947c7c9fa9ef5d67f390584cbc3d1fa2428fed9c2",
	Platform:     "linux/amd64",
}

// Options of Install.
type Options struct {
	File   string    // the wheel as a file; empty downloads it with pip
	Python string    // the Python whose pip downloads, default "python3"
	Log    io.Writer // hears what is done; nil for nobody
	// Verify, when set, tries the plugin before it is put in place.
	Verify func(ctx context.Context, plugin string) error
}

// Install puts the wheel's plugin into dir and returns its path. What is in
// dir stays as it was until the new plugin has been checked, and a plugin with
// the right checksum is left alone. The error of a failed download is pip's.
func Install(ctx context.Context, w Wheel, dir string, opt Options) (string, error) {
	if here := runtime.GOOS + "/" + runtime.GOARCH; here != w.Platform {
		return "", fmt.Errorf("installing an XLA plugin: %s %s is for %s, this is %s: GoMLX's Go backend works here, "+
			"or put a plugin of your own into %s", w.Name, w.Version, w.Platform, here, dir)
	}
	say := func(format string, args ...any) {
		if opt.Log != nil {
			fmt.Fprintf(opt.Log, format+"\n", args...)
		}
	}
	target := filepath.Join(dir, path.Base(w.Plugin))
	if sum, err := sum(target); err == nil && sum == w.PluginSHA256 {
		say("%s is there already, with the right checksum", target)
		return target, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	work, err := os.MkdirTemp(dir, ".install-") // beside the target, so that renaming is atomic
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	defer os.RemoveAll(work)
	file := opt.File
	if file == "" {
		say("downloading %s %s from PyPI with pip (60 MB)", w.Name, w.Version)
		if file, err = download(ctx, w, work, opt.Python); err != nil {
			return "", err
		}
	}
	got, err := sum(file)
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	if got != w.SHA256 {
		return "", fmt.Errorf("installing an XLA plugin: %s has sha256 %s, want %s for %s %s: the file is damaged or another version",
			file, got, w.SHA256, w.Name, w.Version)
	}
	fresh := filepath.Join(work, path.Base(w.Plugin))
	if err := extract(file, w.Plugin, fresh); err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	if got, err = sum(fresh); err != nil {
		return "", fmt.Errorf("installing an XLA plugin: checking %s: %w", w.Plugin, err)
	}
	if got != w.PluginSHA256 {
		return "", fmt.Errorf("installing an XLA plugin: %s in the wheel has sha256 %s, want %s", w.Plugin, got, w.PluginSHA256)
	}
	if opt.Verify != nil {
		say("trying it")
		if err := opt.Verify(ctx, fresh); err != nil {
			return "", fmt.Errorf("installing an XLA plugin: it was downloaded but does not work here: %w", err)
		}
	}
	if err := os.Rename(fresh, target); err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	say("installed %s (%s %s, sha256 of the wheel %s)", target, w.Name, w.Version, w.SHA256)
	return target, nil
}

func download(ctx context.Context, w Wheel, dir, python string) (string, error) {
	if python == "" {
		python = "python3"
	}
	pins := filepath.Join(dir, "pins.txt")
	if err := os.WriteFile(pins, []byte(w.Name+"=="+w.Version+" --hash=sha256:"+w.SHA256+"\n"), 0o644); err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	cmd := exec.CommandContext(ctx, python, "-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check",
		"--no-deps", "--only-binary", ":all:", "--require-hashes", "-r", pins, "-d", dir)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	manual := fmt.Sprintf("; on a machine with network `pip download --no-deps %s==%s` gets the wheel, and `rooflab xla install --wheel FILE` installs it here", w.Name, w.Version)
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("installing an XLA plugin: there is no %s to download it with%s", python, manual)
	}
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin: pip failed (%w): %s%s", err, strings.TrimSpace(string(out)), manual)
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin: looking for pip's wheel in %s: %w", dir, err)
	}
	if len(wheels) != 1 {
		return "", fmt.Errorf("installing an XLA plugin: pip left %d wheels in %s, want one", len(wheels), dir)
	}
	return wheels[0], nil
}

func extract(wheel, member, to string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("opening %s: %w", wheel, err)
	}
	defer z.Close()
	in, err := z.Open(member)
	if err != nil {
		return fmt.Errorf("%s holds no %s: %w", wheel, member, err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func sum(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", file, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
