package predict

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/go-gota/gota/dataframe"
	"github.com/go-gota/gota/series"

	"github.com/rooflab/rooflab/datasets/split"
)

// Examples is a table of what is known of launches (or of whatever is
// predicted), a row each, and of what was measured.
type Examples struct {
	Features []string    // names, none twice
	X        [][]float64 // a row per example, a value per feature, NaN where unknown
	// Groups tells which rows belong together (the kernel): no group stands on
	// two sides of a split.
	Groups  []string
	Weights []float64 // positive, one per row; nil is 1 for all
	// Texts are facts that are no numbers, by name ("source"), one per row.
	Texts map[string][]string
	// Kept is what the maker of the table found out about each row on the way, and
	// its models would find out again from the texts: one per row, or nil. It goes
	// with the rows and is no part of the data: neither order nor Hash look at it.
	Kept   []any
	Target string    // what is predicted: "time"
	Unit   string    // of Y: "s"
	Y      []float64 // positive; nil where nothing was measured
}

// Len is the number of rows.
func (e *Examples) Len() int { return len(e.X) }

// Weight is the weight of row r.
func (e *Examples) Weight(r int) float64 {
	if e.Weights == nil {
		return 1
	}
	return e.Weights[r]
}

// Check looks whether the table is whole. Fitting needs Y.
func (e *Examples) Check(fitting bool) error {
	n := len(e.X)
	if n == 0 {
		return fmt.Errorf("the table of examples has no rows")
	}
	if len(e.Groups) != n && (fitting || e.Groups != nil) {
		return fmt.Errorf("the table of examples has %d rows and %d groups: give each row its group (the kernel)", n, len(e.Groups))
	}
	if e.Weights != nil && len(e.Weights) != n {
		return fmt.Errorf("the table of examples has %d rows and %d weights", n, len(e.Weights))
	}
	for name, t := range e.Texts {
		if len(t) != n {
			return fmt.Errorf("the table of examples has %d rows and %d texts %q", n, len(t), name)
		}
	}
	if e.Kept != nil && len(e.Kept) != n {
		return fmt.Errorf("the table of examples has %d rows and keeps something of %d", n, len(e.Kept))
	}
	seen := map[string]bool{}
	for _, f := range e.Features {
		if f == "" || seen[f] {
			return fmt.Errorf("the table of examples has a feature without a name, or two named %q", f)
		}
		seen[f] = true
	}
	for r, row := range e.X {
		if len(row) != len(e.Features) {
			return fmt.Errorf("row %d of the table of examples has %d values for %d features", r, len(row), len(e.Features))
		}
		for j, v := range row {
			if math.IsInf(v, 0) {
				return fmt.Errorf("row %d, feature %q is %g: want a finite number, or NaN where it is unknown", r, e.Features[j], v)
			}
		}
		if w := e.Weight(r); !(w > 0) || math.IsInf(w, 0) {
			return fmt.Errorf("row %d has the weight %g: want a positive number", r, w)
		}
	}
	if e.Y == nil && !fitting {
		return nil
	}
	if len(e.Y) != n {
		return fmt.Errorf("the table of examples has %d rows and %d values of the target %q", n, len(e.Y), e.Target)
	}
	for r, y := range e.Y {
		if !(y > 0) || math.IsInf(y, 0) {
			return fmt.Errorf("row %d: the target %s is %g: want a positive number, for its logarithm is predicted", r, e.Target, y)
		}
	}
	return nil
}

// LogY are the natural logarithms of the target.
func (e *Examples) LogY() []float64 {
	out := make([]float64, len(e.Y))
	for i, y := range e.Y {
		out[i] = math.Log(y)
	}
	return out
}

// Rows are the named rows as a table that shares the values.
func (e *Examples) Rows(rows []int) *Examples {
	out := &Examples{Features: e.Features, Target: e.Target, Unit: e.Unit, X: pick(e.X, rows), Groups: pick(e.Groups, rows), Weights: pick(e.Weights, rows), Kept: pick(e.Kept, rows), Y: pick(e.Y, rows)}
	for name, t := range e.Texts {
		if out.Texts == nil {
			out.Texts = map[string][]string{}
		}
		out.Texts[name] = pick(t, rows)
	}
	return out
}

func pick[T any](from []T, rows []int) []T {
	if from == nil {
		return nil
	}
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = from[r]
	}
	return out
}

// Columns is the table's features with the given names and in their order.
func (e *Examples) Columns(names []string) ([][]float64, error) {
	at := make([]int, len(names))
	for i, n := range names {
		if at[i] = slices.Index(e.Features, n); at[i] < 0 {
			return nil, fmt.Errorf("there is no feature %q; there are %s", n, strings.Join(e.Features, ", "))
		}
	}
	out := make([][]float64, len(e.X))
	flat := make([]float64, len(e.X)*len(names))
	for r, row := range e.X {
		out[r] = flat[r*len(names) : (r+1)*len(names) : (r+1)*len(names)]
		for i, j := range at {
			out[r][i] = row[j]
		}
	}
	return out, nil
}

// With is the table with only the named features.
func (e *Examples) With(names ...string) (*Examples, error) {
	x, err := e.Columns(names)
	if err != nil {
		return nil, err
	}
	out := *e
	out.Features, out.X = slices.Clone(names), x
	return &out, nil
}

func (e *Examples) groupNames() []string {
	names := slices.Clone(e.Groups)
	slices.Sort(names)
	return slices.Compact(names)
}

