package collectors

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rooflab/rooflab/datasets"
)

// Found is a file whose format is known.
type Found struct {
	Path   string
	Format Format
}

// Find lists the files below a folder that a format knows, in the order of
// their paths. Names that begin with a point are left out, and so are files
// and folders that cannot be read.
func Find(ctx context.Context, dir string) ([]Found, error) {
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("looking for profiles: %w", err)
	}
	var found []Found
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || path != dir && strings.HasPrefix(d.Name(), ".") {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() { // the file, where path is a link
			if f, err := detectFile(path); err == nil {
				found = append(found, Found{path, f})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("looking for profiles below %s: %w", dir, err)
	}
	return found, nil
}

func detectFile(path string) (Format, error) {
	f, err := os.Open(path)
	if err != nil {
		return Format{}, err
	}
	defer f.Close()
	in, err := Open(path, f)
	if err != nil {
		return Format{}, err
	}
	format, _, err := Detect(in.Head)
	return format, err
}

// ImportFirst imports the first profile of a tool below a folder: in the order
// of Find, the first file whose format's name is tool or begins with tool and
// "-" ("ncu", "caliper"), which can be imported and holds counters. Files
// before it that could not be imported are named in the error when there is
// none at all. A file that the store has already counts, too.
func ImportFirst(ctx context.Context, store *datasets.Store, tool, dir string) (Summary, error) {
	if dir == "" {
		return Summary{}, fmt.Errorf("no folder is given to look for %s profiles in", tool)
	}
	found, err := Find(ctx, dir)
	if err != nil {
		return Summary{}, err
	}
	var failed []error
	for _, f := range found {
		if f.Format.Name != tool && !strings.HasPrefix(f.Format.Name, tool+"-") {
			continue
		}
		sum, err := ImportFile(ctx, store, f.Path, Options{Format: f.Format.Name, Found: true})
		some := false
		if err == nil {
			some, err = counted(ctx, store, append(sum.Runs, sum.Run()))
		}
		switch {
		case ctx.Err() != nil:
			return Summary{}, ctx.Err()
		case err != nil:
			failed = append(failed, err)
		case some:
			return sum, nil
		default:
			failed = append(failed, fmt.Errorf("%s: it holds no counter", f.Path))
		}
	}
	return Summary{}, errors.Join(append([]error{fmt.Errorf("there is no %s profile that can be imported below %s", tool, dir)}, failed...)...)
}

// counted says whether a store has counters of any of some runs.
func counted(ctx context.Context, store *datasets.Store, runs []int64) (bool, error) {
	for _, run := range runs {
		rows, err := store.Rows(ctx, `SELECT run_id FROM counter WHERE run_id = ? LIMIT 1`, run)
		if err != nil {
			return false, err
		}
		some := rows.Next()
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || some {
			return some, err
		}
	}
	return false, nil
}
