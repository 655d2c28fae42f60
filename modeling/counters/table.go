package counters

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets"
	"github.com/rooflab/rooflab/datasets/split"
)

// Table is what is chosen from: a row per launch or configuration.
type Table struct {
	Target  string
	Y       []float64   // a value of the target per row, NaN where missing
	Names   []string    // of the columns
	Columns [][]float64 // a value per row for each name, NaN where missing
	Groups  []string    // what each row belongs to (a kernel, an input); nil: every row stands alone
	Dropped []Dropped   // columns that were not taken at all
}

// Dropped is a column that is not among the candidates, and why.
type Dropped struct{ Column, Reason string }

// identifiers are columns of datasets.CountersWide that number rows.
var identifiers = []string{"run_id", "region_id", "launch_id", "sequence", "rank"}

// FromFrame takes a dataframe such as datasets.CountersWide gives: every
// numeric column but the target is a candidate. group names the column whose
// equal values are drawn together, "" for none. The columns that number rows
// are left out; so are texts.
func FromFrame(df dataframe.DataFrame, target, group string) (Table, error) {
	if df.Err != nil {
		return Table{}, fmt.Errorf("choosing counters: the dataframe has an error: %w", df.Err)
	}
	for _, n := range []string{target, group} {
		if n != "" && !slices.Contains(df.Names(), n) {
			return Table{}, fmt.Errorf("choosing counters: there is no column %q; there are %s", n, strings.Join(df.Names(), ", "))
		}
	}
	if target == "" {
		return Table{}, fmt.Errorf("choosing counters: no target: name the column of times, one of %s", strings.Join(df.Names(), ", "))
	}
	t := Table{Target: target}
	for i, n := range df.Names() {
		typ := df.Types()[i]
		switch numeric := typ == series.Float || typ == series.Int || typ == series.Bool; {
		case n == target && !numeric:
			return Table{}, fmt.Errorf("choosing counters: the target %q holds %ss, want numbers", n, typ)
		case n == target:
			t.Y = df.Col(n).Float()
		case n == group:
			t.Groups = df.Col(n).Records()
		case slices.Contains(identifiers, n):
			t.Dropped = append(t.Dropped, Dropped{n, "numbers rows"})
		case !numeric:
			t.Dropped = append(t.Dropped, Dropped{n, "not numeric"})
		default:
			t.Names = append(t.Names, n)
			t.Columns = append(t.Columns, df.Col(n).Float())
		}
	}
	return t, nil
}

// FromMeasurements takes measurements of a store, a row each. Their counters'
// units tell more than names: what is in seconds, per second or in joules is
// left out as derived from time. Instances of a counter are left out, its
// value as a whole stays. Rows belong to their kernel where byKernel is set.
func FromMeasurements(ms []datasets.Measurement, target string, byKernel bool) (Table, error) {
	t := Table{Target: target, Y: make([]float64, len(ms))}
	index := map[string]int{}
	reasons := map[string]string{}
	found := false
	for i := range ms {
		t.Y[i] = math.NaN()
		if byKernel {
			t.Groups = append(t.Groups, ms[i].Kernel)
		}
		for j := range ms[i].Counters {
			c := &ms[i].Counters[j]
			if c.Metric == target {
				if c.Value.Valid && c.Instance == "" {
					t.Y[i], found = c.Value.V, true
				}
				continue
			}
			if _, gone := reasons[c.Metric]; gone || c.Instance != "" {
				continue
			}
			if r := unitOfTime(c.Unit); r != "" {
				reasons[c.Metric] = r
				continue
			}
			n, ok := index[c.Metric]
			if !ok {
				n = len(t.Names)
				index[c.Metric] = n
				t.Names = append(t.Names, c.Metric)
				col := make([]float64, len(ms))
				for k := range col {
					col[k] = math.NaN()
				}
				t.Columns = append(t.Columns, col)
			}
			if c.Value.Valid {
				t.Columns[n][i] = c.Value.V
			}
		}
	}
	if !found {
		return t, fmt.Errorf("choosing counters: none of %d measurements has a value of the target %q; there are %s", len(ms), target, strings.Join(t.Names, ", "))
	}
	for i := len(t.Names) - 1; i >= 0; i-- { // a unit that only some rows give
		if _, gone := reasons[t.Names[i]]; gone {
			t.Names, t.Columns = slices.Delete(t.Names, i, i+1), slices.Delete(t.Columns, i, i+1)
		}
	}
	for n, r := range reasons {
		t.Dropped = append(t.Dropped, Dropped{n, r})
	}
	slices.SortFunc(t.Dropped, func(a, b Dropped) int { return strings.Compare(a.Column, b.Column) })
	return t, nil
}

// unitOfTime says why a counter of that SI unit holds the time, "" if it need not.
func unitOfTime(unit string) string {
	switch {
	case unit == "s":
		return "derived from time: in seconds"
	case unit == "Hz" || strings.HasSuffix(unit, "/s"):
		return "derived from time: per second"
	case unit == "J" || unit == "W":
		return "derived from time: energy or power, which are measured over the run's time"
	case unit == "cycle" || strings.HasSuffix(unit, "/cycle") || strings.HasPrefix(unit, "cycle/"):
		return "derived from time: cycles, which are time at some clock"
	}
	return ""
}

// check says what is wrong with the table.
func (t *Table) check() error {
	if len(t.Names) != len(t.Columns) {
		return fmt.Errorf("choosing counters: %d names for %d columns", len(t.Names), len(t.Columns))
	}
	if t.Groups != nil && len(t.Groups) != len(t.Y) {
		return fmt.Errorf("choosing counters: %d groups for %d rows", len(t.Groups), len(t.Y))
	}
	seen := map[string]bool{}
	for i, n := range t.Names {
		if seen[n] {
			return fmt.Errorf("choosing counters: two columns are called %q", n)
		}
		seen[n] = true
		if len(t.Columns[i]) != len(t.Y) {
			return fmt.Errorf("choosing counters: column %q has %d values for %d rows", n, len(t.Columns[i]), len(t.Y))
		}
	}
	return nil
}

// Rows is the table of some of its rows.
func (t *Table) Rows(rows []int) Table {
	out := Table{Target: t.Target, Names: t.Names, Dropped: t.Dropped, Y: pick(t.Y, rows)}
	for _, c := range t.Columns {
		out.Columns = append(out.Columns, pick(c, rows))
	}
	if t.Groups != nil {
		out.Groups = make([]string, len(rows))
		for i, r := range rows {
			out.Groups[i] = t.Groups[r]
		}
	}
	return out
}

func pick(v []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}
	return out
}

// timeDerived says why a column holds the time, by its name.
func timeDerived(name string) (string, bool) {
	if clocks.MatchString(name) {
		return "derived from time: counts a clock, or how long something was busy or waited", true
	}
	reason, derived := split.TimeDerived(name)
	return "derived from time: " + reason, derived
}
