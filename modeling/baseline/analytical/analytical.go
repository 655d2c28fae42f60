// Package analytical predicts run time by the roofline: what a launch must do,
// divided by how fast the device can do it at best.
//
//	time = overhead + max over limits of work / (efficiency x peak)
//
// (Williams, Waterman and Patterson 2009, with the launch's overhead added.) In
// flow predict.Examples with an amount of work per limit (flop, bytes; counted,
// or estimated from source) and peaks: of each row's device by a feature, or one
// for all rows, from modeling/roofline's ceilings. Out flows a predict.Model.
//
// Peaks are taken as they are (Given), which learns nothing at all, or one
// efficiency per limit and the overhead are fitted (Fitted), by least squares of
// the logarithm of time with all of them kept positive. The Model's description
// says which.
package analytical

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/optimize"

	"github.com/rooflab/rooflab/modeling/predict"
	"github.com/rooflab/rooflab/modeling/roofline"
)

// Kind is what the model is called in files and descriptions.
const Kind = "analytical roofline"

// Limit is one roof.
type Limit struct {
	Name string `json:"name"` // "FP32", "DRAM"
	Work string `json:"work"` // the feature with the amount per launch: flop, byte
	// Peak is the feature with the rate of the row's device, per second; ""
	// where Rate holds for all rows. Without both the rate itself is fitted.
	Peak string  `json:"peak,omitempty"`
	Rate float64 `json:"rate,omitempty"`
	From string  `json:"from,omitempty"` // where Rate or Peak comes from
}

// Mode says what is learnt.
type Mode string

// The modes.
const (
	Given  Mode = "given"  // nothing: peaks and overhead as they are
	Fitted Mode = "fitted" // an efficiency per limit, and the overhead
)

// Learner makes the model.
type Learner struct {
	Limits   []Limit
	Mode     Mode    // Given by default
	Overhead float64 // s per launch; where to start from when Fitted
}

// Model is a roofline.
type Model struct {
	About    predict.Description `json:"about"`
	Limits   []Limit             `json:"limits"`
	Overhead float64             `json:"overhead"` // in the unit of the target
	// Cost is how many times the best possible time work takes, per limit: one
	// over the efficiency. Where the limit has no peak it is the time of a unit
	// of work.
	Cost []float64 `json:"cost"`
}

func init() {
	predict.Register(Kind, func(raw json.RawMessage) (predict.Model, error) {
		m := &Model{}
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		return m, m.check()
	})
}

