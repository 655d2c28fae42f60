// Package gomlx builds the networks of package llmperf on GoMLX, on the backend
// that package backend chooses. It is imported for its effect:
//
//	import _ "github.com/rooflab/rooflab/modeling/llmperf/gomlx"
package gomlx

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

func init() { llmperf.RegisterEngine(New) }

// network is a gomlx.Network that can say what its predictions rest on.
type network struct {
	*gomlx.Network
	attribute *model.Exec
}

// New makes a network, as llmperf.Engine.
func New(c llmperf.Config, opt train.Options) (llmperf.Network, error) {
	if c.Base != nil {
		return newTuner(c, opt)
	}
	n, err := gomlx.New(gomlx.Model{
		Forward: func(scope *model.Scope, dtype dtypes.DType, in []*graph.Node) []*graph.Node {
			content := content(scope, c, dtype, in)
			return encode(scope, c, content, in)
		},
		Loss: func(labels, predictions []*graph.Node) *graph.Node { return loss(c, labels, predictions) },
	}, opt)
	if err != nil {
		return nil, err
	}
	dtype := dtypes.Float32
	if opt.Precision == "bfloat16" {
		dtype = dtypes.BFloat16
	}
	attribute, err := model.NewExec(n.Backend(), n.Store(), func(scope *model.Scope, in []*graph.Node) *graph.Node {
		scope.Store().SetTraining(in[0].Graph(), false)
		content := content(scope, c, dtype, in)
		location := encode(scope, c, content, in)[0]
		gradient := graph.Gradient(graph.ReduceAllSum(location), content)[0]
		each := graph.ReduceSum(graph.ConvertDType(graph.Mul(gradient, content), dtypes.Float32), -1)
		return graph.Where(present(in), each, graph.ZerosLike(each))
	})
	if err != nil {
		n.Close()
		return nil, fmt.Errorf("GoMLX: %w", err)
	}
	attribute.SetMaxCache(64)
	return &network{n, attribute}, nil
}

// content is what the tokens say, without their places: [n, l, width].
func content(scope *model.Scope, c llmperf.Config, dtype dtypes.DType, in []*graph.Node) *graph.Node {
	ids, log2, kinds := in[0], in[1], in[2]
	g := ids.Graph()
	tokens := layers.Embedding(scope.In("tokens").WithInitializer(initializer.RandomNormalFn(scope, 0.02)), ids, dtype, c.Vocab, c.Width)

	one := func(kind int32) *graph.Node {
		return graph.ConvertDType(graph.Equal(kinds, graph.BroadcastToShape(graph.Scalar(g, dtypes.Int32, kind), kinds.Shape())), dtypes.Float32)
	}
	number, zero := one(1), one(2)
	scaled := graph.Mul(graph.MulScalar(log2, 1.0/16), number)
	facts := graph.ConvertDType(graph.Stack([]*graph.Node{graph.Add(number, zero), zero, scaled}, -1), dtype) // llmperf.Numbers
	x := gomlx.Gelu(gomlx.Dense(scope.In("number_hidden"), facts, llmperf.Channel))
	x = gomlx.Dense(scope.In("number"), x, c.Width)
	has := graph.ConvertDType(graph.ExpandAxes(graph.Add(number, zero), -1), dtype)
	x = graph.Add(tokens, graph.Mul(x, has))
	if c.Counts {
		x = counted(scope, c, x, in)
	}
	return x
}

// present is which positions are no padding: boolean [n, l].
func present(in []*graph.Node) *graph.Node {
	ids, lengths := in[0], in[3]
	at := graph.Iota(ids.Graph(), shapes.Make(dtypes.Int32, ids.Shape().Dimensions...), 1)
	return graph.LessThan(at, graph.BroadcastToShape(graph.ExpandAxes(lengths, -1), at.Shape()))
}

