package gomlx

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// SelfAttention is multi-head attention (Vaswani et al. 2017) of a sequence on
// itself, x of shape [examples, length, width] with width a multiple of heads.
// keep, a boolean [examples, length], says which positions are no padding:
// only those are looked at; nil looks at all. The result has the shape of x.
//
// It computes what GoMLX's attention layer does, with less time and memory
// spent on the [examples, heads, length, length] scores: the mask is added to
// them instead of selected by, the division of the softmax comes after the
// product with the values, queries, keys and values are one product, and the
// weights are not kept for the gradient but computed again (Dao et al. 2022,
// without their blocks).
func SelfAttention(scope *model.Scope, x, keep *graph.Node, heads int) *graph.Node {
	dims := x.Shape().Dimensions
	if x.Rank() != 3 || dims[2]%heads != 0 {
		panic(fmt.Errorf("attention with %d heads over the shape %s, want [examples, length, a multiple of heads]", heads, x.Shape()))
	}
	n, length, width := dims[0], dims[1], dims[2]
	each := width / heads
	g := x.Graph()
	qkv := Dense(scope.In("qkv"), graph.Reshape(x, n*length, width), 3*width)
	qkv = graph.TransposeAllAxes(graph.Reshape(qkv, n, length, 3, heads, each), 2, 0, 3, 1, 4) // [3, examples, heads, length, each]
	part := func(i int) *graph.Node { return graph.Squeeze(graph.Slice(qkv, graph.AxisElem(i)), 0) }
	q, k, v := graph.MulScalar(part(0), 1/math.Sqrt(float64(each))), part(1), part(2)

	var far *graph.Node
	if keep != nil {
		far = graph.Where(keep, graph.Scalar(g, wide(q).DType(), 0), graph.Scalar(g, wide(q).DType(), -1e9))
	}
	y := attend(q, k, v, far)
	y = graph.Reshape(graph.Transpose(y, 1, 2), n, length, width)
	return Dense(scope.In("output"), y, width)
}

// attend is softmax(q k') v for q, k and v of shape [examples, heads, length,
// features]. far, [examples, length] or nil, is added to the scores of keys.
func attend(q, k, v, far *graph.Node) *graph.Node {
	dims, dtype := q.Shape().Dimensions, q.DType()
	n, length := dims[0], dims[2]
	masked := func(scores *graph.Node, shape ...int) *graph.Node {
		if far == nil {
			return scores
		}
		return graph.Add(scores, graph.BroadcastToShape(graph.Reshape(far, shape...), scores.Shape()))
	}
	// dot contracts the axes a of x and b of y.
	dot := func(x *graph.Node, a int, y *graph.Node, b int) *graph.Node {
		return graph.Dot(x, y).General([]int{a}, []int{0, 1}, []int{b}, []int{0, 1})
	}
	scores := masked(wide(dot(q, 3, k, 3)), n, 1, 1, length) // of queries and keys
	largest := graph.StopGradient(graph.ReduceAndKeep(scores, graph.ReduceMax, -1))
	weights := graph.Exp(graph.Sub(scores, largest))
	sum := graph.ReduceAndKeep(weights, graph.ReduceSum, -1)
	y := graph.StopGradient(graph.Div(wide(dot(graph.ConvertDType(weights, dtype), 3, v, 2)), sum))

	// The gradient, of the softmax too, by hand: of dy and the inputs alone.
	// All is turned, keys before queries, since products are fast that contract
	// the left factor's last axis (see product).
	logSum := graph.Transpose(graph.Add(graph.Log(sum), largest), 2, 3)
	y = graph.ConvertDType(y, dtype)
	return joined(y, graph.Concatenate([]*graph.Node{q, k, v}, -1), -1, func(dy *graph.Node) (values, input *graph.Node) {
		turned := graph.Exp(graph.Sub(masked(wide(dot(k, 3, q, 3)), n, 1, length, 1), logSum))
		dv := dot(graph.ConvertDType(turned, dtype), 3, dy, 2)
		each := graph.Transpose(graph.ReduceAndKeep(graph.Mul(wide(dy), wide(y)), graph.ReduceSum, -1), 2, 3)
		dScores := graph.ConvertDType(graph.Mul(turned, graph.Sub(wide(dot(v, 3, dy, 3)), each)), dtype)
		dk := dot(dScores, 3, q, 2)
		var dq *graph.Node
		if onProcessor(q.Graph()) {
			b := graph.OptimizationBarriers(graph.Transpose(k, 2, 3), dScores)
			b = graph.OptimizationBarriers(dot(b[0], 3, b[1], 2), dk)
			dq = graph.Transpose(b[0], 2, 3)
		} else {
			dq = dot(dScores, 2, k, 2)
		}
		return graph.ZerosLike(dy), graph.Concatenate([]*graph.Node{dq, dk, dv}, -1)
	})
}

// wide is x in float32 if its type is shorter: sums of many need it.
func wide(x *graph.Node) *graph.Node {
	if x.DType().Size() < 4 {
		return graph.ConvertDType(x, dtypes.Float32)
	}
	return x
}
