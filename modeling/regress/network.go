package regress

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Network is a multilayer perceptron with one output: affine layers with
// max(0, x) between them.
type Network struct {
	Layers []Layer
}

// Layer is out = in . W + B.
type Layer struct {
	In, Out int
	W       []float32 // In x Out, row after row
	B       []float32 // Out
}

// newNetwork draws initial weights as He et al. (2015) do, from a generator of
// its own, so that every backend starts from the same network.
func newNetwork(inputs int, hidden []int, seed uint64) *Network {
	rng := rand.New(rand.NewPCG(seed, 0x6e6574))
	n := &Network{}
	for _, out := range append(slices.Clone(hidden), 1) {
		l := Layer{In: inputs, Out: out, W: make([]float32, inputs*out), B: make([]float32, out)}
		gain := math.Sqrt(2 / float64(inputs))
		if out == 1 {
			gain /= 10 // start near the mean
		}
		for i := range l.W {
			l.W[i] = float32(gain * rng.NormFloat64())
		}
		n.Layers = append(n.Layers, l)
		inputs = out
	}
	return n
}

// Forward is the output for one row of inputs.
func (n *Network) Forward(x []float32) float64 {
	for i, l := range n.Layers {
		y := slices.Clone(l.B)
		for j, v := range x {
			if v == 0 {
				continue
			}
			for k, w := range l.W[j*l.Out : (j+1)*l.Out] {
				y[k] += v * w
			}
		}
		if i < len(n.Layers)-1 {
			for k := range y {
				y[k] = max(y[k], 0)
			}
		}
		x = y
	}
	return float64(x[0])
}

func (n *Network) finite() bool {
	for _, l := range n.Layers {
		for _, w := range append(slices.Clone(l.W), l.B...) {
			if math.IsNaN(float64(w)) || math.IsInf(float64(w), 0) {
				return false
			}
		}
	}
	return true
}
