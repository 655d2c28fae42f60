package toolchain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"
)

// catalog is what could be imported: every package of the standard library and
// of the modules that the session requires, whether compiled yet or not.
type catalog struct {
	mu    sync.Mutex
	stamp time.Time // of the go.mod that it was read for
	size  int64
	paths []string
	dirs  map[string]string
}

// Paths lists the import paths of all packages that a cell could import,
// sorted. Internal packages and commands are left out.
func (p *Packages) Paths() []string {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	p.readCatalog()
	return p.catalog.paths
}

// SourceDir returns the directory that holds a package's source, or "" where
// the package is unknown.
func (p *Packages) SourceDir(path string) string {
	p.catalog.mu.Lock()
	defer p.catalog.mu.Unlock()
	p.readCatalog()
	return p.catalog.dirs[path]
}

// readCatalog asks the go command, once for each state of go.mod. The lock is
// held.
func (p *Packages) readCatalog() {
	c := &p.catalog
	st, err := os.Stat(filepath.Join(p.t.Dir, "go.mod"))
	if err != nil || c.dirs != nil && st.ModTime().Equal(c.stamp) && st.Size() == c.size {
		return
	}
	// A session that lists nothing is asked again when its go.mod changes.
	c.stamp, c.size, c.paths, c.dirs = st.ModTime(), st.Size(), nil, map[string]string{}
	patterns := append([]string{"list", "-find", "-e", "-mod=readonly", "-json=ImportPath,Name,Dir", "std", "builtin"}, p.modules()...)
	out, _ := p.t.goOutput(patterns...) // what it could list is of use even when it failed in the end
	dec := json.NewDecoder(strings.NewReader(string(out)))
	for dec.More() {
		var pkg struct{ ImportPath, Name, Dir string }
		if dec.Decode(&pkg) != nil {
			break
		}
		if pkg.Dir == "" {
			continue
		}
		c.dirs[pkg.ImportPath] = pkg.Dir
		if importable(pkg.ImportPath) && pkg.Name != "main" && pkg.ImportPath != "builtin" {
			c.paths = append(c.paths, pkg.ImportPath)
		}
	}
	sort.Strings(c.paths)
}

// modules returns a pattern for each module that the session requires itself.
func (p *Packages) modules() []string {
	out, err := p.t.goOutput("mod", "edit", "-json")
	if err != nil {
		return nil
	}
	var mod struct {
		Require []struct {
			Path     string
			Indirect bool
		}
	}
	if json.Unmarshal(out, &mod) != nil {
		return nil
	}
	var patterns []string
	for _, r := range mod.Require {
		if !r.Indirect {
			patterns = append(patterns, r.Path+"/...")
		}
	}
	return patterns
}

func importable(path string) bool {
	for _, part := range strings.Split(path, "/") {
		if part == "internal" || part == "vendor" || part == "testdata" {
			return false
		}
	}
	return true
}
