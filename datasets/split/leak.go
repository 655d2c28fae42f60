package split

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"
)

// Kinds of leaks.
const (
	GroupOnBothSides = "group on both sides" // a key of the axis is in training and in test
	SameRow          = "same features"       // test rows whose features are those of a training row
	SameText         = "same text"           // test rows whose source is that of a training row, under another key
	FromTime         = "derived from time"   // a column that holds the target by its name
	TargetFromOthers = "target computable"   // a product of powers of a few columns is the target
)

// Leak is one way in which the answer may reach a model.
type Leak struct {
	Kind    string
	Columns []string // the columns that leak; empty where rows do
	Rows    int      // how many test rows are concerned; 0: all
	Detail  string
}

func (l Leak) String() string {
	s := l.Kind
	if len(l.Columns) > 0 {
		s += " (" + strings.Join(l.Columns, ", ") + ")"
	}
	return s + ": " + l.Detail
}

// Check looks for leaks of the split s of df's rows, for a model that is to
// predict the column target from all the others but key, the column of the
// axis ("" where it is none). It reports:
//
//   - keys that stand in training and in test;
//   - test rows all of whose numeric features, and texts, are those of a
//     training row;
//   - texts of 40 characters or more (source code) that are the same in
//     training and test up to white space, though their keys differ;
//   - columns derived from time by their names (TimeDerived);
//   - up to three columns of which a product of powers gives the target: their
//     logarithms explain more than 99.9 % of its variance. Such a fit is what a
//     rate and an amount look like, and next to nothing else does on measured
//     times.
//
// No finding is no proof. The error is about columns that are not there.
func Check(df dataframe.DataFrame, s Split, key, target string) ([]Leak, error) {
	for _, c := range []string{key, target} {
		if c != "" && !slices.Contains(df.Names(), c) {
			return nil, fmt.Errorf("looking for leaks: there is no column %q; there are %q", c, df.Names())
		}
	}
	for _, r := range slices.Concat(s.Train, s.Calibration, s.Test) {
		if r < 0 || r >= df.Nrow() {
			return nil, fmt.Errorf("looking for leaks: the split has row %d and the dataframe %d rows", r, df.Nrow())
		}
	}
	var leaks []Leak
	if key != "" {
		if l, found := bothSides(df.Col(key).Records(), s); found {
			leaks = append(leaks, l)
		}
	}
	if l, found := sameRows(df, s, key, target); found {
		leaks = append(leaks, l)
	}
	for _, c := range df.Names() {
		if c != key && c != target && df.Col(c).Type() == series.String {
			if l, found := sameText(c, df.Col(c).Records(), s); found {
				leaks = append(leaks, l)
			}
		}
	}
	clean := []string{}
	for _, c := range df.Names() {
		if c == key || c == target {
			continue
		}
		if reason, derived := TimeDerived(c); derived {
			leaks = append(leaks, Leak{Kind: FromTime, Columns: []string{c}, Detail: reason})
			continue
		}
		if t := df.Col(c).Type(); t == series.Float || t == series.Int {
			clean = append(clean, c)
		}
	}
	if l, found := computable(df, s.Train, clean, target); found {
		leaks = append(leaks, l)
	}
	return leaks, nil
}

func bothSides(keys []string, s Split) (Leak, bool) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(s.Train, s.Calibration) {
		seen[keys[r]] = true
	}
	shared, rows := map[string]bool{}, 0
	for _, r := range s.Test {
		if seen[keys[r]] {
			shared[keys[r]] = true
			rows++
		}
	}
	if rows == 0 {
		return Leak{}, false
	}
	return Leak{Kind: GroupOnBothSides, Rows: rows, Detail: fmt.Sprintf("%d of %d test rows have a key that training has, %s", rows, len(s.Test), some(shared))}, true
}

func some(set map[string]bool) string {
	names := make([]string, 0, len(set))
	for n := range set {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) > 3 {
		return fmt.Sprintf("%q and %d more", names[:3], len(names)-3)
	}
	return fmt.Sprintf("%q", names)
}

func sameRows(df dataframe.DataFrame, s Split, key, target string) (Leak, bool) {
	texts := make([]strings.Builder, df.Nrow())
	columns := 0
	for _, c := range df.Names() {
		if c == key || c == target {
			continue
		}
		columns++
		for r, v := range df.Col(c).Records() {
			texts[r].WriteString(v)
			texts[r].WriteByte(0x1f)
		}
	}
	if columns == 0 {
		return Leak{}, false
	}
	seen := map[string]bool{}
	for _, r := range s.Train {
		seen[texts[r].String()] = true
	}
	n := 0
	for _, r := range s.Test {
		if seen[texts[r].String()] {
			n++
		}
	}
	if n == 0 {
		return Leak{}, false
	}
	return Leak{Kind: SameRow, Rows: n, Detail: fmt.Sprintf("%d of %d test rows have the features of a training row, all %d of them", n, len(s.Test), columns)}, true
}

