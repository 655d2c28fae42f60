package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Env is the environment variable that names the folder which is looked at
// first.
const Env = "ROOFLAB_DATASETS"

// Set is one data set.
type Set struct {
	Name     string
	About    string // what was measured, on what, how much of it
	Licence  string
	Note     string // what a user must know besides: restrictions, traps
	Page     string // where people read about it and find the files
	Citation string
	Files    []File
	// Embedded has the files, instead of Files, of a data set that is part of
	// rooflab, in its folder Root.
	Embedded fs.FS
	Root     string
}

// fill lists the files of an embedded data set.
func (s Set) fill() Set {
	if s.Embedded == nil {
		return s
	}
	entries, err := fs.ReadDir(s.Embedded, s.Root)
	if err != nil {
		panic("registry: data set " + s.Name + ": " + err.Error()) // the program was built without a part of it
	}
	for _, e := range entries {
		b, err := fs.ReadFile(s.Embedded, path.Join(s.Root, e.Name()))
		if err != nil {
			panic("registry: data set " + s.Name + ": " + err.Error())
		}
		sum := sha256.Sum256(b)
		s.Files = append(s.Files, File{Name: e.Name(), SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(b))})
	}
	return s
}

// Bytes is the size of all files.
func (s Set) Bytes() int64 {
	n := int64(0)
	for _, f := range s.Files {
		n += f.Bytes
	}
	return n
}

// File is one file of a data set.
type File struct {
	Name   string // relative to the data set's folder, with slashes
	URL    string // where it is fetched; empty where no address is known that can be fetched
	SHA256 string
	Bytes  int64
}

var (
	mu   sync.Mutex
	sets = map[string]Set{}
)

// Register makes a data set known. It panics when the name is taken.
func Register(s Set) {
	mu.Lock()
	defer mu.Unlock()
	if _, dup := sets[s.Name]; dup {
		panic("registry: data set " + s.Name + " registered twice")
	}
	sets[s.Name] = s
}

// Sets lists the data sets by name.
func Sets() []Set {
	mu.Lock()
	defer mu.Unlock()
	out := make([]Set, 0, len(sets))
	for _, s := range sets {
		out = append(out, s.fill())
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// UnknownError says that no data set has a name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	var names []string
	for _, s := range Sets() {
		names = append(names, s.Name)
	}
	return fmt.Sprintf("no data set %q: there are %s, and the folders below $%s", e.Name, strings.Join(names, ", "), Env)
}

// Lookup finds a data set by its name.
func Lookup(name string) (Set, error) {
	mu.Lock()
	s, ok := sets[name]
	mu.Unlock()
	if !ok {
		return Set{}, &UnknownError{name}
	}
	return s.fill(), nil
}

// Place is where a data set is on this machine.
type Place struct {
	Dir string
	// Own says that the folder is below ROOFLAB_DATASETS rather than in the cache.
	Own bool
	// Differ names the files whose content is not the published one. Only a
	// folder of the user's own can have such files.
	Differ []string
}

// MissingError says that a data set is not on this machine.
type MissingError struct {
	Name   string
	Looked []string // the folders that were looked at
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("data set %s is not on this machine (looked at %s): `rooflab datasets fetch %s` gets it", e.Name, strings.Join(e.Looked, " and "), e.Name)
}

// Find looks for a data set without the network: in the folder NAME below
// ROOFLAB_DATASETS, then in the cache. It returns a *MissingError where there is
// none, and an *UnknownError where the name is none of a data set or a folder.
func Find(name string) (Place, error) {
	if name == "" || name != filepath.Base(filepath.Clean(name)) || name == "." || name == ".." {
		return Place{}, &UnknownError{name}
	}
	set, known := Lookup(name)
	missing := &MissingError{Name: name}
	if own := os.Getenv(Env); own != "" {
		dir := filepath.Join(own, name)
		switch st, err := os.Stat(dir); {
		case err == nil && st.IsDir():
			return ownPlace(dir, set)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return Place{}, fmt.Errorf("looking for data set %s below $%s: %w", name, Env, err)
		}
		missing.Looked = append(missing.Looked, dir)
	}
	if known != nil {
		return Place{}, known
	}
	dir, err := cacheDir(name)
	if err != nil {
		return Place{}, err
	}
	missing.Looked = append(missing.Looked, dir)
	faults, err := verify(dir, set)
	switch {
	case err != nil:
		return Place{}, err
	case len(faults) == 0:
		return Place{Dir: dir}, nil
	case set.Embedded != nil:
		return Place{Dir: dir}, unpack(set, dir)
	}
	return Place{}, missing // what is damaged is fetched again
}

// unpack puts a data set that is part of rooflab into the cache, in place of
// what is there.
func unpack(set Set, dir string) error {
	fail := func(err error) error { return fmt.Errorf("unpacking data set %s: %w", set.Name, err) }
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return fail(err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "."+set.Name+"-*")
	if err != nil {
		return fail(err)
	}
	defer os.RemoveAll(tmp) // after the renaming there is nothing of that name
	for _, f := range set.Files {
		b, err := fs.ReadFile(set.Embedded, path.Join(set.Root, f.Name))
		if err != nil {
			return fail(err)
		}
		if err := os.WriteFile(filepath.Join(tmp, f.Name), b, 0o644); err != nil { //nolint:gosec // as public as other files of the user
			return fail(err)
		}
	}
	if err := errors.Join(os.Chmod(tmp, 0o755), os.RemoveAll(dir)); err != nil { //nolint:gosec // as public as other folders of the user
		return fail(err)
	}
	if err := os.Rename(tmp, dir); err != nil {
		return fail(err)
	}
	return nil
}

// ownPlace checks a user's folder. Files that the data set has and the folder
// lacks are an error: a study of half a data set would look like one of all.
func ownPlace(dir string, set Set) (Place, error) {
	p := Place{Dir: dir, Own: true}
	faults, err := verify(dir, set)
	if err != nil {
		return Place{}, err
	}
	for _, f := range faults {
		if f.missing {
			return Place{}, fmt.Errorf("data set %s in %s lacks %s (%s): complete the folder, or unset %s to use the cache", set.Name, dir, f.name, set.Page, Env)
		}
		p.Differ = append(p.Differ, f.name)
	}
	return p, nil
}

type fault struct {
	name    string
	missing bool
}

// verify compares the files of a folder with the published sums.
func verify(dir string, set Set) ([]fault, error) {
	var faults []fault
	for _, f := range set.Files {
		sum, n, err := sha(filepath.Join(dir, filepath.FromSlash(f.Name)))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, fault{f.Name, true})
		case err != nil:
			return nil, fmt.Errorf("verifying data set %s: %w", set.Name, err)
		case n != f.Bytes || sum != f.SHA256:
			faults = append(faults, fault{f.Name, false})
		}
	}
	return faults, nil
}

func sha(path string) (sum string, n int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// Own lists the folders below ROOFLAB_DATASETS that are no data set of the
// registry's.
func Own() []string {
	entries, err := os.ReadDir(os.Getenv(Env))
	if os.Getenv(Env) == "" || err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if _, err := Lookup(e.Name()); err != nil && e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}

// cacheDir is where a data set is kept: rooflab/datasets/NAME in the user's
// cache directory.
func cacheDir(name string) (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("finding the cache for data sets: %w", err)
	}
	return filepath.Join(dir, "rooflab", "datasets", name), nil
}
