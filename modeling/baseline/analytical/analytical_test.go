package analytical_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/analytical"
	"github.com/rooflab/rooflab/modeling/devices"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/roofline"
)

var nan = math.NaN()

// examples have flop, bytes and the device's peaks, and times that are given.
func examples(x [][]float64, times ...float64) *predict.Examples {
	e := &predict.Examples{Features: []string{"flop", "bytes", "peak flop", "peak bytes"}, X: x, Target: "time", Unit: "s", Y: times}
	for r := range x {
		e.Groups = append(e.Groups, fmt.Sprint("kernel ", r))
	}
	return e
}

func fit(t *testing.T, l analytical.Learner, e *predict.Examples) *analytical.Model {
	t.Helper()
	m, err := l.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*analytical.Model)
}

var two = []analytical.Limit{{Name: "FP32", Work: "flop", Peak: "peak flop"}, {Name: "DRAM", Work: "bytes", Peak: "peak bytes"}}

func TestGivenPeaksByHand(t *testing.T) {
	e := examples([][]float64{
		{2e9, 1e6, 1e12, 1e11}, // 2 ms of flop, 10 us of bytes
		{2e6, 1e9, 1e12, 1e11}, // 2 us of flop, 10 ms of bytes
		{2e9, nan, 1e12, 1e11}, // what is not known limits nothing
		{0, 0, 1e12, 1e11},     // an empty kernel
	}, 1, 1, 1, 1)
	m := fit(t, analytical.Learner{Limits: two, Overhead: 5e-6}, e)
	got, err := m.Log(context.Background(), e)
	if err != nil {
		t.Fatal(err)
	}
	for r, want := range []float64{2.005e-3, 10.005e-3, 2.005e-3, 5e-6} {
		if math.Abs(math.Exp(got[r])-want) > 1e-12*want {
			t.Errorf("row %d: %g s, want %g", r, math.Exp(got[r]), want)
		}
	}
	if d := m.Describe().Detail; !strings.HasPrefix(d, "peaks and overhead given") {
		t.Error(d)
	}
}

// Times of half the peak flop/s, 80 % of the peak bandwidth and 5 us of
// overhead, with 2 % of noise: the fit finds all three again.
func TestFittedEfficienciesAreThoseOfTheData(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var x [][]float64
	var times []float64
	for range 500 {
		peak := 1e13 * (1 + rng.Float64())
		row := []float64{math.Exp(12 + 14*rng.Float64()), math.Exp(10 + 12*rng.Float64()), peak, peak / 20}
		x = append(x, row)
		times = append(times, (5e-6+max(row[0]/(0.5*row[2]), row[1]/(0.8*row[3])))*math.Exp(0.02*rng.NormFloat64()))
	}
	e := examples(x, times...)
	m := fit(t, analytical.Learner{Limits: two, Mode: analytical.Fitted}, e)
	if math.Abs(1/m.Cost[0]-0.5) > 0.01 || math.Abs(1/m.Cost[1]-0.8) > 0.016 || math.Abs(m.Overhead-5e-6) > 1e-7 || len(m.Describe().Warnings) > 0 {
		t.Errorf("efficiencies %g and %g, overhead %g, warnings %q", 1/m.Cost[0], 1/m.Cost[1], m.Overhead, m.Describe().Warnings)
	}
	// The same without peaks: rates are fitted. All devices are then alike.
	for r := range x {
		x[r][2], x[r][3] = 1e13, 5e11
		times[r] = 5e-6 + max(x[r][0]/5e12, x[r][1]/4e11)
	}
	m = fit(t, analytical.Learner{Limits: []analytical.Limit{{Name: "flop", Work: "flop"}, {Name: "bytes", Work: "bytes"}}, Mode: analytical.Fitted}, examples(x, times...))
	if math.Abs(m.Cost[0]*5e12-1) > 1e-3 || math.Abs(m.Cost[1]*4e11-1) > 1e-3 || math.Abs(m.Overhead/5e-6-1) > 1e-3 {
		t.Errorf("rates %g and %g, overhead %g", 1/m.Cost[0], 1/m.Cost[1], m.Overhead)
	}
}

func TestAFitAboveThePeakIsSaid(t *testing.T) {
	var x [][]float64
	var times []float64
	for i := range 40 {
		bytes := math.Exp(float64(i) / 3)
		x, times = append(x, []float64{0, bytes, 1, 100}), append(times, 1e-3+bytes/200)
	}
	m := fit(t, analytical.Learner{Limits: two[1:], Mode: analytical.Fitted}, examples(x, times...))
	if d := m.Describe(); len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "2.00 times the peak") {
		t.Errorf("%q", d.Warnings)
	}
}

func TestCeilingsOfADeviceBecomeLimits(t *testing.T) {
	d, err := devices.Find("NVIDIA A100-PCIE-40GB")
	if err != nil {
		t.Fatal(err)
	}
	ls, err := analytical.FromCeilings(roofline.Of(d), map[roofline.Precision]string{roofline.FP32: "flop"}, map[roofline.Level]string{roofline.DRAM: "bytes"})
	if err != nil {
		t.Fatal(err)
	}
	// NVIDIA's data sheet: 1,555 GB/s and 19.5 TFLOPS.
	if len(ls) != 2 || ls[0].Name != "DRAM" || math.Abs(ls[0].Rate/1555e9-1) > 0.01 || math.Abs(ls[1].Rate/19.5e12-1) > 0.01 || !strings.HasPrefix(ls[1].From, "theoretical: ") {
		t.Errorf("%+v", ls)
	}
	if _, err := analytical.FromCeilings(roofline.Of(d), nil, map[roofline.Level]string{roofline.L3: "bytes"}); err == nil {
		t.Error("an A100 has no L3")
	}
}

func TestWhatCannotBeARooflineIsAnError(t *testing.T) {
	good := [][]float64{{1, 1, 1, 1}, {2, 2, 1, 1}}
	for want, c := range map[string]struct {
		l analytical.Learner
		x [][]float64
	}{
		"0 limits":                 {analytical.Learner{}, good},
		`mode "guess"`:             {analytical.Learner{Limits: two, Mode: "guess"}, good},
		"want one of them":         {analytical.Learner{Limits: []analytical.Limit{{Name: "x", Work: "flop"}}}, good},
		"an overhead of -1":        {analytical.Learner{Limits: two, Overhead: -1}, good},
		`no feature "inst"`:        {analytical.Learner{Limits: []analytical.Limit{{Name: "x", Work: "inst", Rate: 1}}}, good},
		"has work -1":              {analytical.Learner{Limits: two}, [][]float64{{-1, 1, 1, 1}, {1, 1, 1, 1}}},
		"peak 0":                   {analytical.Learner{Limits: two}, [][]float64{{1, 1, 0, 1}, {1, 1, 1, 1}}},
		"of each limit is unknown": {analytical.Learner{Limits: two}, [][]float64{{nan, nan, 1, 1}, {1, 1, 1, 1}}},
		"no row has work for it":   {analytical.Learner{Limits: two, Mode: analytical.Fitted}, [][]float64{{0, 1, 1, 1}, {0, 1, 1, 1}}},
	} {
		if _, err := c.l.Fit(context.Background(), examples(c.x, 1, 2), 1); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	m := fit(t, analytical.Learner{Limits: two}, examples(good, 1, 2))
	if _, err := m.Log(context.Background(), examples([][]float64{{0, 0, 1, 1}})); err == nil || !strings.Contains(err.Error(), "no work") {
		t.Error(err)
	}
}
