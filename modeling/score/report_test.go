package score_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/score"
)

var (
	xs = []float64{2.5, 1, 1, 7, 3, 3, 3, 9, 4, 8}
	ys = []float64{3, 1, 2, 6, 2, 2, 5, 8, 8, 7}
)

// tied makes two related columns with many ties: x from the linear
// congruential generator s = (1103515245 s + 12345) mod 2^31 from s = 12345,
// shifted by 8 bits, modulo 50; y = x/2 in integers plus the next modulo 30.
func tied(n int) (x, y []float64) {
	s := int64(12345)
	next := func() int64 {
		s = (1103515245*s + 12345) % (1 << 31)
		return s >> 8
	}
	for range n {
		a, b := next()%50, next()%30
		x, y = append(x, float64(a)), append(y, float64(a/2+b))
	}
	return x, y
}

// scipy 1.17.1: spearmanr(x, y).statistic, kendalltau(x, y, variant="b")
// .statistic and rankdata(x), on xs and ys as above and on tied(2000).
func TestRankCorrelationsAgainstScipy(t *testing.T) {
	if got := fmt.Sprint(score.Ranks(xs)); got != "[3 1.5 1.5 8 5 5 5 10 7 9]" {
		t.Errorf("ranks %s", got)
	}
	bigX, bigY := tied(2000)
	for _, c := range []struct {
		name              string
		x, y              []float64
		spearman, kendall float64
	}{
		{"ten", xs, ys, 0.85, 0.7317073170731707},
		{"two thousand, tied", bigX, bigY, 0.6390149237783166, 0.461500066204348},
		{"ten, exchanged", ys, xs, 0.85, 0.7317073170731707},
		{"the same", xs, xs, 1, 1},
		{"reversed", []float64{1, 2, 3}, []float64{9, 4, -1}, -1, -1},
	} {
		if s, k := score.Spearman(c.x, c.y), score.Kendall(c.x, c.y); !near(s, c.spearman) || !near(k, c.kendall) {
			t.Errorf("%s: Spearman %v, Kendall %v; want %v, %v", c.name, s, k, c.spearman, c.kendall)
		}
	}
	for _, c := range [][2][]float64{{{1}, {1}}, {nil, nil}, {{1, 1, 1}, {1, 2, 3}}, {{1, 2}, {1, 2, 3}}} {
		if s, k := score.Spearman(c[0], c[1]), score.Kendall(c[0], c[1]); !math.IsNaN(s) || !math.IsNaN(k) {
			t.Errorf("%v and %v: %v, %v; want none", c[0], c[1], s, k)
		}
	}
}

func TestKendallCountsPairs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		n := 2 + rng.IntN(30)
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = float64(rng.IntN(8)), float64(rng.IntN(8))
		}
		var c, tx, ty, all float64 // the definition, in n^2 steps
		for i := range n {
			for j := range i {
				all++
				a, b := x[i]-x[j], y[i]-y[j]
				switch {
				case a*b > 0:
					c++
				case a*b < 0:
					c--
				}
				if a == 0 {
					tx++
				}
				if b == 0 {
					ty++
				}
			}
		}
		want := c / math.Sqrt((all-tx)*(all-ty))
		if got := score.Kendall(x, y); math.Abs(got-want) > 1e-12 || math.IsNaN(got) != math.IsNaN(want) {
			t.Fatalf("%v and %v: %v, want %v", x, y, got, want)
		}
	}
}

func TestRegretOfTheTop(t *testing.T) {
	measured := []float64{10, 8, 12, 9}
	for _, c := range []struct {
		predicted []float64
		k         int
		want      float64
	}{
		{[]float64{3, 1, 4, 2}, 1, 0},         // the best chosen
		{[]float64{1, 3, 4, 2}, 1, 10./8 - 1}, // 10 instead of 8
		{[]float64{1, 3, 4, 2}, 2, 9./8 - 1},  // 9 is the second choice
		{[]float64{1, 3, 4, 2}, 3, 0},         // 8 the third
		{[]float64{1, 1, 1, 1}, 1, 12./8 - 1}, // no opinion: the worst
		{[]float64{-1, -3, 5, 2}, 9, 0},       // more than there are
	} {
		if got, err := score.TopK(measured, c.predicted, c.k); err != nil || !near(got, c.want) {
			t.Errorf("%v, top %d: %v, %v; want %v", c.predicted, c.k, got, err, c.want)
		}
	}
	for _, c := range [][2][]float64{{{0, 1}, {1, 1}}, {{1}, {1, 2}}, {nil, nil}, {{1, 2}, {math.NaN(), 1}}} {
		if _, err := score.TopK(c[0], c[1], 1); err == nil {
			t.Errorf("%v against %v is no error", c[0], c[1])
		}
	}
}

