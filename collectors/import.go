package collectors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rooflab/rooflab/datasets"
)

// Summary says what became of one file.
type Summary struct {
	Path      string
	Format    string           // the format's name; empty where it was not recognised
	Runs      []int64          // the store's ids
	Rows      map[string]int64 // by table
	Warnings  []Warning        // the first ones
	More      int              // how many warnings there were besides
	Duplicate *datasets.DuplicateError
	States    []RunState // of Runs, where a collector made them
}

// Run is the store's id of the file's run, of the first where it holds several;
// where the store had the content already, of the earlier import. It is 0 when
// nothing was imported.
func (s Summary) Run() int64 {
	switch {
	case len(s.Runs) > 0:
		return s.Runs[0]
	case s.Duplicate != nil:
		return s.Duplicate.Run
	}
	return 0
}

// Options say how to import.
type Options struct {
	Format string  // name of the format; empty to detect it
	like   *Format // asked first: the files of a folder are mostly of one kind, and there are many formats to ask
	// Found says that the file was met in a folder rather than named by
	// anybody: Input.Found tells parsers.
	Found bool
}

// ImportFile imports a file into a store, as Import does.
func ImportFile(ctx context.Context, store *datasets.Store, path string, opt Options) (Summary, error) {
	f, err := os.Open(path)
	if err != nil {
		return Summary{Path: path}, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Summary{Path: path}, err
	}
	if st.Mode().IsRegular() {
		if sum, err := duplicate(ctx, store, path, f, st.Size(), opt); err != nil || sum.Duplicate != nil {
			return sum, err
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return Summary{Path: path}, err
		}
	}
	return importFrom(ctx, store, path, true, f, opt)
}

// duplicate looks whether the content of a file is in the store already.
// Reading the file once for its sum is much cheaper than parsing it for
// nothing; where the store has no content of that size, not even that is done.
func duplicate(ctx context.Context, store *datasets.Store, path string, r io.Reader, size int64, opt Options) (Summary, error) {
	in, format, sum, err := recognise(path, true, r, opt)
	if err != nil {
		return sum, err
	}
	if in.packed == nil && len(in.parts) == 0 {
		if there, err := store.ImportedSize(ctx, format.Name, size); err != nil || !there {
			return sum, err
		}
	}
	sha, n, err := in.Sum()
	if err != nil {
		return sum, err
	}
	sum.Duplicate, err = store.Imported(ctx, artefact(path, sha, n, format))
	return sum, err
}

func artefact(path, sha string, n int64, f Format) datasets.Artefact {
	return datasets.Artefact{Path: path, SHA256: sha, Bytes: n, Kind: f.Name, ParserVersion: f.Version}
}

// recognise opens an input and finds its format; file says that r is the file
// at path.
func recognise(path string, file bool, r io.Reader, opt Options) (*Input, Format, Summary, error) {
	sum := Summary{Path: path}
	in, err := Open(path, r)
	if err != nil {
		return nil, Format{}, sum, err
	}
	format, err := choose(in, opt)
	if err != nil {
		return nil, Format{}, sum, err
	}
	sum.Format = format.Name
	in.found = opt.Found
	if file {
		in.attach(path, format)
	}
	return in, format, sum, nil
}

func choose(in *Input, opt Options) (Format, error) {
	if opt.Format != "" {
		return Lookup(opt.Format)
	}
	if opt.like != nil && !in.Head.written() && opt.like.claims(in.Head) == Certain {
		return *opt.like, nil
	}
	f, _, err := Detect(in.Head)
	var unknown *UnknownError
	if errors.As(err, &unknown) {
		unknown.File = in.Name
	}
	return f, err
}

// Import reads one profile from r into a store, in one transaction: after an
// error the store is as it was before. Content that the store has already,
// from the same version of the parser, changes nothing: Summary.Duplicate says
// so, and there is no error. path is the name that the store remembers.
func Import(ctx context.Context, store *datasets.Store, path string, r io.Reader, opt Options) (Summary, error) {
	return importFrom(ctx, store, path, false, r, opt)
}

func importFrom(ctx context.Context, store *datasets.Store, path string, file bool, r io.Reader, opt Options) (Summary, error) {
	in, format, sum, err := recognise(path, file, r, opt)
	if err != nil {
		return sum, err
	}
	im, err := store.Begin(ctx)
	if err != nil {
		return sum, err
	}
	defer func() { _ = im.Rollback() }() // after Commit it does nothing
	out := NewOutput(path, im)
	err = parse(ctx, format, in, out)
	sum.Warnings, sum.More = out.Warnings, out.More
	if err != nil {
		return sum, err
	}
	sha, n, err := in.Sum()
	if err != nil {
		return sum, err
	}
	err = im.Commit(artefact(path, sha, n, format), in.partSums...)
	if errors.As(err, &sum.Duplicate) {
		return sum, nil
	}
	if err != nil {
		return sum, err
	}
	sum.Runs, sum.Rows = im.Runs(), im.Counts()
	return sum, nil
}

// ParseFile reads a file into a sink without a store. It returns the name of
// the format and the first warnings.
func ParseFile(ctx context.Context, path string, opt Options, sink datasets.Sink) (format string, warnings []Warning, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", nil, err
	}
	defer f.Close()
	in, form, _, err := recognise(path, true, f, opt)
	if err != nil {
		return "", nil, err
	}
	out := NewOutput(path, sink)
	err = parse(ctx, form, in, out)
	return form.Name, out.Warnings, err
}

// parse runs a parser. A parser that panics has a fault, which must not end
// the session that called it: it becomes an error that names the parser.
func parse(ctx context.Context, f Format, in *Input, out *Output) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%s: the parser of format %s failed after line %d: %v: this is a fault of rooflab, please report it with the file", in.Name, f.Name, in.line, p)
		}
	}()
	out.in = in
	return f.Parse(ctx, in, out)
}
