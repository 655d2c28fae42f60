package llmperfopencl

import (
	"context"
	"encoding/json"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	_ "github.com/rooflab/rooflab/datasets/duckdb"
	_ "github.com/rooflab/rooflab/datasets/generated"
	"github.com/rooflab/rooflab/datasets/registry"
	_ "github.com/rooflab/rooflab/modeling/backend/engines"
	"github.com/rooflab/rooflab/modeling/baseline/boost"
	"github.com/rooflab/rooflab/modeling/evaluation"
	"github.com/rooflab/rooflab/modeling/llmperf"
	_ "github.com/rooflab/rooflab/modeling/llmperf/gomlx"
	"github.com/rooflab/rooflab/modeling/llmperf/ontrees"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/train"
)

// little is the evaluation with few kernels, small trees, and a network of
// nothing that takes two steps on the Go backend.
var little = settings{
	test: 0.25, calibration: 0.2, resamples: 50, kernels: 120,
	parts: ontrees.Options{
		Median:   boost.Learner{Loss: boost.Absolute, Trees: 40, Rate: 0.2, Leaves: 12, MinRows: 5, Held: -1},
		Relative: boost.Learner{Loss: boost.Relative, Trees: 30, Rate: 0.2, Leaves: 12, MinRows: 5, Held: -1},
		Network: llmperf.Options{Config: llmperf.Config{Width: 8, Layers: 1, Heads: 2, Inner: 8}, Context: 160, Vocab: 400, Relative: true,
			Train: train.Options{Steps: 2, Epochs: 1, Batch: 8, Buckets: []int{160}}},
		Folds: 2,
	},
	backend: "go",
}

// examples are the little evaluation's, read once.
func examples(t *testing.T) []llmperf.Example {
	t.Helper()
	if len(read) == 0 {
		t.Setenv(registry.Env, "")
		t.Setenv("XDG_CACHE_HOME", t.TempDir())
		place, err := registry.Find(set)
		if err != nil {
			t.Fatal(err)
		}
		xs, err := llmperf.FromParquet(t.Context(), place.Dir)
		if err != nil {
			t.Fatal(err)
		}
		read = little.part(xs)
	}
	return read
}

var read []llmperf.Example

