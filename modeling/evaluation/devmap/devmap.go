// Package devmap is the evaluation devmap: does an OpenCL kernel run faster on
// the CPU or on the GPU?
//
// In flows the data set deeptune-devmap (Cummins, Petoumenos, Wang and Leather
// 2017, "End-to-end deep learning of optimization heuristics", its NVIDIA half:
// 680 launches of 256 kernels, timed on a Core i7-3820 and a GTX 970); out flow
// Results: accuracy, and speedup over the device that is best for most. Every
// method is a predict.Learner of the CPU's time over the GPU's, and takes the
// GPU where it predicts more than 1.
//
// The rows are dealt in three ways. The study's own, stratified tenths of the
// rows, has launches of one kernel on both sides, with other inputs: it asks
// whether a kernel that was seen is mapped right at another size. Then sources
// are new, though not their program's other kernels, and last whole programs.
// One deal decides about a hundredth: in the study's protocol the accuracy of the
// best was between 0.901 and 0.921 with the seeds 1 to 5.
package devmap

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/predict"
)

const (
	set  = "deeptune-devmap"
	file = "cgo17-nvidia.csv"
)

func init() {
	evaluation.Register(evaluation.Evaluation{
		Name: "devmap",
		Doc:  "boosted trees over source text, counted work and launch, and simpler predictors, choosing CPU or GPU for OpenCL kernels (GTX 970), in the protocol of DeepTune and with sources and programs that are new",
		Data: []string{set},
		Run:  run,
	})
}

const (
	folds   = 10
	members = 3
)

// method is one way to choose a device.
type method struct {
	name     string
	learner  predict.Learner
	features []string // nil is all
}

const (
	staticMapping = "static mapping"
	best          = "boosted trees, all features, settings chosen within the training rows"
)

// methods are all that are compared, the baseline first.
func methods(features []string) []method {
	with := func(prefixes ...string) []string {
		names := []string{"transfer", "wgsize"}
		for _, f := range features {
			if slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(f, p) }) {
				names = append(names, f)
			}
		}
		return names
	}
	table := slices.Concat(raw, combined)
	group := func(l predict.Learner) predict.Learner { return committee{l, members} }
	return []method{
		{staticMapping, baseline.MedianLearner{}, nil},
		// As the study has it: depth 5, 5 rows a leaf; by Gini's criterion for its entropy.
		{"Grewe et al.: decision tree of four features", sides{boost.Learner{Trees: 1, Rate: 1, Leaves: 1 << 5, Depth: 5, MinRows: 5, Held: -1}}, combined},
		{"ridge of the ratio, table", baseline.RidgeLearner{}, table},
		{"linear discriminant (ridge), table", sides{baseline.RidgeLearner{}}, table},
		{"linear discriminant (ridge), all features", sides{baseline.RidgeLearner{Lambdas: []float64{10, 100, 1e3}}}, nil},
		{"nearest neighbours, table", sides{baseline.NeighboursLearner{}}, table},
		{"nearest neighbours, all features", sides{baseline.NeighboursLearner{}}, nil},
		{"boosted trees, table", group(trees(settled, grown)), table},
		{"boosted trees, text and launch", group(trees(settled, grown)), with(tokenPrefix, pairPrefix)},
		{"boosted trees, counted work and launch", group(trees(settled, grown)), with(costPrefix)},
		{"boosted trees of the ratio, all features", boost.Learner{Trees: grown, MinRows: 2, L2: 1, Groups: 0.8, Features: 0.3, Held: -1}, nil},
		{best, chosen{of: []predict.Learner{trees(8, grown), trees(16, grown), trees(32, grown)}, folds: 3, final: group}, nil},
	}
}

// Settings of the trees that are not chosen within the training rows.
const (
	settled = 31
	grown   = 150
)

// protocol is one way to deal the rows.
type protocol struct {
	name   string
	words  string
	groups []string // what the training rows are grouped by where a method holds out some
	unit   []string // what is drawn for intervals: row by row, which
	units  string   // what these are
	deal   func() ([]split.Split, error)
}

