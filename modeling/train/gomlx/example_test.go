package gomlx_test

import (
	"context"
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// line is examples of y = 2 x + 1.
type line struct{}

func (line) Len() int       { return 64 }
func (line) Length(int) int { return 0 }
func (line) Hash() string   { return "y = 2 x + 1" }
func (line) Batch(ids []int, _ int) (train.Batch, error) {
	x := train.Array{Dims: []int{len(ids), 1}}
	y := train.Array{Dims: []int{len(ids)}}
	for _, id := range ids {
		v := float32(id)/32 - 1
		x.Float32, y.Float32 = append(x.Float32, v), append(y.Float32, 2*v+1)
	}
	return train.Batch{IDs: ids, Inputs: []train.Array{x}, Labels: []train.Array{y}}, nil
}

func Example() {
	fit := gomlx.Model{
		Forward: func(scope *model.Scope, _ dtypes.DType, in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.Squeeze(layers.Dense(scope.In("line"), in[0], true, 1), -1)}
		},
		Loss: func(labels, predictions []*graph.Node) *graph.Node {
			return graph.Square(graph.Sub(predictions[0], labels[0]))
		},
	}
	opt := train.Options{Epochs: 50, Batch: 16, Rate: 0.1, Decay: -1, Backend: "go", Quiet: true}
	network, err := gomlx.New(fit, opt)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer network.Close()
	result, err := train.Run(context.Background(), network, line{}, nil, opt)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _ := line{}.Batch([]int{0, 32}, 0) // x = -1 and 0
	p, err := network.Predict(b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s after %d steps: %.2f and %.2f\n", result.Stopped, result.Steps, p[0].Float32[0], p[0].Float32[1])
	// Output: done after 200 steps: -1.00 and 1.00
}
