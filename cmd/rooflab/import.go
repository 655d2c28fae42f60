package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/datasets"
)

func init() { register(importCommand) }

func importCommand() *cobra.Command {
	var store, format string
	var asJSON bool
	c := &cobra.Command{
		Use:   "import --store STORE PATH...",
		Short: "Bring profiles into a store; their formats are detected",
		Long: `Import profiles into a store (a DuckDB file, made when it is not there).

PATH is a file, a directory (all files below it whose format is known; source
code and documents, which may quote profiles, are left out), a folder
of rooflab export, a glob pattern, or - for standard input. gzip is undone. Each file is one transaction:
it is imported as a whole or, after an error, not at all; the other files are
imported still. A file whose content is in the store already changes nothing.

One process at a time writes to a store. The exit status is 1 if a file failed.

Formats:
` + formatList(),
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "" {
				if _, err := collectors.Lookup(format); err != nil {
					return err
				}
			}
			// Most of the heap is batches of rows that are on their way: the
			// collector finds little, and is asked less often.
			debug.SetGCPercent(400)
			s, err := datasets.Open(store)
			if err != nil {
				return err
			}
			im := importer{store: s, opt: collectors.Options{Format: format}, in: cmd.InOrStdin(), out: cmd.OutOrStdout(), err: cmd.ErrOrStderr(), json: asJSON}
			err = im.all(cmd.Context(), args)
			return errors.Join(err, s.Close())
		},
	}
	c.Flags().StringVar(&store, "store", "", "the store to import into")
	c.Flags().StringVar(&format, "format", "", "take this format instead of detecting it")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was done as JSON")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

func formatList() string {
	var b strings.Builder
	for _, f := range collectors.Formats() {
		fmt.Fprintf(&b, "  %-20s %s\n", f.Name, f.About)
	}
	return b.String()
}

// importer imports what a command line names and reports on it.
type importer struct {
	store    *datasets.Store
	opt      collectors.Options
	in       io.Reader
	out, err io.Writer
	json     bool
	paths    []string // to import, and whether each was found in a directory
	found    []bool
	files    []fileReport
}

// fileReport says what became of one file, as --json prints it.
type fileReport struct {
	Path     string           `json:"path"`
	Format   string           `json:"format,omitempty"`
	Status   string           `json:"status"` // imported, unchanged, skipped or failed
	Runs     []int64          `json:"runs,omitempty"`
	Rows     map[string]int64 `json:"rows,omitempty"`
	Warnings []string         `json:"warnings,omitempty"`
	Reason   string           `json:"reason,omitempty"` // why it is unchanged or skipped
	Error    *reportError     `json:"error,omitempty"`
}

type reportError struct {
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
}

func (im *importer) all(ctx context.Context, args []string) error {
	for _, arg := range args {
		if err := im.argument(ctx, arg); err != nil {
			return err
		}
	}
	if err := im.flush(ctx); err != nil {
		return err
	}
	failed := 0
	for _, f := range im.files {
		if f.Status == "failed" {
			failed++
		}
	}
	if im.json {
		e := json.NewEncoder(im.out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(map[string]any{"store": im.store.Path(), "files": im.files, "failed": failed}); err != nil {
			return err
		}
	}
	if failed > 0 {
		if !im.json {
			fmt.Fprintf(im.err, "rooflab: %d of %d files failed; nothing of them is in the store\n", failed, len(im.files))
		}
		return exitCode(1)
	}
	return nil
}

// argument imports one argument. An error ends the whole command: it is not
// about one file.
func (im *importer) argument(ctx context.Context, arg string) error {
	if arg == "-" {
		if err := im.flush(ctx); err != nil {
			return err
		}
		sum, err := collectors.Import(ctx, im.store, "<stdin>", im.in, im.opt)
		return im.report(ctx, sum, err, false)
	}
	st, err := os.Stat(arg)
	if errors.Is(err, fs.ErrNotExist) {
		matches, gerr := filepath.Glob(arg)
		if gerr == nil && len(matches) > 0 {
			sort.Strings(matches)
			for _, m := range matches {
				if err := im.argument(ctx, m); err != nil {
					return err
				}
			}
			return nil
		}
	}
	if err != nil || !st.IsDir() {
		im.add(arg, false)
		return nil //nolint:nilerr // importing it says what is wrong
	}
	return filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			im.add(path, false)
			return nil //nolint:nilerr // importing it says what is wrong
		case path != arg && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case d.IsDir() && datasets.IsParquet(path):
			if err := im.parquet(ctx, path); err != nil {
				return err
			}
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		st, err := os.Stat(path) // the file, where path is a link
		if err == nil && (!st.Mode().IsRegular() || im.isStore(st)) {
			return nil
		}
		im.add(path, true)
		return nil
	})
}

