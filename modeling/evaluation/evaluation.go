// Package evaluation is the registry of published evaluations that rooflab
// runs again, and the record of such a run.
//
// In flow the name of an Evaluation and data sets (found by
// datasets/registry, ROOFLAB_DATASETS first), out flows a Record: Results,
// each with interval, baseline and split, and beside them seed, hashes of the
// files read, versions and machine. An evaluation lives in a package of its
// own that registers it; whoever wants it imports that package.
package evaluation

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/rooflab/rooflab/datasets"
)

// Result is one figure with what it is to be held against.
type Result struct {
	Name   string // the method, or what is compared
	Metric string // "R2", "MAPE", ... with its unit where it has one
	Value  float64
	// Low and High are the 95 % interval of Value; NaN where there is none.
	Low, High float64
	// Baseline is the method to beat on the same split, BaselineValue its value
	// of the metric; "" and NaN where there is none.
	Baseline      string
	BaselineValue float64
	Split         string // what was held out, and how
	N             int    // rows that were predicted, or whatever Value is taken over
	Note          string // what a reader must know to trust it, "" where nothing
}

// MarshalJSON writes figures that are not known as null.
func (r Result) MarshalJSON() ([]byte, error) {
	known := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Name          string   `json:"name"`
		Metric        string   `json:"metric"`
		Value         *float64 `json:"value"`
		Low           *float64 `json:"low"`
		High          *float64 `json:"high"`
		Baseline      string   `json:"baseline"`
		BaselineValue *float64 `json:"baseline_value"`
		Split         string   `json:"split"`
		N             int      `json:"n"`
		Note          string   `json:"note,omitempty"`
	}{r.Name, r.Metric, known(r.Value), known(r.Low), known(r.High), r.Baseline, known(r.BaselineValue), r.Split, r.N, r.Note})
}

// Options are what an evaluation runs with. All may be left zero.
type Options struct {
	Seed uint64 // equal seeds give equal results
	// Quick leaves out what takes longer than some minutes, as training a large
	// network. A Result without a value whose Note says so stands in its place;
	// most evaluations have nothing to leave out.
	Quick bool
	// Data finds a data set's folder. nil asks datasets/registry.
	Data func(name string) (dir string, err error)
	// Import reads a profile into a store and returns its run: collectors.ImportFile,
	// which this package does not link. Needed by evaluations that read profiles.
	Import func(ctx context.Context, s *datasets.Store, path string) (run int64, err error)
	// Dir is a folder in which an evaluation of long steps keeps what is done, so
	// that the same call goes on there. "": nothing is kept.
	Dir string
	// Machine is what it runs on, for the record.
	Machine datasets.Machine
	// Progress, if not nil, is told what is being done and how far it is; total
	// is 0 where that is not known.
	Progress func(what string, done, total int)
}

// Evaluation is one published evaluation.
type Evaluation struct {
	Name string
	Doc  string   // what is evaluated, on what, after whom: one sentence
	Data []string // the data sets that it reads
	Run  func(ctx context.Context, o Options) ([]Result, error)
}

var (
	mu          sync.Mutex
	evaluations = map[string]Evaluation{}
)

// Register makes an evaluation known. It panics when the name is taken or
// something is missing.
func Register(e Evaluation) {
	mu.Lock()
	defer mu.Unlock()
	if e.Name == "" || e.Doc == "" || e.Run == nil {
		panic("evaluation: " + e.Name + " lacks a name, a sentence or what to run")
	}
	if _, dup := evaluations[e.Name]; dup {
		panic("evaluation: " + e.Name + " registered twice")
	}
	evaluations[e.Name] = e
}

// All lists the evaluations by name.
func All() []Evaluation {
	mu.Lock()
	defer mu.Unlock()
	var out []Evaluation
	for _, e := range evaluations {
		out = append(out, e)
	}
	slices.SortFunc(out, func(a, b Evaluation) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// UnknownError says that there is no evaluation of a name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	var names []string
	for _, a := range All() {
		names = append(names, a.Name)
	}
	if len(names) == 0 {
		return fmt.Sprintf("no evaluation %q: none is linked into this program; import the package that registers it", e.Name)
	}
	return fmt.Sprintf("no evaluation %q: there are %s", e.Name, strings.Join(names, ", "))
}

// Lookup finds an evaluation by its name, or returns an *UnknownError.
func Lookup(name string) (Evaluation, error) {
	mu.Lock()
	e, ok := evaluations[name]
	mu.Unlock()
	if !ok {
		return Evaluation{}, &UnknownError{name}
	}
	return e, nil
}
