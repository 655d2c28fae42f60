package counters_test

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rooflab/rooflab/modeling/counters"
)

// Of two Gaussian quantities with correlation r the mutual information is
// -log(1 - r^2) / 2.
func TestMutualInformationOfGaussians(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const n = 1500
	x, y := make([]float64, n), make([]float64, n)
	for _, r := range []float64{0, 0.5, 0.9, 0.99} {
		for i := range x {
			x[i] = rng.NormFloat64()
			y[i] = r*x[i] + math.Sqrt(1-r*r)*rng.NormFloat64()
		}
		if got, want := counters.MutualInformation(x, y, 3), -math.Log(1-r*r)/2; math.Abs(got-want) > 0.08 {
			t.Errorf("correlation %g: %.3f nat, want %.3f", r, got, want)
		}
	}
	for i := range x { // no correlation, but dependence
		y[i] = x[i] * x[i]
	}
	if got := counters.MutualInformation(x, y, 3); got < 1 {
		t.Errorf("a parabola: %.3f nat", got)
	}
	if !math.IsNaN(counters.MutualInformation(x[:3], y[:3], 3)) {
		t.Error("three pairs have three neighbours")
	}
}

// walsh are orthogonal columns of +1 and -1 over 64 rows.
func walsh(n int) counters.Table {
	t := counters.Table{Target: "time", Y: make([]float64, 64)}
	for j := 1; j <= n; j++ {
		c := make([]float64, 64)
		for i := range c {
			c[i] = 1 - 2*float64(bits.OnesCount(uint(i&j))%2)
		}
		t.Names, t.Columns = append(t.Names, fmt.Sprint("w", j)), append(t.Columns, c)
	}
	return t
}

// With orthogonal standardised columns LASSO's coefficients are the
// correlations, shrunk by the penalty.
func TestLassoOfOrthogonalColumns(t *testing.T) {
	table := walsh(20)
	rng := rand.New(rand.NewPCG(8, 8))
	for i := range table.Y {
		table.Y[i] = math.Exp(2*table.Columns[4][i] - table.Columns[9][i] + 0.5*table.Columns[2][i] + rng.NormFloat64()/3)
	}
	r := choose(t, table, counters.Options{Members: 50, K: 3})
	if p := r.Lasso.Penalty; !(p > 0.001 && p < 0.3) {
		t.Fatalf("penalty %g", p)
	}
	for _, c := range r.All {
		want := math.Copysign(math.Max(0, math.Abs(c.Correlation)-r.Lasso.Penalty), c.Correlation)
		if math.Abs(c.Lasso-want) > 1e-4 {
			t.Errorf("%s: coefficient %.5f, want %.5f", c.Name, c.Lasso, want)
		}
	}
	if want := []string{"w5", "w10", "w3"}; !slices.Equal(r.Lasso.Ranking[:3], want) || !slices.Equal(r.Lasso.Entered[:3], want) || !slices.Equal(r.Names(), want) {
		t.Errorf("ranking %q, entered %q, chosen %q", r.Lasso.Ranking, r.Lasso.Entered, r.Names())
	}
	// What a column adds is its squared correlation, its sign that of the correlation.
	for i, c := range r.Chosen {
		if math.Abs(c.Adds-c.Correlation*c.Correlation) > 1e-9 || c.Sign != []int{1, -1, 1}[i] || c.SignShare != 1 {
			t.Errorf("%+v", c)
		}
	}
	if r.Chosen[0].Rank > r.Chosen[1].Rank || r.Chosen[1].Rank > r.Chosen[2].Rank {
		t.Errorf("ranks %.2f %.2f %.2f", r.Chosen[0].Rank, r.Chosen[1].Rank, r.Chosen[2].Rank)
	}
}

