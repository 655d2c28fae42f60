package gomlx

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/ml/model"
	"github.com/gomlx/gomlx/ml/model/initializer"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/train"
)

// Prepare implements train.Stepper.
func (n *Network) Prepare(b train.Batch) (err error) {
	defer caught(&err)
	if n.built {
		return nil
	}
	need, err := n.outline(b)
	if err != nil {
		return err
	}
	if err := n.fits(need); err != nil {
		return err
	}
	n.store.VariableWithShape(normPath, shapes.Make(dtypes.Float32), initializer.Zero).SetTrainable(false)
	var learnt []*model.Variable
	for v := range n.store.IterVariables() {
		if v.Trainable {
			learnt = append(learnt, v)
		}
	}
	if len(learnt) == 0 {
		return errors.New("the model has no variables to learn")
	}
	for _, v := range learnt {
		slots(n.store, v)
	}
	if err := n.initialize(); err != nil {
		return memory(err)
	}
	n.built, n.labels = true, len(b.Labels)
	for _, v := range learnt {
		if s := slots(n.store, v); s.master != nil {
			if err := n.copyTo(s.master, v); err != nil {
				return err
			}
		}
	}
	return nil
}

// initialize draws the first weights on the Go backend, whose random numbers
// differ from XLA's: a seed then means the same weights everywhere.
func (n *Network) initialize() error {
	host, err := backend.Open("go")
	if err != nil {
		return err
	}
	if err := n.store.InitializeVariables(host.Backend, nil); err != nil {
		return err
	}
	for v := range n.store.IterVariables() {
		value, err := v.Value()
		if err != nil {
			return err
		}
		local := tensors.FromShape(v.Shape())
		var from []byte
		if err := value.ConstBytes(func(data []byte) { from = slices.Clone(data) }); err != nil {
			return err
		}
		if err := local.MutableBytes(func(data []byte) { copy(data, from) }); err != nil {
			return err
		}
		if err := v.SetValue(local); err != nil {
			return err
		}
	}
	return nil
}

// copyTo gives the master the weights of v, of another type.
func (n *Network) copyTo(master, v *model.Variable) error {
	value, err := v.Value()
	if err != nil {
		return err
	}
	wide, err := graph.CallOnce(n.choice.Backend, func(x *graph.Node) *graph.Node { return graph.ConvertDType(x, dtypes.Float32) }, value)
	if err != nil {
		return err
	}
	return master.SetValue(wide)
}

// need is the memory that a training step takes.
type need struct {
	weights int64 // bytes of weights, gradient and optimiser
	largest int64 // bytes of the largest intermediate result
	sum     int64 // bytes of all intermediate results of the forward pass
	what    string
}

// outline builds the forward pass for b without compiling it, which creates
// the variables and shows what there is to hold.
func (n *Network) outline(b train.Batch) (need, error) {
	g := graph.NewGraph(n.choice.Backend, "outline")
	defer g.Finalize()
	model.SetStore(g, n.store)
	n.store.SetTraining(g, true)
	var in, labels []*graph.Node
	for i, a := range slices.Concat(b.Inputs, b.Labels) {
		dtype := dtypes.Float32
		if a.Int32 != nil {
			dtype = dtypes.Int32
		}
		p := graph.Parameter(g, fmt.Sprintf("in%d", i), shapes.Make(dtype, a.Dims...))
		if i < len(b.Inputs) {
			in = append(in, p)
		} else {
			labels = append(labels, p)
		}
	}
	n.perExample(labels, n.model.Forward(n.store.RootScope(), n.dtype, in))
	var need need
	for v := range n.store.IterVariables() {
		if v.Trainable {
			bytes := v.Shape().ByteSize()
			need.weights += 2*bytes + 8*int64(v.Shape().Size())
			if v.DType() != dtypes.Float32 {
				need.weights += 4 * int64(v.Shape().Size())
			}
		}
	}
	for _, node := range g.Nodes() {
		if !node.Shape().Ok() || node.Shape().IsTuple() {
			continue
		}
		bytes := node.Shape().ByteSize()
		need.sum += bytes
		if bytes > need.largest {
			need.largest, need.what = bytes, node.Shape().String()
		}
	}
	return need, nil
}

// fits refuses a model that cannot fit into the host's memory, before the
// system ends the process for want of it, and warns of one that may not.
func (n *Network) fits(need need) error {
	if n.choice.Engine != "go" && !strings.Contains(strings.ToLower(n.choice.Plugin), "cpu") {
		return nil // a device's memory, which its plugin watches over
	}
	free, err := available()
	if err != nil {
		return nil //nolint:nilerr // unknown memory is no reason to refuse
	}
	const gib = 1 << 30
	if least := need.weights + need.largest; least > free {
		return fmt.Errorf("%w: weights, gradient and optimiser take %.2f GiB and the largest intermediate result, %s, %.2f GiB, while %.2f GiB are free: "+
			"make the model smaller, or Options.Batch with a larger Options.Accumulate", train.ErrOutOfMemory,
			float64(need.weights)/gib, need.what, float64(need.largest)/gib, float64(free)/gib)
	}
	if likely := need.weights + need.sum; likely > free {
		n.notices = append(n.notices, fmt.Sprintf("memory may not suffice: a step is estimated to hold up to %.2f GiB (all intermediate results of the forward pass; "+
			"compilers keep fewer), and %.2f GiB are free", float64(likely)/gib, float64(free)/gib))
	}
	return nil
}

