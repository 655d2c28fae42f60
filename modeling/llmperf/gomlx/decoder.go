package gomlx

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"

	"github.com/rooflab/rooflab/modeling/llmperf"
)

// decoder builds the layers of pre-trained networks (package pretrained) from
// variables that have their names and layouts there.
type decoder struct {
	c     llmperf.Config
	dtype dtypes.DType
}

// embed is the vectors of tokens: [n, l, width].
func (d decoder) embed(scope *model.Scope, ids *graph.Node) *graph.Node {
	return layers.Embedding(scope.In("tokens"), ids, d.dtype, d.c.Vocab, d.c.Width)
}

// layers are layers from to below to, of x and with the shape of x. Each token sees itself
// and those before it, and therefore no padding.
func (d decoder) layers(scope *model.Scope, x *graph.Node, from, to int) *graph.Node {
	for i := from; i < to; i++ {
		s := scope.In("layer_%d", i)
		x = graph.Add(x, d.attention(s, d.norm(s.In("norm1"), x), i))
		y := d.norm(s.In("norm2"), x)
		gate, up := d.linear(s.In("gate"), y, d.c.Inner, false), d.linear(s.In("up"), y, d.c.Inner, false)
		y = graph.Mul(graph.Mul(gate, graph.Sigmoid(gate)), up) // SwiGLU
		x = graph.Add(x, d.linear(s.In("down"), y, d.c.Width, false))
	}
	return x
}

// norm is x over its root mean square, times a gain (Zhang and Sennrich 2019).
func (d decoder) norm(scope *model.Scope, x *graph.Node) *graph.Node {
	gain := scope.VariableWithShape("gain", shapes.Make(d.dtype, d.c.Width)).NodeValue(x.Graph())
	y := graph.ConvertDType(x, dtypes.Float32)
	square := graph.ReduceAndKeep(graph.Square(y), graph.ReduceMean, -1)
	y = graph.Div(y, graph.BroadcastToShape(graph.Sqrt(graph.AddScalar(square, d.c.Base.Epsilon)), y.Shape())) // Rsqrt has no gradient in GoMLX
	return graph.Mul(graph.ConvertDType(y, d.dtype), graph.ExpandLeftToRank(gain, x.Rank()))
}

// linear is x of shape [n, l, width] times the transpose of weights [out, width].
func (d decoder) linear(scope *model.Scope, x *graph.Node, out int, bias bool) *graph.Node {
	g, width := x.Graph(), x.Shape().Dimensions[2]
	w := scope.VariableWithShape("weights", shapes.Make(d.dtype, out, width)).NodeValue(g)
	y := graph.Dot(x, w).General([]int{2}, nil, []int{1}, nil)
	if bias {
		b := scope.VariableWithShape("biases", shapes.Make(d.dtype, out)).NodeValue(g)
		y = graph.Add(y, graph.ExpandLeftToRank(b, 3))
	}
	return y
}

// adapted is linear with what LoRA learns beside: twice x down^T up^T, where up is
// zero at first (Hu et al. 2022, with their alpha at twice the rank).
func (d decoder) adapted(scope *model.Scope, x *graph.Node, out, layer int) *graph.Node {
	y := d.linear(scope, x, out, d.c.Base.Bias)
	rank, width := d.c.Base.LoRA, x.Shape().Dimensions[2]
	if rank == 0 || layer < d.c.Base.Freeze {
		return y
	}
	g := x.Graph()
	down := scope.WithInitializer(initializer.RandomNormalFn(scope, 1/math.Sqrt(float64(width)))).
		VariableWithShape("lora_down", shapes.Make(d.dtype, rank, width)).NodeValue(g)
	up := scope.WithInitializer(initializer.Zero).VariableWithShape("lora_up", shapes.Make(d.dtype, out, rank)).NodeValue(g)
	low := graph.Dot(x, down).General([]int{2}, nil, []int{1}, nil)
	return graph.Add(y, graph.MulScalar(graph.Dot(low, up).General([]int{2}, nil, []int{1}, nil), 2))
}

