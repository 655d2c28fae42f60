// Package toolchain drives the Go compiler and linker for cells.
//
// Sources of one cell flow in, a loadable plugin flows out. `go build` is not
// paid per cell: the import configuration (which archive holds which package)
// is asked from `go list -export` once per new package and kept, compile and
// link run directly, and the external linker is called without the C compiler
// driver in front of it where that is safe.
//
// Every cell is compiled under one package path, PkgPath, so that a cell sees
// unexported names, fields and methods of earlier cells as one package does.
// Symbols that several plugins define resolve, by ELF symbol interposition, to
// the first one loaded: that is what keeps variables and type identity alive
// from cell to cell. What must not be shared that way (function values, static
// temporaries, generic dictionaries) is hidden in the object file by Hide.
package toolchain

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// PkgPath is the package path under which every cell is compiled. Its package
// name is main, which is what %T prints.
const PkgPath = "cell"

// fingerprint stands in for the hash of the cell package's export data, which
// the plugin loader would otherwise compare between cells. It must be 8 bytes.
const fingerprint = "ROOFLABC"

// goobjMagic opens a Go object file; the 8 bytes behind it are the fingerprint
// of the export data (cmd/internal/goobj, Header).
const goobjMagic = "\x00go120ld"

// Toolchain compiles and links the cells of one session.
type Toolchain struct {
	Dir  string // the session's workspace: go.mod, sources, plugins
	Root string // rooflab's source tree

	goCmd, compile, link, mold string
	goroot, goVersion          string
	types                      string // file of the host's type symbols, for the pruning linker
	env                        []string
	langVersion                string
	cacheFile                  string
	buildKey                   string

	// Progress, when set, hears about steps that take long, such as compiling a
	// large module for the first time.
	Progress func(line string)

	running atomic.Pointer[os.Process] // the go command in progress

	mu     sync.Mutex
	export map[string]string // import path -> archive
	names  map[string]string // import path -> package name
}

// SourceRoot returns the directory of rooflab's own source tree, against which
// cells compile. It is where this binary was built from, unless ROOFLAB_SRC
// names another place.
func SourceRoot() (string, error) {
	root := os.Getenv("ROOFLAB_SRC")
	if root == "" {
		_, file, _, ok := runtime.Caller(0)
		if !ok {
			return "", errors.New("finding rooflab's source tree: the binary carries no file names; set ROOFLAB_SRC to the checkout")
		}
		root = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	}
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("finding rooflab's source tree, which cells compile against: %w; set ROOFLAB_SRC to the checkout that this binary was built from", err)
	}
	if !strings.HasPrefix(string(data), "module github.com/rooflab/rooflab\n") {
		return "", fmt.Errorf("finding rooflab's source tree: %s is not module github.com/rooflab/rooflab; set ROOFLAB_SRC", filepath.Join(root, "go.mod"))
	}
	return root, nil
}

// Experiment returns the GOEXPERIMENT with which this binary was built: cells
// must be built with the same one.
func Experiment() string { return buildSetting("GOEXPERIMENT") }

func buildSetting(key string) string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, s := range bi.Settings {
			if s.Key == key {
				return s.Value
			}
		}
	}
	return ""
}

// New prepares a toolchain in the workspace dir, which must exist. It writes
// the workspace's go.mod and go.sum and reads the kept import configuration.
func New(dir string, extraEnv []string) (*Toolchain, error) {
	root, err := SourceRoot()
	if err != nil {
		return nil, err
	}
	goCmd, err := exec.LookPath("go")
	if err != nil {
		return nil, fmt.Errorf("looking for the Go toolchain: %w; install Go %s and put it on PATH", err, strings.TrimPrefix(runtime.Version(), "go"))
	}
	t := &Toolchain{
		Dir: dir, Root: root, goCmd: goCmd,
		export: map[string]string{}, names: map[string]string{},
	}
	t.env = append(os.Environ(), extraEnv...)
	t.env = append(t.env, "GOEXPERIMENT="+Experiment(), "GOWORK=off", "GOFLAGS=-mod=readonly", "GO111MODULE=on", "CGO_ENABLED=1")
	out, err := t.goOutput("env", "-json", "GOVERSION", "GOTOOLDIR", "GOROOT", "GOMODCACHE", "GOCACHE")
	if err != nil {
		return nil, err
	}
	var env struct{ GOVERSION, GOTOOLDIR, GOROOT, GOMODCACHE, GOCACHE string }
	if err := json.Unmarshal(out, &env); err != nil {
		return nil, fmt.Errorf("reading `go env -json`: %w", err)
	}
	if v := baseVersion(runtime.Version()); baseVersion(env.GOVERSION) != v {
		return nil, fmt.Errorf("the go command on PATH is %s, but this rooflab was built with %s, and plugins need the same: run `make build` again, or put %s on PATH", env.GOVERSION, v, v)
	}
	t.compile = filepath.Join(env.GOTOOLDIR, "compile")
	t.link = filepath.Join(env.GOTOOLDIR, "link")
	t.mold, _ = exec.LookPath("mold")
	t.langVersion = langVersion(env.GOVERSION)
	t.goroot, t.goVersion = env.GOROOT, env.GOVERSION
	if err := t.writeModule(); err != nil {
		return nil, err
	}
	t.buildKey = t.key(env.GOVERSION)
	t.loadCache()
	t.usePruning()
	return t, nil
}

