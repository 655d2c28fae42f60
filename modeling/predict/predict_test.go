package predict_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/modeling/baseline"
	"github.com/rooflab/rooflab/modeling/predict"
)

func TestHalfWidthByHand(t *testing.T) {
	nine := []float64{9, 1, 8, 2, 7, 3, 6, 4, 5}
	three, groups := []float64{3, 1, 2}, []string{"b", "a", "a"}
	for _, c := range []struct {
		scores []float64
		groups []string
		level  float64
		want   float64
	}{
		{nine, nil, 0.9, 9},            // ceil(10 x 0.9) = 9th of 9
		{nine, nil, 0.5, 5},            // ceil(10 x 0.5) = 5th
		{nine, nil, 0.91, math.Inf(1)}, // ceil(9.1) = 10th of 9
		// Two groups and the new one: each third of the mass. 1 and 2 hold a sixth
		// each, 3 a third, infinity a third.
		{three, groups, 0.3, 2},
		{three, groups, 0.34, 3},
		{three, groups, 2.0 / 3, 3},
		{three, groups, 0.7, math.Inf(1)},
	} {
		if got := predict.HalfWidth(c.scores, c.groups, c.level); got != c.want {
			t.Errorf("%v of %v at %g: %g, want %g", c.scores, c.groups, c.level, got, c.want)
		}
	}
}

// hierarchical draws groups of two sorts, equally often: 30 rows that scatter
// little about the group's own offset, or one row that scatters much.
func hierarchical(rng *rand.Rand, groups int) *predict.Examples {
	e := &predict.Examples{Features: []string{"x"}, Target: "time", Unit: "s"}
	for g := range groups {
		rows, sd := 30, 0.1
		if rng.IntN(2) == 0 {
			rows, sd = 1, 2.0
		}
		offset := sd * rng.NormFloat64()
		for range rows {
			e.X = append(e.X, []float64{rng.Float64()})
			e.Groups = append(e.Groups, fmt.Sprint("kernel ", g))
			e.Y = append(e.Y, math.Exp(offset+sd/10*rng.NormFloat64()))
		}
	}
	return e
}

// A row drawn from a new group is covered with the level wanted, and not much
// more: between 0.9 and 0.9 + 1/(40+1) with about 40 groups held out. Counting
// rows instead of groups covers far less here, since the large groups decide.
func TestIntervalsCoverRowsOfNewGroups(t *testing.T) {
	ctx := context.Background()
	rng := rand.New(rand.NewPCG(1, 2))
	const trials = 300
	by, rowwise := 0.0, 0.0
	for trial := range trials {
		e := hierarchical(rng, 200)
		p, err := predict.Conformal{Learner: baseline.MedianLearner{}, Fraction: 0.2}.Fit(ctx, e, uint64(trial))
		if err != nil {
			t.Fatal(err)
		}
		fresh := hierarchical(rng, 100)
		ps, err := p.Predict(ctx, fresh, 0.9)
		if err != nil {
			t.Fatal(err)
		}
		scores := make([]float64, e.Len())
		for i, y := range e.LogY() {
			scores[i] = math.Abs(y - math.Log(ps[0].Value))
		}
		half := predict.HalfWidth(scores, nil, 0.9)
		size := map[string]float64{}
		for _, g := range fresh.Groups {
			size[g]++
		}
		for i, q := range ps {
			share := 1 / size[fresh.Groups[i]] / float64(len(size)) / trials
			if q.Low <= fresh.Y[i] && fresh.Y[i] <= q.High {
				by += share
			}
			if math.Abs(math.Log(fresh.Y[i])-math.Log(q.Value)) <= half {
				rowwise += share
			}
		}
	}
	// The mean over 300 trials scatters by about 0.003.
	if by < 0.89 || by > 0.935 {
		t.Errorf("intervals by group cover %.3f, want 0.9 to 0.925", by)
	}
	if rowwise > 0.75 {
		t.Errorf("counting rows covers %.3f here: the test tells nothing", rowwise)
	}
	t.Logf("by group %.3f, by row %.3f", by, rowwise)
}

