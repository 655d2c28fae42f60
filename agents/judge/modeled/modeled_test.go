package modeled_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/agents/edit"
	"github.com/rooflab/rooflab/agents/judge"
	"github.com/rooflab/rooflab/agents/judge/modeled"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/llmperf"
	"github.com/rooflab/rooflab/modeling/predict"
)

// kernel does some work n times.
func kernel(n int) string {
	return fmt.Sprintf("__kernel void k(__global float *a)\n{\n    float x = a[get_global_id(0)];\n    for (int i = 0; i < %d; i++)\n        x = x * 1.5f + 0.5f;\n    a[get_global_id(0)] = x;\n}\n", n)
}

func program(text string, launches ...judge.Launch) judge.Program {
	return judge.Program{Language: "opencl", Sources: []edit.Source{{Path: "k.cl", Text: text}}, Launches: launches}
}

var launch = judge.Launch{Kernel: "k", Global: []int64{4096}, Local: []int64{64}, Args: "buf:float:4096:rw", Count: 3}

// model is fitted to kernels that take a nanosecond for each multiplication of a
// work-item, so that a quarter of the loop is four times as fast.
func model(t *testing.T) *predict.Fitted {
	t.Helper()
	args, err := llmperf.ParseArguments("a=" + launch.Args)
	if err != nil {
		t.Fatal(err)
	}
	var xs []llmperf.Example
	for i := range 60 {
		n := int(math.Exp2(2 + 0.12*float64(i)))
		xs = append(xs, llmperf.Example{Source: kernel(n) + strings.Repeat("\n", i), Kernel: "k", Args: args, Global: launch.Global, Local: launch.Local,
			Group: fmt.Sprint("kernel ", i), Seconds: 1e-9 * float64(n) * 4096})
	}
	table, err := llmperf.Table(xs)
	if err != nil {
		t.Fatal(err)
	}
	p, err := predict.Conformal{Learner: baseline.RidgeLearner{}, Folds: 5}.Fit(context.Background(), table, 1)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*predict.Fitted)
}

func TestLessWorkIsJudgedFaster(t *testing.T) {
	f := model(t)
	j := modeled.New("m", f)
	got, err := j.Rank(t.Context(), program(kernel(256), launch), []judge.Program{program(kernel(64)), program(kernel(512)), program("int nothing;\n")})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{4, 0.5} {
		if v := got[i]; math.Abs(math.Log(v.Speedup/want)) > 0.3 || !(v.Low <= want && want <= v.High) || v.Level != judge.Level {
			t.Errorf("candidate %d is judged %+v, want about %g", i, v, want)
		}
	}
	if got[2].Known() || !strings.Contains(got[2].Why, "no source has the kernel k") {
		t.Errorf("without the kernel: %+v", got[2])
	}
	if got, err := j.Rank(t.Context(), program(kernel(256)), []judge.Program{program(kernel(64))}); err != nil || got[0].Known() || !strings.Contains(got[0].Why, "no launch") {
		t.Errorf("without a launch: %+v, %v", got, err)
	}
	bad := launch
	bad.Args = "nonsense"
	if got, err := j.Rank(t.Context(), program(kernel(256), bad), []judge.Program{program(kernel(64))}); err != nil || got[0].Known() {
		t.Errorf("with arguments that are none: %+v, %v", got, err)
	}
	c := program(kernel(256), launch)
	c.Language = "c"
	if _, err := j.Rank(t.Context(), c, nil); err == nil || !strings.Contains(err.Error(), "OpenCL") {
		t.Errorf("a target in C: %v", err)
	}
}

func TestAModelIsLoadedFromItsFile(t *testing.T) {
	f := model(t)
	path := filepath.Join(t.TempDir(), "ridge.json")
	w, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := predict.Save(w, f); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	j, err := modeled.Load(path, "")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(j.Name(), "ridge regression ridge.json (data ") {
		t.Errorf("it is called %q", j.Name())
	}
	base, cs := program(kernel(256), launch), []judge.Program{program(kernel(64))}
	a, err := j.Rank(t.Context(), base, cs)
	b, err2 := modeled.New("m", f).Rank(t.Context(), base, cs)
	if err != nil || err2 != nil || a[0] != b[0] {
		t.Errorf("%+v and %+v: %v, %v", a, b, err, err2)
	}
	for _, path := range []string{filepath.Join(t.TempDir(), "none"), t.TempDir(), "modeled_test.go"} {
		if _, err := modeled.Load(path, ""); err == nil || !strings.Contains(err.Error(), "rooflab train") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
