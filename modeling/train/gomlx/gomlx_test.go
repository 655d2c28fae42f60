package gomlx_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

const vocabulary = 12

// sentences are sequences of tokens, and how many of them are a 3 minus how
// many are a 5, over ten.
type sentences struct {
	tokens [][]int32
	poison int // an example whose label is no number, or -1
}

func makeSentences(n int, seed uint64) *sentences {
	rng := rand.New(rand.NewPCG(seed, 1))
	s := &sentences{poison: -1}
	for range n {
		x := make([]int32, 3+rng.IntN(14))
		for i := range x {
			x[i] = 1 + rng.Int32N(vocabulary-1)
		}
		s.tokens = append(s.tokens, x)
	}
	return s
}

func (s *sentences) Len() int         { return len(s.tokens) }
func (s *sentences) Length(i int) int { return len(s.tokens[i]) }
func (s *sentences) Hash() string     { return fmt.Sprint(len(s.tokens), s.tokens[0]) }
func (s *sentences) Batch(ids []int, length int) (train.Batch, error) {
	tokens := train.Array{Dims: []int{len(ids), length}, Int32: make([]int32, len(ids)*length)}
	label := train.Array{Dims: []int{len(ids)}, Float32: make([]float32, len(ids))}
	for i, id := range ids {
		copy(tokens.Int32[i*length:(i+1)*length], s.tokens[id])
		for _, t := range s.tokens[id] {
			switch t {
			case 3:
				label.Float32[i] += 0.1
			case 5:
				label.Float32[i] -= 0.1
			}
		}
		if id == s.poison {
			label.Float32[i] = float32(math.NaN())
		}
	}
	return train.Batch{Inputs: []train.Array{tokens}, Labels: []train.Array{label}}, nil
}

// encoder is a small transformer encoder with every layer that ours use;
// token 0 is padding.
func encoder(width, heads, depth, vocab int, dropout float64) gomlx.Model {
	return gomlx.Model{
		Forward: func(scope *model.Scope, dtype dtypes.DType, in []*graph.Node) []*graph.Node {
			g := in[0].Graph()
			mask := graph.GreaterThan(in[0], graph.ZerosLike(in[0]))
			x := layers.Embedding(scope.In("tokens"), in[0], dtype, vocab, width)
			place := scope.In("places").VariableWithShape("embeddings", shapes.Make(dtype, 512, width)).NodeValue(g)
			length := in[0].Shape().Dimensions[1]
			x = graph.Add(x, graph.ExpandLeftToRank(graph.Slice(place, graph.AxisRange(0, length)), 3))
			for i := range depth {
				s := scope.In("layer_%d", i)
				y := norm.LayerNorm(s.In("norm1"), x, -1).Done()
				y = gomlx.SelfAttention(s.In("attention"), y, mask, heads)
				if dropout > 0 {
					y = layers.DropoutStatic(s, y, dropout)
				}
				x = graph.Add(x, y)
				y = norm.LayerNorm(s.In("norm2"), x, -1).Done()
				y = layers.Dense(s.In("wide"), y, true, 4*width)
				y = activation.GeluApproximate(y)
				y = layers.Dense(s.In("narrow"), y, true, width)
				x = graph.Add(x, y)
			}
			x = norm.LayerNorm(scope.In("norm"), x, -1).Done()
			weight := graph.ConvertDType(graph.ExpandAxes(mask, -1), dtype)
			pooled := graph.Div(graph.ReduceSum(graph.Mul(x, weight), 1), graph.ReduceSum(weight, 1))
			return []*graph.Node{graph.Squeeze(layers.Dense(scope.In("head"), pooled, true, 1), -1)}
		},
		Loss: squared,
	}
}

func squared(labels, predictions []*graph.Node) *graph.Node {
	return graph.Square(graph.Sub(graph.ConvertDType(predictions[0], dtypes.Float32), labels[0]))
}

var small = encoder(16, 2, 2, vocabulary, 0.1)

var options = train.Options{
	Epochs: 3, Batch: 8, Buckets: []int{8, 16}, Rate: 0.01, Seed: 5, Quiet: true, Backend: "go",
}

func backends(t *testing.T) []string {
	t.Helper()
	if len(backend.Plugins()) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	return []string{"go", "xla"}
}

func network(t *testing.T, m gomlx.Model, opt train.Options) *gomlx.Network {
	t.Helper()
	n, err := gomlx.New(m, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(n.Close)
	return n
}

// Held-out sentences have a mean square label of about 0.02; the error falls
// well below it, with attention, dropout, buckets, clipping and validation.
func TestAnEncoderLearnsToCount(t *testing.T) {
	opt := options
	opt.Epochs = 12
	held := makeSentences(48, 2)
	n := network(t, small, opt)
	res, err := train.Run(context.Background(), n, makeSentences(160, 1), held, opt)
	if err != nil {
		t.Fatal(err)
	}
	b, err := held.Batch([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31}, 16)
	if err != nil {
		t.Fatal(err)
	}
	var null float64
	for _, y := range b.Labels[0].Float32 {
		null += float64(y) * float64(y) / 32
	}
	t.Logf("%d parameters, %d steps, best %+v, mean square label %.4f, took %v", res.Record.Parameters, res.Steps, res.Best, null, res.Record.Took)
	if res.Steps != 240 || !(res.Best.Loss < null/2) || len(res.Validations) != 12 || len(res.Record.Notices) != 0 {
		t.Errorf("%+v, mean square label %v", res, null)
	}
	// What is predicted is what the losses are of.
	p, err := n.Predict(b)
	if err != nil {
		t.Fatal(err)
	}
	losses, err := n.Losses(b)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range losses {
		d := float64(p[0].Float32[i]) - float64(b.Labels[0].Float32[i])
		if math.Abs(d*d-l) > 1e-6 {
			t.Fatalf("example %d: prediction %v, label %v, loss %v", i, p[0].Float32[i], b.Labels[0].Float32[i], l)
		}
	}
}