func evaluate(t *testing.T, o evaluation.Options) []evaluation.Result {
	t.Helper()
	t.Setenv("GOMLX_BACKEND", "go")
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	xs := examples(t)
	rs, err := little.evaluate(t.Context(), o, xs)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

func find(rs []evaluation.Result, name, metric string) (evaluation.Result, bool) {
	i := slices.IndexFunc(rs, func(r evaluation.Result) bool { return strings.HasPrefix(r.Name, name) && r.Metric == metric })
	if i < 0 {
		return evaluation.Result{}, false
	}
	return rs[i], true
}

func TestEachPredictorIsScoredOnKernelsThatAreNew(t *testing.T) {
	steps := 0
	rs := evaluate(t, evaluation.Options{Seed: 1, Progress: func(what string, done, total int) {
		if strings.HasPrefix(what, "training LLMPerf") {
			steps++
		}
	}})
	if steps == 0 {
		t.Error("training says nothing")
	}
	names := []string{"median", "ridge", "neighbours", "roofline, rates fitted", nameMedian, nameRelative, nameTrees, nameCorrected, nameTogether}
	value := map[string]float64{}
	if rs[0].Name != nameTogether || rs[0].Metric != "MAPE" || !strings.Contains(rs[0].Note, "with a network trained on GoMLX's Go backend") {
		t.Errorf("the first result is %+v", rs[0])
	}
	if r, ok := find(rs, nameTogether, "minutes to fit"); !ok || !(r.Value > 0) || r.N != 2 || r.BaselineValue != 90 || !strings.Contains(r.Note, nameCorrected) {
		t.Errorf("%+v", r)
	}
	for _, name := range names {
		for _, m := range []metric{mape, medianAPE, logRMSE, spearman, coverage, width} {
			r, ok := find(rs, name, m.name)
			constant := name == "median" && m.name == spearman.name // it has no order
			if !ok || r.N == 0 || !strings.Contains(r.Split, "of 120 kernels are new") || !strings.Contains(r.Split, "disjoint in kernel, seed 1") || r.Note == "" ||
				math.IsNaN(r.Value) != constant || !constant && !(r.Low <= r.Value && r.Value <= r.High) {
				t.Errorf("%s, %s: %+v", name, m.name, r)
			}
			value[name+" "+m.name] = r.Value
		}
		if r, _ := find(rs, name, "MAPE"); r.BaselineValue != 0.2425 || !strings.Contains(r.Baseline, "paper's own set") || !strings.Contains(r.Note, "not one on the same launches") {
			t.Errorf("%+v", r)
		}
		if c := value[name+" "+coverage.name]; c < 0.7 || c > 1 {
			t.Errorf("%s: %.2f of the intervals at 90 %% cover", name, c)
		}
	}
	// Trees know more than the median, and the roofline, which learns five rates,
	// orders launches well.
	if value[nameMedian+" log-RMSE"] > 0.7*value["median log-RMSE"] || value["roofline, rates fitted Spearman"] < 0.7 {
		t.Errorf("%v", value)
	}
	against := 0
	for _, r := range rs {
		if strings.HasPrefix(r.Metric, "MAPE less") {
			against++
		}
	}
	if against != 3*7+2 {
		t.Errorf("%d differences, want three predictors against seven baselines, and the first against the two others", against)
	}
	patterns := 0
	for _, x := range little.patternsOf(t) {
		r, ok := find(rs, nameTogether+": pattern "+x+" (", "MAPE")
		if !ok || r.N == 0 || r.Baseline != nameMedian || !(r.BaselineValue > 0) {
			t.Errorf("pattern %s: %+v", x, r)
		}
		patterns++
	}
	if patterns < 8 {
		t.Errorf("%d patterns among the kernels", patterns)
	}
	for _, m := range []metric{mape, inOrder, ratio} {
		if r, ok := find(rs, nameTrees+": data size changing", m.name); !ok || r.N == 0 || math.IsNaN(r.Value) || !strings.Contains(r.Note, "same global size") {
			t.Errorf("%+v", r)
		}
	}
	if r, _ := find(rs, "measured", "standard deviation of log of a configuration's times, median"); !(r.Value > 0.001 && r.Value < 0.3) {
		t.Errorf("%+v", r)
	}
	if _, err := json.Marshal(rs); err != nil {
		t.Error(err)
	}
}

// patternsOf are the patterns of the kernels that are held out.
func (s settings) patternsOf(t *testing.T) []string {
	e, err := llmperf.Table(examples(t))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := s.held(e, 1)
	if err != nil {
		t.Fatal(err)
	}
	out := pick(e.Texts["pattern"], rows.Test)
	slices.Sort(out)
	return slices.Compact(out)
}

func TestQuickAndMissingXLALeaveTheNetworkOutAndSaySo(t *testing.T) {
	quick := evaluate(t, evaluation.Options{Seed: 1, Quick: true})
	again := evaluate(t, evaluation.Options{Seed: 1, Quick: true})
	raw, _ := json.Marshal(quick)
	if second, _ := json.Marshal(again); string(raw) != string(second) {
		t.Error("the same seed gives other results")
	}
	elsewhere := little
	elsewhere.backend = "xla"
	elsewhere.resamples = 2
	var said []string
	missing, err := elsewhere.evaluate(t.Context(), evaluation.Options{Seed: 1, Progress: func(what string, _, _ int) { said = append(said, what) }}, examples(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		rs  []evaluation.Result
		why string
	}{{quick, "as asked"}, {missing, "trains on xla only, which takes hours elsewhere, and models run on GoMLX's Go backend here"}} {
		if r := c.rs[0]; r.Name != nameTogether || !math.IsNaN(r.Value) || r.N != 0 || !strings.Contains(r.Note, "LLMPerf was left out") || !strings.Contains(r.Note, c.why) {
			t.Errorf("%+v", r)
		}
		if r, ok := find(c.rs, nameTrees, "MAPE"); !ok || !(r.Value > 0) {
			t.Errorf("%+v", r)
		}
	}
	if !slices.ContainsFunc(said, func(s string) bool { return strings.HasPrefix(s, "LLMPerf was left out") }) {
		t.Errorf("said: %q", said)
	}
}

func TestResultsNameAPluginWithoutItsFolder(t *testing.T) {
	const plugin = "/home/ann/my plugins/pjrt_c_api_cpu_plugin.so"
	if got := withoutFolder("XLA with the PJRT plugin "+plugin+" (PJRT C API 0.115)", plugin); got != "XLA with the PJRT plugin pjrt_c_api_cpu_plugin.so (PJRT C API 0.115)" {
		t.Error(got)
	}
	if got := withoutFolder("GoMLX's Go backend", ""); got != "GoMLX's Go backend" {
		t.Error(got)
	}
}

func TestACancelledEvaluationEnds(t *testing.T) {
	xs := examples(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := little.evaluate(ctx, evaluation.Options{Seed: 1, Quick: true, Progress: func(string, int, int) {}}, xs); err == nil {
		t.Error("a cancelled evaluation goes on")
	}
}

// Kernel a has launches of 1, 2 and 4 s under one global size and one of 8 s
// under another, b two of nearly the same time. Predicted are 1, 4 and 2 s: of
// the pairs (1,2), (1,4), (2,4) two are in order; the logarithms of the ratios are
// off by log 2, 0... : 2/1 by 4/1 is off by log 2, 4/1 by 2/1 by log 2, 4/2 by
// 2/4 by log 4, that of b by nothing.
func TestPairsByHand(t *testing.T) {
	launch := func(global, bytes int64) llmperf.Example {
		return llmperf.Example{Global: []int64{global}, Args: []llmperf.Argument{{Kind: llmperf.Buffer, Bytes: bytes}}}
	}
	x := &tested{
		settings: settings{resamples: 20},
		kernels:  []string{"a", "a", "a", "a", "b", "b"},
		measured: []float64{1, 2, 4, 8, 1, 1.05},
		examples: []llmperf.Example{launch(64, 1), launch(64, 2), launch(64, 4), launch(128, 8), launch(64, 1), launch(64, 1)},
	}
	p := &predictor{}
	for _, v := range []float64{1, 4, 2, 1, 3, 3.15} {
		p.predictions = append(p.predictions, predict.Prediction{Value: v})
	}
	all := []int{0, 1, 2, 3, 4, 5}
	if got := inOrder.of(x, p, all); math.Abs(got-2.0/3) > 1e-12 {
		t.Errorf("in order %g, want 2/3", got)
	}
	ln2 := math.Ln2
	if got, want := ratio.of(x, p, all), math.Sqrt((ln2*ln2+ln2*ln2+4*ln2*ln2)/4); math.Abs(got-want) > 1e-12 {
		t.Errorf("ratios are off by %g, want %g", got, want)
	}
	// A resample that has a kernel twice counts its pairs twice, and none between.
	if got := inOrder.of(x, p, []int{0, 1, 2, 3, 0, 1, 2, 3}); math.Abs(got-2.0/3) > 1e-12 {
		t.Errorf("in order %g of a kernel drawn twice, want 2/3", got)
	}
	if got := inOrder.of(x, p, []int{4, 5}); !math.IsNaN(got) {
		t.Errorf("in order %g of times that do not differ, want unknown", got)
	}
	if got := x.growing(all); !reflect.DeepEqual(got, []int{0, 1, 2}) {
		t.Errorf("data grows in %v, want the first three: b has one size, and 128 one launch", got)
	}
}

// 2^3-1 = 7 FP32 operations, 2^1-1 + 2^2-1 + 0 = 4 integer operations, 2^5-1 +
// 2^4-1 = 46 bytes; a footprint that is not known is not 0. Of FP64 no launch
// has any, so that there is no limit.
func TestRooflineOfFeaturesByHand(t *testing.T) {
	e := &predict.Examples{Features: []string{"log2_f32_flop", "log2_f64_flop", "log2_int_add", "log2_int_mul", "log2_int_div", "log2_global_read_bytes", "log2_global_write_bytes",
		"log2_local_read_bytes", "log2_local_write_bytes", "log2_footprint_bytes", "footprint_known"},
		X: [][]float64{{3, 0, 1, 2, 0, 5, 4, 0, 0, 6, 1}, {0, 0, 0, 0, 0, 1, 0, 0, 0, 6, 0}}, Groups: []string{"a", "b"}, Y: []float64{1, 1}}
	w, limits, err := roofline(e, []int{0})
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{7, 0, 4, 46, 0, 63}; !slices.Equal(w.X[0], want) {
		t.Errorf("%v, want %v", w.X[0], want)
	}
	if w.X[1][3] != 1 || !math.IsNaN(w.X[1][5]) {
		t.Errorf("%v", w.X[1])
	}
	var names []string
	for _, l := range limits {
		names = append(names, l.Name)
	}
	if !slices.Equal(names, []string{"flop fp32", "integer operations", "bytes asked", "bytes of buffers"}) {
		t.Errorf("%q", names)
	}
	e.Features[0] = "other"
	if _, _, err := roofline(e, []int{0}); err == nil || !strings.Contains(err.Error(), "log2_f32_flop") {
		t.Error(err)
	}
}
