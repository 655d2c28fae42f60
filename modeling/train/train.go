// Package train is the training loop of models, and what training looks like
// from outside.
//
// In flow examples, which are dealt into batches of a few fixed lengths in an
// order that a seed decides, and a Stepper, which is a model that can learn
// from a batch. Out flow a Result (the loss curve, the best step, a record of
// everything needed to get the same numbers again), checkpoints, and progress:
// a live picture in a notebook or plain lines in a terminal.
//
//	Examples -> Plan -> Batch -> Stepper.Step -> Progress, checkpoints -> Result
//
// A run that was killed goes on from its last checkpoint with the same curve
// as if nothing had happened; one that is cancelled stops after a step and
// leaves the weights usable. Nothing that goes wrong in a run touches a
// checkpoint that is already there.
//
// The package is thin. Models on GoMLX are made steppers by train/gomlx.
package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// Options say how to train. The zero value of each field is a sensible choice,
// but for Epochs and Steps, of which one is needed.
type Options struct {
	Epochs     int // passes over the examples
	Steps      int // optimiser steps; with Epochs, whichever comes first
	Batch      int // examples in a batch, default 32; no more than there are
	Accumulate int // batches whose gradients are averaged for one step, default 1
	// PerCall is how many optimiser steps one call of the backend takes, default
	// 1. Several save what each call costs, which is much of a small model's step
	// (as Keras's steps_per_execution does). Steps go together where their batches
	// have one length and nothing happens between them: no end of an epoch,
	// validation or checkpoint. An interrupt is heard after a call. The program is
	// compiled for so many steps at once, and needs memory for all. Losses are
	// those of single steps, up to rounding.
	PerCall int
	// Buckets are the lengths that sequences are padded to. None pads all to
	// the longest: simple, and slow where lengths differ much.
	Buckets []int

	Rate     float64  // peak learning rate, default 0.001
	Schedule Schedule // default Cosine
	Warmup   int      // steps of linear warm-up; 0 is 3 % of all, negative none
	Floor    float64  // of the schedule, as a fraction of Rate
	Clip     float64  // global norm of the gradient, default 1; negative never clips
	Decay    float64  // decoupled weight decay of matrices (not of vectors), default 0.01; negative none

	// Validate is how many steps lie between looks at the validation examples,
	// default one epoch. With Patience, that many looks in a row without a new
	// best end the run. The weights of the best look are what remains.
	Validate int
	Patience int

	// Dir is where checkpoints go: the last two (Every steps, by default with
	// each validation) and the best. None writes none. A Dir that holds
	// checkpoints is an error unless Resume, which goes on from the last one.
	Dir    string
	Every  int
	Resume bool

	Seed      uint64 // of weights, dropout and order
	Backend   string // in GoMLX's notation; empty takes the best that is there
	Precision string // "float32", the default, or "bfloat16" with float32 master weights
	Devices   int    // data parallel over that many devices, default 1

	// Progress hears about every step. Nil shows it (see Live); Quiet shows
	// nothing. Title is what the picture is called.
	Progress func(Progress)
	Quiet    bool
	Title    string
}

// A Stepper is a model in training.
type Stepper interface {
	// Prepare builds the model for batches like b, the largest there will be,
	// with its first weights, and says whether that can fit into memory.
	Prepare(b Batch) error
	// Step takes one optimiser step with the mean gradient of batches. A loss
	// or gradient that is not finite comes back as such, and changes nothing.
	Step(batches []Batch, rate float64) (StepResult, error)
	// Losses are the losses of the single examples of b, with dropout off.
	Losses(b Batch) ([]float64, error)
	// State copies all that training changes, SetState puts it back. SetState
	// changes nothing when the state is another model's.
	State() (State, error)
	SetState(s State) error
	About() About
}

// A Strider takes several optimiser steps in one call: see Options.PerCall.
type Strider interface {
	Stepper
	// Steps takes a step with each batch at its rate, in this order. All batches
	// have the shapes of the first. A step whose loss or gradient is not finite
	// is the last of the results; it and those after it change nothing.
	Steps(batches []Batch, rates []float64) ([]StepResult, error)
}

// StepResult is what a step came to.
type StepResult struct {
	Loss     float64 // mean over the examples, before the step
	GradNorm float64 // global norm of the gradient before clipping
}

// About describes a Stepper.
type About struct {
	Backend    string   // where it runs
	Notices    []string // what the user should know about that, once
	Parameters int64    // numbers that are learnt
}

