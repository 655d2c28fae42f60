package toolchain

import (
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"sync"
)

// Packages imports packages for the type checker from the archives that the
// compiler uses. It implements cell.Packages.
type Packages struct {
	t   *Toolchain
	mu  sync.Mutex
	imp types.Importer

	catalog catalog
}

// Packages returns the toolchain's view for the type checker.
func (t *Toolchain) Packages() *Packages {
	p := &Packages{t: t}
	p.imp = importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, ok := t.Archive(path)
		if !ok {
			return nil, fmt.Errorf("package %q has no archive yet", path)
		}
		return os.Open(file)
	})
	return p
}

// Import returns the package's exported declarations.
func (p *Packages) Import(path string) (*types.Package, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if _, ok := p.t.Archive(path); !ok {
		if err := p.t.Ensure(path); err != nil {
			return nil, err
		}
	}
	return p.imp.Import(path)
}

// Ensure compiles packages that are not there yet.
func (p *Packages) Ensure(paths ...string) error { return p.t.Ensure(paths...) }

// Name returns the package name behind a path that Ensure has seen.
func (p *Packages) Name(path string) string {
	p.t.mu.Lock()
	defer p.t.mu.Unlock()
	return p.t.names[path]
}
