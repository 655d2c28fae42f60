package gomlx_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// Against the definition, softmax(q k' / sqrt(d)) v for each head with padding
// left out, in loops.
func TestAttentionIsItsDefinition(t *testing.T) {
	const n, length, width, heads, each = 2, 4, 6, 2, 3
	rng := rand.New(rand.NewPCG(2, 8))
	x := make([]float64, n*length*width)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for _, name := range backends(t) {
		choice, err := backend.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		store := model.NewStore()
		defer store.Finalize()
		out, err := model.CallOnce(choice.Backend, store, func(scope *model.Scope, in *graph.Node) *graph.Node {
			return gomlx.SelfAttention(scope, in, graph.Const(in.Graph(), keep), heads)
		}, tensors.FromFlatDataAndDimensions(x, n, length, width))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tensors.CopyFlatData[float64](out)
		if err != nil {
			t.Fatal(err)
		}
		var flat [][]float64 // in the order of creation: qkv weights and biases, output weights and biases
		for v := range store.IterVariables() {
			if v.Trainable {
				w, err := tensors.CopyFlatData[float64](v.MustValue())
				if err != nil {
					t.Fatal(err)
				}
				flat = append(flat, w)
			}
		}
		if len(flat) != 4 || len(flat[0]) != width*3*width {
			t.Fatalf("%d variables", len(flat))
		}
		dense := func(x, w, b []float64) []float64 {
			y := append([]float64(nil), b...)
			for i, v := range x {
				for j := range y {
					y[j] += v * w[i*len(y)+j]
				}
			}
			return y
		}
		for e := range n {
			var qkv [length][]float64
			for p := range length {
				qkv[p] = dense(x[(e*length+p)*width:][:width], flat[0], flat[1])
			}
			for p := range length {
				joined := make([]float64, width)
				for h := range heads {
					var weight [length]float64
					sum := 0.0
					for o := range length {
						if !keep[e][o] {
							continue
						}
						s := 0.0
						for d := range each {
							s += qkv[p][h*each+d] * qkv[o][width+h*each+d]
						}
						weight[o] = math.Exp(s / math.Sqrt(each))
						sum += weight[o]
					}
					for o := range length {
						for d := range each {
							joined[h*each+d] += weight[o] / sum * qkv[o][2*width+h*each+d]
						}
					}
				}
				for j, want := range dense(joined, flat[2], flat[3]) {
					if g := got[(e*length+p)*width+j]; math.Abs(g-want) > 1e-12*math.Max(1, math.Abs(want)) {
						t.Fatalf("%s: example %d, position %d, element %d: %v, want %v", name, e, p, j, g, want)
					}
				}
			}
		}
	}
}
