package gomlx

import (
	"strings"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// Dense is a linear layer, x W + b, of x of shape [..., features] to [...,
// width]. Its variables and values are those of GoMLX's layers.Dense with a
// bias. On XLA's CPU plugin the gradient of W takes less time.
func Dense(scope *model.Scope, x *graph.Node, width int) *graph.Node {
	scope = scope.In("dense")
	g, dtype, dims := x.Graph(), x.DType(), x.Shape().Dimensions
	features := dims[len(dims)-1]
	w := scope.VariableWithShape("weights", shapes.Make(dtype, features, width)).NodeValue(g)
	bias := scope.VariableWithShape("biases", shapes.Make(dtype, width)).NodeValue(g)
	y := graph.Add(product(graph.Reshape(x, -1, features), w), graph.ExpandLeftToRank(bias, 2))
	return graph.Reshape(y, append(append([]int{}, dims[:len(dims)-1]...), width)...)
}

// product is x w of x of shape [rows, features] and w of [features, width].
//
// XLA's CPU plugin has fast kernels (YNNPACK) for products whose left factor
// is contracted along its last axis, and falls back to others, which read
// their input a number at a time, where it is not: as in x' dy, the gradient
// of w. So the narrower of x and dy is transposed first, and a barrier keeps the
// compiler from taking the transposition into the product.
func product(x, w *graph.Node) *graph.Node {
	if !onProcessor(x.Graph()) {
		return graph.MatMul(x, w)
	}
	return joined(graph.MatMul(x, graph.StopGradient(w)), w, 0, func(dy *graph.Node) (values, input *graph.Node) {
		if w.Shape().Dim(1) < w.Shape().Dim(0) {
			b := graph.OptimizationBarriers(graph.Transpose(dy, 0, 1), x)
			b = graph.OptimizationBarriers(graph.MatMul(b[0], b[1]), dy)
			return dy, graph.Transpose(b[0], 0, 1)
		}
		b := graph.OptimizationBarriers(graph.Transpose(x, 0, 1), dy)
		return dy, graph.MatMul(b[0], b[1])
	})
}

// joined is values, whose gradient v also makes a gradient of input, which is
// there to be differentiated by: gradient gives those of values and input. Both
// have the same shape but for the length of an axis.
//
// GoMLX lets us write the gradient of an identity alone, of one argument. So
// both go through one, joined along the axis, and values are cut out again:
// compilers see that it is values that comes out.
func joined(values, input *graph.Node, axis int, gradient func(v *graph.Node) (values, input *graph.Node)) *graph.Node {
	rank, length := values.Rank(), values.Shape().Dim(axis)
	axis = (axis + rank) % rank
	cut := func(x *graph.Node) *graph.Node {
		spec := make([]graph.SliceAxisSpec, rank)
		for i := range spec {
			spec[i] = graph.AxisRange()
		}
		spec[axis] = graph.AxisRange(0, length)
		return graph.Slice(x, spec...)
	}
	both := graph.Concatenate([]*graph.Node{values, input}, axis)
	return cut(graph.IdentityWithCustomGradient(both, func(_, v *graph.Node) *graph.Node {
		a, b := gradient(cut(v))
		return graph.Concatenate([]*graph.Node{a, b}, axis)
	}))
}

// onProcessor says whether a graph is for XLA's CPU plugin.
func onProcessor(g *graph.Graph) bool {
	b := g.Backend()
	return b.Name() == "xla" && strings.Contains(strings.ToLower(b.Description()), "cpu")
}
