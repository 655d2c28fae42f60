package regress_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/modeling/backend"
	"github.com/rooflab/rooflab/modeling/regress"
	_ "github.com/rooflab/rooflab/modeling/regress/gomlx"
	"github.com/rooflab/rooflab/modeling/train"
)

// kernels makes launches of made-up kernels: time = max(bytes/1e12, flops/1e13)
// + 2 us, with 2 % noise: a roofline, which no linear model in logs can be.
func kernels(n, each int) dataframe.DataFrame {
	rng := rand.New(rand.NewPCG(9, 9))
	var name []string
	var bytes, flops, hit, time, rate []float64
	var regs []any
	for k := range n {
		b, f := math.Exp(rng.Float64()*8+14), math.Exp(rng.Float64()*8+16)
		for range each {
			scale := math.Exp(rng.NormFloat64() / 2)
			t := (math.Max(b*scale/1e12, f*scale/1e13) + 2e-6) * math.Exp(0.02*rng.NormFloat64())
			name = append(name, fmt.Sprintf("kernel_%02d", k))
			bytes, flops, hit = append(bytes, b*scale), append(flops, f*scale), append(hit, rng.Float64()*100)
			time, rate = append(time, t), append(rate, b*scale/t)
			var r any
			if k%3 > 0 {
				r = 16 + 8*rng.IntN(8)
			}
			regs = append(regs, r)
		}
	}
	return dataframe.New(
		series.New(name, series.String, "kernel"),
		series.New(bytes, series.Float, "dram__bytes.sum"),
		series.New(flops, series.Float, "flops_counted"),
		series.New(hit, series.Float, "lts__t_sector_hit_rate.pct"),
		series.New(regs, series.Int, "regs"),
		series.New(rate, series.Float, "dram__bytes.sum.per_second"),
		series.New(time, series.Float, "gpu__time_duration.sum"),
	)
}

var opts = regress.Options{Target: "gpu__time_duration.sum", Group: "kernel", Seed: 7, Backend: "go", Quiet: true, Epochs: 150}

