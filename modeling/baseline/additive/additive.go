// Package additive predicts run time as a sum: of a launch's overhead, and of
// what each kind of work takes, times how much of it there is.
//
//	time = overhead + sum over kinds of cost x amount
//
// Costs are positive and fitted. It is the cost model of compilers (Wang 1994,
// "Precise compile-time performance prediction for superscalar-based
// computers"), with costs learnt rather than read from tables: as a base that
// trees correct (baseline.Correction) it gives them the sum, which they cannot
// make themselves.
//
// In flow predict.Examples with amounts of work, as kernelcost.AmountNames are;
// out flows a predict.Model.
package additive

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
	"github.com/rooflab/rooflab/modeling/score"
)

// Kind is what the model is called in files and descriptions.
const Kind = "additive cost"

// Learner fits the costs: so that the logarithm of time is met in the sense of
// Huber, squared within 0.3 and absolute beyond, which a few rows that no sum
// explains do not bend.
type Learner struct {
	// Amounts are the features that are summed. One whose name begins with
	// log2_ is log2(1 + amount).
	Amounts []string
	// Apart, if not "", is a feature that rows above 0 have costs of their own by:
	// work in double precision.
	Apart string
	Steps int // of the optimiser at most, 300 by default
}

// Model is a sum.
type Model struct {
	About   predict.Description `json:"about"`
	Amounts []string            `json:"amounts"`
	Apart   string              `json:"apart,omitempty"`
	// Cost are logarithms of what a unit of 1e9 takes: of each amount, then, with
	// Apart, of each again for the rows that are apart; last of the launch, in units
	// of 1e6.
	Cost   []float64 `json:"cost"`
	Median float64   `json:"median"` // of log time, for rows whose amounts are unknown
}

func init() {
	predict.Register(Kind, func(raw json.RawMessage) (predict.Model, error) {
		m := &Model{}
		if err := json.Unmarshal(raw, m); err != nil {
			return nil, err
		}
		n := len(m.Amounts)
		if m.Apart != "" {
			n *= 2
		}
		if n == 0 || len(m.Cost) != n+1 {
			return nil, fmt.Errorf("%d costs of %d amounts: the file is damaged", len(m.Cost), len(m.Amounts))
		}
		return m, nil
	})
}

// Fit implements predict.Learner; the Model is a *Model.
func (l Learner) Fit(ctx context.Context, e *predict.Examples, seed uint64) (predict.Model, error) {
	m, err := l.fit(ctx, e, seed)
	if err != nil {
		return nil, fmt.Errorf("fitting additive costs: %w", err)
	}
	return m, nil
}

func (l Learner) fit(ctx context.Context, e *predict.Examples, seed uint64) (*Model, error) {
	if err := e.Check(true); err != nil {
		return nil, err
	}
	if len(l.Amounts) == 0 || l.Steps < 0 {
		return nil, fmt.Errorf("%d amounts and %d steps: want 1 amount at least and no negative number of steps", len(l.Amounts), l.Steps)
	}
	if l.Steps == 0 {
		l.Steps = 300
	}
	c := e.Canonical()
	m := &Model{About: predict.About(Kind, e, seed), Amounts: slices.Clone(l.Amounts), Apart: l.Apart}
	m.About.Features = slices.Clone(l.Amounts)
	if l.Apart != "" && !slices.Contains(m.About.Features, l.Apart) {
		m.About.Features = append(m.About.Features, l.Apart)
	}
	work, known, err := m.work(c)
	if err != nil {
		return nil, err
	}
	var rows [][]float64
	var logs, weights []float64
	for r, y := range c.LogY() {
		if known[r] {
			rows, logs, weights = append(rows, work[r]), append(logs, y), append(weights, c.Weight(r))
		}
	}
	if len(rows) == 0 {
		return nil, errors.New("the amounts of work are unknown in every row")
	}
	m.Median = score.Median(c.LogY())
	start := make([]float64, len(rows[0]))
	for i := range start {
		start[i] = -1 // 0.4 ns for a unit of work
	}
	p := optimize.Problem{
		Func: func(w []float64) float64 { return loss(rows, logs, weights, w, nil) },
		Grad: func(g, w []float64) { loss(rows, logs, weights, w, g) },
		Status: func() (optimize.Status, error) {
			if ctx.Err() != nil {
				return optimize.Failure, ctx.Err()
			}
			return optimize.NotTerminated, nil
		},
	}
	out, err := optimize.Minimize(p, start, &optimize.Settings{MajorIterations: l.Steps}, &optimize.LBFGS{})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if out == nil || len(out.X) != len(start) || math.IsNaN(out.F) { // a line search that ends early leaves what it found
		return nil, fmt.Errorf("optimising: %w", err)
	}
	m.Cost = out.X
	m.About.Detail = m.describe()
	return m, nil
}

