// Package gomlx makes models written for GoMLX steppers that package train
// trains, on the backend that package backend chooses.
//
// In flows a Model, which is two functions that build graphs: from a batch's
// inputs to predictions, and from labels and predictions to a loss for each
// example. Out flows a Network, which learns (train.Stepper) and predicts.
// GoMLX's trainer takes the steps, accumulates gradients and distributes; what
// is added here is AdamW with clipping, master weights and a guard against
// steps that are no numbers, exact copies of the state, and errors that say
// what to do.
package gomlx

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	gtrain "github.com/gomlx/gomlx/ml/train"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train"
)

// Model is what to train.
type Model struct {
	// Forward builds predictions from a batch's inputs, in their order. The
	// model computes in dtype, and creates its variables in it.
	Forward func(scope *model.Scope, dtype dtypes.DType, inputs []*graph.Node) (predictions []*graph.Node)
	// Loss is the loss of each example, of shape [examples]. It is converted to
	// float32 before the mean is taken.
	Loss func(labels, predictions []*graph.Node) *graph.Node
}

// Network is a model with its weights, on a backend.
type Network struct {
	model   Model
	opt     train.Options
	choice  *backend.Choice
	dtype   dtypes.DType
	store   *model.Store
	trainer *gtrain.Trainer
	losses  *model.Exec
	predict *model.Exec
	devices *devices // nil for one
	notices []string
	built   bool
	labels  int             // label arrays of a batch
	taken   int64           // optimiser steps, for the moments' bias
	shapes  map[string]bool // of batches, that steps are compiled for
}

// New makes a network of m, as opt says: Backend, Precision, Devices, Seed,
// Clip, Decay, Accumulate and PerCall matter here. Pass the same options to train.Run.
func New(m Model, opt train.Options) (*Network, error) {
	n := &Network{model: m, opt: opt, dtype: dtypes.Float32, shapes: map[string]bool{}}
	var err error
	switch {
	case opt.Backend == "":
		n.choice, err = backend.Default()
	default:
		n.choice, err = backend.Open(opt.Backend)
	}
	if err != nil {
		return nil, fmt.Errorf("making a network: %w", err)
	}
	if n.choice.Notice != "" {
		n.notices = append(n.notices, n.choice.Notice)
	}
	switch opt.Precision {
	case "", "float32":
	case "bfloat16":
		if n.choice.Engine == "go" {
			return nil, errors.New("making a network: GoMLX's Go backend cannot compute in bfloat16: take XLA (`rooflab xla install`) or Options.Precision \"float32\"")
		}
		n.dtype = dtypes.BFloat16
	default:
		return nil, fmt.Errorf(`making a network: Options.Precision is %q, want "float32" or "bfloat16"`, opt.Precision)
	}
	if opt.Devices > 1 {
		if n.devices, err = spread(n.choice.Backend, opt.Devices); err != nil {
			return nil, fmt.Errorf("making a network: %w", err)
		}
		if opt.Accumulate > 1 {
			return nil, errors.New("making a network: GoMLX accumulates gradients on one device alone: Options.Accumulate and Options.Devices do not go together")
		}
	}
	if opt.PerCall > 1 && (opt.Devices > 1 || opt.Accumulate > 1) {
		return nil, errors.New("making a network: several steps in a call are those of single batches on one device: Options.PerCall goes with neither Options.Accumulate nor Options.Devices")
	}
	n.store = model.NewStore()
	n.store.SetParam(model.ParamInitialSeed, int64(opt.Seed))
	if err := n.store.SetRNGStateFromSeed(int64(opt.Seed)); err != nil {
		return nil, fmt.Errorf("making a network: %w", err)
	}
	return n, n.compileLater()
}

// Store holds the weights, for those who build on them.
func (n *Network) Store() *model.Store { return n.store }

// Backend is where the network runs.
func (n *Network) Backend() compute.Backend { return n.choice.Backend }

// Close frees the weights and programs. Nothing works afterwards.
func (n *Network) Close() {
	n.trainer.ResetComputationGraphs()
	n.losses.Finalize()
	n.predict.Finalize()
	n.store.Finalize()
}

// compileLater makes the executors; they compile when they first see a shape.
func (n *Network) compileLater() (err error) {
	defer caught(&err)
	n.trainer = n.newTrainer()
	if n.opt.Accumulate > 1 {
		if err := n.trainer.AccumulateGradients(n.opt.Accumulate); err != nil {
			return err
		}
	}
	n.losses, err = model.NewExec(n.choice.Backend, n.store, func(scope *model.Scope, in []*graph.Node) *graph.Node {
		scope.Store().SetTraining(in[0].Graph(), false)
		at := len(in) - n.labels
		return n.perExample(in[at:], n.model.Forward(scope, n.dtype, in[:at]))
	})
	if err != nil {
		return err
	}
	n.predict, err = model.NewExec(n.choice.Backend, n.store, func(scope *model.Scope, in []*graph.Node) []*graph.Node {
		scope.Store().SetTraining(in[0].Graph(), false)
		out := n.model.Forward(scope, n.dtype, in)
		for i, o := range out {
			out[i] = graph.ConvertDType(o, dtypes.Float32)
		}
		return out
	})
	if err != nil {
		return err
	}
	n.losses.SetMaxCache(programs)
	n.predict.SetMaxCache(programs)
	return nil
}