func TestCrossConformalFitsAllRows(t *testing.T) {
	e := hierarchical(rand.New(rand.NewPCG(5, 5)), 60)
	p, err := predict.Conformal{Learner: baseline.MedianLearner{}, Folds: 5}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Describe()
	if d.Rows != e.Len() || d.Groups != 60 || !strings.Contains(d.Interval, "60 groups") || d.Data != e.Hash() {
		t.Errorf("%+v", d)
	}
}

func TestTooFewGroupsGiveNoEnds(t *testing.T) {
	e := hierarchical(rand.New(rand.NewPCG(5, 6)), 10)
	p, err := predict.Conformal{Learner: baseline.MedianLearner{}, Fraction: 0.3}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	ps, err := p.Predict(context.Background(), e, 0.99)
	if err != nil || ps[0].Low != 0 || !math.IsInf(ps[0].High, 1) || len(p.Describe().Warnings) == 0 {
		t.Errorf("%+v, %v, warnings %q", ps[0], err, p.Describe().Warnings)
	}
	if _, err := p.Predict(context.Background(), e, 1); err == nil {
		t.Error("an interval that always covers is no error")
	}
}

func table() *predict.Examples {
	return &predict.Examples{Features: []string{"a", "b"}, X: [][]float64{{1, 2}, {3, math.NaN()}, {5, 6}}, Groups: []string{"k", "k", "l"},
		Weights: []float64{1, 2, 3}, Texts: map[string][]string{"source": {"x", "y", "z"}}, Target: "time", Unit: "s", Y: []float64{1, 2, 3}}
}

func TestTheHashIsOfTheDataNotOfItsOrder(t *testing.T) {
	e := table()
	mixed, err := e.Rows([]int{2, 0, 1}).With("b", "a")
	if err != nil {
		t.Fatal(err)
	}
	if e.Hash() != mixed.Hash() {
		t.Error("the order of rows or features changes the hash")
	}
	kept := table()
	kept.Kept = []any{"first", "second", "third"}
	if kept.Hash() != e.Hash() {
		t.Error("what is kept beside the data changes the hash")
	}
	if c := kept.Rows([]int{2, 0, 1}).Canonical(); fmt.Sprint(c.Kept) != "[first second third]" {
		t.Errorf("%v is kept of the rows %v", c.Kept, c.X)
	}
	for name, change := range map[string]func(*predict.Examples){
		"value": func(e *predict.Examples) { e.X[0][0] = 7 }, "unknown": func(e *predict.Examples) { e.X[0][0] = math.NaN() },
		"group": func(e *predict.Examples) { e.Groups[0] = "m" }, "weight": func(e *predict.Examples) { e.Weights[0] = 2 },
		"text": func(e *predict.Examples) { e.Texts["source"][0] = "w" }, "target": func(e *predict.Examples) { e.Y[0] = 9 },
		"unit": func(e *predict.Examples) { e.Unit = "ms" }, "name": func(e *predict.Examples) { e.Features[0] = "c" },
	} {
		c := table()
		change(c)
		if c.Hash() == e.Hash() {
			t.Errorf("a change of a %s does not change the hash", name)
		}
	}
}

