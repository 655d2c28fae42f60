package counters

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/rooflab/rooflab/modeling/score"
)

const (
	leastRows    = 12   // for anything to be said
	changing     = 0.02 // the part of the rows that must differ from the most common value
	changingRows = 3    // and their number
	varying      = 1e-4 // standard deviation over mean, below which a column is nearly constant
	decade       = 10   // a span from which a positive column is taken by its logarithm
	skewed       = 1    // a skewness from which it is
	exact        = 1 - 1e-9
	sampled      = 2000 // rows at which pairs of columns are compared
)

// scale is how a column's values become a predictor.
type scale struct {
	log      bool
	floor    float64 // added before the logarithm: half the smallest positive value where there are zeros
	median   float64 // of the transformed values: what gaps take
	mean, sd float64 // of the transformed values with gaps filled
}

func (s scale) of(v float64) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		v = s.median
	} else if v = s.transform(v); math.IsNaN(v) {
		v = s.median
	}
	return (v - s.mean) / s.sd
}

func (s scale) transform(v float64) float64 {
	if s.log {
		return math.Log(math.Max(v, 0) + s.floor) // -Inf only for a zero that the fit did not have
	}
	return v
}

// column is a candidate: a counter that represents its copies.
type column struct {
	name    string
	raw     []float64
	scale   scale
	z       []float64 // standardised
	r       float64   // correlation with the target
	missing int
	aliases []string
}

// prepared is a table made ready, its rows and columns in an order that
// depends on nothing but values.
type prepared struct {
	target   string
	y        []float64 // standardised
	yscale   scale
	columns  []column
	units    [][]int // rows that are drawn together
	rows     int
	leftOut  int // rows without a target
	gaps     int // values that took the median
	dropped  []Dropped
	warnings []string
}

func prepare(t *Table, o *Options) (*prepared, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	var rows []int
	for i, v := range t.Y {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			rows = append(rows, i)
		}
	}
	p := &prepared{target: t.Target, rows: len(rows), leftOut: len(t.Y) - len(rows), dropped: slices.Clone(t.Dropped)}
	if len(rows) < leastRows {
		return nil, fmt.Errorf("choosing counters: %d of %d rows have a value of %q, want %d at least: measure more launches or configurations", len(rows), len(t.Y), t.Target, leastRows)
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(t.Y[a], t.Y[b]) })
	y := pick(t.Y, rows)
	if why := constant(y); why != "" {
		return nil, fmt.Errorf("choosing counters: the target %q is the same in all rows (%s): there is nothing to explain", t.Target, why)
	}
	p.yscale = scaleOf(y, y[0] > 0)
	zy := standardise(y, p.yscale)
	for i, n := range t.Names {
		c := column{name: n, raw: pick(t.Columns[i], rows)}
		if why := p.refuse(&c, o); why != "" {
			p.dropped = append(p.dropped, Dropped{n, why})
			continue
		}
		c.prepare(zy)
		p.columns = append(p.columns, c)
	}
	p.order()
	p.disguised(y, o)
	p.group(o.Alias)
	if len(p.columns) == 0 {
		return nil, fmt.Errorf("choosing counters: no column is left to choose from: %s", reasons(p.dropped))
	}
	// Now that the columns' order is known, rows of equal target are put in
	// order, and what is computed from them is computed again in that order.
	order := make([]int, len(rows))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if c := cmp.Compare(y[a], y[b]); c != 0 {
			return c
		}
		for i := range p.columns {
			if c := cmp.Compare(p.columns[i].raw[a], p.columns[i].raw[b]); c != 0 {
				return c
			}
		}
		return 0
	})
	y = pick(y, order)
	p.yscale = scaleOf(y, y[0] > 0)
	p.y = standardise(y, p.yscale)
	for i := range p.columns {
		c := &p.columns[i]
		c.raw = pick(c.raw, order)
		c.prepare(p.y)
		p.gaps += c.missing
	}
	p.bind(t.Groups, pickInts(rows, order))
	return p, nil
}