// takenName is the optimiser's count of steps in a state.
const takenName = optimizerScope + "/steps"

// keptInState says whether a variable belongs to the state: GoMLX's moving averages
// of metrics have names that differ from process to process, and its
// accumulated gradients are zero between steps.
func keptInState(path string) bool {
	for _, scope := range []string{"/metrics/", "/acc_grads/", "/optimizers/"} {
		if strings.HasPrefix(path, scope) {
			return false
		}
	}
	return true
}

// State implements train.Stepper.
func (n *Network) State() (s train.State, err error) {
	defer caught(&err)
	if !n.built {
		return nil, errors.New("the network has no weights yet: call Prepare with a batch first")
	}
	for v := range n.store.IterVariables() {
		if !keptInState(v.Path()) {
			continue
		}
		value, err := v.Value()
		if err != nil {
			return nil, fmt.Errorf("the weights are gone: %w", err)
		}
		t := train.Tensor{Name: v.Path(), DType: safetensorsType[v.DType()], Dims: append([]int{}, v.Shape().Dimensions...)}
		if t.DType == "" {
			return nil, fmt.Errorf("variable %s is of the type %s, which checkpoints have no name for", v.Path(), v.DType())
		}
		if err := value.ConstBytes(func(data []byte) { t.Data = slices.Clone(data) }); err != nil {
			return nil, fmt.Errorf("reading %s: %w", v.Path(), err)
		}
		s = append(s, t)
	}
	s = append(s, train.Tensor{Name: takenName, DType: "I64", Dims: []int{}, Data: binary.LittleEndian.AppendUint64(nil, uint64(n.taken))})
	sort.Slice(s, func(i, j int) bool { return s[i].Name < s[j].Name })
	return s, nil
}

var safetensorsType = map[dtypes.DType]string{
	dtypes.Float32: "F32", dtypes.Float64: "F64", dtypes.BFloat16: "BF16", dtypes.Float16: "F16",
	dtypes.Int32: "I32", dtypes.Int64: "I64", dtypes.Uint32: "U32", dtypes.Uint64: "U64", dtypes.Uint8: "U8", dtypes.Bool: "BOOL",
}

// SetState implements train.Stepper.
func (n *Network) SetState(s train.State) (err error) {
	defer caught(&err)
	if !n.built {
		return errors.New("the network has no weights yet: call Prepare with a batch first")
	}
	variables := map[string]*model.Variable{}
	want := train.State{{Name: takenName, DType: "I64", Dims: []int{}}}
	for v := range n.store.IterVariables() {
		if keptInState(v.Path()) {
			variables[v.Path()] = v
			want = append(want, train.Tensor{Name: v.Path(), DType: safetensorsType[v.DType()], Dims: v.Shape().Dimensions})
		}
	}
	if err := s.Fit(want); err != nil {
		return err
	}
	for _, t := range s {
		if t.Name == takenName {
			n.taken = int64(binary.LittleEndian.Uint64(t.Data))
			continue
		}
		v := variables[t.Name]
		value := tensors.FromShape(v.Shape())
		if err := value.MutableBytes(func(data []byte) { copy(data, t.Data) }); err != nil {
			return fmt.Errorf("setting %s: %w", t.Name, err)
		}
		if err := v.SetValue(value); err != nil {
			return fmt.Errorf("setting %s: %w", t.Name, err)
		}
	}
	return n.between()
}

// between puts what is no part of the state where it is between two steps: a
// step that failed can have left it anywhere.
func (n *Network) between() error {
	for v := range n.store.IterVariables() {
		if keptInState(v.Path()) {
			continue
		}
		if err := v.SetValue(tensors.FromShape(v.Shape())); err != nil { // zeros
			return fmt.Errorf("setting %s: %w", v.Path(), err)
		}
	}
	if n.opt.Accumulate > 1 {
		return n.trainer.AccumulateGradients(n.opt.Accumulate) // counts from the first batch again
	}
	return nil
}

func (n *Network) scalar(path string) (float64, error) {
	value, err := n.store.GetVariable(path).Value()
	if err != nil {
		return 0, err
	}
	f, ok := value.Value().(float32)
	if !ok {
		return 0, fmt.Errorf("%s is a %s, want a float32", path, value.Shape())
	}
	return float64(f), nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
