package suite

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed all:targets
var files embed.FS

// Proxy is how the names of proxy applications end: programs with several hot
// functions, in place of one kernel.
const Proxy = "proxy"

// Names are all targets of the suite, sorted.
func Names() []string {
	entries, err := files.ReadDir("targets")
	if err != nil {
		panic(err) // the folder is linked in
	}
	var out []string
	for _, e := range entries {
		if _, err := fs.Stat(files, description(e.Name())); err == nil {
			out = append(out, e.Name())
		}
	}
	return out
}

// Kernels are the targets with one kernel or few, sorted.
func Kernels() []string { return kind(false) }

// Proxies are the proxy applications, sorted.
func Proxies() []string { return kind(true) }

func kind(proxy bool) []string {
	var out []string
	for _, name := range Names() {
		if strings.HasSuffix(name, Proxy) == proxy {
			out = append(out, name)
		}
	}
	return out
}

// description is where the TOML file of a target lies in the suite.
func description(name string) string { return path.Join("targets", name, name+".toml") }

// About is what a target is, in a line: the comment with which its description
// begins. It is an error if the suite has no such target.
func About(name string) (string, error) {
	if err := there(name); err != nil {
		return "", err
	}
	text, err := files.ReadFile(description(name))
	if err != nil {
		return "", err
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		said, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		lines = append(lines, strings.TrimSpace(said))
	}
	return strings.Join(lines, " "), nil
}

func there(name string) error {
	for _, n := range Names() {
		if n == name {
			return nil
		}
	}
	return fmt.Errorf("the suite has no target %q; there are %s", name, strings.Join(Names(), ", "))
}

// Write writes the files of a target into a folder, which is made where there
// is none, and returns the path of its description, for target.Load. A file that
// is there already is an error, and stays as it is.
func Write(name, dir string) (string, error) {
	if err := there(name); err != nil {
		return "", err
	}
	from := path.Join("targets", name)
	err := fs.WalkDir(files, from, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimPrefix(p, from)))
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		return write(p, to)
	})
	if err == nil {
		err = writeShared(name, dir)
	}
	if err != nil {
		return "", fmt.Errorf("writing the target %s to %s: %w", name, dir, err)
	}
	return filepath.Join(dir, name+".toml"), nil
}

// writeShared writes the sources that a description names and several targets
// have: they lie beside the folders of the targets.
func writeShared(name, dir string) error {
	text, err := files.ReadFile(description(name))
	if err != nil {
		return err
	}
	entries, err := files.ReadDir("targets")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() || !strings.Contains(string(text), `"`+e.Name()+`"`) {
			continue
		}
		if err := write(path.Join("targets", e.Name()), filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the suite to a place where there is none.
func write(from, to string) error {
	data, err := files.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or give another folder: %w", to, err)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
