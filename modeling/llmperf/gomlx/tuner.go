package gomlx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// tuner is a network that begins with a pre-trained one. With frozen layers,
// the network that learns begins where they end: its first input is what they
// make of the tokens, [n, l, width], which is computed once for each launch.
type tuner struct {
	*gomlx.Network
	decoder
	whole     *model.Exec // all layers, for predictions
	attribute *model.Exec
	frozen    *model.Exec // the frozen layers; nil without
	kept      *features   // what they made of launches
	fixed     map[string]bool
	started   bool
}

// newTuner makes a network that has a Base.
func newTuner(c llmperf.Config, opt train.Options) (llmperf.Network, error) {
	if c.Base.Freeze > 0 && opt.Devices > 1 {
		return nil, errors.New("frozen layers are computed on one device alone: Options.Devices and Options.Freeze do not go together")
	}
	dtype := dtypes.Float32
	if opt.Precision == "bfloat16" {
		dtype = dtypes.BFloat16
	}
	t := &tuner{decoder: decoder{c, dtype}, fixed: map[string]bool{}}
	var err error
	if t.Network, err = gomlx.New(gomlx.Model{
		Forward: func(scope *model.Scope, _ dtypes.DType, in []*graph.Node) []*graph.Node {
			x := in[0]
			if c.Base.Freeze == 0 {
				x = t.embed(scope, x)
			}
			x = t.layers(scope, graph.ConvertDType(x, dtype), c.Base.Freeze, c.Layers)
			return t.predictions(scope, x, in)
		},
		Loss: func(labels, predictions []*graph.Node) *graph.Node { return loss(c, labels, predictions) },
	}, opt); err != nil {
		return nil, err
	}
	if err := t.compileLater(); err != nil {
		t.Close()
		return nil, fmt.Errorf("GoMLX: %w", err)
	}
	return t, nil
}

// compileLater makes the executors that Network does not have.
func (t *tuner) compileLater() (err error) {
	n, c := t.Network, t.c
	if t.whole, err = model.NewExec(n.Backend(), n.Store(), func(scope *model.Scope, in []*graph.Node) []*graph.Node {
		scope.Store().SetTraining(in[0].Graph(), false)
		return t.predictions(scope, t.layers(scope, t.embed(scope, in[0]), 0, c.Layers), in)
	}); err != nil {
		return err
	}
	t.whole.SetMaxCache(64)
	if t.attribute, err = model.NewExec(n.Backend(), n.Store(), func(scope *model.Scope, in []*graph.Node) *graph.Node {
		scope.Store().SetTraining(in[0].Graph(), false)
		content := t.embed(scope, in[0])
		location := t.predictions(scope, t.layers(scope, content, 0, c.Layers), in)[0]
		gradient := graph.Gradient(graph.ReduceAllSum(location), content)[0]
		each := graph.ReduceSum(graph.ConvertDType(graph.Mul(gradient, content), dtypes.Float32), -1)
		return graph.Where(present(in), each, graph.ZerosLike(each))
	}); err != nil {
		return err
	}
	t.attribute.SetMaxCache(64)
	if c.Base.Freeze == 0 {
		return nil
	}
	if t.frozen, err = model.NewExec(n.Backend(), n.Store(), func(scope *model.Scope, in []*graph.Node) *graph.Node {
		scope.Store().SetTraining(in[0].Graph(), false)
		return graph.ConvertDType(t.layers(scope, t.embed(scope, in[0]), 0, c.Base.Freeze), dtypes.Float32)
	}); err != nil {
		return err
	}
	t.frozen.SetMaxCache(64)
	t.kept, err = newFeatures(c.Width)
	return err
}

