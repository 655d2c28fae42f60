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
// Inside, the time is the first axis. A step's input and the hidden state before
// it stand side by side, so that a step has one product, and the gradient of all
// weights another.
func LSTM(scope *model.Scope, x *graph.Node, width int) *graph.Node {
	if x.Rank() != 3 {
		panic(fmt.Errorf("an LSTM over the shape %s, want [examples, length, features]", x.Shape()))
	}
	g, dtype := x.Graph(), x.DType()
	n, length, features := x.Shape().Dim(0), x.Shape().Dim(1), x.Shape().Dim(2)
	wx := scope.VariableWithShape("input", shapes.Make(dtype, features, 4*width)).NodeValue(g)
	wh := scope.VariableWithShape("recurrent", shapes.Make(dtype, width, 4*width)).NodeValue(g)
	bias := scope.VariableWithShape("biases", shapes.Make(dtype, 4*width)).NodeValue(g)

	r := recurrence{graph.Transpose(x, 0, 1), wx, graph.Concatenate([]*graph.Node{wx, wh}, 0), bias, length, n, features, width}
	return graph.Transpose(r.hidden(), 0, 1)
}

// recurrence is the steps of an LSTM.
type recurrence struct {
	x                          *graph.Node // [length, examples, features]
	wx                         *graph.Node // [features, 4 width], of the gates i, f, g, o
	w                          *graph.Node // [features + width, 4 width], of inputs and hidden states
	bias                       *graph.Node // [4 width]
	length, n, features, width int
}

// hidden are the hidden states, [length, examples, width].
func (r recurrence) hidden() *graph.Node {
	if !r.x.Graph().Backend().Capabilities().Operations[compute.OpTypeDynamicSlice] {
		return r.unrolled()
	}
	inputs, cells, gates := r.forward()
	after := graph.StopGradient(graph.Slice(inputs, graph.AxisRange(1), graph.AxisRange(), graph.AxisRange(r.features)))
	// The gradient of after is that of the sums before the gates, which are
	// W' [x_t, h_{t-1}] + b with h_{t-1} a constant in this place: the loop
	// backwards has what goes through it. Nobody asks for the sums' values, and
	// no compiler computes them: so x may be added a second time, which makes its
	// gradient a product of its own, left out where it is not wanted.
	rows := graph.StopGradient(graph.Reshape(graph.Slice(inputs, graph.AxisRange(0, r.length)), r.length*r.n, -1))
	x := graph.MatMul(graph.Reshape(r.x, r.length*r.n, r.features), graph.StopGradient(r.wx))
	sums := graph.Add(graph.Add(product(rows, r.w), x), graph.ExpandAxes(r.bias, 0))
	sums = graph.Reshape(sums, r.length, r.n, 4*r.width)
	return joined(after, sums, 2, func(v *graph.Node) (values, input *graph.Node) {
		return graph.ZerosLike(v), r.backward(v, cells, gates)
	})
}

// forward gives the inputs of all steps beside the hidden states before them,
// [length + 1, examples, features + width], the cells before and after them,
// [length + 1, examples, width], and the gates, [length, examples, 4 width].
func (r recurrence) forward() (inputs, cells, gates *graph.Node) {
	inputs = graph.Pad(r.x, constant(r.x, 0), compute.PadAxis{End: 1}, compute.PadAxis{}, compute.PadAxis{End: r.width})
	cells, gates = r.empty(r.wx, r.length+1, r.width), r.empty(r.bias, r.length, 4*r.width)
	out := loop(r.length, []*graph.Node{r.none(), inputs, cells, gates, graph.StopGradient(r.w), graph.StopGradient(r.bias)},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			c, inputs, cells, gates, w, bias := s[0], s[1], s[2], s[3], s[4], s[5]
			sums := graph.Add(graph.MatMul(at(inputs, t, 0, r.features+r.width), w), graph.ExpandAxes(bias, 0))
			// What the next operations need of the gates they read where these are
			// kept: so their computation is part of the writing.
			gates = put(gates, r.activated(sums), t, 0)
			h, c := r.step(c, func(i int) *graph.Node { return at(gates, t, i*r.width, r.width) })
			next := graph.Add(t, constant(t, 1))
			return []*graph.Node{c, put(inputs, h, next, r.features), put(cells, c, next, 0), gates, w, bias}
		})
	return out[1], out[2], out[3]
}

