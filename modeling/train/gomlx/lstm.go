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
func LSTM(scope *model.Scope, x *graph.Node, width int) *graph.Node {
	if x.Rank() != 3 {
		panic(fmt.Errorf("an LSTM over the shape %s, want [examples, length, features]", x.Shape()))
	}
	g, dtype := x.Graph(), x.DType()
	wx := scope.VariableWithShape("input", shapes.Make(dtype, x.Shape().Dim(2), 4*width)).NodeValue(g)
	wh := scope.VariableWithShape("recurrent", shapes.Make(dtype, width, 4*width)).NodeValue(g)
	bias := scope.VariableWithShape("biases", shapes.Make(dtype, 4*width)).NodeValue(g)

	r := recurrence{graph.Transpose(x, 0, 1), wx, wh, bias, x.Shape().Dim(1), x.Shape().Dim(0), width}
	return graph.Transpose(r.hidden(), 0, 1)
}

// recurrence is the steps of an LSTM. Inside, the time is the first axis.
type recurrence struct {
	x                *graph.Node // [length, examples, features]
	wx               *graph.Node // [features, 4 width], of the gates i, f, g, o
	wh               *graph.Node // [width, 4 width]
	bias             *graph.Node // [4 width]
	length, n, width int
}

// hidden are the hidden states, [length, examples, width].
func (r recurrence) hidden() *graph.Node {
	rows := r.length * r.n
	x := product(graph.Reshape(r.x, rows, -1), r.wx) // of all steps at once
	steps := graph.Reshape(x, r.length, r.n, 4*r.width)
	if !r.x.Graph().Backend().Capabilities().Operations[compute.OpTypeDynamicSlice] {
		return r.unrolled(steps)
	}
	states, slope := r.forward(graph.StopGradient(steps))
	// The gradient of the states is that of the sums before the gates, which are
	// x_t Wx + h_{t-1} Wh + b with h_{t-1} a constant in this place: the loop
	// backwards has what goes through it. Nobody asks for the sums' values, and
	// no compiler computes them.
	before := graph.Reshape(graph.Slice(states, graph.AxisRange(0, r.length)), rows, r.width)
	sums := graph.Add(graph.Add(x, product(before, r.wh)), graph.ExpandAxes(r.bias, 0))
	sums = graph.Reshape(sums, r.length, r.n, 4*r.width)
	return joined(graph.Slice(states, graph.AxisRange(1)), sums, 2, func(v *graph.Node) (values, input *graph.Node) {
		return graph.ZerosLike(v), r.backward(v, slope)
	})
}

// slopes are the derivatives that the loop backwards needs, of each step:
type slopes struct {
	sums    *graph.Node // of the cell by the sums of i, f, g, of the hidden state by that of o, [length, examples, 4 width]
	through *graph.Node // of the hidden state by the cell, [length, examples, width]
	forget  *graph.Node // of the cell by the one before, [length, examples, width]
}

// forward gives the hidden states before all steps and after the last,
// [length + 1, examples, width], from the products of x, [length, examples, 4
// width]. A step's slopes of sums take the place of its product.
func (r recurrence) forward(x *graph.Node) (states *graph.Node, s slopes) {
	out := loop(r.length, []*graph.Node{r.none(), r.none(), r.empty(r.wx, r.length+1), x, r.empty(r.wh, r.length), r.empty(r.bias, r.length),
		graph.StopGradient(r.wh), graph.StopGradient(r.bias)},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			h, c, states, sums, through, forget, wh, bias := s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]
			gates := r.activated(graph.Add(graph.Add(graph.MatMul(h, wh), at(sums, t, 0, 4*r.width)), graph.ExpandAxes(bias, 0)))
			// By the barriers compilers compute the gates once, and the cell's tanh,
			// instead of again for each of those who need them.
			b := graph.OptimizationBarriers(gates, c)
			i, f, u, o := r.gate(b[0], 0), r.gate(b[0], 1), r.gate(b[0], 2), r.gate(b[0], 3)
			before := b[1]
			c = r.cell(i, f, u, before)
			b = graph.OptimizationBarriers(graph.Tanh(c), c)
			tanh, cell := b[0], b[1]
			h = graph.Mul(o, tanh)
			for k, slope := range []*graph.Node{
				graph.Mul(u, sigmoidSlope(i)), graph.Mul(before, sigmoidSlope(f)), graph.Mul(i, tanhSlope(u)), graph.Mul(tanh, sigmoidSlope(o)),
			} {
				sums = put(sums, slope, t, k*r.width)
			}
			through = put(through, graph.Mul(o, tanhSlope(tanh)), t, 0)
			return []*graph.Node{h, cell, put(states, h, graph.Add(t, constant(t, 1)), 0), sums, through, put(forget, f, t, 0), wh, bias}
		})
	return graph.StopGradient(out[2]), slopes{out[3], out[4], out[5]}
}

