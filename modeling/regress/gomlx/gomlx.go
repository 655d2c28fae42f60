// Package gomlx trains the networks of package regress on GoMLX, on the
// backend that package backend chooses. It is imported for its effect:
//
//	import _ "github.com/rooflab/rooflab/modeling/regress/gomlx"
package gomlx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/loss"
	"github.com/gomlx/gomlx/ml/train/optimizer"

	"github.com/rooflab/rooflab/modeling/backend"
	_ "github.com/rooflab/rooflab/modeling/backend/engines" // the backends to choose from
	"github.com/rooflab/rooflab/modeling/regress"
)

func init() { regress.RegisterEngine(engine{}) }

type engine struct{}

func choose(config string) (*backend.Choice, error) {
	if config == "" {
		return backend.Default()
	}
	return backend.Open(config)
}

func (engine) Backend(config string) (why, notice string, err error) {
	c, err := choose(config)
	if err != nil {
		return "", "", err
	}
	return c.Why, c.Notice, nil
}

// Train implements regress.Engine.
func (engine) Train(ctx context.Context, p *regress.Problem) (err error) {
	// GoMLX reports errors in graphs by panicking.
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("GoMLX: %v", r)
		}
	}()
	choice, err := choose(p.Backend)
	if err != nil {
		return err
	}
	store := model.NewStore()
	defer store.Finalize()
	var vars []*model.Variable // weights and biases in turn
	for i, l := range p.Net.Layers {
		for _, v := range []struct {
			name  string
			value *tensors.Tensor
		}{
			{"weights", tensors.FromFlatDataAndDimensions(append([]float32(nil), l.W...), l.In, l.Out)},
			{"biases", tensors.FromFlatDataAndDimensions(append([]float32(nil), l.B...), l.Out)},
		} {
			created, err := store.CreateVariable(fmt.Sprintf("/layer_%d/%s", i, v.name), v.value)
			if err != nil {
				return fmt.Errorf("GoMLX: %w", err)
			}
			vars = append(vars, created)
		}
	}
	// The rate falls to zero as a half cosine; it is an input of the step, so
	// that one compiled program serves all epochs.
	steps := p.Epochs * (p.Rows / p.Batch)
	network := func(scope *model.Scope, _ any, in []*graph.Node) []*graph.Node {
		x := in[0]
		g := x.Graph()
		optimizer.LearningRateVarWithValue(scope, x.DType(), p.Rate).SetNodeValue(graph.Reshape(in[1]))
		for i := range p.Net.Layers {
			x = graph.MatMul(x, vars[2*i].NodeValue(g))
			b := vars[2*i+1].NodeValue(g)
			x = graph.Add(x, graph.ExpandLeftToRank(b, 2))
			if i < len(p.Net.Layers)-1 {
				x = graph.Max(x, graph.ZerosLike(x))
			}
		}
		return []*graph.Node{x}
	}
	adam := optimizer.Adam().LearningRate(p.Rate)
	if p.Decay > 0 {
		adam = adam.WeightDecay(p.Decay)
	}
	trainer := train.NewTrainer(choice.Backend, store, network, loss.MeanSquaredError, adam.Done(), nil, nil)
	order := make([]int, p.Rows)
	for i := range order {
		order[i] = i
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0x6f72646572))
	step := 0
	for epoch := 1; epoch <= p.Epochs; epoch++ {
		rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		sum, n := 0.0, 0
		for at := 0; at+p.Batch <= p.Rows; at += p.Batch { // full batches only: one shape, one program
			if err := ctx.Err(); err != nil {
				if rerr := read(vars, p.Net); rerr != nil {
					return rerr
				}
				return err
			}
			rate := p.Rate * (1 + math.Cos(math.Pi*float64(step)/float64(steps))) / 2
			l, err := trainStep(trainer, p, order[at:at+p.Batch], float32(rate))
			if err != nil {
				return err
			}
			sum += l
			n++
			step++
		}
		if p.Sync(epoch) {
			if err := read(vars, p.Net); err != nil {
				return err
			}
		}
		if err := p.Epoch(epoch, sum/float64(n)); err != nil {
			return err
		}
	}
	return read(vars, p.Net)
}

func trainStep(trainer *train.Trainer, p *regress.Problem, rows []int, rate float32) (float64, error) {
	x, y := make([]float32, 0, len(rows)*p.Cols), make([]float32, 0, len(rows))
	for _, r := range rows {
		x = append(x, p.X[r*p.Cols:(r+1)*p.Cols]...)
		y = append(y, p.Y[r])
	}
	metrics, err := trainer.TrainStep(train.Batch{
		Inputs: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(x, len(rows), p.Cols), tensors.FromValue([]float32{rate})},
		Labels: []*tensors.Tensor{tensors.FromFlatDataAndDimensions(y, len(rows), 1)},
	})
	if err != nil {
		return 0, fmt.Errorf("GoMLX: %w", err)
	}
	defer func() {
		for _, m := range metrics {
			_ = m.FinalizeAll()
		}
	}()
	l, ok := metrics[0].Value().(float32)
	if !ok {
		return 0, fmt.Errorf("GoMLX: the loss is a %s, want a float32", metrics[0].Shape())
	}
	return float64(l), nil
}

// read copies the variables into the network.
func read(vars []*model.Variable, net *regress.Network) error {
	for i, v := range vars {
		t, err := v.Value()
		if err != nil {
			return fmt.Errorf("reading %s: %w", v.Path(), err)
		}
		flat, err := tensors.CopyFlatData[float32](t)
		if err != nil {
			return fmt.Errorf("reading %s: %w", v.Path(), err)
		}
		l := &net.Layers[i/2]
		if i%2 == 0 {
			copy(l.W, flat)
		} else {
			copy(l.B, flat)
		}
	}
	return nil
}
