package counters_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/modeling/counters"
)

// truth are the columns that planted's time is made of.
var truth = []string{"bytes", "misses", "work"}

// planted makes n launches: time = bytes^0.7 * work^0.3 * (1 + misses / 300)
// with 3 % noise, where bytes and work span decades. Beside them stand decoys
// that follow bytes and work at r of about 0.9 of their logarithms, exact and
// nearly exact copies, columns of noise, constants and times in disguise.
func planted(seed uint64, n int) counters.Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := counters.Table{Target: "time", Y: make([]float64, n)}
	column := func(name string, of func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = of(i)
		}
		t.Names, t.Columns = append(t.Names, name), append(t.Columns, v)
		return v
	}
	spread := func(scale float64) func(int) float64 {
		return func(int) float64 { return scale * math.Exp(1.5*rng.NormFloat64()) }
	}
	bytes, work := column("bytes", spread(1e8)), column("work", spread(1e10))
	misses := column("misses", func(int) float64 { return 600 * rng.Float64() })
	for i := range t.Y {
		t.Y[i] = 1e-9 * math.Pow(bytes[i], 0.7) * math.Pow(work[i], 0.3) * (1 + misses[i]/300) * math.Exp(0.03*rng.NormFloat64())
	}
	for d := range 4 {
		column(fmt.Sprint("like bytes ", d), func(i int) float64 { return bytes[i] * math.Exp(0.7*rng.NormFloat64()) })
		column(fmt.Sprint("like work ", d), func(i int) float64 { return work[i] * math.Exp(0.7*rng.NormFloat64()) })
	}
	column("sectors of 32 bytes", func(i int) float64 { return bytes[i] / 32 })
	column("work, counted twice", func(i int) float64 { return 2 * work[i] * math.Exp(0.01*rng.NormFloat64()) })
	column("accesses that hit", func(i int) float64 { return 1000 - misses[i] })
	for d := range 20 {
		column(fmt.Sprint("noise ", d), func(int) float64 { return rng.NormFloat64() })
	}
	column("constant", func(int) float64 { return 7 })
	column("nearly constant", func(i int) float64 { return 7 + float64(i)*1e-9 })
	column("rarely set", func(i int) float64 { return float64(min(1, i/(n-2))) })
	column("spins", func(i int) float64 { return 1.4e9 * t.Y[i] * (1 + 1e-3*rng.NormFloat64()) })
	column("flow", func(i int) float64 { return bytes[i] / t.Y[i] })
	column("x.per_second", func(int) float64 { return rng.Float64() })
	return t
}