func pickInts(v, rows []int) []int {
	out := make([]int, len(rows))
	for i, r := range rows {
		out[i] = v[r]
	}
	return out
}

// bind makes the units of rows that are drawn together.
func (p *prepared) bind(groups []string, rows []int) {
	if groups == nil {
		for i := range rows {
			p.units = append(p.units, []int{i})
		}
		return
	}
	at := map[string]int{}
	for i, r := range rows {
		u, ok := at[groups[r]]
		if !ok {
			u = len(p.units)
			at[groups[r]] = u
			p.units = append(p.units, nil)
		}
		p.units[u] = append(p.units[u], i)
	}
}

// refuse says why a column is no candidate, and counts its gaps.
func (p *prepared) refuse(c *column, o *Options) string {
	kept := slices.Contains(o.Keep, c.name)
	if slices.Contains(o.Drop, c.name) {
		return "not wanted"
	}
	if why, derived := timeDerived(c.name); derived && !kept {
		return why
	}
	about := Describe(c.name)
	if (about.Source == sourceTuner || strings.Contains(about.Text, "a property of the compiled kernel")) && !kept {
		return "a property of the compiled kernel, no counter"
	}
	have := make([]float64, 0, len(c.raw))
	for i, v := range c.raw {
		if math.IsInf(v, 0) {
			c.raw[i] = math.NaN()
		} else if !math.IsNaN(v) {
			have = append(have, v)
		}
	}
	c.missing = len(c.raw) - len(have)
	if float64(c.missing) > o.MaxMissing*float64(len(c.raw)) {
		return fmt.Sprintf("no value in %d of %d rows", c.missing, len(c.raw))
	}
	return constant(have)
}

// constant says in what way values are (nearly) the same, "" if they are not.
func constant(have []float64) string {
	count := map[float64]int{}
	common := 0
	for _, v := range have {
		count[v]++
		common = max(common, count[v])
	}
	n := len(have)
	switch {
	case n == 0 || common == n:
		return "constant"
	case n-common < changingRows || float64(n-common) < changing*float64(n):
		return fmt.Sprintf("nearly constant: %d of %d rows have the same value", common, n)
	}
	if mean, sd := stat.MeanStdDev(have, nil); sd < varying*math.Abs(mean) {
		return fmt.Sprintf("nearly constant: varies by %.2g %% of its mean", 100*sd/math.Abs(mean))
	}
	return ""
}

// prepare computes the scale, the standardised values and the correlation.
func (c *column) prepare(zy []float64) {
	c.scale = scaleOf(c.raw, wantsLog(c.raw))
	c.z = standardise(c.raw, c.scale)
	c.r = floats.Dot(c.z, zy) / float64(len(zy))
}

// wantsLog says whether the logarithm suits a column: one without negative
// values that is skewed to the right, or spans more than a decade, and whose
// logarithm is less skewed or, if it has no zeros, spans more than a decade.
func wantsLog(raw []float64) bool {
	var have []float64
	lowest, smallest, largest := math.Inf(1), math.Inf(1), 0.0
	for _, v := range raw {
		if math.IsNaN(v) {
			continue
		}
		have = append(have, v)
		lowest, largest = math.Min(lowest, v), math.Max(largest, v)
		if v > 0 {
			smallest = math.Min(smallest, v)
		}
	}
	if lowest < 0 || largest == 0 {
		return false
	}
	if lowest > 0 && largest > decade*smallest {
		return true
	}
	skew := stat.Skew(have, nil)
	if skew < skewed {
		return false
	}
	floor := 0.0
	if lowest == 0 {
		floor = smallest / 2
	}
	for i, v := range have {
		have[i] = math.Log(v + floor)
	}
	return math.Abs(stat.Skew(have, nil)) < skew
}