// baseVersion strips the experiments from a Go version: go1.26.8-X:simd.
func baseVersion(v string) string {
	v, _, _ = strings.Cut(v, " ")
	v, _, _ = strings.Cut(v, "-X:")
	return v
}

// langVersion turns go1.26.8 into go1.26.
func langVersion(v string) string {
	parts := strings.SplitN(v, ".", 3)
	if len(parts) < 2 {
		return v
	}
	return parts[0] + "." + parts[1]
}

// writeModule writes the workspace's go.mod: everything that rooflab requires,
// at the same versions, and rooflab itself from its source tree.
func (t *Toolchain) writeModule() error {
	mod, err := os.ReadFile(filepath.Join(t.Root, "go.mod"))
	if err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(t.Root, "go.sum"))
	if err != nil {
		return err
	}
	text := strings.Replace(string(mod), "module github.com/rooflab/rooflab\n", "module rooflab.session\n", 1)
	text += fmt.Sprintf("\nrequire github.com/rooflab/rooflab v0.0.0\n\nreplace github.com/rooflab/rooflab => %q\n", t.Root)
	if err := os.WriteFile(filepath.Join(t.Dir, "go.mod"), []byte(text), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(t.Dir, "go.sum"), sum, 0o644)
}

// Cancel ends the go command that is running, if any.
func (t *Toolchain) Cancel() {
	if p := t.running.Load(); p != nil {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL) // it may have ended by itself
	}
}

// goOutput runs the go command in the workspace and returns its standard output.
func (t *Toolchain) goOutput(args ...string) ([]byte, error) {
	cmd := exec.Command(t.goCmd, args...)
	cmd.Dir, cmd.Env = t.Dir, t.env
	// A process group of its own, so that Cancel ends what the command started.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Start()
	if err == nil {
		t.running.Store(cmd.Process)
		err = cmd.Wait()
		t.running.Store(nil)
	}
	out := stdout.Bytes()
	if err != nil {
		msg := strings.TrimSpace(stderr.String())
		if msg == "" {
			msg = err.Error()
		}
		return out, fmt.Errorf("go %s: %s", args[0], msg)
	}
	return out, nil
}

// key identifies the build that the kept import configuration belongs to.
func (t *Toolchain) key(version string) string {
	h := sha256.New()
	fmt.Fprintln(h, version, Experiment(), t.Root, runtime.GOOS, runtime.GOARCH, os.Getenv("GOAMD64"))
	if exe, err := os.Executable(); err == nil {
		if st, err := os.Stat(exe); err == nil {
			fmt.Fprintln(h, exe, st.Size(), st.ModTime().UnixNano())
		}
	}
	for _, f := range []string{"go.mod", "go.sum"} {
		data, _ := os.ReadFile(filepath.Join(t.Dir, f))
		h.Write(data)
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// CacheDir is where rooflab keeps what it can make again.
func CacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the user's cache directory: %w; set XDG_CACHE_HOME", err)
	}
	dir := filepath.Join(base, "rooflab")
	return dir, os.MkdirAll(dir, 0o755)
}

type cacheEntry struct{ Export, Name string }

func (t *Toolchain) loadCache() {
	dir, err := CacheDir()
	if err != nil {
		return // without a cache every session asks the go command again
	}
	t.cacheFile = filepath.Join(dir, "importcfg-"+t.buildKey+".json")
	data, err := os.ReadFile(t.cacheFile)
	if err != nil {
		return
	}
	var entries map[string]cacheEntry
	if json.Unmarshal(data, &entries) != nil {
		return
	}
	for _, e := range entries {
		if _, err := os.Stat(e.Export); err != nil {
			return // the build cache was trimmed: ask again
		}
	}
	for path, e := range entries {
		t.export[path], t.names[path] = e.Export, e.Name
	}
}