// attention is causal attention whose heads of keys and values are shared by
// groups of heads of queries.
func (d decoder) attention(scope *model.Scope, x *graph.Node, layer int) *graph.Node {
	g, b := x.Graph(), d.c.Base
	n, length := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	group, each := b.Heads/b.KVHeads, b.HeadWidth
	split := func(y *graph.Node, heads int) *graph.Node { return graph.Reshape(y, n, length, heads, each) }
	q := d.rotate(split(d.adapted(scope.In("query"), x, b.Heads*each, layer), b.Heads))
	k := d.rotate(split(d.linear(scope.In("key"), x, b.KVHeads*each, b.Bias), b.KVHeads))
	v := split(d.adapted(scope.In("value"), x, b.KVHeads*each, layer), b.KVHeads)
	q = graph.TransposeAllAxes(graph.Reshape(q, n, length, b.KVHeads, group, each), 0, 2, 3, 1, 4)
	q = graph.MulScalar(q, 1/math.Sqrt(float64(each)))
	k, v = graph.TransposeAllAxes(k, 0, 2, 1, 3), graph.TransposeAllAxes(v, 0, 2, 1, 3) // [n, kv heads, l, each]

	scores := graph.Dot(q, k).General([]int{4}, []int{0, 1}, []int{3}, []int{0, 1}) // [n, kv heads, group, l, l]
	scores = graph.ConvertDType(scores, dtypes.Float32)
	square := shapes.Make(dtypes.Int32, length, length)
	later := graph.GreaterThan(graph.Iota(g, square, 1), graph.Iota(g, square, 0))
	far := graph.Where(later, graph.Scalar(g, dtypes.Float32, -1e9), graph.Scalar(g, dtypes.Float32, 0))
	scores = graph.Add(scores, graph.BroadcastToShape(graph.ExpandLeftToRank(far, 5), scores.Shape()))
	largest := graph.StopGradient(graph.ReduceAndKeep(scores, graph.ReduceMax, -1))
	weights := graph.Exp(graph.Sub(scores, largest))
	sum := graph.ReduceAndKeep(weights, graph.ReduceSum, -1)
	y := graph.Dot(graph.ConvertDType(weights, d.dtype), v).General([]int{4}, []int{0, 1}, []int{2}, []int{0, 1})
	y = graph.ConvertDType(graph.Div(graph.ConvertDType(y, dtypes.Float32), sum), d.dtype) // [n, kv heads, group, l, each]
	y = graph.Reshape(graph.TransposeAllAxes(y, 0, 3, 1, 2, 4), n, length, b.Heads*each)
	return d.linear(scope.In("output"), y, d.c.Width, false)
}

// rotate turns the pairs (i, i + half a head) of x, [n, l, heads, each], by their
// place times theta^(-2i/each).
func (d decoder) rotate(x *graph.Node) *graph.Node {
	g, each, length := x.Graph(), d.c.Base.HeadWidth, x.Shape().Dimensions[1]
	half := each / 2
	cos, sin := make([][]float32, length), make([][]float32, length)
	for at := range length {
		for i := range half {
			angle := float64(at) * math.Pow(d.c.Base.Theta, -2*float64(i)/float64(each))
			cos[at], sin[at] = append(cos[at], float32(math.Cos(angle))), append(sin[at], float32(math.Sin(angle)))
		}
	}
	table := func(values [][]float32) *graph.Node {
		t := graph.ConvertDType(graph.Const(g, values), d.dtype)
		return graph.Reshape(t, 1, length, 1, half)
	}
	part := func(from, to int) *graph.Node {
		return graph.Slice(x, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(), graph.AxisRange(from, to))
	}
	a, b, c, s := part(0, half), part(half, each), table(cos), table(sin)
	return graph.Concatenate([]*graph.Node{graph.Sub(graph.Mul(a, c), graph.Mul(b, s)), graph.Add(graph.Mul(b, c), graph.Mul(a, s))}, -1)
}

// predictions are location and scale, [n] each, from the last layer's result
// [n, l, width] and the inputs beside it: the mean over the tokens that are
// there and the last of them go to the head.
func (d decoder) predictions(scope *model.Scope, x *graph.Node, in []*graph.Node) []*graph.Node {
	g := x.Graph()
	x = graph.ConvertDType(d.norm(scope.In("norm"), x), dtypes.Float32)
	n, length := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	lengths := in[3]
	at := graph.Iota(g, shapes.Make(dtypes.Int32, n, length), 1)
	wide := graph.BroadcastToShape(graph.ExpandAxes(lengths, -1), at.Shape())
	pick := func(which *graph.Node) *graph.Node {
		return graph.ReduceSum(graph.Where(graph.BroadcastToShape(graph.ExpandAxes(which, -1), x.Shape()), x, graph.ZerosLike(x)), 1)
	}
	mean := pick(graph.LessThan(at, wide))
	count := graph.ExpandAxes(graph.ConvertDType(lengths, dtypes.Float32), -1)
	mean = graph.Div(mean, graph.BroadcastToShape(count, mean.Shape()))
	last := pick(graph.Equal(at, graph.AddScalar(wide, -1)))
	var pooled []*graph.Node
	for _, p := range []*graph.Node{mean, last} {
		pooled = append(pooled, layers.DropoutStatic(scope, p, d.c.Dropout))
	}
	if !d.c.Sums() {
		return head(scope, d.c, d.dtype, pooled, in)
	}
	took := spent(scope, d.c, x, in)
	out := head(scope, d.c, d.dtype, append(pooled, graph.ExpandAxes(took, -1)), in)
	out[0] = graph.Add(out[0], took)
	return out
}
