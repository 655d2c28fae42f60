package collectors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"hash"
	"io"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/rooflab/rooflab/datasets"
)

// Collector measures something now, where a Format reads what was measured
// before.
type Collector struct {
	// Name is what `rooflab collect` takes, "valgrind".
	Name string
	// About says in one line what is measured.
	About string
	// Version is the version of the records that it makes.
	Version int
	// Check, where there is one, says within a second whether this machine can
	// measure with the collector: nil, or a *MissingError.
	Check func(ctx context.Context) error
	// Prepare, where there is one, builds what the first measurement would
	// otherwise wait for; `rooflab prepare` calls it. Where nothing is to be done
	// it returns at once.
	Prepare func(ctx context.Context) error
	// New defines the collector's flags on fs and returns the function that
	// collects, which reads them. What the machine lacks is a run marked by a
	// *MissingError: its status is datasets.RunUnavailable or RunDenied and its
	// Error says how to get it; a command that fails is a run that is
	// datasets.RunFailed. An error is
	// what keeps the run from being written at all: wrong flags, no such
	// command, an interrupt.
	New func(fs *flag.FlagSet) func(ctx context.Context, job Job, out *Output) error
}

// Job is what to measure.
type Job struct {
	Command []string // program and arguments; empty where the collector needs none
	Dir     string   // where the command runs; "" is here
	Stdin   io.Reader
	Stdout  io.Writer // what the command writes goes here; nil drops it
	Stderr  io.Writer
	Log     io.Writer // progress, for people; nil drops it
}

var (
	collectorsMu sync.Mutex
	collectors   = map[string]Collector{}
)

// RegisterCollector makes a collector known. It panics when the name is taken.
func RegisterCollector(c Collector) {
	collectorsMu.Lock()
	defer collectorsMu.Unlock()
	if _, dup := collectors[c.Name]; dup {
		panic("collectors: collector " + c.Name + " registered twice")
	}
	collectors[c.Name] = c
}

// Collectors lists the registered collectors by name.
func Collectors() []Collector {
	collectorsMu.Lock()
	defer collectorsMu.Unlock()
	cs := make([]Collector, 0, len(collectors))
	for _, c := range collectors {
		cs = append(cs, c)
	}
	sort.Slice(cs, func(i, j int) bool { return cs[i].Name < cs[j].Name })
	return cs
}

// LookupCollector finds a collector by its name.
func LookupCollector(name string) (Collector, error) {
	collectorsMu.Lock()
	c, ok := collectors[name]
	collectorsMu.Unlock()
	if ok {
		return c, nil
	}
	var ns []string
	for _, c := range Collectors() {
		ns = append(ns, c.Name)
	}
	return c, fmt.Errorf("no collector %q: there are %s", name, strings.Join(ns, ", "))
}

// Collect measures a job with a collector into a store, in one transaction.
// flags are the collector's, as on a command line.
func Collect(ctx context.Context, store *datasets.Store, name string, flags []string, job Job) (Summary, error) {
	c, err := LookupCollector(name)
	if err != nil {
		return Summary{}, err
	}
	fs := flag.NewFlagSet("collect "+name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	collect := c.New(fs)
	if err := fs.Parse(flags); err != nil {
		return Summary{}, fmt.Errorf("collecting with %s: %w", name, err)
	}
	if fs.NArg() > 0 {
		return Summary{}, fmt.Errorf("collecting with %s: %q is no flag", name, fs.Arg(0))
	}
	return CollectWith(ctx, store, c, collect, job)
}

// CollectWith is Collect with a function that c.New returned and whose flags
// are set.
func CollectWith(ctx context.Context, store *datasets.Store, c Collector, collect func(context.Context, Job, *Output) error, job Job) (Summary, error) {
	g, err := Gather(ctx, c, collect, job)
	if err != nil {
		return g.sum, err
	}
	return g.Store(ctx, store)
}

// Gathered is what a collector measured, on its way into a store.
type Gathered struct {
	sum     Summary
	records []datasets.Record
	sha     string
	version int
}

// Gather measures a job and keeps the result in memory until it is whole: no
// store is locked while a command runs for hours.
func Gather(ctx context.Context, c Collector, collect func(context.Context, Job, *Output) error, job Job) (*Gathered, error) {
	path := "collect " + c.Name
	if len(job.Command) > 0 {
		path += " -- " + CommandLine(job.Command)
	}
	g := &Gathered{sum: Summary{Path: path, Format: c.Name}, version: c.Version}
	for _, w := range []*io.Writer{&job.Stdout, &job.Stderr, &job.Log} {
		if *w == nil {
			*w = io.Discard
		}
	}
	kept := &buffer{sum: sha256.New()}
	fmt.Fprintf(kept.sum, "%s %d\n", path, time.Now().UnixNano())
	out := NewOutput(path, kept)
	err := collect(ctx, job, out)
	g.sum.Warnings, g.sum.More = out.Warnings, out.More
	if err == nil {
		err = ctx.Err()
	}
	g.records, g.sha = kept.records, hex.EncodeToString(kept.sum.Sum(nil))
	if err != nil {
		return g, fmt.Errorf("collecting with %s: %w", c.Name, err)
	}
	return g, nil
}

// Store writes what was measured into a store, in one transaction.
func (g *Gathered) Store(ctx context.Context, store *datasets.Store) (Summary, error) {
	sum := g.sum
	im, err := store.Begin(ctx)
	if err != nil {
		return sum, err
	}
	defer func() { _ = im.Rollback() }() // after Commit it does nothing
	for _, r := range g.records {
		if err := im.Put(r); err != nil {
			return sum, err
		}
		if run, ok := r.(*datasets.Run); ok {
			sum.States = append(sum.States, RunState{Status: run.Status, Error: run.Error})
		}
	}
	err = im.Commit(datasets.Artefact{Path: sum.Path, SHA256: g.sha, Kind: sum.Format, ParserVersion: g.version})
	if err != nil {
		return sum, err
	}
	sum.Runs, sum.Rows = im.Runs(), im.Counts()
	for i, id := range sum.Runs {
		sum.States[i].Run = id
	}
	return sum, nil
}

// RunState says how a collected run went.
type RunState struct {
	Run    int64  // the store's id
	Status string // datasets.RunOK and so on
	Error  string
}

// CommandLine joins a command's words as a shell would read them.
func CommandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w == "" || strings.ContainsFunc(w, func(r rune) bool { return !isPlain(r) }) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted[i] = w
	}
	return strings.Join(quoted, " ")
}

func isPlain(r rune) bool {
	return r > 0x7f || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("%+,-./:=@_^", r)
}

// MissingError says what a machine lacks for a measurement. A collector writes
// a run with its status and text, so that nobody takes the gap for a zero.
type MissingError struct {
	Status string // datasets.RunUnavailable or datasets.RunDenied
	What   string // "no GPU of NVIDIA: libnvidia-ml.so.1 is not there"
	Fix    string // how to get it
}

func (e *MissingError) Error() string { return e.What + "; " + e.Fix }

// Mark gives a run the status and the text of what is missing.
func (e *MissingError) Mark(run *datasets.Run) { run.Status, run.Error = e.Status, e.Error() }

// buffer keeps copies of records.
type buffer struct {
	records []datasets.Record
	sum     hash.Hash
}

func (b *buffer) Put(r datasets.Record) error {
	c := datasets.Clone(r)
	if c == nil {
		return errors.New("a record of an unknown kind")
	}
	fmt.Fprintf(b.sum, "%s %v\n", c.Table(), c)
	b.records = append(b.records, c)
	return nil
}
