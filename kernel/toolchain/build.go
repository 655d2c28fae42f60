package toolchain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
)

// File is one generated source file of a cell.
type File struct {
	Name string
	Text []byte
}

// Cell is what Build turns into a plugin.
type Cell struct {
	ID      int      // unique within the session
	Files   []File   // sources of the cell package
	Func    string   // name of the function that runs the cell
	Imports []string // packages that Files import
}

// DiagnosticError is what the Go compiler said about a cell. Lines already
// carry the user's positions, because the sources hold line directives.
type DiagnosticError struct{ Output string }

func (e *DiagnosticError) Error() string { return strings.TrimSpace(e.Output) }

// Build compiles and links the cell and returns the plugin's path.
func (t *Toolchain) Build(ctx context.Context, c Cell) (string, error) {
	dir := filepath.Join(t.Dir, fmt.Sprintf("c%d", c.ID))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := t.Ensure(append([]string{livePath, "runtime/cgo", "unsafe"}, c.Imports...)...); err != nil {
		return "", err
	}
	cfg := filepath.Join(dir, "importcfg")
	archive := filepath.Join(dir, "cell.a")
	if err := os.WriteFile(cfg, t.importcfg(archive), 0o644); err != nil {
		return "", err
	}
	var names []string
	for _, f := range c.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.WriteFile(name, f.Text, 0o644); err != nil {
			return "", err
		}
		names = append(names, name)
	}
	stubs := make(chan error, 1)
	var mainArchive string
	go func() {
		var err error
		mainArchive, err = t.compileMain(ctx, dir, cfg, c)
		stubs <- err
	}()
	args := append([]string{"-o", archive, "-p", PkgPath, "-lang=" + t.langVersion, "-dynlink", "-pack", "-complete",
		"-nolocalimports", "-trimpath", dir + "=>", "-importcfg", cfg}, names...)
	err := t.tool(ctx, dir, t.compile, args...)
	if stubErr := <-stubs; err == nil {
		err = stubErr
	}
	if err != nil {
		return "", err
	}
	if err := setFingerprint(archive); err != nil {
		return "", err
	}
	so := filepath.Join(dir, "cell.so")
	if err := t.linkPlugin(ctx, dir, cfg, mainArchive, so, c); err != nil {
		return "", err
	}
	// What was read to make the plugin is not needed again; a long session
	// would otherwise fill the disk.
	for _, f := range append(names, archive, mainArchive, cfg) {
		os.Remove(f)
	}
	return so, nil
}

// livePath is the runtime that generated code calls.
const livePath = "github.com/rooflab/rooflab/kernel/live"

// compileMain compiles the plugin's main package: it registers the cell's
// function. It refers to the cell package by name only (a linkname), against
// an empty stand-in, so that it compiles while the cell itself does.
func (t *Toolchain) compileMain(ctx context.Context, dir, cfg string, c Cell) (string, error) {
	stub, err := t.standIn(ctx)
	if err != nil {
		return "", err
	}
	src := filepath.Join(dir, "main.go")
	text := fmt.Sprintf(`package main

import (
	_ %q
	live %q
	_ "unsafe"
)

//go:linkname run %s.%s
func run()

func init() { live.Register(%d, run) }
`, PkgPath, livePath, PkgPath, c.Func, c.ID)
	if err := os.WriteFile(src, []byte(text), 0o644); err != nil {
		return "", err
	}
	mainCfg := filepath.Join(dir, "importcfg.main")
	if err := os.WriteFile(mainCfg, t.importcfg(stub), 0o644); err != nil {
		return "", err
	}
	out := filepath.Join(dir, "main.a")
	err = t.tool(ctx, dir, t.compile, "-o", out, "-p", pluginPath(c.ID), "-lang="+t.langVersion, "-dynlink", "-pack",
		"-trimpath", dir+"=>", "-importcfg", mainCfg, src)
	os.Remove(src)
	os.Remove(mainCfg)
	return out, err
}

func pluginPath(id int) string { return fmt.Sprintf("rooflab/cell%d", id) }

// standIn compiles, once, a cell package that holds nothing but initialisation:
// the plugin's main package then refers to the real one's, through which the
// linker finds the initialisation of every package that the cell imports.
func (t *Toolchain) standIn(ctx context.Context) (string, error) {
	standInMu.Lock()
	defer standInMu.Unlock()
	out := filepath.Join(t.Dir, "standin.a")
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	src := filepath.Join(t.Dir, "standin.go")
	cfg := filepath.Join(t.Dir, "standin.cfg")
	if err := os.WriteFile(cfg, t.importcfg(out), 0o644); err != nil {
		return "", err
	}
	if err := os.WriteFile(src, []byte("package main\n\nvar m = map[int]int{}\n\nfunc init() { m[0] = 1 }\n"), 0o644); err != nil {
		return "", err
	}
	if err := t.tool(ctx, t.Dir, t.compile, "-o", out, "-p", PkgPath, "-dynlink", "-pack", "-complete", "-importcfg", cfg, src); err != nil {
		return "", err
	}
	return out, setFingerprint(out)
}

var standInMu sync.Mutex

// importcfg lists every known archive, and the cell package itself.
func (t *Toolchain) importcfg(cell string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	for path, file := range t.export {
		fmt.Fprintf(&b, "packagefile %s=%s\n", path, file)
	}
	fmt.Fprintf(&b, "packagefile %s=%s\n", PkgPath, cell)
	return b.Bytes()
}

// setFingerprint makes the export data hash of the cell package the same in
// every cell, so that the loader takes them for one package.
func setFingerprint(archive string) error {
	data, err := os.ReadFile(archive)
	if err != nil {
		return err
	}
	i := bytes.Index(data, []byte(goobjMagic))
	if i < 0 || i+16 > len(data) {
		return fmt.Errorf("reading %s: not an object file of a Go version that rooflab knows (magic %q not found)", archive, goobjMagic)
	}
	fp := bytes.Clone(data[i+len(goobjMagic) : i+len(goobjMagic)+8])
	if bytes.Equal(fp, make([]byte, 8)) {
		return fmt.Errorf("reading %s: the object file carries no fingerprint", archive)
	}
	return os.WriteFile(archive, bytes.ReplaceAll(data, fp, []byte(fingerprint)), 0o644)
}

// linkPlugin links the plugin, through our own external linker
// (rooflab-ld), which hides symbols and calls mold directly when it is there.
func (t *Toolchain) linkPlugin(ctx context.Context, dir, cfg, mainArchive, so string, c Cell) error {
	self, err := t.linkerFront()
	if err != nil {
		return err
	}
	tmp := filepath.Join(dir, "link")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	return t.tool(ctx, dir, t.link, "-o", so, "-importcfg", cfg, "-buildmode=plugin", "-pluginpath", pluginPath(c.ID),
		"-s", "-w", "-compressdwarf=false", "-tmpdir", tmp, "-extld", self, mainArchive)
}

// tool runs one of the Go tools; what it prints on failure is the diagnosis.
func (t *Toolchain) tool(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(t.env, "PWD="+dir, "GOGC=400", "ROOFLAB_MOLD="+t.mold, "ROOFLAB_TYPES="+t.types)
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return &DiagnosticError{Output: string(out)}
	}
	return fmt.Errorf("running %s: %w", name, err)
}
