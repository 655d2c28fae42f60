package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
)

// LSTM is a layer of long short-term memory (Hochreiter and Schmidhuber 1997,
// with the forget gate of Gers et al. 2000) over a sequence x of shape
// [examples, length, features]; the result, the hidden states, has the shape
// [examples, length, width]. States begin at zero:
//
//	i, f, o = sigmoid, g = tanh of x_t Wx + h_{t-1} Wh + b
//	c_t = f c_{t-1} + i g
//	h_t = o tanh(c_t)
//
// The steps are a loop, not copies of the cell: the program is small whatever
// the length. GoMLX cannot differentiate loops, so that the gradient is
// written out here: a loop backwards finds the gradient of the sums before the
// gates, and those of the weights and of x are one product each for all steps,
// as cuDNN and oneDNN do. GoMLX's Go backend has no such loops, and gets a copy
// of the cell for each step.
//
// Inside, the examples are the last axis: the weights are the left factors of
// all products then, and need not be packed anew for the kernels at each step,
// and a gate is a block of memory.
func LSTM(scope *model.Scope, x *graph.Node, width int) *graph.Node {
	if x.Rank() != 3 {
		panic(fmt.Errorf("an LSTM over the shape %s, want [examples, length, features]", x.Shape()))
	}
	g, dtype := x.Graph(), x.DType()
	n, length, features := x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	wx := scope.VariableWithShape("input", shapes.Make(dtype, features, 4*width)).NodeValue(g)
	wh := scope.VariableWithShape("recurrent", shapes.Make(dtype, width, 4*width)).NodeValue(g)
	bias := scope.VariableWithShape("biases", shapes.Make(dtype, 4*width)).NodeValue(g)

	r := recurrence{graph.TransposeAllAxes(x, 1, 2, 0), wx, wh, graph.ExpandAxes(bias, 1), length, n, width}
	return graph.TransposeAllAxes(r.hidden(), 2, 0, 1)
}

// recurrence is the steps of an LSTM.
type recurrence struct {
	x                *graph.Node // [length, features, examples]
	wx, wh           *graph.Node // [features or width, 4 width], of the gates i, f, g, o
	bias             *graph.Node // [4 width, 1]
	length, n, width int
}

// hidden are the hidden states, [length, width, examples].
func (r recurrence) hidden() *graph.Node {
	if !r.x.Graph().Backend().Capabilities().Operations[compute.OpTypeDynamicSlice] {
		return r.unrolled()
	}
	hidden, cells, gates := r.forward()
	hidden = graph.Reshape(hidden, r.length+1, r.width, r.n)
	before := graph.StopGradient(graph.Slice(hidden, graph.AxisRange(0, r.length)))
	after := graph.StopGradient(graph.Slice(hidden, graph.AxisRange(1, r.length+1)))
	// The gradient of after is that of the sums before the gates, which are
	// Wx' x_t + Wh' h_{t-1} + b with h_{t-1} a constant in this place: the loop
	// backwards has what goes through it. Nobody asks for the sums' values, and
	// no compiler computes them.
	sums := graph.Add(graph.Add(turned(r.wx, columns(r.x)), turned(r.wh, columns(before))), r.bias)
	sums = graph.Transpose(graph.Reshape(sums, 4*r.width, r.length, r.n), 0, 1)
	return joined(after, sums, 1, func(v *graph.Node) (values, input *graph.Node) {
		grad := r.backward(graph.Reshape(v, r.length, -1), cells, gates)
		return graph.ZerosLike(v), graph.Reshape(grad, r.length, 4*r.width, r.n)
	})
}

// columns is x of shape [length, features, examples] as [features, length
// times examples].
func columns(x *graph.Node) *graph.Node {
	return graph.Reshape(graph.Transpose(x, 0, 1), x.Shape().Dim(1), -1)
}

// turned is w' x of w of shape [features, width] and x of [features, columns].
// On XLA's CPU plugin the gradient of w is as in product.
func turned(w, x *graph.Node) *graph.Node {
	if !onProcessor(x.Graph()) {
		return graph.MatMul(graph.Transpose(w, 0, 1), x)
	}
	w = graph.Transpose(w, 0, 1)
	return joined(graph.MatMul(graph.StopGradient(w), x), w, 1, func(dy *graph.Node) (values, input *graph.Node) {
		b := graph.OptimizationBarriers(graph.Transpose(x, 0, 1), dy)
		// Without the second barrier the weight's own transposition would turn
		// the product again.
		b = graph.OptimizationBarriers(graph.MatMul(b[1], b[0]), dy)
		return dy, b[0]
	})
}

