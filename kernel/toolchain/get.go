package toolchain

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// Get adds modules (path@version each) to the session, from the module cache
// where it has them. It refuses what would change the version of a module that
// the session host was built with: a plugin and its host must agree on every
// package that they share. The workspace is then as it was before.
func (t *Toolchain) Get(modules ...string) error {
	for _, m := range modules {
		if strings.HasPrefix(m, "-") {
			return fmt.Errorf("%s: name modules only, as in gonum.org/v1/gonum@v0.17.0", m)
		}
	}
	keep := map[string][]byte{}
	for _, f := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(t.Dir, f))
		if err != nil {
			return err
		}
		keep[f] = data
	}
	before, err := t.versions()
	if err != nil {
		return err
	}
	undo := func() {
		for f, data := range keep {
			_ = os.WriteFile(filepath.Join(t.Dir, f), data, 0o644)
		}
	}
	if err := t.get(modules); err != nil {
		undo()
		return err
	}
	after, err := t.versions()
	if err != nil {
		undo()
		return err
	}
	var changed []string
	for path, v := range before {
		if w, ok := after[path]; ok && v != w && t.used(path) {
			changed = append(changed, fmt.Sprintf("%s %s -> %s", path, v, w))
		}
	}
	if len(changed) > 0 {
		undo()
		sort.Strings(changed)
		return fmt.Errorf("it would change modules that this session has loaded (%s), and a running session cannot exchange them; ask for a version that works with those, or pin the new versions in rooflab's go.mod and run `make build`", strings.Join(changed, ", "))
	}
	t.cacheFile = "" // the kept configuration is that of an unchanged session
	return nil
}

// get runs `go get`, first without the network: a version that the module
// cache holds must not depend on a proxy that cannot be reached.
func (t *Toolchain) get(modules []string) error {
	args := append([]string{"get"}, modules...)
	env := t.env
	t.env = append(append([]string{}, env...), "GOPROXY=off")
	_, offline := t.goOutput(args...)
	t.env = env
	if offline == nil {
		return nil
	}
	_, err := t.goOutput(args...)
	return err
}

// versions returns the requirements of the workspace's go.mod, which lists
// every module that provides a package.
func (t *Toolchain) versions() (map[string]string, error) {
	out, err := t.goOutput("mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var mod struct {
		Require []struct{ Path, Version string }
	}
	if err := json.Unmarshal(out, &mod); err != nil {
		return nil, fmt.Errorf("reading the workspace's go.mod: %w", err)
	}
	m := map[string]string{}
	for _, r := range mod.Require {
		m[r.Path] = r.Version
	}
	return m, nil
}

// BuildPackage compiles a package of the workspace with the go command and
// makes its archive known. On failure it returns what the compiler said.
func (t *Toolchain) BuildPackage(path string) (string, error) {
	if _, err := t.goOutput("build", path); err != nil {
		return err.Error(), err
	}
	if err := t.Ensure(path); err != nil {
		return err.Error(), err
	}
	t.cacheFile = "" // it belongs to this session alone
	return "", nil
}

// used reports whether an archive of the module is at hand, and so perhaps in
// the host.
func (t *Toolchain) used(module string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for path := range t.export {
		if path == module || strings.HasPrefix(path, module+"/") {
			return true
		}
	}
	return hostModules()[module]
}
