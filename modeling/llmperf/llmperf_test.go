package llmperf_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/llmperf/gomlx"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/tokenize"
	"github.com/rooflab/rooflab/modeling/train"
)

// small is a network for tests.
var small = llmperf.Config{Width: 16, Layers: 1, Heads: 2, Inner: 32, Context: 128, Floor: 0.01}

// thirty are kernels that differ in a loop's bound, on line 4, and in what the
// loop does: their times are 100 ns, times the bound, times 1, 2 or 4.
func thirty() []llmperf.Example {
	var xs []llmperf.Example
	for i, work := range []string{"s += 1.5f;", "s = sqrt(s);", "s = exp(s);"} {
		for power := range 10 {
			bound := 1 << power
			xs = append(xs, llmperf.Example{
				Source: fmt.Sprintf("__kernel void k(__global float *x) {\n  // what it does\n  float s = 0;\n  for (int i = 0; i < %d; i++)\n    %s\n  x[0] = s;\n}\n", bound, work),
				Kernel: "k", Args: []llmperf.Argument{argument("x=buf:float:16:random(7):w")},
				Global: []int64{64}, Local: []int64{16},
				Seconds: 1e-7 * float64(bound) * float64(int(1)<<i),
			})
		}
	}
	return xs
}

func argument(spec string) llmperf.Argument {
	a, err := llmperf.ParseArgument(spec)
	if err != nil {
		panic(err)
	}
	return a
}

// fitted is one model for many tests.
var fitted = sync.OnceValues(func() (*llmperf.Model, error) {
	return llmperf.Fit(context.Background(), thirty(), llmperf.Options{
		Config: small, Text: true, Validation: -1, Seed: 1,
		Train: train.Options{Steps: 240, Batch: 30, Rate: 0.01, Decay: -1, Buckets: []int{72, 128}, Quiet: true},
	})
})