// shapes of one step's states, of all steps', with those before the first, and
// of all steps' gates. A step's numbers are one axis, [width times examples]:
// along a short last axis compilers do not vectorise.
func (r recurrence) shapes() (step, all, gates shapes.Shape) {
	dtype := r.x.DType()
	size := r.width * r.n
	return shapes.Make(dtype, size), shapes.Make(dtype, r.length+1, size), shapes.Make(dtype, r.length, 4*size)
}

// forward gives hidden states and cells, [1 + length, width times examples],
// and the gates, [length, 4 width times examples].
func (r recurrence) forward() (hidden, cells, gates *graph.Node) {
	g := r.x.Graph()
	step, all, wide := r.shapes()
	size := step.Size()
	out := loop(r.length, []*graph.Node{graph.Zeros(g, step), graph.Zeros(g, step), graph.Zeros(g, all), graph.Zeros(g, all), graph.Zeros(g, wide),
		graph.Reshape(r.x, r.length, -1), graph.Transpose(r.wx, 0, 1), graph.Transpose(r.wh, 0, 1), r.biases()},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			h, c, hidden, cells, gates, x, wx, wh, bias := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]
			sums := graph.Add(graph.Add(r.times(wx, at(x, t, 0, x.Shape().Dim(1))), r.times(wh, h)), bias)
			// What the next operations need of the gates they read where these are
			// kept: so their computation is part of the writing.
			gates = put(gates, r.activated(sums), t, 0)
			h, c = r.step(c, func(i int) *graph.Node { return at(gates, t, i*size, size) })
			next := graph.Add(t, constant(t, 1))
			return []*graph.Node{h, c, put(hidden, h, next, 0), put(cells, c, next, 0), gates, x, wx, wh, bias}
		})
	return out[2], out[3], out[4]
}

// backward gives the gradient of the sums before the gates, [length, 4 width
// times examples], from v, that of the hidden states after each step.
func (r recurrence) backward(v, cells, gates *graph.Node) *graph.Node {
	g := r.x.Graph()
	step, _, wide := r.shapes()
	size := step.Size()
	out := loop(r.length, []*graph.Node{graph.Zeros(g, step), graph.Zeros(g, step), graph.Zeros(g, wide), v, cells, gates, r.wh},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			dh, dc, grad, v, cells, gates, wh := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
			t = graph.Sub(constant(t, r.length-1), t)
			gate := func(k int) *graph.Node { return at(gates, t, k*size, size) }
			i, f, u, o := gate(0), gate(1), gate(2), gate(3)
			before, tanh := at(cells, t, 0, size), graph.Tanh(at(cells, graph.Add(t, constant(t, 1)), 0, size))
			left := func(x *graph.Node) *graph.Node { return graph.Sub(constant(x, 1), x) }
			dh = graph.Add(dh, at(v, t, 0, size))
			dc = graph.Add(dc, graph.Mul(graph.Mul(dh, o), left(graph.Mul(tanh, tanh))))
			if onProcessor(t.Graph()) { // which would compute them again for each gate
				b := graph.OptimizationBarriers(dh, dc, tanh)
				dh, dc, tanh = b[0], b[1], b[2]
			}
			for k, d := range []*graph.Node{
				graph.Mul(graph.Mul(dc, u), graph.Mul(i, left(i))),
				graph.Mul(graph.Mul(dc, before), graph.Mul(f, left(f))),
				graph.Mul(graph.Mul(dc, i), left(graph.Mul(u, u))),
				graph.Mul(graph.Mul(dh, tanh), graph.Mul(o, left(o))),
			} {
				grad = put(grad, d, t, k*size)
			}
			return []*graph.Node{r.times(wh, at(grad, t, 0, 4*size)), graph.Mul(dc, f), grad, v, cells, gates, wh}
		})
	return out[2]
}

// times is w x of w of shape [rows, columns] and x of [columns times examples].
func (r recurrence) times(w, x *graph.Node) *graph.Node {
	return graph.Reshape(graph.MatMul(w, graph.Reshape(x, w.Shape().Dim(1), r.n)), -1)
}

