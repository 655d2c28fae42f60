package split

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/go-gota/gota/dataframe"
)

// Axis is what must be new in the test rows.
type Axis string

// The axes.
const (
	ByKernel  Axis = "kernel"  // kernels that training has not seen
	ByProgram Axis = "program" // programs (benchmarks) that training has not seen
	ByMachine Axis = "machine" // processors that training has not seen
	ByInput   Axis = "input"   // inputs (problem sizes, arguments) that training has not seen; kernels are seen
	// ByRow deals single rows. Rows of one kernel then stand on all sides: only
	// for a published protocol that demands it, beside a split by kernel.
	ByRow Axis = "row"
)

// by is the axis as errors name it; keys of one's own have none.
func (a Axis) by() string {
	if a == "" {
		return ""
	}
	return " by " + string(a)
}

// Options say how to deal.
type Options struct {
	Axis        Axis    // for messages; ByRow makes every row its own group
	Test        float64 // fraction of the rows for test, 0.2 by default
	Calibration float64 // fraction for calibration (of intervals, of early stopping); 0 for none
	Seed        uint64
}

// Split is a partition of rows. The row numbers of each part ascend.
type Split struct {
	Train, Calibration, Test []int
	Axis                     Axis
	Seed                     uint64
}

// String names the split as results quote it.
func (s Split) String() string {
	switch s.Axis {
	case ByRow:
		return fmt.Sprintf("random rows, seed %d", s.Seed)
	case "":
		return fmt.Sprintf("disjoint groups, seed %d", s.Seed)
	}
	return fmt.Sprintf("disjoint in %s, seed %d", s.Axis, s.Seed)
}

// Groups deals whole groups, in an order drawn from the seed, to test until it
// has its fraction of the rows, then to calibration, the rest to training.
// keys has one key per row. Every part that is asked for gets at least one
// group; it is an error where there are fewer groups than parts.
func Groups(keys []string, o Options) (Split, error) {
	if o.Test == 0 {
		o.Test = 0.2
	}
	if !(o.Test > 0) || !(o.Calibration >= 0) || o.Test+o.Calibration >= 1 {
		return Split{}, fmt.Errorf("splitting: fractions for test %g and calibration %g: they must be positive and leave rows for training", o.Test, o.Calibration)
	}
	names, rows := group(keys, o.Axis)
	parts := 2
	if o.Calibration > 0 {
		parts = 3
	}
	if len(names) < parts {
		return Split{}, fmt.Errorf("splitting%s: there are %d groups (%q) for %d parts, and each needs one at least", o.Axis.by(), len(names), names[:min(len(names), 5)], parts)
	}
	shuffle(names, o.Seed)
	s := Split{Axis: o.Axis, Seed: o.Seed}
	n := float64(len(keys))
	for i, g := range names {
		left := len(names) - i // groups not dealt yet, this one included
		switch {
		case len(s.Test) == 0 || float64(len(s.Test)) < o.Test*n && left > parts-1:
			s.Test = append(s.Test, rows[g]...)
		case parts == 3 && (len(s.Calibration) == 0 || float64(len(s.Calibration)) < o.Calibration*n && left > 1):
			s.Calibration = append(s.Calibration, rows[g]...)
		default:
			s.Train = append(s.Train, rows[g]...)
		}
	}
	s.sort()
	return s, nil
}

// Folds deals whole groups to k folds of about equally many rows and returns k
// splits, in each of which another fold is the test: grouped cross-validation.
// There is no calibration part.
func Folds(keys []string, k int, o Options) ([]Split, error) {
	names, rows := group(keys, o.Axis)
	if k < 2 || len(names) < k {
		return nil, fmt.Errorf("splitting%s into %d folds: there are %d groups; expected 2 folds at least and a group for each", o.Axis.by(), k, len(names))
	}
	shuffle(names, o.Seed)
	// The largest groups first, each to the smallest fold so far: the order
	// among equals is the seed's.
	slices.SortStableFunc(names, func(a, b string) int { return len(rows[b]) - len(rows[a]) })
	fold := make([]int, len(keys))
	size := make([]int, k)
	for _, g := range names {
		smallest := slices.Index(size, slices.Min(size))
		for _, r := range rows[g] {
			fold[r] = smallest
		}
		size[smallest] += len(rows[g])
	}
	splits := make([]Split, k)
	for i := range splits {
		splits[i].Axis, splits[i].Seed = o.Axis, o.Seed
		for r, f := range fold {
			if f == i {
				splits[i].Test = append(splits[i].Test, r)
			} else {
				splits[i].Train = append(splits[i].Train, r)
			}
		}
	}
	return splits, nil
}

// Holdout makes the rows of the named groups the test: the machine or the
// program that a study leaves out.
func Holdout(keys []string, axis Axis, test ...string) (Split, error) {
	s := Split{Axis: axis}
	found := map[string]bool{}
	for r, k := range keys {
		if slices.Contains(test, k) {
			found[k] = true
			s.Test = append(s.Test, r)
		} else {
			s.Train = append(s.Train, r)
		}
	}
	for _, t := range test {
		if !found[t] {
			names, _ := group(keys, axis)
			return Split{}, fmt.Errorf("holding out the %s %q: no row has it; there are %q", axis, t, names)
		}
	}
	if len(s.Train) == 0 || len(s.Test) == 0 {
		return Split{}, fmt.Errorf("holding out %q by %s leaves %d rows for training and %d for test", test, axis, len(s.Train), len(s.Test))
	}
	return s, nil
}

// group lists the groups, sorted, so that the order of rows does not matter,
// and their rows.
func group(keys []string, axis Axis) (names []string, rows map[string][]int) {
	rows = map[string][]int{}
	for r, k := range keys {
		if axis == ByRow {
			k = fmt.Sprintf("row %09d", r)
		}
		if rows[k] == nil {
			names = append(names, k)
		}
		rows[k] = append(rows[k], r)
	}
	slices.Sort(names)
	return names, rows
}

func shuffle(names []string, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x73706c6974))
	rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
}

func (s *Split) sort() {
	slices.Sort(s.Train)
	slices.Sort(s.Calibration)
	slices.Sort(s.Test)
}

// Column returns the keys of a dataframe's rows: one column, or several joined.
func Column(df dataframe.DataFrame, columns ...string) ([]string, error) {
	keys := make([]string, df.Nrow())
	for i, c := range columns {
		if !slices.Contains(df.Names(), c) {
			return nil, fmt.Errorf("splitting: there is no column %q; there are %q", c, df.Names())
		}
		for r, v := range df.Col(c).Records() {
			if i > 0 {
				keys[r] += "\x1f"
			}
			keys[r] += v
		}
	}
	return keys, nil
}