func model(t *testing.T) *llmperf.Model {
	t.Helper()
	m, err := fitted()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func table(t *testing.T, xs ...llmperf.Example) *predict.Examples {
	t.Helper()
	xs = slices.Clone(xs)
	for i := range xs {
		xs[i].Seconds = math.NaN()
	}
	e, err := llmperf.Table(xs)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func logs(t *testing.T, m predict.Model, xs ...llmperf.Example) []float64 {
	t.Helper()
	out, err := m.Log(context.Background(), table(t, xs...))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Times below a microsecond are predicted like others: the range of the fixture
// is 100 ns to 205 us.
func TestLearnsThirtyKernelsByHeart(t *testing.T) {
	m, xs := model(t), thirty()
	below := 0
	for i, p := range logs(t, m, xs...) {
		if d := p - math.Log(xs[i].Seconds); math.Abs(d) > 0.4 {
			t.Errorf("kernel %d: predicted %.3g s, want %.3g s", i, math.Exp(p), xs[i].Seconds)
		}
		if math.Exp(p) < 5e-7 {
			below++
		}
	}
	if below < 6 { // 100, 200, 400 ns; 200, 400 ns; 400 ns
		t.Errorf("%d predictions are below 500 ns, want 6", below)
	}
}

func TestNamesDoNotMatter(t *testing.T) {
	x := thirty()[4]
	y := x
	y.Source = strings.NewReplacer("void k(", "void accumulate(", "*x", "*result", "x[0]", "result[0]", "s ", "total ", "= s;", "= total;", "int i", "int step", "i <", "step <", "i++", "step++").Replace(x.Source)
	y.Kernel, y.Args = "accumulate", []llmperf.Argument{argument("result=buf:float:16:random(99):w")}
	if x.Source == y.Source {
		t.Fatal("nothing was renamed")
	}
	if p := logs(t, model(t), x, y); p[0] != p[1] {
		t.Errorf("%v with one set of names, %v with another", p[0], p[1])
	}
}

// Alone, a launch is padded to 72 tokens, beside a longer one of its batch to
// that, and in a batch of another size: sums are then taken in another order,
// so that float32 results agree to 1e-4 in log time, no less.
func TestPredictionsDoNotDependOnTheirCompany(t *testing.T) {
	m, x := model(t), thirty()[3]
	long := x
	long.Source += strings.Repeat("void f(int a) { a += 1; }\n", 3)
	alone, both := logs(t, m, x)[0], logs(t, m, x, long)
	if math.Abs(alone-both[0]) > 1e-4 {
		t.Errorf("%v alone, %v beside a longer one", alone, both[0])
	}
	if math.Abs(both[0]-both[1]) < 1e-6 {
		t.Errorf("the longer one has the same prediction, %v", both[1])
	}
}

// What stands where a batch is padded changes no bit, a longer padding next to
// nothing, and the last token that is there changes something.
func TestPaddingIsNotRead(t *testing.T) {
	c := small
	c.Vocab = 20
	n, err := gomlx.New(c, train.Options{Steps: 1, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	batch := func(length int, padding, last int32) train.Batch {
		ids := []int32{1, 5, 9, 7, last}
		for len(ids) < length {
			ids = append(ids, padding)
		}
		dims := []int{1, length}
		return train.Batch{
			Inputs: []train.Array{{Dims: dims, Int32: ids}, {Dims: dims, Float32: make([]float32, length)}, {Dims: dims, Int32: make([]int32, length)}, {Dims: []int{1}, Int32: []int32{5}}},
			Labels: []train.Array{{Dims: []int{1}, Float32: []float32{0}}, {Dims: []int{1}, Float32: []float32{1}}},
		}
	}
	if err := n.Prepare(batch(16, 0, 2)); err != nil {
		t.Fatal(err)
	}
	location := func(b train.Batch) float32 {
		p, err := n.Predict(b)
		if err != nil {
			t.Fatal(err)
		}
		return p[0].Float32[0]
	}
	want := location(batch(16, 0, 2))
	if got := location(batch(16, 17, 2)); got != want {
		t.Errorf("%v with other ids in the padding, %v", got, want)
	}
	if got := location(batch(32, 0, 2)); math.Abs(float64(got-want)) > 1e-5 {
		t.Errorf("%v with more padding, %v", got, want)
	}
	if got := location(batch(16, 0, 3)); math.Abs(float64(got-want)) < 1e-6 {
		t.Errorf("another last token gives the same %v", got)
	}
}

func TestHostileSourcesGiveNumbers(t *testing.T) {
	m := model(t)
	binary := make([]byte, 3000)
	for i := range binary {
		binary[i] = byte(i * 7)
	}
	for name, source := range map[string]string{
		"empty": "", "binary": string(binary), "100 kB": strings.Repeat("x[i] = y[i] + 1;\n", 6000),
		"brackets": strings.Repeat("(", 20000), "not UTF-8": "\xff\xfe__kernel void k() {}",
	} {
		x := llmperf.Example{Source: source, Kernel: "k", Global: []int64{1 << 40}, Args: []llmperf.Argument{{Kind: llmperf.Scalar, Type: "double", Values: []float64{math.Inf(1)}}}}
		if p := logs(t, m, x)[0]; math.IsNaN(p) || math.IsInf(p, 0) {
			t.Errorf("%s: log time %v", name, p)
		}
		if _, err := m.Attribute(context.Background(), x); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The bound of the loop, on line 4, is what decides the time of one kind.
func TestTheLineThatDecidesHasWeight(t *testing.T) {
	a, err := model(t).Attribute(context.Background(), thirty()[7])
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Lines) != 8 || a.Lines[1].Tokens != 0 || a.Lines[7].Tokens != 0 || a.Lines[3].Tokens == 0 {
		t.Fatalf("lines: %+v", a.Lines)
	}
	most := slices.MaxFunc(a.Lines, func(x, y llmperf.Line) int {
		return int(math.Copysign(1, x.Weight-y.Weight))
	})
	if most.Number != 4 {
		t.Errorf("line %d has the most weight, want 4:\n%v", most.Number, a)
	}
	if html, _ := a.Display().Data["text/html"].(string); !strings.Contains(html, "\u00a0\u00a0for (int i = 0; i &lt; 128") {
		t.Errorf("the listing is without its source: %s", html)
	}
}

func TestSavedAndLoadedPredictsTheSameBits(t *testing.T) {
	m, xs, ctx := model(t), thirty(), context.Background()
	want := logs(t, m, xs...)
	dir := filepath.Join(t.TempDir(), "model")
	if err := llmperf.Save(dir, &predict.Fitted{Model: m}); err != nil {
		t.Fatal(err)
	}
	f, err := llmperf.Load(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := logs(t, f.Model, xs...); !slices.Equal(got, want) {
		t.Errorf("from a folder: %v, want %v", got, want)
	}
	if f.Describe().String() != (&predict.Fitted{Model: m}).Describe().String() {
		t.Errorf("the description changed to %v", f)
	}
	var b bytes.Buffer
	if err := predict.Save(&b, f); err != nil {
		t.Fatal(err)
	}
	g, err := predict.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	if got := logs(t, g.Model, xs...); !slices.Equal(got, want) {
		t.Errorf("from one document: %v, want %v", got, want)
	}
	p, err := llmperf.Predict(ctx, g, xs[3], 0.9)
	if err != nil || math.Abs(math.Log(p.Value)-want[3]) > 1e-4 || p.Low != 0 || !math.IsInf(p.High, 1) {
		t.Errorf("one launch: %v, %v; want %g without bounds, for no groups were held out", p, err, math.Exp(want[3]))
	}
}

func TestDamagedModelsAreRefused(t *testing.T) {
	dir := t.TempDir()
	if err := llmperf.Save(dir, &predict.Fitted{Model: model(t)}); err != nil {
		t.Fatal(err)
	}
	weights, predictor := filepath.Join(dir, "weights.safetensors"), filepath.Join(dir, "predictor.json")
	for _, c := range []struct {
		file string
		harm func(b []byte) []byte
		want string
	}{
		{weights, func(b []byte) []byte { b[len(b)-5] ^= 1; return b }, "damaged"},
		{weights, func(b []byte) []byte { return b[:len(b)/2] }, "damaged"},
		{weights, func([]byte) []byte { return nil }, "damaged"},
		{predictor, func(b []byte) []byte { return bytes.Replace(b, []byte(`"width":16`), []byte(`"width":18`), 1) }, "changed"},
		{predictor, func(b []byte) []byte { return b[:len(b)-9] }, "cut short"},
	} {
		whole, err := os.ReadFile(c.file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(c.file, c.harm(slices.Clone(whole)), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := llmperf.Load(dir, ""); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s harmed: error %v, want one that says %q", filepath.Base(c.file), err, c.want)
		}
		if err := os.WriteFile(c.file, whole, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Weights that are whole, of another model of the same shape.
	s, text, err := train.ReadFile(weights)
	if err != nil {
		t.Fatal(err)
	}
	saved := int64(0)
	for _, w := range s {
		saved += int64(len(w.Data) / 4)
	}
	if want := model(t).Config().Parameters(); saved != want {
		t.Errorf("%d numbers were saved, the model has %d parameters", saved, want)
	}
	s[0].Data[0] ^= 1
	if err := train.WriteFile(weights, s, text); err != nil {
		t.Fatal(err)
	}
	if _, err := llmperf.Load(dir, ""); err == nil || !strings.Contains(err.Error(), "another model") {
		t.Errorf("weights of another model: %v", err)
	}
}

// The formula is held against what the engine builds, and the names against
// the formula.
func TestSizesHaveTheParametersTheirNamesSay(t *testing.T) {
	want := map[string]float64{"5M": 5e6, "20M": 20e6, "80M": 80e6, "350M": 350e6}
	for _, name := range llmperf.SizeNames() {
		c, err := llmperf.Size(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Side = 100
		if w, ok := want[name]; ok && math.Abs(float64(c.Parameters())/w-1) > 0.05 {
			t.Errorf("%s has %d parameters", name, c.Parameters())
		}
		if name != "tiny" && name != "5M" {
			continue
		}
		n, err := gomlx.New(c, train.Options{Steps: 1, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		dims, one := []int{1, 8}, []int{1}
		err = n.Prepare(train.Batch{
			Inputs: []train.Array{{Dims: dims, Int32: make([]int32, 8)}, {Dims: dims, Float32: make([]float32, 8)}, {Dims: dims, Int32: make([]int32, 8)}, {Dims: one, Int32: []int32{5}}, {Dims: []int{1, 100}, Float32: make([]float32, 100)}},
			Labels: []train.Array{{Dims: one, Float32: []float32{0}}, {Dims: one, Float32: []float32{1}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.About().Parameters; got != c.Parameters() {
			t.Errorf("%s has %d parameters, Config.Parameters says %d", name, got, c.Parameters())
		}
		n.Close()
	}
}

func TestASourceThatIsTooLongLosesNoArgument(t *testing.T) {
	tk := model(t).Tokenizer()
	x := thirty()[0]
	whole, err := llmperf.Encoder{Tokenizer: tk, Limit: 1000}.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	x.Source = strings.Repeat("void other(int a) { a += 2; }\n", 200) + x.Source
	cut, err := llmperf.Encoder{Tokenizer: tk, Limit: 64}.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	if cut.Len() > 64 {
		t.Errorf("%d tokens, the limit is 64", cut.Len())
	}
	sep, _ := tk.Special(tokenize.Sep)
	after := func(e tokenize.Encoding) []int32 { return e.IDs[slices.Index(e.IDs, sep):] }
	if !slices.Equal(after(cut), after(whole)) {
		t.Errorf("arguments and sizes are %v, of the whole source %v", after(cut), after(whole))
	}
	if _, err := (llmperf.Encoder{Tokenizer: tk, Limit: 8}).Encode(x); err == nil {
		t.Error("eight tokens hold no launch")
	}
}