// none is a step's zeros, [examples, width].
func (r recurrence) none() *graph.Node {
	return graph.Zeros(r.x.Graph(), shapes.Make(r.x.DType(), r.n, r.width))
}

// empty is zeros of steps, [steps, examples, width], of its own by the barrier:
// else all loops would begin with copies of the same zeros.
func (r recurrence) empty(of *graph.Node, steps, width int) *graph.Node {
	zero := graph.OptimizationBarriers(constant(r.x, 0), of)[0]
	return graph.BroadcastToDims(graph.Reshape(zero, 1, 1, 1), steps, r.n, width)
}

// backward gives the gradient of the sums before the gates, [length, examples,
// 4 width], from v, that of the hidden states after each step.
func (r recurrence) backward(v, cells, gates *graph.Node) *graph.Node {
	wh := graph.Slice(graph.StopGradient(r.w), graph.AxisRange(r.features))
	out := loop(r.length, []*graph.Node{r.none(), r.none(), r.empty(v, 1, 4*r.width), gates, v, cells, graph.Transpose(wh, 0, 1)},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			dh, dc, sums, gates, v, cells, wh := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
			t = graph.Sub(constant(t, r.length-1), t)
			gate := func(k int) *graph.Node { return at(gates, t, k*r.width, r.width) }
			i, f, u, o := gate(0), gate(1), gate(2), gate(3)
			before, tanh := at(cells, t, 0, r.width), graph.Tanh(at(cells, graph.Add(t, constant(t, 1)), 0, r.width))
			left := func(x *graph.Node) *graph.Node { return graph.Sub(constant(x, 1), x) }
			dh = graph.Add(dh, at(v, t, 0, r.width))
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
				sums = put(sums, d, constant(t, 0), k*r.width)
			}
			// The gradient takes the gates' place: by the barrier, when all who need
			// them have read them.
			b := graph.OptimizationBarriers(sums, graph.Mul(dc, f))
			sums, dc = b[0], b[1]
			d := graph.Squeeze(sums, 0)
			return []*graph.Node{graph.MatMul(d, wh), dc, sums, put(gates, d, t, 0), v, cells, wh}
		})
	return out[3]
}

// activated is the gates of sums, [examples, 4 width]. The sigmoid of x is
// (1 + tanh(x/2)) / 2, so that all gates are one operation.
func (r recurrence) activated(sums *graph.Node) *graph.Node {
	g := sums.Graph()
	i := graph.Iota(g, shapes.Make(dtypes.Int32, 1, 4*r.width), 1)
	cell := graph.LogicalAnd(graph.GreaterOrEqual(i, constant(i, 2*r.width)), graph.LessThan(i, constant(i, 3*r.width)))
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
	h, c := r.none(), r.none()
	var all []*graph.Node
	for t := range r.length {
		in := graph.Concatenate([]*graph.Node{graph.Squeeze(graph.Slice(r.x, graph.AxisElem(t)), 0), h}, 1)
		gates := r.activated(graph.Add(graph.MatMul(in, r.w), graph.ExpandAxes(r.bias, 0)))
		h, c = r.step(c, func(i int) *graph.Node {
			return graph.Slice(gates, graph.AxisRange(), graph.AxisRange(i*r.width, (i+1)*r.width))
		})
		all = append(all, h)
	}
	return graph.Stack(all, 0)
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

// at is x[t, :, from:from+size] of x of shape [length, examples, sizes].
func at(x, t *graph.Node, from, size int) *graph.Node {
	n := x.Shape().Dim(1)
	return graph.Reshape(graph.DynamicSlice(x, []*graph.Node{t, constant(t, 0), constant(t, from)}, []int{1, n, size}), n, size)
}

// put is x with x[t, :, from:from+size] = y, of shape [examples, size].
func put(x, y, t *graph.Node, from int) *graph.Node {
	return graph.DynamicUpdateSlice(x, graph.ExpandAxes(y, 0), []*graph.Node{t, constant(t, 0), constant(t, from)})
}