func (t *Toolchain) saveCache() {
	if t.cacheFile == "" {
		return
	}
	entries := map[string]cacheEntry{}
	for path, file := range t.export {
		entries[path] = cacheEntry{file, t.names[path]}
	}
	data, err := json.Marshal(entries)
	if err != nil {
		return
	}
	tmp := fmt.Sprintf("%s.%d", t.cacheFile, os.Getpid())
	if os.WriteFile(tmp, data, 0o644) == nil {
		if os.Rename(tmp, t.cacheFile) != nil {
			os.Remove(tmp)
		}
	}
}

// Archive returns the archive of the package, which Ensure must have built.
func (t *Toolchain) Archive(path string) (string, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f, ok := t.export[path]
	return f, ok
}

// slowStep is how long a step may take before the user is told of it.
const slowStep = 2 * time.Second

// Ensure makes the archives of the packages and of all that they import
// available, compiling what the build cache lacks. Packages that are there
// already cost nothing.
func (t *Toolchain) Ensure(paths ...string) error {
	var missing []string
	t.mu.Lock()
	for _, p := range paths {
		if _, ok := t.export[p]; !ok && p != "unsafe" && p != "C" && !slices.Contains(missing, p) {
			missing = append(missing, p)
		}
	}
	t.mu.Unlock()
	if len(missing) == 0 {
		return nil
	}
	for _, p := range missing {
		if p == "" || p[0] == '.' || p[0] == '/' {
			return fmt.Errorf("import %q: cells import packages by their module's path, such as gonum.org/v1/gonum/mat; a session has no folder that a path could begin from", p)
		}
	}
	args := append([]string{"list", "-e", "-export", "-deps", "-buildmode=plugin", "-json=ImportPath,Name,Export,Error,DepsErrors,Standard"}, missing...)
	slow := time.AfterFunc(slowStep, func() {
		if t.Progress != nil {
			t.Progress(fmt.Sprintf("compiling %s and what it imports; this happens once", strings.Join(missing, ", ")))
		}
	})
	out, err := t.goOutput(args...)
	slow.Stop()
	if err != nil && strings.Contains(err.Error(), "updates to go.mod needed") {
		// A module that others mention but nothing here uses.
		return fmt.Errorf("import %q: its module is not part of this session; add it with %%get (for example %%get %s@v1.2.3)", missing[0], missing[0])
	}
	if err != nil {
		return err
	}
	type pkgError struct{ Err string }
	dec := json.NewDecoder(bytes.NewReader(out))
	found := map[string]bool{}
	t.mu.Lock()
	defer t.mu.Unlock()
	for dec.More() {
		var p struct {
			ImportPath, Name, Export string
			Standard                 bool
			Error                    *pkgError
		}
		if err := dec.Decode(&p); err != nil {
			return fmt.Errorf("reading `go list`: %w", err)
		}
		if p.Error != nil {
			return fmt.Errorf("import %q: %s", p.ImportPath, explainMissing(p.ImportPath, p.Error.Err))
		}
		if p.Export == "" {
			continue
		}
		found[p.ImportPath] = true
		if old, ok := t.export[p.ImportPath]; ok && old == p.Export {
			continue
		}
		t.export[p.ImportPath], t.names[p.ImportPath] = p.Export, p.Name
	}
	for _, p := range missing {
		if !found[p] {
			return fmt.Errorf("import %q: the package did not compile; `go build %s` in %s says why", p, p, t.Dir)
		}
	}
	t.saveCache()
	return nil
}

// explainMissing turns the go command's advice, which names commands that a
// notebook user would not run, into the cell's own.
func explainMissing(path, msg string) string {
	msg = strings.TrimSpace(msg)
	if strings.Contains(msg, "no required module provides package") || strings.Contains(msg, "cannot find module providing package") {
		return fmt.Sprintf("no module of this session provides it; add one with %%get module@version in a cell (for example %%get %s@v1.2.3)", path)
	}
	if strings.Contains(msg, "missing go.sum entry") {
		return fmt.Sprintf("its module is not fetched in this session yet; add it with %%get (for example %%get %s@v1.2.3)", path)
	}
	if i := strings.Index(msg, "\n"); i > 0 {
		msg = msg[:i]
	}
	return msg
}

// hostModules returns the modules that this binary was built with.
func hostModules() map[string]bool {
	m := map[string]bool{}
	if bi, ok := debug.ReadBuildInfo(); ok {
		for _, d := range bi.Deps {
			m[d.Path] = true
		}
	}
	return m
}
