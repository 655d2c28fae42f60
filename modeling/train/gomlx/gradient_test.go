package gomlx_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/layers"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/layers/attention"
	"github.com/gomlx/gomlx/ml/layers/lstm"
	"github.com/gomlx/gomlx/ml/layers/norm"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/train/loss"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// A layer under test is a function of a vector of numbers (its input and its
// weights) to something of any shape.
type layer struct {
	name string
	dims [][]int // of the variables x0, x1, ...
	f    func(scope *model.Scope, x []*graph.Node) *graph.Node
}

// The layers that models here use. What GoMLX's layers call variables of their
// own is created by them; x are further inputs to differentiate by.
var tested = []layer{
	{"dense", [][]int{{3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node { return layers.Dense(s, x[0], true, 5) }},
	{"layer norm", [][]int{{3, 6}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		return norm.LayerNorm(s, x[0], -1).Done()
	}},
	{"gelu", [][]int{{9}}, func(_ *model.Scope, x []*graph.Node) *graph.Node { return activation.Gelu(x[0]) }},
	{"gelu, approximate", [][]int{{9}}, func(_ *model.Scope, x []*graph.Node) *graph.Node { return activation.GeluApproximate(x[0]) }},
	{"gelu of ours", [][]int{{3, 3}}, func(_ *model.Scope, x []*graph.Node) *graph.Node { return gomlx.Gelu(x[0]) }},
	{"dense of ours, wider", [][]int{{2, 3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node { return gomlx.Dense(s, x[0], 5) }},
	{"dense of ours, narrower", [][]int{{3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node { return gomlx.Dense(s, x[0], 2) }},
	{"embedding", nil, func(s *model.Scope, _ []*graph.Node) *graph.Node {
		return layers.Embedding(s, graph.Const(graphOf(s), [][]int32{{1, 4, 1}, {0, 2, 4}}), dtypes.Float64, 5, 3)
	}},
	{"attention", [][]int{{2, 4, 6}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		return gomlx.SelfAttention(s, x[0], graph.Const(x[0].Graph(), keep), 2)
	}},
	{"attention without padding", [][]int{{2, 4, 6}}, func(s *model.Scope, x []*graph.Node) *graph.Node { return gomlx.SelfAttention(s, x[0], nil, 2) }},
	{"GoMLX's attention", [][]int{{2, 4, 6}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		return attention.SelfAttention(s, x[0], 2, 3).WithKeyMask(graph.Const(x[0].Graph(), keep)).Done()
	}},
	{"dropout, off", [][]int{{7}}, func(s *model.Scope, x []*graph.Node) *graph.Node { return layers.DropoutStatic(s, x[0], 0.5) }},
	{"masked mean pooling", [][]int{{2, 3, 4}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		w := graph.Const(x[0].Graph(), [][][]float64{{{1}, {1}, {0}}, {{1}, {0}, {0}}})
		return graph.Div(graph.ReduceSum(graph.Mul(x[0], w), 1), graph.ReduceSum(w, 1))
	}},
	{"max pooling", [][]int{{2, 3, 4}}, func(_ *model.Scope, x []*graph.Node) *graph.Node { return graph.ReduceMax(x[0], 1) }},
	{"softmax", [][]int{{2, 5}}, func(_ *model.Scope, x []*graph.Node) *graph.Node { return graph.Softmax(x[0], -1) }},
	{"lstm", [][]int{{2, 4, 3}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		return graph.Square(gomlx.LSTM(s.In("b"), gomlx.LSTM(s.In("a"), x[0], 3), 2))
	}},
	{"lstm, one step", [][]int{{2, 1, 3}}, func(s *model.Scope, x []*graph.Node) *graph.Node { return gomlx.LSTM(s, x[0], 3) }},
	{"GoMLX's lstm", [][]int{{2, 4, 3}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		all, last, cell := lstm.New(s, x[0], 3).Done()
		return graph.Add(graph.ReduceAllSum(graph.Square(all)), graph.Add(graph.ReduceAllSum(graph.Sin(last)), graph.ReduceAllSum(cell)))
	}},
}

// The parts of the networks of package llmperf, of its losses and of package
// regress, as they put them together.
var composed = []layer{
	{"perceptron", [][]int{{4, 3}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		h := layers.Dense(s.In("hidden"), x[0], true, 5)
		return layers.Dense(s.In("out"), graph.Max(h, graph.ZerosLike(h)), true, 1)
	}},
	{"places", [][]int{{2, 3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		places := s.VariableWithShape("embeddings", shapes.Make(dtypes.Float64, 6, 4)).NodeValue(x[0].Graph())
		return graph.Add(x[0], graph.ExpandLeftToRank(graph.Slice(places, graph.AxisRange(0, 3)), 3))
	}},
	{"numbers beside tokens", [][]int{{2, 3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		g := x[0].Graph()
		facts := graph.Const(g, [][][]float64{{{1, 0, 0.5}, {0, 0, 0}, {1, 1, 0}}, {{1, 0, -0.25}, {0, 0, 0}, {0, 0, 0}}})
		has := graph.Const(g, [][][]float64{{{1}, {0}, {1}}, {{1}, {0}, {0}}})
		y := activation.GeluApproximate(layers.Dense(s.In("number_hidden"), facts, true, 5))
		return graph.Add(x[0], graph.Mul(layers.Dense(s.In("number"), y, true, 4), has))
	}},
	{"block of an encoder", [][]int{{2, 4, 6}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		y := gomlx.SelfAttention(s.In("attention"), norm.LayerNorm(s.In("norm1"), x[0], -1).Done(), graph.Const(x[0].Graph(), keep), 2)
		z := graph.Add(x[0], y)
		y = activation.GeluApproximate(layers.Dense(s.In("wide"), norm.LayerNorm(s.In("norm2"), z, -1).Done(), true, 8))
		return graph.Add(z, layers.Dense(s.In("narrow"), y, true, 6))
	}},
	{"pooling of what is there", [][]int{{2, 4, 3}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		g := x[0].Graph()
		there := graph.BroadcastToShape(graph.ExpandAxes(graph.Const(g, keep), -1), x[0].Shape())
		mean := graph.Div(graph.ReduceSum(graph.Where(there, x[0], graph.ZerosLike(x[0])), 1), graph.Const(g, [][]float64{{3}, {2}}))
		low := graph.BroadcastToShape(graph.Scalar(g, dtypes.Float64, -1e9), x[0].Shape())
		return graph.Concatenate([]*graph.Node{mean, graph.ReduceMax(graph.Where(there, x[0], low), 1)}, -1)
	}},
	{"head", [][]int{{3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		out := layers.Dense(s.In("head"), activation.GeluApproximate(layers.Dense(s.In("hidden"), x[0], true, 5)), true, 2)
		location, scale := column(out, 0), graph.AddScalar(graph.Softplus(column(out, 1)), 0.01)
		return graph.Concatenate([]*graph.Node{location, scale}, 0)
	}},
	{"Laplace's likelihood", [][]int{{4, 2}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		away, scale := standardised(x[0])
		return graph.AddScalar(graph.Add(graph.Abs(away), graph.Log(scale)), math.Ln2)
	}},
	{"the normal likelihood", [][]int{{4, 2}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		away, scale := standardised(x[0])
		return graph.Add(graph.MulScalar(graph.Square(away), 0.5), graph.Log(scale))
	}},
	{"mean square error", [][]int{{4, 1}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		y := graph.Const(x[0].Graph(), [][]float64{{0.5}, {-1}, {2}, {0.1}})
		return loss.MeanSquaredError([]*graph.Node{y}, x)
	}},
	{"root mean square norm", [][]int{{3, 4}}, func(s *model.Scope, x []*graph.Node) *graph.Node {
		gain := s.VariableWithShape("gain", shapes.Make(dtypes.Float64, 4)).NodeValue(x[0].Graph())
		square := graph.ReduceAndKeep(graph.Square(x[0]), graph.ReduceMean, -1)
		y := graph.Div(x[0], graph.Sqrt(graph.AddScalar(square, 1e-5))) // GoMLX knows no gradient of Rsqrt
		return graph.Mul(y, graph.ExpandLeftToRank(gain, 2))
	}},
	{"gated linear unit", [][]int{{3, 4}, {5, 4}, {5, 4}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		gate := graph.Dot(x[0], x[1]).General([]int{1}, nil, []int{1}, nil)
		return graph.Mul(graph.Mul(gate, graph.Sigmoid(gate)), graph.Dot(x[0], x[2]).General([]int{1}, nil, []int{1}, nil))
	}},
	{"attention of grouped heads to what is before", [][]int{{2, 2, 2, 4, 3}, {2, 2, 4, 3}, {2, 2, 4, 3}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		g := x[0].Graph() // x: queries [n, kv heads, group, l, each], keys and values [n, kv heads, l, each]
		scores := graph.Dot(x[0], x[1]).General([]int{4}, []int{0, 1}, []int{3}, []int{0, 1})
		square := shapes.Make(dtypes.Int32, 4, 4)
		later := graph.GreaterThan(graph.Iota(g, square, 1), graph.Iota(g, square, 0))
		far := graph.Where(later, graph.Scalar(g, dtypes.Float64, -1e9), graph.Scalar(g, dtypes.Float64, 0))
		scores = graph.Add(scores, graph.BroadcastToShape(graph.ExpandLeftToRank(far, 5), scores.Shape()))
		weights := graph.Exp(graph.Sub(scores, graph.StopGradient(graph.ReduceAndKeep(scores, graph.ReduceMax, -1))))
		y := graph.Dot(weights, x[2]).General([]int{4}, []int{0, 1}, []int{2}, []int{0, 1})
		return graph.Div(y, graph.ReduceAndKeep(weights, graph.ReduceSum, -1))
	}},
	{"logarithm of a sum", [][]int{{3, 5}}, func(_ *model.Scope, x []*graph.Node) *graph.Node {
		most := graph.StopGradient(graph.ReduceAndKeep(x[0], graph.ReduceMax, -1))
		return graph.Add(graph.Log(graph.ReduceAndKeep(graph.Exp(graph.Sub(x[0], most)), graph.ReduceSum, -1)), most)
	}},
}

// column is one column of x, [n, columns].
func column(x *graph.Node, i int) *graph.Node {
	return graph.Squeeze(graph.Slice(x, graph.AxisRange(), graph.AxisElem(i)), -1)
}

// standardised is how far targets are from predictions in units of the scale,
// and the scale, where x[:, 0] is the location and x[:, 1] leads to the scale.
func standardised(x *graph.Node) (away, scale *graph.Node) {
	y := graph.Const(x.Graph(), []float64{0.5, -1, 2, 0.1})
	scale = graph.AddScalar(graph.Softplus(column(x, 1)), 0.01)
	return graph.Div(graph.Sub(y, column(x, 0)), scale), scale
}

// keep is the padding of two sequences of four tokens, three and two of them real.
var keep = [][]bool{{true, true, true, false}, {true, true, false, false}}

// graphOf finds the graph that is being built for a layer without inputs.
var building *graph.Graph

func graphOf(*model.Scope) *graph.Graph { return building }

// probe builds sum(w * f(x)) with fixed weights w, and its gradient by every
// trainable variable.
func probe(l layer, wantGradient bool) func(scope *model.Scope, g *graph.Graph) []*graph.Node {
	return func(scope *model.Scope, g *graph.Graph) []*graph.Node {
		building = g
		scope.Store().SetTraining(g, false)
		var x []*graph.Node
		for i, d := range l.dims {
			x = append(x, scope.In("x%d", i).VariableWithShape("x", shapes.Make(dtypes.Float64, d...)).NodeValue(g))
		}
		y := l.f(scope.In("layer"), x)
		n := y.Shape().Size()
		w := make([]float64, n)
		rng := rand.New(rand.NewPCG(3, 3))
		for i := range w {
			w[i] = rng.NormFloat64()
		}
		sum := graph.ReduceAllSum(graph.Mul(graph.Reshape(y, n), graph.Const(g, w)))
		if !wantGradient {
			return []*graph.Node{sum}
		}
		return append([]*graph.Node{sum}, scope.BuildTrainableVariablesGradientsGraph(sum)...)
	}
}

// values are random numbers for the variables of a store, in order.
func values(store *model.Store) [][]float64 {
	rng := rand.New(rand.NewPCG(4, 4))
	var all [][]float64
	for v := range store.IterVariables() {
		if !v.Trainable {
			continue
		}
		x := make([]float64, v.Shape().Size())
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		all = append(all, x)
	}
	return all
}

// set gives the trainable variables of a store their numbers.
func set(t *testing.T, store *model.Store, all [][]float64) {
	t.Helper()
	for i := range all {
		setOne(t, store, all, i)
	}
}

// setOne does so for variable i.
func setOne(t *testing.T, store *model.Store, all [][]float64, i int) {
	t.Helper()
	at := 0
	for v := range store.IterVariables() {
		if !v.Trainable {
			continue
		}
		if at == i {
			if err := v.SetValue(tensors.FromFlatDataAndDimensions(slices.Clone(all[i]), v.Shape().Dimensions...)); err != nil {
				t.Fatal(err)
			}
			return
		}
		at++
	}
}

// In double precision, where central differences with h = 1e-5 have an error
// of about h^2 f”' / 6 + eps f / h, some 1e-10 here, gradients must agree to
// 1e-6 of the largest; and the backends with one another to 1e-9.
func TestGradientsOfEveryLayer(t *testing.T) {
	for _, l := range slices.Concat(tested, composed) {
		t.Run(l.name, func(t *testing.T) {
			var first [][]float64
			for _, name := range backends(t) {
				choice, err := backend.Open(name)
				if err != nil {
					t.Fatal(err)
				}
				store := model.NewStore()
				defer store.Finalize()
				gradient, err := model.NewExec(choice.Backend, store, probe(l, true))
				if err != nil {
					t.Fatal(err)
				}
				value, err := model.NewExec(choice.Backend, store, probe(l, false))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := value.Call(); err != nil { // creates the variables
					t.Fatal(err)
				}
				x := values(store)
				if len(x) == 0 {
					t.Fatal("nothing to differentiate by")
				}
				set(t, store, x)
				out, err := gradient.Call()
				if err != nil {
					t.Fatal(err)
				}
				var got [][]float64
				for _, o := range out {
					flat, err := tensors.CopyFlatData[float64](o)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, flat)
				}
				at := func(v int) float64 {
					setOne(t, store, x, v)
					o, err := value.Call()
					if err != nil {
						t.Fatal(err)
					}
					return o[0].Value().(float64)
				}
				largest, worst := 0.0, 0.0
				for v := range x {
					for i := range x[v] {
						const h = 1e-5
						was := x[v][i]
						x[v][i] = was + h
						up := at(v)
						x[v][i] = was - h
						down := at(v)
						x[v][i] = was
						difference := (up - down) / (2 * h)
						largest = math.Max(largest, math.Abs(difference))
						worst = math.Max(worst, math.Abs(difference-got[1+v][i]))
					}
					setOne(t, store, x, v) // the store has the last element shifted
				}
				if largest == 0 || worst > 1e-6*largest || math.IsNaN(worst) {
					t.Errorf("%s: gradients differ from finite differences by %g, the largest is %g", name, worst, largest)
				}
				if first == nil {
					first = got
					continue
				}
				for v := range got {
					for i := range got[v] {
						if d := math.Abs(got[v][i] - first[v][i]); d > 1e-9*math.Max(1, largest) || math.IsNaN(d) {
							t.Fatalf("output %d, element %d: %v on %s, %v on go", v, i, got[v][i], name, first[v][i])
						}
					}
				}
			}
		})
	}
}