// biases are those of each example, [4 width times examples].
func (r recurrence) biases() *graph.Node {
	return graph.Reshape(graph.BroadcastToDims(r.bias, 4*r.width, r.n), -1)
}

// activated is the gates of sums, [4 width times examples]. The sigmoid of x is
// (1 + tanh(x/2)) / 2, so that all gates are one operation.
func (r recurrence) activated(sums *graph.Node) *graph.Node {
	g := sums.Graph()
	size := r.width * r.n
	i := graph.Iota(g, shapes.Make(dtypes.Int32, 4*size), 0)
	cell := graph.LogicalAnd(graph.GreaterOrEqual(i, constant(i, 2*size)), graph.LessThan(i, constant(i, 3*size)))
	half := graph.Const(g, shapes.CastAsDType(0.5, sums.DType()))
	scale := graph.Where(cell, constant(sums, 1), half)
	offset := graph.Where(cell, constant(sums, 0), half)
	return graph.Add(graph.Mul(graph.Tanh(graph.Mul(sums, scale)), scale), offset)
}

// step is the next hidden state and cell by the gates.
func (r recurrence) step(c *graph.Node, gate func(i int) *graph.Node) (h, cell *graph.Node) {
	cell = graph.Add(graph.Mul(gate(1), c), graph.Mul(gate(0), gate(2)))
	return graph.Mul(gate(3), graph.Tanh(cell)), cell
}

// unrolled is hidden without a loop.
func (r recurrence) unrolled() *graph.Node {
	step, _, _ := r.shapes()
	size := step.Size()
	h, c := graph.Zeros(r.x.Graph(), step), graph.Zeros(r.x.Graph(), step)
	wx, wh := graph.Transpose(r.wx, 0, 1), graph.Transpose(r.wh, 0, 1)
	var all []*graph.Node
	for t := range r.length {
		gates := r.activated(graph.Add(graph.Add(r.times(wx, graph.Slice(r.x, graph.AxisElem(t))), r.times(wh, h)), r.biases()))
		h, c = r.step(c, func(i int) *graph.Node { return graph.Slice(gates, graph.AxisRange(i*size, (i+1)*size)) })
		all = append(all, h)
	}
	return graph.Reshape(graph.Stack(all, 0), r.length, r.width, r.n)
}

// loop runs body for t = 0 ... n-1 on a state. XLA's closures see nothing but
// their parameters: all that body needs is part of the state.
func loop(n int, state []*graph.Node, body func(t *graph.Node, s []*graph.Node) []*graph.Node) []*graph.Node {
	g := state[0].Graph()
	first := graph.Const(g, int32(0))
	closure := func(f func(t *graph.Node, s []*graph.Node) []*graph.Node) *graph.Function {
		return graph.NewClosure(g, func(g *graph.Graph) []*graph.Node {
			var in []*graph.Node
			for i, s := range append([]*graph.Node{first}, state...) {
				in = append(in, graph.Parameter(g, fmt.Sprintf("s%d", i), s.Shape()))
			}
			return f(in[0], in[1:])
		})
	}
	more := closure(func(t *graph.Node, _ []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.LessThan(t, constant(t, n))}
	})
	next := closure(func(t *graph.Node, s []*graph.Node) []*graph.Node {
		return append([]*graph.Node{graph.Add(t, constant(t, 1))}, body(t, s)...)
	})
	return graph.While(more, next, append([]*graph.Node{first}, state...)...)[1:]
}

// constant is a number of x's type. graph.Scalar will not do in a loop: it
// keeps one node for each number, in the function that asked first.
func constant(x *graph.Node, v int) *graph.Node {
	return graph.Const(x.Graph(), shapes.CastAsDType(v, x.DType()))
}

// at is x[t, from:from+size] of x of shape [length, sizes].
func at(x, t *graph.Node, from, size int) *graph.Node {
	return graph.Reshape(graph.DynamicSlice(x, []*graph.Node{t, constant(t, from)}, []int{1, size}), size)
}

// put is x with x[t, from:from+size] = y, of shape [size].
func put(x, y, t *graph.Node, from int) *graph.Node {
	return graph.DynamicUpdateSlice(x, graph.ExpandAxes(y, 0), []*graph.Node{t, constant(t, from)})
}
