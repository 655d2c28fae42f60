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

// Against the equations, step by step and unit by unit.
func TestLSTMIsItsDefinition(t *testing.T) {
	const n, length, features, width = 2, 5, 3, 4
	rng := rand.New(rand.NewPCG(5, 8))
	x := make([]float64, n*length*features)
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
		exec, err := model.NewExec(choice.Backend, store, func(scope *model.Scope, in *graph.Node) *graph.Node { return gomlx.LSTM(scope, in, width) })
		if err != nil {
			t.Fatal(err)
		}
		defer exec.Finalize()
		in := tensors.FromFlatDataAndDimensions(x, n, length, features)
		if _, err := exec.Call1(in); err != nil { // makes the variables
			t.Fatal(err)
		}
		w := values(store) // input, recurrent, biases
		set(t, store, w)
		out, err := exec.Call1(in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tensors.CopyFlatData[float64](out)
		if err != nil {
			t.Fatal(err)
		}
		if len(w) != 3 || len(w[0]) != features*4*width || len(w[1]) != width*4*width || len(w[2]) != 4*width {
			t.Fatalf("%d variables", len(w))
		}
		sigmoid := func(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
		for e := range n {
			h, c := make([]float64, width), make([]float64, width)
			for p := range length {
				sum := func(gate, unit int) float64 {
					j := gate*width + unit
					s := w[2][j]
					for k := range features {
						s += x[(e*length+p)*features+k] * w[0][k*4*width+j]
					}
					for k := range width {
						s += h[k] * w[1][k*4*width+j]
					}
					return s
				}
				next := make([]float64, width)
				for u := range width {
					c[u] = sigmoid(sum(1, u))*c[u] + sigmoid(sum(0, u))*math.Tanh(sum(2, u))
					next[u] = sigmoid(sum(3, u)) * math.Tanh(c[u])
				}
				h = next
				for u, want := range h {
					if g := got[(e*length+p)*width+u]; math.Abs(g-want) > 1e-12 {
						t.Fatalf("%s: example %d, step %d, unit %d: %v, want %v", name, e, p, u, g, want)
					}
				}
			}
		}
	}
}