// minText is the length from which equal texts are the same code rather than
// the same word.
const minText = 40

func sameText(column string, texts []string, s Split) (Leak, bool) {
	seen := map[string]bool{}
	for _, r := range s.Train {
		if len(texts[r]) >= minText {
			seen[strings.Join(strings.Fields(texts[r]), " ")] = true
		}
	}
	n := 0
	for _, r := range s.Test {
		if len(texts[r]) >= minText && seen[strings.Join(strings.Fields(texts[r]), " ")] {
			n++
		}
	}
	if n == 0 {
		return Leak{}, false
	}
	return Leak{Kind: SameText, Columns: []string{column}, Rows: n, Detail: fmt.Sprintf("%d of %d test rows have a text that is in training, but for white space", n, len(s.Test))}, true
}

// determined is the share of variance from which a fit is no coincidence.
const determined = 0.999

// computable fits log(target) by the logarithms of up to three columns, chosen
// greedily (orthogonal matching pursuit), on the rows where all are positive.
func computable(df dataframe.DataFrame, rows []int, columns []string, target string) (Leak, bool) {
	t := df.Col(target)
	if t.Type() != series.Float && t.Type() != series.Int {
		return Leak{}, false
	}
	y := logs(t.Float(), rows)
	candidates := map[string][]float64{}
	for _, c := range columns {
		candidates[c] = logs(df.Col(c).Float(), rows)
	}
	// Rows count where the target and most columns are positive; a column that
	// is not positive on nine tenths of them is out.
	keep := []int{}
	for i, v := range y {
		if !math.IsNaN(v) {
			keep = append(keep, i)
		}
	}
	for c, x := range candidates {
		n := 0
		for _, i := range keep {
			if !math.IsNaN(x[i]) {
				n++
			}
		}
		if n*10 < len(keep)*9 {
			delete(candidates, c)
		}
	}
	names := []string{}
	for c := range candidates {
		names = append(names, c)
	}
	slices.Sort(names)
	keep = slices.DeleteFunc(keep, func(i int) bool {
		return slices.ContainsFunc(names, func(c string) bool { return math.IsNaN(candidates[c][i]) })
	})
	const least = 20 // rows: a fit of four numbers to fewer says little
	if len(keep) < least {
		return Leak{}, false
	}
	residual := centred(y, keep)
	total := dot(residual, residual)
	if total == 0 {
		return Leak{}, false
	}
	basis := map[string][]float64{}
	for _, c := range names {
		basis[c] = centred(candidates[c], keep)
	}
	var chosen []string
	for len(chosen) < 3 {
		best, gain := "", 0.0
		for _, c := range names {
			x := basis[c]
			if n := dot(x, x); !slices.Contains(chosen, c) && n > 1e-9*float64(len(x)) {
				if g := dot(x, residual) * dot(x, residual) / n; g > gain {
					best, gain = c, g
				}
			}
		}
		if best == "" {
			return Leak{}, false
		}
		chosen = append(chosen, best)
		x := basis[best]
		subtract(residual, x)
		for _, c := range names { // what is left of the others is what they add
			if !slices.Contains(chosen, c) {
				subtract(basis[c], x)
			}
		}
		if r2 := 1 - dot(residual, residual)/total; r2 > determined {
			return Leak{Kind: TargetFromOthers, Columns: chosen,
				Detail: fmt.Sprintf("a product of powers of them explains %.3f %% of the variance of log %s on %d training rows", 100*r2, target, len(keep))}, true
		}
	}
	return Leak{}, false
}

func logs(v []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = math.NaN()
		if v[r] > 0 && !math.IsInf(v[r], 0) {
			out[i] = math.Log(v[r])
		}
	}
	return out
}

func centred(v []float64, keep []int) []float64 {
	out, mean := make([]float64, len(keep)), 0.0
	for i, k := range keep {
		out[i] = v[k]
		mean += v[k]
	}
	mean /= float64(len(keep))
	for i := range out {
		out[i] -= mean
	}
	return out
}

func dot(a, b []float64) float64 {
	s := 0.0
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// subtract takes the part of v that lies along x out of it.
func subtract(v, x []float64) {
	f := dot(v, x) / dot(x, x)
	for i := range v {
		v[i] -= f * x[i]
	}
}
