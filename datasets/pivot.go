package datasets

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Agg says how several values become one.
type Agg string

// Aggregations; NA is left out of all of them.
const (
	Mean   Agg = "mean"
	Median Agg = "median"
	Sum    Agg = "sum"
	Min    Agg = "min"
	Max    Agg = "max"
	Count  Agg = "count" // of values that are there; 0 where there are none
	Std    Agg = "std"   // of a sample (n-1)
)

var aggs = map[Agg]func([]float64) float64{
	Mean:   mean,
	Median: func(v []float64) float64 { return quantile(v, 0.5) },
	Sum: func(v []float64) (sum float64) {
		for _, x := range v {
			sum += x
		}
		return sum
	},
	Min:   slices.Min[[]float64],
	Max:   slices.Max[[]float64],
	Count: func(v []float64) float64 { return float64(len(v)) },
	Std: func(v []float64) float64 {
		if len(v) < 2 {
			return math.NaN()
		}
		m, sum := mean(v), 0.0
		for _, x := range v {
			sum += (x - m) * (x - m)
		}
		return math.Sqrt(sum / float64(len(v)-1))
	},
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// quantile interpolates between the two nearest values, as numpy does.
func quantile(v []float64, q float64) float64 {
	v = slices.Sorted(slices.Values(v))
	at := q * float64(len(v)-1)
	lo := int(at)
	if lo+1 >= len(v) {
		return v[len(v)-1]
	}
	return v[lo] + (at-float64(lo))*(v[lo+1]-v[lo])
}

// Pivot makes a wide table of a long one, as pandas' pivot_table does: one row
// per combination of the index columns, in order of first appearance; one
// Float column per value of the column named columns, in order of name, which
// holds the column named values, several rows of the same place aggregated. A
// place without a value is NA. Rows where columns is NA are left out.
//
//	wide, err := datasets.Pivot(long, []string{"run_id", "kernel"}, "metric", "value", datasets.Median)
func Pivot(long dataframe.DataFrame, index []string, columns, values string, agg Agg) (dataframe.DataFrame, error) {
	fail := func(format string, args ...any) (dataframe.DataFrame, error) {
		return dataframe.DataFrame{}, fmt.Errorf("pivot: "+format, args...)
	}
	if long.Err != nil {
		return fail("the table has an error: %w", long.Err)
	}
	reduce, ok := aggs[agg]
	if !ok {
		return fail("no aggregation %q: there are count, max, mean, median, min, std and sum", string(agg))
	}
	for _, n := range append([]string{columns, values}, index...) {
		if !slices.Contains(long.Names(), n) {
			return fail("the table has no column %q: it has %s", n, strings.Join(long.Names(), ", "))
		}
	}
	if t := long.Col(values).Type(); t == series.String && agg != Count {
		return fail("the column %q holds text, which has no %s", values, agg)
	}
	type place struct {
		row  int
		name string
	}
	var keys []series.Series
	for _, n := range index {
		keys = append(keys, long.Col(n))
	}
	heads, vals := long.Col(columns), long.Col(values)
	rows := map[string]int{}
	var first []int // the row of long that each row of the result shows
	cells := map[place][]float64{}
	names := map[string]bool{}
	for i := range long.Nrow() {
		var key strings.Builder
		for _, k := range keys {
			if e := k.Elem(i); e.IsNA() {
				key.WriteString("-;")
			} else {
				fmt.Fprintf(&key, "%q;", e.String())
			}
		}
		row, ok := rows[key.String()]
		if !ok {
			row = len(first)
			rows[key.String()] = row
			first = append(first, i)
		}
		head := heads.Elem(i)
		if head.IsNA() {
			continue
		}
		names[head.String()] = true
		if e := vals.Elem(i); !e.IsNA() {
			p := place{row, head.String()}
			cells[p] = append(cells[p], e.Float())
		}
	}
	var out []series.Series
	for i, n := range index {
		s := keys[i].Subset(first)
		s.Name = n
		out = append(out, s)
	}
	columnNames := sorted(names)
	for _, n := range columnNames {
		if slices.Contains(index, n) {
			return fail("a value of the column %q is %q, which is the name of an index column, too", columns, n)
		}
		col := make([]float64, len(first))
		for r := range col {
			switch v := cells[place{r, n}]; {
			case len(v) > 0:
				col[r] = reduce(v)
			case agg == Count:
				col[r] = 0
			default:
				col[r] = math.NaN()
			}
		}
		out = append(out, series.New(col, series.Float, n))
	}
	df := dataframe.New(out...)
	if df.Err != nil {
		return fail("%w", df.Err)
	}
	return df, nil
}