// programs is how many shapes of batches are kept compiled.
const programs = 64

func (n *Network) perExample(labels, predictions []*graph.Node) *graph.Node {
	l := graph.ConvertDType(n.model.Loss(labels, predictions), dtypes.Float32)
	if l.Rank() != 1 {
		panic(fmt.Errorf("Model.Loss gives the shape %s, want one loss for each example", l.Shape()))
	}
	return l
}

func orDefault(x, def float64) float64 {
	if x == 0 {
		return def
	}
	return x
}

// Losses implements train.Stepper.
func (n *Network) Losses(b train.Batch) (losses []float64, err error) {
	defer caught(&err)
	in, err := n.arguments(b, true)
	if err != nil {
		return nil, err
	}
	out, err := n.losses.Call1(in...)
	if err != nil {
		return nil, shapesOf(err, b)
	}
	defer func() { _ = out.FinalizeAll() }()
	flat, err := tensors.CopyFlatData[float32](out)
	if err != nil {
		return nil, err
	}
	for _, l := range flat {
		losses = append(losses, float64(l))
	}
	return losses, nil
}

// Predict is what the model says of a batch, whose labels do not matter: its
// predictions as float32, in the order and shapes that Forward gives.
func (n *Network) Predict(b train.Batch) (predictions []train.Array, err error) {
	defer caught(&err)
	in, err := n.arguments(b, false)
	if err != nil {
		return nil, err
	}
	outs, err := n.predict.Call(in...)
	if err != nil {
		return nil, shapesOf(err, b)
	}
	for _, o := range outs {
		flat, err := tensors.CopyFlatData[float32](o)
		if err != nil {
			return nil, err
		}
		predictions = append(predictions, train.Array{Dims: append([]int{}, o.Shape().Dimensions...), Float32: flat})
		_ = o.FinalizeAll()
	}
	return predictions, nil
}

// arguments are a batch's arrays as tensors, for an executor.
func (n *Network) arguments(b train.Batch, labels bool) ([]any, error) {
	if !n.built {
		return nil, errors.New("the network has no weights yet: call Prepare with a batch first")
	}
	ts, err := tensorsOf(b.Inputs)
	if err != nil {
		return nil, err
	}
	if labels {
		ls, err := tensorsOf(b.Labels)
		if err != nil {
			return nil, err
		}
		if len(ls) != n.labels {
			return nil, fmt.Errorf("a batch with %d label arrays, the network was made for %d", len(ls), n.labels)
		}
		ts = append(ts, ls...)
	}
	in := make([]any, len(ts))
	for i, t := range ts {
		in[i] = t
	}
	return in, nil
}

func tensorsOf(arrays []train.Array) ([]*tensors.Tensor, error) {
	var ts []*tensors.Tensor
	for i, a := range arrays {
		switch {
		case len(a.Float32) == a.Len() && a.Int32 == nil:
			ts = append(ts, tensors.FromFlatDataAndDimensions(a.Float32, a.Dims...))
		case len(a.Int32) == a.Len() && a.Float32 == nil:
			ts = append(ts, tensors.FromFlatDataAndDimensions(a.Int32, a.Dims...))
		default:
			return nil, fmt.Errorf("array %d of dimensions %v holds %d float32 and %d int32 values", i, a.Dims, len(a.Float32), len(a.Int32))
		}
	}
	return ts, nil
}

// caught turns panics, by which GoMLX reports errors in graphs, into errors.
func caught(err *error) {
	if r := recover(); r != nil {
		*err = memory(fmt.Errorf("GoMLX: %v", r))
	}
}

// memory marks errors that are a lack of memory.
func memory(err error) error {
	s := err.Error()
	for _, sign := range []string{"RESOURCE_EXHAUSTED", "Resource exhausted", "Out of memory", "out of memory", "CUDA_ERROR_OUT_OF_MEMORY"} {
		if strings.Contains(s, sign) {
			return fmt.Errorf("%w: %s: a smaller Options.Batch with a larger Options.Accumulate takes the same steps in less, "+
				"as do shorter Options.Buckets", train.ErrOutOfMemory, s)
		}
	}
	return err
}

func shapesOf(err error, b train.Batch) error {
	var dims []string
	for _, a := range b.Inputs {
		dims = append(dims, fmt.Sprint(a.Dims))
	}
	return fmt.Errorf("a batch with inputs of dimensions %s: %w", strings.Join(dims, ", "), memory(fmt.Errorf("GoMLX: %w", err)))
}

// About implements train.Stepper.
func (n *Network) About() train.About {
	a := train.About{Backend: n.choice.Why, Notices: n.notices}
	if n.devices != nil {
		a.Backend = fmt.Sprintf("%s on %d devices", a.Backend, n.opt.Devices)
	}
	for v := range n.store.IterVariables() {
		if v.Trainable {
			a.Parameters += int64(v.Shape().Size())
		}
	}
	return a
}