// within is where Huber's loss becomes linear, and toward how strongly costs are
// drawn to where they began, which keeps those that nothing tells about.
const (
	within = 0.3
	toward = 1e-4
)

// loss is the mean loss, and its gradient by the logarithms of the costs.
func loss(rows [][]float64, logs, weights, w, gradient []float64) float64 {
	costs := make([]float64, len(w))
	total, mass := 0.0, 0.0
	for i, x := range w {
		costs[i] = math.Exp(min(x, 60))
		total += toward * (x + 1) * (x + 1) / float64(len(w))
		if gradient != nil {
			gradient[i] = 0
		}
	}
	sum := 0.0
	for r, row := range rows {
		time := 0.0
		for i, n := range row {
			time += n * costs[i]
		}
		d := math.Log(time) - logs[r]
		slope := min(max(d/within, -1), 1)
		if a := math.Abs(d); a < within {
			sum += weights[r] * d * d / (2 * within)
		} else {
			sum += weights[r] * (a - within/2)
		}
		mass += weights[r]
		if gradient != nil {
			for i, n := range row {
				gradient[i] += weights[r] * slope * n / time
			}
		}
	}
	for i := range gradient {
		gradient[i] = gradient[i]*costs[i]/mass + 2*toward*(w[i]+1)/float64(len(w))
	}
	return total + sum/mass
}

// work are the amounts per row, in units of 1e9, and whether they are known.
func (m *Model) work(e *predict.Examples) (out [][]float64, known []bool, err error) {
	x, err := e.Columns(m.About.Features)
	if err != nil {
		return nil, nil, err
	}
	n := len(m.Amounts)
	width := n + 1
	apart := -1
	if m.Apart != "" {
		width, apart = 2*n+1, slices.Index(m.About.Features, m.Apart)
	}
	for r, row := range x {
		w, ok := make([]float64, width), true
		at := 0
		if apart >= 0 && row[apart] > 0 {
			at = n
		}
		for i, name := range m.Amounts {
			v := row[i]
			if strings.HasPrefix(name, "log2_") {
				v = math.Exp2(v) - 1
			}
			if v < 0 || math.IsInf(v, 0) {
				return nil, nil, fmt.Errorf("row %d: the amount %s is %g: want one that is finite and not negative", r, name, v)
			}
			ok = ok && !math.IsNaN(v)
			w[at+i] = v * 1e-9
		}
		w[width-1] = 1e-6
		out, known = append(out, w), append(known, ok)
	}
	return out, known, nil
}

// Log implements predict.Model. A row whose amounts are unknown has the median.
func (m *Model) Log(_ context.Context, e *predict.Examples) ([]float64, error) {
	work, known, err := m.work(e)
	if err != nil {
		return nil, fmt.Errorf("predicting by additive costs: %w", err)
	}
	out := make([]float64, len(work))
	for r, row := range work {
		if !known[r] {
			out[r] = m.Median
			continue
		}
		time := 0.0
		for i, n := range row {
			time += n * math.Exp(min(m.Cost[i], 60))
		}
		out[r] = math.Log(time)
	}
	return out, nil
}

// Describe implements predict.Model.
func (m *Model) Describe() predict.Description { return m.About }

// describe names the costs.
func (m *Model) describe() string {
	var parts []string
	for i, name := range m.Amounts {
		parts = append(parts, fmt.Sprintf("%s %.3g", strings.TrimPrefix(name, "log2_"), math.Exp(m.Cost[i])*1e-9))
	}
	return fmt.Sprintf("a launch takes %.3g, a unit of %s", math.Exp(m.Cost[len(m.Cost)-1])*1e-6, strings.Join(parts, ", "))
}

// MarshalJSON writes the model.
func (m *Model) MarshalJSON() ([]byte, error) {
	type plain Model
	return json.Marshal((*plain)(m))
}
