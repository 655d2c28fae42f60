package gomlx_test

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

// A label that is no number stops the run before it does harm: the example is
// named, the weights are those before the step, the checkpoints as they were.
func TestALossThatIsNoNumberNamesTheExample(t *testing.T) {
	for _, b := range backends(t) {
		opt := options
		opt.Backend, opt.Buckets, opt.Epochs, opt.Dir, opt.Every = b, []int{16}, 2, t.TempDir(), 2
		if b != "go" {
			opt.PerCall = 2 // the fifth and sixth batch in one
		}
		x := makeSentences(64, 1)
		// The example is the second of the sixth batch.
		x.poison = train.Plan(x, opt.Buckets, 8, opt.Seed, 0)[5].IDs[1]
		n := network(t, small, opt)
		res, err := train.Run(context.Background(), n, x, nil, opt)
		if err == nil || res == nil || res.Steps != 5 || res.Weights != 5 || res.Stopped != "failed" {
			t.Fatalf("%s: %+v, %v", b, res, err)
		}
		for _, want := range []string{"step 6: the loss is NaN", "the loss of the examples [" + itoa(x.poison) + "]", "changed no weights"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v lacks %q", b, err, want)
			}
		}
		file, err := train.LastFile(opt.Dir)
		if err != nil || !strings.HasSuffix(file, "step-000000004.safetensors") {
			t.Fatalf("%s: last checkpoint %s, %v", b, file, err)
		}
		if _, _, err := train.ReadState(file); err != nil {
			t.Error(err)
		}
		now, err := n.State()
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range now {
			if v.DType == "F32" && v.Name != "/adamw/gradient_norm" && hasNaN(v.Data) {
				t.Errorf("%s: %s holds NaN", b, v.Name)
			}
		}
		// Mended, the run goes on from the checkpoint. (The hash does not see the poison.)
		x.poison, opt.Resume = -1, true
		if res, err = train.Run(context.Background(), n, x, nil, opt); err != nil || res.Steps != 16 {
			t.Errorf("%s: mended: %+v, %v", b, res, err)
		}
	}
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + itoa(i%10)
}

func hasNaN(data []byte) bool {
	for i := 0; i+4 <= len(data); i += 4 {
		bits := uint32(data[i]) | uint32(data[i+1])<<8 | uint32(data[i+2])<<16 | uint32(data[i+3])<<24
		if f := float64(math.Float32frombits(bits)); f != f {
			return true
		}
	}
	return false
}

// outer has an intermediate result of rows*rows numbers, that no compiler can avoid.
func outer(rows int) gomlx.Model {
	return gomlx.Model{
		Forward: func(scope *model.Scope, dtype dtypes.DType, in []*graph.Node) []*graph.Node {
			w := scope.VariableWithShape("w", shapes.Make(dtype, 1, rows)).NodeValue(in[0].Graph())
			x := graph.MatMul(graph.Transpose(w, 0, 1), w) // rows x rows
			x = graph.MatMul(x, x)
			first := graph.ConvertDType(graph.Slice(in[0], graph.AxisRange(), graph.AxisRange(0, 1)), dtype)
			return []*graph.Node{graph.Mul(graph.Squeeze(first, -1), graph.ReduceAllSum(x))}
		},
		Loss: squared,
	}
}

func TestAModelThatCannotFitIsRefusedBeforehand(t *testing.T) {
	opt := options
	opt.Buckets, opt.Dir = []int{16}, t.TempDir()
	_, err := train.Run(context.Background(), network(t, outer(1<<22), opt), makeSentences(16, 1), nil, opt) // 2^44 numbers
	if !errors.Is(err, train.ErrOutOfMemory) || !strings.Contains(err.Error(), "GiB are free") || !strings.Contains(err.Error(), "Options.Batch") {
		t.Errorf("%v", err)
	}
}

// pairs has an intermediate result of length*length numbers.
var pairs = gomlx.Model{
	Forward: func(scope *model.Scope, dtype dtypes.DType, in []*graph.Node) []*graph.Node {
		x := graph.ConvertDType(in[0], dtype)
		x = graph.Mul(x, graph.AddScalar(scope.VariableWithShape("w", shapes.Make(dtype)).NodeValue(x), 1))
		y := graph.MatMul(graph.Transpose(x, 0, 1), x) // length x length
		y = graph.MatMul(graph.Sin(y), y)
		return []*graph.Node{graph.BroadcastToDims(graph.ReduceAllMax(y), x.Shape().Dimensions[0])}
	},
	Loss: squared,
}

