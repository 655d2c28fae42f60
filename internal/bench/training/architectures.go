package training

import (
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// Architecture is a model to train, on one batch over and over. peer.py has
// the same for PyTorch, by Name.
type Architecture struct {
	Name  string
	About string
	Steps int // in a round
	// PerCall is rooflab's train.Options.PerCall, where it is not 1: PyTorch's
	// eager mode knows no such thing.
	PerCall int
	Model   gomlx.Model
	Batch   func(rng *rand.Rand) train.Batch
}

// Sizes of the architectures; those that PyTorch cannot read off the weights
// stand in peer.py again.
const (
	mlpBatch, mlpInput, mlpWidth = 256, 64, 256

	encoderBatch, encoderLength, vocabulary = 32, 256, 8192
	encoderWidth, encoderHeads              = 128, 4
	encoderWide, encoderDepth               = 512, 4

	lstmBatch, lstmLength, lstmInput = 32, 128, 64
	lstmWidth, lstmDepth             = 256, 2

	layerNormEpsilon = 1e-5 // PyTorch's default
)

// Architectures lists them in the order in which they run.
func Architectures() []Architecture {
	return []Architecture{
		{
			Name: "mlp", About: "MLP 64-256-256-1 with ReLU, batch 256", Steps: 200, PerCall: 4,
			Model: gomlx.Model{Forward: mlp, Loss: squared},
			Batch: func(rng *rand.Rand) train.Batch { return batch(mlpBatch, normal(rng, mlpBatch, mlpInput), rng) },
		},
		{
			Name: "encoder", About: "transformer encoder of 4 layers, width 128, 4 heads, feed-forward 512 with GELU, normalised first, 256 tokens of 8192, mean of the positions, batch 32", Steps: 2,
			Model: gomlx.Model{Forward: encoder, Loss: squared},
			Batch: func(rng *rand.Rand) train.Batch {
				tokens := train.Array{Dims: []int{encoderBatch, encoderLength}}
				for range tokens.Len() {
					tokens.Int32 = append(tokens.Int32, rng.Int32N(vocabulary))
				}
				return batch(encoderBatch, tokens, rng)
			},
		},
		{
			Name: "lstm", About: "LSTM of 2 layers, width 256, 128 steps of 64 numbers, last state, batch 32", Steps: 4,
			Model: gomlx.Model{Forward: lstm, Loss: squared},
			Batch: func(rng *rand.Rand) train.Batch {
				return batch(lstmBatch, normal(rng, lstmBatch, lstmLength, lstmInput), rng)
			},
		},
	}
}

func normal(rng *rand.Rand, dims ...int) train.Array {
	a := train.Array{Dims: dims}
	for range a.Len() {
		a.Float32 = append(a.Float32, float32(rng.NormFloat64()))
	}
	return a
}

// batch adds labels to inputs.
func batch(n int, input train.Array, rng *rand.Rand) train.Batch {
	b := train.Batch{Inputs: []train.Array{input}, Labels: []train.Array{normal(rng, n)}}
	for i := range n {
		b.IDs = append(b.IDs, i)
	}
	return b
}

func squared(labels, predictions []*graph.Node) *graph.Node {
	return graph.Square(graph.Sub(predictions[0], labels[0]))
}

// head makes one number of each example's features.
func head(scope *model.Scope, x *graph.Node) []*graph.Node {
	return []*graph.Node{graph.Squeeze(gomlx.Dense(scope.In("head"), x, 1), -1)}
}

func mlp(scope *model.Scope, _ dtypes.DType, in []*graph.Node) []*graph.Node {
	x := activation.Relu(gomlx.Dense(scope.In("dense_0"), in[0], mlpWidth))
	x = activation.Relu(gomlx.Dense(scope.In("dense_1"), x, mlpWidth))
	return head(scope, x)
}

func encoder(scope *model.Scope, dtype dtypes.DType, in []*graph.Node) []*graph.Node {
	g := in[0].Graph()
	normed := func(s *model.Scope, x *graph.Node) *graph.Node {
		return norm.LayerNorm(s, x, -1).Epsilon(layerNormEpsilon).Done()
	}
	x := layers.Embedding(scope.In("tokens"), in[0], dtype, vocabulary, encoderWidth)
	places := scope.In("places").VariableWithShape("embeddings", shapes.Make(dtype, encoderLength, encoderWidth)).NodeValue(g)
	x = graph.Add(x, graph.BroadcastToShape(graph.ExpandAxes(places, 0), x.Shape()))
	for i := range encoderDepth {
		s := scope.In("layer_%d", i)
		x = graph.Add(x, gomlx.SelfAttention(s.In("attention"), normed(s.In("norm1"), x), nil, encoderHeads))
		y := gomlx.Dense(s.In("wide"), normed(s.In("norm2"), x), encoderWide)
		x = graph.Add(x, gomlx.Dense(s.In("narrow"), gomlx.Gelu(y), encoderWidth))
	}
	return head(scope, graph.ReduceMean(normed(scope.In("norm"), x), 1))
}

func lstm(scope *model.Scope, _ dtypes.DType, in []*graph.Node) []*graph.Node {
	x := in[0]
	for i := range lstmDepth {
		x = gomlx.LSTM(scope.In("lstm_%d", i), x, lstmWidth)
	}
	return head(scope, graph.Squeeze(graph.Slice(x, graph.AxisRange(), graph.AxisElem(lstmLength-1)), 1))
}
