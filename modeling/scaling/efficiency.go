package scaling

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Efficiency is how well time follows the number of processes (or threads,
// GPUs): one row each, against the smallest number that was measured.
type Efficiency struct {
	Weak bool // the problem grows with p; else it stays the same
	Name string
	Unit string
	Rows []EfficiencyRow
}

// EfficiencyRow is one number of processes p. T is the median time, p0 and T0
// are those of the first row.
type EfficiencyRow struct {
	P       float64
	Repeats int
	Time    float64
	// Speedup is T0 / T under strong scaling (p0 processes count as speedup 1),
	// and p/p0 * T0 / T, the scaled speedup of Gustafson (1988), under weak.
	Speedup float64
	// Efficiency is Speedup / (p / p0), with its bootstrap interval (NaN where
	// this or the first row has one repeat only).
	Efficiency, Low, High float64
	// Serial is the serial fraction that the speedup shows (Karp and Flatt 1990):
	// (1/S - 1/p) / (1 - 1/p). Strong scaling from one process only, else NaN.
	Serial float64
}

// Strong is the table of a problem of one size. Times are those that pass on
// the wall, not sums over processes. Each point has one parameter.
func Strong(points []Point, opt Options) (Efficiency, error) { return efficiency(points, opt, false) }

// Weak is the table of a problem that grows with the number of processes.
func Weak(points []Point, opt Options) (Efficiency, error) { return efficiency(points, opt, true) }

func efficiency(points []Point, opt Options, weak bool) (Efficiency, error) {
	e := Efficiency{Weak: weak, Name: opt.Name, Unit: opt.Unit}
	points, err := merge(points, &opt)
	if err == nil && len(points[0].At) != 1 {
		err = errors.New("points have several parameters: give the number of processes alone")
	}
	if err == nil && len(points) < 2 {
		err = errors.New("there is one number of processes only")
	}
	if err != nil {
		return e, fmt.Errorf("efficiency of %s: %w", opt.Name, err)
	}
	rng := rand.New(rand.NewPCG(opt.Seed, 0xeff1c1e9c))
	first := points[0]
	t0 := median(first.Values)
	for i, p := range points {
		r := EfficiencyRow{P: p.At[0], Repeats: len(p.Values), Time: median(p.Values), Low: math.NaN(), High: math.NaN(), Serial: math.NaN()}
		times := r.P / first.At[0]
		// perfect is the efficiency at equal times.
		perfect := 1 / times
		if weak {
			perfect = 1
		}
		r.Efficiency = perfect * t0 / r.Time
		r.Speedup = r.Efficiency * times
		if !weak && first.At[0] == 1 && r.P > 1 {
			r.Serial = (1/r.Speedup - 1/r.P) / (1 - 1/r.P)
		}
		if i > 0 && len(first.Values) > 1 && len(p.Values) > 1 {
			var es []float64
			for range max(opt.Draws, 1000) {
				es = append(es, perfect*resample(first.Values, rng)/resample(p.Values, rng))
			}
			r.Low, r.High = interval(es, opt.Level)
		}
		e.Rows = append(e.Rows, r)
	}
	return e, nil
}

func resample(vs []float64, rng *rand.Rand) float64 {
	s := make([]float64, len(vs))
	for i := range s {
		s[i] = vs[rng.IntN(len(vs))]
	}
	slices.Sort(s)
	return median(s)
}

// Table is the efficiency as a table.
func (e Efficiency) Table() tabular.Table {
	title, speedup := "Strong scaling", "speedup"
	if e.Weak {
		title, speedup = "Weak scaling", "scaled speedup"
	}
	if e.Name != "" {
		title += " of " + e.Name
	}
	t := tabular.Table{Title: title, Columns: tabular.Columns("p", "time", "repeats", speedup, "efficiency", "<interval")}
	if !e.Weak {
		t.Columns = append(t.Columns, tabular.Column{Name: "serial fraction"})
	}
	for _, r := range e.Rows {
		interval := "n/a"
		if !math.IsNaN(r.Low) {
			interval = tabular.Percent(r.Low) + " to " + tabular.Percent(r.High)
		}
		t.Add(fmt.Sprintf("%g", r.P), tabular.Quantity(r.Time, e.Unit), fmt.Sprint(r.Repeats), fmt.Sprintf("%.3g", r.Speedup), tabular.Percent(r.Efficiency), interval, tabular.Percent(r.Serial))
		if e.Weak {
			last := &t.Rows[len(t.Rows)-1]
			*last = (*last)[:6]
		}
	}
	t.Note("against p = %g", e.Rows[0].P)
	return t
}

// String is the efficiency as text.
func (e Efficiency) String() string { return e.Table().String() }

// Display shows the efficiency as a table.
func (e Efficiency) Display() display.Bundle { return e.Table().Display() }
