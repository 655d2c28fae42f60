package regress

import (
	"fmt"
	"hash/fnv"
	"math"
	"sort"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets/split"
	"github.com/rooflab/rooflab/modeling/predict"
)

// Dropped is a column that was not learnt from, and why.
type Dropped = predict.Dropped

// table is what was read of a dataframe.
type table struct {
	times    []float64
	groups   []string
	features []string
	cols     map[string][]float64 // NaN where missing
	dropped  []Dropped
	hash     string
	missing  int // rows without a time
}

func (t *table) value(row int) func(name string) float64 {
	return func(name string) float64 { return t.cols[name][row] }
}

// read picks target, groups and features and checks them.
func read(df dataframe.DataFrame, opt Options) (*table, error) {
	if df.Err != nil {
		return nil, fmt.Errorf("the dataframe has an error: %w", df.Err)
	}
	types := map[string]series.Type{}
	for i, n := range df.Names() {
		types[n] = df.Types()[i]
	}
	if opt.Target == "" {
		return nil, fmt.Errorf("Options.Target is empty: name the column of run times, one of %s", strings.Join(df.Names(), ", "))
	}
	if opt.Group == "" && !opt.RandomRows {
		return nil, fmt.Errorf("Options.Group is empty: name the column that tells kernels apart, one of %s, so that no kernel is on both sides of the split", strings.Join(df.Names(), ", "))
	}
	for _, need := range append([]string{opt.Target}, opt.Features...) {
		if _, ok := types[need]; !ok {
			return nil, fmt.Errorf("there is no column %q; there are %s", need, strings.Join(df.Names(), ", "))
		}
	}
	if _, ok := types[opt.Group]; !ok && opt.Group != "" {
		return nil, fmt.Errorf("there is no column %q to group by; there are %s", opt.Group, strings.Join(df.Names(), ", "))
	}
	t := &table{}
	chosen := map[string]bool{}
	for _, n := range opt.Features {
		chosen[n] = true
	}
	for _, n := range opt.Drop {
		types[n] = "" // named by the caller: no reason to state
		delete(chosen, n)
	}
	names := append([]string(nil), df.Names()...)
	sort.Strings(names) // so that the order of columns does not change the model
	for _, n := range names {
		if n == opt.Target || n == opt.Group || types[n] == "" || len(opt.Features) > 0 && !chosen[n] {
			continue
		}
		if types[n] != series.Float && types[n] != series.Int && types[n] != series.Bool {
			if chosen[n] {
				return nil, fmt.Errorf("column %q holds %ss, not numbers: leave it out of Options.Features, or convert it", n, types[n])
			}
			t.dropped = append(t.dropped, Dropped{Column: n, Reason: "not numeric"})
			continue
		}
		if reason, derived := split.TimeDerived(n); derived {
			t.dropped = append(t.dropped, Dropped{Column: n, Reason: "derived from time: " + reason})
			continue
		}
		t.features = append(t.features, n)
	}
	all, err := columns(df, append([]string{opt.Target}, t.features...))
	if err != nil {
		return nil, err
	}
	t.cols = map[string][]float64{}
	groups := make([]string, df.Nrow())
	for r := range groups {
		groups[r] = fmt.Sprint("row ", r)
	}
	if opt.Group != "" && !opt.RandomRows {
		groups = df.Col(opt.Group).Records()
	}
	hash := fnv.New128a()
	fmt.Fprintf(hash, "%q %q %q\n", opt.Target, opt.Group, t.features)
	for r, v := range all[opt.Target] {
		if math.IsNaN(v) {
			t.missing++
			continue
		}
		if !(v > 0) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("row %d, column %q: a run time is %g, want a positive number", r, opt.Target, v)
		}
		t.times, t.groups = append(t.times, v), append(t.groups, groups[r])
		fmt.Fprintf(hash, "%q %x", groups[r], math.Float64bits(v))
		for _, n := range t.features {
			f := all[n][r]
			if math.IsInf(f, 0) {
				f = math.NaN()
			}
			t.cols[n] = append(t.cols[n], f)
			fmt.Fprintf(hash, " %x", math.Float64bits(f))
		}
		fmt.Fprintln(hash)
	}
	if len(t.times) == 0 {
		return nil, fmt.Errorf("column %q holds no run time in %d rows", opt.Target, df.Nrow())
	}
	t.hash = fmt.Sprintf("fnv1a128:%x", hash.Sum(nil))
	return t, nil
}

// columns reads numeric columns, NaN where missing.
func columns(df dataframe.DataFrame, names []string) (map[string][]float64, error) {
	have := map[string]series.Type{}
	for i, n := range df.Names() {
		have[n] = df.Types()[i]
	}
	cols := map[string][]float64{}
	for _, n := range names {
		typ, ok := have[n]
		if !ok {
			return nil, fmt.Errorf("there is no column %q; there are %s", n, strings.Join(df.Names(), ", "))
		}
		if typ == series.String {
			return nil, fmt.Errorf("column %q holds text, want numbers", n)
		}
		cols[n] = df.Col(n).Float()
	}
	return cols, nil
}

func reasons(ds []Dropped) string {
	var parts []string
	for _, d := range ds {
		parts = append(parts, d.Column+" ("+d.Reason+")")
	}
	if parts == nil {
		return "there is none"
	}
	return strings.Join(parts, ", ")
}
