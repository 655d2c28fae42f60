package agents

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rooflab/rooflab/agents/align"
	"github.com/rooflab/rooflab/agents/measure"
	"github.com/rooflab/rooflab/agents/rules"
	"github.com/rooflab/rooflab/agents/sandbox"
	"github.com/rooflab/rooflab/agents/target"
	"github.com/rooflab/rooflab/agents/validate"
	"github.com/rooflab/rooflab/collectors"
	"github.com/rooflab/rooflab/collectors/host"
	"github.com/rooflab/rooflab/collectors/ocllaunch"
	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/insight"
)

// Evidence is what is known of how a program spends its time.
type Evidence struct {
	Program string          `json:"program"`
	Store   string          `json:"store"` // relative to the workbench's folder
	Run     int64           `json:"run"`   // of the profile in the store
	How     string          `json:"how"`   // it was measured, in words
	Report  *insight.Report `json:"report"`
	// Metrics are the counters of the hot kernels, summed, and the values of the
	// report's items, by name.
	Metrics map[string]Number `json:"metrics"`
	Seed    uint64            `json:"input_seed"`
	// Launches are the shapes in which kernels are launched on all inputs of the
	// target's sizes, by kernel, where the profile tells.
	Launches map[string]rules.Launch `json:"launches,omitempty"`
	// Build are the calls of compilers by which it is built, where make or a script
	// makes them; nil where the target says them itself.
	Build   [][]string `json:"build,omitempty"`
	Seconds float64    `json:"seconds"` // that gathering it took
}

// Values are the metrics as package align has them.
func (e *Evidence) Values() align.Values {
	out := align.Values{}
	for name, v := range e.Metrics {
		if !math.IsNaN(float64(v)) {
			out[name] = float64(v)
		}
	}
	return out
}

// Profile gathers the evidence on a program: what the target's profile command
// says, or without one the time of repeated runs alone, with what a look at the
// source by LLVM tells of loops and strides. Commands run in the sandbox. The
// formats and engines that it needs are those that the program links (package
// collectors/all, datasets/duckdb).
func (w *Workbench) Profile(ctx context.Context, p *Program) (*Evidence, error) {
	began := time.Now()
	e, err := w.profile(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("gathering evidence on %s of %s: %w", p.ID, w.Target.Name, err)
	}
	e.Seconds = time.Since(began).Seconds()
	return e, nil
}

func (w *Workbench) profile(ctx context.Context, p *Program) (*Evidence, error) {
	// A store for each program: what an earlier process left of it, when it was
	// ended, is not counted twice.
	e := &Evidence{Program: p.ID, Store: "evidence/" + p.ID + ".db", Metrics: map[string]Number{}}
	path := filepath.Join(w.Dir, filepath.FromSlash(e.Store))
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), removed(path), removed(path+".wal")); err != nil {
		return nil, err
	}
	s, err := datasets.Open(path)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "rooflab-profile-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	prepared, err := w.prepared(ctx, p, p, w.profileSize(), w.profileSize(), dir)
	if err != nil {
		return nil, err
	}
	e.Seed = prepared.Seed
	command, file, format, err := w.profiling(ctx, prepared)
	if err != nil {
		return nil, err
	}
	var launches []ocllaunch.Launch
	look := func(path string) (err error) {
		if format == ocllaunch.Format {
			launches, err = w.rewrite(p, path)
		}
		return err
	}
	if command == nil {
		e.How = fmt.Sprintf("%d timed runs (the target has no profile command): where the time goes within the program was not measured", timedRuns)
		e.Run, err = w.timed(ctx, s, p, prepared)
	} else {
		e.How = target.Command(command.Argv).String()
		e.Run, err = w.profiled(ctx, s, dir, *command, file, format, look)
	}
	if err != nil {
		return nil, err
	}
	// What is not seen of the build leaves out some evidence, and is said.
	ran, unseen := w.Commands(ctx, p)
	if unseen != nil && ctx.Err() != nil {
		return nil, unseen
	}
	static, notes := w.static(ctx, s, p, ran)
	if unseen != nil {
		notes = append(notes, unseen.Error())
	}
	if e.Report, err = w.report(ctx, s, e.Run); err != nil {
		return nil, err
	}
	// The store is a file of this run, wherever its folder is moved.
	e.Report.Store = e.Store
	if command == nil {
		e.Report.Notes = append(e.Report.Notes, e.How)
	}
	if err := w.metrics(ctx, s, e); err != nil {
		return nil, err
	}
	more, err := w.lines(ctx, s, e)
	if err != nil {
		return nil, err
	}
	if launches != nil {
		device, said, err := w.device(ctx, s, e, p, launches)
		if err != nil {
			return nil, err
		}
		more, notes = append(more, device...), append(notes, said...)
	}
	e.Report.Items = append(e.Report.Items, append(more, static...)...)
	e.Report.Notes = append(e.Report.Notes, notes...)
	w.compiled(e, p, ran)
	slices.SortStableFunc(e.Report.Items, func(a, b insight.Item) int {
		switch {
		case a.Importance > b.Importance:
			return -1
		case a.Importance < b.Importance:
			return 1
		}
		return 0
	})
	if len(e.Report.Items) == 0 {
		return nil, errors.New("the profile says nothing that an edit could cite: give the target a [profile] that tells where the time goes")
	}
	return e, nil
}