// scikit-learn 1.9.1: mean_pinball_loss(xs, ys, alpha=0.9) and 0.25; numpy
// 2.4.6: quantile(xs, [0, 0.025, 0.3, 0.975, 1]).
func TestPinballAndQuantiles(t *testing.T) {
	for q, want := range map[float64]float64{0.9: 0.525, 0.25: 0.6875} {
		if got, err := score.Pinball(xs, ys, q); err != nil || !near(got, want) {
			t.Errorf("pinball of %g: %v, %v; want %v", q, got, err, want)
		}
	}
	if _, err := score.Pinball(xs, ys, 1); err == nil {
		t.Error("the quantile 1 is no error")
	}
	sorted := []float64{1, 1, 2.5, 3, 3, 3, 4, 7, 8, 9}
	for i, q := range []float64{0, 0.025, 0.3, 0.975, 1} {
		if got, want := score.Quantile(sorted, q), []float64{1, 1, 2.85, 8.775, 9}[i]; !near(got, want) {
			t.Errorf("quantile %g: %v, want %v", q, got, want)
		}
	}
}

// The interval of a mean of many normal numbers is that of the central limit
// theorem, mean +- 1.96 s / sqrt(n), within the resamples' own scatter.
func TestBootstrapOfAMean(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	const n = 400
	var values []float64
	var each, tens []string
	var repeated []float64
	for i := range n {
		v := 5 + 2*rng.NormFloat64()
		values, each = append(values, v), append(each, fmt.Sprint(i))
		for range 10 { // ten rows with the same value: no new evidence
			repeated, tens = append(repeated, v), append(tens, fmt.Sprint(i))
		}
	}
	mean := func(xs []float64) func(rows []int) float64 {
		return func(rows []int) float64 {
			s := 0.0
			for _, r := range rows {
				s += xs[r]
			}
			return s / float64(len(rows))
		}
	}
	opt := score.Resampling{Resamples: 4000, Seed: 3}
	got, err := score.Bootstrap(each, mean(values), opt)
	if err != nil {
		t.Fatal(err)
	}
	s := 0.0
	for _, v := range values {
		s += (v - got.Value) * (v - got.Value) / (n - 1)
	}
	half := 1.959964 * math.Sqrt(s/n)
	if math.Abs(got.Low-(got.Value-half)) > 0.06*half || math.Abs(got.High-(got.Value+half)) > 0.06*half {
		t.Errorf("%+v, want %v +- %v", got, got.Value, half)
	}
	again, _ := score.Bootstrap(tens, mean(repeated), opt)
	if math.Abs(again.Low-got.Low) > 1e-9 || math.Abs(again.High-got.High) > 1e-9 {
		t.Errorf("repeating rows changes the interval: %+v and %+v", again, got)
	}
	same, _ := score.Bootstrap(each, mean(values), opt)
	opt.Seed++
	other, _ := score.Bootstrap(each, mean(values), opt)
	if same != got || other == got {
		t.Errorf("seeds: %+v, %+v, %+v", got, same, other)
	}
	one, err := score.Bootstrap([]string{"a", "a"}, mean(values[:2]), opt)
	if err != nil || !math.IsNaN(one.Low) || !math.IsNaN(one.High) || math.IsNaN(one.Value) {
		t.Errorf("one group: %+v, %v", one, err)
	}
	if _, err := score.Bootstrap(nil, mean(nil), opt); err == nil {
		t.Error("no rows are no error")
	}
}

