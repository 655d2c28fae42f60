package registry

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// Progress is told how much of a file has come.
type Progress func(file string, done, total int64)

// Fetch returns where a data set is, and downloads it into the cache when it is
// nowhere. Every file is verified before it takes its name: an interrupted or
// damaged download leaves nothing that could be mistaken for the data, and what
// was complete is not fetched again.
func Fetch(ctx context.Context, name string, progress Progress) (Place, error) {
	place, err := Find(name)
	var missing *MissingError
	if !errors.As(err, &missing) {
		return place, err
	}
	set, err := Lookup(name)
	if err != nil {
		return Place{}, err
	}
	dir, err := cacheDir(name)
	if err != nil {
		return Place{}, err
	}
	faults, err := verify(dir, set)
	if err != nil {
		return Place{}, err
	}
	wanted := map[string]bool{}
	for _, f := range faults {
		wanted[f.name] = true
	}
	for _, f := range set.Files {
		if !wanted[f.Name] {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := fetch(ctx, f, path, progress); err != nil {
			return Place{}, fmt.Errorf("fetching data set %s: %w; or get its files yourself from %s and put them into a folder %s below one that $%s names",
				name, err, set.Page, name, Env)
		}
	}
	return Place{Dir: dir}, nil
}

func fetch(ctx context.Context, f File, path string, progress Progress) error {
	if f.URL == "" {
		return fmt.Errorf("no address is known from which %s can be fetched", f.Name)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: the server says %s", f.URL, resp.Status)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".fetch-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // after the renaming there is nothing of that name
	h := sha256.New()
	body := &watched{r: io.LimitReader(resp.Body, f.Bytes+1), file: f, progress: progress}
	n, err := io.Copy(io.MultiWriter(tmp, h), body)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return fmt.Errorf("%s: %w", f.URL, err)
	}
	if sum := hex.EncodeToString(h.Sum(nil)); n != f.Bytes || sum != f.SHA256 {
		return fmt.Errorf("%s: what came (%d bytes or more, SHA-256 %s) is not what was published (%d bytes, SHA-256 %s)", f.URL, n, sum, f.Bytes, f.SHA256)
	}
	return os.Rename(tmp.Name(), path)
}

type watched struct {
	r        io.Reader
	done     int64
	file     File
	progress Progress
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	w.done += int64(n)
	if w.progress != nil {
		w.progress(w.file.Name, w.done, w.file.Bytes)
	}
	return n, err
}