// tanhSlope and sigmoidSlope are the derivatives by the argument, from the value.
func tanhSlope(y *graph.Node) *graph.Node    { return graph.Sub(constant(y, 1), graph.Mul(y, y)) }
func sigmoidSlope(y *graph.Node) *graph.Node { return graph.Mul(y, graph.Sub(constant(y, 1), y)) }

// none is a step's zeros, [examples, width].
func (r recurrence) none() *graph.Node {
	return graph.Zeros(r.x.Graph(), shapes.Make(r.x.DType(), r.n, r.width))
}

// empty is zeros of steps, [steps, examples, width], of its own by the barrier:
// else all loops would begin with copies of the same zeros.
func (r recurrence) empty(of *graph.Node, steps int) *graph.Node {
	zero := graph.OptimizationBarriers(constant(r.x, 0), of)[0]
	return graph.BroadcastToDims(graph.Reshape(zero, 1, 1, 1), steps, r.n, r.width)
}

// backward gives the gradient of the sums before the gates, [length, examples,
// 4 width], from v, that of the hidden states after each step.
func (r recurrence) backward(v *graph.Node, s slopes) *graph.Node {
	wh := graph.Transpose(graph.StopGradient(r.wh), 0, 1)
	out := loop(r.length, []*graph.Node{r.none(), r.none(), s.sums, v, s.through, s.forget, wh},
		func(t *graph.Node, s []*graph.Node) []*graph.Node {
			dh, dc, sums, v, through, forget, wh := s[0], s[1], s[2], s[3], s[4], s[5], s[6]
			t = graph.Sub(constant(t, r.length-1), t)
			dh = graph.Add(dh, at(v, t, 0, r.width))
			dc = graph.Add(dc, graph.Mul(dh, at(through, t, 0, r.width)))
			b := graph.OptimizationBarriers(dh, dc)
			dh, dc = b[0], b[1]
			each := func(x *graph.Node) *graph.Node { // for each gate
				return graph.BroadcastToDims(graph.ExpandAxes(x, 1), r.n, 4, r.width)
			}
			gate := graph.Iota(t.Graph(), shapes.Make(dtypes.Int32, r.n, 4, r.width), 1)
			d := graph.Where(graph.Equal(gate, constant(gate, 3)), each(dh), each(dc))
			d = graph.Mul(at(sums, t, 0, 4*r.width), graph.Reshape(d, r.n, 4*r.width))
			// The gradient takes the slopes' place: by the barrier, when all who need
			// them have read them.
			b = graph.OptimizationBarriers(d, graph.Mul(dc, at(forget, t, 0, r.width)))
			d, dc = b[0], b[1]
			return []*graph.Node{graph.MatMul(d, wh), dc, put(sums, d, t, 0), v, through, forget, wh}
		})
	return out[2]
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

// gate is the k-th of gates, [examples, 4 width].
func (r recurrence) gate(gates *graph.Node, k int) *graph.Node {
	return graph.Slice(gates, graph.AxisRange(), graph.AxisRange(k*r.width, (k+1)*r.width))
}

// cell is the next cell by the gates.
func (r recurrence) cell(i, f, u, c *graph.Node) *graph.Node {
	return graph.Add(graph.Mul(f, c), graph.Mul(i, u))
}

// unrolled is hidden without a loop.
func (r recurrence) unrolled(x *graph.Node) *graph.Node {
	h, c := r.none(), r.none()
	var all []*graph.Node
	for t := range r.length {
		sums := graph.Add(graph.MatMul(h, r.wh), graph.Squeeze(graph.Slice(x, graph.AxisElem(t)), 0))
		gates := r.activated(graph.Add(sums, graph.ExpandAxes(r.bias, 0)))
		c = r.cell(r.gate(gates, 0), r.gate(gates, 1), r.gate(gates, 2), c)
		h = graph.Mul(r.gate(gates, 3), graph.Tanh(c))
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
