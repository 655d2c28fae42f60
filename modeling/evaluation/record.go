package evaluation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/registry"
	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Record is a run of an evaluation: what is needed to run it again and to see
// why another run differs.
type Record struct {
	Evaluation string    `json:"evaluation"`
	About      string    `json:"about"`
	Results    []Result  `json:"results"`
	Seed       uint64    `json:"seed"`
	Quick      bool      `json:"quick,omitempty"` // Options.Quick
	Data       []Data    `json:"data"`
	Program    Program   `json:"program"`
	Machine    Machine   `json:"machine"`
	Started    time.Time `json:"started"`
	Seconds    float64   `json:"seconds"`
	Warnings   []string  `json:"warnings,omitempty"`
}

// Data is one file of a data set that was there to be read.
type Data struct {
	Set    string `json:"set"`
	File   string `json:"file"` // relative to the set's folder, with slashes
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Program is what computed the results.
type Program struct {
	Version  string `json:"version"` // of rooflab's module
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the revision's files were edited
	// Executable is the SHA-256 of the running program, where it was built
	// without saying its revision.
	Executable string            `json:"executable_sha256,omitempty"`
	Go         string            `json:"go"`
	Modules    map[string]string `json:"modules,omitempty"` // versions of those that compute
}

// Machine is where it ran.
type Machine struct {
	OS   string `json:"os"`
	Arch string `json:"arch"`
	CPUs int    `json:"cpus"`
	CPU  string `json:"cpu,omitempty"`
	GPU  string `json:"gpu,omitempty"`

	MemoryBytes int64 `json:"memory_bytes,omitempty"`
}

// Run runs an evaluation and records it.
func Run(ctx context.Context, e Evaluation, o Options) (*Record, error) {
	r := &Record{Evaluation: e.Name, About: e.Doc, Seed: o.Seed, Quick: o.Quick, Program: program(), Machine: machine(o.Machine), Started: time.Now().UTC()}
	if o.Data == nil {
		o.Data = func(name string) (string, error) {
			place, err := registry.Find(name)
			if len(place.Differ) > 0 {
				r.Warnings = append(r.Warnings, fmt.Sprintf("data set %s in %s is not as published: %s", name, place.Dir, strings.Join(place.Differ, ", ")))
			}
			return place.Dir, err
		}
	}
	// All data sets are looked for first: nothing is worse than to miss one
	// after an hour.
	dirs := map[string]string{}
	for _, name := range e.Data {
		dir, err := o.Data(name)
		if err != nil {
			return nil, fmt.Errorf("evaluating %s: %w", e.Name, err)
		}
		files, err := hash(ctx, name, dir)
		if err != nil {
			return nil, fmt.Errorf("evaluating %s: %w", e.Name, err)
		}
		dirs[name] = dir
		r.Data = append(r.Data, files...)
	}
	o.Data = func(name string) (string, error) {
		dir, ok := dirs[name]
		if !ok {
			return "", fmt.Errorf("the evaluation reads data set %q and does not name it in Data, so that its hash would not be recorded", name)
		}
		return dir, nil
	}
	if o.Import == nil {
		o.Import = func(context.Context, *datasets.Store, string) (int64, error) {
			return 0, errors.New("the evaluation reads profiles and Options.Import says not how: give it collectors.ImportFile and link the format")
		}
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	var err error
	r.Results, err = e.Run(ctx, o)
	r.Seconds = time.Since(r.Started).Seconds()
	if err == nil && len(r.Results) == 0 {
		err = errors.New("it gave no results")
	}
	if err != nil {
		return nil, fmt.Errorf("evaluating %s: %w", e.Name, err)
	}
	return r, nil
}

// sum is the SHA-256 of a file, and its size.
func sum(path string) (hash string, bytes int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), n, err
}

// hash sums the files of a data set's folder.
func hash(ctx context.Context, set, dir string) ([]Data, error) {
	var out []Data
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		hash, n, err := sum(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		out = append(out, Data{Set: set, File: filepath.ToSlash(name), SHA256: hash, Bytes: n})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading data set %s: %w", set, err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("data set %s: the folder %s has no files", set, dir)
	}
	return out, nil
}

// computing are the modules whose versions may change figures.
var computing = []string{"gonum.org/v1/gonum", "github.com/gomlx/gomlx", "github.com/gomlx/compute", "github.com/gomlx/go-xla", "github.com/duckdb/duckdb-go/v2"}

func program() Program {
	p := Program{Version: "(unknown)", Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return p
	}
	p.Version = info.Main.Version
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			p.Revision = s.Value
		case "vcs.modified":
			p.Modified = s.Value == "true"
		}
	}
	for _, d := range info.Deps {
		if slices.Contains(computing, d.Path) {
			if p.Modules == nil {
				p.Modules = map[string]string{}
			}
			p.Modules[d.Path] = d.Version
		}
	}
	if p.Revision == "" {
		if self, err := os.Executable(); err == nil {
			p.Executable, _, _ = sum(self) // "" where it cannot be read
		}
	}
	return p
}

func machine(m datasets.Machine) Machine {
	return Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPU: m.CPU, GPU: m.GPU, MemoryBytes: m.MemBytes.V}
}

// WriteJSON writes the record as one JSON object.
func (r *Record) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Table is the results for people. What is the same for all of them stands
// below.
func (r *Record) Table() tabular.Table {
	t := tabular.Table{Title: r.Evaluation + ": " + r.About, Columns: tabular.Columns("<name", "<metric", "value", "95 % interval", "<baseline", "its value", "n", "<split")}
	figure := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return fmt.Sprintf("%.4f", v)
	}
	one := !slices.ContainsFunc(r.Results, func(x Result) bool { return x.Split != r.Results[0].Split })
	if one {
		t.Columns = t.Columns[:len(t.Columns)-1]
	}
	notes := map[string]bool{}
	for _, x := range r.Results {
		interval := ""
		if !math.IsNaN(x.Low) && !math.IsNaN(x.High) {
			interval = fmt.Sprintf("%.4f to %.4f", x.Low, x.High)
		}
		t.Add(x.Name, x.Metric, figure(x.Value), interval, x.Baseline, figure(x.BaselineValue), fmt.Sprint(x.N), x.Split)
		if x.Note != "" && !notes[x.Note] {
			notes[x.Note] = true
			t.Note("%s", x.Note)
		}
	}
	if one && len(r.Results) > 0 {
		t.Note("split: %s", r.Results[0].Split)
	}
	for _, d := range r.Data {
		t.Note("data: %s/%s, %d bytes, sha256 %s", d.Set, d.File, d.Bytes, d.SHA256)
	}
	for _, w := range r.Warnings {
		t.Note("warning: %s", w)
	}
	if r.Quick {
		t.Note("quick: whatever takes long was left out")
	}
	revision := ""
	if r.Program.Revision != "" {
		revision = " at " + r.Program.Revision
		if r.Program.Modified {
			revision += ", edited"
		}
	}
	t.Note("seed %d; rooflab %s%s, %s, %s/%s; %.1f s", r.Seed, r.Program.Version, revision, r.Program.Go, r.Machine.OS, r.Machine.Arch, r.Seconds)
	return t
}

// String is the table as text.
func (r *Record) String() string { return r.Table().String() }

// Display shows the table.
func (r *Record) Display() display.Bundle { return r.Table().Display() }