// What XLA says when it cannot have the memory comes out as the same error.
// The failed step has taken the weights with it: those of the last checkpoint
// come back.
func TestABackendOutOfMemoryIsTheSameError(t *testing.T) {
	backends(t)
	if raw, err := os.ReadFile("/proc/sys/vm/overcommit_memory"); err != nil || strings.TrimSpace(string(raw)) == "1" {
		t.Skipf("this system promises memory that it does not have (vm.overcommit_memory is %q): an attempt could end the process (%v)", raw, err)
	}
	x := makeSentences(64, 1)
	for _, dir := range []string{t.TempDir(), ""} {
		opt := options
		opt.Backend, opt.Buckets, opt.Epochs, opt.Every, opt.Dir = "xla", []int{16}, 1, 3, dir
		n := network(t, pairs, opt)
		res, err := train.Run(context.Background(), &greedy{n, 5}, x, nil, opt)
		if !errors.Is(err, train.ErrOutOfMemory) || res == nil || !strings.Contains(err.Error(), "step 5") || !strings.Contains(err.Error(), "[1 2097152]") {
			t.Fatalf("%+v, %v", res, err)
		}
		b, _ := x.Batch([]int{0}, 16)
		_, alive := n.Predict(b)
		if dir == "" {
			if alive == nil || res.Weights != 0 || !strings.Contains(err.Error(), "weights are lost") {
				t.Errorf("without checkpoints: %v, weights of step %d, %v", alive, res.Weights, err)
			}
			continue
		}
		if alive != nil || res.Weights != 3 || !strings.Contains(err.Error(), "weights of the checkpoint of step 3") {
			t.Errorf("with checkpoints: %v, weights of step %d, %v", alive, res.Weights, err)
		}
		opt.Resume = true
		if res, err := train.Run(context.Background(), n, x, nil, opt); err != nil || res.Steps != 8 || res.Record.Resumed[0] != 3 {
			t.Errorf("going on: %+v, %v", res, err)
		}
	}
}

// greedy wants far too much memory in one of its steps.
type greedy struct {
	*gomlx.Network
	at int
}

func (g *greedy) Step(batches []train.Batch, rate float64) (train.StepResult, error) {
	if g.at--; g.at == 0 {
		const long = 1 << 21 // 2^42 numbers of 4 bytes
		batches = []train.Batch{{IDs: []int{0}, Inputs: []train.Array{{Dims: []int{1, long}, Int32: make([]int32, long)}},
			Labels: []train.Array{{Dims: []int{1}, Float32: []float32{1}}}}}
	}
	return g.Network.Step(batches, rate)
}

func TestAMissingPluginSaysHowToGetIt(t *testing.T) {
	t.Setenv("PJRT_PLUGIN_LIBRARY_PATH", t.TempDir())
	opt := options
	opt.Backend = "xla"
	if _, err := gomlx.New(small, opt); err == nil || !strings.Contains(err.Error(), "rooflab xla install") {
		t.Errorf("%v", err)
	}
	opt.Backend, opt.Precision = "go", "bfloat16"
	if _, err := gomlx.New(small, opt); err == nil || !strings.Contains(err.Error(), "bfloat16") {
		t.Errorf("bfloat16 on Go: %v", err)
	}
	opt.Precision, opt.Devices = "", 2
	if _, err := gomlx.New(small, opt); err == nil || !strings.Contains(err.Error(), "devices=2") {
		t.Errorf("two devices on Go: %v", err)
	}
}

func TestADamagedCheckpointIsNamedAndTheGoodOneToo(t *testing.T) {
	opt := options
	opt.Buckets, opt.Epochs, opt.Dir, opt.Every = []int{16}, 1, t.TempDir(), 3
	x := makeSentences(64, 1)
	if _, err := train.Run(context.Background(), network(t, small, opt), x, nil, opt); err != nil {
		t.Fatal(err)
	}
	opt.Resume = true
	last, err := train.LastFile(opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(last)
	if err != nil {
		t.Fatal(err)
	}
	for name, damaged := range map[string][]byte{
		"a flipped bit":  flip(raw, len(raw)-100),
		"in the header":  flip(raw, 300),
		"in the length":  flip(raw, 6),
		"cut off":        raw[:len(raw)/2],
		"empty":          nil,
		"another format": []byte("PK\x03\x04 this is a zip file, or the beginning of one"),
	} {
		if err := os.WriteFile(last, damaged, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := train.Run(context.Background(), network(t, small, opt), x, nil, opt)
		if err == nil || !strings.Contains(err.Error(), filepath.Base(last)) || !strings.Contains(err.Error(), "damaged") ||
			!strings.Contains(err.Error(), "step 6 is good") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(last); err != nil { // what the message says
		t.Fatal(err)
	}
	if res, err := train.Run(context.Background(), network(t, small, opt), x, nil, opt); err != nil || res.Steps != 8 || res.Record.Resumed[0] != 6 {
		t.Errorf("%+v, %v", res, err)
	}
}

func flip(raw []byte, at int) []byte {
	c := append([]byte(nil), raw...)
	c[at] ^= 4
	return c
}