// ErrOutOfMemory is wrapped by errors of steppers that ran out of memory.
var ErrOutOfMemory = errors.New("out of memory")

// Validation is a look at examples that are not learnt from.
type Validation struct {
	Step int     `json:"step"` // after so many steps
	Loss float64 `json:"loss"` // mean over all validation examples
}

// Result is what came out of a run.
type Result struct {
	Steps       int       // done, those before a resume included
	Losses      []float64 // of each step
	GradNorms   []float64 // of each step, before clipping
	Rates       []float64 // of each step
	Validations []Validation
	Best        Validation // Step is 0 without validation
	// Weights is the step whose weights the model has now: the best, the last,
	// or that of the last checkpoint after a failure.
	Weights int
	Stopped string // why it ended: "done", "patience", "interrupted", "failed"
	Record  Record
}

func (o Options) withDefaults(n int) (Options, []string) {
	var notices []string
	def := func(f *float64, v float64) {
		if *f == 0 {
			*f = v
		}
	}
	def(&o.Rate, 0.001)
	def(&o.Clip, 1)
	def(&o.Decay, 0.01)
	if o.Batch == 0 {
		o.Batch = 32
	}
	if o.Batch > n && n > 0 {
		notices = append(notices, fmt.Sprintf("batches have %d examples instead of %d: there are no more", n, o.Batch))
		o.Batch = n
	}
	o.Accumulate, o.Devices, o.PerCall = max(o.Accumulate, 1), max(o.Devices, 1), max(o.PerCall, 1)
	if o.Schedule == "" {
		o.Schedule = Cosine
	}
	if o.Precision == "" {
		o.Precision = "float32"
	}
	if o.Title == "" {
		o.Title = "training"
	}
	return o, notices
}

func (o Options) check(n int) error {
	switch {
	case n == 0:
		return errors.New("there are no examples")
	case o.Epochs <= 0 && o.Steps <= 0:
		return errors.New("neither Options.Epochs nor Options.Steps says how long")
	case o.Batch < 0:
		return fmt.Errorf("Options.Batch is %d", o.Batch)
	case !(o.Rate > 0) || math.IsInf(o.Rate, 0):
		return fmt.Errorf("Options.Rate is %g, want a positive learning rate", o.Rate)
	case !(o.Floor >= 0 && o.Floor <= 1):
		return fmt.Errorf("Options.Floor is %g, want a fraction of Rate", o.Floor)
	case o.Precision != "float32" && o.Precision != "bfloat16":
		return fmt.Errorf(`Options.Precision is %q, want "float32" or "bfloat16"`, o.Precision)
	case o.Batch%o.Devices != 0:
		return fmt.Errorf("a batch of %d examples cannot be shared evenly by %d devices", o.Batch, o.Devices)
	case o.PerCall > 1 && o.Accumulate > 1:
		return fmt.Errorf("Options.PerCall is %d and Options.Accumulate %d: the steps of a call are those of single batches", o.PerCall, o.Accumulate)
	case o.Resume && o.Dir == "":
		return errors.New("Options.Resume needs Options.Dir, where the checkpoints are")
	}
	for _, b := range o.Buckets {
		if b <= 0 {
			return fmt.Errorf("Options.Buckets holds the length %d", b)
		}
	}
	return o.Schedule.check()
}

// Run trains s on examples until the options say stop, or ctx does. validation
// can be nil.
//
// When ctx ends, Run stops after the step, writes a checkpoint and returns the
// result so far together with an error that wraps ctx.Err(): the model has the
// last step's weights. Other errors come with the result so far, too, as soon
// as there is one; Result.Weights says what the model holds then.
func Run(ctx context.Context, s Stepper, examples, validation Examples, opt Options) (*Result, error) {
	r, err := start(s, examples, validation, opt)
	if err != nil {
		return nil, fmt.Errorf("training: %w", err)
	}
	err = r.run(ctx)
	r.result.Record.Took += time.Since(r.began)
	r.report(true)
	if err != nil {
		return r.result, fmt.Errorf("training: %w", err)
	}
	return r.result, nil
}

// run is a training run in progress.
type run struct {
	Stepper
	opt                  Options
	examples, validation Examples
	dir                  *directory
	show                 func(Progress)
	began                time.Time

	result          *Result
	parts           []Part // of the epoch that partsOf says
	partsOf         int
	perEpoch, total int // steps
	warmup          int
	best            State // in memory, without a directory
	bestAt          int   // step that best holds
	saved           int   // step of the last checkpoint, -1 for none
	from            int   // step at which this process began
	note            string
}