func TestFewerCountersThanWanted(t *testing.T) {
	table := walsh(2)
	for i := range table.Y {
		table.Y[i] = math.Exp(2*table.Columns[0][i] + table.Columns[1][i])
	}
	r := choose(t, table, counters.Options{Members: 30})
	if len(r.Chosen) != 2 || r.R2 < 1-1e-9 {
		t.Errorf("chosen %q, R2 %g", r.Names(), r.R2)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "5 counters were wanted, but only 2") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// A product of powers that gives the time without noise is called out; a
// latency and a count whose product is the time, too.
func TestComputableTimeIsCalledOut(t *testing.T) {
	table := planted(4, 100)
	latency := make([]float64, 100)
	for i := range latency {
		latency[i] = table.Y[i] / table.Columns[1][i]
	}
	table.Names, table.Columns = append(table.Names, "wait of each"), append(table.Columns, latency)
	r := choose(t, table, counters.Options{Members: 10})
	w := strings.Join(r.Warnings, "\n")
	if !strings.Contains(w, "wait of each times work is time") && !strings.Contains(w, "work times wait of each is time") || !strings.Contains(w, "time in disguise") {
		t.Errorf("warnings %q", w)
	}
	if clean := choose(t, planted(4, 100), counters.Options{Members: 10}); len(clean.Warnings) > 0 {
		t.Errorf("warnings without cause: %q", clean.Warnings)
	}
}

func TestResultsShowThemselves(t *testing.T) {
	table := planted(2, 100)
	table.Names[0], table.Names[11] = "dram__bytes.sum", "<script>"
	r := choose(t, table, counters.Options{K: 3, Members: 40})
	b := r.Display()
	text, _ := b.Data["text/plain"].(string)
	html, _ := b.Data["text/html"].(string)
	for _, want := range []string{"3 of ", "variance of log time on 100 rows", "log dram__bytes.sum", "bytes moved, at device memory, summed over all units [byte]", "the same as &lt;script&gt;",
		"stability", "MI (nat)", "constant", "40 matching pursuits", "seed 0"} {
		if !strings.Contains(html, want) {
			t.Errorf("HTML lacks %q", want)
		}
		if plain := strings.NewReplacer("&lt;", "<", "&gt;", ">").Replace(want); !strings.Contains(text, plain) {
			t.Errorf("text lacks %q:\n%s", plain, text)
		}
	}
	if strings.Contains(html, "<script>") {
		t.Error("a counter's name becomes markup")
	}
	df := r.Frame()
	if df.Err != nil || df.Nrow() != len(r.All) || df.Col("counter").Elem(0).String() != r.All[0].Name || df.Col("stability").Float()[0] != r.All[0].Stability {
		t.Errorf("%v", df)
	}
	chosen := 0
	for i, p := range df.Col("chosen").Float() {
		if p > 0 {
			chosen++
			if r.Chosen[int(p)-1].Name != df.Col("counter").Elem(i).String() {
				t.Errorf("place %g is %s", p, df.Col("counter").Elem(i))
			}
		}
	}
	if chosen != 3 {
		t.Errorf("%d chosen", chosen)
	}
}

// A row with a zero where the training rows have none does not spoil the
// comparison, and equal seeds give equal tables.
func TestComparisonTakesZerosAndRepeats(t *testing.T) {
	table := planted(7, 120)
	table.Columns[0][17] = 0 // bytes
	o := counters.CompareOptions{Options: counters.Options{K: 3, Members: 20, Seed: 3}, Folds: 3, Repeats: 1, Draws: 5}
	for _, r := range []counters.Regressor{counters.Ridge, counters.Neighbours} {
		o.Regressor = r
		calls := 0
		o.Progress = func(done, total int) {
			if calls++; done != calls || total != 3 {
				t.Errorf("%d of %d at call %d", done, total, calls)
			}
		}
		a, err := counters.Compare(t.Context(), table, o)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range a.Ways {
			if math.IsNaN(w.R2) || math.IsInf(w.R2, 0) || math.IsNaN(w.MAPE) {
				t.Errorf("%s, %s: %+v", r, w.Way, w)
			}
		}
		o.Progress = nil
		b, err := counters.Compare(t.Context(), table, o)
		if err != nil || a.String() != b.String() {
			t.Errorf("equal seeds, %v:\n%s\n%s", err, a, b)
		}
		best, _ := a.Way(counters.Ensemble)
		if random, _ := a.Way(counters.Random); !(best.R2 > random.R2) {
			t.Errorf("%s", a)
		}
	}
}
