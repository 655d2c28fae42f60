// Package insight says of a profile what an expert would say: one report that
// joins roofline, stalls, counters, hot kernels, noise and change, and cites
// for each statement the rows, the metric and the file that it came from.
//
// In flows a store. Out flows a Report: typed evidence Items, the most
// important first, each with an id to cite, its value, what it is compared
// against, SQL that finds the value again, where in the source it is, the usual
// remedies, and which metrics a successful change would move. A Report is JSON
// for machines, Markdown and HTML for people, and a text within a number of
// tokens for language models (Report.Prompt); in a notebook it shows itself.
//
//	report, err := insight.Of(ctx, store, insight.Options{Kernel: "stencil2d"})
//
// An analysis whose data the store lacks is named in Report.Missing with the
// command that collects it. Report.Verify looks up everything that is cited.
package insight

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"slices"

	"github.com/rooflab/rooflab/datasets"
)

// Version is the version of a Report's JSON.
const Version = 1

// Options say what the report is about. The zero value is the store's latest
// run with its hot kernels.
type Options struct {
	Run     int64  // 0: the latest, or the latest that has Kernel
	Kernel  string // short or raw name; "": the kernels that cover Share of the time
	Against int64  // a run before, to compare with; 0: none
	// Share of the time that the kernels cover, 0 is hot.DefaultShare.
	Share float64
	// Kernels is how many kernels are looked at, at most; 0 is 5.
	Kernels int
	// Scale names parameters of runs (see scaling.Source) over which growth is
	// looked at; none: those that are usual and vary in the store.
	Scale []string
	// Device names a device of the built-in table, and Ceilings a run whose
	// machine has ceilings (of a probe, of collect machine): limits for what the
	// profile itself does not give. Those of Ceilings come first.
	Device   string
	Ceilings int64
	Seed     uint64 // of bootstraps and ensembles
}

// Report is what there is to say.
type Report struct {
	Version  int       `json:"version"`
	Rooflab  string    `json:"rooflab"` // version of the program
	Store    string    `json:"store"`
	Run      int64     `json:"run"` // the one that the report is about
	Machine  *Machine  `json:"machine,omitempty"`
	Runs     []Run     `json:"runs"` // that and those it is compared with
	Kernels  []*Kernel `json:"kernels"`
	Items    []Item    `json:"items"` // the most important first
	Missing  []Missing `json:"missing"`
	Notes    []string  `json:"notes"` // what a reader must know to trust the report
	pictures []picture
}

// Machine is where the run was measured, as far as the profile says.
type Machine struct {
	Host    string   `json:"host,omitempty"`
	CPU     string   `json:"cpu,omitempty"`
	GPU     string   `json:"gpu,omitempty"`
	Arch    string   `json:"arch,omitempty"`
	Units   *int64   `json:"units,omitempty"` // multiprocessors, compute units or cores
	ClockHz *float64 `json:"clock_hz,omitempty"`
	Memory  *int64   `json:"memory_bytes,omitempty"`
	Driver  string   `json:"driver,omitempty"`
}

// Run is a run with its files.
type Run struct {
	ID          int64      `json:"id"`
	Tool        string     `json:"tool"`
	ToolVersion string     `json:"tool_version,omitempty"`
	Format      string     `json:"format"`
	Command     string     `json:"command,omitempty"`
	Status      string     `json:"status"`
	Error       string     `json:"error,omitempty"`
	Role        string     `json:"role"` // "subject", "before" or "size"
	Artefacts   []Artefact `json:"artefacts"`
	inclusive   bool
}

// Artefact is a file that a run came from.
type Artefact struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
}

// Kernel is a kernel, or a region of the host, that the report looks at. What
// is not known is nil.
type Kernel struct {
	Name     string   `json:"name"`
	Kind     string   `json:"kind"`
	Time     *float64 `json:"time,omitempty"` // exclusive, over all launches, in Unit
	Unit     string   `json:"unit,omitempty"`
	Share    *float64 `json:"share,omitempty"` // of all
	Launches int64    `json:"launches"`        // 0 where the tool does not count them
	Bound    string   `json:"bound,omitempty"` // what limits it, where the roofline says
	// Side is on which side of the balance point at DRAM it is by the intensity
	// of its dominant precision: "memory" or "compute".
	Side     string `json:"side,omitempty"`
	launched bool   // its counters are those of launches
}