// A predictor that knows the distribution: log time is normal with a standard
// deviation of 0.3, so that +- 1.645 of them hold 90 % and +- 0.6745 hold 50 %.
func calibrated(n int) score.Predictions {
	rng := rand.New(rand.NewPCG(5, 5))
	var p score.Predictions
	wide, narrow := score.Band{Level: 0.9}, score.Band{Level: 0.5}
	for i := range n {
		mid := math.Exp(3 * rng.Float64())
		p.Measured = append(p.Measured, mid*math.Exp(0.3*rng.NormFloat64()))
		p.Predicted = append(p.Predicted, mid)
		p.Group = append(p.Group, fmt.Sprint("kernel ", i/8))
		p.Task = append(p.Task, fmt.Sprint("task ", i/4))
		wide.Low, wide.High = append(wide.Low, mid*math.Exp(-1.644854*0.3)), append(wide.High, mid*math.Exp(1.644854*0.3))
		narrow.Low, narrow.High = append(narrow.Low, mid*math.Exp(-0.6744898*0.3)), append(narrow.High, mid*math.Exp(0.6744898*0.3))
	}
	p.Bands = []score.Band{narrow, wide}
	return p
}

func TestAReportOfACalibratedPredictor(t *testing.T) {
	p := calibrated(2000)
	opt := score.Resampling{Resamples: 200, Seed: 1}
	r, err := score.Evaluate("oracle", p, opt)
	if err != nil {
		t.Fatal(err)
	}
	// E|e^-z - 1| for z normal with deviation 0.3 is 0.2467 by numerical
	// integration; the pinball loss of both quantiles of a normal is, for tail
	// a, s phi(z_a) = 0.3 x 0.10314 at 5 %.
	for metric, want := range map[string][2]float64{ // value, tolerance
		"log-RMSE":              {0.3, 0.015},
		"MAPE":                  {0.2467, 0.015},
		"coverage at 90 %":      {0.9, 0.02},
		"coverage at 50 %":      {0.5, 0.035},
		"high/low at 90 %":      {math.Exp(2 * 1.644854 * 0.3), 1e-9},
		"pinball (log) at 90 %": {0.3 * 0.103136, 0.0015},
	} {
		f, ok := r.Figure(metric)
		if !ok || math.Abs(f.Value-want[0]) > want[1] {
			t.Errorf("%s: %+v, want %v", metric, f, want[0])
		}
		if metric != "high/low at 90 %" && !(f.Low < f.Value && f.Value < f.High && f.High-f.Low < f.Value) {
			t.Errorf("%s: interval %+v", metric, f)
		}
	}
	top1, _ := r.Figure("top-1 regret")
	top3, ok := r.Figure("top-3 regret")
	if !ok || top1.N != 500 || !(top3.Value < top1.Value && top1.Value < 0.3) || r.Groups != 250 {
		t.Errorf("regrets %+v and %+v, %d groups", top1, top3, r.Groups)
	}
	// A wrong band is seen.
	p.Bands[1].Level = 0.99
	if r, err = score.Evaluate("boastful", p, opt); err != nil {
		t.Fatal(err)
	}
	if f, ok := r.Figure("coverage at 99 %"); !ok || f.High > 0.95 {
		t.Errorf("%+v", f)
	}
	table := score.Table("predictors", r, r)
	if s := table.String(); !strings.Contains(s, "Kendall tau-b") || !strings.Contains(s, "200 resamples of 250 groups, seed 1") || len(table.Rows) != 14 || len(table.Rows[0]) != 5 {
		t.Errorf("%d rows:\n%s", len(table.Rows), s)
	}
}

func TestAReportRefusesWhatCannotBeScored(t *testing.T) {
	good := func() score.Predictions { return calibrated(16) }
	for name, spoil := range map[string]func(p *score.Predictions){
		"no rows":              func(p *score.Predictions) { *p = score.Predictions{} },
		"a negative time":      func(p *score.Predictions) { p.Measured[3] = -1 },
		"too few groups":       func(p *score.Predictions) { p.Group = p.Group[1:] },
		"too few tasks":        func(p *score.Predictions) { p.Task = p.Task[1:] },
		"a task in two groups": func(p *score.Predictions) { p.Task[7] = p.Task[8] },
		"ends out of order":    func(p *score.Predictions) { p.Bands[0].Low[2] = p.Bands[0].High[2] * 2 },
		"a short band":         func(p *score.Predictions) { p.Bands[1].Low = p.Bands[1].Low[1:] },
		"level in per cent":    func(p *score.Predictions) { p.Bands[1].Level = 90 },
	} {
		p := good()
		spoil(&p)
		if _, err := score.Evaluate("x", p, score.Resampling{Resamples: 10}); err == nil {
			t.Errorf("%s is no error", name)
		}
	}
}