func TestBrokenTablesAreErrors(t *testing.T) {
	for want, spoil := range map[string]func(*predict.Examples){
		"no rows":                       func(e *predict.Examples) { e.X = nil },
		"2 groups":                      func(e *predict.Examples) { e.Groups = e.Groups[:2] },
		"2 weights":                     func(e *predict.Examples) { e.Weights = e.Weights[:2] },
		"keeps something of 1":          func(e *predict.Examples) { e.Kept = []any{1} },
		`texts "source"`:                func(e *predict.Examples) { e.Texts["source"] = nil },
		`two named "a"`:                 func(e *predict.Examples) { e.Features[1] = "a" },
		"row 1 of":                      func(e *predict.Examples) { e.X[1] = e.X[1][:1] },
		`feature "b" is +Inf`:           func(e *predict.Examples) { e.X[2][1] = math.Inf(1) },
		"row 0 has the weight 0":        func(e *predict.Examples) { e.Weights[0] = 0 },
		"row 2: the target time is 0":   func(e *predict.Examples) { e.Y[2] = 0 },
		"2 values of the target":        func(e *predict.Examples) { e.Y = e.Y[:2] },
		"row 1: the target time is NaN": func(e *predict.Examples) { e.Y[1] = math.NaN() },
	} {
		e := table()
		spoil(e)
		if err := e.Check(true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if err := table().Check(true); err != nil {
		t.Error(err)
	}
}

func frame() dataframe.DataFrame {
	return dataframe.New(series.New([]string{"k", "l", "k"}, series.String, "kernel"), series.New([]float64{1, math.NaN(), 3}, series.Float, "time_s"),
		series.New([]float64{4, 5, 6}, series.Float, "flop"), series.New([]float64{7, 8, 9}, series.Float, "dram_bytes_per_second"),
		series.New([]string{"a", "b", "c"}, series.String, "source"))
}

func TestFramesLoseWhatIsDerivedFromTime(t *testing.T) {
	e, dropped, err := predict.FromFrame(frame(), predict.Frame{Target: "time_s", Unit: "s", Group: "kernel", Texts: []string{"source"}})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(e.Features, e.X, e.Y, e.Groups, e.Texts) != "[flop] [[4] [6]] [1 3] [k k] map[source:[a c]]" {
		t.Errorf("%+v", e)
	}
	if len(dropped) != 2 || dropped[0].Column != "dram_bytes_per_second" || !strings.Contains(dropped[1].Reason, "1 rows") {
		t.Errorf("dropped %+v", dropped)
	}
	for want, f := range map[string]predict.Frame{
		"holds the answer": {Target: "time_s", Group: "kernel", Features: []string{"dram_bytes_per_second"}},
		"holds text":       {Target: "time_s", Group: "kernel", Features: []string{"source"}},
		`no column "grid"`: {Target: "time_s", Group: "grid"},
	} {
		if _, _, err := predict.FromFrame(frame(), f); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestFilesThatWereHarmedAreRefused(t *testing.T) {
	e := hierarchical(rand.New(rand.NewPCG(5, 7)), 30)
	p, err := predict.Conformal{Learner: baseline.RidgeLearner{}}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := predict.Save(&b, p.(*predict.Fitted)); err != nil {
		t.Fatal(err)
	}
	good := b.String()
	if _, err := predict.Load(strings.NewReader(good)); err != nil {
		t.Fatal(err)
	}
	for want, text := range map[string]string{
		"cut short":                   good[:len(good)/2],
		`format is "", want`:          `{"a": 1}`,
		"has version 2, this program": strings.Replace(good, `"version":1`, `"version":2`, 1),
		"was changed after":           strings.Replace(good, `"rows":`, `"rows":1`, 1),
		"is no whole JSON":            "",
	} {
		if _, err := predict.Load(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	// No single byte can be changed unnoticed, unless it means the same.
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		raw := []byte(good)
		at := rng.IntN(len(raw) - 1)
		raw[at] ^= 1 << rng.IntN(7)
		if q, err := predict.Load(bytes.NewReader(raw)); err == nil {
			a, errA := p.Predict(context.Background(), e, 0.8)
			c, errC := q.Predict(context.Background(), e, 0.8)
			if errA != nil || errC != nil || fmt.Sprint(a) != fmt.Sprint(c) {
				t.Errorf("byte %d (%q for %q) goes unnoticed", at, raw[at], good[at])
			}
		}
	}
}

func TestPermutationFindsWhatMatters(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	e := &predict.Examples{Features: []string{"noise", "strong", "weak"}, Target: "time"}
	for r := range 400 {
		row := []float64{1 + rng.Float64(), 1 + rng.Float64(), 1 + rng.Float64()}
		e.X, e.Groups = append(e.X, row), append(e.Groups, fmt.Sprint(r/4))
		e.Y = append(e.Y, math.Exp(3*row[1]+row[2]))
	}
	m, err := baseline.RidgeLearner{}.Fit(context.Background(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	imp, err := predict.Permutation(context.Background(), m, e, 5, 1)
	if err != nil || len(imp) != 3 {
		t.Fatalf("%v, %v", imp, err)
	}
	// Values dealt anew are off by w (u - u') with variance 2/12: 3 sqrt(1/6) and sqrt(1/6).
	if imp[0].Feature != "strong" || math.Abs(imp[0].Rise-3/math.Sqrt(6)) > 0.1 || imp[1].Feature != "weak" || math.Abs(imp[1].Rise-1/math.Sqrt(6)) > 0.04 || math.Abs(imp[2].Rise) > 0.01 {
		t.Errorf("%+v", imp)
	}
}
