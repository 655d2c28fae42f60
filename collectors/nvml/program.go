package nvml

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

// The program that reads the sensors is built from rooflab's source tree when
// it is first needed, or before by `rooflab prepare`, and kept in the user's
// cache under a name that changes with its source.

const (
	programName = "rooflab-nvml"
	programPath = "github.com/rooflab/rooflab/collectors/nvml/" + programName
	binding     = "github.com/NVIDIA/go-nvml "

	// keepFor is how long programs of former sources stay in the cache.
	keepFor = 30 * 24 * time.Hour
)

var building sync.Mutex

// program returns the path of rooflab-nvml, building it where it is not there.
// It does not build where there is no library that the program could load: the
// *collectors.MissingError says so, as it says why it cannot be built.
// log hears of a build.
func program(ctx context.Context, log io.Writer) (string, error) {
	root, path, err := place()
	if err == nil {
		if _, serr := os.Stat(path); serr == nil {
			return path, nil
		}
	}
	if !libraryThere() {
		return "", &collectors.MissingError{Status: datasets.RunUnavailable, What: "no GPU of NVIDIA, or no driver: libnvidia-ml.so.1 is not there",
			Fix: "install NVIDIA's driver, which brings it, or let the container have the GPU (docker run --gpus all)"}
	}
	if err == nil {
		fmt.Fprintf(log, "building %s, which reads the sensors; this happens once\n", programName)
		err = build(ctx, root, path)
	}
	if err != nil {
		return "", cannotBuild(err)
	}
	return path, nil
}

func cannotBuild(err error) error {
	return &collectors.MissingError{Status: datasets.RunUnavailable, What: fmt.Sprintf("the program that reads the sensors, %s, cannot be built: %v", programName, err),
		Fix: "it takes Go " + strings.TrimPrefix(release(), "go") + " or later, a C compiler and the modules of rooflab's go.mod: run `rooflab prepare` where these are, with the same cache folder (XDG_CACHE_HOME)"}
}

// prepare builds the program wherever it is not there, with a GPU or without:
// nodes that have GPUs often have no compilers.
func prepare(ctx context.Context) error {
	root, path, err := place()
	if err == nil {
		if _, serr := os.Stat(path); serr == nil {
			return nil
		}
		err = build(ctx, root, path)
	}
	if err != nil {
		return cannotBuild(err)
	}
	return nil
}

// place is rooflab's source tree, and where the program belongs.
func place() (root, path string, err error) {
	root = os.Getenv("ROOFLAB_SRC")
	if root == "" {
		_, file, _, _ := runtime.Caller(0)
		root = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return "", "", fmt.Errorf("finding rooflab's source tree: %w; set ROOFLAB_SRC to the checkout", err)
	}
	h := sha256.New()
	fmt.Fprintln(h, release(), runtime.GOOS, runtime.GOARCH)
	for line := range strings.Lines(string(mod)) {
		if strings.Contains(line, binding) {
			fmt.Fprint(h, strings.TrimSpace(line))
		}
	}
	sources := 0
	for _, dir := range []string{programName, "sensors"} {
		files, err := filepath.Glob(filepath.Join(root, "collectors", "nvml", dir, "*.go")) // sorted
		if err != nil {
			return "", "", err
		}
		for _, f := range files {
			src, err := os.ReadFile(f)
			if err != nil {
				return "", "", err
			}
			fmt.Fprintln(h, filepath.Base(f), len(src))
			h.Write(src)
			sources++
		}
	}
	if sources == 0 {
		return "", "", fmt.Errorf("finding rooflab's source tree: %s has no collectors/nvml/%s; set ROOFLAB_SRC to the checkout", root, programName)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", "", fmt.Errorf("finding the user's cache folder: %w; set XDG_CACHE_HOME", err)
	}
	return root, filepath.Join(cache, "rooflab", programName+"-"+hex.EncodeToString(h.Sum(nil))[:16]), nil
}

// release is the Go that built this program, without experiments.
func release() string {
	v, _, _ := strings.Cut(runtime.Version(), " ")
	v, _, _ = strings.Cut(v, "-X:")
	return v
}

func build(ctx context.Context, root, path string) error {
	building.Lock()
	defer building.Unlock()
	goCmd, err := exec.LookPath("go")
	if err != nil {
		return errors.New("there is no go command in PATH")
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	// The binding needs its symbols to be looked up at the first call, which is
	// not the default of the compilers of all distributions.
	cmd := exec.CommandContext(ctx, goCmd, "build", "-ldflags=-s -w -extldflags=-Wl,-z,lazy", "-o", tmp, programPath)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOEXPERIMENT="+experiment(), "GOWORK=off", "GOFLAGS=-mod=readonly", "GO111MODULE=on", "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		_ = os.Remove(tmp) // it may not be there
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("go build: %w: %s", err, firstLines(out, 4))
	}
	if err := os.Rename(tmp, path); err != nil {
		return err
	}
	sweep(dir, path)
	return nil
}

// experiment is the GOEXPERIMENT of this program: with the same one the
// standard library need not be compiled again.
func experiment() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "GOEXPERIMENT" {
				return s.Value
			}
		}
	}
	return ""
}

// aboutWarnings matches the lines in which the C compiler warns of functions
// of the binding that are deprecated.
var aboutWarnings = regexp.MustCompile(`^#|^\s*\d* \||warning:|note:|: In function |^In file included from `)

// firstLines are the lines of a build's output that say why it failed, at most n.
func firstLines(out []byte, n int) string {
	var kept []string
	for line := range strings.Lines(string(out)) {
		line = strings.TrimRight(line, "\n")
		if strings.TrimSpace(line) != "" && !aboutWarnings.MatchString(line) && len(kept) < n {
			kept = append(kept, strings.TrimSpace(line))
		}
	}
	return strings.Join(kept, "; ")
}

// sweep removes programs of former sources.
func sweep(dir, keep string) {
	old, err := filepath.Glob(filepath.Join(dir, programName+"-*"))
	if err != nil {
		return
	}
	for _, f := range old {
		if st, err := os.Stat(f); err == nil && f != keep && time.Since(st.ModTime()) > keepFor {
			_ = os.Remove(f) // another process may have done it
		}
	}
}

// libraryThere says whether the loader would find the driver's library, as far
// as files tell it: whether it is worth to build a program that asks it.
func libraryThere() bool {
	if name := os.Getenv("ROOFLAB_NVML_LIBRARY"); name != "" {
		return exists(name)
	}
	const name = "libnvidia-ml.so.1"
	dirs := append(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")), "/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/lib/wsl/lib")
	for _, dir := range dirs {
		if dir != "" && exists(filepath.Join(dir, name)) {
			return true
		}
	}
	cached, err := os.ReadFile("/etc/ld.so.cache") // names stand there as they are
	return err == nil && bytes.Contains(cached, []byte(name))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
