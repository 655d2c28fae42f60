package llmperf_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// With counts of operations beside the text, the normal distribution's loss,
// early stopping, and whole kernels held out for intervals.
func TestIntervalsComeFromKernelsThatWereHeldOut(t *testing.T) {
	xs, ctx := thirty(), context.Background()
	e, err := llmperf.Table(xs)
	if err != nil {
		t.Fatal(err)
	}
	learner := llmperf.Learner{Options: llmperf.Options{Config: small, Gaussian: true, Dropout: -1,
		Train: train.Options{Steps: 30, Batch: 12, Rate: 0.01, Buckets: []int{72}, Quiet: true}}}
	p, err := predict.Conformal{Learner: learner, Fraction: 0.3}.Fit(ctx, e, 4)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := p.(*predict.Fitted)
	if !ok {
		t.Fatalf("a %T", p)
	}
	m, ok := f.Model.(*llmperf.Model)
	if !ok {
		t.Fatalf("a %T", f.Model)
	}
	defer m.Close()
	if c := m.Config(); c.Side == 0 || !c.Gaussian || c.Vocab != m.Tokenizer().Size() {
		t.Errorf("the network is %+v", c)
	}
	x := xs[5]
	got, err := llmperf.Predict(ctx, p, x, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	if !(got.Low > 0 && got.Low < got.Value && got.Value < got.High) || math.IsInf(got.High, 0) {
		t.Errorf("%+v", got)
	}
	// A row that cannot be analysed has its side inputs unknown, not zero.
	x.Global = nil
	if got, err := llmperf.Predict(ctx, p, x, 0.5); err != nil || !(got.Value > 0) {
		t.Errorf("a launch without sizes: %+v, %v", got, err)
	}
}

func TestAnInterruptedModelIsUsable(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	m, err := llmperf.Fit(ctx, thirty(), llmperf.Options{Config: small, Text: true, Validation: -1,
		Train: train.Options{Steps: 1000, Batch: 6, Buckets: []int{72}, Progress: func(p train.Progress) {
			if p.Step == 2 {
				cancel()
			}
		}}})
	if !errors.Is(err, context.Canceled) || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	defer m.Close()
	if m.Result.Steps != 2 {
		t.Errorf("stopped after %d steps", m.Result.Steps)
	}
	if p := logs(t, m, thirty()[0])[0]; math.IsNaN(p) {
		t.Error("no number")
	}
	if m, err := llmperf.Fit(ctx, thirty(), llmperf.Options{Config: small, Text: true, Validation: -1}); err == nil || m != nil {
		t.Errorf("cancelled before: %v, %v", m, err)
	}
}

func TestWhatCannotBeTrainedIsSaid(t *testing.T) {
	one := thirty()[:1]
	half := thirty()
	half[3].Seconds = math.NaN()
	for name, c := range map[string]struct {
		xs  []llmperf.Example
		opt llmperf.Options
	}{
		"nothing":           {nil, llmperf.Options{}},
		"one kernel":        {one, llmperf.Options{}},
		"a time is missing": {half, llmperf.Options{}},
		"no such size":      {thirty(), llmperf.Options{Size: "7B"}},
		"heads":             {thirty(), llmperf.Options{Config: llmperf.Config{Width: 10, Layers: 1, Heads: 3, Inner: 8, Context: 64}}},
		"too short":         {thirty(), llmperf.Options{Size: "tiny", Context: 8}},
	} {
		if m, err := llmperf.Fit(context.Background(), c.xs, c.opt); err == nil || m != nil {
			t.Errorf("%s: no error", name)
		} else {
			t.Log(err)
		}
	}
}
