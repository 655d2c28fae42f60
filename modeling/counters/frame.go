package counters

import (
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Frame is all candidates as a dataframe, the most stable first: counter,
// chosen (its place, from 1; 0 where not chosen), stability, rank (NaN where
// no member chose it), sign, sign_share, importance, adds, correlation, lasso,
// mutual_information (nat), unit, meaning and aliases.
func (r *Result) Frame() dataframe.DataFrame {
	place := map[string]int{}
	for i, c := range r.Chosen {
		place[c.Name] = i + 1
	}
	var names, units, meanings, aliases []string
	var places, signs []int
	numbers := make([][]float64, 8)
	for _, c := range r.All {
		names, units, meanings, aliases = append(names, c.Name), append(units, c.About.Unit), append(meanings, c.About.Text), append(aliases, strings.Join(c.Aliases, ", "))
		places, signs = append(places, place[c.Name]), append(signs, c.Sign)
		for i, v := range []float64{c.Stability, c.Rank, c.SignShare, c.Importance, c.Adds, c.Correlation, c.Lasso, c.Mutual} {
			numbers[i] = append(numbers[i], v)
		}
	}
	float := func(i int, name string) series.Series { return series.New(numbers[i], series.Float, name) }
	return dataframe.New(
		series.New(names, series.String, "counter"), series.New(places, series.Int, "chosen"), float(0, "stability"), float(1, "rank"),
		series.New(signs, series.Int, "sign"), float(2, "sign_share"), float(3, "importance"), float(4, "adds"), float(5, "correlation"),
		float(6, "lasso"), float(7, "mutual_information"), series.New(units, series.String, "unit"), series.New(meanings, series.String, "meaning"),
		series.New(aliases, series.String, "aliases"))
}
