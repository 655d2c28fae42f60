package llmperf_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/llmperf/pretrained"
	"github.com/rooflab/rooflab/modeling/llmperf/pretrained/pretrainedtest"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// decoder is a small model in a GGUF file.
func decoder(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "small.gguf")
	m := pretrainedtest.Tiny()
	m.Width, m.Heads, m.KVHeads, m.HeadWidth, m.Inner = 16, 4, 2, 4, 24
	m.GGUF(t, path)
	return path
}

// tuning are options for a few steps.
func tuning(path string) llmperf.Options {
	return llmperf.Options{Init: path, Context: 160, Text: true, Dropout: -1, Validation: -1, Seed: 1,
		Train: train.Options{Steps: 8, Batch: 30, Rate: 0.003, Schedule: train.Constant, Warmup: -1, Decay: -1, Buckets: []int{160}, Quiet: true}}
}

func tuned(t *testing.T, opt llmperf.Options) *llmperf.Model {
	t.Helper()
	m, err := llmperf.Fit(context.Background(), thirty(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// What is frozen is computed once and kept, what is not is computed in each
// step. Both must come to the same: a network whose two layers are frozen learns
// what one does that has no weights to learn in them. (LoRA draws weights of its
// own before those of the head.)
func TestWhatIsFrozenBeginsAtTheSameLossAndAllLearn(t *testing.T) {
	path := decoder(t)
	first := map[string]float64{}
	for name, change := range map[string]func(*llmperf.Options){
		"all":  func(*llmperf.Options) {},
		"top":  func(o *llmperf.Options) { o.Freeze = 1 },
		"head": func(o *llmperf.Options) { o.Freeze = -1 },
		"lora": func(o *llmperf.Options) { o.LoRA, o.Freeze = 2, 1 },
	} {
		opt := tuning(path)
		change(&opt)
		m := tuned(t, opt)
		losses := m.Result.Losses
		first[name] = losses[0]
		if last := losses[len(losses)-1]; !(last < losses[0]) {
			t.Errorf("%s: the loss went from %g to %g", name, losses[0], last)
		}
	}
	delete(first, "lora")
	for name, l := range first {
		if math.Abs(l-first["all"]) > 1e-5*math.Abs(first["all"]) {
			t.Errorf("%s: the first loss is %g, of the network that learns as a whole %g", name, l, first["all"])
		}
	}
}

// What is computed from the kept results of frozen layers, and what from all
// layers, is the same: the loss of the weights as they are now.
func TestKeptResultsAreThoseOfTheNetwork(t *testing.T) {
	opt := tuning(decoder(t))
	opt.Freeze, opt.Text = 1, false
	opt.Train.Steps, opt.Train.Rate = 2, 1e-9
	m := tuned(t, opt)
	// With weights that do not move, the second step's loss is that of the model
	// that came out: Laplace's |y-m|/s + log 2s, in standardised units.
	e, err := llmperf.Table(thirty())
	if err != nil {
		t.Fatal(err)
	}
	location, err := m.Log(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	scale, _, err := m.Spread(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	_, sd := predict.Moments(e.LogY())
	want := 0.0
	for i, y := range e.LogY() {
		want += math.Abs(y-location[i])/scale[i] + math.Log(2*scale[i]/sd)
	}
	want /= float64(e.Len())
	if got := m.Result.Losses[1]; math.Abs(got-want) > 1e-4 {
		t.Errorf("the loss in training is %g, of the predictions %g", got, want)
	}
}

// The last token that is there is read, wherever padding ends; and attributions
// are of all that was read, comments too.
func TestTunedModelsReadWhatIsThereAlone(t *testing.T) {
	opt := tuning(decoder(t))
	opt.Train.Buckets = []int{120, 160}
	m := tuned(t, opt)
	xs := thirty()
	long := xs[0]
	long.Source += strings.Repeat("// more\n", 6)
	alone := logs(t, m, xs[0])[0]
	if with := logs(t, m, xs[0], long)[0]; math.Abs(with-alone) > 1e-5 {
		t.Errorf("alone %g, beside a longer one %g", alone, with)
	}
	a, err := m.Attribute(context.Background(), xs[7])
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Lines) != 8 || a.Lines[3].Tokens == 0 || a.Lines[1].Tokens == 0 || a.Arguments == 0 || a.Sizes == 0 {
		t.Errorf("the attribution is %+v", a)
	}
}

func TestTunedModelsAreSavedWithWhatTheyNeed(t *testing.T) {
	for _, change := range []func(*llmperf.Options){
		func(o *llmperf.Options) { o.Layers = 1 },
		func(o *llmperf.Options) { o.Freeze, o.LoRA = 1, 2 },
	} {
		path := decoder(t)
		opt := tuning(path)
		change(&opt)
		m := tuned(t, opt)
		want := logs(t, m, thirty()...)
		dir := t.TempDir()
		if err := llmperf.Save(dir, &predict.Fitted{Model: m}); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(path); err != nil { // it is not needed any more
			t.Fatal(err)
		}
		f, err := llmperf.Load(dir, "")
		if err != nil {
			t.Fatal(err)
		}
		loaded, ok := f.Model.(*llmperf.Model)
		if !ok {
			t.Fatalf("a %T", f.Model)
		}
		t.Cleanup(loaded.Close)
		if got := logs(t, loaded, thirty()...); !slices.Equal(got, want) {
			t.Errorf("freeze %d, LoRA %d: loaded it predicts %v, want %v", opt.Freeze, opt.LoRA, got[:3], want[:3])
		}
		b := loaded.Config().Base
		if b == nil || b.Name != "small.gguf" || len(b.SHA256) != 64 || !strings.Contains(loaded.Describe().Detail, b.SHA256[:12]) {
			t.Errorf("what it began with is %+v, described as %q", b, loaded.Describe().Detail)
		}
	}
}

// A run that is interrupted goes on with the same curve, and not with another
// pre-trained model.
func TestTuningIsResumed(t *testing.T) {
	path := decoder(t)
	opt := tuning(path)
	opt.Freeze = 1
	want := tuned(t, opt).Result.Losses
	opt.Train.Dir = t.TempDir()
	opt.Train.Every = 1
	ctx, stop := context.WithCancel(context.Background())
	opt.Train.Progress = func(p train.Progress) {
		if p.Step == 3 {
			stop()
		}
	}
	m, err := llmperf.Fit(ctx, thirty(), opt)
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	m.Close()
	opt.Train.Progress, opt.Train.Resume = nil, true
	if got := tuned(t, opt).Result.Losses; !slices.Equal(got, want) {
		t.Errorf("resumed the losses are %v, want %v", got, want)
	}
	other := filepath.Join(t.TempDir(), "small.gguf")
	o := pretrainedtest.Tiny()
	o.GGUF(t, other)
	opt.Init = other
	if _, err := llmperf.Fit(context.Background(), thirty(), opt); err == nil || !strings.Contains(err.Error(), "hash of the examples") {
		t.Errorf("another pre-trained model: the error is %v", err)
	}
}

func TestWhatCannotBeTunedIsSaid(t *testing.T) {
	path := decoder(t)
	for want, change := range map[string]func(*llmperf.Options){
		"brings its own shape":       func(o *llmperf.Options) { o.Size = "5M" },
		"3 layers are asked for":     func(o *llmperf.Options) { o.Layers = 3 },
		"3 of 2 layers":              func(o *llmperf.Options) { o.Freeze = 3 },
		"has no layer to work in":    func(o *llmperf.Options) { o.Freeze, o.LoRA = -1, 2 },
		"a rank of 99":               func(o *llmperf.Options) { o.LoRA = 99 },
		"a context of 4096":          func(o *llmperf.Options) { o.Context = 4096 },
		"name it in Options.Init":    func(o *llmperf.Options) { o.Init, o.LoRA = "", 2 },
		"no such file":               func(o *llmperf.Options) { o.Init = filepath.Join(t.TempDir(), "none.gguf") },
		"do not go together":         func(o *llmperf.Options) { o.Freeze, o.Train.Devices = 1, 2 },
		"tokens besides its source,": func(o *llmperf.Options) { o.Context, o.Train.Buckets = 16, []int{16} },
	} {
		opt := tuning(path)
		change(&opt)
		if _, err := llmperf.Fit(context.Background(), thirty(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want one with %q", err, want)
		}
	}
}

// A launch is read as the source with comments behind it; <|endoftext|> is put
// before it because the file says so.
func TestALanguageModelReadsALaunchAsText(t *testing.T) {
	m, err := pretrained.Open(decoder(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	x := thirty()[2]
	x.Args = []llmperf.Argument{argument("x=buf:float:16:random(7):w"), argument("n=int:1048576"), argument("s=local:64")}
	e, err := llmperf.Encoder{Tokenizer: m.Tokenizer(), Limit: 512, Begin: m.Config.Begin}.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	want := x.Source + "\n// arguments:\n// x: float[16] random w\n// n: int 1048576\n// s: local 64 bytes\n// global size 64, local size 16\n"
	if got := m.Tokenizer().Decode(e.IDs); got != want || e.IDs[0] != 0 {
		t.Errorf("it reads token %d and %q, want token 0 and %q", e.IDs[0], got, want)
	}
	if got := fmt.Sprint(e.Lines(x.Source)[len(e.IDs)-1]); got != "0" {
		t.Errorf("the last token is in line %s of the source", got)
	}
}
