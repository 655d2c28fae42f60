package gomlx

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"
)

// Variables of the optimiser stand below this scope, by the paths of the
// weights that they belong to.
const (
	optimizerScope = "/adamw"
	normPath       = optimizerScope + "/gradient_norm"
)

// The constants of Kingma and Ba (2015).
const (
	beta1   = 0.9
	beta2   = 0.999
	epsilon = 1e-8
)

// rates are the numbers of a step that change from step to step, so that one
// compiled program serves all: the learning rate, and the corrections of the
// moments' bias at the t-th step, computed here in double precision.
func rates(rate float64, t int64) []float32 {
	return []float32{float32(rate), float32(1 / (1 - math.Pow(beta1, float64(t)))), float32(1 / (1 - math.Pow(beta2, float64(t))))}
}

// adamW is AdamW (Loshchilov and Hutter 2019) with the gradient clipped to a
// global norm (Pascanu et al. 2013). GoMLX's own Adam has no clipping by
// norm, decays biases and gains as well, and rounds its updates to the type of
// the weights; here vectors are not decayed, and weights of another type than
// float32 have float32 masters (Micikevicius et al. 2018). A step whose
// gradient is not finite changes nothing, and neither do those after it in a
// call.
type adamW struct {
	clip, decay float64
	next        func(c *call, step int) (loss *graph.Node) // of the model with the weights so far
	remember    bool                                       // the gradient's norm, in a variable
}

// UpdateGraph implements GoMLX's optimizer.Interface.
func (o *adamW) UpdateGraph(scope *model.Scope, g *graph.Graph, loss *graph.Node) {
	c := callOf(g)
	var all []*graph.Node
	var sound *graph.Node
	for step := range c.inputs {
		if step > 0 {
			loss = o.next(c, step)
		}
		var norm *graph.Node
		norm, sound = o.update(scope, scope.BuildTrainableVariablesGradientsGraph(loss), step, sound)
		all = append(all, graph.ConvertDType(loss, dtypes.Float32), norm)
	}
	c.outcome = graph.Reshape(graph.Stack(all, 0), len(c.inputs), 2)
}

// Clear implements GoMLX's optimizer.Interface.
func (o *adamW) Clear(scope *model.Scope) error {
	return scope.Store().DeleteVariablesInScope(optimizerScope)
}

// UpdateGraphWithGradients implements GoMLX's train.OptimizeWithGradients.
func (o *adamW) UpdateGraphWithGradients(scope *model.Scope, gradients []*graph.Node, _ dtypes.DType) {
	o.update(scope, gradients, 0, nil)
}

// update is a step of a call. It gives the gradient's norm, and whether this
// and all steps before it (before, nil for none) were sound.
func (o *adamW) update(scope *model.Scope, gradients []*graph.Node, step int, before *graph.Node) (norm, sound *graph.Node) {
	g := gradients[0].Graph()
	vector := callOf(g).rates
	at := func(i int) *graph.Node {
		return graph.Reshape(graph.Slice(vector, graph.AxisElem(step), graph.AxisElem(i)))
	}
	rate, unbias1, unbias2 := at(0), at(1), at(2)

	var learnt []*model.Variable
	for v := range scope.Store().IterVariables() {
		if v.Trainable && v.InUseByGraph(g) {
			learnt = append(learnt, v)
		}
	}
	square := graph.Scalar(g, dtypes.Float32, 0)
	for i, grad := range gradients {
		gradients[i] = graph.ConvertDType(grad, dtypes.Float32)
		square = graph.Add(square, graph.ReduceAllSum(graph.Square(gradients[i])))
	}
	norm = graph.Sqrt(square)
	if o.remember {
		scope.Store().GetVariable(normPath).SetNodeValue(norm)
	}
	sound = graph.IsFinite(norm)
	if before != nil {
		sound = graph.LogicalAnd(before, sound)
	}
	if o.clip > 0 {
		limit := graph.Scalar(g, dtypes.Float32, o.clip)
		factor := graph.Div(limit, graph.Max(norm, limit))
		for i := range gradients {
			gradients[i] = graph.Mul(gradients[i], factor)
		}
	}
	for i, v := range learnt {
		keep := func(fresh, old *graph.Node) *graph.Node { return graph.Where(sound, fresh, old) }
		s := slots(scope.Store(), v)
		old1, old2 := s.m1.NodeValue(g), s.m2.NodeValue(g)
		m1 := graph.Add(graph.MulScalar(old1, beta1), graph.MulScalar(gradients[i], 1-beta1))
		m2 := graph.Add(graph.MulScalar(old2, beta2), graph.MulScalar(graph.Square(gradients[i]), 1-beta2))
		s.m1.SetNodeValue(keep(m1, old1))
		s.m2.SetNodeValue(keep(m2, old2))
		change := graph.Div(graph.Mul(m1, unbias1), graph.AddScalar(graph.Sqrt(graph.Mul(m2, unbias2)), epsilon))
		weights := v
		if s.master != nil {
			weights = s.master
		}
		old := weights.NodeValue(g)
		if o.decay > 0 && v.Shape().Rank() >= 2 {
			change = graph.Add(change, graph.MulScalar(old, o.decay))
		}
		fresh := keep(graph.Sub(old, graph.Mul(rate, change)), old)
		weights.SetNodeValue(fresh)
		if s.master != nil {
			v.SetNodeValue(graph.ConvertDType(fresh, v.DType()))
		}
	}
	return norm, sound
}

// slot is what the optimiser keeps for one variable.
type slot struct{ m1, m2, master *model.Variable }

// slots finds the optimiser's variables for v, and makes those that are not
// there: moments of zero, and no value yet for the master (see Prepare).
func slots(store *model.Store, v *model.Variable) slot {
	of := func(kind string) *model.Variable {
		path := optimizerScope + "/" + kind + v.Path()
		if have := store.GetVariable(path); have != nil {
			return have
		}
		return store.VariableWithShape(path, shapes.Make(dtypes.Float32, v.Shape().Dimensions...), initializer.Zero).SetTrainable(false)
	}
	s := slot{m1: of("m1"), m2: of("m2")}
	if v.DType() != dtypes.Float32 {
		s.master = of("master")
	}
	return s
}