func fit(t *testing.T, df dataframe.DataFrame, o regress.Options) *regress.Model {
	t.Helper()
	m, err := regress.Fit(context.Background(), df, o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestTheModelBeatsItsBaselinesOnUnseenKernels(t *testing.T) {
	m := fit(t, kernels(60, 12), opts)
	t.Log(m.Report.String())
	mlp, _ := m.Report.Score("mlp")
	ridge, _ := m.Report.Score("ridge")
	median, ok := m.Report.Score("median")
	if !ok || !(mlp.MAPE < ridge.MAPE && ridge.MAPE < median.MAPE) {
		t.Errorf("MAPE: mlp %.3f, ridge %.3f, median %.3f", mlp.MAPE, ridge.MAPE, median.MAPE)
	}
	if mlp.MAPE > 0.3 || mlp.R2Log < 0.9 {
		t.Errorf("the roofline is not learnt: %v", mlp)
	}
	if math.IsNaN(mlp.Within) || mlp.Within < 0.5 {
		t.Errorf("intervals hold %.2f of the test rows", mlp.Within)
	}
	dropped := map[string]string{}
	for _, d := range m.Report.Dropped {
		dropped[d.Column] = d.Reason
	}
	if len(dropped) != 1 || !strings.Contains(dropped["dram__bytes.sum.per_second"], "rate") {
		t.Errorf("dropped %v", dropped)
	}
	if got := strings.Join(m.Report.Features, " "); got != "dram__bytes.sum flops_counted lts__t_sector_hit_rate.pct regs" {
		t.Errorf("features %s", got)
	}
	if m.Report.Train+m.Report.Calibr+m.Report.Test != 720 || m.Report.Test%12 != 0 || m.Report.Calibr%12 != 0 {
		t.Errorf("parts %d, %d, %d cut through kernels of 12 rows", m.Report.Train, m.Report.Calibr, m.Report.Test)
	}
}

func TestEqualSeedsGiveEqualModels(t *testing.T) {
	o := opts
	o.Epochs = 20
	df := kernels(20, 5)
	a, b := fit(t, df, o), fit(t, df, o)
	pa, err := a.Predict(df)
	if err != nil {
		t.Fatal(err)
	}
	pb, err := b.Predict(df)
	if err != nil {
		t.Fatal(err)
	}
	for i := range pa {
		if pa[i] != pb[i] {
			t.Fatalf("row %d: %v and %v", i, pa[i], pb[i])
		}
	}
	if a.Report.DataHash != b.Report.DataHash {
		t.Error("equal data, different hashes")
	}
	o.Seed++
	c := fit(t, df, o)
	pc, _ := c.Predict(df)
	if pa[0] == pc[0] {
		t.Error("another seed gives the same prediction")
	}
	changed := df.Mutate(series.New(append([]float64{1}, df.Col("flops_counted").Float()[1:]...), series.Float, "flops_counted"))
	if d := fit(t, changed, o); d.Report.DataHash == a.Report.DataHash {
		t.Error("one changed value leaves the data hash as it was")
	}
}

// Times in another unit shift log time by a constant, so predictions scale.
func TestTheUnitOfTimeDoesNotMatter(t *testing.T) {
	o := opts
	o.Epochs = 15
	df := kernels(20, 5)
	ns := df.Col(o.Target).Float()
	for i := range ns {
		ns[i] *= 1e9
	}
	a, b := fit(t, df, o), fit(t, df.Mutate(series.New(ns, series.Float, o.Target)), o)
	pa, _ := a.Predict(df)
	pb, _ := b.Predict(df)
	for i := range pa {
		if math.Abs(pb[i].Time/pa[i].Time/1e9-1) > 1e-3 {
			t.Fatalf("row %d: %v s and %v ns", i, pa[i], pb[i])
		}
	}
}

func TestCancellingKeepsWhatWasLearnt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := opts
	o.Epochs = 100000
	o.Progress = func(p train.Progress) {
		if p.Step >= 2000 {
			cancel()
		}
	}
	m, err := regress.Fit(ctx, kernels(12, 4), o)
	if !errors.Is(err, context.Canceled) || m == nil {
		t.Fatalf("model %v, error %v", m, err)
	}
	if m.Report.Epochs < 2000 || m.Report.Epochs > 4001 {
		t.Errorf("%d epochs", m.Report.Epochs)
	}
	if p, err := m.Predict(kernels(2, 2)); err != nil || len(p) != 4 || !(p[0].Low < p[0].Time && p[0].Time < p[0].High) {
		t.Errorf("predictions %v, %v", p, err)
	}
}

func TestBadInputIsAnErrorThatSaysWhatToDo(t *testing.T) {
	df := kernels(6, 2)
	neg := df.Col("gpu__time_duration.sum").Float()
	neg[3] = -1
	for _, c := range []struct {
		name string
		df   dataframe.DataFrame
		o    regress.Options
		want string
	}{
		{"no target", df, regress.Options{Group: "kernel"}, "Options.Target is empty"},
		{"no group", df, regress.Options{Target: "gpu__time_duration.sum"}, "Options.Group is empty"},
		{"unknown target", df, regress.Options{Target: "t", Group: "kernel"}, `no column "t"`},
		{"unknown group", df, regress.Options{Target: "gpu__time_duration.sum", Group: "k"}, `no column "k"`},
		{"text feature", df, regress.Options{Target: "gpu__time_duration.sum", Group: "regs", Features: []string{"kernel"}}, "holds strings, not numbers"},
		{"only leaks", df, regress.Options{Target: "gpu__time_duration.sum", Group: "kernel", Features: []string{"dram__bytes.sum.per_second"}}, "no column is left"},
		{"too few groups", kernels(2, 5), opts, "2 groups"},
		{"negative time", df.Mutate(series.New(neg, series.Float, "gpu__time_duration.sum")), opts, "row 3"},
		{"broken frame", dataframe.DataFrame{Err: errors.New("bad csv")}, opts, "bad csv"},
		{"wild rate", kernels(20, 5), regress.Options{Target: opts.Target, Group: "kernel", Backend: "go", Quiet: true, Rate: 1e30}, "smaller learning rate"},
		{"unknown backend", df, regress.Options{Target: opts.Target, Group: "kernel", Backend: "tpu"}, `no model engine "tpu"`},
	} {
		if _, err := regress.Fit(context.Background(), c.df, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	m := fit(t, kernels(6, 3), regress.Options{Target: opts.Target, Group: "kernel", Backend: "go", Quiet: true, Epochs: 2})
	if _, err := m.Predict(df.Drop("regs")); err == nil || !strings.Contains(err.Error(), `no column "regs"`) {
		t.Errorf("a missing column: %v", err)
	}
}

// Both backends start from the same weights and see the same batches, so the
// first epochs agree up to rounding.
func TestXLAAndGoAgree(t *testing.T) {
	if len(backend.Plugins()) == 0 {
		t.Fatal("no PJRT plugin found: `make test` gets one for its tests, `rooflab xla install` one for you")
	}
	o := opts
	o.Epochs = 5
	df := kernels(20, 5)
	a := fit(t, df, o)
	o.Backend = "xla"
	b := fit(t, df, o)
	pa, _ := a.Predict(df)
	pb, _ := b.Predict(df)
	for i := range pa {
		if math.Abs(pa[i].Time/pb[i].Time-1) > 1e-3 {
			t.Fatalf("row %d: %v on Go, %v on XLA", i, pa[i], pb[i])
		}
	}
	if !strings.Contains(b.Report.Backend, "PJRT") {
		t.Errorf("backend %q", b.Report.Backend)
	}
}

// Real counters: HeCBench programs on an RTX 3080, program-disjoint.
func TestRealCountersOfHeCBench(t *testing.T) {
	f, err := os.Open("../../../shared/samples/derived/gpuflopbench_profiling_data.csv")
	if err != nil {
		t.Fatalf("the sample is missing: %v: the folder shared/ must lie beside the repository", err)
	}
	defer f.Close()
	df := dataframe.ReadCSV(f)
	o := regress.Options{Target: "xtime", Group: "targetName", Seed: 1, Backend: "go", Quiet: true, Epochs: 100}
	m := fit(t, df, o)
	t.Log(m.Report.String())
	dropped := map[string]bool{}
	for _, d := range m.Report.Dropped {
		dropped[d.Column] = true
	}
	for _, leak := range []string{"dpPerf", "spPerf", "intPerf"} {
		if !dropped[leak] {
			t.Errorf("%s, which is work over time, was learnt from", leak)
		}
	}
	// traffic of this file is in bytes per second (spPerf / spAI gives it), so
	// that intops / (intAI * traffic) is the time: the report must notice.
	if w := strings.Join(m.Report.Warnings, "\n"); !strings.Contains(w, "time in disguise") || !strings.Contains(w, "traffic") {
		t.Errorf("a leak in disguise goes unnoticed: %q", w)
	}
	o.Drop = []string{"traffic"}
	m = fit(t, df, o)
	t.Log(m.Report.String())
	mlp, _ := m.Report.Score("mlp")
	median, _ := m.Report.Score("median")
	if !(mlp.LogRMSE < median.LogRMSE) {
		t.Errorf("no better than the median: %v against %v", mlp, median)
	}
	if len(m.Report.Warnings) > 0 {
		t.Errorf("warnings %q", m.Report.Warnings)
	}
}