// Canonical is the table with its features in the order of their names and its
// rows in the order of groups, features and targets: equal for equal data in
// whatever order it came.
func (e *Examples) Canonical() *Examples {
	names := slices.Clone(e.Features)
	slices.Sort(names)
	out, err := e.With(names...)
	if err != nil {
		panic(err) // they are its own names
	}
	texts := make([]string, 0, len(e.Texts))
	for name := range e.Texts {
		texts = append(texts, name)
	}
	slices.Sort(texts)
	rows := make([]int, len(e.X))
	for i := range rows {
		rows[i] = i
	}
	slices.SortStableFunc(rows, func(a, b int) int {
		if e.Groups != nil {
			if c := cmp.Compare(e.Groups[a], e.Groups[b]); c != 0 {
				return c
			}
		}
		if c := slices.Compare(out.X[a], out.X[b]); c != 0 {
			return c
		}
		if e.Y != nil {
			if c := cmp.Compare(e.Y[a], e.Y[b]); c != 0 {
				return c
			}
		}
		if c := cmp.Compare(e.Weight(a), e.Weight(b)); c != 0 {
			return c
		}
		for _, t := range texts {
			if c := cmp.Compare(e.Texts[t][a], e.Texts[t][b]); c != 0 {
				return c
			}
		}
		return 0
	})
	return out.Rows(rows)
}

// Hash names the data: SHA-256 of names, features, groups, weights, texts and
// targets, the same for any order of rows and features.
func (e *Examples) Hash() string {
	c := e.Canonical()
	h := sha256.New()
	number := func(v float64) {
		if math.IsNaN(v) {
			v = math.NaN() // one of the many
		}
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], math.Float64bits(v))
		h.Write(b[:]) // never an error
	}
	fmt.Fprintf(h, "%q %q %q\n", c.Target, c.Unit, c.Features)
	names := make([]string, 0, len(c.Texts))
	for n := range c.Texts {
		names = append(names, n)
	}
	slices.Sort(names)
	for r, row := range c.X {
		for _, v := range row {
			number(v)
		}
		number(c.Weight(r))
		if c.Y != nil {
			number(c.Y[r])
		}
		if c.Groups != nil {
			fmt.Fprintf(h, "%q", c.Groups[r])
		}
		for _, n := range names {
			fmt.Fprintf(h, "%q%q", n, c.Texts[n][r])
		}
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Frame says which columns of a dataframe are what.
type Frame struct {
	Target, Unit string // the column to predict and the unit of its values
	Group        string // the column that tells kernels apart
	// Features are the columns to learn from; empty takes every numeric column
	// but those that are derived from time by their names (split.TimeDerived).
	// One of these that is named here is an error.
	Features []string
	Texts    []string
	Weight   string // "" weighs all the same
}

// FromFrame reads a dataframe, a row per example. Rows without a value of the
// target are left out; dropped tells the columns that are not learnt from.
func FromFrame(df dataframe.DataFrame, f Frame) (e *Examples, dropped []Dropped, err error) {
	if df.Err != nil {
		return nil, nil, fmt.Errorf("reading examples: the dataframe has an error: %w", df.Err)
	}
	types := map[string]series.Type{}
	for i, n := range df.Names() {
		types[n] = df.Types()[i]
	}
	needed := append(append([]string{f.Target, f.Group}, f.Texts...), f.Features...)
	if f.Weight != "" {
		needed = append(needed, f.Weight)
	}
	for _, n := range needed {
		if _, ok := types[n]; !ok {
			return nil, nil, fmt.Errorf("reading examples: there is no column %q; there are %s", n, strings.Join(df.Names(), ", "))
		}
	}
	e = &Examples{Target: f.Target, Unit: f.Unit}
	features := f.Features
	if len(features) == 0 {
		features = df.Names()
	}
	for _, n := range features {
		if n == f.Target || n == f.Group || n == f.Weight || slices.Contains(f.Texts, n) {
			continue
		}
		reason, derived := split.TimeDerived(n)
		switch {
		case types[n] == series.String && len(f.Features) > 0:
			return nil, nil, fmt.Errorf("reading examples: column %q holds text, want numbers: name it in Texts, or convert it", n)
		case derived && len(f.Features) > 0:
			return nil, nil, fmt.Errorf("reading examples: column %q is derived from time (%s), so it holds the answer: leave it out", n, reason)
		case types[n] == series.String:
			dropped = append(dropped, Dropped{n, "not numeric"})
		case derived:
			dropped = append(dropped, Dropped{n, "derived from time: " + reason})
		default:
			e.Features = append(e.Features, n)
		}
	}
	columns := make([][]float64, len(e.Features))
	for i, n := range e.Features {
		columns[i] = df.Col(n).Float()
	}
	var weights []float64
	if f.Weight != "" {
		weights = df.Col(f.Weight).Float()
	}
	groups, target := df.Col(f.Group).Records(), df.Col(f.Target).Float()
	texts := map[string][]string{}
	for _, n := range f.Texts {
		texts[n] = df.Col(n).Records()
	}
	missing := 0
	for r, y := range target {
		if math.IsNaN(y) {
			missing++
			continue
		}
		row := make([]float64, len(columns))
		for i, c := range columns {
			row[i] = c[r]
		}
		e.X, e.Y, e.Groups = append(e.X, row), append(e.Y, y), append(e.Groups, groups[r])
		if weights != nil {
			e.Weights = append(e.Weights, weights[r])
		}
		for _, n := range f.Texts {
			if e.Texts == nil {
				e.Texts = map[string][]string{}
			}
			e.Texts[n] = append(e.Texts[n], texts[n][r])
		}
	}
	if missing > 0 {
		dropped = append(dropped, Dropped{f.Target, fmt.Sprintf("%d rows have no value of it and are left out", missing)})
	}
	if err := e.Check(true); err != nil {
		return nil, nil, fmt.Errorf("reading examples: %w", err)
	}
	return e, dropped, nil
}
