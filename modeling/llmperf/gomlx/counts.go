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
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// counts are log2 of how often what a token stands for is executed, [n, l], and
// where that is above 0.
func counts(in []*graph.Node) (log2, some *graph.Node) {
	log2 = in[len(in)-1]
	return log2, graph.GreaterThan(log2, graph.ZerosLike(log2))
}

// counted adds to each token's vector how often it is executed.
func counted(scope *model.Scope, c llmperf.Config, x *graph.Node, in []*graph.Node) *graph.Node {
	log2, some := counts(in)
	has := graph.ConvertDType(some, dtypes.Float32)
	facts := graph.ConvertDType(graph.Stack([]*graph.Node{has, graph.MulScalar(log2, 1.0/16)}, -1), x.DType())
	y := gomlx.Gelu(gomlx.Dense(scope.In("count_hidden"), facts, llmperf.Channel))
	y = gomlx.Dense(scope.In("count"), y, c.Width)
	return graph.Add(x, graph.Mul(y, graph.ConvertDType(graph.ExpandAxes(has, -1), x.DType())))
}

// What an execution takes before anything is learnt, and what a launch does, in
// seconds: an operation of one core, and the call of a driver.
const (
	firstCost   = 1e-10
	firstLaunch = 3e-6
)

// spent is the standardised logarithm of the time that the tokens of x, float32
// [n, l, width], take together, each what one execution of it takes times how
// often it is executed. What an execution takes is read from the token's vector,
// which knows of its neighbours, of the sizes and of the arguments.
func spent(scope *model.Scope, c llmperf.Config, x *graph.Node, in []*graph.Node) *graph.Node {
	g := x.Graph()
	log2, some := counts(in)
	fill := func(v float64) *graph.Node {
		return graph.BroadcastToShape(graph.Scalar(g, dtypes.Float32, v), log2.Shape())
	}
	cost := graph.Squeeze(layers.Dense(scope.In("cost").WithInitializer(initializer.RandomNormalFn(scope, 0.02)), x, true, 1), -1)
	at := graph.Iota(g, shapes.Make(dtypes.Int32, log2.Shape().Dimensions...), 1)
	first := graph.Where(graph.Equal(at, graph.ZerosLike(at)), fill(math.Log(firstLaunch)), fill(math.Log(firstCost)))
	each := graph.Add(graph.Add(cost, first), graph.MulScalar(log2, math.Ln2))
	each = graph.Where(some, each, fill(-1e9))
	most := graph.StopGradient(graph.ReduceMax(each, 1))
	sum := graph.ReduceSum(graph.Exp(graph.Sub(each, graph.BroadcastToShape(graph.ExpandAxes(most, -1), each.Shape()))), 1)
	took := graph.MulScalar(graph.AddScalar(graph.Add(graph.Log(sum), most), -c.Mean), 1/c.SD)
	// Of a launch that cannot be analysed no token has a count: the mean, then.
	return graph.Where(graph.GreaterThan(graph.ReduceMax(log2, 1), graph.ZerosLike(took)), took, graph.ZerosLike(took))
}
