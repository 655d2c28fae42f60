package scaling

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rooflab/rooflab/kernel/display"
	"github.com/rooflab/rooflab/modeling/tabular"
)

// Formula is the model as text: "3.1e-3 + 2.0e-6 * n * log2(n) s".
func (m *Model) Formula() string {
	var b strings.Builder
	for i, t := range m.Terms {
		c := m.Coefficients[i]
		if i == 0 && len(m.Terms) > 1 && m.rounding(c) {
			continue
		}
		switch {
		case b.Len() == 0:
			b.WriteString(fmt.Sprintf("%.3g", c))
		case c < 0:
			b.WriteString(fmt.Sprintf(" - %.3g", -c))
		default:
			b.WriteString(fmt.Sprintf(" + %.3g", c))
		}
		if i > 0 {
			b.WriteString(" * " + t.Text(m.Parameters))
		}
	}
	unit := m.Unit
	if unit == "s" {
		unit = "seconds"
	}
	return strings.TrimSpace(b.String() + " " + unit)
}

// rounding reports whether a constant is what the fit's arithmetic leaves of
// none: next to nothing beside the smallest value that the model gives.
func (m *Model) rounding(c float64) bool {
	least := math.Inf(1)
	for _, p := range m.Points {
		least = math.Min(least, math.Abs(m.At(p.At...)))
	}
	return math.Abs(c) < 1e-9*least && !math.IsInf(least, 1)
}

// Growth is the leading part of the model as text: "1" for a constant, and
// "1 + p^-1" for what falls towards one.
func (m *Model) Growth() string {
	var parts []string
	for _, t := range m.Leading() {
		parts = append(parts, t.Text(m.Parameters))
	}
	if len(parts) > 0 {
		return strings.Join(parts, " + ")
	}
	parts = []string{"1"}
	for _, t := range m.Terms[1:] {
		parts = append(parts, t.Text(m.Parameters))
	}
	return strings.Join(parts, " + ")
}

// Table has the points, measured and as the model has them.
func (m *Model) Table() tabular.Table {
	name := m.Name
	if name != "" {
		name += ": "
	}
	t := tabular.Table{Title: name + m.Formula()}
	t.Columns = append(tabular.Columns(m.Parameters...), tabular.Columns("measured", "repeats", "model", "<interval", "error")...)
	for _, p := range m.Points {
		var row []string
		for _, v := range p.At {
			row = append(row, fmt.Sprintf("%g", v))
		}
		y := median(p.Values)
		at := Prediction{Low: math.NaN(), High: math.NaN()}
		if pr, err := m.Predict(p.At...); err == nil {
			at = pr
		}
		t.Add(append(row, tabular.Quantity(y, m.Unit), fmt.Sprint(len(p.Values)), tabular.Quantity(at.Value, m.Unit),
			tabular.Quantity(at.Low, m.Unit)+" to "+tabular.Quantity(at.High, m.Unit), fmt.Sprintf("%+.1f %%", 100*(at.Value/y-1)))...)
	}
	t.Note("grows as %s; %.0f %% of bootstrap samples agree", m.Growth(), 100*m.Agreement)
	noise := "no repeats"
	if !math.IsNaN(m.Noise) {
		noise = "noise of repeats " + tabular.Percent(m.Noise)
	}
	t.Note("SMAPE of left-out points %s, adjusted R2 %.4f, %s", tabular.Percent(m.SMAPE), m.AdjustedR2, noise)
	return t
}

// String is the formula with its quality.
func (m *Model) String() string { return m.Table().String() }

// Display shows the model as a table.
func (m *Model) Display() display.Bundle { return m.Table().Display() }

// String is the prediction as text.
func (p Prediction) String() string {
	s := fmt.Sprintf("%s (%s to %s)", tabular.Quantity(p.Value, p.Unit), tabular.Quantity(p.Low, p.Unit), tabular.Quantity(p.High, p.Unit))
	if p.Beyond > 1 {
		s += fmt.Sprintf(", %.3g times beyond what was measured", p.Beyond)
	}
	return s
}

// Ranked is one kernel of a ranking.
type Ranked struct {
	Model *Model
	Prediction
	Share    float64 // of all kernels' predicted values
	Measured float64 // share at the largest place measured of all models
}

// Ranking orders kernels by what they will take at a place, the most first.
type Ranking struct {
	At         []float64
	From       []float64 // the place of Measured
	Kernels    []Ranked
	Parameters []string
}

// Rank predicts which kernels dominate at a place. Models must have the same
// parameters and unit.
func Rank(models []*Model, at ...float64) (Ranking, error) {
	r := Ranking{At: at}
	var total, before float64
	for _, m := range models {
		if r.Parameters == nil {
			r.Parameters = m.Parameters
			r.From = make([]float64, len(m.Parameters))
		}
		if !slices.Equal(m.Parameters, r.Parameters) || m.Unit != models[0].Unit {
			return r, fmt.Errorf("ranking kernels: %s depends on %v in %q, %s on %v in %q", m.Name, m.Parameters, m.Unit, models[0].Name, r.Parameters, models[0].Unit)
		}
		for i := range r.From {
			vs := distinct(m.Points, i)
			r.From[i] = max(r.From[i], vs[len(vs)-1])
		}
	}
	for _, m := range models {
		p, err := m.Predict(at...)
		if err != nil {
			return r, err
		}
		total += p.Value
		before += m.At(r.From...)
		r.Kernels = append(r.Kernels, Ranked{Model: m, Prediction: p})
	}
	for i := range r.Kernels {
		k := &r.Kernels[i]
		k.Share, k.Measured = k.Value/total, k.Model.At(r.From...)/before
	}
	slices.SortStableFunc(r.Kernels, func(a, b Ranked) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Model.Name, b.Model.Name))
	})
	return r, nil
}

// Table is the ranking as a table.
func (r Ranking) Table() tabular.Table {
	place := func(at []float64) string {
		var parts []string
		for i, v := range at {
			parts = append(parts, fmt.Sprintf("%s = %g", r.Parameters[i], v))
		}
		return strings.Join(parts, ", ")
	}
	t := tabular.Table{Title: "Kernels by what they take at " + place(r.At),
		Columns: tabular.Columns("<kernel", "<grows as", "predicted", "<interval", "share", "share measured", "<model")}
	for _, k := range r.Kernels {
		t.Add(k.Model.Name, k.Model.Growth(), tabular.Quantity(k.Value, k.Unit), tabular.Quantity(k.Low, k.Unit)+" to "+tabular.Quantity(k.High, k.Unit),
			tabular.Percent(k.Share), tabular.Percent(k.Measured), k.Model.Formula())
	}
	t.Note("share measured is that of the models at %s", place(r.From))
	return t
}

// String is the ranking as text.
func (r Ranking) String() string { return r.Table().String() }

// Display shows the ranking as a table.
func (r Ranking) Display() display.Bundle { return r.Table().Display() }