func start(s Stepper, examples, validation Examples, opt Options) (*run, error) {
	opt, notices := opt.withDefaults(examples.Len())
	if err := opt.check(examples.Len()); err != nil {
		return nil, err
	}
	if _, ok := s.(Strider); !ok && opt.PerCall > 1 {
		return nil, fmt.Errorf("Options.PerCall is %d, and a %T takes one step in a call", opt.PerCall, s)
	}
	if validation != nil && validation.Len() == 0 {
		return nil, errors.New("there are no validation examples: pass nil to do without")
	}
	if opt.Patience > 0 && validation == nil {
		return nil, errors.New("Options.Patience needs validation examples")
	}
	r := &run{Stepper: s, opt: opt, examples: examples, validation: validation, began: time.Now(), partsOf: -1, saved: -1}
	r.show = opt.Progress
	if r.show == nil && !opt.Quiet {
		r.show = Live(opt.Title)
	}
	r.plan(0)
	r.perEpoch = len(r.parts) / opt.Accumulate
	if r.perEpoch == 0 {
		return nil, fmt.Errorf("an epoch of %d batches is no step of Options.Accumulate = %d", len(r.parts), opt.Accumulate)
	}
	r.total = opt.Epochs * r.perEpoch
	if opt.Steps > 0 && (r.total == 0 || opt.Steps < r.total) {
		r.total = opt.Steps
	}
	if r.opt.Validate <= 0 {
		r.opt.Validate = r.perEpoch
	}
	if r.opt.Every <= 0 {
		r.opt.Every = r.opt.Validate
	}
	if r.warmup = opt.Warmup; r.warmup == 0 {
		r.warmup = r.total * 3 / 100
	}
	r.warmup = max(r.warmup, 0)
	if err := r.prepare(); err != nil {
		return nil, err
	}
	about := s.About()
	r.note = about.Backend
	r.result = &Result{Record: newRecord(about, r.opt, examples, validation)}
	r.result.Record.Notices = append(r.result.Record.Notices, notices...)
	if cut := r.cut(); cut > 0 {
		r.result.Record.Notices = append(r.result.Record.Notices, fmt.Sprintf("%d of %d examples are longer than the longest bucket (%d) and are cut",
			cut, examples.Len(), slices.Max(opt.Buckets)))
	}
	if opt.Dir != "" {
		if err := r.open(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// prepare builds the model with the largest batch that will come.
func (r *run) prepare() error {
	largest := r.parts[0]
	for _, p := range r.parts {
		if p.Length > largest.Length {
			largest = p
		}
	}
	b, err := assemble(r.examples, largest)
	if err != nil {
		return err
	}
	if err := r.Prepare(b); err != nil {
		return fmt.Errorf("building the model for batches of %d examples of length %d: %w", len(largest.IDs), largest.Length, err)
	}
	return nil
}

func (r *run) cut() int {
	n := 0
	if len(r.opt.Buckets) > 0 {
		longest := slices.Max(r.opt.Buckets)
		for i := range r.examples.Len() {
			if r.examples.Length(i) > longest {
				n++
			}
		}
	}
	return n
}

func (r *run) plan(epoch int) {
	if r.partsOf != epoch {
		r.parts, r.partsOf = Plan(r.examples, r.opt.Buckets, r.opt.Batch, r.opt.Seed, epoch), epoch
	}
}

// open makes the directory of checkpoints, and goes on from the last of them.
func (r *run) open() error {
	if err := os.MkdirAll(r.opt.Dir, 0o755); err != nil {
		return fmt.Errorf("making the directory of checkpoints: %w", err)
	}
	r.dir = &directory{r.opt.Dir}
	steps, err := r.dir.steps()
	if err != nil {
		return err
	}
	switch {
	case len(steps) == 0 && r.opt.Resume:
		return nil // killed before its first checkpoint: the beginning is where it was
	case len(steps) == 0:
		return nil
	case !r.opt.Resume:
		return fmt.Errorf("%s holds checkpoints of an earlier run (up to step %d): set Options.Resume to go on from there, or take another directory",
			r.opt.Dir, steps[len(steps)-1])
	}
	return r.resume(steps)
}