// add notes a file to import; found says that it was found in a directory.
func (im *importer) add(path string, found bool) {
	im.paths = append(im.paths, path)
	im.found = append(im.found, found)
}

// flush imports the files that were noted.
func (im *importer) flush(ctx context.Context) error {
	paths, found := im.paths, im.found
	im.paths, im.found = nil, nil
	for len(paths) > 0 {
		opt := im.opt
		opt.Found = found[0]
		n := 1 // how many of the same kind follow each other
		for n < len(paths) && found[n] == opt.Found {
			n++
		}
		err := collectors.ImportFiles(ctx, im.store, paths[:n], opt, func(sum collectors.Summary, err error) error {
			return im.report(ctx, sum, err, opt.Found)
		})
		if err != nil {
			return err
		}
		paths, found = paths[n:], found[n:]
	}
	return nil
}

// parquet imports a folder that rooflab export wrote.
func (im *importer) parquet(ctx context.Context, dir string) error {
	if err := im.flush(ctx); err != nil {
		return err
	}
	done, err := im.store.ImportParquet(ctx, dir)
	sum := collectors.Summary{Path: dir, Format: "rooflab-parquet", Runs: done.Runs, Rows: done.Rows}
	if err == nil && len(done.Runs) == 0 {
		return im.note(fileReport{Path: dir, Format: sum.Format, Status: "unchanged", Reason: fmt.Sprintf("its %d runs are in the store already", done.Unchanged)})
	}
	return im.report(ctx, sum, err, false)
}

// isStore reports whether a file is the store itself, or its journal.
func (im *importer) isStore(st os.FileInfo) bool {
	for _, path := range []string{im.store.Path(), im.store.Path() + ".wal"} {
		if own, err := os.Stat(path); err == nil && os.SameFile(own, st) {
			return true
		}
	}
	return false
}

// report notes what became of a file; found says that it was found in a
// directory, where files of unknown formats are no failure.
func (im *importer) report(ctx context.Context, sum collectors.Summary, err error, found bool) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	r := fileReport{Path: sum.Path, Format: sum.Format, Status: "imported", Runs: sum.Runs, Rows: sum.Rows}
	for _, w := range sum.Warnings {
		r.Warnings = append(r.Warnings, w.String())
	}
	if sum.More > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s: and %d more", sum.Path, sum.More))
	}
	var unknown *collectors.UnknownError
	var part *collectors.PartError
	var syntax *collectors.SyntaxError
	switch {
	case found && errors.As(err, &unknown):
		r.Status, r.Reason = "skipped", "no format that is known here"
		if unknown.Packed != "" {
			r.Reason = "it is " + unknown.Packed + ": unpack it (" + unknown.Unpack + ") to import what is in it"
		}
	case found && errors.As(err, &part):
		r.Status, r.Reason = "skipped", "it is read together with "+part.Of
	case err != nil:
		r.Status, r.Error = "failed", &reportError{Message: err.Error()}
		if errors.As(err, &syntax) {
			r.Error.Line, r.Error.Column = syntax.Line, syntax.Column
		}
	case sum.Duplicate != nil:
		r.Status, r.Reason = "unchanged", fmt.Sprintf("its content is in the store already, as run %d, imported from %s", sum.Duplicate.Run, sum.Duplicate.Earlier)
	}
	return im.note(r)
}

func (im *importer) note(r fileReport) error {
	im.files = append(im.files, r)
	if !im.json {
		im.print(r)
	}
	return nil
}

func (im *importer) print(r fileReport) {
	for _, w := range r.Warnings {
		fmt.Fprintf(im.err, "warning: %s\n", w)
	}
	switch r.Status {
	case "failed":
		fmt.Fprintf(im.err, "failed: %s\n", r.Error.Message)
	case "imported":
		var rows []string
		for _, t := range datasets.Tables {
			if n := r.Rows[t]; n > 0 {
				rows = append(rows, fmt.Sprintf("%s %d", t, n))
			}
		}
		fmt.Fprintf(im.out, "%s: %s as run %s: rows: %s\n", r.Path, r.Format, ranges(r.Runs), strings.Join(rows, ", "))
	default:
		fmt.Fprintf(im.out, "%s: %s: %s\n", r.Path, r.Status, r.Reason)
	}
}

// ranges writes numbers that ascend, "3" or "1-12, 14".
func ranges(ns []int64) string {
	var parts []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		if i == j {
			parts = append(parts, fmt.Sprint(ns[i]))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", ns[i], ns[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