// Start implements llmperf.Tuner.
func (t *tuner) Start(weights train.State) error {
	if t.started {
		return errors.New("the network has its first weights already")
	}
	for _, w := range weights {
		value, err := t.tensor(w)
		if err != nil {
			return fmt.Errorf("the weights %s: %w", w.Name, err)
		}
		v, err := t.Store().CreateVariable(w.Name, value)
		if err != nil {
			return fmt.Errorf("the weights %s: %w", w.Name, err)
		}
		if layer, ok := t.layer(w.Name); ok && !t.c.Learns(layer) {
			v.SetTrainable(false)
			t.fixed[w.Name] = true
		}
	}
	t.started = true
	return nil
}

// layer is the layer that weights of the pre-trained network belong to, as in
// Config.Learns; false for others.
func (t *tuner) layer(name string) (int, bool) {
	var i int
	switch {
	case name == "/tokens/embeddings":
		return -1, true
	case name == "/norm/gain":
		return t.c.Layers, true
	case strings.Contains(name, "/lora_"):
		return 0, false
	}
	n, err := fmt.Sscanf(name, "/layer_%d/", &i)
	return i, err == nil && n == 1
}

// tensor is weights in the network's type.
func (t *tuner) tensor(w train.Tensor) (*tensors.Tensor, error) {
	n := 1
	for _, d := range w.Dims {
		n *= d
	}
	size := map[string]int{"F32": 4, "BF16": 2}[w.DType]
	if size == 0 || n*size != len(w.Data) {
		return nil, fmt.Errorf("%s of dimensions %v with %d bytes, want F32 or BF16 and as many as they take", w.DType, w.Dims, len(w.Data))
	}
	data := w.Data
	switch {
	case size == t.dtype.Size():
	case size == 4: // to the nearest, ties to even
		data = make([]byte, 0, 2*n)
		for i := range n {
			bits := binary.LittleEndian.Uint32(w.Data[4*i:])
			data = binary.LittleEndian.AppendUint16(data, uint16((bits+0x7fff+bits>>16&1)>>16))
		}
	default:
		data = make([]byte, 0, 4*n)
		for i := range n {
			data = binary.LittleEndian.AppendUint32(data, uint32(binary.LittleEndian.Uint16(w.Data[2*i:]))<<16)
		}
	}
	value := tensors.FromShape(shapes.Make(t.dtype, w.Dims...))
	return value, value.MutableBytes(func(to []byte) { copy(to, data) })
}

// Prepare implements train.Stepper.
func (t *tuner) Prepare(b train.Batch) error {
	if !t.started {
		return errors.New("the network has no weights to begin with: call Start with those of the pre-trained model first")
	}
	if t.frozen != nil { // their values do not matter here
		tokens := b.Inputs[0].Dims
		dims := []int{tokens[0], tokens[1], t.c.Width}
		b = replaced(b, train.Array{Dims: dims, Float32: make([]float32, tokens[0]*tokens[1]*t.c.Width)})
	}
	return t.Network.Prepare(b)
}

// replaced is b with another first input.
func replaced(b train.Batch, first train.Array) train.Batch {
	b.Inputs = append([]train.Array{first}, b.Inputs[1:]...)
	return b
}

// begun is a batch for the network that learns.
func (t *tuner) begun(b train.Batch) (out train.Batch, err error) {
	if t.frozen == nil {
		return b, nil
	}
	defer func() {
		if r := recover(); r != nil { // by which GoMLX reports errors in graphs
			err = fmt.Errorf("GoMLX: %v", r)
		}
	}()
	ids, lengths := b.Inputs[0], b.Inputs[3].Int32
	n, length, width := ids.Dims[0], ids.Dims[1], t.c.Width
	all := make([]float32, n*length*width)
	for r := range n {
		row := ids.Int32[r*length : r*length+int(lengths[r])]
		if err := t.kept.read(row, all[r*length*width:], t.compute); err != nil {
			return b, fmt.Errorf("the frozen layers: %w", err)
		}
	}
	return replaced(b, train.Array{Dims: []int{n, length, width}, Float32: all}), nil
}

// step is what lengths are rounded up to where frozen layers are computed. A
// launch is always computed alone and at the same length, so that it has the
// same bits in every batch, and in a run that was resumed.
const step = 64

