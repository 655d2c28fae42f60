package gomlx_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

func TestGeluIsItsDefinition(t *testing.T) {
	x := []float64{-30, -3, -1, -0.1, 0, 0.1, 1, 3, 30}
	for _, name := range backends(t) {
		choice, err := backend.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := graph.CallOnce(choice.Backend, gomlx.Gelu, x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := tensors.CopyFlatData[float64](out)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			want := v / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
			if math.Abs(got[i]-want) > 1e-12 {
				t.Errorf("%s: gelu(%v) = %v, want %v", name, v, got[i], want)
			}
		}
	}
}
