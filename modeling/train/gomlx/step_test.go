package gomlx_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"github.com/rooflab/rooflab/modeling/train"
	"github.com/rooflab/rooflab/modeling/train/gomlx"
)

var sober = encoder(16, 2, 2, vocabulary, 0) // without dropout

func batchOf(t *testing.T, x *sentences, ids ...int) train.Batch {
	t.Helper()
	b, err := x.Batch(ids, 16)
	if err != nil {
		t.Fatal(err)
	}
	b.IDs = ids
	return b
}

// curve takes some steps and returns losses and gradient norms.
func curve(t *testing.T, n *gomlx.Network, steps ...[]train.Batch) []float64 {
	t.Helper()
	if err := n.Prepare(steps[0][0]); err != nil {
		t.Fatal(err)
	}
	var all []float64
	for _, b := range steps {
		res, err := n.Step(b, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Loss, res.GradNorm)
	}
	return all
}

func alike(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	worst := 0.0
	for i := range want {
		worst = math.Max(worst, math.Abs(got[i]-want[i])/math.Abs(want[i]))
	}
	t.Logf("%s: worst relative difference %.2g", what, worst)
	if len(got) != len(want) || !(worst <= tolerance) {
		t.Errorf("%s: %v, want %v within %g", what, got, want, tolerance)
	}
}

// The same weights, the same batches: losses and gradients of the first steps
// agree to the rounding of float32, which training then amplifies. Two halves
// of a batch accumulated, or on two devices, are the batch; three steps in one
// call are three steps.
func TestBackendsDevicesCallsAndAccumulationAgree(t *testing.T) {
	backends(t)
	x := makeSentences(96, 1)
	ids := make([]int, 96)
	for i := range ids {
		ids[i] = i
	}
	var whole, halves [][]train.Batch
	for c := range slices.Chunk(ids, 16) {
		whole = append(whole, []train.Batch{batchOf(t, x, c...)})
		halves = append(halves, []train.Batch{batchOf(t, x, c[:8]...), batchOf(t, x, c[8:]...)})
	}
	opt := options
	opt.Batch = 16
	want := curve(t, network(t, sober, opt), whole...)

	opt.Backend = "xla"
	xla := curve(t, network(t, sober, opt), whole...)
	alike(t, "xla and go, first step", xla[:2], want[:2], 2e-6)
	alike(t, "xla and go", xla, want, 2e-4)

	three := network(t, sober, opt)
	if err := three.Prepare(whole[0][0]); err != nil {
		t.Fatal(err)
	}
	var called []float64
	for c := range slices.Chunk(whole, 3) {
		all, err := three.Steps([]train.Batch{c[0][0], c[1][0], c[2][0]}, []float64{0.01, 0.01, 0.01})
		if err != nil {
			t.Fatal(err)
		}
		for _, res := range all {
			called = append(called, res.Loss, res.GradNorm)
		}
	}
	alike(t, "three steps in a call", called, xla, 2e-4)

	opt.Backend, opt.Accumulate = "go", 2
	acc := curve(t, network(t, sober, opt), halves...)
	alike(t, "accumulated", acc[:1], want[:1], 1e-5)
	alike(t, "accumulated, all", acc, want, 2e-4)

	opt.Backend, opt.Accumulate, opt.Devices = "xla:cpu,devices=2", 1, 2
	two := network(t, sober, opt)
	if err := two.Prepare(whole[0][0]); err != nil {
		t.Fatal(err)
	}
	begin, err := two.State()
	if err != nil {
		t.Fatal(err)
	}
	alike(t, "two devices", curve(t, two, whole...), want, 2e-4)
	if got := two.Backend().NumDevices(); got != 2 {
		t.Errorf("%d devices", got)
	}
	// Weights that lie on two devices predict, are copied, and come back.
	if _, err := two.Losses(whole[0][0]); err != nil {
		t.Error(err)
	}
	if err := two.SetState(begin); err != nil {
		t.Fatal(err)
	}
	alike(t, "two devices, from the beginning", curve(t, two, whole...), want, 2e-4)
}

// bfloat16 keeps eight bits of a number: losses agree to some per cent. The
// weights' float32 masters take steps that bfloat16 weights would lose.
func TestMixedPrecisionLearnsOnXLA(t *testing.T) {
	backends(t)
	opt := options
	opt.Backend, opt.Precision, opt.Buckets, opt.Epochs = "xla", "bfloat16", []int{16}, 6
	n := network(t, sober, opt)
	res, err := train.Run(context.Background(), n, makeSentences(96, 1), nil, opt)
	if err != nil {
		t.Fatal(err)
	}
	first, last := res.Losses[0], mean(res.Losses[len(res.Losses)-12:])
	t.Logf("loss %.4f, in the end %.4f", first, last)
	if !(last < first/10) {
		t.Errorf("losses %v", res.Losses)
	}
	state, err := n.State()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, v := range state {
		kinds[v.DType]++
	}
	// Weights and masters: one BF16 for every three F32 (master, two moments), the gradient's norm beside.
	if kinds["BF16"] == 0 || kinds["F32"] != 3*kinds["BF16"]+1 {
		t.Errorf("the state has %v", kinds)
	}
}

// The step that decides what can be trained in the time there is: an encoder
// of 4 layers, width 128, 4 heads, 256 tokens of 8192, 32 examples.
//
//	go test -run '^$' -bench EncoderStep -benchtime 10x ./modeling/train/gomlx
func BenchmarkEncoderStep(b *testing.B) {
	for _, name := range []string{"xla", "go"} {
		b.Run(name, func(b *testing.B) {
			opt := options
			opt.Backend = name
			n, err := gomlx.New(encoder(128, 4, 4, 8192, 0), opt)
			if err != nil {
				b.Fatal(err)
			}
			defer n.Close()
			rng := rand.New(rand.NewPCG(1, 1))
			x := train.Batch{Inputs: []train.Array{{Dims: []int{32, 256}}}, Labels: []train.Array{{Dims: []int{32}, Float32: make([]float32, 32)}}}
			for range 32 * 256 {
				x.Inputs[0].Int32 = append(x.Inputs[0].Int32, 1+rng.Int32N(8191))
			}
			if err := n.Prepare(x); err != nil {
				b.Fatal(err)
			}
			if _, err := n.Step([]train.Batch{x}, 1e-4); err != nil { // compiles
				b.Fatal(err)
			}
			before := processorSeconds()
			b.ResetTimer()
			for range b.N {
				if _, err := n.Step([]train.Batch{x}, 1e-4); err != nil {
					b.Fatal(err)
				}
			}
			// Of a shared machine, the processor's time says more than the clock.
			b.ReportMetric((processorSeconds()-before)/float64(b.N), "cpu-s/op")
		})
	}
}

func processorSeconds() float64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return math.NaN()
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

func mean(xs []float64) float64 {
	var s float64
	for _, x := range xs {
		s += x
	}
	return s / float64(len(xs))
}