func (k *Kernel) share() float64 {
	if k == nil || k.Share == nil {
		return 1
	}
	return *k.Share
}

// Missing is an analysis that had no data.
type Missing struct {
	Analysis string `json:"analysis"`
	What     string `json:"what"`              // is lacking, and for which kernel
	Command  string `json:"command,omitempty"` // that collects it
}

// analysis is one way to look at a scope. It returns items without ids and
// importance of their final order, and a *Missing as its error where the store
// has no data for it; any other error is the report's.
type analysis struct {
	name string
	run  func(ctx context.Context, sc *scope) (found, error)
}

// found is what an analysis found.
type found struct {
	items    []Item
	missing  []Missing
	notes    []string
	pictures []picture
}

// analyses are all there are, in the order in which they run: roofline before
// those that ask what bounds a kernel.
var analyses = []analysis{
	{"hot kernels", hotKernels},
	{"roofline", rooflines},
	{"stalls", stallsOf},
	{"counters", counterRules},
	{"explanation", explanations},
	{"launches", launchRules},
	{"balance", balance},
	{"advice", advice},
	{"noise", noise},
	{"change", changes},
	{"timeline", traces},
	{"call path", hotPath},
	{"scaling", growth},
	{"telemetry", sensors},
	{"machine", limits},
	{"values", values},
}

// Of makes a report.
func Of(ctx context.Context, s *datasets.Store, opt Options) (*Report, error) {
	r, err := report(ctx, s, opt)
	if err != nil {
		return nil, fmt.Errorf("insight into %s: %w", s.Path(), err)
	}
	return r, nil
}

func report(ctx context.Context, s *datasets.Store, opt Options) (*Report, error) {
	sc, notes, err := newScope(ctx, s, opt)
	if err != nil {
		return nil, err
	}
	r := &Report{Version: Version, Rooflab: version(), Store: s.Path(), Run: sc.run.ID, Runs: []Run{sc.run}, Kernels: sc.kernels,
		Items: []Item{}, Missing: []Missing{}, Notes: append([]string{}, notes...)}
	if r.Machine, err = machine(ctx, s, sc.machine); err != nil {
		return nil, err
	}
	if sc.opt.Against != 0 {
		before, _, _, err := readRun(ctx, s, sc.opt.Against)
		if err != nil {
			return nil, err
		}
		before.Role = "before"
		r.Runs = append(r.Runs, before)
	}
	for _, a := range analyses {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := a.run(ctx, sc)
		if lack := (*missingError)(nil); errors.As(err, &lack) {
			f.missing = append(f.missing, Missing{What: lack.what, Command: lack.command})
		} else if err != nil {
			return nil, fmt.Errorf("%s of run %d: %w", a.name, sc.run.ID, err)
		}
		for _, m := range f.missing {
			m.Analysis = a.name
			r.Missing = append(r.Missing, m)
		}
		r.Items = append(r.Items, f.items...)
		r.Notes = append(r.Notes, f.notes...)
		r.pictures = append(r.pictures, f.pictures...)
	}
	r.number()
	return r, nil
}

// missingError says what an analysis lacks.
type missingError struct{ what, command string }

func (e *missingError) Error() string { return e.what }

// number sorts items and gives them their ids. A value that is no number is
// no evidence, and JSON has none.
func (r *Report) number() {
	r.Items = slices.DeleteFunc(r.Items, func(i Item) bool { return math.IsNaN(i.Value) || math.IsInf(i.Value, 0) })
	slices.SortStableFunc(r.Items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(b.Importance, a.Importance), cmp.Compare(a.Kernel, b.Kernel), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Statement, b.Statement))
	})
	count := map[string]int{}
	for i := range r.Items {
		l := letters[r.Items[i].Kind]
		count[l]++
		r.Items[i].ID = fmt.Sprintf("%s%d", l, count[l])
	}
}

// Find returns the item with an id.
func (r *Report) Find(id string) (Item, bool) {
	for _, i := range r.Items {
		if i.ID == id {
			return i, true
		}
	}
	return Item{}, false
}

// version is that of the program.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