func protocols(ls []launch, class []bool, seed uint64) []protocol {
	var row, source, program []string
	for i, l := range ls {
		row, source, program = append(row, fmt.Sprint(i)), append(source, l.source), append(program, l.program)
	}
	by := func(axis split.Axis, keys []string) func() ([]split.Split, error) {
		return func() ([]split.Split, error) {
			s, err := split.Folds(keys, folds, split.Options{Axis: axis, Seed: seed})
			if err != nil {
				return nil, err
			}
			return s, disjoint(keys, s)
		}
	}
	return []protocol{
		{"rows", fmt.Sprintf("rows: %d-fold, stratified, seed %d (a kernel's other inputs are in training)", folds, seed), row, source, "sources",
			func() ([]split.Split, error) { return stratified(class, folds, seed) }},
		{"sources", fmt.Sprintf("sources: %d-fold, no source text on both sides (%d of them), seed %d", folds, count(source), seed), source, source, "sources",
			by(split.ByKernel, source)},
		{"programs", fmt.Sprintf("programs: %d-fold, no program on both sides (%d of them), seed %d", folds, count(program), seed), program, program, "programs",
			by(split.ByProgram, program)},
	}
}

func count(keys []string) int {
	k := slices.Clone(keys)
	slices.Sort(k)
	return len(slices.Compact(k))
}

func run(ctx context.Context, o evaluation.Options) ([]evaluation.Result, error) {
	dir, err := o.Data(set)
	if err != nil {
		return nil, err
	}
	o.Progress("reading kernels and analysing them", 0, 0)
	ls, err := read(ctx, o, dir)
	if err != nil {
		return nil, fmt.Errorf("reading data set %s: %w", set, err)
	}
	e, err := examples(ls)
	if err != nil {
		return nil, fmt.Errorf("making features of data set %s: %w", set, err)
	}
	class := make([]bool, len(ls))
	for r, y := range e.Y {
		class[r] = y > 1
	}
	ps, ms := protocols(ls, class, o.Seed), methods(e.Features)
	var out []evaluation.Result
	for i, p := range ps {
		deal, err := p.deal()
		if err != nil {
			return nil, err
		}
		table := *e
		table.Groups = p.groups
		done := make([]outcome, len(ms))
		for k, m := range ms {
			o.Progress("split by "+p.name+": "+m.name, i*len(ms)+k, len(ps)*len(ms))
			if done[k], err = decide(ctx, &table, m, deal, o.Seed); err != nil {
				return nil, fmt.Errorf("split by %s: %s: %w", p.name, m.name, err)
			}
		}
		rs, err := results(done, ls, p, o.Seed)
		if err != nil {
			return nil, err
		}
		out = append(out, rs...)
	}
	return out, nil
}

// outcome is what a method chose.
type outcome struct {
	method string
	gpu    []bool // by row
	detail string // of the first fold's fit
}

// decide asks a method about each fold, fitted on the others.
func decide(ctx context.Context, e *predict.Examples, m method, deal []split.Split, seed uint64) (outcome, error) {
	out := outcome{method: m.name, gpu: make([]bool, e.Len())}
	if m.features != nil {
		var err error
		if e, err = e.With(m.features...); err != nil {
			return out, err
		}
	}
	one := func(k int, s split.Split) error {
		p, err := predict.Conformal{Learner: m.learner, Fraction: -1}.Fit(ctx, e.Rows(s.Train), seed)
		if err != nil {
			return fmt.Errorf("fitting without fold %d of %d: %w", k+1, len(deal), err)
		}
		asked := e.Rows(s.Test)
		asked.Y = nil // nobody shall look
		ps, err := p.Predict(ctx, asked, 0.9)
		if err != nil {
			return fmt.Errorf("asking about fold %d of %d: %w", k+1, len(deal), err)
		}
		for i, r := range s.Test {
			out.gpu[r] = ps[i].Value > 1
		}
		if k == 0 {
			out.detail = p.Describe().Detail
		}
		return nil
	}
	var g sync.WaitGroup
	errs := make([]error, len(deal))
	free := make(chan bool, runtime.GOMAXPROCS(0)) // one fit per processor at a time
	for k, s := range deal {
		free <- true
		g.Go(func() {
			defer func() { <-free }()
			errs[k] = one(k, s)
		})
	}
	g.Wait()
	return out, errors.Join(errs...)
}
