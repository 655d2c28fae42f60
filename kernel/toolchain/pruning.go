package toolchain

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// The Go linker keeps, in a plugin, every method of every type that the plugin
// reaches: code loaded later might call one through an interface. Most of those
// types are in the session host already, complete, and at run time the host's
// descriptor is the one that counts. So for them the methods need not be linked
// again, which is most of what a plugin holds. The pruning linker is the Go
// linker of this toolchain with that one rule added; where it cannot be built,
// the linker is used as it is.

// pruneAnchor is the line of cmd/link/internal/ld/deadcode.go (func deadcode)
// before which the rule goes, and pruneRule is the rule.
const (
	pruneAnchor = "			if (d.reflectSeen && (m.isExported() || d.dynlink)) || d.ifaceMethod[m.m] || d.genericIfaceMethod[m.m.name] {\n"
	pruneRule   = "			if rooflabKnown(ldr.SymName(m.src)) {\n				continue\n			}\n"

	// The linker also asks the external linker, with a trial link each, about
	// flags that have no bearing without debug information.
	probeAnchor = "func linkerFlagSupported(arch *sys.Arch, linker, altLinker, flag string) bool {\n"
	probeRule   = "	if os.Getenv(\"ROOFLAB_TYPES\") != \"\" {\n		return false\n	}\n"

	pruneFile = `package ld

import (
	"os"
	"strings"
)

var rooflabTypes map[string]bool

// rooflabKnown reports whether the host has the type, by its symbol.
func rooflabKnown(name string) bool {
	if rooflabTypes == nil {
		rooflabTypes = map[string]bool{}
		data, _ := os.ReadFile(os.Getenv("ROOFLAB_TYPES"))
		for _, s := range strings.Split(string(data), "\n") {
			if s != "" {
				rooflabTypes[s] = true
			}
		}
	}
	return rooflabTypes[typeSymbolMangle(name)]
}
`
)

// Prepare builds what makes cells link faster, unless it is there: the linker
// front and the pruning linker. It is called where time does not matter, such
// as at installation; a session without it works, only slower.
func (t *Toolchain) Prepare() error {
	sweepCache()
	if _, err := t.linkerFront(); err != nil {
		return err
	}
	if err := t.hostTypes(); err != nil {
		return err
	}
	return t.pruningLinker()
}

// keepFor is how long files of former builds of rooflab stay in the cache.
const keepFor = 30 * 24 * time.Hour

// sweepCache removes what former builds left.
func sweepCache() {
	dir, err := CacheDir()
	if err != nil {
		return
	}
	for _, pattern := range []string{"importcfg-*", "types-*", "link-*", "rooflab-ld-*"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			continue
		}
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && time.Since(st.ModTime()) > keepFor {
				_ = os.Remove(f)
			}
		}
	}
}

func (t *Toolchain) kept(name string) (string, error) {
	dir, err := CacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, name), nil
}

// usePruning makes the toolchain link with the pruning linker if Prepare has
// built it.
func (t *Toolchain) usePruning() {
	linker, err := t.kept("link-" + t.linkKey())
	if err != nil {
		return
	}
	types, err := t.kept("types-" + t.buildKey)
	if err != nil {
		return
	}
	for _, f := range []string{linker, types} {
		if _, err := os.Stat(f); err != nil {
			return
		}
	}
	t.link = linker
	t.types = types
}

// linkKey identifies the toolchain and the rule.
func (t *Toolchain) linkKey() string {
	sum := sha256.Sum256([]byte(t.goVersion + Experiment() + t.goroot + pruneRule + probeRule + pruneFile))
	return hex.EncodeToString(sum[:])[:16]
}

func (t *Toolchain) pruningLinker() error {
	out, err := t.kept("link-" + t.linkKey())
	if err != nil {
		return err
	}
	if _, err := os.Stat(out); err == nil {
		return nil
	}
	dir := filepath.Join(t.goroot, "src", "cmd", "link", "internal", "ld")
	work, err := os.MkdirTemp(t.Dir, "link")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	replace := map[string]string{filepath.Join(dir, "rooflab.go"): filepath.Join(work, "rooflab.go")}
	if err := os.WriteFile(filepath.Join(work, "rooflab.go"), []byte(pruneFile), 0o644); err != nil {
		return err
	}
	for _, edit := range []struct{ file, anchor, text string }{
		{"deadcode.go", pruneAnchor, pruneRule + pruneAnchor},
		{"lib.go", probeAnchor, probeAnchor + probeRule},
	} {
		src, err := os.ReadFile(filepath.Join(dir, edit.file))
		if err != nil {
			return fmt.Errorf("reading the Go linker's source: %w", err)
		}
		if bytes.Count(src, []byte(edit.anchor)) != 1 {
			return fmt.Errorf("the Go linker of %s is not one that rooflab knows: cells link with it as it is, only slower", t.goVersion)
		}
		patched := filepath.Join(work, edit.file)
		if err := os.WriteFile(patched, bytes.Replace(src, []byte(edit.anchor), []byte(edit.text), 1), 0o644); err != nil {
			return err
		}
		replace[filepath.Join(dir, edit.file)] = patched
	}
	overlay := filepath.Join(work, "overlay.json")
	table, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	if err := os.WriteFile(overlay, table, 0o644); err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d", out, os.Getpid())
	cmd := exec.Command(t.goCmd, "build", "-overlay", overlay, "-ldflags=-s -w", "-o", tmp, "cmd/link")
	cmd.Dir, cmd.Env = t.Dir, append(append([]string{}, t.env...), "GOFLAGS=")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building the pruning linker: %w: %s", err, text)
	}
	return os.Rename(tmp, out)
}

// hostTypes writes down the type symbols of this binary, which is the host's.
func (t *Toolchain) hostTypes() error {
	out, err := t.kept("types-" + t.buildKey)
	if err != nil {
		return err
	}
	if _, err := os.Stat(out); err == nil {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := elf.Open(exe)
	if err != nil {
		return fmt.Errorf("reading the symbols of %s: %w", exe, err)
	}
	defer f.Close()
	symbols, err := f.DynamicSymbols()
	if err != nil {
		return fmt.Errorf("reading the symbols of %s: %w", exe, err)
	}
	tmp := fmt.Sprintf("%s.%d", out, os.Getpid())
	w, err := os.Create(tmp)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	for _, s := range symbols {
		if strings.HasPrefix(s.Name, "type:") && s.Section != elf.SHN_UNDEF {
			fmt.Fprintln(b, s.Name)
		}
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return os.Rename(tmp, out)
}

// Usual returns the packages that most sessions use; having them compiled
// beforehand keeps first cells quick.
func Usual() []string {
	const own = "github.com/rooflab/rooflab/"
	return []string{
		"bytes", "context", "encoding/csv", "encoding/json", "errors", "fmt", "io", "log", "math", "math/rand", "os", "path/filepath",
		"regexp", "runtime", "runtime/cgo", "slices", "sort", "strconv", "strings", "sync", "time", livePath,
		"github.com/go-gota/gota/dataframe", "github.com/go-gota/gota/series", "github.com/janpfeifer/gonb/gonbui",
		"gonum.org/v1/gonum/stat", "gonum.org/v1/plot", "gonum.org/v1/plot/plotter", "gonum.org/v1/plot/vg",
		own + "kernel/display", own + "datasets", own + "collectors", own + "modeling/roofline/chart", own + "modeling/insight", own + "modeling/regress", own + "modeling/backend",
	}
}
