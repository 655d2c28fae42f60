package compare_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/predict/compare"
)

// kernels are rows whose time follows from x; kernels differ by an offset.
func kernels(n int) *predict.Examples {
	rng := rand.New(rand.NewPCG(1, 1))
	e := &predict.Examples{Features: []string{"x", "noise"}, Target: "time", Unit: "s"}
	for k := range n {
		offset := 0.2 * rng.NormFloat64()
		for range 6 {
			x := 1 + rng.Float64()
			e.X = append(e.X, []float64{x, 1 + rng.Float64()})
			e.Groups = append(e.Groups, fmt.Sprintf("kernel %02d", k))
			e.Y = append(e.Y, math.Exp(4*x+offset))
		}
	}
	return e
}

// spy notes what a predictor is shown, and predicts 1.
type spy struct {
	t       *testing.T
	fitted  []map[string]bool
	asked   []map[string]bool
	columns []string
}

func (s *spy) Fit(_ context.Context, e *predict.Examples, _ uint64) (predict.Predictor, error) {
	s.fitted, s.columns = append(s.fitted, set(e.Groups)), e.Features
	return s, nil
}

func (s *spy) Predict(_ context.Context, e *predict.Examples, _ float64) ([]predict.Prediction, error) {
	if e.Y != nil {
		s.t.Error("who is asked is told the answers")
	}
	s.asked = append(s.asked, set(e.Groups))
	return slices.Repeat([]predict.Prediction{{Value: 1, Low: 0.5, High: 2}}, e.Len()), nil
}

func (s *spy) Describe() predict.Description { return predict.Description{Kind: "spy"} }

func set(xs []string) map[string]bool {
	out := map[string]bool{}
	for _, x := range xs {
		out[x] = true
	}
	return out
}

func TestNobodySeesTheKernelsThatAreAsked(t *testing.T) {
	s := &spy{t: t}
	e := kernels(20)
	c, err := compare.Run(context.Background(), e, []compare.Entry{{Name: "spy", Fitter: s, Features: []string{"x"}}}, compare.Options{Seed: 3, Resamples: 50})
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for k := range s.asked {
		for g := range s.asked[k] {
			all[g]++
			if s.fitted[k][g] {
				t.Errorf("fold %d: %s is on both sides", k, g)
			}
		}
	}
	if len(s.asked) != 5 || len(all) != 20 || !slices.Equal(s.columns, []string{"x"}) {
		t.Errorf("%d folds, %d kernels asked, columns %q", len(s.asked), len(all), s.columns)
	}
	for g, n := range all {
		if n != 1 {
			t.Errorf("%s is asked in %d folds", g, n)
		}
	}
	f, ok := c.Entries[0].Report.Figure("coverage at 90 %")
	want := 0
	for _, y := range e.Y {
		if y >= 0.5 && y <= 2 {
			want++
		}
	}
	if !ok || f.Value != float64(want)/float64(e.Len()) {
		t.Errorf("coverage %+v", f)
	}
}

func entries() []compare.Entry {
	return []compare.Entry{
		{Name: "median", Fitter: predict.Conformal{Learner: baseline.MedianLearner{}}},
		{Name: "ridge", Fitter: predict.Conformal{Learner: baseline.RidgeLearner{}}},
		{Name: "ridge of noise", Fitter: predict.Conformal{Learner: baseline.RidgeLearner{}}, Features: []string{"noise"}},
	}
}

func TestResultsNameWhatTheyAreHeldAgainst(t *testing.T) {
	run := func() *compare.Comparison {
		c, err := compare.Run(context.Background(), kernels(60), entries(), compare.Options{Axis: split.ByKernel, Seed: 7, Resamples: 300})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := run()
	rs, err := c.Results()
	if err != nil {
		t.Fatal(err)
	}
	paired := 0
	for _, r := range rs {
		if r.N != 360 || r.Split != "5-fold, disjoint in kernel (60 of them), seed 7" || r.Note == "" || !(r.Low <= r.Value && r.Value <= r.High) {
			t.Errorf("%+v", r)
		}
		if r.Name == "median" && r.Baseline != "" || r.Name != "median" && r.Baseline != "median" {
			t.Errorf("%+v", r)
		}
		if strings.Contains(r.Metric, "paired") {
			paired++
			if better := r.Low > 0; better != (r.Name == "ridge") {
				t.Errorf("%s is ahead by %g (%g to %g)", r.Name, r.Value, r.Low, r.High)
			}
		}
		if r.Name == "ridge" && r.Metric == "log-RMSE" {
			// What is left is the kernels' offset, 0.2.
			if r.Value < 0.15 || r.Value > 0.27 || r.BaselineValue < 1 {
				t.Errorf("%+v", r)
			}
			all := 0.0
			for i, p := range c.Entries[1].Predictions {
				d := math.Log(p.Value / c.Measured[i])
				all += d * d / 360
			}
			if math.Abs(math.Sqrt(all)-r.Value) > 1e-12 {
				t.Errorf("log-RMSE %g, by hand %g", r.Value, math.Sqrt(all))
			}
		}
	}
	if paired != 2 {
		t.Errorf("%d paired differences", paired)
	}
	again, err := run().Results()
	if err != nil || fmt.Sprint(rs) != fmt.Sprint(again) {
		t.Errorf("other results with the same seed, %v", err)
	}
	if s := c.String(); !strings.Contains(s, "ridge of noise") || !strings.Contains(s, "sha256:") {
		t.Error(s)
	}
}

// With two groups for intervals there is no end at 90 %, and no coverage of it.
func TestUnboundedIntervalsAreSaid(t *testing.T) {
	c, err := compare.Run(context.Background(), kernels(6), entries()[:1], compare.Options{Folds: -1, Resamples: 20})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := c.Results()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if strings.HasPrefix(r.Metric, "coverage") || !strings.Contains(r.Note, "too few groups") || !strings.HasPrefix(r.Split, "each group held out once (6") {
			t.Errorf("%+v", r)
		}
	}
}

func TestImpossibleComparisonsAreErrors(t *testing.T) {
	two := entries()[:2]
	for want, run := range map[string]func() error{
		"0 entries": func() error {
			_, err := compare.Run(context.Background(), kernels(9), nil, compare.Options{})
			return err
		},
		`baseline "x"`: func() error {
			_, err := compare.Run(context.Background(), kernels(9), two, compare.Options{Baseline: "x"})
			return err
		},
		"two of it": func() error {
			_, err := compare.Run(context.Background(), kernels(9), append(two, two[0]), compare.Options{})
			return err
		},
		"5 folds": func() error {
			_, err := compare.Run(context.Background(), kernels(4), two, compare.Options{})
			return err
		},
		`features of a`: func() error {
			_, err := compare.Run(context.Background(), kernels(9), []compare.Entry{{Name: "a", Fitter: two[0].Fitter, Features: []string{"y"}}}, compare.Options{})
			return err
		},
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
