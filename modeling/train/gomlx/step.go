package gomlx

import (
	"fmt"
	"strconv"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	gtrain "github.com/gomlx/gomlx/ml/train"
	"github.com/gomlx/gomlx/ml/train/metric"

	"github.com/rooflab/rooflab/modeling/backend/engines"
	"github.com/rooflab/rooflab/modeling/train"
)

// call is one call of the trainer, as nodes of its graph. GoMLX's trainer takes
// the first step; the others follow in the optimiser's part of the graph, each
// with the weights that the one before it left.
type call struct {
	inputs, labels [][]*graph.Node // of each step
	rates          *graph.Node     // [steps, 3]
	outcome        *graph.Node     // [steps, 2], loss and norm of the gradient; nil where gradients are accumulated
}

const callParam = optimizerScope + "/call"

func callOf(g *graph.Graph) *call {
	c, _ := model.GetGraphParam(g, callParam)
	return c.(*call) //nolint:forcetypeassert // newTrainer's
}

// newTrainer makes the trainer. A batch's inputs are those of all steps of a
// call, then the optimiser's (rates); its labels are those of all steps; its
// Spec is the number of steps, nil for one.
func (n *Network) newTrainer() *gtrain.Trainer {
	forward := func(scope *model.Scope, spec any, inputs []*graph.Node) []*graph.Node {
		steps, last := 1, len(inputs)-1
		if k, ok := spec.(int); ok {
			steps = k
		}
		c := &call{inputs: shared(inputs[:last], steps), rates: inputs[last]}
		model.SetGraphParam(inputs[last].Graph(), callParam, c)
		return n.model.Forward(scope, n.dtype, c.inputs[0])
	}
	mean := func(labels, predictions []*graph.Node) *graph.Node {
		return graph.ReduceAllMean(n.perExample(labels, predictions))
	}
	loss := func(labels, predictions []*graph.Node) *graph.Node {
		c := callOf(predictions[0].Graph())
		c.labels = shared(labels, len(c.inputs))
		return mean(c.labels[0], predictions)
	}
	next := func(c *call, step int) *graph.Node {
		g := c.rates.Graph()
		before := gtrain.TotalLoss(g)
		l := mean(c.labels[step], n.model.Forward(n.store.RootScope(), n.dtype, c.inputs[step]))
		if all := gtrain.TotalLoss(g); all != before { // what the model itself adds to the loss
			l = graph.Add(l, graph.Sub(all, before))
		}
		return l
	}
	opt := &adamW{clip: orDefault(n.opt.Clip, 1), decay: orDefault(n.opt.Decay, 0.01), next: next, remember: n.remembers()}
	return gtrain.NewTrainer(n.choice.Backend, n.store, forward, loss, opt, []metric.Interface{outcome{}}, nil)
}

// shared deals nodes out to steps.
func shared(nodes []*graph.Node, steps int) (of [][]*graph.Node) {
	each := len(nodes) / steps
	for i := range steps {
		of = append(of, nodes[i*each:(i+1)*each])
	}
	return of
}

// remembers says whether the gradient's norm comes back in a variable: GoMLX
// asks metrics before it applies accumulated gradients, and on several devices
// metrics are one number.
func (n *Network) remembers() bool { return n.opt.Accumulate > 1 || n.devices != nil }

// outcome gives a call's outcome to the caller, as a metric of GoMLX's trainer.
type outcome struct{}

func (outcome) Name() string                         { return "Loss and norm of each step" }
func (outcome) ShortName() string                    { return "steps" }
func (outcome) ScopeName() string                    { return "steps" }
func (outcome) MetricType() string                   { return "steps" }
func (outcome) PrettyPrint(t *tensors.Tensor) string { return fmt.Sprint(t.Value()) }
func (outcome) Reset(*model.Scope)                   {}

// UpdateGraph implements GoMLX's metric.Interface.
func (outcome) UpdateGraph(_ *model.Scope, _, predictions []*graph.Node) *graph.Node {
	g := predictions[0].Graph()
	if o := callOf(g).outcome; o != nil {
		return o
	}
	return graph.Const(g, float32(0))
}

// Step implements train.Stepper.
func (n *Network) Step(batches []train.Batch, rate float64) (res train.StepResult, err error) {
	if want := max(n.opt.Accumulate, 1); len(batches) != want {
		return res, fmt.Errorf("a step of %d batches, the network was made for Accumulate = %d", len(batches), want)
	}
	if n.remembers() {
		return n.remembered(batches, rate)
	}
	all, err := n.Steps(batches, []float64{rate})
	if err != nil {
		return res, err
	}
	return all[0], nil
}

