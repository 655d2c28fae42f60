package gomlx

import (
	"fmt"

	"github.com/gomlx/compute"
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
// The inputs' product is taken for all steps at once, and the steps are a
// loop, not copies of the cell: the program is small whatever the length.
// GoMLX cannot differentiate loops, so that the gradient is written out here:
// a loop backwards finds the gradient of the sums before the gates, and those
// of the weights are one product each for all steps, as cuDNN and oneDNN do.
// GoMLX's Go backend has no such loops, and gets a copy of the cell for each
// step.
func LSTM(scope *model.Scope, x *graph.Node, width int) *graph.Node {
	if x.Rank() != 3 {
		panic(fmt.Errorf("an LSTM over the shape %s, want [examples, length, features]", x.Shape()))
	}
	g, dtype := x.Graph(), x.DType()
	n, length, features := x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	wx := scope.VariableWithShape("input", shapes.Make(dtype, features, 4*width)).NodeValue(g)
	wh := scope.VariableWithShape("recurrent", shapes.Make(dtype, width, 4*width)).NodeValue(g)
	bias := scope.VariableWithShape("biases", shapes.Make(dtype, 4*width)).NodeValue(g)

	steps := graph.Reshape(graph.Transpose(x, 0, 1), length*n, features)
	inputs := graph.Add(product(steps, wx), graph.ExpandLeftToRank(bias, 2))
	r := recurrence{graph.Reshape(inputs, length, n, 4*width), wh, length, n, width}
	return graph.Transpose(r.hidden(), 0, 1)
}

// recurrence is the steps of an LSTM.
type recurrence struct {
	inputs           *graph.Node // [length, examples, 4 width], what the inputs add to the gates i, f, g, o
	wh               *graph.Node // [width, 4 width]
	length, n, width int
}

// hidden are the hidden states, [length, examples, width].
func (r recurrence) hidden() *graph.Node {
	if !r.inputs.Graph().Backend().Capabilities().Operations[compute.OpTypeDynamicSlice] {
		return r.unrolled()
	}
	hidden, cells, gates := r.forward()
	before := graph.StopGradient(graph.Slice(hidden, graph.AxisRange(0, r.length)))
	after := graph.StopGradient(graph.Slice(hidden, graph.AxisRange(1, r.length+1)))
	// The gradient of after is that of the sums before the gates, which are
	// inputs + h_{t-1} wh, with h_{t-1} a constant in this place: the loop
	// backwards has what goes through it. Nobody asks for the sums' values, and
	// no compiler computes them.
	sums := graph.Reshape(product(graph.Reshape(before, r.length*r.n, r.width), r.wh), r.length, r.n, 4*r.width)
	return joined(after, graph.Add(r.inputs, sums), -1, func(v *graph.Node) (values, input *graph.Node) {
		return graph.ZerosLike(v), r.backward(v, cells, gates)
	})
}

// shapes of one step's states, of all steps', with those before the first, and
// of all steps' gates.
func (r recurrence) shapes() (step, all, gates shapes.Shape) {
	dtype := r.inputs.DType()
	return shapes.Make(dtype, r.n, r.width), shapes.Make(dtype, r.length+1, r.n, r.width), shapes.Make(dtype, r.length, r.n, 4*r.width)
}

// forward gives hidden states and cells, [1 + length, examples, width], and
// the gates, [length, examples, 4 width].
func (r recurrence) forward() (hidden, cells, gates *graph.Node) {
	g := r.inputs.Graph()
	step, all, wide := r.shapes()
	out := loop(r.length, []*graph.Node{graph.Zeros(g, step), graph.Zeros(g, step), graph.Zeros(g, all), graph.Zeros(g, all), graph.Zeros(g, wide), r.inputs, r.wh},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			h, c, hidden, cells, gates, inputs, wh := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
			h, c, all := r.step(graph.Add(at(inputs, t), graph.MatMul(h, wh)), c)
			next := graph.Add(t, constant(t, 1))
			return []*graph.Node{h, c, put(hidden, h, next), put(cells, c, next), put(gates, all, t), inputs, wh}
		})
	return out[2], out[3], out[4]
}

