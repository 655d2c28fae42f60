package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// MaxSource is the size in bytes beyond which a file is no source.
const MaxSource = 4 << 20

// Read reads a file below a folder, given with slashes. A path that leaves the
// folder, leads through a symbolic link or is no regular file is a *Rejection,
// a file that holds a NUL or is larger than MaxSource too.
func Read(dir, file string) (string, error) {
	root, info, err := openIn(dir, file)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if info.Size() > MaxSource {
		return "", &Rejection{Reason: Oversize, File: file, Detail: fmt.Sprintf("the file has %d bytes, sources have at most %d", info.Size(), MaxSource)}
	}
	text, err := root.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return "", fmt.Errorf("reading the source %s: %w", file, err)
	}
	if strings.ContainsRune(string(text), 0) {
		return "", &Rejection{Reason: Binary, File: file, Detail: "the file holds a NUL: sources are text"}
	}
	return string(text), nil
}

// Write writes the new texts over the files below a folder. Only regular files
// that are there are written, none through a symbolic link; each is replaced in
// one step and keeps its permissions. It stops at the first error.
func (p *Patch) Write(dir string) error {
	for _, f := range p.Files {
		if err := write(dir, f); err != nil {
			return err
		}
	}
	return nil
}

func write(dir string, f File) error {
	root, info, err := openIn(dir, f.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	name := filepath.FromSlash(f.Path)
	next := name + ".rooflab-new"
	if err := root.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // one that an end in the middle has left
		return fmt.Errorf("removing %s beside the source: %w", next, err)
	}
	out, err := root.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return fmt.Errorf("writing %s beside the source: %w", next, err)
	}
	_, err = out.WriteString(f.Text)
	err = errors.Join(err, out.Close())
	if err == nil {
		err = root.Rename(next, name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("writing the source %s: %w", f.Path, err), root.Remove(next))
	}
	return nil
}

// openIn opens a folder for a path below it that leads to a regular file.
func openIn(dir, file string) (*os.Root, fs.FileInfo, error) {
	if r := checkPath(Hunk{File: file}); r != nil {
		return nil, nil, r
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the folder of %s: %w", file, err)
	}
	info, err := regular(root, file)
	if err != nil {
		root.Close()
		return nil, nil, err
	}
	return root, info, nil
}

// regular is the file at a path whose every part is itself and no link.
func regular(root *os.Root, file string) (fs.FileInfo, error) {
	parts := strings.Split(path.Clean(file), "/")
	for i := range parts {
		part := strings.Join(parts[:i+1], "/")
		info, err := root.Lstat(filepath.FromSlash(part))
		switch {
		case err != nil:
			return nil, fmt.Errorf("looking for the source %s: %w", file, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, &Rejection{Reason: PathEscape, File: file, Detail: part + " is a symbolic link: name the file that it leads to, if that is below the folder"}
		case i == len(parts)-1 && !info.Mode().IsRegular():
			return nil, &Rejection{Reason: PathEscape, File: file, Detail: "it is no regular file"}
		case i == len(parts)-1:
			return info, nil
		}
	}
	return nil, fs.ErrNotExist
}

// Regular says whether a path below a folder leads to a regular file and through
// no symbolic link: nil, a *Rejection, or that it is not there.
func Regular(dir, file string) error {
	root, _, err := openIn(dir, file)
	if err != nil {
		return err
	}
	return root.Close()
}