func choose(t *testing.T, table counters.Table, o counters.Options) *counters.Result {
	t.Helper()
	r, err := counters.Select(context.Background(), table, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func sorted(names []string) []string {
	s := slices.Clone(names)
	slices.Sort(s)
	return s
}

func TestPlantedCountersAreFound(t *testing.T) {
	for seed := range uint64(20) {
		r := choose(t, planted(seed, 150), counters.Options{K: 3, Members: 150, Seed: seed})
		if got := sorted(r.Names()); !slices.Equal(got, truth) {
			t.Fatalf("seed %d: chosen %q\n%s", seed, got, r)
		}
		for _, c := range r.Chosen {
			if c.Stability < 0.7 || c.SignShare < 0.9 || c.Sign != 1 {
				t.Errorf("seed %d: %s has stability %.2f, sign %+d in %.2f", seed, c.Name, c.Stability, c.Sign, c.SignShare)
			}
		}
		for _, c := range r.All {
			if strings.HasPrefix(c.Name, "noise") && c.Stability > 0.35 {
				t.Errorf("seed %d: %s has stability %.2f", seed, c.Name, c.Stability)
			}
		}
		if r.R2 < 0.97 {
			t.Errorf("seed %d: explains %.3f", seed, r.R2)
		}
	}
}

func TestWhatIsNoCandidateIsNamedWithItsReason(t *testing.T) {
	r := choose(t, planted(1, 150), counters.Options{Members: 20})
	dropped := map[string]string{}
	for _, d := range r.Dropped {
		dropped[d.Column] = d.Reason
	}
	for name, want := range map[string]string{
		"constant": "constant", "nearly constant": "nearly constant: varies by", "rarely set": "nearly constant: 148 of 150 rows have the same value",
		"spins": "derived from time: proportional to time", "flow": "derived from time: ", "x.per_second": "derived from time: a rate",
	} {
		if !strings.HasPrefix(dropped[name], want) {
			t.Errorf("%s: %q, want %q", name, dropped[name], want)
		}
	}
	if len(dropped) != 6 {
		t.Errorf("dropped %v", dropped)
	}
	aliases := map[string][]string{}
	for _, c := range r.All {
		aliases[c.Name] = c.Aliases
	}
	for name, want := range map[string][]string{"bytes": {"sectors of 32 bytes"}, "work": {"work, counted twice"}, "misses": {"accesses that hit"}} {
		if !slices.Equal(aliases[name], want) {
			t.Errorf("%s stands for %q, want %q", name, aliases[name], want)
		}
	}
	r = choose(t, planted(1, 150), counters.Options{Members: 20, Keep: []string{"spins", "x.per_second"}, Drop: []string{"bytes", "sectors of 32 bytes"}})
	if r.Chosen[0].Name != "spins" {
		t.Errorf("a column that is kept is not chosen: %q", r.Names())
	}
	for _, c := range r.All {
		if c.Name == "bytes" {
			t.Error("a column that is not wanted is a candidate")
		}
	}
}

// same says whether two results agree but for names in other, renamed.
func same(t *testing.T, what string, a, b *counters.Result, ignoreAliases bool) {
	t.Helper()
	if len(a.All) != len(b.All) || !slices.Equal(a.Names(), b.Names()) {
		t.Fatalf("%s: chosen %q and %q", what, a.Names(), b.Names())
	}
	for i := range a.All {
		x, y := a.All[i], b.All[i]
		if x.Name != y.Name || x.Stability != y.Stability || x.Sign != y.Sign || math.Abs(x.Importance-y.Importance) > 1e-9 || math.Abs(x.Mutual-y.Mutual) > 0.02 || math.Abs(x.Lasso-y.Lasso) > 1e-5 {
			t.Errorf("%s: %+v\nand %+v", what, x, y)
		}
		if !ignoreAliases && !slices.Equal(x.Aliases, y.Aliases) {
			t.Errorf("%s: aliases %q and %q", what, x.Aliases, y.Aliases)
		}
	}
}

func TestOrderUnitsAndCopiesDoNotMatter(t *testing.T) {
	o := counters.Options{K: 4, Members: 60, Seed: 5, Drop: []string{"spins", "flow"}} // equal times part them from the time
	table := planted(3, 120)
	table.Y[7], table.Y[8] = table.Y[9], table.Y[9] // equal times
	want := choose(t, table, o)
	same(t, "the same again", want, choose(t, table, o), false)

	rng := rand.New(rand.NewPCG(1, 2))
	same(t, "rows in another order", want, choose(t, table.Rows(rng.Perm(120)), o), false)

	shuffled := table
	shuffled.Names, shuffled.Columns = nil, nil
	for _, j := range rng.Perm(len(table.Names)) {
		shuffled.Names, shuffled.Columns = append(shuffled.Names, table.Names[j]), append(shuffled.Columns, table.Columns[j])
	}
	same(t, "columns in another order", want, choose(t, shuffled, o), false)

	scaled := table
	scaled.Columns = nil
	for j, c := range table.Columns {
		v := slices.Clone(c)
		for i := range v {
			v[i] *= []float64{1e-3, 1, 1e9, 8}[j%4]
		}
		scaled.Columns = append(scaled.Columns, v)
	}
	scaled.Y = slices.Clone(table.Y)
	for i := range scaled.Y {
		scaled.Y[i] *= 1e6
	}
	same(t, "other units", want, choose(t, scaled, o), false)

	copied := table
	copied.Names = append(slices.Clone(table.Names), "another name of work", "another name of noise 3")
	copied.Columns = append(slices.Clone(table.Columns), table.Columns[1], table.Columns[slices.Index(table.Names, "noise 3")])
	same(t, "columns twice", want, choose(t, copied, o), true)

	o.Seed++
	if other := choose(t, table, o); other.All[3].Stability == want.All[3].Stability && other.All[4].Stability == want.All[4].Stability && other.All[5].Stability == want.All[5].Stability {
		t.Error("another seed draws the same ensemble")
	}
}

// Gaps say nothing: a column that has them takes the median there, one with
// too many is out, and rows without a time are left out.
func TestGaps(t *testing.T) {
	table := planted(2, 200)
	for i := range 200 {
		if i%10 == 0 {
			table.Columns[0][i] = math.NaN() // bytes; its copy "sectors of 32 bytes" has them all
		}
		if i%3 == 0 {
			table.Columns[3][i] = math.Inf(1) // "like bytes 0"
		}
	}
	table.Y[4], table.Y[5] = math.NaN(), math.NaN()
	r := choose(t, table, counters.Options{K: 3, Members: 60})
	if got := sorted(r.Names()); !slices.Equal(got, []string{"misses", "sectors of 32 bytes", "work"}) {
		t.Errorf("chosen %q", got)
	}
	if r.Rows != 198 || r.LeftOut != 2 || r.Gaps != 20 {
		t.Errorf("%d rows, %d left out, %d gaps", r.Rows, r.LeftOut, r.Gaps)
	}
	if !slices.ContainsFunc(r.Dropped, func(d counters.Dropped) bool {
		return d.Column == "like bytes 0" && strings.HasPrefix(d.Reason, "no value in 6") && strings.HasSuffix(d.Reason, "of 198 rows")
	}) {
		t.Errorf("dropped %v", r.Dropped)
	}
}

// Rows of one kernel are no independent evidence: a column that tells kernels
// apart by chance is stable when rows are drawn one by one, and is not when
// kernels are drawn whole.
func TestGroupsAreDrawnWhole(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const kernels, each = 12, 40
	table := counters.Table{Target: "time"}
	cols := make([][]float64, 30)
	for k := range kernels {
		level := rng.NormFloat64()
		chance := make([]float64, len(cols))
		for j := range chance {
			chance[j] = rng.NormFloat64()
		}
		for range each {
			table.Y = append(table.Y, math.Exp(level+0.01*rng.NormFloat64()))
			table.Groups = append(table.Groups, fmt.Sprint("kernel ", k))
			for j := range cols {
				cols[j] = append(cols[j], chance[j]+0.01*rng.NormFloat64())
			}
		}
	}
	for j := range cols {
		table.Names, table.Columns = append(table.Names, fmt.Sprint("c", j)), append(table.Columns, cols[j])
	}
	o := counters.Options{Members: 100}
	whole := choose(t, table, o)
	table.Groups = nil
	single := choose(t, table, o)
	mean := func(r *counters.Result) (m float64) {
		for _, c := range r.Chosen {
			m += c.Stability / float64(len(r.Chosen))
		}
		return m
	}
	if whole.Units != kernels || single.Units != kernels*each {
		t.Errorf("%d and %d units", whole.Units, single.Units)
	}
	if !(mean(whole) < 0.8*mean(single)) {
		t.Errorf("mean stability %.2f with whole kernels, %.2f with single rows", mean(whole), mean(single))
	}
}

func TestStoppingKeepsWhatIsDone(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	calls := 0
	r, err := counters.Select(ctx, planted(1, 100), counters.Options{Members: 100000, K: 3, Progress: func(done, members int) {
		if calls++; done != calls || members != 100000 {
			t.Errorf("call %d: %d of %d", calls, done, members)
		}
		if done == 50 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || r == nil || r.Members < 50 || r.Members > 100 {
		t.Fatalf("%v, %v", r, err)
	}
	if got := sorted(r.Names()); !slices.Equal(got, truth) {
		t.Errorf("chosen %q", got)
	}
	if !strings.Contains(err.Error(), "of 100000 members") {
		t.Error(err)
	}
	cancelled, stop := context.WithCancel(context.Background())
	stop()
	if r, err := counters.Select(cancelled, planted(1, 100), counters.Options{}); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", r, err)
	}
	if _, err := counters.Compare(cancelled, planted(1, 100), counters.CompareOptions{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestBadInputIsAnErrorThatSaysWhatToDo(t *testing.T) {
	good := planted(1, 60)
	with := func(change func(t *counters.Table)) counters.Table {
		c := good
		c.Names, c.Columns, c.Y = slices.Clone(good.Names), slices.Clone(good.Columns), slices.Clone(good.Y)
		change(&c)
		return c
	}
	for _, c := range []struct {
		name  string
		table counters.Table
		o     counters.Options
		want  string
	}{
		{"few rows", good.Rows([]int{1, 2, 3}), counters.Options{}, `3 of 3 rows have a value of "time", want 12 at least`},
		{"equal times", with(func(t *counters.Table) {
			for i := range t.Y {
				t.Y[i] = 2
			}
		}), counters.Options{}, "nothing to explain"},
		{"no columns", with(func(t *counters.Table) { t.Names, t.Columns = nil, nil }), counters.Options{}, "no column is left"},
		{"twice", with(func(t *counters.Table) { t.Names[1] = "bytes" }), counters.Options{}, `two columns are called "bytes"`},
		{"short column", with(func(t *counters.Table) { t.Columns[2] = t.Columns[2][:5] }), counters.Options{}, `"misses" has 5 values for 60 rows`},
		{"names", with(func(t *counters.Table) { t.Names = t.Names[1:] }), counters.Options{}, "names for"},
		{"groups", with(func(t *counters.Table) { t.Groups = []string{"a"} }), counters.Options{}, "1 groups for 60 rows"},
		{"negative K", good, counters.Options{K: -1}, "K is -1"},
		{"share", good, counters.Options{Columns: 1.5}, "Columns is 1.5"},
	} {
		if _, err := counters.Select(context.Background(), c.table, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if _, err := counters.Compare(context.Background(), good, counters.CompareOptions{Regressor: "forest"}); err == nil || !strings.Contains(err.Error(), `no regressor "forest"`) {
		t.Error(err)
	}
}

func TestFromFrame(t *testing.T) {
	df := dataframe.New(
		series.New([]int{1, 1, 2}, series.Int, "run_id"),
		series.New([]string{"a", "b", "b"}, series.String, "kernel"),
		series.New([]string{"x", "y", "z"}, series.String, "note"),
		series.New([]any{1.5, nil, 3.0}, series.Float, "m"),
		series.New([]int{4, 5, 6}, series.Int, "n"),
		series.New([]float64{1, 2, 3}, series.Float, "time"),
	)
	table, err := counters.FromFrame(df, "time", "kernel")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Names, []string{"m", "n"}) || !slices.Equal(table.Y, []float64{1, 2, 3}) || !slices.Equal(table.Groups, []string{"a", "b", "b"}) ||
		!math.IsNaN(table.Columns[0][1]) || table.Columns[1][2] != 6 {
		t.Errorf("%+v", table)
	}
	if want := []counters.Dropped{{Column: "run_id", Reason: "numbers rows"}, {Column: "note", Reason: "not numeric"}}; !slices.Equal(table.Dropped, want) {
		t.Errorf("dropped %v", table.Dropped)
	}
	for target, want := range map[string]string{"": "no target", "t": `no column "t"`, "note": "holds strings"} {
		if _, err := counters.FromFrame(df, target, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("target %q: %v", target, err)
		}
	}
	if _, err := counters.FromFrame(dataframe.DataFrame{Err: errors.New("bad csv")}, "t", ""); err == nil || !strings.Contains(err.Error(), "bad csv") {
		t.Error(err)
	}
}

func TestFromMeasurementsGoesByUnits(t *testing.T) {
	c := func(metric, instance, unit string, v float64) datasets.Counter {
		return datasets.Counter{Metric: metric, Instance: instance, Unit: unit, Value: datasets.Some(v), Status: datasets.StatusOK}
	}
	ms := []datasets.Measurement{
		{Kernel: "f", Counters: []datasets.Counter{c("time", "", "s", 2), c("bytes", "", "byte", 10), c("flow", "", "byte/s", 5), c("overhead", "", "s", 1), c("clock", "", "cycle/s", 1), c("n", "3", "", 9), c("ipc", "", "inst/cycle", 1)}},
		{Kernel: "g", Counters: []datasets.Counter{c("bytes", "", "byte", 20), {Metric: "lost", Status: datasets.StatusNA}, c("use", "", "J", 3)}},
	}
	table, err := counters.FromMeasurements(ms, "time", true)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Names, []string{"bytes", "lost"}) || table.Y[0] != 2 || !math.IsNaN(table.Y[1]) || !math.IsNaN(table.Columns[1][1]) || !slices.Equal(table.Groups, []string{"f", "g"}) {
		t.Errorf("%+v", table)
	}
	var gone []string
	for _, d := range table.Dropped {
		gone = append(gone, d.Column)
	}
	if !slices.Equal(gone, []string{"clock", "flow", "ipc", "overhead", "use"}) {
		t.Errorf("dropped %v", table.Dropped)
	}
	if _, err := counters.FromMeasurements(ms, "ticks", false); err == nil || !strings.Contains(err.Error(), `the target "ticks"`) {
		t.Error(err)
	}
}