// FromCeilings are the limits of a machine for work that is counted by the
// named features; a ceiling that is not there is an error. The target must be
// in seconds.
func FromCeilings(c roofline.Ceilings, flop map[roofline.Precision]string, bytes map[roofline.Level]string) ([]Limit, error) {
	var out []Limit
	for p := range flop {
		top, ok := c.Peak[p]
		if !ok {
			return nil, fmt.Errorf("making a roofline: there is no ceiling of %s", p)
		}
		out = append(out, Limit{Name: p.String(), Work: flop[p], Rate: top.Value, From: top.From})
	}
	for l := range bytes {
		top, ok := c.Bandwidth[l]
		if !ok {
			return nil, fmt.Errorf("making a roofline: there is no ceiling of %s", l)
		}
		out = append(out, Limit{Name: l.String(), Work: bytes[l], Rate: top.Value, From: top.From})
	}
	slices.SortFunc(out, func(a, b Limit) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Fit implements predict.Learner; the Model is a *Model.
func (l Learner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	m, err := l.fit(ctx, e, seed)
	if err != nil {
		return nil, fmt.Errorf("making an analytical roofline: %w", err)
	}
	return m, nil
}

func (l Learner) fit(ctx context.Context, e *predict.Examples, seed uint64) (*Model, error) {
	if err := e.Check(true); err != nil {
		return nil, err
	}
	if l.Mode == "" {
		l.Mode = Given
	}
	if l.Mode != Given && l.Mode != Fitted {
		return nil, fmt.Errorf("the mode %q is neither %q nor %q", l.Mode, Given, Fitted)
	}
	if len(l.Limits) == 0 || !(l.Overhead >= 0) || math.IsInf(l.Overhead, 0) {
		return nil, fmt.Errorf("%d limits and an overhead of %g: want 1 limit at least and no negative overhead", len(l.Limits), l.Overhead)
	}
	m := &Model{About: predict.About(Kind, e, seed), Limits: slices.Clone(l.Limits), Overhead: l.Overhead}
	for _, x := range l.Limits {
		if x.Rate < 0 || math.IsNaN(x.Rate) || x.Peak != "" && x.Rate != 0 || l.Mode == Given && x.Peak == "" && x.Rate == 0 {
			return nil, fmt.Errorf("limit %s: peak feature %q and rate %g: want one of them, or none when it is fitted", x.Name, x.Peak, x.Rate)
		}
		m.Cost = append(m.Cost, 1)
		for _, f := range []string{x.Work, x.Peak} {
			if f != "" && !slices.Contains(m.About.Features, f) {
				m.About.Features = append(m.About.Features, f)
			}
		}
	}
	c := e.Canonical()
	times, err := m.times(c)
	if err != nil {
		return nil, err
	}
	if l.Mode == Fitted {
		if err := m.optimise(ctx, c, times); err != nil {
			return nil, err
		}
	}
	m.About.Detail = m.describe(l.Mode)
	return m, nil
}

func (m *Model) describe(mode Mode) string {
	var parts []string
	for i, x := range m.Limits {
		from := ""
		if x.From != "" {
			from = " (" + x.From + ")"
		}
		switch {
		case x.Peak == "" && x.Rate == 0:
			parts = append(parts, fmt.Sprintf("%s: %s at a fitted rate of %.4g/s", x.Name, x.Work, 1/m.Cost[i]))
		case x.Peak != "":
			parts = append(parts, fmt.Sprintf("%s: %s at %.3g of %s%s", x.Name, x.Work, 1/m.Cost[i], x.Peak, from))
		default:
			parts = append(parts, fmt.Sprintf("%s: %s at %.3g of %.4g/s%s", x.Name, x.Work, 1/m.Cost[i], x.Rate, from))
		}
	}
	return fmt.Sprintf("peaks and overhead %s; overhead %.3g; %s", mode, m.Overhead, strings.Join(parts, "; "))
}

// times are the best times per row and limit, NaN where the work or the peak
// is unknown.
func (m *Model) times(e *predict.Examples) ([][]float64, error) {
	x, err := e.Columns(m.About.Features)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(x))
	for r, row := range x {
		out[r] = make([]float64, len(m.Limits))
		some := false
		for i, l := range m.Limits {
			work, rate := row[slices.Index(m.About.Features, l.Work)], 1.0
			if l.Rate > 0 {
				rate = l.Rate
			}
			if l.Peak != "" {
				rate = row[slices.Index(m.About.Features, l.Peak)]
			}
			if work < 0 || rate <= 0 {
				return nil, fmt.Errorf("row %d: limit %s has work %g and peak %g, want work that is not negative and a positive peak", r, l.Name, work, rate)
			}
			out[r][i] = work / rate
			some = some || out[r][i] == out[r][i]
		}
		if !some {
			return nil, fmt.Errorf("row %d: work or peak of each limit is unknown, so there is no roofline: leave the row out", r)
		}
	}
	return out, nil
}

// value is the time of a row; unknown limits are left out, so that it may be
// too low.
func value(best, cost []float64, overhead float64) float64 {
	top := 0.0
	for i, t := range best {
		if v := t * cost[i]; v > top {
			top = v
		}
	}
	return overhead + top
}

// optimise fits costs and overhead: sum w (log t - log(overhead + max cost
// best))^2 least, over their logarithms so that they stay positive, by the
// simplex of Nelder and Mead (1965), begun again where it ended until that
// gains nothing.
func (m *Model) optimise(ctx context.Context, e *predict.Examples, best [][]float64) error {
	logY := e.LogY()
	d := len(m.Limits)
	loss := func(p []float64) float64 {
		cost := make([]float64, d)
		for i := range cost {
			cost[i] = math.Exp(p[i])
		}
		overhead, sum := math.Exp(p[d]), 0.0
		for r, b := range best {
			x := logY[r] - math.Log(value(b, cost, overhead))
			sum += e.Weight(r) * x * x
		}
		return sum
	}
	// Start where each limit alone would give the median row its time, the
	// overhead at the shortest.
	p := make([]float64, d+1)
	for i := range d {
		var ratios []float64
		for r, b := range best {
			if b[i] > 0 {
				ratios = append(ratios, logY[r]-math.Log(b[i]))
			}
		}
		if len(ratios) == 0 {
			return fmt.Errorf("limit %s: no row has work for it, so that nothing can be fitted: leave it out", m.Limits[i].Name)
		}
		slices.Sort(ratios)
		p[i] = ratios[len(ratios)/4] // the maximum of several lies above each
	}
	p[d] = slices.Min(logY)
	if m.Overhead > 0 {
		p[d] = math.Log(m.Overhead)
	}
	last := loss(p)
	for range 20 {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := optimize.Minimize(optimize.Problem{Func: loss}, p, &optimize.Settings{MajorIterations: 300 * (d + 1)}, &optimize.NelderMead{SimplexSize: 0.5})
		if err != nil && r == nil {
			return fmt.Errorf("fitting %d limits: %w", d, err)
		}
		p = r.X
		if last-r.F < 1e-9*math.Abs(last) {
			break
		}
		last = r.F
	}
	for i := range d {
		m.Cost[i] = math.Exp(p[i])
		if m.Limits[i].Peak+m.Limits[i].From != "" && m.Cost[i] < 1 {
			m.About.Warnings = append(m.About.Warnings, fmt.Sprintf("limit %s: the fit runs at %.2f times the peak, which cannot be: the work is counted too high, served by a cache, or the peak too low", m.Limits[i].Name, 1/m.Cost[i]))
		}
		decides := slices.ContainsFunc(best, func(b []float64) bool {
			return b[i]*m.Cost[i] > 0 && value(b, m.Cost, 0) == b[i]*m.Cost[i]
		})
		if !decides {
			m.About.Warnings = append(m.About.Warnings, fmt.Sprintf("limit %s decides no training row: its efficiency is arbitrary", m.Limits[i].Name))
		}
	}
	m.Overhead = math.Exp(p[d])
	return nil
}

// Log implements predict.Model.
func (m *Model) Log(_ context.Context, e *predict.Examples) ([]float64, error) {
	best, err := m.times(e)
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(best))
	for r, b := range best {
		t := value(b, m.Cost, m.Overhead)
		if !(t > 0) || math.IsInf(t, 0) {
			return nil, fmt.Errorf("row %d: the roofline's time is %g: there is no work, and no overhead either", r, t)
		}
		out[r] = math.Log(t)
	}
	return out, nil
}

// Describe implements predict.Model.
func (m *Model) Describe() predict.Description { return m.About }

// MarshalJSON writes the model for predict.Save.
func (m *Model) MarshalJSON() ([]byte, error) {
	type plain Model
	return json.Marshal((*plain)(m))
}

func (m *Model) check() error {
	if len(m.Limits) == 0 || len(m.Cost) != len(m.Limits) || !(m.Overhead >= 0) {
		return errors.New("it lacks limits, costs or overhead")
	}
	for i, l := range m.Limits {
		if !(m.Cost[i] > 0) || !slices.Contains(m.About.Features, l.Work) || l.Peak != "" && !slices.Contains(m.About.Features, l.Peak) {
			return fmt.Errorf("limit %s has the cost %g, or a feature that is not read", l.Name, m.Cost[i])
		}
	}
	return nil
}