// removed makes sure that there is no such file.
func removed(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// report is insight's, of the kernels that the target names where the profile
// has them.
func (w *Workbench) report(ctx context.Context, s *datasets.Store, run int64) (*insight.Report, error) {
	opt := insight.Options{Run: run}
	if names := w.Target.Kernels(); len(names) == 1 {
		named := opt
		named.Kernel = names[0]
		if r, err := insight.Of(ctx, s, named); err == nil {
			return r, nil
		} else if ctx.Err() != nil {
			return nil, err
		}
	}
	return insight.Of(ctx, s, opt)
}

// profiled runs a profiler and imports what it wrote, after look has seen it.
func (w *Workbench) profiled(ctx context.Context, s *datasets.Store, dir string, c sandbox.Command, file, format string, look func(path string) error) (int64, error) {
	c.Keep = filepath.Join(dir, "profile")
	o, err := w.box.Run(ctx, c)
	if err != nil {
		return 0, w.cannotProfile(err)
	}
	// Profilers choose endings of their own: ncu writes FILE.ncu-rep.
	if _, ok := o.File(file); !ok {
		for _, f := range o.Files {
			if strings.HasPrefix(f.Path, file+".") {
				file = f.Path
				break
			}
		}
	}
	path := filepath.Join(c.Keep, filepath.FromSlash(file))
	if _, err := os.Stat(path); err != nil || !o.OK() {
		if format == ocllaunch.Format {
			return 0, w.noLaunches(o)
		}
		said := strings.TrimSpace(string(o.Stderr))
		return 0, w.cannotProfile(fmt.Errorf("%s ended with %s, and its profile is to be in %s: %s", target.Command(c.Argv), o, file, said[:min(len(said), 1000)]))
	}
	if err := look(path); err != nil {
		return 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sum, err := collectors.Import(ctx, s, file, f, collectors.Options{Format: format})
	if err != nil {
		return 0, fmt.Errorf("importing the profile: %w", err)
	}
	if sum.Run() == 0 {
		return 0, fmt.Errorf("the profile %s holds no run", file)
	}
	return sum.Run(), nil
}

// timedRuns are taken where a target has no profile command.
const timedRuns = 5

// timed measures whole runs, as a profile of a single region.
func (w *Workbench) timed(ctx context.Context, s *datasets.Store, p *Program, prepared validate.Prepared) (int64, error) {
	machine := host.Machine()
	began := time.Now().UTC()
	im, err := s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = im.Rollback() }() // after Commit it does nothing
	records := []datasets.Record{&machine,
		&datasets.Run{ID: 1, Machine: machine.ID, Tool: "rooflab", Format: "optimize", Command: w.Target.Run.Command.String(), InputHash: p.ID,
			Started: datasets.Some(began), Status: datasets.RunOK, TimeMetric: "time.wall", TimeInclusive: true},
		&datasets.Region{ID: 1, Run: 1, Kind: datasets.KindRange, Raw: w.Target.Name, Short: w.Target.Name}}
	run := measure.Program{Box: w.box, Command: prepared.Original, Check: prepared.Check}
	for i := range int64(timedRuns) {
		v, err := run.Run(ctx)
		if err != nil {
			return 0, fmt.Errorf("a timed run: %w", err)
		}
		records = append(records, &datasets.Launch{ID: i + 1, Run: 1, Region: 1, Sequence: datasets.Some(i),
			StartNs: datasets.Some(v.Start.Sub(began).Nanoseconds()), DurNs: datasets.Some(int64(v.Seconds * 1e9))},
			&datasets.Counter{Run: 1, Region: 1, Launch: i + 1, Metric: "time.wall", Unit: "s", Value: datasets.Some(v.Seconds), Status: datasets.StatusOK})
		if !math.IsNaN(v.CPU) {
			records = append(records, &datasets.Counter{Run: 1, Region: 1, Launch: i + 1, Metric: "time.cpu", Unit: "s", Value: datasets.Some(v.CPU), Status: datasets.StatusOK})
		}
	}
	for _, r := range records {
		if err := im.Put(r); err != nil {
			return 0, err
		}
	}
	sum, err := digest([]any{p.ID, began})
	if err != nil {
		return 0, err
	}
	if err := im.Commit(datasets.Artefact{Path: "timed runs of " + p.ID, SHA256: sum, Kind: "optimize", ParserVersion: 1}); err != nil {
		return 0, err
	}
	return im.Runs()[0], nil
}

// metrics fills in the counters of the hot kernels and the items' values.
func (w *Workbench) metrics(ctx context.Context, s *datasets.Store, e *Evidence) error {
	names := w.Target.Kernels()
	if len(names) == 0 {
		for _, k := range e.Report.Kernels {
			names = append(names, k.Name)
		}
	}
	for _, name := range names {
		err := s.Each(ctx, func(v []any) {
			metric, ok := v[0].(string)
			value, ok2 := v[1].(float64)
			if ok && ok2 {
				e.Metrics[metric] += Number(value)
			}
		}, `SELECT c.metric, sum(c.value) FROM counter c JOIN region r ON r.id = c.region_id AND r.run_id = c.run_id
			WHERE c.run_id = ? AND r.short = ? AND c.instance IS NULL AND c.value IS NOT NULL GROUP BY 1`, e.Run, name)
		if err != nil {
			return err
		}
	}
	for _, i := range e.Report.Items {
		name := i.Metric
		if i.Formula != "" && !strings.Contains(i.Formula, "{") { // one that explains itself is no name
			name = i.Formula
		}
		if _, ok := e.Metrics[name]; !ok && name != "" && (i.Kernel == "" || slices.Contains(names, i.Kernel)) {
			e.Metrics[name] = Number(i.Value)
		}
	}
	return nil
}
