// Package build compiles a candidate. In flow the sources of a program, the
// files that a candidate changes and the command that builds it; out flow the
// products, or the compiler's log with its messages by file and line, short and
// clean enough to be read by people and by language models.
//
// It is done in a sandbox, on a copy: the sources stay as they are, and what
// the build does besides making its products is gone with the sandbox. One call
// is one build; whether to try again is for others to say.
package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/rooflab/rooflab/agents/sandbox"
)

// Recipe is what to build and how.
type Recipe struct {
	Sources string   // folder of the original
	Skip    []string // names that are not copied, patterns as of path.Match; nil is .git
	// Replace are the files of the candidate, by their paths relative to Sources.
	// Nil builds the original.
	Replace map[string][]byte
	// Command builds, in the folder of the sources. More than one command is a
	// script: sh -c.
	Command  []string
	Env      []string // added to the sandbox's own
	Products []string // files, relative to Sources, that have to be there afterwards
	Out      string   // folder of this machine that gets the products, under the same relative paths
	ReadOnly []sandbox.Mount
	Limits   sandbox.Limits // of the build; Wall 0 is the sandbox's
	Watch    *sandbox.Watch // what it tries is in Result.Outcome
	MostLog  int            // bytes of log to keep, 0 is 16 KiB
}

// Result is how a build went.
type Result struct {
	Reason   string // why there are no products, "" where there are
	Log      string // what the build printed: paths relative to Sources, cut in the middle at MostLog
	Cut      bool
	Messages []Message // of the whole log, in its order
	Products []Product
	Outcome  sandbox.Outcome // Stdout is the log as it was, up to Limits.Output
}

// OK reports whether the products are there.
func (r Result) OK() bool { return r.Reason == "" }

// Errors are the messages that kept the build from its products.
func (r Result) Errors() []Message {
	return slices.DeleteFunc(slices.Clone(r.Messages), func(m Message) bool { return m.Severity != Error })
}

// Product is a file that was built.
type Product struct {
	Path   string // relative to Sources, and to Out
	Size   int64
	SHA256 string
	// Suspect are functions in it that stand before those of the C library or of a
	// runtime by which programs take time, print or end: see Suspects.
	Suspect []string
}

// Build builds. A build that fails is a Result and no error; an error says that
// it could not be tried.
func Build(ctx context.Context, box *sandbox.Box, r Recipe) (Result, error) {
	if err := r.check(); err != nil {
		return Result{}, err
	}
	changed, err := os.MkdirTemp("", "rooflab-build-")
	if err != nil {
		return Result{}, err
	}
	defer os.RemoveAll(changed)
	if err := r.write(changed); err != nil {
		return Result{}, fmt.Errorf("writing the candidate's files: %w", err)
	}
	c := r.command(changed)
	// What an earlier build left must not pass for this one's.
	for _, p := range r.Products {
		if err := os.Remove(filepath.Join(r.Out, p)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Result{}, fmt.Errorf("removing the product of an earlier build: %w", err)
		}
	}
	o, err := box.Run(ctx, c)
	if err != nil {
		return Result{}, fmt.Errorf("building: %w", err)
	}
	res := Result{Outcome: o}
	text := clean(string(o.Stdout) + string(o.Stderr))
	res.Messages = Parse(text)
	most := r.MostLog
	if most == 0 {
		most = 16 << 10
	}
	res.Log, res.Cut = shorten(text, most)
	if !o.OK() {
		res.Reason = "the build ended with " + o.String()
		return res, nil
	}
	for _, name := range r.Products {
		p, err := product(r.Out, name)
		if errors.Is(err, os.ErrNotExist) {
			res.Reason = fmt.Sprintf("the build ended well and %s is not there", name)
			return res, nil
		}
		if err != nil {
			return res, fmt.Errorf("looking at what was built: %w", err)
		}
		res.Products = append(res.Products, p)
	}
	return res, nil
}

// command builds, with the candidate's files from a folder.
func (r Recipe) command(changed string) sandbox.Command {
	skip := r.Skip
	if skip == nil {
		skip = []string{".git"}
	}
	return sandbox.Command{
		// One stream: what belongs to which command is seen from the order.
		Argv: append([]string{"sh", "-c", `exec "$@" 2>&1`, "sh"}, r.Command...),
		Env:  r.Env, ReadOnly: r.ReadOnly, Limits: r.Limits, Watch: r.Watch, Keep: r.Out, KeepOnly: r.Products,
		Put: []sandbox.Copy{{From: r.Sources, Skip: skip}, {From: changed}},
	}
}

func (r Recipe) check() error {
	if len(r.Command) == 0 {
		return errors.New("building: there is no command that builds")
	}
	if len(r.Products) == 0 || r.Out == "" {
		return errors.New("building: name the products of the build and the folder that gets them")
	}
	for _, p := range r.Products {
		if !filepath.IsLocal(p) || filepath.Clean(p) != p {
			return fmt.Errorf("building: the product %q is not a plain path inside of the sources", p)
		}
	}
	for p := range r.Replace {
		if !filepath.IsLocal(p) {
			return fmt.Errorf("building: the candidate's file %q is not inside of the sources", p)
		}
	}
	return nil
}

func (r Recipe) write(dir string) error {
	for name, data := range r.Replace {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		mode := os.FileMode(0o644)
		if info, err := os.Stat(filepath.Join(r.Sources, name)); err == nil {
			mode = info.Mode().Perm() // a script stays one
		}
		if err := os.WriteFile(path, data, mode); err != nil {
			return err
		}
	}
	return nil
}

func product(dir, name string) (Product, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if err != nil {
		return Product{}, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return Product{}, err
	}
	suspect, err := Suspects(path)
	return Product{Path: name, Size: n, SHA256: hex.EncodeToString(h.Sum(nil)), Suspect: suspect}, err
}