// Steps implements train.Strider.
func (n *Network) Steps(batches []train.Batch, rate []float64) (results []train.StepResult, err error) {
	defer caught(&err)
	if len(batches) == 0 || len(batches) != len(rate) || n.remembers() {
		return nil, fmt.Errorf("%d batches and %d rates for a call of steps with Accumulate = %d on %d devices: want as many rates as batches, and one of each",
			len(batches), len(rate), n.opt.Accumulate, n.opt.Devices)
	}
	var b gtrain.Batch
	if len(batches) > 1 {
		b.Spec = len(batches)
	}
	var numbers []float32
	for i, batch := range batches {
		in, labels, err := tensorsOfBatch(batch)
		if err != nil {
			return nil, err
		}
		b.Inputs, b.Labels = append(b.Inputs, in...), append(b.Labels, labels...)
		numbers = append(numbers, rates(rate[i], n.taken+1+int64(i))...)
	}
	b.Inputs = append(b.Inputs, tensors.FromFlatDataAndDimensions(numbers, len(batches), 3))
	metrics, err := n.trainer.TrainStep(b)
	if err != nil {
		return nil, shapesOf(err, batches[0])
	}
	defer finalize(metrics)
	n.compiled(batches)
	flat, err := tensors.CopyFlatData[float32](metrics[len(metrics)-1])
	if err != nil {
		return nil, err
	}
	for i := range batches {
		r := train.StepResult{Loss: float64(flat[2*i]), GradNorm: float64(flat[2*i+1])}
		results = append(results, r)
		if !finite(r.GradNorm) {
			break // neither this step nor those after it changed anything
		}
		n.taken++
	}
	return results, nil
}

// compiled tidies up after a compiler: what it leaves in malloc's keeping is
// given back once for each shape of batches.
func (n *Network) compiled(batches []train.Batch) {
	var room [64]byte // this is part of every step
	shape := strconv.AppendInt(room[:0], int64(len(batches)), 10)
	for _, a := range batches[0].Inputs {
		for _, d := range a.Dims {
			shape = strconv.AppendInt(append(shape, ' '), int64(d), 10)
		}
		shape = append(shape, ',')
	}
	if !n.shapes[string(shape)] {
		n.shapes[string(shape)] = true
		engines.Trim()
	}
}

// remembered is Step where the gradient's norm comes back in a variable.
func (n *Network) remembered(batches []train.Batch, rate float64) (res train.StepResult, err error) {
	defer caught(&err)
	for _, b := range batches {
		in, labels, err := tensorsOfBatch(b)
		if err != nil {
			return res, err
		}
		in = append(in, tensors.FromFlatDataAndDimensions(rates(rate, n.taken+1), 1, 3))
		loss, err := n.meanLoss(in, labels)
		if err != nil {
			return res, shapesOf(err, b)
		}
		n.compiled(batches)
		res.Loss += loss / float64(len(batches))
	}
	norm, err := n.scalar(normPath)
	if err != nil {
		return res, err
	}
	res.GradNorm = norm
	if finite(norm) {
		n.taken++
	}
	return res, nil
}

func (n *Network) meanLoss(in, labels []*tensors.Tensor) (float64, error) {
	var metrics []*tensors.Tensor
	var err error
	if n.devices != nil {
		var b gtrain.DistributedBatch
		if b, err = n.devices.shard(in, labels); err == nil {
			metrics, err = n.trainer.DistributedTrainStep(n.devices.strategy(), nil, b)
		}
	} else {
		metrics, err = n.trainer.TrainStep(gtrain.Batch{Inputs: in, Labels: labels})
	}
	if err != nil {
		return 0, err
	}
	defer finalize(metrics)
	l, ok := metrics[0].Value().(float32)
	if !ok {
		return 0, fmt.Errorf("the loss is a %s, want a float32", metrics[0].Shape())
	}
	return float64(l), nil
}

func finalize(ts []*tensors.Tensor) {
	for _, t := range ts {
		_ = t.FinalizeAll()
	}
}

func tensorsOfBatch(b train.Batch) (in, labels []*tensors.Tensor, err error) {
	if in, err = tensorsOf(b.Inputs); err != nil {
		return nil, nil, err
	}
	labels, err = tensorsOf(b.Labels)
	return in, labels, err
}