// backward gives the gradient of the sums before the gates, [length, examples,
// 4 width], from v, that of the hidden states after each step.
func (r recurrence) backward(v, cells, gates *graph.Node) *graph.Node {
	g := r.inputs.Graph()
	step, _, wide := r.shapes()
	out := loop(r.length, []*graph.Node{graph.Zeros(g, step), graph.Zeros(g, step), graph.Zeros(g, wide), v, cells, gates, graph.Transpose(r.wh, 0, 1)},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			dh, dc, grad, v, cells, gates, turned := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
			t = graph.Sub(constant(t, r.length-1), t)
			all := at(gates, t)
			i, f, u, o := r.gate(all, 0), r.gate(all, 1), r.gate(all, 2), r.gate(all, 3)
			before, tanh := at(cells, t), graph.Tanh(at(cells, graph.Add(t, constant(t, 1))))
			left := func(x *graph.Node) *graph.Node { return graph.Sub(constant(x, 1), x) }
			dh = graph.Add(dh, at(v, t))
			dc = graph.Add(dc, graph.Mul(graph.Mul(dh, o), left(graph.Mul(tanh, tanh))))
			d := graph.Concatenate([]*graph.Node{
				graph.Mul(graph.Mul(dc, u), graph.Mul(i, left(i))),
				graph.Mul(graph.Mul(dc, before), graph.Mul(f, left(f))),
				graph.Mul(graph.Mul(dc, i), left(graph.Mul(u, u))),
				graph.Mul(graph.Mul(dh, tanh), graph.Mul(o, left(o))),
			}, -1)
			return []*graph.Node{graph.MatMul(d, turned), graph.Mul(dc, f), put(grad, d, t), v, cells, gates, turned}
		})
	return out[2]
}

// step is the next hidden state and cell, and the gates.
func (r recurrence) step(sums, c *graph.Node) (h, cell, gates *graph.Node) {
	i, f := graph.Sigmoid(r.gate(sums, 0)), graph.Sigmoid(r.gate(sums, 1))
	u, o := graph.Tanh(r.gate(sums, 2)), graph.Sigmoid(r.gate(sums, 3))
	cell = graph.Add(graph.Mul(f, c), graph.Mul(i, u))
	return graph.Mul(o, graph.Tanh(cell)), cell, graph.Concatenate([]*graph.Node{i, f, u, o}, -1)
}

// unrolled is hidden without a loop.
func (r recurrence) unrolled() *graph.Node {
	step, _, _ := r.shapes()
	h, c := graph.Zeros(r.inputs.Graph(), step), graph.Zeros(r.inputs.Graph(), step)
	var all []*graph.Node
	for t := range r.length {
		input := graph.Squeeze(graph.Slice(r.inputs, graph.AxisElem(t)), 0)
		h, c, _ = r.step(graph.Add(input, graph.MatMul(h, r.wh)), c)
		all = append(all, h)
	}
	return graph.Stack(all, 0)
}

// gate is the i-th gate of x, [examples, 4 width].
func (r recurrence) gate(x *graph.Node, i int) *graph.Node {
	return graph.Slice(x, graph.AxisRange(), graph.AxisRange(i*r.width, (i+1)*r.width))
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

// at is x[t] of x of shape [length, examples, features].
func at(x, t *graph.Node) *graph.Node {
	d := x.Shape().Dimensions
	zero := constant(t, 0)
	return graph.Reshape(graph.DynamicSlice(x, []*graph.Node{t, zero, zero}, []int{1, d[1], d[2]}), d[1], d[2])
}

// put is x with x[t] = y.
func put(x, y, t *graph.Node) *graph.Node {
	zero := constant(t, 0)
	return graph.DynamicUpdateSlice(x, graph.ExpandAxes(y, 0), []*graph.Node{t, zero, zero})
}
