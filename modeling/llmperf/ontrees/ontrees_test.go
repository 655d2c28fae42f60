package ontrees_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/rooflab/rooflab/modeling/backend/engines"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/llmperf"
	_ "github.com/rooflab/rooflab/modeling/llmperf/gomlx"
	"github.com/rooflab/rooflab/modeling/llmperf/ontrees"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// sixty are kernels of 16 launches' sizes, whose times are those of their loops.
func sixty() []llmperf.Example {
	var xs []llmperf.Example
	for k := range 20 {
		for _, items := range []int64{256, 1024, 4096} {
			xs = append(xs, llmperf.Example{
				Source: fmt.Sprintf("kernel void k(global float *x) { float s = 0; for (int i = 0; i < %d; i++) s += x[i]; x[get_global_id(0)] = s; }", 3*k+2),
				Kernel: "k", Group: fmt.Sprint(k), Global: []int64{items}, Local: []int64{64},
				Args:    []llmperf.Argument{{Kind: llmperf.Buffer, Name: "x", Type: "float", Elements: items, Bytes: 4 * items}},
				Seconds: 1e-6 + 1e-9*float64(items)*float64(3*k+2),
			})
		}
	}
	return xs
}

func options() ontrees.Options {
	tree := boost.Learner{Loss: boost.Absolute, Trees: 30, Rate: 0.2, Leaves: 8, MinRows: 2, Held: -1}
	relative := tree
	relative.Loss = boost.Relative
	return ontrees.Options{Median: tree, Relative: relative, Folds: 2, Network: llmperf.Options{
		Config: llmperf.Config{Width: 8, Layers: 1, Heads: 2, Inner: 8}, Context: 96, Vocab: 400, Validation: -1, Relative: true,
		Train: train.Options{Steps: 3, Batch: 8, Buckets: []int{96}, Quiet: true}}}
}

func logs(t *testing.T, m predict.Model, e *predict.Examples) []float64 {
	t.Helper()
	out, err := m.Log(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// The whole is the mean of the trees and of the corrected trees, and what it is
// made of is what its parts say of themselves, each fitted once.
func TestTheWholeIsMadeOfItsParts(t *testing.T) {
	e, err := llmperf.Table(sixty())
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	grown, steps := 0, 0
	o.Median.Progress = func(int, float64) { grown++ }
	o.Network.Train.Progress = func(p train.Progress) { steps = max(steps, p.Step) }
	l := ontrees.New(o)
	fit := func(l predict.Learner) predict.Model {
		t.Helper()
		m, err := l.Fit(t.Context(), e, 1)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	trees, corrected, whole := fit(l.Trees), fit(l.Corrected), fit(l)
	// The median loss is asked for alone and on the sum, of all rows and of two
	// folds: six times thirty trees, though all rows were asked for three times.
	if grown != 6*30 || steps != 3 {
		t.Errorf("%d trees were grown and %d steps taken, want 180 and 3", grown, steps)
	}
	asked := *e
	asked.Y = nil
	a, b, c := logs(t, trees, &asked), logs(t, corrected, &asked), logs(t, whole, &asked)
	for r := range c {
		if math.Abs(c[r]-(a[r]+b[r])/2) > 1e-9 {
			t.Fatalf("row %d: %g, want the mean of %g and %g", r, c[r], a[r], b[r])
		}
		// A network that knows nothing corrects little.
		if math.Abs(b[r]-a[r]) > 1 {
			t.Errorf("row %d: corrected from %g to %g", r, a[r], b[r])
		}
	}
	if slices.Equal(a, b) {
		t.Error("the network corrects nothing")
	}
	networks := 0
	predict.Each(whole, func(m predict.Model) {
		if n, ok := m.(*llmperf.Model); ok {
			networks++
			defer n.Close()
		}
	})
	if networks != 1 {
		t.Errorf("%d networks are among the parts, want 1", networks)
	}
}

// A run that ends in the middle of the network's steps goes on to the same model,
// though its trees grow anew.
func TestAResumedRunPredictsTheSameBits(t *testing.T) {
	e, err := llmperf.Table(sixty())
	if err != nil {
		t.Fatal(err)
	}
	o := options()
	o.Network.Train.Steps, o.Network.Train.Every, o.Network.Train.Backend = 5, 2, "go"
	fit := func(ctx context.Context, o ontrees.Options) (predict.Model, error) {
		return ontrees.New(o).Fit(ctx, e, 1)
	}
	whole, err := fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Network.Train.Dir = t.TempDir()
	o.Network.Train.Progress = func(p train.Progress) {
		if p.Step == 3 {
			cancel()
		}
	}
	if _, err := fit(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want that it was cancelled", err)
	}
	first := 0
	o.Network.Train.Resume, o.Network.Train.Progress = true, func(p train.Progress) {
		if first == 0 {
			first = p.Step
		}
	}
	resumed, err := fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if first != 3 && first != 4 {
		t.Errorf("the first step that is told is %d, want one behind the third", first)
	}
	e.Y = nil
	if !slices.Equal(logs(t, resumed, e), logs(t, whole, e)) {
		t.Error("the resumed run gives another model")
	}
	for _, m := range []predict.Model{whole, resumed} {
		predict.Each(m, func(m predict.Model) {
			if n, ok := m.(*llmperf.Model); ok {
				n.Close()
			}
		})
	}
}

func TestSavedAndLoadedPredictsTheSameBits(t *testing.T) {
	e, err := llmperf.Table(sixty())
	if err != nil {
		t.Fatal(err)
	}
	p, err := predict.Conformal{Learner: ontrees.New(options())}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	f, ok := p.(*predict.Fitted)
	if !ok {
		t.Fatalf("a %T", p)
	}
	want, err := f.Predict(t.Context(), e, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "model")
	if err := llmperf.Save(dir, f); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "predictor.json"))
	if err != nil || bytes.Contains(raw, []byte(`"here"`)) {
		t.Errorf("%v: the weights are not in a file of their own", err)
	}
	g, err := llmperf.Load(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := g.Predict(t.Context(), e, 0.5); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: loaded it predicts\n%v, want\n%v", err, got, want)
	}
	x := sixty()[4]
	if got, err := llmperf.Predict(t.Context(), g, x, 0.5); err != nil || math.Abs(got.Value/want[4].Value-1) > 1e-4 || !(got.Low < got.Value && got.Value < got.High) {
		t.Errorf("%v: %v, want %v", err, got, want[4])
	}
	// As one document, too.
	var b bytes.Buffer
	if err := predict.Save(&b, f); err != nil {
		t.Fatal(err)
	}
	h, err := predict.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := h.Predict(t.Context(), e, 0.5); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: from one document %v", err, got)
	}
	weights := filepath.Join(dir, "weights.safetensors")
	w, err := os.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(weights, w[:len(w)/2], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := llmperf.Load(dir, ""); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("half of the weights: %v", err)
	}
	// Where the weights cannot be written, nothing takes the place of what is there.
	if err := os.Remove(weights); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(weights, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := llmperf.Save(dir, h); err == nil || !strings.Contains(err.Error(), "weights.safetensors") {
		t.Errorf("weights in the place of a folder: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "predictor.json")); err != nil || !bytes.Equal(after, raw) {
		t.Errorf("%v: the predictor was changed without its weights", err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*.new")); err != nil || len(left) > 0 {
		t.Errorf("%v: %v is left", err, left)
	}
	if err := llmperf.Save(dir, &predict.Fitted{Model: f.Model.(predict.Compound).Parts()[0]}); err == nil || !strings.Contains(err.Error(), "0 networks") {
		t.Errorf("trees alone: %v", err)
	}
}