func scaleOf(raw []float64, log bool) scale {
	s := scale{log: log}
	if log {
		lowest, smallest := math.Inf(1), math.Inf(1)
		for _, v := range raw {
			if !math.IsNaN(v) {
				lowest = math.Min(lowest, v)
			}
			if v > 0 {
				smallest = math.Min(smallest, v)
			}
		}
		if lowest == 0 {
			s.floor = smallest / 2
		}
	}
	var have []float64
	for _, v := range raw {
		if !math.IsNaN(v) {
			have = append(have, s.transform(v))
		}
	}
	s.median = score.Median(have)
	filled := make([]float64, len(raw))
	for i, v := range raw {
		if filled[i] = s.median; !math.IsNaN(v) {
			filled[i] = s.transform(v)
		}
	}
	s.mean, s.sd = stat.PopMeanStdDev(filled, nil)
	if !(s.sd > 0) {
		s.sd = 1
	}
	return s
}

func standardise(raw []float64, s scale) []float64 {
	z := make([]float64, len(raw))
	for i, v := range raw {
		z[i] = s.of(v)
	}
	return z
}

// order sorts columns by how much they have to do with the target, which their
// names and units do not change.
func (p *prepared) order() {
	slices.SortStableFunc(p.columns, func(a, b column) int {
		ra, rb := math.Round(math.Abs(a.r)*1e9), math.Round(math.Abs(b.r)*1e9)
		return cmp.Or(cmp.Compare(rb, ra), cmp.Compare(a.name, b.name))
	})
}

// group puts columns that are copies of each other together: |r| of their
// predictors above alias, or an exact linear relation of their values. Skewed
// values that agree in their one largest are no copies, so that the plain
// values count only when the relation is exact.
func (p *prepared) group(alias float64) {
	at := sample(p.rows)
	type leader struct {
		z, linear []float64
		members   []column
	}
	var leaders []*leader
	for _, c := range p.columns {
		l := &leader{z: unit(pick(c.z, at)), linear: unit(pick(standardise(c.raw, scaleOf(c.raw, false)), at))}
		joined := false
		for _, other := range leaders {
			if math.Abs(floats.Dot(l.z, other.z)) > alias || math.Abs(floats.Dot(l.linear, other.linear)) > exact {
				other.members = append(other.members, c)
				joined = true
				break
			}
		}
		if !joined {
			l.members = []column{c}
			leaders = append(leaders, l)
		}
	}
	p.columns = p.columns[:0:0]
	for _, l := range leaders {
		// The one with the fewest gaps, a known counter, with the shortest name
		// stands for all.
		best := slices.MinFunc(l.members, func(a, b column) int {
			return cmp.Or(cmp.Compare(a.missing, b.missing), cmp.Compare(strange(a.name), strange(b.name)), cmp.Compare(len(a.name), len(b.name)), cmp.Compare(a.name, b.name))
		})
		for _, m := range l.members {
			if m.name != best.name {
				best.aliases = append(best.aliases, m.name)
			}
		}
		slices.Sort(best.aliases)
		p.columns = append(p.columns, best)
	}
}

// strange is 0 for hardware counters, 1 for unknown names, 2 for what is known
// to be a property of the kernel.
func strange(name string) int {
	switch Describe(name).Source {
	case "":
		return 1
	case sourceTuner:
		return 2
	}
	return 0
}

// sample is up to sampled rows, evenly spaced.
func sample(n int) []int {
	m := min(n, sampled)
	at := make([]int, m)
	for i := range at {
		at[i] = i * n / m
	}
	return at
}

// unit is v centred and of length one.
func unit(v []float64) []float64 {
	floats.AddConst(-stat.Mean(v, nil), v)
	if n := floats.Norm(v, 2); n > 0 {
		floats.Scale(1/n, v)
	}
	return v
}

func reasons(ds []Dropped) string {
	if len(ds) == 0 {
		return "there is none"
	}
	parts := make([]string, len(ds))
	for i, d := range ds {
		parts[i] = d.Column + " (" + d.Reason + ")"
	}
	return strings.Join(parts, ", ")
}
