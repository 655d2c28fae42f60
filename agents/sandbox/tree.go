package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// owner is who a file in the work folder belongs to; keep leaves it as it is.
type owner struct {
	uid, gid int
	keep     bool
}

// put copies files of this machine into the work folder, whose owner they get.
func put(work *os.Root, copies []Copy, own owner) error {
	for _, c := range copies {
		to := filepath.Clean(c.To)
		if c.To == "" {
			to = "."
		}
		if !filepath.IsLocal(to) {
			return fmt.Errorf("copying %s into the sandbox: %q is not inside of its work folder", c.From, c.To)
		}
		if err := putOne(work, c, to, own); err != nil {
			return fmt.Errorf("copying %s into the sandbox: %w", c.From, err)
		}
	}
	return nil
}

func putOne(work *os.Root, c Copy, to string, own owner) error {
	if dir := filepath.Dir(to); dir != "." {
		if err := makeDirs(work, dir, own); err != nil {
			return err
		}
	}
	from, err := filepath.EvalSymlinks(c.From) // only what is inside stays a link
	if err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		for _, pattern := range c.Skip {
			skip, err := filepath.Match(pattern, d.Name())
			switch {
			case err != nil:
				return fmt.Errorf("leaving out %q: %w", pattern, err)
			case skip && rel != "." && d.IsDir():
				return fs.SkipDir
			case skip && rel != ".":
				return nil
			}
		}
		name := filepath.Join(to, rel)
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			if name == "." {
				return nil
			}
			return makeDirs(work, name, own)
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if err := work.Symlink(target, name); err != nil {
				return err
			}
			return own.give(work, name)
		case d.Type().IsRegular():
			in, err := os.Open(path)
			if err != nil {
				return err
			}
			defer in.Close()
			if err := write(work, name, in, info.Mode().Perm()|0o600, own); err != nil {
				return err
			}
			return work.Chtimes(name, info.ModTime(), info.ModTime())
		}
		return nil
	})
}

func write(root *os.Root, name string, in io.Reader, mode fs.FileMode, own owner) error {
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Close(); err != nil {
		return err
	}
	return own.give(root, name)
}

func makeDirs(root *os.Root, name string, own owner) error {
	parts := strings.Split(filepath.ToSlash(name), "/")
	for i := range parts {
		dir := filepath.Join(parts[:i+1]...)
		err := root.Mkdir(dir, 0o755)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := own.give(root, dir); err != nil {
			return err
		}
	}
	return nil
}

func (o owner) give(root *os.Root, name string) error {
	if o.keep {
		return nil
	}
	return root.Lchown(name, o.uid, o.gid)
}

// mostDepth bounds how deep folders are looked into: each takes a walk from the
// work folder down to it.
const mostDepth = 200

// files lists the regular files of the work folder. Links are not followed,
// what the command made unreadable is as if it were not there, and a folder that
// lies too deep is listed in the place of what is in it.
func files(work *os.Root) ([]File, error) {
	var list []File
	err := fs.WalkDir(work.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if errors.Is(err, fs.ErrPermission) && d != nil {
				return fs.SkipDir
			}
			return fmt.Errorf("reading %s, which the command left in its work folder: %w", path, err)
		}
		if d.IsDir() && strings.Count(path, "/") >= mostDepth {
			list = append(list, File{Path: path})
			return fs.SkipDir
		}
		if !d.Type().IsRegular() {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		list = append(list, File{Path: path, Size: info.Size()})
		return nil
	})
	return list, err
}

// keep copies regular files of the work folder to a folder of this machine.
// What leads out of the folder is not followed, which os.Root sees to.
func keep(work *os.Root, list []File, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	out, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer out.Close()
	self := owner{keep: true}
	for _, f := range list {
		if parent := filepath.Dir(f.Path); parent != "." {
			if err := makeDirs(out, parent, self); err != nil {
				return err
			}
		}
		in, err := work.Open(f.Path)
		if errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err != nil {
			return err
		}
		info, err := in.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = write(out, f.Path, io.LimitReader(in, f.Size), info.Mode().Perm()&0o755|0o600, self)
		}
		in.Close()
		if err != nil {
			return err
		}
	}
	return nil
}
