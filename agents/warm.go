package agents

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/validate"
)

// caches are what the folders of target.Run.Cache hold after a run of a program
// that nobody timed or compared: drivers that compile when a program runs (PoCL,
// CUDA's, HIP's) keep there what they made. A timed run begins with them, so that
// the time is that of the kernels and not of their compiler.
//
// That run has an input of its own: what a program leaves there of its results is
// of no use to it later. Each program has its own caches, and a run never changes
// them.
func (w *Workbench) caches(ctx context.Context, p *Program, size string) ([]sandbox.Copy, error) {
	if len(w.Target.Run.Cache) == 0 {
		return nil, nil
	}
	key := sha256.Sum256([]byte(size))
	kept := filepath.Join(w.Dir, "caches", p.ID, hex.EncodeToString(key[:6]))
	if _, err := os.Stat(kept); err != nil {
		if err := w.warm(ctx, p, size, kept); err != nil {
			return nil, fmt.Errorf("running %s of %s once for its caches: %w", p.ID, w.Target.Name, err)
		}
	}
	var out []sandbox.Copy
	for _, dir := range w.Target.Run.Cache {
		from := filepath.Join(kept, filepath.FromSlash(dir))
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			out = append(out, sandbox.Copy{From: from, To: filepath.FromSlash(dir)})
		}
	}
	return out, nil
}

// warm runs a program and keeps its caches. That the run fails is no error: the
// runs that count fail as well, and say so.
func (w *Workbench) warm(ctx context.Context, p *Program, size, kept string) error {
	dir, err := os.MkdirTemp("", "rooflab-warm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	in, sizes := validate.Input{}, []string(nil)
	if size != "" {
		in["size"], sizes = size, []string{size}
	}
	_, err = validate.Prepare(ctx, w.box, w.check(p, p, sizes), in, 0, dir)
	if failed := (*validate.OriginalError)(nil); err != nil && !errors.As(err, &failed) {
		return err
	}
	left := filepath.Join(dir, validate.PreparedRun)
	made := kept + ".new" // so that a folder which is there is whole
	if err := os.RemoveAll(made); err != nil {
		return err
	}
	for _, name := range w.Target.Run.Cache {
		from, to := filepath.Join(left, filepath.FromSlash(name)), filepath.Join(made, filepath.FromSlash(name))
		if info, err := os.Stat(from); err != nil || !info.IsDir() {
			continue
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return fmt.Errorf("keeping %s: %w", name, err)
		}
	}
	if err := os.MkdirAll(made, 0o755); err != nil {
		return err
	}
	return os.Rename(made, kept)
}

// warmed gives both sides of a check their caches.
func (w *Workbench) warmed(ctx context.Context, c *validate.Check, original, candidate *Program, size string) error {
	before, err := w.caches(ctx, original, size)
	if err != nil {
		return err
	}
	after, err := w.caches(ctx, candidate, size)
	c.Original.Put = append(c.Original.Put, before...)
	c.Candidate.Put = append(c.Candidate.Put, after...)
	return err
}

// prepared makes an input of a size ("" where the target has none) in a folder, for
// two programs whose runs begin with the caches of a run of the size warm.
func (w *Workbench) prepared(ctx context.Context, before, after *Program, size, warm, dir string) (validate.Prepared, error) {
	in, sizes := validate.Input{}, []string(nil)
	if size != "" {
		in["size"], sizes = size, []string{size}
	}
	check := w.check(before, after, sizes)
	if err := w.warmed(ctx, &check, before, after, warm); err != nil {
		return validate.Prepared{}, err
	}
	return validate.Prepare(ctx, w.box, check, in, 0, dir)
}