// compute is what the frozen layers make of tokens: [tokens, width].
func (t *tuner) compute(ids []int32) ([]float32, error) {
	padded := make([]int32, (len(ids)+step-1)/step*step)
	copy(padded, ids)
	out, err := t.frozen.Call1(tensors.FromFlatDataAndDimensions(padded, 1, len(padded)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = out.FinalizeAll() }()
	flat, err := tensors.CopyFlatData[float32](out)
	if err != nil {
		return nil, err
	}
	flat = flat[:len(ids)*t.c.Width]
	for _, v := range flat {
		if v-v != 0 {
			return nil, fmt.Errorf("they give %g for a sequence of %d tokens: the pre-trained weights are damaged, or too large for the precision", v, len(ids))
		}
	}
	return flat, nil
}

// Step implements train.Stepper.
func (t *tuner) Step(batches []train.Batch, rate float64) (train.StepResult, error) {
	begun := make([]train.Batch, len(batches))
	for i, b := range batches {
		var err error
		if begun[i], err = t.begun(b); err != nil {
			return train.StepResult{}, err
		}
	}
	return t.Network.Step(begun, rate)
}

// Losses implements train.Stepper.
func (t *tuner) Losses(b train.Batch) ([]float64, error) {
	b, err := t.begun(b)
	if err != nil {
		return nil, err
	}
	return t.Network.Losses(b)
}

// State implements train.Stepper: without the weights that do not change.
func (t *tuner) State() (train.State, error) {
	all, err := t.Network.State()
	var out train.State
	for _, w := range all {
		if !t.fixed[w.Name] {
			out = append(out, w)
		}
	}
	return out, err
}

// SetState implements train.Stepper.
func (t *tuner) SetState(s train.State) error {
	all, err := t.Network.State()
	if err != nil {
		return err
	}
	for _, w := range all {
		if t.fixed[w.Name] {
			s = append(s[:len(s):len(s)], w)
		}
	}
	return t.Network.SetState(s)
}

// Weights implements llmperf.Tuner.
func (t *tuner) Weights() (train.State, error) { return t.Network.State() }

// Predict implements llmperf.Network.
func (t *tuner) Predict(b train.Batch) ([]train.Array, error) { return call(t.whole, b) }

// Attribute implements llmperf.Network.
func (t *tuner) Attribute(b train.Batch) (train.Array, error) {
	out, err := call(t.attribute, b)
	if err != nil {
		return train.Array{}, err
	}
	return out[0], nil
}

// call runs an executor on the inputs of a batch.
func call(e *model.Exec, b train.Batch) (out []train.Array, err error) {
	defer func() {
		if r := recover(); r != nil { // by which GoMLX reports errors in graphs
			err = fmt.Errorf("GoMLX: %v", r)
		}
	}()
	var in []any
	for _, a := range b.Inputs {
		switch {
		case a.Int32 != nil && len(a.Int32) == a.Len():
			in = append(in, tensors.FromFlatDataAndDimensions(a.Int32, a.Dims...))
		case len(a.Float32) == a.Len():
			in = append(in, tensors.FromFlatDataAndDimensions(a.Float32, a.Dims...))
		default:
			return nil, errors.New("an array of a batch does not have the numbers that its dimensions say")
		}
	}
	results, err := e.Call(in...)
	if err != nil {
		return nil, fmt.Errorf("GoMLX: %w", err)
	}
	for _, r := range results {
		flat, err := tensors.CopyFlatData[float32](r)
		if err != nil {
			return nil, fmt.Errorf("GoMLX: %w", err)
		}
		out = append(out, train.Array{Dims: append([]int{}, r.Shape().Dimensions...), Float32: flat})
		_ = r.FinalizeAll()
	}
	return out, nil
}

// Close implements llmperf.Network.
func (t *tuner) Close() {
	for _, e := range []*model.Exec{t.whole, t.attribute, t.frozen} {
		if e != nil {
			e.Finalize()
		}
	}
	t.kept.close()
	t.Network.Close()
}
