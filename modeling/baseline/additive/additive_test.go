package additive_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/rooflab/rooflab/modeling/baseline/additive"
	"github.com/rooflab/rooflab/modeling/predict"
)

// examples take 5 us, and 2 ns for each x and 30 ns for each y, three times that
// where z is above 0; one in fifty is a hundred times too slow.
func examples(n int) *predict.Examples {
	r := rand.New(rand.NewPCG(1, 2))
	e := &predict.Examples{Features: []string{"log2_x", "y", "z"}, Target: "time", Unit: "s"}
	for i := range n {
		x, y, z := math.Exp(r.Float64()*12), math.Exp(r.Float64()*9), float64(i%2)
		t := 2e-9*x + 30e-9*y
		if z > 0 {
			t *= 3
		}
		t += 5e-6
		if i%50 == 7 {
			t *= 100
		}
		e.X = append(e.X, []float64{math.Log2(1 + x), y, z})
		e.Y = append(e.Y, t)
		e.Groups = append(e.Groups, string(rune('a'+i%26)))
	}
	return e
}

func TestCostsAreFound(t *testing.T) {
	e := examples(600)
	p, err := additive.Learner{Amounts: []string{"log2_x", "y"}, Apart: "z"}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	m, ok := p.(*additive.Model)
	if !ok {
		t.Fatalf("a %T", p)
	}
	for i, want := range []float64{2e-9, 30e-9, 6e-9, 90e-9} {
		if got := math.Exp(m.Cost[i]) * 1e-9; math.Abs(math.Log(got/want)) > 0.1 {
			t.Errorf("cost %d is %.3g, want %.3g", i, got, want)
		}
	}
	if got := math.Exp(m.Cost[4]) * 1e-6; math.Abs(math.Log(got/5e-6)) > 0.1 {
		t.Errorf("a launch takes %.3g, want 5e-6", got)
	}
	// Unknown amounts are not none.
	e.X[3][1] = math.NaN()
	logs, err := p.Log(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if logs[3] != m.Median {
		t.Errorf("a row of unknown work takes %g, want the median %g", logs[3], m.Median)
	}
}

func TestWrittenAndReadAgain(t *testing.T) {
	e := examples(100)
	p, err := additive.Learner{Amounts: []string{"log2_x", "y"}}.Fit(t.Context(), e, 1)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := predict.Save(&b, &predict.Fitted{Model: p}); err != nil {
		t.Fatal(err)
	}
	f, err := predict.Load(&b)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := p.Log(t.Context(), e)
	got, err := f.Model.Log(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("row %d: %g after reading, %g before", i, got[i], want[i])
		}
	}
}

func TestWhatIsNoAmountIsAnError(t *testing.T) {
	e := examples(50)
	e.X[4][1] = -1
	if _, err := (additive.Learner{Amounts: []string{"y"}}).Fit(t.Context(), e, 1); err == nil {
		t.Error("a negative amount of work was taken")
	}
	if _, err := (additive.Learner{Amounts: []string{"w"}}).Fit(t.Context(), examples(50), 1); err == nil {
		t.Error("a feature that is not there was taken")
	}
	if _, err := (additive.Learner{}).Fit(t.Context(), examples(50), 1); err == nil {
		t.Error("no amounts were taken")
	}
}
