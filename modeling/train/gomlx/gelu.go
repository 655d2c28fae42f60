package gomlx

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// Gelu is the Gaussian error linear unit in its approximation by tanh
// (Hendrycks and Gimpel 2016),
//
//	x/2 (1 + tanh u),  u = sqrt(2/pi) (x + 0.044715 x^3)
//
// as GoMLX's GeluApproximate. Nothing but x is kept for its gradient: on a
// processor tanh is cheaper to compute again than to store.
func Gelu(x *graph.Node) *graph.Node {
	scale, cubic := math.Sqrt(2/math.Pi), 0.044715
	square := graph.Square(x)
	u := graph.MulScalar(graph.Mul(x, graph.AddScalar(graph.MulScalar(square, cubic), 1)), scale)
	// (1 + tanh u) / 2 = sigmoid 2u. Written differently from what the gradient
	// needs, so that compilers do not keep the one for the other.
	y := graph.StopGradient(graph.Mul(x, graph.Sigmoid(graph.MulScalar(u, 2))))
	return joined(y, x, -1, func(dy *graph.Node) (values, input *graph.Node) {
		t := graph.Tanh(u)
		du := graph.MulScalar(graph.AddScalar(graph.MulScalar(square, 3*cubic), 1), scale)
		d := graph.Add(graph.AddScalar(t, 1), graph.Mul(graph.Mul(x, graph.OneMinus(graph.Square(t))), du))
		return graph.ZerosLike(dy), graph.Mul(dy, graph.MulScalar(d, 0.5))
	})
}