// encode is location and scale, [n] each in float32, from what the tokens say.
func encode(scope *model.Scope, c llmperf.Config, content *graph.Node, in []*graph.Node) []*graph.Node {
	g, dtype := content.Graph(), content.DType()
	keep := present(in)
	length := content.Shape().Dimensions[1]
	places := scope.In("places").WithInitializer(initializer.RandomNormalFn(scope, 0.02)).
		VariableWithShape("embeddings", shapes.Make(dtype, c.Context, c.Width)).NodeValue(g)
	x := graph.Add(content, graph.ExpandLeftToRank(graph.Slice(places, graph.AxisRange(0, length)), 3))
	if c.Counts && c.Side > 0 { // what an operation takes depends on what the whole launch touches
		side := gomlx.Dense(scope.In("side_tokens"), graph.ConvertDType(in[4], dtype), c.Width)
		x = graph.Add(x, graph.BroadcastToShape(graph.ExpandAxes(side, 1), x.Shape()))
	}
	x = layers.DropoutStatic(scope, x, c.Dropout)
	for i := range c.Layers {
		s := scope.In("layer_%d", i)
		y := norm.LayerNorm(s.In("norm1"), x, -1).Done()
		y = gomlx.SelfAttention(s.In("attention"), y, keep, c.Heads)
		x = graph.Add(x, layers.DropoutStatic(s, y, c.Dropout))
		y = norm.LayerNorm(s.In("norm2"), x, -1).Done()
		y = gomlx.Gelu(gomlx.Dense(s.In("wide"), y, c.Inner))
		y = gomlx.Dense(s.In("narrow"), y, c.Width)
		x = graph.Add(x, layers.DropoutStatic(s, y, c.Dropout))
	}
	x = graph.ConvertDType(norm.LayerNorm(scope.In("norm"), x, -1).Done(), dtypes.Float32)

	there := graph.BroadcastToShape(graph.ExpandAxes(keep, -1), x.Shape())
	sum := graph.ReduceSum(graph.Where(there, x, graph.ZerosLike(x)), 1)
	count := graph.ExpandAxes(graph.ConvertDType(in[3], dtypes.Float32), -1)
	mean := graph.Div(sum, graph.BroadcastToShape(count, sum.Shape()))
	low := graph.BroadcastToShape(graph.Scalar(g, dtypes.Float32, -1e9), x.Shape())
	pooled := []*graph.Node{mean, graph.ReduceMax(graph.Where(there, x, low), 1)}
	if !c.Sums() {
		return head(scope, c, dtype, pooled, in)
	}
	took := spent(scope, c, x, in)
	out := head(scope, c, dtype, append(pooled, graph.ExpandAxes(took, -1)), in)
	out[0] = graph.Add(out[0], took)
	return out
}

// head is location and scale, [n] each in float32, from float32 vectors that say
// what the sequences are, [n, width] each, and from the inputs beside them.
func head(scope *model.Scope, c llmperf.Config, dtype dtypes.DType, pooled, in []*graph.Node) []*graph.Node {
	if c.Side > 0 {
		side := gomlx.Dense(scope.In("side"), graph.ConvertDType(in[4], dtype), c.SideWidth())
		pooled = append(pooled, graph.ConvertDType(gomlx.Gelu(side), dtypes.Float32))
	}
	h := graph.ConvertDType(graph.Concatenate(pooled, -1), dtype)
	h = gomlx.Gelu(gomlx.Dense(scope.In("head_hidden"), h, c.Width))
	last := scope.In("head")
	if c.Counts && !c.Sums() { // what corrects another model's times begins by correcting nothing
		last = last.WithInitializer(initializer.Zero)
	}
	out := graph.ConvertDType(gomlx.Dense(last, h, 2), dtypes.Float32)
	part := func(i int) *graph.Node {
		return graph.Squeeze(graph.Slice(out, graph.AxisRange(), graph.AxisElem(i)), -1)
	}
	return []*graph.Node{part(0), graph.AddScalar(graph.Softplus(part(1)), c.Floor)}
}

// loss is the negative logarithm of the likelihood of the target, weighted: of
// Laplace's distribution |y-m|/s + log 2s, of the normal one
// ((y-m)/s)^2/2 + log s + log(2 pi)/2. With Config.Relative only the scale is
// learnt by it, and the location by the relative error.
func loss(c llmperf.Config, labels, predictions []*graph.Node) *graph.Node {
	y, weight, location, scale := labels[0], labels[1], predictions[0], predictions[1]
	var off *graph.Node
	if c.Relative > 0 {
		off = relative(graph.Sub(location, y), c.Relative)
		location = graph.StopGradient(location)
	}
	away := graph.Div(graph.Sub(y, location), scale)
	var nll *graph.Node
	if c.Gaussian {
		nll = graph.AddScalar(graph.Add(graph.MulScalar(graph.Square(away), 0.5), graph.Log(scale)), 0.5*math.Log(2*math.Pi))
	} else {
		nll = graph.AddScalar(graph.Add(graph.Abs(away), graph.Log(scale)), math.Ln2)
	}
	if off != nil {
		nll = graph.Add(nll, off)
	}
	return graph.Mul(nll, weight)
}

// relative is |exp(sd d) - 1| / sd, the relative error of a prediction whose
// logarithm is off by d standard deviations, in units in which it is |d| for small
// d. Where the prediction is off by more than a factor e it goes on straight, with
// the slope that it has there: above, one example must not outweigh all others,
// and below, where the error is 1 however low the prediction, none must be given up.
func relative(d *graph.Node, sd float64) *graph.Node {
	far := graph.MulScalar(d, sd)
	near := graph.ClipScalar(far, -1, 1)
	slope := graph.Exp(near)
	beyond := graph.Mul(graph.Abs(graph.Sub(far, near)), graph.StopGradient(slope))
	return graph.MulScalar(graph.Add(graph.Abs(graph.AddScalar(slope, -1)), beyond), 1/sd)
}

// Attribute implements llmperf.Network.
func (n *network) Attribute(b train.Batch) (train.Array, error) {
	out, err := call(n.attribute, b)
	if err != nil {
		return train.Array{}, err
	}
	return out[0], nil
}

// Close implements llmperf.Network.
func (n *network) Close() {
	n.attribute.Finalize()
	n.Network.Close()
}
